/* Log lines as a reader of the descriptor sees them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"

struct fixture {
	int descriptors[2];
	struct clock_manual clock;
	char text[128 * 1024];
};

static int set_up(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	clock_manual_init(&fixture->clock, INT64_C(1709210096123));
	*state = fixture;
	return pipe(fixture->descriptors);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	close(fixture->descriptors[0]);
	close(fixture->descriptors[1]);
	free(fixture);
	return 0;
}

static const char *line(struct fixture *fixture)
{
	ssize_t got = read(fixture->descriptors[0], fixture->text, sizeof(fixture->text) - 1);

	assert_true(got > 0);
	fixture->text[got] = '\0';
	return fixture->text;
}

static void test_json(void **state)
{
	struct fixture *fixture = *state;
	struct log *log =
		log_new(fixture->descriptors[1], LOG_INFO, LOG_STYLE_JSON, &fixture->clock.clock);

	log_write(log, LOG_DEBUG, "too quiet to hear", NULL);
	log_write(log, LOG_INFO, "listening", "address", "127.0.0.1:4780", "quote", "a \"b\"\n",
		NULL);
	assert_string_equal(line(fixture),
		"{\"time\":\"2024-02-29T12:34:56.123Z\",\"level\":\"info\",\"message\":"
		"\"listening\","
		"\"address\":\"127.0.0.1:4780\",\"quote\":\"a \\\"b\\\"\\n\"}\n");
	log_write(log, LOG_ERROR, "bad \xff\xc3\xa9\xed\xa0\x80", "null", (const char *)NULL, NULL);
	assert_string_equal(line(fixture),
		"{\"time\":\"2024-02-29T12:34:56.123Z\",\"level\":\"error\",\"message\":"
		"\"bad ?\xc3\xa9???\",\"null\":\"\"}\n");
	log_free(log);
	log_write(NULL, LOG_ERROR, "no listener", NULL);
}

static void test_text(void **state)
{
	struct fixture *fixture = *state;
	struct log *log =
		log_new(fixture->descriptors[1], LOG_DEBUG, LOG_STYLE_TEXT, &fixture->clock.clock);

	log_write(log, LOG_INFO, "two words\x1b[2J\n", "key", "plain", "other", "two words",
		"empty", "", NULL);
	assert_string_equal(line(fixture),
		"12:34:56 info    two words\\x1b[2J\\n key=plain other=\"two words\" empty=\"\"\n");
	log_free(log);
}

static void test_long_lines_stay_whole(void **state)
{
	struct fixture *fixture = *state;
	struct log *log =
		log_new(fixture->descriptors[1], LOG_DEBUG, LOG_STYLE_JSON, &fixture->clock.clock);
	_free_ char *large = memory_allocate(100001);
	const char *text;

	/* Control characters are the longest when escaped: six bytes each. */
	memset(large, '\x01', 100000);
	log_write(log, LOG_INFO, "long", "a", large, "b", large, "c", large, "d", "short", NULL);
	text = line(fixture);
	assert_true(strlen(text) <= 64 * 1024);
	assert_string_equal(text + strlen(text) - strlen("\"d\":\"short\"}\n"),
		"\"d\":\"short\"}\n");
	log_free(log);
}

static void test_levels(void **state)
{
	enum log_level level = LOG_DEBUG;

	(void)state;
	assert_int_equal(log_level_parse("warning", &level), 0);
	assert_int_equal(level, LOG_WARNING);
	assert_true(log_level_parse("loud", &level) < 0);
	assert_int_equal(level, LOG_WARNING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_json, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_lines_stay_whole, set_up, tear_down),
		cmocka_unit_test(test_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
