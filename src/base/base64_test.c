/* Base64, read and written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/base64.h"
#include "base/memory.h"

static const struct {
	const char *text;
	const char *data; /* NULL: refused */
} encoded[] = {
	{"", ""},
	{"YQ==", "a"},
	{"YWI=", "ab"},
	{"YWJj", "abc"},
	{"YWJjZA==", "abcd"},
	{"YW Jj\n", "abc"},
	{"+/+/", "\xfb\xff\xbf"},
	{"Y", NULL},
	{"YQ", NULL},
	{"YQ=", NULL},
	{"YQ===", NULL},
	{"=", NULL},
	{"YQ==YQ==", NULL},
	{"YW-j", NULL},
	{"=YWJ", NULL},
	{"Y=Jj", NULL},
	{"YQ==YWJj", NULL},
	{"====", NULL},
	{"Y===", NULL},
};

static void test_base64(void **state)
{
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	for (size_t i = 0; i < LENGTH(encoded); i++) {
		_buffer_ struct buffer out = {0};
		struct span data;
		bool good = base64_decode(span_of(encoded[i].text), arena, &data);

		if (good != (encoded[i].data != NULL) || (good && !span_is(data, encoded[i].data)))
			fail_msg("row %zu", i);
		if (!good || strpbrk(encoded[i].text, " \n"))
			continue;
		base64_encode(data, &out);
		assert_true(span_is(buffer_span(&out), encoded[i].text));
	}
}

/* All lengths, against each other. */
static void test_lengths(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	char bytes[300];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 37);
	for (size_t length = 0; length <= sizeof(bytes); length++) {
		_buffer_ struct buffer out = {0};
		struct span data = {bytes, length}, decoded;

		base64_encode(data, &out);
		assert_int_equal(out.length, (length + 2) / 3 * 4);
		assert_true(base64_decode(buffer_span(&out), arena, &decoded));
		assert_true(span_equal(decoded, data));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
