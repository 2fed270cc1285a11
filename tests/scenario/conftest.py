"""Shared by scenario tests: real servers, started and ended for them, and real clients.

    def test_clusters(slipway):                       # one server per test module
        slipway.boto("ecs").create_cluster(clusterName="a")
        assert slipway.aws("ecs", "list-clusters").json["clusterArns"]

    def test_restart(start_slipway):                  # servers of one's own
        server = start_slipway()
        server.kill()
        start_slipway(state=server.state)

    def test_on_postgres(start_slipway, postgres_url):    # an empty database
        start_slipway("--store", postgres_url)

    SERVER_ARGUMENTS = ["--runtime", "none"]          # for all servers of a module

Every server is ended with the test (or module) that started it. One that died by itself, ended with
a code other than 0, or reported something under a sanitizer, fails that test. Tasks outlive servers;
they are ended with the test, too.
"""
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import uuid

import boto3
import botocore.config
import pytest
from aws_shell import run_aws

# Seconds that anything may take on a busy machine.
DEADLINE = int(os.environ.get("SLIPWAY_TEST_DEADLINE") or 60)
SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
REGION = "us-east-1"

ADDRESS_LINE = re.compile(r"^slipway listens on (http\S+)$", re.MULTILINE)
DNS_LINE = re.compile(r"^slipway answers DNS on (\S+):(\d+)$", re.MULTILINE)
SANITIZER_REPORT = re.compile(
    r"ERROR: \w*Sanitizer|WARNING: ThreadSanitizer|runtime error:|\w+Sanitizer:DEADLYSIGNAL")

# Clients read these; a developer's own settings must not change what a test sees.
for name in list(os.environ):
    if name.startswith("AWS_") or name.lower().endswith("_proxy"):
        del os.environ[name]
os.environ["AWS_EC2_METADATA_DISABLED"] = "true"


def pytest_collection_modifyitems(items):
    """Modules that say so (TAKES_MINUTES) come first: what waits for whole minutes must not begin when all else is done."""
    items.sort(key=lambda item: not getattr(item.module, "TAKES_MINUTES", False))


def slipway_program():
    return os.environ.get("SLIPWAY_BIN") or os.path.join(SOURCE, "build/slipway")


def wait_until(condition, what, deadline=DEADLINE):
    """Wait until condition() is true and return its value; fail with `what` at the deadline."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {deadline} s: {what}"
        time.sleep(0.02)


def task_processes(folder):
    """{pid: descriptor} of the supervisors and programs of tasks that are kept below a folder. A
    descriptor means the process that was looked at, also when its number has become another's."""
    supervisors, programs, tokens = {}, [], set()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            descriptor = os.pidfd_open(int(name))
        except OSError:
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                command = file.read().decode(errors="replace").split("\0")
            with open(f"/proc/{name}/environ", "rb") as file:
                environment = file.read().decode(errors="replace").split("\0")
        except OSError:  # it has just ended, or is another user's
            command, environment = [""], []
        token = [pair.split("=", 1)[1] for pair in environment if pair.startswith("SLIPWAY_TASK=")]
        if command[0] == "slipway-task" and command[1].startswith(os.path.join(folder, "")):
            supervisors[int(name)] = descriptor
            tokens.add(os.path.basename(command[1]))
        elif token:
            programs.append((token[0], int(name), descriptor))
        else:
            os.close(descriptor)
    for root, folders, _ in os.walk(folder):
        if os.path.basename(root) == "tasks":
            tokens.update(folders)
    for token, pid, descriptor in programs:
        if token in tokens:
            supervisors[pid] = descriptor
        else:
            os.close(descriptor)
    return supervisors


def end_tasks(folder):
    """End every task that is kept below a folder: supervisors are asked to, and have some seconds."""
    patience = time.monotonic() + 5
    deadline = time.monotonic() + DEADLINE
    while True:
        found = task_processes(folder)
        if not found:
            return
        number = signal.SIGTERM if time.monotonic() < patience else signal.SIGKILL
        for descriptor in found.values():
            try:
                signal.pidfd_send_signal(descriptor, number)
            except ProcessLookupError:
                pass
            os.close(descriptor)
        assert time.monotonic() < deadline, f"tasks of {folder} cannot be ended: {list(found)}"
        time.sleep(0.02)


def remove_proxy_files(state):
    """HAProxy's files that a server left which ran as root and was killed."""
    if os.path.isdir(state):
        status = os.stat(state)
        shutil.rmtree(f"/run/slipway-{status.st_dev:x}-{status.st_ino:x}", ignore_errors=True)


class Answer:
    """An HTTP answer: status, headers (names in lower case), body."""

    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


class CommandResult:
    """The output of a command and how it ended."""

    def __init__(self, completed):
        self.returncode = completed.returncode
        self.stdout = completed.stdout
        self.stderr = completed.stderr

    @property
    def json(self):
        return json.loads(self.stdout)


class Slipway:
    """A running server. Use the fixtures to get one."""

    def __init__(self, folder, args, state, env):
        self.folder = folder
        self.state = state or os.path.join(folder, "state")
        self.home = os.path.join(folder, "home")
        os.makedirs(self.home, exist_ok=True)
        self.stdout_path = os.path.join(folder, "stdout")
        self.stderr_path = os.path.join(folder, "stderr")
        self.ended = False  # a test ended it, or saw it end
        command = [slipway_program(), "up", "--state", self.state]
        if "--listen" not in args:
            command += ["--listen", "127.0.0.1:0"]
        if "--dns" not in args:
            command += ["--dns", "127.0.0.1:0"]
        with open(self.stdout_path, "wb") as out, open(self.stderr_path, "wb") as errors:
            self.process = subprocess.Popen(
                command + list(args), stdin=subprocess.DEVNULL, stdout=out, stderr=errors,
                cwd=folder, env=dict(os.environ, HOME=self.home, TMPDIR=folder,
                                     SLIPWAY_CHECK_ANSWERS="1", **(env or {})))
        self.url = None
        self.dns_port = None  # None as well when it was started with --dns off

    def wait_until_listening(self):
        def address():
            match = ADDRESS_LINE.search(self.stdout)
            if not match and self.process.poll() is not None:
                self.ended = True
                pytest.fail(f"slipway ended with {self.process.returncode} instead of listening:\n"
                            f"{self.stdout}{self.stderr}")
            return match

        self.url = wait_until(address, "slipway prints its address").group(1)
        # Its output comes in one piece: this line is in it, or will never be.
        dns = DNS_LINE.search(self.stdout)
        self.dns_port = int(dns.group(2)) if dns else None

    @property
    def stdout(self):
        with open(self.stdout_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    @property
    def stderr(self):
        with open(self.stderr_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    @property
    def key(self):
        """The admin key: accessKeyId, secretAccessKey, account, user."""
        with open(os.path.join(self.state, "admin-key.json"), encoding="utf-8") as file:
            return json.load(file)

    # ---- ending ----

    def kill(self):
        """End it as a power cut would."""
        self.check_alive()
        self.process.kill()
        self.process.wait()
        self.ended = True
        self.check_reports()

    def stop(self):
        """End it by SIGTERM; it must drain and exit with 0."""
        self.check_alive()
        self.process.send_signal(signal.SIGTERM)
        code = self.wait_for_exit()
        assert code == 0, f"slipway ended with {code}:\n{self.stderr[-5000:]}"

    def wait_for_exit(self, deadline=DEADLINE):
        """Wait until it ends by itself; return its exit code."""
        try:
            code = self.process.wait(deadline)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            self.ended = True
            pytest.fail(f"slipway did not end within {deadline} s:\n{self.stderr[-5000:]}")
        self.ended = True
        self.check_reports()
        return code

    def check_alive(self):
        if self.process.poll() is not None and not self.ended:
            self.ended = True
            pytest.fail(f"slipway died by itself with {self.process.returncode}:\n"
                        f"{self.stderr[-10000:]}")
        assert not self.ended, "slipway has ended already"

    def check_reports(self):
        report = SANITIZER_REPORT.search(self.stderr)
        if report:
            pytest.fail(f"a sanitizer reports:\n{self.stderr[report.start():][:10000]}")

    def clean_up(self):
        """Called at the end of the test: stop what still runs, with all checks."""
        try:
            if not self.ended:
                self.stop()
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()

    # ---- clients ----

    def boto(self, service="ecs", key=None, region=REGION, **config):
        """A boto3 client with the admin key, or with another one of the same form."""
        key = key or self.key
        settings = {"retries": {"total_max_attempts": 1}, "connect_timeout": DEADLINE,
                    "read_timeout": DEADLINE, **config}
        session = boto3.session.Session(
            aws_access_key_id=key["accessKeyId"], aws_secret_access_key=key["secretAccessKey"],
            aws_session_token=key.get("sessionToken"), region_name=region)
        return session.client(service, endpoint_url=self.url,
                              config=botocore.config.Config(**settings))

    def aws_environment(self, key=None, region=REGION):
        """The environment in which Debian's aws command talks to this server and to nothing else;
        it does not know an endpoint variable yet: --endpoint-url is the caller's."""
        key = key or self.key
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": self.home,
            "LANG": "C.UTF-8",
            "AWS_ACCESS_KEY_ID": key["accessKeyId"],
            "AWS_SECRET_ACCESS_KEY": key["secretAccessKey"],
            "AWS_DEFAULT_REGION": region,
            "AWS_DEFAULT_OUTPUT": "json",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_MAX_ATTEMPTS": "1",
            "AWS_PAGER": "",
        }
        if key.get("sessionToken"):
            environment["AWS_SESSION_TOKEN"] = key["sessionToken"]
        return environment

    def aws(self, *args, check=True, key=None, region=REGION, fresh=False):
        """Run `aws --endpoint-url URL ARGS…`; .stdout, .stderr, .returncode, .json. fresh: it finds models that were
        added to this home."""
        completed = run_aws(["--endpoint-url", self.url, *args], self.aws_environment(key, region),
                            self.home, fresh)
        if check and completed.returncode:
            pytest.fail(f"aws {' '.join(args)} ended with {completed.returncode}:\n"
                        f"{completed.stderr}")
        return CommandResult(completed)

    def request(self, method, path, body=None, headers=None):
        """One plain HTTP request, unsigned."""
        connection = http.client.HTTPConnection(self.url.split("//")[1], timeout=DEADLINE)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, headers=None):
        return self.request("GET", path, headers=headers)


class Servers:
    """Starts servers and ends them all."""

    def __init__(self, arguments=()):
        self.started = []
        self.arguments = list(arguments)  # for all of them; their own come behind and win
        self.folder = tempfile.mkdtemp(prefix="slipway-test-")

    def launch(self, *args, state=None, env=None):
        """Without waiting until it listens."""
        folder = os.path.join(self.folder, str(len(self.started)))
        os.mkdir(folder)
        server = Slipway(folder, self.arguments + [str(arg) for arg in args], state, env)
        self.started.append(server)
        return server

    def start(self, *args, state=None, env=None):
        server = self.launch(*args, state=state, env=env)
        server.wait_until_listening()
        return server

    def end(self):
        problems = []
        for server in reversed(self.started):
            # pytest.fail raises what is not an Exception; every server must be ended all the same.
            try:
                server.clean_up()
            except BaseException as problem:  # pylint: disable=broad-except
                problems.append(problem)
        for folder in {self.folder, *(server.state for server in self.started)}:
            end_tasks(folder)
            remove_proxy_files(folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        if problems:
            raise problems[0]


def arguments_of(request):
    return getattr(request.module, "SERVER_ARGUMENTS", ())


@pytest.fixture
def start_slipway(request):
    """start_slipway(*args, state=None, env=None): `slipway up` on a free port with a state
    directory of its own (server.state), or the one given."""
    servers = Servers(arguments_of(request))
    yield servers.start
    servers.end()


@pytest.fixture(scope="module")
def slipway(request):
    """One server for all the tests of a module."""
    servers = Servers(arguments_of(request))
    try:
        yield servers.start()
    finally:
        servers.end()


@pytest.fixture(scope="session")
def postgres_server():
    """The address of a PostgreSQL server: the one ./dev test has started, or one of our own."""
    if os.environ.get("SLIPWAY_TEST_POSTGRES"):
        yield os.environ["SLIPWAY_TEST_POSTGRES"]
        return
    command = [os.path.join(SOURCE, "tools/with-postgres"), "sh", "-c",
               'echo "$SLIPWAY_TEST_POSTGRES"; cat']
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as server:
        yield server.stdout.readline().strip()
        server.stdin.close()  # cat ends, and with it the server


@pytest.fixture
def postgres_url(postgres_server):
    """The address of a new, empty database. It goes with the server, so that slipway may hold on to
    it until its own end."""
    database = "t" + uuid.uuid4().hex
    subprocess.run(["psql", "-q", "-d", postgres_server, "-c", f"CREATE DATABASE {database}"],
                   check=True, stdin=subprocess.DEVNULL, timeout=DEADLINE * 2)
    return postgres_server.replace("/postgres?", f"/{database}?")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    # Ended by SIGTERM, pytest would leave servers behind; interrupted, it ends its fixtures.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # pytest keeps its temporary folders; we do not.
    if config.option.basetemp is None:
        config.option.basetemp = config.slipway_basetemp = tempfile.mkdtemp(prefix="slipway-tmp-")


def pytest_unconfigure(config):
    if hasattr(config, "slipway_basetemp"):
        shutil.rmtree(config.slipway_basetemp, ignore_errors=True)
