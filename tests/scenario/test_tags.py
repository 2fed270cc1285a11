"""Tags of everything that can have them: TagResource, UntagResource, ListTagsForResource."""
import json
import subprocess

import pytest

from conftest import DEADLINE, slipway_program
from ecs_requests import ACCOUNT, arn, cli_refused, container, refused, send_refused
from test_capacity_providers import GROUP

SERVER_ARGUMENTS = ["--runtime", "none"]


@pytest.fixture(scope="module")
def ecs(slipway):
    return slipway.boto("ecs")


def make_cluster(ecs, tags):
    return ecs.create_cluster(clusterName="tagged", tags=tags)["cluster"]["clusterArn"]


def make_task_definition(ecs, tags):
    return ecs.register_task_definition(family="tagged", containerDefinitions=[container()],
                                        tags=tags)["taskDefinition"]["taskDefinitionArn"]


def make_capacity_provider(ecs, tags):
    return ecs.create_capacity_provider(
        name="tagged", autoScalingGroupProvider={"autoScalingGroupArn": GROUP},
        tags=tags)["capacityProvider"]["capacityProviderArn"]


def make_container_instance(ecs, tags):
    ecs.create_cluster(clusterName="instances")
    return ecs.register_container_instance(cluster="instances", tags=tags)[
        "containerInstance"]["containerInstanceArn"]


@pytest.mark.parametrize("make", [make_cluster, make_task_definition, make_capacity_provider,
                                  make_container_instance])
def test_the_life_of_tags(ecs, make):
    def tags():
        return ecs.list_tags_for_resource(resourceArn=resource)["tags"]

    resource = make(ecs, [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}])
    assert tags() == [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}]
    ecs.tag_resource(resourceArn=resource, tags=[{"key": "b", "value": "3"}, {"key": "c"},
                                                 {"key": "é/_.:=+-@ ", "value": "ü"}])
    assert tags() == [{"key": "a", "value": "1"}, {"key": "b", "value": "3"},
                      {"key": "c", "value": ""}, {"key": "é/_.:=+-@ ", "value": "ü"}]
    ecs.untag_resource(resourceArn=resource, tagKeys=["a", "c", "absent"])
    assert tags() == [{"key": "b", "value": "3"}, {"key": "é/_.:=+-@ ", "value": "ü"}]
    before = tags()
    refused(ecs.tag_resource, "InvalidParameterException", "aws:", resourceArn=resource,
            tags=[{"key": "good", "value": "1"}, {"key": "aws:bad", "value": "1"}])
    assert tags() == before


def test_tags_are_in_descriptions(ecs):
    ecs.create_cluster(clusterName="seen")
    ecs.tag_resource(resourceArn=arn("cluster/seen"), tags=[{"key": "k", "value": "v"}])
    shown = ecs.describe_clusters(clusters=["seen"], include=["TAGS"])["clusters"][0]
    assert shown["tags"] == [{"key": "k", "value": "v"}]
    ecs.register_task_definition(family="seen", containerDefinitions=[container()])
    before = ecs.describe_task_definition(taskDefinition="seen")["taskDefinition"]
    ecs.tag_resource(resourceArn=arn("task-definition/seen:1"), tags=[{"key": "k", "value": "v"}])
    answer = ecs.describe_task_definition(taskDefinition="seen", include=["TAGS"])
    assert answer["tags"] == [{"key": "k", "value": "v"}]
    assert answer["taskDefinition"] == before
    # They stay when the revision is deregistered.
    ecs.deregister_task_definition(taskDefinition="seen:1")
    assert ecs.list_tags_for_resource(resourceArn=arn("task-definition/seen:1"))["tags"] == [
        {"key": "k", "value": "v"}]


def many(count, start=0):
    return [{"key": f"k{i}", "value": "v"} for i in range(start, start + count)]


def test_fifty_tags_and_no_more(slipway, ecs):
    ecs.create_cluster(clusterName="many", tags=many(50))
    # Changing one of fifty is no new one.
    ecs.tag_resource(resourceArn=arn("cluster/many"), tags=[{"key": "k0", "value": "new"}])
    send_refused(slipway, "TagResource", {"resourceArn": arn("cluster/many"),
                                          "tags": many(1, 50)}, "InvalidParameterException", "50")
    send_refused(slipway, "TagResource", {"resourceArn": arn("cluster/many"),
                                          "tags": many(51)}, "InvalidParameterException", "50")
    ecs.untag_resource(resourceArn=arn("cluster/many"), tagKeys=["k1"])
    ecs.tag_resource(resourceArn=arn("cluster/many"), tags=many(1, 50))
    tags = ecs.list_tags_for_resource(resourceArn=arn("cluster/many"))["tags"]
    assert len(tags) == 50 and tags[0] == {"key": "k0", "value": "new"}


@pytest.mark.parametrize("tags, parts", [
    ([{"key": "", "value": "v"}], ["key"]),
    ([{"value": "v"}], ["key"]),
    ([{"key": "k" * 129, "value": "v"}], ["128"]),
    ([{"key": "k", "value": "v" * 257}], ["256"]),
    ([{"key": "aws:k", "value": "v"}], ["aws:"]),
    ([{"key": "AWS:k", "value": "v"}], ["AWS:"]),
    ([{"key": "Aws:k", "value": "v"}], ["Aws:"]),
    ([{"key": "k", "value": "1"}, {"key": "k", "value": "2"}], ["k", "twice"]),
])
def test_refused_tags(slipway, ecs, tags, parts):
    ecs.create_cluster(clusterName="clean")
    send_refused(slipway, "TagResource", {"resourceArn": arn("cluster/clean"), "tags": tags},
                 "InvalidParameterException", *parts)
    assert ecs.list_tags_for_resource(resourceArn=arn("cluster/clean"))["tags"] == []


def test_lengths_are_counted_in_characters(ecs):
    ecs.create_cluster(clusterName="long")
    tags = [{"key": "é" * 128, "value": "ü" * 256}]
    ecs.tag_resource(resourceArn=arn("cluster/long"), tags=tags)
    assert ecs.list_tags_for_resource(resourceArn=arn("cluster/long"))["tags"] == tags


@pytest.mark.parametrize("resource, code, part", [
    (arn("cluster/absent"), "ClusterNotFoundException", "Cluster not found"),
    (arn("task-definition/absent:1"), "ResourceNotFoundException", "not found"),
    (arn("task-definition/absent"), "ResourceNotFoundException", "not found"),
    (arn("capacity-provider/absent"), "ResourceNotFoundException", "not found"),
    (arn("capacity-provider/FARGATE"), "ResourceNotFoundException", "not found"),
    (arn("container-instance/a/b"), "ResourceNotFoundException", "not found"),
    (arn("weather/b"), "InvalidParameterException", "resourceArn"),
    ("tagged", "InvalidParameterException", "resourceArn"),
    ("", "InvalidParameterException", "resourceArn"),
    (f"arn:aws:s3:::{ACCOUNT}", "InvalidParameterException", "resourceArn"),
    (arn("cluster/clean", region="eu-west-1"), "InvalidParameterException", "eu-west-1"),
    (arn("cluster/clean", account="210987654321"), "InvalidParameterException", "account"),
    (arn("cluster/clean").replace("arn:aws:", "arn:aws-cn:"), "InvalidParameterException",
     "resourceArn"),
    (arn("cluster/clean\0"), "InvalidParameterException", "resourceArn"),
])
def test_resources_that_are_not_there(ecs, resource, code, part):
    ecs.create_cluster(clusterName="clean")
    refused(ecs.tag_resource, code, part, resourceArn=resource,
            tags=[{"key": "k", "value": "v"}])
    refused(ecs.untag_resource, code, part, resourceArn=resource, tagKeys=["k"])
    # The model has no ResourceNotFoundException for this one.
    if code == "ResourceNotFoundException":
        code = "InvalidParameterException"
    refused(ecs.list_tags_for_resource, code, part, resourceArn=resource)


def make_key(slipway, folder, policy):
    path = folder / "policy.json"
    path.write_text(json.dumps(policy))
    made = subprocess.run(
        [slipway_program(), "key", "create", "-o", "json", "--user", "limited", "--policy", path,
         "--server", slipway.url, "--state", slipway.state],
        capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


def test_policies_see_through_other_spellings_of_an_arn(slipway, ecs, tmp_path):
    """A Deny for one resource holds for every way to name it."""
    ecs.create_cluster(clusterName="guarded")
    ecs.register_task_definition(family="guarded", containerDefinitions=[container()])
    policy = {"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "*", "Resource": "*"},
        {"Effect": "Deny", "Action": "*", "Resource": [
            arn("cluster/guarded"), arn("task-definition/guarded:*"),
            arn("capacity-provider/FARGATE"), arn("container-instance/guarded/*")]}]}
    limited = slipway.boto("ecs", key=make_key(slipway, tmp_path, policy))
    limited.describe_clusters(clusters=["default"])
    for name in ("guarded", arn("task-definition/guarded"), "guarded:1",
                 arn("task-definition/guarded:1")):
        refused(limited.describe_task_definition, "AccessDeniedException", "guarded",
                taskDefinition=name)
    for resource in (arn("cluster/guarded"), arn("task-definition/guarded:1")):
        refused(limited.list_tags_for_resource, "AccessDeniedException", "guarded",
                resourceArn=resource)
    for name in ("FARGATE", arn("capacity-provider/FARGATE")):
        refused(limited.describe_capacity_providers, "AccessDeniedException", "FARGATE",
                capacityProviders=["FARGATE_SPOT", name])
    limited.describe_capacity_providers(capacityProviders=["FARGATE_SPOT"])
    for name in ("a" * 32, arn("container-instance/guarded/" + "a" * 32)):
        for cluster in ("guarded", arn("cluster/guarded")):
            refused(limited.describe_container_instances, "AccessDeniedException",
                    "container-instance/guarded/", cluster=cluster, containerInstances=[name])
    for name in ("guarded", arn("cluster/guarded")):
        refused(limited.delete_cluster, "AccessDeniedException", "guarded", cluster=name)


def test_aws_cli(slipway):
    def aws(*args):
        return slipway.aws("ecs", *args)

    aws("create-cluster", "--cluster-name", "cli")
    aws("tag-resource", "--resource-arn", arn("cluster/cli"), "--tags", "key=a,value=b",
        "key=c,value=d")
    cli_refused(slipway, "InvalidParameterException", "aws:", "tag-resource", "--resource-arn",
                arn("cluster/cli"), "--tags", "key=aws:a,value=b")
    aws("untag-resource", "--resource-arn", arn("cluster/cli"), "--tag-keys", "a")
    cli_refused(slipway, "ResourceNotFoundException", "not found", "untag-resource",
                "--resource-arn", arn("task-definition/absent:1"), "--tag-keys", "a")
    assert aws("list-tags-for-resource", "--resource-arn", arn("cluster/cli")).json["tags"] == [
        {"key": "c", "value": "d"}]
    cli_refused(slipway, "ClusterNotFoundException", "Cluster not found", "list-tags-for-resource",
                "--resource-arn", arn("cluster/absent"))
