"""ECS on Kubernetes: what is asked of ECS becomes Deployments and Pods, and every answer of ECS follows the cluster.
The nodes are hollow, so that a test can say what happens on them; the witness is the API server."""
import functools
import re

import pytest

from conftest import DEADLINE, account, wait_until
from witness import Witness, annotations, is_ready, task_ids

WAIT = {"Delay": 1, "MaxAttempts": 120}
IMAGE = "local.test/web:1"
GROUP = "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:0:autoScalingGroupName/"


def definition(ecs, family, image=IMAGE, **members):
    container = {"name": "app", "image": image, "memory": 32, "cpu": 64, "essential": True,
                 "command": ["serve"], **members}
    return ecs.register_task_definition(
        family=family, containerDefinitions=[container])["taskDefinition"]["taskDefinitionArn"]


@pytest.fixture(scope="module")
def server(hollow_cluster, module_slipway):
    started = module_slipway("--runtime", "kubernetes", "--kubeconfig",
                             hollow_cluster.credentials.path("admin.kubeconfig"))
    # It is there when the nodes are known.
    wait_until(lambda: started.boto("ecs").list_clusters()["clusterArns"], "the cluster is there")
    return started


@pytest.fixture(scope="module")
def witness(hollow_cluster):
    return Witness(hollow_cluster)


@pytest.fixture(scope="module")
def ecs(server):
    return server.boto("ecs")


@pytest.fixture
def name(request):
    return re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[:60].strip("-")


@pytest.fixture
def service(ecs, name):
    """service(count, **members): makes the test's service and waits until it is stable."""
    made = []

    def make(count=2, family=name, stable=True, cluster="default", **members):
        members.setdefault("taskDefinition", None)
        if members["taskDefinition"] is None:
            members["taskDefinition"] = definition(ecs, family)
        ecs.create_service(cluster=cluster, serviceName=name, desiredCount=count, **members)
        made.append(cluster)
        if stable:
            ecs.get_waiter("services_stable").wait(cluster=cluster, services=[name],
                                                   WaiterConfig=WAIT)
        return described(ecs, name, cluster)

    yield make
    for cluster in made:
        ecs.delete_service(cluster=cluster, service=name, force=True)
        ecs.get_waiter("services_inactive").wait(cluster=cluster, services=[name],
                                                 WaiterConfig=WAIT)


def described(ecs, name, cluster="default"):
    return ecs.describe_services(cluster=cluster, services=[name])["services"][0]


def tasks_of(ecs, name, cluster="default", desired="RUNNING"):
    arns = ecs.list_tasks(cluster=cluster, serviceName=name, desiredStatus=desired)["taskArns"]
    return ecs.describe_tasks(cluster=cluster, tasks=arns)["tasks"] if arns else []


def ids_of(tasks):
    return {task["taskArn"].rsplit("/", 1)[1] for task in tasks}


def task(ecs, arn, cluster="default"):
    return ecs.describe_tasks(cluster=cluster, tasks=[arn])["tasks"][0]


def wait_for_status(ecs, arn, status):
    return wait_until(lambda: (found := task(ecs, arn))["lastStatus"] == status and found,
                      f"{arn} is {status}")


def wait_for_rollout(ecs, name):
    """All tasks of a stable service run; that this was all is said a little later."""
    wait_until(lambda: [item["rolloutState"] for item in described(ecs, name)["deployments"]] == ["COMPLETED"],
               f"the deployment of {name} is completed")


def events_of(ecs, name):
    return [event["message"] for event in described(ecs, name)["events"]]


# ---- instances ----

def test_nodes_are_container_instances(hollow_cluster, ecs):
    nodes = {item["metadata"]["name"]: item
             for item in hollow_cluster.kubectl_json("get", "nodes")["items"]}
    arns = wait_until(
        lambda: len(found := ecs.list_container_instances()["containerInstanceArns"]) == len(nodes)
        and found, "every node is an instance")
    for instance in ecs.describe_container_instances(containerInstances=arns)["containerInstances"]:
        assert instance["agentConnected"] and instance["status"] == "ACTIVE"
        resources = {item["name"]: item for item in instance["registeredResources"]}
        assert resources["CPU"]["integerValue"] > 0 and resources["MEMORY"]["integerValue"] > 0


def test_clusters_are_namespaces_and_share_the_nodes(hollow_cluster, ecs, witness, service, name):
    ecs.create_cluster(clusterName="Web_Shop")
    service(2, cluster="Web_Shop")
    # The instances of a new cluster may come after its first tasks.
    wait_until(lambda: all("containerInstanceArn" in item for item in tasks_of(ecs, name, "Web_Shop")),
               "it is known where they run")
    tasks = tasks_of(ecs, name, "Web_Shop")
    pods = witness.pods(name)
    assert ids_of(tasks) == task_ids(pods)
    spaces = {pod["metadata"]["namespace"] for pod in pods}
    assert len(spaces) == 1
    space = hollow_cluster.kubectl_json("get", "namespace", spaces.pop())
    assert annotations(space)["slipway.dev/cluster-arn"].endswith(":cluster/Web_Shop")
    instances = ecs.list_container_instances(cluster="Web_Shop")["containerInstanceArns"]
    assert {found["containerInstanceArn"] for found in tasks} <= set(instances)


# ---- services ----

def test_service_becomes_a_deployment(ecs, witness, service, name):
    found = service(3)
    assert (found["status"], found["runningCount"], found["pendingCount"]) == ("ACTIVE", 3, 0)
    wait_for_rollout(ecs, name)
    assert witness.deployment(name)["spec"]["replicas"] == 3
    pods = witness.pods(name)
    tasks = tasks_of(ecs, name)
    assert len(pods) == 3 and all(is_ready(pod) for pod in pods)
    assert ids_of(tasks) == task_ids(pods)
    for shown in tasks:
        pod = witness.pod(shown["taskArn"].rsplit("/", 1)[1])
        assert shown["lastStatus"] == "RUNNING" and shown["launchType"] == "EC2"
        assert shown["group"] == f"service:{name}"
        assert shown["startedBy"] == found["deployments"][0]["id"]
        assert shown["containers"][0]["lastStatus"] == "RUNNING"
        instance = ecs.describe_container_instances(
            containerInstances=[shown["containerInstanceArn"]])["containerInstances"][0]
        assert {"name": "ecs.instance-name", "value": pod["spec"]["nodeName"]} in instance["attributes"]
        assert shown["attachments"] == []  # without awsvpc it has no interface of its own
        assert shown["containers"][0]["runtimeId"] == pod["status"]["containerStatuses"][0]["containerID"]
    wait_until(lambda: any("has reached a steady state" in message for message in events_of(ecs, name)), "that is reported")


def test_scaling_follows(ecs, witness, service, name):
    service(1)
    for count in (4, 2, 0):
        ecs.update_service(service=name, desiredCount=count)
        ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)
        assert len(witness.pods(name)) == count
        assert ids_of(tasks_of(ecs, name)) == task_ids(witness.pods(name))
    found = described(ecs, name)
    assert (found["status"], found["runningCount"]) == ("ACTIVE", 0)
    stopped = tasks_of(ecs, name, desired="STOPPED")
    assert {item["stopCode"] for item in stopped} == {"ServiceSchedulerInitiated"}
    assert all("Scaling activity" in item["stoppedReason"] for item in stopped)


def is_of(item, name):
    return annotations(item)["slipway.dev/group"].split("/")[3:4] == [name]


def replica_sets(witness, name):
    """{version: (ready, other Pods)} of a service."""
    found = {}
    for item in witness.items("replicasets"):
        status, template = item["status"], item["spec"]["template"]
        if is_of(template, name):
            ready = status.get("readyReplicas", 0)
            found[annotations(template)["slipway.dev/version"]] = (ready, status["replicas"] - ready)
    return found


def test_new_version_rolls(hollow_cluster, ecs, witness, service, name):
    service(3)
    before = ids_of(tasks_of(ecs, name))
    hollow_cluster.hollow.hold()
    try:
        ecs.update_service(service=name,
                           taskDefinition=definition(ecs, name, "local.test/web:2"))
        found = wait_until(
            lambda: len((shown := described(ecs, name))["deployments"]) == 2 and shown,
            "two deployments are shown")
        primary = found["deployments"][0]
        assert (primary["status"], primary["rolloutState"]) == ("PRIMARY", "IN_PROGRESS")

        def shown():
            return {item["id"]: (item["runningCount"], item["pendingCount"])
                    for item in described(ecs, name)["deployments"]}

        wait_until(lambda: shown() == replica_sets(witness, name) and shown()[primary["id"]][1] > 0,
                   "the new one has tasks that wait, and each has the counts of its ReplicaSet")
        assert sum(running for running, _ in shown().values()) == 3
    finally:
        hollow_cluster.hollow.release()
    ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)
    pods = witness.pods(name)
    assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"local.test/web:2"}
    assert ids_of(tasks_of(ecs, name)) == task_ids(pods)
    assert not before & task_ids(pods)
    assert len([item for item in witness.items("deployments") if is_of(item, name)]) == 1
    wait_for_rollout(ecs, name)


def test_exit_of_an_essential_container_ends_the_task(hollow_cluster, ecs, witness, service, name):
    service(2)
    victim = witness.pods(name)[0]
    token = task_ids([victim]).pop()
    arn = next(item["taskArn"] for item in tasks_of(ecs, name) if item["taskArn"].endswith(token))
    hollow_cluster.hollow.exit(victim["metadata"]["namespace"], victim["metadata"]["name"], code=3)
    stopped = wait_for_status(ecs, arn, "STOPPED")
    assert stopped["stopCode"] == "EssentialContainerExited"
    assert stopped["containers"][0]["exitCode"] == 3
    wait_until(lambda: token not in task_ids(witness.pods(name)) and len(witness.pods(name)) == 2,
               "another pod takes its place")
    ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)
    assert ids_of(tasks_of(ecs, name)) == task_ids(witness.pods(name))


def test_out_of_memory_is_named(hollow_cluster, ecs, witness, service, name):
    service(1)
    victim = witness.pods(name)[0]
    arn = tasks_of(ecs, name)[0]["taskArn"]
    hollow_cluster.hollow.exit(victim["metadata"]["namespace"], victim["metadata"]["name"],
                               code=137, reason="OOMKilled")
    stopped = wait_for_status(ecs, arn, "STOPPED")
    assert stopped["containers"][0]["exitCode"] == 137
    assert stopped["containers"][0]["reason"].startswith("OutOfMemoryError")


def test_image_that_cannot_be_pulled_is_reported(hollow_cluster, ecs, witness, service, name):
    hollow_cluster.hollow.refuse_image("local.test/missing:1")
    service(1, stable=False, taskDefinition=definition(ecs, name, "local.test/missing:1"))
    wait_until(lambda: any("local.test/missing:1" in message for message in events_of(ecs, name)),
               "an event of the service names the image")
    assert described(ecs, name)["runningCount"] == 0


def test_readiness_is_health(hollow_cluster, ecs, witness, service, name):
    service(1, taskDefinition=definition(
        ecs, name, healthCheck={"command": ["CMD-SHELL", "true"], "interval": 5, "retries": 1}))
    assert tasks_of(ecs, name)[0]["healthStatus"] == "HEALTHY"
    arn = tasks_of(ecs, name)[0]["taskArn"]
    pod = witness.pods(name)[0]
    hollow_cluster.hollow.set_ready(pod["metadata"]["namespace"], pod["metadata"]["name"], False)
    stopped = wait_for_status(ecs, arn, "STOPPED")
    assert "health" in stopped["stoppedReason"]
    ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)
    wait_until(lambda: ids_of(tasks_of(ecs, name)) == task_ids(witness.pods(name)), "tasks are the pods")


def test_deployment_deleted_behind_our_back_is_made_again(hollow_cluster, ecs, witness, service,
                                                          name):
    service(2)
    deployment = witness.deployment(name)
    hollow_cluster.kubectl("delete", "deployment", deployment["metadata"]["name"], "-n",
                           deployment["metadata"]["namespace"])
    made = wait_until(
        lambda: (found := witness.deployment(name))
        and found["metadata"]["uid"] != deployment["metadata"]["uid"] and found,
        "the Deployment is made again")
    assert made["spec"]["replicas"] == 2
    ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)
    wait_until(lambda: ids_of(tasks_of(ecs, name)) == task_ids(witness.pods(name)),
               "tasks are the pods")


def test_pod_deleted_behind_our_back_is_a_stopped_task(hollow_cluster, ecs, witness, service, name):
    service(2)
    pod = witness.pods(name)[0]
    token = task_ids([pod]).pop()
    hollow_cluster.kubectl("delete", "pod", pod["metadata"]["name"], "-n",
                           pod["metadata"]["namespace"], "--wait=false")
    arn = next(item["taskArn"] for item in tasks_of(ecs, name) + tasks_of(ecs, name, desired="STOPPED")
               if item["taskArn"].endswith(token))
    wait_for_status(ecs, arn, "STOPPED")
    ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)
    assert ids_of(tasks_of(ecs, name)) == task_ids(witness.pods(name))
    wait_until(lambda: witness.pod(token) is None, "nothing holds the pod any more")


def test_replicas_changed_behind_our_back_come_back(hollow_cluster, ecs, witness, service, name):
    service(2)
    deployment = witness.deployment(name)
    hollow_cluster.kubectl("scale", "deployment", deployment["metadata"]["name"], "--replicas=5",
                           "-n", deployment["metadata"]["namespace"])
    wait_until(lambda: witness.deployment(name)["spec"]["replicas"] == 2
               and len(witness.pods(name)) == 2, "two replicas are wanted again")


def test_service_is_deleted_with_all_that_was_its(ecs, witness, name):
    ecs.create_service(serviceName=name, desiredCount=2, taskDefinition=definition(ecs, name))
    ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)
    arns = [item["taskArn"] for item in tasks_of(ecs, name)]
    ecs.delete_service(service=name, force=True)
    ecs.get_waiter("services_inactive").wait(services=[name], WaiterConfig=WAIT)
    wait_until(lambda: witness.deployment(name) is None, "its Deployment is gone")
    wait_until(lambda: not witness.pods(name, ending=True), "its pods are gone")
    assert {task(ecs, arn)["lastStatus"] for arn in arns} == {"STOPPED"}


def test_daemon_is_on_every_node(hollow_cluster, ecs, witness, name):
    ecs.create_service(serviceName=name, schedulingStrategy="DAEMON",
                       taskDefinition=definition(ecs, name))
    nodes = {item["metadata"]["name"]
             for item in hollow_cluster.kubectl_json("get", "nodes")["items"]}
    try:
        wait_until(lambda: described(ecs, name)["runningCount"] == len(nodes),
                   "a task runs on every node")
        assert witness.deployment(name, "daemonsets")
        assert {pod["spec"]["nodeName"] for pod in witness.pods(name)} == nodes
        ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)
    finally:
        ecs.delete_service(service=name, force=True)
        ecs.get_waiter("services_inactive").wait(services=[name], WaiterConfig=WAIT)


def test_task_sets_are_deployments_of_their_own(ecs, witness, name):
    ecs.create_service(serviceName=name, desiredCount=4, deploymentController={"type": "EXTERNAL"})
    sets = {}
    try:
        for scale in (100, 50):
            sets[scale] = ecs.create_task_set(
                service=name, cluster="default", taskDefinition=definition(ecs, name),
                launchType="EC2", scale={"value": scale, "unit": "PERCENT"})["taskSet"]["id"]
        wait_until(lambda: len(witness.pods(name)) == 6, "both sets have their pods")
        wait_until(lambda: {item["stabilityStatus"] for item in ecs.describe_task_sets(
            cluster="default", service=name)["taskSets"]} == {"STEADY_STATE"}, "both are steady")
        deployments = [item for item in witness.items("deployments")
                       if annotations(item)["slipway.dev/group"].split("/")[3] == name]
        assert sorted(item["spec"]["replicas"] for item in deployments) == [2, 4]
        ecs.delete_task_set(cluster="default", service=name, taskSet=sets[50], force=True)
        wait_until(lambda: len(witness.pods(name)) == 4, "the pods of the deleted set are gone")
    finally:
        for identifier in sets.values():
            try:
                ecs.delete_task_set(cluster="default", service=name, taskSet=identifier, force=True)
            except ecs.exceptions.ClientError:
                pass
        ecs.delete_service(service=name, force=True)


ROLLS = {  # minimum and maximum percent: maxUnavailable and maxSurge of three
    (100, 110): (0, 1),  # no room at all, which Kubernetes would refuse as 0 and 0
    (0, 100): (3, 0),
    (50, 150): (1, 1),
}


@pytest.mark.parametrize("bounds", ROLLS)
def test_what_was_said_of_deployments_is_kept_and_rolls(ecs, witness, service, name, bounds):
    said = {"minimumHealthyPercent": bounds[0], "maximumPercent": bounds[1],
            "deploymentCircuitBreaker": {"enable": True, "rollback": True}}
    service(3, deploymentConfiguration=said)
    rolling = witness.deployment(name)["spec"]["strategy"]["rollingUpdate"]
    assert (rolling["maxUnavailable"], rolling["maxSurge"]) == ROLLS[bounds]
    ecs.update_service(service=name, taskDefinition=definition(ecs, name, "local.test/web:2"))
    ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)
    assert {pod["spec"]["containers"][0]["image"] for pod in witness.pods(name)} == {"local.test/web:2"}
    kept = described(ecs, name)["deploymentConfiguration"]
    assert {key: kept[key] for key in said} == said


# ---- tasks of their own ----

def test_what_is_asked_is_what_is_shown(ecs, witness, name):
    """A quarter of a processor is not none, and a task that did not ask for Fargate does not get it."""
    family = ecs.register_task_definition(
        family=name, requiresCompatibilities=["EC2", "FARGATE"], networkMode="awsvpc", cpu="256", memory="512",
        containerDefinitions=[{"name": "app", "image": IMAGE, "cpu": 250}])["taskDefinition"]["taskDefinitionArn"]
    network = {"awsvpcConfiguration": {"subnets": ["subnet-1"]}}
    for launch_type in ("EC2", "FARGATE"):
        arn = ecs.run_task(taskDefinition=family, launchType=launch_type,
                           networkConfiguration=network)["tasks"][0]["taskArn"]
        running = wait_for_status(ecs, arn, "RUNNING")
        pod = witness.pod(arn.rsplit("/", 1)[1])
        assert running["launchType"] == launch_type
        assert (running["cpu"], running["memory"]) == ("256", "512")
        assert running["containers"][0]["cpu"] == "250"
        assert pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "250m"
        assert running["containers"][0]["networkInterfaces"][0]["privateIpv4Address"] == pod["status"]["podIP"]
        ecs.stop_task(task=arn)


def test_what_happens_to_a_pod_is_why_its_task_waits(hollow_cluster, ecs, witness, name):
    """Some causes are in events only, not in the pod: for example a volume that cannot be mounted."""
    hollow_cluster.hollow.hold()
    try:
        arn = ecs.run_task(taskDefinition=definition(ecs, name))["tasks"][0]["taskArn"]
        pod = wait_until(lambda: witness.pod(arn.rsplit("/", 1)[1]), "it has a pod")["metadata"]
        for reason, message in (("FailedMount", "no such volume"), ("FailedCreatePodSandBox", "no network")):
            hollow_cluster.api.post(f"/api/v1/namespaces/{pod['namespace']}/events", {
                "metadata": {"generateName": "why-"}, "type": "Warning", "reason": reason, "message": message,
                "lastTimestamp": "2030-01-01T00:00:00Z" if "Sand" in reason else "2029-01-01T00:00:00Z",
                "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": pod["namespace"],
                                   "name": pod["name"], "uid": pod["uid"]}})
            wait_until(lambda reason=reason, message=message: task(ecs, arn)["containers"][0].get("reason")
                       == f"{reason}: {message}", "the task says so")
    finally:
        hollow_cluster.hollow.release()
    assert "reason" not in wait_for_status(ecs, arn, "RUNNING")["containers"][0]
    ecs.stop_task(task=arn)

def test_run_task_is_a_pod_that_ends(hollow_cluster, ecs, witness, name):
    arn = ecs.run_task(taskDefinition=definition(ecs, name))["tasks"][0]["taskArn"]
    running = wait_for_status(ecs, arn, "RUNNING")
    pod = witness.pod(arn.rsplit("/", 1)[1])
    assert pod["spec"]["restartPolicy"] == "Never"
    assert running["containerInstanceArn"]
    hollow_cluster.hollow.exit(pod["metadata"]["namespace"], pod["metadata"]["name"], code=0)
    stopped = wait_for_status(ecs, arn, "STOPPED")
    assert stopped["containers"][0]["exitCode"] == 0
    assert stopped["stopCode"] == "EssentialContainerExited"


def test_node_that_forgets_a_deletion_is_reminded(hollow_cluster, ecs, witness, name):
    """Nodes before 1.22 may let a pod run on that was deleted while it started: a change of it makes them look."""
    hollow = hollow_cluster.hollow
    hollow.hold()
    try:
        arn = ecs.run_task(taskDefinition=definition(ecs, name))["tasks"][0]["taskArn"]
        token = arn.rsplit("/", 1)[1]
        pod = wait_until(lambda: (found := witness.pod(token)) and found["status"].get("containerStatuses")
                         and found, "its node has begun with it")
        hollow.silence(pod["spec"]["nodeName"])
        try:
            ecs.stop_task(task=arn)
            reminders = set()
            wait_until(lambda: reminders.add(annotations(witness.pod(token)).get("slipway.dev/reminded"))
                       or len(reminders - {None}) > 1, "the node is reminded, and again")
            assert task(ecs, arn)["lastStatus"] != "STOPPED"
        finally:
            hollow.wake(pod["spec"]["nodeName"])
    finally:
        hollow.release()
    wait_for_status(ecs, arn, "STOPPED")
    wait_until(lambda: witness.pod(token) is None, "nothing holds the pod any more")


def instances_of(ecs):
    return ecs.describe_container_instances(containerInstances=ecs.list_container_instances()[
        "containerInstanceArns"])["containerInstances"]


def test_start_task_goes_to_the_node_that_is_named(ecs, witness, name):
    instances = instances_of(ecs)
    arn = ecs.start_task(taskDefinition=definition(ecs, name), containerInstances=[
        instances[-1]["containerInstanceArn"]])["tasks"][0]["taskArn"]
    running = wait_for_status(ecs, arn, "RUNNING")
    assert running["containerInstanceArn"] == instances[-1]["containerInstanceArn"]
    # There was nothing to schedule.
    pod = witness.pod(arn.rsplit("/", 1)[1])
    assert {"name": "ecs.instance-name", "value": pod["spec"]["nodeName"]} in instances[-1]["attributes"]
    assert "affinity" not in pod["spec"]
    ecs.stop_task(task=arn, reason="that will do")
    stopped = wait_for_status(ecs, arn, "STOPPED")
    assert (stopped["stopCode"], stopped["stoppedReason"]) == ("UserInitiated", "that will do")


@pytest.mark.parametrize("closed, why", [
    ({"taints": [{"key": "mine", "effect": "NoSchedule"}]}, "taint"),
    ({"unschedulable": True}, "unschedulable")])
def test_start_task_on_a_node_that_takes_none_waits_and_says_why(hollow_cluster, ecs, name, closed, why):
    node = "/api/v1/nodes/hollow-0"

    def patch(spec, label):
        # The label is an attribute of the instance: when it is visible, so is the rest.
        hollow_cluster.api.patch(node, {"spec": spec, "metadata": {"labels": {"seen": label}}})
        return wait_until(lambda: [found for found in instances_of(ecs) if
                                   {"name": "seen", "value": label} in found["attributes"]],
                          "slipway has seen it")[0]["containerInstanceArn"]

    instance = patch(closed, name)
    try:
        arn = ecs.start_task(taskDefinition=definition(ecs, name),
                             containerInstances=[instance])["tasks"][0]["taskArn"]
        wait_until(lambda: why in str(task(ecs, arn)), "the task says why it waits")
        assert task(ecs, arn)["lastStatus"] in ("PROVISIONING", "PENDING")
    finally:
        patch({"taints": None, "unschedulable": None}, "open")
    wait_for_status(ecs, arn, "RUNNING")
    ecs.stop_task(task=arn)
    wait_for_status(ecs, arn, "STOPPED")


def test_task_that_fits_nowhere_waits_and_says_why(ecs, name):
    arn = ecs.run_task(taskDefinition=definition(ecs, name, memory=10_000_000))["tasks"][0]["taskArn"]
    wait_until(lambda: "nsufficient memory" in str(task(ecs, arn)), "the task says why it waits")
    assert task(ecs, arn)["lastStatus"] in ("PROVISIONING", "PENDING")
    ecs.stop_task(task=arn)
    wait_for_status(ecs, arn, "STOPPED")


# ---- instances that change ----

def test_draining_cordons_and_moves(hollow_cluster, ecs, witness, service, name):
    service(3)
    pod = witness.pods(name)[0]
    node = pod["spec"]["nodeName"]
    arn = task(ecs, next(item["taskArn"] for item in tasks_of(ecs, name)
                         if item["taskArn"].endswith(task_ids([pod]).pop())))["containerInstanceArn"]
    ecs.update_container_instances_state(containerInstances=[arn], status="DRAINING")
    try:
        wait_until(lambda: all(item["spec"].get("nodeName", node) != node for item in witness.pods(name)),
                   "no pod is left there")
        wait_until(lambda: hollow_cluster.kubectl_json("get", "node", node)["spec"].get("unschedulable"), "closed")
        ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)
        wait_until(lambda: len(witness.pods(name)) == 3, "there are no more than were wanted")
    finally:
        ecs.update_container_instances_state(containerInstances=[arn], status="ACTIVE")
    wait_until(lambda: not hollow_cluster.kubectl_json("get", "node", node)["spec"].get(
        "unschedulable"), "the node takes pods again")


def test_daemons_are_the_last_to_leave_and_come_back(hollow_cluster, ecs, witness, service, name):
    """Those of another cluster, in which the instance does not drain, stay."""
    daemon, other = name + "-d", "daemons-secondary"
    ecs.create_cluster(clusterName=other)
    for cluster in ("default", other):
        ecs.create_service(cluster=cluster, serviceName=daemon, schedulingStrategy="DAEMON",
                           taskDefinition=definition(ecs, daemon))
    nodes = {item["metadata"]["name"] for item in hollow_cluster.kubectl_json("get", "nodes")["items"]}

    def places(cluster="default", ending=False):
        return sorted(pod["spec"].get("nodeName", "") for pod in witness.pods(daemon, ending)
                      if annotations(pod)["slipway.dev/cluster-arn"].endswith("/" + cluster))

    try:
        service(len(nodes))
        wait_until(lambda: places() == places(other) == sorted(nodes), "they are everywhere")
        wait_until(lambda: described(ecs, daemon)["runningCount"] == len(nodes), "and known")
        own = ecs.run_task(taskDefinition=definition(ecs, name + "-own"))["tasks"][0]["taskArn"]
        instance = wait_for_status(ecs, own, "RUNNING")["containerInstanceArn"]
        node = witness.pod(own.rsplit("/", 1)[1])["spec"]["nodeName"]
        leaves = next(item["taskArn"] for item in tasks_of(ecs, daemon)
                      if item["containerInstanceArn"] == instance)
        ecs.update_container_instances_state(containerInstances=[instance], status="DRAINING")
        try:
            wait_until(lambda: all(pod["spec"].get("nodeName") != node for pod in witness.pods(name)),
                       "tasks of services leave")
            # A task of its own stays, and with it the daemon.
            assert task(ecs, own)["lastStatus"] == task(ecs, leaves)["lastStatus"] == "RUNNING"
            assert places() == sorted(nodes)
            ecs.stop_task(task=own)
            stopped = wait_for_status(ecs, leaves, "STOPPED")
            assert stopped["stopCode"] == "ServiceSchedulerInitiated"
            assert stopped["stoppedAt"] >= task(ecs, own)["stoppedAt"]
            wait_until(lambda: places(ending=True) == sorted(nodes - {node}), "it is not replaced")
            wait_until(lambda: described(ecs, daemon)["desiredCount"] == len(nodes) - 1, "nor wanted")
            ecs.get_waiter("services_stable").wait(services=[daemon], WaiterConfig=WAIT)
            assert places(other) == sorted(nodes)
            shown = ecs.describe_container_instances(containerInstances=[instance])
            assert "drained" not in str(shown["containerInstances"][0]["attributes"])
        finally:
            ecs.update_container_instances_state(containerInstances=[instance], status="ACTIVE")
        wait_until(lambda: places() == sorted(nodes), "it is back")
        wait_until(lambda: described(ecs, daemon)["runningCount"] == len(nodes), "and known")
        assert "drained" not in str(hollow_cluster.kubectl_json("get", "node", node)["metadata"]["labels"])
    finally:
        for cluster in ("default", other):
            ecs.delete_service(cluster=cluster, service=daemon, force=True)
            ecs.get_waiter("services_inactive").wait(cluster=cluster, services=[daemon], WaiterConfig=WAIT)


def test_node_that_is_lost_stops_no_task(hollow_cluster, ecs, witness, service, name):
    service(2)
    pod = witness.pods(name)[0]
    node = pod["spec"]["nodeName"]
    hollow_cluster.hollow.set_node(node, "Unknown")
    try:
        arn = next(item for item in tasks_of(ecs, name)
                   if item["taskArn"].endswith(task_ids([pod]).pop()))
        wait_until(lambda: not ecs.describe_container_instances(
            containerInstances=[arn["containerInstanceArn"]])["containerInstances"][0][
                "agentConnected"], "its instance is not connected")
        assert task(ecs, arn["taskArn"])["lastStatus"] == "RUNNING"
    finally:
        hollow_cluster.hollow.set_node(node, "True")


# ---- foreign things ----

def test_foreign_objects_are_left_alone(hollow_cluster, ecs, witness, service, name):
    hollow_cluster.kubectl("create", "deployment", "foreign", "--image=local.test/other:1")
    before = hollow_cluster.kubectl_json("get", "deployment", "foreign")["metadata"]
    service(1)
    after = hollow_cluster.kubectl_json("get", "deployment", "foreign")["metadata"]
    assert after["uid"] == before["uid"] and after["generation"] == before["generation"]
    wait_until(lambda: ids_of(tasks_of(ecs, name)) == task_ids(witness.pods(name)),
               "tasks are the pods of the service, and no others")
    pods = wait_until(lambda: hollow_cluster.kubectl_json("get", "pods", "-l", "app=foreign")["items"], "it has pods")
    assert not any(pod["metadata"]["uid"].replace("-", "") in str(ecs.list_tasks())
                            for pod in pods)
    hollow_cluster.kubectl("delete", "deployment", "foreign")


# ---- startedBy and capacity providers ----

def test_tasks_have_the_capacity_providers_of_their_service(ecs, service, name):
    names = [f"own-{number}" for number in (1, 2)]
    for item in names:
        ecs.create_capacity_provider(name=item, autoScalingGroupProvider={"autoScalingGroupArn": GROUP + item})
    ecs.put_cluster_capacity_providers(cluster="default", capacityProviders=names,
                                       defaultCapacityProviderStrategy=[])
    service(4, capacityProviderStrategy=[{"capacityProvider": item, "weight": 1} for item in names])
    shown = tasks_of(ecs, name)
    assert sorted(item["capacityProviderName"] for item in shown) == sorted(names * 2)
    assert {item["launchType"] for item in shown} == {"EC2"}


def test_the_aws_command_waits(server, ecs, witness, name):
    aws = functools.partial(server.aws, "ecs")
    definition(ecs, name)
    aws("create-service", "--service-name", name, "--desired-count", "2", "--task-definition", name)
    # It looks every 15 seconds; ours looks more often.
    ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)
    aws("wait", "services-stable", "--services", name)
    assert len(witness.pods(name)) == 2
    aws("delete-service", "--service", name, "--force")
    ecs.get_waiter("services_inactive").wait(services=[name], WaiterConfig=WAIT)
    aws("wait", "services-inactive", "--services", name)
    wait_until(lambda: witness.pods(name) == [] and witness.deployment(name) is None, "nothing of it is left")


def test_an_ephemeral_server_leaves_nothing(hollow_cluster, witness, start_slipway, name):
    server = start_slipway("--ephemeral", "--runtime", "kubernetes", "--kubeconfig",
                           hollow_cluster.credentials.path("admin.kubeconfig"), *account())
    ecs = server.boto("ecs")
    wait_until(lambda: ecs.list_clusters()["clusterArns"], "the cluster is there")
    ecs.create_service(serviceName=name, desiredCount=2, taskDefinition=definition(ecs, name))
    ecs.create_service(serviceName=name + "-d", schedulingStrategy="DAEMON", taskDefinition=name)
    arn = ecs.run_task(taskDefinition=name)["tasks"][0]["taskArn"]
    ecs.get_waiter("services_stable").wait(services=[name, name + "-d"], WaiterConfig=WAIT)
    wait_for_status(ecs, arn, "RUNNING")
    ours = f":{server.key['account']}:"

    def left():
        return [item["metadata"]["name"] for kind in ("deployments", "daemonsets", "pods")
                for item in witness.items(kind) if ours in annotations(item)["slipway.dev/cluster-arn"]
                and item.get("status", {}).get("phase") not in ("Succeeded", "Failed")]

    wait_until(lambda: len(left()) >= 6, "there is something of each")  # of the daemon, too
    server.stop()
    wait_until(lambda: not left(), "nothing of it is left")


def test_metrics_of_a_sync(server, service):
    service(1)
    text = server.get("/metrics").text
    for line in ('slipway_sync_duration_seconds_count{resource_type="task"}',
                 'slipway_sync_errors_total{resource_type="task",error_type="store"} 0',
                 'slipway_sync_queue_depth{resource_type="service"}', "slipway_sync_breaker_open 0"):
        assert line in text
    for resource in ("task", "service"):
        lag, = re.findall(f'^slipway_sync_lag_seconds{{resource_type="{resource}"}} (.*)$', text, re.MULTILINE)
        assert 0 <= float(lag) < DEADLINE
