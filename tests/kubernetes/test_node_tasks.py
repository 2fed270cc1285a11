"""Tasks and services on a real node: what runs there is real programs in real containers. ECS is asked by real
clients; witnesses are the API server and the node itself."""
import subprocess
import time

import pytest
from conftest import wait_until
from on_node import Place, container
from test_node import fetch
from test_run import define, describe, exit_codes, run, running, stopped, wait_for
from test_run_exec import command, slipway_run
from witness import is_ready, task_ids

pytestmark = pytest.mark.node

SLEEP = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
SHARED = [{"name": "shared", "host": {}}]
MOUNTS = [{"sourceVolume": "shared", "containerPath": "/shared"}]
PATIENCE = 180  # for what has to fail several times


@pytest.fixture(scope="module")
def place(node_cluster, module_slipway, tmp_path_factory):
    return Place(node_cluster, module_slipway, tmp_path_factory.mktemp("slipway"))


@pytest.fixture
def ecs(place):
    return place.ecs


@pytest.fixture
def name(request):
    return request.node.name.removeprefix("test_").replace("_", "-")[:60]


def task_id(arn):
    return arn.rsplit("/", 1)[1]


def answer(address):
    """The text served there; None while connections are refused."""
    try:
        return fetch(address)
    except OSError:
        return None


def said(place, arn, *arguments):
    result = slipway_run(place.server, "logs", *arguments, arn)
    assert result.returncode == 0, result.stderr
    return result.stdout.decode()


# ---- tasks ----

def test_a_task_runs_at_an_address(place, ecs, name):
    script = f"mkdir /www; echo hello >/www/index.html; httpd -p 8080 -h /www; {SLEEP}"
    arn, = run(ecs, define(ecs, name, container(script, portMappings=[{"containerPort": 8080}]),
                           networkMode="awsvpc"),
               networkConfiguration={"awsvpcConfiguration": {"subnets": ["subnet-1"]}})
    task = running(ecs, arn)
    pod = place.witness.pod(task_id(arn))
    assert pod["status"]["phase"] == "Running" and pod["spec"]["restartPolicy"] == "Never"
    address = task["containers"][0]["networkInterfaces"][0]["privateIpv4Address"]
    assert address == pod["status"]["podIP"]
    wait_until(lambda: answer(address) == "hello", "it answers at its address")
    ids = place.container_ids([pod])[pod["metadata"]["name"]]
    assert ids["app"].startswith(task["containers"][0]["runtimeId"].split("//")[-1][:12])
    ecs.stop_task(task=arn, reason="enough")
    task = stopped(ecs, arn)
    assert (task["stopCode"], task["stoppedReason"]) == ("UserInitiated", "enough")
    assert exit_codes(task) == {"app": 0}
    assert ids["app"] not in place.running_ids()


def test_stopping(place, ecs, name):
    polite, = run(ecs, define(ecs, "polite", container(
        "trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.1; done")))
    stubborn, = run(ecs, define(ecs, "stubborn", container(
        "trap 'echo asked' TERM; echo ready; while :; do sleep 0.1; done", stopTimeout=10)))
    for arn in (polite, stubborn):
        running(ecs, arn)
        wait_until(lambda arn=arn: said(place, arn) == "ready\n", "it minds signals")
    began = time.monotonic()
    line, environment = command(place.server, "logs", "-f", stubborn)
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL) as follower:
        assert follower.stdout.readline() == b"ready\n"
        for arn in (polite, stubborn):
            ecs.stop_task(task=arn)
        assert follower.stdout.read() == b"asked\n"
    assert exit_codes(stopped(ecs, polite)) == {"app": 5}
    assert exit_codes(stopped(ecs, stubborn)) == {"app": 137}
    assert time.monotonic() - began >= 10


def test_a_missing_image_is_reported(place, ecs, name):
    arn, = run(ecs, define(ecs, name, container("true", image="slipway.test/none:1")))
    task = stopped(ecs, arn)
    assert task["stopCode"] == "TaskFailedToStart"
    assert "CannotPullContainerError" in task["stoppedReason"] + str(task["containers"])
    assert "slipway.test/none:1" in task["stoppedReason"] + str(task["containers"])


def test_logs_are_those_of_the_containers(place, ecs, name):
    arn, = run(ecs, define(ecs, name, container(f"echo one; echo two >&2; {SLEEP}"),
                           container(f"echo beside; {SLEEP}", name="beside")))
    running(ecs, arn)
    wait_until(lambda: sorted(said(place, arn, "-c", "app").split()) == ["one", "two"], "it speaks")
    wait_until(lambda: said(place, arn, "-c", "beside") == "beside\n", "the other one, too")
    pod = place.witness.pod(task_id(arn))
    assert sorted(place.cluster.kubectl(
        "logs", pod["metadata"]["name"], "-n", pod["metadata"]["namespace"], "-c",
        "app").stdout.split()) == ["one", "two"]
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


def test_programs_beside_those_of_a_task(place, ecs, name):
    arn, = run(ecs, define(ecs, name, container(SLEEP), container(SLEEP, "beside")))
    running(ecs, arn)
    result = slipway_run(place.server, "exec", "-c", "app", arn, "--", "sh", "-c",
                         "echo out; echo err >&2; read line; echo $line; exit 7", input=b"typed\n")
    assert (result.returncode, result.stdout, result.stderr) == (7, b"out\ntyped\n", b"err\n")
    result = slipway_run(place.server, "exec", "-c", "beside", arn, "--", "hostname")
    assert (result.returncode, result.stdout.decode().strip()) == (
        0, place.witness.pod(task_id(arn))["metadata"]["name"])
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


# ---- containers of one task ----

def test_containers_wait_for_the_end_of_others(place, ecs, name):
    arn, = run(ecs, define(
        ecs, name,
        container("echo app >>/shared/log; cat /shared/log; " + SLEEP, mountPoints=MOUNTS,
                  dependsOn=[{"containerName": "second", "condition": "COMPLETE"}]),
        container("echo second >>/shared/log; exit 4", "second", essential=False,
                  mountPoints=MOUNTS,
                  dependsOn=[{"containerName": "first", "condition": "SUCCESS"}]),
        container("sleep 0.5; echo first >>/shared/log", "first", essential=False,
                  mountPoints=MOUNTS), volumes=SHARED))
    running(ecs, arn)
    wait_until(lambda: said(place, arn, "-c", "app").split() == ["first", "second", "app"],
               "they ran in order")
    assert exit_codes(describe(ecs, arn)) == {"app": None, "second": 4, "first": 0}
    ecs.stop_task(task=arn)
    assert exit_codes(stopped(ecs, arn)) == {"app": 0, "second": 4, "first": 0}


def test_containers_wait_for_the_health_of_others(place, ecs, name):
    def stamp(which):
        return f"date +%s >/shared/{which}"

    arn, = run(ecs, define(
        ecs, name,
        container(f"{stamp('app')}; cd /shared; cat base well app; {SLEEP}", mountPoints=MOUNTS,
                  dependsOn=[{"containerName": "base", "condition": "HEALTHY"},
                             {"containerName": "begun", "condition": "START"}]),
        container(SLEEP, "begun", essential=False),
        container(f"{stamp('base')}; sleep 2; {stamp('well')}; {SLEEP}", "base",
                  mountPoints=MOUNTS, healthCheck={
                      "command": ["CMD-SHELL", "test -e /shared/well"], "interval": 5,
                      "timeout": 2, "retries": 10}), volumes=SHARED))
    task = running(ecs, arn)
    times = wait_until(lambda: len(found := said(place, arn, "-c", "app").split()) == 3 and found,
                       "it ran last")
    base, well, app = map(int, times)
    assert base + 2 <= well <= app
    assert {item["name"]: item["lastStatus"] for item in task["containers"]} == {
        "app": "RUNNING", "begun": "RUNNING", "base": "RUNNING"}
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


def test_health(place, ecs, name):
    arn, = run(ecs, define(ecs, name, container(f"touch /tmp/well; {SLEEP}", healthCheck={
        "command": ["CMD-SHELL", "test -e /tmp/well"], "interval": 5, "timeout": 2, "retries": 1})))
    task = wait_for(ecs, arn, lambda task: task["healthStatus"] == "HEALTHY", "it is healthy")
    assert task["containers"][0]["healthStatus"] == "HEALTHY"
    place.execute(place.witness.pod(task_id(arn)), "app", "rm", "/tmp/well")
    task = wait_for(ecs, arn, lambda task: task["healthStatus"] == "UNHEALTHY", "it is unhealthy")
    assert task["lastStatus"] == "RUNNING"  # ECS does not stop a standalone task for that
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


def test_essential_and_other_containers(place, ecs, name):
    arn, = run(ecs, define(
        ecs, name, container("until [ -e /shared/end ]; do sleep 0.1; done; exit 5",
                             mountPoints=MOUNTS),
        container("exit 4", "side", essential=False),
        container("trap 'exit 6' TERM; while :; do sleep 0.1; done", "beside",
                  mountPoints=MOUNTS), volumes=SHARED))
    task = wait_for(ecs, arn, lambda task: exit_codes(task)["side"] == 4
                    and task["lastStatus"] == "RUNNING", "the side ends alone")
    assert {item["name"]: item["lastStatus"] for item in task["containers"]} == {
        "app": "RUNNING", "side": "STOPPED", "beside": "RUNNING"}
    # The other container's file is this one's, too: one volume.
    place.execute(place.witness.pod(task_id(arn)), "beside", "touch", "/shared/end")
    task = stopped(ecs, arn)
    assert exit_codes(task) == {"app": 5, "side": 4, "beside": 6}
    assert task["stopCode"] == "EssentialContainerExited"


# ---- services ----

@pytest.fixture
def service(place, name):
    """service(script, count, **members): makes the test's service and waits until it is stable."""
    made = []

    def make(script=SLEEP, count=2, stable=True, **members):
        place.ecs.create_service(serviceName=name, desiredCount=count,
                                 taskDefinition=place.register(name, container(script)), **members)
        made.append(name)
        if stable:
            place.wait_until_stable(name)

    yield make
    for item in made:
        place.remove_service(item)


def assert_tasks_are_pods(place, name, count):
    """ECS, Kubernetes and the node agree. Each hears of it in its own time."""
    def agree():
        pods = place.witness.pods(name)
        tasks = place.tasks(name)
        return set(tasks) == task_ids(pods) and len(pods) == count \
            and {task["lastStatus"] for task in tasks.values()} == {"RUNNING"} \
            and all(ids.keys() == {"app"} for ids in place.container_ids(pods).values()) \
            and {item["restartCount"] for pod in pods for item in pod["status"]["containerStatuses"]} == {0}

    wait_until(agree, f"{count} tasks are pods, and run")


def test_a_killed_program_ends_its_task_and_another_takes_its_place(place, service, name):
    service()
    assert_tasks_are_pods(place, name, 2)
    victim, other = place.witness.pods(name)
    token = task_ids([victim]).pop()
    kept = place.container_ids([other])
    place.kill(victim)
    task = wait_until(lambda: (found := place.ecs.describe_tasks(tasks=[token])["tasks"][0])[
        "lastStatus"] == "STOPPED" and found, "the task is STOPPED")
    assert (task["stopCode"], exit_codes(task)) == ("EssentialContainerExited", {"app": 137})
    wait_until(lambda: token not in place.tasks(name) and len(place.tasks(name)) == 2, "a new task")
    place.wait_until_stable(name)
    assert_tasks_are_pods(place, name, 2)
    assert kept.items() <= place.container_ids(place.witness.pods(name)).items()


def test_a_new_version_rolls(place, service, name):
    service()
    before = set(place.tasks(name))
    new = place.register(name, container("echo new; " + SLEEP))
    place.ecs.update_service(service=name, taskDefinition=new)
    place.wait_until_stable(name)
    assert_tasks_are_pods(place, name, 2)
    tasks = place.tasks(name)
    assert not before & set(tasks)
    assert {task["taskDefinitionArn"] for task in tasks.values()} == {new}
    for token in tasks:
        wait_until(lambda token=token: said(place, token) == "new\n", "it speaks")
    old = place.ecs.describe_tasks(tasks=sorted(before))["tasks"]
    wait_until(lambda: {task["lastStatus"] for task in place.ecs.describe_tasks(
        tasks=sorted(before))["tasks"]} == {"STOPPED"}, f"the old ones are STOPPED: {old}")
    assert {exit_codes(task)["app"] for task in place.ecs.describe_tasks(
        tasks=sorted(before))["tasks"]} == {0}


def test_a_version_that_crashes_is_slowed_down_and_rolled_back(place, service, name):
    service(deploymentConfiguration={
        "deploymentCircuitBreaker": {"enable": True, "rollback": True}})
    good = place.service(name)["taskDefinition"]
    wait_until(lambda: place.service(name)["deployments"][0]["rolloutState"] == "COMPLETED",
               "there is a version to come back to")
    place.ecs.update_service(service=name,
                             taskDefinition=place.register(name, container("sleep 1; exit 9")))

    def is_back():
        primary = place.service(name)["deployments"][0]
        return primary["taskDefinition"] == good and primary["rolloutState"] == "COMPLETED"

    began = time.monotonic()
    fewest = []

    def is_back_and_served():
        # Those that were there before, and later those that bring their revision in again.
        fewest.append(sum(1 for pod in place.witness.pods(name)
                          if "exit 9" not in str(pod["spec"]) and is_ready(pod)))
        return is_back()

    wait_until(is_back_and_served, "the service is rolled back", PATIENCE)
    seconds = time.monotonic() - began
    assert min(fewest) >= 2  # a version that crashes replaces no running task
    failed = [task for task in place.tasks(name, "STOPPED").values()
              if exit_codes(task).get("app") == 9]
    assert 3 <= len(failed) <= 3 + seconds  # not as often as it could
    place.wait_until_stable(name)
    assert_tasks_are_pods(place, name, 2)
    assert any("rolling back to deployment" in text for text in place.messages(name))


def test_slipway_is_killed_and_no_program_notices(place, service, name):
    service()
    arn, = run(place.ecs, define(place.ecs, name + "-own", container(SLEEP)))
    running(place.ecs, arn)

    def everything():
        return place.container_ids(place.witness.pods(name) + [place.witness.pod(task_id(arn))])

    before, tasks = everything(), set(place.tasks(name))
    assert len(before) == 3
    for _ in range(3):
        place.kill_and_restart()
        place.wait_until_stable(name)
        assert set(place.tasks(name)) == tasks
        assert describe(place.ecs, arn)["lastStatus"] == "RUNNING"
    assert everything() == before
    # Changes while slipway was down are observed afterwards.
    victim = place.witness.pods(name)[0]
    token = task_ids([victim]).pop()
    place.server.kill()
    place.kill(victim)
    place.server = place.start(*place.arguments, state=place.server.state)
    task = wait_until(lambda: (found := place.ecs.describe_tasks(tasks=[token])["tasks"][0])[
        "lastStatus"] == "STOPPED" and found, "the task is STOPPED")
    assert exit_codes(task) == {"app": 137}
    place.wait_until_stable(name)
    assert_tasks_are_pods(place, name, 2)
    place.ecs.stop_task(task=arn)
    stopped(place.ecs, arn)
