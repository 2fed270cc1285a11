"""Programs that the tests start and end: each is known by its number and the time it began, so that
a number that has since become another program's is never signalled."""
import glob
import os
import signal
import subprocess
import time

STOP_SECONDS = 30


def start_time(pid):
    """When a process began, in the kernel's ticks; None when there is no such process, or only a
    zombie of it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def last_lines(path, number=20):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-number:])
    except OSError:
        return ""


def threads_run(pid):
    """Whether a thread of a process has not stopped yet: signals take a moment to reach all of them."""
    for path in glob.glob(f"/proc/{pid}/task/*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                if file.read().rsplit(")", 1)[1].split()[0] not in "TtZX":
                    return True
        except OSError:
            pass
    return False


class Process:
    """A running program."""

    def __init__(self, name, pid, started, log, child=None):
        self.name = name
        self.pid = pid
        self.started = started
        self.log = log
        self.child = child  # to be waited for, when it is ours; None after it was taken over

    @classmethod
    def start(cls, name, command, log, bound, environment=None):
        """Start a command. A bound one is killed with the program that started it, whatever ends
        that; the others continue, and are ended by a reader of the cluster's state file."""
        if bound:
            command = ["setpriv", "--pdeathsig", "KILL", *command]
        with open(log, "ab") as output:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                cwd=os.path.dirname(log), start_new_session=True,
                env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": os.path.dirname(log),
                     **(environment or {})})
        return cls(name, child.pid, start_time(child.pid), log, child)

    def into_child(self):
        """The program that this one has forked and waits for, as nsenter and unshare do."""
        deadline = time.monotonic() + STOP_SECONDS
        while not children(self.pid):
            if not self.is_alive() or time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} did not start:\n{last_lines(self.log)}")
            time.sleep(0.01)
        pid = children(self.pid)[0]
        return Process(self.name, pid, start_time(pid), self.log, self.child)

    def state(self):
        return {"name": self.name, "pid": self.pid, "started": self.started, "log": self.log}

    def is_alive(self):
        if self.child:
            self.child.poll()  # takes away the zombie
        return self.started is not None and start_time(self.pid) == self.started

    def signal(self, number):
        """Send a signal; nothing where it has ended."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self.is_alive():
                signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            pass
        finally:
            os.close(descriptor)

    def pause(self):
        """It does nothing more when this returns."""
        self.signal(signal.SIGSTOP)
        deadline = time.monotonic() + STOP_SECONDS
        while self.is_alive() and threads_run(self.pid):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} does not stop")
            time.sleep(0.001)

    def resume(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        self.end(signal.SIGKILL)

    def stop(self, patience=STOP_SECONDS):
        """Ask it to end; by force when it does not heed that for so many seconds."""
        self.resume()
        self.end(signal.SIGTERM, patience)

    def end(self, number, patience=0):
        patience += time.monotonic()
        self.signal(number)
        while self.is_alive():
            if time.monotonic() > patience:
                self.signal(signal.SIGKILL)
            if time.monotonic() > patience + STOP_SECONDS:
                raise RuntimeError(f"{self.name} ({self.pid}) cannot be ended")
            time.sleep(0.02)
        if self.child:
            self.child.wait(STOP_SECONDS)
