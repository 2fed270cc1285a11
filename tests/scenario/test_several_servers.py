"""Servers that share a PostgreSQL: their key, their names, their leases."""
import glob
import os
import shutil
import subprocess
import uuid

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
