#!/usr/bin/python3
"""Signed reads beside nginx serving a static file of the same size.

The target is per core: at least half of nginx's requests per second of CPU time. wrk sends the same
signed request again and again; slipway verifies the signature, authorises, validates and answers
each of them.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "parts"))
from bench import Server, container, cpu_seconds, nginx, run_wrk, stamp, table  # noqa: E402

CONNECTIONS = 32


def measure(url, pids, requests=None):
    run_wrk(url, CONNECTIONS, seconds=1, requests=requests)  # warm
    before = cpu_seconds(pids)
    rate, latency, total = run_wrk(url, CONNECTIONS, requests=requests)
    return rate, latency, total / (cpu_seconds(pids) - before)


def main():
    stamp()
    rows = [("", "bytes", "requests/s", "99 %", "requests/CPU s", "of nginx")]
    with Server() as server:
        server.call("RegisterTaskDefinition", family="web", containerDefinitions=[container(1)])
        for number in range(10):
            server.call("CreateCluster", clusterName=f"cluster-{number}")
        for operation, members in (("DescribeTaskDefinition", {"taskDefinition": "web"}),
                                   ("ListClusters", {})):
            size = len(server.call(operation, **members))
            ours = measure(server.url, [server.process.pid], [server.sign(operation, **members)])
            with nginx(size) as (url, workers):
                theirs = measure(url, workers)
            rows.append((f"slipway {operation}", size, f"{ours[0]:,.0f}", ours[1],
                         f"{ours[2]:,.0f}", f"{ours[2] / theirs[2]:.2f}"))
            rows.append(("nginx static file", size, f"{theirs[0]:,.0f}", theirs[1],
                         f"{theirs[2]:,.0f}", "1.00"))
    table(rows)
    print("target: 0.50 of nginx's requests per second of CPU time")


main()
