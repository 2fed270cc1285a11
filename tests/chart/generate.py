#!/usr/bin/env python3
"""Compares generated templates with Helm: many templates in a chart, each checked by itself.

usage: tests/chart/generate.py [--templates 10000] [--seed 1]
"""

import argparse
import json
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import helm as reference

VALUES = """
s: hello World
empty: ""
n: 42
big: 12345678901
f: 1.5
neg: -7
t: true
no: false
nothing: null
list: [3, 1, 2, a, 1]
strings: [b, a, c]
map: {a: 1, b: {c: [x, y]}, d: text}
version: 1.22.3-beta.1
"""

TEXTS = ['"a-b_c d"', '"1.2.3"', '""', ".Values.s", ".Values.version", '"A1bC"', '"x,y,,z"', '"  pad "']
NUMBERS = ["0", "1", "7", "-3", "2.5", "1e3", ".Values.n", ".Values.f", ".Values.big", ".Values.neg", '"12"']
LISTS = [".Values.list", ".Values.strings", '(list 1 "a" nil 2.5)', "(until 4)", '(splitList "," "q,w,e")', "(list)"]
MAPS = [".Values.map", '(dict "k" 1 "l" (list 1 2))', "(dict)", '(dict "a" (dict "b" 2))']
ANY = TEXTS + NUMBERS + LISTS + MAPS + [".Values.t", ".Values.no", ".Values.nothing", ".Values.missing", "nil", "true"]

FUNCTIONS = {
    "s": ["upper", "lower", "title", "untitle", "trim", "nospace", "initials", "snakecase", "camelcase",
          "kebabcase", "swapcase", "quote", "squote", "b64enc", "b64dec", "b32enc", "sha256sum", "adler32sum",
          "base", "dir", "ext", "clean", "atoi", "regexQuoteMeta", "urlParse", "semver"],
    "is": ["trunc", "repeat", "indent", "nindent", "abbrev", "wrap"],
    "ss": ["contains", "hasPrefix", "hasSuffix", "trimAll", "trimPrefix", "trimSuffix", "splitList", "split",
           "regexMatch", "regexFind", "semverCompare"],
    "sss": ["replace", "regexReplaceAll", "regexReplaceAllLiteral"],
    "a": ["toYaml", "toJson", "toPrettyJson", "toRawJson", "toString", "toStrings", "quote", "typeOf", "kindOf",
          "empty", "not", "int", "int64", "float64", "print", "len", "toDecimal", "deepCopy", "sortAlpha"],
    "n": ["add1", "floor", "ceil", "int", "float64", "toString"],
    "nn": ["add", "sub", "mul", "div", "mod", "max", "min", "addf", "subf", "mulf", "maxf", "minf"],
    "aa": ["eq", "ne", "lt", "le", "gt", "ge", "default", "and", "or", "coalesce", "list", "cat", "print",
           "deepEqual", "dict", "has", "append", "prepend", "join"],
    "l": ["first", "last", "rest", "initial", "reverse", "uniq", "compact", "len", "sortAlpha", "toStrings",
          "toJson", "toYaml"],
    # Not keys and values, whose order is random in Go, and not texts of parse errors.
    "m": ["toJson", "toYaml", "len", "toString"],
    "ms": ["get", "hasKey", "unset", "pick", "omit"],
    "mm": ["merge", "mergeOverwrite"],
}
FORMATS = ["%v", "%s", "%d", "%q", "%x", "%5v|", "%-6s|", "%05d", "%.2f", "%+d", "%T", "%t", "%e", "%g", "%c",
           "%U", "%#v", "%+v", "%6.2f|", "%o", "%b", "%[1]v %[1]q", "%%", "%!", "%z"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, items):
        return self.random.choice(items)

    def argument(self, letter, depth):
        if depth > 0 and self.random.random() < 0.4:
            return "(" + self.expression(depth - 1) + ")"
        return self.pick({"s": TEXTS, "n": NUMBERS, "l": LISTS, "m": MAPS, "a": ANY,
                          "i": ["0", "2", "5", "-2"]}[letter])

    def expression(self, depth):
        choice = self.random.random()
        if choice < 0.15:
            count = self.random.randint(1, 2)
            return 'printf "%s" %s' % (" ".join(self.pick(FORMATS) for _ in range(count)).replace('"', ""),
                                       " ".join(self.argument("a", depth) for _ in range(count)))
        if choice < 0.2:
            return self.argument("a", depth)
        if choice < 0.3 and depth > 0:
            return self.expression(depth - 1) + " | " + self.pick(FUNCTIONS["a"])
        letters = self.pick(list(FUNCTIONS))
        name = self.pick(FUNCTIONS[letters])
        return name + "".join(" " + self.argument(letter, depth) for letter in letters)

    def body(self, depth):
        choice = self.random.random()
        if choice < 0.5 or depth == 0:
            return "{{ " + self.expression(depth) + " }}"
        if choice < 0.62:
            return "{{ if %s }}%s{{ else }}%s{{ end }}" % (self.expression(1), self.body(depth - 1),
                                                           self.body(depth - 1))
        if choice < 0.74:
            return "{{- range $k, $e := %s }}{{ $k }}={{ $e }};{{ else }}none{{ end -}}" % self.argument(
                self.pick("lma"), 1)
        if choice < 0.84:
            return "{{ with %s }}%s[{{ . }}]{{ end }}" % (self.expression(1), self.body(depth - 1))
        if choice < 0.92:
            return "{{ $x := %s }}{{ $x }}%s{{ $x = 1 }}{{ $x }}" % (self.expression(1), self.body(depth - 1))
        return '{{ tpl "{{ .Values.s }} {{ %s }}" . }}' % self.expression(0).replace('"', '\\"')


def write_chart(folder, bodies):
    """One template per body. A body that fails must not hide the others, so each is a chart file by itself."""
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: generated\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text(VALUES)
    for index, body in bodies:
        (folder / "templates" / f"t{index}.yaml").write_text(
            '{{- define "t%d" }}%s{{ end -}}\nv%d: {{ include "t%d" . | toJson }}\n' % (index, body, index, index))


def outputs(command):
    """0 and the value of each template, or the exit code and nothing."""
    done = reference.run(command)
    values = {}
    for line in done.stdout.split("\n"):
        if line.startswith("v") and ": " in line:
            name, text = line.split(": ", 1)
            values[int(name[1:])] = text
    return done.returncode, values, done.stderr


def sort_by_failing(helm, folder, bodies):
    """Splits bodies into those that Helm renders and those that it refuses, by halves."""
    if not bodies:
        return [], []
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        write_chart(pathlib.Path(inside) / "c", bodies)
        code, _, _ = outputs([helm, "template", "rel", inside + "/c"])
    if code == 0:
        return bodies, []
    if len(bodies) == 1:
        return [], bodies
    middle = len(bodies) // 2
    good_a, bad_a = sort_by_failing(helm, folder, bodies[:middle])
    good_b, bad_b = sort_by_failing(helm, folder, bodies[middle:])
    return good_a + good_b, bad_a + bad_b


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--templates", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generator = Generator(arguments.seed)
    slipway, helm = reference.SLIPWAY, reference.helm()
    agreed = differing = 0
    with tempfile.TemporaryDirectory() as folder:
        bodies = [(i, generator.body(2)) for i in range(arguments.templates)]
        # slipway is fast enough to judge each template alone; Helm gets the ones it accepts at once.
        for begin in range(0, len(bodies), 500):
            batch = bodies[begin:begin + 500]
            whole = pathlib.Path(folder) / f"lint{begin}"
            write_chart(whole, batch)
            lint = reference.run([slipway, "chart", "lint", str(whole)])
            refused = {int(line.split("templates/t")[1].split(".yaml")[0])
                       for line in lint.stdout.split("\n") if line.startswith("generated/templates/t")}
            accepted = [b for b in batch if b[0] not in refused]
            good, bad = sort_by_failing(helm, folder, accepted)
            for index, body in bad:
                differing += 1
                print(f"helm refuses, slipway does not: {body}")
            also_refused, surprising = [], []
            for b in (b for b in batch if b[0] in refused):
                (also_refused if sort_by_failing(helm, folder, [b])[1] else surprising).append(b)
            for index, body in surprising:
                differing += 1
                print(f"slipway refuses, helm does not: {body}")
            agreed += len(also_refused)
            both = pathlib.Path(folder) / f"good{begin}"
            write_chart(both, good)
            _, ours, _ = outputs([slipway, "chart", "template", str(both), "--name", "rel"])
            _, theirs, _ = outputs([helm, "template", "rel", str(both)])
            for index, body in good:
                if ours.get(index) == theirs.get(index):
                    agreed += 1
                else:
                    differing += 1
                    print(f"differs: {body}\n  helm    {theirs.get(index)}\n  slipway {ours.get(index)}")
    print(json.dumps({"templates": arguments.templates, "agreed": agreed, "differing": differing}))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
