"""Services behind load balancers and names, with real programs, real connections and real DNS. What is asserted
is what the programs themselves recorded (SIGTERM, requests) beside what clients got."""
import http.client
import os
import random
import socket
import struct
import threading
import time

import pytest

from balancing import free_port
from conftest import DEADLINE, wait_until
from ecs_requests import refused

PROGRAM = os.path.join(os.path.dirname(os.path.realpath(__file__)), "traffic_program.py")
NETWORK = {"awsvpcConfiguration": {"subnets": ["subnet-1"]}}
TYPE_A, TYPE_SRV = 1, 33


def balancers():
    """A network of one's own for load balancers: tests that run beside this one have others."""
    return f"127.{random.randrange(200, 250)}.{random.randrange(256)}.0/24"


# ---- names ----

def encode_name(name):
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"


def skip_name(message, at):
    while message[at]:
        if message[at] >= 0xc0:
            return at + 2
        at += 1 + message[at]
    return at + 1


def lookup(server, name, type_=TYPE_A):
    """[(TTL, data)] of a name's records of a type, from slipway's DNS server; A: an address, SRV: a port."""
    query = struct.pack("!6H", random.randrange(65536), 0x100, 1, 0, 0, 0) + encode_name(name)
    query += struct.pack("!2H", type_, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(DEADLINE)
        asking.sendto(query, ("127.0.0.1", server.dns_port))
        message = asking.recv(4096)
    assert message[:2] == query[:2]
    at, found = skip_name(message, 12) + 4, []
    for _ in range(struct.unpack("!H", message[6:8])[0]):
        at = skip_name(message, at)
        kind, _, ttl, length = struct.unpack("!2HIH", message[at:at + 10])
        data = message[at + 10:at + 10 + length]
        if kind == type_:
            found.append((ttl, socket.inet_ntoa(data) if kind == TYPE_A
                          else struct.unpack("!H", data[4:6])[0]))
        at += 10 + length
    return found


# ---- programs ----

class Programs:
    """The records of the programs of a test, by task."""

    def __init__(self, folder):
        self.folder = str(folder)
        os.chmod(self.folder, 0o777)

    def containers(self, *ports, version="", mappings=None, **members):
        """The program, and two containers that see to it that the task is RUNNING only when it listens: then
        the first health check of a load balancer finds it, and no test waits for the second one."""
        web = {"name": "web", "image": "host", "memory": 32, "essential": True,
               "command": ["/usr/bin/python3", PROGRAM, self.folder, *map(str, ports)],
               "portMappings": mappings or [{"containerPort": port} for port in ports],
               "environment": [{"name": "VERSION", "value": version}], **members}
        listens = f"until grep -q listens {self.folder}/$SLIPWAY_TASK; do sleep 0.05; done"
        return [web, self.helper("listens", listens, "web", "START"),
                self.helper("last", "true", "listens", "SUCCESS")]

    @staticmethod
    def helper(name, script, behind, condition):
        return {"name": name, "image": "host", "memory": 16, "essential": False,
                "command": ["sh", "-c", script],
                "dependsOn": [{"containerName": behind, "condition": condition}]}

    def lines(self, task):
        if not os.path.exists(os.path.join(self.folder, task)):
            return []  # it has just been started
        with open(os.path.join(self.folder, task), encoding="utf-8") as file:
            return [(float(line.split()[0]), line.split()[1]) for line in file]

    def times(self, task, what):
        return [at for at, said in self.lines(task) if said == what]

    def ended(self, task):
        """When it was asked to end; None if it was not."""
        return (self.times(task, "ended") or [None])[0]

    def make_sick(self, task):
        with open(os.path.join(self.folder, f"sick-{task}"), "w", encoding="utf-8"):
            pass


@pytest.fixture
def programs(tmp_path):
    return Programs(tmp_path)


class Traffic:
    """A server with its clients, and what sends traffic there."""

    def __init__(self, server):
        self.server = server
        self.ecs = server.boto("ecs")
        self.elb = server.boto("elbv2")
        self.names = server.boto("servicediscovery")
        self.count = 0

    # load balancers

    def balancer(self, type_="network"):
        self.count += 1
        made = self.elb.create_load_balancer(
            Name=f"front-{self.count}", Type=type_, Subnets=["subnet-1"])["LoadBalancers"][0]
        if type_ == "application":  # however slow the machine is, what a test keeps open stays so
            self.elb.modify_load_balancer_attributes(
                LoadBalancerArn=made["LoadBalancerArn"],
                Attributes=[{"Key": "idle_timeout.timeout_seconds", "Value": "4000"}])
        return made

    def group(self, balancer, protocol="TCP", kind="ip", delay=2, port=8080, interval=5, unhealthy=10):
        """A target group behind a listener of its own; (ARN, (address, port)). Tasks that are found unhealthy are
        replaced, hence so many checks that must fail: the machine may be slow."""
        self.count += 1
        arn = self.elb.create_target_group(
            Name=f"group-{self.count}", Protocol=protocol, Port=port, TargetType=kind, VpcId="vpc-1",
            HealthCheckProtocol="HTTP", HealthCheckPath="/health",
            HealthCheckIntervalSeconds=interval, HealthCheckTimeoutSeconds=interval - 1,
            HealthyThresholdCount=2, UnhealthyThresholdCount=unhealthy)["TargetGroups"][0]["TargetGroupArn"]
        self.elb.modify_target_group_attributes(TargetGroupArn=arn, Attributes=[
            {"Key": "deregistration_delay.timeout_seconds", "Value": str(delay)}])
        address = lookup(self.server, balancer["DNSName"])[0][1]
        port = free_port(address)
        self.elb.create_listener(LoadBalancerArn=balancer["LoadBalancerArn"], Protocol=protocol,
                                 Port=port,
                                 DefaultActions=[{"Type": "forward", "TargetGroupArn": arn}])
        return arn, (address, port)

    def targets(self, group):
        """{(id, port): state}"""
        found = self.elb.describe_target_health(TargetGroupArn=group)["TargetHealthDescriptions"]
        return {(item["Target"]["Id"], item["Target"]["Port"]): item["TargetHealth"]["State"]
                for item in found}

    # names

    def namespace(self):
        self.count += 1
        name = f"n{self.count}.test"
        self.names.create_private_dns_namespace(Name=name, Vpc="vpc-1")
        found = self.names.list_namespaces()["Namespaces"]
        return next(item["Id"] for item in found if item["Name"] == name), name

    def registry(self, name, ttl=2, type_="A", namespace=None, **members):
        """(ARN, id, DNS name)"""
        namespace_id, zone = namespace or self.namespace()
        service = self.names.create_service(
            Name=name, NamespaceId=namespace_id,
            DnsConfig={"DnsRecords": [{"Type": type_, "TTL": ttl}]}, **members)["Service"]
        return service["Arn"], service["Id"], f"{name}.{zone}"

    def instances(self, registry_id):
        """{instance id: attributes}"""
        return {item["Id"]: item["Attributes"]
                for item in self.names.list_instances(ServiceId=registry_id)["Instances"]}

    # services

    def register(self, family, containers, mode="awsvpc"):
        return self.ecs.register_task_definition(
            family=family, networkMode=mode,
            containerDefinitions=containers)["taskDefinition"]["taskDefinitionArn"]

    def create(self, name, definition, count=1, groups=(), registry=None, **members):
        if groups:
            members["loadBalancers"] = [
                {"targetGroupArn": arn, "containerName": "web", "containerPort": port}
                for arn, port in groups]
        if registry:
            members["serviceRegistries"] = [registry]
        return self.ecs.create_service(serviceName=name, taskDefinition=definition,
                                       desiredCount=count, networkConfiguration=NETWORK,
                                       **members)["service"]

    def service(self, name):
        return self.ecs.describe_services(services=[name])["services"][0]

    def events(self, name):
        return [event["message"] for event in self.service(name)["events"]]

    def tasks(self, name, status=None, **members):
        """{id: task}"""
        arns = self.ecs.list_tasks(serviceName=name, **members)["taskArns"]
        tasks = self.ecs.describe_tasks(tasks=arns)["tasks"] if arns else []
        return {task["taskArn"].rsplit("/", 1)[1]: task for task in tasks
                if status in (None, task["lastStatus"])}

    def task(self, task):
        return self.ecs.describe_tasks(tasks=[task])["tasks"][0]

    def wait_for_tasks(self, name, number, status="RUNNING"):
        def condition():
            found = self.tasks(name, status)
            return (found or {None: None}) if len(found) == number else None

        return wait_until(condition, f"{number} tasks of {name} are {status}")

    def wait_for_targets(self, group, number, state="healthy"):
        def condition():
            found = self.targets(group)
            return (found or {None: None}) if len(found) == number and \
                set(found.values()) <= {state} else None

        return wait_until(condition, f"{number} targets are {state}")

    def wait_until_completed(self, name):
        def condition():
            service = self.service(name)
            return len(service["deployments"]) == 1 and \
                service["deployments"][0]["rolloutState"] == "COMPLETED"

        wait_until(condition, f"the deployment of {name} is completed", 2 * DEADLINE)

    def wait_until_stopped(self, task):
        wait_until(lambda: self.task(task)["lastStatus"] == "STOPPED", "it is STOPPED")


SERVER_ARGUMENTS = ["--balancers", balancers()]


@pytest.fixture(scope="module")
def traffic(slipway):
    """One server for all tests that do not end it; each has services of its own."""
    return Traffic(slipway)


def address_of(task):
    return next(detail["value"] for attachment in task["attachments"]
                for detail in attachment["details"] if detail["name"] == "privateIPv4Address")


def answer_of(connection):
    """(version, task) of the program that answers a request."""
    answer = connection.getresponse()
    body = answer.read().decode()
    assert answer.status == 200, (answer.status, body)
    return tuple(body.split())


def ask(connection):
    connection.request("GET", "/")
    return answer_of(connection)


def get(address):
    connection = http.client.HTTPConnection(*address, timeout=DEADLINE)
    try:
        return ask(connection)
    finally:
        connection.close()


# ---- coming and going ----

class Looking:
    """Looks at something over and over: [(seconds when it began to look, what it saw)]."""

    def __init__(self, look):
        self.look, self.seen, self.problem = look, [], None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            while not self.ended.wait(0.02):
                began = time.monotonic()
                self.seen.append((began, self.look()))
        except Exception as problem:  # pylint: disable=broad-except
            self.problem = problem

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        assert self.problem is None, self.problem

    def last(self, condition):
        """When the last look began that saw something of which this is true."""
        return max(began for began, seen in self.seen if condition(seen))


def test_a_task_gets_traffic_when_it_is_healthy_and_loses_it_before_it_ends(traffic, programs,
                                                                            tmp_path):
    well = tmp_path / "well"
    balancer = traffic.balancer()
    first, front = traffic.group(balancer)
    second, _ = traffic.group(balancer)
    arn, registry, name = traffic.registry("web", ttl=2, HealthCheckCustomConfig={})
    traffic.create("web", traffic.register("web", programs.containers(
        8080, 9090, version="1", healthCheck={
            "command": ["CMD-SHELL", f"test -e {well}"], "interval": 5, "timeout": 2, "retries": 10,
            "startPeriod": 0})),
        groups=[(first, 8080), (second, 9090)], registry={"registryArn": arn})

    # It runs, and is not healthy yet: it gets no requests.
    task = list(traffic.wait_for_tasks("web", 1, "ACTIVATING"))[0]
    assert traffic.targets(first) == traffic.targets(second) == {}
    assert traffic.instances(registry) == {} and lookup(traffic.server, name) == []
    assert traffic.service("web")["pendingCount"] == 1
    well.touch()

    running = traffic.wait_for_tasks("web", 1)[task]
    address = address_of(running)
    assert list(traffic.wait_for_targets(first, 1)) == [(address, 8080)]
    assert list(traffic.wait_for_targets(second, 1)) == [(address, 9090)]
    assert traffic.instances(registry) == {task: {
        "AWS_INSTANCE_IPV4": address, "AVAILABILITY_ZONE": "us-east-1a", "REGION": "us-east-1",
        "AWS_INIT_HEALTH_STATUS": "HEALTHY", "ECS_CLUSTER_NAME": "default",
        "ECS_SERVICE_NAME": "web", "ECS_TASK_DEFINITION_FAMILY": "web",
        "EC2_INSTANCE_ID": traffic.ecs.describe_container_instances(
            containerInstances=[running["containerInstanceArn"]]
        )["containerInstances"][0]["ec2InstanceId"]}}
    assert lookup(traffic.server, name) == [(2, address)]
    assert get(front) == get((address, 8080)) == ("1", task)
    traffic.wait_until_completed("web")
    assert f"(service web) registered 1 targets in (target-group {second})" in \
        traffic.events("web")

    # Its end: first it gets no new requests, then its address expires, then the program gets SIGTERM.
    with Looking(lambda: lookup(traffic.server, name)) as resolved, \
            Looking(lambda: traffic.targets(first)) as targets:
        wait_until(lambda: resolved.seen and targets.seen, "both look")
        traffic.ecs.update_service(service="web", desiredCount=0)
        traffic.wait_until_stopped(task)
    ended = programs.ended(task)
    assert ended >= resolved.last(bool) + 2, "it was ended while clients may remember its name"
    assert ended >= targets.last(bool), "it was ended while it was a target"
    assert lookup(traffic.server, name) == [] and traffic.targets(second) == {}
    assert "(service web) has begun draining connections on 1 tasks." in traffic.events("web")
    assert f"(service web) deregistered 1 targets in (target-group {first})" in \
        traffic.events("web")


def test_task_registered_by_client_is_held_until_its_ttl_has_passed(traffic, programs):
    """A pipeline registers tasks of a service without registries itself; the task still owns the instance."""
    _, registry, name = traffic.registry("by-client", ttl=2)
    traffic.create("by-client", traffic.register("by-client", programs.containers(8080, version="1")))
    task = list(traffic.wait_for_tasks("by-client", 1))[0]
    address = address_of(traffic.task(task))
    traffic.names.register_instance(ServiceId=registry, InstanceId=task,
                                    Attributes={"AWS_INSTANCE_IPV4": address})
    assert [record[1] for record in lookup(traffic.server, name)] == [address]
    with Looking(lambda: lookup(traffic.server, name)) as looking:
        wait_until(lambda: looking.seen, "it is looked up")
        traffic.ecs.update_service(service="by-client", desiredCount=0)
        wait_until(lambda: traffic.task(task)["lastStatus"] == "DEACTIVATING", "it waits for its name")
        assert traffic.instances(registry) == {}
        assert get((address, 8080)) == ("1", task)
        traffic.wait_until_stopped(task)
    assert programs.ended(task) >= looking.last(lambda found: found) + 2


def test_what_a_task_waits_for_outlives_the_server(start_slipway, programs):
    network = balancers()
    traffic = Traffic(start_slipway("--balancers", network))
    arn, registry, name = traffic.registry("web", ttl=4)
    group, _ = traffic.group(traffic.balancer())
    traffic.create("web", traffic.register("web", programs.containers(8080)), groups=[(group, 8080)],
                   registry={"registryArn": arn})
    task = list(traffic.wait_for_tasks("web", 1))[0]
    traffic.wait_for_targets(group, 1)
    assert lookup(traffic.server, name)
    remembered = time.monotonic()
    assert traffic.ecs.stop_task(task=task)["task"]["lastStatus"] == "DEACTIVATING"
    traffic.server.kill()
    traffic = Traffic(start_slipway("--balancers", network, state=traffic.server.state))
    traffic.wait_until_stopped(task)
    assert programs.ended(task) >= remembered + 4
    assert task not in traffic.instances(registry)


def test_a_server_that_ends_its_tasks_does_not_wait_for_clients(start_slipway, programs):
    traffic = Traffic(start_slipway("--ephemeral", "--balancers", balancers()))
    arn, _, _ = traffic.registry("web", ttl=300)
    group, _ = traffic.group(traffic.balancer(), delay=300)
    traffic.create("web", traffic.register("web", programs.containers(8080)), count=2,
                   groups=[(group, 8080)], registry={"registryArn": arn})
    tasks = list(traffic.wait_for_tasks("web", 2))
    traffic.ecs.stop_task(task=tasks[0])
    traffic.server.stop()
    assert all(programs.ended(task) for task in tasks)


# ---- updates under load ----

class Client(threading.Thread):
    """Asks over and over, `requests` times on a connection. With `cookies` it sends those that it was given."""

    def __init__(self, lease, requests, path="/", cookies=False):
        super().__init__()
        self.lease, self.requests, self.path, self.cookies = lease, requests, path, cookies
        self.connection, self.cookie, self.left, self.until = None, "", 0, 0.0
        self.answers, self.failures = [], []
        self.ended = threading.Event()

    def run(self):
        while not self.ended.wait(0.02):
            try:
                self.answers.append(self.ask())
            except Exception as problem:  # pylint: disable=broad-except
                self.failures.append(f"{time.monotonic():.3f} {self.path} {problem!r}")
                self.close()
        self.close()

    def ask(self):
        """(version, task)"""
        if self.left == 0 or time.monotonic() >= self.until:
            self.close()
        if not self.connection:
            address, self.until = self.lease()
            self.connection = http.client.HTTPConnection(*address, timeout=DEADLINE)
            self.left = self.requests
        self.left -= 1
        self.connection.request("GET", self.path,
                                headers={"Cookie": self.cookie} if self.cookie else {})
        answer = self.connection.getresponse()
        body = answer.read().decode()
        assert answer.status == 200, (answer.status, body)
        if self.cookies:
            given = answer.headers.get_all("Set-Cookie") or []
            self.cookie = "; ".join(one.split(";")[0] for one in given) or self.cookie
        return tuple(body.split())

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Load:
    """Twelve clients: four with a connection for every request, four that keep theirs, and four, two of each
    kind, whose requests take their time. `lease()`: an address, and until when it may be used."""

    def __init__(self, lease, keep, cookies=False):
        self.quick = [Client(lease(), requests, cookies=cookies) for requests in [1, keep] * 4]
        self.slow = [Client(lease(), requests, f"/slow/{took}", cookies)
                     for requests, took in [(1, 1500), (min(keep, 2), 1000)] * 2]
        self.clients = self.quick + self.slow

    def __enter__(self):
        for client in self.clients:
            client.start()
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.ended.set()
        for client in self.clients:
            client.join()

    def wait_for_answers(self, more):
        had = [len(client.answers) for client in self.quick]
        wait_until(lambda: all(len(client.answers) >= before + more
                               for client, before in zip(self.quick, had)), "all get answers")

    @property
    def failures(self):
        return [failure for client in self.clients for failure in client.failures]


def stays(address):
    """A lease on the address of a load balancer."""
    return lambda: lambda: (address, float("inf"))


def remembers(server, name, port):
    """A lease on an address of a name, for less than its TTL: on a busy machine the lookup itself may take ten
    seconds."""
    def lease():
        asked = time.monotonic()
        found = lookup(server, name)
        assert found, "the name has no address"
        return (random.choice(found)[1], port), asked + min(ttl for ttl, _ in found) - 10
    return lambda: lease


class Held:
    """Requests that stay under way until they are released."""

    def __init__(self, lease, programs, count=6):
        self.connections, self.released = [], os.path.join(programs.folder, "release")
        for _ in range(count):
            address, _ = lease()()
            self.connections.append(http.client.HTTPConnection(*address, timeout=DEADLINE))
            self.connections[-1].request("GET", "/until/release")

    def release(self):
        """Lets the clients release their leases."""
        with open(self.released, "w", encoding="utf-8"):
            pass
        found = {answer_of(connection)[1] for connection in self.connections}
        for connection in self.connections:
            connection.close()
        return found


def assert_clients_stayed(clients):
    """No client left a task and came back to it: one with a cookie moves when its task ends, and not before."""
    for client in clients:
        visits = [task for (_, task), (_, before) in
                  zip(client.answers, [(None, None)] + client.answers[:-1]) if task != before]
        assert len(visits) == len(set(visits)), visits


# Behind a network load balancer a connection belongs to a task, so clients begin a new one now and then; an
# application load balancer decides about every request.
@pytest.mark.parametrize("way", ["network", "application", "sticky", "name"])
def test_a_rolling_update_under_load_loses_nothing(traffic, programs, way):
    """Three tasks are replaced, whose clients have requests under way that take one or two seconds."""
    graceful = [{"name": "GRACEFUL", "value": ""}] if way == "name" else []
    old, new = (traffic.register("web", programs.containers(8080, environment=[
        {"name": "VERSION", "value": version}] + graceful, stopTimeout=120)) for version in "12")
    if way == "name":
        arn, _, name = traffic.registry("web", ttl=12)
        traffic.create(way, old, count=3, registry={"registryArn": arn})
        lease, keep = remembers(traffic.server, name, 8080), 1000
    else:
        type_, protocol = ("network", "TCP") if way == "network" else ("application", "HTTP")
        group, front = traffic.group(traffic.balancer(type_), protocol, delay=300)
        if way == "sticky":
            traffic.elb.modify_target_group_attributes(TargetGroupArn=group, Attributes=[
                {"Key": "stickiness.enabled", "Value": "true"},
                {"Key": "stickiness.type", "Value": "lb_cookie"}])
        traffic.create(way, old, count=3, groups=[(group, 8080)])
        lease, keep = stays(front), 20 if way == "network" else 1000000
    traffic.wait_until_completed(way)
    tasks = traffic.tasks(way)
    addresses = {address_of(task): name for name, task in tasks.items()}

    def staying():
        found = lookup(traffic.server, name) if way == "name" else [
            (None, address) for (address, _), state in traffic.targets(group).items()
            if state == "healthy"]
        return {addresses[address] for _, address in found if address in addresses}

    assert staying() == set(tasks)
    with Load(lease, keep, cookies=way == "sticky") as load:
        load.wait_for_answers(5)
        wait_until(lambda: all(client.answers for client in load.slow), "slow requests are answered")
        held = Held(lease, programs)
        wait_until(lambda: sum(len(programs.times(task, "held")) for task in tasks) == 6,
                   "requests are under way")
        holding = {task for task in tasks if programs.times(task, "held")}
        updated = len(load.quick[0].answers)
        traffic.ecs.update_service(service=way, taskDefinition=new)
        wait_until(lambda: not staying(), "all tasks are on their way out", 2 * DEADLINE)
        # Clients of a name are not known: programs are asked to end, and finish what they have.
        if way == "name":
            wait_until(lambda: all(map(programs.ended, tasks)), "all are asked to end")
        else:
            assert {programs.ended(task) for task in holding} == {None}
        assert held.release() == holding
        traffic.wait_until_completed(way)
        for task in tasks:
            traffic.wait_until_stopped(task)
        load.wait_for_answers(5)
    assert load.failures == []
    assert {version for version, _ in load.quick[0].answers[:updated]} == {"1"}
    assert {client.answers[-1][0] for client in load.quick} == {"2"}
    for task in tasks:
        assert max(programs.times(task, "request")) < programs.ended(task)
    if way == "sticky":
        assert_clients_stayed(load.clients)


@pytest.mark.parametrize("type_, protocol", [("network", "TCP"), ("application", "HTTP")])
def test_a_switch_from_one_service_to_another_loses_nothing(traffic, programs, type_,
                                                            protocol):
    """Blue and green: a listener is turned to the new service's group, and the old service is scaled to 0 while
    it still has connections."""
    balancer = traffic.balancer(type_)
    groups = []
    for color in ("blue", "green"):
        group, front = traffic.group(balancer, protocol, delay=300)
        groups.append((group, front))
        traffic.create(f"{type_}-{color}", traffic.register("web", programs.containers(
            8080, version=color)), groups=[(group, 8080)])
    for color in ("blue", "green"):
        traffic.wait_until_completed(f"{type_}-{color}")
    (blue, front), (green, _) = groups
    task, = traffic.tasks(f"{type_}-blue")
    listener, = (one["ListenerArn"] for one in traffic.elb.describe_listeners(
        LoadBalancerArn=balancer["LoadBalancerArn"])["Listeners"] if one["Port"] == front[1])
    kept = http.client.HTTPConnection(*front, timeout=DEADLINE)
    with Load(stays(front), 20 if type_ == "network" else 1000000) as load:
        assert ask(kept) == ("blue", task)
        held = Held(stays(front), programs)
        wait_until(lambda: len(programs.times(task, "held")) == 6, "requests are under way")
        load.wait_for_answers(2)
        traffic.elb.modify_listener(ListenerArn=listener, DefaultActions=[
            {"Type": "forward", "TargetGroupArn": green}])
        traffic.ecs.update_service(service=f"{type_}-blue", desiredCount=0)
        traffic.wait_for_targets(blue, 1, "draining")
        wait_until(lambda: all(client.answers and client.answers[-1][0] == "green"
                               for client in load.clients), "all clients are with the new one")
        # A connection belongs to its task, or only a request does.
        assert ask(kept)[0] == ("blue" if type_ == "network" else "green")
        assert programs.ended(task) is None
        assert held.release() == {task}
        if type_ == "network":
            load.wait_for_answers(5)
            assert ask(kept) == ("blue", task) and programs.ended(task) is None
        # The last connection is closed, and the task does not wait for the rest of the delay.
        kept.close()
        traffic.wait_until_stopped(task)
        load.wait_for_answers(5)
    assert load.failures == []
    assert max(programs.times(task, "request")) < programs.ended(task)


# ---- health ----

def test_what_a_balancer_finds_unhealthy_is_replaced_when_its_grace_is_over(traffic, programs):
    group, _ = traffic.group(traffic.balancer(), unhealthy=2)
    traffic.create("sick", traffic.register("web", programs.containers(8080)), groups=[(group, 8080)],
                   healthCheckGracePeriodSeconds=3600)
    task = list(traffic.wait_for_tasks("sick", 1))[0]
    traffic.wait_until_completed("sick")
    programs.make_sick(task)
    address, port = list(traffic.wait_for_targets(group, 1, "unhealthy"))[0]
    traffic.ecs.update_service(service="sick", desiredCount=1)  # it is looked at once more
    assert traffic.task(task)["desiredStatus"] == "RUNNING"

    traffic.ecs.update_service(service="sick", healthCheckGracePeriodSeconds=0)
    traffic.wait_until_stopped(task)
    stopped = traffic.task(task)
    assert stopped["stopCode"] == "ServiceSchedulerInitiated"
    assert stopped["stoppedReason"] == \
        f"Task failed ELB health checks in (target-group {group})"
    told = f"(service sick) (port {port}) is unhealthy in (target-group {group}) due to (reason "
    assert any(event.startswith(told) for event in traffic.events("sick"))
    wait_until(lambda: set(traffic.targets(group)) - {(address, port)} and
               set(traffic.targets(group).values()) == {"healthy"}, "another one is healthy")
    assert programs.ended(task)


# ---- taken out on purpose ----

def test_what_is_taken_out_on_purpose_stays_out(traffic, programs):
    group, _ = traffic.group(traffic.balancer())
    arn, registry, name = traffic.registry("web", ttl=1, HealthCheckCustomConfig={})
    traffic.create("out", traffic.register("web", programs.containers(8080)), groups=[(group, 8080)],
                   registry={"registryArn": arn})
    traffic.wait_until_completed("out")
    task, found = list(traffic.tasks("out").items())[0]
    address = address_of(found)
    traffic.names.update_instance_custom_health_status(ServiceId=registry, InstanceId=task,
                                                       Status="UNHEALTHY")
    traffic.names.deregister_instance(ServiceId=registry, InstanceId=task)
    traffic.elb.deregister_targets(TargetGroupArn=group, Targets=[{"Id": address, "Port": 8080}])
    wait_until(lambda: not traffic.targets(group), "the target is gone")

    # That is not held against it, and while its service is busy with others it stays deregistered.
    traffic.ecs.update_service(service="out", desiredCount=2)
    traffic.wait_for_targets(group, 1)
    other = (set(traffic.wait_for_tasks("out", 2)) - {task}).pop()
    assert set(traffic.instances(registry)) == {other}
    assert (address, 8080) not in traffic.targets(group)
    assert [found for _, found in lookup(traffic.server, name)] == \
        [address_of(traffic.task(other))]

    traffic.ecs.stop_task(task=task)
    traffic.wait_for_targets(group, 2)
    running = set(traffic.wait_for_tasks("out", 2))
    assert set(traffic.instances(registry)) == running


# ---- task sets, and what changes ----

def test_task_sets_have_traffic_of_their_own(traffic, programs):
    balancer, namespace = traffic.balancer(), traffic.namespace()
    definition = traffic.register("shop", programs.containers(8080))
    traffic.ecs.create_service(serviceName="shop", desiredCount=1,
                               deploymentController={"type": "EXTERNAL"})
    sets = {}
    for name in ("blue", "green"):
        group, _ = traffic.group(balancer)
        arn, registry, _ = traffic.registry(name, namespace=namespace)
        made = traffic.ecs.create_task_set(
            cluster="default", service="shop", taskDefinition=definition, externalId=f"id-{name}",
            networkConfiguration=NETWORK, scale={"value": 100, "unit": "PERCENT"},
            loadBalancers=[{"targetGroupArn": group, "containerName": "web",
                            "containerPort": 8080}],
            serviceRegistries=[{"registryArn": arn}])["taskSet"]
        assert made["loadBalancers"][0]["targetGroupArn"] == group
        sets[name] = (made["id"], group, registry)

    def stable():
        shown = traffic.service("shop")["taskSets"]
        return [item["stabilityStatus"] for item in shown] == ["STEADY_STATE"] * 2

    wait_until(stable, "both are stable")
    for name, (_, group, registry) in sets.items():
        assert set(traffic.targets(group).values()) == {"healthy"}
        attributes = list(traffic.instances(registry).values())
        assert [item["ECS_TASK_SET_EXTERNAL_ID"] for item in attributes] == [f"id-{name}"]
    number, group, registry = sets["blue"]
    task = list(traffic.instances(registry))[0]
    traffic.ecs.delete_task_set(cluster="default", service="shop", taskSet=number, force=True)
    traffic.wait_until_stopped(task)
    assert traffic.targets(group) == {} and traffic.instances(registry) == {}
    assert programs.ended(task)
    assert len(traffic.targets(sets["green"][1])) == 1


def test_services_on_the_machines_own_network(traffic, programs):
    """bridge: targets are ports of an instance, and a name is SRV records."""
    group, front = traffic.group(traffic.balancer(), kind="instance")
    arn, registry, name = traffic.registry("web", type_="SRV")
    definition = traffic.register("web", programs.containers(
        8080, version="1", mappings=[{"containerPort": 8080, "hostPort": 0}]), mode="bridge")
    traffic.ecs.create_service(
        serviceName="ports", taskDefinition=definition, desiredCount=2,
        loadBalancers=[{"targetGroupArn": group, "containerName": "web", "containerPort": 8080}],
        serviceRegistries=[{"registryArn": arn, "containerName": "web", "containerPort": 8080}])
    traffic.wait_until_completed("ports")
    tasks = traffic.tasks("ports")
    ports = {task["containers"][0]["networkBindings"][0]["hostPort"] for task in tasks.values()}
    assert {port for _, port in traffic.targets(group)} == ports
    assert all(target.startswith("i-") for target, _ in traffic.targets(group))
    assert {port for _, port in lookup(traffic.server, name, TYPE_SRV)} == ports
    assert {int(item["AWS_INSTANCE_PORT"]) for item in traffic.instances(registry).values()} == \
        ports
    answered = set()
    wait_until(lambda: answered.add(get(front)[1]) or answered == set(tasks), "both are asked")

    # Without the load balancer: new tasks, with the name alone.
    traffic.ecs.update_service(service="ports", loadBalancers=[])
    traffic.wait_until_completed("ports")
    wait_until(lambda: not traffic.targets(group), "no target is left")
    wait_until(lambda: set(traffic.instances(registry)) == set(traffic.tasks("ports")),
               "the name is that of the new tasks")
    assert traffic.service("ports")["loadBalancers"] == []
    traffic.ecs.delete_service(service="ports", force=True)
    wait_until(lambda: traffic.service("ports")["status"] == "INACTIVE", "it is gone")
    assert traffic.instances(registry) == {}


# ---- rejected requests ----

def test_what_cannot_work_is_refused(traffic, programs):
    balancer = traffic.balancer()
    group, _ = traffic.group(balancer)
    of_instances, _ = traffic.group(balancer, kind="instance")
    unused = traffic.elb.create_target_group(Name="unused", Protocol="TCP", Port=80,
                                            TargetType="ip")["TargetGroups"][0]["TargetGroupArn"]
    namespace = traffic.namespace()
    address, _, _ = traffic.registry("a", namespace=namespace)
    service, _, _ = traffic.registry("srv", type_="SRV", namespace=namespace)
    own = traffic.register("own", programs.containers(8080))
    bridge = traffic.register("bridge", programs.containers(8080), mode="bridge")

    def target(arn=group, container="web", port=8080, **members):
        return {"targetGroupArn": arn, "containerName": container, "containerPort": port, **members}

    cases = [
        (own, {"loadBalancers": [target(unused)]}, "InvalidParameterException",
         f"The target group with targetGroupArn {unused} does not have an associated load balancer."),
        (own, {"loadBalancers": [target(group[:-1] + "x")]}, "InvalidParameterException", "exist"),
        (own, {"loadBalancers": [target(container="absent")]}, "InvalidParameterException",
         "The container absent does not exist in the task definition."),
        (own, {"loadBalancers": [target(port=81)]}, "InvalidParameterException",
         "The container web did not have a container port 81 defined."),
        (own, {"loadBalancers": [{"targetGroupArn": group, "containerPort": 8080}]},
         "InvalidParameterException", "Container Name can not be blank."),
        (own, {"loadBalancers": [target(of_instances)]}, "InvalidParameterException",
         "has target type instance, which is incompatible with the awsvpc network mode"),
        (bridge, {"loadBalancers": [target()]}, "InvalidParameterException",
         "has target type ip, which is incompatible with the bridge network mode"),
        (own, {"loadBalancers": [target()] * 6}, "InvalidParameterException", "the limit is 5"),
        (own, {"loadBalancers": [target()] * 2}, "InvalidParameterException", "twice"),
        (own, {"loadBalancers": [{"loadBalancerName": "old", "containerName": "web",
                                  "containerPort": 8080}]},
         "InvalidParameterException", "Classic Load Balancers"),
        (own, {"serviceRegistries": [{"registryArn": address + "x"}]},
         "InvalidParameterException", "does not exist"),
        (own, {"serviceRegistries": [{"registryArn": address}] * 2},
         "InvalidParameterException", "one at most"),
        (bridge, {"serviceRegistries": [{"registryArn": address}]},
         "InvalidParameterException", "awsvpc"),
        (own, {"serviceRegistries": [{"registryArn": service}]},
         "InvalidParameterException", "containerName"),
        (own, {"serviceRegistries": [{"registryArn": service, "port": 80, "containerName": "web",
                                      "containerPort": 8080}]},
         "InvalidParameterException", "not both"),
        (bridge, {"serviceRegistries": [{"registryArn": service, "port": 80}]},
         "InvalidParameterException", "containerName"),
        (own, {"serviceConnectConfiguration": {"enabled": True, "namespace": namespace[1]}},
         "UnsupportedFeatureException", "serviceRegistries"),
        (own, {"serviceConnectConfiguration": {"enabled": True, "namespace": "nowhere"}},
         "NamespaceNotFoundException", "nowhere"),
        (own, {"loadBalancers": [target()], "deploymentController": {"type": "CODE_DEPLOY"}},
         "UnsupportedFeatureException", "CodeDeploy"),
    ]
    for definition, members, code, words in cases:
        network = {"networkConfiguration": NETWORK} if definition == own else {}
        refused(traffic.ecs.create_service, code, words, serviceName="refused", desiredCount=0,
                taskDefinition=definition, **network, **members)
    assert traffic.ecs.describe_services(services=["refused"])["services"] == []

    # A new definition must fit what the service has.
    traffic.create("refused", own, count=0, groups=[(group, 8080)])
    refused(traffic.ecs.update_service, "InvalidParameterException", "container port 8080",
            service="refused", taskDefinition=traffic.register("own", programs.containers(9090)))
    revision = traffic.service("refused")["deployments"][0]
    assert revision["taskDefinition"] == own
    assert traffic.ecs.list_services_by_namespace(namespace=namespace[1])["serviceArns"] == []
