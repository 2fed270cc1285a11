"""Container instances and their attributes, as agents register them and clients see them."""
import json
import os

import botocore.exceptions
import pytest

from conftest import wait_until
from ecs_requests import all_pages, arn, cli_refused, refused, send, send_refused

SERVER_ARGUMENTS = ["--runtime", "none"]

pytestmark = pytest.mark.sanitized

RESOURCES = [
    {"name": "CPU", "type": "INTEGER", "integerValue": 2048, "longValue": 0, "doubleValue": 0.0},
    {"name": "MEMORY", "type": "INTEGER", "integerValue": 3768},
    {"name": "PORTS", "type": "STRINGSET", "stringSetValue": ["22", "2375"]},
]
ATTRIBUTES = [{"name": "ecs.capability.task-eni"}, {"name": "ecs.os-type", "value": "linux"}]
VERSIONS = {"agentVersion": "1.89.0", "agentHash": "abcdef", "dockerVersion": "DockerVersion: 25"}


@pytest.fixture(scope="module")
def ecs(slipway):
    ecs = slipway.boto("ecs")
    ecs.create_cluster()
    return ecs


def register(ecs, **parameters):
    return ecs.register_container_instance(**parameters)["containerInstance"]


def described(ecs, instance, **parameters):
    answer = ecs.describe_container_instances(
        containerInstances=[instance["containerInstanceArn"]], **parameters)
    assert answer["failures"] == []
    return answer["containerInstances"][0]


def attributes_of(instance):
    return {one["name"]: one.get("value") for one in instance["attributes"]}


# ---- instances ----

def test_everything_given_comes_back(ecs):
    ecs.create_cluster(clusterName="full")
    instance = register(ecs, cluster="full", totalResources=RESOURCES, attributes=ATTRIBUTES,
                        versionInfo=VERSIONS, tags=[{"key": "a", "value": "b"}],
                        instanceIdentityDocument=json.dumps({"instanceId": "i-0123456789abcdef0"}),
                        instanceIdentityDocumentSignature="x",
                        platformDevices=[{"id": "gpu-0", "type": "GPU"}])
    assert instance["containerInstanceArn"].startswith(arn("container-instance/full/"))
    assert len(instance["containerInstanceArn"].split("/")[-1]) == 32
    assert instance["registeredResources"] == RESOURCES
    assert instance["remainingResources"] == RESOURCES
    assert instance["attributes"] == ATTRIBUTES
    assert instance["versionInfo"] == VERSIONS
    assert instance["ec2InstanceId"] == "i-0123456789abcdef0"
    assert instance["status"] == "ACTIVE" and instance["agentConnected"] is True
    assert instance["runningTasksCount"] == 0 and instance["pendingTasksCount"] == 0
    assert instance["tags"] == [{"key": "a", "value": "b"}]
    assert described(ecs, instance, cluster="full", include=["TAGS"]) == instance
    assert described(ecs, instance, cluster=arn("cluster/full"))["tags"] == []


def test_an_agent_that_comes_back_keeps_its_instance(ecs):
    ecs.create_cluster(clusterName="back")
    first = register(ecs, cluster="back", attributes=ATTRIBUTES, totalResources=RESOURCES,
                     tags=[{"key": "a", "value": "b"}])
    ecs.put_attributes(cluster="back", attributes=[
        {"name": "rack", "value": "7", "targetId": first["containerInstanceArn"]}])
    again = register(ecs, cluster="back", containerInstanceArn=first["containerInstanceArn"],
                     attributes=[{"name": "ecs.os-type", "value": "plan9"}])
    assert again["containerInstanceArn"] == first["containerInstanceArn"]
    assert again["registeredAt"] == first["registeredAt"]
    assert again["version"] > first["version"]
    # Values of clients stay; those of the agent are its newest.
    assert attributes_of(again) == {"ecs.os-type": "plan9", "rack": "7"}
    assert again["tags"] == [{"key": "a", "value": "b"}]
    assert again["registeredResources"] == []
    assert len(ecs.list_container_instances(cluster="back")["containerInstanceArns"]) == 1
    refused(ecs.register_container_instance, "ClientException", "containerInstanceArn",
            cluster="back", containerInstanceArn=arn("container-instance/back/" + "0" * 32))


@pytest.mark.parametrize("wrong, part", [
    ({"attributes": [{"name": "a b"}]}, "attributes"),
    ({"attributes": [{"name": ""}]}, "attributes"),
    ({"attributes": [{"name": "n" * 129}]}, "128"),
    ({"attributes": [{"name": "n", "value": "v" * 129}]}, "128"),
    ({"attributes": [{"name": "n", "value": "a=b"}]}, "attributes"),
    ({"attributes": [{"name": f"n{i}"} for i in range(1001)]}, "attributes"),
    ({"totalResources": [{"type": "INTEGER"}]}, "totalResources"),
    ({"tags": [{"key": "aws:x", "value": "v"}]}, "aws:"),
    ({"instanceIdentityDocument": "not json"}, "instanceIdentityDocument"),
])
def test_register_refuses(slipway, ecs, wrong, part):
    ecs.create_cluster(clusterName="empty")
    send_refused(slipway, "RegisterContainerInstance", {"cluster": "empty", **wrong},
                 "InvalidParameterException", part)
    assert ecs.list_container_instances(cluster="empty")["containerInstanceArns"] == []


def test_register_needs_a_cluster(ecs):
    refused(ecs.register_container_instance, "ClusterNotFoundException", "Cluster not found",
            cluster="absent")


def test_describe(ecs):
    ecs.create_cluster(clusterName="other")
    instance = register(ecs)
    name = instance["containerInstanceArn"].split("/")[-1]
    answer = ecs.describe_container_instances(containerInstances=[
        name, instance["containerInstanceArn"], "0" * 32,
        arn("container-instance/default/" + "1" * 32)])
    assert len(answer["containerInstances"]) == 2
    assert answer["failures"] == [
        {"arn": arn("container-instance/default/" + "0" * 32), "reason": "MISSING"},
        {"arn": arn("container-instance/default/" + "1" * 32), "reason": "MISSING"}]
    refused(ecs.describe_container_instances, "InvalidParameterException", "Invalid identifier",
            "default", "other", cluster="other",
            containerInstances=[instance["containerInstanceArn"]])
    refused(ecs.describe_container_instances, "ClusterNotFoundException", "Cluster not found",
            cluster="absent", containerInstances=[name])
    refused(ecs.describe_container_instances, "InvalidParameterException", "Container instance cannot be empty.",
            containerInstances=[])
    refused(ecs.describe_container_instances, "InvalidParameterException", "100",
            containerInstances=["0" * 32] * 101)


def test_deregister(ecs):
    ecs.create_cluster(clusterName="leaving")
    instance = register(ecs, cluster="leaving", tags=[{"key": "a", "value": "b"}])
    name = instance["containerInstanceArn"].split("/")[-1]
    gone = ecs.deregister_container_instance(cluster="leaving", containerInstance=name,
                                             force=True)["containerInstance"]
    assert gone["containerInstanceArn"] == instance["containerInstanceArn"]
    assert gone["status"] == "INACTIVE" and gone["agentConnected"] is False
    assert ecs.list_container_instances(cluster="leaving")["containerInstanceArns"] == []
    for again in (name, instance["containerInstanceArn"]):
        refused(ecs.deregister_container_instance, "InvalidParameterException",
                "containerInstance", cluster="leaving", containerInstance=again)
    refused(ecs.deregister_container_instance, "ClusterNotFoundException", "Cluster not found",
            cluster="absent", containerInstance=name)


def test_list(slipway):
    ecs = slipway.boto("ecs", region="eu-central-1")
    ecs.create_cluster(clusterName="list")
    ecs.create_cluster(clusterName="list-2")
    arns = sorted(register(ecs, cluster="list")["containerInstanceArn"] for _ in range(23))
    register(ecs, cluster="list-2")
    found, sizes = all_pages(ecs.list_container_instances, "containerInstanceArns", cluster="list",
                             maxResults=10)
    assert (found, sizes) == (arns, [10, 10, 3])
    assert ecs.list_container_instances(cluster="list", status="ACTIVE")[
        "containerInstanceArns"] == arns
    assert ecs.list_container_instances(cluster="list", status="DRAINING")[
        "containerInstanceArns"] == []
    cluster = ecs.describe_clusters(clusters=["list"])["clusters"][0]
    assert cluster["registeredContainerInstancesCount"] == 23
    token = ecs.list_container_instances(cluster="list", maxResults=1)["nextToken"]
    refused(ecs.list_container_instances, "InvalidParameterException", "nextToken",
            cluster="list-2", nextToken=token)
    refused(ecs.list_container_instances, "InvalidParameterException", "maxResults",
            cluster="list", maxResults=101)
    refused(ecs.list_container_instances, "InvalidParameterException", "status", cluster="list",
            status="ASLEEP")
    refused(ecs.list_container_instances, "ClusterNotFoundException", "Cluster not found",
            cluster="absent")


def test_list_by_query(ecs):
    ecs.create_cluster(clusterName="query")
    arns = {}
    for i in range(6):
        instance = register(ecs, cluster="query", attributes=[
            {"name": "ecs.instance-type", "value": "t2.small" if i % 2 else "m5.large"},
            {"name": "number", "value": str(i)}])
        arns[instance["containerInstanceArn"]] = i

    def listed(query, **parameters):
        found, _ = all_pages(ecs.list_container_instances, "containerInstanceArns",
                             cluster="query", filter=query, **parameters)
        return sorted(arns[one] for one in found)

    for size in ({}, {"maxResults": 1}, {"maxResults": 2}):
        assert listed("attribute:ecs.instance-type =~ t2.*", **size) == [1, 3, 5]
        assert listed("attribute:number in [0, 4, 9]", **size) == [0, 4]
        assert listed("attribute:number == 7", **size) == []
    assert listed("agentConnected == true", status="ACTIVE") == [0, 1, 2, 3, 4, 5]
    token = ecs.list_container_instances(cluster="query", filter="agentConnected == true",
                                         maxResults=1)["nextToken"]
    refused(ecs.list_container_instances, "InvalidParameterException", "nextToken",
            cluster="query", nextToken=token)
    for wrong in ("attribute:", "number ==", "(agentConnected == true", "x" * 3000):
        refused(ecs.list_container_instances, "InvalidParameterException", "filter",
                cluster="query", filter=wrong)


# ---- attributes ----

def test_the_life_of_attributes(ecs):
    ecs.create_cluster(clusterName="racks")
    one = register(ecs, cluster="racks", attributes=ATTRIBUTES)
    two = register(ecs, cluster="racks")
    short = two["containerInstanceArn"].split("/")[-1]
    put = ecs.put_attributes(cluster="racks", attributes=[
        {"name": "rack", "value": "7", "targetId": one["containerInstanceArn"]},
        {"name": "rack", "value": "8", "targetType": "container-instance", "targetId": short},
        {"name": "dry", "targetId": one["containerInstanceArn"]},
        {"name": "a.b/c-d_e", "value": "x@y: z\\.", "targetId": one["containerInstanceArn"]},
    ])["attributes"]
    assert put[1] == {"name": "rack", "value": "8", "targetType": "container-instance",
                      "targetId": two["containerInstanceArn"]}
    shown = attributes_of(described(ecs, one, cluster="racks"))
    assert shown == {"ecs.capability.task-eni": None, "ecs.os-type": "linux", "rack": "7",
                     "dry": None, "a.b/c-d_e": "x@y: z\\."}

    def listed(**filters):
        found, _ = all_pages(ecs.list_attributes, "attributes", cluster="racks",
                             targetType="container-instance", **filters)
        return sorted((found_one["targetId"] == one["containerInstanceArn"], found_one["name"],
                       found_one.get("value")) for found_one in found)

    assert listed(attributeName="rack") == [(False, "rack", "8"), (True, "rack", "7")]
    assert listed(attributeName="rack", attributeValue="7") == [(True, "rack", "7")]
    assert listed(attributeName="rack", attributeValue="9") == []
    assert listed(attributeName="rac") == []
    assert len(listed()) == 6
    assert listed(maxResults=1) == listed() == listed(maxResults=4)

    # Put again replaces; a deletion with another value deletes nothing.
    ecs.put_attributes(cluster="racks", attributes=[
        {"name": "rack", "value": "70", "targetId": one["containerInstanceArn"]}])
    ecs.delete_attributes(cluster="racks", attributes=[
        {"name": "rack", "value": "7", "targetId": one["containerInstanceArn"]}])
    assert listed(attributeName="rack", attributeValue="70") == [(True, "rack", "70")]
    ecs.delete_attributes(cluster="racks", attributes=[
        {"name": "rack", "targetId": one["containerInstanceArn"]},
        {"name": "dry", "targetId": one["containerInstanceArn"]}])
    assert listed(attributeName="rack") == [(False, "rack", "8")]
    ecs.deregister_container_instance(cluster="racks",
                                      containerInstance=two["containerInstanceArn"])
    assert listed(attributeName="rack") == []


def test_attributes_refuse_and_change_nothing(slipway, ecs):
    ecs.create_cluster(clusterName="firm")
    instance = register(ecs, cluster="firm", attributes=ATTRIBUTES)
    target = instance["containerInstanceArn"]
    good = {"name": "good", "value": "1", "targetId": target}
    for wrong, code, part in (
            ({"name": "a b", "targetId": target}, "InvalidParameterException", "a b"),
            ({"name": "n" * 129, "targetId": target}, "InvalidParameterException", "128"),
            ({"name": "n", "value": " v", "targetId": target}, "InvalidParameterException", "n"),
            ({"name": "n", "value": "v" * 129, "targetId": target}, "InvalidParameterException",
             "128"),
            ({"name": "ecs.mine", "targetId": target}, "InvalidParameterException", "ecs.mine"),
            ({"name": "n"}, "InvalidParameterException", "targetId"),
            ({"name": "n", "targetId": "0" * 32}, "TargetNotFoundException", "0" * 32),
            ({"name": "n", "targetId": target, "targetType": "planet"},
             "InvalidParameterException", "targetType"),
            ({"targetId": target}, "InvalidParameterException", "name")):
        for operation in ("PutAttributes", "DeleteAttributes"):
            send_refused(slipway, operation, {"cluster": "firm", "attributes": [good, wrong]},
                         code, part)
    for call in (ecs.put_attributes, ecs.delete_attributes):
        refused(call, "InvalidParameterException", "attributes", cluster="firm", attributes=[])
        refused(call, "InvalidParameterException", "10", cluster="firm", attributes=[good] * 11)
        refused(call, "ClusterNotFoundException", "Cluster not found", cluster="absent",
                attributes=[good])
    assert described(ecs, instance, cluster="firm")["attributes"] == ATTRIBUTES
    # Ten of one's own.
    ecs.put_attributes(cluster="firm", attributes=[
        {"name": f"n{i}", "targetId": target} for i in range(10)])
    refused(ecs.put_attributes, "AttributeLimitExceededException", "10", cluster="firm",
            attributes=[good])
    ecs.put_attributes(cluster="firm", attributes=[{"name": "n3", "value": "v",
                                                    "targetId": target}])
    assert len(described(ecs, instance, cluster="firm")["attributes"]) == 12


def test_list_attributes_refuses(ecs):
    kind = {"targetType": "container-instance"}
    refused(ecs.list_attributes, "InvalidParameterException", "attributeName", attributeValue="x",
            **kind)
    refused(ecs.list_attributes, "InvalidParameterException", "targetType", targetType="planet")
    refused(ecs.list_attributes, "ClusterNotFoundException", "Cluster not found", cluster="absent",
            **kind)
    refused(ecs.list_attributes, "InvalidParameterException", "maxResults", maxResults=101, **kind)


def test_instances_survive_a_restart(start_slipway):
    server = start_slipway()
    ecs = server.boto("ecs")
    ecs.create_cluster()
    instance = register(ecs, attributes=ATTRIBUTES, totalResources=RESOURCES)
    server.kill()
    ecs = start_slipway(state=server.state).boto("ecs")
    assert described(ecs, instance) == {**instance, "tags": []}
    assert ecs.list_attributes(targetType="container-instance", attributeName="ecs.os-type")[
        "attributes"][0]["value"] == "linux"


def test_aws_cli(slipway, ecs):
    def aws(*args):
        return slipway.aws("ecs", *args).json

    ecs.create_cluster(clusterName="cli")
    instance = aws("register-container-instance", "--cluster", "cli", "--total-resources",
                   "name=CPU,type=INTEGER,integerValue=1024")["containerInstance"]
    name = instance["containerInstanceArn"]
    cli_refused(slipway, "ClusterNotFoundException", "Cluster not found",
                "register-container-instance", "--cluster", "absent")
    assert aws("describe-container-instances", "--cluster", "cli", "--container-instances", name)[
        "containerInstances"][0]["registeredResources"][0]["integerValue"] == 1024
    cli_refused(slipway, "ClusterNotFoundException", "Cluster not found",
                "describe-container-instances", "--cluster", "absent", "--container-instances",
                name)
    assert aws("list-container-instances", "--cluster", "cli")["containerInstanceArns"] == [name]
    cli_refused(slipway, "InvalidParameterException", "status", "list-container-instances",
                "--cluster", "cli", "--status", "ASLEEP")
    assert aws("put-attributes", "--cluster", "cli", "--attributes",
               f"name=rack,value=7,targetId={name}")["attributes"][0]["value"] == "7"
    cli_refused(slipway, "TargetNotFoundException", "absent", "put-attributes", "--cluster", "cli",
                "--attributes", "name=rack,value=7,targetId=absent")
    assert aws("list-attributes", "--cluster", "cli", "--target-type", "container-instance",
               "--attribute-name", "rack")["attributes"] == [
                   {"name": "rack", "value": "7", "targetId": name}]
    cli_refused(slipway, "InvalidParameterException", "attributeName", "list-attributes",
                "--cluster", "cli", "--target-type", "container-instance", "--attribute-value", "x")
    assert aws("delete-attributes", "--cluster", "cli", "--attributes",
               f"name=rack,targetId={name}")["attributes"][0]["name"] == "rack"
    cli_refused(slipway, "TargetNotFoundException", "absent", "delete-attributes", "--cluster",
                "cli", "--attributes", "name=rack,targetId=absent")
    assert aws("deregister-container-instance", "--cluster", "cli", "--container-instance", name)[
        "containerInstance"]["status"] == "INACTIVE"
    cli_refused(slipway, "InvalidParameterException", "containerInstance",
                "deregister-container-instance", "--cluster", "cli", "--container-instance", name)


# ---- leaving service ----

def run(ecs, cluster, **parameters):
    answer = ecs.run_task(cluster=cluster, taskDefinition="small", **parameters)
    assert answer["failures"] == []
    return [task["taskArn"] for task in answer["tasks"]]


@pytest.fixture(scope="module", autouse=True)
def definition(ecs):
    ecs.register_task_definition(family="small", containerDefinitions=[
        {"name": "app", "image": "host", "cpu": 128, "memory": 256, "command": ["sleep", "1"]}])


def status_of(ecs, cluster, task):
    return ecs.describe_tasks(cluster=cluster, tasks=[task])["tasks"][0]


def test_draining(slipway, ecs):
    ecs.create_cluster(clusterName="drain")
    one, two = (register(ecs, cluster="drain", totalResources=RESOURCES)["containerInstanceArn"]
                for _ in range(2))
    answer = ecs.update_container_instances_state(
        cluster="drain", containerInstances=[one, "0" * 32], status="DRAINING")
    assert [instance["status"] for instance in answer["containerInstances"]] == ["DRAINING"]
    assert answer["failures"] == [
        {"arn": arn("container-instance/drain/" + "0" * 32), "reason": "MISSING"}]
    assert ecs.list_container_instances(cluster="drain", status="DRAINING")[
        "containerInstanceArns"] == [one]
    assert ecs.list_container_instances(cluster="drain", status="ACTIVE")[
        "containerInstanceArns"] == [two]
    # It takes nothing more.
    placed = run(ecs, "drain", count=5)
    described_tasks = ecs.describe_tasks(cluster="drain", tasks=placed)["tasks"]
    assert {task["containerInstanceArn"] for task in described_tasks} == {two}
    assert slipway.aws("ecs", "update-container-instances-state", "--cluster", "drain",
                       "--container-instances", one.split("/")[-1], "--status", "ACTIVE").json[
                           "containerInstances"][0]["status"] == "ACTIVE"
    cli_refused(slipway, "InvalidParameterException", "[ACTIVE, DRAINING]",
                "update-container-instances-state", "--cluster", "drain",
                "--container-instances", one, "--status", "REGISTERING")
    call = ecs.update_container_instances_state
    refused(call, "InvalidParameterException", "containerInstances", cluster="drain",
            containerInstances=[], status="DRAINING")
    refused(call, "InvalidParameterException", "10", cluster="drain",
            containerInstances=[one] * 11, status="DRAINING")
    refused(call, "InvalidParameterException", "status", cluster="drain",
            containerInstances=[one], status="ASLEEP")
    refused(call, "InvalidParameterException", "Invalid identifier", containerInstances=[one],
            status="DRAINING")
    refused(call, "ClusterNotFoundException", "Cluster not found", cluster="absent",
            containerInstances=[one], status="DRAINING")


def test_deregister_with_tasks(ecs):
    ecs.create_cluster(clusterName="busy")
    instance = register(ecs, cluster="busy", totalResources=RESOURCES)["containerInstanceArn"]
    (task,) = run(ecs, "busy")
    call = ecs.deregister_container_instance
    refused(call, "InvalidParameterException", "Found running tasks on the instance.",
            cluster="busy", containerInstance=instance)
    refused(ecs.delete_cluster, "ClusterContainsTasksException", "Tasks are active",
            cluster="busy")
    assert call(cluster="busy", containerInstance=instance, force=True)["containerInstance"][
        "status"] == "INACTIVE"
    # Its agent is disconnected, so no more is known of the task than this.
    stopped = status_of(ecs, "busy", task)
    assert (stopped["lastStatus"], stopped["desiredStatus"]) == ("STOPPED", "STOPPED")
    assert stopped["stopCode"] == "UserInitiated"
    assert stopped["stoppedReason"] == "Container instance deregistration forced by user"
    assert stopped["stoppedAt"] >= stopped["createdAt"]
    ecs.delete_cluster(cluster="busy")


def test_agents_are_not_updated(slipway, ecs):
    instance = register(ecs)["containerInstanceArn"]
    refused(ecs.update_container_agent, "NoUpdateAvailableException", "no update",
            containerInstance=instance)
    refused(ecs.update_container_agent, "InvalidParameterException", "containerInstance",
            containerInstance="0" * 32)
    cli_refused(slipway, "ClusterNotFoundException", "Cluster not found",
                "update-container-agent", "--cluster", "absent", "--container-instance", instance)


# ---- reports of agents ----

def test_the_life_of_a_task_as_an_agent_reports_it(slipway, ecs):
    ecs.create_cluster(clusterName="agents")
    instance = register(ecs, cluster="agents", totalResources=RESOURCES)
    endpoint = ecs.discover_poll_endpoint(cluster="agents",
                                          containerInstance=instance["containerInstanceArn"])
    assert endpoint["endpoint"] == slipway.url == endpoint["telemetryEndpoint"]
    (task,) = run(ecs, "agents")
    shown = described(ecs, instance, cluster="agents")
    assert (shown["pendingTasksCount"], shown["runningTasksCount"]) == (1, 0)
    assert shown["remainingResources"][0]["integerValue"] == 2048 - 128
    assert shown["remainingResources"][1]["integerValue"] == 3768 - 256
    assert shown["registeredResources"] == RESOURCES

    binding = {"bindIP": "0.0.0.0", "containerPort": 80, "hostPort": 32768, "protocol": "tcp"}
    assert ecs.submit_task_state_change(
        cluster="agents", task=task, status="RUNNING", reason="", containers=[
            {"containerName": "app", "runtimeId": "abc", "status": "RUNNING",
             "networkBindings": [binding]}])["acknowledgment"]
    running = status_of(ecs, "agents", task)
    assert running["lastStatus"] == "RUNNING" and running["startedAt"]
    assert running["containers"][0]["networkBindings"] == [binding]
    assert running["containers"][0]["runtimeId"] == "abc"
    cluster = ecs.describe_clusters(clusters=["agents"], include=["STATISTICS"])["clusters"][0]
    assert (cluster["runningTasksCount"], cluster["pendingTasksCount"]) == (1, 0)
    assert {"name": "runningEC2TasksCount", "value": "1"} in cluster["statistics"]

    # A late report is acknowledged and changes nothing.
    ecs.submit_task_state_change(cluster="agents", task=task, status="PENDING")
    assert status_of(ecs, "agents", task) == running
    slipway.aws("ecs", "submit-container-state-change", "--cluster", "agents", "--task", task,
                "--container-name", "app", "--status", "STOPPED", "--exit-code", "7", "--reason",
                "it fell over")
    slipway.aws("ecs", "submit-task-state-change", "--cluster", "agents", "--task", task,
                "--status", "STOPPED", "--reason", "Essential container in task exited")
    stopped = status_of(ecs, "agents", task)
    assert stopped["lastStatus"] == "STOPPED"
    assert stopped["stopCode"] == "EssentialContainerExited"
    assert stopped["containers"][0]["exitCode"] == 7
    assert stopped["containers"][0]["reason"] == "it fell over"
    shown = described(ecs, instance, cluster="agents")
    assert (shown["pendingTasksCount"], shown["runningTasksCount"]) == (0, 0)
    assert shown["remainingResources"] == RESOURCES


def test_agents_are_refused(slipway, ecs):
    ecs.create_cluster(clusterName="mute")
    register(ecs, cluster="mute", totalResources=RESOURCES)
    (task,) = run(ecs, "mute")
    call = ecs.submit_task_state_change
    refused(call, "InvalidParameterException", "The referenced task was not found.",
            cluster="mute", task="0" * 32, status="RUNNING")
    refused(call, "InvalidParameterException", "task", cluster="mute", status="RUNNING")
    refused(call, "InvalidParameterException", "FLYING", cluster="mute", task=task,
            status="FLYING")
    refused(call, "InvalidParameterException", "1024", cluster="mute", task=task, status="STOPPED",
            reason="x" * 1025)
    refused(call, "ClusterNotFoundException", "Cluster not found", cluster="absent", task=task)
    refused(ecs.submit_container_state_change, "InvalidParameterException", "containerName",
            cluster="mute", task=task, status="STOPPED")
    refused(ecs.submit_attachment_state_changes, "InvalidParameterException", "attachment",
            cluster="mute", attachments=[{"attachmentArn": arn("attachment/x"),
                                          "status": "ATTACHED"}])
    refused(ecs.submit_attachment_state_changes, "InvalidParameterException", "GLUED",
            cluster="mute", attachments=[{"attachmentArn": arn("attachment/x"),
                                          "status": "GLUED"}])
    refused(ecs.discover_poll_endpoint, "InvalidParameterException", "Cluster not found",
            cluster="absent")
    cli_refused(slipway, "ClientException", "is not registered", "discover-poll-endpoint",
                "--cluster", "mute", "--container-instance", "0" * 32)
    assert status_of(ecs, "mute", task)["lastStatus"] == "PENDING"


def test_an_agent_tries_its_first_registration_again(slipway, ecs):
    """The agent's own clients send a clientToken, of which the public model does not know."""
    ecs.create_cluster(clusterName="token")
    body = {"cluster": "token", "clientToken": "6bb1d2a7-6b5b-4f0a-8a5f-0d0c1ad0a1aa",
            "totalResources": RESOURCES}
    answers = [send(slipway, "RegisterContainerInstance", body).json["containerInstance"]
               for _ in range(3)]
    assert len({answer["containerInstanceArn"] for answer in answers}) == 1
    assert len(ecs.list_container_instances(cluster="token")["containerInstanceArns"]) == 1


# ---- this machine ----

def machines(server, cluster="default"):
    ecs = server.boto("ecs")
    arns = ecs.list_container_instances(cluster=cluster)["containerInstanceArns"]
    if not arns:
        return []
    return sorted(ecs.describe_container_instances(cluster=cluster, containerInstances=arns)[
        "containerInstances"], key=lambda one: one["containerInstanceArn"])


def amount(instance, name):
    return next(one["integerValue"] for one in instance["registeredResources"]
                if one["name"] == name)


def test_this_machine_registers_itself(start_slipway):
    server = start_slipway("--runtime", "process", "--cluster", "here", "--instances", "2")
    found = machines(server, "here")
    assert len(found) == 2
    assert sum(amount(one, "CPU") for one in found) == os.cpu_count() * 1024
    assert amount(found[0], "MEMORY") == amount(found[1], "MEMORY") > 0
    for one in found:
        assert one["status"] == "ACTIVE" and one["agentConnected"] is True
        attributes = attributes_of(one)
        assert attributes["ecs.availability-zone"] == "us-east-1a"
        assert attributes["ecs.os-type"] == "linux"
        assert "ecs.cpu-architecture" in attributes and "ecs.instance-type" in attributes
    health = server.boto("ecs").describe_container_instances(
        cluster="here", containerInstances=[found[0]["containerInstanceArn"]],
        include=["CONTAINER_INSTANCE_HEALTH"])["containerInstances"][0]["healthStatus"]
    assert health["overallStatus"] == "OK"
    refused(server.boto("ecs").register_container_instance, "ClientException",
            "run by this server", cluster="here",
            containerInstanceArn=found[0]["containerInstanceArn"])


def test_definitions_of_every_kind_fit_this_machine(start_slipway):
    """This machine announces every attribute that a task definition can require of an instance."""
    ecs = start_slipway("--runtime", "simulated").boto("ecs")
    drivers = ["json-file", "syslog", "journald", "gelf", "fluentd", "awslogs", "splunk",
               "awsfirelens"]
    for number, driver in enumerate(drivers):
        ecs.register_task_definition(
            family=f"d{number}", networkMode="awsvpc" if number % 2 else "bridge",
            taskRoleArn="arn:aws:iam::123456789012:role/r",
            containerDefinitions=[
                {"name": "app", "image": "host", "memory": 16,
                 "logConfiguration": {"logDriver": driver},
                 "healthCheck": {"command": ["CMD", "true"]},
                 "dependsOn": [{"containerName": "first", "condition": "START"}]},
                {"name": "first", "image": "host", "memory": 16, "essential": False,
                 **({"firelensConfiguration": {"type": "fluentbit"}}
                    if driver == "awsfirelens" else {})}])
        network = {"networkConfiguration": {"awsvpcConfiguration": {"subnets": ["subnet-1"]}}}
        assert ecs.run_task(taskDefinition=f"d{number}", **(network if number % 2 else {}))[
            "failures"] == []


def test_this_machine_is_the_same_after_a_restart(start_slipway):
    options = ("--runtime", "simulated", "--instances")
    server = start_slipway(*options, "3")
    before = machines(server)
    assert len(before) == 3
    server.boto("ecs").put_attributes(attributes=[
        {"name": "rack", "value": "7", "targetId": before[0]["containerInstanceArn"]}])
    server.boto("ecs").deregister_container_instance(
        containerInstance=before[2]["containerInstanceArn"])
    assert len(machines(server)) == 2
    server.kill()
    # One that was deregistered comes back with the next start, as another one.
    server = start_slipway(*options, "3", state=server.state)
    after = {one["containerInstanceArn"]: one for one in machines(server)}
    assert len(after) == 3
    assert before[1]["containerInstanceArn"] in after
    assert before[2]["containerInstanceArn"] not in after
    assert attributes_of(after[before[0]["containerInstanceArn"]])["rack"] == "7"
    server.stop()
    # Fewer of them: the idle ones go.
    server = start_slipway(*options, "1", state=server.state)
    assert len(machines(server)) == 1


def test_this_machine_comes_back_after_a_reset(start_slipway):
    server = start_slipway("--ephemeral", "--runtime", "simulated", "--instances", "2")
    before = machines(server)
    assert len(before) == 2
    assert server.request("POST", "/_slipway/reset").status == 200

    def both():
        try:
            return len(machines(server)) == 2
        except botocore.exceptions.ClientError:
            return False  # the cluster is made anew with them

    wait_until(both, "the machine is registered again")
    assert {one["containerInstanceArn"] for one in machines(server)}.isdisjoint(
        one["containerInstanceArn"] for one in before)


def test_an_agent_has_no_say_in_what_this_server_runs(start_slipway):
    ecs = start_slipway("--runtime", "simulated").boto("ecs")
    ecs.register_task_definition(family="small", containerDefinitions=[
        {"name": "app", "image": "host", "memory": 16}])
    (task,) = run(ecs, "default")
    refused(ecs.submit_task_state_change, "ClientException", "run by this server", task=task,
            status="STOPPED")
    ecs.get_waiter("tasks_running").wait(tasks=[task], WaiterConfig={"Delay": 1})
    (instance,) = ecs.list_container_instances()["containerInstanceArns"]
    # Forced out, its tasks are stopped.
    ecs.deregister_container_instance(containerInstance=instance, force=True)
    ecs.get_waiter("tasks_stopped").wait(tasks=[task], WaiterConfig={"Delay": 1})
    assert status_of(ecs, "default", task)["stoppedReason"] == \
        "Container instance deregistration forced by user"
