"""Flows: failure policies, newer flows of the same head, nested flows, and the live state of services."""
import pytest
from conftest import wait_until
from flows import Flow, note, notes, prefix_of

SERVER_ARGUMENTS = ["--pipeline-scripts"]


@pytest.fixture(name="flow")
def new_flow(slipway, tmp_path):
    return Flow(slipway, tmp_path, prefix_of(tmp_path))


def wait_for(tmp_path, word):
    return f"until test -e {tmp_path}/{word}; do sleep 0.05; done"


def test_cancel_pending(flow, tmp_path):
    """Nodes that have not started are cancelled, those that run finish."""
    flow.add("a", "exit 1")
    flow.add("b", f"{wait_for(tmp_path, 'go')}; {note(tmp_path, 'b')}")
    flow.add("c", note(tmp_path, "c"))
    flow.graph(("a", ["x"]), ("b",), ("c", ["b"]), ("x",), onFailure="cancelPending")
    flow.add("x", f"until test -e {tmp_path}/b-runs; do sleep 0.05; done")
    flow.apps["b"].spec["pipeline"]["stages"][0]["with"]["run"] = (
        f"touch {tmp_path}/b-runs; {wait_for(tmp_path, 'go')}; {note(tmp_path, 'b')}")
    flow.head.wait(flow.sync())
    flow.wait_node("c", "CANCELLED")
    assert flow.states(flow.get())["b"] == "RUNNING"
    (tmp_path / "go").touch()
    ended = flow.watch()
    assert ended["state"] == "FAILURE", ended
    assert flow.states(ended) == {"a": "FAILURE", "b": "SUCCESS", "c": "CANCELLED", "x": "SUCCESS"}
    assert flow.nodes(ended)["c"]["cause"] == flow.name("a") and notes(tmp_path) == ["b"]


def test_cancel_all(flow, tmp_path):
    flow.add("a", f"{wait_for(tmp_path, 'b-runs')}; exit 1")
    flow.add("b", f"touch {tmp_path}/b-runs; sleep 1000")
    flow.graph(("a",), ("b",), onFailure="cancelAll")
    flow.head.wait(flow.sync())
    ended = flow.watch()
    assert flow.states(ended) == {"a": "FAILURE", "b": "CANCELLED"}, ended
    assert flow.deployments("b")[-1]["state"] == "CANCELLED"


def test_rollback(flow, tmp_path):
    """The flow's deployments are rolled back, dependents first; a node that was not there before says so."""
    for name in "ab":
        flow.add(name, note(tmp_path, f"{name}-old"))
    flow.graph(("a",), ("b", ["a"]))
    assert flow.run("--commit", "c1")["state"] == "SUCCESS"
    for name in "ab":
        flow.apps[name].spec["pipeline"]["stages"][0]["with"]["run"] = note(tmp_path, f"{name}-new")
    flow.add("new", note(tmp_path, "new"))
    flow.add("c", "exit 1")
    flow.graph(("a",), ("b", ["a"]), ("new",), ("c", ["b", "new"]), onFailure="rollback")
    ended = flow.run("--commit", "c2")
    assert ended["state"] == "FAILURE", ended
    states = flow.states(ended)
    assert (states["a"], states["b"], states["new"]) == ("CANCELLED", "CANCELLED", "FAILURE"), states
    nodes = flow.nodes(ended)
    assert "rolled back" in nodes["a"]["reason"] and nodes["a"]["cause"] == flow.name("c")
    assert "nothing to roll back to" in nodes["new"]["detail"]
    assert [word for word in notes(tmp_path) if word != "new"] == [
        "a-old", "b-old", "a-new", "b-new", "b-old", "a-old"]
    assert flow.deployments("a")[-1]["commit"] == "c1"
    assert flow.deployments("a")[-1]["trigger"] == "ROLLBACK"


def test_a_newer_flow(flow, tmp_path):
    """The same head again: nodes that wait are cancelled as superseded, the one that runs finishes, then the newer starts."""
    flow.add("a", f"{note(tmp_path, 'a')}; {wait_for(tmp_path, 'go')}")
    flow.add("b", note(tmp_path, "b"))
    flow.graph(("a",), ("b", ["a"]))
    first = flow.head.wait(flow.sync())["startsFlow"]
    wait_until(lambda: notes(tmp_path) == ["a"], "a runs")
    second = flow.head.wait(flow.sync())["startsFlow"]
    wait_until(lambda: flow.states(flow.get(first))["b"] == "CANCELLED", "b is cancelled")
    assert "superseded" in flow.nodes(flow.get(first))["b"]["reason"]
    assert flow.get(first)["state"] == "RUNNING"
    assert set(flow.states(flow.get(second)).values()) == {"PENDING"}
    (tmp_path / "go").touch()
    assert flow.watch(second)["state"] == "SUCCESS"
    assert flow.get(first)["state"] == "CANCELLED" and flow.states(flow.get(first))["a"] == "SUCCESS"
    assert notes(tmp_path) == ["a", "a", "b"]
    assert flow.head.run("flow", "retry", first).returncode == 1


def test_nested(flow, tmp_path):
    """An application that a flow deploys does not start its own: a and the head name each other, and it ends."""
    inner = {"postSync": {"flow": {"graph": [{"appName": flow.head.name}]}}}
    flow.add("a", note(tmp_path, "a"), **inner)
    flow.graph(("a",))
    ended = flow.run()
    assert ended["state"] == "SUCCESS", ended
    deployment = flow.deployments("a")[-1]
    assert "startsFlow" not in deployment
    assert "POST_SYNC" not in [stage["kind"] for stage in deployment["stages"]]
    assert len(flow.deployments("head")) == 1 and notes(tmp_path) == ["a"]


def test_soak(flow, tmp_path):
    """A node counts as done when its service is in sync and has stayed so."""
    flow.add_ecs("a", count=1)
    flow.add("b", note(tmp_path, "b"))
    flow.graph(("a", [], {"soak": "2s"}), ("b", ["a"]))
    ended = flow.run()
    assert ended["state"] == "SUCCESS", ended
    node = flow.nodes(ended)["a"]
    deployment = flow.deployments("a")[-1]
    assert node["endedAt"] - deployment["endedAt"] >= 2 and node["soakSeconds"] == 2
    assert flow.nodes(ended)["b"]["startedAt"] >= node["endedAt"]


def test_not_in_sync(flow, tmp_path):
    """Another writer changes the service while the node soaks; it is not in sync within syncTimeout."""
    flow.add_ecs("a", count=1)
    flow.graph(("a", [], {"soak": "1h"}), syncTimeout="4s")
    flow.head.wait(flow.sync())
    wait_until(lambda: flow.nodes(flow.get())["a"].get("phase") == "SOAKING", "it soaks")
    ecs = flow.server.boto("ecs")
    ecs.update_service(service=flow.name("a"), desiredCount=2)
    ended = flow.watch()
    assert flow.states(ended) == {"a": "FAILURE"}, ended
    assert "syncTimeout" in flow.nodes(ended)["a"]["reason"]
    assert flow.deployments("a")[-1]["state"] == "SUCCESS"
