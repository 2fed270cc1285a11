import {ACCOUNT, arn, assert, call, finish, refused} from "./client.mjs";

await call("CreateCluster", {clusterName: "js"});
const resourceArn = arn("cluster/js");
await call("TagResource", {resourceArn, tags: [{key: "a", value: "1"}, {key: "b", value: "2"}]});
await refused("TagResource", {resourceArn, tags: [{key: "aws:a", value: "1"}]},
	"InvalidParameterException", "aws:");
await call("UntagResource", {resourceArn, tagKeys: ["a"]});
await refused("UntagResource", {resourceArn: arn("task-definition/nobody:1"), tagKeys: ["a"]},
	"ResourceNotFoundException", "not found");
assert.deepEqual(await call("ListTagsForResource", {resourceArn}),
	{tags: [{key: "b", value: "2"}]});
await refused("ListTagsForResource", {resourceArn: arn("cluster/nobody")},
	"ClusterNotFoundException", "Cluster not found");

const {setting} = await call("PutAccountSetting", {name: "fargateEventWindows", value: "enabled"});
assert.deepEqual(setting, {name: "fargateEventWindows", value: "enabled",
	principalArn: `arn:aws:iam::${ACCOUNT}:user/admin`, type: "user"});
await refused("PutAccountSetting", {name: "fargateEventWindows", value: "ajar"},
	"InvalidParameterException", "value");
const standard = await call("PutAccountSettingDefault", {name: "defaultLogDriverMode",
	value: "blocking"});
assert.equal(standard.setting.principalArn, `arn:aws:iam::${ACCOUNT}:root`);
await refused("PutAccountSettingDefault", {name: "weather", value: "enabled"},
	"InvalidParameterException", "name");
const {settings} = await call("ListAccountSettings", {effectiveSettings: true});
const values = Object.fromEntries(settings.map((one) => [one.name, one.value]));
assert.equal(values.fargateEventWindows, "enabled");
assert.equal(values.defaultLogDriverMode, "blocking");
await refused("ListAccountSettings", {value: "enabled"}, "InvalidParameterException", "value");
const below = await call("DeleteAccountSetting", {name: "fargateEventWindows"});
assert.equal(below.setting.value, "disabled");
await refused("DeleteAccountSetting", {name: "weather"}, "InvalidParameterException", "name");
finish();
