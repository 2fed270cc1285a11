"""Schedules in a remote cluster, with the faults of test_environment_types_remote.py. They take whole minutes, so those
that need not follow each other are in files of their own."""
import time

import pytest

from conftest import wait_until
from remote_world import new_proxy, new_world, state_of  # pylint: disable=unused-import
from programs import LONG
from test_environment_types_remote import RemoteTyped

MINUTES = 200  # seconds in which two whole minutes begin, with room to spare
TAKES_MINUTES = True


class RemoteCron(RemoteTyped):
    """One that is due at the beginning of every minute."""

    def __init__(self, world):
        super().__init__(world, "Cron")

    def runs(self, *statuses):
        return [run for run in self.get()["scheduleState"]["runs"]
                if not statuses or run["status"] in statuses]

    def begin(self, script, **configuration):
        version = self.create(self.define(1, script), schedule="cron(* * * * ? *)",
                              **configuration)
        self.wait_for(self.deploy(version), "completed")

    def started(self):
        """By the other slipway's record: how many tasks each run has."""
        found = {}
        for task in self.record():
            run = int(task["startedBy"].rpartition("/")[2])
            found[run] = found.get(run, 0) + 1
        return found


@pytest.mark.parametrize("skew", [0, 3600])
def test_70_a_remote_cron_runs_once_per_due_time_across_kills(world, skew):
    """Several at once, since each waits for the minute to begin."""
    world.proxy.skew = skew
    world.open()
    wait_until(lambda: time.time() % 60 < 30, "there is time enough before the next minute")
    quick, long, bad = crons = [RemoteCron(world) for _ in range(3)]
    quick.begin("exit 0", desiredCount=2)
    long.begin(LONG)
    bad.begin("exit 3")
    # Each call arrives, and its answer is lost.
    world.proxy.fault("RunTask", "slow", times=3, seconds=1)
    wait_until(lambda: world.proxy.count("RunTask") >= 2, "the minute has begun", MINUTES)
    for _ in range(3):
        world.local.kill()
        world.reopen()
        for cron in crons:
            cron.reconnect()
    first = wait_until(lambda: quick.runs("succeeded"), "it has run", MINUTES)[-1]
    failed = wait_until(lambda: bad.runs("failed"), "it has failed", MINUTES)[-1]
    assert first["exitCode"] == 0 and failed["exitCode"] == 3
    assert first["dueAt"] <= first["startedAt"] <= first["endedAt"]
    assert bad.get()["health"] == "unhealthy" and quick.get()["health"] == "healthy"
    running = long.mark.wait_for(1)
    wait_until(lambda: long.get()["counts"]["active"] == 1, "it is counted")
    assert long.get()["target"] == "remote"
    # Throttling, and answers that are lost, delay the next one, and double nothing.
    world.proxy.fault("RunTask", "throttle", times=2)
    world.proxy.fault("RunTask", "gateway", times=1)
    skipped = wait_until(lambda: long.runs("skipped"), "the next minute", MINUTES)
    assert "STILL_RUNNING" in skipped[-1]["reason"]
    wait_until(lambda: len(quick.runs("succeeded")) >= 2 and len(bad.runs("failed")) >= 2,
               "they run again", MINUTES)
    assert long.mark.tasks() == running, "it does not overlap"
    for cron, tasks in ((quick, 2), (long, 1), (bad, 1)):
        started = cron.started()
        due = [int(run["dueAt"].timestamp()) for run in cron.runs()]
        assert len(due) == len(set(due)), "one run per due time"
        assert set(started.values()) == {tasks} and set(started) <= set(due)
    versions = {task["environmentVersion"] for task in
                state_of(world, "/v1/tasks?target=remote&maxResults=100")["tasks"]
                if task["environment"] == long.name}
    assert versions == {long.get()["activeVersion"]}
    for cron in crons:
        cron.remove()
    assert not long.mark.tasks()
