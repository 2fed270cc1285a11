"""Applications from Git on servers that are killed, and on two servers that share a store: each commit is deployed once."""
import os
import shutil

from conftest import wait_until
from git_repositories import Repository
from test_app_git import Applications

ARGUMENTS = ["--poll-interval", "300ms", "--runtime", "none"]
COMMITS = 3


def commits_of(apps, name):
    return [item["commit"] for item in apps.deployments(name)]


def test_a_server_that_is_killed(start_slipway, tmp_path):
    """At any time: while it polls, reads files or deploys. Nothing is lost, and nothing is deployed twice."""
    arguments = [*ARGUMENTS, "--repositories", str(tmp_path)]
    repository = Repository(tmp_path / "one")
    for number in range(3):
        repository.application(str(number), f"app-{number}")
    commits = [repository.push()]
    server = start_slipway(*arguments)
    state = server.state
    apps = Applications(server)
    apps.add("--all", "--repo", repository.url)
    for number in range(COMMITS):
        # Not before the commit is seen, so that each has a deployment of its own.
        wait_until(lambda: all((apps.show(f"app-{each}") or {}).get("repository", {}).get("commit")
                               == commits[-1] for each in range(3)), "the commit is seen")
        for each in range(3):
            repository.put(f"{each}/number", str(number))
        commits.append(repository.push())
        if number % 2:
            wait_until(lambda: commits_of(apps, "app-1")[-1] == commits[-1], "it has begun")
        server.kill()
        server = start_slipway(*arguments, state=state)
        apps = Applications(server)
    for each in range(3):
        apps.wait(f"app-{each}", commits[-1])
        assert commits_of(apps, f"app-{each}") == commits
        assert {item["state"] for item in apps.deployments(f"app-{each}")} == {"SUCCESS"}


def test_a_sync_that_a_kill_interrupts(start_slipway, tmp_path):
    """The files are read by the server that is there then."""
    arguments = [*ARGUMENTS, "--repositories", str(tmp_path)]
    repository = Repository(tmp_path / "one")
    repository.application("web", "web", {"trigger": {"onCommit": {"disabled": True}}})
    commit = repository.push()
    server = start_slipway(*arguments)
    apps = Applications(server)
    apps.add("web", "--repo", repository.url, "--path", "web")
    assert apps.run("app", "sync", "web", "--commit", "main").returncode == 0
    server.kill()
    apps = Applications(start_slipway(*arguments, state=server.state))
    assert apps.wait("web", commit)["number"] == 1


def test_scripts_have_the_files_of_their_folder(start_slipway, tmp_path):
    server = start_slipway(*ARGUMENTS, "--repositories", str(tmp_path), "--pipeline-scripts")
    apps, repository = Applications(server), Repository(tmp_path / "one")
    repository.put("web/scripts/say.sh", "#!/bin/sh\necho the script is from $SR_TRIGGERED_COMMIT_HASH")
    repository.put("web/image.png", "not text")
    with open(f"{repository.clone}/web/image.png", "wb") as image:
        image.write(b"\xff\x00")
    repository.put("other/secret", "x")
    repository.application("web", "web", {"pipeline": {"stages": [{
        "name": "SCRIPT_RUN", "with": {"run": "./scripts/say.sh && ls"}}]}})
    commit = repository.push()
    apps.add("web", "--repo", repository.url, "--path", "web")
    apps.wait("web", commit)
    log = apps.run("deployment", "logs", "web").stdout
    assert f"the script is from {commit}" in log and "image.png" not in log
    repository.put("web/scripts/say.sh", "#!/bin/sh\nexit 3")
    apps.wait("web", repository.push(), "FAILURE")
    for number in range(64):
        repository.put(f"web/many/{number}", "x")
    repository.push()
    assert 'folder "web" has more than 64 files' in apps.wait_state("web", "INVALID_CONFIG")["problem"]


def test_two_servers(start_slipway, postgres_url, tmp_path):
    arguments = [*ARGUMENTS, "--repositories", str(tmp_path), "--store", postgres_url]
    repository = Repository(tmp_path / "one")
    repository.application("web", "web")
    commits = [repository.push()]
    first = start_slipway(*arguments)
    os.makedirs(tmp_path / "second")
    for name in ("integrity.key", "admin-key.json"):
        shutil.copy(os.path.join(first.state, name), tmp_path / "second" / name)
    second = start_slipway(*arguments, state=str(tmp_path / "second"))
    apps = Applications(first)
    apps.add("web", "--repo", repository.url, "--path", "web")
    apps.wait("web", commits[0])
    repository.put("web/x", "1")
    commits.append(repository.push())
    Applications(second).wait("web", commits[1])
    # Whichever of them polls: the other one continues when its lease is over.
    first.kill()
    apps = Applications(second)
    repository.put("web/x", "2")
    commits.append(repository.push())
    apps.wait("web", commits[2])
    assert commits_of(apps, "web") == commits
