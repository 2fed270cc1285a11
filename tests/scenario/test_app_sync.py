"""slipway app sync --dir: quick sync of services with real tasks, and what is wrong with files."""
import time

import pytest
from applications import Application
from conftest import wait_until
from rest_requests import ask
from test_services_traffic import Traffic, balancers, lookup, programs  # noqa: F401

SERVER_ARGUMENTS = ["--balancers", balancers()]


@pytest.fixture(scope="module")
def traffic(slipway):
    return Traffic(slipway)


@pytest.fixture
def application(slipway, tmp_path):
    return Application(slipway, tmp_path / "app", f"web-{tmp_path.name[-12:].strip('_-')}")


def states(deployment):
    return [(stage["kind"], stage["state"]) for stage in deployment["stages"]]


def test_a_service_by_names(traffic, programs, application):  # noqa: F811
    """Scenarios 1, 2, 10 and 11."""
    arn, registry, name = traffic.registry("a" + application.name[-8:].lower(), ttl=2)
    application.spec["input"]["accessType"] = "SERVICE_DISCOVERY"
    application.service(2, registry=arn)
    application.task(programs.containers(8080, version="1"))
    first = application.sync()
    assert first["state"] == "SUCCESS", first
    assert first["summary"] == "no pipeline"
    assert states(first) == [("ECS_SYNC", "SUCCESS"), ("ROLLBACK", "NOT_STARTED")]
    service = traffic.service(application.name)
    assert [item["status"] for item in service["taskSets"]] == ["PRIMARY"]
    before = set(traffic.tasks(application.name))
    assert set(traffic.instances(registry)) == before and len(before) == 2

    application.task(programs.containers(8080, version="2"))
    second = application.sync()
    assert second["state"] == "SUCCESS", second
    after = set(traffic.tasks(application.name))
    assert len(after) == 2 and not after & before
    assert set(traffic.instances(registry)) == after and len(lookup(traffic.server, name)) == 2
    sets = traffic.service(application.name)["taskSets"]
    assert len([item for item in sets if item["status"] == "PRIMARY"]) == 1
    log = application.log()
    assert log.index("RegisterTaskDefinition: done") < log.index("CreateTaskSet primary: done") \
        < log.index("DeregisterInstance old") < log.index("DeleteTaskSet old")
    # The old tasks were asked to end only after their records had expired.
    for task in before:
        wait_until(lambda task=task: programs.ended(task), "it was asked to end")
    wait_until(lambda: any(line.split()[:2] == [application.name, "SYNCED"] for line in
                           application.run("app", "list").stdout.split("\n")), "it is in sync")
    assert application.run("app", "history", application.name).stdout.count("SUCCESS") == 2


def test_a_service_that_ecs_rolls(traffic, programs, application):  # noqa: F811
    application.service(2, controller="ECS")
    application.spec["input"]["accessType"] = "SERVICE_DISCOVERY"
    arn, registry, _ = traffic.registry("b" + application.name[-8:].lower(), ttl=2)
    application.service(2, controller="ECS", registry=arn)
    application.task(programs.containers(8080, version="1"))
    assert application.sync()["state"] == "SUCCESS"
    before = set(traffic.tasks(application.name))
    application.task(programs.containers(8080, version="2"))
    assert application.sync()["state"] == "SUCCESS"
    after = set(traffic.tasks(application.name))
    assert len(after) == 2 and not after & before
    assert set(traffic.instances(registry)) == after


def test_a_new_version_that_fails_is_rolled_back(traffic, programs, application):  # noqa: F811
    """Scenario 30, for quick sync."""
    arn, registry, _ = traffic.registry("c" + application.name[-8:].lower(), ttl=2)
    application.spec["input"]["accessType"] = "SERVICE_DISCOVERY"
    application.service(2, registry=arn)
    application.task(programs.containers(8080, version="1"))
    assert application.sync()["state"] == "SUCCESS"
    before = set(traffic.tasks(application.name))
    application.task([{"name": "web", "image": "host", "memory": 32,
                       "command": ["sh", "-c", "echo no configuration; exit 1"]}])
    failed = application.sync()
    assert failed["state"] == "FAILURE"
    assert "stopped before they were healthy" in failed["reason"], failed
    assert states(failed) == [("ECS_SYNC", "FAILURE"), ("ROLLBACK", "SUCCESS")]
    assert set(traffic.tasks(application.name)) == before
    assert set(traffic.instances(registry)) == before
    sets = traffic.service(application.name)["taskSets"]
    assert [item["status"] for item in sets if item["status"] != "DRAINING"] == ["PRIMARY"]
    log = application.log()
    assert log.count(" stopped: ") >= 3 and "container web: exit code 1" in log
    assert "| no configuration" in log
    retried = application.run("deployment", "retry", application.name)
    assert retried.returncode == 1 and "no rollback that failed" in retried.stderr, retried.stderr


@pytest.mark.parametrize("controller", ["EXTERNAL", "ECS"])
def test_settings_of_the_service(traffic, application, controller):
    """They are those of the service file, and after a rollback those of before; nothing of that is drift."""
    def version(minimum, command, **members):
        application.service(1, controller, deploymentConfiguration={
            "minimumHealthyPercent": minimum, "maximumPercent": 200}, **members)
        application.task([{"name": "web", "image": "host", "memory": 32, "command": command}])

    def settings():
        service = traffic.service(application.name)
        return (service["deploymentConfiguration"]["minimumHealthyPercent"],
                service["enableECSManagedTags"])

    def assert_in_sync():
        wait_until(lambda: "SYNCED, HEALTHY" in application.run(
            "app", "status", application.name).stdout.replace("OUT_OF_SYNC", ""), "it is in sync")

    version(50, ["sleep", "1000"])
    assert application.sync()["state"] == "SUCCESS"
    assert settings() == (50, False)
    version(100, ["sleep", "1001"], enableECSManagedTags=True)
    assert application.sync()["state"] == "SUCCESS"
    assert settings() == (100, True)
    assert_in_sync()
    version(0, ["false"], enableECSManagedTags=False)
    failed = application.sync()
    assert failed["state"] == "FAILURE" and states(failed)[-1] == ("ROLLBACK", "SUCCESS"), failed
    assert settings() == (100, True)
    assert_in_sync()


def test_a_first_deployment_that_fails_leaves_nothing(traffic, application):
    """Scenario 36."""
    application.service(1)
    application.task([{"name": "web", "image": "host", "memory": 32, "command": ["false"]}])
    failed = application.sync()
    assert failed["state"] == "FAILURE"
    assert failed["reason"].endswith("first deployment, nothing to roll back to"), failed
    found = traffic.ecs.describe_services(services=[application.name])["services"]
    assert all(service["status"] != "ACTIVE" for service in found)


def test_a_standalone_task(traffic, tmp_path, application):
    """Scenario 14."""
    done = tmp_path / "done"
    application.task([{"name": "job", "image": "host", "memory": 32,
                       "command": ["touch", str(done)]}], mode="bridge")
    application.spec["input"]["launchType"] = "EC2"
    deployment = application.sync()
    assert deployment["state"] == "SUCCESS", deployment
    wait_until(done.exists, "the task has run")
    assert traffic.ecs.list_tasks(family=application.name, desiredStatus="STOPPED")["taskArns"]


def test_a_standalone_task_that_cannot_be_placed(application):
    """Scenario 14: failures of RunTask are a failure with the reason; its rollback has nothing to do."""
    application.task([{"name": "job", "image": "host", "memory": 1 << 24, "command": ["true"]}],
                     mode="bridge")
    application.spec["input"]["launchType"] = "EC2"
    failed = application.sync()
    assert failed["state"] == "FAILURE" and "RESOURCE:MEMORY" in failed["reason"], failed
    assert states(failed) == [("ECS_SYNC", "FAILURE"), ("ROLLBACK", "SUCCESS")]


def test_a_standalone_task_is_only_registered(traffic, application):
    """Scenario 14: with runStandaloneTask false nothing is run."""
    application.task([{"name": "job", "image": "host", "memory": 32, "command": ["true"]}],
                     mode="bridge")
    application.spec["input"].update(launchType="EC2", runStandaloneTask=False)
    assert application.sync()["state"] == "SUCCESS"
    assert traffic.ecs.list_task_definitions(familyPrefix=application.name)["taskDefinitionArns"]
    assert "RunTask" not in application.log()


def test_another_controller_is_refused(traffic, application):
    """Scenario 15."""
    application.service(1, controller="CODE_DEPLOY")
    application.task([{"name": "web", "image": "host", "memory": 32, "command": ["sleep", "1000"]}])
    application.write()
    result = application.run("app", "sync", "--dir", application.folder, "--watch")
    assert result.returncode != 0
    assert "deployment controller CODE_DEPLOY is not supported (ECS or EXTERNAL)" in \
        result.stdout + result.stderr
    assert not traffic.ecs.describe_services(services=[application.name])["services"]


@pytest.mark.parametrize("place", ["planner", "input"])
def test_without_auto_rollback_everything_stays(traffic, application, place):
    """Scenario 37."""
    application.service(1)
    application.task([{"name": "web", "image": "host", "memory": 32, "command": ["sleep", "1000"]}])
    assert application.sync()["state"] == "SUCCESS"
    application.spec.setdefault(place, {})["autoRollback"] = False
    application.task([{"name": "web", "image": "host", "memory": 32, "command": ["false"]}])
    failed = application.sync()
    assert "stopped before they were healthy" in failed["reason"], failed
    assert states(failed) == [("ECS_SYNC", "FAILURE")]
    sets = traffic.service(application.name)["taskSets"]
    assert sorted(item["status"] for item in sets) == ["ACTIVE", "PRIMARY"]


def test_the_stop_switch(traffic, application):
    """While it is on, nothing is called for any application of the account; then deployments continue."""
    application.service(1)
    application.task([{"name": "web", "image": "host", "memory": 32, "command": ["sleep", "1000"]}])
    stopped = application.run("app", "stop", "--comment", "incident 7")
    assert stopped.returncode == 0, stopped.stderr
    try:
        number = application.start()
        assert "Deployments are stopped by admin" in application.run("app", "list").stdout
        shown = ask(application.server, "GET", "/v1/application-switch").json
        assert shown["stopped"] and shown["comment"] == "incident 7" and shown["stoppedAt"] > 0
        time.sleep(2)  # a deployment begins at once
        assert application.show(number)["state"] == "PENDING"
        assert not traffic.ecs.describe_services(services=[application.name])["services"]
    finally:
        assert application.run("app", "resume").returncode == 0
    assert application.wait(number)["state"] == "SUCCESS"
    assert not ask(application.server, "GET", "/v1/application-switch").json["stopped"]


def test_a_plan_changes_nothing(traffic, programs, application):  # noqa: F811
    application.service(1)
    application.task(programs.containers(8080))
    application.write()
    plan = application.run("app", "plan", "--dir", application.folder)
    assert plan.returncode == 0, plan.stderr
    assert "quick sync, no pipeline" in plan.stdout and "ECS_SYNC" in plan.stdout
    assert not [service for service in
                traffic.ecs.describe_services(services=[application.name])["services"]]


@pytest.mark.parametrize("file, old, new, message", [
    ("app.pipecd.yaml", '"taskDefinitionFile"', '"taskDefinitionFil"', "taskDefinitionFile"),
    ("service.json", '"serviceName"', '"serviceNam"', "service.json:2: "),
    ("task.json", '"family"', '"familie"', "task.json:2: "),
])
def test_errors_name_the_line(application, file, old, new, message):
    """Scenario 8."""
    application.service(1)
    application.task([{"name": "web", "image": "host", "memory": 32}])
    application.write()
    with open(f"{application.folder}/{file}", encoding="utf-8") as text:
        changed = text.read().replace(old, new)
    application.put(file, changed)
    result = application.run("app", "sync", "--dir", application.folder)
    assert result.returncode == 1
    assert f"{application.folder}/{file}:" in result.stderr and message in result.stderr, \
        result.stderr
    assert application.run("app", "history", application.name).returncode == 1  # it was not made


@pytest.mark.parametrize("stage, message", [
    (("SCRIPT_RUN", {"run": "touch done"}), "scripts are off"),
    (("ANALYSIS", {"duration": "1s", "commands": [{"run": "touch done"}]}), "commands are off"),
])
def test_scripts_are_off_without_the_configuration(application, stage, message):
    application.task([{"name": "web", "image": "host", "memory": 32}], mode="bridge")
    application.pipeline(stage)
    ended = application.sync()
    assert ended["state"] == "FAILURE" and message in ended["reason"], ended
