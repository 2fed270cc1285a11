"""Problems that users report of other local ECS servers, each one about tasks and services as a test. The actual
state is taken from the machine: which programs live, what they wrote."""
import json

import pytest

from conftest import end_tasks, wait_until
from ecs_requests import arn, refused, send
import programs
from programs import LONG, Mark, container, task_id

WAIT = {"Delay": 1, "MaxAttempts": 120}


def register(ecs, family, *containers, **members):
    return ecs.register_task_definition(family=family, containerDefinitions=list(containers),
                                        **members)["taskDefinition"]["taskDefinitionArn"]


def create(ecs, name, definition, count=1, **members):
    return ecs.create_service(serviceName=name, taskDefinition=definition, desiredCount=count,
                              **members)["service"]


def service(ecs, name):
    return ecs.describe_services(services=[name])["services"][0]


def wait_stable(ecs, name):
    ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)


def tasks_of(ecs, name):
    arns = ecs.list_tasks(serviceName=name)["taskArns"]
    return ecs.describe_tasks(tasks=arns)["tasks"] if arns else []


def remove(ecs, name):
    ecs.delete_service(service=name, force=True)
    ecs.get_waiter("services_inactive").wait(services=[name], WaiterConfig=WAIT)


@pytest.fixture(scope="module", name="ecs")
def client(slipway):
    return slipway.boto("ecs")


@pytest.mark.sanitized
def test_services_spawn_tasks_and_counts_are_true(ecs):
    mark = Mark()
    create(ecs, "spawns", register(ecs, "spawns", container(mark, LONG)), 3)
    wait_stable(ecs, "spawns")
    told = service(ecs, "spawns")
    assert (told["runningCount"], told["pendingCount"], told["desiredCount"]) == (3, 0, 3)
    tasks = tasks_of(ecs, "spawns")
    assert {task["lastStatus"] for task in tasks} == {"RUNNING"}
    assert mark.tasks() == {task_id(task["taskArn"]) for task in tasks}
    assert len(mark.processes()) == 3
    remove(ecs, "spawns")
    assert not mark.processes()
    told = service(ecs, "spawns")
    assert (told["status"], told["runningCount"], told["desiredCount"]) == ("INACTIVE", 0, 0)


@pytest.mark.parametrize("script,code", [("exit 0", 0), ("exit 42", 42), ("kill -KILL $$", 137),
                                         ("kill -TERM $$", 143)])
def test_tasks_reach_stopped_with_their_exit_code(ecs, script, code):
    mark = Mark()
    register(ecs, "ends", container(mark, script))
    task = ecs.run_task(taskDefinition="ends")["tasks"][0]["taskArn"]
    ecs.get_waiter("tasks_stopped").wait(tasks=[task], WaiterConfig=WAIT)
    told = ecs.describe_tasks(tasks=[task])["tasks"][0]
    assert told["lastStatus"] == told["desiredStatus"] == "STOPPED"
    assert told["containers"][0]["exitCode"] == code
    assert told["stopCode"] == "EssentialContainerExited"
    assert told["stoppedReason"] == "Essential container in task exited"
    assert told["createdAt"] <= told["startedAt"] <= told["stoppedAt"]
    assert not mark.processes()


def test_second_deployment_is_visible_during_a_rollout(ecs, tmp_path):
    """The new tasks become healthy only when the test lets them, so the rollout stands still."""
    mark, gate = Mark(), tmp_path / "gate"
    old = register(ecs, "rolls", container(mark, LONG, environment={"VERSION": "1"}))
    new = register(ecs, "rolls", container(
        mark, LONG, environment={"VERSION": "2"},
        healthCheck={"command": ["CMD-SHELL", f"test -e {gate}"], "interval": 5, "retries": 10,
                     "startPeriod": 300}))
    create(ecs, "rolls", old, 2)
    wait_stable(ecs, "rolls")
    first = service(ecs, "rolls")["deployments"][0]["id"]
    ecs.update_service(service="rolls", taskDefinition=new)
    mark.wait_for(2, VERSION="2")
    told = service(ecs, "rolls")
    states = {deployment["status"]: deployment for deployment in told["deployments"]}
    assert set(states) == {"PRIMARY", "ACTIVE"}
    assert states["PRIMARY"]["taskDefinition"] == new
    assert states["PRIMARY"]["rolloutState"] == "IN_PROGRESS"
    assert states["ACTIVE"]["taskDefinition"] == old and states["ACTIVE"]["id"] == first
    assert states["ACTIVE"]["runningCount"] == len(mark.tasks(VERSION="1")) == 2
    gate.touch()
    wait_stable(ecs, "rolls")
    wait_until(lambda: [
        (deployment["status"], deployment["taskDefinition"], deployment["rolloutState"])
        for deployment in service(ecs, "rolls")["deployments"]] == [("PRIMARY", new, "COMPLETED")],
               "only the new one is left, and completed")
    assert len(mark.tasks(VERSION="2")) == 2
    mark.wait_for(0, VERSION="1")
    remove(ecs, "rolls")


def test_services_report_events(ecs):
    mark = Mark()
    create(ecs, "events", register(ecs, "events", container(mark, LONG)), 2)
    wait_stable(ecs, "events")
    started = {task_id(task["taskArn"]) for task in tasks_of(ecs, "events")}

    def messages():
        return [event["message"] for event in service(ecs, "events")["events"]]

    wait_until(lambda: "(service events) has reached a steady state." in messages(), "steady")
    told = [text for text in messages() if text.startswith("(service events) has started ")]
    assert told and all(any(f"(task {task})" in text for text in told) for task in started)
    events = service(ecs, "events")["events"]
    assert [event["createdAt"] for event in events] == sorted(
        (event["createdAt"] for event in events), reverse=True)
    assert len({event["id"] for event in events}) == len(events)
    ecs.update_service(service="events", desiredCount=1)
    wait_stable(ecs, "events")
    assert any(text.startswith("(service events) has stopped 1 running tasks: (task ")
               for text in messages())
    remove(ecs, "events")


def test_service_name_filter_and_pages(ecs):
    mark = Mark()
    definition = register(ecs, "pages", container(mark, LONG))
    create(ecs, "pages-a", definition, 3)
    create(ecs, "pages-b", definition, 2)
    for name in ("pages-a", "pages-b"):
        wait_stable(ecs, name)
    alone = ecs.run_task(taskDefinition=definition, startedBy="me")["tasks"][0]["taskArn"]
    found = {}
    for name, number in (("pages-a", 3), ("pages-b", 2)):
        pages = list(ecs.get_paginator("list_tasks").paginate(
            serviceName=name, PaginationConfig={"PageSize": 1}))
        found[name] = [task for page in pages for task in page["taskArns"]]
        assert len(set(found[name])) == len(found[name]) == number
        assert {task["group"] for task in ecs.describe_tasks(tasks=found[name])["tasks"]} == {
            f"service:{name}"}
    assert not set(found["pages-a"]) & set(found["pages-b"])
    assert ecs.list_tasks(startedBy="me")["taskArns"] == [alone]
    family = {task for page in ecs.get_paginator("list_tasks").paginate(
        family="pages", PaginationConfig={"PageSize": 2}) for task in page["taskArns"]}
    assert family == {alone, *found["pages-a"], *found["pages-b"]}
    refused(ecs.list_tasks, "ServiceNotFoundException", serviceName="absent")
    services = [name for page in ecs.get_paginator("list_services").paginate(
        PaginationConfig={"PageSize": 1}) for name in page["serviceArns"]]
    assert {arn("service/default/pages-a"), arn("service/default/pages-b")} <= set(services)
    assert len(services) == len(set(services))
    for name in ("pages-a", "pages-b"):
        remove(ecs, name)
    ecs.stop_task(task=alone)
    mark.wait_for(0)


@pytest.mark.parametrize("operation,body,code", [
    ("StopTask", {"task": "0123456789abcdef0123456789abcdef"}, "InvalidParameterException"),
    ("StopTask", {}, "InvalidParameterException"),
    ("StopTask", {"cluster": "absent", "task": "0123456789abcdef0123456789abcdef"},
     "ClusterNotFoundException"),
    ("RunTask", {}, "InvalidParameterException"),
    ("RunTask", {"taskDefinition": "absent"}, "ClientException"),
    ("RunTask", {"taskDefinition": "absent", "count": 11}, "InvalidParameterException"),
    ("RunTask", {"taskDefinition": 3}, "SerializationException"),
    ("CreateService", {"serviceName": "x"}, "InvalidParameterException"),
    ("CreateService", {"serviceName": "x", "taskDefinition": "absent", "desiredCount": 1},
     "ClientException"),
    ("CreateService", {"serviceName": "a b", "taskDefinition": "absent", "desiredCount": 1},
     "InvalidParameterException"),
    ("UpdateService", {"service": "absent"}, "ServiceNotFoundException"),
    ("DeleteService", {"service": "absent"}, "ServiceNotFoundException"),
    ("DescribeServices", {"services": []}, "InvalidParameterException"),
    ("DescribeTasks", {"tasks": []}, "InvalidParameterException"),
    ("ListTasks", {"desiredStatus": "SLEEPING"}, "InvalidParameterException"),
    ("ListTasks", {"maxResults": 1000}, "InvalidParameterException"),
])
def test_bad_input_is_no_server_error(slipway, operation, body, code):
    answer = send(slipway, operation, body)
    told = json.loads(answer.body)
    assert (answer.status, told["__type"]) == (400, code), told
    assert told["message"]


def test_fargate_sizes_and_names_are_checked(ecs):
    mark = Mark()
    refused(ecs.register_task_definition, "ClientException", family="fargate",
            requiresCompatibilities=["FARGATE"], networkMode="awsvpc", cpu="300", memory="512",
            containerDefinitions=[container(mark, LONG)])
    register(ecs, "fargate", container(mark, LONG), requiresCompatibilities=["FARGATE"],
             networkMode="awsvpc", cpu="256", memory="512")
    refused(ecs.run_task, "InvalidParameterException", "etwork", taskDefinition="fargate",
            launchType="FARGATE")
    task = ecs.run_task(taskDefinition="fargate", launchType="FARGATE", networkConfiguration={
        "awsvpcConfiguration": {"subnets": ["subnet-1"]}})["tasks"][0]
    assert task["launchType"] == "FARGATE" and "containerInstanceArn" not in task
    ecs.get_waiter("tasks_running").wait(tasks=[task["taskArn"]], WaiterConfig=WAIT)
    assert mark.tasks() == {task_id(task["taskArn"])}
    ecs.stop_task(task=task["taskArn"])
    ecs.get_waiter("tasks_stopped").wait(tasks=[task["taskArn"]], WaiterConfig=WAIT)
    assert not mark.processes()


def test_services_are_relaunched_after_a_restart(start_slipway):
    """Server and all of its tasks go, as when a machine is switched off."""
    server, mark = start_slipway(), Mark()
    ecs = server.boto("ecs")
    create(ecs, "back", register(ecs, "back", container(mark, LONG)), 2)
    wait_stable(ecs, "back")
    before = mark.tasks()
    server.kill()
    end_tasks(server.state)
    assert not mark.processes()
    server = start_slipway(state=server.state)
    ecs = server.boto("ecs")
    after = mark.wait_for(2)
    assert not before & after
    wait_stable(ecs, "back")
    assert {task_id(task["taskArn"]) for task in tasks_of(ecs, "back")} == after
    for task in before:
        told = ecs.describe_tasks(tasks=[task])["tasks"][0]
        assert told["lastStatus"] == "STOPPED" and told["stoppedReason"]


def test_depends_on_and_health_checks_are_honoured(ecs, tmp_path):
    mark, log = Mark(), tmp_path / "log"
    register(ecs, "depends", container(mark, f"echo first >> {log}", name="first", essential=False),
             container(mark, f"echo second >> {log}; {LONG}", name="second",
                       dependsOn=[{"containerName": "first", "condition": "SUCCESS"}],
                       healthCheck={"command": ["CMD-SHELL", f"test -e {tmp_path}/healthy"],
                                    "interval": 5, "retries": 10, "startPeriod": 300}),
             container(mark, f"echo third >> {log}; {LONG}", name="third",
                       dependsOn=[{"containerName": "second", "condition": "HEALTHY"}]))
    task = ecs.run_task(taskDefinition="depends")["tasks"][0]["taskArn"]

    def told():
        found = ecs.describe_tasks(tasks=[task])["tasks"][0]
        return {one["name"]: one for one in found["containers"]}, found

    wait_until(lambda: log.exists() and log.read_text() == "first\nsecond\n", "second has begun")
    wait_until(lambda: told()[0]["second"]["lastStatus"] == "RUNNING", "second is reported as running")
    assert told()[0]["third"]["lastStatus"] == "PENDING"
    assert told()[0]["second"]["healthStatus"] == "UNKNOWN"
    assert told()[1]["lastStatus"] == "PENDING"
    (tmp_path / "healthy").touch()
    ecs.get_waiter("tasks_running").wait(tasks=[task], WaiterConfig=WAIT)
    wait_until(lambda: log.read_text() == "first\nsecond\nthird\n", "third has begun")
    wait_until(lambda: told()[1]["healthStatus"] == "HEALTHY", "the task is healthy")
    assert told()[0]["first"]["exitCode"] == 0
    ecs.stop_task(task=task)
    ecs.get_waiter("tasks_stopped").wait(tasks=[task], WaiterConfig=WAIT)
    assert not mark.processes()


def test_update_service_and_stop_task_act(ecs):
    mark = Mark()
    definition = register(ecs, "acts", container(mark, LONG))
    create(ecs, "acts", definition, 1)
    wait_stable(ecs, "acts")
    ecs.update_service(service="acts", desiredCount=3)
    wait_stable(ecs, "acts")
    assert len(mark.tasks()) == 3
    ecs.update_service(service="acts", desiredCount=0)
    wait_stable(ecs, "acts")
    mark.wait_for(0)
    assert service(ecs, "acts")["status"] == "ACTIVE"
    ecs.update_service(service="acts", desiredCount=1)
    wait_stable(ecs, "acts")
    (before,) = mark.tasks()
    ecs.stop_task(task=before, reason="try me")
    ecs.get_waiter("tasks_stopped").wait(tasks=[before], WaiterConfig=WAIT)
    told = ecs.describe_tasks(tasks=[before])["tasks"][0]
    assert (told["stopCode"], told["stoppedReason"]) == ("UserInitiated", "try me")
    wait_until(lambda: len(mark.tasks()) == 1 and before not in mark.tasks(), "it is replaced")
    wait_stable(ecs, "acts")
    (after,) = mark.tasks()
    ecs.update_service(service="acts", forceNewDeployment=True)
    wait_stable(ecs, "acts")
    wait_until(lambda: len(mark.tasks()) == 1 and after not in mark.tasks(), "all are new")
    remove(ecs, "acts")


def test_a_killed_program_is_reported_and_replaced(ecs):
    import os
    import signal
    mark = Mark()
    create(ecs, "killed", register(ecs, "killed", container(mark, LONG)), 1)
    wait_stable(ecs, "killed")
    ((pid, environment),) = mark.processes().items()
    before = environment["SLIPWAY_TASK"]
    os.kill(pid, signal.SIGKILL)
    ecs.get_waiter("tasks_stopped").wait(tasks=[before], WaiterConfig=WAIT)
    told = ecs.describe_tasks(tasks=[before])["tasks"][0]
    assert told["containers"][0]["exitCode"] == 137
    assert told["stopCode"] == "EssentialContainerExited"
    wait_until(lambda: len(mark.tasks()) == 1 and before not in mark.tasks(), "it is replaced")
    wait_stable(ecs, "killed")
    remove(ecs, "killed")


def test_the_real_agent_is_accepted(ecs, slipway):
    """The messages of an agent from its start to the end of a task."""
    cluster = "agents"
    ecs.create_cluster(clusterName=cluster)
    assert ecs.discover_poll_endpoint(cluster=cluster)["endpoint"].startswith("http")
    instance = ecs.register_container_instance(
        cluster=cluster, totalResources=[
            {"name": "CPU", "type": "INTEGER", "integerValue": 2048},
            {"name": "MEMORY", "type": "INTEGER", "integerValue": 4096},
            {"name": "PORTS", "type": "STRINGSET", "stringSetValue": ["22", "2375"]},
            {"name": "PORTS_UDP", "type": "STRINGSET", "stringSetValue": []}],
        versionInfo={"agentVersion": "1.68.0", "agentHash": "abc", "dockerVersion": "DockerVersion: 20"},
        attributes=[{"name": "ecs.os-type", "value": "linux"}])["containerInstance"]
    register(ecs, "agent", {"name": "app", "image": "busybox", "memory": 64})
    task = ecs.run_task(cluster=cluster, taskDefinition="agent")["tasks"][0]["taskArn"]

    def status():
        return ecs.describe_tasks(cluster=cluster, tasks=[task])["tasks"][0]["lastStatus"]

    assert status() == "PENDING"
    ecs.submit_container_state_change(cluster=cluster, task=task, containerName="app",
                                      status="RUNNING", runtimeId="0123")
    ecs.submit_task_state_change(cluster=cluster, task=task, status="RUNNING")
    assert status() == "RUNNING"
    told = ecs.describe_container_instances(
        cluster=cluster, containerInstances=[instance["containerInstanceArn"]])
    assert told["containerInstances"][0]["runningTasksCount"] == 1
    ecs.stop_task(cluster=cluster, task=task)
    ecs.submit_container_state_change(cluster=cluster, task=task, containerName="app",
                                      status="STOPPED", exitCode=143)
    ecs.submit_task_state_change(cluster=cluster, task=task, status="STOPPED")
    told = ecs.describe_tasks(cluster=cluster, tasks=[task])["tasks"][0]
    assert told["lastStatus"] == "STOPPED" and told["containers"][0]["exitCode"] == 143


def test_waiters_of_the_aws_command(slipway, ecs):
    mark = Mark()
    register(ecs, "waits", container(mark, LONG))
    slipway.aws("ecs", "create-service", "--service-name", "waits", "--task-definition", "waits",
                "--desired-count", "1")
    slipway.aws("ecs", "wait", "services-stable", "--services", "waits")
    assert len(mark.tasks()) == 1
    task = slipway.aws("ecs", "run-task", "--task-definition",
                       "waits").json["tasks"][0]["taskArn"]
    slipway.aws("ecs", "wait", "tasks-running", "--tasks", task)
    assert len(mark.tasks()) == 2
    slipway.aws("ecs", "stop-task", "--task", task, "--reason", "enough")
    slipway.aws("ecs", "wait", "tasks-stopped", "--tasks", task)
    slipway.aws("ecs", "delete-service", "--service", "waits", "--force")
    slipway.aws("ecs", "wait", "services-inactive", "--services", "waits")
    assert not programs.Mark.processes(mark)
