"""Every operation of Cloud Map and of Elastic Load Balancing by boto3 and by the aws command, with good input
and with bad: one test per service and client makes all the calls and looks whether one was missed. What is
refused changes nothing. (test_javascript_sdk.py does the same with the JavaScript SDK.)

Debian's clients are older than some operations; those are sent as the JavaScript SDK sends them."""
import contextlib
import json
import os
import subprocess

import botocore
import botocore.exceptions
import pytest

import cloudmap_requests
import elb_requests
from aws_shell import AwsShell
from balancing import NETWORK, free_port
from conftest import DEADLINE, REGION
from ecs_requests import ACCOUNT

HERE = os.path.dirname(__file__)
ELB = f"arn:aws:elasticloadbalancing:{REGION}:{ACCOUNT}"
NO_BALANCER = {"LoadBalancerArn": f"{ELB}:loadbalancer/app/absent/0123456789abcdef"}
NO_GROUP = {"TargetGroupArn": f"{ELB}:targetgroup/absent/0123456789abcdef"}
NO_LISTENER = {"ListenerArn": f"{ELB}:listener/app/absent/0123456789abcdef/0123456789abcdef"}
NO_RULE = {"RuleArn": f"{ELB}:listener-rule/app/absent/" + "/".join(["0123456789abcdef"] * 3)}
NO_STORE = {"TrustStoreArn": f"{ELB}:truststore/absent/0123456789abcdef"}


# ---- clients ----

class Boto3:
    """Calls by boto3; which of them were answered and which refused is seen on the wire."""

    def __init__(self, server, service, folder, monkeypatch):
        monkeypatch.setenv("AWS_DATA_PATH", str(folder))
        self.client = server.boto(service, inject_host_prefix=False)
        self.good, self.bad = set(), set()
        self.client.meta.events.register("after-call", self.note)

    def note(self, model, http_response, **_):
        (self.good if http_response.status_code == 200 else self.bad).add(model.name)

    def call(self, operation, **parameters):
        answer = getattr(self.client, botocore.xform_name(operation))(**parameters)
        del answer["ResponseMetadata"]
        return answer

    def refused(self, operation, code, part, **parameters):
        with pytest.raises(botocore.exceptions.ClientError) as caught:
            self.call(operation, **parameters)
        error = caught.value.response["Error"]
        assert error["Code"] == code and part in error["Message"], (operation, error)

    def close(self):
        self.client.close()


class Awscli:
    """Calls by the aws command: every parameter is an argument."""

    def __init__(self, server, service, folder, _):
        self.shell = AwsShell(server, service, names=True, AWS_DATA_PATH=str(folder))
        self.good, self.bad = set(), set()

    @staticmethod
    def arguments(operation, parameters):
        arguments = [botocore.xform_name(operation, "-")]
        for name, value in parameters.items():
            option = "--" + botocore.xform_name(name, "-")
            if value is True:
                arguments.append(option)
            else:
                arguments.append(option + "=" + (
                    value if isinstance(value, str) else json.dumps(value)))
        return arguments

    def call(self, operation, **parameters):
        answer = self.shell(*self.arguments(operation, parameters))
        self.good.add(operation)
        return answer or {}

    def refused(self, operation, code, part, **parameters):
        self.bad.add(self.shell.refused(code, *self.arguments(operation, parameters), part=part))

    def close(self):
        self.shell.__exit__()


# ---- Cloud Map ----

class CloudMapState:
    """All that there is."""

    def __init__(self, server):
        self.boto = cloudmap_requests.client(server)

    def __call__(self):
        services = self.boto.list_services()["Services"]
        return (self.boto.list_namespaces()["Namespaces"], services,
                self.boto.list_operations()["Operations"],
                [self.boto.list_instances(ServiceId=one["Id"])["Instances"] for one in services],
                [self.boto.list_tags_for_resource(ResourceARN=one["Arn"])["Tags"]
                 for one in services])


def cloudmap(row):
    def made(answer, kind="NAMESPACE"):
        operation = row("GetOperation", {"OperationId": answer["OperationId"]},
                        "OperationNotFound", "nothing", {"OperationId": "nothing"})["Operation"]
        assert operation["Status"] == "SUCCESS"
        return operation["Targets"][kind]

    def records(kind, ttl):
        return {"DnsRecords": [{"Type": kind, "TTL": ttl}]}

    zone = made(row("CreatePrivateDnsNamespace", {"Name": "every.test", "Vpc": "vpc-1"},
                    "NamespaceAlreadyExists", "every.test", {"Name": "EVERY.test", "Vpc": "vpc-1"}))
    http = made(row("CreateHttpNamespace", {"Name": "every"},
                    "InvalidInput", "Name", {"Name": "not every"}))
    row("CreatePublicDnsNamespace", None, "InvalidInput", "Route 53", {"Name": "example.com"})
    row("UpdatePublicDnsNamespace", None, "InvalidInput", "Route 53",
        {"Id": zone, "Namespace": {"Description": "x"}})
    row("UpdatePrivateDnsNamespace", {"Id": zone, "Namespace": {"Description": "d"}},
        "InvalidInput", "type HTTP", {"Id": http, "Namespace": {"Description": "d"}})
    row("UpdateHttpNamespace", {"Id": http, "Namespace": {"Description": "e"}},
        "NamespaceNotFound", "ns-none", {"Id": "ns-none", "Namespace": {"Description": "e"}})
    assert row("GetNamespace", {"Id": zone}, "NamespaceNotFound", "ns-none", {"Id": "ns-none"})[
        "Namespace"]["Description"] == "d"
    assert {one["Id"] for one in row(
        "ListNamespaces", {}, "InvalidInput", "one value",
        {"Filters": [{"Name": "TYPE", "Values": ["HTTP", "DNS_PRIVATE"]}]})["Namespaces"]} == {
            zone, http}
    service = row("CreateService", {
        "Name": "web", "NamespaceId": zone, "DnsConfig": records("A", 60),
        "HealthCheckCustomConfig": {"FailureThreshold": 1}},
        "NamespaceNotFound", "ns-none", {"Name": "web", "NamespaceId": "ns-none"})["Service"]["Id"]
    assert made(row("UpdateService", {"Id": service, "Service": {"DnsConfig": records("A", 61)}},
                    "InvalidInput", "cannot be changed",
                    {"Id": service, "Service": {"DnsConfig": records("AAAA", 61)}}),
                "SERVICE") == service
    assert row("GetService", {"Id": service}, "ServiceNotFound", "srv-none", {"Id": "srv-none"})[
        "Service"]["DnsConfig"]["DnsRecords"] == [{"Type": "A", "TTL": 61}]
    assert [one["Id"] for one in row(
        "ListServices", {"Filters": [{"Name": "NAMESPACE_ID", "Values": [zone]}]},
        "InvalidInput", "BEGINS_WITH", {"Filters": [
            {"Name": "NAMESPACE_ID", "Values": ["ns-"], "Condition": "BEGINS_WITH"}]},
        )["Services"]] == [service]

    of_service, nowhere = {"ServiceId": service}, {"ServiceId": "srv-none"}
    row("UpdateServiceAttributes", {**of_service, "Attributes": {"a": "1", "b": "2"}},
        "ServiceAttributesLimitExceededException", "30",
        {**of_service, "Attributes": {f"k{number}": "v" for number in range(31)}})
    row("DeleteServiceAttributes", {**of_service, "Attributes": ["a"]},
        "ServiceNotFound", "srv-none", {**nowhere, "Attributes": ["a"]})
    assert row("GetServiceAttributes", of_service, "ServiceNotFound", "srv-none", nowhere)[
        "ServiceAttributes"]["Attributes"] == {"b": "2"}

    one = {**of_service, "InstanceId": "one"}
    absent = {**of_service, "InstanceId": "absent"}
    address = {"AWS_INSTANCE_IPV4": "192.0.2.1"}
    assert made(row("RegisterInstance", {**one, "Attributes": address}, "InvalidInput",
                    "AWS_INSTANCE_IPV4", {**absent, "Attributes": {"a": "b"}}), "INSTANCE") == "one"
    assert row("GetInstance", one, "InstanceNotFound", "absent", absent)["Instance"][
        "Attributes"] == address
    assert len(row("ListInstances", of_service, "ServiceNotFound", "srv-none", nowhere)[
        "Instances"]) == 1
    row("UpdateInstanceCustomHealthStatus", {**one, "Status": "HEALTHY"},
        "InstanceNotFound", "absent", {**absent, "Status": "HEALTHY"})
    assert row("GetInstancesHealthStatus", of_service, "InstanceNotFound", "absent",
               {**of_service, "Instances": ["absent"]})["Status"] == {"one": "HEALTHY"}
    name = {"NamespaceName": "every.test", "ServiceName": "web"}
    found = row("DiscoverInstances", name, "ServiceNotFound", "nothing",
                {**name, "ServiceName": "nothing"})
    assert [one["InstanceId"] for one in found["Instances"]] == ["one"]
    assert row("DiscoverInstancesRevision", name, "NamespaceNotFound", "nowhere",
               {**name, "NamespaceName": "nowhere"})["InstancesRevision"] > 0
    assert row("ListOperations", {}, "InvalidInput", "NONSENSE",
               {"Filters": [{"Name": "TYPE", "Values": ["NONSENSE"]}]})["Operations"]

    arn = cloudmap_requests.arn
    resource, gone = {"ResourceARN": arn(f"service/{service}")}, {"ResourceARN": arn("service/srv-none")}
    tag = {"Key": "a", "Value": "b"}
    row("TagResource", {**resource, "Tags": [tag, {"Key": "c", "Value": "d"}]},
        "InvalidInput", "aws:", {**resource, "Tags": [{"Key": "aws:x", "Value": "y"}]})
    row("UntagResource", {**resource, "TagKeys": ["c"]},
        "ResourceNotFoundException", "srv-none", {**gone, "TagKeys": ["c"]})
    assert row("ListTagsForResource", resource, "ResourceNotFoundException", "srv-none", gone)[
        "Tags"] == [tag]
    row("DeleteNamespace", {"Id": http}, "ResourceInUse", "1 services", {"Id": zone})
    row("DeregisterInstance", one, "InstanceNotFound", "absent", absent)
    row("DeleteService", {"Id": service}, "ServiceNotFound", "srv-none", {"Id": "srv-none"})


# ---- load balancing ----

class BalancingState:
    """All that there is, but for states, which change by themselves."""

    def __init__(self, server):
        self.elb = server.boto("elbv2")

    def __call__(self):
        balancers = self.elb.describe_load_balancers()["LoadBalancers"]
        groups = self.elb.describe_target_groups()["TargetGroups"]
        listeners = [listener for one in balancers for listener in self.elb.describe_listeners(
            LoadBalancerArn=one["LoadBalancerArn"])["Listeners"]]
        rules = [self.elb.describe_rules(ListenerArn=one["ListenerArn"])["Rules"]
                 for one in listeners]
        targets = [[target["Target"] for target in self.elb.describe_target_health(
            TargetGroupArn=one["TargetGroupArn"])["TargetHealthDescriptions"]] for one in groups]
        attributes = [self.elb.describe_target_group_attributes(
            TargetGroupArn=one["TargetGroupArn"])["Attributes"] for one in groups]
        attributes += [self.elb.describe_load_balancer_attributes(
            LoadBalancerArn=one["LoadBalancerArn"])["Attributes"] for one in balancers]
        tags = [self.elb.describe_tags(ResourceArns=[one["LoadBalancerArn"]])["TagDescriptions"]
                for one in balancers]
        for one in balancers:
            del one["State"]
        return balancers, groups, listeners, rules, targets, attributes, tags


def certificate(name):
    return {"Certificates": [{"CertificateArn": f"arn:aws:acm:{REGION}:{ACCOUNT}:certificate/{name}"}]}


def balancers_and_groups(row):
    """Answers a load balancer as it was made, and the ARN of a group."""
    made = row("CreateLoadBalancer", {"Name": "every", "Subnets": ["subnet-1", "subnet-2"]},
               "ValidationError", "Name", {"Name": "-x"})["LoadBalancers"][0]
    balancer = {"LoadBalancerArn": made["LoadBalancerArn"]}
    missing = ("LoadBalancerNotFound", "absent")
    assert row("DescribeLoadBalancers", {"Names": ["every"]}, *missing, {"Names": ["absent"]})[
        "LoadBalancers"][0]["LoadBalancerArn"] == made["LoadBalancerArn"]
    assert row("SetSubnets", {**balancer, "Subnets": ["subnet-9"]},
               "InvalidSubnet", "nowhere", {**balancer, "Subnets": ["nowhere"]})[
                   "AvailabilityZones"][0]["SubnetId"] == "subnet-9"
    assert row("SetSecurityGroups", {**balancer, "SecurityGroups": ["sg-2"]},
               "InvalidSecurityGroup", "web", {**balancer, "SecurityGroups": ["web"]})[
                   "SecurityGroupIds"] == ["sg-2"]
    row("SetIpAddressType", {**balancer, "IpAddressType": "ipv4"},
        "InvalidConfigurationRequest", "IPv4", {**balancer, "IpAddressType": "dualstack"})
    idle = {"Key": "idle_timeout.timeout_seconds", "Value": "30"}
    row("ModifyLoadBalancerAttributes", {**balancer, "Attributes": [idle]},
        "ValidationError", "made.up", {**balancer, "Attributes": [{"Key": "made.up", "Value": "1"}]})
    assert idle in row("DescribeLoadBalancerAttributes", balancer, *missing, NO_BALANCER)["Attributes"]
    assert row("DescribeCapacityReservation", balancer, *missing, NO_BALANCER)[
        "CapacityReservationState"] == []
    row("ModifyCapacityReservation", {**balancer, "ResetCapacityReservation": True},
        "OperationNotPermitted", "capacity",
        {**balancer, "MinimumLoadBalancerCapacity": {"CapacityUnits": 100}})
    row("ModifyIpPools", None, "UnsupportedOperation", "IPAM",
        {**balancer, "IpamPools": {"Ipv4IpamPoolId": "ipam-pool-1"}})
    assert row("DescribeAccountLimits", {}, "ValidationError", "'pageSize'", {"PageSize": 401})["Limits"]

    missing = ("TargetGroupNotFound", "absent")
    settings = {"Name": "every", "Protocol": "HTTP", "Port": 80, "TargetType": "ip"}
    arn = row("CreateTargetGroup", settings, "DuplicateTargetGroupName", "every",
              {**settings, "Port": 81})["TargetGroups"][0]["TargetGroupArn"]
    group = {"TargetGroupArn": arn}
    assert row("ModifyTargetGroup", {**group, "HealthCheckPath": "/up"},
               "ValidationError", "HealthCheckPath", {**group, "HealthCheckPath": "up"})[
                   "TargetGroups"][0]["HealthCheckPath"] == "/up"
    assert row("DescribeTargetGroups", {"TargetGroupArns": [arn]}, "TargetGroupNotFound", "not found",
               {"Names": ["absent"]})["TargetGroups"][0]["HealthCheckPath"] == "/up"
    slow = {"Key": "slow_start.duration_seconds", "Value": "30"}
    row("ModifyTargetGroupAttributes", {**group, "Attributes": [slow]}, "ValidationError",
        "slow_start", {**group, "Attributes": [{**slow, "Value": "29"}]})
    assert slow in row("DescribeTargetGroupAttributes", group, *missing, NO_GROUP)["Attributes"]
    targets = [{"Id": "127.0.0.1", "Port": 1234}, {"Id": "127.0.0.2", "Port": 1234}]
    row("RegisterTargets", {**group, "Targets": targets},
        "InvalidTarget", "nowhere", {**group, "Targets": [{"Id": "nowhere"}]})
    row("DeregisterTargets", {**group, "Targets": targets[1:]},
        *missing, {**NO_GROUP, "Targets": targets[1:]})
    assert [one["Target"] for one in row("DescribeTargetHealth", group, *missing, NO_GROUP)[
        "TargetHealthDescriptions"]] == targets[:1]

    both = {"ResourceArns": [balancer["LoadBalancerArn"], arn]}
    tag = {"Key": "a", "Value": "1"}
    row("AddTags", {**both, "Tags": [tag, {"Key": "b", "Value": "2"}]},
        "DuplicateTagKeys", "x", {**both, "Tags": [{"Key": "x", "Value": "1"}] * 2})
    row("RemoveTags", {**both, "TagKeys": ["b"]},
        *missing, {"ResourceArns": list(NO_GROUP.values()), "TagKeys": ["b"]})
    assert [one["Tags"] for one in row(
        "DescribeTags", both, "ValidationError", "not a valid ARN", {"ResourceArns": ["x"]})[
            "TagDescriptions"]] == [[tag], [tag]]
    return made, arn


def listeners_and_rules(row, balancer, group):
    fixed = [{"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "200"}}]
    path = [{"Field": "path-pattern", "Values": ["/x"]}]
    missing = ("ListenerNotFound", "absent")
    of_balancer = {"LoadBalancerArn": balancer["LoadBalancerArn"]}
    address = ""  # any
    settings = {**of_balancer, "Protocol": "HTTPS", "Port": free_port(address),
                "DefaultActions": fixed}
    arn = row("CreateListener", {**settings, **certificate("first")},
              "CertificateNotFound", "absent", {**settings, **certificate("absent")})[
                  "Listeners"][0]["ListenerArn"]
    listener = {"ListenerArn": arn}
    row("ModifyListener", {**listener, "DefaultActions": [{"Type": "forward", "TargetGroupArn": group}]},
        "SSLPolicyNotFound", "made-up", {**listener, "SslPolicy": "made-up"})
    assert row("DescribeListeners", of_balancer, *missing,
               {"ListenerArns": list(NO_LISTENER.values())})["Listeners"][0]["DefaultActions"][0][
                   "TargetGroupArn"] == group
    row("DescribeListenerAttributes", listener, *missing, NO_LISTENER)
    key = "routing.http.response.server.enabled"
    assert {"Key": key, "Value": "false"} in row(
        "ModifyListenerAttributes", {**listener, "Attributes": [{"Key": key, "Value": "false"}]},
        "ValidationError", "made.up",
        {**listener, "Attributes": [{"Key": "made.up", "Value": "1"}]})["Attributes"]
    row("AddListenerCertificates", {**listener, **certificate("second")},
        "CertificateNotFound", "absent", {**listener, **certificate("absent")})
    assert [one["IsDefault"] for one in row(
        "DescribeListenerCertificates", listener, *missing, NO_LISTENER)["Certificates"]] == [
            True, False]
    row("RemoveListenerCertificates", {**listener, **certificate("second")},
        "OperationNotPermitted", "default", {**listener, **certificate("first")})
    assert len(row("DescribeSSLPolicies", {}, "SSLPolicyNotFound", "made-up",
                   {"Names": ["made-up"]})["SslPolicies"]) >= 2

    rule = {"RuleArn": row(
        "CreateRule", {**listener, "Priority": 5, "Conditions": path, "Actions": fixed},
        "PriorityInUse", "5", {**listener, "Priority": 5, "Conditions": path, "Actions": fixed})[
            "Rules"][0]["RuleArn"]}
    assert row("ModifyRule", {**rule, "Conditions": [{"Field": "host-header", "Values": ["a.test"]}]},
               "RuleNotFound", "absent", {**NO_RULE, "Actions": fixed})[
                   "Rules"][0]["Conditions"][0]["Values"] == ["a.test"]
    row("SetRulePriorities", {"RulePriorities": [{**rule, "Priority": 6}]},
        "RuleNotFound", "absent", {"RulePriorities": [{**NO_RULE, "Priority": 6}]})
    assert [one["Priority"] for one in row(
        "DescribeRules", listener, "RuleNotFound", "absent", {"RuleArns": list(NO_RULE.values())})[
            "Rules"]] == ["6", "default"]
    row("DeleteRule", rule, "RuleNotFound", "absent", NO_RULE)
    row("DeleteListener", listener, *missing, NO_LISTENER)


def trust_stores(row):
    """There are none."""
    bundle = {"CaCertificatesBundleS3Bucket": "b", "CaCertificatesBundleS3Key": "k"}
    assert row("DescribeTrustStores", {}, "TrustStoreNotFound", "trust stores",
               {"TrustStoreArns": list(NO_STORE.values())})["TrustStores"] == []
    for operation, members in {
            "AddTrustStoreRevocations": {},
            "DeleteSharedTrustStoreAssociation": {"ResourceArn": NO_LISTENER["ListenerArn"]},
            "DeleteTrustStore": {},
            "DescribeTrustStoreAssociations": {},
            "DescribeTrustStoreRevocations": {},
            "GetTrustStoreCaCertificatesBundle": {},
            "GetTrustStoreRevocationContent": {"RevocationId": 1},
            "ModifyTrustStore": bundle,
            "RemoveTrustStoreRevocations": {"RevocationIds": [1]}}.items():
        row(operation, None, "TrustStoreNotFound", "trust stores", {**NO_STORE, **members})
    row("CreateTrustStore", None, "UnsupportedOperation", "trust stores", {"Name": "t", **bundle})
    row("GetResourcePolicy", None, "ResourceNotFound", "absent",
        {"ResourceArn": NO_STORE["TrustStoreArn"]})


def balancing(row):
    balancer, group = balancers_and_groups(row)
    listeners_and_rules(row, balancer, group)
    trust_stores(row)
    row("DeleteTargetGroup", {"TargetGroupArn": group},
        "ValidationError", "not a valid", {"TargetGroupArn": "x"})
    row("DeleteLoadBalancer", {"LoadBalancerArn": balancer["LoadBalancerArn"]},
        "ValidationError", "not a valid", {"LoadBalancerArn": "x"})


# ---- both ----

# Of each service where botocore and the JavaScript SDK keep it, its operations, those without good input,
# the calls, and what they must not change when they are refused.
SERVICES = {
    "servicediscovery": ("2017-03-14", "client-servicediscovery", cloudmap_requests.OPERATIONS,
                         cloudmap_requests.REFUSED_ONLY, cloudmap, CloudMapState),
    "elbv2": ("2015-12-01", "client-elastic-load-balancing-v2", elb_requests.BUILT,
              elb_requests.REFUSED_ONLY, balancing, BalancingState),
}


def write_newest_model(folder, server, service):
    """Additions to the client's own model, where botocore looks for them."""
    version, package = SERVICES[service][:2]
    ended = subprocess.run(
        ["node", os.path.join(HERE, "sdk/newest_model.mjs"), "@aws-sdk/" + package], check=True,
        capture_output=True, text=True, timeout=DEADLINE * 2, stdin=subprocess.DEVNULL)
    model = json.loads(ended.stdout)
    assert set(model["operations"]) == set(SERVICES[service][2]), "the model has others"
    for known in server.boto(service).meta.service_model.operation_names:
        del model["operations"][known]
    (folder / service / version).mkdir(parents=True)
    (folder / service / version / "service-2.sdk-extras.json").write_text(
        json.dumps({"version": 1.0, "merge": model}))


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("kind", [Boto3, Awscli])
def test_every_operation_with_good_input_and_bad(start_slipway, tmp_path, monkeypatch, service, kind):
    _, _, operations, refused_only, script, see = SERVICES[service]
    for name in ("first", "second"):
        elb_requests.write_certificate(tmp_path, name)
    server = start_slipway("--runtime", "none", "--balancers", NETWORK, "--certificates", tmp_path)
    write_newest_model(tmp_path / "models", server, service)
    state = see(server)
    with contextlib.closing(kind(server, service, tmp_path / "models", monkeypatch)) as client:
        def row(operation, good, code, part, bad):
            """The good call and then the bad one. Answers what the good one was answered."""
            answer = client.call(operation, **good) if good is not None else None
            before = state()
            client.refused(operation, code, part, **bad)
            assert state() == before, f"{operation} was refused and has changed something"
            return answer

        script(row)
    assert client.good == set(operations) - set(refused_only)
    assert client.bad == set(operations)
