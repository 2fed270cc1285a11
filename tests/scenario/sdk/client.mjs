// What the scripts of this folder share: a client of the server that the test has started, calls
// that must work, calls that must be refused, and at the end a line that says which operations were
// called.
import assert from "node:assert/strict";
import * as sdk from "@aws-sdk/client-ecs";

const {SLIPWAY_URL, SLIPWAY_KEY, SLIPWAY_SECRET} = process.env;

export const REGION = "us-east-1";
export const ACCOUNT = "123456789012";

export const client = new sdk.ECSClient({
	endpoint: SLIPWAY_URL,
	region: REGION,
	credentials: {accessKeyId: SLIPWAY_KEY, secretAccessKey: SLIPWAY_SECRET},
	maxAttempts: 1,
});

const good = new Set();
const bad = new Set();

export function arn(resource) {
	return `arn:aws:ecs:${REGION}:${ACCOUNT}:${resource}`;
}

// The answer of an operation, without what the SDK knows about the exchange.
export async function call(operation, input = {}) {
	const {$metadata, ...answer} = await client.send(new sdk[`${operation}Command`](input));
	assert.equal($metadata.httpStatusCode, 200);
	assert.match($metadata.requestId, /^[0-9a-f-]{36}$/);
	good.add(operation);
	return answer;
}

// The operation must fail with this error, which the SDK knows as a class of its own if the model
// has it.
export async function refused(operation, input, name, part) {
	const error = await client.send(new sdk[`${operation}Command`](input)).then(
		() => assert.fail(`${operation} was not refused`),
		(caught) => caught);
	assert.equal(error.name, name, `${operation}: ${error.name}: ${error.message}`);
	assert.equal(error.$metadata.httpStatusCode, 400);
	assert.match(error.$metadata.requestId, /^[0-9a-f-]{36}$/);
	assert.ok(error.message.includes(part), `${operation}: ${error.message}`);
	if (sdk[name])
		assert.ok(error instanceof sdk[name]);
	bad.add(operation);
}

export function finish() {
	client.destroy();
	console.log(JSON.stringify({good: [...good], bad: [...bad]}));
}

export const container = {name: "app", image: "busybox", memory: 64};
export {assert, sdk};
