"""Tasks that really run: programs of this machine, through real clients, and what is said of them."""
import http.client
import json
import os
import shutil
import signal
import subprocess
import threading
import time
import urllib.request

import pytest

from conftest import DEADLINE, end_tasks, slipway_program, task_processes, wait_until
from ecs_requests import send
from programs import LONG, Mark, container, task_id

WAIT = {"Delay": 1, "MaxAttempts": DEADLINE}


@pytest.fixture(scope="module")
def ecs(slipway):
    return slipway.boto("ecs")


@pytest.fixture
def mark():
    return Mark()


def define(ecs, family, *containers, **members):
    members.setdefault("networkMode", "bridge")
    answer = ecs.register_task_definition(family=family, containerDefinitions=list(containers),
                                          **members)
    return answer["taskDefinition"]["taskDefinitionArn"]


def run(ecs, definition, **members):
    answer = ecs.run_task(taskDefinition=definition, **members)
    assert answer["failures"] == []
    return [task["taskArn"] for task in answer["tasks"]]


def describe(ecs, arn):
    return ecs.describe_tasks(tasks=[arn])["tasks"][0]


def wait_for(ecs, arn, condition, what):
    def look():
        task = describe(ecs, arn)
        return task if condition(task) else None

    return wait_until(look, what)


def running(ecs, arn):
    task = wait_for(ecs, arn, lambda task: task["lastStatus"] in ("RUNNING", "STOPPED"),
                    f"{arn} runs")
    assert task["lastStatus"] == "RUNNING", task
    return task


def stopped(ecs, arn):
    return wait_for(ecs, arn, lambda task: task["lastStatus"] == "STOPPED", f"{arn} stops")


def exit_codes(task):
    return {item["name"]: item.get("exitCode") for item in task["containers"]}


# ---- one task ----

@pytest.mark.sanitized
def test_a_task_runs_and_stops(slipway, ecs, mark):
    define(ecs, "plain", container(mark, "exec sleep 1000"))
    task = slipway.aws("ecs", "run-task", "--task-definition", "plain", "--started-by",
                       "me").json["tasks"][0]
    assert task["lastStatus"] in ("PROVISIONING", "PENDING")
    assert task["desiredStatus"] == "RUNNING"
    arn = task["taskArn"]
    slipway.aws("ecs", "wait", "tasks-running", "--tasks", arn)
    assert mark.wait_for(1) == {task_id(arn)}
    task = describe(ecs, arn)
    assert (task["lastStatus"], task["connectivity"]) == ("RUNNING", "CONNECTED")
    assert task["createdAt"] <= task["pullStartedAt"] <= task["pullStoppedAt"] <= task["startedAt"]
    assert task["containers"][0]["lastStatus"] == "RUNNING"
    assert task["containers"][0]["runtimeId"]
    assert "exitCode" not in task["containers"][0]
    slipway.aws("ecs", "stop-task", "--task", arn, "--reason", "enough")
    ecs.get_waiter("tasks_stopped").wait(tasks=[arn], WaiterConfig=WAIT)
    task = describe(ecs, arn)
    assert (task["stopCode"], task["stoppedReason"]) == ("UserInitiated", "enough")
    assert task["desiredStatus"] == "STOPPED"
    assert task["startedAt"] <= task["stoppingAt"] <= task["stoppedAt"]
    assert task["executionStoppedAt"] <= task["stoppedAt"]
    assert exit_codes(task) == {"app": 143}
    assert mark.tasks() == set()


@pytest.mark.parametrize("script, code", [
    ("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -15 $$", 143), ("kill -11 $$", 139)])
def test_exit_codes(ecs, mark, script, code):
    arn, = run(ecs, define(ecs, "exits", container(mark, script)))
    task = stopped(ecs, arn)
    assert exit_codes(task) == {"app": code}
    assert (task["stopCode"], task["stoppedReason"]) == (
        "EssentialContainerExited", "Essential container in task exited")
    assert task["startedAt"]


@pytest.mark.sanitized
def test_an_essential_exit_ends_the_others(ecs, mark):
    # The other one must have got so far that it can be asked to end.
    arn, = run(ecs, define(ecs, "pair", container(mark, "sleep 1; exit 5"),
                           container(mark, LONG, name="beside")))
    task = stopped(ecs, arn)
    assert exit_codes(task) == {"app": 5, "beside": 143}
    assert mark.tasks() == set()


def test_a_container_that_is_not_essential_may_end(ecs, mark):
    arn, = run(ecs, define(ecs, "side", container(mark, LONG),
                           container(mark, "exit 4", name="side", essential=False)))
    task = wait_for(ecs, arn, lambda task: exit_codes(task)["side"] == 4
                    and task["lastStatus"] == "RUNNING", "the side ends")
    statuses = {item["name"]: item["lastStatus"] for item in task["containers"]}
    assert statuses == {"app": "RUNNING", "side": "STOPPED"}
    assert (task["lastStatus"], task["desiredStatus"]) == ("RUNNING", "RUNNING")
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


@pytest.mark.parametrize("changes, code, words", [
    ({"image": "nginx"}, "TaskFailedToStart", "nginx"),
    ({"command": ["/no/such/program"]}, "TaskFailedToStart", "CannotStartContainerError"),
    ({"secrets": [{"name": "A", "valueFrom": "absent-parameter"}]}, "TaskFailedToStart",
     "ResourceInitializationError: unable to pull secrets"),
])
def test_a_task_that_cannot_start_says_why(ecs, mark, changes, code, words):
    members = {"executionRoleArn": "arn:aws:iam::123456789012:role/r"} if "secrets" in changes else {}
    arn, = run(ecs, define(ecs, "cannot", {**container(mark, LONG), **changes}, **members))
    task = stopped(ecs, arn)
    assert task["stopCode"] == code
    assert words in task["stoppedReason"]
    assert "startedAt" not in task
    assert task["containers"][0]["lastStatus"] == "STOPPED"


def test_overrides(ecs, mark):
    arn, = run(ecs, define(ecs, "overridden", container(mark, LONG, environment={"A": "1", "B": "2"})),
               overrides={"containerOverrides": [
                   {"name": "app", "command": ["sh", "-c", "exit $((A * 10 + B + C))"],
                    "environment": [{"name": "B", "value": "5"}, {"name": "C", "value": "100"}]}]})
    assert exit_codes(stopped(ecs, arn)) == {"app": 115}


def test_secrets_come_from_files(start_slipway, tmp_path, mark):
    folder = tmp_path / "secrets"
    (folder / "prod").mkdir(parents=True)
    (folder / "prod" / "password").write_text("correct horse\n")
    (folder / "database").write_text(json.dumps({"user": "web", "password": "tr0ub4dor"}))
    (tmp_path / "out").mkdir()
    ecs = start_slipway("--secrets", folder).boto()
    secrets = {"ONE": "/prod/password",
               "TWO": "arn:aws:ssm:us-east-1:123456789012:parameter/prod/password",
               "THREE": "arn:aws:secretsmanager:us-east-1:123456789012:secret:database-AbCdEf:user::"}
    arn, = run(ecs, define(
        ecs, "secret", container(mark, f'echo "$ONE,$TWO,$THREE" > {tmp_path}/out/said',
                                 secrets=[{"name": name, "valueFrom": value}
                                          for name, value in secrets.items()]),
        executionRoleArn="arn:aws:iam::123456789012:role/r"))
    assert exit_codes(stopped(ecs, arn)) == {"app": 0}
    assert (tmp_path / "out" / "said").read_text() == "correct horse,correct horse,web\n"
    for wrong in ("../secret", "prod/../../x", "arn:aws:ssm:us-east-1:1:parameter/.hidden"):
        arn, = run(ecs, define(ecs, "leak", container(
            mark, LONG, secrets=[{"name": "A", "valueFrom": wrong}]),
            executionRoleArn="arn:aws:iam::123456789012:role/r"))
        assert "it is no name of a secret" in stopped(ecs, arn)["stoppedReason"]


def test_containers_wait_for_each_other(ecs, mark, tmp_path):
    log = tmp_path / "log"
    os.chmod(tmp_path, 0o777)
    arn, = run(ecs, define(
        ecs, "order",
        container(mark, f"echo app >> {log}; exit 0",
                  dependsOn=[{"containerName": "second", "condition": "COMPLETE"}]),
        container(mark, f"echo second >> {log}; exit 1", name="second", essential=False,
                  dependsOn=[{"containerName": "first", "condition": "SUCCESS"}]),
        container(mark, f"sleep 0.3; echo first >> {log}", name="first", essential=False)))
    assert exit_codes(stopped(ecs, arn)) == {"app": 0, "second": 1, "first": 0}
    assert log.read_text().split() == ["first", "second", "app"]


def test_health(ecs, mark, tmp_path):
    flag = tmp_path / "healthy"
    flag.write_text("")
    os.chmod(tmp_path, 0o777)
    arn, = run(ecs, define(ecs, "health", container(mark, LONG, healthCheck={
        "command": ["CMD-SHELL", f"cat {flag} && echo well"], "interval": 5, "timeout": 2, "retries": 1})))
    running(ecs, arn)
    task = wait_for(ecs, arn, lambda task: task["healthStatus"] == "HEALTHY", "it is healthy")
    assert task["containers"][0]["healthStatus"] == "HEALTHY"
    assert "reason" not in task["containers"][0]
    flag.unlink()
    task = wait_for(ecs, arn, lambda task: task["healthStatus"] == "UNHEALTHY", "it is unhealthy")
    assert task["lastStatus"] == "RUNNING"  # ECS does not stop a standalone task for that
    assert task["containers"][0]["reason"] == (
        f"Health check failed: exit code 1: cat: {flag}: No such file or directory")
    flag.write_text("")
    task = wait_for(ecs, arn, lambda task: task["healthStatus"] == "HEALTHY", "it is healthy again")
    assert "reason" not in task["containers"][0]
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


def test_output_of_health_checks(ecs, mark):
    """A check that hangs, one that writes without end, and one that writes what is no text."""
    checks = {"hangs": "echo waiting; sleep 1000", "floods": "yes | head -c 1000000; exit 3",
              "binary": r"printf 'a\000\377\nb'; exit 4"}
    arn, = run(ecs, define(ecs, "checks", *[
        container(mark, LONG, name=name, healthCheck={
            "command": ["CMD-SHELL", script], "interval": 5, "timeout": 2, "retries": 1})
        for name, script in checks.items()]))

    def reasons():
        found = {item["name"]: item.get("reason") for item in
                 ecs.describe_tasks(tasks=[arn])["tasks"][0]["containers"]}
        return found if all(found.values()) else None

    found = wait_until(reasons, "all are unhealthy")
    assert found["hangs"] == "Health check failed: timed out after 2 s: waiting"
    assert found["floods"].startswith("Health check failed: exit code 3: y y y") and len(found["floods"]) < 350
    assert found["binary"] == "Health check failed: exit code 4: a?? b"
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


SERVE = """exec /usr/bin/python3 -c '
import http.server, os
class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.environ["SLIPWAY_TASK"].encode())
http.server.HTTPServer((os.environ["SLIPWAY_ADDRESS"], int(os.environ["PORT"])), Hello).serve_forever()
'"""


def ask(address, port):
    def answer():
        try:
            return urllib.request.urlopen(f"http://{address}:{port}/", timeout=5).read().decode()
        except OSError:
            return None

    return wait_until(answer, f"something answers at {address}:{port}")


def test_ports_of_bridge(ecs, mark):
    arns = run(ecs, define(ecs, "ports", container(mark, SERVE, portMappings=[
        {"containerPort": 8080, "protocol": "tcp"}])), count=2)
    for arn in arns:
        binding, = running(ecs, arn)["containers"][0]["networkBindings"]
        assert (binding["containerPort"], binding["protocol"]) == (8080, "tcp")
        assert ask(binding["bindIP"], binding["hostPort"]) == task_id(arn)
        ecs.stop_task(task=arn)
    for arn in arns:
        stopped(ecs, arn)


def test_addresses_of_awsvpc(ecs, mark):
    arns = run(ecs, define(ecs, "own", container(mark, SERVE, portMappings=[{"containerPort": 8080}]),
                           networkMode="awsvpc"), count=2,
               networkConfiguration={"awsvpcConfiguration": {"subnets": ["subnet-1"]}})
    seen = set()
    for arn in arns:
        task = running(ecs, arn)
        attachment, = task["attachments"]
        assert (attachment["type"], attachment["status"]) == ("ElasticNetworkInterface", "ATTACHED")
        details = {item["name"]: item["value"] for item in attachment["details"]}
        assert details["subnetId"] == "subnet-1"
        assert details["networkInterfaceId"].startswith("eni-")
        interface, = task["containers"][0]["networkInterfaces"]
        assert interface == {"attachmentId": attachment["id"],
                             "privateIpv4Address": details["privateIPv4Address"]}
        seen.add(details["privateIPv4Address"])
        assert ask(details["privateIPv4Address"], 8080) == task_id(arn)
    assert len(seen) == 2
    for arn in arns:
        ecs.stop_task(task=arn)
    for arn in arns:
        assert stopped(ecs, arn)["attachments"][0]["status"] == "DELETED"


def test_stop_timeout(ecs, mark, tmp_path):
    ready = tmp_path / "ready"
    arn, = run(ecs, define(ecs, "stubborn", container(
        mark, f"trap '' TERM; touch {ready}; while :; do sleep 0.1; done", stopTimeout=2)))
    running(ecs, arn)
    wait_until(ready.exists, "it does not mind SIGTERM any more")
    began = time.monotonic()
    ecs.stop_task(task=arn)
    task = wait_for(ecs, arn, lambda task: task["lastStatus"] != "RUNNING", "it is stopping")
    assert task["lastStatus"] in ("DEACTIVATING", "STOPPING", "STOPPED")
    assert exit_codes(stopped(ecs, arn)) == {"app": 137}
    assert time.monotonic() - began >= 2
    assert mark.tasks() == set()


@pytest.mark.sanitized
def test_a_stop_that_comes_at_once(ecs, mark):
    definition = define(ecs, "early", container(mark, LONG))
    arns = [arn for _ in range(10) for arn in run(ecs, definition)]
    for arn in arns:
        ecs.stop_task(task=arn, reason="never mind")
    for arn in arns:
        task = stopped(ecs, arn)
        assert (task["stopCode"], task["stoppedReason"]) == ("UserInitiated", "never mind")
    assert mark.tasks() == set()


def test_instances_share_the_machine(start_slipway, mark):
    ecs = start_slipway("--instances", 3, "--cluster", "three").boto()
    arns = ecs.list_container_instances(cluster="three")["containerInstanceArns"]
    assert len(arns) == 3
    ecs.register_task_definition(family="web", networkMode="bridge",
                                 containerDefinitions=[container(mark, LONG)])
    answer = ecs.run_task(cluster="three", taskDefinition="web", count=3,
                          placementStrategy=[{"type": "spread", "field": "instanceId"}])
    assert {task["containerInstanceArn"] for task in answer["tasks"]} == set(arns)
    mark.wait_for(3)


# ---- lifetimes ----

@pytest.mark.sanitized
def test_tasks_go_on_when_the_server_ends(start_slipway, mark, tmp_path):
    gate = tmp_path / "gate"
    os.chmod(tmp_path, 0o777)
    server = start_slipway()
    ecs = server.boto()
    long, = run(ecs, define(ecs, "long", container(mark, LONG)))
    job, = run(ecs, define(ecs, "job", container(
        mark, f"while [ ! -e {gate} ]; do sleep 0.05; done; exit 42")))
    running(ecs, long)
    running(ecs, job)
    before = {pid for pid, environment in mark.processes().items()
              if environment["SLIPWAY_TASK"] == task_id(long)}
    server.stop()
    assert mark.tasks() == {task_id(long), task_id(job)}
    gate.write_text("")
    wait_until(lambda: mark.tasks() == {task_id(long)}, "the job ends while the server is down")
    server = start_slipway(state=server.state)
    ecs = server.boto()
    assert exit_codes(stopped(ecs, job)) == {"app": 42}
    task = describe(ecs, long)
    assert task["lastStatus"] == "RUNNING"
    assert set(mark.processes()) == before
    ecs.stop_task(task=long)
    stopped(ecs, long)
    assert mark.tasks() == set()


def test_tasks_go_on_when_a_server_with_postgres_is_killed(start_slipway, postgres_url, mark):
    server = start_slipway("--store", postgres_url)
    ecs = server.boto()
    arn, = run(ecs, define(ecs, "long", container(mark, LONG)))
    running(ecs, arn)
    before = set(mark.processes())
    server.kill()
    ecs = start_slipway("--store", postgres_url, state=server.state).boto()
    assert describe(ecs, arn)["lastStatus"] == "RUNNING"
    assert set(mark.processes()) == before
    ecs.stop_task(task=arn)
    assert exit_codes(stopped(ecs, arn)) == {"app": 143}


def test_servers_that_share_a_store_leave_each_others_tasks_alone(start_slipway, postgres_url, mark,
                                                                  tmp_path):
    first = start_slipway("--store", postgres_url)
    for name in ("integrity.key", "admin-key.json"):
        shutil.copy(os.path.join(first.state, name), tmp_path / name)
    second = start_slipway("--store", postgres_url, state=str(tmp_path))
    ecs = first.boto()
    wait_until(lambda: len(ecs.list_container_instances()["containerInstanceArns"]) == 2,
               "both are registered")
    arns = run(ecs, define(ecs, "long", container(mark, LONG)), count=2,
               placementStrategy=[{"type": "spread", "field": "instanceId"}])
    assert len({running(ecs, arn)["containerInstanceArn"] for arn in arns}) == 2
    programs = mark.wait_for(2)
    second.kill()
    ecs.stop_task(task=run(ecs, "long")[0])  # something for the first one to do
    second = start_slipway("--store", postgres_url, state=str(tmp_path))
    for server in (first, second):
        for arn in arns:
            assert describe(server.boto(), arn)["lastStatus"] == "RUNNING"
    assert programs <= mark.tasks()
    for arn in arns:
        second.boto().stop_task(task=arn)
    for arn in arns:
        assert exit_codes(stopped(ecs, arn)) == {"app": 143}


def test_no_exit_code_is_lost_when_the_server_is_killed(start_slipway, mark, tmp_path):
    """Sixty tasks, each with an exit code of its own, and ten kills while they come and go: each runs
    once, and each is reported with its code."""
    tasks, kills = 60, 10
    log = tmp_path / "log"
    os.chmod(tmp_path, 0o777)
    server = start_slipway()
    define(server.boto(), "job", container(
        mark, f'echo "$SLIPWAY_TASK" >> {log}; sleep 0.$((CODE % 9)); exit $CODE'))
    lock, current, expected, problems = threading.Lock(), [server], {}, []
    over = threading.Event()

    def run_one(number):
        """Until it is known to have been done: the token makes that once."""
        while not over.is_set():
            with lock:
                server = current[0]
            try:
                answer = send(server, "RunTask", {
                    "taskDefinition": "job", "clientToken": f"number-{number}", "overrides": {
                        "containerOverrides": [{"name": "app", "environment": [
                            {"name": "CODE", "value": str(number)}]}]}})
                if answer.status == 200:
                    assert answer.json["failures"] == []
                    return answer.json["tasks"][0]["taskArn"]
                assert answer.status >= 500, answer.text
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
        raise InterruptedError("the test is over")

    def run_all():
        try:
            for number in range(tasks):
                expected[run_one(number)] = number
        except BaseException as problem:  # pylint: disable=broad-except
            problems.append(problem)

    runner = threading.Thread(target=run_all)
    runner.start()
    try:
        for count in range(kills):
            wanted = (count + 1) * (tasks - 5) // kills
            wait_until(lambda: len(expected) >= wanted or not runner.is_alive(), "tasks are run")
            server.kill()
            server = start_slipway(state=server.state)
            with lock:
                current[0] = server
        wait_until(lambda: not runner.is_alive(), "all tasks are run")
    finally:
        over.set()
        runner.join()
    assert problems == []
    assert len(expected) == tasks
    ecs = server.boto()
    for arn, number in expected.items():
        task = stopped(ecs, arn)
        assert exit_codes(task) == {"app": number}, task
        assert task["stopCode"] == "EssentialContainerExited"
    assert sorted(log.read_text().split()) == sorted(task_id(arn) for arn in expected)
    assert mark.tasks() == set()


def test_tasks_ended_by_a_reboot_are_reported_and_not_run_again(start_slipway, mark, tmp_path):
    log = tmp_path / "log"
    os.chmod(tmp_path, 0o777)
    server = start_slipway()
    ecs = server.boto()
    arns = run(ecs, define(ecs, "long", container(mark, f"echo run >> {log}; {LONG}")), count=3)
    for arn in arns:
        running(ecs, arn)
    mark.wait_for(3)
    wait_until(lambda: log.exists() and log.read_text() == "run\n" * 3, "each has run")
    server.kill()
    # All at once, as when the power goes: none may observe the end of another.
    found = task_processes(server.state)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for descriptor in found.values():
            try:
                signal.pidfd_send_signal(descriptor, number)
            except ProcessLookupError:  # it went with another one
                pass
    for descriptor in found.values():
        os.close(descriptor)
    server = start_slipway(state=server.state)
    ecs = server.boto()
    for arn in arns:
        task = stopped(ecs, arn)
        assert "supervisor ended without a record" in task["stoppedReason"], task
        assert exit_codes(task) == {"app": None}
    assert log.read_text() == "run\n" * 3
    arn, = run(ecs, "long")
    running(ecs, arn)


# ---- nothing is left behind ----

def test_tasks_stop_with_the_server_when_asked_to(start_slipway, mark):
    server = start_slipway("--stop-tasks-on-exit")
    ecs = server.boto()
    arns = run(ecs, define(ecs, "long", container(mark, LONG)), count=3)
    mark.wait_for(3)
    for arn in arns:
        running(ecs, arn)
    server.stop()
    assert mark.tasks() == set()
    assert task_processes(server.state) == {}
    ecs = start_slipway(state=server.state).boto()
    for arn in arns:
        task = describe(ecs, arn)
        assert (task["lastStatus"], task["stopCode"]) == ("STOPPED", "UserInitiated")
        assert exit_codes(task) == {"app": 143}


def test_an_ephemeral_server_leaves_nothing(mark, tmp_path):
    """Without a state folder of its own, too."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    with subprocess.Popen([slipway_program(), "up", "--ephemeral", "--auth", "none", "--listen",
                           "127.0.0.1:0", "--dns", "127.0.0.1:0"], env=environment,
                          stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
        try:
            url = server.stdout.readline().split()[-1]

            def call(operation, **members):
                request = urllib.request.Request(url, json.dumps(members).encode(), {
                    "X-Amz-Target": f"AmazonEC2ContainerServiceV20141113.{operation}",
                    "Content-Type": "application/x-amz-json-1.1"})
                with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
                    return json.load(answer)

            def start():
                call("RegisterTaskDefinition", family="long", networkMode="bridge",
                     containerDefinitions=[container(mark, LONG)])
                assert call("RunTask", taskDefinition="long", count=2)["failures"] == []
                mark.wait_for(2)

            start()
            request = urllib.request.Request(f"{url}/_slipway/reset", b"", method="POST")
            with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
                assert answer.status == 200
            assert mark.tasks() == set()
            assert call("ListTasks")["taskArns"] == []
            start()
            server.terminate()
            assert server.wait(DEADLINE) == 0
        finally:
            server.kill()
            end_tasks(str(tmp_path))
    assert mark.tasks() == set()
    assert os.listdir(tmp_path) == []
