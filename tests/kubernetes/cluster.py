"""A real Kubernetes of one's own: etcd, API server, controllers and scheduler, started in seconds,
with hollow nodes (hollow.py), or with one real node (machine.py), or without any.

    with Cluster() as cluster:
        cluster.up(hollow=3)
        cluster.api.get("/api/v1/nodes")
        cluster.kubectl("get", "nodes")
        cluster.stop_api_server(); cluster.start_api_server()      # same port, same data

Two clusters never meet: without a real node all ports are free ones of the loopback interface; with
one, everything listens in a network namespace. Nothing of a cluster is left after down().
"""
import functools
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

from api import Api, ApiError
from credentials import Credentials
from hollow import Hollow
from machine import Machine
from processes import Process, last_lines

HERE = os.path.dirname(os.path.realpath(__file__))
DEADLINE = 240  # seconds that any part may take to start on a busy machine
STOP_SECONDS = 3
ALL = ("etcd", "api", "controllers", "scheduler")
SERVICE_RANGE = "10.96.0.0/16"
SERVICE_ADDRESS = "10.96.0.1"  # where pods find the API server
# Below the range from which the kernel assigns ephemeral ports: the API server must
# find its port free again after a restart.
PORTS = range(10000, 32768)
PORT_ATTEMPTS = 5


class Unready(Exception):
    """A part of the cluster ended, or did not do what it should in time."""


def programs_folder():
    """Where the programs are; see ./build --help."""
    found = subprocess.run([os.path.join(HERE, "build"), "--cached"], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, check=False)
    if found.returncode:
        raise Unready(found.stderr or "Kubernetes is not built yet: run tests/kubernetes/build")
    return found.stdout.strip()


class Loopback:
    """The place of a control plane that has no real node."""

    address = "127.0.0.1"
    enter = ()  # a prefix of commands

    @staticmethod
    def port(_usual):
        while True:
            port = random.choice(PORTS)
            with socket.socket() as probe:
                try:
                    probe.bind((Loopback.address, port))
                    return port
                except OSError:
                    continue

    def state(self):
        return None

    def down(self):
        pass


class Cluster:
    """One Kubernetes. A bound one ends with this program, however that ends."""

    def __init__(self, folder=None, bound=True):
        self.folder = folder or tempfile.mkdtemp(prefix="slipway-kubernetes-")
        self.bound = bound
        self.credentials = Credentials(self.path("credentials"))
        self.place = Loopback()
        self.ports = {}
        self.processes = {}  # in the order of their start
        self.etcd_data = None
        self.flags = {}
        self.hollow = None
        self.api = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.down()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    @functools.cached_property
    def programs(self):
        return programs_folder()

    @functools.cached_property
    def version(self):
        printed = subprocess.run([self.program("kube-apiserver"), "--version"],
                                 stdout=subprocess.PIPE, text=True, check=True).stdout
        return tuple(int(number) for number in re.search(r"v(\d+)\.(\d+)", printed).groups())

    # ---- up and down ----

    def up(self, parts=ALL, node=False, hollow=0, proxy=False, api_flags=(), controller_flags=(),
           kubelet_flags=()):
        """Start the parts named, then a real node, or so many hollow ones."""
        self.flags = {"api": list(api_flags), "controllers": list(controller_flags)}
        os.makedirs(self.path("log"), exist_ok=True)
        shared_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else self.folder
        self.etcd_data = tempfile.mkdtemp(prefix="slipway-etcd-", dir=shared_memory)
        if node:
            self.place = Machine(self.folder, self.bound)
            self.save()
            self.place.up()
        self.credentials.make(nodes=[Machine.name])
        self.save()
        if node:  # it takes some time, and finds the API server when that is there
            self.take_port("kube-apiserver", 443)
            self.place.start_kubelet(self, kubelet_flags)
        self.start_parts(parts)
        if node:
            self.place.wait_until_ready(self)
            if proxy:
                self.place.start_proxy(self)
        if hollow:
            self.hollow = Hollow(self.path("hollow.sock"))
            self.run("hollow", self.hollow.command(self, hollow))
            self.wait_for("hollow", self.hollow.is_ready)
            if "controllers" in parts:
                self.wait_for("hollow", self.nodes_take_pods)
        self.save()

    def start_parts(self, parts):
        self.start_etcd()
        self.credentials.server_certificate("api-server", [
            f"IP:{self.place.address}", "IP:127.0.0.1", f"IP:{SERVICE_ADDRESS}", "DNS:localhost",
            "DNS:kubernetes", "DNS:kubernetes.default", "DNS:kubernetes.default.svc"])
        self.credentials.client_certificate("kubelet-client")
        self.start_api_server()
        if "controllers" in parts:
            self.run("kube-controller-manager", self.controllers_command())
        if "scheduler" in parts:
            self.run("kube-scheduler", self.scheduler_command())
        if "controllers" in parts:  # pods cannot be made before
            self.wait_for("kube-controller-manager", lambda: self.api.find(
                "/api/v1/namespaces/default/serviceaccounts/default"))

    def nodes_take_pods(self):
        """Controllers taint a new node until they have seen that it is ready."""
        nodes, _ = self.api.list("/api/v1/nodes")
        return not any("taints" in node["spec"] for node in nodes)

    def down(self):
        """Kill everything, since its data is not read again, and remove its files."""
        for process in self.processes.values():
            process.signal(signal.SIGKILL)
        for name in list(self.processes):
            self.processes.pop(name).kill()
        self.place.down()
        if self.etcd_data:
            shutil.rmtree(self.etcd_data, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- a cluster that another program has started ----

    def save(self):
        state = {"processes": [process.state() for process in self.processes.values()],
                 "etcd_data": self.etcd_data, "machine": self.place.state(), "ports": self.ports,
                 "flags": self.flags, "hollow": bool(self.hollow),
                 "server": self.credentials.server}
        temporary = self.path("state.json.new")
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(state, file, indent=1)
        os.replace(temporary, self.path("state.json"))

    @classmethod
    def load(cls, folder):
        with open(os.path.join(folder, "state.json"), encoding="utf-8") as file:
            state = json.load(file)
        cluster = cls(folder, bound=False)
        cluster.processes = {item["name"]: Process(**item) for item in state["processes"]}
        cluster.etcd_data, cluster.ports = state["etcd_data"], state["ports"]
        cluster.flags = state["flags"]
        if state["machine"]:
            cluster.place = Machine.load(folder, state["machine"])
        if state["hollow"]:
            cluster.hollow = Hollow(cluster.path("hollow.sock"))
        if state["server"]:
            cluster.credentials.server = state["server"]
            cluster.api = cluster.client()
        return cluster

    # ---- processes ----

    def run(self, name, command):
        self.processes[name] = Process.start(
            name, [*self.place.enter, *command], self.path("log", f"{name}.log"), self.bound)

    def wait_for(self, name, condition):
        """Wait until a condition that a part brings about is true, and return its value."""
        end = time.monotonic() + DEADLINE
        while True:
            alive = self.processes[name].is_alive()
            try:
                value = condition()
            except (OSError, http.client.HTTPException, ApiError):
                value = None
            if value:
                return value
            if not alive or time.monotonic() > end:
                raise Unready(f"{name} {'is not ready' if alive else 'ended'}:\n"
                              f"{last_lines(self.path('log', f'{name}.log'))}")
            time.sleep(0.05)

    def take_port(self, name, usual):
        self.ports.setdefault(name, self.place.port(usual))
        if name == "kube-apiserver":
            self.credentials.server = f"https://{self.place.address}:{self.ports[name]}"
            for user in ("admin", "controllers", "scheduler", "proxy", "stranger", Machine.name):
                self.credentials.token_kubeconfig(user)
            self.api = self.client()

    def run_on_port(self, name, usual_port, command, condition):
        """Start a component that listens; if its port is taken meanwhile, use another one."""
        for attempt in range(PORT_ATTEMPTS):
            known = name in self.ports
            self.take_port(name, usual_port)
            self.run(name, command())
            try:
                return self.wait_for(name, condition)
            except Unready as problem:
                self.processes.pop(name).kill()
                if known or attempt == PORT_ATTEMPTS - 1 or "in use" not in str(problem):
                    raise
                del self.ports[name]
        raise AssertionError("not reached")

    def program(self, name):
        return os.path.join(self.programs, name)

    # ---- the parts ----

    def etcd_address(self):
        return f"http://{self.place.address}:{self.ports['etcd']}"

    def start_etcd(self):
        def command():
            address = self.etcd_address()
            peers = "http://127.0.0.1:12380"  # unused: a single member, and it listens on another port
            return [self.program("etcd"), "--name", "test", "--data-dir", self.etcd_data,
                    "--listen-client-urls", address, "--advertise-client-urls", address,
                    "--listen-peer-urls", "http://127.0.0.1:0",
                    "--initial-advertise-peer-urls", peers, "--initial-cluster", f"test={peers}"]

        self.run_on_port("etcd", 2379, command, lambda: self.etcd("GET", "/health"))

    def etcd(self, method, path, body=None):
        """Ask etcd itself, by its JSON gateway."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.etcd_address() + path, data, method=method)
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            return json.load(answer)

    def forget_history(self):
        """Compact etcd up to now. A watch that starts before, past what the API server
        itself remembers (nothing, after a restart), is answered with 410 Gone."""
        answer = self.etcd("POST", "/v3/kv/range", {"key": "AA=="})
        self.etcd("POST", "/v3/kv/compaction",
                  {"revision": answer["header"]["revision"], "physical": True})

    def api_command(self):
        folder = self.credentials.folder
        flags = [
            f"--etcd-servers={self.etcd_address()}",
            f"--bind-address={self.place.address}" if not self.place.enter
            else "--bind-address=0.0.0.0",
            f"--advertise-address={self.place.address}",
            f"--secure-port={self.ports['kube-apiserver']}",
            f"--cert-dir={folder}",
            f"--tls-cert-file={folder}/api-server.crt",
            f"--tls-private-key-file={folder}/api-server.key",
            f"--client-ca-file={folder}/ca.crt",
            f"--token-auth-file={folder}/tokens.csv",
            "--authorization-mode=Node,RBAC",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={folder}/service-accounts.key",
            f"--service-account-signing-key-file={folder}/service-accounts.key",
            f"--kubelet-client-certificate={folder}/kubelet-client.crt",
            f"--kubelet-client-key={folder}/kubelet-client.key",
            "--kubelet-preferred-address-types=InternalIP",
            "--allow-privileged=true",
        ]
        if not self.place.enter:  # an address of the loopback interface cannot be an endpoint
            flags.append("--endpoint-reconciler-type=none")
        return [self.program("kube-apiserver"), *flags, *self.version_flags("api"),
                *self.flags["api"]]

    def version_flags(self, part):
        """Flags that make older versions behave like later ones: pods get tokens that expire, and
        nothing listens without TLS."""
        flags = []
        if self.version < (1, 21) and part in ("api", "controllers", "kubelet"):
            flags.append("--feature-gates=BoundServiceAccountTokenVolume=true")
        if self.version < (1, 23) and part in ("controllers", "scheduler"):
            flags.append("--port=0")
        if self.version < (1, 24) and part == "kubelet":
            flags.append("--container-runtime=remote")
        return flags

    def controllers_command(self):
        folder = self.credentials.folder
        return [self.program("kube-controller-manager"),
                f"--kubeconfig={folder}/controllers.kubeconfig",
                "--secure-port=0",
                "--leader-elect=false",
                "--use-service-account-credentials=true",
                f"--service-account-private-key-file={folder}/service-accounts.key",
                f"--root-ca-file={folder}/ca.crt",
                f"--cluster-signing-cert-file={folder}/ca.crt",
                f"--cluster-signing-key-file={folder}/ca.key",
                "--kube-api-qps=1000", "--kube-api-burst=2000",
                # Hollow nodes have no heart that could beat.
                "--node-monitor-grace-period=24h",
                *self.version_flags("controllers"), *self.flags["controllers"]]

    def scheduler_command(self):
        return [self.program("kube-scheduler"),
                f"--kubeconfig={self.credentials.folder}/scheduler.kubeconfig",
                "--secure-port=0", "--leader-elect=false",
                "--kube-api-qps=1000", "--kube-api-burst=2000", *self.version_flags("scheduler")]

    # ---- the API server and its faults ----

    def start_api_server(self):
        self.run_on_port("kube-apiserver", 443, self.api_command,
                         lambda: self.api.get("/readyz") == "ok")
        self.save()

    def stop_api_server(self):
        """End it as an upgrade does. It waits for clients that watch, and we not for ever."""
        self.processes.pop("kube-apiserver").stop(STOP_SECONDS)

    def kill_api_server(self):
        self.processes.pop("kube-apiserver").kill()

    def pause_api_server(self):
        """It still accepts connections, as far as the kernel goes, and says nothing more."""
        self.processes["kube-apiserver"].pause()

    def resume_api_server(self):
        self.processes["kube-apiserver"].resume()

    def mend(self):
        """After a test that failed while the API server was away or paused: it answers again."""
        process = self.processes.get("kube-apiserver")
        if process and process.is_alive():
            process.resume()
        else:
            self.start_api_server()

    # ---- clients ----

    def client(self, token=None, server=None):
        """An Api as the administrator, or with another token."""
        return Api(server or self.credentials.server, self.credentials.ca,
                   token or self.credentials.token())

    def kubectl(self, *arguments, check=True, text=None):
        """Run kubectl as the administrator; .stdout, .stderr, .returncode."""
        done = subprocess.run(
            ["kubectl", "--kubeconfig", self.credentials.path("admin.kubeconfig"), *arguments],
            input=text or "", capture_output=True, text=True, check=False, timeout=DEADLINE,
            env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.folder})
        if check and done.returncode:
            raise RuntimeError(f"kubectl {' '.join(arguments)} ended with {done.returncode}:\n"
                               f"{done.stderr}")
        return done

    def kubectl_json(self, *arguments):
        return json.loads(self.kubectl(*arguments, "-o", "json").stdout)
