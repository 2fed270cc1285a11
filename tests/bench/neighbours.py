#!/usr/bin/python3
"""Two accounts in one server: how long a small deployment of one takes to its first task, alone and while the other
rolls many environments out to many instances. Nothing runs: instances are registered by hand, tasks stay PENDING."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "parts"))
from bench import PROGRAM, Server, stamp, table  # noqa: E402

import boto3  # noqa: E402

INSTANCES = int(os.environ.get("SLIPWAY_BENCH_INSTANCES", "500").split()[0])
ENVIRONMENTS = 20
TIMES = 20
QUIET = "222222222222"
DEADLINE = 600
TARGET = 2  # times as long as alone


class Account:
    def __init__(self, server, account=None):
        self.key = server.key
        if account:
            made = subprocess.run([PROGRAM, "key", "create", "-o", "json", "--account", account,
                                   "--server", server.url, "--state", server.state], check=True,
                                  capture_output=True)
            self.key = json.loads(made.stdout)
        self.server = server
        self.ecs = boto3.client(
            "ecs", endpoint_url=server.url, region_name="us-east-1",
            aws_access_key_id=self.key["accessKeyId"],
            aws_secret_access_key=self.key["secretAccessKey"])
        self.ecs.create_cluster(clusterName="fleet")

    def register(self, number):
        for _ in range(number):
            self.ecs.register_container_instance(cluster="fleet", totalResources=[
                {"name": "CPU", "type": "INTEGER", "integerValue": 100000},
                {"name": "MEMORY", "type": "INTEGER", "integerValue": 100000}])

    def env(self, *words):
        environment = {**os.environ, "AWS_ACCESS_KEY_ID": self.key["accessKeyId"],
                       "AWS_SECRET_ACCESS_KEY": self.key["secretAccessKey"],
                       "AWS_REGION": "us-east-1"}
        subprocess.run([PROGRAM, "env", *words, "--server", self.server.url], check=True,
                       capture_output=True, env=environment)

    def create(self, name):
        self.ecs.register_task_definition(family=name, containerDefinitions=[
            {"name": "app", "image": "host", "memory": 4, "essential": True}])
        self.env("create", name, "--cluster", "fleet", "--task-definition", name + ":1")

    def first_task(self, name):
        """Seconds from asking for a deployment to its first task."""
        began = time.monotonic()
        self.env("deploy", name)
        while not self.ecs.list_tasks(cluster="fleet", family=name)["taskArns"]:
            if time.monotonic() > began + DEADLINE:
                sys.exit(f"no task within {DEADLINE} s")
            time.sleep(0.002)
        return time.monotonic() - began


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    stamp()
    with Server("--runtime", "none") as server:
        noisy, quiet = Account(server), Account(server, QUIET)
        quiet.register(1)
        noisy.register(INSTANCES)
        for number in range(2 * TIMES):
            quiet.create(f"quiet{number}")
        for number in range(ENVIRONMENTS):
            noisy.create(f"noisy{number}")
        alone = [quiet.first_task(f"quiet{number}") for number in range(TIMES)]
        beside = []
        for number in range(ENVIRONMENTS):
            noisy.env("deploy", f"noisy{number}")
            beside.append(quiet.first_task(f"quiet{TIMES + number}"))
        cluster = noisy.ecs.describe_clusters(clusters=["fleet"])["clusters"][0]
    ratio = median(beside) / median(alone)
    table([["to the first task of a quiet account", "median, ms", "worst, ms"],
           ["alone", f"{median(alone) * 1000:.0f}", f"{max(alone) * 1000:.0f}"],
           [f"while another rolls {ENVIRONMENTS} environments out to {INSTANCES} instances "
            f"({cluster['pendingTasksCount']} tasks so far)", f"{median(beside) * 1000:.0f}",
            f"{max(beside) * 1000:.0f}"]])
    print(f"\nmedian beside / alone: {ratio:.2f}, target {TARGET}: {'met' if ratio <= TARGET else 'missed'}")


if __name__ == "__main__":
    main()
