import {ACCOUNT, arn, assert, call, client, container, finish, refused, sdk} from "./client.mjs";

// Members that are newer than Debian's clients.
const newest = {
	...container,
	restartPolicy: {enabled: true, ignoredExitCodes: [0, 3], restartAttemptPeriod: 60},
	versionConsistency: "disabled",
	portMappings: [{containerPortRange: "8000-8010"}],
	credentialSpecs: ["credentialspec:arn:aws:s3:::bucket/spec"],
};
const {taskDefinition, tags} = await call("RegisterTaskDefinition", {
	family: "js", containerDefinitions: [newest], enableFaultInjection: true,
	volumes: [{name: "later", configuredAtLaunch: true}], tags: [{key: "a", value: "b"}]});
assert.equal(taskDefinition.taskDefinitionArn, arn("task-definition/js:1"));
assert.ok(taskDefinition.registeredAt instanceof Date);
assert.equal(taskDefinition.enableFaultInjection, true);
assert.deepEqual(taskDefinition.volumes, [{name: "later", configuredAtLaunch: true}]);
assert.deepEqual(tags, [{key: "a", value: "b"}]);
for (const [member, value] of Object.entries(newest))
	if (member !== "portMappings")
		assert.deepEqual(taskDefinition.containerDefinitions[0][member], value);
assert.equal(taskDefinition.containerDefinitions[0].portMappings[0].containerPortRange,
	"8000-8010");
await refused("RegisterTaskDefinition", {family: "js", containerDefinitions: []},
	"ClientException", "Container list cannot be empty");
await refused("RegisterTaskDefinition", {family: "js", containerDefinitions: [{...container,
	restartPolicy: {enabled: true, restartAttemptPeriod: 59}}]}, "ClientException",
	"restartAttemptPeriod");
for (let i = 0; i < 4; i++)
	await call("RegisterTaskDefinition", {family: "js", containerDefinitions: [container]});

const described = await call("DescribeTaskDefinition", {taskDefinition: "js:1", include: ["TAGS"]});
assert.deepEqual(described.taskDefinition, taskDefinition);
assert.deepEqual(described.tags, tags);
await refused("DescribeTaskDefinition", {taskDefinition: "nobody"}, "ClientException",
	"Unable to describe task definition.");

const arns = [];
for await (const page of sdk.paginateListTaskDefinitions({client, pageSize: 2},
	{familyPrefix: "js", sort: "DESC"}))
	arns.push(...page.taskDefinitionArns);
assert.deepEqual(arns, [5, 4, 3, 2, 1].map((revision) => arn(`task-definition/js:${revision}`)));
await call("ListTaskDefinitions");
await refused("ListTaskDefinitions", {sort: "SIDEWAYS"}, "InvalidParameterException", "sort");
assert.deepEqual(await call("ListTaskDefinitionFamilies", {familyPrefix: "j"}), {families: ["js"]});
await refused("ListTaskDefinitionFamilies", {maxResults: 101}, "InvalidParameterException",
	"maxResults");

const gone = await call("DeregisterTaskDefinition", {taskDefinition: "js:5"});
assert.equal(gone.taskDefinition.status, "INACTIVE");
assert.ok(gone.taskDefinition.deregisteredAt instanceof Date);
await refused("DeregisterTaskDefinition", {taskDefinition: "js"}, "ClientException",
	"Revision is missing.");

const deleted = await call("DeleteTaskDefinitions", {taskDefinitions: ["js:5", "js:4", "js:9"]});
assert.equal(deleted.taskDefinitions.length, 1);
assert.equal(deleted.taskDefinitions[0].status, "DELETE_IN_PROGRESS");
assert.ok(deleted.taskDefinitions[0].deleteRequestedAt instanceof Date);
assert.deepEqual(deleted.failures.map((failure) => failure.arn), ["js:4", "js:9"]);
await refused("DeleteTaskDefinitions", {taskDefinitions: []}, "InvalidParameterException",
	"taskDefinitions");

// A task definition for Fargate as the console makes it.
const fargate = await call("RegisterTaskDefinition", {
	family: "fargate", networkMode: "awsvpc", requiresCompatibilities: ["FARGATE"],
	cpu: "1 vCPU", memory: "3 GB", executionRoleArn: `arn:aws:iam::${ACCOUNT}:role/e`,
	runtimePlatform: {cpuArchitecture: "X86_64", operatingSystemFamily: "LINUX"},
	containerDefinitions: [{name: "web", image: "nginx", essential: true,
		portMappings: [{name: "web", containerPort: 80, appProtocol: "http2"}],
		logConfiguration: {logDriver: "awslogs", options: {mode: "non-blocking"}}}]});
assert.deepEqual(fargate.taskDefinition.compatibilities, ["EC2", "FARGATE"]);
assert.equal(fargate.taskDefinition.cpu, "1024");
finish();
