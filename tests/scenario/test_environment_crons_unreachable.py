"""A schedule in a remote cluster that is unreachable for minutes."""
import time

from conftest import wait_until
from remote_world import new_proxy, new_world  # pylint: disable=unused-import
from programs import LONG
from test_environment_crons_remote import MINUTES, RemoteCron

TAKES_MINUTES = True


def test_83_a_remote_cron_whose_cluster_is_unreachable(world):
    """A run that was due then is not repeated later; it is missed once it is certain that it did not start."""
    world.open()
    wait_until(lambda: time.time() % 60 < 30, "nothing is due before it is away")
    cron = RemoteCron(world)
    cron.begin(LONG)
    world.proxy.fault(None, "cut")
    wait_until(lambda: cron.get().get("stale"), "nothing is known of it")
    intended = wait_until(lambda: cron.runs("intended"), "it is due", MINUTES)[0]
    wait_until(lambda: cron.runs("skipped"), "so is the next", MINUTES)
    assert "NOT_KNOWN" in cron.runs("skipped")[0]["reason"]
    world.local.kill()
    world.reopen()
    cron.reconnect()
    world.proxy.heal()
    failed = wait_until(lambda: cron.runs("failed"), "it is sure", MINUTES)[-1]
    assert failed["dueAt"] == intended["dueAt"] and "never started" in failed["reason"]
    wait_until(lambda: cron.runs("started"), "the next one runs", MINUTES)
    cron.mark.wait_for(1)
    assert int(intended["dueAt"].timestamp()) not in cron.started()
    # Deleting waits for it, and ends what runs.
    world.proxy.fault(None, "cut")
    cron.api.delete_environment(name=cron.name, terminateTasks=True)
    time.sleep(2)
    assert cron.exists() and len(cron.mark.tasks()) == 1
    world.proxy.heal()
    wait_until(lambda: not cron.exists(), "the environment is gone")
    assert not cron.mark.tasks()
