"""Daemon environments on an ECS elsewhere: another slipway, on which real programs run, behind a proxy that does to calls
what networks and services do. The numbers in names are those of the scenarios they show.

What is promised is held against the other slipway's own record of its tasks, and against the machine."""
import json
import math
import os
import shutil
import signal
import subprocess
import threading
import time

import boto3
import botocore.exceptions
import pytest

from conftest import DEADLINE, slipway_program, wait_until
from far_ecs import Between
from programs import LONG, Mark, container, task_id
from rest_requests import ask, rest_client
from test_environments import Fleet, logged, refusal
from test_operating import make_certificate
from test_services_run import Watch
from test_upgrade import sql

INSTANCES = 3
POLL = 0.2
ACCOUNT = "123456789012"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/slipway"


class World:
    """One slipway that has a target, and the one that is it."""

    def __init__(self, start, between, folder, *remote_arguments):
        self.start = start
        self.between = between
        self.folder = str(folder)
        self.remote = start(*(remote_arguments or ("--instances", INSTANCES)))
        between.url = self.remote.url
        between.key = self.remote.key
        between.keys[self.remote.key["accessKeyId"]] = self.remote.key["secretAccessKey"]
        self.near = None

    def configure(self, **members):
        """Write the configuration; members of the target beside or over the usual ones."""
        secret = os.path.join(self.folder, "far.secret")
        with open(secret, "w", encoding="utf-8") as file:
            file.write(self.remote.key["secretAccessKey"] + "\n")
        target = {"name": "far", "region": "us-east-1", "account": ACCOUNT,
                  "endpoint": self.between.endpoint, "stsEndpoint": self.between.endpoint + "/sts",
                  "credentials": {"accessKey": self.remote.key["accessKeyId"],
                                  "secretFile": secret},
                  "callsPerSecond": 1000, "pollInterval": f"{int(POLL * 1000)}ms", "timeout": "10s",
                  **members}
        path = os.path.join(self.folder, "slipway.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"targets": [target]}, file)
        return path

    def open(self, *arguments, state=None, **members):
        self.near = self.start("--config", self.configure(**members), "--instances", "2",
                               *arguments, state=state)
        return self.near

    def reopen(self):
        """After a kill."""
        self.near = self.start("--config", os.path.join(self.folder, "slipway.yaml"),
                               "--instances", "2", state=self.near.state)
        return self.near

    def fleet(self):
        return FarFleet(self)


class FarFleet(Fleet):
    """Environments of the one slipway, tasks and instances of the other."""

    def __init__(self, world):
        super().__init__(world.near)
        self.world = world
        self.ecs = world.remote.boto("ecs")

    def create(self, definition, attributes=None, role=None, **configuration):
        group = {"cluster": "default", **({"attributes": attributes} if attributes else {})}
        return self.api.create_environment(
            name=self.name, environmentType="Daemon", taskDefinition=definition,
            target="far", instanceGroup=group, deploymentConfiguration=configuration,
            **({"role": role} if role else {}))["environmentVersion"]

    def reconnect(self):
        """To the slipway that was started again."""
        self.server = self.world.near
        self.api = rest_client(self.server)

    def record(self):
        """Every task of this environment that the other slipway knows of."""
        found = {}
        for status in ("RUNNING", "STOPPED"):
            for page in self.ecs.get_paginator("list_tasks").paginate(desiredStatus=status):
                if page["taskArns"]:
                    # One that ends meanwhile is on both lists.
                    found.update((task["taskArn"], task) for task in self.ecs.describe_tasks(
                        tasks=page["taskArns"])["tasks"])
        return [task for task in found.values() if task["group"] == "env:" + self.name]

    def most_at_once(self):
        """The most tasks that an instance ever had at the same time, by the other slipway's own record."""
        most = 0
        by_instance = {}
        for task in self.record():
            by_instance.setdefault(task["containerInstanceArn"], []).append(
                (task["createdAt"].timestamp(),
                 task["stoppingAt"].timestamp() if "stoppingAt" in task else float("inf")))
        for lives in by_instance.values():
            for begin, _ in lives:
                most = max(most, sum(1 for one, end in lives if one <= begin < end))
        return most


class Holding(Between):
    """Knows some more faults.

    held        forwarded when the test says so, long after whoever called has gone
    paused      forwarded and answered when the test says so
    denied      if the call is about a task that must not be stopped, an answer that says so
    """

    def __init__(self):
        super().__init__()
        self.released = threading.Event()
        self.protected = set()  # tasks

    def __exit__(self, *problem):
        self.released.set()
        super().__exit__(*problem)

    def do_held(self, handler, call, body, _fault):
        self.released.wait()
        if not self.ended.is_set():
            self.forward(handler, call, body)
        handler.close_connection = True

    def do_paused(self, handler, call, body, fault):
        self.released.wait()
        if not self.ended.is_set():
            self.do_forward(handler, call, body, fault)

    def do_denied(self, handler, call, body, fault):
        if task_id(call.body["task"]) in self.protected:
            self.answer(handler, call, 400, {"__type": "AccessDeniedException",
                                             "message": "This one must not be stopped"})
        else:
            self.do_forward(handler, call, body, fault)


@pytest.fixture(name="between")
def new_between():
    with Holding() as between:
        yield between


@pytest.fixture(name="world")
def new_world(start_slipway, between, tmp_path):
    return World(start_slipway, between, tmp_path)


def settle(between, seconds=3 * POLL):
    """No call that changes anything is made for so long; fails when there is no end to them."""
    def is_quiet():
        last = [call.at for call in between.called()
                if call.operation in ("StartTask", "StopTask")]
        return not last or time.monotonic() - last[-1] > seconds

    wait_until(is_quiet, "nothing more is started or stopped")


def is_told_as_well(fleet):
    """A listing may take longer than it should at any time, and is told as that."""
    found = fleet.get()
    return not found.get("stale") and "statusReason" not in found


# ---- it works at all ----

def test_13_34_rolled_out_and_replaced_in_batches_elsewhere(world):
    world.open()
    fleet = world.fleet()
    version = fleet.create(fleet.define(1), minHealthyPercent=60)
    done = fleet.wait_for(fleet.deploy(version), "completed")
    assert (done["completed"], done["total"]) == (INSTANCES, INSTANCES)
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    found = fleet.get()
    assert found["target"] == "far" and found["counts"]["active"] == INSTANCES
    wait_until(lambda: is_told_as_well(fleet), "it is told as well")
    # 14: when all is as it should be nothing is done.
    settle(world.between)
    before = world.between.count("StartTask")
    time.sleep(5 * POLL)
    assert world.between.count("StartTask") == before and not world.between.count("StopTask")
    with Watch(fleet.mark) as watch:
        fleet.wait_for(fleet.deploy(fleet.update(fleet.define(2))), "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    assert watch.fewest() >= 2 and watch.most() <= INSTANCES
    assert fleet.most_at_once() == 1
    # 24: and what dies comes back.
    instance, (victim,) = sorted(fleet.places().items())[0]
    fleet.ecs.stop_task(task=victim)
    wait_until(lambda: fleet.places().get(instance, [victim]) != [victim]
               and len(fleet.places()) == INSTANCES, "another one runs there")
    fleet.remove()
    # Nobody lists a cluster that nobody needs.
    wait_until(lambda: time.monotonic() - world.between.called()[-1].at > 5 * POLL,
               "the cluster is not listed any more")


def test_17_never_more_than_ten_instances_and_throttling_only_delays(
        start_slipway, between, tmp_path):
    many = 37
    world = World(start_slipway, between, tmp_path, "--instances", many)
    world.open()
    fleet = world.fleet()
    version = fleet.create(fleet.define(1))
    wait_until(lambda: fleet.get()["counts"]["total"] == many, "its instances are counted")
    between.fault("StartTask", "throttle", times=5)
    done = fleet.wait_for(fleet.deploy(version), "completed")
    assert (done["completed"], done["total"]) == (many, many)
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    starts = between.called("StartTask")
    assert max(len(call.body["containerInstances"]) for call in starts) <= 10
    assert len([call for call in starts if call.status == 400]) == 5
    assert fleet.most_at_once() == 1
    assert len(fleet.record()) == many


# ---- what is known of it ----

def post(world, *events, target="far"):
    answer = ask(world.near, "POST", f"/v1/ecs-events?target={target}",
                 json.dumps({"events": list(events)}).encode())
    assert answer.status == 200, answer.text
    return answer.json


def event_of(kind, detail, **changes):
    return {"version": "0", "id": "e", "source": "aws.ecs", "account": ACCOUNT,
            "region": "us-east-1", "detail-type": kind,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "detail": json.loads(json.dumps({**detail, **changes}, default=lambda at: at.timestamp()))}


def task_event(task, **changes):
    return event_of("ECS Task State Change", task, **changes)


def state_of(world, path):
    answer = ask(world.near, "GET", path)
    assert answer.status == 200, answer.text
    return answer.json


def test_62_64_events_are_ordered_by_their_versions_and_bring_nothing_back(world):
    world.open(pollInterval="1h", timeout="5s")
    ecs = world.remote.boto("ecs")
    extra = ecs.register_container_instance()["containerInstance"]
    fleet = world.fleet()
    fleet.create(fleet.define(1))

    def known():
        return {item["instance"]: item for item in
                state_of(world, "/v1/instances?target=far&maxResults=100")["instances"]}

    wait_until(lambda: len(known()) == INSTANCES + 1, "the cluster was listed")
    name = task_id(extra["containerInstanceArn"])

    def event(version, **changes):
        return event_of("ECS Container Instance State Change",
                        {**extra, "clusterArn": f"arn:aws:ecs:us-east-1:{ACCOUNT}:cluster/default"},
                        version=version, **changes)

    base = extra["version"]
    assert post(world, event(base + 5, status="DRAINING")) == {"accepted": 1, "ignored": 0}
    assert known()[name]["status"] == "DRAINING"
    assert post(world, event(base + 4, status="ACTIVE"), event(base + 5, status="ACTIVE")) == {
        "accepted": 0, "ignored": 2}
    assert known()[name]["status"] == "DRAINING"
    assert post(world, event(base + 6, status="INACTIVE"))["accepted"] == 1
    assert name not in known()
    assert post(world, event(base + 5, status="ACTIVE"))["ignored"] == 1
    assert name not in known()
    # Of a cluster in which the account has nothing, and of no target.
    assert post(world, event(base + 9), target="nowhere")["ignored"] == 1
    fleet.remove()


def test_68_events_that_stop_coming_stop_nothing(world):
    world.open()
    fleet = world.fleet()
    fleet.roll_out(fleet.define(1))
    task = fleet.record()[0]
    # One came; it says what is known already. From now on there are none.
    assert post(world, task_event(task)) == {"accepted": 0, "ignored": 1}
    instance, (victim,) = sorted(fleet.places().items())[0]
    fleet.ecs.stop_task(task=victim)
    wait_until(lambda: fleet.places().get(instance, [victim]) != [victim]
               and len(fleet.places()) == INSTANCES, "another one runs there")
    wait_until(lambda: is_told_as_well(fleet), "it is told as well")
    fleet.remove()


def test_an_event_is_faster_than_the_next_listing(world):
    world.open(pollInterval="1h", timeout="5s")
    fleet = world.fleet()
    version = fleet.create(fleet.define(1))
    identifier = fleet.deploy(version)
    wait_until(lambda: len(fleet.places()) == INSTANCES, "the tasks run")
    # They were asked for, and nothing was listed since: that they run is only told.
    for task in fleet.record():
        assert post(world, task_event(task, version=task["version"] + 1,
                                      healthStatus="HEALTHY"))["accepted"] == 1
    fleet.wait_for(identifier, "completed")
    victim = fleet.record()[0]
    fleet.ecs.stop_task(task=victim["taskArn"])
    stopped = wait_until(lambda: (now := fleet.ecs.describe_tasks(tasks=[victim["taskArn"]])[
        "tasks"][0])["lastStatus"] == "STOPPED" and now, "one has ended")
    assert post(world, task_event(stopped, version=stopped["version"] + 10))["accepted"] == 1
    wait_until(lambda: len(fleet.places()) == INSTANCES, "another one runs there")
    fleet.api.update_environment(name=fleet.name, status="inactive")


LISTS = ("ListTasks", "ListContainerInstances")


def manager_of(fleet, url):
    """The name of the server that has the environment's claim, by the database."""
    return json.loads(sql(url, f"""SELECT convert_from(private, 'UTF8') FROM slipway.log
        JOIN slipway.live USING (kind, key, revision)
        WHERE kind = 'claim' AND key = 'env/{ACCOUNT}/{fleet.name}'"""))["server"]


def name_of(server):
    with open(os.path.join(server.state, "host"), encoding="utf-8") as file:
        return file.read().strip()


def operations_after_an_end(world, fleet):
    """Stop a task, tell of it when it has ended, and wait for another one. What the managers called since."""
    asked = len(world.between.called())
    victim = next(task for task in fleet.record() if task["lastStatus"] == "RUNNING")
    fleet.ecs.stop_task(task=victim["taskArn"])
    stopped = wait_until(lambda: (now := fleet.ecs.describe_tasks(tasks=[victim["taskArn"]])[
        "tasks"][0])["lastStatus"] == "STOPPED" and now, "one has ended")
    post(world, task_event(stopped, version=stopped["version"] + 10))
    wait_until(lambda: len(fleet.places()) == INSTANCES, "another one runs there")
    return [call.operation for call in world.between.called()[asked:]]


def test_an_event_comes_to_the_server_that_manages_the_environment(world, postgres_url, tmp_path):
    """It is posted to another one of the same store, which has nothing to do with the environment."""
    manager = world.open("--store", postgres_url, pollInterval="1h", timeout="5s")
    fleet = world.fleet()
    identifier = fleet.deploy(fleet.create(fleet.define(1)))
    wait_until(lambda: len(fleet.places()) == INSTANCES, "the tasks run")
    for task in fleet.record():
        post(world, task_event(task, version=task["version"] + 1, healthStatus="HEALTHY"))
    fleet.wait_for(identifier, "completed")
    # Alone, it does not write down what it is told.
    kept = "SELECT count(*) FROM slipway.live WHERE kind = 'daemon.event'"
    assert sql(postgres_url, kept) == "0"
    folder = tmp_path / "other"
    folder.mkdir()
    for name in ("integrity.key", "admin-key.json"):
        shutil.copy(os.path.join(manager.state, name), folder / name)
    world.near = world.start("--config", os.path.join(world.folder, "slipway.yaml"),
                             "--instances", "2", "--store", postgres_url, state=str(folder))
    assert manager_of(fleet, postgres_url) == name_of(manager) != name_of(world.near)
    # Because of the event: nobody had listed anything when it was started. Who asked for something may look at it once
    # more a while later, which says nothing of events.
    for _ in range(5):
        wait_until(lambda: time.monotonic() - world.between.called()[-1].at > 2, "nobody asks for anything")
        later = operations_after_an_end(world, fleet)
        if not set(LISTS) & set(later[:later.index("StartTask")]):
            break
    else:
        pytest.fail("each time the cluster was listed before")
    assert manager_of(fleet, postgres_url) == name_of(manager)
    assert int(sql(postgres_url, kept)) > 0
    fleet.api.update_environment(name=fleet.name, status="inactive")


def test_69_nothing_is_started_before_everything_was_listed(start_slipway, between, tmp_path):
    many = 1000
    world = World(start_slipway, between, tmp_path, "--runtime", "simulated", "--instances", many)
    ecs = world.remote.boto("ecs")
    wait_until(lambda: ecs.describe_clusters()["clusters"][0][
        "registeredContainerInstancesCount"] == many, "all instances are registered")
    # All pages but the last come; it does when the test says so.
    between.fault("DescribeContainerInstances", "slow", times=many // 100 - 1)
    between.fault("DescribeContainerInstances", "paused")
    world.open(timeout="60s")
    fleet = world.fleet()
    identifier = fleet.deploy(fleet.create(fleet.define(1)))
    wait_until(lambda: between.count("DescribeContainerInstances") == many // 100,
               "the last page is asked for")
    assert world.near.get("/v1/ping").status == 200
    assert fleet.deployment(identifier)["status"] in ("pending", "in-progress")
    assert not between.count("StartTask")
    between.heal()
    between.released.set()
    wait_until(lambda: between.count("StartTask"), "tasks are started")
    first = between.called("StartTask")[0].at
    listed = [call for call in between.called() if call.answered_at and call.answered_at < first]
    assert len({instance for call in listed if call.operation == "DescribeContainerInstances"
                for instance in call.body["containerInstances"]}) == many
    assert {call.body.get("desiredStatus") for call in listed if call.operation == "ListTasks"} == {
        "RUNNING", "STOPPED"}
    fleet.api.stop_deployment(name=fleet.name, deploymentId=identifier)
    fleet.wait_for(identifier, "stopped")
    assert fleet.most_at_once() == 1


# ---- calls that go wrong ----

@pytest.mark.parametrize("kind", ["silent", "gateway"])
def test_72_a_start_that_was_not_answered_is_not_made_twice(world, kind):
    world.open()
    fleet = world.fleet()
    version = fleet.create(fleet.define(1))
    wait_until(lambda: fleet.get()["counts"]["total"] == INSTANCES, "its instances are counted")
    world.between.fault("StartTask", kind, times=1)
    fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each(fleet.instances())
    settle(world.between)
    assert len(fleet.record()) == INSTANCES and fleet.most_at_once() == 1
    fleet.remove()


def test_72_a_start_that_was_lost_is_made_again(world):
    world.open()
    fleet = world.fleet()
    version = fleet.create(fleet.define(1))
    wait_until(lambda: fleet.get()["counts"]["total"] == INSTANCES, "its instances are counted")
    world.between.fault("StartTask", "lost", times=1)
    world.between.fault("StartTask", "cut", times=1)
    fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each(fleet.instances())
    settle(world.between)
    assert len(fleet.record()) == INSTANCES
    fleet.remove()


def test_72_of_a_start_that_comes_late_the_excess_is_stopped_and_no_more(world):
    world.open()
    fleet = world.fleet()
    version = fleet.create(fleet.define(1))
    wait_until(lambda: fleet.get()["counts"]["total"] == INSTANCES, "its instances are counted")
    # After our patience, and after we have looked and started others.
    world.between.fault("StartTask", "held", times=1)
    fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each(fleet.instances())
    late = world.between.called("StartTask")[0].body["containerInstances"]
    with Watch(fleet.mark) as watch:
        world.between.released.set()
        wait_until(lambda: len(fleet.record()) == INSTANCES + len(late), "the late ones come, too")
        wait_until(lambda: len([task for task in fleet.record() if task["lastStatus"] != "STOPPED"])
                   == INSTANCES, "the excess is stopped, and has ended")
        settle(world.between)
    fleet.assert_one_each(fleet.instances())
    assert watch.fewest() >= INSTANCES, "never all of them"
    # Exactly one of each instance was asked to stop, some perhaps more than once.
    stopped = {task_id(call.body["task"]) for call in world.between.called("StopTask")}
    record = {task_id(task["taskArn"]): task_id(task["containerInstanceArn"])
              for task in fleet.record()}
    assert sorted(record[task] for task in stopped) == sorted(map(task_id, late))
    assert len(record) == INSTANCES + len(late)
    fleet.remove()


def test_73_killed_right_after_a_start(world):
    world.open()
    fleet = world.fleet()
    version = fleet.create(fleet.define(1))
    wait_until(lambda: fleet.get()["counts"]["total"] == INSTANCES, "its instances are counted")
    # It arrives, and the answer finds nobody; and what is told of it comes much later.
    world.between.fault("StartTask", "slow", times=1, seconds=1)
    identifier = fleet.deploy(version)
    wait_until(lambda: world.between.count("StartTask"), "the start is on its way")
    world.near.kill()
    asked = world.between.count("ListTasks")
    world.between.fault("ListTasks", "paused")
    world.reopen()
    fleet.reconnect()
    wait_until(lambda: world.between.count("ListTasks") > asked, "it looks what there is")
    wait_until(lambda: world.between.called("StartTask")[0].status, "the start has arrived")
    world.between.heal()
    world.between.released.set()
    fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances())
    settle(world.between)
    assert len(fleet.record()) == INSTANCES and fleet.most_at_once() == 1
    # An event from before is of no interest.
    task = fleet.record()[0]
    assert post(world, task_event(task, version=1, lastStatus="PENDING",
                                  desiredStatus="RUNNING"))["ignored"] == 1
    time.sleep(3 * POLL)
    assert len(fleet.record()) == INSTANCES
    fleet.remove()


def test_70_killed_all_the_time(world):
    world.open()
    fleet = world.fleet()
    identifier = fleet.deploy(fleet.create(fleet.define(1), minHealthyPercent=50))
    for turn in range(6):
        time.sleep(0.1 * turn)
        world.near.kill()
        # A start that arrives after the next one has looked would be a second task, and rightly so.
        wait_until(lambda: not world.between.connections, "what was on its way has arrived")
        world.reopen()
        fleet.reconnect()
    fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances())
    settle(world.between)
    assert fleet.most_at_once() == 1
    fleet.remove()


def test_43_a_task_that_cannot_be_stopped_holds_up_nobody_else(world):
    world.open()
    fleet = world.fleet()
    fleet.roll_out(fleet.define(1), minHealthyPercent=30)
    instance, (stuck,) = sorted(fleet.places().items())[1]
    world.between.protected.add(stuck)
    world.between.fault("StopTask", "denied")
    with Watch(fleet.mark) as watch:
        identifier = fleet.deploy(fleet.update(fleet.define(2)))
        wait_until(lambda: len(fleet.mark.tasks(VERSION="2")) == INSTANCES - 1, "the others go on")
        blocked = wait_until(lambda: (now := fleet.deployment(identifier))["status"] == "blocked"
                             and now["completed"] == INSTANCES - 1 and now, "it is told")
        assert [item["instance"] for item in blocked["failedInstances"]] == [task_id(instance)]
        assert "AccessDeniedException" in blocked["failedInstances"][0]["reason"]
        assert "This one must not be stopped" in blocked["statusReason"]
        assert fleet.mark.tasks(VERSION="1") == {stuck} == set(fleet.places()[instance])
        world.between.heal()
        fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    assert watch.fewest() >= 1 and watch.most() <= INSTANCES
    assert fleet.most_at_once() == 1
    fleet.remove()


@pytest.mark.parametrize("skew", [0, -120, 120])
def test_what_keeps_crashing_is_started_later_each_time_whatever_the_clock_there_says(world, skew):
    world.between.skew = skew
    world.open()
    fleet = world.fleet()
    fleet.deploy(fleet.create(fleet.define(1, "exit 1")))
    wait_until(lambda: world.between.count("StartTask"), "it begins")
    begun = world.between.called("StartTask")[0].at

    def starts():
        """{instance: how many}, and seconds since the first."""
        found = dict.fromkeys(fleet.instances(), 0)
        record = fleet.record()
        assert len([task for task in record if task["lastStatus"] != "STOPPED"]) <= INSTANCES
        for task in record:
            found[task["containerInstanceArn"]] += 1
        return found, time.monotonic() - begun

    found, seconds = wait_until(lambda: (now := starts())[1] >= 12 and min(now[0].values()) >= 3
                                and now, "each is started again and again")
    # At once, and then after 1, 2, 4 and 8 seconds: six times in 12 seconds is too often already.
    assert max(found.values()) <= 3 + math.log2(seconds + 1), (found, seconds)
    fleet.remove()


def test_83_away_for_long(world):
    """Reads and writes are answered, nothing is busy, and it goes on by itself."""
    world.open()
    fleet = world.fleet()
    fleet.roll_out(fleet.define(1), minHealthyPercent=60)
    before = fleet.places()
    two = fleet.define(2)
    world.between.fault(None, "cut")
    found = wait_until(lambda: (now := fleet.get()).get("stale") and now, "it is told as stale")
    assert found["counts"]["active"] == INSTANCES
    version = fleet.update(two)
    identifier = fleet.deploy(version)
    blocked = fleet.wait_for(identifier, "blocked")
    assert blocked["statusReason"].startswith("CLUSTER_STALE: ")
    assert fleet.get()["statusReason"]
    calls, begun = world.between.count(), time.monotonic()
    time.sleep(10)
    assert world.between.count() - calls <= 6 * (time.monotonic() - begun)
    assert not [call for call in world.between.called("StopTask")]
    away = f"cluster {ACCOUNT}/us-east-1/default of target far cannot be listed: "
    wait_until(lambda: [message for level, message in logged(world.near)
                        if level == "warning" and message.startswith(away)], "the log says so")
    held = f"environment {ACCOUNT}/{fleet.name}: deployment {identifier} is blocked: CLUSTER_STALE: "
    assert [message for level, message in logged(world.near) if level == "warning" and message.startswith(held)]
    other = world.fleet()
    other.create(other.define(1))
    assert other.exists() and {"stale": True}.items() <= other.get().items()
    assert fleet.places() == before
    world.between.heal()
    fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    wait_until(lambda: is_told_as_well(fleet), "it is known again")
    again = f"cluster {ACCOUNT}/us-east-1/default of target far is known again"
    wait_until(lambda: ("info", again) in logged(world.near), "the log says that, too")
    other.remove()
    fleet.remove()


def test_83_away_from_the_beginning_and_deleted_all_the_same(world):
    world.between.fault(None, "cut")
    world.open()
    fleet = world.fleet()
    identifier = fleet.deploy(fleet.create(fleet.define(1)))
    blocked = fleet.wait_for(identifier, "blocked")
    assert blocked["statusReason"].startswith("CLUSTER_UNKNOWN: ecs ListContainerInstances")
    assert not world.between.count("StartTask")
    answer = refusal(fleet.api.diff_environment, "ServiceUnavailableException", 503, name=fleet.name)
    assert "ecs ListContainerInstances" in answer["Error"]["Message"]
    fleet.api.stop_deployment(name=fleet.name, deploymentId=identifier)
    fleet.wait_for(identifier, "stopped")
    fleet.api.delete_environment(name=fleet.name)
    wait_until(lambda: not fleet.exists(), "it is gone")


# ---- moving ----

def test_46_from_here_to_there_and_back(world):
    world.open()
    fleet = world.fleet()
    here = world.near.boto("ecs")
    local = here.register_task_definition(family=fleet.name, containerDefinitions=[
        container(fleet.mark, LONG, environment={"VERSION": "here"})])[
            "taskDefinition"]["taskDefinitionArn"]
    version = fleet.api.create_environment(
        name=fleet.name, taskDefinition=local, instanceGroup={"cluster": "default"})[
            "environmentVersion"]
    fleet.wait_for(fleet.deploy(version), "completed")
    fleet.mark.wait_for(2, VERSION="here")
    there = fleet.define("there")
    answer = refusal(fleet.api.update_environment, "InvalidParameterException", 400,
                     name=fleet.name, target="far", taskDefinition=there)
    assert "instanceGroup.cluster" in answer["Error"]["Message"]
    assert found(fleet, target="local") == [fleet.name] and not found(fleet, target="far")
    version = fleet.update(there, target="far", instanceGroup={"cluster": "default"})
    diff = wait_until(lambda: diff_of(fleet), "both clusters are known")
    assert diff["counts"]["start"] == INSTANCES and diff["counts"]["stop"] == 2
    fleet.wait_for(fleet.deploy(version), "completed")
    assert found(fleet, target="far") == found(fleet, cluster="default") == [fleet.name]
    assert len(fleet.mark.tasks(VERSION="there")) == INSTANCES
    wait_until(lambda: not fleet.mark.tasks(VERSION="here"), "nothing is left here")
    fleet.assert_one_each(fleet.instances(), VERSION="there")
    version = fleet.update(local, target="local", instanceGroup={"cluster": "default"})
    fleet.wait_for(fleet.deploy(version), "completed")
    fleet.mark.wait_for(2, VERSION="here")
    wait_until(lambda: not fleet.mark.tasks(VERSION="there"), "nothing is left there")
    fleet.remove()


def diff_of(fleet):
    try:
        return fleet.api.diff_environment(name=fleet.name)
    except fleet.api.exceptions.ServiceUnavailableException:
        return None


def test_46_a_cluster_that_is_gone_holds_up_nobody(world):
    """But it is told, and what is there is looked after when it comes back."""
    world.open()
    fleet = world.fleet()
    fleet.roll_out(fleet.define("there"))
    world.between.fault(None, "cut")
    local = world.near.boto("ecs").register_task_definition(
        family=fleet.name, containerDefinitions=[
            container(fleet.mark, LONG, environment={"VERSION": "here"})])[
                "taskDefinition"]["taskDefinitionArn"]
    version = fleet.update(local, target="local", instanceGroup={"cluster": "default"})
    world.near.kill()
    world.reopen()
    fleet.reconnect()
    identifier = fleet.deploy(version)
    fleet.mark.wait_for(2, VERSION="here")
    blocked = fleet.wait_for(identifier, "blocked")
    assert blocked["statusReason"].startswith("CLUSTER_UNKNOWN")
    assert len(fleet.mark.tasks(VERSION="there")) == INSTANCES
    world.between.heal()
    fleet.wait_for(identifier, "completed")
    wait_until(lambda: not fleet.mark.tasks(VERSION="there"), "nothing is left there")
    fleet.remove()


# ---- names and rights ----

def found(fleet, **filters):
    """The names of the environments for which these hold."""
    return [item["name"] for item in fleet.api.list_environments(**filters)["environments"]]


def test_names_elsewhere_are_checked_by_their_form(world):
    world.open()
    fleet = world.fleet()
    good = {"name": fleet.name, "taskDefinition": "log:1", "target": "far",
            "instanceGroup": {"cluster": "default"}}
    for change, kind in (
            ({"target": "none"}, "target"),):
        answer = refusal(fleet.api.create_environment, "ResourceNotFoundException", 404,
                         **{**good, **change})
        assert answer["resourceType"] == kind
    for change, part in (
            ({"taskDefinition": "log"}, "FAMILY:REVISION"),
            ({"taskDefinition": f"arn:aws:ecs:us-east-1:{ACCOUNT}:service/x"}, "taskDefinition"),
            ({"taskDefinition": "arn:aws:ecs:us-east-1:000000000000:task-definition/log:1"},
             "of target 'far'"),
            ({"instanceGroup": {"cluster": f"arn:aws:ecs:eu-west-1:{ACCOUNT}:cluster/default"}},
             "region us-east-1 of target 'far'"),
            ({"instanceGroup": {"cluster": "a/b"}}, "instanceGroup.cluster"),
            ({"role": "admin"}, "role")):
        answer = refusal(fleet.api.create_environment, "InvalidParameterException", 400,
                         **{**good, **change})
        assert part in answer["Error"]["Message"]
    fleet.api.create_environment(**{**good, "instanceGroup": {
        "cluster": f"arn:aws:ecs:us-east-1:{ACCOUNT}:cluster/default"}})
    arn = f"arn:aws:ecs:us-east-1:{ACCOUNT}:cluster/default"
    assert found(fleet, cluster=arn) == found(fleet, cluster="default") == found(
        fleet, target="far") == found(fleet, cluster=arn, target="far") == [fleet.name]
    assert not found(fleet, cluster="default", target="local") and not found(
        fleet, cluster=f"arn:aws:ecs:eu-west-1:{ACCOUNT}:cluster/default")
    # A task definition that is not there is told when it is needed.
    identifier = fleet.deploy(fleet.get()["latestVersion"])
    blocked = fleet.wait_for(identifier, "blocked")
    assert "ClientException" in blocked["statusReason"] or "Exception" in blocked["statusReason"]
    assert {item["instance"] for item in blocked["failedInstances"]} == set(
        map(task_id, fleet.instances()))


def test_another_account_may_not_use_it(world):
    world.open()
    key = ask(world.near, "POST", "/v1/keys", json.dumps(
        {"user": "x", "account": "222222222222"}).encode()).json
    other = rest_client(world.near, key=key)
    answer = refusal(other.create_environment, "ResourceNotFoundException", 404, name="log",
                     taskDefinition="log:1", target="far", instanceGroup={"cluster": "default"})
    assert answer["resourceType"] == "target"


def test_accounts_that_share_a_target_share_its_names(world):
    """Tasks say the name of their environment, and nothing of accounts of this server."""
    world.open(accounts=[ACCOUNT, "222222222222"])
    fleet = world.fleet()
    fleet.roll_out(fleet.define(1))
    key = ask(world.near, "POST", "/v1/keys", json.dumps(
        {"user": "x", "account": "222222222222"}).encode()).json
    other = rest_client(world.near, key=key)
    body = {"taskDefinition": fleet.define(2), "target": "far",
            "instanceGroup": {"cluster": "default"}}
    refusal(other.create_environment, "ResourceInUseException", 409, name=fleet.name, **body)
    other.create_environment(name=fleet.name + "2", **body)
    assert not ask(world.near, "GET", "/v1/tasks?target=elsewhere").json["tasks"]
    fleet.remove()


def test_d11_a_role_elsewhere_is_assumed(world):
    """With the target's key; who may not have it is told why, and goes on when the cause is gone."""
    world.open()
    fleet = world.fleet()
    identifier = fleet.deploy(fleet.create(fleet.define(1), role=ROLE))
    blocked = fleet.wait_for(identifier, "blocked")
    assert "sts AssumeRole: AccessDenied" in blocked["statusReason"] and ROLE in blocked[
        "statusReason"]
    assert "AccessDenied" in blocked["failedInstances"][0]["reason"]
    assert "AccessDenied" in fleet.get()["statusReason"]
    assert not world.between.count("StartTask") and not fleet.mark.tasks()
    world.between.sts.roles.add(ROLE)
    fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances())
    asked = world.between.sts.asked
    assert {form["RoleArn"] for form in asked} == {ROLE}
    assert {form["RoleSessionName"] for form in asked} == {"slipway-far"}
    assert len(world.between.sts.sessions) == 1
    wait_until(lambda: is_told_as_well(fleet), "it is told as well")
    fleet.remove()


def test_d11_the_role_of_the_target_is_assumed_before_anything(world):
    world.open(role=ROLE, externalId="ticket")
    fleet = world.fleet()
    identifier = fleet.deploy(fleet.create(fleet.define(1)))
    blocked = fleet.wait_for(identifier, "blocked")
    assert blocked["statusReason"].startswith("CLUSTER_UNKNOWN: ") and "AccessDenied" in blocked[
        "statusReason"]
    assert not world.between.count()
    world.between.sts.roles.add(ROLE)
    fleet.wait_for(identifier, "completed")
    assert world.between.sts.asked[-1]["ExternalId"] == "ticket"
    # A session that is not believed any more is replaced.
    world.between.sts.sessions.clear()
    instance, (victim,) = sorted(fleet.places().items())[0]
    fleet.ecs.stop_task(task=victim)
    wait_until(lambda: fleet.places().get(instance, [victim]) != [victim]
               and len(fleet.places()) == INSTANCES, "another one runs there")
    fleet.remove()


def test_the_secret_is_nowhere_to_be_seen(world):
    world.open()
    fleet = world.fleet()
    fleet.roll_out(fleet.define(1))
    secret = world.remote.key["secretAccessKey"]
    with open(os.path.join(world.folder, "far.secret"), "w", encoding="utf-8") as file:
        file.write("wrong-secret-of-somebody")
    fleet.remove()
    with open(os.path.join(world.near.state, "audit.log"), encoding="utf-8") as file:
        said = world.near.stderr + world.near.stdout + file.read()
    assert secret not in said and "wrong-secret" not in said


def make_key(server, user, *actions):
    made = ask(server, "POST", "/v1/keys", json.dumps({"user": user, "policy": {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": "*"}]}}).encode())
    assert made.status in (200, 201), made.text
    return made.json


def test_d11_a_role_here_is_a_users_policy(start_slipway):
    server = start_slipway("--instances", INSTANCES)
    fleet = Fleet(server)
    body = {"name": fleet.name, "taskDefinition": fleet.define(1), "role": "deployer",
            "instanceGroup": {"cluster": "default"}}
    answer = refusal(fleet.api.create_environment, "ResourceNotFoundException", 404, **body)
    assert answer["resourceType"] == "role"
    make_key(server, "deployer", "ecs:Describe*", "ecs:StopTask")
    identifier = fleet.deploy(fleet.api.create_environment(**body)["environmentVersion"])
    blocked = fleet.wait_for(identifier, "blocked")
    assert "AccessDeniedException" in blocked["statusReason"]
    assert "AccessDeniedException" in blocked["failedInstances"][0]["reason"]
    assert not fleet.mark.tasks()
    # The key that was made last says what its user may do.
    time.sleep(0.01)
    make_key(server, "deployer", "ecs:StartTask")
    fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances())
    # And what it may not: a stop that is denied is told, and not asked for all the time.
    identifier = fleet.deploy(fleet.update(fleet.define(2)))
    found = wait_until(lambda: (now := fleet.deployment(identifier)).get("failedInstances") and now,
                       "the instance that cannot be served is named")
    assert "AccessDeniedException" in found["failedInstances"][0]["reason"]
    with open(os.path.join(server.state, "audit.log"), encoding="utf-8") as file:
        denied = file.read().count("StopTask")
    time.sleep(2)
    with open(os.path.join(server.state, "audit.log"), encoding="utf-8") as file:
        assert file.read().count("StopTask") - denied <= 3
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    time.sleep(0.01)
    make_key(server, "deployer", "ecs:*")
    fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    fleet.remove()


def test_d11_a_role_can_be_given_by_who_may_pass_it(start_slipway):
    server = start_slipway()
    fleet = Fleet(server)
    make_key(server, "deployer", "ecs:*")
    body = {"name": fleet.name, "taskDefinition": fleet.define(1), "role": "deployer",
            "instanceGroup": {"cluster": "default"}}
    limited = rest_client(server, key=make_key(server, "someone", "slipway:*"))
    answer = refusal(limited.create_environment, "AccessDeniedException", 403, **body)
    assert "iam:PassRole" in answer["Error"]["Message"]
    passing = rest_client(server, key=make_key(server, "other", "slipway:*", "iam:PassRole"))
    passing.create_environment(**body)
    fleet.remove()


# ---- the configuration ----

def check(path, code=0):
    done = subprocess.run([slipway_program(), "config", "check", path], capture_output=True,
                          text=True, timeout=DEADLINE, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == code, done
    return done.stdout + done.stderr


def test_a_configuration_is_checked(world):
    path = world.configure()
    assert "is right" in check(path)
    os.unlink(os.path.join(world.folder, "far.secret"))
    assert "targets[0].credentials: secretFile" in check(path, 1)
    path = world.configure(region="nowhere at all")
    assert "targets[0].region" in check(path, 1)
    path = world.configure(credentials={"accessKey": "AKIA", "secret": "hush"})
    said = check(path, 1)
    assert "credentials.secret" in said and "hush" not in said


def test_the_command_names_a_target(world):
    world.open()
    fleet = world.fleet()
    done = subprocess.run(
        [slipway_program(), "env", "create", fleet.name, "--cluster", "default", "--target", "far",
         "--task-definition", fleet.define(1), "--server", world.near.url, "--state",
         world.near.state], capture_output=True, text=True, timeout=DEADLINE,
        stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done
    assert fleet.get()["target"] == "far"
    fleet.remove()
    assert Mark().tasks() == set()


def test_89_who_a_target_is_must_be_shown(start_slipway, tmp_path):
    """A certificate that nobody vouches for: nothing is sent there, and the environment says why."""
    make_certificate(tmp_path, "far")
    tls = tmp_path / "far.yaml"
    tls.write_text(f"tls:\n  certificate: {tmp_path}/certificate.pem\n  key: {tmp_path}/key.pem\n")
    far = start_slipway("--config", tls, "--instances", "2")
    secret = tmp_path / "secret"
    secret.write_text(far.key["secretAccessKey"])
    target = {"name": "far", "region": "us-east-1", "account": ACCOUNT, "endpoint": far.url,
              "credentials": {"accessKey": far.key["accessKeyId"], "secretFile": str(secret)},
              "pollInterval": "200ms"}
    path = tmp_path / "slipway.yaml"
    mark = Mark()

    def start(state=None, **members):
        path.write_text(json.dumps({"targets": [{**target, **members}]}))
        return start_slipway("--config", path, state=state)

    near = start()
    api = rest_client(near)
    ecs = boto3.client("ecs", endpoint_url=far.url, region_name="us-east-1",
                       aws_access_key_id=far.key["accessKeyId"],
                       aws_secret_access_key=far.key["secretAccessKey"],
                       verify=str(tmp_path / "certificate.pem"))
    definition = ecs.register_task_definition(family="log", containerDefinitions=[
        container(mark, LONG)])["taskDefinition"]["taskDefinitionArn"]
    version = api.create_environment(
        name="log", taskDefinition=definition, target="far",
        instanceGroup={"cluster": "default"})["environmentVersion"]
    identifier = api.start_deployment(name="log", environmentVersion=version)["deploymentId"]
    wait_until(lambda: "certificate" in json.dumps(
        [api.get_deployment(name="log", deploymentId=identifier), api.get_environment(name="log")],
        default=str), "the reason is told")
    assert not mark.tasks()
    near.stop()
    near = start(state=near.state, ca=str(tmp_path / "certificate.pem"))
    api = rest_client(near)
    wait_until(lambda: api.get_deployment(name="log", deploymentId=identifier)["status"]
               == "completed", "with its authority it goes on")
    assert len(mark.tasks()) == 2
    api.delete_environment(name="log", terminateTasks=True)
    wait_until(lambda: not mark.tasks(), "nothing runs")


NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=DEADLINE,
                   stdin=subprocess.DEVNULL)


class Authority:
    """One that vouches for servers; in a folder, with the certificate and key that a server reads."""

    def __init__(self, folder, name="authority"):
        self.folder, self.name = folder, folder / name
        openssl("req", "-x509", *NEW_KEY, "-keyout", f"{self.name}.key", "-out", self.path,
                "-days", "2", "-subj", f"/CN={name}")

    @property
    def path(self):
        return f"{self.name}.pem"

    def vouch(self, whom="IP:127.0.0.1", days=2):
        """For one of this name, from now on for so many days."""
        names = self.folder / "names"
        names.write_text(f"subjectAltName={whom}\n")
        openssl("req", "-new", *NEW_KEY, "-keyout", f"{self.folder}/key.pem", "-out",
                f"{self.folder}/request.pem", "-subj", "/CN=far")
        openssl("x509", "-req", "-in", f"{self.folder}/request.pem", "-CA", self.path, "-CAkey",
                f"{self.name}.key", "-CAcreateserial", "-days", str(days), "-extfile", str(names),
                "-out", f"{self.folder}/certificate.pem")


@pytest.mark.parametrize("wrong, reason", [
    ({"authority": "another"}, "local issuer certificate"),
    ({"whom": "DNS:elsewhere.example"}, "subject name matches target host name"),
    ({"days": -1}, "certificate has expired"),
], ids=["authority", "name", "time"])
def test_89_a_target_with_a_bad_certificate_is_refused(start_slipway, tmp_path, wrong, reason):
    """Of another authority than the one that is trusted, for another name, or of another time: nothing is asked of it, and
    the environment says why. With a good one it goes on."""
    ours = Authority(tmp_path)
    asked = dict(wrong)
    (Authority(tmp_path, asked.pop("authority")) if "authority" in asked else ours).vouch(**asked)
    config = tmp_path / "far.yaml"
    config.write_text(f"tls:\n  certificate: {tmp_path}/certificate.pem\n  key: {tmp_path}/key.pem\n"
                      "audit:\n  reads: true\n")
    far = start_slipway("--config", config, "--instances", "2")
    secret = tmp_path / "secret"
    secret.write_text(far.key["secretAccessKey"])
    path = tmp_path / "slipway.yaml"
    path.write_text(json.dumps({"targets": [{
        "name": "far", "region": "us-east-1", "account": ACCOUNT, "endpoint": far.url,
        "ca": ours.path, "pollInterval": "200ms",
        "credentials": {"accessKey": far.key["accessKeyId"], "secretFile": str(secret)}}]}))
    near = start_slipway("--config", path)
    api, mark = rest_client(near), Mark()
    version = api.create_environment(
        name="log", taskDefinition="log:1", target="far",
        instanceGroup={"cluster": "default"})["environmentVersion"]
    identifier = api.start_deployment(name="log", environmentVersion=version)["deploymentId"]
    wait_until(lambda: reason in api.get_environment(name="log").get("statusReason", ""),
               "the reason is told")
    audit = os.path.join(far.state, "audit.log")
    assert not os.path.getsize(audit), "it was asked nothing"
    ours.vouch()
    far.process.send_signal(signal.SIGHUP)
    ecs = boto3.client("ecs", endpoint_url=far.url, region_name="us-east-1",
                       aws_access_key_id=far.key["accessKeyId"],
                       aws_secret_access_key=far.key["secretAccessKey"], verify=ours.path)
    wait_until(lambda: is_served(ecs), "it has its new certificate")
    ecs.register_task_definition(family="log", containerDefinitions=[container(mark, LONG)])
    wait_until(lambda: api.get_deployment(name="log", deploymentId=identifier)["status"]
               == "completed", "it goes on")
    assert len(mark.tasks()) == 2 and os.path.getsize(audit)
    api.delete_environment(name="log", terminateTasks=True)
    wait_until(lambda: not mark.tasks(), "nothing runs")


def is_served(ecs):
    try:
        return ecs.list_clusters()
    except botocore.exceptions.SSLError:
        return None
