/* Suspended objects, values that autoscalers and canaries control, and merge patches. */
#include "release/release_adjust.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"

static struct json *parse(struct arena *arena, const char *text)
{
	struct json *value = NULL;

	assert_int_equal(json_parse(span_of(text), arena, &value, NULL), 0);
	return value;
}

static void assert_json(struct arena *arena, const struct json *value, const char *expected)
{
	if (!expected) {
		assert_null(value);
		return;
	}
	assert_non_null(value);
	if (!json_equal(value, parse(arena, expected)))
		fail_msg("%s, not %s", json_to_text(value, arena).data, expected);
}

static void test_suspend(void **state)
{
	static const struct {
		const char *object, *expected;
	} cases[] = {
		{"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"spec\":{\"replicas\":3,"
		 "\"a\":1}}",
			"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"spec\":{"
			"\"replicas\":0,\"a\":1}}"},
		{"{\"apiVersion\":\"v1\",\"kind\":\"ReplicationController\"}",
			"{\"apiVersion\":\"v1\",\"kind\":\"ReplicationController\",\"spec\":{"
			"\"replicas\":0}}"},
		{"{\"apiVersion\":\"batch/v1beta1\",\"kind\":\"CronJob\",\"spec\":{}}",
			"{\"apiVersion\":\"batch/v1beta1\",\"kind\":\"CronJob\",\"spec\":{"
			"\"suspend\":true}}"},
		{"{\"apiVersion\":\"v1\",\"kind\":\"Deployment\",\"spec\":{\"replicas\":3}}",
			"{\"apiVersion\":\"v1\",\"kind\":\"Deployment\",\"spec\":{\"replicas\":"
			"3}}"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);

		assert_json(arena, release_suspend_object(arena, parse(arena, cases[i].object)),
			cases[i].expected);
	}
}

static void test_keep_replicas(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct json *object = parse(arena, "{\"spec\":{\"replicas\":1}}");

	(void)state;
	assert_json(arena,
		release_keep_replicas(arena, object, parse(arena, "{\"spec\":{\"replicas\":5}}")),
		"{\"spec\":{\"replicas\":5}}");
	assert_ptr_equal(release_keep_replicas(arena, object,
				 parse(arena, "{\"spec\":{\"replicas\":0}}")),
		object);
	assert_ptr_equal(release_keep_replicas(arena, object, NULL), object);
}

#define PORT(port, target) "{\"port\":" port ",\"targetPort\":" target "}"
#define SERVICE(selector, ports) "{\"spec\":{\"selector\":" selector ",\"ports\":[" ports "]}}"

static void test_keep_traffic(void **state)
{
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	assert_json(arena,
		release_keep_traffic(arena,
			parse(arena, SERVICE("{\"app\":\"web\"}",
					     PORT("80", "8080") ","
								"{\"port\":80,\"protocol\":\"UDP\","
								"\"targetPort\":53}")),
			parse(arena,
				SERVICE("{\"proxy\":\"x\"}", "{\"port\":80,\"protocol\":\"TCP\","
							     "\"targetPort\":9001}"))),
		SERVICE("{\"proxy\":\"x\"}",
			PORT("80",
				"9001") ",{\"port\":80,\"protocol\":\"UDP\",\"targetPort\":53}"));
	assert_true(release_is_taken_over(parse(arena,
		"{\"metadata\":{\"annotations\":{\"slipway.dev/taken-over-by\":\"a\"}}}")));
	assert_false(release_is_taken_over(parse(arena, "{\"metadata\":{}}")));
}

static void test_correct_service(void **state)
{
	static const struct {
		const char *wanted, *live, *expected;
	} cases[] = {
		/* Defaults and node ports of the API server stay. */
		{SERVICE("{\"a\":\"1\"}", PORT("80", "8080")),
			SERVICE("{\"a\":\"1\"}", "{\"port\":80,\"protocol\":\"TCP\",\"targetPort\":"
						 "8080,\"nodePort\":30080}"),
			NULL},
		/* A selector that another manager has added to. */
		{SERVICE("{\"a\":\"1\"}", PORT("80", "8080")),
			SERVICE("{\"a\":\"1\",\"b\":\"2\"}", "{\"port\":80,\"targetPort\":8080,"
							     "\"nodePort\":30080}"),
			SERVICE("{\"a\":\"1\"}", "{\"port\":80,\"targetPort\":8080,\"nodePort\":"
						 "30080}")},
		/* A port that another manager still has. */
		{SERVICE("{\"a\":\"1\"}", PORT("80", "8080")),
			SERVICE("{\"a\":\"1\"}", PORT("80", "8080") "," PORT("81", "8081")),
			SERVICE("{\"a\":\"1\"}", PORT("80", "8080"))},
		{"{\"spec\":{\"type\":\"ExternalName\"}}", "{\"spec\":{\"type\":\"ExternalName\"}}",
			NULL},
		{"{\"spec\":{\"ports\":[]}}", "{\"spec\":{\"selector\":{\"a\":\"1\"}}}",
			"{\"spec\":{\"ports\":[]}}"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);

		assert_json(arena,
			release_correct_service(arena, parse(arena, cases[i].wanted),
				parse(arena, cases[i].live)),
			cases[i].expected);
	}
}

static void test_merge_patch(void **state)
{
	static const struct {
		const char *before, *after, *expected;
	} cases[] = {
		{"{}", "{}", NULL},
		{"{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":1,\"d\":3}}",
			"{\"a\":{\"c\":null,\"d\":3}}"},
		{"{\"a\":[1]}", "{\"a\":[1,2]}", "{\"a\":[1,2]}"},
		{"{\"a\":1,\"b\":{}}", "{\"a\":1,\"b\":{}}", NULL},
		{"{\"b\":{\"c\":1}}", "{\"b\":{}}", "{\"b\":{\"c\":null}}"},
		{"null", "{\"a\":1}", "{\"a\":1}"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);

		assert_json(arena,
			release_merge_patch(arena, parse(arena, cases[i].before),
				parse(arena, cases[i].after)),
			cases[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_suspend),
		cmocka_unit_test(test_keep_replicas),
		cmocka_unit_test(test_keep_traffic),
		cmocka_unit_test(test_correct_service),
		cmocka_unit_test(test_merge_patch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
