"""Programs of tasks on a real node, as the scenario tests of the process runtime know theirs: by what the machine
runs. The node's processes are processes of this machine; whose they are is written in their control groups.

    mark = NodeMark(place)                # for programs.container() and all that takes a mark
    programs = NodePrograms(folder)       # for traffic; Traffic must be a NodeTraffic
"""
import os
import re

import images
from programs import NOT_THERE, Mark
from test_services_traffic import PROGRAM, Programs, Traffic

POD = re.compile(r"/pod([-0-9a-f]{36})/")
OWN_PROGRAM = "slipway-pod"
# Process 1 ignores signals without a handler. On a machine no container has process 1, so it must not be here either.
INIT = """\
trap 'kill -TERM $! 2>/dev/null || exit 143' TERM
"$@" &
wait $!; code=$?
while kill -0 $! 2>/dev/null; do wait $!; code=$?; done
exit $code"""


def read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
            return file.read()
    except NOT_THERE:
        return ""


def pod_of(pid):
    found = POD.search(read(pid, "cgroup"))
    return found and found.group(1)


def is_program(pid):
    """Whether it is what a task runs, and neither INIT nor one of slipway's."""
    numbers = re.search(r"^NSpid:\s+(.*)$", read(pid, "status"), re.MULTILINE)
    first = read(pid, "cmdline").split("\0")[0]
    return bool(numbers) and numbers.group(1).split()[-1] != "1" \
        and os.path.basename(first) != OWN_PROGRAM


class NodeMark(Mark):
    def __init__(self, place):
        super().__init__()
        self.place = place

    def another(self):
        return NodeMark(self.place)

    @staticmethod
    def program(command, **members):
        return {"image": images.BUSYBOX, "memory": 32, "stopTimeout": 15,
                "entryPoint": ["sh", "-c", INIT, "init"], "command": command, **members}

    def assert_ended(self):
        """Kubernetes may create one more pod while it deletes all of them."""
        self.wait_for(0)

    def processes(self):
        found = {}
        for pid, environment in super().processes().items():
            pod = pod_of(pid)
            if pod and is_program(pid):
                found[pid] = {**environment, "SLIPWAY_TASK": self.place.task_of(pod)}
        return found


class NodePrograms(Programs):
    """The program of the machine, run in a container that has the folders which it needs of the machine."""

    def containers(self, *ports, version="", mappings=None, **members):
        folders = {"/usr": True, os.path.dirname(PROGRAM): True, self.folder: False}
        return [{
            "name": "web", "image": images.BUSYBOX, "memory": 64, "essential": True,
            "stopTimeout": 15, "entryPoint": ["/usr/bin/python3"],
            "command": [PROGRAM, self.folder, *map(str, ports)],
            "portMappings": mappings or [{"containerPort": port} for port in ports],
            "environment": [{"name": "VERSION", "value": version}],
            "mountPoints": [{"sourceVolume": volume_name(path), "containerPath": path,
                             "readOnly": only} for path, only in folders.items()], **members}]


def volume_name(path):
    return path.strip("/").replace("/", "-").replace(".", "-")[-60:]


class NodeTraffic(Traffic):
    """A container mounts the machine's folder of the same name."""

    def register(self, family, containers, mode="awsvpc"):
        paths = {mount["containerPath"] for item in containers
                 for mount in item.get("mountPoints", ())}
        return self.ecs.register_task_definition(
            family=family, networkMode=mode, containerDefinitions=containers,
            volumes=[{"name": volume_name(path), "host": {"sourcePath": path}}
                     for path in sorted(paths)])["taskDefinition"]["taskDefinitionArn"]
