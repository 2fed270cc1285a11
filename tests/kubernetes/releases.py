"""A cluster with Releases for tests: the resource definitions installed by slipway itself, servers with the rights of
deploy/kubernetes/release-rights.yaml and no others, and the API server's audit log.

    with a Cluster that was started with api_flags=audit_flags(folder):
        releases = Releases(cluster, folder)
        releases.install()
        server = releases.start(start_slipway)
        releases.apply("web", MANIFESTS, {"replicas": 2})
        releases.wait_for_available("web", version=1)
        releases.writes("shop")     # slipway's writes, as the API server logged them
"""
import base64
import io
import json
import os
import subprocess
import tarfile

from conftest import slipway_program, wait_until

GROUP = "/apis/slipway.dev/v1alpha1"
USER = "stranger"  # has no rights but those of the roles
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users: [stranger]
- level: None
"""


def audit_flags(folder):
    path = os.path.join(folder, "audit.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(AUDIT_POLICY)
    return [f"--audit-policy-file={path}", f"--audit-log-path={os.path.join(folder, 'audit.log')}"]


class Releases:
    """Releases of one namespace at a time; see above."""

    def __init__(self, cluster, folder, namespace="shop", server=None):
        self.cluster = cluster
        self.folder = folder
        self.namespace = namespace
        self.server = server  # the last one that was started

    @property
    def api(self):
        return self.cluster.api

    # ---- slipway ----

    def slipway(self, *arguments, check=True, text=""):
        """A command as the administrator; .stdout, .stderr, .returncode."""
        done = subprocess.run(
            [slipway_program(), *map(str, arguments)], input=text, capture_output=True, text=True,
            timeout=240, check=False, cwd=self.folder,
            env=dict(os.environ, HOME=self.folder,
                     KUBECONFIG=self.cluster.credentials.path("admin.kubeconfig")))
        assert not check or done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done

    def release(self, verb, *arguments, **options):
        return self.slipway("release", verb, *arguments, "-n", self.namespace, **options)

    def install(self):
        self.slipway("canary", "install")
        for kind in ("ClusterRoleBinding", "RoleBinding"):
            self.api.post("/apis/rbac.authorization.k8s.io/v1" +
                          ("/namespaces/slipway/rolebindings" if kind == "RoleBinding" else "/clusterrolebindings"),
                          {"metadata": {"name": "slipway-releases-test"},
                           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "name": "slipway-releases",
                                       "kind": kind.removesuffix("Binding")},
                           "subjects": [{"kind": "User", "name": USER, "apiGroup": "rbac.authorization.k8s.io"}]})

    def start(self, start_slipway, state=None, user=USER, **options):
        """A server that runs the controllers, with the rights of the roles or of another user. options: of
        `releases`."""
        config = os.path.join(self.folder, "slipway.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"releases": {"enabled": True, "leaseNamespace": "slipway", **options}}, file)
        self.server = start_slipway("--config", config, "--runtime", "none", "--kubeconfig",
                             self.cluster.credentials.path(f"{user}.kubeconfig"), state=state)
        return self.server

    def restart(self, start_slipway):
        """Kill the server as a power cut would, and start it again with what it has stored."""
        self.server.kill()
        return self.start(start_slipway, state=self.server.state)

    def reconciles(self):
        for line in self.server.get("/metrics").text.splitlines():
            if line.startswith("slipway_release_reconciles_total "):
                return int(line.split()[1])
        return 0

    def wait_for_pass(self, name):
        """Touch the Release, and wait until the controller has compared it with the cluster."""
        before = self.reconciles()
        self.api.patch(self.path(name), {"metadata": {"annotations": {"example.com/touched": str(before)}}})
        wait_until(lambda: self.reconciles() > before, f"{name} is compared")

    # ---- Releases ----

    def in_namespace(self, namespace):
        """The same in a namespace of its own, which is created."""
        self.api.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
        return Releases(self.cluster, self.folder, namespace, self.server)

    def path(self, name=None):
        return f"{GROUP}/namespaces/{self.namespace}/releases" + (f"/{name}" if name else "")

    def create(self, name, template, values=None, **spec):
        return self.api.post(self.path(), {
            "apiVersion": "slipway.dev/v1alpha1", "kind": "Release", "metadata": {"name": name},
            "spec": {"template": template, "config": json.dumps(values or {}), **spec}})

    def change(self, name, values=None, **spec):
        """Merge into the spec."""
        if values is not None:
            spec["config"] = json.dumps(values)
        return self.api.patch(self.path(name), {"spec": spec})

    def get(self, name):
        return self.api.get(self.path(name))

    def delete(self, name):
        self.api.delete(self.path(name))
        wait_until(lambda: self.api.find(self.path(name)) is None, f"{name} is gone")

    def condition(self, name, kind):
        conditions = self.get(name).get("status", {}).get("conditions", [])
        found = [condition for condition in conditions if condition["type"] == kind]
        assert len(found) <= 1, conditions
        return found[0] if found else None

    def is_available(self, name, version):
        release = self.get(name)
        status = release.get("status", {})
        conditions = {condition["type"]: condition["status"] for condition in status.get("conditions", [])}
        return (status.get("observedGeneration") == release["metadata"]["generation"] and
                status.get("version") == version and status.get("appliedVersion") == version and
                conditions == {"Available": "True", "Progressing": "False", "Failure": "False"} and
                "rollbackTo" not in release["spec"] and release)

    def wait_for_available(self, name, version):
        """Wait until everything of this version is available; return the Release."""
        try:
            return wait_until(lambda: self.is_available(name, version), f"version {version} of {name} is available")
        except AssertionError as problem:
            raise AssertionError(f"{problem}: {self.get(name).get('status')}\n{self.server.stderr[-3000:]}") from None

    def wait_for_failure(self, name, reason):
        def failed():
            found = self.condition(name, "Failure")
            release = self.get(name)
            return (found and found["status"] == "True" and found["reason"] == reason and
                    found["observedGeneration"] == release["metadata"]["generation"] and found)

        return wait_until(failed, f"{name} fails with {reason}")

    def versions(self, name):
        """The versions in the history, the oldest first."""
        items, _ = self.api.list(f"{GROUP}/namespaces/{self.namespace}/releasehistories",
                                 labelSelector=f"slipway.dev/release={name}")
        return sorted(item["spec"]["version"] for item in items)

    # ---- objects ----

    def object(self, kind, name, group="/api/v1"):
        """An object by its plural and name, or None."""
        return self.api.find(f"{group}/namespaces/{self.namespace}/{kind}/{name}")

    def deployment(self, name):
        return self.object("deployments", name, "/apis/apps/v1")

    def config_map(self, name):
        return self.object("configmaps", name)

    # ---- the API server's audit log ----

    def audit(self):
        """slipway's requests about objects and their answers, in order."""
        with open(os.path.join(self.folder, "audit.log"), encoding="utf-8") as file:
            events = [json.loads(line) for line in file if line.endswith("\n")]
        return [event for event in events if "objectRef" in event]

    def granted(self, *roles):
        """(group, resource, verb) of cluster roles slipway-releases-ROLE, and of the role for the Lease."""
        base = "/apis/rbac.authorization.k8s.io/v1"
        found = [self.api.get(f"{base}/clusterroles/slipway-releases-{role}") for role in roles]
        found.append(self.api.get(f"{base}/namespaces/slipway/roles/slipway-releases"))
        return {(group, resource, verb) for role in found for rule in role["rules"] for group in rule["apiGroups"]
                for resource in rule["resources"] for verb in rule["verbs"]}

    def used(self, *codes):
        """(group, resource, verb) of requests that were answered so. The API server also forbids what is granted until
        it has read the roles: after its start, and when they are new."""
        rights = set()
        for event in self.audit():
            about, code = event["objectRef"], event["responseStatus"]["code"]
            if about["resource"] == "priorityclasses" or code not in codes:
                continue
            resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
            rights.add((about.get("apiGroup", ""), resource, event["verb"]))
            # An apply that creates its object needs both rights.
            if event["verb"] == "patch" and code == 201:
                rights.add((about.get("apiGroup", ""), resource, "create"))
        return rights

    def writes(self):
        """(verb, resource[/subresource], name) of all successful writes in this namespace."""
        return [(event["verb"], "/".join(filter(None, (event["objectRef"]["resource"],
                                                       event["objectRef"].get("subresource")))),
                 event["objectRef"].get("name"))
                for event in self.audit()
                if event["objectRef"].get("namespace") == self.namespace and
                event["verb"] not in ("get", "list", "watch") and
                event.get("responseStatus", {}).get("code", 0) < 300]


def chart(files):
    """A packaged chart in base64, from {path: text}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in files.items():
            data = text.encode()
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return base64.b64encode(out.getvalue()).decode()


# As public charts are: helpers, a checksum of the configuration, a ServiceAccount, an autoscaler, hooks and notes.
PUBLIC = chart({
    "web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.2.3\nappVersion: 4.5.6\n",
    "web/values.yaml": "color: red\nserviceAccount:\n  create: true\nautoscaling:\n  enabled: true\n",
    "web/templates/NOTES.txt": "Thank you for {{ .Chart.Name }}.\n",
    "web/templates/_helpers.tpl": """\
{{- define "web.fullname" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- define "web.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
""",
    "web/templates/configmap.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "web.fullname" . }}
  labels: {{- include "web.labels" . | nindent 4 }}
data:
  color: {{ .Values.color | quote }}
""",
    "web/templates/account.yaml": """\
{{- if .Values.serviceAccount.create }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "web.fullname" . }}
{{- end }}
""",
    "web/templates/deployment.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "web.fullname" . }}
  labels: {{- include "web.labels" . | nindent 4 }}
spec:
  {{- if not .Values.autoscaling.enabled }}
  replicas: 1
  {{- end }}
  selector:
    matchLabels: {{- include "web.labels" . | nindent 6 }}
  template:
    metadata:
      annotations:
        checksum/config: {{ include (print $.Template.BasePath "/configmap.yaml") . | sha256sum }}
      labels: {{- include "web.labels" . | nindent 8 }}
    spec:
      serviceAccountName: {{ include "web.fullname" . }}
      containers:
      - name: web
        image: "web:{{ .Chart.AppVersion }}"
        ports:
        - name: http
          containerPort: 8080
        envFrom:
        - configMapRef:
            name: {{ include "web.fullname" . }}
""",
    "web/templates/hpa.yaml": """\
{{- if .Values.autoscaling.enabled }}
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "web.fullname" . }}
spec:
  minReplicas: 1
  maxReplicas: 5
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "web.fullname" . }}
{{- end }}
""",
    "web/templates/service.yaml": """\
apiVersion: v1
kind: Service
metadata:
  name: {{ include "web.fullname" . }}
spec:
  selector: {{- include "web.labels" . | nindent 4 }}
  ports:
  - name: http
    port: 80
    targetPort: http
""",
    "web/templates/migrate.yaml": """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "web.fullname" . }}-migrate
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: migrate
        image: web
""",
})
