"""Everything goes wrong at once, by chance: services are made, changed and deleted, tasks are run and stopped, while
pods end, objects vanish, nodes go, the API server is away or forgets, answers are lost and slipway is killed. When
all is well again, ECS is exactly what Kubernetes says, and nothing is there twice or left over.

    SLIPWAY_CHAOS_SEED=7 SLIPWAY_CHAOS_STEPS=100 ./dev test kubernetes -- -k chaos     # another one, and longer
"""
import contextlib
import os
import random
import time

import pytest

from conftest import account, wait_until
from faults import Faults
from test_faults import World
from test_state import described, ids_of, tasks_of
from witness import is_ready, task_ids

STEPS = int(os.environ.get("SLIPWAY_CHAOS_STEPS", "30"))
SEEDS = [int(seed) for seed in os.environ.get("SLIPWAY_CHAOS_SEED", "1").split()]
SERVICES = ("one", "two", "three")
NETWORK = {"awsvpcConfiguration": {"subnets": ["subnet-1"]}}
REPLICAS_MAX = 4
SETTLE_SECONDS = 180


class Chaos(World):
    """The desired state, and every event that can happen to it."""

    def __init__(self, cluster, start_slipway, faults, seed):
        self.faults, self.random = faults, random.Random(seed)
        self.wanted = {}  # count and image of each service
        self.alone = set()  # tasks of RunTask
        self.drained, self.silent, self.images, self.registries = set(), set(), 0, {}
        super().__init__(cluster, start_slipway, *account())

    def start(self):
        self.server = self.start_slipway(
            "--runtime", "kubernetes", "--kubeconfig", self.faults.kubeconfig(), *self.arguments,
            state=self.server.state if self.server else None)

    def name_services(self):
        """Each has a name in Cloud Map, and with it an EndpointSlice."""
        names = self.server.boto("servicediscovery")
        made = names.create_private_dns_namespace(Name="chaos.test", Vpc="vpc-1")["OperationId"]
        space = wait_until(lambda: names.get_operation(OperationId=made)["Operation"].get(
            "Targets", {}).get("NAMESPACE"), "the namespace is there")
        self.registries = {name: names.create_service(Name=name, NamespaceId=space, DnsConfig={
            "DnsRecords": [{"Type": "A", "TTL": 1}]})["Service"] for name in SERVICES}

    def definition(self, family, image):
        return self.ecs.register_task_definition(family=family, networkMode="awsvpc", containerDefinitions=[{
            "name": "app", "image": image, "memory": 32, "cpu": 64, "command": ["serve"],
        }])["taskDefinition"]["taskDefinitionArn"]

    def image(self):
        self.images += 1
        return f"local.test/web:{self.images}"

    def some_service(self):
        return self.random.choice(sorted(self.wanted)) if self.wanted else None

    def some_pod(self):
        pods = [pod for pod in self.witness.all_pods() if pod["status"].get("phase") == "Running"
                and "deletionTimestamp" not in pod["metadata"]]
        return self.random.choice(pods)["metadata"] if pods else None

    # ---- requests of clients ----

    def do_make(self):
        missing = [name for name in SERVICES if name not in self.wanted]
        if not missing:
            return
        name, count, image = self.random.choice(missing), self.random.randrange(1, REPLICAS_MAX), self.image()
        if any(found["status"] == "DRAINING" for found in self.ecs.describe_services(services=[name])["services"]):
            return
        self.ecs.create_service(
            serviceName=name, desiredCount=count, taskDefinition=self.definition(name, image),
            networkConfiguration=NETWORK, serviceRegistries=[{"registryArn": self.registries[name]["Arn"]}])
        self.wanted[name] = [count, image]

    def do_scale(self):
        if name := self.some_service():
            self.wanted[name][0] = self.random.randrange(REPLICAS_MAX + 1)
            self.ecs.update_service(service=name, desiredCount=self.wanted[name][0])

    def do_roll(self):
        if name := self.some_service():
            self.wanted[name][1] = self.image()
            self.ecs.update_service(service=name, taskDefinition=self.definition(name, self.wanted[name][1]))

    def do_force(self):
        if name := self.some_service():
            self.ecs.update_service(service=name, forceNewDeployment=True)

    def do_delete(self):
        if name := self.some_service():
            self.ecs.delete_service(service=name, force=True)
            del self.wanted[name]

    def do_run(self):
        if len(self.alone) < REPLICAS_MAX:
            made = self.ecs.run_task(taskDefinition=self.definition("alone", "local.test/web:0"),
                                     networkConfiguration=NETWORK)["tasks"]
            self.alone.update(ids_of(made))

    def do_stop(self):
        arns = self.ecs.list_tasks()["taskArns"]
        if arns:
            self.ecs.stop_task(task=self.random.choice(arns))

    def do_drain(self):
        instances = self.ecs.list_container_instances()["containerInstanceArns"]
        if instances and not self.drained:
            self.drained.add(self.random.choice(instances))
            self.ecs.update_container_instances_state(containerInstances=list(self.drained), status="DRAINING")

    def do_activate(self):
        if self.drained:
            self.ecs.update_container_instances_state(containerInstances=list(self.drained), status="ACTIVE")
            self.drained.clear()

    # ---- events outside of slipway ----

    def do_exit(self):
        if pod := self.some_pod():
            with contextlib.suppress(RuntimeError):
                self.cluster.hollow.exit(pod["namespace"], pod["name"], code=self.random.randrange(3),
                                         hidden=self.random.random() < 0.2)

    def do_evict(self):
        if pod := self.some_pod():
            with contextlib.suppress(RuntimeError):
                self.cluster.hollow.evict(pod["namespace"], pod["name"])

    def do_delete_pod(self):
        if pod := self.some_pod():
            self.cluster.kubectl("delete", "pod", pod["name"], "-n", pod["namespace"], "--wait=false", check=False)

    def do_delete_pod_by_force(self):
        if pod := self.some_pod():
            place = (pod["name"], "-n", pod["namespace"])
            self.cluster.kubectl("patch", "pod", *place, "--type=merge", "-p", '{"metadata":{"finalizers":null}}',
                                 check=False)
            self.cluster.kubectl("delete", "pod", *place, "--grace-period=0", "--force", "--wait=false", check=False)

    def delete_one(self, kind, *arguments):
        items = self.witness.items(kind)
        if items:
            found = self.random.choice(items)["metadata"]
            self.cluster.kubectl("delete", kind, found["name"], "-n", found["namespace"], "--wait=false",
                                 *arguments, check=False)

    def do_delete_deployment(self):
        self.delete_one("deployments")

    def do_orphan_pods(self):
        self.delete_one("deployments", "--cascade=orphan")

    def do_delete_replicaset(self):
        self.delete_one("replicasets")

    def do_delete_namespace(self):
        items = self.witness.all_pods()
        if items and self.random.random() < 0.3:
            self.cluster.kubectl("delete", "namespace", items[0]["metadata"]["namespace"], "--wait=false",
                                 check=False)

    def do_change_replicas(self):
        items = self.witness.items("deployments")
        if items:
            found = self.random.choice(items)["metadata"]
            self.cluster.kubectl("scale", "deployment", found["name"], "-n", found["namespace"],
                                 f"--replicas={self.random.randrange(REPLICAS_MAX + 1)}", check=False)

    def do_silence(self):
        if not self.silent:
            node = self.random.choice(self.cluster.kubectl_json("get", "nodes")["items"])["metadata"]["name"]
            self.silent.add(node)
            self.cluster.hollow.silence(node)

    def do_wake(self):
        for node in self.silent:
            self.cluster.hollow.wake(node)
        self.silent.clear()

    # ---- the connection ----

    def do_cut(self):
        self.faults.cut("watch=")

    def do_gone(self):
        self.faults.answer("GET .*watch=", 410, times=self.random.randrange(1, 6))
        self.faults.cut("watch=")

    def do_lose(self):
        self.faults.lose_answer("^(POST|PUT|PATCH|DELETE) ", times=self.random.randrange(1, 6))

    def do_refuse(self):
        self.faults.answer("", self.random.choice((403, 409, 429, 500, 503)), times=self.random.randrange(1, 10))

    def do_hang(self):
        self.faults.hang("", times=self.random.randrange(1, 4))

    def do_heal(self):
        self.faults.heal()

    def do_forget(self):
        with contextlib.suppress(OSError):  # it was forgotten a moment ago
            self.cluster.forget_history()
        self.faults.cut("watch=")

    def do_api_server(self):
        self.cluster.kill_api_server()
        time.sleep(self.random.random())
        self.cluster.start_api_server()

    def do_kill(self):
        self.kill()
        self.start()

    def do_rest(self):
        time.sleep(self.random.random() * 2)

    # ---- the end ----

    def settle_all(self):
        self.faults.heal()
        self.do_wake()
        self.do_activate()
        for name, (count, image) in sorted(self.wanted.items()):
            self.ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig={
                "Delay": 1, "MaxAttempts": 2 * SETTLE_SECONDS})
            wait_until(lambda: self.is_exact(name, count, image),  # pylint: disable=cell-var-from-loop
                       f"{name} is exactly {count} pods of {image}, and its tasks are they", SETTLE_SECONDS)
        wait_until(lambda: self.groups() == sorted(self.wanted), "each service has one Deployment", SETTLE_SECONDS)
        wait_until(lambda: self.running() == task_ids(self.live_pods()), "all tasks are pods", SETTLE_SECONDS)
        wait_until(lambda: self.published() == sorted(
            pod["status"]["podIP"] for name in self.wanted for pod in self.witness.pods(name)),
                   "names lead to the pods", SETTLE_SECONDS)
        stopped = [item for arn in self.alone for item in self.ecs.describe_tasks(tasks=[arn])["tasks"]
                   if item["lastStatus"] == "STOPPED"]
        assert all("stoppedAt" in item and item["stoppedReason"] for item in stopped)

    def is_exact(self, name, count, image):
        pods, found = self.witness.pods(name, ending=True), described(self.ecs, name)
        return ((found["runningCount"], found["pendingCount"], len(found["deployments"])) == (count, 0, 1)
                and len(pods) == count and all(is_ready(pod) for pod in pods)
                and {pod["spec"]["containers"][0]["image"] for pod in pods} <= {image}
                and ids_of(tasks_of(self.ecs, name)) == task_ids(pods) == self.named(name))

    def named(self, name):
        found = self.server.boto("servicediscovery").list_instances(ServiceId=self.registries[name]["Id"])
        return {item["Id"] for item in found["Instances"]}

    def published(self):
        """Addresses in the cluster's own DNS, as it would read them."""
        spaces = {item["metadata"]["name"] for item in self.witness.items("namespaces")}
        return sorted(address for item in self.witness.items("endpointslices")
                      if item["metadata"]["namespace"] in spaces
                      for endpoint in item["endpoints"] or () for address in endpoint["addresses"])

    def groups(self):
        return sorted(item["metadata"]["annotations"]["slipway.dev/group"].split("/")[3]
                      for item in self.witness.items("deployments"))

    def running(self):
        arns = self.ecs.list_tasks(desiredStatus="RUNNING")["taskArns"]
        tasks = self.ecs.describe_tasks(tasks=arns)["tasks"] if arns else []
        return ids_of(tasks)

    def live_pods(self):
        return [pod for pod in self.witness.all_pods() if pod["status"].get("phase") not in ("Succeeded", "Failed")]


@pytest.fixture(scope="module")
def faults(hollow_cluster):
    with Faults(hollow_cluster) as faults:
        yield faults


@pytest.mark.parametrize("seed", SEEDS)
def test_chaos_ends_in_the_actual_state(hollow_cluster, start_slipway, faults, seed):
    world = Chaos(hollow_cluster, start_slipway, faults, seed)
    actions = sorted(name for name in dir(world) if name.startswith("do_"))
    wait_until(lambda: world.ecs.list_clusters()["clusterArns"], "the cluster is there")
    world.name_services()
    world.do_make()
    for _ in range(STEPS):
        action = world.random.choice(actions)
        print(f"{time.monotonic():.1f} {action}", flush=True)  # for the analysis of a failure
        getattr(world, action)()
    world.settle_all()
