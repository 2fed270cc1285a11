"""A Docker Engine of the tests' own, beside whatever the machine has: its own socket, folders, bridge,
addresses and control groups, no rules of a firewall, and images made here. It leaves nothing behind."""
import hashlib
import http.client
import io
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import urllib.parse

import pytest

from conftest import DEADLINE, Servers, wait_until

BUSYBOX = "/usr/bin/busybox"
IMAGE = "test/busybox:1"  # a shell and its tools; no command of its own
WEB = "test/web:1"  # has an entry point, a command, a stop signal and a health check of its own


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=DEADLINE):
        super().__init__("docker", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def add_file(archive, name, data, mode=0o755):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))


def busybox_layer():
    """The root of an image: busybox under all its names."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for folder in ("bin", "etc", "root", "tmp", "var"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            archive.addfile(entry)
        with open(BUSYBOX, "rb") as file:
            add_file(archive, "bin/busybox", file.read())
        for name in subprocess.check_output([BUSYBOX, "--list"], text=True).split():
            if name != "busybox":
                entry = tarfile.TarInfo(f"bin/{name}")
                entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
                archive.addfile(entry)
        add_file(archive, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nweb:x:1000:1000::/:/bin/sh\n",
                 0o644)
        add_file(archive, "etc/group", b"root:x:0:\nweb:x:1000:\n", 0o644)
    return out.getvalue()


def image_archive(tag, layer, **config):
    """An image with that one layer, as `docker save` writes it."""
    digest = "sha256:" + hashlib.sha256(layer).hexdigest()
    settings = json.dumps({
        "architecture": "amd64" if os.uname().machine == "x86_64" else "arm64", "os": "linux",
        "config": {"Env": ["PATH=/bin"], **config}, "rootfs": {"type": "layers", "diff_ids": [digest]},
        "history": [{"created_by": "a test"}]}).encode()
    name = hashlib.sha256(settings).hexdigest() + ".json"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        add_file(archive, name, settings)
        add_file(archive, "layer.tar", layer)
        add_file(archive, "manifest.json", json.dumps(
            [{"Config": name, "RepoTags": [tag], "Layers": ["layer.tar"]}]).encode())
    return out.getvalue()


def free_network():
    """The second byte and half of the third of a network that nothing on this machine has a route to."""
    routes = subprocess.check_output(["ip", "-4", "route"], text=True)
    while True:
        network = f"10.{random.randrange(200, 250)}.{random.randrange(16) * 16}"
        if network.rsplit(".", 1)[0] + "." not in routes:
            return network


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Daemon:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="slipway-docker-")
        self.socket = os.path.join(self.folder, "socket")
        self.name = "swt" + os.urandom(4).hex()
        self.process = None
        base, third = free_network().rsplit(".", 1)
        self.bridge_address = f"{base}.{third}.1/24"
        self.pool = f"base={base}.{int(third) + 8}.0/21,size=24"
        subprocess.run(["ip", "link", "add", self.name, "type", "bridge"], check=True)
        subprocess.run(["ip", "address", "add", self.bridge_address, "dev", self.name], check=True)
        subprocess.run(["ip", "link", "set", self.name, "up"], check=True)

    def start(self, *args):
        with open(os.path.join(self.folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump({"deprecated-key-path": os.path.join(self.folder, "key.json")}, file)
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                ["dockerd", "--config-file", os.path.join(self.folder, "config.json"),
                 "--host", f"unix://{self.socket}", "--data-root", os.path.join(self.folder, "data"),
                 "--exec-root", os.path.join(self.folder, "exec"),
                 "--pidfile", os.path.join(self.folder, "pid"),
                 "--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", f"/{self.name}",
                 "--bridge", self.name, "--default-address-pool", self.pool, "--iptables=false",
                 "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
                 "--shutdown-timeout", "2", *args],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.folder,
                     "TMPDIR": self.folder})
        wait_until(self.answers, "dockerd answers")

    def answers(self):
        if self.process.poll() is not None:
            with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as log:
                raise AssertionError(f"dockerd ended with {self.process.returncode}:\n"
                                     f"{log.read()[-5000:]}")
        try:
            return self.call("GET", "/_ping")
        except OSError:
            return None

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(DEADLINE)
        self.process = None
        # Its containerd dies with it, and the next one takes the process for alive until it has been reaped.
        path = os.path.join(self.folder, "exec/containerd/containerd.pid")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                pid = file.read()
            wait_until(lambda: not is_alive(pid), "containerd ends")
            os.unlink(path)

    def call(self, method, path, body=None, timeout=DEADLINE, **headers):
        """One call of the API; what it answers as Python has it."""
        connection = UnixConnection(self.socket, timeout)
        try:
            if isinstance(body, dict):
                body, headers = json.dumps(body), {"Content-Type": "application/json", **headers}
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        assert response.status < 400, (method, path, response.status, text)
        try:
            return json.loads(text)
        except ValueError:
            return text or True

    def load_images(self):
        layer = busybox_layer()
        for archive in (
                image_archive(IMAGE, layer),
                image_archive(WEB, layer, Entrypoint=["sh", "-c"], Cmd=[
                    "trap 'exit 10' USR1; echo from the image; while :; do sleep 0.1; done"],
                              StopSignal="SIGUSR1", WorkingDir="/tmp",
                              Healthcheck={"Test": ["CMD", "false"], "Interval": 10 ** 9})):
            self.call("POST", "/images/load", archive, **{"Content-Type": "application/x-tar"})

    # ---- containers and images ----

    def containers(self, task=None, **filters):
        """{name: listed container} of slipway's containers, of one task or of all; "": the container that holds the
        network of a task."""
        wanted = {"label": [f"slipway.task={task}"] if task else ["slipway.task"], **filters}
        found = self.call("GET", "/containers/json?all=1&filters=" +
                          urllib.parse.quote(json.dumps(wanted)))
        return {item["Labels"]["slipway.container"]: item for item in found}

    def inspect(self, task, container="app"):
        return self.call("GET", f"/containers/{self.containers(task)[container]['Id']}/json")

    def running(self):
        """Ids of the containers that run."""
        return {item["Id"] for item in self.call("GET", "/containers/json")}

    # ---- the end ----

    def clean(self):
        """Removes what the tests of one module have left."""
        for item in self.call("GET", "/containers/json?all=1"):
            self.call("DELETE", f"/containers/{item['Id']}?force=1&v=1")
        self.call("POST", "/networks/prune", {})
        self.call("POST", "/volumes/prune", {})

    def remove(self):
        try:
            if self.process:
                self.clean()
                self.end()
        finally:
            self.end_what_is_left()
            subprocess.run(["ip", "link", "del", self.name], check=True)
            with open("/proc/mounts", encoding="utf-8") as file:
                for line in reversed(file.readlines()):
                    if line.split()[1].startswith(self.folder):
                        subprocess.run(["umount", "-l", line.split()[1]], check=True)
            shutil.rmtree(self.folder)
            for path in control_groups(self.name):
                os.rmdir(path)

    def end_what_is_left(self):
        """Of a daemon that could not do it: what is in its control groups, and what it started."""
        found = set()
        for path in control_groups(self.name):
            with open(os.path.join(path, "cgroup.procs"), encoding="utf-8") as file:
                found.update(map(int, file.read().split()))
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if name.isdigit() and int(name) != os.getpid() and \
                            self.folder.encode() + b"/" in file.read():
                        found.add(int(name))
            except OSError:
                pass
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        wait_until(lambda: not any(is_alive(pid) for pid in found), "what was left has ended")


def control_groups(name):
    """Folders of control groups below one of that name, the deepest first."""
    found = []
    for root in [f"/sys/fs/cgroup/{name}", *(f"/sys/fs/cgroup/{controller}/{name}"
                                             for controller in os.listdir("/sys/fs/cgroup"))]:
        found += [path for path, _, _ in os.walk(root, topdown=False)]
    return found


# ---- fixtures: import them, and every server of the module runs its tasks there ----

def docker_arguments(daemon):
    return ["--runtime", "docker", "--docker-socket", daemon.socket]


@pytest.fixture(scope="module")
def daemon():
    daemon = Daemon()
    try:
        daemon.start()
        daemon.load_images()
        yield daemon
    finally:
        daemon.remove()


@pytest.fixture(scope="module")
def slipway(daemon):
    servers = Servers(docker_arguments(daemon))
    try:
        yield servers.start()
    finally:
        servers.end()


@pytest.fixture
def start_slipway(daemon):
    servers = Servers(docker_arguments(daemon))
    yield servers.start
    servers.end()


@pytest.fixture(scope="module")
def ecs(slipway):
    return slipway.boto("ecs")


def box(script, name="app", environment=None, **members):
    """A container of the image that has a shell. As the first process of its container it dies of no signal
    that it does not ask for, so it is not waited for long."""
    return {"name": name, "image": IMAGE, "memory": 32, "essential": True, "stopTimeout": 3,
            "command": ["sh", "-c", script],
            "environment": [{"name": key, "value": value}
                            for key, value in (environment or {}).items()], **members}
