"""The content of a database of an earlier slipway, and the requests to a server that has it.

fill() makes some of everything through the API; ask_everything() asks for all of it. Both are used by the program
`make` beside this file, which writes fixtures, and the second by test_upgrade.py, which compares.
"""
import time

from cloudmap_requests import A_RECORD, client as cloudmap_client, target_of
from conftest import wait_until
from programs import LONG, Mark, container
from rest_requests import ask, rest_client

INSTANCES = 3
BALANCERS = "127.201.7.0/24"  # one that no other test has
FILLED_WITH = ["--runtime", "simulated", "--instances", str(INSTANCES), "--balancers", BALANCERS]
# Nothing that runs, so that nothing changes.
ASKED_WITH = ["--runtime", "none", "--balancers", BALANCERS]
MINUTES = 200  # seconds in which two whole minutes begin
NEVER = "cron(0 0 1 1 ? 2199)"


# ---- filling ----

def define(ecs, family, version):
    mark = Mark()
    mark.value = "m"
    return ecs.register_task_definition(
        family=family, networkMode="bridge", tags=[{"key": "team", "value": "a"}],
        containerDefinitions=[container(
            mark, LONG, environment={"VERSION": str(version), "TEXT": "\"ö\\\n"},
            portMappings=[{"containerPort": 80, "protocol": "tcp"}])])["taskDefinition"]["taskDefinitionArn"]


def fill_ecs(ecs):
    wait_until(lambda: len(ecs.list_container_instances()["containerInstanceArns"]) == INSTANCES,
               "instances are there")
    ecs.create_cluster(clusterName="spare", tags=[{"key": "k", "value": "v"}],
                       settings=[{"name": "containerInsights", "value": "enabled"}])
    ecs.put_account_setting_default(name="containerInsights", value="disabled")
    ecs.put_account_setting(name="taskLongArnFormat", value="enabled")
    instances = ecs.list_container_instances()["containerInstanceArns"]
    ecs.put_attributes(attributes=[{"name": "zone", "value": "blue", "targetId": instances[0],
                                    "targetType": "container-instance"}])
    ecs.create_capacity_provider(name="spot", autoScalingGroupProvider={
        "autoScalingGroupArn": "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:"
                               "00000000-0000-0000-0000-000000000000:autoScalingGroupName/spot"})
    web = [define(ecs, "web", version) for version in (1, 2, 3)]
    ecs.deregister_task_definition(taskDefinition=web[0])
    ecs.create_service(serviceName="web", taskDefinition=web[1], desiredCount=2, enableECSManagedTags=True,
                       propagateTags="SERVICE", tags=[{"key": "team", "value": "a"}])
    ecs.get_waiter("services_stable").wait(services=["web"], WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    ecs.update_service(service="web", taskDefinition=web[2], desiredCount=3)
    ecs.get_waiter("services_stable").wait(services=["web"], WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    ecs.create_service(serviceName="sets", desiredCount=1, deploymentController={"type": "EXTERNAL"})
    ecs.create_task_set(cluster="default", service="sets", taskDefinition=web[1], externalId="one",
                        scale={"unit": "PERCENT", "value": 100})
    ecs.run_task(taskDefinition=web[1], startedBy="by-hand", group="family:web", count=1,
                 tags=[{"key": "k", "value": "v"}])
    wait_until(lambda: all(task["lastStatus"] == "RUNNING" for task in running_tasks(ecs)),
               "all tasks run")


class Environments:
    def __init__(self, server):
        self.ecs, self.api = server.boto("ecs"), rest_client(server)

    def create(self, name, kind, **configuration):
        return self.api.create_environment(
            name=name, environmentType=kind, taskDefinition=define(self.ecs, name, 1),
            instanceGroup={"cluster": "default"}, deploymentConfiguration=configuration)["environmentVersion"]

    def update(self, name, version, **configuration):
        return self.api.update_environment(
            name=name, taskDefinition=define(self.ecs, name, version),
            **({"deploymentConfiguration": configuration} if configuration else {}))["environmentVersion"]

    def deployment(self, name, identifier, *statuses):
        wait_until(lambda: self.api.get_deployment(name=name, deploymentId=identifier)["status"] in statuses,
                   f"a deployment of {name} is {statuses}")

    def deploy(self, name, version):
        self.deployment(name, self.api.start_deployment(name=name, environmentVersion=version)["deploymentId"],
                        "completed")

    def fill(self):
        first = self.create("collector", "Daemon", minHealthyPercent=60)
        self.deploy("collector", first)
        self.deploy("collector", self.update("collector", 2))
        made = self.api.rollback_deployment(name="collector", environmentVersion=first)
        self.deployment("collector", made["deploymentId"], "completed")
        self.deploy("shop", self.create("shop", "Service", desiredCount=2))
        self.deploy("shop", self.update("shop", 2))
        self.deploy("nightly", self.create("nightly", "Cron", schedule="cron(* * * * ? *)"))
        wait_until(lambda: self.api.get_environment(name="nightly")["scheduleState"]["runs"],
                   "it has run", MINUTES)
        self.deploy("nightly", self.update("nightly", 2, schedule=NEVER))
        self.create("idle", "Daemon")


def fill_cloudmap(boto):
    space = target_of(boto, boto.create_private_dns_namespace(
        Name="shop.test", Vpc="vpc-1", Description="names", Tags=[{"Key": "k", "Value": "v"}]))
    boto.create_http_namespace(Name="plain")
    service = boto.create_service(Name="db", NamespaceId=space, DnsConfig=A_RECORD,
                                  HealthCheckCustomConfig={"FailureThreshold": 1})["Service"]["Id"]
    for number in (1, 2):
        boto.register_instance(ServiceId=service, InstanceId=f"i-{number}", Attributes={
            "AWS_INSTANCE_IPV4": f"10.0.0.{number}", "color": "blue"})
    boto.update_instance_custom_health_status(ServiceId=service, InstanceId="i-2", Status="UNHEALTHY")


def fill_elb(elb):
    for kind, protocol, port in (("network", "TCP", 18071), ("application", "HTTP", 18072)):
        balancer = elb.create_load_balancer(
            Name=kind, Type=kind, Subnets=["subnet-1", "subnet-2"],
            Tags=[{"Key": "k", "Value": "v"}])["LoadBalancers"][0]["LoadBalancerArn"]
        group = elb.create_target_group(Name=kind, Protocol=protocol, Port=80, VpcId="vpc-1",
                                        TargetType="ip")["TargetGroups"][0]["TargetGroupArn"]
        elb.register_targets(TargetGroupArn=group, Targets=[{"Id": "127.0.0.1", "Port": 18070}])
        elb.modify_target_group_attributes(TargetGroupArn=group, Attributes=[
            {"Key": "deregistration_delay.timeout_seconds", "Value": "7"}])
        forward = [{"Type": "forward", "TargetGroupArn": group}]
        listener = elb.create_listener(LoadBalancerArn=balancer, Protocol=protocol, Port=port,
                                       DefaultActions=forward)["Listeners"][0]["ListenerArn"]
        if kind == "application":
            elb.create_rule(ListenerArn=listener, Priority=5, Actions=forward, Conditions=[
                {"Field": "path-pattern", "Values": ["/a/*"]}])


def fill(server):
    fill_ecs(server.boto("ecs"))
    fill_cloudmap(cloudmap_client(server))
    fill_elb(server.boto("elbv2"))
    Environments(server).fill()
    answer = ask(server, "POST", "/v1/keys", b'{"user": "reader"}')
    assert answer.status in (200, 201), answer.text
    wait_until(lambda: "UNHEALTHY" in str(ask_cloudmap(cloudmap_client(server))["health"]),
               "what was said of an instance holds, half a minute later")
    settle(server)


def settle(server):
    """Waits until two readings some seconds apart are the same: late changes have arrived."""
    def is_settled():
        before = ask_everything(server)
        time.sleep(3)
        return before == ask_everything(server)

    wait_until(is_settled, "nothing changes any more")


# ---- asking ----

OF_THE_MOMENT = {"ResponseMetadata", "observedAt"}


def pages(client, operation, member, **arguments):
    return [item for page in client.get_paginator(operation).paginate(**arguments) for item in page[member]]


def running_tasks(ecs):
    arns = pages(ecs, "list_tasks", "taskArns")
    return ecs.describe_tasks(tasks=arns, include=["TAGS"])["tasks"] if arns else []


def ask_ecs(ecs):
    clusters = pages(ecs, "list_clusters", "clusterArns")
    services = pages(ecs, "list_services", "serviceArns")
    instances = pages(ecs, "list_container_instances", "containerInstanceArns")
    definitions = [arn for status in ("ACTIVE", "INACTIVE")
                   for arn in pages(ecs, "list_task_definitions", "taskDefinitionArns", status=status)]
    return {
        "clusters": ecs.describe_clusters(clusters=clusters, include=[
            "TAGS", "SETTINGS", "CONFIGURATIONS", "STATISTICS"])["clusters"],
        "definitions": [ecs.describe_task_definition(taskDefinition=arn, include=["TAGS"])
                        for arn in definitions],
        "services": ecs.describe_services(services=services, include=["TAGS"])["services"],
        "task sets": ecs.describe_task_sets(cluster="default", service="sets")["taskSets"],
        "instances": ecs.describe_container_instances(containerInstances=instances,
                                                      include=["TAGS"])["containerInstances"],
        "attributes": ecs.list_attributes(targetType="container-instance", attributeName="zone")["attributes"],
        "providers": ecs.describe_capacity_providers()["capacityProviders"],
        "settings": ecs.list_account_settings(effectiveSettings=True)["settings"],
        "tasks": running_tasks(ecs),
    }


def ask_environments(api):
    environments = api.list_environments()["environments"]
    found = {"environments": environments, "instances": api.list_instances(cluster="default")["instances"]}
    for name in [one["name"] for one in environments]:
        deployments = api.list_deployments(name=name)["deployments"]
        found[name] = {
            "environment": api.get_environment(name=name),
            "versions": [api.get_environment_version(name=name, environmentVersion=one["environmentVersion"])
                         for one in api.list_environment_versions(name=name)["versions"]],
            "deployments": [api.get_deployment(name=name, deploymentId=one["deploymentId"])
                            for one in deployments],
        }
    return found


def ask_cloudmap(boto):
    services = pages(boto, "list_services", "Services")
    return {
        "namespaces": [boto.get_namespace(Id=one["Id"])["Namespace"]
                       for one in pages(boto, "list_namespaces", "Namespaces")],
        "services": [boto.get_service(Id=one["Id"])["Service"] for one in services],
        "instances": [pages(boto, "list_instances", "Instances", ServiceId=one["Id"]) for one in services],
        "health": [boto.get_instances_health_status(ServiceId=one["Id"])["Status"] for one in services],
    }


def ask_elb(elb):
    balancers = elb.describe_load_balancers()["LoadBalancers"]
    groups = elb.describe_target_groups()["TargetGroups"]
    listeners = [elb.describe_listeners(LoadBalancerArn=one["LoadBalancerArn"])["Listeners"]
                 for one in balancers]
    for one in balancers:
        del one["State"]  # whether HAProxy has its port by now is not the database's
    return {
        "balancers": balancers, "groups": groups, "listeners": listeners,
        "rules": [elb.describe_rules(ListenerArn=one["ListenerArn"])["Rules"]
                  for some in listeners for one in some],
        "targets": [[item["Target"] for item in elb.describe_target_health(
            TargetGroupArn=one["TargetGroupArn"])["TargetHealthDescriptions"]] for one in groups],
        "attributes": [elb.describe_target_group_attributes(
            TargetGroupArn=one["TargetGroupArn"])["Attributes"] for one in groups],
        "tags": elb.describe_tags(ResourceArns=[one["LoadBalancerArn"] for one in balancers])["TagDescriptions"],
    }


def plain(value):
    """As JSON has it, without what is about the moment of the request."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items() if name not in OF_THE_MOMENT}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if hasattr(value, "timestamp"):
        return round(value.timestamp(), 3)
    return value


def ask_everything(server):
    """Everything that the API returns of the contents of the database, as JSON."""
    return plain({
        "ecs": ask_ecs(server.boto("ecs")),
        "slipway": ask_environments(rest_client(server)),
        "cloudmap": ask_cloudmap(cloudmap_client(server)),
        "elb": ask_elb(server.boto("elbv2")),
        "keys": ask(server, "GET", "/v1/keys").json,
    })
