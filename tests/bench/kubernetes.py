#!/usr/bin/python3
"""ECS kept true from Kubernetes: how long a change of a pod takes to be seen by DescribeTasks, what an event costs,
how much memory pods take, and how long the first look takes. The API server and its etcd are real; pods are made and
changed straight on it, as kubelets would. The baseline of each lag is a bare watch that gets the same events in the
same run: what the API server itself needs."""
import concurrent.futures
import http.client
import json
import os
import re
import sys
import time
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "parts"))
sys.path.insert(0, os.path.join(HERE, "../kubernetes"))
import kubernetes_lag  # noqa: E402
from bench import Server, cpu_seconds, resident_megabytes, stamp, table  # noqa: E402
from cluster import Cluster  # noqa: E402
from kubernetes_pods import MAKERS, Pods, wait_for  # noqa: E402

FEW = 200
PODS = int(os.environ.get("SLIPWAY_BENCH_PODS", "2000"))
MANY = int(os.environ.get("SLIPWAY_BENCH_MANY_PODS", "10000"))
SECONDS = 8
RATES = (50, 200, None)
SETTLE_SECONDS = 8  # until what a start took is given back
TARGET_LAG_MS, TARGET_MEGABYTES, TARGET_SYNC_SECONDS = 50, 4, 2


def start(cluster, state=None):
    server = Server("--runtime", "kubernetes", "--kubeconfig",
                    cluster.credentials.path("admin.kubeconfig"), state=state)

    def is_ready():
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(server.url).netloc)
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200

    wait_for(is_ready, "slipway is ready")
    return server


def tasks(server, status="running"):
    return json.loads(server.call("DescribeClusters"))["clusters"][0][f"{status}TasksCount"]


def metric(server, name):
    with urllib.request.urlopen(server.url + "/metrics") as answer:
        text = answer.read().decode()
    return float(re.search(rf"^slipway_{re.escape(name)} (\S+)$", text, re.MULTILINE).group(1))


def peak_megabytes(server):
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        return int(re.search(r"^VmHWM:\s+(\d+) kB", file.read(), re.MULTILINE).group(1)) / 1000


def against(value, target, unit):
    return [f"{target} {unit}: {'met' if value <= target else 'missed'}", f"{value / target:.2f}"]


def lag_rows(pods, server):
    for rate in RATES:
        lag = kubernetes_lag.measure(pods, server, pods.names[:FEW], rate, SECONDS)
        p99 = kubernetes_lag.percentile(lag.ecs, 0.99)
        yield [f"lag in ms at {rate or 'all possible'} changes/s ({lag.rate:.0f}/s made)",
               lag.summarize(lag.ecs), f"bare watch: {lag.summarize(lag.watch)}",
               *against(p99, TARGET_LAG_MS, "ms at 99 %")]
        yield ["  from the bare watch to ECS", lag.summarize(lag.own),
               f"polled each {lag.summarize(lag.grain)}", "", ""]


def flood_rows(pods, server):
    """As many changes as the API server takes, without anybody looking; then until ECS has the last."""
    last = {}
    before = cpu_seconds([server.process.pid])
    began = time.monotonic()

    def work(names):
        count = 0
        while time.monotonic() < began + SECONDS:
            name = names[count % len(names)]
            last[name] = pods.new_address()
            pods.set_address(name, last[name])
            count += 1
        return count

    with concurrent.futures.ThreadPoolExecutor(MAKERS) as pool:
        changed = sum(pool.map(work, [pods.names[i:FEW:MAKERS] for i in range(MAKERS)]))
    made = time.monotonic()
    for name, address in last.items():
        wait_for(lambda: address.encode() in server.call(  # noqa: B023
            "DescribeTasks", tasks=[pods.tokens[name]]), f"{name} has its last address")  # noqa: B023
    rest = time.monotonic() - made
    cost = (cpu_seconds([server.process.pid]) - before) / changed * 1e6
    return [["CPU time of an event, µs, without readers", f"{cost:.0f}",
             f"{changed / (made - began):.0f}/s, all reported {rest:.2f} s after the last", "", ""]]


def settled_megabytes(server):
    time.sleep(SETTLE_SECONDS)
    return resident_megabytes(server.process.pid)


class Run:
    """One cluster, and one slipway after another on the same state."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.server = start(cluster)
        self.servers = [self.server]
        self.pods = Pods(cluster, self.server)

    def restart(self, between=lambda: None):
        """Seconds until it was ready."""
        self.server.stop(keep=True)
        between()
        began = time.monotonic()
        self.server = start(self.cluster, self.servers[0].state)
        self.servers.append(self.server)
        return time.monotonic() - began

    def sync_rows(self):
        """A start beside pods that were made while it was away."""
        self.restart()
        few = settled_megabytes(self.server)
        ready = self.restart(lambda: self.pods.make(PODS - FEW))
        began = time.monotonic() - ready
        wait_for(lambda: tasks(self.server) == PODS, f"{PODS} tasks run")
        took = time.monotonic() - began
        yield [f"from start until {PODS} pods are reported, {PODS - FEW} of them new, s", f"{took:.2f}",
               f"ready after {ready:.2f}", *against(took, TARGET_SYNC_SECONDS, "s")]
        feed = metric(self.server, "store_feed_bytes") / 1e6
        live = settled_megabytes(self.server)
        ready = self.restart()
        yield [f"from start to ready, {PODS} known pods, s", f"{ready:.2f}", "",
               *against(ready, TARGET_SYNC_SECONDS, "s")]
        each = (settled_megabytes(self.server) - few) / (PODS - FEW) * 1000
        kept = metric(self.server, 'kubernetes_object_bytes{resource="pods"}') / PODS / 1000
        yield [f"memory of 1,000 pods, MB, from {FEW} to {PODS}, after a start", f"{each:.2f}",
               f"of that kept of the pods: {kept:.2f}", *against(each, TARGET_MEGABYTES, "MB")]
        yield ["memory before that start, MB", f"{live:.0f}",
               f"of that changes kept for followers: {feed:.0f}, at most 67", "", ""]

    def many_rows(self):
        before = resident_megabytes(self.server.process.pid)
        began = time.monotonic()
        self.pods.make(MANY - PODS, running=False)
        made = time.monotonic() - began
        wait_for(lambda: tasks(self.server) + tasks(self.server, "pending") == MANY,
                 f"{MANY} tasks are known")
        rest = time.monotonic() - began - made
        now = settled_megabytes(self.server)
        feed = metric(self.server, "store_feed_bytes") / 1e6
        most = peak_megabytes(self.server)
        ready = self.restart()
        again = settled_megabytes(self.server)
        each = (again - before) / (MANY - PODS) * 1000
        yield [f"memory of 1,000 pods, MB, from {PODS} to {MANY}, after a start", f"{each:.2f}", "",
               *against(each, TARGET_MEGABYTES, "MB")]
        yield [f"memory with {MANY} pods, MB", f"{now:.0f}, at most {most:.0f}; after a start {again:.0f}",
               f"with {PODS}: {before:.0f}; changes kept for followers: {feed:.0f}", "", ""]
        yield [f"from start to ready, {MANY} known pods, s", f"{ready:.2f}", "", "", ""]
        yield [f"{MANY - PODS} more pods, as fast as the API server makes them",
               f"{(MANY - PODS) / made:.0f}/s", f"all reported {rest:.2f} s after the last", "", ""]

    def close(self):
        for server in self.servers:
            server.__exit__()


def main():
    stamp()
    rows = [["what", "slipway", "baseline", "target", "of the target"]]
    with Cluster() as cluster:
        cluster.up(parts=("etcd", "api"),
                   api_flags=["--disable-admission-plugins=ServiceAccount"])
        run = Run(cluster)
        try:
            run.pods.make(FEW)
            wait_for(lambda: tasks(run.server) == FEW, f"{FEW} tasks run")
            rows += lag_rows(run.pods, run.server)
            rows += flood_rows(run.pods, run.server)
            rows += run.sync_rows()
            rows += run.many_rows()
        finally:
            run.close()
    table(rows)
    print(f"load after: {' '.join(f'{value:.2f}' for value in os.getloadavg())}", flush=True)


main()
