"""deploy/: slipway as a pod of the cluster that it drives, as the manifests have it."""
import http.client
import json
import os
import subprocess
import types

import boto3
import botocore.config
import pytest
from api import Api, ApiError
from conftest import DEADLINE, SOURCE, slipway_program, wait_until
from on_node import WAIT, container, load_own_image
from test_run_exec import slipway_run
from witness import Witness, is_ready, task_ids

pytestmark = pytest.mark.node

MANIFESTS = os.path.join(SOURCE, "deploy/kubernetes")
NAMESPACE = "slipway"
# The volume that the claim slipway-state binds here; usually a storage class creates one.
VOLUME = {
    "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "state"},
    "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
             "local": {"path": "/var/lib/slipway-state"},
             "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                 {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-0"]}]}]}}},
}

# Verb, resource, namespace ("": cluster-wide), whether slipway may. "shop" stands for the namespace of
# an ECS cluster, in which slipway has bound its second role.
RIGHTS = [
    ("watch", "nodes", "", True),
    ("patch", "nodes", "", True),
    ("delete", "nodes", "", False),
    ("create", "namespaces", "", True),
    ("delete", "namespaces", "", False),
    ("watch", "pods", "", True),
    ("watch", "events", "", True),
    ("watch", "deployments.apps", "", True),
    ("watch", "endpointslices.discovery.k8s.io", "", False),
    ("get", "services", "", True),
    ("list", "services", "", False),
    ("list", "namespaces", "", False),
    ("create", "pods", "shop", True),
    ("delete", "pods", "shop", True),
    ("create", "pods/exec", "shop", True),
    ("get", "pods/log", "shop", True),
    ("patch", "pods/status", "shop", True),
    ("patch", "deployments.apps", "shop", True),
    ("create", "daemonsets.apps", "shop", True),
    ("delete", "replicasets.apps", "shop", True),
    ("delete", "replicasets.apps", "default", False),
    ("create", "secrets", "shop", True),
    ("get", "services", "shop", True),
    ("list", "endpointslices.discovery.k8s.io", "shop", True),
    ("get", "secrets", "shop", False),
    ("create", "pods", "kube-system", False),
    ("delete", "pods", "default", False),
    ("create", "pods/exec", "default", False),
    ("get", "pods/log", "kube-system", False),
    ("patch", "deployments.apps", "default", False),
    ("get", "secrets", "kube-system", False),
    ("list", "secrets", "", False),
    ("patch", "secrets", "default", False),
    ("get", "configmaps", "kube-system", False),
    ("create", "clusterrolebindings.rbac.authorization.k8s.io", "", False),
    ("impersonate", "users", "", False),
]


@pytest.fixture(scope="module")
def deployed(node_cluster, tmp_path_factory):
    """A cluster with slipway deployed in it."""
    load_own_image(node_cluster, tmp_path_factory.mktemp("deploy"))
    node_cluster.place.run_command("mkdir", "-p", VOLUME["spec"]["local"]["path"])
    node_cluster.kubectl("apply", "-f", "-", text=json.dumps(VOLUME))
    node_cluster.kubectl("apply", "-k", MANIFESTS)
    wait_for_rollout(node_cluster)
    return node_cluster


def wait_for_rollout(cluster):
    done = cluster.kubectl("-n", NAMESPACE, "rollout", "status", "deployment", "slipway",
                           f"--timeout={DEADLINE}s", check=False)
    if done.returncode:
        pytest.fail(done.stderr + cluster.kubectl("-n", NAMESPACE, "describe", "pods").stdout +
                    cluster.kubectl("-n", NAMESPACE, "logs", "deploy/slipway", check=False).stdout)


def own_pods(cluster):
    return [pod for pod in cluster.kubectl_json("-n", NAMESPACE, "get", "pods")["items"]
            if "deletionTimestamp" not in pod["metadata"]]


def the_pod(cluster):
    pods = own_pods(cluster)
    assert len(pods) == 1
    return pods[0]


def address(cluster):
    return f"http://{the_pod(cluster)['status']['podIP']}:4780"


def get(url, path):
    connection = http.client.HTTPConnection(url.split("//")[1], timeout=DEADLINE)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def client_of(service, cluster, key):
    return boto3.session.Session(
        aws_access_key_id=key["accessKeyId"], aws_secret_access_key=key["secretAccessKey"],
        region_name="us-east-1").client(
            service, endpoint_url=address(cluster),
            config=botocore.config.Config(retries={"total_max_attempts": 1}))


def ecs(cluster, key):
    return client_of("ecs", cluster, key)


def make_key(cluster):
    done = cluster.kubectl("-n", NAMESPACE, "exec", "deploy/slipway", "--", "slipway", "key",
                           "create", "--state", "/var/lib/slipway", "--user", "me", "-o", "json")
    return json.loads(done.stdout)


def test_it_is_ready_and_answers(deployed):
    assert get(address(deployed), "/readyz") == (200, "ready\n")
    key = make_key(deployed)
    client = ecs(deployed, key)
    client.create_cluster(clusterName="web")
    assert f"arn:aws:ecs:us-east-1:{key['account']}:cluster/web" in \
        client.list_clusters()["clusterArns"]


def test_it_runs_services_in_its_cluster(deployed):
    """With the rights of its service account, and with slipway-pod from its own image."""
    key = make_key(deployed)
    client = ecs(deployed, key)
    client.create_cluster(clusterName="inside")
    client.register_task_definition(family="web", networkMode="awsvpc", containerDefinitions=[
        container("echo runs; trap 'exit 0' TERM; while :; do sleep 0.1; done",
                  dependsOn=[{"containerName": "first", "condition": "COMPLETE"}]),
        container("exit 4", "first", essential=False)])
    client.create_service(
        cluster="inside", serviceName="web", desiredCount=2, taskDefinition="web",
        serviceRegistries=[{"registryArn": make_registry(deployed, key)}],
        networkConfiguration={"awsvpcConfiguration": {"subnets": ["subnet-1"]}})
    client.get_waiter("services_stable").wait(cluster="inside", services=["web"], WaiterConfig=WAIT)
    witness = Witness(deployed, key["account"])
    pods = witness.pods("web")
    arns = client.list_tasks(cluster="inside", serviceName="web")["taskArns"]
    assert {arn.rsplit("/", 1)[1] for arn in arns} == task_ids(pods) and len(pods) == 2
    wait_until(lambda: addresses_in_slices(witness, pods[0]) == {pod["status"]["podIP"] for pod in pods},
               "their addresses are published")
    server = types.SimpleNamespace(url=address(deployed), aws_environment=lambda _: {
        "AWS_ACCESS_KEY_ID": key["accessKeyId"], "AWS_SECRET_ACCESS_KEY": key["secretAccessKey"],
        "AWS_DEFAULT_REGION": "us-east-1"})
    wait_until(lambda: (logs := slipway_run(server, "logs", "-c", "app", arns[0])).returncode == 0
               and logs.stdout == b"runs\n", "it is heard")
    client.delete_service(cluster="inside", service="web", force=True)
    client.get_waiter("services_inactive").wait(cluster="inside", services=["web"],
                                                WaiterConfig=WAIT)
    said = deployed.kubectl("-n", NAMESPACE, "logs", "deploy/slipway").stdout
    assert "forbidden" not in said


def make_registry(cluster, key):
    names = client_of("servicediscovery", cluster, key)
    names.create_private_dns_namespace(Name="inside.test", Vpc="vpc-1")
    space = wait_until(lambda: names.list_namespaces()["Namespaces"], "there is a namespace")[0]
    return names.create_service(Name="web", NamespaceId=space["Id"], DnsConfig={
        "DnsRecords": [{"Type": "A", "TTL": 1}]})["Service"]["Arn"]


def addresses_in_slices(witness, pod):
    """In the namespace of a pod: other slipways may have left theirs in other namespaces."""
    return {address for item in witness.items("endpointslices")
            if item["metadata"]["namespace"] == pod["metadata"]["namespace"]
            for endpoint in item["endpoints"] or () for address in endpoint["addresses"]}


def test_it_runs_without_any_privilege(deployed):
    pod = the_pod(deployed)
    identity = pod["status"]["containerStatuses"][0]["containerID"].split("//")[1]
    tasks = deployed.place.ctr("tasks", "list").stdout
    pid = [line.split()[1] for line in tasks.splitlines() if line.startswith(identity)][0]
    status = deployed.place.run_command("cat", f"/proc/{pid}/status").stdout
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["Uid"].split() == ["65532"] * 4
    assert int(fields["CapEff"], 16) == int(fields["CapBnd"], 16) == 0
    assert fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2"


def test_its_state_survives_its_pod(deployed):
    key = make_key(deployed)
    ecs(deployed, key).create_cluster(clusterName="kept")
    before = the_pod(deployed)["metadata"]["name"]
    deployed.kubectl("-n", NAMESPACE, "delete", "pod", before)
    # A controller that is late would say that all is as it was.
    wait_until(lambda: [pod["metadata"]["name"] != before and is_ready(pod) for pod in own_pods(deployed)] == [True],
               "another one is ready")
    arns = wait_until(lambda: ecs(deployed, key).list_clusters()["clusterArns"], "it answers")
    assert any(arn.endswith("/kept") for arn in arns)


def test_image_is_that_of_this_version(deployed):
    version = subprocess.run([slipway_program(), "version"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout.split()[-1]
    assert the_pod(deployed)["spec"]["containers"][0]["image"] == f"slipway:{version}"


def test_rights_are_enough_and_no_more(deployed):
    deployed.kubectl("create", "namespace", "shop")
    deployed.kubectl("-n", "shop", "create", "rolebinding", "slipway-tasks",
                     "--clusterrole=slipway-tasks", "--serviceaccount=slipway:slipway")
    wrong = []

    def is_right():  # the API server itself may see the binding a little later
        wrong[:] = [right for right in RIGHTS if is_allowed(deployed, *right[:3]) != right[3]]
        return not wrong

    wait_until(is_right, wrong)


def is_allowed(cluster, verb, resource, namespace):
    """Whether the API server would let slipway's service account do it."""
    resource, _, group = resource.partition(".")
    resource, _, subresource = resource.partition("/")
    review = cluster.api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": {
        "user": "system:serviceaccount:slipway:slipway",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:slipway",
                   "system:authenticated"],
        "resourceAttributes": {"verb": verb, "group": group, "resource": resource,
                               "subresource": subresource, "namespace": namespace}}})
    return review["status"]["allowed"]


def binding(role, namespace, name):
    return (f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings", {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "namespace": NAMESPACE, "name": "slipway"}]})


def test_it_may_give_itself_its_second_role_and_no_other(deployed):
    token = deployed.api.post("/api/v1/namespaces/slipway/serviceaccounts/slipway/token",
                              {"spec": {}})["status"]["token"]
    itself = Api(deployed.credentials.server, deployed.credentials.ca, token)
    itself.post("/api/v1/namespaces", {"metadata": {"name": "store"}})
    with pytest.raises(ApiError) as refused:
        itself.post("/api/v1/namespaces/store/secrets", {"metadata": {"name": "s"}})
    assert refused.value.status == 403
    itself.post(*binding("slipway-tasks", "store", "slipway-tasks"))
    wait_until(lambda: can_make_secret(itself), "the role is there")
    for role in ("cluster-admin", "admin", "edit"):
        with pytest.raises(ApiError) as refused:
            itself.post(*binding(role, "store", role))
        assert refused.value.status == 403


def can_make_secret(itself):
    try:
        return itself.post("/api/v1/namespaces/store/secrets", {"metadata": {"name": "s"}})
    except ApiError as error:
        assert error.status == 403
        return None
