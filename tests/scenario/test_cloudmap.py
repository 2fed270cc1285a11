"""Cloud Map over the wire, with boto3 and the aws command: every operation, good input and bad. Names are
asked for in test_names.py, and so is DiscoverInstances with the aws command, which puts "data-" before the
host whatever one says."""
import threading

import pytest

from aws_shell import AwsShell
from cloudmap_requests import (A_RECORD, ACCOUNT, OPERATIONS, all_pages, arn, client, make_http,
                               make_service, make_zone, send, target_of)
from conftest import wait_until
from ecs_requests import refused

SERVER_ARGUMENTS = ["--runtime", "none"]
IPV4 = {"AWS_INSTANCE_IPV4": "192.0.2.1"}


@pytest.fixture(name="boto", scope="module")
def boto_client(slipway):
    return client(slipway)


def text(length):
    return "x" * length


# ---- namespaces ----

def test_a_private_namespace_is_made_shown_changed_and_deleted(boto):
    answer = boto.create_private_dns_namespace(
        Name="Shop.Test", Vpc="vpc-42", Description="a shop", CreatorRequestId="shop-1",
        Properties={"DnsProperties": {"SOA": {"TTL": 7}}}, Tags=[{"Key": "team", "Value": "a"}])
    namespace = target_of(boto, answer)
    assert namespace.startswith("ns-") and len(namespace) == 19
    shown = boto.get_namespace(Id=namespace)["Namespace"]
    created = shown.pop("CreateDate")
    zone = shown["Properties"]["DnsProperties"].pop("HostedZoneId")
    assert created.timestamp() > 1.7e9 and zone.startswith("Z")
    assert shown == {
        "Id": namespace, "Arn": arn(f"namespace/{namespace}"), "Name": "Shop.Test",
        "Type": "DNS_PRIVATE", "Description": "a shop", "ServiceCount": 0,
        "CreatorRequestId": "shop-1", "Properties": {
            "DnsProperties": {"SOA": {"TTL": 7}}, "HttpProperties": {"HttpName": "Shop.Test"}}}
    operation = boto.update_private_dns_namespace(Id=namespace, Namespace={
        "Description": "", "Properties": {"DnsProperties": {"SOA": {"TTL": 9}}}})
    assert target_of(boto, operation) == namespace
    shown = boto.get_namespace(Id=namespace)["Namespace"]
    assert (shown["Description"], shown["Properties"]["DnsProperties"]) == (
        "", {"HostedZoneId": zone, "SOA": {"TTL": 9}})
    boto.update_private_dns_namespace(Id=namespace, Namespace={"Description": "new"})
    shown = boto.get_namespace(Id=namespace)["Namespace"]
    assert (shown["Description"], shown["Properties"]["DnsProperties"]["SOA"]) == (
        "new", {"TTL": 9})
    assert target_of(boto, boto.delete_namespace(Id=namespace)) == namespace
    refused(boto.get_namespace, "NamespaceNotFound", namespace, Id=namespace)


def test_an_http_namespace(boto):
    namespace = make_http(boto, "Http~/Name!", Description="d")
    shown = boto.get_namespace(Id=namespace)["Namespace"]
    assert shown["Type"] == "HTTP"
    assert shown["Properties"] == {"DnsProperties": {}, "HttpProperties": {"HttpName": "Http~/Name!"}}
    boto.update_http_namespace(Id=namespace, Namespace={"Description": "e"})
    assert boto.get_namespace(Id=namespace)["Namespace"]["Description"] == "e"
    refused(boto.update_private_dns_namespace, "InvalidInput", "type HTTP",
            Id=namespace, Namespace={"Description": "x"})
    boto.delete_namespace(Id=namespace)


def test_a_name_is_taken_once_in_an_account_and_region(slipway, boto):
    first = make_zone(boto, "once.test", CreatorRequestId="first")
    for create, members in [(boto.create_private_dns_namespace, {"Vpc": "v"}),
                            (boto.create_http_namespace, {})]:
        for name in ["once.test", "ONCE.test"]:
            with pytest.raises(boto.exceptions.NamespaceAlreadyExists) as caught:
                create(Name=name, **members)
            response = caught.value.response
            assert (response["NamespaceId"], response["CreatorRequestId"]) == (first, "first")
            assert first in response["Error"]["Message"]
    assert make_zone(client(slipway, region="eu-west-1"), "once.test") != first
    boto.delete_namespace(Id=first)
    assert make_http(boto, "once.test") != first


def test_the_same_request_is_answered_again_and_its_id_serves_one_namespace(boto):
    first = boto.create_http_namespace(Name="again", CreatorRequestId="again-1")
    again = boto.create_http_namespace(Name="again", CreatorRequestId="again-1")
    assert again["OperationId"] == first["OperationId"]
    with pytest.raises(boto.exceptions.DuplicateRequest) as caught:
        boto.create_http_namespace(Name="another", CreatorRequestId="again-1")
    assert caught.value.response["DuplicateOperationId"] == first["OperationId"]


def test_bad_namespaces(boto):
    for name in ["", ".", "a..b", "a b", "a/b", text(64) + ".x", "x.", "größe"]:
        refused(boto.create_private_dns_namespace, "InvalidInput", "Name", Name=name, Vpc="v")
    refused(boto.create_private_dns_namespace, "InvalidInput", "'name'", Name=text(254), Vpc="v")
    refused(boto.create_private_dns_namespace, "InvalidInput", "Vpc", Name="v.test", Vpc="")
    for name in ["", "a b", 'a"b', "größe", text(1025)]:
        refused(boto.create_http_namespace, "InvalidInput", "Name", Name=name)
    refused(boto.create_http_namespace, "InvalidInput", "Description", Name="d",
            Description=text(1025))
    refused(boto.create_public_dns_namespace, "InvalidInput", "Route 53", Name="example.com")
    refused(boto.update_public_dns_namespace, "InvalidInput", "Route 53", Id="ns-1", Namespace={})
    refused(boto.update_http_namespace, "NamespaceNotFound", "ns-1", Id="ns-1",
            Namespace={"Description": "x"})
    refused(boto.delete_namespace, "NamespaceNotFound", "ns-1", Id="ns-1")
    refused(boto.get_namespace, "InvalidInput", "'id'", Id=text(65))
    names = [item["Name"] for item in boto.list_namespaces()["Namespaces"]]
    assert "v.test" not in names and "d" not in names


def test_namespaces_are_filtered_and_paged(slipway):
    boto = client(slipway, region="ap-south-1")
    for index in range(5):
        make_http(boto, f"http-{index}")
    make_zone(boto, "dns-0")

    def names(*filters, **parameters):
        return [item["Name"] for item in boto.list_namespaces(Filters=[
            {"Name": name, "Values": values, **({"Condition": condition} if condition else {})}
            for name, values, condition in filters], **parameters)["Namespaces"]]
    everything = ["dns-0"] + [f"http-{index}" for index in range(5)]
    assert names() == everything
    assert names(("TYPE", ["DNS_PRIVATE"], None)) == ["dns-0"]
    assert names(("TYPE", ["HTTP", "DNS_PRIVATE"], "IN")) == everything
    assert names(("NAME", ["http-3"], "EQ")) == ["http-3"]
    assert names(("HTTP_NAME", ["http-"], "BEGINS_WITH")) == everything[1:]
    assert names(("TYPE", ["HTTP"], "EQ"), ("NAME", ["dns"], "BEGINS_WITH")) == []
    found, sizes = all_pages(boto.list_namespaces, "Namespaces", MaxResults=2, Filters=[
        {"Name": "TYPE", "Values": ["HTTP"], "Condition": "EQ"}])
    assert ([item["Name"] for item in found], sizes) == (everything[1:], [2, 2, 1])
    assert "CreatorRequestId" not in found[0]
    token = boto.list_namespaces(MaxResults=1)["NextToken"]
    refused(boto.list_namespaces, "InvalidInput", "NextToken", NextToken=token, Filters=[
        {"Name": "TYPE", "Values": ["HTTP"]}])
    for members, part in [
            ({"Name": "TYPE", "Values": ["HTTP", "DNS_PRIVATE"]}, "one value"),
            ({"Name": "TYPE", "Values": ["nonsense"]}, "nonsense"),
            ({"Name": "TYPE", "Values": []}, "Values"),
            ({"Name": "NAME", "Values": ["a", "b"], "Condition": "BETWEEN"}, "BETWEEN"),
            ({"Name": "NONE", "Values": ["a"]}, "Name")]:
        refused(boto.list_namespaces, "InvalidInput", part, Filters=[members])
    answer = send(slipway, "ListNamespaces", {"Filters": [
        {"Name": "RESOURCE_OWNER", "Values": ["OTHER_ACCOUNTS"]}]}, region="ap-south-1")
    assert answer.json == {"Namespaces": []}


# ---- services ----

def test_a_service_is_made_shown_changed_and_deleted(slipway, boto):
    namespace = make_zone(boto, "services.test")
    made = boto.create_service(
        Name="web", NamespaceId=namespace, Description="d", CreatorRequestId="web-1",
        DnsConfig={"RoutingPolicy": "WEIGHTED", "DnsRecords": [
            {"Type": "A", "TTL": 60}, {"Type": "SRV", "TTL": 10}]},
        HealthCheckCustomConfig={"FailureThreshold": 5}, Tags=[{"Key": "k", "Value": "v"}])
    service = made["Service"]
    assert service == boto.get_service(Id=service["Id"])["Service"]
    assert service.pop("CreateDate").timestamp() > 1.7e9
    identity = service.pop("Id")
    assert identity.startswith("srv-") and len(identity) == 20
    assert service == {
        "Arn": arn(f"service/{identity}"), "Name": "web", "NamespaceId": namespace,
        "Description": "d", "InstanceCount": 0, "CreatorRequestId": "web-1", "Type": "DNS_HTTP",
        "HealthCheckCustomConfig": {"FailureThreshold": 1}, "DnsConfig": {
            "NamespaceId": namespace, "RoutingPolicy": "WEIGHTED", "DnsRecords": [
                {"Type": "A", "TTL": 60}, {"Type": "SRV", "TTL": 10}]}}
    assert boto.get_namespace(Id=namespace)["Namespace"]["ServiceCount"] == 1
    operation = boto.update_service(Id=identity, Service={
        "Description": "e", "DnsConfig": {"DnsRecords": [
            {"Type": "SRV", "TTL": 11}, {"Type": "A", "TTL": 61}]}})
    assert target_of(boto, operation, "SERVICE") == identity
    changed = boto.get_service(Id=identity)["Service"]
    assert changed["Description"] == "e"
    assert changed["DnsConfig"]["DnsRecords"] == [
        {"Type": "SRV", "TTL": 11}, {"Type": "A", "TTL": 61}]
    assert changed["HealthCheckCustomConfig"] == {"FailureThreshold": 1}
    refused(boto.delete_namespace, "ResourceInUse", "1 services", Id=namespace)
    raw = send(slipway, "GetService", {"Id": identity}).json["Service"]
    assert (raw["ResourceOwner"], raw["CreatedByAccount"]) == (ACCOUNT, ACCOUNT)
    boto.delete_service(Id=identity)
    refused(boto.get_service, "ServiceNotFound", identity, Id=identity)
    refused(boto.delete_service, "ServiceNotFound", identity, Id=identity)
    boto.delete_namespace(Id=namespace)


def test_names_of_services_differ_by_case_in_http_namespaces_only(boto):
    zone, http = make_zone(boto, "case.test"), make_http(boto, "case")
    first = make_service(boto, zone, "Web", DnsConfig=A_RECORD, CreatorRequestId="case-1")
    with pytest.raises(boto.exceptions.ServiceAlreadyExists) as caught:
        make_service(boto, zone, "web", DnsConfig=A_RECORD)
    response = caught.value.response
    assert (response["ServiceId"], response["CreatorRequestId"]) == (first, "case-1")
    assert make_service(boto, zone, "Web", DnsConfig=A_RECORD, CreatorRequestId="case-1") == first
    upper, lower = make_service(boto, http, "Web"), make_service(boto, http, "web")
    refused(boto.create_service, "ServiceAlreadyExists", lower, Name="web", NamespaceId=http)
    boto.register_instance(ServiceId=upper, InstanceId="u", Attributes={"k": "v"})
    assert [item["InstanceId"] for item in boto.discover_instances(
        NamespaceName="case", ServiceName="Web")["Instances"]] == ["u"]
    assert boto.discover_instances(NamespaceName="case", ServiceName="web")["Instances"] == []
    assert boto.get_service(Id=lower)["Service"]["Type"] == "HTTP"


def test_bad_services(boto):
    zone, http = make_zone(boto, "bad.test"), make_http(boto, "bad")

    def bad(part, code="InvalidInput", **members):
        refused(boto.create_service, code, part, **{
            "Name": "web", "NamespaceId": zone, "DnsConfig": A_RECORD, **members})

    def records(*types, **members):
        return {"DnsRecords": [{"Type": kind, "TTL": 1} for kind in types], **members}
    for name in ["", ".", "a..b", "-a", "a-", "_", "a b", text(64), "a." + text(126)]:
        bad("Name", Name=name)
    bad("longer than 253", Name=".".join(["x" * 60] * 2),
        NamespaceId=make_zone(boto, ".".join(["x" * 60] * 3)))
    bad("ns-none", code="NamespaceNotFound", NamespaceId="ns-none")
    bad("differs", DnsConfig={**A_RECORD, "NamespaceId": "ns-other"})
    bad("CNAME", DnsConfig=records("CNAME", "A", RoutingPolicy="WEIGHTED"))
    bad("WEIGHTED", DnsConfig=records("CNAME"))
    bad("twice", DnsConfig=records("A", "A"))
    bad("empty", DnsConfig=records())
    bad("Type", DnsConfig=records("MX"))
    bad("TTL", DnsConfig={"DnsRecords": [{"Type": "A", "TTL": 2**31}]})
    bad("type HTTP", Type="HTTP")
    bad("HTTP namespace", NamespaceId=http)
    bad("public DNS and HTTP namespaces only", HealthCheckConfig={"Type": "TCP"})
    bad("not both", HealthCheckConfig={"Type": "TCP"}, HealthCheckCustomConfig={})
    refused(boto.create_service, "InvalidInput", "Route 53", Name="web", NamespaceId=http,
            HealthCheckConfig={"Type": "HTTP", "ResourcePath": "/"})
    refused(boto.create_service, "InvalidInput", "DnsConfig", Name="web", NamespaceId=zone)
    refused(boto.create_service, "InvalidInput", "NamespaceId", Name="web")
    assert boto.list_services(Filters=[{"Name": "NAMESPACE_ID", "Values": [zone]}])[
        "Services"] == []
    service = make_service(boto, zone, "web", DnsConfig=A_RECORD)
    hidden = make_service(boto, zone, "hidden", Type="HTTP")

    def bad_update(part, identity=service, code="InvalidInput", **members):
        refused(boto.update_service, code, part, Id=identity, Service=members)
    bad_update("cannot be changed", DnsConfig=records("AAAA"))
    bad_update("cannot be changed", DnsConfig=records("A", "SRV"))
    bad_update("empty", DnsConfig=records())
    bad_update("has none", identity=hidden, DnsConfig=records("A"))
    bad_update("Route 53", DnsConfig=A_RECORD, HealthCheckConfig={"Type": "TCP"})
    bad_update("srv-none", identity="srv-none", code="ServiceNotFound", DnsConfig=A_RECORD)
    assert boto.get_service(Id=service)["Service"]["DnsConfig"]["DnsRecords"] == [
        {"Type": "A", "TTL": 60}]


def test_services_are_filtered_and_paged(slipway):
    boto = client(slipway, region="ap-south-2")
    first, second = make_http(boto, "first"), make_http(boto, "second")
    for index in range(5):
        make_service(boto, first, f"s{index}")
    other = make_service(boto, second, "s9")
    found, sizes = all_pages(boto.list_services, "Services", MaxResults=2, Filters=[
        {"Name": "NAMESPACE_ID", "Values": [first], "Condition": "EQ"}])
    assert ([item["Name"] for item in found], sizes) == (
        [f"s{index}" for index in range(5)], [2, 2, 1])
    assert len(boto.list_services()["Services"]) == 6
    assert [item["Id"] for item in boto.list_services(Filters=[
        {"Name": "NAMESPACE_ID", "Values": [second]}])["Services"]] == [other]
    refused(boto.list_services, "InvalidInput", "BEGINS_WITH", Filters=[
        {"Name": "NAMESPACE_ID", "Values": ["ns-"], "Condition": "BEGINS_WITH"}])


def test_attributes_of_a_service(slipway, boto):
    service = make_service(boto, make_http(boto, "attributes"), "s")

    def ask(operation, **members):
        return send(slipway, operation, {"ServiceId": service, **members})
    assert ask("UpdateServiceAttributes", Attributes={"a": "1", "b": "2"}).json == {}
    assert ask("UpdateServiceAttributes", Attributes={"b": "3"}).json == {}
    shown = ask("GetServiceAttributes").json["ServiceAttributes"]
    assert shown == {"ServiceArn": arn(f"service/{service}"), "ResourceOwner": ACCOUNT,
                     "Attributes": {"a": "1", "b": "3"}}
    assert send(slipway, "GetServiceAttributes", {
        "ServiceId": arn(f"service/{service}")}).json["ServiceAttributes"] == shown
    answer = ask("UpdateServiceAttributes",
                 Attributes={f"k{index}": "" for index in range(29)})
    assert (answer.status, answer.json["__type"]) == (
        400, "ServiceAttributesLimitExceededException")
    for attributes in [{}, {"": "x"}, {text(256): "x"}, {"x": text(1025)}, {"a\0": "x"}]:
        answer = ask("UpdateServiceAttributes", Attributes=attributes)
        assert (answer.status, answer.json["__type"]) == (400, "InvalidInput")
    assert ask("GetServiceAttributes").json["ServiceAttributes"] == shown
    assert ask("DeleteServiceAttributes", Attributes=["a", "none"]).json == {}
    assert ask("GetServiceAttributes").json["ServiceAttributes"]["Attributes"] == {"b": "3"}
    assert ask("DeleteServiceAttributes", Attributes=[]).json["__type"] == "InvalidInput"
    for operation, members in [("GetServiceAttributes", {}),
                               ("UpdateServiceAttributes", {"Attributes": {"a": "b"}}),
                               ("DeleteServiceAttributes", {"Attributes": ["a"]})]:
        answer = send(slipway, operation, {"ServiceId": "srv-none", **members})
        assert (answer.status, answer.json["__type"]) == (400, "ServiceNotFound")
        assert "srv-none" in answer.json["Message"]


# ---- instances ----

def test_instances_are_registered_shown_replaced_and_taken_out(slipway, boto):
    namespace = make_zone(boto, "instances.test")
    service = make_service(boto, namespace, "web", DnsConfig=A_RECORD)
    operation = boto.register_instance(ServiceId=service, InstanceId="i-1", CreatorRequestId="c1",
                                       Attributes={**IPV4, "stage": 'be"ta'})
    shown = boto.get_operation(OperationId=operation["OperationId"])["Operation"]
    assert (shown["Type"], shown["Status"], shown["Targets"]) == (
        "REGISTER_INSTANCE", "SUCCESS", {"INSTANCE": "i-1", "SERVICE": service})
    instance = boto.get_instance(ServiceId=service, InstanceId="i-1")["Instance"]
    assert instance == {"Id": "i-1", "CreatorRequestId": "c1",
                        "Attributes": {**IPV4, "stage": 'be"ta'}}
    boto.register_instance(ServiceId=service, InstanceId="i-1",
                           Attributes={"AWS_INSTANCE_IPV4": "192.0.2.2"})
    listed = boto.list_instances(ServiceId=service)["Instances"]
    assert listed == [{"Id": "i-1", "Attributes": {"AWS_INSTANCE_IPV4": "192.0.2.2"}}]
    assert boto.get_service(Id=service)["Service"]["InstanceCount"] == 1
    refused(boto.delete_service, "ResourceInUse", "1 instances", Id=service)
    raw = send(slipway, "GetInstance", {"ServiceId": service, "InstanceId": "i-1"}).json
    assert (raw["ResourceOwner"], raw["Instance"]["CreatedByAccount"]) == (ACCOUNT, ACCOUNT)
    operation = boto.deregister_instance(ServiceId=service, InstanceId="i-1")
    assert target_of(boto, operation, "INSTANCE") == "i-1"
    refused(boto.deregister_instance, "InstanceNotFound", "i-1", ServiceId=service,
            InstanceId="i-1")
    refused(boto.get_instance, "InstanceNotFound", "i-1", ServiceId=service, InstanceId="i-1")
    boto.delete_service(Id=service)


def test_a_request_id_serves_one_instance(boto):
    service = make_service(boto, make_http(boto, "requests"), "s")
    attributes = {"k": "v"}

    def register(instance, request, **members):
        return boto.register_instance(ServiceId=service, InstanceId=instance,
                                      CreatorRequestId=request, Attributes=attributes | members)
    first = register("one", "r1")
    assert register("one", "r1")["OperationId"] == first["OperationId"]
    with pytest.raises(boto.exceptions.DuplicateRequest) as caught:
        register("two", "r1")
    assert caught.value.response["DuplicateOperationId"] == first["OperationId"]
    assert register("one", "r1", more="m")["OperationId"] != first["OperationId"]
    boto.deregister_instance(ServiceId=service, InstanceId="one")
    register("one", "r1")
    assert len(boto.list_instances(ServiceId=service)["Instances"]) == 1


GOOD_INSTANCES = [
    (["A"], {"AWS_INSTANCE_IPV4": "255.0.0.1"}),
    (["A", "AAAA"], {**IPV4, "AWS_INSTANCE_IPV6": "2001:db8::1"}),
    (["SRV"], {"AWS_INSTANCE_IPV6": "::ffff:1.2.3.4", "AWS_INSTANCE_PORT": "65535"}),
    (["A", "AAAA", "SRV"], {**IPV4, "AWS_INSTANCE_IPV6": "::", "AWS_INSTANCE_PORT": "1"}),
    (["CNAME"], {"AWS_INSTANCE_CNAME": "www.example.com."}),
    ([], {}),
    ([], {f"k{index}": "" for index in range(30)}),
    ([], {"k" * 255: "v" * 1024, "k": "v" * 1024}),
    ([], {"!~": "a \t~", "AWS_INIT_HEALTH_STATUS": "HEALTHY", "SLIPWAY_WEIGHT": "0"}),
    ([], {"SLIPWAY_WEIGHT": "1000"}),
]
BAD_INSTANCES = [
    (["A"], {}, "AWS_INSTANCE_IPV4"),
    (["A"], {"AWS_INSTANCE_IPV4": "192.0.2.256"}, "AWS_INSTANCE_IPV4"),
    (["A"], {"AWS_INSTANCE_IPV4": "2001:db8::1"}, "AWS_INSTANCE_IPV4"),
    (["A", "AAAA"], IPV4, "AWS_INSTANCE_IPV6"),
    (["AAAA"], {"AWS_INSTANCE_IPV6": "192.0.2.1"}, "AWS_INSTANCE_IPV6"),
    (["SRV"], {"AWS_INSTANCE_PORT": "80"}, "AWS_INSTANCE_IPV4 or AWS_INSTANCE_IPV6"),
    (["SRV"], IPV4, "AWS_INSTANCE_PORT"),
    (["SRV"], {**IPV4, "AWS_INSTANCE_PORT": "0"}, "AWS_INSTANCE_PORT"),
    (["SRV"], {**IPV4, "AWS_INSTANCE_PORT": "65536"}, "AWS_INSTANCE_PORT"),
    (["SRV"], {**IPV4, "AWS_INSTANCE_PORT": "http"}, "AWS_INSTANCE_PORT"),
    (["CNAME"], IPV4, "AWS_INSTANCE_CNAME"),
    (["CNAME"], {"AWS_INSTANCE_CNAME": "a..b"}, "AWS_INSTANCE_CNAME"),
    (["CNAME"], {"AWS_INSTANCE_CNAME": "."}, "AWS_INSTANCE_CNAME"),
    ([], {"AWS_ALIAS_DNS_NAME": "x.elb.amazonaws.com"}, "Route 53"),
    ([], {"AWS_EC2_INSTANCE_ID": "i-1"}, "EC2"),
    ([], {"AWS_INIT_HEALTH_STATUS": "SICK"}, "AWS_INIT_HEALTH_STATUS"),
    ([], {"SLIPWAY_WEIGHT": "1001"}, "SLIPWAY_WEIGHT"),
    ([], {"SLIPWAY_WEIGHT": "-1"}, "SLIPWAY_WEIGHT"),
    ([], {f"k{index}": "" for index in range(31)}, "custom attributes"),
    ([], {f"k{index}": "v" * 1000 for index in range(5)}, "5000"),
    ([], {"": "v"}, "name"),
    ([], {"a b": "v"}, "a b"),
    ([], {"k" * 256: "v"}, "Attributes"),
    ([], {"k": "v" * 1025}, "Attributes"),
    ([], {"k": " v"}, "space"),
    ([], {"k": "größe"}, "ASCII"),
]


def test_attributes_of_instances(boto):
    zone = make_zone(boto, "rules.test")
    services = {}

    def service_for(types):
        name = "-".join(["s", *types]).lower()
        if name not in services:
            settings = {"Type": "HTTP"} if not types else {"DnsConfig": {
                "RoutingPolicy": "WEIGHTED",
                "DnsRecords": [{"Type": kind, "TTL": 1} for kind in types]}}
            services[name] = make_service(boto, zone, name, **settings)
        return services[name]
    for index, (types, attributes) in enumerate(GOOD_INSTANCES):
        boto.register_instance(ServiceId=service_for(types), InstanceId=f"good-{index}",
                               Attributes=attributes)
        assert boto.get_instance(ServiceId=service_for(types), InstanceId=f"good-{index}")[
            "Instance"]["Attributes"] == attributes
    for types, attributes, part in BAD_INSTANCES:
        refused(boto.register_instance, "InvalidInput", part, ServiceId=service_for(types),
                InstanceId="bad", Attributes=attributes)
        refused(boto.get_instance, "InstanceNotFound", "bad", ServiceId=service_for(types),
                InstanceId="bad")
    plain, srv = service_for([]), service_for(["SRV"])
    boto.register_instance(ServiceId=plain, InstanceId="a/b:c.d@e_f-" + text(52), Attributes={})
    for instance in ["", "a b", "ü", text(65)]:
        refused(boto.register_instance, "InvalidInput", "InstanceId", ServiceId=plain,
                InstanceId=instance, Attributes={})
    for instance in [text(64), "a..b", ".a"]:
        refused(boto.register_instance, "InvalidInput", "InstanceId", ServiceId=srv,
                InstanceId=instance, Attributes={**IPV4, "AWS_INSTANCE_PORT": "80"})
    refused(boto.register_instance, "ServiceNotFound", "srv-none", ServiceId="srv-none",
            InstanceId="x", Attributes={})
    refused(boto.deregister_instance, "ServiceNotFound", "srv-none", ServiceId="srv-none",
            InstanceId="x")
    refused(boto.list_instances, "ServiceNotFound", "srv-none", ServiceId="srv-none")


def test_instances_and_their_health_are_paged(boto):
    service = make_service(boto, make_http(boto, "pages"), "s", HealthCheckCustomConfig={})
    names = [f"i{index}" for index in range(7)]
    for name in names:
        boto.register_instance(ServiceId=service, InstanceId=name, Attributes={
            "AWS_INIT_HEALTH_STATUS": "UNHEALTHY" if name == "i3" else "HEALTHY"})
    found, sizes = all_pages(boto.list_instances, "Instances", ServiceId=service, MaxResults=3)
    assert ([item["Id"] for item in found], sizes) == (names, [3, 3, 1])
    health = {name: "UNHEALTHY" if name == "i3" else "HEALTHY" for name in names}
    assert boto.get_instances_health_status(ServiceId=service)["Status"] == health
    for members, wanted in [({}, names), ({"Instances": ["i5", "i1", "i3", "i1", "i0"]},
                                          ["i5", "i1", "i3", "i0"])]:
        together, token = {}, {}
        while True:
            answer = boto.get_instances_health_status(ServiceId=service, MaxResults=3,
                                                      **members, **token)
            assert not set(together) & set(answer["Status"]) and len(answer["Status"]) <= 3
            together.update(answer["Status"])
            if "NextToken" not in answer:
                break
            token = {"NextToken": answer["NextToken"]}
        assert together == {name: health[name] for name in wanted}
    refused(boto.get_instances_health_status, "InstanceNotFound", "absent", ServiceId=service,
            Instances=["i1", "absent"])
    refused(boto.get_instances_health_status, "ServiceNotFound", "srv-none", ServiceId="srv-none")
    refused(boto.list_instances, "InvalidInput", "NextToken", ServiceId=service, NextToken="made")
    refused(boto.list_instances, "InvalidInput", "'maxResults'", ServiceId=service, MaxResults=101)


def test_health_that_clients_say(boto):
    http = make_http(boto, "health")
    checked = make_service(boto, http, "checked", HealthCheckCustomConfig={})
    plain = make_service(boto, http, "plain")
    for service, status in [(checked, "HEALTHY"), (plain, "UNKNOWN")]:
        boto.register_instance(ServiceId=service, InstanceId="i", Attributes={"a": "b"})
        assert boto.get_instances_health_status(ServiceId=service)["Status"] == {"i": status}

    def say(service, status, instance="i"):
        return boto.update_instance_custom_health_status(
            ServiceId=service, InstanceId=instance, Status=status)

    def status():
        return boto.get_instances_health_status(ServiceId=checked)["Status"]["i"]
    # UNHEALTHY counts after half a minute (the unit tests wait for it), HEALTHY at once.
    say(checked, "UNHEALTHY")
    assert status() == "HEALTHY"
    say(checked, "HEALTHY")
    boto.register_instance(ServiceId=checked, InstanceId="i",
                           Attributes={"AWS_INIT_HEALTH_STATUS": "UNHEALTHY"})
    assert status() == "UNHEALTHY"
    say(checked, "UNHEALTHY")
    assert status() == "UNHEALTHY"
    say(checked, "HEALTHY")
    assert status() == "HEALTHY"
    refused(say, "CustomHealthNotFound", "HealthCheckCustomConfig", service=plain,
            status="HEALTHY")
    refused(say, "InstanceNotFound", "absent", service=checked, status="HEALTHY",
            instance="absent")
    refused(say, "ServiceNotFound", "srv-none", service="srv-none", status="HEALTHY")
    refused(say, "InvalidInput", "'status'", service=checked, status="SICK")


def test_instances_are_discovered(slipway, boto):
    service = make_service(boto, make_http(boto, "find"), "web", HealthCheckCustomConfig={})
    for index in range(6):
        boto.register_instance(ServiceId=service, InstanceId=f"i{index}", Attributes={
            "color": "blue" if index % 2 else "green", "zone": f"z{index // 3}",
            "AWS_INIT_HEALTH_STATUS": "UNHEALTHY" if index == 5 else "HEALTHY"})

    def discover(**members):
        return boto.discover_instances(NamespaceName="find", ServiceName="web", **members)

    def ids(**members):
        return sorted(item["InstanceId"] for item in discover(**members)["Instances"])
    everything = [f"i{index}" for index in range(6)]
    assert ids() == ids(HealthStatus="HEALTHY") == ids(HealthStatus="HEALTHY_OR_ELSE_ALL") == (
        everything[:5])
    assert ids(HealthStatus="ALL") == everything
    assert ids(HealthStatus="UNHEALTHY") == ["i5"]
    assert ids(QueryParameters={"color": "blue"}) == ["i1", "i3"]
    assert ids(QueryParameters={"color": "blue", "zone": "z0"}) == ["i1"]
    assert ids(QueryParameters={"color": "red"}) == []
    assert ids(QueryParameters={"color": "blue"}, OptionalParameters={"zone": "z1"}) == ["i3"]
    assert ids(OptionalParameters={"zone": "z9"}) == everything[:5]
    only = {"QueryParameters": {"color": "blue", "zone": "z1"}}
    assert ids(**only, HealthStatus="HEALTHY") == ["i3"]
    boto.deregister_instance(ServiceId=service, InstanceId="i3")
    assert ids(**only, HealthStatus="HEALTHY") == []
    assert ids(**only, HealthStatus="HEALTHY_OR_ELSE_ALL") == ["i5"]
    assert len(ids(MaxResults=2)) == 2
    # Each order is as likely as any other: all of four come first before long.
    firsts = set()
    wait_until(lambda: firsts.add(discover()["Instances"][0]["InstanceId"]) or len(firsts) == 4,
               "every instance comes first at some time")
    found = discover(HealthStatus="UNHEALTHY")["Instances"][0]
    assert found == {"InstanceId": "i5", "NamespaceName": "find", "ServiceName": "web",
                     "HealthStatus": "UNHEALTHY", "Attributes": {
                         "color": "blue", "zone": "z1", "AWS_INIT_HEALTH_STATUS": "UNHEALTHY"}}

    def revision():
        numbers = {send(slipway, operation, {"NamespaceName": "FIND", "ServiceName": "web"}).json[
            "InstancesRevision"] for operation in ["DiscoverInstances", "DiscoverInstancesRevision"]}
        assert len(numbers) == 1
        return numbers.pop()
    seen = [revision()]
    boto.register_instance(ServiceId=service, InstanceId="new", Attributes={})
    seen.append(revision())
    boto.register_instance(ServiceId=service, InstanceId="new", Attributes={"a": "b"})
    seen.append(revision())
    boto.update_instance_custom_health_status(ServiceId=service, InstanceId="new",
                                              Status="UNHEALTHY")
    assert revision() == seen[-1]
    for instance in boto.list_instances(ServiceId=service)["Instances"]:
        boto.deregister_instance(ServiceId=service, InstanceId=instance["Id"])
    seen.append(revision())
    boto.delete_service(Id=service)
    again = make_service(boto, boto.list_namespaces(Filters=[
        {"Name": "NAME", "Values": ["find"]}])["Namespaces"][0]["Id"], "web")
    assert again != service
    seen.append(revision())
    assert seen == sorted(set(seen))


def test_nothing_is_discovered_where_nothing_is(slipway, boto):
    make_http(boto, "empty")

    def bad(code, part, **members):
        refused(boto.discover_instances, code, part, **{
            "NamespaceName": "empty", "ServiceName": "web", **members})
    bad("NamespaceNotFound", "nowhere", NamespaceName="nowhere")
    bad("ServiceNotFound", "web")
    bad("ServiceNotFound", "found", ServiceName="a\0b")
    bad("InvalidInput", "MaxResults", MaxResults=1001)
    bad("InvalidInput", "HealthStatus", HealthStatus="SICK")
    for members, code in [({"NamespaceName": "nowhere"}, "NamespaceNotFound"),
                          ({}, "ServiceNotFound"),
                          ({"OwnerAccount": "999999999999"}, "NamespaceNotFound")]:
        answer = send(slipway, "DiscoverInstancesRevision", {
            "NamespaceName": "empty", "ServiceName": "web", **members})
        assert (answer.status, answer.json["__type"]) == (400, code)


# ---- operations and tags ----

def test_operations_are_listed(slipway):
    boto = client(slipway, region="sa-east-1")
    namespace = make_http(boto, "operations")
    service = make_service(boto, namespace, "s")
    registered = [boto.register_instance(ServiceId=service, InstanceId=f"i{index}",
                                         Attributes={})["OperationId"] for index in range(3)]
    removed = boto.deregister_instance(ServiceId=service, InstanceId="i0")["OperationId"]

    def found(*filters, **parameters):
        return {item["Id"] for item in boto.list_operations(Filters=[
            {"Name": name, "Values": values, **({"Condition": condition} if condition else {})}
            for name, values, condition in filters], **parameters)["Operations"]}
    everything = found()
    assert len(everything) == 5
    assert found(("SERVICE_ID", [service], "EQ")) == {*registered, removed}
    assert len(found(("NAMESPACE_ID", [namespace], None))) == 1
    assert found(("TYPE", ["DEREGISTER_INSTANCE"], None)) == {removed}
    assert found(("TYPE", ["REGISTER_INSTANCE", "DEREGISTER_INSTANCE"], "IN")) == {
        *registered, removed}
    assert found(("STATUS", ["SUCCESS"], None)) == everything
    assert found(("STATUS", ["FAIL", "PENDING"], "IN")) == set()
    when = boto.get_operation(OperationId=removed)["Operation"]["UpdateDate"].timestamp()
    assert removed in found(("UPDATE_DATE", [f"{when - 1:.3f}", f"{when + 1:.3f}"], "BETWEEN"))
    assert found(("UPDATE_DATE", ["0", "1516925490.087"], "BETWEEN")) == set()
    pages, sizes = all_pages(boto.list_operations, "Operations", MaxResults=2)
    assert ({item["Id"] for item in pages}, sizes) == (everything, [2, 2, 1])
    assert {item["Status"] for item in pages} == {"SUCCESS"}
    for members, part in [
            (("UPDATE_DATE", ["1", "2"], "EQ"), "EQ"),
            (("UPDATE_DATE", ["2", "1"], "BETWEEN"), "start"),
            (("UPDATE_DATE", ["1"], "BETWEEN"), "two"),
            (("UPDATE_DATE", ["now", "then"], "BETWEEN"), "seconds"),
            (("TYPE", ["NONSENSE"], None), "NONSENSE"),
            (("SERVICE_ID", ["a", "b"], "EQ"), "one value")]:
        with pytest.raises(boto.exceptions.InvalidInput, match=part):
            found(members)
    refused(boto.get_operation, "OperationNotFound", "nothing", OperationId="nothing")
    assert len(found()) == 5


def test_tags(slipway, boto):
    namespace = make_http(boto, "tags", Tags=[{"Key": "a", "Value": "1"}])
    service = make_service(boto, namespace, "s", Tags=[{"Key": "b", "Value": "2"}])
    resources = {arn(f"namespace/{namespace}"): {"a": "1"}, arn(f"service/{service}"): {"b": "2"}}

    def tags(resource):
        return {tag["Key"]: tag["Value"] for tag in
                boto.list_tags_for_resource(ResourceARN=resource)["Tags"]}
    for resource, first in resources.items():
        assert tags(resource) == first
        boto.tag_resource(ResourceARN=resource, Tags=[{"Key": "c", "Value": ""}])
        boto.tag_resource(ResourceARN=resource, Tags=[{"Key": "c", "Value": "3"}])
        assert tags(resource) == {**first, "c": "3"}
        many = [{"Key": f"k{index}", "Value": ""} for index in range(51)]
        refused(boto.tag_resource, "TooManyTagsException", "51", ResourceARN=resource, Tags=many)
        with pytest.raises(boto.exceptions.TooManyTagsException) as caught:
            boto.tag_resource(ResourceARN=resource, Tags=many[:49])
        assert caught.value.response["ResourceName"] == resource
        assert tags(resource) == {**first, "c": "3"}
        boto.untag_resource(ResourceARN=resource, TagKeys=["c", "none"])
        assert tags(resource) == first
        refused(boto.tag_resource, "InvalidInput", "aws:", ResourceARN=resource,
                Tags=[{"Key": "aws:x", "Value": "y"}])
        refused(boto.tag_resource, "InvalidInput", "twice", ResourceARN=resource,
                Tags=[{"Key": "x", "Value": "y"}, {"Key": "x", "Value": "z"}])
    refused(boto.create_http_namespace, "TooManyTagsException", "51", Name="many", Tags=many)
    refused(boto.create_service, "InvalidInput", "aws:", Name="t", NamespaceId=namespace,
            Tags=[{"Key": "AWS:x", "Value": "y"}])
    gone = {"TagResource": {"Tags": []}, "UntagResource": {"TagKeys": []},
            "ListTagsForResource": {}}
    for operation, members in gone.items():
        for resource, code in [(arn("service/srv-none"), "ResourceNotFoundException"),
                               (arn(f"service/{service}", region="eu-west-1"),
                                "ResourceNotFoundException"),
                               (arn(f"service/{service}", account="999999999999"),
                                "ResourceNotFoundException"),
                               ("nonsense", "InvalidInput"),
                               ("arn:aws:ecs:us-east-1:123456789012:service/s", "InvalidInput")]:
            answer = send(slipway, operation, {"ResourceARN": resource, **members})
            assert (answer.status, answer.json["__type"]) == (400, code), answer.text
    boto.delete_service(Id=service)
    boto.delete_namespace(Id=namespace)
    refused(boto.list_tags_for_resource, "ResourceNotFoundException", service,
            ResourceARN=arn(f"service/{service}"))


# ---- all of them ----

def test_regions_do_not_see_each_other(slipway, boto):
    service = make_service(boto, make_http(boto, "mine"), "s")
    boto.register_instance(ServiceId=service, InstanceId="i", Attributes={})
    other = client(slipway, region="eu-central-1")
    assert other.list_namespaces()["Namespaces"] == other.list_services()["Services"] == []
    assert other.list_operations()["Operations"] == []
    refused(other.get_service, "ServiceNotFound", service, Id=service)
    refused(other.register_instance, "ServiceNotFound", service, ServiceId=service,
            InstanceId="i", Attributes={})
    refused(other.discover_instances, "NamespaceNotFound", "mine", NamespaceName="mine",
            ServiceName="s")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_bad_types_are_refused(slipway, operation):
    answer = send(slipway, operation, [])
    assert (answer.status, answer.json["__type"]) == (400, "SerializationException")
    bad = {"Id": 1, "Name": {}, "ServiceId": [], "InstanceId": {}, "OperationId": 5,
           "NamespaceName": [], "ResourceARN": 1, "Filters": "x"}
    answer = send(slipway, operation, bad)
    assert (answer.status, answer.json["__type"]) == (400, "SerializationException")
    assert answer.json["Message"]


def test_writers_at_once_keep_one_instance_each_and_a_limit(slipway, boto):
    """Eight clients register into one service until it is full, two of them the same instances."""
    service = make_service(boto, make_http(boto, "crowd"), "s")
    refusals = []

    def register(number):
        own = client(slipway)
        for index in range(140):
            try:
                own.register_instance(ServiceId=service, InstanceId=f"{number % 7}-{index:03}",
                                      Attributes={"writer": str(number)})
            except own.exceptions.ResourceLimitExceeded as error:
                refusals.append(str(error))
    threads = [threading.Thread(target=register, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not refusals
    for index in range(20):
        boto.register_instance(ServiceId=service, InstanceId=f"last-{index}", Attributes={})
    refused(boto.register_instance, "ResourceLimitExceeded", "1000", ServiceId=service,
            InstanceId="one-more", Attributes={})
    boto.register_instance(ServiceId=service, InstanceId="last-0", Attributes={"a": "b"})
    assert boto.get_service(Id=service)["Service"]["InstanceCount"] == 1000
    found = boto.discover_instances(NamespaceName="crowd", ServiceName="s", MaxResults=1000)
    assert len({item["InstanceId"] for item in found["Instances"]}) == 1000
    assert len(boto.discover_instances(NamespaceName="crowd", ServiceName="s")["Instances"]) == 100


def test_what_was_answered_survives_a_kill(start_slipway):
    server = start_slipway()
    boto = client(server)
    namespace = make_zone(boto, "kept.test", Tags=[{"Key": "a", "Value": "b"}])
    service = make_service(boto, namespace, "web", DnsConfig=A_RECORD,
                           HealthCheckCustomConfig={})
    for index in range(20):
        boto.register_instance(ServiceId=service, InstanceId=f"i{index}", Attributes=IPV4)
    boto.update_instance_custom_health_status(ServiceId=service, InstanceId="i0",
                                              Status="UNHEALTHY")
    last = boto.deregister_instance(ServiceId=service, InstanceId="i9")["OperationId"]

    def everything(connection):
        answers = [connection.get_namespace(Id=namespace), connection.get_service(Id=service),
                   connection.list_instances(ServiceId=service),
                   connection.get_operation(OperationId=last), connection.list_operations(),
                   connection.list_tags_for_resource(ResourceARN=arn(f"namespace/{namespace}"))]
        for answer in answers:
            answer.pop("ResponseMetadata")
        return answers

    def revision(where):
        return send(where, "DiscoverInstancesRevision", {
            "NamespaceName": "kept.test", "ServiceName": "web"}).json["InstancesRevision"]
    before, seen = everything(boto), revision(server)
    server.kill()
    server = start_slipway(state=server.state)
    boto = client(server)
    assert everything(boto) == before
    assert revision(server) == seen
    boto.register_instance(ServiceId=service, InstanceId="i9", Attributes=IPV4)
    assert revision(server) > seen


# ---- the aws command ----

def test_the_aws_command(slipway):
    with AwsShell(slipway, "servicediscovery") as aws:
        namespace = aws("get-operation", "--operation-id", aws(
            "create-private-dns-namespace", "--name", "cli.test", "--vpc", "vpc-1",
            "--tags", "Key=a,Value=b")["OperationId"])["Operation"]["Targets"]["NAMESPACE"]
        http = aws("get-operation", "--operation-id", aws(
            "create-http-namespace", "--name", "cli-http")["OperationId"])["Operation"][
                "Targets"]["NAMESPACE"]
        aws("update-private-dns-namespace", "--id", namespace, "--namespace", "Description=d")
        aws("update-http-namespace", "--id", http, "--namespace", "Description=e")
        assert aws("get-namespace", "--id", namespace)["Namespace"]["Description"] == "d"
        assert [item["Id"] for item in aws(
            "list-namespaces", "--filters", "Name=NAME,Values=cli.test,Condition=EQ")[
                "Namespaces"]] == [namespace]
        service = aws("create-service", "--name", "web", "--namespace-id", namespace,
                      "--dns-config", "RoutingPolicy=WEIGHTED,DnsRecords=[{Type=A,TTL=5}]",
                      "--health-check-custom-config", "FailureThreshold=1")["Service"]["Id"]
        aws("update-service", "--id", service, "--service",
            "DnsConfig={DnsRecords=[{Type=A,TTL=6}]}")
        assert aws("get-service", "--id", service)["Service"]["DnsConfig"]["DnsRecords"] == [
            {"Type": "A", "TTL": 6}]
        assert aws("list-services", "--filters", f"Name=NAMESPACE_ID,Values={namespace}")[
            "Services"][0]["Id"] == service
        for instance in ["i-1", "i-2"]:
            aws("register-instance", "--service-id", service, "--instance-id", instance,
                "--attributes", "AWS_INSTANCE_IPV4=192.0.2.1,SLIPWAY_WEIGHT=10")
        assert aws("get-instance", "--service-id", service, "--instance-id", "i-1")["Instance"][
            "Attributes"]["SLIPWAY_WEIGHT"] == "10"
        assert len(aws("list-instances", "--service-id", service, "--page-size", "1")[
            "Instances"]) == 2
        aws("update-instance-custom-health-status", "--service-id", service, "--instance-id",
            "i-1", "--status", "UNHEALTHY")
        assert aws("get-instances-health-status", "--service-id", service)["Status"] == {
            "i-1": "HEALTHY", "i-2": "HEALTHY"}
        resource = ["--resource-arn", arn(f"namespace/{namespace}")]
        aws("tag-resource", *resource, "--tags", "Key=c,Value=d")
        aws("untag-resource", *resource, "--tag-keys", "a")
        assert aws("list-tags-for-resource", *resource)["Tags"] == [{"Key": "c", "Value": "d"}]
        aws.refused("ResourceInUse", "delete-service", "--id", service, part="2 instances")
        aws.refused("ResourceInUse", "delete-namespace", "--id", namespace, part="1 services")
        aws.refused("InvalidInput", "create-public-dns-namespace", "--name", "example.com",
                    part="Route 53")
        aws.refused("InvalidInput", "update-public-dns-namespace", "--id", namespace,
                    "--namespace", "Description=x", part="Route 53")
        aws.refused("NamespaceAlreadyExists", "create-http-namespace", "--name", "cli.test",
                    part=namespace)
        aws.refused("InvalidInput", "register-instance", "--service-id", service,
                    "--instance-id", "i-3", "--attributes", "a=b", part="AWS_INSTANCE_IPV4")
        aws.refused("InstanceNotFound", "deregister-instance", "--service-id", service,
                    "--instance-id", "i-3", part="i-3")
        for instance in ["i-1", "i-2"]:
            aws("deregister-instance", "--service-id", service, "--instance-id", instance)
        assert len(aws("list-operations", "--filters", f"Name=SERVICE_ID,Values={service}")[
            "Operations"]) == 5
        aws("delete-service", "--id", service)
        aws("delete-namespace", "--id", namespace)
