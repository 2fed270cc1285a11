"""The flows of examples/, as their READMEs say."""
import json
import os
import subprocess

from conftest import SOURCE, slipway_program, wait_until
from rest_requests import ask

SERVER_ARGUMENTS = ["--pipeline-scripts"]


class Example:
    def __init__(self, server, folder):
        self.server, self.folder = server, os.path.join(SOURCE, "examples", folder)

    def run(self, *words):
        result = subprocess.run(
            [slipway_program(), *words, "--server", self.server.url, "--state", self.server.state],
            cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def nodes(self, head):
        flow = ask(self.server, "GET", f"/v1/flows/{head}").json
        return {node["application"]: node for node in flow["nodes"]}


def test_environments(slipway):
    """Development, staging, production with an approval; then the same again, where nothing has changed."""
    example = Example(slipway, "flows-environments")
    sync = ("app", "sync", "--dir", "dev", "--flow-dir", ".", "--commit", "c1", "--watch")
    example.run(*sync)
    wait_until(lambda: example.nodes("shop-dev")["shop-production"]["state"] == "WAITING_APPROVAL",
               "production waits")
    nodes = example.nodes("shop-dev")
    assert nodes["shop-staging"]["state"] == "SUCCESS"
    assert nodes["shop-staging"]["endedAt"] - nodes["shop-staging"]["startedAt"] >= 2
    assert "Plan of shop-production" in example.run("flow", "approve", "shop-dev", "shop-production")
    example.run("flow", "watch", "shop-dev")
    ecs = slipway.boto("ecs")
    services = ecs.describe_services(services=["shop-dev", "shop-staging", "shop-production"])
    assert [service["runningCount"] for service in services["services"]] == [1, 1, 2]
    assert "shop-production" in example.run("flow", "show", "shop-dev", "--dot")
    example.run(*sync)
    example.run("flow", "watch", "shop-dev")
    states = {node["state"] for node in example.nodes("shop-dev").values()}
    assert states == {"SKIPPED"}, states


def test_regions(slipway):
    example = Example(slipway, "flows-regions")
    example.run("app", "sync", "--dir", "eu-west", "--flow-dir", ".", "--watch")
    flow = json.loads(example.run("flow", "watch", "web-eu-west", "-o", "json"))
    nodes = {node["application"]: node for node in flow["nodes"]}
    assert {node["state"] for node in nodes.values()} == {"SUCCESS"}, flow
    last = nodes["web-ap-south"]
    assert all(last["startedAt"] >= nodes[name]["endedAt"] for name in ("web-us-east", "web-us-west"))
    assert nodes["web-us-east"]["startedAt"] < nodes["web-us-west"]["endedAt"]
    assert nodes["web-us-west"]["startedAt"] < nodes["web-us-east"]["endedAt"]


def test_kinds(slipway):
    example = Example(slipway, "flows-kinds")
    example.run("app", "sync", "--dir", "database", "--flow-dir", ".", "--watch")
    example.run("flow", "watch", "orders-database")
    nodes = example.nodes("orders-database")
    assert {node["state"] for node in nodes.values()} == {"SUCCESS"}, nodes
    assert "no live state" in nodes["orders-cache"]["reason"]
    assert "reason" not in nodes["orders-api"]
    assert "is empty" in example.run("deployment", "logs", "orders-cache")
