"""Flows whose nodes need approval: the plan that is approved, the users, and what makes it void."""
import json

import pytest
from conftest import wait_until
from flows import Flow, note, notes, prefix_of
from rest_requests import ask

SERVER_ARGUMENTS = ["--pipeline-scripts"]
APPROVAL = {"requireApproval": True}


@pytest.fixture(name="flow")
def new_flow(slipway, tmp_path):
    return Flow(slipway, tmp_path, prefix_of(tmp_path))


def vote(flow, short, verb="approve", key=None, **body):
    return ask(flow.server, "POST", f"/v1/flows/{flow.head.name}/nodes/{flow.name(short)}/{verb}",
               json.dumps(body), key=key)


def test_quick_sync_waits(flow, tmp_path):
    """Scenario 64: the plan is WAIT_APPROVAL, ECS_SYNC; nothing is called before."""
    flow.add_ecs("a", command=["sh", "-c", note(tmp_path, "a")])
    flow.add("b", note(tmp_path, "b"))
    flow.graph(("a", [], APPROVAL), ("b", ["a"]))
    flow.head.wait(flow.sync())
    node = flow.wait_node("a", "WAITING_APPROVAL")
    assert [stage["kind"] for stage in node["plan"]["stages"]][:2] == ["WAIT_APPROVAL", "ECS_SYNC"]
    assert node["deadlineAt"] > node["since"] and len(node["digest"]) == 64
    ecs = flow.server.boto("ecs")
    assert not ecs.list_task_definitions(familyPrefix=flow.name("a"))["taskDefinitionArns"]
    assert flow.deployments("a") == []
    assert "Plan of" in flow.head.run("flow", "show", flow.head.name).stdout
    approved = flow.head.run("flow", "approve", flow.head.name, flow.name("a"), "--comment", "go")
    assert approved.returncode == 0, approved.stderr
    assert "quick sync" in approved.stdout and "WAIT_APPROVAL ECS_SYNC" in approved.stdout
    ended = flow.watch()
    assert ended["state"] == "SUCCESS", ended
    assert sorted(notes(tmp_path)) == ["a", "b"]
    kept = flow.nodes(ended)["a"]["approval"]["votes"]
    assert [(item["user"], item["comment"], item["approves"]) for item in kept] == [
        ("admin", "go", True)] and kept[0]["at"] > 0
    stage = flow.deployments("a")[-1]["stages"][0]
    assert (stage["kind"], stage["state"]) == ("WAIT_APPROVAL", "SUCCESS")
    assert "approved by admin" in stage["reason"] and ended["id"] in stage["reason"]
    assert vote(flow, "a").status == 409


def test_reject(flow, tmp_path):
    """Scenario 64: a is CANCELLED, its dependents are BLOCKED."""
    flow.add("a", note(tmp_path, "a"))
    flow.add("b", note(tmp_path, "b"))
    flow.graph(("a", [], APPROVAL), ("b", ["a"]))
    flow.head.wait(flow.sync())
    flow.wait_node("a", "WAITING_APPROVAL")
    assert flow.head.run("flow", "reject", flow.head.name, flow.name("a"), "--comment",
                         "not now").returncode == 0
    ended = flow.watch()
    assert ended["state"] == "CANCELLED", ended
    assert flow.states(ended) == {"a": "CANCELLED", "b": "BLOCKED"}
    assert "rejected by admin: not now" in flow.nodes(ended)["a"]["detail"]
    assert flow.nodes(ended)["b"]["cause"] == flow.name("a")
    assert notes(tmp_path) == [] and flow.deployments("a") == []
    # A retry asks again.
    assert flow.head.run("flow", "retry", flow.head.name).returncode == 0
    flow.wait_node("a", "WAITING_APPROVAL")
    assert vote(flow, "a").status == 200
    wait_until(lambda: flow.get()["state"] == "SUCCESS", "the retry succeeds")
    assert notes(tmp_path) == ["a", "b"]


def test_another_plan(flow, tmp_path):
    """Scenario 65: with `commit: latest` a new version makes the approval void."""
    flow.add("a", note(tmp_path, "one"))
    flow.graph(("a", [], {**APPROVAL, "commit": "latest"}))
    flow.write()
    app = flow.apps["a"]
    app.write = flow.write

    def deploy(commit):
        flow.write()
        result = app.run("app", "sync", "--dir", app.folder, "--commit", commit, "--watch")
        assert result.returncode == 0, result.stderr

    deploy("c1")
    flow.head.wait(flow.sync(files=False))
    before = flow.wait_node("a", "WAITING_APPROVAL")
    assert before["commit"] == "c1" and "when the node was planned" in before["commitSource"]
    app.spec["pipeline"]["stages"][0]["with"]["run"] = note(tmp_path, "two")
    deploy("c2")
    wait_until(lambda: flow.nodes(flow.get())["a"].get("commit") == "c2" and
               flow.nodes(flow.get())["a"]["digest"] != before["digest"], "it is planned again")
    refused = vote(flow, "a", digest=before["digest"])
    assert refused.status == 409 and "plan has changed" in refused.text, refused.text
    now = flow.wait_node("a", "WAITING_APPROVAL")
    assert now["approval"]["votes"] == [] and now["approval"]["digest"] == now["digest"]
    assert notes(tmp_path) == ["one", "two"]
    assert vote(flow, "a", digest=now["digest"]).status == 200
    ended = flow.watch()
    assert ended["state"] == "SUCCESS", ended
    assert notes(tmp_path) == ["one", "two", "two"]
    assert flow.deployments("a")[-1]["commit"] == "c2"


def test_a_plan_that_changes_after_its_approval(flow):
    """Scenario 65: the deployment is planned again when its turn comes, and another plan is not carried out."""
    flow.add_ecs("a", count=1)
    app = flow.apps["a"]
    first = app.sync("--commit", "c1")
    assert first["state"] == "SUCCESS", first
    app.task([{"name": "main", "image": "host", "memory": 48, "command": ["sleep", "1000"]}],
             mode="bridge")
    flow.graph(("a", [], APPROVAL))
    flow.head.wait(flow.sync("--commit", "c2"))
    before = flow.wait_node("a", "WAITING_APPROVAL")
    assert any("memory" in change["path"] for change in before["plan"]["changes"]), before
    # A deployment by a user is before that of the flow, and changes what it starts from.
    app.spec["pipeline"] = {"stages": [{"name": "WAIT", "with": {"duration": "1h"}},
                                       {"name": "ECS_SYNC"}]}
    app.spec["planner"] = {"alwaysUsePipeline": True}
    app.task([{"name": "main", "image": "host", "memory": 64, "command": ["sleep", "1000"]}],
             mode="bridge")
    number = app.start("--commit", "c3")
    wait_until(lambda: app.show(number)["state"] == "RUNNING" and app.show(number)["stages"],
               "it waits")
    assert vote(flow, "a", digest=before["digest"]).status == 200
    flow.wait_node("a", "QUEUED")
    wait_until(lambda: len(flow.deployments("a")) == 3, "the flow's deployment is queued")
    assert app.run("deployment", "skip", app.name, str(number)).returncode == 0
    assert app.wait(number)["state"] == "SUCCESS"
    after = wait_until(lambda: (lambda node: node if node["state"] == "WAITING_APPROVAL" and
                                node["digest"] != before["digest"] else None)(
                                    flow.nodes(flow.get())["a"]), "it asks again")
    stale = flow.deployments("a")[-1]
    assert stale["state"] == "FAILURE" and "not the one that was approved" in stale["reason"]
    approved = flow.head.run("flow", "approve", flow.head.name, flow.name("a"))
    assert "memory: 64 -> 48" in approved.stdout and after["digest"] != before["digest"], approved
    ended = flow.watch()
    assert ended["state"] == "SUCCESS", ended
    assert flow.deployments("a")[-1]["commit"] == "c2"


def test_the_deadline(flow, tmp_path):
    flow.add("a", note(tmp_path, "a"))
    flow.graph(("a", [], APPROVAL), approvalTimeout="1s")
    flow.head.wait(flow.sync())
    ended = flow.watch()
    assert ended["state"] == "FAILURE" and flow.states(ended) == {"a": "FAILURE"}, ended
    assert "approval timed out" in flow.nodes(ended)["a"]["reason"]
