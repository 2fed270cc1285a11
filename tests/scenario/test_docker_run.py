"""Tasks as containers of a real Docker Engine, through real clients. What is asserted is what the daemon says
beside what slipway says."""
import os
import time
import urllib.request

import pytest

from conftest import wait_until
# pylint: disable=unused-import
from docker_daemon import WEB, box, busybox_layer, daemon, ecs, slipway
from docker_registry import Registry
from programs import task_id
from test_run import WAIT, define, describe, exit_codes, run, running, stopped, wait_for
from test_run_exec import slipway_run

pytestmark = pytest.mark.root  # dockerd

LONG = "trap 'exit 143' TERM; echo ready; while :; do sleep 0.1; done"
NETWORK = {"awsvpcConfiguration": {"subnets": ["subnet-1"]}}
SERVE = "mkdir -p /tmp/www; touch /tmp/www/health; hostname > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www"


def ready(server, arn, name="app"):
    """Wait until LONG minds signals: the first process of a container dies of none before."""
    wait_until(lambda: b"ready" in slipway_run(server, "logs", "-c", name, arn).stdout, f"{arn} is ready")


# ---- one task ----

@pytest.mark.sanitized
def test_a_task_runs_and_stops(slipway, ecs, daemon):
    define(ecs, "plain", box(LONG))
    arn = slipway.aws("ecs", "run-task", "--task-definition", "plain").json["tasks"][0]["taskArn"]
    slipway.aws("ecs", "wait", "tasks-running", "--tasks", arn)
    found = daemon.inspect(task_id(arn))
    task = describe(ecs, arn)
    assert found["State"]["Running"]
    assert task["containers"][0]["runtimeId"] == found["Id"]
    assert task["createdAt"] <= task["startedAt"]
    labels = found["Config"]["Labels"]
    assert labels["slipway.task"] == task_id(arn)
    assert labels["com.amazonaws.ecs.task-arn"] == arn
    assert labels["com.amazonaws.ecs.container-name"] == "app"
    assert labels["com.amazonaws.ecs.cluster"] == "default"
    assert labels["com.amazonaws.ecs.task-definition-family"] == "plain"
    ready(slipway, arn)
    slipway.aws("ecs", "stop-task", "--task", arn, "--reason", "enough")
    ecs.get_waiter("tasks_stopped").wait(tasks=[arn], WaiterConfig=WAIT)
    task = describe(ecs, arn)
    assert (task["stopCode"], task["stoppedReason"]) == ("UserInitiated", "enough")
    assert exit_codes(task) == {"app": 143}
    found = daemon.inspect(task_id(arn))["State"]
    assert (found["Status"], found["ExitCode"]) == ("exited", 143)


@pytest.mark.parametrize("script, code", [
    ("exit 0", 0), ("exit 3", 3), ("sh -c 'kill -9 $$'; exit $?", 137)])
def test_exit_codes(ecs, script, code):
    arn, = run(ecs, define(ecs, "exits", box(script)))
    task = stopped(ecs, arn)
    assert exit_codes(task) == {"app": code}
    assert (task["stopCode"], task["stoppedReason"]) == (
        "EssentialContainerExited", "Essential container in task exited")
    assert "reason" not in task["containers"][0]


@pytest.mark.sanitized
def test_an_essential_exit_ends_the_others(ecs, daemon):
    shared = [{"sourceVolume": "shared", "containerPath": "/shared"}]
    arn, = run(ecs, define(
        ecs, "pair", box("while [ ! -e /shared/gate ]; do sleep 0.05; done; exit 5", mountPoints=shared),
        box(LONG.replace("echo ready", "touch /shared/gate"), name="beside", mountPoints=shared),
        volumes=[{"name": "shared"}]))
    assert exit_codes(stopped(ecs, arn)) == {"app": 5, "beside": 143}
    assert all(item["State"] == "exited" for item in daemon.containers(task_id(arn)).values())


def test_a_container_that_is_not_essential_may_end(ecs):
    arn, = run(ecs, define(ecs, "side", box(LONG), box("exit 4", name="side", essential=False)))
    task = wait_for(ecs, arn, lambda task: exit_codes(task)["side"] == 4
                    and task["lastStatus"] == "RUNNING", "the side ends")
    statuses = {item["name"]: item["lastStatus"] for item in task["containers"]}
    assert statuses == {"app": "RUNNING", "side": "STOPPED"}
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


@pytest.mark.parametrize("changes, words", [
    ({"image": "127.0.0.1:1/absent:none"}, "CannotPullContainerError: Error response from daemon: "),
    ({"image": "No:Name:At:All"}, "CannotPullContainerError: Error response from daemon: "),
    ({"command": ["/no/such/program"]}, "CannotStartContainerError: "),
    ({"user": "absent-parameter"}, "CannotStartContainerError: "),
    ({"workingDirectory": "not/absolute"}, "CannotCreateContainerError: "),
])
def test_a_task_that_cannot_start_says_why(ecs, changes, words):
    arn, = run(ecs, define(ecs, "cannot", {**box(LONG), **changes}))
    task = stopped(ecs, arn)
    assert task["stopCode"] == "TaskFailedToStart"
    assert task["stoppedReason"].startswith(words)
    assert changes.get("image", "") in ("", "No:Name:At:All") or "127.0.0.1:1" in task["stoppedReason"]
    assert task["containers"][0]["reason"] == task["stoppedReason"]
    assert "startedAt" not in task


def test_image_host_is_refused_by_its_name(ecs):
    """It is the image of the runtime process; no registry is asked for it."""
    arn, = run(ecs, define(ecs, "host", {**box(LONG), "image": "host"}))
    assert stopped(ecs, arn)["stoppedReason"].startswith(
        "CannotPullContainerError: image 'host' of container 'app' means a program of this machine")


def test_an_image_is_pulled_once_and_run(slipway, ecs, daemon):
    """Three tasks at once want an image that the daemon does not have."""
    with Registry(busybox_layer(), Entrypoint=["sh", "-c"], Cmd=["echo pulled; sleep 1000"]) as registry:
        family = define(ecs, "pulled", {"name": "app", "image": registry.image, "memory": 64})
        arns = run(ecs, family, count=3)
        for arn in arns:
            task = running(ecs, arn)
            assert daemon.inspect(task_id(arn))["Config"]["Image"] == registry.image
            assert task["pullStartedAt"] <= task["pullStoppedAt"] <= task["startedAt"]
            wait_until(lambda arn=arn: slipway_run(slipway, "logs", arn).stdout == b"pulled\n",
                       "it runs that image's program")
        blobs = [path for path in registry.asked if "/blobs/" in path]
        assert len(blobs) == len(set(blobs)) == 2
        assert any(registry.image in item["RepoTags"] for item in daemon.call("GET", "/images/json")
                   if item["RepoTags"])
        for arn in arns:
            ecs.stop_task(task=arn)
        for arn in arns:
            stopped(ecs, arn)


def test_out_of_memory(ecs):
    arn, = run(ecs, define(ecs, "hungry", box("tail /dev/zero", memory=16)))
    task = stopped(ecs, arn)
    assert task["containers"][0]["reason"] == \
        "OutOfMemoryError: Container killed due to memory usage"
    assert exit_codes(task) == {"app": 137}


def test_containers_wait_for_each_other(ecs):
    log = [{"sourceVolume": "log", "containerPath": "/log"}]
    arn, = run(ecs, define(
        ecs, "order",
        box("cat /log/said; echo app >> /log/said", mountPoints=log,
            dependsOn=[{"containerName": "second", "condition": "COMPLETE"}]),
        box("echo second >> /log/said; exit 1", name="second", essential=False, mountPoints=log,
            dependsOn=[{"containerName": "first", "condition": "SUCCESS"}]),
        box("sleep 0.5; echo first >> /log/said", name="first", essential=False, mountPoints=log),
        volumes=[{"name": "log"}]))
    assert exit_codes(stopped(ecs, arn)) == {"app": 0, "second": 1, "first": 0}


def test_a_condition_that_never_comes_true(ecs):
    arn, = run(ecs, define(
        ecs, "never", box(LONG, dependsOn=[{"containerName": "first", "condition": "SUCCESS"}]),
        box("exit 1", name="first", essential=False)))
    task = stopped(ecs, arn)
    assert task["stopCode"] == "TaskFailedToStart"
    assert task["stoppedReason"] == "DependencyError: container 'first' did not succeed"


def test_health(ecs):
    arn, = run(ecs, define(
        ecs, "health",
        box(LONG, dependsOn=[{"containerName": "checked", "condition": "HEALTHY"}]),
        box("touch /healthy; while [ ! -e /sick ]; do sleep 0.1; done; rm /healthy; " + LONG,
            name="checked", healthCheck={
                "command": ["CMD-SHELL", "test -e /healthy"], "interval": 5, "timeout": 60,
                "retries": 1})))
    task = running(ecs, arn)
    checked, = [item for item in task["containers"] if item["name"] == "checked"]
    assert checked["healthStatus"] == "HEALTHY"
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


def test_what_becomes_unhealthy_says_so(slipway, ecs):
    arn, = run(ecs, define(ecs, "sick", box("touch /healthy; " + LONG, healthCheck={
        "command": ["CMD-SHELL", "test -e /healthy"], "interval": 5, "timeout": 2, "retries": 1})))
    wait_for(ecs, arn, lambda task: task["healthStatus"] == "HEALTHY", "it is healthy")
    slipway_run(slipway, "exec", arn, "--", "rm", "/healthy")
    task = wait_for(ecs, arn, lambda task: task["healthStatus"] == "UNHEALTHY", "it is unhealthy")
    assert task["containers"][0]["reason"] == "Health check failed: exit code 1"
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


def test_a_start_timeout(ecs):
    arn, = run(ecs, define(
        ecs, "slow", box(LONG, dependsOn=[{"containerName": "first", "condition": "COMPLETE"}]),
        box(LONG, name="first", essential=False, startTimeout=2)))
    assert stopped(ecs, arn)["stoppedReason"] == \
        "DependencyError: container 'first' did not complete within its start timeout"


def test_stop_timeout(ecs, slipway):
    arn, = run(ecs, define(ecs, "stubborn", box(
        "trap '' TERM; echo ready; while :; do sleep 0.1; done", stopTimeout=2)))
    running(ecs, arn)
    wait_until(lambda: slipway_run(slipway, "logs", arn).stdout == b"ready\n", "it is ready")
    began = time.monotonic()
    ecs.stop_task(task=arn)
    assert exit_codes(stopped(ecs, arn)) == {"app": 137}
    assert time.monotonic() - began >= 2


def test_a_stop_that_comes_at_once(ecs, daemon):
    definition = define(ecs, "early", box(LONG))
    arns = [arn for _ in range(10) for arn in run(ecs, definition)]
    for arn in arns:
        ecs.stop_task(task=arn, reason="never mind")
    for arn in arns:
        task = stopped(ecs, arn)
        assert (task["stopCode"], task["stoppedReason"]) == ("UserInitiated", "never mind")
        assert not any(item["State"] == "running"
                       for item in daemon.containers(task_id(arn)).values())


# ---- inside a container ----

def test_every_member_reaches_docker(ecs, daemon, tmp_path):
    arn, = run(ecs, define(ecs, "all", box(
        LONG, environment={"A": "1", "B": "x y"}, cpu=128, memoryReservation=16, memory=64,
        user="web", workingDirectory="/tmp", hostname="fancy", readonlyRootFilesystem=True,
        privileged=False, ulimits=[{"name": "nofile", "softLimit": 100, "hardLimit": 200}],
        mountPoints=[{"sourceVolume": "host", "containerPath": "/host", "readOnly": True},
                     {"sourceVolume": "own", "containerPath": "/own"}]),
        volumes=[{"name": "host", "host": {"sourcePath": str(tmp_path)}}, {"name": "own"}]))
    running(ecs, arn)
    found = daemon.inspect(task_id(arn))
    config, host = found["Config"], found["HostConfig"]
    assert {"A=1", "B=x y"} <= set(config["Env"])
    assert (config["User"], config["WorkingDir"], config["Hostname"]) == ("web", "/tmp", "fancy")
    assert (host["CpuShares"], host["Memory"], host["MemoryReservation"]) == (
        128, 64 << 20, 16 << 20)
    assert host["ReadonlyRootfs"] and not host["Privileged"]
    assert host["Ulimits"] == [{"Name": "nofile", "Soft": 100, "Hard": 200}]
    mounts = {item["Destination"]: (item["Type"], item["RW"]) for item in found["Mounts"]}
    assert mounts == {"/host": ("bind", False), "/own": ("volume", True)}
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


def test_what_an_image_brings_along(slipway, ecs, daemon):
    """Its entry point and command hold, its stop signal is sent, and its health check is not ECS's business."""
    arn, = run(ecs, define(ecs, "image", {"name": "app", "image": WEB, "memory": 32}))
    task = running(ecs, arn)
    assert task["healthStatus"] == "UNKNOWN"
    wait_until(lambda: slipway_run(slipway, "logs", arn).stdout == b"from the image\n", "it says so")
    assert "Health" not in daemon.inspect(task_id(arn))["State"]
    ecs.stop_task(task=arn)
    assert exit_codes(stopped(ecs, arn)) == {"app": 10}
    arn, = run(ecs, define(ecs, "image", {"name": "app", "image": WEB, "memory": 32,
                                          "command": ["exit 9"]}))
    assert exit_codes(stopped(ecs, arn)) == {"app": 9}


def test_overrides(ecs):
    arn, = run(ecs, define(ecs, "overridden", box(LONG, environment={"A": "1", "B": "2"})),
               overrides={"containerOverrides": [
                   {"name": "app", "command": ["sh", "-c", "exit $((A * 10 + B + C))"],
                    "environment": [{"name": "B", "value": "5"}, {"name": "C", "value": "100"}]}]})
    assert exit_codes(stopped(ecs, arn)) == {"app": 115}


# ---- networks ----

def ask(address, port):
    def answer():
        try:
            return urllib.request.urlopen(f"http://{address}:{port}/", timeout=5).read().decode()
        except OSError:
            return None

    return wait_until(answer, f"something answers at {address}:{port}").strip()


def test_ports_of_bridge(ecs, daemon):
    arns = run(ecs, define(ecs, "ports", box(SERVE, portMappings=[
        {"containerPort": 8080, "protocol": "tcp"}])), count=2)
    ports = set()
    for arn in arns:
        binding, = running(ecs, arn)["containers"][0]["networkBindings"]
        assert (binding["containerPort"], binding["protocol"]) == (8080, "tcp")
        found = daemon.inspect(task_id(arn))
        assert binding["bindIP"] == "0.0.0.0", "as Docker has bound it"
        assert ask("127.0.0.1", binding["hostPort"]) == found["Config"]["Hostname"]
        ports.add(binding["hostPort"])
    assert len(ports) == 2
    taken, = run(ecs, define(ecs, "taken", box(SERVE, portMappings=[
        {"containerPort": 8080, "hostPort": ports.pop()}])))
    task = stopped(ecs, taken)
    assert task["stopCode"] == "TaskFailedToStart" or task.get("reason")
    assert "CannotStartContainerError" in task["stoppedReason"]
    for arn in arns:
        ecs.stop_task(task=arn)
    for arn in arns:
        stopped(ecs, arn)


@pytest.mark.sanitized
def test_addresses_of_awsvpc(slipway, ecs, daemon):
    arns = run(ecs, define(
        ecs, "own", box(SERVE, portMappings=[{"containerPort": 8080}]),
        box(LONG, name="beside"), networkMode="awsvpc"), count=2, networkConfiguration=NETWORK)
    seen = set()
    for arn in arns:
        task = running(ecs, arn)
        details = {item["name"]: item["value"] for item in task["attachments"][0]["details"]}
        address = details["privateIPv4Address"]
        seen.add(address)
        holder = daemon.inspect(task_id(arn), "")
        network, = holder["NetworkSettings"]["Networks"].values()
        assert network["IPAddress"] == address
        assert ask(address, 8080)
        for name in ("app", "beside"):  # each sees what the others serve
            result = slipway_run(slipway, "exec", "-c", name, arn, "--", "wget", "-qO-",
                                 "http://127.0.0.1:8080/")
            assert result.returncode == 0, result.stderr
    assert len(seen) == 2
    for arn in arns:
        ecs.stop_task(task=arn)
    for arn in arns:
        task = stopped(ecs, arn)
        assert task["attachments"][0]["status"] == "DELETED"
        assert not daemon.inspect(task_id(arn), "")["State"]["Running"]


def test_a_network_outlives_the_first_container(ecs):
    """One that is to end before the others start takes no network with it."""
    arn, = run(ecs, define(
        ecs, "first", box("exit 0", name="first", essential=False),
        box(SERVE, portMappings=[{"containerPort": 8080}],
            dependsOn=[{"containerName": "first", "condition": "SUCCESS"}]),
        networkMode="awsvpc"), networkConfiguration=NETWORK)
    task = running(ecs, arn)
    details = {item["name"]: item["value"] for item in task["attachments"][0]["details"]}
    assert ask(details["privateIPv4Address"], 8080)
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


@pytest.mark.parametrize("mode", ["none", "host"])
def test_other_networks(slipway, ecs, mode):
    """The machine's interfaces come and go with other tests, so its network is known by its name."""
    arn, = run(ecs, define(ecs, "other", box("readlink /proc/self/ns/net; ls /sys/class/net"),
                           networkMode=mode))
    stopped(ecs, arn)
    network, *interfaces = slipway_run(slipway, "logs", arn).stdout.decode().split()
    assert (network == os.readlink("/proc/self/ns/net")) == (mode == "host")
    assert "lo" in interfaces and (mode == "host" or interfaces == ["lo"])


# ---- logs and programs ----

@pytest.mark.sanitized
def test_logs(slipway, ecs):
    arn, = run(ecs, define(ecs, "says", box("echo one; echo two >&2; sleep 0.1; printf three")))
    stopped(ecs, arn)
    result = slipway_run(slipway, "logs", arn)
    assert (result.returncode, result.stderr) == (0, b"")
    assert sorted(result.stdout.split()) == [b"one", b"three", b"two"]


def test_much_output_is_kept_and_read_whole(slipway, ecs):
    arn, = run(ecs, define(ecs, "much", box("seq 1 200000")))
    stopped(ecs, arn)
    assert slipway_run(slipway, "logs", arn).stdout == b"".join(
        b"%d\n" % number for number in range(1, 200001))


def test_a_line_without_end(slipway, ecs):
    arn, = run(ecs, define(ecs, "line", box("dd if=/dev/zero bs=1000 count=200 2>/dev/null | tr '\\0' x")))
    stopped(ecs, arn)
    assert slipway_run(slipway, "logs", arn).stdout == b"x" * 200000


@pytest.fixture
def task(ecs):
    arn, = run(ecs, define(ecs, "long", box(LONG)))
    running(ecs, arn)
    yield arn
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


@pytest.mark.sanitized
def test_exec(slipway, task):
    result = slipway_run(slipway, "exec", task, "--", "sh", "-c",
                         "echo out; echo err >&2; cat; exit 7", input=b"typed\n")
    assert (result.returncode, result.stdout, result.stderr) == (7, b"out\ntyped\n", b"err\n")


def test_exec_copies_everything(slipway, task):
    data = os.urandom(1 << 20) * 5
    result = slipway_run(slipway, "exec", task, "--", "cat", input=data)
    assert result.returncode == 0
    assert result.stdout == data


def test_exec_of_a_program_that_reads_nothing(slipway, task):
    result = slipway_run(slipway, "exec", task, "--", "true", input=b"x" * (5 << 20))
    assert result.returncode == 0


def test_exec_of_what_there_is_not(slipway, task):
    result = slipway_run(slipway, "exec", task, "--", "/no/such/program")
    assert result.returncode in (1, 126, 127)


@pytest.mark.parametrize("mode", ["bridge", "awsvpc", "host"])
def test_containers_resolve_names(slipway, ecs, mode):
    names = slipway.boto("servicediscovery")
    names.create_private_dns_namespace(Name=f"{mode}.test", Vpc="vpc-1")
    namespace = next(item["Id"] for item in names.list_namespaces()["Namespaces"]
                     if item["Name"] == f"{mode}.test")
    service = names.create_service(Name="web", NamespaceId=namespace, DnsConfig={
        "DnsRecords": [{"Type": "A", "TTL": 0}]})["Service"]["Id"]
    names.register_instance(ServiceId=service, InstanceId="i",
                            Attributes={"AWS_INSTANCE_IPV4": "10.1.2.3"})
    arn, = run(ecs, define(ecs, f"names-{mode}", box(
        f"nslookup -type=a web.{mode}.test; nslookup -type=a no.{mode}.test"), networkMode=mode),
        **({"networkConfiguration": NETWORK} if mode == "awsvpc" else {}))
    task = stopped(ecs, arn)
    said = slipway_run(slipway, "logs", arn).stdout.decode()
    assert said.count("10.1.2.3") == 1, (said, task.get("stoppedReason"), [c.get("reason") for c in task["containers"]])
    assert "NXDOMAIN" in said, said
