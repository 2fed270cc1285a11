"""Two slipways for tests: one that has a target, and the one that is it, with a proxy between them that does to calls
what networks and services do."""
import json
import os
import threading
import time

import pytest

from conftest import wait_until
from fleets import Fleet
from programs import task_id
from remote_ecs import RemoteProxy
from rest_requests import ask, rest_client

INSTANCES = 3
POLL = 0.2
ACCOUNT = "123456789012"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/slipway"


class World:
    """One slipway that has a target, and the one that is it."""

    def __init__(self, start, proxy, folder, *remote_arguments):
        self.start = start
        self.proxy = proxy
        self.folder = str(folder)
        self.remote = start(*(remote_arguments or ("--instances", INSTANCES)))
        proxy.url = self.remote.url
        proxy.key = self.remote.key
        proxy.keys[self.remote.key["accessKeyId"]] = self.remote.key["secretAccessKey"]
        self.local = None

    def configure(self, **members):
        """Write the configuration; members of the target beside or over the usual ones."""
        secret = os.path.join(self.folder, "remote.secret")
        with open(secret, "w", encoding="utf-8") as file:
            file.write(self.remote.key["secretAccessKey"] + "\n")
        target = {"name": "remote", "region": "us-east-1", "account": ACCOUNT,
                  "endpoint": self.proxy.endpoint, "stsEndpoint": self.proxy.endpoint + "/sts",
                  "credentials": {"accessKey": self.remote.key["accessKeyId"],
                                  "secretFile": secret},
                  "callsPerSecond": 1000, "pollInterval": f"{int(POLL * 1000)}ms", "timeout": "10s",
                  **members}
        path = os.path.join(self.folder, "slipway.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"targets": [target]}, file)
        return path

    def open(self, *arguments, state=None, **members):
        self.local = self.start("--config", self.configure(**members), "--instances", "2",
                                *arguments, state=state)
        return self.local

    def reopen(self):
        """After a kill."""
        self.local = self.start("--config", os.path.join(self.folder, "slipway.yaml"),
                                "--instances", "2", state=self.local.state)
        return self.local

    def fleet(self):
        return RemoteFleet(self)


class RemoteFleet(Fleet):
    """Environments of the one slipway, tasks and instances of the other."""

    def __init__(self, world):
        super().__init__(world.local)
        self.world = world
        self.ecs = world.remote.boto("ecs")

    def create(self, definition, attributes=None, role=None, **configuration):
        group = {"cluster": "default", **({"attributes": attributes} if attributes else {})}
        return self.api.create_environment(
            name=self.name, environmentType="Daemon", taskDefinition=definition,
            target="remote", instanceGroup=group, deploymentConfiguration=configuration,
            **({"role": role} if role else {}))["environmentVersion"]

    def reconnect(self):
        """To the slipway that was started again."""
        self.server = self.world.local
        self.api = rest_client(self.server)

    def record(self):
        """Every task of this environment that the other slipway knows of."""
        found = {}
        for status in ("RUNNING", "STOPPED"):
            for page in self.ecs.get_paginator("list_tasks").paginate(desiredStatus=status):
                if page["taskArns"]:
                    # One that ends meanwhile is on both lists.
                    found.update((task["taskArn"], task) for task in self.ecs.describe_tasks(
                        tasks=page["taskArns"])["tasks"])
        return [task for task in found.values() if task["group"] == "env:" + self.name]

    def most_at_once(self):
        """The most tasks that an instance ever had at the same time, by the other slipway's own record."""
        most = 0
        by_instance = {}
        for task in self.record():
            by_instance.setdefault(task["containerInstanceArn"], []).append(
                (task["createdAt"].timestamp(),
                 task["stoppingAt"].timestamp() if "stoppingAt" in task else float("inf")))
        for lives in by_instance.values():
            for begin, _ in lives:
                most = max(most, sum(1 for one, end in lives if one <= begin < end))
        return most


class Holding(RemoteProxy):
    """Knows some more faults.

    held        forwarded when the test says so, long after the caller has gone
    paused      forwarded and answered when the test says so
    denied      if the call is about a task that must not be stopped, an answer that says so
    """

    def __init__(self):
        super().__init__()
        self.released = threading.Event()
        self.protected = set()  # tasks

    def __exit__(self, *problem):
        self.released.set()
        super().__exit__(*problem)

    def do_held(self, handler, call, body, _fault):
        self.released.wait()
        if not self.ended.is_set():
            self.forward(handler, call, body)
        handler.close_connection = True

    def do_paused(self, handler, call, body, fault):
        self.released.wait()
        if not self.ended.is_set():
            self.do_forward(handler, call, body, fault)

    def do_denied(self, handler, call, body, fault):
        if task_id(call.body["task"]) in self.protected:
            self.answer(handler, call, 400, {"__type": "AccessDeniedException",
                                             "message": "This one must not be stopped"})
        else:
            self.do_forward(handler, call, body, fault)


@pytest.fixture(name="proxy")
def new_proxy():
    with Holding() as proxy:
        yield proxy


@pytest.fixture(name="world")
def new_world(start_slipway, proxy, tmp_path):
    return World(start_slipway, proxy, tmp_path)


def settle(proxy, seconds=3 * POLL):
    """No call that changes anything is made for so long; fails when there is no end to them."""
    def is_quiet():
        last = [call.at for call in proxy.called()
                if call.operation in ("StartTask", "StopTask")]
        return not last or time.monotonic() - last[-1] > seconds

    wait_until(is_quiet, "nothing more is started or stopped")


def is_reported_healthy(fleet):
    """A listing may take longer than it should at any time, and the environment is then reported as stale."""
    found = fleet.get()
    return not found.get("stale") and "statusReason" not in found


def post(world, *events, target="remote"):
    answer = ask(world.local, "POST", f"/v1/ecs-events?target={target}",
                 json.dumps({"events": list(events)}).encode())
    assert answer.status == 200, answer.text
    return answer.json


def event_of(kind, detail, **changes):
    return {"version": "0", "id": "e", "source": "aws.ecs", "account": ACCOUNT,
            "region": "us-east-1", "detail-type": kind,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "detail": json.loads(json.dumps({**detail, **changes}, default=lambda at: at.timestamp()))}


def task_event(task, **changes):
    return event_of("ECS Task State Change", task, **changes)


def state_of(world, path):
    answer = ask(world.local, "GET", path)
    assert answer.status == 200, answer.text
    return answer.json


def found(fleet, **filters):
    """The names of the environments for which these hold."""
    return [item["name"] for item in fleet.api.list_environments(**filters)["environments"]]
