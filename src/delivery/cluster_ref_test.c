#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "delivery/cluster_ref.h"

static void assert_text(struct span actual, const char *expected)
{
	assert_true(span_is(actual, expected));
}

static void test_parts(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct cluster_ref ref;

	(void)state;
	assert_true(cluster_ref_parse(SPAN("edge:123456789012/eu-west-1/web"), &ref));
	assert_text(ref.text, "edge:123456789012/eu-west-1/web");
	assert_text(ref.target, "edge");
	assert_text(ref.account, "123456789012");
	assert_text(ref.region, "eu-west-1");
	assert_text(ref.cluster, "web");
	assert_text(ref.scope, "123456789012/eu-west-1/web");
	assert_true(cluster_ref_is_remote(ref));
	assert_true(cluster_ref_equal(ref,
		cluster_ref_make(arena, ref.target, ref.account, ref.region, ref.cluster)));
	assert_false(cluster_ref_equal(ref, cluster_ref_of_key(arena, ref.scope)));
}

static void test_own(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct cluster_ref ref = cluster_ref_of_key(arena, SPAN("123456789012/eu-west-1/web"));

	(void)state;
	assert_text(ref.text, ":123456789012/eu-west-1/web");
	assert_false(cluster_ref_is_remote(ref));
	assert_text(ref.target, "");
	assert_text(ref.cluster, "web");
	assert_text(ref.scope, "123456789012/eu-west-1/web");
}

static void test_others_are_rejected(void **state)
{
	static const char *const texts[] = {
		"", "web", ":", "edge:web", ":123456789012/web", "123456789012/eu-west-1/web"};
	struct cluster_ref ref = {.account = SPAN("unchanged")};

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		assert_false(cluster_ref_parse(span_of(texts[i]), &ref));
		assert_text(ref.account, "unchanged");
		assert_text(cluster_ref_of(span_of(texts[i])).text, texts[i]);
		assert_text(cluster_ref_of(span_of(texts[i])).target, "");
		assert_text(cluster_ref_of(span_of(texts[i])).cluster, "");
	}
	assert_false(cluster_ref_is_remote(cluster_ref_of(SPAN(""))));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_others_are_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
