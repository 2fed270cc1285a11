"""A small web program for tests of traffic, which writes down what really happened to it.

    python3 traffic_program.py FOLDER PORT...

It answers every GET with its version and task on each of the ports, and appends to FOLDER/TASK a line for each
request and for the signal that ends it: seconds of the machine's clock, then what. /slow/N is answered after N
milliseconds, /until/NAME (written down as "held", too) as soon as there is FOLDER/NAME. Health checks (/health)
are answered with 200, or 500 while FOLDER/sick-TASK is there, and are not written down. Asked to end, it ends at
once: a later request is lost, and open ones as well, unless GRACEFUL is set. Version "broken" answers requests with 500. In a pod the task is the
pod's uid, which is in the mounts that every pod has.
"""
import http.server
import os
import re
import signal
import sys
import threading
import time


def task_of_pod():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return re.search(r"/pods/([-0-9a-f]{36})/", file.read()).group(1).replace("-", "")


FOLDER, PORTS = sys.argv[1], [int(port) for port in sys.argv[2:]]
TASK = os.environ.get("SLIPWAY_TASK") or task_of_pod()
VERSION = os.environ.get("VERSION", "")
GRACEFUL = "GRACEFUL" in os.environ
UNDER_WAY = set()  # requests that have no answer yet
LOG = os.open(os.path.join(FOLDER, TASK), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def note(what):
    os.write(LOG, f"{time.monotonic():.6f} {what}\n".encode())


def end(*_):
    note("ended")
    while GRACEFUL and UNDER_WAY:
        time.sleep(0.01)
    os._exit(0)


def take_time(path):
    kind, _, much = path[1:].partition("/")
    if kind == "slow":
        time.sleep(int(much) / 1000)
    elif kind == "until":
        note("held")
        while not os.path.exists(os.path.join(FOLDER, much)):
            time.sleep(0.01)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        UNDER_WAY.add(self)
        self.answer()
        UNDER_WAY.discard(self)

    def answer(self):
        body = f"{VERSION} {TASK}".encode()
        healthy = not os.path.exists(os.path.join(FOLDER, f"sick-{TASK}"))
        if self.path != "/health":
            note("request")
        take_time(self.path)
        good = healthy if self.path == "/health" else VERSION != "broken"
        self.send_response(200 if good else 500)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


signal.signal(signal.SIGTERM, end)
servers = [Server(("", port), Handler) for port in PORTS]
for server in servers[1:]:
    threading.Thread(target=server.serve_forever, daemon=True).start()
note("listens")
servers[0].serve_forever()
