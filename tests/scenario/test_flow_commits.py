"""Flows of applications from Git: which commit each node deploys."""
import tempfile

import pytest
from conftest import wait_until
from flows import prefix_of
from git_repositories import Repository, git
from rest_requests import ask
from test_app_git import Applications

SERVER_ARGUMENTS = ["--repositories", tempfile.gettempdir(), "--poll-interval", "200ms",
                    "--runtime", "none"]
BY_HAND = {"trigger": {"onCommit": {"disabled": True}}}


class GitFlow:
    """A head that every commit deploys, and applications that only the flow does."""

    def __init__(self, apps, folder, prefix):
        self.apps, self.folder, self.prefix = apps, folder, prefix
        self.repository = Repository(folder / "one")

    def name(self, short):
        return f"{self.prefix}-{short}"

    def head(self, *graph, **spec):
        nodes = [{"appName": self.name(short), "depends": [self.name(each) for each in depends],
                  **options} for short, depends, options in graph]
        self.repository.application("head", self.name("head"),
                                    {"postSync": {"flow": {"graph": nodes}}, **spec})

    def node(self, short, repository=None, version="1", **spec):
        (repository or self.repository).application(short, self.name(short), {
            **BY_HAND, "description": version, **spec})

    def add(self, *shorts, repository=None):
        for short in shorts:
            self.apps.add(self.name(short), "--repo", (repository or self.repository).url, "--path",
                          short)
            self.apps.wait_state(self.name(short), "VALID")

    def get(self, flow=None):
        answer = ask(self.apps.server, "GET", f"/v1/flows/{flow or self.name('head')}")
        return answer.json if answer.status == 200 else None

    def nodes(self, flow=None):
        return {node["application"][len(self.prefix) + 1:]: node for node in self.get(flow)["nodes"]}

    def wait(self, commit, state="SUCCESS"):
        """The flow of a commit of the head, when it is in that state."""
        def found():
            flow = self.get()
            return flow if flow and flow["commit"] == commit and flow["state"] == state else None

        return wait_until(found, f"the flow of {commit} is {state}")

    def deployed(self, short):
        return [(item["commit"], item["state"]) for item in self.apps.deployments(self.name(short))
                if item["trigger"] != "PLAN"]


@pytest.fixture(name="flow")
def new_flow(slipway, tmp_path):
    return GitFlow(Applications(slipway), tmp_path, prefix_of(tmp_path))


def test_a_cycle(flow):
    """Scenario 54: a head from Git is INVALID_CONFIG, with the cycle and its line, and nothing is deployed."""
    flow.head(("a", ["b"], {}), ("b", ["a"], {}))
    flow.node("a")
    flow.node("b")
    flow.repository.push("First")
    flow.add("a", "b")
    flow.apps.add(flow.name("head"), "--repo", flow.repository.url, "--path", "head")
    problem = flow.apps.wait_state(flow.name("head"), "INVALID_CONFIG")["problem"]
    assert f": cycle: {flow.name('a')} -> {flow.name('b')} -> {flow.name('a')}" in problem, problem
    assert "app.pipecd.yaml:" in problem, problem
    assert flow.get() is None
    assert flow.deployed("head") == flow.deployed("a") == flow.deployed("b") == []


def test_the_commit_of_the_head(flow):
    """Scenario 67: a push while the head deploys does not change what the nodes deploy."""
    wait = {"pipeline": {"stages": [{"name": "WAIT_APPROVAL"}]}}
    flow.head(("a", [], {}), ("b", ["a"], {}), **wait)
    flow.node("a")
    flow.node("b")
    first = flow.repository.push("First")
    flow.add("a", "b", "head")
    flow.apps.wait(flow.name("head"), first, "RUNNING")
    wait_until(lambda: flow.get() and flow.get()["state"] == "PENDING", "the flow is there")
    flow.node("a", version="2")
    second = flow.repository.push("Second")
    flow.apps.wait_seen(flow.name("a"), second)
    approve = flow.apps.run("deployment", "approve", flow.name("head"), "1")
    assert approve.returncode == 0, approve.stderr
    ended = flow.wait(first)
    assert flow.deployed("a") == flow.deployed("b") == [(first, "SUCCESS")]
    node = flow.nodes(ended["id"])["a"]
    assert (node["commit"], node["commitSource"]) == (first, "with the head")
    assert ended["trigger"] == "COMMIT" and node["repository"] == flow.repository.url


def test_another_repository(flow):
    """Scenario 68: c deploys the head of its branch when the flow was created, not what is pushed later."""
    other = Repository(flow.folder / "two")
    flow.node("c", other)
    before = other.push("P")
    flow.add("c", repository=other)
    flow.head(("c", [], {}), pipeline={"stages": [{"name": "WAIT_APPROVAL"}]})
    commit = flow.repository.push("First")
    flow.add("head")
    flow.apps.wait(flow.name("head"), commit, "RUNNING")
    wait_until(lambda: flow.get() and flow.get()["state"] == "PENDING", "the flow is there")
    flow.node("c", other, "2")
    later = other.push("Q")
    flow.apps.wait_seen(flow.name("c"), later)
    assert flow.apps.run("deployment", "approve", flow.name("head"), "1").returncode == 0
    flow.wait(commit)
    assert flow.deployed("c") == [(before, "SUCCESS")]
    node = flow.nodes()["c"]
    assert node["commit"] == before and node["commitSource"] == "head of branch at flow creation"
    shown = flow.apps.run("flow", "show", flow.name("head")).stdout
    assert before[:12] in shown and "head of branch at flow creation" in shown


def test_trailers(flow):
    """Flow-Commit names the commit of an application or of a repository; a tag is resolved when the flow is created."""
    other = Repository(flow.folder / "two")
    flow.node("c", other)
    flow.node("d", other)
    old = other.push("Old")
    other.push("Old", branch="main")
    git(other.clone, "tag", "v1", old)
    git(other.clone, "push", "-q", "origin", "v1")
    flow.node("c", other, "2")
    flow.node("d", other, "2")
    new = other.push("New")
    flow.add("c", "d", repository=other)
    flow.apps.wait_seen(flow.name("c"), new)
    flow.head(("c", [], {}), ("d", [], {}))
    commit = flow.repository.push(
        f"Release\n\nFlow-Commit: {flow.name('c')}=v1\nFlow-Commit: {flow.name('d')}={new}")
    flow.add("head")
    flow.wait(commit)
    assert flow.deployed("c") == [(old, "SUCCESS")] and flow.deployed("d") == [(new, "SUCCESS")]
    assert "trailer" in flow.nodes()["c"]["commitSource"]


def test_unchanged(flow):
    """Scenario 70: a node that runs its commit already is SKIPPED, and its dependents run."""
    other = Repository(flow.folder / "two")
    flow.node("c", other)
    there = other.push("P")
    flow.add("c", repository=other)
    assert flow.apps.run("app", "sync", flow.name("c"), "--watch").returncode == 0
    flow.head(("c", [], {}), ("d", ["c"], {}))
    flow.node("d")
    commit = flow.repository.push("First")
    flow.add("d", "head")
    flow.wait(commit)
    assert flow.deployed("c") == [(there, "SUCCESS")] and flow.deployed("d") == [(commit, "SUCCESS")]
    nodes = flow.nodes()
    assert (nodes["c"]["state"], nodes["c"]["reason"]) == ("SKIPPED", "unchanged")
    assert nodes["d"]["state"] == "SUCCESS"


def test_disabled_before_its_first_deployment(flow):
    """Scenario 59, known from the repository."""
    flow.head(("a", [], {}))
    flow.node("a", trigger={"onCommit": {"disabled": True}, "onFlow": {"disable": True}})
    commit = flow.repository.push("First")
    flow.add("a", "head")
    flow.wait(commit, "FAILURE")
    assert flow.nodes()["a"]["state"] == "DISABLED" and flow.deployed("a") == []


def test_latest(flow):
    """`commit: latest`: the head of the branch when the node is planned."""
    other = Repository(flow.folder / "two")
    flow.node("c", other)
    other.push("P")
    flow.add("c", repository=other)
    flow.head(("c", [], {"commit": "latest"}), pipeline={"stages": [{"name": "WAIT_APPROVAL"}]})
    commit = flow.repository.push("First")
    flow.add("head")
    wait_until(lambda: flow.get() and flow.get()["state"] == "PENDING", "the flow is there")
    flow.node("c", other, "2")
    later = other.push("Q")
    flow.apps.wait_seen(flow.name("c"), later)
    assert flow.apps.run("deployment", "approve", flow.name("head"), "1").returncode == 0
    flow.wait(commit)
    assert flow.deployed("c") == [(later, "SUCCESS")]
