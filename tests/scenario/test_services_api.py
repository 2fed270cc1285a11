"""Services, task sets, service deployments and revisions, as far as no task runs: valid requests,
their answers, refusals, and the state after a restart."""
import json
import uuid

import pytest

from conftest import wait_until
from ecs_requests import (ACCOUNT, all_pages, arn, cli_refused, container, refused, send,
                          send_refused)

# Nothing runs here: there is no instance, so what is wanted stays wanted.
SERVER_ARGUMENTS = ["--runtime", "none"]

pytestmark = pytest.mark.sanitized

NETWORK = {"awsvpcConfiguration": {"subnets": ["subnet-1"], "securityGroups": ["sg-1"]}}


@pytest.fixture(scope="module")
def ecs(slipway):
    client = slipway.boto("ecs")
    client.create_cluster(clusterName="default")
    for _ in range(3):
        client.register_task_definition(family="web", containerDefinitions=[container()])
    client.register_task_definition(
        family="vpc", networkMode="awsvpc", cpu="256", memory="512",
        requiresCompatibilities=["FARGATE"], containerDefinitions=[container()])
    client.deregister_task_definition(taskDefinition="web:3")
    return client


@pytest.fixture
def cluster(ecs):
    """An empty cluster of one's own."""
    name = "c" + uuid.uuid4().hex
    ecs.create_cluster(clusterName=name)
    return name


def create(ecs, cluster, name="s", **members):
    return ecs.create_service(cluster=cluster, serviceName=name,
                              **{"taskDefinition": "web:1", "desiredCount": 2, **members})["service"]


def described(ecs, cluster, name="s", **parameters):
    answer = ecs.describe_services(cluster=cluster, services=[name], **parameters)
    assert answer["failures"] == [], answer["failures"]
    return answer["services"][0]


# ---- create and describe ----

def test_what_was_asked_for_comes_back(ecs, cluster):
    wanted = {
        "deploymentConfiguration": {
            "maximumPercent": 150, "minimumHealthyPercent": 50,
            "deploymentCircuitBreaker": {"enable": True, "rollback": True}},
        "placementConstraints": [{"type": "distinctInstance"},
                                 {"type": "memberOf",
                                  "expression": "attribute:ecs.os-type == linux"}],
        "placementStrategy": [{"type": "spread", "field": "attribute:ecs.availability-zone"},
                              {"type": "binpack", "field": "memory"}],
        "healthCheckGracePeriodSeconds": 30, "enableECSManagedTags": True,
        "propagateTags": "TASK_DEFINITION", "enableExecuteCommand": True,
        "tags": [{"key": "team", "value": "shop"}]}
    service = create(ecs, cluster, **wanted)
    assert service["serviceArn"] == arn(f"service/{cluster}/s")
    assert service["clusterArn"] == arn(f"cluster/{cluster}")
    assert service["serviceName"] == "s" and service["status"] == "ACTIVE"
    assert service["taskDefinition"] == arn("task-definition/web:1")
    assert service["launchType"] == "EC2" and service["schedulingStrategy"] == "REPLICA"
    assert service["deploymentController"] == {"type": "ECS"}
    assert (service["desiredCount"], service["runningCount"], service["pendingCount"]) == (2, 0, 0)
    assert service["createdBy"] == f"arn:aws:iam::{ACCOUNT}:user/admin"
    assert service["loadBalancers"] == [] and service["serviceRegistries"] == []
    for name, value in wanted.items():
        if name == "deploymentConfiguration":
            assert {key: service[name][key] for key in value} == value
        else:
            assert service[name] == value
    deployment, = service["deployments"]
    assert deployment["id"].startswith("ecs-svc/") and deployment["status"] == "PRIMARY"
    assert deployment["rolloutState"] == "IN_PROGRESS"
    assert deployment["rolloutStateReason"] == f"ECS deployment {deployment['id']} in progress."
    assert deployment["taskDefinition"] == arn("task-definition/web:1")
    assert deployment["desiredCount"] == 2 and deployment["failedTasks"] == 0
    assert described(ecs, cluster, include=["TAGS"])["tags"] == wanted["tags"]
    assert "tags" not in described(ecs, cluster)


def test_defaults(ecs, cluster):
    service = create(ecs, cluster, taskDefinition="web")
    assert service["taskDefinition"] == arn("task-definition/web:2")  # the newest that is ACTIVE
    assert service["deploymentConfiguration"]["maximumPercent"] == 200
    assert service["deploymentConfiguration"]["minimumHealthyPercent"] == 100
    assert service["deploymentConfiguration"]["deploymentCircuitBreaker"] == {
        "enable": False, "rollback": False}
    assert service["propagateTags"] == "NONE" and service["enableECSManagedTags"] is False
    daemon = ecs.create_service(cluster=cluster, serviceName="d", taskDefinition="web",
                                schedulingStrategy="DAEMON")["service"]
    assert daemon["deploymentConfiguration"]["maximumPercent"] == 100
    assert daemon["deploymentConfiguration"]["minimumHealthyPercent"] == 0
    assert daemon["desiredCount"] == 0


def test_fargate_and_capacity_providers(ecs):
    ecs.create_cluster(
        clusterName="far", capacityProviders=["FARGATE", "FARGATE_SPOT"],
        defaultCapacityProviderStrategy=[{"capacityProvider": "FARGATE", "weight": 1}])
    by_type = create(ecs, "far", "t", taskDefinition="vpc", launchType="FARGATE",
                     networkConfiguration=NETWORK, platformVersion="1.4.0")
    assert by_type["platformVersion"] == "1.4.0" and by_type["platformFamily"] == "Linux"
    assert by_type["networkConfiguration"]["awsvpcConfiguration"] == {
        **NETWORK["awsvpcConfiguration"], "assignPublicIp": "DISABLED"}
    by_default = create(ecs, "far", "d", taskDefinition="vpc", networkConfiguration=NETWORK)
    assert "launchType" not in by_default
    assert by_default["capacityProviderStrategy"] == [
        {"capacityProvider": "FARGATE", "weight": 1, "base": 0}]
    assert by_default["platformVersion"] == "LATEST"
    spot = [{"capacityProvider": "FARGATE_SPOT", "weight": 1, "base": 0}]
    refused(ecs.update_service, "InvalidParameterException", "force a new deployment",
            cluster="far", service="d", capacityProviderStrategy=spot)
    changed = ecs.update_service(cluster="far", service="d", capacityProviderStrategy=spot,
                                 forceNewDeployment=True)["service"]
    assert changed["capacityProviderStrategy"] == spot and len(changed["deployments"]) == 2


REFUSED = [
    ({"serviceName": "a b"}, "InvalidParameterException", "serviceName"),
    ({"serviceName": "x" * 256}, "InvalidParameterException", "serviceName"),
    ({"desiredCount": None}, "InvalidParameterException", "desiredCount"),
    ({"desiredCount": -1}, "InvalidParameterException", "desiredCount"),
    ({"desiredCount": 100001}, "InvalidParameterException", "desiredCount"),
    ({"taskDefinition": None}, "InvalidParameterException", "taskDefinition"),
    ({"taskDefinition": "absent"}, "ClientException", "TaskDefinition not found"),
    ({"taskDefinition": "web:3"}, "ClientException", "TaskDefinition is inactive"),
    ({"cluster": "absent"}, "ClusterNotFoundException", "Cluster not found"),
    ({"launchType": "MOON"}, "InvalidParameterException", "launchType"),
    ({"launchType": "FARGATE"}, "InvalidParameterException", "launch_type FARGATE"),
    ({"launchType": "EC2", "capacityProviderStrategy": [{"capacityProvider": "FARGATE"}]},
     "InvalidParameterException", "both a launch type and capacity provider strategy"),
    ({"capacityProviderStrategy": [{"capacityProvider": "absent", "weight": 1}]},
     "InvalidParameterException", "was not found"),
    ({"platformVersion": "1.4.0"}, "InvalidParameterException", "platform version"),
    ({"networkConfiguration": NETWORK}, "InvalidParameterException", "networkMode"),
    ({"taskDefinition": "vpc"}, "InvalidParameterException", "Network Configuration"),
    ({"taskDefinition": "vpc", "launchType": "FARGATE", "networkConfiguration": NETWORK,
      "platformVersion": "0.0.1"}, "PlatformUnknownException", "0.0.1"),
    ({"taskDefinition": "vpc", "networkConfiguration": {"awsvpcConfiguration": {"subnets": []}}},
     "InvalidParameterException", "subnets"),
    ({"taskDefinition": "vpc",
      "networkConfiguration": {"awsvpcConfiguration": {"subnets": ["s"] * 17}}},
     "InvalidParameterException", "subnets"),
    ({"loadBalancers": [{"targetGroupArn": "arn:tg", "containerName": "app", "containerPort": 1}]},
     "InvalidParameterException", "arn:tg"),
    ({"loadBalancers": [{"loadBalancerName": "lb", "containerName": "app", "containerPort": 1}]},
     "InvalidParameterException", "lb"),
    ({"serviceRegistries": [{"registryArn": "arn:r"}]}, "InvalidParameterException", "arn:r"),
    ({"deploymentConfiguration": {"maximumPercent": 100}}, "InvalidParameterException",
     "cannot be 100"),
    ({"deploymentConfiguration": {"maximumPercent": 50}}, "InvalidParameterException",
     "maximumPercent"),
    ({"deploymentConfiguration": {"minimumHealthyPercent": -1}}, "InvalidParameterException",
     "minimumHealthyPercent"),
    ({"deploymentConfiguration": {"strategy": "CANARY"}}, "UnsupportedFeatureException", "CANARY"),
    ({"deploymentConfiguration": {"alarms": {"alarmNames": ["a"], "enable": True,
                                             "rollback": True}}},
     "InvalidParameterException", "alarm 'a'"),
    ({"deploymentController": {"type": "CODE_DEPLOY"}}, "InvalidParameterException",
     "load balancer"),
    ({"deploymentController": {"type": "EXTERNAL"}}, "InvalidParameterException", "must be blank"),
    ({"schedulingStrategy": "DAEMON"}, "InvalidParameterException", "desired count"),
    ({"schedulingStrategy": "DAEMON", "desiredCount": None,
      "placementStrategy": [{"type": "random"}]}, "InvalidParameterException",
     "placement strateg"),
    ({"schedulingStrategy": "DAEMON", "desiredCount": None, "taskDefinition": "vpc",
      "launchType": "FARGATE", "networkConfiguration": NETWORK}, "InvalidParameterException",
     "FARGATE"),
    ({"placementConstraints": [{"type": "memberOf", "expression": "attribute:"}]},
     "InvalidParameterException", "placementConstraints"),
    ({"placementConstraints": [{"type": "distinctInstance"}] * 11}, "InvalidParameterException",
     "placementConstraints"),
    ({"placementStrategy": [{"type": "random"}] * 6}, "InvalidParameterException",
     "placementStrategy"),
    ({"healthCheckGracePeriodSeconds": -1}, "InvalidParameterException",
     "healthCheckGracePeriodSeconds"),
    ({"role": "r"}, "InvalidParameterException", "role"),
    ({"clientToken": "t" * 37}, "InvalidParameterException", "clientToken"),
    ({"tags": [{"key": "aws:x", "value": "y"}]}, "InvalidParameterException", "aws:"),
    ({"serviceConnectConfiguration": {"enabled": True, "namespace": "ns"}},
     "NamespaceNotFoundException", "ns"),
    ({"volumeConfigurations": [{"name": "v"}]}, "UnsupportedFeatureException",
     "volumeConfigurations"),
]


@pytest.mark.parametrize("members,code,part", REFUSED,
                         ids=[f"{index}-{part}" for index, (_, _, part) in enumerate(REFUSED)])
def test_what_makes_no_service(slipway, ecs, members, code, part):
    request = {"serviceName": "refused", "taskDefinition": "web:1", "desiredCount": 1, **members}
    send_refused(slipway, "CreateService", request, code, part)
    failures = ecs.describe_services(services=["refused"])["failures"]
    assert failures == [{"arn": arn("service/refused"), "reason": "MISSING"}]


def test_a_request_sent_twice_makes_one_service(ecs, cluster):
    first = create(ecs, cluster, clientToken="once")
    again = create(ecs, cluster, clientToken="once")
    assert again["deployments"][0]["id"] == first["deployments"][0]["id"]
    for members in ({"clientToken": "once", "desiredCount": 3}, {"clientToken": "twice"}, {}):
        with pytest.raises(ecs.exceptions.InvalidParameterException) as caught:
            create(ecs, cluster, **members)
        assert "Creation of service was not idempotent." in str(caught.value)


def test_missing_services_are_failures(ecs, cluster):
    create(ecs, cluster)
    answer = ecs.describe_services(cluster=cluster, services=["s", "absent"])
    assert len(answer["services"]) == 1
    assert answer["failures"] == [{"arn": arn("service/absent"), "reason": "MISSING"}]
    elsewhere = arn(f"service/{cluster}/s")
    assert ecs.describe_services(services=[elsewhere])["failures"] == [
        {"arn": elsewhere, "reason": "MISSING"}]
    assert described(ecs, cluster, elsewhere)["serviceName"] == "s"
    refused(ecs.describe_services, "InvalidParameterException", "services",
            services=[str(i) for i in range(11)])
    refused(ecs.describe_services, "InvalidParameterException", "empty", services=[])
    refused(ecs.describe_services, "ClusterNotFoundException", "Cluster not found.", cluster="absent",
            services=["s"])


def test_lists_have_pages_and_filters(ecs, cluster):
    names = [f"s{index:02}" for index in range(23)]
    for name in names:
        create(ecs, cluster, name, desiredCount=0)
    ecs.create_service(cluster=cluster, serviceName="daemon", taskDefinition="web",
                       schedulingStrategy="DAEMON")
    expected = sorted(arn(f"service/{cluster}/{name}") for name in [*names, "daemon"])
    found, sizes = all_pages(ecs.list_services, "serviceArns", cluster=cluster)
    assert sorted(found) == expected and sizes == [10, 10, 4]
    found, sizes = all_pages(ecs.list_services, "serviceArns", cluster=cluster, maxResults=100)
    assert sorted(found) == expected and sizes == [24]
    assert ecs.list_services(cluster=cluster, schedulingStrategy="DAEMON")["serviceArns"] == [
        arn(f"service/{cluster}/daemon")]
    assert ecs.list_services(cluster=cluster, launchType="FARGATE")["serviceArns"] == []
    token = ecs.list_services(cluster=cluster)["nextToken"]
    refused(ecs.list_services, "InvalidParameterException", "nextToken", cluster=cluster,
            launchType="EC2", nextToken=token)
    refused(ecs.list_services, "InvalidParameterException", "maxResults", cluster=cluster,
            maxResults=0)
    refused(ecs.list_services, "ClusterNotFoundException", "Cluster not found.", cluster="absent")
    refused(ecs.list_services_by_namespace, "NamespaceNotFoundException", "ns", namespace="ns")


# ---- update ----

def test_what_needs_no_new_deployment(ecs, cluster):
    before = create(ecs, cluster)["deployments"][0]["id"]
    service = ecs.update_service(
        cluster=cluster, service="s", desiredCount=4, taskDefinition="web:1",
        deploymentConfiguration={"minimumHealthyPercent": 0}, healthCheckGracePeriodSeconds=9,
        placementConstraints=[{"type": "distinctInstance"}], propagateTags="SERVICE",
        enableExecuteCommand=True, enableECSManagedTags=True)["service"]
    assert [deployment["id"] for deployment in service["deployments"]] == [before]
    assert service["desiredCount"] == 4 and service["deployments"][0]["desiredCount"] == 4
    assert service["deploymentConfiguration"]["minimumHealthyPercent"] == 0
    assert service["deploymentConfiguration"]["maximumPercent"] == 200
    assert service["healthCheckGracePeriodSeconds"] == 9
    assert service["propagateTags"] == "SERVICE" and service["enableExecuteCommand"] is True
    assert ecs.update_service(cluster=cluster, service="s", placementConstraints=[])["service"][
        "placementConstraints"] == []


def test_what_needs_one(ecs, cluster):
    first = create(ecs, cluster)["deployments"][0]["id"]
    service = ecs.update_service(cluster=cluster, service=arn(f"service/{cluster}/s"),
                                 taskDefinition="web:2")["service"]
    assert service["taskDefinition"] == arn("task-definition/web:2")
    assert [(one["status"], one["taskDefinition"]) for one in service["deployments"]] == [
        ("PRIMARY", arn("task-definition/web:2")), ("ACTIVE", arn("task-definition/web:1"))]
    assert service["deployments"][1]["id"] == first
    second = service["deployments"][0]["id"]
    service = ecs.update_service(cluster=cluster, service="s", forceNewDeployment=True)["service"]
    assert service["deployments"][0]["id"] not in (first, second)
    assert service["deployments"][0]["taskDefinition"] == arn("task-definition/web:2")
    # Those that have no task go by themselves.
    wait_until(lambda: len(described(ecs, cluster)["deployments"]) == 1,
               "deployments without tasks leave")


@pytest.mark.parametrize("members,code,part", [
    ({"service": "absent"}, "ServiceNotFoundException", "absent"),
    ({"service": ""}, "InvalidParameterException", "service"),
    ({"cluster": "absent"}, "ClusterNotFoundException", "Cluster not found."),
    ({"desiredCount": -1}, "InvalidParameterException", "desiredCount"),
    ({"taskDefinition": "absent"}, "ClientException", "TaskDefinition not found"),
    ({"taskDefinition": "web:3"}, "ClientException", "TaskDefinition is inactive"),
    ({"taskDefinition": "vpc"}, "InvalidParameterException", "Network Configuration"),
    ({"deploymentConfiguration": {"maximumPercent": 100}}, "InvalidParameterException",
     "cannot be 100"),
    ({"deploymentController": {"type": "EXTERNAL"}}, "InvalidParameterException",
     "deploymentController"),
    ({"loadBalancers": [{"targetGroupArn": "arn:tg"}]}, "InvalidParameterException", "arn:tg"),
    ({"placementStrategy": [{"type": "spread", "field": "nonsense"}]},
     "InvalidParameterException", "placementStrategy"),
    ({"platformVersion": "1.4.0"}, "InvalidParameterException", "platform version"),
])
def test_refused_updates_change_nothing(slipway, ecs, members, code, part):
    if not ecs.describe_services(services=["kept"])["services"]:
        create(ecs, "default", "kept")
    before = described(ecs, "default", "kept")
    send_refused(slipway, "UpdateService", {"service": "kept", **members}, code, part)
    after = described(ecs, "default", "kept")
    for unsteady in ("events",):
        before.pop(unsteady)
        after.pop(unsteady)
    assert after == before


# ---- delete ----

def test_the_way_out(ecs, cluster):
    create(ecs, cluster)
    refused(ecs.delete_service, "InvalidParameterException",
            "The service cannot be stopped while it is scaled above 0.", cluster=cluster,
            service="s")
    scaled = ecs.update_service(cluster=cluster, service="s", desiredCount=0)["service"]
    assert scaled["status"] == "ACTIVE"
    deleted = ecs.delete_service(cluster=cluster, service="s")["service"]
    assert deleted["status"] == "DRAINING" and deleted["desiredCount"] == 0
    ecs.get_waiter("services_inactive").wait(cluster=cluster, services=["s"],
                                             WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    assert described(ecs, cluster)["deployments"] == []
    assert ecs.list_services(cluster=cluster)["serviceArns"] == []
    refused(ecs.update_service, "ServiceNotActiveException", "not ACTIVE", cluster=cluster,
            service="s", desiredCount=1)
    refused(ecs.delete_service, "ServiceNotFoundException", "s", cluster=cluster, service="s")
    refused(ecs.delete_service, "ServiceNotFoundException", "absent", cluster=cluster,
            service="absent")
    # The name is free again.
    assert create(ecs, cluster)["status"] == "ACTIVE"
    assert ecs.delete_service(cluster=cluster, service="s", force=True)["service"][
        "status"] == "DRAINING"


def test_daemons_need_no_force(ecs, cluster):
    ecs.create_service(cluster=cluster, serviceName="d", taskDefinition="web",
                       schedulingStrategy="DAEMON")
    refused(ecs.update_service, "InvalidParameterException", "desired count", cluster=cluster,
            service="d", desiredCount=1)
    assert ecs.delete_service(cluster=cluster, service="d")["service"]["status"] == "DRAINING"


# ---- service deployments and revisions: newer than Debian's botocore ----

def deployments_of(slipway, cluster, **parameters):
    return send(slipway, "ListServiceDeployments",
                {"cluster": cluster, "service": "s", **parameters}).json["serviceDeployments"]


def test_deployments_and_revisions(slipway, ecs, cluster):
    create(ecs, cluster)
    ecs.update_service(cluster=cluster, service="s", taskDefinition="web:2")
    newest, oldest = deployments_of(slipway, cluster)
    assert newest["status"] == "IN_PROGRESS" and oldest["status"] == "STOPPED"
    assert newest["serviceArn"] == arn(f"service/{cluster}/s")
    assert oldest["finishedAt"] >= oldest["createdAt"]
    assert deployments_of(slipway, cluster, status=["STOPPED"]) == [oldest]
    assert deployments_of(slipway, cluster, createdAt={"before": oldest["createdAt"]}) == []
    assert len(deployments_of(slipway, cluster, maxResults=1)) == 1
    shown = send(slipway, "DescribeServiceDeployments", {"serviceDeploymentArns": [
        newest["serviceDeploymentArn"]]}).json["serviceDeployments"][0]
    assert shown["targetServiceRevision"]["requestedTaskCount"] == 2
    assert [one["arn"] for one in shown["sourceServiceRevisions"]] == [
        oldest["targetServiceRevisionArn"]]
    revisions = send(slipway, "DescribeServiceRevisions", {"serviceRevisionArns": [
        one["targetServiceRevisionArn"] for one in (newest, oldest)]}).json["serviceRevisions"]
    assert [one["taskDefinition"] for one in revisions] == [
        arn("task-definition/web:2"), arn("task-definition/web:1")]
    service = send(slipway, "DescribeServices", {"cluster": cluster, "services": ["s"]}).json[
        "services"][0]
    assert service["currentServiceDeployment"] == newest["serviceDeploymentArn"]


def test_a_deployment_is_stopped(slipway, ecs, cluster):
    create(ecs, cluster)
    target = deployments_of(slipway, cluster)[0]["serviceDeploymentArn"]
    answer = send(slipway, "StopServiceDeployment",
                  {"serviceDeploymentArn": target, "stopType": "ABORT"})
    assert answer.json == {"serviceDeploymentArn": target}
    wait_until(lambda: deployments_of(slipway, cluster)[0]["status"] == "STOPPED", "it stops")
    answer = send(slipway, "StopServiceDeployment", {"serviceDeploymentArn": target})
    assert answer.status == 400 and answer.json["__type"] == "ConflictException"
    assert answer.json["resourceIds"] == [target]


@pytest.mark.parametrize("operation,request_,code,part", [
    ("ListServiceDeployments", {"service": "absent"}, "ServiceNotFoundException", "absent"),
    ("ListServiceDeployments", {"service": "s", "cluster": "absent"}, "ClusterNotFoundException",
     "Cluster not found."),
    ("ListServiceDeployments", {"service": "s", "status": ["ASLEEP"]},
     "InvalidParameterException", "status"),
    ("DescribeServiceDeployments", {"serviceDeploymentArns": []}, "InvalidParameterException",
     "serviceDeploymentArns"),
    ("DescribeServiceDeployments", {"serviceDeploymentArns": ["x"] * 21},
     "InvalidParameterException", "serviceDeploymentArns"),
    ("DescribeServiceRevisions", {"serviceRevisionArns": ["x"]}, "InvalidParameterException",
     "serviceRevisionArns"),
    ("StopServiceDeployment", {"serviceDeploymentArn": "x"}, "InvalidParameterException", "ARN"),
    ("StopServiceDeployment", {"serviceDeploymentArn": arn("service-deployment/default/s/1")},
     "ServiceDeploymentNotFoundException", "default/s/1"),
    ("StopServiceDeployment", {"serviceDeploymentArn": arn("service-deployment/default/s/1"),
                               "stopType": "SOON"}, "InvalidParameterException", "stopType"),
    ("ContinueServiceDeployment", {"serviceDeploymentArn": arn("service-deployment/default/s/1"),
                                   "hookId": "h"}, "ServiceDeploymentNotFoundException",
     "default/s/1"),
])
def test_bad_questions_about_deployments(slipway, ecs, operation, request_, code, part):
    assert ecs  # the cluster is there
    send_refused(slipway, operation, request_, code, part)


# ---- task sets ----

@pytest.fixture
def external(ecs, cluster):
    """A service with an EXTERNAL controller in a cluster of its own."""
    ecs.create_service(cluster=cluster, serviceName="s", desiredCount=10,
                       deploymentController={"type": "EXTERNAL"})
    return {"cluster": cluster, "service": "s"}


def percent(value):
    return {"value": value, "unit": "PERCENT"}


def test_task_sets_of_a_service(ecs, external):
    blue = ecs.create_task_set(**external, taskDefinition="web:1", externalId="blue",
                               scale=percent(33.3), tags=[{"key": "a", "value": "b"}])["taskSet"]
    assert blue["status"] == "ACTIVE" and blue["stabilityStatus"] == "STABILIZING"
    assert blue["computedDesiredCount"] == 4 and blue["scale"] == percent(33.3)
    assert blue["taskSetArn"] == arn(f"task-set/{external['cluster']}/s/{blue['id']}")
    assert blue["externalId"] == "blue" and blue["tags"] == [{"key": "a", "value": "b"}]
    green = ecs.create_task_set(**external, taskDefinition="web:2")["taskSet"]
    assert green["scale"] == percent(0.0) and green["computedDesiredCount"] == 0
    assert ecs.update_service_primary_task_set(
        **external, primaryTaskSet=blue["taskSetArn"])["taskSet"]["status"] == "PRIMARY"
    ecs.update_service(**external, desiredCount=3)
    assert ecs.update_task_set(**external, taskSet=green["id"], scale=percent(50))["taskSet"][
        "computedDesiredCount"] == 2
    ecs.update_service_primary_task_set(**external, primaryTaskSet=green["id"])
    answer = ecs.describe_task_sets(**external, include=["TAGS"])
    assert [(one["status"], one["computedDesiredCount"]) for one in answer["taskSets"]] == [
        ("ACTIVE", 1), ("PRIMARY", 2)]
    assert answer["taskSets"][0]["tags"] == [{"key": "a", "value": "b"}]
    service = described(ecs, external["cluster"])
    assert service["taskDefinition"] == arn("task-definition/web:2")
    assert [one["id"] for one in service["taskSets"]] == [blue["id"], green["id"]]
    refused(ecs.delete_task_set, "InvalidParameterException", "scaled above 0", **external,
            taskSet=blue["id"])
    assert ecs.delete_task_set(**external, taskSet=blue["id"], force=True)["taskSet"][
        "status"] == "DRAINING"
    wait_until(lambda: len(ecs.describe_task_sets(**external)["taskSets"]) == 1,
               "a task set without tasks goes")


def test_a_task_set_without_tasks_is_steady(ecs, external):
    made = ecs.create_task_set(**external, taskDefinition="web:1")["taskSet"]

    def status():
        return ecs.describe_task_sets(**external, taskSets=[made["id"]])["taskSets"][0][
            "stabilityStatus"]
    wait_until(lambda: status() == "STEADY_STATE", "nothing is wanted and nothing runs")
    assert ecs.update_task_set(**external, taskSet=made["id"], scale=percent(100))["taskSet"][
        "stabilityStatus"] == "STABILIZING"


def test_a_task_set_is_made_once(ecs, external):
    def make(**members):
        return ecs.create_task_set(**external, taskDefinition="web:1", clientToken="t",
                                   **members)["taskSet"]
    assert make()["id"] == make()["id"]
    with pytest.raises(ecs.exceptions.InvalidParameterException):
        make(externalId="other")
    for _ in range(4):
        ecs.create_task_set(**external, taskDefinition="web:1")
    refused(ecs.create_task_set, "InvalidParameterException", "exceeds the maximum limit",
            **external, taskDefinition="web:1")


def test_bad_task_sets(ecs, external):
    create(ecs, external["cluster"], "plain", desiredCount=0)
    plain = {**external, "service": "plain"}
    for call, members in (
            (ecs.create_task_set, {"taskDefinition": "web"}), (ecs.describe_task_sets, {}),
            (ecs.update_task_set, {"taskSet": "ecs-svc/1", "scale": percent(1)}),
            (ecs.update_service_primary_task_set, {"primaryTaskSet": "ecs-svc/1"}),
            (ecs.delete_task_set, {"taskSet": "ecs-svc/1"})):
        refused(call, "InvalidParameterException", "external deployment controllers", **plain,
                **members)
        refused(call, "ServiceNotFoundException", "absent",
                **{**external, "service": "absent"}, **members)
        refused(call, "ClusterNotFoundException", "Cluster not found.",
                **{**external, "cluster": "absent"}, **members)
        if "taskDefinition" not in members and members:
            refused(call, "TaskSetNotFoundException", "ecs-svc/1", **external, **members)
    assert ecs.describe_task_sets(**external, taskSets=["ecs-svc/1"])["failures"] == [
        {"arn": arn(f"task-set/{external['cluster']}/s/ecs-svc/1"), "reason": "MISSING"}]
    for members, part in (({"taskDefinition": "web", "scale": percent(100.1)}, "scale"),
                          ({"taskDefinition": "web", "networkConfiguration": NETWORK},
                           "networkMode"),
                          ({"taskDefinition": "web", "externalId": "x" * 256}, "externalId"),
                          ({"taskDefinition": "web", "launchType": "FARGATE"}, "FARGATE")):
        refused(ecs.create_task_set, "InvalidParameterException", part, **external, **members)
    refused(ecs.update_service, "InvalidParameterException", "CreateTaskSet", **external,
            taskDefinition="web")
    refused(ecs.create_service, "InvalidParameterException", "launchType",
            cluster=external["cluster"], serviceName="x", launchType="EC2",
            deploymentController={"type": "EXTERNAL"})


def test_an_external_service_goes_with_its_sets(ecs, external):
    ecs.create_task_set(**external, taskDefinition="web:1")
    ecs.update_service(**external, desiredCount=0)
    refused(ecs.delete_service, "InvalidParameterException", "task sets", **external)
    ecs.delete_service(**external, force=True)
    ecs.get_waiter("services_inactive").wait(cluster=external["cluster"], services=["s"],
                                             WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    refused(ecs.create_task_set, "ServiceNotActiveException", "ACTIVE", **external,
            taskDefinition="web")


# ---- the aws command, policies, restarts ----

def test_the_aws_command(slipway, ecs, cluster):
    assert ecs
    in_cluster = ("--cluster", cluster)
    made = slipway.aws("ecs", "create-service", *in_cluster, "--service-name", "s",
                       "--task-definition", "web:1", "--desired-count", "1").json["service"]
    assert made["status"] == "ACTIVE"
    assert slipway.aws("ecs", "list-services", *in_cluster).json["serviceArns"] == [
        made["serviceArn"]]
    changed = slipway.aws("ecs", "update-service", *in_cluster, "--service", "s",
                          "--task-definition", "web:2", "--force-new-deployment").json["service"]
    assert len(changed["deployments"]) == 2
    shown = slipway.aws("ecs", "describe-services", *in_cluster, "--services", "s", "x").json
    assert shown["services"][0]["serviceName"] == "s" and len(shown["failures"]) == 1
    cli_refused(slipway, "InvalidParameterException", "scaled above 0", "delete-service",
                *in_cluster, "--service", "s")
    cli_refused(slipway, "InvalidParameterException", "idempotent", "create-service", *in_cluster,
                "--service-name", "s", "--task-definition", "web:1", "--desired-count", "1")
    cli_refused(slipway, "ServiceNotFoundException", "absent", "update-service", *in_cluster,
                "--service", "absent")
    slipway.aws("ecs", "delete-service", *in_cluster, "--service", "s", "--force")
    slipway.aws("ecs", "wait", "services-inactive", *in_cluster, "--services", "s")
    slipway.aws("ecs", "create-service", *in_cluster, "--service-name", "e", "--desired-count", "4",
                "--deployment-controller", "type=EXTERNAL")
    of_service = (*in_cluster, "--service", "e")
    made = slipway.aws("ecs", "create-task-set", *of_service, "--task-definition", "web",
                       "--scale", "value=50,unit=PERCENT").json["taskSet"]
    assert made["computedDesiredCount"] == 2
    named = (*of_service, "--task-set", made["id"])
    slipway.aws("ecs", "update-task-set", *named, "--scale", "value=25,unit=PERCENT")
    slipway.aws("ecs", "update-service-primary-task-set", *of_service, "--primary-task-set",
                made["id"])
    sets = slipway.aws("ecs", "describe-task-sets", *of_service).json["taskSets"]
    assert [(one["status"], one["computedDesiredCount"]) for one in sets] == [("PRIMARY", 1)]
    cli_refused(slipway, "InvalidParameterException", "scaled above 0", "delete-task-set", *named)
    slipway.aws("ecs", "delete-task-set", *named, "--force")
    cli_refused(slipway, "NamespaceNotFoundException", "ns", "list-services-by-namespace",
                "--namespace", "ns")


def test_services_are_tagged(ecs, cluster):
    name = create(ecs, cluster, tags=[{"key": "a", "value": "1"}])["serviceArn"]
    ecs.tag_resource(resourceArn=name, tags=[{"key": "b", "value": "2"}])
    ecs.untag_resource(resourceArn=name, tagKeys=["a"])
    assert ecs.list_tags_for_resource(resourceArn=name)["tags"] == [{"key": "b", "value": "2"}]
    assert described(ecs, cluster, include=["TAGS"])["tags"] == [{"key": "b", "value": "2"}]


def test_everything_is_there_after_a_kill(start_slipway):
    server = start_slipway()
    ecs = server.boto("ecs")
    ecs.create_cluster(clusterName="default")
    ecs.register_task_definition(family="web", containerDefinitions=[container()])
    create(ecs, "default", taskDefinition="web", tags=[{"key": "a", "value": "b"}])
    ecs.update_service(service="s", forceNewDeployment=True)
    wait_until(lambda: len(described(ecs, "default")["deployments"]) == 1, "one is left")
    ecs.create_service(serviceName="e", desiredCount=4, deploymentController={"type": "EXTERNAL"})
    ecs.create_task_set(cluster="default", service="e", taskDefinition="web", scale=percent(50))

    def everything(client):
        services = client.describe_services(services=["s", "e"], include=["TAGS"])["services"]
        for service in services:
            service.pop("events")  # an event reports that there is no instance
        return json.dumps(services, default=str, sort_keys=True)
    before = everything(ecs)
    server.kill()
    assert everything(start_slipway(state=server.state).boto("ecs")) == before
