"""Daemon environments and instances that come, go, drain and are full; numbers are those of the scenarios."""
import contextlib
import json
import os
import signal
import threading
import time

import botocore.exceptions
import pytest

from conftest import DEADLINE, wait_until
from fleets import Fleet, Gate, env_command, refusal, remaining_memory
from programs import LONG, Mark, container, task_id
from rest_requests import rest_client
from test_services_run import Watch

INSTANCES = 5
SERVER_ARGUMENTS = ["--instances", str(INSTANCES)]


@pytest.fixture(name="fleet")
def new_fleet(slipway):
    fleet = Fleet(slipway)
    yield fleet
    fleet.remove()


class OwnFleet(Fleet):
    """On a server of its own, that starts again with other instances."""

    def __init__(self, start, *arguments):
        self.start = start
        super().__init__(start(*arguments))

    def restart(self, *arguments, kill=False):
        if kill:
            self.server.kill()
        else:
            self.server.stop()
        self.server = self.start(*arguments, state=self.server.state)
        self.ecs, self.api = self.server.boto("ecs"), rest_client(self.server)


@pytest.fixture(name="own_fleet")
def new_own_fleet(start_slipway):
    made = []

    def start(*arguments):
        made.append(OwnFleet(start_slipway, *arguments))
        return made[-1]

    yield start
    for fleet in made:
        fleet.remove()


def define_other(fleet, mark, memory=16):
    """A task definition of another owner."""
    return fleet.ecs.register_task_definition(
        family=fleet.name + "-other",
        containerDefinitions=[{**container(mark, LONG), "memory": memory}])[
            "taskDefinition"]["taskDefinitionArn"]


def set_status(fleet, instance, status):
    fleet.ecs.update_container_instances_state(containerInstances=[instance], status=status)


def covers(fleet, instances):
    places = fleet.places()
    return set(places) == set(instances) and all(len(tasks) == 1 for tasks in places.values())


def kill_programs(fleet, *tasks):
    for pid, environment in fleet.mark.processes().items():
        if environment["SLIPWAY_TASK"] in tasks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def tasks_ever(fleet):
    """Every task of this environment that was ever started."""
    return {task_id(task["taskArn"]) for task in fleet.ever()}


@pytest.fixture(name="witness")
def new_witness(own_fleet):
    """An active environment beside another one on a server of two instances: when it has done what there was to do,
    the other one would have, too."""
    fleet = own_fleet("--instances", "2")
    witness = Fleet(fleet.server)
    witness.roll_out(witness.define(1))

    def restart(*arguments):
        fleet.restart(*arguments)
        witness.server, witness.ecs, witness.api = fleet.server, fleet.ecs, fleet.api

    witness.beside, witness.restart = fleet, restart
    yield witness
    witness.remove()


# ---- A ----

def test_2_an_instance_joins_an_environment_that_was_never_deployed(witness):
    fleet = witness.beside
    fleet.create(fleet.define(1))
    witness.restart("--instances", "3")
    wait_until(lambda: len(fleet.instances()) == 3, "it has joined")
    wait_until(lambda: covers(witness, fleet.instances()), "every active instance has a task")
    wait_until(lambda: fleet.get()["counts"]["missing"] == 3, "the other one has seen it, too")
    assert not tasks_ever(fleet) and not fleet.mark.tasks()
    assert not fleet.deployments() and fleet.get()["status"] == "inactive"



def test_10_of_two_concurrent_updates_one_is_rejected(fleet):
    first = fleet.create(fleet.define(1))
    definitions = [fleet.define(2), fleet.define(3)]
    answers = []
    together = threading.Barrier(2)

    def update(api, definition):
        together.wait()
        try:
            answers.append(api.update_environment(name=fleet.name, taskDefinition=definition,
                                                  baseVersion=first)["environmentVersion"])
        except botocore.exceptions.ClientError as problem:
            answers.append(problem.response["Error"]["Code"])

    clients = [threading.Thread(target=update, args=[rest_client(fleet.server), definition])
               for definition in definitions]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert answers.count("VersionConflictException") == 1
    made = next(answer for answer in answers if answer != "VersionConflictException")
    assert fleet.get()["latestVersion"] == made
    versions = fleet.api.list_environment_versions(name=fleet.name)["versions"]
    assert [item["number"] for item in versions] == [2, 1]


def test_networks_of_awsvpc(fleet):
    """Without one it could never start: said when it is declared. With one its tasks get it."""
    definition = fleet.ecs.register_task_definition(
        family=fleet.name, networkMode="awsvpc", containerDefinitions=[
            container(fleet.mark, LONG)])["taskDefinition"]["taskDefinitionArn"]
    body = {"name": fleet.name, "taskDefinition": definition,
            "instanceGroup": {"cluster": "default"}}
    answer = refusal(fleet.api.create_environment, "InvalidParameterException", 400, **body)
    assert answer["Error"]["Message"].startswith("networkConfiguration: ")
    assert not fleet.exists()
    network = {"awsvpcConfiguration": {"subnets": ["subnet-1"], "securityGroups": ["sg-1"]}}
    version = fleet.api.create_environment(**body, networkConfiguration=network)[
        "environmentVersion"]
    assert fleet.get()["networkConfiguration"] == network
    fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each(fleet.instances())
    (task,) = next(iter(fleet.places().values()))
    attached = fleet.ecs.describe_tasks(tasks=[task])["tasks"][0]["attachments"][0]["details"]
    assert {"name": "subnetId", "value": "subnet-1"} in attached


def test_environments_are_found_by_what_they_are(own_fleet):
    fleet = own_fleet("--instances", "1")
    bad, good = fleet.define(1, script="exit 1"), fleet.define(2)
    fleet.ecs.create_cluster(clusterName="empty")
    names = {}

    def create(name, definition, cluster="default", deploy=True):
        names[name] = f"{fleet.name}-{name}"
        version = fleet.api.create_environment(
            name=names[name], taskDefinition=definition, instanceGroup={"cluster": cluster})[
                "environmentVersion"]
        if deploy:
            fleet.api.start_deployment(name=names[name], environmentVersion=version)

    def found(**filters):
        return {name for page in (fleet.api.list_environments(**filters),)
                for name in (item["name"] for item in page["environments"])}

    create("bad", bad)
    create("good", good)
    create("other", good, "empty")
    create("idle", fleet.define(3), "empty", deploy=False)
    every = set(names.values())
    wait_until(lambda: found(health="unhealthy") == {names["bad"]}, "one is unhealthy")
    assert found() == every and found(type="Daemon") == every and found(type="Cron") == set()
    wait_until(lambda: found(health="healthy") == every - {names["bad"]}, "the others are not")
    assert found(status="inactive") == {names["idle"]}
    assert found(status="active") == every - {names["idle"]}
    assert found(cluster="empty") == {names["other"], names["idle"]}
    assert found(cluster="empty", status="active") == {names["other"]}
    assert found(namePrefix=names["good"]) == {names["good"]}
    assert found(namePrefix=names["good"], status="inactive") == set()
    token, seen = {}, []
    while token is not None:  # pages have each once
        page = fleet.api.list_environments(cluster="default", maxResults=1, **token)
        seen += [item["name"] for item in page["environments"]]
        token = {"nextToken": page["nextToken"]} if "nextToken" in page else None
    assert sorted(seen) == sorted([names["bad"], names["good"]])
    for name in every:
        one = Fleet(fleet.server)
        one.name = name
        one.remove()
    assert not found()


def test_running_tasks_are_counted_by_task_definition(fleet):
    with Gate() as gate:
        definitions = [gate.define(fleet, 1), fleet.define(2)]
        first = fleet.roll_out(definitions[0], minHealthyPercent=80)
        gate.ready(fleet, 1)
        assert fleet.get()["currentState"] == [{
            "taskDefinition": definitions[0], "environmentVersion": first, "taskCount": INSTANCES,
            "activeCount": INSTANCES}]
        version = fleet.update(definitions[1], deploymentConfiguration={"warmUpSeconds": 1})
        identifier = fleet.deploy(version)
        gate.let(*gate.wait_for(1))
        gate.wait_for(2)  # and no further for now
        both = wait_until(lambda: len(now := fleet.get()["currentState"]) == 2 and now, "both run")
        assert {item["taskDefinition"]: item["environmentVersion"] for item in both} == dict(
            zip(definitions, (first, version)))
        assert INSTANCES - 1 <= sum(item["taskCount"] for item in both) <= INSTANCES
        gate.open()
        fleet.wait_for(identifier, "completed")
    assert fleet.get()["currentState"] == [{
        "taskDefinition": definitions[1], "environmentVersion": version, "taskCount": INSTANCES,
        "activeCount": INSTANCES}]


# ---- B ----

def test_14_what_is_up_to_date_is_left_alone(own_fleet):
    """After a restart the server finds everything as desired, and sends no call."""
    fleet = own_fleet("--instances", "3")
    fleet.roll_out(fleet.define(1))
    before = (fleet.places(), fleet.deployments(), set(fleet.mark.processes()))
    fleet.restart("--instances", "3", kill=True)
    wait_until(lambda: fleet.get()["counts"]["active"] == 3, "it knows them")
    time.sleep(1)
    assert (fleet.places(), fleet.deployments(), set(fleet.mark.processes())) == before


# ---- C ----

def test_22_instances_join(own_fleet):
    fleet = own_fleet("--instances", "1")
    fleet.roll_out(fleet.define(1))
    first = fleet.places()
    for count in (2, 10):
        fleet.restart("--instances", str(count))
        wait_until(lambda: len(fleet.instances()) == count, "they have joined")  # pylint: disable=cell-var-from-loop
        wait_until(lambda: covers(fleet, fleet.instances()), "each has its task")
    fleet.assert_one_each(fleet.instances())
    instance, tasks = next(iter(first.items()))
    assert fleet.places()[instance] == tasks
    wait_until(lambda: all(item["status"] == "completed" for item in fleet.deployments()),
               "all is over")
    types = [item["deploymentType"] for item in fleet.deployments()]
    assert types[-1] == "user" and set(types[:-1]) == {"autoscaling"}
    assert len(types) < 10  # not one for each


def calls_of(server):
    """The calls to start and stop tasks, successful or not, from the audit log: [(operation, result)]."""
    with open(os.path.join(server.state, "audit.log"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [(line["operation"], line["result"]) for line in lines
            if line["operation"] in ("ecs:StartTask", "ecs:StopTask")]


def live_rows(fleet):
    """Running tasks and instances in the state service: ({instance: [task]}, [instance])."""
    rows = {}
    for task in fleet.api.list_tasks(cluster="default", maxResults=100)["tasks"]:
        if task["lastStatus"] != "STOPPED":
            rows.setdefault(task["instance"], []).append(task)
    return rows, [item["instance"] for item in
                  fleet.api.list_instances(cluster="default")["instances"]]


def test_23_27_28_instances_leave(own_fleet):
    fleet = own_fleet("--instances", "10")
    fleet.roll_out(fleet.define(1))
    gone, *others = fleet.instances()
    begun = calls_of(fleet.server)
    assert begun and set(begun) == {("ecs:StartTask", "success")}
    fleet.ecs.deregister_container_instance(containerInstance=gone, force=True)
    wait_until(lambda: fleet.get()["counts"]["total"] == 9, "it does not count any more")
    wait_until(lambda: covers(fleet, others), "the others keep theirs")
    wait_until(lambda: set(live_rows(fleet)[0]) == set(map(task_id, others)), "no row is left of it")
    assert set(live_rows(fleet)[1]) == set(map(task_id, others))
    for instance in others:
        fleet.ecs.deregister_container_instance(containerInstance=instance, force=True)
    wait_until(lambda: fleet.get()["counts"]["total"] == 0, "none counts any more")
    wait_until(lambda: not fleet.mark.tasks(), "nothing runs")
    wait_until(lambda: live_rows(fleet) == ({}, []), "no row is left of any")
    wait_until(lambda: all(item["status"] in ("completed", "stopped")
                           for item in fleet.deployments()), "no deployment is left over")
    assert fleet.get()["health"] == "healthy" and fleet.get()["status"] == "active"
    # Nothing is tried again and again; environment/manager_quiet_test.c waits for longer.
    before, calls = len(fleet.deployments()), calls_of(fleet.server)
    time.sleep(1)
    assert len(fleet.deployments()) == before and calls_of(fleet.server) == calls
    assert [call for call in calls if call[0] == "ecs:StopTask"] == []
    # They come back under other ids.
    fleet.restart("--instances", "4")
    wait_until(lambda: len(fleet.instances()) == 4, "they are back")
    assert gone not in fleet.instances()
    wait_until(lambda: covers(fleet, fleet.instances()), "each has its task")
    fleet.assert_one_each(fleet.instances())


def test_stopped_tasks_say_why(fleet):
    instance = fleet.instances()[0]
    target = {"name": fleet.name, "value": "a", "targetId": instance, "targetType": "container-instance"}
    fleet.ecs.put_attributes(attributes=[target])

    def reasons():
        return [task.get("stoppedReason") for task in fleet.ever() if task["desiredStatus"] == "STOPPED"]

    first = fleet.create(fleet.define(1), attributes=[fleet.name])
    fleet.wait_for(fleet.deploy(first), "completed")
    second = fleet.update(fleet.define(2))
    fleet.wait_for(fleet.deploy(second), "completed")
    assert wait_until(reasons, "the older one stopped") == [
        f"Environment {fleet.name}: version {second} replaces it"]
    fleet.ecs.delete_attributes(attributes=[{**target, "value": "a"}])
    wait_until(lambda: f"Environment {fleet.name}: container instance {task_id(instance)} no longer matches" in reasons(),
               "the other one, too")


def test_29_draining_last_out(fleet):
    fleet.roll_out(fleet.define(1))
    instance = fleet.instances()[0]
    foreign = Mark()
    other = fleet.ecs.start_task(taskDefinition=define_other(fleet, foreign),
                                 containerInstances=[instance])["tasks"][0]["taskArn"]
    foreign.wait_for(1)
    mine = fleet.places()[instance]
    try:
        # Undrained before the other has left: nothing happened.
        set_status(fleet, instance, "DRAINING")
        wait_until(lambda: fleet.get()["counts"]["total"] == INSTANCES - 1, "it drains")
        time.sleep(0.5)
        assert fleet.places()[instance] == mine
        set_status(fleet, instance, "ACTIVE")
        wait_until(lambda: fleet.get()["counts"]["total"] == INSTANCES, "it is back")
        assert fleet.places()[instance] == mine
        # Ours goes when the other has, not before.
        set_status(fleet, instance, "DRAINING")
        wait_until(lambda: fleet.get()["counts"]["total"] == INSTANCES - 1, "it drains")
        assert mine[0] in fleet.mark.tasks() and foreign.tasks()
        fleet.ecs.stop_task(task=other)
        wait_until(lambda: mine[0] not in fleet.mark.tasks(), "ours has left, too")
        assert not foreign.tasks()
        wait_until(lambda: instance not in fleet.places(), "ECS says so")
    finally:
        fleet.ecs.stop_task(task=other)
        set_status(fleet, instance, "ACTIVE")
    wait_until(lambda: covers(fleet, fleet.instances()), "each has its task again")


def test_29_others_have_their_time_and_no_more(fleet):
    fleet.roll_out(fleet.define(1), drainTimeoutSeconds=1)
    instance = fleet.instances()[0]
    foreign = Mark()
    other = fleet.ecs.start_task(taskDefinition=define_other(fleet, foreign),
                                 containerInstances=[instance])["tasks"][0]["taskArn"]
    foreign.wait_for(1)
    try:
        set_status(fleet, instance, "DRAINING")
        wait_until(lambda: instance not in fleet.places(), "ours did not wait for ever")
        assert foreign.tasks()
    finally:
        fleet.ecs.stop_task(task=other)
        set_status(fleet, instance, "ACTIVE")


# ---- first in ----

def test_others_come_after_the_daemon(own_fleet):
    """A new instance takes no other task before the environment's runs there."""
    fleet = own_fleet("--instances", "2")
    others = Mark()
    fleet.roll_out(fleet.define(1))
    # With four instances, which are half as large, four of these and the environment's task fill each.
    memory = (remaining_memory(fleet, fleet.instances()[0]) // 2 - 32) // 4
    fleet.ecs.create_service(serviceName="web", taskDefinition=define_other(fleet, others, memory),
                             desiredCount=8, placementStrategy=[{"type": "spread",
                                                                 "field": "instanceId"}])
    others.wait_for(8)
    fleet.restart("--instances", "4")
    fleet.ecs.update_service(service="web", desiredCount=16)
    others.wait_for(16)
    wait_until(lambda: covers(fleet, fleet.instances()), "each has its task")

    def running():
        tasks = fleet.ecs.describe_tasks(tasks=fleet.ecs.list_tasks(maxResults=100)["taskArns"])["tasks"]
        return tasks if all("startedAt" in task for task in tasks) else None

    started = {}
    for task in wait_until(running, "all are reported as running"):
        mine = task["group"] == "env:" + fleet.name
        first = started.setdefault(task["containerInstanceArn"], {})
        first[mine] = min(first.get(mine, task["startedAt"]),
                          task["startedAt"] if mine else task["createdAt"])
    assert len(started) == 4
    for instance, first in started.items():
        assert first[True] <= first[False], instance
    fleet.ecs.delete_service(service="web", force=True)
    wait_until(lambda: not others.tasks(), "nothing of it runs")


def test_room_is_kept_for_the_daemon(fleet):
    """Its task has died: others do not take its room in the meantime."""
    fleet.roll_out(fleet.define(1, memory=64))
    instance = fleet.instances()[0]
    free = remaining_memory(fleet, instance)
    # Wherever it goes, 63 of these would have to be the daemon's.
    big = define_other(fleet, Mark(), free + 1)
    (task,) = fleet.places()[instance]
    for _ in range(3):
        fleet.ecs.stop_task(task=task)
        answer = fleet.ecs.run_task(taskDefinition=big, count=1)
        assert answer["tasks"] == [] and "RESOURCE:MEMORY" in answer["failures"][0]["reason"]
        wait_until(lambda: covers(fleet, fleet.instances()) and fleet.places()[instance] != [task],  # pylint: disable=cell-var-from-loop
                   "it is replaced")
        (task,) = fleet.places()[instance]


def test_priority_evicts_tasks_and_without_it_none_are(fleet):
    instance = fleet.instances()[0]
    marks = [Mark(), Mark()]
    free = remaining_memory(fleet, instance)
    small, large = [define_other(fleet, mark, memory)
                    for mark, memory in zip(marks, (8, free - 8 - 4))]
    arns = [fleet.ecs.start_task(taskDefinition=definition, containerInstances=[instance])[
        "tasks"][0]["taskArn"] for definition in (small, large)]
    try:
        marks[0].wait_for(1)
        marks[1].wait_for(1)
        definition = fleet.define(1)
        identifier = fleet.deploy(fleet.create(definition))
        wait_until(lambda: fleet.deployment(identifier).get("failedInstances"), "it is full")
        time.sleep(1.5)
        assert marks[0].tasks() and marks[1].tasks()
        fleet.api.stop_deployment(name=fleet.name, deploymentId=identifier)
        version = fleet.update(definition, priority=10)
        assert fleet.api.get_environment_version(
            name=fleet.name, environmentVersion=version)["priority"] == 10
        fleet.wait_for(fleet.deploy(version), "completed")
        fleet.assert_one_each(fleet.instances())
        # Only the one whose leaving helps has left.
        assert marks[0].tasks() and not marks[1].tasks()
        left = fleet.ecs.describe_tasks(tasks=[arns[1]])["tasks"][0]
        assert f"environment {fleet.name}" in left["stoppedReason"]
    finally:
        for arn in arns:
            fleet.ecs.stop_task(task=arn)


# ---- D ----

def well_at(gate, at, warm_up, killed=None):
    """The tasks that were warm when one was asked to stop, and neither asked themselves nor killed."""
    ended = {**gate.asked(), **(killed or {})}
    return [task for task, begun in gate.begun().items()
            if begun + warm_up <= at + 0.05 and ended.get(task, at + 1) > at]


def test_35_instances_join_a_rollout(own_fleet):
    """They get the new version at once, and count: nothing is stopped before enough of eight are well."""
    fleet = own_fleet("--instances", "5")
    warm_up = 2
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=60)
        old = fleet.mark.tasks()
        before = fleet.instances()
        version = fleet.update(gate.define(fleet, 2),
                               deploymentConfiguration={"warmUpSeconds": warm_up})
        identifier = fleet.deploy(version)
        first = gate.wait_for(2)  # the first batch, which stays as it is
        fleet.restart("--instances", "8", kill=True)
        new = fleet.mark.wait_for(3, VERSION="2")
        joined = set(fleet.instances()) - set(before)
        assert len(joined) == 3
        wait_until(lambda: {task for instance in joined
                            for task in fleet.places().get(instance, ())} == new, "they have it")
        # Now one more may go: five of eight are left without the three.
        gate.wait_for(3)
        gate.open()
        fleet.wait_for(identifier, "completed")
        fleet.assert_one_each(fleet.instances(), VERSION="2")
        gate.ready(fleet, 2)
        asked = gate.asked()
        assert set(asked) == old
        for task in old - first:
            assert len(well_at(gate, asked[task], warm_up)) >= 5, (task, asked, gate.begun())


def test_38_breached_from_outside(fleet):
    """While others are down for reasons of their own no healthy one is stopped, and starts go on."""
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=60)
        old = fleet.mark.tasks()
        version = fleet.update(gate.define(fleet, 2), deploymentConfiguration={"warmUpSeconds": 1})
        identifier = fleet.deploy(version)
        first = gate.wait_for(2)  # nothing more may go
        killed = {}
        for pid, environment in fleet.mark.processes().items():
            if environment["SLIPWAY_TASK"] not in first:
                killed[environment["SLIPWAY_TASK"]] = time.clock_gettime(time.CLOCK_BOOTTIME)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        assert set(killed) == old - first and len(killed) == 3
        # They are restarted while the others still stop, and no other task is asked to stop for that.
        wait_until(lambda: len(fleet.mark.tasks() - old) == 3, "three are started again")
        assert set(gate.asked()) == first
        wait_until(lambda: fleet.mark.tasks() - old <= set(gate.begun()), "they mind being asked")
        gate.open()
        fleet.wait_for(identifier, "completed")
        fleet.assert_one_each(fleet.instances(), VERSION="2")
        gate.ready(fleet, 2)
        asked = gate.asked()
        for task in set(asked) - first:
            assert len(well_at(gate, asked[task], 1, killed)) >= 3, (task, asked, gate.begun())
        assert len(asked) == INSTANCES  # two of before, and those that came back


def test_41_two_updates_within_the_warm_up(fleet):
    """A waiting second version is no reason to take more down than one batch."""
    fleet.roll_out(fleet.define(1), minHealthyPercent=60)
    identifiers = []
    with Watch(fleet.mark) as watch:
        for number in (2, 3):
            version = fleet.update(fleet.define(number), deploymentConfiguration={"warmUpSeconds": 2})
            identifiers.append(fleet.deploy(version))
            wait_until(lambda: fleet.mark.tasks(VERSION=str(number)), "it has begun")  # pylint: disable=cell-var-from-loop
        fleet.wait_for(identifiers[1], "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="3")
    # Three of five are well at any time: warm, or of the first version, which was before it all began.
    # A task that has ended by the second listing may have become that much older in between.
    for look, following, (begun, _), (_, end) in zip(watch.looks, watch.looks[1:], watch.times, watch.times[1:]):
        well = {task for each in (look, following) for task, (number, age) in each.items()
                if number == "1" or age + (end - begun) >= 1.95}
        assert len(well) >= 3, (look, following)


def test_48_an_old_task_that_dies_before_its_turn_keeps_its_version(fleet):
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=80)
        old = fleet.mark.tasks()
        identifier = fleet.deploy(fleet.update(fleet.define(2)))
        first = gate.wait_for(1)  # and no other is, before it has gone
        instance, (victim,) = next((key, tasks) for key, tasks in sorted(fleet.places().items())
                                   if not first & set(tasks))
        gate.let(victim)
        fleet.ecs.stop_task(task=victim)
        (fresh,) = wait_until(lambda: fleet.mark.tasks(VERSION="1") - old, "it is started again")
        wait_until(lambda: fleet.places().get(instance) == [fresh], "where it was")
        assert not fleet.mark.tasks(VERSION="2")
        gate.open()
        fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")


def test_43_an_instance_whose_task_does_not_stop_costs_one_of_those_that_may_be_down(own_fleet):
    instances = 3
    fleet = own_fleet("--instances", str(instances))
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=30)
        identifier = fleet.deploy(fleet.update(gate.define(fleet, 2)))
        stuck, _ = sorted(gate.wait_for(2))
        for number in range(2, instances + 1):
            gate.let(*(gate.wait_for(number) - {stuck}))
        done = wait_until(lambda: (now := fleet.deployment(identifier))["completed"]
                          == instances - 1 and now, "the others are done")
        assert done["status"] == "in-progress"
        assert fleet.mark.tasks(VERSION="1") == {stuck}
        gate.ready(fleet, 2)
        # One after the other: of the two that may be down one is stuck, so each waits for the one before.
        new = [gate.begun()[task] for task in fleet.mark.tasks(VERSION="2")]
        asked = sorted(at for task, at in gate.asked().items() if task != stuck)
        for number, at in enumerate(asked):
            assert len([begun for begun in new if begun + 1 <= at + 0.05]) >= number, (asked, new)
        gate.open()
        fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")


def test_d2_a_minimum_that_allows_nothing_is_reported(fleet):
    """99 percent of five are five: nothing is stopped, nor is the rollout forgotten."""
    fleet.roll_out(fleet.define(1), minHealthyPercent=99)
    before = fleet.places()
    definition = fleet.define(2)
    identifier = fleet.deploy(fleet.update(definition))
    blocked = fleet.wait_for(identifier, "blocked")
    assert blocked["statusReason"] == "MIN_HEALTHY_UNSATISFIABLE"
    assert (blocked["completed"], blocked["total"]) == (0, INSTANCES)
    found = fleet.get()
    assert found["activeDeployment"]["statusReason"] == "MIN_HEALTHY_UNSATISFIABLE"
    assert found["health"] == "healthy" and fleet.places() == before
    fleet.api.stop_deployment(name=fleet.name, deploymentId=identifier)
    version = fleet.update(definition, deploymentConfiguration={"minHealthyPercent": 20})
    fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")


def test_a_canary_goes_first_and_the_others_when_it_has_baked(fleet):
    bake = 2
    with Gate() as gate:
        gate.open()
        gate.roll_out(fleet, minHealthyPercent=20)
        identifier = fleet.deploy(fleet.update(gate.define(fleet, 2), deploymentConfiguration={
            "canary": {"instances": 1, "bakeSeconds": bake}}))
        done = fleet.wait_for(identifier, "completed")
        assert done["canary"] == {"status": "proved", "instances": 1}
        fleet.assert_one_each(fleet.instances(), VERSION="2")
        gate.ready(fleet, 2)
        new = fleet.mark.tasks(VERSION="2")
        begun = sorted(at for task, at in gate.begun().items() if task in new)
        asked = sorted(gate.asked().values())
        assert len(begun) == len(asked) == INSTANCES
        # It had to be well first, which takes a second, and to stay so.
        assert asked[0] <= begun[0] and begun[0] + 1 + bake <= asked[1] + 0.05, (asked, begun)


def test_a_bad_canary_hits_its_instance_only_and_is_taken_back(fleet):
    first = fleet.roll_out(fleet.define(1), minHealthyPercent=20)
    before = fleet.mark.tasks()
    version = fleet.update(fleet.define(2, "exit 1"), deploymentConfiguration={
        "canary": {"instances": 1}, "timeoutSeconds": 3, "onFailure": "rollback"})
    with Watch(fleet.mark) as watch:
        bad = fleet.deploy(version)
        fleet.wait_for(bad, "timed-out")
        (back,) = wait_until(lambda: [item for item in fleet.deployments() if item.get("rollback")],
                             "it is rolled back")
        assert back["environmentVersion"] == first
        fleet.wait_for(back["deploymentId"], "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    kept = before & fleet.mark.tasks()
    assert len(kept) >= INSTANCES - 1
    assert all(kept <= {*look, *following}
               for look, following in zip(watch.looks, watch.looks[1:])), "they were never away"
    found = fleet.get()
    assert found["activeVersion"] == first and found["status"] == "active"
    wait_until(lambda: fleet.get()["health"] == "healthy", "it is well")


def test_55_a_rollback_waits_for_no_canary(fleet):
    """The previous version has run before, so it needs no canary; and a rollback is urgent."""
    first = fleet.roll_out(fleet.define(1), minHealthyPercent=60,
                           canary={"instances": 1, "bakeSeconds": 3600})
    second = fleet.update(fleet.define(2), deploymentConfiguration={"canary": {"instances": INSTANCES}})
    fleet.wait_for(fleet.deploy(second), "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    back = fleet.api.rollback_deployment(name=fleet.name)["deploymentId"]
    done = fleet.wait_for(back, "completed")
    assert done["environmentVersion"] == first and "canary" not in done
    fleet.assert_one_each(fleet.instances(), VERSION="1")


def test_a_rollout_that_fails_is_taken_back_in_batches(fleet):
    """onFailure: rollback without a canary; as many as may be down are hit, and come back."""
    first = fleet.roll_out(fleet.define(1), minHealthyPercent=60)
    before = fleet.mark.tasks()
    bad = fleet.deploy(fleet.update(fleet.define(2, "exit 1"), deploymentConfiguration={
        "timeoutSeconds": 3, "onFailure": "rollback"}))
    failed = fleet.wait_for(bad, "timed-out")
    (back,) = wait_until(lambda: [item for item in fleet.deployments() if item.get("rollback")],
                         "it is rolled back")
    done = fleet.wait_for(back["deploymentId"], "completed")
    assert done["environmentVersion"] == first and done["deploymentType"] == "user"
    assert failed["endedAt"] <= done["endedAt"]
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    assert len(before & fleet.mark.tasks()) >= 3


def test_46_another_cluster(fleet):
    fleet.ecs.create_cluster(clusterName=fleet.name)
    fleet.roll_out(fleet.define(1))
    version = fleet.api.update_environment(
        name=fleet.name, taskDefinition=fleet.define(2),
        instanceGroup={"cluster": fleet.name})["environmentVersion"]
    fleet.wait_for(fleet.deploy(version), "completed")
    wait_until(lambda: not fleet.mark.tasks(), "nothing is left where it was")
    wait_until(lambda: fleet.get()["counts"]["total"] == 0, "none counts where it is")
    # And back.
    back = fleet.api.rollback_deployment(name=fleet.name)["deploymentId"]
    fleet.wait_for(back, "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="1")


def test_56_a_rollback_of_the_instances(fleet):
    instance = fleet.instances()[0]
    fleet.ecs.put_attributes(attributes=[{
        "name": fleet.name, "value": "x", "targetType": "container-instance",
        "targetId": instance}])
    definition = fleet.define(1)
    fleet.roll_out(definition)
    before = fleet.places()
    version = fleet.update(definition, instanceGroup={"cluster": "default",
                                                      "attributes": [f"{fleet.name}=x"]})
    fleet.wait_for(fleet.deploy(version), "completed")
    wait_until(lambda: fleet.places() == {instance: before[instance]}, "only one is left")
    first = fleet.api.list_environment_versions(name=fleet.name)["versions"][-1]
    changes = fleet.api.diff_environment(name=fleet.name,
                                          environmentVersion=first["environmentVersion"])
    assert changes["counts"]["start"] == INSTANCES - 1 and changes["counts"]["keep"] == 1
    identifier = fleet.api.rollback_deployment(name=fleet.name)["deploymentId"]
    fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances())
    assert fleet.places()[instance] == before[instance]
    assert fleet.deployment(identifier)["environmentVersion"] == first["environmentVersion"]


def test_progress_does_not_fall(fleet):
    """The reported progress never decreases, also when one of the new tasks dies (S18)."""
    seen = [0]

    def look(condition):
        now = fleet.deployment(identifier)
        seen.append(now["completed"])
        assert seen[-1] >= seen[-2] and now["total"] in (0, INSTANCES)
        counts = fleet.get()["counts"]
        assert sum(counts[name] for name in ("active", "launching", "unhealthy", "missing")) \
            == counts["total"]
        return condition(now)

    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=80)
        identifier = fleet.deploy(fleet.update(fleet.define(2)))
        for number in range(1, INSTANCES):  # each one is reported
            gate.let(*gate.wait_for(number))
            wait_until(lambda: look(lambda now: now["completed"] == number), f"{number} are done")  # pylint: disable=cell-var-from-loop
            if number == 3:
                before = fleet.mark.tasks(VERSION="2")
                victim = sorted(before)[0]
                fleet.ecs.stop_task(task=victim)
                wait_until(lambda: look(lambda _: fleet.mark.tasks(VERSION="2") - before),
                           "another one runs there")
                wait_until(lambda: look(lambda _: fleet.get()["counts"]["active"] >= INSTANCES - 1),
                           "and counts")
        gate.open()
        wait_until(lambda: look(lambda now: now["status"] == "completed"), "all are done")
    assert seen[-1] == INSTANCES


# ---- E ----

def test_52_54_what_was_stopped_stays_as_it_is_whatever_happens(witness):
    fleet = witness.beside
    fleet.roll_out(fleet.define(1))
    old = fleet.places()
    version = fleet.update(fleet.define(2), deploymentConfiguration={
        "canary": {"instances": 1, "bakeSeconds": 3600}})
    identifier = fleet.deploy(version)
    wait_until(lambda: fleet.deployment(identifier)["completed"] == 1, "one of two is replaced")
    canary = wait_until(lambda: (now := fleet.deployment(identifier)["canary"])["status"] == "baking"
                        and now, "it bakes")
    assert canary["instances"] == 1
    left = canary["bakesUntil"].timestamp() - time.time()
    assert 3600 - DEADLINE < left <= 3600
    assert fleet.get()["activeDeployment"]["canary"] == canary
    assert ", canary baking  in-progress" in env_command(fleet.server, "status", fleet.name)
    before = fleet.places()
    (new,) = fleet.mark.tasks(VERSION="2")
    (kept,) = fleet.mark.tasks(VERSION="1")
    assert fleet.api.stop_deployment(name=fleet.name, deploymentId=identifier)["status"] == \
        "to-be-stopped"
    fleet.wait_for(identifier, "stopped")
    assert fleet.get()["status"] == "inactive"
    assert fleet.places() == before and [kept] in old.values(), "the new one stays, and the old one"
    # Tasks die, and an instance joins; those of other owners come back, ours do not.
    ever = tasks_ever(fleet)
    (theirs,) = next(tasks for instance, tasks in witness.places().items()
                     if before[instance] == [new])
    kill_programs(fleet, new)
    wait_until(lambda: fleet.mark.tasks() == {kept}, "it has died")
    kill_programs(witness, theirs)
    wait_until(lambda: covers(witness, witness.instances())
               and [theirs] not in witness.places().values(), "theirs has come back")
    witness.restart("--instances", "3")
    wait_until(lambda: len(fleet.instances()) == 3 and covers(witness, fleet.instances()),
               "theirs is on the new instance")
    wait_until(lambda: fleet.get()["counts"]["missing"] == 2, "ours has seen it, too")
    assert tasks_ever(fleet) == ever and fleet.mark.tasks() == {kept}
    assert [item["deploymentType"] for item in fleet.deployments()] == ["user"] * 2
    # 54: the next deployment continues from there.
    version = fleet.update(fleet.define(3), deploymentConfiguration={
        "minHealthyPercent": 30, "canary": {"instances": 3}})
    fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="3")
    assert fleet.get()["status"] == "active"


def test_d12_an_update_deactivates_and_activates(witness):
    fleet = witness.beside
    first = fleet.roll_out(fleet.define(1))
    before = fleet.places()
    instance, (victim,) = sorted(before.items())[0]
    fleet.api.update_environment(name=fleet.name, status="inactive")
    found = fleet.get()
    assert found["status"] == "inactive" and found["activeVersion"] == first
    assert fleet.places() == before, "nothing is done to what runs"
    ever = tasks_ever(fleet)
    (theirs,) = witness.places()[instance]
    kill_programs(fleet, victim)
    wait_until(lambda: victim not in fleet.mark.tasks(), "it has died")
    kill_programs(witness, theirs)
    wait_until(lambda: covers(witness, witness.instances())
               and [theirs] not in witness.places().values(), "theirs has come back")
    wait_until(lambda: fleet.get()["counts"]["missing"] == 1, "ours has seen it, too")
    assert tasks_ever(fleet) == ever and len(fleet.deployments()) == 1
    fleet.api.update_environment(name=fleet.name, status="active")
    assert fleet.get()["status"] == "active"
    wait_until(lambda: covers(fleet, fleet.instances()), "it has come back")
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    assert len(tasks_ever(fleet) - ever) == 1
    wait_until(lambda: fleet.deployments()[0]["status"] == "completed", "the repair is over")
    assert [item["deploymentType"] for item in fleet.deployments()] == ["health-repair", "user"]
    assert fleet.get()["activeVersion"] == first
    for word in ("deleting", "", "ACTIVE"):
        refusal(lambda: fleet.api.update_environment(name=fleet.name, status=word),  # pylint: disable=cell-var-from-loop
                "InvalidParameterException", 400)


def test_58_deleted_while_it_is_repaired(fleet):
    crashing = fleet.define(2, script="exit 1")
    fleet.deploy(fleet.create(crashing, timeoutSeconds=1))
    wait_until(lambda: fleet.deployments()[0]["deploymentType"] == "health-repair",
               "it is being repaired")
    fleet.api.delete_environment(name=fleet.name, terminateTasks=True)
    wait_until(lambda: not fleet.exists(), "it is gone")
    refusal(fleet.api.get_environment, "ResourceNotFoundException", 404, name=fleet.name)
    wait_until(lambda: not fleet.mark.tasks(), "nothing runs")


def test_61_history_survives(own_fleet):
    fleet = own_fleet("--instances", "2")
    versions = [fleet.roll_out(fleet.define(1))]
    for number in (2, 3):
        versions.append(fleet.update(fleet.define(number)))
        fleet.wait_for(fleet.deploy(versions[-1]), "completed")
    before = fleet.deployments()
    assert [item["environmentVersion"] for item in before] == versions[::-1]
    for item in before:
        assert item["deploymentType"] == "user" and item["status"] == "completed"
        assert item["createdAt"] <= item["startedAt"] <= item["endedAt"]
        assert (item["completed"], item["total"]) == (2, 2)
    fleet.restart("--instances", "2", kill=True)
    assert fleet.deployments() == before
