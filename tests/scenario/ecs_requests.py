"""Shared by the tests of ECS operations: the list of operations, the form of errors, requests
that no client library would send, and small definitions to begin with."""
import http.client
import json
import re

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import botocore.exceptions
import pytest

from conftest import DEADLINE, REGION, Answer

ACCOUNT = "123456789012"
TARGET = "AmazonEC2ContainerServiceV20141113"

# The operations of slipway; every other operation of the model answers UnsupportedFeatureException.
BUILT = [
    "ContinueServiceDeployment", "CreateCapacityProvider", "CreateCluster", "CreateService",
    "CreateTaskSet", "DeleteAccountSetting", "DeleteAttributes", "DeleteCapacityProvider",
    "DeleteCluster", "DeleteService", "DeleteTaskDefinitions", "DeleteTaskSet",
    "DeregisterContainerInstance", "DeregisterTaskDefinition", "DescribeCapacityProviders",
    "DescribeClusters", "DescribeContainerInstances", "DescribeServiceDeployments",
    "DescribeServiceRevisions", "DescribeServices", "DescribeTaskDefinition", "DescribeTaskSets",
    "DescribeTasks", "DiscoverPollEndpoint", "ExecuteCommand", "GetTaskProtection",
    "ListAccountSettings", "ListAttributes", "ListClusters", "ListContainerInstances", "ListServiceDeployments",
    "ListServices", "ListServicesByNamespace", "ListTagsForResource", "ListTaskDefinitionFamilies",
    "ListTaskDefinitions", "ListTasks", "PutAccountSetting", "PutAccountSettingDefault",
    "PutAttributes", "PutClusterCapacityProviders", "RegisterContainerInstance",
    "RegisterTaskDefinition", "RunTask", "StartTask", "StopServiceDeployment", "StopTask",
    "SubmitAttachmentStateChanges", "SubmitContainerStateChange", "SubmitTaskStateChange",
    "TagResource", "UntagResource", "UpdateCapacityProvider", "UpdateCluster",
    "UpdateClusterSettings", "UpdateContainerAgent", "UpdateContainerInstancesState",
    "UpdateService", "UpdateServicePrimaryTaskSet", "UpdateTaskProtection", "UpdateTaskSet",
]
# Those of them that have no good input here: there are no namespaces, no lifecycle hooks, no sessions
# and no newer agents.
REFUSED_ONLY = ["ContinueServiceDeployment", "ExecuteCommand", "ListServicesByNamespace",
                "UpdateContainerAgent"]


def arn(resource, region=REGION, account=ACCOUNT):
    return f"arn:aws:ecs:{region}:{account}:{resource}"


def container(**members):
    return {"name": "app", "image": "busybox", "memory": 64, **members}


def names(message, part):
    """A part of a message, or the member of this name in AWS's words for constraints, which have members in lower case."""
    constraint = f"{part[:1].lower()}{part[1:]}'"
    return part in message or ("failed to satisfy constraint" in message and constraint in message)


def refused(call, code, *parts, **parameters):
    """The call must fail with this error, status 400, and every part in its message."""
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        call(**parameters)
    error = caught.value.response["Error"]
    assert error["Code"] == code, error
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    for part in parts:
        assert names(error["Message"], part), error["Message"]
    return error["Message"]


def sign_and_send(server, body, headers, region=REGION, service="ecs"):
    """One signed POST / with any body and headers; botocore signs."""
    key = server.key
    if isinstance(body, str):
        body = body.encode()
    request = botocore.awsrequest.AWSRequest("POST", server.url + "/", headers=headers, data=body)
    botocore.auth.SigV4Auth(
        botocore.credentials.Credentials(key["accessKeyId"], key["secretAccessKey"]),
        service, region).add_auth(request)
    connection = http.client.HTTPConnection(server.url.split("//")[1], timeout=DEADLINE)
    try:
        connection.request("POST", "/", body=body, headers=dict(request.headers.items()))
        return Answer(connection.getresponse())
    finally:
        connection.close()


def send(server, operation, body, **options):
    """A signed request of the JSON protocol; body is text, or anything that becomes JSON."""
    if not isinstance(body, (str, bytes)):
        body = json.dumps(body)
    return sign_and_send(server, body, {"Content-Type": "application/x-amz-json-1.1",
                                        "X-Amz-Target": f"{TARGET}.{operation}"}, **options)


def send_refused(server, operation, body, code, *parts, **options):
    """As refused(), for what Debian's botocore cannot say."""
    answer = send(server, operation, body, **options)
    assert answer.status == 400, answer.text
    assert answer.json["__type"] == code, answer.text
    for part in parts:
        assert part in answer.json["message"], answer.text


def cli_refused(server, code, part, *args):
    """Debian's aws command must fail with this error and say so."""
    result = server.aws("ecs", *args, check=False)
    assert result.returncode in (253, 254, 255), (args, result.stdout, result.stderr)
    match = re.search(r"An error occurred \((\w+)\) when calling the (\w+) operation"
                      r"(?: \(reached max retries: 0\))?: (.*)",
                      result.stderr, re.DOTALL)
    assert match, result.stderr
    assert match.group(1) == code, result.stderr
    assert part in match.group(3), result.stderr


def all_pages(call, member, **parameters):
    """Every result and the size of every page."""
    results, sizes, token = [], [], {}
    while True:
        answer = call(**parameters, **token)
        results += answer[member]
        sizes.append(len(answer[member]))
        if "nextToken" not in answer:
            return results, sizes
        assert len(sizes) < 10000, "pages without end"
        token = {"nextToken": answer["nextToken"]}
