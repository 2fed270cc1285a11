#!/usr/bin/python3
"""How long a program takes from the RunTask request to RUNNING in DescribeTasks, on the process runtime,
one task after another. Beside it: starting the same program by fork and exec alone."""
import http.client
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "parts"))
from bench import Server, stamp, table  # noqa: E402

TASKS = int(os.environ.get("SLIPWAY_BENCH_STARTS", "100"))
TARGET_MS = 15
COMMAND = ["sleep", "600"]


class Client:
    """One connection, so that connecting is not measured."""

    def __init__(self, server):
        self.server = server
        self.connection = http.client.HTTPConnection(server.url.split("//")[1], timeout=60)

    def call(self, operation, **members):
        headers, body = self.server.sign(operation, **members)
        return self.send(headers, body)

    def send(self, headers, body):
        self.connection.request("POST", "/", body, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        return json.loads(text)


def start_one(client, network):
    signed = client.server.sign("RunTask", taskDefinition=network, **(
        {"networkConfiguration": {"awsvpcConfiguration": {"subnets": ["subnet-1"]}}}
        if network == "awsvpc" else {}))
    began = time.monotonic()
    answer = client.send(*signed)
    assert not answer["failures"], answer["failures"]
    arn = answer["tasks"][0]["taskArn"]
    look = client.server.sign("DescribeTasks", tasks=[arn])
    while True:
        task = client.send(*look)["tasks"][0]
        if task["lastStatus"] == "RUNNING":
            return (time.monotonic() - began) * 1000, arn
        assert task["lastStatus"] in ("PROVISIONING", "PENDING", "ACTIVATING"), task
        time.sleep(0.0005)


def plain_starts():
    times = []
    for _ in range(TASKS):
        began = time.monotonic()
        process = subprocess.Popen(COMMAND)
        times.append((time.monotonic() - began) * 1000)
        process.kill()
        process.wait()
    return times


def row(name, times):
    times = sorted(times)
    mean = sum(times) / len(times)
    return (name, f"{mean:.1f}", f"{times[len(times) // 2]:.1f}", f"{times[int(len(times) * .99)]:.1f}",
            f"{mean / TARGET_MS:.2f}")


def main():
    stamp()
    rows = [(f"{TASKS} starts, one after another", "mean ms", "median ms", "99 % ms", "of 15 ms")]
    with Server("--stop-tasks-on-exit") as server:
        client = Client(server)
        for network in ("bridge", "awsvpc"):
            client.call("RegisterTaskDefinition", family=network, networkMode=network,
                        containerDefinitions=[{"name": "app", "image": "host", "memory": 16,
                                               "essential": True, "command": COMMAND}])
            times = []
            for _ in range(TASKS):
                taken, arn = start_one(client, network)
                times.append(taken)
                client.call("StopTask", task=arn)
            rows.append(row(f"slipway, networkMode {network}", times))
    rows.append(row("fork and exec alone", plain_starts()))
    table(rows)
    print(f"target: under {TARGET_MS} ms from the request to RUNNING")


main()
