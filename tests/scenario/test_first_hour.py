"""The first hour of a new user: identity, regions, keys, mistakes, and what slipway reports about them."""
import datetime
import os
import shutil
import subprocess
import tempfile

import pytest
from botocore.exceptions import ClientError

from conftest import DEADLINE, slipway_program, wait_until
from programs import LONG, container
# pylint: disable=unused-import
from test_environment_cli import new_fleet, run_env
from test_identity import command, make_key, policy_file
from test_run import define, mark, run, running


# ---- identity ----

def test_sts_reports_the_caller(slipway):
    identity = slipway.aws("sts", "get-caller-identity").json
    assert identity["Account"] == slipway.key["account"]
    assert identity["Arn"] == f"arn:aws:iam::{slipway.key['account']}:user/admin"
    assert len(identity["UserId"]) == 21 and identity["UserId"].startswith("AIDA")
    again = slipway.boto("sts", region="eu-west-1").get_caller_identity()
    assert again["UserId"] == identity["UserId"]


def test_sts_needs_no_permission(slipway, tmp_path):
    """As at AWS, where a policy cannot deny GetCallerIdentity."""
    path = policy_file(tmp_path, {"Effect": "Deny", "Action": "*", "Resource": "*"})
    key = make_key(slipway, "--user", "limited", "--policy", path)
    assert slipway.boto("sts", key=key).get_caller_identity()["Arn"].endswith(":user/limited")
    with pytest.raises(ClientError) as refused:
        slipway.boto("sts").assume_role(RoleArn="arn:aws:iam::123456789012:role/x", RoleSessionName="x1")
    assert refused.value.response["Error"]["Code"] == "UnsupportedOperation"


@pytest.mark.parametrize("service, arguments", [
    ("logs", ["describe-log-groups"]),
    ("sqs", ["list-queues"]),
    ("iam", ["list-users"]),
    ("ec2", ["describe-instances"]),
    ("lambda", ["list-functions"]),
    ("s3api", ["list-buckets"]),
    ("dynamodb", ["list-tables"]),
])
def test_services_that_slipway_does_not_offer_are_named(slipway, service, arguments):
    refused = slipway.aws(service, *arguments, check=False)
    assert refused.returncode != 0
    name = service.removesuffix("api")
    assert f"slipway does not offer '{name}'" in refused.stderr
    assert "it offers ecs, elasticloadbalancing, servicediscovery and sts" in refused.stderr


# ---- regions ----

def test_up_prints_its_region_and_refuses_unknown_ones(start_slipway, tmp_path):
    with Terminal(str(tmp_path / "state"), "--region", "eu-central-1") as terminal:
        terminal.read_until("ecs list-clusters\n")
        assert "A new admin key was made" in terminal.output
        assert "  export AWS_DEFAULT_REGION=eu-central-1\n" in terminal.output
        assert "  unset AWS_SESSION_TOKEN AWS_PROFILE AWS_REGION\n" in terminal.output
    server = start_slipway("--region", "eu-central-1")
    refused = command("up", "--ephemeral", "--listen", "127.0.0.1:0", "--region", "eu-cenrtal-1")
    assert refused.returncode == 2
    assert "region: 'eu-cenrtal-1' is not a region of AWS" in refused.stderr
    with pytest.raises(ClientError, match="Credential should be scoped to a valid region"):
        server.boto(region="us-esat-1").list_clusters()


def test_the_log_names_the_region_that_has_the_cluster(start_slipway):
    server = start_slipway("--region", "eu-central-1")
    wait_until(lambda: server.boto(region="eu-central-1").list_clusters()["clusterArns"], "the cluster is there")
    for _ in range(3):
        with pytest.raises(ClientError) as refused:
            server.boto(region="us-east-1").list_tasks()
        assert refused.value.response["Error"]["Message"] == "Cluster not found."
        with pytest.raises(ClientError, match="Cluster not found."):
            server.boto(region="us-east-1").list_tasks(cluster="other")
    server.stop()
    hints = [line for line in server.stderr.splitlines() if "does not exist in" in line]
    assert len(hints) == 1, "the same hint once a minute"
    assert 'cluster \\"default\\" does not exist in us-east-1 but exists in eu-central-1' in hints[0]


# ---- the admin key ----

class Terminal:
    """slipway up with a terminal as its standard output."""

    def __init__(self, state, *arguments):
        controller, terminal = os.openpty()
        self.controller, self.output = controller, ""
        self.process = subprocess.Popen(
            [slipway_program(), "up", "--state", state, "--listen", "127.0.0.1:0", "--dns", "127.0.0.1:0",
             "--runtime", "none", *arguments], stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.DEVNULL)
        os.close(terminal)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(DEADLINE)
        os.close(self.controller)

    def read_until(self, text):
        while text not in self.output:
            self.output += os.read(self.controller, 65536).decode().replace("\r\n", "\n")


def test_the_admin_key_is_printed_on_terminals_until_a_key_was_used(start_slipway, tmp_path):
    state = str(tmp_path / "state")
    # A first start that fails after the key was made.
    taken = start_slipway()
    failed = command("up", "--state", state, "--runtime", "none", "--dns", "off", "--listen",
                     taken.url.split("//")[1])
    assert failed.returncode == 1
    for _ in range(2):
        with Terminal(state) as unused:
            unused.read_until("ecs list-clusters\n")
            assert "has not been used yet. To use it:" in unused.output
            assert "  export AWS_SECRET_ACCESS_KEY=" in unused.output
    server = start_slipway(state=state)
    assert server.key["secretAccessKey"] not in server.stdout, "not in a log that is kept"
    server.boto().list_clusters()
    server.stop()
    with Terminal(state) as used:
        used.read_until("prints it.\n")
        assert server.key["secretAccessKey"] not in used.output


def test_key_show_admin_prints_lines_for_a_shell(start_slipway):
    server = start_slipway("--region", "eu-central-1")
    shown = command("key", "show-admin", "--state", server.state, "--server", server.url,
                    env=dict(os.environ, AWS_REGION="us-west-2"))
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == (
        "unset AWS_SESSION_TOKEN AWS_PROFILE AWS_REGION\n"
        f"export AWS_ACCESS_KEY_ID={server.key['accessKeyId']}\n"
        f"export AWS_SECRET_ACCESS_KEY={server.key['secretAccessKey']}\n"
        "export AWS_DEFAULT_REGION=eu-central-1\n"
        f"export SLIPWAY_SERVER={server.url}\n")
    missing = command("key", "show-admin", "--state", server.home)
    assert missing.returncode == 1 and "admin-key.json" in missing.stderr


def test_a_refused_key_is_named_with_its_source(slipway, start_slipway):
    other = start_slipway()
    key_file = os.path.join(other.state, "admin-key.json")
    refused = command("key", "list", "--server", slipway.url, "--state", other.state)
    assert refused.returncode == 1
    assert f"signed with key {other.key['accessKeyId']} from {key_file}" in refused.stderr
    refused = command("key", "list", "--server", slipway.url,
                      env=dict(os.environ, AWS_ACCESS_KEY_ID="AKIA0000000000000000", AWS_SECRET_ACCESS_KEY="x"))
    assert "signed with key AKIA0000000000000000 from $AWS_ACCESS_KEY_ID" in refused.stderr


# ---- the command line ----

def test_help_of_up_fits_a_terminal():
    lines = command("up", "--help").stdout.splitlines()
    options = lines[lines.index("Options:"):]
    assert len(options) > 40 and max(map(len, options)) <= 80


def test_exec_as_with_docker(slipway, mark):
    """-it is accepted, and "--" may be left out; what follows the command is the command's."""
    ecs = slipway.boto("ecs")
    arn, = run(ecs, define(ecs, "box", container(mark, LONG)))
    running(ecs, arn)

    def execute(*words):
        return command("exec", "--server", slipway.url, "--state", slipway.state, *words)

    for words in ([arn, "echo", "-t", "--help"], ["-i", arn, "--", "echo", "-t", "--help"],
                  [arn, "-c", "app", "echo", "-t", "--help"]):
        done = execute(*words)
        assert (done.returncode, done.stdout) == (0, "-t --help\n"), done.stderr
    done = execute("-it", arn, "sh", "-c", "test -t 1 && exit 7")
    assert done.returncode == 7, done.stderr
    assert execute(arn).returncode == 2 and "Usage" in execute(arn, "--help").stdout


STEPS = """
echo one; sleep 1.2; echo two; printf thr; sleep 0.2; echo ee
while [ ! -e {flag} ]; do sleep 0.05; done
echo four; {long}"""


def test_logs_as_with_docker_and_kubectl(slipway, mark, tmp_path):
    ecs = slipway.boto("ecs")
    flag = tmp_path / "flag"
    os.chmod(tmp_path, 0o777)
    arn, = run(ecs, define(ecs, "steps", container(mark, STEPS.format(flag=flag, long=LONG))))
    running(ecs, arn)

    def logs(*words):
        done = command("logs", "--server", slipway.url, "--state", slipway.state, *words, arn)
        assert done.returncode == 0, done.stderr
        return done.stdout

    wait_until(lambda: logs() == "one\ntwo\nthree\n", "three lines")
    assert logs("--tail", "2") == logs("-n", "2") == "two\nthree\n"
    assert logs("--tail", "0") == "" and logs("--tail", "all") == logs("--tail", "100") == logs()
    lines = [line.split(" ", 1) for line in logs("--timestamps").splitlines()]
    assert [text for _, text in lines] == ["one", "two", "three"]
    times = [datetime.datetime.strptime(time, "%Y-%m-%dT%H:%M:%S.%f%z") for time, _ in lines]
    assert datetime.timedelta(seconds=1.1) < times[1] - times[0] and times[1] <= times[2]
    assert abs(times[0] - datetime.datetime.now(datetime.timezone.utc)) < datetime.timedelta(seconds=DEADLINE)
    second = (times[0] + datetime.timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert logs("--since", second) == "two\nthree\n"
    assert logs("--since", "2020-01-01") == logs("--since", "1h") == logs()
    assert logs("--since", "2100-01-01T00:00:00Z") == ""
    assert logs("-t", "--tail", "1", "--since", "1h").endswith("Z three\n")
    with subprocess.Popen([slipway_program(), "logs", "--server", slipway.url, "--state", slipway.state, "-f",
                           "--tail", "1", arn], stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout.readline() == "three\n"
        flag.touch()
        assert following.stdout.readline() == "four\n"
        following.terminate()
    for words, complaint in ((["--tail", "x"], "--tail: 'x' is not a number of lines"),
                             (["--since", "yesterday"], "--since: 'yesterday' is neither")):
        refused = command("logs", *words, arn)
        assert refused.returncode == 2 and complaint in refused.stderr


# ---- environments ----

def test_a_deployment_that_matches_no_instance_has_an_exit_code(fleet):
    fleet.create(fleet.define(1), attributes=["gpu"])
    for words in ([], ["--watch"]):
        done = run_env(fleet.server, "deploy", fleet.name, *words)
        assert done.returncode == 5, done.stderr
        assert f"no instance of cluster default matches environment {fleet.name} now" in done.stderr


def test_watching_a_version_that_exits_at_once_ends(fleet):
    fleet.create(fleet.define(1, "exit 3"))
    done = run_env(fleet.server, "deploy", fleet.name, "--watch", "--max-failures", "2")
    assert done.returncode == 6, done.stdout + done.stderr
    assert "2 tasks in a row failed on instance" in done.stderr and "exit code 3" in done.stderr
    assert f"slipway env rollback {fleet.name}" in done.stderr
    assert fleet.get()["activeDeployment"], "only watching has ended"
    assert run_env(fleet.server, "deploy", fleet.name, "--max-failures", "x").returncode == 2


# ---- reports of the server ----

def test_the_end_says_how_many_tasks_keep_running(start_slipway, mark):
    server = start_slipway()
    server.stop()
    assert "running" not in server.stdout
    server = start_slipway(state=server.state)
    ecs = server.boto("ecs")
    arns = run(ecs, define(ecs, "stays", container(mark, LONG)), count=2)
    for arn in arns:
        running(ecs, arn)
    server.stop()
    assert "2 tasks keep running. The next 'slipway up' continues with them" in server.stdout
    server = start_slipway("--stop-tasks-on-exit", state=server.state)
    server.stop()
    assert "keep running" not in server.stdout


WARNING = "memory limits of tasks are not enforced"


@pytest.mark.root
def test_memory_limits_that_cannot_be_enforced_are_reported():
    """At the start; the note of a task says the same. A user without root has no control group to write to."""
    folder = tempfile.mkdtemp(prefix="slipway-test-")
    try:
        os.chown(folder, 65534, 65534)
        with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log, subprocess.Popen(
                [slipway_program(), "up", "--ephemeral", "--listen", "127.0.0.1:0", "--dns", "off"], cwd=folder,
                env={"PATH": os.environ["PATH"], "HOME": folder, "TMPDIR": folder}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, text=True, user=65534, group=65534, extra_groups=[]) as server:
            address = server.stdout.readline()
            server.terminate()
            server.communicate(timeout=DEADLINE)
        assert address.startswith("slipway listens on ")
        with open(os.path.join(folder, "log"), encoding="utf-8") as log:
            assert WARNING in log.read()
    finally:
        shutil.rmtree(folder)


# ---- errors of the command line ----

@pytest.mark.parametrize("option, value, member", [
    ("bake", "4", "deploymentConfiguration.canary.instances"),
    ("type", "Demon", "environmentType"),
    ("attributes", "a==", "instanceGroup.attributes[0]"),
    ("target", "nowhere", "target"),
    ("on-failure", "hope", "deploymentConfiguration.onFailure"),
    ("schedule", "x", "deploymentConfiguration.schedule"),
    ("container", "web", "deploymentConfiguration.loadBalancer.targetGroupArn"),
])
def test_errors_of_env_name_the_option_beside_the_member(fleet, option, value, member):
    """Also where another option is missing: --bake alone lacks --canary."""
    missing = {"bake": "canary", "container": "target-group"}
    done = run_env(fleet.server, "create", "faulty", "--cluster", "default", "--task-definition", fleet.define(1),
                   f"--{option}", value)
    assert done.returncode == 1
    assert done.stderr.startswith(f"slipway: --{missing.get(option, option)} ({member}): "), done.stderr
