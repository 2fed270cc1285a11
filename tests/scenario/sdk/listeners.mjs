import net from "node:net";

import * as sdk from "@aws-sdk/client-elastic-load-balancing-v2";

import {ACCOUNT, REGION, assert, open} from "./harness.mjs";

const {client, call, refused, finish} = open(sdk, sdk.ElasticLoadBalancingV2Client);
const prefix = `arn:aws:elasticloadbalancing:${REGION}:${ACCOUNT}`;
const noBalancer = `${prefix}:loadbalancer/app/nobody/0123456789abcdef`;
const noListener = `${prefix}:listener/app/nobody/0123456789abcdef/0123456789abcdef`;
const noRule = `${prefix}:listener-rule/app/nobody/0123456789abcdef/0123456789abcdef/0123456789abcdef`;
const noStore = `${prefix}:truststore/nobody/0123456789abcdef`;
const answer = [{Type: "fixed-response", FixedResponseConfig: {StatusCode: "200"}}];
const path = [{Field: "path-pattern", Values: ["/x"]}];

// The test has put first.pem and second.pem into the server's folder.
function certificate(name) {
	return [{CertificateArn: `arn:aws:acm:${REGION}:${ACCOUNT}:certificate/${name}`}];
}

// Free on all addresses, so also on that of a load balancer.
function freePort() {
	return new Promise((resolve, reject) => {
		const server = net.createServer().on("error", reject);

		server.listen(0, "0.0.0.0", () => {
			const {port} = server.address();

			server.close(() => resolve(port));
		});
	});
}

async function balancer(Name, Type) {
	const {LoadBalancers: [made]} = await call("CreateLoadBalancer", {Name, Type});

	return {LoadBalancerArn: made.LoadBalancerArn};
}

async function group(Name, Protocol) {
	const {TargetGroups: [made]} = await call("CreateTargetGroup",
		{Name, Protocol, Port: 80, TargetType: "ip"});

	return made.TargetGroupArn;
}

const app = await balancer("app", "application");
const network = await balancer("net", "network");
const web = await group("web", "HTTP");
const tcp = await group("tcp", "TCP");
const port = await freePort();

// ---- listeners ----

const {Listeners: [listener]} = await call("CreateListener", {LoadBalancerArn: app.LoadBalancerArn,
	Protocol: "HTTPS", Port: port, Certificates: certificate("first"),
	MutualAuthentication: {Mode: "off"}, DefaultActions: answer});
const ListenerArn = listener.ListenerArn;
assert.equal(listener.Port, port);
assert.deepEqual(listener.MutualAuthentication, {Mode: "off"});
await refused("CreateListener", {LoadBalancerArn: app.LoadBalancerArn, Protocol: "HTTP", Port: port,
	DefaultActions: answer}, "DuplicateListenerException", String(port));
await refused("CreateListener", {LoadBalancerArn: app.LoadBalancerArn, Protocol: "HTTPS", Port: 1,
	Certificates: certificate("nobody"), DefaultActions: answer}, "CertificateNotFoundException",
	"nobody");
await refused("ModifyListener", {ListenerArn, MutualAuthentication: {Mode: "verify",
	TrustStoreArn: noStore}},
	"InvalidConfigurationRequestException", "MutualAuthentication");
await refused("CreateListener", {LoadBalancerArn: network.LoadBalancerArn, Protocol: "QUIC",
	Port: await freePort(), DefaultActions: [{Type: "forward", TargetGroupArn: tcp}]},
	"ValidationError", "QUIC");
await refused("ModifyListener", {ListenerArn, DefaultActions: [{Type: "jwt-validation",
	JwtValidationConfig: {JwksEndpoint: "https://a", Issuer: "b"}}]},
	"InvalidLoadBalancerActionException", "jwt-validation");
const {Listeners: [changed]} = await call("ModifyListener", {ListenerArn,
	SslPolicy: "ELBSecurityPolicy-TLS13-1-3-2021-06",
	DefaultActions: [{Type: "forward", TargetGroupArn: web}]});
assert.deepEqual(changed.DefaultActions, [{Type: "forward", TargetGroupArn: web, ForwardConfig: {
	TargetGroups: [{TargetGroupArn: web, Weight: 1}],
	TargetGroupStickinessConfig: {Enabled: false}}}]);
assert.deepEqual((await call("DescribeListeners", {ListenerArns: [ListenerArn]})).Listeners,
	[changed]);
await refused("DescribeListeners", {LoadBalancerArn: noBalancer}, "LoadBalancerNotFoundException",
	"nobody");

const {Listeners: [stream]} = await call("CreateListener", {
	LoadBalancerArn: network.LoadBalancerArn, Protocol: "TCP",
	Port: await freePort(), DefaultActions: [{Type: "forward", TargetGroupArn: tcp}]});
assert.deepEqual((await call("DescribeListenerAttributes",
	{ListenerArn: stream.ListenerArn})).Attributes,
	[{Key: "tcp.idle_timeout.seconds", Value: "350"}]);
assert.deepEqual((await call("ModifyListenerAttributes", {ListenerArn: stream.ListenerArn,
	Attributes: [{Key: "tcp.idle_timeout.seconds", Value: "60"}]})).Attributes,
	[{Key: "tcp.idle_timeout.seconds", Value: "60"}]);
await refused("ModifyListenerAttributes", {ListenerArn: stream.ListenerArn,
	Attributes: [{Key: "tcp.idle_timeout.seconds", Value: "59"}]}, "ValidationError", "60 to 6000");
await refused("ModifyListenerAttributes", {ListenerArn,
	Attributes: [{Key: "routing.http.response.x_frame_options.header_value", Value: "DENY"}]},
	"InvalidConfigurationRequestException", "does not add headers");
await refused("DescribeListenerAttributes", {ListenerArn: noListener}, "ListenerNotFoundException",
	"nobody");

// ---- certificates and policies ----

await call("AddListenerCertificates", {ListenerArn, Certificates: certificate("second")});
const described = await call("DescribeListenerCertificates", {ListenerArn});
assert.deepEqual(described.Certificates.map(({IsDefault}) => IsDefault), [true, false]);
await call("RemoveListenerCertificates", {ListenerArn, Certificates: certificate("second")});
await refused("AddListenerCertificates", {ListenerArn, Certificates: certificate("nobody")},
	"CertificateNotFoundException", "nobody");
await refused("RemoveListenerCertificates", {ListenerArn, Certificates: certificate("first")},
	"OperationNotPermittedException", "default");
await refused("DescribeListenerCertificates", {ListenerArn: noListener},
	"ListenerNotFoundException", "nobody");
assert.ok((await call("DescribeSSLPolicies")).SslPolicies.length >= 2);
await refused("DescribeSSLPolicies", {Names: ["made-up"]}, "SSLPolicyNotFoundException", "made-up");

// ---- rules ----

const {Rules: [rule]} = await call("CreateRule", {ListenerArn, Priority: 5, Conditions: path,
	Actions: answer, Tags: [{Key: "a", Value: "b"}]});
const {Rules: [second]} = await call("CreateRule", {ListenerArn, Priority: 6, Conditions: [
	{Field: "query-string", QueryStringConfig: {Values: [{Key: "k", Value: "v"}]}}],
	Actions: answer});
await refused("CreateRule", {ListenerArn, Priority: 5, Conditions: path, Actions: answer},
	"PriorityInUseException", "5");
await refused("CreateRule", {ListenerArn, Priority: 7, Actions: answer, Conditions: [
	{Field: "host-header", HostHeaderConfig: {RegexValues: ["^a$"]}}]}, "ValidationError",
	"RegexValues");
await refused("CreateRule", {ListenerArn, Priority: 7, Conditions: path, Actions: answer,
	Transforms: [{Type: "url-rewrite", UrlRewriteConfig: {Rewrites: [{Regex: "a", Replace: "b"}]}}]},
	"ValidationError", "Transforms");
const {Rules: swapped} = await call("SetRulePriorities", {RulePriorities: [
	{RuleArn: rule.RuleArn, Priority: 6}, {RuleArn: second.RuleArn, Priority: 5}]});
assert.deepEqual(swapped.map(({Priority}) => Priority), ["6", "5"]);
await refused("SetRulePriorities", {RulePriorities: [{RuleArn: rule.RuleArn, Priority: 5}]},
	"PriorityInUseException", "5");
const {Rules: [modified]} = await call("ModifyRule", {RuleArn: rule.RuleArn, Conditions: [
	{Field: "http-header", HttpHeaderConfig: {HttpHeaderName: "X-A", Values: ["*"]}}]});
assert.equal(modified.Conditions[0].HttpHeaderConfig.HttpHeaderName, "X-A");
await refused("ModifyRule", {RuleArn: noRule, Actions: answer}, "RuleNotFoundException", "nobody");
const rules = [];
for await (const page of sdk.paginateDescribeRules({client, pageSize: 1}, {ListenerArn}))
	rules.push(...page.Rules);
assert.deepEqual(rules.map(({Priority}) => Priority), ["5", "6", "default"]);
await call("DescribeRules", {RuleArns: [rule.RuleArn]});
await refused("DescribeRules", {RuleArns: [noRule]}, "RuleNotFoundException", "nobody");
await refused("DeleteRule", {RuleArn: rules[2].RuleArn}, "OperationNotPermittedException",
	"default");
await call("DeleteRule", {RuleArn: rule.RuleArn});
await call("DeleteListener", {ListenerArn});
await refused("DeleteListener", {ListenerArn}, "ListenerNotFoundException", "not found");

// ---- what slipway does not have ----

const store = {TrustStoreArn: noStore};
const bundle = {CaCertificatesBundleS3Bucket: "b", CaCertificatesBundleS3Key: "k"};
const missing = [
	["AddTrustStoreRevocations", store],
	["DeleteSharedTrustStoreAssociation", {...store, ResourceArn: ListenerArn}],
	["DeleteTrustStore", store],
	["DescribeTrustStoreAssociations", store],
	["DescribeTrustStoreRevocations", store],
	["DescribeTrustStores", {TrustStoreArns: [noStore]}],
	["GetTrustStoreCaCertificatesBundle", store],
	["GetTrustStoreRevocationContent", {...store, RevocationId: 1}],
	["ModifyTrustStore", {...store, ...bundle}],
	["RemoveTrustStoreRevocations", {...store, RevocationIds: [1]}],
];
for (const [operation, input] of missing)
	await refused(operation, input, "TrustStoreNotFoundException", "trust stores");
await refused("CreateTrustStore", {Name: "t", ...bundle}, "UnsupportedOperation", "trust stores");
assert.deepEqual((await call("DescribeTrustStores")).TrustStores, []);
await refused("GetResourcePolicy", {ResourceArn: noStore}, "ResourceNotFoundException", "nobody");
assert.deepEqual((await call("DescribeCapacityReservation",
	{LoadBalancerArn: app.LoadBalancerArn})).CapacityReservationState, []);
await refused("DescribeCapacityReservation", {LoadBalancerArn: noBalancer},
	"LoadBalancerNotFoundException", "nobody");
await call("ModifyCapacityReservation", {LoadBalancerArn: app.LoadBalancerArn,
	ResetCapacityReservation: true});
await refused("ModifyCapacityReservation", {LoadBalancerArn: app.LoadBalancerArn,
	MinimumLoadBalancerCapacity: {CapacityUnits: 100}}, "OperationNotPermittedException",
	"capacity");
await refused("ModifyIpPools", {LoadBalancerArn: app.LoadBalancerArn,
	IpamPools: {Ipv4IpamPoolId: "ipam-pool-1"}}, "UnsupportedOperation", "IPAM");
finish();
