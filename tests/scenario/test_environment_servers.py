"""Environments on two servers that share a store; numbers are those of the scenarios. When exactly a server is taken over
for (76, 77, 78) is shown on virtual time: control/claims_test.c and environment/manager_takeover_test.c."""
import os
import shutil
import signal

import pytest

from conftest import wait_until
from fleets import Fleet
from rest_requests import rest_client
from test_services_run import Watch

EACH = 2
INSTANCES = 2 * EACH
# A server that is away holds up what it was asked to stop. More may be down than it has instances, so that
# the other one always has something to do, whichever instances come first.
ONE_REMAINS = 100 // INSTANCES
ARGUMENTS = ["--instances", str(EACH)]


class Pair(Fleet):
    """Two servers. Clients talk to the one that lives."""

    def __init__(self, start, store, folder):
        self.start, self.store = start, store
        self.servers = [start("--store", store, *ARGUMENTS)]
        for name in ("integrity.key", "admin-key.json"):
            shutil.copy(os.path.join(self.servers[0].state, name), folder / name)
        self.servers.append(start("--store", store, *ARGUMENTS, state=str(folder)))
        super().__init__(self.servers[0])
        wait_until(lambda: len(self.instances()) == INSTANCES, "all instances are there")

    def talk_to(self, number):
        self.server = self.servers[number]
        self.ecs, self.api = self.server.boto("ecs"), rest_client(self.server)

    def kill(self, number):
        self.talk_to(1 - number)
        self.servers[number].kill()

    def restart(self, number):
        self.servers[number] = self.start("--store", self.store, *ARGUMENTS,
                                          state=self.servers[number].state)

    def started(self):
        """Every task that was ever started."""
        return {arn for status in ("RUNNING", "STOPPED") for page in self.ecs.get_paginator(
            "list_tasks").paginate(desiredStatus=status) for arn in page["taskArns"]}


@pytest.fixture(name="pair")
def new_pair(start_slipway, postgres_url, tmp_path):
    pair = Pair(start_slipway, postgres_url, tmp_path)
    yield pair
    pair.remove()


def test_74_one_of_two_servers_acts(pair):
    """As many tasks are started as one server alone would have started, and both report the same."""
    definition = pair.define(1)
    with Watch(pair.mark) as watch:
        pair.roll_out(definition)
        pair.assert_one_each(pair.instances())
        assert len(pair.started()) == INSTANCES
        pair.talk_to(1)
        wait_until(lambda: pair.get()["counts"]["active"] == INSTANCES, "the other one says so, too")
        version = pair.update(pair.define(2), deploymentConfiguration={"minHealthyPercent": 50})
        pair.wait_for(pair.deploy(version), "completed")
    pair.assert_one_each(pair.instances(), VERSION="2")
    assert len(pair.started()) == 2 * INSTANCES
    assert max(len(look) for look in watch.looks) <= INSTANCES


@pytest.mark.parametrize("number", [0, 1])
def test_a_server_is_killed_in_the_middle(pair, number):
    pair.roll_out(pair.define(1), minHealthyPercent=ONE_REMAINS)
    version = pair.update(pair.define(2), deploymentConfiguration={"warmUpSeconds": 1})
    identifier = pair.deploy(version)
    with Watch(pair.mark) as watch:
        wait_until(lambda: pair.mark.tasks(VERSION="2"), "it has begun")
        pair.kill(number)
        # The other one continues with its own instances when the dead one's lease is over, or was the manager.
        wait_until(lambda: len(pair.mark.tasks(VERSION="2")) >= 2 or
                   pair.deployment(identifier)["status"] != "in-progress", "it continues")
        pair.restart(number)
        pair.wait_for(identifier, "completed")
    pair.assert_one_each(pair.instances(), VERSION="2")
    assert len(pair.started()) == 2 * INSTANCES
    assert max(len(look) for look in watch.looks) <= INSTANCES


@pytest.mark.parametrize("number", [0, 1])
def test_a_server_sleeps_longer_than_its_lease(pair, number):
    """Another one takes its place; when it wakes up it does nothing that was decided before."""
    pair.roll_out(pair.define(1), minHealthyPercent=ONE_REMAINS)
    sleeper = pair.servers[number].process
    pair.talk_to(1 - number)
    version = pair.update(pair.define(2), deploymentConfiguration={"warmUpSeconds": 1})
    with Watch(pair.mark) as watch:
        os.kill(sleeper.pid, signal.SIGSTOP)
        try:
            identifier = pair.deploy(version)
            # Whichever server was the manager: after the lease it is the one that is awake.
            wait_until(lambda: pair.mark.tasks(VERSION="2"), "the rollout has begun")
        finally:
            os.kill(sleeper.pid, signal.SIGCONT)
        pair.wait_for(identifier, "completed")
    pair.assert_one_each(pair.instances(), VERSION="2")
    assert len(pair.started()) == 2 * INSTANCES
    assert max(len(look) for look in watch.looks) <= INSTANCES
