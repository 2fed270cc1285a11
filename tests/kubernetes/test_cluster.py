"""The tests' own Kubernetes: it comes up, can be hurt, and leaves nothing behind."""
import os
import subprocess
import sys

import pytest
from api import ApiError
from cluster import Cluster
from conftest import DEADLINE, wait_until
from traces import Traces

ALONE = ("etcd", "api")
HERE = os.path.dirname(os.path.realpath(__file__))

BOUND = """
import sys, time
from cluster import Cluster
cluster = Cluster()
cluster.up(parts=("etcd", "api"))
print(cluster.folder, cluster.etcd_data, *(p.pid for p in cluster.processes.values()), flush=True)
time.sleep(1000)
"""


@pytest.fixture(scope="module")
def api_server():
    """An API server without controllers, for all the tests here that leave it whole."""
    with Cluster() as cluster:
        cluster.up(parts=ALONE)
        yield cluster


def make_namespace(cluster, name):
    cluster.api.post("/api/v1/namespaces", {"metadata": {"name": name}})


def test_controllers_and_scheduler_work_and_the_end_leaves_nothing(start_cluster):
    cluster = start_cluster()
    cluster.kubectl("create", "deployment", "web", "--image=none/none:1")
    pods = wait_until(lambda: cluster.kubectl_json("get", "pods")["items"],
                      "the deployment has a pod")
    # There is no node, and the scheduler says so.
    wait_until(lambda: "no nodes available" in cluster.kubectl(
        "describe", "pod", pods[0]["metadata"]["name"]).stdout, "the scheduler looked at it")
    with Traces(cluster) as traces:
        assert len(traces.processes) == 4 and len(traces.left()) >= 4
        cluster.down()
        assert not traces.left()


def test_a_killed_test_leaves_no_process():
    with subprocess.Popen([sys.executable, "-B", "-c", BOUND], cwd=HERE, stdout=subprocess.PIPE,
                          text=True) as owner:
        folder, data, *numbers = owner.stdout.readline().split()
        assert len(numbers) == 2
        owner.kill()
    wait_until(lambda: not any(os.path.exists(f"/proc/{number}") for number in numbers),
               "the cluster ends with its owner")
    # A killed cluster leaves files; the next reboot removes them.
    subprocess.run(["rm", "-rf", folder, data], check=True)


def test_two_clusters_do_not_meet(start_cluster, api_server):
    other = start_cluster(parts=ALONE)
    make_namespace(other, "only-there")
    assert api_server.api.find("/api/v1/namespaces/only-there") is None
    with pytest.raises(ApiError) as refused:
        other.client(token=api_server.credentials.token()).get("/api/v1/namespaces")
    assert refused.value.status == 401


def test_every_kind_of_kubeconfig(api_server):
    credentials = api_server.credentials
    files = [credentials.token_kubeconfig(),
             credentials.certificate_kubeconfig("someone"),
             credentials.exec_kubeconfig("plugin"),
             credentials.exec_kubeconfig("expiring", expires="2099-01-01T00:00:00Z")]
    for file in files:
        # A new API server makes its own namespaces when it answers already.
        wait_until(lambda file=file: "kube-system" in api_server.kubectl("--kubeconfig", file, "get", "ns").stdout,
                   "kubectl is answered")
    assert os.path.getsize(credentials.path("plugin.plugin-token.asked")) >= 1


def test_rights_are_checked(api_server):
    for file in (api_server.credentials.path("stranger.kubeconfig"),
                 api_server.credentials.certificate_kubeconfig("guest", "guest", ["guests"])):
        done = api_server.kubectl("--kubeconfig", file, "get", "namespaces", check=False)
        assert done.returncode and "is forbidden" in done.stderr


def test_api_server_restarts_with_its_port_and_data(api_server):
    server = api_server.credentials.server
    make_namespace(api_server, "stays")
    for end in (api_server.stop_api_server, api_server.kill_api_server):
        end()
        with pytest.raises(OSError):
            api_server.api.get("/readyz")
        api_server.start_api_server()
        assert api_server.credentials.server == server
        assert api_server.kubectl("get", "namespace", "stays").stdout


def test_paused_api_server_says_nothing(api_server):
    api_server.pause_api_server()
    connection = api_server.api.connect(timeout=1)
    with pytest.raises(TimeoutError):
        connection.request("GET", "/readyz", headers=api_server.api.headers())
        connection.getresponse()
    api_server.resume_api_server()
    api_server.wait_for("kube-apiserver", lambda: api_server.api.get("/readyz") == "ok")


def test_forgotten_history_is_gone(api_server):
    _, revision = api_server.api.list("/api/v1/namespaces")
    make_namespace(api_server, "later")
    kind, item = next(api_server.api.watch("/api/v1/namespaces", revision, timeout=DEADLINE))
    assert (kind, item["metadata"]["name"]) == ("ADDED", "later")
    api_server.stop_api_server()
    api_server.forget_history()
    api_server.start_api_server()
    kind, item = next(api_server.api.watch("/api/v1/namespaces", revision, timeout=DEADLINE))
    assert (kind, item["code"]) == ("ERROR", 410)
