/* See the header. */
#include "sim/pipeline/pipeline_simulation.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "control/runner_simulated.h"
#include "ecs/ecs.h"
#include "pipeline/journal.h"
#include "pipeline/kinds.h"
#include "sim/pipeline/pipeline_sim.h"

#define STEP_MS 500
#define STEP_US (STEP_MS * INT64_C(1000))
#define WITHIN_US (3600 * SIM_SECOND_US)
#define QUIET_US (40 * SIM_SECOND_US)
#define TASK_DIES_EVERY_US (40 * SIM_SECOND_US)
#define SEED 1 /* of sweeps */
/* Of random runs, one in so many: */
#define BROKEN_ONE_IN 6
#define FAILS_ONE_IN 3
#define CANCELS_ONE_IN 5
#define DYING_ONE_IN 4
#define CALM_ONE_IN 5
#define CANCEL_MOST_US (90 * SIM_SECOND_US)

const char *const pipeline_bug_names[PIPELINE_BUG_COUNT] = {
#define X(name, text, meaning) [PIPELINE_BUG_##name] = text,
	PIPELINE_BUGS(X)
#undef X
};

const char *const pipeline_bug_meanings[PIPELINE_BUG_COUNT] = {
#define X(name, text, meaning) [PIPELINE_BUG_##name] = meaning,
	PIPELINE_BUGS(X)
#undef X
};

/* ---- time ---- */

static int pass_time(struct pipeline_sim *sim, int64_t duration_us, struct err *err)
{
	int code;

	pipeline_sim_tend_servers(sim);
	pipeline_sim_tend_calls(sim);
	pipeline_sim_tend_world(sim);
	code = runner_sleep_until(sim->root, runner_deadline_us(sim->root, duration_us));
	if (code < 0)
		err_set(err, code, "%s", runner_simulated_trouble(sim->root));
	return code;
}

static int wait_for_end(struct pipeline_sim *sim, enum pipeline_deployment_state *ret_state,
	struct err *err)
{
	int64_t until_us = runner_now_us(sim->root) + WITHIN_US;
	int code = 0;

	while (code == 0 && !sim->broken[0]) {
		if (pipeline_sim_has_ended(sim, ret_state))
			return 0;
		if (runner_now_us(sim->root) > until_us)
			pipeline_sim_broken(sim, "the deployment has not ended within an hour");
		code = pass_time(sim, STEP_US, err);
	}
	return code;
}

static int be_quiet(struct pipeline_sim *sim, struct err *err)
{
	int code = 0;

	for (int64_t passed_us = 0; code == 0 && passed_us < QUIET_US; passed_us += STEP_US)
		code = pass_time(sim, STEP_US, err);
	return code;
}

/* ---- the course ---- */

/* By names as many tasks serve as before, unless all traffic goes to fewer tasks. */
static int64_t floor_of(const struct pipeline_plan *plan)
{
	return plan->percent == 100 ? (plan->desired * plan->scale + 99) / 100 : plan->desired;
}

static int bring_up(struct pipeline_sim *sim, struct err *err)
{
	enum pipeline_deployment_state state = PIPELINE_DEPLOYMENT_PENDING;
	bool is_broken = sim->plan.is_broken;
	int code;

	sim->plan.is_broken = false;
	code = pipeline_sim_deploy(sim, 1, err);
	if (code >= 0)
		code = wait_for_end(sim, &state, err);
	if (code >= 0)
		code = be_quiet(sim, err);
	if (code >= 0 && !sim->broken[0] && state != PIPELINE_DEPLOYMENT_SUCCESS)
		pipeline_sim_broken(sim, "the first deployment did not succeed");
	sim->plan.is_broken = is_broken;
	return code;
}

static void begin_faults(struct pipeline_sim *sim)
{
	struct simulated_faults faults = {.task_dies_every_us = TASK_DIES_EVERY_US};

	sim->is_faulty = !sim_one_in(sim, CALM_ONE_IN);
	sim->are_tasks_dying = sim_one_in(sim, DYING_ONE_IN);
	if (sim->are_tasks_dying)
		simulated_world_set_faults(sim->machines, &faults);
}

static void count_end(struct pipeline_sim *sim, enum pipeline_deployment_state state)
{
	sim->result.succeeded += state == PIPELINE_DEPLOYMENT_SUCCESS;
	sim->result.rolled_back += state == PIPELINE_DEPLOYMENT_FAILURE;
	sim->result.cancelled += state == PIPELINE_DEPLOYMENT_CANCELLED;
}

static int cancel(struct pipeline_sim *sim, struct err *err)
{
	int64_t at_us = runner_now_us(sim->root) + (int64_t)sim_draw(sim, CANCEL_MOST_US);
	enum pipeline_deployment_state state;
	int code = 0;

	while (code == 0 && runner_now_us(sim->root) < at_us &&
		!pipeline_sim_has_ended(sim, &state))
		code = pass_time(sim, STEP_US, err);
	if (code == 0 && pipeline_sim_cancel(sim, true, err) == -EIO)
		pipeline_sim_cancel(sim, true, err);
	return code;
}

static int deploy_next(struct pipeline_sim *sim, bool cancels, struct err *err)
{
	enum pipeline_deployment_state state = PIPELINE_DEPLOYMENT_PENDING;
	struct simulated_counts counts;
	int code;

	pipeline_checker_begin(sim->checker, floor_of(&sim->plan));
	do
		code = pipeline_sim_deploy(sim, 2, err);
	while (code == -EIO);
	if (code >= 0 && cancels)
		code = cancel(sim, err);
	if (code >= 0)
		code = wait_for_end(sim, &state, err);
	sim->is_faulty = false;
	simulated_world_counts(sim->machines, &counts);
	sim->result.task_deaths = (unsigned)counts.task_deaths;
	simulated_world_calm_down(sim->machines);
	if (code < 0 || sim->broken[0])
		return code;
	count_end(sim, state);
	if (sim->plan.course.keeps_old && state == PIPELINE_DEPLOYMENT_SUCCESS)
		pipeline_checker_check_kept(sim->checker);
	if (sim->plan.course.is_undone && state == PIPELINE_DEPLOYMENT_SUCCESS) {
		do
			code = pipeline_sim_roll_back(sim, err);
		while (code == -EIO);
		if (code >= 0)
			code = wait_for_end(sim, &state, err);
		if (code < 0 || sim->broken[0])
			return code;
	}
	code = be_quiet(sim, err);
	if (code >= 0)
		pipeline_checker_check_end(sim->checker,
			state == PIPELINE_DEPLOYMENT_SUCCESS ? 2 : 1);
	return code;
}

/* ---- runs ---- */

static void set_up(struct pipeline_sim *sim, uint64_t seed, FILE *trace, bool steps)
{
	static const char *const names[SIM_SERVERS] = {"anna", "bert"};

	sim->root = runner_simulated_new(seed);
	sim->random = runner_random(sim->root);
	runner_simulated_trace_to(sim->root, trace, steps);
	sim->checker = pipeline_checker_new(sim);
	sim->server_count = 1;
	for (size_t i = 0; i < SIM_SERVERS; i++) {
		sim->servers[i].sim = sim;
		sim->servers[i].name = names[i];
	}
}

static int open_all(struct pipeline_sim *sim, struct err *err)
{
	int code = pipeline_sim_open_world(sim, err);

	if (code >= 0)
		code = pipeline_sim_open_store(sim, err);
	return code < 0 ? code : bring_up(sim, err);
}

/* -EDEADLK is a property that is broken. */
static int judge(struct pipeline_sim *sim, int code, struct err *err)
{
	if (code == -EDEADLK) {
		pipeline_sim_broken(sim, "%s", runner_simulated_trouble(sim->root));
		code = 0;
	}
	sim->result.virtual_us = runner_now_us(sim->root);
	sim->result.steps = runner_simulated_steps(sim->root);
	sim->result.hash = runner_simulated_hash(sim->root);
	return code == 0 && sim->broken[0] ? err_set(err, -EBADMSG, "%s", sim->broken) : code;
}

static void finish(struct pipeline_sim *sim)
{
	for (size_t i = 0; i < SIM_SERVERS; i++)
		pipeline_sim_take_down(sim, &sim->servers[i]);
	pipeline_sim_close_world(sim);
	runner_stop(sim->root);
	runner_join(sim->root, NULL);
	pipeline_sim_close_store(sim);
	store_close(sim->remote_store);
	pipeline_checker_free(sim->checker);
	runner_free(sim->root);
}

static void draw_plan(struct pipeline_sim *sim)
{
	static const int64_t percents[] = {5, 10, 20, 33, 50, 75}, scales[] = {25, 50, 100};
	struct pipeline_plan *plan = &sim->plan;

	*plan = (struct pipeline_plan){
		.course = {.is_canary = sim_one_in(sim, 2),
			.has_services = sim_one_in(sim, 2),
			.has_names = sim_one_in(sim, 2),
			.fails_at =
				sim_one_in(sim, FAILS_ONE_IN) ? 1 + (unsigned)sim_draw(sim, 4) : 0},
		.desired = 1 + (int64_t)sim_draw(sim, 5),
		.scale = 100,
		.percent = 100,
		.is_canary_registered_by_ecs = sim_one_in(sim, 3),
		.has_health_checks = sim_one_in(sim, 2),
		.is_broken = sim_one_in(sim, BROKEN_ONE_IN)};
	if (plan->course.is_canary) {
		plan->scale = scales[sim_draw(sim, LENGTH(scales))];
		plan->percent = percents[sim_draw(sim, LENGTH(percents))];
	}
}

int pipeline_simulation_run(uint64_t seed, const struct pipeline_simulation *simulation,
	struct pipeline_simulation_result *ret_result, struct err *err)
{
	struct pipeline_sim sim = {.bug = simulation->bug};
	bool cancels;
	int code;

	set_up(&sim, seed, simulation->trace, simulation->trace_steps);
	draw_plan(&sim);
	sim.plan.course.keeps_old = !sim.plan.course.has_services && seed % 2 == 1;
	sim.plan.course.is_undone = seed % 4 == 0;
	sim.server_count = 1 + (unsigned)sim_draw(&sim, SIM_SERVERS);
	cancels = sim_one_in(&sim, CANCELS_ONE_IN);
	code = open_all(&sim, err);
	if (code >= 0 && !sim.broken[0]) {
		begin_faults(&sim);
		code = deploy_next(&sim, cancels, err);
	}
	code = judge(&sim, code, err);
	if (code == -EBADMSG)
		err_prefix(err, code, "seed %" PRIu64, seed);
	if (ret_result && (code == 0 || code == -EBADMSG))
		*ret_result = sim.result;
	finish(&sim);
	return code;
}

/* ---- scenarios ---- */

static int scale(struct pipeline_sim *sim, const struct pipeline_scenario *scenario,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	int code = 0;

	if (scenario->scales_after_ms == 0)
		return 0;
	for (unsigned at_ms = 0; code >= 0 && at_ms < scenario->scales_after_ms; at_ms += STEP_MS)
		code = pass_time(sim, STEP_US, err);
	sim->plan.desired = scenario->scaled;
	pipeline_sim_request(sim, &ecs_service, arena, "UpdateService",
		"{'service':'" SIM_APPLICATION "','desiredCount':%lld}",
		(long long)scenario->scaled);
	return code;
}

static int deploy_again(struct pipeline_sim *sim, enum pipeline_deployment_state *state,
	struct pipeline_scenario_result *result, struct err *err)
{
	int code;

	sim->plan.stages = NULL;
	sim->plan.is_broken = false;
	pipeline_checker_begin(sim->checker, PIPELINE_INTERRUPTED);
	code = pipeline_sim_deploy(sim, 3, err);
	if (code >= 0)
		code = wait_for_end(sim, state, err);
	if (code >= 0)
		code = be_quiet(sim, err);
	if (code < 0)
		return code;
	snprintf(result->state, sizeof(result->state), "%s",
		pipeline_deployment_state_name(*state));
	pipeline_checker_check_end(sim->checker, 3);
	return 0;
}

static int make_primary_sick(struct pipeline_sim *sim, const struct pipeline_scenario *scenario,
	struct err *err)
{
	enum pipeline_deployment_state state;
	int code = 0;

	if (scenario->sick_for_ms == 0)
		return 0;
	while (code >= 0 && pipeline_checker_find_unused(sim->checker) != PIPELINE_BLUE &&
		!pipeline_sim_has_ended(sim, &state))
		code = pass_time(sim, STEP_US, err);
	sim->sick_group = PIPELINE_BLUE;
	sim->sick_since_us = runner_now_us(sim->root);
	sim->sick_until_us = sim->sick_since_us + scenario->sick_for_ms * INT64_C(1000);
	return code;
}

static int play(struct pipeline_sim *sim, const struct pipeline_scenario *scenario,
	struct pipeline_scenario_result *result, struct err *err)
{
	enum pipeline_deployment_state state = PIPELINE_DEPLOYMENT_PENDING;
	bool has_previous = !scenario->is_first;
	int code;

	if (has_previous)
		pipeline_checker_begin(sim->checker, scenario->allows_interruption
							     ? PIPELINE_INTERRUPTED
							     : floor_of(&sim->plan));
	pipeline_checker_note(sim->checker);
	code = pipeline_sim_deploy(sim, 2, err);
	if (code >= 0)
		code = scale(sim, scenario, err);
	if (code >= 0)
		code = make_primary_sick(sim, scenario, err);
	for (unsigned at_ms = 0; code >= 0 && at_ms < scenario->cancels_after_ms; at_ms += STEP_MS)
		code = pass_time(sim, STEP_US, err);
	if (code >= 0 && scenario->cancels_after_ms > 0)
		code = pipeline_sim_cancel(sim, scenario->rolls_back, err);
	if (code >= 0)
		code = wait_for_end(sim, &state, err);
	pipeline_sim_read_reason(sim, result->reason, sizeof(result->reason));
	if (code >= 0 && scenario->retries_rollback)
		code = pipeline_sim_retry(sim, err);
	if (code >= 0 && scenario->retries_rollback)
		code = wait_for_end(sim, &state, err);
	if (code >= 0)
		code = be_quiet(sim, err);
	if (code >= 0 && scenario->deploys_again)
		return deploy_again(sim, &state, result, err);
	if (code < 0)
		return code;
	snprintf(result->state, sizeof(result->state), "%s", pipeline_deployment_state_name(state));
	if (has_previous && (scenario->cancels_after_ms == 0 || scenario->rolls_back) &&
		(!scenario->refused || scenario->retries_rollback))
		pipeline_checker_check_end(sim->checker,
			state == PIPELINE_DEPLOYMENT_SUCCESS ? 2 : 1);
	return 0;
}

int pipeline_simulation_play(const struct pipeline_scenario *scenario,
	struct pipeline_scenario_result *ret_result, struct err *err)
{
	struct pipeline_sim sim = {
		.refused = scenario->refused, .refused_times = scenario->refused_times};
	struct pipeline_scenario_result result = {0};
	_buffer_ struct buffer end = {0};
	int code;

	set_up(&sim, SEED, NULL, false);
	sim.plan = (struct pipeline_plan){.course = scenario->course,
		.desired = scenario->desired,
		.scale = scenario->scale,
		.percent = scenario->percent,
		.is_canary_registered_by_ecs = scenario->is_canary_registered_by_ecs,
		.has_preview = scenario->has_preview,
		.is_broken = scenario->is_broken,
		/* Without them a broken version does not start. */
		.has_health_checks = !scenario->is_first};
	code = pipeline_sim_open_world(&sim, err);
	if (code >= 0)
		code = pipeline_sim_open_store(&sim, err);
	if (code >= 0 && !scenario->is_first)
		code = bring_up(&sim, err);
	sim.plan.stages = scenario->stages;
	if (code >= 0 && !sim.broken[0])
		code = play(&sim, scenario, &result, err);
	if (code >= 0)
		pipeline_checker_describe(sim.checker, &end);
	pipeline_checker_take_notes(sim.checker, &result.calls, &result.moments);
	code = judge(&sim, code, err);
	result.end = buffer_take(&end, NULL);
	result.most_previewed = pipeline_checker_most_previewed(sim.checker);
	finish(&sim);
	*ret_result = result;
	return code;
}

void pipeline_scenario_result_free(struct pipeline_scenario_result *result)
{
	free(result->calls);
	free(result->moments);
	free(result->end);
}

/* Whether people can read of each call that was carried out, also if the server was killed before the answer. */
static bool is_logged(const struct store_view *view, const char *wanted)
{
	struct store_cursor cursor = {.view = view, .kind = &deployment_log_kind, .index = -1};
	const struct store_object *object;

	while ((object = store_next(&cursor)))
		if (memmem(object->api.data, object->api.length, wanted, strlen(wanted)))
			return true;
	return false;
}

static void check_log(struct pipeline_sim *sim)
{
	_view_ struct store_view *view = store_view_open(sim->store);
	struct store_cursor cursor = {.view = view, .kind = &deployment_call_kind, .index = -1};
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		_arena_ struct arena *arena = arena_new(0);
		struct journal_record record;
		struct json *document;
		const char *wanted;

		if (json_parse(object->api, arena, &document, NULL) < 0 ||
			journal_read(document, &record, NULL) < 0 || record.result != JOURNAL_DONE)
			continue;
		wanted = arena_format(arena, "%.*s%s%.*s%s%.*s: ", SPAN_ARGS(record.operation),
			record.role.length > 0 ? " " : "", SPAN_ARGS(record.role),
			record.target.length > 0 ? " " : "", SPAN_ARGS(record.target))
				 .data;
		if (!is_logged(view, wanted))
			pipeline_sim_broken(sim, "no line in the log: %s", wanted);
	}
}

int pipeline_simulation_crash(const struct pipeline_kill *kill, unsigned *ret_calls, char **ret_end,
	struct err *err)
{
	struct pipeline_sim sim = {
		.bug = kill->bug, .kill_at = kill->call, .kill_after = kill->after};
	_buffer_ struct buffer end = {0};
	int code;

	set_up(&sim, SEED, kill->trace, false);
	sim.plan = (struct pipeline_plan){.course = kill->course,
		.desired = 3,
		.scale = kill->course.is_canary ? 50 : 100,
		.percent = kill->course.is_canary ? 33 : 100};
	code = open_all(&sim, err);
	sim.is_counting = true;
	if (code >= 0 && !sim.broken[0])
		code = deploy_next(&sim, false, err);
	if (code >= 0 && !sim.broken[0])
		check_log(&sim);
	if (code >= 0 && !sim.broken[0])
		pipeline_checker_describe(sim.checker, &end);
	code = judge(&sim, code, err);
	if (code == 0) {
		*ret_calls = sim.calls;
		*ret_end = buffer_take(&end, NULL);
	}
	finish(&sim);
	return code;
}
