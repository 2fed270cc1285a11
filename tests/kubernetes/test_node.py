"""The real node: pods run, are reached, and end as they should; nothing of it stays."""
import http.client
import itertools
import json

import images
import pytest
from conftest import DEADLINE, wait_until
from traces import Traces, cgroups_named

pytestmark = pytest.mark.node

WEB = "mkdir /www; echo \"$NAME\" >/www/index.html; exec httpd -f -p 8080 -h /www"
# containerd may lose output that is written right before the end, so they wait until it was read.
HEARD = "until [ -e /heard ]; do sleep 0.1; done"
ASK_API_SERVER = """\
cd /var/run/secrets/kubernetes.io/serviceaccount
wget -q -O - --no-check-certificate --header "Authorization: Bearer $(cat token)" \\
    https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/api/v1/namespaces/$(cat namespace) && """ + HEARD
ASK_SERVICE = "until timeout 5 wget -q -O - http://$WEB_SERVICE_HOST/; do :; done; " + HEARD


def pod(name, script, policy="Never", **members):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"restartPolicy": policy, "terminationGracePeriodSeconds": 5, "containers": [
                {"name": "app", "image": images.BUSYBOX, "command": ["sh", "-c", script],
                 **members}]}}


def make(cluster, document):
    cluster.kubectl("apply", "-f", "-", text=json.dumps(document))


def status_when(cluster, name, condition, what):
    def status():
        found = cluster.api.get(f"/api/v1/namespaces/default/pods/{name}")["status"]
        return found if condition(found) else None

    return wait_until(status, what)


def ready(status):
    return any(item["type"] == "Ready" and item["status"] == "True"
               for item in status.get("conditions", ()))


def end_of(cluster, name):
    status = status_when(cluster, name, lambda found: found["phase"] in ("Succeeded", "Failed"),
                         f"{name} ends")
    return status["containerStatuses"][0]["state"]["terminated"]


def end_of_one_that_says(cluster, name, text):
    wait_until(lambda: text in cluster.kubectl("logs", name, check=False).stdout, f"{name} says {text}")
    cluster.kubectl("exec", name, "--", "touch", "/heard", check=False)  # it may be ended with what it ends
    return end_of(cluster, name)


def fetch(address, port=8080):
    connection = http.client.HTTPConnection(address, port, timeout=DEADLINE)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read().decode().strip()
    finally:
        connection.close()


def test_pods_answer_on_their_addresses(node_cluster):
    for name in ("one", "two"):
        make(node_cluster, pod(name, WEB, env=[{"name": "NAME", "value": f"I am {name}"}],
                               readinessProbe={"tcpSocket": {"port": 8080}, "periodSeconds": 1}))
    for name in ("one", "two"):
        status = status_when(node_cluster, name, ready, f"{name} is ready")
        assert fetch(status["podIP"]) == f"I am {name}"
    assert cgroups_named(node_cluster.place.cgroup)


def test_ends_and_their_reasons(node_cluster):
    make(node_cluster, pod("good", "echo done; " + HEARD))
    make(node_cluster, pod("bad", "exit 7"))
    assert end_of_one_that_says(node_cluster, "good", "done\n")["exitCode"] == 0
    assert end_of(node_cluster, "bad")["exitCode"] == 7
    assert node_cluster.kubectl("logs", "good").stdout == "done\n"


def test_too_much_memory_is_named(node_cluster):
    """The node does not know it when containerd has heard of it too late: then one more is tried."""
    numbers = itertools.count()

    def is_named():
        name = f"greedy-{next(numbers)}"
        make(node_cluster, pod(name, "x=0123456789; while :; do x=$x$x; done", resources={"limits": {"memory": "20Mi"}}))
        ended = end_of(node_cluster, name)
        assert ended["exitCode"] == 137
        return ended["reason"] == "OOMKilled"

    wait_until(is_named, "it is named")


def test_exec_and_deletion(node_cluster):
    make(node_cluster, pod("long", "trap 'exit 3' TERM; while :; do sleep 0.1; done"))
    status_when(node_cluster, "long", ready, "it runs")
    assert node_cluster.kubectl("exec", "long", "--", "echo", "hello").stdout == "hello\n"
    node_cluster.kubectl("delete", "pod", "long")
    assert not node_cluster.api.find("/api/v1/namespaces/default/pods/long")


def test_missing_image_is_not_pulled(node_cluster):
    document = pod("missing", "true")
    document["spec"]["containers"][0].update(image="slipway.test/none:1", imagePullPolicy="Never")
    make(node_cluster, document)
    status = status_when(node_cluster, "missing", lambda found: any(
        "waiting" in item["state"] for item in found.get("containerStatuses", ())), "it waits")
    wait_until(lambda: "ErrImageNeverPull" in node_cluster.kubectl("get", "pod", "missing").stdout,
               f"the reason is shown: {status}")


def test_pods_reach_the_api_server_as_their_service_account(node_cluster):
    node_cluster.kubectl("create", "rolebinding", "view", "--clusterrole=view",
                         "--serviceaccount=default:default")
    make(node_cluster, pod("inside", ASK_API_SERVER))
    assert end_of_one_that_says(node_cluster, "inside", '"name": "default"')["exitCode"] == 0


def test_services_lead_to_pods_and_nothing_is_left(start_cluster):
    cluster = start_cluster(node=True, proxy=True)
    make(cluster, pod("web", WEB, env=[{"name": "NAME", "value": "by the service"}]))
    status_when(cluster, "web", ready, "it is ready")
    cluster.kubectl("expose", "pod", "web", "--port=80", "--target-port=8080")
    make(cluster, pod("client", ASK_SERVICE))
    assert end_of_one_that_says(cluster, "client", "by the service\n")["exitCode"] == 0
    assert cluster.kubectl("logs", "client").stdout == "by the service\n"

    with Traces(cluster) as traces:
        assert len(traces.processes) > 10 and len(traces.left()) > 10
        cluster.down()
        assert not traces.left()
