"""kube-probe (parts/kube_probe.c) in the hands of tests: slipway's Kubernetes client, called."""
import collections
import json
import os
import queue
import subprocess
import threading

from conftest import DEADLINE, slipway_program, wait_until

PATH = os.path.join(os.path.dirname(slipway_program()), "kube-probe")


class Refused(Exception):
    """A call that failed: .code ("ENOENT"), .message, .status, .reason, .cause."""

    def __init__(self, answer):
        super().__init__(f"{answer['code']}: {answer['message']}")
        self.code, self.message = answer["code"], answer["message"]
        self.status, self.reason, self.cause = (
            answer.get("status"), answer.get("reason"), answer.get("cause"))


class Probe:
    """Calls with one kubeconfig."""

    def __init__(self, kubeconfig, *options):
        self.options = options
        self.environment = {"PATH": os.environ["PATH"], "HOME": "/nowhere",
                            "KUBECONFIG": kubeconfig}

    def run(self, *words, text=""):
        """Its output as bytes, and how it ended."""
        done = subprocess.run([PATH, *self.options, *words], input=text.encode(),
                              capture_output=True, env=self.environment, timeout=DEADLINE,
                              check=False)
        assert not done.stderr and done.returncode in (0, 1), (words, done)
        return done

    def lines(self, *words, body=None):
        done = self.run(*words, text="" if body is None else json.dumps(body))
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode:
            raise Refused(lines[-1])
        return lines

    def __call__(self, *words, body=None):
        lines = self.lines(*words, body=body)
        return lines[0] if lines else None

    def refusal(self, *words, body=None):
        try:
            answer = self(*words, body=body)
        except Refused as refused:
            return refused
        raise AssertionError(f"{words} was not refused but answered {answer}")

    def watch(self, *words):
        return Watch(self, words)


class Watch:
    """An informer that runs: its changes are read from .events."""

    def __init__(self, probe, words):
        self.process = subprocess.Popen(
            [PATH, *probe.options, "watch", *words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=probe.environment, text=True)
        self.events = []
        self.failures = []
        self.answers = queue.Queue()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            value = json.loads(line)
            if isinstance(value, dict) and "event" in value:
                self.events.append(value)
            elif isinstance(value, dict) and "code" in value:
                self.failures.append(value)
            else:
                self.answers.put(value)

    def ask(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return self.answers.get(timeout=DEADLINE)

    def send(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()

    def statistics(self):
        return self.ask("statistics")

    def story(self):
        """[(event, key)] so far."""
        return [(event["event"], event.get("key")) for event in list(self.events)]

    def wait_for(self, event, key=None, count=1):
        def found():
            return [item for item in list(self.events)
                    if item["event"] == event and key in (None, item.get("key"))][count - 1:]

        return wait_until(found, f"{event} {key}; {self.story()[-9:]} {self.failures[-3:]}")[0]

    def kept(self):
        """{key: version} of what it has now."""
        return {item["key"]: item["version"] for item in self.ask("all")}

    def reported(self):
        """{key: version} as the events report it; fails on events that contradict
        each other."""
        known = {}
        for item in list(self.events):
            key = item.get("key")
            if item["event"] == "added":
                assert key not in known, (key, self.story())
            elif item["event"] in ("updated", "deleted", "resync"):
                assert key in known, (key, self.story())
            if item["event"] == "deleted":
                del known[key]
            elif key:
                known[key] = item["version"]
        return known

    def counts(self):
        return collections.Counter(event["event"] for event in list(self.events))

    def stop(self):
        self.process.stdin.close()
        self.reader.join(DEADLINE)
        assert self.process.wait(DEADLINE) == 0
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
