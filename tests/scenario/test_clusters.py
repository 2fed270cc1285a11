"""Clusters: create, describe with include, list, update, delete; by name and by ARN."""
import json

import pytest

from conftest import wait_until
from ecs_requests import all_pages, arn, cli_refused, refused

SERVER_ARGUMENTS = ["--runtime", "none"]


@pytest.fixture(scope="module")
def ecs(slipway):
    return slipway.boto("ecs")


def described(ecs, cluster, *include):
    answer = ecs.describe_clusters(clusters=[cluster], include=list(include))
    assert answer["failures"] == []
    return answer["clusters"][0]


CONFIGURATION = {
    "executeCommandConfiguration": {
        "kmsKeyId": "alias/exec",
        "logging": "OVERRIDE",
        "logConfiguration": {
            "cloudWatchLogGroupName": "/exec", "cloudWatchEncryptionEnabled": True,
            "s3BucketName": "logs", "s3EncryptionEnabled": False, "s3KeyPrefix": "exec/",
        },
    },
}


def test_everything_given_comes_back(ecs):
    created = ecs.create_cluster(
        clusterName="full", tags=[{"key": "team", "value": "a"}, {"key": "empty"}],
        settings=[{"name": "containerInsights", "value": "enabled"}],
        configuration=CONFIGURATION, capacityProviders=["FARGATE", "FARGATE_SPOT"],
        defaultCapacityProviderStrategy=[{"capacityProvider": "FARGATE", "weight": 1, "base": 2},
                                         {"capacityProvider": "FARGATE_SPOT", "weight": 3}],
    )["cluster"]
    assert created["clusterArn"] == arn("cluster/full")
    assert created["clusterName"] == "full"
    assert created["status"] == "ACTIVE"
    assert created["tags"] == [{"key": "team", "value": "a"}, {"key": "empty", "value": ""}]
    assert created["settings"] == [{"name": "containerInsights", "value": "enabled"}]
    assert created["configuration"] == CONFIGURATION
    assert created["capacityProviders"] == ["FARGATE", "FARGATE_SPOT"]
    assert created["defaultCapacityProviderStrategy"] == [
        {"capacityProvider": "FARGATE", "weight": 1, "base": 2},
        {"capacityProvider": "FARGATE_SPOT", "weight": 3, "base": 0}]
    shown = described(ecs, "full", "SETTINGS", "CONFIGURATIONS", "TAGS")
    assert shown == {**created, "statistics": []}


def test_a_cluster_without_a_name_is_default(ecs):
    assert ecs.create_cluster()["cluster"]["clusterArn"] == arn("cluster/default")
    assert ecs.describe_clusters()["clusters"][0]["clusterName"] == "default"
    # Operations without a cluster mean the same one.
    assert ecs.list_container_instances()["containerInstanceArns"] == []


def test_include_decides_what_is_shown(ecs):
    ecs.create_cluster(clusterName="parts", tags=[{"key": "k", "value": "v"}],
                       configuration=CONFIGURATION)
    plain = described(ecs, "parts")
    assert plain["tags"] == [] and plain["settings"] == [] and plain["statistics"] == []
    assert "configuration" not in plain and "attachments" not in plain
    assert plain["registeredContainerInstancesCount"] == 0
    assert plain["runningTasksCount"] == 0
    assert plain["pendingTasksCount"] == 0
    assert plain["activeServicesCount"] == 0
    assert plain["capacityProviders"] == [] and plain["defaultCapacityProviderStrategy"] == []
    assert described(ecs, "parts", "TAGS")["tags"] == [{"key": "k", "value": "v"}]
    assert described(ecs, "parts", "SETTINGS")["settings"] == [
        {"name": "containerInsights", "value": "disabled"}]
    assert described(ecs, "parts", "CONFIGURATIONS")["configuration"] == CONFIGURATION
    assert described(ecs, "parts", "ATTACHMENTS")["attachments"] == []
    statistics = described(ecs, "parts", "STATISTICS")["statistics"]
    assert {"name": "runningFargateTasksCount", "value": "0"} in statistics
    assert {"name": "activeEC2ServiceCount", "value": "0"} in statistics
    refused(ecs.describe_clusters, "InvalidParameterException", "include", clusters=["parts"],
            include=["WEATHER"])


def test_names_and_arns_are_alike_and_what_is_missing_fails(ecs):
    ecs.create_cluster(clusterName="alike")
    answer = ecs.describe_clusters(clusters=[
        "alike", arn("cluster/alike"), "absent", arn("cluster/absent"),
        arn("cluster/alike", region="eu-west-1"), arn("cluster/alike", account="210987654321")])
    assert [found["clusterName"] for found in answer["clusters"]] == ["alike", "alike"]
    assert answer["failures"] == [
        {"arn": arn("cluster/absent"), "reason": "MISSING"},
        {"arn": arn("cluster/absent"), "reason": "MISSING"},
        {"arn": arn("cluster/alike", region="eu-west-1"), "reason": "MISSING"},
        {"arn": arn("cluster/alike", account="210987654321"), "reason": "MISSING"}]


def test_a_name_with_a_zero_byte_is_another_name(ecs):
    ecs.create_cluster(clusterName="zero")
    answer = ecs.describe_clusters(clusters=["zero\0", arn("cluster/zero\0x")])
    assert answer["clusters"] == []
    assert [failure["reason"] for failure in answer["failures"]] == ["MISSING", "MISSING"]


def test_creating_twice_is_creating_once(ecs):
    first = ecs.create_cluster(clusterName="twice", tags=[{"key": "a", "value": "1"}])["cluster"]
    assert ecs.create_cluster(clusterName="twice")["cluster"] == first
    again = ecs.create_cluster(clusterName="twice", tags=[{"key": "a", "value": "1"}])["cluster"]
    assert again == first
    for different in ({"capacityProviders": ["FARGATE"]},
                      {"settings": [{"name": "containerInsights", "value": "enhanced"}]},
                      {"configuration": CONFIGURATION}):
        refused(ecs.create_cluster, "InvalidParameterException",
                "Arguments on this idempotent request are inconsistent with arguments used in "
                "previous request(s).", clusterName="twice", **different)
    assert ecs.create_cluster(clusterName="twice")["cluster"] == first


@pytest.mark.parametrize("wrong, parts", [
    ({"clusterName": ""}, ["clusterName"]),
    ({"clusterName": "a b"}, ["clusterName", "a b"]),
    ({"clusterName": "a/b"}, ["clusterName", "a/b"]),
    ({"clusterName": "é"}, ["clusterName"]),
    ({"clusterName": "n" * 256}, ["clusterName"]),
    ({"clusterName": "x\0"}, ["clusterName"]),
    ({"settings": [{"name": "containerInsights", "value": "perhaps"}]}, ["settings", "enhanced"]),
    ({"settings": [{"name": "weather", "value": "enabled"}]}, ["settings"]),
    ({"settings": [{"value": "enabled"}]}, ["settings"]),
    ({"configuration": {"executeCommandConfiguration": {"logging": "OVERRIDE"}}},
     ["logConfiguration"]),
    ({"configuration": {"executeCommandConfiguration": {"logging": "SOMETIMES"}}}, ["logging"]),
    ({"configuration": {"executeCommandConfiguration": {"logging": "NONE",
                                                        "logConfiguration": {}}}},
     ["logConfiguration"]),
    ({"capacityProviders": ["absent"]}, ["absent", "was not found"]),
    ({"capacityProviders": ["FARGATE", "FARGATE"]}, ["FARGATE", "twice"]),
    ({"defaultCapacityProviderStrategy": [{"capacityProvider": "FARGATE", "weight": 1}]},
     ["defaultCapacityProviderStrategy", "FARGATE"]),
    ({"tags": [{"key": "aws:x", "value": "v"}]}, ["aws:"]),
    ({"tags": [{"key": f"k{i}", "value": "v"} for i in range(51)]}, ["50"]),
])
def test_what_is_wrong_is_named_and_makes_no_cluster(ecs, wrong, parts):
    request = {"clusterName": "never", **wrong}
    refused(ecs.create_cluster, "InvalidParameterException", *parts, **request)
    assert ecs.describe_clusters(clusters=["never"])["clusters"] == []


def test_longest_name(ecs):
    name = "n" * 255
    assert ecs.create_cluster(clusterName=name)["cluster"]["clusterName"] == name
    assert described(ecs, arn("cluster/" + name))["clusterName"] == name


def test_namespaces_that_do_not_exist(ecs):
    refused(ecs.create_cluster, "NamespaceNotFoundException", "nowhere", clusterName="never",
            serviceConnectDefaults={"namespace": arn("namespace/ns-nowhere").replace(":ecs:", ":servicediscovery:")})
    assert ecs.describe_clusters(clusters=["never"])["clusters"] == []


def test_limits_of_describe(ecs):
    many = ["absent"] * 100
    assert len(ecs.describe_clusters(clusters=many)["failures"]) == 100
    refused(ecs.describe_clusters, "InvalidParameterException", "clusters", "100",
            clusters=many + ["absent"])


def test_listing_goes_over_pages_in_order(slipway):
    ecs = slipway.boto("ecs", region="eu-central-1")
    names = sorted(f"list-{i}" for i in range(25))
    for name in reversed(names):
        ecs.create_cluster(clusterName=name)
    expected = [arn("cluster/" + name, region="eu-central-1") for name in names]
    assert ecs.list_clusters()["clusterArns"] == expected
    found, sizes = all_pages(ecs.list_clusters, "clusterArns", maxResults=10)
    assert (found, sizes) == (expected, [10, 10, 5])
    # A page that is exactly full is the last one.
    assert all_pages(ecs.list_clusters, "clusterArns", maxResults=5) == (expected, [5] * 5)
    # Changes between two pages move no other entry.
    first = ecs.list_clusters(maxResults=10)
    ecs.delete_cluster(cluster=first["clusterArns"][-1])
    ecs.create_cluster(clusterName="list-00")
    rest = ecs.list_clusters(nextToken=first["nextToken"])
    assert rest["clusterArns"] == expected[10:] and "nextToken" not in rest
    pages = ecs.get_paginator("list_clusters").paginate(PaginationConfig={"PageSize": 7})
    assert len([arn_ for page in pages for arn_ in page["clusterArns"]]) == 25
    for wrong in (0, 101, -1):
        refused(ecs.list_clusters, "InvalidParameterException", "maxResults", maxResults=wrong)
    refused(ecs.list_clusters, "InvalidParameterException", "nextToken", nextToken="made-up")


def test_regions_are_apart(slipway, ecs):
    elsewhere = slipway.boto("ecs", region="ap-south-1")
    ecs.create_cluster(clusterName="here")
    assert elsewhere.describe_clusters(clusters=["here"])["clusters"] == []
    assert elsewhere.list_clusters()["clusterArns"] == []
    refused(elsewhere.update_cluster_settings, "InvalidParameterException", "ap-south-1",
            cluster=arn("cluster/here"),
            settings=[{"name": "containerInsights", "value": "enabled"}])


def test_update_changes_what_is_given_alone(ecs):
    ecs.create_cluster(clusterName="change", tags=[{"key": "k", "value": "v"}],
                       capacityProviders=["FARGATE"])
    updated = ecs.update_cluster(cluster="change", configuration=CONFIGURATION)["cluster"]
    assert updated["configuration"] == CONFIGURATION
    assert updated["settings"] == [{"name": "containerInsights", "value": "disabled"}]
    updated = ecs.update_cluster(cluster=arn("cluster/change"), settings=[
        {"name": "containerInsights", "value": "enhanced"}])["cluster"]
    assert updated["configuration"] == CONFIGURATION
    assert updated["settings"] == [{"name": "containerInsights", "value": "enhanced"}]
    assert updated["capacityProviders"] == ["FARGATE"]
    settings = [{"name": "containerInsights", "value": "enabled"}]
    assert ecs.update_cluster_settings(cluster="change", settings=settings)["cluster"][
        "settings"] == settings
    shown = described(ecs, "change", "SETTINGS", "CONFIGURATIONS", "TAGS")
    assert shown["settings"] == settings and shown["configuration"] == CONFIGURATION
    assert shown["tags"] == [{"key": "k", "value": "v"}]


def test_update_refuses(ecs):
    ecs.create_cluster(clusterName="firm")
    before = described(ecs, "firm", "SETTINGS", "CONFIGURATIONS")
    settings = [{"name": "containerInsights", "value": "enabled"}]
    bad = [{"name": "containerInsights", "value": "loud"}]
    for call, wanted in ((ecs.update_cluster, {"configuration": CONFIGURATION}),
                         (ecs.update_cluster_settings, {"settings": settings})):
        refused(call, "ClusterNotFoundException", "Cluster not found", cluster="absent", **wanted)
        refused(call, "InvalidParameterException", "settings", cluster="firm",
                **{**wanted, "settings": bad})
    refused(ecs.update_cluster_settings, "InvalidParameterException", "settings", cluster="firm",
            settings=[])
    refused(ecs.update_cluster, "InvalidParameterException", "is not the ARN of a cluster",
            cluster=arn("service/firm"), settings=settings)
    assert described(ecs, "firm", "SETTINGS", "CONFIGURATIONS") == before


def test_delete_leaves_an_inactive_cluster_that_can_begin_anew(ecs):
    ecs.create_cluster(clusterName="gone", tags=[{"key": "k", "value": "v"}],
                       capacityProviders=["FARGATE"])
    deleted = ecs.delete_cluster(cluster=arn("cluster/gone"))["cluster"]
    assert deleted["status"] == "INACTIVE"
    assert described(ecs, "gone")["status"] == "INACTIVE"
    assert arn("cluster/gone") not in all_pages(ecs.list_clusters, "clusterArns")[0]
    # As in ECS, deleting it again is no error, and nothing else works with it.
    assert ecs.delete_cluster(cluster="gone")["cluster"]["status"] == "INACTIVE"
    refused(ecs.update_cluster_settings, "ClusterNotFoundException", "Cluster not found",
            cluster="gone", settings=[{"name": "containerInsights", "value": "enabled"}])
    refused(ecs.list_container_instances, "ClusterNotFoundException", "Cluster not found",
            cluster="gone")
    refused(ecs.tag_resource, "InvalidParameterException", "inactive",
            resourceArn=arn("cluster/gone"), tags=[{"key": "a", "value": "b"}])
    anew = ecs.create_cluster(clusterName="gone")["cluster"]
    assert anew["status"] == "ACTIVE" and anew["tags"] == [] and anew["capacityProviders"] == []


def test_delete_refuses(ecs):
    refused(ecs.delete_cluster, "ClusterNotFoundException", "Cluster not found", cluster="absent")
    refused(ecs.delete_cluster, "InvalidParameterException", "cluster", cluster="")
    ecs.create_cluster(clusterName="busy")
    instance = ecs.register_container_instance(cluster="busy")["containerInstance"]
    assert described(ecs, "busy")["registeredContainerInstancesCount"] == 1
    refused(ecs.delete_cluster, "ClusterContainsContainerInstancesException",
            "Container Instances are active", cluster="busy")
    ecs.deregister_container_instance(cluster="busy",
                                      containerInstance=instance["containerInstanceArn"])
    assert ecs.delete_cluster(cluster="busy")["cluster"]["status"] == "INACTIVE"


def test_clusters_survive_a_restart(start_slipway):
    server = start_slipway()
    ecs = server.boto("ecs")
    ecs.create_cluster(clusterName="kept", tags=[{"key": "k", "value": "v"}])
    ecs.create_cluster(clusterName="gone")
    ecs.delete_cluster(cluster="gone")
    before = ecs.describe_clusters(clusters=["kept", "gone"], include=["TAGS", "SETTINGS"])
    server.kill()
    ecs = start_slipway(state=server.state).boto("ecs")
    after = ecs.describe_clusters(clusters=["kept", "gone"], include=["TAGS", "SETTINGS"])
    assert after["clusters"] == before["clusters"]
    wait_until(lambda: ecs.list_clusters()["clusterArns"] == [arn("cluster/kept")],
               "the list shows the active cluster")


def test_aws_cli(slipway):
    def aws(*args):
        return slipway.aws("ecs", *args).json

    assert aws("create-cluster", "--cluster-name", "cli", "--settings",
               "name=containerInsights,value=enabled", "--tags", "key=a,value=b")[
                   "cluster"]["status"] == "ACTIVE"
    cli_refused(slipway, "InvalidParameterException", "clusterName", "create-cluster",
                "--cluster-name", "no spaces")
    shown = aws("describe-clusters", "--clusters", "cli", "absent", "--include", "TAGS")
    assert shown["clusters"][0]["tags"] == [{"key": "a", "value": "b"}]
    assert shown["failures"] == [{"arn": arn("cluster/absent"), "reason": "MISSING"}]
    cli_refused(slipway, "InvalidParameterException", "include", "describe-clusters", "--include",
                "WEATHER")
    # The aws command follows the tokens by itself.
    assert arn("cluster/cli") in aws("list-clusters", "--page-size", "2")["clusterArns"]
    cli_refused(slipway, "InvalidParameterException", "maxResults", "list-clusters", "--page-size",
                "1000")
    assert aws("update-cluster", "--cluster", "cli", "--configuration",
               json.dumps({"executeCommandConfiguration": {"logging": "NONE"}}))[
                   "cluster"]["configuration"] == {
                       "executeCommandConfiguration": {"logging": "NONE"}}
    cli_refused(slipway, "ClusterNotFoundException", "Cluster not found", "update-cluster",
                "--cluster", "absent")
    assert aws("update-cluster-settings", "--cluster", "cli", "--settings",
               "name=containerInsights,value=disabled")["cluster"]["settings"] == [
                   {"name": "containerInsights", "value": "disabled"}]
    cli_refused(slipway, "InvalidParameterException", "enhanced", "update-cluster-settings",
                "--cluster", "cli", "--settings", "name=containerInsights,value=loud")
    assert aws("delete-cluster", "--cluster", "cli")["cluster"]["status"] == "INACTIVE"
    cli_refused(slipway, "ClusterNotFoundException", "Cluster not found", "delete-cluster",
                "--cluster", "absent")
