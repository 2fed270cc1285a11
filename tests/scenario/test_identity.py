"""Authentication and authorization: signatures, keys, accounts, policies, and `auth: none`."""
import datetime
import json
import os
import re
import subprocess

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import botocore.exceptions
import pytest

from conftest import DEADLINE, SOURCE, slipway_program

SERVER_ARGUMENTS = ["--runtime", "none"]

pytestmark = pytest.mark.sanitized


def command(*args, **options):
    return subprocess.run([slipway_program(), *args], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=DEADLINE * 2, check=False, **options)


def key_command(server, *args):
    return command("key", *args, "--server", server.url, "--state", server.state)


def make_key(server, *args):
    made = key_command(server, "create", "-o", "json", *args)
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


def policy_file(folder, *statements):
    path = os.path.join(folder, "policy.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"Version": "2012-10-17", "Statement": list(statements)}, file)
    return path


def error_of(call, **arguments):
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        call(**arguments)
    return caught.value.response["Error"]


def signed_headers(server, body, service="ecs", region="us-east-1", key=None, skew=0,
                   target="AmazonEC2ContainerServiceV20141113.ListClusters", path="/",
                   method="POST"):
    """The headers that botocore would send, with the clock moved by skew seconds."""
    key = key or server.key
    request = botocore.awsrequest.AWSRequest(
        method=method, url=server.url + path, data=body,
        headers={"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.1"})
    credentials = botocore.credentials.Credentials(key["accessKeyId"], key["secretAccessKey"])
    signer = botocore.auth.SigV4Auth(credentials, service, region)
    moment = datetime.datetime.utcnow() + datetime.timedelta(seconds=skew)

    class Moved(datetime.datetime):
        @classmethod
        def utcnow(cls):
            return moment

    real = botocore.auth.datetime.datetime
    botocore.auth.datetime.datetime = Moved
    try:
        signer.add_auth(request)
    finally:
        botocore.auth.datetime.datetime = real
    return dict(request.headers.items())


def ask(server, headers, body=b"{}"):
    return server.request("POST", "/", body, headers)


def test_the_admin_key_is_private_and_stays(start_slipway):
    server = start_slipway()
    path = os.path.join(server.state, "admin-key.json")
    assert os.stat(path).st_mode & 0o777 == 0o600
    # Its output may be a journal: that has the command that shows the key, and no secret.
    assert server.key["secretAccessKey"] not in server.stdout + server.stderr
    assert server.key["accessKeyId"] in server.stdout
    assert f"'slipway key show-admin --state {server.state}' prints it" in server.stdout
    first = server.key
    server.stop()
    again = start_slipway(state=server.state)
    assert again.key == first
    assert first["secretAccessKey"] not in again.stdout
    assert again.boto().list_clusters()["clusterArns"] == []


def test_a_request_without_signature_is_refused(slipway):
    answer = slipway.request("POST", "/", b"{}", {
        "X-Amz-Target": "AmazonEC2ContainerServiceV20141113.ListClusters"})
    assert answer.json["__type"] == "MissingAuthenticationTokenException"
    assert answer.status in (400, 403)


def test_a_wrong_secret_is_refused(slipway):
    wrong = dict(slipway.key, secretAccessKey="x" * 40)
    error = error_of(slipway.boto(key=wrong).list_clusters)
    assert error["Code"] == "InvalidSignatureException"


def test_an_unknown_key_is_refused(slipway):
    wrong = dict(slipway.key, accessKeyId="AKIA0000000000000000")
    error = error_of(slipway.boto(key=wrong).list_clusters)
    assert error["Code"] == "UnrecognizedClientException"


def test_a_session_token_that_is_not_ours_is_refused(slipway):
    wrong = dict(slipway.key, sessionToken="abc")
    error = error_of(slipway.boto(key=wrong).list_clusters)
    assert error["Code"] == "UnrecognizedClientException"


@pytest.mark.parametrize("skew", [-3600, 3600])
def test_a_clock_that_is_wrong_is_refused(slipway, skew):
    answer = ask(slipway, signed_headers(slipway, b"{}", skew=skew))
    assert answer.json["__type"] == "InvalidSignatureException"
    assert "Signature" in answer.json["message"]


def test_a_changed_body_is_refused(slipway):
    answer = ask(slipway, signed_headers(slipway, b"{}"), b'{"maxResults":1}')
    assert answer.json["__type"] == "InvalidSignatureException"


def test_a_signature_for_another_service_is_refused(slipway):
    answer = ask(slipway, signed_headers(slipway, b"{}", service="s3"))
    assert answer.json["__type"] == "InvalidSignatureException"


def test_regions_are_apart(slipway):
    slipway.boto(region="eu-west-1").create_cluster(clusterName="far")
    assert slipway.boto(region="us-gov-west-1").list_clusters()["clusterArns"] == []
    assert slipway.boto(region="eu-west-1").list_clusters()["clusterArns"] == [
        "arn:aws:ecs:eu-west-1:123456789012:cluster/far"]
    made = slipway.boto(region="us-gov-west-1").create_cluster(clusterName="gov")
    assert made["cluster"]["clusterArn"].startswith("arn:aws-us-gov:ecs:us-gov-west-1:")


def test_accounts_are_apart(slipway):
    other = make_key(slipway, "--account", "210987654321", "--user", "them")
    assert other["account"] == "210987654321"
    slipway.boto().create_cluster(clusterName="ours")
    theirs = slipway.boto(key=other)
    assert theirs.list_clusters()["clusterArns"] == []
    assert theirs.describe_clusters(clusters=["ours"])["failures"][0]["reason"] == "MISSING"
    theirs.create_cluster(clusterName="theirs")
    assert theirs.list_clusters()["clusterArns"] == [
        "arn:aws:ecs:us-east-1:210987654321:cluster/theirs"]


def test_a_policy_allows_and_denies(slipway, tmp_path):
    path = policy_file(
        tmp_path,
        {"Effect": "Allow", "Action": ["ecs:Describe*", "ecs:CreateCluster"],
         "Resource": "arn:aws:ecs:*:*:cluster/team-*"},
        {"Effect": "Allow", "Action": "ecs:ListClusters", "Resource": "*"},
        {"Effect": "Deny", "Action": "*", "Resource": "arn:aws:ecs:*:*:cluster/team-secret"})
    client = slipway.boto(key=make_key(slipway, "--user", "team", "--policy", path))
    client.create_cluster(clusterName="team-a")
    assert client.describe_clusters(clusters=["team-a"])["clusters"]
    client.list_clusters()
    for name in "team-secret", "other":
        error = error_of(client.create_cluster, clusterName=name)
        assert error["Code"] == "AccessDeniedException"
        assert "user/team is not authorized to perform: ecs:CreateCluster" in error["Message"]
    assert error_of(client.describe_clusters, clusters=["team-a", "other"])["Code"] == \
        "AccessDeniedException"
    assert error_of(client.delete_cluster, cluster="team-a")["Code"] == "AccessDeniedException"
    # Nothing happened to what was refused.
    seen = slipway.boto().describe_clusters(clusters=["team-secret", "other", "team-a"])
    assert [cluster["clusterName"] for cluster in seen["clusters"]] == ["team-a"]


def test_a_user_with_a_policy_gets_no_further(slipway, tmp_path):
    path = policy_file(tmp_path, {"Effect": "Allow", "Action": ["slipway:CreateKey", "ecs:List*"],
                                  "Resource": "*"})
    limited = make_key(slipway, "--user", "limited", "--policy", path)
    environment = dict(os.environ, AWS_ACCESS_KEY_ID=limited["accessKeyId"],
                       AWS_SECRET_ACCESS_KEY=limited["secretAccessKey"])
    refused = command("key", "list", "--server", slipway.url, env=environment)
    assert refused.returncode == 1 and "AccessDenied" in refused.stderr
    refused = command("key", "create", "--account", "210987654321", "--server", slipway.url,
                      env=environment)
    assert refused.returncode == 1 and "other accounts" in refused.stderr
    # It cannot make a key that may do more than it may itself.
    everything = policy_file(tmp_path, {"Effect": "Allow", "Action": "*", "Resource": "*"})
    refused = command("key", "create", "--policy", everything, "--server", slipway.url,
                      env=environment)
    assert refused.returncode == 1 and "inherit" in refused.stderr
    made = command("key", "create", "-o", "json", "--server", slipway.url, env=environment)
    heir = slipway.boto(key=json.loads(made.stdout))
    heir.list_clusters()
    assert error_of(heir.create_cluster, clusterName="more")["Code"] == "AccessDeniedException"
    with open(os.path.join(slipway.state, "audit.log"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    told = [(line["operation"], line["result"]) for line in lines if line["user"] == "limited"]
    assert told == [("slipway:ListKeys", "AccessDeniedException"),
                    ("slipway:CreateKey", "AccessDeniedException"),
                    ("slipway:CreateKey", "AccessDeniedException"), ("slipway:CreateKey", "success"),
                    ("ecs:CreateCluster", "AccessDeniedException")]


def test_a_policy_names_keys(slipway, tmp_path):
    """Keys are resources: arn:aws:slipway:REGION:ACCOUNT:key/USER/ID."""
    kept = make_key(slipway, "--user", "robot")
    other = make_key(slipway, "--user", "person")
    path = policy_file(
        tmp_path,
        {"Effect": "Allow", "Action": "slipway:*", "Resource": "arn:aws:slipway:*:*:key/robot/*"},
        {"Effect": "Deny", "Action": "slipway:DeleteKey",
         "Resource": f"arn:aws:slipway:*:*:key/*/{kept['accessKeyId']}"})
    operator = make_key(slipway, "--user", "operator", "--policy", path)
    environment = dict(os.environ, AWS_ACCESS_KEY_ID=operator["accessKeyId"],
                       AWS_SECRET_ACCESS_KEY=operator["secretAccessKey"])

    def ask_for(*args):
        return command("key", *args, "--server", slipway.url, env=environment)

    made = ask_for("create", "--user", "robot", "-o", "json")
    assert made.returncode == 0, made.stderr
    for refused in (ask_for("create", "--user", "admin"), ask_for("create"), ask_for("list"),
                    ask_for("delete", kept["accessKeyId"]), ask_for("delete", other["accessKeyId"]),
                    ask_for("delete", "AKIA0000000000000000")):
        assert refused.returncode == 1 and "AccessDenied" in refused.stderr
    assert ask_for("delete", json.loads(made.stdout)["accessKeyId"]).returncode == 0
    users = [key["user"] for key in json.loads(key_command(slipway, "list", "-o", "json").stdout)["keys"]]
    assert users.count("robot") == 1 and users.count("person") == 1


def test_the_admin_key_does_not_change_its_account(start_slipway):
    server = start_slipway()
    server.stop()
    refused = command("up", "--listen", "127.0.0.1:0", "--state", server.state, "--account",
                      "000000000042")
    assert refused.returncode == 1
    assert "is of account 123456789012, not 000000000042" in refused.stderr


def test_a_damaged_admin_key_is_replaced(start_slipway):
    """A flipped byte in its record replaces the key, and the old key does not work."""
    server = start_slipway()
    old = server.key
    server.boto().create_cluster(clusterName="kept")
    server.stop()
    path = os.path.join(server.state, "slipway.db")
    with open(path, "r+b") as file:
        data = file.read()
        assert data.count(old["secretAccessKey"].encode()) == 1
        file.seek(data.index(old["secretAccessKey"].encode()))
        file.write(b"*")
    again = start_slipway(state=server.state)
    assert again.key["accessKeyId"] != old["accessKeyId"]
    assert again.key["accessKeyId"] in again.stdout
    assert len(again.boto().list_clusters()["clusterArns"]) == 1
    assert error_of(again.boto(key=old).list_clusters)["Code"] == "UnrecognizedClientException"


def test_a_wrong_integrity_key_changes_nothing(start_slipway):
    server = start_slipway()
    key = server.key
    server.stop()
    path = os.path.join(server.state, "integrity.key")
    os.rename(path, path + ".kept")
    with open(path, "w", encoding="utf-8") as file:
        file.write("0" * 64)
    refused = command("up", "--listen", "127.0.0.1:0", "--state", server.state)
    assert refused.returncode == 1
    assert "is the key file the one of this database?" in refused.stderr
    os.rename(path + ".kept", path)
    again = start_slipway(state=server.state)
    assert again.key == key
    assert again.boto().list_clusters()["clusterArns"] == []


def test_a_policy_that_is_not_understood_is_refused(slipway, tmp_path):
    path = policy_file(tmp_path, {"Effect": "Allow", "Action": "*", "Resource": "*",
                                  "Condition": {"Bool": {"a": "b"}}})
    refused = key_command(slipway, "create", "--policy", path)
    assert refused.returncode == 1
    assert "Condition" in refused.stderr


def test_keys_are_made_listed_and_deleted(start_slipway):
    server = start_slipway()
    made = make_key(server, "--user", "ci")
    client = server.boto(key=made)
    client.create_cluster(clusterName="by-ci")
    listed = json.loads(key_command(server, "list", "-o", "json").stdout)["keys"]
    assert {(key["user"], key["accessKeyId"]) for key in listed} == {
        ("admin", server.key["accessKeyId"]), ("ci", made["accessKeyId"])}
    assert not any("secret" in name.lower() for key in listed for name in key)
    table = command("key", "list", "--server", server.url + "/", "--state", server.state).stdout
    assert "ci" in table and made["secretAccessKey"] not in table
    assert key_command(server, "delete", made["accessKeyId"]).returncode == 0
    assert error_of(client.list_clusters)["Code"] == "UnrecognizedClientException"
    gone = key_command(server, "delete", made["accessKeyId"])
    assert gone.returncode == 1 and "not found" in gone.stderr
    own = key_command(server, "delete", server.key["accessKeyId"])
    assert own.returncode == 1 and "cannot be deleted" in own.stderr
    # A key outlives the server, and its deletion does.
    kept = make_key(server, "--user", "kept")
    server.kill()
    again = start_slipway(state=server.state)
    again.boto(key=kept).list_clusters()
    assert error_of(again.boto(key=made).list_clusters)["Code"] == "UnrecognizedClientException"


@pytest.mark.parametrize("args, complaint", [
    (["create", "--user", "a b"], "user"),
    (["create", "--account", "12"], "account"),
    (["create", "--policy", "/nonexistent"], "/nonexistent"),
    (["delete"], "say create, list or delete"),
    (["list", "--user", "x"], "are for create"),
    (["frobnicate"], "say create, list or delete"),
])
def test_key_command_says_what_is_wrong(slipway, args, complaint):
    refused = key_command(slipway, *args)
    assert refused.returncode in (1, 2)
    assert complaint in refused.stderr
    assert refused.stdout == ""


def test_auth_none_is_for_loopback(start_slipway):
    refused = command("up", "--auth", "none", "--listen", "0.0.0.0:0", "--ephemeral")
    assert refused.returncode == 2
    assert "loopback" in refused.stderr
    server = start_slipway("--auth", "none", "--account", "000000000042")
    answer = server.request("POST", "/", b'{"clusterName":"x"}', {
        "X-Amz-Target": "AmazonEC2ContainerServiceV20141113.CreateCluster"})
    assert answer.json["cluster"]["clusterArn"] == \
        "arn:aws:ecs:us-east-1:000000000042:cluster/x"
    # Its region comes from the credential scope, with any key.
    wrong = {"accessKeyId": "anybody", "secretAccessKey": "anything"}
    made = server.boto(key=wrong, region="eu-north-1").create_cluster(clusterName="y")
    assert made["cluster"]["clusterArn"] == "arn:aws:ecs:eu-north-1:000000000042:cluster/y"


# Service, name in the audit log, and how its requests name an operation.
JSON_TARGETS = {"ecs": "AmazonEC2ContainerServiceV20141113", "servicediscovery": "Route53AutoNaming_v20170314"}
FORM_VERSIONS = {"elasticloadbalancing": ("elasticloadbalancingv2", "2015-12-01"), "sts": ("sts", "2011-06-15")}
FOR_EVERYBODY = {"GetCallerIdentity"}  # as on AWS, it needs no permission


def requests_of_every_operation():
    for service, target in JSON_TARGETS.items():
        for name in operations_of(service):
            yield service, name, {"X-Amz-Target": f"{target}.{name}",
                                  "Content-Type": "application/x-amz-json-1.1"}, b"{}"
    for service, (model, version) in FORM_VERSIONS.items():
        for name in operations_of(model):
            yield (service, name, {"Content-Type": "application/x-www-form-urlencoded"},
                   f"Action={name}&Version={version}".encode())


def operations_of(model):
    """All that the newest SDKs know, offered or not."""
    with open(os.path.join(SOURCE, f"src/aws/generated/shapes_{model}.c"), encoding="utf-8") as file:
        return re.findall(r"^\tOPERATION\((\w+),", file.read(), re.MULTILINE)


def test_every_aws_operation_is_denied_and_audited(start_slipway, tmp_path):
    """For each one: a call of a key that may do nothing, one without a signature, and their lines in the audit log.
    (test_rest.py has those of slipway's own service.)"""
    config = tmp_path / "slipway.yaml"
    config.write_text("audit:\n  reads: true\n")
    server = start_slipway("--config", config)
    denied = make_key(server, "--policy", policy_file(
        tmp_path, {"Effect": "Deny", "Action": "*", "Resource": "*"}))
    credentials = botocore.credentials.Credentials(denied["accessKeyId"], denied["secretAccessKey"])
    expected = []
    for service, name, headers, body in requests_of_every_operation():
        unsigned = ask(server, headers, body)
        assert unsigned.status in (400, 403) and "MissingAuthenticationToken" in unsigned.text, (
            name, unsigned.text)
        request = botocore.awsrequest.AWSRequest(
            method="POST", url=server.url + "/", data=body, headers=headers)
        botocore.auth.SigV4Auth(credentials, service, "us-east-1").add_auth(request)
        answer = ask(server, dict(request.headers.items()), body)
        if name not in FOR_EVERYBODY:
            assert answer.status in (400, 403) and "AccessDenied" in answer.text, (
                name, answer.status, answer.text)
        expected += [(f"{service}:{name}", unsigned.headers["x-amzn-requestid"], False),
                     (f"{service}:{name}", answer.headers["x-amzn-requestid"], answer.status == 200)]
    with open(os.path.join(server.state, "audit.log"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert [(line["operation"], line["requestId"], line["result"] == "success")
            for line in lines if not line["operation"].startswith("slipway:")] == expected


def test_failed_authentication_is_audited(start_slipway):
    """In each protocol: the operation that was asked for, without a user."""
    server = start_slipway()
    stranger = {"accessKeyId": "AKIAXXXXXXXXXXXXXXXX", "secretAccessKey": "x" * 40}
    for client, call in [(server.boto(key=stranger), "create_cluster"),
                         (server.boto("elbv2", key=stranger), "describe_load_balancers"),
                         (server.boto("servicediscovery", key=stranger), "list_namespaces")]:
        with pytest.raises(client.exceptions.ClientError):
            getattr(client, call)()
    with open(os.path.join(server.state, "audit.log"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert [(line["operation"], line["user"]) for line in lines] == [
        ("ecs:CreateCluster", ""), ("elasticloadbalancing:DescribeLoadBalancers", ""),
        ("servicediscovery:ListNamespaces", "")]
    assert all(line["requestId"] and line["result"] != "success" for line in lines)
