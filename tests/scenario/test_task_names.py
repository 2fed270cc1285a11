"""Programs of tasks resolve Cloud Map names, on a machine whose resolver does not know slipway."""
import os
import re
import subprocess

import pytest
from conftest import DEADLINE, slipway_program, wait_until

NETWORK = {"awsvpcConfiguration": {"subnets": ["subnet-1"]}}
ROOT = os.geteuid() == 0
# Without root, networkMode host shares the resolver of the machine.
MODES = ["awsvpc", "bridge"] + (["host"] if ROOT else [])


class Names:
    """A server with a private DNS namespace, and tasks that ask for names of it."""

    def __init__(self, server, zone):
        self.server, self.zone = server, zone
        self.ecs, self.names = server.boto("ecs"), server.boto("servicediscovery")
        self.names.create_private_dns_namespace(Name=zone, Vpc="vpc-1")
        self.namespace = next(item["Id"] for item in self.names.list_namespaces()["Namespaces"]
                              if item["Name"] == zone)

    def service(self, name, *addresses, type_="A"):
        made = self.names.create_service(
            Name=name, NamespaceId=self.namespace,
            DnsConfig={"DnsRecords": [{"Type": type_, "TTL": 0}]})["Service"]
        for number, address in enumerate(addresses):
            self.names.register_instance(
                ServiceId=made["Id"], InstanceId=f"i{number}",
                Attributes={"AWS_INSTANCE_IPV4": address, "AWS_INSTANCE_PORT": "80"})
        return f"{name}.{self.zone}"

    def run(self, command, mode, **container):
        definition = self.ecs.register_task_definition(
            family="client", networkMode=mode, containerDefinitions=[
                {"name": "client", "image": "host", "memory": 64, "command": ["sh", "-c", command],
                 **container}])["taskDefinition"]["taskDefinitionArn"]
        members = {"networkConfiguration": NETWORK} if mode == "awsvpc" else {}
        task = self.ecs.run_task(taskDefinition=definition, **members)["tasks"][0]
        return task["taskArn"]

    def logs(self, task):
        environment = self.server.aws_environment()
        shown = subprocess.run(
            [slipway_program(), "logs", "--server", self.server.url, task], env=environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE, check=True)
        return shown.stdout

    def wait_until_stopped(self, task):
        def stopped():
            found = self.ecs.describe_tasks(tasks=[task])["tasks"][0]
            return found if found["lastStatus"] == "STOPPED" else None

        return wait_until(stopped, "the task has stopped")


@pytest.fixture(scope="module")
def names(slipway):
    return Names(slipway, "shop.test")


@pytest.mark.parametrize("mode", MODES)
def test_a_task_resolves_names(names, mode):
    host = names.service(f"web-{mode}", "10.1.2.3", "10.1.2.4")
    task = names.run(f"getent ahostsv4 {host} && ! getent hosts no-{host}", mode)
    stopped = names.wait_until_stopped(task)
    assert stopped["containers"][0]["exitCode"] == 0, names.logs(task)
    assert set(re.findall(r"^(\S+) +STREAM", names.logs(task), re.M)) == {"10.1.2.3", "10.1.2.4"}


@pytest.mark.parametrize("mode", MODES)
def test_long_answers_come_over_tcp(names, mode):
    """dig repeats over TCP a query whose answer does not fit into a datagram."""
    host = names.service(f"many-{mode}", *[f"10.2.0.{number}" for number in range(1, 60)],
                         type_="SRV")
    task = names.run(f"dig +tcp +short +tries=1 +timeout=20 {host} SRV", mode)
    stopped = names.wait_until_stopped(task)
    assert stopped["containers"][0]["exitCode"] == 0, names.logs(task)
    assert len(names.logs(task).splitlines()) >= 8


@pytest.mark.parametrize("mode", MODES)
def test_every_lookup_succeeds_while_the_server_is_killed_and_restarted(start_slipway, mode):
    server = start_slipway()
    names = Names(server, "shop.test")
    host = names.service("web", "10.1.2.3")
    task = names.run(f"while :; do getent ahostsv4 {host} >/dev/null && echo found || echo lost; done",
                     mode)
    wait_until(lambda: names.logs(task).count("found") > 20, "the task resolves the name")
    server.kill()
    names.server = start_slipway(state=server.state)
    seen = names.logs(task).count("found")
    wait_until(lambda: names.logs(task).count("found") > seen + 20, "the task continues resolving")
    assert "lost" not in names.logs(task)


@pytest.mark.root
def test_a_task_that_is_a_name_server_keeps_port_53(names):
    task = names.run("python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
                     's.bind(("0.0.0.0", 53)); print("bound")\'', "awsvpc",
                     portMappings=[{"containerPort": 53, "protocol": "udp"}])
    stopped = names.wait_until_stopped(task)
    assert stopped["containers"][0]["exitCode"] == 0, names.logs(task)
    assert names.logs(task) == "bound\n"
