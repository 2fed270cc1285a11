import * as sdk from "@aws-sdk/client-elastic-load-balancing-v2";

import {ACCOUNT, REGION, assert, open} from "./harness.mjs";

const {client, call, refused, finish} = open(sdk, sdk.ElasticLoadBalancingV2Client);
const prefix = `arn:aws:elasticloadbalancing:${REGION}:${ACCOUNT}`;
const nobody = `${prefix}:loadbalancer/app/nobody/0123456789abcdef`;
const noGroup = `${prefix}:targetgroup/nobody/0123456789abcdef`;
const soon = {client, minDelay: 0.05, maxDelay: 0.1, maxWaitTime: 60};

function values({Attributes}) {
	return Object.fromEntries(Attributes.map(({Key, Value}) => [Key, Value]));
}

// ---- load balancers ----

const {LoadBalancers: [balancer]} = await call("CreateLoadBalancer", {Name: "js",
	Subnets: ["subnet-1", "subnet-2"], SecurityGroups: ["sg-1"], Scheme: "internet-facing",
	Tags: [{Key: "a", Value: "b"}]});
const LoadBalancerArn = balancer.LoadBalancerArn;
assert.ok(LoadBalancerArn.startsWith(`${prefix}:loadbalancer/app/js/`));
assert.ok(balancer.CreatedTime instanceof Date);
assert.equal(balancer.State.Code, "provisioning");
assert.deepEqual(balancer.AvailabilityZones.map((zone) => zone.SubnetId), ["subnet-1", "subnet-2"]);
await refused("CreateLoadBalancer", {Name: "js", Type: "network"},
	"DuplicateLoadBalancerNameException", "js");
await refused("CreateLoadBalancer", {Name: "no_name"}, "ValidationError", "Name");
await refused("CreateLoadBalancer", {Name: "js-2", Type: "gateway"},
	"InvalidConfigurationRequestException", "GENEVE");

await sdk.waitUntilLoadBalancerAvailable(soon, {LoadBalancerArns: [LoadBalancerArn]});
await sdk.waitUntilLoadBalancerExists(soon, {LoadBalancerArns: [LoadBalancerArn]});
await call("DescribeLoadBalancers", {Names: ["js"]});
for (const Name of ["js-1", "js-2", "js-3"])
	await call("CreateLoadBalancer", {Name, Type: "network"});
const listed = [];
for await (const page of sdk.paginateDescribeLoadBalancers({client, pageSize: 3}, {}))
	listed.push(...page.LoadBalancers.map((one) => one.LoadBalancerName));
assert.deepEqual(listed, ["js", "js-1", "js-2", "js-3"]);
await refused("DescribeLoadBalancers", {LoadBalancerArns: [nobody]},
	"LoadBalancerNotFoundException", "nobody");

const zones = await call("SetSubnets", {LoadBalancerArn,
	SubnetMappings: [{SubnetId: "subnet-9"}]});
assert.equal(zones.AvailabilityZones[0].SubnetId, "subnet-9");
await refused("SetSubnets", {LoadBalancerArn, Subnets: ["x"]}, "InvalidSubnetException", "x");
const groups = await call("SetSecurityGroups", {LoadBalancerArn, SecurityGroups: ["sg-2"]});
assert.deepEqual(groups.SecurityGroupIds, ["sg-2"]);
await refused("SetSecurityGroups", {LoadBalancerArn, SecurityGroups: ["x"]},
	"InvalidSecurityGroupException", "x");
await call("SetIpAddressType", {LoadBalancerArn, IpAddressType: "ipv4"});
await refused("SetIpAddressType", {LoadBalancerArn, IpAddressType: "dualstack"},
	"InvalidConfigurationRequestException", "IPv4");

const changed = values(await call("ModifyLoadBalancerAttributes", {LoadBalancerArn,
	Attributes: [{Key: "client_keep_alive.seconds", Value: "60"}]}));
assert.equal(changed["client_keep_alive.seconds"], "60");
assert.deepEqual(values(await call("DescribeLoadBalancerAttributes", {LoadBalancerArn})), changed);
await refused("ModifyLoadBalancerAttributes", {LoadBalancerArn,
	Attributes: [{Key: "made.up", Value: "1"}]}, "ValidationError", "made.up");
await refused("DescribeLoadBalancerAttributes", {LoadBalancerArn: nobody},
	"LoadBalancerNotFoundException", "nobody");

// ---- target groups and targets ----

const {TargetGroups: [group]} = await call("CreateTargetGroup", {Name: "js", Protocol: "HTTPS",
	Port: 443, TargetType: "ip", VpcId: "vpc-1", ProtocolVersion: "HTTP1"});
const TargetGroupArn = group.TargetGroupArn;
assert.equal(group.Matcher.HttpCode, "200");
assert.equal(group.HealthCheckEnabled, true);
assert.deepEqual(group.LoadBalancerArns, []);
await refused("CreateTargetGroup", {Name: "js", Protocol: "HTTP", Port: 80, TargetType: "ip"},
	"DuplicateTargetGroupNameException", "js");
await refused("CreateTargetGroup", {Name: "quic", Protocol: "QUIC", Port: 443, TargetType: "ip"},
	"InvalidConfigurationRequestException", "QUIC");
await call("CreateTargetGroup", {Name: "js-1", Protocol: "UDP", Port: 53});
const names = [];
for await (const page of sdk.paginateDescribeTargetGroups({client, pageSize: 1}, {}))
	names.push(...page.TargetGroups.map((one) => one.TargetGroupName));
assert.deepEqual(names, ["js", "js-1"]);
await call("DescribeTargetGroups", {TargetGroupArns: [TargetGroupArn]});
await refused("DescribeTargetGroups", {Names: ["nobody"]}, "TargetGroupNotFoundException",
	"not found");
const modified = await call("ModifyTargetGroup", {TargetGroupArn, HealthCheckPath: "/up"});
assert.equal(modified.TargetGroups[0].HealthCheckPath, "/up");
await refused("ModifyTargetGroup", {TargetGroupArn, HealthCheckTimeoutSeconds: 1},
	"ValidationError", "'healthCheckTimeoutSeconds'");
const delayed = values(await call("ModifyTargetGroupAttributes", {TargetGroupArn,
	Attributes: [{Key: "deregistration_delay.timeout_seconds", Value: "1"}]}));
assert.equal(delayed["deregistration_delay.timeout_seconds"], "1");
assert.deepEqual(values(await call("DescribeTargetGroupAttributes", {TargetGroupArn})), delayed);
await refused("ModifyTargetGroupAttributes", {TargetGroupArn,
	Attributes: [{Key: "stickiness.type", Value: "source_ip"}]}, "ValidationError",
	"stickiness.type");
await refused("DescribeTargetGroupAttributes", {TargetGroupArn: noGroup},
	"TargetGroupNotFoundException", "nobody");

await call("RegisterTargets", {TargetGroupArn, Targets: [{Id: "10.0.0.1"},
	{Id: "10.0.0.2", Port: 8443, AvailabilityZone: "all"}]});
await refused("RegisterTargets", {TargetGroupArn, Targets: [{Id: "0.0.0.0"}]},
	"InvalidTargetException", "0.0.0.0");
const health = await call("DescribeTargetHealth", {TargetGroupArn, Include: ["AnomalyDetection"]});
assert.deepEqual(health.TargetHealthDescriptions.map((one) =>
	[one.Target.Id, one.Target.Port, one.TargetHealth.State, one.TargetHealth.Reason,
		one.AnomalyDetection.Result]),
	[["10.0.0.1", 443, "unused", "Target.NotInUse", "normal"],
		["10.0.0.2", 8443, "unused", "Target.NotInUse", "normal"]]);
await refused("DescribeTargetHealth", {TargetGroupArn: noGroup}, "TargetGroupNotFoundException",
	"nobody");
await call("DeregisterTargets", {TargetGroupArn, Targets: [{Id: "10.0.0.1"}]});
await refused("DeregisterTargets", {TargetGroupArn, Targets: []}, "ValidationError", "Targets");
await sdk.waitUntilTargetDeregistered(soon, {TargetGroupArn, Targets: [{Id: "10.0.0.1"}]});

// ---- tags and limits ----

const ResourceArns = [LoadBalancerArn, TargetGroupArn];
await call("AddTags", {ResourceArns, Tags: [{Key: "c", Value: "d"}]});
await call("RemoveTags", {ResourceArns, TagKeys: ["a"]});
const {TagDescriptions} = await call("DescribeTags", {ResourceArns});
assert.deepEqual(TagDescriptions.map((one) => one.Tags), Array(2).fill([{Key: "c", Value: "d"}]));
await refused("AddTags", {ResourceArns, Tags: [{Key: "x"}, {Key: "x"}]},
	"DuplicateTagKeysException", "x");
await refused("RemoveTags", {ResourceArns: [noGroup], TagKeys: ["a"]},
	"TargetGroupNotFoundException", "nobody");
await refused("DescribeTags", {ResourceArns: ["x"]}, "ValidationError", "ARN");
const {Limits} = await call("DescribeAccountLimits");
assert.ok(Limits.some(({Name, Max}) => Name === "targets-per-target-group" && Max === "1000"));
await refused("DescribeAccountLimits", {Marker: "x"}, "ValidationError", "Marker");

// ---- the end ----

await refused("DeleteTargetGroup", {TargetGroupArn: "x"}, "ValidationError", "ARN");
await call("DeleteTargetGroup", {TargetGroupArn});
await call("ModifyLoadBalancerAttributes", {LoadBalancerArn,
	Attributes: [{Key: "deletion_protection.enabled", Value: "true"}]});
await refused("DeleteLoadBalancer", {LoadBalancerArn}, "OperationNotPermittedException",
	"protection");
await call("ModifyLoadBalancerAttributes", {LoadBalancerArn,
	Attributes: [{Key: "deletion_protection.enabled", Value: "false"}]});
await call("DeleteLoadBalancer", {LoadBalancerArn});
await sdk.waitUntilLoadBalancersDeleted(soon, {LoadBalancerArns: [LoadBalancerArn]});
finish();
