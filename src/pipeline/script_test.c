/* Scripts with real processes: variables, files, ends, and paths that would leave the folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "base/memory.h"
#include "pipeline/script.h"

#define TIMEOUT_MS 60000

static struct arena *arena;

static int setup(void **state)
{
	(void)state;
	arena = arena_new(0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static const struct field_pair pairs[] = {{SPAN("A"), SPAN("b c")},
	{SPAN("SR_IS_ROLLBACK"), SPAN("x")}, {SPAN("BAD NAME"), SPAN("x")},
	{SPAN("PATH"), SPAN("/nowhere")}};
static const struct field_list variables = {(void *)pairs, LENGTH(pairs)};
static const struct field_pair label_pairs[] = {{SPAN("my-team"), SPAN("red")}};
static const struct field_list labels = {(void *)label_pairs, 1};

static const char *const *environment(void)
{
	const struct script_context context = {.deployment = SPAN("d-1"),
		.application = SPAN("web"),
		.commit = SPAN("abc"),
		.summary = SPAN("first line"),
		.user = SPAN("ann"),
		.labels = &labels};

	return script_environment(&context, &variables, arena);
}

static struct json *files_of(const char *text)
{
	struct json *files;

	assert_int_equal(json_parse(span_of(text), arena, &files, NULL), 0);
	return files;
}

static struct script_result run_script(const char *command)
{
	const struct script script = {.command = command,
		.environment = environment(),
		.files = files_of("{\"app.yaml\":\"x\\n\",\"tools/check\":\"#!/bin/sh\\necho "
				  "checked $1\"}"),
		.timeout_ms = TIMEOUT_MS};
	struct script_result result;
	struct err err = {0};

	if (script_run(child_system(), &script, arena, &result, &err) < 0)
		fail_msg("%s", err.message);
	return result;
}

static struct span line_of(const struct script_result *result, size_t index)
{
	assert_true(index < result->lines.count);
	return ((const struct span *)result->lines.items)[index];
}

/* scenario 47 */
static void test_environment(void **state)
{
	struct script_result result = run_script("echo $SR_DEPLOYMENT_ID $SR_APPLICATION_NAME "
						 "$SR_TRIGGERED_COMMIT_HASH $SR_IS_ROLLBACK; "
						 "echo $A $SR_LABELS_MY_TEAM; env | grep -c "
						 "'^BAD\\|nowhere'; env | wc -l");

	(void)state;
	assert_true(span_is(line_of(&result, 0), "d-1 web abc false"));
	assert_true(span_is(line_of(&result, 1), "b c red"));
	assert_true(span_is(line_of(&result, 2), "0"));
	assert_true(span_is(line_of(&result, 3), "13")); /* 10, label, A, and PWD of the shell */
}

static void test_files(void **state)
{
	struct script_result result = run_script("tools/check 7; cat app.yaml; pwd; ls -A | wc -l");
	struct stat status;

	(void)state;
	assert_true(result.succeeded);
	assert_true(span_is(line_of(&result, 0), "checked 7"));
	assert_true(span_is(line_of(&result, 1), "x"));
	assert_true(span_is(line_of(&result, 3), "2"));
	assert_int_equal(stat(line_of(&result, 2).data, &status), -1); /* removed */
}

/* The folder is removed with all that the script made, and without following links. */
static void test_removal(void **state)
{
	char outside[] = "/tmp/slipway-outside-XXXXXX";
	struct script_result result;
	struct stat status;

	(void)state;
	assert_non_null(mkdtemp(outside));
	result = run_script(arena_format(arena,
		"pwd; mkdir -p a/b/c; echo x >a/b/c/d; touch %s/kept; ln -s %s a/link; ln -s / "
		"root",
		outside, outside)
				    .data);
	assert_true(result.succeeded);
	assert_int_equal(stat(line_of(&result, 0).data, &status), -1);
	assert_int_equal(stat(arena_format(arena, "%s/kept", outside).data, &status), 0);
	script_remove_folder(outside);
	assert_int_equal(stat(outside, &status), -1);
}

static void test_ends(void **state)
{
	struct script slow = {.command = "echo begun; sleep 1000 & wait",
		.environment = environment(),
		.files = files_of("{}"),
		.timeout_ms = 1000};
	struct script_result result = run_script("echo out; echo err >&2; exit 3");

	(void)state;
	assert_false(result.succeeded);
	assert_true(span_is(result.failure, "exit code 3"));
	assert_true(span_is(line_of(&result, 0), "out") && span_is(line_of(&result, 1), "err"));
	result = run_script("kill -9 $$");
	assert_true(span_is(result.failure, "ended by signal 9"));
	result = run_script("seq 1000");
	assert_int_equal(result.lines.count, SCRIPT_LINES_MAX);
	assert_true(span_is(line_of(&result, SCRIPT_LINES_MAX - 1), "1000"));
	assert_int_equal(script_run(child_system(), &slow, arena, &result, NULL), 0);
	assert_true(span_is(result.failure, "timed out after 1 s"));
}

static void test_bad_paths(void **state)
{
	static const char *const bad[] = {
		"../x", "/x", "a/../../x", "a//b", "", "a/", ".", "..", "a/./b"};
	const char *folder;

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct json *files = json_new_object(arena);

		json_set_string(arena, files, bad[i], SPAN("x"));
		if (script_make_folder(files, arena, &folder, NULL) != -EINVAL)
			fail_msg("\"%s\" is accepted", bad[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_removal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_paths, setup, teardown),
	};

	return cmocka_run_group_tests_name("script", tests, NULL, NULL);
}
