/* Names of regions: those of AWS, and mistyped ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aws/region.h"
#include "base/memory.h"

static void knows_regions_by_their_parts(void **state)
{
	static const char *const known[] = {"us-east-1", "eu-central-2", "ap-southeast-7",
		"us-gov-west-1", "us-iso-east-1", "cn-northwest-1", "eusc-de-east-1",
		"mx-central-1"};
	static const char *const unknown[] = {"", "-", "us", "us-east", "us-east-", "us-east-0",
		"us-east-12", "us-esat-1", "useast-1", "east-1", "local", "EU-west-1", "xx-west-1"};

	(void)state;
	for (size_t i = 0; i < LENGTH(known); i++)
		assert_true(aws_region_is_known(span_of(known[i])));
	for (size_t i = 0; i < LENGTH(unknown); i++)
		assert_false(aws_region_is_known(span_of(unknown[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_regions_by_their_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
