"""Container instances and their attributes, as agents register them and clients see them."""
import json

import pytest

from ecs_requests import all_pages, arn, cli_refused, refused, send_refused

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
    # What clients said of it stays; what the agent said is what it says now.
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
            cluster="nobody")


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
            cluster="nobody", containerInstances=[name])
    refused(ecs.describe_container_instances, "InvalidParameterException", "containerInstances",
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
            cluster="nobody", containerInstance=name)


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
            cluster="nobody")


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
        refused(call, "ClusterNotFoundException", "Cluster not found", cluster="nobody",
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
    refused(ecs.list_attributes, "ClusterNotFoundException", "Cluster not found", cluster="nobody",
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
                "register-container-instance", "--cluster", "nobody")
    assert aws("describe-container-instances", "--cluster", "cli", "--container-instances", name)[
        "containerInstances"][0]["registeredResources"][0]["integerValue"] == 1024
    cli_refused(slipway, "ClusterNotFoundException", "Cluster not found",
                "describe-container-instances", "--cluster", "nobody", "--container-instances",
                name)
    assert aws("list-container-instances", "--cluster", "cli")["containerInstanceArns"] == [name]
    cli_refused(slipway, "InvalidParameterException", "status", "list-container-instances",
                "--cluster", "cli", "--status", "ASLEEP")
    assert aws("put-attributes", "--cluster", "cli", "--attributes",
               f"name=rack,value=7,targetId={name}")["attributes"][0]["value"] == "7"
    cli_refused(slipway, "TargetNotFoundException", "nobody", "put-attributes", "--cluster", "cli",
                "--attributes", "name=rack,value=7,targetId=nobody")
    assert aws("list-attributes", "--cluster", "cli", "--target-type", "container-instance",
               "--attribute-name", "rack")["attributes"] == [
                   {"name": "rack", "value": "7", "targetId": name}]
    cli_refused(slipway, "InvalidParameterException", "attributeName", "list-attributes",
                "--cluster", "cli", "--target-type", "container-instance", "--attribute-value", "x")
    assert aws("delete-attributes", "--cluster", "cli", "--attributes",
               f"name=rack,targetId={name}")["attributes"][0]["name"] == "rack"
    cli_refused(slipway, "TargetNotFoundException", "nobody", "delete-attributes", "--cluster",
                "cli", "--attributes", "name=rack,targetId=nobody")
    assert aws("deregister-container-instance", "--cluster", "cli", "--container-instance", name)[
        "containerInstance"]["status"] == "INACTIVE"
    cli_refused(slipway, "InvalidParameterException", "containerInstance",
                "deregister-container-instance", "--cluster", "cli", "--container-instance", name)
