"""A Kubernetes that is down, or a wrong way to it: what slipway reports, and that it still ends on SIGTERM.
What it does with one that is there is tested in tests/kubernetes."""
import socket
import time

import pytest

from conftest import Servers, wait_until

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: here, cluster: {{server: "https://127.0.0.1:{port}", insecure-skip-tls-verify: true}}}}]
users: [{{name: me, user: {{token: secret}}}}]
contexts: [{{name: home, context: {{cluster: here, user: me}}}}]
current-context: home
"""


@pytest.fixture
def kubeconfig(tmp_path):
    """One whose API server is not there."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        path = tmp_path / "kubeconfig"
        path.write_text(KUBECONFIG.format(port=unused.getsockname()[1]))
        yield path


@pytest.mark.parametrize("text, arguments, words", (
    (None, (), "No such file or directory"),
    ("just words", (), "not an object"),
    ("clusters: [", (), "line 2"),
    (KUBECONFIG.format(port=1), ("--context", "work"), "there is no context 'work' (there are: home)"),
    (KUBECONFIG.format(port=1).replace("cluster: here", "cluster: there"), (), "there"),
), ids=("missing", "words", "cut", "context", "cluster"))
def test_wrong_kubeconfigs_are_refused(tmp_path, text, arguments, words):
    path = tmp_path / "kubeconfig"
    if text:
        path.write_text(text)
    servers = Servers(["--runtime", "kubernetes", "--kubeconfig", str(path), *arguments])
    try:
        with pytest.raises(pytest.fail.Exception) as refusal:
            servers.start()
        assert "slipway: open the Kubernetes runtime: kubeconfig" in str(refusal.value)
        assert words in str(refusal.value)
    finally:
        servers.end()


def test_no_kubeconfig_at_all():
    servers = Servers(["--runtime", "kubernetes"])
    try:
        with pytest.raises(pytest.fail.Exception) as refusal:
            servers.start(env={"KUBECONFIG": ""})
        assert "no Kubernetes cluster is known: name a kubeconfig file" in str(refusal.value)
    finally:
        servers.end()


@pytest.mark.parametrize("ephemeral", ((), ("--ephemeral",)))
def test_api_server_that_is_away(start_slipway, kubeconfig, ephemeral):
    server = start_slipway("--runtime", "kubernetes", "--kubeconfig", kubeconfig, *ephemeral)
    refused = server.get("/readyz")
    assert refused.status == 503 and "the Kubernetes cluster is not known yet" in refused.text
    assert server.get("/healthz").status == 200
    ecs = server.boto("ecs")
    ecs.create_cluster(clusterName="web")
    assert ecs.list_clusters()["clusterArns"]
    wait_until(lambda: "Couldn't connect to server" in server.stderr and "127.0.0.1" in server.stderr,
               "the log says so")
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 30  # a task that runs would be given minutes
