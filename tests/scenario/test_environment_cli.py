"""What the command says of environments while something happens to them."""
import os
import re
import subprocess

import pytest

from conftest import slipway_program, wait_until
from test_environments import Fleet, Gate, env_command

INSTANCES = 5
SERVER_ARGUMENTS = ["--instances", str(INSTANCES)]


@pytest.fixture(name="fleet")
def new_fleet(slipway):
    fleet = Fleet(slipway)
    yield fleet
    fleet.remove()


class Watching:
    """A command that goes on until the end of the block, and what it has said."""

    def __init__(self, server, path, *words):
        self.path = path
        self.command = [slipway_program(), "env", *words, "--server", server.url, "--state",
                        server.state]

    def __enter__(self):
        with open(self.path, "wb") as out:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=subprocess.STDOUT)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def lines(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read().splitlines()

    def wait_for(self, line):
        """A line that matches as a whole; it."""
        def found():
            assert self.process.poll() is None, self.lines()
            return next((each for each in self.lines() if re.fullmatch(line, each)), None)

        return wait_until(found, f"{line} is said")


def test_status_is_watched(fleet, tmp_path):
    """A line for each change, with how many are replaced and how the others are."""
    with Gate() as gate:
        one = gate.define(fleet, 1)
        fleet.roll_out(one, minHealthyPercent=60)
        gate.ready(fleet, 1)
        with Watching(fleet.server, os.fspath(tmp_path / "said"), "status", fleet.name,
                      "--watch") as status:
            status.wait_for(f".*{re.escape(one)}: {INSTANCES} of {INSTANCES} tasks active")
            status.wait_for("5/5 replaced, 5 active 0 launching 0 unhealthy 0 missing")
            identifier = fleet.deploy(fleet.update(fleet.define(2)))
            gate.wait_for(2)
            status.wait_for(r"0/5 replaced, 3 active .*  in-progress.*")
            gate.let(*gate.asked())
            gate.wait_for(4)
            status.wait_for(r"2/5 replaced, 3 active .*  in-progress.*")
            gate.open()
            fleet.wait_for(identifier, "completed")
            wait_until(lambda: status.lines()[-1]
                       == "5/5 replaced, 5 active 0 launching 0 unhealthy 0 missing",
                       "that it is over is said")
            lines = [line for line in status.lines() if "replaced" in line]
            assert all(one != other for one, other in zip(lines, lines[1:])), "only what is new"
            done = [int(line.split("/")[0]) for line in lines if "in-progress" in line]
            assert done == sorted(done) and {0, 2} <= set(done)


def test_what_is_in_progress_is_stopped(fleet):
    with Gate() as gate:
        gate.roll_out(fleet, minHealthyPercent=60)
        identifier = fleet.deploy(fleet.update(fleet.define(2)))
        asked = gate.wait_for(2)
        said = env_command(fleet.server, "stop", fleet.name)
        assert identifier in said, said
        fleet.wait_for(identifier, "stopped")
        assert "inactive" in env_command(fleet.server, "status", fleet.name)
        history = env_command(fleet.server, "history", fleet.name)
        assert "stopped" in history and "completed" in history
        gate.open()
        wait_until(lambda: not asked & fleet.mark.tasks(), "what was asked to stop has")
        assert "no deployment in progress" in env_command(fleet.server, "stop", fleet.name, code=1)
        assert set(gate.asked()) == asked and not fleet.mark.tasks(VERSION="2")
        assert len(fleet.mark.tasks(VERSION="1")) == INSTANCES - 2
