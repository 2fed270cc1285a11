"""Flows whose nodes need approval: the plan that is approved, the users, and what makes it void."""
import json
import os

import pytest
from applications import user
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


def test_approvers(flow, tmp_path):
    """Only the listed users approve, each counts once, and all of them are kept."""
    keys = {name: user(flow.server, flow.name(name)) for name in ("u1", "u2", "u3")}
    flow.add("a", note(tmp_path, "a"))
    flow.graph(("a", [], {**APPROVAL, "minApproverNum": 2,
                          "approvers": [flow.name("u1"), flow.name("u2")]}))
    flow.head.wait(flow.sync())
    waits = flow.wait_node("a", "WAITING_APPROVAL")["approval"]
    assert waits["approvers"] == [flow.name("u1"), flow.name("u2")] and waits["minimum"] == 2
    for verb in "approve", "reject":
        refused = vote(flow, "a", verb, key=keys["u3"])
        assert refused.status == 403 and "not an approver" in refused.text, refused.text
    assert vote(flow, "a", key=keys["u1"], comment="first").status == 200
    assert vote(flow, "a", key=keys["u1"], comment="again").status == 200
    now = flow.wait_node("a", "WAITING_APPROVAL")["approval"]
    assert [item["user"] for item in now["votes"]] == [flow.name("u1")]
    shown = flow.head.run("flow", "show", flow.head.name).stdout
    assert (f"{flow.name('a')} waits for approval: 1 of 2; by {flow.name('u1')}, "
            f"{flow.name('u2')}\n") in shown, shown
    assert notes(tmp_path) == []
    assert vote(flow, "a", key=keys["u2"], comment="second").status == 200
    ended = flow.watch()
    assert ended["state"] == "SUCCESS" and notes(tmp_path) == ["a"], ended
    kept = flow.nodes(ended)["a"]["approval"]
    assert [(item["user"], item["comment"]) for item in kept["votes"]] == [
        (flow.name("u1"), "first"), (flow.name("u2"), "second")]
    assert kept["minimum"] == 2 and len(kept["approvers"]) == 2
    reason = flow.deployments("a")[-1]["stages"][0]["reason"]
    assert f"approved by {flow.name('u1')}, {flow.name('u2')}" in reason, reason


def test_the_requester_may_not_approve(flow, tmp_path):
    """The user that started the flow may reject it, but another one has to approve."""
    other = user(flow.server, flow.name("u1"))
    flow.add("a", note(tmp_path, "a"))
    flow.graph(("a", [], {**APPROVAL, "excludeRequester": True}))
    flow.head.wait(flow.sync())
    waits = flow.wait_node("a", "WAITING_APPROVAL")["approval"]
    assert waits["requester"] == "admin" and waits["refusesRequester"], waits
    refused = vote(flow, "a")
    assert refused.status == 403 and "may not approve" in refused.text, refused.text
    shown = flow.head.run("flow", "show", flow.head.name).stdout
    assert "0 of 1; not by admin, the user of the flow's head\n" in shown, shown
    flow.wait_node("a", "WAITING_APPROVAL")
    assert vote(flow, "a", key=other).status == 200
    ended = flow.watch()
    assert ended["state"] == "SUCCESS" and notes(tmp_path) == ["a"], ended
    assert flow.nodes(ended)["a"]["approval"]["refusesRequester"]


def test_votes_for_another_plan_are_void(flow, tmp_path):
    """Scenario 65: a new plan needs the votes of all approvers again."""
    key = user(flow.server, flow.name("u1"))
    flow.add("a", note(tmp_path, "one"))
    flow.graph(("a", [], {**APPROVAL, "commit": "latest", "minApproverNum": 2}))
    app = flow.apps["a"]

    def deploy(commit):
        flow.write()
        result = app.run("app", "sync", "--dir", app.folder, "--commit", commit, "--watch")
        assert result.returncode == 0, result.stderr

    deploy("c1")
    flow.head.wait(flow.sync(files=False))
    before = flow.wait_node("a", "WAITING_APPROVAL")
    assert vote(flow, "a").status == 200
    app.spec["pipeline"]["stages"][0]["with"]["run"] = note(tmp_path, "two")
    deploy("c2")
    wait_until(lambda: flow.nodes(flow.get())["a"]["digest"] != before["digest"] and
               flow.nodes(flow.get())["a"]["approval"]["votes"] == [], "the vote is void")
    assert vote(flow, "a", key=key).status == 200
    assert flow.wait_node("a", "WAITING_APPROVAL")["approval"]["minimum"] == 2
    assert notes(tmp_path) == ["one", "two"]
    assert vote(flow, "a").status == 200
    ended = flow.watch()
    assert ended["state"] == "SUCCESS" and notes(tmp_path) == ["one", "two", "two"], ended


def test_bad_approvers(flow, tmp_path):
    """Refused with file and line before anything is deployed."""
    flow.add("a", note(tmp_path, "a"))
    flow.graph(("a", [], {**APPROVAL, "approvers": ["ann"], "minApproverNum": 2}))
    flow.write()
    file = os.path.join(flow.head.folder, "app.pipecd.yaml")
    with open(file, encoding="utf-8") as lines:
        line = 1 + [text.strip() for text in lines].index('"minApproverNum": 2')
    refused = flow.head.run("app", "sync", "--dir", flow.head.folder)
    assert refused.returncode != 0
    assert (f"{file}:{line}: minApproverNum is 2, but only 1 approvers are listed"
            in refused.stderr), refused.stderr


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
