/* The simulation of deployments finds every deliberate bug; scenario 40: a kill at any call of a canary, a blue/green and
 * their rollbacks, with task sets and with two services, by names and behind a load balancer, leads to the same end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/sanitized.h"
#include "sim/pipeline/pipeline_simulation.h"

#define SEEDS_TO_FIND_A_BUG 100
#define BUGS_TRIED (SANITIZED ? 4 : PIPELINE_BUG_COUNT)
#define COURSES 24
#define COURSES_TRIED (SANITIZED ? 2 : COURSES)

/* Each bug is found, and its seed breaks again in the same way, so that it can be debugged. */
static void every_bug_is_found(void **state)
{
	(void)state;
	for (enum pipeline_bug bug = PIPELINE_BUG_NONE + 1; bug < BUGS_TRIED; bug++) {
		struct pipeline_simulation simulation = {.bug = bug};
		struct pipeline_simulation_result first, second;
		struct err err = {0}, again = {0};
		uint64_t seed;
		int code = 0;

		for (seed = 1; seed <= SEEDS_TO_FIND_A_BUG && code == 0; seed++)
			code = pipeline_simulation_run(seed, &simulation, &first, &err);
		if (code != -EBADMSG)
			fail_msg("%s (%s) was not found in %d seeds: %d %s",
				pipeline_bug_names[bug], pipeline_bug_meanings[bug],
				SEEDS_TO_FIND_A_BUG, code, err.message);
		print_message("# %s: %s\n", pipeline_bug_names[bug], err.message);
		assert_int_equal(pipeline_simulation_run(seed - 1, &simulation, &second, &again),
			-EBADMSG);
		assert_string_equal(err.message, again.message);
		assert_int_equal(first.hash, second.hash);
	}
}

/* The courses are the numbers from 0, one bit for each choice. */
static struct pipeline_course course_of(unsigned number)
{
	/* Of task sets and of services, rolled back after they have succeeded; of task sets also with the old ones kept. */
	if (number >= 16)
		return (struct pipeline_course){.is_canary = !(number & 1),
			.has_services = number & 2,
			.has_names = !(number & 4),
			.keeps_old = !(number & 2),
			.is_undone = true};
	return (struct pipeline_course){.is_canary = !(number & 1),
		.has_services = number & 2,
		.has_names = !(number & 4),
		.fails_at = number & 8 ? 2 + (number & 1) : 0};
}

static void print_course(struct pipeline_course course, char out[64])
{
	snprintf(out, 64, "%s of %s %s%s", course.is_canary ? "canary" : "blue/green",
		course.has_services ? "services" : "task sets",
		course.has_names ? "by names" : "by weights",
		course.is_undone  ? ", undone"
		: course.fails_at ? ", rolled back"
				  : "");
}

static char *crash_at(const struct pipeline_kill *kill, unsigned *ret_calls)
{
	struct err err = {0};
	char *end = NULL, name[64];

	print_course(kill->course, name);
	if (pipeline_simulation_crash(kill, ret_calls, &end, &err) < 0)
		fail_msg("%s, killed %s call %u: %s", name, kill->after ? "after" : "before",
			kill->call, err.message);
	return end;
}

static void sweep(struct pipeline_course course)
{
	struct pipeline_kill kill = {.course = course};
	unsigned calls, killed = 0;
	_free_ char *undisturbed = crash_at(&kill, &calls);
	char name[64];

	print_course(course, name);
	assert_true(calls > 5);
	for (unsigned after = 0; after < 2; after++) {
		kill.after = after;
		for (kill.call = 1;; kill.call++) {
			_free_ char *end = crash_at(&kill, &calls);

			if (strcmp(end, undisturbed) != 0)
				fail_msg("%s, killed %s call %u: '%s' instead of '%s'", name,
					after ? "after" : "before", kill.call, end, undisturbed);
			if (calls < kill.call)
				break; /* it had ended before */
			killed++;
		}
	}
	print_message("# %s: killed at %u calls: %s\n", name, killed, undisturbed);
}

static void test_40_every_deployment_survives_every_kill(void **state)
{
	(void)state;
	for (unsigned number = 0; number < COURSES_TRIED; number++)
		sweep(course_of(number));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bug_is_found),
		cmocka_unit_test(test_40_every_deployment_survives_every_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
