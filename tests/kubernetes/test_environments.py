"""Daemon environments on Kubernetes: one pod on every node that matches. Nodes are hollow, so that a test can say what
happens on them; the witness is the API server. Numbers are those of the scenarios."""
import uuid

import pytest

from conftest import wait_until
from rest_requests import rest_client
from witness import Witness, annotations, is_ready

NODES = 3


class Environment:
    def __init__(self, cluster, server):
        self.cluster, self.server = cluster, server
        self.witness = Witness(cluster)
        self.ecs, self.api = server.boto("ecs"), rest_client(server)
        self.name = "e-" + uuid.uuid4().hex[:12]

    def define(self, version, **members):
        return self.ecs.register_task_definition(family=self.name, containerDefinitions=[
            {"name": "app", "image": f"local.test/{self.name}:{version}", "memory": 16,
             "essential": True, **members}])["taskDefinition"]["taskDefinitionArn"]

    def create(self, definition, **members):
        return self.api.create_environment(
            name=self.name, taskDefinition=definition, instanceGroup={"cluster": "default"},
            **members)["environmentVersion"]

    def roll_out(self, definition, **members):
        return self.deploy(self.create(definition, **members))

    def update(self, definition, **members):
        return self.deploy(self.api.update_environment(
            name=self.name, taskDefinition=definition, **members)["environmentVersion"])

    def deploy(self, version):
        identifier = self.api.start_deployment(
            name=self.name, environmentVersion=version)["deploymentId"]
        return wait_until(
            lambda: (now := self.api.get_deployment(name=self.name, deploymentId=identifier))[
                "status"] == "completed" and now, "it is completed")

    def pods(self):
        """Ours that live and are not being deleted, by node."""
        found = {}
        for pod in self.witness.all_pods():
            image = pod["spec"]["containers"][0]["image"]
            if f"/{self.name}:" in image and "deletionTimestamp" not in pod["metadata"] and \
                    pod["status"]["phase"] in ("Pending", "Running"):
                found.setdefault(pod["spec"].get("nodeName"), []).append(pod)
        return found

    def assert_one_each(self, version, nodes=NODES):
        """One that has been stopped may be there a moment longer."""
        def is_so():
            found = self.pods()
            return None not in found and len(found) == nodes and all(
                len(pods) == 1 and is_ready(pods[0])
                and pods[0]["spec"]["containers"][0]["image"].endswith(f":{version}") for pods in found.values())

        wait_until(is_so, f"there is one of version {version} on each of {nodes} nodes")

    def remove(self):
        self.api.delete_environment(name=self.name, terminateTasks=True)
        wait_until(lambda: self.name not in [one["name"] for one in self.api.list_environments()[
            "environments"]], "it is gone")
        wait_until(lambda: not self.pods(), "and so are its pods")


@pytest.fixture(name="server", scope="module")
def new_server(hollow_cluster, module_slipway):
    return module_slipway("--runtime", "kubernetes", "--kubeconfig",
                          hollow_cluster.credentials.path("admin.kubeconfig"))


@pytest.fixture(name="environment")
def new_environment(hollow_cluster, server):
    environment = Environment(hollow_cluster, server)
    wait_until(lambda: len(environment.ecs.list_container_instances()["containerInstanceArns"])
               == NODES, "all nodes are known")
    yield environment
    environment.remove()


def test_13_34_one_pod_on_each_node_and_a_new_version(environment):
    done = environment.roll_out(environment.define(1),
                                deploymentConfiguration={"minHealthyPercent": 60})
    assert (done["completed"], done["total"]) == (NODES, NODES)
    environment.assert_one_each(1)
    environment.update(environment.define(2))
    environment.assert_one_each(2)
    back = environment.api.rollback_deployment(name=environment.name)["deploymentId"]
    wait_until(lambda: environment.api.get_deployment(
        name=environment.name, deploymentId=back)["status"] == "completed", "it went back")
    environment.assert_one_each(1)


def test_24_a_pod_that_ends_or_is_deleted_is_replaced_where_it_was(environment):
    environment.roll_out(environment.define(1))
    before = {node: pods[0]["metadata"] for node, pods in environment.pods().items()}
    first, second, third = sorted(before)
    environment.cluster.hollow.exit(before[first]["namespace"], before[first]["name"], code=1)
    environment.cluster.kubectl("-n", before[second]["namespace"], "delete", "pod",
                                before[second]["name"], "--wait=false")

    def replaced():
        found = environment.pods()
        return len(found) == NODES and all(
            len(found[node]) == 1 and found[node][0]["metadata"]["uid"] != before[node]["uid"]
            and is_ready(found[node][0]) for node in (first, second))

    wait_until(replaced, "both are replaced")
    assert environment.pods()[third][0]["metadata"]["uid"] == before[third]["uid"]


def test_a_node_that_refuses_a_pod_is_left_to_the_scheduler(environment):
    """A kubelet knows what others use of its node; slipway does not, and takes its word."""
    hollow = environment.cluster.hollow
    hollow.hold()
    try:
        identifier = environment.api.start_deployment(
            name=environment.name, environmentVersion=environment.create(environment.define(1)))["deploymentId"]
        wait_until(lambda: len(environment.pods()) == NODES, "there are pods")
        before = environment.pods()
        assert all("affinity" not in pods[0]["spec"] for pods in before.values())
        node = sorted(before)[0]
        refused = before[node][0]["metadata"]
        hollow.refuse(refused["namespace"], refused["name"], "OutOfcpu", "Node didn't have enough resource: cpu")
        again = wait_until(lambda: [pod for pod in environment.pods().get(node, ()) if
                                    pod["metadata"]["uid"] != refused["uid"]], "another one takes its place")[0]
        assert "nodeAffinity" in again["spec"]["affinity"]
    finally:
        hollow.release()
    wait_until(lambda: environment.api.get_deployment(
        name=environment.name, deploymentId=identifier)["status"] == "completed", "it is completed")
    environment.assert_one_each(1)
    told = environment.ecs.describe_tasks(tasks=[annotations(before[node][0])["slipway.dev/task"]])["tasks"][0]
    assert told["stopCode"] == "TaskFailedToStart"
    assert told["stoppedReason"] == "OutOfcpu: Node didn't have enough resource: cpu"


def test_29_nodes_that_drain_lose_theirs_and_get_it_back(environment):
    environment.roll_out(environment.define(1))
    instance = environment.ecs.list_container_instances()["containerInstanceArns"][0]
    environment.ecs.update_container_instances_state(containerInstances=[instance],
                                                     status="DRAINING")
    try:
        wait_until(lambda: len(environment.pods()) == NODES - 1, "its pod has left")
    finally:
        environment.ecs.update_container_instances_state(containerInstances=[instance],
                                                         status="ACTIVE")
    wait_until(lambda: len(environment.pods()) == NODES, "it has one again")
    wait_until(lambda: environment.api.get_environment(name=environment.name)["counts"]["active"]
               == NODES, "and runs")
    environment.assert_one_each(1)


def test_30_a_node_that_is_away_is_left_as_it_is(environment):
    environment.roll_out(environment.define(1))
    before = {node: pods[0]["metadata"]["uid"] for node, pods in environment.pods().items()}
    node = sorted(before)[0]
    environment.cluster.hollow.set_node(node, "False")
    try:
        wait_until(lambda: not all(item["agentConnected"] for item in environment.api.list_instances(
            cluster="default")["instances"]), "it is seen to be away")
        # A new version goes out without it.
        environment.update(environment.define(2),
                           deploymentConfiguration={"unreachableTimeoutSeconds": 1})
        found = environment.pods()
        assert found[node][0]["metadata"]["uid"] == before[node] and len(found[node]) == 1
    finally:
        environment.cluster.hollow.set_node(node, "True")
    wait_until(lambda: [pod["metadata"]["uid"] for pod in environment.pods().get(node, ())]
               not in ([], [before[node]]), "and is brought up to date when it is back")
    wait_until(lambda: environment.api.get_environment(name=environment.name)["counts"]["active"]
               == NODES, "it runs")
    environment.assert_one_each(2)


def test_70_the_server_is_killed_while_it_rolls_out(hollow_cluster, start_slipway):
    arguments = ["--runtime", "kubernetes", "--kubeconfig",
                 hollow_cluster.credentials.path("admin.kubeconfig"), "--account", "222222222222"]
    server = start_slipway(*arguments)
    environment = Environment(hollow_cluster, server)
    wait_until(lambda: len(environment.ecs.list_container_instances()["containerInstanceArns"])
               == NODES, "all nodes are known")
    version = environment.api.create_environment(
        name=environment.name, taskDefinition=environment.define(1),
        instanceGroup={"cluster": "default"})["environmentVersion"]
    identifier = environment.api.start_deployment(
        name=environment.name, environmentVersion=version)["deploymentId"]
    for _ in range(4):
        server.kill()
        assert all(len(pods) == 1 for pods in environment.pods().values())
        server = start_slipway(*arguments, state=server.state)
        environment.ecs, environment.api = server.boto("ecs"), rest_client(server)
    wait_until(lambda: environment.api.get_deployment(
        name=environment.name, deploymentId=identifier)["status"] == "completed", "it is completed")
    environment.assert_one_each(1)
    environment.remove()
