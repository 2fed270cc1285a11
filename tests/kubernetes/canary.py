"""Shared by the tests of canary releases: the custom resources, CanaryReleases and slices as a test writes them, proxies
as plain processes, and backends that answer with a letter.

    install(cluster)
    with Backend("A") as stable, Backend("B") as canary, Proxy(cluster, "test", "web-abcde") as proxy:
        ...
"""
import collections
import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

from api import ApiError
from conftest import SOURCE, slipway_program, wait_until

GROUP = "/apis/slipway.dev/v1alpha1"
SLICES = "/apis/discovery.k8s.io/v1beta1"
ADDRESSES = itertools.count(2)
SECONDS = 60


def own_address():
    """An address of the loopback for one proxy: all of them listen on the same ports."""
    number = next(ADDRESSES)
    return f"127.{os.getpid() % 200 + 20}.{number // 250}.{number % 250 + 1}"


def install(cluster):
    cluster.kubectl("apply", "-f", os.path.join(SOURCE, "deploy/kubernetes/crds.yaml"))
    wait_until(lambda: cluster.api.find(f"{GROUP}/canaryreleases") and cluster.api.find(f"{GROUP}/releases"),
               "the custom resources are served")


def namespace(cluster, name):
    cluster.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    return name


def path(kind, space, name="", ending=""):
    return f"{GROUP}/namespaces/{space}/{kind}" + (f"/{name}" if name else "") + ending


class Backend:
    """Answers every TCP connection and every datagram with its letter, on one port of the loopback. A connection stays
    open, and gets its letter for each line."""

    def __init__(self, letter):
        self.letter = letter.encode()
        self.tcp = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.tcp.getsockname()[1]
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", self.port))
        self.served = 0
        self.headers = ""  # of the last HTTP request

    def __enter__(self):
        for function in (self.accept, self.answer):
            threading.Thread(target=function, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        for each in (self.tcp, self.udp):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            self.served += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            try:
                while data := connection.recv(65536):
                    if data.startswith(b"GET "):
                        self.headers = data.decode()
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + self.letter)
                    else:
                        connection.sendall(self.letter)
            except OSError:
                pass

    def answer(self):
        while True:
            try:
                data, source = self.udp.recvfrom(65536)
            except OSError:
                return
            if source is None:  # shut down
                return
            self.udp.sendto(self.letter + data, source)


class Connection:
    """A TCP connection that asks for the letter of its backend."""

    def __init__(self, address, port):
        self.socket = socket.create_connection((address, port), timeout=SECONDS)

    def ask(self):
        self.socket.sendall(b"?\n")
        answer = self.socket.recv(1)
        assert answer, "the connection was closed"
        return answer.decode()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def ask(address, port):
    with Connection(address, port) as connection:
        return connection.ask()


def count(address, port, number):
    """How many of so many new connections each letter answered."""
    return collections.Counter(ask(address, port) for _ in range(number))


class Prober:
    """New connections, one after the other, until stop(): every failure is kept."""

    def __init__(self, address, port):
        self.address, self.port = address, port
        self.letters, self.failures, self.ended = [], [], False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ended:
            try:
                self.letters.append(ask(self.address, self.port))
            except (OSError, AssertionError) as problem:
                self.failures.append(repr(problem))

    def stop(self):
        self.ended = True
        self.thread.join(SECONDS)
        return self.letters, self.failures

    def wait_for(self, more):
        """Until so many more were answered."""
        before = len(self.letters)
        wait_until(lambda: len(self.letters) >= before + more, f"{more} more answers")


class Proxy:
    """`slipway canary-proxy` as a process with an address of its own."""

    def __init__(self, cluster, space, name, replica="one", *arguments):
        self.address = own_address()
        self.log = cluster.path(f"proxy-{space}-{name}-{replica}.log")
        self.process = None
        self.command = [slipway_program(), "canary-proxy", "--namespace", space, "--kubeconfig",
                        cluster.credentials.path("admin.kubeconfig"), "--replica", replica,
                        "--address", self.address, *arguments, name]

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self):
        with open(self.log, "a", encoding="utf-8") as log:
            # pylint: disable-next=consider-using-with
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def is_alive(self):
        return self.answers("livez")

    def is_ready(self):
        return self.answers("readyz")

    def answers(self, what):
        assert self.process.poll() is None, self.read_log()
        try:
            with urllib.request.urlopen(f"http://{self.address}:7070/{what}", timeout=SECONDS) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def wait_until_ready(self):
        try:
            wait_until(self.is_ready, "the proxy is ready")
        except AssertionError as problem:
            raise AssertionError(f"{problem}: {self.read_log()}") from None

    def read_log(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def workers(self):
        found = []
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{thread}/children", encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
        return found

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self):
        return self.process.wait(SECONDS)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class ProxyRunner:
    """Plays the kubelet for the proxies' pods on hollow nodes: each gets a process, with the pod's name as its replica."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.proxies = {}  # by namespace and name of the pod
        self.ended = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def pods(self):
        items, _ = self.cluster.api.list("/api/v1/pods", labelSelector="app.kubernetes.io/component=canary-proxy")
        return {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in items
                if item["status"].get("phase") == "Running" and "deletionTimestamp" not in item["metadata"]}

    def run(self):
        while not self.ended:
            try:
                self.follow(self.pods())
            except (OSError, ApiError, http.client.HTTPException):
                self.cluster.api.close()
            time.sleep(0.1)
        for proxy in self.proxies.values():
            proxy.kill()

    def follow(self, pods):
        for key in set(self.proxies) - set(pods):
            self.proxies.pop(key).kill()
        for key in set(pods) - set(self.proxies):
            name = pods[key]["spec"]["containers"][0]["args"][-1]
            proxy = Proxy(self.cluster, key[0], name, key[1])
            proxy.start()
            self.proxies[key] = proxy

    def stop(self):
        self.ended = True
        self.thread.join()


class Canaries:
    """CanaryReleases of one namespace, beside its Releases (releases.py)."""

    def __init__(self, releases):
        self.releases = releases
        self.api, self.namespace = releases.api, releases.namespace

    def create(self, name, services=(), release="web", version=1, values=None, **spec):
        return self.api.post(path("canaryreleases", self.namespace), {
            "apiVersion": "slipway.dev/v1alpha1", "kind": "CanaryRelease", "metadata": {"name": name},
            "spec": {"release": release, "version": version, "config": json.dumps(values or {}),
                     "services": list(services), "drainSeconds": 2, **spec}})

    def get(self, name):
        return self.api.get(path("canaryreleases", self.namespace, name))

    def find(self, name):
        return self.api.find(path("canaryreleases", self.namespace, name))

    def change(self, name, **spec):
        return self.api.patch(path("canaryreleases", self.namespace, name), {"spec": spec})

    def delete(self, name):
        self.api.delete(path("canaryreleases", self.namespace, name))

    def conditions(self, name):
        return {item["type"]: (item["status"], item["reason"])
                for item in self.get(name).get("status", {}).get("conditions", [])}

    def wait(self, name, condition, what):
        try:
            return wait_until(condition, what)
        except AssertionError as problem:
            raise AssertionError(f"{problem}: {json.dumps(self.find(name), indent=1)}\n"
                                 f"{self.releases.server.stderr[-3000:]}") from None

    def wait_for(self, name, condition, reason):
        self.wait(name, lambda: self.conditions(name).get(condition) == ("True", reason),
                  f"{name} is {condition} with {reason}")
        return self.get(name)

    def wait_for_available(self, name):
        """Every step of the creation is done for the present spec."""
        def done():
            found = self.get(name)
            return found.get("status", {}).get("plannedGeneration") == found["metadata"]["generation"] and \
                found["status"]["step"] == "C8" and self.conditions(name)["Available"][0] == "True"
        self.wait(name, done, f"{name} is available")
        return self.get(name)

    def wait_for_phase(self, name, phase):
        self.wait(name, lambda: self.get(name).get("status", {}).get("phase") == phase and
                  self.get(name)["status"]["step"] == "Done", f"{name} is {phase}")
        return self.get(name)

    def traffic(self, name, port, transport="TCP", service="web"):
        """The status of a port."""
        for item in self.get(name).get("status", {}).get("traffic", []):
            if (item["service"], item["port"], item["transport"]) == (service, port, transport):
                return item
        return {}
