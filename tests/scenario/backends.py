"""Programs behind load balancers: for every name given a TCP and a UDP server on one port, and an HTTP
server on another, all in one process that ends when its standard input does.

    backends = Backends("A", "B")         # in a test
    backends["A"].port, backends["A"].http
    backends.send("unhealthy A")          # a command on its input; answers are lines of JSON

TCP: every line is answered by "NAME LINE". UDP: every datagram by NAME, a space and itself. HTTP: GET
/health says 200 or, after "unhealthy", 503; /slow/N answers after N milliseconds, /hold after "release";
/session sets the cookie SESSION; /upgrade makes the connection one of lines as above; everything else is
answered by the name, and X-Saw-* headers say what was seen. Connections that send nothing (health checks) do
not count.
"""
import asyncio
import json
import subprocess
import sys


class Ports:
    def __init__(self, port, http):
        self.port, self.http = port, http


class Backends:
    """The process, from the test's side."""

    def __init__(self, *names):
        self.process = subprocess.Popen([sys.executable, __file__, *names], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.ports = {name: Ports(*ports) for name, ports in self.read().items()}

    def read(self):
        return json.loads(self.process.stdout.readline())

    def send(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return self.read()

    def __getitem__(self, name):
        return self.ports[name]

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# ---- the program ----

class Backend:
    def __init__(self, name):
        self.name = name.encode()
        self.healthy = True
        self.released = asyncio.Event()
        self.counts = {"tcp": 0, "http": 0, "udp": 0, "probes": 0}

    async def lines(self, reader, writer, kind):
        first = True
        while line := await reader.readline():
            self.counts[kind] += first
            first = False
            writer.write(self.name + b" " + line)
            await writer.drain()

    async def tcp(self, reader, writer):
        try:
            await self.lines(reader, writer, "tcp")
        except OSError:
            pass
        finally:
            writer.close()

    async def http(self, reader, writer):
        try:
            while (head := await reader.readuntil(b"\r\n\r\n")):
                lines = head.decode("latin-1").split("\r\n")
                method, path, _ = lines[0].split(" ", 2)
                headers = {name.lower(): value.strip() for name, _, value in
                           (line.partition(":") for line in lines[1:] if line)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if path == "/upgrade":
                    writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: lines\r\n"
                                 b"Connection: Upgrade\r\n\r\n")
                    await self.lines(reader, writer, "http")
                    break
                await self.answer(writer, method, path, headers, body)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def answer(self, writer, method, path, headers, body):
        status = "200 OK"
        if path == "/health":
            self.counts["probes"] += 1
            status = "200 OK" if self.healthy else "503 Service Unavailable"
        else:
            self.counts["http"] += 1
        if path.startswith("/slow/"):
            await asyncio.sleep(int(path.split("/")[2]) / 1000)
        if path == "/hold":
            await self.released.wait()
        seen = "".join(f"X-Saw-{name}: {headers.get(name, '')}\r\n"
                       for name in ("host", "x-forwarded-for", "x-forwarded-proto"))
        if path == "/session":
            seen += f"Set-Cookie: SESSION={self.name.decode()}; Path=/\r\n"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(self.name)}\r\n"
                     f"X-Saw-Method: {method}\r\nX-Saw-Path: {path}\r\n"
                     f"X-Saw-Length: {len(body)}\r\n{seen}\r\n".encode("latin-1") + self.name)
        await writer.drain()


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, backend):
        self.backend = backend
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        self.backend.counts["udp"] += 1
        self.transport.sendto(self.backend.name + b" " + data, addr)


async def open_both(backend):
    """TCP and UDP on the same port: the one that is free for both."""
    loop = asyncio.get_running_loop()
    while True:
        tcp = await asyncio.start_server(backend.tcp, "127.0.0.1", 0, backlog=1024)
        port = tcp.sockets[0].getsockname()[1]
        try:
            await loop.create_datagram_endpoint(lambda: Datagrams(backend), ("127.0.0.1", port))
            return port
        except OSError:
            tcp.close()


async def serve(names):
    loop = asyncio.get_running_loop()
    backends, ports = {}, {}
    for name in names:
        backends[name] = backend = Backend(name)
        port = await open_both(backend)
        http = await asyncio.start_server(backend.http, "127.0.0.1", 0, backlog=1024)
        ports[name] = [port, http.sockets[0].getsockname()[1]]
    print(json.dumps(ports), flush=True)
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while line := (await commands.readline()).decode().split():
        answer = {}
        if line[0] in ("healthy", "unhealthy"):
            backends[line[1]].healthy = line[0] == "healthy"
        elif line[0] == "release":
            for backend in backends.values():
                backend.released.set()
                backend.released = asyncio.Event()
        elif line[0] == "counts":
            answer = {name: backend.counts for name, backend in backends.items()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1:]))
