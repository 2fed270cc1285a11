"""The JSON 1.1 protocol as ECS speaks it: what is refused before an operation looks at it, how
errors look, and what clients may leave out or add."""
import json
import os
import re
import subprocess

import pytest

from conftest import DEADLINE, SOURCE
from ecs_requests import (ACCOUNT, BUILT, TARGET, arn, container, send, send_refused,
                          sign_and_send)

SERVER_ARGUMENTS = ["--runtime", "none"]

pytestmark = pytest.mark.sanitized

PACKAGE = os.path.join(SOURCE, "tests/scenario/node_modules/@aws-sdk/client-ecs")

LIST_OPERATIONS = """
const sdk = require(process.argv[1]);
console.log(JSON.stringify(Object.keys(sdk).filter((name) => name.endsWith("Command") &&
    typeof sdk[name] === "function" && name[0] !== "$").map((name) => name.slice(0, -7))));
"""


@pytest.fixture(scope="module")
def operations():
    """Every operation of the newest model."""
    printed = subprocess.run(["node", "-e", LIST_OPERATIONS, PACKAGE], check=True,
                             capture_output=True, timeout=DEADLINE * 2).stdout
    return json.loads(printed)


# ---- operations ----

def test_operations_that_are_not_built_name_themselves(slipway, operations):
    assert set(BUILT) < set(operations) and len(operations) >= 88
    for operation in operations:
        answer = send(slipway, operation, {})
        if operation in BUILT:
            assert answer.json.get("__type") != "UnsupportedFeatureException", operation
            continue
        assert answer.status == 400
        assert answer.json["__type"] == "UnsupportedFeatureException", operation
        assert re.search(rf"\b{operation}\b", answer.json["message"])


@pytest.mark.parametrize("operation", ["MakeCoffee", "listClusters", "List Clusters", "",
                                       "ListClusters.x", "x" * 5000])
def test_unknown_operations(slipway, operation):
    answer = send(slipway, operation, {})
    assert answer.status == 400
    assert answer.json["__type"] == "UnknownOperationException"
    assert len(answer.json["message"]) < 400


@pytest.mark.parametrize("operation", ["ChoosePreemptedTasks", "DeleteReservation", "PutReservation"])
def test_internal_operations_do_not_exist_for_clients(slipway, operation):
    answer = send(slipway, operation, {
        "cluster": "default", "group": "env:fleet", "containerInstance": "i",
        "taskDefinition": "arn:aws:ecs:us-east-1:123456789012:task-definition/a:1"})
    assert answer.status == 400
    assert answer.json == {"__type": "UnknownOperationException",
                           "message": f"ecs has no operation '{operation}'."}


@pytest.mark.parametrize("headers", [
    {}, {"X-Amz-Target": "ListClusters"}, {"X-Amz-Target": "Weather.ListClusters"},
    {"X-Amz-Target": f"{TARGET}ListClusters"}, {"X-Amz-Target": f"{TARGET.lower()}.ListClusters"},
])
def test_unknown_targets(slipway, headers):
    answer = sign_and_send(slipway, "{}", {"Content-Type": "application/x-amz-json-1.1", **headers})
    assert answer.status == 400
    assert answer.json["__type"] == "UnknownOperationException"


# ---- how answers look ----

def test_answers(slipway):
    good = send(slipway, "ListClusters", {})
    bad = send(slipway, "DeleteCluster", {"cluster": "absent"})
    assert good.status == 200
    for answer in (good, bad):
        assert answer.headers["content-type"] == "application/x-amz-json-1.1"
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
                            answer.headers["x-amzn-requestid"])
        assert int(answer.headers["content-length"]) == len(answer.body)
    assert good.headers["x-amzn-requestid"] != bad.headers["x-amzn-requestid"]
    assert bad.status == 400
    assert set(bad.json) == {"__type", "message"}
    assert bad.json["__type"] == "ClusterNotFoundException"


def test_request_ids_reach_the_client(slipway):
    answer = slipway.boto("ecs").list_clusters()
    assert len(answer["ResponseMetadata"]["RequestId"]) == 36
    with pytest.raises(Exception) as caught:
        slipway.boto("ecs").delete_cluster(cluster="absent")
    assert len(caught.value.response["ResponseMetadata"]["RequestId"]) == 36


def test_times_are_seconds_with_milliseconds(slipway):
    answer = send(slipway, "RegisterTaskDefinition", {"family": "times",
                                                      "containerDefinitions": [container()]})
    assert re.search(r'"registeredAt":\d{10}\.\d{3}[,}]', answer.text)


# ---- bodies ----

@pytest.mark.parametrize("body", [
    b"{", b"}", b"[]", b"null", b'"text"', b"1", b"{} {}", b'{"maxResults":}', b"{'a':1}",
    b'{"a":1,}', b'{"a":01}', b'{"clusters":["\xff"]}', b'{"a":"\\ud800"}', b'{"a":1,"a":2}',
    b"\xef\xbb\xbf{}", b"\0", b"[" * 10000, b'{"a":' * 10000, b'{"a":NaN}', b"<xml/>",
    b"Action=ListClusters",
])
def test_bodies_that_are_no_json_object(slipway, body):
    answer = send(slipway, "ListClusters", body)
    assert answer.status == 400, answer.text
    assert answer.json["__type"] == "SerializationException"
    assert answer.json["message"]


@pytest.mark.parametrize("body", [b"", b"{}", b" \r\n\t{ } ", b'{"maxResults":null}',
                                  b'{"maxResults":null,"nextToken":null}',
                                  b'{"weather":{"rain":[1,2]},"nextToken":""}'])
def test_bodies_that_say_nothing(slipway, body):
    answer = send(slipway, "ListClusters", body)
    assert answer.status == 200, answer.text
    assert "clusterArns" in answer.json


@pytest.mark.parametrize("operation, body, path", [
    ("CreateCluster", {"clusterName": 7}, "clusterName"),
    ("CreateCluster", {"clusterName": ["a"]}, "clusterName"),
    ("CreateCluster", {"tags": {}}, "tags"),
    ("CreateCluster", {"tags": ["a"]}, "tags[0]"),
    ("CreateCluster", {"tags": [None]}, "tags[0]"),
    ("CreateCluster", {"tags": [{"key": "a", "value": 1}]}, "tags[0].value"),
    ("ListClusters", {"maxResults": "10"}, "maxResults"),
    ("ListClusters", {"maxResults": 1.5}, "maxResults"),
    ("ListClusters", {"maxResults": 99999999999}, "maxResults"),
    ("ListClusters", {"maxResults": True}, "maxResults"),
    ("ListAccountSettings", {"effectiveSettings": "true"}, "effectiveSettings"),
    ("DescribeClusters", {"clusters": "default"}, "clusters"),
    ("RegisterTaskDefinition", {"family": "wrong", "containerDefinitions": [
        container(), {"name": "b", "image": "b", "memory": "64"}]},
     "containerDefinitions[1].memory"),
    ("RegisterTaskDefinition", {"family": "wrong", "containerDefinitions": [
        container(dockerLabels={"a": 1})]}, "containerDefinitions[0].dockerLabels['a']"),
    ("RegisterTaskDefinition", {"family": "wrong", "cpu": 256, "containerDefinitions": []}, "cpu"),
    # A wrong type anywhere wins over what is missing or out of bounds.
    ("RegisterTaskDefinition", {"containerDefinitions": [{"essential": "yes"}]},
     "containerDefinitions[0].essential"),
])
def test_wrong_types(slipway, operation, body, path):
    send_refused(slipway, operation, body, "SerializationException", path)
    ecs = slipway.boto("ecs")
    assert "wrong" not in ecs.list_task_definition_families(status="ALL")["families"]


REQUIRED = {
    "ContinueServiceDeployment": ["hookId", "serviceDeploymentArn"],
    "CreateCapacityProvider": ["name"],
    "CreateService": ["serviceName"],
    "CreateTaskSet": ["cluster", "service", "taskDefinition"],
    "DeleteAccountSetting": ["name"],
    "DeleteAttributes": ["attributes"],
    "DeleteCapacityProvider": ["capacityProvider"],
    "DeleteCluster": ["cluster"],
    "DeleteService": ["service"],
    "DeleteTaskDefinitions": ["taskDefinitions"],
    "DeleteTaskSet": ["cluster", "service", "taskSet"],
    "DeregisterContainerInstance": ["containerInstance"],
    "DeregisterTaskDefinition": ["taskDefinition"],
    "DescribeContainerInstances": ["containerInstances"],
    "DescribeServiceDeployments": ["serviceDeploymentArns"],
    "DescribeServiceRevisions": ["serviceRevisionArns"],
    "DescribeServices": ["services"],
    "DescribeTaskDefinition": ["taskDefinition"],
    "DescribeTaskSets": ["cluster", "service"],
    "DescribeTasks": ["tasks"],
    "GetTaskProtection": ["cluster"],
    "ListAttributes": ["targetType"],
    "ListServiceDeployments": ["service"],
    "ListServicesByNamespace": ["namespace"],
    "ListTagsForResource": ["resourceArn"],
    "PutAccountSetting": ["name", "value"],
    "PutAccountSettingDefault": ["name", "value"],
    "PutAttributes": ["attributes"],
    "PutClusterCapacityProviders": ["cluster", "capacityProviders",
                                    "defaultCapacityProviderStrategy"],
    "RunTask": ["taskDefinition"],
    "StartTask": ["containerInstances", "taskDefinition"],
    "StopServiceDeployment": ["serviceDeploymentArn"],
    "StopTask": ["task"],
    "SubmitAttachmentStateChanges": ["attachments"],
    "TagResource": ["resourceArn", "tags"],
    "UntagResource": ["resourceArn", "tagKeys"],
    "UpdateCapacityProvider": ["name"],
    "UpdateCluster": ["cluster"],
    "UpdateClusterSettings": ["cluster", "settings"],
    "UpdateContainerAgent": ["containerInstance"],
    "UpdateContainerInstancesState": ["containerInstances", "status"],
    "UpdateService": ["service"],
    "UpdateServicePrimaryTaskSet": ["cluster", "primaryTaskSet", "service"],
    "UpdateTaskProtection": ["cluster", "protectionEnabled", "tasks"],
    "UpdateTaskSet": ["cluster", "scale", "service", "taskSet"],
}


@pytest.mark.parametrize("operation", BUILT)
def test_what_is_required(slipway, operation):
    """An empty request either works or names a member; null is as good as nothing."""
    required = REQUIRED.get(operation, [])
    if operation == "RegisterTaskDefinition":
        for body in ({}, {"family": None}, {"family": "x"}, {"containerDefinitions": []}):
            send_refused(slipway, operation, body, "ClientException", "is required")
        return
    for body in ({}, {member: None for member in required}):
        answer = send(slipway, operation, body)
        if required:
            assert answer.status == 400, answer.text
            assert answer.json["__type"] == "InvalidParameterException"
            assert any(f"{member}: is required" in answer.json["message"] for member in required)
        else:
            # No cluster "default" is here yet for those that mean it.
            assert answer.status == 200 or answer.json["__type"] in (
                "ClusterNotFoundException", "InvalidParameterException"), answer.text


def test_unknown_members_are_neither_refused_nor_kept(slipway):
    request = {"clusterName": "unknown", "color": "crimson", "configuration": {
        "executeCommandConfiguration": {"logging": "NONE", "kmsKeyId": None, "color": "crimson"},
        "color": {"deep": ["crimson"]}}}
    created = send(slipway, "CreateCluster", request)
    assert created.status == 200, created.text
    shown = send(slipway, "DescribeClusters", {"clusters": ["unknown"],
                                               "include": ["CONFIGURATIONS"]})
    for answer in (created, shown):
        assert "crimson" not in answer.text and "null" not in answer.text
    request = {"family": "unknown", "color": "crimson", "revision": 7, "status": "INACTIVE",
               "containerDefinitions": [container(color="crimson", command=None, hostname=None,
                                                  dockerLabels={"kept": "yes", "nothing": None})]}
    created = send(slipway, "RegisterTaskDefinition", request)
    assert created.status == 200, created.text
    assert "crimson" not in created.text and "null" not in created.text
    definition = created.json["taskDefinition"]
    assert definition["revision"] == 1 and definition["status"] == "ACTIVE"
    assert definition["containerDefinitions"][0]["dockerLabels"] == {"kept": "yes"}


def test_text_of_all_kinds_comes_back(slipway):
    text = "".join(map(chr, range(0x20))) + "\"\\/é\u2028\u2029\U0001f6a2\x7f"
    answer = send(slipway, "RegisterTaskDefinition", {
        "family": "text", "containerDefinitions": [container(
            environment=[{"name": "TEXT", "value": text}])]})
    assert answer.status == 200, answer.text
    shown = send(slipway, "DescribeTaskDefinition", {"taskDefinition": "text"}).json
    assert shown["taskDefinition"]["containerDefinitions"][0]["environment"] == [
        {"name": "TEXT", "value": text}]


def test_bodies_that_are_too_large(slipway):
    answer = send(slipway, "ListClusters", json.dumps({"x": "y" * (1024 * 1024)}))
    assert answer.status == 413
    assert send(slipway, "ListClusters", {}).status == 200


def test_work_is_bounded_however_large_a_request_is(slipway):
    """A million bytes of secrets, labels or names are refused before anybody compares them."""
    secrets = [{"name": f"S{i}", "valueFrom": "a"} for i in range(20000)]
    send_refused(slipway, "RegisterTaskDefinition", {
        "family": "huge", "containerDefinitions": [container(secrets=secrets)]},
                 "ClientException", "Max allowed length")
    labels = {f"label-{i}": "v" for i in range(40000)}
    send_refused(slipway, "RegisterTaskDefinition", {
        "family": "huge", "containerDefinitions": [container(
            dockerLabels={**labels, "nothing": None})]}, "ClientException", "Max allowed length")
    send_refused(slipway, "DescribeClusters", {"clusters": ["a"] * 100000},
                 "InvalidParameterException", "clusters")
    send_refused(slipway, "TagResource", {
        "resourceArn": arn("cluster/x"), "tags": [{"key": f"k{i}"} for i in range(20000)]},
                 "InvalidParameterException", "tags")


# ---- tokens ----

def test_tokens_belong_to_one_operation_and_its_filters(slipway):
    ecs = slipway.boto("ecs", region="eu-central-1")
    for i in range(2):
        ecs.create_cluster(clusterName=f"c{i}")
        ecs.register_task_definition(family=f"f{i}", containerDefinitions=[container()])
        ecs.register_container_instance(cluster="c0", attributes=[{"name": "a", "value": "b"}])
    requests = {
        "ListClusters": {},
        "ListTaskDefinitions": {},
        "ListTaskDefinitionFamilies": {},
        "ListContainerInstances": {"cluster": "c0"},
        "ListAttributes": {"cluster": "c0", "targetType": "container-instance"},
        "ListAccountSettings": {"effectiveSettings": True},
        "DescribeCapacityProviders": {},
    }

    def call(operation, region="eu-central-1", **members):
        return send(slipway, operation, {**requests[operation], **members}, region=region)

    tokens = {operation: call(operation, maxResults=1).json["nextToken"] for operation in requests}
    assert len(set(tokens.values())) == len(tokens)
    for operation in requests:
        for owner, token in tokens.items():
            answer = call(operation, nextToken=token)
            if owner == operation:
                assert answer.status == 200, answer.text
                continue
            assert answer.status == 400
            assert answer.json["__type"] == "InvalidParameterException"
            assert "nextToken" in answer.json["message"]
        own = tokens[operation]
        flipped = ("B" if own[5] != "B" else "C").join((own[:5], own[6:]))
        for wrong in (own[:-1], own + "A", flipped, "A" * 10000, "=", "\0", "é"):
            answer = call(operation, nextToken=wrong)
            assert answer.status == 400, (operation, wrong)
            assert answer.json["__type"] == "InvalidParameterException"
        for wrong in (0, -1, 101):
            answer = call(operation, maxResults=wrong)
            assert answer.status == 400
            assert answer.json["__type"] == "InvalidParameterException"
            assert "maxResults" in answer.json["message"]
    # Nor is one good in another region.
    answer = call("ListClusters", region="us-east-1", nextToken=tokens["ListClusters"])
    assert answer.status == 400 and "nextToken" in answer.json["message"]
    assert ACCOUNT not in tokens["ListClusters"]


# ---- other clients' habits ----

def test_content_types(slipway):
    """The target decides; some clients send another content type or none."""
    for content_type in ("application/x-amz-json-1.1", "application/x-amz-json-1.0",
                         "application/json", "application/x-amz-json-1.1; charset=utf-8"):
        answer = sign_and_send(slipway, "{}", {"Content-Type": content_type,
                                               "X-Amz-Target": f"{TARGET}.ListClusters"})
        assert answer.status == 200, answer.text


def test_boto_sees_modelled_exceptions(slipway):
    ecs = slipway.boto("ecs")
    with pytest.raises(ecs.exceptions.ClusterNotFoundException):
        ecs.delete_cluster(cluster="absent")
    with pytest.raises(ecs.exceptions.ClientException):
        ecs.describe_task_definition(taskDefinition="absent")
    with pytest.raises(ecs.exceptions.InvalidParameterException):
        ecs.create_cluster(clusterName="a b")
    with pytest.raises(ecs.exceptions.NamespaceNotFoundException):
        ecs.list_services_by_namespace(namespace="x")
