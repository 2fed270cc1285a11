#!/usr/bin/python3
"""Durable RegisterTaskDefinition with 64 clients, into many families and into one, beside a bare loop
that commits groups of the same rows to SQLite; and the same on PostgreSQL beside pgbench."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "parts"))
from bench import (SECONDS, SOURCE, Server, container, cpu_seconds, run_wrk, stamp,  # noqa: E402
                   table)

CLIENTS = 64
PGBENCH = """\\set family random(1, 64)
BEGIN;
UPDATE counters SET last = last + 1 WHERE family = :family;
INSERT INTO definitions SELECT :family, last, repeat('x', {bytes}) FROM counters WHERE family = :family;
COMMIT;
"""


def register(server, families):
    requests = [server.sign("RegisterTaskDefinition", family=f"family-{number % families}",
                            containerDefinitions=[container(number)]) for number in range(CLIENTS)]
    run_wrk(server.url, CLIENTS, seconds=1, requests=requests)
    before = cpu_seconds([server.process.pid])
    rate, latency, total = run_wrk(server.url, CLIENTS, requests=requests)
    return rate, latency, (cpu_seconds([server.process.pid]) - before) / total * 1e6


def stored_bytes():
    with Server() as server:
        return len(server.call("RegisterTaskDefinition", family="a",
                               containerDefinitions=[container(1)]))


def bare_loop(size, families):
    """The same rows with SQLite alone."""
    program = os.path.join(SOURCE, "build/tests/bench/sqlite_loop")
    with tempfile.TemporaryDirectory(prefix="slipway-bench-") as folder:
        told = subprocess.run([program, f"{folder}/loop.db", str(SECONDS), str(CLIENTS), str(size),
                               str(families)], check=True, capture_output=True, text=True)
    return float(told.stdout)


def sqlite_rows(size):
    rows = [("SQLite", "registrations/s", "99 %", "server's CPU us each", "of the loop")]
    for name, families in (("many families", CLIENTS), ("one family", 1)):
        limit = bare_loop(size, families)
        with Server() as server:
            rate, latency, cost = register(server, families)
        rows.append((f"bare loop, {name}, groups of {CLIENTS}", f"{limit:,.0f}", "", "", "1.00"))
        rows.append((f"slipway, {name}", f"{rate:,.0f}", latency, f"{cost:.0f}",
                     f"{rate / limit:.2f}"))
    return rows


def psql(url, text):
    subprocess.run(["psql", "-q", "-d", url, "-c", text], check=True)


def postgres_rows(size):
    url = os.environ["SLIPWAY_TEST_POSTGRES"]
    psql(url, "CREATE TABLE counters(family int PRIMARY KEY, last int);"
              "CREATE TABLE definitions(family int, revision int, text text, "
              "PRIMARY KEY(family, revision));"
              "INSERT INTO counters SELECT n, 0 FROM generate_series(1, 64) n")
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(PGBENCH.format(bytes=size))
        script.flush()
        told = subprocess.run(["pgbench", "-n", "-c", str(CLIENTS), "-j", "2", "-M", "prepared", "-T",
                               str(SECONDS), "-f", script.name, url], capture_output=True, text=True,
                              check=True)
    line = next(line for line in told.stdout.splitlines() if line.startswith("tps"))
    limit = float(line.split("=")[1].split()[0])
    rows = [("PostgreSQL", "registrations/s", "99 %", "server's CPU us each", "of pgbench"),
            (f"pgbench, {CLIENTS} clients", f"{limit:,.0f}", "", "", "1.00")]
    psql(url, "CREATE DATABASE bench")
    with Server("--store", url.replace("/postgres?", "/bench?")) as server:
        for name, families in (("slipway, many families", CLIENTS), ("slipway, one family", 1)):
            rate, latency, cost = register(server, families)
            rows.append((name, f"{rate:,.0f}", latency, f"{cost:.0f}", f"{rate / limit:.2f}"))
    psql(url, "DROP TABLE counters, definitions")
    psql(url, "DROP DATABASE bench")
    return rows


def main():
    stamp()
    size = stored_bytes()
    print(f"A stored definition has {size} bytes.\n")
    table(sqlite_rows(size))
    table(postgres_rows(size))
    print("target: 0.60 of the bare loop on SQLite")


main()
