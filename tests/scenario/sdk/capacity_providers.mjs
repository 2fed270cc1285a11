import {ACCOUNT, REGION, arn, assert, call, finish, refused} from "./client.mjs";

const autoScalingGroupArn = `arn:aws:autoscaling:${REGION}:${ACCOUNT}:autoScalingGroup:` +
	"11111111-2222-3333-4444-555555555555:autoScalingGroupName/group";
const managed = {
	infrastructureRoleArn: `arn:aws:iam::${ACCOUNT}:role/infrastructure`,
	instanceLaunchTemplate: {
		ec2InstanceProfileArn: `arn:aws:iam::${ACCOUNT}:instance-profile/p`,
		networkConfiguration: {subnets: ["subnet-1"], securityGroups: ["sg-1"]},
		storageConfiguration: {storageSizeGiB: 30},
		instanceRequirements: {
			vCpuCount: {min: 1, max: 4}, memoryMiB: {min: 1024},
			memoryGiBPerVCpu: {min: 0.5, max: 8},
		},
	},
	propagateTags: "CAPACITY_PROVIDER",
};

const {capacityProvider} = await call("CreateCapacityProvider", {name: "group",
	autoScalingGroupProvider: {autoScalingGroupArn, managedDraining: "DISABLED"}});
assert.equal(capacityProvider.type, "EC2_AUTOSCALING");
assert.equal(capacityProvider.autoScalingGroupProvider.managedDraining, "DISABLED");
await refused("CreateCapacityProvider", {name: "group",
	autoScalingGroupProvider: {autoScalingGroupArn}}, "InvalidParameterException",
	"already exists");

await call("CreateCluster", {clusterName: "home"});
const own = await call("CreateCapacityProvider", {name: "managed", cluster: "home",
	managedInstancesProvider: managed});
assert.equal(own.capacityProvider.type, "MANAGED_INSTANCES");
assert.deepEqual(own.capacityProvider.managedInstancesProvider, managed);
await refused("CreateCapacityProvider", {name: "lost", cluster: "nobody",
	managedInstancesProvider: managed}, "ClusterNotFoundException", "Cluster not found");
await refused("DeleteCluster", {cluster: "home"}, "ClusterContainsCapacityProviderException",
	"managed");

const described = await call("DescribeCapacityProviders", {
	capacityProviders: ["FARGATE", "group", "managed", "nobody"], include: ["TAGS"]});
assert.deepEqual(described.capacityProviders.map((one) => one.type),
	["FARGATE", "EC2_AUTOSCALING", "MANAGED_INSTANCES"]);
assert.deepEqual(described.failures,
	[{arn: arn("capacity-provider/nobody"), reason: "MISSING"}]);
const here = await call("DescribeCapacityProviders", {cluster: "home"});
assert.deepEqual(here.capacityProviders.map((one) => one.name), ["managed"]);
await refused("DescribeCapacityProviders", {maxResults: 11}, "InvalidParameterException",
	"maxResults");

const updated = await call("UpdateCapacityProvider", {name: "group",
	autoScalingGroupProvider: {managedScaling: {status: "ENABLED", targetCapacity: 80}}});
assert.equal(updated.capacityProvider.autoScalingGroupProvider.managedScaling.targetCapacity, 80);
assert.equal(updated.capacityProvider.autoScalingGroupProvider.managedDraining, "DISABLED");
await refused("UpdateCapacityProvider", {name: "nobody", autoScalingGroupProvider: {}},
	"InvalidParameterException", "was not found");

await call("DeleteCapacityProvider", {capacityProvider: "managed", cluster: "home"});
await refused("DeleteCapacityProvider", {capacityProvider: "FARGATE"},
	"InvalidParameterException", "FARGATE");
await call("DeleteCluster", {cluster: "home"});
finish();
