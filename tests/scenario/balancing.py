"""Shared by tests of load balancers: making them by boto3, and clients that send traffic."""
import http.client
import os
import random
import socket
import ssl
import subprocess
import threading
import time

import botocore.auth
import botocore.awsrequest
import botocore.credentials

from conftest import DEADLINE, wait_until

# A network of loopback addresses that no other server of the machine uses now, most likely.
NETWORK = f"127.{random.randint(64, 190)}.{random.randint(0, 255)}.0/24"


def free_port(address, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


class Balancer:
    """A load balancer and what belongs to it."""

    def __init__(self, server, name, kind="network"):
        self.server, self.name, self.kind = server, name, kind
        self.elb = server.boto("elbv2")
        made = self.elb.create_load_balancer(Name=name, Type=kind, Subnets=["subnet-1", "subnet-2"])
        self.arn = made["LoadBalancers"][0]["LoadBalancerArn"]
        self.dns_name = made["LoadBalancers"][0]["DNSName"]
        self.elb.get_waiter("load_balancer_available").wait(
            LoadBalancerArns=[self.arn], WaiterConfig={"Delay": 0.05, "MaxAttempts": 1200})
        self.address = resolve(server, self.dns_name)
        self.groups, self.listeners = {}, {}
        if kind == "application":  # however slow the machine is, what a test keeps open stays so
            self.elb.modify_load_balancer_attributes(
                LoadBalancerArn=self.arn,
                Attributes=[{"Key": "idle_timeout.timeout_seconds", "Value": "4000"}])

    @property
    def state(self):
        described = self.elb.describe_load_balancers(LoadBalancerArns=[self.arn])
        return described["LoadBalancers"][0]["State"]

    def group(self, name, protocol, targets, attributes=None, **settings):
        """A target group of ip targets [(address, port) or port]. However slow the machine is, a target stays what it
        was found to be: only ten checks in a row that fail make it unhealthy."""
        made = self.elb.create_target_group(
            Name=f"{self.name}-{name}", Protocol=protocol, Port=80, VpcId="vpc-1", TargetType="ip",
            **{"HealthCheckIntervalSeconds": 5, "HealthCheckTimeoutSeconds": 4,
               "HealthyThresholdCount": 2, "UnhealthyThresholdCount": 10, **settings})
        arn = made["TargetGroups"][0]["TargetGroupArn"]
        self.groups[name] = arn
        values = {"deregistration_delay.timeout_seconds": "60", **(attributes or {})}
        self.elb.modify_target_group_attributes(
            TargetGroupArn=arn,
            Attributes=[{"Key": key, "Value": value} for key, value in values.items()])
        self.register(name, *targets)
        return arn

    def register(self, name, *ports):
        if ports:
            self.elb.register_targets(TargetGroupArn=self.groups[name], Targets=self.targets(ports))

    def deregister(self, name, *ports):
        self.elb.deregister_targets(TargetGroupArn=self.groups[name], Targets=self.targets(ports))

    @staticmethod
    def targets(ports):
        return [{"Id": "127.0.0.1", "Port": port} for port in ports]

    def forward(self, weights):
        """A forward action of {group: weight}."""
        return [{"Type": "forward", "ForwardConfig": {"TargetGroups": [
            {"TargetGroupArn": self.groups[name], "Weight": weight}
            for name, weight in weights.items()]}}]

    def listen(self, protocol, actions, port=None, **settings):
        """Makes a listener for {group: weight} or for a list of actions; returns its port."""
        if isinstance(actions, dict):
            actions = self.forward(actions)
        kind = socket.SOCK_DGRAM if protocol == "UDP" else socket.SOCK_STREAM
        port = port or free_port(self.address, kind)
        made = self.elb.create_listener(LoadBalancerArn=self.arn, Protocol=protocol, Port=port,
                                        DefaultActions=actions, **settings)
        self.listeners[port] = made["Listeners"][0]["ListenerArn"]
        self.wait_until_settled()
        return port

    def weigh(self, port, weights):
        """Changes the weights of a listener. Returns when they are in effect."""
        self.elb.modify_listener(ListenerArn=self.listeners[port],
                                 DefaultActions=self.forward(weights))
        self.wait_until_settled()

    def wait_until_settled(self):
        wait_until(lambda: traffic(self.server)["settled"], "what is stored is in effect")

    def health(self, name):
        """{port: (state, reason)} of a group."""
        described = self.elb.describe_target_health(TargetGroupArn=self.groups[name])
        return {one["Target"]["Port"]: (one["TargetHealth"]["State"],
                                        one["TargetHealth"].get("Reason"))
                for one in described["TargetHealthDescriptions"]}

    def wait_until_healthy(self, *names):
        for name in names or self.groups:
            wait_until(lambda name=name: {state for state, _ in self.health(name).values()}
                       == {"healthy"}, f"all targets of {name} are healthy")


def resolve(server, name):
    """The address of a name, asked of the server's own DNS."""
    answer = subprocess.run(
        ["dig", "@127.0.0.1", "-p", str(server.dns_port), "+short", "+timeout=30", name, "A"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE, check=True)
    return answer.stdout.strip()


def traffic(server):
    """GET /v1/traffic, signed with the admin key."""
    request = botocore.awsrequest.AWSRequest(method="GET", url=server.url + "/v1/traffic")
    key = server.key
    botocore.auth.SigV4Auth(
        botocore.credentials.Credentials(key["accessKeyId"], key["secretAccessKey"]),
        "slipway", "us-east-1").add_auth(request)
    answer = server.get("/v1/traffic", headers=dict(request.headers))
    assert answer.status == 200, answer.text
    return answer.json


# ---- certificates ----

def make_certificate(folder, name, serial):
    """NAME.pem for localhost, replaced as one replaces such files: by another one that is complete."""
    key, certificate = os.path.join(folder, ".key"), os.path.join(folder, ".certificate")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "30", "-subj", "/CN=localhost", "-set_serial", str(serial),
         "-keyout", key, "-out", certificate],
        check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE)
    with open(os.path.join(folder, ".new"), "w", encoding="ascii") as out:
        for part in (certificate, key):
            with open(part, encoding="ascii") as file:
                out.write(file.read())
    os.rename(os.path.join(folder, ".new"), os.path.join(folder, f"{name}.pem"))


def tls_context():
    """Of a client that trusts everybody."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def tls_connection(address, port):
    return http.client.HTTPSConnection(address, port, timeout=DEADLINE, context=tls_context())


# ---- clients ----

def ask_tcp(address, port):
    """One connection, one line: the name of the backend that answered."""
    with socket.create_connection((address, port), timeout=DEADLINE) as connection:
        connection.sendall(b"hello\n")
        return connection.makefile("rb").readline().split()[0].decode()


class Line:
    """A TCP connection that is kept."""

    def __init__(self, address, port):
        self.socket = socket.create_connection((address, port), timeout=DEADLINE)
        self.file = self.socket.makefile("rb")
        self.number = 0

    def ask(self):
        self.number += 1
        self.socket.sendall(b"%d\n" % self.number)
        name, number = self.file.readline().split()
        assert int(number) == self.number
        return name.decode()

    def close(self):
        self.file.close()
        self.socket.close()


class Web:
    """An HTTP connection that is kept; it does not connect again by itself."""

    def __init__(self, address, port, connection=None):
        self.connection = connection or http.client.HTTPConnection(address, port, timeout=DEADLINE)
        self.connection.connect()
        self.connection.auto_open = 0

    def get(self, path="/", **headers):
        self.connection.request("GET", path, headers=headers)
        answer = self.connection.getresponse()
        answer.text = answer.read().decode()
        return answer

    def ask(self):
        answer = self.get()
        assert answer.status == 200, (answer.status, answer.text)
        return answer.text

    def close(self):
        self.connection.close()


class Session:
    """A UDP client with a port of its own."""

    def __init__(self, address, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(DEADLINE)
        self.socket.connect((address, port))
        self.number = 0

    def ask(self):
        self.number += 1
        self.socket.send(b"%d" % self.number)
        name, number = self.socket.recv(100).split()
        assert int(number) == self.number
        return name.decode()

    def close(self):
        self.socket.close()


def ask_new(kind):
    """Asks once with a new client of a kind."""
    def ask(address, port):
        client = kind(address, port)
        try:
            return client.ask()
        finally:
            client.close()
    return ask


class Load:
    """Threads that ask all the time. `keep`: each has one client for ever, and asks it again and again;
    else every question has a client of its own. `pause`: seconds between two questions of a thread."""

    def __init__(self, kind, address, port, threads=2, keep=False, pause=0):
        self.kind, self.address, self.port, self.keep = kind, address, port, keep
        self.pause = pause
        self.lock = threading.Lock()
        self.answers, self.failures, self.ending = {}, [], False
        self.asked = 0
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def run(self):
        client = None
        while not self.ending:
            try:
                if client is None:
                    client = self.kind(self.address, self.port)
                with self.lock:
                    self.asked += 1
                name = client.ask()
                with self.lock:
                    self.answers[name] = self.answers.get(name, 0) + 1
            except (OSError, http.client.HTTPException, ValueError, AssertionError) as failure:
                with self.lock:
                    self.failures.append(repr(failure))
                if client is not None:
                    client.close()
                client = None
            if client is not None and not self.keep:
                client.close()
                client = None
            time.sleep(self.pause)
        if client is not None:
            client.close()

    @property
    def count(self):
        with self.lock:
            return sum(self.answers.values())

    def wait_for_more(self, more=20):
        goal = self.count + more
        wait_until(lambda: self.count >= goal, f"{more} more answers")

    def end(self):
        self.ending = True
        for thread in self.threads:
            thread.join(DEADLINE)
            assert not thread.is_alive(), "a client hangs"
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def is_closed(address, port):
    """Whether connections are refused. A socket that closes in this moment resets those that had come before."""
    try:
        socket.create_connection((address, port), timeout=DEADLINE).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        pass
    return False


def wait_until_closed(address, port):
    wait_until(lambda: is_closed(address, port), f"{address}:{port} refuses connections")


# ---- processes ----

def children(pid, word):
    """The ids of the children of a process whose command line has the word."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="latin-1") as file:
                fields = file.read().rpartition(")")[2].split()
            with open(f"/proc/{name}/cmdline", "rb") as file:
                command = file.read()
        except (OSError, ValueError):
            continue
        if int(fields[1]) == pid and fields[0] != "Z" and \
                word.encode() in command:
            found.append(int(name))
    return found


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pid):
    wait_until(lambda: not is_alive(pid), f"process {pid} ends")
