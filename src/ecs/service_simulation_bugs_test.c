/* The simulation of services finds every deliberate bug; a server killed at any commit of a rolling deployment
 * comes to the same end. */
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
#include "ecs/simulation/service_simulation.h"

#define SEEDS_TO_FIND_A_BUG 1000 /* some need a rare moment */

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

/* Each bug is found, and a broken run repeats itself, too: that is how it gets mended. */
static void every_bug_is_found(void **state)
{
	(void)state;
	for (enum service_bug bug = SERVICE_BUG_NONE + 1; bug < SERVICE_BUG_COUNT; bug++) {
		struct service_simulation simulation = {.bug = bug};
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

static char *crash_at(unsigned commit, bool after, unsigned *ret_commits)
{
	struct err err = {0};
	char *end = NULL;

	if (service_simulation_crash(commit, after, folder, NULL, ret_commits, &end, &err) < 0)
		fail_msg("%s", err.message);
	return end;
}

static void a_server_killed_at_any_commit_comes_to_the_same_end(void **state)
{
	unsigned commits, killed = 0;
	_free_ char *wanted = crash_at(0, false, &commits);

	(void)state;
	print_message("# %u commits: %s\n", commits, wanted);
	assert_true(commits > 10);
	for (unsigned after = 0; after < 2; after++) {
		for (unsigned commit = 1;; commit++) {
			_free_ char *end = crash_at(commit, after, &commits);

			assert_string_equal(end, wanted);
			if (commits < commit)
				break; /* it was finished before */
			killed++;
		}
	}
	print_message("# killed at %u commits\n", killed);
	assert_true(killed > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bug_is_found),
		cmocka_unit_test(a_server_killed_at_any_commit_comes_to_the_same_end),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
