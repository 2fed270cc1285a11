"""The state folder has one server, and a copy of it leaves the original's tasks alone."""
import os
import shutil
import subprocess

import pytest

from conftest import DEADLINE, Servers, wait_until
from programs import LONG, Mark, container
from test_run import define, describe, run, running


@pytest.fixture(name="mark")
def new_mark():
    return Mark()


@pytest.fixture(name="servers")
def servers_of_this_test():
    servers = Servers()
    yield servers
    servers.end()


def copy_of(server, folder):
    """As people copy it, while the server runs."""
    subprocess.run(["cp", "-r", server.state, folder], check=True, timeout=DEADLINE)
    return str(folder)


def refusal_of(servers, *args, state):
    server = servers.launch(*args, state=state)
    assert server.wait_for_exit() == 1
    return server.stderr


def test_a_copy_of_a_running_servers_state_folder(servers, mark, tmp_path):
    server = servers.start()
    ecs = server.boto()
    arn, = run(ecs, define(ecs, "long", container(mark, LONG)))
    running(ecs, arn)
    programs = set(mark.processes())
    folder = copy_of(server, tmp_path / "copy")
    copy = servers.start(state=folder)
    # It says so, and is not ready.
    assert server.state in copy.stderr and "slipway up --adopt" in copy.stderr
    answer = copy.get("/readyz")
    assert answer.status == 503 and answer.json["code"] == "StateFolderCopied"
    assert server.state in answer.text
    # It answers from its copy of the store, also requests that would end the task, and does nothing.
    copied = copy.boto()
    assert describe(copied, arn)["lastStatus"] == "RUNNING"
    copied.stop_task(task=arn)
    copy.stop()
    assert set(mark.processes()) == programs
    assert describe(ecs, arn)["lastStatus"] == "RUNNING"
    assert server.get("/readyz").status == 200
    # Tasks of a running server cannot be taken over.
    assert "another slipway uses" in refusal_of(servers, "--adopt", state=folder)
    assert set(mark.processes()) == programs
    # When the original has ended it can be adopted, and is the copy's own from then on.
    server.stop()
    adopted = servers.start("--adopt", state=folder)
    wait_until(lambda: adopted.get("/readyz").status == 200, "it is ready")
    wait_until(lambda: describe(adopted.boto(), arn)["lastStatus"] == "STOPPED", "its tasks are its own")
    adopted.stop()
    again = servers.start(state=folder)
    wait_until(lambda: again.get("/readyz").status == 200, "it belongs there")


def test_a_folder_from_another_machine(servers, mark, tmp_path):
    server = servers.start()
    ecs = server.boto()
    arn, = run(ecs, define(ecs, "long", container(mark, LONG)))
    running(ecs, arn)
    programs = set(mark.processes())
    server.stop()
    origin = os.path.join(server.state, "origin")
    with open(origin, encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert lines[1] == os.path.realpath(server.state)
    with open(origin, "w", encoding="utf-8") as file:
        file.write(f"{'0' * 32}\n{lines[1]}\n")
    moved = servers.start(state=server.state)
    assert "on another machine" in moved.get("/readyz").text
    assert set(mark.processes()) == programs
    moved.stop()
    # A runtime whose tasks are on remote machines starts as always: a volume moves between the nodes of Kubernetes.
    other = servers.start("--runtime", "none", state=server.state)
    wait_until(lambda: other.get("/readyz").status == 200, "it is ready")
    other.stop()
    adopted = servers.start("--adopt", state=server.state)
    wait_until(lambda: adopted.get("/readyz").status == 200, "it is ready")
    assert describe(adopted.boto(), arn)["lastStatus"] == "RUNNING"
    assert set(mark.processes()) == programs


def test_a_copy_without_tasks_starts_as_its_own(servers, tmp_path):
    server = servers.start()
    folder = copy_of(server, tmp_path / "copy")
    copy = servers.start(state=folder)
    wait_until(lambda: copy.get("/readyz").status == 200, "it is ready")
    assert server.get("/readyz").status == 200


def test_one_folder_has_one_server(servers, postgres_url):
    server = servers.start("--store", postgres_url)
    assert "is in use by another process" in refusal_of(servers, "--store", postgres_url, state=server.state)
    assert "is in use by another process" in refusal_of(servers, "--ephemeral", state=server.state)
    server.kill()
    again = servers.start("--store", postgres_url, state=server.state)
    wait_until(lambda: again.get("/readyz").status == 200, "the folder and the name are free at once")


def test_two_servers_with_one_host_name(servers, postgres_url, mark, tmp_path):
    """A copied `host`: the name belongs to the server that renews its lease."""
    server = servers.start("--store", postgres_url)
    ecs = server.boto()
    arn, = run(ecs, define(ecs, "long", container(mark, LONG)))
    running(ecs, arn)
    programs = set(mark.processes())
    for name in "host", "integrity.key", "admin-key.json":
        shutil.copy(os.path.join(server.state, name), tmp_path / name)
    message = refusal_of(servers, "--store", postgres_url, state=str(tmp_path))
    assert "has the name" in message and "'host'" in message
    assert set(mark.processes()) == programs
    assert server.get("/readyz").status == 200
    assert describe(ecs, arn)["lastStatus"] == "RUNNING"
    # Of a server that is gone the name is taken over when its lease is over. Tasks that do not run here are lost.
    server.kill()
    other = servers.start("--store", postgres_url, state=str(tmp_path))
    wait_until(lambda: other.get("/readyz").status == 200, "it has the name")
