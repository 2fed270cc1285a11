"""Capacity providers: those of AWS, those of the account, and clusters that use them."""
import json

import pytest

from ecs_requests import ACCOUNT, all_pages, arn, cli_refused, refused, send, send_refused

SERVER_ARGUMENTS = ["--runtime", "none"]

pytestmark = pytest.mark.sanitized

GROUP = (f"arn:aws:autoscaling:us-east-1:{ACCOUNT}:autoScalingGroup:"
         "11111111-2222-3333-4444-555555555555:autoScalingGroupName/group")


@pytest.fixture(scope="module")
def ecs(slipway):
    return slipway.boto("ecs")


def create(ecs, name, **members):
    return ecs.create_capacity_provider(
        name=name, **{"autoScalingGroupProvider": {"autoScalingGroupArn": GROUP}, **members}
    )["capacityProvider"]


def described(ecs, name, **parameters):
    answer = ecs.describe_capacity_providers(capacityProviders=[name], **parameters)
    assert answer["failures"] == []
    return answer["capacityProviders"][0]


# ---- create and describe ----

def test_everything_given_comes_back(ecs):
    provider = {"autoScalingGroupArn": GROUP, "managedTerminationProtection": "ENABLED",
                "managedScaling": {"status": "ENABLED", "targetCapacity": 90,
                                   "minimumScalingStepSize": 2, "maximumScalingStepSize": 3,
                                   "instanceWarmupPeriod": 10}}
    created = create(ecs, "full", autoScalingGroupProvider=provider,
                     tags=[{"key": "a", "value": "b"}])
    assert created["capacityProviderArn"] == arn("capacity-provider/full")
    assert created["name"] == "full" and created["status"] == "ACTIVE"
    assert created["tags"] == [{"key": "a", "value": "b"}]
    shown = created["autoScalingGroupProvider"]
    assert {key: shown[key] for key in provider} == provider
    assert described(ecs, "full", include=["TAGS"]) == created
    assert described(ecs, arn("capacity-provider/full"))["tags"] == []


def test_defaults(slipway, ecs):
    create(ecs, "defaults")
    shown = send(slipway, "DescribeCapacityProviders",
                 {"capacityProviders": ["defaults"]}).json["capacityProviders"][0]
    assert shown["type"] == "EC2_AUTOSCALING"
    assert shown["autoScalingGroupProvider"] == {
        "autoScalingGroupArn": GROUP, "managedTerminationProtection": "DISABLED",
        "managedDraining": "ENABLED",
        "managedScaling": {"status": "DISABLED", "targetCapacity": 100,
                           "minimumScalingStepSize": 1, "maximumScalingStepSize": 10000,
                           "instanceWarmupPeriod": 300}}


def test_those_of_aws(slipway):
    answer = send(slipway, "DescribeCapacityProviders", {
        "capacityProviders": ["FARGATE", arn("capacity-provider/FARGATE_SPOT"), "absent"]}).json
    assert [(one["name"], one["type"], one["status"]) for one in answer["capacityProviders"]] == [
        ("FARGATE", "FARGATE", "ACTIVE"), ("FARGATE_SPOT", "FARGATE_SPOT", "ACTIVE")]
    assert answer["failures"] == [{"arn": arn("capacity-provider/absent"), "reason": "MISSING"}]


@pytest.mark.parametrize("wrong, parts", [
    ({"name": ""}, ["name"]),
    ({"name": "a b"}, ["name", "a b"]),
    ({"name": "n" * 256}, ["name"]),
    ({"name": "aws-mine"}, ["name", "aws"]),
    ({"name": "ECS-mine"}, ["name", "ecs"]),
    ({"name": "fargate-mine"}, ["name", "fargate"]),
    ({"autoScalingGroupProvider": {"autoScalingGroupArn": "group"}}, ["autoScalingGroupArn"]),
    ({"autoScalingGroupProvider": {"autoScalingGroupArn": arn("cluster/x")}},
     ["autoScalingGroupArn"]),
    ({"autoScalingGroupProvider": {"autoScalingGroupArn": GROUP,
                                   "managedTerminationProtection": "ENABLED"}},
     ["managedTerminationProtection", "managedScaling"]),
    ({"autoScalingGroupProvider": {"autoScalingGroupArn": GROUP,
                                   "managedScaling": {"targetCapacity": 101}}},
     ["targetCapacity", "100"]),
    ({"autoScalingGroupProvider": {"autoScalingGroupArn": GROUP,
                                   "managedScaling": {"minimumScalingStepSize": 0}}},
     ["minimumScalingStepSize"]),
    ({"autoScalingGroupProvider": {"autoScalingGroupArn": GROUP,
                                   "managedScaling": {"instanceWarmupPeriod": 10001}}},
     ["instanceWarmupPeriod", "10000"]),
    ({"autoScalingGroupProvider": {"autoScalingGroupArn": GROUP,
                                   "managedScaling": {"status": "SOMEHOW"}}}, ["status"]),
    ({"tags": [{"key": "AWS:x", "value": "v"}]}, ["AWS:"]),
])
def test_what_is_wrong_is_named_and_makes_no_provider(slipway, ecs, wrong, parts):
    request = {"name": "never", "autoScalingGroupProvider": {"autoScalingGroupArn": GROUP}, **wrong}
    send_refused(slipway, "CreateCapacityProvider", request, "InvalidParameterException", *parts)
    listed, _ = all_pages(ecs.describe_capacity_providers, "capacityProviders")
    assert not {one["name"] for one in listed} & {"never", request["name"]}


def test_one_kind_of_provider_is_given(slipway):
    send_refused(slipway, "CreateCapacityProvider", {"name": "never"}, "InvalidParameterException",
                 "autoScalingGroupProvider", "managedInstancesProvider")


def test_create_twice(ecs):
    create(ecs, "twice")
    refused(lambda: create(ecs, "twice"), "InvalidParameterException",
            "The specified capacity provider already exists")


def test_pages(slipway):
    ecs = slipway.boto("ecs", region="eu-central-1")
    names = [f"page-{i:02}" for i in range(21)]
    for name in names:
        create(ecs, name)
    expected = ["FARGATE", "FARGATE_SPOT"] + names
    for size, sizes in ((1, [1] * 23), (2, [2] * 11 + [1]), (3, [3] * 7 + [2]), (10, [10, 10, 3])):
        found, found_sizes = all_pages(ecs.describe_capacity_providers, "capacityProviders",
                                       maxResults=size)
        assert [one["name"] for one in found] == expected
        assert found_sizes == sizes
    refused(ecs.describe_capacity_providers, "InvalidParameterException", "maxResults",
            maxResults=11)
    refused(ecs.describe_capacity_providers, "InvalidParameterException", "capacityProviders",
            capacityProviders=["x"] * 101)
    # Nothing but what AWS gives to everybody.
    empty = slipway.boto("ecs", region="ap-south-1")
    for size in (1, 2, 3):
        found, _ = all_pages(empty.describe_capacity_providers, "capacityProviders",
                             maxResults=size)
        assert [one["name"] for one in found] == ["FARGATE", "FARGATE_SPOT"]


# ---- update and delete ----

def test_update_changes_what_is_given_alone(ecs):
    create(ecs, "change", tags=[{"key": "a", "value": "b"}])
    updated = ecs.update_capacity_provider(
        name=arn("capacity-provider/change"), autoScalingGroupProvider={
            "managedScaling": {"status": "ENABLED", "targetCapacity": 50}})["capacityProvider"]
    assert updated["updateStatus"] == "UPDATE_COMPLETE"
    scaling = updated["autoScalingGroupProvider"]["managedScaling"]
    assert (scaling["status"], scaling["targetCapacity"]) == ("ENABLED", 50)
    assert scaling["maximumScalingStepSize"] == 10000
    updated = ecs.update_capacity_provider(name="change", autoScalingGroupProvider={
        "managedTerminationProtection": "ENABLED"})["capacityProvider"]
    provider = updated["autoScalingGroupProvider"]
    assert provider["managedScaling"] == scaling
    assert provider["managedTerminationProtection"] == "ENABLED"
    assert provider["autoScalingGroupArn"] == GROUP
    assert described(ecs, "change", include=["TAGS"]) == updated
    # Scaling cannot be switched off below the protection that needs it.
    refused(ecs.update_capacity_provider, "InvalidParameterException",
            "managedTerminationProtection", name="change",
            autoScalingGroupProvider={"managedScaling": {"status": "DISABLED"}})
    assert described(ecs, "change", include=["TAGS"]) == updated


def test_update_and_delete_refuse(slipway, ecs):
    for name in ("absent", arn("capacity-provider/absent")):
        refused(ecs.update_capacity_provider, "InvalidParameterException",
                "The specified capacity provider", "was not found", name=name,
                autoScalingGroupProvider={})
        refused(ecs.delete_capacity_provider, "InvalidParameterException",
                "The specified capacity provider", "was not found", capacityProvider=name)
    for name in ("FARGATE", arn("capacity-provider/FARGATE_SPOT")):
        refused(ecs.update_capacity_provider, "InvalidParameterException", "FARGATE", name=name,
                autoScalingGroupProvider={})
        refused(ecs.delete_capacity_provider, "InvalidParameterException", "FARGATE",
                capacityProvider=name)
    create(ecs, "grouped")
    send_refused(slipway, "UpdateCapacityProvider", {
        "name": "grouped", "autoScalingGroupProvider": {"managedScaling": {"targetCapacity": 0}}},
                 "InvalidParameterException", "targetCapacity")


def test_delete(ecs):
    create(ecs, "gone")
    deleted = ecs.delete_capacity_provider(capacityProvider="gone")["capacityProvider"]
    assert deleted["status"] == "INACTIVE"
    answer = ecs.describe_capacity_providers(capacityProviders=["gone"])
    assert answer["capacityProviders"] == []
    assert answer["failures"] == [{"arn": arn("capacity-provider/gone"), "reason": "MISSING"}]
    assert create(ecs, "gone")["status"] == "ACTIVE"


# ---- clusters that use them ----

def test_put_on_a_cluster(ecs):
    create(ecs, "mine")
    ecs.create_cluster(clusterName="user")
    cluster = ecs.put_cluster_capacity_providers(
        cluster="user", capacityProviders=[arn("capacity-provider/mine"), "FARGATE"],
        defaultCapacityProviderStrategy=[{"capacityProvider": "mine", "weight": 1, "base": 5}],
    )["cluster"]
    assert cluster["capacityProviders"] == ["mine", "FARGATE"]
    assert cluster["defaultCapacityProviderStrategy"] == [
        {"capacityProvider": "mine", "weight": 1, "base": 5}]
    shown = ecs.describe_clusters(clusters=["user"])["clusters"][0]
    assert shown["capacityProviders"] == ["mine", "FARGATE"]
    refused(ecs.delete_capacity_provider, "ClientException", "associated with cluster", "user",
            capacityProvider="mine")
    cluster = ecs.put_cluster_capacity_providers(
        cluster=arn("cluster/user"), capacityProviders=[],
        defaultCapacityProviderStrategy=[])["cluster"]
    assert cluster["capacityProviders"] == [] and cluster["defaultCapacityProviderStrategy"] == []
    ecs.delete_capacity_provider(capacityProvider="mine")


def test_a_deleted_cluster_uses_nothing(ecs):
    create(ecs, "free")
    ecs.create_cluster(clusterName="leaver", capacityProviders=["free"])
    refused(ecs.delete_capacity_provider, "ClientException", "associated with cluster", "leaver",
            capacityProvider="free")
    ecs.delete_cluster(cluster="leaver")
    ecs.delete_capacity_provider(capacityProvider="free")


def strategy(*items):
    return {"capacityProviders": ["FARGATE", "FARGATE_SPOT", "own"],
            "defaultCapacityProviderStrategy": list(items)}


@pytest.mark.parametrize("wrong, parts", [
    ({"capacityProviders": ["absent"], "defaultCapacityProviderStrategy": []},
     ["The specified capacity provider", "absent", "was not found"]),
    ({"capacityProviders": ["FARGATE", arn("capacity-provider/FARGATE")],
      "defaultCapacityProviderStrategy": []}, ["capacityProviders", "FARGATE", "twice"]),
    ({"capacityProviders": [arn("cluster/x")], "defaultCapacityProviderStrategy": []},
     ["capacityProviders", "not the ARN"]),
    ({"capacityProviders": ["FARGATE"] * 21, "defaultCapacityProviderStrategy": []}, ["20"]),
    (strategy({"capacityProvider": "secondary", "weight": 1}), ["secondary"]),
    (strategy({"capacityProvider": "FARGATE", "weight": 1001}), ["weight", "1000"]),
    (strategy({"capacityProvider": "FARGATE", "weight": -1}), ["weight"]),
    (strategy({"capacityProvider": "FARGATE", "weight": 1, "base": 100001}), ["base", "100000"]),
    (strategy({"capacityProvider": "FARGATE", "weight": 0}), ["weight"]),
    (strategy({"capacityProvider": "FARGATE", "weight": 1, "base": 1},
              {"capacityProvider": "FARGATE_SPOT", "weight": 1, "base": 1}), ["base"]),
    (strategy({"capacityProvider": "FARGATE", "weight": 1},
              {"capacityProvider": "FARGATE", "weight": 1}), ["FARGATE", "twice"]),
    (strategy({"capacityProvider": "FARGATE", "weight": 1},
              {"capacityProvider": "own", "weight": 1}), ["mixed"]),
    ({"capacityProviders": ["FARGATE"]}, ["defaultCapacityProviderStrategy"]),
    ({"defaultCapacityProviderStrategy": []}, ["capacityProviders"]),
])
def test_put_refuses_and_changes_nothing(slipway, ecs, wrong, parts):
    if not ecs.describe_capacity_providers(capacityProviders=["own"])["capacityProviders"]:
        create(ecs, "own")
    ecs.create_cluster(clusterName="firm")
    send_refused(slipway, "PutClusterCapacityProviders", {"cluster": "firm", **wrong},
                 "InvalidParameterException", *parts)
    cluster = ecs.describe_clusters(clusters=["firm"])["clusters"][0]
    assert cluster["capacityProviders"] == [] and cluster["defaultCapacityProviderStrategy"] == []


def test_put_on_no_cluster(ecs):
    refused(ecs.put_cluster_capacity_providers, "ClusterNotFoundException", "Cluster not found",
            cluster="absent", capacityProviders=[], defaultCapacityProviderStrategy=[])


# ---- managed instances: newer than Debian's botocore ----

def managed(**members):
    return {"infrastructureRoleArn": f"arn:aws:iam::{ACCOUNT}:role/infrastructure",
            "instanceLaunchTemplate": {
                "ec2InstanceProfileArn": f"arn:aws:iam::{ACCOUNT}:instance-profile/p",
                "networkConfiguration": {"subnets": ["subnet-1"]}}, **members}


def test_managed_instances_belong_to_one_cluster(slipway, ecs):
    def call(operation, **body):
        answer = send(slipway, operation, body)
        assert answer.status == 200, answer.text
        return answer.json

    for name in ("home", "neighbour"):
        ecs.create_cluster(clusterName=name)
    provider = {"name": "managed", "managedInstancesProvider": managed(unknown=1)}
    send_refused(slipway, "CreateCapacityProvider", provider, "InvalidParameterException",
                 "cluster")
    send_refused(slipway, "CreateCapacityProvider", {**provider, "cluster": "absent"},
                 "ClusterNotFoundException", "Cluster not found")
    created = call("CreateCapacityProvider", **provider, cluster=arn("cluster/home"))[
        "capacityProvider"]
    assert created["type"] == "MANAGED_INSTANCES" and created["cluster"] == "home"
    assert created["managedInstancesProvider"] == managed()
    both = call("DescribeCapacityProviders", cluster="home")["capacityProviders"]
    assert [one["name"] for one in both] == ["managed"]
    assert call("DescribeCapacityProviders", cluster="neighbour")["capacityProviders"] == []
    send_refused(slipway, "DescribeCapacityProviders", {"cluster": "absent"},
                 "ClusterNotFoundException", "Cluster not found")
    updated = call("UpdateCapacityProvider", name="managed", cluster="home",
                   managedInstancesProvider=managed(propagateTags="CAPACITY_PROVIDER"))[
                       "capacityProvider"]
    assert updated["managedInstancesProvider"] == managed(propagateTags="CAPACITY_PROVIDER")
    send_refused(slipway, "UpdateCapacityProvider", {
        "name": "managed", "cluster": "neighbour", "managedInstancesProvider": managed()},
                 "InvalidParameterException", "managed", "was not found")
    send_refused(slipway, "PutClusterCapacityProviders", {
        "cluster": "neighbour", "capacityProviders": ["managed"],
        "defaultCapacityProviderStrategy": []}, "InvalidParameterException", "managed")
    refused(ecs.delete_cluster, "ClusterContainsCapacityProviderException", "managed",
            cluster="home")
    call("DeleteCapacityProvider", capacityProvider="managed", cluster="home")
    assert call("DeleteCluster", cluster="home")["cluster"]["status"] == "INACTIVE"


def test_describe_by_cluster(slipway, ecs):
    create(ecs, "attached")
    create(ecs, "detached")
    ecs.create_cluster(clusterName="some", capacityProviders=["FARGATE", "attached"])

    def names(**body):
        answer = send(slipway, "DescribeCapacityProviders", {"cluster": "some", **body})
        assert answer.status == 200, answer.text
        return [one["name"] for one in answer.json["capacityProviders"]]

    assert names() == ["FARGATE", "attached"]
    assert names(capacityProviders=["detached", "attached"]) == ["attached"]


def test_aws_cli(slipway):
    def aws(*args):
        return slipway.aws("ecs", *args).json

    provider = json.dumps({"autoScalingGroupArn": GROUP})
    assert aws("create-capacity-provider", "--name", "cli", "--auto-scaling-group-provider",
               provider)["capacityProvider"]["status"] == "ACTIVE"
    cli_refused(slipway, "InvalidParameterException", "already exists", "create-capacity-provider",
                "--name", "cli", "--auto-scaling-group-provider", provider)
    assert aws("describe-capacity-providers", "--capacity-providers", "cli")[
        "capacityProviders"][0]["name"] == "cli"
    cli_refused(slipway, "InvalidParameterException", "maxResults", "describe-capacity-providers",
                "--max-results", "50")
    assert aws("update-capacity-provider", "--name", "cli", "--auto-scaling-group-provider",
               "managedScaling={targetCapacity=70}")["capacityProvider"][
                   "autoScalingGroupProvider"]["managedScaling"]["targetCapacity"] == 70
    cli_refused(slipway, "InvalidParameterException", "was not found", "update-capacity-provider",
                "--name", "absent", "--auto-scaling-group-provider", "managedScaling={}")
    aws("create-cluster", "--cluster-name", "cli")
    assert aws("put-cluster-capacity-providers", "--cluster", "cli", "--capacity-providers", "cli",
               "--default-capacity-provider-strategy", "capacityProvider=cli,weight=1")[
                   "cluster"]["capacityProviders"] == ["cli"]
    cli_refused(slipway, "InvalidParameterException", "was not found",
                "put-cluster-capacity-providers", "--cluster", "cli", "--capacity-providers",
                "absent", "--default-capacity-provider-strategy", "capacityProvider=absent")
    cli_refused(slipway, "ClientException", "associated with cluster", "delete-capacity-provider",
                "--capacity-provider", "cli")
    aws("delete-cluster", "--cluster", "cli")
    assert aws("delete-capacity-provider", "--capacity-provider", "cli")["capacityProvider"][
        "status"] == "INACTIVE"
