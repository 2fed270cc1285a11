#!/usr/bin/python3
"""Applications from Git: 1,000 of them in 10 repositories, on simulated tasks. What a deployment and a stage cost, the memory of
an application, and the time from a push to the first call that deploys it."""
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "parts"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../scenario"))
import botocore.auth  # noqa: E402
import botocore.awsrequest  # noqa: E402
import botocore.credentials  # noqa: E402
from bench import PROGRAM, Server, cpu_seconds, resident_megabytes, stamp, table  # noqa: E402
from git_repositories import Repository  # noqa: E402

REPOSITORIES = 10
APPLICATIONS = int(os.environ.get("SLIPWAY_BENCH_APPLICATIONS", "1000")) // REPOSITORIES
STAGES = 20
PUSHES = 20
POLL_MS = 2000
DEADLINE = 1200
TARGET_STAGE_MS = 5
TARGET_CALL_MS = POLL_MS + 100


def ask(server, path):
    request = botocore.awsrequest.AWSRequest(method="GET", url=server.url + path)
    key = server.key
    botocore.auth.SigV4Auth(botocore.credentials.Credentials(
        key["accessKeyId"], key["secretAccessKey"]), "slipway", "us-east-1").add_auth(request)
    asked = urllib.request.Request(server.url + path, headers=dict(request.headers.items()))
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


def command(server, *words):
    subprocess.run([PROGRAM, *words, "--server", server.url, "--state", server.state], check=True,
                   capture_output=True)


def application(repository, number, index, memory=32):
    name = f"app-{number}-{index}"
    repository.application(f"apps/{index}", name, {"pipeline": None, "input": {
        "serviceDefinitionFile": "service.json", "taskDefinitionFile": "task.json"}}, kind="ECSApp")
    repository.put(f"apps/{index}/service.json", {
        "serviceName": name, "desiredCount": 1, "launchType": "EC2",
        "deploymentController": {"type": "ECS"}})
    repository.put(f"apps/{index}/task.json", {
        "family": name, "networkMode": "bridge", "containerDefinitions": [
            {"name": "app", "image": "host", "memory": memory, "command": ["true"]}]})


def states(server):
    """How many of the latest deployments are in each state."""
    counts, token = {}, ""
    while True:
        page = ask(server, "/v1/applications" + (f"?nextToken={token}" if token else ""))
        for item in page["applications"]:
            state = item.get("latest", {}).get("state", "NONE")
            counts[state] = counts.get(state, 0) + 1
        token = page.get("nextToken")
        if not token:
            return counts


def wait_for(condition, what, rest=0.5):
    end = time.monotonic() + DEADLINE
    while not (value := condition()):
        if time.monotonic() > end:
            sys.exit(f"not within {DEADLINE} s: {what}")
        time.sleep(rest)
    return value


def all_succeeded(server, number):
    counts = states(server)
    if counts.get("FAILURE"):
        sys.exit(f"deployments failed: {counts}")
    return counts.get("SUCCESS", 0) == number


def deploy_all(server, folder):
    """Seconds, CPU seconds and megabytes until all applications are deployed for the first time."""
    repositories = []
    for number in range(REPOSITORIES):
        repository = Repository(folder / str(number))
        for index in range(APPLICATIONS):
            application(repository, number, index)
        repository.push()
        repositories.append(repository)
    before, cpu, began = resident_megabytes(server.process.pid), cpu_seconds([server.process.pid]), \
        time.monotonic()
    for repository in repositories:
        command(server, "app", "add", "--all", "--repo", repository.url, "--path", "apps")
    wait_for(lambda: all_succeeded(server, REPOSITORIES * APPLICATIONS), "all are deployed")
    return (repositories, time.monotonic() - began, cpu_seconds([server.process.pid]) - cpu,
            resident_megabytes(server.process.pid) - before)


def calls_since(server, seconds):
    """Moments of calls that register a task definition for an application."""
    found = []
    with open(os.path.join(server.state, "audit.log"), encoding="utf-8") as lines:
        for line in lines:
            if '"ecs:RegisterTaskDefinition"' not in line:
                continue
            item = json.loads(line)
            if item.get("user") == "slipway-pipelines":
                found.append(moment(item["time"]))
    return [each for each in found if each >= seconds]


def moment(text):
    import datetime
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def time_pushes(server, repositories):
    """Milliseconds from the end of a push to the first call, for pushes at different moments of the interval."""
    took = []
    for number in range(PUSHES):
        repository = repositories[number % REPOSITORIES]
        time.sleep(POLL_MS / 1000 * number / PUSHES)
        application(repository, number % REPOSITORIES, number % APPLICATIONS, memory=33 + number)
        repository.push()
        pushed = time.time()
        first = wait_for(lambda pushed=pushed: calls_since(server, pushed - 1), "it is deployed",
                         rest=0.05)[0]
        took.append(max(0, (first - pushed) * 1000))
        wait_for(lambda: all_succeeded(server, REPOSITORIES * APPLICATIONS), "it is deployed")
    return sorted(took)


def time_stages(server, folder):
    """CPU milliseconds of a stage that does nothing, of the engine and of the store."""
    repository = Repository(folder / "stages")
    wait = {"name": "WAIT", "with": {"duration": "1ms"}}
    for index in range(APPLICATIONS):
        repository.application(f"{index}", f"stages-{index}",
                               {"pipeline": {"stages": [wait] * STAGES}})
    repository.push()
    cpu, began = cpu_seconds([server.process.pid]), time.monotonic()
    command(server, "app", "add", "--all", "--repo", repository.url)
    wait_for(lambda: all_succeeded(server, (REPOSITORIES + 1) * APPLICATIONS), "all stages have run")
    count = APPLICATIONS * STAGES
    return (cpu_seconds([server.process.pid]) - cpu) * 1000 / count, \
        (time.monotonic() - began) * 1000 / count


def main():
    import pathlib
    stamp()
    with tempfile.TemporaryDirectory(prefix="slipway-bench-git-") as name:
        folder = pathlib.Path(name)
        with Server("--runtime", "simulated", "--instances", "100", "--repositories", name,
                    "--poll-interval", f"{POLL_MS}ms") as server:
            repositories, seconds, cpu, megabytes = deploy_all(server, folder)
            count = REPOSITORIES * APPLICATIONS
            before = cpu_seconds([server.process.pid])
            time.sleep(5 * POLL_MS / 1000)
            idle = (cpu_seconds([server.process.pid]) - before) / (5 * POLL_MS / 1000)
            took = time_pushes(server, repositories)
            stage_cpu, stage_wall = time_stages(server, folder)
    table([["applications", "all deployed, s", "CPU ms each", "KB each", "idle, % of a CPU"],
           [f"{count:,}", f"{seconds:.1f}", f"{cpu * 1000 / count:.1f}",
            f"{megabytes * 1000 / count:.0f}", f"{idle * 100:.1f}"]])
    table([["", "measured", "target"],
           ["a stage, CPU ms", f"{stage_cpu:.2f}", f"< {TARGET_STAGE_MS}"],
           ["a stage, ms of all together", f"{stage_wall:.2f}", ""],
           ["push to first call, median ms", f"{took[len(took) // 2]:.0f}", ""],
           ["push to first call, longest ms", f"{took[-1]:.0f}", f"< {TARGET_CALL_MS}"]])
    sys.exit(stage_cpu >= TARGET_STAGE_MS or took[-1] >= TARGET_CALL_MS)


if __name__ == "__main__":
    main()
