"""Credentials for a test's Kubernetes: its certificate authority, tokens, and kubeconfig files in
every form that clients must understand."""
import os
import secrets
import stat
import subprocess

DAYS = "3650"

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: test
clusters:
- name: test
  cluster:
    server: {server}
    certificate-authority: {ca}
contexts:
- name: test
  context:
    cluster: test
    user: test
users:
- name: test
  user:
{user}
"""

# Prints the token that lies in a file, and notes that it was asked.
EXEC_PLUGIN = """\
#!/bin/sh
echo >>'{token_file}.asked'
printf '{{"apiVersion": "{version}", "kind": "ExecCredential", '
printf '"status": {{{expiry}"token": "%s"}}}}' "$(cat '{token_file}')"
"""

# Tokens that the API server knows from its start on: name, then user and groups.
TOKENS = {
    "admin": ("admin", "system:masters"),
    "controllers": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "proxy": ("system:kube-proxy", ""),
    "stranger": ("stranger", ""),  # has no permissions
}


def openssl(*arguments):
    done = subprocess.run(["openssl", *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"openssl {' '.join(arguments)}: {done.stdout}")


class Credentials:
    """The keys of one cluster, all in one folder."""

    def __init__(self, folder):
        self.folder = folder
        self.server = None  # the address that kubeconfigs name
        self.ca = self.path("ca.crt")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode=0o600):
        descriptor = os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def make(self, nodes=()):
        """The authority, the key that signs service accounts' tokens, and the tokens of users."""
        os.makedirs(self.folder)
        self.make_key("ca")
        openssl("req", "-x509", "-new", "-key", self.path("ca.key"), "-subj", "/CN=test-authority",
                "-days", DAYS, "-out", self.ca, "-addext", "basicConstraints=critical,CA:true",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        self.make_key("service-accounts")
        users = dict(TOKENS, **{node: (f"system:node:{node}", "system:nodes") for node in nodes})
        lines = []
        for name, (user, groups) in users.items():
            token = secrets.token_hex(16)
            self.write(f"{name}.token", token)
            lines.append(f'{token},{user},{user},"{groups}"\n')
        self.write("tokens.csv", "".join(lines))

    def make_key(self, name):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout",
                "-out", self.path(f"{name}.key"))

    def token(self, name="admin"):
        with open(self.path(f"{name}.token"), encoding="utf-8") as file:
            return file.read()

    def sign(self, name, subject, extensions):
        self.make_key(name)
        openssl("req", "-new", "-key", self.path(f"{name}.key"), "-subj", subject,
                "-out", self.path(f"{name}.csr"))
        self.write(f"{name}.extensions", extensions)
        openssl("x509", "-req", "-in", self.path(f"{name}.csr"), "-CA", self.ca,
                "-CAkey", self.path("ca.key"), "-CAcreateserial", "-days", DAYS,
                "-extfile", self.path(f"{name}.extensions"), "-out", self.path(f"{name}.crt"))
        return self.path(f"{name}.crt"), self.path(f"{name}.key")

    def server_certificate(self, name, alternatives):
        return self.sign(name, f"/CN={name}", f"subjectAltName={','.join(alternatives)}\n"
                                              "extendedKeyUsage=serverAuth\n")

    def client_certificate(self, name, user="admin", groups=("system:masters",)):
        """(certificate, key) of a user."""
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={user}"
        return self.sign(name, subject, "extendedKeyUsage=clientAuth\n")

    # ---- kubeconfig files ----

    def kubeconfig(self, name, user_lines, server=None):
        user = "\n".join("    " + line for line in user_lines)
        return self.write(f"{name}.kubeconfig", KUBECONFIG.format(
            server=server or self.server, ca=self.ca, user=user))

    def token_kubeconfig(self, name="admin", token=None, server=None):
        """One with a token in it: that of a known user, or the one given."""
        return self.kubeconfig(name, [f"token: {token or self.token(name)}"], server)

    def certificate_kubeconfig(self, name, user="admin", groups=("system:masters",), server=None):
        certificate, key = self.client_certificate(name, user, groups)
        return self.kubeconfig(name, [f"client-certificate: {certificate}", f"client-key: {key}"],
                               server)

    def exec_kubeconfig(self, name, token=None, expires=None, server=None,
                        version="client.authentication.k8s.io/v1beta1"):
        """One that asks a program. The token lies in NAME.plugin-token, and each time the program
        is asked it adds a line to NAME.plugin-token.asked."""
        token_file = self.write(f"{name}.plugin-token", token or self.token())
        expiry = f'"expirationTimestamp": "{expires}", ' if expires else ""
        plugin = self.write(f"{name}.plugin", EXEC_PLUGIN.format(
            token_file=token_file, version=version, expiry=expiry), stat.S_IRWXU)
        return self.kubeconfig(name, ["exec:", f"  apiVersion: {version}", f"  command: {plugin}",
                                      "  interactiveMode: Never"], server)
