"""slipway demo: what it says, what it promises, and that nothing is left of it."""
import contextlib
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

import boto3
import pytest

from conftest import DEADLINE, slipway_program, wait_until

ORDINARY = 65534  # a user without rights
STEP = re.compile(r"^  (?:weight +(\d+) %)? +(load balancer|name) +([\d,]+) requests, ([\d,]+) v1, "
                  r"([\d,]+) v2, (\d+) failed; in effect after [\d.]+ ms$", re.MULTILINE)
SUMMARY = re.compile(r"^Moved from v1 to v2 in 5 steps; ([\d,]+) requests, 0 failed\.$", re.MULTILINE)

# As in many containers, root may not become others, nor give files to them.
CONFINED = ["setpriv", "--bounding-set", "-chown,-setuid,-setgid"]
USERS = ["root", "confined", "ordinary"] if os.geteuid() == 0 else ["ordinary"]


class Place:
    """Copies of the programs and a folder for temporary files, where any user may be; what belongs to a
    demo that ran here is known by the path."""

    def __init__(self, user):
        self.folder = tempfile.mkdtemp(prefix="slipway-test-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        for name in ("slipway", "slipway-task"):
            shutil.copy2(os.path.join(os.path.dirname(slipway_program()), name), self.folder)
        self.temporary = os.path.join(self.folder, "temporary")
        os.mkdir(self.temporary)
        self.other_user = {}
        self.command = (CONFINED if user == "confined" else []) + [
            os.path.join(self.folder, "slipway"), "demo"]
        if user == "ordinary" and os.geteuid() == 0:
            os.chown(self.temporary, ORDINARY, ORDINARY)
            self.other_user = {"user": ORDINARY, "group": ORDINARY, "extra_groups": []}

    def start(self, *arguments, **options):
        environment = {"PATH": os.environ["PATH"], "TMPDIR": self.temporary}
        return subprocess.Popen([*self.command, *arguments],
                                stdin=subprocess.DEVNULL, cwd="/", env=environment,
                                **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                                   "text": True, **self.other_user, **options})

    def run(self, *arguments):
        with self.start(*arguments) as process:
            output, errors = process.communicate(timeout=10 * DEADLINE)
        return process.returncode, output, errors

    def processes(self):
        """Those that run a program from here, or were started with our temporary folder."""
        found = {}
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            with contextlib.suppress(OSError):
                with open(f"/proc/{name}/environ", "rb") as file:
                    told = file.read()
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    command = file.read()
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    state = file.read().rsplit(")", 1)[1].split()[0]
                if self.folder.encode() in told + command and state not in "ZX":
                    found[int(name)] = command
        return found

    def networks(self):
        """Bridges of tasks that say that they are ours."""
        found = []
        for name in os.listdir("/sys/class/net"):
            with contextlib.suppress(OSError):
                with open(f"/sys/class/net/{name}/ifalias", encoding="utf-8") as file:
                    found += [name] if self.folder in file.read() else []
        return found

    def assert_nothing_is_left(self):
        assert os.listdir(self.temporary) == []
        # A process that was ended is gone a moment later.
        wait_until(lambda: not self.processes(), f"nothing runs: {self.processes()}")
        assert self.networks() == []

    def close(self):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(name="place")
def make_place(request):
    place = Place(getattr(request, "param", USERS[-1]))
    yield place
    place.close()


def number(text):
    return int(text.replace(",", ""))


def assert_kept(output):
    """Every step was seen by both ways in, with the shares that its weight says."""
    seen, weight = {}, None
    for percent, way, requests, first, second, failed in STEP.findall(output):
        weight = int(percent) if percent else weight
        seen[weight, way] = [number(text) for text in (requests, first, second, failed)]
    assert set(seen) == {(percent, way) for percent in (0, 1, 10, 50, 100)
                         for way in ("load balancer", "name")}, output
    for (percent, _), (requests, first, second, failed) in seen.items():
        assert requests == first + second == 1000 and failed == 0
        # At most one request beside the share.
        assert abs(second - 10 * percent) <= (0 < percent < 100), output
    assert number(SUMMARY.search(output).group(1)) >= 10000, output


@pytest.mark.parametrize("place", USERS, indirect=True)
def test_moves_by_requests(place):
    code, output, errors = place.run("--once")
    assert (code, errors) == (0, ""), output + errors
    assert "(application: every request counts)" in output
    assert "\033" not in output and "\r" not in output
    assert_kept(output)
    place.assert_nothing_is_left()


def test_moves_by_connections_on_a_terminal(place):
    ours, theirs = pty.openpty()
    with place.start("--once", "--network", stdout=theirs, stderr=theirs, text=False) as process:
        os.close(theirs)
        output = b""
        # Reading a terminal that no process has open any more is an error.
        with contextlib.suppress(OSError):
            while part := os.read(ours, 65536):
                output += part
        assert process.wait(DEADLINE) == 0, output
    os.close(ours)
    # Progress is written over by what was seen.
    assert b"\r\033[K" in output
    lines = [line.rsplit("\033[K", 1)[-1] for line in output.decode().splitlines()]
    assert "(network: every connection counts)" in "\n".join(lines)
    assert_kept("\n".join(lines))
    place.assert_nothing_is_left()


# Mounts and settings here are visible to the demo only; as an ordinary user one may do that as one's own root.
# A place for HAProxy that cannot be run is as good as none.
WITHOUT_HAPROXY = """
    IFS=:
    for folder in $PATH:/usr/sbin:/usr/local/sbin; do
        [ ! -e "$folder/haproxy" ] || mount --bind "$EMPTY" "$folder/haproxy" || exit
    done
    exec "$@"
"""
LOOPBACK_ONLY = 'ip link set lo up && exec "$@"'


def confine(place, separation, script):
    own = [] if os.geteuid() == 0 and not place.other_user else ["--map-root-user"]
    empty = os.path.join(place.folder, "empty")
    with open(empty, "wb"):
        pass
    place.command = ["unshare", *own, separation, "env", f"EMPTY={empty}", "sh", "-c", script, "sh",
                     *place.command]


def test_without_haproxy_it_is_a_network_load_balancer(place):
    confine(place, "--mount", WITHOUT_HAPROXY)
    code, output, errors = place.run("--once")
    assert (code, errors) == (0, ""), output + errors
    assert "(network: every connection counts; with haproxy installed it would be an " \
        "application load balancer)" in output
    assert_kept(output)
    place.assert_nothing_is_left()


@pytest.mark.parametrize("place", sorted({USERS[0], USERS[-1]}), indirect=True)
def test_needs_no_network(place):
    """As on a machine that has no network but loopback."""
    confine(place, "--net", LOOPBACK_ONLY)
    code, output, errors = place.run("--once")
    assert (code, errors) == (0, ""), output + errors
    assert "(application: every request counts)" in output
    assert_kept(output)
    place.assert_nothing_is_left()


def read_until(process, wanted):
    """Lines of the output up to the one that has `wanted` in it."""
    output = ""
    for line in process.stdout:
        output += line
        if wanted in line:
            return output
    raise AssertionError(f"no {wanted!r} in {output}{process.stderr.read()}")


def exported(output):
    return dict(re.findall(r"\b(AWS_\w+)=(\S+)", output))


def ask(url):
    with urllib.request.urlopen(url, timeout=DEADLINE) as answer:
        return answer.read().decode().strip()


def test_stays_up_with_commands_that_work(place):
    with place.start() as process:
        output = read_until(process, "aws before version")
        assert_kept(output)
        settings = exported(output)
        client = {"endpoint_url": settings["AWS_ENDPOINT_URL"],
                  "region_name": settings["AWS_DEFAULT_REGION"],
                  "aws_access_key_id": settings["AWS_ACCESS_KEY_ID"],
                  "aws_secret_access_key": settings["AWS_SECRET_ACCESS_KEY"]}
        services = boto3.client("ecs", **client).describe_services(services=["web-v1", "web-v2"])
        assert [one["runningCount"] for one in services["services"]] == [1, 1]
        url = re.search(r"curl (\S+)", output).group(1)
        assert ask(url) == "v2"
        server, port, name = re.search(r"dig @(\S+) -p (\d+) \+short (\S+)", output).groups()
        found = subprocess.run(["dig", f"@{server}", "-p", port, "+short", name], check=True,
                               stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               timeout=DEADLINE).stdout.strip()
        assert ask(f"http://{found}:8080/") == "v2"
        # Back again, by the printed command's own words.
        elb = boto3.client("elbv2", **client)
        listener = re.search(r"--listener-arn (\S+)", output).group(1)
        group = re.search(r'"TargetGroupArn":"(\S+?)","Weight":90', output).group(1)
        elb.modify_listener(ListenerArn=listener, DefaultActions=[
            {"Type": "forward", "TargetGroupArn": group}])
        wait_until(lambda: ask(url) == "v1", "the first version answers again")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=DEADLINE)
        assert (process.returncode, errors) == (0, "")
    place.assert_nothing_is_left()


@pytest.mark.parametrize("wanted", ["server  ", "load balancer  ", "weight   1 %"])
def test_leaves_nothing_when_it_is_interrupted(place, wanted):
    with place.start() as process:
        read_until(process, wanted)
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=DEADLINE)
    # It may have been faster than we were, and have shown everything.
    if "It stays up" in output:
        assert (process.returncode, errors) == (0, "")
    else:
        assert (process.returncode, errors) == (1, "slipway: interrupted; everything is gone\n")
    place.assert_nothing_is_left()


def test_misused(place):
    code, output, errors = place.run("twice")
    assert (code, output) == (2, "")
    assert "takes no arguments but --once and --network" in errors
    place.assert_nothing_is_left()


# The demo inherits a socket that listens on every address.
PORT_TAKEN = """
import os, socket, subprocess, sys
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
listener = socket.socket()
listener.bind(("", 8080))
listener.listen()
os.set_inheritable(listener.fileno(), True)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def test_uses_another_port_when_8080_is_taken(place):
    own = [] if os.geteuid() == 0 and not place.other_user else ["--map-root-user"]
    place.command = ["unshare", *own, "--net", sys.executable, "-c", PORT_TAKEN, *place.command]
    code, output, errors = place.run("--once")
    assert (code, errors) == (0, ""), output + errors
    assert re.search(r"http://web\.demo\.internal:(\d+)/", output).group(1) != "8080"
    assert_kept(output)
    place.assert_nothing_is_left()


def test_shows_why_a_task_stopped(place):
    """The program of the tasks is this one; without its file they cannot start."""
    gone = os.path.join(place.folder, "slipway-gone")
    shutil.copy2(place.command[-2], gone)
    place.command[-2] = gone
    with place.start("--once") as process:
        os.unlink(gone)
        _, errors = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1
    assert re.fullmatch(r"slipway: a task of web-v\d stopped: CannotStartContainerError: .*slipway-gone"
                        r".*: No such file or directory\n", errors), errors
    place.assert_nothing_is_left()
