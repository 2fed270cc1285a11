"""Logs of tasks and programs beside them: slipway logs, slipway exec."""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time

import pytest

from conftest import DEADLINE, slipway_program, wait_until
from ecs_requests import refused
from programs import LONG, Mark, container, task_id
from test_run import define, describe, run, running, stopped


@pytest.fixture(scope="module")
def ecs(slipway):
    return slipway.boto("ecs")


@pytest.fixture
def mark():
    return Mark()


@pytest.fixture
def task(ecs, mark):
    arn, = run(ecs, define(ecs, "long", container(mark, "echo begun; " + LONG)))
    running(ecs, arn)
    yield arn
    ecs.stop_task(task=arn)
    stopped(ecs, arn)


def command(server, *args, key=None):
    return [slipway_program(), args[0], "--server", server.url, *args[1:]], {
        **server.aws_environment(key), "LANG": "C.UTF-8"}


def slipway_run(server, *args, key=None, **options):
    line, environment = command(server, *args, key=key)
    options.setdefault("stdin", None if "input" in options else subprocess.DEVNULL)
    if "input" in options:
        del options["stdin"]
    return subprocess.run(line, env=environment, capture_output=True, timeout=DEADLINE, check=False,
                          **options)


# ---- logs ----

@pytest.mark.sanitized
def test_logs(slipway, ecs, mark):
    arn, = run(ecs, define(ecs, "says", container(mark, "echo one; echo two >&2; printf three")))
    stopped(ecs, arn)
    for name in (arn, task_id(arn), "default/" + task_id(arn)):
        result = slipway_run(slipway, "logs", name)
        assert (result.returncode, result.stderr) == (0, b"")
        assert sorted(result.stdout.split()) == [b"one", b"three", b"two"]


def test_logs_of_a_chosen_container(slipway, ecs, mark):
    """containerd may lose the last output before an end."""
    arn, = run(ecs, define(
        ecs, "two", container(mark, "echo app; sleep 1", dependsOn=[
            {"containerName": "beside", "condition": "COMPLETE"}]),
        container(mark, "echo beside; sleep 1", name="beside", essential=False)))
    stopped(ecs, arn)
    assert slipway_run(slipway, "logs", "-c", "beside", arn).stdout == b"beside\n"
    assert slipway_run(slipway, "logs", "--container=app", arn).stdout == b"app\n"
    result = slipway_run(slipway, "logs", arn)
    assert result.returncode == 1 and b"several: app, beside" in result.stderr
    result = slipway_run(slipway, "logs", "-c", "none", arn)
    assert result.returncode == 1 and b"container 'none' not found" in result.stderr


@pytest.mark.sanitized
def test_logs_are_followed_to_the_end(slipway, ecs, mark, tmp_path):
    gate = tmp_path / "gate"
    os.chmod(tmp_path, 0o777)
    arn, = run(ecs, define(ecs, "follow", container(
        mark, f"echo before; while [ ! -e {gate} ]; do sleep 0.05; done; echo after; printf end")))
    line, environment = command(slipway, "logs", "-f", arn)
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL) as follower:
        assert follower.stdout.readline() == b"before\n"
        gate.write_text("")
        assert follower.stdout.read() == b"after\nend"
        assert follower.wait(DEADLINE) == 0


def test_much_output_is_kept_and_read_whole(slipway, ecs, mark):
    arn, = run(ecs, define(ecs, "much", container(mark, "seq 1 200000")))
    stopped(ecs, arn)
    assert slipway_run(slipway, "logs", arn).stdout == b"".join(
        b"%d\n" % number for number in range(1, 200001))


@pytest.mark.sanitized
def test_followers_do_not_keep_a_server_from_stopping(start_slipway, mark):
    server = start_slipway("--stop-tasks-on-exit")
    ecs = server.boto()
    arn, = run(ecs, define(ecs, "long", container(mark, "echo begun; " + LONG)))
    running(ecs, arn)
    line, environment = command(server, "logs", "-f", arn)
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as follower:
        assert follower.stdout.readline() == b"begun\n"
        server.stop()
        follower.wait(DEADLINE)


# ---- exec ----

@pytest.mark.sanitized
def test_exec(slipway, task):
    result = slipway_run(slipway, "exec", task, "--", "sh", "-c",
                         "echo out; echo err >&2; cat; exit 7", input=b"typed\n")
    assert (result.returncode, result.stdout, result.stderr) == (7, b"out\ntyped\n", b"err\n")
    result = slipway_run(slipway, "exec", task, "--", "printenv", "SLIPWAY_TASK")
    assert (result.returncode, result.stdout.decode()) == (0, task_id(task) + "\n")
    result = slipway_run(slipway, "exec", task, "--", "sh", "-c", "kill -9 $$")
    assert result.returncode == 137


def test_exec_copies_everything(slipway, task):
    data = os.urandom(1 << 20) * 5
    result = slipway_run(slipway, "exec", task, "--", "cat", input=data)
    assert result.returncode == 0
    assert result.stdout == data


@pytest.mark.sanitized
def test_exec_of_a_program_that_reads_nothing(slipway, task):
    result = slipway_run(slipway, "exec", task, "--", "true", input=b"x" * (5 << 20))
    assert result.returncode == 0


@pytest.fixture
def report_size():
    """A program's terminal has its size before the program begins."""
    return "stty size"


def test_exec_with_a_terminal(slipway, task, report_size):
    line, environment = command(slipway, "exec", "-t", task, "--", "sh", "-c",
                                f"{report_size}; read word; echo got $word; exit 3")
    ours, theirs = pty.openpty()
    seen = b""
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
        with subprocess.Popen(line, env=environment, stdin=theirs, stdout=theirs, stderr=theirs,
                              start_new_session=True) as client:
            os.close(theirs)
            theirs = -1
            deadline = time.monotonic() + DEADLINE
            typed = False
            while time.monotonic() < deadline:
                if not select.select([ours], [], [], 1)[0]:
                    continue
                try:
                    piece = os.read(ours, 4096)
                except OSError:
                    break
                if not piece:
                    break
                seen += piece
                if b"33 77" in seen and not typed:
                    os.write(ours, b"hello\r")
                    typed = True
            try:
                assert client.wait(DEADLINE) == 3, seen
            finally:
                client.kill()
    finally:
        os.close(ours)
        if theirs >= 0:
            os.close(theirs)
    assert b"got hello" in seen


@pytest.mark.sanitized
def test_a_program_ends_with_its_client(slipway, task, mark):
    other = mark.another()
    line, environment = command(slipway, "exec", task, "--", "env", f"MARK={other.value}", "sleep",
                                "1000")
    with subprocess.Popen(line, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL) as client:
        other.wait_for(1)
        client.kill()
    wait_until(lambda: other.processes() == {}, "the program ends")
    assert mark.processes() != {}


def test_many_programs_at_once(slipway, task):
    results = {}

    def one(number):
        results[number] = slipway_run(slipway, "exec", task, "--", "sh", "-c",
                                      f"sleep 0.1; echo {number}; exit {number}")

    threads = [threading.Thread(target=one, args=(number,)) for number in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: (result.returncode, result.stdout) for number, result in results.items()} == {
        number: (number, f"{number}\n".encode()) for number in range(1, 6)}


@pytest.mark.parametrize("words, part", [
    (["-t"], "say which task"), (["TASK"], "say what to run"), (["TASK", "--"], "say what to run")])
def test_exec_misused(slipway, words, part):
    result = slipway_run(slipway, "exec", *words)
    assert result.returncode == 2 and part in result.stderr.decode()


def test_exec_refused(slipway, ecs, mark, task):
    result = slipway_run(slipway, "exec", task, "--", "/no/such/program")
    assert result.returncode == 127 and b"/no/such/program" in result.stderr
    result = slipway_run(slipway, "exec", "0" * 32, "--", "true")
    assert result.returncode == 1 and b"not found" in result.stderr
    arn, = run(ecs, define(ecs, "short", container(mark, "exit 0")))
    stopped(ecs, arn)
    result = slipway_run(slipway, "exec", arn, "--", "true")
    assert result.returncode == 1 and b"has stopped" in result.stderr
    assert describe(ecs, task)["lastStatus"] == "RUNNING"


def test_execute_command_names_what_works(ecs, task):
    message = refused(ecs.execute_command, "TargetNotConnectedException", "slipway exec",
                      task=task, command="sh", interactive=True)
    assert task_id(task) in message
    refused(ecs.execute_command, "InvalidParameterException", "not found", task="0" * 32,
            command="sh", interactive=True)


def make_key(server, policy, tmp_path):
    path = tmp_path / "policy.json"
    path.write_text(json.dumps({"Version": "2012-10-17", "Statement": policy}))
    answer = subprocess.run([slipway_program(), "key", "create", "--server", server.url, "--state",
                             server.state, "--user", "limited", "--policy", str(path), "-o", "json"],
                            capture_output=True, check=True, timeout=DEADLINE)
    return json.loads(answer.stdout)


def test_policies_hold(slipway, task, tmp_path):
    logs = make_key(slipway, [{"Effect": "Allow", "Action": "slipway:GetTaskLogs",
                               "Resource": task}], tmp_path)
    programs = make_key(slipway, [{"Effect": "Allow", "Action": "ecs:ExecuteCommand",
                                   "Resource": "arn:aws:ecs:*:*:task/default/*"}], tmp_path)
    wait_until(lambda: slipway_run(slipway, "logs", task, key=logs).stdout == b"begun\n", "it is read")
    result = slipway_run(slipway, "exec", task, "--", "true", key=logs)
    assert result.returncode == 1 and b"not authorized to perform: ecs:ExecuteCommand" in result.stderr
    assert slipway_run(slipway, "exec", task, "--", "true", key=programs).returncode == 0
    result = slipway_run(slipway, "logs", task, key=programs)
    assert result.returncode == 1 and b"not authorized to perform: slipway:GetTaskLogs" in result.stderr
    # Nor does the answer reveal whether there is a task.
    result = slipway_run(slipway, "exec", "0" * 32, "--", "true", key=logs)
    assert result.returncode == 1 and b"not authorized" in result.stderr
    # Unsigned requests, and input for another's session.
    assert slipway.request("POST", "/v1/exec", "{}").status == 403
    assert slipway.request("POST", "/v1/logs", "{}").status == 403
    assert slipway.request("POST", "/v1/exec/1/input", "x").status == 403


def test_audit_has_programs(slipway, task):
    slipway_run(slipway, "exec", task, "--", "true")

    def is_written():
        with open(os.path.join(slipway.state, "audit.log"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        return any(line["operation"] == "slipway:ExecuteCommand" and line["resource"] == task
                   for line in lines)

    wait_until(is_written, "it is written down")


def test_a_client_that_does_not_read_is_waited_for(slipway, task):
    line, environment = command(slipway, "exec", task, "--", "sh", "-c", "yes | head -c 20000000")
    with subprocess.Popen(line, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as client:
        time.sleep(0.5)  # for the pipes between to fill; that they do not is no failure
        client.send_signal(signal.SIGSTOP)
        time.sleep(0.2)
        client.send_signal(signal.SIGCONT)
        assert len(client.stdout.read()) == 20000000
        assert client.wait(DEADLINE) == 0
