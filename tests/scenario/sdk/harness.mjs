// What the scripts of this folder share, whatever service they speak to: a client of the server that
// the test has started, calls that must work, calls that must be refused, and at the end a line that
// says which operations were called.
//
//	import * as sdk from "@aws-sdk/client-servicediscovery";
//	import {open} from "./harness.mjs";
//	const {call, refused, finish} = open(sdk, sdk.ServiceDiscoveryClient);
import assert from "node:assert/strict";

const {SLIPWAY_URL, SLIPWAY_KEY, SLIPWAY_SECRET} = process.env;

export const REGION = "us-east-1";
export const ACCOUNT = "123456789012";

export function open(sdk, Client, options = {}) {
	const client = new Client({
		endpoint: SLIPWAY_URL,
		region: REGION,
		credentials: {accessKeyId: SLIPWAY_KEY, secretAccessKey: SLIPWAY_SECRET},
		maxAttempts: 1,
		...options,
	});
	const good = new Set();
	const bad = new Set();

	// The answer of an operation, without what the SDK knows about the exchange.
	async function call(operation, input = {}) {
		const {$metadata, ...answer} = await client.send(new sdk[`${operation}Command`](input));
		assert.equal($metadata.httpStatusCode, 200);
		assert.match($metadata.requestId, /^[0-9a-f-]{36}$/);
		good.add(operation);
		return answer;
	}

	// The operation must fail with this error, which the SDK knows as a class of its own if the
	// model has it. Answers the error.
	async function refused(operation, input, name, part, status = 400) {
		const error = await client.send(new sdk[`${operation}Command`](input)).then(
			() => assert.fail(`${operation} was not refused`),
			(caught) => caught);
		assert.equal(error.name, name, `${operation}: ${error.name}: ${error.message}`);
		assert.equal(error.$metadata.httpStatusCode, status);
		assert.match(error.$metadata.requestId, /^[0-9a-f-]{36}$/);
		assert.ok(error.message.includes(part), `${operation}: ${error.message}`);
		if (sdk[name])
			assert.ok(error instanceof sdk[name]);
		bad.add(operation);
		return error;
	}

	function finish() {
		client.destroy();
		console.log(JSON.stringify({good: [...good], bad: [...bad]}));
	}

	return {client, call, refused, finish};
}

export {assert};
