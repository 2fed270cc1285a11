/* slipway sim: runs simulations by seed and says which seed broke what. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/span.h"
#include "cli/command.h"
#include "control/simulation/toy_simulation.h"

void sim_help(void)
{
	printf("  --seeds A-B    Run these seeds. Default: 1-1000.\n"
	       "  --seed N       Run one seed and print its result.\n"
	       "  --trace        Print what happens, with --seed.\n"
	       "  --bug NAME     Put a bug in and see it found:\n");
	for (int i = 0; i < TOY_BUG_COUNT; i++)
		printf("    %-16s %s\n", toy_bug_names[i], toy_bug_meanings[i]);
	printf("\nExample:\n  slipway sim toy --seeds 1-100\n");
}

static bool read_range(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
	struct span first, last;

	if (!span_split(span_of(text), '-', &first, &last))
		return span_to_unsigned(span_of(text), UINT64_MAX, ret_first) &&
		       (*ret_last = *ret_first, true);
	return span_to_unsigned(first, UINT64_MAX, ret_first) &&
	       span_to_unsigned(last, UINT64_MAX - 1, ret_last) && *ret_first <= *ret_last;
}

static void print_result(uint64_t seed, const struct toy_simulation_result *result)
{
	printf("seed %" PRIu64 ": hash %016" PRIx64 ", %" PRIu64 " steps in %.3f virtual seconds\n"
	       "  crashes %u, pauses %u, lost leases %u, lost claims %u, overflows %u\n"
	       "  failed commits %u, restarts %u, lost answers %u, duplicates %u, deaths %u\n"
	       "  refused writes %u, takeovers %u\n",
		seed, result->hash, result->steps, (double)result->virtual_us / 1e6,
		result->crashes, result->pauses, result->lost_leases, result->lost_claims,
		result->overflows, result->failed_commits, result->restarts, result->lost_answers,
		result->duplicates, result->deaths, result->refused_writes, result->takeovers);
}

static int run_seeds(const struct toy_simulation *simulation, uint64_t first, uint64_t last)
{
	uint64_t failed = 0, count = last - first + 1;

	for (uint64_t seed = first; seed <= last; seed++) {
		struct toy_simulation_result result;
		struct err err;
		int code = toy_simulation_run(seed, simulation, &result, &err);

		if (code == 0 && count == 1)
			print_result(seed, &result);
		if (code < 0) {
			failed++;
			printf("%s\n", err.message);
			fflush(stdout);
		}
	}
	printf("%" PRIu64 " passed, %" PRIu64 " failed\n", count - failed, failed);
	return failed ? EXIT_FAILED : EXIT_OK;
}

int sim_run(const struct command *command, int count, char **arguments)
{
	const char *seeds = "1-1000", *seed = NULL, *bug = NULL;
	bool trace = false;
	const struct option_row rows[] = {{"seeds", &seeds, NULL}, {"seed", &seed, NULL},
		{"bug", &bug, NULL}, {"trace", NULL, &trace}};
	struct toy_simulation simulation = {0};
	char folder[] = "/tmp/slipway-sim-XXXXXX";
	struct positionals positionals;
	uint64_t first, last;
	int code =
		command_read_options(command, count, arguments, rows, LENGTH(rows), &positionals);

	if (code != 0)
		return code;
	if (positionals.count != 1 || strcmp(positionals.items[0], "toy") != 0)
		return command_misused(command, "name a simulation: toy");
	if (!read_range(seed ? seed : seeds, &first, &last))
		return command_misused(command, "'%s' is not a seed or a range like 1-100",
			seed ? seed : seeds);
	if (trace && first != last)
		return command_misused(command, "--trace needs --seed");
	if (bug) {
		int found = -1;

		for (int i = 0; i < TOY_BUG_COUNT; i++)
			if (strcmp(bug, toy_bug_names[i]) == 0)
				found = i;
		if (found < 0)
			return command_misused(command, "there is no bug '%s'", bug);
		simulation.bug = (enum toy_bug)found;
	}
	if (!mkdtemp(folder))
		return command_failed("no temporary folder: %s", strerror(errno));
	simulation.folder = folder;
	simulation.trace = trace ? stdout : NULL;
	code = run_seeds(&simulation, first, last);
	rmdir(folder);
	return code;
}
