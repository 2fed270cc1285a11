/* The shapes of identifiers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/id.h"

static void test_hex(void **state)
{
	struct random_seeded random;
	char first[ID_HEX_SIZE], second[ID_HEX_SIZE], again[ID_HEX_SIZE];

	(void)state;
	random_seeded_init(&random, 3);
	id_hex(&random.random, first);
	id_hex(&random.random, second);
	random_seeded_init(&random, 3);
	id_hex(&random.random, again);
	assert_int_equal(strlen(first), 32);
	assert_int_equal(strspn(first, "0123456789abcdef"), 32);
	assert_string_not_equal(first, second);
	assert_string_equal(first, again);
}

static void test_uuid(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		char text[ID_UUID_SIZE];

		id_uuid(random_system(), text);
		assert_int_equal(strlen(text), 36);
		for (size_t at = 0; at < 36; at++) {
			if (at == 8 || at == 13 || at == 18 || at == 23)
				assert_int_equal(text[at], '-');
			else
				assert_non_null(strchr("0123456789abcdef", text[at]));
		}
		assert_int_equal(text[14], '4');
		assert_non_null(strchr("89ab", text[19]));
	}
}

static void test_alphabet(void **state)
{
	char text[41];

	(void)state;
	id_from_alphabet(random_system(), "AB", 40, text);
	assert_int_equal(strspn(text, "AB"), 40);
	assert_int_equal(text[40], '\0');
	id_from_alphabet(random_system(), "AB", 0, text);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_uuid),
		cmocka_unit_test(test_alphabet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
