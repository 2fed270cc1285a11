#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aws/arn.h"
#include "base/memory.h"

static void assert_span(struct span got, const char *wanted)
{
	assert_int_equal(got.length, strlen(wanted));
	assert_memory_equal(got.data, wanted, got.length);
}

static void cuts_at_the_first_five_colons(void **state)
{
	struct aws_arn arn;

	(void)state;
	assert_true(aws_arn_parse(SPAN("arn:aws:ecs:eu-west-1:123456789012:task-definition/web:12"),
		&arn));
	assert_span(arn.partition, "aws");
	assert_span(arn.service, "ecs");
	assert_span(arn.region, "eu-west-1");
	assert_span(arn.account, "123456789012");
	assert_span(arn.resource, "task-definition/web:12");

	assert_true(aws_arn_parse(SPAN("arn:aws:iam::123456789012:user/ci"), &arn));
	assert_span(arn.region, "");
	assert_true(aws_arn_parse(SPAN("arn:aws:s3:::bucket/key"), &arn));
	assert_span(arn.account, "");
}

static void refuses_what_is_no_arn(void **state)
{
	static const char *const texts[] = {"", "arn", "arn:", "web", "arn:aws:ecs:eu-west-1:1",
		"arn:aws:ecs:eu-west-1:1:", "arn::ecs:eu-west-1:1:cluster/x",
		"arn:aws::eu-west-1:1:cluster/x", "ARN:aws:ecs:eu-west-1:1:cluster/x",
		"xarn:aws:ecs:eu-west-1:1:cluster/x"};
	char large[AWS_ARN_MAX + 2];
	struct aws_arn arn;

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++)
		assert_false(aws_arn_parse(span_of(texts[i]), &arn));
	memset(large, 'x', sizeof(large));
	memcpy(large, "arn:aws:ecs:r:1:", 16);
	assert_true(aws_arn_parse((struct span){large, AWS_ARN_MAX}, &arn));
	assert_false(aws_arn_parse((struct span){large, AWS_ARN_MAX + 1}, &arn));
	assert_true(aws_arn_looks_like(SPAN("arn:whatever")));
	assert_false(aws_arn_looks_like(SPAN("my-arn:x")));
}

static void partition_follows_the_region(void **state)
{
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	assert_span(aws_arn_format(arena, "ecs", SPAN("eu-west-1"), SPAN("123456789012"),
			    "cluster/%s", "default"),
		"arn:aws:ecs:eu-west-1:123456789012:cluster/default");
	assert_span(aws_arn_format(arena, "ecs", SPAN("cn-north-1"), SPAN("1"), "x"),
		"arn:aws-cn:ecs:cn-north-1:1:x");
	assert_span(aws_arn_format(arena, "iam", SPAN(""), SPAN("1"), "user/%.*s",
			    SPAN_ARGS(SPAN("ci"))),
		"arn:aws:iam::1:user/ci");
	assert_span(aws_partition_of(SPAN("us-gov-west-1")), "aws-us-gov");
	assert_span(aws_partition_of(SPAN("cn")), "aws");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_at_the_first_five_colons),
		cmocka_unit_test(refuses_what_is_no_arn),
		cmocka_unit_test(partition_follows_the_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
