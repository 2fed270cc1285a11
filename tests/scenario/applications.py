"""Applications for scenario tests: folders with their files, and the command that delivers them."""
import json
import os
import subprocess

from conftest import DEADLINE, slipway_program
from rest_requests import ask

NETWORK = {"awsvpcConfiguration": {"subnets": ["subnet-1"]}}


def user(server, name):
    """The key of a new user that may do everything."""
    made = ask(server, "POST", "/v1/keys", json.dumps({"user": name}))
    assert made.status in (200, 201), made.body
    return made.json


class Application:
    """A folder of files in JSON, which is YAML, and what is asked of slipway about it."""

    def __init__(self, server, folder, name):
        self.server, self.folder, self.name = server, str(folder), name
        self.spec = {"name": name, "input": {"taskDefinitionFile": "task.json"}}
        os.makedirs(self.folder, exist_ok=True)

    def put(self, file, content):
        with open(os.path.join(self.folder, file), "w", encoding="utf-8") as out:
            out.write(content if isinstance(content, str) else json.dumps(content, indent=1))

    def task(self, containers, mode="awsvpc", **members):
        self.put("task.json", {"family": self.name, "networkMode": mode,
                               "containerDefinitions": containers, **members})

    def service(self, count=2, controller="EXTERNAL", registry=None, **members):
        self.spec["input"]["serviceDefinitionFile"] = "service.json"
        if registry:
            members["serviceRegistries"] = [{"registryArn": registry}]
        self.put("service.json", {
            "serviceName": self.name, "desiredCount": count, "networkConfiguration": NETWORK,
            "deploymentController": {"type": controller}, **members})

    def pipeline(self, *stages):
        """(kind, options) each; images never change on the process runtime."""
        self.spec["planner"] = {"alwaysUsePipeline": True}
        self.spec["pipeline"] = {"stages": [
            {"name": kind, "with": options} for kind, options in stages]}

    def write(self):
        self.put("app.pipecd.yaml", {"apiVersion": "pipecd.dev/v1beta1", "kind": "ECSApp",
                                     "spec": self.spec})

    def command(self, *words):
        return [slipway_program(), *words, "--server", self.server.url, "--state",
                self.server.state]

    def run(self, *words, deadline=3 * DEADLINE):
        """The command as it has ended: returncode, stdout, stderr."""
        return subprocess.run(self.command(*words), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=deadline, check=False)

    def sync(self, *words):
        """Deploys the folder and waits; the deployment as it has ended."""
        self.write()
        result = self.run("app", "sync", "--dir", self.folder, "--watch", "-o", "json", *words)
        assert result.stdout, result.stderr
        return json.loads(result.stdout)

    def start(self, *words):
        """Queues a deployment; its number."""
        self.write()
        result = self.run("app", "sync", "--dir", self.folder, "-o", "json", *words)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)["number"]

    def wait(self, number):
        result = self.run("deployment", "watch", self.name, str(number), "-o", "json")
        assert result.stdout, result.stderr
        return json.loads(result.stdout)

    def show(self, number):
        """A deployment as it is now."""
        result = ask(self.server, "GET", f"/v1/applications/{self.name}/deployments/{number}")
        assert result.status == 200, result.body
        return result.json

    def approve(self):
        result = self.run("deployment", "approve", self.name)
        assert result.returncode == 0, result.stderr

    def log(self, number="latest"):
        result = self.run("deployment", "logs", self.name, str(number))
        assert result.returncode == 0, result.stderr
        return result.stdout
