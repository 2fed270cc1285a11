/* Rules: conditions in every form, priorities, the default rule, paging. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elb/condition.h"
#include "elb/listener.h"
#include "elb/test_listeners.h"

#define FIXED "'Actions':[{'Type':'fixed-response','FixedResponseConfig':{'StatusCode':'200'}}]"
#define ANY "'Conditions':[{'Field':'path-pattern','Values':['/']}]"

static void test_conditions_and_how_they_are_answered(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char listener[TEST_ARN_SIZE];
	/* NULL: answered as given */
	static const struct {
		const char *requested, *answered;
	} rows[] = {
		{"{'Field':'host-header','Values':['*.example.com']}",
			"{'Field':'host-header','Values':['*.example.com'],'HostHeaderConfig':"
			"{'Values':['*.example.com']}}"},
		{"{'Field':'host-header','HostHeaderConfig':{'Values':['localhost','A.b']}}",
			"{'Field':'host-header','Values':['localhost','A.b'],'HostHeaderConfig':"
			"{'Values':['localhost','A.b']}}"},
		{"{'Field':'path-pattern','Values':['/img/*?.$x~@:+&_-.'],'PathPatternConfig':"
		 "{'Values':['/img/*?.$x~@:+&_-.']}}",
			NULL},
		{"{'Field':'path-pattern','Values':['*.png']}",
			"{'Field':'path-pattern','Values':['*.png'],'PathPatternConfig':{'Values':["
			"'*.png']}}"},
		{"{'Field':'http-header','HttpHeaderConfig':{'HttpHeaderName':'X-A_b!','Values':"
		 "['*Chrome*','a b; c']}}",
			NULL},
		{"{'Field':'http-request-method','HttpRequestMethodConfig':{'Values':['GET','M-A_1'"
		 "]}}",
			NULL},
		{"{'Field':'query-string','QueryStringConfig':{'Values':[{'Key':'v','Value':'1*'},"
		 "{'Value':'x'}]}}",
			NULL},
		{"{'Field':'source-ip','SourceIpConfig':{'Values':['10.0.0.0/8','2001:db8::/32',"
		 "'0.0.0.0/0']}}",
			NULL},
	};

	test_listener(world, 80, listener);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct span text = arena_format(arena, "%s",
			rows[i].answered ? rows[i].answered : rows[i].requested);
		const struct json *conditions;
		struct json *wanted;

		for (size_t k = 0; k < text.length; k++)
			if (text.data[k] == '\'')
				((char *)text.data)[k] = '"';
		assert_int_equal(json_parse(text, arena, &wanted, NULL), 0);
		test_call(server, "CreateRule",
			"{'ListenerArn':'%s','Priority':%zu,'Conditions':[%s]," FIXED "}", listener,
			i + 1, rows[i].requested);
		conditions = json_get(test_item(server, "Rules", 0), "Conditions");
		assert_int_equal(json_count(conditions), 1);
		if (!json_equal(json_item(conditions, 0), wanted))
			fail_msg("%s became %.*s", rows[i].requested,
				SPAN_ARGS(json_to_text(json_item(conditions, 0), server->arena)));
		/* The conditions in an answer are valid input. */
		test_call(server, "ModifyRule", "{'RuleArn':'%s','Conditions':[%s]}",
			test_text_of(server, test_item(server, "Rules", 0), "RuleArn"),
			rows[i].answered ? rows[i].answered : rows[i].requested);
	}
}

static void test_conditions_refused(void **state)
{
	struct test_world *world = *state;
	char listener[TEST_ARN_SIZE];
	static const struct {
		const char *words, *requested;
	} rows[] = {
		{"at least one", ""},
		{"must be one of", "{}"},
		{"'cookie'", "{'Field':'cookie','Values':['a']}"},
		{"A condition value must be specified", "{'Field':'host-header'}"},
		{"A condition value must be specified", "{'Field':'host-header','Values':[]}"},
		{"is empty", "{'Field':'host-header','Values':['']}"},
		{"character", "{'Field':'host-header','Values':['a b']}"},
		{"character", "{'Field':'host-header','Values':['a:80']}"},
		{"character", "{'Field':'path-pattern','Values':['/a b']}"},
		{"character", "{'Field':'path-pattern','Values':['/a\\u0000']}"},
		{"character", "{'Field':'path-pattern','Values':['/\\u00e4']}"},
		{"different things", "{'Field':'path-pattern','Values':['/"
				     "a'],'PathPatternConfig':{'Values':['/b'"
				     "]}}"},
		{"belong into HttpRequestMethodConfig",
			"{'Field':'http-request-method','Values':['GET']}"},
		{"does not go with", "{'Field':'path-pattern','Values':['/"
				     "a'],'HostHeaderConfig':{'Values':['b']}"
				     "}"},
		{"RegexValues", "{'Field':'path-pattern','RegexValues':['^/a']}"},
		{"RegexValues",
			"{'Field':'host-header','HostHeaderConfig':{'RegexValues':['^a']}}"},
		{"HttpHeaderName", "{'Field':'http-header','HttpHeaderConfig':{'Values':['a']}}"},
		{"host-header",
			"{'Field':'http-header','HttpHeaderConfig':{'HttpHeaderName':'hOST',"
			"'Values':['a']}}"},
		{"name of a header", "{'Field':'http-header','HttpHeaderConfig':{'HttpHeaderName':'"
				     "a b','Values':"
				     "['a']}}"},
		{"at most 40", "{'Field':'http-header','HttpHeaderConfig':{'HttpHeaderName':"
			       "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx','Values':['a']}}"},
		{"escaped",
			"{'Field':'http-header','HttpHeaderConfig':{'HttpHeaderName':'a','Values':"
			"['\\\\*']}}"},
		{"character",
			"{'Field':'http-header','HttpHeaderConfig':{'HttpHeaderName':'a','Values':"
			"['\\n']}}"},
		{"upper case", "{'Field':'http-request-method','HttpRequestMethodConfig':{'Values':"
			       "['get']}"
			       "}"},
		{"character", "{'Field':'http-request-method','HttpRequestMethodConfig':{'Values':["
			      "'G*']}}"},
		{"is empty",
			"{'Field':'query-string','QueryStringConfig':{'Values':[{'Key':'a'}]}}"},
		{"block of addresses",
			"{'Field':'source-ip','SourceIpConfig':{'Values':['10.0.0.1']}}"},
		{"block of addresses",
			"{'Field':'source-ip','SourceIpConfig':{'Values':['10.0.0.0/33']}}"},
		{"block of addresses",
			"{'Field':'source-ip','SourceIpConfig':{'Values':['10.0.0/8']}}"},
		{"block of addresses",
			"{'Field':'source-ip','SourceIpConfig':{'Values':['::/129']}}"},
		{"at most one",
			"{'Field':'path-pattern','Values':['/a']},{'Field':'path-pattern','Values':"
			"['/b']}"},
		{"at most 5 values",
			"{'Field':'path-pattern','PathPatternConfig':{'Values':['/a','/b','/c']}},"
			"{'Field':'host-header','HostHeaderConfig':{'Values':['a','b','c']}}"},
		{"The 'host-header' field contains too many values; the limit is '1'",
			"{'Field':'host-header','Values':['a','b']}"},
		{"at most 6 wildcards",
			"{'Field':'path-pattern','Values':['/*?*?']},{'Field':'host-header',"
			"'Values':['*a*b*']}"},
	};
	char longest[300];

	test_listener(world, 80, listener);
	for (size_t i = 0; i < LENGTH(rows); i++)
		test_refused(world->server, "CreateRule", "ValidationError", rows[i].words,
			"{'ListenerArn':'%s','Priority':1,'Conditions':[%s]," FIXED "}", listener,
			rows[i].requested);
	memset(longest, 'x', sizeof(longest));
	test_call(world->server, "CreateRule",
		"{'ListenerArn':'%s','Priority':1,'Conditions':[{'Field':'path-pattern','Values':["
		"'%.128s']}]," FIXED "}",
		listener, longest);
	test_refused(world->server, "CreateRule", "ValidationError", "at most 128",
		"{'ListenerArn':'%s','Priority':2,'Conditions':[{'Field':'path-pattern','Values':["
		"'%.129s']}]," FIXED "}",
		listener, longest);
	/* Those that may be there twice. */
	test_call(world->server, "CreateRule",
		"{'ListenerArn':'%s','Priority':2,'Conditions':["
		"{'Field':'http-header','HttpHeaderConfig':{'HttpHeaderName':'a','Values':['1']}},"
		"{'Field':'http-header','HttpHeaderConfig':{'HttpHeaderName':'b','Values':['2']}},"
		"{'Field':'query-string','QueryStringConfig':{'Values':[{'Value':'3'}]}},"
		"{'Field':'query-string','QueryStringConfig':{'Values':[{'Value':'4'}]}},"
		"{'Field':'source-ip','SourceIpConfig':{'Values':['10.0.0.0/8']}}]," FIXED "}",
		listener);
}

static void test_a_rule_as_it_is_shown(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char listener[TEST_ARN_SIZE], rule[TEST_ARN_SIZE], otherwise[TEST_ARN_SIZE];
	const struct json *shown;

	test_listener(world, 80, listener);
	test_call(server, "CreateRule",
		"{'ListenerArn':'%s','Priority':50000,'Tags':[{'Key':'a'}]," ANY
		",'Actions':[{'Type':'forward','TargetGroupArn':'%s'}]}",
		listener, world->more[0]);
	test_take_arn(server, "Rules", "RuleArn", rule);
	assert_non_null(strstr(rule, ":listener-rule/app/app/"));
	test_call(server, "DescribeRules", "{'ListenerArn':'%s'}", listener);
	assert_int_equal(json_count(json_get(server->answer, "Rules")), 2);
	shown = test_item(server, "Rules", 0);
	assert_string_equal(test_text_of(server, shown, "RuleArn"), rule);
	assert_string_equal(test_text_of(server, shown, "Priority"), "50000");
	assert_true(json_is(json_get(shown, "IsDefault"), JSON_FALSE));
	shown = test_item(server, "Rules", 1);
	assert_string_equal(test_text_of(server, shown, "Priority"), "default");
	assert_true(json_is(json_get(shown, "IsDefault"), JSON_TRUE));
	assert_int_equal(json_count(json_get(shown, "Conditions")), 0);
	assert_string_equal(test_text_of(server, json_item(json_get(shown, "Actions"), 0),
				    "TargetGroupArn"),
		world->http);
	snprintf(otherwise, sizeof(otherwise), "%s", test_text_of(server, shown, "RuleArn"));
	test_call(server, "DescribeRules", "{'RuleArns':['%s','%s']}", otherwise, rule);
	assert_string_equal(test_text_of(server, test_item(server, "Rules", 0), "Priority"),
		"default");
	test_refused(server, "DeleteRule", "OperationNotPermittedException", "default rule",
		"{'RuleArn':'%s'}", otherwise);
	test_refused(server, "ModifyRule", "OperationNotPermittedException", "ModifyListener",
		"{'RuleArn':'%s'," FIXED "}", otherwise);
	test_refused(server, "SetRulePriorities", "OperationNotPermittedException", "default rule",
		"{'RulePriorities':[{'RuleArn':'%s','Priority':1}]}", otherwise);
	test_refused(server, "DeleteTargetGroup", "ResourceInUseException", "",
		"{'TargetGroupArn':'%s'}", world->more[0]);
	test_call(server, "DeleteRule", "{'RuleArn':'%s'}", rule);
	test_refused(server, "DeleteRule", "RuleNotFoundException", "not found", "{'RuleArn':'%s'}",
		rule);
	test_call(server, "DeleteTargetGroup", "{'TargetGroupArn':'%s'}", world->more[0]);
}

static void test_what_is_refused(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char listener[TEST_ARN_SIZE], network[TEST_ARN_SIZE], rule[TEST_ARN_SIZE];

	test_listener(world, 80, listener);
	test_rule(world, listener, 7, rule);
	test_refused(server, "CreateRule", "PriorityInUseException", "'7'",
		"{'ListenerArn':'%s','Priority':7," ANY "," FIXED "}", listener);
	test_refused(server, "CreateRule", "ValidationError", "'priority'",
		"{'ListenerArn':'%s','Priority':0," ANY "," FIXED "}", listener);
	test_refused(server, "CreateRule", "ValidationError", "'priority'",
		"{'ListenerArn':'%s','Priority':50001," ANY "," FIXED "}", listener);
	test_refused(server, "CreateRule", "ListenerNotFoundException", "missing",
		"{'ListenerArn':'missing','Priority':1," ANY "," FIXED "}");
	test_refused(server, "CreateRule", "TargetGroupNotFoundException", "missing",
		"{'ListenerArn':'%s','Priority':1," ANY
		",'Actions':[{'Type':'forward','TargetGroupArn':'missing'}]}",
		listener);
	test_refused(server, "CreateRule", "IncompatibleProtocolsException", "TCP",
		"{'ListenerArn':'%s','Priority':1," ANY
		",'Actions':[{'Type':'forward','TargetGroupArn':'%s'}]}",
		listener, world->tcp);
	test_refused(server, "CreateRule", "ValidationError", "Transforms",
		"{'ListenerArn':'%s','Priority':1," ANY "," FIXED
		",'Transforms':[{'Type':'url-rewrite','UrlRewriteConfig':{'Rewrites':[{'Regex':'a',"
		"'Replace':'b'}]}}]}",
		listener);
	test_refused(server, "ModifyRule", "ValidationError", "Transforms",
		"{'RuleArn':'%s','Transforms':[{'Type':'url-rewrite'}]}", rule);
	test_refused(server, "ModifyRule", "RuleNotFoundException", "missing",
		"{'RuleArn':'missing'}");
	test_refused(server, "ModifyRule", "ValidationError", "at least one",
		"{'RuleArn':'%s','Conditions':[]}", rule);
	test_refused(server, "DescribeRules", "ValidationError", "either", "{}");
	test_refused(server, "DescribeRules", "ListenerNotFoundException", "missing",
		"{'ListenerArn':'missing'}");
	test_call(server, "CreateListener",
		"{'LoadBalancerArn':'%s','Protocol':'TCP','Port':80,'DefaultActions':[{'Type':"
		"'forward','TargetGroupArn':'%s'}]}",
		world->net, world->tcp);
	test_take_arn(server, "Listeners", "ListenerArn", network);
	test_refused(server, "CreateRule", "UnsupportedProtocolException", "have no rules",
		"{'ListenerArn':'%s','Priority':1," ANY
		",'Actions':[{'Type':'forward','TargetGroupArn':'%s'}]}",
		network, world->tcp);
	test_call(server, "DescribeRules", "{'ListenerArn':'%s'}", network);
	assert_int_equal(json_count(json_get(server->answer, "Rules")), 1);
}

static void test_modifying_keeps_the_rest(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char listener[TEST_ARN_SIZE], rule[TEST_ARN_SIZE];
	const struct json *shown;

	test_listener(world, 80, listener);
	test_rule(world, listener, 7, rule);
	test_call(server, "ModifyRule",
		"{'RuleArn':'%s','Conditions':[{'Field':'host-header','Values':['a.b']}]}", rule);
	shown = test_item(server, "Rules", 0);
	assert_string_equal(test_text_of(server, shown, "Priority"), "7");
	assert_string_equal(test_text_of(server, json_item(json_get(shown, "Actions"), 0),
				    "FixedResponseConfig.StatusCode"),
		"200");
	test_call(server, "ModifyRule",
		"{'RuleArn':'%s','Actions':[{'Type':'forward','TargetGroupArn':'%s'}]}", rule,
		world->http);
	shown = test_item(server, "Rules", 0);
	assert_string_equal(test_text_of(server, json_item(json_get(shown, "Conditions"), 0),
				    "Field"),
		"host-header");
	assert_string_equal(test_text_of(server, json_item(json_get(shown, "Actions"), 0), "Type"),
		"forward");
}

/* "1 5 default", as DescribeRules has them. */
static void expect_priorities(struct test_world *world, const char *listener, const char *wanted)
{
	struct test_server *server = world->server;
	struct span all = SPAN("");

	test_call(server, "DescribeRules", "{'ListenerArn':'%s'}", listener);
	JSON_EACH_ITEM (json_get(server->answer, "Rules"), rule)
		all = arena_format(server->arena, "%.*s%s%s", SPAN_ARGS(all), all.length ? " " : "",
			test_text_of(server, rule, "Priority"));
	assert_string_equal(all.data, wanted);
}

static void test_priorities_change_all_at_once_or_not_at_all(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char listener[TEST_ARN_SIZE], second[TEST_ARN_SIZE], rules[3][TEST_ARN_SIZE];
	char remote[TEST_ARN_SIZE];

	test_listener(world, 80, listener);
	test_listener(world, 81, second);
	for (int i = 0; i < 3; i++)
		test_rule(world, listener, (i + 1) * 10, rules[i]);
	test_rule(world, second, 10, remote);
	expect_priorities(world, listener, "10 20 30 default");
	/* Two change places, which no order of single changes could do. */
	test_call(server, "SetRulePriorities",
		"{'RulePriorities':[{'RuleArn':'%s','Priority':20},{'RuleArn':'%s','Priority':10}]"
		"}",
		rules[0], rules[1]);
	assert_string_equal(test_text_of(server, test_item(server, "Rules", 0), "Priority"), "20");
	test_call(server, "DescribeRules", "{'ListenerArn':'%s'}", listener);
	assert_string_equal(test_text_of(server, test_item(server, "Rules", 0), "RuleArn"),
		rules[1]);
	test_refused(server, "SetRulePriorities", "PriorityInUseException", "'30'",
		"{'RulePriorities':[{'RuleArn':'%s','Priority':40},{'RuleArn':'%s','Priority':30}]"
		"}",
		rules[0], rules[1]);
	expect_priorities(world, listener, "10 20 30 default");
	test_refused(server, "SetRulePriorities", "ValidationError", "twice",
		"{'RulePriorities':[{'RuleArn':'%s','Priority':5},{'RuleArn':'%s','Priority':5}]}",
		rules[0], rules[1]);
	test_refused(server, "SetRulePriorities", "ValidationError", "twice",
		"{'RulePriorities':[{'RuleArn':'%s','Priority':5},{'RuleArn':'%s','Priority':6}]}",
		rules[0], rules[0]);
	test_refused(server, "SetRulePriorities", "ValidationError", "one listener",
		"{'RulePriorities':[{'RuleArn':'%s','Priority':5},{'RuleArn':'%s','Priority':6}]}",
		rules[0], remote);
	test_refused(server, "SetRulePriorities", "RuleNotFoundException", "missing",
		"{'RulePriorities':[{'RuleArn':'%s','Priority':5},{'RuleArn':'missing','Priority':"
		"6}"
		"]}",
		rules[0]);
	test_refused(server, "SetRulePriorities", "ValidationError", "needs RuleArn",
		"{'RulePriorities':[{'RuleArn':'%s'}]}", rules[0]);
	test_refused(server, "SetRulePriorities", "ValidationError", "1 to 100",
		"{'RulePriorities':[]}");
	expect_priorities(world, listener, "10 20 30 default");
	/* To where it is already. */
	test_call(server, "SetRulePriorities",
		"{'RulePriorities':[{'RuleArn':'%s','Priority':30}]}", rules[2]);
	test_call(server, "SetRulePriorities", "{'RulePriorities':[{'RuleArn':'%s','Priority':1}]}",
		rules[2]);
	expect_priorities(world, listener, "1 10 20 default");
}

static void test_pages_have_the_default_rule_at_the_end(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char listener[TEST_ARN_SIZE], rule[TEST_ARN_SIZE], marker[1024] = "";
	const char *last = "";
	int pages = 0, shown = 0;

	test_listener(world, 80, listener);
	for (int i = 4; i >= 1; i--)
		test_rule(world, listener, i * 1000, rule);
	do {
		test_call(server, "DescribeRules", "{'ListenerArn':'%s','PageSize':2%s%s%s}",
			listener, marker[0] ? ",'Marker':'" : "", marker, marker[0] ? "'" : "");
		JSON_EACH_ITEM (json_get(server->answer, "Rules"), item) {
			last = test_text_of(server, item, "Priority");
			if (shown < 4)
				assert_int_equal(atoi(last), (shown + 1) * 1000);
			shown++;
		}
		snprintf(marker, sizeof(marker), "%s",
			test_text_of(server, server->answer, "NextMarker"));
		pages++;
	} while (marker[0]);
	assert_string_equal(last, "default");
	assert_int_equal(shown, 5);
	assert_int_equal(pages, 3);
}

static void test_limit_of_rules(void **state)
{
	struct test_world *world = *state;
	char listener[TEST_ARN_SIZE], second[TEST_ARN_SIZE], rule[TEST_ARN_SIZE];

	test_listener(world, 80, listener);
	test_listener(world, 81, second);
	for (int i = 1; i <= ELB_RULES_MAX; i++)
		test_rule(world, i % 2 ? listener : second, i, rule);
	test_refused(world->server, "CreateRule", "TooManyRulesException", "100",
		"{'ListenerArn':'%s','Priority':1000," ANY "," FIXED "}", listener);
}

static void test_what_slipway_does_not_have(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	static const struct {
		const char *operation, *error, *words, *input;
	} rows[] = {
		{"AddTrustStoreRevocations", "TrustStoreNotFoundException", "'t'",
			"{'TrustStoreArn':'t'}"},
		{"DeleteSharedTrustStoreAssociation", "TrustStoreNotFoundException", "'t'",
			"{'TrustStoreArn':'t','ResourceArn':'r'}"},
		{"DeleteTrustStore", "TrustStoreNotFoundException", "'t'", "{'TrustStoreArn':'t'}"},
		{"DescribeTrustStoreAssociations", "TrustStoreNotFoundException", "'t'",
			"{'TrustStoreArn':'t'}"},
		{"DescribeTrustStoreRevocations", "TrustStoreNotFoundException", "'t'",
			"{'TrustStoreArn':'t'}"},
		{"DescribeTrustStores", "TrustStoreNotFoundException", "no such",
			"{'Names':['t']}"},
		{"GetResourcePolicy", "ResourceNotFoundException", "'t'", "{'ResourceArn':'t'}"},
		{"GetTrustStoreCaCertificatesBundle", "TrustStoreNotFoundException", "'t'",
			"{'TrustStoreArn':'t'}"},
		{"GetTrustStoreRevocationContent", "TrustStoreNotFoundException", "'t'",
			"{'TrustStoreArn':'t','RevocationId':1}"},
		{"ModifyTrustStore", "TrustStoreNotFoundException", "'t'",
			"{'TrustStoreArn':'t','CaCertificatesBundleS3Bucket':'b',"
			"'CaCertificatesBundleS3Key':'k'}"},
		{"RemoveTrustStoreRevocations", "TrustStoreNotFoundException", "'t'",
			"{'TrustStoreArn':'t','RevocationIds':[1]}"},
		{"DescribeCapacityReservation", "LoadBalancerNotFoundException", "'t'",
			"{'LoadBalancerArn':'t'}"},
		{"ModifyCapacityReservation", "LoadBalancerNotFoundException", "'t'",
			"{'LoadBalancerArn':'t'}"},
		{"ModifyIpPools", "LoadBalancerNotFoundException", "'t'",
			"{'LoadBalancerArn':'t'}"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++)
		test_refused(server, rows[i].operation, rows[i].error, rows[i].words, "%s",
			rows[i].input);
	test_call(server, "DescribeTrustStores", "{}");
	assert_int_equal(json_count(json_get(server->answer, "TrustStores")), 0);
	test_call(server, "DescribeCapacityReservation", "{'LoadBalancerArn':'%s'}", world->app);
	test_call(server, "ModifyCapacityReservation",
		"{'LoadBalancerArn':'%s','ResetCapacityReservation':true}", world->app);
	test_refused(server, "ModifyCapacityReservation", "OperationNotPermittedException",
		"reserves no capacity",
		"{'LoadBalancerArn':'%s','MinimumLoadBalancerCapacity':{'CapacityUnits':1}}",
		world->app);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_WITH_WORLD(test_conditions_and_how_they_are_answered),
		TEST_WITH_WORLD(test_conditions_refused),
		TEST_WITH_WORLD(test_a_rule_as_it_is_shown),
		TEST_WITH_WORLD(test_what_is_refused),
		TEST_WITH_WORLD(test_modifying_keeps_the_rest),
		TEST_WITH_WORLD(test_priorities_change_all_at_once_or_not_at_all),
		TEST_WITH_WORLD(test_pages_have_the_default_rule_at_the_end),
		TEST_WITH_WORLD(test_limit_of_rules),
		TEST_WITH_WORLD(test_what_slipway_does_not_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
