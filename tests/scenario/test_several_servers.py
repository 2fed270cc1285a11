"""Servers that share a PostgreSQL: their key, their names, their leases."""
import contextlib
import glob
import os
import re
import shutil
import socket
import subprocess
import threading
import uuid

import botocore.exceptions
import pytest

from conftest import DEADLINE, Servers, wait_until

SERVER_ARGUMENTS = ["--runtime", "none", "--auth", "none"]


@pytest.fixture(name="new_database")
def database_maker(postgres_server):
    """new_database(): the address of another empty database."""
    def make():
        name = "t" + uuid.uuid4().hex
        subprocess.run(["psql", "-q", "-d", postgres_server, "-c", f"CREATE DATABASE {name}"],
                       check=True, stdin=subprocess.DEVNULL, timeout=DEADLINE * 2)
        return postgres_server.replace("/postgres?", f"/{name}?")
    return make


# ---- the key ----

def start_at_once(servers, url, count):
    """So many servers on one database, each with a state folder of its own; those that listen, and the others."""
    listening = "slipway listens on"
    group = [servers.launch("--store", url) for _ in range(count)]
    for server in group:
        wait_until(lambda one=server: listening in one.stdout or one.process.poll() is not None, "it listens, or ends")
    refused = [server for server in group if listening not in server.stdout]
    for server in refused:
        assert server.wait_for_exit() == 1, server.stderr
    return [server for server in group if server not in refused], refused


def test_three_servers_start_at_once_on_an_empty_database(new_database):
    """One binds the database to its key; the others are refused, until they have its key. Ten times."""
    servers = Servers(SERVER_ARGUMENTS)
    try:
        for _ in range(10):
            url = new_database()
            accepted, refused = start_at_once(servers, url, 3)
            assert len(accepted) == 1, [server.stderr for server in accepted]
            first, = accepted
            first.wait_until_listening()
            for server in refused:
                # It kept no key, so that one can be copied there.
                assert "key" in server.stderr and not glob.glob(os.path.join(server.state, "integrity.key*"))
                assert "panic" not in server.stderr
            first.boto().create_cluster(clusterName="kept")
            for name in "integrity.key", "admin-key.json":
                shutil.copy(os.path.join(first.state, name), os.path.join(refused[0].state, name))
            second = servers.start("--store", url, state=refused[0].state)
            assert second.boto().describe_clusters(clusters=["kept"])["clusters"]
            for server in (first, second):
                assert "slipway_store_quarantined 0\n" in server.get("/metrics").text
                server.stop()
            # One with another key is refused whenever it comes.
            third = servers.launch("--store", url, state=refused[1].state)
            assert third.wait_for_exit() == 1
            assert "key" in third.stderr
    finally:
        servers.end()


# ---- the lease ----

class Stall:
    """Stands between a server and PostgreSQL; while stalled, connections stay open and carry nothing."""

    def __init__(self, folder, url):
        self.url = re.sub(r"host=[^&]*", f"host={folder}", url)
        self.target = os.path.join(re.search(r"host=([^&]*)", url).group(1), ".s.PGSQL.5432")
        self.runs = threading.Event()
        self.runs.set()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(folder, ".s.PGSQL.5432"))
        self.listener.listen(16)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.target)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(source, sink), daemon=True).start()

    def pump(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self.runs.wait()
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.runs.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def test_a_stalled_connection_to_the_database(start_slipway, postgres_url, tmp_path):
    """The server is not ready any more, what it held in the database is released, and it comes back by itself."""
    first = start_slipway("--store", postgres_url)
    folder = tmp_path / "state"
    folder.mkdir()
    for name in "integrity.key", "admin-key.json":
        shutil.copy(os.path.join(first.state, name), folder / name)
    stall = Stall(str(tmp_path), postgres_url)
    try:
        second = start_slipway("--store", stall.url, state=str(folder))
        wait_until(lambda: second.get("/readyz").status == 200, "it is ready")
        stall.runs.clear()
        wait_until(lambda: second.get("/readyz").status == 503, "it has lost its lease, or the store")
        assert first.get("/readyz").status == 200
        first.boto().create_cluster(clusterName="meanwhile")
        # The error does not say where the database is.
        with pytest.raises(botocore.exceptions.ClientError) as refused:
            second.boto().create_cluster(clusterName="refused")
        assert str(tmp_path) not in str(refused.value) and "PGSQL" not in str(refused.value)
        stall.runs.set()
        wait_until(lambda: second.get("/readyz").status == 200, "it is ready again")
        wait_until(lambda: second.boto().describe_clusters(clusters=["meanwhile"])["clusters"], "it has caught up")
        second.stop()
    finally:
        stall.close()
