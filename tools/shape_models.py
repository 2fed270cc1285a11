"""AWS's models of a service, read from an npm package and from botocore, and made into one.

For tools/generate-shapes. merge(Package(…).model, Botocore(…).model) is a Model with everything
that is in either; where the two contradict each other about a type it raises Problem.
"""
import json
import os
import re

NUMBERS = ("integer", "long", "float", "double")
NOTHING = "Nothing"  # the input or output of an operation whose model has none


class Problem(Exception):
    """The models are not as this program understands them."""


# ---------------------------------------------------------------------------------------------
# The model, the same for both sources. A type is a Type; structures are named and kept apart, so
# that types are small, comparable values and can be interned.


class Type:
    """One kind of value; equal ones become one row of the table."""

    FIELDS = ("kind", "name", "element", "key", "limits", "wire_name", "flattened", "sensitive")

    def __init__(self, kind, **fields):
        self.kind = kind  # a key of C_TYPES, or "number" while the kind of number is not known
        self.name = fields.get("name")  # of a structure or an enum
        self.element = fields.get("element")  # of a list or map: its elements or values
        self.key = fields.get("key")  # of a map
        self.limits = fields.get("limits")  # (min, max), either may be None
        self.wire_name = fields.get("wire_name")  # XML name of a list's elements
        self.flattened = fields.get("flattened", False)
        self.sensitive = fields.get("sensitive", False)

    def identity(self):
        parts = []
        for field in self.FIELDS:
            value = getattr(self, field)
            parts.append(value.identity() if isinstance(value, Type) else value)
        return tuple(parts)

    def changed(self, **fields):
        copy = {field: getattr(self, field) for field in self.FIELDS}
        copy.update(fields)
        return Type(copy.pop("kind"), **copy)


class Member:
    def __init__(self, type_, required=False, wire_name=None, token=False):
        self.type = type_
        self.required = required
        self.wire_name = wire_name
        self.token = token  # an idempotency token: clients fill it in


class Structure:
    def __init__(self, members, union=False, sensitive=False, error=None):
        self.members = members  # name -> Member
        self.union = union
        self.sensitive = sensitive
        self.error = error  # None, or {"fault": "client" or "server", "status": …, "code": …}


class Operation:
    def __init__(self, input_, output, errors):
        self.input = input_  # name of a structure, or None for one without members
        self.output = output
        self.errors = errors  # set of names of structures


class Model:
    def __init__(self):
        self.operations = {}
        self.structures = {}
        self.enums = {}  # name -> list of values
        self.metadata = {}


# ---------------------------------------------------------------------------------------------
# Source one: the npm package. Its schemas are arrays in a small part of JavaScript; enums and
# errors are only in the declarations for TypeScript.

TOKEN = re.compile(
    r"""\s*(?:(=>)|("(?:[^"\\]|\\.)*"|`[^`$\\"]*`)|(-?\d+(?:\.\d+)?)"""
    r"""|([A-Za-z_$][\w$]*)|([\[\]{}(),:|]))"""
)
ASSIGNMENT = re.compile(r"^(?:export )?(?:const|var) ([\w$]+) = (?!new )(.*?);$", re.M | re.S)

# First elements of a schema array.
SIMPLE, LIST, MAP, STRUCTURE, UNION, ERROR, OPERATION = 0, 1, 2, 3, 4, -3, 9
SIMPLE_KINDS = {
    0: "string",
    1: "number",
    2: "boolean",
    4: "timestamp",
    5: "timestamp",
    6: "timestamp",
    7: "timestamp",
    15: "document",
    21: "blob",
    42: "blob",
}
LIST_BIT, MAP_BIT = 64, 128
TRAIT_BITS = {2: "idempotencyToken", 3: "sensitive"}


class Reference(str):
    """`() => Name` or a bare name: another assignment of the same file."""


class Expression:
    """Reads one right-hand side of a schema file into Python values."""

    def __init__(self, text):
        self.tokens = []
        position = 0
        text = text.strip()
        while position < len(text):
            match = TOKEN.match(text, position)
            if not match:
                raise Problem(f"cannot read schema text at: {text[position:position + 60]!r}")
            self.tokens.append(match.group(match.lastindex))
            position = match.end()
        self.next = 0

    def peek(self):
        return self.tokens[self.next] if self.next < len(self.tokens) else None

    def take(self, expected=None):
        token = self.peek()
        if token is None or (expected and token != expected):
            raise Problem(f"expected {expected!r} in a schema, found {token!r}")
        self.next += 1
        return token

    def value(self):
        result = self.operand()
        while self.peek() == "|":
            self.take()
            result |= self.operand()
        return result

    def operand(self):
        token = self.take()
        if token == "(":
            self.take(")")
            self.take("=>")
            return Reference(self.take())
        if token == "[":
            items = []
            while self.peek() != "]":
                items.append(self.value())
                if self.peek() == ",":
                    self.take()
            self.take("]")
            return items
        if token == "{":
            pairs = {}
            while self.peek() != "}":
                key = self.value()
                if isinstance(key, list):  # { [_name]: … }
                    key = key[0]
                self.take(":")
                pairs[key] = self.value()
                if self.peek() == ",":
                    self.take()
            self.take("}")
            return pairs
        if token[0] in '"`':
            return json.loads(token.replace("`", '"'))
        if re.match(r"-?\d", token):
            return float(token) if "." in token else int(token)
        return Reference(token)


class Package:
    """The model of an npm package. named_limits: of botocore's shapes, by the shape's name, because
    the package has the names and not the limits."""

    def __init__(self, folder, named_limits):
        self.model = Model()
        self.named_limits = named_limits
        self.constants = {}
        self.interfaces = {}
        self.read_schemas(os.path.join(folder, "dist-es/schemas"))
        types = os.path.join(folder, "dist-types")
        self.read_enums(os.path.join(types, "models/enums.d.ts"))
        for name in sorted(os.listdir(os.path.join(types, "models"))):
            if re.fullmatch(r"(models_\d+|errors)\.d\.ts", name):
                self.read_interfaces(os.path.join(types, "models", name))
        for schema in self.constants.values():
            if isinstance(schema, list) and schema and schema[0] in (STRUCTURE, UNION, ERROR):
                self.add_structure(schema)
        for schema in self.constants.values():
            if isinstance(schema, list) and schema and schema[0] == OPERATION:
                self.add_operation(schema, os.path.join(types, "commands"))

    def read_schemas(self, folder):
        texts = []
        for name in sorted(os.listdir(folder)):
            if re.fullmatch(r"schemas_\d+\.js", name):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    texts.append(file.read())
        if not texts:
            raise Problem(f"no schemas_*.js in {folder}")
        for text in texts:
            for match in ASSIGNMENT.finditer(text):
                self.constants[match[1]] = Expression(match[2]).value()

    def read_enums(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for match in re.finditer(r"export declare const (\w+): \{(.*?)\n\};", text, re.S):
            body = re.sub(r"/\*.*?\*/", "", match[2], flags=re.S)
            values = re.findall(r'readonly "?[^":\n]+"?: ("(?:[^"\\]|\\.)*");', body)
            self.model.enums[match[1]] = [json.loads(value) for value in values]

    def read_interfaces(self, path):
        """TypeScript's idea of each member: whether it is optional, and the name of its enum."""
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        for match in re.finditer(
            r"^export (?:interface|declare class) (\w+)[^{\n]*\{(.*?)^\}", text, re.M | re.S
        ):
            members = re.findall(r"^    (?:readonly )?(\w+)(\??): ([^;{]+);", match[2], re.M)
            self.interfaces[match[1]] = {name: (type_, not mark) for name, mark, type_ in members}
        for match in re.finditer(
            r"^export declare namespace (\w+) \{(.*?)^\}", text, re.M | re.S
        ):
            members = re.findall(
                r"^    interface \w+Member \{\s+(\w+): ([^;]+);\s+\$unknown\?: never;",
                match[2],
                re.M,
            )
            self.interfaces[match[1]] = {name: (type_, False) for name, type_ in members}

    def text(self, value):
        while isinstance(value, Reference):
            value = self.constants[value]
        return value

    def traits(self, traits):
        traits = self.text(traits)
        if isinstance(traits, int):
            return {name: 1 for bit, name in TRAIT_BITS.items() if traits >> bit & 1}
        return {self.text(key): self.text(value) for key, value in traits.items()}

    def type_of(self, schema, declared):
        """The Type of a schema reference, and the traits of the reference itself."""
        if isinstance(schema, Reference):
            target = self.constants[schema]
            if isinstance(target, (int, Reference)):
                return self.type_of(target, declared)
            return self.type_of_array(target, declared), {}
        if isinstance(schema, int):
            if schema & (LIST_BIT | MAP_BIT):
                inner = type_argument(declared)
                element, _ = self.type_of(schema & (LIST_BIT - 1), inner)
                if schema & LIST_BIT:
                    return Type("list", element=element), {}
                return Type("map", element=element, key=self.key_type(declared)), {}
            kind = SIMPLE_KINDS[schema]
            enum = declared if kind == "string" and declared in self.model.enums else None
            return Type(kind, name=enum), {}
        if isinstance(schema, list) and len(schema) == 2:
            type_, _ = self.type_of(schema[0], declared)
            return type_, self.traits(schema[1])
        raise Problem(f"unknown schema reference {schema!r}")

    def key_type(self, declared):
        key = re.match(r"(?:Partial<)?Record<(\w+),", declared or "")
        return Type("string", name=key[1] if key and key[1] in self.model.enums else None)

    def type_of_array(self, schema, declared):
        kind, name, traits = schema[0], self.text(schema[2]), self.traits(schema[3])
        limits = self.named_limits.get(name)
        if kind in (STRUCTURE, UNION, ERROR):
            return Type("structure", name=name)
        if kind == SIMPLE:
            type_, _ = self.type_of(schema[4], declared)
            return type_.changed(sensitive="sensitive" in traits, limits=limits)
        if kind == LIST:
            element, more = self.type_of(schema[4], type_argument(declared))
            return Type(
                "list",
                element=element,
                limits=limits,
                wire_name=more.get("xmlName"),
                flattened="xmlFlattened" in traits,
                sensitive="sensitive" in traits,
            )
        if kind == MAP:
            element, _ = self.type_of(schema[5], type_argument(declared))
            return Type(
                "map",
                element=element,
                key=self.key_type(declared),
                limits=limits,
                sensitive="sensitive" in traits,
            )
        raise Problem(f"unknown kind of schema {kind!r}")

    def add_structure(self, schema):
        name = self.text(schema[2])
        if schema[0] == ERROR and self.text(schema[1]).startswith("smithy.ts.sdk"):
            return  # the package's own base class, not an error of the service
        declared = self.interfaces.get(name) or self.interfaces.get("_" + name, {})
        required = schema[6] if len(schema) > 6 else 0
        members = {}
        for index, (member, reference) in enumerate(zip(schema[4], schema[5])):
            member = self.text(member)
            words, always = declared.get(member, ("", False))
            words = re.sub(r"\s*\|\s*undefined$", "", words.strip())
            if words and schema[0] == STRUCTURE and always != (index < required):
                raise Problem(f"{name}.{member}: schema and declaration differ about required")
            type_, traits = self.type_of(reference, words)
            if "xmlFlattened" in traits:
                type_ = type_.changed(flattened=True)
            members[member] = Member(
                type_,
                required=index < required,
                wire_name=traits.get("xmlName") or traits.get("jsonName"),
                token="idempotencyToken" in traits,
            )
        traits = self.traits(schema[3])
        error = None
        if schema[0] == ERROR:
            code = traits.get("awsQueryError")
            error = {
                "fault": traits["error"],
                "status": traits.get("httpError"),
                "code": code[0] if isinstance(code, list) else None,
            }
        self.model.structures[name] = Structure(
            members, schema[0] == UNION, "sensitive" in traits, error
        )

    def structure_name(self, reference):
        schema = self.constants[reference]
        return None if schema == "unit" else self.text(schema[2])

    def add_operation(self, schema, commands):
        name = self.text(schema[2])
        with open(os.path.join(commands, name + "Command.d.ts"), encoding="utf-8") as file:
            thrown = set(re.findall(r"@throws \{@link (\w+)\}", file.read()))
        names = [self.structure_name(reference) for reference in schema[4:6]]
        self.model.operations[name] = Operation(
            names[0], names[1], {error for error in thrown if error in self.model.structures}
        )


def type_argument(declared):
    """The element of a TypeScript list or map type: `Foo[]` and `Record<string, Foo>` have Foo."""
    declared = (declared or "").strip()
    if declared.endswith("[]"):
        inner = declared[:-2]
        return inner[1:-1] if inner.startswith("(") else inner
    match = re.fullmatch(r"(?:Partial<)?Record<\w+, (.*?)>+", declared)
    return re.sub(r"\s*\|\s*undefined$", "", match[1]) if match else ""


# ---------------------------------------------------------------------------------------------
# Source two: botocore's JSON.


class Botocore:
    """The model of a service-2.json."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.source = json.load(file)
        self.shapes = self.source["shapes"]
        self.model = Model()
        self.model.metadata = self.source["metadata"]
        for name, shape in self.shapes.items():
            if shape["type"] == "structure" and not shape.get("document"):
                self.add_structure(name, shape)
            elif "enum" in shape:
                self.model.enums[name] = shape["enum"]
        if self.model.metadata["protocol"] == "query":
            self.check_query()
        for name, operation in self.source["operations"].items():
            errors = {error["shape"] for error in operation.get("errors", [])}
            self.model.operations[name] = Operation(
                operation.get("input", {}).get("shape"),
                operation.get("output", {}).get("shape"),
                errors,
            )

    def check_query(self):
        """Choices of a model in the query protocol that our tables cannot express."""
        for name, operation in self.source["operations"].items():
            output = operation.get("output")
            if output and output.get("resultWrapper") != name + "Result":
                raise Problem(f"{name}: its result is not called {name}Result")
        for name, shape in self.shapes.items():
            names = [shape.get(part, {}).get("locationName", part) for part in ("key", "value")]
            if shape["type"] == "map" and names != ["key", "value"]:
                raise Problem(f"{name}: its keys and values are called {' and '.join(names)}")

    def limits_of(self, name):
        shape = self.shapes[name]
        if "min" in shape or "max" in shape:
            return (shape.get("min"), shape.get("max"))
        return None

    def named_limits(self):
        return {name: self.limits_of(name) for name in self.shapes}

    def type_of(self, name):
        shape = self.shapes[name]
        kind = shape["type"]
        limits = self.limits_of(name)
        if shape.get("document") or shape.get("streaming"):  # nothing to check before it is read
            return Type("document")
        if kind == "structure":
            return Type("structure", name=name)
        if kind == "list":
            return Type(
                "list",
                element=self.type_of(shape["member"]["shape"]),
                limits=limits,
                wire_name=shape["member"].get("locationName"),
                flattened=shape.get("flattened", False),
                sensitive=shape.get("sensitive", False),
            )
        if kind == "map":
            return Type(
                "map",
                element=self.type_of(shape["value"]["shape"]),
                key=self.type_of(shape["key"]["shape"]),
                limits=limits,
                sensitive=shape.get("sensitive", False),
            )
        return Type(
            kind,
            name=name if "enum" in shape else None,
            limits=limits,
            sensitive=shape.get("sensitive", False),
        )

    def add_structure(self, name, shape):
        required = set(shape.get("required", ()))
        members = {
            member: Member(
                self.type_of(reference["shape"]),
                required=member in required,
                wire_name=reference.get("locationName"),
                token=reference.get("idempotencyToken", False),
            )
            for member, reference in shape["members"].items()
        }
        error = None
        if shape.get("exception"):
            more = shape.get("error", {})
            fault = "server" if shape.get("fault") else "client"
            error = {"fault": fault, "status": more.get("httpStatusCode"), "code": more.get("code")}
        self.model.structures[name] = Structure(
            members, shape.get("union", False), shape.get("sensitive", False), error
        )


# ---------------------------------------------------------------------------------------------
# Both together.


def merge_types(where, newer, older):
    """One type from what both models say; either may be None."""
    if newer is None or older is None:
        return newer or older
    kind = newer.kind
    if kind == "number" and older.kind in NUMBERS:
        kind = older.kind
    elif kind != older.kind:
        raise Problem(f"{where}: {newer.kind} in the package, {older.kind} in botocore")
    if newer.name and older.name and newer.name != older.name:
        raise Problem(f"{where}: {newer.name} in the package, {older.name} in botocore")
    return Type(
        kind,
        name=newer.name or older.name,
        element=merge_types(where + "[]", newer.element, older.element),
        key=merge_types(where + "{}", newer.key, older.key),
        limits=newer.limits or older.limits,
        wire_name=newer.wire_name or older.wire_name,
        flattened=newer.flattened or older.flattened,
        sensitive=newer.sensitive or older.sensitive,
    )


def merge_structures(name, newer, older):
    if newer is None or older is None:
        return newer or older
    members = {}
    for member in list(newer.members) + [one for one in older.members if one not in newer.members]:
        a, b = newer.members.get(member), older.members.get(member)
        members[member] = Member(
            merge_types(f"{name}.{member}", a and a.type, b and b.type),
            required=(a or b).required,  # a newer model may ask for less
            wire_name=(a and a.wire_name) or (b and b.wire_name),
            token=bool((a and a.token) or (b and b.token)),
        )
    error = newer.error
    if error:
        error = {key: error[key] or (older.error or {}).get(key) for key in error}
    sensitive = newer.sensitive or older.sensitive
    return Structure(members, newer.union or older.union, sensitive, error)


def merge(newer, older):
    model = Model()
    model.metadata = older.metadata
    for name in sorted(set(newer.structures) | set(older.structures)):
        model.structures[name] = merge_structures(
            name, newer.structures.get(name), older.structures.get(name)
        )
    for name in sorted(set(newer.enums) | set(older.enums)):
        values = list(newer.enums.get(name, ()))
        values += [value for value in older.enums.get(name, ()) if value not in values]
        model.enums[name] = values
    for name in sorted(set(newer.operations) | set(older.operations)):
        a, b = newer.operations.get(name), older.operations.get(name)
        if a and b and (b.input or a.input, b.output or a.output) != (a.input, a.output):
            raise Problem(f"{name}: the models name its input or output differently")
        errors = (a.errors if a else set()) | (b.errors if b else set())
        input_, output = (a or b).input or NOTHING, (a or b).output or NOTHING
        model.operations[name] = Operation(input_, output, errors)
        if NOTHING in (input_, output):
            model.structures[NOTHING] = Structure({})
    return model
