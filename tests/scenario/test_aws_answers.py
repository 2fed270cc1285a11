"""Answers that tools compare with AWS's: a row has a request, the page of AWS that describes it, and what is expected."""
import pytest
from botocore.exceptions import ClientError

from conftest import REGION
from ecs_requests import ACCOUNT

ECS = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_"
ELB = "https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_"
MAP = "https://docs.aws.amazon.com/cloud-map/latest/api/API_"
STICKY = "https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html"
POLICIES = "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/describe-ssl-policies.html"
STATUS = ("1 validation error detected: Value '302' at 'fixedResponseConfig.statusCode' failed to satisfy constraint: "
          r"Member must satisfy regular expression pattern: ^(2|4|5)\d\d$")

REFUSED = [
    # service, operation, request, page, code, message or a part of it
    ("ecs", "describe_services", {"cluster": "none", "services": ["a"]}, ECS + "DescribeServices.html",
     "ClusterNotFoundException", "Cluster not found."),
    ("ecs", "delete_cluster", {"cluster": "none"}, ECS + "DeleteCluster.html", "ClusterNotFoundException",
     "Cluster not found."),
    ("ecs", "describe_container_instances", {"containerInstances": []}, ECS + "DescribeContainerInstances.html",
     "InvalidParameterException", "Container instance cannot be empty."),
    ("ecs", "deregister_task_definition", {"taskDefinition": "web"}, ECS + "DeregisterTaskDefinition.html",
     "ClientException", "Revision is missing."),
    ("elbv2", "describe_target_groups", {"Names": ["none"]}, ELB + "DescribeTargetGroups.html", "TargetGroupNotFound",
     "One or more target groups not found"),
    ("elbv2", "create_listener", {"LoadBalancerArn": "net", "Port": 81, "Protocol": "HTTP", "DefaultActions": "tcp"},
     ELB + "CreateListener.html", "ValidationError", "Listener protocol 'HTTP' must be one of 'UDP, TCP, TLS, TCP_UDP'"),
    ("elbv2", "create_listener", {"LoadBalancerArn": "app", "Port": 81, "Protocol": "TCP", "DefaultActions": "http"},
     ELB + "CreateListener.html", "ValidationError", "Listener protocol 'TCP' must be one of 'HTTPS, HTTP'"),
    ("elbv2", "create_listener", {"LoadBalancerArn": "app", "Protocol": "HTTP", "DefaultActions": "http"},
     ELB + "CreateListener.html", "ValidationError", "A listener port must be specified"),
    ("elbv2", "create_listener", {"LoadBalancerArn": "app", "Port": 81, "DefaultActions": "http"},
     ELB + "CreateListener.html", "ValidationError", "A listener protocol must be specified"),
    ("elbv2", "create_listener", {"LoadBalancerArn": "app", "Port": 65536, "Protocol": "X", "DefaultActions": [
        {"Type": "forwards"}]}, ELB + "CreateListener.html", "ValidationError", [
            "3 validation errors detected: ",
            "Value 'X' at 'protocol' failed to satisfy constraint: Member must satisfy enum value set: [GENEVE, HTTP, ",
            "Value '65536' at 'port' failed to satisfy constraint: Member must have value less than or equal to 65535",
            "Value 'forwards' at 'defaultActions.1.member.type' failed to satisfy constraint: "
            "Member must satisfy enum value set: ["]),
    ("elbv2", "describe_rules", {"PageSize": 0}, ELB + "DescribeRules.html", "ValidationError",
     "1 validation error detected: Value '0' at 'pageSize' failed to satisfy constraint: "
     "Member must have value greater than or equal to 1"),
    ("elbv2", "create_load_balancer", {}, ELB + "CreateLoadBalancer.html", "ValidationError",
     "1 validation error detected: Value null at 'name' failed to satisfy constraint: Member must not be null"),
    ("elbv2", "create_rule", {"ListenerArn": "listener", "Priority": 1, "Actions": "http", "Conditions": [
        {"Field": "host-header", "Values": ["a.test", "b.test"]}]}, ELB + "RuleCondition.html", "ValidationError",
     "The 'host-header' field contains too many values; the limit is '1'"),
    ("elbv2", "create_rule", {"ListenerArn": "listener", "Priority": 1, "Actions": "http", "Conditions": [
        {"Field": "path-pattern", "Values": ["/a", "/b"]}]}, ELB + "RuleCondition.html", "ValidationError",
     "The 'path-pattern' field contains too many values; the limit is '1'"),
    ("elbv2", "create_rule", {"ListenerArn": "listener", "Priority": 1, "Actions": "http", "Conditions": [
        {"Field": "path-pattern"}]}, ELB + "RuleCondition.html", "ValidationError", "A condition value must be specified"),
    ("elbv2", "modify_target_group_attributes", {"TargetGroupArn": "tls", "Attributes": [
        {"Key": "stickiness.enabled", "Value": "true"}]}, STICKY, "InvalidConfigurationRequest",
     "You cannot enable stickiness on target groups with the TLS protocol"),
    ("servicediscovery", "get_service", {}, MAP + "GetService.html", "InvalidInput",
     "1 validation error detected: Value null at 'id' failed to satisfy constraint: Member must not be null"),
    ("servicediscovery", "create_service", {"Name": "a", "DnsConfig": {"DnsRecords": [{"Type": "MX", "TTL": 5}]}},
     MAP + "CreateService.html", "InvalidInput",
     "1 validation error detected: Value 'MX' at 'dnsConfig.dnsRecords.1.member.type' failed to satisfy constraint: "
     "Member must satisfy enum value set: [A, AAAA, CNAME, SRV]"),
    ("servicediscovery", "list_namespaces", {"MaxResults": 101}, MAP + "ListNamespaces.html", "InvalidInput",
     "1 validation error detected: Value '101' at 'maxResults' failed to satisfy constraint: "
     "Member must have value less than or equal to 100"),
    ("elbv2", "create_listener", {"LoadBalancerArn": "app", "Port": 81, "Protocol": "HTTP", "DefaultActions": [
        {"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "302"}}]},
     ELB + "FixedResponseActionConfig.html", "ValidationError", STATUS),
    ("elbv2", "create_target_group", {"Name": "slow", "Protocol": "HTTP", "Port": 80, "VpcId": "vpc-1",
                                      "HealthCheckIntervalSeconds": 10, "HealthCheckTimeoutSeconds": 10},
     ELB + "CreateTargetGroup.html", "ValidationError",
     "Health check timeout '10' must be smaller than the interval '10'"),
]

TIGHT = {"Protocol": "TCP", "Port": 80, "VpcId": "vpc-1", "HealthCheckIntervalSeconds": 10}
TEN = {"HealthCheckIntervalSeconds": 10, "HealthCheckTimeoutSeconds": 10}
VOLUME = {"name": "data", "efsVolumeConfiguration": {"fileSystemId": "fs-1"}}

ANSWERED = [
    # service, operation, request, page, where in the answer, what is expected there (of objects: what it has at least)
    ("ecs", "describe_services", {"services": ["none"]}, ECS + "Failure.html", "failures.0",
     {"arn": f"arn:aws:ecs:{REGION}:{ACCOUNT}:service/none", "reason": "MISSING"}),
    ("ecs", "create_cluster", {"clusterName": "meshed", "serviceConnectDefaults": {"namespace": "new"}},
     ECS + "ClusterServiceConnectDefaultsRequest.html", "cluster", {"clusterName": "meshed"}),
    ("servicediscovery", "list_namespaces", {"Filters": [{"Name": "NAME", "Values": ["mesh"]}]},
     ECS + "ClusterServiceConnectDefaultsRequest.html", "Namespaces.0", {"Type": "HTTP", "Properties": {
         "DnsProperties": {}, "HttpProperties": {"HttpName": "mesh"}}}),
    ("ecs", "register_task_definition", {"family": "efs", "volumes": [VOLUME], "containerDefinitions": [
        {"name": "a", "image": "host", "memory": 16}]}, ECS + "EFSVolumeConfiguration.html",
     "taskDefinition.volumes.0.efsVolumeConfiguration", {"fileSystemId": "fs-1", "rootDirectory": "/"}),
    ("elbv2", "create_target_group", {"Name": "tight", **TIGHT}, ELB + "CreateTargetGroup.html", "TargetGroups.0", TEN),
    ("elbv2", "create_target_group", {"Name": "tight2", **TIGHT, **TEN}, ELB + "CreateTargetGroup.html",
     "TargetGroups.0", TEN),
    ("elbv2", "describe_load_balancers", {"Names": ["app"]}, ELB + "AvailabilityZone.html",
     "LoadBalancers.0.AvailabilityZones", [{"SubnetId": "subnet-1", "ZoneName": f"{REGION}a"},
                                           {"SubnetId": "subnet-2", "ZoneName": f"{REGION}b"}]),
    ("elbv2", "describe_ssl_policies", {"Names": ["ELBSecurityPolicy-2016-08"]}, POLICIES, "SslPolicies.0",
     {"SslProtocols": ["TLSv1", "TLSv1.1", "TLSv1.2"]}),
    ("elbv2", "describe_ssl_policies", {"Names": ["ELBSecurityPolicy-TLS13-1-2-2021-06"]}, POLICIES, "SslPolicies.0",
     {"SslProtocols": ["TLSv1.2", "TLSv1.3"]}),
]

SERVER_ARGUMENTS = ["--runtime", "none"]


def client(server, service):
    """Sends what botocore itself would refuse."""
    return server.boto(service, parameter_validation=False)


@pytest.fixture(scope="module", name="things")
def make_things(slipway):
    """Names of the table, and what they stand for."""
    elb = slipway.boto("elbv2")
    slipway.boto("ecs").create_cluster()
    slipway.boto("ecs").create_cluster(clusterName="other", serviceConnectDefaults={"namespace": "mesh"})

    def group(name, protocol):
        return elb.create_target_group(Name=name, Protocol=protocol, Port=80, VpcId="vpc-1", TargetType="ip")[
            "TargetGroups"][0]["TargetGroupArn"]

    def balancer(name, kind):
        return elb.create_load_balancer(Name=name, Type=kind, Subnets=["subnet-1", "subnet-2"])["LoadBalancers"][0][
            "LoadBalancerArn"]

    def forward(arn):
        return [{"Type": "forward", "TargetGroupArn": arn}]

    found = {"server": slipway, "net": balancer("net", "network"), "app": balancer("app", "application"),
             "tcp": forward(group("tcp", "TCP")), "http": forward(group("http", "HTTP")),
             "tls": group("tls", "TLS")}
    found["listener"] = elb.create_listener(LoadBalancerArn=found["app"], Port=8080, Protocol="HTTP",
                                            DefaultActions=found["http"])["Listeners"][0]["ListenerArn"]
    return found


def send(things, service, operation, request):
    values = {name: things.get(value, value) if isinstance(value, str) else value for name, value in request.items()}
    return getattr(client(things["server"], service), operation)(**values)


def names_of(rows):
    return [f"{row[1]}-{number}" for number, row in enumerate(rows)]


@pytest.mark.parametrize("service, operation, request_, page, code, message", REFUSED, ids=names_of(REFUSED))
def test_refusals(things, service, operation, request_, page, code, message):
    """A message is compared word for word; a list has parts of one whose order is not AWS's promise."""
    with pytest.raises(ClientError) as refused:
        send(things, service, operation, request_)
    error = refused.value.response["Error"]
    assert error["Code"] == code, page
    if isinstance(message, list):
        assert error["Message"].startswith(message[0]), page
        assert all(part in error["Message"] for part in message), (error["Message"], page)
    else:
        assert error["Message"] == message, page


@pytest.mark.parametrize("service, operation, request_, page, where, expected", ANSWERED, ids=names_of(ANSWERED))
def test_answers(things, service, operation, request_, page, where, expected):
    found = send(things, service, operation, request_)
    for step in where.split("."):
        found = found[int(step) if step.isdigit() else step]
    if isinstance(expected, dict):
        found = {name: found.get(name) for name in expected}
    assert found == expected, page
