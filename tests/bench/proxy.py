#!/usr/bin/python3
"""Traffic through slipway's data plane beside nginx, HAProxy and nothing, from one run.

L4 (TCP and UDP): slipway's own engine, nginx's stream module, HAProxy in mode tcp. HTTP: slipway, which
drives HAProxy, nginx and HAProxy alone. Each proxy has one worker on a processor of its own; clients and
backends share the other. Samples are short, contenders take turns, and medians are shown, so that a busy
moment meets all alike. Samples during which others used the processors are taken again, as long as there is
patience: the last column of the table says how many were quiet. What a request, a gigabyte or a datagram costs
the proxy in CPU time says more on a busy machine than rates do. Beside the program of nginx its stream module is needed
(libnginx-mod-stream); SLIPWAY_NGINX_STREAM may name the file. SLIPWAY_BENCH_SECONDS is the time of all
samples of one kind together.
"""
import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import statistics
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
ROUNDS = max(1, SECONDS)  # samples of a second each
PATIENCE = 4  # times as many rounds, if others are busy
FOREIGN = 0.08  # of the processors' time: a sample is quiet if others use less
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
    sys.exit(f"port {port} refuses connections")


class Backends:
    """Two web servers (one nginx), a source of bytes, an echo of datagrams, and two letters."""

    def __init__(self, folder):
        self.web = [free_port(), free_port()]
        self.http_letters = [free_port(), free_port()]
        config = os.path.join(folder, "web.conf")
        user = "user root;" if os.geteuid() == 0 else ""
        servers = "".join(
            f"server {{ listen 127.0.0.1:{port}; location / {{ return 200 '{text}'; }} }}\n"
            for port, text in zip(self.web + self.http_letters, ("x" * 100, "x" * 100, "A", "B")))
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"""{user} daemon off; worker_processes 1; pid {folder}/web.pid;
                error_log {folder}/web.log; worker_rlimit_nofile 20000;
                events {{ worker_connections 16000; }}
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


NGINX_HTTP = """access_log off; keepalive_requests 1000000000; keepalive_timeout 1h;
                client_body_temp_path {0}/1; proxy_temp_path {0}/2; fastcgi_temp_path {0}/3;
                uwsgi_temp_path {0}/4; scgi_temp_path {0}/5; proxy_http_version 1.1;
                proxy_set_header Connection '';"""


class Direct:
    name = "direct"
    letters = None

    def __init__(self, backends, _folder):
        self.web, self.bulk, self.udp = backends.web[0], backends.bulk, backends.udp

    def workers(self):
        return []

    def stop(self):
        pass


class Slipway:
    """The data plane in a process of its own, without the server around it."""

    def __init__(self, folder, *listeners):
        self.process = start(TRAFFIC, "plane", tempfile.mkdtemp(dir=folder), *listeners,
                             processors=PROXIES)
        self.told = dict(part.split("=") for part in self.process.stdout.readline().split())
        self.web, self.letters = (int(self.told[name]) for name in ("web", "letters"))

    def set_weights(self, first, second):
        self.process.stdin.write(f"letters {first} {second}\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def stop(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


class SlipwayL4(Slipway):
    name = "slipway l4"

    def __init__(self, backends, folder):
        super().__init__(folder, f"web=tcp:{backends.web[0]},{backends.web[1]}",
                         f"bulk=tcp:{backends.bulk}", f"udp=udp:{backends.udp}",
                         f"letters=tcp:{backends.letters[0]},{backends.letters[1]}")
        self.bulk, self.udp = int(self.told["bulk"]), int(self.told["udp"])

    def workers(self):
        return [int(self.told["worker"])]


class SlipwayHttp(Slipway):
    name = "slipway http"

    def __init__(self, backends, folder):
        super().__init__(folder, f"web=http:{backends.web[0]},{backends.web[1]}",
                         "letters=http:" + ",".join(str(port) for port in backends.http_letters))

    def workers(self):
        return [int(self.told["haproxy"])]


class Nginx:
    def __init__(self, backends, folder):
        self.folder, self.backends = tempfile.mkdtemp(dir=folder), backends
        os.chmod(self.folder, 0o755)
        self.web, self.bulk, self.letters = free_port(), free_port(), free_port()
        self.udp = free_port(socket.SOCK_DGRAM)
        self.write(90, 10)
        self.process = start("nginx", "-c", f"{self.folder}/nginx.conf", processors=PROXIES)
        wait_for(self.web)

    @staticmethod
    def upstream(name, ports, weights, extra=""):
        servers = " ".join(
            f"server 127.0.0.1:{port}" + (f" weight={weight};" if weight else " down;")
            for port, weight in zip(ports, weights))
        return f"upstream {name} {{ zone {name} 64k; {servers} {extra} }}\n"

    def write(self, first, second):
        user = "user root;" if os.geteuid() == 0 else ""
        with open(f"{self.folder}/nginx.conf", "w", encoding="utf-8") as file:
            file.write(f"""{self.module()} {user} daemon off; worker_processes 1;
                pid {self.folder}/nginx.pid; error_log {self.folder}/nginx.log;
                worker_rlimit_nofile {FILES}; events {{ worker_connections {FILES - 100}; }}
                {self.body(first, second)}""")

    def workers(self):
        return children(self.process.pid)

    def set_weights(self, first, second):
        self.write(first, second)
        self.process.send_signal(signal.SIGHUP)

    def stop(self):
        end(self.process)


class NginxStream(Nginx):
    name = "nginx stream"

    @staticmethod
    def module():
        return f"load_module {STREAM};"

    def body(self, first, second):
        return f"""stream {{
            {self.upstream("web", self.backends.web, (90, 10))}
            {self.upstream("bulk", [self.backends.bulk], (1,))}
            {self.upstream("udp", [self.backends.udp], (1,))}
            {self.upstream("letters", self.backends.letters, (first, second))}
            server {{ listen 127.0.0.1:{self.web}; proxy_pass web; }}
            server {{ listen 127.0.0.1:{self.bulk}; proxy_pass bulk; }}
            server {{ listen 127.0.0.1:{self.udp} udp; proxy_pass udp; proxy_timeout 10s; }}
            server {{ listen 127.0.0.1:{self.letters}; proxy_pass letters; }} }}"""


class NginxHttp(Nginx):
    name = "nginx http"

    @staticmethod
    def module():
        return ""

    def body(self, first, second):
        keep = "keepalive 64;"
        return f"""http {{ {NGINX_HTTP.format(self.folder)}
            {self.upstream("web", self.backends.web, (90, 10), keep)}
            {self.upstream("letters", self.backends.http_letters, (first, second), keep)}
            server {{ listen 127.0.0.1:{self.web}; location / {{ proxy_pass http://web; }} }}
            server {{ listen 127.0.0.1:{self.letters};
                      location / {{ proxy_pass http://letters; }} }} }}"""


class Haproxy:
    mode, udp = "tcp", None
    name = "haproxy tcp"

    def __init__(self, backends, folder):
        folder = tempfile.mkdtemp(dir=folder)
        self.socket = f"{folder}/admin"
        self.web, self.bulk, self.letters = free_port(), free_port(), free_port()
        letters = backends.letters if self.mode == "tcp" else backends.http_letters

        def listen(name, port, ports, extra=""):
            servers = "\n".join(f" server s{i} 127.0.0.1:{target} weight {weight}"
                                for i, (target, weight) in enumerate(zip(ports, (90, 10))))
            return (f"listen {name}\n bind 127.0.0.1:{port}\n mode {self.mode}\n"
                    f"{extra}{servers}\n")

        bulk = listen("bulk", self.bulk, [backends.bulk], " option splice-auto\n")
        with open(f"{folder}/haproxy.cfg", "w", encoding="utf-8") as file:
            file.write(f"global\n nbthread 1\n maxconn {HELD + 100}\n maxpipes 64\n"
                       f" stats socket {self.socket} level admin\ndefaults\n"
                       " timeout connect 5s\n timeout client 1h\n timeout server 1h\n" +
                       listen("web", self.web, backends.web) +
                       (bulk if self.mode == "tcp" else "") +
                       listen("letters", self.letters, letters))
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


class HaproxyHttp(Haproxy):
    mode, name = "http", "haproxy http"


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, preexec_fn=on(CLIENTS))
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def measured(proxy, function):
    """The result of the function, and the CPU seconds of the proxy meanwhile."""
    workers = proxy.workers()
    before = cpu_seconds(workers)
    result = function()
    return result, cpu_seconds(workers) - before


def processor_seconds():
    """That all processors were busy, or taken from the machine."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, _idle, _waiting, *interrupts = map(int, file.readline().split()[1:9])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


class Others:
    """Watches what the processes use that are not ours."""

    def __init__(self, backends, proxies):
        self.backends, self.proxies = backends, proxies

    def ours(self):
        pids = {process.pid for process in self.backends.processes}
        for pid in list(pids):
            pids.update(children(pid))
        for proxy in self.proxies:
            pids.update(proxy.workers())
            # The other processes of a proxy sleep.
        return cpu_seconds(pids) + sum(os.times()[:4])

    def quiet(self, function, *arguments):
        """The result of the function, and whether it had the machine for itself."""
        began, before = time.monotonic(), processor_seconds() - self.ours()
        result = function(*arguments)
        used = processor_seconds() - self.ours() - before
        return result, used < FOREIGN * (time.monotonic() - began) * os.cpu_count()


class Samples:
    """The measurements of one contender, of one kind."""

    def __init__(self):
        self.quiet, self.all = [], []

    def take(self, others, function, proxy):
        if len(self.quiet) < ROUNDS:
            result, quiet = others.quiet(function, proxy)
            self.all.append(result)
            if quiet:
                self.quiet.append(result)

    @property
    def best(self):
        """Quiet ones; all if there are too few for a median."""
        return self.quiet if len(self.quiet) >= 3 else self.all


def milliseconds(text):
    """wrk's "123.00us", "1.20ms", "2.00s"."""
    number, unit = re.fullmatch(r"([0-9.]+)(\D+)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1, "s": 1e3, "m": 6e4}[unit]


def requests(proxy):
    """Requests per second, milliseconds at 99 %, microseconds of CPU per request."""
    def wrk():
        return run("wrk", "-t1", f"-c{CONNECTIONS}", "-d1s", "--latency",
                   f"http://127.0.0.1:{proxy.web}/")
    text, cpu = measured(proxy, wrk)
    if "Non-2xx" in text or "Socket errors" in text:
        sys.exit(f"{proxy.name}: {text}")
    total = int(re.search(r"(\d+) requests in", text).group(1))
    rate = float(re.search(r"Requests/sec:\s+([0-9.]+)", text).group(1))
    # At the beginning of a line: deviations are percentages, too.
    slowest = re.search(r"^ *99%\s+(\S+)", text, re.MULTILINE).group(1)
    return rate, milliseconds(slowest), cpu / total * 1e6


def bulk(proxy):
    """Gigabits per second, milliseconds of CPU per gigabyte."""
    text, cpu = measured(proxy, lambda: run(TRAFFIC, "bulk", str(proxy.bulk), "1"))
    rate, total = (float(word) for word in text.split())
    return rate * 8 / 1e9, cpu * 1e3 / (total / 1e9)


def datagrams(proxy):
    """Answers per second, how many are missing, microseconds of CPU per exchange."""
    if not proxy.udp:
        return None
    text, cpu = measured(proxy, lambda: run(TRAFFIC, "udp", str(proxy.udp), "1", str(WINDOW)))
    rate, lost, answered = (float(word) for word in text.split())
    return rate, lost, cpu / max(answered, 1) * 1e6


def letter(port, http):
    with socket.create_connection(("127.0.0.1", port), 30) as client:
        if not http:
            return client.recv(1)
        client.sendall(b"GET / HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
        answer = b""
        while part := client.recv(4096):
            answer += part
        return answer[-1:]


def weight_change(proxy, http):
    """How long the call takes, until a new connection first shows the new weights, and until none
    shows the old ones."""
    if not proxy.letters:
        return None
    calls, firsts, lasts = [], [], []
    for flip in range(FLIPS):
        new = b"B" if flip % 2 == 0 else b"A"
        began = time.perf_counter()
        proxy.set_weights(*((0, 100) if new == b"B" else (100, 0)))
        calls.append(time.perf_counter() - began)
        first = last = None
        in_a_row = 0
        while in_a_row < 20 or time.perf_counter() - began < 0.15:
            seen = letter(proxy.letters, http)
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
    return tuple(statistics.median(times) * 1e3 for times in (calls, firsts, lasts))


def memory(proxy, http):
    """Megabytes of the workers with so many connections open."""
    if not proxy.letters:
        return None
    holder = start(TRAFFIC, "hold", str(proxy.letters), str(HELD), "http" if http else "tcp")
    held = holder.stdout.readline().strip() == "held"
    megabytes = sum(resident_megabytes(pid) for pid in proxy.workers())
    end(holder)
    return (megabytes,) if held else None


def cells(samples, *formats):
    """Medians of what several samples gave, as text."""
    if not samples or None in samples:
        return ["-"] * len(formats)
    return [form.format(statistics.median(column))
            for form, column in zip(formats, zip(*samples))]


def sample(proxies, others, functions):
    """{proxy's name: [samples of each function]}"""
    sampled = {proxy.name: [Samples() for _ in functions] for proxy in proxies}
    for number in range(PATIENCE * ROUNDS):
        for proxy in proxies:
            for samples, function in zip(sampled[proxy.name], functions):
                samples.take(others, function, proxy)
        if number + 1 >= ROUNDS and all(len(samples.quiet) >= ROUNDS for row in sampled.values()
                                        for samples in row):
            break
    return sampled


def compare(kinds, backends, folder, http):
    proxies = []
    functions = {requests: ("{:,.0f}", "{:.2f}", "{:.1f}")}
    rows = [["", "requests/s", "99 % ms", "us/request"]]
    if not http:
        functions[bulk] = ("{:.2f}", "{:.0f}")
        functions[datagrams] = ("{:,.0f}", "{:.0f}", "{:.1f}")
        rows[0] += ["bulk Gb/s", "ms/GB", "datagrams/s", "lost", "us/datagram"]
    rows[0] += ["change call", "seen", "done ms", f"MB with {HELD}", "quiet"]
    try:
        for kind in kinds:
            proxies.append(kind(backends, folder))
        sampled = sample(proxies, Others(backends, proxies), functions)
        for proxy in proxies:
            row = [proxy.name]
            for samples, formats in zip(sampled[proxy.name], functions.values()):
                row += cells(samples.best, *formats)
            row += cells([weight_change(proxy, http)], "{:.2f}", "{:.2f}", "{:.2f}")
            row += cells([memory(proxy, http)], "{:.0f}")
            row.append("/".join(str(len(samples.quiet)) for samples in sampled[proxy.name]))
            rows.append(row)
    finally:
        for proxy in proxies:
            proxy.stop()
    table(rows)


def main():
    stamp()
    l4 = [Direct, SlipwayL4, NginxStream, Haproxy]
    if not os.path.exists(STREAM):
        l4.remove(NginxStream)
        print(f"without nginx stream: there is no {STREAM}\n")
    folder = tempfile.mkdtemp(prefix="slipway-bench-")
    os.chmod(folder, 0o755)
    backends = Backends(folder)
    try:
        compare(l4, backends, folder, False)
        print()
        compare([Direct, SlipwayHttp, NginxHttp, HaproxyHttp], backends, folder, True)
    finally:
        backends.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print("\nus and ms/GB: CPU time of the proxy. targets for L4: level with nginx stream, 1.3 times its "
          "bulk, and a\nweight change under 1 ms. slipway http is HAProxy with slipway's rules, exact "
          "weights and counting")


main()
