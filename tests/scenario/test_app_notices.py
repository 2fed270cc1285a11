"""Notices of applications: posted to webhooks, in order, each once or more."""
import pytest
from applications import Application
from conftest import wait_until
from test_app_stages import Pipeline
from test_environment_streams import Receiver, hooks_file, once


@pytest.fixture(name="receiver")
def new_receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


def test_notices_of_deployments(start_slipway, receiver, tmp_path):
    """The states of a deployment and a stage that waits for approval; a receiver that is away gets them later."""
    config = hooks_file(tmp_path, {"name": "chat", "url": receiver.url},
                        {"name": "ends", "url": receiver.url,
                         "events": ["application.failure", "application.success"]},
                        {"name": "tasks", "url": receiver.url, "events": ["deployment", "health"]})
    server = start_slipway("--runtime", "none", "--config", config)
    app = Pipeline(server, tmp_path / "app", "web")
    app.pipeline(("WAIT", {"duration": "0s"}), ("WAIT_APPROVAL", {}))
    receiver.status = 503
    number = app.start()
    app.wait_for_stage(number, 1)
    wait_until(lambda: receiver.seen > 0, "a notice is refused")
    receiver.status = 200
    app.approve()
    assert app.wait(number)["state"] == "SUCCESS"
    number = app.start()
    app.wait_for_stage(number, 1)
    assert app.run("deployment", "reject", app.name).returncode == 0
    assert app.wait(number)["state"] == "FAILURE"
    assert app.run("app", "plan", "--dir", app.folder).returncode == 0  # has none

    def events(webhook):
        return once((body["sequence"], body["event"]) for body in receiver.bodies()
                    if body["webhook"] == webhook)

    expected = ["running", "approval", "success", "running", "approval", "failure"]
    wait_until(lambda: len(events("chat")) >= len(expected) and len(events("ends")) >= 2,
               "all are posted")
    assert events("chat") == [(index + 1, f"application.{name}")
                              for index, name in enumerate(expected)]
    assert [event for _, event in events("ends")] == ["application.success", "application.failure"]
    assert not events("tasks")
    last = [body for body in receiver.bodies() if body["event"] == "application.failure"][0]
    assert last["application"] == "web" and last["deployment"]["number"] == number
    assert last["deployment"]["state"] == "FAILURE" and "rejected" in last["deployment"]["reason"]


def test_notices_of_drift(start_slipway, receiver, tmp_path):
    config = hooks_file(tmp_path, {"name": "drift", "url": receiver.url, "events": [
        "application.out-of-sync", "application.synced"]})
    server = start_slipway("--config", config)
    app = Application(server, tmp_path / "app", "web")
    app.task([{"name": "web", "image": "host", "memory": 32, "command": ["sleep", "1000"]}],
             mode="bridge")
    app.service(1, networkConfiguration=None)
    assert app.sync()["state"] == "SUCCESS"
    ecs = server.boto("ecs")

    def events():
        return once((body["sequence"], body["event"]) for body in receiver.bodies())

    wait_until(lambda: "SYNCED" in app.run("app", "status", "web").stdout, "it is in sync")
    ecs.update_service(service="web", desiredCount=2)
    wait_until(lambda: len(events()) == 1, "the drift is posted")
    ecs.update_service(service="web", desiredCount=1)
    wait_until(lambda: len(events()) == 2, "the end of the drift is posted")
    assert [event for _, event in events()] == ["application.out-of-sync", "application.synced"]
    assert receiver.bodies()[0]["differences"] == [
        {"path": "desiredCount", "expected": "1", "found": "2"}]
