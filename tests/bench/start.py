#!/usr/bin/python3
"""Start-up time and memory: with an empty store, and with 100,000 objects."""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "parts"))
from bench import Server, container, resident_megabytes, run_wrk, stamp, table  # noqa: E402

OBJECTS = 100000
CLIENTS = 64


def fill(server):
    """Registers definitions until there are at least OBJECTS objects."""
    made = 0
    while made < OBJECTS:
        requests = [server.sign("RegisterTaskDefinition", family=f"family-{number}",
                                containerDefinitions=[container(number)])
                    for number in range(CLIENTS)]
        made += run_wrk(server.url, CLIENTS, seconds=5, requests=requests)[2]
    return made


def main():
    stamp()
    rows = [("", "objects", "start ms", "resident MB", "MB per 100,000")]
    folder = tempfile.mkdtemp(prefix="slipway-bench-")
    try:
        state = os.path.join(folder, "state")
        with Server(state=state):
            pass  # the first start makes the store
        best = min((start_empty(state) for _ in range(5)), key=lambda pair: pair[0])
        rows.append(("empty store", 0, f"{best[0] * 1000:.0f}", f"{best[1]:.1f}", ""))
        with Server(state=state) as server:
            made = fill(server)
        full = min((start_empty(state) for _ in range(3)), key=lambda pair: pair[0])
        rows.append(("full store", f"{made:,}", f"{full[0] * 1000:.0f}", f"{full[1]:.1f}",
                     f"{(full[1] - best[1]) * 100000 / made:.1f}"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    table(rows)
    print("targets: empty under 100 ms and under 32 MB, 100,000 objects under 2,000 ms")


def start_empty(state):
    with Server(state=state) as server:
        return server.start_seconds, resident_megabytes(server.process.pid)


main()
