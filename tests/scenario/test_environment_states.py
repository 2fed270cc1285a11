"""Claims, reports and leftovers of an environment that is changed. Instances are registered by hand, so that
no task of theirs ever runs. Numbers are those of the scenarios."""
import re
import uuid

import pytest

from conftest import wait_until
from fleets import refusal
from rest_requests import rest_client
from test_environment_streams import Receiver, hooks_file

SERVER_ARGUMENTS = ["--runtime", "none"]


class Cluster:
    """A cluster of its own, without instances at first: there, deployments are completed at once."""

    def __init__(self, server, name=None):
        self.server = server
        self.ecs, self.api = server.boto("ecs"), rest_client(server)
        self.name = name or "c-" + uuid.uuid4().hex[:12]
        self.ecs.create_cluster(clusterName=self.name)

    def define(self, family, memory=16):
        return self.ecs.register_task_definition(family=family, containerDefinitions=[
            {"name": "app", "image": "host", "memory": memory}])["taskDefinition"]["taskDefinitionArn"]

    def add_instance(self, memory=1024):
        self.ecs.register_container_instance(cluster=self.name, totalResources=[
            {"name": "CPU", "type": "INTEGER", "integerValue": 1024},
            {"name": "MEMORY", "type": "INTEGER", "integerValue": memory}])

    def create(self, name, definition, **configuration):
        return self.api.create_environment(
            name=name, taskDefinition=definition, instanceGroup={"cluster": self.name},
            deploymentConfiguration=configuration)["environmentVersion"]

    def deploy(self, name, version):
        identifier = self.api.start_deployment(name=name, environmentVersion=version)["deploymentId"]
        self.wait_for(name, identifier, "completed")

    def wait_for(self, name, identifier, status):
        wait_until(lambda: self.status(name, identifier) == status, f"deployment of {name} is {status}")

    def status(self, name, identifier):
        return self.api.get_deployment(name=name, deploymentId=identifier)["status"]

    def refused_for(self, other, name, definition):
        answer = refusal(self.api.create_environment, "ResourceInUseException", 409, name=name,
                         taskDefinition=definition, instanceGroup={"cluster": self.name})
        assert other in answer["Error"]["Message"]


@pytest.fixture(name="cluster")
def new_cluster(slipway):
    return Cluster(slipway)


def name_of_one():
    return "e-" + uuid.uuid4().hex[:12]


def test_7_a_rollback_claims_what_it_brings_back(cluster):
    one, other = name_of_one(), name_of_one()
    definitions = [cluster.define(one) for _ in range(3)]
    first = cluster.create(one, definitions[0])
    cluster.deploy(one, first)
    for definition in definitions[1:]:
        cluster.deploy(one, cluster.api.update_environment(
            name=one, taskDefinition=definition)["environmentVersion"])
    back = cluster.api.rollback_deployment(name=one, environmentVersion=first)["deploymentId"]
    cluster.refused_for(one, other, definitions[0])  # it waits, or is there
    cluster.wait_for(one, back, "completed")
    cluster.refused_for(one, other, definitions[0])
    cluster.create(other, definitions[1])  # which is free again


def test_7_what_is_being_replaced_is_claimed_until_it_is_gone(cluster):
    """It may come back by itself when the rollout fails."""
    one, other = name_of_one(), name_of_one()
    old, new = cluster.define(one), cluster.define(one)
    cluster.deploy(one, cluster.create(one, old))
    cluster.add_instance()
    version = cluster.api.update_environment(name=one, taskDefinition=new)["environmentVersion"]
    identifier = cluster.api.start_deployment(name=one, environmentVersion=version)["deploymentId"]
    cluster.wait_for(one, identifier, "in-progress")
    cluster.refused_for(one, other, old)
    cluster.refused_for(one, other, new)


def test_55_what_is_rolled_back_to_is_not_lost_among_repairs(cluster):
    """Twice back is forth again."""
    one = name_of_one()
    versions = [cluster.create(one, cluster.define(one))]
    cluster.deploy(one, versions[0])
    versions.append(cluster.api.update_environment(
        name=one, taskDefinition=cluster.define(one))["environmentVersion"])
    cluster.deploy(one, versions[1])
    for expected in (versions[0], versions[1], versions[0]):
        back = cluster.api.rollback_deployment(name=one)["deploymentId"]
        cluster.wait_for(one, back, "completed")
        assert cluster.api.get_environment(name=one)["activeVersion"] == expected


def test_an_environment_that_is_made_inactive_leaves_no_deployment_behind(cluster):
    one = name_of_one()
    definition = cluster.define(one)
    cluster.deploy(one, cluster.create(one, definition))
    cluster.add_instance()
    running = wait_until(lambda: cluster.api.get_environment(name=one).get("activeDeployment"),
                         "a monitor starts a task on the new instance")
    assert running["deploymentType"] == "autoscaling"
    cluster.api.update_environment(name=one, taskDefinition=definition, status="inactive")
    cluster.wait_for(one, running["deploymentId"], "stopped")
    found = cluster.api.get_environment(name=one)
    assert found["status"] == "inactive" and "activeDeployment" not in found


def test_an_environment_that_moved_before_it_began_begins_where_it_is(slipway, cluster):
    there, one = Cluster(slipway), name_of_one()
    definition = cluster.define(one)
    cluster.add_instance()
    there.add_instance()
    there.add_instance()
    cluster.create(one, definition)
    wait_until(lambda: cluster.api.get_environment(name=one)["counts"]["total"] == 1, "it counts here")
    cluster.api.update_environment(name=one, taskDefinition=definition,
                                   instanceGroup={"cluster": there.name})
    wait_until(lambda: cluster.api.get_environment(name=one)["counts"]["total"] == 2, "and then there")
    cluster.api.update_environment(name=one, taskDefinition=definition, status="active")
    wait_until(lambda: len(there.ecs.list_tasks(cluster=there.name)["taskArns"]) == 2,
               "tasks are started there")
    assert not cluster.ecs.list_tasks(cluster=cluster.name)["taskArns"]


def test_20_a_repeated_rejection_is_reported_once(start_slipway, tmp_path):
    receiver = Receiver()
    try:
        server = start_slipway("--config", hooks_file(tmp_path, {"name": "chat", "url": receiver.url}))
        cluster, one = Cluster(server, "small"), name_of_one()
        cluster.add_instance(memory=8)
        version = cluster.create(one, cluster.define(one))
        identifier = cluster.api.start_deployment(
            name=one, environmentVersion=version)["deploymentId"]
        cluster.wait_for(one, identifier, "blocked")
        wait_until(lambda: cluster.api.get_environment(name=one)["health"] == "unhealthy", "it is reported")

        def tries():
            return sum(int(number) for number in re.findall(
                r'^slipway_\w*calls\w*\{[^}]*StartTask[^}]*\} (\d+)', server.get("/metrics").text,
                re.MULTILINE))

        def look():
            found = cluster.api.get_environment(name=one)
            assert found["health"] == "unhealthy" and found["counts"]["unhealthy"] == 1
            assert found["activeDeployment"]["status"] == "blocked"
            return tries() >= 4

        wait_until(look, "it was tried four times")
        wait_until(lambda: len(set(receiver.events())) >= 4, "the notices arrive")
        # A notice without an answer in time is sent again, under the same number.
        events = {body["sequence"]: body["event"] for body in receiver.bodies()}
        assert sorted(events.values()) == ["deployment.blocked", "deployment.in-progress", "deployment.pending",
                                  "health.unhealthy"]
    finally:
        receiver.close()
