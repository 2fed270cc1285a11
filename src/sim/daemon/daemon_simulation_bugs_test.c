/* The simulation of daemon environments finds every deliberate bug; scenario 70: a kill at any commit of a
 * deployment, any kind of update, a stop, a rollback, a deletion or a repair, of a local or remote daemon, a
 * service or a schedule, leads to the same end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/sanitized.h"
#include "sim/daemon/daemon_simulation.h"

#define SEEDS_TO_FIND_A_BUG 100 /* some need a rare moment */
#define SEEDS_VACUOUS 5
#define BUGS_TRIED (SANITIZED ? 5 : DAEMON_BUG_COUNT)
#define COURSES_TRIED (SANITIZED ? 2 : DAEMON_COURSE_COUNT)

static char folder[64];

/* In memory if there is such a place: it is not the disk that is tested here. */
static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "%s/daemon-simulation-XXXXXX",
		access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder); /* empty, or the simulation left something behind */
}

/* Each bug is found, and its seed breaks again in the same way, so that it can be debugged. */
static void every_bug_is_found(void **state)
{
	(void)state;
	for (enum daemon_bug bug = DAEMON_BUG_NONE + 1; bug < BUGS_TRIED; bug++) {
		struct daemon_simulation simulation = {
			.bug = bug, .folder = bug == DAEMON_BUG_EARLY_ACK ? folder : NULL};
		struct daemon_simulation_result first, second;
		struct err err = {0}, again = {0};
		uint64_t seed;
		int code = 0;

		if (bug == DAEMON_BUG_VACUOUS)
			continue; /* below */
		for (seed = 1; seed <= SEEDS_TO_FIND_A_BUG && code == 0; seed++)
			code = daemon_simulation_run(seed, &simulation, &first, &err);
		if (code != -EBADMSG)
			fail_msg("%s (%s) was not found in %d seeds: %d %s", daemon_bug_names[bug],
				daemon_bug_meanings[bug], SEEDS_TO_FIND_A_BUG, code, err.message);
		print_message("# %s: %s\n", daemon_bug_names[bug], err.message);
		assert_int_equal(daemon_simulation_run(seed - 1, &simulation, &second, &again),
			-EBADMSG);
		assert_string_equal(err.message, again.message);
		assert_int_equal(first.hash, second.hash);
	}
}

/* A property that is never looked at is found by counting. */
static void a_check_that_checks_nothing_is_found(void **state)
{
	struct daemon_simulation simulation = {.bug = DAEMON_BUG_VACUOUS};
	uint64_t exercised = 0, others = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS_VACUOUS; seed++) {
		struct daemon_simulation_result result;

		assert_int_equal(daemon_simulation_run(seed, &simulation, &result, NULL), 0);
		exercised += result.exercised[DAEMON_PROPERTY_S3];
		others += result.exercised[DAEMON_PROPERTY_S1];
	}
	assert_int_equal(exercised, 0);
	assert_true(others > 0);
}

static char *crash_at(const struct daemon_kill *kill, unsigned *ret_points)
{
	struct err err = {0};
	char *end = NULL;

	if (daemon_simulation_crash(kill, ret_points, &end, &err) < 0)
		fail_msg("%s: %s", daemon_course_meanings[kill->course], err.message);
	return end;
}

static const char *const ends[DAEMON_COURSE_COUNT] = {
	[DAEMON_COURSE_STARTS] = "active, completed; 2 of log:1, 0 of log:2",
	[DAEMON_COURSE_ROLLS] = "active, completed, completed; 0 of log:1, 5 of log:2",
	[DAEMON_COURSE_STOPS] = "inactive, completed, stopped",
	[DAEMON_COURSE_ROLLS_BACK] =
		"active, completed, completed, completed; 5 of log:1, 0 of log:2",
	[DAEMON_COURSE_DELETED] = "gone; 0 of log:1, 0 of log:2",
	[DAEMON_COURSE_JOINED] = "active, completed; 4 of log:1, 0 of log:2",
	[DAEMON_COURSE_REPAIRED] = "active, completed; 3 of log:1, 0 of log:2",
	[DAEMON_COURSE_SURGES] = "active, completed, completed; 0 of log:1, 5 of log:2",
	[DAEMON_COURSE_CANARY] = "active, completed, completed; 0 of log:1, 5 of log:2",
	[DAEMON_COURSE_FAILS] = "active, completed, timed-out, completed; 5 of log:1, 0 of log:2",
	[DAEMON_COURSE_MOVES] = "active, completed, completed; 0 tasks in default, 3 in edge",
	[DAEMON_COURSE_DRAINED] = "active, completed; 3 of log:1, 0 of log:2",
	[DAEMON_COURSE_REMOTE_STARTS] = "active, completed; 2 of log:1, 0 of log:2, 2 in all",
	[DAEMON_COURSE_REMOTE_ROLLS] =
		"active, completed, completed; 0 of log:1, 5 of log:2, 10 in all",
	[DAEMON_COURSE_REMOTE_DELETED] = "gone; 0 of log:1, 0 of log:2, 5 in all",
	[DAEMON_COURSE_SERVICE_STARTS] = "active, completed; a service for 3 that is ACTIVE; "
					 "3 of log:1, 0 of log:2, 3 in all",
	[DAEMON_COURSE_SERVICE_ROLLS] = "active, completed, completed; a service for 3 that is "
					"ACTIVE; 0 of log:1, 3 of log:2, 6 in all",
	[DAEMON_COURSE_SERVICE_ROLLS_BACK] =
		"active, completed, completed, completed; a service for 3 that is ACTIVE; "
		"3 of log:1, 0 of log:2, 9 in all",
	[DAEMON_COURSE_SERVICE_DELETED] = "gone; a service for 0 that is INACTIVE; "
					  "0 of log:1, 0 of log:2, 3 in all",
	[DAEMON_COURSE_CRON_RUNS] = "inactive, completed; 3 runs, 3 have ended, 3 tasks of 3",
};

static void sweep(enum daemon_course course)
{
	struct daemon_kill kill = {.course = course, .folder = folder};
	unsigned points, killed = 0;
	_free_ char *undisturbed = crash_at(&kill, &points);

	assert_string_equal(undisturbed, ends[course]);
	assert_true(points > 3);
	for (unsigned after = 0; after < 2; after++) {
		kill.after = after;
		for (kill.point = 1;; kill.point++) {
			_free_ char *end = crash_at(&kill, &points);

			if (strcmp(end, ends[course]) != 0)
				fail_msg("%s: stopped %s commit %u: '%s' instead of '%s'",
					daemon_course_meanings[course], after ? "after" : "before",
					kill.point, end, ends[course]);
			if (points < kill.point)
				break; /* it was finished before */
			killed++;
		}
	}
	print_message("# stopped at %u points: %s\n", killed, daemon_course_meanings[course]);
}

static void test_70_every_course_survives_every_kill(void **state)
{
	(void)state;
	for (enum daemon_course course = 0; course < COURSES_TRIED; course++)
		sweep(course);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bug_is_found),
		cmocka_unit_test(a_check_that_checks_nothing_is_found),
		cmocka_unit_test(test_70_every_course_survives_every_kill),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
