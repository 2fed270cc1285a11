"""Canary and blue/green behind a load balancer, with a client that counts what fails."""
import collections
import os
import subprocess
import sys
import time

import pytest
from applications import Application
from balancing import free_port
from conftest import DEADLINE, wait_until
from rest_requests import ask
from test_app_names import BLUE_GREEN, CANARY, roll_back
from test_services_traffic import Traffic, balancers, lookup, programs  # noqa: F401

CLIENT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "name_client.py")
SERVER_ARGUMENTS = ["--balancers", balancers()]
STICKY = {"Enabled": True, "DurationSeconds": 60}


class Client:
    """Asks an address all the time; its answers."""

    def __init__(self, address, path):
        self.path = str(path)
        self.process = subprocess.Popen(
            [sys.executable, CLIENT, self.path, address[0], str(address[1]), "2"],
            stdin=subprocess.DEVNULL)

    def end(self):
        self.process.kill()
        self.process.wait()

    def answers(self):
        if not os.path.exists(self.path):
            return []
        with open(self.path, encoding="utf-8") as file:
            lines = file.read().split("\n")[:-1]
        return [(float(line.split()[0]), line.split()[1:]) for line in lines]

    def shares(self, number):
        """{version: requests} of so many requests from now on."""
        began = time.monotonic()

        def condition():
            found = [what for at, what in self.answers() if at >= began]
            return found if len(found) >= number else None

        found = wait_until(condition, f"{number} answers", 2 * DEADLINE)
        return collections.Counter(what[1] for what in found[:number])

    def assert_no_failures(self):
        failed = [line for line in self.answers() if line[1][0] != "ok"]
        assert not failed, failed[:5]


class World:
    """Target groups blue and green behind a listener whose default rule and another rule forward to the pair; a third rule
    forwards to a group of its own."""

    def __init__(self, server, programs, folder):  # noqa: F811
        self.server, self.programs, self.name = server, programs, "abc"
        self.traffic = Traffic(server)
        self.elb = self.traffic.elb
        balancer = self.traffic.balancer("application")
        self.blue, self.green, self.other = [self.make_group(name)
                                             for name in ("blue", "green", "other")]
        address = lookup(server, balancer["DNSName"])[0][1]
        self.address = (address, free_port(address))
        self.listener = self.elb.create_listener(
            LoadBalancerArn=balancer["LoadBalancerArn"], Protocol="HTTP", Port=self.address[1],
            DefaultActions=self.forward())["Listeners"][0]["ListenerArn"]
        self.pair = self.make_rule("/api", 1, self.forward())
        self.third = self.make_rule("/other", 2, [
            {"Type": "forward", "TargetGroupArn": self.other}])
        self.application = Application(server, folder / "app", self.name)
        self.application.spec["input"]["targetGroups"] = {
            "primary": self.configured(self.blue), "canary": self.configured(self.green)}

    def make_group(self, name):
        arn = self.elb.create_target_group(
            Name=name, Protocol="HTTP", Port=8080, TargetType="ip", VpcId="vpc-1",
            HealthCheckPath="/health", HealthCheckIntervalSeconds=5, HealthCheckTimeoutSeconds=4,
            HealthyThresholdCount=2, UnhealthyThresholdCount=10)["TargetGroups"][0]["TargetGroupArn"]
        self.elb.modify_target_group_attributes(TargetGroupArn=arn, Attributes=[
            {"Key": "deregistration_delay.timeout_seconds", "Value": "2"}])
        return arn

    def make_rule(self, path, priority, actions):
        return self.elb.create_rule(
            ListenerArn=self.listener, Priority=priority, Actions=actions,
            Conditions=[{"Field": "path-pattern", "Values": [path]}])["Rules"][0]["RuleArn"]

    def forward(self):
        return [{"Type": "forward", "ForwardConfig": {
            "TargetGroups": [{"TargetGroupArn": self.blue, "Weight": 100},
                             {"TargetGroupArn": self.green, "Weight": 0}],
            "TargetGroupStickinessConfig": STICKY}}]

    @staticmethod
    def configured(arn):
        return {"targetGroupArn": arn, "containerName": "web", "containerPort": 8080}

    def version(self, version):
        self.application.service(2)
        self.application.task(self.programs.containers(8080, version=version))

    def weights(self):
        """(default rule, rule of the pair): weights of (blue, green), with everything else as it was."""
        rules = self.elb.describe_rules(ListenerArn=self.listener)["Rules"]
        found = []
        for rule in rules:
            config = rule["Actions"][0]["ForwardConfig"]
            if rule["RuleArn"] == self.third:
                assert [group["TargetGroupArn"] for group in config["TargetGroups"]] == [self.other]
                continue
            assert config["TargetGroupStickinessConfig"] == STICKY
            by_group = {group["TargetGroupArn"]: group["Weight"]
                        for group in config["TargetGroups"]}
            found.append((by_group[self.blue], by_group[self.green]))
        return found

    def tasks(self):
        return set(self.traffic.tasks(self.name))

    def assert_one_primary(self):
        """Invariant I3, seen through the ECS and ELB APIs alone."""
        sets = [item for item in self.traffic.service(self.name)["taskSets"]
                if item["status"] != "DRAINING"]
        assert [item["status"] for item in sets] == ["PRIMARY"], sets
        assert self.weights() == [(100, 0)] * 2

    def wait_for_stage(self, number, index):
        def condition():
            shown = self.application.show(number)
            stages = shown["stages"]
            if len(stages) > index and stages[index]["state"] == "RUNNING":
                return stages
            assert shown["state"] in ("PENDING", "RUNNING"), shown
            return None

        return wait_until(condition, f"stage {index} is RUNNING", 2 * DEADLINE)


@pytest.fixture(name="world")
def new_world(start_slipway, programs, tmp_path):  # noqa: F811
    world = World(start_slipway(*SERVER_ARGUMENTS), programs, tmp_path)
    world.version("1")
    deployed = world.application.sync()
    assert deployed["state"] == "SUCCESS", deployed
    return world


@pytest.fixture(name="client")
def new_client(world, tmp_path):
    client = Client(world.address, tmp_path / "answers")
    client.shares(20)
    yield client
    client.end()


def test_canary(world, client):
    """Scenarios 25 and 28: the canary stays until it is cleaned, and rules of others are not touched."""
    app, old = world.application, world.tasks()
    world.version("2")
    app.pipeline(*CANARY)
    number = app.start()
    world.wait_for_stage(number, 1)
    canary = world.tasks() - old
    assert len(canary) == 1 and world.weights() == [(100, 0)] * 2
    app.approve()
    world.wait_for_stage(number, 3)
    assert world.weights() == [(67, 33)] * 2
    shares = client.shares(300)
    assert 0.25 < shares["2"] / 300 < 0.41, shares
    app.approve()
    world.wait_for_stage(number, 5)
    assert canary < world.tasks() and not world.tasks() & old
    app.approve()
    ended = app.wait(number)
    assert ended["state"] == "SUCCESS", ended
    world.assert_one_primary()
    client.assert_no_failures()


def test_blue_green_and_a_rollback_after_the_cut_over(world, client):
    """Scenarios 28 and 33."""
    app, old = world.application, world.tasks()
    world.version("2")
    app.pipeline(*BLUE_GREEN)
    number = app.start()
    world.wait_for_stage(number, 1)
    assert world.weights() == [(100, 0)] * 2
    app.approve()
    world.wait_for_stage(number, 3)
    assert world.weights() == [(0, 100)] * 2 and old < world.tasks()
    assert app.run("deployment", "cancel", app.name).returncode == 0
    ended = app.wait(number)
    assert ended["state"] == "CANCELLED", ended
    assert world.tasks() == old
    world.assert_one_primary()

    number = app.start()
    for index in (1, 3, 5):
        world.wait_for_stage(number, index)
        app.approve()
    ended = app.wait(number)
    assert ended["state"] == "SUCCESS", ended
    world.assert_one_primary()
    assert not world.tasks() & old
    client.assert_no_failures()


def test_a_rollback_after_success(world, client):
    """With keepOldPrimary: the old targets leave their group, and come back to it."""
    app, old = world.application, world.tasks()
    app.spec["input"]["keepOldPrimary"] = "1h"
    world.version("2")
    app.pipeline(*[stage for stage in BLUE_GREEN if stage[0] != "WAIT_APPROVAL"])
    ended = app.sync()
    assert ended["state"] == "SUCCESS", ended
    assert old < world.tasks()
    assert client.shares(50) == {"2": 50}
    roll_back(app)
    assert world.tasks() == old
    world.assert_one_primary()
    assert client.shares(50) == {"1": 50}
    client.assert_no_failures()


def test_both_access_types(world, client):
    """A service behind a load balancer that is reached by a name, too: one stage routes both."""
    app = world.application
    arn, registry, _ = world.traffic.registry("both", ttl=2)
    app.spec["input"]["accessType"] = ["ELB", "SERVICE_DISCOVERY"]

    def version(number):
        app.service(2, registry=arn)
        app.task(world.programs.containers(8080, version=number))

    def registered():
        return set(world.traffic.instances(registry))

    version("1")
    assert app.sync()["state"] == "SUCCESS"
    old = world.tasks()
    assert registered() == old
    version("2")
    app.pipeline(*CANARY)
    number = app.start()
    world.wait_for_stage(number, 1)
    canary = world.tasks() - old
    assert world.weights() == [(100, 0)] * 2 and registered() == old
    app.approve()
    world.wait_for_stage(number, 3)
    assert world.weights() == [(67, 33)] * 2 and registered() == old | canary
    app.approve()
    world.wait_for_stage(number, 5)
    assert world.weights() == [(67, 33)] * 2 and registered() == world.tasks() > canary
    app.approve()
    assert app.wait(number)["state"] == "SUCCESS"
    world.assert_one_primary()
    assert registered() == world.tasks() and not world.tasks() & (old | canary)
    client.assert_no_failures()


def test_without_a_matching_rule_routing_fails(world, client):
    """Scenario 24."""
    app, old = world.application, world.tasks()
    only_blue = [{"Type": "forward", "TargetGroupArn": world.blue}]
    world.elb.modify_listener(ListenerArn=world.listener, DefaultActions=only_blue)
    world.elb.modify_rule(RuleArn=world.pair, Actions=only_blue)
    # ECS wants each target group behind a load balancer.
    world.make_rule("/green", 3, [{"Type": "forward", "TargetGroupArn": world.green}])
    world.version("2")
    app.pipeline(*CANARY)
    number = app.start()
    world.wait_for_stage(number, 1)
    app.approve()
    ended = app.wait(number)
    assert ended["state"] == "FAILURE" and "no rule forwards to both" in ended["reason"], ended
    assert world.tasks() == old
    client.assert_no_failures()


def group_metrics(world, arn, counter):
    """A counter of the data plane, from the metrics page."""
    text = ask(world.server, "GET", "/metrics").text
    name = f'slipway_group_{counter}{{group="'
    lines = [line for line in text.split("\n") if line.startswith(name)
             and f"/{arn.split('/')[1]}\"" in line]
    return int(lines[0].split()[-1]) if lines else 0


def analysis(*metrics):
    return ("ANALYSIS", {"duration": "4s", "metrics": [
        {"provider": "slipway", "interval": "1s", **metric} for metric in metrics]})


def test_an_analysis_by_own_counters(world, client):
    """Scenario 46: response classes and latency of the target groups, without Prometheus."""
    app, old = world.application, world.tasks()
    stages = [("ECS_CANARY_ROLLOUT", {"scale": 50}), ("ECS_TRAFFIC_ROUTING", {"canary": 50})]
    world.version("2")
    app.pipeline(*stages, analysis({"query": "error_rate", "expected": {"max": 0.01}},
                                   {"query": "latency_ms", "expected": {"max": 4000}},
                                   {"query": "requests", "expected": {"min": 1}}),
                 ("ECS_TRAFFIC_ROUTING", {"primary": 100}), ("ECS_CANARY_CLEAN", {}))
    ended = app.sync()
    assert ended["state"] == "SUCCESS", ended
    client.assert_no_failures()
    assert group_metrics(world, world.green, "responses_2xx_total") > 0
    assert group_metrics(world, world.green, "responses_5xx_total") == 0

    world.version("broken")
    app.pipeline(*stages, analysis({"query": "error_rate", "expected": {"max": 0.01},
                                    "failureLimit": 1}))
    ended = app.sync()
    assert ended["state"] == "FAILURE", ended
    assert "error_rate: value 1" in ended["reason"] and "at most 0.01" in ended["reason"], ended
    samples = [line for line in app.log().split("\n") if "error_rate: 1" in line]
    assert len(samples) == 2, samples  # one bad point passes, the second fails at once
    assert world.tasks() >= old
    assert group_metrics(world, world.green, "responses_5xx_total") > 0
    assert group_metrics(world, world.blue, "responses_5xx_total") == 0
    world.assert_one_primary()


def test_unknown_metrics_are_refused(world):
    app = world.application
    world.version("2")
    for name, message in (("errors", "error_rate"), ("error_rate", "target group")):
        if name == "error_rate":
            del app.spec["input"]["targetGroups"]["canary"]
        app.pipeline(analysis({"query": name, "expected": {"max": 1}}))
        ended = app.sync()
        assert ended["state"] == "FAILURE" and message in ended["reason"], ended


def test_only_the_selected_rule_is_changed(world, client):
    """listenerRuleSelector, as PipeCD has it."""
    app = world.application
    app.spec["input"]["listenerRuleSelector"] = {"listenerRuleArn": world.pair}
    world.version("2")
    app.pipeline(("ECS_CANARY_ROLLOUT", {"scale": 50}), ("ECS_TRAFFIC_ROUTING", {"canary": 20}),
                 ("WAIT_APPROVAL", {}), ("ECS_TRAFFIC_ROUTING", {"primary": 100}),
                 ("ECS_CANARY_CLEAN", {}))
    number = app.start()
    world.wait_for_stage(number, 2)
    assert sorted(world.weights()) == [(80, 20), (100, 0)]
    app.approve()
    assert app.wait(number)["state"] == "SUCCESS"
    world.assert_one_primary()
    client.assert_no_failures()
