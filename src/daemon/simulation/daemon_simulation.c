/*
 * See the header. Main is clients, operator and fate in one. Everything it does is drawn from the seed, by way of the
 * runner.
 */
#include "daemon/simulation/daemon_simulation.h"

#include <inttypes.h>

#include "base/memory.h"
#include "control/runner_simulated.h"
#include "daemon/simulation/rehearsal.h"

/* One seed in so many keeps its store in a file and restarts everything from it. */
#define FILE_ONE_IN 10
/* And one in so many has one server only, so that nobody makes good what it missed. */
#define ALONE_ONE_IN 3
#define SHARES_ONE_IN 2 /* and in one in so many two environments want the same task definitions */
#define INSTANCES_DEFAULT 8
#define HOUR_US (3600 * REHEARSAL_SECOND_US)
#define LARGE_PACE 16
#define LARGE_OFTEN 16
#define POPULATE_US (REHEARSAL_SECOND_US / 2)
#define PATIENCE_US (2 * REHEARSAL_SECOND_US)
/* One seed in so many has the clusters of an account elsewhere. What is known of them may be some seconds old, and
 * then nothing is done. */
#define FAR_ONE_IN 3
#define FAR_PATIENCE_US (16 * REHEARSAL_SECOND_US)
#define CONVERGE_WITHIN_US (1800 * REHEARSAL_SECOND_US)
/* Managers look at everything once a minute: ten times, and a hundred times behind a long run. */
#define QUIET_US (600 * REHEARSAL_SECOND_US)
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

void rehearsal_broken(void *context, const char *rule)
{
	struct rehearsal *rehearsal = context;

	runner_trace(rehearsal->root, "BROKEN: %s", rule);
	if (!rehearsal->broken[0])
		snprintf(rehearsal->broken, sizeof(rehearsal->broken), "at %.3f s: %s",
			(double)runner_now_us(rehearsal->root) / (double)REHEARSAL_SECOND_US, rule);
}

/* ---- the course of a run ---- */

int rehearsal_pass_time(struct rehearsal *rehearsal, int64_t duration_us, struct err *err)
{
	int code = runner_sleep_until(rehearsal->root,
		runner_deadline_us(rehearsal->root, duration_us));

	if (code < 0)
		return err_set(err, code, "%s", runner_simulated_trouble(rehearsal->root));
	if (rehearsal->store_stopped)
		code = rehearsal_restart(rehearsal, err);
	if (code < 0)
		return code;
	rehearsal_tend_servers(rehearsal);
	return 0;
}

static void act(struct rehearsal *rehearsal)
{
	switch (rehearsal_draw(rehearsal, 10)) {
	case 0: rehearsal_act_server(rehearsal); break;
	case 1:
	case 2:
	case 3: rehearsal_act_instance(rehearsal); break;
	case 4:
	case 5: rehearsal_act_task(rehearsal); break;
	case 6:
		rehearsal_look_at_servers(rehearsal);
		rehearsal->storm = rehearsal_one_in(rehearsal, 3);
		rehearsal_silence_events(rehearsal);
		break;
	default: rehearsal_act_client(rehearsal); break;
	}
}

/* How far a long run has come, once an hour. */
static void tell_progress(const struct rehearsal *rehearsal, int64_t began_us, int64_t *next_us)
{
	int64_t now_us = runner_now_us(rehearsal->root);

	if (!rehearsal->config->progress || now_us < *next_us)
		return;
	*next_us += HOUR_US;
	fprintf(rehearsal->config->progress,
		"hour %" PRId64 " of %u: %" PRIu64 " steps, %zu tasks, %u crashes\n",
		(now_us - began_us) / HOUR_US, rehearsal->config->hours,
		runner_simulated_steps(rehearsal->root),
		daemon_checker_truth(rehearsal->checker)->tasks.count, rehearsal->result.crashes);
	fflush(rehearsal->config->progress);
}

/* Clients that come one by one would need a day for so many environments. */
static int populate(struct rehearsal *rehearsal, struct err *err)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < rehearsal->environment_count; i++) {
		rehearsal_wish_well(rehearsal, i);
		code = rehearsal_pass_time(rehearsal, POPULATE_US, err);
	}
	rehearsal->only_good = false;
	return code;
}

static int run_faults(struct rehearsal *rehearsal, struct err *err)
{
	int64_t minutes = rehearsal->config->hours > 0 ? 60 * (int64_t)rehearsal->config->hours
						       : 2 + (int64_t)rehearsal_draw(rehearsal, 6);
	int64_t began_us = runner_now_us(rehearsal->root);
	int64_t until_us = began_us + minutes * 60 * REHEARSAL_SECOND_US;
	int64_t told_us = began_us + HOUR_US;
	/* Sometimes much happens at once, sometimes there is time for things to settle. */
	int64_t pace_us = (1 + (int64_t)rehearsal_draw(rehearsal, 8)) * REHEARSAL_SECOND_US;

	if (rehearsal->large) {
		int code = populate(rehearsal, err);

		if (code < 0)
			return code;
		pace_us *= LARGE_PACE;
	}
	rehearsal->faulty = true;
	while (runner_now_us(rehearsal->root) < until_us && !rehearsal->broken[0]) {
		int code = rehearsal_pass_time(rehearsal,
			(int64_t)rehearsal_draw(rehearsal, (uint64_t)pace_us), err);

		if (code < 0)
			return code;
		if (!rehearsal->store_stopped)
			act(rehearsal);
		tell_progress(rehearsal, began_us, &told_us);
	}
	rehearsal->faulty = false;
	if (rehearsal->store_stopped)
		return rehearsal_restart(rehearsal, err);
	return 0;
}

int rehearsal_settle(struct rehearsal *rehearsal, int64_t within_us, enum daemon_property property,
	const char *when, struct err *err)
{
	int64_t until_us = runner_now_us(rehearsal->root) + within_us;
	char wrong[REHEARSAL_TEXT_MAX];
	int code = 0;

	do {
		rehearsal_describe_unsettled(rehearsal, wrong);
		if (!wrong[0])
			return 0;
		code = rehearsal_pass_time(rehearsal, REHEARSAL_SECOND_US, err);
	} while (code == 0 && !rehearsal->broken[0] && runner_now_us(rehearsal->root) < until_us);
	if (code == 0 && !rehearsal->broken[0])
		daemon_checker_tell(rehearsal->checker, property, "%s %s", when, wrong);
	return code;
}

int rehearsal_wish_one_well(struct rehearsal *rehearsal, size_t environment, struct err *err)
{
	int64_t until_us = runner_now_us(rehearsal->root) + CONVERGE_WITHIN_US;

	while (!rehearsal_wish_well(rehearsal, environment)) {
		int code = rehearsal_pass_time(rehearsal, 5 * REHEARSAL_SECOND_US, err);

		if (code < 0 || rehearsal->broken[0])
			return code;
		if (runner_now_us(rehearsal->root) > until_us) {
			daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_L7,
				"long after the faults ended environment %s cannot be deployed: %s",
				rehearsal->environments[environment].name, rehearsal->error_type);
			return 0;
		}
	}
	return 0;
}

static int wish_well(struct rehearsal *rehearsal, struct err *err)
{
	int code = 0;

	for (size_t i = 0; code == 0 && !rehearsal->broken[0] && i < rehearsal->environment_count;
		i++)
		code = rehearsal_wish_one_well(rehearsal, i, err);
	return code;
}

/* Nobody does anything any more. */
static int stay_quiet(struct rehearsal *rehearsal, struct err *err)
{
	uint64_t actions = daemon_checker_actions(rehearsal->checker);
	int64_t until_us = runner_now_us(rehearsal->root) +
			   (rehearsal->config->hours > 0 ? LONG_QUIET_US : QUIET_US);

	while (runner_now_us(rehearsal->root) < until_us && !rehearsal->broken[0]) {
		int code = rehearsal_pass_time(rehearsal, 30 * REHEARSAL_SECOND_US, err);

		if (code < 0)
			return code;
		rehearsal_look_at_servers(rehearsal);
		rehearsal_compare_counts(rehearsal, true);
	}
	rehearsal_compare_counts(rehearsal, false);
	daemon_checker_count(rehearsal->checker, DAEMON_PROPERTY_L1);
	if (daemon_checker_actions(rehearsal->checker) != actions)
		daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_L1,
			"all was as wanted, and something was done all the same");
	return 0;
}

/* Two of them, one after another; each begins when all is as wanted, and ends so. */
static int try_some(struct rehearsal *rehearsal, struct err *err)
{
	int code = rehearsal_try_new(rehearsal, err);

	if (code < 0 || rehearsal->broken[0])
		return code;
	return rehearsal_one_in(rehearsal, 2) ? rehearsal_try_no_room(rehearsal, err)
					      : rehearsal_try_away(rehearsal, err);
}

/* What was wished for last was rolled out, whatever became of those before. */
static void check_succeeded(struct rehearsal *rehearsal)
{
	const struct truth *truth = daemon_checker_truth(rehearsal->checker);

	for (unsigned i = 0; i < truth->environment_count; i++)
		if (truth->environments[i]->exists && truth->environments[i]->has_failed)
			daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_L7,
				"a deployment of environment %s has failed, and none was completed "
				"since",
				truth->environments[i]->name);
}

static int run_calm(struct rehearsal *rehearsal, struct err *err)
{
	int code;

	runner_trace(rehearsal->root, "the faults are over");
	rehearsal_tend_servers(rehearsal);
	rehearsal_calm_machines(rehearsal);
	code = wish_well(rehearsal, err);
	if (code == 0 && !rehearsal->broken[0]) {
		code = rehearsal_settle(rehearsal, CONVERGE_WITHIN_US, DAEMON_PROPERTY_L1,
			"long after the faults ended", err);
	}
	if (code == 0 && !rehearsal->broken[0])
		check_succeeded(rehearsal);
	if (code == 0 && !rehearsal->broken[0])
		code = try_some(rehearsal, err);
	if (code == 0 && !rehearsal->broken[0])
		code = stay_quiet(rehearsal, err);
	return code;
}

int rehearsal_open_stores(struct rehearsal *rehearsal, struct err *err)
{
	struct truth *truth = daemon_checker_truth(rehearsal->checker);
	int code = 0;

	if (rehearsal->far) {
		truth->far_account = REHEARSAL_FAR_ACCOUNT;
		truth->far_target = REHEARSAL_FAR;
		code = rehearsal_open_far(rehearsal, err);
	}
	return code == 0 ? rehearsal_open_store(rehearsal, err) : code;
}

static int run(struct rehearsal *rehearsal, struct err *err)
{
	int code = rehearsal_open_stores(rehearsal, err);

	if (code == 0)
		code = rehearsal_define_all(rehearsal, err);
	for (size_t i = 0; code == 0 && i < REHEARSAL_CLUSTERS; i++)
		rehearsal_add_instances(rehearsal, i,
			(unsigned)rehearsal_draw(rehearsal, rehearsal->instances_max + 1));
	if (code == 0)
		code = rehearsal_start_machines(rehearsal, err);
	if (code == 0)
		code = run_faults(rehearsal, err);
	if (code == 0 && !rehearsal->broken[0])
		code = run_calm(rehearsal, err);
	if (code == -EDEADLK) {
		rehearsal_broken(rehearsal, runner_simulated_trouble(rehearsal->root));
		code = 0;
	}
	return code;
}

static void take_counts(struct rehearsal *rehearsal)
{
	struct daemon_simulation_result *result = &rehearsal->result;

	memcpy(result->exercised, daemon_checker_counts(rehearsal->checker),
		sizeof(result->exercised));
	result->virtual_us = runner_now_us(rehearsal->root);
	result->steps = runner_simulated_steps(rehearsal->root);
	result->hash = runner_simulated_hash(rehearsal->root);
}

void rehearsal_set_up(struct rehearsal *rehearsal, uint64_t seed)
{
	const struct daemon_simulation *config = rehearsal->config;
	struct daemon_checker_config checker = {.bug_vacuous = config->bug == DAEMON_BUG_VACUOUS,
		.patience_us = rehearsal->far ? FAR_PATIENCE_US : PATIENCE_US,
		.broken = rehearsal_broken,
		.context = rehearsal};

	rehearsal->root = runner_simulated_new(seed);
	rehearsal->random = runner_random(rehearsal->root);
	runner_simulated_trace_to(rehearsal->root, config->trace, config->trace_steps);
	rehearsal_set_up_servers(rehearsal);
	rehearsal_set_up_environments(rehearsal, config->environments);
	rehearsal->server_count = REHEARSAL_SERVERS;
	rehearsal->instances_max = config->instances > 0 ? config->instances : INSTANCES_DEFAULT;
	rehearsal->large = config->hours > 0 && rehearsal->crowd > 1;
	rehearsal->rarity = rehearsal->crowd;
	if (rehearsal->crowd > 1 && rehearsal->instances_max > INSTANCES_DEFAULT)
		rehearsal->rarity *= rehearsal->instances_max / INSTANCES_DEFAULT;
	/* Who boots reads everything: where that is much it happens every few minutes. */
	if (rehearsal->large && rehearsal->rarity > LARGE_OFTEN)
		rehearsal->rarity /= LARGE_OFTEN;
	checker.runner = rehearsal->root;
	rehearsal->checker = daemon_checker_new(&checker);
}

void rehearsal_finish(struct rehearsal *rehearsal)
{
	for (size_t i = 0; i < REHEARSAL_SERVERS; i++)
		rehearsal_take_down(rehearsal, &rehearsal->servers[i]);
	rehearsal_stop_machines(rehearsal);
	take_counts(rehearsal);
	runner_stop(rehearsal->root);
	runner_join(rehearsal->root, NULL);
	if (rehearsal->store)
		rehearsal_close_store(rehearsal);
	if (rehearsal->far_store)
		rehearsal_close_far(rehearsal);
	daemon_checker_free(rehearsal->checker);
	runner_free(rehearsal->root);
	rehearsal_remove_files(rehearsal);
	free(rehearsal->path);
	free(rehearsal->key_path);
	free(rehearsal->environments);
	rehearsal_forget_answers(rehearsal);
	for (size_t i = 0; i < REHEARSAL_STALE; i++)
		free(rehearsal->stale[i].text);
	MAP_EACH (&rehearsal->orphans, entry)
		free(entry->value);
	map_clear(&rehearsal->orphans);
}

int daemon_simulation_run(uint64_t seed, const struct daemon_simulation *config,
	struct daemon_simulation_result *ret_result, struct err *err)
{
	struct rehearsal *rehearsal = memory_allocate(sizeof(*rehearsal));
	int code;

	rehearsal->config = config;
	rehearsal->far = config->bug >= DAEMON_BUG_FAR || seed % FAR_ONE_IN == 0;
	rehearsal_set_up(rehearsal, seed);
	if ((rehearsal_one_in(rehearsal, FILE_ONE_IN) || config->bug == DAEMON_BUG_EARLY_ACK) &&
		config->folder)
		rehearsal_use_file(rehearsal, config->folder, seed);
	/* What needs a rare moment is found sooner where such moments are frequent. */
	rehearsal->crowded = config->bug == DAEMON_BUG_STALE_HEALTHY;
	rehearsal->sleepy =
		config->bug == DAEMON_BUG_LATE_CALL || config->bug == DAEMON_BUG_NO_FENCE;
	rehearsal->deadly = config->bug == DAEMON_BUG_FORGET_SENT;
	if (rehearsal_one_in(rehearsal, ALONE_ONE_IN) && !rehearsal->sleepy)
		rehearsal->server_count = 1;
	/* Other bugs are found sooner by who is not refused so often. */
	rehearsal->shares = config->bug == DAEMON_BUG_NONE
				    ? rehearsal_one_in(rehearsal, SHARES_ONE_IN)
				    : config->bug == DAEMON_BUG_STALE_CLAIMS;
	code = run(rehearsal, err);
	if (code == 0 && rehearsal->broken[0])
		code = err_set(err, -EBADMSG, "seed %" PRIu64 ": %s", seed, rehearsal->broken);
	rehearsal_finish(rehearsal);
	if (ret_result && (code == 0 || code == -EBADMSG))
		*ret_result = rehearsal->result;
	free(rehearsal);
	return code;
}
