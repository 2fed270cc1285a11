#!/usr/bin/python3
"""Scenario 92: many environments on many simulated instances. The cost of a full pass, and of one change of an
instance: it must depend on the number of environments, and not on the number of instances. And scenario 91 for a
remote cluster: the time from a program's death to StartTask by a server that only lists the cluster."""
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "parts"))
from bench import Server, cpu_seconds, stamp, table  # noqa: E402
from environments import (change_instances, command, count, describe, instances_of, living,  # noqa: E402
                          wait_for)

SIZES = [int(size) for size in os.environ.get("SLIPWAY_BENCH_INSTANCES", "500 5000").split()]
ENVIRONMENTS = 20
STRANGERS = 200    # more environments, which no instance matches
TARGET_STRANGERS = 1.2  # an event among them may cost so much more, for caches
LOOK_SECONDS = 60  # between two looks at everything
TARGET_FLAT = 2       # an event among ten times as many instances may cost so much more, for caches
POLL_SECONDS = 10  # R: the default
KILLS = 20
TARGET_LISTED = POLL_SECONDS + 1


def register(server, family):
    server.call("RegisterTaskDefinition", family=family, networkMode="bridge", containerDefinitions=[
        {"name": "app", "image": "host", "memory": 4, "essential": True, "command": ["serve"]}])
    return family + ":1"


def measure(instances):
    with Server("--runtime", "simulated", "--instances", str(instances)) as server:
        wait_for(lambda: len(instances_of(server)) == instances, "they are registered", 0.5)
        arns = instances_of(server)
        alone = change_instances(server, arns)
        for number in range(ENVIRONMENTS):
            command(server, "create", f"log-{number}", "--cluster", "default", "--task-definition",
                    register(server, f"log-{number}"))
        pid = server.process.pid
        began, before = time.monotonic(), cpu_seconds([pid])
        for number in range(ENVIRONMENTS):
            command(server, "deploy", f"log-{number}")
        wait_for(lambda: count(server, "running") == ENVIRONMENTS * instances, "all run", 0.5)
        covered, spent = time.monotonic() - began, cpu_seconds([pid]) - before
        time.sleep(5)
        before = cpu_seconds([pid])
        time.sleep(LOOK_SECONDS)
        look = cpu_seconds([pid]) - before
        event = change_instances(server, arns)
        for number in range(STRANGERS):
            command(server, "create", f"gpu-{number}", "--cluster", "default", "--task-definition",
                    register(server, f"gpu-{number}"), "--attributes", f"gpu={number}")
            command(server, "deploy", f"gpu-{number}")
        time.sleep(5)
        among = change_instances(server, arns)
        return [f"{instances:,}", f"{covered:.1f}", f"{spent / instances / ENVIRONMENTS * 1e6:.0f}",
                f"{look * 1000:.0f}", event, among, alone]


def repair_by_listing():
    """Seconds from the end of a program to the creation of the task that follows it, when no events come."""
    times = []
    with Server("--instances", "4", "--stop-tasks-on-exit") as there:
        settings, secret = (os.path.join(there.folder, name) for name in ("slipway.yaml", "secret"))
        with open(secret, "w", encoding="utf-8") as file:
            file.write(there.key["secretAccessKey"])
        os.chmod(secret, 0o600)
        with open(settings, "w", encoding="utf-8") as file:
            json.dump({"targets": [{
                "name": "there", "region": "us-east-1", "endpoint": there.url,
                "account": there.key["account"], "pollInterval": f"{POLL_SECONDS}s",
                "credentials": {"accessKey": there.key["accessKeyId"], "secretFile": secret}}]}, file)
        with Server("--runtime", "none", "--config", settings) as here:
            there.call("RegisterTaskDefinition", family="log", networkMode="bridge", containerDefinitions=[
                {"name": "app", "image": "host", "memory": 16, "essential": True,
                 "command": ["env", f"BENCH_MARK={os.getpid()}", "sleep", "1000"]}])
            command(here, "create", "log", "--target", "there", "--cluster", "default",
                    "--task-definition", "log:1")
            command(here, "deploy", "log")
            wait_for(lambda: len(living()) == 4, "all run")
            while len(times) < KILLS:
                time.sleep(11)
                tasks, victims = describe(there), living()
                killed = {tasks[task]["containerInstanceArn"]: time.time() for task in victims}
                for pid in victims.values():
                    os.kill(pid, signal.SIGKILL)
                wait_for(lambda: not set(victims) & set(living()) and len(living()) == 4, "all run again")
                times += [task["createdAt"] - killed[task["containerInstanceArn"]]
                          for identifier, task in describe(there).items()
                          if identifier not in victims and task["containerInstanceArn"] in killed]
    return sorted(times)


def main():
    stamp()
    rows = [measure(size) for size in SIZES]
    table([["instances", f"{ENVIRONMENTS} environments cover them, s", "CPU us a task",
            "a minute of looking, CPU ms", "a change of an instance, CPU us",
            f"among {STRANGERS} more that match none", "without any"],
           *([*row[:4], *(f"{value:.0f}" for value in row[4:])] for row in rows)])
    ratio = rows[-1][4] / rows[0][4]
    print(f"\na change among {SIZES[-1]:,} instances costs {ratio:.2f} of one among {SIZES[0]:,} (target: "
          f"{TARGET_FLAT} at most: {'met' if ratio <= TARGET_FLAT else 'missed'})")
    ratio = rows[-1][5] / rows[-1][4]
    print(f"and {ratio:.2f} as much among {STRANGERS} more environments that match none (target: {TARGET_STRANGERS} at "
          f"most: {'met' if ratio <= TARGET_STRANGERS else 'missed'})\n")
    times = repair_by_listing()
    worst = times[len(times) * 99 // 100]
    table([["from the end of a program to StartTask, listed every 10 s", "median, s", "99 %, s", "target"],
           [f"{len(times)} programs killed", f"{times[len(times) // 2]:.2f}", f"{worst:.2f}",
            f"{TARGET_LISTED} at 99 %: {'met' if worst <= TARGET_LISTED else 'missed'}"]])
    print(f"\nload after: {' '.join(f'{value:.2f}' for value in os.getloadavg())}")


if __name__ == "__main__":
    main()
