"""Daemon environments with a full disk, and with many clients that change them at once; numbers are those of the
scenarios. Events between two steps are covered at every commit by unit tests: 51 by manager_monitors_test.c, 79 by
manager_slow_test.c, 81 by manager_races_test.c."""
import contextlib
import os
import signal
import threading
import time

import boto3
import botocore.exceptions
import pytest

from conftest import wait_until
from fleets import Fleet
from rest_requests import rest_client
from test_durability import SmallDisk
from test_services_run import Watch

INSTANCES = 4
SERVER_ARGUMENTS = ["--instances", str(INSTANCES)]
ENDS = ("completed", "stopped", "canceled", "timed-out")
# From each status the ones that may follow, also when those in between were not observed.
MAY_BECOME = {
    "pending": {"in-progress", "canceled"},
    "in-progress": {"completed", "unhealthy", "blocked", "to-be-stopped", "timed-out"},
    "unhealthy": {"in-progress", "blocked", "completed", "to-be-stopped", "timed-out"},
    "blocked": {"in-progress", "unhealthy", "completed", "to-be-stopped", "timed-out"},
    "to-be-stopped": {"stopped"},
}


def reachable(status):
    found, left = {status}, [status]
    while left:
        for following in MAY_BECOME.get(left.pop(), ()):
            if following not in found:
                found.add(following)
                left.append(following)
    return found


class DiskServer(SmallDisk):
    SIZE = 24 * 1024 * 1024
    key = {"accessKeyId": "AKIAANYBODY", "secretAccessKey": "any"}  # auth is none

    def __init__(self, folder):
        super().__init__(folder)
        self.home = folder

    def boto(self, service):
        return boto3.client(service, endpoint_url=self.url, region_name="us-east-1",
                            aws_access_key_id=self.key["accessKeyId"],
                            aws_secret_access_key=self.key["secretAccessKey"],
                            config=botocore.config.Config(retries={"total_max_attempts": 1}))


def test_82_nothing_is_done_that_could_not_be_written_down(tmp_path):
    disk = DiskServer(str(tmp_path))
    fleet = Fleet(disk)
    try:
        wait_until(fleet.instances, "there is an instance")
        fleet.roll_out(fleet.define(1))
        (first,) = fleet.mark.wait_for(1)
        second = fleet.define(2)
        disk.fill()

        def refused():
            try:
                fleet.update(second)
            except botocore.exceptions.ClientError as problem:
                return problem.response
            return None

        answer = wait_until(refused, "a write is refused")
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == 503
        assert answer["Error"]["Code"] == "ServiceUnavailableException"
        # The actual state is reported, and a dead program is not replaced.
        (pid,) = fleet.mark.processes()
        os.kill(pid, signal.SIGKILL)
        time.sleep(1.5)
        assert fleet.get()["name"] == fleet.name
        assert not fleet.mark.tasks()
        disk.make_room()
        (another,) = fleet.mark.wait_for(1)
        assert another != first
        version = wait_until(lambda: fleet.update(second), "writes are taken again")
        fleet.wait_for(fleet.deploy(version), "completed")
        fleet.assert_one_each(fleet.instances(), VERSION="2")
        fleet.remove()
    finally:
        disk.process.terminate()
        disk.process.wait(60)


class Client(threading.Thread):
    """Makes random changes until the test sets the end; conflicts are answers like others."""

    ALLOWED = {"ResourceInUseException", "ResourceNotFoundException", "VersionConflictException",
               "ThrottlingException", "InvalidParameterException", "ResourceExistsException"}

    def __init__(self, fleet, act):
        super().__init__()
        self.api, self.act = rest_client(fleet.server), act
        self.over, self.problem, self.done = threading.Event(), None, 0

    def run(self):
        try:
            while not self.over.is_set():
                try:
                    self.act(self.api)
                    self.done += 1
                except botocore.exceptions.ClientError as problem:
                    if problem.response["Error"]["Code"] not in self.ALLOWED:
                        raise
                time.sleep(0.01)
        except Exception as problem:  # pylint: disable=broad-except
            self.problem = problem


@pytest.fixture(name="fleet")
def new_fleet(slipway):
    fleet = Fleet(slipway)
    yield fleet
    fleet.remove()


def test_concurrent_changes(fleet):
    """Updates, starts, stops, rollbacks and dying tasks at once: every deployment goes its way once, and in the end
    there is one task of one version everywhere."""
    definitions = [fleet.define(number) for number in (1, 2)]
    fleet.roll_out(definitions[0], minHealthyPercent=25)
    seen, wrong = {}, []

    def watch(api):
        for item in api.list_deployments(name=fleet.name, maxResults=100)["deployments"]:
            before = seen.get(item["deploymentId"], "pending")
            if item["status"] not in reachable(before):
                wrong.append((item, before))
            seen[item["deploymentId"]] = item["status"]
        running = [item for item in api.list_deployments(name=fleet.name, maxResults=20)[
            "deployments"] if item["status"] in ("in-progress", "unhealthy", "blocked")]
        if len(running) > 1:
            wrong.append(running)

    def start(api):
        newest = api.list_environment_versions(name=fleet.name, maxResults=1)["versions"][0]
        api.start_deployment(name=fleet.name, environmentVersion=newest["environmentVersion"])

    def stop(api):
        running = api.get_environment(name=fleet.name).get("activeDeployment")
        if running:
            time.sleep(0.05)
            api.stop_deployment(name=fleet.name, deploymentId=running["deploymentId"])
        time.sleep(0.1)

    def update(api):
        api.update_environment(name=fleet.name,
                               taskDefinition=definitions[time.monotonic_ns() // 1000 % 2])
        time.sleep(0.05)

    def kill(_api):
        for pid in list(fleet.mark.processes())[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.2)

    clients = [Client(fleet, act) for act in (
        watch, start, start, stop, update, kill,
        lambda api: (time.sleep(0.15), api.rollback_deployment(name=fleet.name)))]
    with Watch(fleet.mark) as looks:
        for client in clients:
            client.start()
        wait_until(lambda: len(seen) > 12 and all(client.done for client in clients[:6])
                   or any(client.problem for client in clients), "enough has happened")
        for client in clients:
            client.over.set()
        for client in clients:
            client.join()
        assert [client.problem for client in clients] == [None] * len(clients)
        assert not wrong, wrong[0]
        version = fleet.update(definitions[1])
        fleet.wait_for(fleet.deploy(version), "completed")
    fleet.assert_one_each(fleet.instances(), VERSION="2")
    assert max(len(look) for look in looks.looks) <= INSTANCES
    wait_until(lambda: all(item["status"] in ENDS for item in fleet.deployments()), "all have ended")
