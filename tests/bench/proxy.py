#!/usr/bin/python3
"""TCP and UDP through slipway's L4 engine beside HAProxy, nginx and nothing, from one run.

Each proxy has one worker on a processor of its own; clients and backends share the other. What a
request, a gigabyte or a datagram costs the proxy in CPU time says more on a busy machine than rates do.
nginx needs its stream module (libnginx-mod-stream); SLIPWAY_NGINX_STREAM may name the file.
"""
import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "parts"))
from bench import PROGRAM, SECONDS, cpu_seconds, resident_megabytes, stamp, table  # noqa: E402

TRAFFIC = os.environ.get("SLIPWAY_PROXY_TRAFFIC") or os.path.join(
    os.path.dirname(PROGRAM), "tests/bench/proxy_traffic")
STREAM = os.environ.get("SLIPWAY_NGINX_STREAM") or "/usr/lib/nginx/modules/ngx_stream_module.so"
CONNECTIONS = 64
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
HELD = min(10000, (FILES - 2000) // 2)  # each takes two descriptors of the proxy
FLIPS = 20
WINDOW = 64
CLIENTS, PROXIES = ({0}, {1}) if os.cpu_count() > 1 else ({0}, {0})


def on(processors):
    return lambda: os.sched_setaffinity(0, processors)


def start(*command, processors=CLIENTS):
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            preexec_fn=on(processors))


def end(process):
    process.stdin.close()
    process.terminate()
    process.wait(60)
    process.stdout.close()


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [int(child) for child in file.read().split()]


def wait_for(port):
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
            return
        time.sleep(0.01)
    sys.exit(f"nobody listens on port {port}")


class Backends:
    """Two web servers (one nginx), a source of bytes, an echo of datagrams, and two letters."""

    def __init__(self, folder):
        self.web = [free_port(), free_port()]
        config = os.path.join(folder, "web.conf")
        user = "user root;" if os.geteuid() == 0 else ""
        servers = "".join(
            f"server {{ listen 127.0.0.1:{port}; location / {{ return 200 '{'x' * 100}'; }} }}\n"
            for port in self.web)
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"""{user} daemon off; worker_processes 1; pid {folder}/web.pid;
                error_log {folder}/web.log; worker_rlimit_nofile 20000;
                events {{ worker_connections 8192; }}
                http {{ access_log off; keepalive_requests 1000000000;
                client_body_temp_path {folder}/w1; proxy_temp_path {folder}/w2;
                fastcgi_temp_path {folder}/w3; uwsgi_temp_path {folder}/w4;
                scgi_temp_path {folder}/w5; {servers} }}""")
        self.processes = [start("nginx", "-c", config)]
        self.bulk = self.serve("bulk")
        self.udp = self.serve("udp")
        self.letters = [self.serve("A"), self.serve("B")]
        wait_for(self.web[0])

    def serve(self, what):
        process = start(TRAFFIC, "serve", what)
        self.processes.append(process)
        return int(process.stdout.readline().split()[1])

    def stop(self):
        for process in self.processes:
            end(process)


class Direct:
    name = "direct"

    def __init__(self, backends, _folder):
        self.web, self.bulk, self.udp = backends.web[0], backends.bulk, backends.udp
        self.letters = None

    def workers(self):
        return []

    def stop(self):
        pass


class Slipway:
    name = "slipway l4"

    def __init__(self, backends, _folder):
        self.process = start(TRAFFIC, "plane",
                             f"web=tcp:{backends.web[0]},{backends.web[1]}",
                             f"bulk=tcp:{backends.bulk}", f"udp=udp:{backends.udp}",
                             f"letters=tcp:{backends.letters[0]},{backends.letters[1]}",
                             processors=PROXIES)
        told = dict(part.split("=") for part in self.process.stdout.readline().split())
        self.web, self.bulk, self.udp, self.letters, self.worker = (
            int(told[name]) for name in ("web", "bulk", "udp", "letters", "worker"))

    def workers(self):
        return [self.worker]

    def set_weights(self, first, second):
        self.process.stdin.write(f"letters {first} {second}\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def stop(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


class Nginx:
    name = "nginx stream"

    def __init__(self, backends, folder):
        self.folder, self.backends = folder, backends
        self.web, self.bulk, self.letters = free_port(), free_port(), free_port()
        self.udp = free_port(socket.SOCK_DGRAM)
        self.write(90, 10)
        self.process = start("nginx", "-c", f"{folder}/stream.conf", processors=PROXIES)
        wait_for(self.web)

    def write(self, first, second):
        user = "user root;" if os.geteuid() == 0 else ""

        def upstream(name, ports, weights):
            servers = " ".join(
                f"server 127.0.0.1:{port}" + (f" weight={weight};" if weight else " down;")
                for port, weight in zip(ports, weights))
            return f"upstream {name} {{ zone {name} 64k; {servers} }}\n"

        with open(f"{self.folder}/stream.conf", "w", encoding="utf-8") as file:
            file.write(f"""load_module {STREAM}; {user} daemon off; worker_processes 1;
                pid {self.folder}/stream.pid; error_log {self.folder}/stream.log;
                worker_rlimit_nofile {FILES}; events {{ worker_connections {FILES - 100}; }}
                stream {{
                {upstream("web", self.backends.web, (90, 10))}
                {upstream("bulk", [self.backends.bulk], (1,))}
                {upstream("udp", [self.backends.udp], (1,))}
                {upstream("letters", self.backends.letters, (first, second))}
                server {{ listen 127.0.0.1:{self.web}; proxy_pass web; }}
                server {{ listen 127.0.0.1:{self.bulk}; proxy_pass bulk; }}
                server {{ listen 127.0.0.1:{self.udp} udp; proxy_pass udp; proxy_timeout 10s; }}
                server {{ listen 127.0.0.1:{self.letters}; proxy_pass letters; }} }}""")

    def workers(self):
        return children(self.process.pid)

    def set_weights(self, first, second):
        self.write(first, second)
        self.process.send_signal(signal.SIGHUP)

    def stop(self):
        end(self.process)


class Haproxy:
    name = "haproxy tcp"
    udp = None

    def __init__(self, backends, folder):
        self.socket = f"{folder}/haproxy.sock"
        self.web, self.bulk, self.letters = free_port(), free_port(), free_port()

        def listen(name, port, ports, extra=""):
            servers = "\n".join(f" server s{i} 127.0.0.1:{target} weight {weight}"
                                for i, (target, weight) in enumerate(zip(ports, (90, 10))))
            return f"listen {name}\n bind 127.0.0.1:{port}\n mode tcp\n{extra}{servers}\n"

        with open(f"{folder}/haproxy.cfg", "w", encoding="utf-8") as file:
            file.write(f"global\n nbthread 1\n maxconn {HELD + 100}\n maxpipes 64\n stats socket {self.socket} "
                       "level admin\ndefaults\n timeout connect 5s\n timeout client 1h\n"
                       " timeout server 1h\n" +
                       listen("web", self.web, backends.web) +
                       listen("bulk", self.bulk, [backends.bulk], " option splice-auto\n") +
                       listen("letters", self.letters, backends.letters))
        self.process = start("haproxy", "-q", "-db", "-f", f"{folder}/haproxy.cfg",
                             processors=PROXIES)
        wait_for(self.web)

    def workers(self):
        return [self.process.pid]

    def set_weights(self, first, second):
        for name, weight in (("s0", first), ("s1", second)):
            with socket.socket(socket.AF_UNIX) as admin:
                admin.connect(self.socket)
                admin.sendall(f"set weight letters/{name} {weight}\n".encode())
                admin.recv(1000)

    def stop(self):
        end(self.process)


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, preexec_fn=on(CLIENTS))
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def measured(proxy, function):
    """What the function returns, and the CPU seconds of the proxy meanwhile."""
    workers = proxy.workers()
    before = cpu_seconds(workers)
    result = function()
    return result, cpu_seconds(workers) - before


def requests(proxy):
    def wrk():
        return run("wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "--latency",
                   f"http://127.0.0.1:{proxy.web}/")
    text, cpu = measured(proxy, wrk)
    if "Non-2xx" in text or "Socket errors" in text:
        sys.exit(f"{proxy.name}: {text}")
    total = int(re.search(r"(\d+) requests in", text).group(1))
    rate = float(re.search(r"Requests/sec:\s+([0-9.]+)", text).group(1))
    return f"{rate:,.0f}", re.search(r"99%\s+(\S+)", text).group(1), f"{cpu / total * 1e6:.1f}"


def bulk(proxy):
    text, cpu = measured(proxy, lambda: run(TRAFFIC, "bulk", str(proxy.bulk), str(SECONDS)))
    rate, total = (float(word) for word in text.split())
    return f"{rate * 8 / 1e9:.2f}", f"{cpu * 1e3 / (total / 1e9):.0f}"


def datagrams(proxy):
    if not proxy.udp:
        return "-", "-", "-"
    text, cpu = measured(proxy, lambda: run(TRAFFIC, "udp", str(proxy.udp), str(SECONDS),
                                            str(WINDOW)))
    rate, lost, answered = (float(word) for word in text.split())
    return f"{rate:,.0f}", f"{lost:.0f}", f"{cpu / max(answered, 1) * 1e6:.1f}"


def letter(port):
    with socket.create_connection(("127.0.0.1", port), 30) as client:
        return client.recv(1)


def weight_change(proxy):
    """Until a new connection first shows the new weights, and until none shows the old ones."""
    if not proxy.letters:
        return "-", "-"
    firsts, lasts = [], []
    for flip in range(FLIPS):
        new = b"B" if flip % 2 == 0 else b"A"
        began = time.perf_counter()
        proxy.set_weights(*((0, 100) if new == b"B" else (100, 0)))
        first = last = None
        in_a_row = 0
        while in_a_row < 20 or time.perf_counter() - began < 0.3:
            seen = letter(proxy.letters)
            at = time.perf_counter() - began
            if seen == new:
                first = first or at
                last = last or at
                in_a_row += 1
            else:
                last = None
                in_a_row = 0
        firsts.append(first)
        lasts.append(last)
    return (f"{sorted(firsts)[FLIPS // 2] * 1e3:.2f} ms", f"{sorted(lasts)[FLIPS // 2] * 1e3:.2f} ms")


def memory(proxy):
    if not proxy.letters:
        return ("-",)
    holder = start(TRAFFIC, "hold", str(proxy.letters), str(HELD))
    held = holder.stdout.readline().strip() == "held"
    grown = sum(resident_megabytes(pid) for pid in proxy.workers())
    end(holder)
    return (f"{grown:.0f} MB" if held else "failed",)


def main():
    stamp()
    contenders = [Direct, Slipway, Haproxy]
    if os.path.exists(STREAM):
        contenders.insert(2, Nginx)
    else:
        print(f"without nginx stream: there is no {STREAM}\n")
    folder = tempfile.mkdtemp(prefix="slipway-bench-")
    os.chmod(folder, 0o755)
    backends = Backends(folder)
    rows = [("", "requests/s", "99 %", "us/request", "bulk Gb/s", "ms/GB", "datagrams/s", "lost",
             "us/datagram", "change seen", "change done", f"with {HELD} open")]
    try:
        for kind in contenders:
            proxy = kind(backends, folder)
            try:
                rows.append((proxy.name, *requests(proxy), *bulk(proxy), *datagrams(proxy),
                             *weight_change(proxy), *memory(proxy)))
            finally:
                proxy.stop()
    finally:
        backends.stop()
        shutil.rmtree(folder, ignore_errors=True)
    table(rows)
    print("us and ms: CPU time of the proxy. aims: level with nginx stream, 1.3 times its bulk, a "
          "weight change\nunder 1 ms")


main()
