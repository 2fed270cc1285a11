/* Conditions, details and pod statistics of a Release. */
#include "release/release_status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"

#define NOW_MS INT64_C(1795000000123)
#define NOW "2026-11-18T11:06:40Z"

static struct release_object objects[] = {
	{SPAN("v1"), SPAN("Service"), SPAN("web"), SPAN("shop"), NULL},
	{SPAN("apps/v1"), SPAN("Deployment"), SPAN("web"), SPAN("shop"), NULL},
	{SPAN("apps/v1"), SPAN("Deployment"), SPAN("cart"), SPAN("shop/cart"), NULL},
};
static const struct release_manifest manifest = {objects, LENGTH(objects)};

static const struct json *find(const struct json *status, const char *type)
{
	const struct json *found = NULL;

	JSON_EACH_ITEM (json_get(status, "conditions"), condition) {
		if (!span_is(json_get_text(condition, "type"), type))
			continue;
		assert_null(found); /* one of each type */
		found = condition;
	}
	assert_non_null(found);
	return found;
}

static void assert_condition(const struct json *status, const char *type, const char *value,
	const char *reason, const char *message)
{
	const struct json *condition = find(status, type);

	assert_true(span_is(json_get_text(condition, "status"), value));
	if (reason)
		assert_true(span_is(json_get_text(condition, "reason"), reason));
	else
		assert_null(json_get(condition, "reason"));
	if (message)
		assert_true(span_is(json_get_text(condition, "message"), message));
	else
		assert_null(json_get(condition, "message"));
}

static const struct release_observation good[] = {
	{.message = SPAN("")},
	{.message = SPAN(""), .pods = 2, .updated_pods = 2, .ready_pods = 2},
	{.message = SPAN(""), .pods = 1, .updated_pods = 1, .ready_pods = 1},
};
static const struct release_observation updating[] = {
	{.message = SPAN("")},
	{.message = SPAN(""), .pods = 2, .updated_pods = 2, .ready_pods = 2},
	{RELEASE_PHASE_PROGRESSING, SPAN("1 of 2 pods are updated"), 3, 1, 2},
};

static void test_available(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct release_snapshot release = {
		.name = SPAN("web"), .version = 1, .generation = 4, .status = NULL};
	struct release_report report = {&manifest, good, true, {NULL, SPAN("")}, 1, NOW_MS};
	const struct json *status = release_status_write(arena, &release, &report);

	(void)state;
	assert_condition(status, "Available", "True", "Available", NULL);
	assert_condition(status, "Progressing", "False", NULL, NULL);
	assert_condition(status, "Failure", "False", NULL, NULL);
	assert_int_equal(json_get_integer(status, "observedGeneration", 0), 4);
	assert_int_equal(json_get_integer(status, "appliedVersion", 0), 1);
	assert_true(span_is(json_get_text(find(status, "Available"), "lastTransitionTime"), NOW));
	assert_int_equal(json_get_integer(json_get(status, "podStatistics"), "readyPods", -1), 3);
}

static void test_details(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct release_snapshot release = {.name = SPAN("web"), .version = 2, .generation = 4};
	struct release_report report = {&manifest, updating, true, {NULL, SPAN("")}, 2, NOW_MS};
	const struct json *status = release_status_write(arena, &release, &report);
	struct json *expected;

	(void)state;
	assert_int_equal(
		json_parse(SPAN("{\"shop\":{\"path\":\"shop\",\"reason\":\"Available\","
				"\"resources\":{\"v1, Kind=Service\":{\"Available\":1},"
				"\"apps/v1, Kind=Deployment\":{\"Available\":1}}},"
				"\"shop/cart\":{\"path\":\"shop/cart\",\"reason\":\"Progressing\","
				"\"message\":\"Deployment 'cart': 1 of 2 pods are updated\","
				"\"resources\":{\"apps/v1, "
				"Kind=Deployment\":{\"Progressing\":1}}}}"),
			arena, &expected, NULL),
		0);
	assert_true(json_equal(json_get(status, "details"), expected));
	assert_condition(status, "Available", "False", "NotAvailable",
		"Deployment 'cart': 1 of 2 pods are updated");
	assert_condition(status, "Progressing", "True", "Updating",
		"Deployment 'cart': 1 of 2 pods are updated");
	assert_int_equal(json_get_integer(json_get(status, "podStatistics"), "oldPods", -1), 2);
	assert_int_equal(json_get_integer(json_get(status, "podStatistics"), "updatedPods", -1), 3);
}

/* An equal second status has the times of the first. */
static void test_stable(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct release_snapshot release = {.name = SPAN("web"), .version = 2, .generation = 4};
	struct release_report report = {&manifest, updating, true, {NULL, SPAN("")}, 2, NOW_MS};
	const struct json *first = release_status_write(arena, &release, &report);

	(void)state;
	release.status = first;
	report.now_ms += 60000;
	assert_true(json_equal(first, release_status_write(arena, &release, &report)));
}

static void test_failure(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct release_snapshot release = {.name = SPAN("web"), .version = 1, .generation = 5};
	struct release_report report = {&manifest, good, true,
		{"RenderFailed", SPAN("spec.template: line 3: …")}, 1, NOW_MS};
	const struct json *status = release_status_write(arena, &release, &report);

	(void)state;
	/* Version 1 still runs. */
	assert_condition(status, "Available", "True", "Available", NULL);
	assert_condition(status, "Progressing", "False", NULL, NULL);
	assert_condition(status, "Failure", "True", "RenderFailed", "spec.template: line 3: …");
}

static void test_record(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct release_snapshot release = {
		.name = SPAN("web"), .version = 3, .applied_version = 3, .generation = 5};
	struct release_history history = {.version = 1, .manifest = SPAN("kind: A\n")};
	const struct json *status = release_status_record(arena, &release, &history, 3, NOW_MS);

	(void)state;
	assert_int_equal(json_get_integer(status, "version", 0), 1);
	assert_true(span_is(json_get_text(status, "manifest"), "kind: A\n"));
	assert_true(span_is(json_get_text(status, "lastUpdateTime"), NOW));
	assert_condition(status, "Progressing", "True", "Rollbacking", NULL);
	assert_condition(status, "Available", "False", "NotAvailable", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_available),
		cmocka_unit_test(test_details),
		cmocka_unit_test(test_stable),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
