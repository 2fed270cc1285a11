"""Load balancers carry traffic: real listeners, made by boto3, real programs behind them, and clients that
notice everything that is lost. Losses are counted; nothing is timed."""
import json
import os
import resource
import signal
import socket
import ssl
import subprocess

import pytest

from backends import Backends
from balancing import (NETWORK, Balancer, Line, Load, Session, Web, ask_new, ask_tcp, children,
                       is_alive, make_certificate, tls_connection, traffic, wait_until_closed,
                       wait_until_gone)
from conftest import DEADLINE, wait_until

SERVER_ARGUMENTS = ["--runtime", "none", "--balancers", NETWORK]

# A thousand clients at once are more descriptors than some machines give without being asked.
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)

KILLS = 20
# Weights of A and B, and how many of so many must reach B. They are whole rounds of the sequence, so wherever in
# it one begins, not one more or less is right.
SHARES = [((999, 1), 1000, 1), ((99, 1), 200, 2), ((90, 10), 100, 10), ((50, 50), 50, 25),
          ((0, 100), 20, 20), ((100, 0), 20, 0)]


@pytest.fixture(name="backends", scope="module")
def make_backends():
    with Backends("A", "B", "C", "D") as backends:
        yield backends


@pytest.fixture(name="network", scope="module")
def make_network(slipway, backends):
    """A network load balancer with groups a and b for each of TCP and UDP."""
    balancer = Balancer(slipway, "network")
    for name in "AB":
        balancer.group(f"tcp-{name}".lower(), "TCP", [backends[name].port])
        balancer.group(f"udp-{name}".lower(), "UDP", [backends[name].port])
    balancer.tcp = balancer.listen("TCP", {"tcp-a": 1, "tcp-b": 1})
    balancer.udp = balancer.listen("UDP", {"udp-a": 1, "udp-b": 1})
    balancer.wait_until_healthy()
    return balancer


def share_of_b(ask, count):
    answers = [ask() for _ in range(count)]
    assert set(answers) <= {"A", "B"}
    return answers.count("B")


def wait_for_all(loads):
    """Between two changes everybody is answered some times."""
    goals = [load.count + 3 for load in loads]
    wait_until(lambda: all(load.count >= goal for load, goal in zip(loads, goals)),
               "three more answers for each")


# ---- network load balancers ----

@pytest.mark.parametrize("weights, count, expected", SHARES)
def test_tcp_is_divided_exactly(network, weights, count, expected):
    network.weigh(network.tcp, dict(zip(("tcp-a", "tcp-b"), weights)))
    assert share_of_b(lambda: ask_tcp(network.address, network.tcp), count) == expected


@pytest.mark.parametrize("weights, count, expected", SHARES)
def test_udp_sessions_are_divided_exactly(network, weights, count, expected):
    """On a listener of its own, with ports that are all different: a client that comes again stays where it
    was."""
    port = network.listen("UDP", dict(zip(("udp-a", "udp-b"), weights)))
    sessions = [Session(network.address, port) for _ in range(count)]
    sides = [session.ask() for session in sessions]
    assert sides.count("B") == expected and sides.count("A") == count - expected
    assert [session.ask() for session in sessions] == sides
    for session in sessions:
        session.close()
    network.elb.delete_listener(ListenerArn=network.listeners[port])


@pytest.mark.sanitized
def test_fifty_changes_of_weights_lose_nothing(network):
    """Connections that are open stay where they are; new ones and datagrams are all answered."""
    address = network.address
    lines = [Line(address, network.tcp) for _ in range(20)]
    sides = [line.ask() for line in lines]
    with Load(Line, address, network.tcp) as new, \
            Load(Line, address, network.tcp, keep=True) as kept, \
            Load(Session, address, network.udp) as sessions, \
            Load(Session, address, network.udp, keep=True) as datagrams:
        loads = [new, kept, sessions, datagrams]
        for number in range(50):
            weights = ((1, 0), (0, 1), (1, 999), (500, 500))[number % 4]
            port, groups = ((network.tcp, ("tcp-a", "tcp-b")),
                            (network.udp, ("udp-a", "udp-b")))[number // 2 % 2]
            network.elb.modify_listener(ListenerArn=network.listeners[port],
                                        DefaultActions=network.forward(dict(zip(groups, weights))))
            wait_for_all(loads)
    assert [load.failures for load in loads] == [[]] * 4
    # Each connection and each datagram was answered.
    assert [load.count for load in loads] == [load.asked for load in loads]
    assert [line.ask() for line in lines] == sides
    for line in lines:
        line.close()


def test_new_weights_are_in_effect_when_they_are_settled(network):
    for number in range(10):
        only = "ab"[number % 2]
        network.weigh(network.tcp, {"tcp-a": int(only == "a"), "tcp-b": int(only == "b")})
        assert {ask_tcp(network.address, network.tcp) for _ in range(5)} == {only.upper()}


def test_a_killed_worker_loses_only_what_it_carried(network, slipway):
    network.weigh(network.tcp, {"tcp-a": 50, "tcp-b": 50})
    with Load(Line, network.address, network.tcp, threads=4) as load:
        for _ in range(KILLS):
            workers = wait_until(lambda: children(slipway.process.pid, "proxy-worker"), "a worker")
            load.wait_for_more(10)
            os.kill(workers[0], signal.SIGKILL)
            wait_until_gone(workers[0])
        load.wait_for_more(20)
    assert len(load.failures) <= KILLS * 4, load.failures[:3]
    assert share_of_b(lambda: ask_tcp(network.address, network.tcp), 100) == 50


def test_tcp_and_udp_on_one_port(slipway, backends):
    balancer = Balancer(slipway, "both")
    balancer.group("all", "TCP_UDP", [backends["A"].port])
    port = balancer.listen("TCP_UDP", {"all": 1})
    balancer.wait_until_healthy()
    assert ask_tcp(balancer.address, port) == "A"
    assert ask_new(Session)(balancer.address, port) == "A"
    listeners = [one for one in traffic(slipway)["listeners"]
                 if one["address"] == f"{balancer.address}:{port}"]
    assert sorted((one["protocol"], one["counters"]["connections"]) for one in listeners) == \
        [("tcp", 1), ("udp", 1)]


@pytest.mark.sanitized
def test_draining_ends_with_the_last_connection(slipway, backends):
    balancer = Balancer(slipway, "drain")
    balancer.group("all", "TCP", [backends["A"].port],
                   attributes={"deregistration_delay.timeout_seconds": "3600"})
    port = balancer.listen("TCP", {"all": 1})
    balancer.wait_until_healthy()
    line = Line(balancer.address, port)
    assert line.ask() == "A"
    balancer.register("all", backends["B"].port)
    balancer.wait_until_healthy()
    balancer.deregister("all", backends["A"].port)
    # New ones reach other targets as soon as that is in effect, open ones stay.
    balancer.wait_until_settled()
    assert {ask_tcp(balancer.address, port) for _ in range(10)} == {"B"}
    assert line.ask() == "A"
    assert balancer.health("all")[backends["A"].port] == \
        ("draining", "Target.DeregistrationInProgress")
    line.close()
    wait_until(lambda: backends["A"].port not in balancer.health("all"), "the target is gone")
    # One that comes back while it drains is as any other.
    line = Line(balancer.address, port)
    assert line.ask() == "B"
    balancer.deregister("all", backends["B"].port)
    balancer.wait_until_settled()
    balancer.register("all", backends["B"].port)
    balancer.wait_until_healthy()
    assert line.ask() == ask_tcp(balancer.address, port) == "B"
    line.close()


def test_draining_ends_at_its_deadline(slipway, backends):
    balancer = Balancer(slipway, "deadline")
    balancer.group("all", "TCP", [backends["A"].port],
                   attributes={"deregistration_delay.timeout_seconds": "1"})
    port = balancer.listen("TCP", {"all": 1})
    balancer.wait_until_healthy()
    line = Line(balancer.address, port)
    assert line.ask() == "A"
    balancer.deregister("all", backends["A"].port)
    wait_until(lambda: not balancer.health("all"), "the target is gone")
    balancer.wait_until_settled()
    with pytest.raises((OSError, ValueError)):
        line.ask()
        line.ask()
    line.close()
    with pytest.raises((OSError, IndexError)):
        ask_tcp(balancer.address, port)


def test_connections_outlive_the_use_of_their_group(slipway, backends):
    """A listener is turned to another group: what is open stays where it is, new connections go to the
    other, and targets of the old one that are deregistered drain."""
    balancer = Balancer(slipway, "turn")
    for name in "AB":
        balancer.group(name.lower(), "TCP", [backends[name].port],
                       attributes={"deregistration_delay.timeout_seconds": "3600"})
    port = balancer.listen("TCP", {"a": 1})
    other = balancer.listen("TCP", {"b": 1})
    balancer.wait_until_healthy()
    line, second = Line(balancer.address, port), Line(balancer.address, port)
    assert line.ask() == second.ask() == "A"
    balancer.weigh(port, {"b": 1})
    assert {ask_tcp(balancer.address, port) for _ in range(10)} == {"B"}
    # Another change later nothing is different.
    balancer.weigh(other, {"b": 2})
    assert line.ask() == second.ask() == "A"
    balancer.deregister("a", backends["A"].port)
    balancer.wait_until_settled()
    assert line.ask() == second.ask() == "A"
    assert slipway_target(balancer, "a", backends["A"].port) == "draining"
    second.close()
    assert line.ask() == "A"
    line.close()
    wait_until(lambda: slipway_target(balancer, "a", backends["A"].port) is None, "it is gone")


def slipway_target(balancer, group, port):
    """The state of a target in the data plane; None: it is not there any more."""
    for known in traffic(balancer.server)["groups"]:
        for target in known["targets"]:
            if known["name"].endswith(f"/{balancer.name}-{group}") and \
                    target["address"].endswith(f":{port}"):
                return target["state"]
    return None


# ---- application load balancers ----

@pytest.fixture(name="web", scope="module")
def make_web(slipway, backends):
    """An application load balancer with the groups a and b."""
    balancer = Balancer(slipway, "web", "application")
    for name in "AB":
        balancer.group(name.lower(), "HTTP", [backends[name].http], HealthCheckPath="/health")
    balancer.http = balancer.listen("HTTP", {"a": 1, "b": 1})
    balancer.wait_until_healthy()
    return balancer


@pytest.mark.parametrize("weights, count, expected", SHARES)
def test_requests_are_divided_exactly(web, weights, count, expected):
    """On one connection that is kept."""
    web.weigh(web.http, dict(zip("ab", weights)))
    client = Web(web.address, web.http)
    assert share_of_b(client.ask, count) == expected
    client.close()


@pytest.mark.sanitized
def test_fifty_changes_of_weights_lose_no_request(web):
    """By ModifyListener and by ModifyRule; no connection is closed."""
    rule = web.elb.create_rule(
        ListenerArn=web.listeners[web.http], Priority=10, Actions=web.forward({"a": 1, "b": 1}),
        Conditions=[{"Field": "path-pattern", "Values": ["/rule"]}])["Rules"][0]["RuleArn"]
    web.wait_until_settled()
    with Load(Web, web.address, web.http) as new, \
            Load(Web, web.address, web.http, keep=True) as kept, \
            Load(RuledWeb, web.address, web.http, keep=True) as ruled:
        loads = [new, kept, ruled]
        for number in range(50):
            weights = dict(zip("ab", ((1, 0), (0, 1), (1, 999), (500, 500))[number // 2 % 4]))
            if number % 2:
                web.elb.modify_listener(ListenerArn=web.listeners[web.http],
                                        DefaultActions=web.forward(weights))
            else:
                web.elb.modify_rule(RuleArn=rule, Actions=web.forward(weights))
            wait_for_all(loads)
    assert [load.failures for load in loads] == [[]] * 3
    assert [load.count for load in loads] == [load.asked for load in loads]
    for only in "abab":
        web.elb.modify_rule(RuleArn=rule, Actions=web.forward({only: 1}))
        web.wait_until_settled()
        client = RuledWeb(web.address, web.http)
        assert {client.ask() for _ in range(5)} == {only.upper()}
        client.close()
    web.elb.delete_rule(RuleArn=rule)


class RuledWeb(Web):
    """Asks for a path of its own."""

    def ask(self):
        answer = self.get("/rule")
        assert answer.status == 200
        return answer.text


def test_a_killed_haproxy_loses_only_what_it_carried(web, slipway):
    web.weigh(web.http, {"a": 50, "b": 50})
    with Load(Web, web.address, web.http, threads=4) as load:
        for _ in range(KILLS):
            load.wait_for_more(10)
            process = wait_until(lambda: children(slipway.process.pid, "haproxy"), "HAProxy")[0]
            os.kill(process, signal.SIGKILL)
            wait_until_gone(process)
        load.wait_for_more(20)
    assert len(load.failures) <= KILLS * 4, load.failures[:3]
    client = Web(web.address, web.http)
    assert share_of_b(client.ask, 100) == 50
    client.close()


def test_a_draining_target_finishes_its_requests(slipway, backends):
    balancer = Balancer(slipway, "webdrain", "application")
    balancer.group("all", "HTTP", [backends["A"].http], HealthCheckPath="/health",
                   attributes={"deregistration_delay.timeout_seconds": "3600"})
    port = balancer.listen("HTTP", {"all": 1})
    balancer.wait_until_healthy()
    slow, quick = Web(balancer.address, port), Web(balancer.address, port)
    before = backends.send("counts")["A"]["http"]
    slow.connection.request("GET", "/slow/2000")
    wait_until(lambda: backends.send("counts")["A"]["http"] > before, "the request arrives")
    balancer.register("all", backends["B"].http)
    balancer.wait_until_healthy("all")
    balancer.deregister("all", backends["A"].http)
    balancer.wait_until_settled()
    assert {quick.ask() for _ in range(10)} == {"B"}
    answer = slow.connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"A")
    wait_until(lambda: backends["A"].http not in balancer.health("all"), "the target is gone")
    slow.close()
    quick.close()


def test_answers_that_need_no_target(web):
    """Redirects, fixed answers, and a group without targets."""
    web.group("none", "HTTP", [])
    rules = [
        ({"Field": "path-pattern", "Values": ["/old/*"]},
         {"Type": "redirect", "RedirectConfig": {
             "StatusCode": "HTTP_301", "Protocol": "HTTPS", "Port": "443", "Path": "/new/#{path}"}}),
        ({"Field": "http-header", "HttpHeaderConfig": {"HttpHeaderName": "X-Teapot",
                                                       "Values": ["y?s"]}},
         {"Type": "fixed-response", "FixedResponseConfig": {
             "StatusCode": "418", "ContentType": "text/plain", "MessageBody": "short and stout"}}),
        ({"Field": "query-string", "QueryStringConfig": {"Values": [{"Key": "to", "Value": "ab*"}]}},
         web.forward({"none": 1})[0]),
    ]
    for number, (condition, action) in enumerate(rules):
        web.elb.create_rule(ListenerArn=web.listeners[web.http], Priority=100 + number,
                            Conditions=[condition], Actions=[action])
    web.wait_until_settled()
    client = Web(web.address, web.http)
    moved = client.get("/old/page?x=1", Host="example.test")
    assert (moved.status, moved.getheader("Location")) == \
        (301, "https://example.test:443/new/old/page?x=1")
    fixed = client.get("/", **{"X-Teapot": "yes"})
    assert (fixed.status, fixed.text, fixed.getheader("Content-Type")) == \
        (418, "short and stout", "text/plain")
    assert client.get("/?to=absent").status == 503
    seen = client.get("/else?to=testuser", Host="example.test")
    assert seen.status == 200 and seen.text in "AB"
    assert seen.getheader("X-Saw-Path") == "/else?to=testuser"
    assert seen.getheader("X-Saw-Host") == "example.test"
    assert seen.getheader("X-Saw-X-Forwarded-For") == "127.0.0.1"
    client.close()


# ---- certificates ----

def serial_of(address, port):
    certificate = ssl.get_server_certificate((address, port), timeout=DEADLINE)
    printed = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=certificate, text=True,
                             capture_output=True, check=True, timeout=DEADLINE)
    return int(printed.stdout.strip().split("=")[1], 16)


@pytest.mark.sanitized
def test_certificates_are_replaced_without_losing_anything(start_slipway, backends, tmp_path):
    """HTTPS ends at an application load balancer, TLS at a network load balancer."""
    folder = str(tmp_path)
    make_certificate(folder, "site", 1)
    server = start_slipway("--certificates", folder)
    arn = "arn:aws:acm:us-east-1:123456789012:certificate/site"
    web, network = Balancer(server, "web", "application"), Balancer(server, "network")
    web.group("all", "HTTP", [backends["A"].http], HealthCheckPath="/health")
    network.group("all", "TCP", [backends["A"].http])
    ports = [(balancer, balancer.listen(protocol, {"all": 1}, Certificates=[{"CertificateArn": arn}]))
             for balancer, protocol in ((web, "HTTPS"), (network, "TLS"))]
    for balancer, port in ports:
        balancer.wait_until_healthy()
        assert serial_of(balancer.address, port) == 1
    kept = [Web(None, None, tls_connection(balancer.address, port)) for balancer, port in ports]
    with Load(SecureWeb, web.address, ports[0][1]) as load:
        for serial in (2, 3):
            make_certificate(folder, "site", serial)
            for balancer, port in ports:
                wait_until(lambda b=balancer, p=port, s=serial: serial_of(b.address, p) == s,
                           f"certificate {serial} is shown")
        # A file that is no certificate changes nothing, but it is reported.
        with open(os.path.join(folder, "site.pem"), "w", encoding="ascii") as file:
            file.write("no certificate\n")
        wait_until(lambda: web.state["Code"] == "active_impaired", "the load balancer is impaired")
        assert "site" in web.state["Reason"]
        assert serial_of(web.address, ports[0][1]) == 3
        make_certificate(folder, "site", 4)
        wait_until(lambda: serial_of(web.address, ports[0][1]) == 4, "certificate 4 is shown")
        wait_until(lambda: web.state == {"Code": "active"}, "the load balancer is well")
    assert load.failures == []
    assert [client.ask() for client in kept] == ["A", "A"]
    for client in kept:
        client.close()
    # From a listener that terminates TLS to one that passes it through, and back: one port, two processes.
    port = ports[1][1]
    network.elb.modify_listener(ListenerArn=network.listeners[port], Protocol="TCP")
    network.wait_until_settled()
    assert ask_new(Web)(network.address, port) == "A"
    network.elb.modify_listener(ListenerArn=network.listeners[port], Protocol="TLS",
                                Certificates=[{"CertificateArn": arn}])
    network.wait_until_settled()
    assert serial_of(network.address, port) == 4


class SecureWeb(Web):
    def __init__(self, address, port):
        super().__init__(address, port, tls_connection(address, port))


# ---- health ----

def test_health_moves_traffic(slipway, backends):
    """Unhealthy targets get nothing; when all are unhealthy, all get everything again."""
    web, network = Balancer(slipway, "healthweb", "application"), Balancer(slipway, "healthnet")
    # Two checks that fail are enough, and so long that D does not fail any because the machine is slow.
    soon = {"UnhealthyThresholdCount": 2, "HealthCheckIntervalSeconds": 12,
            "HealthCheckTimeoutSeconds": 11, "HealthCheckPath": "/health"}
    web.group("both", "HTTP", [backends[name].http for name in "CD"], **soon)
    # Judged by the HTTP server of C, whatever the ports of the targets.
    network.group("open", "TCP", [backends[name].port for name in "AB"], HealthCheckProtocol="HTTP",
                  HealthCheckPort=str(backends["C"].http), **soon)
    http_port, tcp_port = web.listen("HTTP", {"both": 1}), network.listen("TCP", {"open": 1})
    web.wait_until_healthy()
    network.wait_until_healthy()
    assert {ask_new(Web)(web.address, http_port) for _ in range(4)} == {"C", "D"}
    line = Line(network.address, tcp_port)
    with Load(Web, web.address, http_port, pause=0.01) as load:
        backends.send("unhealthy C")
        # A reported state is in effect already.
        wait_until(lambda: web.health("both")[backends["C"].http] ==
                   ("unhealthy", "Target.ResponseCodeMismatch"), "C is unhealthy")
        assert {ask_new(Web)(web.address, http_port) for _ in range(4)} == {"D"}
        wait_until(lambda: {state for state, _ in network.health("open").values()} ==
                   {"unhealthy"}, "all targets are unhealthy")
        assert {ask_tcp(network.address, tcp_port) for _ in range(4)} == {"A", "B"}
        backends.send("healthy C")
        wait_until(lambda: web.health("both")[backends["C"].http] == ("healthy", None),
                   "C is healthy")
        assert {ask_new(Web)(web.address, http_port) for _ in range(4)} == {"C", "D"}
    assert load.failures == []
    line.close()


# ---- metrics ----

@pytest.mark.sanitized
def test_traffic_is_counted(slipway, backends):
    """The same in /v1/traffic and in /metrics; not to everybody."""
    balancer = Balancer(slipway, "counted")
    for name in "AB":
        balancer.group(name.lower(), "TCP", [backends[name].port])
    port = balancer.listen("TCP", {"a": 1})
    balancer.wait_until_healthy("a")
    # As one does it by hand.
    slipway.aws("elbv2", "modify-listener", "--listener-arn", balancer.listeners[port],
                "--default-actions", json.dumps(balancer.forward({"a": 3, "b": 1})))
    balancer.wait_until_settled()
    balancer.wait_until_healthy()
    assert [ask_tcp(balancer.address, port) for _ in range(8)].count("B") == 2
    account = slipway.key["account"]
    groups = [f"{account}/us-east-1/counted-{name}" for name in "ab"]

    def told():
        listener, = (one for one in traffic(slipway)["listeners"]
                     if one["address"] == f"{balancer.address}:{port}")
        assert [route["weight"] for route in listener["routes"]] == [3, 1]
        return [(route["group"], route["counters"]["connections"], route["counters"]["active"])
                for route in listener["routes"]]

    wait_until(lambda: told() == [(groups[0], 6, 0), (groups[1], 2, 0)], "all were counted")
    targets = {group["name"]: group["targets"] for group in traffic(slipway)["groups"]}
    assert [(one["address"], one["state"], one["counters"]["connections"])
            for one in targets[groups[1]]] == [(f"127.0.0.1:{backends['B'].port}", "active", 2)]
    metrics = slipway.get("/metrics").text
    assert f'slipway_group_connections_total{{group="{groups[0]}"}} 6\n' in metrics
    assert f'slipway_targets{{group="{groups[0]}",state="healthy"}} 1\n' in metrics
    listener = f"{account}/us-east-1/counted/{balancer.listeners[port].split('/')[-1]}"
    assert f'slipway_route_weight{{listener="{listener}",group="{groups[1]}"}} 1\n' in metrics
    assert f'slipway_listener_bytes_in_total{{listener="{listener}",protocol="tcp"}} 48\n' in metrics
    assert slipway.get("/v1/traffic").status == 403


def is_refused(address, port):
    """A worker that closes its socket in this moment resets earlier connections, or ends those it had accepted."""
    try:
        ask_tcp(address, port)
    except ConnectionRefusedError:
        return True
    except (ConnectionError, IndexError):
        return False
    return pytest.fail("a connection is answered")


def test_a_reset_frees_the_ports(start_slipway, backends):
    server = start_slipway("--ephemeral")
    balancer = Balancer(server, "reset")
    balancer.group("all", "TCP", [backends["A"].port])
    port = balancer.listen("TCP", {"all": 1})
    assert ask_tcp(balancer.address, port) == "A"
    assert server.request("POST", "/_slipway/reset").status == 200
    wait_until(lambda: is_refused(balancer.address, port), "connections are refused")
    with socket.create_server((balancer.address, port)):
        assert balancer.elb.describe_load_balancers()["LoadBalancers"] == []


# ---- restarts ----

def test_nothing_runs_without_listeners(start_slipway):
    server = start_slipway()
    wait_until(lambda: server.get("/readyz").status == 200, "the server is ready")
    Balancer(server, "idle")
    assert children(server.process.pid, "") == []
    assert traffic(server)["listeners"] == []


def test_a_killed_server_comes_back_with_its_traffic(start_slipway, backends):
    server = start_slipway()
    web, network = Balancer(server, "web", "application"), Balancer(server, "network")
    web.group("all", "HTTP", [backends["A"].http], HealthCheckPath="/health")
    network.group("all", "TCP_UDP", [backends["A"].port])
    ports = [(web, web.listen("HTTP", {"all": 1}), ask_new(Web)),
             (network, network.listen("TCP_UDP", {"all": 1}), ask_tcp)]
    web.wait_until_healthy()
    network.wait_until_healthy()
    assert [ask(balancer.address, port) for balancer, port, ask in ports] == ["A", "A"]
    line = Line(network.address, ports[1][1])
    client = Web(web.address, ports[0][1])
    assert (line.ask(), client.ask()) == ("A", "A")
    workers = children(server.process.pid, "")
    assert len(workers) >= 2
    for _ in range(3):
        server.kill()
        # Open connections continue.
        assert line.ask() == "A"
        # Programs of before that hold the ports for longer than two seconds would impair it.
        for balancer, port, _ in ports:
            wait_until_closed(balancer.address, port)
        server = start_slipway(state=server.state)
        wait_until(lambda: server.get("/readyz").status == 200, "the server is ready")
        # At once, and as they were: no target is new, none has to become healthy first.
        assert [ask(balancer.address, port) for balancer, port, ask in ports] == ["A", "A"]
        assert ask_new(Session)(network.address, ports[1][1]) == "A"
        assert line.ask() == "A"
        network.elb = web.elb = server.boto("elbv2")
        assert list(web.health("all").values()) == [("healthy", None)]
        assert web.state == network.state == {"Code": "active"}
    line.close()
    client.close()
    for pid in workers:
        wait_until_gone(pid)
    server.stop()


def test_a_server_that_ends_lets_connections_go_on(start_slipway, backends):
    server = start_slipway()
    network = Balancer(server, "network")
    network.group("all", "TCP", [backends["A"].port])
    port = network.listen("TCP", {"all": 1})
    line = Line(network.address, port)
    assert line.ask() == "A"
    web = Balancer(server, "web", "application")
    web.group("all", "HTTP", [backends["A"].http], HealthCheckPath="/health")
    client = Web(web.address, web.listen("HTTP", {"all": 1}))
    before = backends.send("counts")["A"]["http"]
    client.connection.request("GET", "/slow/2000")
    wait_until(lambda: backends.send("counts")["A"]["http"] > before, "the request arrives")
    worker, = children(server.process.pid, "proxy-worker")
    proxy, = children(server.process.pid, "haproxy")
    server.stop()
    wait_until_closed(network.address, port)
    assert line.ask() == "A"
    assert is_alive(worker)
    line.close()
    wait_until_gone(worker)
    answer = client.connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"A")
    client.close()
    wait_until_gone(proxy)


@pytest.mark.sanitized
def test_a_port_that_is_taken_impairs_nothing_else(start_slipway, backends):
    server = start_slipway()
    network = Balancer(server, "network")
    network.group("all", "TCP", [backends["A"].port])
    ports = [network.listen("TCP", {"all": 1}) for _ in range(2)]
    server.stop()
    wait_until_closed(network.address, ports[0])
    with socket.create_server((network.address, ports[0])):
        server = start_slipway(state=server.state)
        network.elb = server.boto("elbv2")
        wait_until(lambda: network.state["Code"] == "active_impaired", "it is impaired")
        assert f"{network.address}:{ports[0]}" in network.state["Reason"]
        wait_until(lambda: server.get("/readyz").status == 200, "the server is ready")
        assert ask_tcp(network.address, ports[1]) == "A"
    wait_until(lambda: network.state == {"Code": "active"}, "it is well again")
    assert ask_tcp(network.address, ports[0]) == "A"
