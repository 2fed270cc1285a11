#!/usr/bin/python3
"""An environment on the Kubernetes runtime beside a DaemonSet, in turns on the same cluster: how long until every
node has a running pod, as the API server reports it. Etcd, API server and controllers are real; nodes are hollow:
their pods are reported as running at once, and no program runs."""
import os
import shutil
import statistics
import subprocess
import sys
import time

import botocore.session

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "parts"))
sys.path.insert(0, os.path.join(HERE, "../kubernetes"))
from bench import PROGRAM, SOURCE, Server, cpu_seconds, stamp, table  # noqa: E402
from cluster import Cluster  # noqa: E402
from kubernetes_pods import wait_for  # noqa: E402

NODES = int(os.environ.get("SLIPWAY_BENCH_NODES", "100"))
ROUNDS = int(os.environ.get("SLIPWAY_BENCH_ROUNDS", "5"))
LABELS = {"app": "bench-daemonset"}
DAEMONSET = {
    "metadata": {"name": "bench"},
    "spec": {"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, "spec": {
        "containers": [{"name": "app", "image": "bench:1", "resources": {
            "requests": {"memory": "16Mi"}, "limits": {"memory": "16Mi"}}}]}}}}


def running(cluster, selector):
    """Nodes on which such a pod runs."""
    pods, _ = cluster.api.list("/api/v1/pods", labelSelector=selector,
                               fieldSelector="status.phase=Running")
    return {pod["spec"]["nodeName"] for pod in pods}


def cover(cluster, selector, begin, others=()):
    """Seconds until a pod runs on the first node, on half of them, and on all; and what that takes of the processors
    for one node, in ms: Kubernetes with its hollow nodes, and the others."""
    marks = [1, NODES // 2, NODES]
    took = []
    parts = [process.pid for process in cluster.processes.values()] + list(others)
    before = cpu_seconds(parts)
    began = time.monotonic()
    begin()
    for mark in marks:
        wait_for(lambda: len(running(cluster, selector)) >= mark, f"{mark} nodes are covered")  # noqa: B023
        took.append(time.monotonic() - began)
    return [*took, (cpu_seconds(parts) - before) / NODES * 1000]


def daemonset_round(cluster):
    path = "/apis/apps/v1/namespaces/default/daemonsets"
    took = cover(cluster, "app=bench-daemonset", lambda: cluster.api.post(path, DAEMONSET))
    cluster.kubectl("delete", "daemonset", "bench", "--wait=false")
    wait_for(lambda: not running(cluster, "app=bench-daemonset"), "its pods are gone")
    return took


def api_client(server):
    """Of slipway's own API; it keeps its connection, as that to Kubernetes is kept."""
    folder = os.path.join(server.folder, "models/slipway/2026-11-17")
    os.makedirs(folder)
    shutil.copy(os.path.join(SOURCE, "api/slipway.json"), os.path.join(folder, "service-2.json"))
    session = botocore.session.Session()
    session.set_config_variable("data_path", os.path.join(server.folder, "models"))
    return session.create_client("slipway", endpoint_url=server.url, region_name="us-east-1",
                                 aws_access_key_id=server.key["accessKeyId"],
                                 aws_secret_access_key=server.key["secretAccessKey"])


class Environments:
    def __init__(self, cluster, server):
        self.cluster, self.server, self.count = cluster, server, 0
        self.api = api_client(server)

    def command(self, *words):
        subprocess.run([PROGRAM, "env", *words, "--server", self.server.url,
                        "--state", self.server.state], check=True, capture_output=True)

    def round(self):
        self.count += 1
        name = f"bench-{self.count}"
        self.server.call("RegisterTaskDefinition", family=name, networkMode="host",
                         containerDefinitions=[{"name": "app", "image": "bench:1", "memory": 16}])
        self.command("create", name, "--cluster", "default", "--task-definition", f"{name}:1")
        selector = "app.kubernetes.io/managed-by=slipway"
        version = self.api.get_environment(name=name)["latestVersion"]
        took = cover(self.cluster, selector, lambda: self.api.start_deployment(
            name=name, environmentVersion=version), [self.server.process.pid])
        wait_for(lambda: b"completed" in subprocess.run(
            [PROGRAM, "env", "history", name, "--server", self.server.url, "--state",
             self.server.state], check=True, capture_output=True).stdout, "it is completed")
        self.command("delete", name, "--terminate-tasks")
        wait_for(lambda: not running(self.cluster, selector), "its pods are gone")
        return took


def summarize(rounds):
    return [f"{statistics.median(times):.2f}" for times in zip(*rounds)]


def main():
    stamp()
    with Cluster() as cluster:
        cluster.up(hollow=NODES)
        wait_for(lambda: len(cluster.api.list("/api/v1/nodes")[0]) == NODES, "all nodes are there")
        with Server("--runtime", "kubernetes", "--kubeconfig",
                    cluster.credentials.path("admin.kubeconfig")) as server:
            wait_for(lambda: str(NODES).encode() in server.call("DescribeClusters"),
                     "slipway knows the nodes")
            environments = Environments(cluster, server)
            ours, theirs, cpu = [], [], 0
            for _ in range(ROUNDS):
                theirs.append(daemonset_round(cluster))
                before = cpu_seconds([server.process.pid])
                ours.append(environments.round())
                cpu += cpu_seconds([server.process.pid]) - before
    table([[f"seconds until a pod runs on, of {NODES} nodes", "the first", "half", "all", "CPU ms a node"],
           ["slipway environment", *summarize(ours)], ["DaemonSet", *summarize(theirs)]])
    ratio = statistics.median(one[2] for one in ours) / statistics.median(one[2] for one in theirs)
    turns = " ".join(f"{one[2] / other[2]:.2f}" for one, other in zip(ours, theirs))
    print(f"all nodes: {ratio:.2f} of the DaemonSet's time (target: not slower: "
          f"{'met' if ratio <= 1 else 'missed'}; in each turn {turns}); slipway itself, until its pods are gone again: "
          f"{cpu / ROUNDS / NODES * 1e6:.0f} us of CPU a node")
    print(f"\nload after: {' '.join(f'{value:.2f}' for value in os.getloadavg())}")


if __name__ == "__main__":
    main()
