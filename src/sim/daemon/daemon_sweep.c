/*
 * One scenario in which everything stops at one point, and restarts from the file: scenario 70. A client
 * without an answer repeats its request.
 */
#include <stdio.h>

#include "base/memory.h"
#include "ecs/record/service_kind.h"
#include "sim/daemon/daemon_simulation.h"
#include "sim/daemon/sim_world.h"

#define SEED 1
#define CLUSTER SIM_REMOTE_ACCOUNT "/" SIM_REGION "/default/"
#define OTHER_CLUSTER 1 /* of the same account */
#define RUNS 3          /* of a schedule */
#define WITHIN_US (600 * SIM_SECOND_US)
#define QUIET_US (60 * SIM_SECOND_US)

const char *const daemon_course_meanings[DAEMON_COURSE_COUNT] = {
#define X(name, meaning) [DAEMON_COURSE_##name] = meaning,
	DAEMON_COURSES(X)
#undef X
};

/* ---- the client ---- */

static const struct actual_environment *environment_of(struct sim *sim)
{
	char key[SIM_TEXT_MAX];

	return actual_environment(daemon_checker_actual(sim->checker),
		sim_environment_key(sim, ENVIRONMENT_LOG, key));
}

/* Until there is an answer. *ret_status is 0 only if that takes too long. */
static int ask(struct sim *sim, const char *operation, const char *body, int *ret_status,
	struct err *err)
{
	int64_t until_us = runner_now_us(sim->root) + WITHIN_US;

	*ret_status = 0;
	while (runner_now_us(sim->root) < until_us) {
		_arena_ struct arena *arena = arena_new(0);
		int code;

		sim_request(sim, arena, ENVIRONMENT_LOG, operation, "%s", body);
		*ret_status = sim->status;
		if (!sim->store_stopped && sim->status > 0 && sim->status < 500)
			return 0;
		code = sim_pass_time(sim, SIM_SECOND_US, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static int demand(struct sim *sim, const char *operation, const char *body, struct err *err)
{
	int status, code = ask(sim, operation, body, &status, err);

	if (code == 0 && status / 100 != 2) {
		char rule[SIM_TEXT_MAX];

		snprintf(rule, sizeof(rule), "%s is answered by %d %s", operation, status,
			sim->error_type);
		sim_broken(sim, rule);
	}
	return code;
}

static int deploy(struct sim *sim, const char *token, struct err *err)
{
	char body[SIM_TEXT_MAX];

	snprintf(body, sizeof(body), "{'name':'log','environmentVersion':'%s','clientToken':'%s'}",
		environment_of(sim)->latest, token);
	return demand(sim, "StartDeployment", body, err);
}

static int stop(struct sim *sim, struct err *err)
{
	char body[SIM_TEXT_MAX];

	snprintf(body, sizeof(body), "{'name':'log','deploymentId':'%s'}",
		environment_of(sim)->in_progress);
	return demand(sim, "StopDeployment", body, err);
}

static int settle(struct sim *sim, struct err *err)
{
	return sim_settle(sim, WITHIN_US, DAEMON_PROPERTY_L1, "after ten minutes", err);
}

/* Until nothing is done any more: a server that has just started still has all of it to do. */
static int become_quiet(struct sim *sim, struct err *err)
{
	uint64_t actions;
	unsigned boots;
	int code;

	do {
		actions = daemon_checker_actions(sim->checker);
		boots = sim->servers[0].boots;
		code = sim_pass_time(sim, QUIET_US, err);
	} while (code == 0 && (actions != daemon_checker_actions(sim->checker) ||
				      boots != sim->servers[0].boots));
	return code;
}

/* Until the rollout has come to the first instance. */
static int wait_for_start(struct sim *sim, struct err *err)
{
	uint64_t actions = daemon_checker_actions(sim->checker);
	int64_t until_us = runner_now_us(sim->root) + WITHIN_US;
	int code = 0;

	while (code == 0 && daemon_checker_actions(sim->checker) == actions &&
		runner_now_us(sim->root) < until_us)
		code = sim_pass_time(sim, SIM_SECOND_US / 10, err);
	return code;
}

/* ---- the courses ---- */

#define CREATE_AT(type, definition, configuration, more)                                           \
	"{'name':'log','environmentType':'" type "','taskDefinition':'" definition                 \
	"','instanceGroup':{'cluster':'default'},'deploymentConfiguration':{" configuration        \
	"}" more "}"
#define CREATE(type, definition, configuration) CREATE_AT(type, definition, configuration, "")
#define CREATE_REMOTE                                                                              \
	CREATE_AT("Daemon", "log:1", "'minHealthyPercent':60", ",'target':'" SIM_REMOTE "'")
#define CREATE_DAEMON CREATE("Daemon", "log:1", "'minHealthyPercent':60")
#define CREATE_SERVICE CREATE("Service", "log:1", "'desiredCount':3,'minHealthyPercent':60")
/* Its tasks end by themselves. */
#define CREATE_CRON CREATE("Cron", "log:5", "'schedule':'rate(1 minute)'")

static int bring_up_as(struct sim *sim, const char *create, struct err *err)
{
	int code = demand(sim, "CreateEnvironment", create, err);

	if (code == 0)
		code = deploy(sim, "first", err);
	return code == 0 ? settle(sim, err) : code;
}

static int bring_up(struct sim *sim, struct err *err)
{
	return bring_up_as(sim, CREATE_DAEMON, err);
}

static int update(struct sim *sim, struct err *err)
{
	return demand(sim, "UpdateEnvironment", "{'name':'log','taskDefinition':'log:2'}", err);
}

/* Rolls another version out, in the way in which the environment was made. */
static int roll_as(struct sim *sim, const char *create, const char *body, struct err *err)
{
	int code = bring_up_as(sim, create, err);

	if (code == 0)
		code = demand(sim, "UpdateEnvironment", body, err);
	sim->counting = true;
	if (code == 0)
		code = deploy(sim, "two", err);
	return code == 0 ? settle(sim, err) : code;
}

static int take_starts(struct sim *sim, struct err *err)
{
	int code = demand(sim, "CreateEnvironment", CREATE_DAEMON, err);

	sim->counting = true;
	if (code == 0)
		code = deploy(sim, "one", err);
	return code == 0 ? settle(sim, err) : code;
}

static int take_rolls(struct sim *sim, struct err *err)
{
	int code = bring_up(sim, err);

	if (code == 0)
		code = update(sim, err);
	sim->counting = true;
	if (code == 0)
		code = deploy(sim, "two", err);
	return code == 0 ? settle(sim, err) : code;
}

static int take_stops(struct sim *sim, struct err *err)
{
	int code = bring_up(sim, err);

	if (code == 0)
		code = update(sim, err);
	sim->counting = true;
	if (code == 0)
		code = deploy(sim, "two", err);
	if (code == 0)
		code = wait_for_start(sim, err);
	if (code == 0)
		code = stop(sim, err);
	return code == 0 ? become_quiet(sim, err) : code;
}

static int take_rolls_back(struct sim *sim, struct err *err)
{
	int code = bring_up(sim, err);

	if (code == 0)
		code = update(sim, err);
	if (code == 0)
		code = deploy(sim, "two", err);
	if (code == 0)
		code = settle(sim, err);
	sim->counting = true;
	if (code == 0)
		code = demand(sim, "RollbackDeployment", "{'name':'log','clientToken':'three'}",
			err);
	return code == 0 ? settle(sim, err) : code;
}

/* Rejected until the manager has stopped the deployment. It may be gone without an answer. */
static int delete (struct sim *sim, struct err *err)
{
	int64_t until_us = runner_now_us(sim->root) + WITHIN_US;
	int status, code;

	do {
		code = ask(sim, "DeleteEnvironment", "{'name':'log','terminateTasks':true}",
			&status, err);
		if (code == 0)
			code = sim_pass_time(sim, SIM_SECOND_US, err);
	} while (code == 0 && environment_of(sim)->exists && runner_now_us(sim->root) < until_us);
	return code == 0 ? become_quiet(sim, err) : code;
}

static int take_deleted(struct sim *sim, struct err *err)
{
	int status = 0, code = bring_up(sim, err);

	if (code == 0)
		code = update(sim, err);
	sim->counting = true;
	if (code == 0)
		code = deploy(sim, "two", err);
	if (code == 0)
		code = wait_for_start(sim, err);
	if (code == 0)
		code = ask(sim, "DeleteEnvironment", "{'name':'log','terminateTasks':true}",
			&status, err);
	if (code == 0 && status / 100 == 2)
		sim_broken(sim, "what is rolled out was deleted");
	if (code == 0)
		code = stop(sim, err);
	return code == 0 ? delete (sim, err) : code;
}

static int take_surges(struct sim *sim, struct err *err)
{
	return roll_as(sim,
		CREATE("Daemon", "log:1",
			"'replaceThenTerminate':true,'maxOverPercent':40,'minHealthyPercent':100"),
		"{'name':'log','taskDefinition':'log:2'}", err);
}

static int take_canary(struct sim *sim, struct err *err)
{
	return roll_as(sim,
		CREATE("Daemon", "log:1",
			"'minHealthyPercent':60,'canary':{'instances':1,'bakeSeconds':5}"),
		"{'name':'log','taskDefinition':'log:2'}", err);
}

/* Its tasks never run. */
static int take_fails(struct sim *sim, struct err *err)
{
	return roll_as(sim,
		CREATE("Daemon", "log:1",
			"'minHealthyPercent':60,'timeoutSeconds':60,'onFailure':'rollback'"),
		"{'name':'log','taskDefinition':'log:6'}", err);
}

static int take_moves(struct sim *sim, struct err *err)
{
	sim_add_instances(sim, OTHER_CLUSTER, 3);
	return roll_as(sim, CREATE_DAEMON,
		"{'name':'log','taskDefinition':'log:1','instanceGroup':{'cluster':'edge'}}", err);
}

/* ---- events of instances and their tasks ---- */

static int take_joined(struct sim *sim, struct err *err)
{
	int code = bring_up(sim, err);

	if (code == 0)
		sim_add_instances(sim, 0, 2);
	sim->counting = true;
	return code == 0 ? settle(sim, err) : code;
}

static int take_repaired(struct sim *sim, struct err *err)
{
	int code = bring_up(sim, err);

	if (code == 0 && sim_kill_tasks(sim) == 0)
		sim_broken(sim, "there is no task that could die");
	sim->counting = true;
	return code == 0 ? settle(sim, err) : code;
}

/* Nothing else runs there, so the daemon goes, too, and comes back with it. */
static int take_drained(struct sim *sim, struct err *err)
{
	int code = bring_up(sim, err);
	const struct actual_instance *instance = NULL;

	if (code == 0)
		instance = sim_drain_some(sim);
	sim->counting = true;
	if (code == 0)
		code = settle(sim, err);
	while (code == 0 && instance && instance->draining) {
		sim_calm_machines(sim);
		code = sim_pass_time(sim, SIM_SECOND_US, err);
	}
	return code == 0 ? settle(sim, err) : code;
}

/* ---- remote scenarios ---- */

static int take_remote_starts(struct sim *sim, struct err *err)
{
	int code = demand(sim, "CreateEnvironment", CREATE_REMOTE, err);

	sim->counting = true;
	if (code == 0)
		code = deploy(sim, "one", err);
	return code == 0 ? settle(sim, err) : code;
}

static int take_remote_rolls(struct sim *sim, struct err *err)
{
	int code = bring_up_as(sim, CREATE_REMOTE, err);

	if (code == 0)
		code = update(sim, err);
	sim->counting = true;
	if (code == 0)
		code = deploy(sim, "two", err);
	return code == 0 ? settle(sim, err) : code;
}

static int take_remote_deleted(struct sim *sim, struct err *err)
{
	int code = bring_up_as(sim, CREATE_REMOTE, err);

	sim->counting = true;
	return code == 0 ? delete (sim, err) : code;
}

/* ---- the courses of services and schedules ---- */

static int take_service_starts(struct sim *sim, struct err *err)
{
	int code = demand(sim, "CreateEnvironment", CREATE_SERVICE, err);

	sim->counting = true;
	if (code == 0)
		code = deploy(sim, "one", err);
	return code == 0 ? settle(sim, err) : code;
}

static int take_service_rolls(struct sim *sim, struct err *err)
{
	int code = bring_up_as(sim, CREATE_SERVICE, err);

	if (code == 0)
		code = update(sim, err);
	sim->counting = true;
	if (code == 0)
		code = deploy(sim, "two", err);
	if (code == 0)
		code = settle(sim, err);
	return code == 0 ? become_quiet(sim, err) : code;
}

static int take_service_rolls_back(struct sim *sim, struct err *err)
{
	int code = bring_up_as(sim, CREATE_SERVICE, err);

	if (code == 0)
		code = update(sim, err);
	if (code == 0)
		code = deploy(sim, "two", err);
	if (code == 0)
		code = settle(sim, err);
	sim->counting = true;
	if (code == 0)
		code = demand(sim, "RollbackDeployment", "{'name':'log','clientToken':'three'}",
			err);
	if (code == 0)
		code = settle(sim, err);
	return code == 0 ? become_quiet(sim, err) : code;
}

static int take_service_deleted(struct sim *sim, struct err *err)
{
	int code = bring_up_as(sim, CREATE_SERVICE, err);

	sim->counting = true;
	return code == 0 ? delete (sim, err) : code;
}

/* Of its runs: all, those that have ended, and the tasks that they say they started. */
static void count_runs(struct sim *sim, unsigned *ret_runs, unsigned *ret_ended,
	unsigned *ret_tasks)
{
	_view_ struct store_view *view = store_view_open(sim->store);
	struct store_cursor cursor = {.view = view,
		.kind = &environment_run_kind,
		.index = -1,
		.prefix = span_of(environment_of(sim)->key)};
	const struct store_object *object;

	*ret_runs = *ret_ended = *ret_tasks = 0;
	while ((object = store_next(&cursor))) {
		const struct environment_run_facts *run = environment_run_facts(object);

		(*ret_runs)++;
		*ret_ended += run->ended_ms > 0;
		*ret_tasks += run->started_ms > 0 ? (unsigned)run->count : 0;
	}
}

/* A run that is due while everything is down starts late, and once. */
static int take_cron_runs(struct sim *sim, struct err *err)
{
	int64_t until_us = runner_now_us(sim->root) + WITHIN_US;
	unsigned runs, ended, tasks;
	int code = demand(sim, "CreateEnvironment", CREATE_CRON, err);

	sim->counting = true;
	if (code == 0)
		code = deploy(sim, "one", err);
	do {
		if (code == 0)
			code = sim_pass_time(sim, SIM_SECOND_US, err);
		if (code < 0)
			return code;
		count_runs(sim, &runs, &ended, &tasks);
	} while (ended < RUNS && runner_now_us(sim->root) < until_us);
	code = demand(sim, "UpdateEnvironment", "{'name':'log','status':'inactive'}", err);
	return code == 0 ? become_quiet(sim, err) : code;
}

/* ---- the end ---- */

static unsigned count_tasks(struct sim *sim, const char *definition)
{
	unsigned count = 0;

	MAP_EACH (&daemon_checker_actual(sim->checker)->tasks, entry) {
		const struct actual_task *task = entry->value;

		count += strcmp(strrchr(task->definition, '/') + 1, definition) == 0 &&
			 task->last == TASK_RUNNING && actual_stays(task);
	}
	return count;
}

static void describe_tasks(struct sim *sim, struct buffer *out)
{
	buffer_format(out, "; %u of log:1, %u of log:2", count_tasks(sim, "log:1"),
		count_tasks(sim, "log:2"));
}

/* How many run in each of its clusters. */
static void describe_cluster_refs(struct sim *sim, struct buffer *out)
{
	unsigned here = 0, there = 0;

	MAP_EACH (&daemon_checker_actual(sim->checker)->tasks, entry) {
		const struct actual_task *task = entry->value;

		here += strstr(task->instance->key, "/default/") != NULL;
		there += strstr(task->instance->key, "/edge/") != NULL;
	}
	buffer_format(out, "; %u tasks in default, %u in edge", here, there);
}

/* Those that have stopped, too: none was started twice. */
static unsigned count_all_tasks(const struct store_view *view)
{
	return (unsigned)store_count(view, &task_kind, -1, SPAN(CLUSTER), false);
}

static void describe_service(struct sim *sim, struct buffer *out)
{
	_view_ struct store_view *view = store_view_open(sim->store);
	struct store_cursor cursor = {
		.view = view, .kind = &service_kind, .index = -1, .prefix = SPAN(CLUSTER)};
	const struct store_object *service;

	while ((service = store_next(&cursor)))
		buffer_format(out, "; a service for %lld that is %s",
			(long long)service_facts(service)->desired,
			service_status_name(service_facts(service)->status));
	describe_tasks(sim, out);
	buffer_format(out, ", %u in all", count_all_tasks(view));
}

static void describe_runs(struct sim *sim, struct buffer *out)
{
	_view_ struct store_view *view = store_view_open(sim->store);
	unsigned runs, ended, tasks;

	count_runs(sim, &runs, &ended, &tasks);
	buffer_format(out, "; %u runs, %u have ended, %u tasks of %u", runs, ended, tasks,
		count_all_tasks(view));
}

static void describe_remote(struct sim *sim, struct buffer *out)
{
	_view_ struct store_view *view = store_view_open(sim->remote_store);

	describe_tasks(sim, out);
	buffer_format(out, ", %u in all", count_all_tasks(view));
}

static const struct course {
	unsigned instances;
	int (*take)(struct sim *sim, struct err *err);
	/* Further parts of the end; NULL: none. */
	void (*describe)(struct sim *sim, struct buffer *out);
	bool remote; /* the cluster is remote */
} courses[DAEMON_COURSE_COUNT] = {
	[DAEMON_COURSE_STARTS] = {2, take_starts, describe_tasks, false},
	[DAEMON_COURSE_ROLLS] = {5, take_rolls, describe_tasks, false},
	[DAEMON_COURSE_STOPS] = {5, take_stops, NULL, false},
	[DAEMON_COURSE_ROLLS_BACK] = {5, take_rolls_back, describe_tasks, false},
	[DAEMON_COURSE_DELETED] = {5, take_deleted, describe_tasks, false},
	[DAEMON_COURSE_JOINED] = {2, take_joined, describe_tasks, false},
	[DAEMON_COURSE_REPAIRED] = {3, take_repaired, describe_tasks, false},
	[DAEMON_COURSE_SURGES] = {5, take_surges, describe_tasks, false},
	[DAEMON_COURSE_CANARY] = {5, take_canary, describe_tasks, false},
	[DAEMON_COURSE_FAILS] = {5, take_fails, describe_tasks, false},
	[DAEMON_COURSE_MOVES] = {2, take_moves, describe_cluster_refs, false},
	[DAEMON_COURSE_DRAINED] = {3, take_drained, describe_tasks, false},
	[DAEMON_COURSE_REMOTE_STARTS] = {2, take_remote_starts, describe_remote, true},
	[DAEMON_COURSE_REMOTE_ROLLS] = {5, take_remote_rolls, describe_remote, true},
	[DAEMON_COURSE_REMOTE_DELETED] = {5, take_remote_deleted, describe_remote, true},
	[DAEMON_COURSE_SERVICE_STARTS] = {3, take_service_starts, describe_service, false},
	[DAEMON_COURSE_SERVICE_ROLLS] = {3, take_service_rolls, describe_service, false},
	[DAEMON_COURSE_SERVICE_ROLLS_BACK] = {3, take_service_rolls_back, describe_service, false},
	[DAEMON_COURSE_SERVICE_DELETED] = {3, take_service_deleted, describe_service, false},
	[DAEMON_COURSE_CRON_RUNS] = {2, take_cron_runs, describe_runs, false},
};

/* The visible end, without ids, times, and what monitors did meanwhile. */
static void describe_end(struct sim *sim, const struct course *course, struct buffer *out)
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(sim->store);
	const struct actual_environment *environment = environment_of(sim);
	struct store_cursor cursor = {.view = view,
		.kind = &environment_deployment_kind,
		.index = ENVIRONMENT_DEPLOYMENT_BY_NUMBER,
		.prefix = arena_format(arena, "%s/", environment->key)};
	const struct store_object *object;

	buffer_add_string(out,
		environment->exists ? environment_status_name(environment->status) : "gone");
	while ((object = store_next(&cursor))) {
		const struct environment_deployment_facts *facts =
			environment_deployment_facts(object);

		if (facts->type == ENVIRONMENT_DEPLOYMENT_TYPE_user)
			buffer_format(out, ", %s",
				environment_deployment_status_name(facts->status));
	}
	if (course->describe)
		course->describe(sim, out);
}

static int take_course(struct sim *sim, const struct course *course, struct err *err)
{
	int code = sim_open_stores(sim, err);

	if (code == 0)
		code = sim_define_all(sim, err);
	if (code < 0)
		return code;
	sim_add_instances(sim, 0, course->instances);
	code = sim_start_machines(sim, err);
	if (code < 0)
		return code;
	sim_tend_servers(sim);
	return course->take(sim, err);
}

int daemon_simulation_crash(const struct daemon_kill *kill, unsigned *ret_points, char **ret_end,
	struct err *err)
{
	struct daemon_simulation config = {.folder = kill->folder, .trace = kill->trace};
	struct sim *sim = memory_allocate(sizeof(*sim));
	_buffer_ struct buffer end = {0};
	int code;

	sim->config = &config;
	sim->stop_at = kill->point;
	sim->stop_after = kill->after;
	sim->remote = courses[kill->course].remote;
	sim_set_up(sim, SEED);
	sim->server_count = 1;
	sim->has_services = true;
	sim_use_file(sim, kill->folder, kill->point);
	code = take_course(sim, &courses[kill->course], err);
	if (code == 0 && !sim->store_stopped)
		describe_end(sim, &courses[kill->course], &end);
	if (code == 0 && sim->broken[0])
		code = err_set(err, -EBADMSG, "stopped %s commit %u: %s",
			kill->after ? "after" : "before", kill->point, sim->broken);
	if (code == 0) {
		*ret_points = sim->points;
		*ret_end = buffer_take(&end, NULL);
	}
	sim_finish(sim);
	free(sim);
	return code;
}
