"""A task that tries to misuse its server and its machine: it looks for keys, for the specs of other tasks and for their
secrets, and starts more processes than it may. On servers of root and of an ordinary user."""
import contextlib
import os
import shlex
import stat
import urllib.request
import uuid

import pytest

from conftest import Servers, slipway_program, wait_until
from test_run import define, exit_codes, run, running, stopped
from test_run_exec import slipway_run

ORDINARY = 65534
PROCESSES = 40
# Bounded, should the limit not hold.
MANY = "for i in $(seq 100); do sleep 1000 & done; echo all of them"
# In no other file of the machine.
OTHER, SECRET = (f"words-of-{name}-{uuid.uuid4().hex}" for name in ("the-other", "the-secret"))
LONG = {"command": ["sh", "-c", "exec sleep 1000"]}


class Confined:
    """A server with a folder of secrets, as root or as an ordinary user."""

    def __init__(self, user, monkeypatch):
        self.servers = Servers()
        self.folder = self.servers.folder
        self.secrets = os.path.join(self.folder, "secrets")
        state = os.path.join(self.folder, "state")
        config = os.path.join(self.folder, "slipway.yaml")
        for folder in (self.secrets, state):
            os.mkdir(folder, 0o700)
        self.write(os.path.join(self.secrets, "password"), SECRET)
        self.write(config, f"secrets: {self.secrets}\ntasks:\n  processesMax: {PROCESSES}\n")
        if user != os.geteuid():
            self.be_user(user, state, config, monkeypatch)
        self.server = self.servers.start("--config", config, state=state)
        self.ecs = self.server.boto()

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def be_user(self, user, state, config, monkeypatch):
        wrapper = os.path.join(self.folder, "slipway")
        self.write(wrapper, f'#!/bin/sh\nexec setpriv --reuid={user} --regid={user} --clear-groups '
                            f'{shlex.quote(slipway_program())} "$@"\n')
        os.chmod(wrapper, 0o755)
        os.chmod(self.folder, 0o755)
        for path in (self.secrets, state, config, os.path.join(self.secrets, "password")):
            os.chown(path, user, user)
        monkeypatch.setenv("SLIPWAY_BIN", wrapper)

    def output(self, script, **members):
        arn, = run(self.ecs, define(self.ecs, "spy", {
            "name": "app", "image": "host", "memory": 64, "command": ["sh", "-c", script], **members},
            executionRoleArn="arn:aws:iam::123456789012:role/r"))
        task = stopped(self.ecs, arn)
        return slipway_run(self.server, "logs", arn).stdout.decode(errors="replace"), exit_codes(task)["app"]


@pytest.fixture(params=[
    pytest.param(0, marks=pytest.mark.root, id="root"),
    pytest.param(ORDINARY, marks=pytest.mark.root, id="ordinary user"),
] if os.geteuid() == 0 else [pytest.param(os.geteuid(), id="ordinary user")])
def confined(request, monkeypatch):
    server = Confined(request.param, monkeypatch)
    yield server
    monkeypatch.undo()
    server.servers.end()


def test_a_task_finds_neither_keys_nor_other_tasks(confined):
    ecs, state = confined.ecs, confined.server.state
    other, = run(ecs, define(ecs, "other", {
        "name": "app", "image": "host", "memory": 64, **LONG,
        "environment": [{"name": "V", "value": OTHER}],
        "secrets": [{"name": "S", "valueFrom": "password"}]},
        executionRoleArn="arn:aws:iam::123456789012:role/r"))
    running(ecs, other)
    spec = os.path.join(state, "tasks", other.rpartition("/")[2], "spec.json")
    assert OTHER in open(spec, encoding="utf-8").read()
    paths = [f"{state}/*", f"{state}/tasks/*/*", f"{confined.secrets}/*", f"/proc/[0-9]*/root{state}/*", "/proc/[0-9]*/environ",
             "/proc/[0-9]*/cwd/spec.json", "/proc/[0-9]*/cwd/../*", "/proc/[0-9]*/cwd/../../*", "/proc/[0-9]*/fd/*.json"]
    # In halves, so that the program's own text is no finding. Of the files of other programs only the names are printed.
    secrets = [confined.server.key["secretAccessKey"], OTHER, SECRET]
    patterns = " ".join(f"-e {shlex.quote(words[:8])}''{shlex.quote(words[8:])}" for words in secrets)
    found, code = confined.output(
        "test -d " + state + " && echo begin; for f in " + " ".join(paths) +
        f'; do test -f "$f" && timeout 5 grep -alF {patterns} "$f" | sed "s/^/found in /"; done; '
        f"umount {state}; ls -la {state}; echo end")
    assert code == 0 and found.startswith("begin\n") and found.endswith("end\n"), found
    assert "found in" not in found and "admin-key.json" not in found, found
    ecs.stop_task(task=other)
    stopped(ecs, other)


def test_a_task_has_a_bounded_number_of_processes(confined):
    found, code = confined.output(MANY)
    assert "all of them" not in found and code != 0
    # Another one starts meanwhile, and a bomb can be stopped.
    bomb, = run(confined.ecs, define(confined.ecs, "bomb", {
        "name": "app", "image": "host", "memory": 64, "stopTimeout": 2,
        "command": ["sh", "-c", "b() { b | b & }; b; exec sleep 1000"]}))
    running(confined.ecs, bomb)
    assert confined.output("echo well") == ("well\n", 0)
    confined.ecs.stop_task(task=bomb)
    stopped(confined.ecs, bomb)


def test_secrets_leave_the_files_of_a_task(confined):
    """The task has them, and the folder of the task is its owner's alone."""
    said, code = confined.output('echo "$S"', secrets=[{"name": "S", "valueFrom": "password"}])
    assert (said, code) == (SECRET + "\n", 0)
    tasks = os.path.join(confined.server.state, "tasks")
    assert stat.S_IMODE(os.stat(tasks).st_mode) == 0o700
    for folder, _, names in os.walk(tasks):
        for name in names:
            path = os.path.join(folder, name)
            if name.startswith("spec"):
                with open(path, encoding="utf-8") as file:
                    assert SECRET not in file.read(), path


def test_programs_still_serve_on_their_task_s_address(confined):
    """Two on one port: without networks of their own their binds are redirected, across the user namespace."""
    family = define(confined.ecs, "serve", {
        "name": "app", "image": "host", "memory": 128, "portMappings": [{"containerPort": 8017}],
        "command": ["sh", "-c", "exec /usr/bin/python3 -m http.server 8017"], "workingDirectory": "/usr/include/linux"},
        networkMode="awsvpc")
    arns = [run(confined.ecs, family, networkConfiguration={"awsvpcConfiguration": {"subnets": ["subnet-1"]}})[0]
            for _ in range(2)]
    addresses = set()
    for arn in arns:
        task = running(confined.ecs, arn)
        address, = (item["value"] for item in task["attachments"][0]["details"] if item["name"] == "privateIPv4Address")
        addresses.add(address)

        def answer(address=address):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{address}:8017/", timeout=5) as response:
                return response.status
            return None

        assert wait_until(answer, f"{address} answers") == 200
        assert slipway_run(confined.server, "exec", arn, "--", "sh", "-c", f"ls {confined.server.state} 2>&1; exit 9"
                           ).returncode == 9
    assert len(addresses) == 2
    for arn in arns:
        confined.ecs.stop_task(task=arn)
        stopped(confined.ecs, arn)
