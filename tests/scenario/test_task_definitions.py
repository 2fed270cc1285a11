"""Task definitions: register, describe, list, deregister, delete; revisions and families."""
import datetime
import json
import os
import subprocess

import pytest

from conftest import DEADLINE, slipway_program, wait_until
from ecs_requests import all_pages, arn, cli_refused, container, refused, send

SERVER_ARGUMENTS = ["--runtime", "none"]


@pytest.fixture(scope="module")
def ecs(slipway):
    return slipway.boto("ecs")


def register(ecs, family, **members):
    return ecs.register_task_definition(
        family=family, **{"containerDefinitions": [container()], **members})["taskDefinition"]


def delete(slipway, *names, region="us-east-1"):
    """Debian's botocore does not know DeleteTaskDefinitions."""
    answer = send(slipway, "DeleteTaskDefinitions", {"taskDefinitions": list(names)}, region=region)
    assert answer.status == 200, answer.text
    return answer.json


# ---- every field ----

class Filler:
    """Makes a value with every member of a structure of the newest model."""

    def __init__(self, tables):
        self.structures = tables["structures"]
        self.enums = tables["enums"]

    def value(self, kind, name="x"):
        if kind["type"] == "structure":
            members = self.structures[kind["structure"]]["members"]
            return {member: self.value(description["value"], member)
                    for member, description in members.items()}
        if kind["type"] == "list":
            return [self.value(kind["element"], name)]
        if kind["type"] == "map":
            return {name + "-key": self.value(kind["element"], name), "other é": "\"\\\u2028"}
        if kind["type"] == "boolean":
            return True
        if kind["type"] in ("integer", "long"):
            return max(kind.get("min", 7), 7)
        if "enum" in kind:
            return self.enums[kind["enum"]][0]
        assert kind["type"] == "string", kind
        return name + "-text"

    def structure(self, name):
        return self.value({"type": "structure", "structure": name})

    def paths(self, kind, path=""):
        """Every member that could be given."""
        if kind["type"] == "structure":
            found = set()
            for member, description in self.structures[kind["structure"]]["members"].items():
                found |= {f"{path}.{member}"}
                found |= self.paths(description["value"], f"{path}.{member}")
            return found
        if kind["type"] == "list":
            return self.paths(kind["element"], path)
        return set()


def paths_of(value, path=""):
    if isinstance(value, dict):
        found = set()
        for member, inner in value.items():
            found |= {f"{path}.{member}"} | paths_of(inner, f"{path}.{member}")
        return found
    if isinstance(value, list):
        return set().union(*(paths_of(item, path) for item in value))
    return set()


def assert_comes_back(given, answered, path=""):
    """Every member that was given is there with the same value; objects may have defaults more."""
    if isinstance(given, dict):
        for member, value in given.items():
            assert member in answered, f"{path}.{member} did not come back"
            assert_comes_back(value, answered[member], f"{path}.{member}")
    elif isinstance(given, list):
        assert len(given) == len(answered), path
        for i, item in enumerate(given):
            assert_comes_back(item, answered[i], f"{path}[{i}]")
    else:
        assert given == answered and isinstance(given, type(answered)), path


@pytest.fixture(scope="module")
def filler():
    program = os.path.join(os.path.dirname(slipway_program()), "print-shapes")
    tables = json.loads(subprocess.run([program, "ecs"], check=True, capture_output=True,
                                       timeout=DEADLINE).stdout)
    return Filler(tables)


def on_instances(filler):
    """Everything that a task on an instance can have; what awsvpc alone allows is left out."""
    main = filler.structure("ContainerDefinition")
    main.update({
        "name": "main", "image": "registry.example.com/team/app:1.2@sha256:" + "0" * 64,
        "memory": 128, "memoryReservation": 64, "links": ["side:alias"], "cpu": 128,
        "dependsOn": [{"containerName": "init", "condition": "SUCCESS"}],
        "mountPoints": [{"sourceVolume": "host", "containerPath": "/data", "readOnly": True}],
        "volumesFrom": [{"sourceContainer": "side", "readOnly": True}],
        "healthCheck": {"command": ["CMD-SHELL", "exit 0"], "interval": 6, "timeout": 3,
                        "retries": 2, "startPeriod": 1},
        "resourceRequirements": [{"type": "GPU", "value": "1"},
                                 filler.structure("ResourceRequirement")],
        "secrets": [{"name": "SECRET",
                     "valueFrom": "arn:aws:ssm:us-east-1:123456789012:parameter/s"}],
        "portMappings": [
            {"name": "web", "containerPort": 80, "hostPort": 8080, "protocol": "udp",
             "appProtocol": "http"},
            {"containerPortRange": "9000-9010", "protocol": "tcp"}],
    })
    main.pop("firelensConfiguration")
    request = filler.structure("RegisterTaskDefinitionRequest")
    request.pop("proxyConfiguration")
    sources = ["host", "efsVolumeConfiguration", "dockerVolumeConfiguration",
               "s3filesVolumeConfiguration", "fsxWindowsFileServerVolumeConfiguration"]
    volume = filler.structure("Volume")
    volume["efsVolumeConfiguration"]["transitEncryption"] = "ENABLED"
    volume["efsVolumeConfiguration"]["rootDirectory"] = "/"
    volume["dockerVolumeConfiguration"]["scope"] = "shared"
    request.update({
        "family": "every-field", "networkMode": "bridge", "cpu": "1024", "memory": "2048",
        "requiresCompatibilities": ["EC2", "EXTERNAL"],
        "containerDefinitions": [
            main,
            container(name="init", essential=False),
            container(name="side",
                      firelensConfiguration=filler.structure("FirelensConfiguration"))],
        "volumes": [{"name": source.removesuffix("VolumeConfiguration"),
                     source: volume[source]} for source in sources] +
                   [{"name": "later", "configuredAtLaunch": True}],
    })
    return request


def on_fargate(filler):
    proxy = filler.structure("ProxyConfiguration")
    proxy["containerName"] = "envoy"
    return {
        "family": "every-field", "networkMode": "awsvpc", "cpu": "256", "memory": "512",
        "requiresCompatibilities": ["FARGATE"], "proxyConfiguration": proxy,
        "executionRoleArn": "arn:aws:iam::123456789012:role/execution",
        "containerDefinitions": [
            container(portMappings=[{"containerPort": 80}]), container(name="envoy", memory=32)],
        "pidMode": "task", "ephemeralStorage": {"sizeInGiB": 21},
        "runtimePlatform": {"cpuArchitecture": "ARM64", "operatingSystemFamily": "LINUX"},
    }


def test_every_field_comes_back(slipway, filler):
    possible = filler.paths({"type": "structure", "structure": "RegisterTaskDefinitionRequest"})
    requests = [on_instances(filler), on_fargate(filler)]
    left_out = possible - set().union(*(paths_of(request) for request in requests))
    assert not left_out, f"this test gives no {sorted(left_out)}"
    for request in requests:
        answer = send(slipway, "RegisterTaskDefinition", request)
        assert answer.status == 200, answer.text
        tags = request.pop("tags", [])
        registered = answer.json["taskDefinition"]
        assert_comes_back(request, registered)
        assert answer.json.get("tags", []) == tags
        shown = send(slipway, "DescribeTaskDefinition", {
            "taskDefinition": registered["taskDefinitionArn"], "include": ["TAGS"]}).json
        assert shown["taskDefinition"] == registered
        assert shown["tags"] == tags


def test_a_definition_that_was_described_can_be_registered(ecs, slipway, filler):
    """Deploy tools send back what DescribeTaskDefinition said, some with the read-only members."""
    for request in (on_instances(filler), on_fargate(filler)):
        request["family"] = "sent-back"
        first = send(slipway, "RegisterTaskDefinition", request).json["taskDefinition"]
        answer = send(slipway, "RegisterTaskDefinition", first)
        assert answer.status == 200, answer.text
        second = answer.json["taskDefinition"]
        assert second["revision"] == first["revision"] + 1
        own = ("revision", "taskDefinitionArn", "registeredAt")
        assert {key: value for key, value in second.items() if key not in own} == \
               {key: value for key, value in first.items() if key not in own}
    newest = ecs.describe_task_definition(taskDefinition="sent-back")["taskDefinition"]
    assert newest["revision"] == 4


def test_defaults(ecs):
    before = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=5)
    definition = register(ecs, "defaults", containerDefinitions=[container(
        portMappings=[{"containerPort": 80}],
        healthCheck={"command": ["CMD-SHELL", "exit 0"]})])
    assert definition["taskDefinitionArn"] == arn("task-definition/defaults:1")
    assert definition["revision"] == 1 and definition["status"] == "ACTIVE"
    assert definition["family"] == "defaults"
    assert definition["compatibilities"] == ["EXTERNAL", "EC2"]
    assert definition["volumes"] == [] and definition["placementConstraints"] == []
    assert definition["registeredBy"] == "arn:aws:iam::123456789012:user/admin"
    assert before < definition["registeredAt"]
    assert "networkMode" not in definition and "cpu" not in definition
    assert {"name": "ecs.capability.container-health-check"} in definition["requiresAttributes"]
    assert definition["containerDefinitions"] == [{
        "name": "app", "image": "busybox", "memory": 64, "cpu": 0, "essential": True,
        "portMappings": [{"containerPort": 80, "hostPort": 0, "protocol": "tcp"}],
        "healthCheck": {"command": ["CMD-SHELL", "exit 0"], "interval": 30, "timeout": 5,
                        "retries": 3},
        "environment": [], "mountPoints": [], "volumesFrom": [], "systemControls": []}]


def test_sizes_in_other_units_come_back_in_units(ecs):
    for cpu, memory, units, mib in ((".5 vCPU", "1 GB", "512", "1024"), ("1 vcpu", "2GB", "1024",
                                    "2048"), ("0.25vCPU", "0.5 gb", "256", "512")):
        definition = register(ecs, "units", cpu=cpu, memory=memory, networkMode="awsvpc",
                              requiresCompatibilities=["FARGATE"],
                              containerDefinitions=[{"name": "app", "image": "busybox"}])
        assert (definition["cpu"], definition["memory"]) == (units, mib)
        assert definition["compatibilities"] == ["EC2", "FARGATE"]


def test_ports_in_awsvpc_are_the_same_on_both_sides(ecs):
    definition = register(ecs, "ports", networkMode="awsvpc", containerDefinitions=[container(
        portMappings=[{"containerPort": 80}, {"containerPort": 81, "hostPort": 81}])])
    assert [mapping["hostPort"] for mapping in
            definition["containerDefinitions"][0]["portMappings"]] == [80, 81]


# ---- finding ----

def test_ways_to_name_a_definition(ecs):
    for _ in range(3):
        register(ecs, "named")
    for name, revision in (("named", 3), ("named:2", 2), (arn("task-definition/named:1"), 1),
                           (arn("task-definition/named"), 3)):
        found = ecs.describe_task_definition(taskDefinition=name)["taskDefinition"]
        assert found["revision"] == revision
    for name in ("absent", "named:4", "named:0", "named:", "named:x", "named:1:1", "named:01x", "",
                 ":1", "named\0", "named:1\0", arn("task-definition/named:9"),
                 arn("cluster/named"), arn("task-definition/named:1", region="eu-west-1"),
                 arn("task-definition/named:1", account="210987654321"),
                 "named:99999999999999999999",
                 "n" * 2000):
        refused(ecs.describe_task_definition, "ClientException",
                "Unable to describe task definition.", taskDefinition=name)


def test_tags_are_shown_when_asked_for(ecs):
    tags = [{"key": "a", "value": "1"}]
    answer = ecs.register_task_definition(family="tagged", containerDefinitions=[container()],
                                          tags=tags)
    assert answer["tags"] == tags
    assert ecs.describe_task_definition(taskDefinition="tagged").get("tags", []) == []
    assert ecs.describe_task_definition(taskDefinition="tagged", include=["TAGS"])["tags"] == tags


# ---- the life of a revision ----

def test_deregister_and_delete(slipway, ecs):
    for _ in range(3):
        register(ecs, "life")
    refused(ecs.deregister_task_definition, "ClientException", "Revision is missing.", taskDefinition="life")
    refused(ecs.deregister_task_definition, "ClientException", "Revision is missing.",
            taskDefinition=arn("task-definition/life"))
    refused(ecs.deregister_task_definition, "ClientException", "does not exist",
            taskDefinition="life:9")
    refused(ecs.deregister_task_definition, "InvalidParameterException", "not the ARN",
            taskDefinition=arn("cluster/life"))
    gone = ecs.deregister_task_definition(taskDefinition="life:3")["taskDefinition"]
    assert gone["status"] == "INACTIVE" and gone["registeredAt"] <= gone["deregisteredAt"]
    # Once more changes nothing.
    assert ecs.deregister_task_definition(
        taskDefinition=arn("task-definition/life:3"))["taskDefinition"] == gone
    assert ecs.describe_task_definition(taskDefinition="life:3")["taskDefinition"] == gone
    # The family means its newest ACTIVE revision, and numbers go on.
    assert ecs.describe_task_definition(taskDefinition="life")["taskDefinition"]["revision"] == 2
    assert register(ecs, "life")["revision"] == 4

    answer = delete(slipway, "life:3", "life:2", "life:9", "absent:1", "life",
                    arn("cluster/life"))
    assert [one["taskDefinitionArn"] for one in answer["taskDefinitions"]] == [
        arn("task-definition/life:3")]
    assert answer["taskDefinitions"][0]["status"] == "DELETE_IN_PROGRESS"
    assert answer["taskDefinitions"][0]["deleteRequestedAt"] > 0
    reasons = {failure["arn"]: failure["reason"] for failure in answer["failures"]}
    assert "ACTIVE" in reasons["life:2"]
    for name in ("life:9", "absent:1", "life", arn("cluster/life")):
        assert "does not exist" in reasons[name]

    def is_gone():
        return not any(ecs.list_task_definitions(familyPrefix="life", status=status)[
            "taskDefinitionArns"] for status in ("INACTIVE", "DELETE_IN_PROGRESS"))

    wait_until(is_gone, "the deleted revision goes")
    refused(ecs.deregister_task_definition, "ClientException", "does not exist",
            taskDefinition="life:3")
    # A number is never used again, whatever was deleted.
    for revision in (1, 2, 4):
        ecs.deregister_task_definition(taskDefinition=f"life:{revision}")
    delete(slipway, "life:1", "life:2", "life:4")
    refused(ecs.describe_task_definition, "ClientException", taskDefinition="life")
    assert register(ecs, "life")["revision"] == 5


def test_delete_the_same_twice_in_one_request(slipway, ecs):
    register(ecs, "same")
    ecs.deregister_task_definition(taskDefinition="same:1")
    answer = delete(slipway, "same:1", arn("task-definition/same:1"))
    assert {one["status"] for one in answer["taskDefinitions"]} == {"DELETE_IN_PROGRESS"}
    assert answer["failures"] == []


def test_delete_refuses(slipway):
    for body, part in (({"taskDefinitions": []}, "1 to 10"), ({}, "taskDefinitions"),
                       ({"taskDefinitions": ["a:1"] * 11}, "10")):
        answer = send(slipway, "DeleteTaskDefinitions", body)
        assert answer.status == 400
        assert answer.json["__type"] == "InvalidParameterException"
        assert part in answer.json["message"]


def test_revisions_and_numbers_survive_a_restart(start_slipway):
    server = start_slipway()
    ecs = server.boto("ecs")
    register(ecs, "kept")
    register(ecs, "kept")
    ecs.deregister_task_definition(taskDefinition="kept:2")
    before = ecs.describe_task_definition(taskDefinition="kept:2")["taskDefinition"]
    server.kill()
    ecs = start_slipway(state=server.state).boto("ecs")
    assert ecs.describe_task_definition(taskDefinition="kept:2")["taskDefinition"] == before
    assert ecs.describe_task_definition(taskDefinition="kept")["taskDefinition"]["revision"] == 1
    assert register(ecs, "kept")["revision"] == 3


# ---- lists ----

LIST_REGION = "eu-central-1"


@pytest.fixture(scope="module")
def listed(slipway):
    """Families a, a-b, a_b, ab with twelve revisions each, of which 2 and 5 are INACTIVE; "old" has
    INACTIVE ones only, "dead" none at all."""
    ecs = slipway.boto("ecs", region=LIST_REGION)
    for family in ("a", "a-b", "a_b", "ab"):
        for _ in range(12):
            register(ecs, family)
        for revision in (5, 2):
            ecs.deregister_task_definition(taskDefinition=f"{family}:{revision}")
    for family in ("old", "dead"):
        register(ecs, family)
        ecs.deregister_task_definition(taskDefinition=f"{family}:1")
    delete(slipway, "dead:1", region=LIST_REGION)
    wait_until(lambda: ecs.list_task_definitions(familyPrefix="dead", status="DELETE_IN_PROGRESS")[
        "taskDefinitionArns"] == [], "the deleted revision goes")
    return ecs


def names_of(arns):
    prefix = arn("task-definition/", region=LIST_REGION)
    assert all(one.startswith(prefix) for one in arns)
    return [one[len(prefix):] for one in arns]


ACTIVE = [revision for revision in range(1, 13) if revision not in (2, 5)]


def test_list_order_and_filters(listed):
    def listing(**filters):
        return names_of(all_pages(listed.list_task_definitions, "taskDefinitionArns",
                                  **filters)[0])

    # By family in the order of characters, then by number.
    everything = [f"{family}:{revision}" for family in ("a", "a-b", "a_b", "ab")
                  for revision in ACTIVE]
    assert listing() == everything
    assert listing(sort="ASC", status="ACTIVE") == everything
    assert listing(sort="DESC") == everything[::-1]
    # familyPrefix is the whole name of a family here.
    assert listing(familyPrefix="a") == [f"a:{revision}" for revision in ACTIVE]
    assert listing(familyPrefix="a", sort="DESC") == [f"a:{revision}" for revision in ACTIVE][::-1]
    assert listing(familyPrefix="absent") == []
    assert listing(familyPrefix="a\0b") == []
    assert listing(familyPrefix="old", status="INACTIVE") == ["old:1"]
    assert listing(familyPrefix="a", status="INACTIVE") == ["a:2", "a:5"]
    assert listing(status="DELETE_IN_PROGRESS") == []


def test_list_pages(listed):
    for filters in ({}, {"sort": "DESC"}, {"familyPrefix": "a_b"}, {"status": "INACTIVE"}):
        whole, _ = all_pages(listed.list_task_definitions, "taskDefinitionArns", **filters)
        for size in (1, 3, 10, 100):
            pages, sizes = all_pages(listed.list_task_definitions, "taskDefinitionArns",
                                     maxResults=size, **filters)
            assert pages == whole
            assert set(sizes[:-1]) <= {size} and 0 < sizes[-1] <= size
    for wrong in (0, 101):
        refused(listed.list_task_definitions, "InvalidParameterException", "maxResults",
                maxResults=wrong)
    token = listed.list_task_definitions(maxResults=1)["nextToken"]
    for other in ({"sort": "DESC"}, {"status": "INACTIVE"}, {"familyPrefix": "a"}):
        refused(listed.list_task_definitions, "InvalidParameterException", "nextToken",
                nextToken=token, **other)
    for wrong in ({"status": "SLEEPING"}, {"sort": "UP"}):
        refused(listed.list_task_definitions, "InvalidParameterException", list(wrong)[0], **wrong)


def test_families(listed):
    def families(**filters):
        return all_pages(listed.list_task_definition_families, "families", **filters)[0]

    for size in ({}, {"maxResults": 1}, {"maxResults": 2}, {"maxResults": 3}, {"maxResults": 4},
                 {"maxResults": 5}):
        assert families(**size) == ["a", "a-b", "a_b", "ab", "old"]
        assert families(status="ALL", **size) == ["a", "a-b", "a_b", "ab", "old"]
        assert families(status="ACTIVE", **size) == ["a", "a-b", "a_b", "ab"]
        assert families(status="INACTIVE", **size) == ["old"]
        assert families(familyPrefix="a", **size) == ["a", "a-b", "a_b", "ab"]
        assert families(familyPrefix="a-", **size) == ["a-b"]
        assert families(familyPrefix="b", **size) == []
        assert families(familyPrefix="o", status="ACTIVE", **size) == []
    for wrong in (0, 101):
        refused(listed.list_task_definition_families, "InvalidParameterException", "maxResults",
                maxResults=wrong)
    refused(listed.list_task_definition_families, "InvalidParameterException", "status",
            status="DELETE_IN_PROGRESS")
    token = listed.list_task_definition_families(maxResults=1)["nextToken"]
    refused(listed.list_task_definition_families, "InvalidParameterException", "nextToken",
            nextToken=token, status="INACTIVE")


def test_a_family_comes_back_with_a_new_revision(slipway, ecs):
    def families(status):
        return ecs.list_task_definition_families(familyPrefix="returning",
                                                 status=status)["families"]

    register(ecs, "returning")
    assert (families("ACTIVE"), families("INACTIVE")) == (["returning"], [])
    ecs.deregister_task_definition(taskDefinition="returning:1")
    assert (families("ACTIVE"), families("INACTIVE")) == ([], ["returning"])
    register(ecs, "returning")
    assert (families("ACTIVE"), families("INACTIVE")) == (["returning"], [])
    ecs.deregister_task_definition(taskDefinition="returning:2")
    delete(slipway, "returning:1", "returning:2")
    assert (families("ACTIVE"), families("INACTIVE"), families("ALL")) == ([], [], [])


def test_aws_cli(slipway):
    def aws(*args):
        return slipway.aws("ecs", *args).json

    containers = json.dumps([container()])
    assert aws("register-task-definition", "--family", "cli", "--container-definitions",
               containers, "--tags", "key=a,value=b")["taskDefinition"]["revision"] == 1
    cli_refused(slipway, "ClientException", "Container.image", "register-task-definition",
                "--family", "cli", "--container-definitions", '[{"name":"a","memory":64}]')
    assert aws("describe-task-definition", "--task-definition", "cli", "--include", "TAGS")[
        "tags"] == [{"key": "a", "value": "b"}]
    cli_refused(slipway, "ClientException", "Unable to describe task definition.",
                "describe-task-definition", "--task-definition", "absent")
    assert aws("list-task-definitions", "--family-prefix", "cli")["taskDefinitionArns"] == [
        arn("task-definition/cli:1")]
    cli_refused(slipway, "InvalidParameterException", "sort", "list-task-definitions", "--sort",
                "SIDEWAYS")
    assert aws("list-task-definition-families", "--family-prefix", "cli")["families"] == ["cli"]
    cli_refused(slipway, "InvalidParameterException", "status", "list-task-definition-families",
                "--status", "LOST")
    assert aws("deregister-task-definition", "--task-definition", "cli:1")["taskDefinition"][
        "status"] == "INACTIVE"
    cli_refused(slipway, "ClientException", "Revision is missing.", "deregister-task-definition",
                "--task-definition", "cli")
