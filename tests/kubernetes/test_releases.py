"""Releases on a real API server: versions, updates, rollback, garbage collection, repair of drift. Slipway has the rights
of deploy/kubernetes/release-rights.yaml and no others, and the API server's audit log says what it did."""
import base64
import json

import pytest

from conftest import Servers, wait_until
from releases import PUBLIC, Releases, audit_flags, chart

APP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  color: "{{ .Values.color }}"
---
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector:
    app: web
  ports:
  - name: http
    port: 80
    targetPort: 8080
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - name: app
        image: "app:{{ .Values.color }}"
"""
RED = {"color": "red", "replicas": 2}
BLUE = {"color": "blue", "replicas": 2}


RANDOM = chart({
    "shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    "shop/values.yaml": "color: red\ncart:\n  size: 1\n",
    "shop/templates/secret.yaml": """\
apiVersion: v1
kind: Secret
metadata:
  name: {{ .Release.Name }}-password
stringData:
  password: {{ randAlphaNum 20 }}
  color: {{ .Values.color }}
""",
    "shop/charts/cart/Chart.yaml": "apiVersion: v2\nname: cart\nversion: 1.0.0\n",
    "shop/charts/cart/values.yaml": "size: 2\n",
    "shop/charts/cart/templates/cart.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-cart
data:
  size: "{{ .Values.size }}"
  color: "{{ .Values.color | default "none" }}"
""",
})


def config_map(name, **data):
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


def documents(*texts):
    return "\n---\n".join(texts) + "\n"


@pytest.fixture(scope="module")
def servers():
    servers = Servers()
    yield servers
    servers.end()


@pytest.fixture(scope="module")
def world(start_clusters, servers, tmp_path_factory):
    """A cluster with hollow nodes, and one server for all tests."""
    folder = str(tmp_path_factory.mktemp("releases"))
    cluster = start_clusters(hollow=2, api_flags=audit_flags(folder))
    releases = Releases(cluster, folder)
    releases.install()
    releases.start(servers.start)
    return releases


@pytest.fixture
def releases(world, request):
    """A namespace of the test's own."""
    name = request.node.name.replace("_", "-").removeprefix("test-").partition("[")[0]
    return world.in_namespace(name[:60].rstrip("-"))


def test_create_and_update(releases):
    releases.create("web", APP, RED, description="the first one")
    release = releases.wait_for_available("web", version=1)
    assert releases.config_map("settings")["data"] == {"color": "red"}
    deployment = releases.deployment("web")
    assert deployment["spec"]["replicas"] == 2
    # Everything selects by the track, so that a canary's pods are never taken for these.
    assert deployment["spec"]["selector"]["matchLabels"] == {"app": "web", "slipway.dev/track": "stable"}
    assert releases.object("services", "web")["spec"]["selector"] == {"app": "web", "slipway.dev/track": "stable"}
    for found in (deployment, releases.config_map("settings")):
        assert [owner["uid"] for owner in found["metadata"]["ownerReferences"]] == [release["metadata"]["uid"]]
    assert releases.versions("web") == [1]
    status = release["status"]
    assert status["podStatistics"] == {"oldPods": 0, "updatedPods": 2, "readyPods": 2}
    assert status["details"]["web"]["resources"] == {
        "v1, Kind=ConfigMap": {"Available": 1}, "v1, Kind=Service": {"Available": 1},
        "apps/v1, Kind=Deployment": {"Available": 1}}

    releases.change("web", BLUE)
    release = releases.wait_for_available("web", version=2)
    assert releases.config_map("settings")["data"] == {"color": "blue"}
    assert releases.deployment("web")["metadata"]["uid"] == deployment["metadata"]["uid"]
    assert releases.versions("web") == [1, 2]
    assert "app:blue" in release["status"]["manifest"]


def versions_of(releases, *objects):
    """The resourceVersions of objects, given as (plural, name)."""
    return [releases.object(kind, name)["metadata"]["resourceVersion"] for kind, name in objects]


def test_random_functions_cause_no_churn(releases, world, servers):
    releases.create("web", RANDOM, {"color": "red"})
    releases.wait_for_available("web", version=1)
    objects = (("secrets", "web-password"), ("configmaps", "web-cart"))
    password = releases.object("secrets", "web-password")["data"]["password"]
    before, writes = versions_of(releases, *objects), releases.writes()
    for _ in range(3):
        releases.wait_for_pass("web")
    assert releases.writes() == writes
    world.restart(servers.start)
    releases.server = world.server
    releases.wait_for_pass("web")
    assert versions_of(releases, *objects) == before
    # A new version is rendered once more.
    releases.change("web", {"color": "blue"})
    releases.wait_for_available("web", version=2)
    changed = releases.object("secrets", "web-password")["data"]
    assert changed["password"] != password and base64.b64decode(changed["color"]) == b"blue"
    # And an earlier one is not rendered again.
    releases.change("web", rollbackTo={"version": 1})
    releases.wait_for_available("web", version=1)
    assert releases.object("secrets", "web-password")["data"]["password"] == password


def test_sub_application_path(releases):
    """S03, the Release's part: values and details of a path of the chart."""
    releases.create("web", RANDOM, {"_config": {"color": "green"}, "cart": {"_config": {"size": 7}}})
    release = releases.wait_for_available("web", version=1)
    cart = releases.config_map("web-cart")
    assert cart["data"] == {"size": "7", "color": "none"}
    assert cart["metadata"]["annotations"] == {"helm.sh/path": "shop/cart"}
    assert releases.object("secrets", "web-password")["metadata"]["annotations"] == {"helm.sh/path": "shop"}
    assert release["status"]["details"] == {
        "shop": {"path": "shop", "reason": "Available", "resources": {"v1, Kind=Secret": {"Available": 1}}},
        "shop/cart": {"path": "shop/cart", "reason": "Available",
                      "resources": {"v1, Kind=ConfigMap": {"Available": 1}}}}


def test_public_style_chart(releases):
    releases.create("shop", PUBLIC)
    release = releases.wait_for_available("shop", version=1)
    first = releases.deployment("shop-web")
    assert first["spec"]["template"]["spec"]["containers"][0]["image"] == "web:4.5.6"
    assert release["status"]["details"] == {"web": {"path": "web", "reason": "Available", "resources": {
        "v1, Kind=ServiceAccount": {"Available": 1}, "v1, Kind=ConfigMap": {"Available": 1},
        "v1, Kind=Service": {"Available": 1}, "apps/v1, Kind=Deployment": {"Available": 1},
        "autoscaling/v1, Kind=HorizontalPodAutoscaler": {"Available": 1}}}}
    assert not releases.object("jobs", "shop-web-migrate", "/apis/batch/v1")

    def scale(replicas):
        releases.cluster.kubectl("-n", releases.namespace, "scale", "deployment", "shop-web", f"--replicas={replicas}")

    # The replicas that the autoscaler has set stay, also when the chart has none in its manifest.
    scale(3)
    releases.change("shop", {"color": "blue"})
    releases.wait_for_available("shop", version=2)
    second = releases.deployment("shop-web")
    assert second["spec"]["replicas"] == 3
    assert checksum(second) != checksum(first)
    scale(4)
    releases.change("shop", rollbackTo={"version": 0})
    releases.wait_for_available("shop", version=1)
    assert checksum(releases.deployment("shop-web")) == checksum(first)
    assert releases.deployment("shop-web")["spec"]["replicas"] == 4
    # An object that a value removes is deleted.
    releases.change("shop", {"autoscaling": {"enabled": False}})
    releases.wait_for_available("shop", version=3)
    path = "/apis/autoscaling/v1"
    wait_until(lambda: not releases.object("horizontalpodautoscalers", "shop-web", path), "the autoscaler is gone")
    releases.wait_for_pass("shop")
    wait_until(lambda: releases.deployment("shop-web")["spec"]["replicas"] == 1, "the manifest's replicas count again")


def checksum(deployment):
    return deployment["spec"]["template"]["metadata"]["annotations"]["checksum/config"]


def test_rollback(releases):
    for version, color in enumerate(("red", "green", "blue"), 1):
        if version == 1:
            releases.create("web", APP, {"color": color, "replicas": 1})
        else:
            releases.change("web", {"color": color, "replicas": 1})
        releases.wait_for_available("web", version)
    # 0 is the version before the current one.
    releases.change("web", rollbackTo={"version": 0})
    release = releases.wait_for_available("web", version=2)
    assert json.loads(release["spec"]["config"])["color"] == "green"
    assert releases.config_map("settings")["data"] == {"color": "green"}
    releases.change("web", rollbackTo={"version": 1})
    releases.wait_for_available("web", version=1)
    assert releases.config_map("settings")["data"] == {"color": "red"}
    # A rollback makes no new version; the next change does.
    assert releases.versions("web") == [1, 2, 3]
    releases.change("web", {"color": "black", "replicas": 1})
    releases.wait_for_available("web", version=4)

    # A version that does not exist changes nothing, and says so.
    writes = releases.writes()
    releases.change("web", rollbackTo={"version": 17})
    failure = releases.wait_for_failure("web", "VersionNotFound")
    assert failure["message"] == "there is no version 17 in the history"
    assert {kind for _, kind, _ in releases.writes()[len(writes):]} == {"releases/status"}
    assert releases.config_map("settings")["data"] == {"color": "black"}
    releases.change("web", rollbackTo=None)
    releases.wait_for_available("web", version=4)


def test_history_limit(releases):
    releases.create("web", config_map("settings", color="{{ .Values.color }}"), {"color": "0"}, historyLimit=3)
    releases.wait_for_available("web", version=1)
    for version in range(2, 6):
        releases.change("web", {"color": str(version)})
        releases.wait_for_available("web", version)
    wait_until(lambda: releases.versions("web") == [3, 4, 5], "the oldest versions are gone")
    # The current one stays, also when it is among the oldest.
    releases.change("web", rollbackTo={"version": 3})
    releases.wait_for_available("web", version=3)
    releases.change("web", historyLimit=1)
    wait_until(lambda: releases.versions("web") == [3, 5], "the current version and the newest are left")


def test_garbage_collection(releases):
    claim = json.dumps({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
                        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none",
                                 "resources": {"requests": {"storage": "1Gi"}}}})
    releases.create("web", documents(*(config_map(name) for name in ("a", "b", "c", "d")), claim))
    wait_until(lambda: releases.object("persistentvolumeclaims", "data"), "version 1 is applied")
    release = releases.get("web")
    other = releases.api.post(f"/api/v1/namespaces/{releases.namespace}/configmaps", {
        "metadata": {"name": "other", "labels": {"slipway.dev/release": "web"}}})
    shared = releases.config_map("b")
    owners = shared["metadata"]["ownerReferences"] + [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": other["metadata"]["uid"]}]
    maps = f"/api/v1/namespaces/{releases.namespace}/configmaps"
    releases.api.patch(f"{maps}/b", {"metadata": {"ownerReferences": owners}})
    # Until this time nothing is deleted, because pods may still have connections.
    releases.api.patch(f"{maps}/c", {"metadata": {"annotations": {"slipway.dev/drain-until": "2100-01-01T00:00:00Z"}}})

    releases.change("web", template=config_map("d", changed="yes"))
    releases.wait_for_available("web", version=2)
    releases.wait_for_pass("web")
    assert all(releases.config_map(name) for name in ("a", "b", "c", "d"))
    releases.api.patch(f"{maps}/c", {"metadata": {"annotations": {"slipway.dev/drain-until": None}}})
    wait_until(lambda: not releases.config_map("a") and not releases.config_map("c"), "what left the manifest is gone")
    releases.wait_for_pass("web")
    # Two owners, not ours at all, and data: these stay.
    assert releases.config_map("b") and releases.config_map("other")
    assert releases.object("persistentvolumeclaims", "data")
    assert releases.get("web")["metadata"]["uid"] == release["metadata"]["uid"]


def test_drift_is_repaired(releases):
    releases.create("web", APP, RED)
    releases.wait_for_available("web", version=1)
    maps = f"/api/v1/namespaces/{releases.namespace}/configmaps"
    uid = releases.deployment("web")["metadata"]["uid"]

    releases.api.patch(f"{maps}/settings", {"data": {"color": "wrong"}})
    wait_until(lambda: releases.config_map("settings")["data"] == {"color": "red"}, "the value is restored")
    releases.api.patch(f"{maps}/settings", {"metadata": {"labels": {"slipway.dev/release": None}}})
    wait_until(lambda: (releases.config_map("settings")["metadata"].get("labels") or {}).get("slipway.dev/release"),
               "the label is restored")
    releases.api.delete(f"{maps}/settings")
    wait_until(lambda: releases.config_map("settings"), "the object is created again")
    releases.api.delete(f"/apis/apps/v1/namespaces/{releases.namespace}/deployments/web")
    wait_until(lambda: (releases.deployment("web") or {"metadata": {"uid": uid}})["metadata"]["uid"] != uid,
               "the Deployment is created again")
    releases.cluster.kubectl("-n", releases.namespace, "scale", "deployment", "web", "--replicas", "5")
    wait_until(lambda: releases.deployment("web")["spec"]["replicas"] == 2, "the replicas are restored")
    # Fields that the manifest does not have belong to others.
    releases.api.patch(f"{maps}/settings", {"data": {"mine": "kept"}, "metadata": {"annotations": {"mine": "kept"}}})
    releases.wait_for_pass("web")
    releases.wait_for_available("web", version=1)
    found = releases.config_map("settings")
    assert found["data"] == {"color": "red", "mine": "kept"} and found["metadata"]["annotations"] == {"mine": "kept"}


def test_repairs_have_a_limit(releases):
    """Another client that always changes an object back does not get the controller into a loop of writes."""
    releases.create("web", config_map("settings", color="{{ .Values.color }}"), {"color": "red"})
    releases.wait_for_available("web", version=1)
    path = f"/api/v1/namespaces/{releases.namespace}/configmaps/settings"
    for _ in range(10):
        releases.api.patch(path, {"data": {"color": "wrong"}})
        wait_until(lambda: releases.config_map("settings")["data"] == {"color": "red"}, "the value is restored")
    releases.api.patch(path, {"data": {"color": "wrong"}})
    wait_until(lambda: releases.condition("web", "Available")["status"] == "False", "the change is seen")
    releases.wait_for_pass("web")
    assert releases.config_map("settings")["data"] == {"color": "wrong"}
    # A new version does not wait.
    releases.change("web", {"color": "blue"})
    releases.wait_for_available("web", version=2)
    assert releases.config_map("settings")["data"] == {"color": "blue"}


def test_foreign_objects_are_refused(releases):
    """S07, the Release's part."""
    maps = f"/api/v1/namespaces/{releases.namespace}/configmaps"
    foreign = releases.api.post(maps, {"metadata": {"name": "b"}, "data": {"owner": "someone"}})
    releases.create("web", documents(config_map("a"), config_map("b", owner="web")))
    failure = releases.wait_for_failure("web", "NameConflict")
    assert failure["message"] == "ConfigMap 'b' exists and does not belong to this Release"
    # Nothing of the version was applied, and the object is as it was.
    assert not releases.config_map("a")
    assert releases.config_map("b") == foreign
    releases.api.delete(f"{maps}/b")
    releases.wait_for_available("web", version=1)
    assert releases.config_map("b")["data"] == {"owner": "web"}


def test_suspend(releases):
    job = json.dumps({"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": {
        "schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "app", "image": "app"}]}}}}}})
    releases.create("web", documents(APP, job), RED)
    releases.wait_for_available("web", version=1)
    releases.change("web", suspend=True)
    wait_until(lambda: releases.deployment("web")["spec"]["replicas"] == 0, "there are no replicas")
    assert wait_until(lambda: releases.object("cronjobs", "nightly", "/apis/batch/v1beta1")["spec"]["suspend"],
                      "the CronJob is suspended")
    # It is the same version, and is available without pods.
    releases.wait_for_available("web", version=1)
    wait_until(lambda: releases.get("web")["status"]["podStatistics"]["updatedPods"] == 0, "there are no pods")
    releases.change("web", suspend=False)
    releases.wait_for_available("web", version=1)
    assert releases.deployment("web")["spec"]["replicas"] == 2
    assert not releases.object("cronjobs", "nightly", "/apis/batch/v1beta1")["spec"].get("suspend")
    assert releases.versions("web") == [1]


def test_too_large(releases):
    """A Release that does not fit into one object is refused with its sizes, before anything is applied."""
    releases.create("web", config_map("settings", color="red"))
    releases.wait_for_available("web", version=1)
    writes = releases.writes()
    large = documents(config_map("settings", color="blue"), config_map("large", text="x" * 800_000))
    releases.change("web", template=large)
    failure = releases.wait_for_failure("web", "TooLarge")
    assert "too large for one Kubernetes object (limit 1400000 bytes as JSON): template 800" in failure["message"]
    assert "manifest 800" in failure["message"]
    assert {kind for _, kind, _ in releases.writes()[len(writes):]} == {"releases/status"}
    assert releases.config_map("settings")["data"] == {"color": "red"} and releases.versions("web") == [1]
    assert releases.condition("web", "Available")["status"] == "True"


def test_template_errors(releases):
    releases.create("web", config_map("settings", color="{{ .Values.color }}"), {"color": "red"})
    releases.wait_for_available("web", version=1)
    releases.change("web", template="apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include x }}\n")
    failure = releases.wait_for_failure("web", "RenderFailed")
    assert "line 4: '{{ include x }}'" in failure["message"]
    # The current version still runs, and is still looked after.
    releases.api.delete(f"/api/v1/namespaces/{releases.namespace}/configmaps/settings")
    wait_until(lambda: releases.config_map("settings"), "version 1 is repaired")
    # Errors of the API server are shown, too.
    releases.change("web", template=json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                                                "spec": {"ports": [{"port": 99999, "protocol": "TCP"}]}}))
    failure = releases.wait_for_failure("web", "ApplyFailed")
    assert failure["message"].startswith("Service 'web': ") and "99999" in failure["message"]
    releases.change("web", rollbackTo={"version": 1})
    releases.wait_for_available("web", version=1)


def test_killed_in_the_middle_of_an_apply(releases, world, servers):
    """S41, the Release's part: kill -9 while a version is applied."""
    names = [f"map-{number:02}" for number in range(40)]

    def template(color):
        return documents(*(config_map(name, color=color) for name in names))

    def applied(color):
        items, _ = releases.api.list(f"/api/v1/namespaces/{releases.namespace}/configmaps")
        return sum(item["data"].get("color") == color for item in items if item["metadata"]["name"] in names)

    for version, color in enumerate(("red", "blue"), 1):
        if version == 1:
            releases.create("web", template(color))
        else:
            releases.change("web", template=template(color))
        wait_until(lambda color=color: applied(color) > 0, "some objects are applied")
        world.restart(servers.start)
        releases.server = world.server
        releases.wait_for_available("web", version)
        assert applied(color) == len(names)
        assert releases.versions("web") == list(range(1, version + 1))
    created = [name for verb, kind, name in releases.writes() if kind == "releasehistories"]
    assert len(created) == 2
