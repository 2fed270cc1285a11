"""TLS inside of TCP goes through a network load balancer unread: certificates of both sides, the protocol that
they agree upon and what they say are as without it, and connections are divided exactly."""
import contextlib
import os
import socket
import ssl
import subprocess
import threading

from balancing import NETWORK, Balancer
from conftest import DEADLINE

SERVER_ARGUMENTS = ["--runtime", "none", "--balancers", NETWORK]


def make_certificate(folder, name):
    """Paths of a certificate that signs itself, and of its key."""
    paths = [os.path.join(folder, f"{name}.{kind}") for kind in ("certificate", "key")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "30", "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:site.test",
         "-out", paths[0], "-keyout", paths[1]],
        check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE)
    return paths


def common_name(certificate):
    return dict(pair for part in certificate["subject"] for pair in part)["commonName"]


class Target:
    """Answers the line of a client by its own name, the client's and the protocol that was agreed upon."""

    def __init__(self, name, certificate, client):
        self.name = name
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*certificate)
        self.context.load_verify_locations(client[0])
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.context.set_alpn_protocols(["h2", "http/1.1"])
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            # Health checks say nothing.
            with contextlib.suppress(OSError), connection:
                connection.settimeout(DEADLINE)
                self.answer(connection)

    def answer(self, connection):
        with self.context.wrap_socket(connection, server_side=True) as wrapped:
            line = wrapped.recv(100)
            who = common_name(wrapped.getpeercert())
            wrapped.sendall(b"%s %s %s " % (
                self.name.encode(), who.encode(), wrapped.selected_alpn_protocol().encode()) + line)

    def close(self):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()


def ask(place, name, trusted, own):
    """(whose certificate was shown, the protocol, what was answered) of one connection."""
    context = ssl.create_default_context(cafile=trusted)
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(*own)
    with socket.create_connection(place, timeout=DEADLINE) as connection, \
            context.wrap_socket(connection, server_hostname=name) as wrapped:
        wrapped.sendall(b"hello")
        return (common_name(wrapped.getpeercert()), wrapped.selected_alpn_protocol(),
                wrapped.makefile("rb").read().decode())


def test_both_ends_meet(slipway, tmp_path):
    client = make_certificate(tmp_path, "client")
    certificates = {name: make_certificate(tmp_path, name) for name in "AB"}
    trusted = tmp_path / "trusted"
    # Both are good for the name that clients ask for: which one it is the certificate says.
    trusted.write_text("".join(open(paths[0], encoding="ascii").read()
                               for paths in certificates.values()))
    balancer = Balancer(slipway, "through")
    with contextlib.ExitStack() as stack:
        for name in "AB":
            target = stack.enter_context(contextlib.closing(
                Target(name, certificates[name], client)))
            balancer.group(name.lower(), "TCP", [target.port])
        port = balancer.listen("TCP", {"a": 70, "b": 30})
        balancer.wait_until_healthy()
        seen = [ask((balancer.address, port), "site.test", trusted, client) for _ in range(100)]
    assert sorted(set(seen)) == [("A", "h2", "A client h2 hello"), ("B", "h2", "B client h2 hello")]
    assert [name for name, _, _ in seen].count("B") == 30
