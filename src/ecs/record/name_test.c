#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ecs/record/name.h"
#include "ecs/test_server.h"

#define REGION "eu-west-1"
#define ACCOUNT "123456789012"
#define ARN(resource) "arn:aws:ecs:" REGION ":" ACCOUNT ":" resource

static struct aws_caller caller = {
	.account = SPAN(ACCOUNT), .user = SPAN("admin"), .region = SPAN(REGION)};

static void knows_names(void **state)
{
	char longest[ECS_NAME_MAX + 1];

	(void)state;
	memset(longest, 'n', sizeof(longest));
	assert_true(ecs_is_name(SPAN("a")));
	assert_true(ecs_is_name(SPAN("Web_1-b")));
	assert_true(ecs_is_name((struct span){longest, ECS_NAME_MAX}));
	assert_false(ecs_is_name((struct span){longest, ECS_NAME_MAX + 1}));
	for (unsigned c = 0; c < 256; c++) {
		char text[] = {'a', (char)c, 'b'};
		bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '-' || c == '_';

		assert_int_equal(ecs_is_name((struct span){text, sizeof(text)}), good);
	}
	assert_false(ecs_is_name(SPAN("")));
	assert_false(ecs_is_name(SPAN_NONE));
}

/* NULL: it must not resolve. */
static void resolves(const char *type, struct span requested, const char *name)
{
	struct span found = SPAN_NONE;
	bool resolved = ecs_try_resolve(&caller, type, requested, &found);

	if (resolved != (name != NULL) || (name && !span_is(found, name)))
		fail_msg("'%.*s' as %s: '%.*s'", SPAN_ARGS(requested), type, SPAN_ARGS(found));
}

static void resolves_names_and_arns(void **state)
{
	(void)state;
	resolves("cluster", SPAN("web"), "web");
	resolves("cluster", SPAN(ARN("cluster/web")), "web");
	resolves("service", SPAN(ARN("service/web/api")), "web/api");
	resolves("task-definition", SPAN(ARN("task-definition/web:7")), "web:7");
	resolves("task-definition", SPAN("web:7"), "web:7");
	resolves("cluster", SPAN(""), NULL);
	resolves("cluster", SPAN_NONE, NULL);
	resolves("cluster", SPAN("web\0x"), NULL);
	resolves("cluster", SPAN(ARN("cluster/web\0x")), NULL);
	resolves("cluster", SPAN(ARN("cluster/")), NULL);
	resolves("cluster", SPAN(ARN("cluster")), NULL);
	resolves("cluster", SPAN(ARN("clusters/web")), NULL);
	resolves("cluster", SPAN(ARN("service/web")), NULL);
	resolves("cluster", SPAN("arn:aws:ec2:" REGION ":" ACCOUNT ":cluster/web"), NULL);
	resolves("cluster", SPAN("arn:aws:ecs:us-east-1:" ACCOUNT ":cluster/web"), NULL);
	resolves("cluster", SPAN("arn:aws:ecs:" REGION ":210987654321:cluster/web"), NULL);
	resolves("cluster", SPAN("arn:aws-cn:ecs:" REGION ":" ACCOUNT ":cluster/web"), NULL);
	resolves("cluster", SPAN("arn:aws:ecs"), NULL);
	resolves("cluster", SPAN("arn:"), NULL);
}

static void makes_keys_and_arns(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct aws_request request = {.caller = &caller, .arena = arena};
	struct span key = aws_key(&request, SPAN("we\0b"));

	(void)state;
	assert_true(span_equal(key, SPAN(ACCOUNT "/" REGION "/we\0b")));
	assert_true(span_equal(aws_name_of_key(key), SPAN("we\0b")));
	assert_true(span_is(aws_key_prefix(&request), ACCOUNT "/" REGION "/"));
	assert_true(span_is(aws_name_of_key(SPAN("a/b/c/d e")), "c/d e"));
	assert_true(span_is(aws_name_of_key(SPAN("a/b")), ""));
	assert_true(span_is(ecs_arn(&request, "cluster", SPAN("web")), ARN("cluster/web")));
	/* One ARN for policies, whichever way a resource is named. */
	assert_true(span_is(ecs_canonical_arn(&request, "cluster", SPAN("web")),
		ARN("cluster/web")));
	assert_true(span_is(ecs_canonical_arn(&request, "cluster", SPAN(ARN("cluster/web"))),
		ARN("cluster/web")));
	assert_true(span_is(ecs_canonical_arn(&request, "cluster", SPAN(ARN("service/web"))),
		ARN("service/web")));
	assert_true(span_is(ecs_canonical_arn(&request, "cluster", SPAN_NONE), ""));
}

/* The error message for text that cannot be a name or ARN of the type. */
static void says_what_is_wrong(void **state)
{
	struct test_server *server = *state;
	const char *input = "InvalidParameterException";

	test_refused(server, "DeleteCluster", input, "cluster: must not be empty",
		"{'cluster':''}");
	test_refused(server, "DeleteCluster", input, "is not a valid ARN", "{'cluster':'arn:x'}");
	test_refused(server, "DeleteCluster", input, "is in region 'us-east-1'",
		"{'cluster':'arn:aws:ecs:us-east-1:" ACCOUNT ":cluster/web'}");
	test_refused(server, "DeleteCluster", input, "belongs to another account",
		"{'cluster':'arn:aws:ecs:" REGION ":210987654321:cluster/web'}");
	test_refused(server, "DeleteCluster", input, "is not the ARN of a cluster",
		"{'cluster':'" ARN("service/web") "'}");
	test_refused(server, "DeleteCluster", input, "is not a valid name",
		"{'cluster':'web\\u0000'}");
	test_refused(server, "CreateCluster", input, "clusterName: 'a b' is not a valid name",
		"{'clusterName':'a b'}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_names),
		cmocka_unit_test(resolves_names_and_arns),
		cmocka_unit_test(makes_keys_and_arns),
		TEST_WITH_SERVER(says_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
