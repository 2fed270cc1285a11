"""Planning of applications: which strategy, which stages and which shares; numbers are those of the scenarios."""
import json
import os

import pytest
from applications import Application
from test_services_traffic import Traffic

CANARY = [("ECS_CANARY_ROLLOUT", {"scale": 50}), ("ECS_TRAFFIC_ROUTING", {"canary": 10}),
          ("ECS_PRIMARY_ROLLOUT", {}), ("ECS_TRAFFIC_ROUTING", {"primary": 100}),
          ("ECS_CANARY_CLEAN", {})]
SLEEP = [{"name": "web", "image": "host", "memory": 32, "command": ["sleep", "100000"]}]


@pytest.fixture(scope="module")
def traffic(slipway):
    return Traffic(slipway)


@pytest.fixture(scope="module")
def deployed(slipway, traffic, tmp_path_factory):
    """The fixture SD: service abc with two tasks, reached by a name."""
    app = Application(slipway, tmp_path_factory.mktemp("abc"), "abc")
    app.spec["input"]["accessType"] = "SERVICE_DISCOVERY"
    app.service(2, registry=traffic.registry("abc", ttl=2)[0])
    app.task(SLEEP)
    assert app.sync()["state"] == "SUCCESS"
    return app


@pytest.fixture
def app(deployed, tmp_path):
    """Its files, in a folder of one's own."""
    copy = Application(deployed.server, tmp_path / "abc", "abc")
    copy.spec = json.loads(json.dumps(deployed.spec))
    for file in ("service.json", "task.json"):
        with open(f"{deployed.folder}/{file}", encoding="utf-8") as text:
            copy.put(file, text.read())
    return copy


def use(app, stages, **planner):
    app.pipeline(*stages)
    app.spec["planner"] = planner


def plan(app, code=0):
    """The planned deployment, and the command's result for people."""
    app.write()
    shown = app.run("app", "plan", "--dir", app.folder)
    assert shown.returncode == code, shown.stdout + shown.stderr
    return json.loads(app.run("app", "plan", "--dir", app.folder, "-o", "json").stdout), shown


def stages(deployment):
    return [(stage["kind"], stage.get("hidden", False)) for stage in deployment["stages"]]


def calls(server):
    """Calls that changed something, by whatever deploys."""
    with open(os.path.join(server.state, "audit.log"), encoding="utf-8") as lines:
        return [item["operation"] for item in map(json.loads, lines)
                if item.get("user") == "slipway-pipelines"]


# ---- strategies ----

def test_the_first_deployment_is_a_quick_sync(slipway, traffic, tmp_path):
    """Scenario 1."""
    app = Application(slipway, tmp_path / "new", "new")
    app.spec["input"]["accessType"] = "SERVICE_DISCOVERY"
    app.service(1, registry=traffic.registry("new", ttl=2)[0])
    app.task(SLEEP)
    use(app, CANARY)
    deployment = app.sync()
    assert deployment["state"] == "SUCCESS" and deployment["strategy"] == "QUICK_SYNC"
    assert "first deployment" in deployment["summary"]
    assert stages(deployment) == [("ECS_SYNC", False), ("ROLLBACK", True)]


def test_without_a_pipeline(app):
    """Scenario 2."""
    app.task(SLEEP, cpu="64")
    deployment, _ = plan(app)
    assert deployment["strategy"] == "QUICK_SYNC"
    assert stages(deployment) == [("ECS_SYNC", False), ("ROLLBACK", True)]


def test_a_new_image_uses_the_pipeline(app):
    """Scenario 3."""
    app.task([dict(SLEEP[0], image="web:v2")])
    use(app, CANARY)
    deployment, shown = plan(app)
    assert deployment["strategy"] == "PIPELINE"
    assert "image" in deployment["summary"] and "v2" in deployment["summary"]
    assert [kind for kind, hidden in stages(deployment) if not hidden] == [
        kind for kind, _ in CANARY]
    assert "web:v2" in shown.stdout


def test_other_changes_are_a_quick_sync(app):
    """Scenario 4."""
    app.task(SLEEP, cpu="64")
    use(app, CANARY)
    assert plan(app)[0]["strategy"] == "QUICK_SYNC"
    use(app, CANARY, alwaysUsePipeline=True)
    assert plan(app)[0]["strategy"] == "PIPELINE"


def test_a_pipeline_is_ordered_that_the_file_does_not_have(app):
    """Scenario 6: a failure in planning, and no call."""
    before = calls(app.server)
    assert "ecs:CreateTaskSet" in before  # of the deployment before: it is seen
    ended = app.sync("--strategy", "pipeline")
    assert ended["state"] == "FAILURE" and "pipeline" in ended["reason"]
    assert calls(app.server) == before


# ---- files ----

@pytest.mark.parametrize("members, message", [
    ({"accessType": "XXX"}, "invalid accessType: XXX"),
    ({"accessType": "ELB", "ecsAccessType": "ECS_SERVICE_DISCOVERY"},
     "accessType and ecsAccessType differ"),
])
def test_a_bad_access_type(app, members, message):
    """Scenario 7: exit code, message, and no call; its state in Git is in test_app_git.py."""
    before = calls(app.server)
    del app.spec["input"]["accessType"]
    app.spec["input"].update(members)
    app.write()
    result = app.run("app", "sync", "--dir", app.folder)
    assert result.returncode == 1 and message in result.stderr
    assert f"{app.folder}/app.pipecd.yaml:" in result.stderr
    assert calls(app.server) == before


@pytest.mark.parametrize("members", [
    {"accessType": "SERVICE_DISCOVERY"}, {"ecsAccessType": "ECS_SERVICE_DISCOVERY"},
    {"accessType": "SERVICE_DISCOVERY", "ecsAccessType": "ECS_SERVICE_DISCOVERY"}])
def test_both_spellings_of_the_access_type(app, members):
    """Scenario 7: the value is the same, so a routing stage counts tasks."""
    del app.spec["input"]["accessType"]
    app.spec["input"].update(members)
    use(app, CANARY, alwaysUsePipeline=True)
    assert "reachable" in plan(app)[1].stdout


@pytest.mark.parametrize("change, message", [
    (lambda app: app.spec["input"].update(serviceDefinitonFile="x"),
     'did you mean "serviceDefinitionFile"?'),
    (lambda app: use(app, [("ECS_CANARY_ROLLUOT", {})]), 'did you mean "ECS_CANARY_ROLLOUT"?'),
    (lambda app: use(app, [("ECS_TRAFFIC_ROUTING", {"primary": 70, "canary": 70})]), "140"),
])
def test_unknown_keys_and_stages(app, change, message):
    """Scenario 8."""
    change(app)
    app.write()
    result = app.run("app", "plan", "--dir", app.folder)
    assert result.returncode == 1 and message in result.stderr, result.stderr
    place = result.stderr.split(f"{app.folder}/app.pipecd.yaml:")[1]
    assert int(place.split(":")[0]) > 1


def test_a_canary_that_is_too_small_for_all_traffic(app):
    """Scenario 29."""
    use(app, [("ECS_CANARY_ROLLOUT", {"scale": 50}), ("ECS_TRAFFIC_ROUTING", {"canary": 100}),
              ("ECS_PRIMARY_ROLLOUT", {}), ("ECS_TRAFFIC_ROUTING", {"primary": 100}),
              ("ECS_CANARY_CLEAN", {})], alwaysUsePipeline=True)
    assert "serving capacity falls to 1 of 2 tasks" in plan(app)[1].stdout
    app.spec["input"]["serviceDiscovery"] = {"capacityFloor": 100}
    before = calls(app.server)
    ended = app.sync()
    assert ended["state"] == "FAILURE" and "capacity floor of 100%" in ended["reason"], ended
    assert calls(app.server) == before


def test_a_share_that_weights_reach(app, traffic):
    """A name of this server that answers by weights."""
    weighted = traffic.names.create_service(
        Name="weighted", NamespaceId=traffic.namespace()[0],
        DnsConfig={"RoutingPolicy": "WEIGHTED", "DnsRecords": [{"Type": "A", "TTL": 2}]})["Service"]
    app.service(2, registry=weighted["Arn"])
    use(app, CANARY, alwaysUsePipeline=True)
    warnings = plan(app)[0]["warnings"]
    assert "stage stage-2: an exact share is possible for this name, by SLIPWAY_WEIGHT of the instances" \
        in warnings, warnings


def test_a_share_that_cannot_be_reached(app):
    """Scenario 9."""
    use(app, CANARY, alwaysUsePipeline=True)
    before = calls(app.server)
    deployment, shown = plan(app)
    share = "wanted 10%, reachable 33.3% (2 primary + 1 canary)"
    assert share in shown.stdout and deployment["stages"][1]["note"] == share
    assert any("long-lived connections (gRPC" in text for text in deployment["warnings"])
    assert not any("SLIPWAY_WEIGHT" in text for text in deployment["warnings"])
    app.spec["input"]["serviceDiscovery"] = {"tolerance": 5}
    deployment, shown = plan(app, code=1)
    assert "33.3%" in shown.stderr and deployment["state"] == "FAILURE"
    # Plans are in the history, and are not the latest deployment.
    assert app.show("latest")["trigger"] == "SYNC"
    assert " PLAN " in app.run("app", "history", "abc").stdout
    assert calls(app.server) == before
