"""Every key of the block `sync:` does what docs/configuration.md says of it."""
import collections
import contextlib
import os
import subprocess
import tempfile
import time

import pytest

from conftest import wait_until
from faults import Faults
from programs import NOT_THERE
from test_state import WAIT, definition, ids_of, task, tasks_of, wait_for_status
from witness import Witness, task_ids


@pytest.fixture(scope="module")
def witness(hollow_cluster):
    return Witness(hollow_cluster)


@pytest.fixture
def start(hollow_cluster, start_slipway, tmp_path, request):
    """start(SYNC): a server with these lines in the block, in an account and so in namespaces of its own."""
    account = sum(request.node.name.encode())

    def start(sync, state=None, kubeconfig=None):
        path = tmp_path / "slipway.yaml"
        path.write_text("sync:\n" + "".join(f"  {line}\n" for line in sync.splitlines()))
        return start_slipway("--config", path, "--runtime", "kubernetes", "--account", f"{account:012}",
                             "--kubeconfig", kubeconfig or hollow_cluster.credentials.path("admin.kubeconfig"),
                             state=state)

    return start


def metrics(server):
    return {name: float(value) for name, _, value in (
        line.rpartition(" ") for line in server.get("/metrics").text.splitlines() if not line.startswith("#"))}


def make(ecs, name, count):
    # The default cluster is there when the nodes are known.
    wait_until(lambda: ecs.list_clusters()["clusterArns"], "the cluster is there")
    ecs.create_service(serviceName=name, desiredCount=count, taskDefinition=definition(ecs, name))
    ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)


def remove(ecs, name):
    ecs.delete_service(service=name, force=True)
    ecs.get_waiter("services_inactive").wait(services=[name], WaiterConfig=WAIT)


def test_without_following_everything_is_compared_now_and_then(hollow_cluster, witness, start):
    server = start("enabled: false\nresyncPeriod: 1s")
    ecs = server.boto("ecs")
    make(ecs, "compared", 2)
    pod = witness.pods("compared")[0]
    arn = next(item["taskArn"] for item in tasks_of(ecs, "compared")
               if item["taskArn"].endswith(task_ids([pod]).pop()))
    hollow_cluster.hollow.exit(pod["metadata"]["namespace"], pod["metadata"]["name"], code=3)
    assert wait_for_status(ecs, arn, "STOPPED")["containers"][0]["exitCode"] == 3
    remove(ecs, "compared")


def has_compared(server):
    """Tasks and services were looked at, and for a while nothing more is."""
    def looks():
        found = metrics(server)
        waiting = sum(value for name, value in found.items() if name.startswith("slipway_sync_queue_depth"))
        return waiting, [found[f'slipway_sync_duration_seconds_count{{resource_type="{resource}"}}']
                         for resource in ("task", "service")]

    before = looks()
    time.sleep(2)
    return before[0] == 0 and min(before[1]) >= 1 and looks() == before


def test_without_following_nothing_is_noticed_before_its_time(hollow_cluster, witness, start):
    server = start("resyncPeriod: 1h")
    make(server.boto("ecs"), "late", 1)
    arn = tasks_of(server.boto("ecs"), "late")[0]["taskArn"]
    pod = witness.pods("late")[0]["metadata"]
    server.stop()
    server = start("enabled: false\nresyncPeriod: 1h", server.state)
    wait_until(lambda: server.get("/readyz").status == 200, "it knows the cluster")
    wait_until(lambda: has_compared(server), "what it compares at its start is compared")
    hollow_cluster.hollow.exit(pod["namespace"], pod["name"], code=3)
    time.sleep(3)
    assert task(server.boto("ecs"), arn)["lastStatus"] == "RUNNING"
    server.stop()
    server = start("enabled: true\nresyncPeriod: 1h", server.state)
    assert wait_for_status(server.boto("ecs"), arn, "STOPPED")["containers"][0]["exitCode"] == 3
    remove(server.boto("ecs"), "late")


def threads(server):
    """How many of each name."""
    names = collections.Counter()
    for thread in os.listdir(f"/proc/{server.process.pid}/task"):
        with contextlib.suppress(*NOT_THERE), \
                open(f"/proc/{server.process.pid}/task/{thread}/comm", encoding="utf-8") as file:
            names[file.read().strip()] += 1
    return names


def test_workers(start):
    """As many more threads for tasks, and for services."""
    few, many = start("workers: 1"), start("workers: 7")
    more = {f"worker-{number}": 2 for number in range(1, 7)}
    wait_until(lambda: dict(threads(many) - threads(few)) == more, "there are six more of each")


def test_batches_of_one(start):
    server = start("batchSize: 1\nbatchDelay: 0s")
    make(server.boto("ecs"), "single", 5)
    # They are counted one after the other; when nothing more is written they are the same.
    wait_until(lambda: (found := metrics(server))["slipway_sync_batches_total"]
               == found["slipway_sync_batched_changes_total"] >= 5, "each change is a batch")
    assert metrics(server)["slipway_sync_changes_late_total"] == 0  # nothing was said of when it would be
    remove(server.boto("ecs"), "single")


def test_what_fails_is_tried_again_no_faster_than_is_said(hollow_cluster, start):
    """Ten services whose Deployments the API server refuses: each is tried once, then all of them together at the
    rate."""
    services = 10
    with Faults(hollow_cluster) as faults:
        server = start("rateLimit:\n  qps: 1\n  burst: 2", kubeconfig=faults.kubeconfig())
        ecs = server.boto("ecs")
        wait_until(lambda: ecs.list_clusters()["clusterArns"], "the cluster is there")
        faults.answer("^PATCH .*/deployments/", 500)
        family = definition(ecs, "refused")
        for number in range(services):
            ecs.create_service(serviceName=f"refused-{number}", desiredCount=1, taskDefinition=family)
        wait_until(lambda: len({line.split("?")[0] for line in faults.requests("^PATCH .*/deployments/")})
                   == services, "each is tried")

        def keeps_the_rate():
            tried, began = len(faults.requests("^PATCH .*/deployments/")), time.monotonic()
            time.sleep(8)
            again = len(faults.requests("^PATCH .*/deployments/")) - tried
            return 1 <= again <= 2 + (time.monotonic() - began) + 1

        wait_until(keeps_the_rate, "what comes of the making itself is over, and the rate is kept")
        found = metrics(server)
        assert sum(value for name, value in found.items() if name.startswith("slipway_sync_errors_total")
                   and 'resource_type="service"' in name) >= services
        faults.heal()
        for number in range(services):
            ecs.get_waiter("services_stable").wait(services=[f"refused-{number}"], WaiterConfig=WAIT)
        for number in range(services):
            remove(ecs, f"refused-{number}")


@pytest.mark.root  # makes a file system
def test_the_store_fails_for_a_while(hollow_cluster, witness, start):
    """A disk that is full: nothing is lost of what happens meanwhile, and the breaker keeps from trying in vain."""
    with small_disk() as (folder, fill, clear):
        server = start("batchSize: 10\nbatchDelay: 1ms", os.path.join(folder, "state"))
        ecs = server.boto("ecs")
        make(ecs, "full", 2)
        pod = witness.pods("full")[0]
        arn = next(item["taskArn"] for item in tasks_of(ecs, "full")
                   if item["taskArn"].endswith(task_ids([pod]).pop()))
        fill()
        hollow_cluster.hollow.exit(pod["metadata"]["namespace"], pod["metadata"]["name"], code=9)
        wait_until(lambda: metrics(server)["slipway_sync_breaker_open"] == 1, "the breaker opens")
        assert metrics(server)["slipway_sync_batches_failed_total"] >= 5
        assert task(ecs, arn)["lastStatus"] == "RUNNING"  # only stored changes are visible
        clear()
        assert wait_for_status(ecs, arn, "STOPPED")["containers"][0]["exitCode"] == 9
        wait_until(lambda: metrics(server)["slipway_sync_breaker_open"] == 0, "the breaker closes")
        assert metrics(server)["slipway_sync_changes_late_total"] >= 1  # later than batchDelay
        ecs.get_waiter("services_stable").wait(services=["full"], WaiterConfig=WAIT)
        wait_until(lambda: ids_of(tasks_of(ecs, "full")) == task_ids(witness.pods("full")), "tasks are the pods")
        remove(ecs, "full")
        server.stop()


@contextlib.contextmanager
def small_disk():
    """(folder, fill, clear): a file system of its own, of a few megabytes."""
    folder = tempfile.mkdtemp(prefix="slipway-disk-")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", folder], check=True)
    rest = os.path.join(folder, "rest")

    def fill():
        with open(rest, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    try:
        yield folder, fill, lambda: os.remove(rest)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        os.rmdir(folder)
