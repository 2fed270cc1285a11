#!/usr/bin/python3
"""Charts beside Helm as whole processes, and the template engine beside Go's text/template with Sprig."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "parts"), str(HERE.parent / "chart")]
import helm as reference  # noqa: E402
from bench import SOURCE, stamp, table  # noqa: E402

ROUNDS = 15
ENGINE_MILLISECONDS = 4000
TARGET_PROCESS, TARGET_ENGINE = 10, 5

HELPERS = """
{{- define "web.name" -}}
{{- default "web" .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end }}
{{- define "web.labels" -}}
app.kubernetes.io/name: {{ include "web.name" . }}
app.kubernetes.io/managed-by: {{ "Helm" | quote }}
app.kubernetes.io/version: {{ .Values.image.tag | quote }}
{{- with .Values.labels }}
{{ range $key, $value := . }}
{{- $key }}: {{ $value | quote }}
{{ end }}
{{- end }}
{{- end }}
{{- define "web.image" -}}
{{- printf "%s/%s:%s" .Values.image.registry .Values.image.repository (.Values.image.tag | toString) -}}
{{- end }}
"""
DEPLOYMENT = """
{{- if and .Values.enabled (not .Values.paused) }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "web.name" . }}-NUMBER
  labels:
    {{- include "web.labels" . | nindent 4 }}
  annotations:
    checksum/config: {{ .Values.settings | toJson | sha256sum }}
spec:
  replicas: {{ .Values.replicas | default 1 }}
  selector:
    matchLabels:
      app: {{ include "web.name" . }}-NUMBER
  template:
    metadata:
      labels:
        app: {{ include "web.name" . }}-NUMBER
        {{- include "web.labels" . | nindent 8 }}
    spec:
      containers:
        - name: {{ include "web.name" . | kebabcase }}
          image: {{ include "web.image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy | default "IfNotPresent" }}
          ports:
          {{- range $name, $port := .Values.ports }}
            - name: {{ $name }}
              containerPort: {{ $port }}
          {{- end }}
          env:
          {{- range .Values.env }}
            {{- if ne .name "SKIPPED" }}
            - name: {{ .name | upper | replace "-" "_" }}
              value: {{ .value | quote }}
            {{- end }}
          {{- end }}
          resources:
            {{- WRITE .Values.resources | nindent 12 }}
          {{- if hasKey .Values "nodeSelector" }}
          nodeSelector: {{- WRITE .Values.nodeSelector | nindent 12 }}
          {{- end }}
{{- end }}
"""
SERVICE = """
apiVersion: v1
kind: Service
metadata:
  name: {{ include "web.name" . }}-NUMBER
  labels:
    {{- include "web.labels" . | nindent 4 }}
spec:
  type: {{ .Values.serviceType | default "ClusterIP" }}
  ports:
  {{- range $name, $port := .Values.ports }}
    - {name: {{ $name }}, port: {{ add 1000 $port }}, targetPort: {{ $port }}}
  {{- end }}
"""
CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "web.name" . | printf "%s-config" }}-NUMBER
data:
  {{- range $index, $line := splitList "," .Values.lines }}
  line{{ $index }}: {{ trim $line | title | squote }}
  {{- end }}
  settings.json: |
    {{- WRITE .Values.settings | nindent 4 }}
"""
VALUES = {
    "enabled": True, "paused": False, "replicas": 3, "serviceType": "ClusterIP",
    "image": {"registry": "registry.example.com", "repository": "shop/web", "tag": "1.27.3"},
    "labels": {"team": "shop", "tier": "front", "cost-center": "c42"},
    "ports": {"http": 8080, "metrics": 9090, "admin": 9901},
    "env": [{"name": f"setting-{number}", "value": f"value {number}"} for number in range(12)],
    "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "64Mi"}},
    "nodeSelector": {"kubernetes.io/os": "linux", "zone": "a"},
    "settings": {"cache": {"size": 100, "ttl": "5m"}, "features": ["search", "cart"], "debug": False},
    "lines": "first line, second line,third line , the last one",
}


def write_templates(folder, count, write):
    """`count` templates in turn of three kinds; `write` is the function that writes maps."""
    folder.mkdir(parents=True)
    (folder / "_helpers.tpl").write_text(HELPERS)
    for number in range(count):
        text = (DEPLOYMENT, SERVICE, CONFIG)[number % 3]
        (folder / f"template-{number:03}.yaml").write_text(
            text.replace("NUMBER", str(number)).replace("WRITE", write))


def write_chart(folder, count):
    write_templates(folder / "templates", count, "toYaml")
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text(json.dumps(VALUES))
    return folder


def seconds(command):
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return time.monotonic() - begin, done.stdout


def best_process_times(chart):
    """Both in turn, so that whatever else the machine does hits them alike; the best round counts."""
    commands = {"slipway": [reference.SLIPWAY, "chart", "template", str(chart), "--name", "rel"],
                "helm": [reference.helm(), "template", "rel", str(chart)]}
    best, text = dict.fromkeys(commands, 1e9), {}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            taken, text[name] = seconds(command)
            best[name] = min(best[name], taken)
    assert reference.without_blank_ends(text["slipway"].decode()) == reference.without_blank_ends(
        text["helm"].decode())
    return best["slipway"] * 1000, best["helm"] * 1000


def engine_times(folder):
    """Microseconds for parsing and rendering 50 templates: slipway's engine, and Go's."""
    write_templates(folder / "engine", 50, "toPrettyJson")
    (folder / "values.json").write_text(json.dumps(VALUES))
    go = folder / "chart_engine_go"
    environment = dict(os.environ, GO111MODULE="off", GOPATH="/usr/share/gocode", GOCACHE=str(folder / "cache"),
                       GOFLAGS="")
    subprocess.run(["go", "build", "-o", str(go), str(HERE / "parts" / "chart_engine.go")], check=True,
                   env=environment)
    programs = [os.path.join(SOURCE, "build/tests/bench/chart_engine"), str(go)]
    best = [10 ** 12, 10 ** 12]
    for _ in range(3):
        for index, program in enumerate(programs):
            printed = subprocess.run([program, str(folder / "engine"), str(folder / "values.json"),
                                      str(folder / f"out{index}"), str(ENGINE_MILLISECONDS // 3)],
                                     check=True, stdout=subprocess.PIPE).stdout
            best[index] = min(best[index], int(printed))
    assert (folder / "out0").read_bytes() == (folder / "out1").read_bytes()
    return best


def verdict(ratio, target):
    return f"{target}: {'met' if ratio >= target else '**missed**'}"


def main():
    stamp()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        small = best_process_times(write_chart(folder / "small", 50))
        large = best_process_times(write_chart(folder / "large", 500))
        ours, theirs = engine_times(folder)
    rows = [("what", "slipway", "beside", "ratio", "target"),
            ("chart template, 50 templates, whole process", f"{small[0]:.1f} ms", f"helm {small[1]:.1f} ms",
             f"{small[1] / small[0]:.1f}", verdict(small[1] / small[0], TARGET_PROCESS)),
            ("the same with 500 templates", f"{large[0]:.1f} ms", f"helm {large[1]:.1f} ms",
             f"{large[1] / large[0]:.1f}", ""),
            ("growth from 50 to 500 templates", f"{large[0] / small[0]:.1f} times",
             f"helm {large[1] / small[1]:.1f} times", "", ""),
            ("engine alone, parse and render 50 templates", f"{ours} µs", f"Go with Sprig {theirs} µs",
             f"{theirs / ours:.1f}", verdict(theirs / ours, TARGET_ENGINE))]
    table(rows)


if __name__ == "__main__":
    main()
