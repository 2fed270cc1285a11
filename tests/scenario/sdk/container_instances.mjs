import {arn, assert, call, client, finish, refused, sdk} from "./client.mjs";

await call("CreateCluster", {clusterName: "js"});
const {containerInstance} = await call("RegisterContainerInstance", {
	cluster: "js",
	totalResources: [{name: "CPU", type: "INTEGER", integerValue: 2048, doubleValue: 0.5,
		longValue: 4294967296}],
	attributes: [{name: "ecs.os-type", value: "linux"}],
	versionInfo: {agentVersion: "1.89.0"}});
const instance = containerInstance.containerInstanceArn;
assert.ok(instance.startsWith(arn("container-instance/js/")));
assert.equal(containerInstance.registeredResources[0].longValue, 4294967296);
assert.equal(containerInstance.registeredResources[0].doubleValue, 0.5);
assert.ok(containerInstance.registeredAt instanceof Date);
await refused("RegisterContainerInstance", {cluster: "nobody"}, "ClusterNotFoundException",
	"Cluster not found");

const described = await call("DescribeContainerInstances", {cluster: "js",
	containerInstances: [instance, "0".repeat(32)], include: ["TAGS"]});
assert.deepEqual(described.containerInstances[0], containerInstance);
assert.equal(described.failures[0].reason, "MISSING");
await refused("DescribeContainerInstances", {cluster: "js", containerInstances: []},
	"InvalidParameterException", "containerInstances");

for (let i = 0; i < 4; i++)
	await call("RegisterContainerInstance", {cluster: "js"});
const listed = [];
for await (const page of sdk.paginateListContainerInstances({client, pageSize: 2}, {cluster: "js"}))
	listed.push(...page.containerInstanceArns);
assert.equal(new Set(listed).size, 5);
await call("ListContainerInstances", {cluster: "js", status: "ACTIVE"});
await refused("ListContainerInstances", {cluster: "js", status: "ASLEEP"},
	"InvalidParameterException", "status");

const put = await call("PutAttributes", {cluster: "js",
	attributes: [{name: "rack", value: "7", targetId: instance}]});
assert.equal(put.attributes[0].targetId, instance);
await refused("PutAttributes", {cluster: "js", attributes: [{name: "rack", targetId: "nobody"}]},
	"TargetNotFoundException", "nobody");
const attributes = await call("ListAttributes", {cluster: "js", targetType: "container-instance",
	attributeName: "rack"});
assert.deepEqual(attributes.attributes, [{name: "rack", value: "7", targetId: instance}]);
await refused("ListAttributes", {cluster: "js", targetType: "planet"},
	"InvalidParameterException", "targetType");
await call("DeleteAttributes", {cluster: "js", attributes: [{name: "rack", targetId: instance}]});
await refused("DeleteAttributes", {cluster: "js", attributes: []}, "InvalidParameterException",
	"attributes");

for (const one of listed)
	await call("DeregisterContainerInstance", {cluster: "js", containerInstance: one});
await refused("DeregisterContainerInstance", {cluster: "js", containerInstance: instance},
	"InvalidParameterException", "containerInstance");
await call("DeleteCluster", {cluster: "js"});
finish();
