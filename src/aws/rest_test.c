/* The REST API: its routes, the mapping of path, query and body, and answers through dispatch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "aws/policy.h"
#include "aws/rest.h"
#include "aws/shape_scalar.h"
#include "aws/shape_unknown.h"
#include "base/memory.h"

/* ---- routes ---- */

static const struct rest_route routes_by_hand[] = {
	{.method = "GET", .path = "/v1/things/best", .operation = "GetBest", .status = 200},
	{.method = "DELETE", .path = "/v1/things/{name}", .operation = "Delete", .status = 202},
	{.method = "GET", .path = "/v1/things/{name}", .operation = "Get", .status = 200},
	{.method = "GET", .path = "/v1/things/{name}/{part}", .operation = "Part", .status = 200},
};
static const struct rest_api by_hand = {routes_by_hand, LENGTH(routes_by_hand)};

static void the_first_route_that_matches(void **state)
{
	static const struct {
		const char *method, *path;
		int code;
		const char *found; /* the operation, or the methods that are allowed */
		const char *first_label;
	} table[] = {
		{"GET", "/v1/things/best", 0, "GetBest", NULL},
		{"HEAD", "/v1/things/best", 0, "GetBest", NULL},
		{"DELETE", "/v1/things/best", 0, "Delete", "best"},
		{"GET", "/v1/things/worst", 0, "Get", "worst"},
		{"GET", "/v1/things/a%2Fb", 0, "Get", "a%2Fb"},
		{"GET", "/v1/things/{name}", 0, "Get", "{name}"},
		{"GET", "/v1/things/a/b", 0, "Part", "a"},
		{"PUT", "/v1/things/best", -EPERM, "GET, DELETE", NULL},
		{"get", "/v1/things/a", -EPERM, "DELETE, GET", NULL},
		{"", "/v1/things/a/b", -EPERM, "GET", NULL},
		{"GET", "", -ENOENT, NULL, NULL},
		{"GET", "*", -ENOENT, NULL, NULL},
		{"GET", "/", -ENOENT, NULL, NULL},
		{"GET", "//", -ENOENT, NULL, NULL},
		{"GET", "/v1", -ENOENT, NULL, NULL},
		{"GET", "/v1/things", -ENOENT, NULL, NULL},
		{"GET", "/v1/things/", -ENOENT, NULL, NULL},
		{"GET", "/v1/things/a/", -ENOENT, NULL, NULL},
		{"GET", "/v1//things/a", -ENOENT, NULL, NULL},
		{"GET", "/v1/things//a", -ENOENT, NULL, NULL},
		{"GET", "/v1/things/.", -ENOENT, NULL, NULL},
		{"GET", "/v1/things/..", -ENOENT, NULL, NULL},
		{"GET", "/v1/things/../things/a", -ENOENT, NULL, NULL},
		{"GET", "/v1/thing%73/a", -ENOENT, NULL, NULL},
		{"GET", "/v1/things/a/b/c", -ENOENT, NULL, NULL},
		{"GET", "v1/things/a", -ENOENT, NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct rest_match match = {0};
		int code = rest_find(&by_hand, span_of(table[i].method), span_of(table[i].path),
			&match);

		if (code != table[i].code)
			fail_msg("%s %s: %d", table[i].method, table[i].path, code);
		if (code == -EPERM)
			assert_string_equal(match.allow, table[i].found);
		if (code == 0) {
			assert_string_equal(match.route->operation, table[i].found);
			assert_int_equal(match.label_count > 0, table[i].first_label != NULL);
		}
		if (table[i].first_label)
			assert_true(span_is(match.labels[0], table[i].first_label));
	}
}

static const struct shape *shape_of_member(const struct rest_route *route, struct span name)
{
	const struct shape_operation *operation =
		shape_find_operation(&shape_slipway, span_of(route->operation));
	const struct shape_member *member;

	if (!operation)
		fail_msg("%s: the model has no such operation", route->operation);
	member = shape_find_member(&shape_slipway, &shape_slipway.shapes[operation->input], name);
	if (!member)
		fail_msg("%s: has no member '%.*s'", route->operation, SPAN_ARGS(name));
	return &shape_slipway.shapes[member->shape];
}

static void every_route_has_its_shapes(void **state)
{
	bool found[UINT8_MAX] = {0};

	(void)state;
	for (size_t i = 0; i < rest_slipway.count; i++) {
		const struct rest_route *route = &rest_slipway.routes[i];
		struct span rest = span_of(route->path), before, name;
		struct rest_match match;

		for (size_t labels = 0; span_split(rest, '{', &before, &rest); labels++) {
			assert_true(labels < REST_LABELS_MAX);
			assert_true(span_split(rest, '}', &name, &rest));
			assert_int_equal(shape_of_member(route, name)->type, SHAPE_STRING);
		}
		for (size_t j = 0; j < route->query_count; j++) {
			const struct shape *shape =
				shape_of_member(route, span_of(route->query[j].member));

			if (shape->type == SHAPE_LIST)
				shape = &shape_slipway.shapes[shape->element];
			assert_true(shape_is_scalar(shape));
		}
		if (route->bare_member)
			assert_int_equal(shape_of_member(route, span_of(route->bare_member))->type,
				SHAPE_LIST);
		/* Its own path leads to it: no other route comes before. */
		assert_int_equal(rest_find(&rest_slipway, span_of(route->method),
					 span_of(route->path), &match),
			0);
		assert_ptr_equal(match.route, route);
		assert_true(route->status >= 200 && route->status < 300);
		found[shape_find_operation(&shape_slipway, span_of(route->operation)) -
			shape_slipway.operations] = true;
	}
	for (size_t i = 0; i < shape_slipway.operation_count; i++)
		assert_true(found[i]);
}

/* ---- input ---- */

static const struct {
	const char *method, *path, *query, *body;
	const char *input;   /* as JSON */
	const char *problem; /* NULL: none; else how it begins */
} inputs[] = {
	{"GET", "/v1/environments/log", "", "", "{\"name\":\"log\"}", NULL},
	{"GET", "/v1/environments/a%2fb%20+%C3%A4", "", "", "{\"name\":\"a/b +\303\244\"}", NULL},
	{"GET", "/v1/environments/%2e%2e", "", "", "{\"name\":\"..\"}", NULL},
	{"GET", "/v1/environments/a/versions/b", "", "",
		"{\"name\":\"a\",\"environmentVersion\":\"b\"}", NULL},
	{"GET", "/v1/environments", "maxResults=10&type=Daemon&namePrefix=a+b%2Bc", "",
		"{\"maxResults\":10,\"type\":\"Daemon\",\"namePrefix\":\"a b+c\"}", NULL},
	{"GET", "/v1/environments", "&&maxResults=-1&", "", "{\"maxResults\":-1}", NULL},
	{"GET", "/v1/environments", "cluster=", "", "{\"cluster\":\"\"}", NULL},
	{"GET", "/v1/environments", "cluster", "", "{\"cluster\":\"\"}", NULL},
	{"GET", "/v1/environments", "cluster=%22%7b%00%7d", "", "{}", "cluster: has a character"},
	{"GET", "/v1/tasks", "status=RUNNING&cluster=c&status=failed", "",
		"{\"status\":[\"RUNNING\",\"failed\"],\"cluster\":\"c\"}", NULL},
	{"GET", "/v1/instances", "attribute=stack%3Dprod", "", "{\"attributes\":[\"stack=prod\"]}",
		NULL},
	{"GET", "/v1/environments/e/diff", "version=v", "",
		"{\"name\":\"e\",\"environmentVersion\":\"v\"}", NULL},
	{"DELETE", "/v1/environments/log", "terminateTasks=true", "",
		"{\"name\":\"log\",\"terminateTasks\":true}", NULL},
	{"POST", "/v1/environments", "", "{\"name\":\"a\",\"priority\":null}",
		"{\"name\":\"a\",\"priority\":null}", NULL},
	{"POST", "/v1/environments", "",
		"{\"instanceGroup\":{\"cluster\":\"c\",\"attributes\":[\"a=b\",{\"name\":\"x\"}]}}",
		"{\"instanceGroup\":{\"cluster\":\"c\",\"attributes\":[\"a=b\",{\"name\":\"x\"}]}}",
		NULL},
	{"PUT", "/v1/environments/e", "", "{\"taskDefinition\":\"t\"}",
		"{\"name\":\"e\",\"taskDefinition\":\"t\"}", NULL},
	{"POST", "/v1/environments/e/rollback", "", "", "{\"name\":\"e\"}", NULL},
	{"POST", "/v1/environments/e/rollback", "", "{}", "{\"name\":\"e\"}", NULL},
	/* events: named, a list, one */
	{"POST", "/v1/ecs-events", "", "{\"events\":[{\"id\":1}]}", "{\"events\":[{\"id\":1}]}",
		NULL},
	{"POST", "/v1/ecs-events", "target=t", "[{\"id\":1},2]",
		"{\"target\":\"t\",\"events\":[{\"id\":1},2]}", NULL},
	{"POST", "/v1/ecs-events", "", "{\"id\":1}", "{\"events\":[{\"id\":1}]}", NULL},
	{"POST", "/v1/ecs-events", "", "{\"events\":[],\"id\":1}", "{\"events\":[]}",
		"id: is not a member of PostEcsEvents"},
	{"POST", "/v1/ecs-events", "", "1", "{}", "the body: expected an object, not a number"},
	/* wrong, but what is good stays known */
	{"GET", "/v1/environments/%", "", "", "{}", "name: "},
	{"GET", "/v1/environments/%4", "", "", "{}", "name: "},
	{"GET", "/v1/environments/%4g", "", "", "{}", "name: "},
	{"GET", "/v1/environments/%c3", "", "", "{}", "name: "},
	{"GET", "/v1/environments/a%00", "", "", "{}", "name: has a character"},
	{"GET", "/v1/environments/e/versions/%zz", "", "", "{\"name\":\"e\"}",
		"environmentVersion: "},
	{"GET", "/v1/environments/e", "colour=red", "", "{\"name\":\"e\"}",
		"colour: is not a parameter of GetEnvironment"},
	{"GET", "/v1/environments/e", "name=f", "", "{\"name\":\"e\"}",
		"name: is not a parameter of GetEnvironment"},
	{"GET", "/v1/environments", "=x", "", "{}", ": is not a parameter"},
	{"GET", "/v1/environments", "cluster=%", "", "{}", "the query: "},
	{"GET", "/v1/environments", "cluster=%ff", "", "{}", "the query: "},
	{"GET", "/v1/environments", "maxResults=ten&cluster=c", "", "{\"cluster\":\"c\"}",
		"maxResults: expected an integer, not 'ten'"},
	{"GET", "/v1/environments", "maxResults=", "", "{}", "maxResults: expected an integer"},
	{"GET", "/v1/environments", "maxResults=1.5", "", "{}", "maxResults: expected an integer"},
	{"GET", "/v1/environments", "maxResults=%201", "", "{}", "maxResults: expected an integer"},
	{"GET", "/v1/environments", "maxResults=[1]", "", "{}", "maxResults: expected an integer"},
	{"GET", "/v1/environments", "maxResults=99999999999999999999", "", "{}",
		"maxResults: expected an integer"},
	{"GET", "/v1/environments", "cluster=a&cluster=b", "", "{\"cluster\":\"b\"}",
		"cluster: is given more than once"},
	{"DELETE", "/v1/environments/e", "terminateTasks=1", "", "{\"name\":\"e\"}",
		"terminateTasks: expected true or false, not '1'"},
	{"PUT", "/v1/environments/e", "", "{", "{\"name\":\"e\"}", "the body: "},
	{"PUT", "/v1/environments/e", "", "[]", "{\"name\":\"e\"}", "the body: expected an object"},
	{"PUT", "/v1/environments/e", "", "{\"a\":1,\"a\":2}", "{\"name\":\"e\"}", "the body: "},
	{"PUT", "/v1/environments/e", "", "{\"name\":\"f\",\"role\":\"r\"}",
		"{\"name\":\"e\",\"role\":\"r\"}", "name: belongs in the path, not in the body"},
	{"GET", "/v1/environments", "", "{\"cluster\":\"c\"}", "{}",
		"cluster: belongs in the query, not in the body"},
	{"POST", "/v1/environments", "", "{\"nmae\":1,\"name\":\"a\"}", "{\"name\":\"a\"}",
		"nmae: is not a member of CreateEnvironment"},
	{"POST", "/v1/environments", "", "{\"instanceGroup\":{\"clutser\":1}}",
		"{\"instanceGroup\":{\"clutser\":1}}",
		"instanceGroup.clutser: is not a member of CreateEnvironment"},
	{"POST", "/v1/environments", "",
		"{\"deploymentConfiguration\":{\"canary\":{\"instances\":1,\"percent\":2}}}",
		"{\"deploymentConfiguration\":{\"canary\":{\"instances\":1,\"percent\":2}}}",
		"deploymentConfiguration.canary.percent: is not a member"},
};

static void read_request(const char *method, const char *path, struct span query, struct span body,
	struct arena *arena, struct json **ret_input, struct span *ret_problem)
{
	struct rest_match match;

	if (rest_find(&rest_slipway, span_of(method), span_of(path), &match) < 0)
		fail_msg("%s %s: has no route", method, path);
	*ret_input = rest_read_input(&shape_slipway, &match, query, body, arena, ret_problem);
}

static void path_query_and_body_are_one_input(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(inputs); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct json *input, *wanted;
		struct span problem;

		read_request(inputs[i].method, inputs[i].path, span_of(inputs[i].query),
			span_of(inputs[i].body), arena, &input, &problem);
		assert_int_equal(json_parse(span_of(inputs[i].input), arena, &wanted, NULL), 0);
		if (!json_equal(input, wanted))
			fail_msg("%s %s: %s", inputs[i].path, inputs[i].query,
				json_to_text(input, arena).data);
		if (!inputs[i].problem ? problem.data != NULL
				       : !problem.data || !span_starts_with(problem,
								  span_of(inputs[i].problem)))
			fail_msg("%s?%s: %.*s", inputs[i].path, inputs[i].query,
				problem.data ? (int)problem.length : 4,
				problem.data ? problem.data : "none");
	}
}

static void long_and_deep_input_is_refused(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer text = {0};
	struct json *input;
	struct span problem;

	(void)state;
	for (int i = 0; i < 100000; i++)
		buffer_add_char(&text, '[');
	read_request("POST", "/v1/environments", SPAN(""), buffer_span(&text), arena, &input,
		&problem);
	assert_true(span_starts_with(problem, SPAN("the body: ")));

	buffer_reset(&text);
	buffer_add_string(&text, "{\"name\":\"");
	while (text.length <= AWS_REQUEST_BODY_MAX)
		buffer_add_string(&text, "xxxxxxxxxxxxxxxx");
	buffer_add_string(&text, "\"}");
	read_request("POST", "/v1/environments", SPAN(""), buffer_span(&text), arena, &input,
		&problem);
	assert_true(span_starts_with(problem, SPAN("the body: is longer than")));

	/* A message quotes only a short part of a request, in whole characters. */
	buffer_reset(&text);
	while (text.length < 100000)
		buffer_add_string(&text, "x\303\244");
	read_request("GET", "/v1/environments", buffer_span(&text), SPAN(""), arena, &input,
		&problem);
	assert_true(span_starts_with(problem, SPAN("the query: ")));
	text.length = 501; /* whole characters */
	read_request("GET", "/v1/environments", buffer_span(&text), SPAN(""), arena, &input,
		&problem);
	assert_true(span_ends_with(problem, SPAN(": is not a parameter of ListEnvironments")));
	assert_true(problem.length < 150);
}

static void unknown_members_are_found_at_any_depth(void **state)
{
	static const struct {
		const char *operation, *text, *path; /* NULL: none */
	} table[] = {
		{"GetEnvironment", "{}", NULL},
		{"CreateEnvironment", "[]", NULL}, /* not its business */
		{"CreateEnvironment", "{\"name\":{\"x\":1}}", NULL},
		{"CreateEnvironment", "{\"\":1}", ""},
		{"CreateEnvironment", "{\"instanceGroup\":{\"attributes\":[{\"x\":{\"y\":1}}]}}",
			NULL}, /* a document */
		{"CreateEnvironment", "{\"instanceGroup\":{\"x\":null}}", "instanceGroup.x"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		_arena_ struct arena *arena = arena_new(0);
		const struct shape_operation *operation =
			shape_find_operation(&shape_slipway, span_of(table[i].operation));
		struct json *value;
		struct span path;

		assert_int_equal(json_parse(span_of(table[i].text), arena, &value, NULL), 0);
		path = shape_find_unknown(&shape_slipway, &shape_slipway.shapes[operation->input],
			value, arena);
		if (!table[i].path)
			assert_null(path.data);
		else
			assert_true(span_is(path, table[i].path));
	}
}

/* ---- through dispatch ---- */

static const struct store_kind thing_kind = {.name = "thing"};
static const struct store_kind *const kinds[] = {&thing_kind};

/* The name says what happens. */
static int run_create(struct aws_request *request)
{
	struct span name = json_get_text(request->input, "name");
	struct json *extra = json_new_object(request->arena);

	if (span_is(name, "taken")) {
		json_set_string(request->arena, extra, "resourceType", SPAN("environment"));
		json_set_string(request->arena, extra, "resourceId", name);
		aws_fail(request, "ResourceExistsException", "There is one.");
		request->failure.extra = extra;
		return -EPERM;
	}
	if (span_is(name, "broken"))
		return -EIO;
	if (span_is(name, "refused")) {
		request->err.code = -EIO;
		snprintf(request->err.message, sizeof(request->err.message), "No.");
		return aws_fail_store(request);
	}
	if (span_is(name, "limit"))
		return aws_fail(request, "LimitExceededException", "Too many.");
	if (span_is(name, "odd"))
		return aws_fail(request, "OddException", "Odd.");
	if (store_put(request->transaction, &thing_kind, name, SPAN("{}"), SPAN(""), STORE_ABSENT,
		    &request->err) < 0)
		return aws_fail_store(request);
	buffer_format(request->out, "{\"name\":\"%.*s\"}", SPAN_ARGS(name));
	return 0;
}

static int run_get(struct aws_request *request)
{
	buffer_format(request->out, "{\"status\":\"%s\"}", (const char *)request->context);
	return 0;
}

static int run_list(struct aws_request *request)
{
	(void)request;
	return 0;
}

static char own_context[] = "active";

static const struct aws_operation operations[] = {
	{.name = "CreateEnvironment", .mode = AWS_WRITE, .run = run_create},
	{.name = "GetDeployment", .mode = AWS_READ, .run = run_get},
	{.name = "GetEnvironment", .mode = AWS_READ, .run = run_get, .context = own_context},
	{.name = "ListEnvironments", .mode = AWS_READ, .run = run_list},
	{.name = "StartDeployment", .mode = AWS_BLOCKING, .run = run_list},
};

static const struct aws_service service = {
	.name = "slipway",
	.shapes = &shape_slipway,
	.operations = operations,
	.operation_count = LENGTH(operations),
	.invalid_input = "InvalidParameterException",
	.translate = rest_translate,
};

struct fixture {
	struct store *store;
	struct aws_dispatcher *dispatcher;
	struct arena *arena;
	char audit[256];
	int times, status;
	char type[64], id[64];
	struct span body;
};

static void write_audit(void *context, const struct aws_audit *audit)
{
	struct fixture *fixture = context;

	snprintf(fixture->audit, sizeof(fixture->audit), "%s:%.*s %s %d", audit->service,
		SPAN_ARGS(audit->operation), audit->error_type ? audit->error_type : "-",
		audit->status);
}

static void fixture_open(struct fixture *fixture, double reads_per_second)
{
	struct store_config store_config = {
		.url = "memory:",
		.kinds = kinds,
		.kind_count = LENGTH(kinds),
		.clock = clock_system(),
		.inline_writes = true,
	};
	struct aws_dispatch_config config = {
		.clock = clock_system(),
		.random = random_system(),
		.audit = write_audit,
		.audit_context = fixture,
		.reads_per_second = reads_per_second,
	};
	struct err err = {0};

	*fixture = (struct fixture){0};
	if (store_open(&store_config, &fixture->store, &err) < 0)
		fail_msg("%s", err.message);
	config.store = fixture->store;
	fixture->dispatcher = aws_dispatcher_new(&config);
	aws_dispatcher_register(fixture->dispatcher, &service, (void *)"inactive");
	fixture->arena = arena_new(0);
}

static void fixture_close(struct fixture *fixture)
{
	aws_dispatcher_free(fixture->dispatcher);
	store_close(fixture->store);
	arena_free(fixture->arena);
}

static void take_answer(void *context, const struct aws_answer *answer)
{
	struct fixture *fixture = context;

	fixture->times++;
	fixture->status = answer->status;
	snprintf(fixture->type, sizeof(fixture->type), "%s",
		answer->error_type ? answer->error_type : "");
	snprintf(fixture->id, sizeof(fixture->id), "%s", answer->request_id);
	fixture->body = arena_copy_span(fixture->arena, answer->body);
}

static void ask(struct fixture *fixture, const struct aws_policy *policy, const char *method,
	const char *path, const char *body)
{
	const struct aws_caller caller = {.account = SPAN("123456789012"),
		.user = SPAN("admin"),
		.access_key = SPAN(""),
		.region = SPAN("eu-west-1"),
		.policy = policy};
	struct span plain = span_of(path), query = SPAN("");
	struct rest_match match;

	span_split(plain, '?', &plain, &query);
	fixture->times = 0;
	fixture->audit[0] = '\0';
	assert_int_equal(rest_find(&rest_slipway, span_of(method), plain, &match), 0);
	rest_dispatch(fixture->dispatcher, &service, &match, &caller, query, span_of(body),
		fixture->arena, take_answer, fixture);
	assert_int_equal(fixture->times, 1);
}

#define NEW(name)                                                                                  \
	"{\"name\":\"" name "\",\"taskDefinition\":\"t\",\"instanceGroup\":{\"cluster\":\"c\"}}"

static void success_has_the_status_of_its_route(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture, 0);
	ask(&fixture, NULL, "POST", "/v1/environments", NEW("log"));
	assert_int_equal(fixture.status, 201);
	assert_true(span_is(fixture.body, "{\"name\":\"log\"}"));
	assert_string_equal(fixture.type, "");
	ask(&fixture, NULL, "GET", "/v1/environments?maxResults=1", "");
	assert_int_equal(fixture.status, 200);
	assert_true(span_is(fixture.body, "{}"));
	/* An operation's own context comes before the service's. */
	ask(&fixture, NULL, "GET", "/v1/environments/log", "");
	assert_true(span_is(fixture.body, "{\"status\":\"active\"}"));
	ask(&fixture, NULL, "GET", "/v1/environments/log/deployments/d", "");
	assert_true(span_is(fixture.body, "{\"status\":\"inactive\"}"));
	fixture_close(&fixture);
}

static void errors_have_the_names_of_this_api(void **state)
{
	static const struct {
		const char *method, *path, *body;
		int status;
		const char *code, *message;
	} table[] = {
		{"POST", "/v1/environments", NEW("taken"), 409, "ResourceExistsException",
			"There is one."},
		{"POST", "/v1/environments", NEW("limit"), 400, "LimitExceededException",
			"Too many."},
		{"POST", "/v1/environments", NEW("odd"), 400, "OddException", "Odd."},
		{"POST", "/v1/environments", NEW("broken"), 500, "InternalServiceException",
			"CreateEnvironment failed inside of slipway"},
		{"POST", "/v1/environments", NEW("refused"), 503, "ServiceUnavailableException",
			"No."},
		{"POST", "/v1/environments/e/deployments", "{\"environmentVersion\":\"v\"}", 503,
			"ServiceUnavailableException", "No thread is free"},
		{"PUT", "/v1/environments/e", "{}", 400, "UnsupportedFeatureException",
			"slipway does not support UpdateEnvironment yet."},
		/* found by shapes */
		{"POST", "/v1/environments", "{}", 400, "InvalidParameterException", ""},
		{"POST", "/v1/environments", NEW(""), 400, "InvalidParameterException", "name: "},
		{"POST", "/v1/environments", NEW("0123456789012345678901234567890"), 400,
			"InvalidParameterException", "name: must have between 1 and 30"},
		{"POST", "/v1/environments", "{\"name\":[]}", 400, "InvalidParameterException",
			"name: expected a string"},
		{"GET", "/v1/environments?type=Deamon", "", 400, "InvalidParameterException",
			"type: 'Deamon' is not one of Daemon, Service, Cron"},
		{"GET", "/v1/environments?maxResults=0", "", 400, "InvalidParameterException",
			"maxResults: must be between 1 and 1000"},
		{"GET", "/v1/environments?maxResults=4294967297", "", 400,
			"InvalidParameterException", "maxResults: "},
		/* found while reading, also in requests that are not built */
		{"PUT", "/v1/environments/e", "{\"x\":1}", 400, "InvalidParameterException",
			"x: is not a member of UpdateEnvironment"},
	};
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture, 0);
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct json *error;
		char audit[256];

		ask(&fixture, NULL, table[i].method, table[i].path, table[i].body);
		assert_int_equal(json_parse(fixture.body, fixture.arena, &error, NULL), 0);
		if (fixture.status != table[i].status || strcmp(fixture.type, table[i].code) != 0 ||
			!span_is(json_get_text(error, "code"), table[i].code) ||
			!span_starts_with(json_get_text(error, "message"),
				span_of(table[i].message)))
			fail_msg("%s %s: %d %.*s", table[i].path, table[i].body, fixture.status,
				SPAN_ARGS(fixture.body));
		assert_true(span_is(json_get_text(error, "requestId"), fixture.id));
		assert_null(json_get(error, "__type"));
		/* The audit log has the same words. */
		snprintf(audit, sizeof(audit), " %s %d", table[i].code, table[i].status);
		assert_non_null(strstr(fixture.audit, audit));
	}
	fixture_close(&fixture);
}

static void errors_name_their_resource(void **state)
{
	struct fixture fixture;
	struct json *error;

	(void)state;
	fixture_open(&fixture, 0);
	ask(&fixture, NULL, "POST", "/v1/environments", NEW("taken"));
	assert_int_equal(json_parse(fixture.body, fixture.arena, &error, NULL), 0);
	assert_int_equal(json_count(error), 5);
	assert_true(span_is(json_get_text(error, "resourceType"), "environment"));
	assert_true(span_is(json_get_text(error, "resourceId"), "taken"));
	fixture_close(&fixture);
}

static void throttling_is_429(void **state)
{
	struct fixture fixture;
	int requested = 0;

	(void)state;
	fixture_open(&fixture, 1);
	do {
		ask(&fixture, NULL, "GET", "/v1/environments", "");
		assert_true(requested++ < 1000);
	} while (fixture.status == 200);
	assert_int_equal(fixture.status, 429);
	assert_string_equal(fixture.type, "ThrottlingException");
	assert_true(rest_says_retry(429) && rest_says_retry(503) && !rest_says_retry(500));
	fixture_close(&fixture);
}

static void policies_come_before_words_about_the_request(void **state)
{
	static const char text[] =
		"{\"Version\":\"2012-10-17\",\"Statement\":{\"Effect\":\"Allow\",\"Action\":"
		"\"slipway:List*\",\"Resource\":\"*\"}}";
	_arena_ struct arena *arena = arena_new(0);
	const struct aws_policy *policy = NULL;
	struct fixture fixture;
	struct err err = {0};

	(void)state;
	if (aws_policy_parse(span_of(text), arena, &policy, &err) < 0)
		fail_msg("%s", err.message);
	fixture_open(&fixture, 0);
	ask(&fixture, policy, "GET", "/v1/environments", "");
	assert_int_equal(fixture.status, 200);
	ask(&fixture, policy, "POST", "/v1/environments", "nonsense");
	assert_int_equal(fixture.status, 403);
	assert_string_equal(fixture.type, "AccessDeniedException");
	assert_string_equal(fixture.audit, "slipway:CreateEnvironment AccessDeniedException 403");
	fixture_close(&fixture);
}

static void what_has_no_route_is_refused_in_the_same_form(void **state)
{
	struct fixture fixture;
	struct json *error;

	(void)state;
	fixture_open(&fixture, 0);
	rest_refuse_request(fixture.dispatcher, 404, "NotFound", SPAN("\"no\""), take_answer,
		&fixture);
	assert_int_equal(fixture.status, 404);
	assert_int_equal(json_parse(fixture.body, fixture.arena, &error, NULL), 0);
	assert_true(span_is(json_get_text(error, "message"), "\"no\""));
	assert_true(span_is(json_get_text(error, "requestId"), fixture.id));
	fixture_close(&fixture);
}

static void the_openapi_document_is_json(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *document;
	struct err err;

	(void)state;
	if (json_parse(rest_openapi_slipway, arena, &document, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(json_count(json_get(document, "paths")) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_route_that_matches),
		cmocka_unit_test(every_route_has_its_shapes),
		cmocka_unit_test(path_query_and_body_are_one_input),
		cmocka_unit_test(long_and_deep_input_is_refused),
		cmocka_unit_test(unknown_members_are_found_at_any_depth),
		cmocka_unit_test(success_has_the_status_of_its_route),
		cmocka_unit_test(errors_have_the_names_of_this_api),
		cmocka_unit_test(errors_name_their_resource),
		cmocka_unit_test(throttling_is_429),
		cmocka_unit_test(policies_come_before_words_about_the_request),
		cmocka_unit_test(what_has_no_route_is_refused_in_the_same_form),
		cmocka_unit_test(the_openapi_document_is_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
