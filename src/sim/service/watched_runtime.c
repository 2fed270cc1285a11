/* See the header. */
#include "sim/service/watched_runtime.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "cloudmap/cloudmap.h"
#include "ecs/record/container_instance.h"
#include "ecs/service/service_group.h"
#include "elb/elb.h"
#include "rollout/rollout.h"

#define report service_checker_report

struct watched_runtime {
	struct runtime runtime;
	struct runtime *inner;
	struct runner *runner;
	struct service_checker *checker;
};

static struct watched_runtime *watched_of(struct runtime *runtime)
{
	return CONTAINER_OF(runtime, struct watched_runtime, runtime);
}

/* NULL while everything is restarted: then a call is the last one of a server that has crashed. */
static struct store_view *open_view(struct watched_runtime *watched)
{
	struct store *store = service_checker_store(watched->checker);

	return store ? store_view_open(store) : NULL;
}

/* ---- desired state ---- */

/* Of a group, as the store has it. */
struct wanted {
	bool exists;
	struct service_facts service;
	struct span number; /* of the deployment or task set */
	int64_t desired;
};

static void find_wanted(const struct store_view *view, struct span id, struct wanted *ret_wanted)
{
	struct span key = service_group_service(id);
	const struct store_object *service = store_get(view, &service_kind, key), *part;
	bool is_set = id.length > key.length;

	*ret_wanted = (struct wanted){0};
	if (!service || service_facts(service)->status != SERVICE_ACTIVE ||
		is_set != (service_facts(service)->controller != SERVICE_CONTROLLED_BY_ECS))
		return;
	ret_wanted->service = *service_facts(service);
	part = is_set ? store_get(view, &task_set_kind, id) : service_primary_deployment(view, key);
	if (!part || (is_set && task_set_facts(part)->status == TASK_SET_DRAINING))
		return;
	ret_wanted->exists = true;
	ret_wanted->number =
		is_set ? task_set_facts(part)->number : service_deployment_facts(part)->number;
	ret_wanted->desired = is_set ? task_set_facts(part)->computed : ret_wanted->service.desired;
}

static bool is_version(struct span version, struct span number)
{
	size_t prefix = sizeof(SERVICE_DEPLOYMENT_PREFIX) - 1;

	return version.length == prefix + number.length && span_ends_with(version, number);
}

static bool is_on_draining(const struct store_view *view, const struct store_object *task)
{
	char key[STORE_KEY_MAX];
	const struct store_object *instance;

	snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(task_cluster_key(task->key)),
		SPAN_ARGS(task_facts(task)->instance));
	instance = store_get(view, &container_instance_kind, span_of(key));
	return instance &&
	       container_instance_facts(instance)->status == CONTAINER_INSTANCE_DRAINING;
}

/* Tasks of the version that are to be replaced, or were, and have not gone. */
static int64_t count_replaced(const struct store_view *view, struct span number)
{
	struct store_cursor cursor = {.view = view, .kind = &task_kind, .index = -1};
	const struct store_object *task;
	int64_t count = 0;

	while ((task = store_next(&cursor))) {
		const struct task_facts *facts = task_facts(task);
		enum task_class class = task_class_of(facts);

		if (facts->last < TASK_STOPPED && !facts->let_go &&
			is_version(facts->deployment, number))
			count += class == TASK_CLASS_UNHEALTHY || class == TASK_CLASS_STOPPING ||
				 is_on_draining(view, task);
	}
	return count;
}

static void check_apply(struct watched_runtime *watched, const struct runtime_group *group)
{
	_view_ struct store_view *view = open_view(watched);
	struct wanted wanted;
	int64_t most;

	if (!view)
		return;
	find_wanted(view, group->id, &wanted);
	if (!wanted.exists) {
		report(watched->checker, "group %.*s is applied and not desired",
			SPAN_ARGS(group->id));
		return;
	}
	most = rollout_percent_down((unsigned)wanted.desired, (unsigned)wanted.service.maximum);
	if (most > wanted.desired + count_replaced(view, wanted.number))
		most = wanted.desired + count_replaced(view, wanted.number);
	if (most < wanted.desired)
		most = wanted.desired;
	if (!is_version(group->version, wanted.number))
		report(watched->checker, "group %.*s is applied as %.*s, and %.*s is wanted",
			SPAN_ARGS(group->id), SPAN_ARGS(group->version), SPAN_ARGS(wanted.number));
	if (!group->daemon && (group->desired < wanted.desired || group->desired > most))
		report(watched->checker,
			"group %.*s is to have %" PRId64 " tasks, and %" PRId64 " to %" PRId64
			" are allowed",
			SPAN_ARGS(group->id), group->desired, wanted.desired, most);
	if (group->daemon != (wanted.service.strategy == SERVICE_DAEMON) ||
		group->minimum_healthy != wanted.service.minimum_healthy ||
		group->maximum != wanted.service.maximum)
		report(watched->checker, "group %.*s is applied with other percentages",
			SPAN_ARGS(group->id));
}

static void check_remove(struct watched_runtime *watched, struct span id)
{
	_view_ struct store_view *view = open_view(watched);
	struct wanted wanted;

	if (!view)
		return;
	find_wanted(view, id, &wanted);
	if (wanted.exists)
		report(watched->checker, "group %.*s is removed and is wanted", SPAN_ARGS(id));
}

/* ---- tasks ---- */

static const struct store_object *find_task(const struct store_view *view, struct span token)
{
	struct store_cursor cursor = {.view = view,
		.kind = &task_kind,
		.index = TASK_BY_ID,
		.prefix = token,
		.exact = true};

	return store_next(&cursor);
}

static bool has_target(const struct store_view *view, const struct store_object *task)
{
	struct store_cursor cursor = {.view = view,
		.kind = &elb_target_kind,
		.index = ELB_TARGET_BY_OWNER,
		.prefix = task->key,
		.exact = true};

	return store_next(&cursor) != NULL;
}

/* A token without a task: is it one that would have to become a task? */
static bool is_to_be_adopted(struct watched_runtime *watched, const struct store_view *view,
	struct span token)
{
	struct span group, version;
	struct wanted wanted;

	service_checker_find_group(watched->checker, token, &group, &version);
	if (group.length == 0)
		return false;
	find_wanted(view, group, &wanted);
	return wanted.exists && is_version(version, wanted.number);
}

static void check_left(struct watched_runtime *watched, const struct store_view *view,
	const struct store_object *task)
{
	const struct task_facts *facts = task_facts(task);

	if (facts->traffic == TASK_TRAFFIC_REGISTERED)
		report(watched->checker, "task %.*s is asked to end and is registered",
			SPAN_ARGS(facts->id));
	if (has_target(view, task))
		report(watched->checker, "task %.*s is asked to end and has a target",
			SPAN_ARGS(facts->id));
	if (service_checker_forgotten_ms(watched->checker, facts->id) >
		runner_wall_ms(watched->runner))
		report(watched->checker, "task %.*s is asked to end and its name is remembered",
			SPAN_ARGS(facts->id));
}

static void check_stop(struct watched_runtime *watched, struct span token)
{
	_view_ struct store_view *view = open_view(watched);
	const struct store_object *task;

	if (!view)
		return;
	service_checker_check(watched->checker);
	task = find_task(view, token);
	if (!task && is_to_be_adopted(watched, view, token))
		report(watched->checker, "task %.*s of a group is ended and not written down",
			SPAN_ARGS(token));
	if (task && task_facts(task)->desired != TASK_STOPPED)
		report(watched->checker, "task %.*s is asked to end without a decision",
			SPAN_ARGS(token));
	if (task && task_facts(task)->last < TASK_STOPPED)
		check_left(watched, view, task);
}

static void check_acknowledge(struct watched_runtime *watched, struct span token)
{
	_view_ struct store_view *view = open_view(watched);
	const struct store_object *task;

	if (!view)
		return;
	task = find_task(view, token);
	if (task ? task_facts(task)->last < TASK_STOPPED : is_to_be_adopted(watched, view, token))
		report(watched->checker,
			"the end of task %.*s is acknowledged and not written down",
			SPAN_ARGS(token));
}

static void check_open_gate(struct watched_runtime *watched, struct span token)
{
	_view_ struct store_view *view = open_view(watched);
	const struct store_object *task = view ? find_task(view, token) : NULL;

	if (view && (!task || task_facts(task)->last < TASK_RUNNING))
		report(watched->checker, "the gate of task %.*s is opened before traffic comes",
			SPAN_ARGS(token));
}

static void check_start(struct watched_runtime *watched, struct span token)
{
	_view_ struct store_view *view = open_view(watched);
	const struct store_object *task = view ? find_task(view, token) : NULL;

	if (task && task_facts(task)->service.length > 0)
		report(watched->checker, "task %.*s is of a service and is started by us",
			SPAN_ARGS(token));
}

static void check_cordon(struct watched_runtime *watched, struct span id, bool closed)
{
	_view_ struct store_view *view = open_view(watched);
	struct store_cursor cursor = {.view = view, .kind = &container_instance_kind, .index = -1};
	const struct store_object *instance;

	while (view && (instance = store_next(&cursor))) {
		const struct container_instance_facts *facts = container_instance_facts(instance);

		if (span_equal(container_instance_runtime_id(facts), id) &&
			closed != (facts->status == CONTAINER_INSTANCE_DRAINING))
			report(watched->checker, "instance %.*s is %s and is to be %s",
				SPAN_ARGS(id), container_instance_status_name(facts->status),
				closed ? "closed" : "open");
	}
}

/* ---- the operations ---- */

static int list_instances(struct runtime *runtime, struct arena *arena,
	struct runtime_instance **ret_instances, size_t *ret_count, struct err *err)
{
	struct runtime *inner = watched_of(runtime)->inner;

	return inner->operations->list_instances(inner, arena, ret_instances, ret_count, err);
}

static int list_tasks(struct runtime *runtime, struct arena *arena, struct span **ret_tokens,
	size_t *ret_count, struct err *err)
{
	struct runtime *inner = watched_of(runtime)->inner;

	return inner->operations->list_tasks(inner, arena, ret_tokens, ret_count, err);
}

static int start(struct runtime *runtime, struct span token, struct span instance,
	const struct json *spec, struct err *err)
{
	struct runtime *inner = watched_of(runtime)->inner;

	check_start(watched_of(runtime), token);
	return inner->operations->start(inner, token, instance, spec, err);
}

static int stop(struct runtime *runtime, struct span token, struct span reason, struct err *err)
{
	struct runtime *inner = watched_of(runtime)->inner;

	check_stop(watched_of(runtime), token);
	return inner->operations->stop(inner, token, reason, err);
}

static int get(struct runtime *runtime, struct span token, struct arena *arena,
	struct runtime_task **ret_task, struct err *err)
{
	struct runtime *inner = watched_of(runtime)->inner;

	return inner->operations->get(inner, token, arena, ret_task, err);
}

static int acknowledge(struct runtime *runtime, struct span token, struct err *err)
{
	struct runtime *inner = watched_of(runtime)->inner;

	check_acknowledge(watched_of(runtime), token);
	return inner->operations->acknowledge(inner, token, err);
}

static void close_watched(struct runtime *runtime)
{
	struct watched_runtime *watched = watched_of(runtime);

	watched->inner->operations->close(watched->inner);
	free(watched);
}

static int apply(struct runtime *runtime, const struct runtime_group *group, struct err *err)
{
	struct runtime *inner = watched_of(runtime)->inner;

	check_apply(watched_of(runtime), group);
	return inner->operations->groups->apply(inner, group, err);
}

static int remove_group(struct runtime *runtime, struct span id, struct err *err)
{
	struct runtime *inner = watched_of(runtime)->inner;

	check_remove(watched_of(runtime), id);
	return inner->operations->groups->remove(inner, id, err);
}

static int get_group(struct runtime *runtime, struct span id, struct arena *arena,
	struct runtime_group_state **ret_group, struct err *err)
{
	struct runtime *inner = watched_of(runtime)->inner;

	return inner->operations->groups->get(inner, id, arena, ret_group, err);
}

static int list_groups(struct runtime *runtime, struct arena *arena, struct span **ret_ids,
	size_t *ret_count, struct err *err)
{
	struct runtime *inner = watched_of(runtime)->inner;

	return inner->operations->groups->list(inner, arena, ret_ids, ret_count, err);
}

static int open_gate(struct runtime *runtime, struct span token, struct err *err)
{
	struct runtime *inner = watched_of(runtime)->inner;

	check_open_gate(watched_of(runtime), token);
	return inner->operations->groups->open_gate(inner, token, err);
}

static int cordon(struct runtime *runtime, struct span instance, bool closed, struct err *err)
{
	struct runtime *inner = watched_of(runtime)->inner;

	check_cordon(watched_of(runtime), instance, closed);
	return inner->operations->groups->cordon(inner, instance, closed, err);
}

static const struct runtime_group_operations group_operations = {.apply = apply,
	.remove = remove_group,
	.get = get_group,
	.list = list_groups,
	.open_gate = open_gate,
	.cordon = cordon};

static const struct runtime_operations operations = {.name = "simulated",
	.groups = &group_operations,
	.list_instances = list_instances,
	.list_tasks = list_tasks,
	.start = start,
	.stop = stop,
	.get = get,
	.acknowledge = acknowledge,
	.close = close_watched};

struct runtime *watched_runtime_new(struct runtime *inner, struct runner *runner,
	struct service_checker *checker)
{
	struct watched_runtime *watched = memory_allocate(sizeof(*watched));

	watched->runtime.operations = &operations;
	watched->inner = inner;
	watched->runner = runner;
	watched->checker = checker;
	return &watched->runtime;
}
