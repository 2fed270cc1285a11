/*
 * One course of things in which everything stops at one point, and starts again from the file: scenario 70. A client
 * who heard nothing asks again.
 */
#include <stdio.h>

#include "base/memory.h"
#include "daemon/simulation/daemon_simulation.h"
#include "daemon/simulation/rehearsal.h"
#include "ecs/service_kind.h"

#define SEED 1
#define CLUSTER REHEARSAL_FAR_ACCOUNT "/" REHEARSAL_REGION "/default/"
#define OTHER_CLUSTER 1 /* of the same account */
#define RUNS 3          /* of a schedule */
#define WITHIN_US (600 * REHEARSAL_SECOND_US)
#define QUIET_US (60 * REHEARSAL_SECOND_US)

const char *const daemon_course_meanings[DAEMON_COURSE_COUNT] = {
#define X(name, meaning) [DAEMON_COURSE_##name] = meaning,
	DAEMON_COURSES(X)
#undef X
};

/* ---- the client ---- */

static const struct truth_environment *environment_of(struct rehearsal *rehearsal)
{
	char key[REHEARSAL_TEXT_MAX];

	return truth_environment(daemon_checker_truth(rehearsal->checker),
		rehearsal_environment_key(rehearsal, ENVIRONMENT_LOG, key));
}

/* Until there is an answer. *ret_status is 0 only if that takes too long. */
static int ask(struct rehearsal *rehearsal, const char *operation, const char *body,
	int *ret_status, struct err *err)
{
	int64_t until_us = runner_now_us(rehearsal->root) + WITHIN_US;

	*ret_status = 0;
	while (runner_now_us(rehearsal->root) < until_us) {
		_arena_ struct arena *arena = arena_new(0);
		int code;

		rehearsal_request(rehearsal, arena, ENVIRONMENT_LOG, operation, "%s", body);
		*ret_status = rehearsal->status;
		if (!rehearsal->store_stopped && rehearsal->status > 0 && rehearsal->status < 500)
			return 0;
		code = rehearsal_pass_time(rehearsal, REHEARSAL_SECOND_US, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static int demand(struct rehearsal *rehearsal, const char *operation, const char *body,
	struct err *err)
{
	int status, code = ask(rehearsal, operation, body, &status, err);

	if (code == 0 && status / 100 != 2) {
		char rule[REHEARSAL_TEXT_MAX];

		snprintf(rule, sizeof(rule), "%s is answered by %d %s", operation, status,
			rehearsal->error_type);
		rehearsal_broken(rehearsal, rule);
	}
	return code;
}

static int deploy(struct rehearsal *rehearsal, const char *token, struct err *err)
{
	char body[REHEARSAL_TEXT_MAX];

	snprintf(body, sizeof(body), "{'name':'log','environmentVersion':'%s','clientToken':'%s'}",
		environment_of(rehearsal)->latest, token);
	return demand(rehearsal, "StartDeployment", body, err);
}

static int stop(struct rehearsal *rehearsal, struct err *err)
{
	char body[REHEARSAL_TEXT_MAX];

	snprintf(body, sizeof(body), "{'name':'log','deploymentId':'%s'}",
		environment_of(rehearsal)->in_progress);
	return demand(rehearsal, "StopDeployment", body, err);
}

static int settle(struct rehearsal *rehearsal, struct err *err)
{
	return rehearsal_settle(rehearsal, WITHIN_US, DAEMON_PROPERTY_L1, "after ten minutes", err);
}

/* Until nothing is done any more. */
static int become_quiet(struct rehearsal *rehearsal, struct err *err)
{
	uint64_t actions;
	int code;

	do {
		actions = daemon_checker_actions(rehearsal->checker);
		code = rehearsal_pass_time(rehearsal, QUIET_US, err);
	} while (code == 0 && actions != daemon_checker_actions(rehearsal->checker));
	return code;
}

/* Until the rollout has come to the first instance. */
static int wait_for_start(struct rehearsal *rehearsal, struct err *err)
{
	uint64_t actions = daemon_checker_actions(rehearsal->checker);
	int64_t until_us = runner_now_us(rehearsal->root) + WITHIN_US;
	int code = 0;

	while (code == 0 && daemon_checker_actions(rehearsal->checker) == actions &&
		runner_now_us(rehearsal->root) < until_us)
		code = rehearsal_pass_time(rehearsal, REHEARSAL_SECOND_US / 10, err);
	return code;
}

/* ---- the courses ---- */

#define CREATE_AT(type, definition, configuration, more)                                           \
	"{'name':'log','environmentType':'" type "','taskDefinition':'" definition                 \
	"','instanceGroup':{'cluster':'default'},'deploymentConfiguration':{" configuration        \
	"}" more "}"
#define CREATE(type, definition, configuration) CREATE_AT(type, definition, configuration, "")
#define CREATE_FAR                                                                                 \
	CREATE_AT("Daemon", "log:1", "'minHealthyPercent':60", ",'target':'" REHEARSAL_FAR "'")
#define CREATE_DAEMON CREATE("Daemon", "log:1", "'minHealthyPercent':60")
#define CREATE_SERVICE CREATE("Service", "log:1", "'desiredCount':3,'minHealthyPercent':60")
/* Its tasks end by themselves. */
#define CREATE_CRON CREATE("Cron", "log:5", "'schedule':'rate(1 minute)'")

static int bring_up_as(struct rehearsal *rehearsal, const char *create, struct err *err)
{
	int code = demand(rehearsal, "CreateEnvironment", create, err);

	if (code == 0)
		code = deploy(rehearsal, "first", err);
	return code == 0 ? settle(rehearsal, err) : code;
}

static int bring_up(struct rehearsal *rehearsal, struct err *err)
{
	return bring_up_as(rehearsal, CREATE_DAEMON, err);
}

static int update(struct rehearsal *rehearsal, struct err *err)
{
	return demand(rehearsal, "UpdateEnvironment", "{'name':'log','taskDefinition':'log:2'}",
		err);
}

/* Rolls another version out, in the way in which the environment was made. */
static int roll_as(struct rehearsal *rehearsal, const char *create, const char *body,
	struct err *err)
{
	int code = bring_up_as(rehearsal, create, err);

	if (code == 0)
		code = demand(rehearsal, "UpdateEnvironment", body, err);
	rehearsal->counting = true;
	if (code == 0)
		code = deploy(rehearsal, "two", err);
	return code == 0 ? settle(rehearsal, err) : code;
}

static int take_starts(struct rehearsal *rehearsal, struct err *err)
{
	int code = demand(rehearsal, "CreateEnvironment", CREATE_DAEMON, err);

	rehearsal->counting = true;
	if (code == 0)
		code = deploy(rehearsal, "one", err);
	return code == 0 ? settle(rehearsal, err) : code;
}

static int take_rolls(struct rehearsal *rehearsal, struct err *err)
{
	int code = bring_up(rehearsal, err);

	if (code == 0)
		code = update(rehearsal, err);
	rehearsal->counting = true;
	if (code == 0)
		code = deploy(rehearsal, "two", err);
	return code == 0 ? settle(rehearsal, err) : code;
}

static int take_stops(struct rehearsal *rehearsal, struct err *err)
{
	int code = bring_up(rehearsal, err);

	if (code == 0)
		code = update(rehearsal, err);
	rehearsal->counting = true;
	if (code == 0)
		code = deploy(rehearsal, "two", err);
	if (code == 0)
		code = wait_for_start(rehearsal, err);
	if (code == 0)
		code = stop(rehearsal, err);
	return code == 0 ? become_quiet(rehearsal, err) : code;
}

static int take_rolls_back(struct rehearsal *rehearsal, struct err *err)
{
	int code = bring_up(rehearsal, err);

	if (code == 0)
		code = update(rehearsal, err);
	if (code == 0)
		code = deploy(rehearsal, "two", err);
	if (code == 0)
		code = settle(rehearsal, err);
	rehearsal->counting = true;
	if (code == 0)
		code = demand(rehearsal, "RollbackDeployment",
			"{'name':'log','clientToken':'three'}", err);
	return code == 0 ? settle(rehearsal, err) : code;
}

/* Refused until the manager has stopped the deployment. It may be gone when nobody heard of that. */
static int delete (struct rehearsal *rehearsal, struct err *err)
{
	int64_t until_us = runner_now_us(rehearsal->root) + WITHIN_US;
	int status, code;

	do {
		code = ask(rehearsal, "DeleteEnvironment", "{'name':'log','terminateTasks':true}",
			&status, err);
		if (code == 0)
			code = rehearsal_pass_time(rehearsal, REHEARSAL_SECOND_US, err);
	} while (code == 0 && environment_of(rehearsal)->exists &&
		 runner_now_us(rehearsal->root) < until_us);
	return code == 0 ? become_quiet(rehearsal, err) : code;
}

static int take_deleted(struct rehearsal *rehearsal, struct err *err)
{
	int status = 0, code = bring_up(rehearsal, err);

	if (code == 0)
		code = update(rehearsal, err);
	rehearsal->counting = true;
	if (code == 0)
		code = deploy(rehearsal, "two", err);
	if (code == 0)
		code = wait_for_start(rehearsal, err);
	if (code == 0)
		code = ask(rehearsal, "DeleteEnvironment", "{'name':'log','terminateTasks':true}",
			&status, err);
	if (code == 0 && status / 100 == 2)
		rehearsal_broken(rehearsal, "what is rolled out was deleted");
	if (code == 0)
		code = stop(rehearsal, err);
	return code == 0 ? delete (rehearsal, err) : code;
}

static int take_surges(struct rehearsal *rehearsal, struct err *err)
{
	return roll_as(rehearsal,
		CREATE("Daemon", "log:1",
			"'replaceThenTerminate':true,'maxOverPercent':40,'minHealthyPercent':100"),
		"{'name':'log','taskDefinition':'log:2'}", err);
}

static int take_canary(struct rehearsal *rehearsal, struct err *err)
{
	return roll_as(rehearsal,
		CREATE("Daemon", "log:1",
			"'minHealthyPercent':60,'canary':{'instances':1,'bakeSeconds':5}"),
		"{'name':'log','taskDefinition':'log:2'}", err);
}

/* Its tasks never run. */
static int take_fails(struct rehearsal *rehearsal, struct err *err)
{
	return roll_as(rehearsal,
		CREATE("Daemon", "log:1",
			"'minHealthyPercent':60,'timeoutSeconds':60,'onFailure':'rollback'"),
		"{'name':'log','taskDefinition':'log:6'}", err);
}

static int take_moves(struct rehearsal *rehearsal, struct err *err)
{
	rehearsal_add_instances(rehearsal, OTHER_CLUSTER, 3);
	return roll_as(rehearsal, CREATE_DAEMON,
		"{'name':'log','taskDefinition':'log:1','instanceGroup':{'cluster':'edge'}}", err);
}

/* ---- what happens to instances and their tasks ---- */

static int take_joined(struct rehearsal *rehearsal, struct err *err)
{
	int code = bring_up(rehearsal, err);

	if (code == 0)
		rehearsal_add_instances(rehearsal, 0, 2);
	rehearsal->counting = true;
	return code == 0 ? settle(rehearsal, err) : code;
}

static int take_repaired(struct rehearsal *rehearsal, struct err *err)
{
	int code = bring_up(rehearsal, err);

	if (code == 0 && rehearsal_kill_tasks(rehearsal) == 0)
		rehearsal_broken(rehearsal, "there is no task that could die");
	rehearsal->counting = true;
	return code == 0 ? settle(rehearsal, err) : code;
}

/* Nothing else runs there, so the daemon goes, too, and comes back with it. */
static int take_drained(struct rehearsal *rehearsal, struct err *err)
{
	int code = bring_up(rehearsal, err);
	const struct truth_instance *instance = NULL;

	if (code == 0)
		instance = rehearsal_drain_some(rehearsal);
	rehearsal->counting = true;
	if (code == 0)
		code = settle(rehearsal, err);
	while (code == 0 && instance && instance->draining) {
		rehearsal_calm_machines(rehearsal);
		code = rehearsal_pass_time(rehearsal, REHEARSAL_SECOND_US, err);
	}
	return code == 0 ? settle(rehearsal, err) : code;
}

/* ---- the courses elsewhere ---- */

static int take_far_starts(struct rehearsal *rehearsal, struct err *err)
{
	int code = demand(rehearsal, "CreateEnvironment", CREATE_FAR, err);

	rehearsal->counting = true;
	if (code == 0)
		code = deploy(rehearsal, "one", err);
	return code == 0 ? settle(rehearsal, err) : code;
}

static int take_far_rolls(struct rehearsal *rehearsal, struct err *err)
{
	int code = bring_up_as(rehearsal, CREATE_FAR, err);

	if (code == 0)
		code = update(rehearsal, err);
	rehearsal->counting = true;
	if (code == 0)
		code = deploy(rehearsal, "two", err);
	return code == 0 ? settle(rehearsal, err) : code;
}

static int take_far_deleted(struct rehearsal *rehearsal, struct err *err)
{
	int code = bring_up_as(rehearsal, CREATE_FAR, err);

	rehearsal->counting = true;
	return code == 0 ? delete (rehearsal, err) : code;
}

/* ---- the courses of services and schedules ---- */

static int take_service_starts(struct rehearsal *rehearsal, struct err *err)
{
	int code = demand(rehearsal, "CreateEnvironment", CREATE_SERVICE, err);

	rehearsal->counting = true;
	if (code == 0)
		code = deploy(rehearsal, "one", err);
	return code == 0 ? settle(rehearsal, err) : code;
}

static int take_service_rolls(struct rehearsal *rehearsal, struct err *err)
{
	int code = bring_up_as(rehearsal, CREATE_SERVICE, err);

	if (code == 0)
		code = update(rehearsal, err);
	rehearsal->counting = true;
	if (code == 0)
		code = deploy(rehearsal, "two", err);
	if (code == 0)
		code = settle(rehearsal, err);
	return code == 0 ? become_quiet(rehearsal, err) : code;
}

static int take_service_rolls_back(struct rehearsal *rehearsal, struct err *err)
{
	int code = bring_up_as(rehearsal, CREATE_SERVICE, err);

	if (code == 0)
		code = update(rehearsal, err);
	if (code == 0)
		code = deploy(rehearsal, "two", err);
	if (code == 0)
		code = settle(rehearsal, err);
	rehearsal->counting = true;
	if (code == 0)
		code = demand(rehearsal, "RollbackDeployment",
			"{'name':'log','clientToken':'three'}", err);
	if (code == 0)
		code = settle(rehearsal, err);
	return code == 0 ? become_quiet(rehearsal, err) : code;
}

static int take_service_deleted(struct rehearsal *rehearsal, struct err *err)
{
	int code = bring_up_as(rehearsal, CREATE_SERVICE, err);

	rehearsal->counting = true;
	return code == 0 ? delete (rehearsal, err) : code;
}

/* Of its runs: all, those that have ended, and the tasks that they say they started. */
static void count_runs(struct rehearsal *rehearsal, unsigned *ret_runs, unsigned *ret_ended,
	unsigned *ret_tasks)
{
	_view_ struct store_view *view = store_view_open(rehearsal->store);
	struct store_cursor cursor = {.view = view,
		.kind = &environment_run_kind,
		.index = -1,
		.prefix = span_of(environment_of(rehearsal)->key)};
	const struct store_object *object;

	*ret_runs = *ret_ended = *ret_tasks = 0;
	while ((object = store_next(&cursor))) {
		const struct environment_run_facts *run = environment_run_facts(object);

		(*ret_runs)++;
		*ret_ended += run->ended_ms > 0;
		*ret_tasks += run->started_ms > 0 ? (unsigned)run->count : 0;
	}
}

/* What is due while everything is down comes late, and once. */
static int take_cron_runs(struct rehearsal *rehearsal, struct err *err)
{
	int64_t until_us = runner_now_us(rehearsal->root) + WITHIN_US;
	unsigned runs, ended, tasks;
	int code = demand(rehearsal, "CreateEnvironment", CREATE_CRON, err);

	rehearsal->counting = true;
	if (code == 0)
		code = deploy(rehearsal, "one", err);
	do {
		if (code == 0)
			code = rehearsal_pass_time(rehearsal, REHEARSAL_SECOND_US, err);
		if (code < 0)
			return code;
		count_runs(rehearsal, &runs, &ended, &tasks);
	} while (ended < RUNS && runner_now_us(rehearsal->root) < until_us);
	code = demand(rehearsal, "UpdateEnvironment", "{'name':'log','status':'inactive'}", err);
	return code == 0 ? become_quiet(rehearsal, err) : code;
}

/* ---- the end ---- */

static unsigned count_tasks(struct rehearsal *rehearsal, const char *definition)
{
	unsigned count = 0;

	MAP_EACH (&daemon_checker_truth(rehearsal->checker)->tasks, entry) {
		const struct truth_task *task = entry->value;

		count += strcmp(strrchr(task->definition, '/') + 1, definition) == 0 &&
			 task->last == TASK_RUNNING && truth_stays(task);
	}
	return count;
}

static void describe_tasks(struct rehearsal *rehearsal, struct buffer *out)
{
	buffer_format(out, "; %u of log:1, %u of log:2", count_tasks(rehearsal, "log:1"),
		count_tasks(rehearsal, "log:2"));
}

/* How many run in each of its clusters. */
static void describe_places(struct rehearsal *rehearsal, struct buffer *out)
{
	unsigned here = 0, there = 0;

	MAP_EACH (&daemon_checker_truth(rehearsal->checker)->tasks, entry) {
		const struct truth_task *task = entry->value;

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

static void describe_service(struct rehearsal *rehearsal, struct buffer *out)
{
	_view_ struct store_view *view = store_view_open(rehearsal->store);
	struct store_cursor cursor = {
		.view = view, .kind = &service_kind, .index = -1, .prefix = SPAN(CLUSTER)};
	const struct store_object *service;

	while ((service = store_next(&cursor)))
		buffer_format(out, "; a service for %lld that is %s",
			(long long)service_facts(service)->desired,
			service_status_name(service_facts(service)->status));
	describe_tasks(rehearsal, out);
	buffer_format(out, ", %u in all", count_all_tasks(view));
}

static void describe_runs(struct rehearsal *rehearsal, struct buffer *out)
{
	_view_ struct store_view *view = store_view_open(rehearsal->store);
	unsigned runs, ended, tasks;

	count_runs(rehearsal, &runs, &ended, &tasks);
	buffer_format(out, "; %u runs, %u have ended, %u tasks of %u", runs, ended, tasks,
		count_all_tasks(view));
}

static void describe_far(struct rehearsal *rehearsal, struct buffer *out)
{
	_view_ struct store_view *view = store_view_open(rehearsal->far_store);

	describe_tasks(rehearsal, out);
	buffer_format(out, ", %u in all", count_all_tasks(view));
}

static const struct course {
	unsigned instances;
	int (*take)(struct rehearsal *rehearsal, struct err *err);
	/* What else is part of the end; NULL: nothing. */
	void (*describe)(struct rehearsal *rehearsal, struct buffer *out);
	bool far; /* the cluster is elsewhere */
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
	[DAEMON_COURSE_MOVES] = {2, take_moves, describe_places, false},
	[DAEMON_COURSE_DRAINED] = {3, take_drained, describe_tasks, false},
	[DAEMON_COURSE_FAR_STARTS] = {2, take_far_starts, describe_far, true},
	[DAEMON_COURSE_FAR_ROLLS] = {5, take_far_rolls, describe_far, true},
	[DAEMON_COURSE_FAR_DELETED] = {5, take_far_deleted, describe_far, true},
	[DAEMON_COURSE_SERVICE_STARTS] = {3, take_service_starts, describe_service, false},
	[DAEMON_COURSE_SERVICE_ROLLS] = {3, take_service_rolls, describe_service, false},
	[DAEMON_COURSE_SERVICE_ROLLS_BACK] = {3, take_service_rolls_back, describe_service, false},
	[DAEMON_COURSE_SERVICE_DELETED] = {3, take_service_deleted, describe_service, false},
	[DAEMON_COURSE_CRON_RUNS] = {2, take_cron_runs, describe_runs, false},
};

/* What somebody could see of it but ids, times, and what monitors did meanwhile. */
static void describe_end(struct rehearsal *rehearsal, const struct course *course,
	struct buffer *out)
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(rehearsal->store);
	const struct truth_environment *environment = environment_of(rehearsal);
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
		course->describe(rehearsal, out);
}

static int take_course(struct rehearsal *rehearsal, const struct course *course, struct err *err)
{
	int code = rehearsal_open_stores(rehearsal, err);

	if (code == 0)
		code = rehearsal_define_all(rehearsal, err);
	if (code < 0)
		return code;
	rehearsal_add_instances(rehearsal, 0, course->instances);
	code = rehearsal_start_machines(rehearsal, err);
	if (code < 0)
		return code;
	rehearsal_tend_servers(rehearsal);
	return course->take(rehearsal, err);
}

int daemon_simulation_crash(const struct daemon_kill *kill, unsigned *ret_points, char **ret_end,
	struct err *err)
{
	struct daemon_simulation config = {.folder = kill->folder, .trace = kill->trace};
	struct rehearsal *rehearsal = memory_allocate(sizeof(*rehearsal));
	_buffer_ struct buffer end = {0};
	int code;

	rehearsal->config = &config;
	rehearsal->stop_at = kill->point;
	rehearsal->stop_after = kill->after;
	rehearsal->far = courses[kill->course].far;
	rehearsal_set_up(rehearsal, SEED);
	rehearsal->server_count = 1;
	rehearsal->has_services = true;
	rehearsal_use_file(rehearsal, kill->folder, kill->point);
	code = take_course(rehearsal, &courses[kill->course], err);
	if (code == 0 && !rehearsal->store_stopped)
		describe_end(rehearsal, &courses[kill->course], &end);
	if (code == 0 && rehearsal->broken[0])
		code = err_set(err, -EBADMSG, "stopped %s commit %u: %s",
			kill->after ? "after" : "before", kill->point, rehearsal->broken);
	if (code == 0) {
		*ret_points = rehearsal->points;
		*ret_end = buffer_take(&end, NULL);
	}
	rehearsal_finish(rehearsal);
	free(rehearsal);
	return code;
}
