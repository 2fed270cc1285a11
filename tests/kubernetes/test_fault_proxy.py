"""The fault proxy of the tests itself: it forwards everything unless a fault is set."""
import http.client
import threading

import pytest
from api import ApiError
from conftest import DEADLINE, wait_until
from faults import Faults


@pytest.fixture(scope="module")
def cluster(start_clusters):
    return start_clusters(parts=("etcd", "api"))


@pytest.fixture
def faults(cluster):
    with Faults(cluster) as proxy:
        yield proxy


@pytest.fixture
def client(cluster, faults):
    return cluster.client(server=faults.server)


PATH = "/api/v1/namespaces"


def test_hands_on(cluster, faults, client):
    client.post(PATH, {"metadata": {"name": "a"}})
    assert cluster.api.get(f"{PATH}/a")["metadata"]["name"] == "a"
    # A new API server makes its own namespaces when it answers already.
    wait_until(lambda: "kube-system" in cluster.kubectl("--kubeconfig", faults.kubeconfig(), "get", "ns").stdout,
               "kubectl is answered")
    assert f"POST {PATH}" in faults.requests()


def test_answers_so_many_times(faults, client):
    faults.answer(f"GET {PATH}", 429, times=2, headers={"Retry-After": "1"})
    for _ in range(2):
        with pytest.raises(ApiError) as refused:
            client.get(PATH)
        assert (refused.value.status, refused.value.reason) == (429, "TooManyRequests")
    assert client.get(PATH)["items"]


def test_lost_answer_was_done_all_the_same(cluster, faults, client):
    faults.lose_answer(f"POST {PATH}", times=1)
    with pytest.raises(OSError):
        client.post(PATH, {"metadata": {"name": "b"}})
    assert cluster.api.get(f"{PATH}/b")


def test_some_are_let_by(cluster, faults, client):
    faults.lose_answer(f"POST {PATH}", times=1, after=1)
    client.post(PATH, {"metadata": {"name": "c"}})
    assert not faults.is_used_up()
    with pytest.raises((OSError, ApiError)):
        client.post(PATH, {"metadata": {"name": "d"}})
    assert faults.is_used_up()
    assert cluster.api.get(f"{PATH}/d")
    client.post(PATH, {"metadata": {"name": "e"}})


def test_truncated_answer(faults, client):
    faults.truncate(f"GET {PATH}", 1000)
    with pytest.raises(http.client.IncompleteRead):
        client.get(PATH)
    faults.heal()
    assert client.get(PATH)["items"]


def test_watches_are_handed_on_and_cut(cluster, faults, client):
    _, revision = cluster.api.list(PATH)
    seen, ends = [], []

    def follow():
        try:
            for kind, item in client.watch(PATH, revision, timeout=DEADLINE):
                seen.append((kind, item["metadata"]["name"]))
        except OSError as problem:
            ends.append(problem)
        else:
            ends.append(None)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    cluster.api.post(PATH, {"metadata": {"name": "watched"}})
    wait_until(lambda: ("ADDED", "watched") in seen, "the watch is handed on")
    assert faults.cut("watch=1") == 1
    wait_until(lambda: ends, "the watch ends")


def test_hangs_until_healed(faults, client):
    faults.hang(f"GET {PATH}")
    ends = []

    def ask():
        try:
            ends.append(client.get(PATH))
        except OSError as problem:
            ends.append(problem)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    wait_until(lambda: faults.requests(f"GET {PATH}"), "it has asked")
    assert not ends
    faults.heal()
    thread.join(DEADLINE)
    assert isinstance(ends[0], OSError)
    assert client.get(PATH)["items"]
