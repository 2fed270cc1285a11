"""Applications on a remote target: another slipway, through SigV4, behind a proxy that throttles, loses and delays calls and
kills the server that makes them. The invariants are recomputed from the recorded calls."""
import json
import threading

import pytest
import test_app_balancers
import test_app_names
from conftest import DEADLINE, wait_until
from remote_world import Holding
from remote_world import World as TwoServers
from test_services_traffic import programs  # noqa: F401

TTL = test_app_names.TTL
READS = ("Describe", "List", "Get", "Discover")


def pipeline(scale, canary):
    return [("ECS_CANARY_ROLLOUT", {"scale": scale}), ("ECS_TRAFFIC_ROUTING", {"canary": canary}),
            ("ECS_PRIMARY_ROLLOUT", {}), ("ECS_TRAFFIC_ROUTING", {"primary": 100}),
            ("ECS_CANARY_CLEAN", {})]


CANARY, BLUE_GREEN = pipeline(50, 33), pipeline(100, 100)
# Each kind of call that changes something in these pipelines.
OF_SETS = ["RegisterTaskDefinition", "CreateTaskSet", "UpdateServicePrimaryTaskSet", "DeleteTaskSet"]
OF_SERVICES = ["RegisterTaskDefinition", "CreateService", "UpdateService", "DeleteService"]
OF_NAMES = ["RegisterInstance", "DeregisterInstance"]
OF_WEIGHTS = ["ModifyListener", "ModifyRule"]


class Proxy(Holding):
    """Knows some more faults.

    kill        forwarded; the caller is to be killed before it has the answer
    pending     an answer that the operation of Cloud Map is under way
    failed      an answer that it has failed
    duplicate   an answer that another operation on the instance is under way
    partial     forwarded; of the answer one item is missing, with a failure that does not say whether it exists
    """

    def __init__(self):
        super().__init__()
        self.has_killed = threading.Event()
        self.is_busy = False  # every third call is throttled
        self.count_all = 0

    def do_forward(self, handler, call, body, _fault):
        self.count_all += 1
        if self.is_busy and self.count_all % 3 == 0:
            self.do_throttle(handler, call, body, _fault)
        else:
            super().do_forward(handler, call, body, _fault)

    def do_kill(self, handler, call, body, _fault):
        self.forward(handler, call, body)
        self.has_killed.set()
        self.hold(handler)

    def answer_operation(self, handler, call, **members):
        self.answer(handler, call, 200,
                    {"Operation": {"Id": call.body["OperationId"], **members}})

    def do_pending(self, handler, call, _body, _fault):
        self.answer_operation(handler, call, Status="PENDING")

    def do_failed(self, handler, call, _body, _fault):
        self.answer_operation(handler, call, Status="FAIL", ErrorMessage="no such zone")

    def do_duplicate(self, handler, call, _body, _fault):
        self.answer(handler, call, 400, {
            "__type": "DuplicateRequest", "Message": "Another operation is in progress"})

    def do_partial(self, handler, call, body, _fault):
        status, _, text = self.forward(handler, call, body)
        document = json.loads(text)
        for name in ("tasks", "taskSets"):
            if document.get(name):
                document[name].pop()
                document["failures"] = [{"arn": name, "reason": "INTERNAL"}]
        self.answer(handler, call, status, document)

    def changes(self):
        """The calls that changed something, in order."""
        return [call for call in self.called()
                if call.forwarded and not call.operation.startswith(READS)]


@pytest.fixture(name="proxy")
def new_proxy():
    with Proxy() as proxy:
        yield proxy


def restart_when_killed(servers, application):
    wait_until(servers.proxy.has_killed.is_set, "the call has come", 2 * DEADLINE)
    servers.local.kill()
    servers.proxy.has_killed.clear()
    application.server = servers.reopen()


def deploy_with_kills(servers, application, stages, kinds):
    """At each kind of call once: it takes effect, and the server is killed before it has the answer."""
    for kind in kinds:
        servers.proxy.fault(kind, "kill", times=1)
    application.pipeline(*stages)
    number = application.start("--target", "remote")
    for _ in kinds:
        restart_when_killed(servers, application)
    ended = application.wait(number)
    assert ended["state"] == "SUCCESS", ended


class World(test_app_names.World):
    """The application on the one slipway, its service on the other."""

    def __init__(self, servers, programs, folder, controller="EXTERNAL"):  # noqa: F811
        super().__init__(servers.remote, programs, folder, "abc")
        self.servers, self.proxy = servers, servers.proxy
        self.controller = controller
        self.application.server = servers.local
        self.version("1", controller=controller)
        deployed = self.application.sync("--target", "remote")
        assert deployed["state"] == "SUCCESS", deployed
        self.start_client()
        self.before = self.tasks()
        with self.proxy.lock:
            self.proxy.calls.clear()

    def start(self):
        self.version("2")
        self.application.pipeline(*CANARY)
        return self.application.start("--target", "remote")

    def check_calls(self):
        """I1, I2, I4 and I5 from the recorded calls alone."""
        registered, left, tokens = set(self.before), {}, {}
        # Of the new primary ECS itself registers the tasks: from when it is created on others serve, too.
        others = False
        for call in self.proxy.changes():
            body = call.body
            assert body.get("service", "abc") in ("abc", "abc-canary")  # I5
            assert body.get("cluster", "default") == "default"
            if call.operation == "RegisterInstance":
                registered.add(body["InstanceId"])
            elif call.operation == "DeregisterInstance":
                registered.discard(body["InstanceId"])
                left[body["InstanceId"]] = call.at
                assert others or len(registered) >= 2, "I1"
            elif call.operation in ("CreateTaskSet", "CreateService"):
                role = body.get("externalId", "canary")
                others = others or role == "primary"
                tokens.setdefault(role, set()).add(body["clientToken"])
                assert len(tokens[role]) == 1, "I4"
            elif call.operation == "UpdateService":
                others = True
            elif call.operation in ("DeleteTaskSet", "DeleteService"):
                # Old and canary tasks were deregistered, and their records have expired.
                assert left and call.at - max(left.values()) >= TTL, "I2"
        return tokens


@pytest.fixture(name="world")
def new_world(start_slipway, proxy, programs, tmp_path):  # noqa: F811
    servers = TwoServers(start_slipway, proxy, tmp_path)
    servers.open()
    return World(servers, programs, tmp_path)


@pytest.mark.parametrize("stages, controller", [
    (CANARY, "EXTERNAL"), (BLUE_GREEN, "EXTERNAL"), (CANARY, "ECS"), (BLUE_GREEN, "ECS")])
def test_a_kill_at_each_kind_of_call(start_slipway, proxy, programs, tmp_path, stages,  # noqa: F811
                                     controller):
    """Scenario 40, by names: with task sets, and with two services."""
    servers = TwoServers(start_slipway, proxy, tmp_path)
    servers.open()
    world = World(servers, programs, tmp_path, controller)
    world.version("2", controller=controller)
    has_sets = controller == "EXTERNAL"
    deploy_with_kills(servers, world.application, stages,
                      (OF_SETS if has_sets else OF_SERVICES) + OF_NAMES)
    assert set(world.check_calls()) == ({"canary", "primary"} if has_sets else {"canary"})
    assert len(world.tasks()) == 2 and not world.tasks() & world.before
    if has_sets:
        world.assert_one_primary()
    assert world.registered() == world.tasks()
    world.assert_no_failures()


@pytest.mark.parametrize("stages", [CANARY, BLUE_GREEN])
def test_a_kill_at_each_kind_of_call_by_weights(start_slipway, proxy, programs, tmp_path,  # noqa: F811
                                                stages):
    """Scenario 40, behind a load balancer of the other slipway."""
    servers = TwoServers(start_slipway, proxy, tmp_path, "--instances", "3",
                         *test_app_balancers.SERVER_ARGUMENTS)
    servers.open()
    world = test_app_balancers.World(servers.remote, programs, tmp_path)
    world.application.server = servers.local
    world.version("1")
    deployed = world.application.sync("--target", "remote")
    assert deployed["state"] == "SUCCESS", deployed
    old = world.tasks()
    client = test_app_balancers.Client(world.address, tmp_path / "answers")
    try:
        client.shares(20)
        world.version("2")
        deploy_with_kills(servers, world.application, stages, OF_SETS + OF_WEIGHTS)
        assert len(world.tasks()) == 2 and not world.tasks() & old
        world.assert_one_primary()
        client.assert_no_failures()
    finally:
        client.end()


def test_throttled_calls_and_slow_operations(world):
    """Scenario 41: every third call is throttled, operations are PENDING twice, answers are lost, partial or too late."""
    world.proxy.is_busy = True
    world.proxy.fault("GetOperation", "pending", times=2)
    world.proxy.fault("RegisterInstance", "duplicate", times=1)
    world.proxy.fault("CreateTaskSet", "cut", times=1)
    world.proxy.fault("DescribeTasks", "partial", times=3)
    world.proxy.fault("DescribeTaskSets", "partial", times=2)
    world.proxy.fault("UpdateServicePrimaryTaskSet", "silent", times=1)
    ended = world.application.wait(world.start())
    assert ended["state"] == "SUCCESS", ended
    assert world.proxy.count("GetOperation") > 2
    world.check_calls()
    world.proxy.is_busy = False
    world.assert_one_primary()
    world.assert_no_failures()


def test_a_failed_operation_fails_its_stage(world):
    """Scenario 41: FAIL is a failure with its message, and the deployment is rolled back."""
    world.proxy.fault("GetOperation", "failed", times=1)
    ended = world.application.wait(world.start())
    assert ended["state"] == "FAILURE" and "no such zone" in ended["reason"], ended
    assert world.tasks() == world.before
    world.assert_one_primary()
    world.assert_no_failures()
