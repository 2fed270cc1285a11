"""Weights are moved fifty times under clients of every kind at once (prober.py): no request is lost, no
connection is closed or moved, and it is the same processes all the time, which do not grow."""
from backends import Backends
from balancing import NETWORK, Balancer, children
from conftest import DEADLINE, wait_until
from prober import KEPT, Prober

SERVER_ARGUMENTS = ["--runtime", "none", "--balancers", NETWORK]
CHANGES = 50
WARM = 10  # changes after which the processes have what memory they need
LOOKS = 10  # changes that are looked at, after those and at the end
WEIGHTS = [(1, 0), (999, 1), (0, 1), (1, 999), (500, 500)]


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS:"))


class Moving:
    """A listener whose weights are changed."""

    def __init__(self, balancer, protocol, groups):
        self.balancer, self.groups = balancer, groups
        self.port = balancer.listen(protocol, dict.fromkeys(groups, 1))

    @property
    def place(self):
        return (self.balancer.address, self.port)

    def move(self, weights):
        self.balancer.elb.modify_listener(
            ListenerArn=self.balancer.listeners[self.port],
            DefaultActions=self.balancer.forward(dict(zip(self.groups, weights))))


def make_listeners(slipway, backends):
    web, network = Balancer(slipway, "web", "application"), Balancer(slipway, "network")
    for name in "AB":
        web.group(name.lower(), "HTTP", [backends[name].http], HealthCheckPath="/health")
        network.group(f"tcp-{name}".lower(), "TCP", [backends[name].port])
        network.group(f"udp-{name}".lower(), "UDP", [backends[name].port])
    made = {"http": Moving(web, "HTTP", ("a", "b")),
            "tcp": Moving(network, "TCP", ("tcp-a", "tcp-b")),
            "udp": Moving(network, "UDP", ("udp-a", "udp-b"))}
    web.wait_until_healthy()
    network.wait_until_healthy()
    return made


def test_fifty_changes_under_clients_of_every_kind(slipway):
    with Backends("A", "B") as backends:
        listeners = make_listeners(slipway, backends)
        with Prober(**{name: one.place for name, one in listeners.items()}) as prober:
            def answered_more(before):
                now = prober.counts()
                return all(count > old for kind, counts in now.items()
                           for count, old in zip(counts, before[kind]))

            def wait_for_everybody():
                before = prober.counts()
                wait_until(lambda: answered_more(before), "an answer for everybody", 2 * DEADLINE)

            wait_for_everybody()
            processes, sizes = children(slipway.process.pid, ""), []
            for number in range(CHANGES):
                for listener in listeners.values():
                    listener.move(WEIGHTS[number % len(WEIGHTS)])
                wait_for_everybody()
                sizes.append({pid: resident(pid) for pid in processes})
            told = prober.end()
            left = children(slipway.process.pid, "")
    assert {kind: one["failures"] for kind, one in told.items()} == {kind: [] for kind in told}
    for kind in ("upgraded", "lines"):
        assert {len(sides) for sides in told[kind]["sides"]} == {1}, f"{kind} were moved"
    for kind in ("web", "tcp", "datagrams"):
        assert told[kind]["sides"] == ["AB"]
    assert told["kept"]["sides"] == ["AB"] * KEPT
    assert set(left) == set(processes)
    for pid in processes:
        # Requests under way vary; those that each change loses are seen in each sample.
        most = max(size[pid] for size in sizes[WARM:WARM + LOOKS])
        least = min(size[pid] for size in sizes[-LOOKS:])
        assert least <= most * 1.05 + 1024 * 1024, [size[pid] for size in sizes]
