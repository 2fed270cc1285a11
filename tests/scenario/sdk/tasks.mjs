// Tasks that really run, and the SDK's own waiters.
import {arn, assert, call, client, finish, refused, sdk} from "./client.mjs";

const waiting = {client, maxWaitTime: 120, minDelay: 1, maxDelay: 2};
const program = (command) => ({name: "app", image: "host", memory: 16, essential: true,
	command: ["sh", "-c", command]});

await call("RegisterTaskDefinition", {family: "js", containerDefinitions: [program("exec sleep 1000")]});
await call("RegisterTaskDefinition", {family: "ends", containerDefinitions: [program("exit 3")]});

const ran = await call("RunTask", {taskDefinition: "js", count: 2, startedBy: "js", clientToken: "one",
	tags: [{key: "a", value: "b"}]});
assert.deepEqual(ran.failures, []);
const tasks = ran.tasks.map((task) => task.taskArn);
assert.equal(new Set(tasks).size, 2);
assert.ok(tasks.every((task) => task.startsWith(arn("task/default/"))));
const again = await call("RunTask", {taskDefinition: "js", count: 2, startedBy: "js",
	clientToken: "one", tags: [{key: "a", value: "b"}]});
assert.deepEqual(again.tasks.map((task) => task.taskArn).sort(), [...tasks].sort());
await refused("RunTask", {taskDefinition: "js", count: 1, clientToken: "one"}, "ConflictException", "");
await refused("RunTask", {taskDefinition: "js", count: 11}, "InvalidParameterException", "count");

await sdk.waitUntilTasksRunning(waiting, {tasks});
const described = await call("DescribeTasks", {tasks: [...tasks, "0".repeat(32)], include: ["TAGS"]});
assert.deepEqual(described.tasks.map((task) => task.lastStatus), ["RUNNING", "RUNNING"]);
assert.deepEqual(described.tasks[0].tags, [{key: "a", value: "b"}]);
assert.ok(described.tasks[0].startedAt instanceof Date);
assert.equal(described.failures[0].reason, "MISSING");
await refused("DescribeTasks", {tasks: []}, "InvalidParameterException", "tasks");
await refused("ExecuteCommand", {task: tasks[0], command: "true", interactive: true},
	"TargetNotConnectedException", "slipway exec");

const listed = [];
for await (const page of sdk.paginateListTasks({client, pageSize: 1}, {startedBy: "js"}))
	listed.push(...page.taskArns);
assert.deepEqual(listed.sort(), [...tasks].sort());
await call("ListTasks", {family: "js", desiredStatus: "STOPPED"});
await refused("ListTasks", {desiredStatus: "ASLEEP"}, "InvalidParameterException", "desiredStatus");

const instance = described.tasks[0].containerInstanceArn;
const started = await call("StartTask", {taskDefinition: "ends", containerInstances: [instance]});
const ending = started.tasks[0].taskArn;
await sdk.waitUntilTasksStopped(waiting, {tasks: [ending]});
const ended = (await call("DescribeTasks", {tasks: [ending]})).tasks[0];
assert.equal(ended.containers[0].exitCode, 3);
assert.equal(ended.stopCode, "EssentialContainerExited");
await refused("StartTask", {taskDefinition: "ends", containerInstances: []},
	"InvalidParameterException", "containerInstances");

const unprotected = await call("GetTaskProtection", {cluster: "default", tasks});
assert.equal(unprotected.failures.length, 2); // only tasks of services can be protected
await refused("GetTaskProtection", {cluster: "nobody", tasks}, "ClusterNotFoundException", "luster");
await call("UpdateTaskProtection", {cluster: "default", tasks, protectionEnabled: true});
await refused("UpdateTaskProtection", {cluster: "default", tasks, protectionEnabled: true,
	expiresInMinutes: 100000}, "InvalidParameterException", "expiresInMinutes");

for (const task of tasks) {
	const stopped = await call("StopTask", {task, reason: "enough"});
	assert.equal(stopped.task.desiredStatus, "STOPPED");
}
await sdk.waitUntilTasksStopped(waiting, {tasks});
const last = (await call("DescribeTasks", {tasks})).tasks;
assert.deepEqual(last.map((task) => task.stopCode), ["UserInitiated", "UserInitiated"]);
await refused("StopTask", {task: "0".repeat(32)}, "InvalidParameterException", "not found");
finish();
