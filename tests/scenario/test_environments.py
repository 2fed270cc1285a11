"""Daemon environments on real programs; the numbers in names are those of the scenarios they show.

What is promised of the programs is held against the machine itself: a thread looks at /proc all the time."""
import json
import os
import signal
import socket
import subprocess
import time
import uuid

import pytest

from conftest import DEADLINE, slipway_program, wait_until
from fleets import (  # pylint: disable=unused-import
    Fleet, Gate, env_command, new_fleet, refusal, remaining_memory)
from programs import LONG, Mark, container, task_id
from rest_requests import ask, signed
from test_services_run import Watch

INSTANCES = 5
SERVER_ARGUMENTS = ["--instances", str(INSTANCES)]

# ---- A. environments and versions ----

def test_1_2_an_environment_that_was_created_does_nothing(fleet):
    version = fleet.create(fleet.define(1))
    found = wait_until(lambda: (now := fleet.get())["counts"]["total"] == INSTANCES and now,
                       "its instances are counted")
    assert found["status"] == "inactive" and found["health"] == "healthy"
    assert found["latestVersion"] == version and "activeVersion" not in found
    assert found["counts"] == {"desired": INSTANCES, "active": 0, "launching": 0, "unhealthy": 0,
                               "missing": INSTANCES, "outdated": 0, "total": INSTANCES,
                               "unreachable": 0}
    time.sleep(0.5)
    assert not fleet.mark.tasks() and not fleet.deployments()


def everything(fleet):
    """All that the API returns of an environment: itself, its versions and its deployments."""
    found = fleet.get()
    found.pop("ResponseMetadata")
    return (found, fleet.api.list_environment_versions(name=fleet.name)["versions"],
            fleet.deployments())


def test_3_a_name_is_used_once(fleet):
    definition = fleet.define(1)
    token = uuid.uuid4().hex
    body = {"name": fleet.name, "taskDefinition": definition,
            "instanceGroup": {"cluster": "default"}, "clientToken": token}
    made = fleet.api.create_environment(**body)["environmentVersion"]
    wait_until(lambda: fleet.get()["counts"]["total"] == INSTANCES, "its instances are counted")
    before = everything(fleet)
    assert len(before[1]) == 1 and before[0]["latestVersion"] == made
    assert fleet.api.create_environment(**body)["environmentVersion"] == made
    refusal(fleet.api.create_environment, "ResourceExistsException", 409,
            **{**body, "deploymentConfiguration": {"minHealthyPercent": 1}})
    answer = refusal(fleet.api.create_environment, "ResourceExistsException", 409,
                     **{**body, "clientToken": uuid.uuid4().hex})
    assert answer["resourceType"] == "environment" and fleet.name in answer["resourceId"]
    assert everything(fleet) == before, "the first one is as it was"


@pytest.mark.parametrize("change, part", [
    ({"name": "a" * 31}, "name"),
    ({"name": "a b"}, "name"),
    ({"name": "-a"}, "name"),
    ({"environmentType": "Other"}, "environmentType"),
    ({"instanceGroup": {"cluster": "default", "attributes": ["a=b=c;"]}}, "attributes"),
    ({"deploymentConfiguration": {"minHealthyPercent": 101}}, "minHealthyPercent"),
    ({"deploymentConfiguration": {"minHealthyPercent": 100}}, "minHealthyPercent"),
    ({"deploymentConfiguration": {"maxOverPercent": 10}}, "maxOverPercent"),
])
def test_5_bad_input_is_refused_by_name(fleet, change, part):
    body = {"name": fleet.name, "taskDefinition": fleet.define(1),
            "instanceGroup": {"cluster": "default"}}
    answer = refusal(fleet.api.create_environment, "InvalidParameterException", 400,
                     **{**body, **change})
    assert part in answer["Error"]["Message"]
    assert not fleet.exists()


@pytest.mark.parametrize("change, part", [
    ({"name": ""}, "name"),
    ({"name": "  "}, "name"),
    ({"taskDefinition": None}, "taskDefinition"),
    ({"taskDefinition": ""}, "taskDefinition"),
    ({"instanceGroup": {}}, "cluster"),
    ({"deploymentConfiguration": {"minHealthyPercent": -1}}, "minHealthyPercent"),
    ({"deploymentConfiguration": {"minHealthyPercent": "x"}}, "minHealthyPercent"),
    ({"deploymentConfiguration": "x"}, "deploymentConfiguration"),
    ({"instanceGroup": {"cluster": ["default"]}}, "cluster"),
    ({"instanceGroup": {"cluster": "default", "attributes": {"a": "b"}}}, "attributes"),
])
def test_5_bad_input_of_clients_that_check_nothing(fleet, change, part):
    body = {"name": fleet.name, "taskDefinition": fleet.define(1),
            "instanceGroup": {"cluster": "default"}, **change}
    before = fleet.api.list_environments()["environments"]
    answer = ask(fleet.server, "POST", "/v1/environments", json.dumps(
        {name: value for name, value in body.items() if value is not None}).encode())
    assert answer.status == 400 and answer.json["code"] == "InvalidParameterException", answer.text
    assert part in answer.json["message"]
    assert fleet.api.list_environments()["environments"] == before


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b'"x"', b'{"name":"x"}}', b'{"name":"\xff"}', b'{"name":"x","name":"y"}',
    b'{"name":' * 200 + b"1" + b"}" * 200, b"[" * 100000,
    b'{"name":"' + b"x" * (2 << 20) + b'"}',
], ids=["empty", "cut", "array", "text", "more", "bytes", "twice", "deep", "deeper", "big"])
def test_5_what_is_no_request_is_refused(fleet, body):
    before = fleet.api.list_environments()["environments"]
    answer = ask(fleet.server, "POST", "/v1/environments", body)
    assert answer.status == 400 and answer.json["code"] == "InvalidParameterException", answer.text
    assert fleet.api.list_environments()["environments"] == before


def test_6_what_is_not_there_is_named(fleet):
    body = {"name": fleet.name, "taskDefinition": fleet.define(1),
            "instanceGroup": {"cluster": "default"}}
    for change, kind in (({"instanceGroup": {"cluster": "none"}}, "cluster"),
                         ({"taskDefinition": "none:1"}, "taskDefinition")):
        answer = refusal(fleet.api.create_environment, "ResourceNotFoundException", 404,
                         **{**body, **change})
        assert answer["resourceType"] == kind
    gone = fleet.define(2)
    fleet.ecs.deregister_task_definition(taskDefinition=gone)
    fleet.ecs.create_cluster(clusterName=fleet.name)
    fleet.ecs.delete_cluster(cluster=fleet.name)
    for change, kind in (({"instanceGroup": {"cluster": fleet.name}}, "cluster"),
                         ({"taskDefinition": gone}, "taskDefinition")):
        answer = refusal(fleet.api.create_environment, "ResourceNotFoundException", 404,
                         **{**body, **change})
        assert answer["resourceType"] == kind
    assert not fleet.exists()
    # An update is looked at in the same way.
    fleet.api.create_environment(**body)
    for change, kind in (({"instanceGroup": {"cluster": fleet.name}}, "cluster"),
                         ({"taskDefinition": gone}, "taskDefinition")):
        answer = refusal(fleet.api.update_environment, "ResourceNotFoundException", 404,
                         name=fleet.name, **change)
        assert answer["resourceType"] == kind


def test_7_two_environments_do_not_run_the_same(fleet, slipway):
    one, two = fleet.define(1), fleet.define(2)
    fleet.create(one)
    other = Fleet(slipway)
    try:
        answer = refusal(other.api.create_environment, "ResourceInUseException", 409,
                         name=other.name, taskDefinition=one, instanceGroup={"cluster": "default"})
        assert fleet.name in answer["Error"]["Message"]
        other.create(two)
        refusal(other.api.update_environment, "ResourceInUseException", 409, name=other.name,
                taskDefinition=one)
    finally:
        other.remove()


def test_7_instances_that_never_meet_are_the_same_cluster(fleet, slipway):
    definition = fleet.define(1)
    fleet.create(definition, attributes=["zone=a"])
    other = Fleet(slipway)
    body = {"name": other.name, "taskDefinition": definition}
    try:
        answer = refusal(other.api.create_environment, "ResourceInUseException", 409, **body,
                         instanceGroup={"cluster": "default", "attributes": ["zone=b"]})
        assert fleet.name in answer["Error"]["Message"] and not other.exists()
        other.ecs.create_cluster(clusterName=other.name)
        other.api.create_environment(**body, instanceGroup={"cluster": other.name})
        assert other.get()["taskDefinition"] == definition
    finally:
        other.remove()


def test_7_it_is_looked_at_again_when_a_version_is_deployed(fleet, slipway):
    """A claim that was declared and then changed may belong to another environment now."""
    one = fleet.define(1)
    first = fleet.create(one)
    fleet.update(fleet.define(2))
    other = Fleet(slipway)
    try:
        theirs = other.create(one)
        answer = refusal(fleet.api.start_deployment, "ResourceInUseException", 409,
                         name=fleet.name, environmentVersion=first)
        assert other.name in answer["Error"]["Message"]
        assert not fleet.deployments() and fleet.get()["status"] == "inactive"
        other.wait_for(other.deploy(theirs), "completed")
    finally:
        other.remove()
    # Without the other one it may.
    fleet.wait_for(fleet.deploy(first), "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="1")


def test_7_what_is_deployed_is_claimed_though_another_version_is_the_latest(fleet, slipway):
    """While it waits, too."""
    other = Fleet(slipway)

    def claimed(definition):
        answer = refusal(other.api.create_environment, "ResourceInUseException", 409,
                         name=other.name, taskDefinition=definition,
                         instanceGroup={"cluster": "default"})
        assert fleet.name in answer["Error"]["Message"]

    with Gate() as gate:
        definitions = [gate.define(fleet, 1), *(fleet.define(number) for number in range(2, 6))]
        versions = [fleet.create(definitions[0], minHealthyPercent=20),
                    *(fleet.update(definition) for definition in definitions[1:])]
        fleet.wait_for(fleet.deploy(versions[0]), "completed")
        gate.ready(fleet, 1)
        claimed(definitions[0])
        running = fleet.deploy(versions[1])
        gate.wait_for(4)
        claimed(definitions[1])
        waiting = fleet.deploy(versions[2])
        assert fleet.deployment(waiting)["status"] == "pending"
        claimed(definitions[2])
        gate.open()
        fleet.wait_for(running, "completed")
        fleet.wait_for(waiting, "completed")
    claimed(definitions[2])
    other.create(definitions[3])  # which is never deployed
    other.remove()


def test_9_10_an_update_makes_a_version_and_nothing_else(fleet):
    one, two = fleet.define(1), fleet.define(2)
    first = fleet.roll_out(one, minHealthyPercent=60)
    before = fleet.places()
    second = fleet.update(two, baseVersion=first)
    versions = fleet.api.list_environment_versions(name=fleet.name)["versions"]
    assert [item["environmentVersion"] for item in versions] == [second, first]
    assert [item["taskDefinition"] for item in versions] == [two, one]
    assert versions[0]["deploymentConfiguration"]["minHealthyPercent"] == 60
    refusal(fleet.api.update_environment, "VersionConflictException", 409, name=fleet.name,
            taskDefinition=one, baseVersion=first)
    assert fleet.places() == before
    assert fleet.api.get_environment_version(name=fleet.name, environmentVersion=first)[
        "taskDefinition"] == one


# ---- B. first deployment ----

def test_13_one_task_on_each_instance(fleet):
    version = fleet.create(fleet.define(1))
    identifier = fleet.deploy(version)
    done = fleet.wait_for(identifier, "completed")
    assert (done["completed"], done["total"]) == (INSTANCES, INSTANCES)
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    found = fleet.get()
    assert found["status"] == "active" and found["activeVersion"] == version
    assert found["counts"]["active"] == INSTANCES and found["counts"]["missing"] == 0
    tasks = [task for tasks in fleet.places().values() for task in tasks]
    for task in fleet.ecs.describe_tasks(tasks=tasks)["tasks"]:
        assert task["group"] == "env:" + fleet.name and task["startedBy"] == identifier
    # 14: when all is as it should be nothing is done.
    time.sleep(0.5)
    assert {task for tasks in fleet.places().values() for task in tasks} == set(tasks)
    assert len(fleet.deployments()) == 1


def test_15_26_attributes_select_and_are_looked_at_all_the_time(fleet):
    first, second, *_ = fleet.instances()

    def put(instance, value):
        fleet.ecs.put_attributes(attributes=[{"name": fleet.name, "value": value,
                                              "targetType": "container-instance",
                                              "targetId": instance}])

    put(first, "yes")
    put(second, "no")
    fleet.roll_out(fleet.define(1), attributes=[fleet.name + "=yes"])
    fleet.assert_one_each([first])
    put(second, "yes")
    wait_until(lambda: set(fleet.places()) == {first, second}, "the second one matches, too")
    (kept,) = fleet.places()[second]
    put(first, "no")
    wait_until(lambda: set(fleet.places()) == {second}, "the first one does not any more")
    assert fleet.mark.wait_for(1) == {kept}
    put(first, "yes")
    wait_until(lambda: set(fleet.places()) == {first, second}, "and again")
    fleet.assert_one_each([first, second])
    assert fleet.places()[second] == [kept]


def test_d10_attributes_are_said_in_three_ways_and_all_must_match(fleet):
    wanted, *others = fleet.instances()
    stack, gpu, disk = (fleet.name + end for end in ("-stack", "-gpu", "-disk"))

    def put(instance, **attributes):
        fleet.ecs.put_attributes(attributes=[
            {"name": f"{fleet.name}-{name}", "targetType": "container-instance",
             "targetId": instance, **({"value": value} if value else {})}
            for name, value in attributes.items()])

    put(wanted, stack="prod", gpu="v100", disk=None)
    put(others[0], stack="prod", gpu="v100")
    put(others[1], stack="prod", disk="ssd")
    put(others[2], stack="dev", gpu=None, disk="ssd")
    attributes = [{"name": stack, "value": "prod"}, gpu, {"name": disk}]
    fleet.roll_out(fleet.define(1), attributes=attributes)
    fleet.assert_one_each([wanted])
    assert fleet.get()["instanceGroup"]["attributes"] == attributes
    # Any value counts: the attribute exists.
    put(others[0], disk="hdd")
    wait_until(lambda: set(fleet.places()) == {wanted, others[0]}, "another one matches")
    version = fleet.update(fleet.define(2), instanceGroup={
        "cluster": "default", "attributes": [gpu, {"name": disk}]})
    fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each([wanted, others[0], others[2]], VERSION="2")


def test_16_nowhere_is_completed(fleet):
    version = fleet.create(fleet.define(1), attributes=["no-such-attribute"])
    done = fleet.wait_for(fleet.deploy(version), "completed")
    assert (done["completed"], done["total"]) == (0, 0)


def test_19_versions_of_others_and_of_before(fleet):
    first = fleet.roll_out(fleet.define(1), minHealthyPercent=20)
    second = fleet.update(fleet.define(2))
    refusal(fleet.api.start_deployment, "ResourceNotFoundException", 404, name=fleet.name,
            environmentVersion=str(uuid.uuid4()))
    other = Fleet(fleet.server)
    try:
        theirs = other.create(other.define(1))
        for call in (fleet.api.start_deployment, fleet.api.rollback_deployment,
                     fleet.api.get_environment_version):
            refusal(call, "ResourceNotFoundException", 404, name=fleet.name,
                    environmentVersion=theirs)
    finally:
        other.remove()
    assert len(fleet.deployments()) == 1
    fleet.wait_for(fleet.deploy(second), "completed")
    refusal(fleet.api.start_deployment, "VersionConflictException", 409, name=fleet.name,
            environmentVersion=first)


def test_20_what_does_not_fit_is_named_and_comes_when_it_does(fleet):
    instance = fleet.instances()[0]
    free = remaining_memory(fleet, instance)
    big = fleet.ecs.register_task_definition(family=fleet.name + "-big", containerDefinitions=[
        {**container(Mark(), LONG), "memory": free - 8}])["taskDefinition"]["taskDefinitionArn"]
    hog = fleet.ecs.start_task(taskDefinition=big, containerInstances=[instance])["tasks"][0]
    try:
        identifier = fleet.deploy(fleet.create(fleet.define(1)))
        found = wait_until(lambda: (now := fleet.deployment(identifier)).get("failedInstances")
                           and now, "the instance without room is named")
        assert found["status"] in ("blocked", "unhealthy")
        assert [item["instance"] for item in found["failedInstances"]] == [task_id(instance)]
        assert "RESOURCE:MEMORY" in found["failedInstances"][0]["reason"]
        wait_until(lambda: fleet.get()["health"] == "unhealthy", "so is the environment")
        wait_until(lambda: len(fleet.places()) == INSTANCES - 1, "the others run")
    finally:
        fleet.ecs.stop_task(task=hog["taskArn"])
    fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances())
    wait_until(lambda: fleet.get()["health"] == "healthy", "it is healthy")


def test_21_a_deployment_is_started_once(fleet):
    version = fleet.create(fleet.define(1))
    token = uuid.uuid4().hex
    first = fleet.api.start_deployment(name=fleet.name, environmentVersion=version,
                                       clientToken=token)["deploymentId"]
    assert fleet.api.start_deployment(name=fleet.name, environmentVersion=version,
                                      clientToken=token)["deploymentId"] == first
    fleet.wait_for(first, "completed")
    assert fleet.api.start_deployment(name=fleet.name, environmentVersion=version,
                                      clientToken=token)["deploymentId"] == first
    assert len(fleet.deployments()) == 1


def test_21_a_client_that_never_heard_the_answer_asks_again(fleet):
    version = fleet.create(fleet.define(1))
    token = uuid.uuid4().hex
    path = f"/v1/environments/{fleet.name}/deployments"
    body = json.dumps({"environmentVersion": version, "clientToken": token}).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: " + fleet.server.url.split("//")[1],
             f"Content-Length: {len(body)}",
             *(f"{name}: {value}" for name, value in signed(
                 fleet.server, "POST", path, body).items())]
    with socket.create_connection(fleet.server.url.split("//")[1].split(":")) as connection:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        (made,) = wait_until(fleet.deployments, "it was understood")
    again = fleet.api.start_deployment(name=fleet.name, environmentVersion=version,
                                       clientToken=token)["deploymentId"]
    assert again == made["deploymentId"]
    fleet.wait_for(again, "completed")
    assert [item["deploymentId"] for item in fleet.deployments()] == [again]
    fleet.assert_one_each(fleet.instances())


def test_21_53_what_is_on_its_way_is_not_deployed_twice_and_what_waits_can_be_stopped(fleet):
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=60)
        second, third = [fleet.update(fleet.define(number)) for number in (2, 3)]
        running = fleet.deploy(second)
        gate.wait_for(2)
        waiting = fleet.deploy(third)
        assert fleet.deploy(third) == waiting
        assert fleet.deployment(waiting)["status"] == "pending"
        # The waiting deployment is stopped; tasks that run are not, nor is the environment.
        for _ in range(2):
            stopped = fleet.api.stop_deployment(name=fleet.name, deploymentId=waiting)
            assert stopped["deploymentId"] == waiting and stopped["status"] == "canceled"
        found = fleet.deployment(waiting)
        assert found["status"] == "canceled" and "endedAt" in found and "startedAt" not in found
        assert fleet.deployment(running)["status"] == "in-progress"
        assert fleet.get()["status"] == "active"
        assert fleet.deploy(second) == running
        assert [item["deploymentId"] for item in fleet.deployments()][:2] == [waiting, running]
        gate.open()
        fleet.wait_for(running, "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    assert fleet.deployment(waiting)["status"] == "canceled" and len(fleet.deployments()) == 3


# ---- C. membership and health ----

def test_24_a_task_that_dies_is_replaced_where_it_was(fleet):
    fleet.roll_out(fleet.define(1))
    before = fleet.places()
    instance, (victim,) = sorted(before.items())[0]
    fleet.ecs.stop_task(task=victim)
    wait_until(lambda: fleet.places().get(instance, [victim]) != [victim]
               and len(fleet.places()) == INSTANCES, "another one runs there")
    after = fleet.places()
    assert {key: value for key, value in after.items() if key != instance} == {
        key: value for key, value in before.items() if key != instance}
    assert fleet.deployments()[0]["deploymentType"] == "health-repair"
    wait_until(lambda: fleet.deployments()[0]["status"] == "completed", "the repair is over")


def test_24_all_tasks_die_and_all_return(fleet):
    fleet.roll_out(fleet.define(1))
    before = fleet.mark.tasks()
    with Watch(fleet.mark) as watch:
        for pid in fleet.mark.processes():
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: len(fleet.mark.tasks() - before) == INSTANCES, "all have returned")
        wait_until(lambda: len(fleet.places()) == INSTANCES
                   and fleet.deployments()[0]["status"] == "completed", "the repair is over")
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    assert max(len(look) for look in watch.looks) <= INSTANCES
    repairs = fleet.deployments()[:-1]
    assert repairs and {item["deploymentType"] for item in repairs} == {"health-repair"}


def test_31_an_unmanaged_copy_is_left_alone(fleet):
    definition = fleet.define(1)
    instance = fleet.instances()[0]
    foreign = fleet.ecs.start_task(taskDefinition=definition,
                                   containerInstances=[instance])["tasks"][0]["taskArn"]
    try:
        fleet.mark.wait_for(1)
        fleet.roll_out(definition)
        assert len(fleet.mark.tasks()) == INSTANCES + 1
        assert {len(tasks) for tasks in fleet.places().values()} == {1}
        assert fleet.ecs.describe_tasks(tasks=[foreign])["tasks"][0]["lastStatus"] == "RUNNING"
    finally:
        fleet.ecs.stop_task(task=foreign)


def test_33_two_environments_on_the_same_instances(fleet, slipway):
    other = Fleet(slipway)
    try:
        fleet.roll_out(fleet.define(1))
        other.roll_out(other.define(1))
        fleet.assert_one_each(fleet.instances())
        other.assert_one_each(fleet.instances())
        before = other.places()
        fleet.remove()
        assert other.places() == before
    finally:
        other.remove()


# ---- differences, and the command ----

def test_a_diff_says_what_a_deployment_then_does(fleet):
    first, second, *_ = fleet.instances()
    for instance in (first, second):
        fleet.ecs.put_attributes(attributes=[{"name": fleet.name, "value": "a",
                                              "targetType": "container-instance",
                                              "targetId": instance}])
    version = fleet.create(fleet.define(1), minHealthyPercent=50)
    diff = fleet.api.diff_environment(name=fleet.name)
    assert diff["environmentVersion"] == version and "activeVersion" not in diff
    assert {item["instance"] for item in diff["start"]} == set(map(task_id, fleet.instances()))
    assert diff["counts"] == {"start": INSTANCES, "stop": 0, "replace": 0, "keep": 0,
                              "unreachable": 0}
    assert diff["maxDown"] == 2
    fleet.wait_for(fleet.deploy(version), "completed")
    before = fleet.places()
    assert fleet.api.diff_environment(name=fleet.name)["counts"]["keep"] == INSTANCES
    fleet.update(fleet.define(2), instanceGroup={"cluster": "default",
                                                 "attributes": [fleet.name + "=a"]})
    diff = fleet.api.diff_environment(name=fleet.name)
    assert {item["instance"] for item in diff["replace"]} == {task_id(first), task_id(second)}
    assert {task_id(item["task"]) for item in diff["stop"]} == {
        tasks[0] for instance, tasks in before.items() if instance not in (first, second)}
    assert {change["member"] for change in diff["changes"]} == {"taskDefinition",
                                                               "instanceGroup.attributes"}
    assert fleet.places() == before, "nothing was done"
    fleet.wait_for(fleet.deploy(diff["environmentVersion"]), "completed")
    assert set(fleet.places()) == {first, second}


def test_the_command_says_the_network(fleet, slipway):
    """An update keeps omitted members; invalid options are rejected before the first request."""
    definition = fleet.ecs.register_task_definition(
        family=fleet.name, networkMode="awsvpc",
        containerDefinitions=[container(fleet.mark, LONG)])["taskDefinition"]["taskDefinitionArn"]
    create = ("create", fleet.name, "--cluster", "default", "--task-definition", definition)
    assert "awsvpcConfiguration" in env_command(slipway, *create, code=1)
    for words, complaint in (
            (("--security-groups", "sg-1"), "needs --subnets"),
            (("--subnets", ""), "needs --subnets"),
            (("--subnets", "subnet-1", "--assign-public-ip", "maybe"), "invalid value 'maybe'")):
        assert complaint in env_command(slipway, *create, *words, code=2)
    assert not fleet.exists()

    def network():
        return fleet.get()["networkConfiguration"]["awsvpcConfiguration"]

    env_command(slipway, *create, "--subnets", "subnet-1,subnet-2", "--security-groups", "sg-1")
    assert network() == {"subnets": ["subnet-1", "subnet-2"], "securityGroups": ["sg-1"]}
    env_command(slipway, "update", fleet.name, "--security-groups", "sg-2,sg-3",
                "--assign-public-ip", "enabled")
    assert network() == {"subnets": ["subnet-1", "subnet-2"], "securityGroups": ["sg-2", "sg-3"],
                         "assignPublicIp": "ENABLED"}
    env_command(slipway, "update", fleet.name, "--subnets", "subnet-3", "--assign-public-ip",
                "disabled")
    assert network() == {"subnets": ["subnet-3"], "securityGroups": ["sg-2", "sg-3"],
                         "assignPublicIp": "DISABLED"}
    env_command(slipway, "update", fleet.name, "--min-healthy", "50")
    assert network()["subnets"] == ["subnet-3"]
    said = subprocess.run([slipway_program(), "env", "create", "--help"], capture_output=True, text=True,
                          timeout=DEADLINE, stdin=subprocess.DEVNULL, check=True).stdout
    for option in ("--subnets", "--security-groups", "--assign-public-ip"):
        assert option in said
    fleet.remove()


def test_the_command(fleet, slipway):
    one, two = fleet.define(1), fleet.define(2)
    assert "slipway env deploy" in env_command(
        slipway, "create", fleet.name, "--cluster", "default", "--task-definition", one,
        "--min-healthy", "60")
    assert f"{INSTANCES} to start" in env_command(slipway, "diff", fleet.name)
    said = env_command(slipway, "deploy", fleet.name, "--watch")
    assert "completed" in said and f"{INSTANCES} active" in said
    env_command(slipway, "update", fleet.name, "--task-definition", two)
    assert f"{INSTANCES} to replace" in env_command(slipway, "diff", fleet.name)
    env_command(slipway, "deploy", fleet.name, "--watch")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    env_command(slipway, "rollback", fleet.name, "--watch")
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    said = env_command(slipway, "status", fleet.name)
    assert "active, healthy" in said and f"{one}: {INSTANCES} of {INSTANCES} tasks active" in said
    assert f"{two} (not deployed)" in said
    assert env_command(slipway, "history", fleet.name).count("completed") == 3
    assert fleet.name in env_command(slipway, "list")
    assert "no deployment in progress" in env_command(slipway, "stop", fleet.name, code=1)
    assert "There is no environment" in env_command(slipway, "status", "absent", code=1)
    assert "--task-definition" in env_command(slipway, "create", "x", code=2)
    env_command(slipway, "delete", fleet.name, "--terminate-tasks")
    wait_until(lambda: not fleet.exists() and not fleet.mark.tasks(), "it is gone")
