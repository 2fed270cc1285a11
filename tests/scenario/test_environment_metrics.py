"""Metrics of environments."""
import re

from conftest import wait_until
from fleets import Fleet
from programs import LONG
from test_environment_streams import hooks_file


def numbers(server, name):
    """{labels: value} of a metric, those that are not 0."""
    found = re.findall(rf"^slipway_{name}(?:{{(.*)}})? (\d+)$", server.get("/metrics").text, re.MULTILINE)
    assert found, name
    return {labels: int(value) for labels, value in found if value != "0"}


def labels(status, health):
    return f'type="Daemon",status="{status}",health="{health}"'


def test_environments_are_counted(start_slipway, tmp_path):
    path = hooks_file(tmp_path, {"name": "away", "url": "http://127.0.0.1:9/"})
    server = start_slipway("--config", path, "--instances", "2")
    assert numbers(server, "environments") == {}
    assert numbers(server, "environment_deployments") == {}
    assert numbers(server, "webhook_notices") == {}
    fleet = Fleet(server)
    version = fleet.create(fleet.define(1, LONG))
    assert numbers(server, "environments") == {labels("inactive", "healthy"): 1}
    fleet.wait_for(fleet.deploy(version), "completed")
    wait_until(lambda: numbers(server, "environments") == {labels("active", "healthy"): 1}, "it is well")
    assert numbers(server, "environment_deployments") == {}
    assert numbers(server, "webhook_notices")[""] >= 3, "pending, in-progress, completed"
    bad = fleet.deploy(fleet.update(fleet.define(2, "exit 1")))
    wait_until(lambda: numbers(server, "environments") == {labels("active", "unhealthy"): 1}, "it is not well")
    wait_until(lambda: sum(numbers(server, "environment_deployments").values()) == 1, "one is open")
    fleet.api.stop_deployment(name=fleet.name, deploymentId=bad)
    wait_until(lambda: numbers(server, "environment_deployments") == {}, "none is")
    fleet.remove()
    wait_until(lambda: numbers(server, "environments") == {}, "nothing is left")
