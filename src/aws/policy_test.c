#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "aws/policy.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "base/random.h"

#define CLUSTER(name) "arn:aws:ecs:eu-west-1:123456789012:cluster/" name

static const struct aws_policy *parse(struct arena *arena, const char *text)
{
	const struct aws_policy *policy = NULL;
	struct err err = {0};

	if (aws_policy_parse(span_of(text), arena, &policy, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return policy;
}

static void decides(void **state)
{
	static const struct {
		const char *policy, *action, *resource;
		bool allowed;
	} cases[] = {
		{"{\"Statement\":{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\"}}",
			"ecs:RunTask", CLUSTER("a"), true},
		/* No resource named: "*" itself must be allowed. */
		{"{\"Statement\":{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\"}}",
			"ecs:ListClusters", NULL, true},
		{"{\"Statement\":{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"" CLUSTER(
			 "a") "\"}}",
			"ecs:ListClusters", NULL, false},
		/* Actions without case, resources with it. */
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"ECS:describe*\",\"Resource\":"
		 "\"*\"}]}",
			"ecs:DescribeTasks", CLUSTER("a"), true},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"ecs:*\",\"Resource\":"
		 "\"" CLUSTER("Team-*") "\"}]}",
			"ecs:DescribeTasks", CLUSTER("team-a"), false},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"ecs:*\",\"Resource\":"
		 "\"" CLUSTER("team-*") "\"}]}",
			"ecs:DescribeTasks", CLUSTER("team-a"), true},
		/* An action that no statement allows is denied. */
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"ecs:Describe*\",\"Resource\":"
		 "\"*\"}]}",
			"ecs:DeleteCluster", CLUSTER("a"), false},
		{"{\"Statement\":[{\"Effect\":\"Deny\",\"Action\":\"ecs:Describe*\",\"Resource\":"
		 "\"*\"}]}",
			"ecs:DeleteCluster", CLUSTER("a"), false},
		/* Explicit deny wins, before and behind. */
		{"{\"Statement\":[{\"Effect\":\"Deny\",\"Action\":\"ecs:Delete*\",\"Resource\":\"*"
		 "\"},"
		 "{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\"}]}",
			"ecs:DeleteCluster", CLUSTER("a"), false},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\"},"
		 "{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\"},"
		 "{\"Effect\":\"Deny\",\"Action\":\"ecs:Delete*\",\"Resource\":\"*\"}]}",
			"ecs:DeleteCluster", CLUSTER("a"), false},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\"},"
		 "{\"Effect\":\"Deny\",\"Action\":\"ecs:*\",\"Resource\":\"" CLUSTER("prod") "\"}]"
											     "}",
			"ecs:DeleteCluster", CLUSTER("prod2"), true},
		/* Lists, and the inverted forms. */
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":[\"ecs:A\",\"ecs:B\"],"
		 "\"Resource\":[\"" CLUSTER("a") "\",\"" CLUSTER("b") "\"]}]}",
			"ecs:B", CLUSTER("b"), true},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"NotAction\":[\"ecs:Delete*\",\"ecs:Stop*"
		 "\"],"
		 "\"Resource\":\"*\"}]}",
			"ecs:StopTask", CLUSTER("b"), false},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"NotAction\":[\"ecs:Delete*\",\"ecs:Stop*"
		 "\"],"
		 "\"Resource\":\"*\"}]}",
			"ecs:RunTask", CLUSTER("b"), true},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"*\",\"NotResource\":"
		 "\"" CLUSTER("prod*") "\"}]}",
			"ecs:RunTask", CLUSTER("production"), false},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"*\",\"NotResource\":"
		 "\"" CLUSTER("prod*") "\"}]}",
			"ecs:RunTask", CLUSTER("test"), true},
		/* Wildcards at every place. */
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"ecs:?unTask\",\"Resource\":"
		 "\"arn:aws:ecs:*:*:cluster/?\"}]}",
			"ecs:RunTask", CLUSTER("a"), true},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"ecs:?unTask\",\"Resource\":"
		 "\"arn:aws:ecs:*:*:cluster/?\"}]}",
			"ecs:RunTask", CLUSTER("ab"), false},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"ecs:*Task*\",\"Resource\":"
		 "\"arn:aws:ecs:*\"}]}",
			"ecs:DescribeTaskSets", CLUSTER("ab"), true},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"ecs:Run\",\"Resource\":\"*\"}]"
		 "}",
			"ecs:RunTask", CLUSTER("ab"), false},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"ecs:RunTask\",\"Resource\":\"*"
		 "\"}]}",
			"ecs:Run", CLUSTER("ab"), false},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct span resource = span_of(cases[i].resource);
		bool allowed = aws_policy_allows(parse(arena, cases[i].policy),
			span_of(cases[i].action), &resource, cases[i].resource ? 1 : 0);

		if (allowed != cases[i].allowed)
			fail_msg("case %zu: %s", i, cases[i].policy);
	}
}

static void every_resource_must_be_allowed(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct aws_policy *policy = parse(arena,
		"{\"Version\":\"2012-10-17\",\"Id\":\"x\",\"Statement\":[{\"Sid\":\"1\",\"Effect\":"
		"\"Allow\",\"Action\":\"ecs:*\",\"Resource\":[\"*\"]},{\"Effect\":\"Deny\","
		"\"Action\":"
		"\"ecs:StopTask\",\"Resource\":\"" CLUSTER("c") "\"}]}");
	struct span resources[] = {SPAN(CLUSTER("a")), SPAN(CLUSTER("b")), SPAN(CLUSTER("c"))};

	(void)state;
	assert_true(aws_policy_allows(policy, SPAN("ecs:StopTask"), resources, 2));
	assert_false(aws_policy_allows(policy, SPAN("ecs:StopTask"), resources, 3));
	/* Too many to name: a Deny for one of them counts, wherever it points. */
	assert_true(aws_policy_allows(policy, SPAN("ecs:StopTask"), NULL, 0));
	assert_false(aws_policy_allows_everything(policy, SPAN("ecs:StopTask")));
	assert_true(aws_policy_allows_everything(policy, SPAN("ecs:RunTask")));
	assert_false(aws_policy_allows_everything(policy, SPAN("s3:GetObject")));
}

static void refuses_what_it_does_not_understand(void **state)
{
	static const struct {
		const char *policy, *message;
	} cases[] = {
		{"", "policy: "},
		{"[]", "policy: must be an object, not an array"},
		{"{}", "policy: Statement: is missing"},
		{"{\"Statement\":[]}", "policy: Statement: the list is empty"},
		{"{\"Statement\":[1]}", "policy: Statement[0]: must be an object"},
		{"{\"Statement\":1}", "policy: Statement[0]: must be an object"},
		{"{\"Versoin\":\"2012-10-17\",\"Statement\":[]}", "policy: Versoin: not a member"},
		{"{\"Version\":\"2013-10-17\",\"Statement\":[]}", "policy: Version: must be"},
		{"{\"Statement\":[{\"Action\":\"*\",\"Resource\":\"*\"}]}",
			"policy: Statement[0]: Effect: must be"},
		{"{\"Statement\":[{\"Effect\":\"allow\",\"Action\":\"*\",\"Resource\":\"*\"}]}",
			"policy: Statement[0]: Effect: must be"},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Resource\":\"*\"}]}",
			"policy: Statement[0]: Action: is missing (or NotAction)"},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"*\"}]}",
			"policy: Statement[0]: Resource: is missing (or NotResource)"},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"*\",\"NotAction\":\"*\","
		 "\"Resource\":\"*\"}]}",
			"policy: Statement[0]: Action: cannot stand beside NotAction"},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":[],\"Resource\":\"*\"}]}",
			"policy: Statement[0]: Action: the list is empty"},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":[[]],\"Resource\":\"*\"}]}",
			"policy: Statement[0]: Action: must be a string or a list"},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"NotAction\":\"RunTask\",\"Resource\":\"*"
		 "\"}]}",
			"policy: Statement[0]: NotAction: 'RunTask' is not"},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"ecs:Run "
		 "Task\",\"Resource\":\"*\"}]}",
			"policy: Statement[0]: Action: 'ecs:Run Task' has a character"},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"web\"}]}",
			"policy: Statement[0]: Resource: 'web' is neither"},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":"
		 "\"arn:aws:ecs:*:*:cluster/${aws:username}\"}]}",
			"policy: Statement[0]: Resource: "
			"'arn:aws:ecs:*:*:cluster/${aws:username}': "
			"policy variables are not supported"},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\"},"
		 "{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\",\"Condition\":{}}]}",
			"policy: Statement[1]: Condition: not supported"},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":\"*\",\"Action\":\"*\","
		 "\"Resource\":\"*\"}]}",
			"policy: Statement[0]: Principal: not supported"},
		{"{\"Statement\":[{\"Effect\":\"Allow\",\"Effect\":\"Deny\",\"Action\":\"*\","
		 "\"Resource\":\"*\"}]}",
			"policy: "},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		const struct aws_policy *policy = NULL;
		struct err err = {0};

		assert_true(aws_policy_parse(span_of(cases[i].policy), arena, &policy, &err) < 0);
		assert_null(policy);
		if (strncmp(err.message, cases[i].message, strlen(cases[i].message)) != 0)
			fail_msg("case %zu: %s", i, err.message);
	}
}

static void has_limits(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer text = {0};
	const struct aws_policy *policy = NULL;
	struct err err = {0};

	(void)state;
	buffer_add_string(&text, "{\"Statement\":[");
	for (int i = 0; i <= AWS_POLICY_STATEMENTS_MAX; i++)
		buffer_format(&text, "%s{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\"}",
			i ? "," : "");
	buffer_add_string(&text, "]}");
	assert_int_equal(aws_policy_parse(buffer_span(&text), arena, &policy, &err), -E2BIG);
	while (text.length <= AWS_POLICY_TEXT_MAX)
		buffer_add_char(&text, ' ');
	assert_int_equal(aws_policy_parse(buffer_span(&text), arena, &policy, &err), -E2BIG);
	assert_string_equal(err.message, "policy: longer than 32768 bytes");
}

/* The plainest way to say what wildcards mean; exponential, so the words are short. */
static bool model_matches(const char *pattern, const char *text)
{
	if (!*pattern)
		return !*text;
	if (*pattern == '*')
		return model_matches(pattern + 1, text) ||
		       (*text && model_matches(pattern, text + 1));
	return *text && (*pattern == '?' || *pattern == *text) &&
	       model_matches(pattern + 1, text + 1);
}

static void wildcards_agree_with_the_model(void **state)
{
	struct random_seeded seeded;
	struct random *random = &seeded.random;

	(void)state;
	random_seeded_init(&seeded, 7);
	for (int i = 0; i < 20000; i++) {
		_arena_ struct arena *arena = arena_new(0);
		char pattern[16] = "arn:", text[16] = "arn:", policy[200];
		size_t pattern_length = 4 + random_below(random, 7);
		size_t text_length = 4 + random_below(random, 9);
		struct span resource;

		for (size_t k = 4; k < pattern_length; k++)
			pattern[k] = "ab*?*"[random_below(random, 5)];
		pattern[pattern_length] = '*'; /* so that it passes for the beginning of an ARN */
		for (size_t k = 4; k < text_length; k++)
			text[k] = "ab"[random_below(random, 2)];
		snprintf(policy, sizeof(policy),
			"{\"Statement\":{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"%s\"}"
			"}",
			pattern);
		resource = span_of(text);
		if (aws_policy_allows(parse(arena, policy), SPAN("ecs:X"), &resource, 1) !=
			model_matches(pattern, text))
			fail_msg("'%s' against '%s'", pattern, text);
	}
}

/* Would take longer than the universe with plain backtracking. */
static void matching_is_not_exponential(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer text = {0};
	struct span resource;

	(void)state;
	buffer_add_string(&text,
		"{\"Statement\":{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"arn:");
	for (int i = 0; i < 500; i++)
		buffer_add_string(&text, "*a");
	buffer_add_string(&text, "b*\"}}");
	resource = (struct span){memset(arena_allocate(arena, 2000), 'a', 2000), 2000};
	assert_false(aws_policy_allows(parse(arena, text.data), SPAN("ecs:X"), &resource, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decides),
		cmocka_unit_test(every_resource_must_be_allowed),
		cmocka_unit_test(refuses_what_it_does_not_understand),
		cmocka_unit_test(has_limits),
		cmocka_unit_test(wildcards_agree_with_the_model),
		cmocka_unit_test(matching_is_not_exponential),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
