/* Actions: what is taken, in which form it is answered, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elb/action.h"
#include "elb/test_listeners.h"

/* The action of a new listener, as it is answered; in the last answer. */
__attribute__((format(printf, 3, 4))) static const struct json *take_action(struct test_world
										    *world,
	const char *protocol, const char *format, ...)
{
	static int port = 1000;
	_arena_ struct arena *arena = arena_new(0);
	bool network = strcmp(protocol, "HTTP") != 0;
	va_list list;
	struct span actions;

	va_start(list, format);
	actions = arena_format_list(arena, format, list);
	va_end(list);
	test_call(world->server, "CreateListener",
		"{'LoadBalancerArn':'%s','Protocol':'%s','Port':%d,'DefaultActions':%.*s}",
		network ? world->net : world->app, protocol, port++, SPAN_ARGS(actions));
	return json_item(json_get(test_item(world->server, "Listeners", 0), "DefaultActions"), 0);
}

__attribute__((format(printf, 5, 6))) static void refuse_action(struct test_world *world,
	const char *protocol, const char *error, const char *words, const char *format, ...)
{
	_arena_ struct arena *arena = arena_new(0);
	bool network = strcmp(protocol, "HTTP") != 0;
	va_list list;
	struct span actions;

	va_start(list, format);
	actions = arena_format_list(arena, format, list);
	va_end(list);
	test_refused(world->server, "CreateListener", error, words,
		"{'LoadBalancerArn':'%s','Protocol':'%s','Port':80,'DefaultActions':%.*s}",
		network ? world->net : world->app, protocol, SPAN_ARGS(actions));
}

#define INVALID "InvalidLoadBalancerActionException"

static void test_forward_in_both_forms(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	const struct json *action, *group;
	const char *const forms[] = {
		"[{'Type':'forward','TargetGroupArn':'%s'}]",
		"[{'Type':'forward','ForwardConfig':{'TargetGroups':[{'TargetGroupArn':'%s'}]}}]",
		("[{'Type':'forward','TargetGroupArn':'%1$s','ForwardConfig':{'TargetGroups':"
		 "[{'TargetGroupArn':'%1$s','Weight':1}]}}]"),
	};

	for (size_t i = 0; i < LENGTH(forms); i++) {
		char text[2048];

		snprintf(text, sizeof(text), forms[i], world->http);
		action = take_action(world, "HTTP", "%s", text);
		assert_string_equal(test_text_of(server, action, "Type"), "forward");
		assert_string_equal(test_text_of(server, action, "TargetGroupArn"), world->http);
		group = json_item(json_path(action, "ForwardConfig.TargetGroups"), 0);
		assert_string_equal(test_text_of(server, group, "TargetGroupArn"), world->http);
		assert_int_equal(json_get_integer(group, "Weight", -1), 1);
		assert_true(json_is(json_path(action,
					    "ForwardConfig.TargetGroupStickinessConfig.Enabled"),
			JSON_FALSE));
	}
}

static void test_forward_with_weights(void **state)
{
	struct test_world *world = *state;
	const struct json *action, *groups;

	action = take_action(world, "HTTP",
		"[{'Type':'forward','ForwardConfig':{'TargetGroups':[{'TargetGroupArn':'%s',"
		"'Weight':0},{'TargetGroupArn':'%s','Weight':999}],'TargetGroupStickinessConfig':"
		"{'Enabled':true,'DurationSeconds':604800}}}]",
		world->http, world->more[0]);
	groups = json_path(action, "ForwardConfig.TargetGroups");
	assert_null(json_get(action, "TargetGroupArn"));
	assert_int_equal(json_get_integer(json_item(groups, 0), "Weight", -1), 0);
	assert_int_equal(json_get_integer(json_item(groups, 1), "Weight", -1), 999);
	assert_int_equal(json_get_integer(json_path(action,
						  "ForwardConfig.TargetGroupStickinessConfig"),
				 "DurationSeconds", -1),
		604800);
	take_action(world, "TCP",
		"[{'Type':'forward','ForwardConfig':{'TargetGroups':[{'TargetGroupArn':'%s',"
		"'Weight':1},{'TargetGroupArn':'%s','Weight':9}]}}]",
		world->tcp, world->tcp_udp);
}

static void test_forward_refused(void **state)
{
	struct test_world *world = *state;
	char five[4096] = "", *end = five;

	refuse_action(world, "HTTP", INVALID, "TargetGroupArn or ForwardConfig",
		"[{'Type':'forward'}]");
	refuse_action(world, "HTTP", INVALID, "one and the same",
		"[{'Type':'forward','TargetGroupArn':'%s','ForwardConfig':{'TargetGroups':"
		"[{'TargetGroupArn':'%s'}]}}]",
		world->http, world->more[0]);
	refuse_action(world, "HTTP", INVALID, "twice",
		"[{'Type':'forward','ForwardConfig':{'TargetGroups':[{'TargetGroupArn':'%1$s'},"
		"{'TargetGroupArn':'%1$s'}]}}]",
		world->http);
	refuse_action(world, "HTTP", "ValidationError", ".weight'",
		"[{'Type':'forward','ForwardConfig':{'TargetGroups':[{'TargetGroupArn':'%s',"
		"'Weight':1000}]}}]",
		world->http);
	refuse_action(world, "HTTP", "ValidationError", ".weight'",
		"[{'Type':'forward','ForwardConfig':{'TargetGroups':[{'TargetGroupArn':'%s',"
		"'Weight':-1}]}}]",
		world->http);
	refuse_action(world, "HTTP", INVALID, "no TargetGroupArn",
		"[{'Type':'forward','ForwardConfig':{'TargetGroups':[{'Weight':1}]}}]");
	refuse_action(world, "HTTP", "ValidationError", ".durationSeconds'",
		"[{'Type':'forward','ForwardConfig':{'TargetGroups':[{'TargetGroupArn':'%s'}],"
		"'TargetGroupStickinessConfig':{'Enabled':true,'DurationSeconds':604801}}}]",
		world->http);
	refuse_action(world, "TCP", INVALID, "application load balancers only",
		"[{'Type':'forward','ForwardConfig':{'TargetGroups':[{'TargetGroupArn':'%s'}],"
		"'TargetGroupStickinessConfig':{'Enabled':true,'DurationSeconds':60}}}]",
		world->tcp);
	refuse_action(world, "HTTP", "TargetGroupNotFoundException", "missing",
		"[{'Type':'forward','TargetGroupArn':'missing'}]");
	for (size_t i = 0; i <= ELB_ACTION_GROUPS_MAX; i++)
		end += sprintf(end, "%s{'TargetGroupArn':'%s'}", i > 0 ? "," : "", world->more[i]);
	refuse_action(world, "HTTP", INVALID, "at most 5",
		"[{'Type':'forward','ForwardConfig':{'TargetGroups':[%s]}}]", five);
}

static void test_a_group_belongs_to_one_load_balancer(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char listener[TEST_ARN_SIZE];
	static const char request[] =
		"{'LoadBalancerArn':'%s','Protocol':'HTTP','Port':80,"
		"'DefaultActions':[{'Type':'forward','TargetGroupArn':'%s'}]}";

	take_action(world, "HTTP", "[{'Type':'forward','TargetGroupArn':'%s'}]", world->http);
	take_action(world, "HTTP", "[{'Type':'forward','TargetGroupArn':'%s'}]", world->http);
	test_refused(server, "CreateListener", "TargetGroupAssociationLimitException", "'app'",
		request, world->other, world->http);
	/* A rule alone makes it belong, too. */
	test_listener(world, 80, listener);
	test_call(server, "CreateRule",
		"{'ListenerArn':'%s','Priority':1,'Conditions':[{'Field':'path-pattern','Values':"
		"['/']}],'Actions':[{'Type':'forward','TargetGroupArn':'%s'}]}",
		listener, world->more[0]);
	test_refused(server, "CreateListener", "TargetGroupAssociationLimitException", "'app'",
		request, world->other, world->more[0]);
}

static void test_redirect(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	const struct json *config;

	config = json_get(take_action(world, "HTTP",
				  "[{'Type':'redirect','RedirectConfig':{'Protocol':'HTTPS',"
				  "'Port':'443','StatusCode':'HTTP_301'}}]"),
		"RedirectConfig");
	assert_string_equal(test_text_of(server, config, "Protocol"), "HTTPS");
	assert_string_equal(test_text_of(server, config, "Port"), "443");
	assert_string_equal(test_text_of(server, config, "Host"), "#{host}");
	assert_string_equal(test_text_of(server, config, "Path"), "/#{path}");
	assert_string_equal(test_text_of(server, config, "Query"), "#{query}");
	assert_string_equal(test_text_of(server, config, "StatusCode"), "HTTP_301");
	take_action(world, "HTTP",
		"[{'Type':'redirect','Order':7,'RedirectConfig':{'Host':'www.#{host}','Path':"
		"'/#{host}/#{port}/#{path}','Query':'p=#{protocol}&#{query}','StatusCode':"
		"'HTTP_302'}}]");
}

static void test_redirect_refused(void **state)
{
	struct test_world *world = *state;
	static const struct {
		const char *words, *config;
	} rows[] = {
		{"lead to itself", "'StatusCode':'HTTP_301'"},
		{"lead to itself", "'Query':'a=b','StatusCode':'HTTP_301'"},
		{"lead to itself", "'Protocol':'HTTP','Port':'80','StatusCode':'HTTP_301'"},
		{"Protocol", "'Protocol':'FTP','StatusCode':'HTTP_301'"},
		{"Port", "'Port':'0','StatusCode':'HTTP_301'"},
		{"Port", "'Port':'65536','StatusCode':'HTTP_301'"},
		{"Port", "'Port':'https','StatusCode':'HTTP_301'"},
		{"must begin with '/'", "'Path':'x','StatusCode':'HTTP_301'"},
		{"Path", "'Path':'/#{query}','StatusCode':'HTTP_301'"},
		{"Path", "'Path':'/#{path','StatusCode':'HTTP_301'"},
		{"Path", "'Path':'/a b','StatusCode':'HTTP_301'"},
		{"Path", "'Path':'/\\u0000','StatusCode':'HTTP_301'"},
		{"Host", "'Host':'#{path}','StatusCode':'HTTP_301'"},
		{"Host", "'Host':'b\\u00fccher.example','StatusCode':'HTTP_301'"},
		{"Query", "'Query':'#{made-up-and-long}','StatusCode':'HTTP_301'"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++)
		refuse_action(world, "HTTP", INVALID, rows[i].words,
			"[{'Type':'redirect','RedirectConfig':{%s}}]", rows[i].config);
	refuse_action(world, "HTTP", INVALID, "needs RedirectConfig", "[{'Type':'redirect'}]");
	refuse_action(world, "HTTP", "ValidationError", ".statusCode'",
		"[{'Type':'redirect','RedirectConfig':{'Port':'81'}}]");
	refuse_action(world, "TCP", INVALID, "only has forward",
		"[{'Type':'redirect','RedirectConfig':{'Port':'81','StatusCode':'HTTP_301'}}]");
}

static void test_fixed_response(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	const struct json *config;
	char body[PROXY_BODY_MAX + 1];
	static const struct {
		const char *error, *words, *config;
	} rows[] = {
		{"ValidationError", "statusCode", "'StatusCode':'99'"},
		{"ValidationError", "statusCode", "'StatusCode':'100'"},
		{"ValidationError", "statusCode", "'StatusCode':'301'"},
		{"ValidationError", "statusCode", "'StatusCode':'600'"},
		{"ValidationError", "statusCode", "'StatusCode':'2xx'"},
		{"ValidationError", "statusCode", "'StatusCode':'0200'"},
		{INVALID, "ContentType", "'StatusCode':'200','ContentType':'image/png'"},
		{INVALID, "zero byte", "'StatusCode':'200','MessageBody':'a\\u0000b'"},
	};

	memset(body, 'x', sizeof(body));
	config = json_get(take_action(world, "HTTP",
				  "[{'Type':'fixed-response','FixedResponseConfig':{'StatusCode':"
				  "'503','ContentType':'application/json','MessageBody':'%.*s'}}]",
				  PROXY_BODY_MAX, body),
		"FixedResponseConfig");
	assert_string_equal(test_text_of(server, config, "StatusCode"), "503");
	assert_string_equal(test_text_of(server, config, "ContentType"), "application/json");
	assert_int_equal(json_get_text(config, "MessageBody").length, PROXY_BODY_MAX);
	take_action(world, "HTTP",
		"[{'Type':'fixed-response','FixedResponseConfig':{'StatusCode':'200','MessageBody':"
		"'two\\nlines'}}]");
	for (size_t i = 0; i < LENGTH(rows); i++)
		refuse_action(world, "HTTP", rows[i].error, rows[i].words,
			"[{'Type':'fixed-response','FixedResponseConfig':{%s}}]", rows[i].config);
	refuse_action(world, "HTTP", INVALID, "needs FixedResponseConfig",
		"[{'Type':'fixed-response'}]");
	refuse_action(world, "HTTP", "ValidationError", ".messageBody'",
		"[{'Type':'fixed-response','FixedResponseConfig':{'StatusCode':'200','MessageBody':"
		"'%.*s'}}]",
		PROXY_BODY_MAX + 1, body);
	refuse_action(world, "TCP", INVALID, "only has forward",
		"[{'Type':'fixed-response','FixedResponseConfig':{'StatusCode':'200'}}]");
}

static void test_lists(void **state)
{
	struct test_world *world = *state;

	refuse_action(world, "HTTP", INVALID, "exactly one", "[]");
	refuse_action(world, "HTTP", "TooManyActionsException", "2 are given",
		"[{'Type':'forward','TargetGroupArn':'%s'},{'Type':'fixed-response',"
		"'FixedResponseConfig':{'StatusCode':'200'}}]",
		world->http);
	refuse_action(world, "HTTP", INVALID, "does not go with",
		"[{'Type':'forward','TargetGroupArn':'%s','FixedResponseConfig':{'StatusCode':"
		"'200'}}]",
		world->http);
	refuse_action(world, "HTTP", INVALID, "does not go with",
		"[{'Type':'fixed-response','TargetGroupArn':'%s','FixedResponseConfig':"
		"{'StatusCode':'200'}}]",
		world->http);
	refuse_action(world, "HTTP", INVALID, "authenticate-cognito",
		"[{'Type':'authenticate-cognito','Order':1,'AuthenticateCognitoConfig':"
		"{'UserPoolArn':'a','UserPoolClientId':'b','UserPoolDomain':'c'}},"
		"{'Type':'forward','Order':2,'TargetGroupArn':'%s'}]",
		world->http);
	refuse_action(world, "HTTP", INVALID, "jwt-validation",
		"[{'Type':'jwt-validation','JwtValidationConfig':{'Issuer':'a','JwksEndpoint':"
		"'b'}}]");
}

/* A hundred groups for one load balancer, and a thousand targets. */
static void test_limits_of_a_load_balancer(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char listener[TEST_ARN_SIZE], group[TEST_ARN_SIZE], name[16];
	static const char request[] =
		"{'ListenerArn':'%s','Priority':%d,'Conditions':[{'Field':'path-pattern','Values':"
		"['/']}],'Actions':[{'Type':'forward','TargetGroupArn':'%s'}]}";

	test_listener(world, 80, listener);
	for (int i = 1; i < 100; i++) {
		snprintf(name, sizeof(name), "group-%d", i);
		test_group(server, name, "HTTP", group);
		test_call(server, "CreateRule", request, listener, i, group);
	}
	test_refused(server, "CreateRule", "TooManyUniqueTargetGroupsPerLoadBalancerException",
		"100", request, listener, 100, world->more[0]);
	test_call(server, "CreateRule", request, listener, 100, group);
}

static void test_limit_of_targets(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	struct span targets = SPAN("");
	_arena_ struct arena *arena = arena_new(0);

	for (int i = 0; i < 100; i++)
		targets = arena_format(arena, "%.*s%s{'Id':'127.0.0.1','Port':%d}",
			SPAN_ARGS(targets), i > 0 ? "," : "", 1000 + i);
	for (size_t i = 0; i < 5; i++)
		for (int k = 0; k < (i == 4 ? 3 : 2); k++) {
			/* 100 at once, each time of another address. */
			struct span copy = arena_copy_span(arena, targets);

			for (size_t at = 0; at + 9 < copy.length; at++)
				if (memcmp(copy.data + at, "127.0.0.1", 9) == 0)
					((char *)copy.data)[at + 8] = (char)('2' + k);
			test_call(server, "RegisterTargets",
				"{'TargetGroupArn':'%s','Targets':[%.*s]}", world->more[i],
				SPAN_ARGS(copy));
		}
	/* 200 in each of four groups, 300 in the fifth. */
	take_action(world, "HTTP",
		"[{'Type':'forward','ForwardConfig':{'TargetGroups':[{'TargetGroupArn':'%s'},"
		"{'TargetGroupArn':'%s'},{'TargetGroupArn':'%s'},{'TargetGroupArn':'%s'}]}}]",
		world->more[0], world->more[1], world->more[2], world->more[3]);
	refuse_action(world, "HTTP", "TooManyTargetsException", "1100",
		"[{'Type':'forward','TargetGroupArn':'%s'}]", world->more[4]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_WITH_WORLD(test_forward_in_both_forms),
		TEST_WITH_WORLD(test_forward_with_weights),
		TEST_WITH_WORLD(test_forward_refused),
		TEST_WITH_WORLD(test_a_group_belongs_to_one_load_balancer),
		TEST_WITH_WORLD(test_redirect),
		TEST_WITH_WORLD(test_redirect_refused),
		TEST_WITH_WORLD(test_fixed_response),
		TEST_WITH_WORLD(test_lists),
		TEST_WITH_WORLD(test_limits_of_a_load_balancer),
		TEST_WITH_WORLD(test_limit_of_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
