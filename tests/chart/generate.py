#!/usr/bin/env python3
"""Compares generated templates with Helm: many templates in a chart, each checked by itself.

usage: tests/chart/generate.py [--templates 10000] [--seed 1]
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import helm as reference

# Charts that one process of `helm lint` gets.
LINTED_AT_ONCE = 500
# The name that `helm lint` gives.
RELEASE = "test-release"
# Some ten thousand small files.
MEMORY = "/dev/shm"
TEMPLATES_PER_CHART = 2500

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

TEXTS = ['"a-b_c d"', '"1.2.3"', '""', ".Values.s", ".Values.version", '"A1bC"', '"x,y,,z"', '"  pad "',
         ".Release.Name", ".Chart.Name", '(index .Values.map "d")', ".Values.map.d", '"a: 1\\nb: [x, 2]"', '"[1, 2]"',
         '"é ß 日本"', '(.Files.Get "conf.ini")', "$.Template.BasePath", '"%d <&> \'q\'"']
NUMBERS = ["0", "1", "7", "-3", "2.5", "1e3", ".Values.n", ".Values.f", ".Values.big", ".Values.neg", '"12"',
           "0x1F", "(len .Values.list)", ".Values.map.a", "1_000", "(int .Values.n)"]
LISTS = [".Values.list", ".Values.strings", '(list 1 "a" nil 2.5)', "(until 4)", '(splitList "," "q,w,e")', "(list)",
         ".Values.map.b.c", '(list "a" (list 1 2) (dict "k" true))', "(untilStep 1 9 3)", '(tuple 3 3 "x")']
MAPS = [".Values.map", '(dict "k" 1 "l" (list 1 2))', "(dict)", '(dict "a" (dict "b" 2))', ".Values.map.b",
        '(dict "z" nil "y" "text" "a" 1.5)', '(pick .Values.map "a" "d")']
ANY = TEXTS + NUMBERS + LISTS + MAPS + [".Values.t", ".Values.no", ".Values.nothing", ".Values.missing", "nil", "true"]

# By the letters of the arguments, see ARGUMENTS.
FUNCTIONS = {
    "s": ["upper", "lower", "title", "untitle", "trim", "nospace", "initials", "snakecase", "camelcase",
          "kebabcase", "swapcase", "quote", "squote", "b64enc", "b32enc", "sha256sum", "adler32sum",
          "base", "dir", "ext", "clean", "atoi", "regexQuoteMeta", "urlParse", "semver", "sha1sum", "sha512sum",
          "isAbs", "osBase", "osDir", "osExt", "osClean", "toDecimal", "html", "js", "urlquery", "len", "duration", "durationRound", "int64"],
    # Texts that are YAML and JSON: the texts of errors are slipway's own.
    "y": ["fromYaml", "mustFromJson", "fromJson", "fromYaml"],
    "z": ["fromYamlArray", "fromJsonArray"],
    "e": ["b64dec", "b64dec | quote"],
    "is": ["trunc", "repeat", "indent", "nindent", "abbrev", "wrap"],
    "iis": ["substr", "abbrevboth"],
    "ss": ["contains", "hasPrefix", "hasSuffix", "trimAll", "trimPrefix", "trimSuffix", "splitList", "split",
           "regexMatch", "regexFind", "semverCompare", "typeIs", "kindIs", "typeIsLike", "mustRegexMatch"],
    "sis": ["splitn"],
    "ssi": ["regexSplit", "regexFindAll", "plural"],
    "sss": ["replace", "regexReplaceAll", "regexReplaceAllLiteral"],
    "a": ["toYaml", "toJson", "toPrettyJson", "toRawJson", "toString", "toStrings", "quote", "typeOf", "kindOf",
          "empty", "not", "int", "int64", "float64", "print", "len", "toDecimal", "deepCopy", "sortAlpha",
          "toYamlPretty", "mustToYaml", "mustToJson", "squote", "println", "html", "urlquery", "all", "any",
          "list", "coalesce", "cat"],
    "n": ["add1", "floor", "ceil", "int", "float64", "toString", "add1f"],
    "i": ["until", "seq", "htmlDate", "add1", "toString"],
    "ii": ["seq", "min"],
    "nn": ["add", "sub", "mul", "div", "mod", "max", "min", "addf", "subf", "mulf", "divf", "maxf", "minf", "biggest"],
    "ni": ["round"],
    "aa": ["eq", "ne", "lt", "le", "gt", "ge", "default", "and", "or", "coalesce", "list", "cat", "print",
           "deepEqual", "dict", "has", "append", "prepend", "join", "without", "all", "any", "index", "concat",
           "mustAppend", "push", "hasKey", "ternary true", "ternary 1"],
    "aaa": ["and", "or", "eq", "coalesce", "list", "ternary", "index", "without"],
    "l": ["first", "last", "rest", "initial", "reverse", "uniq", "compact", "len", "sortAlpha", "toStrings",
          "toJson", "toYaml", "mustFirst", "mustUniq", "mustCompact", "toYamlPretty", "toRawJson"],
    "li": ["slice", "mustSlice", "index"],
    "il": ["chunk"],
    "ll": ["concat"],
    # Not keys and values as they are, whose order is random in Go, and not texts of parse errors.
    "m": ["toJson", "toYaml", "len", "toString", "toToml", "keys | sortAlpha | toJson", "values | len",
          "toYamlPretty", "toPrettyJson"],
    "ms": ["get", "hasKey", "pick", "omit", "index"],
    "Ms": ["unset"],
    "sm": ["pluck"],
    "sam": ["dig"],
    "Msa": ["set"],
    "Mm": ["merge", "mergeOverwrite", "mustMerge"],
    "mm": ["deepEqual"],
}
FORMATS = ["%v", "%s", "%d", "%q", "%x", "%5v|", "%-6s|", "%05d", "%.2f", "%+d", "%T", "%t", "%e", "%g", "%c",
           "%U", "%#v", "%+v", "%6.2f|", "%o", "%b", "%[1]v %[1]q", "%%", "%!", "%z", "%X", "%#x", "% d", "%08.3f",
           "%+.1e", "%*d", "%.3s", "%#q", "%[2]v", "%G", "%O", "%-8q|", "%x % x"]
ARGUMENTS = {"s": TEXTS, "n": NUMBERS, "l": LISTS, "m": MAPS, "a": ANY, "i": ["0", "2", "5", "-2", "1"],
             "y": ["(toJson .Values)", '"{\\"a\\":[1,null,2.50]}"', "(toJson (dict 1 2))"],
             "e": ['"YS1i"', "(b64enc .Values.s)", '"5pel5pys"', '"not base64"'],
             "z": ["(toJson .Values.list)", '"[1, 16, 1.0]"', '"[]"', '"[{}, null, true]"']}


class Generator:
    """Templates from a seed: each number of the seed gives the same ones."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, items):
        return self.random.choice(items)

    def argument(self, letter, depth):
        # The values are the same for all templates, so only copies change.
        if letter == "M":
            return "(deepCopy " + self.argument("m", depth) + ")"
        # Counts stay small, and texts are YAML and JSON.
        if depth > 0 and letter not in "eiyz" and self.random.random() < 0.4:
            return "(" + self.expression(depth - 1) + ")"
        return self.pick(ARGUMENTS[letter])

    def call(self, letters, depth):
        name, _, rest = self.pick(FUNCTIONS[letters]).partition(" | ")
        text = name + "".join(" " + self.argument(letter, depth) for letter in letters)
        return text + (" | " + rest if rest else "")

    def expression(self, depth):
        choice = self.random.random()
        if choice < 0.12:
            count = self.random.randint(1, 2)
            return 'printf "%s" %s' % (" ".join(self.pick(FORMATS) for _ in range(count)),
                                       " ".join(self.argument("a", depth) for _ in range(count)))
        if choice < 0.16:
            return self.argument("a", depth)
        if choice < 0.26 and depth > 0:
            return self.expression(depth - 1) + " | " + self.pick(FUNCTIONS["a"])
        return self.call(self.pick(list(FUNCTIONS)), depth)

    def body(self, depth):
        if depth == 0 or self.random.random() < 0.45:
            return self.pick(["{{ %s }}", "{{- %s }}", "x {{ %s -}} \n y", "{{/* c */}}{{ %s }}"]) % (
                self.expression(depth))
        return self.pick([self.condition, self.loop, self.loop_with_jumps, self.with_value, self.variables,
                          self.nested_template])(depth)

    def condition(self, depth):
        return "{{ if %s }}%s{{ else if %s }}%s{{ else }}%s{{ end }}" % (
            self.expression(1), self.body(depth - 1), self.expression(0), self.body(depth - 1), self.body(0))

    def loop(self, depth):
        return "{{- range $k, $e := %s }}{{ $k }}={{ $e }};{{ else }}none{{ end -}}" % self.argument(
            self.pick("lm"), 1)

    def loop_with_jumps(self, depth):
        return ("{{ range $e := %s }}{{ if eq (toString $e) %s }}{{ %s }}{{ end }}{{ . | toJson }}{{ end }}" %
                (self.argument(self.pick("lmi"), 0), self.pick(TEXTS[:6] + ['"1"', '"a"']),
                 self.pick(["break", "continue"])))

    def with_value(self, depth):
        return "{{ with %s }}%s[{{ . }}]{{ else with %s }}<{{ . }}>{{ else }}-{{ end }}" % (
            self.expression(1), self.expression(0).join(["{{ $.Values.n }}{{ with $ }}{{ ", " }}{{ end }}"]),
            self.expression(0))

    def variables(self, depth):
        if self.random.random() < 0.5:
            return self.redeclared_variables(depth)
        return "{{ $x := %s }}{{ $x }}{{ if true }}{{ $x := 5 }}{{ $x = 6 }}{{ end }}%s{{ $x = 1 }}{{ $x }}" % (
            self.expression(1), self.body(depth - 1))

    def redeclared_variables(self, depth):
        """Variables that are made of their older selves, also in blocks, where they end."""
        return "{{ $x := %s }}{{ $x := list $x %s }}%s{{ $x := append $x 1 }}%s{{ $x | toJson }}" % (
            self.expression(0), self.argument("a", 0),
            self.pick(["{{ with $x := first $x }}%s{{ $x }}{{ end }}", "{{ if $x := last $x }}%s{{ $x }}{{ end }}",
                       "{{ range $k, $x := $x }}%s{{ $k }}{{ $x := list $x }}{{ $x }}{{ end }}",
                       "{{ $y := dict \"k\" $x }}{{ $_ := set $y \"k\" 5 }}%s{{ $y.k }}{{ ($y := $y).k }}"])
            % self.body(depth - 1),
            self.pick(["{{ $x = append $x 2 }}", "{{ if $x }}{{ $x = rest $x }}{{ end }}",
                       "{{ range $x }}{{ $x = append $x . }}{{ end }}", "{{ $x := (($x := $x) | len | list $x) }}"]))

    def nested_template(self, depth):
        expression = self.expression(0)
        if self.random.random() < 0.5 or "`" in expression:
            return '{{ include "show" (dict "value" (%s)) }}{{ template "show" (dict) }}' % expression
        return "{{ tpl `{{ .Values.s }} {{ %s }}` $ }}" % expression


def write_chart(folder, bodies):
    """One template per body, which shows in the output as a line of JSON."""
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: generated\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text(VALUES)
    (folder / "conf.ini").write_text("[section]\nkey = value\n")
    (folder / "templates" / "_show.tpl").write_text(
        '{{ define "show" }}{{ with .value }}{{ kindOf . }} {{ toJson . }}{{ else }}nothing{{ end }}{{ end }}')
    for index, body in bodies:
        (folder / "templates" / f"t{index}.yaml").write_text(
            '{{- define "t%d" }}%s{{ end -}}\nv%d: {{ include "t%d" . | toJson }}\n' % (index, body, index, index))


def outputs(command):
    """The exit code, the value of each template, and the messages."""
    done = reference.run(command)
    values = {}
    for line in done.stdout.split("\n"):
        if line.startswith("v") and ": " in line:
            name, text = line.split(": ", 1)
            values[int(name[1:])] = text
    return done.returncode, values, done.stderr


def refused_by_slipway(chart):
    """`slipway chart lint` reports all templates that it refuses at once."""
    lint = reference.run([reference.SLIPWAY, "chart", "lint", "--name", RELEASE, str(chart)])
    return {int(number) for number in re.findall(r"^(?:YAML parse error on )?generated/templates/t(\d+)\.yaml:", lint.stdout,
                                                 re.MULTILINE)}


def refused_by_helm(folder, bodies):
    """Helm stops at the first template that it refuses: each is a chart of its own, many in a process."""
    refused = set()
    for begin in range(0, len(bodies), LINTED_AT_ONCE):
        charts = {}
        for index, body in bodies[begin:begin + LINTED_AT_ONCE]:
            charts[str(folder / f"r{index}")] = index
            write_chart(folder / f"r{index}", [(index, body)])
        report = reference.run([reference.helm(), "lint", *charts]).stdout
        for part in report.split("==> Linting ")[1:]:
            chart, _, messages = part.partition("\n")
            if "[ERROR]" in messages:
                refused.add(charts[chart.strip()])
        for chart in charts:
            shutil.rmtree(chart)
    return refused


def compare_batch(folder, bodies):
    """Texts of the differences between Helm and slipway."""
    differences = []
    texts = dict(bodies)
    write_chart(folder / "all", bodies)
    refused = refused_by_slipway(folder / "all")
    surprising = refused - refused_by_helm(folder, [(index, texts[index]) for index in sorted(refused)])
    differences += [f"slipway refuses, Helm does not: {texts[index]}" for index in sorted(surprising)]
    for index in refused:
        (folder / "all" / "templates" / f"t{index}.yaml").unlink()
    code, theirs, message = outputs([reference.helm(), "template", RELEASE, str(folder / "all")])
    while code != 0:
        named = re.search(r"templates/t(\d+)\.yaml", message)
        if not named:
            return differences + [f"Helm refuses what slipway does not: {message[-500:]}"]
        index = int(named.group(1))
        differences.append(f"Helm refuses, slipway does not: {texts[index]}\n  {message.strip()[-300:]}")
        (folder / "all" / "templates" / f"t{index}.yaml").unlink()
        code, theirs, message = outputs([reference.helm(), "template", RELEASE, str(folder / "all")])
    code, ours, message = outputs(
        [reference.SLIPWAY, "chart", "template", str(folder / "all"), "--name", RELEASE])
    if code != 0:
        return differences + [f"slipway refuses what its lint accepts: {message}"]
    for index in sorted(theirs.keys() | ours.keys()):
        if ours.get(index) != theirs.get(index):
            differences.append(f"differs: {texts[index]}\n  helm    {theirs.get(index)}\n"
                               f"  slipway {ours.get(index)}")
    return differences


def compare(count, seed):
    """Generates `count` templates; returns how many both render, and the differences."""
    generator = Generator(seed)
    bodies = [(index, generator.body(2)) for index in range(count)]
    rendered, differences = 0, []
    for begin in range(0, count, TEMPLATES_PER_CHART):
        with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
            differences += compare_batch(pathlib.Path(folder), bodies[begin:begin + TEMPLATES_PER_CHART])
            rendered += len(list(pathlib.Path(folder, "all", "templates").glob("t*.yaml")))
    return rendered, differences


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--templates", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rendered, differences = compare(arguments.templates, arguments.seed)
    for difference in differences:
        print(difference)
    print(f"{arguments.templates} templates, {rendered} rendered by both, {len(differences)} differ")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
