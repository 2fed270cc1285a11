"""Releases on a real API server: versions, updates, rollback, garbage collection, repair of drift. Slipway has the rights
of deploy/kubernetes/release-rights.yaml and no others, and the API server's audit log says what it did."""
import json

import pytest

from conftest import Servers, wait_until
from releases import Releases, audit_flags

APP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  color: "{{ .Values.color }}"
---
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector:
    app: web
  ports:
  - name: http
    port: 80
    targetPort: 8080
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - name: app
        image: "app:{{ .Values.color }}"
"""
RED = {"color": "red", "replicas": 2}
BLUE = {"color": "blue", "replicas": 2}


@pytest.fixture(scope="module")
def world(start_clusters, tmp_path_factory):
    """A cluster with hollow nodes, and one server for all tests that need none of their own."""
    folder = str(tmp_path_factory.mktemp("releases"))
    cluster = start_clusters(hollow=2, api_flags=audit_flags(folder))
    releases = Releases(cluster, folder)
    releases.install()
    servers = Servers()
    try:
        releases.start(servers.start)
        yield releases
    finally:
        servers.end()


@pytest.fixture
def releases(world, request):
    """A namespace of the test's own."""
    return world.in_namespace(request.node.name.replace("_", "-").removeprefix("test-")[:60].rstrip("-"))


def test_create_and_update(releases):
    releases.create("web", APP, RED, description="the first one")
    release = releases.wait_for_available("web", version=1)
    assert releases.config_map("settings")["data"] == {"color": "red"}
    deployment = releases.deployment("web")
    assert deployment["spec"]["replicas"] == 2
    # Everything selects by the track, so that a canary's pods are never taken for these.
    assert deployment["spec"]["selector"]["matchLabels"] == {"app": "web", "slipway.dev/track": "stable"}
    assert releases.object("services", "web")["spec"]["selector"] == {"app": "web", "slipway.dev/track": "stable"}
    for found in (deployment, releases.config_map("settings")):
        assert [owner["uid"] for owner in found["metadata"]["ownerReferences"]] == [release["metadata"]["uid"]]
    assert releases.versions("web") == [1]
    status = release["status"]
    assert status["podStatistics"] == {"oldPods": 0, "updatedPods": 2, "readyPods": 2}
    assert status["details"]["web"]["resources"] == {
        "v1, Kind=ConfigMap": {"Available": 1}, "v1, Kind=Service": {"Available": 1},
        "apps/v1, Kind=Deployment": {"Available": 1}}

    releases.change("web", BLUE)
    release = releases.wait_for_available("web", version=2)
    assert releases.config_map("settings")["data"] == {"color": "blue"}
    assert releases.deployment("web")["metadata"]["uid"] == deployment["metadata"]["uid"]
    assert releases.versions("web") == [1, 2]
    assert "app:blue" in release["status"]["manifest"]
