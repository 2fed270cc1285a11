#!/usr/bin/python3
"""Durable RunTask and DescribeTasks of 100 on the simulated runtime: what the control plane does with a
task, without the cost of a program. Beside it: a bare loop that commits rows of a task's size to SQLite."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "parts"))
from bench import SECONDS, SOURCE, Server, cpu_seconds, run_wrk, stamp, table  # noqa: E402

CLIENTS = 64
INSTANCES = 16
TARGET_RUN = 5000
TARGET_DESCRIBE = 20000


def start_server():
    server = Server("--runtime", "simulated", "--instances", str(INSTANCES))
    # So small that the instances have room for all that a run can start.
    server.call("RegisterTaskDefinition", family="web", networkMode="bridge", containerDefinitions=[
        {"name": "app", "image": "host", "memory": 4, "essential": True, "command": ["serve"],
         "environment": [{"name": "VARIABLE", "value": "value"}]}])
    return server


def task_bytes(server):
    answer = json.loads(server.call("RunTask", taskDefinition="web"))
    assert not answer["failures"], answer
    return len(json.dumps(answer["tasks"][0], separators=(",", ":")))


def bare_loop(size):
    program = os.path.join(SOURCE, "build/tests/bench/sqlite_loop")
    with tempfile.TemporaryDirectory(prefix="slipway-bench-") as folder:
        told = subprocess.run([program, f"{folder}/loop.db", str(SECONDS), str(CLIENTS), str(size),
                               str(CLIENTS)], check=True, capture_output=True, text=True)
    return float(told.stdout)


def run_rows():
    rows = [("RunTask", "tasks/s", "calls/s", "99 %", "server's CPU us a task", "of 5,000/s")]
    for count in (1, 10):
        with start_server() as server:
            size = task_bytes(server)
            requests = [server.sign("RunTask", taskDefinition="web", count=count, startedBy=f"b{n}")
                        for n in range(CLIENTS)]
            before = cpu_seconds([server.process.pid])
            rate, latency, total = run_wrk(server.url, CLIENTS, requests=requests)
            cost = (cpu_seconds([server.process.pid]) - before) / (total * count) * 1e6
            left = json.loads(server.call("DescribeClusters"))["clusters"][0]
            there = left["runningTasksCount"] + left["pendingTasksCount"]
            # Every answer said that its tasks were placed, or the figure is of nothing.
            assert there >= total * count, (there, total * count)
            rows.append((f"slipway, count {count}, {CLIENTS} clients", f"{rate * count:,.0f}",
                         f"{rate:,.0f}", latency, f"{cost:.0f}", f"{rate * count / TARGET_RUN:.2f}"))
    limit = bare_loop(size)
    rows.append((f"bare loop, rows of {size} bytes, groups of {CLIENTS}", f"{limit:,.0f}", "", "", "",
                 f"{limit / TARGET_RUN:.2f}"))
    return rows


def describe_rows():
    with start_server() as server:
        arns = []
        for _ in range(10):
            answer = json.loads(server.call("RunTask", taskDefinition="web", count=10))
            arns += [task["taskArn"] for task in answer["tasks"]]
        request = server.sign("DescribeTasks", tasks=arns)
        size = len(server.call("DescribeTasks", tasks=arns))
        run_wrk(server.url, 16, seconds=1, requests=[request])
        before = cpu_seconds([server.process.pid])
        rate, latency, total = run_wrk(server.url, 16, requests=[request])
        spent = cpu_seconds([server.process.pid]) - before
    per_core = total * 100 / spent
    return [("DescribeTasks of 100", "tasks/s per core", "tasks/s", "99 %", "answer bytes",
             "of 20,000/s"),
            ("slipway, 16 clients", f"{per_core:,.0f}", f"{rate * 100:,.0f}", latency, f"{size:,}",
             f"{per_core / TARGET_DESCRIBE:.2f}")]


def main():
    stamp()
    table(run_rows())
    table(describe_rows())
    print(f"targets: {TARGET_RUN:,} RunTask/s durable; {TARGET_DESCRIBE:,} described tasks/s per core")


main()
