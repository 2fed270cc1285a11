/* Makes a runtime run what tasks want, and writes what it says; see the header. */
#include "ecs/task_controller.h"

#include <stdio.h>

#include "base/map.h"
#include "base/memory.h"
#include "control/lock.h"
#include "control/write.h"
#include "ecs/container_instance.h"
#include "ecs/task_definition.h"
#include "ecs/task_observe.h"
#include "ecs/task_spec.h"

/* Keys of work that are no task's: those begin with an account's digits. */
#define KEY_EVERYTHING "*" /* compare all that the runtime knows with the store */
#define KEY_TOKEN ':'      /* ":TOKEN": a token that no task has */

#define BACKOFF_MOST_US INT64_C(5000000)
#define RETRIES_PER_SECOND 100
#define PENDING_LOOK_MS 200 /* a task that is starting for so long is shown as that */

struct task_controller {
	struct task_controller_config config;
	struct runtime *runtime;
	struct runner_event *left; /* signalled when nobody is in `changed` any more */
	struct lock lock;
	/* Guarded by the lock: */
	struct controller *controller; /* NULL: does not run */
	unsigned inside;               /* calls of `changed` that use the controller */
	struct map ended; /* tokens that the runtime keeps for their logs, oldest first */
};

/* ---- what the runtime tells ---- */

static const struct store_object *find_by_token(const struct store_view *view, struct span token)
{
	struct store_cursor cursor = {.view = view,
		.kind = &task_kind,
		.index = TASK_BY_ID,
		.prefix = token,
		.exact = true};

	return store_next(&cursor);
}

/* The task that has the token, or the token itself. */
static void add_token(struct controller *controller, const struct store_view *view,
	struct span token)
{
	const struct store_object *task = find_by_token(view, token);
	char key[RUNTIME_TOKEN_MAX + 2];

	if (task) {
		controller_add(controller, task->key);
		return;
	}
	if (token.length > RUNTIME_TOKEN_MAX)
		return;
	snprintf(key, sizeof(key), "%c%.*s", KEY_TOKEN, SPAN_ARGS(token));
	controller_add(controller, span_of(key));
}

static struct controller *enter(struct task_controller *tasks)
{
	struct controller *controller;

	lock_take(&tasks->lock);
	controller = tasks->controller;
	if (controller)
		tasks->inside++;
	lock_release(&tasks->lock);
	return controller;
}

static void leave(struct task_controller *tasks)
{
	bool last;

	lock_take(&tasks->lock);
	last = --tasks->inside == 0 && !tasks->controller;
	lock_release(&tasks->lock);
	if (last)
		runner_signal(tasks->left);
}

void task_controller_changed(void *context, struct span token)
{
	struct task_controller *tasks = context;
	struct controller *controller = enter(tasks);
	_view_ struct store_view *view = NULL;

	if (!controller)
		return;
	if (token.length == 0) {
		controller_add(controller, SPAN(KEY_EVERYTHING));
	} else {
		view = store_view_open(tasks->config.store);
		add_token(controller, view, token);
	}
	leave(tasks);
}

/* ---- writing what was seen ---- */

/* One of the functions of task_observe.h, with what it needs. */
struct observation {
	struct span key;
	const struct runtime_task *seen; /* NULL: the runtime does not know it */
	struct span failure;             /* data NULL: none */
	int64_t now_ms;
};

/* The containerDefinitions of its definition, when anybody's health depends on them. */
static const struct json *definition_containers(const struct store_view *view,
	const struct task_draft *draft, const struct runtime_task *seen);

static void observe(const struct store_view *view, const struct observation *observation,
	struct task_draft *draft)
{
	if (observation->seen)
		task_observe(draft, observation->seen,
			definition_containers(view, draft, observation->seen), observation->now_ms);
	else if (observation->failure.data)
		task_observe_failure(draft, observation->failure, observation->now_ms);
	else if (draft->facts.last > TASK_PENDING)
		task_observe_lost(draft, observation->now_ms);
	else
		task_observe_not_started(draft, observation->now_ms);
}

static int write_observation(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct observation *observation = context;
	const struct store_object *task =
		store_get(store_head(transaction), &task_kind, observation->key);
	struct task_draft draft;
	int code;

	/* Deleted meanwhile: the feed tells us. */
	if (!task)
		return 0;
	code = task_draft_open(task, store_transaction_arena(transaction), &draft, err);
	if (code < 0)
		return code;
	observe(store_head(transaction), observation, &draft);
	return task_draft_differs(&draft, task) ? task_save(transaction, &draft, err) : 0;
}

struct step {
	struct controller_call *call;
	struct task_controller *tasks;
	struct runtime *runtime;
	struct store_view *view;
	const struct store_object *task;
	const struct task_facts *facts;
	struct arena *arena;
	struct err *err;
};

/* Most observations say what is known already: those cost no write. */
static int write_seen(struct step *step, const struct runtime_task *seen, struct span failure)
{
	struct observation observation = {.key = step->task->key,
		.seen = seen,
		.failure = failure,
		.now_ms = runner_wall_ms(step->call->runner)};
	struct task_draft draft;
	int code = task_draft_open(step->task, step->arena, &draft, step->err);

	if (code < 0)
		return code;
	observe(step->view, &observation, &draft);
	if (!task_draft_differs(&draft, step->task))
		return 0;
	return control_write(step->call->runner, step->call->store, write_observation, &observation,
		NULL, step->err);
}

/* ---- starting ---- */

static struct span definition_key(struct arena *arena, struct span task_key,
	const struct task_facts *facts)
{
	struct span account, region;

	span_split(task_key, '/', &account, &region);
	span_split(region, '/', &region, &(struct span){0});
	return arena_format(arena, "%.*s/%.*s/%.*s %010lld", SPAN_ARGS(account), SPAN_ARGS(region),
		SPAN_ARGS(facts->family), (long long)facts->revision);
}

static int read_definition(const struct store_view *view, struct arena *arena, struct span task_key,
	const struct task_facts *facts, struct json **ret_document, struct err *err)
{
	const struct store_object *definition =
		store_get(view, &task_definition_kind, definition_key(arena, task_key, facts));

	if (!definition)
		return err_set(err, -EINVAL,
			"ResourceInitializationError: task definition %.*s:%lld is gone",
			SPAN_ARGS(facts->family), (long long)facts->revision);
	return json_parse(definition->api, arena, ret_document, err);
}

static const struct json *definition_containers(const struct store_view *view,
	const struct task_draft *draft, const struct runtime_task *seen)
{
	struct json *document;

	for (size_t i = 0; i < seen->container_count; i++)
		if (seen->containers[i].health > RUNTIME_HEALTH_UNKNOWN &&
			read_definition(view, draft->arena, draft->key, &draft->facts, &document,
				NULL) == 0)
			return json_get(document, "containerDefinitions");
	return NULL;
}

/* The runtime's name for the instance that the task was placed on. */
static int find_instance(struct step *step, struct span *ret_instance)
{
	struct span key = arena_format(step->arena, "%.*s/%.*s",
		SPAN_ARGS(task_cluster_key(step->task->key)), SPAN_ARGS(step->facts->instance));
	const struct store_object *instance = store_get(step->view, &container_instance_kind, key);

	if (!instance || container_instance_facts(instance)->runtime.length == 0)
		return err_set(step->err, -EINVAL,
			"ResourceInitializationError: container instance %.*s is gone",
			SPAN_ARGS(step->facts->instance));
	*ret_instance = container_instance_runtime_id(container_instance_facts(instance));
	return 0;
}

static int start(struct step *step)
{
	struct task_spec_order order = {.arena = step->arena,
		.task_key = step->task->key,
		.facts = step->facts,
		.secrets = step->tasks->config.secrets};
	struct json *document, *definition, *spec;
	struct span instance;
	int code = json_parse(step->task->api, step->arena, &document, step->err);

	if (code == 0)
		code = find_instance(step, &instance);
	if (code == 0)
		code = read_definition(step->view, step->arena, step->task->key, step->facts,
			&definition, step->err);
	if (code == 0) {
		order.definition = definition;
		order.overrides = json_get(document, "overrides");
		code = task_spec_make(&order, &spec, step->err);
	}
	if (code == 0)
		code = step->runtime->operations->start(step->runtime, step->facts->id, instance,
			spec, step->err);
	return code;
}

/* Reasons begin with the name of an error, as ECS's do. */
static struct span failure_of(struct step *step)
{
	const char *message = step->err->message;

	if (strstr(message, "Error: "))
		return arena_format(step->arena, "%s", message);
	return arena_format(step->arena, "CannotStartContainerError: %s", message);
}

/* Fills *ret_seen, or leaves NULL there when the task is at its end instead. */
static int start_and_look(struct step *step, struct runtime_task **ret_seen)
{
	int64_t age_ms = runner_wall_ms(step->call->runner) - step->facts->created_ms;
	int code = start(step);

	if (code == -EINVAL ||
		(code < 0 && code != -ECANCELED && age_ms > TASK_CONTROLLER_START_PATIENCE_MS))
		return write_seen(step, NULL, failure_of(step));
	if (code < 0)
		return code;
	return step->runtime->operations->get(step->runtime, step->facts->id, step->arena, ret_seen,
		step->err);
}

/* ---- ends ---- */

static int acknowledge(struct task_controller *tasks, struct span token, struct err *err)
{
	int code = tasks->runtime->operations->acknowledge(tasks->runtime, token, err);

	return code == -ENOENT ? 0 : code;
}

/* Its end is durable here. The runtime may forget it when there are too many such. */
static int keep_ended(struct task_controller *tasks, struct span token, struct err *err)
{
	char oldest[RUNTIME_TOKEN_MAX + 1] = "";
	size_t position = 0;
	int code;

	lock_take(&tasks->lock);
	if (!map_has(&tasks->ended, token))
		map_put(&tasks->ended, token, tasks);
	if (tasks->ended.count > tasks->config.ended_kept)
		snprintf(oldest, sizeof(oldest), "%s",
			map_next(&tasks->ended, &position)->key.data);
	lock_release(&tasks->lock);
	if (!oldest[0])
		return 0;
	code = acknowledge(tasks, span_of(oldest), err);
	if (code < 0)
		return code;
	lock_take(&tasks->lock);
	map_remove(&tasks->ended, span_of(oldest));
	lock_release(&tasks->lock);
	return 0;
}

/* A task that is STOPPED, or that there is no more: nothing of it may run. */
static int end_what_runs(struct step *step, struct span token, bool keep)
{
	struct task_controller *tasks = step->tasks;
	struct runtime *runtime = step->runtime;
	struct runtime_task *seen;
	int code = runtime->operations->get(runtime, token, step->arena, &seen, step->err);

	if (code == 0 && seen->phase < RUNTIME_STOPPING)
		code = runtime->operations->stop(runtime, token,
			keep ? SPAN("The task has stopped already") : SPAN("There is no such task"),
			step->err);
	else if (code == 0 && seen->phase == RUNTIME_STOPPED && keep)
		return keep_ended(tasks, token, step->err);
	else if (code == 0 && seen->phase == RUNTIME_STOPPED)
		code = acknowledge(tasks, token, step->err);
	else if (code == 0)
		return 0; /* it is stopping: we are told when it has */
	if (code < 0 && code != -ENOENT)
		return code;
	lock_take(&tasks->lock);
	map_remove(&tasks->ended, token);
	lock_release(&tasks->lock);
	return 0;
}

/* A record that failed its check is not read, but what it is about is not to be ended for that. */
static bool may_be_quarantined(struct store *store, struct span token)
{
	_buffer_ struct buffer list = {0};

	store_list_quarantined(store, &list);
	return list.length > 0 && memmem(list.data, list.length, token.data, token.length);
}

static int end_orphan(struct step *step, struct span token)
{
	if (may_be_quarantined(step->call->store, token))
		return 0;
	return end_what_runs(step, token, false);
}

/* ---- one task ---- */

static int stop(struct step *step)
{
	struct json *document;
	struct span reason = SPAN("");

	if (json_parse(step->task->api, step->arena, &document, NULL) == 0)
		reason = json_get_text(document, "stoppedReason");
	return step->runtime->operations->stop(step->runtime, step->facts->id,
		reason.data ? reason : SPAN(""), step->err);
}

static int reconcile_live(struct step *step)
{
	struct runtime *runtime = step->runtime;
	struct span token = step->facts->id;
	struct runtime_task *seen = NULL;
	bool wanted = step->facts->desired == TASK_RUNNING;
	int64_t now_ms = runner_wall_ms(step->call->runner);
	int code = runtime->operations->get(runtime, token, step->arena, &seen, step->err);

	if (code == -ENOENT && (!wanted || step->facts->last > TASK_PENDING))
		return write_seen(step, NULL, SPAN_NONE);
	if (code == -ENOENT)
		code = start_and_look(step, &seen);
	if (code < 0 || !seen)
		return code;
	/* Most are RUNNING in a moment: that then costs one write, and nobody waits for two. */
	if (wanted && seen->phase == RUNTIME_PENDING &&
		now_ms - seen->created_ms < PENDING_LOOK_MS && now_ms >= seen->created_ms) {
		step->call->again_at_ms = seen->created_ms + PENDING_LOOK_MS;
		return 0;
	}
	if (!wanted && seen->phase < RUNTIME_STOPPING) {
		code = stop(step);
		if (code == 0)
			code = runtime->operations->get(runtime, token, step->arena, &seen,
				step->err);
		if (code < 0)
			return code;
	}
	code = write_seen(step, seen, SPAN_NONE);
	if (code == 0 && seen->phase == RUNTIME_STOPPED)
		code = keep_ended(step->tasks, token, step->err);
	return code;
}

/* ---- everything ---- */

struct ended {
	int64_t stopped_ms;
	struct span token;
};

static int compare_ended(const void *a, const void *b)
{
	const struct ended *left = a, *right = b;

	return (left->stopped_ms > right->stopped_ms) - (left->stopped_ms < right->stopped_ms);
}

/* Compares all that the runtime knows with the store, by asking for each. Ended ones are remembered in
 * the order of their ends, so that the oldest are forgotten first. */
static int reconcile_everything(struct step *step)
{
	struct task_controller *tasks = step->tasks;
	struct controller *controller = enter(tasks);
	struct ended *ended;
	struct span *tokens;
	size_t count, ended_count = 0;
	int code;

	if (!controller)
		return 0;
	code = step->runtime->operations->list_tasks(step->runtime, step->arena, &tokens, &count,
		step->err);
	if (code == 0) {
		ended = arena_allocate_array(step->arena, count + 1, sizeof(*ended));
		for (size_t i = 0; i < count; i++) {
			const struct store_object *task = find_by_token(step->view, tokens[i]);

			if (task && task_facts(task)->last >= TASK_STOPPED)
				ended[ended_count++] =
					(struct ended){task_facts(task)->stopped_ms, tokens[i]};
			add_token(controller, step->view, tokens[i]);
		}
		qsort(ended, ended_count, sizeof(*ended), compare_ended);
		lock_take(&tasks->lock);
		for (size_t i = 0; i < ended_count; i++)
			if (!map_has(&tasks->ended, ended[i].token))
				map_put(&tasks->ended, ended[i].token, tasks);
		lock_release(&tasks->lock);
		step->call->again_at_ms =
			runner_wall_ms(step->call->runner) + TASK_CONTROLLER_RELIST_MS;
	}
	leave(tasks);
	return code;
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	_view_ struct store_view *view = store_view_open(call->store);
	_arena_ struct arena *arena = arena_new(0);
	struct task_controller *tasks = call->context;
	struct step step = {.call = call,
		.tasks = tasks,
		.runtime = tasks->runtime,
		.view = view,
		.arena = arena,
		.err = err};
	struct span token;

	if (span_is(key, KEY_EVERYTHING))
		return reconcile_everything(&step);
	if (key.data[0] == KEY_TOKEN) {
		token = (struct span){key.data + 1, key.length - 1};
		/* A task that was made meanwhile has its own turn. */
		return find_by_token(view, token) ? 0 : end_orphan(&step, token);
	}
	step.task = store_get(view, &task_kind, key);
	if (!step.task) {
		struct span cluster = task_cluster_key(key);

		return end_orphan(&step, (struct span){key.data + cluster.length + 1,
						 key.length - cluster.length - 1});
	}
	step.facts = task_facts(step.task);
	if (!span_equal(step.facts->host, tasks->config.host))
		return 0;
	if (step.facts->last >= TASK_STOPPED)
		return end_what_runs(&step, step.facts->id, true);
	return reconcile_live(&step);
}

static const struct controller_watch watches[] = {{.kind = &task_kind}};

const struct controller_row task_controller_row = {
	.name = "tasks",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
	.workers = TASK_CONTROLLER_WORKERS,
};

/* ---- beginning and end ---- */

struct task_controller *task_controller_new(const struct task_controller_config *config)
{
	struct task_controller *tasks = memory_allocate(sizeof(*tasks));

	tasks->config = *config;
	if (tasks->config.ended_kept == 0)
		tasks->config.ended_kept = TASK_CONTROLLER_ENDED_KEPT;
	/* A runtime that was out of reach for a while is near: it is asked again soon, for many at once. */
	if (tasks->config.queue.backoff_most_us == 0)
		tasks->config.queue.backoff_most_us = BACKOFF_MOST_US;
	if (tasks->config.queue.retries_per_second == 0)
		tasks->config.queue.retries_per_second = RETRIES_PER_SECOND;
	tasks->left = runner_event_new(config->runner, "notices of a runtime");
	lock_init(&tasks->lock);
	return tasks;
}

int task_controller_start(struct task_controller *tasks, struct runtime *runtime, struct err *err)
{
	struct controller_config config = {.runner = tasks->config.runner,
		.store = tasks->config.store,
		.context = tasks,
		.queue = tasks->config.queue,
		.report = tasks->config.report,
		.report_context = tasks->config.report_context};
	struct controller *controller;
	int code;

	tasks->runtime = runtime;
	code = controller_start(&task_controller_row, &config, &controller, err);
	if (code < 0)
		return code;
	lock_take(&tasks->lock);
	tasks->controller = controller;
	lock_release(&tasks->lock);
	/* From here on notices are heard; what happened before is in the listing. */
	controller_add(controller, SPAN(KEY_EVERYTHING));
	return 0;
}

void task_controller_stop(struct task_controller *tasks)
{
	struct controller *controller;
	uint64_t seen;

	if (!tasks)
		return;
	lock_take(&tasks->lock);
	controller = TAKE(tasks->controller);
	lock_release(&tasks->lock);
	for (;;) {
		bool empty;

		seen = runner_event_count(tasks->left);
		lock_take(&tasks->lock);
		empty = tasks->inside == 0;
		lock_release(&tasks->lock);
		if (empty)
			break;
		runner_wait_certain(tasks->config.runner, tasks->left, seen);
	}
	controller_stop(controller);
}

void task_controller_free(struct task_controller *tasks)
{
	if (!tasks)
		return;
	map_clear(&tasks->ended);
	runner_event_free(tasks->left);
	lock_destroy(&tasks->lock);
	free(tasks);
}

struct controller *task_controller_controller(struct task_controller *tasks)
{
	return tasks->controller;
}
