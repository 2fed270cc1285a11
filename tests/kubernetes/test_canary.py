"""CanaryReleases on a real API server with hollow nodes: what the controller creates, takes over, restores and deletes.
Proxies are real processes; traffic is tested on a real node (test_canary_traffic.py)."""
import json

import pytest

from canary import Canaries, ProxyRunner, path
from conftest import Servers, wait_until
from releases import PUBLIC, Releases, audit_flags, chart

APP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: "{{ .Values.color }}"}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: NodePort
  selector: {app: web}
  ports:
  - {name: http, port: 80, targetPort: http}
  - {name: dns, port: 53, protocol: UDP}
---
apiVersion: v1
kind: Service
metadata: {name: admin}
spec:
  selector: {app: web}
  ports:
  - {port: 9000}
---
apiVersion: v1
kind: Service
metadata: {name: peers}
spec:
  clusterIP: None
  selector: {app: web}
  ports:
  - {port: 9000}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: "app:{{ .Values.color }}"
        ports: [{name: http, containerPort: 8000}]
        envFrom: [{configMapRef: {name: settings}}]
"""
RED, BLUE = {"color": "red"}, {"color": "blue"}
NAME = "web-abcde"
WEB = {"service": "web", "ports": [{"port": 80, "config": {"weight": 10}}]}


@pytest.fixture(scope="module")
def servers():
    started = Servers()
    yield started
    started.end()


@pytest.fixture(scope="module")
def world(start_clusters, servers, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("canary"))
    cluster = start_clusters(hollow=2, api_flags=audit_flags(folder))
    releases = Releases(cluster, folder)
    releases.install()
    runner = ProxyRunner(cluster)
    try:
        releases.start(servers.start)
        yield releases
    finally:
        runner.stop()


@pytest.fixture
def canaries(world, request):
    """A namespace with a Release at version 1."""
    name = request.node.name.lower().replace("[", "-").replace("_", "-").rstrip("]").removeprefix("test-")
    releases = world.in_namespace(name[:60].rstrip("-"))
    releases.create("web", APP, RED)
    releases.wait_for_available("web", version=1)
    return Canaries(releases)


# A chart with an application in a sub-chart.
SHOP = chart({
    "shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    "shop/values.yaml": "color: red\ncart:\n  color: red\n",
    "shop/templates/all.yaml": APP.replace("metadata: {name: settings}", "metadata: {name: front-settings}")
                                  .replace("{name: settings}", "{name: front-settings}").replace("web", "front"),
    "shop/charts/cart/Chart.yaml": "apiVersion: v2\nname: cart\nversion: 1.0.0\n",
    "shop/charts/cart/values.yaml": "color: red\n",
    "shop/charts/cart/templates/all.yaml": APP.replace("name: admin", "name: cart-admin").replace(
        "name: peers", "name: cart-peers"),
})


def release_of(canaries, name, template, values=None):
    """Another Release in the namespace."""
    canaries.releases.create(name, template, values)
    canaries.releases.wait_for_available(name, version=1)


def service(canaries, name="web"):
    return canaries.releases.object("services", name)


def without_versions(found):
    """An object without what every write changes."""
    metadata = {key: value for key, value in found["metadata"].items()
                if key not in ("resourceVersion", "managedFields")}
    return {**found, "metadata": metadata}


def objects(canaries):
    """Names of everything in the namespace that can be a canary's."""
    kinds = {"services": "/api/v1", "configmaps": "/api/v1", "serviceaccounts": "/api/v1", "deployments": "/apis/apps/v1",
             "roles": "/apis/rbac.authorization.k8s.io/v1", "rolebindings": "/apis/rbac.authorization.k8s.io/v1"}
    found = set()
    for kind, group in kinds.items():
        items, _ = canaries.api.list(f"{group}/namespaces/{canaries.namespace}/{kind}")
        found |= {f"{kind}/{item['metadata']['name']}" for item in items}
    return found - {"configmaps/kube-root-ca.crt", "serviceaccounts/default"}


def test_create_and_deprecate(canaries):
    """scenarios 1, 10 and 35: afterwards it is as if nothing had happened"""
    before, names = service(canaries), objects(canaries)
    canaries.create(NAME, [WEB], values=BLUE)
    found = canaries.wait_for_available(NAME)
    status = found["status"]
    assert status["observedGeneration"] == found["metadata"]["generation"]
    assert "web-canary" in status["manifest"]
    taken = service(canaries)
    assert taken["spec"]["clusterIP"] == before["spec"]["clusterIP"]
    assert taken["spec"]["selector"]["slipway.dev/created-by"] == f"{canaries.namespace}.{NAME}"
    for now, then in zip(taken["spec"]["ports"], before["spec"]["ports"]):
        assert {**now, "targetPort": None} == {**then, "targetPort": None}
        assert now["targetPort"] >= 8080
    for copy, track in (("web-forked", "stable"), ("web-canary", "abcde")):
        spec = service(canaries, copy)["spec"]
        assert spec["type"] == "ClusterIP" and not any("nodePort" in port for port in spec["ports"])
        assert spec["selector"] == {"app": "web", "slipway.dev/track": track}
    proxy = canaries.releases.deployment(f"{NAME}-proxy")
    assert proxy["metadata"]["ownerReferences"][0]["name"] == NAME
    canary = canaries.releases.deployment("web-abcde")
    assert {owner["kind"] for owner in canary["metadata"]["ownerReferences"]} == {"CanaryRelease", "Release"}
    assert canaries.releases.config_map("settings-abcde")["data"] == BLUE
    assert service(canaries, "admin")["spec"]["selector"] == {"app": "web", "slipway.dev/track": "stable"}

    canaries.change(NAME, transition="Deprecated")
    status = canaries.wait_for_phase(NAME, "Deprecated")["status"]
    assert "manifest" not in status
    assert canaries.conditions(NAME)["Archived"] == ("True", "Deprecated")
    assert without_versions(service(canaries)) == without_versions(before)
    wait_until(lambda: objects(canaries) == names, "nothing of the canary is left")


def test_adopt_twice(canaries):
    """scenario 31, twice: the second canary stands beside the first one"""
    for number, (name, track, color) in enumerate(((NAME, "abcde", "blue"), ("web-fghij", "fghij", "green")), 1):
        canaries.create(name, [WEB], version=number, values={"color": color})
        canaries.wait_for_available(name)
        uid = canaries.releases.deployment(f"web-{track}")["metadata"]["uid"]
        canaries.change(name, transition="Adopted")
        canaries.wait_for_phase(name, "Adopted")
        release = canaries.releases.wait_for_available("web", version=number + 1)
        assert json.loads(release["spec"]["config"]) == {"color": color}
        adopted = canaries.releases.deployment(f"web-{track}")
        assert adopted["metadata"]["uid"] == uid
        assert [owner["kind"] for owner in adopted["metadata"]["ownerReferences"]] == ["Release"]
        assert "slipway.dev/created-by" not in adopted["metadata"]["labels"]
        assert service(canaries)["spec"]["selector"] == {"app": "web", "slipway.dev/track": track}
        assert [port["targetPort"] for port in service(canaries)["spec"]["ports"]] == ["http", 53]
        assert "annotations" not in service(canaries)["metadata"] or \
            "slipway.dev/taken-over-by" not in service(canaries)["metadata"]["annotations"]
        canaries.wait(name, lambda kept=track: {each for each in objects(canaries) if each.startswith("deployments/")} ==
                      {f"deployments/web-{kept}"}, "the earlier version and the proxy are gone")
    assert canaries.releases.versions("web") == [1, 2, 3]
    assert {name for name in objects(canaries) if name.startswith("services/")} == \
        {"services/web", "services/admin", "services/peers"}


@pytest.mark.parametrize("spec, reason", [
    ({"path": "shop/nope"}, "InvalidPath"),
    ({"services": [{"service": "nope"}]}, "ServiceNotFound"),
    ({"services": [{"service": "web", "ports": [{"port": 81}]}]}, "PortNotFound"),
    ({"services": [{"service": "peers"}]}, "HeadlessUnsupported"),
])
def test_refused(canaries, spec, reason):
    """scenarios 4 and 10: nothing is created, the Service is as before"""
    before, names = service(canaries), objects(canaries)
    canaries.create(NAME, **{"services": [WEB], "values": BLUE, **spec})
    canaries.wait_for(NAME, "Failure", reason)
    assert objects(canaries) == names and service(canaries) == before


def test_name_conflict(canaries):
    """scenario 7"""
    before = service(canaries)
    path = f"/api/v1/namespaces/{canaries.namespace}/services"
    foreign = canaries.api.post(path, {"metadata": {"name": "web-forked"}, "spec": {"ports": [{"port": 1}]}})
    canaries.create(NAME, [WEB], values=BLUE)
    canaries.wait_for(NAME, "Failure", "NameConflict")
    assert service(canaries) == before
    assert canaries.api.get(f"{path}/web-forked") == foreign


def test_second_canary(canaries):
    """scenario 8: of the same Service it is refused, of another one allowed"""
    canaries.create(NAME, [WEB], values=BLUE)
    canaries.wait_for_available(NAME)
    taken = service(canaries)
    canaries.create("web-fghij", [WEB], values={"color": "green"})
    canaries.wait_for("web-fghij", "Failure", "ServiceAlreadyCanaried")
    assert canaries.releases.deployment("web-fghij") is None
    assert without_versions(service(canaries)) == without_versions(taken)
    canaries.create("web-klmno", [{"service": "admin"}], values={"color": "green"})
    canaries.wait_for_available("web-klmno")


def test_other_version(canaries):
    """scenario 9"""
    before = service(canaries)
    canaries.create(NAME, [WEB], version=2, values=BLUE)
    assert canaries.wait_for_phase(NAME, "Deprecated")["spec"]["transition"] == "Deprecated"
    assert service(canaries) == before


def test_config_edit(canaries):
    """scenario 21"""
    canaries.create(NAME, [WEB], values=BLUE)
    canaries.wait_for_available(NAME)
    uid = canaries.releases.deployment("web-abcde")["metadata"]["uid"]
    canaries.change(NAME, config=json.dumps({"color": "green"}))
    canaries.wait_for_available(NAME)
    changed = canaries.releases.deployment("web-abcde")
    assert changed["metadata"]["uid"] == uid
    assert changed["spec"]["template"]["spec"]["containers"][0]["image"] == "app:green"
    assert canaries.releases.deployment("web")["spec"]["template"]["spec"]["containers"][0]["image"] == "app:red"
    canaries.wait(NAME, lambda: canaries.traffic(NAME, 80).get("effectiveWeight") == 10, "the weight applies")


def test_repair(canaries):
    """scenario 53, and a Service that another program restored"""
    before = service(canaries)
    canaries.create(NAME, [WEB], values=BLUE)
    canaries.wait_for_available(NAME)
    taken = service(canaries)
    canaries.api.delete(f"/api/v1/namespaces/{canaries.namespace}/services/web-forked")
    wait_until(lambda: service(canaries, "web-forked"), "the copy is there again")
    canaries.api.patch(f"/api/v1/namespaces/{canaries.namespace}/services/web",
                       {"spec": {"selector": before["spec"]["selector"], "ports": before["spec"]["ports"]}})
    wait_until(lambda: service(canaries)["spec"]["ports"] == taken["spec"]["ports"], "it is taken over again")
    canaries.change(NAME, transition="Deprecated")
    canaries.wait_for_phase(NAME, "Deprecated")
    assert service(canaries)["spec"]["ports"] == before["spec"]["ports"]


def test_delete(canaries):
    """scenario 37"""
    before, names = service(canaries), objects(canaries)
    canaries.create(NAME, [WEB], values=BLUE)
    canaries.wait_for_available(NAME)
    canaries.delete(NAME)
    canaries.wait(NAME, lambda: canaries.find(NAME) is None, "it is gone")
    assert without_versions(service(canaries)) == without_versions(before)
    wait_until(lambda: objects(canaries) == names, "nothing of the canary is left")


def test_release_is_deleted(canaries):
    """scenario 38"""
    canaries.create(NAME, [WEB], values=BLUE)
    canaries.wait_for_available(NAME)
    canaries.api.delete(canaries.releases.path("web"))
    canaries.wait(NAME, lambda: canaries.find(NAME) is None and not objects(canaries), "all of it is gone")


def test_service_leaves(canaries):
    canaries.create(NAME, [WEB, {"service": "admin"}], values=BLUE)
    canaries.wait_for_available(NAME)
    canaries.change(NAME, services=[WEB])
    wait_until(lambda: service(canaries, "admin")["spec"]["selector"] ==
               {"app": "web", "slipway.dev/track": "stable"}, "it is restored")
    wait_until(lambda: service(canaries, "admin-forked") is None and service(canaries, "admin-canary") is None,
               "its copies are gone")
    canaries.wait_for_available(NAME)
    assert service(canaries)["spec"]["selector"]["slipway.dev/created-by"]


def test_replicas(canaries):
    canaries.create(NAME, [WEB], values=BLUE, proxy={"replicas": 2})
    canaries.wait_for_available(NAME)
    budget = canaries.api.get(f"/apis/policy/v1beta1/namespaces/{canaries.namespace}/poddisruptionbudgets/{NAME}-proxy")
    assert budget["spec"]["maxUnavailable"] == 1
    assert len(canaries.get(NAME)["status"]["proxies"]) == 2
    canaries.change(NAME, transition="Deprecated")
    canaries.wait_for_phase(NAME, "Deprecated")


def test_killed_after_a_few_writes(world, servers):
    """scenarios 41, 42 and 43: the controller is killed again and again, and everything ends as without that"""
    batch = []
    for number in range(6):
        releases = world.in_namespace(f"killed-{number}")
        releases.create("web", APP, RED)
        batch.append(Canaries(releases))
    for canaries in batch:
        canaries.releases.wait_for_available("web", version=1)
    before = [service(canaries) for canaries in batch]
    for number, canaries in enumerate(batch):
        canaries.create(NAME, [WEB], values=BLUE, drainSeconds=1, **({"transition": "Adopted"} if number % 2 else {}))

    def writes():
        return sum(event["verb"] not in ("get", "list", "watch") and
                   event["objectRef"].get("namespace", "").startswith("killed-") for event in world.audit())

    def ended(number, canaries):
        status = canaries.get(NAME).get("status", {})
        if number % 2 == 0 and status.get("step") == "C8" and not canaries.get(NAME)["spec"].get("transition"):
            canaries.change(NAME, transition="Deprecated")
        return status.get("step") == "Done"

    kills, finished = 0, False
    while not finished:
        first = writes()
        wait_until(lambda seen=first: all([ended(*item) for item in enumerate(batch)]) or writes() >= seen + 8,
                   "more steps")
        finished = all(ended(*item) for item in enumerate(batch))
        world.server.kill()
        world.start(servers.start, state=world.server.state)
        kills += 1
    assert kills > 10
    for number, canaries in enumerate(batch):
        status = canaries.wait_for_phase(NAME, "Adopted" if number % 2 else "Deprecated")["status"]
        assert "manifest" not in status
        if number % 2:
            canaries.releases.wait_for_available("web", version=2)
            assert service(canaries)["spec"]["selector"] == {"app": "web", "slipway.dev/track": "abcde"}
        else:
            assert without_versions(service(canaries)) == without_versions(before[number])
        wait_until(lambda of=canaries, kept="web-abcde" if number % 2 else "web": {
            name for name in objects(of) if name.startswith(("deployments/", "services/", "roles/"))} == {
                f"deployments/{kept}", "services/web", "services/admin", "services/peers"}, "nothing else is left")


def test_commands(canaries):
    """create, set-weight, status, adopt and deprecate as a user types them"""
    def canary(verb, *arguments, **options):
        return canaries.releases.slipway("canary", verb, *arguments, "-n", canaries.namespace, **options)

    values = "color: blue\n"
    done = canary("create", NAME, "--release", "web", "--values", "/dev/stdin", "--drain-seconds", "1", "web:80=10",
                  "web:53/UDP=0.1", "--wait", text=values)
    assert done.stdout == (f"canaryrelease.slipway.dev/{NAME} created\n"
                           f"canaryrelease.slipway.dev/{NAME} is available\n")
    spec = canaries.get(NAME)["spec"]
    assert spec["version"] == 1 and json.loads(spec["config"]) == BLUE
    assert spec["services"] == [{"service": "web", "ports": [
        {"port": 80, "config": {"weight": 10}},
        {"port": 53, "protocol": "UDP", "config": {"weightPermille": 1}}]}]
    canary("set-weight", NAME, "web:80=20", "--wait")
    printed = canary("status", NAME).stdout
    assert "web:80/TCP               20%        20%" in printed
    assert "web:53/UDP               0.1%       0.1%" in printed
    canary("set-weight", NAME, "50", "--wait")
    assert canaries.traffic(NAME, 53, "UDP")["effectiveWeight"] == 50
    assert json.loads(canary("status", NAME, "-o", "json").stdout)["step"] == "C8"
    assert canary("deprecate", NAME, "--wait").stdout.endswith("deprecated\n")
    assert "Phase: Deprecated, step Done" in canary("status", NAME, "--watch").stdout

    for arguments, message in (
            (["set-weight", NAME, "101"], "weight '101' is not a number from 0 to 100 with at most one decimal"),
            (["set-weight", NAME, "web=1"], "'web=1' is not SERVICE:PORT[/PROTOCOL]=WEIGHT"),
            (["adopt", "nope"], f"canaryreleases.slipway.dev \"nope\" not found in namespace \"{canaries.namespace}\""),
            (["create", "web-a", "--release", "nope"],
             f"releases.slipway.dev \"nope\" not found in namespace \"{canaries.namespace}\""),
            (["adopt", NAME, "--wait"], f"canaryrelease.slipway.dev/{NAME} is Deprecated")):
        done = canary(*arguments, check=False)
        assert done.returncode == 1 and done.stderr == f"slipway: {message}\n", done


def test_autoscaler(canaries):
    """scenario 40: replicas that an autoscaler set stay, also when the canary is adopted; weights are as before"""
    canaries.create(NAME, [WEB], values=BLUE)
    canaries.wait_for_available(NAME)
    canaries.api.post(f"/apis/autoscaling/v1/namespaces/{canaries.namespace}/horizontalpodautoscalers", {
        "metadata": {"name": "canary"}, "spec": {"minReplicas": 5, "maxReplicas": 5, "scaleTargetRef": {
            "apiVersion": "apps/v1", "kind": "Deployment", "name": "web-abcde"}}})

    def replicas():
        return canaries.releases.deployment("web-abcde")["spec"]["replicas"]

    # The autoscaler does this, too, at its next look.
    canaries.api.patch(f"/apis/apps/v1/namespaces/{canaries.namespace}/deployments/web-abcde/scale",
                       {"spec": {"replicas": 5}})
    canaries.change(NAME, config=json.dumps({"color": "green"}))
    canaries.wait_for_available(NAME)
    assert replicas() == 5
    canaries.wait(NAME, lambda: canaries.traffic(NAME, 80).get("effectiveWeight") == 10, "the weight applies")
    canaries.change(NAME, transition="Adopted")
    canaries.wait_for_phase(NAME, "Adopted")
    assert replicas() == 5


def test_chart_with_sub_application(canaries):
    """scenario 3, with a chart: the objects of the path alone get a new version, and its values are replaced"""
    canaries.releases.delete("web")
    wait_until(lambda: not objects(canaries), "the first Release is gone")
    release_of(canaries, "web", SHOP, {"_config": {"color": "red"}, "cart": {"_config": {"color": "red"}}})
    front = canaries.releases.deployment("front")
    canaries.create(NAME, [WEB], path="shop/cart", values={"_config": {"color": "blue"}})
    status = canaries.wait_for_available(NAME)["status"]
    assert "front" not in status["manifest"]
    assert canaries.releases.config_map("settings-abcde")["data"] == BLUE
    assert canaries.releases.deployment("front-abcde") is None
    canaries.change(NAME, transition="Adopted")
    canaries.wait_for_phase(NAME, "Adopted")
    release = canaries.releases.wait_for_available("web", version=2)
    assert json.loads(release["spec"]["config"]) == {"_config": {"color": "red"}, "cart": {"_config": {"color": "blue"}}}
    kept = canaries.releases.deployment("front")
    assert kept["metadata"]["uid"] == front["metadata"]["uid"] and kept["spec"] == front["spec"]
    assert service(canaries)["spec"]["selector"]["slipway.dev/track"] == "abcde"
    wait_until(lambda: canaries.releases.deployment("web") is None, "the earlier version is gone")


def test_public_chart_is_adopted_twice_and_rolled_back(canaries):
    """With a checksum of the configuration, hooks, a ServiceAccount and an autoscaler."""
    def checksum(name):
        return canaries.releases.deployment(name)["spec"]["template"]["metadata"]["annotations"]["checksum/config"]

    def target():
        return canaries.releases.object("horizontalpodautoscalers", "shop-web", "/apis/autoscaling/v1")[
            "spec"]["scaleTargetRef"]["name"]

    release_of(canaries, "shop", PUBLIC)
    first = checksum("shop-web")
    before = service(canaries, "shop-web")
    for version, (track, color) in enumerate((("abcde", "blue"), ("fghij", "green")), 1):
        name = f"shop-{track}"
        canaries.create(name, [{"service": "shop-web", "ports": [{"port": 80, "config": {"weight": 10}}]}],
                        release="shop", version=version, values={"color": color})
        status = canaries.wait_for_available(name)["status"]
        assert "HorizontalPodAutoscaler/shop-web" in status["notDuplicated"]
        assert canaries.releases.config_map(f"shop-web-{track}")["data"] == {"color": color}
        assert checksum(f"shop-web-{track}") != first
        account = canaries.releases.deployment(f"shop-web-{track}")["spec"]["template"]["spec"]["serviceAccountName"]
        assert account == "shop-web", "equal objects are shared"
        canaries.change(name, transition="Adopted")
        canaries.wait_for_phase(name, "Adopted")
        canaries.releases.wait_for_available("shop", version=version + 1)
        wait_until(lambda kept=f"shop-web-{track}": target() == kept, "the autoscaler follows")
    canaries.releases.change("shop", rollbackTo={"version": 1})
    canaries.releases.wait_for_available("shop", version=1)
    assert checksum("shop-web") == first and target() == "shop-web"
    wait_until(lambda: {name for name in objects(canaries) if name.startswith(("deployments/shop", "configmaps/shop"))} ==
               {"deployments/shop-web", "configmaps/shop-web"}, "the later versions are gone")
    assert service(canaries, "shop-web")["spec"]["selector"] == before["spec"]["selector"]
    assert canaries.releases.versions("shop") == [1, 2, 3]


def test_order_of_services(canaries):
    """scenario 6: ports have weights of their own, and another order in the spec moves none of them"""
    admin = {"service": "admin", "ports": [{"port": 9000, "config": {"weight": 50}}]}
    both = {"service": "web", "ports": [{"port": 80, "config": {"weight": 10}},
                                        {"port": 53, "protocol": "UDP", "config": {"weight": 1}}]}

    def ports():
        return {(each["service"], port["port"], port["transport"]): port["proxyPort"]
                for each in canaries.get(NAME)["status"]["services"] for port in each["ports"]}

    def weights():
        return [canaries.traffic(NAME, *port).get("effectiveWeight")
                for port in ((80, "TCP"), (53, "UDP"), (9000, "TCP", "admin"))]

    canaries.create(NAME, [both, admin], values=BLUE)
    canaries.wait_for_available(NAME)
    canaries.wait(NAME, lambda: weights() == [10, 1, 50], "the weights apply")
    first, taken = ports(), (service(canaries), service(canaries, "admin"))
    canaries.change(NAME, services=[admin, both])
    canaries.wait_for_available(NAME)
    canaries.wait(NAME, lambda: weights() == [10, 1, 50], "the weights apply")
    assert ports() == first
    assert (service(canaries), service(canaries, "admin")) == taken


def test_certificate_is_missing(canaries):
    """scenario 25: without its certificate the Service is not taken over"""
    before = service(canaries)
    canaries.create(NAME, [{"service": "web", "ports": [{"port": 80, "protocol": "HTTPS",
                                                         "tls": {"secretName": "nope"}}]}], values=BLUE)
    canaries.wait_for(NAME, "Failure", "BadCertificate")
    assert service(canaries) == before
    (volume,) = [each for each in canaries.releases.deployment(f"{NAME}-proxy")["spec"]["template"]["spec"]["volumes"]
                 if each["name"] == "certificate-0"]
    assert volume["secret"]["secretName"] == "nope"


def test_steps(canaries, tmp_path):
    """Automatic steps: weights, pauses, an analysis of the proxy's counters, adoption. Each transition is an Event."""
    def canary(verb, *arguments, **options):
        return canaries.releases.slipway("canary", verb, *arguments, "-n", canaries.namespace, **options)

    def reason():
        return canaries.conditions(NAME).get("Progressing", ("", ""))[1]

    steps = tmp_path / "steps.yaml"
    steps.write_text("- setWeight: 5\n- pause: {}\n- setWeightPermille: 501\n"
                     "- analysis: {seconds: 2, intervalSeconds: 1, metrics: [{canary: errorRate, max: 5}]}\n"
                     "- setWeight: 100\n- transition: Adopted\n")
    canary("create", NAME, "--release", "web", "--values", "/dev/stdin", "--steps", steps, "--drain-seconds", "1",
           "web:80=0", text="color: blue\n")
    # Endpoints of hollow pods have addresses, and so the canary is ready.
    canaries.wait(NAME, lambda: reason() == "Paused", "the pause")
    canaries.releases.cluster.kubectl("wait", "-n", canaries.namespace, "--for=condition=Available", "--timeout=60s",
                                      f"canaryrelease/{NAME}")
    assert canaries.traffic(NAME, 80)["effectiveWeight"] == 5
    done = canary("set-weight", NAME, "7", check=False)
    assert done.returncode == 1 and "has steps, which set its weights" in done.stderr
    canary("resume", NAME)
    # Without requests there is no rate of errors.
    canaries.wait(NAME, lambda: reason() == "AnalysisInconclusive", "the analysis")
    assert canaries.traffic(NAME, 80)["effectiveWeight"] == 50.1
    canaries.wait(NAME, lambda: canaries.get(NAME)["spec"].get("paused"), "it is paused")
    canaries.change(NAME, steps=[{"setWeight": 5}, {"pause": {}}, {"setWeightPermille": 501}, {"pause": {"seconds": 0}},
                                 {"setWeight": 100}, {"transition": "Adopted"}])
    canary("resume", NAME)
    canaries.wait_for_phase(NAME, "Adopted")
    canaries.releases.wait_for_available("web", version=2)
    events, _ = canaries.api.list(f"/api/v1/namespaces/{canaries.namespace}/events",
                                  fieldSelector=f"involvedObject.name={NAME}")
    assert {"Creating", "Available", "StepsBegin", "WeightSet", "Paused", "AnalysisInconclusive", "StepsComplete",
            "Adopting", "Adopted"} <= {event["reason"] for event in events}


def test_orphans(canaries, world, servers):
    """scenario 52: someone removed the finalizer while the controller was down"""
    before = service(canaries)
    canaries.create(NAME, [WEB], values=BLUE)
    canaries.wait_for_available(NAME)
    world.server.stop()
    canaries.api.patch(path("canaryreleases", canaries.namespace, NAME), {"metadata": {"finalizers": None}})
    canaries.delete(NAME)
    wait_until(lambda: canaries.find(NAME) is None, "it is gone")
    assert service(canaries)["spec"]["selector"]["slipway.dev/created-by"]
    world.start(servers.start, state=world.server.state)
    wait_until(lambda: without_versions(service(canaries)) == without_versions(before), "the Service is restored")
    # Kubernetes itself deletes the rest within half a minute: all of it has the CanaryRelease as its owner.


def test_edits_while_the_controller_is_down(world, servers):
    """scenario 48"""
    batch = []
    for number in range(3):
        releases = world.in_namespace(f"down-{number}")
        releases.create("web", APP, RED)
        releases.wait_for_available("web", version=1)
        batch.append(Canaries(releases))
        batch[-1].create(NAME, [WEB], values=BLUE, drainSeconds=1)
    for canaries in batch:
        canaries.wait_for_available(NAME)
        canaries.wait(NAME, lambda of=canaries: of.traffic(NAME, 80).get("effectiveWeight") == 10, "the weight applies")
    world.server.kill()
    weighed, adopted, deleted = batch
    weighed.change(NAME, services=[{"service": "web", "ports": [{"port": 80, "config": {"weight": 70}}]}])
    adopted.change(NAME, transition="Adopted")
    deleted.delete(NAME)
    # The controller ended between recording its plan and reporting the weights of before.
    weighed.api.patch(path("canaryreleases", weighed.namespace, NAME) + "/status",
                      {"status": {"plannedGeneration": weighed.get(NAME)["metadata"]["generation"]}})
    waited = weighed.releases.slipway("canary", "set-weight", NAME, "70", "-n", weighed.namespace, "--wait", "--timeout",
                                      "2", check=False)
    assert waited.returncode == 1 and "timed out" in waited.stderr, waited
    # The proxy follows without the controller.
    wait_until(lambda: [port["effectivePermille"] for proxy in weighed.get(NAME)["status"]["proxies"].values()
                        for port in proxy["ports"] if port["port"] == 80] == [700], "the proxy has the new weight")
    world.start(servers.start, state=world.server.state)
    weighed.wait(NAME, lambda: weighed.traffic(NAME, 80).get("effectiveWeight") == 70, "the weight is reported")
    adopted.wait_for_phase(NAME, "Adopted")
    deleted.wait(NAME, lambda: deleted.find(NAME) is None, "it is gone")


# A role can give only rights that its creator has: the proxies use these.
GIVEN = {("discovery.k8s.io", "endpointslices", "list"), ("discovery.k8s.io", "endpointslices", "watch")}


def test_rights_are_enough_and_no_more(canaries, world, servers):
    """By the API server's audit log of this file's tests: nothing granted is unused, nothing used is missing."""
    canaries.create(NAME, [WEB], values=BLUE)
    canaries.wait_for_available(NAME)
    canaries.api.delete(canaries.releases.path("web"))
    canaries.wait(NAME, lambda: canaries.find(NAME) is None, "it is gone")
    # Watches are in the audit log when they have ended.
    world.server.stop()
    rights = world.granted("canaries")
    others = world.granted("control", "objects")
    used = world.used(200, 201, 404, 409, 422)
    assert not world.used(403) - rights - others
    wait_until(lambda: rights - GIVEN <= world.used(200, 201, 404, 409, 422),
               f"unused: {rights - GIVEN - used}")
    assert used <= rights | others, used - rights - others
    world.start(servers.start, state=world.server.state)
