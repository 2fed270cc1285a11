#!/usr/bin/python3
"""DNS answers beside Knot DNS serving the same zone.

The aim is per core: at least half of Knot's answers per second of CPU time. dnsperf asks for a
thousand names of the zone, with and without EDNS, for one that does not exist, and over TCP; both
servers have one thread for it. The rounds alternate, so that a machine that is busy is busy for both.
"""
import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "parts"))
from bench import PROGRAM, SECONDS, cpu_seconds, stamp, table  # noqa: E402

NAMES = 1000
ROUNDS = 2

KNOT_ZONE = """$ORIGIN example.test.
$TTL 60
@ 3600 SOA ns hostmaster 7 3600 600 86400 24
@ 3600 NS ns
ns 3600 A 192.0.2.53
""" + "".join(f"host-{i} A 10.1.{i >> 8}.{i & 255}\n" for i in range(NAMES))

KNOT_CONFIG = """
server:
    listen: 127.0.0.1@{port}
    rundir: {folder}
    user: {user}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: {folder}/db
log:
  - target: stderr
    any: error
zone:
  - domain: example.test
    storage: {folder}
    file: zone
"""


def free_port():
    with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        port = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        return port


def answers(port):
    """Whether host-7 resolves to what both serve."""
    query = b"\x00\x01\x01\x00\x00\x01" + bytes(6) + b"\x06host-7\x07example\x04test\x00\x00\x01\x00\x01"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(1)
        asker.connect(("127.0.0.1", port))
        try:
            asker.send(query)
            return asker.recv(512)[-4:] == bytes([10, 1, 0, 7])
        except OSError:
            return False


def wait_until_it_answers(port):
    end = time.monotonic() + 60
    while not answers(port):
        if time.monotonic() > end:
            sys.exit("a server does not answer")
        time.sleep(0.05)


@contextlib.contextmanager
def ours():
    program = os.path.join(os.path.dirname(PROGRAM), "serve-zone")
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        port = int(process.stdout.readline().split()[1])
        wait_until_it_answers(port)
        yield port, process.pid
        process.stdin.close()


@contextlib.contextmanager
def knot():
    program = shutil.which("knotd") or "/usr/sbin/knotd"
    folder = tempfile.mkdtemp(prefix="slipway-bench-")
    os.mkdir(os.path.join(folder, "db"))
    port = free_port()
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    with open(os.path.join(folder, "zone"), "w", encoding="utf-8") as file:
        file.write(KNOT_ZONE)
    config = os.path.join(folder, "knot.conf")
    with open(config, "w", encoding="utf-8") as file:
        file.write(KNOT_CONFIG.format(port=port, folder=folder, user=user))
    process = subprocess.Popen([program, "-c", config], stdin=subprocess.DEVNULL)
    try:
        wait_until_it_answers(port)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def dnsperf(port, queries, *arguments):
    """Answers, and seconds."""
    ran = subprocess.run(["dnsperf", "-s", "127.0.0.1", "-p", str(port), "-d", queries,
                          "-l", str(SECONDS), "-c", "16", "-q", "256", *arguments],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    done = int(re.search(r"Queries completed:\s+(\d+)", ran.stdout).group(1))
    lost = int(re.search(r"Queries lost:\s+(\d+)", ran.stdout).group(1))
    seconds = float(re.search(r"Run time \(s\):\s+([\d.]+)", ran.stdout).group(1))
    return done, lost, seconds


def measure(server, queries, *arguments):
    port, pid = server
    before = cpu_seconds([pid])
    done, lost, seconds = dnsperf(port, queries, *arguments)
    return done, lost, seconds, cpu_seconds([pid]) - before


def sum_up(rounds):
    done, lost, seconds, cpu = (sum(column) for column in zip(*rounds))
    return done / seconds, lost, done / cpu


def main():
    stamp()
    folder = tempfile.mkdtemp(prefix="slipway-bench-")
    queries, missing = os.path.join(folder, "queries"), os.path.join(folder, "missing")
    with open(queries, "w", encoding="utf-8") as file:
        file.writelines(f"host-{i}.example.test A\n" for i in range(NAMES))
    with open(missing, "w", encoding="utf-8") as file:
        file.writelines(f"nothing-{i}.example.test A\n" for i in range(NAMES))
    rows = [("", "answers/s", "lost", "answers/CPU s", "of Knot")]
    try:
        with ours() as slipway, knot() as peer:
            for what, *arguments in (("A over UDP", queries), ("A over UDP, EDNS", queries, "-e"),
                                     ("NXDOMAIN over UDP", missing),
                                     ("A over TCP", queries, "-m", "tcp")):
                both = [(measure(slipway, *arguments), measure(peer, *arguments))
                        for _ in range(ROUNDS)]
                mine, theirs = (sum_up(rounds) for rounds in zip(*both))
                rows.append((f"slipway, {what}", f"{mine[0]:,.0f}", mine[1], f"{mine[2]:,.0f}",
                             f"{mine[2] / theirs[2]:.2f}"))
                rows.append((f"Knot, {what}", f"{theirs[0]:,.0f}", theirs[1], f"{theirs[2]:,.0f}",
                             "1.00"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    table(rows)
    print("aim: 0.50 of Knot's answers per second of CPU time")


main()
