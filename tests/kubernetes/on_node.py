"""slipway and a real node: what the tests of tasks, services and traffic there share.

    place = Place(cluster, start, folder)     # `start` starts servers; the node has slipway's own image
    place.ecs.run_task(...)
    place.kill_and_restart()                  # tasks do not notice
    place.container_ids(pod)                  # as containerd runs them
"""
import os
import subprocess

import images
from conftest import SOURCE, slipway_program, wait_until
from witness import TASK, Witness, annotations

CONFIGURATION = "kubernetes:\n  imagePullPolicy: Never\n"
WAIT = {"Delay": 1, "MaxAttempts": 180}
HAVE_OWN_IMAGE = set()


def load_own_image(cluster, folder):
    """Gives the node the image of the slipway that is tested, once."""
    if cluster in HAVE_OWN_IMAGE:
        return
    HAVE_OWN_IMAGE.add(cluster)
    made = subprocess.run([os.path.join(SOURCE, "tools/make-image"), slipway_program(), folder],
                          stdout=subprocess.PIPE, text=True, check=True)
    cluster.place.load_image(made.stdout.strip())


def container(script, name="app", **members):
    """A container that runs a line of shell. The entry point is named, as slipway-pod needs it."""
    return {"name": name, "image": images.BUSYBOX, "memory": 32, "essential": True,
            "stopTimeout": 15, "entryPoint": ["sh", "-c"], "command": [script], **members}


def wait_until_ready(server):
    """The node is an instance, so tasks can be run."""
    ecs = server.boto("ecs")
    wait_until(lambda: server.get("/readyz").status == 200, "slipway is ready")
    wait_until(lambda: ecs.list_clusters()["clusterArns"] and
               ecs.list_container_instances()["containerInstanceArns"], "the node is known")


class Place:
    """A server that drives a cluster with a real node."""

    def __init__(self, cluster, start, folder, *arguments):
        load_own_image(cluster, folder)
        path = os.path.join(folder, "slipway.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION)
        self.cluster, self.start = cluster, start
        self.witness = Witness(cluster)
        self.known = {}  # the tasks of pods, by uid
        self.arguments = ["--runtime", "kubernetes", "--kubeconfig",
                          cluster.credentials.path("admin.kubeconfig"), "--config", path, *arguments]
        self.server = start(*self.arguments)
        self.wait_until_ready()

    def wait_until_ready(self):
        wait_until_ready(self.server)

    @property
    def ecs(self):
        return self.server.boto("ecs")

    def kill_and_restart(self):
        self.server.kill()
        self.server = self.start(*self.arguments, state=self.server.state)

    # ---- state of the node ----

    def task_of(self, uid):
        """The id of the task that a pod is."""
        if uid not in self.known:
            pods, _ = self.cluster.api.list("/api/v1/pods")
            self.known.update({pod["metadata"]["uid"]: annotations(pod).get(TASK) for pod in pods})
        return self.known.get(uid) or uid.replace("-", "")

    def running_ids(self):
        """The ids of all containers with a living first process."""
        lines = self.cluster.place.ctr("tasks", "list").stdout.splitlines()[1:]
        return {line.split()[0] for line in lines if line.split()[-1] == "RUNNING"}

    def container_ids(self, pods):
        """{pod: {container: id}} of those that really run."""
        living = self.running_ids()
        return {pod["metadata"]["name"]: {
            status["name"]: status["containerID"].split("//")[1]
            for status in pod["status"].get("containerStatuses", ())
            if status.get("containerID", "//").split("//")[1] in living} for pod in pods}

    def kill(self, pod, name="app"):
        """Ends a container's first process from outside, as a fault of the machine would."""
        self.cluster.place.ctr("tasks", "kill", "--signal", "SIGKILL",
                               self.container_ids([pod])[pod["metadata"]["name"]][name])

    def execute(self, pod, name, *command):
        """Runs a program in a container, without slipway."""
        return self.cluster.kubectl("exec", "-n", pod["metadata"]["namespace"],
                                    pod["metadata"]["name"], "-c", name, "--", *command).stdout

    # ---- services ----

    def register(self, family, *containers, **members):
        return self.ecs.register_task_definition(
            family=family, containerDefinitions=list(containers), **members)[
                "taskDefinition"]["taskDefinitionArn"]

    def service(self, name):
        return self.ecs.describe_services(services=[name])["services"][0]

    def messages(self, name):
        return [event["message"] for event in self.service(name)["events"]]

    def wait_until_stable(self, name):
        self.ecs.get_waiter("services_stable").wait(services=[name], WaiterConfig=WAIT)

    def remove_service(self, name):
        self.ecs.delete_service(service=name, force=True)
        self.ecs.get_waiter("services_inactive").wait(services=[name], WaiterConfig=WAIT)

    def tasks(self, name, desired="RUNNING"):
        """{id: task}"""
        arns = self.ecs.list_tasks(serviceName=name, desiredStatus=desired)["taskArns"]
        found = self.ecs.describe_tasks(tasks=arns)["tasks"] if arns else []
        return {task["taskArn"].rsplit("/", 1)[1]: task for task in found}
