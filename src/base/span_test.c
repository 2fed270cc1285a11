/* Spans: order, cutting, numbers, hashes and suggestions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/span.h"

static void test_compare(void **state)
{
	(void)state;
	assert_true(span_compare(SPAN("a"), SPAN("b")) < 0);
	assert_true(span_compare(SPAN("b"), SPAN("a")) > 0);
	assert_true(span_compare(SPAN("ab"), SPAN("abc")) < 0);
	assert_int_equal(span_compare(SPAN("abc"), SPAN("abc")), 0);
	assert_true(span_compare(SPAN("\xff"), SPAN("a")) > 0);
	assert_int_equal(span_compare(SPAN_NONE, SPAN("")), 0);
	assert_true(span_is(SPAN("abc"), "abc"));
	assert_false(span_is(SPAN("abc"), "ab"));
	assert_false(span_equal(SPAN("a\0b"), SPAN("a\0c")));
}

static void test_prefix_and_suffix(void **state)
{
	(void)state;
	assert_true(span_starts_with(SPAN("arn:aws:ecs"), SPAN("arn:")));
	assert_false(span_starts_with(SPAN("ar"), SPAN("arn:")));
	assert_true(span_starts_with(SPAN(""), SPAN("")));
	assert_true(span_ends_with(SPAN("web.yaml"), SPAN(".yaml")));
	assert_false(span_ends_with(SPAN("web.yaml"), SPAN(".json")));
	assert_false(span_ends_with(SPAN("l"), SPAN("yaml")));
}

static void test_ignoring_case_is_ascii_only(void **state)
{
	(void)state;
	assert_true(span_equal_ignoring_case(SPAN("Content-LENGTH"), SPAN("content-length")));
	assert_false(span_equal_ignoring_case(SPAN("\xc4"), SPAN("\xe4")));
	assert_false(span_equal_ignoring_case(SPAN("a"), SPAN("ab")));
	assert_false(span_equal_ignoring_case(SPAN("@"), SPAN("`")));
}

static void test_parts(void **state)
{
	struct span list = SPAN("a::bc"), part;

	(void)state;
	assert_true(span_next_part(&list, ':', &part) && span_is(part, "a"));
	assert_true(span_next_part(&list, ':', &part) && span_is(part, ""));
	assert_true(span_next_part(&list, ':', &part) && span_is(part, "bc"));
	assert_false(span_next_part(&list, ':', &part));
}

static void test_split(void **state)
{
	struct span before = SPAN("kept");
	struct span after = SPAN("kept");

	(void)state;
	assert_false(span_split(SPAN("abc"), ':', &before, &after));
	assert_false(span_split(SPAN(""), ':', &before, &after));
	assert_true(span_is(before, "kept"));
	assert_true(span_split(SPAN("a:b:c"), ':', &before, &after));
	assert_true(span_is(before, "a"));
	assert_true(span_is(after, "b:c"));
	assert_true(span_split(SPAN(":"), ':', &before, &after));
	assert_int_equal(before.length, 0);
	assert_int_equal(after.length, 0);
}

static void test_trim(void **state)
{
	(void)state;
	assert_true(span_is(span_trim(SPAN(" \ta b\t ")), "a b"));
	assert_true(span_is(span_trim(SPAN("a")), "a"));
	assert_int_equal(span_trim(SPAN(" \t ")).length, 0);
	assert_int_equal(span_trim(SPAN("")).length, 0);
}

static void test_unsigned(void **state)
{
	static const struct {
		const char *text;
		uint64_t max;
		bool valid;
		uint64_t value;
	} cases[] = {
		{"0", 0, true, 0},
		{"7", 7, true, 7},
		{"8", 7, false, 0},
		{"10", 9, false, 0},
		{"007", 7, true, 7},
		{"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
		{"18446744073709551616", UINT64_MAX, false, 0},
		{"99999999999999999999999", UINT64_MAX, false, 0},
		{"", 9, false, 0},
		{"-1", 9, false, 0},
		{"+1", 9, false, 0},
		{" 1", 9, false, 0},
		{"1 ", 9, false, 0},
		{"0x1", 9, false, 0},
		{"65535", 65535, true, 65535},
		{"65536", 65535, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		uint64_t value = 4242;
		bool valid = span_to_unsigned(span_of(cases[i].text), cases[i].max, &value);

		assert_int_equal(valid, cases[i].valid);
		assert_int_equal(value, cases[i].valid ? cases[i].value : 4242);
	}
}

static void test_hash(void **state)
{
	size_t low_bits[16] = {0};

	(void)state;
	assert_int_equal(span_hash(SPAN("web")), span_hash(span_of("web")));
	assert_true(span_hash(SPAN("web")) != span_hash(SPAN("wec")));
	for (uint32_t i = 0; i < 16000; i++)
		low_bits[span_hash((struct span){(const char *)&i, sizeof(i)}) & 15]++;
	for (size_t i = 0; i < 16; i++)
		assert_in_range(low_bits[i], 700, 1300);
}

static void test_nearest(void **state)
{
	const struct span names[] = {SPAN("listen"), SPAN("state"), SPAN("store"), SPAN("account")};

	(void)state;
	assert_true(span_is(span_nearest(SPAN("lisen"), names, 4), "listen"));
	assert_true(span_is(span_nearest(SPAN("LISTNE"), names, 4), "listen"));
	assert_true(span_is(span_nearest(SPAN("sate"), names, 4), "state"));
	assert_true(span_is(span_nearest(SPAN("store"), names, 4), "store"));
	assert_null(span_nearest(SPAN("banana"), names, 4).data);
	assert_null(span_nearest(SPAN("x"), names, 4).data);
	assert_null(span_nearest(SPAN(""), names, 4).data);
	assert_null(span_nearest(SPAN("listen"), names, 0).data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_prefix_and_suffix),
		cmocka_unit_test(test_ignoring_case_is_ascii_only),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_trim),
		cmocka_unit_test(test_unsigned),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
