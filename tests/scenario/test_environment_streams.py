"""Streams of changes of tasks and instances, and webhooks, on real programs."""
import hashlib
import hmac
import http.client
import http.server
import json
import os
import resource
import selectors
import socket
import threading
import time
import urllib.parse

import pytest

from conftest import DEADLINE, wait_until
from fleets import Fleet, refusal
from rest_requests import ask, rest_client, signed
from test_operating import command

INSTANCES = 2
SERVER_ARGUMENTS = ["--instances", str(INSTANCES)]


class Refused(Exception):
    """The status and code of an answer that is no stream."""


class Reader:
    """Reads a stream in a thread; lines are kept in order."""

    def __init__(self, server, what="tasks", **parameters):
        path = f"/v1/stream/{what}?" + urllib.parse.urlencode(parameters)
        address = urllib.parse.urlsplit(server.url)
        self.lines = []
        self.ended = False
        self.connection = http.client.HTTPConnection(address.hostname, address.port)
        self.connection.request("GET", path, headers=signed(server, "GET", path))
        self.socket = self.connection.sock
        self.answer = self.connection.getresponse()
        if self.answer.status != 200:
            text = self.answer.read()
            self.connection.close()
            raise Refused(self.answer.status, json.loads(text)["code"])
        assert self.answer.headers["content-type"] == "application/x-ndjson"
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            while line := self.answer.readline():
                self.lines.append(json.loads(line))
        except (OSError, http.client.HTTPException, ValueError):
            pass  # it was closed
        self.ended = True

    def of(self, *changes):
        return [line for line in list(self.lines) if line["change"] in changes]

    def position(self):
        return max((line["entityVersion"] for line in list(self.lines) if "entityVersion" in line),
                   default=None)

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the server was faster
        self.thread.join(DEADLINE)
        self.connection.close()


@pytest.fixture(name="fleet")
def new_fleet(slipway):
    fleet = Fleet(slipway)
    yield fleet
    fleet.remove()


def test_tasks_are_streamed_as_they_change(fleet):
    reader = Reader(fleet.server, environment=fleet.name)
    wait_until(lambda: reader.of("position"), "the snapshot is complete")
    assert not reader.of("snapshot")
    fleet.roll_out(fleet.define(1))
    wait_until(lambda: len({line["task"]["task"] for line in reader.of("updated")
                            if line["task"]["lastStatus"] == "RUNNING"}) == INSTANCES,
               "both run")
    assert all((line["task"]["environment"], line["task"]["cluster"]) == (fleet.name, "default")
               for line in reader.of("updated"))
    versions = [line["entityVersion"] for line in reader.of("updated")]
    assert versions == sorted(set(versions)), "in order, and none twice"
    # A second one begins with what there is.
    second = Reader(fleet.server, environment=fleet.name)
    wait_until(lambda: second.of("position"), "the snapshot is complete")
    assert {line["task"]["lastStatus"] for line in second.of("snapshot")} == {"RUNNING"}
    assert len(second.of("snapshot")) == INSTANCES
    reader.close()
    second.close()


def test_resumed_where_it_was_cut(fleet):
    whole = Reader(fleet.server, environment=fleet.name)
    wait_until(lambda: whole.of("position"), "the snapshot is complete")
    position, parts = whole.position(), []
    fleet.roll_out(fleet.define(1))
    for number in (2, 3):
        part = Reader(fleet.server, environment=fleet.name, entityVersion=position)
        fleet.wait_for(fleet.deploy(fleet.update(fleet.define(number))), "completed")
        wait_until(lambda: part.of("updated", "deleted"), "something came")
        part.close()
        parts += part.of("updated", "deleted")
        position = parts[-1]["entityVersion"]
    last = Reader(fleet.server, environment=fleet.name, entityVersion=position)
    fleet.mark.wait_for(INSTANCES, VERSION="3")
    end = wait_until(lambda: {line["task"]["lastStatus"] for line in whole.of("updated")}
                     >= {"RUNNING", "STOPPED"} and whole.position(), "it was reported")

    def same():
        seen = parts + last.of("updated", "deleted")
        return [line for line in seen if line["entityVersion"] <= end] == [
            line for line in whole.of("updated", "deleted") if line["entityVersion"] <= end]

    wait_until(same, "the parts are the whole")
    for reader in (whole, last):
        reader.close()


def test_instances_are_streamed(slipway, fleet):
    reader = Reader(fleet.server, "instances", cluster="default")
    wait_until(lambda: reader.of("position"), "the snapshot is complete")
    assert len(reader.of("snapshot")) == INSTANCES
    instance = fleet.instances()[0]
    fleet.ecs.put_attributes(attributes=[{"name": fleet.name, "value": "x", "targetId": instance,
                                          "targetType": "container-instance"}])
    # Changes of tasks of earlier tests may come before.
    told = wait_until(lambda: [line["instance"] for line in reader.of("updated") if {
        "name": fleet.name, "value": "x"} in line["instance"]["attributes"]], "it is reported")[0]
    assert told["cluster"] == "default"
    reader.close()
    assert slipway.process.poll() is None


def test_positions_that_are_too_old_or_wrong_are_rejected(slipway, fleet):
    answer = refusal(fleet.api.stream_tasks, "EntityVersionTooOldException", 410,
                     entityVersion=10 ** 12)
    assert "begin without it" in answer["Error"]["Message"]
    for query, status in (("entityVersion=x", 400), ("entityVersion=-1", 400), ("nonsense=1", 400),
                          ("cluster=" + urllib.parse.quote("a b"), 400)):
        assert ask(slipway, "GET", "/v1/stream/tasks?" + query).status == status
    assert slipway.request("GET", "/v1/stream/tasks").status == 403


def test_a_stream_ends_at_a_restart_and_is_resumed(start_slipway):
    server = start_slipway("--instances", "1")
    reader = Reader(server)
    position = wait_until(reader.position, "the snapshot is complete")
    server.stop()
    wait_until(lambda: reader.ended, "it has ended")
    assert reader.lines[-1]["change"] == "end"
    assert reader.lines[-1]["reason"] == "SHUTTING_DOWN"
    assert reader.lines[-1]["entityVersion"] >= position
    server = start_slipway("--instances", "1", state=server.state)
    fleet = Fleet(server)
    # Either it continues where it was, or it says that it cannot.
    try:
        again = Reader(fleet.server, entityVersion=reader.lines[-1]["entityVersion"])
    except Refused as refused:
        assert refused.args == (410, "EntityVersionTooOldException")
        again = Reader(fleet.server)
    fleet.roll_out(fleet.define(1))
    wait_until(lambda: [line for line in again.of("updated")
                        if line["task"]["lastStatus"] == "RUNNING"], "it continues")
    again.close()
    fleet.remove()


def test_a_client_that_does_not_read_blocks_no_other(slipway, fleet):
    headers = signed(slipway, "GET", "/v1/stream/tasks")
    address = urllib.parse.urlsplit(slipway.url)
    lazy = []
    for _ in range(8):
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=DEADLINE)
        connection.connect()
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.request("GET", "/v1/stream/tasks", headers=headers)
        lazy.append(connection)
    try:
        reader = Reader(fleet.server, environment=fleet.name)
        fleet.roll_out(fleet.define(1))
        wait_until(lambda: len(reader.of("updated")) >= 2 * INSTANCES, "others are served")
        reader.close()
    finally:
        for connection in lazy:
            connection.close()


def test_a_client_that_does_not_read_is_closed_with_a_reason(start_slipway):
    """More changes than the buffers of sockets hold, and a client that reads none of them for longer than the limit."""
    server = start_slipway("--runtime", "none")
    ecs = server.boto("ecs")
    ecs.create_cluster(clusterName="many")
    ecs.register_container_instance(cluster="many", totalResources=[
        {"name": name, "type": "INTEGER", "integerValue": 10 ** 6} for name in ("CPU", "MEMORY")])
    ecs.register_task_definition(family="small", containerDefinitions=[
        {"name": "app", "image": "host", "memory": 4}])
    for _ in range(1500):
        ecs.run_task(cluster="many", taskDefinition="small", count=10)
    address = urllib.parse.urlsplit(server.url)
    path = "/v1/stream/tasks"

    def come_late():
        """The limit is 15 s, and a client that reads nothing for 30 s gets no reason: this client was one of those."""
        began = time.monotonic()
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=DEADLINE)
        try:
            connection.request("GET", path, headers=signed(server, "GET", path))
            answer = connection.getresponse()
            time.sleep(22)
            return answer.read().splitlines()
        except http.client.IncompleteRead:
            assert time.monotonic() - began >= 30
            return None
        finally:
            connection.close()

    lines = wait_until(come_late, "it is reported", 3 * DEADLINE)
    assert len(lines) < 15000
    assert json.loads(lines[-1]) == {"change": "end", "reason": "SLOW_CONSUMER"}


MANY = 10000  # SERVER_STREAMS_MAX


def threads_of(server):
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


class ManyReaders:
    """Streams that are read all at once; each keeps its last line."""

    def __init__(self, server, count):
        address = urllib.parse.urlsplit(server.url)
        path = "/v1/stream/tasks"
        head = "".join(f"{name}: {value}\r\n" for name, value in signed(server, "GET", path).items()
                       if name.lower() != "host")
        self.request = (f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\n{head}\r\n").encode()
        self.address = (address.hostname, address.port)
        self.poll = selectors.EpollSelector()
        self.last = {}
        for _ in range(count):
            self.add()

    def add(self):
        reader = socket.create_connection(self.address, DEADLINE)
        reader.sendall(self.request)
        reader.setblocking(False)
        self.poll.register(reader, selectors.EVENT_READ)
        self.last[reader] = b""
        return reader

    def read(self):
        for key, _ in self.poll.select(0.05):
            self.last[key.fileobj] = (self.last[key.fileobj] + key.fileobj.recv(65536))[-4096:]

    def wait_for(self, text):
        def all_have_it():
            self.read()
            return all(text in last for last in self.last.values())

        wait_until(all_have_it, f"every stream has {text}", 3 * DEADLINE)

    def close(self):
        self.poll.close()
        for reader in self.last:
            reader.close()


def test_ten_thousand_streams_on_a_constant_number_of_threads(start_slipway, tmp_path):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    config = tmp_path / "slipway.yaml"
    config.write_text(f"http:\n  connectionsMax: {MANY + 100}\n"
                      "limits:\n  environmentReadsPerSecond: 0\n")
    server = start_slipway("--config", config)
    readers = ManyReaders(server, 1)
    try:
        readers.wait_for(b'"position"')
        threads = threads_of(server)
        for _ in range(MANY - 1):
            readers.add()
            if len(readers.last) % 100 == 0:
                readers.read()
        readers.wait_for(b'"position"')
        with pytest.raises(Refused, match="429.*ThrottlingException"):
            Reader(server)
        ecs = server.boto()
        ecs.register_task_definition(family="seen", containerDefinitions=[
            {"name": "app", "image": "host", "memory": 16, "command": ["true"]}])
        arn = ecs.run_task(taskDefinition="seen")["tasks"][0]["taskArn"].encode()
        readers.wait_for(arn.rsplit(b"/", 1)[1])
        assert threads_of(server) == threads
    finally:
        readers.close()

    # There is room again.
    def one_more():
        try:
            Reader(server).close()
            return True
        except Refused:
            return False

    wait_until(one_more, "there is room for a stream")


# ---- webhooks ----

class Receiver:
    """An address that takes what is posted, or refuses it."""

    def __init__(self):
        self.taken, self.status = [], 200
        self.seen = 0
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.seen += 1
                status = receiver.status
                if status == 200:
                    receiver.taken.append((dict(self.headers.items()), body))
                self.send_response(status)
                if status == 302:
                    self.send_header("location", receiver.url + "secondary")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *arguments):  # pylint: disable=arguments-differ
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def bodies(self, name=None):
        found = [json.loads(body) for _, body in list(self.taken)]
        return [body for body in found if name in (None, body.get("environment"))]

    def events(self, name=None):
        return [body["event"] for body in self.bodies(name)]

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture(name="receiver")
def new_receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


def hooks_file(folder, *hooks):
    path = os.path.join(folder, "slipway.yaml")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"webhooks": list(hooks)}, file)
    return path


def once(sequence):
    return list(dict.fromkeys(sequence))


def test_webhooks_are_sent_in_order_and_signed(start_slipway, receiver, tmp_path):
    secret = os.path.join(tmp_path, "secret")
    with open(secret, "w", encoding="utf-8") as file:
        file.write("not a word to anybody\n")
    path = hooks_file(tmp_path, {"name": "chat", "url": receiver.url, "secretFile": secret},
                      {"name": "ends", "url": receiver.url, "events": ["deployment.completed"]},
                      {"name": "others", "url": receiver.url, "accounts": ["999999999999"]})
    server = start_slipway("--config", path, "--instances", "2")
    fleet = Fleet(server)
    identifier = fleet.deploy(fleet.create(fleet.define(1)))
    fleet.wait_for(identifier, "completed")
    wait_until(lambda: len(receiver.taken) >= 4, "all are reported")
    bodies = receiver.bodies(fleet.name)
    chat = [body for body in bodies if body["webhook"] == "chat"]
    assert [body["event"] for body in chat] == ["deployment.pending", "deployment.in-progress",
                                                "deployment.completed"]
    assert [body["sequence"] for body in chat] == sorted({body["sequence"] for body in chat})
    assert {body["deployment"]["deploymentId"] for body in chat} == {identifier}
    assert chat[-1]["deployment"]["completed"] == 2 and chat[-1]["environmentType"] == "Daemon"
    assert [body["event"] for body in bodies if body["webhook"] == "ends"] == [
        "deployment.completed"]
    assert not [body for body in bodies if body["webhook"] == "others"]
    for headers, body in receiver.taken:
        said = {name.lower(): value for name, value in headers.items()}
        digest = hmac.new(b"not a word to anybody", body, hashlib.sha256).hexdigest()
        chatting = json.loads(body)["webhook"] == "chat"
        assert said.get("x-slipway-signature") == ("sha256=" + digest if chatting else None)
        assert said["x-slipway-event"] == json.loads(body)["event"]
        assert said["x-slipway-delivery"].startswith("123456789012/" + fleet.name + "/")
    # Health, too.
    fleet.deploy(fleet.update(fleet.define(2, "exit 1")))
    wait_until(lambda: "health.unhealthy" in receiver.events(fleet.name), "it is reported")
    rolled = fleet.api.rollback_deployment(name=fleet.name)["deploymentId"]
    fleet.wait_for(rolled, "completed")
    wait_until(lambda: fleet.get()["health"] == "healthy" and [
        event for event in receiver.events(fleet.name) if event.startswith("health")][-1] ==
               "health.healthy", "well again")
    fleet.remove()


@pytest.mark.parametrize("status", [500, 302])
def test_webhooks_survive_a_receiver_that_is_away_and_crashes(start_slipway, receiver, tmp_path,
                                                              status):
    path = hooks_file(tmp_path, {"name": "chat", "url": receiver.url})
    server = start_slipway("--config", path, "--instances", "1")
    fleet = Fleet(server)
    receiver.status = status
    identifier = fleet.deploy(fleet.create(fleet.define(1)))
    fleet.wait_for(identifier, "completed")  # the receiver does not delay it
    wait_until(lambda: receiver.seen >= 2, "it is tried again")
    server.kill()
    server = start_slipway("--config", path, "--instances", "1", state=server.state)
    fleet.server, fleet.ecs, fleet.api = server, server.boto("ecs"), rest_client(server)
    receiver.status = 200
    wait_until(lambda: "deployment.completed" in receiver.events(fleet.name), "it is reported")
    assert once(receiver.events(fleet.name)) == ["deployment.pending", "deployment.in-progress",
                                                 "deployment.completed"]
    for number in (2, 3):
        fleet.wait_for(fleet.deploy(fleet.update(fleet.define(number))), "completed")
        server.kill()
        server = start_slipway("--config", path, "--instances", "1", state=server.state)
        fleet.server, fleet.ecs, fleet.api = server, server.boto("ecs"), rest_client(server)
    wait_until(lambda: receiver.events(fleet.name).count("deployment.completed") >= 3, "all are")
    sequences = once(body["sequence"] for body in receiver.bodies(fleet.name)
                     if body["event"].startswith("deployment"))
    assert sequences == sorted(sequences), "in order"
    fleet.remove()


@pytest.mark.parametrize("hook, complaint", [
    ({"name": "a"}, "webhooks[0].url: is required"),
    ({"name": "A b", "url": "http://a/"}, "webhooks[0].name: 'A b'"),
    ({"name": "a", "url": "ftp://a/"}, "webhooks[0].url: 'ftp://a/'"),
    ({"name": "a", "url": "http://a/", "evnts": []}, "did you mean 'events'"),
    ({"name": "a", "url": "http://a/", "events": ["deployed"]}, "no event 'deployed'"),
    ({"name": "a", "url": "http://a/", "secretFile": "/nowhere"}, "webhooks[0].secretFile"),
])
def test_wrong_webhooks_are_refused_by_name(tmp_path, hook, complaint):
    refused = command("config", "check", hooks_file(tmp_path, hook))
    assert refused.returncode == 1 and complaint in refused.stderr
