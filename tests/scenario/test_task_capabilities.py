"""Capabilities of tasks of the process runtime, beside those of the same tasks in a real Docker Engine. (All
capabilities are not compared: Docker cannot start such a container where the machine itself lacks one.)"""
import pytest

from conftest import Servers
# pylint: disable=unused-import
from docker_daemon import box, daemon, ecs, slipway
from test_run import define, run, stopped
from test_run_exec import slipway_run

pytestmark = pytest.mark.root  # dockerd

SETS = ["CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb"]


@pytest.fixture(scope="module")
def process_server():
    servers = Servers(["--runtime", "process"])
    yield servers.start()
    servers.end()


def capabilities(server, client, container):
    arn, = run(client, define(client, "capabilities", container))
    stopped(client, arn)
    status = slipway_run(server, "logs", arn).stdout.decode()
    return {name: value for name, _, value in (line.partition(":\t") for line in status.splitlines()) if name in SETS}


@pytest.mark.parametrize("members", [
    {}, {"user": "65534"},
    {"linuxParameters": {"capabilities": {"add": ["SYS_PTRACE", "NET_ADMIN"], "drop": ["MKNOD", "NET_RAW"]}}},
    {"linuxParameters": {"capabilities": {"drop": ["ALL"]}}},
    {"linuxParameters": {"capabilities": {"add": ["CHOWN"], "drop": ["ALL"]}}},
], ids=["default", "user", "changed", "none", "one"])
def test_capabilities_are_those_of_docker(slipway, ecs, process_server, members):
    script = "cat /proc/self/status"
    docker = capabilities(slipway, ecs, box(script, **members))
    process = capabilities(process_server, process_server.boto(), dict(
        box(script, **members), image="host", command=["sh", "-c", script]))
    assert set(docker) == set(SETS) and process == docker
