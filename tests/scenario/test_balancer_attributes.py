"""Attributes of load balancers and target groups, set by boto3, and what they do to real traffic."""
import socket
import socketserver
import struct
import threading
import time

import pytest

from backends import Backends
from balancing import NETWORK, Balancer, Web, ask_new
from conftest import DEADLINE, wait_until

SERVER_ARGUMENTS = ["--runtime", "none", "--balancers", NETWORK]


@pytest.fixture(name="backends", scope="module")
def make_backends():
    with Backends("A", "B", "C") as backends:
        yield backends


@pytest.fixture(name="web", scope="module")
def make_web(slipway, backends):
    """An application load balancer with the group all, of A, B and C, and a group for each of A and B."""
    balancer = Balancer(slipway, "web", "application")
    balancer.group("all", "HTTP", [backends[name].http for name in "ABC"], HealthCheckPath="/health")
    for name in "AB":
        balancer.group(name.lower(), "HTTP", [backends[name].http], HealthCheckPath="/health")
    balancer.http = balancer.listen("HTTP", {"all": 1})
    balancer.both = balancer.listen("HTTP", {"a": 1, "b": 1})
    balancer.wait_until_healthy()
    return balancer


def set_group(balancer, name, **values):
    """Sets attributes of a group, with __ for dots. Returns when they are in effect."""
    balancer.elb.modify_target_group_attributes(TargetGroupArn=balancer.groups[name], Attributes=[
        {"Key": key.replace("__", "."), "Value": value} for key, value in values.items()])
    balancer.wait_until_settled()


def set_balancer(balancer, **values):
    balancer.elb.modify_load_balancer_attributes(LoadBalancerArn=balancer.arn, Attributes=[
        {"Key": key.replace("__", "."), "Value": value} for key, value in values.items()])
    balancer.wait_until_settled()


class Browser:
    """A connection for every request, and all cookies that it was given."""

    def __init__(self, address, port):
        self.place, self.cookies = (address, port), {}

    def ask(self, path="/"):
        client = Web(*self.place)
        held = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = client.get(path, **({"Cookie": held} if held else {}))
        client.close()
        assert answer.status == 200, answer.text
        for given in answer.headers.get_all("Set-Cookie") or []:
            name, value = given.split(";")[0].split("=", 1)
            self.cookies[name] = value
        return answer.text

    def asks(self, times=9):
        return {self.ask() for _ in range(times)}


# ---- cookies ----

def test_clients_stay_with_their_target(web):
    assert Browser(web.address, web.http).asks() == set("ABC")
    set_group(web, "all", stickiness__enabled="true", stickiness__type="lb_cookie")
    browsers = [Browser(web.address, web.http) for _ in range(9)]
    first = [browser.ask() for browser in browsers]
    assert set(first) == set("ABC")
    assert all("AWSALB" in browser.cookies for browser in browsers)
    assert [browser.asks() for browser in browsers] == [{name} for name in first]
    # Without stickiness no client stays.
    set_group(web, "all", stickiness__enabled="false")
    assert browsers[0].asks() == set("ABC")


def test_clients_stay_as_long_as_their_application_wants(web):
    set_group(web, "all", stickiness__enabled="true", stickiness__type="app_cookie",
              stickiness__app_cookie__cookie_name="SESSION")
    browsers = [Browser(web.address, web.http) for _ in range(9)]
    # The application has given them nothing yet.
    assert browsers[0].asks() == set("ABC") and browsers[0].cookies == {}
    first = [browser.ask("/session") for browser in browsers]
    assert set(first) == set("ABC")
    assert set(browsers[0].cookies) == {"SESSION", "AWSALBAPP-0"}
    assert [browser.asks() for browser in browsers] == [{name} for name in first]
    del browsers[0].cookies["SESSION"]
    assert browsers[0].asks() == set("ABC")
    set_group(web, "all", stickiness__enabled="false")


def test_clients_stay_with_their_group(web):
    def forward(sticky):
        action, = web.forward({"a": 1, "b": 1})
        if sticky:
            action["ForwardConfig"]["TargetGroupStickinessConfig"] = {
                "Enabled": True, "DurationSeconds": 3600}
        web.elb.modify_listener(ListenerArn=web.listeners[web.both], DefaultActions=[action])
        web.wait_until_settled()

    forward(sticky=True)
    browsers = [Browser(web.address, web.both) for _ in range(8)]
    first = [browser.ask() for browser in browsers]
    assert sorted(first) == ["A"] * 4 + ["B"] * 4
    assert all("AWSALBTG" in browser.cookies for browser in browsers)
    assert [browser.asks() for browser in browsers] == [{name} for name in first]
    forward(sticky=False)
    assert browsers[0].asks() == {"A", "B"}


# ---- which target is next ----

def hold(balancer, port, backends):
    """A request that stays under way; (client, name of the target that has it)."""
    before = backends.send("counts")
    client = Web(balancer.address, port)
    client.connection.request("GET", "/hold")

    def arrived():
        now = backends.send("counts")
        return [name for name in now if now[name]["http"] > before[name]["http"]]

    return client, wait_until(arrived, "the request arrives")[0]


def test_the_target_with_the_fewest_requests_is_next(web, backends):
    set_group(web, "all", load_balancing__algorithm__type="least_outstanding_requests")
    held = [hold(web, web.http, backends) for _ in range(2)]
    busy = [name for _, name in held]
    free, = set("ABC") - set(busy)
    # On one connection: on another one that request may not be counted out yet.
    client = Web(web.address, web.http)
    assert {client.ask() for _ in range(9)} == {free}
    client.close()
    set_group(web, "all", load_balancing__algorithm__type="round_robin")
    assert Browser(web.address, web.http).asks() == set("ABC")
    backends.send("release")
    for client, name in held:
        answer = client.connection.getresponse()
        assert (answer.status, answer.read().decode()) == (200, name)
        client.close()


def test_clients_of_an_address_stay_together(slipway, backends):
    balancer = Balancer(slipway, "source")
    balancer.group("all", "TCP", [backends[name].port for name in "AB"],
                   attributes={"stickiness.enabled": "true", "stickiness.type": "source_ip"})
    port = balancer.listen("TCP", {"all": 1})
    balancer.wait_until_healthy()

    def ask_from(source):
        with socket.create_connection((balancer.address, port), timeout=DEADLINE,
                                      source_address=(source, 0)) as connection:
            connection.sendall(b"hello\n")
            return connection.makefile("rb").readline().split()[0].decode()

    sources = [f"127.0.1.{number}" for number in range(1, 33)]
    first = [ask_from(source) for source in sources]
    assert set(first) == {"A", "B"}
    for _ in range(3):
        assert [ask_from(source) for source in sources] == first
    set_group(balancer, "all", stickiness__enabled="false")
    assert {ask_from(sources[0]) for _ in range(4)} == {"A", "B"}


# ---- the address of the client ----

class ProxyProtocolTarget(socketserver.ThreadingTCPServer):
    """A target that answers every connection by where it is said to come from: "ADDRESS PORT" of a PROXY
    protocol header, or "nothing" when there is none."""
    SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
    daemon_threads = True
    request_queue_size = 128

    class Handler(socketserver.StreamRequestHandler):
        timeout = DEADLINE

        def handle(self):
            answer, head = "nothing", self.rfile.peek(1)
            if head[:1] == b"\r":
                assert self.rfile.read(12) == ProxyProtocolTarget.SIGNATURE
                command, family, length = struct.unpack("!BBH", self.rfile.read(4))
                body = self.rfile.read(length)
                if (command, family) == (0x21, 0x11):  # PROXY, TCP over IPv4
                    port, = struct.unpack("!H", body[8:10])
                    answer = f"{socket.inet_ntoa(body[:4])} {port}"
            if self.rfile.readline() == b"hello\n":
                self.wfile.write(answer.encode() + b"\n")

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def test_proxy_protocol_carries_the_address_of_the_client(slipway):
    with ProxyProtocolTarget(("127.0.0.1", 0), ProxyProtocolTarget.Handler) as target:
        balancer = Balancer(slipway, "proxied")
        balancer.group("all", "TCP", [target.server_address[1]])
        port = balancer.listen("TCP", {"all": 1})
        balancer.wait_until_healthy()

        def ask():
            """(the answer, the address that the target should report)"""
            with socket.create_connection((balancer.address, port), timeout=DEADLINE) as connection:
                connection.sendall(b"hello\n")
                answer = connection.makefile("rb").readline().decode().strip()
                return answer, "%s %d" % connection.getsockname()

        assert ask()[0] == "nothing"
        set_group(balancer, "all", proxy_protocol_v2__enabled="true")
        for _ in range(5):
            answer, expected = ask()
            assert answer == expected
        set_group(balancer, "all", proxy_protocol_v2__enabled="false")
        assert ask()[0] == "nothing"
        balancer.elb.delete_listener(ListenerArn=balancer.listeners[port])


def test_forwarded_for_carries_the_address_of_the_client(web):
    def seen():
        client = Web(web.address, web.http)
        source = client.connection.sock.getsockname()
        answer = client.get("/", **{"X-Forwarded-For": "192.0.2.1"})
        client.close()
        return answer.getheader("X-Saw-X-Forwarded-For"), source

    assert seen()[0] == "192.0.2.1, 127.0.0.1"
    set_balancer(web, routing__http__xff_client_port__enabled="true")
    told, source = seen()
    assert told == "192.0.2.1, %s:%d" % source
    set_balancer(web, routing__http__xff_client_port__enabled="false",
                 routing__http__xff_header_processing__mode="preserve")
    assert seen()[0] == "192.0.2.1"
    set_balancer(web, routing__http__xff_header_processing__mode="remove")
    assert seen()[0] == ""
    set_balancer(web, routing__http__xff_header_processing__mode="append")


# ---- slow start ----

def test_a_target_begins_small_beside_one_with_its_full_part(slipway, backends):
    balancer = Balancer(slipway, "rising", "application")
    balancer.group("all", "HTTP", [backends["A"].http], {"slow_start.duration_seconds": "900"},
                   HealthCheckPath="/health")
    port = balancer.listen("HTTP", {"all": 1})
    balancer.wait_until_healthy()
    began = time.monotonic()
    balancer.register("all", backends["B"].http)
    balancer.wait_until_healthy()
    balancer.wait_until_settled()
    client = Web(balancer.address, port)
    assert client.ask() in "AB"
    answers = [client.ask() for _ in range(100)]
    # B has one percent of A's part to begin with, and one more every nine seconds.
    assert answers.count("B") <= 3 + (time.monotonic() - began) / 9
    # Without slow start it is half of them, as of old.
    set_group(balancer, "all", slow_start__duration_seconds="0")
    answers = [client.ask() for _ in range(100)]
    assert abs(answers.count("B") - 50) <= 2
    client.close()


# ---- silence ----

def test_silence_ends_requests_and_connections(slipway, backends):
    balancer = Balancer(slipway, "idle", "application")
    balancer.group("all", "HTTP", [backends["A"].http], HealthCheckPath="/health")
    port = balancer.listen("HTTP", {"all": 1})
    balancer.wait_until_healthy()
    patient, _ = hold(balancer, port, backends)
    set_balancer(balancer, idle_timeout__timeout_seconds="15")  # longer than the machine may be busy
    assert ask_new(Web)(balancer.address, port) == "A"
    client = Web(balancer.address, port)
    assert client.get("/hold").status == 504
    client.close()
    client = Web(balancer.address, port)
    assert client.ask() == "A"
    assert client.connection.sock.recv(1) == b""  # idle, and the load balancer closes it
    client.close()
    backends.send("release")
    answer = patient.connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"A")
    patient.close()
