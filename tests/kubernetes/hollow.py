#!/usr/bin/python3
"""Hollow nodes: a program that plays the kubelets of any number of nodes. Pods bound to them get an
address and become ready, and their deletions finish, but nothing runs. What a real kubelet would
see happen, a test says through a socket:

    cluster.up(hollow=3)
    cluster.hollow.exit("default", "web-1", code=137, reason="OOMKilled")
    cluster.hollow.set_ready("default", "web-1", False)
    cluster.hollow.refuse_image("no/such:1")

Each call returns when the API server has the consequence.
"""
import argparse
import datetime
import hashlib
import heapq
import http.client
import json
import os
import queue
import signal
import socket
import socketserver
import sys
import threading
import time

from api import STRATEGIC, Api, ApiError

HERE = os.path.dirname(os.path.realpath(__file__))
SECONDS = 60  # for one call of a test
WORKERS = 8  # each has one request under way
MESSAGE_MAX = 1 << 20
DEFAULT_GRACE = 30
# The server is away, perhaps in the middle of an answer.
AWAY = (OSError, ValueError, http.client.HTTPException)


def now():
    return datetime.datetime.utcnow().strftime("%Y-%m-%dT%H:%M:%SZ")


# ---- for tests ------------------------------------------------------------------------------


class Hollow:
    """The hollow nodes of a cluster, as a test sees them."""

    def __init__(self, path):
        self.path = path

    def command(self, cluster, nodes):
        """Starts them."""
        return ["/usr/bin/python3", "-B", os.path.join(HERE, "hollow.py"),
                "--server", cluster.credentials.server, "--ca", cluster.credentials.ca,
                "--token-file", cluster.credentials.path("admin.token"),
                "--nodes", str(nodes), "--socket", self.path]

    def is_ready(self):
        return os.path.exists(self.path) and self.counts() is not None

    def call(self, name, **arguments):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(SECONDS * 2)
            connection.connect(self.path)
            with connection.makefile("rwb") as stream:
                stream.write(json.dumps([name, arguments]).encode() + b"\n")
                stream.flush()
                line = stream.readline(MESSAGE_MAX)
        answer = json.loads(line or '{"error": "the hollow nodes have ended"}')
        if "error" in answer:
            raise RuntimeError(f"hollow nodes: {name}: {answer['error']}")
        return answer["value"]

    def counts(self):
        """{"started": N, "deleted": N, "failures": N}: statuses written since the start."""
        return self.call("counts")

    def hold(self):
        """Let new pods wait: their containers are being created."""
        self.call("hold")

    def release(self):
        self.call("release")

    def set_times(self, stop_seconds=None, restart_seconds=None):
        """How long pods take to end, and containers to start again after the first time."""
        self.call("set_times", stop_seconds=stop_seconds, restart_seconds=restart_seconds)

    def exit(self, namespace, pod, container=None, code=1, reason=None, hidden=False):
        """A container (the first without a name) ends. Its pod's restart policy says what follows.
        A hidden exit is seen by no watch: the container runs again at once, counted."""
        self.call("exit", namespace=namespace, pod=pod, container=container, code=code,
                  reason=reason, hidden=hidden)

    def set_ready(self, namespace, pod, ready, container=None):
        self.call("set_ready", namespace=namespace, pod=pod, ready=ready, container=container)

    def evict(self, namespace, pod, message="The node was low on resource: memory."):
        self.call("evict", namespace=namespace, pod=pod, message=message)

    def refuse(self, namespace, pod, reason, message):
        """A node does not take a pod that waits there, as when it has no room for it."""
        self.call("refuse", namespace=namespace, pod=pod, reason=reason, message=message)

    def refuse_image(self, image, message="not found"):
        """From now on this image cannot be pulled."""
        self.call("refuse_image", image=image, message=message)

    def accept_image(self, image):
        """It can again; the pods that wait for it start."""
        self.call("accept_image", image=image)

    def set_node(self, node, ready):
        """Write a node's condition Ready: "True", "False" or "Unknown"."""
        self.call("set_node", node=node, ready=ready)

    def silence(self, node):
        """This node's kubelet does nothing any more: pods stay as they are, and deletions hang."""
        self.call("silence", node=node)

    def wake(self, node):
        self.call("wake", node=node)


# ---- pods ----------------------------------------------------------------------------------------


class Container:
    """One container, as a kubelet has it."""

    def __init__(self, spec):
        self.name = spec["name"]
        self.image = spec["image"]
        self.state = {"waiting": {"reason": "ContainerCreating"}}
        self.last = {}
        self.ready = False
        self.restarts = 0

    def runs(self):
        return "running" in self.state

    def ended(self):
        return "terminated" in self.state

    def start(self):
        self.state = {"running": {"startedAt": now()}}
        self.ready = True

    def end(self, uid, code, reason=None):
        started = self.state.get("running", {}).get("startedAt", now())
        self.state = {"terminated": {
            "exitCode": code, "reason": reason or ("Error" if code else "Completed"),
            "startedAt": started, "finishedAt": now(), "containerID": self.identity(uid)}}
        self.ready = False

    def begin_again(self):
        self.last, self.restarts = self.state, self.restarts + 1
        self.start()

    def identity(self, uid):
        text = f"{uid}/{self.name}/{self.restarts}"
        return "containerd://" + hashlib.sha256(text.encode()).hexdigest()

    def status(self, uid):
        status = {"name": self.name, "image": self.image, "imageID": "", "ready": self.ready,
                  "started": self.runs(), "restartCount": self.restarts, "state": self.state,
                  "lastState": self.last}
        if self.runs() or self.ended():
            status["imageID"] = "sha256:" + hashlib.sha256(self.image.encode()).hexdigest()
            status["containerID"] = self.identity(uid)
        return status


class Pod:
    """One pod, as a kubelet has it."""

    def __init__(self, document, address, host):
        spec, metadata = document["spec"], document["metadata"]
        self.namespace, self.name, self.uid = (
            metadata["namespace"], metadata["name"], metadata["uid"])
        self.node = spec["nodeName"]
        self.policy = spec.get("restartPolicy", "Always")
        self.containers = [Container(item) for item in spec["containers"]]
        self.before = [Container(item) for item in spec.get("initContainers", ())]
        # Conditions that others write and without which it is not ready.
        self.gates = {item["conditionType"]: False for item in spec.get("readinessGates", ())}
        self.address, self.host = address, host
        self.start_time = now()
        self.conditions = {}
        self.reason = None  # (reason, message) of a pod that failed as a whole
        self.deleting = self.ending = False
        # How often it changed, which change the API server has, and whether a worker is at it.
        self.changes = self.written = 0
        self.end_written = False
        self.busy = False

    @property
    def path(self):
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"

    def read_gates(self, status):
        """True when one of them has changed."""
        found = {item["type"]: item["status"] == "True" for item in status.get("conditions", ())}
        before = dict(self.gates)
        self.gates = {kind: found.get(kind, False) for kind in self.gates}
        return self.gates != before

    def adopt(self, status):
        """Take over what an earlier kubelet has written."""
        self.start_time = status.get("startTime", self.start_time)
        self.address = status.get("podIP", self.address)
        self.conditions = {item["type"]: (item["status"], item["lastTransitionTime"])
                           for item in status.get("conditions", ())}
        known = {item["name"]: item for item in status.get("containerStatuses", ())}
        for container in self.containers:
            if container.name in known:
                found = known[container.name]
                container.state, container.last = found["state"], found.get("lastState", {})
                container.ready, container.restarts = found["ready"], found["restartCount"]

    def start(self):
        for container in self.before:
            container.start()
            container.end(self.uid, 0)
            container.ready = True
        for container in self.containers:
            container.start()

    def phase(self):
        if self.reason:
            return "Failed"
        if any("waiting" in item.state and not item.restarts for item in self.containers):
            return "Pending"
        if self.policy != "Always" and all(item.ended() for item in self.containers):
            codes = [item.state["terminated"]["exitCode"] for item in self.containers]
            return "Failed" if any(codes) else "Succeeded"
        return "Running"

    def status_before_its_end(self, status):
        """Once, as kubelets since 1.27: all containers have ended, and the phase is not written yet."""
        if self.reason or self.end_written or status["phase"] not in ("Succeeded", "Failed"):
            return None
        self.end_written = True
        return {**status, "phase": "Running"}

    def condition(self, kind, true):
        value = "True" if true else "False"
        if self.conditions.get(kind, (None,))[0] != value:
            self.conditions[kind] = (value, now())
        return {"type": kind, "status": value, "lastTransitionTime": self.conditions[kind][1]}

    def status(self):
        phase = self.phase()
        running = phase == "Running" and all(item.ready for item in self.containers)
        ready = running and all(self.gates.values())
        status = {
            "phase": phase, "startTime": self.start_time, "hostIP": self.host,
            "conditions": [self.condition("Initialized", phase != "Pending" or not self.before),
                           self.condition("Ready", ready),
                           self.condition("ContainersReady", running),
                           self.condition("PodScheduled", True)],
            "containerStatuses": [item.status(self.uid) for item in self.containers],
        }
        if self.before:
            status["initContainerStatuses"] = [item.status(self.uid) for item in self.before]
        if phase != "Pending":
            status["podIP"] = self.address
            status["podIPs"] = [{"ip": self.address}]
        if self.reason:
            status["reason"], status["message"] = self.reason
        return status


# ---- kubelets ------------------------------------------------------------------------------------


class Kubelets:
    """Plays all nodes. Pods change under one lock; workers write them, each in its order."""

    CALLS = ("counts", "hold", "release", "set_times", "exit", "set_ready", "evict", "refuse",
             "refuse_image", "accept_image", "set_node", "silence", "wake")

    def __init__(self, api, names, capacity):
        self.api = api
        self.nodes = {name: f"10.250.{number // 250}.{number % 250 + 1}"
                      for number, name in enumerate(names)}
        self.capacity = capacity
        self.lock = threading.Condition()
        self.pods = {}  # by uid
        self.names = {}  # uid by (namespace, name)
        self.work = queue.SimpleQueue()
        self.timers, self.timer_number = [], 0
        self.addresses = 0
        self.held = False
        self.silent = set()
        self.refused = {}
        self.stop_seconds = 0.0
        self.restart_seconds = 1.0
        self.count = {"started": 0, "deleted": 0, "failures": 0}

    def start(self):
        for name, address in self.nodes.items():
            try:
                self.api.post("/api/v1/nodes", self.node_document(name, address))
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
        for function in [self.write_pods] * WORKERS + [self.follow_pods, self.run_timers]:
            threading.Thread(target=function, daemon=True).start()

    def node_document(self, name, address):
        heartbeat = now()
        conditions = [("Ready", "True"), ("MemoryPressure", "False"), ("DiskPressure", "False"),
                      ("PIDPressure", "False")]
        info = {key: "" for key in ("machineID", "systemUUID", "bootID")}
        info.update(kernelVersion="6.1.0", osImage="hollow", operatingSystem="linux",
                    architecture="amd64", containerRuntimeVersion="containerd://1.6.20",
                    kubeletVersion="v1.20.2", kubeProxyVersion="v1.20.2")
        return {
            "metadata": {"name": name, "labels": {
                "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64", "slipway.test/hollow": "true"}},
            "status": {
                "capacity": self.capacity, "allocatable": self.capacity, "nodeInfo": info,
                "addresses": [{"type": "InternalIP", "address": address},
                              {"type": "Hostname", "address": name}],
                "conditions": [{
                    "type": kind, "status": status, "reason": "Hollow", "message": "",
                    "lastHeartbeatTime": heartbeat, "lastTransitionTime": heartbeat}
                    for kind, status in conditions],
            },
        }

    # ---- following the API server ----

    def follow_pods(self):
        selector = {"fieldSelector": "spec.nodeName!="}
        revision = None
        while True:
            try:
                if revision is None:
                    items, revision = self.api.list("/api/v1/pods", **selector)
                    self.compare(items)
                for kind, item in self.api.watch("/api/v1/pods", revision, **selector):
                    if kind == "ERROR":
                        revision = None
                        break
                    revision = item["metadata"]["resourceVersion"]
                    if kind in ("ADDED", "MODIFIED"):
                        self.see(item)
                    elif kind == "DELETED":
                        self.forget(item["metadata"]["uid"])
            except ApiError:
                revision = None
                time.sleep(0.2)
            except AWAY as error:
                print("watch:", error, file=sys.stderr)
                time.sleep(0.2)

    def compare(self, items):
        for uid in set(self.pods) - {item["metadata"]["uid"] for item in items}:
            self.forget(uid)
        for item in items:
            self.see(item)

    def see(self, document):
        node, uid = document["spec"]["nodeName"], document["metadata"]["uid"]
        if node not in self.nodes:
            return
        with self.lock:
            pod = self.pods.get(uid)
            if pod is None:
                self.addresses += 1
                address = f"10.244.{self.addresses // 250 % 250}.{self.addresses % 250 + 1}"
                pod = self.pods[uid] = Pod(document, address, self.nodes[node])
                self.names[pod.namespace, pod.name] = uid
                if "containerStatuses" in document["status"]:
                    pod.adopt(document["status"])
            metadata = document["metadata"]
            if pod.read_gates(document["status"]) and not pod.ending:
                self.change(pod)
            if metadata.get("deletionTimestamp") and not pod.deleting:
                pod.deleting = True
                grace = metadata.get("deletionGracePeriodSeconds", DEFAULT_GRACE)
                self.later(min(self.stop_seconds, grace), self.end_pod, pod,
                           0 if self.stop_seconds <= grace else 137)
            elif not pod.deleting and pod.phase() == "Pending":
                self.try_start(pod)

    def forget(self, uid):
        with self.lock:
            pod = self.pods.pop(uid, None)
            if pod and self.names.get((pod.namespace, pod.name)) == uid:
                del self.names[pod.namespace, pod.name]
            self.lock.notify_all()

    def try_start(self, pod):
        """Start a pod that waits, or write why it does not."""
        if pod.node in self.silent:
            return
        refused = [item for item in pod.containers if item.image in self.refused]
        if not self.held and not refused:
            pod.start()
            self.count["started"] += 1
            self.change(pod)
        elif not pod.changes:
            for container in refused:
                message = f'image "{container.image}": {self.refused[container.image]}'
                container.state = {"waiting": {"reason": "ErrImagePull", "message": message}}
                self.write_event(pod, "Warning", "Failed", f"Failed to pull {message}")
            self.change(pod)

    def end_pod(self, pod, code):
        if pod.node in self.silent or pod.uid not in self.pods:
            return
        for container in pod.containers:
            if container.runs():
                container.end(pod.uid, code)
        pod.ending = True
        self.change(pod)

    # ---- writing to the API server ----

    def change(self, pod):
        pod.changes += 1
        if not pod.busy:
            pod.busy = True
            self.work.put(pod)

    def write_pods(self):
        while True:
            pod = self.work.get()
            with self.lock:
                number, ending = pod.changes, pod.ending
                patch = {"metadata": {"uid": pod.uid}, "status": pod.status()}
                earlier = None if ending else pod.status_before_its_end(patch["status"])
            if earlier:
                self.write(pod, {**patch, "status": earlier}, False)
            gone = self.write(pod, patch, ending)
            with self.lock:
                pod.written = number
                if gone or pod.changes == number:
                    pod.busy = False
                else:
                    self.work.put(pod)
                self.lock.notify_all()

    def write(self, pod, patch, ending):
        """True when the pod is no more."""
        while True:
            try:
                self.api.patch(pod.path + "/status", patch, STRATEGIC)
                if ending:
                    self.api.delete(pod.path, {"gracePeriodSeconds": 0,
                                               "preconditions": {"uid": pod.uid}})
                    with self.lock:
                        self.count["deleted"] += 1
                return ending
            except ApiError as error:
                if error.status in (404, 409):  # it is gone, or another of the same name is there
                    return True
                with self.lock:
                    self.count["failures"] += 1
                print("write:", error, file=sys.stderr)
                if error.status < 500 and error.status != 429:
                    return False
            except AWAY as error:
                print("write:", error, file=sys.stderr)
            time.sleep(0.2)

    def write_event(self, pod, kind, reason, message):
        """Write an event of a pod, without waiting for it."""
        moment = now()
        document = {
            "metadata": {"generateName": f"{pod.name}.", "namespace": pod.namespace},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": pod.namespace,
                               "name": pod.name, "uid": pod.uid},
            "type": kind, "reason": reason, "message": message, "count": 1,
            "source": {"component": "kubelet", "host": pod.node},
            "firstTimestamp": moment, "lastTimestamp": moment}

        def post():
            try:
                self.api.post(f"/api/v1/namespaces/{pod.namespace}/events", document)
            except (*AWAY, ApiError) as error:
                print("event:", error, file=sys.stderr)
            finally:
                self.api.close()

        threading.Thread(target=post, daemon=True).start()

    # ---- timed events ----

    def later(self, seconds, function, *arguments):
        """Call a function, with the lock held, after some time."""
        if seconds <= 0:
            function(*arguments)
            return
        self.timer_number += 1
        heapq.heappush(self.timers,
                       (time.monotonic() + seconds, self.timer_number, function, arguments))
        self.lock.notify_all()

    def run_timers(self):
        with self.lock:
            while True:
                while self.timers and self.timers[0][0] <= time.monotonic():
                    _, _, function, arguments = heapq.heappop(self.timers)
                    function(*arguments)
                wait = self.timers[0][0] - time.monotonic() if self.timers else None
                self.lock.wait(wait)

    # ---- for tests ----

    def pod(self, namespace, name):
        """The pod of a name; a test may know it before we do."""
        found = self.lock.wait_for(lambda: self.names.get((namespace, name)), SECONDS)
        if not found:
            raise LookupError(f"no pod {namespace}/{name} on these nodes")
        return self.pods[found]

    def container(self, pod, name):
        for container in pod.containers:
            if name in (None, container.name):
                if not self.lock.wait_for(container.runs, SECONDS):
                    raise LookupError(f"container {container.name} of {pod.name} does not run")
                return container
        raise LookupError(f"no container {name} in {pod.name}")

    def wait_for_write(self, pod):
        number = pod.changes
        self.lock.wait_for(lambda: pod.written >= number or pod.uid not in self.pods, SECONDS)

    def do_counts(self):
        return dict(self.count, pods=len(self.pods))

    def do_hold(self):
        self.held = True

    def do_release(self):
        self.held = False
        self.start_waiting()

    def start_waiting(self):
        for pod in list(self.pods.values()):
            if pod.phase() == "Pending" and not pod.deleting:
                self.try_start(pod)

    def do_set_times(self, stop_seconds, restart_seconds):
        self.stop_seconds = self.stop_seconds if stop_seconds is None else stop_seconds
        self.restart_seconds = self.restart_seconds if restart_seconds is None else restart_seconds

    def do_exit(self, namespace, pod, container, code, reason, hidden):
        pod = self.pod(namespace, pod)
        container = self.container(pod, container)
        container.end(pod.uid, code, reason)
        again = pod.policy == "Always" or (pod.policy == "OnFailure" and code)
        if again and hidden:
            container.begin_again()
        self.change(pod)
        self.wait_for_write(pod)
        if again and not hidden:
            self.restart(pod, container)

    def restart(self, pod, container):
        """The first time at once, then after a wait, as kubelet does."""
        def begin():
            if pod.uid in self.pods and not pod.deleting and not container.runs():
                if "waiting" in container.state:
                    container.start()
                else:
                    container.begin_again()
                self.change(pod)

        if container.restarts:
            container.last, container.restarts = container.state, container.restarts + 1
            message = f"back-off restarting failed container={container.name} pod={pod.name}"
            container.state = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
            self.write_event(pod, "Warning", "BackOff", "Back-off restarting failed container")
            self.change(pod)
            self.later(self.restart_seconds, begin)
        else:
            begin()

    def do_set_ready(self, namespace, pod, ready, container):
        pod = self.pod(namespace, pod)
        self.container(pod, container).ready = ready
        if not ready:
            self.write_event(pod, "Warning", "Unhealthy", "Readiness probe failed")
        self.change(pod)
        self.wait_for_write(pod)

    def do_evict(self, namespace, pod, message):
        pod = self.pod(namespace, pod)
        for container in pod.containers:
            if container.runs():
                container.end(pod.uid, 137)
        pod.reason = ("Evicted", message)
        self.write_event(pod, "Warning", "Evicted", message)
        self.change(pod)
        self.wait_for_write(pod)

    def do_refuse(self, namespace, pod, reason, message):
        pod = self.pod(namespace, pod)
        pod.reason = (reason, message)
        self.write_event(pod, "Warning", reason, message)
        self.change(pod)
        self.wait_for_write(pod)

    def do_refuse_image(self, image, message):
        self.refused[image] = message

    def do_accept_image(self, image):
        self.refused.pop(image, None)
        self.start_waiting()

    def do_set_node(self, node, ready):
        moment = now()
        self.api.patch(f"/api/v1/nodes/{node}/status", {"status": {"conditions": [{
            "type": "Ready", "status": ready, "reason": "Hollow", "message": "",
            "lastHeartbeatTime": moment, "lastTransitionTime": moment}]}}, STRATEGIC)

    def do_silence(self, node):
        self.silent.add(node)

    def do_wake(self, node):
        self.silent.discard(node)
        self.start_waiting()
        for pod in list(self.pods.values()):
            if pod.node == node and pod.deleting and not pod.ending:
                self.end_pod(pod, 0)

    def answer(self, line):
        try:
            name, arguments = json.loads(line)
            if name not in self.CALLS:
                raise LookupError(f"no call {name}")
            with self.lock:
                return {"value": getattr(self, f"do_{name}")(**arguments)}
        except (LookupError, TypeError, *AWAY, ApiError) as error:
            return {"error": str(error)}


def serve(kubelets, path):
    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            answer = kubelets.answer(self.rfile.readline(MESSAGE_MAX))
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True
        request_queue_size = 64

    with Server(path + ".new", Handler) as server:
        os.rename(path + ".new", path)  # the socket appears when it accepts connections
        server.serve_forever()


def main():
    parser = argparse.ArgumentParser(description="Plays the kubelets of hollow nodes.")
    parser.add_argument("--server", required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--token-file", required=True)
    parser.add_argument("--socket", required=True)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--prefix", default="hollow-")
    parser.add_argument("--cpu", default="64")
    parser.add_argument("--memory", default="256Gi")
    parser.add_argument("--pods", default="10000")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    with open(arguments.token_file, encoding="utf-8") as file:
        api = Api(arguments.server, arguments.ca, file.read().strip())
    kubelets = Kubelets(api, [f"{arguments.prefix}{number}" for number in range(arguments.nodes)],
                        {"cpu": arguments.cpu, "memory": arguments.memory,
                         "pods": arguments.pods, "ephemeral-storage": "1Ti"})
    kubelets.start()
    serve(kubelets, arguments.socket)


if __name__ == "__main__":
    main()
