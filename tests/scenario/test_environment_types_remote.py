"""Environments of the type Service in a remote cluster: another slipway behind a proxy that does to calls what networks
and services do (remote_ecs.py). What is promised is held against the other slipway's own record and the machine."""
import time

import pytest

from balancing import free_port
from conftest import wait_until
from remote_world import (  # pylint: disable=unused-import
    ACCOUNT, POLL, ROLE, RemoteFleet, event_of, is_reported_healthy, new_proxy, new_world, post)
from fleets import refusal
from programs import LONG, container
from test_services_run import Watch


class RemoteTyped(RemoteFleet):
    """An environment of another type than Daemon."""

    def __init__(self, world, kind):
        super().__init__(world)
        self.kind = kind

    def create(self, definition, attributes=None, role=None, **configuration):
        group = {"cluster": "default", **({"attributes": attributes} if attributes else {})}
        return self.api.create_environment(
            name=self.name, environmentType=self.kind, taskDefinition=definition, target="remote",
            instanceGroup=group, deploymentConfiguration=configuration,
            **({"role": role} if role else {}))["environmentVersion"]

    def service(self):
        found = self.ecs.describe_services(services=["env-" + self.name], include=["TAGS"])
        return found["services"][0] if found["services"] else None

    def made(self):
        """How many services were asked for: the same token is the same one."""
        return len({call.body["clientToken"]
                    for call in self.world.proxy.called("CreateService")})


def remote_service(world, **members):
    world.open(**members)
    return RemoteTyped(world, "Service")


# ---- Service ----

def test_a_remote_service_is_created_replaced_and_rolled_back(world):
    service = remote_service(world)
    version = service.create(service.define(1), desiredCount=4, minHealthyPercent=50,
                             maxActivePercent=100)
    time.sleep(3 * POLL)
    assert service.service() is None, "inactive means silent"
    service.wait_for(service.deploy(version), "completed")
    assert len(service.mark.tasks(VERSION="1")) == 4
    shown = service.service()
    assert shown["serviceArn"] == service.get()["serviceArn"]
    assert shown["deploymentConfiguration"]["minimumHealthyPercent"] == 50
    assert shown["deploymentConfiguration"]["maximumPercent"] == 100
    assert {"key": "slipway:environment", "value": service.name} in shown["tags"]
    wait_until(lambda: service.get()["counts"]["active"] == 4, "it is counted")
    assert service.get()["target"] == "remote"
    wait_until(lambda: is_reported_healthy(service), "it is reported healthy")
    second = service.update(service.define(2))
    with Watch(service.mark) as watch:
        done = service.wait_for(service.deploy(second), "completed")
    assert (done["completed"], done["total"]) == (4, 4)
    service.mark.wait_for(4, VERSION="2")
    assert watch.fewest() >= 2 and watch.most() <= 4
    rolled = service.api.rollback_deployment(name=service.name)["deploymentId"]
    assert service.wait_for(rolled, "completed")["rollback"]
    service.mark.wait_for(4, VERSION="1")
    # A count set by hand is left alone; a service deleted by hand is created again.
    service.ecs.update_service(service="env-" + service.name, desiredCount=2)
    wait_until(lambda: service.get()["counts"]["total"] == 2, "it is counted")
    time.sleep(3 * POLL)
    assert service.service()["desiredCount"] == 2
    assert service.made() == 1
    assert len({call.body["taskDefinition"] for call in world.proxy.called("UpdateService")}) == 2
    service.ecs.delete_service(service="env-" + service.name, force=True)
    wait_until(lambda: service.service()["status"] == "ACTIVE" and service.made() == 2,
               "it is there again")
    service.mark.wait_for(4, VERSION="1")
    service.remove()
    assert service.service()["status"] == "INACTIVE" and not service.mark.tasks()
    wait_until(lambda: time.monotonic() - world.proxy.called()[-1].at > 5 * POLL,
               "the cluster is not asked about any more")


def test_a_failing_remote_service_is_rolled_back(world):
    service = remote_service(world)
    good = service.roll_out(service.define(1), desiredCount=2, onFailure="rollback")
    identifier = service.deploy(service.update(service.define(2, "exit 1")))
    failed = service.wait_for(identifier, "timed-out")
    assert failed["statusReason"].startswith("ROLLOUT_FAILED: ")
    # Others that the old version was given meanwhile may just be ending.
    wait_until(lambda: len(service.mark.tasks(VERSION="1")) == 2, "the old version serves")
    back = wait_until(lambda: [item for item in service.deployments() if item.get("rollback")],
                      "it goes back")[0]
    service.wait_for(back["deploymentId"], "completed")
    assert service.get()["activeVersion"] == good
    service.mark.wait_for(2, VERSION="1")
    service.remove()


@pytest.mark.parametrize("skew", [0, -3600, 3600])
def test_a_remote_service_without_room_is_blocked_at_any_clock_skew(world, skew):
    world.proxy.skew = skew
    service = remote_service(world)
    identifier = service.deploy(service.create(service.define(1, memory=10 ** 7)))
    blocked = service.wait_for(identifier, "blocked")
    assert blocked["statusReason"] == "UNABLE_TO_PLACE"
    wait_until(lambda: service.get()["health"] == "unhealthy", "it is reported")
    service.api.stop_deployment(name=service.name, deploymentId=identifier)
    service.wait_for(identifier, "stopped")
    service.remove()


def test_an_unmanaged_remote_service_is_left_alone(world):
    service = remote_service(world)
    definition = service.define(1)
    service.ecs.create_service(serviceName="env-" + service.name, taskDefinition=definition,
                               desiredCount=1)
    before = service.mark.wait_for(1)
    identifier = service.deploy(service.create(definition, desiredCount=2))
    blocked = service.wait_for(identifier, "blocked")
    assert blocked["statusReason"] == "SERVICE_NOT_OURS"
    assert blocked["failedInstances"][0]["instance"] == "env-" + service.name
    service.api.stop_deployment(name=service.name, deploymentId=identifier)
    service.wait_for(identifier, "stopped")
    service.api.delete_environment(name=service.name, terminateTasks=True)
    wait_until(lambda: not service.exists(), "the environment is gone")
    assert service.mark.tasks() == before and service.service()["status"] == "ACTIVE"
    for operation in ("CreateService", "UpdateService", "DeleteService"):
        assert not world.proxy.count(operation)
    service.ecs.delete_service(service="env-" + service.name, force=True)
    service.mark.wait_for(0)


def test_70_a_remote_service_is_not_doubled_by_kills(world):
    service = remote_service(world)
    version = service.create(service.define(1), desiredCount=2)
    # The first one arrives, and the answer is lost.
    world.proxy.fault("CreateService", "slow", times=1, seconds=1)
    identifier = service.deploy(version)
    wait_until(lambda: world.proxy.count("CreateService"), "it is on its way")
    for turn in range(4):
        world.local.kill()
        world.reopen()
        service.reconnect()
        time.sleep(0.3 * turn)
    service.wait_for(identifier, "completed")
    service.mark.wait_for(2)
    assert len(service.ecs.list_services()["serviceArns"]) == 1
    assert len(service.service()["deployments"]) == 1
    # The same in the middle of a rollout.
    world.proxy.fault("UpdateService", "slow", times=1, seconds=1)
    identifier = service.deploy(service.update(service.define(2)))
    wait_until(lambda: world.proxy.count("UpdateService"), "it is on its way")
    world.local.kill()
    world.reopen()
    service.reconnect()
    service.wait_for(identifier, "completed")
    service.mark.wait_for(2, VERSION="2")
    assert len(service.ecs.list_services()["serviceArns"]) == 1
    # And of the deletion.
    world.proxy.fault("DeleteService", "slow", times=1, seconds=1)
    service.api.delete_environment(name=service.name, terminateTasks=True)
    wait_until(lambda: world.proxy.count("DeleteService"), "it is on its way")
    world.local.kill()
    world.reopen()
    service.reconnect()
    wait_until(lambda: not service.exists(), "the environment is gone")
    assert not service.mark.tasks() and service.service()["status"] == "INACTIVE"


@pytest.mark.parametrize("kind", ["silent", "gateway", "lost", "cut", "error", "throttle"])
def test_72_calls_for_a_service_that_go_wrong_only_delay(world, kind):
    service = remote_service(world)
    for operation in ("CreateService", "UpdateService", "DeleteService"):
        world.proxy.fault(operation, kind, times=2)
    service.roll_out(service.define(1), desiredCount=2)
    service.mark.wait_for(2, VERSION="1")
    service.wait_for(service.deploy(service.update(service.define(2))), "completed")
    service.mark.wait_for(2, VERSION="2")
    assert len(service.ecs.list_services()["serviceArns"]) == 1
    service.api.delete_environment(name=service.name, terminateTasks=True)
    wait_until(lambda: not service.exists(), "the environment is gone")
    assert not service.mark.tasks()


def test_17_a_service_that_is_throttled_is_asked_for_later_each_time(world):
    service = remote_service(world)
    version = service.create(service.define(1), desiredCount=1)
    wait_until(lambda: world.proxy.count("DescribeServices"), "it is looked at")
    world.proxy.fault("CreateService", "throttle")
    identifier = service.deploy(version)
    blocked = service.wait_for(identifier, "blocked")
    assert blocked["statusReason"] == "REFUSED"
    assert "Rate exceeded" in blocked["failedInstances"][0]["reason"]
    begun = world.proxy.count("CreateService")
    time.sleep(10)
    # One call is four attempts at most; a second, two, four and eight are between them.
    assert world.proxy.count("CreateService") - begun <= 20
    world.proxy.heal()
    service.wait_for(identifier, "completed")
    service.mark.wait_for(1)
    service.remove()


def test_83_a_remote_service_that_is_unreachable_for_long(world):
    service = remote_service(world)
    service.roll_out(service.define(1), desiredCount=2)
    two = service.define(2)
    wait_until(lambda: service.get()["counts"]["active"] == 2, "it is counted")
    world.proxy.fault(None, "cut")
    found = wait_until(lambda: (now := service.get()).get("stale") and now, "it is reported as stale")
    assert found["counts"]["active"] == 2
    identifier = service.deploy(service.update(two))
    blocked = service.wait_for(identifier, "blocked")
    assert blocked["statusReason"].startswith("CLUSTER_STALE: ")
    calls, begun = world.proxy.count(), time.monotonic()
    time.sleep(5)
    assert world.proxy.count() - calls <= 8 * (time.monotonic() - begun)
    assert not world.proxy.count("UpdateService")
    assert len(service.mark.tasks(VERSION="1")) == 2
    # It can be stopped, and another one begun.
    service.api.stop_deployment(name=service.name, deploymentId=identifier)
    service.wait_for(identifier, "stopped")
    identifier = service.deploy(service.get()["latestVersion"])
    world.local.kill()
    world.reopen()
    service.reconnect()
    blocked = wait_until(lambda: (now := service.deployment(identifier)).get(
        "statusReason", "").startswith("CLUSTER_UNKNOWN") and now, "nothing is known")
    assert blocked["status"] == "blocked"
    world.proxy.heal()
    service.wait_for(identifier, "completed")
    service.mark.wait_for(2, VERSION="2")
    wait_until(lambda: not service.get().get("stale"), "it is known again")
    # And deleting waits for it.
    world.proxy.fault(None, "cut")
    service.api.delete_environment(name=service.name, terminateTasks=True)
    time.sleep(2)
    assert service.exists() and len(service.mark.tasks()) == 2
    world.proxy.heal()
    wait_until(lambda: not service.exists(), "the environment is gone")
    assert not service.mark.tasks()


def test_a_rollout_that_is_stopped_while_its_cluster_is_away_is_halted_later(world):
    service = remote_service(world)
    service.roll_out(service.define(1), desiredCount=2)
    identifier = service.deploy(service.update(service.define(2, memory=10 ** 7)))
    wait_until(lambda: service.service()["deployments"][0]["rolloutState"] == "IN_PROGRESS",
               "it goes")
    world.proxy.fault(None, "cut")
    wait_until(lambda: service.get().get("stale"), "nothing is known of it")
    service.api.stop_deployment(name=service.name, deploymentId=identifier)
    service.wait_for(identifier, "stopped")
    assert service.service()["deployments"][0]["rolloutState"] == "IN_PROGRESS"
    world.proxy.heal()
    wait_until(lambda: service.service()["deployments"][0]["rolloutState"] == "FAILED",
               "ECS received it")
    # Rollouts by hand are not halted from now on.
    def halted():
        return {call.body["serviceDeploymentArn"]
                for call in world.proxy.called("StopServiceDeployment")}

    before = halted()
    service.ecs.update_service(service="env-" + service.name, taskDefinition=service.define(3))
    service.mark.wait_for(2, VERSION="3")
    time.sleep(5 * POLL)
    assert halted() == before
    service.remove()


def test_an_event_is_faster_than_the_next_look_at_a_service(world):
    service = remote_service(world, pollInterval="1h", timeout="5s")
    service.roll_out(service.define(1), desiredCount=2)
    wait_until(lambda: time.monotonic() - world.proxy.called("DescribeServices")[-1].at > 4,
               "the service is not read any more")
    service.ecs.update_service(service="env-" + service.name, desiredCount=1)
    arn = service.service()["serviceArn"]
    cluster = f"arn:aws:ecs:us-east-1:{ACCOUNT}:cluster/default"
    action = {**event_of("ECS Service Action", {
        "eventType": "INFO", "eventName": "SERVICE_STEADY_STATE", "clusterArn": cluster}),
        "resources": [arn]}
    looked = world.proxy.count("DescribeServices")
    time.sleep(1)
    assert service.get()["counts"]["total"] == 2
    assert world.proxy.count("DescribeServices") == looked
    assert post(world, action, action) == {"accepted": 2, "ignored": 0}
    wait_until(lambda: service.get()["counts"]["total"] == 1, "it is known")
    # A deployment's event names the cluster by its service alone; others are unmanaged, or invalid.
    service.ecs.update_service(service="env-" + service.name, desiredCount=3)
    done = {**event_of("ECS Deployment State Change", {
        "eventType": "INFO", "eventName": "SERVICE_DEPLOYMENT_COMPLETED"}), "resources": [arn]}
    other = {**done, "resources": [arn + "x"]}
    wrong = {**done, "resources": ["service"]}
    answer = post(world, done, other, wrong)
    assert (answer["accepted"], answer["ignored"]) == (1, 1)
    assert answer["failures"][0]["index"] == 2 and "resources" in answer["failures"][0]["reason"]
    wait_until(lambda: service.get()["counts"]["total"] == 3, "it is known")
    service.remove()


def test_d11_a_remote_service_with_a_role(world):
    service = remote_service(world)
    identifier = service.deploy(service.create(service.define(1), role=ROLE, desiredCount=1))
    blocked = service.wait_for(identifier, "blocked")
    assert blocked["statusReason"] == "REFUSED"
    assert "sts AssumeRole: AccessDenied" in blocked["failedInstances"][0]["reason"]
    assert not world.proxy.count("CreateService")
    world.proxy.sts.roles.add(ROLE)
    service.wait_for(identifier, "completed")
    assert {form["RoleArn"] for form in world.proxy.sts.asked} == {ROLE}
    service.remove()


def test_46_a_service_moves_from_here_to_there_and_back(world):
    service = remote_service(world)
    here = world.local.boto("ecs")
    local = here.register_task_definition(family=service.name, containerDefinitions=[
        container(service.mark, LONG, environment={"VERSION": "here"})])[
            "taskDefinition"]["taskDefinitionArn"]
    version = service.api.create_environment(
        name=service.name, environmentType="Service", taskDefinition=local,
        instanceGroup={"cluster": "default"})["environmentVersion"]
    service.wait_for(service.deploy(version), "completed")
    service.mark.wait_for(1, VERSION="here")
    there = service.define("there")
    version = service.update(there, target="remote", instanceGroup={"cluster": "default"})
    service.wait_for(service.deploy(version), "completed")
    service.mark.wait_for(1, VERSION="there")
    wait_until(lambda: not service.mark.tasks(VERSION="here"), "nothing is left here")
    version = service.update(local, target="local", instanceGroup={"cluster": "default"})
    service.wait_for(service.deploy(version), "completed")
    service.mark.wait_for(1, VERSION="here")
    wait_until(lambda: not service.mark.tasks(VERSION="there"), "nothing is left there")
    # There again, and deleted while it is away: what is nowhere else any more is still there.
    version = service.update(there, target="remote", instanceGroup={"cluster": "default"})
    service.wait_for(service.deploy(version), "completed")
    wait_until(lambda: not service.mark.tasks(VERSION="here"), "nothing is left here")
    world.proxy.fault(None, "cut")
    wait_until(lambda: service.get().get("stale"), "nothing is known of it")
    service.api.delete_environment(name=service.name, terminateTasks=True)
    time.sleep(3)
    assert service.exists() and len(service.mark.tasks(VERSION="there")) == 1
    world.proxy.heal()
    wait_until(lambda: not service.exists(), "the environment is gone")
    assert not service.mark.tasks()


def test_a_remote_service_is_validated_like_every_service(world):
    service = remote_service(world)
    answer = refusal(service.api.create_environment, "InvalidParameterException", 400,
                     name=service.name, environmentType="Service", target="remote",
                     taskDefinition="web:1", instanceGroup={"cluster": "default"},
                     deploymentConfiguration={"minHealthyPercent": 100, "maxActivePercent": 100})
    assert "maxActivePercent" in answer["Error"]["Message"]
    identifier = service.deploy(service.create(f"{service.name}:9"))
    blocked = service.wait_for(identifier, "blocked")
    assert blocked["statusReason"] == "REFUSED" and "Exception" in blocked[
        "failedInstances"][0]["reason"]
    service.api.stop_deployment(name=service.name, deploymentId=identifier)
    service.wait_for(identifier, "stopped")
    service.remove()


def test_a_remote_service_behind_a_remote_load_balancer(world):
    """Container and port are those that the task definition there has only one of."""
    service = remote_service(world)
    elb = world.remote.boto("elbv2")
    group = elb.create_target_group(Name="g" + service.name, Protocol="HTTP", Port=80,
                                    VpcId="vpc-1")["TargetGroups"][0]["TargetGroupArn"]
    balancer = elb.create_load_balancer(Name="b" + service.name, Subnets=["subnet-1", "subnet-2"])[
        "LoadBalancers"][0]["LoadBalancerArn"]
    elb.create_listener(LoadBalancerArn=balancer, Protocol="HTTP", Port=free_port("127.0.0.1"),
                        DefaultActions=[{"Type": "forward", "TargetGroupArn": group}])
    port = free_port("127.0.0.1")
    definition = service.ecs.register_task_definition(
        family=service.name, networkMode="host", containerDefinitions=[container(
            service.mark, LONG, portMappings=[{"containerPort": port, "hostPort": port}])])[
                "taskDefinition"]["taskDefinitionArn"]
    service.deploy(service.create(definition, loadBalancer={"targetGroupArn": group}))
    wait_until(lambda: service.service(), "it is there")
    assert [(item["targetGroupArn"], item["containerName"], item["containerPort"])
            for item in service.service()["loadBalancers"]] == [(group, "app", port)]
    time.sleep(5)
    assert not world.proxy.count("UpdateService"), "it is as wanted"
    assert world.proxy.count("DescribeTaskDefinition") <= 3, "which does not change"
    for item in service.deployments():
        if item["status"] not in ("completed", "stopped"):
            service.api.stop_deployment(name=service.name, deploymentId=item["deploymentId"])
            service.wait_for(item["deploymentId"], "stopped")
    service.remove()
    elb.delete_load_balancer(LoadBalancerArn=balancer)
    elb.delete_target_group(TargetGroupArn=group)


def test_a_remote_service_without_permission_to_describe_is_stale(world):
    service = remote_service(world)
    service.roll_out(service.define(1), desiredCount=1)
    world.proxy.fault("DescribeServices", "error")
    found = wait_until(lambda: (now := service.get()).get("stale") and now, "it is reported as stale")
    assert "DescribeServices" in found["statusReason"]
    world.proxy.heal()
    wait_until(lambda: not service.get().get("stale"), "it is known again")
    service.remove()
