"""Flows on servers that are killed, on two servers that share a store, with a target that is away, and the audit log."""
import contextlib
import json
import os
import shutil
import sqlite3

from conftest import start_slipway, wait_until  # noqa: F401
from flows import Flow, note, notes
from rest_requests import ask
from test_environment_streams import Reader

ARGUMENTS = ["--pipeline-scripts"]


def waits(flow, short):
    """For the approval that is its second stage."""
    stages = flow.deployments(short)[-1:] and flow.deployments(short)[-1]["stages"]
    return len(stages) > 1 and stages[1]["state"] == "RUNNING"


def test_a_server_that_is_killed(start_slipway, tmp_path):  # noqa: F811
    """Scenario 72: at each point of a diamond; the flow ends as if it was not interrupted, and no node runs twice."""
    server = start_slipway(*ARGUMENTS)
    flow = Flow(server, tmp_path, "web")
    for name in "abcd":
        flow.add(name, "true")
        flow.apps[name].spec["pipeline"]["stages"].append(
            {"name": "WAIT_APPROVAL", "with": {}})
        flow.apps[name].spec["pipeline"]["stages"][0]["with"]["run"] = (
            f"grep -sqx {name} {tmp_path}/notes || {note(tmp_path, name)}")
    for app in flow.apps.values():  # a kill may interrupt a script, which fails it otherwise
        app.spec["pipeline"]["stages"][0]["with"]["rerun"] = True
    flow.graph(("a",), ("b", ["a"]), ("c", ["a"]), ("d", ["b", "c"]))
    number = flow.sync("--commit", "c1")

    def restart():
        nonlocal server
        server.kill()
        server = start_slipway(*ARGUMENTS, state=server.state)
        flow.server = server
        for app in flow.apps.values():
            app.server = server

    restart()  # while the head is deployed
    assert flow.head.wait(number)["state"] == "SUCCESS"
    restart()  # while the flow starts
    for names in ("a", "bc", "d"):
        for name in names:
            wait_until(lambda name=name: waits(flow, name), f"{name} waits")
        restart()  # while nodes run
        for name in names:
            flow.apps[name].approve()
    restart()  # while the flow ends
    ended = flow.watch()
    assert ended["state"] == "SUCCESS", ended
    order = notes(tmp_path)
    assert sorted(order) == list("abcd") and order[0] == "a" and order[3] == "d"
    assert {name: len(flow.deployments(name)) for name in "abcd"} == dict.fromkeys("abcd", 1)
    assert {node["run"] for node in ended["nodes"]} == {1}


def damage(state, kind, flow):
    """The record no longer matches its MAC, as after a flipped byte."""
    with contextlib.closing(sqlite3.connect(os.path.join(state, "slipway.db"))) as database:
        changed = database.execute(
            "UPDATE rows SET mac = zeroblob(length(mac)) WHERE revision = (SELECT max(revision) FROM rows "
            "WHERE kind = ? AND instr(CAST(key AS TEXT), ?) > 0)", ("flow." + kind, flow))
        assert changed.rowcount == 1, kind
        database.commit()


def test_damaged_records(start_slipway, tmp_path):  # noqa: F811
    """A flow with a damaged record ends: no node runs twice, and newer flows of the head do not wait for it."""
    server = start_slipway(*ARGUMENTS)
    flows, ids = {}, {}
    for kind in ("graph", "files", "node", "approval", "flow"):
        (tmp_path / kind).mkdir()
        flow = flows[kind] = Flow(server, tmp_path / kind, f"web-{kind}")
        flow.add("a", note(tmp_path / kind, "a"))
        flow.add("b", note(tmp_path / kind, "b"))
        flow.graph(("a",), ("b", ["a"], {"requireApproval": True}))
        flow.sync()
    for kind, flow in flows.items():
        wait_until(lambda flow=flow: ask(server, "GET", f"/v1/flows/{flow.head.name}").status == 200,
                   "the flow is there")
        flow.wait_node("b", "WAITING_APPROVAL")
        ids[kind] = flow.get()["id"]
    server.kill()
    for kind, flow in ids.items():
        damage(server.state, kind, flow)
    server = start_slipway(*ARGUMENTS, state=server.state)
    assert "slipway_store_quarantined 5" in server.get("/metrics").text
    for kind, flow in flows.items():
        flow.server = server
        for app in flow.apps.values():
            app.server = server
        path = f"/v1/flows/{ids[kind]}"
        if kind == "flow":
            assert ask(server, "GET", path).status == 404
        else:
            wait_until(lambda path=path: ask(server, "GET", path).json["state"] == "FAILURE", "it ends")
            assert "damaged" in ask(server, "GET", path).json["reason"]
            for order in ("/retry", "/cancel", f"/nodes/{flow.name('b')}/approve"):
                assert ask(server, "POST", path + order, "{}").status == 409, order
            assert "damaged" in flow.head.run("flow", "show", ids[kind]).stdout
        flow.head.wait(flow.sync())
    for kind, flow in flows.items():
        flow.wait_node("b", "WAITING_APPROVAL")
        assert flow.get()["id"] != ids[kind]
        assert ask(server, "POST", f"/v1/flows/{flow.head.name}/nodes/{flow.name('b')}/approve", "{}").status == 200
        assert flow.watch()["state"] == "SUCCESS"
        assert notes(tmp_path / kind) == ["a", "a", "b"]


def test_soak_of_a_server_that_is_killed(start_slipway, tmp_path):  # noqa: F811
    """The soak time survives a kill; it is over only when the service was seen in sync after that."""
    server = start_slipway(*ARGUMENTS)
    flow = Flow(server, tmp_path, "web")
    flow.add_ecs("a", count=1)
    flow.graph(("a", [], {"soak": "5s"}))
    flow.head.wait(flow.sync())
    node = wait_until(lambda: (lambda node: node if node.get("phase") == "SOAKING" else None)(
        flow.nodes(flow.get())["a"]), "it soaks")
    server.kill()
    server = flow.server = start_slipway(*ARGUMENTS, state=server.state)
    for app in flow.apps.values():
        app.server = server
    after = flow.nodes(flow.get())["a"]
    assert after["state"] == "SUCCESS" or after["deadlineAt"] >= node["deadlineAt"], after
    ended = flow.watch()
    assert ended["state"] == "SUCCESS", ended
    node_after = flow.nodes(ended)["a"]
    assert node_after["endedAt"] >= node["deadlineAt"] and node_after["run"] == 1
    assert len(flow.deployments("a")) == 1


def test_two_servers(start_slipway, postgres_url, tmp_path):  # noqa: F811
    """Two servers share the work of flows; when one dies the other continues with all of them, and no node runs twice."""
    arguments = [*ARGUMENTS, "--store", postgres_url]
    first = start_slipway(*arguments)
    (tmp_path / "second").mkdir()
    for file in ("integrity.key", "admin-key.json"):
        shutil.copy(os.path.join(first.state, file), tmp_path / "second" / file)
    second = start_slipway(*arguments, state=str(tmp_path / "second"))
    flows = []
    for index, server in enumerate((first, second, first)):
        flow = Flow(server, tmp_path / str(index), f"app{index}")
        (tmp_path / str(index)).mkdir(exist_ok=True)
        for name in "ab":
            flow.add(name, note(tmp_path / str(index), name))
            flow.apps[name].spec["pipeline"]["stages"].append({"name": "WAIT_APPROVAL"})
        flow.graph(("a",), ("b", ["a"]))
        flow.sync()
        flows.append(flow)
    for flow in flows:
        wait_until(lambda flow=flow: waits(flow, "a"), "a waits")
    first.kill()
    for flow in flows:
        flow.server = second
        for app in flow.apps.values():
            app.server = second
        flow.apps["a"].approve()
    for index, flow in enumerate(flows):
        wait_until(lambda flow=flow: waits(flow, "b"), "b waits")
        flow.apps["b"].approve()
        assert flow.watch()["state"] == "SUCCESS"
        assert notes(tmp_path / str(index)) == ["a", "b"]


def test_a_target_that_is_away(start_slipway, tmp_path):  # noqa: F811
    """Scenario 66: QUEUED while the target does not answer, then it runs; FAILURE after queueTimeout."""
    remote = start_slipway("--runtime", "none")
    port = remote.url.rsplit(":", 1)[1]
    config = tmp_path / "slipway.yaml"
    secret = tmp_path / "secret"
    secret.write_text(remote.key["secretAccessKey"])
    config.write_text(json.dumps({"targets": [{
        "name": "remote", "endpoint": remote.url, "account": "123456789012", "region": "us-east-1",
        "callsPerSecond": 1000, "credentials": {"accessKey": remote.key["accessKeyId"],
                                                "secretFile": str(secret)}}]}))
    server = start_slipway(*ARGUMENTS, "--config", str(config))
    flow = Flow(server, tmp_path / "apps", "web")
    flow.add("a", note(tmp_path, "a"))
    flow.write()
    app = flow.apps["a"]
    first = app.run("app", "sync", "--dir", app.folder, "--target", "remote", "--watch")
    assert first.returncode == 0, first.stderr
    remote.kill()
    flow.graph(("a",), queueTimeout="2s")
    flow.head.wait(flow.sync(files=False))
    ended = flow.watch()
    assert flow.states(ended) == {"a": "FAILURE"}, ended
    assert "target not available" in flow.nodes(ended)["a"]["reason"]
    flow.graph(("a",))
    flow.head.wait(flow.sync(files=False))
    node = flow.wait_node("a", "QUEUED")
    wait_until(lambda: "deadlineAt" in flow.nodes(flow.get())["a"], "it waits for the target")
    assert len(flow.deployments("a")) == 1 and node["phase"] == "PLANNING"
    start_slipway("--runtime", "none", "--listen", f"127.0.0.1:{port}", state=remote.state)
    assert flow.watch()["state"] == "SUCCESS"
    assert notes(tmp_path) == ["a", "a"]


def test_the_audit_log(start_slipway, tmp_path):  # noqa: F811
    """A line for each node that starts: the head's commit, the user and the trigger."""
    server = start_slipway(*ARGUMENTS)
    flow = Flow(server, tmp_path / "apps", "web")
    flow.add("a", "true")
    flow.add("b", "true")
    flow.graph(("a",), ("b", ["a"]))
    ended = flow.run("--commit", "abc123")
    with open(os.path.join(server.state, "audit.log"), encoding="utf-8") as log:
        lines = [json.loads(line) for line in log]
    started = [line for line in lines if line["operation"] == "slipway:StartFlowNode"]
    assert len(started) == 2 and {line["user"] for line in started} == {"admin"}, lines
    for line, name in zip(started, ("web-a", "web-b")):
        for part in (f"application/{name} ", ended["id"], "application/web-head commit abc123", "SYNC"):
            assert part in line["resource"], line


def test_streams(start_slipway, tmp_path):  # noqa: F811
    """Changes of flows and of their nodes, as JSON lines."""
    server = start_slipway(*ARGUMENTS)
    flow = Flow(server, tmp_path / "apps", "web")
    flow.add("a", "true")
    flow.graph(("a",))
    ended = flow.run()
    flows, nodes = Reader(server, "flows"), Reader(server, f"flows/{ended['id']}/nodes")
    wait_until(lambda: flows.of("position") and nodes.of("position"), "the snapshots are complete")
    assert [line["flow"]["id"] for line in flows.of("snapshot")] == [ended["id"]]
    assert [line["node"]["application"] for line in nodes.of("snapshot")] == ["web-a"]
    flow.head.wait(flow.sync())
    wait_until(lambda: [line["flow"]["state"] for line in flows.of("updated")][-1:] == ["SUCCESS"],
               "the second flow has ended")
    assert {line["flow"]["head"] for line in flows.of("updated")} == {"web-head"}
    assert [line["flow"]["state"] for line in flows.of("updated")][:2] == ["PENDING", "RUNNING"]
    flows.close()
    nodes.close()
    assert ask(server, "GET", "/v1/flows?head=web-head").json["flows"][1]["id"] == ended["id"]


def test_flows_of_a_deleted_application(start_slipway, tmp_path):  # noqa: F811
    server = start_slipway(*ARGUMENTS)
    flow = Flow(server, tmp_path / "apps", "web")
    flow.add("a", "true")
    flow.graph(("a",))
    ended = flow.run()
    assert flow.head.run("app", "delete", flow.head.name).returncode == 0
    wait_until(lambda: ask(server, "GET", f"/v1/applications/{flow.head.name}").status == 404,
               "it is deleted")
    server.kill()
    server = start_slipway(*ARGUMENTS, state=server.state)  # looks at all flows
    wait_until(lambda: ask(server, "GET", f"/v1/flows/{ended['id']}").status == 404,
               "its flow is deleted")
    assert ask(server, "GET", "/v1/flows").json["flows"] == []
    flow.server = server
    assert flow.deployments("a")[-1]["state"] == "SUCCESS"
