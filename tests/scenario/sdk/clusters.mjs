import {arn, assert, call, client, finish, refused, sdk} from "./client.mjs";

const {cluster} = await call("CreateCluster", {
	clusterName: "js",
	tags: [{key: "a", value: "b"}],
	settings: [{name: "containerInsights", value: "enhanced"}],
	configuration: {
		executeCommandConfiguration: {logging: "NONE"},
		managedStorageConfiguration: {kmsKeyId: "k", fargateEphemeralStorageKmsKeyId: "f"},
	},
	capacityProviders: ["FARGATE"],
});
assert.equal(cluster.clusterArn, arn("cluster/js"));
assert.equal(cluster.status, "ACTIVE");
assert.deepEqual(cluster.configuration.managedStorageConfiguration,
	{kmsKeyId: "k", fargateEphemeralStorageKmsKeyId: "f"});
await refused("CreateCluster", {clusterName: "no spaces"}, "InvalidParameterException",
	"clusterName");
await refused("CreateCluster", {clusterName: "x", serviceConnectDefaults: {namespace:
	arn("namespace/ns-nowhere").replace(":ecs:", ":servicediscovery:")}},
	"NamespaceNotFoundException", "nowhere");

const described = await call("DescribeClusters", {clusters: ["js", "nobody"],
	include: ["ATTACHMENTS", "CONFIGURATIONS", "SETTINGS", "STATISTICS", "TAGS"]});
assert.deepEqual(described.clusters[0].tags, [{key: "a", value: "b"}]);
assert.deepEqual(described.failures, [{arn: arn("cluster/nobody"), reason: "MISSING"}]);
await refused("DescribeClusters", {clusters: Array(101).fill("x")}, "InvalidParameterException",
	"clusters");

for (const name of ["js-1", "js-2", "js-3"])
	await call("CreateCluster", {clusterName: name});
const listed = [];
for await (const page of sdk.paginateListClusters({client, pageSize: 2}, {}))
	listed.push(...page.clusterArns);
assert.deepEqual(listed, ["js", "js-1", "js-2", "js-3"].map((name) => arn(`cluster/${name}`)));
await call("ListClusters");
await refused("ListClusters", {nextToken: "made-up"}, "InvalidParameterException", "nextToken");

const updated = await call("UpdateCluster", {cluster: "js",
	settings: [{name: "containerInsights", value: "disabled"}]});
assert.equal(updated.cluster.settings[0].value, "disabled");
await refused("UpdateCluster", {cluster: "nobody"}, "ClusterNotFoundException",
	"Cluster not found");
await call("UpdateClusterSettings", {cluster: arn("cluster/js"),
	settings: [{name: "containerInsights", value: "enabled"}]});
await refused("UpdateClusterSettings", {cluster: "js", settings: []}, "InvalidParameterException",
	"settings");

await call("PutClusterCapacityProviders", {cluster: "js",
	capacityProviders: ["FARGATE", "FARGATE_SPOT"],
	defaultCapacityProviderStrategy: [{capacityProvider: "FARGATE", weight: 1}]});
await refused("PutClusterCapacityProviders", {cluster: "js", capacityProviders: ["nobody"],
	defaultCapacityProviderStrategy: []}, "InvalidParameterException", "was not found");

const deleted = await call("DeleteCluster", {cluster: "js"});
assert.equal(deleted.cluster.status, "INACTIVE");
await refused("DeleteCluster", {cluster: "nobody"}, "ClusterNotFoundException",
	"Cluster not found");
finish();
