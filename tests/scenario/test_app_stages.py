"""Stages that wait for people, run commands or tasks, or take samples: applications whose pipelines have nothing else."""
import http.server
import json
import os
import subprocess
import threading
import time

import pytest
from applications import Application, user
from balancing import free_port
from conftest import DEADLINE, wait_until
from rest_requests import ask

SERVER_ARGUMENTS = ["--pipeline-scripts"]


class Pipeline(Application):
    """An application without a service: generic stages only."""

    def __init__(self, server, folder, name):
        super().__init__(server, folder, name)
        self.spec = {"name": name}

    def write(self):
        self.put("app.pipecd.yaml", {"apiVersion": "pipecd.dev/v1beta1", "kind": "KubernetesApp",
                                     "spec": self.spec})

    def wait_for_stage(self, number, index, state="RUNNING"):
        def condition():
            shown = self.show(number)
            stages = shown["stages"]
            if len(stages) > index and stages[index]["state"] == state:
                return stages[index]
            assert shown["state"] in ("PENDING", "RUNNING"), shown
            return None

        return wait_until(condition, f"stage {index} is {state}")


@pytest.fixture
def app(slipway, tmp_path):
    return Pipeline(slipway, tmp_path / "app", f"app-{tmp_path.name[-12:].strip('_-')}")


def states(deployment):
    return [(stage["kind"], stage["state"]) for stage in deployment["stages"]]


# ---- scripts ----

def test_a_script_fails_and_is_rolled_back(app, tmp_path):
    """Scenario 47: the environment, the exit code, and onRollback only of stages that have started."""
    notes = tmp_path / "notes"
    note = f"echo $SR_IS_ROLLBACK $SR_APPLICATION_NAME $EXTRA >> {notes}"
    app.pipeline(
        ("SCRIPT_RUN", {"run": f"echo out; {note}", "onRollback": f"echo one >> {notes}; {note}",
                        "env": {"EXTRA": "x"}}),
        ("SCRIPT_RUN", {"run": f'test -n "$SR_DEPLOYMENT_ID" || exit 4; {note}; exit 3',
                        "onRollback": f"echo two >> {notes}"}),
        ("SCRIPT_RUN", {"run": "true", "onRollback": f"echo three >> {notes}"}))
    ended = app.sync()
    assert ended["state"] == "FAILURE" and "exit code 3" in ended["reason"], ended
    assert [state for _, state in states(ended)] == ["SUCCESS", "FAILURE", "CANCELLED", "SUCCESS"]
    assert notes.read_text().split("\n")[:-1] == [
        f"false {app.name} x", f"false {app.name}", "two", "one", f"true {app.name} x"]
    assert "| out" in app.log()


def test_a_timeout_kills_the_whole_group(app, tmp_path):
    """Scenario 47."""
    pids = tmp_path / "pids"
    app.pipeline(("SCRIPT_RUN", {"run": f"sleep 1000 & echo $! $$ > {pids}; wait",
                                 "timeout": "1s"}))
    ended = app.sync()
    assert ended["state"] == "FAILURE" and "timed out" in ended["reason"], ended
    for pid in pids.read_text().split():
        wait_until(lambda pid=pid: not os.path.exists(f"/proc/{pid}"), f"process {pid} is gone")


def test_a_cancelled_script_is_killed(app, tmp_path):
    pid = tmp_path / "pid"
    app.pipeline(("SCRIPT_RUN", {"run": f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 1000"}))
    number = app.start()
    wait_until(pid.exists, "the script runs")
    assert app.run("deployment", "cancel", app.name).returncode == 0
    assert app.wait(number)["state"] == "CANCELLED"
    wait_until(lambda: not os.path.exists(f"/proc/{pid.read_text().strip()}"), "it is killed")


@pytest.mark.parametrize("rerun", [False, True])
def test_a_restart_interrupts_a_script(start_slipway, tmp_path, rerun):
    """Scenario 47: without `rerun` a script never runs twice."""
    server = start_slipway(*SERVER_ARGUMENTS)
    app = Pipeline(server, tmp_path / "app", "web")
    runs, go = tmp_path / "runs", tmp_path / "go"
    app.pipeline(("SCRIPT_RUN", {"run": f"echo run >> {runs}; until test -e {go}; do sleep 0.1; done",
                                 "rerun": rerun}))
    number = app.start()
    wait_until(runs.exists, "the script runs")
    server.kill()
    app.server = start_slipway(*SERVER_ARGUMENTS, state=server.state)
    if rerun:
        wait_until(lambda: runs.read_text().count("run") == 2, "it runs again")
        go.touch()
    ended = app.wait(number)
    if rerun:
        assert ended["state"] == "SUCCESS", ended
    else:
        assert ended["state"] == "FAILURE" and "interrupted" in ended["reason"], ended
        assert runs.read_text().count("run") == 1


# ---- waiting and approvals ----

def test_approvers(app):
    """Scenario 43: a user that is not listed is refused, and one counts once."""
    keys = {name: user(app.server, f"{app.name}-{name}") for name in ("u1", "u2", "u3")}
    app.pipeline(("WAIT_APPROVAL", {"approvers": [f"{app.name}-u1", f"{app.name}-u2"],
                                    "minApproverNum": 2}))
    number = app.start()
    app.wait_for_stage(number, 0)

    def approve(name, comment=""):
        return ask(app.server, "POST", f"/v1/applications/{app.name}/deployments/{number}/approve",
                   json.dumps({"comment": comment} if comment else {}), key=keys[name])

    refused = approve("u3")
    assert refused.status == 403 and "not an approver" in refused.text, refused.text
    assert approve("u1", "looks good").status == 200
    assert approve("u1").status == 200
    shown = app.wait_for_stage(number, 0)
    assert len(shown["details"]["votes"]) == 1
    assert approve("u2").status == 200
    ended = app.wait(number)
    assert ended["state"] == "SUCCESS", ended
    votes = ended["stages"][0]["details"]["votes"]
    assert [(vote["user"], vote.get("comment")) for vote in votes] == [
        (f"{app.name}-u1", "looks good"), (f"{app.name}-u2", None)]
    assert all(vote["at"] > 0 for vote in votes)
    assert "looks good" in ended["stages"][0]["reason"]


def test_deadlines_survive_a_restart(start_slipway, tmp_path):
    """Scenarios 42 and 44: of an approval, of a wait, and of a deployment."""
    server = start_slipway("--runtime", "none")
    apps = [Pipeline(server, tmp_path / name, name) for name in ("approval", "wait", "deployment")]
    apps[0].pipeline(("WAIT_APPROVAL", {"timeout": "6s"}))
    apps[1].pipeline(("WAIT", {"duration": "6s"}))
    apps[2].pipeline(("WAIT", {"duration": "1h"}))
    apps[2].spec["timeout"] = "6s"
    numbers = [app.start() for app in apps]
    for app, number in zip(apps, numbers):
        app.wait_for_stage(number, 0)
    began = [app.show(number)["stages"][0]["startedAt"] for app, number in zip(apps, numbers)]
    time.sleep(3)  # so that a clock that starts anew is seen
    server.kill()
    restarted = start_slipway("--runtime", "none", state=server.state)
    ends = []
    for app, number in zip(apps, numbers):
        app.server = restarted
        ends.append(app.wait(number))
    assert [ended["state"] for ended in ends] == ["FAILURE", "SUCCESS", "FAILURE"], ends
    assert "not approved in time" in ends[0]["reason"]
    assert "Timed out while executing stage" in ends[2]["reason"]
    for start, ended in zip(began, ends):
        assert ended["stages"][0]["endedAt"] - start < 8.9, ended


def test_skipped_stages(app):
    """skipOn: the commit's message. skip: a user's order."""
    app.pipeline(("WAIT", {"duration": "1h", "skipOn": {"commitMessagePrefixes": ["hotfix"]}}),
                 ("WAIT", {"duration": "1h"}))
    number = app.start("--message", "hotfix: now")
    stage = app.wait_for_stage(number, 0, "SKIPPED")
    assert "skipOn" in stage["reason"]
    app.wait_for_stage(number, 1)
    assert app.run("deployment", "skip", app.name).returncode == 0
    ended = app.wait(number)
    assert ended["state"] == "SUCCESS" and ended["stages"][1]["reason"].startswith("skipped by")


# ---- ECS_RUN_TASK ----

def run_task(app, tmp_path, script):
    app.spec = {"name": app.name, "input": {"taskDefinitionFile": "task.json", "launchType": "EC2"}}
    app.write = lambda: Application.write(app)
    app.task([{"name": "main", "image": "host", "memory": 32, "command": ["true"]}], mode="bridge")
    app.put("migrate.json", {"family": f"{app.name}-migrate", "networkMode": "bridge",
                             "containerDefinitions": [
                                 {"name": "migrate", "image": "host", "memory": 32,
                                  "command": ["false"]}]})
    app.pipeline(("ECS_RUN_TASK", {"taskDefinitionFile": "migrate.json",
                                   "command": ["sh", "-c", script]}),
                 ("WAIT", {"duration": "0s"}))


def test_a_task_gates_by_its_exit_code(app, tmp_path):
    run_task(app, tmp_path, f"echo x >> {tmp_path}/ran; exit 0")
    ended = app.sync()
    assert ended["state"] == "SUCCESS", ended
    assert (tmp_path / "ran").read_text() == "x\n"
    run_task(app, tmp_path, "exit 7")
    ended = app.sync()
    assert ended["state"] == "FAILURE", ended
    assert "container migrate: exit code 7" in ended["reason"]
    assert [state for _, state in states(ended)][:2] == ["FAILURE", "CANCELLED"]


def test_a_cancelled_task_is_stopped(app, tmp_path):
    run_task(app, tmp_path, f"touch {tmp_path}/ran; exec sleep 1000")
    number = app.start()
    wait_until((tmp_path / "ran").exists, "the task runs")
    assert app.run("deployment", "cancel", app.name).returncode == 0
    assert app.wait(number)["state"] == "CANCELLED"
    ecs = app.server.boto("ecs")
    wait_until(lambda: not ecs.list_tasks(family=f"{app.name}-migrate")["taskArns"],
               "the task is stopped")


# ---- analysis ----

class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.count += 1
        bad = self.server.count in self.server.bad
        self.send_response(500 if bad else 200)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


@pytest.fixture(name="answers")
def new_answers():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.count, server.bad = 0, ()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("bad, state", [((2,), "SUCCESS"), ((2, 3), "FAILURE")])
def test_http_checks(app, answers, bad, state):
    """Scenario 46: failureLimit 1: one bad point passes, the second one fails at once."""
    answers.bad = bad
    url = f"http://127.0.0.1:{answers.server_address[1]}/"
    app.pipeline(("ANALYSIS", {"duration": "4s", "https": [
        {"url": url, "interval": "1s", "failureLimit": 1}]}))
    ended = app.sync()
    assert ended["state"] == state, ended
    if state == "FAILURE":
        assert answers.count == 3
        assert url in ended["reason"] and "value 0" in ended["reason"], ended


def test_commands_and_a_pause(app, tmp_path):
    """Scenario 46: a failed analysis with pauseOnFailure waits for a user."""
    app.pipeline(("ANALYSIS", {"duration": "2s", "pauseOnFailure": True, "commands": [
        {"run": "echo 0.5", "interval": "1s", "expected": {"max": 0.01}}]}))
    number = app.start()
    stage = wait_until(lambda: [s for s in app.show(number)["stages"]
                                if "paused" in s.get("reason", "")], "it is paused")[0]
    assert "value 0.5" in stage["reason"] and "at most 0.01" in stage["reason"], stage
    assert app.run("deployment", "skip", app.name).returncode == 0
    assert app.wait(number)["state"] == "SUCCESS"


def test_an_inconclusive_analysis(app):
    app.pipeline(("ANALYSIS", {"duration": "2s", "commands": [
        {"run": "echo 1", "interval": "1s", "expected": {"max": 5}, "minimumSamples": 10}]}))
    ended = app.sync()
    assert ended["state"] == "FAILURE" and "inconclusive" in ended["reason"], ended


@pytest.fixture(name="prometheus")
def new_prometheus(tmp_path):
    """A real Prometheus that scrapes itself."""
    port = free_port("127.0.0.1")
    config = tmp_path / "prometheus.yml"
    config.write_text("global: {scrape_interval: 200ms}\nscrape_configs:\n- job_name: own\n"
                      f"  static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n")
    with open(tmp_path / "prometheus.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/data",
             f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()


def test_prometheus(start_slipway, prometheus, tmp_path):
    """Scenario 46: THRESHOLD and CANARY_PRIMARY with a real Prometheus, and answers without data."""
    config = tmp_path / "slipway.yaml"
    config.write_text(f"metricsProviders:\n- {{name: prom, url: '{prometheus}'}}\n")
    server = start_slipway("--runtime", "none", "--config", str(config))
    made = {}

    def analyse(name, **metric):
        app = Pipeline(server, tmp_path / name, name)
        app.pipeline(("ANALYSIS", {"duration": "6s", "metrics": [
            {"provider": "prom", "interval": "1s", **metric}]}))
        made[name] = (app, app.start())

    def scraped():
        app = Pipeline(server, tmp_path / "up", "up")
        app.pipeline(("ANALYSIS", {"duration": "1s", "metrics": [
            {"provider": "prom", "interval": "1s", "query": "up{job='own'}",
             "expected": {"min": 1}}]}))
        return app.sync()["state"] == "SUCCESS"

    wait_until(scraped, "Prometheus has data", 2 * DEADLINE)
    analyse("good", query="up{job='own'}", expected={"min": 1, "max": 1})
    analyse("bad", query="up{job='own'} * 2", expected={"max": 1}, failureLimit=1)
    analyse("empty", query="nothing_has_this_name", expected={"max": 1}, skipOnNoData=True)
    analyse("many", query="{job='own'}", expected={"max": 1})
    analyse("same", strategy="CANARY_PRIMARY", query="up{job='{{ .VariantCustomArgs.job }}'}",
            canaryArgs={"job": "own"}, primaryArgs={"job": "own"})
    analyse("differs", strategy="CANARY_PRIMARY", deviation="HIGH",
            query="{{ .VariantCustomArgs.factor }} * up + time() / 1e12",
            canaryArgs={"factor": "5"}, primaryArgs={"factor": "1"})
    ends = {name: app.wait(number) for name, (app, number) in made.items()}
    assert {name: ended["state"] for name, ended in ends.items()} == {
        "good": "SUCCESS", "bad": "FAILURE", "empty": "SUCCESS", "many": "FAILURE",
        "same": "SUCCESS", "differs": "FAILURE"}, ends
    assert "up{job='own'} * 2: value 2" in ends["bad"]["reason"]
    assert "aggregate" in made["many"][0].log()
    assert "deviate" in ends["differs"]["reason"]
    unknown = Pipeline(server, tmp_path / "unknown", "unknown")
    unknown.pipeline(("ANALYSIS", {"duration": "1s", "metrics": [
        {"provider": "other", "query": "up", "expected": {"max": 1}}]}))
    assert 'metrics provider "other"' in unknown.sync()["reason"]
