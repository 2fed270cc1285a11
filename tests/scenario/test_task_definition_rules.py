"""Requests that RegisterTaskDefinition rejects: a table of requests with the words of the answer. Nothing is
stored, and no revision is used up, by a request that was refused."""
import copy

import pytest

from ecs_requests import ACCOUNT, container, refused, send, send_refused

SERVER_ARGUMENTS = ["--runtime", "none"]

pytestmark = pytest.mark.sanitized

ROLE = f"arn:aws:iam::{ACCOUNT}:role/execution"


def fargate(**members):
    return {"networkMode": "awsvpc", "requiresCompatibilities": ["FARGATE"], "cpu": "256",
            "memory": "512", "containerDefinitions": [{"name": "app", "image": "busybox"}],
            **members}


def with_container(**members):
    return {"containerDefinitions": [container(**members)]}


def two(first, second, **members):
    return {"containerDefinitions": [container(name="one", **first),
                                     container(name="two", **second)], **members}


def ports(*mappings, **members):
    return {**with_container(portMappings=list(mappings)), **members}


def fargate_container(**members):
    return fargate(containerDefinitions=[{"name": "app", "image": "busybox", **members}])


def volume(**members):
    return {"volumes": [{"name": "data", **members}]}


SIZES_OF_FARGATE = {
    "256": [512, 1024, 2048],
    "512": range(1024, 4097, 1024),
    "1024": range(2048, 8193, 1024),
    "2048": range(4096, 16385, 1024),
    "4096": range(8192, 30721, 1024),
    "8192": range(16384, 61441, 4096),
    "16384": range(32768, 122881, 8192),
}

# name: (request besides family and one good container, parts of the message)
REFUSED = {
    # names
    "empty family": ({"family": ""}, ["family"]),
    "family with a space": ({"family": "a b"}, ["family", "a b"]),
    "family with a revision": ({"family": "web:1"}, ["family", "web:1"]),
    "family too long": ({"family": "f" * 256}, ["family", "255"]),
    "family with a zero byte": ({"family": "web\0"}, ["family"]),
    # containers
    "no containers": ({"containerDefinitions": []}, ["Container list cannot be empty"]),
    "too many containers": (
        {"containerDefinitions": [container(name=f"c{i}") for i in range(11)]},
        ["Too many containers", "10"]),
    "container without a name": ({"containerDefinitions": [{"image": "a", "memory": 64}]},
                                 ["Container.name should not be null or empty"]),
    "container with a bad name": (with_container(name="a.b"), ["a.b"]),
    "container with a long name": (with_container(name="n" * 256), ["255"]),
    "two containers of one name": (
        {"containerDefinitions": [container(), container()]}, ["app", "more than once"]),
    "no image": ({"containerDefinitions": [{"name": "app", "memory": 64}]},
                 ["Container.image should not be null or empty"]),
    "empty image": (with_container(image=""), ["Container.image should not be null or empty"]),
    "image with a space": (with_container(image="a b"), ["app", "image"]),
    "image too long": (with_container(image="i" * 2049), ["app", "image", "2048"]),
    "nothing essential": (with_container(essential=False),
                          ["At least one container must be essential"]),
    # memory and cpu
    "no memory": ({"containerDefinitions": [{"name": "app", "image": "busybox"}]},
                  ["app", "At least one of 'memory' or 'memoryReservation' must be specified"]),
    "too little memory": (with_container(memory=3), ["app", "memory", "4"]),
    "too little reservation": (with_container(memoryReservation=3), ["app", "memory", "4"]),
    "memory below the reservation": (with_container(memory=64, memoryReservation=65),
                                     ["app", "memoryReservation"]),
    "memory above the task's": (
        {**with_container(memory=1025), "memory": "1024"},
        ["The 'memory' setting for container 'app' is greater than for the task"]),
    "reservations above the task's": (
        {**two({"memory": 600}, {"memory": 600, "memoryReservation": 500}), "memory": "1024"},
        ["1100", "1024", "memory"]),
    "negative cpu": (with_container(cpu=-1), ["app", "cpu"]),
    "cpu above the task's": ({**two({"cpu": 300}, {"cpu": 300}), "cpu": "512"},
                             ["600", "512", "cpu"]),
    "cpu is no number": ({"cpu": "lots"}, ["cpu", "lots"]),
    "cpu in another unit": ({"cpu": "1 GB"}, ["cpu", "1 GB"]),
    "cpu too small": ({"cpu": "64"}, ["cpu", "64", "128"]),
    "cpu too large": ({"cpu": "200000"}, ["cpu", "200000", "196608"]),
    "memory is no number": ({"memory": "-1"}, ["memory", "-1"]),
    "memory in another unit": ({"memory": "1 vCPU"}, ["memory", "1 vCPU"]),
    # health checks
    "health check without a command": (with_container(healthCheck={"command": []}),
                                       ["app", "command"]),
    "health check that only says CMD": (with_container(healthCheck={"command": ["CMD"]}),
                                        ["app", "CMD"]),
    "health check too often": (
        with_container(healthCheck={"command": ["true"], "interval": 4}),
        ["containerDefinitions[0].healthCheck.interval", "5", "300"]),
    "health check too patient": (
        with_container(healthCheck={"command": ["true"], "timeout": 61}),
        ["containerDefinitions[0].healthCheck.timeout", "60"]),
    "health check with no try": (
        with_container(healthCheck={"command": ["true"], "retries": 0}), ["retries"]),
    "health check that starts late": (
        with_container(healthCheck={"command": ["true"], "startPeriod": 301}), ["startPeriod"]),
    # variables
    "variable without a name": (with_container(environment=[{"value": "v"}]), ["app"]),
    "variable with an equals sign": (with_container(environment=[{"name": "a=b", "value": "v"}]),
                                     ["app"]),
    "secret without a role": (
        with_container(secrets=[{"name": "S", "valueFrom": "arn"}]),
        ["When you are specifying container secrets", "executionRoleArn"]),
    "secret and variable of one name": (
        {**with_container(secrets=[{"name": "S", "valueFrom": "arn"}],
                          environment=[{"name": "S", "value": "v"}]), "executionRoleArn": ROLE},
        ["The secret name must be unique", "S"]),
    "two secrets of one name": (
        {**with_container(secrets=[{"name": "S", "valueFrom": "a"}] * 2),
         "executionRoleArn": ROLE}, ["The secret name must be unique", "S"]),
    "secret from nowhere": (
        {**with_container(secrets=[{"name": "S", "valueFrom": ""}]), "executionRoleArn": ROLE},
        ["app", "valueFrom"]),
    # limits
    "soft limit above the hard one": (
        with_container(ulimits=[{"name": "nofile", "softLimit": 2, "hardLimit": 1}]),
        ["app", "nofile"]),
    "negative stop timeout": (with_container(stopTimeout=-1), ["app", "stopTimeout"]),
    "negative start timeout": (with_container(startTimeout=-1), ["app", "startTimeout"]),
    "restart too often": (
        with_container(restartPolicy={"enabled": True, "restartAttemptPeriod": 59}),
        ["restartAttemptPeriod", "60"]),
    # ports
    "no container port": (ports({"hostPort": 80}), ["app", "containerPort"]),
    "container port too large": (ports({"containerPort": 65536}), ["containerPort", "65535"]),
    "host port too large": (ports({"containerPort": 80, "hostPort": 65536}),
                            ["hostPort", "65535"]),
    "bad protocol": (ports({"containerPort": 80, "protocol": "icmp"}), ["protocol", "icmp"]),
    "ports that differ in awsvpc": (
        ports({"containerPort": 80, "hostPort": 81}, networkMode="awsvpc"),
        ["networkMode=awsvpc", "must match"]),
    "ports that differ in host": (
        ports({"containerPort": 80, "hostPort": 81}, networkMode="host"),
        ["networkMode=host", "must match"]),
    "ports without a network": (ports({"containerPort": 80}, networkMode="none"),
                                ["app", "networkMode=none"]),
    "one host port twice": (
        two({"portMappings": [{"containerPort": 80, "hostPort": 8080}]},
            {"portMappings": [{"containerPort": 81, "hostPort": 8080}]}),
        ["one", "two", "8080/tcp"]),
    "one container port twice in awsvpc": (
        two({"portMappings": [{"containerPort": 80}]}, {"portMappings": [{"containerPort": 80}]},
            networkMode="awsvpc"), ["one", "two", "80/tcp"]),
    "port range backwards": (ports({"containerPortRange": "90-80"}), ["app", "containerPortRange"]),
    "port range of words": (ports({"containerPortRange": "a-b"}), ["app", "containerPortRange"]),
    "port range and port": (ports({"containerPortRange": "80-90", "containerPort": 80}),
                            ["app", "containerPortRange", "containerPort"]),
    "port name in capitals": (ports({"containerPort": 80, "name": "Web"}), ["app", "Web"]),
    "port name twice": (ports({"containerPort": 80, "name": "web"},
                              {"containerPort": 81, "name": "web"}), ["web", "more than once"]),
    "protocol of a port without a name": (ports({"containerPort": 80, "appProtocol": "http"}),
                                          ["app", "appProtocol", "name"]),
    "too many ports": (ports(*({"containerPort": i + 1} for i in range(101))), ["app", "100"]),
    # network modes
    "unknown network mode": ({"networkMode": "carrier-pigeon"}, ["networkMode"]),
    "hostname in awsvpc": ({**with_container(hostname="h"), "networkMode": "awsvpc"},
                           ["app", "hostname", "awsvpc"]),
    "links in awsvpc": ({**two({"links": ["two"]}, {}), "networkMode": "awsvpc"},
                        ["one", "links", "awsvpc"]),
    "extra hosts in awsvpc": (
        {**with_container(extraHosts=[{"hostname": "h", "ipAddress": "10.0.0.1"}]),
         "networkMode": "awsvpc"}, ["app", "extraHosts", "awsvpc"]),
    "dns servers in awsvpc": ({**with_container(dnsServers=["10.0.0.1"]), "networkMode": "awsvpc"},
                              ["app", "dnsServers", "awsvpc"]),
    "links on the host's network": ({**two({"links": ["two"]}, {}), "networkMode": "host"},
                                    ["Links", "networkMode=host"]),
    # dependencies
    "depends on a missing container": (
        with_container(dependsOn=[{"containerName": "ghost", "condition": "START"}]),
        ["app", "ghost"]),
    "depends on itself": (
        with_container(dependsOn=[{"containerName": "app", "condition": "START"}]),
        ["app", "itself"]),
    "depends in a circle": (
        two({"dependsOn": [{"containerName": "two", "condition": "START"}]},
            {"dependsOn": [{"containerName": "one", "condition": "START"}]}), ["cycle", "one"]),
    "depends in a larger circle": (
        {"containerDefinitions": [
            container(name=f"c{i}",
                      dependsOn=[{"containerName": f"c{(i + 1) % 10}", "condition": "START"}])
            for i in range(10)]}, ["cycle"]),
    "dependency and link in a circle": (
        two({"dependsOn": [{"containerName": "two", "condition": "START"}]}, {"links": ["one"]}),
        ["cycle"]),
    "volumes from each other": (
        two({"volumesFrom": [{"sourceContainer": "two"}]},
            {"volumesFrom": [{"sourceContainer": "one"}]}), ["cycle"]),
    "waits for health that is not checked": (
        two({"dependsOn": [{"containerName": "two", "condition": "HEALTHY"}]}, {}),
        ["one", "two", "HEALTHY", "health check"]),
    "waits for the end of an essential container": (
        two({"dependsOn": [{"containerName": "two", "condition": "COMPLETE"}]}, {}),
        ["one", "two", "COMPLETE", "essential"]),
    "waits for the success of an essential container": (
        two({"dependsOn": [{"containerName": "two", "condition": "SUCCESS"}]}, {}),
        ["two", "SUCCESS", "essential"]),
    "unknown condition": (
        two({"dependsOn": [{"containerName": "two", "condition": "MAYBE"}]}, {}), ["condition"]),
    "links to a missing container": (with_container(links=["ghost"]), ["app", "ghost"]),
    "volumes from a missing container": (with_container(volumesFrom=[{"sourceContainer": "ghost"}]),
                            ["app", "ghost"]),
    # volumes
    "volume with a bad name": ({"volumes": [{"name": "a b"}]}, ["a b"]),
    "volume without a name": ({"volumes": [{"host": {}}]}, ["olume"]),
    "two volumes of one name": ({"volumes": [{"name": "v"}, {"name": "v"}]},
                                ["v", "more than once"]),
    "volume of two kinds": (
        volume(host={"sourcePath": "/x"}, efsVolumeConfiguration={"fileSystemId": "fs-1"}),
        ["data", "more than one source"]),
    "unknown volume": (
        with_container(mountPoints=[{"sourceVolume": "ghost", "containerPath": "/x"}]),
        ["Unknown volume 'ghost'"]),
    "mounted nowhere": (
        {**with_container(mountPoints=[{"sourceVolume": "data"}]), **volume()},
        ["app", "data", "containerPath"]),
    "autoprovision of an own volume": (
        volume(dockerVolumeConfiguration={"scope": "task", "autoprovision": True}),
        ["data", "autoprovision", "scope"]),
    "access point without encryption": (
        volume(efsVolumeConfiguration={"fileSystemId": "fs-1",
                                       "authorizationConfig": {"accessPointId": "fsap-1"}}),
        ["data", "transitEncryption"]),
    "access point and a folder": (
        volume(efsVolumeConfiguration={"fileSystemId": "fs-1", "rootDirectory": "/x",
                                       "transitEncryption": "ENABLED",
                                       "authorizationConfig": {"accessPointId": "fsap-1"}}),
        ["data", "rootDirectory"]),
    "too many volumes": ({"volumes": [{"name": f"v{i}"} for i in range(101)]}, ["volumes", "100"]),
    # logs
    "firelens twice": (
        two({"firelensConfiguration": {"type": "fluentbit"}},
            {"firelensConfiguration": {"type": "fluentbit"}}), ["firelensConfiguration"]),
    "firelens nowhere": (with_container(logConfiguration={"logDriver": "awsfirelens"}),
                         ["awsfirelens", "firelensConfiguration"]),
    "unknown log driver": (with_container(logConfiguration={"logDriver": "paper"}), ["logDriver"]),
    # the task
    "constraint without an expression": ({"placementConstraints": [{"type": "memberOf"}]},
                                         ["placementConstraints", "expression"]),
    "too many constraints": (
        {"placementConstraints": [{"type": "memberOf", "expression": "a == b"}] * 11},
        ["placementConstraints", "10"]),
    "proxy without awsvpc": ({"proxyConfiguration": {"containerName": "app"}},
                             ["proxyConfiguration", "awsvpc"]),
    "proxy that is not there": (
        {"proxyConfiguration": {"containerName": "ghost"}, "networkMode": "awsvpc"},
        ["proxyConfiguration", "ghost"]),
    "too little storage": ({"ephemeralStorage": {"sizeInGiB": 20}}, ["sizeInGiB", "21"]),
    "too much storage": ({"ephemeralStorage": {"sizeInGiB": 201}}, ["sizeInGiB", "200"]),
    "unknown compatibility": ({"requiresCompatibilities": ["MAINFRAME"]},
                              ["requiresCompatibilities"]),
    "external with awsvpc": ({"requiresCompatibilities": ["EXTERNAL"], "networkMode": "awsvpc"},
                             ["EXTERNAL", "awsvpc"]),
    "too large": (with_container(environment=[{"name": f"V{i}", "value": "x" * 1000}
                                              for i in range(70)]),
                  ["Max allowed length is '65536' bytes"]),
    # tags
    "reserved tag": ({"tags": [{"key": "aws:x", "value": "v"}]}, ["aws:"]),
    "tag twice": ({"tags": [{"key": "k", "value": "1"}, {"key": "k", "value": "2"}]}, ["k"]),
    "too many tags": ({"tags": [{"key": f"k{i}", "value": "v"} for i in range(51)]}, ["50"]),
    # Fargate
    "fargate in another network": (fargate(networkMode="bridge"), ["Fargate", "awsvpc"]),
    "fargate without a network": (
        {key: value for key, value in fargate().items() if key != "networkMode"},
        ["Fargate", "awsvpc"]),
    "fargate without cpu": ({key: value for key, value in fargate().items() if key != "cpu"},
                            ["Fargate requires that 'cpu' be defined at the task level"]),
    "fargate without memory": (
        {**{key: value for key, value in fargate().items() if key != "memory"},
         "containerDefinitions": [container()]},
        ["Fargate requires that 'memory' be defined at the task level"]),
    "fargate with constraints": (
        fargate(placementConstraints=[{"type": "memberOf", "expression": "a == b"}]),
        ["Fargate", "placement constraints"]),
    "fargate with ipc": (fargate(ipcMode="task"), ["Fargate", "ipcMode"]),
    "fargate with the host's processes": (fargate(pidMode="host"), ["Fargate", "pidMode"]),
    "fargate with accelerators": (
        fargate(inferenceAccelerators=[{"deviceName": "d", "deviceType": "t"}]),
        ["Fargate", "inferenceAccelerators"]),
    "fargate with a host's folder": (fargate(**volume(host={"sourcePath": "/x"})),
                                     ["Fargate", "sourcePath"]),
    "fargate with a docker volume": (fargate(**volume(dockerVolumeConfiguration={})),
                                     ["Fargate", "Docker volumes"]),
    "fargate privileged": (fargate_container(privileged=True), ["Fargate", "privileged"]),
    "fargate with devices": (
        fargate_container(linuxParameters={"devices": [{"hostPath": "/dev/x"}]}),
        ["Fargate", "devices"]),
    "fargate with shared memory": (
        fargate_container(linuxParameters={"sharedMemorySize": 64}),
        ["Fargate", "sharedMemorySize"]),
    "fargate with security options": (
        fargate_container(dockerSecurityOptions=["no-new-privileges"]),
        ["Fargate", "dockerSecurityOptions"]),
    "fargate with a gpu": (
        fargate_container(resourceRequirements=[{"type": "GPU", "value": "1"}]),
        ["Fargate", "GPU"]),
    "fargate with another log driver": (
        fargate_container(logConfiguration={"logDriver": "syslog"}), ["Fargate", "syslog"]),
    "fargate with awslogs and no role": (
        fargate_container(logConfiguration={"logDriver": "awslogs"}),
        ["Fargate requires task definition to have execution role ARN", "awslogs"]),
    "fargate with ecr and no role": (
        fargate_container(image=f"{ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com/a:1"),
        ["Fargate requires task definition to have execution role ARN", "ECR"]),
    "fargate that stops slowly": (fargate_container(stopTimeout=121), ["stopTimeout", "120"]),
    "fargate that starts slowly": (fargate_container(startTimeout=121), ["startTimeout", "120"]),
    "fargate size between": (fargate(cpu="512", memory="1536"),
                             ["No Fargate configuration exists for given values"]),
}

ACCEPTED = {
    "smallest": {},
    "task memory instead of the container's": {
        "containerDefinitions": [{"name": "app", "image": "busybox"}], "memory": "512"},
    "reservation alone": {"containerDefinitions": [
        {"name": "app", "image": "busybox", "memoryReservation": 4}]},
    "memory equal to the reservation": with_container(memory=64, memoryReservation=64),
    "memory equal to the task's": {**two({"memory": 512}, {"memory": 512}), "memory": "1024"},
    "hard limits above the task's": {
        **two({"memory": 1024, "memoryReservation": 512},
              {"memory": 1024, "memoryReservation": 512}), "memory": "1024"},
    "ten containers": {"containerDefinitions": [container(name=f"c{i}") for i in range(10)]},
    "dependencies without a circle": {"containerDefinitions": [
        container(name="a", dependsOn=[{"containerName": "b", "condition": "HEALTHY"},
                                       {"containerName": "c", "condition": "START"}]),
        container(name="b", healthCheck={"command": ["CMD", "true"]},
                  dependsOn=[{"containerName": "c", "condition": "START"}]),
        container(name="c")]},
    "ports that differ in bridge": ports({"containerPort": 80, "hostPort": 8080}),
    "one port on tcp and udp": ports({"containerPort": 53, "protocol": "tcp", "hostPort": 53},
                                     {"containerPort": 53, "protocol": "udp", "hostPort": 53}),
    "any host port, twice": ports({"containerPort": 80}, {"containerPort": 80}),
    "external": {"requiresCompatibilities": ["EXTERNAL"]},
    "longest names": {**with_container(name="n" * 255), "family": "f" * 255},
}


def request_of(members):
    return {"family": "rules", "containerDefinitions": [container()], **copy.deepcopy(members)}


@pytest.fixture(scope="module")
def ecs(slipway):
    return slipway.boto("ecs")


def everything_stored(ecs):
    return (ecs.list_task_definitions()["taskDefinitionArns"],
            ecs.list_task_definition_families(status="ALL")["families"])


@pytest.mark.parametrize("name", REFUSED)
def test_refused(slipway, ecs, name):
    members, parts = REFUSED[name]
    before = everything_stored(ecs)
    of_tags = name in ("reserved tag", "tag twice")
    code = "InvalidParameterException" if of_tags else "ClientException"
    send_refused(slipway, "RegisterTaskDefinition", request_of(members), code, *parts)
    assert everything_stored(ecs) == before


def test_refusals_use_up_no_revision(slipway, ecs):
    numbers = {"family": "numbers"}
    first = ecs.register_task_definition(**request_of(numbers))["taskDefinition"]
    for members, _ in REFUSED.values():
        answer = send(slipway, "RegisterTaskDefinition", request_of({**numbers, **members}))
        assert answer.status == 400
    second = ecs.register_task_definition(**request_of(numbers))["taskDefinition"]
    assert (first["revision"], second["revision"]) == (1, 2)


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(ecs, name):
    request = request_of({"family": "accepted", **ACCEPTED[name]})
    assert ecs.register_task_definition(**request)["taskDefinition"]["status"] == "ACTIVE"


def test_sizes_of_fargate(ecs):
    """Every size that there is, and around each the nearest that is not."""
    for cpu, sizes in SIZES_OF_FARGATE.items():
        for memory in sizes:
            definition = ecs.register_task_definition(
                family="sizes", **fargate(cpu=cpu, memory=str(memory)))["taskDefinition"]
            assert "FARGATE" in definition["compatibilities"]
        step = 1024 if int(cpu) < 8192 else (4096 if cpu == "8192" else 8192)
        for memory in {min(sizes) - 256, min(sizes) + 1, max(sizes) + step} - set(sizes):
            refused(ecs.register_task_definition, "ClientException",
                    "No Fargate configuration exists for given values", family="sizes",
                    **fargate(cpu=cpu, memory=str(memory)))
    for cpu in ("128", "257", "768", "32768"):
        refused(ecs.register_task_definition, "ClientException",
                "No Fargate configuration exists for given values", family="sizes",
                **fargate(cpu=cpu, memory="2048"))
