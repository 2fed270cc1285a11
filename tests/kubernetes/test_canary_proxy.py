"""The proxy of a CanaryRelease against a real API server: exact shares, weights followed from the watch, sides without
endpoints, reports, draining. The test plays the controller: it writes status, and slices of endpoints."""
import collections
import concurrent.futures
import contextlib
import http.client
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile

import pytest

from api import ApiError
from canary import (Backend, Connection, Prober, Proxy, SLICES, ask, count, install, namespace, path)
from conftest import wait_until

NAME = "web-abcde"
PORT = 8080


@pytest.fixture(scope="module")
def api_server(start_clusters):
    cluster = start_clusters(parts=("etcd", "api"))
    install(cluster)
    return cluster


class World:
    """One CanaryRelease of a Service with a TCP and a UDP port."""

    def __init__(self, cluster, space):
        self.cluster, self.api = cluster, cluster.api
        self.space = namespace(cluster, space)
        self.stable, self.canary = Backend("A"), Backend("B")
        self.proxies = []

    def __enter__(self):
        self.stable.__enter__()
        self.canary.__enter__()
        self.api.post(path("canaryreleases", self.space), {
            "apiVersion": "slipway.dev/v1alpha1", "kind": "CanaryRelease", "metadata": {"name": NAME},
            "spec": {"release": "web", "version": 1, "drainSeconds": 2, "services": [{
                "service": "web", "ports": [{"port": 9090}, {"port": 5353, "protocol": "UDP"}]}]}})
        self.slices("forked", self.stable.port)
        self.slices("canary", self.canary.port)
        return self

    def __exit__(self, *_):
        for proxy in self.proxies:
            proxy.kill()
        self.stable.stop()
        self.canary.stop()

    def take_over(self):
        """The controller's records before it starts the proxy."""
        self.status({"step": "C6", "services": [{"service": "web", "ports": [
            {"port": 9090, "transport": "TCP", "name": "tcp", "proxyPort": PORT, "targetPort": 9090},
            {"port": 5353, "transport": "UDP", "name": "dns", "proxyPort": PORT + 1, "targetPort": 5353}]}]})

    def slices(self, copy, port, ready=True, address="127.0.0.1"):
        """One endpoint of the copy, or none for port 0."""
        name = f"web-{copy}-1"
        body = {"metadata": {"name": name, "labels": {"kubernetes.io/service-name": f"web-{copy}"}},
                "addressType": "IPv4",
                "ports": [{"name": "tcp", "protocol": "TCP", "port": port},
                          {"name": "dns", "protocol": "UDP", "port": port}] if port else [],
                "endpoints": [{"addresses": [address], "conditions": {"ready": ready}}] if port else []}
        where = f"{SLICES}/namespaces/{self.space}/endpointslices"
        if self.api.find(f"{where}/{name}"):
            self.api.delete(f"{where}/{name}")
        self.api.post(where, body)

    def proxy(self, *arguments, replica="one"):
        proxy = Proxy(self.cluster, self.space, NAME, replica, *arguments)
        self.proxies.append(proxy)
        proxy.start()
        return proxy

    def get(self):
        return self.api.get(path("canaryreleases", self.space, NAME))

    def spec(self, **members):
        return self.api.patch(path("canaryreleases", self.space, NAME), {"spec": members})

    def status(self, members):
        return self.api.patch(path("canaryreleases", self.space, NAME, "/status"), {"status": members})

    def http_weight(self, weight):
        return self.spec(services=[{"service": "web", "ports": [
            {"port": 9090, "protocol": "HTTP", "config": {"weight": weight}}]}])

    def weight(self, tcp, udp=0):
        return self.spec(services=[{"service": "web", "ports": [
            {"port": 9090, "config": {"weight": tcp}},
            {"port": 5353, "protocol": "UDP", "config": {"weight": udp}}]}])

    def report(self, index=0, replica="one"):
        """A replica's report about a port."""
        return self.get().get("status", {}).get("proxies", {}).get(replica, {"ports": [{}, {}]})["ports"][index]

    def wait_for_weight(self, permille, index=0, replica="one"):
        wait_until(lambda: self.report(index, replica).get("effectivePermille") == permille,
                   f"an effective share of {permille}")


@pytest.fixture
def world(api_server, request):
    with World(api_server, request.node.name.replace("_", "-").lower()[:60].rstrip("-")) as made:
        yield made


def test_not_ready_before_there_are_services(world):
    """scenario 2, the proxy's part"""
    proxy = world.proxy()
    wait_until(proxy.is_alive, "the proxy answers")
    assert not proxy.is_ready()
    world.take_over()
    proxy.wait_until_ready()
    assert ask(proxy.address, PORT) == "A"


def test_exact_shares(world):
    """scenarios 18 and 26: new connections"""
    world.take_over()
    world.weight(10)
    proxy = world.proxy("--workers", "3")
    proxy.wait_until_ready()
    world.wait_for_weight(100)
    assert count(proxy.address, PORT, 1000) == {"A": 900, "B": 100}
    world.spec(services=[{"service": "web", "ports": [{"port": 9090, "config": {"weightPermille": 1}}]}])
    world.wait_for_weight(1)
    assert count(proxy.address, PORT, 1000)["B"] == 1


def test_weight_edits_lose_nothing(world):
    """scenario 14: 50 edits under load; and scenario 15: open connections stay where they are"""
    world.take_over()
    proxy = world.proxy()
    proxy.wait_until_ready()
    held = [Connection(proxy.address, PORT) for _ in range(50)]
    assert {each.ask() for each in held} == {"A"}
    prober = Prober(proxy.address, PORT)
    for number in range(50):
        world.weight(number * 2)
        prober.wait_for(3)
    world.weight(100)
    world.wait_for_weight(1000)
    prober.wait_for(1)  # the request that was under way
    before = len(prober.letters)
    prober.wait_for(100)
    letters, failures = prober.stop()
    assert not failures
    assert set(letters[before:]) == {"B"}
    assert {each.ask() for each in held} == {"A"}
    world.weight(0)
    world.wait_for_weight(0)
    assert count(proxy.address, PORT, 200) == {"A": 200}


def test_invalid_weights(world):
    """scenario 17"""
    world.weight(10)
    before = world.get()["metadata"]["generation"]
    for weight in (-1, 101, 1.5, "10", 2**31):
        with pytest.raises(ApiError) as refused:
            world.weight(weight)
        assert refused.value.status == 422
        assert "spec.services" in str(refused.value) and "weight" in str(refused.value)
    with pytest.raises(ApiError) as refused:
        world.spec(services=[{"service": "web", "ports": [
            {"port": 9090, "config": {"weight": 1, "weightPermille": 1}}]}])
    assert refused.value.status == 422
    assert world.get()["metadata"]["generation"] == before


def test_side_without_endpoints(world):
    """scenario 30: the other side takes its share, and gives it back"""
    world.take_over()
    world.weight(50)
    proxy = world.proxy()
    proxy.wait_until_ready()
    world.wait_for_weight(500)
    world.slices("canary", world.canary.port, ready=False)
    world.wait_for_weight(0)
    assert count(proxy.address, PORT, 50) == {"A": 50}
    world.slices("canary", world.canary.port)
    world.slices("forked", 0)
    world.wait_for_weight(1000)
    assert count(proxy.address, PORT, 50) == {"B": 50}
    world.slices("forked", world.stable.port)
    world.wait_for_weight(500)
    assert count(proxy.address, PORT, 50) == {"A": 25, "B": 25}


def test_backend_that_refuses(world):
    """scenario 30: clients do not notice that the canary refuses connections"""
    world.take_over()
    world.weight(50)
    world.canary.stop()
    proxy = world.proxy()
    proxy.wait_until_ready()
    world.wait_for_weight(500)
    assert count(proxy.address, PORT, 100) == {"A": 100}
    wait_until(lambda: world.report()["canary"].get("errors") == 50, "50 errors are reported")


def test_counters(world):
    """scenario 56: what is reported is what the prober did"""
    world.take_over()
    world.weight(30)
    proxy = world.proxy()
    proxy.wait_until_ready()
    world.wait_for_weight(300)
    assert count(proxy.address, PORT, 100) == {"A": 70, "B": 30}
    world.weight(0)
    assert count(proxy.address, PORT, 10)["A"] >= 7
    wait_until(lambda: world.report()["stable"].get("connections", 0) +
               world.report()["canary"].get("connections", 0) == 110, "all connections are reported")


def test_workers_are_replaced(world):
    """scenario 45: a worker that is killed takes its own connections with it, and no others"""
    world.take_over()
    world.weight(20)
    proxy = world.proxy()
    proxy.wait_until_ready()
    world.wait_for_weight(200)
    prober = Prober(proxy.address, PORT)
    for _ in range(20):
        (worker,) = proxy.workers()
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda gone=worker: proxy.workers() and gone not in proxy.workers(), "another worker")
        prober.wait_for(3)
    _, failures = prober.stop()
    assert len(failures) <= 20, failures  # one connection is open at a time
    assert count(proxy.address, PORT, 100) == {"A": 80, "B": 20}


def test_continues_without_the_api_server(world):
    """scenario 48, the proxy's part: the last weights stay; scenario 50: edits arrive afterwards"""
    world.take_over()
    world.weight(50)
    proxy = world.proxy()
    proxy.wait_until_ready()
    world.wait_for_weight(500)
    world.cluster.kill_api_server()
    try:
        assert count(proxy.address, PORT, 50) == {"A": 25, "B": 25}
    finally:
        world.cluster.start_api_server()
        world.api.close()
    world.weight(100)
    world.wait_for_weight(1000)
    assert count(proxy.address, PORT, 50) == {"B": 50}


def test_deleted_canary_release(world):
    """The proxy carries on when its CanaryRelease and the Services are gone: the controller ends it."""
    world.take_over()
    world.weight(50)
    proxy = world.proxy()
    proxy.wait_until_ready()
    world.wait_for_weight(500)
    world.api.delete(path("canaryreleases", world.space, NAME))
    world.slices("forked", 0)
    world.slices("canary", 0)
    assert count(proxy.address, PORT, 50) == {"A": 25, "B": 25}


def test_terminate_drains(world):
    """Open connections end by themselves; after drainSeconds they are cut."""
    world.take_over()
    proxy = world.proxy()
    proxy.wait_until_ready()
    held = Connection(proxy.address, PORT)
    assert held.ask() == "A"
    proxy.terminate()
    wait_until(lambda: not proxy.is_ready(), "it is no longer ready")
    assert ask(proxy.address, PORT) == "A"  # kube-proxy still sends connections
    assert held.ask() == "A"
    held.close()
    assert proxy.wait() == 0


@pytest.fixture
def haproxy_folder(tmp_path):
    """HAProxy has no root's rights and must reach it."""
    if os.geteuid():
        yield str(tmp_path)
        return
    with tempfile.TemporaryDirectory(dir="/run") as folder:
        yield folder


def test_http_requests(world, haproxy_folder):
    """scenarios 13 and 22: requests of one connection are split, and follow new weights; the client's address is passed on"""
    world.take_over()
    world.http_weight(10)
    proxy = world.proxy("--haproxy-folder", haproxy_folder)
    proxy.wait_until_ready()
    world.wait_for_weight(100)
    client = http.client.HTTPConnection(proxy.address, PORT, timeout=60)

    def letters(number):
        found = collections.Counter()
        for _ in range(number):
            client.request("GET", "/")
            found[client.getresponse().read().decode()] += 1
        return found

    assert letters(100) == {"A": 90, "B": 10}
    kept = client.sock
    assert "x-forwarded-for: 127.0.0.1" in world.stable.headers.lower()
    world.http_weight(100)
    world.wait_for_weight(1000)
    assert letters(50) == {"B": 50}
    world.http_weight(0)
    world.wait_for_weight(0)
    assert letters(50) == {"A": 50}
    assert client.sock is kept
    wait_until(lambda: world.report()["canary"].get("requests") == 60 and
               world.report()["stable"].get("requests") == 140, "all requests are reported")


def test_shares_of_requests_are_exact(world, haproxy_folder):
    """scenario 11: over 64 open connections at once"""
    world.take_over()
    world.http_weight(0)
    proxy = world.proxy("--haproxy-folder", haproxy_folder)
    proxy.wait_until_ready()
    clients = [http.client.HTTPConnection(proxy.address, PORT, timeout=60) for _ in range(64)]

    def ask_all(clients_of_thread):
        letters = []
        for _ in range(31):
            for client in clients_of_thread:
                client.request("GET", "/")
                letters.append(client.getresponse().read().decode())
        return letters

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        for weight in (1, 10, 50):
            world.http_weight(weight)
            world.wait_for_weight(weight * 10)
            letters = [letter for each in threads.map(ask_all, [clients[i::8] for i in range(8)]) for letter in each]
            assert abs(letters.count("B") - len(letters) * weight / 100) <= 1, (weight, len(letters), letters.count("B"))
    for client in clients:
        client.close()


def test_proxy_starts_again(world):
    """scenario 47, the proxy's part: it has its state from the API server alone, and is not ready before"""
    world.take_over()
    world.weight(30)
    proxy = world.proxy()
    proxy.wait_until_ready()
    world.wait_for_weight(300)
    proxy.kill()
    world.weight(40)
    proxy.start()
    proxy.wait_until_ready()
    assert count(proxy.address, PORT, 50) == {"A": 30, "B": 20}


def curl(*arguments):
    return subprocess.run(["curl", "-sS", "--max-time", "60", *arguments], check=True, capture_output=True,
                          text=True).stdout


def test_requests_with_a_field(world, haproxy_folder):
    """Part 5: they go to the canary, whatever its share; as long as that is ready."""
    world.take_over()
    world.spec(services=[{"service": "web", "ports": [{"port": 9090, "protocol": "HTTP", "config": {
        "weight": 0, "match": [{"header": "X-Canary", "value": "al*"}]}}]}])
    proxy = world.proxy("--haproxy-folder", haproxy_folder)
    proxy.wait_until_ready()
    world.wait_for_weight(0)
    url = f"http://{proxy.address}:{PORT}/"
    assert [curl(url), curl("-H", "x-canary: Always", url), curl("-H", "X-Canary: never", url)] == ["A", "B", "A"]
    world.slices("canary", world.canary.port, ready=False)
    wait_until(lambda: curl("-H", "x-canary: Always", url) == "A", "the stable side has it")


class Http2:
    """One connection of HTTP/2 without TLS, with as little of it as a GET needs."""

    def __init__(self, address, port):
        self.stream = -1
        self.socket = socket.create_connection((address, port), timeout=60)
        self.file = self.socket.makefile("rb")
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.send(4, 0, 0)  # SETTINGS

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, kind, flags, stream, payload=b""):
        self.socket.sendall(struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload)

    def get(self):
        """The body of the answer to a GET of /."""
        self.stream += 2
        # END_STREAM and END_HEADERS; GET, http and / are in the static table, the authority is a literal.
        self.send(1, 5, self.stream, b"\x82\x86\x84\x41\x01x")
        body = b""
        while True:
            head = self.file.read(9)
            assert len(head) == 9, "the connection was closed"
            kind, flags, stream = struct.unpack(">BBI", head[3:])
            payload = self.file.read(int.from_bytes(head[:3], "big"))
            assert kind not in (3, 7), "RST_STREAM or GOAWAY"
            if kind == 4 and not flags & 1:
                self.send(4, 1, 0)
            if kind == 0 and stream == self.stream:
                body += payload
            if kind in (0, 1) and stream == self.stream and flags & 1:
                return body.decode()


def test_http2_without_tls(world, haproxy_folder, tmp_path):
    """Part 4: what a client sends as HTTP/2 reaches the pod as HTTP/2, and is divided by requests."""
    world.take_over()
    world.http_weight(50)
    proxy = world.proxy("--haproxy-folder", haproxy_folder)
    proxy.wait_until_ready()
    world.wait_for_weight(500)
    with contextlib.ExitStack() as opened:
        # Pods that answer with their letter and the version of HTTP that they were asked by.
        pods = {letter: opened.enter_context(socket.create_server(("127.0.0.1", 0))) for letter in "AB"}
        config = tmp_path / "pods.cfg"
        config.write_text("defaults\n mode http\n timeout client 1m\n" + "".join(
            f"frontend {letter}\n bind fd@{pod.fileno()}\n http-request return status 200 content-type text/plain "
            f"lf-string {letter}%[fc_http_major]\n" for letter, pod in pods.items()))
        haproxy = shutil.which("haproxy") or "/usr/sbin/haproxy"
        process = opened.enter_context(subprocess.Popen([haproxy, "-db", "-f", config],
                                                        pass_fds=[pod.fileno() for pod in pods.values()]))
        opened.callback(process.kill)
        world.slices("forked", pods["A"].getsockname()[1])
        world.slices("canary", pods["B"].getsockname()[1])
        url = f"http://{proxy.address}:{PORT}/"
        wait_until(lambda: curl(url) in ("A1", "B1"), "the targets have changed")
        with Http2(proxy.address, PORT) as client:
            assert collections.Counter(client.get() for _ in range(100)) == {"A2": 50, "B2": 50}
        assert set(curl(*[url] * 2)) == set("A1B1")


def test_tls_ends_at_the_proxy(world, haproxy_folder, tmp_path):
    """scenario 25: requests are divided, and a changed Secret is used for new handshakes; a wrong one is reported, and the
    certificate before stays"""
    def write(name):
        folder = tmp_path / "certificates" / "web-tls"
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", f"/CN={name}", "-keyout", folder / "tls.key", "-out",
                        folder / "tls.crt"], check=True, capture_output=True)
        return folder

    def subject():
        pem = ssl.get_server_certificate((proxy.address, PORT))
        return subprocess.run(["openssl", "x509", "-noout", "-subject"], input=pem, check=True, capture_output=True,
                              text=True).stdout

    folder = write("one.test")
    world.take_over()
    world.spec(services=[{"service": "web", "ports": [{"port": 9090, "protocol": "HTTPS", "config": {"weight": 10},
                                                       "tls": {"secretName": "web-tls"}}]}])
    proxy = world.proxy("--haproxy-folder", haproxy_folder, "--certificates", str(tmp_path / "certificates"))
    proxy.wait_until_ready()
    world.wait_for_weight(100)
    assert collections.Counter(curl("-k", *[f"https://{proxy.address}:{PORT}/"] * 100)) == {"A": 90, "B": 10}
    assert "one.test" in subject()
    write("two.test")
    wait_until(lambda: "two.test" in subject(), "the new certificate")
    (folder / "tls.key").write_text("wrong\n")
    wait_until(lambda: "has no private key" in world.get()["status"]["proxies"]["one"].get("badCertificate", ""),
               "the wrong key is reported")
    assert "two.test" in subject()
    assert curl("-k", f"https://{proxy.address}:{PORT}/") in "AB"


def test_tls_is_passed_through(world, tmp_path):
    """scenario 24: clients see the pods' own certificate, and connections are divided"""
    certificate = str(tmp_path / "own.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=pod.test", "-keyout", certificate, "-out", certificate + ".crt"], check=True,
                   capture_output=True)
    with subprocess.Popen(["openssl", "s_server", "-accept", "127.0.0.1:0", "-key", certificate, "-cert",
                           certificate + ".crt", "-alpn", "h2", "-www"], stdout=subprocess.PIPE, text=True) as pod:
        port = int(next(line for line in pod.stdout if line.startswith("ACCEPT")).rsplit(":", 1)[1])
        try:
            world.slices("forked", port)
            world.slices("canary", port)
            world.take_over()
            world.spec(services=[{"service": "web", "ports": [{"port": 9090, "protocol": "HTTPS",
                                                               "config": {"weight": 30}}]}])
            proxy = world.proxy()
            proxy.wait_until_ready()
            world.wait_for_weight(300)
            context = ssl.create_default_context(cafile=certificate + ".crt")
            context.check_hostname = False
            context.set_alpn_protocols(["h2"])
            for _ in range(10):
                with socket.create_connection((proxy.address, PORT), timeout=60) as raw, \
                        context.wrap_socket(raw) as secure:
                    assert secure.selected_alpn_protocol() == "h2"
            wait_until(lambda: [world.report()[side].get("connections") for side in ("stable", "canary")] == [7, 3],
                       "the connections are reported")
        finally:
            pod.kill()


def test_metrics(world):
    """scenario 56: what Prometheus reads is what the prober did, to the connection"""
    world.take_over()
    world.weight(30)
    proxy = world.proxy()
    proxy.wait_until_ready()
    world.wait_for_weight(300)
    assert count(proxy.address, PORT, 100) == {"A": 70, "B": 30}
    world.weight(50)
    world.wait_for_weight(500)
    assert count(proxy.address, PORT, 100) == {"A": 50, "B": 50}
    lines = curl(f"http://{proxy.address}:7070/metrics").splitlines()
    for line in ('slipway_canary_connections_total{port="web:9090/TCP",side="stable"} 120',
                 'slipway_canary_connections_total{port="web:9090/TCP",side="canary"} 80',
                 'slipway_canary_received_bytes_total{port="web:9090/TCP",side="canary"} 160',
                 'slipway_canary_sent_bytes_total{port="web:9090/TCP",side="stable"} 120',
                 'slipway_canary_weight_permille{port="web:9090/TCP"} 500',
                 'slipway_canary_effective_weight_permille{port="web:9090/TCP"} 500'):
        assert line in lines, lines


def test_concurrent_edits(world):
    """scenario 19: one of two edits of the same version is refused, the other one applies"""
    world.take_over()
    proxy = world.proxy()
    proxy.wait_until_ready()
    version = world.get()["metadata"]["resourceVersion"]
    where = path("canaryreleases", world.space, NAME)

    def edit(weight):
        world.api.patch(where, {"metadata": {"resourceVersion": version}, "spec": {"services": [
            {"service": "web", "ports": [{"port": 9090, "config": {"weight": weight}}]}]}})

    # A report of the proxy changes the version, too.
    while True:
        try:
            edit(20)
            break
        except ApiError as refused:
            assert refused.status == 409
            version = world.get()["metadata"]["resourceVersion"]
    with pytest.raises(ApiError) as refused:
        edit(30)
    assert refused.value.status == 409
    world.wait_for_weight(200)


def test_datagrams(world):
    """scenarios 28 and 29: one client's datagrams are divided, and 50 edits of the weight lose none"""
    def port(weight):
        world.spec(services=[{"service": "web", "ports": [{"port": 5353, "protocol": "UDP", "config": {
            "weight": weight, "responses": 1}}]}])

    world.take_over()
    port(10)
    proxy = world.proxy()
    proxy.wait_until_ready()
    world.wait_for_weight(100, index=1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(60)
        client.connect((proxy.address, PORT + 1))

        def ask_all(number):
            found = collections.Counter()
            for _ in range(number):
                client.send(b"x")
                found[client.recv(10)[:1].decode()] += 1
            return found

        assert ask_all(10000) == {"A": 9000, "B": 1000}
        for number in range(50):
            port(number * 2)
            ask_all(100)
        port(100)
        world.wait_for_weight(1000, index=1)
        assert ask_all(100) == {"B": 100}


def test_udp(world):
    """scenario 27: every client has a side; the shares are exact"""
    world.take_over()
    world.weight(0, udp=10)
    proxy = world.proxy()
    proxy.wait_until_ready()
    world.wait_for_weight(100, index=1)
    found = collections.Counter()
    with contextlib.ExitStack() as clients:
        for _ in range(500):  # all are kept: a port that is used again is the same client
            client = clients.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            client.settimeout(60)
            client.connect((proxy.address, PORT + 1))
            client.send(b"x")
            first = client.recv(10)
            client.send(b"y")
            assert client.recv(10)[:1] == first[:1]
            found[first[:1].decode()] += 1
    assert found == {"A": 450, "B": 50}


def test_two_replicas(world):
    world.take_over()
    world.weight(10)
    proxies = [world.proxy(replica=name) for name in ("one", "two")]
    for proxy, replica in zip(proxies, ("one", "two")):
        proxy.wait_until_ready()
        world.wait_for_weight(100, replica=replica)
        assert count(proxy.address, PORT, 100) == {"A": 90, "B": 10}
