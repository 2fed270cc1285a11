"""Tasks in real containers on a real node: what a task definition says about its containers is what happens in the
pod. The witness is what the containers themselves write, and the API server."""
import json
import subprocess
import time

import images
import pytest
from conftest import wait_until
from on_node import load_own_image, wait_until_ready
from test_run_exec import command, slipway_run
from test_state import WAIT, ids_of, task, tasks_of, wait_for_status
from witness import Witness, task_ids

pytestmark = pytest.mark.node

LONG = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
EXECUTION_ROLE = "arn:aws:iam::123456789012:role/r"


@pytest.fixture(scope="module")
def secrets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "password").write_text("correct horse $(HOME)\n")
    return folder


@pytest.fixture(scope="module")
def server(node_cluster, module_slipway, secrets, tmp_path_factory):
    load_own_image(node_cluster, tmp_path_factory.mktemp("image"))
    started = module_slipway("--runtime", "kubernetes", "--secrets", secrets, "--kubeconfig",
                             node_cluster.credentials.path("admin.kubeconfig"))
    wait_until_ready(started)
    return started


@pytest.fixture(scope="module")
def witness(node_cluster):
    return Witness(node_cluster)


@pytest.fixture(scope="module")
def ecs(server):
    return server.boto("ecs")


@pytest.fixture
def name(request):
    return request.node.name.removeprefix("test_").replace("_", "-")[:60]


def box(script, name="app", **members):
    """A container whose program is said as entryPoint, so that slipway knows what it runs."""
    return {"name": name, "image": images.BUSYBOX, "memory": 32, "entryPoint": ["sh", "-c"],
            "command": [script], **members}


def define(ecs, family, *containers, **members):
    return ecs.register_task_definition(family=family, containerDefinitions=list(containers), **members)[
        "taskDefinition"]["taskDefinitionArn"]


def run(ecs, family, *containers, **members):
    return ecs.run_task(taskDefinition=define(ecs, family, *containers, **members))["tasks"][0]["taskArn"]


def exit_codes(shown):
    return {item["name"]: item.get("exitCode") for item in shown["containers"]}


def logs(server, arn, container="app"):
    return slipway_run(server, "logs", arn, "--container", container).stdout.decode()


# ---- inside a container ----

def test_what_is_said_is_what_it_finds(ecs, server, witness, name):
    arn = run(ecs, name, box(
        "echo $A $(id -u):$(id -g) $PWD; touch /here 2>/dev/null || echo cannot write; cat /etc/hostname; " + LONG,
        environment=[{"name": "A", "value": "$(HOME) $$"}], user="1000:50", workingDirectory="/tmp",
        readonlyRootFilesystem=True, hostname="web-1", cpu=256))
    wait_for_status(ecs, arn, "RUNNING")
    wait_until(lambda: logs(server, arn) == "$(HOME) $$ 1000:50 /tmp\ncannot write\nweb-1\n", "it says so")
    container, = witness.pod(arn.rsplit("/", 1)[1])["spec"]["containers"]
    assert container["resources"] == {"limits": {"memory": "32Mi"},
                                      "requests": {"cpu": "250m", "memory": "32Mi"}}
    ecs.stop_task(task=arn)
    assert exit_codes(wait_for_status(ecs, arn, "STOPPED")) == {"app": 0}


def test_secrets_are_in_no_pod(ecs, server, node_cluster, witness, name):
    arn = run(ecs, name, box("echo \"$PASSWORD\"; " + LONG, secrets=[
        {"name": "PASSWORD", "valueFrom": "password"}]), executionRoleArn=EXECUTION_ROLE)
    wait_for_status(ecs, arn, "RUNNING")
    wait_until(lambda: logs(server, arn) == "correct horse $(HOME)\n", "it knows it")
    pod = witness.pod(arn.rsplit("/", 1)[1])
    assert "correct horse" not in json.dumps(pod)
    space = pod["metadata"]["namespace"]

    def secrets():
        return node_cluster.kubectl_json("get", "secrets", "-n", space, "-l",
                                         "app.kubernetes.io/managed-by=slipway")["items"]

    # It is made before its pod, which is there before it is its owner.
    secret, = wait_until(lambda: [item for item in secrets() if "ownerReferences" in item["metadata"]],
                         "it has an owner")
    assert secret["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    ecs.stop_task(task=arn)
    wait_for_status(ecs, arn, "STOPPED")
    wait_until(lambda: not secrets() and witness.pod(arn.rsplit("/", 1)[1]) is None, "both are gone")


def test_volumes_are_shared(ecs, server, name):
    arn = run(ecs, name,
              box("echo hello >/a/said; " + LONG, "writer",
                  mountPoints=[{"sourceVolume": "Shared", "containerPath": "/a"}]),
              box("until cat /b/said; do sleep 0.1; done; touch /b/x || echo cannot write; " + LONG, "reader",
                  mountPoints=[{"sourceVolume": "Shared", "containerPath": "/b", "readOnly": True}]),
              volumes=[{"name": "Shared", "host": {}}])
    wait_for_status(ecs, arn, "RUNNING")
    wait_until(lambda: "hello\n" in logs(server, arn, "reader")
               and "cannot write\n" in logs(server, arn, "reader"), "the other has read it")
    ecs.stop_task(task=arn)
    wait_for_status(ecs, arn, "STOPPED")


def test_too_much_memory_is_named(ecs, name):
    """The node itself does not know it when containerd has heard of it too late: then one more is tried."""
    def is_named():
        stopped = wait_for_status(ecs, run(ecs, name, box("x=0123456789; while :; do x=$x$x; done")), "STOPPED")
        assert exit_codes(stopped) == {"app": 137}
        return stopped["containers"][0].get("reason", "").startswith("OutOfMemoryError")

    wait_until(is_named, "it is named")


def test_program_that_is_not_there(ecs, name):
    arn = run(ecs, name, {**box(""), "entryPoint": ["/no/such/program"], "command": []})
    stopped = wait_for_status(ecs, arn, "STOPPED")
    assert stopped["stopCode"] == "TaskFailedToStart"
    assert "/no/such/program" in stopped["stoppedReason"]


def test_logs_are_read_on(ecs, server, node_cluster, witness, name):
    # It ends when that is heard: containerd may lose what is written right before the end.
    arn = run(ecs, name, box("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; sleep 2; echo end; "
                             "until [ -e /tmp/heard ]; do sleep 0.1; done"))
    wait_for_status(ecs, arn, "RUNNING")
    pod = witness.pod(arn.rsplit("/", 1)[1])["metadata"]
    line, environment = command(server, "logs", "--follow", arn)
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as follower:
        heard = [follower.stdout.readline().decode().rstrip("\n") for _ in range(3001)]
        assert heard == [f"line {number}" for number in range(3000)] + ["end"]
        # It may be ended with what it ends.
        node_cluster.kubectl("exec", "-n", pod["namespace"], pod["name"], "--", "touch", "/tmp/heard", check=False)
        assert follower.stdout.read() == b""
    assert follower.returncode == 0
    wait_for_status(ecs, arn, "STOPPED")


# ---- dependencies of containers ----

def depends(name, condition):
    return [{"containerName": name, "condition": condition}]


def check(script, **members):
    return {"command": ["CMD-SHELL", script], "interval": 5, "timeout": 5, "retries": 3, **members}


def test_healthy_that_never_comes(ecs, name):
    arn = run(ecs, name, box(LONG, "app", dependsOn=depends("db", "HEALTHY")),
              box(LONG, "db", healthCheck=check("false"), startTimeout=2))
    stopped = wait_for_status(ecs, arn, "STOPPED")
    assert stopped["stopCode"] == "TaskFailedToStart"
    assert stopped["stoppedReason"] == "DependencyError: container 'db' did not become healthy"
    assert exit_codes(stopped)["app"] is None


def test_success_that_fails(ecs, name):
    arn = run(ecs, name, box(LONG, "app", dependsOn=depends("first", "SUCCESS")),
              box("exit 5", "first", essential=False))
    stopped = wait_for_status(ecs, arn, "STOPPED")
    assert stopped["stopCode"] == "TaskFailedToStart"
    assert "'first' exited with 5" in stopped["stoppedReason"]
    assert exit_codes(stopped) == {"app": None, "first": 5}


# ---- services ----

@pytest.fixture
def service(ecs, name):
    made = []

    def make(definition, count=1, stable=True, **members):
        ecs.create_service(serviceName=name, desiredCount=count, taskDefinition=definition, **members)
        made.append(name)
        if stable:
            ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)

    yield make
    for service_name in made:
        ecs.delete_service(service=service_name, force=True)
        ecs.get_waiter("services_inactive").wait(services=[service_name], WaiterConfig=WAIT)


def test_what_a_task_runs_it_runs_once(node_cluster, ecs, witness, service, name):
    """Kubernetes starts containers of a Deployment again; a task of ECS is another one each time."""
    folder = f"/var/lib/{name}"
    node_cluster.place.run_command("mkdir", "-p", folder)
    service(define(ecs, name, box(
        # The other one has been started and has ended before it ends, too.
        "hostname >>/out/app; until grep -q $(hostname) /out/once; do sleep 0.1; done; sleep 1; exit 9",
        mountPoints=[{"sourceVolume": "out", "containerPath": "/out"}]),
        box("hostname >>/out/once; exit 4", "once", essential=False,
            mountPoints=[{"sourceVolume": "out", "containerPath": "/out"}]),
        volumes=[{"name": "out", "host": {"sourcePath": folder}}]), stable=False)
    wait_until(lambda: len(tasks_of(ecs, name, desired="STOPPED")) >= 3, "it ends three times")
    for stopped in tasks_of(ecs, name, desired="STOPPED"):
        if stopped["lastStatus"] == "STOPPED":
            assert exit_codes(stopped) == {"app": 9, "once": 4}
            assert stopped["stopCode"] == "EssentialContainerExited"
    for file in ("app", "once"):
        ran = node_cluster.place.run_command("cat", f"{folder}/{file}").stdout.split()
        assert len(ran) >= 3 and len(ran) == len(set(ran))


def test_a_container_that_is_not_essential_may_end(ecs, witness, service, name):
    service(define(ecs, name, box(LONG), box("exit 4", "once", essential=False)))
    shown, = tasks_of(ecs, name)
    wait_until(lambda: exit_codes(task(ecs, shown["taskArn"]))["once"] == 4, "its exit code is reported")
    time.sleep(3)
    assert task(ecs, shown["taskArn"])["lastStatus"] == "RUNNING"
    assert ids_of(tasks_of(ecs, name)) == task_ids(witness.pods(name))
