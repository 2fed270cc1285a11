import * as sdk from "@aws-sdk/client-servicediscovery";

import {ACCOUNT, REGION, assert, open} from "./harness.mjs";

// The SDK puts "data-" before the host of DiscoverInstances, unless it is told not to.
const {client, call, refused, finish} = open(sdk, sdk.ServiceDiscoveryClient,
	{disableHostPrefix: true});

function arn(resource) {
	return `arn:aws:servicediscovery:${REGION}:${ACCOUNT}:${resource}`;
}

// What an operation made.
async function target(answer, kind = "NAMESPACE") {
	const {Operation} = await call("GetOperation", answer);
	assert.equal(Operation.Status, "SUCCESS");
	assert.equal(Operation.OwnerAccount, ACCOUNT);
	assert.ok(Operation.CreateDate instanceof Date);
	return Operation.Targets[kind];
}
await refused("GetOperation", {OperationId: "nothing"}, "OperationNotFound", "nothing");

// ---- namespaces ----

const zone = await target(await call("CreatePrivateDnsNamespace", {Name: "js.test", Vpc: "vpc-1",
	CreatorRequestId: "js-1", Properties: {DnsProperties: {SOA: {TTL: 30}}},
	Tags: [{Key: "a", Value: "b"}]}));
const http = await target(await call("CreateHttpNamespace", {Name: "js"}));
const exists = await refused("CreatePrivateDnsNamespace", {Name: "js.test", Vpc: "vpc-1"},
	"NamespaceAlreadyExists", zone);
assert.equal(exists.NamespaceId, zone);
assert.equal(exists.CreatorRequestId, "js-1");
const twice = await refused("CreateHttpNamespace", {Name: "js-2", CreatorRequestId: "js-1"},
	"DuplicateRequest", "CreatorRequestId");
assert.ok(twice.DuplicateOperationId);
await refused("CreatePublicDnsNamespace", {Name: "example.com"}, "InvalidInput", "Route 53");
await refused("UpdatePublicDnsNamespace", {Id: zone, Namespace: {}}, "InvalidInput", "Route 53");

await call("UpdatePrivateDnsNamespace", {Id: zone,
	Namespace: {Description: "d", Properties: {DnsProperties: {SOA: {TTL: 31}}}}});
await refused("UpdatePrivateDnsNamespace", {Id: "ns-none", Namespace: {}}, "NamespaceNotFound",
	"ns-none");
await call("UpdateHttpNamespace", {Id: http, Namespace: {Description: "e"}});
await refused("UpdateHttpNamespace", {Id: zone, Namespace: {Description: "e"}}, "InvalidInput",
	"DNS_PRIVATE");
const {Namespace} = await call("GetNamespace", {Id: zone});
assert.equal(Namespace.Description, "d");
assert.equal(Namespace.ResourceOwner, ACCOUNT);
assert.equal(Namespace.Properties.DnsProperties.SOA.TTL, 31);
await refused("GetNamespace", {Id: "ns-none"}, "NamespaceNotFound", "ns-none");

const namespaces = [];
for await (const page of sdk.paginateListNamespaces({client, pageSize: 1},
	{Filters: [{Name: "RESOURCE_OWNER", Values: ["SELF"], Condition: "EQ"}]}))
	namespaces.push(...page.Namespaces.map(({Name}) => Name));
assert.deepEqual(namespaces, ["js", "js.test"]);
await call("ListNamespaces");
await refused("ListNamespaces", {NextToken: "made-up"}, "InvalidInput", "NextToken");

// ---- services ----

const {Service} = await call("CreateService", {Name: "web", NamespaceId: zone,
	CreatorRequestId: "web-1", HealthCheckCustomConfig: {FailureThreshold: 1},
	DnsConfig: {RoutingPolicy: "MULTIVALUE", DnsRecords: [{Type: "A", TTL: 60}]}});
const service = Service.Id;
assert.equal(Service.CreatedByAccount, ACCOUNT);
const taken = await refused("CreateService", {Name: "WEB", NamespaceId: zone,
	DnsConfig: {DnsRecords: [{Type: "A", TTL: 60}]}}, "ServiceAlreadyExists", service);
assert.equal(taken.ServiceId, service);
assert.equal(taken.ServiceArn, arn(`service/${service}`));
assert.equal(taken.CreatorRequestId, "web-1");
await refused("CreateService", {Name: "x", NamespaceId: http, DnsConfig: {
	DnsRecords: [{Type: "A", TTL: 60}]}}, "InvalidInput", "DnsConfig");

assert.equal(await target(await call("UpdateService", {Id: service, Service: {
	DnsConfig: {DnsRecords: [{Type: "A", TTL: 61}]}}}), "SERVICE"), service);
await refused("UpdateService", {Id: service, Service: {DnsConfig: {
	DnsRecords: [{Type: "AAAA", TTL: 61}]}}}, "InvalidInput", "record types");
const got = await call("GetService", {Id: service});
assert.deepEqual(got.Service.DnsConfig.DnsRecords, [{Type: "A", TTL: 61}]);
await refused("GetService", {Id: "srv-none"}, "ServiceNotFound", "srv-none");
const {Services} = await call("ListServices", {Filters: [
	{Name: "NAMESPACE_ID", Values: [zone], Condition: "EQ"}]});
assert.deepEqual(Services.map(({Id}) => Id), [service]);
await refused("ListServices", {Filters: [{Name: "NAMESPACE_ID", Values: []}]}, "InvalidInput",
	"Filters");

await call("UpdateServiceAttributes", {ServiceId: service, Attributes: {a: "1", b: "2"}});
await refused("UpdateServiceAttributes", {ServiceId: service, Attributes: Object.fromEntries(
	Array.from({length: 31}, (_, index) => [`k${index}`, "v"]))},
	"ServiceAttributesLimitExceededException", "30");
await call("DeleteServiceAttributes", {ServiceId: service, Attributes: ["a"]});
await refused("DeleteServiceAttributes", {ServiceId: "srv-none", Attributes: ["a"]},
	"ServiceNotFound", "srv-none");
const {ServiceAttributes} = await call("GetServiceAttributes", {ServiceId: service});
assert.deepEqual(ServiceAttributes, {ServiceArn: arn(`service/${service}`), ResourceOwner: ACCOUNT,
	Attributes: {b: "2"}});
await refused("GetServiceAttributes", {ServiceId: "srv-none"}, "ServiceNotFound", "srv-none");

// ---- instances ----

const address = {AWS_INSTANCE_IPV4: "192.0.2.1"};
assert.equal(await target(await call("RegisterInstance", {ServiceId: service, InstanceId: "one",
	Attributes: {...address, color: "blue"}}), "INSTANCE"), "one");
await call("RegisterInstance", {ServiceId: service, InstanceId: "two", Attributes: address});
await refused("RegisterInstance", {ServiceId: service, InstanceId: "three", Attributes: {}},
	"InvalidInput", "AWS_INSTANCE_IPV4");
const one = await call("GetInstance", {ServiceId: service, InstanceId: "one"});
assert.equal(one.ResourceOwner, ACCOUNT);
assert.deepEqual(one.Instance.Attributes, {...address, color: "blue"});
await refused("GetInstance", {ServiceId: service, InstanceId: "none"}, "InstanceNotFound", "none");
const instances = [];
for await (const page of sdk.paginateListInstances({client, pageSize: 1}, {ServiceId: service}))
	instances.push(...page.Instances.map(({Id}) => Id));
assert.deepEqual(instances, ["one", "two"]);
await call("ListInstances", {ServiceId: service});
await refused("ListInstances", {ServiceId: "srv-none"}, "ServiceNotFound", "srv-none");

await call("UpdateInstanceCustomHealthStatus", {ServiceId: service, InstanceId: "one",
	Status: "UNHEALTHY"});
await refused("UpdateInstanceCustomHealthStatus", {ServiceId: service, InstanceId: "none",
	Status: "HEALTHY"}, "InstanceNotFound", "none");
const {Status} = await call("GetInstancesHealthStatus", {ServiceId: service});
assert.deepEqual(Status, {one: "HEALTHY", two: "HEALTHY"});
await refused("GetInstancesHealthStatus", {ServiceId: service, Instances: ["none"]},
	"InstanceNotFound", "none");

const name = {NamespaceName: "js.test", ServiceName: "web"};
const found = await call("DiscoverInstances", {...name, QueryParameters: {color: "blue"}});
assert.deepEqual(found.Instances, [{...name, InstanceId: "one", HealthStatus: "HEALTHY",
	Attributes: {...address, color: "blue"}}]);
await refused("DiscoverInstances", {...name, ServiceName: "none"}, "ServiceNotFound", "none");
const {InstancesRevision} = await call("DiscoverInstancesRevision", name);
assert.equal(InstancesRevision, found.InstancesRevision);
await refused("DiscoverInstancesRevision", {...name, NamespaceName: "none"}, "NamespaceNotFound",
	"none");

// ---- operations, tags, and the end ----

const operations = [];
for await (const page of sdk.paginateListOperations({client, pageSize: 2},
	{Filters: [{Name: "TYPE", Values: ["UPDATE_NAMESPACE", "UPDATE_SERVICE"], Condition: "IN"}]}))
	operations.push(...page.Operations);
assert.equal(operations.length, 3);
await call("ListOperations");
await refused("ListOperations", {Filters: [{Name: "TYPE", Values: ["NONE"]}]}, "InvalidInput",
	"NONE");

const resource = {ResourceARN: arn(`namespace/${zone}`)};
await call("TagResource", {...resource, Tags: [{Key: "c", Value: "d"}]});
await refused("TagResource", {...resource, Tags: Array.from({length: 51}, (_, index) => (
	{Key: `k${index}`, Value: ""}))}, "TooManyTagsException", "51");
await call("UntagResource", {...resource, TagKeys: ["a"]});
await refused("UntagResource", {ResourceARN: arn("namespace/ns-none"), TagKeys: ["a"]},
	"ResourceNotFoundException", "ns-none");
const {Tags} = await call("ListTagsForResource", resource);
assert.deepEqual(Tags, [{Key: "c", Value: "d"}]);
await refused("ListTagsForResource", {ResourceARN: "nonsense"}, "InvalidInput", "ResourceARN");

await refused("DeleteService", {Id: service}, "ResourceInUse", "2 instances");
await call("DeregisterInstance", {ServiceId: service, InstanceId: "one"});
await call("DeregisterInstance", {ServiceId: service, InstanceId: "two"});
await refused("DeregisterInstance", {ServiceId: service, InstanceId: "two"}, "InstanceNotFound",
	"two");
await refused("DeleteNamespace", {Id: zone}, "ResourceInUse", "1 services");
await call("DeleteService", {Id: service});
await call("DeleteNamespace", {Id: zone});
finish();
