"""Environments of the types Service and Cron on real programs."""
import re
import time

import pytest

from balancing import free_port
from conftest import wait_until
from fleets import Fleet, env_command, refusal
from programs import LONG, container, task_id
from test_services_run import Watch

INSTANCES = 3
SERVER_ARGUMENTS = ["--instances", str(INSTANCES)]
MINUTES = 200  # seconds in which two whole minutes begin, with room to spare
TAKES_MINUTES = True


class Typed(Fleet):
    """An environment of another type than Daemon."""

    def __init__(self, server, kind):
        super().__init__(server)
        self.kind = kind

    def create(self, definition, attributes=None, **configuration):
        group = {"cluster": "default", **({"attributes": attributes} if attributes else {})}
        return self.api.create_environment(
            name=self.name, environmentType=self.kind, taskDefinition=definition,
            instanceGroup=group, deploymentConfiguration=configuration)["environmentVersion"]

    def service(self):
        found = self.ecs.describe_services(services=["env-" + self.name], include=["TAGS"])
        return found["services"][0] if found["services"] else None

    def state(self):
        return self.get()["scheduleState"]

    def runs(self, *statuses):
        return [run for run in self.state()["runs"] if not statuses or run["status"] in statuses]


@pytest.fixture(name="service")
def new_service(slipway):
    environment = Typed(slipway, "Service")
    yield environment
    environment.remove()


@pytest.fixture(name="cron")
def new_cron(slipway):
    environment = Typed(slipway, "Cron")
    yield environment
    environment.remove()


# ---- Service ----

def test_a_service_is_created_replaced_and_taken_back(service):
    version = service.create(service.define(1), desiredCount=4, minHealthyPercent=50,
                             maxActivePercent=100)
    found = service.get()
    assert found["environmentType"] == "Service" and found["status"] == "inactive"
    assert service.service() is None, "inactive means silent"
    service.wait_for(service.deploy(version), "completed")
    assert len(service.mark.tasks(VERSION="1")) == 4
    shown = service.service()
    assert shown["serviceArn"] == service.get()["serviceArn"]
    assert shown["deploymentConfiguration"]["minimumHealthyPercent"] == 50
    assert shown["deploymentConfiguration"]["maximumPercent"] == 100
    assert {"key": "slipway:environment", "value": service.name} in shown["tags"]
    counts = wait_until(lambda: (now := service.get()["counts"])["active"] == 4 and now, "counted")
    assert counts == {"desired": 4, "active": 4, "launching": 0, "unhealthy": 0, "missing": 0,
                      "outdated": 0, "total": 4, "unreachable": 0}
    second = service.update(service.define(2))
    with Watch(service.mark) as watch:
        done = service.wait_for(service.deploy(second), "completed")
    assert (done["completed"], done["total"]) == (4, 4)
    service.mark.wait_for(4, VERSION="2")
    assert watch.fewest() >= 2 and watch.most() <= 4
    rolled = service.api.rollback_deployment(name=service.name)["deploymentId"]
    assert service.wait_for(rolled, "completed")["rollback"]
    service.mark.wait_for(4, VERSION="1")
    assert len(service.ecs.list_services()["serviceArns"]) == 1, "one service, all the time"


def test_a_service_can_be_inspected_like_a_daemon(service):
    definition = service.define(1)

    def counts(version):
        return {name: number for name, number in service.api.diff_environment(
            name=service.name, environmentVersion=version)["counts"].items() if number}

    version = service.create(definition, desiredCount=3)
    assert counts(version) == {"start": 3}
    service.wait_for(service.deploy(version), "completed")
    expected = [{"taskDefinition": definition, "environmentVersion": version, "taskCount": 3, "activeCount": 3}]
    wait_until(lambda: service.get()["currentState"] == expected, "three tasks are counted")
    tasks = service.api.list_tasks(environment=service.name, status=["RUNNING"])["tasks"]
    assert {(task["environment"], task["environmentVersion"], task["taskDefinition"]) for task in tasks} == {
        (service.name, version, definition)}
    assert len(tasks) == 3
    # The tasks themselves, in pages.
    found, page = [], service.api.get_environment(name=service.name, maxResults=2)
    assert len(page["currentState"][0]["tasks"]) == 2
    found += page["currentState"][0]["tasks"]
    page = service.api.get_environment(name=service.name, maxResults=2, nextToken=page["nextToken"])
    found += page["currentState"][0]["tasks"]
    assert {task["taskArn"] for task in found} == {task["taskArn"] for task in tasks}
    assert "nextToken" not in page and page["currentState"][0]["taskCount"] == 3
    # The effect of a deployment.
    assert counts(version) == {"keep": 3}
    second = service.update(service.define(2), deploymentConfiguration={"desiredCount": 2})
    assert counts(second) == {"replace": 2, "stop": 1}
    third = service.update(service.define(3), deploymentConfiguration={"desiredCount": 5})
    assert counts(third) == {"replace": 3, "start": 2}


def test_a_service_is_scaled_by_a_deployment_and_by_hand(service):
    definition = service.define(1)
    service.roll_out(definition, desiredCount=1)
    version = service.update(definition, deploymentConfiguration={"desiredCount": 3})
    service.wait_for(service.deploy(version), "completed")
    service.mark.wait_for(3)
    service.ecs.update_service(service="env-" + service.name, desiredCount=2)
    service.mark.wait_for(2)
    wait_until(lambda: service.get()["counts"]["total"] == 2, "it is counted")
    assert service.service()["desiredCount"] == 2, "and left alone"


def test_a_service_gets_the_network_of_its_version(service):
    definition = service.ecs.register_task_definition(
        family=service.name, networkMode="awsvpc",
        containerDefinitions=[container(service.mark, LONG)])["taskDefinition"]["taskDefinitionArn"]

    def network():
        found = service.service()
        return found and found["networkConfiguration"]["awsvpcConfiguration"]["subnets"]

    def of(*subnets):
        return {"networkConfiguration": {"awsvpcConfiguration": {"subnets": list(subnets)}}}

    version = service.api.create_environment(
        name=service.name, environmentType="Service", taskDefinition=definition,
        instanceGroup={"cluster": "default"}, **of("subnet-1"))["environmentVersion"]
    service.deploy(version)
    wait_until(lambda: network() == ["subnet-1"], "it has the first")
    identifier = service.deploy(service.update(definition, **of("subnet-2", "subnet-3")))
    wait_until(lambda: network() == ["subnet-2", "subnet-3"], "it has the others")
    wait_until(lambda: service.deployment(identifier)["status"] in ("completed", "in-progress"),
               "it goes")
    wait_until(lambda: service.deployment(identifier)["status"] == "completed", "it is through")


def test_a_service_that_goes_bad_goes_back(service):
    good = service.roll_out(service.define(1), desiredCount=2, onFailure="rollback")
    bad = service.update(service.define(2, "exit 1"))
    identifier = service.deploy(bad)
    wait_until(lambda: service.deployment(identifier)["status"] in ("unhealthy", "timed-out"),
               "it is noticed")
    # Others that the old version was given meanwhile may just be ending.
    wait_until(lambda: len(service.mark.tasks(VERSION="1")) == 2, "the old version serves")
    failed = service.wait_for(identifier, "timed-out")
    assert failed["statusReason"].startswith("ROLLOUT_FAILED: ")
    back = wait_until(lambda: [item for item in service.deployments() if item.get("rollback")],
                      "it goes back")[0]
    service.wait_for(back["deploymentId"], "completed")
    assert service.get()["activeVersion"] == good
    service.mark.wait_for(2, VERSION="1")


def test_a_rollout_of_a_service_that_takes_too_long_is_halted(service):
    service.roll_out(service.define(1), desiredCount=2)
    bad = service.update(service.define(2, "exit 1"), deploymentConfiguration={"timeoutSeconds": 4})
    service.wait_for(service.deploy(bad), "timed-out")
    wait_until(lambda: service.service()["deployments"][0]["rolloutState"] == "FAILED",
               "ECS received it")
    # A failed call can be repeated, and affects nothing else.
    again = service.deploy(bad)
    assert service.wait_for(again, "timed-out")["deploymentId"] == again
    good = service.update(service.define(3), deploymentConfiguration={"timeoutSeconds": 3600})
    service.wait_for(service.deploy(good), "completed")
    service.mark.wait_for(2, VERSION="3")


def test_a_deployment_of_a_service_is_stopped(service):
    service.roll_out(service.define(1), desiredCount=2)
    version = service.update(service.define(2, memory=10 ** 7))  # which never ends by itself
    identifier = service.deploy(version)
    wait_until(lambda: service.service()["deployments"][0]["rolloutState"] == "IN_PROGRESS",
               "it goes")
    service.api.stop_deployment(name=service.name, deploymentId=identifier)
    service.wait_for(identifier, "stopped")
    assert service.get()["status"] == "inactive"
    wait_until(lambda: service.service()["deployments"][0]["rolloutState"] == "FAILED",
               "ECS received it")
    service.ecs.update_service(service="env-" + service.name, desiredCount=1)
    service.mark.wait_for(1, VERSION="1")
    time.sleep(1)
    assert service.service()["desiredCount"] == 1, "inactive means silent"
    service.wait_for(service.deploy(service.update(service.define(3))), "completed")
    service.mark.wait_for(2, VERSION="3")


def test_a_service_without_room_is_blocked_until_there_is(service):
    version = service.create(service.define(1, memory=10 ** 7))
    identifier = service.deploy(version)
    blocked = service.wait_for(identifier, "blocked")
    assert blocked["statusReason"] == "UNABLE_TO_PLACE"
    wait_until(lambda: service.get()["health"] == "unhealthy", "it is reported")
    service.api.stop_deployment(name=service.name, deploymentId=identifier)
    service.wait_for(identifier, "stopped")


def test_an_unmanaged_service_is_left_alone(service):
    definition = service.define(1)
    service.ecs.create_service(serviceName="env-" + service.name, taskDefinition=definition,
                               desiredCount=1)
    before = service.mark.wait_for(1)
    answer = refusal(service.api.create_environment, "ResourceInUseException", 409,
                     name=service.name, environmentType="Service", taskDefinition=definition,
                     instanceGroup={"cluster": "default"})
    assert answer["resourceType"] == "service"
    assert "env-" + service.name in answer["Error"]["Message"]
    service.ecs.delete_service(service="env-" + service.name, force=True)
    wait_until(lambda: service.service()["status"] == "INACTIVE", "it is gone")
    version = service.create(definition)
    # It comes between the two: then the deployment is refused, too.
    service.ecs.create_service(serviceName="env-" + service.name, taskDefinition=definition,
                               desiredCount=1)
    refusal(service.api.start_deployment, "ResourceInUseException", 409, name=service.name,
            environmentVersion=version)
    before = service.mark.wait_for(1)
    service.api.delete_environment(name=service.name, terminateTasks=True)
    wait_until(lambda: not service.exists(), "the environment is gone")
    assert service.mark.tasks() == before and service.service()["status"] == "ACTIVE"
    service.ecs.delete_service(service="env-" + service.name, force=True)


def test_deleting_a_service_environment_leaves_or_ends_its_tasks(service, slipway):
    definition = service.define(1)
    service.roll_out(definition, desiredCount=2)
    before = service.mark.tasks()
    service.api.delete_environment(name=service.name)
    wait_until(lambda: not service.exists(), "the environment is gone")
    assert service.mark.tasks() == before, "its tasks stay"
    # One of the same name finds its service again.
    service.roll_out(definition, desiredCount=2)
    assert service.mark.tasks() == before
    service.api.delete_environment(name=service.name, terminateTasks=True)
    wait_until(lambda: not service.exists(), "the environment is gone")
    assert not service.mark.tasks() and service.service()["status"] == "INACTIVE"
    assert slipway.process.poll() is None


def test_a_service_is_behind_a_load_balancer(service, slipway):
    elb = slipway.boto("elbv2")
    ports = [free_port("127.0.0.1") for _ in range(2)]
    listening = free_port("127.0.0.1")
    program = ("import http.server, os\n"
               "class H(http.server.BaseHTTPRequestHandler):\n"
               "  def do_GET(self):\n"
               "    self.send_response(200); self.end_headers()\n"
               "    self.wfile.write(os.environ['VERSION'].encode())\n"
               "http.server.HTTPServer(('127.0.0.1', PORT), H).serve_forever()\n")

    def define(version, port):
        return service.ecs.register_task_definition(
            family=service.name, networkMode="host", containerDefinitions=[container(
                service.mark, "", command=["python3", "-c", program.replace("PORT", str(port))],
                environment={"VERSION": str(version)},
                portMappings=[{"containerPort": port, "hostPort": port}])])[
                    "taskDefinition"]["taskDefinitionArn"]

    group = elb.create_target_group(Name="g" + service.name, Protocol="HTTP", Port=80,
                                    VpcId="vpc-1", HealthCheckIntervalSeconds=5, HealthCheckTimeoutSeconds=2,
                                    HealthyThresholdCount=2)["TargetGroups"][0]["TargetGroupArn"]
    balancer = elb.create_load_balancer(Name="b" + service.name, Subnets=["subnet-1", "subnet-2"])[
        "LoadBalancers"][0]
    elb.create_listener(LoadBalancerArn=balancer["LoadBalancerArn"], Protocol="HTTP",
                        Port=listening,
                        DefaultActions=[{"Type": "forward", "TargetGroupArn": group}])
    version = service.create(define(1, ports[0]), desiredCount=1,
                             loadBalancer={"targetGroupArn": group})
    service.wait_for(service.deploy(version), "completed")
    shown = service.service()["loadBalancers"]
    assert [(item["targetGroupArn"], item["containerName"], item["containerPort"])
            for item in shown] == [(group, "app", ports[0])]
    assert elb.describe_target_health(TargetGroupArn=group)["TargetHealthDescriptions"]
    service.api.delete_environment(name=service.name, terminateTasks=True)
    wait_until(lambda: not service.exists(), "the environment is gone")
    elb.delete_load_balancer(LoadBalancerArn=balancer["LoadBalancerArn"])
    elb.delete_target_group(TargetGroupArn=group)


def test_70_a_service_is_not_doubled_by_crashes(start_slipway):
    server = start_slipway()
    environment = Typed(server, "Service")
    version = environment.create(environment.define(1), desiredCount=2)
    state = server.state
    identifier = environment.deploy(version)
    for _ in range(4):
        server.kill()
        server = start_slipway(state=state)
        environment.server, environment.ecs = server, server.boto("ecs")
        environment.api = Typed(server, "Service").api
        time.sleep(0.2)
    environment.wait_for(identifier, "completed")
    assert len(environment.ecs.list_services()["serviceArns"]) == 1
    environment.mark.wait_for(2)
    environment.remove()


# ---- rejected requests ----

@pytest.mark.parametrize("kind, configuration, part", [
    ("Service", {"replaceThenTerminate": True}, "replaceThenTerminate"),
    ("Service", {"schedule": "rate(1 minute)"}, "schedule"),
    ("Service", {"canary": {"instances": 1}}, "canary"),
    ("Service", {"minHealthyPercent": 100, "maxActivePercent": 100}, "maxActivePercent"),
    ("Cron", {}, "schedule"),
    ("Cron", {"schedule": "every day"}, "schedule"),
    ("Cron", {"schedule": "cron(0 25 * * ? *)"}, "hours '25'"),
    ("Cron", {"schedule": "cron(0 0 1 1 ? 2020)"}, "never due"),
    ("Cron", {"schedule": "rate(1 minute)", "minHealthyPercent": 10}, "minHealthyPercent"),
    ("Cron", {"schedule": "rate(1 minute)", "desiredCount": 11}, "desiredCount"),
    ("Daemon", {"desiredCount": 2}, "desiredCount"),
    ("Daemon", {"schedule": "rate(1 minute)"}, "schedule"),
])
def test_5_members_of_other_types_are_refused(slipway, kind, configuration, part):
    environment = Typed(slipway, kind)
    answer = refusal(environment.api.create_environment, "InvalidParameterException", 400,
                     name=environment.name, environmentType=kind,
                     taskDefinition=environment.define(1), instanceGroup={"cluster": "default"},
                     deploymentConfiguration=configuration)
    assert part in answer["Error"]["Message"]
    assert not environment.exists()


# ---- Cron ----

def test_a_cron_that_is_not_due_waits(cron):
    version = cron.create(cron.define(1), schedule="rate(3 hours)")
    assert "nextRunAt" not in cron.state(), "it is inactive"
    cron.wait_for(cron.deploy(version), "completed")
    found = cron.get()
    due = found["scheduleState"]["nextRunAt"].timestamp()
    begun = cron.deployments()[0]["startedAt"].timestamp()
    assert abs(due - begun - 3 * 3600) < 0.01
    assert found["status"] == "active" and found["health"] == "healthy"
    assert found["scheduleState"]["runs"] == [] and found["scheduleState"]["missedRuns"] == 0
    assert "next run" in env_command(cron.server, "status", cron.name)
    assert cron.name in env_command(cron.server, "list")


def test_70_a_cron_runs_once_per_due_time_across_crashes(start_slipway):
    """Four of them at once, since each waits for the minute to begin."""
    server = start_slipway()
    wait_until(lambda: time.time() % 60 < 30, "there is time enough before the next one")
    quick, long, bad, huge = (Typed(server, "Cron") for _ in range(4))
    for environment, script, members in ((quick, "exit 0", {}), (long, LONG, {}),
                                         (bad, "exit 3", {}), (huge, LONG, {"memory": 10 ** 7})):
        version = environment.create(environment.define(1, script, **members),
                                     schedule="cron(* * * * ? *)")
        environment.wait_for(environment.deploy(version), "completed")
    wait_until(lambda: long.runs("started"), "the minute has begun", MINUTES)
    assert quick.state()["nextRunAt"].timestamp() % 60 == 0
    state = server.state
    for _ in range(3):
        server.kill()
        server = start_slipway(state=state)
        for environment in (quick, long, bad, huge):
            environment.server, environment.ecs = server, server.boto("ecs")
            environment.api = Typed(server, "Cron").api
    first = wait_until(lambda: quick.runs("succeeded"), "it has run", MINUTES)[0]
    failed = wait_until(lambda: bad.runs("failed"), "it has failed", MINUTES)[0]
    assert first["exitCode"] == 0 and failed["exitCode"] == 3
    assert first["dueAt"].timestamp() % 60 == 0 and first["startedAt"] >= first["dueAt"]
    assert bad.get()["health"] == "unhealthy" and quick.get()["health"] == "healthy"
    running = long.mark.wait_for(1)
    assert {task_id(long.runs("started")[0]["tasks"][0])} == running
    skipped = wait_until(lambda: long.runs("skipped"), "the next minute", MINUTES)
    assert "STILL_RUNNING" in skipped[-1]["reason"]
    assert long.mark.tasks() == running, "it does not overlap"
    assert long.state()["missedRuns"] == 0, "skipped is not missed"
    assert "lastMissedAt" not in long.state() and long.get()["counts"]["active"] == 1
    for environment in (quick, bad):
        due = [run["dueAt"] for run in environment.runs()]
        assert len(due) == len(set(due)), "one run per due time"
    given_up = wait_until(lambda: huge.runs("failed"), "it is given up", MINUTES)
    assert "RESOURCE" in given_up[-1]["reason"] and not huge.mark.tasks()
    said = env_command(server, "status", long.name)
    assert "started" in said and "skipped" in said and "cron(* * * * ? *)" in said
    due = r"\d{4}-\d\d-\d\d \d\d:\d\d:00"
    assert re.search(rf"^  {due} +skipped +- +the one of {due} was still going$", said, re.MULTILINE)
    said = env_command(server, "status", bad.name)
    assert re.search(rf"^  {due} +failed +{due[:-2]}\d\d +exit code 3", said, re.MULTILINE), said
    assert "replaced" not in said
    # Inactive: nothing new, and what runs continues; deleted with its tasks: gone.
    long.api.update_environment(name=long.name, status="inactive")
    assert "nextRunAt" not in long.state() and long.mark.tasks() == running
    for environment in (quick, long, bad, huge):
        environment.remove()
