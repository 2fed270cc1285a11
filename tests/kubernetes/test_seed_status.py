"""With sync.serviceStatus and sync.taskStatus set to "kubernetes", answers follow the tables of the design document to the
letter; without, they are AWS's, and the finer state is in a tag and in the rollout state."""
import datetime

import pytest

from conftest import wait_until
from test_state import definition, described, tasks_of
from witness import Witness

SEED = """\
sync:
  enabled: true
  workers: 4
  resyncPeriod: 5m
  batchSize: 100
  batchDelay: 2s
  rateLimit:
    qps: 10
    burst: 20
  serviceStatus: kubernetes
  taskStatus: kubernetes
"""


@pytest.fixture(scope="module")
def witness(hollow_cluster):
    return Witness(hollow_cluster)


@pytest.fixture(scope="module")
def start(hollow_cluster, module_slipway, tmp_path_factory):
    regions = []

    def start(text=""):
        # Servers share the cluster: each has an account of its own, and so its own namespaces.
        regions.append(text)
        path = tmp_path_factory.mktemp("config") / "slipway.yaml"
        path.write_text(text + "\n" if text else "{}\n")
        return module_slipway("--config", path, "--runtime", "kubernetes", "--kubeconfig",
                              hollow_cluster.credentials.path("admin.kubeconfig"),
                              "--account", f"{len(regions):012}",
                              "--region", "us-gov-west-1" if text else "us-east-1")

    return start


def time_of(shown):
    return shown.astimezone(datetime.timezone.utc).replace(tzinfo=None)


def status_is(ecs, name, status):
    return wait_until(lambda: (found := described(ecs, name))["status"] == status and found,
                      f"{name} is {status}")


def counts_are(ecs, name, running, pending):
    wait_until(lambda: (found := described(ecs, name))["runningCount"] == running
               and found["pendingCount"] == pending, f"{running} of {name} run, {pending} come")


def test_seed_tables(hollow_cluster, witness, start):
    ecs = start(SEED).boto("ecs", region="us-gov-west-1")
    wait_until(lambda: ecs.describe_clusters(clusters=["default"])["clusters"], "there is a cluster")
    hollow = hollow_cluster.hollow
    hollow.hold()
    try:
        ecs.create_service(serviceName="seed", desiredCount=2, taskDefinition=definition(
            ecs, "seed", healthCheck={"command": ["CMD-SHELL", "true"]}))
        status_is(ecs, "seed", "PROVISIONING")
        counts_are(ecs, "seed", 0, 2)
        wait_until(lambda: [item["lastStatus"] for item in tasks_of(ecs, "seed")] == ["PENDING"] * 2,
                   "containers are being made")
    finally:
        hollow.release()
    status_is(ecs, "seed", "ACTIVE")
    hollow.hold()
    try:
        ecs.update_service(service="seed", forceNewDeployment=True)
        status_is(ecs, "seed", "UPDATING")  # those of before serve until others do
        counts_are(ecs, "seed", 2, 2)
    finally:
        hollow.release()
    status_is(ecs, "seed", "ACTIVE")
    wait_until(lambda: len(witness.pods("seed", ending=True)) == 2, "those of before are gone")
    hollow.hold()
    try:
        ecs.update_service(service="seed", desiredCount=3)
        status_is(ecs, "seed", "UPDATING")
        counts_are(ecs, "seed", 2, 1)
        wait_until(lambda: len(witness.pods("seed")) == 3, "the third one is made")
        ecs.update_service(service="seed", desiredCount=2)
    finally:
        hollow.release()
    wait_until(lambda: len(witness.pods("seed")) == 2, "two are left")
    status_is(ecs, "seed", "ACTIVE")
    counts_are(ecs, "seed", 2, 0)
    wait_until(lambda: {item["lastStatus"] for item in tasks_of(ecs, "seed")} == {"RUNNING"}, "both run")
    pod = witness.pods("seed")[0]
    made = datetime.datetime.strptime(pod["metadata"]["creationTimestamp"], "%Y-%m-%dT%H:%M:%SZ")
    token = pod["metadata"]["uid"].replace("-", "")
    shown = next(item for item in tasks_of(ecs, "seed") if item["taskArn"].endswith(token))
    assert time_of(shown["startedAt"]) == made
    hollow.set_node(pod["spec"]["nodeName"], "Unknown")
    try:
        wait_until(lambda: next(item for item in tasks_of(ecs, "seed")
                                if item["taskArn"].endswith(token))["lastStatus"] == "STOPPED",
                   "the task on the lost node is STOPPED")
    finally:
        hollow.set_node(pod["spec"]["nodeName"], "True")
    ecs.update_service(service="seed", desiredCount=0)
    status_is(ecs, "seed", "DRAINING")
    ecs.delete_service(service="seed", force=True)
    status_is(ecs, "seed", "INACTIVE")


def test_tasks_that_wait_and_end(hollow_cluster, witness, start):
    ecs = start(SEED.replace("serviceStatus: kubernetes", "serviceStatus: ecs")).boto("ecs", region="us-gov-west-1")
    wait_until(lambda: ecs.describe_clusters(clusters=["default"])["clusters"], "there is a cluster")
    waits, ends = (ecs.run_task(taskDefinition=definition(ecs, "ends", memory=memory))["tasks"][0]["taskArn"]
                   for memory in (10_000_000, 32))

    def status(arn):
        return ecs.describe_tasks(tasks=[arn])["tasks"][0]["lastStatus"]

    wait_until(lambda: status(ends) == "RUNNING", "it runs")
    wait_until(lambda: "PodScheduled" in str(witness.pod(waits.rsplit("/", 1)[1])), "no node was found")
    assert status(waits) == "PROVISIONING"
    pod = witness.pod(ends.rsplit("/", 1)[1])["metadata"]
    hollow_cluster.hollow.exit(pod["namespace"], pod["name"], code=3)
    wait_until(lambda: status(ends) == "STOPPED", "it has ended")
    assert ecs.describe_tasks(tasks=[ends])["tasks"][0]["containers"][0]["exitCode"] == 3
    ecs.stop_task(task=waits)
    wait_until(lambda: status(waits) == "STOPPED", "it waits no longer")


def test_a_task_stops_at_the_time_of_its_deletion(hollow_cluster, witness, start):
    ecs = start(SEED).boto("ecs", region="us-gov-west-1")
    wait_until(lambda: ecs.describe_clusters(clusters=["default"])["clusters"], "there is a cluster")
    arn = ecs.run_task(taskDefinition=definition(ecs, "deleted"))["tasks"][0]["taskArn"]
    token = arn.rsplit("/", 1)[1]

    def shown():
        return ecs.describe_tasks(tasks=[arn])["tasks"][0]

    wait_until(lambda: shown()["lastStatus"] == "RUNNING", "it runs")
    assert "stoppedAt" not in shown()
    node = witness.pod(token)["spec"]["nodeName"]
    hollow_cluster.hollow.silence(node)
    try:
        ecs.stop_task(task=arn)
        stops = wait_until(lambda: shown().get("stoppedAt"), "it says when it stops")
        text = witness.pod(token)["metadata"]["deletionTimestamp"]
        assert time_of(stops) == datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
        assert shown()["lastStatus"] != "STOPPED"
    finally:
        hollow_cluster.hollow.wake(node)
    wait_until(lambda: shown()["lastStatus"] == "STOPPED", "it has stopped")


def test_finer_state_beside_awss_statuses(hollow_cluster, witness, start):
    ecs = start().boto("ecs")
    wait_until(lambda: ecs.describe_clusters(clusters=["default"])["clusters"], "there is a cluster")

    def state(name):
        found = ecs.describe_services(services=[name], include=["TAGS"])["services"][0]
        assert found["status"] == "ACTIVE"
        return {tag["key"]: tag["value"] for tag in found["tags"]}["slipway:state"]

    ecs.create_service(serviceName="fine", desiredCount=1, taskDefinition=definition(ecs, "fine"))
    wait_until(lambda: state("fine") == "ACTIVE", "the tag says that it is active")
    namespace = witness.pods("fine")[0]["metadata"]["namespace"]
    hollow_cluster.kubectl("create", "quota", "none", "--hard=pods=1", "-n", namespace)
    try:
        # Before it is counted it may not hold yet.
        wait_until(lambda: hollow_cluster.kubectl_json("get", "quota", "none", "-n", namespace).get("status", {}).get(
            "used", {}).get("pods") == "1", "the quota is counted")
        ecs.update_service(service="fine", desiredCount=2)
        wait_until(lambda: state("fine") == "FAILED", "the tag says that it cannot go on")
        assert described(ecs, "fine")["deployments"][0]["rolloutState"] == "FAILED"
        wait_until(lambda: any("quota" in event["message"]
                               for event in described(ecs, "fine")["events"]), "an event says why")
    finally:
        hollow_cluster.kubectl("delete", "quota", "none", "-n", namespace)
    ecs.update_service(service="fine", desiredCount=1)
    wait_until(lambda: state("fine") == "ACTIVE", "it continues")
    ecs.delete_service(service="fine", force=True)


def test_a_task_that_admission_refuses_stops_with_the_reason(hollow_cluster, witness, start):
    """A quota here; Pod Security Standards and webhooks answer in the same way (kubernetes_admission_test.c)."""
    ecs = start().boto("ecs")
    wait_until(lambda: ecs.describe_clusters(clusters=["default"])["clusters"], "there is a cluster")
    task = definition(ecs, "refused")
    ecs.create_service(serviceName="first", desiredCount=1, taskDefinition=task)
    namespace = wait_until(lambda: witness.pods("first"), "there is a pod")[0]["metadata"]["namespace"]
    hollow_cluster.kubectl("create", "quota", "full", "--hard=pods=1", "-n", namespace)
    try:
        wait_until(lambda: hollow_cluster.kubectl_json("get", "quota", "full", "-n", namespace).get("status", {}).get(
            "used", {}).get("pods") == "1", "the quota is counted")
        arn = ecs.run_task(taskDefinition=task)["tasks"][0]["taskArn"]
        stopped = wait_until(
            lambda: (found := ecs.describe_tasks(tasks=[arn])["tasks"][0])["lastStatus"] == "STOPPED" and found,
            "it stops")
        assert stopped["stopCode"] == "TaskFailedToStart"
        assert "exceeded quota: full" in stopped["stoppedReason"]
    finally:
        hollow_cluster.kubectl("delete", "quota", "full", "-n", namespace)
    ecs.delete_service(service="first", force=True)
