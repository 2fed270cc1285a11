"""Ground truth about the programs of tasks: what the machine runs, whatever slipway says.

    mark = programs.Mark()
    ecs.register_task_definition(family="web", containerDefinitions=[
        programs.container(mark, "exec sleep 1000")])
    ...
    assert mark.tasks() == {"0123…"}       # ids of the tasks that have a living process
"""
import os
import time
import uuid

from conftest import wait_until

LONG = "exec sleep 1000"
# A process has just ended, or is another user's. Anything else is no reason to count it out.
NOT_THERE = (FileNotFoundError, ProcessLookupError, PermissionError)


HAS_NONE = 0x00200000 | 0x4  # flags of a process: it is one of the kernel's, or about to end


def environment_of(name):
    """(text,) of a living process, () of one that has ended. None: it is becoming another program, and has no
    environment for a moment."""
    with open(f"/proc/{name}/environ", "rb") as file:
        text = file.read()
    with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    state, flags, begin, end = fields[0], int(fields[6]), int(fields[47]), int(fields[48])
    if state in "ZX":
        return ()
    return (text,) if text or flags & HAS_NONE or begin == end != 0 else None


def living_processes():
    """(pid, environment) of every process that has one to show and is no zombie."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            while (found := environment_of(name)) is None:
                time.sleep(0.001)
        except NOT_THERE:
            continue
        for text in found:
            pairs = text.decode(errors="replace").split("\0")
            yield int(name), dict(pair.split("=", 1) for pair in pairs if "=" in pair)


class Mark:
    """A variable in the environment of programs, by which they are found among all others. Tests of other runtimes
    have marks of another kind, which know how to say a container there and whose a process is."""

    def __init__(self):
        self.value = uuid.uuid4().hex

    def another(self):
        """One more for programs of the same runtime."""
        return Mark()

    @staticmethod
    def program(command, **members):
        """The members of a container that runs a command."""
        return {"image": "host", "memory": 16, "command": command, **members}

    def processes(self):
        """{pid: environment} of the programs that bear this mark."""
        return {pid: environment for pid, environment in living_processes()
                if environment.get("MARK") == self.value}

    def tasks(self, **variables):
        """The ids of the tasks that have a living program with this mark (and these variables)."""
        return {environment.get("SLIPWAY_TASK") for environment in self.processes().values()
                if all(environment.get(name) == value for name, value in variables.items())}

    def wait_for(self, number, **variables):
        """Wait until programs of so many tasks live; their ids."""
        def condition():
            found = self.tasks(**variables)
            return (found or {None}) if len(found) == number else None

        return wait_until(condition, f"{number} tasks have programs {variables}") - {None}

    def assert_ended(self):
        """When a service is INACTIVE nothing of it runs."""
        assert not self.processes()


def container(mark, script, name="app", environment=None, **members):
    """A container that runs a line of shell, or a command that is given."""
    variables = {"MARK": mark.value, **(environment or {})}
    command = members.pop("command", ["sh", "-c", script])
    return {"name": name, "essential": True,
            "environment": [{"name": key, "value": value} for key, value in variables.items()],
            **mark.program(command, **members)}


def task_id(arn):
    return arn.rsplit("/", 1)[1]
