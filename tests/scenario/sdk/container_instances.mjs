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
	"InvalidParameterException", "Container instance cannot be empty.");

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

const drained = await call("UpdateContainerInstancesState", {cluster: "js", status: "DRAINING",
	containerInstances: [instance, "0".repeat(32)]});
assert.equal(drained.containerInstances[0].status, "DRAINING");
assert.equal(drained.failures[0].reason, "MISSING");
await call("UpdateContainerInstancesState", {cluster: "js", status: "ACTIVE",
	containerInstances: [instance]});
await refused("UpdateContainerInstancesState", {cluster: "js", status: "REGISTERING",
	containerInstances: [instance]}, "InvalidParameterException", "[ACTIVE, DRAINING]");
await refused("UpdateContainerAgent", {cluster: "js", containerInstance: instance},
	"NoUpdateAvailableException", "no update");

// What an agent says.
const endpoint = await call("DiscoverPollEndpoint", {cluster: "js", containerInstance: instance});
assert.equal(endpoint.endpoint, process.env.SLIPWAY_URL);
await refused("DiscoverPollEndpoint", {cluster: "js", containerInstance: "0".repeat(32)},
	"ClientException", "is not registered");
const told = await call("RegisterContainerInstance", {cluster: "js",
	totalResources: [{name: "CPU", type: "INTEGER", integerValue: 1024},
		{name: "MEMORY", type: "INTEGER", integerValue: 1024}],
	attributes: [{name: "ecs.capability.task-eni"}]});
await call("RegisterTaskDefinition", {family: "told", networkMode: "awsvpc",
	containerDefinitions: [{name: "app", image: "host", memory: 64}]});
const {tasks} = await call("RunTask", {cluster: "js", taskDefinition: "told",
	networkConfiguration: {awsvpcConfiguration: {subnets: ["subnet-1"]}}});
const task = tasks[0].taskArn;
const attachmentArn = arn("attachment/" + tasks[0].attachments[0].id);
await call("SubmitAttachmentStateChanges", {cluster: "js",
	attachments: [{attachmentArn, status: "ATTACHED"}]});
await refused("SubmitAttachmentStateChanges", {cluster: "js",
	attachments: [{attachmentArn, status: "GLUED"}]}, "InvalidParameterException", "GLUED");
await call("SubmitContainerStateChange", {cluster: "js", task, containerName: "app",
	status: "STOPPED", exitCode: 5});
await refused("SubmitContainerStateChange", {cluster: "js", task}, "InvalidParameterException",
	"containerName");
const {acknowledgment} = await call("SubmitTaskStateChange", {cluster: "js", task,
	status: "STOPPED", executionStoppedAt: new Date()});
assert.ok(acknowledgment);
await refused("SubmitTaskStateChange", {cluster: "js", task: "0".repeat(32), status: "STOPPED"},
	"InvalidParameterException", "was not found");
const ended = await call("DescribeTasks", {cluster: "js", tasks: [task]});
assert.equal(ended.tasks[0].lastStatus, "STOPPED");
assert.equal(ended.tasks[0].containers[0].exitCode, 5);
listed.push(told.containerInstance.containerInstanceArn);

for (const one of listed)
	await call("DeregisterContainerInstance", {cluster: "js", containerInstance: one});
await refused("DeregisterContainerInstance", {cluster: "js", containerInstance: instance},
	"InvalidParameterException", "containerInstance");
await call("DeleteCluster", {cluster: "js"});
finish();
