#!/usr/bin/python3
"""Daemon environments over the wire: how long until each of many simulated instances has its task, and what that
costs; and how long after a program has died StartTask is called for another one, on real programs."""
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "parts"))
from bench import PROGRAM, Server, cpu_seconds, resident_megabytes, stamp, table  # noqa: E402

SIZES = [int(size) for size in os.environ.get("SLIPWAY_BENCH_INSTANCES", "1000 10000 100000").split()]
DEADLINE = 1200
CHANGES = 500
ROUNDS = 3
TARGET_FLAT = 2    # an event among a hundred times as many instances may cost so much more, for caches
INSTANCES = 60  # with programs
KILLS = 300
TARGET_REPAIR_MS = 100


def command(server, *words):
    subprocess.run([PROGRAM, "env", *words, "--server", server.url, "--state", server.state],
                   check=True, capture_output=True)


def define(server, program, memory):
    server.call("RegisterTaskDefinition", family="log", networkMode="bridge", containerDefinitions=[
        {"name": "app", "image": "host", "memory": memory, "essential": True, "command": program}])
    command(server, "create", "log", "--cluster", "default", "--task-definition", "log:1")


def cluster_of(server):
    return json.loads(server.call("DescribeClusters"))["clusters"][0]


def count(server, *statuses):
    cluster = cluster_of(server)
    return sum(cluster[status + "TasksCount"] for status in statuses)


def wait_for(condition, what, rest=0.02):
    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"not within {DEADLINE} s: {what}")
        time.sleep(rest)


def change_instances(server, arns):
    """CPU microseconds of one change that concerns no task: the least of some rounds, because others use the machine."""
    rounds = []
    for _ in range(ROUNDS):
        before = cpu_seconds([server.process.pid])
        for number in range(CHANGES):
            server.call("PutAttributes", attributes=[{
                "name": "bench", "value": str(time.monotonic_ns()), "targetType": "container-instance",
                "targetId": arns[number * 7919 % len(arns)]}])
        time.sleep(1)
        rounds.append((cpu_seconds([server.process.pid]) - before) / CHANGES * 1e6)
    return min(rounds)


def instances_of(server):
    arns, token = [], {}
    while True:
        answer = json.loads(server.call("ListContainerInstances", **token))
        arns += answer["containerInstanceArns"]
        if "nextToken" not in answer:
            return arns
        token = {"nextToken": answer["nextToken"]}


def cover(instances):
    """One row: a first deployment to so many instances."""
    with Server("--runtime", "simulated", "--instances", str(instances)) as server:
        wait_for(lambda: json.loads(server.call("DescribeClusters"))["clusters"] and cluster_of(server)[
            "registeredContainerInstancesCount"] == instances, "they are registered", 0.1)
        arns = instances_of(server)
        alone = change_instances(server, arns)
        define(server, ["serve"], 4)
        pid = server.process.pid
        before, memory = cpu_seconds([pid]), resident_megabytes(pid)
        began = time.monotonic()
        command(server, "deploy", "log")
        wait_for(lambda: count(server, "running", "pending") > 0, "the first task")
        first = time.monotonic() - began
        rest = max(0.02, instances / 100000)
        wait_for(lambda: count(server, "running", "pending") == instances, "all are started", rest)
        started = time.monotonic() - began
        wait_for(lambda: count(server, "running") == instances, "all run", rest)
        seconds, used = cpu_seconds([pid]) - before, resident_megabytes(pid) - memory
        time.sleep(5)
        return [f"{instances:,}", f"{first:.2f}", f"{started:.2f}", f"{instances / started:,.0f}",
                f"{seconds / instances * 1e6:.0f}", f"{used / instances * 1000:.1f}",
                change_instances(server, arns), alone]


def living():
    """{task: (pid, instance)} of the programs with our mark."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    pairs = dict(pair.split(b"=", 1) for pair in file.read().split(b"\0")
                                 if b"=" in pair)
            except OSError:
                continue
            if pairs.get(b"BENCH_MARK") == str(os.getpid()).encode():
                found[pairs[b"SLIPWAY_TASK"].decode()] = int(name)
    return found


def describe(server):
    arns = json.loads(server.call("ListTasks"))["taskArns"]
    tasks = json.loads(server.call("DescribeTasks", tasks=arns))["tasks"] if arns else []
    return {task["taskArn"].rsplit("/", 1)[1]: task for task in tasks}


def repair_times():
    """Milliseconds from the end of a program to the creation of the task that follows it."""
    times = []
    with Server("--instances", str(INSTANCES), "--stop-tasks-on-exit") as server:
        define(server, ["env", f"BENCH_MARK={os.getpid()}", "sleep", "1000"], 16)
        command(server, "deploy", "log")
        wait_for(lambda: len(living()) == INSTANCES, "all run")
        while len(times) < KILLS:
            # A task that ran for less than ten seconds has crashed, and is slowed down when it does so again.
            time.sleep(11 if times else 1)
            tasks, victims = describe(server), living()
            killed = {}
            for task, pid in victims.items():
                time.sleep(0.02)
                killed[tasks[task]["containerInstanceArn"]] = time.time()
                os.kill(pid, signal.SIGKILL)
            wait_for(lambda: not set(victims) & set(living()) and len(living()) == INSTANCES,
                     "all run again")
            for identifier, task in describe(server).items():
                if identifier not in victims and task["containerInstanceArn"] in killed:
                    times.append((task["createdAt"] - killed[task["containerInstanceArn"]]) * 1000)
    return sorted(times)


def main():
    stamp()
    rows = [cover(size) for size in SIZES]
    table([["instances", "first task, s", "all started, s", "a second", "CPU us each", "KB each",
            "a change of an instance, CPU us", "without the environment"],
           *([*row[:6], f"{row[6]:.0f}", f"{row[7]:.0f}"] for row in rows)])
    ratio = rows[-1][6] / rows[0][6]
    print(f"\na change among {SIZES[-1]:,} instances costs {ratio:.2f} of one among {SIZES[0]:,} (target: "
          f"{TARGET_FLAT} at most: {'met' if ratio <= TARGET_FLAT else 'missed'})")
    times = repair_times()
    worst = times[len(times) * 99 // 100]
    print()
    table([["from the end of a program to StartTask", "median, ms", "99 %, ms", "target", "of the target"],
           [f"{len(times)} programs killed on {INSTANCES} instances", f"{times[len(times) // 2]:.1f}",
            f"{worst:.1f}", f"{TARGET_REPAIR_MS} at 99 %: {'met' if worst <= TARGET_REPAIR_MS else 'missed'}",
            f"{worst / TARGET_REPAIR_MS:.2f}"]])
    print(f"\nload after: {' '.join(f'{value:.2f}' for value in os.getloadavg())}")


if __name__ == "__main__":
    main()
