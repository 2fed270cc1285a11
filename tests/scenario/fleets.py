"""Daemon environments on real programs, for tests: an environment with a mark, and programs that end on request."""
import json
import os
import shutil
import subprocess
import tempfile
import uuid

import botocore.exceptions
import pytest

from conftest import DEADLINE, slipway_program, wait_until
from programs import LONG, Mark, container, task_id
from rest_requests import rest_client


class Fleet:
    """A cluster of its own would need instances of its own: so environments share one, each with a mark."""

    def __init__(self, server):
        self.server = server
        self.ecs = server.boto("ecs")
        self.api = rest_client(server)
        self.mark = Mark()
        self.name = "e-" + uuid.uuid4().hex[:16]

    def define(self, version, script=LONG, **members):
        return self.ecs.register_task_definition(
            family=self.name, containerDefinitions=[container(
                self.mark, script, environment={"VERSION": str(version)}, **members)])[
                    "taskDefinition"]["taskDefinitionArn"]

    def create(self, definition, attributes=None, **configuration):
        group = {"cluster": "default", **({"attributes": attributes} if attributes else {})}
        return self.api.create_environment(
            name=self.name, environmentType="Daemon", taskDefinition=definition, instanceGroup=group,
            deploymentConfiguration=configuration)["environmentVersion"]

    def update(self, definition, **members):
        return self.api.update_environment(
            name=self.name, taskDefinition=definition, **members)["environmentVersion"]

    def deploy(self, version):
        return self.api.start_deployment(
            name=self.name, environmentVersion=version)["deploymentId"]

    def get(self):
        return self.api.get_environment(name=self.name)

    def deployment(self, identifier):
        return self.api.get_deployment(name=self.name, deploymentId=identifier)

    def deployments(self):
        return self.api.list_deployments(name=self.name)["deployments"]

    def wait_for(self, identifier, *statuses):
        return wait_until(lambda: (found := self.deployment(identifier))["status"] in statuses
                          and found, f"deployment {identifier} is {statuses}")

    def roll_out(self, definition, **configuration):
        """Create and deploy; the version."""
        version = self.create(definition, **configuration)
        self.wait_for(self.deploy(version), "completed")
        return version

    def instances(self):
        return self.ecs.list_container_instances()["containerInstanceArns"]

    def places(self):
        """{instance: [task]} of the running tasks of this environment, as ECS reports them."""
        found = {}
        arns = self.ecs.list_tasks(maxResults=100)["taskArns"]
        for task in self.ecs.describe_tasks(tasks=arns)["tasks"] if arns else []:
            if task["group"] == "env:" + self.name and task["lastStatus"] == "RUNNING":
                found.setdefault(task["containerInstanceArn"], []).append(task_id(task["taskArn"]))
        return found

    def ever(self):
        """Every task of this environment that was ever started; those that stopped are listed for an hour."""
        return [task for status in ("RUNNING", "STOPPED")
                for page in self.ecs.get_paginator("list_tasks").paginate(desiredStatus=status)
                if page["taskArns"]
                for task in self.ecs.describe_tasks(tasks=page["taskArns"])["tasks"]
                if task["group"] == "env:" + self.name]

    def assert_one_each(self, instances, **variables):
        places = self.places()
        assert set(places) == set(instances)
        assert all(len(tasks) == 1 for tasks in places.values())
        assert self.mark.tasks(**variables) == {tasks[0] for tasks in places.values()}

    def try_to_remove(self):
        """True when it is done; what is in progress may begin or end at any moment."""
        try:
            running = self.get().get("activeDeployment")
            if running:
                self.api.stop_deployment(name=self.name, deploymentId=running["deploymentId"])
                wait_until(lambda: "activeDeployment" not in self.get(), "nothing is in progress")
            self.api.delete_environment(name=self.name, terminateTasks=True)
        except botocore.exceptions.ClientError as refusal:
            code = refusal.response["Error"]["Code"]
            if code not in ("ResourceNotFoundException", "ResourceInUseException"):
                raise
            return code == "ResourceNotFoundException"
        return True

    def remove(self):
        wait_until(self.try_to_remove, f"environment {self.name} is deleted")
        wait_until(lambda: not self.exists(), f"environment {self.name} is gone")
        wait_until(lambda: not self.mark.tasks(), "and so are its programs")

    def exists(self):
        return self.name in [item["name"] for item in self.api.list_environments()["environments"]]


class Gate:
    """Programs that are asked to stop, and do so when they may: a rollout stands still for as long as a test needs.
    When they were started and asked they write down themselves, in seconds since the machine was."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="slipway-gate-")
        return self

    def __exit__(self, *_):
        os.rename(self.folder, self.folder + "-gone")  # all may end, and the folder is written no more
        shutil.rmtree(self.folder + "-gone")

    def define(self, fleet, version):
        return fleet.define(version, (
            "trap 'read up idle < /proc/uptime; "
            f"echo $up > {self.folder}/new-$SLIPWAY_TASK; "
            f"mv {self.folder}/new-$SLIPWAY_TASK {self.folder}/asked-$SLIPWAY_TASK; "
            f"while [ -d {self.folder} ] && [ ! -e {self.folder}/open ] && "
            f"[ ! -e {self.folder}/may-$SLIPWAY_TASK ]; do sleep 0.05; done; exit 0' TERM; "
            "set -- $(cat /proc/$$/stat); "
            f"echo ${{22}} > {self.folder}/early-$SLIPWAY_TASK; "
            f"mv {self.folder}/early-$SLIPWAY_TASK {self.folder}/begun-$SLIPWAY_TASK; "
            "while :; do sleep 0.1; done"), stopTimeout=120)

    def roll_out(self, fleet, **configuration):
        """Version 1; the environment's."""
        made = fleet.roll_out(self.define(fleet, 1), **configuration)
        self.ready(fleet, 1)
        return made

    def ready(self, fleet, version):
        """Wait until all programs of a version have written down when they were started, and mind being asked: that they
        run does not mean that they have got that far."""
        wait_until(lambda: (now := fleet.mark.tasks(VERSION=str(version))) and now <= set(self.begun()),
                   f"programs of version {version} are ready")

    def written(self, what):
        found = {}
        for name in os.listdir(self.folder):
            if name.startswith(what):
                with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                    found[name.removeprefix(what)] = float(file.read() or "nan")
        return found

    def asked(self):
        """{task: when} of those that were asked to stop."""
        return self.written("asked-")

    def begun(self):
        """{task: when} of all that ever got ready."""
        return {task: ticks / os.sysconf("SC_CLK_TCK")
                for task, ticks in self.written("begun-").items()}

    def wait_for(self, number):
        """Waits until so many tasks are asked to stop; returns them."""
        return wait_until(lambda: len(now := self.asked()) == number and set(now),
                          f"{number} tasks are asked to stop")

    def let(self, *tasks):
        for task in tasks:
            with open(os.path.join(self.folder, "may-" + task), "w", encoding="utf-8"):
                pass

    def open(self):
        with open(os.path.join(self.folder, "open"), "w", encoding="utf-8"):
            pass


def remaining_memory(fleet, instance):
    """When all that was asked to stop there, by tests before too, has: what stops gives back its own only then."""
    def have_stopped():
        pages = fleet.ecs.get_paginator("list_tasks").paginate(containerInstance=instance,
                                                               desiredStatus="STOPPED")
        return all(task["lastStatus"] == "STOPPED" for page in pages if page["taskArns"]
                   for task in fleet.ecs.describe_tasks(tasks=page["taskArns"])["tasks"])

    wait_until(have_stopped, "nothing is on its way out")
    found = fleet.ecs.describe_container_instances(containerInstances=[instance])
    return next(item["integerValue"] for item in found["containerInstances"][0]["remainingResources"]
                if item["name"] == "MEMORY")


@pytest.fixture(name="fleet")
def new_fleet(slipway):
    fleet = Fleet(slipway)
    yield fleet
    fleet.remove()


def refusal(call, code, status, /, **parameters):
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        call(**parameters)
    answer = caught.value.response
    assert answer["Error"]["Code"] == code, answer
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == status, answer
    return answer


def env_command(server, *words, code=0):
    done = subprocess.run([slipway_program(), "env", *words, "--server", server.url, "--state",
                           server.state], capture_output=True, text=True, timeout=DEADLINE,
                          stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == code, done
    return done.stdout + done.stderr


def logged(server):
    """(level, message) of each line in the log of the server."""
    lines = [json.loads(line) for line in server.stderr.splitlines(keepends=True) if line.endswith("\n")]
    return [(line["level"], line["message"]) for line in lines]


def log_of(fleet, identifier):
    """The log lines of a deployment, in order."""
    prefix = f"environment 123456789012/{fleet.name}: deployment {identifier} "
    return [(level, message[len(prefix):]) for level, message in logged(fleet.server)
            if message.startswith(prefix)]
