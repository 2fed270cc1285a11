"""Nothing that was answered is ever lost: kills, a database that dies or is cut off, a full disk, a
flipped byte."""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

import pytest

from conftest import DEADLINE, SOURCE, slipway_program, wait_until
from writers import Refused, Writers, call, connect

SERVER_ARGUMENTS = ["--runtime", "none"]

KILLS = 100


def test_100_kills_under_concurrent_writes_lose_nothing(start_slipway):
    server = start_slipway("--auth", "none")
    with Writers(6) as writers:
        for _ in range(KILLS):
            writers.server = server
            writers.wait_for_answers(12, "writes are answered")
            server.kill()
            server = start_slipway("--auth", "none", state=server.state)
        assert not writers.refusals, writers.refusals[0]
    writers.check(server)
    assert server.get("/metrics").text.count("slipway_store_quarantined 0") == 1


# ---- PostgreSQL ----

class Postgres:
    """A PostgreSQL server of this test's own, to be killed."""

    def __init__(self, folder):
        self.folder = folder
        self.programs = max(glob.glob("/usr/lib/postgresql/*/bin"))
        self.prefix = []
        self.data = os.path.join(folder, "data")
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
            self.prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        subprocess.run(self.prefix + [f"{self.programs}/initdb", "-D", self.data, "-U", "postgres",
                                      "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"],
                       check=True, capture_output=True, cwd=folder, timeout=DEADLINE * 2)
        self.process = None

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                self.prefix + [f"{self.programs}/postgres", "-D", self.data, "-c",
                               "listen_addresses=", "-c", f"unix_socket_directories={self.folder}"],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
        wait_until(lambda: subprocess.run([f"{self.programs}/pg_isready", "-q", "-h", self.folder],
                                          check=False).returncode == 0, "PostgreSQL answers")

    def kill(self):
        """Immediate shutdown: no checkpoint, clients cut off, recovery at the next start."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(DEADLINE)

    @property
    def socket(self):
        return os.path.join(self.folder, ".s.PGSQL.5432")

    def url(self, folder=None):
        return f"postgresql://postgres@/postgres?host={folder or self.folder}"


@pytest.fixture
def postgres():
    folder = tempfile.mkdtemp(prefix="slipway-pg-")
    server = None
    try:
        server = Postgres(folder)
        server.start()
        yield server
    finally:
        if server and server.process and server.process.poll() is None:
            server.process.send_signal(signal.SIGINT)
            server.process.wait(DEADLINE)
        shutil.rmtree(folder, ignore_errors=True)


def test_postgres_killed_while_clients_go_on(start_slipway, postgres):
    server = start_slipway("--auth", "none", "--store", postgres.url())
    with Writers(6) as writers:
        writers.server = server
        for _ in range(5):
            writers.wait_for_answers(20, "writes are answered")
            postgres.kill()
            postgres.start()
        writers.wait_for_answers(20, "writes are answered after the last kill")
        # Refused means ServerException, which clients retry; never another error.
        assert {refused.body["__type"] for refused in writers.refusals} <= {"ServerException"}
        assert {refused.status for refused in writers.refusals} <= {500}
    writers.check(server)
    server.kill()
    writers.check(start_slipway("--auth", "none", "--store", postgres.url(), state=server.state))


class Cutter:
    """Stands between slipway and PostgreSQL and cuts the connection around commits: before the
    database saw one, or before slipway heard of it."""

    def __init__(self, folder, target):
        self.target = target
        self.mode = None  # None, "before", "after"
        self.cuts = 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(folder, ".s.PGSQL.5432"))
        self.listener.listen(16)
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.target)
            except OSError:
                client.close()
                continue
            for source, sink, requests in ((client, server, True), (server, client, False)):
                threading.Thread(target=self.pump, args=(source, sink, requests),
                                 daemon=True).start()

    def take_mode(self, data):
        with self.lock:
            # Rows name their kinds, and the commit is sent together with the rows.
            if self.mode and b"ecs." in data:
                mode, self.mode = self.mode, None
                return mode
        return None

    def pump(self, source, sink, requests):
        with contextlib.suppress(OSError):
            while True:
                data = source.recv(1 << 20)
                if not data:
                    break
                mode = self.take_mode(data) if requests else None
                if mode == "before":
                    break
                if mode == "after":
                    # The database gets it and commits; slipway never reads what it says.
                    source.shutdown(socket.SHUT_RDWR)
                    sink.sendall(data)
                    sink.shutdown(socket.SHUT_WR)
                    self.cuts += 1
                    return
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        if requests:
            self.cuts += 1

    def cut(self, mode):
        before = self.cuts
        with self.lock:
            self.mode = mode
        wait_until(lambda: self.cuts > before, f"a connection is cut {mode} a commit")

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def test_postgres_cut_off_in_the_middle_of_commits(start_slipway, postgres, tmp_path):
    cutter = Cutter(str(tmp_path), postgres.socket)
    server = start_slipway("--auth", "none", "--store", postgres.url(tmp_path))
    with Writers(4) as writers:
        writers.server = server
        for number in range(10):
            writers.wait_for_answers(5, "writes are answered")
            cutter.cut("before" if number % 2 else "after")
        writers.wait_for_answers(5, "writes are answered after the last cut")
        assert {refused.body["__type"] for refused in writers.refusals} <= {"ServerException"}
    writers.check(server)
    server.stop()
    cutter.close()
    # The truth is what the database has, seen by a server that was never cut off.
    writers.check(start_slipway("--auth", "none", "--store", postgres.url(), state=server.state))


# ---- a full disk ----

class SmallDisk:
    """A server whose state is on a small tmpfs, in a mount namespace that ends with it."""

    SIZE = 6 * 1024 * 1024

    def __init__(self, folder):
        self.output = os.path.join(folder, "output")
        place = os.path.join(folder, "disk")
        os.mkdir(place)
        script = (f"mount -t tmpfs -o size={self.SIZE} tmpfs {place} && "
                  f"exec {slipway_program()} up --auth none --listen 127.0.0.1:0 --dns 127.0.0.1:0 "
                  f"--state {place}/state")
        unshare = ["unshare", "--mount"] if os.geteuid() == 0 else \
            ["unshare", "--map-root-user", "--mount"]
        with open(self.output, "wb") as out:
            self.process = subprocess.Popen(unshare + ["sh", "-c", script],
                                            stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=subprocess.STDOUT)
        match = wait_until(self.address, "slipway listens")
        self.url = match.group(1)
        self.place = f"/proc/{self.process.pid}/root{place}"

    def address(self):
        with open(self.output, encoding="utf-8") as file:
            text = file.read()
        assert self.process.poll() is None, text
        return re.search(r"^slipway listens on (http\S+)$", text, re.MULTILINE)

    def fill(self):
        """Leave no room at all."""
        with open(os.path.join(self.place, "ballast"), "ab", buffering=0) as ballast:
            with contextlib.suppress(OSError):
                while True:
                    ballast.write(b"\0" * 65536)
            with contextlib.suppress(OSError):
                while True:
                    ballast.write(b"\0" * 512)

    def make_room(self):
        os.remove(os.path.join(self.place, "ballast"))


def test_a_full_disk_refuses_and_recovers(tmp_path, start_slipway):
    disk = SmallDisk(str(tmp_path))
    try:
        with Writers(3) as writers:
            writers.server = disk
            writers.wait_for_answers(10, "writes are answered")
            disk.fill()
            wait_until(lambda: writers.refusals, "a write is refused")
            refused = writers.refusals[0]
            assert refused.status == 500
            assert refused.body["__type"] == "ServerException"
            connection = connect(disk)
            # Reads continue, /readyz fails, slipway's own API sends Retry-After.
            assert call(connection, "ListClusters")["clusterArns"]

            def refused_by(*request):
                connection.request(*request)
                answer = connection.getresponse()
                answer.read()
                return answer if answer.status == 503 else None

            # A small record may still fit into an existing page.
            wait_until(lambda: refused_by("GET", "/readyz"), "/readyz fails")
            answer = wait_until(lambda: refused_by("POST", "/v1/keys", json.dumps({"user": "x"})),
                                "slipway's own API refuses, too")
            assert answer.getheader("Retry-After")
            connection.close()
            disk.make_room()
            writers.wait_for_answers(10, "writes are answered again")
        writers.check(disk)
        copied = tmp_path / "copy"
        held = os.open(os.path.join(disk.place, "state"), os.O_RDONLY)  # keeps the mount alive
        disk.process.kill()
        disk.process.wait()
        # The files as they were at the kill, on a disk with room.
        shutil.copytree(f"/proc/self/fd/{held}", copied)
        os.close(held)
        writers.check(start_slipway("--auth", "none", state=str(copied)))
    finally:
        disk.process.kill()
        disk.process.wait()


# ---- damage ----

def test_a_flipped_byte_is_quarantined(start_slipway):
    server = start_slipway()
    client = server.boto()
    for name in "good", "bad":
        client.register_task_definition(family=name, containerDefinitions=[
            {"name": "app", "image": "host", "memory": 16,
             "environment": [{"name": "MARK", "value": f"mark-of-{name}-"}]}])
    client.create_cluster(clusterName="fine")
    server.stop()
    path = os.path.join(server.state, "slipway.db")
    with open(path, "r+b") as file:
        data = file.read()
        assert data.count(b"mark-of-bad-") == 1
        file.seek(data.index(b"mark-of-bad-"))
        file.write(b"M")
    again = start_slipway(state=server.state)
    client = again.boto()
    wait_until(lambda: "quarantin" in again.stderr and "bad" in again.stderr, "it is logged")
    assert "slipway_store_quarantined 1" in again.get("/metrics").text
    # It is neither visible nor acted upon; everything else is as it was.
    with pytest.raises(client.exceptions.ClientException):
        client.describe_task_definition(taskDefinition="bad:1")
    assert client.describe_task_definition(taskDefinition="good:1")["taskDefinition"]["revision"] == 1
    assert client.describe_clusters(clusters=["fine"])["clusters"]
    # Its number is not given to another.
    made = client.register_task_definition(family="bad", containerDefinitions=[
        {"name": "app", "image": "host", "memory": 16}])
    assert made["taskDefinition"]["revision"] == 2


def test_a_store_of_a_newer_slipway_is_refused(start_slipway):
    server = start_slipway()
    server.stop()
    path = os.path.join(server.state, "slipway.db")
    program = ("import sqlite3,sys; d=sqlite3.connect(sys.argv[1]); "
               "d.execute(\"UPDATE meta SET value = 999 WHERE name = 'format'\"); d.commit()")
    subprocess.run(["/usr/bin/python3", "-c", program, path], check=True, timeout=DEADLINE)
    refused = subprocess.run([slipway_program(), "up", "--listen", "127.0.0.1:0", "--dns",
                              "127.0.0.1:0", "--state", server.state], capture_output=True, text=True, check=False,
                             timeout=DEADLINE, stdin=subprocess.DEVNULL)
    assert refused.returncode == 1
    assert "newer" in refused.stderr and "999" in refused.stderr
