// The client of the scripts that speak to ECS.
import * as sdk from "@aws-sdk/client-ecs";

import {ACCOUNT, REGION, assert, open} from "./harness.mjs";

export const {client, call, refused, finish} = open(sdk, sdk.ECSClient);

export function arn(resource) {
	return `arn:aws:ecs:${REGION}:${ACCOUNT}:${resource}`;
}

export const container = {name: "app", image: "busybox", memory: 64};
export {ACCOUNT, REGION, assert, sdk};
