"""Canary and blue/green by service discovery, with a client inside another service's task that calls by name."""
import collections
import os
import time

import pytest
from applications import Application
from conftest import DEADLINE, wait_until
from test_services_traffic import Traffic, balancers, programs  # noqa: F401

CLIENT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "name_client.py")
TTL = 2
SERVER_ARGUMENTS = ["--balancers", balancers()]


class World:
    """A server, an application of two tasks in version 1 behind a name, and its client."""

    def __init__(self, server, programs, folder, name, traffic=None):  # noqa: F811
        self.server, self.programs, self.name = server, programs, name
        self.traffic = traffic or Traffic(server)
        self.arn, self.registry, self.host = self.traffic.registry(name, ttl=TTL)
        self.file = os.path.join(str(folder), "answers")
        self.application = Application(server, folder / "app", name)
        self.application.spec["input"]["accessType"] = "SERVICE_DISCOVERY"

    def version(self, version, count=2, controller="EXTERNAL"):
        self.application.service(count, controller, registry=self.arn)
        self.application.task(self.programs.containers(8080, version=version))

    def start_client(self):
        definition = self.traffic.register("client", [
            {"name": "client", "image": "host", "memory": 64,
             "command": ["/usr/bin/python3", CLIENT, self.file, self.host, "8080", str(TTL)]}])
        self.traffic.create(f"{self.name}-client", definition)
        wait_until(lambda: len(self.answers()) > 20, "the client gets answers")

    def answers(self):
        """[(seconds, ["ok", version, task] or ["failed", …])]"""
        if not os.path.exists(self.file):
            return []
        with open(self.file, encoding="utf-8") as file:
            lines = file.read().split("\n")[:-1]
        return [(float(line.split()[0]), line.split()[1:]) for line in lines]

    def shares(self, since):
        """{version: requests} since then."""
        return collections.Counter(what[1] for at, what in self.answers()
                                   if at >= since and what[0] == "ok")

    def assert_no_failures(self):
        failed = [line for line in self.answers() if line[1][0] != "ok"]
        assert not failed, failed[:5]

    def tasks(self, service=None):
        return set(self.traffic.tasks(service or self.name))

    def registered(self):
        return set(self.traffic.instances(self.registry))

    def sets(self):
        return [item for item in self.traffic.service(self.name)["taskSets"]
                if item["status"] != "DRAINING"]

    def assert_one_primary(self):
        """Invariant I3, seen through the ECS and Cloud Map APIs alone."""
        sets = self.sets()
        assert [item["status"] for item in sets] == ["PRIMARY"], sets
        assert sets[0]["scale"]["value"] == 100.0
        assert self.registered() == self.tasks()

    def wait_for_stage(self, number, index, state="RUNNING"):
        """The stages of the deployment when one of them has come to a state."""
        def condition():
            shown = self.application.show(number)
            stages = shown["stages"]
            if len(stages) > index and stages[index]["state"] == state:
                return stages
            assert shown["state"] in ("PENDING", "RUNNING"), shown.get("reason", shown)
            return None

        return wait_until(condition, f"stage {index} is {state}", 2 * DEADLINE)


@pytest.fixture(name="world")
def new_world(start_slipway, programs, tmp_path):  # noqa: F811
    server = start_slipway(*SERVER_ARGUMENTS)
    world = World(server, programs, tmp_path, "abc")
    world.version("1")
    deployed = world.application.sync()
    assert deployed["state"] == "SUCCESS", deployed
    world.start_client()
    return world


CANARY = [("ECS_CANARY_ROLLOUT", {"scale": 50}), ("WAIT_APPROVAL", {}),
          ("ECS_TRAFFIC_ROUTING", {"canary": 33}), ("WAIT_APPROVAL", {}),
          ("ECS_PRIMARY_ROLLOUT", {}), ("WAIT_APPROVAL", {}),
          ("ECS_TRAFFIC_ROUTING", {"primary": 100}), ("ECS_CANARY_CLEAN", {})]
BLUE_GREEN = [("ECS_CANARY_ROLLOUT", {"scale": 100}), ("WAIT_APPROVAL", {}),
              ("ECS_TRAFFIC_ROUTING", {"canary": 100}), ("WAIT_APPROVAL", {}),
              ("ECS_PRIMARY_ROLLOUT", {}), ("WAIT_APPROVAL", {}),
              ("ECS_TRAFFIC_ROUTING", {"primary": 100}), ("ECS_CANARY_CLEAN", {})]


def test_canary_with_a_killed_server(world, start_slipway):
    """Scenarios 3, 16, 17, 19, 25 and 40: registered are {t1,t2}, {t1,t2,c1}, {p1,p2,c1}, {p1,p2}."""
    app, old = world.application, world.tasks()
    world.version("2")
    app.pipeline(*CANARY)
    number = app.start()
    world.wait_for_stage(number, 1)
    canary = world.tasks() - old
    assert len(canary) == 1 and world.registered() == old
    app.approve()
    world.wait_for_stage(number, 3)
    assert world.registered() == old | canary
    began = time.monotonic()
    wait_until(lambda: sum(world.shares(began + TTL).values()) > 300, "300 answers", 2 * DEADLINE)
    shares = world.shares(began + TTL)
    assert 0.15 < shares["2"] / sum(shares.values()) < 0.55, shares
    app.approve()
    # In the middle of the rollout of the primary the server is killed, and comes back.
    world.wait_for_stage(number, 4)
    world.server.kill()
    world.server = start_slipway(*SERVER_ARGUMENTS, state=world.server.state)
    app.server, world.traffic = world.server, Traffic(world.server)
    world.wait_for_stage(number, 5)
    primary = world.tasks() - canary
    assert len(primary) == 2 and not primary & old
    assert world.registered() == primary | canary
    app.approve()
    ended = app.wait(number)
    assert ended["state"] == "SUCCESS", ended
    assert world.tasks() == primary
    world.assert_one_primary()
    assert app.log(number).count("CreateTaskSet canary") == 1
    assert app.log(number).count("CreateTaskSet primary") == 1
    world.assert_no_failures()


def test_rollback_after_traffic_routing(world):
    """Scenarios 31 and 39: the old tasks were never stopped."""
    app, old = world.application, world.tasks()
    world.version("2")
    app.pipeline(*CANARY)
    number = app.start()
    world.wait_for_stage(number, 1)
    app.approve()
    world.wait_for_stage(number, 3)
    assert app.run("deployment", "reject", app.name).returncode == 0
    ended = app.wait(number)
    assert ended["state"] == "FAILURE" and "rejected by" in ended["reason"], ended
    assert world.tasks() == old
    world.assert_one_primary()
    world.assert_no_failures()


def test_blue_green(world):
    """Scenarios 27 and 28: registered are {t1,t2}, {c1,c2}, {c1,c2}, {p1,p2}."""
    app, old = world.application, world.tasks()
    world.version("2")
    app.pipeline(*BLUE_GREEN)
    number = app.start()
    world.wait_for_stage(number, 1)
    canary = world.tasks() - old
    assert len(canary) == 2 and world.registered() == old
    app.approve()
    world.wait_for_stage(number, 3)
    assert world.registered() == canary
    assert world.tasks() == canary | old
    app.approve()
    world.wait_for_stage(number, 5)
    assert world.registered() == canary
    app.approve()
    ended = app.wait(number)
    assert ended["state"] == "SUCCESS", ended
    world.assert_one_primary()
    assert not world.tasks() & (old | canary)
    world.assert_no_failures()


def test_rollback_after_the_cut_over(world):
    """Scenario 33: the old tasks are registered again before the canary leaves."""
    app, old = world.application, world.tasks()
    world.version("2")
    app.pipeline(*BLUE_GREEN)
    number = app.start()
    world.wait_for_stage(number, 1)
    app.approve()
    world.wait_for_stage(number, 3)
    assert not world.registered() & old
    assert app.run("deployment", "cancel", app.name).returncode == 0
    ended = app.wait(number)
    assert ended["state"] == "CANCELLED", ended
    assert world.tasks() == old
    world.assert_one_primary()
    world.assert_no_failures()


def roll_back(app):
    """A user rolls back the last deployment, which has succeeded; the deployment as it has ended."""
    assert app.run("deployment", "rollback", app.name).returncode == 0
    ended = app.wait("latest")
    assert ended["state"] == "CANCELLED" and "rolled back by" in ended["reason"], ended
    assert [stage["state"] for stage in ended["stages"] if stage["kind"] == "ROLLBACK"] == ["SUCCESS"]
    again = app.run("deployment", "rollback", app.name)
    assert again.returncode == 1 and "only a deployment that succeeded" in again.stderr, again.stderr
    # It is compared with the deployment before.
    wait_until(lambda: [app.name, "SYNCED"] in [line.split()[:2] for line in
                                                app.run("app", "list").stdout.split("\n")],
               "it is in sync")


def test_a_rollback_after_success(world):
    """With keepOldPrimary the old tasks stay without traffic, and get it back; without it they are started again."""
    app, old = world.application, world.tasks()
    app.spec["input"]["keepOldPrimary"] = "1h"
    world.version("2")
    ended = app.sync()
    assert ended["state"] == "SUCCESS" and ended["oldTasksKeptUntil"] > ended["endedAt"], ended
    assert old < world.tasks() and world.registered() == world.tasks() - old
    # A kept task that is replaced gets no traffic either.
    gone = min(old)
    world.traffic.ecs.stop_task(task=gone)
    wait_until(lambda: len(world.tasks()) == 4 and len(world.registered()) == 2, "it is replaced")
    kept = old - {gone}
    roll_back(app)
    assert kept < world.tasks() and len(world.tasks()) == 2
    world.assert_one_primary()
    old = world.tasks()

    # The next deployment deletes those of the one before.
    for version in ("3", "4"):
        world.version(version)
        assert app.sync()["state"] == "SUCCESS"
    assert not world.tasks() & old and len(world.tasks()) == 4
    del app.spec["input"]["keepOldPrimary"]
    world.version("5")
    assert app.sync()["state"] == "SUCCESS"
    last = world.tasks()
    assert len(last) == 2
    roll_back(app)
    assert len(world.tasks()) == 2 and not world.tasks() & last
    world.assert_one_primary()
    world.assert_no_failures()


def test_a_first_deployment_is_not_rolled_back(world):
    refused = world.application.run("deployment", "rollback", world.name)
    assert refused.returncode == 1 and "nothing to roll back to" in refused.stderr, refused.stderr
