/* Facts come back as they were written; what a newer slipway wrote otherwise is refused, not read as nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "store/fact_table.h"

static const char *const colors[] = {"RED", "GREEN", "BLUE"};

struct facts {
	struct span text;
	int64_t number;
	bool flag;
	unsigned color;
	double real;
};

static const struct fact_row rows[] = {
	FACT(FACT_TEXT, facts, text, "text"),
	FACT(FACT_NUMBER, facts, number, "number"),
	FACT(FACT_FLAG, facts, flag, "flag"),
	FACT_NAMED(facts, color, "color", colors),
	FACT(FACT_REAL, facts, real, "real"),
};

static int setup(void **state)
{
	*state = arena_new(0);
	return 0;
}

static int teardown(void **state)
{
	arena_free(*state);
	return 0;
}

static int read_facts(struct arena *arena, const char *text, struct facts *facts, struct err *err)
{
	struct json *private_;

	*facts = (struct facts){.number = 99, .flag = true, .color = 2, .real = 9};
	assert_int_equal(json_parse(span_of(text), arena, &private_, err), 0);
	return fact_table_read(rows, LENGTH(rows), private_, facts, err);
}

static void test_facts_come_back(void **state)
{
	struct facts facts = {SPAN("a b"), INT64_MIN, true, 2, 0.5}, again;
	struct json *private_ = json_new_object(*state);
	struct err err;

	fact_table_write(rows, LENGTH(rows), &facts, *state, private_);
	assert_true(span_is(json_to_text(private_, *state),
		"{\"text\":\"a b\",\"number\":-9223372036854775808,\"flag\":true,"
		"\"color\":\"BLUE\",\"real\":0.5}"));
	assert_int_equal(fact_table_read(rows, LENGTH(rows), private_, &again, &err), 0);
	assert_true(span_equal(again.text, facts.text));
	assert_int_equal(again.number, facts.number);
	assert_true(again.flag);
	assert_int_equal(again.color, 2);
	assert_true(again.real >= 0.5 && again.real <= 0.5);
}

static void test_what_is_left_out_is_nothing(void **state)
{
	static const char *const texts[] = {"{}",
		"{\"text\":null,\"number\":null,\"flag\":null,\"color\":null,\"real\":null}",
		/* Members that a newer slipway may add: they must not matter. */
		"{\"more\":[1,2],\"also\":{\"text\":7},\"TEXT\":1}"};
	struct facts facts;
	struct err err;

	for (size_t i = 0; i < LENGTH(texts); i++) {
		assert_int_equal(read_facts(*state, texts[i], &facts, &err), 0);
		assert_non_null(facts.text.data);
		assert_int_equal(facts.text.length, 0);
		assert_int_equal(facts.number, 0);
		assert_false(facts.flag);
		assert_int_equal(facts.color, 0);
		assert_true(facts.real >= 0 && facts.real <= 0);
	}
}

static void test_what_is_not_understood_is_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} table[] = {
		{"{\"color\":\"MAUVE\"}", "color is 'MAUVE'"},
		{"{\"color\":\"\"}", "color is ''"},
		{"{\"color\":2}", "color is a number"},
		{"{\"text\":{\"new\":1}}", "text is an object"},
		{"{\"text\":7}", "text is a number"},
		/* It would point to where it was decoded. */
		{"{\"text\":\"a\\\"b\"}", "text is 'a\"b'"},
		{"{\"text\":\"a\\\\b\"}", "text is 'a\\b'"},
		{"{\"text\":\"a\\u0001b\"}", "text is 'a\001b'"},
		{"{\"number\":\"12\"}", "number is '12'"},
		{"{\"number\":1.5}", "number is a number"},
		{"{\"number\":9223372036854775808}", "number is a number"},
		{"{\"flag\":1}", "flag is a number"},
		{"{\"flag\":\"true\"}", "flag is 'true'"},
		{"{\"real\":[0.5]}", "real is an array"},
		{"[]", "the private text is no object"},
		{"\"text\"", "the private text is no object"},
		{"null", "the private text is no object"},
	};
	struct facts facts;

	for (size_t i = 0; i < LENGTH(table); i++) {
		struct err err = {0};

		if (read_facts(*state, table[i].text, &facts, &err) != -EINVAL)
			fail_msg("%s is read", table[i].text);
		assert_string_equal(err.message, table[i].message);
	}
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_facts_come_back),
		TEST(test_what_is_left_out_is_nothing),
		TEST(test_what_is_not_understood_is_refused),
	};

	return cmocka_run_group_tests_name("store/fact_table", tests, NULL, NULL);
}
