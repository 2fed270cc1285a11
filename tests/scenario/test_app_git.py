"""Applications from Git: real repositories, which slipway polls; mostly with pipelines of generic stages, which need no
cluster. Numbers are those of the scenarios."""
import json
import os
import subprocess
import tempfile

import pytest
from applications import Application
from conftest import slipway_program, wait_until
from git_repositories import Repository, git
from rest_requests import ask
from test_environment_streams import Reader

SERVER_ARGUMENTS = ["--repositories", tempfile.gettempdir(), "--poll-interval", "300ms"]
ENDED = {"SUCCESS", "FAILURE", "CANCELLED"}


class Applications:
    """The applications of one server, as clients see them."""

    def __init__(self, server):
        self.server = server

    def run(self, *words):
        return subprocess.run(
            [slipway_program(), *words, "--server", self.server.url, "--state", self.server.state],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)

    def add(self, *words):
        added = self.run("app", "add", *words)
        assert added.returncode == 0, added.stderr

    def show(self, name):
        answer = ask(self.server, "GET", f"/v1/applications/{name}")
        return answer.json if answer.status == 200 else None

    def deployments(self, name):
        """The oldest first."""
        answer = ask(self.server, "GET", f"/v1/applications/{name}/deployments")
        return list(reversed(answer.json["deployments"])) if answer.status == 200 else []

    def wait(self, name, commit, state="SUCCESS"):
        """The deployment of that commit, when it is in that state."""
        def found():
            for deployment in self.deployments(name):
                if deployment.get("commit") != commit:
                    continue
                assert deployment["state"] not in ENDED - {state} or state not in ENDED, \
                    deployment.get("reason")
                if deployment["state"] == state:
                    return deployment
            return None

        return wait_until(found, f"{name} has a deployment of {commit} that is {state}")

    def wait_state(self, name, state):
        def found():
            shown = self.show(name)
            return shown if shown and shown.get("state") == state else None

        return wait_until(found, f"{name} is {state}")

    def wait_seen(self, name, commit):
        """Everything up to the commit was considered."""
        return wait_until(lambda: (self.show(name) or {}).get("repository", {}).get("commit") ==
                          commit and self.show(name), f"{name} was seen at {commit}")


@pytest.fixture(scope="module")
def apps(slipway):
    return Applications(slipway)


@pytest.fixture
def repository(apps, tmp_path):
    """It is polled until the test ends."""
    made = Repository(tmp_path)
    yield made
    for item in ask(apps.server, "GET", "/v1/repositories").json["repositories"]:
        if item["url"] == made.url:
            ask(apps.server, "DELETE", f"/v1/repositories/{item['id']}")


@pytest.fixture
def name(tmp_path):
    return "app-" + tmp_path.name[-20:].strip("_-").replace("_", "-")


# ---- triggers ----

def test_commits_start_deployments(apps, repository, name):
    repository.application("web", name)
    first = repository.push("First")
    apps.add(name, "--repo", repository.url, "--path", "web")
    deployment = apps.wait(name, first)
    assert deployment["trigger"] == "COMMIT" and deployment["number"] == 1
    assert "the application was added" in apps.run("deployment", "logs", name).stdout

    repository.put("web/README.md", "text")
    second = repository.push("Second")
    assert apps.wait(name, second)["message"].strip() == "Second"
    repository.put("other/README.md", "text")
    third = repository.push("Third")
    apps.wait_seen(name, third)
    assert [item["commit"] for item in apps.deployments(name)] == [first, second]
    listed = apps.run("app", "list").stdout
    line = [line for line in listed.splitlines() if line.startswith(f"{name} ")][0]
    assert "VALID" in line and second[:8] in line and "2 SUCCESS" in line
    assert "repository.git main:web" in line


def test_paths_and_ignores(apps, repository, name):
    """Scenario 48."""
    repository.application("web", name, {"trigger": {"onCommit": {
        "paths": ["shared/**"], "ignores": ["web/README.md"]}}})
    repository.put("web/task.yaml", "a: 1")
    first = repository.push()
    apps.add(name, "--repo", repository.url, "--path", "web")
    apps.wait(name, first)

    repository.put("web/README.md", "one")
    ignored = repository.push("Only README")
    apps.wait_seen(name, ignored)
    assert len(apps.deployments(name)) == 1
    repository.put("web/README.md", "two")
    repository.put("web/task.yaml", "a: 2")
    both = repository.push("README and task")
    apps.wait(name, both)
    repository.put("shared/base.yaml", "b: 1")
    outside = repository.push("Outside of the folder")
    apps.wait(name, outside)
    assert [item["commit"] for item in apps.deployments(name)] == [first, both, outside]


def test_on_commit_disabled(apps, repository, name):
    """Scenario 48: commits never deploy it, SYNC does; and onCommand.disabled refuses SYNC."""
    trigger = {"trigger": {"onCommit": {"disabled": True}}}
    repository.application("web", name, trigger)
    first = repository.push()
    apps.add(name, "--repo", repository.url, "--path", "web")
    apps.wait_seen(name, first)
    repository.put("web/x", "x")
    second = repository.push()
    apps.wait_seen(name, second)
    assert not apps.deployments(name)
    synced = apps.run("app", "sync", name, "--watch")
    assert synced.returncode == 0, synced.stderr
    deployment, = apps.deployments(name)
    assert deployment["commit"] == second and deployment["trigger"] == "SYNC"

    trigger["trigger"]["onCommand"] = {"disabled": True}
    repository.application("web", name, trigger)
    repository.push()
    refused = apps.run("app", "sync", name, "--watch")
    assert refused.returncode == 3 and "trigger.onCommand is disabled" in refused.stderr


def test_one_deployment_at_a_time(apps, repository, name):
    """Scenario 50."""
    stages = {"pipeline": {"stages": [{"name": "WAIT_APPROVAL"}]}}
    repository.application("web", name, stages)
    commits = [repository.push("One")]
    apps.add(name, "--repo", repository.url, "--path", "web")
    apps.wait(name, commits[0], "RUNNING")
    for number in ("two", "three"):
        repository.put("web/number", number)
        commits.append(repository.push(number))
        apps.wait(name, commits[-1], "PENDING")
    for index, commit in enumerate(commits):
        wait_until(lambda index=index: [item["state"] for item in apps.deployments(name)] ==
                   ["SUCCESS"] * index + ["RUNNING"] + ["PENDING"] * (2 - index),
                   "the oldest runs, the others wait")
        wait_until(lambda index=index: apps.run(
            "deployment", "approve", name, str(index + 1)).returncode == 0, "it is approved")
        apps.wait(name, commit)


def test_a_new_commit_replaces_one_that_waits(apps, repository, name):
    stages = {"onNewCommit": "replace", "pipeline": {"stages": [{"name": "WAIT_APPROVAL"}]}}
    repository.application("web", name, stages)
    first = repository.push("One")
    apps.add(name, "--repo", repository.url, "--path", "web")
    apps.wait(name, first, "RUNNING")
    wait_until(lambda: apps.deployments(name)[0].get("stages"), "it waits for an approval")
    repository.put("web/number", "two")
    second = repository.push("Two")
    apps.wait(name, first, "CANCELLED")
    apps.wait(name, second, "RUNNING")
    wait_until(lambda: apps.run("deployment", "approve", name).returncode == 0, "it is approved")
    apps.wait(name, second)


# ---- files ----

def test_invalid_files_are_listed(apps, repository, name):
    """Scenarios 7 and 8, from Git: the state, the file and the line; and a commit that fixes them deploys."""
    repository.application("web", name, {"input": {"accessType": "XXX"}}, kind="ECSApp")
    first = repository.push()
    apps.add(name, "--repo", repository.url, "--path", "web")
    shown = apps.wait_state(name, "INVALID_CONFIG")
    assert shown["problem"].startswith("web/app.pipecd.yaml:")
    assert "invalid accessType: XXX" in shown["problem"]
    assert shown["repository"]["commit"] == first and not apps.deployments(name)
    assert f"{name}: {shown['problem']}" in apps.run("app", "list").stdout
    refused = apps.run("app", "sync", name, "--watch")
    assert refused.returncode == 3 and "invalid accessType: XXX" in refused.stderr

    repository.application("web", name)
    apps.wait(name, repository.push())
    repository.remove("web/app.pipecd.yaml")
    repository.put("web/x", "x")
    repository.push()
    assert 'folder "web" has no application file' in apps.wait_state(name, "MISSING")["problem"]


def test_other_kinds_and_stages(apps, repository, name):
    repository.application("lambda", name, {"pipeline": {"stages": [
        {"name": "LAMBDA_CANARY_ROLLOUT"}]}}, kind="LambdaApp")
    repository.push()
    apps.add(name, "--repo", repository.url, "--path", "lambda")
    shown = apps.wait_state(name, "UNDEPLOYABLE")
    assert "LAMBDA_CANARY_ROLLOUT" in shown["problem"] and shown["kind"] == "LambdaApp"
    assert shown["problem"].startswith("lambda/app.pipecd.yaml:")
    assert not apps.deployments(name)


def test_all_applications_of_a_repository(apps, repository, name):
    for number in range(3):
        repository.application(f"apps/{number}", f"{name}-{number}",
                               {"labels": {"team": "a"}, "description": "one of three"})
    repository.put("apps/broken/app.pipecd.yaml", "kind: [")
    repository.application("other", f"{name}-9")
    first = repository.push()
    apps.add("--all", "--repo", repository.url, "--path", "apps")
    for number in range(3):
        apps.wait(f"{name}-{number}", first)
    shown = apps.show(f"{name}-1")
    assert shown["labels"] == {"team": "a"} and shown["description"] == "one of three"
    broken = apps.wait_state("broken", "INVALID_CONFIG")["problem"]
    assert broken.startswith("apps/broken/app.pipecd.yaml: line 2, ")
    assert apps.show(f"{name}-9") is None
    # Of two files with one name the second is a problem of the repository; a new file is a new application.
    repository.application("apps/copy", f"{name}-1")
    repository.application("apps/broken", f"{name}-fixed")
    second = repository.push()
    apps.wait(f"{name}-fixed", second)
    wait_until(lambda: apps.show("broken") is None, "it has its own name now")

    def problem():
        mine = [item for item in ask(apps.server, "GET", "/v1/repositories").json["repositories"]
                if item["url"] == repository.url]
        return mine[0].get("problems")

    found, = wait_until(problem, "the copy is a problem")
    assert found == {"file": "apps/copy/app.pipecd.yaml",
                     "message": f'application "{name}-1" is already at apps/1/app.pipecd.yaml'}
    assert "is already at apps/1" in apps.run("repository", "list").stdout
    # Only those that changed are deployed again.
    repository.put("apps/2/note", "new")
    third = repository.push()
    apps.wait(f"{name}-2", third)
    apps.wait_seen(f"{name}-0", third)
    assert [item["commit"] for item in apps.deployments(f"{name}-0")] == [first]
    # Added again: one repository still, and what is found later has the new role.
    apps.add("--all", "--repo", repository.url, "--path", "apps", "--role", "deployer")
    mine = [item for item in ask(apps.server, "GET", "/v1/repositories").json["repositories"]
            if item["url"] == repository.url]
    assert [(item["role"], item["applications"]) for item in mine] == [("deployer", 4)]
    refused = apps.run("app", "delete", f"{name}-0")
    assert refused.returncode == 1 and "would be found again" in refused.stderr


def test_what_cannot_be_added(apps, repository, name):
    for url, message in (("/etc/passwd-no", "is not allowed"), ("ext::sh -c id", "is none of"),
                         ("https://a:b@example.com/x", "has a password"),
                         (repository.url + "/../../x", "is not allowed")):
        refused = apps.run("app", "add", name, "--repo", url)
        assert refused.returncode == 1 and message in refused.stderr, refused.stderr
    refused = apps.run("app", "add", name, "--repo", repository.url, "--path", "../x")
    assert refused.returncode == 1 and "leaves the repository" in refused.stderr
    refused = apps.run("app", "add", name, "--repo", repository.url, "--branch", "a..b")
    assert refused.returncode == 1 and "not a valid name" in refused.stderr
    assert apps.run("app", "add", "--repo", repository.url).returncode == 2
    # A branch that does not exist is an error of its repository.
    repository.push()
    apps.add(name, "--repo", repository.url, "--branch", "absent")
    wait_until(lambda: 'no branch "absent"' in apps.run("repository", "list").stdout, "it is shown")


# ---- commits by name ----

def test_plans_and_syncs_of_commits(apps, repository, name):
    repository.application("web", name)
    first = repository.push("First")
    apps.add(name, "--repo", repository.url, "--path", "web")
    apps.wait(name, first)
    git(repository.clone, "tag", "v1")
    git(repository.clone, "push", "-q", "origin", "v1")
    repository.put("web/x", "x")
    second = repository.push("Second")
    apps.wait(name, second)
    # One that is not merged, and cannot be deployed.
    git(repository.clone, "checkout", "-q", "-b", "proposal")
    repository.application("web", name, {"pipeline": {"stages": [{"name": "WAIT"}]}})
    proposal = repository.push("Proposal", branch="proposal")
    for commit in (proposal, "proposal"):
        planned = apps.run("app", "plan", name, "--commit", commit)
        assert planned.returncode == 1 and "web/app.pipecd.yaml:" in planned.stderr, planned.stderr
    repository.application("web", name, {"pipeline": {"stages": [
        {"name": "WAIT", "with": {"duration": "1s"}}, {"name": "WAIT_APPROVAL"}]}})
    proposal = repository.push("Better proposal", branch="proposal")
    planned = apps.run("app", "plan", name, "--commit", proposal)
    assert planned.returncode == 0 and "WAIT_APPROVAL" in planned.stdout, planned.stderr
    refused = apps.run("app", "sync", name, "--commit", proposal, "--watch")
    assert refused.returncode == 3 and 'is not on branch "main"' in refused.stderr
    # One that was deployed before, by its tag and by the beginning of its ID.
    for commit in ("v1", first[:10]):
        synced = apps.run("app", "sync", name, "--commit", commit, "--watch", "-o", "json")
        assert synced.returncode == 0, synced.stderr
        assert json.loads(synced.stdout)["commit"] == first
    unknown = apps.run("app", "sync", name, "--commit", "nosuch", "--watch")
    assert unknown.returncode == 3 and 'no tag or branch "nosuch"' in unknown.stderr


def test_plans_push_nothing_out_of_the_history(apps, slipway, repository, name):
    repository.application("web", name)
    commits = [repository.push("First")]
    apps.add(name, "--repo", repository.url, "--path", "web")
    apps.wait(name, commits[0])
    repository.put("web/x", "x")
    commits.append(repository.push("Second"))
    apps.wait(name, commits[1])
    with open(f"{repository.clone}/web/app.pipecd.yaml", encoding="utf-8") as file:
        body = json.dumps({"planOnly": True, "files": [
            {"path": "app.pipecd.yaml", "content": file.read()}]})
    for _ in range(60):  # more than are kept
        assert ask(slipway, "POST", f"/v1/applications/{name}/deployments", body).status == 201

    def ended():
        shown = apps.deployments(name)
        failed = [item.get("reason") for item in shown if item["state"] == "FAILURE"]
        assert not failed, failed
        return all(item["state"] == "SUCCESS" for item in shown) and shown

    shown = wait_until(ended, "all plans have been made")
    assert [item["commit"] for item in shown if item["trigger"] == "COMMIT"] == commits
    assert len([item for item in shown if item["trigger"] == "PLAN"]) >= 48
    assert apps.show(name)["latest"]["number"] == 2


def test_a_branch_that_was_rewritten(apps, repository, name):
    """The commits that were deployed stay."""
    repository.application("web", name)
    repository.push("Root")
    repository.put("web/x", "one")
    first = repository.push("One")
    apps.add(name, "--repo", repository.url, "--path", "web")
    apps.wait(name, first)
    git(repository.clone, "reset", "-q", "--hard", "HEAD~1")
    repository.put("web/x", "other")
    other = repository.push("Other", "--force")
    apps.wait(name, other)
    clones = subprocess.run(
        ["sh", "-c", f"cat {apps.server.state}/repositories/*/config >/dev/null; for each in "
         f"{apps.server.state}/repositories/*; do git --git-dir=$each for-each-ref; done"],
        capture_output=True, text=True, check=True).stdout
    assert f"refs/slipway/kept/{first}" in clones and f"refs/slipway/kept/{other}" in clones


def test_polled_on_request(start_slipway, tmp_path):
    """For webhooks: long before the interval has passed."""
    server = start_slipway("--repositories", str(tmp_path), "--poll-interval", "1h",
                           "--runtime", "none")
    apps, repository = Applications(server), Repository(tmp_path / "one")
    repository.application("web", "web")
    first = repository.push()
    apps.add("web", "--repo", repository.url, "--path", "web")
    apps.wait("web", first)
    repository.put("web/x", "x")
    second = repository.push()
    listed = json.loads(apps.run("repository", "list", "-o", "json").stdout)
    assert apps.run("repository", "poll", listed[0]["id"]).returncode == 0
    apps.wait("web", second)
    # Deleting: the application stays, and its last files can be deployed again.
    assert apps.run("repository", "delete", listed[0]["id"]).returncode == 0
    assert "repository" not in apps.show("web") and len(apps.deployments("web")) == 2
    assert apps.run("app", "sync", "web", "--watch").returncode == 0
    assert apps.run("app", "delete", "web").returncode == 0
    wait_until(lambda: apps.show("web") is None, "it is deleted")
    assert apps.run("repository", "poll", "0000").returncode == 1


# ---- services ----

class Service:
    """An application of ECS in a repository, whose service runs programs that only wait."""

    def __init__(self, server, repository, name, spec=None, count=1):
        self.server, self.repository, self.name, self.count = server, repository, name, count
        self.ecs = server.boto("ecs")
        self.spec = {"name": name, "input": {
            "serviceDefinitionFile": "service.json", "taskDefinitionFile": "../shared/task.json"},
            **(spec or {})}
        self.write()

    def write(self, file="web/app.pipecd.yaml", **container):
        self.repository.put(file, {"apiVersion": "pipecd.dev/v1beta1", "kind": "ECSApp",
                                   "spec": self.spec})
        self.repository.put("web/service.json", {
            "serviceName": self.name, "desiredCount": self.count, "launchType": "EC2",
            "deploymentController": {"type": "ECS"}})
        self.repository.put("shared/task.json", {
            "family": self.name, "networkMode": "bridge", "containerDefinitions": [
                {"name": "web", "image": "host", "memory": 32, "command": ["sleep", "100000"],
                 **container}]})

    def describe(self):
        found = self.ecs.describe_services(services=[self.name])["services"]
        return found[0] if found and found[0]["status"] == "ACTIVE" else None


def seconds(deployment, member):
    return float(deployment[member])


def test_out_of_sync(apps, slipway, repository, name):
    """Scenario 49: once for a drift, again only minWindow after the last deployment has completed, never while one runs."""
    window = 3
    service = Service(slipway, repository, name, {"trigger": {
        "onOutOfSync": {"disabled": False, "minWindow": f"{window}s"}}})
    first = repository.push()
    apps.add(name, "--repo", repository.url, "--path", "web")
    apps.wait(name, first)
    for number in (2, 3):
        wait_until(lambda: apps.show(name)["sync"] == "SYNCED", "it is in sync")
        service.ecs.update_service(service=name, desiredCount=2)
        wait_until(lambda number=number: len(apps.deployments(name)) == number and
                   apps.deployments(name)[-1]["state"] == "SUCCESS", "it was deployed again")
        assert service.describe()["desiredCount"] == 1
    deployments = apps.deployments(name)
    assert [item["trigger"] for item in deployments] == ["COMMIT", "OUT_OF_SYNC", "OUT_OF_SYNC"]
    assert {item["commit"] for item in deployments} == {first}
    for before, after in zip(deployments, deployments[1:]):
        assert seconds(after, "createdAt") >= seconds(before, "endedAt") + window
    wait_until(lambda: apps.show(name)["sync"] == "SYNCED", "it is in sync")


def test_the_strategy_of_a_commit(apps, slipway, repository, name):
    """Scenarios 1 to 4 and 6, from Git; and a file outside of the folder that the application names deploys it."""
    stages = {"pipeline": {"stages": [{"name": "ECS_PRIMARY_ROLLOUT"}]}}
    service = Service(slipway, repository, name)
    first = repository.push("First")
    apps.add(name, "--repo", repository.url, "--path", "web")
    deployment = apps.wait(name, first)
    assert deployment["strategy"] == "QUICK_SYNC"
    assert [(stage["kind"], stage.get("hidden", False)) for stage in deployment["stages"]] == \
        [("ECS_SYNC", False), ("ROLLBACK", True)]
    # 6: a pipeline is ordered that the file does not have.
    before = service.describe()["taskDefinition"]
    refused = apps.run("app", "sync", name, "--strategy", "pipeline", "--watch")
    assert refused.returncode == 3 and "pipeline" in refused.stderr
    assert service.describe()["taskDefinition"] == before
    # 4: no image change.
    service.spec.update(stages)
    service.write(memory=33)
    second = apps.wait(name, repository.push("Memory"))
    assert second["strategy"] == "QUICK_SYNC", second["summary"]
    assert any(change["path"].endswith("memory") for change in second["changes"])
    # 4: unless it is always to be used; only the shared file changes in the second commit.
    service.spec["planner"] = {"alwaysUsePipeline": True}
    service.write(memory=33)
    third = apps.wait(name, repository.push("Always"))
    assert third["strategy"] == "PIPELINE", third["summary"]
    service.write(memory=34)
    changed = git(repository.clone, "status", "--porcelain").split()
    assert changed == ["M", "shared/task.json"]
    fourth = apps.wait(name, repository.push("Shared"))
    assert [stage["kind"] for stage in fourth["stages"]] == ["ECS_PRIMARY_ROLLOUT", "ROLLBACK"]
    assert "shared/task.json has changed" in apps.run("deployment", "logs", name).stdout
    # 3: a change of the image, as a plan; this runtime has one image only.
    git(repository.clone, "checkout", "-q", "-b", "image")
    del service.spec["planner"]
    service.write(memory=34, image="nginx:2")
    proposal = repository.push("Image", branch="image")
    planned = apps.run("app", "plan", name, "--commit", proposal)
    assert planned.returncode == 0, planned.stderr
    assert "pipeline," in planned.stdout and "ECS_PRIMARY_ROLLOUT" in planned.stdout
    assert "host" in planned.stdout and "nginx:2" in planned.stdout


# ---- following ----

def test_a_stream_of_deployments(apps, slipway, repository, name):
    repository.application("web", name)
    first = repository.push()
    reader = Reader(slipway, "deployments", application=name)
    wait_until(lambda: reader.of("position"), "the stream has begun")
    assert not reader.of("snapshot")  # nothing yet
    apps.add(name, "--repo", repository.url, "--path", "web")
    seen = wait_until(lambda: [line["deployment"] for line in reader.of("updated")
                               if line["deployment"]["state"] == "SUCCESS"] and
                      reader.of("updated"), "the deployment is followed to its end")
    reader.close()
    assert {line["deployment"]["application"] for line in seen} == {name}
    assert seen[0]["deployment"]["state"] == "PENDING"
    assert seen[-1]["deployment"]["commit"] == first
    # Resumed behind a version.
    again = Reader(slipway, "deployments", application=name,
                   entityVersion=seen[-2]["entityVersion"])
    wait_until(lambda: again.of("updated") == seen[-1:], "only what came later")
    again.close()


def test_a_terminal_shows_stages_and_variants(apps, slipway, repository, name):
    service = Service(slipway, repository, name, {
        "planner": {"alwaysUsePipeline": True},
        "pipeline": {"stages": [{"name": "ECS_PRIMARY_ROLLOUT"}]}})
    apps.add(name, "--repo", repository.url, "--path", "web")
    apps.wait(name, repository.push())
    service.write(memory=33)
    apps.wait(name, repository.push())
    wait_until(lambda: apps.show(name)["sync"] == "SYNCED", "its state is known")
    outside, inside = os.openpty()
    watch = subprocess.run([slipway_program(), "deployment", "watch", name, "--server", slipway.url,
                            "--state", slipway.state], stdin=inside, stdout=inside, check=False)
    os.close(inside)
    assert watch.returncode == 0
    shown = ""
    while True:
        try:
            shown += os.read(outside, 65536).decode()
        except OSError:  # everything was read
            break
    os.close(outside)
    lines = shown.replace("\r", "").split("\n")
    assert lines[0].startswith(f"{name}, deployment 2, commit ") and "SUCCESS" in lines[0]
    assert lines[1].startswith("+ stage-1 ") and "ECS_PRIMARY_ROLLOUT" in lines[1]
    assert any("PRIMARY" in line and "1 of 1 tasks run" in line for line in lines[2:]), shown
    # Without a terminal: lines.
    log = apps.run("deployment", "watch", name).stdout
    assert "stage-1: started ECS_PRIMARY_ROLLOUT" in log and "\033" not in log
