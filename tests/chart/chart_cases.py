"""Small charts, each about one thing: files by path, and the options that it is rendered with."""

CHART = "apiVersion: v2\nname: shop\nversion: 1.2.3\nappVersion: '4.5'\n"
SHOW = "values: {{ toJson .Values }}\nchart: {{ toJson .Chart }}\n"


def child(name, values="", extra="", template=SHOW):
    """Files of a sub-chart."""
    return {f"charts/{name}/Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: 0.1.0\n{extra}",
            f"charts/{name}/values.yaml": values,
            f"charts/{name}/templates/{name}.yaml": template}


# name: (files, options of each run)
CASES = {
    "null-removes-default": (
        {"Chart.yaml": CHART, "values.yaml": "a: {b: 1, c: 2}\nd: 5\ne: [1]\n", "templates/a.yaml": SHOW,
         **child("one", "x: {y: 1, z: 2}\n")},
        [("--set", "a.b=null"), ("--set", "d=null,one.x.y=null"), ("--set-json", '{"a":null,"one":{"x":null}}'),
         ("--set", "e[1]=2,e[3]=4,f.g[0].h=1"), ("--set", "a=text"), ("--set", "one=text")]),
    "dependencies": (
        {"Chart.yaml": CHART + "dependencies:\n"
         "- {name: one, version: '>=0.1', condition: 'one.enabled,other.enabled', tags: [front]}\n"
         "- {name: two, version: '*', tags: [front, back]}\n"
         "- {name: two, version: 0.1.x, alias: second}\n",
         "values.yaml": "tags: {front: false, back: true}\nglobal: {region: eu, deep: {a: 1}}\n"
         "second: {own: changed}\ntwo: {global: {extra: 1}}\n",
         "templates/a.yaml": "sub: {{ .Subcharts | keys | sortAlpha | toJson }}\n" + SHOW,
         **child("one", "global: {region: us, zone: z}\n"), **child("two", "own: default\n")},
        [(), ("--set", "one.enabled=true"), ("--set", "one.enabled=false,tags.front=true"),
         ("--set", "tags.front=true"), ("--set", "tags.back=false"), ("--set", "other.enabled=true"),
         ("--set", "one.enabled=text"), ("--set", "global.region=asia,global.deep.b=2")]),
    "import-values": (
        {"Chart.yaml": CHART + "dependencies:\n- name: one\n  version: '*'\n  import-values:\n  - data\n"
         "  - {child: settings.inner, parent: mine}\n  - {child: missing, parent: none}\n",
         "values.yaml": "mine: {a: parent}\n", "templates/a.yaml": SHOW,
         **child("one", "exports: {data: {imported: 1, mine: {c: 3}}}\nsettings: {inner: {a: child, b: 2}}\n")},
        [(), ("--set", "one.settings.inner.b=5"), ("--set", "mine.a=user")]),
    "requirements-v1": (
        {"Chart.yaml": "apiVersion: v1\nname: old\nversion: 0.0.1\n",
         "requirements.yaml": "dependencies:\n- {name: one, version: '*', condition: on}\n",
         "values.yaml": "on: false\n", "templates/a.yaml": SHOW + "f: {{ .Files.Get \"requirements.yaml\" | toJson }}\n",
         **child("one")},
        [(), ("--set", "on=true")]),
    "missing-dependency": (
        {"Chart.yaml": CHART + "dependencies: [{name: none, version: '*', repository: 'https://example.com'}]\n",
         "templates/a.yaml": "a: 1\n"}, [()]),
    "library": (
        {"Chart.yaml": CHART + "dependencies: [{name: common, version: '*'}]\n",
         "templates/a.yaml": 'a: {{ include "common.name" . }}\n',
         "charts/common/Chart.yaml": "apiVersion: v2\nname: common\nversion: 1.0.0\ntype: library\n",
         "charts/common/templates/_name.tpl": '{{ define "common.name" }}{{ .Chart.Name }}-{{ .Values.x }}{{ end }}',
         "charts/common/templates/never.yaml": "never: rendered\n", "values.yaml": "x: 1\n"}, [()]),
    "library-alone": ({"Chart.yaml": CHART + "type: library\n", "templates/a.yaml": "a: 1\n"}, [()]),
    "definitions-of-parents-win": (
        {"Chart.yaml": CHART, "templates/_a.tpl": '{{ define "name" }}parent{{ end }}',
         "templates/a.yaml": 'a: {{ include "name" . }} {{ .Template.Name }} {{ .Template.BasePath }}\n',
         **child("one", template='b: {{ include "name" . }} {{ .Template.Name }} {{ .Template.BasePath }}\n'),
         "charts/one/templates/_a.tpl": '{{ define "name" }}child{{ end }}'}, [()]),
    "ignored-files": (
        {"Chart.yaml": CHART, ".helmignore": "# comment\n*.bak\nsecret/\n/conf/*.txt\n!keep.bak\n",
         "a.bak": "1", "keep.bak": "2", "secret/x": "3", "conf/a.txt": "4", "conf/b.ini": "5", "deep/c.bak": "6",
         "templates/a.yaml": "f: {{ range $k, $v := .Files.Glob \"**\" }}{{ $k }} {{ end }}\n"
         "g: {{ (.Files.Glob \"conf/*\").AsConfig | toJson }}\nh: {{ (.Files.Glob \"conf/*\").AsSecrets | toJson }}\n"
         "i: {{ .Files.Lines \"conf/b.ini\" | toJson }}\n"}, [()]),
    "kube-version": (
        {"Chart.yaml": CHART + "kubeVersion: '>=1.20.0-0 <1.30.0-0 || ^1.33'\n",
         "templates/a.yaml": "v: {{ .Capabilities.KubeVersion }} {{ .Capabilities.KubeVersion.Major }}"
         " {{ .Capabilities.KubeVersion.Minor }} {{ .Capabilities.KubeVersion.GitVersion }}\n"
         "{{ if .Capabilities.APIVersions.Has \"networking.k8s.io/v1\" }}n: 1{{ end }}\n"
         "{{ if .Capabilities.APIVersions.Has \"example.com/v1/Thing\" }}t: 1{{ end }}\n"
         "{{ if semverCompare \">=1.21-0\" .Capabilities.KubeVersion.GitVersion }}new: 1{{ end }}\n"},
        [(), ("--kube-version", "1.25.3"), ("--kube-version", "v1.19.0"), ("--kube-version", "1.29.5-eks-123"),
         ("--kube-version", "1.31"), ("--kube-version", "bad"), ("--kube-version", "1.34.1+k3s1"),
         ("--api-versions", "example.com/v1/Thing", "--api-versions", "b/v1")]),
    "schema": (
        {"Chart.yaml": CHART, "values.yaml": "port: 80\nname: web\nmode: a\n",
         "values.schema.json": '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object",'
         '"required":["port"],"properties":{"port":{"type":"integer","minimum":1,"maximum":65535},'
         '"name":{"type":"string","pattern":"^[a-z]+$","maxLength":5},"mode":{"enum":["a","b"]},'
         '"list":{"type":"array","items":{"$ref":"#/definitions/item"},"uniqueItems":true,"maxItems":2}},'
         '"if":{"properties":{"mode":{"const":"b"}}},"then":{"required":["extra"]},'
         '"definitions":{"item":{"type":"object","additionalProperties":false,"properties":{"a":{"type":"number"}}}}}',
         "templates/a.yaml": "a: 1\n"},
        [(), ("--set", "port=0"), ("--set", "port=text"), ("--set", "name=Web"), ("--set", "name=toolong"),
         ("--set", "mode=b"), ("--set", "mode=b,extra=1"), ("--set", "list[0].a=1.5"), ("--set", "list[0].b=1"),
         ("--set", "list[0].a=1,list[1].a=1"), ("--set", "port=null"), ("--set-string", "port=80")]),
    "schema-of-subchart": (
        {"Chart.yaml": CHART, "templates/a.yaml": "a: 1\n", **child("one", "n: 1\n"),
         "charts/one/values.schema.json": '{"properties":{"n":{"type":"integer"}}}'},
        [(), ("--set", "one.n=x")]),
    "crds": (
        {"Chart.yaml": CHART, "crds/a.yaml": "kind: CustomResourceDefinition\nmetadata: {name: a}\n",
         "crds/b.json": '{"kind":"CustomResourceDefinition"}', "crds/README.md": "text", "templates/a.yaml": "a: 1\n",
         "charts/one/Chart.yaml": "apiVersion: v2\nname: one\nversion: 0.1.0\n",
         "charts/one/crds/c.yaml": "kind: CustomResourceDefinition\n---\nkind: CustomResourceDefinition\n"},
        [(), ("--include-crds",), ("--include-crds", "--show-only", "crds/a.yaml")]),
    "order-and-hooks": (
        {"Chart.yaml": CHART, "templates/z.yaml": "".join(
            f"---\nkind: {kind}\nmetadata: {{name: x}}\n" for kind in (
                "Deployment", "Foo", "Service", "Namespace", "Job", "ConfigMap", "Bar", "Ingress", "ClusterRole",
                "ServiceAccount", "StatefulSet", "CronJob", "Secret", "APIService", "NetworkPolicy", "Role")),
         "templates/hooks.yaml": "".join(
             f"---\nkind: Job\nmetadata:\n  name: h{n}\n  annotations:\n    helm.sh/hook: {events}\n"
             f"    helm.sh/hook-weight: '{n}'\n" for n, events in enumerate(
                 ("pre-install", "post-install,post-upgrade", "test", "unknown", "pre-rollback", "crd-install"))),
         "templates/NOTES.txt": "Installed {{ .Release.Name }}.", "templates/empty.yaml": "{{ if false }}a: 1{{ end }}",
         "templates/comment.yaml": "# nothing\n", "templates/text.txt": "kind: Text\n",
         "templates/crlf.yaml": "a: 1\r\nb: |\r\n  x\r\n"},
        [(), ("--no-hooks",), ("--skip-tests",), ("--show-only", "templates/z.yaml"),
         ("--show-only", "templates/hooks.yaml"), ("--show-only", "templates/NOTES.txt")]),
    "bad-yaml": ({"Chart.yaml": CHART, "templates/a.yaml": "a: [1\n"}, [()]),
    "duplicate-keys": ({"Chart.yaml": CHART, "templates/a.yaml": "a: 1\na: 2\n"}, [()]),
    "not-a-map": ({"Chart.yaml": CHART, "templates/a.yaml": "- a\n- b\n"}, [()]),
    "bad-chart-name": ({"Chart.yaml": "apiVersion: v2\nname: a/b\nversion: 1.0.0\n"}, [()]),
    "bad-version": ({"Chart.yaml": "apiVersion: v2\nname: a\nversion: x\n"}, [()]),
    "no-version": ({"Chart.yaml": "apiVersion: v2\nname: a\n", "templates/a.yaml": "a: 1\n"}, [()]),
    "no-chart-yaml": ({"values.yaml": "a: 1\n", "templates/a.yaml": "a: 1\n"}, [()]),
    "values-yaml-1.1": (
        {"Chart.yaml": CHART, "templates/a.yaml": SHOW + "{{ .Values | toYaml }}\n",
         "values.yaml": "a: yes\nb: off\nc: 0o17\nd: 017\ne: 1_000\nf: 0x1F\ng: .inf\nh: ~\ni: 2024-01-02\nj: 1:30\n"
         "k: &x {m: 1}\nl: *x\nn:\n  <<: *x\n  o: 2\np: |\n  two\n  lines\nq: >-\n  fol\n  ded\nr: 'it''s'\n"
         "s: \"\\u00e9\\t\"\nt: 1e3\nu: 12345678901234567890\nv: !!str 5\n? w\n: 1\nx y: [a, {b: c}]\n1: number\n"
         "true: boolean\n".replace("g: .inf\n", "")}, [()]),
    "value-files": (
        {"Chart.yaml": CHART, "values.yaml": "a: {b: 1, c: 2}\n", "templates/a.yaml": SHOW,
         "more.yaml": "a: {b: 10, d: null}\nlist: [1, 2]\n", "null.yaml": "a: {c: null}\nlist: null\n",
         "empty.yaml": "", "bad.yaml": "a: [", "list.yaml": "- 1\n", "text.txt": "line\n"},
        [("-f", "{chart}/more.yaml"), ("-f", "{chart}/more.yaml", "-f", "{chart}/null.yaml"),
         ("-f", "{chart}/empty.yaml"), ("-f", "{chart}/bad.yaml"), ("-f", "{chart}/list.yaml"),
         ("-f", "{chart}/none.yaml"), ("--set-file", "a.f={chart}/text.txt"), ("--set", "a.b=1\\,2,x.y\\.z=3"),
         ("--set", "a"), ("--set", "=1"), ("--set", "a.b={1,x,true}"), ("--set", "list={}"), ("--set", "l[-1]=1"),
         ("--set-string", "s=123,t=null"), ("--set-json", "x=[1,{\"y\":null}]"), ("--set-json", "x={")]),
    "tpl-and-files": (
        {"Chart.yaml": CHART, "values.yaml": "t: '{{ .Release.Name }}-{{ include \"x\" . }}'\nbroken: '{{ .a'\n",
         "conf/app.ini": "name = {{ .Release.Name }}\n", "conf/b.bin": "\x01\x02",
         "templates/_x.tpl": '{{ define "x" }}[{{ .Chart.Name }}]{{ end }}',
         "templates/a.yaml": "a: {{ tpl .Values.t . }}\nb: |\n{{ tpl (.Files.Get \"conf/app.ini\") . | indent 2 }}\n"
         "c: {{ .Files.GetBytes \"conf/b.bin\" | toString | b64enc }}\nd: {{ .Files.Get \"none\" | quote }}\n"
         "{{ if .Values.fail }}{{ tpl .Values.broken . }}{{ end }}\n"}, [(), ("--set", "fail=true")]),
    "files-of-nothing": (
        {"Chart.yaml": CHART, "templates/a.yaml": "data:\n{{ (.Files.Glob \"none/*\").AsConfig | indent 2 }}\n"
         "{{ (.Files.Glob \"none/*\").AsSecrets | indent 2 | quote }}: 1\nall: {{ .Files.AsConfig | quote }}\n"}, [()]),
    "paths-of-values": (
        {"Chart.yaml": CHART, "values.yaml": "a: {b: {c: 1}, d: null}\nlist: [1]\npath: a.b.c\n",
         "templates/a.yaml": "{{ if .Values.table }}a: {{ .Values.Table .Values.path | toJson }}{{ else }}"
         "a: {{ .Values.PathValue .Values.path | toJson }}{{ end }}\n"},
        [(), ("--set", "path=list"), ("--set", "path=a"), ("--set", "path=a.d"), ("--set", "path=none"),
         ("--set", "path=a.none"), ("--set", "path=none.b"), ("--set", "path=list.b"), ("--set", "path="),
         ("--set", "path=a."), ("--set", "path=a.b,table=1"), ("--set", "path=,table=1"),
         ("--set", "path=a.b.c,table=1"), ("--set", "path=none,table=1")]),
    "required-and-fail": (
        {"Chart.yaml": CHART, "templates/a.yaml": "a: {{ required \"need a\" .Values.a }}\n"
         "{{ if .Values.stop }}{{ fail \"stop\" }}{{ end }}\n"},
        [(), ("--set", "a=1"), ("--set", "a=1,stop=true"), ("--set", "a=")]),
    "whitespace": (
        {"Chart.yaml": CHART, "templates/a.yaml": "\n\n  \na: 1\n\n\n---\n\n---\n# c\n---\nb: 2   \n\n\n--- \nc: 3\n",
         "templates/b.yaml": "{{- /* c */ -}}\n  {{- if true }}\nd:\n  {{- with list 1 2 }}\n  {{- toYaml . | nindent 2 }}"
         "\n  {{- end }}\n{{- end }}\n", "templates/c.yaml": "text: |\n  ---\n  x\n...\n"}, [()]),
}
