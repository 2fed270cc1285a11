"""Clients of every kind at once, in a process of their own, which notice everything that is lost:

    prober = Prober(http=(address, port), tcp=(address, port), udp=(address, port))     # in a test
    prober.counts()     # {kind: [answers of each client]}; fails if any client has lost something
    prober.end()        # {kind: {"answers": …, "failures": […], "sides": […]}}

The kinds: `kept` connections of HTTP with a request 20 times a second each, `upgraded` ones and `lines` of TCP,
which are kept for ever and must stay where they are; `web` and `tcp`, new connections one after the other;
`datagrams`, a thousand a second from clients that come and go, of which at most 64 are under way at a time, as
nothing on the way has room for any number. Behind are the programs of backends.py.
"""
import asyncio
import json
import socket
import subprocess
import sys

KEPT, UPGRADED, LINES = 200, 10, 50
PAUSE = 0.05
DATAGRAMS_AT_ONCE = 10
DATAGRAM_PAUSE = 0.01
DATAGRAMS_UNDER_WAY = 64
DATAGRAMS_OF_A_CLIENT = 100


class Prober:
    """The process, from the test's side."""

    def __init__(self, **places):
        self.process = subprocess.Popen(
            [sys.executable, __file__, json.dumps(places)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)

    def send(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def counts(self):
        answer = self.send("counts")
        assert answer["failures"] == []
        return answer["counts"]

    def end(self):
        return self.send("end")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


# ---- the program ----

class Kind:
    """The results of the clients of a kind."""

    def __init__(self, clients):
        self.counts = [0] * clients
        self.sides = [set() for _ in range(clients)]
        self.failures = []

    def note(self, client, name):
        self.counts[client] += 1
        self.sides[client].add(name)

    def report(self):
        return {"answers": self.counts, "failures": self.failures,
                "sides": ["".join(sorted(side)) for side in self.sides]}


async def ask_web(reader, writer):
    """The name of the backend that answered."""
    writer.write(b"GET / HTTP/1.1\r\nHost: probe\r\n\r\n")
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    assert head.startswith("http/1.1 200 "), head
    assert "connection: close" not in head, "the connection is to be closed"
    length = int(head.split("content-length: ")[1].split("\r\n")[0])
    return (await reader.readexactly(length)).decode()


async def ask_line(reader, writer, number):
    writer.write(b"%d\n" % number)
    name, seen = (await reader.readline()).split()
    assert int(seen) == number
    return name.decode()


class Clients:
    def __init__(self, http, tcp, udp):
        self.http, self.tcp, self.udp = http, tcp, udp
        self.ending = False
        self.kinds = {"kept": Kind(KEPT), "upgraded": Kind(UPGRADED), "lines": Kind(LINES),
                      "web": Kind(1), "tcp": Kind(1), "datagrams": Kind(1)}

    async def guard(self, kind, client):
        """Runs a client until all are to end. A client that loses something reports it and stops."""
        try:
            await client
        except (OSError, AssertionError, ValueError, asyncio.IncompleteReadError) as failure:
            self.kinds[kind].failures.append(repr(failure))

    async def keep(self, number):
        reader, writer = await asyncio.open_connection(*self.http)
        while not self.ending:
            self.kinds["kept"].note(number, await ask_web(reader, writer))
            await asyncio.sleep(PAUSE)
        writer.close()

    async def upgrade(self, number):
        reader, writer = await asyncio.open_connection(*self.http)
        writer.write(b"GET /upgrade HTTP/1.1\r\nHost: probe\r\nConnection: Upgrade\r\n"
                     b"Upgrade: lines\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 "), head
        await self.ask_lines("upgraded", number, reader, writer)

    async def keep_line(self, number):
        await self.ask_lines("lines", number, *await asyncio.open_connection(*self.tcp))

    async def ask_lines(self, kind, number, reader, writer):
        asked = 0
        while not self.ending:
            asked += 1
            self.kinds[kind].note(number, await ask_line(reader, writer, asked))
            await asyncio.sleep(PAUSE)
        writer.close()

    async def come_and_go(self, kind):
        while not self.ending:
            reader, writer = await asyncio.open_connection(*(self.http if kind == "web" else self.tcp))
            name = await (ask_web(reader, writer) if kind == "web" else ask_line(reader, writer, 1))
            self.kinds[kind].note(0, name)
            writer.close()
            await asyncio.sleep(0.005)

    async def send_datagrams(self):
        kind, loop = self.kinds["datagrams"], asyncio.get_running_loop()
        sender, sent = None, 0
        senders = []
        while not self.ending:
            if sent % DATAGRAMS_OF_A_CLIENT == 0:
                _, sender = await loop.create_datagram_endpoint(
                    lambda: Datagrams(kind), remote_addr=tuple(self.udp), family=socket.AF_INET)
                senders.append(sender)
            for _ in range(DATAGRAMS_AT_ONCE):
                if sum(len(one.waiting) for one in senders) < DATAGRAMS_UNDER_WAY:
                    sender.send(sent)
                    sent += 1
                    if sent % DATAGRAMS_OF_A_CLIENT == 0:
                        break
            # Those that have all of their answers need not be there any more.
            for one in [one for one in senders[:-1] if not one.waiting]:
                one.transport.close()
                senders.remove(one)
            await asyncio.sleep(DATAGRAM_PAUSE)
        for _ in range(3000):
            if not any(one.waiting for one in senders):
                break
            await asyncio.sleep(DATAGRAM_PAUSE)
        kind.failures += [f"datagram {number} was not answered" for one in senders
                          for number in sorted(one.waiting)]

    def start(self):
        clients = [("kept", self.keep(number)) for number in range(KEPT)]
        clients += [("upgraded", self.upgrade(number)) for number in range(UPGRADED)]
        clients += [("lines", self.keep_line(number)) for number in range(LINES)]
        clients += [(kind, self.come_and_go(kind)) for kind in ("web", "tcp")]
        clients.append(("datagrams", self.send_datagrams()))
        return [asyncio.create_task(self.guard(*client)) for client in clients]


class Datagrams(asyncio.DatagramProtocol):
    """One client; every datagram is waited for until it is answered, and it is answered once."""

    def __init__(self, kind):
        self.kind, self.transport, self.waiting = kind, None, set()

    def connection_made(self, transport):
        self.transport = transport

    def send(self, number):
        self.waiting.add(number)
        self.transport.sendto(b"%d" % number)

    def datagram_received(self, data, addr):
        name, number = data.split()
        if int(number) in self.waiting:
            self.waiting.remove(int(number))
            self.kind.note(0, name.decode())
        else:
            self.kind.failures.append(f"datagram {int(number)} was answered twice")

    def error_received(self, exc):
        self.kind.failures.append(repr(exc))


async def probe(places):
    clients = Clients(**places)
    running = clients.start()
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while line := (await commands.readline()).decode().strip():
        if line == "counts":
            print(json.dumps({
                "counts": {name: kind.counts for name, kind in clients.kinds.items()},
                "failures": [[name, failure] for name, kind in clients.kinds.items()
                             for failure in kind.failures]}), flush=True)
            continue
        clients.ending = True
        await asyncio.gather(*running)
        print(json.dumps({name: kind.report() for name, kind in clients.kinds.items()}), flush=True)


if __name__ == "__main__":
    asyncio.run(probe(json.loads(sys.argv[1])))
