/* Options of commands: every way to write them, and the messages for usage errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/command.h"

#define ARGUMENTS_MAX 20

static const struct command command = {.name = "try", .arguments = "", .summary = "Tries."};

struct parsed {
	int code;
	const char *user;
	const char *output;
	bool trace;
	struct positionals words;
	char reported[1024]; /* on standard error */
};

/* Parses arguments, and captures standard error in a pipe. */
static struct parsed parse(const char *const *arguments)
{
	struct parsed parsed = {0};
	const struct option_row rows[] = {{"user", &parsed.user, NULL}, {"o", &parsed.output, NULL},
		{"trace", NULL, &parsed.trace}};
	char *copies[ARGUMENTS_MAX + 1] = {0};
	int descriptors[2], count = 0, kept = dup(STDERR_FILENO);
	ssize_t got;

	while (arguments[count]) {
		assert_true(count < ARGUMENTS_MAX);
		copies[count] = (char *)arguments[count];
		count++;
	}
	assert_int_equal(pipe(descriptors), 0);
	fflush(stderr);
	dup2(descriptors[1], STDERR_FILENO);
	parsed.code =
		command_read_options(&command, count, copies, rows, LENGTH(rows), &parsed.words);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	close(descriptors[1]);
	got = read(descriptors[0], parsed.reported, sizeof(parsed.reported) - 1);
	assert_true(got >= 0);
	close(descriptors[0]);
	return parsed;
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void options_have_three_forms(void **state)
{
	struct parsed parsed = PARSE("create", "--user", "a b", "-o=json", "--trace", "x");

	(void)state;
	assert_int_equal(parsed.code, 0);
	assert_string_equal(parsed.reported, "");
	assert_string_equal(parsed.user, "a b");
	assert_string_equal(parsed.output, "json");
	assert_true(parsed.trace);
	assert_int_equal(parsed.words.count, 2);
	assert_string_equal(parsed.words.items[0], "create");
	assert_string_equal(parsed.words.items[1], "x");

	parsed = PARSE("--user=", "-", "");
	assert_int_equal(parsed.code, 0);
	assert_string_equal(parsed.user, "");
	assert_int_equal(parsed.words.count, 2);

	parsed = PARSE("--user=a=b", "--user", "--trace");
	assert_int_equal(parsed.code, 0);
	assert_string_equal(parsed.user,
		"--trace"); /* the last one, whatever its value looks like */
	assert_false(parsed.trace);
}

static void usage_errors_are_reported(void **state)
{
	struct parsed parsed = PARSE("--usr", "x");

	(void)state;
	assert_int_equal(parsed.code, EXIT_USAGE);
	assert_string_equal(parsed.reported,
		"slipway try: unknown option '--usr'\nTry 'slipway try --help'.\n");
	parsed = PARSE("create", "--user");
	assert_int_equal(parsed.code, EXIT_USAGE);
	assert_non_null(strstr(parsed.reported, "--user needs a value"));
	parsed = PARSE("create", "-o");
	assert_int_equal(parsed.code, EXIT_USAGE);
	assert_non_null(strstr(parsed.reported, ": -o needs a value"));
	parsed = PARSE("--trace=yes");
	assert_int_equal(parsed.code, EXIT_USAGE);
	assert_non_null(strstr(parsed.reported, "trace"));
	parsed = PARSE("--");
	assert_int_equal(parsed.code, EXIT_USAGE);
}

static void words_have_a_limit(void **state)
{
	struct parsed parsed = PARSE("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12",
		"13", "14", "15", "16");

	(void)state;
	assert_int_equal(parsed.code, 0);
	assert_int_equal(parsed.words.count, 16);
	parsed = PARSE("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14",
		"15", "16", "17");
	assert_int_equal(parsed.code, EXIT_USAGE);
	assert_non_null(strstr(parsed.reported, "too many arguments"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_have_three_forms),
		cmocka_unit_test(usage_errors_are_reported),
		cmocka_unit_test(words_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
