#!/usr/bin/python3
"""The program of pods in tests of canary releases.

    canary_pod.py serve LETTER PORT FOLDER   answers with its letter: lines over TCP, HTTP requests, and datagrams, which
                                             it notes in a file of the folder
    canary_pod.py probe FILE HOST PORT       asks for letters until SIGTERM, and keeps its counts in FILE

A prober makes new connections one after the other, holds four that ask all the time, and sends datagrams, each from a new
port. Everything that fails is kept with its time. `cut` counts held connections that were closed: they are opened again.
"""
import collections
import json
import os
import signal
import socket
import sys
import threading
import time

SECONDS = 10  # for one answer
HELD = 4
PAUSE = 0.02


# ---- serve ----

def serve_connection(connection, letter):
    with connection, connection.makefile("rb") as lines:
        try:
            for line in lines:
                if not line.startswith(b"GET "):
                    connection.sendall(letter)
                    continue
                while lines.readline().strip():
                    pass
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + letter)
        except OSError:
            pass


def serve_datagrams(port, letter, folder):
    path = os.path.join(folder, "received-" + socket.gethostname())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, open(path, "ab", buffering=0) as file:
        server.bind(("0.0.0.0", port))
        while True:
            data, source = server.recvfrom(65536)
            server.sendto(letter + data, source)
            file.write(data + b"\n")


def serve(letter, port, folder):
    # As applications do: what comes in until kube-proxy knows of the end is still answered.
    signal.signal(signal.SIGTERM, lambda *_: threading.Timer(3, os._exit, [0]).start())
    threading.Thread(target=serve_datagrams, args=(port, letter, folder), daemon=True).start()
    with socket.create_server(("0.0.0.0", port), backlog=512) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve_connection, args=(connection, letter), daemon=True).start()


# ---- probe ----

class Prober:
    def __init__(self, name, host, port):
        self.name, self.address = name, (host, port)
        self.lock = threading.Lock()
        self.counts = {kind: collections.Counter() for kind in ("new", "held", "datagrams")}
        self.failures, self.cut, self.ended = [], 0, False
        self.ports = iter(range(10000, 32768))  # below those that the kernel chooses

    def note(self, kind, letter):
        with self.lock:
            self.counts[kind][letter] += 1

    def fail(self, kind, problem, sent=""):
        with self.lock:
            self.failures.append([kind, round(time.time(), 3), repr(problem), sent])

    def new(self):
        try:
            with socket.create_connection(self.address, SECONDS) as connection:
                connection.sendall(b"?\n")
                answer = connection.recv(1)
                if not answer:
                    raise OSError("closed without an answer")
                self.note("new", answer.decode())
        except OSError as problem:
            self.fail("new", problem)

    def hold(self):
        """One connection, until it is closed between two questions."""
        with socket.create_connection(self.address, SECONDS) as connection:
            while not self.ended:
                try:
                    connection.sendall(b"?\n")
                    answer = connection.recv(1)
                except (ConnectionResetError, BrokenPipeError):
                    answer = b""
                if not answer:
                    with self.lock:
                        self.cut += 1
                    return
                self.note("held", answer.decode())
                time.sleep(PAUSE)

    def held(self):
        try:
            self.hold()
        except OSError as problem:
            self.fail("held", problem)

    def datagram(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(SECONDS)
            # A port that is used again is the same client, which stays on its side.
            port = next(self.ports)
            client.bind(("", port))
            client.connect(self.address)
            try:
                client.send(f"{self.name}-{port}".encode())
                self.note("datagrams", client.recv(100)[:1].decode())
            except OSError as problem:
                self.fail("datagrams", problem, f"{self.name}-{port}")

    def repeat(self, function):
        while not self.ended:
            function()
            time.sleep(PAUSE)

    def run(self, path):
        threads = [threading.Thread(target=self.repeat, args=(function,), daemon=True)
                   for function in [self.new, self.datagram] + [self.held] * HELD]
        for thread in threads:
            thread.start()
        while True:
            with self.lock:
                state = {"counts": self.counts, "failures": self.failures, "cut": self.cut, "ended": self.ended}
                text = json.dumps(state)
            with open(path + ".new", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(path + ".new", path)
            if self.ended:
                return
            time.sleep(0.1)

    def end(self, *_):
        self.ended = True


def main():
    if sys.argv[1] == "serve":
        serve(sys.argv[2].encode(), int(sys.argv[3]), sys.argv[4])
    prober = Prober(os.path.basename(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    signal.signal(signal.SIGTERM, prober.end)
    prober.run(sys.argv[2])


main()
