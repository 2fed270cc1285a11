/* Stored actions and conditions into those of the data plane. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "elb/routing.h"

/* JSON with ' for ", in the arena. */
static const struct json *parse(struct arena *arena, const char *text)
{
	struct span copy = arena_copy_span(arena, span_of(text));
	struct json *value;
	struct err err;

	for (size_t i = 0; i < copy.length; i++)
		if (copy.data[i] == '\'')
			((char *)copy.data)[i] = '"';
	if (json_parse(copy, arena, &value, &err) < 0)
		fail_msg("%s", err.message);
	return value;
}

/* "group-NAME" for "NAME", and none for "gone". */
static const char *name_group(void *context, struct span arn)
{
	return span_is(arn, "gone") ? NULL
				    : arena_format(context, "group-%.*s", SPAN_ARGS(arn)).data;
}

static void read_action(struct arena *arena, const char *text, struct proxy_action *action)
{
	struct err err;

	if (elb_routing_action(parse(arena, text), name_group, arena, arena, action, &err) < 0)
		fail_msg("%s", err.message);
}

static void test_forward(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct proxy_action action;

	(void)state;
	read_action(arena,
		"[{'Type':'forward','TargetGroupArn':'a','ForwardConfig':{'TargetGroups':"
		"[{'TargetGroupArn':'a','Weight':1}],'TargetGroupStickinessConfig':"
		"{'Enabled':false,'DurationSeconds':60}}}]",
		&action);
	assert_int_equal(action.kind, PROXY_FORWARD);
	assert_int_equal(action.route_count, 1);
	assert_string_equal(action.routes[0].group, "group-a");
	assert_int_equal(action.routes[0].weight, 1);
	assert_int_equal(action.sticky_s, 0);

	read_action(arena,
		"[{'Type':'forward','ForwardConfig':{'TargetGroups':[{'TargetGroupArn':'a','Weight'"
		":"
		"999},{'TargetGroupArn':'gone','Weight':1},{'TargetGroupArn':'b','Weight':0}],"
		"'TargetGroupStickinessConfig':{'Enabled':true,'DurationSeconds':604800}}}]",
		&action);
	assert_int_equal(action.route_count, 2);
	assert_int_equal(action.routes[0].weight, 999);
	assert_string_equal(action.routes[1].group, "group-b");
	assert_int_equal(action.routes[1].weight, 0);
	assert_int_equal(action.sticky_s, 604800);
}

static void test_redirect(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct proxy_action action;

	(void)state;
	read_action(arena,
		"[{'Type':'redirect','Order':1,'RedirectConfig':{'Protocol':'HTTPS','Port':'443',"
		"'Host':'#{host}','Path':'/#{path}','Query':'#{query}','StatusCode':'HTTP_301'}}]",
		&action);
	assert_int_equal(action.kind, PROXY_REDIRECT);
	assert_int_equal(action.status, 301);
	assert_string_equal(action.protocol, "HTTPS");
	assert_string_equal(action.port, "443");
	assert_null(action.host);
	assert_null(action.path);
	assert_null(action.query);

	read_action(arena,
		"[{'Type':'redirect','RedirectConfig':{'Protocol':'#{protocol}','Port':'#{port}',"
		"'Host':'www.#{host}','Path':'/new/#{path}','Query':'','StatusCode':'HTTP_302'}}]",
		&action);
	assert_int_equal(action.status, 302);
	assert_null(action.protocol);
	assert_null(action.port);
	assert_string_equal(action.host, "www.#{host}");
	assert_string_equal(action.path, "/new/#{path}");
	assert_string_equal(action.query, "");
}

static void test_fixed_response(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct proxy_action action;

	(void)state;
	read_action(arena,
		"[{'Type':'fixed-response','FixedResponseConfig':{'StatusCode':'503','ContentType':"
		"'text/plain','MessageBody':'away'}}]",
		&action);
	assert_int_equal(action.kind, PROXY_FIXED);
	assert_int_equal(action.status, 503);
	assert_string_equal(action.content_type, "text/plain");
	assert_string_equal(action.body, "away");
	read_action(arena, "[{'Type':'fixed-response','FixedResponseConfig':{'StatusCode':'204'}}]",
		&action);
	assert_null(action.content_type);
	assert_null(action.body);
}

static void test_what_is_not_in_normal_form(void **state)
{
	static const char *const texts[] = {"[]", "[{}]", "[{'Type':'authenticate-oidc'}]",
		"[{'Type':'forward'}]", "[{'Type':'forward','TargetGroupArn':'a'}]",
		"[{'Type':'redirect'}]", "[{'Type':'fixed-response'}]"};
	_arena_ struct arena *arena = arena_new(0);
	struct proxy_action action;
	struct err err;

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++)
		assert_int_equal(elb_routing_action(parse(arena, texts[i]), name_group, arena,
					 arena, &action, &err),
			-EINVAL);
}

static void test_conditions(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct proxy_condition *conditions;
	struct err err;
	size_t count;

	(void)state;
	assert_int_equal(
		elb_routing_conditions(
			parse(arena,
				"[{'Field':'host-header','Values':['a.b','*.c'],"
				"'HostHeaderConfig':{'Values':['a.b','*.c']}},"
				"{'Field':'path-pattern','PathPatternConfig':{'Values':['/x*']}},"
				"{'Field':'http-header','HttpHeaderConfig':{'HttpHeaderName':'X-A',"
				"'Values':['1']}},"
				"{'Field':'http-request-method','HttpRequestMethodConfig':"
				"{'Values':['GET']}},"
				"{'Field':'query-string','QueryStringConfig':{'Values':"
				"[{'Key':'k','Value':'v'},{'Value':'w'}]}},"
				"{'Field':'source-ip','SourceIpConfig':{'Values':['10.0.0.0/"
				"8']}}]"),
			arena, &conditions, &count, &err),
		0);
	assert_int_equal(count, 6);
	assert_int_equal(conditions[0].kind, PROXY_IF_HOST);
	assert_int_equal(conditions[0].value_count, 2);
	assert_string_equal(conditions[0].values[1].value, "*.c");
	assert_null(conditions[0].values[1].key);
	assert_null(conditions[0].name);
	assert_int_equal(conditions[1].kind, PROXY_IF_PATH);
	assert_int_equal(conditions[2].kind, PROXY_IF_HEADER);
	assert_string_equal(conditions[2].name, "X-A");
	assert_int_equal(conditions[3].kind, PROXY_IF_METHOD);
	assert_int_equal(conditions[4].kind, PROXY_IF_QUERY);
	assert_string_equal(conditions[4].values[0].key, "k");
	assert_string_equal(conditions[4].values[0].value, "v");
	assert_null(conditions[4].values[1].key);
	assert_int_equal(conditions[5].kind, PROXY_IF_SOURCE);
	assert_int_equal(elb_routing_conditions(parse(arena, "[{'Field':'host-header'}]"), arena,
				 &conditions, &count, &err),
		-EINVAL);
	assert_int_equal(elb_routing_conditions(parse(arena, "[{'Field':'cookie'}]"), arena,
				 &conditions, &count, &err),
		-EINVAL);
}

static void test_tls(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object plain = {
		.api = SPAN("{\"Protocol\":\"HTTP\"}"), .private_ = SPAN("{}"), .key = SPAN("")};
	const struct store_object tls = {.key = SPAN(""),
		.api = SPAN("{\"SslPolicy\":\"ELBSecurityPolicy-TLS13-1-3-2021-06\","
			    "\"Certificates\":[{\"CertificateArn\":\"first\"}]}"),
		.private_ = SPAN("{\"certificates\":[\"second\",\"first\",\"third\"]}")};
	struct elb_routing_tls found;
	struct err err;

	(void)state;
	assert_int_equal(elb_routing_tls(&plain, arena, &found, &err), 0);
	assert_int_equal(found.certificate_count, 0);
	assert_int_equal(found.versions.max, 0);
	assert_int_equal(elb_routing_tls(&tls, arena, &found, &err), 0);
	assert_int_equal(found.certificate_count, 3);
	assert_true(span_is(found.certificates[0], "first"));
	assert_true(span_is(found.certificates[1], "second"));
	assert_true(span_is(found.certificates[2], "third"));
	assert_int_equal(found.versions.min, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forward),
		cmocka_unit_test(test_redirect),
		cmocka_unit_test(test_fixed_response),
		cmocka_unit_test(test_what_is_not_in_normal_form),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_tls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
