"""Flows for scenario tests: a head and the applications of its graph, whose pipelines are scripts unless a test says so."""
import json
import os

from applications import Application
from conftest import wait_until
from rest_requests import ask


class Flow:
    """A head and the applications of its graph, in one folder for each."""

    def __init__(self, server, folder, prefix):
        self.server, self.folder, self.prefix = server, folder, prefix
        self.apps = {}
        self.head = self.add("head", "true")

    def name(self, short):
        return f"{self.prefix}-{short}"

    def add(self, short, script, **spec):
        app = Application(self.server, self.folder / short, self.name(short))
        app.kind, app.is_flow_member = "KubernetesApp", True
        app.spec = {"name": app.name, "pipeline": {"stages": [
            {"name": "SCRIPT_RUN", "with": {"run": script}}]}, **spec}
        self.apps[short] = app
        return app

    def add_ecs(self, short, count=None, **container):
        """A service with that count, or a task that runs once."""
        app = Application(self.server, self.folder / short, self.name(short))
        app.is_flow_member = False
        app.task([{"name": "main", "image": "host", "memory": 32, "essential": True,
                   "command": ["sleep", "1000"], **container}], mode="bridge")
        app.spec["input"]["launchType"] = "EC2"
        if count is not None:
            app.service(count, controller="ECS")
            with open(os.path.join(app.folder, "service.json"), encoding="utf-8") as file:
                service = json.load(file)
            del service["networkConfiguration"]
            app.put("service.json", {**service, "launchType": "EC2"})
        self.apps[short] = app
        return app

    def graph(self, *nodes, conditions=None, **options):
        """(name, depends, options) each."""
        graph = []
        for short, *rest in nodes:
            node = {"appName": self.name(short)}
            if rest and rest[0]:
                node["depends"] = [self.name(other) for other in rest[0]]
            if len(rest) > 1:
                node.update(rest[1])
            graph.append(node)
        flow = {"graph": graph, **options}
        if conditions is not None:
            flow["conditions"] = conditions
        self.head.spec["postSync"] = {"flow": flow}

    def write(self):
        for app in self.apps.values():
            if not app.is_flow_member:
                app.write()
                continue
            app.put("app.pipecd.yaml", {"apiVersion": "pipecd.dev/v1beta1", "kind": app.kind,
                                        "spec": app.spec})

    def sync(self, *words, files=True):
        """Queues a deployment of the head, with the files of the graph's applications; its number."""
        self.write()
        if files:
            words = ["--flow-dir", str(self.folder), *words]
        result = self.head.run("app", "sync", "--dir", self.head.folder, "-o", "json", *words)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)["number"]

    def get(self, flow=None):
        result = ask(self.server, "GET", f"/v1/flows/{flow or self.head.name}")
        assert result.status == 200, result.body
        return result.json

    def watch(self, flow=None):
        """The flow as it has ended."""
        result = self.head.run("flow", "watch", flow or self.head.name, "-o", "json")
        assert result.stdout, result.stderr
        return json.loads(result.stdout)

    def run(self, *words):
        """A sync of the head, until its flow has ended."""
        number = self.sync(*words)
        deployment = self.head.wait(number)
        assert deployment["state"] == "SUCCESS", deployment
        return self.watch(deployment["startsFlow"])

    def nodes(self, flow):
        return {node["application"][len(self.prefix) + 1:]: node for node in flow["nodes"]}

    def states(self, flow):
        return {name: node["state"] for name, node in self.nodes(flow).items()}

    def deployments(self, short):
        """Those that did something, in their order."""
        result = ask(self.server, "GET", f"/v1/applications/{self.name(short)}/deployments")
        if result.status == 404:
            return []
        return [item for item in reversed(result.json["deployments"])
                if item["trigger"] != "PLAN"]

    def wait_node(self, short, state):
        def condition():
            flow = self.get()
            node = self.nodes(flow)[short]
            return node if node["state"] == state else None

        return wait_until(condition, f"node {short} is {state}")


def note(tmp_path, word):
    """A script that notes that it ran; the notes of all are in one file, in their order."""
    return f"echo {word} >> {tmp_path}/notes"


def notes(tmp_path):
    path = tmp_path / "notes"
    return path.read_text().split() if os.path.exists(path) else []


def prefix_of(tmp_path):
    """The names of a test's applications begin with it, so that tests share servers."""
    return "f" + "".join(c for c in tmp_path.name[-14:].lower() if c.isalnum())
