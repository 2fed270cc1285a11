"""The live state of applications: the tree follows a canary, and what differs from the last deployment is found."""
import json
import time

import pytest
from applications import Application
from conftest import DEADLINE, wait_until
from remote_ecs import RemoteProxy
from remote_world import World as RemoteWorld
from test_app_names import CANARY, SERVER_ARGUMENTS, World
from test_services_traffic import Programs, Traffic

POLL = 1.0  # of a cluster of this server, with a margin


@pytest.fixture(name="world", scope="module")
def new_world(slipway, tmp_path_factory):
    folder = tmp_path_factory.mktemp("state")
    world = World(slipway, Programs(folder), folder, "abc")
    world.version("1")
    deployed = world.application.sync("--commit", "aaa111")
    assert deployed["state"] == "SUCCESS", deployed
    return world


def state(world):
    result = world.application.run("app", "status", world.name, "-o", "json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def wait_for_sync(world, sync, seconds=DEADLINE):
    return wait_until(lambda: (lambda shown: shown if shown["sync"] == sync else None)(state(world)),
                      f"it is {sync}", seconds)


def shown_sets(shown):
    """{role: (scale, commit, {task}, {registered task})}"""
    return {item["role"]: (item["scale"], item.get("commit"),
                           {task["taskId"] for task in item["tasks"]},
                           {task["taskId"] for task in item["tasks"] if task["registered"]})
            for item in shown["service"]["taskSets"] if item["status"] != "DRAINING"}


def actual_sets(world):
    """The same, read through the APIs of ECS and Cloud Map."""
    registered = world.registered()
    found = {}
    for item in world.sets():
        tasks = {arn.split("/")[-1] for arn in world.traffic.ecs.list_tasks(
            startedBy=item["id"])["taskArns"]}
        found[item["taskSetArn"]] = (item["scale"]["value"], item["status"], tasks,
                                     tasks & registered)
    return found


def follows(world):
    """Whether the tree shows the task sets as they are, within one poll interval of any change."""
    deadline = time.monotonic() + POLL
    while True:
        before = actual_sets(world)
        shown = shown_sets(state(world))
        if before == actual_sets(world):
            expected = sorted((scale, sorted(tasks), sorted(registered))
                              for scale, _, tasks, registered in before.values())
            got = sorted((scale, sorted(tasks), sorted(registered))
                         for scale, _, tasks, registered in shown.values())
            if expected == got:
                return shown
            assert time.monotonic() < deadline, (expected, got)


def test_the_tree_follows_a_canary(world):
    """Scenario 74: Service > TaskSet(PRIMARY/canary, scale, commit) > Task(health, registered)."""
    app = world.application
    first = wait_for_sync(world, "SYNCED")
    assert first["health"] == "HEALTHY" and first["commit"] == "aaa111"
    sets = follows(world)
    assert list(sets) == ["PRIMARY"] and sets["PRIMARY"][:2] == (100, "aaa111")
    world.version("2")
    app.pipeline(*CANARY)
    number = app.start("--commit", "bbb222")
    world.wait_for_stage(number, 1)
    sets = follows(world)
    assert sets["CANARY"][:2] == (50, "bbb222") and len(sets["CANARY"][2]) == 1
    assert not sets["CANARY"][3] and len(sets["PRIMARY"][3]) == 2
    assert state(world)["sync"] == "DEPLOYING"
    app.approve()
    world.wait_for_stage(number, 3)
    sets = follows(world)
    assert sets["CANARY"][3] == sets["CANARY"][2]
    traffic = {item["role"]: item["traffic"] for item in state(world)["service"]["taskSets"]}
    assert traffic == {"PRIMARY": 66.6, "CANARY": 33.3}
    text = app.run("app", "status", world.name).stdout
    assert "CANARY" in text and "scale 50%" in text and "commit bbb222" in text
    assert text.count(" registered") == 3
    app.approve()
    world.wait_for_stage(number, 5)
    sets = follows(world)
    assert sets["PRIMARY"][1] == "bbb222" and len(sets["PRIMARY"][3]) == 2
    assert len(sets["CANARY"][3]) == 1
    app.approve()
    assert app.wait(number)["state"] == "SUCCESS"
    shown = wait_for_sync(world, "SYNCED")
    assert shown["commit"] == "bbb222" and "differences" not in shown
    assert list(follows(world)) == ["PRIMARY"]
    del app.spec["pipeline"]


def paths(shown):
    return sorted(item["path"] for item in shown["differences"])


def test_drift(world):
    """Changes of others are shown with the expected values, and a sync repairs them."""
    ecs, app = world.traffic.ecs, world.application
    wait_for_sync(world, "SYNCED")
    task = sorted(world.registered())[0]
    world.traffic.names.deregister_instance(ServiceId=world.registry, InstanceId=task)
    shown = wait_for_sync(world, "OUT_OF_SYNC", 2 * DEADLINE)
    assert paths(shown) == [f"tasks[{task}].registration"]
    assert shown["health"] == "HEALTHY"
    assert f"tasks[{task}].registration" in app.run("app", "status", world.name).stdout
    assert "OUT_OF_SYNC" in app.run("app", "list").stdout
    # The task is replaced, and the new one is registered by ECS.
    ecs.stop_task(task=task)
    wait_for_sync(world, "SYNCED")
    ecs.update_service(service=world.name, desiredCount=3)
    shown = wait_for_sync(world, "OUT_OF_SYNC")
    assert [(item["expected"], item["found"]) for item in shown["differences"]] == [("2", "3")]
    ecs.update_service(service=world.name, desiredCount=2)
    wait_for_sync(world, "SYNCED")


def test_another_task_definition_is_drift(world):
    ecs, app = world.traffic.ecs, world.application
    wait_for_sync(world, "SYNCED")
    primary = world.sets()[0]
    definition = ecs.describe_task_definition(taskDefinition=primary["taskDefinition"])
    container = dict(definition["taskDefinition"]["containerDefinitions"][0], memory=48)
    changed = ecs.register_task_definition(family=world.name, networkMode="awsvpc",
                                           containerDefinitions=[container])
    made = ecs.create_task_set(
        service=world.name, cluster="default", launchType="EC2",
        taskDefinition=changed["taskDefinition"]["taskDefinitionArn"],
        networkConfiguration=primary["networkConfiguration"],
        serviceRegistries=primary["serviceRegistries"],
        scale={"value": 100, "unit": "PERCENT"})["taskSet"]
    ecs.update_service_primary_task_set(service=world.name, cluster="default",
                                        primaryTaskSet=made["taskSetArn"])
    shown = wait_for_sync(world, "OUT_OF_SYNC")
    assert "containerDefinitions[web].memory" in paths(shown)
    ended = app.sync()
    assert ended["state"] == "SUCCESS", ended
    wait_for_sync(world, "SYNCED")


def test_a_task_that_a_deployment_took_out_is_no_drift(world):
    """Scenario 39: cancelled without a rollback, the canary is left, and one task of the primary is not registered."""
    app = world.application
    wait_for_sync(world, "SYNCED")
    app.pipeline(("ECS_CANARY_ROLLOUT", {"scale": 100}), ("ECS_TRAFFIC_ROUTING", {"canary": 75}),
                 ("WAIT_APPROVAL", {}))
    number = app.start()
    world.wait_for_stage(number, 2)
    before = actual_sets(world)
    assert app.run("deployment", "cancel", app.name, "--no-rollback").returncode == 0
    assert app.wait(number)["state"] == "CANCELLED"
    shown = wait_for_sync(world, "OUT_OF_SYNC", 2 * DEADLINE)
    sets = shown_sets(shown)
    assert len(sets["PRIMARY"][3]) == 1 and len(sets["CANARY"][3]) == 2
    canary = next(item["id"] for item in world.sets() if item["externalId"] == "canary")
    assert paths(shown) == [f"taskSets[{canary}]"] and actual_sets(world) == before
    world.traffic.ecs.delete_task_set(service=world.name, cluster="default", taskSet=canary,
                                      force=True)
    shown = wait_for_sync(world, "SYNCED", 2 * DEADLINE)
    assert len(shown_sets(shown)["PRIMARY"][3]) == 1
    del app.spec["pipeline"]
    assert app.sync()["state"] == "SUCCESS"
    assert len(world.registered()) == 2


def test_a_service_that_is_gone(world):
    wait_for_sync(world, "SYNCED")
    world.traffic.ecs.delete_service(service=world.name, force=True)
    shown = wait_for_sync(world, "OUT_OF_SYNC")
    assert paths(shown) == ["service"] and "service" not in shown


def test_what_ecs_fills_in_is_no_drift(slipway, tmp_path):
    """A task definition that leaves much to ECS, and a service that ECS rolls."""
    app = Application(slipway, tmp_path / "app", "rich")
    app.task([
        {"name": "web", "image": "host", "memory": 32, "command": ["sleep", "1000"],
         "portMappings": [{"containerPort": 80}], "environment": [{"name": "B", "value": "2"},
                                                                {"name": "A", "value": "1"}],
         "healthCheck": {"command": ["CMD-SHELL", "true"], "interval": 5},
         "dependsOn": [{"containerName": "side", "condition": "START"}],
         "ulimits": [{"name": "nofile", "softLimit": 512, "hardLimit": 512}],
         "dockerLabels": {"team": "a"}, "stopTimeout": 5},
        {"name": "side", "image": "host", "memory": 32, "essential": False,
         "command": ["sleep", "1000"]}], mode="awsvpc",
        requiresCompatibilities=["EC2"], tags=[{"key": "team", "value": "a"}])
    app.service(1, controller="ECS", launchType="EC2", tags=[{"key": "team", "value": "a"}],
                deploymentConfiguration={"minimumHealthyPercent": 50})
    assert app.sync()["state"] == "SUCCESS"
    shown = {}

    def in_sync():
        shown.update(json.loads(app.run("app", "status", app.name, "-o", "json").stdout))
        return shown["sync"] != "UNKNOWN"

    wait_until(in_sync, "it was read")
    assert shown["sync"] == "SYNCED", shown["differences"]
    assert [item["role"] for item in shown["service"]["taskSets"]] == ["PRIMARY"]
    assert len(shown["service"]["taskSets"][0]["tasks"]) == 1
    assert "differences" not in shown and "deployment" in shown["service"]["taskSets"][0]


def test_a_remote_service(start_slipway, tmp_path):
    """The state of a service of another server: read through its APIs, and unknown only after a while without an answer."""
    with RemoteProxy(None) as proxy:
        remote = RemoteWorld(start_slipway, proxy, tmp_path, *SERVER_ARGUMENTS)
        world = World(remote.open("--runtime", "none"), Programs(tmp_path), tmp_path, "abc")
        world.traffic = Traffic(remote.remote)
        world.arn, world.registry, world.host = world.traffic.registry("abc", ttl=2)
        world.version("1")
        deployed = world.application.sync("--commit", "aaa111", "--target", "remote")
        assert deployed["state"] == "SUCCESS", deployed
        shown = wait_for_sync(world, "SYNCED")
        assert shown_sets(shown)["PRIMARY"] == (100, "aaa111", world.tasks(), world.registered())
        task = sorted(world.registered())[0]
        world.traffic.names.deregister_instance(ServiceId=world.registry, InstanceId=task)
        shown = wait_for_sync(world, "OUT_OF_SYNC", 2 * DEADLINE)
        assert paths(shown) == [f"tasks[{task}].registration"]
