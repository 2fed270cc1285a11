// Prints the operations and shapes that a client package knows, in the form in which botocore keeps a
// service's model, so that a botocore that is older than the package can call them all.
//
//	node newest_model.mjs @aws-sdk/client-servicediscovery
const sdk = await import(process.argv[2]);

// What a schema of the SDK says: simple types are numbers, lists and maps of them have a bit of their
// own, and everything else is an array [kind, namespace, name, traits, …].
const SIMPLE = {0: "string", 1: "long", 2: "boolean", 4: "timestamp", 5: "timestamp", 7: "timestamp"};
const [LIST_OF, MAP_OF] = [64, 128];
const [SIMPLE_KIND, LIST, MAP, STRUCTURE, OPERATION] = [0, 1, 2, 3, 9];
const operations = {};
const shapes = {};

function add(name, shape) {
	shapes[name] = shape;
	return {shape: name};
}

// The name keeps it apart from what the older model has.
function shapeOf(schema) {
	if (typeof schema === "function")
		return shapeOf(schema());
	if (schema === "unit")
		return add("NewestNothing", {type: "structure", members: {}});
	if (typeof schema === "number") {
		if (schema & MAP_OF)
			return add(`NewestMapOf${schema}`, {type: "map", key: shapeOf(0),
				value: shapeOf(schema & ~MAP_OF)});
		if (schema & LIST_OF)
			return add(`NewestListOf${schema}`, {type: "list", member: shapeOf(schema & ~LIST_OF)});
		if (!SIMPLE[schema])
			throw new Error(`type ${schema} is not known`);
		return add(`Newest${SIMPLE[schema]}`, {type: SIMPLE[schema]});
	}
	if (typeof schema[1] !== "string")
		return shapeOf(schema[0]); // a member: its schema, and traits of its own
	const [kind, , name, , first, second, required = 0] = schema;
	const own = `Newest${name}`;

	if (shapes[own])
		return {shape: own};
	if (kind === SIMPLE_KIND)
		return shapeOf(first);
	const shape = shapes[own] = {};
	if (kind === LIST)
		Object.assign(shape, {type: "list", member: shapeOf(first)});
	else if (kind === MAP)
		Object.assign(shape, {type: "map", key: shapeOf(first), value: shapeOf(second)});
	else if (kind === STRUCTURE)
		Object.assign(shape, {type: "structure", required: first.slice(0, required),
			members: Object.fromEntries(first.map((member, index) =>
				[member, shapeOf(second[index])]))});
	else
		throw new Error(`kind ${kind} of ${name} is not known`);
	return {shape: own};
}

for (const schema of Object.values(sdk)) {
	if (!Array.isArray(schema) || schema[0] !== OPERATION)
		continue;
	const [, , name, traits, input, output] = schema;

	operations[name] = {name, http: {method: "POST", requestUri: "/"}, input: shapeOf(input),
		output: {...shapeOf(output), resultWrapper: `${name}Result`}};
	if (traits?.endpoint)
		operations[name].endpoint = {hostPrefix: traits.endpoint[0]};
}
console.log(JSON.stringify({operations, shapes}));
