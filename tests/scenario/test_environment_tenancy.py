"""Accounts beside each other: what one has, does or breaks is nothing to the others. Numbers are of scenarios."""
import json
import os
import threading
import time

import botocore.exceptions
import pytest

from conftest import wait_until
from fleets import Fleet, refusal
from rest_requests import ask, rest_client, signed
from test_identity import make_key, signed_headers

OTHER = "222222222222"


def environment_body(name, definition):
    return {"name": name, "taskDefinition": definition, "instanceGroup": {"cluster": "default"}}


class Tenant:
    """An account with a cluster and a task definition, and no instances."""

    def __init__(self, server, account):
        self.key = make_key(server, "--account", account, "--user", "them")
        self.ecs = server.boto("ecs", key=self.key)
        self.api = rest_client(server, key=self.key)
        self.ecs.create_cluster(clusterName="default")

    def define(self, family):
        return self.ecs.register_task_definition(family=family, containerDefinitions=[
            {"name": "app", "image": "host", "memory": 16}])["taskDefinition"]["taskDefinitionArn"]

    def create(self, name):
        return self.api.create_environment(**environment_body(name, self.define(name)))[
            "environmentVersion"]

    def names(self):
        return [item["name"] for item in self.api.list_environments()["environments"]]


def test_4_two_accounts_have_the_same_name(start_slipway):
    server = start_slipway("--instances", "1")
    ours, theirs = Fleet(server), Tenant(server, OTHER)
    ours.name = "log"
    version = ours.create(ours.define(1))
    refusal(theirs.api.get_environment, "ResourceNotFoundException", 404, name="log")
    refusal(theirs.api.start_deployment, "ResourceNotFoundException", 404, name="log",
            environmentVersion=version)
    refusal(theirs.api.delete_environment, "ResourceNotFoundException", 404, name="log")
    assert theirs.names() == []
    other = theirs.create("log")
    assert other != version and theirs.names() == ["log"]
    refusal(theirs.api.start_deployment, "ResourceNotFoundException", 404, name="log",
            environmentVersion=version)
    theirs.api.delete_environment(name="log")
    wait_until(lambda: theirs.names() == [], "theirs is gone")
    assert ours.get()["latestVersion"] == version
    assert not theirs.api.list_instances()["instances"] and not theirs.api.list_tasks()["tasks"]
    ours.wait_for(ours.deploy(version), "completed")
    assert not theirs.api.list_tasks()["tasks"], "the tasks of others are not seen"
    ours.remove()


def test_86_an_account_has_so_many_environments(start_slipway, tmp_path):
    path = os.path.join(tmp_path, "slipway.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("limits:\n  environments: 2\n")
    server = start_slipway("--config", path, "--runtime", "none")
    api, tenant = Tenant(server, "333333333333"), Tenant(server, OTHER)
    api.create("one")
    api.create("two")
    answer = refusal(api.api.create_environment, "LimitExceededException", 400,
                     **environment_body("three", api.define("three")))
    assert "2" in answer["Error"]["Message"]
    assert api.names() == ["one", "two"]
    tenant.create("one")
    api.api.delete_environment(name="one")
    wait_until(lambda: api.names() == ["two"], "one is gone")
    api.create("three")


def test_85_only_the_busy_account_is_throttled(start_slipway, tmp_path):
    path = os.path.join(tmp_path, "slipway.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("limits:\n  environmentReadsPerSecond: 20\n"
                   "  environmentWritesPerSecond: 5\n")
    server = start_slipway("--config", path, "--instances", "1")
    noisy = Tenant(server, OTHER)
    ours = Fleet(server)
    # The same holds for our own account: what is waited for below is asked for less often than that.
    ours.api.meta.events.register("before-call", lambda **_: time.sleep(0.1))
    version = ours.create(ours.define(1))
    stop, statuses = threading.Event(), []

    def storm():
        while not stop.is_set():
            statuses.append(ask(server, "GET", "/v1/environments", key=noisy.key))

    threads = [threading.Thread(target=storm) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: sum(answer.status == 429 for answer in list(statuses)) > 50, "throttled")
        ours.wait_for(ours.deploy(version), "completed")
        assert len(ours.places()) == 1
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    refused = [answer for answer in statuses if answer.status == 429]
    assert {answer.status for answer in statuses} == {200, 429}
    assert all(answer.headers["retry-after"] == "1" for answer in refused)
    assert all(json.loads(answer.text)["code"] == "ThrottlingException" for answer in refused)
    # ECS is not affected, and a client that waits as long as Retry-After says is served.
    assert noisy.ecs.list_clusters()["clusterArns"]
    time.sleep(1)
    assert ask(server, "GET", "/v1/environments", key=noisy.key).status == 200
    # Writes are counted apart.
    time.sleep(1)
    codes = []
    wait_until(lambda: codes.append(ask(server, "DELETE", "/v1/environments/none", key=noisy.key).status)
               or 429 in codes, "writes are throttled, too")
    assert set(codes) == {404, 429}
    assert 'result="ThrottlingException"' in server.get("/metrics").text
    ours.remove()


def audit_of(server):
    with open(os.path.join(server.state, "audit.log"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_87_failed_authentication_is_refused_and_audited(start_slipway):
    server = start_slipway("--runtime", "none")
    tenant = Tenant(server, OTHER)
    path = "/v1/environments/x"
    good = signed(server, "DELETE", path)
    wrong = {**good, "Authorization": good["Authorization"][:-4] + "0000"}

    def moved(seconds):
        """Signed by one whose clock is wrong, and by the right key."""
        return signed_headers(server, b"", service="slipway", skew=seconds, path=path,
                              method="DELETE")

    for headers, code, reason in (
            ({}, "MissingAuthenticationTokenException", "Authentication Token"),
            (wrong, "InvalidSignatureException", "does not match"),
            (moved(-2 * 3600), "InvalidSignatureException", "Signature expired: "),
            (moved(2 * 3600), "InvalidSignatureException", "Signature not yet current: ")):
        answer = server.request("DELETE", path, b"", headers)
        assert answer.status == 403, answer.text
        assert answer.json["code"] == code and reason in answer.json["message"], answer.text
        (line,) = wait_until(lambda: [item for item in audit_of(server) if item["requestId"]
                                      == answer.json["requestId"]], "it is written down")  # pylint: disable=cell-var-from-loop
        assert (line["result"], line["status"]) == (code, 403), line
    # Of another time by as little as clocks differ: it is believed.
    for headers in (good, moved(-60), moved(60)):
        assert server.request("DELETE", path, b"", headers).status == 404
    # Every change is logged: user, operation, request.
    tenant.create("log")
    made = rest_client(server, key=tenant.key).delete_environment(name="log")
    line = wait_until(lambda: [item for item in audit_of(server)
                               if item["operation"] == "slipway:DeleteEnvironment" and
                               item["result"] == "success"], "the change is written down")[-1]
    assert line["account"] == OTHER and line["user"] == "them"
    assert line["requestId"] == made["ResponseMetadata"]["HTTPHeaders"]["x-amzn-requestid"]
    assert {"slipway:CreateEnvironment", "slipway:DeleteEnvironment"} <= {
        item["operation"] for item in audit_of(server) if item["account"] == OTHER}


def flip(state, pattern):
    path = os.path.join(state, "slipway.db")
    with open(path, "r+b") as file:
        data = file.read()
        assert data.count(pattern) == 1, data.count(pattern)
        file.seek(data.index(pattern) + 2)
        file.write(b"X")


@pytest.mark.parametrize("what", ["environment", "version", "placement"])
def test_88_a_damaged_environment_is_left_alone(start_slipway, what):
    server = start_slipway("--instances", "2")
    good, bad = Fleet(server), Fleet(server)
    good.roll_out(good.define(1))
    version = bad.roll_out(bad.define(1))
    good.mark.wait_for(2)
    programs = bad.mark.wait_for(2)
    instance = bad.instances()[0].rsplit("/", 1)[1]
    server.stop()
    flip(server.state, {
        "environment": b'"latest":"' + version.encode(),
        "version": b'"environmentVersion":"' + version.encode() + b'","number":1',
        "placement": b'"instance":"' + instance.encode() + b'","version":"' + version.encode(),
    }[what])
    server = start_slipway("--instances", "2", state=server.state)
    for fleet in (good, bad):
        fleet.server, fleet.ecs, fleet.api = server, server.boto("ecs"), rest_client(server)
    wait_until(lambda: "quarantin" in server.stderr, "it is logged")
    assert "slipway_store_quarantined 1" in server.get("/metrics").text
    definition = bad.define(2)
    for call, parameters in ((bad.api.update_environment, {"taskDefinition": definition}),
                             (bad.api.start_deployment, {"environmentVersion": version}),
                             (bad.api.delete_environment, {})):
        answer = refusal(call, "ServiceUnavailableException", 503, name=bad.name, **parameters)
        assert "quarantined" in answer["Error"]["Message"]
    listed = {item["name"]: item for item in bad.api.list_environments()["environments"]}
    if what != "environment":
        assert listed[bad.name]["statusReason"] == "QUARANTINED"
    assert "statusReason" not in listed[good.name]
    # Its tasks are neither stopped nor replaced; the other one's are.
    killed = set()
    for fleet in (good, bad):
        pid, environment = next(iter(fleet.mark.processes().items()))
        os.kill(pid, 9)
        killed.add(environment["SLIPWAY_TASK"])
    wait_until(lambda: len(good.mark.tasks() - killed) == 2 and not killed & bad.mark.tasks(), "as they are")
    time.sleep(2)
    assert len(good.mark.tasks()) == 2 and len(bad.mark.tasks()) == 1
    assert bad.mark.tasks() < programs
    good.remove()
    for task in bad.ecs.list_tasks()["taskArns"]:
        bad.ecs.stop_task(task=task)
    with pytest.raises(botocore.exceptions.ClientError):
        bad.api.get_environment_version(name=bad.name, environmentVersion="none")
