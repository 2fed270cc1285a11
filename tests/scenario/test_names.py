"""Names of Cloud Map, resolved by the server itself: dig, the C library, c-ares and awscli."""
import collections
import os
import re
import subprocess
import sys

import pytest

from conftest import DEADLINE, CommandResult, Servers, slipway_program
from dns_questions import (CLIENTS, Asker, client, data, dig, dig_forwarded, flags, section,
                           status)

pytestmark = pytest.mark.sanitized
SERVER_ARGUMENTS = ["--runtime", "none"]


class Names:
    """Namespaces, services and instances of a server, made through boto3."""

    def __init__(self, server):
        self.cloudmap = server.boto("servicediscovery")
        self.port = server.dns_port
        self.services = {}

    def namespace(self, name):
        operation = self.cloudmap.create_private_dns_namespace(Name=name, Vpc="vpc-1")
        done = self.cloudmap.get_operation(OperationId=operation["OperationId"])["Operation"]
        assert done["Status"] == "SUCCESS", done
        return done["Targets"]["NAMESPACE"]

    def service(self, namespace, name, *types, policy="MULTIVALUE", ttl=60, **more):
        self.services[name] = self.cloudmap.create_service(
            Name=name, NamespaceId=namespace, DnsConfig={
                "RoutingPolicy": policy,
                "DnsRecords": [{"Type": type_, "TTL": ttl} for type_ in types]},
            **more)["Service"]["Id"]

    def register(self, service, instance, ipv4=None, ipv6=None, port=None, weight=None, **more):
        attributes = {"AWS_INSTANCE_IPV4": ipv4, "AWS_INSTANCE_IPV6": ipv6,
                      "AWS_INSTANCE_PORT": port, "SLIPWAY_WEIGHT": weight, **more}
        self.cloudmap.register_instance(
            ServiceId=self.services[service], InstanceId=instance,
            Attributes={name: str(value) for name, value in attributes.items()
                        if value is not None})

    def deregister(self, service, instance):
        self.cloudmap.deregister_instance(ServiceId=self.services[service], InstanceId=instance)


@pytest.fixture(scope="module")
def names(slipway):
    made = Names(slipway)
    shop = made.shop = made.namespace("shop.local")
    made.service(shop, "web", "A", "AAAA")
    made.register("web", "one", "192.0.2.1", "2001:db8::1")
    made.register("web", "two", "192.0.2.2", "2001:db8::2")
    made.service(shop, "_http._tcp", "SRV", ttl=15)
    made.register("_http._tcp", "One", "192.0.2.11", "2001:db8::11", port=8001)
    made.register("_http._tcp", "arn:aws/two", "192.0.2.12", port=8002)
    made.service(shop, "www", "CNAME", policy="WEIGHTED", ttl=30)
    made.register("www", "alias", AWS_INSTANCE_CNAME="web.shop.local")
    made.service(shop, "many", "A")
    for i in range(12):
        made.register("many", f"i-{i}", f"198.51.100.{i}")
    made.service(shop, "empty", "A")
    made.cloudmap.create_service(Name="plain", NamespaceId=shop, Type="HTTP")
    return made


# ---- dig ----

@pytest.mark.parametrize("how", [["+notcp", "+noedns"], ["+notcp", "+edns"], ["+tcp"]])
def test_addresses(names, how):
    text = dig(names.port, *how, "wEb.Shop.LOCAL", "A")
    assert (status(text), set(flags(text))) == ("NOERROR", {"qr", "aa", "rd"})
    assert sorted(section(text, "ANSWER")) == [
        ["wEb.Shop.LOCAL.", "60", "IN", "A", f"192.0.2.{i}"] for i in (1, 2)]
    assert sorted(data(dig(names.port, *how, "web.shop.local", "AAAA"))) == [
        "2001:db8::1", "2001:db8::2"]


def test_services_come_with_their_hosts(names):
    text = dig(names.port, "_http._tcp.shop.local", "SRV")
    records = sorted(data(text))
    assert records[0] == "1 1 8001 One._http._tcp.shop.local."
    assert {record[1] for record in section(text, "ANSWER")} == {"15"}
    # Its id cannot be a label, so it has another one.
    target = re.fullmatch(r"1 1 8002 (x-[0-9a-f]{24}\._http\._tcp\.shop\.local)\.", records[1])
    assert sorted(data(text, "ADDITIONAL")) == ["192.0.2.11", "192.0.2.12", "2001:db8::11"]
    assert data(dig(names.port, target.group(1), "A")) == ["192.0.2.12"]
    assert data(dig(names.port, "one._http._tcp.shop.local", "AAAA")) == ["2001:db8::11"]


def test_aliases_are_followed(names):
    text = dig(names.port, "www.shop.local", "AAAA")
    assert [record[:4] for record in section(text, "ANSWER")] == [
        ["www.shop.local.", "30", "IN", "CNAME"], ["web.shop.local.", "60", "IN", "AAAA"],
        ["web.shop.local.", "60", "IN", "AAAA"]]


@pytest.mark.parametrize("name, type_, expected", [
    ("shop.local", "A", "NOERROR"),              # the namespace itself
    ("web.shop.local", "SRV", "NOERROR"),
    ("_tcp.shop.local", "A", "NOERROR"),         # a name between
    ("one._http._tcp.shop.local", "TXT", "NOERROR"),
    ("empty.shop.local", "A", "NXDOMAIN"),       # a service without instances has no records
    ("plain.shop.local", "A", "NXDOMAIN"),       # a service for DiscoverInstances only
    ("one.web.shop.local", "A", "NXDOMAIN"),     # hosts are for SRV
    ("nothing.shop.local", "A", "NXDOMAIN"),
    ("www.unrelated.test", "A", "REFUSED"),
])
def test_negative_answers(names, name, type_, expected):
    text = dig(names.port, name, type_)
    assert (status(text), section(text, "ANSWER")) == (expected, [])
    if expected != "REFUSED":
        (soa,) = section(text, "AUTHORITY")
        assert soa[:4] == ["shop.local.", "15", "IN", "SOA"]


def test_apex(names):
    (soa,) = section(dig(names.port, "shop.local", "SOA"), "ANSWER")
    assert soa[4].split()[:2] == ["ns.slipway.internal.", "hostmaster.slipway.internal."]
    assert data(dig(names.port, "shop.local", "NS")) == ["ns.slipway.internal."]
    assert data(dig(names.port, "ns.slipway.internal", "A")) == ["127.0.0.1"]
    assert "Transfer failed" in dig(names.port, "shop.local", "AXFR")
    assert data(dig(names.port, "web.shop.local", "ANY", "+notcp")) == ['"RFC8482" ""']


def test_eight_of_many_in_any_order(names):
    seen, firsts = set(), set()
    with Asker(names.port) as asker:
        for _ in range(100):
            found = asker.addresses("many.shop.local")
            assert len(set(found)) == 8
            seen.update(found)
            firsts.add(found[0])
    assert len(seen) == 12
    assert len(firsts) > 4


def test_long_answers_come_by_tcp(names):
    names.service(names.shop, "long", "SRV")
    for i in range(12):
        names.register("long", f"{i:02}" + "x" * 61, f"203.0.113.{i}", "2001:db8::1", port=80)
    short = dig(names.port, "+noedns", "+ignore", "long.shop.local", "SRV")
    assert "tc" in flags(short)
    assert data(short) == []
    whole = dig(names.port, "+noedns", "long.shop.local", "SRV")  # dig tries again by itself
    assert "(TCP)" in whole
    assert len(set(data(whole))) == 8
    assert len(section(whole, "ADDITIONAL")) == 16
    # With EDNS the answer fits; of the addresses as many come along as fit, too.
    text = dig(names.port, "+ignore", "+bufsize=1000", "long.shop.local", "SRV")
    assert "tc" not in flags(text) and len(data(text)) == 8
    assert 0 < len(section(text, "ADDITIONAL")) < 16


# ---- other resolvers ----

@pytest.mark.parametrize("library, nothing", [
    ("glibc", {"error": "EAI_NONAME"}),
    ("cares", {"error": "Domain name not found"}),
])
def test_resolvers(names, library, nothing):
    def four(name):
        return [address for address in client(f"{library}-addresses", names.port, name)
                if ":" not in address]

    assert four("Web.shop.local") == ["192.0.2.1", "192.0.2.2"]
    assert four("www.shop.local") == ["192.0.2.1", "192.0.2.2"]
    assert client(f"{library}-addresses", names.port, "nothing.shop.local") == nothing
    if library == "cares":
        found = client("cares-services", names.port, "_http._tcp.shop.local")
        assert [1, 1, 8001, "One._http._tcp.shop.local"] in found and len(found) == 2
    else:
        assert client("glibc-addresses", names.port, "web.shop.local") == [
            "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"]


def test_load_balancers_have_names(slipway, names):
    balancers = slipway.boto("elbv2")
    (made,) = balancers.create_load_balancer(
        Name="Front", Type="network", Subnets=["subnet-1"])["LoadBalancers"]
    assert made["DNSName"].endswith(".us-east-1.elb.slipway.internal")
    (address,) = data(dig(names.port, made["DNSName"], "A"))
    assert address.startswith("127.")
    assert status(dig(names.port, made["DNSName"], "AAAA")) == "NOERROR"
    # Names between exist; others do not.
    assert status(dig(names.port, "us-east-1.elb.slipway.internal", "A")) == "NOERROR"
    assert status(dig(names.port, "x.us-east-1.elb.slipway.internal", "A")) == "NXDOMAIN"
    balancers.delete_load_balancer(LoadBalancerArn=made["LoadBalancerArn"])
    assert status(dig(names.port, made["DNSName"], "A")) == "NXDOMAIN"


def test_awscli_finds_the_host_with_its_prefix(slipway, names):
    """DiscoverInstances goes to data-HOST: both names are the server's."""
    endpoint = slipway.url.replace("127.0.0.1", "api.slipway.internal")
    ran = subprocess.run(
        [sys.executable, CLIENTS, "aws", str(names.port), "--endpoint-url", endpoint,
         "servicediscovery", "discover-instances", "--namespace-name", "shop.local",
         "--service-name", "web"], env=slipway.aws_environment(), cwd=slipway.home,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE * 2, check=False)
    assert ran.returncode == 0, ran.stderr
    found = CommandResult(ran).json["Instances"]
    assert {instance["InstanceId"] for instance in found} == {"one", "two"}


# ---- staying current ----

def test_what_was_answered_is_resolved(names):
    """The query that follows an answer of the API sees what it said, every time."""
    names.service(names.shop, "fresh", "A")
    with Asker(names.port) as asker:
        for i in range(50):
            names.register("fresh", "it", f"192.0.2.{i}")
            assert asker.addresses("fresh.shop.local") == [f"192.0.2.{i}"]
            names.deregister("fresh", "it")
            assert asker.addresses("fresh.shop.local") is None


def test_health(names):
    names.service(names.shop, "checked", "A", HealthCheckCustomConfig={"FailureThreshold": 1})

    def health(instance, status_):
        names.cloudmap.update_instance_custom_health_status(
            ServiceId=names.services["checked"], InstanceId=instance, Status=status_)

    with Asker(names.port) as asker:
        names.register("checked", "a", "192.0.2.1")
        names.register("checked", "b", "192.0.2.2", AWS_INIT_HEALTH_STATUS="UNHEALTHY")
        assert asker.addresses("checked.shop.local") == ["192.0.2.1"]
        health("b", "HEALTHY")
        assert set(asker.addresses("checked.shop.local")) == {"192.0.2.1", "192.0.2.2"}
        names.register("checked", "a", "192.0.2.1", AWS_INIT_HEALTH_STATUS="UNHEALTHY")
        assert asker.addresses("checked.shop.local") == ["192.0.2.2"]
        names.register("checked", "b", "192.0.2.2", AWS_INIT_HEALTH_STATUS="UNHEALTHY")
        # None is healthy: as if all were.
        assert set(asker.addresses("checked.shop.local")) == {"192.0.2.1", "192.0.2.2"}


@pytest.fixture(scope="module")
def weighted(tmp_path_factory):
    """Names of a server with three threads that answer."""
    path = tmp_path_factory.mktemp("threads") / "slipway.yaml"
    path.write_text("dns:\n  threads: 3\n")
    servers = Servers(SERVER_ARGUMENTS)
    try:
        made = Names(servers.start("--config", path))
        made.shop = made.namespace("shop.local")
        yield made
    finally:
        servers.end()


@pytest.mark.parametrize("permille", [1, 10, 100, 500, 1000, 0])
def test_weights_are_exact(weighted, permille):
    """Over a thousand answers of three threads, whatever else is asked between them."""
    name = f"weighted-{permille}"
    weighted.service(weighted.shop, name, "A", "AAAA", policy="WEIGHTED")
    weighted.register(name, "canary", "192.0.2.1", "2001:db8::1", weight=permille)
    weighted.register(name, "stable", "192.0.2.2", "2001:db8::2", weight=1000 - permille)
    seen, seen6 = collections.Counter(), collections.Counter()
    with Asker(weighted.port, sockets=24) as asker:
        for _ in range(1000):
            seen.update(asker.addresses(f"{name}.shop.local"))
            seen6.update(asker.addresses(f"{name}.shop.local", "AAAA"))
    assert (seen["192.0.2.1"], seen["192.0.2.2"]) == (permille, 1000 - permille)
    assert (seen6["2001:db8::1"], seen6["2001:db8::2"]) == (permille, 1000 - permille)


def test_a_weight_that_changes_counts_at_once(weighted):
    weighted.service(weighted.shop, "moving", "A", policy="WEIGHTED")
    with Asker(weighted.port, sockets=24) as asker:
        for i in range(20):
            for instance in range(2):
                weighted.register("moving", f"i-{instance}", f"192.0.2.{instance}",
                                  weight=1000 if instance == i % 2 else 0)
            assert {asker.addresses("moving.shop.local")[0] for _ in range(20)} == {
                f"192.0.2.{i % 2}"}


# ---- the server ----

def test_other_names_are_forwarded(names, start_slipway):
    server = start_slipway("--dns-domain", "cd.example", "--dns-forward", f"127.0.0.1:{names.port}")
    others = Names(server)
    there = others.namespace("there.local")
    others.service(there, "alias", "CNAME", policy="WEIGHTED")
    others.register("alias", "it", AWS_INSTANCE_CNAME="web.shop.local")
    text, asked = dig_forwarded(others.port, "web.shop.local", "A")
    assert sorted(data(text)) == ["192.0.2.1", "192.0.2.2"]
    assert "ra" in flags(text) and "aa" not in flags(text)
    text, more = dig_forwarded(others.port, "nothing.shop.local", "A")
    assert status(text) == "NXDOMAIN"
    text, yet_more = dig_forwarded(others.port, "alias.there.local", "A")
    assert sorted(data(text)) == ["192.0.2.1", "192.0.2.2", "web.shop.local."]
    assert data(dig(others.port, "api.cd.example", "A")) == ["127.0.0.1"]
    assert f"slipway_dns_forwarded {asked + more + yet_more}\n" in server.get("/metrics").text


def test_names_survive_a_power_cut(start_slipway):
    server = start_slipway()
    before = Names(server)
    shop = before.namespace("shop.local")
    before.service(shop, "web", "SRV")
    before.register("web", "a@b", "192.0.2.1", port=80)
    before.service(shop, "www", "CNAME", policy="WEIGHTED")
    before.register("www", "it", AWS_INSTANCE_CNAME="web.shop.local")
    questions = [("web.shop.local", "SRV"), ("www.shop.local", "SRV"), ("shop.local", "SOA")]
    asked = [data(dig(before.port, *question)) for question in questions]
    assert all(asked)
    server.kill()
    again = start_slipway(state=server.state)
    assert [data(dig(again.dns_port, *question)) for question in questions] == asked


def command(*args, **options):
    return subprocess.run([slipway_program(), *args], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=DEADLINE, check=False, **options)


def test_dns_can_be_off(start_slipway):
    server = start_slipway("--dns", "off")
    assert server.get("/_slipway/info").json["addresses"]["dns"] is None
    assert "DNS" not in server.stdout
    told = command("dns", "install", "--server", server.url, "--state", server.state)
    assert told.returncode == 1 and "--dns off" in told.stderr


@pytest.mark.parametrize("args, message", [
    (["--dns", "somewhere"], "dns.listen: 'somewhere' is not ADDR:PORT"),
    (["--dns", "::1:53"], "dns.listen: write an IPv6 address in brackets"),
    (["--dns", "example.com:53"], "not an IP address"),
    (["--dns-domain", "a..b"], "dns.domain: domain name 'a..b' has an empty label"),
    (["--dns-domain", "."], "dns.domain: must not be the root"),
    (["--dns", "127.0.0.1:0", "--dns-forward", "x"], "'x'"),
    (["--dns", "127.0.0.1:0", "--dns-forward", "1.1.1.1,2.2.2.2,3.3.3.3,4.4.4.4,5.5.5.5"],
     "at most 4 upstreams"),
])
def test_bad_settings_are_refused(args, message):
    told = command("up", "--ephemeral", "--listen", "127.0.0.1:0", *args)
    assert told.returncode in (1, 2)
    assert message in told.stderr


def test_a_port_that_is_taken_is_named(slipway):
    told = command("up", "--ephemeral", "--listen", "127.0.0.1:0", "--dns",
                   f"127.0.0.1:{slipway.dns_port}")
    assert told.returncode == 1
    assert f"127.0.0.1 port {slipway.dns_port}" in told.stderr
    assert "--dns ADDR:PORT" in told.stderr and "--dns off" in told.stderr


def test_metrics_count_answers(slipway, names):
    def answered():
        text = slipway.get("/metrics").text
        return int(re.search(r"^slipway_dns_answered (\d+)$", text, re.MULTILINE).group(1))

    before = answered()
    dig(names.port, "web.shop.local", "A")
    assert answered() == before + 1


# ---- slipway dns ----

def test_install_prints_configurations_of_resolvers(slipway, names):
    def told(*args):
        ran = command("dns", "install", "--server", slipway.url, "--state", slipway.state, *args)
        assert ran.returncode == 0, ran.stderr
        return [line for line in ran.stdout.splitlines() if not line.startswith("#")]

    address = f"127.0.0.1:{names.port}"
    resolved = ["[Resolve]", f"DNS={address}", "Domains=~slipway.internal ~shop.local"]
    assert told("--systemd-resolved") == resolved
    dnsmasq = told("--dnsmasq")
    assert f"server=/shop.local/127.0.0.1#{names.port}" in dnsmasq
    assert f"server=/slipway.internal/127.0.0.1#{names.port}" in dnsmasq
    assert "nameserver 127.0.0.1" in told("--resolv-conf")
    every = told()
    assert set(resolved + dnsmasq) <= set(every) and "nameserver 127.0.0.1" in every
    assert command("dns", "install", "--dnsmasq", "--resolv-conf").returncode == 2
    assert command("dns").returncode == 2


def test_lookup(slipway, names):
    def look(*args):
        return command("dns", "lookup", "--server", slipway.url, "--state", slipway.state, *args)

    assert sorted(look("web.shop.local").stdout.splitlines()) == [
        "web.shop.local 60 A 192.0.2.1", "web.shop.local 60 A 192.0.2.2"]
    assert "_http._tcp.shop.local 15 SRV 1 1 8001 One._http._tcp.shop.local\n" in look(
        "_http._tcp.shop.local", "srv").stdout
    assert look("www.shop.local", "CNAME").stdout == "www.shop.local 30 CNAME web.shop.local\n"
    for args, message in ((["nothing.shop.local"], "there is no name nothing.shop.local"),
                          (["web.shop.local", "TXT"], "has no such records"),
                          (["www.unrelated.test"], "is not one of slipway's names")):
        told = look(*args)
        assert told.returncode == 1 and message in told.stderr
    assert look("web.shop.local", "XYZ").returncode == 2


def test_zones_need_permission(slipway, names, tmp_path):
    policy = tmp_path / "policy.json"
    policy.write_text('{"Statement": [{"Effect": "Allow", "Action": "ecs:*", "Resource": "*"}]}')
    made = command("key", "create", "--server", slipway.url, "--state", slipway.state, "--user",
                   "ci", "--policy", str(policy))
    assert made.returncode == 0, made.stderr
    key = dict(re.findall(r"export (\w+)=(\S+)", made.stdout))
    told = command("dns", "install", "--server", slipway.url, env={**os.environ, **key})
    assert told.returncode == 1 and "slipway:DescribeDns" in told.stderr
