"""Upgrades: databases that an earlier slipway wrote, and a newer slipway that comes while an older one runs.

stores/format-N.sql is a database of format N as the last slipway of that format wrote it, format-N.json the keys that
belong to it and what its API answered; format-N.postgres.sql has the tables of that format in PostgreSQL, into which the
same records are put. Every slipway must open all of them and answer the same. When STORE_FORMAT is about to be raised, run
stores/make with the program from before and keep what it writes; fixtures that are there are never written anew. An
answer that gets more members is not a reason to change them, either: only earlier members are compared.
"""
import contextlib
import glob
import hashlib
import hmac
import json
import os
import signal
import sqlite3
import struct
import subprocess

import botocore.exceptions
import pytest

from conftest import DEADLINE, wait_until
from fleets import Fleet
from programs import LONG, Mark, container, task_id
from rest_requests import ask
from stores.filling import ASKED_WITH, ask_everything

STORES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "stores")
FORMATS = sorted(os.path.basename(path)[:-len(".json")] for path in glob.glob(os.path.join(STORES, "format-*.json")))
NEWER = "database is from a newer slipway (format 2, this one knows 1)"


def sql(url, text):
    """Runs statements in PostgreSQL, from outside of slipway; the last one's answer."""
    done = subprocess.run(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-d", url], input=text, text=True,
                          capture_output=True, check=False, timeout=DEADLINE * 2)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ---- databases of earlier formats ----

class Store:
    """A database of an earlier slipway."""

    def __init__(self, name):
        with open(os.path.join(STORES, name + ".json"), encoding="utf-8") as file:
            self.about = json.load(file)
        self.name = name

    def restore(self, state):
        """Into a state folder."""
        os.makedirs(state, exist_ok=True)
        for name in ("integrity.key", "admin-key.json"):
            value = self.about[name]
            with open(os.path.join(state, name), "w", encoding="utf-8") as file:
                file.write(value if isinstance(value, str) else json.dumps(value))
        with contextlib.closing(self.database(os.path.join(state, "slipway.db"))):
            pass

    def database(self, path=":memory:"):
        database = sqlite3.connect(path)
        with open(os.path.join(STORES, self.name + ".sql"), encoding="utf-8") as file:
            database.executescript(file.read())
        return database

    def restore_postgres(self, url):
        """The same records, each of them the last change of its key."""
        def literal(value):
            return f"'\\x{(value if isinstance(value, bytes) else value.encode()).hex()}'"

        with contextlib.closing(self.database()) as database:
            rows = database.execute("SELECT revision, kind, key, api, private, mac FROM rows").fetchall()
            revision, = database.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()
        with open(os.path.join(STORES, self.name + ".postgres.sql"), encoding="utf-8") as file:
            lines = [file.read()]
        for number, kind, key, *rest in rows:
            api, private, mac = (literal(value) for value in rest)
            lines.append(f"INSERT INTO slipway.log VALUES ({number}, {literal(kind)}, {literal(key)}, false, "
                         f"{api}, {private}, {mac}, 0, NULL);"
                         f"INSERT INTO slipway.live VALUES ({literal(kind)}, {literal(key)}, {number});")
        lines.append(f"INSERT INTO slipway.head (revision, pruned) VALUES ({revision}, {revision});")
        sql(url, "\n".join(lines))

    def rows(self):
        with contextlib.closing(self.database()) as database:
            return database.execute("SELECT count(*) FROM rows").fetchone()[0]


# Members that are answered otherwise now, and why.
CHANGED = {
    ".elb.balancers[0].AvailabilityZones[0].LoadBalancerAddresses": "AWS returns them for network load balancers only",
    ".elb.balancers[0].AvailabilityZones[1].LoadBalancerAddresses": "AWS returns them for network load balancers only",
    ".slipway.shop.environment.currentState": "environments of type Service had none",
}


def missing(before, now, path=""):
    """Where an earlier answer is missing in the present one. There may be more now."""
    if isinstance(before, dict) and isinstance(now, dict):
        return [line for name in before if f"{path}.{name}" not in CHANGED for line in
                (missing(before[name], now[name], f"{path}.{name}") if name in now else [f"{path}.{name} is missing"])]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [line for i, item in enumerate(before) for line in missing(item, now[i], f"{path}[{i}]")]
    return [] if before == now else [f"{path} was {before!r}, is {now!r}"]


def assert_serves(server, store):
    assert "slipway_store_quarantined 0\n" in server.get("/metrics").text, server.stderr
    with contextlib.suppress(AssertionError):  # which would not say what
        wait_until(lambda: not missing(store.about["answers"], ask_everything(server)), "all of it is returned")
    found = missing(store.about["answers"], ask_everything(server))
    assert not found, "\n".join(found)
    assert "does not know" not in server.stderr


@pytest.mark.parametrize("name", FORMATS)
def test_a_database_of_an_earlier_slipway_is_served(start_slipway, tmp_path, name):
    store = Store(name)
    state = str(tmp_path / "state")
    store.restore(state)
    server = start_slipway(*ASKED_WITH, state=state)
    assert_serves(server, store)
    # It can be written, and what is written is kept with the rest.
    server.boto().create_cluster(clusterName="of-today")
    server.stop()
    again = start_slipway(*ASKED_WITH, state=state)
    assert again.boto().describe_clusters(clusters=["of-today"])["clusters"][0]["status"] == "ACTIVE"
    again.boto().delete_cluster(cluster="of-today")
    before = dict(store.about["answers"], ecs=dict(store.about["answers"]["ecs"]))
    del before["ecs"]["clusters"]  # one more, INACTIVE, is none the less
    wait_until(lambda: not missing(before, ask_everything(again)), "the rest is as it was")


@pytest.mark.parametrize("name", FORMATS)
def test_records_of_an_earlier_slipway_in_postgresql_are_served(start_slipway, postgres_url, tmp_path, name):
    store = Store(name)
    state = str(tmp_path / "state")
    store.restore(state)
    os.remove(os.path.join(state, "slipway.db"))
    store.restore_postgres(postgres_url)
    server = start_slipway(*ASKED_WITH, "--store", postgres_url, state=state)
    assert_serves(server, store)


def test_there_is_a_fixture_of_every_format():
    """The format of today gets its fixture before it is raised; see above."""
    with open(os.path.join(STORES, "../../../src/store/backend.h"), encoding="utf-8") as file:
        today = int(next(line for line in file if line.startswith("#define STORE_FORMAT ")).split()[2])
    assert FORMATS == [f"format-{number}" for number in range(1, today + 1)]
    for name in FORMATS:
        assert os.path.exists(os.path.join(STORES, name + ".postgres.sql"))
        assert Store(name).rows() > 100


# ---- a newer slipway comes ----

class Upgraded(Fleet):
    """A server on PostgreSQL whose database a newer slipway may bring forward."""

    def __init__(self, server, url):
        super().__init__(server)
        self.url = url

    def bring_forward(self):
        """As the step of a newer slipway does it."""
        sql(self.url, "BEGIN; SELECT revision FROM slipway.head WHERE single FOR UPDATE;"
                      "UPDATE slipway.format SET version = 2; NOTIFY slipway; COMMIT")

    def put_back(self):
        sql(self.url, "UPDATE slipway.format SET version = 1")

    def written(self):
        return sql(self.url, "SELECT revision, (SELECT max(revision) FROM slipway.log), "
                             "(SELECT count(*) FROM slipway.live) FROM slipway.head")

    def kill_one(self):
        """One of its programs dies."""
        pid = min(self.mark.processes())
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: pid not in self.mark.processes(), "a program has died")


INSTANCES = 3
# Longer than the lease of a server, in which it would renew its claims, replace what died, or give up.
SOME_TIME = 15


@pytest.fixture(name="upgraded")
def new_upgraded(start_slipway, postgres_url):
    fleet = Upgraded(start_slipway("--instances", INSTANCES, "--store", postgres_url), postgres_url)
    wait_until(lambda: len(fleet.instances()) == INSTANCES, "instances are there")
    yield fleet
    fleet.put_back()
    wait_until(lambda: fleet.server.get("/readyz").status == 200, "it is ready again")
    fleet.remove()


def refusal_of(call, **arguments):
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        call(**arguments)
    return refused.value.response


def assert_refuses_to_change(fleet):
    """Everything that would change something, each by the API of its own; reads go on."""
    calls = [(fleet.ecs.create_cluster, {"clusterName": "late"}),
             (fleet.ecs.register_task_definition, {"family": "late", "containerDefinitions": [
                 container(fleet.mark, LONG)]}),
             (fleet.ecs.run_task, {"taskDefinition": fleet.name}),
             (fleet.ecs.stop_task, {"task": sorted(fleet.mark.tasks())[0]}),
             (fleet.api.start_deployment, {"name": fleet.name,
                                           "environmentVersion": fleet.get()["latestVersion"]}),
             (fleet.api.delete_environment, {"name": fleet.name, "terminateTasks": True}),
             (fleet.server.boto("elbv2").create_target_group, {"Name": "late", "Protocol": "TCP", "Port": 80,
                                                               "VpcId": "vpc-1", "TargetType": "ip"}),
             (fleet.server.boto("servicediscovery").create_http_namespace, {"Name": "late"})]
    for call, arguments in calls:
        answer = refusal_of(call, **arguments)
        assert answer["ResponseMetadata"]["HTTPStatusCode"] >= 500
        assert NEWER in answer["Error"]["Message"]
    answer = ask(fleet.server, "POST", "/v1/keys", b'{"user": "late"}')
    assert answer.status == 503 and NEWER in answer.text
    assert fleet.ecs.list_clusters()["clusterArns"] and fleet.get()["name"] == fleet.name


def test_an_older_server_stops_acting_and_goes_on_when_it_may(upgraded):
    version = upgraded.roll_out(upgraded.define(1))
    upgraded.assert_one_each(upgraded.instances())
    newer = upgraded.update(upgraded.define(2))
    upgraded.bring_forward()
    left = upgraded.written()
    upgraded.kill_one()
    living = upgraded.mark.processes().keys()
    assert len(living) == INSTANCES - 1
    wait_until(lambda: upgraded.server.get("/readyz").status == 503, "/readyz fails")
    answer = upgraded.server.get("/readyz")
    assert answer.json == {"code": "StoreUnavailable", "message": f"the store cannot be written: {NEWER}"}
    assert upgraded.server.get("/healthz").status == 200
    assert "slipway_store_available 0\n" in upgraded.server.get("/metrics").text
    assert f"{NEWER}: this server decides nothing more until it is replaced" in upgraded.server.stderr
    assert_refuses_to_change(upgraded)
    with pytest.raises(AssertionError):
        wait_until(lambda: upgraded.mark.processes().keys() != living or upgraded.written() != left,
                   "something is done", SOME_TIME)
    upgraded.server.check_alive()
    upgraded.put_back()
    wait_until(lambda: upgraded.server.get("/readyz").status == 200, "it is ready again")
    assert "the database can be written again" in upgraded.server.stderr
    upgraded.mark.wait_for(INSTANCES, VERSION="1")
    assert living <= upgraded.mark.processes().keys(), "the others were left alone"
    wait_until(lambda: upgraded.get()["counts"]["active"] == INSTANCES, "and it says so")
    assert not [one for one in upgraded.ecs.list_clusters()["clusterArns"] if one.endswith("/late")]
    assert upgraded.get()["activeVersion"] == version
    upgraded.wait_for(upgraded.deploy(newer), "completed")
    upgraded.assert_one_each(upgraded.instances(), VERSION="2")


def test_an_older_server_in_the_middle_of_a_deployment(upgraded):
    """It stands still where it was, and is gone on with."""
    upgraded.roll_out(upgraded.define(1))
    version = upgraded.update(upgraded.define(2), deploymentConfiguration={
        "minHealthyPercent": 60, "warmUpSeconds": 5})
    identifier = upgraded.deploy(version)
    wait_until(lambda: upgraded.mark.tasks(VERSION="2"), "it has begun")
    upgraded.bring_forward()
    left = upgraded.written()
    wait_until(lambda: upgraded.server.get("/readyz").status == 503, "/readyz fails")

    def places():
        return [upgraded.mark.tasks(VERSION=str(number)) for number in (1, 2)]

    assert upgraded.written() == left
    # Tasks may still start or stop if that was requested before, but no others.
    assert len(places()[0]) >= INSTANCES - 2
    found = wait_until(lambda: (now := places()) and all(map(len, now)) and now, "some have the one, some the other")
    with pytest.raises(AssertionError):
        wait_until(lambda: len(places()[1]) > len(found[1]) + 1 or upgraded.written() != left, "it continues", SOME_TIME)
    upgraded.put_back()
    upgraded.wait_for(identifier, "completed")
    upgraded.assert_one_each(upgraded.instances(), VERSION="2")


def test_an_older_server_does_not_start_and_stops_cleanly(start_slipway, postgres_url):
    server = start_slipway("--runtime", "none", "--store", postgres_url)
    sql(postgres_url, "UPDATE slipway.format SET version = 2")
    wait_until(lambda: server.get("/readyz").status == 503, "/readyz fails")
    left = sql(postgres_url, "SELECT revision FROM slipway.head")
    server.stop()
    with pytest.raises(pytest.fail.Exception) as refused:
        start_slipway("--runtime", "none", "--store", postgres_url, state=server.state)
    assert NEWER in str(refused.value)
    assert sql(postgres_url, "SELECT revision FROM slipway.head") == left


# ---- records of a newer slipway with the same format ----

def seal(key, kind, name, revision, api, private):
    """As src/store/integrity.c does."""
    texts = [kind, name, api, private]
    head = struct.pack("<BBQ4I", 1, 0, revision, *(len(text) for text in texts))
    return hmac.new(key, head + b"".join(texts), hashlib.sha256).digest()


class Newer:
    """Writes records that a newer slipway may write, with their seals."""

    def __init__(self, server, url):
        with open(os.path.join(server.state, "integrity.key"), encoding="ascii") as file:
            self.key = bytes.fromhex(file.read().strip())
        self.url = url

    def read(self, kind, like):
        """(key, api, private) of one record."""
        answer = sql(self.url, "SELECT encode(log.key, 'hex'), encode(api, 'hex'), encode(private, 'hex') "
                               "FROM slipway.live JOIN slipway.log USING (revision) WHERE live.kind = "
                               f"'{kind}'::bytea AND position('{like}'::bytea in live.key) > 0")
        assert answer.count("\n") == 0 and answer, answer
        return [bytes.fromhex(part) for part in answer.split("|")]

    def write(self, kind, key, api, private):
        """The revision. There is no other writer in between: the head is locked, or it is tried again."""
        kind = kind.encode()
        for _ in range(100):
            last = int(sql(self.url, "SELECT revision FROM slipway.head"))
            mac = seal(self.key, kind, key, last + 1, api, private)
            values = ", ".join(f"'\\x{value.hex()}'" for value in (kind, key, api, private, mac))
            done = sql(self.url, f"""
                BEGIN;
                WITH locked AS (SELECT revision FROM slipway.head WHERE single AND revision = {last} FOR UPDATE),
                     given (kind, key, api, private, mac) AS (SELECT {values.replace(", ", "::bytea, ")}::bytea),
                     logged AS (
                         INSERT INTO slipway.log (revision, kind, key, deleted, api, private, mac, writer, replaces)
                         SELECT locked.revision + 1, given.kind, given.key, false, given.api, given.private, given.mac, 7,
                             (SELECT live.revision FROM slipway.live
                              WHERE live.kind = given.kind AND live.key = given.key)
                         FROM locked, given),
                     lived AS (
                         INSERT INTO slipway.live (kind, key, revision)
                         SELECT given.kind, given.key, locked.revision + 1 FROM locked, given
                         ON CONFLICT (kind, key) DO UPDATE SET revision = excluded.revision)
                UPDATE slipway.head SET revision = locked.revision + 1 FROM locked RETURNING head.revision;
                NOTIFY slipway; COMMIT""")
            if done:
                return int(done)
        raise AssertionError("the head never stands still")


def with_members(text, **members):
    return json.dumps({**json.loads(text), **members}, separators=(",", ":"), ensure_ascii=False).encode()


def test_a_task_whose_record_is_a_newer_slipways_is_left_alone(start_slipway, postgres_url):
    """Neither shown nor ended nor written over, nor does it take others with it."""
    mark = Mark()
    server = start_slipway("--store", postgres_url)
    ecs, newer = server.boto(), Newer(server, postgres_url)
    ecs.register_task_definition(family="web", networkMode="bridge",
                                 containerDefinitions=[container(mark, LONG)])
    arns = [task["taskArn"] for task in ecs.run_task(taskDefinition="web", count=2)["tasks"]]
    ecs.get_waiter("tasks_running").wait(tasks=arns, WaiterConfig={"Delay": 1, "MaxAttempts": DEADLINE})
    strange, other = (task_id(arn) for arn in arns)
    key, api, private = newer.read("ecs.task", strange)
    for members in ({"last": "SUSPENDED"}, {"cpu": "a little"}, {"host": {"name": "x"}}):
        made = newer.write("ecs.task", key, api, with_members(private, **members))
        wait_until(lambda: f"(revision {made})" in server.stderr, "it is quarantined")
        assert "slipway_store_quarantined 1\n" in server.get("/metrics").text
        assert ecs.describe_tasks(tasks=arns)["failures"][0]["reason"] == "MISSING"
        assert ecs.list_tasks()["taskArns"] == [arns[1]]
        refusal_of(ecs.stop_task, task=strange)
    newer.write("ecs.tomorrow", b"123456789012/x", b"{}", b"{}")
    wait_until(lambda: "'ecs.tomorrow' that this slipway does not know" in server.stderr, "it is reported")
    # The other one is served as ever, and by the time that it has ended this one would have, too.
    ecs.stop_task(task=other)
    wait_until(lambda: other not in mark.tasks(), "the other one is stopped")
    server.stop()
    server = start_slipway("--store", postgres_url, state=server.state)
    wait_until(lambda: server.get("/readyz").status == 200, "it is ready")
    arn, = [task["taskArn"] for task in server.boto().run_task(taskDefinition="web")["tasks"]]
    wait_until(lambda: mark.tasks() == {strange, task_id(arn)}, "a third one runs, and the strange one does")
    assert newer.read("ecs.task", strange)[2] == with_members(private, host={"name": "x"})
    # Read again when it can be: here with an unknown member.
    newer.write("ecs.task", key, api, with_members(private, tomorrow=[1, 2]))
    wait_until(lambda: "slipway_store_quarantined 0\n" in server.get("/metrics").text, "it can be read")
    server.boto().stop_task(task=strange)
    wait_until(lambda: mark.tasks() == {task_id(arn)}, "and stopped")


def test_an_environment_with_a_newer_record_is_left_alone(upgraded):
    """Nothing is done for it, by anybody, and another one is served."""
    upgraded.roll_out(upgraded.define(1))
    newer = Newer(upgraded.server, upgraded.url)
    key, api, private = newer.read("daemon.version", upgraded.name)
    newer.write("daemon.version", key, api, with_members(private, minimumHealthy="most"))
    wait_until(lambda: "slipway_store_quarantined 1\n" in upgraded.server.get("/metrics").text, "it is quarantined")
    upgraded.kill_one()
    answer = refusal_of(upgraded.api.start_deployment, name=upgraded.name,
                        environmentVersion="00000000-0000-0000-0000-000000000000")
    assert "quarantined" in answer["Error"]["Message"]
    other = Fleet(upgraded.server)
    other.roll_out(other.define(1))
    assert len(upgraded.mark.tasks()) == INSTANCES - 1
    other.remove()
    newer.write("daemon.version", key, api, private)
    upgraded.mark.wait_for(INSTANCES)
