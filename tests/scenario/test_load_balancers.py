"""Load balancers, target groups, targets, attributes and tags: every operation by boto3 and by awscli, good
and bad, and the waiters."""
import json
import socket

import pytest

from aws_shell import AwsShell
from balancing import NETWORK, free_port, resolve
from conftest import REGION, wait_until
from ecs_requests import ACCOUNT, refused

SERVER_ARGUMENTS = ["--runtime", "none", "--balancers", NETWORK]

NOWHERE = f"arn:aws:elasticloadbalancing:{REGION}:{ACCOUNT}"
NO_BALANCER = f"{NOWHERE}:loadbalancer/app/absent/0123456789abcdef"
NO_GROUP = f"{NOWHERE}:targetgroup/absent/0123456789abcdef"
QUICKLY = {"Delay": 0.05, "MaxAttempts": 1200}


@pytest.fixture(name="elb", scope="module")
def make_client(slipway):
    return slipway.boto("elbv2", parameter_validation=False)  # the server must say no, not boto3


def make_balancer(elb, name, **settings):
    return elb.create_load_balancer(Name=name, **settings)["LoadBalancers"][0]


def make_group(elb, name, **settings):
    settings = {"Protocol": "TCP", "Port": 80, "TargetType": "ip", **settings}
    return elb.create_target_group(Name=name, **settings)["TargetGroups"][0]


def address_of(balancer):
    """Only network load balancers show it."""
    return balancer["AvailabilityZones"][0]["LoadBalancerAddresses"][0]["IpAddress"]


def attributes(answer):
    return {one["Key"]: one["Value"] for one in answer["Attributes"]}


def health(elb, group, **filters):
    """[(id, port, state, reason)] of a group."""
    answer = elb.describe_target_health(TargetGroupArn=group, **filters)
    return [(one["Target"]["Id"], one["Target"]["Port"], one["TargetHealth"]["State"],
             one["TargetHealth"].get("Reason")) for one in answer["TargetHealthDescriptions"]]


# ---- load balancers ----

def test_everything_given_comes_back(slipway, elb):
    made = make_balancer(
        elb, "full", Type="network", Scheme="internal", Subnets=["subnet-1", "subnet-2"],
        SecurityGroups=["sg-1"], IpAddressType="ipv4", Tags=[{"Key": "team", "Value": "a"}])
    assert made["LoadBalancerArn"].startswith(f"{NOWHERE}:loadbalancer/net/full/")
    assert made["DNSName"].startswith("internal-full-")
    assert made["DNSName"].endswith(f".{REGION}.elb.slipway.internal")
    assert made["Scheme"] == "internal" and made["Type"] == "network"
    assert made["State"] == {"Code": "provisioning"}
    assert made["SecurityGroups"] == ["sg-1"]
    zones = made["AvailabilityZones"]
    assert [(zone["ZoneName"], zone["SubnetId"]) for zone in zones] == [
        (REGION + "a", "subnet-1"), (REGION + "b", "subnet-2")]
    assert made["CreatedTime"].year > 2020
    assert made["CanonicalHostedZoneId"] and made["VpcId"]
    elb.get_waiter("load_balancer_available").wait(
        LoadBalancerArns=[made["LoadBalancerArn"]], WaiterConfig=QUICKLY)
    shown = elb.describe_load_balancers(Names=["full"])["LoadBalancers"][0]
    assert shown == {**made, "State": {"Code": "active"}}
    # Its name means its address.
    assert resolve(slipway, made["DNSName"]) == address_of(made)
    # The same once more is the same one; with anything else it is refused.
    assert make_balancer(
        elb, "full", Type="network", Scheme="internal", Subnets=["subnet-1", "subnet-2"],
        SecurityGroups=["sg-1"], Tags=[{"Key": "team", "Value": "a"}]) == shown
    refused(elb.create_load_balancer, "DuplicateLoadBalancerName", "full", Name="full")


@pytest.mark.parametrize("code, part, settings", [
    ("ValidationError", "Name", {"Name": "-x"}),
    ("ValidationError", "internal-", {"Name": "internal-x"}),
    ("InvalidConfigurationRequest", "GENEVE", {"Type": "gateway"}),
    ("InvalidConfigurationRequest", "IPv4", {"IpAddressType": "dualstack"}),
    ("InvalidSubnet", "nowhere", {"Subnets": ["nowhere"]}),
    ("InvalidSecurityGroup", "web", {"SecurityGroups": ["web"]}),
    ("AllocationIdNotFound", "Elastic", {"Type": "network", "SubnetMappings": [
        {"SubnetId": "subnet-1", "AllocationId": "eipalloc-1"}]}),
    ("DuplicateTagKeys", "twice", {"Tags": [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]}),
    ("TooManyTags", "50", {"Tags": [{"Key": str(n), "Value": ""} for n in range(51)]}),
    ("ValidationError", "'type'", {"Type": "classic"}),
])
def test_wrong_load_balancers_are_refused(elb, code, part, settings):
    refused(elb.create_load_balancer, code, part, **{"Name": "wrong", **settings})
    refused(elb.describe_load_balancers, "LoadBalancerNotFound", "wrong", Names=["wrong"])


def test_load_balancers_come_in_pages(elb):
    names = [f"page-{number}" for number in range(5)]
    for name in names:
        make_balancer(elb, name)
    pages = elb.get_paginator("describe_load_balancers").paginate(PaginationConfig={"PageSize": 2})
    found = [one["LoadBalancerName"] for page in pages for one in page["LoadBalancers"]]
    assert [name for name in found if name.startswith("page-")] == names
    assert len(found) == len(set(found))
    refused(elb.describe_load_balancers, "ValidationError", "Marker", Marker="made-up")
    refused(elb.describe_load_balancers, "ValidationError", "'pageSize'", PageSize=0)
    refused(elb.describe_load_balancers, "ValidationError", "not a valid", LoadBalancerArns=["x"])
    refused(elb.describe_load_balancers, "LoadBalancerNotFound", "absent",
            LoadBalancerArns=[NO_BALANCER])


def test_load_balancers_can_be_changed(elb):
    arn = make_balancer(elb, "changed")["LoadBalancerArn"]
    answer = elb.set_subnets(LoadBalancerArn=arn, Subnets=["subnet-7", "subnet-8"])
    assert [zone["SubnetId"] for zone in answer["AvailabilityZones"]] == ["subnet-7", "subnet-8"]
    refused(elb.set_subnets, "InvalidSubnet", "x", LoadBalancerArn=arn, Subnets=["x"])
    assert elb.set_security_groups(
        LoadBalancerArn=arn, SecurityGroups=["sg-2"])["SecurityGroupIds"] == ["sg-2"]
    refused(elb.set_security_groups, "InvalidSecurityGroup", "x", LoadBalancerArn=arn,
            SecurityGroups=["x"])
    assert elb.set_ip_address_type(
        LoadBalancerArn=arn, IpAddressType="ipv4")["IpAddressType"] == "ipv4"
    refused(elb.set_ip_address_type, "InvalidConfigurationRequest", "IPv4", LoadBalancerArn=arn,
            IpAddressType="dualstack")
    shown = elb.describe_load_balancers(LoadBalancerArns=[arn])["LoadBalancers"][0]
    assert shown["SecurityGroups"] == ["sg-2"]
    assert shown["AvailabilityZones"][1]["SubnetId"] == "subnet-8"
    for call in (elb.set_subnets, elb.set_security_groups, elb.set_ip_address_type):
        parameters = {"Subnets": ["subnet-1"], "SecurityGroups": ["sg-1"], "IpAddressType": "ipv4"}
        wanted = call.__name__.removeprefix("set_").title().replace("_", "")
        refused(call, "LoadBalancerNotFound", "absent", LoadBalancerArn=NO_BALANCER,
                **{wanted: parameters[wanted]})


def test_attributes_of_load_balancers(elb):
    arn = make_balancer(elb, "attributes")["LoadBalancerArn"]
    before = attributes(elb.describe_load_balancer_attributes(LoadBalancerArn=arn))
    assert before["idle_timeout.timeout_seconds"] == "60"
    assert before["routing.http2.enabled"] == "true"
    assert before["client_keep_alive.seconds"] == "3600"
    after = attributes(elb.modify_load_balancer_attributes(
        LoadBalancerArn=arn, Attributes=[{"Key": "idle_timeout.timeout_seconds", "Value": "30"}]))
    assert after == {**before, "idle_timeout.timeout_seconds": "30"}
    assert attributes(elb.describe_load_balancer_attributes(LoadBalancerArn=arn)) == after
    for key, value, code in [("idle_timeout.timeout_seconds", "0", "ValidationError"),
                             ("routing.http2.enabled", "maybe", "ValidationError"),
                             ("made.up", "true", "ValidationError"),
                             ("access_logs.s3.enabled", "true", "InvalidConfigurationRequest")]:
        refused(elb.modify_load_balancer_attributes, code, key, LoadBalancerArn=arn,
                Attributes=[{"Key": key, "Value": value}])
    refused(elb.modify_load_balancer_attributes, "LoadBalancerNotFound", "absent",
            LoadBalancerArn=NO_BALANCER, Attributes=[])
    refused(elb.describe_load_balancer_attributes, "LoadBalancerNotFound", "absent",
            LoadBalancerArn=NO_BALANCER)


def test_deleting_a_load_balancer(elb):
    balancer = make_balancer(elb, "gone", Type="network")
    arn = balancer["LoadBalancerArn"]
    elb.get_waiter("load_balancer_exists").wait(LoadBalancerArns=[arn], WaiterConfig=QUICKLY)
    group = make_group(elb, "gone")["TargetGroupArn"]
    listener = elb.create_listener(
        LoadBalancerArn=arn, Protocol="TCP", Port=free_port(address_of(balancer)),
        DefaultActions=[{"Type": "forward", "TargetGroupArn": group}])["Listeners"][0]["ListenerArn"]
    elb.modify_load_balancer_attributes(LoadBalancerArn=arn, Attributes=[
        {"Key": "deletion_protection.enabled", "Value": "true"}])
    refused(elb.delete_load_balancer, "OperationNotPermitted", "protection", LoadBalancerArn=arn)
    elb.modify_load_balancer_attributes(LoadBalancerArn=arn, Attributes=[
        {"Key": "deletion_protection.enabled", "Value": "false"}])
    refused(elb.delete_target_group, "ResourceInUse", "in use", TargetGroupArn=group)
    elb.delete_load_balancer(LoadBalancerArn=arn)
    elb.get_waiter("load_balancers_deleted").wait(LoadBalancerArns=[arn], WaiterConfig=QUICKLY)
    # Its listeners went with it, so that the group is free, and it stays deleted.
    refused(elb.describe_listeners, "ListenerNotFound", "", ListenerArns=[listener])
    elb.delete_target_group(TargetGroupArn=group)
    elb.delete_target_group(TargetGroupArn=group)
    elb.delete_load_balancer(LoadBalancerArn=arn)
    refused(elb.delete_load_balancer, "ValidationError", "not a valid", LoadBalancerArn="x")
    refused(elb.delete_target_group, "ValidationError", "not a valid", TargetGroupArn="x")


# ---- target groups ----

def test_target_groups_have_defaults(elb):
    made = make_group(elb, "plain", Protocol="HTTP", VpcId="vpc-1")
    assert made["TargetGroupArn"].startswith(f"{NOWHERE}:targetgroup/plain/")
    assert {key: value for key, value in made.items() if key != "TargetGroupArn"} == {
        "TargetGroupName": "plain", "Protocol": "HTTP", "ProtocolVersion": "HTTP1", "Port": 80,
        "VpcId": "vpc-1", "TargetType": "ip", "IpAddressType": "ipv4", "LoadBalancerArns": [],
        "HealthCheckEnabled": True, "HealthCheckProtocol": "HTTP", "HealthCheckPath": "/",
        "HealthCheckPort": "traffic-port", "HealthCheckIntervalSeconds": 30,
        "HealthCheckTimeoutSeconds": 5, "HealthyThresholdCount": 5, "UnhealthyThresholdCount": 2,
        "Matcher": {"HttpCode": "200"}}
    assert make_group(elb, "plain", Protocol="HTTP", VpcId="vpc-1") == made
    refused(elb.create_target_group, "DuplicateTargetGroupName", "plain", Name="plain",
            Protocol="HTTP", Port=81, TargetType="ip")
    assert elb.describe_target_groups(Names=["plain"])["TargetGroups"] == [made]
    assert elb.describe_target_groups(
        TargetGroupArns=[made["TargetGroupArn"]])["TargetGroups"] == [made]
    refused(elb.describe_target_groups, "TargetGroupNotFound", "not found", Names=["absent"])
    refused(elb.describe_target_groups, "LoadBalancerNotFound", "absent",
            LoadBalancerArn=NO_BALANCER)


@pytest.mark.parametrize("code, part, settings", [
    ("ValidationError", "Name", {"Name": "a_b"}),
    ("InvalidConfigurationRequest", "GENEVE", {"Protocol": "GENEVE", "Port": 6081}),
    ("InvalidConfigurationRequest", "Lambda", {"TargetType": "lambda"}),
    ("InvalidConfigurationRequest", "alb", {"TargetType": "alb"}),
    ("InvalidConfigurationRequest", "HTTP/1.1", {"Protocol": "HTTP", "ProtocolVersion": "GRPC"}),
    ("ValidationError", "HealthCheckProtocol", {"Protocol": "HTTP", "HealthCheckProtocol": "TCP"}),
    ("ValidationError", "HealthCheckPath", {"Protocol": "HTTP", "HealthCheckPath": "no"}),
    ("ValidationError", "Matcher", {"Protocol": "HTTP", "Matcher": {"HttpCode": "no"}}),
    ("ValidationError", "smaller", {"HealthCheckIntervalSeconds": 5, "HealthCheckTimeoutSeconds": 6}),
    ("ValidationError", "'port'", {"Port": 0}),
])
def test_wrong_target_groups_are_refused(elb, code, part, settings):
    refused(elb.create_target_group, code, part,
            **{"Name": "wrong", "Protocol": "TCP", "Port": 80, **settings})
    refused(elb.describe_target_groups, "TargetGroupNotFound", "not found", Names=["wrong"])


def test_target_groups_can_be_changed(elb):
    arn = make_group(elb, "changed", Protocol="HTTP")["TargetGroupArn"]
    changed = elb.modify_target_group(
        TargetGroupArn=arn, HealthCheckPath="/health", HealthCheckPort="8080",
        HealthCheckIntervalSeconds=10, Matcher={"HttpCode": "200,204"})["TargetGroups"][0]
    assert changed["HealthCheckPath"] == "/health"
    assert changed["Matcher"] == {"HttpCode": "200,204"}
    assert changed["HealthCheckTimeoutSeconds"] == 5
    refused(elb.modify_target_group, "ValidationError", "UnhealthyThresholdCount",
            TargetGroupArn=arn, UnhealthyThresholdCount=1)
    refused(elb.modify_target_group, "TargetGroupNotFound", "absent", TargetGroupArn=NO_GROUP)
    before = attributes(elb.describe_target_group_attributes(TargetGroupArn=arn))
    assert before["deregistration_delay.timeout_seconds"] == "300"
    assert before["slow_start.duration_seconds"] == "0"
    assert before["stickiness.type"] == "lb_cookie"
    after = attributes(elb.modify_target_group_attributes(TargetGroupArn=arn, Attributes=[
        {"Key": "deregistration_delay.timeout_seconds", "Value": "0"},
        {"Key": "stickiness.enabled", "Value": "true"}]))
    assert after == {**before, "deregistration_delay.timeout_seconds": "0",
                     "stickiness.enabled": "true"}
    refused(elb.modify_target_group_attributes, "ValidationError", "slow_start", TargetGroupArn=arn,
            Attributes=[{"Key": "slow_start.duration_seconds", "Value": "29"}])
    refused(elb.modify_target_group_attributes, "ValidationError", "proxy_protocol_v2",
            TargetGroupArn=arn, Attributes=[{"Key": "proxy_protocol_v2.enabled", "Value": "true"}])
    refused(elb.describe_target_group_attributes, "TargetGroupNotFound", "absent",
            TargetGroupArn=NO_GROUP)
    assert attributes(elb.describe_target_group_attributes(TargetGroupArn=arn)) == after
    assert elb.describe_target_groups(TargetGroupArns=[arn])["TargetGroups"] == [changed]


# ---- targets ----

def test_targets_of_a_group_without_traffic(elb):
    arn = make_group(elb, "unused")["TargetGroupArn"]
    elb.register_targets(TargetGroupArn=arn, Targets=[{"Id": "127.0.0.1"},
                                                      {"Id": "127.0.0.1", "Port": 81}])
    assert health(elb, arn) == [("127.0.0.1", 80, "unused", "Target.NotInUse"),
                                ("127.0.0.1", 81, "unused", "Target.NotInUse")]
    assert health(elb, arn, Targets=[{"Id": "127.0.0.1", "Port": 82}]) == [
        ("127.0.0.1", 82, "unused", "Target.NotRegistered")]
    for wrong in ("nowhere", "169.254.169.254", "i-0123456789abcdef0"):
        refused(elb.register_targets, "InvalidTarget", wrong, TargetGroupArn=arn,
                Targets=[{"Id": wrong}])
    refused(elb.register_targets, "TargetGroupNotFound", "absent", TargetGroupArn=NO_GROUP,
            Targets=[{"Id": "127.0.0.1"}])
    refused(elb.describe_target_health, "TargetGroupNotFound", "absent", TargetGroupArn=NO_GROUP)
    refused(elb.deregister_targets, "TargetGroupNotFound", "absent", TargetGroupArn=NO_GROUP,
            Targets=[{"Id": "127.0.0.1"}])
    # Nothing has to be waited for, and what is not there is no mistake.
    elb.deregister_targets(TargetGroupArn=arn, Targets=[{"Id": "127.0.0.1"}, {"Id": "127.0.0.9"}])
    assert health(elb, arn) == [("127.0.0.1", 81, "unused", "Target.NotInUse")]


def test_instances_must_be_of_a_cluster(slipway, elb):
    arn = make_group(elb, "instances", TargetType="instance")["TargetGroupArn"]
    target = {"Id": "i-0123456789abcdef0"}
    refused(elb.register_targets, "InvalidTarget", target["Id"], TargetGroupArn=arn,
            Targets=[target])
    ecs = slipway.boto("ecs")
    ecs.create_cluster(clusterName="machines")
    ecs.register_container_instance(cluster="machines", instanceIdentityDocument=json.dumps(
        {"instanceId": target["Id"], "privateIp": "127.0.0.1"}), totalResources=[])
    elb.register_targets(TargetGroupArn=arn, Targets=[target])
    assert health(elb, arn) == [(target["Id"], 80, "unused", "Target.NotInUse")]


def test_targets_come_into_service_and_leave_it(elb):
    """Health is checked by connections to a real port, and reported with its reason."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as deaf:
        port = server.getsockname()[1]
        deaf.bind(("127.0.0.1", 0))  # it has the port, and does not listen
        closed = deaf.getsockname()[1]
        balancer = make_balancer(elb, "service", Type="network")
        group = make_group(elb, "service", HealthCheckIntervalSeconds=5,
                           HealthCheckTimeoutSeconds=2)["TargetGroupArn"]
        elb.register_targets(TargetGroupArn=group, Targets=[{"Id": "127.0.0.1", "Port": port},
                                                            {"Id": "127.0.0.1", "Port": closed}])
        elb.create_listener(LoadBalancerArn=balancer["LoadBalancerArn"], Protocol="TCP",
                            Port=free_port(address_of(balancer)), DefaultActions=[
                                {"Type": "forward", "TargetGroupArn": group}])
        shown = elb.describe_target_groups(TargetGroupArns=[group])["TargetGroups"][0]
        assert shown["LoadBalancerArns"] == [balancer["LoadBalancerArn"]]
        assert [one["TargetGroupName"] for one in elb.describe_target_groups(
            LoadBalancerArn=balancer["LoadBalancerArn"])["TargetGroups"]] == ["service"]
        elb.get_waiter("target_in_service").wait(
            TargetGroupArn=group, Targets=[{"Id": "127.0.0.1", "Port": port}], WaiterConfig=QUICKLY)
        # It takes two failures to be unhealthy, but one to be not healthy.
        assert health(elb, group, Targets=[{"Id": "127.0.0.1", "Port": closed}])[0][2] in (
            "initial", "unhealthy")
        elb.deregister_targets(TargetGroupArn=group, Targets=[{"Id": "127.0.0.1", "Port": port},
                                                              {"Id": "127.0.0.1", "Port": closed}])
        elb.get_waiter("target_deregistered").wait(
            TargetGroupArn=group, Targets=[{"Id": "127.0.0.1", "Port": port}], WaiterConfig=QUICKLY)
        wait_until(lambda: health(elb, group) == [], "nothing is left of the targets")
        elb.delete_load_balancer(LoadBalancerArn=balancer["LoadBalancerArn"])


# ---- tags and limits ----

def test_tags(elb):
    balancer = make_balancer(elb, "tags")["LoadBalancerArn"]
    group = make_group(elb, "tags", Tags=[{"Key": "a", "Value": "1"}])["TargetGroupArn"]
    elb.add_tags(ResourceArns=[balancer, group],
                 Tags=[{"Key": "a", "Value": "2"}, {"Key": "b", "Value": ""}])
    both = [{"Key": "a", "Value": "2"}, {"Key": "b", "Value": ""}]
    assert elb.describe_tags(ResourceArns=[group, balancer])["TagDescriptions"] == [
        {"ResourceArn": group, "Tags": both}, {"ResourceArn": balancer, "Tags": both}]
    elb.remove_tags(ResourceArns=[group, balancer], TagKeys=["a", "c"])
    assert elb.describe_tags(ResourceArns=[group])["TagDescriptions"] == [
        {"ResourceArn": group, "Tags": both[1:]}]
    # All or nothing.
    refused(elb.add_tags, "TargetGroupNotFound", "absent", ResourceArns=[balancer, NO_GROUP],
            Tags=[{"Key": "new", "Value": ""}])
    refused(elb.add_tags, "DuplicateTagKeys", "x", ResourceArns=[balancer],
            Tags=[{"Key": "x", "Value": "1"}, {"Key": "x", "Value": "2"}])
    refused(elb.remove_tags, "LoadBalancerNotFound", "absent", ResourceArns=[NO_BALANCER],
            TagKeys=["a"])
    refused(elb.describe_tags, "ValidationError", "not a valid ARN", ResourceArns=["x"])
    assert elb.describe_tags(ResourceArns=[balancer])["TagDescriptions"][0]["Tags"] == both[1:]


def test_limits(elb):
    limits = {one["Name"]: int(one["Max"]) for one in elb.describe_account_limits()["Limits"]}
    assert limits["targets-per-target-group"] == 1000
    assert limits["application-load-balancers"] == 50
    refused(elb.describe_account_limits, "ValidationError", "Marker", Marker="x")


# ---- input of users ----

def test_the_command_line(slipway, elb):
    """Every operation once more, by awscli."""
    with AwsShell(slipway, "elbv2") as aws:
        balancer = aws("create-load-balancer", "--name", "typed", "--type", "network", "--subnets",
                       "subnet-1", "--security-groups", "sg-1", "--tags", "Key=a,Value=b",
                       )["LoadBalancers"][0]["LoadBalancerArn"]
        of_balancer = ["--load-balancer-arn", balancer]
        group = aws("create-target-group", "--name", "typed", "--protocol", "HTTP", "--port", "80",
                    "--target-type", "ip", "--matcher", "HttpCode=200-299",
                    )["TargetGroups"][0]["TargetGroupArn"]
        of_group = ["--target-group-arn", group]
        elb.get_waiter("load_balancer_available").wait(  # awscli's own looks every 15 seconds
            LoadBalancerArns=[balancer], WaiterConfig=QUICKLY)
        aws("wait", "load-balancer-available", "--load-balancer-arns", balancer)
        assert aws("describe-load-balancers", "--names", "typed", "--query",
                   "LoadBalancers[0].State.Code") == "active"
        aws("set-subnets", *of_balancer, "--subnets", "subnet-1", "subnet-2")
        aws("set-security-groups", *of_balancer, "--security-groups", "sg-2")
        aws("set-ip-address-type", *of_balancer, "--ip-address-type", "ipv4")
        aws("modify-load-balancer-attributes", *of_balancer, "--attributes",
            "Key=load_balancing.cross_zone.enabled,Value=true")
        assert {"Key": "load_balancing.cross_zone.enabled", "Value": "true"} in aws(
            "describe-load-balancer-attributes", *of_balancer)["Attributes"]
        assert aws("modify-target-group", *of_group, "--health-check-path", "/up", "--query",
                   "TargetGroups[0].HealthCheckPath") == "/up"
        aws("modify-target-group-attributes", *of_group, "--attributes",
            "Key=slow_start.duration_seconds,Value=30")
        assert {"Key": "slow_start.duration_seconds", "Value": "30"} in aws(
            "describe-target-group-attributes", *of_group)["Attributes"]
        assert aws("describe-target-groups", "--target-group-arns", group, "--query",
                   "TargetGroups[0].Matcher.HttpCode") == "200-299"
        aws("register-targets", *of_group, "--targets",
            "Id=127.0.0.1,Port=1234,AvailabilityZone=all", "Id=127.0.0.2")
        aws("deregister-targets", *of_group, "--targets", "Id=127.0.0.2")
        aws("wait", "target-deregistered", *of_group, "--targets", "Id=127.0.0.2")
        assert aws("describe-target-health", *of_group) == {"TargetHealthDescriptions": [{
            "Target": {"Id": "127.0.0.1", "Port": 1234, "AvailabilityZone": "all"},
            "HealthCheckPort": "1234",
            "TargetHealth": {
                "State": "unused", "Reason": "Target.NotInUse",
                "Description": "Target group is not configured to receive traffic from the load "
                               "balancer"}}]}
        aws("add-tags", "--resource-arns", balancer, group, "--tags", "Key=c,Value=d")
        aws("remove-tags", "--resource-arns", balancer, "--tag-keys", "a")
        assert aws("describe-tags", "--resource-arns", balancer, "--query",
                   "TagDescriptions[0].Tags[].Key") == ["c"]
        assert aws("describe-account-limits")["Limits"]
        aws.refused("TargetGroupNotFound", "describe-target-health", "--target-group-arn", NO_GROUP)
        aws.refused("InvalidTarget", "register-targets", *of_group, "--targets", "Id=nowhere")
        aws.refused("ValidationError", "create-load-balancer", "--name=-x", part="Name")
        aws("delete-target-group", *of_group)
        aws("delete-load-balancer", *of_balancer)
        aws("wait", "load-balancers-deleted", "--load-balancer-arns", balancer)
        aws.refused("LoadBalancerNotFound", "describe-load-balancers", "--names", "typed")
