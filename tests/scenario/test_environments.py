"""Daemon environments on real programs; the numbers in names are those of the scenarios they show.

What is promised of the programs is held against the machine itself: a thread looks at /proc all the time."""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid

import botocore.exceptions
import pytest

from conftest import DEADLINE, slipway_program, wait_until
from programs import LONG, Mark, container, task_id
from rest_requests import ask, rest_client, signed
from test_services_run import Watch

INSTANCES = 5
SERVER_ARGUMENTS = ["--instances", str(INSTANCES)]


class Fleet:
    """A cluster of its own would need instances of its own: so environments share one, each with a mark."""

    def __init__(self, server):
        self.server = server
        self.ecs = server.boto("ecs")
        self.api = rest_client(server)
        self.mark = Mark()
        self.name = "e-" + uuid.uuid4().hex[:16]

    def define(self, version, script=LONG, **members):
        return self.ecs.register_task_definition(
            family=self.name, containerDefinitions=[container(
                self.mark, script, environment={"VERSION": str(version)}, **members)])[
                    "taskDefinition"]["taskDefinitionArn"]

    def create(self, definition, attributes=None, **configuration):
        group = {"cluster": "default", **({"attributes": attributes} if attributes else {})}
        return self.api.create_environment(
            name=self.name, environmentType="Daemon", taskDefinition=definition, instanceGroup=group,
            deploymentConfiguration=configuration)["environmentVersion"]

    def update(self, definition, **members):
        return self.api.update_environment(
            name=self.name, taskDefinition=definition, **members)["environmentVersion"]

    def deploy(self, version):
        return self.api.start_deployment(
            name=self.name, environmentVersion=version)["deploymentId"]

    def get(self):
        return self.api.get_environment(name=self.name)

    def deployment(self, identifier):
        return self.api.get_deployment(name=self.name, deploymentId=identifier)

    def deployments(self):
        return self.api.list_deployments(name=self.name)["deployments"]

    def wait_for(self, identifier, *statuses):
        return wait_until(lambda: (found := self.deployment(identifier))["status"] in statuses
                          and found, f"deployment {identifier} is {statuses}")

    def roll_out(self, definition, **configuration):
        """Create and deploy; the version."""
        version = self.create(definition, **configuration)
        self.wait_for(self.deploy(version), "completed")
        return version

    def instances(self):
        return self.ecs.list_container_instances()["containerInstanceArns"]

    def places(self):
        """{instance: [task]} of tasks of this environment that live, as ECS tells them."""
        found = {}
        arns = self.ecs.list_tasks(maxResults=100)["taskArns"]
        for task in self.ecs.describe_tasks(tasks=arns)["tasks"] if arns else []:
            if task["group"] == "env:" + self.name and task["lastStatus"] == "RUNNING":
                found.setdefault(task["containerInstanceArn"], []).append(task_id(task["taskArn"]))
        return found

    def ever(self):
        """Every task of this environment that was ever started; those that stopped are listed for an hour."""
        return [task for status in ("RUNNING", "STOPPED")
                for page in self.ecs.get_paginator("list_tasks").paginate(desiredStatus=status)
                if page["taskArns"]
                for task in self.ecs.describe_tasks(tasks=page["taskArns"])["tasks"]
                if task["group"] == "env:" + self.name]

    def assert_one_each(self, instances, **variables):
        places = self.places()
        assert set(places) == set(instances)
        assert all(len(tasks) == 1 for tasks in places.values())
        assert self.mark.tasks(**variables) == {tasks[0] for tasks in places.values()}

    def try_to_remove(self):
        """True when it is done; what is in progress may begin or end at any moment."""
        try:
            running = self.get().get("activeDeployment")
            if running:
                self.api.stop_deployment(name=self.name, deploymentId=running["deploymentId"])
                wait_until(lambda: "activeDeployment" not in self.get(), "nothing is in progress")
            self.api.delete_environment(name=self.name, terminateTasks=True)
        except botocore.exceptions.ClientError as refusal:
            code = refusal.response["Error"]["Code"]
            if code not in ("ResourceNotFoundException", "ResourceInUseException"):
                raise
            return code == "ResourceNotFoundException"
        return True

    def remove(self):
        wait_until(self.try_to_remove, f"environment {self.name} is deleted")
        wait_until(lambda: not self.exists(), f"environment {self.name} is gone")
        wait_until(lambda: not self.mark.tasks(), "and so are its programs")

    def exists(self):
        return self.name in [item["name"] for item in self.api.list_environments()["environments"]]


class Gate:
    """Programs that are asked to stop, and do so when they may: a rollout stands still for as long as a test needs.
    When they were started and asked they write down themselves, in seconds since the machine was."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="slipway-gate-")
        return self

    def __exit__(self, *_):
        os.rename(self.folder, self.folder + "-gone")  # all may, and nobody writes there any more
        shutil.rmtree(self.folder + "-gone")

    def define(self, fleet, version):
        return fleet.define(version, (
            "trap 'read up idle < /proc/uptime; "
            f"echo $up > {self.folder}/new-$SLIPWAY_TASK; "
            f"mv {self.folder}/new-$SLIPWAY_TASK {self.folder}/asked-$SLIPWAY_TASK; "
            f"while [ -d {self.folder} ] && [ ! -e {self.folder}/open ] && "
            f"[ ! -e {self.folder}/may-$SLIPWAY_TASK ]; do sleep 0.05; done; exit 0' TERM; "
            "set -- $(cat /proc/$$/stat); "
            f"echo ${{22}} > {self.folder}/early-$SLIPWAY_TASK; "
            f"mv {self.folder}/early-$SLIPWAY_TASK {self.folder}/begun-$SLIPWAY_TASK; "
            "while :; do sleep 0.1; done"), stopTimeout=120)

    def roll_out(self, fleet, **configuration):
        """Version 1; the environment's."""
        made = fleet.roll_out(self.define(fleet, 1), **configuration)
        self.ready(fleet, 1)
        return made

    def ready(self, fleet, version):
        """Wait until all programs of a version have written down when they were started, and mind being asked: that they
        run does not mean that they have got that far."""
        wait_until(lambda: (now := fleet.mark.tasks(VERSION=str(version))) and now <= set(self.begun()),
                   f"programs of version {version} are ready")

    def written(self, what):
        found = {}
        for name in os.listdir(self.folder):
            if name.startswith(what):
                with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                    found[name.removeprefix(what)] = float(file.read() or "nan")
        return found

    def asked(self):
        """{task: when} of those that were asked to stop."""
        return self.written("asked-")

    def begun(self):
        """{task: when} of all that ever got ready."""
        return {task: ticks / os.sysconf("SC_CLK_TCK")
                for task, ticks in self.written("begun-").items()}

    def wait_for(self, number):
        """So many were asked; who."""
        return wait_until(lambda: len(now := self.asked()) == number and set(now),
                          f"{number} tasks are asked to stop")

    def let(self, *tasks):
        for task in tasks:
            with open(os.path.join(self.folder, "may-" + task), "w", encoding="utf-8"):
                pass

    def open(self):
        with open(os.path.join(self.folder, "open"), "w", encoding="utf-8"):
            pass


def remaining_memory(fleet, instance):
    """When all that was asked to stop there, by tests before too, has: what stops gives back its own only then."""
    def have_stopped():
        pages = fleet.ecs.get_paginator("list_tasks").paginate(containerInstance=instance,
                                                               desiredStatus="STOPPED")
        return all(task["lastStatus"] == "STOPPED" for page in pages if page["taskArns"]
                   for task in fleet.ecs.describe_tasks(tasks=page["taskArns"])["tasks"])

    wait_until(have_stopped, "nothing is on its way out")
    found = fleet.ecs.describe_container_instances(containerInstances=[instance])
    return next(item["integerValue"] for item in found["containerInstances"][0]["remainingResources"]
                if item["name"] == "MEMORY")


@pytest.fixture(name="fleet")
def new_fleet(slipway):
    fleet = Fleet(slipway)
    yield fleet
    fleet.remove()


def refusal(call, code, status, /, **parameters):
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        call(**parameters)
    answer = caught.value.response
    assert answer["Error"]["Code"] == code, answer
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == status, answer
    return answer


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
    """All that is told of an environment: itself, its versions and its deployments."""
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
    """What was only declared, and then declared otherwise, may have become another's."""
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
    other.create(definitions[3])  # which nobody deploys
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
    # Whatever value it has: there is what counts.
    put(others[0], disk="hdd")
    wait_until(lambda: set(fleet.places()) == {wanted, others[0]}, "another one matches")
    version = fleet.update(fleet.define(2), instanceGroup={
        "cluster": "default", "attributes": [gpu, {"name": disk}]})
    fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each([wanted, others[0], others[2]], VERSION="2")


def test_16_nowhere_is_completed(fleet):
    version = fleet.create(fleet.define(1), attributes=["nobody-has-this"])
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
        # What waits is stopped; what runs is not, nor is the environment.
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


def test_31_somebody_elses_copy_is_left_alone(fleet):
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


# ---- what would be done, and the command ----

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


def env_command(server, *words, code=0):
    done = subprocess.run([slipway_program(), "env", *words, "--server", server.url, "--state",
                           server.state], capture_output=True, text=True, timeout=DEADLINE,
                          stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == code, done
    return done.stdout + done.stderr


def test_the_command_says_the_network(fleet, slipway):
    """What is not said in an update stays; what makes no sense is refused before anything is asked for."""
    definition = fleet.ecs.register_task_definition(
        family=fleet.name, networkMode="awsvpc",
        containerDefinitions=[container(fleet.mark, LONG)])["taskDefinition"]["taskDefinitionArn"]
    create = ("create", fleet.name, "--cluster", "default", "--task-definition", definition)
    assert "awsvpcConfiguration" in env_command(slipway, *create, code=1)
    for words, complaint in (
            (("--security-groups", "sg-1"), "needs --subnets"),
            (("--subnets", ""), "needs --subnets"),
            (("--subnets", "subnet-1", "--assign-public-ip", "maybe"), "'maybe' is neither")):
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
    assert "There is no environment" in env_command(slipway, "status", "nobody", code=1)
    assert "--task-definition" in env_command(slipway, "create", "x", code=2)
    env_command(slipway, "delete", fleet.name, "--terminate-tasks")
    wait_until(lambda: not fleet.exists() and not fleet.mark.tasks(), "it is gone")


# ---- D. updates in batches ----

def test_34_replaced_in_batches(fleet):
    fleet.roll_out(fleet.define(1), minHealthyPercent=60)
    version = fleet.update(fleet.define(2))
    with Watch(fleet.mark) as watch:
        identifier = fleet.deploy(version)
        fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    assert watch.fewest() >= 3, [len(look) for look in watch.looks]
    assert watch.most() <= INSTANCES


def test_37_the_new_one_before_the_old_one_goes(fleet):
    fleet.roll_out(fleet.define(1), minHealthyPercent=100, replaceThenTerminate=True,
                   maxOverPercent=40)
    version = fleet.update(fleet.define(2))
    with Watch(fleet.mark) as watch:
        fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    assert watch.fewest() >= INSTANCES
    assert watch.most() <= INSTANCES + 2


def logged(server):
    """(level, message) of each line in the log of the server."""
    lines = [json.loads(line) for line in server.stderr.splitlines(keepends=True) if line.endswith("\n")]
    return [(line["level"], line["message"]) for line in lines]


def told_of(fleet, identifier):
    """What the log says of a deployment, in order."""
    prefix = f"environment 123456789012/{fleet.name}: deployment {identifier} "
    return [(level, message[len(prefix):]) for level, message in logged(fleet.server)
            if message.startswith(prefix)]


def test_the_log_tells_how_deployments_go(fleet):
    fleet.roll_out(fleet.define(1), minHealthyPercent=60)
    bad = fleet.deploy(fleet.update(fleet.define(2, "exit 1"), deploymentConfiguration={
        "timeoutSeconds": 4, "onFailure": "rollback"}))
    fleet.wait_for(bad, "timed-out")
    (back,) = wait_until(lambda: [item for item in fleet.deployments() if item.get("rollback")],
                         "it is taken back")
    fleet.wait_for(back["deploymentId"], "completed")
    wait_until(lambda: ("info", "is completed") in told_of(fleet, back["deploymentId"]), "its end is told")
    told = told_of(fleet, bad)
    assert told[0] == ("info", "begins")
    level, message = told[-1]
    assert level == "warning" and message.startswith("is timed-out and is taken back: "), told
    assert told_of(fleet, back["deploymentId"])[0] == ("info", "begins")


def test_the_log_tells_of_nothing_taken_back_where_nothing_is(fleet):
    first = fleet.deploy(fleet.create(fleet.define(1, "exit 1"), timeoutSeconds=3, onFailure="rollback"))
    fleet.wait_for(first, "timed-out")
    told = wait_until(lambda: [message for _, message in told_of(fleet, first)
                               if message.startswith("is timed-out")], "its end is told")
    assert len(told) == 1 and told[0].startswith("is timed-out: "), told


def test_39_40_44_bad_versions_take_one_batch_and_poison_nothing(fleet):
    fleet.roll_out(fleet.define(1), minHealthyPercent=60)
    good = {task for tasks in fleet.places().values() for task in tasks}
    for number in (2, 3):
        version = fleet.update(fleet.define(number, "exit 1"),
                               deploymentConfiguration={"timeoutSeconds": 4})
        identifier = fleet.deploy(version)
        wait_until(lambda: fleet.deployment(identifier)["status"] in ("unhealthy", "timed-out"),
                   "it is noticed")
        fleet.wait_for(identifier, "timed-out")
        assert len(good & fleet.mark.tasks(VERSION="1")) >= 3
    version = fleet.update(fleet.define(4), deploymentConfiguration={"timeoutSeconds": 3600})
    fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="4")


def test_45_only_the_instances_change(fleet):
    first, second, *_ = fleet.instances()
    for instance in (first, second):
        fleet.ecs.put_attributes(attributes=[{"name": fleet.name, "value": "a",
                                              "targetType": "container-instance",
                                              "targetId": instance}])
    definition = fleet.define(1)
    fleet.roll_out(definition)
    before = fleet.places()
    version = fleet.update(definition, instanceGroup={"cluster": "default",
                                                      "attributes": [fleet.name + "=a"]})
    fleet.wait_for(fleet.deploy(version), "completed")
    assert set(fleet.places()) == {first, second}
    wait_until(lambda: len(fleet.mark.tasks()) == 2, "the others have ended")
    assert before[first] == fleet.places()[first], "the same task goes on"


# ---- E. pending, stop, rollback, delete ----

def test_49_50_one_waits_and_the_last_one_wins(fleet):
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=80)
        definitions = [fleet.define(number) for number in (2, 3, 4, 5)]
        versions = [fleet.update(definition) for definition in definitions]
        first = fleet.deploy(versions[0])
        gate.wait_for(1)  # and no further for now
        assert fleet.deployment(first)["status"] == "in-progress"
        second = fleet.deploy(versions[1])
        third = fleet.deploy(versions[2])
        assert fleet.deployment(second)["status"] == "canceled"
        assert fleet.deployment(third)["status"] == "pending"
        fleet.update(fleet.define(6))
        assert fleet.deployment(third)["status"] == "canceled"
        last = fleet.deploy(versions[3])
        gate.open()
        fleet.wait_for(last, "completed")
    assert fleet.deployment(first)["status"] == "completed"
    fleet.assert_one_each(fleet.instances(), VERSION="5")
    # What was canceled has never started anything: of all tasks there ever were, none is of it.
    ever = fleet.ever()
    started = {task["startedBy"] for task in ever}
    assert {first, last} <= started and not {second, third} & started
    ran = {task["taskDefinitionArn"] for task in ever}
    assert {definitions[0], definitions[3]} <= ran and not set(definitions[1:3]) & ran


def test_52_53_54_stopped_and_started_again(fleet):
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=60)
        version = fleet.update(fleet.define(2))
        identifier = fleet.deploy(version)
        gate.let(sorted(gate.wait_for(2))[0])
        wait_until(lambda: fleet.mark.tasks(VERSION="2"), "one was replaced")
        for _ in range(2):
            fleet.api.stop_deployment(name=fleet.name, deploymentId=identifier)
        fleet.wait_for(identifier, "stopped")
        assert fleet.get()["status"] == "inactive"
        gate.open()
        wait_until(lambda: fleet.mark.tasks() == {task for tasks in fleet.places().values()
                                                  for task in tasks}, "nothing is under way")
        again = fleet.deploy(version)
        fleet.wait_for(again, "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    refusal(fleet.api.stop_deployment, "ResourceInUseException", 409, name=fleet.name,
            deploymentId=again)
    refusal(fleet.api.stop_deployment, "ResourceNotFoundException", 404, name=fleet.name,
            deploymentId=str(uuid.uuid4()))


def test_55_rolled_back(fleet):
    first = fleet.roll_out(fleet.define(1), minHealthyPercent=60)
    refusal(fleet.api.rollback_deployment, "ResourceInUseException", 409, name=fleet.name)
    second = fleet.update(fleet.define(2))
    fleet.wait_for(fleet.deploy(second), "completed")
    back = fleet.api.rollback_deployment(name=fleet.name)["deploymentId"]
    done = fleet.wait_for(back, "completed")
    assert done["environmentVersion"] == first and done["rollback"]
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    forward = fleet.api.rollback_deployment(name=fleet.name, environmentVersion=second)
    fleet.wait_for(forward["deploymentId"], "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    # One that fails need not end by itself.
    bad = fleet.deploy(fleet.update(fleet.define(3, "exit 1")))
    fleet.wait_for(bad, "unhealthy")
    back = fleet.api.rollback_deployment(name=fleet.name)["deploymentId"]
    fleet.wait_for(back, "completed")
    assert fleet.deployment(bad)["status"] == "stopped" and fleet.get()["status"] == "active"
    wait_until(lambda: len(fleet.mark.tasks(VERSION="2")) == INSTANCES, "all are back")


def test_57_60_deleted(fleet):
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=80)
        identifier = fleet.deploy(fleet.update(fleet.define(2)))
        gate.wait_for(1)  # and no further for now
        assert fleet.deployment(identifier)["status"] == "in-progress"
        refusal(fleet.api.delete_environment, "ResourceInUseException", 409, name=fleet.name)
        fleet.api.stop_deployment(name=fleet.name, deploymentId=identifier)
        fleet.wait_for(identifier, "stopped")
        gate.open()
        wait_until(lambda: fleet.mark.tasks() == {task for tasks in fleet.places().values()
                                                  for task in tasks}, "nothing is under way")
        before = fleet.mark.tasks()
        fleet.api.delete_environment(name=fleet.name)
        wait_until(lambda: not fleet.exists(), "it is gone")
        refusal(fleet.api.delete_environment, "ResourceNotFoundException", 404, name=fleet.name)
        refusal(fleet.api.list_deployments, "ResourceNotFoundException", 404, name=fleet.name)
        assert before and fleet.mark.tasks() == before
        # One of the same name finds what its predecessor left, and replaces it.
        version = fleet.create(fleet.define(3), minHealthyPercent=60)
        fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="3")


def test_60_deleted_again_while_it_is_deleted(fleet):
    """It takes as long as a task takes to stop; who asks again is answered as the first one was."""
    with Gate() as gate:
        gate.roll_out(fleet)
        made = fleet.api.delete_environment(name=fleet.name, terminateTasks=True)
        assert made["ResponseMetadata"]["HTTPStatusCode"] == 202
        gate.wait_for(INSTANCES)  # and none goes for now
        assert fleet.get()["status"] == "deleting"
        again = fleet.api.delete_environment(name=fleet.name, terminateTasks=True)
        assert again["ResponseMetadata"]["HTTPStatusCode"] == 202
        assert fleet.get()["status"] == "deleting" and len(fleet.deployments()) == 1
        assert len(fleet.mark.tasks()) == INSTANCES
        gate.open()
        wait_until(lambda: not fleet.exists(), "it is gone")
    wait_until(lambda: not fleet.mark.tasks(), "and its tasks with it")
    for call in (fleet.api.delete_environment, fleet.api.get_environment,
                 fleet.api.list_deployments, fleet.api.list_environment_versions,
                 fleet.api.diff_environment):
        refusal(call, "ResourceNotFoundException", 404, name=fleet.name)


def test_52_what_waits_begins_when_the_one_before_it_is_stopped(fleet):
    """Who wants nothing to run stops both: stopping one deployment says nothing of the next."""
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=80)
        versions = [fleet.update(fleet.define(number)) for number in (2, 3, 4)]
        first = fleet.deploy(versions[0])
        gate.wait_for(1)  # and no further for now
        second = fleet.deploy(versions[1])
        assert fleet.deployment(second)["status"] == "pending"
        fleet.api.stop_deployment(name=fleet.name, deploymentId=first)
        fleet.wait_for(first, "stopped")
        fleet.wait_for(second, "in-progress")
        found = fleet.get()
        assert found["status"] == "active" and found["activeVersion"] == versions[1]
        # Both: the one that waits first, so that it does not begin.
        third = fleet.deploy(versions[2])
        assert fleet.deployment(third)["status"] == "pending"
        fleet.api.stop_deployment(name=fleet.name, deploymentId=third)
        assert fleet.deployment(third)["status"] == "canceled"
        fleet.api.stop_deployment(name=fleet.name, deploymentId=second)
        fleet.wait_for(second, "stopped")
        assert fleet.get()["status"] == "inactive"
        gate.open()
        wait_until(lambda: fleet.mark.tasks() == {task for tasks in fleet.places().values()
                                                  for task in tasks}, "nothing is under way")
        assert third not in {task["startedBy"] for task in fleet.ever()}
        assert "activeDeployment" not in fleet.get() and fleet.get()["status"] == "inactive"


# ---- G. crashes ----

def test_70_the_server_is_killed_all_the_time(start_slipway):
    server = start_slipway()
    fleet = Fleet(server)
    version = fleet.create(fleet.define(1), minHealthyPercent=50)
    identifier = fleet.deploy(version)
    with Watch(fleet.mark) as watch:
        for turn in range(8):
            time.sleep(0.02 * turn)
            server.kill()
            server = start_slipway(state=server.state)
            fleet.server, fleet.ecs, fleet.api = server, server.boto("ecs"), rest_client(server)
        fleet.wait_for(identifier, "completed")
        wait_until(lambda: len(fleet.mark.tasks()) == INSTANCES, "each has its task")
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    assert max(len(look) for look in watch.looks) <= INSTANCES
    fleet.remove()
