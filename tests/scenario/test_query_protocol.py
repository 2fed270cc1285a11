"""The query protocol's conversions (src/aws/query.h) beside real clients.

Every operation of Elastic Load Balancing v2 with every member filled in: botocore and the newest
JavaScript SDK write the request, and what our side reads must be what went in; our side writes the
answer, and what they read must be what went in. The same the other way round, for calls to a remote
service. The program convert-query runs the conversions; no server is needed.
"""
import datetime
import json
import os
import subprocess
import urllib.parse
from xml.sax.saxutils import escape

import botocore
import botocore.awsrequest
import botocore.model
import botocore.parsers
import botocore.serialize
import pytest

from conftest import DEADLINE, SOURCE, slipway_program

SERVICE = "elasticloadbalancingv2"
PACKAGE = os.path.join(SOURCE,
                       "tests/scenario/node_modules/@aws-sdk/client-elastic-load-balancing-v2")
OLD_MODEL = os.path.join(os.path.dirname(botocore.__file__), "data/elbv2/2015-12-01/service-2.json")

# Characters that a form and XML must escape, white space that they must keep, and characters of 2 to 4 bytes.
TEXT = "a b+c&d=e%2F/~<f>\"g'*()é€😀 ]]>\t\n.\r\n;-_"

# Each line of the input is [operation, request, answer as XML, status]; the output is a list of
# [form, answer] or [form, name and message of an error, status, whether it is of the service].
CALL_WITH_SDK = """
const sdk = require(process.argv[1]);
const {HttpResponse} = require(require.resolve("@smithy/core/protocols",
    {paths: [process.argv[1]]}));
let exchange;
const client = new sdk.ElasticLoadBalancingV2Client({
    endpoint: "http://127.0.0.1:1", region: "us-east-1", maxAttempts: 1,
    credentials: {accessKeyId: "a", secretAccessKey: "b"},
    requestHandler: {handle: async (request) => {
        exchange.form = request.body;
        return {response: new HttpResponse({statusCode: exchange.status, headers: {},
            body: Buffer.from(exchange.xml)})};
    }},
});
async function run() {
    const results = [];
    for (const line of require("fs").readFileSync(0, "utf8").split("\\n").filter(one => one)) {
        const [operation, request, xml, status] = JSON.parse(line);
        exchange = {xml, status};
        try {
            const {$metadata, ...answer} = await client.send(
                new sdk[operation + "Command"](request));
            results.push([exchange.form, answer]);
        } catch (error) {
            results.push([exchange.form, error.name, error.message,
                error.$metadata?.httpStatusCode, error instanceof
                    sdk.ElasticLoadBalancingV2ServiceException]);
        }
    }
    process.stdout.write(JSON.stringify(results));
}
run();
"""


def output_of(*command, text=""):
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8",
                          timeout=DEADLINE * 3, check=False)
    assert done.returncode == 0, f"{command[0]}: {done.stderr}"
    return done.stdout


def convert(jobs):
    """The results of convert-query for the jobs, in their order."""
    text = "".join(json.dumps({"service": SERVICE, **job}) + "\n" for job in jobs)
    program = os.path.join(os.path.dirname(slipway_program()), "convert-query")
    results = [json.loads(line) for line in output_of(program, text=text).split("\n") if line]
    assert len(results) == len(jobs)
    return results


# ---- models: botocore's own, older one, and one made from our tables, which has everything ----


def shape_of(shapes, value):
    """Adds a value as print-shapes describes it to a botocore model, and returns its name there."""
    kind = value["type"]
    if kind == "structure":
        return value["structure"]
    name = "shape" + str(len(shapes))
    shapes[name] = {"type": kind}
    if kind == "list":
        member = {"shape": shape_of(shapes, value["element"])}
        shapes[name] = {"type": kind, "member": member}
    elif kind == "map":
        shapes[name] = {"type": kind, "key": {"shape": shape_of(shapes, value["key"])},
                        "value": {"shape": shape_of(shapes, value["element"])}}
    return name


def model_of_tables():
    program = os.path.join(os.path.dirname(slipway_program()), "print-shapes")
    tables = json.loads(output_of(program, SERVICE))
    shapes = {}
    for name, structure in tables["structures"].items():
        shapes[name] = {"type": "structure", "members": {}}
        if "error" in structure:
            shapes[name]["exception"] = True
            shapes[name]["error"] = {"code": structure.get("code", name),
                                     "httpStatusCode": structure["error"]["status"]}
    for name, structure in tables["structures"].items():
        for member, row in structure["members"].items():
            shapes[name]["members"][member] = {"shape": shape_of(shapes, row["value"])}
    operations = {
        name: {"name": name, "http": {"method": "POST", "requestUri": "/"},
               "input": {"shape": operation["input"]},
               "output": {"shape": operation["output"], "resultWrapper": name + "Result"},
               "errors": [{"shape": error} for error in operation["errors"]]}
        for name, operation in tables["operations"].items()}
    with open(OLD_MODEL, encoding="utf-8") as file:
        metadata = json.load(file)["metadata"]
    return {"metadata": metadata, "operations": operations, "shapes": shapes}


@pytest.fixture(scope="module", params=["botocore", "tables"])
def model(request):
    if request.param == "tables":
        source = model_of_tables()
    else:
        with open(OLD_MODEL, encoding="utf-8") as file:
            source = json.load(file)
    found = botocore.model.ServiceModel(source, "elbv2")
    assert len(found.operation_names) >= (51 if request.param == "tables" else 34)
    return found


# ---- values with everything in them ----


def rich_list(shape, depth):
    """Outside more than nine, so that the order of numbers and that of texts differ."""
    return [rich(shape.member, depth + 1, number) for number in range(11 if depth < 2 else 2)]


def rich(shape, depth=0, number=0):
    """A value of a shape, with all members; `number` makes neighbours differ."""
    kind = shape.type_name
    if kind == "structure":
        return {name: rich(member, depth + 1, number) for name, member in shape.members.items()}
    if kind == "list":
        return rich_list(shape, depth)
    if kind == "map":
        return {f"{TEXT}{entry}": rich(shape.value, depth + 1, entry) for entry in range(3)}
    simple = {
        "string": f"{number}{TEXT}",
        "integer": -number if number % 2 else 2147483647 - number,
        "long": 2**53 - 1 - number,
        "double": 0.5 + number,
        "boolean": number % 2 == 0,
        "timestamp": 1700000000.123 + number,
    }
    return simple[kind]


def moments(shape, value, make):
    """The value with make() of every time in it."""
    kind = shape.type_name
    if kind == "timestamp":
        return make(value)
    if kind == "structure":
        return {name: moments(shape.members[name], one, make) for name, one in value.items()}
    if kind == "list":
        return [moments(shape.member, one, make) for one in value]
    return value


def moment(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)


def operations_of(model):
    return [model.operation_model(name) for name in model.operation_names]


def form_by_botocore(operation, request):
    """As it is sent, and as pairs."""
    parts = botocore.serialize.create_serializer("query", False).serialize_to_request(
        request, operation)
    sent = botocore.awsrequest.AWSRequest(
        method="POST", url="http://127.0.0.1/", headers=parts["headers"], data=parts["body"])
    body = sent.prepare().body
    return body if isinstance(body, str) else body.decode(), parts["body"]


def parsed_by_botocore(operation, status, text):
    return botocore.parsers.create_parser("query").parse(
        {"body": text.encode(), "status_code": status, "headers": {}}, operation.output_shape)


# ---- requests ----


def test_requests_of_botocore(model):
    wanted, jobs = [], []
    for operation in operations_of(model):
        request = rich(operation.input_shape)
        wanted.append({"operation": operation.name, "json": request})
        jobs.append({"input": form_by_botocore(operation, request)[0]})
    for result, expected in zip(convert(jobs), wanted):
        assert result == expected


def test_empty_lists_and_nothing(model):
    """Clients send "Name=" for an empty list, and nothing for an empty map or structure."""
    wanted, jobs = [], []
    for operation in operations_of(model):
        request = {name: [] for name, member in operation.input_shape.members.items()
                   if member.type_name == "list"}
        wanted += [{"operation": operation.name, "json": request},
                   {"operation": operation.name, "json": {}}]
        jobs += [{"input": form_by_botocore(operation, request)[0]},
                 {"input": form_by_botocore(operation, {})[0]}]
    for result, expected in zip(convert(jobs), wanted):
        assert result == expected


def test_our_requests(model):
    """Our requests to a remote service equal those of botocore."""
    wanted, jobs = [], []
    for operation in operations_of(model):
        request = rich(operation.input_shape)
        wanted.append({name: str(value) for name, value in
                       form_by_botocore(operation, request)[1].items()})
        jobs.append({"operation": operation.name, "request": request})
    for result, expected in zip(convert(jobs), wanted):
        pairs = urllib.parse.parse_qsl(result["text"], keep_blank_values=True,
                                       strict_parsing=True)
        assert len(pairs) == len(expected)
        assert dict(pairs) == expected


# ---- answers ----


def test_our_answers(model):
    operations = operations_of(model)
    answers = [rich(operation.output_shape) for operation in operations]
    jobs = [{"operation": operation.name, "answer": answer, "id": "an-id"}
            for operation, answer in zip(operations, answers)]
    for operation, answer, result in zip(operations, answers, convert(jobs)):
        parsed = parsed_by_botocore(operation, 200, result["text"])
        metadata = parsed.pop("ResponseMetadata")
        assert metadata["RequestId"] == "an-id"
        assert parsed == moments(operation.output_shape, answer, moment)


def xml_of(shape, name, value, indent="\n"):
    """A value as XML, by hand and with space between elements."""
    kind = shape.type_name
    inner = indent + "  "
    if kind == "structure":
        text = "".join(xml_of(shape.members[one], one, part, inner) for one, part in value.items())
    elif kind == "list":
        text = "".join(xml_of(shape.member, "member", part, inner) for part in value)
    elif kind == "map":
        text = "".join(f"{inner}<entry>{xml_of(shape.key, 'key', key, inner)}"
                       f"{xml_of(shape.value, 'value', part, inner)}</entry>"
                       for key, part in value.items())
    elif kind == "timestamp":
        text = moment(value).strftime("%Y-%m-%dT%H:%M:%S.%f+00:00")
    elif kind == "boolean":
        text = "true" if value else "false"
    else:
        text = escape(str(value)).replace("\r", "&#xD;")
    return f"{indent}<{name}>{text}{indent if kind in ('structure', 'list', 'map') else ''}</{name}>"


def test_answers_of_others(model):
    operations = operations_of(model)
    answers = [rich(operation.output_shape) for operation in operations]
    jobs = [
        {"operation": operation.name,
         "xml": f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- x -->\n'
                f'<{operation.name}Response xmlns="http://x/">'
                + xml_of(operation.output_shape, operation.name + "Result", answer)
                + "<ResponseMetadata><RequestId>x</RequestId></ResponseMetadata>"
                  f"</{operation.name}Response>\n"}
        for operation, answer in zip(operations, answers)]
    for answer, result in zip(answers, convert(jobs)):
        assert result == {"json": answer}


def test_answers_come_back(model):
    """Our side reads its own output, also empty values."""
    operations = operations_of(model)
    answers = [rich(operation.output_shape) for operation in operations]
    answers += [{name: [] for name, member in operation.output_shape.members.items()
                 if member.type_name == "list"} for operation in operations]
    operations *= 2
    written = convert([{"operation": operation.name, "answer": answer, "id": "x"}
                       for operation, answer in zip(operations, answers)])
    read = convert([{"operation": operation.name, "xml": result["text"]}
                    for operation, result in zip(operations, written)])
    assert read == [{"json": answer} for answer in answers]


# ---- errors ----


def test_our_errors(model):
    operation = operations_of(model)[0]
    shapes = [shape for shape in model.error_shapes]
    assert len(shapes) > 30
    jobs = [{"error": {"__type": shape.name, "message": TEXT}, "id": "an-id"} for shape in shapes]
    results = convert(jobs)
    for shape, result in zip(shapes, results):
        assert result["status"] == shape.metadata["error"]["httpStatusCode"]
        parsed = parsed_by_botocore(operation, result["status"], result["text"])
        assert parsed["Error"] == {
            "Type": "Receiver" if result["status"] >= 500 else "Sender",
            "Code": shape.metadata["error"]["code"], "Message": TEXT}
        assert parsed["ResponseMetadata"]["RequestId"] == "an-id"
    read = convert([{"xmlError": result["text"]} for result in results])
    assert read == [{"type": shape.name, "message": TEXT} for shape in shapes]


def test_errors_that_every_service_has():
    expected = {
        "AccessDeniedException": ("AccessDenied", 403),
        "InvalidSignatureException": ("SignatureDoesNotMatch", 403),
        "SerializationException": ("MalformedInput", 400),
        "ServerException": ("InternalFailure", 500),
        "ThrottlingException": ("Throttling", 400),
        "UnknownOperationException": ("InvalidAction", 400),
        "ValidationError": ("ValidationError", 400),
    }
    results = convert([{"error": {"__type": name, "message": "no"}, "id": "x"}
                       for name in expected])
    for (name, (code, status)), result in zip(expected.items(), results):
        assert f"<Code>{code}</Code>" in result["text"], name
        assert result["status"] == status, name
    read = convert([{"xmlError": result["text"]} for result in results])
    assert [result["type"] for result in read] == list(expected)


# ---- the newest SDK ----


def test_javascript_sdk():
    """It has the newest model, and a parser of XML of its own."""
    model = botocore.model.ServiceModel(model_of_tables(), "elbv2")
    operations = operations_of(model)
    requests = [rich(operation.input_shape) for operation in operations]
    answers = [rich(operation.output_shape) for operation in operations]
    written = convert([{"operation": operation.name, "answer": answer, "id": "an-id"}
                       for operation, answer in zip(operations, answers)])
    lines = [json.dumps([operation.name, request, result["text"], 200])
             for operation, request, result in zip(operations, requests, written)]
    error = convert([{"error": {"__type": "LoadBalancerNotFoundException", "message": TEXT},
                      "id": "x"}])[0]
    lines.append(json.dumps(["DescribeLoadBalancers", {}, error["text"], error["status"]]))
    *results, refused = json.loads(
        output_of("node", "-e", CALL_WITH_SDK, PACKAGE, text="\n".join(lines)))
    read = convert([{"input": form} for form, *_ in results])

    def javascript(seconds):
        return moment(seconds).strftime("%Y-%m-%dT%H:%M:%S.123Z")

    for operation, request, answer, result, ours in zip(operations, requests, answers, results,
                                                        read):
        assert ours == {"operation": operation.name, "json": request}
        assert result[1] == moments(operation.output_shape, answer, javascript)
    assert refused[1:] == ["LoadBalancerNotFoundException", TEXT, 400, True]


# ---- bad forms ----


@pytest.mark.parametrize("form, words", [
    ("Port=80x", "Port: expected an integer"),
    ("Port=", "Port: expected an integer"),
    ("Port= 80", "Port: expected an integer"),
    ("Port=1e3", "Port: expected an integer"),
    ("Port=99999999999999999999", "Port: expected an integer"),
    ("Port.member.1=80", "Port: has no members"),
    ("Port=80&Port.x=1", "Port: has no members"),
    ("Port=80&Port=80", "Port: is given more than once"),
    ("Tags=x", "Tags: expected items"),
    ("Tags.1.Key=a", "Tags: 'member' must follow"),
    ("Tags.member=x", "Tags.member: expected items"),
    ("Tags.member.0.Key=a", "Tags.member.0: items must be numbered"),
    ("Tags.member.2.Key=a", "Tags.member.2: items must be numbered"),
    ("Tags.member.01.Key=a", "Tags.member.01: items must be numbered"),
    ("Tags.member.1.Key=a&Tags.member.3.Key=a", "Tags.member.3: items must be numbered"),
    ("Tags.member.x.Key=a", "Tags.member.x: items must be numbered"),
    ("Tags.member.1=a", "Tags.member.1: expected members"),
    ("MutualAuthentication.IgnoreClientCertificateExpiry=yes",
     "MutualAuthentication.IgnoreClientCertificateExpiry: expected true or false"),
    ("DefaultActions.member.1.AuthenticateOidcConfig.AuthenticationRequestExtraParams.entry.1.key=a",
     "AuthenticationRequestExtraParams.entry.1: has no value"),
    ("Port=%8", "hexadecimal"),
    ("Port=%zz", "hexadecimal"),
    ("LoadBalancerArn=%ff", "not UTF-8"),
    ("x." * 40 + "x=1", "more than 32 parts"),
    ("x" * 600 + "=1", "more than 512 bytes"),
    ("&".join(f"x{number}=1" for number in range(9000)), "more than 8192 parameters"),
    ("x=" + "y" * (1 << 20), "longer than 1048576 bytes"),
], ids=lambda one: one[:40])  # pytest passes the id to programs in their environment, which is limited
def test_bad_forms(form, words):
    result = convert([{"input": "Action=CreateListener&" + form}])[0]
    assert words in result["failure"]


def test_what_is_not_known_is_ignored():
    result = convert([{"input": "Action=CreateListener&Version=2015-12-01&Port=80&Absent=1"
                                "&AlpnPolicy.member.1=a+b&&Tags.member.1.Color=red"
                                "&AWSAccessKeyId=x&=&Absent.Member.1=&LoadBalancerArn"}])[0]
    assert result["json"] == {"AlpnPolicy": ["a b"], "LoadBalancerArn": "", "Port": 80,
                              "Tags": [{}]}


# ---- bad answers ----


@pytest.mark.parametrize("text, words", [
    ("", "missing"),
    ("<a></a>", "not <DescribeRulesResponse>"),
    ("<DescribeRulesResponse>", "does not end"),
    ("<!DOCTYPE x []><DescribeRulesResponse/>", "missing"),
    ("<DescribeRulesResponse>&x;</DescribeRulesResponse>", "entity"),
    ("<DescribeRulesResponse/>x", "follows"),
    ("<DescribeRulesResponse>x<DescribeRulesResult/></DescribeRulesResponse>", "beside"),
    ("<DescribeRulesResponse><DescribeRulesResult><Rules><member><IsDefault>x</IsDefault></member>"
     "</Rules></DescribeRulesResult></DescribeRulesResponse>", "<IsDefault> is not true or false"),
    ("<DescribeRulesResponse><DescribeRulesResult><NextMarker>1</NextMarker><NextMarker>2"
     "</NextMarker></DescribeRulesResult></DescribeRulesResponse>", "two of the same"),
    ("<a>" * 70, "too deeply"),
])
def test_bad_answers(text, words):
    assert words in convert([{"operation": "DescribeRules", "xml": text}])[0]["failure"]
