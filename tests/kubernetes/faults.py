"""A proxy between a client and the API server that injects faults of networks and servers and
records the requests.

    with Faults(cluster) as faults:
        start_slipway("--kubeconfig", faults.kubeconfig())
        faults.answer("/api/v1/pods", 429, headers={"Retry-After": "1"}, times=3)
        faults.delay("watch=1", 2.0)
        faults.hang("PATCH .*/status")
        faults.cut("watch=1")                 # those that are open now
        faults.heal()
        faults.hang("PATCH", times=1, after=2)   # the third one
        faults.requests("GET /api/v1/pods")   # the requests so far

Patterns are regular expressions, looked for in "METHOD PATH?QUERY". The proxy speaks TLS with a certificate of the
cluster's authority, hands on tokens (not client certificates), and gives each request a connection of its
own.
"""
import re
import socket
import ssl
import threading
import time

HEAD_MAX = 1 << 16
BLOCK = 1 << 16
SECONDS = 60
REASONS = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired",
           429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}


class Rule:
    """A fault of requests that match: how often, and after how many of them."""

    def __init__(self, pattern, times, after=0, **action):
        self.pattern = re.compile(pattern)
        self.left = times  # None: always
        self.after = after
        self.action = action


class Faults:
    """The proxy. All changes take effect with the next request, except cut()."""

    def __init__(self, cluster):
        self.cluster = cluster
        certificate = cluster.credentials.server_certificate("faults", ["IP:127.0.0.1"])
        self.inward = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.inward.load_cert_chain(*certificate)
        self.inward.set_alpn_protocols(["http/1.1"])
        self.outward = ssl.create_default_context(cafile=cluster.credentials.ca)
        self.lock = threading.Condition()
        self.rules = []
        self.asked = []
        self.open = {}  # "METHOD PATH" by the client's socket
        self.ended = False
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.server = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        with self.lock:
            self.ended = True
            self.lock.notify_all()
        self.listener.close()
        self.cut("")

    def kubeconfig(self, user="admin"):
        return self.cluster.credentials.token_kubeconfig(
            f"{user}-by-faults", self.cluster.credentials.token(user), self.server)

    # ---- for tests ----

    def add(self, pattern, times, after=0, **action):
        with self.lock:
            self.rules.append(Rule(pattern, times, after, **action))

    def answer(self, pattern, status, times=None, headers=None, message="as the test wants it"):
        """Refuse with a Status object."""
        self.add(pattern, times, status=status, headers=headers or {}, message=message)

    def delay(self, pattern, seconds, times=None):
        """Hand the request on only after some time."""
        self.add(pattern, times, delay=seconds)

    def hang(self, pattern, times=None, after=0):
        """Take the request and never answer, until heal()."""
        self.add(pattern, times, after, hang=True)

    def lose_answer(self, pattern, times=None, after=0):
        """Forward the request, and close the connection instead of answering: it was done, and the client
        does not know."""
        self.add(pattern, times, after, lose=True)

    def truncate(self, pattern, size, times=None):
        """Close the connection after so many bytes of the answer."""
        self.add(pattern, times, truncate=size)

    def is_used_up(self):
        """Whether all that was to happen so many times has."""
        with self.lock:
            return not any(rule.left for rule in self.rules)

    def heal(self):
        with self.lock:
            self.rules = []
            self.lock.notify_all()

    def cut(self, pattern):
        """Reset connections of requests that are open now; how many there were."""
        with self.lock:
            victims = [sock for sock, line in self.open.items() if re.search(pattern, line)]
        for sock in victims:
            reset(sock)
        return len(victims)

    def requests(self, pattern=""):
        """All requests so far that match, as "METHOD PATH?QUERY", the oldest first."""
        with self.lock:
            return [line for line in self.asked if re.search(pattern, line)]

    # ---- connections ----

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, plain):
        client = plain
        try:
            plain.settimeout(SECONDS)
            client = self.inward.wrap_socket(plain, server_side=True)
            self.exchange(client)
        except (OSError, ValueError):
            pass
        finally:
            with self.lock:
                self.open.pop(client, None)
            client.close()

    def exchange(self, client):
        head, rest = read_head(client)
        if not head:
            return
        line = " ".join(head.split(b"\r\n", 1)[0].decode().split()[:2])
        with self.lock:
            self.asked.append(line)
            self.open[client] = line
            action = self.choose(line)
        if action.get("hang"):
            with self.lock:
                self.lock.wait_for(lambda: self.ended or not any(
                    rule.action is action for rule in self.rules))
            return
        time.sleep(action.get("delay", 0))
        if "status" in action:
            client.sendall(refusal(action))
            return
        self.hand_on(client, head, rest, action)

    def choose(self, line):
        for rule in self.rules:
            if rule.left != 0 and rule.pattern.search(line):
                if rule.after:
                    rule.after -= 1
                    continue
                if rule.left:
                    rule.left -= 1
                return rule.action
        return {}

    def hand_on(self, client, head, rest, action):
        host, port = self.cluster.credentials.server.split("//")[1].split(":")
        with socket.create_connection((host, int(port)), timeout=SECONDS) as plain, \
                self.outward.wrap_socket(plain, server_hostname=host) as server:
            first, *headers = head.split(b"\r\n")
            headers = [item for item in headers if not item.lower().startswith(b"connection:")]
            server.sendall(b"\r\n".join([first, b"Connection: close", *headers]) + b"\r\n\r\n")
            send_body(client, server, headers, rest)
            server.settimeout(None)  # a watch says nothing for as long as nothing happens
            client.settimeout(None)
            done = threading.Event()
            threading.Thread(target=watch_client, args=(client, server, done), daemon=True).start()
            try:
                self.answer_from(server, client, action)
            finally:
                done.set()

    @staticmethod
    def answer_from(server, client, action):
        left = action.get("truncate")
        while True:
            block = server.recv(BLOCK)
            if action.get("lose") or not block:
                return
            if left is not None:
                block, left = block[:left], left - len(block)
            client.sendall(block)
            if left is not None and left <= 0:
                return


def read_head(client):
    data = b""
    while b"\r\n\r\n" not in data and len(data) < HEAD_MAX:
        block = client.recv(BLOCK)
        if not block:
            return b"", b""
        data += block
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def send_body(client, server, headers, rest):
    length = 0
    for header in headers:
        name, _, value = header.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
        elif name.lower() == b"transfer-encoding":
            raise ValueError("bodies in pieces are not handed on")
        elif name.lower() == b"expect":
            client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    server.sendall(rest)
    length -= len(rest)
    while length > 0:
        block = client.recv(min(BLOCK, length))
        if not block:
            raise ValueError("the body is not whole")
        server.sendall(block)
        length -= len(block)


def watch_client(client, server, done):
    """A client that goes away ends its request."""
    while not done.wait(0.2):
        try:
            if client.gettimeout() is None and is_gone(client):
                reset(server)
                return
        except (OSError, ValueError):
            reset(server)
            return


def is_gone(client):
    """Whether the other side has closed: looked for below TLS, without taking anything away."""
    try:
        data = socket.socket.recv(client, 1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        return data == b""
    except BlockingIOError:
        return False


def reset(sock):
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        pass


def refusal(action):
    status = action["status"]
    reason = REASONS.get(status, "Unknown")
    body = (f'{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure",'
            f'"message":"{action["message"]}","reason":"{reason}","code":{status}}}').encode()
    lines = [f"HTTP/1.1 {status} {reason}", "Content-Type: application/json", "Connection: close",
             f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in action["headers"].items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
