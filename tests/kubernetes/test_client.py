"""slipway's Kubernetes client and informers against a real API server; kubectl is the witness."""
import base64
import datetime
import hashlib
import json
import os
import random
import signal
import socket
import ssl
import subprocess
import threading
import time

import images
import probe as probe_module
import pytest
from cluster import Cluster
from conftest import wait_until
from probe import Probe

# Pods need no service account here: there is no controller that would make one.
ALONE = {"parts": ("etcd", "api"), "api_flags": ("--disable-admission-plugins=ServiceAccount",)}
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def api_server():
    with Cluster() as cluster:
        cluster.up(**ALONE)
        yield cluster


@pytest.fixture
def probe(api_server):
    return Probe(api_server.credentials.path("admin.kubeconfig"))


@pytest.fixture
def namespace(api_server):
    """One of the test's own; there is no controller that could remove it, nor need to."""
    name = f"test-{random.randrange(10**9)}"
    api_server.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    return name


def pod(name, node=None, **metadata):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata},
            "spec": {"containers": [{"name": "app", "image": "none/none:1"}],
                     **({"nodeName": node} if node else {})}}


def config_map(name, **data):
    return {"metadata": {"name": name}, "data": data}


def get(cluster, namespace, kind, name):
    return cluster.kubectl_json("-n", namespace, "get", kind, name)


# ---- calls ----

def test_what_the_server_offers(probe, api_server):
    witness = api_server.kubectl_json("version")["serverVersion"]
    version = probe("version")
    assert version["git"] == witness["gitVersion"]
    assert (version["major"], version["minor"]) == api_server.version
    offered = api_server.kubectl("api-versions").stdout.split()
    for kind, group in (("endpointslices", "discovery.k8s.io"), ("poddisruptionbudgets", "policy"),
                        ("deployments", "apps"), ("leases", "coordination.k8s.io")):
        found = probe("resource", kind)["apiVersion"]
        best = next(f"{group}/{version}" for version in ("v1", "v1beta1")
                    if f"{group}/{version}" in offered)
        assert found == best
    assert probe("resource", "nodes") == {"apiVersion": "v1", "path": "/api/v1",
                                          "namespaced": False}
    refused = probe.refusal("resource", "widgets")
    assert refused.code == "ENOENT" and "no Widget of group 'example.com'" in refused.message


def test_objects_are_made_changed_and_deleted(probe, api_server, namespace):
    made = probe("create", "configmaps", namespace, body=config_map("one", a="1"))
    assert made["kind"] == "ConfigMap" and made["apiVersion"] == "v1"
    assert get(api_server, namespace, "configmap", "one")["data"] == {"a": "1"}
    assert probe("get", "configmaps", namespace, "one") == made
    assert probe.refusal("create", "configmaps", namespace,
                         body=config_map("one")).code == "EEXIST"

    made["data"]["a"] = "2"
    changed = probe("update", "configmaps", namespace, "one", body=made)
    assert get(api_server, namespace, "configmap", "one")["data"] == {"a": "2"}
    # Another was faster: what was read is no longer so.
    conflict = probe.refusal("update", "configmaps", namespace, "one", body=made)
    assert (conflict.code, conflict.status, conflict.reason) == ("EAGAIN", 409, "Conflict")

    probe("merge", "configmaps", namespace, "one", body={"data": {"a": None, "b": "3"}})
    assert get(api_server, namespace, "configmap", "one")["data"] == {"b": "3"}
    probe("json", "configmaps", namespace, "one",
          body=[{"op": "test", "path": "/data/b", "value": "3"},
                {"op": "add", "path": "/data/c", "value": "ü"}])
    assert get(api_server, namespace, "configmap", "one")["data"] == {"b": "3", "c": "ü"}
    assert probe.refusal("json", "configmaps", namespace, "one", body=[
        {"op": "test", "path": "/data/b", "value": "4"}]).code == "EINVAL"

    assert probe.refusal("delete", "configmaps", namespace, "one", "not-its-uid").code == "EAGAIN"
    assert get(api_server, namespace, "configmap", "one")
    probe("delete", "configmaps", namespace, "one", changed["metadata"]["uid"])
    assert not api_server.api.find(f"/api/v1/namespaces/{namespace}/configmaps/one")
    for words in (("get",), ("delete",), ("merge",)):
        gone = probe.refusal(*words, "configmaps", namespace, "one", body={})
        assert (gone.code, gone.reason) == ("ENOENT", "NotFound")


def test_objects_without_a_name_get_one(probe, namespace):
    names = {probe("create", "configmaps", namespace,
                   body={"metadata": {"generateName": "one-"}})["metadata"]["name"]
             for _ in range(3)}
    assert len(names) == 3 and len(probe.lines("list", "configmaps", namespace)) == 3


def test_wrong_objects_are_refused_with_a_reason(probe, namespace):
    wrong = probe.refusal("create", "pods", namespace, body={"metadata": {"name": "Wrong_Name"}})
    assert (wrong.code, wrong.status, wrong.reason) == ("EINVAL", 422, "Invalid")
    assert "Pod" in wrong.message and "Wrong_Name" in wrong.message
    assert probe.refusal("create", "pods", "none-such", body=pod("a")).code == "ENOENT"
    assert probe.refusal("get", "pods", namespace, "../../../nodes").code == "EINVAL"


def test_server_side_apply(probe, api_server, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps/one"
    probe("apply", "configmaps", namespace, "one", body=config_map("one", a="1", b="1"))
    made = api_server.api.get(path)
    assert made["data"] == {"a": "1", "b": "1"}
    assert [(item["manager"], item["operation"]) for item in made["metadata"]["managedFields"]] \
        == [("slipway", "Apply")]
    # Members that are no longer applied are removed; those of others stay.
    api_server.api.patch(path, {"data": {"other": "x"}}, fieldManager="someone")
    probe("apply", "configmaps", namespace, "one", body=config_map("one", a="2"))
    assert api_server.api.get(path)["data"] == {"a": "2", "other": "x"}
    conflict = probe.refusal("apply", "configmaps", namespace, "one",
                             body=config_map("one", a="2", other="y"))
    assert (conflict.code, conflict.cause) == ("EAGAIN", "FieldManagerConflict")
    assert "someone" in conflict.message
    probe("force", "configmaps", namespace, "one", body=config_map("one", a="2", other="y"))
    assert api_server.api.get(path)["data"] == {"a": "2", "other": "y"}


def test_subresources(probe, api_server, namespace):
    labels = {"app": "web"}
    probe("create", "deployments", namespace, body={
        "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": pod("x")["spec"]}}})
    probe("scale", "deployments", namespace, "web", "7")
    assert get(api_server, namespace, "deployment", "web")["spec"]["replicas"] == 7
    probe("merge", "deployments", namespace, "web", "status",
          body={"status": {"replicas": 3}, "spec": {"replicas": 99}})
    web = get(api_server, namespace, "deployment", "web")
    assert (web["status"]["replicas"], web["spec"]["replicas"]) == (3, 7)

    probe("create", "pods", namespace, body=pod("p", "node"))
    probe("strategic", "pods", namespace, "p", "status", body={"status": {"conditions": [
        {"type": "Ready", "status": "True"}]}})
    probe("strategic", "pods", namespace, "p", "status", body={"status": {"conditions": [
        {"type": "Other", "status": "True"}]}})
    assert len(get(api_server, namespace, "pod", "p")["status"]["conditions"]) == 2


def test_deletion_takes_its_time_or_not(probe, api_server, namespace):
    for name in ("slow", "fast"):
        probe("create", "pods", namespace, body=pod(name, "node"))
    # No kubelet runs: a pod with a grace period stays until its deletion is confirmed.
    probe("delete", "pods", namespace, "slow")
    metadata = get(api_server, namespace, "pod", "slow")["metadata"]
    assert metadata["deletionTimestamp"] and metadata["deletionGracePeriodSeconds"] == 30
    probe("delete", "pods", namespace, "fast", "-", "0")
    assert not api_server.api.find(f"/api/v1/namespaces/{namespace}/pods/fast")
    probe("create", "configmaps", namespace, body=config_map("held"))
    probe("delete", "configmaps", namespace, "held", "-", "-", "Foreground")
    assert get(api_server, namespace, "configmap", "held")["metadata"]["finalizers"] == [
        "foregroundDeletion"]


def test_lists_in_pages(probe, api_server, namespace):
    names = {f"item-{number:04}" for number in range(1203)}
    for name in names:
        api_server.api.post(f"/api/v1/namespaces/{namespace}/configmaps", {
            "metadata": {"name": name, "labels": {"odd": str(int(name[-1]) % 2)}}})
    items = probe.lines("list", "configmaps", namespace)
    assert len(items) == 1203 and {item["metadata"]["name"] for item in items} == names
    assert len(probe.lines("list", "configmaps", namespace, "odd=1")) == 601
    assert len(probe.lines("list", "configmaps", namespace, "odd in (0,1),!none")) == 1203
    assert len(probe.lines("list", "configmaps", namespace, "-", "metadata.name=item-0007")) == 1
    assert probe.refusal("list", "configmaps", namespace, "=(").code == "EINVAL"


# ---- credentials ----

def test_every_kind_of_kubeconfig(api_server):
    credentials = api_server.credentials
    for kubeconfig in (
            credentials.token_kubeconfig(),
            credentials.certificate_kubeconfig("someone"),
            credentials.exec_kubeconfig("plugin"),
            credentials.exec_kubeconfig("later", version="client.authentication.k8s.io/v1"),
            credentials.kubeconfig("file", [f"tokenFile: {credentials.path('admin.token')}"]),
            credentials.kubeconfig("relative", ["tokenFile: admin.token"])):
        assert len(Probe(kubeconfig).lines("list", "namespaces")) >= 4


def test_credentials_without_permissions(api_server):
    credentials = api_server.credentials
    forbidden = Probe(credentials.token_kubeconfig("stranger")).refusal("list", "nodes")
    assert (forbidden.code, forbidden.status) == ("EACCES", 403)
    assert 'User "stranger" cannot list' in forbidden.message
    without_user = Probe(credentials.token_kubeconfig("unknown", token="unknown"))
    unknown = without_user.refusal("list", "nodes")
    assert (unknown.code, unknown.status) == ("EACCES", 401)


def kubeconfig_with(api_server, name, cluster_lines):
    path = api_server.credentials.token_kubeconfig()
    with open(path, encoding="utf-8") as file:
        text = file.read()
    lines = "".join(f"    {line}\n" for line in cluster_lines)
    ca_line = f"    certificate-authority: {api_server.credentials.ca}\n"
    assert ca_line in text
    return api_server.credentials.write(f"{name}.kubeconfig", text.replace(ca_line, lines))


def test_the_server_certificate_is_verified(api_server):
    ca = f"certificate-authority: {api_server.credentials.ca}"
    assert Probe(kubeconfig_with(api_server, "open", ["insecure-skip-tls-verify: true"]))("version")
    named = kubeconfig_with(api_server, "named", [ca, "tls-server-name: kubernetes.default.svc"])
    assert Probe(named)("version")
    other = kubeconfig_with(api_server, "other", [ca, "tls-server-name: someone.else"])
    assert Probe(other).refusal("version").code == "EACCES"
    assert Probe(kubeconfig_with(api_server, "system", [])).refusal("version").code == "EACCES"


def count_asked(credentials, name):
    with open(credentials.path(f"{name}.plugin-token.asked"), encoding="utf-8") as file:
        return len(file.read())


def test_a_plugin_is_asked_again_when_refused(api_server, namespace):
    credentials = api_server.credentials
    kubeconfig = credentials.exec_kubeconfig("renewed", token="not-yet")
    with Probe(kubeconfig).watch("pods", namespace) as watch:
        wait_until(lambda: watch.failures, "it is refused")
        assert watch.failures[0]["code"] == "EACCES"
        credentials.write("renewed.plugin-token", credentials.token())
        watch.wait_for("synced")
        asked = count_asked(credentials, "renewed")
        assert asked >= 2
        for number in range(3):
            api_server.api.post(f"/api/v1/namespaces/{namespace}/pods", pod(f"p{number}"))
        watch.wait_for("added", f"{namespace}/p2")
        watch.send("relist")
        wait_until(lambda: watch.statistics()["relists"] == 1, "it lists again")
        assert count_asked(credentials, "renewed") == asked


def test_a_plugin_is_asked_again_when_its_token_expires(api_server, namespace):
    credentials = api_server.credentials
    past = datetime.datetime(2020, 1, 1).strftime("%Y-%m-%dT%H:%M:%SZ")
    credentials.exec_kubeconfig("expired", expires=past)
    with Probe(credentials.path("expired.kubeconfig")).watch("pods", namespace) as watch:
        watch.wait_for("synced")
        for times in (1, 2):  # each by itself: two requests at once are one list
            watch.send("relist")
            wait_until(lambda: watch.statistics()["relists"] >= times, "it lists again")
        assert count_asked(credentials, "expired") >= 3


# ---- informers ----

def test_an_informer_follows(probe, api_server, namespace):
    path = f"/api/v1/namespaces/{namespace}/pods"
    api_server.api.post(path, pod("a", "node-1", labels={"x": "1"}))
    api_server.api.post(path, pod("b", "node-2"))
    api_server.api.post("/api/v1/namespaces/default/pods", pod("secondary"))
    with probe.watch("pods", namespace) as watch:
        watch.wait_for("synced")
        assert sorted(watch.story()[:2]) == [("added", f"{namespace}/{name}") for name in "ab"]
        api_server.api.patch(f"{path}/a", {"metadata": {"labels": {"x": "2"}}})
        assert watch.wait_for("updated", f"{namespace}/a")["labels"] == '{"x":"2"}'
        api_server.api.patch(f"{path}/a/status", {"status": {"phase": "Running"}})
        assert watch.wait_for("updated", f"{namespace}/a", 2)["phase"] == "Running"
        api_server.api.post(path, pod("c", "node-1"))
        watch.wait_for("added", f"{namespace}/c")
        found = watch.ask("find", "node", "node-1")
        assert [item["key"] for item in found] == [f"{namespace}/a", f"{namespace}/c"]
        api_server.api.delete(f"{path}/a", {"gracePeriodSeconds": 0})
        watch.wait_for("deleted", f"{namespace}/a")
        assert watch.ask("get", namespace, "a") is None
        assert watch.ask("get", namespace, "b")["node"] == "node-2"
        statistics = watch.statistics()
        assert statistics["objects"] == 2 and statistics["synced"] and statistics["watching"]
        assert statistics["errors"] == 0 and statistics["lists"] == 1


def test_selectors(probe, api_server, namespace):
    path = f"/api/v1/namespaces/{namespace}/pods"
    for name, label in (("in", "yes"), ("out", "no")):
        api_server.api.post(path, pod(name, labels={"mine": label}))
    with probe.watch("pods", namespace, "mine=yes") as watch:
        watch.wait_for("synced")
        assert watch.story()[0] == ("added", f"{namespace}/in")
        # An object that no longer is one of those is as good as deleted, and comes back as new.
        for name, label in (("in", "no"), ("out", "yes"), ("in", "yes")):
            api_server.api.patch(f"{path}/{name}", {"metadata": {"labels": {"mine": label}}})
        watch.wait_for("added", f"{namespace}/in", 2)
        assert [event for event, _ in watch.story()] == ["added", "synced", "deleted", "added",
                                                         "added"]


def test_objects_that_the_reader_refuses_or_ignores(probe, api_server, namespace):
    path = f"/api/v1/namespaces/{namespace}/pods"
    api_server.api.post(path, pod("good"))
    api_server.api.post(path, pod("bad", annotations={"refuse": ""}))
    api_server.api.post(path, pod("foreign", annotations={"ignore": ""}))
    with probe.watch("pods", namespace) as watch:
        watch.wait_for("synced")
        assert set(watch.kept()) == {f"{namespace}/good"}
        assert watch.statistics()["refused"] == 1
        api_server.api.patch(f"{path}/bad", {"metadata": {"annotations": {"refuse": None}}})
        watch.wait_for("added", f"{namespace}/bad")
        api_server.api.patch(f"{path}/good", {"metadata": {"annotations": {"ignore": ""}}})
        watch.wait_for("deleted", f"{namespace}/good")


def test_resync(probe, api_server, namespace):
    api_server.api.post(f"/api/v1/namespaces/{namespace}/pods", pod("a"))
    with probe.watch("pods", namespace, "-", "1500") as watch:
        watch.wait_for("resync", f"{namespace}/a", 3)
        assert watch.statistics()["relists"] == 0


def churn(api, path, names, seconds, seed):
    """Makes, changes and deletes pods at random for a while; answers that fail are no matter."""
    chance = random.Random(seed)
    end = datetime.datetime.now() + datetime.timedelta(seconds=seconds)
    while datetime.datetime.now() < end:
        name = chance.choice(names)
        try:
            what = chance.randrange(4)
            if what == 0:
                api.delete(f"{path}/{name}", {"gracePeriodSeconds": 0})
            elif what == 1:
                api.patch(f"{path}/{name}", {"metadata": {"labels": {"n": str(chance.random())}}})
            else:
                api.post(path, pod(name))
        except Exception:  # pylint: disable=broad-except
            pass


def actual(api, path):
    items, _ = api.list(path)
    return {f"{item['metadata']['namespace']}/{item['metadata']['name']}":
            item["metadata"]["resourceVersion"] for item in items}


def wait_for_actual_state(cluster, watch, path):
    """The informer has what the server has, and its events led there without a contradiction."""
    expected = actual(cluster.api, path)
    wait_until(lambda: watch.kept() == expected, "the informer has what the server has")
    wait_until(lambda: watch.reported() == expected, "the handlers received all of it")


def test_many_changes_at_once(probe, api_server, namespace):
    path = f"/api/v1/namespaces/{namespace}/pods"
    names = [f"p{number}" for number in range(40)]
    with probe.watch("pods", namespace) as watch:
        watch.wait_for("synced")

        def were_many():
            threads = [threading.Thread(target=churn, args=(api_server.client(), path, names, 4, seed))
                       for seed in range(4)]
            for thread in threads:
                thread.start()
            for _ in range(3):
                watch.send("relist")
                watch.statistics()
            for thread in threads:
                thread.join()
            return sum(watch.counts().values()) > 100

        wait_until(were_many, "there were many changes")  # a slow machine needs more than one round
        wait_for_actual_state(api_server, watch, path)


# ---- faults ----

def test_the_api_server_is_restarted(api_server, namespace):
    cluster = api_server
    probe = Probe(cluster.credentials.path("admin.kubeconfig"))
    path = f"/api/v1/namespaces/{namespace}/pods"
    for name in ("a", "b", "c"):
        cluster.api.post(path, pod(name))
    with probe.watch("pods", namespace) as watch:
        watch.wait_for("synced")
        # Killed: the informer keeps its objects and reports no deletion.
        cluster.kill_api_server()
        wait_until(lambda: len(watch.failures) > 3, "it cannot reach the server")
        assert len(watch.kept()) == 3 and watch.counts() == {"added": 3, "synced": 1}
        assert not watch.statistics()["watching"]
        cluster.start_api_server()
        cluster.api.post(path, pod("d"))
        watch.wait_for("added", f"{namespace}/d")
        # Stopped politely.
        cluster.stop_api_server()
        cluster.start_api_server()
        cluster.api.delete(f"{path}/a", {"gracePeriodSeconds": 0})
        watch.wait_for("deleted", f"{namespace}/a")
        wait_for_actual_state(cluster, watch, path)
        assert watch.statistics()["synced"]


def test_history_that_is_forgotten(api_server, namespace):
    cluster = api_server
    path = f"/api/v1/namespaces/{namespace}/pods"
    for name in ("stays", "goes", "returns"):
        cluster.api.post(path, pod(name))
    with Probe(cluster.credentials.path("admin.kubeconfig")).watch("pods", namespace) as watch:
        watch.wait_for("synced")
        # Stopped itself, it misses what happens; then the server forgets what it missed.
        os.kill(watch.process.pid, signal.SIGSTOP)
        cluster.kill_api_server()
        cluster.start_api_server()
        for name in ("goes", "returns"):
            cluster.api.delete(f"{path}/{name}", {"gracePeriodSeconds": 0})
        cluster.api.post(path, pod("returns"))
        cluster.api.post(path, pod("new"))
        cluster.forget_history()
        cluster.kill_api_server()
        cluster.start_api_server()
        os.kill(watch.process.pid, signal.SIGCONT)
        watch.wait_for("deleted", f"{namespace}/goes")
        wait_for_actual_state(cluster, watch, path)
        story = watch.story()[4:]
        assert sorted(story) == [("added", f"{namespace}/new"), ("added", f"{namespace}/returns"),
                                 ("deleted", f"{namespace}/goes"), ("deleted", f"{namespace}/returns")]
        # Another under the same name: first the end of the one, then the beginning of the other.
        assert story.index(("deleted", f"{namespace}/returns")) < story.index(
            ("added", f"{namespace}/returns"))
        statistics = watch.statistics()
        assert statistics["expired"] == 1 and statistics["relists"] == 1


def test_a_server_that_says_nothing(api_server, namespace):
    cluster = api_server
    path = f"/api/v1/namespaces/{namespace}/pods"
    probe = Probe(cluster.credentials.path("admin.kubeconfig"), "--idle", "1000")
    with probe.watch("pods", namespace) as watch:
        watch.wait_for("synced")
        cluster.pause_api_server()
        wait_until(lambda: not watch.statistics()["watching"] and watch.failures,
                   "it notices the silence")
        cluster.resume_api_server()
        cluster.api.post(path, pod("a"))
        watch.wait_for("added", f"{namespace}/a")
        wait_for_actual_state(cluster, watch, path)


def test_random_faults_end_in_the_actual_state(api_server, namespace):
    cluster = api_server
    path = f"/api/v1/namespaces/{namespace}/pods"
    names = [f"p{number}" for number in range(30)]
    probe = Probe(cluster.credentials.path("admin.kubeconfig"), "--idle", "2000")
    with probe.watch("pods", namespace) as watch:
        watch.wait_for("synced")
        workers = [threading.Thread(target=churn, args=(cluster.client(), path, names, 25, seed))
                   for seed in range(2)]
        for worker in workers:
            worker.start()
        for fault in ("kill", "forget", "stop", "pause", "kill"):
            if fault == "forget":
                cluster.forget_history()
            elif fault == "pause":
                cluster.pause_api_server()
                wait_until(lambda: not watch.statistics()["watching"], "it notices the silence")
                cluster.resume_api_server()
                continue
            if fault == "stop":
                cluster.stop_api_server()
            else:
                cluster.kill_api_server()
            cluster.start_api_server()
        for worker in workers:
            worker.join()
        wait_for_actual_state(cluster, watch, path)
        assert watch.statistics()["synced"]


# ---- with controllers ----

def test_eviction_asks_the_budget(hollow_cluster):
    probe = Probe(hollow_cluster.credentials.path("admin.kubeconfig"))
    hollow_cluster.kubectl("create", "deployment", "web", "--image=none/none:1")
    web = wait_until(lambda: [item for item in hollow_cluster.kubectl_json("get", "pods")["items"]
                              if item["status"]["phase"] == "Running"], "the pod runs")[0]
    # In the version that this server has; this kubectl may know none of those.
    probe("create", "poddisruptionbudgets", "default", body={
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}})
    wait_until(lambda: hollow_cluster.kubectl_json("get", "pdb", "web").get("status", {}).get(
        "currentHealthy") == 1, "the budget is counted")
    name = web["metadata"]["name"]
    refused = probe.refusal("evict", "default", name)
    assert (refused.code, refused.status, refused.cause) == ("EBUSY", 429, "DisruptionBudget")
    assert hollow_cluster.api.find(f"{PODS}/{name}")
    hollow_cluster.kubectl("delete", "pdb", "web")
    wait_until(lambda: probe_evicts(probe, name), "it may be evicted")
    wait_until(lambda: not hollow_cluster.api.find(f"{PODS}/{name}"), "the pod ends")
    assert probe.refusal("evict", "default", "none-such").code == "ENOENT"


def probe_evicts(probe, name):
    """True when it was let go; the API server may not have noticed yet that the budget is gone."""
    done = probe.run("evict", "default", name)
    return done.returncode == 0 or json.loads(done.stdout)["code"] == "ENOENT"


def test_foreground_deletion_ends(hollow_cluster):
    probe = Probe(hollow_cluster.credentials.path("admin.kubeconfig"))
    hollow_cluster.kubectl("create", "deployment", "gone", "--image=none/none:1")
    wait_until(lambda: hollow_cluster.kubectl_json("get", "pods", "-l", "app=gone")["items"],
               "it has a pod")
    probe("delete", "deployments", "default", "gone", "-", "-", "Foreground")
    wait_until(lambda: not hollow_cluster.kubectl_json(
        "get", "deployments,replicasets,pods", "-l", "app=gone")["items"], "all of it is gone")


class LateReader:
    """A server of one exec over TLS that reads nothing for a while, so that its client has to wait
    with half a piece sent. It says how many bytes of input came, and their hash."""

    STATUS = b'{"kind":"Status","status":"Success"}'

    def __init__(self, cluster, expected):
        self.expected = expected
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(
            *cluster.credentials.server_certificate("late", ["IP:127.0.0.1"]))
        self.context.set_alpn_protocols(["http/1.1"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        server = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        self.kubeconfig = cluster.credentials.token_kubeconfig("late", "any", server)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.thread.join()

    def serve(self):
        accepted, _ = self.listener.accept()
        with self.context.wrap_socket(accepted, server_side=True) as sock:
            stream = sock.makefile("rb")
            key = ""
            while (line := stream.readline().strip()):
                if line.lower().startswith(b"sec-websocket-key:"):
                    key = line.split()[1].decode()
            accept = base64.b64encode(hashlib.sha1(
                f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()).decode()
            sock.sendall(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                         f"Connection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n"
                         f"Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n".encode())
            time.sleep(0.5)
            data = b""
            while len(data) < self.expected:
                data += self.message(stream)[1:]
            self.say(sock, b"\x01" + hashlib.sha256(data).hexdigest().encode())
            self.say(sock, b"\x03" + self.STATUS)
            sock.sendall(b"\x88\x00")
            stream.read()

    @staticmethod
    def message(stream):
        _, length = stream.read(2)
        length &= 0x7f
        if length >= 126:
            length = int.from_bytes(stream.read(2 if length == 126 else 8), "big")
        mask = stream.read(4)
        masked = int.from_bytes(stream.read(length), "big")
        return (masked ^ int.from_bytes((mask * (length // 4 + 1))[:length], "big")).to_bytes(
            length, "big")

    @staticmethod
    def say(sock, payload):
        sock.sendall(bytes((0x82, len(payload))) + payload)


def test_exec_on_a_server_that_reads_late(api_server):
    text = "".join(f"line {number}\n" for number in range(1000000))
    with LateReader(api_server, len(text)) as server:
        assert execute(Probe(server.kubeconfig), "one", "-i", "--", "cat", text=text) == (
            0, hashlib.sha256(text.encode()).hexdigest(), "")


# ---- with a real node ----

SLEEP = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "long"}, "spec": {
    "terminationGracePeriodSeconds": 0,
    "containers": [{"name": name, "image": images.BUSYBOX,
                    "command": ["sh", "-c", f"echo I am {name}; exec sleep 100000"]}
                   for name in ("one", "two")]}}
# It ends when that is heard: containerd may lose what is written right before the end.
COUNT = "i=0; while [ $i -lt 5 ]; do echo line $i; i=$((i+1)); sleep 0.2; done; until [ -e /heard ]; do sleep 0.1; done"


@pytest.fixture(scope="module")
def node_probe(node_cluster):
    """A probe, and the pod "long" with the containers "one" and "two", running."""
    node_cluster.kubectl("apply", "-f", "-", text=json.dumps(SLEEP))
    wait_until(lambda: all("running" in item["state"] for item in node_cluster.api.get(
        f"{PODS}/long")["status"].get("containerStatuses", [{"state": ()}])), "the pod runs")
    yield Probe(node_cluster.credentials.path("admin.kubeconfig"))
    node_cluster.kubectl("delete", "pod", "long", "--now", "--ignore-not-found")


def execute(probe, *words, text=""):
    done = probe.run("exec", "default", "long", *words, text=text)
    answer = json.loads(done.stdout)
    assert done.returncode == 0, answer
    return answer["exitCode"], answer["output"], answer["error"]


@pytest.mark.node
def test_exec(node_probe):
    assert execute(node_probe, "one", "--", "sh", "-c", "echo out; echo err >&2; exit 7") == (
        7, "out\n", "err\n")
    assert execute(node_probe, "two", "--", "true") == (0, "", "")
    # Words come as they are, and much output comes whole.
    assert execute(node_probe, "one", "--", "printf", "%s|", "a b", "&c=d", "", "ü%", "\n")[1] == (
        "a b|&c=d||ü%|\n|")
    code, output, _ = execute(node_probe, "one", "--", "sh", "-c", "seq 1 300000")
    assert code == 0 and output == "".join(f"{number}\n" for number in range(1, 300001))
    assert execute(node_probe, "one", "--", "sh", "-c", "kill -9 $$")[0] == 137


@pytest.mark.node
def test_exec_with_input(node_probe):
    lines = "".join(f"line {number} {'x' * 100}\n" for number in range(20000))
    code, output, error = execute(node_probe, "one", "-i", "--", "sh", "-c",
                                  "head -n 20000 | sha256sum; echo done >&2", text=lines)
    assert (code, error) == (0, "done\n")
    assert output.split()[0] == hashlib.sha256(lines.encode()).hexdigest()


@pytest.mark.node
def test_exec_with_a_terminal(node_probe):
    code, output, error = execute(
        node_probe, "one", "-i", "-t", "--", "sh", "-c",
        "until [ \"$(stty size)\" = '33 77' ]; do :; done; "
        "read word; tty; echo \"got $word\"; exit 3",
        text="hello\n")
    assert code == 3 and error == ""
    assert "got hello\r\n" in output and "/dev/pts/" in output


@pytest.mark.node
def test_exec_that_cannot_be(node_probe):
    assert node_probe.refusal("exec", "default", "none", "one", "--", "true").code == "ENOENT"
    refused = node_probe.refusal("exec", "default", "long", "three", "--", "true")
    assert refused.code == "EINVAL" and "three" in refused.message
    missing = node_probe.refusal("exec", "default", "long", "one", "--", "/none/such")
    assert "/none/such" in missing.message


@pytest.mark.node
def test_exec_ends_with_its_connection(node_probe, node_cluster):
    with subprocess.Popen([probe_module.PATH, "exec", "default", "long", "two", "--", "sh", "-c",
                           "echo $$; exec sleep 1000"], env=node_probe.environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as running:
        wait_until(lambda: "sleep 1000" in node_cluster.kubectl(
            "exec", "long", "-c", "two", "--", "ps").stdout.replace("sleep 100000", ""), "it runs")
        node_cluster.kubectl("delete", "pod", "long", "--now")
        answer = json.loads(running.stdout.readline())
        assert "code" in answer or answer["exitCode"] == 137


@pytest.mark.node
def test_logs(node_cluster):
    probe = Probe(node_cluster.credentials.path("admin.kubeconfig"))
    document = json.loads(json.dumps(SLEEP))
    document["metadata"]["name"] = "counts"
    document["spec"]["restartPolicy"] = "Never"
    document["spec"]["containers"] = [dict(SLEEP["spec"]["containers"][0],
                                           command=["sh", "-c", COUNT])]
    node_cluster.kubectl("apply", "-f", "-", text=json.dumps(document))
    wait_until(lambda: node_cluster.api.get(f"{PODS}/counts")["status"].get("phase") == "Running", "it runs")
    expected = "".join(f"line {number}\n" for number in range(5)).encode()
    # Followed to its end, and read when it has ended.
    with subprocess.Popen([probe_module.PATH, "logs", "default", "counts", "follow"], env=probe.environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as follower:
        assert follower.stdout.read(len(expected)) == expected
        node_cluster.kubectl("exec", "counts", "--", "touch", "/heard", check=False)  # may be ended with what it ends
        assert follower.stdout.read() == b""
    assert follower.returncode == 0
    assert probe.run("logs", "default", "counts").stdout == expected
    assert probe.refusal("logs", "default", "none").code == "ENOENT"
