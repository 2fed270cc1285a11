/* slipway-sim: runs simulations by seed and reports which seed broke which property. `slipway sim` starts it. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/span.h"
#include "cli/command.h"
#include "sim/daemon/daemon_simulation.h"
#include "sim/pipeline/pipeline_simulation.h"
#include "sim/service/service_simulation.h"
#include "sim/toy/toy_simulation.h"

#define INSTANCES_MAX 10000
#define ENVIRONMENTS_MAX 1000
#define HOURS_MAX 1000

struct sim_options {
	int bug;
	bool groups;
	unsigned instances, environments, hours;
	const char *folder;
	FILE *trace;
};

static int run_toy(uint64_t seed, const struct sim_options *options, bool print, struct err *err)
{
	struct toy_simulation simulation = {.bug = (enum toy_bug)options->bug,
		.folder = options->folder,
		.trace = options->trace};
	struct toy_simulation_result result;
	int code = toy_simulation_run(seed, &simulation, &result, err);

	if (code == 0 && print)
		printf("seed %" PRIu64 ": hash %016" PRIx64 ", %" PRIu64
		       " steps in %.3f virtual seconds\n"
		       "  crashes %u, pauses %u, lost leases %u, lost claims %u, overflows %u\n"
		       "  failed commits %u, restarts %u, lost answers %u, duplicates %u, deaths "
		       "%u\n"
		       "  refused writes %u, takeovers %u\n",
			seed, result.hash, result.steps, (double)result.virtual_us / 1e6,
			result.crashes, result.pauses, result.lost_leases, result.lost_claims,
			result.overflows, result.failed_commits, result.restarts,
			result.lost_answers, result.duplicates, result.deaths,
			result.refused_writes, result.takeovers);
	return code;
}

static int run_service(uint64_t seed, const struct sim_options *options, bool print,
	struct err *err)
{
	struct service_simulation simulation = {.bug = (enum service_bug)options->bug,
		.groups = options->groups,
		.folder = options->folder,
		.trace = options->trace};
	struct service_simulation_result result;
	int code = service_simulation_run(seed, &simulation, &result, err);

	if (code == 0 && print)
		printf("seed %" PRIu64 ": hash %016" PRIx64 ", %" PRIu64
		       " steps in %.3f virtual seconds\n"
		       "  programs %" PRIu64 ", requests %u, refused %u\n"
		       "  crashes %u, pauses %u, overflows %u, failed commits %u, restarts %u\n"
		       "  lost calls %u, late calls %u, lost notices %u, task deaths %u, instance "
		       "deaths %u, late programs %u\n",
			seed, result.hash, result.steps, (double)result.virtual_us / 1e6,
			result.programs, result.requests, result.refused, result.crashes,
			result.pauses, result.overflows, result.failed_commits, result.restarts,
			result.lost_calls, result.late_calls, result.lost_notices,
			result.task_deaths, result.instance_deaths, result.late_programs);
	return code;
}

static int run_daemon(uint64_t seed, const struct sim_options *options, bool print, struct err *err)
{
	struct daemon_simulation simulation = {.bug = (enum daemon_bug)options->bug,
		.instances = options->instances,
		.environments = options->environments,
		.hours = options->hours,
		.folder = options->folder,
		.trace = options->trace,
		.progress = print && options->hours > 0 ? stderr : NULL};
	struct daemon_simulation_result result;
	int code = daemon_simulation_run(seed, &simulation, &result, err);

	if (code < 0 || !print)
		return code;
	printf("seed %" PRIu64 ": hash %016" PRIx64 ", %" PRIu64 " steps in %.3f virtual seconds\n"
	       "  requests %u, refused %u, repeated %u\n"
	       "  crashes %u, pauses %u, clocks set %u, failed commits %u, restarts %u\n"
	       "  changes of instances %u, deaths of tasks %u\n"
	       "  lost calls %u, late calls %u, lost events %u\n"
	       "  put to the test:",
		seed, result.hash, result.steps, (double)result.virtual_us / 1e6, result.requests,
		result.refused, result.repeats, result.crashes, result.pauses, result.jumps,
		result.failed_commits, result.restarts, result.instance_changes, result.task_deaths,
		result.lost_calls, result.late_calls, result.lost_events);
	for (size_t i = 0; i < DAEMON_PROPERTY_COUNT; i++)
		printf(" %s %" PRIu64, daemon_property_names[i], result.exercised[i]);
	printf("\n");
	return code;
}

static int run_pipeline(uint64_t seed, const struct sim_options *options, bool print,
	struct err *err)
{
	struct pipeline_simulation simulation = {
		.bug = (enum pipeline_bug)options->bug, .trace = options->trace};
	struct pipeline_simulation_result result;
	int code = pipeline_simulation_run(seed, &simulation, &result, err);

	if (code == 0 && print)
		printf("seed %" PRIu64 ": hash %016" PRIx64 ", %" PRIu64
		       " steps in %.3f virtual seconds\n"
		       "  calls %u, crashes %u, throttled %u, failed %u, lost %u, unanswered %u, "
		       "partial %u\n"
		       "  pending operations %u, of which failed %u; task deaths %u\n"
		       "  succeeded %u, rolled back %u, cancelled %u\n",
			seed, result.hash, result.steps, (double)result.virtual_us / 1e6,
			result.calls, result.crashes, result.throttled, result.failed, result.lost,
			result.unanswered, result.partial, result.pending, result.failed_operations,
			result.task_deaths, result.succeeded, result.rolled_back, result.cancelled);
	return code;
}

static const struct simulation {
	const char *name;
	const char *meaning;
	const char *const *bugs;
	const char *const *bug_meanings;
	int bug_count;
	/* 0, or what was broken; `print`: the result, if it is good. */
	int (*run)(uint64_t seed, const struct sim_options *options, bool print, struct err *err);
} simulations[] = {
	{"toy", "the smallest controller, with claims, on two servers", toy_bug_names,
		toy_bug_meanings, TOY_BUG_COUNT, run_toy},
	{"service", "services and their tasks, with clients, machines and everything that fails",
		service_bug_names, service_bug_meanings, SERVICE_BUG_COUNT, run_service},
	{"daemon",
		"environments and their managers, with clients, instances and everything that "
		"fails",
		daemon_bug_names, daemon_bug_meanings, DAEMON_BUG_COUNT, run_daemon},
	{"pipeline", "deployments by canary and blue/green, with an ECS where everything fails",
		pipeline_bug_names, pipeline_bug_meanings, PIPELINE_BUG_COUNT, run_pipeline},
};

static void print_help(const struct command *command)
{
	printf("Usage: slipway %s %s\n\n%s\n\nSimulations:\n", command->name, command->arguments,
		command->summary);
	for (size_t i = 0; i < LENGTH(simulations); i++)
		printf("  %-14s %s\n", simulations[i].name, simulations[i].meaning);
	printf("\n  --seeds A-B    Run these seeds. Default: 1-1000.\n"
	       "  --seed N       Run one seed and print its result.\n"
	       "  --trace        Print what happens, with --seed.\n"
	       "  --groups       The runtime keeps replicas itself, as Kubernetes does; of "
	       "service.\n"
	       "  --instances N  At most so many in a cluster; of daemon.\n"
	       "  --environments N\n"
	       "                 So many can there be, instead of three; of daemon.\n"
	       "  --hours N      So long with faults, in virtual time; of daemon.\n"
	       "  --bug NAME     Put a bug in and see it found:\n");
	for (size_t i = 0; i < LENGTH(simulations); i++) {
		printf("   in %s:\n", simulations[i].name);
		for (int bug = 0; bug < simulations[i].bug_count; bug++)
			printf("    %-16s %s\n", simulations[i].bugs[bug],
				simulations[i].bug_meanings[bug]);
	}
	printf("\nExample:\n  slipway sim service --seeds 1-100\n");
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

/* 0 where none is given. */
static bool read_number(const char *text, unsigned most, unsigned *ret_number)
{
	uint64_t number = 0;

	if (text && !span_to_unsigned(span_of(text), most, &number))
		return false;
	*ret_number = (unsigned)number;
	return true;
}

static int run_seeds(const struct simulation *simulation, const struct sim_options *options,
	uint64_t first, uint64_t last)
{
	uint64_t failed = 0, count = last - first + 1;

	for (uint64_t seed = first; seed <= last; seed++) {
		struct err err = {0};

		if (simulation->run(seed, options, count == 1, &err) < 0) {
			failed++;
			printf("%s\n", err.message);
			fflush(stdout);
		}
	}
	printf("%" PRIu64 " passed, %" PRIu64 " failed\n", count - failed, failed);
	return failed ? EXIT_FAILED : EXIT_OK;
}

static const struct simulation *find_simulation(const struct positionals *positionals)
{
	for (size_t i = 0; positionals->count == 1 && i < LENGTH(simulations); i++)
		if (strcmp(positionals->items[0], simulations[i].name) == 0)
			return &simulations[i];
	return NULL;
}

static int find_bug(const struct simulation *simulation, const char *name)
{
	for (int i = 0; i < simulation->bug_count; i++)
		if (strcmp(name, simulation->bugs[i]) == 0)
			return i;
	return -1;
}

static int run(const struct command *command, int count, char **arguments)
{
	const char *seeds = "1-1000", *seed = NULL, *bug = NULL, *instances = NULL, *hours = NULL,
		   *environments = NULL;
	bool trace = false, groups = false;
	const struct option_row rows[] = {{"seeds", &seeds, NULL}, {"seed", &seed, NULL},
		{"bug", &bug, NULL}, {"instances", &instances, NULL},
		{"environments", &environments, NULL}, {"hours", &hours, NULL},
		{"trace", NULL, &trace}, {"groups", NULL, &groups}};
	const struct simulation *simulation;
	struct sim_options options = {0};
	char folder[] = "/tmp/slipway-sim-XXXXXX";
	struct positionals positionals;
	uint64_t first, last;
	int code =
		command_read_options(command, count, arguments, rows, LENGTH(rows), &positionals);

	if (code != 0)
		return code;
	simulation = find_simulation(&positionals);
	if (!simulation)
		return command_misused(command,
			"name a simulation: toy, service, daemon or pipeline");
	if (!read_range(seed ? seed : seeds, &first, &last))
		return command_misused(command, "'%s' is not a seed or a range like 1-100",
			seed ? seed : seeds);
	if (trace && first != last)
		return command_misused(command, "--trace needs --seed");
	options.bug = bug ? find_bug(simulation, bug) : 0;
	if (options.bug < 0)
		return command_misused(command, "there is no bug '%s'", bug);
	options.groups = groups;
	if (!read_number(instances, INSTANCES_MAX, &options.instances))
		return command_misused(command, "--instances: a number up to %d", INSTANCES_MAX);
	if (!read_number(environments, ENVIRONMENTS_MAX, &options.environments))
		return command_misused(command, "--environments: a number up to %d",
			ENVIRONMENTS_MAX);
	if (!read_number(hours, HOURS_MAX, &options.hours))
		return command_misused(command, "--hours: a number up to %d", HOURS_MAX);
	if (!mkdtemp(folder))
		return command_failed("no temporary folder: %s", strerror(errno));
	options.folder = folder;
	options.trace = trace ? stdout : NULL;
	code = run_seeds(simulation, &options, first, last);
	rmdir(folder);
	return code;
}

int main(int argc, char **argv)
{
	static const struct command command = {
		.name = "sim", .arguments = SIM_ARGUMENTS, .summary = SIM_SUMMARY};

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			print_help(&command);
			return EXIT_OK;
		}
	}
	return run(&command, argc - 1, argv + 1);
}
