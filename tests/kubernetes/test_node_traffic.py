"""Services behind load balancers and names on a real node: connections are real and lead to real pods. What is
asserted is what clients got, beside what the API server and the node say."""
import datetime
import http.client
import random
import threading
import time

import pytest
from balancing import Load
from balancing import traffic as in_effect
from conftest import DEADLINE, wait_until
from on_node import Place, container
from test_services_traffic import Looking, Traffic, address_of, balancers, lookup
from witness import is_ready, task_ids

pytestmark = pytest.mark.node

GATE = "slipway.dev/traffic"
DELAY = 5  # of deregistration, seconds
TTL = 15  # so long that a program which is not held would have ended before
LATE = 10  # seconds that a client may need from an address that it knows to its connection
# On SIGTERM it ends at once: a later request is lost.
WEB = """\
mkdir /www; echo "$VERSION" >/www/index.html; echo fine >/www/health
trap 'kill $!; exit 0' TERM
httpd -f -p 8080 -h /www &
wait"""
# Names have no health check of their own: without this one a task is published as soon as it runs, before it listens.
LISTENS = {"command": ["CMD-SHELL", "wget -q -O /dev/null http://127.0.0.1:8080/health"],
           "interval": 5, "timeout": 2, "retries": 3}


@pytest.fixture(scope="module")
def place(node_cluster, module_slipway, tmp_path_factory):
    return Place(node_cluster, module_slipway, tmp_path_factory.mktemp("slipway"),
                 "--balancers", balancers())


@pytest.fixture(scope="module")
def traffic(place):
    return Traffic(place.server)


def web(traffic, family, version, script=WEB, **members):
    return traffic.register(family, [container(
        script, "web", portMappings=[{"containerPort": 8080}],
        environment=[{"name": "VERSION", "value": version}], **members)])


@pytest.fixture
def create(place, traffic):
    """create(name, definition, ...) as Traffic.create; what it made is removed with the test."""
    made = []

    def make(name, *arguments, **members):
        made.append(name)
        return traffic.create(name, *arguments, **members)

    yield make
    for name in made:
        place.remove_service(name)


def get(address, port):
    """The answer to a new connection."""
    connection = http.client.HTTPConnection(address, port, timeout=DEADLINE)
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read().decode().strip()
    finally:
        connection.close()


class FrontClient:
    """A connection of its own for one question; for balancing.Load."""

    def __init__(self, address, port):
        self.address, self.port = address, port

    def ask(self):
        return get(self.address, self.port)

    def close(self):
        pass


class NameClient(FrontClient):
    """Asks DNS before it connects, and keeps an answer for as long as it may, less the time that it may need itself."""

    server = None
    known = {}  # {name: (until, addresses)}
    lock = threading.Lock()

    def ask(self):
        with self.lock:
            until, addresses = self.known.get(self.address, (0, []))
            if time.monotonic() >= until:
                began = time.monotonic()
                found = lookup(self.server, self.address)
                assert found, "the name has no address"
                addresses = [address for _, address in found]
                self.known[self.address] = (began + min(ttl for ttl, _ in found) - LATE, addresses)
        return get(random.choice(addresses), self.port)


def gate_of(pod):
    return {item["type"]: item["status"] for item in pod["status"].get("conditions", ())}.get(GATE)


def slices(place, name):
    """The ready addresses in the EndpointSlices of a headless Service."""
    items = [item for item in place.witness.items("endpointslices")
             if item["metadata"]["labels"]["kubernetes.io/service-name"] == name]
    return {address for item in items for endpoint in item["endpoints"] or ()
            for address in endpoint["addresses"] if endpoint["conditions"].get("ready", True)}


class Watch:
    """Everything that happened to the pods of the cluster, in order, as the API server reports it."""

    def __init__(self, cluster):
        self.api = cluster.api
        self.events, self.problem, self.ending = [], None, False
        _, revision = self.api.list("/api/v1/pods")
        self.thread = threading.Thread(target=self.run, args=(revision,), daemon=True)
        self.thread.start()

    def run(self, revision):
        try:
            while not self.ending:
                for kind, item in self.api.watch("/api/v1/pods", revision, timeout=DEADLINE,
                                                 timeoutSeconds=2):
                    revision = item["metadata"]["resourceVersion"]
                    if kind != "BOOKMARK":
                        self.events.append((time.monotonic(), kind, item))
        except Exception as problem:  # pylint: disable=broad-except
            self.problem = problem

    def first(self, pod, condition):
        """When a condition(kind of the change, pod) was first true of a pod."""
        return self.change(pod, condition)[0]

    def change(self, pod, condition):
        """That, and what the pod was then."""
        assert self.problem is None, self.problem
        return next(((at, item) for at, kind, item in list(self.events)
                     if item["metadata"]["uid"] == pod["metadata"]["uid"]
                     and condition(kind, item)), (None, None))

    def end(self):
        self.ending = True
        self.thread.join(DEADLINE)


@pytest.fixture
def watch(node_cluster):
    watching = Watch(node_cluster)
    yield watching
    watching.end()


def is_ending(_, pod):
    return "deletionTimestamp" in pod["metadata"]


def deleted_at(pod):
    """When the deletion of a pod was asked for, in seconds of time.monotonic() and never too late: Kubernetes says
    when it shall be over, in whole seconds."""
    over = datetime.datetime.strptime(pod["metadata"]["deletionTimestamp"], "%Y-%m-%dT%H:%M:%S%z").timestamp()
    return over - pod["metadata"]["deletionGracePeriodSeconds"] - time.time() + time.monotonic()


def has_ended(kind, pod):
    return kind == "DELETED" or any("terminated" in item["state"] for item in pod["status"].get("containerStatuses", ()))


def roll_under_load(place, traffic, name, load, **members):
    """From version 1 to version 2 while clients come all the time; the pods that were there before."""
    old = place.witness.pods(name)
    load.wait_for_more(50)
    traffic.ecs.update_service(service=name, taskDefinition=web(traffic, name, "2", **members))
    traffic.wait_until_completed(name)
    load.wait_for_more(50)
    load.end()
    assert load.failures == []
    assert set(load.answers) == {"1", "2"}
    assert {load.kind(load.address, load.port).ask() for _ in range(20)} == {"2"}
    return old


def assert_they_were_held(watch, pods, seconds):
    """No program ended before the time in which clients may still know the address."""
    for pod in pods:
        wait_until(lambda pod=pod: watch.first(pod, has_ended), "it has ended")
        # The watch may come later, so what it says of the beginning counts, and not when.
        assert watch.first(pod, has_ended) - deleted_at(watch.change(pod, is_ending)[1]) >= seconds


def test_a_rolling_update_behind_a_load_balancer_loses_nothing(place, traffic, create, watch):
    group, front = traffic.group(traffic.balancer(), delay=DELAY)
    create("front", web(traffic, "front", "1"), 2, [(group, 8080)])
    place.wait_until_stable("front")
    pods = place.witness.pods("front")
    targets = traffic.wait_for_targets(group, 2)
    assert set(targets) == {(pod["status"]["podIP"], 8080) for pod in pods}
    assert {address_of(task) for task in traffic.tasks("front").values()} == {
        address for address, _ in targets}
    wait_until(lambda: in_effect(place.server)["settled"], "it is in effect")
    assert get(*front) == "1"

    with Looking(lambda: traffic.targets(group)) as looking:
        old = roll_under_load(place, traffic, "front", Load(FrontClient, *front, threads=4))
        for pod in old:
            wait_until(lambda pod=pod: watch.first(pod, has_ended), "it has ended")
    assert {pod["metadata"]["uid"] for pod in old} == {pod["metadata"]["uid"] for pod in pods}
    # Each ran until the load balancer sent it no requests any more.
    for pod in old:
        target = (pod["status"]["podIP"], 8080)
        assert watch.first(pod, has_ended) > looking.last(
            lambda seen, target=target: seen.get(target) == "healthy")
    # The gate of a new one opened before Kubernetes took an old one away.
    new = place.witness.pods("front")
    opened = wait_until(lambda: all(found := [watch.first(pod, lambda _, item: gate_of(item) == "True")
                                              for pod in new]) and found, "the gates of all are open")
    assert min(watch.first(pod, is_ending) for pod in old) >= min(opened) - 0.5
    assert set(traffic.wait_for_targets(group, 2)) == {
        (pod["status"]["podIP"], 8080) for pod in new}


def test_the_gate_opens_when_the_balancer_finds_it_healthy(place, traffic, create):
    group, front = traffic.group(traffic.balancer(), delay=DELAY)
    # It listens only when the file appears: until then it is running, and not healthy.
    script = "until [ -e /tmp/go ]; do sleep 0.1; done; " + WEB
    create("gated", web(traffic, "gated", "1", script), 1, [(group, 8080)])
    pod = wait_until(lambda: next((item for item in place.witness.pods("gated") if
                                   place.container_ids([item])[item["metadata"]["name"]]), None),
                     "its program runs")
    assert pod["spec"]["readinessGates"] == [{"conditionType": GATE}]
    wait_until(lambda: traffic.targets(group), "the balancer knows it")
    time.sleep(3)

    def now():
        return place.witness.pods("gated")[0]

    assert gate_of(now()) != "True" and not is_ready(now())
    assert set(traffic.targets(group).values()) != {"healthy"}
    place.execute(pod, "web", "touch", "/tmp/go")
    wait_until(lambda: gate_of(now()) == "True" and is_ready(now()), "the gate is open")
    assert set(traffic.targets(group).values()) == {"healthy"}
    wait_until(lambda: in_effect(place.server)["settled"], "it is in effect")
    assert get(*front) == "1"
    place.wait_until_stable("gated")


def test_a_rolling_update_behind_a_name_loses_nothing(place, traffic, create, watch):
    arn, registry, name = traffic.registry("named", ttl=TTL)
    create("named", web(traffic, "named", "1", healthCheck=LISTENS), 2,
           registry={"registryArn": arn})
    place.wait_until_stable("named")

    def registered():
        return {item["AWS_INSTANCE_IPV4"] for item in traffic.instances(registry).values()}

    def agree(number):
        addresses = {pod["status"].get("podIP") for pod in place.witness.pods("named")}
        return len(addresses) == number and addresses == registered() \
            == {address for _, address in lookup(place.server, name)} == slices(place, "named")

    wait_until(lambda: agree(2), "DNS, registry and EndpointSlices have the addresses of the pods")
    assert set(traffic.instances(registry)) == task_ids(place.witness.pods("named"))

    NameClient.server = place.server
    load = Load(NameClient, name, 8080, threads=4)
    old = roll_under_load(place, traffic, "named", load, healthCheck=LISTENS)
    assert_they_were_held(watch, old, TTL)
    wait_until(lambda: agree(2), "they all have the new addresses")

    traffic.ecs.update_service(service="named", desiredCount=1)
    wait_until(lambda: agree(1), "they have one address")
    traffic.ecs.update_service(service="named", desiredCount=3)
    wait_until(lambda: agree(3), "they have three addresses")
    place.wait_until_stable("named")


def test_ports_that_are_not_the_nodes(place, traffic):
    """bridge without host ports, which Kubernetes cannot choose: each task is a target and a record of its own, at
    its pod's address."""
    group, front = traffic.group(traffic.balancer(), kind="instance")
    arn, registry, _ = traffic.registry("ports", type_="SRV")
    family = traffic.register("ports", [container(
        WEB.replace('echo "$VERSION"', "hostname"), "web", portMappings=[{"containerPort": 8080}])], mode="bridge")
    traffic.ecs.create_service(
        serviceName="ports", taskDefinition=family, desiredCount=2,
        loadBalancers=[{"targetGroupArn": group, "containerName": "web", "containerPort": 8080}],
        serviceRegistries=[{"registryArn": arn, "containerName": "web", "containerPort": 8080}])
    try:
        traffic.wait_until_completed("ports")
        pods = {pod["metadata"]["name"]: pod["status"]["podIP"] for pod in place.witness.pods("ports")}
        assert {target for target, _ in traffic.targets(group)} == set(pods.values())
        assert sorted((item["AWS_INSTANCE_IPV4"], item["AWS_INSTANCE_PORT"])
                      for item in traffic.instances(registry).values()) == sorted(
                          (address, "8080") for address in pods.values())
        wait_until(lambda: in_effect(place.server)["settled"], "it is in effect")
        answered = set()
        wait_until(lambda: answered.add(get(*front)) or answered == set(pods), "both are asked")
    finally:
        place.remove_service("ports")


def test_what_ends_while_it_starts_is_not_held(place, traffic):
    """A pod is held at its end until it has no traffic any more. One that never had any ends as soon as that is known,
    also if its programs were only about to start when it was deleted."""
    delay = 2 * DEADLINE
    group, _ = traffic.group(traffic.balancer(), delay=delay)
    names = [f"brief-{number}" for number in range(4)]
    for number, name in enumerate(names):
        traffic.create(name, web(traffic, name, "1"), 2, groups=[(group, 8080)])
        wait_until(lambda name=name: len(place.witness.pods(name)) == 2, "its pods are made")
        time.sleep(number * 0.3)
        place.ecs.delete_service(service=name, force=True)
    for name in names:
        wait_until(lambda name=name: not place.witness.pods(name, ending=True), "its pods are gone")
