"""Shared by benchmarks over the wire: a server, signed requests for wrk, CPU time, tables."""
import contextlib
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import botocore.auth
import botocore.awsrequest
import botocore.credentials

SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
PROGRAM = os.environ.get("SLIPWAY_BIN") or os.path.join(SOURCE, "build/slipway")
TARGET = "AmazonEC2ContainerServiceV20141113."
SECONDS = int(os.environ.get("SLIPWAY_BENCH_SECONDS", "5"))


def stamp():
    """When and how busy: a figure without it says little."""
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"{datetime.datetime.utcnow():%Y-%m-%d %H:%M} UTC, {os.cpu_count()} processors, "
          f"load before: {load}\n", flush=True)


def cpu_seconds(pids):
    """User and system time of processes with all their threads."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def resident_megabytes(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(re.search(r"^VmRSS:\s+(\d+) kB", file.read(), re.MULTILINE).group(1)) / 1000


class Server:
    """slipway in a folder of its own."""

    def __init__(self, *args, state=None):
        self.folder = tempfile.mkdtemp(prefix="slipway-bench-")
        self.state = state or os.path.join(self.folder, "state")
        self.output = os.path.join(self.folder, "output")
        began = time.monotonic()
        with open(self.output, "wb") as out:
            self.process = subprocess.Popen(
                [PROGRAM, "up", "--listen", "127.0.0.1:0", "--dns", "127.0.0.1:0",
                 "--state", self.state, *args],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        self.url = self.wait_for_address()
        self.start_seconds = time.monotonic() - began

    def wait_for_address(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with open(self.output, encoding="utf-8") as file:
                text = file.read()
            match = re.search(r"^slipway listens on (http\S+)$", text, re.MULTILINE)
            if match:
                return match.group(1)
            if self.process.poll() is not None:
                sys.exit(f"slipway did not start:\n{text}")
            time.sleep(0.001)
        return sys.exit("slipway did not start within 60 s")

    @property
    def key(self):
        with open(os.path.join(self.state, "admin-key.json"), encoding="utf-8") as file:
            return json.load(file)

    def sign(self, operation, **members):
        """A signed request as (headers, body); it may be sent again and again for five minutes, and
        is verified each time."""
        body = json.dumps(members)
        request = botocore.awsrequest.AWSRequest(
            method="POST", url=self.url + "/", data=body,
            headers={"X-Amz-Target": TARGET + operation,
                     "Content-Type": "application/x-amz-json-1.1"})
        key = self.key
        credentials = botocore.credentials.Credentials(key["accessKeyId"], key["secretAccessKey"])
        botocore.auth.SigV4Auth(credentials, "ecs", "us-east-1").add_auth(request)
        return dict(request.headers.items()), body

    def call(self, operation, **members):
        import urllib.request  # only here
        headers, body = self.sign(operation, **members)
        asked = urllib.request.Request(self.url + "/", body.encode(), headers)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return answer.read()

    def stop(self, keep=False):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def lua_text(text):
    return json.dumps(text)  # the same escapes, for the ASCII that we send


def wrk_script(requests):
    """A script for wrk that sends the given (headers, body) in turn."""
    lines = ["local requests = {}"]
    for headers, body in requests:
        names = ", ".join(f"[{lua_text(name)}] = {lua_text(value)}"
                          for name, value in headers.items())
        lines.append(f"requests[#requests + 1] = wrk.format('POST', '/', {{{names}}}, "
                     f"{lua_text(body)})")
    lines.append("local at = 0")
    lines.append("function request() at = at % #requests + 1; return requests[at] end")
    # Format needs wrk's own headers, which exist only after init.
    return ("function init()\n" + "\n".join(lines).replace("local requests", "requests")
            .replace("local at", "at")
            .replace("function request() at", "function next_request() at") +
            "\nend\nfunction request() return next_request() end\n")


def run_wrk(url, connections, seconds=SECONDS, requests=None, threads=1):
    """Requests answered per second and latency at 99 %; ends the program on errors."""
    command = ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "--latency"]
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        if requests:
            script.write(wrk_script(requests))
            script.flush()
            command += ["-s", script.name]
        done = subprocess.run(command + [url], capture_output=True, text=True, check=False)
    text = done.stdout
    rate = re.search(r"Requests/sec:\s+([0-9.]+)", text)
    if done.returncode or not rate or "Non-2xx" in text or "Socket errors" in text:
        sys.exit(f"wrk: {text}{done.stderr}")
    latency = re.search(r"^ *99%\s+(\S+)", text, re.MULTILINE).group(1)
    total = int(re.search(r"(\d+) requests in", text).group(1))
    return float(rate.group(1)), latency, total


@contextlib.contextmanager
def nginx(size):
    """nginx with one worker and a static file of that size at /file; gives (url, worker's pid)."""
    folder = tempfile.mkdtemp(prefix="slipway-nginx-")
    with open(os.path.join(folder, "file"), "wb") as file:
        file.write(b"x" * size)
    os.chmod(folder, 0o755)
    socket_ = __import__("socket").socket()
    socket_.bind(("127.0.0.1", 0))
    port = socket_.getsockname()[1]
    socket_.close()
    user = "user root;" if os.geteuid() == 0 else ""
    with open(os.path.join(folder, "nginx.conf"), "w", encoding="utf-8") as file:
        file.write(f"""{user} daemon off; worker_processes 1; pid {folder}/pid;
            error_log {folder}/error.log; events {{ worker_connections 1024; }}
            http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
            client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;
            fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
            server {{ listen 127.0.0.1:{port}; root {folder}; }} }}""")
    process = subprocess.Popen(["nginx", "-c", os.path.join(folder, "nginx.conf")],
                               stdin=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30
        children = []
        while not children and time.monotonic() < end:
            time.sleep(0.05)
            with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="utf-8") as file:
                children = [int(pid) for pid in file.read().split()]
        time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/file", children
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def table(rows):
    """Prints rows of texts in columns; the first row is the head."""
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))))
    print(flush=True)


def container(number):
    """A container definition of usual size."""
    return {"name": "app", "image": "registry.example/team/app:1.2.3", "memory": 256, "cpu": 128,
            "essential": True, "command": ["serve", "--port", "8080"],
            "portMappings": [{"containerPort": 8080, "protocol": "tcp"}],
            "environment": [{"name": f"VARIABLE_{i}", "value": f"value {number} {i}"}
                            for i in range(6)]}
