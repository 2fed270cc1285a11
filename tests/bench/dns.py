#!/usr/bin/python3
"""DNS answers from the store beside Knot DNS serving the same zone from a file.

The target is per core: at least half of Knot's answers per second of CPU time. slipway has a namespace
with a thousand services of one instance (A records) and a hundred of three (SRV records with their
hosts). dnsperf asks for them, with and without EDNS, for names that do not exist, over TCP, and while
instances are registered all the time; both servers have one thread for it. The rounds alternate, so
that a machine that is busy is busy for both.
"""
import concurrent.futures
import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import boto3
import botocore.config

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "parts"))
from bench import SECONDS, Server, cpu_seconds, stamp, table  # noqa: E402

NAMES = 1000
SERVICES = 100  # with SRV records
ROUNDS = 2
CLIENTS = 8

KNOT_ZONE = """$ORIGIN example.test.
$TTL 60
@ 3600 SOA ns hostmaster 7 3600 600 86400 24
@ 3600 NS ns
ns 3600 A 192.0.2.53
""" + "".join(f"host-{i} A 10.1.{i >> 8}.{i & 255}\n" for i in range(NAMES)) + "".join(
    f"srv-{i} SRV 1 1 8080 i-{j}.srv-{i}\ni-{j}.srv-{i} A 10.2.{i}.{j}\n"
    for i in range(SERVICES) for j in range(3))

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


def client_of(server):
    return boto3.session.Session(
        aws_access_key_id=server.key["accessKeyId"],
        aws_secret_access_key=server.key["secretAccessKey"], region_name="us-east-1").client(
            "servicediscovery", endpoint_url=server.url,
            config=botocore.config.Config(max_pool_connections=CLIENTS))


def fill(client):
    """The zone of Knot, as a namespace."""
    client.create_private_dns_namespace(Name="example.test", Vpc="vpc-1")
    namespace = client.list_namespaces()["Namespaces"][0]["Id"]

    def make(name, kind, *instances):
        service = client.create_service(Name=name, NamespaceId=namespace, DnsConfig={
            "DnsRecords": [{"Type": kind, "TTL": 60}]})["Service"]["Id"]
        for number, address in enumerate(instances):
            client.register_instance(ServiceId=service, InstanceId=f"i-{number}", Attributes={
                "AWS_INSTANCE_IPV4": address, "AWS_INSTANCE_PORT": "8080"})
        return service

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        made = [pool.submit(make, f"host-{i}", "A", f"10.1.{i >> 8}.{i & 255}")
                for i in range(NAMES)]
        made += [pool.submit(make, f"srv-{i}", "SRV", *(f"10.2.{i}.{j}" for j in range(3)))
                 for i in range(SERVICES)]
        return [one.result() for one in made]


class Registering:
    """Registers an instance of one service after the other, until the block ends."""

    def __init__(self, client, services):
        self.client, self.services = client, services
        self.count = 0
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ending.is_set():
            number = self.count % NAMES
            self.client.register_instance(
                ServiceId=self.services[number], InstanceId="i-0", Attributes={
                    "AWS_INSTANCE_IPV4": f"10.1.{number >> 8}.{number & 255}"})
            self.count += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


@contextlib.contextmanager
def ours():
    folder = tempfile.mkdtemp(prefix="slipway-bench-")
    config = os.path.join(folder, "slipway.yaml")
    with open(config, "w", encoding="utf-8") as file:
        file.write("dns:\n  threads: 1\n")
    try:
        with Server("--config", config, "--runtime", "none") as server:
            with open(server.output, encoding="utf-8") as file:
                port = int(re.search(r"answers DNS on \S+:(\d+)", file.read()).group(1))
            client = client_of(server)
            services = fill(client)
            wait_until_it_answers(port)
            yield port, server.process.pid, client, services
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
    port, pid = server[:2]
    before = cpu_seconds([pid])
    done, lost, seconds = dnsperf(port, queries, *arguments)
    return done, lost, seconds, cpu_seconds([pid]) - before


def sum_up(rounds):
    done, lost, seconds, cpu = (sum(column) for column in zip(*rounds))
    return done / seconds, lost, done / cpu


def compare(rows, slipway, peer, what, *arguments):
    both = [(measure(slipway, *arguments), measure(peer, *arguments)) for _ in range(ROUNDS)]
    mine, theirs = (sum_up(rounds) for rounds in zip(*both))
    rows.append((f"slipway, {what}", f"{mine[0]:,.0f}", mine[1], f"{mine[2]:,.0f}",
                 f"{mine[2] / theirs[2]:.2f}"))
    rows.append((f"Knot, {what}", f"{theirs[0]:,.0f}", theirs[1], f"{theirs[2]:,.0f}", "1.00"))


def main():
    stamp()
    folder = tempfile.mkdtemp(prefix="slipway-bench-")

    def file_of(name, lines):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        return path

    queries = file_of("queries", (f"host-{i}.example.test A" for i in range(NAMES)))
    missing = file_of("missing", (f"nothing-{i}.example.test A" for i in range(NAMES)))
    services = file_of("services", (f"srv-{i}.example.test SRV" for i in range(SERVICES)))
    rows = [("", "answers/s", "lost", "answers/CPU s", "of Knot")]
    try:
        with ours() as slipway, knot() as peer:
            for what, *arguments in (("A over UDP", queries), ("A over UDP, EDNS", queries, "-e"),
                                     ("SRV of 3 over UDP", services),
                                     ("NXDOMAIN over UDP", missing),
                                     ("A over TCP", queries, "-m", "tcp")):
                compare(rows, slipway, peer, what, *arguments)
            with Registering(*slipway[2:]) as registering:
                done, lost, seconds, _ = measure(slipway, queries)
            rows.append((f"slipway, A while {registering.count / seconds:,.0f} instances/s are "
                         "registered", f"{done / seconds:,.0f}", lost, "", ""))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    table(rows)
    print("target: 0.50 of Knot's answers per second of CPU time")


main()
