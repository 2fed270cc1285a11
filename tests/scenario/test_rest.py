"""slipway's own REST API: its clients, its routes, what it refuses, and the document about it."""
import json
import os
import re
import subprocess

import botocore.exceptions
import pytest

from conftest import DEADLINE, SOURCE, wait_until
from rest_requests import MODEL, ask, rest_client

SERVER_ARGUMENTS = ["--runtime", "none"]


@pytest.fixture(scope="module")
def model():
    with open(MODEL, encoding="utf-8") as file:
        return json.load(file)


def generated(*command):
    done = subprocess.run([os.path.join(SOURCE, "tools", command[0]), *command[1:]],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=DEADLINE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# ---- the model and what is made from it ----

@pytest.mark.parametrize("path, command", [
    ("src/aws/generated/shapes_slipway.c", ("generate-shapes", "slipway", MODEL)),
    ("src/aws/routes_slipway.c", ("generate-rest", "routes", MODEL)),
])
def test_tables_are_those_of_the_model(path, command):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        assert file.read() == generated(*command), f"write {path} again: {' '.join(command)}"


def test_everything_in_the_model_is_used_and_described(model):
    used = set()
    todo = []
    for name, operation in model["operations"].items():
        assert operation["name"] == name
        assert operation["documentation"].endswith(".")
        todo += [operation["input"]["shape"], operation["output"]["shape"]]
        todo += [error["shape"] for error in operation["errors"]]
    while todo:
        name = todo.pop()
        if name in used:
            continue
        used.add(name)
        shape = model["shapes"][name]
        todo += [reference["shape"] for reference in shape.get("members", {}).values()]
        todo += [shape[part]["shape"] for part in ("member", "key", "value") if part in shape]
        assert set(shape.get("required", ())) <= set(shape.get("members", ())), name
    assert used == set(model["shapes"])


@pytest.mark.parametrize("change, complaint", [
    (lambda model: model["operations"]["GetEnvironment"]["http"].update(
        requestUri="/v1/environments/{nam}"), "labels"),
    (lambda model: model["operations"]["GetEnvironment"]["http"].update(
        requestUri="/v2/{name}"), "no route of this API"),
    (lambda model: model["operations"]["GetEnvironment"]["http"].update(
        method="PUT"), "have the same route"),
    (lambda model: model["shapes"]["GetEnvironmentRequest"].update(payload="name"), "only streams"),
    (lambda model: model["shapes"]["ListTasksRequest"]["members"]["cluster"].update(
        location="header"), "ListTasks.cluster"),
    (lambda model: model["shapes"]["ListTasksRequest"]["members"]["cluster"].update(
        shape="Counts"), "cannot be in the query"),
])
def test_the_generator_refuses_what_the_server_does_not_do(tmp_path, model, change, complaint):
    changed = json.loads(json.dumps(model))
    change(changed)
    (tmp_path / "model.json").write_text(json.dumps(changed))
    done = subprocess.run([os.path.join(SOURCE, "tools/generate-rest"), "routes",
                           str(tmp_path / "model.json")], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert done.returncode == 1
    assert complaint in done.stderr


# ---- clients ----

NAMES = {"EnvironmentName": "log", "TaskDefinitionName": "log:1", "ScheduleExpression":
         "rate(5 minutes)", "Document": "stack=prod",
         "ApplicationFileContent": "kind: ECSApp"}


def sample(model, name):
    """A value that boto3 takes for a shape."""
    shape = model["shapes"][name]
    kind = shape["type"]
    if name in NAMES:
        return NAMES[name]
    if "enum" in shape:
        return shape["enum"][-1]
    if kind == "structure":
        return {member: sample(model, reference["shape"])
                for member, reference in shape["members"].items()}
    if kind == "blob":
        return b"x"
    if kind == "list":
        return [sample(model, shape["member"]["shape"])]
    return {"string": "x" * max(1, shape.get("min", 1)), "integer": shape.get("min", 1),
            "long": shape.get("min", 1), "boolean": True, "timestamp": 1}[kind]


NOT_UNDERSTOOD = re.compile(r"is not a (member|parameter) of|: expected |belongs in the|the body: ")


@pytest.mark.sanitized
def test_boto3_speaks_every_operation(slipway, model):
    """Requests of botocore with all members are parsed, even if they are then rejected."""
    client = rest_client(slipway)
    for name, operation in model["operations"].items():
        method = getattr(client, re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower())
        errors = {error["shape"] for error in operation["errors"]}
        try:
            answer = method(**sample(model, operation["input"]["shape"]))
            assert answer["ResponseMetadata"]["HTTPStatusCode"] == operation["http"]["responseCode"]
        except botocore.exceptions.ClientError as refused:
            answer = refused.response
            assert answer["Error"]["Code"] in errors, (name, answer)
            assert refused.__class__.__name__ == answer["Error"]["Code"]
            assert not NOT_UNDERSTOOD.search(answer["Error"]["Message"]), (name, answer)
            assert answer["requestId"] == answer["ResponseMetadata"]["RequestId"]
            assert answer["ResponseMetadata"]["HTTPStatusCode"] == \
                model["shapes"][answer["Error"]["Code"]]["error"]["httpStatusCode"]


@pytest.mark.sanitized
def test_the_aws_command_speaks_it(slipway):
    """The cluster does not exist, so nothing is made."""
    slipway.aws("configure", "add-model", "--service-model", f"file://{MODEL}", fresh=True)
    refused = slipway.aws(
        "slipway", "create-environment", "--name", "log", "--task-definition", "log:1",
        "--instance-group", json.dumps({"cluster": "nowhere", "attributes": [
            "stack=prod", {"name": "gpu", "value": "yes"}]}),
        "--deployment-configuration", "minHealthyPercent=60,canary={instances=2,bakeSeconds=5}",
        check=False, fresh=True)
    assert refused.returncode == 254
    assert re.search(r"\(ResourceNotFoundException\) when calling the "
                     "CreateEnvironment", refused.stderr)
    refused = slipway.aws("slipway", "get-instance", "--cluster", "nowhere", "--instance",
                          "a/b", check=False, fresh=True)
    assert re.search(r"\(ResourceNotFoundException\) when calling the "
                     "GetInstance", refused.stderr)


def test_policies_name_its_operations(start_slipway):
    server = start_slipway()
    policy = {"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "slipway:Get*", "Resource": "*"}]}
    made = ask(server, "POST", "/v1/keys", json.dumps(
        {"user": "reader", "policy": policy}).encode())
    assert made.status in (200, 201), made.text
    client = rest_client(server, made.json)
    with pytest.raises((client.exceptions.UnsupportedFeatureException,
                        client.exceptions.ResourceNotFoundException)):
        client.get_environment(name="log")
    with pytest.raises(client.exceptions.AccessDeniedException) as denied:
        client.start_deployment(name="log", environmentVersion="v")
    assert denied.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    assert "slipway:StartDeployment" in str(denied.value)
    # A client without permission does not learn what is wrong with the request.
    answer = ask(server, "POST", "/v1/environments", b"nonsense", key=made.json)
    assert (answer.status, answer.json["code"]) == (403, "AccessDeniedException")


# ---- requests by hand ----

def expect_error(answer, status, code, message):
    body = answer.json
    assert (answer.status, body["code"]) == (status, code), body
    assert message in body["message"], body
    assert answer.headers["x-amzn-errortype"] == code
    assert answer.headers["content-type"] == "application/json"
    assert body["requestId"] == answer.headers["x-amzn-requestid"]
    assert re.fullmatch(r"[0-9a-f-]{36}", body["requestId"])


INVALID = "InvalidParameterException"


@pytest.mark.sanitized
@pytest.mark.parametrize("method, path, body, status, code, message", [
    ("GET", "/v1/environment", "", 404, "NotFound", "/v1/environment"),
    ("GET", "/v1/environments/", "", 404, "NotFound", "/v1/environments/"),
    ("GET", "/v1/environments//versions", "", 404, "NotFound", ""),
    ("GET", "/v1/environments/a/b/c/d/e/f", "", 404, "NotFound", ""),
    ("DELETE", "/v1/environments", "", 405, "MethodNotAllowed", "GET, POST"),
    ("PATCH", "/v1/environments/log", "", 405, "MethodNotAllowed", "DELETE, GET, PUT"),
    ("GET", "/v1/environments/%zz", "", 400, INVALID, "name: "),
    ("GET", "/v1/environments/a%00b", "", 400, INVALID, "name: "),
    ("GET", "/v1/environments/%ff", "", 400, INVALID, "name: "),
    ("GET", "/v1/environments/log?colour=red", "", 400, INVALID, "colour: is not a parameter"),
    ("GET", "/v1/environments?maxResults=ten", "", 400, INVALID, "maxResults: expected an integer"),
    ("GET", "/v1/environments?maxResults=1&maxResults=2", "", 400, INVALID,
     "maxResults: is given more than once"),
    ("GET", "/v1/environments?cluster=%FF", "", 400, INVALID, "the query: "),
    ("DELETE", "/v1/environments/log?terminateTasks=yes", "", 400, INVALID,
     "terminateTasks: expected true or false, not 'yes'"),
    ("POST", "/v1/environments", "{", 400, INVALID, "the body: "),
    ("POST", "/v1/environments", "[1]", 400, INVALID, "the body: expected an object"),
    ("POST", "/v1/environments", "[" * 100 + "]" * 100, 400, INVALID, "the body: "),
    ("POST", "/v1/environments", '{"name":"a","nmae":"b"}', 400, INVALID, "nmae: is not a member"),
    ("POST", "/v1/environments", '{"instanceGroup":{"clutser":"c"}}', 400, INVALID,
     "instanceGroup.clutser: is not a member"),
    ("POST", "/v1/environments", '{"name":"' + "x" * 1100000 + '"}', 400, INVALID, "longer than"),
    ("PUT", "/v1/environments/log", '{"name":"log"}', 400, INVALID, "name: belongs in the path"),
    ("GET", "/v1/environments", '{"type":"Daemon"}', 400, INVALID, "type: belongs in the query"),
    ("POST", "/v1/ecs-events", '"event"', 400, INVALID, "the body: "),
])
def test_requests_by_hand(slipway, method, path, body, status, code, message):
    answer = ask(slipway, method, path, body.encode())
    expect_error(answer, status, code, message)
    if status == 405:
        assert answer.headers["allow"] in answer.json["message"]


@pytest.mark.sanitized
@pytest.mark.parametrize("method, path, body", [
    ("GET", "/v1/environments/log", ""),
    ("HEAD", "/v1/environments", ""),
    ("GET", "/v1/environments/a%2Fb%20%C3%A4", ""),
    ("GET", "/v1/tasks?status=RUNNING&status=failed&maxResults=10", ""),
    ("POST", "/v1/ecs-events", '{"events":[{"detail-type":"ECS Task State Change"}]}'),
    ("POST", "/v1/ecs-events", '[{"detail-type":"ECS Task State Change"}]'),
    ("POST", "/v1/ecs-events", '{"detail-type":"ECS Task State Change"}'),
])
def test_requests_that_are_understood(slipway, method, path, body):
    answer = ask(slipway, method, path, body.encode())
    assert answer.status in (200, 400, 404)
    if answer.status >= 400 and method != "HEAD":
        assert not NOT_UNDERSTOOD.search(answer.json["message"]), answer.text


@pytest.mark.sanitized
def test_signatures_are_for_slipway(slipway):
    expect_error(slipway.get("/v1/environments"), 403, "MissingAuthenticationTokenException",
                 "Missing Authentication Token")
    expect_error(ask(slipway, "GET", "/v1/environments", service="ecs"), 403,
                 "InvalidSignatureException", "slipway")
    stranger = {"accessKeyId": "AKIAXXXXXXXXXXXXXXXX", "secretAccessKey": "x"}
    expect_error(ask(slipway, "GET", "/v1/environments", key=stranger), 403,
                 "UnrecognizedClientException", "")


def test_routes_of_before_are_as_they_were(slipway):
    assert ask(slipway, "GET", "/v1/keys").status == 200
    assert slipway.request("PUT", "/v1/keys").status == 405
    assert slipway.get("/v2/environments").status == 404


@pytest.mark.sanitized
def test_12_ping_needs_no_signature(slipway):
    answer = slipway.get("/v1/ping")
    assert (answer.status, answer.json) == (200, {"status": "ok"})
    assert slipway.request("HEAD", "/v1/ping").status == 200
    assert slipway.request("POST", "/v1/ping").status == 405


def test_throttling_says_when_to_come_back(start_slipway, tmp_path):
    config = tmp_path / "slipway.yaml"
    config.write_text("limits:\n  readsPerSecond: 1\n")
    server = start_slipway("--config", config)

    def throttled():
        answer = ask(server, "GET", "/v1/environments")
        return answer if answer.status == 429 else None

    answer = wait_until(throttled, "a request is throttled")
    expect_error(answer, 429, "ThrottlingException", "Rate exceeded")
    assert answer.headers["retry-after"] == "1"


def test_refusals_are_audited(start_slipway, tmp_path):
    config = tmp_path / "slipway.yaml"
    config.write_text("audit:\n  reads: true\n")
    server = start_slipway("--config", config)
    answer = ask(server, "GET", "/v1/environments?colour=red")
    with open(os.path.join(server.state, "audit.log"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert [(line["operation"], line["result"]) for line in lines] == [
        ("slipway:ListEnvironments", INVALID)]
    assert lines[0]["requestId"] == answer.json["requestId"]


NOTHING = {"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "ecs:ListClusters", "Resource": "*"}]}
# Policies cannot deny them: they need the key that began the program.
OF_A_SESSION = {"SendCommandInput", "EndCommandInput", "ResizeCommandTerminal"}


def test_every_operation_is_denied_and_audited(start_slipway, model, tmp_path):
    """For each one: a call of a key that may do nothing, one without a signature, and their lines in the audit log."""
    config = tmp_path / "slipway.yaml"
    config.write_text("audit:\n  reads: true\n")
    server = start_slipway("--config", config)
    key = ask(server, "POST", "/v1/keys", json.dumps(
        {"user": "nothing", "policy": NOTHING}).encode()).json
    log = os.path.join(server.state, "audit.log")
    for name, operation in model["operations"].items():
        method, path = operation["http"]["method"], operation["http"]["requestUri"]
        path = re.sub(r"\{\w+\}", "x", path)
        unsigned = server.request(method, path)
        expect_error(unsigned, 403, "MissingAuthenticationTokenException", "")
        denied = ask(server, method, path, key=key)
        if name in OF_A_SESSION:
            assert denied.status in (400, 404), (name, denied.text)
        else:
            expect_error(denied, 403, "AccessDeniedException", "not authorized to perform")
        with open(log, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file][-2:]
        assert [(line["operation"], line["result"], line["requestId"]) for line in lines] == [
            (f"slipway:{name}", answer.json["code"], answer.json["requestId"])
            for answer in (unsigned, denied)], name


# ---- OpenAPI ----

def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            assert set(value) == {"$ref"}
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


@pytest.mark.sanitized
def test_openapi_describes_every_operation(slipway, model):
    answer = slipway.get("/v1/openapi.json")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    document = answer.json
    assert document == json.loads(generated("generate-rest", "openapi", MODEL))
    assert document["openapi"].startswith("3.0.")
    assert document["info"]["version"] == model["metadata"]["apiVersion"]
    for reference in references(document):
        kind, name = re.fullmatch(r"#/components/(\w+)/(\w+)", reference).groups()
        assert name in document["components"][kind], reference
    described = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["operationId"] not in described
            described[operation["operationId"]] = (method, path, operation)
    assert set(described) == set(model["operations"]) | {"Ping"}
    for name, operation in model["operations"].items():
        method, path, ours = described[name]
        http = operation["http"]
        assert (method.upper(), path) == (http["method"], http["requestUri"])
        assert str(http["responseCode"]) in ours["responses"]
        labels = {parameter["name"] for parameter in ours["parameters"]
                  if parameter["in"] == "path"}
        assert labels == set(re.findall(r"\{(\w+)\}", path))
        members = model["shapes"][operation["input"]["shape"]]["members"]
        body = ours.get("requestBody", {"content": {"application/json": {"schema": {}}}})
        if "application/octet-stream" in body["content"]:
            assert set(members) == labels | {model["shapes"][operation["input"]["shape"]]["payload"]}
            continue
        schema = body["content"]["application/json"]["schema"]
        schema = schema["oneOf"][0] if "oneOf" in schema else schema
        assert len(members) == len(ours["parameters"]) + len(schema.get("properties", ()))
        for error in operation["errors"]:
            status = model["shapes"][error["shape"]]["error"]["httpStatusCode"]
            assert error["shape"] in ours["responses"][str(status)]["description"]
