"""Lifetimes in the docker runtime: slipway ended and killed, dockerd ended and killed, containers killed
and removed behind slipway's back, services that make up for it, and traffic that finds what there is."""
import fcntl
import http.client
import os
import pty
import random
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

import pytest

from conftest import DEADLINE, Servers, wait_until
# pylint: disable=unused-import
from docker_daemon import Daemon, box, daemon, docker_arguments, ecs, slipway, start_slipway
from ecs_requests import send
from programs import task_id
from test_docker_run import LONG, NETWORK, SERVE, ask, ready
from test_run import define, describe, exit_codes, run, running, stopped
from test_run_exec import command, slipway_run
from test_services_traffic import Traffic, address_of, balancers

pytestmark = pytest.mark.root  # dockerd


def containers_of(task):
    return {item["name"]: item.get("runtimeId") for item in task["containers"]}


@pytest.fixture
def shared(tmp_path):
    """A folder that containers write to."""
    os.chmod(tmp_path, 0o777)
    return tmp_path


def with_shared(folder, *containers):
    """The members of a task definition whose containers see the folder at /shared."""
    for item in containers:
        item["mountPoints"] = [{"sourceVolume": "shared", "containerPath": "/shared"}]
    return {"volumes": [{"name": "shared", "host": {"sourcePath": str(folder)}}]}


# ---- slipway ends ----

@pytest.mark.sanitized
def test_tasks_go_on_when_the_server_ends(start_slipway, daemon, shared):
    server = start_slipway()
    ecs = server.boto()
    long, = run(ecs, define(ecs, "long", box("echo begun; " + LONG)))
    job = box("while [ ! -e /shared/gate ]; do sleep 0.05; done; echo done; exit 42")
    job, = run(ecs, define(ecs, "job", job, **with_shared(shared, job)))
    before = containers_of(running(ecs, long))
    running(ecs, job)
    ready(server, long)
    server.kill()
    (shared / "gate").write_text("")
    wait_until(lambda: not daemon.inspect(task_id(job))["State"]["Running"], "it ends unseen")
    server = start_slipway(state=server.state)
    ecs = server.boto()
    assert exit_codes(stopped(ecs, job)) == {"app": 42}
    assert slipway_run(server, "logs", job).stdout == b"done\n"
    task = describe(ecs, long)
    assert (task["lastStatus"], containers_of(task)) == ("RUNNING", before)
    assert slipway_run(server, "logs", long).stdout == b"begun\nready\n"
    ecs.stop_task(task=long)
    assert exit_codes(stopped(ecs, long)) == {"app": 143}
    server.stop()


def test_every_task_runs_once_whenever_the_server_is_killed(start_slipway, daemon, shared):
    """Thirty tasks, each with an exit code of its own, and eight kills while they come and go."""
    tasks, kills = 30, 8
    server = start_slipway()
    job = box('echo "$CODE" >> /shared/log; sleep 0.$((CODE % 9)); echo "said $CODE"; exit $CODE')
    define(server.boto(), "job", job, **with_shared(shared, job))
    lock, current, expected, problems = threading.Lock(), [server], {}, []
    over = threading.Event()

    def run_one(number):
        while not over.is_set():
            with lock:
                server = current[0]
            try:
                answer = send(server, "RunTask", {
                    "taskDefinition": "job", "clientToken": f"number-{number}", "overrides": {
                        "containerOverrides": [{"name": "app", "environment": [
                            {"name": "CODE", "value": str(number)}]}]}})
                if answer.status == 200:
                    return answer.json["tasks"][0]["taskArn"]
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
            wanted = (count + 1) * (tasks - 3) // kills
            wait_until(lambda: len(expected) >= wanted or not runner.is_alive(), "tasks are run")
            time.sleep(random.random() / 2)
            server.kill()
            server = start_slipway(state=server.state)
            with lock:
                current[0] = server
        runner.join(DEADLINE)
    finally:
        over.set()
        runner.join()
    assert not problems, problems
    ecs = server.boto()
    for arn, number in expected.items():
        assert exit_codes(stopped(ecs, arn)) == {"app": number}
        assert slipway_run(server, "logs", arn).stdout == f"said {number}\n".encode()
    assert sorted(map(int, (shared / "log").read_text().split())) == list(range(tasks))


def test_logs_go_on_where_they_were(start_slipway, daemon):
    server = start_slipway()
    ecs = server.boto()
    arn, = run(ecs, define(ecs, "counts", box(
        "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i + 1)); "
        "[ $((i % 100)) = 0 ] && sleep 0.1; done; exit 0")))
    running(ecs, arn)
    for _ in range(4):
        time.sleep(0.4)
        server.kill()
        server = start_slipway(state=server.state)
    stopped(server.boto(), arn)
    assert slipway_run(server, "logs", arn).stdout.decode().splitlines() == [
        f"line {number}" for number in range(3000)]


def test_a_stop_goes_on_when_the_server_is_killed(start_slipway, daemon):
    server = start_slipway()
    ecs = server.boto()
    arn, = run(ecs, define(ecs, "stubborn", box(
        "trap 'echo asked' TERM; echo ready; while :; do sleep 0.1; done", stopTimeout=4)))
    running(ecs, arn)
    wait_until(lambda: slipway_run(server, "logs", arn).stdout, "it is ready")
    ecs.stop_task(task=arn, reason="enough")
    wait_until(lambda: b"asked" in slipway_run(server, "logs", arn).stdout, "it is asked to end")
    server.kill()
    server = start_slipway(state=server.state)
    task = stopped(server.boto(), arn)
    assert (exit_codes(task), task["stoppedReason"]) == ({"app": 137}, "enough")
    assert slipway_run(server, "logs", arn).stdout == b"ready\nasked\n"  # asked once


def test_two_servers_on_one_daemon(start_slipway, daemon):
    first, second = start_slipway(), start_slipway()
    arns = []
    for server in (first, second):
        ecs = server.boto()
        arn, = run(ecs, define(ecs, "same", box(LONG)))
        arns.append((server, arn, containers_of(running(ecs, arn))["app"]))
    first.kill()
    first = start_slipway(state=first.state)
    assert {id for _, _, id in arns} <= daemon.running()
    first.boto().stop_task(task=arns[0][1])
    stopped(first.boto(), arns[0][1])
    assert arns[1][2] in daemon.running()
    assert describe(second.boto(), arns[1][1])["lastStatus"] == "RUNNING"
    second.boto().stop_task(task=arns[1][1])
    stopped(second.boto(), arns[1][1])


def test_an_ephemeral_server_leaves_nothing(start_slipway, daemon):
    known = {item["Id"] for item in daemon.call("GET", "/containers/json?all=1")}
    networks = {item["Id"] for item in daemon.call("GET", "/networks")}
    volumes = {item["Name"] for item in daemon.call("GET", "/volumes")["Volumes"] or []}
    server = start_slipway("--ephemeral")
    ecs = server.boto()
    container = box(LONG, mountPoints=[{"sourceVolume": "own", "containerPath": "/own"}])
    arn, = run(ecs, define(ecs, "own", container, networkMode="awsvpc", volumes=[{"name": "own"}]),
               networkConfiguration=NETWORK)
    running(ecs, arn)
    server.stop()
    assert {item["Id"] for item in daemon.call("GET", "/containers/json?all=1")} == known
    assert {item["Id"] for item in daemon.call("GET", "/networks")} == networks
    assert {item["Name"] for item in daemon.call("GET", "/volumes")["Volumes"] or []} == volumes


@pytest.mark.parametrize("name, words", (
    ("none", "No such file or directory; is Docker running, and is that its socket (--docker-socket)?"),
    ("dead", "Connection refused; is Docker running?"),
))
def test_a_daemon_that_is_not_there(tmp_path, name, words):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "dead"))  # without listen()
    servers = Servers(["--runtime", "docker", "--docker-socket", str(tmp_path / name)])
    try:
        with pytest.raises(pytest.fail.Exception) as refusal:
            servers.start()
        assert f"open the docker runtime: Docker at '{tmp_path / name}': {words}" in str(refusal.value)
    finally:
        servers.end()


# ---- containers are touched by others ----

def test_a_container_that_is_killed_or_removed(ecs, daemon):
    arn, = run(ecs, define(ecs, "killed", box(LONG)))
    running(ecs, arn)
    daemon.call("POST", f"/containers/{daemon.inspect(task_id(arn))['Id']}/kill")
    task = stopped(ecs, arn)
    assert (exit_codes(task), task["stopCode"]) == ({"app": 137}, "EssentialContainerExited")
    arn, = run(ecs, define(ecs, "removed", box(LONG)))
    running(ecs, arn)
    daemon.call("DELETE", f"/containers/{daemon.inspect(task_id(arn))['Id']}?force=1")
    task = stopped(ecs, arn)
    assert task["stopCode"] == "EssentialContainerExited"


def test_a_change_is_seen_at_once(ecs, daemon):
    arn, = run(ecs, define(ecs, "quick", box(LONG)))
    running(ecs, arn)
    id = daemon.inspect(task_id(arn))["Id"]
    daemon.call("POST", f"/containers/{id}/kill")
    began = time.monotonic()
    while describe(ecs, arn)["lastStatus"] == "RUNNING":
        assert time.monotonic() - began < DEADLINE
    seen = time.monotonic() - began
    stopped(ecs, arn)
    assert seen < 30, seen  # some milliseconds; without events it would be a minute


def test_a_service_replaces_what_ends(ecs, daemon):
    definition = define(ecs, "web", box(LONG))
    ecs.create_service(serviceName="web", taskDefinition=definition, desiredCount=2)

    def tasks():
        arns = ecs.list_tasks(serviceName="web")["taskArns"]
        found = ecs.describe_tasks(tasks=arns)["tasks"] if arns else []
        return {task["taskArn"] for task in found if task["lastStatus"] == "RUNNING"}

    before = wait_until(lambda: len(tasks()) == 2 and tasks(), "two tasks run")
    victim = sorted(before)[0]
    daemon.call("POST", f"/containers/{daemon.inspect(task_id(victim))['Id']}/kill")
    after = wait_until(lambda: len(tasks() - {victim}) == 2 and tasks(), "it is replaced")
    assert victim not in after and len(after & before) == 1
    definition = define(ecs, "web", box(LONG, environment={"V": "2"}))
    ecs.update_service(service="web", taskDefinition=definition)
    ecs.get_waiter("services_stable").wait(services=["web"], WaiterConfig={"Delay": 1,
                                                                           "MaxAttempts": DEADLINE})
    wait_until(lambda: len(tasks()) == 2 and not tasks() & after, "both are of the new version")
    for arn in tasks():
        assert "V=2" in daemon.inspect(task_id(arn))["Config"]["Env"]
    ecs.delete_service(service="web", force=True)
    wait_until(lambda: not tasks(), "they are gone")


# ---- the daemon ends ----

@pytest.fixture
def own_daemon():
    daemon = Daemon()
    try:
        daemon.start("--live-restore")
        daemon.load_images()
        yield daemon
    finally:
        if daemon.process is None:
            daemon.start()
        daemon.remove()


@pytest.fixture
def own_server(own_daemon):
    servers = Servers(docker_arguments(own_daemon))
    yield servers.start
    servers.end()


def test_a_daemon_that_leaves_its_containers_alone(own_daemon, own_server):
    """With --live-restore containers continue while dockerd is away, and slipway takes none for lost."""
    server = own_server()
    ecs = server.boto()
    arn, = run(ecs, define(ecs, "long", box("i=0; while :; do echo $((i++)); sleep 0.05; done")))
    before = containers_of(running(ecs, arn))
    own_daemon.end(signal.SIGKILL)
    for _ in range(20):
        assert describe(ecs, arn)["lastStatus"] == "RUNNING"
        time.sleep(0.1)
    late, = run(ecs, "long")  # waits for the daemon
    own_daemon.start("--live-restore")
    running(ecs, late)
    task = describe(ecs, arn)
    assert (task["lastStatus"], containers_of(task)) == ("RUNNING", before)
    count = len(slipway_run(server, "logs", arn).stdout.split())
    wait_until(lambda: len(slipway_run(server, "logs", arn).stdout.split()) > count, "logs go on")
    lines = slipway_run(server, "logs", arn).stdout.decode().split()
    assert lines == [str(number) for number in range(len(lines))]  # nothing twice
    for arn in (arn, late):
        ecs.stop_task(task=arn)
        stopped(ecs, arn)


def test_a_daemon_that_ends_its_containers(own_daemon, own_server):
    server = own_server()
    ecs = server.boto()
    own_daemon.end()
    own_daemon.start()  # without --live-restore
    arn, = run(ecs, define(ecs, "long", box(LONG)))
    running(ecs, arn)
    ecs.create_service(serviceName="web", taskDefinition="long", desiredCount=1)
    ecs.get_waiter("services_stable").wait(services=["web"], WaiterConfig={"Delay": 1,
                                                                           "MaxAttempts": DEADLINE})
    old, = ecs.list_tasks(serviceName="web")["taskArns"]
    own_daemon.end()
    own_daemon.start()
    assert stopped(ecs, arn)["stopCode"] == "EssentialContainerExited"

    def replaced():
        arns = set(ecs.list_tasks(serviceName="web")["taskArns"]) - {old}
        return arns and describe(ecs, next(iter(arns)))["lastStatus"] == "RUNNING"

    wait_until(replaced, "the service has another task")


def test_both_end(own_daemon, own_server):
    """slipway starts before dockerd does, and adopts when there is something to adopt from."""
    server = own_server()
    ecs = server.boto()
    arn, = run(ecs, define(ecs, "long", box(LONG)))
    before = containers_of(running(ecs, arn))
    ready(server, arn)
    server.kill()
    own_daemon.end(signal.SIGKILL)
    server = own_server(state=server.state)
    ecs = server.boto()
    assert describe(ecs, arn)["lastStatus"] == "RUNNING"
    own_daemon.start("--live-restore")
    assert containers_of(describe(ecs, arn)) == before
    ecs.stop_task(task=arn)
    assert exit_codes(stopped(ecs, arn)) == {"app": 143}


# ---- programs beside ----

@pytest.fixture
def task(ecs):
    arn, = run(ecs, define(ecs, "long", box(LONG)))
    running(ecs, arn)
    yield arn
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


def test_exec_with_a_terminal(slipway, task):
    line, environment = command(slipway, "exec", "-t", task, "--", "sh", "-c",
                                "test -t 0 && echo a terminal; read word; echo got $word; exit 3")
    ours, theirs = pty.openpty()
    seen = b""
    with subprocess.Popen(line, env=environment, stdin=theirs, stdout=theirs, stderr=theirs,
                          start_new_session=True) as client:
        os.close(theirs)
        typed = False
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            seen += piece
            if b"a terminal" in seen and not typed:
                os.write(ours, b"hello\r")
                typed = True
        assert client.wait(DEADLINE) == 3, seen
    os.close(ours)
    assert b"got hello" in seen


def test_a_terminal_has_the_size_of_the_clients(slipway, task):
    line, environment = command(slipway, "exec", "-t", task, "--", "sh", "-c",
                                "until stty size | grep '33 77'; do sleep 0.05; done")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    with subprocess.Popen(line, env=environment, stdin=theirs, stdout=theirs, stderr=theirs,
                          start_new_session=True) as client:
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 4096):
                seen += piece
        except OSError:
            pass
        assert client.wait(DEADLINE) == 0, seen
    os.close(ours)


def test_a_program_ends_with_its_client(slipway, task, daemon):
    mark = f"sleep {random.randrange(10000, 99999)}"

    def processes():
        id = daemon.inspect(task_id(task))["Id"]
        return [row for row in daemon.call("GET", f"/containers/{id}/top")["Processes"]
                if row[-1].endswith(mark)]

    line, environment = command(slipway, "exec", task, "--", "sh", "-c", f"{mark} & {mark}; true")
    with subprocess.Popen(line, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL) as client:
        wait_until(lambda: len(processes()) >= 2, "it runs")
        client.kill()
    wait_until(lambda: not processes(), "it ends with all that it started")


# ---- traffic ----

@pytest.fixture(scope="module")
def traffic(daemon):
    servers = Servers([*docker_arguments(daemon), "--balancers", balancers()])
    try:
        yield Traffic(servers.start())
    finally:
        servers.end()


@pytest.mark.parametrize("mode, kind", [("awsvpc", "ip"), ("bridge", "instance")])
def test_a_load_balancer_reaches_containers(traffic, daemon, mode, kind):
    web = box(SERVE, name="web", portMappings=[{"containerPort": 8080}])
    definition = traffic.register(f"web-{mode}", [web], mode)
    group, (address, port) = traffic.group(traffic.balancer(), kind=kind)
    request = {"serviceName": f"web-{mode}", "taskDefinition": definition, "desiredCount": 2,
               "loadBalancers": [{"targetGroupArn": group, "containerName": "web",
                                  "containerPort": 8080}]}
    if mode == "awsvpc":
        request["networkConfiguration"] = NETWORK
    traffic.ecs.create_service(**request)
    tasks = traffic.wait_for_tasks(f"web-{mode}", 2)
    targets = traffic.wait_for_targets(group, 2)
    if mode == "awsvpc":
        assert {target[0] for target in targets} == {address_of(task) for task in tasks.values()}
    names = {daemon.inspect(task, "" if mode == "awsvpc" else "web")["Config"]["Hostname"]
             for task in tasks}
    answers = set()
    wait_until(lambda: answers.add(ask(address, port)) or answers == names, "both answer")
    traffic.ecs.delete_service(service=f"web-{mode}", force=True)
    traffic.wait_for_tasks(f"web-{mode}", 0)
