"""The tasks and services of slipway as Kubernetes itself reports them: the ground truth of these tests. Everything
is read through the API server, by the annotations that slipway's objects carry; nothing here asks slipway.

    witness = Witness(cluster)
    witness.pods("web")            # of a service, those that are not being deleted
    witness.pod(task_id)           # of a task
"""
MANAGED = "app.kubernetes.io/managed-by=slipway"
CLUSTER = "slipway.dev/cluster-arn"
GROUP = "slipway.dev/group"
TASK = "slipway.dev/task"
VERSION = "slipway.dev/version"


def annotations(item):
    return item["metadata"].get("annotations", {})


def is_ready(pod):
    return any(condition["type"] == "Ready" and condition["status"] == "True"
               for condition in pod.get("status", {}).get("conditions", ()))


class Witness:
    """Objects that slipway made in a cluster, or that one of several slipways made for its account."""

    def __init__(self, cluster, account=""):
        self.cluster = cluster
        self.account = account

    def items(self, kind, selector=MANAGED):
        found = self.cluster.kubectl_json("get", kind, "--all-namespaces", "-l", selector)["items"]
        # Secrets and EndpointSlices do not say whose they are.
        return [item for item in found
                if f":{self.account}" in annotations(item).get(CLUSTER, f":{self.account}")]

    def all_pods(self):
        return self.items("pods")

    def pods(self, service, ending=False):
        """Pods of a service; those that are being deleted only if asked for."""
        return [pod for pod in self.all_pods()
                if annotations(pod).get(GROUP, "").split("/")[3:4] == [service]
                and (ending or "deletionTimestamp" not in pod["metadata"])]

    def pod(self, task_id):
        for pod in self.all_pods():
            if task_id in (annotations(pod).get(TASK), pod["metadata"]["uid"].replace("-", "")):
                return pod
        return None

    def deployment(self, service, kind="deployments"):
        for item in self.items(kind):
            if annotations(item).get(GROUP, "").split("/")[3:4] == [service]:
                return item
        return None


def task_ids(pods):
    """The ids that the tasks of pods must have."""
    return {annotations(pod).get(TASK) or pod["metadata"]["uid"].replace("-", "") for pod in pods}
