"""The state service over the wire: instances and tasks of watched clusters; numbers are those of the scenarios."""
import pytest

from conftest import wait_until
from fleets import Fleet, refusal
from programs import task_id

INSTANCES = 4
SERVER_ARGUMENTS = ["--instances", str(INSTANCES)]


@pytest.fixture(name="fleet")
def new_fleet(slipway):
    fleet = Fleet(slipway)
    yield fleet
    fleet.remove()


def tasks_of(fleet, **filters):
    return fleet.api.list_tasks(environment=fleet.name, **filters)["tasks"]


def test_66_instances_and_tasks_are_found_by_what_they_are(fleet):
    refusal(fleet.api.list_instances, "ResourceNotFoundException", 404, cluster="absent")
    version = fleet.create(fleet.define(1), attributes=["rack=" + fleet.name])
    chosen = fleet.instances()[:2]
    fleet.ecs.put_attributes(attributes=[
        {"name": "rack", "value": fleet.name, "targetType": "container-instance", "targetId": arn}
        for arn in chosen])
    wait_until(lambda: fleet.get()["counts"]["total"] == 2, "both are counted")
    deployment = fleet.deploy(version)
    wait_until(lambda: len(tasks_of(fleet, status=["running"])) == 2, "both have their task")

    everything = {item["instanceArn"]: item for item in fleet.api.list_instances()["instances"]}
    assert set(everything) == set(fleet.instances())
    found = fleet.api.list_instances(cluster="default", attributes=["rack=" + fleet.name],
                                     status=["aCtIvE"])["instances"]
    assert {item["instanceArn"] for item in found} == set(chosen)
    assert all(fleet.name in item["environments"] and not item["stale"] for item in found)
    arn = fleet.ecs.describe_clusters()["clusters"][0]["clusterArn"]
    assert len(fleet.api.list_instances(cluster=arn)["instances"]) == INSTANCES

    one = fleet.api.get_instance(cluster="default", instance=task_id(chosen[0]))
    assert one["instanceArn"] == chosen[0] and one["agentConnected"]
    assert {"name": "rack", "value": fleet.name} in one["attributes"]

    tasks = tasks_of(fleet, startedBy=deployment, status=["RUNNING", "pending"])
    assert {item["task"] for item in tasks} == fleet.mark.tasks()
    assert {item["instance"] for item in tasks} == {task_id(arn) for arn in chosen}
    assert all(item["environmentVersion"] == version and item["health"] == "active"
               for item in tasks)
    assert not tasks_of(fleet, startedBy="absent")
    assert not tasks_of(fleet, status=["failed"])
    refusal(lambda: fleet.api.list_tasks(status=["dancing"]), "InvalidParameterException", 400)
    refusal(fleet.api.list_instances, "InvalidParameterException", 400, cluster="a/b")
    answer = refusal(fleet.api.get_instance, "ResourceNotFoundException", 404, cluster="default",
                     instance="absent")
    assert answer["resourceType"] == "instance"


def test_66_what_failed_is_found(fleet):
    version = fleet.create(fleet.define(1, "exit 3"))
    fleet.deploy(version)
    failed = wait_until(lambda: tasks_of(fleet, status=["failed"]), "a task has failed")
    assert all(item["lastStatus"] == "STOPPED" and item["failed"] and item["health"] == "stopped"
               for item in failed)


def test_pages_of_instances_have_each_once(fleet):
    fleet.create(fleet.define(1))
    wait_until(lambda: len(fleet.api.list_instances()["instances"]) == INSTANCES, "it is watched")
    first = fleet.api.list_instances(maxResults=3)
    pages = [first, fleet.api.list_instances(maxResults=3, nextToken=first["nextToken"])]
    assert "nextToken" not in pages[1]
    found = [item["instance"] for page in pages for item in page["instances"]]
    assert len(found) == len(set(found)) == INSTANCES and found == sorted(found)


def test_invalid_events_are_rejected_by_reason(fleet):
    fleet.create(fleet.define(1))
    answer = fleet.api.post_ecs_events(target="absent", events=[
        {"detail-type": "ECS Managed Agent State Change", "detail": {}},
        {"detail-type": "ECS Task State Change", "time": "2026-11-16T12:00:00Z", "detail": {}}])
    assert (answer["accepted"], answer["ignored"]) == (0, 1)
    assert answer["failures"] == [{"index": 1, "reason": "detail: taskArn is missing"}]
