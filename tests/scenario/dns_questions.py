"""Asking 127.0.0.1:PORT for names: by dig, by the resolvers of dns_clients.py, and by bare queries."""
import json
import os
import re
import socket
import struct
import subprocess
import sys
import time

from conftest import DEADLINE

CLIENTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "dns_clients.py")
TYPES = {"A": 1, "AAAA": 28, "SRV": 33}
NXDOMAIN = 3


def dig(port, *arguments):
    asked = subprocess.run(["dig", "@127.0.0.1", "-p", str(port), "+time=30", "+tries=2",
                            *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           timeout=DEADLINE * 3, check=False)
    assert asked.returncode == 0, asked.stdout + asked.stderr
    assert "Warning" not in asked.stdout and "malformed" not in asked.stdout, asked.stdout
    return asked.stdout


def dig_forwarded(port, *arguments):
    """(what dig says, how often it asked) of a server that forwards: on a busy machine it may have given its upstream
    up, and says so; then one asks again."""
    deadline = time.monotonic() + DEADLINE
    asked = 0
    while True:
        asked += 1
        text = dig(port, *arguments)
        if status(text) != "SERVFAIL" or time.monotonic() > deadline:
            return text, asked


def status(text):
    return re.search(r"status: (\w+)", text).group(1)


def flags(text):
    return re.search(r"flags: ([a-z ]*);", text).group(1).split()


def section(text, name):
    """The records of a section: [owner, ttl, class, type, data]."""
    found = re.search(rf"^;; {name} SECTION:\n((?:[^;\n].*\n)*)", text, re.MULTILINE)
    lines = found.group(1).splitlines() if found else []
    return [line.split(None, 4) for line in lines]


def data(text, name="ANSWER"):
    return [record[4] for record in section(text, name)]


def client(what, port, name):
    ran = subprocess.run([sys.executable, CLIENTS, what, str(port), name],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=DEADLINE * 3, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


class Asker:
    """Bare queries from some sockets in turn, so that all threads of a server answer."""

    def __init__(self, port, sockets=8):
        self.sockets = []
        self.number = 0
        for _ in range(sockets):
            asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            asker.connect(("127.0.0.1", port))
            asker.settimeout(DEADLINE)
            self.sockets.append(asker)

    def close(self):
        for asker in self.sockets:
            asker.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def addresses(self, name, kind="A"):
        """The addresses of the answer; None if there is no such name."""
        self.number += 1
        asker = self.sockets[self.number % len(self.sockets)]
        head = struct.pack(">6H", self.number & 0xffff, 0x0100, 1, 0, 0, 0)
        question = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
        question += b"\0" + struct.pack(">2H", TYPES[kind], 1)
        asker.send(head + question)
        answer = asker.recv(4096)
        number, code, _, count = struct.unpack(">4H", answer[:8])
        assert number == self.number & 0xffff and code & 15 in (0, NXDOMAIN), answer
        if code & 15 == NXDOMAIN:
            return None
        # Owners point to the question: each record is as long as the others.
        size = 4 if kind == "A" else 16
        found, at = [], 12 + len(question)
        for _ in range(count):
            found.append(socket.inet_ntop(socket.AF_INET if kind == "A" else socket.AF_INET6,
                                          answer[at + 12:at + 12 + size]))
            at += 12 + size
        return found
