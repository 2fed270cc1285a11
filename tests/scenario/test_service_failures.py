"""Services whose tasks fail, or whose machines go, with real programs."""
import json

import pytest

from conftest import DEADLINE, wait_until
from programs import LONG, Mark, container
from test_services_run import Watch

WAIT = {"Delay": 1, "MaxAttempts": 120}
PATIENCE = 2 * DEADLINE  # a proof takes 10 s, and there may be several
BREAKER = {"deploymentConfiguration": {
    "deploymentCircuitBreaker": {"enable": True, "rollback": True}}}


def register(ecs, family, *containers):
    return ecs.register_task_definition(family=family, containerDefinitions=list(containers))[
        "taskDefinition"]["taskDefinitionArn"]


def service(ecs, name):
    return ecs.describe_services(services=[name])["services"][0]


def primary(ecs, name):
    return next(deployment for deployment in service(ecs, name)["deployments"]
                if deployment["status"] == "PRIMARY")


def messages(ecs, name):
    return [event["message"] for event in service(ecs, name)["events"]]


def wait_stable(ecs, name):
    ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)


def remove(ecs, name):
    ecs.delete_service(service=name, force=True)
    ecs.get_waiter("services_inactive").wait(services=[name], WaiterConfig=WAIT)


@pytest.fixture(scope="module", name="ecs")
def client(slipway):
    return slipway.boto("ecs")


@pytest.fixture
def mark():
    return Mark()


def test_version_that_crashes_after_seconds_is_rolled_back(ecs, mark):
    good = register(ecs, "late", container(mark, LONG, environment={"VERSION": "1"}))
    bad = register(ecs, "late", container(mark, "sleep 3; exit 1", environment={"VERSION": "2"}))
    ecs.create_service(serviceName="late", taskDefinition=good, desiredCount=3, **BREAKER)
    wait_stable(ecs, "late")
    mark.wait_for(3, VERSION="1")

    def is_back():
        now = primary(ecs, "late")
        return now["taskDefinition"] == good and now["rolloutState"] == "COMPLETED"

    with Watch(mark) as watch:
        ecs.update_service(service="late", taskDefinition=bad)
        wait_until(is_back, "the service is rolled back", PATIENCE)
    assert watch.fewest(version="1") >= 3
    assert any("rolling back to deployment ecs-svc/" in text for text in messages(ecs, "late"))
    wait_stable(ecs, "late")
    mark.wait_for(3, VERSION="1")
    mark.wait_for(0, VERSION="2")
    remove(ecs, "late")


def test_first_deployment_that_crashes_is_not_completed_without_a_breaker(ecs, mark):
    bad = register(ecs, "unwatched", container(mark, "exit 3"))
    ecs.create_service(serviceName="unwatched", taskDefinition=bad, desiredCount=2)
    wait_until(lambda: primary(ecs, "unwatched")["failedTasks"] >= 6, "it has failed", PATIENCE)
    assert primary(ecs, "unwatched")["rolloutState"] == "IN_PROGRESS"
    assert not any("steady" in text or "completed" in text for text in messages(ecs, "unwatched"))
    remove(ecs, "unwatched")


def test_first_deployment_that_crashes_is_never_completed(ecs, mark):
    bad = register(ecs, "first", container(mark, "sleep 0.3; exit 1"))
    ecs.create_service(serviceName="first", taskDefinition=bad, desiredCount=2, **BREAKER)
    wait_until(lambda: primary(ecs, "first")["rolloutState"] != "IN_PROGRESS", "an end", PATIENCE)
    assert primary(ecs, "first")["rolloutState"] == "FAILED"
    told = messages(ecs, "first")
    assert not any("steady" in text or "completed" in text for text in told)
    assert any("deployment failed: tasks failed to start." in text for text in told)
    remove(ecs, "first")


def test_daemon_that_cannot_run_keeps_no_other_task_out(ecs, mark):
    bad = register(ecs, "daemon", container(mark, "exit 1"))
    ecs.create_service(serviceName="daemon", taskDefinition=bad, schedulingStrategy="DAEMON")
    ecs.create_service(serviceName="beside", desiredCount=2, taskDefinition=register(
        ecs, "beside", container(mark, LONG, environment={"BESIDE": "1"})))
    wait_stable(ecs, "beside")
    mark.wait_for(2, BESIDE="1")
    remove(ecs, "beside")
    remove(ecs, "daemon")


def test_surplus_instances_go_with_their_daemons(start_slipway, mark):
    server = start_slipway("--instances", "3")
    ecs = server.boto("ecs")
    ecs.create_service(serviceName="agent", schedulingStrategy="DAEMON", taskDefinition=register(
        ecs, "agent", container(mark, LONG, environment={"AGENT": "1"})))
    wait_stable(ecs, "agent")
    ecs.create_service(serviceName="web", desiredCount=3, taskDefinition=register(
        ecs, "web", container(mark, LONG, environment={"WEB": "1"})))
    wait_stable(ecs, "web")
    mark.wait_for(3, AGENT="1")
    server.stop()
    server = start_slipway("--instances", "1", state=server.state)
    ecs = server.boto("ecs")
    wait_until(lambda: len(ecs.list_container_instances()["containerInstanceArns"]) == 1,
               "one instance is left", PATIENCE)
    mark.wait_for(1, AGENT="1")
    mark.wait_for(3, WEB="1")

    def counts():
        told = service(ecs, "agent")
        return told["runningCount"], told["desiredCount"]

    wait_until(lambda: counts() == (1, 1), "it is reported")
    remove(ecs, "web")
    remove(ecs, "agent")


def test_events_have_the_output_of_failed_health_checks(ecs, mark):
    sick = register(ecs, "sick", container(mark, LONG, healthCheck={
        "command": ["CMD-SHELL", "echo no database; exit 2"], "interval": 5, "retries": 1}))
    ecs.create_service(serviceName="sick", taskDefinition=sick, desiredCount=1)
    event = wait_until(lambda: [text for text in messages(ecs, "sick") if "failed container health checks." in text],
                       "the event", PATIENCE)[-1]
    assert event.endswith("failed container health checks. Container app: Health check failed: exit code 2: no database")
    remove(ecs, "sick")


def log_lines(server, text):
    return [line for line in (json.loads(line) for line in server.stderr.splitlines() if line.startswith("{"))
            if text in line["message"]]


def test_the_log_reports_crash_loops_and_failed_placements(start_slipway, mark, tmp_path):
    """Once each, with what a task said, and again when it is over."""
    server = start_slipway()
    ecs = server.boto("ecs")
    repaired = tmp_path / "repaired"
    bad = register(ecs, "loop", container(mark, f"test -e {repaired} || exit 3; {LONG}"))
    huge = register(ecs, "huge", container(mark, LONG, memory=100_000_000))
    ecs.create_service(serviceName="loop", taskDefinition=bad, desiredCount=1)
    ecs.create_service(serviceName="huge", taskDefinition=huge, desiredCount=1)
    loop = 'service "loop" in cluster "default" (us-east-1) '
    huge = 'service "huge" in cluster "default" (us-east-1) '
    failing = wait_until(lambda: log_lines(server, loop), "a line for the crash loop", PATIENCE)
    assert failing[0]["level"] == "warning"
    assert "is unable to consistently start tasks successfully" in failing[0]["message"]
    assert "container app: exit code 3" in failing[0]["message"]
    unplaced, = wait_until(lambda: log_lines(server, huge), "a line for the failed placement", PATIENCE)
    assert unplaced["level"] == "warning" and "was unable to place a task because" in unplaced["message"]
    repaired.touch()
    recovered = wait_until(lambda: log_lines(server, loop + "has reached a steady state"), "its end", PATIENCE)
    assert recovered[0]["level"] == "info"
    assert len(log_lines(server, loop + "is unable")) == 1


def test_the_log_reports_failed_deployments(start_slipway, mark):
    server = start_slipway()
    ecs = server.boto("ecs")
    good = register(ecs, "web", container(mark, LONG))
    bad = register(ecs, "web", container(mark, "exit 4"))
    ecs.create_service(serviceName="web", taskDefinition=good, desiredCount=1, **BREAKER)
    wait_stable(ecs, "web")
    ecs.update_service(service="web", taskDefinition=bad)
    web = 'service "web" in cluster "default" (us-east-1) '
    over = wait_until(lambda: log_lines(server, web + "is rolled back: deployment ecs-svc/"), "the rollback's end",
                      PATIENCE)
    assert len(over) == 1 and over[0]["level"] == "info"
    failed, = log_lines(server, "deployment failed: tasks failed to start.")
    assert failed["level"] == "warning" and "exit code 4" in failed["message"]
    assert len(log_lines(server, web + "rolling back to deployment ecs-svc/")) == 1
