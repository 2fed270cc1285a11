"""Environments and deployments are found by what they are: by attribute, and by status across environments."""
import json

import pytest

from conftest import wait_until
from fleets import Fleet, env_command, refusal
from rest_requests import ask, rest_client
from test_environment_tenancy import OTHER, Tenant

OURS = "333333333333"


class Account(Tenant):
    """Its cluster has no instances: what is deployed there is completed at once."""

    def make(self, name, attributes=(), cluster="default", kind="Daemon"):
        return self.api.create_environment(
            name=name, environmentType=kind, taskDefinition=self.define(name),
            instanceGroup={"cluster": cluster, "attributes": list(attributes)})[
                "environmentVersion"]

    def change(self, name, attributes):
        return self.api.update_environment(
            name=name, taskDefinition=self.define(name),
            instanceGroup={"cluster": "default", "attributes": attributes})["environmentVersion"]

    def get(self, name, deployment):
        return self.api.get_deployment(name=name, deploymentId=deployment)

    def complete(self, name, deployment):
        wait_until(lambda: self.get(name, deployment)["status"] == "completed",
                   f"{name} is deployed")

    def deploy(self, name, version):
        made = self.api.start_deployment(name=name, environmentVersion=version)["deploymentId"]
        self.complete(name, made)
        return made

    def found(self, *attributes, **filters):
        return [item["name"] for item in self.api.list_environments(
            attributes=list(attributes), **filters)["environments"]]


def pages(call, member, **parameters):
    """All items of a list that is asked for page by page, one item each."""
    found, token = [], {}
    while token is not None:
        page = call(maxResults=1, **token, **parameters)
        assert len(page[member]) <= 1
        found += page[member]
        token = {"nextToken": page["nextToken"]} if "nextToken" in page else None
    return found


# ---- environments by attribute ----

@pytest.mark.sanitized
def test_environments_by_attribute(start_slipway):
    server = start_slipway("--runtime", "none")
    ours, theirs = Account(server, OURS), Account(server, OTHER)
    ours.ecs.create_cluster(clusterName="second")
    both = ours.make("both", ["stack=prod", "gpu"])
    ours.make("prod", ["stack=prod", "stack=prod"])
    ours.make("prod-second", [{"name": "stack", "value": "prod"}], cluster="second")
    ours.make("large", [{"name": "gpu", "value": "large"}, "stack=test"])
    ours.make("service", ["stack=prod"], kind="Service")
    ours.make("every")
    prod = ["both", "prod", "prod-second", "service"]
    assert ours.found("stack=prod") == prod
    assert ours.found("gpu") == ["both"] and ours.found("gpu=large") == ["large"]
    assert ours.found("gpu", "stack=prod") == ["both"] == ours.found("stack=prod", "gpu")
    assert ours.found("gpu", "stack=test") == []
    for unmatched in ("stack", "stack=pro", "stack=prod2", "Stack=prod", "g", "x/y=z: @"):
        assert ours.found(unmatched) == [], unmatched
    # With the other filters.
    assert ours.found("stack=prod", cluster="second") == ["prod-second"]
    assert ours.found("stack=prod", type="Service") == ["service"]
    assert ours.found("stack=prod", namePrefix="prod") == ["prod", "prod-second"]
    assert ours.found("stack=prod", status="active") == []
    ours.deploy("both", both)
    assert ours.found("stack=prod", status="active", health="healthy") == ["both"]
    # Others have attributes of the same name.
    assert theirs.found("stack=prod") == []
    theirs.make("both", ["stack=prod"])
    assert theirs.found("stack=prod") == ["both"] and ours.found("stack=prod") == prod
    # Page by page; the token is of this attribute.
    assert [item["name"] for item in pages(
        ours.api.list_environments, "environments", attributes=["stack=prod"])] == prod
    token = ours.api.list_environments(attributes=["stack=prod"], maxResults=1)["nextToken"]
    for other in ({"attributes": ["gpu"]}, {}, {"attributes": ["stack=prod", "gpu"]}):
        answer = refusal(ours.api.list_environments, "InvalidParameterException", 400,
                         nextToken=token, **other)
        assert "nextToken" in answer["Error"]["Message"]
    # As it stands in the address of a request.
    answer = ask(server, "GET", "/v1/environments?attribute=gpu&attribute=stack%3Dprod", key=ours.key)
    assert [item["name"] for item in json.loads(answer.text)["environments"]] == ["both"]


def test_the_version_that_is_wanted_says_the_attributes(start_slipway):
    server = start_slipway("--runtime", "none")
    ours = Account(server, OURS)
    ours.make("log", ["stack=one"])
    # Before the first deployment, the latest.
    two = ours.change("log", ["stack=two"])
    assert ours.found("stack=one") == [] and ours.found("stack=two") == ["log"]
    ours.deploy("log", two)
    # Then the one that was deployed last, whatever was declared since.
    three = ours.change("log", ["stack=three", "gpu"])
    assert ours.found("stack=two") == ["log"] and ours.found("stack=three") == []
    ours.deploy("log", three)
    assert ours.found("stack=two") == [] and ours.found("stack=three", "gpu") == ["log"]
    ours.complete("log", ours.api.rollback_deployment(name="log")["deploymentId"])
    assert ours.found("stack=two") == ["log"] and ours.found("gpu") == []
    # A server that starts again knows it.
    server.stop()
    server = start_slipway("--runtime", "none", state=server.state)
    ours.api = rest_client(server, key=ours.key)
    assert ours.found("stack=two") == ["log"] and ours.found("gpu") == []
    ours.api.delete_environment(name="log")
    wait_until(lambda: ours.found("stack=two") == [], "it is gone")


@pytest.mark.sanitized
@pytest.mark.parametrize("text", ["=prod", "stack=", "a=b=c", "a;b", "a b", "é", "a" * 129,
                                  "a=" + "b" * 129])
def test_what_is_no_attribute_is_refused(slipway, text):
    answer = refusal(rest_client(slipway).list_environments, "InvalidParameterException", 400,
                     attributes=["good", text])
    assert "attribute: " in answer["Error"]["Message"], answer


# ---- deployments by status ----

def with_status(api, status):
    """(environment, deployment), the latest first."""
    return [(item["environmentName"], item["deploymentId"])
            for item in api.list_deployments_by_status(status=status)["deployments"]]


@pytest.mark.sanitized
def test_deployments_of_all_environments_by_status(start_slipway):
    server = start_slipway("--runtime", "none")
    ours, theirs = Account(server, OURS), Account(server, OTHER)
    versions = {name: ours.make(name) for name in ("b", "a", "c")}
    done = [(name, ours.deploy(name, versions[name])) for name in ("b", "a", "c", "a")]
    assert len(set(done)) == 4, "the same version twice is two deployments"
    assert with_status(ours.api, "completed") == done[::-1]
    item = ours.api.list_deployments_by_status(status="completed")["deployments"][0]
    assert item == ours.api.list_deployments(name="a", status="completed")["deployments"][0]
    assert {"deploymentType": "user", "environmentVersion": versions["a"],
            "status": "completed"}.items() <= item.items()
    for status in ("pending", "in-progress", "unhealthy", "blocked", "to-be-stopped", "stopped",
                   "canceled", "timed-out"):
        assert with_status(ours.api, status) == [], status
    assert [(item["environmentName"], item["deploymentId"]) for item in pages(
        ours.api.list_deployments_by_status, "deployments", status="completed")] == done[::-1]
    # Others see their own.
    assert with_status(theirs.api, "completed") == []
    theirs_done = ("a", theirs.deploy("a", theirs.make("a")))
    assert with_status(theirs.api, "completed") == [theirs_done]
    assert with_status(ours.api, "completed") == done[::-1]
    # A deleted environment has none.
    ours.api.delete_environment(name="a")
    wait_until(lambda: with_status(ours.api, "completed") == [done[2], done[0]], "a is gone")


def test_a_deployment_is_found_by_what_it_has_become(start_slipway):
    server = start_slipway("--instances", "1")
    one, two = Fleet(server), Fleet(server)
    waits = one.create(one.define(1), warmUpSeconds=3600)
    first = one.deploy(waits)
    wait_until(lambda: with_status(one.api, "in-progress") == [(one.name, first)], "it has begun")
    second = two.deploy(two.create(two.define(1), warmUpSeconds=3600))
    wait_until(lambda: with_status(one.api, "in-progress") ==
               [(two.name, second), (one.name, first)], "both have")
    later = one.deploy(one.update(one.define(2)))
    assert with_status(one.api, "pending") == [(one.name, later)]
    said = env_command(server, "deployments", "--status", "in-progress").splitlines()
    assert said[0].split()[:2] == ["ENVIRONMENT", "DEPLOYMENT"]
    assert [tuple(line.split()[:4]) for line in said[1:]] == [
        (two.name, second, "user", "in-progress"), (one.name, first, "user", "in-progress")]
    said = json.loads(env_command(server, "deployments", "--status", "pending", "-o", "json"))
    assert [item["deploymentId"] for item in said["deployments"]] == [later]
    one.api.stop_deployment(name=one.name, deploymentId=later)
    two.api.stop_deployment(name=two.name, deploymentId=second)
    assert with_status(one.api, "canceled") == [(one.name, later)]
    assert with_status(one.api, "pending") == []
    wait_until(lambda: with_status(one.api, "stopped") == [(two.name, second)], "it is stopped")
    assert with_status(one.api, "in-progress") == [(one.name, first)]
    one.remove()
    two.remove()


def test_the_command_shows_more_than_a_page(start_slipway):
    server = start_slipway("--runtime", "none")
    api, ecs = rest_client(server), server.boto("ecs")
    ecs.create_cluster(clusterName="default")
    definition = ecs.register_task_definition(family="log", containerDefinitions=[
        {"name": "app", "image": "host", "memory": 16}])["taskDefinition"]["taskDefinitionArn"]
    made = []
    for number in range(101):
        version = api.create_environment(
            name=f"e{number}", environmentType="Cron", taskDefinition=definition,
            instanceGroup={"cluster": "default"},
            deploymentConfiguration={"schedule": "rate(1 day)"})["environmentVersion"]
        made.append(api.start_deployment(
            name=f"e{number}", environmentVersion=version)["deploymentId"])
    wait_until(lambda: "nextToken" in api.list_deployments_by_status(status="completed") and not
               with_status(api, "in-progress") + with_status(api, "pending"), "all are deployed")
    said = json.loads(env_command(server, "deployments", "--status", "completed", "-o", "json"))
    assert sorted(item["deploymentId"] for item in said["deployments"]) == sorted(made)
    assert "nextToken" not in said


@pytest.mark.sanitized
def test_bad_questions_for_deployments(slipway):
    api = rest_client(slipway)
    answer = refusal(api.list_deployments_by_status, "InvalidParameterException", 400, status="going")
    assert "status: " in answer["Error"]["Message"] and "in-progress" in answer["Error"]["Message"]
    for path, part in (("", "status: "), ("?status=", "status: "),
                       ("?status=completed&maxResults=0", "maxResults: "),
                       ("?status=completed&maxResults=101", "maxResults: "),
                       ("?status=completed&nextToken=x", "nextToken: "),
                       ("?status=completed&name=log", "name: "),
                       ("?status=completed&status=stopped", "status: ")):
        answer = ask(slipway, "GET", "/v1/deployments" + path)
        assert answer.status == 400 and part in json.loads(answer.text)["message"], answer.text
    assert "--status" in env_command(slipway, "deployments", code=2)
    assert "--status (status): 'going'" in env_command(slipway, "deployments", "--status", "going", code=1)


def test_tokens_are_of_one_status(start_slipway):
    server = start_slipway("--runtime", "none")
    ours = Account(server, OURS)
    for name in ("a", "b"):
        ours.deploy(name, ours.make(name))
    token = ours.api.list_deployments_by_status(status="completed", maxResults=1)["nextToken"]
    refusal(ours.api.list_deployments_by_status, "InvalidParameterException", 400,
            status="stopped", nextToken=token)
    refusal(ours.api.list_deployments, "InvalidParameterException", 400, name="a",
            status="completed", nextToken=token)


def test_policies_name_the_question(start_slipway):
    server = start_slipway("--runtime", "none")

    def reader(action):
        policy = {"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Action": action, "Resource": "*"}]}
        made = ask(server, "POST", "/v1/keys", json.dumps(
            {"user": "reader", "policy": policy}).encode())
        return rest_client(server, made.json)

    assert with_status(reader("slipway:ListDeploymentsByStatus"), "completed") == []
    answer = refusal(reader("slipway:ListDeployments").list_deployments_by_status,
                     "AccessDeniedException", 403, status="completed")
    assert "slipway:ListDeploymentsByStatus" in answer["Error"]["Message"]
