#!/usr/bin/python3
"""100,000 running tasks on the simulated runtime: memory of the server, and what one more event costs
when there are few tasks and when there are many."""
import concurrent.futures
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "parts"))
from bench import Server, cpu_seconds, resident_megabytes, stamp, table  # noqa: E402

TASKS = int(os.environ.get("SLIPWAY_BENCH_TASKS", "100000"))
FEW = TASKS // 100
INSTANCES = 100
EVENTS = 500
TARGET_MEGABYTES = 400


def counts(server):
    cluster = json.loads(server.call("DescribeClusters"))["clusters"][0]
    return cluster["runningTasksCount"], cluster["pendingTasksCount"]


def wait_for(server, running):
    end = time.monotonic() + 600
    while counts(server) != (running, 0):
        if time.monotonic() > end:
            sys.exit(f"not {running} running tasks within 600 s: {counts(server)}")
        time.sleep(0.2)


def start_tasks(server, number):
    """Through a service of half of them and RunTask for the rest, as clusters have both."""
    def run(count):
        answer = json.loads(server.call("RunTask", taskDefinition="web", count=count))
        assert not answer["failures"], answer["failures"][:3]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(run, [10] * (number // 10)))


def cost_of_events(server):
    """CPU time of the server for one task that is stopped, and replaced by its service."""
    arns = json.loads(server.call("ListTasks", serviceName="web", maxResults=100))["taskArns"]
    running = counts(server)[0]
    before = cpu_seconds([server.process.pid])
    for number in range(EVENTS):
        if not arns:
            arns = json.loads(server.call("ListTasks", serviceName="web",
                                          maxResults=100))["taskArns"]
        server.call("StopTask", task=arns.pop(), reason=f"event {number}")
    wait_for(server, running)
    return (cpu_seconds([server.process.pid]) - before) / EVENTS * 1e6


def main():
    stamp()
    with Server("--runtime", "simulated", "--instances", str(INSTANCES)) as server:
        server.call("RegisterTaskDefinition", family="web", networkMode="bridge",
                    containerDefinitions=[{"name": "app", "image": "host", "memory": 4,
                                           "essential": True, "command": ["serve"]}])
        empty = resident_megabytes(server.process.pid)
        server.call("CreateService", serviceName="web", taskDefinition="web",
                    desiredCount=FEW // 2)
        start_tasks(server, FEW // 2)
        wait_for(server, FEW)
        cost_few = cost_of_events(server)
        began = time.monotonic()
        server.call("UpdateService", service="web", desiredCount=TASKS // 2)
        start_tasks(server, TASKS // 2 - FEW // 2)
        wait_for(server, TASKS)
        seconds = time.monotonic() - began
        full = resident_megabytes(server.process.pid)
        cost_many = cost_of_events(server)
    table([("tasks", "resident MB", "bytes a task", "server's CPU us an event"),
           ("none", f"{empty:.1f}", "", ""),
           (f"{FEW:,}", "", "", f"{cost_few:,.0f}"),
           (f"{TASKS:,}", f"{full:.1f}", f"{(full - empty) * 1e6 / TASKS:,.0f}",
            f"{cost_many:,.0f}")])
    print(f"{TASKS - FEW:,} tasks were started in {seconds:.1f} s, half of them by the service.")
    print(f"An event (stop, end, replacement, its start) costs {cost_many / cost_few:.2f} times as much "
          f"among {TASKS:,} as among {FEW:,}.")
    print(f"targets: under {TARGET_MEGABYTES} MB with 100,000 tasks; cost of an event independent of the "
          f"number of tasks")


main()
