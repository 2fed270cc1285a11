"""While a deployment waits, the shares of canary and primary stay as routed when tasks are replaced, without a failed request."""
import threading
import time

import pytest
from conftest import DEADLINE, wait_until
from test_app_names import BLUE_GREEN, CANARY, CLIENT, TTL, World, balancers
from test_services_traffic import Programs, Traffic

INSTANCES = 3
SERVER_ARGUMENTS = ["--balancers", balancers(), "--instances", str(INSTANCES)]


class Held(World):
    """Its client is a task of its own, which stays on an instance that is drained."""

    controller = "EXTERNAL"

    def version(self, version, count=2, controller=None):
        super().version(version, count, controller or self.controller)

    def start_client(self):
        definition = self.traffic.register("client", [
            {"name": "client", "image": "host", "memory": 64,
             "command": ["/usr/bin/python3", CLIENT, self.file, self.host, "8080", str(TTL)]}])
        self.traffic.ecs.run_task(taskDefinition=definition, networkConfiguration={
            "awsvpcConfiguration": {"subnets": ["subnet-1"]}})
        wait_until(lambda: len(self.answers()) > 20, "the client gets answers")

    def instance_of(self, task):
        return self.traffic.task(task)["containerInstanceArn"]

    def drain(self, *instances):
        self.traffic.ecs.update_container_instances_state(containerInstances=list(instances),
                                                          status="DRAINING")

    def activate_all(self):
        ecs = self.traffic.ecs
        arns = ecs.list_container_instances()["containerInstanceArns"]
        ecs.update_container_instances_state(containerInstances=arns, status="ACTIVE")

    def set_tasks(self, external_id):
        """Tasks that are to run, of the task sets with that ID; with controller ECS of the service or its canary."""
        if self.controller == "EXTERNAL":
            return {arn.split("/")[-1] for item in self.sets()
                    if item.get("externalId") == external_id
                    for arn in self.traffic.ecs.list_tasks(startedBy=item["id"])["taskArns"]}
        name = self.name + ("-canary" if external_id == "canary" else "")
        found = self.traffic.ecs.describe_services(services=[name])["services"]
        return set(self.traffic.tasks(name)) if found and found[0]["status"] == "ACTIVE" else set()

    def tasks(self, service=None):
        return self.set_tasks("primary") | self.set_tasks("canary")

    def assert_one_primary(self):
        if self.controller == "EXTERNAL":
            super().assert_one_primary()
        assert self.registered() == self.tasks() == self.set_tasks("primary")

    def wait_for_shares(self, primary, canary):
        """The numbers of registered tasks of both sets, and no other instance."""
        def condition():
            registered = self.registered()
            tasks = self.set_tasks("primary"), self.set_tasks("canary")
            found = tuple(len(registered & of) for of in tasks)
            return tasks if found == (primary, canary) and \
                registered == registered & (tasks[0] | tasks[1]) else None
        return wait_until(condition, f"{primary} + {canary} tasks are registered", 2 * DEADLINE)

    def wait_for_answers(self):
        """A client that keeps addresses has asked again."""
        began = time.monotonic()
        wait_until(lambda: any(at > began + 2 * TTL for at, _ in self.answers()), "answers")


class Sampler(threading.Thread):
    """Takes the registered instances all the time: (of the primary, of the canary)."""

    def __init__(self, world, canary=()):
        super().__init__(daemon=True)
        self.world, self.canary = world, set(canary)
        self.samples, self.over = [], threading.Event()

    def run(self):
        while not self.over.is_set():
            registered = self.world.registered()
            self.samples.append((len(registered - self.canary), len(registered & self.canary)))

    def end(self):
        self.over.set()
        self.join()
        assert len(self.samples) > 50
        return self.samples


@pytest.fixture(name="traffic", scope="module")
def new_traffic(slipway):
    return Traffic(slipway)


@pytest.fixture(name="world", scope="module", params=["EXTERNAL", "ECS"])
def new_world(request, slipway, traffic, tmp_path_factory):
    """With task sets, and with two services."""
    folder = tmp_path_factory.mktemp("hold")
    world = Held(slipway, Programs(folder), folder, f"abc-{request.param.lower()}",
                 traffic)
    world.controller = request.param
    world.version("1")
    deployed = world.application.sync()
    assert deployed["state"] == "SUCCESS", deployed
    world.start_client()
    return world


@pytest.fixture(name="begin")
def new_begin(world):
    """Starts a deployment and approves it up to a stage; it is cancelled at the end, and nothing may have failed."""
    version = {"1": "2", "2": "1"}[world.answers()[-1][1][1]]

    def start(stages, *indexes):
        world.version(version)
        world.application.pipeline(*stages)
        number = world.application.start()
        for index in indexes[:-1]:
            world.wait_for_stage(number, index)
            world.application.approve()
        world.wait_for_stage(number, indexes[-1])
        return number

    yield start
    world.application.run("deployment", "cancel", world.name)
    world.application.wait("latest")
    world.activate_all()
    wait_until(lambda: len(world.tasks()) == 2 and world.registered() == world.tasks(),
               "only the primary is left", 2 * DEADLINE)
    world.assert_one_primary()
    world.assert_no_failures()


def test_a_canary_that_stops_is_replaced(world, begin):
    """The new task is registered; the share is 33 % again."""
    begin(CANARY, 1, 3)
    _, canary = world.wait_for_shares(2, 1)
    world.traffic.ecs.stop_task(task=next(iter(canary)))
    _, other = world.wait_for_shares(2, 1)
    assert not other & canary
    world.wait_for_answers()


def test_drained_instances_in_a_canary(world, begin):
    """First that of the canary, then that of a primary task."""
    begin(CANARY, 1, 3)
    for role in (1, 0):
        before = world.wait_for_shares(2, 1)
        instance = world.instance_of(next(iter(before[role])))
        world.drain(instance)
        wait_until(lambda arn=instance: not any(
            world.instance_of(task) == arn for task in world.tasks()), "it is drained", 2 * DEADLINE)
        after = world.wait_for_shares(2, 1)
        assert after[role] != before[role]
        world.wait_for_answers()
        world.activate_all()


def test_a_drained_instance_with_all_traffic_on_the_canary(world, begin):
    """Blue/green after the cut-over: the canary's tasks are registered by slipway alone."""
    begin(BLUE_GREEN, 1, 3)
    _, canary = world.wait_for_shares(0, 2)
    sampler = Sampler(world)
    sampler.start()
    world.drain(*{world.instance_of(task) for task in canary})
    wait_until(lambda: not world.set_tasks("canary") & canary, "it is drained", 2 * DEADLINE)
    world.wait_for_shares(0, 2)
    world.wait_for_answers()
    assert min(sum(sample) for sample in sampler.end()) > 0


def test_the_share_during_the_rollout_of_the_primary(world, begin):
    """It never exceeds the last routed share, sampled."""
    number = begin(CANARY, 1, 3)
    _, canary = world.wait_for_shares(2, 1)
    sampler = Sampler(world, canary)
    sampler.start()
    world.application.approve()
    world.wait_for_stage(number, 5)
    shares = [of_canary / (of_canary + of_primary) for of_primary, of_canary in sampler.end()]
    assert 0 < min(shares) and max(shares) < 0.334, (min(shares), max(shares))
