/* The simulation of services finds every deliberate bug; a server killed at any commit of a deployment, a rollback or
 * a deletion comes to the same end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/sanitized.h"
#include "sim/service/service_simulation.h"

#define SEEDS_TO_FIND_A_BUG 1000 /* some need a rare moment */
#define BUGS_TRIED (SANITIZED ? 6 : SERVICE_BUG_COUNT)
#define COURSES_TRIED (SANITIZED ? 1 : SERVICE_COURSE_COUNT)

static char folder[64];

/* In memory if there is such a place: it is not the disk that is tested here. */
static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "%s/service-simulation-XXXXXX",
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
	for (enum service_bug bug = SERVICE_BUG_NONE + 1; bug < BUGS_TRIED; bug++) {
		struct service_simulation simulation = {
			.bug = bug, .groups = bug >= SERVICE_BUG_GROUPS};
		struct service_simulation_result first, second;
		struct err err = {0}, again = {0};
		uint64_t seed;
		int code = 0;

		for (seed = 1; seed <= SEEDS_TO_FIND_A_BUG && code == 0; seed++)
			code = service_simulation_run(seed, &simulation, &first, &err);
		if (code != -EBADMSG)
			fail_msg("%s (%s) was not found in %d seeds: %d %s", service_bug_names[bug],
				service_bug_meanings[bug], SEEDS_TO_FIND_A_BUG, code, err.message);
		print_message("# %s: %s\n", service_bug_names[bug], err.message);
		assert_int_equal(service_simulation_run(seed - 1, &simulation, &second, &again),
			-EBADMSG);
		assert_string_equal(err.message, again.message);
		assert_int_equal(first.hash, second.hash);
	}
}

static char *crash_at(const struct service_kill *kill, unsigned *ret_commits)
{
	struct err err = {0};
	char *end = NULL;

	if (service_simulation_crash(kill, ret_commits, &end, &err) < 0)
		fail_msg("%s", err.message);
	return end;
}

static void sweep(enum service_course course, bool groups, const char *wanted)
{
	struct service_kill kill = {.course = course, .groups = groups, .folder = folder};
	unsigned commits, killed = 0;
	_free_ char *undisturbed = crash_at(&kill, &commits);

	assert_string_equal(undisturbed, wanted);
	assert_true(commits > 3);
	for (unsigned after = 0; after < 2; after++) {
		kill.after = after;
		for (kill.commit = 1;; kill.commit++) {
			_free_ char *end = crash_at(&kill, &commits);

			if (strcmp(end, wanted) != 0)
				fail_msg("killed %s commit %u: '%s' instead of '%s'",
					after ? "after" : "before", kill.commit, end, wanted);
			if (commits < kill.commit)
				break; /* it was finished before */
			killed++;
		}
	}
	print_message("# killed at %u commits: %s\n", killed, wanted);
}

/* The end does not depend on what keeps the replicas. */
static const char *const ends[SERVICE_COURSE_COUNT] = {
	[SERVICE_COURSE_ROLLS] = "ACTIVE: quick:1 INACTIVE COMPLETED SUCCESSFUL, 0 healthy; "
				 "checked:1 PRIMARY COMPLETED SUCCESSFUL, 3 healthy;",
	[SERVICE_COURSE_ROLLS_BACK] = "ACTIVE: quick:1 INACTIVE COMPLETED SUCCESSFUL, 0 healthy; "
				      "crashing:1 INACTIVE FAILED ROLLBACK_SUCCESSFUL, 0 healthy; "
				      "quick:1 PRIMARY COMPLETED SUCCESSFUL, 3 healthy;",
	[SERVICE_COURSE_DELETED] = "INACTIVE: quick:1 INACTIVE COMPLETED SUCCESSFUL, 0 healthy;",
};

static void every_course_survives_every_kill(void **state)
{
	(void)state;
	for (enum service_course course = 0; course < COURSES_TRIED; course++)
		sweep(course, false, ends[course]);
}

static void every_course_of_groups_survives_every_kill(void **state)
{
	(void)state;
	for (enum service_course course = 0; course < COURSES_TRIED; course++)
		sweep(course, true, ends[course]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bug_is_found),
		cmocka_unit_test(every_course_survives_every_kill),
		cmocka_unit_test(every_course_of_groups_survives_every_kill),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
