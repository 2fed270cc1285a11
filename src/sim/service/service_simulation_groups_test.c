/* So does that of services on a runtime that keeps replicas itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/service/test_simulation.h"

static void all_seeds_hold(void **state)
{
	(void)state;
	assert_true(simulation_run_seeds(true).group_deletions > 0);
}

static void a_seed_repeats_itself(void **state)
{
	(void)state;
	simulation_repeat_seeds(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_seed_repeats_itself),
		cmocka_unit_test(all_seeds_hold),
	};

	return cmocka_run_group_tests(tests, simulation_make_folder, simulation_remove_folder);
}
