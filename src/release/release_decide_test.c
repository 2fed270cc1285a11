/* Versions, rollbacks and the history: each row is a Release with its histories and the step that follows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "release/release_decide.h"

#define HISTORIES_MAX 8

/* One history for each letter of `configs`, of version 1, 2, …; '-' is a version that was deleted, a capital letter
 * one of an earlier Release of this name. */
static struct release_histories make_histories(struct release_history *items, const char *configs)
{
	struct release_histories histories = {items, 0};

	for (int64_t version = 1; configs[version - 1]; version++) {
		const char *config = &configs[version - 1];

		if (*config == '-')
			continue;
		items[histories.count++] = (struct release_history){
			.version = version,
			.source = {.template_text = SPAN("t"), .config = {config, 1}},
			.manifest = SPAN("m"),
			.owned = *config >= 'a',
		};
	}
	return histories;
}

static void test_steps(void **state)
{
	static const struct {
		const char *config, *histories;
		int64_t version;
		int64_t roll_back; /* -1: none */
		enum release_step step;
		int64_t expected;
	} cases[] = {
		/* The first version, and again after the history was written. */
		{"a", "", 0, -1, RELEASE_RENDER, 1},
		{"a", "a", 0, -1, RELEASE_RECORD, 1},
		{"a", "a", 1, -1, RELEASE_APPLY, 1},
		/* A change. */
		{"b", "a", 1, -1, RELEASE_RENDER, 2},
		{"b", "ab", 1, -1, RELEASE_RECORD, 2},
		{"b", "ab", 2, -1, RELEASE_APPLY, 2},
		/* An older source that comes as a change is a new version. */
		{"a", "ab", 2, -1, RELEASE_RENDER, 3},
		/* After a rollback, a change gets a number that was never used. */
		{"c", "ab", 1, -1, RELEASE_RENDER, 3},
		{"c", "abc", 1, -1, RELEASE_RECORD, 3},
		/* A change that is undone before its version was recorded. */
		{"a", "ab", 1, -1, RELEASE_APPLY, 1},
		{"c", "ab", 1, -1, RELEASE_RENDER, 3},
		/* The history of the current version was deleted. */
		{"b", "a-", 2, -1, RELEASE_RENDER, 3},
		/* Histories of a deleted Release of the same name. */
		{"a", "A", 0, -1, RELEASE_RENDER, 1},
		/* A rollback. */
		{"b", "ab", 2, 1, RELEASE_RESTORE, 1},
		{"a", "ab", 2, 1, RELEASE_RECORD, 1},
		{"a", "ab", 1, 1, RELEASE_CLEAR_ROLLBACK, 1},
		/* To the version before, which is written down before anything changes. */
		{"c", "abc", 3, 0, RELEASE_RESTORE, 2},
		{"c", "a-c", 3, 0, RELEASE_RESTORE, 1},
		{"b", "abb", 3, 0, RELEASE_RESTORE, 2},
		{"b", "abc", 3, 2, RELEASE_RECORD, 2},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct release_history items[HISTORIES_MAX];
		struct release_histories histories = make_histories(items, cases[i].histories);
		struct release_snapshot release = {
			.source = {.template_text = SPAN("t"), .config = span_of(cases[i].config)},
			.version = cases[i].version,
			.manifest = cases[i].version > 0 ? SPAN("m") : SPAN(""),
			.rolls_back = cases[i].roll_back >= 0,
			.roll_back_to = cases[i].roll_back,
		};
		struct release_decision decision;

		release_decide(arena, &release, &histories, &decision);
		if (decision.step != cases[i].step || decision.version != cases[i].expected)
			fail_msg("row %zu: step %d, version %lld", i, decision.step,
				(long long)decision.version);
		assert_null(decision.failure.reason);
		assert_true((decision.history != NULL) == (decision.step != RELEASE_RENDER));
	}
}

static void test_missing_version(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct release_history items[HISTORIES_MAX];
	struct release_histories histories = make_histories(items, "Ab");
	struct release_snapshot release = {
		.source = {.template_text = SPAN("t"), .config = SPAN("b")},
		.version = 2,
		.rolls_back = true,
		.roll_back_to = 7,
	};
	struct release_decision decision;

	(void)state;
	release_decide(arena, &release, &histories, &decision);
	assert_int_equal(decision.step, RELEASE_APPLY);
	assert_string_equal(decision.failure.reason, "VersionNotFound");
	assert_true(span_is(decision.failure.message, "there is no version 7 in the history"));
	release.roll_back_to = 0;
	release_decide(arena, &release, &histories, &decision);
	assert_int_equal(decision.step, RELEASE_APPLY);
	assert_true(span_is(decision.failure.message, "there is no version before version 2"));
	/* One that belongs to an earlier Release of this name is no version of this one. */
	release.roll_back_to = 1;
	release_decide(arena, &release, &histories, &decision);
	assert_string_equal(decision.failure.reason, "VersionNotFound");
}

static void test_limit(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct release_history items[HISTORIES_MAX];
	struct release_histories histories = make_histories(items, "aBcdef");
	struct release_snapshot release = {.version = 6, .history_limit = 3};
	const struct release_history **excess;
	size_t count;

	(void)state;
	excess = release_excess_histories(arena, &release, &histories, &count);
	assert_int_equal(count, 2);
	assert_int_equal(excess[0]->version, 1);
	assert_int_equal(excess[1]->version, 3);
	/* The current version stays after a rollback. */
	release.version = 1;
	excess = release_excess_histories(arena, &release, &histories, &count);
	assert_int_equal(count, 1);
	assert_int_equal(excess[0]->version, 3);
}

static void test_sources(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct release_source a = {.template_text = SPAN("t"), .config = SPAN("{\"a\":1,\"b\":2}")};
	struct release_source b = {
		.template_text = SPAN("t"), .config = SPAN("{ \"b\": 2, \"a\": 1 }")};

	(void)state;
	assert_true(release_source_equal(&a, &b));
	b.naming = json_new_object(arena);
	assert_false(release_source_equal(&a, &b));
	b.naming = NULL;
	b.config = SPAN("{\"a\":1,\"b\":3}");
	assert_false(release_source_equal(&a, &b));
}

static void test_size(void **state)
{
	struct release_source source = {.template_text = SPAN("<a>\n"), .config = SPAN("{}")};
	_free_ char *big = memory_allocate(RELEASE_OBJECT_MAX + 1);
	struct err err;

	(void)state;
	memset(big, 'x', RELEASE_OBJECT_MAX);
	assert_int_equal(release_json_size(source.template_text), 2 + 6 + 1 + 6 + 2);
	assert_int_equal(release_check_size(&source, SPAN("m"), &err), 0);
	assert_int_equal(release_check_size(&source, (struct span){big, RELEASE_OBJECT_MAX - 23},
				 &err),
		0);
	assert_int_equal(release_check_size(&source, (struct span){big, RELEASE_OBJECT_MAX - 22},
				 &err),
		-EFBIG);
	assert_string_equal(err.message, "too large for one Kubernetes object (limit 1400000 bytes "
					 "as JSON): template 17, config 4, "
					 "manifest 1399980");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_missing_version),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
