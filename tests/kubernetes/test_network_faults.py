"""ECS on Kubernetes behind a faulty network: watches that are cut or answered with 410 Gone, answers
that come late or never, lists that fail. And slipway killed at every single write of a rollout, before and after it
is done. Afterwards the service is exactly what Kubernetes reports, and nothing exists twice."""
import time

import pytest

from conftest import HOLLOW_NODES, wait_until
from faults import Faults
from test_faults import World
from test_state import WAIT, described, ids_of, tasks_of, wait_for_status
from witness import annotations, task_ids

TAKES_MINUTES = True
WRITE = "^(POST|PUT|PATCH|DELETE) "
DOMAIN = "faults.test"
SECRETS_KEPT = 5  # of this version and the one before, and of what was seen to end too late


class WorldBehind(World):
    """A slipway that reaches its cluster through a fault proxy. Its service has everything that a version
    writes: a Deployment, a Secret, a name with EndpointSlices."""

    def __init__(self, cluster, start_slipway, faults, secrets):
        self.faults, self.secrets = faults, secrets
        super().__init__(cluster, start_slipway)

    def start(self):
        self.server = self.start_slipway(
            "--runtime", "kubernetes", "--kubeconfig", self.faults.kubeconfig(), "--secrets",
            self.secrets, state=self.server.state if self.server else None)

    def definition(self, image):
        return self.ecs.register_task_definition(family="web", networkMode="awsvpc", executionRoleArn="arn:aws:iam::123456789012:role/run",
            containerDefinitions=[{
            "name": "app", "image": image, "memory": 32, "cpu": 64, "command": ["serve"],
            "secrets": [{"name": "PASSWORD", "valueFrom": "password"}],
        }])["taskDefinition"]["taskDefinitionArn"]

    def make_named(self, count, image):
        discovery = self.server.boto("servicediscovery")
        operation = discovery.create_private_dns_namespace(Name=DOMAIN, Vpc="vpc-1")["OperationId"]
        space = wait_until(lambda: discovery.get_operation(OperationId=operation)["Operation"].get(
            "Targets", {}).get("NAMESPACE"), "the namespace is there")
        registry = discovery.create_service(Name="web", NamespaceId=space, DnsConfig={
            "DnsRecords": [{"Type": "A", "TTL": 1}]})["Service"]["Arn"]
        self.ecs.create_service(
            serviceName="web", desiredCount=count, taskDefinition=self.definition(image),
            serviceRegistries=[{"registryArn": registry}],
            networkConfiguration={"awsvpcConfiguration": {"subnets": ["subnet-1"]}})

    def roll(self, image):
        self.ecs.update_service(service="web", taskDefinition=self.definition(image))

    def settle_named(self, count, image):
        self.settle("web", count, image)
        pods = self.witness.pods("web")
        namespace = pods[0]["metadata"]["namespace"]
        wait_until(lambda: self.addresses(namespace) == sorted(pod["status"]["podIP"] for pod in pods),
                   "the name leads to each of the pods once")
        wait_until(lambda: len(self.witness.pods("web", ending=True)) == count, "nothing is left of others")
        used = {item["valueFrom"]["secretKeyRef"]["name"] for pod in pods
                for item in pod["spec"]["containers"][0]["env"] if "valueFrom" in item}

        def owned():
            """All Secrets there are, when they are those that the Deployment knows, and its own."""
            deployment = self.witness.deployment("web")
            there = {item["metadata"]["name"]: item["metadata"].get("ownerReferences")
                     for item in self.witness.items("secrets")}
            uid = deployment["metadata"]["uid"]
            return set(annotations(deployment)["slipway.dev/secret"].split()) == set(there) and all(
                owners and owners[0]["uid"] == uid for owners in there.values()) and set(there)

        # That of a task which has ended Kubernetes itself may have to remove, in its own time.
        there = wait_until(owned, "the Deployment knows and owns all Secrets")
        # Those of versions before go with the next ones, all of them with the Deployment.
        assert len(used) == 1 and used <= there and len(there) <= SECRETS_KEPT
        assert len(self.witness.items("services")) == 1

    def addresses(self, namespace):
        return sorted(address for item in self.witness.items("endpointslices")
                      if item["metadata"]["namespace"] == namespace
                      for endpoint in item["endpoints"] or () for address in endpoint["addresses"])


@pytest.fixture(scope="module")
def faults(hollow_cluster):
    with Faults(hollow_cluster) as faults:
        yield faults


@pytest.fixture(scope="module")
def behind(hollow_cluster, module_slipway, faults, tmp_path_factory):
    secrets = tmp_path_factory.mktemp("secrets")
    (secrets / "password").write_text("swordfish")
    world = WorldBehind(hollow_cluster, module_slipway, faults, secrets)
    world.make_named(2, "local.test/web:0")
    world.settle_named(2, "local.test/web:0")
    return world


@pytest.fixture
def world(behind, request):
    """The service stands with two tasks; afterwards, with the network healed, it must again."""
    behind.image = f"local.test/{request.node.name.replace('_', '-').replace('[', '.').strip(']')}:1"
    yield behind
    behind.faults.heal()
    behind.settle_named(2, behind.image)


def metric(server, name, resource):
    line = f'slipway_{name}{{resource="{resource}"}} '
    return int(next(found for found in server.get("/metrics").text.splitlines()
                    if found.startswith(line)).removeprefix(line))


# ---- the network ----

def test_watches_that_are_cut(world):
    """Each change comes through, though no watch lives longer than a moment."""
    world.roll(world.image)
    end = time.monotonic() + 5
    cuts = []

    def is_over():
        cuts.append(world.faults.cut("watch=(1|true)"))
        time.sleep(0.1)
        return sum(cuts) >= 6 and time.monotonic() >= end

    wait_until(is_over, "as many are cut as there are, over and over")


def test_watches_whose_past_is_gone(world):
    """410 Gone, to one watch after the other, without events in between."""
    before = metric(world.server, "kubernetes_lists_total", "pods")
    world.faults.answer("GET .*/pods.*watch=", 410, times=2)
    world.faults.answer("GET .*watch=", 410, times=6)
    world.faults.cut("watch=")
    world.roll(world.image)
    wait_until(lambda: metric(world.server, "kubernetes_lists_total", "pods") > before,
               "pods are listed again")
    assert metric(world.server, "kubernetes_watches_expired_total", "pods") >= 1


def test_answers_that_come_late(world):
    world.faults.delay("", 0.4)
    world.roll(world.image)
    world.settle_named(2, world.image)


def test_answers_that_are_lost(world):
    """Every second write is done and not answered."""
    for number in range(0, 40, 2):
        world.faults.lose_answer(WRITE, times=1, after=number)
    world.roll(world.image)
    world.settle_named(2, world.image)


def test_server_that_is_overrun(world):
    world.faults.answer(WRITE, 429, times=3, headers={"Retry-After": "1"})
    world.faults.answer(WRITE, 503, times=3)
    world.faults.answer(WRITE, 500, times=3)
    world.roll(world.image)
    world.settle_named(2, world.image)


def test_answers_that_are_cut_short(world):
    world.faults.truncate("^GET .*/pods", 300, times=4)
    world.faults.truncate(WRITE, 20, times=4)
    world.faults.cut("watch=")
    world.roll(world.image)
    world.settle_named(2, world.image)


@pytest.mark.parametrize("status", (500, 403))
def test_failed_lists_are_no_empty_cluster(world, status):
    """A slipway that is not let see the cluster says so, and concludes nothing."""
    world.roll(world.image)
    world.settle_named(2, world.image)
    before = ids_of(tasks_of(world.ecs, "web"))
    uid = world.witness.deployment("web")["metadata"]["uid"]
    world.kill()
    world.faults.answer("^GET /(api|apis/apps)/v1/(pods|deployments|replicasets|nodes)", status)
    world.start()
    wait_until(lambda: metric(world.server, "kubernetes_errors_total", "pods") >= 3, "lists fail")
    assert world.server.get("/readyz").status == 503
    assert ids_of(tasks_of(world.ecs, "web")) == before
    assert {item["lastStatus"] for item in tasks_of(world.ecs, "web")} == {"RUNNING"}
    assert described(world.ecs, "web")["runningCount"] == 2
    world.faults.heal()
    wait_until(lambda: world.server.get("/readyz").status == 200, "it knows the cluster")
    assert ids_of(tasks_of(world.ecs, "web")) == before == task_ids(world.witness.pods("web"))
    assert world.witness.deployment("web")["metadata"]["uid"] == uid


def test_ends_while_every_watch_hangs(world):
    """A pod that ends and one that is deleted, by force, while every watch hangs: noticed at the next list."""
    world.roll(world.image)
    world.settle_named(2, world.image)
    exits, deleted = world.witness.pods("web")
    arns = {item["taskArn"].rsplit("/", 1)[1]: item["taskArn"] for item in tasks_of(world.ecs, "web")}
    world.faults.hang("watch=")
    world.faults.cut("watch=")
    world.cluster.hollow.exit(exits["metadata"]["namespace"], exits["metadata"]["name"], code=7)
    place = (deleted["metadata"]["name"], "-n", deleted["metadata"]["namespace"])
    world.cluster.kubectl("patch", "pod", *place, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    world.cluster.kubectl("delete", "pod", *place, "--grace-period=0", "--force", "--wait=false")
    world.cluster.forget_history()
    world.faults.heal()
    world.faults.cut("watch=")
    ended = wait_for_status(world.ecs, arns[task_ids([exits]).pop()], "STOPPED")
    assert ended["containers"][0]["exitCode"] == 7
    wait_for_status(world.ecs, arns[task_ids([deleted]).pop()], "STOPPED")


def test_secrets_that_may_not_be_deleted_any_more(world):
    """As in a namespace that is being deleted, where slipway's rights go first: no pod stays for it."""
    world.roll(world.image)
    world.settle_named(2, world.image)
    arn = world.ecs.run_task(taskDefinition=world.definition(world.image), networkConfiguration={
        "awsvpcConfiguration": {"subnets": ["subnet-1"]}})["tasks"][0]["taskArn"]
    wait_for_status(world.ecs, arn, "RUNNING")
    try:
        pod = world.witness.pod(arn.rsplit("/", 1)[1])["metadata"]
        world.faults.answer("^(DELETE|PATCH) .*/secrets", 403)
        world.cluster.kubectl("delete", "pod", pod["name"], "-n", pod["namespace"], "--wait=false")
        wait_for_status(world.ecs, arn, "STOPPED")
        wait_until(lambda: world.witness.pod(arn.rsplit("/", 1)[1]) is None, "the pod is gone")
    finally:
        world.ecs.stop_task(task=arn)


def test_secrets_of_a_daemon_go_with_its_versions(world):
    """A DaemonSet has no ReplicaSets from which its versions could be read."""
    world.roll(world.image)
    world.settle_named(2, world.image)
    others = {item["metadata"]["name"] for item in world.witness.items("secrets")}
    network = {"awsvpcConfiguration": {"subnets": ["subnet-1"]}}
    images = [f"{world.image}-{number}" for number in range(4)]

    def own():
        return {item["metadata"]["name"] for item in world.witness.items("secrets")} - others

    world.ecs.create_service(serviceName="agent", schedulingStrategy="DAEMON", networkConfiguration=network,
                             taskDefinition=world.definition(images[0]))
    try:
        world.settle("agent", HOLLOW_NODES, images[0])
        for image in images[1:]:
            world.ecs.update_service(service="agent", taskDefinition=world.definition(image))
            world.settle("agent", HOLLOW_NODES, image)
            wait_until(lambda: len(world.witness.pods("agent", ending=True)) == HOLLOW_NODES,
                       "nothing is left of others")
        assert 0 < len(own()) < len(images)
    finally:
        world.ecs.delete_service(service="agent", force=True)
        world.ecs.get_waiter("services_inactive").wait(services=["agent"], WaiterConfig=WAIT)
    wait_until(lambda: not own(), "they go with it")


# ---- slipway is killed ----

@pytest.mark.parametrize("when", ("before", "after"))
def test_killed_at_every_write_of_a_rollout(world, when):
    """The first write, then the second, and so on, until a rollout has no more of them: each time slipway is killed
    before the API server has it, or after that has done it and before slipway knows."""
    step, name = 0, world.image
    while True:
        world.image = image = f"{name}-{step}"
        fault = world.faults.hang if when == "before" else world.faults.lose_answer
        fault(WRITE, times=1, after=step)
        world.roll(image)

        def is_stable(image=image):
            shown = described(world.ecs, "web")["deployments"]
            pods = world.witness.pods("web", ending=True)
            return len(shown) == 1 and shown[0]["rolloutState"] == "COMPLETED" and len(pods) == 2 and all(
                pod["spec"]["containers"][0]["image"] == image for pod in pods)

        wait_until(lambda: world.faults.is_used_up() or is_stable(), f"write {step}, or the end")
        if not world.faults.is_used_up():
            break
        world.kill()
        world.faults.heal()
        world.start()
        world.settle_named(2, image)
        step += 1
    assert step >= 5  # a Secret twice, the Deployment, names, and the ends of two pods


def test_killed_while_a_service_is_made(world):
    """The API server has created the Deployment, and slipway was killed before its answer: the Secret has no owner, and
    stays as long as it is needed, and no longer."""
    world.roll(world.image)
    world.settle_named(2, world.image)
    others = len(world.witness.items("secrets"))
    world.faults.lose_answer("^PATCH .*/deployments/", times=1)
    world.ecs.create_service(serviceName="first", desiredCount=1, taskDefinition=world.definition(world.image),
                             networkConfiguration={"awsvpcConfiguration": {"subnets": ["subnet-1"]}})
    try:
        wait_until(world.faults.is_used_up, "it is made")
        world.kill()
        world.faults.heal()
        world.start()
        world.settle("first", 1, world.image)
        assert len(world.witness.items("secrets")) == others + 1
    finally:
        world.ecs.delete_service(service="first", force=True)
        world.ecs.get_waiter("services_inactive").wait(services=["first"], WaiterConfig=WAIT)
    wait_until(lambda: len(world.witness.items("secrets")) == others, "its Secret is gone")


def test_stopped_tasks_are_reported_once(world):
    """After all faults here: each task that ended has one end, and no pod is held for it."""
    world.roll(world.image)
    world.settle_named(2, world.image)
    stopped = tasks_of(world.ecs, "web", desired="STOPPED")
    assert len(ids_of(stopped)) == len(stopped) > 0
    assert {item["lastStatus"] for item in stopped} == {"STOPPED"}
    held = {annotations(pod).get("slipway.dev/task") or pod["metadata"]["uid"].replace("-", "")
            for pod in world.witness.all_pods()}
    assert not held & ids_of(stopped)
    world.ecs.get_waiter("services_stable").wait(services=["web"], WaiterConfig=WAIT)
