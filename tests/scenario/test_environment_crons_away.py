"""A schedule on an ECS elsewhere that is away for minutes."""
import time

from conftest import wait_until
from far_world import new_between, new_world  # pylint: disable=unused-import
from programs import LONG
from test_environment_crons_remote import MINUTES, FarCron

TAKES_MINUTES = True


def test_83_a_cron_elsewhere_whose_cluster_is_away(world):
    """What is due then is not made up for; it is told when it is sure that it was not started."""
    world.open()
    wait_until(lambda: time.time() % 60 < 30, "nothing is due before it is away")
    cron = FarCron(world)
    cron.begin(LONG)
    world.between.fault(None, "cut")
    wait_until(lambda: cron.get().get("stale"), "nothing is known of it")
    intended = wait_until(lambda: cron.runs("intended"), "it is due", MINUTES)[0]
    wait_until(lambda: cron.runs("skipped"), "so is the next", MINUTES)
    assert "NOT_KNOWN" in cron.runs("skipped")[0]["reason"]
    world.near.kill()
    world.reopen()
    cron.reconnect()
    world.between.heal()
    failed = wait_until(lambda: cron.runs("failed"), "it is sure", MINUTES)[-1]
    assert failed["dueAt"] == intended["dueAt"] and "never started" in failed["reason"]
    wait_until(lambda: cron.runs("started"), "the next one runs", MINUTES)
    cron.mark.wait_for(1)
    assert int(intended["dueAt"].timestamp()) not in cron.started()
    # Deleting waits for it, and ends what runs.
    world.between.fault(None, "cut")
    cron.api.delete_environment(name=cron.name, terminateTasks=True)
    time.sleep(2)
    assert cron.exists() and len(cron.mark.tasks()) == 1
    world.between.heal()
    wait_until(lambda: not cron.exists(), "the environment is gone")
    assert not cron.mark.tasks()
