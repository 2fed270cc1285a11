"""ECS on Kubernetes when things go wrong: the API server goes away, forgets, or is slow; slipway is killed. Afterwards
every answer is what the cluster says, and nothing is there twice."""
import time

import pytest

from conftest import account, wait_until
from test_state import WAIT, definition, described, ids_of, task, tasks_of, wait_for_status
from witness import GROUP, Witness, annotations, is_ready, task_ids


@pytest.fixture
def world(hollow_cluster, start_slipway):
    return World(hollow_cluster, start_slipway, *account())


class World:
    """A cluster and a slipway on it that can be killed and started again. Others of other accounts may be beside."""

    def __init__(self, cluster, start_slipway, *arguments):
        self.cluster = cluster
        self.start_slipway = start_slipway
        self.arguments = arguments
        self.server = None
        self.start()
        self.witness = Witness(cluster, self.server.key["account"])
        # It is there when the nodes are known.
        wait_until(lambda: self.ecs.list_clusters()["clusterArns"], "the cluster is there")

    def start(self):
        self.server = self.start_slipway(
            "--runtime", "kubernetes", "--kubeconfig",
            self.cluster.credentials.path("admin.kubeconfig"), *self.arguments,
            state=self.server.state if self.server else None)

    def kill(self):
        self.server.kill()

    @property
    def ecs(self):
        return self.server.boto("ecs")

    def make(self, name, count, image="local.test/web:1"):
        self.ecs.create_service(serviceName=name, desiredCount=count,
                                taskDefinition=definition(self.ecs, name, image))

    def settle(self, name, count, image="local.test/web:1"):
        """Wait until ECS says that the service is stable, and hold that against the cluster. What a server that was
        just started says may be what was, so all of it must be true at once."""
        self.ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)

        def is_exact():
            pods, found = self.witness.pods(name), described(self.ecs, name)
            return ((found["runningCount"], found["pendingCount"], len(found["deployments"])) == (count, 0, 1)
                    and len(pods) == count and all(is_ready(pod) for pod in pods)
                    and {pod["spec"]["containers"][0]["image"] for pod in pods} == {image}
                    and ids_of(tasks_of(self.ecs, name)) == task_ids(pods))

        wait_until(is_exact, f"{name} is exactly {count} pods of {image}, and its tasks are they")
        names = [annotations(item)[GROUP] for item in self.witness.items("deployments") if GROUP in annotations(item)]
        assert len(names) == len(set(names))


def test_api_server_that_goes_and_comes(world):
    world.make("first", 2)
    world.settle("first", 2)
    world.cluster.kill_api_server()
    assert described(world.ecs, "first")["runningCount"] == 2
    world.make("second", 1)  # is accepted, and done when the API server is back
    world.ecs.update_service(service="first", desiredCount=3)
    time.sleep(2)
    assert {item["lastStatus"] for item in tasks_of(world.ecs, "first")} == {"RUNNING"}
    world.cluster.start_api_server()
    world.settle("first", 3)
    world.settle("second", 1)


def test_history_that_is_forgotten(world):
    world.make("web", 2)
    world.settle("web", 2)
    world.cluster.kill_api_server()
    world.cluster.start_api_server()
    world.cluster.forget_history()
    world.ecs.update_service(service="web", desiredCount=4)
    world.settle("web", 4)


def test_api_server_that_is_slow(world):
    world.make("web", 2)
    world.settle("web", 2)
    for _ in range(3):
        world.cluster.pause_api_server()
        try:
            world.ecs.update_service(service="web", desiredCount=3)
            time.sleep(2)
        finally:
            world.cluster.resume_api_server()
    world.settle("web", 3)


def test_what_happened_while_slipway_was_down(world):
    world.make("web", 3)
    world.settle("web", 3)
    before = {item["taskArn"].rsplit("/", 1)[1]: item["taskArn"]
              for item in tasks_of(world.ecs, "web")}
    exits, deleted, _ = world.witness.pods("web")
    world.kill()
    world.cluster.hollow.exit(exits["metadata"]["namespace"], exits["metadata"]["name"], code=5)
    world.cluster.kubectl("delete", "pod", deleted["metadata"]["name"], "-n",
                          deleted["metadata"]["namespace"], "--wait=false")
    world.start()
    world.settle("web", 3)
    ended = wait_for_status(world.ecs, before[task_ids([exits]).pop()], "STOPPED")
    assert ended["containers"][0]["exitCode"] == 5
    wait_for_status(world.ecs, before[task_ids([deleted]).pop()], "STOPPED")


def test_deployment_deleted_while_slipway_was_down(world):
    world.make("web", 2)
    world.settle("web", 2)
    deployment = world.witness.deployment("web")["metadata"]
    before = task_ids(world.witness.pods("web"))
    world.kill()
    world.cluster.kubectl("delete", "deployment", deployment["name"], "-n", deployment["namespace"])
    world.start()
    # Kubernetes may take its time to end them: until then all looks as it was.
    wait_until(lambda: not before & task_ids(world.witness.pods("web")), "the pods of before are ended")
    world.settle("web", 2)


def test_namespace_deleted_behind_our_back(world):
    """Nothing holds it up: neither tasks that run, nor what is kept of those that have ended."""
    world.make("web", 2)
    world.settle("web", 2)
    arns = [world.ecs.run_task(taskDefinition=definition(world.ecs, "alone"))["tasks"][0]["taskArn"] for _ in range(3)]
    for arn in arns:
        wait_for_status(world.ecs, arn, "RUNNING")
    runs, stops, exits = arns
    world.ecs.stop_task(task=stops)
    pod = world.witness.pod(exits.rsplit("/", 1)[1])["metadata"]
    world.cluster.hollow.exit(pod["namespace"], pod["name"], code=4)
    for arn in (stops, exits):
        wait_for_status(world.ecs, arn, "STOPPED")
    before = ids_of(tasks_of(world.ecs, "web"))
    uid = world.cluster.kubectl_json("get", "namespace", pod["namespace"])["metadata"]["uid"]
    world.cluster.kubectl("delete", "namespace", pod["namespace"], "--wait=false")
    assert wait_for_status(world.ecs, runs, "STOPPED")["stoppedReason"]
    # Its pods are deleted one after the other.
    wait_until(lambda: not before & ids_of(tasks_of(world.ecs, "web")), "no task of before is left")
    world.settle("web", 2)
    assert not before & ids_of(tasks_of(world.ecs, "web"))
    assert world.cluster.kubectl_json("get", "namespace", pod["namespace"])["metadata"]["uid"] != uid
    assert task(world.ecs, exits)["containers"][0]["exitCode"] == 4


def test_what_kubernetes_itself_forgets_to_delete(world):
    """A Deployment is deleted and made again while its controllers cannot look, and all that they find afterwards is one
    of that name: they never delete what the first one had made."""
    world.make("web", 2)
    world.settle("web", 2)
    first = task_ids(world.witness.pods("web"))
    made = world.witness.deployment("web")["metadata"]
    controllers = world.cluster.processes["kube-controller-manager"]
    controllers.pause()
    try:
        world.cluster.kill_api_server()
        world.cluster.start_api_server()  # nothing of what follows comes to them as an event
        world.cluster.kubectl("delete", "deployment", made["name"], "-n", made["namespace"], "--wait=false")
        wait_until(lambda: (found := world.witness.deployment("web"))
                   and found["metadata"]["uid"] != made["uid"], "it is made again")
        world.cluster.forget_history()
    finally:
        controllers.resume()
    wait_until(lambda: not first & task_ids(world.witness.pods("web", ending=True)), "the first tasks are gone")
    world.settle("web", 2)


@pytest.mark.parametrize("milliseconds", (0, 30, 80, 150, 300, 600, 1000, 1600))
def test_slipway_killed_during_a_rollout(world_of_kills, milliseconds):
    world = world_of_kills
    image = f"local.test/web:{milliseconds + 2}"
    world.ecs.update_service(service="web", taskDefinition=definition(world.ecs, "web", image))
    time.sleep(milliseconds / 1000)
    world.kill()
    world.start()
    world.settle("web", 3, image)


@pytest.fixture(scope="module")
def world_of_kills(hollow_cluster, module_slipway):
    world = World(hollow_cluster, module_slipway)
    world.make("web", 3)
    world.settle("web", 3)
    return world
