/*
 * See the header. Main is clients, operator and fate in one. Everything it does is drawn from the seed, by way of the
 * runner.
 */
#include "sim/daemon/daemon_simulation.h"

#include <inttypes.h>

#include "base/memory.h"
#include "control/runner_simulated.h"
#include "sim/daemon/sim_world.h"

/* One seed in so many keeps its store in a file and restarts everything from it. */
#define FILE_ONE_IN 10
/* And one in so many has one server only, so that no other one repairs what it missed. */
#define ALONE_ONE_IN 3
#define SHARES_ONE_IN 2 /* and in one in so many two environments want the same task definitions */
#define INSTANCES_DEFAULT 8
#define HOUR_US (3600 * SIM_SECOND_US)
#define LARGE_PACE 16
#define LARGE_OFTEN 16
#define POPULATE_US (SIM_SECOND_US / 2)
#define PATIENCE_US (2 * SIM_SECOND_US)
/* One seed in so many has the clusters of an account on a remote ECS. Their replicas may be some seconds old, and
 * then servers decide nothing. */
#define REMOTE_ONE_IN 3
#define REMOTE_PATIENCE_US (16 * SIM_SECOND_US)
#define CONVERGE_WITHIN_US (1800 * SIM_SECOND_US)
/* Managers look at everything once a minute: ten times, and a hundred times behind a long run. */
#define QUIET_US (600 * SIM_SECOND_US)
#define LONG_QUIET_US (10 * QUIET_US)

const char *const daemon_bug_names[DAEMON_BUG_COUNT] = {
#define X(name, text, meaning) [DAEMON_BUG_##name] = text,
	DAEMON_BUGS(X)
#undef X
};

const char *const daemon_bug_meanings[DAEMON_BUG_COUNT] = {
#define X(name, text, meaning) [DAEMON_BUG_##name] = meaning,
	DAEMON_BUGS(X)
#undef X
};

void sim_broken(void *context, const char *rule)
{
	struct sim *sim = context;

	runner_trace(sim->root, "BROKEN: %s", rule);
	if (!sim->broken[0])
		snprintf(sim->broken, sizeof(sim->broken), "at %.3f s: %s",
			(double)runner_now_us(sim->root) / (double)SIM_SECOND_US, rule);
}

/* ---- the course of a run ---- */

int sim_pass_time(struct sim *sim, int64_t duration_us, struct err *err)
{
	int code = runner_sleep_until(sim->root, runner_deadline_us(sim->root, duration_us));

	if (code < 0)
		return err_set(err, code, "%s", runner_simulated_trouble(sim->root));
	if (sim->store_stopped)
		code = sim_restart(sim, err);
	if (code < 0)
		return code;
	sim_tend_servers(sim);
	return 0;
}

static void act(struct sim *sim)
{
	switch (sim_draw(sim, 10)) {
	case 0: sim_act_server(sim); break;
	case 1:
	case 2:
	case 3: sim_act_instance(sim); break;
	case 4:
	case 5: sim_act_task(sim); break;
	case 6:
		sim_inspect_servers(sim);
		sim->storm = sim_one_in(sim, 3);
		sim_silence_events(sim);
		break;
	default: sim_act_client(sim); break;
	}
}

/* How far a long run has come, once an hour. */
static void report_progress(const struct sim *sim, int64_t began_us, int64_t *next_us)
{
	int64_t now_us = runner_now_us(sim->root);

	if (!sim->config->progress || now_us < *next_us)
		return;
	*next_us += HOUR_US;
	fprintf(sim->config->progress,
		"hour %" PRId64 " of %u: %" PRIu64 " steps, %zu tasks, %u crashes\n",
		(now_us - began_us) / HOUR_US, sim->config->hours,
		runner_simulated_steps(sim->root), daemon_checker_actual(sim->checker)->tasks.count,
		sim->result.crashes);
	fflush(sim->config->progress);
}

/* Clients that come one by one would need a day for so many environments. */
static int populate(struct sim *sim, struct err *err)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < sim->environment_count; i++) {
		sim_make_healthy(sim, i);
		code = sim_pass_time(sim, POPULATE_US, err);
	}
	sim->only_good = false;
	return code;
}

static int run_faults(struct sim *sim, struct err *err)
{
	int64_t minutes = sim->config->hours > 0 ? 60 * (int64_t)sim->config->hours
						 : 2 + (int64_t)sim_draw(sim, 6);
	int64_t began_us = runner_now_us(sim->root);
	int64_t until_us = began_us + minutes * 60 * SIM_SECOND_US;
	int64_t reported_us = began_us + HOUR_US;
	/* Sometimes much happens at once, sometimes there is time for things to settle. */
	int64_t pace_us = (1 + (int64_t)sim_draw(sim, 8)) * SIM_SECOND_US;

	if (sim->large) {
		int code = populate(sim, err);

		if (code < 0)
			return code;
		pace_us *= LARGE_PACE;
	}
	sim->faulty = true;
	while (runner_now_us(sim->root) < until_us && !sim->broken[0]) {
		int code = sim_pass_time(sim, (int64_t)sim_draw(sim, (uint64_t)pace_us), err);

		if (code < 0)
			return code;
		if (!sim->store_stopped)
			act(sim);
		report_progress(sim, began_us, &reported_us);
	}
	sim->faulty = false;
	if (sim->store_stopped)
		return sim_restart(sim, err);
	return 0;
}

int sim_settle(struct sim *sim, int64_t within_us, enum daemon_property property, const char *when,
	struct err *err)
{
	int64_t until_us = runner_now_us(sim->root) + within_us;
	char wrong[SIM_TEXT_MAX];
	int code = 0;

	do {
		sim_describe_unsettled(sim, wrong);
		if (!wrong[0])
			return 0;
		code = sim_pass_time(sim, SIM_SECOND_US, err);
	} while (code == 0 && !sim->broken[0] && runner_now_us(sim->root) < until_us);
	if (code == 0 && !sim->broken[0])
		daemon_checker_report(sim->checker, property, "%s %s", when, wrong);
	return code;
}

int sim_make_one_healthy(struct sim *sim, size_t environment, struct err *err)
{
	int64_t until_us = runner_now_us(sim->root) + CONVERGE_WITHIN_US;

	while (!sim_make_healthy(sim, environment)) {
		int code = sim_pass_time(sim, 5 * SIM_SECOND_US, err);

		if (code < 0 || sim->broken[0])
			return code;
		if (runner_now_us(sim->root) > until_us) {
			daemon_checker_report(sim->checker, DAEMON_PROPERTY_L7,
				"long after the faults ended environment %s cannot be deployed: %s",
				sim->environments[environment].name, sim->error_type);
			return 0;
		}
	}
	return 0;
}

static int desired_well(struct sim *sim, struct err *err)
{
	int code = 0;

	for (size_t i = 0; code == 0 && !sim->broken[0] && i < sim->environment_count; i++)
		code = sim_make_one_healthy(sim, i, err);
	return code;
}

/* No server acts any more. */
static int stay_quiet(struct sim *sim, struct err *err)
{
	uint64_t actions = daemon_checker_actions(sim->checker);
	int64_t until_us =
		runner_now_us(sim->root) + (sim->config->hours > 0 ? LONG_QUIET_US : QUIET_US);

	while (runner_now_us(sim->root) < until_us && !sim->broken[0]) {
		int code = sim_pass_time(sim, 30 * SIM_SECOND_US, err);

		if (code < 0)
			return code;
		sim_inspect_servers(sim);
		sim_compare_counts(sim, true);
	}
	sim_compare_counts(sim, false);
	daemon_checker_count(sim->checker, DAEMON_PROPERTY_L1);
	if (daemon_checker_actions(sim->checker) != actions)
		daemon_checker_report(sim->checker, DAEMON_PROPERTY_L1,
			"all was as wanted, and something was done all the same");
	return 0;
}

/* Two of them, one after another; each begins when all is as wanted, and ends so. */
static int try_some(struct sim *sim, struct err *err)
{
	int code = sim_try_new(sim, err);

	if (code < 0 || sim->broken[0])
		return code;
	return sim_one_in(sim, 2) ? sim_try_no_room(sim, err) : sim_try_away(sim, err);
}

/* The last desired version was rolled out, whatever became of those before. */
static void check_succeeded(struct sim *sim)
{
	const struct actual *actual = daemon_checker_actual(sim->checker);

	for (unsigned i = 0; i < actual->environment_count; i++)
		if (actual->environments[i]->exists && actual->environments[i]->has_failed)
			daemon_checker_report(sim->checker, DAEMON_PROPERTY_L7,
				"a deployment of environment %s has failed, and none was completed "
				"since",
				actual->environments[i]->name);
}

static int run_calm(struct sim *sim, struct err *err)
{
	int code;

	runner_trace(sim->root, "the faults are over");
	sim_tend_servers(sim);
	sim_calm_machines(sim);
	code = desired_well(sim, err);
	if (code == 0 && !sim->broken[0]) {
		code = sim_settle(sim, CONVERGE_WITHIN_US, DAEMON_PROPERTY_L1,
			"long after the faults ended", err);
	}
	if (code == 0 && !sim->broken[0])
		check_succeeded(sim);
	if (code == 0 && !sim->broken[0])
		code = try_some(sim, err);
	if (code == 0 && !sim->broken[0])
		code = stay_quiet(sim, err);
	return code;
}

int sim_open_stores(struct sim *sim, struct err *err)
{
	struct actual *actual = daemon_checker_actual(sim->checker);
	int code = 0;

	if (sim->remote) {
		actual->remote_account = SIM_REMOTE_ACCOUNT;
		actual->remote_target = SIM_REMOTE;
		code = sim_open_remote(sim, err);
	}
	return code == 0 ? sim_open_store(sim, err) : code;
}

static int run(struct sim *sim, struct err *err)
{
	int code = sim_open_stores(sim, err);

	if (code == 0)
		code = sim_define_all(sim, err);
	for (size_t i = 0; code == 0 && i < SIM_CLUSTERS; i++)
		sim_add_instances(sim, i, (unsigned)sim_draw(sim, sim->instances_max + 1));
	if (code == 0)
		code = sim_start_machines(sim, err);
	if (code == 0)
		code = run_faults(sim, err);
	if (code == 0 && !sim->broken[0])
		code = run_calm(sim, err);
	if (code == -EDEADLK) {
		sim_broken(sim, runner_simulated_trouble(sim->root));
		code = 0;
	}
	return code;
}

static void take_counts(struct sim *sim)
{
	struct daemon_simulation_result *result = &sim->result;

	memcpy(result->exercised, daemon_checker_counts(sim->checker), sizeof(result->exercised));
	result->virtual_us = runner_now_us(sim->root);
	result->steps = runner_simulated_steps(sim->root);
	result->hash = runner_simulated_hash(sim->root);
}

void sim_set_up(struct sim *sim, uint64_t seed)
{
	const struct daemon_simulation *config = sim->config;
	struct daemon_checker_config checker = {.bug_vacuous = config->bug == DAEMON_BUG_VACUOUS,
		.patience_us = sim->remote ? REMOTE_PATIENCE_US : PATIENCE_US,
		.broken = sim_broken,
		.context = sim};

	sim->root = runner_simulated_new(seed);
	sim->random = runner_random(sim->root);
	runner_simulated_trace_to(sim->root, config->trace, config->trace_steps);
	sim_set_up_servers(sim);
	sim_set_up_environments(sim, config->environments);
	sim->server_count = SIM_SERVERS;
	sim->instances_max = config->instances > 0 ? config->instances : INSTANCES_DEFAULT;
	sim->large = config->hours > 0 && sim->crowd > 1;
	sim->rarity = sim->crowd;
	if (sim->crowd > 1 && sim->instances_max > INSTANCES_DEFAULT)
		sim->rarity *= sim->instances_max / INSTANCES_DEFAULT;
	/* A booting server reads everything: in a large simulation it boots every few minutes. */
	if (sim->large && sim->rarity > LARGE_OFTEN)
		sim->rarity /= LARGE_OFTEN;
	checker.runner = sim->root;
	sim->checker = daemon_checker_new(&checker);
}

void sim_finish(struct sim *sim)
{
	for (size_t i = 0; i < SIM_SERVERS; i++)
		sim_take_down(sim, &sim->servers[i]);
	sim_stop_machines(sim);
	take_counts(sim);
	runner_stop(sim->root);
	runner_join(sim->root, NULL);
	if (sim->store)
		sim_close_store(sim);
	if (sim->remote_store)
		sim_close_remote(sim);
	daemon_checker_free(sim->checker);
	runner_free(sim->root);
	sim_remove_files(sim);
	free(sim->path);
	free(sim->key_path);
	free(sim->environments);
	sim_forget_answers(sim);
	for (size_t i = 0; i < SIM_STALE; i++)
		free(sim->stale[i].text);
	MAP_EACH (&sim->orphans, entry)
		free(entry->value);
	map_clear(&sim->orphans);
}

int daemon_simulation_run(uint64_t seed, const struct daemon_simulation *config,
	struct daemon_simulation_result *ret_result, struct err *err)
{
	struct sim *sim = memory_allocate(sizeof(*sim));
	int code;

	sim->config = config;
	sim->remote = config->bug >= DAEMON_BUG_REMOTE || seed % REMOTE_ONE_IN == 0;
	sim_set_up(sim, seed);
	if ((sim_one_in(sim, FILE_ONE_IN) || config->bug == DAEMON_BUG_EARLY_ACK) && config->folder)
		sim_use_file(sim, config->folder, seed);
	/* Bugs that need a rare moment are found sooner where such moments are frequent. */
	sim->crowded = config->bug == DAEMON_BUG_STALE_HEALTHY;
	sim->sleepy = config->bug == DAEMON_BUG_LATE_CALL || config->bug == DAEMON_BUG_NO_FENCE;
	sim->deadly = config->bug == DAEMON_BUG_FORGET_SENT;
	if (sim_one_in(sim, ALONE_ONE_IN) && !sim->sleepy)
		sim->server_count = 1;
	/* Other bugs are found sooner with fewer rejected requests. */
	sim->shares = config->bug == DAEMON_BUG_NONE ? sim_one_in(sim, SHARES_ONE_IN)
						     : config->bug == DAEMON_BUG_STALE_CLAIMS;
	code = run(sim, err);
	if (code == 0 && sim->broken[0])
		code = err_set(err, -EBADMSG, "seed %" PRIu64 ": %s", seed, sim->broken);
	sim_finish(sim);
	if (ret_result && (code == 0 || code == -EBADMSG))
		*ret_result = sim->result;
	free(sim);
	return code;
}
