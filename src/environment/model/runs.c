/* See the header. */
#include "environment/model/runs.h"

/* ---- finding ---- */

const struct store_object *cron_open_run(const struct store_view *view, struct span environment)
{
	struct store_cursor cursor = {.view = view,
		.kind = &environment_run_kind,
		.index = ENVIRONMENT_RUN_OPEN,
		.prefix = environment,
		.exact = true};

	return store_next(&cursor);
}

static struct span prefix_of(struct arena *arena, struct span environment)
{
	return arena_format(arena, "%.*s/", SPAN_ARGS(environment));
}

const struct store_object *cron_last_run(const struct store_view *view, struct arena *arena,
	struct span environment)
{
	struct store_cursor cursor = {.view = view,
		.kind = &environment_run_kind,
		.index = -1,
		.prefix = prefix_of(arena, environment),
		.descending = true};

	return store_next(&cursor);
}

int64_t cron_cursor(const struct store_view *view, struct arena *arena,
	const struct store_object *environment)
{
	const struct store_object *last = cron_last_run(view, arena, environment->key);
	int64_t active_ms = environment_facts(environment)->active_ms, done_ms = 0;

	if (last && environment_run_facts(last)->status == ENVIRONMENT_RUN_missed)
		done_ms = environment_run_facts(last)->last_ms;
	else if (last)
		done_ms = environment_run_facts(last)->due_ms;
	return done_ms > active_ms ? done_ms : active_ms;
}

int cron_schedule(const struct json *version, struct schedule *ret_schedule, struct err *err)
{
	struct span text = json_text(json_path(version, "deploymentConfiguration.schedule"));

	if (!text.data)
		return err_set(err, -EINVAL, "the version has no schedule");
	return schedule_parse(text, ret_schedule, err);
}

/* ---- adding ---- */

static int drop_oldest(struct store_transaction *transaction, struct span environment,
	struct err *err)
{
	struct span prefix = prefix_of(store_transaction_arena(transaction), environment);
	struct store_cursor cursor = {.view = store_head(transaction),
		.kind = &environment_run_kind,
		.index = -1,
		.prefix = prefix};
	const struct store_object *run;

	if (store_count(cursor.view, cursor.kind, cursor.index, prefix, false) < CRON_RUNS_KEPT)
		return 0;
	while ((run = store_next(&cursor))) {
		if (environment_run_facts(run)->status > ENVIRONMENT_RUN_started)
			return store_delete(transaction, run->kind, run->key, run->revision, err);
	}
	return 0;
}

int cron_add_run(struct store_transaction *transaction, struct span environment, struct span api,
	const struct environment_run_facts *run, struct err *err)
{
	int code = drop_oldest(transaction, environment, err);

	if (code < 0)
		return code;
	return environment_put(transaction, &environment_run_kind,
		environment_run_key(store_transaction_arena(transaction), environment, run->due_ms),
		api, run, STORE_ABSENT, err);
}

/* ---- showing ---- */

static void set_moment(struct arena *arena, struct json *object, const char *name, int64_t at_ms)
{
	if (at_ms > 0)
		json_set_time(arena, object, name, at_ms);
}

static struct json *run_document(struct arena *arena, const struct store_object *run)
{
	const struct environment_run_facts *facts = environment_run_facts(run);
	struct json *created = json_new_object(arena), *tasks = json_new_array(arena), *kept;
	struct span rest = facts->tasks, task;

	json_set_time(arena, created, "dueAt", facts->due_ms);
	json_set_string(arena, created, "status",
		span_of(environment_run_status_name(facts->status)));
	if (facts->status == ENVIRONMENT_RUN_missed) {
		json_set_integer(arena, created, "count", facts->count);
		json_set_time(arena, created, "lastDueAt", facts->last_ms);
	}
	set_moment(arena, created, "startedAt", facts->started_ms);
	set_moment(arena, created, "endedAt", facts->ended_ms);
	while (rest.length > 0) {
		if (!span_split(rest, ' ', &task, &rest)) {
			task = rest;
			rest = SPAN("");
		}
		json_append(arena, tasks, json_new_string(arena, task));
	}
	if (json_count(tasks) > 0)
		json_set(arena, created, "tasks", tasks);
	if (facts->version.length > 0)
		json_set_string(arena, created, "environmentVersion", facts->version);
	if (run->api.length > 0 && json_parse(run->api, arena, &kept, NULL) == 0) {
		json_set(arena, created, "reason", json_get(kept, "reason"));
		json_set(arena, created, "exitCode", json_get(kept, "exitCode"));
	}
	return created;
}

static void set_next(struct aws_request *request, const struct store_object *environment,
	struct json *state)
{
	const struct environment_facts *facts = environment_facts(environment);
	const struct store_object *version = store_get(request->view, &environment_version_kind,
		environment_child_key(request->arena, environment->key, facts->target));
	struct schedule schedule;
	struct json *document;
	int64_t cursor, next;

	if (facts->status != ENVIRONMENT_active || !version ||
		json_parse(version->api, request->arena, &document, NULL) < 0 ||
		cron_schedule(document, &schedule, NULL) < 0)
		return;
	cursor = cron_cursor(request->view, request->arena, environment);
	next = schedule_next(&schedule, cursor, facts->active_ms);
	set_moment(request->arena, state, "nextRunAt", next);
}

/* Those that were missed, among those that are kept. */
static void report_missed(struct arena *arena, const struct store_object *run, int64_t *missed,
	struct json *state)
{
	const struct environment_run_facts *facts = environment_run_facts(run);
	struct json *kept;

	if (facts->status != ENVIRONMENT_RUN_missed)
		return;
	if (*missed == 0) {
		json_set_time(arena, state, "lastMissedAt", facts->last_ms);
		if (run->api.length > 0 && json_parse(run->api, arena, &kept, NULL) == 0)
			json_set(arena, state, "lastMissedReason", json_get(kept, "reason"));
	}
	*missed += facts->count;
}

void cron_show(struct aws_request *request, const struct store_object *environment,
	struct json *document)
{
	struct arena *arena = request->arena;
	struct store_cursor cursor = {.view = request->view,
		.kind = &environment_run_kind,
		.index = -1,
		.prefix = prefix_of(arena, environment->key),
		.descending = true};
	struct json *state = json_new_object(arena), *runs = json_new_array(arena);
	const struct store_object *run;
	bool found = false;
	int64_t missed = 0;

	set_next(request, environment, state);
	while ((run = store_next(&cursor))) {
		const struct environment_run_facts *facts = environment_run_facts(run);
		struct json *shown = run_document(arena, run);

		if (json_count(runs) < CRON_RUNS_SHOWN)
			json_append(arena, runs, shown);
		if (!found && facts->started_ms > 0) {
			found = true;
			json_set_time(arena, state, "lastRunAt", facts->started_ms);
			json_set(arena, state, "lastTask", json_item(json_get(shown, "tasks"), 0));
		}
		report_missed(arena, run, &missed, state);
	}
	json_set_integer(arena, state, "missedRuns", missed);
	json_set(arena, state, "runs", runs);
	json_set(arena, document, "scheduleState", state);
}
