"""The shape tables of src/aws/generated/shapes_*.c beside AWS's own models.

There are two models: the newest npm package (asked by node, as the SDK itself reads it) and Debian's
older botocore. Everything that is in either of them must be in the tables, with the same types,
required members, enums and errors, and nothing else may be in the tables.
"""
import json
import os
import re
import subprocess

import botocore
import pytest

from conftest import DEADLINE, SOURCE, slipway_program

SERVER_ARGUMENTS = ["--runtime", "none"]

PACKAGES = os.path.join(SOURCE, "tests/scenario/node_modules/@aws-sdk")
BOTOCORE = os.path.join(os.path.dirname(botocore.__file__), "data")


class Service:
    """A table, the two models it is from, and how much there is at least in them."""

    def __init__(self, name, package, model, **more):
        self.name = name
        self.package = os.path.join(PACKAGES, package)
        self.botocore = os.path.join(BOTOCORE, model, "service-2.json")
        # Operations, structures, enums, members of the package; operations, members and limits of
        # botocore; members that are enums.
        self.least = more["least"]
        # Where the models contradict each other the tables follow the package, because it is newer.
        # Each such place is here with the reason; one that is not, and a line that is not needed,
        # fail test_members_of_botocore.
        self.known_differences = more.get("known_differences", {})
        # Answers to values out of bounds that the model does not list for its operations.
        self.unlisted_errors = more.get("unlisted_errors", set())


SERVICES = [
    Service(
        "ecs", "client-ecs", "ecs/2014-11-13", least=(88, 400, 100, 1500, 55, 700, 15, 150),
        known_differences={
            "CreateCapacityProviderRequest.autoScalingGroupProvider: required":
                "managedInstancesProvider can be given instead since there are managed instances",
            "ResourceRequirement.value: required":
                "a GPU that is shared by MPS has a sharingStrategy in its place",
            "UpdateCapacityProviderRequest.autoScalingGroupProvider: required":
                "as for CreateCapacityProviderRequest",
        }),
    Service(
        "elasticloadbalancingv2", "client-elastic-load-balancing-v2", "elbv2/2015-12-01",
        least=(51, 190, 25, 350, 34, 250, 40, 35),
        # AWS answers with it, and lists it only among the errors that all operations have.
        unlisted_errors={"ValidationError"}),
    Service(
        "servicediscovery", "client-servicediscovery", "servicediscovery/2017-03-14",
        least=(30, 100, 10, 200, 26, 180, 90, 15)),
]

# The package's schemas with all references followed, as JSON.
READ_SCHEMAS = """
const sdk = require(process.argv[1]);
const kinds = {0: "string", 1: "number", 2: "boolean", 4: "timestamp", 5: "timestamp",
    6: "timestamp", 7: "timestamp", 15: "document", 21: "blob", 42: "blob"};
function describe(schema) {
    if (typeof schema === "function") return describe(schema());
    if (typeof schema === "number") {
        if (schema & 64) return {type: "list", element: describe(schema & 63)};
        if (schema & 128) return {type: "map", element: describe(schema & 127)};
        return {type: kinds[schema]};
    }
    if (schema.length === 2) return describe(schema[0]);
    const [kind, , name] = schema;
    if (kind === 0) return describe(schema[4]);
    if (kind === 1) return {type: "list", element: describe(schema[4])};
    if (kind === 2) return {type: "map", element: describe(schema[5])};
    return {type: "structure", structure: name};
}
const model = {structures: {}, operations: {}, enums: {}};
for (const [key, value] of Object.entries(sdk)) {
    if (key.endsWith("$") && Array.isArray(value)) {
        const [kind, namespace, name] = value;
        if (!namespace.startsWith("com.amazonaws.")) continue;
        if (kind === 9) {
            const [input, output] = [value[4](), value[5]()].map(
                one => one === "unit" ? "Nothing" : one[2]);
            model.operations[name] = {input, output};
            continue;
        }
        const members = {};
        value[4].forEach((member, index) => {
            members[member] = {...describe(value[5][index]), required: index < (value[6] || 0)};
        });
        model.structures[name] = {members, union: kind === 4, error: kind === -3,
            query: value[3].awsQueryError};
    } else if (value && typeof value === "object" && value.constructor === Object &&
               Object.values(value).every(one => typeof one === "string")) {
        model.enums[key] = Object.values(value);
    }
}
process.stdout.write(JSON.stringify(model));
"""


def output_of(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=DEADLINE * 3, check=False)
    assert done.returncode == 0, f"{command[0]}: {done.stderr}"
    return done.stdout


@pytest.fixture(scope="module", params=SERVICES, ids=lambda service: service.name)
def service(request):
    return request.param


@pytest.fixture(scope="module")
def tables(service):
    return json.loads(output_of(
        os.path.join(os.path.dirname(slipway_program()), "print-shapes"), service.name))


@pytest.fixture(scope="module")
def package(service):
    return json.loads(output_of("node", "-e", READ_SCHEMAS, service.package))


@pytest.fixture(scope="module")
def old_model(service):
    with open(service.botocore, encoding="utf-8") as file:
        return json.load(file)


def declarations(service):
    """Text of the package's declarations of structures for TypeScript, without comments."""
    folder = os.path.join(service.package, "dist-types/models")
    text = ""
    for name in sorted(os.listdir(folder)):
        if re.fullmatch(r"models_\d+\.d\.ts", name):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text += file.read()
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def elements(value):
    """The type of a value without the lists and maps around it."""
    while value["type"] in ("list", "map"):
        value = value["element"]
    return value


def enums_of(value):
    """Names of the enums of a value, of what is in it, and of its keys."""
    found = {value["enum"]} if "enum" in value else set()
    for part in ("key", "element"):
        if part in value:
            found |= enums_of(value[part])
    return found


def differences_of_types(ours, theirs):
    """Why two types, as print-shapes and READ_SCHEMAS describe them, are not the same; or None."""
    if theirs["type"] == "number":
        if ours["type"] not in ("integer", "long", "float", "double"):
            return f"{ours['type']} is not a number"
    elif ours["type"] != theirs["type"]:
        return f"{ours['type']} is not {theirs['type']}"
    if ours.get("structure") != theirs.get("structure"):
        return f"{ours.get('structure')} is not {theirs.get('structure')}"
    if "element" in theirs:
        return differences_of_types(ours["element"], theirs["element"])
    return None


def described(model, name):
    """A type of botocore's model in the words of print-shapes."""
    shape = model["shapes"][name]
    kind = shape["type"]
    if shape.get("document"):
        return {"type": "document"}
    if kind == "structure":
        return {"type": kind, "structure": name}
    result = {"type": kind}
    if kind == "list":
        result["element"] = described(model, shape["member"]["shape"])
    elif kind == "map":
        result["element"] = described(model, shape["value"]["shape"])
        result["key"] = described(model, shape["key"]["shape"])
    elif "enum" in shape:
        result["enum"] = name
    for limit in ("min", "max"):
        if limit in shape:
            result[limit] = shape[limit]
    return result


def reachable(tables):
    """Names of the structures that the operations of the tables lead to."""
    todo = []
    for operation in tables["operations"].values():
        todo += [operation["input"], operation["output"], *operation["errors"]]
    found = set()
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        for member in tables["structures"][name]["members"].values():
            inner = elements(member["value"])
            if inner["type"] == "structure":
                todo.append(inner["structure"])
    return found


def test_models_are_read(service, package, old_model):
    """The rest of this file would pass on an empty model."""
    assert len(package["operations"]) >= service.least[0]
    assert len(package["structures"]) > service.least[1]
    assert len(package["enums"]) > service.least[2]
    assert len(old_model["operations"]) >= service.least[4]
    for operation in package["operations"].values():
        assert operation["input"] in package["structures"]


def test_metadata(tables, old_model):
    theirs = old_model["metadata"]
    assert tables["protocol"] == theirs["protocol"]
    assert tables["version"] == theirs["apiVersion"]
    assert tables["targetPrefix"] == theirs.get("targetPrefix", "")
    assert tables.get("xmlNamespace") == theirs.get("xmlNamespace")


def test_operations(tables, package, old_model):
    assert set(tables["operations"]) == set(package["operations"]) | set(old_model["operations"])
    for name, operation in package["operations"].items():
        ours = tables["operations"][name]
        assert (ours["input"], ours["output"]) == (operation["input"], operation["output"]), name
    for name, operation in old_model["operations"].items():
        ours = tables["operations"][name]
        for part in ("input", "output"):
            assert ours[part] == operation.get(part, {}).get("shape", "Nothing"), name


def test_errors_of_operations(service, tables, package, old_model):
    for name, operation in tables["operations"].items():
        path = os.path.join(service.package, f"dist-types/commands/{name}Command.d.ts")
        with open(path, encoding="utf-8") as file:
            thrown = set(re.findall(r"@throws \{@link (\w+)\}", file.read()))
        errors = {error for error in thrown if package["structures"].get(error, {}).get("error")}
        errors |= {error["shape"] for error in
                   old_model["operations"].get(name, {}).get("errors", [])}
        assert set(operation["errors"]) == errors, name
        for error in errors:
            assert "error" in tables["structures"][error], error
        assert operation["invalidInput"] in errors | service.unlisted_errors, name
    assert any(operation["errors"] for operation in tables["operations"].values())


def test_codes_and_statuses_of_errors(tables, package, old_model):
    """The query protocol has a code in the place of an error's name."""
    for name, ours in tables["structures"].items():
        old = old_model["shapes"].get(name, {}).get("error")
        new = package["structures"].get(name, {}).get("query")
        if old and "code" in old:
            assert ours.get("code", name) == old["code"], name
            assert ours["error"]["status"] == old["httpStatusCode"], name
        if new:
            assert [ours.get("code", name), ours["error"]["status"]] == new, name
        if "error" in ours and tables["protocol"] == "query":
            assert old or new, name


def test_every_structure_is_reached_and_known(tables, package, old_model):
    """Nothing in the tables that no operation leads to; nothing missing that one leads to."""
    assert set(tables["structures"]) == reachable(tables)
    assert tables["structures"].get("Nothing", {"members": {}})["members"] == {}
    for name in tables["structures"]:
        assert name in package["structures"] or name in old_model["shapes"] or name == "Nothing"


def test_members_of_the_package(service, tables, package):
    checked = 0
    for name, ours in tables["structures"].items():
        theirs = package["structures"].get(name, {"members": {}, "union": False, "error": False})
        assert ours.get("union", False) == theirs["union"], name
        for member, value in theirs["members"].items():
            where = f"{name}.{member}"
            assert member in ours["members"], where
            problem = differences_of_types(ours["members"][member]["value"], value)
            assert problem is None, f"{where}: {problem}"
            assert ours["members"][member]["required"] == value["required"], where
            checked += 1
    assert checked > service.least[3]


def test_members_of_botocore(service, tables, old_model):
    checked = 0
    differences = set()
    for name, ours in tables["structures"].items():
        theirs = old_model["shapes"].get(name, {"members": {}})
        for member, reference in theirs["members"].items():
            where = f"{name}.{member}"
            assert member in ours["members"], where
            value = described(old_model, reference["shape"])
            problem = differences_of_types(ours["members"][member]["value"], value)
            assert problem is None, f"{where}: {problem}"
            if ours["members"][member]["required"] != (member in theirs.get("required", ())):
                differences.add(f"{where}: required")
            assert ours["members"][member].get("wireName", member) == reference.get(
                "locationName", member), where
            checked += 1
    assert checked > service.least[5]
    assert differences == set(service.known_differences)


def test_no_member_of_our_own(tables, package, old_model):
    for name, ours in tables["structures"].items():
        theirs = set(package["structures"].get(name, {"members": {}})["members"])
        theirs |= set(old_model["shapes"].get(name, {}).get("members", {}))
        assert set(ours["members"]) == theirs, name


def test_values_of_enums(tables, package, old_model):
    for name, values in tables["enums"].items():
        theirs = set(package["enums"].get(name, ()))
        theirs |= set(old_model["shapes"].get(name, {}).get("enum", ()))
        assert len(values) == len(set(values)), name
        assert set(values) == theirs, name


def test_members_that_are_enums(service, tables, package, old_model):
    """A member has an enum exactly when a model declares it with one, and that one."""
    declared = {}
    text = declarations(service)
    for name, body in re.findall(r"^export interface (\w+)[^{]*\{(.*?)^\}", text, re.M | re.S):
        for member, words in re.findall(r"^    (\w+)\??: ([^;]+);", body, re.M):
            declared[f"{name}.{member}"] = words
    for name, body in re.findall(r"^export declare namespace (\w+) \{(.*?)^\}", text, re.M | re.S):
        for member, words in re.findall(r"^        (\w+): ([^;(]+);\s+\$unknown\?", body, re.M):
            declared[f"{name}.{member}"] = words
    checked = 0
    for name, structure in tables["structures"].items():
        for member, ours in structure["members"].items():
            where = f"{name}.{member}"
            words = re.findall(r"\w+", declared.get(where, ""))
            enums = {word for word in words if word in package["enums"]}
            reference = old_model["shapes"].get(name, {}).get("members", {}).get(member)
            if reference:
                enums |= enums_of(described(old_model, reference["shape"]))
            assert enums_of(ours["value"]) == enums, where
            checked += len(enums)
    assert checked > service.least[7]


def test_limits_of_botocore(service, tables, old_model):
    def check(where, ours, theirs):
        for limit in ("min", "max"):
            if limit in theirs:
                assert ours.get(limit) == theirs[limit], f"{where}: {limit}"
        if "element" in theirs:
            check(where + "[]", ours["element"], theirs["element"])
        return "min" in theirs or "max" in theirs

    checked = 0
    for name, ours in tables["structures"].items():
        for member, reference in old_model["shapes"].get(name, {}).get("members", {}).items():
            where = f"{name}.{member}"
            checked += check(where, ours["members"][member]["value"],
                             described(old_model, reference["shape"]))
    assert checked > service.least[6]


def test_table_is_what_the_generator_writes(service):
    written = output_of(os.path.join(SOURCE, "tools/generate-shapes"), service.name,
                        service.package, service.botocore)
    path = f"src/aws/generated/shapes_{service.name}.c"
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        assert file.read() == written, f"write {path} again with tools/generate-shapes"


def test_table_of_sts_is_what_the_generator_writes():
    """Called, and not answered: one model is enough."""
    written = output_of(os.path.join(SOURCE, "tools/generate-shapes"), "sts",
                        os.path.join(BOTOCORE, "sts/2011-06-15/service-2.json"))
    with open(os.path.join(SOURCE, "src/aws/generated/shapes_sts.c"), encoding="utf-8") as file:
        assert file.read() == written, "write src/aws/generated/shapes_sts.c again with tools/generate-shapes"
