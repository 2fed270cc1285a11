"""Debian's aws command, many times for the price of one: most of its time goes into loading itself, so
one process loads it and becomes a copy of itself for every command.

    with AwsShell(server, "servicediscovery") as aws:
        aws("list-namespaces")["Namespaces"]
        aws.refused("NamespaceNotFound", "get-namespace", "--id", "ns-none")
"""
import atexit
import functools
import json
import os
import re
import subprocess
import tempfile
import threading

import pytest

# Modules and models are loaded before the copies are made, and the copies share what was read. Each copy gets the
# environment and the folder that the command would have had.
LOOP = """
import functools, json, os, signal, sys
import awscli.clidriver
import awscli.customizations.commands
import awscli.handlers
import botocore.endpoint, botocore.loaders, botocore.session, botocore.parsers
botocore.session.create_loader = functools.lru_cache(botocore.loaders.create_loader)
loader = botocore.session.Session().get_component("data_loader")
for kind in ["service-2", "paginators-1", "waiters-2", "endpoint-rule-set-1"]:
    if sys.argv[2] in loader.list_available_services(kind):
        loader.load_service_model(sys.argv[2], kind)
loader.load_data("endpoints")
own_data = os.environ["AWS_DATA_PATH"] # awscli put it there
if sys.argv[1]:
    import dns_clients
    dns_clients.point_glibc_at(int(sys.argv[1]))
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if child == 0:
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        for number, path in enumerate([order["stdout"], order["stderr"]], 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.environ.clear()
        os.environ.update(order["environment"])
        os.environ["AWS_DATA_PATH"] = own_data
        os.chdir(order["folder"])
        signal.alarm(order["deadline"])
        sys.argv = ["aws", *order["args"]]
        code = awscli.clidriver.main()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
DEADLINE = 120
ERROR = re.compile(r"An error occurred \((\w+)\) when calling the (\w+) operation"
                   r"(?: \(reached max retries: 0\))?: (.*)", re.DOTALL)


class WarmAws:
    """The process that is copied. service: whose model is loaded beforehand; others are when they are needed.
    AWS_DATA_PATH counts as it was in the first process's environment."""

    def __init__(self, service, environment, dns_port=None):
        self.folder = tempfile.TemporaryDirectory()
        self.free = threading.Lock()
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-c", LOOP, str(dns_port or ""), service],
            env={"HOME": self.folder.name, **environment, "PYTHONPATH": os.path.dirname(__file__)},
            cwd=self.folder.name, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()

    def run(self, args, environment, folder):
        with self.free:
            paths = {name: os.path.join(self.folder.name, name) for name in ["stdout", "stderr"]}
            order = {"args": args, "environment": environment, "folder": str(folder),
                     "deadline": DEADLINE, **paths}
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
            code = int(self.process.stdout.readline())
            texts = []
            for path in paths.values():
                with open(path, encoding="utf-8") as file:
                    texts.append(file.read())
            return subprocess.CompletedProcess(["aws", *args], code, *texts)


@functools.cache
def warm_aws():
    """One for all tests of this process."""
    warm = WarmAws("ecs", {"PATH": os.environ["PATH"]})
    atexit.register(warm.end)
    return warm


def run_aws(args, environment, folder, fresh=False):
    """Runs `aws ARGS…`; fresh, or while another thread's command is under way, in a process that loads it all."""
    warm = warm_aws()
    if not fresh and not warm.free.locked():
        return warm.run(args, environment, folder)
    return subprocess.run(["aws", *args], env=environment, cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=DEADLINE, check=False)


class AwsShell:
    """Runs `aws SERVICE ARGS…` against a server. With names, the server's own DNS is asked where it is,
    so that it is found with a prefix before its name, too."""

    def __init__(self, server, service, names=False, **environment):
        url = server.url.replace("127.0.0.1", "api.slipway.internal") if names else server.url
        self.start = ["--endpoint-url", url, service]
        self.environment = {**server.aws_environment(), **environment}
        self.home = server.home
        self.warm = WarmAws(service, self.environment, server.dns_port if names else None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.warm.end()

    def run(self, *args):
        """(code, stdout, stderr)"""
        ended = self.warm.run(self.start + list(args), self.environment, self.home)
        return ended.returncode, ended.stdout, ended.stderr

    def __call__(self, *args):
        """The answer; None if the operation has none."""
        code, output, errors = self.run(*args)
        if code:
            pytest.fail(f"aws {' '.join(args)} ended with {code}:\n{errors}")
        return json.loads(output) if output.strip() else None

    def refused(self, code, *args, part=""):
        """The command must fail with this error and say so. Answers the operation's name."""
        status, output, errors = self.run(*args)
        assert status in (253, 254, 255), (args, output, errors)
        match = ERROR.search(errors)
        assert match and match.group(1) == code and part in match.group(3), errors
        return match.group(2)
