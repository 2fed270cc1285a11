import {arn, assert, call, client, container, finish, refused, sdk} from "./client.mjs";

// A cluster without instances: what is wanted stays wanted. At the end, one of the server's own.
const cluster = "js";
await call("CreateCluster", {clusterName: cluster});
for (let i = 0; i < 2; i++)
	await call("RegisterTaskDefinition", {family: "web", containerDefinitions: [container]});

// ---- services ----

const {service} = await call("CreateService", {cluster, serviceName: "shop",
	taskDefinition: "web:1", desiredCount: 2, tags: [{key: "a", value: "b"}],
	deploymentConfiguration: {deploymentCircuitBreaker: {enable: true, rollback: true}}});
assert.equal(service.serviceArn, arn("service/js/shop"));
assert.equal(service.status, "ACTIVE");
assert.equal(service.deployments[0].rolloutState, "IN_PROGRESS");
assert.ok(service.createdAt instanceof Date);
assert.deepEqual(service.tags, [{key: "a", value: "b"}]);
await refused("CreateService", {cluster, serviceName: "no spaces", taskDefinition: "web",
	desiredCount: 1}, "InvalidParameterException", "serviceName");
await refused("CreateService", {cluster, serviceName: "x", taskDefinition: "web", desiredCount: 1,
	deploymentConfiguration: {strategy: "BLUE_GREEN"}}, "UnsupportedFeatureException",
	"BLUE_GREEN");

const updated = await call("UpdateService", {cluster, service: "shop", taskDefinition: "web:2"});
assert.deepEqual(updated.service.deployments.map(({status}) => status), ["PRIMARY", "ACTIVE"]);
await refused("UpdateService", {cluster, service: "nobody"}, "ServiceNotFoundException", "nobody");

const described = await call("DescribeServices", {cluster, services: ["shop", "nobody"],
	include: ["TAGS"]});
assert.equal(described.services[0].taskDefinition, arn("task-definition/web:2"));
assert.equal(described.services[0].currentServiceRevisions.length >= 1, true);
assert.deepEqual(described.failures, [{arn: arn("service/nobody"), reason: "MISSING"}]);
await refused("DescribeServices", {cluster, services: []}, "InvalidParameterException", "empty");

for (const serviceName of ["s1", "s2", "s3"])
	await call("CreateService", {cluster, serviceName, taskDefinition: "web", desiredCount: 0});
const listed = [];
for await (const page of sdk.paginateListServices({client, pageSize: 3}, {cluster}))
	listed.push(...page.serviceArns);
assert.deepEqual(listed, ["s1", "s2", "s3", "shop"].map((name) => arn(`service/js/${name}`)));
await call("ListServices", {cluster, schedulingStrategy: "DAEMON",
	resourceManagementType: "CUSTOMER"});
await refused("ListServices", {cluster, nextToken: "made-up"}, "InvalidParameterException",
	"nextToken");
await refused("ListServicesByNamespace", {namespace: "nowhere"}, "NamespaceNotFoundException",
	"nowhere");

// ---- deployments and revisions ----

const {serviceDeployments} = await call("ListServiceDeployments", {cluster, service: "shop"});
assert.equal(serviceDeployments.length, 2);
assert.equal(serviceDeployments[0].status, "IN_PROGRESS");
assert.equal(serviceDeployments[1].status, "STOPPED");
assert.ok(serviceDeployments[0].createdAt instanceof Date);
const inTime = await call("ListServiceDeployments", {cluster, service: "shop",
	status: ["STOPPED"], createdAt: {before: new Date(Date.now() + 3600000), after: new Date(0)}});
assert.equal(inTime.serviceDeployments.length, 1);
await refused("ListServiceDeployments", {cluster, service: "nobody"}, "ServiceNotFoundException",
	"nobody");

const [{serviceDeploymentArn, targetServiceRevisionArn}] = serviceDeployments;
const looked = await call("DescribeServiceDeployments",
	{serviceDeploymentArns: [serviceDeploymentArn, arn("service-deployment/js/shop/1")]});
assert.equal(looked.serviceDeployments[0].targetServiceRevision.arn, targetServiceRevisionArn);
assert.equal(looked.serviceDeployments[0].targetServiceRevision.requestedTaskCount, 2);
assert.equal(looked.serviceDeployments[0].deploymentCircuitBreaker.threshold, 3);
assert.equal(looked.failures[0].reason, "MISSING");
await refused("DescribeServiceDeployments", {serviceDeploymentArns: ["shop"]},
	"InvalidParameterException", "serviceDeploymentArns");
const revisions = await call("DescribeServiceRevisions",
	{serviceRevisionArns: [targetServiceRevisionArn]});
assert.equal(revisions.serviceRevisions[0].taskDefinition, arn("task-definition/web:2"));
assert.deepEqual(revisions.serviceRevisions[0].containerImages,
	[{containerName: "app", image: "busybox"}]);
await refused("DescribeServiceRevisions", {serviceRevisionArns: []}, "InvalidParameterException",
	"serviceRevisionArns");

await refused("ContinueServiceDeployment", {serviceDeploymentArn, hookId: "h"},
	"InvalidParameterException", "hookId");
const stopped = await call("StopServiceDeployment", {serviceDeploymentArn, stopType: "ABORT"});
assert.equal(stopped.serviceDeploymentArn, serviceDeploymentArn);
const conflict = await client.send(new sdk.StopServiceDeploymentCommand({serviceDeploymentArn}))
	.then(() => assert.fail("stopped twice"), (caught) => caught);
assert.equal(conflict.name, "ConflictException");
assert.deepEqual(conflict.resourceIds, [serviceDeploymentArn]);
await refused("StopServiceDeployment",
	{serviceDeploymentArn: arn("service-deployment/js/shop/1")},
	"ServiceDeploymentNotFoundException", "shop/1");

// ---- task sets ----

await call("CreateService", {cluster, serviceName: "ext", desiredCount: 3,
	deploymentController: {type: "EXTERNAL"}});
const {taskSet} = await call("CreateTaskSet", {cluster, service: "ext", taskDefinition: "web",
	externalId: "blue", scale: {value: 50, unit: "PERCENT"}, clientToken: "once"});
assert.equal(taskSet.computedDesiredCount, 2);
assert.equal(taskSet.stabilityStatus, "STABILIZING");
assert.ok(taskSet.stabilityStatusAt instanceof Date);
await refused("CreateTaskSet", {cluster, service: "shop", taskDefinition: "web"},
	"InvalidParameterException", "external deployment controllers");
const sets = await call("DescribeTaskSets", {cluster, service: "ext",
	taskSets: [taskSet.taskSetArn, "ecs-svc/1"], include: ["TAGS"]});
assert.equal(sets.taskSets[0].externalId, "blue");
assert.equal(sets.failures[0].arn, arn("task-set/js/ext/ecs-svc/1"));
await refused("DescribeTaskSets", {cluster, service: "nobody"}, "ServiceNotFoundException",
	"nobody");
const scaled = await call("UpdateTaskSet", {cluster, service: "ext", taskSet: taskSet.id,
	scale: {value: 100, unit: "PERCENT"}});
assert.equal(scaled.taskSet.computedDesiredCount, 3);
await refused("UpdateTaskSet", {cluster, service: "ext", taskSet: taskSet.id,
	scale: {value: 101, unit: "PERCENT"}}, "InvalidParameterException", "scale");
const primary = await call("UpdateServicePrimaryTaskSet", {cluster, service: "ext",
	primaryTaskSet: taskSet.id});
assert.equal(primary.taskSet.status, "PRIMARY");
await refused("UpdateServicePrimaryTaskSet", {cluster, service: "ext", primaryTaskSet: "nobody"},
	"TaskSetNotFoundException", "nobody");
await refused("DeleteTaskSet", {cluster, service: "ext", taskSet: taskSet.id},
	"InvalidParameterException", "scaled above 0");
const gone = await call("DeleteTaskSet", {cluster, service: "ext", taskSet: taskSet.id,
	force: true});
assert.equal(gone.taskSet.status, "DRAINING");

// ---- delete ----

await refused("DeleteService", {cluster, service: "shop"}, "InvalidParameterException",
	"scaled above 0");
for (const name of ["shop", "ext", "s1", "s2", "s3"]) {
	const deleted = await call("DeleteService", {cluster, service: name, force: true});
	assert.equal(deleted.service.status, "DRAINING");
}
await sdk.waitUntilServicesInactive({client, maxWaitTime: 60, minDelay: 1, maxDelay: 1},
	{cluster, services: ["shop", "ext", "s1", "s2", "s3"]});

// ---- a service that runs, and the SDK's own waiters ----

const waiting = {client, maxWaitTime: 120, minDelay: 1, maxDelay: 2};
const running = {services: ["runs"]};
const program = (version) => ({name: "app", image: "host", memory: 16, essential: true,
	command: ["sh", "-c", "exec sleep 1000"], environment: [{name: "VERSION", value: version}]});
const tasksOf = async (desiredStatus) => (await call("ListTasks",
	{serviceName: "runs", desiredStatus})).taskArns;
for (const version of ["1", "2"])
	await call("RegisterTaskDefinition", {family: "runs", containerDefinitions: [program(version)]});
await call("CreateService", {serviceName: "runs", taskDefinition: "runs:1", desiredCount: 2});
const stable = await sdk.waitUntilServicesStable(waiting, running);
assert.equal(stable.state, "SUCCESS");
const before = await tasksOf("RUNNING");
assert.equal(before.length, 2);
const seen = (await call("DescribeTasks", {tasks: before})).tasks;
assert.deepEqual(seen.map(({lastStatus}) => lastStatus), ["RUNNING", "RUNNING"]);
await call("UpdateService", {service: "runs", taskDefinition: "runs:2", desiredCount: 3});
await sdk.waitUntilServicesStable(waiting, running);
const [rolled] = (await call("DescribeServices", running)).services;
assert.deepEqual(rolled.deployments.map(({status, taskDefinition, runningCount}) =>
	[status, taskDefinition, runningCount]), [["PRIMARY", arn("task-definition/runs:2"), 3]]);
const after = await tasksOf("RUNNING");
assert.equal(new Set([...before, ...after]).size, 5); // all are new
await call("DeleteService", {service: "runs", force: true});
const inactive = await sdk.waitUntilServicesInactive(waiting, running);
assert.equal(inactive.state, "SUCCESS");
const [last] = (await call("DescribeServices", running)).services;
assert.deepEqual([last.status, last.runningCount], ["INACTIVE", 0]);
const ends = (await call("DescribeTasks", {tasks: after})).tasks;
assert.deepEqual(ends.map(({lastStatus}) => lastStatus), ["STOPPED", "STOPPED", "STOPPED"]);
finish();
