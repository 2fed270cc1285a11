"""Pods of one service, made and changed straight on the API server, as controllers and kubelets would."""
import concurrent.futures
import copy
import itertools
import sys
import time

from api import STRATEGIC

MAKERS = 4
NODE = {"metadata": {"name": "bench-0"}, "status": {
    "capacity": {"cpu": "1000", "memory": "4000Gi", "pods": "20000"},
    "allocatable": {"cpu": "1000", "memory": "4000Gi", "pods": "20000"},
    "addresses": [{"type": "InternalIP", "address": "10.200.0.1"}],
    "conditions": [{"type": "Ready", "status": "True", "reason": "Bench", "message": ""}]}}


def wait_for(condition, what, seconds=300):
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            sys.exit(f"not within {seconds} s: {what}")
        time.sleep(0.01)
    return value


class Pods:
    """They are of a service that slipway knows, and of no Deployment's controller: there is none."""

    def __init__(self, cluster, server):
        self.api = cluster.api
        self.api.post("/api/v1/nodes", NODE)
        self.api.patch("/api/v1/nodes/bench-0/status", {"status": NODE["status"]}, STRATEGIC)
        server.call("RegisterTaskDefinition", family="web", networkMode="awsvpc",
                    containerDefinitions=[{"name": "app", "image": "bench:1", "memory": 32,
                                           "cpu": 32}])
        server.call("CreateService", serviceName="web", taskDefinition="web", desiredCount=0,
                    networkConfiguration={"awsvpcConfiguration": {"subnets": ["subnet-1"]}})
        deployment = wait_for(lambda: self.api.list(
            "/apis/apps/v1/deployments", labelSelector="app.kubernetes.io/managed-by=slipway")[0],
            "slipway makes the Deployment")[0]
        self.namespace = deployment["metadata"]["namespace"]
        self.template = deployment["spec"]["template"]
        self.names = []
        self.tokens = {}
        self.numbers = itertools.count(1)

    def path(self, name=""):
        return f"/api/v1/namespaces/{self.namespace}/pods" + (f"/{name}" if name else "")

    def make_one(self, number, running):
        pod = copy.deepcopy(self.template)
        name = f"web-{number}"
        pod["metadata"]["name"] = name
        pod["spec"]["nodeName"] = "bench-0"
        made = self.api.post(self.path(), pod)
        self.tokens[name] = made["metadata"]["uid"].replace("-", "")
        if running:
            self.set_address(name, self.new_address(), running=True)
        return name

    def make(self, count, running=True):
        first = len(self.names)
        with concurrent.futures.ThreadPoolExecutor(MAKERS) as pool:
            self.names += pool.map(lambda number: self.make_one(number, running),
                                   range(first, first + count))

    def new_address(self):
        number = next(self.numbers)
        return f"10.{(number >> 16) + 1}.{number >> 8 & 255}.{number & 255}"

    def set_address(self, name, address, running=False):
        status = {"podIP": address, "podIPs": [{"ip": address}]}
        if running:
            began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            status.update(phase="Running", startTime=began, conditions=[
                {"type": kind, "status": "True"}
                for kind in ("Initialized", "PodScheduled", "ContainersReady", "Ready")],
                containerStatuses=[{
                    "name": "app", "image": "bench:1", "imageID": "", "ready": True,
                    "restartCount": 0,
                    "containerID": f"containerd://{self.tokens[name]}{self.tokens[name]}",
                    "state": {"running": {"startedAt": began}}}])
        else:
            # The list of addresses is merged by address; the old one must go first.
            status["podIPs"] = [{"$patch": "replace"}, {"ip": address}]
        self.api.patch(self.path(name) + "/status", {"status": status}, STRATEGIC)
