/* Triggers: paths and patterns, drift, skipped stages, trailers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "pipeline/trigger.h"

#define PATHS_MAX 8
#define MINUTE_MS 60000

static struct field_list list_of(struct span *items, const char *text)
{
	struct field_list list = {items, 0};
	struct span rest = span_of(text), part;

	while (span_next_part(&rest, ' ', &part))
		items[list.count++] = part;
	return list;
}

static struct span triggers(const char *folder, const char *wanted, const char *ignored,
	const char *changed)
{
	struct span storage[3][PATHS_MAX], path = SPAN("-");
	struct application_trigger trigger = {.on_commit = true,
		.paths = list_of(storage[0], wanted),
		.ignores = list_of(storage[1], ignored)};
	struct field_list paths = list_of(storage[2], changed);

	trigger_on_commit(&trigger, span_of(folder), &paths, &path);
	return path;
}

#define assert_path(found, expected) assert_true(span_is((found), (expected)))

/* scenario 48 */
static void test_on_commit(void **state)
{
	struct application_trigger off = {0};
	struct span path, item = SPAN("web/app.yaml");
	struct field_list one = {&item, 1};

	(void)state;
	assert_path(triggers("web", "", "web/README.md", "web/README.md"), "-");
	assert_path(triggers("web", "", "web/README.md", "web/README.md web/taskdef.yaml"),
		"web/taskdef.yaml");
	assert_path(triggers("web", "", "", "website/taskdef.yaml"), "-");
	assert_path(triggers("web", "", "", "web"), "-");
	assert_path(triggers("", "", "", "x"), "x");
	assert_path(triggers("web", "shared", "", "shared/deep/x.yaml"), "shared/deep/x.yaml");
	assert_path(triggers("web", "shared/", "", "shared/x.yaml"), "shared/x.yaml");
	assert_path(triggers("web", "shared", "shared/docs", "shared/docs/x"), "-");
	assert_path(triggers("web", "modules/*/task.yaml", "", "modules/a/task.yaml"),
		"modules/a/task.yaml");
	assert_path(triggers("web", "modules/*.yaml", "", "modules/a/task.yaml"), "-");
	assert_path(triggers("", "", "**/*.md", "README.md docs/a.md docs/deep/b.md"), "-");
	assert_path(triggers("web", "[", "", "[ web/x"), "[");
	/* disabled: never */
	assert_false(trigger_on_commit(&off, SPAN("web"), &one, &path));
}

/* scenario 49 */
static void test_on_out_of_sync(void **state)
{
	struct application_trigger trigger = {
		.on_out_of_sync = true, .out_of_sync_window_ms = 5 * MINUTE_MS};
	int64_t now = 100 * MINUTE_MS;

	(void)state;
	assert_true(trigger_on_out_of_sync(&trigger, true, false, 0, now));
	assert_false(trigger_on_out_of_sync(&trigger, false, false, 0, now));
	assert_false(trigger_on_out_of_sync(&trigger, true, true, 0, now));
	assert_false(trigger_on_out_of_sync(&trigger, true, false, now - 5 * MINUTE_MS + 1, now));
	assert_true(trigger_on_out_of_sync(&trigger, true, false, now - 5 * MINUTE_MS, now));
	trigger.on_out_of_sync = false;
	assert_false(trigger_on_out_of_sync(&trigger, true, false, 0, now));
}

static bool skips(const char *prefixes, const char *patterns, const char *message,
	const char *changed)
{
	struct span storage[3][PATHS_MAX];
	struct skip_on skip_on = {list_of(storage[0], prefixes), list_of(storage[1], patterns)};
	struct field_list paths = list_of(storage[2], changed);

	return trigger_skips_stage(&skip_on, span_of(message), &paths);
}

static void test_skip_on(void **state)
{
	(void)state;
	assert_false(skips("", "", "fix", "a"));
	assert_true(skips("docs: hotfix", "", "hotfix it", "a"));
	assert_false(skips("hotfix", "", "a hotfix", "a"));
	assert_true(skips("", "docs **/*.md", "x", "docs/a README.md"));
	assert_false(skips("", "docs", "x", "docs/a src/b"));
	assert_false(skips("", "docs", "x", ""));
}

static void assert_trailers(const char *message, const char *expected)
{
	char found[200] = "";
	size_t position = 0;
	struct span value;

	while (trigger_next_trailer(span_of(message), SPAN("Flow-Commit"), &position, &value))
		snprintf(found + strlen(found), sizeof(found) - strlen(found), "<%.*s>",
			SPAN_ARGS(value));
	assert_string_equal(found, expected);
}

static void test_trailers(void **state)
{
	(void)state;
	assert_trailers("", "");
	assert_trailers("Flow-Commit: web=main", "");
	assert_trailers("subject\n\nbody\n\nFlow-Commit: web=main\nflow-commit:api=v1\n\n",
		"<web=main><api=v1>");
	assert_trailers("subject\n\nFlow-Commit: web=main\n\nthe end", "");
	assert_trailers("subject\n\nSigned-off-by: A\nFlow-Commit:", "<>");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_on_commit),
		cmocka_unit_test(test_on_out_of_sync),
		cmocka_unit_test(test_skip_on),
		cmocka_unit_test(test_trailers),
	};

	return cmocka_run_group_tests_name("trigger", tests, NULL, NULL);
}
