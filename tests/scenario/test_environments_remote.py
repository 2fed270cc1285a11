"""Daemon environments in a remote cluster: another slipway, on which real programs run, behind a proxy that does to calls
what networks and services do. The numbers in names are those of the scenarios they show.

What is promised is held against the other slipway's own record of its tasks, and against the machine."""
import json
import math
import os
import shutil
import time

import pytest

from conftest import wait_until
from remote_world import (  # pylint: disable=unused-import
    ACCOUNT, INSTANCES, POLL, World, event_of, found, is_reported_healthy, new_proxy,
    new_world, post, settle, state_of, task_event)
from fleets import logged, refusal
from programs import LONG, container, task_id
from test_services_run import Watch
from test_upgrade import sql


# ---- it works at all ----

def test_13_34_rolled_out_and_replaced_in_batches_remotely(world):
    world.open()
    fleet = world.fleet()
    version = fleet.create(fleet.define(1), minHealthyPercent=60)
    done = fleet.wait_for(fleet.deploy(version), "completed")
    assert (done["completed"], done["total"]) == (INSTANCES, INSTANCES)
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    found = fleet.get()
    assert found["target"] == "remote" and found["counts"]["active"] == INSTANCES
    wait_until(lambda: is_reported_healthy(fleet), "it is reported healthy")
    # 14: when all is as it should be nothing is done.
    settle(world.proxy)
    before = world.proxy.count("StartTask")
    time.sleep(5 * POLL)
    assert world.proxy.count("StartTask") == before and not world.proxy.count("StopTask")
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
    # A cluster without environments is not listed.
    wait_until(lambda: time.monotonic() - world.proxy.called()[-1].at > 5 * POLL,
               "the cluster is not listed any more")


def test_17_never_more_than_ten_instances_and_throttling_only_delays(
        start_slipway, proxy, tmp_path):
    many = 37
    world = World(start_slipway, proxy, tmp_path, "--instances", many)
    world.open()
    fleet = world.fleet()
    version = fleet.create(fleet.define(1))
    wait_until(lambda: fleet.get()["counts"]["total"] == many, "its instances are counted")
    proxy.fault("StartTask", "throttle", times=5)
    done = fleet.wait_for(fleet.deploy(version), "completed")
    assert (done["completed"], done["total"]) == (many, many)
    fleet.assert_one_each(fleet.instances(), VERSION="1")
    starts = proxy.called("StartTask")
    assert max(len(call.body["containerInstances"]) for call in starts) <= 10
    assert len([call for call in starts if call.status == 400]) == 5
    assert fleet.most_at_once() == 1
    assert len(fleet.record()) == many


# ---- reported state ----

def test_62_64_events_are_ordered_by_their_versions_and_bring_nothing_back(world):
    world.open(pollInterval="1h", timeout="5s")
    ecs = world.remote.boto("ecs")
    extra = ecs.register_container_instance()["containerInstance"]
    fleet = world.fleet()
    fleet.create(fleet.define(1))

    def known():
        return {item["instance"]: item for item in
                state_of(world, "/v1/instances?target=remote&maxResults=100")["instances"]}

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
    wait_until(lambda: is_reported_healthy(fleet), "it is reported healthy")
    fleet.remove()


def test_an_event_is_faster_than_the_next_listing(world):
    world.open(pollInterval="1h", timeout="5s")
    fleet = world.fleet()
    version = fleet.create(fleet.define(1))
    identifier = fleet.deploy(version)
    wait_until(lambda: len(fleet.places()) == INSTANCES, "the tasks run")
    # The calls have succeeded, and no listing since: only the events report that they run.
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
    """Stop a task, post the event of its end, and wait for another one. Returns the calls of the managers since."""
    asked = len(world.proxy.called())
    victim = next(task for task in fleet.record() if task["lastStatus"] == "RUNNING")
    fleet.ecs.stop_task(task=victim["taskArn"])
    stopped = wait_until(lambda: (now := fleet.ecs.describe_tasks(tasks=[victim["taskArn"]])[
        "tasks"][0])["lastStatus"] == "STOPPED" and now, "one has ended")
    post(world, task_event(stopped, version=stopped["version"] + 10))
    wait_until(lambda: len(fleet.places()) == INSTANCES, "another one runs there")
    return [call.operation for call in world.proxy.called()[asked:]]


def test_an_event_comes_to_the_server_that_manages_the_environment(world, postgres_url, tmp_path):
    """It is posted to another one of the same store, which has nothing to do with the environment."""
    manager = world.open("--store", postgres_url, pollInterval="1h", timeout="5s")
    fleet = world.fleet()
    identifier = fleet.deploy(fleet.create(fleet.define(1)))
    wait_until(lambda: len(fleet.places()) == INSTANCES, "the tasks run")
    for task in fleet.record():
        post(world, task_event(task, version=task["version"] + 1, healthStatus="HEALTHY"))
    fleet.wait_for(identifier, "completed")
    # A single server stores no events.
    kept = "SELECT count(*) FROM slipway.live WHERE kind = 'daemon.event'"
    assert sql(postgres_url, kept) == "0"
    folder = tmp_path / "other"
    folder.mkdir()
    for name in ("integrity.key", "admin-key.json"):
        shutil.copy(os.path.join(manager.state, name), folder / name)
    world.local = world.start("--config", os.path.join(world.folder, "slipway.yaml"),
                             "--instances", "2", "--store", postgres_url, state=str(folder))
    assert manager_of(fleet, postgres_url) == name_of(manager) != name_of(world.local)
    # Because of the event: no listing came before the start. The server that called may list once
    # more a while later, which says nothing of events.
    for _ in range(5):
        wait_until(lambda: time.monotonic() - world.proxy.called()[-1].at > 2, "no calls are sent")
        later = operations_after_an_end(world, fleet)
        if not set(LISTS) & set(later[:later.index("StartTask")]):
            break
    else:
        pytest.fail("each time the cluster was listed before")
    assert manager_of(fleet, postgres_url) == name_of(manager)
    assert int(sql(postgres_url, kept)) > 0
    fleet.api.update_environment(name=fleet.name, status="inactive")


def test_69_nothing_is_started_before_everything_was_listed(start_slipway, proxy, tmp_path):
    many = 1000
    world = World(start_slipway, proxy, tmp_path, "--runtime", "simulated", "--instances", many)
    ecs = world.remote.boto("ecs")
    wait_until(lambda: ecs.describe_clusters()["clusters"][0][
        "registeredContainerInstancesCount"] == many, "all instances are registered")
    # All pages but the last come; it does when the test says so.
    proxy.fault("DescribeContainerInstances", "slow", times=many // 100 - 1)
    proxy.fault("DescribeContainerInstances", "paused")
    world.open(timeout="60s")
    fleet = world.fleet()
    identifier = fleet.deploy(fleet.create(fleet.define(1)))
    wait_until(lambda: proxy.count("DescribeContainerInstances") == many // 100,
               "the last page is asked for")
    assert world.local.get("/v1/ping").status == 200
    assert fleet.deployment(identifier)["status"] in ("pending", "in-progress")
    assert not proxy.count("StartTask")
    proxy.heal()
    proxy.released.set()
    wait_until(lambda: proxy.count("StartTask"), "tasks are started")
    first = proxy.called("StartTask")[0].at
    listed = [call for call in proxy.called() if call.answered_at and call.answered_at < first]
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
    world.proxy.fault("StartTask", kind, times=1)
    fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each(fleet.instances())
    settle(world.proxy)
    assert len(fleet.record()) == INSTANCES and fleet.most_at_once() == 1
    fleet.remove()


def test_72_a_start_that_was_lost_is_made_again(world):
    world.open()
    fleet = world.fleet()
    version = fleet.create(fleet.define(1))
    wait_until(lambda: fleet.get()["counts"]["total"] == INSTANCES, "its instances are counted")
    world.proxy.fault("StartTask", "lost", times=1)
    world.proxy.fault("StartTask", "cut", times=1)
    fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each(fleet.instances())
    settle(world.proxy)
    assert len(fleet.record()) == INSTANCES
    fleet.remove()


def test_72_of_a_start_that_comes_late_the_excess_is_stopped_and_no_more(world):
    world.open()
    fleet = world.fleet()
    version = fleet.create(fleet.define(1))
    wait_until(lambda: fleet.get()["counts"]["total"] == INSTANCES, "its instances are counted")
    # After our patience, and after we have looked and started others.
    world.proxy.fault("StartTask", "held", times=1)
    fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each(fleet.instances())
    late = world.proxy.called("StartTask")[0].body["containerInstances"]
    with Watch(fleet.mark) as watch:
        world.proxy.released.set()
        wait_until(lambda: len(fleet.record()) == INSTANCES + len(late), "the late ones come, too")
        wait_until(lambda: len([task for task in fleet.record() if task["lastStatus"] != "STOPPED"])
                   == INSTANCES, "the excess is stopped, and has ended")
        settle(world.proxy)
    fleet.assert_one_each(fleet.instances())
    assert watch.fewest() >= INSTANCES, "never all of them"
    # Exactly one of each instance was asked to stop, some perhaps more than once.
    stopped = {task_id(call.body["task"]) for call in world.proxy.called("StopTask")}
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
    # It arrives, and the answer is lost; its event comes much later.
    world.proxy.fault("StartTask", "slow", times=1, seconds=1)
    identifier = fleet.deploy(version)
    wait_until(lambda: world.proxy.count("StartTask"), "the start is on its way")
    world.local.kill()
    asked = world.proxy.count("ListTasks")
    world.proxy.fault("ListTasks", "paused")
    world.reopen()
    fleet.reconnect()
    wait_until(lambda: world.proxy.count("ListTasks") > asked, "it looks what there is")
    wait_until(lambda: world.proxy.called("StartTask")[0].status, "the start has arrived")
    world.proxy.heal()
    world.proxy.released.set()
    fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances())
    settle(world.proxy)
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
        world.local.kill()
        # A start that arrives after the next one has looked would be a second task, and rightly so.
        wait_until(lambda: not world.proxy.connections, "what was on its way has arrived")
        world.reopen()
        fleet.reconnect()
    fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances())
    settle(world.proxy)
    assert fleet.most_at_once() == 1
    fleet.remove()


def test_43_a_task_that_cannot_be_stopped_blocks_no_other(world):
    world.open()
    fleet = world.fleet()
    fleet.roll_out(fleet.define(1), minHealthyPercent=30)
    instance, (stuck,) = sorted(fleet.places().items())[1]
    world.proxy.protected.add(stuck)
    world.proxy.fault("StopTask", "denied")
    with Watch(fleet.mark) as watch:
        identifier = fleet.deploy(fleet.update(fleet.define(2)))
        wait_until(lambda: len(fleet.mark.tasks(VERSION="2")) == INSTANCES - 1, "the others go on")
        blocked = wait_until(lambda: (now := fleet.deployment(identifier))["status"] == "blocked"
                             and now["completed"] == INSTANCES - 1 and now, "it is reported")
        assert [item["instance"] for item in blocked["failedInstances"]] == [task_id(instance)]
        assert "AccessDeniedException" in blocked["failedInstances"][0]["reason"]
        assert "This one must not be stopped" in blocked["statusReason"]
        assert fleet.mark.tasks(VERSION="1") == {stuck} == set(fleet.places()[instance])
        world.proxy.heal()
        fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    assert watch.fewest() >= 1 and watch.most() <= INSTANCES
    assert fleet.most_at_once() == 1
    fleet.remove()


@pytest.mark.parametrize("skew", [0, -120, 120])
def test_what_keeps_crashing_is_started_later_each_time_whatever_the_clock_there_says(world, skew):
    world.proxy.skew = skew
    world.open()
    fleet = world.fleet()
    fleet.deploy(fleet.create(fleet.define(1, "exit 1")))
    wait_until(lambda: world.proxy.count("StartTask"), "it begins")
    begun = world.proxy.called("StartTask")[0].at

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
    """Reads and writes are answered, nothing is busy, and it continues by itself."""
    world.open()
    fleet = world.fleet()
    fleet.roll_out(fleet.define(1), minHealthyPercent=60)
    before = fleet.places()
    two = fleet.define(2)
    world.proxy.fault(None, "cut")
    found = wait_until(lambda: (now := fleet.get()).get("stale") and now, "it is reported as stale")
    assert found["counts"]["active"] == INSTANCES
    version = fleet.update(two)
    identifier = fleet.deploy(version)
    blocked = fleet.wait_for(identifier, "blocked")
    assert blocked["statusReason"].startswith("CLUSTER_STALE: ")
    assert fleet.get()["statusReason"]
    calls, begun = world.proxy.count(), time.monotonic()
    time.sleep(10)
    assert world.proxy.count() - calls <= 6 * (time.monotonic() - begun)
    assert not [call for call in world.proxy.called("StopTask")]
    away = f"cluster {ACCOUNT}/us-east-1/default of target remote cannot be listed: "
    wait_until(lambda: [message for level, message in logged(world.local)
                        if level == "warning" and message.startswith(away)], "the log says so")
    held = f"environment {ACCOUNT}/{fleet.name}: deployment {identifier} is blocked: CLUSTER_STALE: "
    assert [message for level, message in logged(world.local) if level == "warning" and message.startswith(held)]
    other = world.fleet()
    other.create(other.define(1))
    assert other.exists() and {"stale": True}.items() <= other.get().items()
    assert fleet.places() == before
    world.proxy.heal()
    fleet.wait_for(identifier, "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    wait_until(lambda: is_reported_healthy(fleet), "it is known again")
    again = f"cluster {ACCOUNT}/us-east-1/default of target remote is known again"
    wait_until(lambda: ("info", again) in logged(world.local), "the log says that, too")
    other.remove()
    fleet.remove()


def test_83_away_from_the_beginning_and_deleted_all_the_same(world):
    world.proxy.fault(None, "cut")
    world.open()
    fleet = world.fleet()
    identifier = fleet.deploy(fleet.create(fleet.define(1)))
    blocked = fleet.wait_for(identifier, "blocked")
    assert blocked["statusReason"].startswith("CLUSTER_UNKNOWN: ecs ListContainerInstances")
    assert not world.proxy.count("StartTask")
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
    here = world.local.boto("ecs")
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
                     name=fleet.name, target="remote", taskDefinition=there)
    assert "instanceGroup.cluster" in answer["Error"]["Message"]
    assert found(fleet, target="local") == [fleet.name] and not found(fleet, target="remote")
    version = fleet.update(there, target="remote", instanceGroup={"cluster": "default"})
    diff = wait_until(lambda: diff_of(fleet), "both clusters are known")
    assert diff["counts"]["start"] == INSTANCES and diff["counts"]["stop"] == 2
    fleet.wait_for(fleet.deploy(version), "completed")
    assert found(fleet, target="remote") == found(fleet, cluster="default") == [fleet.name]
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


def test_46_an_unreachable_cluster_blocks_no_other(world):
    """But it is reported, and its tasks are managed again when it comes back."""
    world.open()
    fleet = world.fleet()
    fleet.roll_out(fleet.define("there"))
    world.proxy.fault(None, "cut")
    local = world.local.boto("ecs").register_task_definition(
        family=fleet.name, containerDefinitions=[
            container(fleet.mark, LONG, environment={"VERSION": "here"})])[
                "taskDefinition"]["taskDefinitionArn"]
    version = fleet.update(local, target="local", instanceGroup={"cluster": "default"})
    world.local.kill()
    world.reopen()
    fleet.reconnect()
    identifier = fleet.deploy(version)
    fleet.mark.wait_for(2, VERSION="here")
    blocked = fleet.wait_for(identifier, "blocked")
    assert blocked["statusReason"].startswith("CLUSTER_UNKNOWN")
    assert len(fleet.mark.tasks(VERSION="there")) == INSTANCES
    world.proxy.heal()
    fleet.wait_for(identifier, "completed")
    wait_until(lambda: not fleet.mark.tasks(VERSION="there"), "nothing is left there")
    fleet.remove()
