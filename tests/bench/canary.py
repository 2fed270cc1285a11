#!/usr/bin/python3
"""Many canary releases at once (scenario 55): how long an edit of a weight takes to its effect, and what the proxies use without traffic.

Etcd and API server are real; each CanaryRelease has a proxy as a process, with four TCP ports and one port for HTTP (with
HAProxy in some). The script plays the controller and the kubelet; pods are two backends that answer with their letter. An
edit goes from 0 to 100 percent or back, at one CanaryRelease at a time: the time from the request to the API server until a
new connection, or a request on an open one, has the answer of the other side. Beside it nginx, whose configuration is
written and reloaded for each edit, as Rudder does.

SLIPWAY_BENCH_CANARIES (200), SLIPWAY_BENCH_HAPROXIES (20), SLIPWAY_BENCH_EDITS (500), SLIPWAY_BENCH_SECONDS (20, idle)."""
import contextlib
import http.client
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
for folder in ("parts", "../kubernetes", "..", "../scenario"):
    sys.path.insert(0, os.path.join(HERE, folder))
from bench import cpu_seconds, stamp, table  # noqa: E402
from canary import SLICES, Backend, Proxy, ask, install, namespace, path  # noqa: E402
from cluster import Cluster  # noqa: E402

CANARIES = int(os.environ.get("SLIPWAY_BENCH_CANARIES", "200"))
HAPROXIES = int(os.environ.get("SLIPWAY_BENCH_HAPROXIES", "20"))
EDITS = int(os.environ.get("SLIPWAY_BENCH_EDITS", "500"))
SECONDS = float(os.environ.get("SLIPWAY_BENCH_SECONDS", "20"))
TARGET_MS, TARGET_IDLE = 100, 1
SPACE = "bench"
TCP, HTTP = range(9000, 9004), 9004
FIRST = 8080  # where proxies listen, in the order of the ports
LETTERS = {0: "A", 100: "B"}


def children_of(pid):
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
            for child in map(int, file.read().split()):
                found += [child, *children_of(child)]
    return found


class Canary:
    """One CanaryRelease and its proxy."""

    def __init__(self, cluster, number, folder, backends):
        self.api = cluster.api
        self.name = f"c{number}-abcde"
        self.service = f"c{number}"
        self.uses_haproxy = number < HAPROXIES
        self.weight = 0
        self.api.post(path("canaryreleases", SPACE), {
            "apiVersion": "slipway.dev/v1alpha1", "kind": "CanaryRelease", "metadata": {"name": self.name},
            "spec": {"release": "web", "version": 1, "services": self.services(0)}})
        self.api.patch(path("canaryreleases", SPACE, self.name, "/status"), {"status": {"step": "C8", "services": [
            {"service": self.service, "ports": [
                {"port": port, "transport": "TCP", "name": f"p{port}", "proxyPort": FIRST + index, "targetPort": port}
                for index, port in enumerate([*TCP, HTTP])]}]}})
        for copy, backend in zip(("forked", "canary"), backends):
            self.api.post(f"{SLICES}/namespaces/{SPACE}/endpointslices", {
                "metadata": {"name": f"{self.service}-{copy}",
                             "labels": {"kubernetes.io/service-name": f"{self.service}-{copy}"}},
                "addressType": "IPv4",
                "ports": [{"name": f"p{port}", "protocol": "TCP", "port": backend.port} for port in [*TCP, HTTP]],
                "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}]})
        arguments = ["--haproxy-folder", os.path.join(folder, self.name)] if self.uses_haproxy else []
        self.proxy = Proxy(cluster, SPACE, self.name, "one", *arguments)
        self.client = None

    def services(self, weight):
        return [{"service": self.service, "ports": [
            *({"port": port, "config": {"weight": weight}} for port in TCP),
            {"port": HTTP, "protocol": "HTTP", "config": {"weight": weight}}]}]

    def letter(self):
        """Of a new connection, or of a request on the open one."""
        if not self.uses_haproxy:
            return ask(self.proxy.address, FIRST)
        if not self.client:
            self.client = http.client.HTTPConnection(self.proxy.address, FIRST + len(TCP), timeout=60)
        self.client.request("GET", "/")
        return self.client.getresponse().read().decode()

    def edit(self):
        """Milliseconds to the effect of another weight."""
        self.weight = 100 - self.weight
        self.letter()
        began = time.monotonic()
        self.api.patch(path("canaryreleases", SPACE, self.name), {"spec": {"services": self.services(self.weight)}})
        while self.letter() != LETTERS[self.weight]:
            pass
        return (time.monotonic() - began) * 1000


class Nginx:
    """One canary's five ports; another weight is another configuration."""

    def __init__(self, folder, backends):
        self.folder, self.backends = folder, backends
        self.weight = 0
        self.address = "127.19.0.1"
        self.write()
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([shutil.which("nginx") or "/usr/sbin/nginx", "-c", f"{folder}/nginx.conf"], stderr=subprocess.DEVNULL)
        while self.try_letter() != "A":
            time.sleep(0.01)

    def write(self):
        port = self.backends[self.weight // 100].port
        servers = "".join(f"server {{ listen {self.address}:{FIRST + index}; location / {{ proxy_pass http://pods; }} }}\n"
                          for index in range(len(TCP) + 1))
        with open(f"{self.folder}/nginx.conf", "w", encoding="utf-8") as file:
            file.write(f"daemon off; worker_processes 1; pid {self.folder}/nginx.pid; error_log {self.folder}/error.log;\n"
                       "events {}\nhttp { access_log off;\n"
                       f"upstream pods {{ server 127.0.0.1:{port}; }}\n{servers} }}\n")

    def try_letter(self):
        client = http.client.HTTPConnection(self.address, FIRST, timeout=60)
        try:
            client.request("GET", "/")
            return client.getresponse().read().decode()
        except (OSError, http.client.HTTPException):
            return ""
        finally:
            client.close()

    def edit(self):
        self.weight = 100 - self.weight
        began = time.monotonic()
        self.write()
        self.process.send_signal(signal.SIGHUP)
        # Old and new workers answer side by side for a while: in effect means five in a row.
        run = 0
        while run < 5:
            run = run + 1 if self.try_letter() == LETTERS[self.weight] else 0
        return (time.monotonic() - began) * 1000

    def stop(self):
        self.process.terminate()
        self.process.wait()


def row(name, took):
    took = sorted(took)
    return [name, len(took), *(f"{took[min(len(took) - 1, int(len(took) * part))]:.1f}" for part in (0.5, 0.99, 1))]


def idle_percent(pids):
    before, began = cpu_seconds(pids), time.monotonic()
    time.sleep(SECONDS)
    return (cpu_seconds(pids) - before) / (time.monotonic() - began) * 100


def main():
    with contextlib.ExitStack() as opened:
        # HAProxy has no root's rights and must reach its folder.
        folder = opened.enter_context(tempfile.TemporaryDirectory(dir="/run" if os.geteuid() == 0 else None))
        os.chmod(folder, 0o711)
        cluster = opened.enter_context(Cluster())
        cluster.up(parts=("etcd", "api"))
        install(cluster)
        namespace(cluster, SPACE)
        backends = [opened.enter_context(Backend(letter)) for letter in "AB"]
        canaries = [Canary(cluster, number, folder, backends) for number in range(CANARIES)]
        for canary in canaries:
            opened.enter_context(canary.proxy)
        for canary in canaries:
            canary.proxy.wait_until_ready()
            while canary.letter() != "A":
                time.sleep(0.01)
        pids = [pid for canary in canaries for pid in (canary.proxy.process.pid, *children_of(canary.proxy.process.pid))]
        print(f"{CANARIES} CanaryReleases of {len(TCP) + 1} ports, HAProxy in {min(HAPROXIES, CANARIES)}: {len(pids)} "
              f"processes\n")
        took = {True: [], False: []}
        rounds = max(1, EDITS // CANARIES)
        for _ in range(rounds):
            for canary in canaries:
                took[canary.uses_haproxy].append(canary.edit())
        rows = [row("slipway, TCP: next connection", took[False])] if took[False] else []
        if took[True]:
            rows.append(row("slipway, HTTP: next request of an open connection", took[True]))
        if shutil.which("nginx"):
            nginx = Nginx(folder, backends)
            rows.append(row("nginx, reloaded (without an API server)", [nginx.edit() for _ in range(100)]))
            nginx.stop()
        table([["edit to effect, ms", "edits", "p50", "p99", "most"], *rows])
        worst = max(float(each[3]) for each in rows[:2])
        print(f"\ntarget: p99 under {TARGET_MS} ms: {'met' if worst < TARGET_MS else 'missed'} ({worst} ms)")
        percent = idle_percent(pids)
        print(f"without edits and traffic: {percent:.2f} % of a processor for all proxies; target under {TARGET_IDLE} %: "
              f"{'met' if percent < TARGET_IDLE else 'missed'}")
        stamp()


if __name__ == "__main__":
    main()
