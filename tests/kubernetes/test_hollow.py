"""Hollow nodes do to pods what kubelets do, as far as the API server and its clients can see."""
import json

import pytest
from api import STRATEGIC
from conftest import DEADLINE, wait_until

IMAGE = "none/none:1"


@pytest.fixture(scope="module")
def cluster(hollow_cluster):
    return hollow_cluster


@pytest.fixture
def namespace(request, cluster):
    name = request.node.name.replace("_", "-").replace("test-", "")[:60].rstrip("-")
    cluster.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    wait_until(lambda: cluster.api.find(f"/api/v1/namespaces/{name}/serviceaccounts/default"),
               "pods can be made")
    return name


def make_pod(cluster, namespace, name="pod", policy="Always", image=IMAGE, containers=("app",),
             finalizers=(), gates=(), grace=5, **members):
    cluster.api.post(f"/api/v1/namespaces/{namespace}/pods", {
        "metadata": {"name": name, "finalizers": list(finalizers)},
        "spec": {"restartPolicy": policy, "terminationGracePeriodSeconds": grace, **members,
                 "readinessGates": [{"conditionType": gate} for gate in gates],
                 "containers": [{"name": item, "image": image} for item in containers]}})


def status_when(cluster, namespace, condition, what, name="pod"):
    def status():
        found = cluster.api.get(f"/api/v1/namespaces/{namespace}/pods/{name}")["status"]
        return found if condition(found) else None

    return wait_until(status, what)


def is_ready(status):
    return any(item["type"] == "Ready" and item["status"] == "True"
               for item in status.get("conditions", ()))


def running(cluster, namespace):
    return status_when(cluster, namespace, is_ready, "the pod is ready")


def first(status):
    return status["containerStatuses"][0]


def test_a_deployment_rolls(cluster, namespace):
    # Spread over all nodes: one that was late with its heartbeat is waited for.
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
              "labelSelector": {"matchLabels": {"app": "web"}}}
    cluster.kubectl("-n", namespace, "create", "deployment", "web", f"--image={IMAGE}",
                    "--replicas=0")
    cluster.kubectl("-n", namespace, "patch", "deployment", "web", "-p", json.dumps(
        {"spec": {"replicas": 10, "template": {"spec": {"topologySpreadConstraints": [spread]}}}}))
    cluster.kubectl("-n", namespace, "rollout", "status", "deployment", "web", f"--timeout={DEADLINE}s")
    pods = cluster.kubectl_json("-n", namespace, "get", "pods")["items"]
    assert len({pod["status"]["podIP"] for pod in pods}) == 10
    assert {pod["spec"]["nodeName"] for pod in pods} == {"hollow-0", "hollow-1", "hollow-2"}
    cluster.kubectl("-n", namespace, "set", "image", "deployment/web", "none=none/none:2")
    cluster.kubectl("-n", namespace, "rollout", "status", "deployment", "web", f"--timeout={DEADLINE}s")
    cluster.kubectl("-n", namespace, "delete", "deployment", "web")
    wait_until(lambda: not cluster.kubectl_json("-n", namespace, "get", "pods")["items"],
               "all pods are gone")


def test_restart_policies(cluster, namespace):
    for name, policy, code, phase in (("always", "Always", 0, "Running"),
                                      ("failure", "OnFailure", 1, "Running"),
                                      ("success", "OnFailure", 0, "Succeeded"),
                                      ("never", "Never", 3, "Failed")):
        make_pod(cluster, namespace, name, policy)
        cluster.hollow.exit(namespace, name, code=code)
        status = status_when(cluster, namespace, lambda found, phase=phase: (
            found["phase"] == phase and (phase != "Running" or first(found)["restartCount"])),
            f"{name} is {phase}", name)
        if phase == "Running":
            assert first(status)["lastState"]["terminated"]["exitCode"] == code
        else:
            assert first(status)["state"]["terminated"]["exitCode"] == code
            assert not is_ready(status)


def test_second_crash_backs_off(cluster, namespace):
    make_pod(cluster, namespace)
    cluster.hollow.set_times(restart_seconds=20)  # long enough to be seen
    try:
        cluster.hollow.exit(namespace, "pod", code=1)
        cluster.hollow.exit(namespace, "pod", code=137, reason="OOMKilled")
    finally:
        cluster.hollow.set_times(restart_seconds=1)
    status = status_when(cluster, namespace, lambda found: "waiting" in first(found)["state"],
                         "the container waits")
    assert first(status)["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert first(status)["lastState"]["terminated"]["reason"] == "OOMKilled"
    assert not is_ready(status)
    status = running(cluster, namespace)
    assert first(status)["restartCount"] == 2


def test_hidden_exit_shows_in_the_count_alone(cluster, namespace):
    make_pod(cluster, namespace)
    running(cluster, namespace)
    cluster.hollow.exit(namespace, "pod", code=9, hidden=True)
    status = running(cluster, namespace)
    assert first(status)["restartCount"] == 1 and "running" in first(status)["state"]
    assert first(status)["lastState"]["terminated"]["exitCode"] == 9


def test_readiness(cluster, namespace):
    make_pod(cluster, namespace, containers=("one", "two"))
    running(cluster, namespace)
    cluster.hollow.set_ready(namespace, "pod", False, container="two")
    status = cluster.api.get(f"/api/v1/namespaces/{namespace}/pods/pod")["status"]
    assert not is_ready(status)
    assert [item["ready"] for item in status["containerStatuses"]] == [True, False]
    cluster.hollow.set_ready(namespace, "pod", True, container="two")
    running(cluster, namespace)


def test_gates_of_readiness(cluster, namespace):
    make_pod(cluster, namespace, gates=["example.test/open"])
    path = f"/api/v1/namespaces/{namespace}/pods/pod"
    status = status_when(cluster, namespace, lambda found: found["phase"] == "Running", "it runs")
    assert not is_ready(status)
    for value in ("True", "False"):
        cluster.api.patch(path + "/status", {"status": {"conditions": [
            {"type": "example.test/open", "status": value}]}}, STRATEGIC)
        status_when(cluster, namespace, lambda found, value=value:
                    is_ready(found) == (value == "True"), f"ready is {value}")


def test_end_of_a_pod_that_is_held(cluster, namespace):
    make_pod(cluster, namespace, finalizers=["example.test/hold"])
    running(cluster, namespace)
    cluster.kubectl("-n", namespace, "delete", "pod", "pod", "--wait=false")
    status = status_when(cluster, namespace, lambda found: not is_ready(found), "it has ended")
    assert first(status)["state"]["terminated"]["exitCode"] == 0
    path = f"/api/v1/namespaces/{namespace}/pods/pod"
    assert cluster.api.get(path)["metadata"]["deletionTimestamp"]
    cluster.api.patch(path, {"metadata": {"finalizers": None}})
    wait_until(lambda: not cluster.api.find(path), "it is gone")


def test_refused_image(cluster, namespace):
    cluster.hollow.refuse_image("no/such:1", "manifest unknown")
    make_pod(cluster, namespace, image="no/such:1")
    status = status_when(cluster, namespace, lambda found: found.get("containerStatuses"),
                         "the pull fails")
    assert first(status)["state"]["waiting"]["reason"] == "ErrImagePull"
    assert status["phase"] == "Pending" and "podIP" not in status
    wait_until(lambda: "manifest unknown" in cluster.kubectl(
        "-n", namespace, "get", "events").stdout, "an event says why")
    cluster.hollow.accept_image("no/such:1")
    running(cluster, namespace)


def test_held_pods_wait(cluster, namespace):
    cluster.hollow.hold()
    try:
        make_pod(cluster, namespace)
        status = status_when(cluster, namespace, lambda found: found.get("containerStatuses"),
                             "kubelet looked at it")
        assert first(status)["state"]["waiting"]["reason"] == "ContainerCreating"
    finally:
        cluster.hollow.release()
    running(cluster, namespace)


def test_deletion_takes_its_time(cluster, namespace):
    make_pod(cluster, namespace, grace=60)
    running(cluster, namespace)
    cluster.hollow.set_times(stop_seconds=20)
    try:
        cluster.kubectl("-n", namespace, "delete", "pod", "pod", "--wait=false")
        found = cluster.api.get(f"/api/v1/namespaces/{namespace}/pods/pod")
        assert found["metadata"]["deletionTimestamp"] and is_ready(found["status"])
        wait_until(lambda: not cluster.api.find(f"/api/v1/namespaces/{namespace}/pods/pod"),
                   "the deletion finishes")
    finally:
        cluster.hollow.set_times(stop_seconds=0)


def test_eviction(cluster, namespace):
    make_pod(cluster, namespace)
    running(cluster, namespace)
    cluster.hollow.evict(namespace, "pod")
    status = cluster.api.get(f"/api/v1/namespaces/{namespace}/pods/pod")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")


def test_refusal(cluster, namespace):
    cluster.hollow.hold()
    try:
        make_pod(cluster, namespace, policy="Never")
        cluster.hollow.refuse(namespace, "pod", "OutOfcpu", "no room")
    finally:
        cluster.hollow.release()
    status = status_when(cluster, namespace, lambda found: found["phase"] == "Failed", "it failed")
    assert (status["reason"], status["message"]) == ("OutOfcpu", "no room")
    assert "running" not in first(status)["state"]


def test_silent_node_lets_deletions_hang(cluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/pods/"
    for name, node in (("pod", "hollow-0"), ("other", "hollow-1")):
        make_pod(cluster, namespace, name, nodeName=node)
        status_when(cluster, namespace, is_ready, f"{name} is ready", name)
    cluster.hollow.silence("hollow-0")
    try:
        cluster.kubectl("-n", namespace, "delete", "pod", "pod", "other", "--wait=false")
        wait_until(lambda: not cluster.api.find(path + "other"), "the deletion on the other node finishes")
        hangs = cluster.api.get(path + "pod")
        assert hangs["metadata"]["deletionTimestamp"] and is_ready(hangs["status"])
    finally:
        cluster.hollow.wake("hollow-0")
    wait_until(lambda: not cluster.api.find(path + "pod"), "the deletion finishes")


def test_lost_node(cluster):
    cluster.hollow.set_node("hollow-2", "Unknown")
    try:
        wait_until(lambda: "unreachable" in cluster.kubectl("describe", "node", "hollow-2").stdout,
                   "the controllers taint it")
    finally:
        cluster.hollow.set_node("hollow-2", "True")
    wait_until(lambda: "unreachable" not in cluster.kubectl("describe", "node", "hollow-2").stdout,
               "the controllers take the taint away")


def test_api_server_may_come_and_go(cluster, namespace):
    make_pod(cluster, namespace)
    running(cluster, namespace)
    cluster.kill_api_server()
    cluster.start_api_server()
    cluster.hollow.exit(namespace, "pod", code=5)
    status_when(cluster, namespace, lambda found: first(found)["restartCount"] == 1,
                "it plays on")
    make_pod(cluster, namespace, "next")
    status_when(cluster, namespace, is_ready, "new pods start", "next")
