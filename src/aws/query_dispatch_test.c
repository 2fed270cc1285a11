/* Requests of the query protocol through the same dispatch as all others, answered in XML. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "aws/policy.h"
#include "aws/query_dispatch.h"
#include "base/memory.h"

/* ---- a small service over the shapes of Elastic Load Balancing v2 ---- */

static const struct store_kind rule_kind = {.name = "rule"};
static const struct store_kind *const kinds[] = {&rule_kind};

static int run_describe(struct aws_request *request)
{
	const struct json *arns = json_get(request->input, "RuleArns");

	buffer_add_string(request->out, "{\"Rules\":[");
	JSON_EACH_ITEM (arns, arn) {
		if (span_is(json_text(arn), "missing"))
			return aws_fail(request, "RuleNotFoundException",
				"One or more rules not found");
		if (span_is(json_text(arn), "ill"))
			return aws_fail(request, "HealthUnavailableException", "Ask later.");
		buffer_format(request->out, "%s{\"RuleArn\":\"%.*s\",\"IsDefault\":false}",
			request->out->data[request->out->length - 1] == '[' ? "" : ",",
			SPAN_ARGS(json_text(arn)));
	}
	buffer_add_string(request->out, "]}");
	return 0;
}

static int run_delete(struct aws_request *request)
{
	if (store_put(request->transaction, &rule_kind, json_get_text(request->input, "RuleArn"),
		    SPAN("{}"), SPAN(""), STORE_ABSENT, &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

/* Not JSON: a fault of slipway, which is reported to the client all the same. */
static int run_limits(struct aws_request *request)
{
	buffer_add_string(request->out, "{");
	return 0;
}

static const struct aws_operation operations[] = {
	{.name = "DeleteRule", .mode = AWS_WRITE, .run = run_delete},
	{.name = "DescribeAccountLimits", .mode = AWS_READ, .run = run_limits},
	{.name = "DescribeRules", .mode = AWS_READ, .run = run_describe},
};

static const struct aws_service service = {
	.name = "elasticloadbalancing",
	.shapes = &shape_elasticloadbalancingv2,
	.operations = operations,
	.operation_count = LENGTH(operations),
	.invalid_input = "ValidationError",
};

/* ---- a dispatcher ---- */

struct fixture {
	struct store *store;
	struct aws_dispatcher *dispatcher;
	struct arena *arena;
	char audit[512];
	/* the answer */
	int times, status;
	char type[128], body[4096], id[64];
};

static void write_audit(void *context, const struct aws_audit *audit)
{
	struct fixture *fixture = context;

	snprintf(fixture->audit, sizeof(fixture->audit), "%s %.*s %s %d", audit->service,
		SPAN_ARGS(audit->operation), audit->error_type ? audit->error_type : "-",
		audit->status);
}

static void fixture_open(struct fixture *fixture)
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
	};
	struct err err = {0};

	*fixture = (struct fixture){0};
	if (store_open(&store_config, &fixture->store, &err) < 0)
		fail_msg("%s", err.message);
	config.store = fixture->store;
	fixture->dispatcher = aws_dispatcher_new(&config);
	aws_dispatcher_register(fixture->dispatcher, &service, NULL);
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
	snprintf(fixture->body, sizeof(fixture->body), "%.*s", SPAN_ARGS(answer->body));
	snprintf(fixture->id, sizeof(fixture->id), "%s", answer->request_id);
}

static void ask(struct fixture *fixture, const struct aws_policy *policy, struct span form)
{
	const struct aws_caller caller = {.account = SPAN("123456789012"),
		.user = SPAN("admin"),
		.access_key = SPAN(""),
		.region = SPAN("eu-west-1"),
		.policy = policy};
	struct aws_query query;

	fixture->times = 0;
	fixture->audit[0] = '\0';
	aws_query_read(fixture->dispatcher, form, fixture->arena, &query);
	aws_query_dispatch(&query, &caller, fixture->arena, take_answer, fixture);
	assert_int_equal(fixture->times, 1);
	assert_int_equal(strlen(fixture->id), ID_UUID_SIZE - 1);
	assert_non_null(strstr(fixture->body, fixture->id));
}

#define NAMESPACE "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"
#define ACTION(name) "Version=2015-12-01&Action=" name

static void expect(struct fixture *fixture, const char *form, int status, const char *start)
{
	ask(fixture, NULL, span_of(form));
	if (fixture->status != status || !span_starts_with(span_of(fixture->body), span_of(start)))
		fail_msg("%s: %d %s", form, fixture->status, fixture->body);
}

/* type: as audit and metrics have it. */
static void expect_error(struct fixture *fixture, const char *form, const char *type, int status,
	const char *code, const char *message)
{
	char wanted[1024];

	ask(fixture, NULL, span_of(form));
	snprintf(wanted, sizeof(wanted), "<Error><Type>%s</Type><Code>%s</Code><Message>%s",
		status >= 500 ? "Receiver" : "Sender", code, message);
	if (fixture->status != status || strcmp(fixture->type, type) != 0 ||
		!strstr(fixture->body, wanted))
		fail_msg("%s: %d %s %s", form, fixture->status, fixture->type, fixture->body);
}

/* ---- tests ---- */

static void answers_are_xml(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture);
	expect(&fixture, ACTION("DescribeRules&RuleArns.member.1=a&RuleArns.member.2=b"), 200,
		"<DescribeRulesResponse xmlns=\"" NAMESPACE
		"\"><DescribeRulesResult><Rules><member><RuleArn>a</RuleArn><IsDefault>false"
		"</IsDefault></member><member><RuleArn>b</RuleArn><IsDefault>false</IsDefault>"
		"</member></Rules></DescribeRulesResult><ResponseMetadata><RequestId>");
	assert_string_equal(fixture.audit, "elasticloadbalancing DescribeRules - 200");
	expect(&fixture, ACTION("DeleteRule&RuleArn=a"), 200,
		"<DeleteRuleResponse xmlns=\"" NAMESPACE
		"\"><DeleteRuleResult></DeleteRuleResult>");
	fixture_close(&fixture);
}

static void errors_are_xml(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture);
	expect_error(&fixture, ACTION("DescribeRules&RuleArns.member.1=missing"),
		"RuleNotFoundException", 400, "RuleNotFound", "One or more rules not found<");
	assert_string_equal(fixture.audit,
		"elasticloadbalancing DescribeRules RuleNotFoundException 400");
	expect_error(&fixture, ACTION("DescribeRules&RuleArns.member.1=ill"),
		"HealthUnavailableException", 500, "HealthUnavailable", "Ask later.");
	assert_string_equal(fixture.audit,
		"elasticloadbalancing DescribeRules HealthUnavailableException 500");
	expect_error(&fixture, ACTION("DescribeRules&PageSize=x"), "SerializationException", 400,
		"MalformedInput", "PageSize: expected an integer");
	expect_error(&fixture, ACTION("DescribeRules&PageSize=500"), "ValidationError", 400,
		"ValidationError",
		"1 validation error detected: Value '500' at 'pageSize' failed to satisfy "
		"constraint: Member must have value less than or equal to 400");
	expect_error(&fixture, ACTION("DeleteRule"), "ValidationError", 400, "ValidationError",
		"1 validation error detected: Value null at 'ruleArn' failed to satisfy "
		"constraint: Member must not be null");
	expect_error(&fixture, ACTION("DescribeTags"), "UnsupportedFeatureException", 400,
		"UnsupportedOperation", "");
	expect_error(&fixture, ACTION("Nothing&a=b"), "UnknownOperationException", 400,
		"InvalidAction", "");
	assert_string_equal(fixture.audit,
		"elasticloadbalancing Nothing UnknownOperationException 400");
	expect_error(&fixture, ACTION("DescribeAccountLimits"), "ServerException", 500,
		"InternalFailure", "");
	fixture_close(&fixture);
}

/* Without a service there is no operation to dispatch, and nothing to audit. */
static void requests_without_a_service(void **state)
{
	struct fixture fixture;
	_buffer_ struct buffer large = {0};

	(void)state;
	fixture_open(&fixture);
	expect_error(&fixture, "", "MissingAction", 400, "MissingAction", "");
	expect_error(&fixture, "Version=2015-12-01", "MissingAction", 400, "MissingAction", "");
	expect_error(&fixture, "Action=DescribeRules", "UnknownOperationException", 400,
		"InvalidAction",
		"Could not find operation DescribeRules for version NO_VERSION_SPECIFIED");
	expect_error(&fixture, "Action=DescribeLoadBalancers&Version=2012-06-01",
		"UnknownOperationException", 400, "InvalidAction",
		"Could not find operation DescribeLoadBalancers for version 2012-06-01");
	expect_error(&fixture, "Action=%", "SerializationException", 400, "MalformedInput", "");
	assert_string_equal(fixture.audit, "");
	for (int i = 0; i <= QUERY_FORM_MAX; i++)
		buffer_add_char(&large, 'x');
	expect_error(&fixture, large.data, "RequestEntityTooLargeException", 413,
		"RequestEntityTooLarge", "");
	fixture_close(&fixture);
}

static void policies_hold(void **state)
{
	static const char text[] = "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":"
				   "\"Allow\",\"Action\":\"elasticloadbalancing:DescribeRules\","
				   "\"Resource\":\"*\"}]}";
	const struct aws_policy *policy;
	struct fixture fixture;
	struct err err = {0};

	(void)state;
	fixture_open(&fixture);
	if (aws_policy_parse(span_of(text), fixture.arena, &policy, &err) < 0)
		fail_msg("%s", err.message);
	ask(&fixture, policy, SPAN(ACTION("DescribeRules")));
	assert_int_equal(fixture.status, 200);
	ask(&fixture, policy, SPAN(ACTION("DeleteRule&RuleArn=a")));
	assert_int_equal(fixture.status, 403);
	assert_non_null(strstr(fixture.body, "<Code>AccessDenied</Code>"));
	assert_string_equal(fixture.audit,
		"elasticloadbalancing DeleteRule AccessDeniedException 403");
	fixture_close(&fixture);
}

static void strangers_are_refused(void **state)
{
	struct fixture fixture;
	struct aws_query query;

	(void)state;
	fixture_open(&fixture);
	aws_query_read(fixture.dispatcher, SPAN(ACTION("DeleteRule")), fixture.arena, &query);
	assert_ptr_equal(query.service, &service);
	aws_query_refuse(&query, "UnrecognizedClientException", SPAN("Unknown caller"), take_answer,
		&fixture);
	assert_int_equal(fixture.times, 1);
	assert_int_equal(fixture.status, 403);
	assert_non_null(strstr(fixture.body,
		"<Code>InvalidClientTokenId</Code><Message>Unknown caller</Message>"));
	fixture_close(&fixture);
}

static void requests_are_recognised(void **state)
{
	static const struct {
		struct span method, type, query;
		bool is;
	} table[] = {
		{SPAN("POST"), SPAN("application/x-www-form-urlencoded"), SPAN(""), true},
		{SPAN("POST"), SPAN("Application/X-WWW-Form-URLEncoded ; charset=utf-8"), SPAN(""),
			true},
		{SPAN("POST"), SPAN("application/x-amz-json-1.1"), SPAN(""), false},
		{SPAN("POST"), {NULL, 0}, {NULL, 0}, false},
		{SPAN("PUT"), SPAN("application/x-www-form-urlencoded"), SPAN(""), false},
		{SPAN("GET"), {NULL, 0}, SPAN("Action=DescribeRules"), true},
		{SPAN("GET"), {NULL, 0}, SPAN("Version=2015-12-01&Action=DescribeRules"), true},
		{SPAN("GET"), {NULL, 0}, SPAN("InAction=x"), false},
		{SPAN("GET"), {NULL, 0}, {NULL, 0}, false},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++)
		assert_int_equal(aws_query_is_request(table[i].method, table[i].type,
					 table[i].query),
			table[i].is);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_xml),
		cmocka_unit_test(errors_are_xml),
		cmocka_unit_test(requests_without_a_service),
		cmocka_unit_test(policies_hold),
		cmocka_unit_test(strangers_are_refused),
		cmocka_unit_test(requests_are_recognised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
