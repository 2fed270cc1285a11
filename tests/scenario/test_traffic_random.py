"""Everything about load balancers is changed at random, a hundred times, under clients of every kind: weights, rules,
targets, groups, listeners, whole load balancers, and data plane workers are killed. Every request to an existing
listener is answered, except what a killed worker had open; and the final settings are exactly the requested ones.

    SLIPWAY_CHANCE_SEED=7 SLIPWAY_CHANCE_STEPS=500 ./dev test scenario -- -k random_changes  # another one, and longer
"""
import contextlib
import os
import random
import signal

import pytest

from backends import Backends
from balancing import NETWORK, Balancer, Line, Load, Session, Web, children, wait_until_gone
from conftest import DEADLINE

SERVER_ARGUMENTS = ["--runtime", "none", "--balancers", NETWORK]
STEPS = int(os.environ.get("SLIPWAY_CHANCE_STEPS", "100"))
SEEDS = [int(seed) for seed in os.environ.get("SLIPWAY_CHANCE_SEED", "1").split()]
CHECK = 10  # every so many steps all is looked at
THREADS = 2
RULES_MAX, EXTRA_MAX = 12, 3
GROUPS = {"a": "A", "b": "B", "c": "CD"}  # which backends may be in which group


class PoliteWeb:
    """Keeps its connection until the server closes it."""

    def __init__(self, address, port):
        self.place, self.web = (address, port), None

    def ask(self):
        self.web = self.web or Web(*self.place)
        answer = self.web.get()
        if answer.getheader("Connection", "") == "close":
            self.close()
        assert answer.status == 200, (answer.status, answer.text)
        return answer.text

    def close(self):
        if self.web:
            self.web.close()
        self.web = None


class HastySession(Session):
    """Gives up a datagram of a killed worker long before a client that waits for answers does."""

    def __init__(self, address, port):
        super().__init__(address, port)
        self.socket.settimeout(DEADLINE / 3)


class World:
    """A web and a network load balancer, and all that can be done to them."""

    def __init__(self, slipway, backends, seed):
        self.slipway, self.backends, self.random = slipway, backends, random.Random(seed)
        self.web, self.net = Balancer(slipway, f"web-{seed}", "application"), Balancer(slipway, f"net-{seed}")
        for name, (first, *_) in GROUPS.items():
            # Soon unhealthy, on request: that cuts no connection.
            self.web.group(name, "HTTP", [backends[first].http], HealthCheckPath="/health",
                           UnhealthyThresholdCount=2)
            self.net.group(f"tcp-{name}", "TCP", [backends[first].port])
            self.net.group(f"udp-{name}", "UDP", [backends[first].port])
        self.http = self.web.listen("HTTP", dict.fromkeys(GROUPS, 1))
        self.tcp = self.net.listen("TCP", {f"tcp-{name}": 1 for name in GROUPS})
        self.udp = self.net.listen("UDP", {f"udp-{name}": 1 for name in GROUPS})
        for balancer in (self.web, self.net):
            balancer.wait_until_healthy()
        self.weights = dict.fromkeys(GROUPS, 1)
        self.tcp_weights = dict(self.weights)
        self.rules = {}  # by priority: arn, path, and what it does
        self.number = 0
        self.kills = {"haproxy": 0, "proxy-worker": 0}
        self.extra, self.others = [], []

    def some_weights(self):
        while True:
            weights = {name: self.random.choice((0, 1, 2, 7, 90)) for name in GROUPS}
            if sum(weights.values()):
                return weights

    def path(self):
        self.number += 1
        return f"/p{self.number}"

    # ---- changes ----

    def do_weigh(self):
        self.weights = self.some_weights()
        self.web.elb.modify_listener(ListenerArn=self.web.listeners[self.http],
                                     DefaultActions=self.web.forward(self.weights))

    def do_weigh_tcp(self):
        self.tcp_weights = self.some_weights()
        for port, kind in ((self.tcp, "tcp"), (self.udp, "udp")):
            self.net.elb.modify_listener(
                ListenerArn=self.net.listeners[port],
                DefaultActions=self.net.forward({f"{kind}-{name}": weight
                                                 for name, weight in self.tcp_weights.items()}))

    def some_action(self):
        if self.random.random() < 0.3:
            status = self.random.choice(("200", "404", "503"))
            return status, [{"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": status}}]
        weights = self.some_weights()
        return weights, self.web.forward(weights)

    def do_add_rule(self):
        priority = self.random.randrange(1, 50000)
        if len(self.rules) >= RULES_MAX or priority in self.rules:
            return
        path, (does, actions) = self.path(), self.some_action()
        made = self.web.elb.create_rule(
            ListenerArn=self.web.listeners[self.http], Priority=priority, Actions=actions,
            Conditions=[{"Field": "path-pattern", "Values": [path]}])
        self.rules[priority] = [made["Rules"][0]["RuleArn"], path, does]

    def some_rule(self):
        return self.random.choice(sorted(self.rules)) if self.rules else None

    def do_change_rule(self):
        if priority := self.some_rule():
            rule = self.rules[priority]
            rule[2], actions = self.some_action()
            self.web.elb.modify_rule(RuleArn=rule[0], Actions=actions)

    def do_move_rules(self):
        priorities = self.random.sample(range(1, 50000), len(self.rules))
        if priorities:
            self.rules = dict(zip(priorities, self.rules.values()))
            self.web.elb.set_rule_priorities(RulePriorities=[
                {"RuleArn": rule[0], "Priority": priority} for priority, rule in self.rules.items()])

    def do_delete_rule(self):
        if priority := self.some_rule():
            self.web.elb.delete_rule(RuleArn=self.rules.pop(priority)[0])

    def do_targets(self):
        """D comes and goes, beside C."""
        for balancer, name, port in ((self.web, "c", self.backends["D"].http),
                                     (self.net, "tcp-c", self.backends["D"].port),
                                     (self.net, "udp-c", self.backends["D"].port)):
            (balancer.register if self.random.random() < 0.5 else balancer.deregister)(name, port)

    def do_health(self):
        self.backends.send(self.random.choice(("unhealthy D", "healthy D")))

    def do_attributes(self):
        values = {"load_balancing.algorithm.type": self.random.choice(("round_robin", "least_outstanding_requests")),
                  # Requests under way end well before: later than that they may be cut off.
                  "deregistration_delay.timeout_seconds": self.random.choice(("60", "90", "300"))}
        self.web.elb.modify_target_group_attributes(
            TargetGroupArn=self.web.groups["c"],
            Attributes=[{"Key": key, "Value": value} for key, value in values.items()])

    def do_listen(self):
        if len(self.extra) < EXTRA_MAX:
            balancer, protocol, weights = self.random.choice((
                (self.web, "HTTP", {"a": 1}), (self.net, "TCP", {"tcp-a": 1}), (self.net, "UDP", {"udp-a": 1})))
            self.extra.append((balancer, protocol, balancer.listen(protocol, weights)))

    def do_unlisten(self):
        if self.extra:
            balancer, _, port = self.extra.pop(self.random.randrange(len(self.extra)))
            balancer.elb.delete_listener(ListenerArn=balancer.listeners.pop(port))

    def do_another(self):
        if len(self.others) < EXTRA_MAX:
            self.number += 1
            other = Balancer(self.slipway, f"other-{self.number}", self.random.choice(("network", "application")))
            other.protocol = "TCP" if other.kind == "network" else "HTTP"
            other.group("all", other.protocol, [self.backends["A"].http])
            other.port = other.listen(other.protocol, {"all": 1})
            self.others.append(other)

    def do_without(self):
        if self.others:
            other = self.others.pop(self.random.randrange(len(self.others)))
            other.elb.delete_load_balancer(LoadBalancerArn=other.arn)
            other.elb.delete_target_group(TargetGroupArn=other.groups["all"])

    def kill(self, word):
        for pid in children(self.slipway.process.pid, word):
            # One that finishes what it has, beside its successor, may have ended by itself meanwhile.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                wait_until_gone(pid)
                self.kills[word] += 1

    def do_kill_haproxy(self):
        if self.random.random() < 0.3:
            self.kill("haproxy")

    def do_kill_worker(self):
        if self.random.random() < 0.3:
            self.kill("proxy-worker")

    # ---- properties ----

    def check(self):
        self.web.wait_until_settled()
        for _, path, does in self.rules.values():
            self.check_rule(path, does)
        for balancer, protocol, port in self.extra:
            kind = {"HTTP": Web, "TCP": Line, "UDP": Session}[protocol]
            asked = kind(balancer.address, port)
            assert asked.ask() == "A"
            asked.close()
        for other in self.others:
            asked = Web(other.address, other.port)
            assert asked.ask() == "A"
            asked.close()

    def check_rule(self, path, does):
        web = Web(self.web.address, self.http)
        if isinstance(does, str):
            assert web.get(path).status == int(does)
        else:
            answers = [web.get(path).text for _ in range(sum(does.values()))]
            found = {name: sum(answers.count(backend) for backend in backends)
                     for name, backends in GROUPS.items()}
            assert found == does, (path, found, does)
        web.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_random_changes_of_everything(slipway, seed):
    with Backends("A", "B", "C", "D") as backends:
        world = World(slipway, backends, seed)
        actions = sorted(name for name in dir(world) if name.startswith("do_"))
        places = {"web": (Web, world.web, world.http, False), "kept": (PoliteWeb, world.web, world.http, True),
                  "tcp": (Line, world.net, world.tcp, False), "lines": (Line, world.net, world.tcp, True),
                  "udp": (HastySession, world.net, world.udp, False)}
        loads = {name: Load(kind, balancer.address, port, threads=THREADS, keep=keep, pause=0.005)
                 for name, (kind, balancer, port, keep) in places.items()}
        done = []
        try:
            for step in range(STEPS):
                done.append(world.random.choice(actions))
                getattr(world, done[-1])()
                if step % CHECK == CHECK - 1:
                    world.check()
                    for load in loads.values():
                        load.wait_for_more(5)
        finally:
            for load in loads.values():
                load.end()
            print(done)
    for name, load in loads.items():
        killed = world.kills["haproxy" if name in ("web", "kept") else "proxy-worker"]
        assert len(load.failures) <= killed * THREADS, (name, killed, load.failures[:5])
        assert set(load.answers) <= set("ABCD") and load.count > 0
