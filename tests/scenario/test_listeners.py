"""Listeners, rules, actions, conditions, certificates and security policies: every operation by boto3 and by
awscli, good and bad. What Debian's clients do not know yet is in sdk/listeners.mjs."""
import os
import re
import socket
import ssl

import pytest

from balancing import NETWORK, free_port, resolve, traffic
from conftest import DEADLINE, REGION, Servers, wait_until
from ecs_requests import ACCOUNT, refused
from elb_requests import write_certificate

NOWHERE = f"arn:aws:elasticloadbalancing:{REGION}:{ACCOUNT}"
NO_BALANCER = f"{NOWHERE}:loadbalancer/app/absent/0123456789abcdef"
NO_GROUP = f"{NOWHERE}:targetgroup/absent/0123456789abcdef"
NO_LISTENER = f"{NOWHERE}:listener/app/absent/0123456789abcdef/0123456789abcdef"
NO_RULE = f"{NOWHERE}:listener-rule/app/absent/0123456789abcdef/0123456789abcdef/0123456789abcdef"
DEFAULT_POLICY = "ELBSecurityPolicy-TLS13-1-2-Res-2021-06"
FIXED = [{"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "200"}}]
PATH = [{"Field": "path-pattern", "Values": ["/x"]}]


def certificate(name):
    return f"arn:aws:acm:{REGION}:{ACCOUNT}:certificate/{name}"


@pytest.fixture(name="slipway", scope="module")
def start(tmp_path_factory, request):
    """One server for all tests of the module, with a folder of certificates."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("first", "second", "third"):
        write_certificate(folder, name)
    (folder / "broken.pem").write_text("-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n")
    servers = Servers(["--runtime", "none", "--balancers", NETWORK, "--certificates", str(folder)])
    request.addfinalizer(servers.end)
    return servers.start()


@pytest.fixture(name="elb", scope="module")
def make_client(slipway):
    return slipway.boto("elbv2", parameter_validation=False)  # the server must say no, not boto3


class World:
    """A load balancer of each type, groups, and what tests make with them."""

    def __init__(self, server, elb):
        self.elb = elb
        self.ports = set()
        self.app = self.balancer("app", "application")
        self.net = self.balancer("net", "network")
        self.web = self.group("web", "HTTP")
        self.web2 = self.group("web2", "HTTP")
        self.tcp = self.group("tcp", "TCP")
        self.tcp2 = self.group("tcp2", "TCP")
        self.udp = self.group("udp", "UDP")
        self.addresses = {
            one["LoadBalancerArn"]: resolve(server, one["DNSName"])
            for one in elb.describe_load_balancers()["LoadBalancers"]}

    def balancer(self, name, kind):
        return self.elb.create_load_balancer(Name=name, Type=kind)["LoadBalancers"][0][
            "LoadBalancerArn"]

    def group(self, name, protocol):
        return self.elb.create_target_group(
            Name=name, Protocol=protocol, Port=80, TargetType="ip")["TargetGroups"][0][
                "TargetGroupArn"]

    def port(self, balancer=None):
        """A free one that was not given before: it may be that of a listener that is not open yet."""
        while True:
            port = free_port(self.addresses[balancer or self.app])
            if port not in self.ports:
                self.ports.add(port)
                return port

    def listener(self, **settings):
        """A listener of HTTP that answers by itself, or what the settings say."""
        settings = {"LoadBalancerArn": self.app, "Protocol": "HTTP", "DefaultActions": FIXED,
                    **settings}
        settings.setdefault("Port", self.port(settings["LoadBalancerArn"]))
        return self.elb.create_listener(**settings)["Listeners"][0]

    def network_listener(self, **settings):
        return self.listener(**{"LoadBalancerArn": self.net, "Protocol": "TCP",
                                "DefaultActions": forward(self.tcp), **settings})

    def rule(self, listener, priority, **settings):
        return self.elb.create_rule(
            **{"ListenerArn": listener["ListenerArn"], "Priority": priority, "Conditions": PATH,
               "Actions": FIXED, **settings})["Rules"][0]


@pytest.fixture(name="world", scope="module")
def make_world(slipway, elb):
    return World(slipway, elb)


def forward(group):
    return [{"Type": "forward", "TargetGroupArn": group}]


def shown_forward(*weights, sticky=None):
    """A forward action as it is answered."""
    action = {"Type": "forward", "ForwardConfig": {
        "TargetGroups": [{"TargetGroupArn": group, "Weight": weight} for group, weight in weights],
        "TargetGroupStickinessConfig": sticky or {"Enabled": False}}}
    if len(weights) == 1:
        action["TargetGroupArn"] = weights[0][0]
    return [action]


def shown(elb, listener):
    return elb.describe_listeners(ListenerArns=[listener["ListenerArn"]])["Listeners"][0]


def rules_of(elb, listener, **settings):
    return elb.describe_rules(ListenerArn=listener["ListenerArn"], **settings)


# ---- listeners ----

def test_everything_given_comes_back(elb, world):
    port = world.port()
    made = world.listener(
        Protocol="HTTPS", Port=port, SslPolicy="ELBSecurityPolicy-TLS13-1-3-2021-06",
        Certificates=[{"CertificateArn": certificate("first")}], DefaultActions=forward(world.web),
        Tags=[{"Key": "team", "Value": "a"}])
    assert re.fullmatch(world.app.replace(":loadbalancer/", ":listener/") + "/[0-9a-f]{16}",
                        made["ListenerArn"])
    assert made == {
        "ListenerArn": made["ListenerArn"], "LoadBalancerArn": world.app, "Port": port,
        "Protocol": "HTTPS", "SslPolicy": "ELBSecurityPolicy-TLS13-1-3-2021-06",
        "Certificates": [{"CertificateArn": certificate("first")}],
        "DefaultActions": shown_forward((world.web, 1)), **mutual(made)}
    assert shown(elb, made) == made
    tags = elb.describe_tags(ResourceArns=[made["ListenerArn"]])["TagDescriptions"][0]["Tags"]
    assert tags == [{"Key": "team", "Value": "a"}]
    # Without TLS there is nothing of it; back with it, the default policy.
    changed = elb.modify_listener(ListenerArn=made["ListenerArn"], Protocol="HTTP")["Listeners"][0]
    assert changed == {name: made[name] for name in
                       ("ListenerArn", "LoadBalancerArn", "Port", "DefaultActions")} | {
                           "Protocol": "HTTP"}
    changed = elb.modify_listener(
        ListenerArn=made["ListenerArn"], Protocol="HTTPS",
        Certificates=[{"CertificateArn": certificate("second")}])["Listeners"][0]
    assert changed["SslPolicy"] == DEFAULT_POLICY
    assert changed["Certificates"] == [{"CertificateArn": certificate("second")}]
    elb.delete_listener(ListenerArn=made["ListenerArn"])
    refused(elb.describe_listeners, "ListenerNotFound", made["ListenerArn"],
            ListenerArns=[made["ListenerArn"]])


def mutual(listener):
    """Clients that know mutual authentication read that it is off."""
    return {name: {"Mode": "off"} for name in listener if name == "MutualAuthentication"}


@pytest.mark.parametrize("code, part, settings", [
    ("LoadBalancerNotFound", "absent", {"LoadBalancerArn": NO_BALANCER}),
    ("ValidationError", "'port'", {"Port": 65536}),
    ("MalformedInput", "Port", {"Port": "http"}),
    ("ValidationError", "'HTTPS, HTTP'", {"Protocol": "TCP"}),
    ("ValidationError", "GENEVE", {"Protocol": "GENEVE"}),
    ("ValidationError", "'protocol'", {"Protocol": "SPDY"}),
    ("ValidationError", "certificate", {"Protocol": "HTTPS"}),
    ("CertificateNotFound", "absent", {
        "Protocol": "HTTPS", "Certificates": [{"CertificateArn": certificate("absent")}]}),
    ("CertificateNotFound", "broken", {
        "Protocol": "HTTPS", "Certificates": [{"CertificateArn": certificate("broken")}]}),
    ("CertificateNotFound", "must be 1 to 128", {
        "Protocol": "HTTPS", "Certificates": [{"CertificateArn": certificate("../first")}]}),
    ("SSLPolicyNotFound", "FIPS 140", {
        "Protocol": "HTTPS", "Certificates": [{"CertificateArn": certificate("first")}],
        "SslPolicy": "ELBSecurityPolicy-TLS13-1-2-FIPS-2023-04"}),
    ("ALPNPolicyNotFound", "TLS", {
        "Protocol": "HTTPS", "Certificates": [{"CertificateArn": certificate("first")}],
        "AlpnPolicy": ["HTTP2Preferred"]}),
    ("TargetGroupNotFound", "absent", {"DefaultActions": forward(NO_GROUP)}),
    ("InvalidLoadBalancerAction", "authenticate-oidc", {"DefaultActions": [
        {"Type": "authenticate-oidc", "AuthenticateOidcConfig": {
            "Issuer": "https://a", "AuthorizationEndpoint": "https://b", "TokenEndpoint": "https://c",
            "UserInfoEndpoint": "https://d", "ClientId": "e"}}, *FIXED]}),
    ("InvalidLoadBalancerAction", "lead to itself", {"DefaultActions": [
        {"Type": "redirect", "RedirectConfig": {"StatusCode": "HTTP_301"}}]}),
    ("ValidationError", "fixedResponseConfig.statusCode", {"DefaultActions": [
        {"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "302"}}]}),
    ("TooManyActions", "exactly one", {"DefaultActions": FIXED + FIXED}),
])
def test_what_is_refused_leaves_nothing_behind(elb, world, code, part, settings):
    before = elb.describe_listeners(LoadBalancerArn=world.app)["Listeners"]
    refused(elb.create_listener, code, part, **{
        "LoadBalancerArn": world.app, "Protocol": "HTTP", "Port": world.port(),
        "DefaultActions": FIXED, **settings})
    assert elb.describe_listeners(LoadBalancerArn=world.app)["Listeners"] == before


def test_a_port_is_there_once(elb, world):
    made, beside = world.listener(), world.listener()
    refused(elb.create_listener, "DuplicateListener", str(made["Port"]), LoadBalancerArn=world.app,
            Protocol="HTTP", Port=made["Port"], DefaultActions=forward(world.web))
    # The same once more is the same one.
    assert world.listener(Port=made["Port"]) == made
    refused(elb.modify_listener, "DuplicateListener", str(made["Port"]),
            ListenerArn=beside["ListenerArn"], Port=made["Port"])
    for listener in (made, beside):
        elb.delete_listener(ListenerArn=listener["ListenerArn"])


@pytest.mark.parametrize("protocol, kind", [("TCP", socket.SOCK_STREAM), ("UDP", socket.SOCK_DGRAM)])
def test_a_port_in_use_is_refused_and_named(elb, world, protocol, kind):
    groups = {"TCP": world.tcp, "UDP": world.udp}
    with socket.socket(socket.AF_INET, kind) as taken:
        taken.bind((world.addresses[world.net], 0))
        if kind == socket.SOCK_STREAM:
            taken.listen(1)
        address, port = taken.getsockname()
        settings = {"LoadBalancerArn": world.net, "Protocol": protocol, "Port": port,
                    "DefaultActions": forward(groups[protocol])}
        refused(elb.create_listener, "InvalidConfigurationRequest", f"{protocol} {address}:{port}",
                f"process {os.getpid()} (", **settings)
        made = world.network_listener()
        if protocol == "TCP":
            refused(elb.modify_listener, "InvalidConfigurationRequest", f"{address}:{port}",
                    ListenerArn=made["ListenerArn"], Port=port)
        elb.delete_listener(ListenerArn=made["ListenerArn"])
    made = elb.create_listener(**settings)["Listeners"][0]
    elb.delete_listener(ListenerArn=made["ListenerArn"])


@pytest.mark.parametrize("kind", ["listener", "network_listener"])
def test_a_port_is_free_again_at_once(elb, world, kind):
    """However long the data plane needs to let go of it."""
    make = getattr(world, kind)
    made = make()
    for _ in range(20):
        elb.delete_listener(ListenerArn=made["ListenerArn"])
        made = make(Port=made["Port"])
    elb.delete_listener(ListenerArn=made["ListenerArn"])


def test_listeners_in_pages(elb, world):
    made = {world.network_listener()["ListenerArn"] for _ in range(5)}
    pages = list(elb.get_paginator("describe_listeners").paginate(
        LoadBalancerArn=world.net, PaginationConfig={"PageSize": 2}))
    assert [len(page["Listeners"]) for page in pages] == [2, 2, 1]
    assert {one["ListenerArn"] for page in pages for one in page["Listeners"]} == made
    refused(elb.describe_listeners, "ValidationError", "Marker", LoadBalancerArn=world.net,
            Marker="made-up")
    refused(elb.describe_listeners, "ValidationError", "either")
    refused(elb.describe_listeners, "LoadBalancerNotFound", "absent", LoadBalancerArn=NO_BALANCER)
    refused(elb.delete_listener, "ListenerNotFound", "absent", ListenerArn=NO_LISTENER)
    refused(elb.modify_listener, "ListenerNotFound", "absent", ListenerArn=NO_LISTENER)
    for arn in made:
        elb.delete_listener(ListenerArn=arn)


def test_network_load_balancers_only_forward(elb, world):
    made = world.network_listener(DefaultActions=[{"Type": "forward", "ForwardConfig": {
        "TargetGroups": [{"TargetGroupArn": world.tcp, "Weight": 999},
                         {"TargetGroupArn": world.tcp2, "Weight": 0}]}}])
    assert made["DefaultActions"] == shown_forward((world.tcp, 999), (world.tcp2, 0))
    refused(elb.modify_listener, "InvalidLoadBalancerAction", "forward",
            ListenerArn=made["ListenerArn"], DefaultActions=FIXED)
    refused(elb.modify_listener, "IncompatibleProtocols", "HTTP",
            ListenerArn=made["ListenerArn"], DefaultActions=forward(world.web2))
    refused(elb.create_rule, "UnsupportedProtocol", "no rules", ListenerArn=made["ListenerArn"],
            Priority=1, Conditions=PATH, Actions=forward(world.tcp))
    elb.delete_listener(ListenerArn=made["ListenerArn"])


def test_a_group_belongs_to_one_load_balancer(elb, world):
    other = world.balancer("other", "application")
    made = world.listener(DefaultActions=forward(world.web2))
    refused(elb.create_listener, "TargetGroupAssociationLimit", "'app'", LoadBalancerArn=other,
            Protocol="HTTP", Port=world.port(), DefaultActions=forward(world.web2))
    refused(elb.delete_target_group, "ResourceInUse", TargetGroupArn=world.web2)
    elb.delete_listener(ListenerArn=made["ListenerArn"])
    made = elb.create_listener(LoadBalancerArn=other, Protocol="HTTP", Port=world.port(),
                               DefaultActions=forward(world.web2))["Listeners"][0]
    assert elb.describe_target_groups(TargetGroupArns=[world.web2])["TargetGroups"][0][
        "LoadBalancerArns"] == [other]
    elb.delete_load_balancer(LoadBalancerArn=other)
    refused(elb.describe_listeners, "ListenerNotFound", ListenerArns=[made["ListenerArn"]])


def test_listeners_by_the_command_line(slipway, world):
    def aws(*args, **options):
        return slipway.aws("elbv2", *args, **options)

    port = str(world.port())
    made = aws("create-listener", "--load-balancer-arn", world.app, "--protocol", "HTTP", "--port",
               port, "--default-actions",
               "Type=redirect,RedirectConfig={Protocol=HTTPS,Port=443,StatusCode=HTTP_301}"
               ).json["Listeners"][0]
    assert made["DefaultActions"] == [{"Type": "redirect", "Order": 1, "RedirectConfig": {
        "Protocol": "HTTPS", "Port": "443", "Host": "#{host}", "Path": "/#{path}",
        "Query": "#{query}", "StatusCode": "HTTP_301"}}]
    arn = made["ListenerArn"]
    changed = aws("modify-listener", "--listener-arn", arn, "--default-actions",
                  f"Type=forward,TargetGroupArn={world.web}").json["Listeners"][0]
    assert changed["DefaultActions"] == shown_forward((world.web, 1))
    rule = aws("create-rule", "--listener-arn", arn, "--priority", "5", "--conditions",
               "Field=host-header,Values=*.example.com", "--actions",
               f"Type=forward,TargetGroupArn={world.web}").json["Rules"][0]
    cli_refused(slipway, "PriorityInUse", "'5'", "create-rule", "--listener-arn", arn, "--priority",
                "5", "--conditions", "Field=path-pattern,Values=/x", "--actions",
                f"Type=forward,TargetGroupArn={world.web}")
    changed = aws("set-rule-priorities", "--rule-priorities",
                  f"RuleArn={rule['RuleArn']},Priority=6").json["Rules"]
    assert changed == [{**rule, "Priority": "6"}]
    listed = aws("describe-rules", "--listener-arn", arn).json["Rules"]
    assert [one["Priority"] for one in listed] == ["6", "default"]
    cli_refused(slipway, "OperationNotPermitted", "default rule", "delete-rule", "--rule-arn",
                listed[1]["RuleArn"])
    aws("delete-listener", "--listener-arn", arn)
    cli_refused(slipway, "ListenerNotFound", arn, "delete-listener", "--listener-arn", arn)


def cli_refused(server, code, part, *args):
    result = server.aws("elbv2", *args, check=False)
    match = re.search(r"An error occurred \((\w+)\) when calling the \w+ operation"
                      r"(?: \(reached max retries: 0\))?: (.*)",
                      result.stderr, re.DOTALL)
    assert match, (args, result.stdout, result.stderr)
    assert match.group(1) == code and part in match.group(2), result.stderr


# ---- rules ----

@pytest.mark.parametrize("given, answered", [
    ({"Field": "host-header", "HostHeaderConfig": {"Values": ["a.example", "*.b.example"]}},
     {"Values": ["a.example", "*.b.example"],
      "HostHeaderConfig": {"Values": ["a.example", "*.b.example"]}}),
    ({"Field": "host-header", "HostHeaderConfig": {"Values": ["a.example"]}},
     {"Values": ["a.example"], "HostHeaderConfig": {"Values": ["a.example"]}}),
    ({"Field": "path-pattern", "Values": ["/img/*?.png"]},
     {"Values": ["/img/*?.png"], "PathPatternConfig": {"Values": ["/img/*?.png"]}}),
    ({"Field": "http-header",
      "HttpHeaderConfig": {"HttpHeaderName": "User-Agent", "Values": ["*Chrome*", "a b"]}}, {}),
    ({"Field": "http-request-method", "HttpRequestMethodConfig": {"Values": ["GET", "PURGE"]}}, {}),
    ({"Field": "query-string", "QueryStringConfig": {
        "Values": [{"Key": "version", "Value": "v1*"}, {"Value": "x&<y>"}]}}, {}),
    ({"Field": "source-ip", "SourceIpConfig": {"Values": ["192.0.2.0/24", "2001:db8::/32"]}}, {}),
])
def test_conditions_and_how_they_are_answered(elb, world, given, answered):
    listener = world.listener()
    rule = world.rule(listener, 1, Conditions=[given])
    assert rule["Conditions"] == [{**given, **answered}]
    assert rules_of(elb, listener)["Rules"][0] == rule
    # An answer can be sent back as a request.
    assert elb.modify_rule(RuleArn=rule["RuleArn"], Conditions=rule["Conditions"],
                           Actions=rule["Actions"])["Rules"] == [rule]
    elb.delete_listener(ListenerArn=listener["ListenerArn"])


def test_rules_from_the_first_to_the_last(elb, world):
    listener = world.listener()
    sticky = {"Enabled": True, "DurationSeconds": 60}
    rule = world.rule(listener, 50000, Tags=[{"Key": "a", "Value": "b"}], Actions=[
        {"Type": "forward", "ForwardConfig": {
            "TargetGroups": [{"TargetGroupArn": world.web, "Weight": 10},
                             {"TargetGroupArn": world.web2, "Weight": 90}],
            "TargetGroupStickinessConfig": sticky}}])
    assert re.fullmatch(listener["ListenerArn"].replace(":listener/", ":listener-rule/")
                        + "/[0-9a-f]{16}", rule["RuleArn"])
    assert rule == {
        "RuleArn": rule["RuleArn"], "Priority": "50000", "IsDefault": False,
        "Conditions": [{**PATH[0], "PathPatternConfig": {"Values": ["/x"]}}],
        "Actions": shown_forward((world.web, 10), (world.web2, 90), sticky=sticky)}
    for priority in (30, 10, 20):
        world.rule(listener, priority)
    pages = list(elb.get_paginator("describe_rules").paginate(
        ListenerArn=listener["ListenerArn"], PaginationConfig={"PageSize": 2}))
    listed = [one for page in pages for one in page["Rules"]]
    assert [one["Priority"] for one in listed] == ["10", "20", "30", "50000", "default"]
    default = listed[-1]
    assert default["IsDefault"] and default["Conditions"] == []
    assert default["Actions"] == listener["DefaultActions"]
    assert elb.describe_rules(RuleArns=[default["RuleArn"], rule["RuleArn"]])["Rules"] == [
        default, rule]
    # Two that change places, all or nothing.
    first, second, third = (one["RuleArn"] for one in listed[:3])
    refused(elb.set_rule_priorities, "PriorityInUse", "'30'", RulePriorities=[
        {"RuleArn": first, "Priority": 40}, {"RuleArn": second, "Priority": 30}])
    elb.set_rule_priorities(RulePriorities=[
        {"RuleArn": first, "Priority": 20}, {"RuleArn": second, "Priority": 10}])
    assert [one["RuleArn"] for one in rules_of(elb, listener)["Rules"]][:3] == [
        second, first, third]
    refused(elb.delete_rule, "OperationNotPermitted", "default", RuleArn=default["RuleArn"])
    refused(elb.modify_rule, "OperationNotPermitted", "default", RuleArn=default["RuleArn"],
            Actions=FIXED)
    elb.delete_rule(RuleArn=first)
    refused(elb.describe_rules, "RuleNotFound", first, RuleArns=[first])
    elb.delete_listener(ListenerArn=listener["ListenerArn"])
    refused(elb.describe_rules, "RuleNotFound", third, RuleArns=[third])


@pytest.mark.parametrize("code, part, settings", [
    ("ListenerNotFound", "absent", {"ListenerArn": NO_LISTENER}),
    ("PriorityInUse", "'7'", {"Priority": 7}),
    ("ValidationError", "'priority'", {"Priority": 0}),
    ("ValidationError", "'priority'", {"Priority": 50001}),
    ("ValidationError", "at least one", {"Conditions": []}),
    ("ValidationError", "one of", {"Conditions": [{"Field": "cookie", "Values": ["a"]}]}),
    ("ValidationError", "at most 5", {"Conditions": [
        {"Field": "path-pattern", "PathPatternConfig": {"Values": ["/1", "/2", "/3", "/4", "/5", "/6"]}}]}),
    ("ValidationError", "at most 6", {"Conditions": [
        {"Field": "path-pattern", "Values": ["/*******"]}]}),
    ("ValidationError", "block of addresses", {"Conditions": [
        {"Field": "source-ip", "SourceIpConfig": {"Values": ["192.0.2.1"]}}]}),
    ("TargetGroupNotFound", "absent", {"Actions": forward(NO_GROUP)}),
    ("ValidationError", ".weight'", {"Actions": [{"Type": "forward", "ForwardConfig": {
        "TargetGroups": [{"TargetGroupArn": NO_GROUP, "Weight": 1000}]}}]}),
    ("InvalidLoadBalancerAction", "exactly one", {"Actions": []}),
    ("ValidationError", ".messageBody'", {"Actions": [{"Type": "fixed-response", "FixedResponseConfig": {
        "StatusCode": "200", "MessageBody": "x" * 1025}}]}),
])
def test_rules_that_are_refused(elb, world, code, part, settings):
    listener = world.listener()
    world.rule(listener, 7)
    refused(elb.create_rule, code, part, **{
        "ListenerArn": listener["ListenerArn"], "Priority": 1, "Conditions": PATH,
        "Actions": FIXED, **settings})
    assert [one["Priority"] for one in rules_of(elb, listener)["Rules"]] == ["7", "default"]
    elb.delete_listener(ListenerArn=listener["ListenerArn"])


def test_rules_that_are_not_there(elb):
    refused(elb.describe_rules, "RuleNotFound", "absent", RuleArns=[NO_RULE])
    refused(elb.describe_rules, "ListenerNotFound", "absent", ListenerArn=NO_LISTENER)
    refused(elb.describe_rules, "ValidationError", "either")
    refused(elb.modify_rule, "RuleNotFound", "absent", RuleArn=NO_RULE, Actions=FIXED)
    refused(elb.delete_rule, "RuleNotFound", "absent", RuleArn=NO_RULE)
    refused(elb.set_rule_priorities, "RuleNotFound", "absent",
            RulePriorities=[{"RuleArn": NO_RULE, "Priority": 1}])


# ---- certificates ----

def test_certificates_of_a_listener(elb, world):
    made = world.listener(Protocol="HTTPS", Certificates=[{"CertificateArn": certificate("first")}])
    named = {"ListenerArn": made["ListenerArn"]}
    assert made["SslPolicy"] == DEFAULT_POLICY

    def listed():
        pages = elb.get_paginator("describe_listener_certificates").paginate(
            **named, PaginationConfig={"PageSize": 1})
        return [(one["CertificateArn"].split("/")[1], one["IsDefault"])
                for page in pages for one in page["Certificates"]]

    assert listed() == [("first", True)]
    added = elb.add_listener_certificates(**named, Certificates=[
        {"CertificateArn": certificate("second")},
        {"CertificateArn": f"arn:aws:iam::{ACCOUNT}:server-certificate/third"}])["Certificates"]
    assert [one["IsDefault"] for one in added] == [False, False]
    elb.add_listener_certificates(**named, Certificates=[{"CertificateArn": certificate("second")}])
    assert listed() == [("first", True), ("second", False), ("third", False)]
    # Only the default one is shown with the listener.
    assert shown(elb, made)["Certificates"] == [{"CertificateArn": certificate("first")}]
    refused(elb.add_listener_certificates, "CertificateNotFound", "absent", **named,
            Certificates=[{"CertificateArn": certificate("absent")}])
    refused(elb.remove_listener_certificates, "OperationNotPermitted", "default", **named,
            Certificates=[{"CertificateArn": certificate("first")}])
    elb.remove_listener_certificates(**named, Certificates=[
        {"CertificateArn": certificate("second")}, {"CertificateArn": certificate("absent")}])
    assert listed() == [("first", True), ("third", False)]
    elb.modify_listener(**named, Certificates=[{"CertificateArn": certificate("second")}])
    assert listed() == [("second", True), ("third", False)]
    refused(elb.modify_listener, "ValidationError", "exactly one", **named, Certificates=[
        {"CertificateArn": certificate("first")}, {"CertificateArn": certificate("second")}])
    plain = world.listener()
    refused(elb.add_listener_certificates, "ValidationError", "HTTPS and TLS",
            ListenerArn=plain["ListenerArn"],
            Certificates=[{"CertificateArn": certificate("second")}])
    for call in (elb.add_listener_certificates, elb.remove_listener_certificates):
        refused(call, "ListenerNotFound", "absent", ListenerArn=NO_LISTENER,
                Certificates=[{"CertificateArn": certificate("second")}])
    refused(elb.describe_listener_certificates, "ListenerNotFound", "absent",
            ListenerArn=NO_LISTENER)
    for listener in (made, plain):
        elb.delete_listener(ListenerArn=listener["ListenerArn"])


def test_security_policies(elb):
    policies = {one["Name"]: one for one in elb.describe_ssl_policies()["SslPolicies"]}
    assert policies[DEFAULT_POLICY]["SslProtocols"] == ["TLSv1.2", "TLSv1.3"]
    strict = policies["ELBSecurityPolicy-TLS13-1-3-2021-06"]
    assert strict["SslProtocols"] == ["TLSv1.3"]
    assert all(cipher["Name"].startswith("TLS_") for cipher in strict["Ciphers"])
    assert elb.describe_ssl_policies(Names=[strict["Name"]])["SslPolicies"] == [strict]
    old = policies["ELBSecurityPolicy-2016-08"]
    assert old["SslProtocols"] == ["TLSv1", "TLSv1.1", "TLSv1.2"]
    assert [cipher["Priority"] for cipher in old["Ciphers"]] == list(range(1, 19))
    assert policies["ELBSecurityPolicy-2015-05"]["Ciphers"] == old["Ciphers"]
    assert len(policies) == 18
    refused(elb.describe_ssl_policies, "SSLPolicyNotFound", "post-quantum",
            Names=["ELBSecurityPolicy-TLS13-1-2-Res-PQ-2025-09"])


def shake_hands(address, port, version, ciphers=None):
    """(version, cipher) of a connection with exactly this version of TLS; None if there is none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    if ciphers:
        context.set_ciphers(ciphers)
    with socket.create_connection((address, port), timeout=DEADLINE) as connection:
        try:
            with context.wrap_socket(connection) as secure:
                return secure.version(), secure.cipher()[0]
        except (ssl.SSLError, ConnectionError):
            return None


def test_policies_are_kept_to_the_letter(slipway, elb, world):
    """A listener speaks the protocols and ciphers of its policy, and no others."""
    address = world.addresses[world.app]
    settings = {"Protocol": "HTTPS", "Certificates": [{"CertificateArn": certificate("first")}]}
    usual = world.listener(**settings)
    strict = world.listener(**settings, SslPolicy="ELBSecurityPolicy-TLS13-1-3-2021-06")
    old = world.listener(**settings, SslPolicy="ELBSecurityPolicy-2016-08")
    middle = world.listener(**settings, SslPolicy="ELBSecurityPolicy-FS-1-1-2019-08")
    wait_until(lambda: traffic(slipway)["settled"], "the listeners are open")
    policies = {one["Name"]: one for one in elb.describe_ssl_policies()["SslPolicies"]}
    named = {cipher["Name"] for cipher in policies[DEFAULT_POLICY]["Ciphers"]}
    # The certificate has an elliptic curve: those for RSA cannot be agreed on.
    for cipher in named:
        if cipher.startswith("ECDHE-ECDSA-"):
            assert shake_hands(address, usual["Port"], ssl.TLSVersion.TLSv1_2, cipher) == (
                "TLSv1.2", cipher)
    for cipher in ("ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"):
        assert cipher not in named
        assert shake_hands(address, usual["Port"], ssl.TLSVersion.TLSv1_2, cipher) is None
    for listener, policy in ((usual, DEFAULT_POLICY), (strict, strict["SslPolicy"])):
        version, cipher = shake_hands(address, listener["Port"], ssl.TLSVersion.TLSv1_3)
        assert version == "TLSv1.3"
        assert cipher in {one["Name"] for one in policies[policy]["Ciphers"]}
    assert shake_hands(address, strict["Port"], ssl.TLSVersion.TLSv1_2) is None
    for listener, most in ((old, ssl.TLSVersion.TLSv1), (middle, ssl.TLSVersion.TLSv1_1)):
        for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2):
            agreed = shake_hands(address, listener["Port"], version, "ALL:@SECLEVEL=0")
            assert (agreed is not None) == (version >= most), (listener["SslPolicy"], version)
        assert shake_hands(address, listener["Port"], ssl.TLSVersion.TLSv1_3) is None
        assert shake_hands(address, listener["Port"], ssl.TLSVersion.TLSv1_2, "ECDHE-ECDSA-AES128-SHA")
    for listener in (usual, strict, old, middle):
        elb.delete_listener(ListenerArn=listener["ListenerArn"])


def test_listeners_survive_a_restart(start_slipway):
    server = start_slipway("--runtime", "none", "--balancers", NETWORK)
    world = World(server, server.boto("elbv2"))
    made = world.network_listener()
    listener = world.listener()
    rules = [world.rule(listener, 2), world.rule(listener, 1)]
    server.kill()
    elb = start_slipway("--runtime", "none", "--balancers", NETWORK, state=server.state).boto("elbv2")
    assert elb.describe_listeners(LoadBalancerArn=world.net)["Listeners"] == [made]
    assert rules_of(elb, listener)["Rules"][:2] == rules[::-1]
