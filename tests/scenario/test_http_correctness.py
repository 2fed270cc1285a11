"""HTTP through an application load balancer is HTTP as without it: every exchange below is made twice, with
the target itself and through the balancer, and both sides must have seen the same bytes: status, reason,
fields in their order, body, trailers. What belongs to one connection only (Connection, Transfer-Encoding,
chunk sizes) and what the balancer adds (X-Forwarded-*) is left out. Names of fields are compared as they are
written where there is a usual way to write them; of others the case does not matter."""
import base64
import hashlib
import io
import select
import socket
import socketserver
import ssl
import subprocess
import threading
import time
import zlib

import pytest

from balancing import NETWORK, Balancer, children, make_certificate, tls_context
from conftest import DEADLINE, Servers, wait_until

SERVER_ARGUMENTS = ["--runtime", "none", "--balancers", NETWORK]
CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/site"

OF_ONE_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "te", "proxy-connection"}
WRITTEN = {name.lower() for name in (
    "Accept", "Authorization", "Content-Length", "Content-Type", "Cookie", "ETag", "Expect", "Host", "Location",
    "Sec-WebSocket-Key", "Set-Cookie", "Trailer", "Upgrade", "WWW-Authenticate")}
BIG = bytes(range(256)) * 4096 * 8  # 8 MiB
LARGE = 100000  # bodies beyond are compared by their digests
HUGE = 1024 * 1024 * 1024
MEMORY = 64 * 1024 * 1024  # that HAProxy may take for all that a test below sends


# ---- messages ----

class Message:
    """A request or an answer as it was read."""

    def __init__(self, first, fields):
        self.first, self.fields, self.body, self.trailers = first, fields, b"", []
        self.interim = []

    def values(self, name):
        return [value for key, value in self.fields if key.lower() == name]

    def comparable(self):
        kept = [(name if name.lower() in WRITTEN else name.lower(), value) for name, value in self.fields
                if name.lower() not in OF_ONE_CONNECTION and not name.lower().startswith("x-forwarded-")]
        trailers = [(name.lower(), value) for name, value in self.trailers]
        return {"first": self.first, "fields": kept, "body": self.body, "trailers": trailers,
                "interim": self.interim}


def read_fields(file):
    fields = []
    while (line := file.readline()) not in (b"\r\n", b""):
        name, value = line[:-2].split(b":", 1)
        fields.append((name.decode(), value.strip().decode("latin-1")))
    return fields


def read_chunks(file, message):
    while size := int(file.readline().split(b";")[0], 16):
        message.body += file.read(size)
        assert file.readline() == b"\r\n"
    message.trailers = read_fields(file)


def read_head(file):
    line = file.readline()
    if not line:
        return None
    return Message(line.rstrip(b"\r\n").decode("latin-1"), read_fields(file))


def read_request(file):
    request = read_head(file)
    if request is None:
        return None
    if "100-continue" in request.values("expect"):
        return request
    read_body(file, request)
    return request


def read_body(file, request):
    if "chunked" in request.values("transfer-encoding"):
        read_chunks(file, request)
    elif request.values("content-length"):
        length = int(request.values("content-length")[0])
        request.body = file.read(length) if length <= LARGE else digest_of(file, length)


def digest_of(file, length):
    """Of what is too large to be kept."""
    digest, piece = 0, memoryview(bytearray(1024 * 1024))
    while length:
        count = file.readinto(piece[:length])
        assert count, "the connection was closed within a body"
        digest = zlib.crc32(piece[:count], digest)
        length -= count
    return f"{digest:x}"


def read_answer(file, method="GET"):
    answer = read_head(file)
    assert answer is not None, "the connection was closed without an answer"
    version, status = answer.first.split(" ")[:2]
    if status == "100":
        after = read_answer(file, method)
        after.interim.append(answer.first)
        return after
    assert version in ("HTTP/1.0", "HTTP/1.1")
    # A balancer speaks its own version.
    answer.first = answer.first.split(" ", 1)[1]
    if method == "HEAD" or status in ("204", "304", "101"):
        return answer
    if "chunked" in answer.values("transfer-encoding"):
        read_chunks(file, answer)
    elif answer.values("content-length"):
        answer.body = file.read(int(answer.values("content-length")[0]))
    else:
        answer.body = file.read()
    return answer


# ---- the target ----

def head(status, *fields):
    return "\r\n".join([f"HTTP/1.1 {status}", *fields, "", ""]).encode("latin-1")


def chunked(*parts, trailers=b""):
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n" + trailers + b"\r\n"


# By path: the whole answer, as it is.
ANSWERS = {
    "/plain": head("200 OK", "Content-Length: 5", "X-A: 1", "x-a: 2", "X-Empty:") + b"hello",
    "/reason": head("299 A Reason With  Spaces", "Content-Length: 0"),
    "/latin": head("200 OK", "Content-Length: 0", "X-Text: caf\u00e9"),
    "/cookies": head("200 OK", "Content-Length: 0", "Set-Cookie: a=1; Path=/", "Set-Cookie: b=2"),
    "/chunked": head("200 OK", "Transfer-Encoding: chunked") + chunked(b"a" * 10, b"b", b"c" * 70000),
    "/trailers": head("200 OK", "Transfer-Encoding: chunked", "Trailer: X-Sum") + chunked(
        b"abc", trailers=b"X-Sum: 42\r\nX-More: yes\r\n"),
    "/empty-chunked": head("200 OK", "Transfer-Encoding: chunked") + chunked(),
    "/401": head("401 Unauthorized", "WWW-Authenticate: Basic", "Content-Type: a/b", "Content-Length: 0"),
    "/204": head("204 No Content", "X-A: 1"),
    "/304": head("304 Not Modified", "ETag: \"x\"", "Content-Length: 5"),
    "/head": head("200 OK", "Content-Length: 12345", "X-A: 1"),
    "/redirect": head("302 Found", "Location: http://unknown/?a=b#c", "Content-Length: 0"),
    "/500": head("500 Broken", "Content-Length: 4") + b"oops",
    "/early-hints": b"HTTP/1.1 100 Continue\r\n\r\n" + head("200 OK", "Content-Length: 2") + b"ok",
    "/big": head("200 OK", f"Content-Length: {len(BIG)}") + BIG,
    "/close": head("200 OK", "Connection: close", "Content-Length: 3") + b"bye",
    "/until-close": head("200 OK", "Connection: close", "X-A: 1") + b"as long as it lasts" * 1000,
    "/1.0": b"HTTP/1.0 200 OK\r\nX-A: 1\r\n\r\nold",
    "/upload": head("200 OK", "Content-Length: 2") + b"ok",
}


class Target(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Connection)
        self.port = self.server_address[1]
        self.seen, self.lock = [], threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def take(self):
        with self.lock:
            seen, self.seen = self.seen, []
        return seen


class Connection(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            while self.answer():
                pass
        except OSError:
            pass

    def answer(self):
        request = read_request(self.rfile)
        if request is None:
            return False
        path = request.first.split(" ")[1].split("?")[0]
        if path == "/health":
            self.wfile.write(head("200 OK", "Content-Length: 0"))
            return True
        if "100-continue" in request.values("expect"):
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            read_body(self.rfile, request)
        # Balancers may speak another version of HTTP than the client.
        request.first = request.first.rsplit(" ", 1)[0]
        if len(request.body) > LARGE:
            request.body = hashlib.sha256(request.body).hexdigest()
        with self.server.lock:
            self.server.seen.append(request.comparable())
        if path == "/websocket":
            self.speak_websocket(request)
            return False
        if path == "/upgrade":
            self.wfile.write(head("101 Switching Protocols", "Upgrade: chat", "Connection: upgrade"))
            while data := self.connection.recv(65536):
                self.wfile.write(data.upper())
            return False
        self.wfile.write(ANSWERS[path])
        return (path not in ("/close", "/until-close", "/1.0")
                and "close" not in request.values("connection"))


    def speak_websocket(self, request):
        """Answers messages by themselves in capitals, and pings by pongs. Closes after a "close"
        message, or after a close frame of the client, as RFC 6455 says."""
        accept = hashlib.sha1(request.values("sec-websocket-key")[0].encode() +
                              b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        self.wfile.write(head("101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
                              "Sec-WebSocket-Accept: " + base64.b64encode(accept).decode(),
                              "Sec-WebSocket-Protocol: shout"))
        closing = False
        while True:
            first, masked, words = read_frame(self.rfile)
            with self.server.lock:
                self.server.seen.append((first, masked, words))
            if first == CLOSE:
                if not closing:
                    self.wfile.write(frame(CLOSE, words))
                return
            if words == b"close":
                closing = True
                self.wfile.write(frame(CLOSE, (1001).to_bytes(2, "big") + b"closing"))
            else:
                self.wfile.write(frame(PONG if first == PING else first, words.upper()))


# ---- frames of WebSocket, all of them whole messages ----

TEXT, BINARY, CLOSE, PING, PONG = 0x81, 0x82, 0x88, 0x89, 0x8a
MASK = b"\x01\xf2\x43\x84"


def frame(first, words, mask=None):
    length = len(words)
    short = min(length, 126) if length < 65536 else 127
    size = b"" if short < 126 else length.to_bytes(2 if short == 126 else 8, "big")
    if mask:
        words = masked_by(mask, words)
    return bytes([first, short | (0x80 if mask else 0)]) + size + (mask or b"") + words


def masked_by(mask, words):
    repeated = (mask * (len(words) // 4 + 1))[:len(words)]
    return (int.from_bytes(words, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(words), "big")


def read_frame(file):
    first, short = file.read(2)
    size = {126: 2, 127: 8}.get(short & 0x7f)
    length = int.from_bytes(file.read(size), "big") if size else short & 0x7f
    mask = file.read(4) if short & 0x80 else None
    words = file.read(length)
    return first, mask, masked_by(mask, words) if mask else words


# ---- the exchanges ----

class After(io.RawIOBase):
    """The bytes that were read before, and then the rest."""

    def __init__(self, early, file):
        super().__init__()
        self.early, self.rest = early, file

    def readable(self):
        return True

    def readinto(self, buffer):
        piece = self.early[:len(buffer)] or self.rest.read1(len(buffer))
        self.early = self.early[len(piece):]
        buffer[:len(piece)] = piece
        return len(piece)


class Client:
    def __init__(self, address, tls=False):
        self.socket = socket.create_connection(address, timeout=DEADLINE)
        if tls:
            self.socket = tls_context().wrap_socket(self.socket)
        self.file = self.socket.makefile("rb")

    def send(self, *parts):
        for part in parts:
            self.socket.sendall(part.encode("latin-1") if isinstance(part, str) else part)

    def send_and_listen(self, *parts):
        """Sends while it takes what comes, in one thread: a TLS connection is not for two."""
        left = b"".join(part.encode("latin-1") if isinstance(part, str) else part for part in parts)
        left, early = memoryview(left), b""
        self.socket.settimeout(0)
        while left:
            waits = 0
            try:
                left = left[self.socket.send(left[:65536]):]
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                waits += 1
            try:
                piece = self.socket.recv(65536)
                if not piece:
                    break
                early += piece
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                waits += 1
            if waits == 2:
                assert any(select.select([self.socket], [self.socket], [], DEADLINE))
        self.socket.settimeout(DEADLINE)
        if early:
            self.file = io.BufferedReader(After(early, self.file))

    def answer(self, method="GET"):
        return read_answer(self.file, method).comparable()

    def close(self):
        self.file.close()
        self.socket.close()


def get(path, *fields, method="GET", version="1.1"):
    return "\r\n".join([f"{method} {path} HTTP/{version}", "Host: target", *fields, "", ""])


def one(path, *fields, method="GET", version="1.1", body=b""):
    """An exchange of one request."""
    def exchange(client):
        client.send(get(path, *fields, method=method, version=version), body)
        return [client.answer(method)]
    return exchange


def pipelined(client):
    client.send(get("/plain") + get("/chunked") + get("/204") + get("/304") + get("/trailers"))
    return [client.answer() for _ in range(5)]


def head_then_get(client):
    client.send(get("/head", method="HEAD"))
    answers = [client.answer("HEAD")]
    client.send(get("/plain"))
    return answers + [client.answer()]


def continues(client):
    client.send(get("/upload", "Content-Length: 5", "Expect: 100-continue", method="POST"))
    assert client.file.readline() == b"HTTP/1.1 100 Continue\r\n"
    assert client.file.readline() == b"\r\n"
    client.send("12345")
    return [client.answer()]


def upgrades(client):
    client.send(get("/upgrade", "Connection: Upgrade", "Upgrade: chat", "Sec-WebSocket-Key: x"))
    answers = [client.answer()]
    for words in (b"hello", b"\x00\xff\r\n\r\n", b"x" * 50000):
        client.send(words)
        answers.append(client.file.read(len(words)))
    return answers


def opens_websocket(client):
    client.send(get("/websocket", "Connection: Upgrade", "Upgrade: websocket",
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
                    "Sec-WebSocket-Protocol: shout"))
    answer = client.answer()
    # That of the example in RFC 6455.
    assert "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in [value for _, value in answer["fields"]]
    seen = [answer]
    for first, words in ((TEXT, b"hello"), (TEXT, b""), (PING, b"there?"), (BINARY, b"x" * 200),
                         (BINARY, bytes(range(256)) * 300)):
        client.send(frame(first, words, MASK))
        seen.append(read_frame(client.file))
    # Many before the first of them is answered.
    client.send(b"".join(frame(TEXT, b"%d" % number, MASK) for number in range(50)))
    return seen + [read_frame(client.file) for _ in range(50)]


def websocket_closed_by_client(client):
    seen = opens_websocket(client)
    client.send(frame(CLOSE, (1000).to_bytes(2, "big") + b"enough", MASK))
    return seen + [read_frame(client.file), client.file.read()]


def websocket_closed_by_target(client):
    seen = opens_websocket(client)
    client.send(frame(TEXT, b"close", MASK))
    seen.append(read_frame(client.file))
    client.send(frame(CLOSE, seen[-1][2], MASK))
    return seen + [client.file.read()]


def slow_reader(client):
    """Leaves the answer lying, then takes it in small pieces."""
    client.send(get("/big"))
    answer = read_head(client.file)
    answer.first = answer.first.split(" ", 1)[1]
    pieces = []
    while sum(map(len, pieces)) < len(BIG):
        if len(pieces) < 100:
            time.sleep(0.002)
        pieces.append(client.file.read(min(32768, len(BIG) - sum(map(len, pieces)))))
        assert pieces[-1]
    answer.body = b"".join(pieces)
    return [answer.comparable()]


def big_upload(client):
    client.send_and_listen(get("/upload", f"Content-Length: {len(BIG)}", method="PUT"), BIG)
    return [client.answer()]


def big_chunked_upload(client):
    parts = chunked(BIG[:1000000], BIG[1000000:1000001], BIG[1000001:3000000],
                    trailers=b"X-Sum: 7\r\n")
    client.send_and_listen(
        get("/upload", "Transfer-Encoding: chunked", "Trailer: X-Sum", method="POST"), parts)
    return [client.answer()]


def byte_by_byte(client):
    for byte in get("/plain", "X-Slow: yes"):
        client.send(byte)
    return [client.answer()]


def asks_to_close(client):
    client.send(get("/plain", "Connection: close"))
    answers = [client.answer()]
    assert client.file.read() == b""
    return answers


EXCHANGES = {
    **{path[1:]: one(path) for path in ANSWERS if path not in ("/head", "/upload")},
    "head": one("/head", method="HEAD"),
    "options": one("/plain", method="OPTIONS"),
    "delete": one("/plain", method="DELETE"),
    "unknown-method": one("/plain", method="BREW"),
    "query": one("/plain?a=%20b&c=/?&d"),
    "encoded-path": one("/plain?%2F%2f%00"),
    "fields": one("/plain", "Accept: a", "Accept: b", "X-Empty:", "X-Tab:\tx\t", "Cookie: a=1; b=2",
                  "Authorization: Basic eDp5", "X-Long: " + "v" * 3000),
    "small-body": one("/upload", "Content-Length: 3", method="POST", body=b"abc"),
    "empty-body": one("/upload", "Content-Length: 0", method="POST"),
    "body-of-get": one("/upload", "Content-Length: 3", body=b"abc"),
    "chunked-body": one("/upload", "Transfer-Encoding: chunked", method="POST",
                        body=chunked(b"abc", b"d" * 5000, trailers=b"X-T: 1\r\n")),
    "http-1.0": one("/plain", version="1.0"),
    "http-1.0-keep-alive": one("/plain", "Connection: keep-alive", version="1.0"),
    "pipelined": pipelined,
    "head-then-get": head_then_get,
    "100-continue": continues,
    "upgrade": upgrades,
    "websocket-closed-by-client": websocket_closed_by_client,
    "websocket-closed-by-target": websocket_closed_by_target,
    "slow-reader": slow_reader,
    "big-upload": big_upload,
    "big-chunked-upload": big_chunked_upload,
    "byte-by-byte": byte_by_byte,
    "asks-to-close": asks_to_close,
}


@pytest.fixture(name="target", scope="module")
def make_target():
    with Target() as target:
        yield target
        target.shutdown()


@pytest.fixture(name="slipway", scope="module")
def make_slipway(tmp_path_factory):
    """One with a certificate."""
    folder = str(tmp_path_factory.mktemp("certificates"))
    make_certificate(folder, "site", 1)
    servers = Servers([*SERVER_ARGUMENTS, "--certificates", folder])
    try:
        yield servers.start()
    finally:
        servers.end()


@pytest.fixture(name="web", scope="module")
def make_web(slipway, target):
    balancer = Balancer(slipway, "correct", "application")
    balancer.group("all", "HTTP", [target.port], HealthCheckPath="/health")
    balancer.http = balancer.listen("HTTP", {"all": 1})
    balancer.https = balancer.listen("HTTPS", {"all": 1},
                                     Certificates=[{"CertificateArn": CERTIFICATE}])
    balancer.wait_until_healthy()
    return balancer


def made(exchange, address, target, tls=False):
    """The messages that the client and the target received."""
    target.take()
    client = Client(address, tls)
    try:
        answers = exchange(client)
    finally:
        client.close()
    return {"answers": answers, "requests": target.take()}


@pytest.mark.parametrize("name", EXCHANGES)
def test_the_same_as_without(web, target, name):
    """Through listeners of HTTP and of HTTPS."""
    direct = made(EXCHANGES[name], ("127.0.0.1", target.port), target)
    assert made(EXCHANGES[name], (web.address, web.http), target) == direct
    assert made(EXCHANGES[name], (web.address, web.https), target, tls=True) == direct


# ---- sizes ----

@pytest.fixture(name="memory", scope="module")
def watch_memory(web):
    """memory(): the bytes of HAProxy that are in memory now."""
    def one():
        # That of before, which had the first listener only, may be about to end.
        found = children(web.server.process.pid, "haproxy")
        return found if len(found) == 1 else None

    process, = wait_until(one, "one HAProxy")

    def memory():
        with open(f"/proc/{process}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS:"))
    return memory


def test_a_gigabyte_is_uploaded(web, target, memory):
    """Of pieces that are all different."""
    before, digest, piece = memory(), 0, bytearray(BIG)
    target.take()
    client = Client((web.address, web.http))
    client.send(get("/upload", f"Content-Length: {HUGE}", method="PUT"))
    for number in range(HUGE // len(BIG)):
        piece[:8] = number.to_bytes(8, "big")
        client.send(piece)
        digest = zlib.crc32(piece, digest)
        assert memory() < before + MEMORY
    assert client.answer()["body"] == b"ok"
    client.close()
    seen, = target.take()
    assert (seen["first"], seen["body"]) == ("PUT /upload", f"{digest:x}")


def test_readers_that_are_slow_cost_little(web, memory):
    """Unread bytes stay with the target."""
    before = memory()
    clients = [Client((web.address, web.http)) for _ in range(16)]
    bodies = [bytearray() for _ in clients]
    for client in clients:
        client.send(get("/big"))
        assert read_head(client.file).first == "HTTP/1.1 200 OK"
    while any(len(body) < len(BIG) for body in bodies):
        assert memory() < before + MEMORY
        for client, body in zip(clients, bodies):
            piece = client.file.read(min(524288, len(BIG) - len(body)))
            assert piece or len(body) == len(BIG)
            body += piece
    assert all(body == BIG for body in bodies)
    for client in clients:
        client.close()


# ---- HTTP/2 ----

CURL = {
    "get": ["/plain"],
    "query": ["/plain?a=%20b&c=/?&d"],
    "chunked": ["/chunked"],
    "empty": ["/empty-chunked"],
    "no-content": ["/204"],
    "not-modified": ["/304"],
    "failure": ["/500"],
    "redirect": ["/redirect"],
    "big": ["/big"],
    "until-close": ["/until-close"],
    "cookies": ["/cookies", "-H", "Cookie: a=1; b=2"],
    "head": ["/head", "--head"],
    "delete": ["/plain", "-X", "DELETE"],
    "post": ["/upload", "--data-binary", "abc"],
    "put": ["/upload", "-X", "PUT", "-H", "Expect:", "--data-binary", "@-"],
}


def curl(url, target, *arguments):
    """The messages of curl and the target, without differences between versions of HTTP."""
    target.take()
    done = subprocess.run(
        ["curl", "--silent", "--show-error", "--insecure", "--include", "--max-time", str(DEADLINE),
         "-H", "Host: target", *arguments, url], input=BIG, capture_output=True, timeout=DEADLINE * 2,
        check=True)
    answer, _, body = done.stdout.partition(b"\r\n\r\n")
    first, *fields = answer.decode("latin-1").split("\r\n")
    fields = [tuple(part.strip() for part in field.split(":", 1)) for field in fields]
    requests = target.take()
    for request in requests:
        request["fields"].sort()
    return {"version": first.split(" ")[0], "status": first.split(" ")[1], "body": body,
            "fields": [(name.lower(), value) for name, value in fields
                       if name.lower() not in OF_ONE_CONNECTION], "requests": requests}


@pytest.mark.parametrize("name", CURL)
def test_http_2_says_the_same(web, target, name):
    path, *arguments = CURL[name]
    direct = curl(f"http://127.0.0.1:{target.port}{path}", target, "--http1.1", *arguments)
    through = curl(f"https://{web.address}:{web.https}{path}", target, "--http2", *arguments)
    assert through.pop("version") == "HTTP/2"
    direct.pop("version")
    assert through == direct


def test_many_streams_of_one_connection(web, target, tmp_path):
    """Large answers at the same time, each whole."""
    urls = []
    for number in range(8):
        urls += [f"https://{web.address}:{web.https}/big?{number}", "-o", str(tmp_path / str(number))]
    target.take()
    done = subprocess.run(
        ["curl", "--silent", "--show-error", "--insecure", "--http2", "--parallel", "--max-time",
         str(DEADLINE), "--write-out", "%{http_version} %{http_code} %{num_connects}\n", *urls],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE * 2, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[:2] for line in lines] == [["2", "200"]] * 8
    assert sum(int(line[2]) for line in lines) == 1
    assert len(target.take()) == 8
    for number in range(8):
        assert (tmp_path / str(number)).read_bytes() == BIG
