#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "aws/throttle.h"

#define SECOND INT64_C(1000000)

static int take_all(struct aws_throttle *throttle, const char *account, int64_t now_us)
{
	int taken = 0;

	while (aws_throttle_take(throttle, span_of(account), now_us))
		taken++;
	return taken;
}

static void gives_a_second_s_worth_and_refills(void **state)
{
	struct aws_throttle *throttle = aws_throttle_new(20);

	(void)state;
	assert_int_equal(take_all(throttle, "1", 5 * SECOND), 20);
	assert_int_equal(take_all(throttle, "1", 5 * SECOND), 0);
	assert_int_equal(take_all(throttle, "1", 5 * SECOND + SECOND / 2), 10);
	/* A bucket does not overflow, and time that goes back gives nothing. */
	assert_int_equal(take_all(throttle, "1", 500 * SECOND), 20);
	assert_int_equal(take_all(throttle, "1", 400 * SECOND), 0);
	assert_int_equal(take_all(throttle, "1", 500 * SECOND), 0);
	aws_throttle_free(throttle);
	aws_throttle_free(NULL);
}

static void accounts_do_not_share(void **state)
{
	struct aws_throttle *throttle = aws_throttle_new(3);

	(void)state;
	assert_int_equal(take_all(throttle, "111111111111", 0), 3);
	assert_int_equal(take_all(throttle, "222222222222", 0), 3);
	assert_int_equal(take_all(throttle, "", 0), 3);
	assert_int_equal(take_all(throttle, "111111111111", 0), 0);
	aws_throttle_free(throttle);
}

static void slow_rates_still_give_one(void **state)
{
	struct aws_throttle *throttle = aws_throttle_new(0.1);

	(void)state;
	assert_int_equal(take_all(throttle, "1", 0), 1);
	assert_int_equal(take_all(throttle, "1", 9 * SECOND), 0);
	assert_int_equal(take_all(throttle, "1", 11 * SECOND), 1);
	aws_throttle_free(throttle);
}

/* Far more accounts than places: each is served, and none can use another's tokens. */
static void the_table_is_bounded(void **state)
{
	struct aws_throttle *throttle = aws_throttle_new(2);
	char account[16];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		snprintf(account, sizeof(account), "%012d", i);
		assert_int_equal(take_all(throttle, account, i * SECOND), 2);
	}
	aws_throttle_free(throttle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_a_second_s_worth_and_refills),
		cmocka_unit_test(accounts_do_not_share),
		cmocka_unit_test(slow_rates_still_give_one),
		cmocka_unit_test(the_table_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
