/* The watches of the service controller, and the order of its steps; see the header. */
#include "ecs/service/service_controller.h"

#include <stdio.h>

#include "control/write.h"
#include "ecs/record/container_instance.h"
#include "ecs/service/service_work.h"

#define WORKERS 4

/* ---- one pass over one service ---- */

void service_again_at(struct service_work *work, int64_t at_ms)
{
	if (at_ms > 0 && (work->again_ms == 0 || at_ms < work->again_ms))
		work->again_ms = at_ms;
}

static const struct json *parse(struct service_work *work, struct span text)
{
	struct json *document;

	if (text.length == 0 || json_parse(text, work->arena, &document, NULL) < 0)
		return json_new_object(work->arena);
	return document;
}

const struct json *service_document(struct service_work *work)
{
	if (!work->shown)
		work->shown = parse(work, work->service->api);
	return work->document ? work->document : work->shown;
}

struct json *service_component_document_edit(struct service_work *work,
	struct service_component *component)
{
	if (!component->document)
		component->document =
			json_copy_object(work->arena, parse(work, component->object->api));
	component->changed = true;
	return component->document;
}

void service_show(struct service_work *work, struct json *document, const char *name,
	const struct json *value)
{
	if (json_get(document, name))
		json_set(work->arena, document, name, value);
}

static int write_object(struct service_work *work, const struct store_object *object,
	const struct json *document, const void *facts, struct err *err)
{
	struct json *private_;
	int code;

	if (!document)
		return service_object_put_facts(work->transaction, object, facts, work->arena, err);
	code = json_parse(object->private_, work->arena, &private_, err);
	if (code < 0)
		return code;
	return service_object_put(work->transaction, object->kind, object->key, document, facts,
		json_get(private_, "tags"), object->revision, work->arena, err);
}

int service_write_changes(struct service_work *work, struct err *err)
{
	for (size_t i = 0; i < work->part_count; i++) {
		struct service_component *component = &work->parts[i];
		const void *facts = component->is_set ? (const void *)&component->set
						      : (const void *)&component->deployment;
		int code;

		if (!component->changed)
			continue;
		if (!service_may_write(work))
			return SERVICE_DUE;
		code = write_object(work, component->object, component->document, facts, err);
		if (code < 0)
			return code;
	}
	if (!work->changed)
		return 0;
	if (!service_may_write(work))
		return SERVICE_DUE;
	return write_object(work, work->service, work->document, &work->facts, err);
}

/* ---- the steps ---- */

/* Live tasks of the service. */
static struct span live_prefix(struct service_work *work)
{
	return arena_format(work->arena, "%.*s/live/", SPAN_ARGS(work->key));
}

/* A runtime that keeps replicas itself may have created tasks of a deployment that had none at the
 * last report: it removes them as it lowers the number of replicas, and until then the service is
 * not steady. */
static bool has_stray_tasks(struct service_work *work)
{
	int64_t live = (int64_t)store_count(service_head(work), &task_kind, TASK_BY_SERVICE,
		live_prefix(work), false);

	for (size_t i = 0; i < work->part_count; i++)
		live -= work->parts[i].live;
	return live > 0;
}

/* Such a runtime removes unavailable tasks first in the next rollout. Not checked for daemons: they
 * are counted on nodes outside this server, too. */
static bool is_available(const struct service_work *work)
{
	return work->facts.strategy == SERVICE_DAEMON ||
	       service_component_is_called(work->primary, work->facts.group_available);
}

static int step_deployments(struct service_work *work, struct err *err)
{
	int code = service_rollout_begin(work, err);
	bool frozen;

	if (code < 0 || !work->primary)
		return code;
	frozen = service_rollout_is_frozen(work);
	if (work->facts.strategy == SERVICE_DAEMON) {
		code = service_plan_daemon(work, frozen, err);
	} else {
		struct rollout_replica_plan plan;

		code = service_plan_replicas(work, work->parts, work->part_count,
			(size_t)(work->primary - work->parts), work->facts.desired, frozen, &plan,
			err);
		if (code == 0) {
			work->complete = plan.complete;
			work->steady = plan.steady;
			work->stuck = plan.blocked == ROLLOUT_BLOCKED_NO_ROOM;
		}
	}
	if (code == 0 && service_is_group(work) && (has_stray_tasks(work) || !is_available(work)))
		work->steady = work->complete = false;
	if (code == 0)
		code = service_report_tasks(work, err);
	if (code == 0 && work->complete && service_has_progress(work) &&
		service_primary_is_unproven(work))
		work->steady = work->complete = false;
	if (code == 0)
		code = service_rollout_end(work, err);
	if (code == 0 && work->steady && !frozen)
		code = service_report_steady(work, err);
	return code;
}

/* Collects up to `room` tasks of a component with desired status RUNNING. */
static size_t collect_wanted(struct service_work *work, const struct service_component *component,
	const struct store_object **tasks, size_t room)
{
	size_t count = 0;

	for (size_t class = 0; class < TASK_CLASS_COUNT; class ++) {
		struct store_cursor cursor = {.view = service_head(work),
			.kind = &task_kind,
			.index = TASK_BY_SERVICE,
			.prefix = arena_format(work->arena,
				"%.*s/live/" SERVICE_DEPLOYMENT_PREFIX "%.*s/%c",
				SPAN_ARGS(work->key), SPAN_ARGS(component->number),
				task_class_letters[class]),
			.exact = true};
		const struct store_object *task;

		while (class != TASK_CLASS_STOPPING && count < room && (task = store_next(&cursor)))
			tasks[count++] = task;
	}
	return count;
}

/* Deleted: every task stops, regardless of percentages and protection. */
static int stop_all(struct service_work *work, struct err *err)
{
	const struct store_object *tasks[SERVICE_STOPS_MAX];
	int code = 0;

	for (size_t i = 0; i < work->part_count; i++) {
		size_t room = SERVICE_STOPS_MAX - work->stopped.count;
		size_t count = collect_wanted(work, &work->parts[i], tasks, room);

		for (size_t place = 0; code == 0 && place < count; place++)
			code = service_stop_task(work, &work->parts[i], tasks[place], false, err);
		if (code < 0)
			return code;
	}
	if (work->stopped.count == SERVICE_STOPS_MAX)
		service_again_at(work, work->now_ms);
	return service_report_tasks(work, err);
}

static int step_draining(struct service_work *work, struct err *err)
{
	int code = stop_all(work, err);

	if (code < 0 || store_count(service_head(work), &task_kind, TASK_BY_SERVICE,
				live_prefix(work), false) > 0)
		return code;
	if (!service_may_write(work))
		return SERVICE_DUE;
	code = work->facts.controller == SERVICE_CONTROLLED_BY_ECS
		       ? service_rollout_finish(work, err)
		       : service_task_sets_finish(work, err);
	if (code < 0)
		return code;
	work->facts.status = SERVICE_INACTIVE;
	work->facts.ended_ms = work->now_ms;
	work->changed = true;
	return 0;
}

static int step(struct service_work *work, struct err *err)
{
	bool sets;
	int code;

	work->service = store_get(service_head(work), &service_kind, work->key);
	if (!work->service || service_facts(work->service)->status == SERVICE_INACTIVE)
		return 0;
	work->facts = *service_facts(work->service);
	sets = work->facts.controller != SERVICE_CONTROLLED_BY_ECS;
	code = sets ? service_task_sets_read(work, err) : service_rollout_read(work, err);
	if (code < 0)
		return code;
	if (work->facts.status == SERVICE_DRAINING)
		code = step_draining(work, err);
	else
		code = sets ? service_task_sets_step(work, err) : step_deployments(work, err);
	if (code == 0)
		code = service_write_changes(work, err);
	return code;
}

/* ---- reconcile ---- */

struct attempt {
	struct controller_call *call;
	struct span key;
	const struct store_view *view;
	int64_t again_ms;
	struct service_log log;
};

static int try_on(struct attempt *attempt, struct store_transaction *transaction, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct service_work work = {
		.transaction = transaction,
		.view = attempt->view,
		.arena = arena,
		.random = runner_random(attempt->call->runner),
		.now_ms = runner_wall_ms(attempt->call->runner),
		.control = attempt->call->context,
		.key = attempt->key,
		.log = transaction ? &attempt->log : NULL,
	};
	int code;

	attempt->log.count = 0;
	code = step(&work, err);

	attempt->again_ms = work.again_ms;
	return code;
}

static int write_steps(struct store_transaction *transaction, void *context, struct err *err)
{
	return try_on(context, transaction, err);
}

static int write_attempt(struct attempt *attempt, struct err *err)
{
	const struct service_control *control = attempt->call->context;
	_arena_ struct arena *arena = arena_new(0);
	int code;

	attempt->log.arena = arena;
	code = control_write(attempt->call->runner, attempt->call->store, write_steps, attempt,
		NULL, err);
	if (code < 0 || !control || !control->log_transition)
		return code;
	for (unsigned i = 0; i < attempt->log.count; i++)
		control->log_transition(control->log_context, attempt->log.lines[i].bad,
			attempt->log.lines[i].text);
	return code;
}

static int reconcile_service(struct controller_call *call, struct span key, struct err *err)
{
	_view_ struct store_view *view = store_view_open(call->store);
	struct attempt attempt = {.call = call, .key = key, .view = view};
	int code = try_on(&attempt, NULL, err);

	if (code == SERVICE_DUE)
		code = write_attempt(&attempt, err);
	if (code < 0)
		return code;
	if (attempt.again_ms > 0 &&
		(call->again_at_ms == 0 || attempt.again_ms < call->again_at_ms))
		call->again_at_ms = attempt.again_ms;
	return 0;
}

/* An instance of the cluster was added, removed or changed: any of its services may need a pass. */
static int reconcile_cluster(struct controller_call *call, struct span cluster, struct err *err)
{
	_view_ struct store_view *view = store_view_open(call->store);
	struct store_cursor cursor = {.view = view,
		.kind = &service_kind,
		.index = SERVICE_BY_LISTED,
		.prefix = cluster,
		.exact = true};
	const struct store_object *service;
	int first = 0;

	while ((service = store_next(&cursor))) {
		int code = reconcile_service(call, service->key, first < 0 ? NULL : err);

		if (code == -ECANCELED)
			return code;
		if (first == 0)
			first = code;
	}
	return first;
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	bool is_cluster = task_cluster_key(key).length == key.length;

	return is_cluster ? reconcile_cluster(call, key, err) : reconcile_service(call, key, err);
}

/* ---- watches ---- */

static void map_part(const struct store_change *change, void *context, struct controller_keys *keys)
{
	(void)context;
	controller_keys_add(keys,
		service_key_of_component(change->after ? change->after->key : change->before->key));
}

/* Changes that a plan depends on: acknowledging a task to the runtime is not one. */
static bool task_matters(const struct task_facts *before, const struct task_facts *after)
{
	return !before || !after || before->last != after->last ||
	       task_class_of(before) != task_class_of(after) ||
	       !span_equal(before->instance, after->instance) ||
	       before->protected_until_ms != after->protected_until_ms;
}

static void map_task(const struct store_change *change, void *context, struct controller_keys *keys)
{
	const struct store_object *task = change->after ? change->after : change->before;
	char key[STORE_KEY_MAX];
	int length;

	(void)context;
	if (task_facts(task)->service.length == 0 ||
		!task_matters(change->before ? task_facts(change->before) : NULL,
			change->after ? task_facts(change->after) : NULL))
		return;
	length = snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(task_cluster_key(task->key)),
		SPAN_ARGS(task_facts(task)->service));
	if (length > 0 && (size_t)length < sizeof(key))
		controller_keys_add(keys, (struct span){key, (size_t)length});
}

static void map_instance(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	(void)context;
	controller_keys_add(keys,
		task_cluster_key(change->after ? change->after->key : change->before->key));
}

static const struct controller_watch watches[] = {
	{.kind = &service_kind},
	{.kind = &service_deployment_kind, .map = map_part},
	{.kind = &task_set_kind, .map = map_part},
	{.kind = &task_kind, .map = map_task},
	{.kind = &container_instance_kind, .map = map_instance},
};

const struct controller_row service_controller_row = {
	.name = "service",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
	.workers = WORKERS,
};
