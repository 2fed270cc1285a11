"""One real node: kubelet, containerd and runc, with pods that really run and have addresses which
the tests can reach. Needs root.

The node lives in namespaces of its own. Its network namespace hangs on a pair of virtual
interfaces, so all it listens on, its bridge and its packet filter are its own; the tests' side has
a route to the pods. Its PID namespace takes every process along when it ends. What it writes lies
in memory, in mounts of its own mount namespace. What remains to be removed are the interface and its
control groups.

    this machine                             the node
    slipway-kN 198.19.N.1/30 ── veth ── eth0 198.19.N.2     API server, kubelet
    route to 198.18.N.0/24                   pods0 198.18.N.1 ── pods
"""
import json
import os
import random
import secrets
import subprocess
import time

import images
from processes import Process

HERE = os.path.dirname(os.path.realpath(__file__))
DEADLINE = 120
SLOTS = range(256)  # N above: claimed by creating the interface
RUNTIME_SOCKET = "/run/containerd/containerd.sock"
CGROUPS = "/sys/fs/cgroup"

CONTAINERD = """\
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "runc"
      SystemdCgroup = false
"""


def command(*arguments, check=True):
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=DEADLINE)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stdout}")
    return done


def wait_until(condition, what):
    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {DEADLINE} s: {what}")
        time.sleep(0.05)


class Machine:
    """The place of a control plane that has a real node."""

    name = "node-0"

    def __init__(self, folder, bound):
        self.folder = os.path.join(folder, "node")
        self.log = os.path.join(folder, "log")
        self.bound = bound
        self.cgroup = "slipway-kubernetes-" + secrets.token_hex(4)
        self.outside = None  # unshare, whose end ends all
        self.init = None  # the first process inside
        self.slot = None
        self.processes = {}

    # ---- the place ----

    @property
    def address(self):
        return f"198.19.{self.slot}.2"

    @property
    def enter(self):
        """A prefix of commands that listen on the node."""
        return ("nsenter", f"--net=/proc/{self.init.pid}/ns/net")

    @property
    def interface(self):
        return f"slipway-k{self.slot}"

    @staticmethod
    def port(usual):
        return usual

    def state(self):
        return {"outside": self.outside and self.outside.state(), "slot": self.slot,
                "init": self.init and self.init.state(), "cgroup": self.cgroup,
                "processes": [process.state() for process in self.processes.values()]}

    @classmethod
    def load(cls, folder, state):
        machine = cls(folder, bound=False)
        machine.cgroup, machine.slot = state["cgroup"], state["slot"]
        machine.outside = state["outside"] and Process(**state["outside"])
        machine.init = state["init"] and Process(**state["init"])
        machine.processes = {item["name"]: Process(**item) for item in state["processes"]}
        return machine

    def up(self):
        if os.geteuid():
            raise RuntimeError("a real node needs root")
        os.makedirs(self.folder)
        self.outside = Process.start(
            "node", ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child",
                     "--mount-proc", os.path.join(HERE, "node-init"), self.folder],
            os.path.join(self.log, "node.log"), self.bound)
        wait_until(lambda: os.path.exists(os.path.join(self.folder, "node-is-up")),
                   "the node's namespaces are made")
        self.init = self.outside.into_child()
        self.connect()

    def connect(self):
        for slot in random.sample(SLOTS, len(SLOTS)):
            self.slot = slot
            made = command("ip", "link", "add", "name", self.interface, "type", "veth", "peer",
                           "name", "eth0", "netns", str(self.init.pid), check=False)
            if made.returncode == 0:
                break
            self.slot = None
            if "File exists" not in made.stdout:
                raise RuntimeError(f"make a virtual interface: {made.stdout}")
        command("ip", "addr", "add", f"198.19.{self.slot}.1/30", "dev", self.interface)
        command("ip", "link", "set", self.interface, "up")
        command("ip", "route", "add", f"198.18.{self.slot}.0/24", "via", self.address)
        inside = [*self.enter, "ip"]
        command(*inside, "link", "set", "lo", "up")
        # Pods reach the API server by its service's address with or without kube-proxy.
        command(*inside, "addr", "add", "10.96.0.1/32", "dev", "lo")
        command(*inside, "addr", "add", f"{self.address}/30", "dev", "eth0")
        command(*inside, "link", "set", "eth0", "up")
        # Nothing leaves this machine; attempts fail at once.
        command(*inside, "route", "add", "unreachable", "default")
        command(*self.enter, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")

    def down(self):
        self.processes.clear()
        for process in (self.init, self.outside):  # the second one takes the first one away
            if process:
                process.kill()
        if self.slot is not None:
            command("ip", "link", "del", self.interface, check=False)
        self.remove_cgroups()

    # ---- control groups ----

    def cgroup_folders(self):
        """One for each hierarchy: all of version 1, or the one of version 2."""
        hierarchies = [CGROUPS]
        if not os.path.exists(f"{CGROUPS}/cgroup.controllers"):
            hierarchies = [f"{CGROUPS}/{name}" for name in os.listdir(CGROUPS)]
        return {os.path.realpath(os.path.join(path, self.cgroup)) for path in hierarchies}

    def make_cgroups(self):
        for folder in self.cgroup_folders():
            os.makedirs(folder, exist_ok=True)

    def remove_cgroups(self):
        def is_gone(folder):
            for path, _, _ in os.walk(folder, topdown=False):
                try:
                    os.rmdir(path)
                except OSError:
                    return False  # its processes are still dying
            return True

        for folder in self.cgroup_folders():
            wait_until(lambda path=folder: is_gone(path), f"{folder} is empty")

    # ---- kubelet and containerd ----

    def inside(self, *arguments):
        """A command in all the node's namespaces."""
        return ["nsenter", f"--target={self.init.pid}", "--mount", "--net", "--pid", "--",
                *arguments]

    def run_command(self, *arguments, check=True):
        """Run a command on the node to its end; .stdout (with errors), .returncode."""
        return command(*self.inside(*arguments), check=check)

    def run(self, name, arguments):
        started = Process.start(name, self.inside(*arguments),
                                os.path.join(self.log, f"{name}.log"), self.bound,
                                # kubelet would look for Amazon's registry
                                {"AWS_EC2_METADATA_DISABLED": "true"})
        self.processes[name] = started.into_child()

    def start_kubelet(self, cluster, flags):
        self.make_cgroups()
        self.write("containerd.toml", CONTAINERD.format(pause=images.PAUSE, folder=self.folder))
        self.write("cni/pods.conflist", json.dumps(self.network()))
        self.write("kubelet.json", json.dumps(self.kubelet_configuration(cluster)))
        self.run("containerd", ["containerd", "-c", os.path.join(self.folder, "containerd.toml")])
        wait_until(lambda: self.ctr("version", check=False).returncode == 0, "containerd answers")
        for image in images.make_all(self.folder):
            self.load_image(image)
        self.run("kubelet", [
            cluster.program("kubelet"), f"--config={self.folder}/kubelet.json",
            f"--kubeconfig={cluster.credentials.path(self.name)}.kubeconfig",
            f"--hostname-override={self.name}", f"--node-ip={self.address}",
            f"--cert-dir={self.folder}/certificates",
            f"--container-runtime-endpoint=unix://{RUNTIME_SOCKET}",
            *cluster.version_flags("kubelet"), *flags])

    def wait_until_ready(self, cluster):
        def is_ready():
            node = cluster.api.find(f"/api/v1/nodes/{self.name}")
            return node and "taints" not in node["spec"] and any(
                condition["type"] == "Ready" and condition["status"] == "True"
                for condition in node["status"]["conditions"])

        wait_until(is_ready, f"{self.name} is ready (see {self.log}/kubelet.log)")

    def start_proxy(self, cluster):
        """kube-proxy, which makes the addresses of services lead to pods."""
        self.run("kube-proxy", [
            cluster.program("kube-proxy"),
            f"--kubeconfig={cluster.credentials.path('proxy')}.kubeconfig",
            f"--hostname-override={self.name}", "--proxy-mode=iptables",
            f"--cluster-cidr=198.18.{self.slot}.0/24",
            "--healthz-bind-address=127.0.0.1:10256", "--metrics-bind-address=127.0.0.1:10249",
            # An answer between two pods would cross the bridge past the packet filter.
            "--masquerade-all",
            # The table of connections belongs to the whole machine.
            "--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0",
            "--conntrack-tcp-timeout-close-wait=0"])

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def network(self):
        return {
            "cniVersion": "0.4.0", "name": "pods",
            "plugins": [{
                "type": "bridge", "bridge": "pods0", "isGateway": True, "ipMasq": False,
                "ipam": {"type": "host-local", "dataDir": "/run/pod-addresses",
                         "ranges": [[{"subnet": f"198.18.{self.slot}.0/24"}]],
                         "routes": [{"dst": "0.0.0.0/0"}]},
            }],
        }

    def kubelet_configuration(self, cluster):
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "address": self.address,
            "readOnlyPort": 0,
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                               "x509": {"clientCAFile": cluster.credentials.ca}},
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self.cgroup}",
            "failSwapOn": False,
            "makeIPTablesUtilChains": False,
            "resolvConf": "",
            "clusterDNS": ["10.96.0.10"], "clusterDomain": "cluster.local",  # no DNS server runs
            "imageGCHighThresholdPercent": 100,
            "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%",
                             "imagefs.available": "1%"},
            "nodeStatusUpdateFrequency": "5s",
        }

    def ctr(self, *arguments, check=True):
        return self.run_command("ctr", "-n", "k8s.io", *arguments, check=check)

    def load_image(self, archive):
        """Give the node an image: a docker-archive file."""
        self.ctr("images", "import", archive)
