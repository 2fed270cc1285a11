"""Git repositories for scenario tests: a bare one, as servers have them, and a clone to push from."""
import json
import os
import subprocess

ENVIRONMENT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C",
               "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.com",
               "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.com"}


def git(folder, *words):
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False,
                          env=dict(os.environ, **ENVIRONMENT))
    assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr}"
    return done.stdout.strip()


class Repository:
    """url is that of the bare one; put() and remove() change the clone, push() commits and pushes."""

    def __init__(self, folder, branch="main"):
        self.url, self.clone = str(folder / "repository.git"), str(folder / "clone")
        self.branch = branch
        os.makedirs(str(folder), exist_ok=True)
        git(str(folder), "init", "-q", "--bare", "-b", branch, self.url)
        git(str(folder), "init", "-q", "-b", branch, self.clone)
        git(self.clone, "remote", "add", "origin", self.url)

    def put(self, path, content):
        place = os.path.join(self.clone, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as out:
            out.write(content if isinstance(content, str) else json.dumps(content, indent=1))

    def remove(self, path):
        os.remove(os.path.join(self.clone, path))

    def commit(self, message="Change"):
        git(self.clone, "add", "-A")
        git(self.clone, "commit", "-q", "--allow-empty", "-m", message)
        return git(self.clone, "rev-parse", "HEAD")

    def push(self, message="Change", *options, branch=None):
        """Commits everything; the commit."""
        commit = self.commit(message)
        git(self.clone, "push", "-q", *options, "origin", f"HEAD:refs/heads/{branch or self.branch}")
        return commit

    def application(self, folder, name, spec=None, kind="KubernetesApp", file="app.pipecd.yaml"):
        """Without ECS: its pipeline is one stage that waits a moment, unless spec has another."""
        spec = {"name": name, "pipeline": {"stages": [{"name": "WAIT", "with": {"duration": "1ms"}}]},
                **(spec or {})}
        self.put(f"{folder}/{file}", {"apiVersion": "pipecd.dev/v1beta1", "kind": kind,
                                      "spec": spec})
