"""How versions of daemon environments replace each other, are stopped, taken back and deleted, on real programs; the numbers
in names are those of the scenarios they show."""
import time
import uuid

from conftest import wait_until
from fleets import Fleet, Gate, new_fleet, refusal, log_of  # pylint: disable=unused-import
from rest_requests import rest_client
from test_services_run import Watch

INSTANCES = 5
SERVER_ARGUMENTS = ["--instances", str(INSTANCES)]

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


def test_the_log_has_the_transitions_of_deployments(fleet):
    fleet.roll_out(fleet.define(1), minHealthyPercent=60)
    bad = fleet.deploy(fleet.update(fleet.define(2, "exit 1"), deploymentConfiguration={
        "timeoutSeconds": 4, "onFailure": "rollback"}))
    fleet.wait_for(bad, "timed-out")
    (back,) = wait_until(lambda: [item for item in fleet.deployments() if item.get("rollback")],
                         "it is rolled back")
    fleet.wait_for(back["deploymentId"], "completed")
    wait_until(lambda: ("info", "is completed") in log_of(fleet, back["deploymentId"]), "its end is reported")
    told = log_of(fleet, bad)
    assert told[0] == ("info", "begins")
    level, message = told[-1]
    assert level == "warning" and message.startswith("timed out; rolling back: "), told
    assert log_of(fleet, back["deploymentId"])[0] == ("info", "begins")


def test_the_log_names_no_rollback_where_none_happens(fleet):
    first = fleet.deploy(fleet.create(fleet.define(1, "exit 1"), timeoutSeconds=3, onFailure="rollback"))
    fleet.wait_for(first, "timed-out")
    told = wait_until(lambda: [message for _, message in log_of(fleet, first)
                               if message.startswith("timed out")], "its end is reported")
    assert len(told) == 1 and told[0].startswith("timed out: "), told


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
    assert before[first] == fleet.places()[first], "the same task continues"


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
    # The canceled deployment never started a task: no task of all is from it.
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
    """It takes as long as a task takes to stop; a repeated request gets the answer of the first one."""
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
    """To run nothing, stop both: stopping one deployment does not cancel the next."""
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
