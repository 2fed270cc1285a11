/* Runs tasks on a runtime and stores what it reports; see the header. */
#include "ecs/task/task_controller.h"

#include <stdio.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/seeded_bug.h"
#include "control/controller_handle.h"
#include "control/write.h"
#include "ecs/definition/task_definition.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/failure_count.h"
#include "ecs/task/task_create.h"
#include "ecs/task/task_edit.h"
#include "ecs/task/task_observe.h"
#include "ecs/task/task_spec.h"
#include "runtime/spec.h"

/* Work queue keys other than tasks: task keys begin with an account's digits. */
#define KEY_EVERYTHING "*" /* compare all that the runtime knows with the store */
#define KEY_TOKEN ':'      /* ":TOKEN": a token that no task has */

#define BACKOFF_MOST_US INT64_C(5000000)
#define RETRIES_PER_SECOND 100
#define PENDING_POLL_MS 200  /* a task that is starting for this long is shown as PENDING */
#define FROZEN_POLL_MS 10000 /* poll whether a failed deployment is still the desired one */
/* A task of a group that cannot be stored and has ended is replaced after this time. */
#define UNWRITTEN_MS 60000
/* A runtime that does not know a token yet reports it later; without a report it is polled after
 * this time. */
#define UNKNOWN_POLL_MS 1000

struct task_controller {
	struct task_controller_config config;
	struct controller_row row; /* as task_controller_row, with the config's workers */
	struct runtime *runtime;
	struct controller_handle handle; /* for reports of the runtime */
	struct lock lock;
	/* Guarded by the lock: */
	struct map ended;   /* tokens that the runtime keeps for their logs, oldest first */
	struct map refused; /* tokens whose adoption was rejected, until their next pass */
};

/* ---- reports of the runtime ---- */

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

void task_controller_changed(void *context, struct span token)
{
	struct task_controller *tasks = context;
	struct controller *controller = controller_handle_enter(&tasks->handle);
	_view_ struct store_view *view = NULL;

	if (!controller)
		return;
	if (token.length == 0) {
		controller_add(controller, SPAN(KEY_EVERYTHING));
	} else {
		view = store_view_open(tasks->config.store);
		add_token(controller, view, token);
	}
	controller_handle_leave(&tasks->handle);
}

/* ---- writing observations ---- */

/* One of the functions of task_observe.h, with what it needs. */
struct observation {
	struct span key;
	const struct runtime_task *seen; /* NULL: the runtime does not know it */
	struct span failure;             /* data NULL: none */
	int64_t now_ms;
	bool bug_register_early;
};

/* The containerDefinitions of its definition, when a container's health depends on them. */
static const struct json *definition_containers(const struct store_view *view,
	const struct task_edit *edit, const struct runtime_task *seen);

/* A runtime that chooses instances has chosen one. */
static void observe_place(const struct store_view *view, struct task_edit *edit,
	struct span instance)
{
	const struct store_object *chosen;

	if (edit->facts.instance.length > 0 || instance.length == 0)
		return;
	chosen = container_instance_of_runtime(view, edit->arena, task_cluster_key(edit->key),
		edit->facts.host, instance);
	if (chosen)
		task_place(edit, chosen);
}

static void observe(const struct store_view *view, const struct observation *observation,
	struct task_edit *edit)
{
	if (observation->seen)
		observe_place(view, edit, observation->seen->instance);
	if (observation->seen)
		task_observe(edit, observation->seen,
			definition_containers(view, edit, observation->seen), observation->now_ms);
	else if (observation->failure.data)
		task_observe_failure(edit, observation->failure, observation->now_ms);
	else if (edit->facts.last > TASK_PENDING)
		task_observe_lost(edit, observation->now_ms);
	else
		task_observe_not_started(edit, observation->now_ms);
}

static int write_observation(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct observation *observation = context;
	const struct store_object *task =
		store_get(store_head(transaction), &task_kind, observation->key);
	struct task_edit edit;
	bool was_wanted;
	int code;

	/* Deleted meanwhile: the change feed queues it. */
	if (!task)
		return 0;
	code = task_edit_open(task, store_transaction_arena(transaction), &edit, err);
	if (code < 0)
		return code;
	edit.now_ms = observation->now_ms;
	edit.bug_register_early = observation->bug_register_early;
	observe(store_head(transaction), observation, &edit);
	if (!task_edit_differs(&edit, task))
		return 0;
	was_wanted = task_facts(task)->desired == TASK_RUNNING;
	code = task_save(transaction, &edit, err);
	/* Only a runtime that keeps replicas itself ends tasks for its service. */
	if (code < 0 || !was_wanted || edit.facts.desired != TASK_STOPPED || edit.facts.failed)
		return code;
	if (task_facts(task)->traffic == TASK_TRAFFIC_REGISTERED)
		code = service_report_of_task(transaction, observation->key,
			"has begun draining connections on", "tasks.", observation->now_ms, err);
	return code < 0 ? code
			: service_report_of_task(transaction, observation->key, "has stopped",
				  "running tasks.", observation->now_ms, err);
}

/* A task that the runtime created for a group. */
struct adoption {
	struct observation observation; /* its key is known when it is written down */
	task_adopt *write;
	struct span host;
	struct random *random;
};

static int adopt(struct store_transaction *transaction, void *context, struct err *err)
{
	struct adoption *adoption = context;
	const struct runtime_task *seen = adoption->observation.seen;
	int code = adoption->write(transaction, seen, adoption->host, adoption->random, err);

	/* A task that runs already is RUNNING at once; others get their pass from the change
	 * feed. */
	if (code < 0 || seen->phase != RUNTIME_RUNNING)
		return code;
	adoption->observation.key = find_by_token(store_head(transaction), seen->token)->key;
	return write_observation(transaction, &adoption->observation, err);
}

struct step {
	struct controller_call *call;
	struct task_controller *tasks;
	struct runtime *runtime;
	struct store_view *view;
	const struct store_object *task;
	const struct task_facts *facts;
	struct arena *arena; /* NULL: owned by the batch now, with all that is in it */
	struct err *err;
};

/* An observation on its way to the store, with the memory that it lives in. */
struct deferred {
	struct adoption adoption;
	bool adopts;     /* or only observes */
	struct span key; /* of the work */
	struct task_controller *tasks;
	struct arena *arena;
};

static int write_deferred(struct store_transaction *transaction, void *context, struct err *err)
{
	struct deferred *deferred = context;

	return deferred->adopts
		       ? adopt(transaction, &deferred->adoption, err)
		       : write_observation(transaction, &deferred->adoption.observation, err);
}

/* Not for a failure of the store: the next step makes calls, which belong in the next pass. */
static bool note_refusal(struct deferred *deferred, int code)
{
	struct task_controller *tasks = deferred->tasks;

	if (!deferred->adopts || (code != -ENOENT && code != -EINVAL))
		return false;
	lock_take(&tasks->lock);
	map_put(&tasks->refused, deferred->adoption.observation.seen->token, tasks);
	lock_release(&tasks->lock);
	return true;
}

static void end_deferred(void *context, int code, const struct err *err)
{
	struct deferred *deferred = context;
	struct controller *controller = controller_handle_enter(&deferred->tasks->handle);

	if (controller && code < 0 && note_refusal(deferred, code)) {
		controller_add(controller, deferred->key);
	} else if (controller && code < 0 && code != -ECANCELED) {
		controller_failed(controller, deferred->key, err);
		sync_statistics_note_error(deferred->tasks->config.statistics, SYNC_TASK,
			SYNC_ERROR_STORE);
	}
	if (controller)
		controller_handle_leave(&deferred->tasks->handle);
	arena_free(deferred->arena);
}

/* Takes the step's memory. Waits while too much is queued already: a rejected write would have to
 * be observed again. */
static int defer(struct step *step, const struct adoption *adoption, bool adopts, struct span key)
{
	struct write_batch *batch = step->tasks->config.batch;
	struct deferred *deferred = arena_allocate(step->arena, sizeof(*deferred));
	int code;

	*deferred = (struct deferred){.adoption = *adoption,
		.adopts = adopts,
		.key = arena_copy_span(step->arena, key),
		.tasks = step->tasks,
		.arena = step->arena};
	if (!adopts)
		deferred->adoption.observation.key = deferred->key;
	while ((code = write_batch_add(batch, write_deferred, end_deferred, deferred, step->err)) ==
		-EBUSY)
		if (write_batch_wait(batch, step->call->runner) == -ECANCELED)
			return -ECANCELED;
	if (code == 0)
		step->arena = NULL;
	return code;
}

/* The last action of a step. Most observations are known already and cost no write. */
static int write_seen(struct step *step, const struct runtime_task *seen, struct span failure)
{
	struct observation observation = {.key = step->task->key,
		.seen = seen,
		.failure = failure,
		.now_ms = runner_wall_ms(step->call->runner),
		.bug_register_early = step->tasks->config.bug_register_early};
	/* Not the step's: thousands of observations may be on their way, and keep the step's memory. */
	_arena_ struct arena *scratch = arena_new(0);
	struct task_edit edit;
	int code = task_edit_open(step->task, scratch, &edit, step->err);

	if (code < 0)
		return code;
	observe(step->view, &observation, &edit);
	if (!task_edit_differs(&edit, step->task))
		return 0;
	if (step->tasks->config.batch)
		return defer(step, &(struct adoption){.observation = observation}, false,
			observation.key);
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
		return err_set(err, RUNTIME_REASON_IS_NAMED,
			"ResourceInitializationError: task definition %.*s:%lld is gone",
			SPAN_ARGS(facts->family), (long long)facts->revision);
	return json_parse(definition->api, arena, ret_document, err);
}

static const struct json *definition_containers(const struct store_view *view,
	const struct task_edit *edit, const struct runtime_task *seen)
{
	struct json *document;

	for (size_t i = 0; i < seen->container_count; i++)
		if (seen->containers[i].health > RUNTIME_HEALTH_UNKNOWN &&
			read_definition(view, edit->arena, edit->key, &edit->facts, &document,
				NULL) == 0)
			return json_get(document, "containerDefinitions");
	return NULL;
}

/* The runtime's name for the instance that the task was placed on; "" if the runtime is to choose. */
static int find_instance(struct step *step, struct span *ret_instance)
{
	struct span key = arena_format(step->arena, "%.*s/%.*s",
		SPAN_ARGS(task_cluster_key(step->task->key)), SPAN_ARGS(step->facts->instance));
	const struct store_object *instance = store_get(step->view, &container_instance_kind, key);

	*ret_instance = SPAN("");
	if (step->facts->instance.length == 0)
		return 0;
	if (!instance || container_instance_facts(instance)->runtime.length == 0)
		return err_set(step->err, RUNTIME_REASON_IS_NAMED,
			"ResourceInitializationError: container instance %.*s is gone",
			SPAN_ARGS(step->facts->instance));
	*ret_instance = container_instance_runtime_id(container_instance_facts(instance));
	return 0;
}

static int start(struct step *step)
{
	struct task_spec_write spec_write = {.arena = step->arena,
		.task_key = step->task->key,
		.facts = step->facts,
		.secrets = step->tasks->config.secrets};
	struct json *definition, *spec;
	struct task_edit edit;
	struct span instance;
	int code = task_edit_open(step->task, step->arena, &edit, step->err);

	if (code == 0)
		code = find_instance(step, &instance);
	if (code == 0)
		code = read_definition(step->view, step->arena, step->task->key, step->facts,
			&definition, step->err);
	if (code == 0) {
		spec_write.definition = definition;
		spec_write.overrides = json_get(edit.document, "overrides");
		spec_write.desired = edit.desired;
		if (task_spec_make(&spec_write, &spec, step->err) < 0)
			return RUNTIME_REASON_IS_NAMED;
	}
	if (code == 0)
		code = step->runtime->operations->start(step->runtime, step->facts->id, instance,
			spec, step->err);
	return code;
}

/* Reasons begin with the name of an error, as in ECS. */
static struct span failure_of(struct step *step, int code)
{
	return arena_format(step->arena, "%s%s",
		code == RUNTIME_REASON_IS_NAMED ? "" : "CannotStartContainerError: ",
		step->err->message);
}

/* Fills *ret_seen, or leaves NULL there when the task is at its end instead. */
static int start_and_inspect(struct step *step, struct runtime_task **ret_seen)
{
	int64_t age_ms = runner_wall_ms(step->call->runner) - step->facts->created_ms;
	int code = start(step);

	if (code == -EINVAL || code == RUNTIME_REASON_IS_NAMED ||
		(code < 0 && code != -ECANCELED && age_ms > TASK_CONTROLLER_START_PATIENCE_MS))
		return write_seen(step, NULL, failure_of(step, code));
	if (code < 0)
		return code;
	return step->runtime->operations->get(step->runtime, step->facts->id, step->arena, ret_seen,
		step->err);
}

/* ---- stopped tasks ---- */

static int acknowledge(struct task_controller *tasks, struct span token, struct err *err)
{
	int code = tasks->runtime->operations->acknowledge(tasks->runtime, token, err);

	return code == -ENOENT ? 0 : code;
}

/* Its end is durable here. The runtime may forget it when it keeps too many. */
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

/* A task that is STOPPED or deleted: nothing of it may run. */
static int end_what_runs(struct step *step, struct span token, struct span reason, bool keep)
{
	struct task_controller *tasks = step->tasks;
	struct runtime *runtime = step->runtime;
	struct runtime_task *seen;
	int code = runtime->operations->get(runtime, token, step->arena, &seen, step->err);

	if (code == 0 && seen->phase < RUNTIME_STOPPING)
		code = runtime->operations->stop(runtime, token, reason, step->err);
	else if (code == 0 && seen->phase == RUNTIME_STOPPED && keep && !seen->unkept)
		return keep_ended(tasks, token, step->err);
	else if (code == 0 && seen->phase == RUNTIME_STOPPED)
		code = acknowledge(tasks, token, step->err);
	else if (code == 0)
		return 0; /* it is stopping: the runtime reports its end */
	if (code < 0 && code != -ENOENT)
		return code;
	lock_take(&tasks->lock);
	map_remove(&tasks->ended, token);
	lock_release(&tasks->lock);
	return 0;
}

static int end_stopped(struct step *step, bool keep)
{
	return end_what_runs(step, step->facts->id, SPAN("The task has stopped already"), keep);
}

/* Requeues for that time; false if it has passed. */
static bool wait_until(struct step *step, int64_t at_ms)
{
	if (at_ms <= runner_wall_ms(step->call->runner))
		return false;
	step->call->again_at_ms = at_ms;
	return true;
}

/* When a failed task of a group may be replaced: with the same back-off as tasks that the service
 * controller starts; a failed deployment starts no more tasks. */
static int64_t replaced_ms(struct step *step)
{
	int64_t until_ms;

	if (!step->facts->failed)
		return 0;
	until_ms = service_task_backoff_ms(step->view, step->task->key, step->facts, step->arena);
	return until_ms == SERVICE_BACKOFF_FROZEN
		       ? runner_wall_ms(step->call->runner) + FROZEN_POLL_MS
		       : until_ms;
}

/* A task of a group is replaced when its end is acknowledged. */
static int let_be_replaced(struct step *step)
{
	return wait_until(step, replaced_ms(step)) ? 0 : end_stopped(step, false);
}

static int end_orphan(struct step *step, struct span token)
{
	/* A record that failed its check is not read, but its task must not be stopped for that. */
	if (store_has_quarantined_key_with(step->call->store, token))
		return 0;
	return end_what_runs(step, token, SPAN("There is no such task"), false);
}

static bool was_refused(struct task_controller *tasks, struct span token)
{
	bool refused;

	lock_take(&tasks->lock);
	refused = map_remove(&tasks->refused, token) != NULL;
	lock_release(&tasks->lock);
	return refused;
}

/* The runtime has not listed everything yet; nothing has failed. */
static int inspect_when_known(struct step *step)
{
	step->call->again_at_ms = runner_wall_ms(step->call->runner) + UNKNOWN_POLL_MS;
	return 0;
}

/* A token that no task has: the runtime created it for a group, or it is an orphan. */
static int adopt_or_end(struct step *step, struct span key, struct span token)
{
	struct runtime *runtime = step->runtime;
	struct adoption adoption = {
		.observation = {.now_ms = runner_wall_ms(step->call->runner),
			.bug_register_early = step->tasks->config.bug_register_early},
		.write = step->tasks->config.adopt,
		.host = step->tasks->config.host,
		.random = runner_random(step->call->runner)};
	bool refused = was_refused(step->tasks, token);
	struct runtime_task *seen;
	int code = -ENOENT;

	if (runtime->operations->groups)
		code = runtime->operations->get(runtime, token, step->arena, &seen, step->err);
	if (code == -EAGAIN)
		return inspect_when_known(step);
	if (code < 0 && code != -ENOENT)
		return code;
	if (code == 0 && seen->group.length > 0 && adoption.write) {
		adoption.observation.seen = seen;
		if (step->tasks->config.batch && !refused)
			return defer(step, &adoption, true, key);
		code = control_write(step->call->runner, step->call->store, adopt, &adoption, NULL,
			step->err);
		if (code != -ENOENT && (code != -EINVAL || seen->phase < RUNTIME_STOPPED))
			return code;
		if (code == -EINVAL && wait_until(step, seen->stopped_ms + UNWRITTEN_MS))
			return 0;
	}
	return end_orphan(step, token);
}

/* ---- one task ---- */

/* Its runtime started it, for its service, and would start a replacement. */
static bool task_is_of_group(const struct step *step)
{
	return step->runtime->operations->groups && step->facts->service.length > 0;
}

/* It gets traffic now, so it may replace an older task. */
static int open_gate(struct step *step, const struct runtime_task *seen)
{
	int code;

	if (!seen->gate_closed || step->facts->last != TASK_RUNNING)
		return 0;
	code = step->runtime->operations->groups->open_gate(step->runtime, seen->token, step->err);
	return code == -ENOENT ? 0 : code;
}

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
	bool wanted = step->facts->desired == TASK_RUNNING, ended;
	int64_t now_ms = runner_wall_ms(step->call->runner);
	int code = runtime->operations->get(runtime, token, step->arena, &seen, step->err);

	if (code == -EAGAIN)
		return inspect_when_known(step);
	if (code == -ENOENT &&
		(!wanted || step->facts->last > TASK_PENDING || task_is_of_group(step)))
		return write_seen(step, NULL, SPAN_NONE);
	if (code == -ENOENT)
		code = start_and_inspect(step, &seen);
	if (code < 0 || !seen)
		return code;
	/* Most are RUNNING in a moment: waiting saves a write. */
	if (wanted && seen->phase == RUNTIME_PENDING &&
		now_ms - seen->created_ms < PENDING_POLL_MS && now_ms >= seen->created_ms) {
		step->call->again_at_ms = seen->created_ms + PENDING_POLL_MS;
		return 0;
	}
	/* While clients may still connect, it keeps running; the traffic controller writes when
	 * none can. */
	if (!wanted && (seen->phase < RUNTIME_STOPPING || seen->ends_ms > now_ms) &&
		(step->facts->traffic != TASK_TRAFFIC_LEAVING ||
			SEEDED_BUG(step->tasks->config.bug_stop_at_once)) &&
		!(task_is_of_group(step) && wait_until(step, replaced_ms(step)))) {
		code = stop(step);
		if (code == 0)
			code = runtime->operations->get(runtime, token, step->arena, &seen,
				step->err);
		if (code < 0)
			return code;
	}
	/* It was placed on an instance that is not registered yet. */
	if (step->facts->instance.length == 0 && seen->instance.length > 0 &&
		!container_instance_of_runtime(step->view, step->arena,
			task_cluster_key(step->task->key), step->facts->host, seen->instance))
		step->call->again_at_ms = now_ms + PENDING_POLL_MS;
	ended = seen->phase == RUNTIME_STOPPED && !task_is_of_group(step);
	code = open_gate(step, seen);
	if (code == 0)
		code = write_seen(step, seen, SPAN_NONE);
	/* A task whose end is still being written is requeued when that is stored. */
	if (code == 0 && ended && !step->tasks->config.batch)
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

/* Compares all tasks of the runtime with the store, by queueing each. Ended ones are kept in the
 * order of their ends, so that the oldest are dropped first. */
static int reconcile_everything(struct step *step)
{
	struct task_controller *tasks = step->tasks;
	struct controller *controller = controller_handle_enter(&tasks->handle);
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
			runner_wall_ms(step->call->runner) + tasks->config.relist_ms;
	}
	controller_handle_leave(&tasks->handle);
	return code;
}

static int reconcile_step(struct step *step, struct span key)
{
	struct span token;

	if (span_is(key, KEY_EVERYTHING))
		return reconcile_everything(step);
	if (key.data[0] == KEY_TOKEN) {
		token = (struct span){key.data + 1, key.length - 1};
		/* A task that was created meanwhile has its own pass. */
		return find_by_token(step->view, token) ? 0 : adopt_or_end(step, key, token);
	}
	step->task = store_get(step->view, &task_kind, key);
	if (!step->task) {
		struct span cluster = task_cluster_key(key);

		return end_orphan(step, (struct span){key.data + cluster.length + 1,
						key.length - cluster.length - 1});
	}
	step->facts = task_facts(step->task);
	if (!span_equal(step->facts->host, step->tasks->config.host))
		return 0;
	if (step->facts->last >= TASK_STOPPED && task_is_of_group(step))
		return let_be_replaced(step);
	if (step->facts->last >= TASK_STOPPED)
		return end_stopped(step, true);
	return reconcile_live(step);
}

static const struct controller_watch watches[] = {{.kind = &task_kind}};

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	_view_ struct store_view *view = store_view_open(call->store);
	struct task_controller *tasks = call->context;
	struct step step = {.call = call,
		.tasks = tasks,
		.runtime = tasks->runtime,
		.view = view,
		.arena = arena_new(0),
		.err = err};
	int64_t began_us = runner_now_us(call->runner);
	int code = tasks->config.claims ? claims_require_lease(tasks->config.claims, err) : 0;

	if (code == 0)
		code = reconcile_step(&step, key);
	arena_free(step.arena);
	sync_statistics_note(tasks->config.statistics, SYNC_TASK,
		runner_now_us(call->runner) - began_us, code);
	return code;
}

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
	if (tasks->config.relist_ms == 0)
		tasks->config.relist_ms = TASK_CONTROLLER_RELIST_MS;
	/* A runtime that was unreachable for a while is local: it is retried soon, for many tasks
	 * at once. */
	if (tasks->config.queue.backoff_most_us == 0)
		tasks->config.queue.backoff_most_us = BACKOFF_MOST_US;
	if (tasks->config.queue.retries_per_second == 0)
		tasks->config.queue.retries_per_second = RETRIES_PER_SECOND;
	controller_handle_init(&tasks->handle, config->runner, "notices of a runtime");
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
	tasks->row = task_controller_row;
	if (tasks->config.workers > 0)
		tasks->row.workers = tasks->config.workers;
	code = controller_start(&tasks->row, &config, &controller, err);
	if (code < 0)
		return code;
	controller_handle_open(&tasks->handle, controller);
	/* Notices are handled from here on; earlier changes are in the listing. */
	controller_add(controller, SPAN(KEY_EVERYTHING));
	return 0;
}

void task_controller_stop(struct task_controller *tasks)
{
	if (tasks)
		controller_handle_close(&tasks->handle);
}

void task_controller_free(struct task_controller *tasks)
{
	if (!tasks)
		return;
	map_clear(&tasks->ended);
	map_clear(&tasks->refused);
	controller_handle_destroy(&tasks->handle);
	lock_destroy(&tasks->lock);
	free(tasks);
}

struct controller *task_controller_controller(struct task_controller *tasks)
{
	return tasks->handle.controller;
}
