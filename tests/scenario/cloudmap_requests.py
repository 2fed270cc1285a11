"""Shared by the tests of Cloud Map: its operations, requests that Debian's botocore does not
know yet, and small things to begin with."""
import json

from conftest import REGION
from ecs_requests import sign_and_send

ACCOUNT = "123456789012"
TARGET = "Route53AutoNaming_v20170314"

# All of the newest model.
OPERATIONS = [
    "CreateHttpNamespace", "CreatePrivateDnsNamespace", "CreatePublicDnsNamespace",
    "CreateService", "DeleteNamespace", "DeleteService", "DeleteServiceAttributes",
    "DeregisterInstance", "DiscoverInstances", "DiscoverInstancesRevision", "GetInstance",
    "GetInstancesHealthStatus", "GetNamespace", "GetOperation", "GetService",
    "GetServiceAttributes", "ListInstances", "ListNamespaces", "ListOperations", "ListServices",
    "ListTagsForResource", "RegisterInstance", "TagResource", "UntagResource",
    "UpdateHttpNamespace", "UpdateInstanceCustomHealthStatus", "UpdatePrivateDnsNamespace",
    "UpdatePublicDnsNamespace", "UpdateService", "UpdateServiceAttributes",
]
# There is no public DNS, and the reason is the answer.
REFUSED_ONLY = ["CreatePublicDnsNamespace", "UpdatePublicDnsNamespace"]

A_RECORD = {"DnsRecords": [{"Type": "A", "TTL": 60}]}


def arn(resource, region=REGION, account=ACCOUNT):
    return f"arn:aws:servicediscovery:{region}:{account}:{resource}"


def client(server, **options):
    """A boto3 client. It would ask data-HOST for DiscoverInstances, which an address has not."""
    return server.boto("servicediscovery", inject_host_prefix=False, **options)


def send(server, operation, body, **options):
    """A signed request; body is anything that becomes JSON."""
    return sign_and_send(server, json.dumps(body), {
        "Content-Type": "application/x-amz-json-1.1",
        "X-Amz-Target": f"{TARGET}.{operation}"}, service="servicediscovery", **options)


def target_of(boto, answer, kind="NAMESPACE"):
    """The object that an operation made, as GetOperation reports it."""
    operation = boto.get_operation(OperationId=answer["OperationId"])["Operation"]
    assert operation["Status"] == "SUCCESS", operation
    return operation["Targets"][kind]


def make_zone(boto, name, **members):
    return target_of(boto, boto.create_private_dns_namespace(Name=name, Vpc="vpc-1", **members))


def make_http(boto, name, **members):
    return target_of(boto, boto.create_http_namespace(Name=name, **members))


def make_service(boto, namespace, name, **members):
    return boto.create_service(NamespaceId=namespace, Name=name, **members)["Service"]["Id"]


def all_pages(call, member, **parameters):
    """Every result and the size of every page."""
    results, sizes, token = [], [], {}
    while True:
        answer = call(**parameters, **token)
        results += answer[member]
        sizes.append(len(answer[member]))
        if "NextToken" not in answer:
            return results, sizes
        assert len(sizes) < 10000, "pages without end"
        token = {"NextToken": answer["NextToken"]}
