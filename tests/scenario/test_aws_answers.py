"""Answers that tools compare with AWS's: a row has a request, the page of AWS that describes it, and what is expected."""
import pytest
from botocore.exceptions import ClientError

ECS = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_"
ELB = "https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_"
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
     ELB + "CreateListener.html", "ValidationError", None),
    ("elbv2", "create_listener", {"LoadBalancerArn": "app", "Port": 81, "Protocol": "TCP", "DefaultActions": "http"},
     ELB + "CreateListener.html", "ValidationError", None),
    ("elbv2", "create_listener", {"LoadBalancerArn": "app", "Port": 81, "Protocol": "HTTP", "DefaultActions": [
        {"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "302"}}]},
     ELB + "FixedResponseActionConfig.html", "ValidationError", STATUS),
    ("elbv2", "create_target_group", {"Name": "slow", "Protocol": "HTTP", "Port": 80, "VpcId": "vpc-1",
                                      "HealthCheckIntervalSeconds": 10, "HealthCheckTimeoutSeconds": 10},
     ELB + "CreateTargetGroup.html", "ValidationError", None),
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

    def group(name, protocol):
        return elb.create_target_group(Name=name, Protocol=protocol, Port=80, VpcId="vpc-1", TargetType="ip")[
            "TargetGroups"][0]["TargetGroupArn"]

    def balancer(name, kind):
        return elb.create_load_balancer(Name=name, Type=kind, Subnets=["subnet-1", "subnet-2"])["LoadBalancers"][0][
            "LoadBalancerArn"]

    def forward(arn):
        return [{"Type": "forward", "TargetGroupArn": arn}]

    found = {"server": slipway, "net": balancer("net", "network"), "app": balancer("app", "application"),
             "tcp": forward(group("tcp", "TCP")), "http": forward(group("http", "HTTP"))}
    found["listener"] = elb.create_listener(LoadBalancerArn=found["app"], Port=8080, Protocol="HTTP",
                                            DefaultActions=found["http"])["Listeners"][0]["ListenerArn"]
    return found


@pytest.mark.parametrize("service, operation, request_, page, code, message", REFUSED,
                         ids=[f"{row[1]}-{row[4]}-{number}" for number, row in enumerate(REFUSED)])
def test_refusals(things, service, operation, request_, page, code, message):
    values = {name: things.get(value, value) if isinstance(value, str) else value for name, value in request_.items()}
    with pytest.raises(ClientError) as refused:
        getattr(client(things["server"], service), operation)(**values)
    error = refused.value.response["Error"]
    assert error["Code"] == code, page
    assert message is None or error["Message"] == message, page


def test_a_missing_service_by_its_bare_name(things):
    """API_DescribeServices.html: the failure has the name as it was given, without a cluster."""
    failure, = things["server"].boto("ecs").describe_services(services=["none"])["failures"]
    assert failure["arn"].endswith(":service/none") and failure["reason"] == "MISSING"


@pytest.mark.parametrize("timeout", [{}, {"HealthCheckTimeoutSeconds": 10}])
def test_health_checks_of_network_groups_may_take_the_whole_interval(things, timeout):
    """API_CreateTargetGroup.html: an interval of 10 seconds with the default timeout, which is 10 seconds."""
    group = things["server"].boto("elbv2").create_target_group(
        Name=f"tight-{len(timeout)}", Protocol="TCP", Port=80, VpcId="vpc-1", HealthCheckIntervalSeconds=10, **timeout)[
            "TargetGroups"][0]
    assert (group["HealthCheckIntervalSeconds"], group["HealthCheckTimeoutSeconds"]) == (10, 10)
