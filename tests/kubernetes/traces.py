"""A cluster's parts on this machine, and those that are left after its end. Neighbours come
and go while tests run, so only what belongs to this one cluster is looked at."""
import os
import subprocess

from processes import start_time

CGROUPS = "/sys/fs/cgroup"


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def namespace(pid, kind):
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return None


def cgroups_named(name):
    found = []
    for parent in [CGROUPS] + [os.path.join(CGROUPS, item) for item in os.listdir(CGROUPS)]:
        if os.path.isdir(os.path.join(parent, name)):
            found.append(os.path.join(parent, name))
    return found


class Traces:
    """Taken while the cluster is up. The kernel gives the number of a namespace to the next one as
    soon as it is free, so until the end of the `with` these ones are kept."""

    def __init__(self, cluster):
        self.folders = [cluster.folder, cluster.etcd_data]
        self.namespaces, self.kept = {}, []
        self.interface = self.cgroup = None
        own = {process.pid for process in cluster.processes.values()}
        if cluster.place.state():
            machine = cluster.place
            self.interface, self.cgroup = machine.interface, machine.cgroup
            for kind in ("mnt", "net", "pid"):
                self.kept.append(os.open(f"/proc/{machine.init.pid}/ns/{kind}", os.O_RDONLY))
                self.namespaces[kind] = namespace(machine.init.pid, kind)
            own.add(machine.outside.pid)
            own.update(pid for pid in pids() if self.is_inside(pid))
        self.processes = {pid: start_time(pid) for pid in own}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for descriptor in self.kept:
            os.close(descriptor)

    def is_inside(self, pid):
        return any(namespace(pid, kind) == value for kind, value in self.namespaces.items())

    def left(self):
        """A list of everything that is still there."""
        found = [path for path in self.folders if os.path.exists(path)]
        found += [f"process {pid}" for pid, started in self.processes.items()
                  if started is not None and start_time(pid) == started]
        found += [f"process {pid} in the node" for pid in pids() if self.is_inside(pid)]
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            found += [line for line in file
                      if any(path in line for path in self.folders) or "slipway-node" in line]
        if self.interface:
            links = subprocess.run(["ip", "-o", "link"], stdout=subprocess.PIPE, text=True,
                                   check=True).stdout
            found += [line for line in links.splitlines() if f" {self.interface}@" in line]
        if self.cgroup:
            found += cgroups_named(self.cgroup)
        return found
