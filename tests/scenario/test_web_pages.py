"""A web page cannot use the server through its visitor's browser: every route against Host, Origin, Sec-Fetch-Site and the content
types that a page may send without a preflight; and clients that are no web pages go on as always."""
import http.client
import itertools
import json
import os
import re

import pytest

from conftest import DEADLINE

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TYPES = ["application/x-amz-json-1.1", "application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=b", None]
FORM = b"Action=DescribeLoadBalancers&Version=2015-12-01"
LIST_CLUSTERS = "AmazonEC2ContainerServiceV20141113.ListClusters"
FREE = [("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/v1/ping"), ("GET", "/v1/openapi.json")]
UNSIGNED = [("GET", "/metrics"), ("GET", "/_slipway/info"), ("POST", "/_slipway/reset")]
PAGES = [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://localhost:1"},
         {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
         {"Origin": "http://HOST", "Sec-Fetch-Site": "cross-site"}]
STRANGE_HOSTS = ["evil.example", "evil.example:PORT", "localhost.evil.example:PORT", "127.0.0.1.evil.example", ""]
OWN_HOSTS = ["127.0.0.1:PORT", "localhost:PORT", "LOCALHOST", "[::1]:PORT", "192.0.2.7", "web.localhost:PORT",
             "api.slipway.internal:PORT", "web-1.elb.slipway.internal", "console.example.com"]


@pytest.fixture(scope="module")
def rest_routes():
    with open(os.path.join(SOURCE, "api/slipway.json"), encoding="utf-8") as file:
        operations = json.load(file)["operations"].values()
    return [(one["http"]["method"], re.sub(r"\{\w+\}", "x", one["http"]["requestUri"])) for one in operations]


class Client:
    def __init__(self, server):
        self.address = server.url.split("//")[1]
        self.port = self.address.rpartition(":")[2]
        self.connection = http.client.HTTPConnection(self.address, timeout=DEADLINE)

    def __call__(self, method, target, host, headers=(), body=None):
        host = host.replace("PORT", self.port)
        self.connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        self.connection.putheader("Host", host)
        for name, value in dict(headers).items():
            if value is not None:
                self.connection.putheader(name, value.replace("HOST", host))
        if body is not None or method in ("POST", "PUT", "PATCH"):
            self.connection.putheader("Content-Length", str(len(body or b"")))
        self.connection.endheaders(body)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if answer.will_close:
            self.connection.close()
        return answer.status, text


def requests_of(rest):
    """Every route, in each way that reaches other code."""
    return [("POST", "/", {"X-Amz-Target": LIST_CLUSTERS}, b"{}"), ("POST", "/", {}, FORM),
            ("GET", "/?" + FORM.decode(), {}, None), *((*route, {}, None) for route in rest + UNSIGNED)]


def is_refused(answer):
    return answer[0] == 403 and ("web pages of another" in answer[1] or "not called by this Host" in answer[1])


@pytest.fixture(scope="module")
def open_server(request):
    """A server that everybody on this machine may use."""
    from conftest import Servers
    servers = Servers()
    config = os.path.join(servers.folder, "slipway.yaml")
    with open(config, "w", encoding="utf-8") as file:
        file.write("http:\n  hosts: console.example.com\n")
    yield servers.start("--auth", "none", "--ephemeral", "--runtime", "simulated", "--config", config)
    servers.end()


def test_no_page_reaches_any_route(open_server, rest_routes):
    client = Client(open_server)
    client("POST", "/", "localhost:PORT", {"X-Amz-Target": LIST_CLUSTERS.replace("ListClusters", "CreateCluster")},
           b'{"clusterName":"kept"}')
    for (method, path, headers, body), kind in itertools.product(requests_of(rest_routes), TYPES):
        headers = dict(headers, **{"Content-Type": kind})
        for host in STRANGE_HOSTS:
            assert is_refused(client(method, path, host, headers, body)), (method, path, kind, host)
        for page in PAGES:
            assert is_refused(client(method, path, "localhost:PORT", dict(headers, **page), body)), (method, path, kind, page)
    # Nothing was changed: no key, no reset.
    assert "kept" in client("POST", "/", "localhost:PORT", {"X-Amz-Target": LIST_CLUSTERS}, b"{}")[1]
    keys = json.loads(client("GET", "/v1/keys", "localhost:PORT")[1])
    assert [one["user"] for one in keys["keys"]] == ["admin"]


def test_own_names_and_own_pages_are_served(open_server, rest_routes):
    client = Client(open_server)
    own = [{}, {"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://HOST", "Sec-Fetch-Site": "same-origin"}]
    for host, page in itertools.product(OWN_HOSTS, own):
        for method, path, headers, body in requests_of([("GET", "/v1/keys"), ("GET", "/v1/environments")]):
            status, text = client(method, path, host, dict(headers, **page), body)
            assert status in (200, 400) and not is_refused((status, text)), (method, path, host, page, text)
    # Probes of any kind see whether it is alive.
    for (method, path), host, page in itertools.product(FREE, STRANGE_HOSTS, [{}, *PAGES]):
        assert client(method, path, host, page)[0] == 200, (path, host, page)


@pytest.mark.parametrize("target, host, status", [
    ("http://localhost:PORT/v1/keys", "localhost:PORT", 200),
    ("http://localhost:PORT/v1/keys", "evil.example", 400),
    ("http://evil.example/v1/keys", "localhost:PORT", 400),
    ("http://evil.example/v1/keys", "evil.example", 403),
    ("http://localhost:1/v1/keys", "localhost:2", 400),
])
def test_targets_agree_with_host(open_server, target, host, status):
    client = Client(open_server)
    assert client("GET", target.replace("PORT", client.port), host)[0] == status


def test_with_signatures_names_do_not_matter(start_slipway):
    """A load balancer may have any name: the signature covers Host. Pages are refused, signed or not."""
    server = start_slipway("--runtime", "none")
    client = Client(server)
    status, text = client("GET", "/v1/keys", "slipway.example.com")
    assert status == 403 and "MissingAuthenticationToken" in text
    for page in PAGES:
        assert is_refused(client("GET", "/v1/keys", "slipway.example.com", page)), page
    for method, path in UNSIGNED:
        assert is_refused(client(method, path, "slipway.example.com")), path
    boto = server.boto()

    def rename(request, **_):
        request.headers["Host"] = "slipway.example.com"

    boto.meta.events.register("before-sign.ecs", rename)
    assert boto.list_clusters()["clusterArns"] == []
    # A page that was refused is in the audit log.
    with open(os.path.join(server.state, "audit.log"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert [(line["operation"], line["user"], line["result"]) for line in lines] == [
        ("slipway:ListKeys", "", "MissingAuthenticationTokenException"),
        *[("slipway:ListKeys", "", "AccessDeniedException")] * len(PAGES)]


def test_metrics_can_be_restricted(start_slipway, tmp_path):
    token = tmp_path / "token"
    token.write_text("open-sesame\n")
    config = tmp_path / "slipway.yaml"
    config.write_text(f"metrics:\n  access: loopback\n  tokenFile: {token}\n")
    server = start_slipway("--config", config, "--runtime", "none")
    assert server.get("/metrics").status == 403
    assert server.get("/metrics", {"Authorization": "Bearer open"}).status == 403
    assert server.get("/metrics", {"Authorization": "Basic open-sesame"}).status == 403
    assert "slipway_info" in server.get("/metrics", {"Authorization": "Bearer open-sesame"}).text
    token.write_text("another")
    assert server.get("/metrics", {"Authorization": "Bearer open-sesame"}).status == 403
    assert server.get("/metrics", {"Authorization": "Bearer another"}).status == 200
    token.unlink()
    assert server.get("/metrics", {"Authorization": "Bearer another"}).status == 403
    server.stop()
    config.write_text("metrics:\n  access: none\n")
    assert start_slipway("--config", config, "--runtime", "none").get("/metrics").status == 403
