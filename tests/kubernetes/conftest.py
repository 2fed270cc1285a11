"""Shared by tests on Kubernetes, beside the servers and clients of the scenario tests: real
clusters, started and ended for them.

    def test_pods(hollow_cluster):                    # one cluster per module, with hollow nodes
        hollow_cluster.kubectl("get", "nodes")

    @pytest.mark.node                                 # one cluster for all, with a real node
    def test_traffic(node_cluster):
        ...

    def test_faults(start_cluster):                   # clusters of one's own
        cluster = start_cluster(parts=("etcd", "api"))
        cluster.kill_api_server()

Servers of modules that share a cluster have accounts of their own, so they do not meet there. Every cluster ends
with the test (or module, or run) that started it, and leaves nothing behind.
"""
import random

import pytest

from cluster import Cluster
from scenario.conftest import *  # noqa: F403  pylint: disable=wildcard-import

HOLLOW_NODES = 3
# Half of what runs on a real node; the rest is the other half.
SECOND_NODE = ("test_node_traffic_scenarios", "test_node_traffic", "test_deploy", "test_node")


@pytest.hookimpl(tryfirst=True)  # before xdist, which reads the groups
def pytest_collection_modifyitems(items):
    """Files are given to workers as a whole, but for tests on a real node: two workers have those, so that no more than
    two nodes compete for the machine. They come first, for they take longest, and then what waits for minutes."""
    for item in items:
        group = item.path.stem
        if item.get_closest_marker("node"):
            group = "second-node" if group in SECOND_NODE else "first-node"
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: (item.get_closest_marker("node") is None,
                                 not getattr(item.module, "TAKES_MINUTES", False)))


def run_cluster(**options):
    with Cluster() as cluster:
        cluster.up(**options)
        yield cluster


def run_clusters():
    """Yields a function that starts clusters; ends them all."""
    started = []

    def start(**options):
        cluster = Cluster()
        started.append(cluster)
        cluster.up(**options)
        return cluster

    yield start
    for cluster in reversed(started):
        cluster.down()


@pytest.fixture
def start_cluster():
    """start_cluster(**options of Cluster.up): a cluster for this test alone."""
    yield from run_clusters()


@pytest.fixture(scope="module")
def start_clusters():
    """The same for a module."""
    yield from run_clusters()


@pytest.fixture(scope="module")
def hollow_cluster():
    yield from run_cluster(hollow=HOLLOW_NODES)


@pytest.fixture(autouse=True)
def mended(request):
    """A test that fails while the API server is away takes no other one with it."""
    clusters = [request.getfixturevalue(name) for name in ("hollow_cluster", "api_server")
                if name in request.fixturenames]
    yield
    for cluster in clusters:
        cluster.mend()


@pytest.fixture(scope="session")
def node_cluster():
    yield from run_cluster(node=True)


def account():
    """Arguments of a server that meets no other one in its cluster."""
    return ["--account", str(random.randrange(10**11, 10**12))]


@pytest.fixture(scope="module")
def module_slipway(request):
    """module_slipway(*arguments): a server for all tests of a module, with an account of theirs."""
    servers = Servers([*arguments_of(request), *account()])  # noqa: F405
    yield servers.start
    servers.end()
