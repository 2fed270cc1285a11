"""Releases whose objects others change, too: autoscalers, canaries, other field managers, another slipway. And the rights
that the controller has: what the API server's audit log shows is what the roles grant."""
import json
import os
import signal

import pytest

from api import ApiError
from conftest import DEADLINE, Servers, wait_until
from releases import GROUP, Releases, audit_flags
from test_releases import APP, BLUE, RED, config_map, documents

RELEASE_WORKERS = 4
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def servers():
    servers = Servers()
    yield servers
    servers.end()


@pytest.fixture(scope="module")
def world(start_clusters, servers, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("releases"))
    cluster = start_clusters(hollow=2, api_flags=audit_flags(folder))
    releases = Releases(cluster, folder)
    releases.install()
    releases.start(servers.start)
    return releases


@pytest.fixture
def releases(world, request):
    """A namespace of the test's own."""
    return world.in_namespace(request.node.name.replace("_", "-").removeprefix("test-")[:60].rstrip("-"))


def named(api_version, kind, name, **members):
    return json.dumps({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **members})


def test_replicas_of_an_autoscaler_stay(releases):
    """S40, the Release's part."""
    scaler = named("autoscaling/v1", "HorizontalPodAutoscaler", "web", spec={
        "minReplicas": 1, "maxReplicas": 10, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment",
                                                                "name": "web"}})
    releases.create("web", documents(APP, scaler), RED)
    releases.wait_for_available("web", version=1)
    releases.cluster.kubectl("-n", releases.namespace, "scale", "deployment", "web", "--replicas", "5")
    releases.change("web", BLUE)
    releases.wait_for_available("web", version=2)
    assert releases.deployment("web")["spec"]["replicas"] == 5
    assert releases.deployment("web")["spec"]["template"]["spec"]["containers"][0]["image"] == "app:blue"


def take_over(releases, service, selector, target_port):
    """As the CanaryRelease controller does: an update with the resourceVersion."""
    path = f"/api/v1/namespaces/{releases.namespace}/services/web"
    service = json.loads(json.dumps(service))
    service["metadata"]["annotations"] = {"slipway.dev/taken-over-by": "web-abcde"} if selector else {}
    if selector:
        service["spec"]["selector"] = selector
        service["spec"]["ports"][0]["targetPort"] = target_port
    return releases.api.put(path, service, fieldManager="slipway-canary")


def test_taken_over_service_is_left_alone(releases):
    """Upstream's defect 4: the Release controller resets the Service of an active canary."""
    releases.create("web", APP, RED)
    releases.wait_for_available("web", version=1)
    original = releases.object("services", "web")
    # One that exists and does nothing, so that the Service is not taken for an orphan.
    releases.api.post(f"{GROUP}/namespaces/{releases.namespace}/canaryreleases", {
        "apiVersion": "slipway.dev/v1alpha1", "kind": "CanaryRelease", "metadata": {"name": "web-abcde"},
        "spec": {"release": "web", "version": 1, "path": "nothing"}})
    taken = take_over(releases, original, {"app": "web", "slipway.dev/proxy": "web-abcde"}, 9001)
    releases.wait_for_pass("web")
    # A label that was removed is restored; what the canary holds is not touched, nor by a new version.
    releases.api.patch(f"/api/v1/namespaces/{releases.namespace}/services/web",
                       {"metadata": {"labels": {"slipway.dev/release": None}}})
    wait_until(lambda: releases.object("services", "web")["metadata"].get("labels"), "the label is restored")
    releases.change("web", BLUE)
    releases.wait_for_available("web", version=2)
    found = releases.object("services", "web")
    assert found["spec"] == taken["spec"]
    # Restored: exactly the original, with one selector.
    restored = dict(found, spec=original["spec"])
    take_over(releases, restored, None, None)
    releases.wait_for_available("web", version=2)
    releases.wait_for_pass("web")
    assert releases.object("services", "web")["spec"] == original["spec"]


def test_selectors_of_two_managers_are_not_merged(releases):
    """Before Kubernetes 1.21 apply merges selectors, and the Service selects nothing."""
    def service(selector, *ports):
        return named("v1", "Service", "web", spec={"selector": selector, "ports": [
            {"name": f"p{port}", "port": port} for port in ports]})

    releases.create("web", service({"app": "web", "tier": "front"}, 80, 81))
    releases.wait_for_available("web", version=1)
    path = f"/api/v1/namespaces/{releases.namespace}/services/web"
    found = releases.object("services", "web")
    releases.api.put(path, dict(found, spec=dict(found["spec"], selector={"app": "other"})), fieldManager="other")
    wait_until(lambda: releases.object("services", "web")["spec"]["selector"] == {"app": "web", "tier": "front"},
               "the selector is restored")
    # Now another manager owns a part of it, and the next version has neither this part nor the port.
    found = releases.object("services", "web")
    releases.api.patch(path, {"apiVersion": "v1", "kind": "Service", "spec": {
        "selector": found["spec"]["selector"], "ports": found["spec"]["ports"]}},
        "application/apply-patch+yaml", fieldManager="other", force="true")
    releases.change("web", template=service({"app": "web"}, 80))
    releases.wait_for_available("web", version=2)
    found = releases.object("services", "web")["spec"]
    assert found["selector"] == {"app": "web"}
    assert [port["port"] for port in found["ports"]] == [80]


def job(command, **spec):
    return named("batch/v1", "Job", "migrate", spec={**spec, "template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "app", "image": "app", "command": [command]}]}}})


def test_jobs(releases):
    """A Job's template cannot change: a new version replaces the Job. One that is gone is over."""
    releases.create("web", job("one"))
    path = f"/apis/batch/v1/namespaces/{releases.namespace}/jobs/migrate"
    first = wait_until(lambda: releases.api.find(path), "the Job is created")
    wait_until(lambda: releases.get("web").get("status", {}).get("appliedVersion") == 1, "version 1 is applied")
    assert releases.condition("web", "Available")["message"] == "Job 'migrate': the job is not complete"
    releases.change("web", template=job("two"))
    wait_until(lambda: (releases.api.find(path) or first)["metadata"]["uid"] != first["metadata"]["uid"],
               "the Job is replaced")
    assert releases.api.get(path)["spec"]["template"]["spec"]["containers"][0]["command"] == ["two"]
    wait_until(lambda: releases.get("web")["status"].get("appliedVersion") == 2, "version 2 is applied")
    releases.api.delete(path, {"propagationPolicy": "Background"})
    wait_until(lambda: not releases.api.find(path), "the Job is gone")
    releases.wait_for_available("web", version=2)
    releases.wait_for_pass("web")
    assert not releases.api.find(path)


def test_objects_without_a_namespace(releases):
    """They need rights of their own, an aggregated role gives them, and they are deleted with the Release."""
    path = "/apis/scheduling.k8s.io/v1/priorityclasses/shop-high"
    releases.create("web", documents(config_map("a"), named(
        "scheduling.k8s.io/v1", "PriorityClass", "shop-high", value=1000)))
    failure = releases.wait_for_failure("web", "ApplyFailed")
    assert "priorityclasses" in failure["message"] and "forbidden" in failure["message"], failure
    releases.api.post(RBAC + "/clusterroles", {
        "metadata": {"name": "priorities", "labels": {"slipway.dev/aggregate-to-releases": "true"}},
        "rules": [{"apiGroups": ["scheduling.k8s.io"], "resources": ["priorityclasses"],
                   "verbs": ["get", "list", "watch", "create", "patch", "delete"]}]})
    releases.wait_for_available("web", version=1)
    assert releases.api.get(path)["metadata"]["annotations"] == {"slipway.dev/owner": f"{releases.namespace}/web"}
    releases.delete("web")
    wait_until(lambda: not releases.api.find(path), "it is deleted with the Release")
    releases.api.delete(RBAC + "/clusterroles/priorities")


def test_only_the_holder_of_the_lease_acts(releases, world, servers):
    """S49, the Release's part: a second server waits, and takes over when the first one has stopped."""
    second = Releases(world.cluster, world.folder, releases.namespace)
    second.start(servers.start)
    lease = "/apis/coordination.k8s.io/v1/namespaces/slipway/leases/slipway-releases"
    holder = world.api.get(lease)["spec"]["holderIdentity"]
    releases.create("web", APP, RED)
    releases.wait_for_available("web", version=1)
    assert "slipway_release_lease_held 0" in second.server.get("/metrics").text
    assert second.reconciles() == 0
    assert world.api.get(lease)["spec"]["holderIdentity"] == holder
    world.server.stop()
    releases.change("web", BLUE)
    second.wait_for_available("web", version=2)
    assert world.api.get(lease)["spec"]["holderIdentity"] != holder
    world.server = second.server
    releases.server = second.server


def test_a_server_that_lost_the_lease_writes_nothing(releases, world, servers):
    """S49, the Release's part: a server that was stopped in the middle of an apply, while another one took over."""
    world.server.stop()
    world.start(servers.start, state=world.server.state, leaseDuration="4s")
    names = [f"map-{number:02}" for number in range(40)]
    maps = f"/api/v1/namespaces/{releases.namespace}/configmaps"
    releases.create("web", documents(*(config_map(name) for name in names)))
    wait_until(lambda: len(releases.api.list(maps, labelSelector="slipway.dev/release")[0]) > 1, "it applies")
    os.kill(world.server.process.pid, signal.SIGSTOP)
    try:
        second = Releases(world.cluster, world.folder, releases.namespace)
        second.start(servers.start, user="admin", leaseDuration="4s")
        second.wait_for_available("web", version=1)
        before = releases.writes()
        releases.change("web", template=documents(*(config_map(name, color="blue") for name in names)))
        second.wait_for_available("web", version=2)
    finally:
        os.kill(world.server.process.pid, signal.SIGCONT)
    wait_until(lambda: "slipway_release_lease_held 0" in world.server.get("/metrics").text, "the lease is lost")
    # A request that was under way when it was stopped may be answered late, and is one of version 1.
    assert len(releases.writes()) <= len(before) + RELEASE_WORKERS
    assert all(item["data"] == {"color": "blue"} for item in releases.api.list(maps, labelSelector="slipway.dev/release")[0])
    second.server.stop()
    world.restart(servers.start)


def test_one_namespace(releases, world, servers):
    """releases.namespace: Releases of other namespaces are not touched."""
    world.server.stop()
    other = world.in_namespace("other-namespace")
    world.start(servers.start, state=world.server.state, namespace=releases.namespace)
    other.create("web", APP, RED)
    releases.create("web", APP, RED)
    releases.wait_for_available("web", version=1)
    assert "status" not in other.get("web") and not other.deployment("web")
    world.server.stop()
    world.start(servers.start, state=world.server.state)
    other.wait_for_available("web", version=1)


def test_definitions(releases):
    """The resource definitions are structural, have columns and short names, and refuse what is wrong."""
    for name in ("releases", "releasehistories", "canaryreleases"):
        definition = releases.api.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}.slipway.dev")
        conditions = {condition["type"]: condition["status"] for condition in definition["status"]["conditions"]}
        assert conditions.get("NonStructuralSchema", "False") == "False" and conditions["Established"] == "True"
    for spec, field in (({"template": ""}, "spec.template"), ({}, "spec.template"),
                        ({"template": "a", "rollbackTo": {"version": -1}}, "spec.rollbackTo.version"),
                        ({"template": "a", "historyLimit": 0}, "spec.historyLimit"),
                        ({"template": "a", "suspend": "yes"}, "spec.suspend")):
        with pytest.raises(ApiError) as refused:
            releases.api.post(releases.path(), {"apiVersion": "slipway.dev/v1alpha1", "kind": "Release",
                                                "metadata": {"name": "wrong"}, "spec": spec})
        assert refused.value.status == 422 and field in refused.value.body["message"]
    releases.create("web", APP, RED)
    releases.wait_for_available("web", version=1)
    shown = releases.cluster.kubectl("-n", releases.namespace, "get", "rel").stdout.splitlines()
    assert shown[0].split() == ["NAME", "VERSION", "AVAILABLE", "PROGRESSING", "FAILURE", "AGE"]
    assert shown[1].split()[:4] == ["web", "1", "True", "False"]
    shown = releases.cluster.kubectl("-n", releases.namespace, "get", "rlh").stdout.splitlines()
    assert shown[1].split()[:3] == ["web-v1", "web", "1"]


def test_watches_that_end(releases, world):
    """S50, the Release's part: a watch that cannot be continued is started with a list."""
    releases.create("web", APP, RED)
    releases.wait_for_available("web", version=1)
    world.cluster.stop_api_server()
    world.cluster.start_api_server()
    world.cluster.forget_history()
    releases.change("web", BLUE)
    releases.wait_for_available("web", version=2)
    releases.api.delete(f"/api/v1/namespaces/{releases.namespace}/configmaps/settings")
    wait_until(lambda: releases.config_map("settings"), "drift is repaired")


def test_everything_is_deleted_with_the_release(releases):
    releases.create("web", APP, RED)
    releases.wait_for_available("web", version=1)
    releases.delete("web")
    # Kubernetes' own garbage collector does it; it looks for new resource definitions every 30 seconds.
    wait_until(lambda: not releases.deployment("web") and not releases.config_map("settings") and
               not releases.versions("web"), "everything of the Release is gone", max(DEADLINE, 90))


# ---- commands ----

def test_commands(releases, tmp_path):
    manifests, values = tmp_path / "web.yaml", tmp_path / "values.yaml"
    manifests.write_text(APP)
    values.write_text("color: red\nreplicas: 1\n")
    done = releases.release("apply", "web", "--manifests", manifests, "--values", values, "--wait", "--timeout", "100",
                            "--description", "the first")
    assert done.stdout == "release.slipway.dev/web created\nrelease.slipway.dev/web is available\n"
    assert releases.release("apply", "web", "--values", values).stdout == "release.slipway.dev/web unchanged\n"
    values.write_text("color: blue\nreplicas: 1\n")
    done = releases.release("apply", "web", "--values", values, "--wait", "--timeout", "100", "--description", "the second")
    assert done.stdout == "release.slipway.dev/web configured\nrelease.slipway.dev/web is available\n"
    history = json.loads(releases.release("history", "web", "-o", "json").stdout)
    assert [(version["version"], version["current"], version["description"]) for version in history] == [
        (1, False, "the first"), (2, True, "the second")]
    assert releases.release("history", "web").stdout.splitlines()[0].split() == [
        "VERSION", "CURRENT", "AGE", "DESCRIPTION"]
    assert releases.release("rollback", "web", "--wait", "--timeout", "100").stdout == (
        "release.slipway.dev/web rolled back\nrelease.slipway.dev/web is available\n")
    assert releases.config_map("settings")["data"] == {"color": "red"}
    status = json.loads(releases.release("status", "web", "-o", "json").stdout)
    assert status["version"] == 1 and "manifest" not in status
    shown = releases.release("status", "web").stdout
    assert f"Release web in namespace {releases.namespace}: version 1\n" in shown
    assert "apps/v1, Kind=Deployment" in shown
    # kubectl knows the conditions and the columns, too.
    releases.cluster.kubectl("-n", releases.namespace, "wait", "--for=condition=Available", "rel/web", "--timeout=10s")
    assert releases.release("delete", "web").stdout == "release.slipway.dev/web deleted\n"


def test_command_with_a_chart(releases, tmp_path):
    folder = tmp_path / "shop"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text("color: red\n")
    (folder / "templates/settings.yaml").write_text(config_map("{{ .Release.Name }}", color="{{ .Values.color }}"))
    releases.release("apply", "web", "--chart", folder, "--wait", "--timeout", "100")
    assert releases.config_map("web")["data"] == {"color": "red"}
    # The same chart is the same version.
    assert releases.release("apply", "web", "--chart", folder).stdout == "release.slipway.dev/web unchanged\n"
    (folder / "values.yaml").write_text("color: blue\n")
    releases.release("apply", "web", "--chart", folder, "--wait", "--timeout", "100")
    assert releases.config_map("web")["data"] == {"color": "blue"}
    # Values are optional, also in a version to which a rollback returns.
    values = tmp_path / "values.yaml"
    values.write_text("color: green\n")
    releases.release("apply", "web", "--values", values, "--wait", "--timeout", "100")
    assert releases.config_map("web")["data"] == {"color": "green"}
    releases.release("rollback", "web", "--wait", "--timeout", "100")
    assert releases.config_map("web")["data"] == {"color": "blue"}
    assert "config" not in releases.get("web")["spec"]
    assert releases.versions("web") == [1, 2, 3]


def test_command_errors(releases, tmp_path):
    def fails(*arguments, code=1):
        done = releases.release(*arguments, check=False)
        assert done.returncode == code, done
        return done.stderr

    where = f"releases.slipway.dev \"web\" not found in namespace \"{releases.namespace}\"\n"
    for verb in ("status", "history", "rollback", "delete"):
        assert fails(verb, "web") == "slipway: " + where
    values = tmp_path / "values.yaml"
    values.write_text("[1, 2]\n")
    assert "the values are an array, not an object" in fails("apply", "web", "--values", values)
    values.write_text("a: 1\n")
    assert "a new one needs --manifests or --chart" in fails("apply", "web", "--values", values)
    assert "is neither the folder of a chart nor a packaged one (.tgz)" in fails("apply", "web", "--chart", values)
    assert "--history-limit is '0', not a number from 1 to 1000" in fails(
        "apply", "web", "--manifests", values, "--history-limit", "0")
    assert "needs the name of a Release" in fails("status", code=2)
    assert "unknown verb 'undo'" in fails("undo", "web", code=2)
    manifests = tmp_path / "web.yaml"
    manifests.write_text("{{ nothing }}\n")
    assert "RenderFailed: spec.template: line 1: '{{ nothing }}'" in fails(
        "apply", "web", "--manifests", manifests, "--wait", "--timeout", "100")


# ---- rights ----

def everything(size):
    """One object of every kind that the roles name."""
    pods = {"metadata": {"labels": {"app": "all"}}, "spec": {"containers": [{"name": "app", "image": "app"}]}}
    finite = {"template": {"spec": dict(pods["spec"], restartPolicy="Never")}, "ttlSecondsAfterFinished": size}
    workload = {"selector": {"matchLabels": {"app": "all"}}, "template": pods}
    data = {"metadata": {"name": "all", "annotations": {"size": str(size)}}}
    specs = {
        "v1 ConfigMap": {}, "v1 Secret": {}, "v1 ServiceAccount": {},
        "v1 PersistentVolumeClaim": {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none",
                                              "resources": {"requests": {"storage": "1Gi"}}}},
        "v1 Service": {"spec": {"selector": {"app": "all"}, "ports": [{"port": 80}]}},
        "apps/v1 DaemonSet": {"spec": workload}, "apps/v1 Deployment": {"spec": workload},
        "apps/v1 StatefulSet": {"spec": dict(workload, serviceName="all")},
        "autoscaling/v1 HorizontalPodAutoscaler": {"spec": {"maxReplicas": 3, "scaleTargetRef": {
            "apiVersion": "apps/v1", "kind": "Deployment", "name": "all"}}},
        "batch/v1 Job": {"spec": finite},
        "batch/v1beta1 CronJob": {"spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": finite}}},
        "networking.k8s.io/v1 Ingress": {"spec": {"defaultBackend": {"service": {"name": "all", "port": {
            "number": 80}}}}},
        "networking.k8s.io/v1 NetworkPolicy": {"spec": {"podSelector": {}}},
        "policy/v1beta1 PodDisruptionBudget": {"spec": {"maxUnavailable": 1, "selector": {"matchLabels": {
            "app": "all"}}}},
    }
    return documents(*(json.dumps({"apiVersion": name.split()[0], "kind": name.split()[1], **data, **spec})
                       for name, spec in specs.items()))


def test_rights_are_enough_and_no_more(releases, world, servers):
    """Nothing granted is unused, nothing used is missing: by the API server's audit log. test_canary.py has the rest."""
    releases.create("web", everything(1))
    wait_until(lambda: releases.get("web").get("status", {}).get("appliedVersion") == 1, "everything is created")
    service = releases.object("services", "all")
    releases.api.put(f"/api/v1/namespaces/{releases.namespace}/services/all",
                     dict(service, spec=dict(service["spec"], selector={"x": "y"})), fieldManager="other")
    wait_until(lambda: releases.object("services", "all")["spec"]["selector"] == service["spec"]["selector"],
               "the selector is restored")
    releases.change("web", template=config_map("left"))
    releases.wait_for_available("web", version=2)
    releases.change("web", template=config_map("left", changed="yes"))
    releases.wait_for_available("web", version=3)
    releases.change("web", rollbackTo={"version": 2}, historyLimit=1)
    releases.wait_for_available("web", version=2)
    wait_until(lambda: releases.versions("web") == [2, 3], "version 1 is gone")
    # Watches are in the audit log when they have ended.
    world.server.stop()
    rights, canaries = releases.granted("control", "objects"), releases.granted("canaries")
    assert not releases.used(403) - rights - canaries
    wait_until(lambda: rights <= releases.used(200, 201, 404, 409) <= rights | canaries,
               f"unused: {rights - releases.used(200, 201, 404, 409)}, "
               f"missing: {releases.used(200, 201, 404, 409) - rights - canaries}")
    world.start(servers.start, state=world.server.state)
