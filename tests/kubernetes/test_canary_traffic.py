"""Canary releases on a real node: real pods behind a real Service, proxies in pods with their own rights, and a prober in
a pod that loses nothing."""
import collections
import glob
import http.client
import json
import os

import pytest

import images
from canary import Canaries
from conftest import Servers, wait_until
from on_node import load_own_image
from releases import USER, Releases, audit_flags

HERE = os.path.dirname(os.path.realpath(__file__))
PARTS = os.path.join(HERE, "parts")
PORT = 7000

APP = f"""\
apiVersion: v1
kind: Service
metadata: {{name: web}}
spec:
  selector: {{app: web}}
  ports:
  - {{name: tcp, port: 90, targetPort: {PORT}}}
  - {{name: udp, port: 90, targetPort: {PORT}, protocol: UDP}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      terminationGracePeriodSeconds: 10
      containers:
      - name: app
        image: {images.BUSYBOX}
        imagePullPolicy: Never
        command: [/usr/bin/python3, /parts/canary_pod.py, serve, "{{{{ .Values.letter }}}}", "{PORT}", /out]
        readinessProbe: {{tcpSocket: {{port: {PORT}}}, periodSeconds: 1}}
        volumeMounts:
        - {{name: usr, mountPath: /usr, readOnly: true}}
        - {{name: parts, mountPath: /parts, readOnly: true}}
        - {{name: out, mountPath: /out}}
      volumes:
      - {{name: usr, hostPath: {{path: /usr}}}}
      - {{name: parts, hostPath: {{path: {PARTS}}}}}
      - {{name: out, hostPath: {{path: "{{{{ .Values.out }}}}"}}}}
"""

pytestmark = pytest.mark.node


@pytest.fixture(scope="module")
def world(start_clusters, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("traffic"))
    cluster = start_clusters(node=True, proxy=True, api_flags=audit_flags(folder))
    load_own_image(cluster, folder)
    releases = Releases(cluster, folder)
    releases.install()
    path = os.path.join(folder, "slipway.yaml")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"releases": {"enabled": True, "leaseNamespace": "slipway"},
                   "kubernetes": {"imagePullPolicy": "Never"}}, file)
    servers = Servers()
    try:
        releases.server = servers.start("--config", path, "--runtime", "none", "--kubeconfig",
                                        cluster.credentials.path(f"{USER}.kubeconfig"))
        yield releases
    finally:
        servers.end()


@pytest.fixture
def canaries(world, request):
    """A Release with version A in a namespace of its own, and a prober of its Service."""
    name = request.node.name.replace("_", "-").removeprefix("test-")[:60].rstrip("-")
    releases = world.in_namespace(name)
    releases.create("web", APP, {"letter": "A", "out": releases.folder})
    releases.wait_for_available("web", version=1)
    found = Canaries(releases)
    yield found
    releases.api.delete(f"/api/v1/namespaces/{name}")


class Prober:
    """canary_pod.py in a pod."""

    def __init__(self, canaries):
        self.api, self.space = canaries.api, canaries.namespace
        self.cluster = canaries.releases.cluster
        folder = canaries.releases.folder
        self.file = os.path.join(folder, f"{self.space}.json")
        address = self.api.get(f"/api/v1/namespaces/{self.space}/services/web")["spec"]["clusterIP"]
        self.api.post(f"/api/v1/namespaces/{self.space}/pods", {
            "metadata": {"name": "prober"},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 5, "containers": [{
                "name": "prober", "image": images.BUSYBOX, "imagePullPolicy": "Never",
                "command": ["/usr/bin/python3", "/parts/canary_pod.py", "probe", self.file, address, "90"],
                "volumeMounts": [{"name": name, "mountPath": path} for name, path in
                                 (("usr", "/usr"), ("parts", "/parts"), ("out", folder))]}],
                "volumes": [{"name": name, "hostPath": {"path": path}} for name, path in
                            (("usr", "/usr"), ("parts", PARTS), ("out", folder))]}})
        wait_until(lambda: os.path.exists(self.file) and self.answers("new") > 10, "the prober has answers")

    def read(self):
        with open(self.file, encoding="utf-8") as file:
            return json.load(file)

    def answers(self, kind):
        return sum(self.read()["counts"][kind].values())

    def more(self, number=50):
        """The letters of so many more new connections and datagrams: what began before is not counted."""
        wait_until(lambda first=self.answers("new"), other=self.answers("datagrams"):
                   self.answers("new") > first + 1 and self.answers("datagrams") > other + 1, "the next answers")
        before = self.read()["counts"]
        wait_until(lambda: all(self.answers(kind) >= sum(before[kind].values()) + number
                               for kind in ("new", "datagrams")), f"{number} more answers")
        after = self.read()["counts"]
        return {kind: {letter: count - before[kind].get(letter, 0) for letter, count in after[kind].items()
                       if count > before[kind].get(letter, 0)} for kind in ("new", "datagrams")}

    def only(self, letter):
        found = self.more()
        assert set(found["new"]) == {letter} and set(found["datagrams"]) == {letter}, found

    def received(self):
        """The datagrams that the pods got, and answered."""
        found = set()
        for path in glob.glob(os.path.join(os.path.dirname(self.file), "received-*")):
            with open(path, encoding="utf-8") as file:
                found.update(file.read().split())
        return found

    def assert_nothing_lost(self, changes, after=0):
        """An answer under way when kube-proxy drops the entry of its flow does not arrive: at most one for each change of
        the Service, because one datagram is under way at a time."""
        failures, received = self.read()["failures"][after:], self.received()
        lost = [failure for failure in failures if failure[0] != "datagrams" or failure[3] not in received]
        assert not lost, (len(failures), lost[:10])
        assert len(failures) <= changes, failures


def weights(tcp, udp):
    return [{"service": "web", "ports": [{"port": 90, "protocol": "TCP", "config": {"weight": tcp}},
                                         {"port": 90, "protocol": "UDP", "config": {"weight": udp}}]}]


def wait_for_weights(canaries, name, tcp, udp):
    canaries.wait(name, lambda: (canaries.traffic(name, 90).get("effectiveWeight"),
                                 canaries.traffic(name, 90, "UDP").get("effectiveWeight")) == (tcp, udp),
                  f"the weights {tcp} and {udp} apply")


def set_weights(canaries, name, tcp, udp):
    canaries.change(name, services=weights(tcp, udp))
    wait_for_weights(canaries, name, tcp, udp)


def test_adopt_and_second_canary(canaries):
    """scenarios 1, 2, 13, 15 and 31: from 0 to 100, adopted; a second canary, adopted; nothing lost"""
    prober = Prober(canaries)
    for version, (name, old, new) in enumerate((("web-one", "A", "B"), ("web-two", "B", "C")), 1):
        canaries.create(name, weights(0, 0), version=version, values={"letter": new})
        canaries.wait_for_available(name)
        wait_for_weights(canaries, name, 0, 0)
        prober.only(old)
        set_weights(canaries, name, 50, 20)
        assert set(prober.more()["new"]) == {old, new}
        set_weights(canaries, name, 100, 100)
        prober.only(new)
        canaries.change(name, transition="Adopted")
        canaries.wait_for_phase(name, "Adopted")
        prober.only(new)
        canaries.releases.wait_for_available("web", version=version + 1)
        prober.assert_nothing_lost(changes=3 * version)
    wait_until(lambda: [each["metadata"]["name"] for each in canaries.api.list(
        f"/apis/apps/v1/namespaces/{canaries.namespace}/deployments")[0]] == ["web-two"], "one version is left")
    prober.only("C")
    prober.assert_nothing_lost(changes=6)


def test_deprecate(canaries):
    """scenario 35: the Service is as before, and nothing was lost"""
    before = canaries.releases.object("services", "web")
    prober = Prober(canaries)
    canaries.create("web-one", weights(30, 30), values={"letter": "B"})
    canaries.wait_for_available("web-one")
    wait_for_weights(canaries, "web-one", 30, 30)
    assert set(prober.more()["new"]) == {"A", "B"}
    canaries.change("web-one", transition="Deprecated")
    canaries.wait_for_phase("web-one", "Deprecated")
    prober.only("A")
    prober.assert_nothing_lost(changes=2)
    after = canaries.releases.object("services", "web")
    for found in (before, after):
        del found["metadata"]["resourceVersion"], found["metadata"]["managedFields"]
    assert after == before


def proxy_pods(canaries, name):
    items, _ = canaries.api.list(f"/api/v1/namespaces/{canaries.namespace}/pods",
                                 labelSelector=f"slipway.dev/created-by={canaries.namespace}.{name}")
    return [item for item in items if "deletionTimestamp" not in item["metadata"]]


def test_http_and_new_proxy(canaries):
    """scenarios 22 and 46: requests of one connection are split; a new pod of the proxy takes over without loss"""
    prober = Prober(canaries)
    services = weights(0, 10)
    services[0]["ports"][0] = {"port": 90, "protocol": "HTTP", "config": {"weight": 10}}
    canaries.create("web-one", services, values={"letter": "B"}, drainSeconds=20)
    canaries.wait_for_available("web-one")
    wait_for_weights(canaries, "web-one", 10, 10)
    (pod,) = proxy_pods(canaries, "web-one")
    port = next(each["proxyPort"] for each in canaries.get("web-one")["status"]["services"][0]["ports"]
                if each["transport"] == "TCP")
    client = http.client.HTTPConnection(pod["status"]["podIP"], port, timeout=60)
    letters = collections.Counter()
    for _ in range(100):
        client.request("GET", "/")
        letters[client.getresponse().read().decode()] += 1
    assert letters == {"A": 90, "B": 10}
    client.close()
    # The prober's TCP messages are not HTTP: only its datagrams count until the port is TCP again.
    set_weights(canaries, "web-one", 10, 10)
    prober.more()
    before = prober.read()
    canaries.releases.cluster.kubectl("rollout", "restart", "-n", canaries.namespace, "deployment", "web-one-proxy")
    canaries.releases.cluster.kubectl("rollout", "status", "-n", canaries.namespace, "deployment", "web-one-proxy")
    wait_until(lambda: [each["metadata"]["name"] for each in proxy_pods(canaries, "web-one")] not in
               ([], [pod["metadata"]["name"]]) and len(proxy_pods(canaries, "web-one")) == 1, "another pod")
    assert set(prober.more(100)["new"]) == {"A", "B"}
    prober.assert_nothing_lost(changes=1, after=len(before["failures"]))
    wait_for_weights(canaries, "web-one", 10, 10)
