"""The output of the command about environments during changes."""
import fcntl
import http.server
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading

import pytest

from conftest import DEADLINE, slipway_program, wait_until
from fleets import Fleet, Gate, env_command
from test_environment_types import Typed

INSTANCES = 5
SERVER_ARGUMENTS = ["--instances", str(INSTANCES)]


@pytest.fixture(name="fleet")
def new_fleet(slipway):
    fleet = Fleet(slipway)
    yield fleet
    fleet.remove()


def run_env(server, *words):
    """The command as it has ended: returncode, stdout, stderr."""
    return subprocess.run([slipway_program(), "env", *words, "--server", server.url, "--state",
                           server.state], capture_output=True, text=True, timeout=2 * DEADLINE,
                          stdin=subprocess.DEVNULL, check=False)


class Watching:
    """A command that continues until the end of the block, and what it has said."""

    def __init__(self, server, path, *words):
        self.path = path
        self.command = [slipway_program(), "env", *words, "--server", server.url, "--state",
                        server.state]

    def __enter__(self):
        with open(self.path, "wb") as out:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=subprocess.STDOUT)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def lines(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read().splitlines()

    def wait_for(self, line):
        """A line that matches as a whole; it."""
        def found():
            assert self.process.poll() is None, self.lines()
            return next((each for each in self.lines() if re.fullmatch(line, each)), None)

        return wait_until(found, f"{line} is said")


def test_status_is_watched(fleet, tmp_path):
    """A line for each change, with how many are replaced and how the others are."""
    with Gate() as gate:
        one = gate.define(fleet, 1)
        fleet.roll_out(one, minHealthyPercent=60)
        gate.ready(fleet, 1)
        with Watching(fleet.server, os.fspath(tmp_path / "said"), "status", fleet.name,
                      "--watch") as status:
            status.wait_for(f".*{re.escape(one)}: {INSTANCES} of {INSTANCES} tasks active")
            status.wait_for("5/5 replaced, 5 active 0 launching 0 unhealthy 0 missing")
            identifier = fleet.deploy(fleet.update(fleet.define(2)))
            gate.wait_for(2)
            status.wait_for(r"0/5 replaced, 3 active .*  in-progress.*")
            gate.let(*gate.asked())
            gate.wait_for(4)
            status.wait_for(r"2/5 replaced, 3 active .*  in-progress.*")
            gate.open()
            fleet.wait_for(identifier, "completed")
            wait_until(lambda: status.lines()[-1]
                       == "5/5 replaced, 5 active 0 launching 0 unhealthy 0 missing",
                       "that it is over is said")
            lines = [line for line in status.lines() if "replaced" in line]
            assert all(one != other for one, other in zip(lines, lines[1:])), "only what is new"
            done = [int(line.split("/")[0]) for line in lines if "in-progress" in line]
            assert done == sorted(done) and {0, 2} <= set(done)


def test_what_is_in_progress_is_stopped(fleet):
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=60)
        identifier = fleet.deploy(fleet.update(fleet.define(2)))
        asked = gate.wait_for(2)
        said = env_command(fleet.server, "stop", fleet.name)
        assert identifier in said, said
        fleet.wait_for(identifier, "stopped")
        assert "inactive" in env_command(fleet.server, "status", fleet.name)
        history = env_command(fleet.server, "history", fleet.name)
        assert "stopped" in history and "completed" in history
        gate.open()
        wait_until(lambda: not asked & fleet.mark.tasks(), "what was asked to stop has")
        assert "no deployment in progress" in env_command(fleet.server, "stop", fleet.name, code=1)
        assert set(gate.asked()) == asked and not fleet.mark.tasks(VERSION="2")
        assert len(fleet.mark.tasks(VERSION="1")) == INSTANCES - 2


# ---- options ----

@pytest.mark.parametrize("verb, option", [
    ("deploy", ["--min-healthy", "20"]), ("list", ["--watch"]), ("history", ["--type", "Service"]),
    ("update", ["--type", "Service"]), ("create", ["--base-version", "123"]),
    ("create", ["--version", "123"]), ("create", ["--status", "bad"]), ("create", ["--watch"]),
    ("create", ["--terminate-tasks"]), ("diff", ["--watch"]), ("rollback", ["--cluster=c"]),
    ("stop", ["--watch"]), ("delete", ["--version", "1"]), ("status", ["--status", "active"]),
    ("deployments", ["--type", "Cron"]), ("pause", ["--watch"]), ("resume", ["--watch"]),
    ("versions", ["--status", "x"]),
])
def test_an_option_of_another_verb_is_refused(slipway, verb, option):
    name = [] if verb in ("list", "deployments") else ["absent"]
    needed = ["--cluster", "default", "--task-definition", "none:1"] if verb == "create" else []
    done = run_env(slipway, verb, *name, *needed, *option)
    assert done.returncode == 2 and done.stdout == "", done
    assert f"slipway env {verb}: unknown option '{option[0]}'" in done.stderr


def test_nothing_is_begun_with_an_option_of_another_verb(fleet):
    fleet.create(fleet.define(1))
    assert run_env(fleet.server, "deploy", fleet.name, "--min-healthy", "20").returncode == 2
    assert not fleet.deployments() and fleet.get()["status"] == "inactive"


def help_of(*words):
    return subprocess.run([slipway_program(), "env", *words, "--help"], capture_output=True,
                          text=True, timeout=DEADLINE, stdin=subprocess.DEVNULL, check=True).stdout


def test_each_verb_has_its_help():
    overview = help_of()
    verbs = re.findall(r"^  ([a-z]+)  ", overview, re.MULTILINE)
    assert {"create", "update", "diff", "deploy", "rollback", "stop", "pause", "resume", "delete",
            "status", "history", "versions", "deployments", "list"} == set(verbs)
    assert all(f"\n  {code}  " in overview for code in range(5)), "exit codes"
    options = {}
    for verb in verbs:
        said = help_of(verb)
        assert said.startswith(f"Usage: slipway env {verb} ") and "-o json" in said
        assert f"slipway env {verb}" in said[said.index("\nExample:\n"):], said
        assert all(len(line) <= 100 for line in said.splitlines()), said
        options[verb] = set(re.findall(r"^  --([a-z-]+)", said, re.MULTILINE))
    common = set.intersection(*options.values())
    assert common == {"server", "state", "ca"}
    assert options["deploy"] - common == {"version", "watch", "max-failures"}
    assert options["stop"] == options["pause"] == options["versions"] == common
    assert options["list"] - common == {"type", "status", "health", "cluster", "target",
                                        "attributes", "prefix"}
    assert "ctrl-c" in help_of("status") and "0 to 1000" in help_of("create")
    # As options may stand before the verb, its help is found behind them, too.
    assert help_of("--server", "deploy", "list") == help_of("list")


@pytest.mark.parametrize("words, complaint", [
    (["foo"], "unknown verb 'foo'; use one of create, update, "),
    ([], "use one of create, update, "),
    (["create", "x", "y"], "unexpected argument 'y'; this verb takes one name"),
    (["create"], "NAME of the environment is missing"),
    (["list", "x"], "unexpected argument 'x'; this verb takes no name"),
    (["status", "X_y!"], "invalid environment name 'X_y!': use 1 to 30 letters, digits, "
                         "- and _"),
    (["status", "-x"], "unknown option '-x'"),
    (["status", "a" * 31], "1 to 30 letters"),
    (["status", "_x"], "begin with a letter or digit"),
    (["stop", "x", "y/z"], "invalid deployment ID 'y/z'"),
    (["update", "x"], "nothing to change"),
    (["update", "x", "--status", "going"], "invalid value 'going'; use active or inactive"),
    (["update", "x", "--min-healthy", "-1"], "--min-healthy: '-1' is not a whole number from 0 to 100"),
    (["update", "x", "--min-healthy", "101"], "from 0 to 100"),
    (["update", "x", "--min-healthy", "x"], "from 0 to 100"),
    (["update", "x", "--timeout", "0"], "--timeout: '0' is not a whole number from 1 to 2592000"),
    (["update", "x", "--priority", "1001"], "from 0 to 1000"),
    (["deploy", "x", "--version", "abc"], "--version: 'abc' is not a version; use its number"),
    (["list", "-o=yaml"], "unknown output format 'yaml'; use -o json"),
])
def test_usage_errors_are_explained(slipway, words, complaint):
    done = run_env(slipway, *words)
    assert done.returncode == 2 and complaint in done.stderr and not done.stdout, done


def test_an_option_without_value(slipway):
    done = subprocess.run([slipway_program(), "env", "list", "-o"], capture_output=True, text=True,
                          timeout=DEADLINE, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 2 and "slipway env list: -o needs a value" in done.stderr, done
    assert run_env(slipway, "update", "absent", "--priority", "0").returncode == 1, "it may be 0"


def test_exit_codes(slipway):
    assert run_env(slipway, "list").returncode == 0
    assert run_env(slipway, "status", "absent").returncode == 1
    # The server is down.
    for words in (["list"], ["status", "x"], ["deploy", "x", "--watch"], ["delete", "x"],
                  ["create", "x", "--cluster", "c", "--task-definition", "t"], ["history", "x"],
                  ["update", "x", "--count", "1"], ["stop", "x"], ["versions", "x"], ["pause", "x"]):
        done = subprocess.run(
            [slipway_program(), "env", *words, "--server", "http://127.0.0.1:1", "--state",
             slipway.state], capture_output=True, text=True, timeout=DEADLINE, check=False,
            stdin=subprocess.DEVNULL)
        assert done.returncode == 4 and "127.0.0.1:1" in done.stderr, done


# ---- lists ----

def test_lists_are_filtered(slipway):
    one, two = Fleet(slipway), Typed(slipway, "Cron")
    slipway.boto("ecs").create_cluster(clusterName=one.name)

    def found(*words):
        said = json.loads(env_command(slipway, "list", *words, "-o", "json"))
        names = {item["name"] for item in said["environments"]}
        table = env_command(slipway, "list", *words)
        assert {name for name in (one.name, two.name) if name in table} == names & {one.name,
                                                                                    two.name}
        return names & {one.name, two.name}

    try:
        one.api.create_environment(
            name=one.name, taskDefinition=one.define(1),
            instanceGroup={"cluster": one.name, "attributes": ["stack=a b:c/d", "gpu"]})
        two.wait_for(two.deploy(two.create(two.define(1), schedule="rate(3 hours)")), "completed")
        assert found() == {one.name, two.name}
        assert found("--type", "Cron") == {two.name}
        assert found("--status", "inactive") == {one.name}
        assert found("--health", "healthy") == {one.name, two.name}
        assert found("--cluster", one.name) == {one.name} and found("--cluster", "nope") == set()
        assert found("--cluster", one.get()["instanceGroup"]["cluster"]) == {one.name}
        assert found("--target", "local", "--type", "Cron") == {two.name}
        assert found("--attributes", "gpu,stack=a b:c/d") == {one.name}
        assert found("--attributes", "gpu,stack=a") == set()
        assert found("--prefix", two.name[:10]) == {two.name}
        assert found("--prefix", two.name[:10], "--type", "Daemon") == set()
        assert "type: " in env_command(slipway, "list", "--type", "nope", code=1)
    finally:
        one.remove()
        two.remove()


def test_lists_have_no_end_in_the_middle(start_slipway):
    """More than a page of environments, versions and deployments."""
    server = start_slipway()
    cron = Typed(server, "Cron")
    definition = cron.define(1)
    versions = [cron.create(definition, schedule="rate(3 hours)"),
                *(cron.update(definition) for _ in range(104))]
    # One that waits is canceled by the next.
    made = [cron.api.rollback_deployment(name=cron.name, environmentVersion=versions[number % 2])[
        "deploymentId"] for number in range(105)]
    assert len(set(made)) == 105
    names = {cron.name}
    for number in range(104):
        names.add(f"{cron.name}-{number}")
        cron.api.create_environment(
            name=f"{cron.name}-{number}", environmentType="Cron", taskDefinition=definition,
            instanceGroup={"cluster": "default"},
            deploymentConfiguration={"schedule": "rate(3 hours)"})
    assert {line.split()[0] for line in env_command(server, "list").splitlines()[1:]} == names
    wait_until(lambda: cron.get()["status"] == "active" and "activeDeployment" not in cron.get(),
               "nothing waits")
    said = env_command(server, "history", cron.name).splitlines()
    assert [line.split()[0] for line in said[1:]] == made[::-1]
    said = json.loads(env_command(server, "history", cron.name, "-o", "json"))
    ended = {item["deploymentId"]: item["status"] for item in said["deployments"]}
    assert set(ended) == set(made) and "nextToken" not in said
    canceled = env_command(server, "history", cron.name, "--status", "canceled").splitlines()
    assert {line.split()[0] for line in canceled[1:]} == {
        identifier for identifier, status in ended.items() if status == "canceled"} != set()
    assert len(canceled) - 1 == list(ended.values()).count("canceled")
    said = env_command(server, "versions", cron.name).splitlines()
    assert [line.split()[:2] for line in said[1:]] == [
        [str(number), versions[number - 1]] for number in range(105, 0, -1)]
    assert "latest" in said[1] and "deployed" not in said[1]


# ---- pausing ----

def test_an_environment_is_paused_and_resumed(fleet):
    fleet.roll_out(fleet.define(1))
    said = env_command(fleet.server, "update", fleet.name, "--status", "inactive")
    assert "is inactive" in said and f"slipway env resume {fleet.name}" in said
    assert fleet.get()["status"] == "inactive"
    task = sorted(fleet.mark.tasks())[0]
    for pid, environment in fleet.mark.processes().items():
        if environment["SLIPWAY_TASK"] == task:
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(fleet.places()) == INSTANCES - 1, "its task has stopped")
    assert "inactive" in env_command(fleet.server, "status", fleet.name)
    assert "is active" in env_command(fleet.server, "resume", fleet.name)
    wait_until(lambda: len(fleet.places()) == INSTANCES, "all have a task again")
    assert fleet.get()["status"] == "active"
    assert json.loads(env_command(fleet.server, "pause", fleet.name, "-o", "json"))["name"] == fleet.name
    assert fleet.get()["status"] == "inactive"


def test_a_schedule_is_paused_and_resumed(slipway):
    cron = Typed(slipway, "Cron")
    try:
        cron.wait_for(cron.deploy(cron.create(cron.define(1), schedule="rate(3 hours)")), "completed")
        assert "nextRunAt" in cron.state()
        env_command(slipway, "pause", cron.name)
        assert "nextRunAt" not in cron.state() and cron.get()["status"] == "inactive"
        env_command(slipway, "resume", cron.name)
        assert "nextRunAt" in cron.state() and cron.get()["status"] == "active"
    finally:
        cron.remove()


# ---- watching ----

def test_a_failed_rollout_is_watched_until_it_is_taken_back(fleet):
    fleet.roll_out(fleet.define(1))
    fleet.update(fleet.define(2, "exit 3"), deploymentConfiguration={
        "timeoutSeconds": 3, "onFailure": "rollback"})
    done = run_env(fleet.server, "deploy", fleet.name, "--watch")
    assert done.returncode == 3, done
    back, asked = fleet.deployments()[:2]
    assert back["rollback"] and back["status"] == "completed" and asked["status"] == "timed-out"
    lines = done.stdout.splitlines()
    assert lines[0] == f"Deployment {asked['deploymentId']}"
    begun = f"Rollback {back['deploymentId']} was begun because of it"
    assert begun in lines and any(re.match(r"5/5 replaced.* completed", line)
                                  for line in lines[lines.index(begun):])
    assert not any("completed" in line for line in lines[:lines.index(begun)]), "its own progress"
    assert lines[-1] == (f"Deployment {asked['deploymentId']}: timed-out: {asked['statusReason']}; "
                         f"rollback {back['deploymentId']}: completed")
    failed = fleet.deployment(asked["deploymentId"])["failedInstances"]
    assert failed
    for item in failed:
        assert f"  {item['instance']}: {item['reason']}" in lines
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    said = env_command(fleet.server, "status", fleet.name)
    assert f"(last deployment timed-out: {asked['statusReason']})" in said
    assert "(deployed)" not in said and "timeout 3 s, on failure rollback" in said
    said = env_command(fleet.server, "history", fleet.name).splitlines()
    assert re.search(rf"{back['deploymentId']}  user, rollback  completed +1  {fleet.name}:1 ", said[1])
    assert re.search(rf"{asked['deploymentId']}  user +timed-out +2  {fleet.name}:2 .* 0/5 +"
                     rf"{re.escape(asked['statusReason'])}$", said[2])
    created = asked["createdAt"].strftime("%Y-%m-%d %H:%M:%S")
    assert created in said[2]


def test_what_waits_and_is_canceled_is_watched(fleet, tmp_path):
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=60)
        running = fleet.deploy(fleet.update(fleet.define(2)))
        gate.wait_for(2)
        fleet.update(fleet.define(3))
        with Watching(fleet.server, os.fspath(tmp_path / "said"), "deploy", fleet.name,
                      "--watch") as watching:
            watching.wait_for(rf"pending behind {running}: 0/5 replaced, .* in-progress.*")
            waiting = watching.lines()[0].removeprefix("Deployment ")
            done = run_env(fleet.server, "update", fleet.name, "--min-healthy", "50")
            assert done.returncode == 0
            assert done.stderr == (f"slipway: deployment {waiting}, which had not begun, was canceled "
                                   "by this update\n")
            assert watching.process.wait(DEADLINE) == 3
            assert watching.lines()[-1] == f"Deployment {waiting}: canceled: SUPERSEDED"
        assert fleet.deployment(running)["status"] != "completed"
        done = run_env(fleet.server, "update", fleet.name, "--min-healthy", "60")
        assert done.returncode == 0 and not done.stderr, "nothing is canceled"
        gate.open()
        fleet.wait_for(running, "completed")


def test_a_rollback_by_hand_is_reported(fleet, tmp_path):
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=60)
        fleet.update(fleet.define(2))
        with Watching(fleet.server, os.fspath(tmp_path / "said"), "deploy", fleet.name,
                      "--watch") as watching:
            gate.wait_for(2)
            back = fleet.api.rollback_deployment(name=fleet.name)["deploymentId"]
            assert watching.process.wait(DEADLINE) == 3
            identifier = watching.lines()[0].removeprefix("Deployment ")
            assert re.match(f"Deployment {identifier}: stopped: ROLLED_BACK; rollback {back}: ",
                            watching.lines()[-1])
        gate.open()
        fleet.wait_for(back, "completed")


def test_watching_outlives_the_server(start_slipway, tmp_path):
    server = start_slipway()
    fleet = Fleet(server)
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=60)
        fleet.update(fleet.define(2))
        with Watching(server, os.fspath(tmp_path / "said"), "deploy", fleet.name,
                      "--watch") as watching:
            gate.wait_for(2)
            server.kill()
            watching.wait_for("slipway: the server does not answer, trying again")
            server = start_slipway("--listen", server.url.removeprefix("http://"), state=server.state)
            gate.open()
            assert watching.process.wait(DEADLINE) == 0, watching.lines()
            lines = watching.lines()
            assert re.match("Deployment .*: completed$", lines[-1])
            assert sum("trying again" in line for line in lines) == 1


class Moody(http.server.BaseHTTPRequestHandler):
    """Answers as a server does that is busy, not ready or on its way down, before it says how a deployment has ended."""
    moods = []  # of the class that a test makes

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.answer(202, b'{"deploymentId":"d1","status":"pending"}')

    def do_GET(self):
        if "/deployments/" not in self.path:
            self.answer(200, b'{"name":"x","environmentType":"Service","latestVersion":"v1","counts":{}}')
        elif not self.moods:
            self.answer(200, b'{"deploymentId":"d1","status":"completed","completed":1,"total":1}')
        elif mood := self.moods.pop(0):
            self.answer(*mood)
        else:
            self.close_connection = True  # without a word

    def log_message(self, *_):
        pass


def test_watching_outlives_moods_of_a_server(slipway):
    busy = b'{"code":"ThrottlingException","message":"too fast"}'
    moods = [(503, busy), (429, busy), None, (502, b"<html>"), (504, b"")]
    handler = type("Handler", (Moody,), {"moods": moods})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def run(*words):
            return subprocess.run(
                [slipway_program(), "env", *words, "--server",
                 f"http://127.0.0.1:{server.server_port}", "--state", slipway.state],
                capture_output=True, text=True, timeout=DEADLINE, stdin=subprocess.DEVNULL,
                check=False)

        try:
            done = run("deploy", "x", "--watch")
            assert done.returncode == 0 and not moods, done
            assert done.stderr == "slipway: the server does not answer, trying again\n"
            assert done.stdout.splitlines()[-1] == "Deployment d1: completed"
            moods.append((403, busy))
            done = run("deploy", "x", "--watch")
            assert done.returncode == 1 and "too fast" in done.stderr, "that does not pass"
        finally:
            server.shutdown()


def test_watching_in_json(fleet):
    fleet.create(fleet.define(1))
    done = run_env(fleet.server, "deploy", fleet.name, "--watch", "-o", "json")
    assert done.returncode == 0 and not done.stderr, done
    items = [json.loads(line) for line in done.stdout.splitlines()]
    last = fleet.deployments()[0]
    assert len(items) >= 2 and {item["deploymentId"] for item in items} == {last["deploymentId"]}
    assert items[-1]["status"] == "completed" and items[-1]["completed"] == INSTANCES
    assert all("active" in item["counts"] for item in items[:-1])
    fleet.update(fleet.define(2, "exit 3"), deploymentConfiguration={
        "timeoutSeconds": 2, "onFailure": "rollback"})
    done = run_env(fleet.server, "deploy", fleet.name, "--watch", "-o", "json")
    assert done.returncode == 3
    items = [json.loads(line) for line in done.stdout.splitlines()]
    back, asked = fleet.deployments()[:2]
    assert items[-1]["deploymentId"] == asked["deploymentId"] and items[-1]["status"] == "timed-out"
    assert items[-1]["rollbackDeployment"]["deploymentId"] == back["deploymentId"]
    assert items[-1]["rollbackDeployment"]["status"] == "completed"
    said = json.loads(env_command(fleet.server, "delete", fleet.name, "--terminate-tasks", "-o", "json"))
    assert said == {"name": fleet.name, "status": "deleting"}


def test_status_is_watched_until_ctrl_c(fleet, tmp_path):
    fleet.create(fleet.define(1))
    with Watching(fleet.server, os.fspath(tmp_path / "said"), "status", fleet.name,
                  "--watch") as status:
        status.wait_for("0/5 replaced, .* 5 missing")
        status.process.send_signal(signal.SIGINT)
        assert status.process.wait(DEADLINE) == 0
    with Gate() as gate:
        gate.roll_out(other := Fleet(fleet.server), minHealthyPercent=60)
        identifier = other.deploy(other.update(other.define(2)))
        gate.wait_for(2)
        with Watching(fleet.server, os.fspath(tmp_path / "said"), "deploy", other.name,
                      "--watch") as deploy:
            deploy.wait_for("0/5 replaced, .*in-progress.*")
            deploy.process.send_signal(signal.SIGINT)
            assert deploy.process.wait(DEADLINE) == 130
            assert "the deployment continues without you" in deploy.lines()[-1]
        assert other.deployment(identifier)["status"] == "in-progress"
        gate.open()
        other.wait_for(identifier, "completed")
        other.remove()


def on_terminal(server, columns, *words):
    """The output of the command on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([slipway_program(), "env", *words, "--server", server.url, "--state",
                           server.state], stdin=subprocess.DEVNULL, stdout=theirs,
                          stderr=subprocess.PIPE) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other side is closed
                piece = b""
            if not piece:
                break
            said += piece
        os.close(ours)
        assert process.wait(DEADLINE) == 0
    return said.decode()


@pytest.mark.parametrize("columns", [40, 20, 120])
def test_progress_is_one_line_of_the_terminal(fleet, columns):
    fleet.create(fleet.define(1))
    said = on_terminal(fleet.server, columns, "deploy", fleet.name, "--watch")
    shown = re.findall(r"\r\x1b\[K([^\r]*)", said)
    assert shown and all(len(line) < columns for line in shown), said
    whole = "5/5 replaced, 5 active 0 launching 0 unhealthy 0 missing  completed"
    assert shown[-1] == whole[:columns - 1]


# ---- versions ----

def test_versions_have_numbers(fleet):
    versions = [fleet.create(fleet.define(1)), fleet.update(fleet.define(2)),
                fleet.update(fleet.define(3))]
    env_command(fleet.server, "deploy", fleet.name, "--version", "1", "--watch")
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    said = env_command(fleet.server, "versions", fleet.name).splitlines()
    assert [line.split()[:2] for line in said[1:]] == [
        [str(number), versions[number - 1]] for number in (3, 2, 1)]
    assert [line.split()[4:] for line in said[1:]] == [
        [f"{fleet.name}:3", "latest"], [f"{fleet.name}:2"], [f"{fleet.name}:1", "deployed"]]
    assert ":2" in env_command(fleet.server, "diff", fleet.name, "--version", versions[1][:8])
    env_command(fleet.server, "deploy", fleet.name, "--version", versions[1][:13], "--watch")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    env_command(fleet.server, "rollback", fleet.name, "--version", "1", "--watch")
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    assert f"environment {fleet.name} has no version 4" in env_command(
        fleet.server, "deploy", fleet.name, "--version", "4", code=1)
    assert "has no version zzzzzzzz" in env_command(
        fleet.server, "deploy", fleet.name, "--version", "zzzzzzzz", code=1)
    assert "VersionConflictException" in env_command(
        fleet.server, "update", fleet.name, "--min-healthy", "50", "--base-version", "2", code=1)
    env_command(fleet.server, "update", fleet.name, "--min-healthy", "50", "--base-version", "3")
    assert len(fleet.deployments()) == 3


# ---- output ----

def test_status_prints_the_configuration(fleet):
    fleet.create(fleet.define(1), attributes=["stack=none", "gpu"], minHealthyPercent=70,
                 canary={"instances": 2, "bakeSeconds": 30}, timeoutSeconds=900)
    said = env_command(fleet.server, "status", fleet.name)
    assert re.search(r"^  attributes +stack=none, gpu$", said, re.MULTILINE), said
    assert re.search(r"^  rollout +min healthy 70%, timeout 900 s, canary 2 for 30 s, on failure stop$",
                     said, re.MULTILINE), said
    assert re.search(r"\(not deployed\)$", said, re.MULTILINE)
    assert re.search(rf"^  latest version   1, {fleet.get()['latestVersion']}$", said, re.MULTILINE)
    done = run_env(fleet.server, "deploy", fleet.name, "--watch")
    assert done.returncode == 5 and "completed" in done.stdout
    assert f"matches environment {fleet.name} now" in done.stderr
    assert "(deployed)" in env_command(fleet.server, "status", fleet.name)
    assert fleet.mark.tasks() == set()


def test_stopping_and_deleting_are_reported(fleet):
    one = fleet.define(1)
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=60)
        identifier = fleet.deploy(fleet.update(fleet.define(2)))
        gate.wait_for(2)
        waiting = fleet.deploy(fleet.update(fleet.define(3)))
        said = env_command(fleet.server, "stop", fleet.name, waiting)
        assert "canceled" in said and "inactive" not in said
        waiting = fleet.deploy(fleet.update(fleet.define(4)))
        found = fleet.get()
        assert found["inProgressDeployment"]["deploymentId"] == identifier
        assert found["pendingDeployment"]["deploymentId"] == waiting
        said = env_command(fleet.server, "stop", fleet.name)
        # It begins as soon as the manager has seen that, which may be before the command asks what is next.
        assert f"Deployment {identifier} is" in said and "inactive now" not in said
        assert f"Deployment {waiting}, which waited, is next" in said or "is active." in said, said
        identifier = waiting
        fleet.wait_for(waiting, "in-progress")
        said = env_command(fleet.server, "stop", fleet.name)
        assert identifier in said and "is inactive now" in said and "not replaced" in said
        assert f"slipway env deploy {fleet.name}" in said
        fleet.wait_for(identifier, "stopped")
        gate.open()
        said = env_command(fleet.server, "delete", fleet.name)
        assert said == f"Environment {fleet.name} is being deleted; its tasks stay.\n"
    wait_until(lambda: not fleet.exists(), "it is gone")
    assert fleet.mark.tasks()
    said = env_command(fleet.server, "create", fleet.name, "--cluster", "default",
                       "--task-definition", one)
    assert "Nothing runs" not in said and f"slipway env deploy {fleet.name}" in said


def test_what_is_deleted_twice(fleet):
    with Gate() as gate:
        gate.roll_out(fleet)
        assert "its tasks are stopped" in env_command(fleet.server, "delete", fleet.name,
                                                      "--terminate-tasks")
        gate.wait_for(INSTANCES)
        said = env_command(fleet.server, "delete", fleet.name)
        assert said == f"Environment {fleet.name} is being deleted already.\n"
        gate.open()


def test_schedules_replace_nothing(slipway):
    cron = Typed(slipway, "Cron")
    try:
        version = cron.create(cron.define(1, "exit 3"), schedule="rate(1 hour)")
        said = env_command(slipway, "diff", cron.name)
        assert said == "Nothing is deployed yet: all of it is new.\n"
        cron.wait_for(cron.deploy(version), "completed")
        assert env_command(slipway, "diff", cron.name) == "As what is deployed.\n"
        cron.update(cron.define(2, "exit 3"), deploymentConfiguration={"schedule": "rate(2 hours)"})
        said = env_command(slipway, "diff", cron.name)
        assert "to start" not in said and 'schedule: "rate(1 hour)" -> "rate(2 hours)"' in said
        said = env_command(slipway, "status", cron.name)
        assert "replaced" not in said and "launching" not in said and "next run  " in said
        assert "replaced" not in env_command(slipway, "list", "--prefix", cron.name)
    finally:
        cron.remove()


def test_a_diff_gives_reasons(fleet):
    fleet.roll_out(fleet.define(1))
    done = run_env(fleet.server, "update", fleet.name, "--attributes", "stack=none")
    assert done.returncode == 0, done
    said = env_command(fleet.server, "diff", fleet.name)
    assert len(re.findall(r"^- stop on \w+: NO_MATCH$", said, re.MULTILINE)) == INSTANCES, said


def test_a_diff_of_a_service_lists_the_changed_members(slipway):
    service = Typed(slipway, "Service")
    try:
        version = service.create(service.define(1), desiredCount=2)
        assert "all of it is new" in env_command(slipway, "diff", service.name)
        service.wait_for(service.deploy(version), "completed")
        service.update(service.define(2), deploymentConfiguration={"desiredCount": 3})
        said = env_command(slipway, "diff", service.name)
        assert "to start" not in said and "desiredCount: 2 -> 3" in said
        assert re.search(r'^taskDefinition: ".*:1" -> ".*:2"$', said, re.MULTILINE)
    finally:
        service.remove()
