/*
 * Shapes: lookups, good and bad requests by hand, and then every member of every operation by
 * machine: a request made from the tables is accepted, and each way of spoiling one value of it is
 * refused with that value's path.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "aws/shape.h"
#include "base/memory.h"

#define SERIALIZATION "SerializationException"
#define INVALID "InvalidParameterException"
#define CLIENT "ClientException"

/* The tests that check every row run once for each service. */
static const struct shape_service *tested;

static void test_find_service(void **state)
{
	(void)state;
	assert_ptr_equal(shape_find_service(SPAN("ecs")), &shape_ecs);
	assert_ptr_equal(shape_find_service(SPAN("servicediscovery")), &shape_servicediscovery);
	assert_ptr_equal(shape_find_service(SPAN("elasticloadbalancingv2")),
		&shape_elasticloadbalancingv2);
	/* as signatures call it */
	assert_ptr_equal(shape_find_service(SPAN("elasticloadbalancing")),
		&shape_elasticloadbalancingv2);
	assert_ptr_equal(shape_find_service(SPAN("slipway")), &shape_slipway);
	assert_null(shape_find_service(SPAN("ec")));
	assert_null(shape_find_service(SPAN("ECS")));
	assert_string_equal(shape_ecs.target_prefix, "AmazonEC2ContainerServiceV20141113");
	assert_string_equal(shape_ecs.signing_name, "ecs");
	assert_string_equal(shape_ecs.protocol, "json");
	assert_string_equal(shape_ecs.version, "2014-11-13");
}

static void test_find_operation(void **state)
{
	static const char *const unknown[] = {"", "A", "Zzz", "runtask", "RunTas", "RunTaskk"};

	tested = *state;
	assert_true(tested->operation_count >= (tested == &shape_slipway ? 17 : 30));
	for (size_t i = 0; i < tested->operation_count; i++) {
		const struct shape_operation *operation = &tested->operations[i];
		struct span name = shape_text(tested, operation->name);

		assert_ptr_equal(shape_find_operation(tested, name), operation);
	}
	for (size_t i = 0; i < LENGTH(unknown); i++)
		assert_null(shape_find_operation(tested, span_of(unknown[i])));
}

static void test_find_member(void **state)
{
	tested = *state;
	for (size_t i = 0; i < tested->shape_count; i++) {
		const struct shape *shape = &tested->shapes[i];
		size_t required = 0;

		if (shape->type != SHAPE_STRUCTURE)
			continue;
		for (size_t m = 0; m < shape->count; m++) {
			const struct shape_member *member = &tested->members[shape->first + m];
			struct span name = shape_text(tested, member->name);

			assert_int_equal(strlen(name.data), name.length);
			assert_ptr_equal(shape_find_member(tested, shape, name), member);
			assert_true(member->shape < tested->shape_count);
			required += member->flags & SHAPE_REQUIRED;
		}
		assert_int_equal(shape->required, required);
		assert_null(shape_find_member(tested, shape, SPAN("")));
		assert_null(shape_find_member(tested, shape, SPAN("noSuchMember")));
	}
}

static void test_errors_of_operations(void **state)
{
	const struct shape_operation *run = shape_find_operation(&shape_ecs, SPAN("RunTask"));
	const struct shape_operation *list = shape_find_operation(&shape_ecs, SPAN("ListClusters"));

	(void)state;
	assert_true(shape_operation_has_error(&shape_ecs, run, SPAN("BlockedException")));
	assert_true(shape_operation_has_error(&shape_ecs, run, SPAN("ServerException")));
	assert_false(shape_operation_has_error(&shape_ecs, run, SPAN("TargetNotFoundException")));
	assert_false(shape_operation_has_error(&shape_ecs, list, SPAN("BlockedException")));
	for (size_t i = 0; i < shape_ecs.operation_count; i++) {
		const struct shape_operation *operation = &shape_ecs.operations[i];

		for (size_t e = 0; e < operation->error_count; e++) {
			uint16_t error = shape_ecs.errors[operation->first_error + e];
			assert_true(shape_ecs.shapes[error].flags & SHAPE_ERROR);
		}
		/* Validation must answer with an error that clients expect of the operation. */
		assert_true(shape_operation_has_error(&shape_ecs, operation,
			shape_text(&shape_ecs, operation->invalid_input)));
	}
}

/* ---- requests by hand ---- */

#define CONTAINER(more) "{\"family\":\"f\",\"containerDefinitions\":[{\"name\":\"a\"" more "}]}"

static const struct request {
	const char *operation;
	const char *text;
	const char *error;   /* NULL: accepted */
	const char *message; /* NULL: whatever it says */
} requests[] = {
	/* accepted */
	{"ListClusters", "{}", NULL, NULL},
	{"ListClusters", "{\"maxResults\":1}", NULL, NULL},
	{"ListClusters", "{\"maxResults\":100,\"nextToken\":\"x\"}", NULL, NULL},
	{"CreateCluster", "{}", NULL, NULL},
	{"CreateCluster", "{\"clusterName\":null,\"tags\":null,\"configuration\":null}", NULL,
		NULL},
	{"CreateCluster", "{\"clusterName\":\"\"}", NULL, NULL},
	{"CreateCluster",
		"{\"settings\":[{\"name\":\"containerInsights\",\"value\":\"enhanced\"}],\"tags\":["
		"]}",
		NULL, NULL},
	{"CreateCluster", "{\"unknown\":{\"clusterName\":[1,2]},\"clusterName\":\"a\"}", NULL,
		NULL},
	{"CreateCluster",
		"{\"defaultCapacityProviderStrategy\":[{\"capacityProvider\":\"FARGATE\","
		"\"weight\":1000,"
		"\"base\":100000}]}",
		NULL, NULL},
	{"RegisterTaskDefinition", CONTAINER(""), NULL, NULL},
	{"RegisterTaskDefinition", CONTAINER(",\"memory\":128,\"cpu\":-1,\"essential\":true"), NULL,
		NULL},
	{"RegisterTaskDefinition",
		CONTAINER(",\"environment\":[{\"name\":\"A\",\"value\":\"\"},{}]"), NULL, NULL},
	{"RegisterTaskDefinition",
		CONTAINER(",\"dockerLabels\":{\"a.b\":\"c\",\"\":\"d\",\"e\":null}"), NULL, NULL},
	{"RegisterTaskDefinition",
		CONTAINER(",\"healthCheck\":{\"command\":[\"CMD\",\"true\"],\"interval\":5}"), NULL,
		NULL},
	{"RegisterTaskDefinition",
		"{\"family\":\"f\",\"containerDefinitions\":[],\"requiresCompatibilities\":["
		"\"FARGATE\","
		"\"EC2\"],\"cpu\":\"256\",\"memory\":\"512\",\"networkMode\":\"awsvpc\","
		"\"revision\":3,"
		"\"status\":\"ACTIVE\",\"taskDefinitionArn\":\"arn\",\"registeredAt\":1.5}",
		NULL, NULL},
	{"CreateService",
		"{\"serviceName\":\"s\",\"deploymentConfiguration\":{\"lifecycleHooks\":[{"
		"\"hookDetails\":{\"any\":[1,null,{}]}}]}}",
		NULL, NULL},
	{"CreateService",
		"{\"serviceName\":\"s\",\"deploymentConfiguration\":{\"canaryConfiguration\":{"
		"\"canaryPercent\":12.5,\"canaryBakeTimeInMinutes\":3}}}",
		NULL, NULL},
	{"DescribeTasks", "{\"tasks\":[\"a\"],\"include\":[\"TAGS\"]}", NULL, NULL},
	{"SubmitTaskStateChange", "{\"pullStartedAt\":1700000000.123}", NULL, NULL},
	{"TagResource",
		"{\"resourceArn\":\"a\",\"tags\":[{\"key\":\"\xc3\xa4\",\"value\":\"\"},{\"key\":"
		"\"k\"}]}",
		NULL, NULL},
	{"UpdateTaskProtection",
		"{\"cluster\":\"c\",\"tasks\":[\"t\"],\"protectionEnabled\":false,"
		"\"expiresInMinutes\":2880}",
		NULL, NULL},

	/* wrong types */
	{"ListClusters", "[]", SERIALIZATION, "the request: expected an object, not an array"},
	{"ListClusters", "\"x\"", SERIALIZATION, "the request: expected an object, not a string"},
	{"ListClusters", "null", SERIALIZATION, "the request: expected an object, not null"},
	{"ListClusters", "{\"maxResults\":\"10\"}", SERIALIZATION,
		"maxResults: expected an integer, not a string"},
	{"ListClusters", "{\"maxResults\":10.5}", SERIALIZATION,
		"maxResults: expected an integer, not another number"},
	{"ListClusters", "{\"maxResults\":2147483648}", SERIALIZATION,
		"maxResults: the integer does not fit in 32 bits"},
	{"ListClusters", "{\"maxResults\":-2147483649}", SERIALIZATION, NULL},
	{"ListClusters", "{\"maxResults\":99999999999999999999999999}", SERIALIZATION, NULL},
	{"ListClusters", "{\"nextToken\":5}", SERIALIZATION,
		"nextToken: expected a string, not a number"},
	{"ListClusters", "{\"nextToken\":true}", SERIALIZATION,
		"nextToken: expected a string, not a boolean"},
	{"CreateCluster", "{\"tags\":{}}", SERIALIZATION, "tags: expected a list, not an object"},
	{"CreateCluster", "{\"tags\":[null]}", SERIALIZATION,
		"tags[0]: expected an object, not null"},
	{"CreateCluster", "{\"tags\":[{},{\"key\":[]}]}", SERIALIZATION,
		"tags[1].key: expected a string, not an array"},
	{"CreateCluster", "{\"configuration\":\"x\"}", SERIALIZATION,
		"configuration: expected an object, not a string"},
	{"CreateCluster",
		"{\"configuration\":{\"executeCommandConfiguration\":{\"logConfiguration\":{"
		"\"s3EncryptionEnabled\":\"yes\"}}}}",
		SERIALIZATION,
		"configuration.executeCommandConfiguration.logConfiguration.s3EncryptionEnabled: "
		"expected "
		"true or false, not a string"},
	{"RegisterTaskDefinition",
		"{\"family\":\"f\",\"containerDefinitions\":[{},{\"memory\":\"128\"}]}",
		SERIALIZATION, "containerDefinitions[1].memory: expected an integer, not a string"},
	{"RegisterTaskDefinition", "{\"family\":\"f\",\"containerDefinitions\":[\"a\"]}",
		SERIALIZATION, "containerDefinitions[0]: expected an object, not a string"},
	{"RegisterTaskDefinition", CONTAINER(",\"command\":[\"a\",1]"), SERIALIZATION,
		"containerDefinitions[0].command[1]: expected a string, not a number"},
	{"RegisterTaskDefinition", CONTAINER(",\"command\":[null]"), SERIALIZATION,
		"containerDefinitions[0].command[0]: expected a string, not null"},
	{"RegisterTaskDefinition", CONTAINER(",\"dockerLabels\":{\"a.b\":1}"), SERIALIZATION,
		"containerDefinitions[0].dockerLabels['a.b']: expected a string, not a number"},
	{"RegisterTaskDefinition", CONTAINER(",\"dockerLabels\":[]"), SERIALIZATION,
		"containerDefinitions[0].dockerLabels: expected an object, not an array"},
	{"RegisterTaskDefinition", "{\"cpu\":256}", SERIALIZATION,
		"cpu: expected a string, not a number"},
	/* … also when a value is out of bounds before them */
	{"RegisterTaskDefinition", "{\"networkMode\":\"x\",\"cpu\":256}", SERIALIZATION,
		"cpu: expected a string, not a number"},
	{"CreateCluster", "{\"tags\":[{\"key\":\"\"},{\"key\":1}]}", SERIALIZATION,
		"tags[1].key: expected a string, not a number"},
	{"UpdateTaskProtection", "{\"cluster\":\"c\",\"tasks\":[],\"protectionEnabled\":1}",
		SERIALIZATION, "protectionEnabled: expected true or false, not a number"},
	{"SubmitTaskStateChange", "{\"pullStartedAt\":\"2024-01-01T00:00:00Z\"}", SERIALIZATION,
		"pullStartedAt: expected a time in seconds, not a string"},
	{"CreateService",
		"{\"serviceName\":\"s\",\"serviceConnectConfiguration\":{\"enabled\":\"true\"}}",
		SERIALIZATION,
		"serviceConnectConfiguration.enabled: expected true or false, not a string"},
	/* a union has exactly one member */
	{"CreateGateway", "{\"configuration\":{}}", SERIALIZATION, NULL},

	/* missing */
	{"RegisterTaskDefinition", "{}", CLIENT, "family: is required"},
	{"RegisterTaskDefinition", "{\"family\":\"f\"}", CLIENT,
		"containerDefinitions: is required"},
	{"RegisterTaskDefinition", "{\"family\":null,\"containerDefinitions\":[]}", CLIENT,
		"family: is required"},
	{"RegisterTaskDefinition", CONTAINER(",\"healthCheck\":{}"), CLIENT,
		"containerDefinitions[0].healthCheck.command: is required"},
	{"RegisterTaskDefinition",
		CONTAINER(",\"ulimits\":[{\"name\":\"core\",\"softLimit\":1,\"hardLimit\":1},{"
			  "\"name\":"
			  "\"core\",\"softLimit\":1}]"),
		CLIENT, "containerDefinitions[0].ulimits[1].hardLimit: is required"},
	{"CreateService", "{}", INVALID, "serviceName: is required"},
	{"RunTask", "{}", INVALID, "taskDefinition: is required"},
	{"DescribeTasks", "{}", INVALID, "tasks: is required"},
	{"StopTask", "{\"cluster\":\"c\"}", INVALID, "task: is required"},
	{"TagResource", "{\"tags\":[]}", INVALID, "resourceArn: is required"},
	{"CreateCapacityProvider", "{\"name\":\"n\",\"autoScalingGroupProvider\":{}}", INVALID,
		"autoScalingGroupProvider.autoScalingGroupArn: is required"},

	/* enums */
	{"RunTask", "{\"taskDefinition\":\"t\",\"launchType\":\"fargate\"}", INVALID,
		"launchType: 'fargate' is not one of EC2, EXTERNAL, FARGATE, MANAGED_INSTANCES"},
	{"RunTask", "{\"taskDefinition\":\"t\",\"launchType\":\"\"}", INVALID, NULL},
	{"DescribeTasks", "{\"tasks\":[],\"include\":[\"TAGS\",\"tags\"]}", INVALID,
		"include[1]: 'tags' is not one of TAGS"},
	{"RegisterTaskDefinition",
		"{\"family\":\"f\",\"containerDefinitions\":[],\"networkMode\":\"AWSVPC\"}", CLIENT,
		"networkMode: 'AWSVPC' is not one of awsvpc, bridge, host, none"},
	{"ListTasks", "{\"desiredStatus\":\"GONE\"}", INVALID,
		"desiredStatus: 'GONE' is not one of PENDING, RUNNING, STOPPED"},

	/* ranges and lengths */
	{"ListClusters", "{\"maxResults\":0}", INVALID,
		"maxResults: must be between 1 and 100, not 0"},
	{"ListClusters", "{\"maxResults\":101}", INVALID,
		"maxResults: must be between 1 and 100, not 101"},
	{"RunTask", "{\"taskDefinition\":\"t\",\"count\":11}", INVALID,
		"count: must be between 1 and 10, not 11"},
	{"DescribeServices",
		"{\"services\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\","
		"\"11\"]}",
		INVALID, "services: must have at most 10 items, not 11"},
	{"TagResource", "{\"resourceArn\":\"a\",\"tags\":[{\"key\":\"\"}]}", INVALID,
		"tags[0].key: must have between 1 and 128 characters, not 0"},
	{"CreateService", "{\"serviceName\":\"s\",\"desiredCount\":-1}", INVALID,
		"desiredCount: must be at least 0, not -1"},
	{"RegisterTaskDefinition",
		CONTAINER(",\"healthCheck\":{\"command\":[\"CMD\"],\"interval\":4}"), CLIENT,
		"containerDefinitions[0].healthCheck.interval: must be between 5 and 300, not 4"},
	{"CreateCluster",
		"{\"defaultCapacityProviderStrategy\":[{\"capacityProvider\":\"F\",\"weight\":1001}"
		"]}",
		INVALID,
		"defaultCapacityProviderStrategy[0].weight: must be between 0 and 1000, not 1001"},
	{"CreateDaemon",
		"{\"daemonName\":\"d\",\"daemonTaskDefinitionArn\":\"a\",\"capacityProviderArns\":["
		"],"
		"\"deploymentConfiguration\":{\"drainPercent\":100.5}}",
		INVALID,
		"deploymentConfiguration.drainPercent: must be between 0 and 100, not 100.5"},
	/* the first of two */
	{"RunTask", "{\"count\":0,\"launchType\":\"x\"}", INVALID,
		"count: must be between 1 and 10, not 0"},
};

static int validate(const char *operation, struct span text, struct arena *arena,
	struct shape_problem *ret_problem)
{
	const struct shape_operation *found = shape_find_operation(&shape_ecs, span_of(operation));
	struct json *request = NULL;
	struct err err;

	assert_non_null(found);
	if (json_parse(text, arena, &request, &err) < 0)
		fail_msg("%s in %.*s", err.message, SPAN_ARGS(text));
	return shape_validate(&shape_ecs, found, request, arena, ret_problem);
}

static void test_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(requests); i++) {
		_arena_ struct arena *arena = arena_new(0);
		const struct request *request = &requests[i];
		struct shape_problem problem = {.error = "untouched"};
		int code = validate(request->operation, span_of(request->text), arena, &problem);

		if (!request->error) {
			if (code < 0)
				fail_msg("%s %s: %s", request->operation, request->text,
					problem.message.data);
			assert_string_equal(problem.error, "untouched");
			continue;
		}
		if (code != -EINVAL)
			fail_msg("%s accepted %s", request->operation, request->text);
		assert_string_equal(problem.error, request->error);
		if (request->message)
			assert_string_equal(problem.message.data, request->message);
		assert_true(span_starts_with(problem.message, problem.path));
	}
}

/* Characters are counted, not bytes. */
static void test_lengths_count_characters(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct shape_problem problem;

	(void)state;
	for (size_t count = 127; count <= 129; count++) {
		_buffer_ struct buffer text = {0};

		buffer_add_string(&text, "{\"resourceArn\":\"a\",\"tags\":[{\"key\":\"");
		for (size_t i = 0; i < count; i++)
			buffer_add_string(&text, i % 2 ? "\xc3\xa4" : "\xf0\x9f\x9a\xa2");
		buffer_add_string(&text, "\"}]}");
		int code = validate("TagResource", buffer_span(&text), arena, &problem);
		assert_int_equal(code, count <= 128 ? 0 : -EINVAL);
	}
	assert_string_equal(problem.message.data,
		"tags[0].key: must have between 1 and 128 characters, not 129");
}

/* Messages quote only a part of the client's input, cut between characters. */
static void test_messages_stay_short(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer text = {0};
	struct shape_problem problem;

	(void)state;
	buffer_add_string(&text, "{\"taskDefinition\":\"t\",\"launchType\":\"x");
	for (int i = 0; i < 10000; i++)
		buffer_add_string(&text, "\xc3\xa4");
	buffer_add_string(&text, "\"}");
	assert_int_equal(validate("RunTask", buffer_span(&text), arena, &problem), -EINVAL);
	assert_true(problem.message.length < 256);
	assert_non_null(strstr(problem.message.data, "\xc3\xa4…' is not one of EC2"));

	buffer_reset(&text);
	buffer_add_string(&text, "{\"containerDefinitions\":[{\"dockerLabels\":{\"");
	for (int i = 0; i < 10000; i++)
		buffer_add_char(&text, 'k');
	buffer_add_string(&text, "\":1}}]}");
	assert_int_equal(validate("RegisterTaskDefinition", buffer_span(&text), arena, &problem),
		-EINVAL);
	assert_true(problem.message.length < 256);
	assert_string_equal(problem.error, SERIALIZATION);
}

/* A request that filled its arena is refused, not the end of the process. */
static void test_full_arena(void **state)
{
	_arena_ struct arena *parsed = arena_new(0);
	_arena_ struct arena *full = arena_new(4096);
	const struct shape_operation *operation =
		shape_find_operation(&shape_ecs, SPAN("ListClusters"));
	struct shape_problem problem = {0};
	struct json *request = NULL;

	(void)state;
	assert_int_equal(json_parse(SPAN("{\"maxResults\":0}"), parsed, &request, NULL), 0);
	while (arena_allocate_capped(full, 1))
		;
	assert_int_equal(shape_validate(&shape_ecs, operation, request, full, &problem), -EINVAL);
	assert_string_equal(problem.error, INVALID);
	assert_string_equal(problem.message.data, "the request is not valid");
	assert_int_equal(problem.path.length, 0);
}

/* ---- every member of every operation ---- */

static int64_t clamp_to_limits(const struct shape *shape, int64_t value)
{
	const struct shape_limits *limits = &tested->limits[shape->limits];

	if (shape->limits == 0)
		return value;
	if (value < limits->min)
		return limits->min;
	return value > limits->max ? limits->max : value;
}

/* As much of it as a string must have. */
static const char long_text[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

/* A value that fits the shape and has every member that can be had; a union has its first. */
static struct json *sample(struct arena *arena, uint16_t index)
{
	const struct shape *shape = &tested->shapes[index];
	struct json *value;

	switch ((enum shape_type)shape->type) {
	case SHAPE_STRING:
		if (shape->count > 0)
			return json_new_string(arena,
				shape_text(tested, tested->values[shape->first]));
		return json_new_string(arena,
			(struct span){long_text, (size_t)clamp_to_limits(shape, 1)});
	case SHAPE_INTEGER:
	case SHAPE_LONG: return json_new_integer(arena, clamp_to_limits(shape, 7));
	case SHAPE_FLOAT:
	case SHAPE_DOUBLE:
	case SHAPE_TIMESTAMP: return json_new_double(arena, 1.5);
	case SHAPE_BOOLEAN: return json_new_bool(arena, true);
	case SHAPE_BLOB: return json_new_string(arena, SPAN("eA=="));
	case SHAPE_DOCUMENT: return json_new_object(arena);
	case SHAPE_LIST:
		value = json_new_array(arena);
		json_append(arena, value, sample(arena, shape->element));
		return value;
	case SHAPE_MAP:
		value = json_new_object(arena);
		json_set(arena, value, "k", sample(arena, shape->element));
		return value;
	case SHAPE_STRUCTURE:
		value = json_new_object(arena);
		for (size_t i = 0; i < shape->count; i++) {
			const struct shape_member *member = &tested->members[shape->first + i];

			if ((shape->flags & SHAPE_UNION) && i > 0)
				break;
			json_set(arena, value, shape_text(tested, member->name).data,
				sample(arena, member->shape));
		}
		return value;
	}
	abort();
}

struct spoiler {
	struct arena *arena;
	const struct shape_operation *operation;
	const struct json *request;
	size_t spoiled; /* values that were spoiled */
};

/* The request has just been spoiled at path. */
static void expect_refused(struct spoiler *spoiler, const char *path, bool type)
{
	struct shape_problem problem = {0};
	const char *invalid = shape_text(tested, spoiler->operation->invalid_input).data;
	int code = shape_validate(tested, spoiler->operation, spoiler->request, spoiler->arena,
		&problem);

	if (code != -EINVAL)
		fail_msg("%s: %s spoiled and not refused",
			shape_text(tested, spoiler->operation->name).data, path);
	assert_string_equal(problem.error, type ? SERIALIZATION : invalid);
	assert_int_equal(problem.path.length, strlen(path));
	assert_memory_equal(problem.path.data, path, problem.path.length);
	spoiler->spoiled++;
}

/* Puts each wrong value in the place of *value in turn, then goes deeper. */
static void spoil(struct spoiler *spoiler, struct json *value, uint16_t index, const char *path)
{
	const struct shape *shape = &tested->shapes[index];
	const struct json good = *value;
	bool number = shape->type == SHAPE_INTEGER || shape->type == SHAPE_LONG ||
		      shape->type == SHAPE_FLOAT || shape->type == SHAPE_DOUBLE ||
		      shape->type == SHAPE_TIMESTAMP;

	if (shape->type == SHAPE_DOCUMENT)
		return;
	*value = number ? *json_new_string(spoiler->arena, SPAN("7"))
			: *json_new_integer(spoiler->arena, 7);
	expect_refused(spoiler, path, true);
	if (shape->type == SHAPE_STRING && shape->count > 0) {
		*value = *json_new_string(spoiler->arena, SPAN("no such value"));
		expect_refused(spoiler, path, false);
	}
	if (number && shape->limits > 0 && tested->limits[shape->limits].min > INT32_MIN) {
		*value = *json_new_integer(spoiler->arena, tested->limits[shape->limits].min - 1);
		expect_refused(spoiler, path, false);
	}
	*value = good;
	if (shape->type == SHAPE_LIST) {
		_free_ char *deeper = memory_format("%s[0]", path);
		spoil(spoiler, good.array.items[0], shape->element, deeper);
	}
	if (shape->type == SHAPE_MAP) {
		_free_ char *deeper = memory_format("%s['k']", path);
		spoil(spoiler, good.object.members[0].value, shape->element, deeper);
	}
	for (size_t i = 0; shape->type == SHAPE_STRUCTURE && i < good.object.count; i++) {
		struct json_member *entry = &good.object.members[i];
		const struct shape_member *member = &tested->members[shape->first + i];
		_free_ char *deeper =
			memory_format("%s%s%.*s", path, *path ? "." : "", SPAN_ARGS(entry->name));

		spoil(spoiler, entry->value, member->shape, deeper);
		if (member->flags & SHAPE_REQUIRED) {
			struct json requested = *entry->value;

			entry->value->type = JSON_NULL;
			expect_refused(spoiler, deeper, false);
			*entry->value = requested;
		}
	}
}

static void test_every_member_of_every_operation(void **state)
{
	size_t spoiled = 0;

	tested = *state;
	for (size_t i = 0; i < tested->operation_count; i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct spoiler spoiler = {.arena = arena, .operation = &tested->operations[i]};
		struct json *request = sample(arena, spoiler.operation->input);
		struct shape_problem problem;

		spoiler.request = request;
		if (shape_validate(tested, spoiler.operation, request, arena, &problem) < 0)
			fail_msg("%s: %s", shape_text(tested, spoiler.operation->name).data,
				problem.message.data);
		spoil(&spoiler, request, spoiler.operation->input, "");
		/* Spoiling leaves the request as it was. */
		assert_int_equal(shape_validate(tested, spoiler.operation, request, arena,
					 &problem),
			0);
		spoiled += spoiler.spoiled;
	}
	assert_true(spoiled > (tested == &shape_ecs ? 2000 : 150));
}

static void test_write_json(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer out = {0};
	struct json *tables = NULL;
	struct err err;

	(void)state;
	shape_write_json(&shape_ecs, &out);
	if (json_parse(buffer_span(&out), arena, &tables, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(json_count(json_get(tables, "operations")), 88);
	assert_true(span_is(json_text(json_path(tables,
				    "structures.RunTaskRequest.members.count.value.type")),
		"integer"));
	assert_true(json_is_true(json_path(tables,
		"structures.RunTaskRequest.members.taskDefinition.required")));
	assert_int_equal(json_count(json_path(tables, "enums.LaunchType")), 4);
}

#define FOR_EACH_SERVICE(test)                                                                     \
	cmocka_unit_test_prestate(test, (void *)&shape_ecs),                                       \
		cmocka_unit_test_prestate(test, (void *)&shape_elasticloadbalancingv2),            \
		cmocka_unit_test_prestate(test, (void *)&shape_servicediscovery),                  \
		cmocka_unit_test_prestate(test, (void *)&shape_slipway)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find_service),
		FOR_EACH_SERVICE(test_find_operation),
		FOR_EACH_SERVICE(test_find_member),
		cmocka_unit_test(test_errors_of_operations),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_lengths_count_characters),
		cmocka_unit_test(test_messages_stay_short),
		cmocka_unit_test(test_full_arena),
		FOR_EACH_SERVICE(test_every_member_of_every_operation),
		cmocka_unit_test(test_write_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
