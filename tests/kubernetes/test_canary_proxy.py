"""The proxy of a CanaryRelease against a real API server: exact shares, weights followed from the watch, sides without
endpoints, reports, draining. The test plays the controller: it writes status, and slices of endpoints."""
import collections
import contextlib
import http.client
import os
import signal
import socket
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
        """What the controller records before it starts the proxy."""
        self.status({"step": "C6", "services": [{"service": "web", "ports": [
            {"port": 9090, "transport": "TCP", "name": "tcp", "proxyPort": PORT, "targetPort": 9090},
            {"port": 5353, "transport": "UDP", "name": "dns", "proxyPort": PORT + 1, "targetPort": 5353}]}]})

    def slices(self, copy, port, ready=True):
        """One endpoint of the copy, or none for port 0."""
        name = f"web-{copy}-1"
        body = {"metadata": {"name": name, "labels": {"kubernetes.io/service-name": f"web-{copy}"}},
                "addressType": "IPv4",
                "ports": [{"name": "tcp", "protocol": "TCP", "port": port},
                          {"name": "dns", "protocol": "UDP", "port": port}] if port else [],
                "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": ready}}] if port else []}
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
    prober.wait_for(1)  # the one that was under way
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
    for _ in range(5):
        (worker,) = proxy.workers()
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda gone=worker: proxy.workers() and gone not in proxy.workers(), "another worker")
        assert sum(count(proxy.address, PORT, 20).values()) == 20


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
    assert ask(proxy.address, PORT) == "A"  # what kube-proxy still sends
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
