"""Flows: the structure of graphs, conditions, opt-out, failures and retry, with applications of generic stages only."""
import json
import os
import pty
import subprocess

import pytest
from conftest import wait_until
from flows import Flow, note, notes, prefix_of
from rest_requests import ask

SERVER_ARGUMENTS = ["--pipeline-scripts"]


@pytest.fixture(name="flow")
def new_flow(slipway, tmp_path):
    return Flow(slipway, tmp_path, prefix_of(tmp_path))


# ---- structure ----

def test_sequential(flow, tmp_path):
    """Scenario 51: b starts after the success of a; the head shows a stage POST_SYNC with the flow."""
    flow.add("a", f"{note(tmp_path, 'a-begins')}; sleep 0.3; {note(tmp_path, 'a-ends')}")
    flow.add("b", note(tmp_path, "b"))
    flow.graph(("a",), ("b", ["a"]))
    ended = flow.run()
    assert ended["state"] == "SUCCESS" and set(flow.states(ended).values()) == {"SUCCESS"}, ended
    assert notes(tmp_path) == ["a-begins", "a-ends", "b"]
    head = flow.head.show("latest")
    stage = head["stages"][-2]
    assert (stage["kind"], stage["state"]) == ("POST_SYNC", "SUCCESS"), head
    assert stage["details"]["flow"] == ended["id"] == head["startsFlow"] == head["deploymentId"]
    assert head["endedAt"] <= ended["startedAt"]
    deployment = flow.deployments("a")[-1]
    assert deployment["trigger"] == "FLOW" and deployment["flow"] == ended["id"]
    # A kind without a live state counts when its deployment has succeeded, and says so.
    assert "no live state" in flow.nodes(ended)["a"]["reason"]
    shown = flow.head.run("flow", "show", flow.head.name)
    assert "└─ " in shown.stdout and flow.name("b") in shown.stdout, shown.stdout
    dot = flow.head.run("flow", "show", flow.head.name, "--dot").stdout
    assert f'"{flow.name("a")}" -> "{flow.name("b")}";' in dot
    assert ended["id"] in flow.head.run("flow", "list", flow.head.name).stdout


def test_parallel(flow, tmp_path):
    """Scenario 52: all three start before any finishes."""
    wait = f"until test $(grep -c begins {tmp_path}/notes) = 3; do sleep 0.05; done"
    for name in "abc":
        flow.add(name, f"{note(tmp_path, name + '-begins')}; {wait}; {note(tmp_path, name)}")
    flow.graph(("a",), ("b",), ("c",))
    assert flow.run()["state"] == "SUCCESS"
    assert all("begins" in word for word in notes(tmp_path)[:3])


def test_diamond(flow, tmp_path):
    """Scenario 53: d starts once, after both."""
    for name in "abcd":
        flow.add(name, note(tmp_path, name))
    flow.graph(("d", ["b", "c"]), ("b", ["a"]), ("c", ["a"]), ("a",))
    assert flow.run()["state"] == "SUCCESS"
    order = notes(tmp_path)
    assert order[0] == "a" and order[3] == "d" and sorted(order) == list("abcd")


# ---- bad graphs ----

def test_cycle(flow):
    """Scenario 54: no deployment is made."""
    flow.add("a", "true")
    flow.add("b", "true")
    flow.graph(("a", ["b"]), ("b", ["a"]))
    flow.write()
    refused = flow.head.run("app", "sync", "--dir", flow.head.folder)
    cycle = f"cycle: {flow.name('a')} -> {flow.name('b')} -> {flow.name('a')}"
    assert refused.returncode == 1 and cycle in refused.stderr, refused.stderr
    with open(os.path.join(flow.head.folder, "app.pipecd.yaml"), encoding="utf-8") as file:
        content = file.read()
    answer = ask(flow.server, "POST", f"/v1/applications/{flow.head.name}/deployments", json.dumps(
        {"files": [{"path": "app.pipecd.yaml", "content": content}]}))
    assert answer.status == 400 and cycle in answer.text, answer.text
    for short in ("head", "a", "b"):
        assert flow.deployments(short) == []


BAD = [
    ([("a", ["a"])], "depends on itself"),
    ([("a",), ("a",)], "twice"),
    ([("a", ["x"])], "which is not in the graph"),
    ([("head",)], "is the head of this flow"),
    ([], "is empty"),
]


@pytest.mark.parametrize("graph, message", BAD, ids=[message[-10:] for _, message in BAD])
def test_bad_graphs(flow, graph, message):
    """Scenario 55: each with its own message and its line."""
    flow.add("a", "true")
    flow.graph(*graph)
    flow.write()
    refused = flow.head.run("app", "sync", "--dir", flow.head.folder)
    assert refused.returncode == 1 and message in refused.stderr, refused.stderr
    assert "app.pipecd.yaml:" in refused.stderr


def test_an_unknown_application(flow):
    """Scenario 55: known when the flow is planned, also by `app plan`."""
    flow.graph(("missing",))
    flow.write()
    plan = flow.head.run("app", "plan", "--dir", flow.head.folder)
    assert plan.returncode == 1 and "does not exist in this account" in plan.stderr, plan.stderr
    number = flow.sync()
    ended = flow.head.wait(number)
    assert ended["state"] == "FAILURE", ended
    assert f'application "{flow.name("missing")}" does not exist' in ended["reason"]
    assert "app.pipecd.yaml:" in ended["reason"]
    assert ask(flow.server, "GET", f"/v1/flows/{ended['deploymentId']}").status == 404


def test_chain(flow, tmp_path):
    """Scenario 57: blocks in order; applications take part in chains only if they say so."""
    on = {"trigger": {"onChain": {"disabled": False}}, "labels": {"env": flow.prefix}}
    flow.add("a", note(tmp_path, "a"), trigger={"onChain": {"disabled": False}})
    flow.add("b", note(tmp_path, "b"), **on)
    flow.add("c", note(tmp_path, "c"), **on)
    flow.head.spec["postSync"] = {"chain": {"applications": [
        {"name": flow.name("a")}, {"kind": "KubernetesApp", "labels": {"env": flow.prefix}}]}}
    assert flow.run()["state"] == "SUCCESS"
    assert notes(tmp_path)[0] == "a" and sorted(notes(tmp_path)) == list("abc")
    flow.head.spec["postSync"]["chain"]["applications"].append({"name": "nothing-has-this-name"})
    number = flow.sync()
    ended = flow.head.wait(number)
    assert ended["state"] == "FAILURE" and "no application matches block 3" in ended["reason"]


# ---- conditions and opt-out ----

def test_commit_prefix(flow, tmp_path):
    """Scenario 58, and the options that decide without conditions."""
    flow.add("a", note(tmp_path, "a"))
    flow.graph(("a",), conditions=[{"commitPrefix": "Release"}, {"commitPrefix": "Deploy all"}])
    for words, starts in ((("--message", "Release 1.2"), True), (("--message", "fix typo"), False),
                          (("--message", "release 1.2"), False), (("--flow",), True),
                          (("--message", "Release 1.3", "--no-flow"), False)):
        deployment = flow.head.wait(flow.sync(*words))
        assert deployment["state"] == "SUCCESS", deployment
        assert ("startsFlow" in deployment) == starts, words
        kinds = [stage["kind"] for stage in deployment["stages"]]
        assert ("POST_SYNC" in kinds) == starts, words
        if starts:
            assert flow.watch(deployment["startsFlow"])["state"] == "SUCCESS"
    assert notes(tmp_path) == ["a", "a"]


def test_disabled(flow, tmp_path):
    """Scenario 59: b is DISABLED, c BLOCKED because of it, the rest runs."""
    flow.add("a", note(tmp_path, "a"))
    flow.add("b", note(tmp_path, "b"), trigger={"onFlow": {"disable": True}})
    flow.add("c", note(tmp_path, "c"))
    flow.graph(("a",), ("b",), ("c", ["b"]))
    ended = flow.run()
    assert ended["state"] == "FAILURE"
    assert flow.states(ended) == {"a": "SUCCESS", "b": "DISABLED", "c": "BLOCKED"}
    node = flow.nodes(ended)["c"]
    assert node["cause"] == flow.name("b") and "b is disabled for flows" in node["reason"], node
    assert notes(tmp_path) == ["a"]


@pytest.mark.parametrize("how", ["fails", "cancelled"])
def test_the_head_does_not_succeed(flow, tmp_path, how):
    """Scenario 60: no node starts."""
    flow.add("a", note(tmp_path, "a"))
    flow.graph(("a",))
    flow.head.spec["pipeline"]["stages"] = [
        {"name": "SCRIPT_RUN", "with": {"run": "exit 1"}} if how == "fails" else
        {"name": "WAIT", "with": {"duration": "1h"}}]
    number = flow.sync()
    if how == "cancelled":
        wait_until(lambda: flow.head.show(number)["stages"], "it is planned")
        assert flow.get()["state"] == "PENDING"
        assert flow.head.run("deployment", "cancel", flow.head.name).returncode == 0
    head = flow.head.wait(number)
    assert head["state"] == ("CANCELLED" if how == "cancelled" else "FAILURE"), head
    ended = flow.watch(head["startsFlow"])
    assert ended["state"] == "CANCELLED" and flow.states(ended) == {"a": "CANCELLED"}
    assert "head's deployment" in flow.nodes(ended)["a"]["reason"]
    assert flow.deployments("a") == [] and notes(tmp_path) == []


# ---- failure and retry ----

def test_a_failure_and_its_retry(flow, tmp_path):
    """Scenarios 61 and 63: a failed node blocks its dependents only; a retry runs what is left, at the same commit."""
    flow.add("a", f"{note(tmp_path, 'a')}; test -e {tmp_path}/go")
    flow.add("b", note(tmp_path, "b"))
    flow.add("c", note(tmp_path, "c"))
    flow.graph(("a",), ("b", ["a"]), ("c",))
    ended = flow.run("--commit", "abc123")
    assert ended["state"] == "FAILURE", ended
    assert flow.states(ended) == {"a": "FAILURE", "b": "BLOCKED", "c": "SUCCESS"}
    nodes = flow.nodes(ended)
    assert nodes["b"]["cause"] == flow.name("a") and "exit code 1" in nodes["a"]["detail"], nodes
    (tmp_path / "go").touch()
    assert flow.head.run("flow", "retry", flow.head.name).returncode == 0
    wait_until(lambda: flow.get()["state"] == "SUCCESS", "the retry succeeds")
    nodes = flow.nodes(flow.get())
    assert {node["commit"] for node in nodes.values()} == {"abc123"}
    assert "detail" not in nodes["a"] and nodes["a"]["run"] == 2, nodes["a"]
    assert len(flow.deployments("c")) == 1 and len(flow.deployments("b")) == 1
    assert [item["state"] for item in flow.deployments("a")] == ["FAILURE", "SUCCESS"]
    assert {item["commit"] for item in flow.deployments("a")} == {"abc123"}
    again = flow.head.run("flow", "retry", flow.head.name)
    assert again.returncode == 1 and "nothing to retry" in again.stderr, again.stderr


def test_cancel(flow, tmp_path):
    flow.add("a", f"{note(tmp_path, 'a')}; sleep 1000")
    flow.add("b", note(tmp_path, "b"))
    flow.graph(("a",), ("b", ["a"]))
    flow.head.wait(flow.sync())
    wait_until(lambda: notes(tmp_path) == ["a"], "a runs")
    assert flow.head.run("flow", "cancel", flow.head.name).returncode == 0
    ended = flow.watch()
    assert ended["state"] == "CANCELLED", ended
    assert flow.states(ended) == {"a": "CANCELLED", "b": "CANCELLED"}
    assert flow.deployments("a")[-1]["state"] == "CANCELLED"
    assert flow.head.run("flow", "cancel", flow.head.name).returncode == 1


# ---- many nodes, and the terminal ----

def test_many_nodes(flow):
    """All nodes of a large flow change in one transaction; clients read them page by page."""
    count = 1100
    for number in range(count):
        flow.add(str(number), "true")
    flow.head.spec["pipeline"]["stages"] = [{"name": "WAIT", "with": {"duration": "1h"}}]
    flow.graph(*((str(number), [str(number // 2)] if number else []) for number in range(count)))
    number = flow.sync()
    wait_until(lambda: flow.head.show(number)["stages"], "it is planned")
    first = flow.get()
    assert first["nodeCount"] == count and len(first["nodes"]) == 1000 and first["nextToken"]
    assert flow.head.run("flow", "cancel", flow.head.name).returncode == 0
    ended = flow.watch()
    assert ended["state"] == "CANCELLED" and len(ended["nodes"]) == count
    assert set(flow.states(ended).values()) == {"CANCELLED"}
    # The head continues without its flow.
    assert flow.head.run("deployment", "skip", flow.head.name).returncode == 0
    head = flow.head.wait(number)
    assert head["state"] == "SUCCESS"
    assert [stage["state"] for stage in head["stages"]][:2] == ["SKIPPED", "SKIPPED"], head


def test_watch_on_a_terminal(flow, tmp_path):
    """The graph is drawn again in place: the cursor goes up by the lines that were drawn."""
    flow.add("a", f"until test -e {tmp_path}/go; do sleep 0.05; done")
    flow.add("b", "true")
    flow.graph(("a",), ("b", ["a"]))
    flow.head.wait(flow.sync())
    flow.wait_node("a", "RUNNING")
    primary, secondary = pty.openpty()
    with subprocess.Popen(flow.head.command("flow", "watch", flow.head.name), stdin=secondary,
                          stdout=secondary, stderr=secondary) as process:
        os.close(secondary)
        text = b""
        while text.count(b"\x1b[3A") < 2:
            text += os.read(primary, 65536)
        assert "└─ ".encode() in text and b"RUNNING" in text and b"PENDING" in text
        (tmp_path / "go").touch()
        try:
            while data := os.read(primary, 65536):
                text += data
        except OSError:
            pass  # the other side is closed
        assert process.wait() == 0
    os.close(primary)
    last = text.split(b"\x1b[J")[-1]
    assert last.count(b"SUCCESS") == 3, last
