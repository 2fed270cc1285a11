"""slipway's DNS server with real resolvers: dig, the C library's and c-ares.

The server is build/serve-zone, which serves the zone example.test of src/io/test_dns_zone.h.
"""
import collections
import contextlib
import os
import re
import socket
import subprocess

import pytest

from conftest import DEADLINE, slipway_program
from dns_questions import client, data, dig, dig_forwarded, flags, section, status

pytestmark = pytest.mark.sanitized


@contextlib.contextmanager
def serve_zone(*arguments):
    """The port of a server with these arguments."""
    program = os.path.join(os.path.dirname(slipway_program()), "serve-zone")
    with subprocess.Popen([program, *arguments], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            yield int(re.fullmatch(r"port (\d+)\n", line).group(1))
        finally:
            process.stdin.close()
            assert process.wait(DEADLINE) == 0


@pytest.fixture(scope="module")
def port():
    with serve_zone("--threads", "2") as number:
        yield number


# ---- dig ----

@pytest.mark.parametrize("transport", ["+notcp", "+tcp"])
@pytest.mark.parametrize("edns", ["+edns", "+noedns"])
def test_addresses(port, transport, edns):
    text = dig(port, transport, edns, "web.example.test", "A")
    assert status(text) == "NOERROR"
    assert {"qr", "aa", "rd"} == set(flags(text))
    assert sorted(data(text)) == ["192.0.2.1", "192.0.2.2"]
    assert ("udp: 1232" in text) == (edns == "+edns")
    assert ("(TCP)" in text) == (transport == "+tcp")


def test_spelling_is_kept(port):
    records = section(dig(port, "wEb.eXaMpLe.TeSt", "AAAA"), "ANSWER")
    assert records == [["wEb.eXaMpLe.TeSt.", "60", "IN", "AAAA", "2001:db8::1"]]


def test_services_come_with_their_addresses(port):
    text = dig(port, "_http._tcp.web.example.test", "SRV")
    assert sorted(data(text)) == ["1 1 8001 one.web.example.test.",
                                  "1 1 8002 two.web.example.test."]
    assert sorted(data(text, "ADDITIONAL")) == ["192.0.2.11", "192.0.2.12", "2001:db8::11"]


def test_aliases(port):
    text = dig(port, "alias2.example.test", "A")
    assert [(record[0], record[3]) for record in section(text, "ANSWER")] == [
        ("alias2.example.test.", "CNAME"), ("Alias.example.test.", "CNAME"),
        ("web.example.test.", "A"), ("web.example.test.", "A")]
    assert status(dig(port, "loop-a.example.test", "A")) == "SERVFAIL"
    text = dig(port, "dangling.example.test", "A")
    assert (status(text), data(text)) == ("NXDOMAIN", ["nothing.example.test."])


@pytest.mark.parametrize("name, type_, expected", [
    ("nothing.example.test", "A", "NXDOMAIN"),
    ("web.example.test", "MX", "NOERROR"),
    ("below.example.test", "A", "NOERROR"),
])
def test_negative_answers_carry_the_soa(port, name, type_, expected):
    text = dig(port, name, type_)
    assert status(text) == expected
    assert section(text, "ANSWER") == []
    (soa,) = section(text, "AUTHORITY")
    assert soa[:4] == ["example.test.", "24", "IN", "SOA"]  # the minimum, not the TTL of 3600


@pytest.mark.parametrize("arguments, expected", [
    (["www.unrelated.test"], "REFUSED"),
    (["version.bind", "CH", "TXT"], "REFUSED"),
    (["web.example.test", "+edns=1", "+noednsnegotiation"], "BADVERS"),
    (["web.example.test", "+opcode=NOTIFY"], "NOTIMP"),
    (["web.example.test", "+opcode=UPDATE"], "NOTIMP"),
    (["example.test", "MAILB"], "NOTIMP"),
])
def test_what_is_not_answered(port, arguments, expected):
    text = dig(port, *arguments)
    assert status(text) == expected
    assert "aa" not in flags(text)


def test_unknown_options_and_flags_are_passed_over(port):
    text = dig(port, "+ednsopt=65001:00ff", "+cookie", "+nsid", "+subnet=192.0.2.0/24", "+dnssec",
               "+cdflag", "web.example.test", "A")
    assert status(text) == "NOERROR"
    assert len(data(text)) == 2
    assert "flags: do;" in text


def test_zones_are_not_transferred(port):
    for arguments in (["AXFR"], ["IXFR=1"]):
        text = dig(port, "example.test", *arguments)
        assert "Transfer failed" in text
        assert section(text, "ANSWER") == []


def test_any_is_answered_minimally(port):
    assert data(dig(port, "web.example.test", "ANY", "+notcp")) == ['"RFC8482" ""']


def test_long_answers_are_truncated_and_come_by_tcp(port):
    short = dig(port, "+ignore", "+bufsize=4096", "big.example.test", "A")
    assert "tc" in flags(short)
    assert data(short) == []
    assert int(re.search(r"MSG SIZE  rcvd: (\d+)", short).group(1)) < 64
    whole = dig(port, "big.example.test", "A")  # dig tries again by itself
    assert "(TCP)" in whole
    assert len(set(data(whole))) == 100


def test_answers_by_udp_may_be_longer():
    with serve_zone("--udp-max", "4096") as port:
        text = dig(port, "+bufsize=4096", "+ignore", "big.example.test", "A")
        assert len(data(text)) == 100
        assert "tc" in flags(dig(port, "+bufsize=1232", "+ignore", "big.example.test", "A"))


def test_several_queries_on_one_connection(port):
    text = dig(port, "+noall", "+answer", "+tcp", "+keepopen", "web.example.test", "A",
               "six.example.test", "AAAA", "text.example.test", "TXT")
    assert [line.split()[4] for line in text.splitlines() if line] == [
        "192.0.2.1", "192.0.2.2", "2001:db8::6", '"hello']


# ---- choices ----

def test_multivalue_gives_eight_of_twelve(port):
    seen = collections.Counter()
    for _ in range(20):
        found = data(dig(port, "many.example.test", "A"))
        assert len(set(found)) == 8
        seen.update(found)
    assert len(seen) > 8


def test_weights_are_exact(port):
    """700, 299 and 1 of a thousand, whichever of the threads answers."""
    query = bytes.fromhex("123401000001000000000000") + \
        b"\x08weighted\x07example\x04test\x00" + bytes.fromhex("00010001")
    seen = collections.Counter()
    for _ in range(1000):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.settimeout(DEADLINE)
            asker.sendto(query, ("127.0.0.1", port))
            seen[asker.recv(512)[-1]] += 1
    assert seen == {0: 700, 1: 299, 2: 1}


# ---- other resolvers ----

@pytest.mark.parametrize("library, nothing", [
    ("glibc", {"error": "EAI_NONAME"}),
    ("cares", {"error": "Domain name not found"}),
])
def test_resolvers_find_addresses(port, library, nothing):
    def four(name):
        return [address for address in client(f"{library}-addresses", port, name)
                if ":" not in address]

    assert four("web.example.test") == ["192.0.2.1", "192.0.2.2"]
    assert four("ALIAS2.example.test") == ["192.0.2.1", "192.0.2.2"]
    assert len(four("big.example.test")) == 100  # truncated, then by TCP
    assert len(four("many.example.test")) == 8
    assert client(f"{library}-addresses", port, "nothing.example.test") == nothing


def test_glibc_finds_both_families(port):
    assert client("glibc-addresses", port, "web.example.test") == [
        "192.0.2.1", "192.0.2.2", "2001:db8::1"]
    assert client("glibc-addresses", port, "six.example.test") == ["2001:db8::6"]
    # The name exists and has neither.
    assert client("glibc-addresses", port, "text.example.test")["error"] in (
        "EAI_NODATA", "EAI_ADDRFAMILY", "-5")


def test_cares_finds_services(port):
    assert sorted(client("cares-services", port, "_http._tcp.web.example.test")) == [
        [1, 1, 8001, "one.web.example.test"], [1, 1, 8002, "two.web.example.test"]]
    assert client("cares-services", port, "web.example.test") == {
        "error": "DNS server returned answer with no data"}


# ---- forwarding ----

def test_other_names_are_forwarded():
    """Our own server as the upstream of another: what is not its zone's it refuses."""
    with serve_zone() as upstream, serve_zone("--upstream", f"127.0.0.1:{upstream}") as port:
        text = dig(port, "web.example.test", "A")
        assert set(flags(text)) == {"qr", "aa", "rd", "ra"}
        assert status(dig_forwarded(port, "www.unrelated.test", "A")[0]) == "REFUSED"
        assert status(dig(port, "+norecurse", "www.unrelated.test", "A")) == "REFUSED"
        # Asked for all the same: the alias is ours, what it stands for is not.
        text, _ = dig_forwarded(port, "outside.example.test", "A")
        assert (status(text), data(text)) == ("REFUSED", ["www.unrelated.test."])


# ---- limits ----

def test_floods_of_one_network_are_limited():
    query = bytes.fromhex("123401000001000000000000") + \
        b"\x03web\x07example\x04test\x00" + bytes.fromhex("00010001")
    with serve_zone("--rate", "1", "--limit-loopback") as port:
        whole = slipped = 0
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.settimeout(DEADLINE)
            asker.connect(("127.0.0.1", port))
            while slipped < 3:
                for _ in range(20):
                    asker.send(query)
                # Of twenty in a row at least some slip; each is as long as the query.
                for _ in range(2):
                    answer = asker.recv(512)
                    if answer[2] & 2:
                        assert len(answer) == len(query)
                        slipped += 1
                    else:
                        whole += 1
        assert whole >= 1
        # A real client comes by TCP.
        assert len(data(dig(port, "web.example.test", "A"))) == 2


def test_silent_connections_are_closed():
    with serve_zone("--idle-ms", "200") as port:
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as connection:
            assert connection.recv(1) == b""
