"""The folders in examples/, run as their READMEs say, and the client that they start."""
import os
import re
import shutil
import subprocess
import time

import pytest
from balancing import free_port
from conftest import DEADLINE, SOURCE, slipway_program, wait_until
from rest_requests import ask
from test_services_traffic import balancers

SERVER_ARGUMENTS = ["--balancers", balancers()]


class Example:
    """A copy of the examples, and a shell in the folder of one of them."""

    def __init__(self, server, folder, name):
        self.server, self.name = server, name
        shutil.copytree(os.path.join(SOURCE, "examples"), folder / "examples")
        self.folder = folder / "examples" / name
        self.hurry(folder / "examples" / "name.sh", "TTL=5", "TTL=1")
        self.hurry(self.folder / "app.pipecd.yaml", "duration: 10s", "duration: 3s")
        self.hurry(self.folder / "app.pipecd.yaml", "interval: 2s", "interval: 1s")
        binaries = folder / "bin"
        binaries.mkdir()
        (binaries / "slipway").symlink_to(slipway_program())
        self.environment = {**server.aws_environment(), "SLIPWAY_SERVER": server.url,
                            "PATH": f"{binaries}:/usr/bin:/bin"}

    @staticmethod
    def hurry(path, old, new):
        path.write_text(path.read_text().replace(old, new))

    def start(self, line):
        return subprocess.Popen(["sh", "-c", line], cwd=self.folder, env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def run(self, line):
        process = self.start(line)
        output = process.communicate(timeout=4 * DEADLINE)[0]
        assert process.returncode == 0, output
        return output

    def commands(self):
        """The lines of the shell blocks of its README, without comments."""
        with open(self.folder / "README.md", encoding="utf-8") as file:
            blocks = re.findall(r"```sh\n(.*?)```", file.read(), re.DOTALL)
        return [line.split("   #")[0].split("    #")[0].strip()
                for block in blocks for line in block.splitlines() if line]

    def wait_for_approval(self, number):
        """That many stages that waited have been approved, and the next one waits."""
        def condition():
            shown = ask(self.server, "GET", "/v1/applications/web/deployments/latest").json
            if shown["number"] == 1:
                return None
            assert shown["state"] in ("PENDING", "RUNNING"), shown
            waits = [stage["state"] for stage in shown["stages"] if stage["kind"] == "WAIT_APPROVAL"]
            return waits and waits[:number + 1] == ["SUCCESS"] * number + ["RUNNING"]
        wait_until(condition, f"approval {number + 1} is waited for", 3 * DEADLINE)

    def deploy(self, sync, approvals, at_approval=lambda: None):
        process = self.start(sync)
        for number in range(approvals):
            self.wait_for_approval(number)
            if number == 0:
                at_approval()
            self.run("slipway deployment approve web")
        output = process.communicate(timeout=4 * DEADLINE)[0]
        assert process.returncode == 0, output
        return output


@pytest.fixture(name="example")
def new_example(start_slipway, tmp_path):
    def make(name, *arguments):
        return Example(start_slipway(*SERVER_ARGUMENTS, *arguments), tmp_path, name)
    return make


def counts(lines):
    """The answers of a client, {answer: number}."""
    found = {}
    for line in lines:
        for what, number in re.findall(r"(version \d|failed): (\d+)", line):
            found[what] = found.get(what, 0) + int(number)
    return found


class Client:
    """client.sh, as it runs beside a deployment."""

    def __init__(self, example, line):
        self.path = example.folder / "client.out"
        with open(self.path, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(
                ["sh", "-c", f"exec {line}"], cwd=example.folder, env=example.environment,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def lines(self):
        return self.path.read_text().splitlines()

    def wait_for(self, what):
        wait_until(lambda: any(what in line for line in self.lines()[-2:]), f"the client sees {what}")

    def share(self, what):
        """Of the answers of the next three seconds, without the one that is under way."""
        first = len(self.lines()) + 1
        wait_until(lambda: len(self.lines()) >= first + 3, "three seconds")
        found = counts(self.lines()[first:])
        return found.get(what, 0) / sum(found.values())

    def end(self):
        self.process.kill()
        self.process.wait()


def test_quick_sync(example):
    it = example("quick-sync")
    sync, status, change, plan, again, history = it.commands()
    assert "quick sync" in it.run(plan) and "SUCCESS" in it.run(sync)
    wait_until(lambda: "SYNCED, HEALTHY" in it.run(status), "it is in sync")
    it.run(change)
    assert "environment[VERSION].value: 1 -> 2" in it.run(plan)
    it.run(again)
    assert it.run(history).count("SUCCESS") >= 2


@pytest.mark.parametrize("name, approvals, least, most", [
    ("canary-by-names", 1, 0.15, 0.55), ("blue-green-by-names", 2, 0, 0)])
def test_by_names(example, name, approvals, least, most):
    """A client in a task sees both versions, the share of the canary, and no failed request."""
    it = example(name)
    setup, sync, client_line, change, again = it.commands()
    it.run(setup)
    assert "first deployment" in it.run(sync)
    client = Client(it, client_line)
    try:
        client.wait_for("version 1")
        it.run(change)
        shares = []
        it.deploy(again, approvals, lambda: shares.append(client.share("version 2")))
        assert least <= shares[0] <= most, shares
        client.wait_for("version 2")
        wait_until(lambda: "version 1" not in client.lines()[-1], "version 1 is gone")
        found = counts(client.lines())
    finally:
        client.end()
    assert found["version 1"] > 20 and found["version 2"] > 20 and "failed" not in found, found


def test_by_load_balancer(example):
    it = example("canary-by-load-balancer")
    setup, sync, loop, change, again = it.commands()
    network = SERVER_ARGUMENTS[1].split("/", maxsplit=1)[0]
    it.environment["PORT"] = str(free_port(network))
    address = re.search(r"http://\S+/", it.run(setup)).group(0)
    assert "http://ADDRESS:8080/" in loop
    it.run(sync)
    answers = []
    client = it.start(loop.replace("http://ADDRESS:8080/", address).replace("sleep 0.1", "sleep 0.02"))
    try:
        it.run(change)
        it.deploy(again, 1)
        time.sleep(0.5)
    finally:
        client.kill()
        answers = client.communicate()[0].splitlines()
    assert set(answers) == {"version 1", "version 2"}, set(answers)
    assert answers[-1] == "version 2"
