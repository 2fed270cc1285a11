"""Environments whose tasks fail: the failure is noticed, stays visible, and is reported with its reason;
and requests for environments that cannot exist."""
import json

import pytest

from conftest import wait_until
from ecs_requests import ACCOUNT
from fleets import Fleet
from rest_requests import ask
from test_environment_streams import Receiver, hooks_file
from test_environment_types import Typed

INSTANCES = 2
SERVER_ARGUMENTS = ["--instances", str(INSTANCES)]
ILL = {"healthCheck": {"command": ["CMD-SHELL", "exit 1"], "interval": 5, "retries": 1}}
KINDS = ("Daemon", "Service")


@pytest.fixture(name="environment", params=KINDS)
def new_environment(request, slipway):
    environment = Typed(slipway, request.param)
    environment.count = {"desiredCount": 2} if request.param == "Service" else {}
    yield environment
    environment.remove()


def stopped_task(environment, identifier):
    return environment.ecs.describe_tasks(tasks=[identifier])["tasks"][0]


def named(text):
    """The id of the task that a reason names."""
    return text.split("task ", 1)[1].split(" ", 1)[0]


def wait_unhealthy(environment, identifier, words):
    """Until the deployment says that tasks fail, and names one of them with these words; it."""
    def found():
        now = environment.deployment(identifier)
        assert now["status"] in ("pending", "in-progress", "unhealthy"), now
        told = [item["reason"] for item in now.get("failedInstances", [])]
        return now["status"] == "unhealthy" and any(words in text for text in told) and now

    return wait_until(found, f"{words} is reported")


@pytest.mark.parametrize("script, words", [
    ({"command": ["sh", "-c", "exit 3"]}, "Essential container in task exited (exit code 3)"),
    ({"command": ["/nonexistent/program"]}, "CannotStartContainerError"),
    ({"image": "nowhere/none:1"}, "image 'nowhere/none:1' needs the docker runtime"),
], ids=["exit", "program", "image"])
def test_why_tasks_fail_is_reported(environment, script, words):
    members = {"name": "app", "image": "host", "memory": 16, "command": ["true"], **script}
    definition = environment.ecs.register_task_definition(
        family=environment.name, containerDefinitions=[members])["taskDefinition"]
    version = environment.create(definition["taskDefinitionArn"], **environment.count)
    identifier = environment.deploy(version)
    found = wait_unhealthy(environment, identifier, words)
    assert words in found["statusReason"], found
    reason = next(item["reason"] for item in found["failedInstances"] if words in item["reason"])
    task = stopped_task(environment, named(reason))
    assert task["lastStatus"] == "STOPPED"
    assert task["taskDefinitionArn"] == definition["taskDefinitionArn"]
    assert environment.get()["health"] == "unhealthy"


def test_a_failing_health_check_is_reported_until_the_end(environment):
    """Neither the next try nor the end lets it be forgotten, and nothing was ever completed."""
    version = environment.create(environment.define(1, **ILL), timeoutSeconds=30,
                                 **environment.count)
    identifier = environment.deploy(version)
    wait_unhealthy(environment, identifier, "health check")
    seen = []

    def ended():
        seen.append((environment.get()["health"], environment.deployment(identifier)["status"]))
        return seen[-1][1] == "timed-out"

    wait_until(ended, "its time is over")
    assert {status for _, status in seen} == {"unhealthy", "timed-out"}
    assert {health for health, _ in seen} == {"unhealthy"}
    found = environment.deployment(identifier)
    assert "health check" in found["statusReason"]
    assert any("health check" in item["reason"] for item in found["failedInstances"])
    assert "lastCompletedVersion" not in environment.get()


@pytest.mark.parametrize("kind", KINDS)
def test_a_first_version_that_crashes_is_never_healthy(start_slipway, tmp_path, kind):
    """Notices report once that it is unhealthy, and never that it is healthy."""
    receiver = Receiver()
    try:
        server = start_slipway("--config", hooks_file(
            tmp_path, {"name": "all", "url": receiver.url}), "--instances", INSTANCES)
        environment = Typed(server, kind)
        count = {"desiredCount": 2} if kind == "Service" else {}
        version = environment.create(environment.define(1, "exit 3"), timeoutSeconds=15, **count)
        identifier = environment.deploy(version)
        environment.wait_for(identifier, "completed", "timed-out")
        assert environment.deployment(identifier)["status"] == "timed-out"
        wait_until(lambda: "deployment.timed-out" in receiver.events(), "it is reported")
        events = receiver.events(environment.name)
        events = events[:events.index("deployment.timed-out")]  # then monitors begin
        assert [event for event in events if event.startswith("health")] == ["health.unhealthy"]
        assert events.count("deployment.unhealthy") == 1, events
        assert "deployment.completed" not in events
        environment.remove()
    finally:
        receiver.close()


def test_a_version_that_ecs_gives_up_says_why(slipway):
    environment = Typed(slipway, "Service")
    environment.roll_out(environment.define(1), desiredCount=1, onFailure="rollback")
    identifier = environment.deploy(environment.update(environment.define(2, "exit 7")))
    found = environment.wait_for(identifier, "timed-out")
    assert found["statusReason"].startswith("ROLLOUT_FAILED: ")
    assert "Essential container in task exited (exit code 7)" in found["statusReason"]
    assert "(exit code 7)" in found["failedInstances"][0]["reason"]
    environment.remove()


# ---- requests ----

@pytest.fixture(name="fleet")
def new_fleet(slipway):
    fleet = Fleet(slipway)
    yield fleet
    fleet.remove()


@pytest.mark.parametrize("configuration, words", [
    ({"replaceThenTerminate": True, "maxOverPercent": 0}, ["maxOverPercent"]),
    ({"replaceThenTerminate": True, "maxOverPercent": 0, "minHealthyPercent": 100},
     ["maxOverPercent", "minHealthyPercent"]),
], ids=["over", "both"])
def test_what_could_never_roll_out_is_refused(fleet, configuration, words):
    definition = fleet.define(1)
    body = {"name": fleet.name, "taskDefinition": definition,
            "instanceGroup": {"cluster": "default"}, "deploymentConfiguration": configuration}
    answer = ask(fleet.server, "POST", "/v1/environments", json.dumps(body).encode())
    assert answer.status == 400 and answer.json["code"] == "InvalidParameterException"
    assert all(word in answer.json["message"] for word in words), answer.json
    version = fleet.create(definition, replaceThenTerminate=True)
    body = {"taskDefinition": definition, "deploymentConfiguration": configuration}
    answer = ask(fleet.server, "PUT", f"/v1/environments/{fleet.name}", json.dumps(body).encode())
    assert answer.status == 400, answer.json
    assert fleet.get()["latestVersion"] == version


def change(fleet, **configuration):
    """An update as clients without a model write it; the configuration of what it made."""
    body = json.dumps({"deploymentConfiguration": configuration}).encode()
    answer = ask(fleet.server, "PUT", f"/v1/environments/{fleet.name}", body)
    assert answer.status == 200, answer.json
    assert fleet.get()["latestVersion"] == answer.json["environmentVersion"]
    return fleet.get()["deploymentConfiguration"]


def test_null_takes_a_member_of_the_configuration_away(fleet):
    given = {"minHealthyPercent": 50, "replaceThenTerminate": True, "maxOverPercent": 30,
             "canary": {"instances": 1, "bakeSeconds": 5}, "timeoutSeconds": 60,
             "warmUpSeconds": 2, "onFailure": "rollback", "drainTimeoutSeconds": 7,
             "unreachableTimeoutSeconds": 8}
    defaults = {"replaceThenTerminate": False, "timeoutSeconds": 3600, "onFailure": "stop"}
    fleet.create(fleet.define(1), **given)
    assert fleet.get()["deploymentConfiguration"] == given
    for name in set(given) - {"replaceThenTerminate"}:
        wanted = dict(given, **({"maxOverPercent": 100} if name == "maxOverPercent" else
                                {name: defaults[name]} if name in defaults else {}))
        if name not in defaults and name != "maxOverPercent":
            del wanted[name]
        assert change(fleet, **{name: None}) == wanted, name
        assert change(fleet, **{name: given[name]}) == given
    wanted = dict(given, replaceThenTerminate=False)
    del wanted["maxOverPercent"]
    assert change(fleet, replaceThenTerminate=None) == wanted
    assert change(fleet, **{name: None for name in given}) == defaults


def set_status(fleet, status, token):
    body = json.dumps({"status": status, "clientToken": token}).encode()
    return ask(fleet.server, "PUT", f"/v1/environments/{fleet.name}", body)


def test_a_status_that_is_set_twice_is_set_once(fleet):
    version = fleet.roll_out(fleet.define(1))
    first = set_status(fleet, "inactive", "one")
    assert set_status(fleet, "active", "two").status == 200
    # A client that got no answer repeats the request with its token, and gets the first answer.
    again = set_status(fleet, "inactive", "one")
    assert (first.status, first.json) == (again.status, again.json) and again.status == 200
    assert again.json["environmentVersion"] == version
    assert fleet.get()["status"] == "active"
    other = set_status(fleet, "active", "one")
    assert other.status == 409 and other.json["code"] == "ResourceExistsException"
    assert fleet.get()["status"] == "active" and fleet.get()["latestVersion"] == version


def test_a_status_alone_makes_no_version(fleet):
    version = fleet.roll_out(fleet.define(1))
    for status in ("inactive", "active"):
        answer = fleet.api.update_environment(name=fleet.name, status=status)
        assert answer["environmentVersion"] == version
        found = fleet.get()
        assert found["status"] == status and found["latestVersion"] == version
    assert len(fleet.api.list_environment_versions(name=fleet.name)["versions"]) == 1


@pytest.mark.parametrize("what", ["tasks?cluster=", "instances?cluster="])
def test_a_stream_of_what_is_not_there_is_refused(slipway, what):
    answer = ask(slipway, "GET", f"/v1/stream/{what}nope")
    assert answer.status == 404 and answer.json["code"] == "ResourceNotFoundException"
    assert "nope" in answer.json["message"]


def test_a_deployment_reports_its_user_and_its_previous_version(start_slipway, tmp_path):
    receiver = Receiver()
    try:
        server = start_slipway("--config", hooks_file(
            tmp_path, {"name": "ends", "url": receiver.url, "events": ["deployment.completed"]}))
        fleet = Fleet(server)
        definitions = [fleet.define(1), fleet.define(2)]
        first = fleet.roll_out(definitions[0])
        identifier = fleet.deploy(fleet.update(definitions[1]))
        fleet.wait_for(identifier, "completed")
        wait_until(lambda: len(receiver.taken) == 2, "both ends are reported")
        told = [body["deployment"] for body in receiver.bodies(fleet.name)]
        read = [fleet.deployment(item["deploymentId"]) for item in told]
        for found in (told, read):
            assert [item["taskDefinition"] for item in found] == definitions
            assert [item.get("previousVersion") for item in found] == [None, first]
            assert {item["createdBy"] for item in found} == {f"arn:aws:iam::{ACCOUNT}:user/admin"}
        fleet.remove()
    finally:
        receiver.close()
