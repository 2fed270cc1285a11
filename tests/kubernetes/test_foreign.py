"""Objects of others are never changed, neither beside slipway's own nor in the place of one.
The truth is what the API server has of it, before and after."""
import json

import pytest

from conftest import wait_until
from test_faults import World
from test_state import WAIT, definition, described, events_of, ids_of, tasks_of
from witness import MANAGED, task_ids

NETWORK = {"awsvpcConfiguration": {"subnets": ["subnet-1"]}}


@pytest.fixture(scope="module")
def world(hollow_cluster, module_slipway, tmp_path_factory):
    secrets = tmp_path_factory.mktemp("secrets")
    (secrets / "password").write_text("correct horse")
    world = World(hollow_cluster, module_slipway, "--secrets", secrets)
    world.make("web", 1)
    world.settle("web", 1)
    return world


@pytest.fixture(scope="module")
def namespace(world):
    return world.witness.deployment("web")["metadata"]["namespace"]


@pytest.fixture(autouse=True)
def tidy(world):
    """Removes what a failed test has left."""
    yield
    for foreign in list(Foreign.there):
        foreign.delete()
    if world.server.ended:
        world.start()
    for arn in world.ecs.list_services()["serviceArns"]:
        if not arn.endswith("/web"):
            world.ecs.delete_service(service=arn, force=True)
            world.ecs.get_waiter("services_inactive").wait(services=[arn], WaiterConfig=WAIT)


class Foreign:
    """An unmanaged object, and what it was when it was created."""

    there = []

    def __init__(self, cluster, namespace, document):
        self.cluster = cluster
        self.place = (document["kind"], document["metadata"]["name"], "-n", namespace)
        path = cluster.path(f"foreign-{document['kind']}-{document['metadata']['name']}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        cluster.kubectl("create", "-n", namespace, "-f", path)
        self.there.append(self)
        self.before = self.read()

    def read(self):
        found = self.cluster.kubectl_json("get", *self.place)
        metadata = found["metadata"]
        kept = {key: metadata.get(key) for key in ("uid", "generation", "labels", "ownerReferences",
                                                   "finalizers", "deletionTimestamp")}
        kept["managers"] = {item["manager"] for item in metadata.get("managedFields", ())}
        return kept, found.get("spec"), found.get("endpoints"), found.get("data")

    def check(self):
        before, after = self.before, self.read()
        assert not [name for name in after[0]["managers"] - before[0]["managers"] if "slipway" in name]
        assert {**after[0], "managers": 0} == {**before[0], "managers": 0} and after[1:] == before[1:]

    def remove(self):
        self.check()
        self.delete()

    def delete(self):
        self.there.remove(self)
        self.cluster.kubectl("delete", *self.place, "--ignore-not-found")


def deployment(name, labels):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels}, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"app": "foreign"}}, "template": {
            "metadata": {"labels": {"app": "foreign"}},
            "spec": {"containers": [{"name": "other", "image": "local.test/other:1"}]}}}}


@pytest.mark.parametrize("name, labels", (
    ("plain", {"app": "foreign"}),
    ("labelled", {"app.kubernetes.io/managed-by": "slipway"}),  # and without the annotations
    ("charted", {"app.kubernetes.io/managed-by": "Helm"}),
))
def test_a_deployment_in_our_place(world, namespace, name, labels):
    world.make(name, 1)
    world.settle(name, 1)
    ours = world.witness.deployment(name)["metadata"]
    world.kill()
    world.cluster.kubectl("delete", "deployment", ours["name"], "-n", namespace)
    foreign = Foreign(world.cluster, namespace, deployment(ours["name"], labels))
    world.start()
    wait_until(lambda: any(f"a Deployment '{ours['name']}' that is not slipway's is in the way" in message
                           for message in events_of(world.ecs, name)), "an event of the service says so")
    foreign.remove()
    world.settle(name, 1)
    foreign = Foreign(world.cluster, namespace, deployment("beside", labels))
    world.ecs.delete_service(service=name, force=True)
    world.ecs.get_waiter("services_inactive").wait(services=[name], WaiterConfig=WAIT)
    foreign.remove()


def test_a_daemon_set_in_our_place(world, namespace):
    world.ecs.create_service(serviceName="agent", schedulingStrategy="DAEMON",
                             taskDefinition=definition(world.ecs, "agent"))
    nodes = len(world.cluster.kubectl_json("get", "nodes")["items"])
    wait_until(lambda: described(world.ecs, "agent")["runningCount"] == nodes, "it runs on every node")
    ours = world.witness.deployment("agent", "daemonsets")["metadata"]
    world.kill()
    world.cluster.kubectl("delete", "daemonset", ours["name"], "-n", namespace)
    document = deployment(ours["name"], {"app": "foreign"})
    del document["spec"]["replicas"]
    foreign = Foreign(world.cluster, namespace, {**document, "kind": "DaemonSet"})
    world.start()
    wait_until(lambda: any(f"a DaemonSet '{ours['name']}' that is not slipway's is in the way" in message
                           for message in events_of(world.ecs, "agent")), "an event of the service says so")
    foreign.remove()
    wait_until(lambda: world.witness.deployment("agent", "daemonsets")
               and described(world.ecs, "agent")["runningCount"] == nodes, "it runs on every node again")
    world.ecs.delete_service(service="agent", force=True)
    world.ecs.get_waiter("services_inactive").wait(services=["agent"], WaiterConfig=WAIT)


def test_a_secret_in_our_place(world, namespace):
    """Neither written nor deleted, whether slipway wants to make one of its name or has made one there."""
    world.ecs.create_service(serviceName="safe", desiredCount=1, taskDefinition=world.ecs.register_task_definition(
        family="safe", executionRoleArn="arn:aws:iam::123456789012:role/r", containerDefinitions=[
            {"name": "app", "image": "local.test/web:1", "memory": 32, "secrets": [
                {"name": "PASSWORD", "valueFrom": "password"}]}])["taskDefinition"]["taskDefinitionArn"])
    world.settle("safe", 1)
    ours = world.witness.deployment("safe")["metadata"]["name"]
    name, = [item["metadata"]["name"] for item in world.witness.items("secrets")]
    document = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": {"app": "foreign"}},
                "data": {"theirs": "dGhlaXJz"}}
    world.kill()
    world.cluster.kubectl("delete", "deployment", ours, "-n", namespace)
    wait_until(lambda: not world.witness.items("secrets"), "what was its is gone")
    foreign = Foreign(world.cluster, namespace, document)
    world.start()
    wait_until(lambda: any(f"a Secret '{name}' that is not slipway's is in the way" in message
                           for message in events_of(world.ecs, "safe")), "an event of the service says so")
    foreign.remove()
    world.settle("safe", 1)
    # It is made before its Deployment, which is there before it is its owner.
    made, = wait_until(lambda: [item for item in world.witness.items("secrets")
                                if "ownerReferences" in item["metadata"]], "it is made and has an owner")
    assert made["metadata"]["name"] == name and list(made["data"].values()) == ["Y29ycmVjdCBob3JzZQ=="]
    assert [item["kind"] for item in made["metadata"]["ownerReferences"]] == ["Deployment"]
    world.cluster.kubectl("delete", "secret", name, "-n", namespace)
    foreign = Foreign(world.cluster, namespace, document)
    world.ecs.delete_service(service="safe", force=True)
    world.ecs.get_waiter("services_inactive").wait(services=["safe"], WaiterConfig=WAIT)
    foreign.remove()


def test_a_pod_that_only_looks_like_ours(world, namespace):
    foreign = Foreign(world.cluster, namespace, {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stranger", "labels": dict([MANAGED.split("=")])},
        # With its node, which a scheduler would write into it.
        "spec": {"nodeName": "hollow-0", "containers": [{"name": "other", "image": "local.test/other:1"}]}})
    tasks = ids_of(tasks_of(world.ecs, "web"))
    world.kill()
    world.start()
    wait_until(lambda: world.server.get("/readyz").status == 200, "it knows the cluster")
    world.settle("web", 1)
    assert ids_of(tasks_of(world.ecs, "web")) == tasks
    assert foreign.before[0]["uid"].replace("-", "") not in str(world.ecs.list_tasks())
    foreign.remove()


def test_services_and_slices_in_our_place(world, namespace):
    """If an unmanaged Service has the name, a longer one is published; nor are unmanaged EndpointSlices
    taken over."""
    discovery = world.server.boto("servicediscovery")
    operation = discovery.create_private_dns_namespace(Name="foreign.test", Vpc="vpc-1")["OperationId"]
    space = wait_until(lambda: discovery.get_operation(OperationId=operation)["Operation"].get(
        "Targets", {}).get("NAMESPACE"), "the namespace is there")
    taken = Foreign(world.cluster, namespace, {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "taken", "labels": {"app": "foreign"}},
        "spec": {"selector": {"app": "foreign"}, "ports": [{"port": 80}]}})
    piece = Foreign(world.cluster, namespace, {
        "apiVersion": "discovery.k8s.io/v1beta1", "kind": "EndpointSlice", "metadata": {"name": "sliced-0"},
        "addressType": "IPv4", "ports": [{"port": 80}], "endpoints": [{"addresses": ["198.18.0.9"]}]})
    family = world.ecs.register_task_definition(family="named", networkMode="awsvpc", containerDefinitions=[
        {"name": "app", "image": "local.test/web:1", "memory": 32}])["taskDefinition"]["taskDefinitionArn"]
    for name in ("taken", "sliced"):
        registry = discovery.create_service(Name=name, NamespaceId=space, DnsConfig={
            "DnsRecords": [{"Type": "A", "TTL": 1}]})["Service"]["Arn"]
        world.ecs.create_service(serviceName=name, desiredCount=1, taskDefinition=family,
                                 serviceRegistries=[{"registryArn": registry}], networkConfiguration=NETWORK)

    def addresses(full_name):
        return {address for item in world.witness.items("endpointslices")
                if item["metadata"]["annotations"]["slipway.dev/name"] == full_name
                for endpoint in item["endpoints"] or () for address in endpoint["addresses"]}

    world.settle("taken", 1)
    wait_until(lambda: addresses("taken.foreign.test")
               == {pod["status"]["podIP"] for pod in world.witness.pods("taken")}, "it is published all the same")
    world.settle("sliced", 1)
    wait_until(lambda: "an EndpointSlice 'sliced-0' that is not slipway's is in the way" in world.server.stderr,
               "the conflicting object is reported")
    taken.remove()
    piece.remove()
    wait_until(lambda: addresses("sliced.foreign.test")
               == {pod["status"]["podIP"] for pod in world.witness.pods("sliced")}, "it is published now")
    for name in ("taken", "sliced"):
        world.ecs.delete_service(service=name, force=True)
        world.ecs.get_waiter("services_inactive").wait(services=[name], WaiterConfig=WAIT)
    wait_until(lambda: not world.witness.items("services") and not world.witness.items("endpointslices"),
               "nothing is left of either")


def test_an_unmanaged_cordon_of_a_node_stays(world):
    node = world.cluster.kubectl_json("get", "nodes")["items"][0]["metadata"]["name"]
    arns = world.ecs.list_container_instances()["containerInstanceArns"]
    arn = next(found["containerInstanceArn"] for found in world.ecs.describe_container_instances(
        containerInstances=arns)["containerInstances"]
        if {"name": "ecs.instance-name", "value": node} in found["attributes"])
    world.cluster.kubectl("cordon", node)
    try:
        for status in ("DRAINING", "ACTIVE"):
            world.ecs.update_container_instances_state(containerInstances=[arn], status=status)
            wait_until(lambda status=status: world.ecs.describe_container_instances(containerInstances=[arn])[
                "containerInstances"][0]["status"] == status, f"it is {status}")
            world.settle("web", 1)
        assert world.cluster.kubectl_json("get", "node", node)["spec"]["unschedulable"]
    finally:
        world.ecs.update_container_instances_state(containerInstances=[arn], status="ACTIVE")
        world.cluster.kubectl("uncordon", node)


def test_two_slipways_on_one_kubernetes(world, namespace, module_slipway):
    """Same account, region and cluster: the second one is refused. With a cluster of its own it works beside."""
    before = world.witness.deployment("web")["metadata"]
    other = module_slipway("--runtime", "kubernetes", "--kubeconfig",
                           world.cluster.credentials.path("admin.kubeconfig")).boto("ecs")
    wait_until(lambda: other.list_clusters()["clusterArns"], "the cluster is there")
    other.create_service(serviceName="web", desiredCount=2, taskDefinition=definition(other, "web"))
    wait_until(lambda: any(f"namespace '{namespace}' belongs to another slipway" in message
                           for message in events_of(other, "web")), "an event says why nothing happens")
    assert not tasks_of(other, "web")
    other.create_cluster(clusterName="mine")
    other.create_service(cluster="mine", serviceName="beside", desiredCount=2,
                         taskDefinition=definition(other, "beside"))
    other.get_waiter("services_stable").wait(cluster="mine", services=["beside"], WaiterConfig=WAIT)
    assert ids_of(tasks_of(other, "beside", "mine")) == task_ids(world.witness.pods("beside"))
    assert len(world.ecs.list_tasks()["taskArns"]) == described(world.ecs, "web")["runningCount"] == 1
    after = world.witness.deployment("web")["metadata"]
    assert (after["uid"], after["generation"]) == (before["uid"], before["generation"])
    for cluster, name in (("default", "web"), ("mine", "beside")):
        other.delete_service(cluster=cluster, service=name, force=True)
        other.get_waiter("services_inactive").wait(cluster=cluster, services=[name], WaiterConfig=WAIT)
    world.settle("web", 1)


def test_a_namespace_that_was_made_beforehand(world, module_slipway):
    """It is used when its maker says so, by a label. That of a cluster that is deleted stays, with what is in it."""
    ecs = module_slipway("--runtime", "kubernetes", "--region", "us-gov-west-1", "--kubeconfig",
                         world.cluster.credentials.path("admin.kubeconfig")).boto("ecs", region="us-gov-west-1")

    def make():
        ecs.create_cluster(clusterName="Shop_1")
        ecs.create_service(cluster="Shop_1", serviceName="gov", desiredCount=1,
                           taskDefinition=definition(ecs, "gov"))

    def remove():
        ecs.delete_service(cluster="Shop_1", service="gov", force=True)
        ecs.get_waiter("services_inactive").wait(cluster="Shop_1", services=["gov"], WaiterConfig=WAIT)
        wait_until(lambda: not world.witness.pods("gov", ending=True), "its pods are gone")

    make()
    ecs.get_waiter("services_stable").wait(cluster="Shop_1", services=["gov"], WaiterConfig=WAIT)
    name = world.witness.deployment("gov")["metadata"]["namespace"]
    assert name.startswith("shop-1-us-gov-west-1-")
    foreign = Foreign(world.cluster, name, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"},
                                            "data": {"a": "b"}})
    remove()
    ecs.delete_cluster(cluster="Shop_1")
    foreign.remove()
    world.cluster.kubectl("delete", "namespace", name)
    wait_until(lambda: world.cluster.api.find(f"/api/v1/namespaces/{name}") is None, "it is gone")
    world.cluster.kubectl("create", "namespace", name)
    make()
    wait_until(lambda: any(f"namespace '{name}' was not made by slipway; label it {MANAGED}" in event["message"]
                           for event in described(ecs, "gov", "Shop_1")["events"]), "an event says what to do")
    assert world.witness.deployment("gov") is None
    world.cluster.kubectl("label", "namespace", name, MANAGED)
    ecs.get_waiter("services_stable").wait(cluster="Shop_1", services=["gov"], WaiterConfig=WAIT)
    assert world.witness.deployment("gov")["metadata"]["namespace"] == name
    remove()


# ---- permissions ----

def test_a_token_that_is_refused(world, start_slipway):
    path = world.cluster.credentials.token_kubeconfig("stranger", "no-token-of-anybody")
    server = start_slipway("--runtime", "kubernetes", "--kubeconfig", path)
    wait_until(lambda: "Unauthorized" in server.stderr, "the log says so")
    assert server.get("/readyz").status == 503


def test_rights_that_are_missing(world, start_slipway):
    """Each that is missing is named, with what it is needed for."""
    path = world.cluster.credentials.certificate_kubeconfig("guest", user="guest", groups=("guests",))
    server = start_slipway("--runtime", "kubernetes", "--kubeconfig", path)
    for resource in ("pods", "nodes", "deployments", "daemonsets", "replicasets", "events"):
        wait_until(lambda resource=resource: f'cannot list resource \\"{resource}\\"' in server.stderr,
                   f"the log says that {resource} may not be listed")
    assert server.get("/readyz").status == 503
