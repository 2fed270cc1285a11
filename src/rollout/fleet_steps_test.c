/*
 * A fleet that is updated step by step gives the same plan as one that is built anew: random
 * changes of instances and rules, with counts, causes and actions compared after steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "rollout/fleet.h"

#define ACTIONS_MAX 64
#define LONG_LIVES 300
#define LONG_STEPS 400
#define LONG_MAX 40

static unsigned draw(struct random_seeded *random, unsigned limit)
{
	return (unsigned)random_below(&random->random, limit);
}

/* Few tasks on most instances, and all kinds of them. */
static void report_any(struct fleet *fleet, struct random_seeded *random, uint32_t index)
{
	struct fleet_instance now = {
		.state = draw(random, 2) ? ROLLOUT_INSTANCE_ACTIVE : draw(random, 4),
		.matches = draw(random, 5) > 0,
		.others_left = draw(random, 2),
		.awaited = draw(random, 2),
		.hangs = draw(random, 4) == 0,
		.assigned = draw(random, 3),
		.blocker = draw(random, 3) ? ROLLOUT_BLOCKER_NONE : draw(random, 5),
		.old_blocker = draw(random, 3) ? ROLLOUT_BLOCKER_NONE : draw(random, 5),
		.stopping = draw(random, 5) == 0,
	};

	for (unsigned tasks = draw(random, 4) ? draw(random, 2) : draw(random, 4); tasks > 0;
		tasks--)
		now.tasks[draw(random, FLEET_VERSION_COUNT)][draw(random, ROLLOUT_CLASS_COUNT)]++;
	fleet_set(fleet, index, &now);
}

static struct fleet_rules any_rules(struct random_seeded *random)
{
	return (struct fleet_rules){
		.mode = draw(random, 3) ? FLEET_ROLLS : draw(random, FLEET_REMOVES + 1),
		.minimum_requested = draw(random, 2),
		.minimum_healthy_percent = draw(random, 101),
		.replace_first = draw(random, 2),
		.maximum_over_percent = draw(random, 101),
		.canary_instances = draw(random, 2) ? 0 : draw(random, LONG_MAX),
	};
}

static struct fleet *fleet_anew(const struct fleet *fleet, const struct fleet_rules *rules,
	const bool *added, size_t count)
{
	struct fleet *anew = fleet_new();

	for (size_t i = 0; i < count; i++)
		fleet_add(anew);
	for (size_t i = count; i-- > 0;) {
		if (added[i])
			fleet_set(anew, (uint32_t)i, fleet_get(fleet, (uint32_t)i));
		else
			fleet_remove(anew, (uint32_t)i);
	}
	fleet_configure(anew, rules);
	return anew;
}

static void compare(struct fleet *fleet, const struct fleet_rules *rules, const bool *added,
	size_t count, size_t max)
{
	struct fleet *anew = fleet_anew(fleet, rules, added, count);
	struct fleet_action actions[ACTIONS_MAX], same[ACTIONS_MAX];
	struct fleet_reason reasons[LONG_MAX], same_reasons[LONG_MAX];
	size_t built;

	for (unsigned round = 0; round < 2; round++) {
		assert_memory_equal(fleet_counts(fleet), fleet_counts(anew),
			sizeof(struct fleet_counts));
		assert_int_equal(fleet_blocked(fleet).cause, fleet_blocked(anew).cause);
		assert_int_equal(fleet_blocked(fleet).instance, fleet_blocked(anew).instance);
		built = fleet_reasons(fleet, reasons, max);
		assert_int_equal(fleet_reasons(anew, same_reasons, max), built);
		for (size_t i = 0; i < built; i++)
			assert_true(reasons[i].instance == same_reasons[i].instance &&
				    reasons[i].cause == same_reasons[i].cause);
		built = round ? 0 : fleet_next(fleet, actions, max);
		assert_int_equal(round ? 0 : fleet_next(anew, same, max), built);
		for (size_t i = 0; i < built; i++) {
			assert_int_equal(actions[i].type, same[i].type);
			assert_int_equal(actions[i].instance, same[i].instance);
			assert_int_equal(actions[i].version, same[i].version);
			assert_int_equal(actions[i].class, same[i].class);
			assert_int_equal(actions[i].hands_over, same[i].hands_over);
		}
	}
	fleet_free(anew);
}

static void test_step_by_step_is_as_anew(void **state)
{
	unsigned compared = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= LONG_LIVES; seed++) {
		struct random_seeded random;
		struct fleet *fleet = fleet_new();
		struct fleet_rules rules = {0};
		bool added[LONG_MAX] = {0};
		size_t count = 0;

		random_seeded_init(&random, seed);
		for (unsigned step = 0; step < LONG_STEPS; step++) {
			unsigned index = draw(&random, LONG_MAX), what = draw(&random, 20);

			if (what == 0) {
				rules = any_rules(&random);
				fleet_configure(fleet, &rules);
			} else if (what < 3 && added[index]) {
				fleet_remove(fleet, index);
				added[index] = false;
			} else if (what < 6 && memchr(added, 0, sizeof(added))) {
				uint32_t requested = fleet_add(fleet);

				assert_false(added[requested]);
				added[requested] = true;
				count = requested >= count ? requested + 1 : count;
			} else if (what < 9) {
				compare(fleet, &rules, added, count, 1 + draw(&random, LONG_MAX));
				compared++;
			} else if (added[index]) {
				report_any(fleet, &random, index);
			}
		}
		fleet_free(fleet);
	}
	assert_true(compared > LONG_LIVES * 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step_by_step_is_as_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
