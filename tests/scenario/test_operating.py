"""Operating a server: health, information, metrics, audit, configuration, TLS, reset, stopping."""
import contextlib
import datetime
import http.client
import json
import os
import re
import select
import signal
import socket
import ssl
import subprocess
import threading

import pytest

from conftest import DEADLINE, SOURCE, slipway_program, wait_until

SERVER_ARGUMENTS = ["--runtime", "none"]


def command(*args):
    return subprocess.run([slipway_program(), *args], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=DEADLINE * 2, check=False)


def audit_lines(server):
    with open(os.path.join(server.state, "audit.log"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


# ---- reports about itself ----

@pytest.mark.sanitized
def test_health_readiness_information(slipway):
    assert (slipway.get("/healthz").status, slipway.get("/healthz").text) == (200, "ok\n")
    assert slipway.get("/readyz").status == 200
    info = slipway.get("/_slipway/info").json
    assert info["version"] == command("version").stdout.split()[1]
    assert info["addresses"] == {"api": slipway.url, "dns": f"127.0.0.1:{slipway.dns_port}",
                                 "console": None}
    assert (info["store"], info["runtime"], info["auth"]) == ("sqlite", "none", "signature")
    assert slipway.get("/nothing").status == 404
    assert slipway.request("DELETE", "/healthz").status == 405
    assert slipway.request("HEAD", "/healthz").body == b""


@pytest.mark.sanitized
def test_metrics_count_what_happened(start_slipway):
    server = start_slipway()
    server.boto().create_cluster(clusterName="a")
    server.boto().create_cluster(clusterName="b")
    text = server.get("/metrics").text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert values['slipway_calls_total{service="ecs",operation="CreateCluster",result="success"}'] \
        == "2"
    assert int(values["slipway_store_groups_total"]) >= 1
    assert int(values["slipway_http_requests_total"]) >= 2
    assert int(values["slipway_resident_bytes"]) > 1000000
    # Prometheus's text format: the lines of a metric stand together, behind its help and type.
    assert server.get("/metrics").headers["content-type"].startswith("text/plain; version=0.0.4")
    for metric in re.split(r"^(?=# HELP)", text, flags=re.MULTILINE)[1:]:
        match = re.match(r"# HELP (slipway_\w+) .+\n# TYPE (slipway_\w+) (counter|gauge)\n", metric)
        assert match and match[1] == match[2], metric
        for line in metric[match.end():].splitlines():
            assert re.fullmatch(match[1] + r"(\{[^}]*\})? [0-9.e+-]+", line), line
        assert text.count(f"# TYPE {match[1]} ") == 1


@pytest.mark.sanitized
def test_the_audit_log_has_user_and_operation(start_slipway):
    server = start_slipway()
    client = server.boto()
    answer = client.create_cluster(clusterName="a")
    client.list_clusters()
    with pytest.raises(client.exceptions.InvalidParameterException):
        client.create_cluster(clusterName="not valid")
    lines = audit_lines(server)
    assert [(line["operation"], line["result"]) for line in lines] == [
        ("ecs:CreateCluster", "success"), ("ecs:CreateCluster", "InvalidParameterException")]
    first = lines[0]
    assert first["account"] == "123456789012"
    assert first["user"] == "admin"
    assert first["key"] == server.key["accessKeyId"]
    assert first["resource"] == "arn:aws:ecs:us-east-1:123456789012:cluster/a"
    assert first["requestId"] == answer["ResponseMetadata"]["RequestId"]
    moment = datetime.datetime.strptime(first["time"], "%Y-%m-%dT%H:%M:%S.%fZ")
    assert abs((datetime.datetime.utcnow() - moment).total_seconds()) < 300
    assert os.stat(os.path.join(server.state, "audit.log")).st_mode & 0o777 == 0o600


def test_a_full_disk_of_the_audit_log_is_counted(start_slipway, tmp_path):
    config = tmp_path / "slipway.yaml"
    config.write_text("audit:\n  file: /dev/full\n")
    server = start_slipway("--config", config)
    server.boto().create_cluster(clusterName="a")
    assert "\nslipway_audit_lost_total 1\n" in server.get("/metrics").text


def test_the_state_folder_is_private(start_slipway, tmp_path):
    os.chmod(tmp_path, 0o755)
    server = start_slipway(state=str(tmp_path))  # a folder that others may look into
    server.boto().create_cluster(clusterName="a")
    modes = {name: os.stat(tmp_path / name).st_mode & 0o777 for name in os.listdir(tmp_path)}
    assert {"slipway.db", "slipway.db-wal", "audit.log", "admin-key.json",
            "integrity.key"} <= set(modes)
    assert set(modes.values()) == {0o600}, modes


def test_the_log_says_where_it_listens(start_slipway):
    server = start_slipway()
    lines = [json.loads(line) for line in wait_until(lambda: server.stderr, "a line is logged")
             .splitlines()]
    assert (lines[0]["level"], lines[0]["message"]) == ("info", "listening")
    assert lines[0]["url"] == server.url and lines[0]["pid"] == str(server.process.pid)
    server.stop()
    last = json.loads(server.stderr.splitlines()[-1])
    assert (last["message"], last["signal"]) == ("stopping", "Terminated")


def test_the_audit_log_can_be_rotated(start_slipway):
    server = start_slipway()
    server.boto().create_cluster(clusterName="a")
    path = os.path.join(server.state, "audit.log")
    os.rename(path, path + ".1")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: os.path.exists(path), "a new audit log is there")
    server.boto().create_cluster(clusterName="b")
    assert len(audit_lines(server)) == 1


# ---- configuration ----

@pytest.mark.parametrize("text, complaint", [
    ("lissten: 127.0.0.1:0\n", "slipway.yaml:1: unknown key 'lissten'; did you mean 'listen'?"),
    ("\nlog:\n  levle: info\n",
     "slipway.yaml:3: unknown key 'log.levle'; did you mean 'log.level'?"),
    ("log: info\n", "slipway.yaml:1: 'log' must have keys below it"),
    ("log:\n  level: loud\n", "slipway.yaml:2: log.level: 'loud' is not one of"),
    ("http:\n  bodyMax: many\n", "slipway.yaml:2: http.bodyMax: must be a number"),
    ("http:\n  bodyMax: 1\n", "slipway.yaml:2: http.bodyMax: must be a number from 1024"),
    ("ephemeral: 3\n", "slipway.yaml:1: ephemeral: must be true or false"),
    ("- a\n", "slipway.yaml:1: must have keys"),
    ("a: [\n", "slipway.yaml"),
    ("listen: nowhere\n", "is not ADDR:PORT"),
    ("tls:\n  key: /k.pem\n", "tls.key: needs tls.certificate"),
    ("account: 12\n", "account: must be a string, not a number; write it in quotes"),
    ("account: '12'\n", "account: '12' is not twelve digits"),
])
def test_a_wrong_configuration_says_where(tmp_path, text, complaint):
    path = tmp_path / "slipway.yaml"
    path.write_text(text)
    refused = command("up", "--config", str(path), "--state", str(tmp_path / "state"))
    assert refused.returncode in (1, 2)
    assert complaint in refused.stderr
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("args, complaint", [
    (["--frob"], "there is no flag --frob"),
    (["--lissten", "x"], "there is no flag --lissten; did you mean --listen?"),
    (["--state", ""], "--state: must not be empty"),
    (["--state", "/dev/null/x"], "state folder: make folder '/dev/null'"),
    (["--store", "sqlite:", "--state", "STATE"], "must name a file"),
    (["--store", "sqlite::memory:", "--state", "STATE"], "must name a file"),
    (["--listen", "::1:0"], "write an IPv6 address in brackets: [::1]:0"),
    (["--ephemeral=maybe"], "up: --ephemeral: must be true or false"),
    (["--listen"], "--listen needs a value"),
    (["--auth", "maybe"], "auth: 'maybe' is not one of signature|none"),
    (["here"], "'here' is not an option"),
    (["--config", "/nonexistent.yaml"], "/nonexistent.yaml"),
    (["--ephemeral", "--store", "sqlite:/x"], "leave store out"),
    (["--store", "oracle:x", "--state", "STATE"], "oracle"),
    (["--listen", "256.1.1.1:0", "--ephemeral"], "256.1.1.1"),
    (["--balancers", "127.0.0.0/7", "--ephemeral"], "neither an address nor an IPv4 network"),
    (["--balancers", "::1/128", "--ephemeral"], "neither an address nor an IPv4 network"),
    (["--balancers", "127.1.2.3/16", "--ephemeral"], "'127.1.2.3/16' does not begin at"),
])
def test_a_wrong_command_line_says_why(tmp_path, args, complaint):
    refused = command("up", *[str(tmp_path / "s") if arg == "STATE" else arg for arg in args])
    assert refused.returncode in (1, 2)
    assert complaint in refused.stderr


def test_the_file_and_the_flags(start_slipway, tmp_path):
    path = tmp_path / "slipway.yaml"
    path.write_text("account: '000000000007'\naudit:\n  reads: true\nlisten: 127.0.0.1:1\n")
    server = start_slipway("--config", path, "--listen", "127.0.0.1:0")  # the flag wins
    made = server.boto().create_cluster(clusterName="a")
    assert ":000000000007:" in made["cluster"]["clusterArn"]
    server.boto().list_clusters()
    assert [line["operation"] for line in audit_lines(server)] == [
        "ecs:CreateCluster", "ecs:ListClusters"]


def test_every_key_is_documented_and_the_printed_file_works(start_slipway, tmp_path):
    table = command("config", "markdown").stdout
    with open(os.path.join(SOURCE, "docs/configuration.md"), encoding="utf-8") as file:
        assert table in file.read(), "docs/configuration.md must hold `slipway config markdown`"
    path = tmp_path / "slipway.yaml"
    path.write_text(command("config").stdout)
    server = start_slipway("--config", path, "--listen", "127.0.0.1:0")
    assert server.get("/healthz").status == 200


def test_help_for_every_command():
    overview = command("--help")
    assert overview.returncode == 0
    names = re.findall(r"^  (\w+) ", overview.stdout, re.MULTILINE)
    assert {"up", "key", "config", "sim", "version"} <= set(names)
    for name in names:
        told = command(name, "--help")
        assert told.returncode == 0 and told.stdout.startswith(f"Usage: slipway {name}")
        assert command("help", name).stdout == told.stdout
    unknown = command("upp")
    assert unknown.returncode == 2 and "did you mean 'up'?" in unknown.stderr


def test_both_spellings_of_a_postgresql_url(start_slipway, postgres_url):
    server = start_slipway("--store", postgres_url)
    server.boto().create_cluster(clusterName="a")
    server.stop()
    again = start_slipway("--store", postgres_url.replace("postgresql://", "postgres://", 1),
                          state=server.state)
    assert again.boto().describe_clusters(clusters=["a"])["clusters"]


def test_a_key_file_of_another_database_is_refused(start_slipway):
    server, other = start_slipway(), start_slipway()
    server.boto().create_cluster(clusterName="a")
    server.stop()
    other.stop()
    own = os.path.join(server.state, "integrity.key")
    os.rename(own, own + ".kept")
    with open(os.path.join(other.state, "integrity.key"), "rb") as theirs, open(own, "wb") as file:
        file.write(theirs.read())
    refused = command("up", "--listen", "127.0.0.1:0", "--dns", "127.0.0.1:0", "--state", server.state)
    assert refused.returncode == 1
    assert "is the key file the one of this database?" in refused.stderr
    os.rename(own + ".kept", own)
    again = start_slipway(state=server.state)
    assert again.boto().describe_clusters(clusters=["a"])["clusters"]


def test_one_state_has_one_server(start_slipway):
    server = start_slipway()
    refused = command("up", "--listen", "127.0.0.1:0", "--dns", "127.0.0.1:0", "--state", server.state)
    assert refused.returncode == 1
    assert "state' is in use by another process; if that is another slipway, end it" in refused.stderr
    assert "--state DIR" in refused.stderr
    assert server.boto().list_clusters()["clusterArns"] == []


def test_a_port_in_use_is_reported(start_slipway):
    server = start_slipway()
    address = server.url.split("//")[1]
    refused = command("up", "--listen", address, "--dns", "127.0.0.1:0", "--ephemeral")
    assert refused.returncode == 1
    assert "Address already in use; another program, or another slipway, listens there" in refused.stderr
    assert "--listen ADDR:PORT" in refused.stderr


# ---- ephemeral ----

@pytest.mark.sanitized
def test_ephemeral_servers_forget(start_slipway):
    server = start_slipway("--ephemeral")
    client = server.boto()
    for number in range(3):
        client.register_task_definition(family=f"f{number}", containerDefinitions=[
            {"name": "a", "image": "i", "memory": 8}])
    client.create_cluster(clusterName="a")
    assert server.request("POST", "/_slipway/reset").status == 200
    assert client.list_clusters()["clusterArns"] == []
    assert client.list_task_definition_families(status="ALL")["families"] == []
    # Numbers begin anew, as for a new server.
    made = client.register_task_definition(family="f1", containerDefinitions=[
        {"name": "a", "image": "i", "memory": 8}])
    assert made["taskDefinition"]["revision"] == 1
    assert server.get("/_slipway/info").json["ephemeral"] is True
    assert not os.path.exists(os.path.join(server.state, "slipway.db"))


def test_a_large_reset(start_slipway):
    server = start_slipway("--ephemeral", "--auth", "none")
    client = server.boto()
    for number in range(1200):
        client.put_account_setting(name="containerInsights", value="enabled",
                                   principalArn=f"arn:aws:iam::123456789012:user/u{number}")
    assert server.request("POST", "/_slipway/reset").status == 200
    text = server.get("/metrics").text
    objects = int(re.search(r"^slipway_store_objects (\d+)$", text, re.MULTILINE).group(1))
    assert objects < 10  # the admin key, and what the server keeps for itself


@pytest.mark.parametrize("store", ["memory:", ":memory:"])
def test_a_store_in_memory(start_slipway, store):
    """Forgets objects and keeps its key; is not there to be reset."""
    server = start_slipway("--store", store)
    server.boto().create_cluster(clusterName="a")
    assert server.get("/_slipway/info").json["store"] == "memory"
    assert server.request("POST", "/_slipway/reset").status == 403
    key = server.key
    server.stop()
    again = start_slipway("--store", store, state=server.state)
    assert again.key == key
    assert again.boto().list_clusters()["clusterArns"] == []


def test_reset_is_for_ephemeral_servers(slipway):
    slipway.boto().create_cluster(clusterName="stays")
    assert slipway.request("POST", "/_slipway/reset").status == 403
    assert slipway.boto().list_clusters()["clusterArns"]


def test_reset_is_for_loopback(start_slipway):
    """No other address of this machine may reset a connection."""
    server = start_slipway("--ephemeral", "--listen", "0.0.0.0:0")
    port = server.url.rsplit(":", 1)[1]
    server.url = f"http://127.0.0.1:{port}"
    server.boto().create_cluster(clusterName="a")

    def addresses():
        told = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True,
                              timeout=DEADLINE).stdout
        return [word for word in told.split() if ":" not in word]

    for address in addresses():
        server.url = f"http://{address}:{port}"
        try:
            assert server.request("POST", "/_slipway/reset").status == 403
        except OSError:  # of another test's network, which has just gone
            assert address not in addresses()
    server.url = f"http://127.0.0.1:{port}"
    assert server.boto().list_clusters()["clusterArns"]
    assert server.request("POST", "/_slipway/reset").status == 200
    assert not server.boto().list_clusters()["clusterArns"]


# ---- TLS ----

def make_certificate(folder, name):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/certificate.pem", "-days",
         "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True, timeout=DEADLINE * 2)


def test_tls_and_new_certificates(start_slipway, tmp_path):
    make_certificate(tmp_path, "first")
    config = tmp_path / "slipway.yaml"
    config.write_text(f"tls:\n  certificate: {tmp_path}/certificate.pem\n  key: {tmp_path}/key.pem\n")
    server = start_slipway("--config", config)
    assert server.url.startswith("https://")
    host, port = server.url.split("//")[1].split(":")

    def served():
        pem = ssl.get_server_certificate((host, int(port)))
        told = subprocess.run(["openssl", "x509", "-noout", "-subject"], input=pem, text=True,
                              capture_output=True, check=True, timeout=DEADLINE)
        return told.stdout

    assert "first" in served()
    context = ssl.create_default_context(cafile=f"{tmp_path}/certificate.pem")
    connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=DEADLINE)
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b"ok\n"
    made = server.aws("ecs", "create-cluster", "--cluster-name", "tls", "--ca-bundle",
                      f"{tmp_path}/certificate.pem")
    assert made.json["cluster"]["clusterName"] == "tls"
    listed = command("key", "list", "--server", server.url, "--state", server.state, "--ca",
                     f"{tmp_path}/certificate.pem")
    assert listed.returncode == 0 and server.key["accessKeyId"] in listed.stdout, listed.stderr
    # The system's authorities do not know it, and then no request is made.
    refused = command("key", "list", "--server", server.url, "--state", server.state)
    assert refused.returncode == 1 and "certificate" in refused.stderr
    make_certificate(tmp_path, "second")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "second" in served(), "the new certificate is served")
    connection.request("GET", "/healthz")  # a connection that exists continues
    assert connection.getresponse().read() == b"ok\n"
    connection.close()


# ---- stopping ----

@pytest.mark.sanitized
def test_sigterm_lets_requests_finish(start_slipway):
    """Clients that write all the time see every write answered or their connection refused; what was
    answered is there afterwards."""
    server = start_slipway()
    done, stop = [], threading.Event()

    def write(worker):
        client = server.boto()
        for number in range(100000):
            if stop.is_set():
                return
            name = f"c{worker}-{number}"
            try:
                client.create_cluster(clusterName=name)
            except Exception:  # pylint: disable=broad-except
                return  # refused: the server is going
            done.append(name)

    workers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    wait_until(lambda: len(done) > 20, "clients write")
    server.stop()
    stop.set()
    for worker in workers:
        worker.join(DEADLINE)
    again = start_slipway(state=server.state)
    known = set()
    for page in again.boto().get_paginator("list_clusters").paginate():
        known |= {arn.split("/")[1] for arn in page["clusterArns"]}
    assert set(done) <= known


def test_new_connections_are_refused_before_any_is_closed(start_slipway, tmp_path):
    """A client whose connection ends connects again, and must find another server behind the balancer."""
    config = tmp_path / "slipway.yaml"
    config.write_text("http:\n  threads: 4\n")
    server = start_slipway("--config", config)
    address = server.url.split("//")[1].split(":")
    with contextlib.ExitStack() as stack:
        idle = []
        for _ in range(32):
            idle.append(stack.enter_context(socket.create_connection(address, timeout=DEADLINE)))
            idle[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert idle[-1].recv(65536).startswith(b"HTTP/1.1 200")
        server.process.send_signal(signal.SIGTERM)
        closed, _, _ = select.select(idle, [], [], DEADLINE)
        assert closed
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address, timeout=DEADLINE).close()
    assert server.wait_for_exit() == 0


def test_a_slow_client_does_not_hold_up_the_end(start_slipway, tmp_path):
    config = tmp_path / "slipway.yaml"
    config.write_text("drainSeconds: 1\n")
    server = start_slipway("--config", config)
    host, port = server.url.split("//")[1].split(":")
    with socket.create_connection((host, int(port)), timeout=DEADLINE) as slow:
        slow.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
        wait_until(lambda: b"connections_open 2" in server.get("/metrics").body,
                   "the server has the slow connection")
        server.stop()
