/* Services as groups of a runtime, and tasks of groups as tasks of services; see the header. */
#include "ecs/service/service_group.h"

#include "ecs/record/container_instance.h"
#include "ecs/service/service_work.h"
#include "ecs/task/task_create.h"
#include "ecs/task/task_observe.h"
#include "ecs/task/task_spec.h"
#include "ecs/task/task_traffic.h"

#define KEY_SLASHES 3 /* in the key of a service */

/* "ACCOUNT/REGION/CLUSTER/SERVICE" of an id that may have a number behind it; *ret_number "" if not. */
static struct span split_id(struct span id, struct span *ret_number)
{
	size_t slashes = 0;

	*ret_number = SPAN("");
	for (size_t i = 0; i < id.length; i++)
		if (id.data[i] == '/' && ++slashes > KEY_SLASHES) {
			*ret_number = (struct span){id.data + i + 1, id.length - i - 1};
			return (struct span){id.data, i};
		}
	return id;
}

struct span service_group_service(struct span id)
{
	struct span number;

	return split_id(id, &number);
}

/* ---- the component ---- */

static int open_service(struct service_work *work, struct err *err)
{
	work->service = store_get(service_head(work), &service_kind, work->key);
	if (!work->service || service_facts(work->service)->status == SERVICE_INACTIVE)
		return err_set(err, -ENOENT, "there is no service %.*s", SPAN_ARGS(work->key));
	work->facts = *service_facts(work->service);
	return 0;
}

static int find_set(struct service_work *work, struct span number,
	struct service_component *ret_part, struct err *err)
{
	const struct store_object *object = store_get(service_head(work), &task_set_kind,
		service_component_key(work->arena, work->key, number));

	if (!object)
		return err_set(err, -ENOENT,
			"there is no task set " SERVICE_DEPLOYMENT_PREFIX "%.*s",
			SPAN_ARGS(number));
	*ret_part = (struct service_component){.object = object,
		.number = task_set_facts(object)->number,
		.family = task_set_facts(object)->family,
		.revision = task_set_facts(object)->revision,
		.is_set = true,
		.set = *task_set_facts(object)};
	return 0;
}

static int find_deployment(struct service_work *work, struct span number,
	struct service_component *ret_part, struct err *err)
{
	const struct store_object *object =
		number.length > 0 ? store_get(service_head(work), &service_deployment_kind,
					    service_component_key(work->arena, work->key, number))
				  : service_primary_deployment(service_head(work), work->key);

	if (!object)
		return err_set(err, -ENOENT,
			"there is no deployment " SERVICE_DEPLOYMENT_PREFIX "%.*s",
			SPAN_ARGS(number));
	*ret_part = (struct service_component){.object = object,
		.number = service_deployment_facts(object)->number,
		.family = service_deployment_facts(object)->family,
		.revision = service_deployment_facts(object)->revision,
		.deployment = *service_deployment_facts(object)};
	return 0;
}

/* ---- the group ---- */

/* Stands for any task of the component: the facts that a spec is made from. */
static struct task_facts facts_of(const struct service_work *work,
	const struct service_component *component, const struct task_request *order)
{
	return (struct task_facts){.cluster = work->facts.cluster,
		.family = component->family,
		.revision = component->revision,
		.group = order->group,
		.service = work->facts.name};
}

/* As with tasks that the service controller starts, a task without a health check must have run for
 * a while: longer where a crash may come later, because tasks have failed or the breaker is
 * enabled. */
static int64_t settle_seconds(const struct service_work *work,
	const struct service_component *component, const struct task_request *order)
{
	int64_t failed = component->is_set ? component->set.failed : component->deployment.failed;

	if (order->needs->checked || json_count(json_get(order->traffic, "groups")) > 0)
		return 0;
	return (work->facts.breaker || failed > 0 ? SERVICE_SETTLED_MS : SERVICE_READY_MS) / 1000;
}

static int make_spec(struct service_work *work, const struct service_component *component,
	const char *secrets, struct json **ret_spec, int64_t *ret_settle_seconds, struct err *err)
{
	_launch_ struct service_launch *launch = NULL;
	struct span cluster_key = task_cluster_key(work->key);
	struct span scope = {work->key.data, cluster_key.length - work->facts.cluster.length};
	const struct task_request *order;
	struct task_facts facts;
	struct task_spec_write spec;
	int code = service_launch_read(work, component, &launch, err);

	if (code < 0)
		return code;
	if (!launch)
		return err_set(err, -EINVAL, "was unable to place a task because %.*s",
			SPAN_ARGS(work->failure.event));
	order = service_launch_request(launch);
	facts = facts_of(work, component, order);
	spec = (struct task_spec_write){.arena = work->arena,
		.cluster_key = cluster_key,
		.facts = &facts,
		.definition = order->definition_document,
		.desired = order->desired,
		.gated = order->traffic != NULL,
		.hold_seconds = task_traffic_hold_seconds(work->view, scope, order->traffic),
		.secrets = secrets};
	*ret_settle_seconds = settle_seconds(work, component, order);
	return task_spec_make(&spec, ret_spec, err);
}

/* A task set is scaled on its own. */
static int find_wanted(struct service_work *work, struct span number,
	struct service_component *ret_part, int64_t *ret_desired, struct err *err)
{
	bool sets = work->facts.controller != SERVICE_CONTROLLED_BY_ECS;
	int code;

	if (work->facts.status != SERVICE_ACTIVE || sets != (number.length > 0))
		return err_set(err, -ENOENT, "service %.*s is being deleted",
			SPAN_ARGS(work->facts.name));
	code = sets ? find_set(work, number, ret_part, err)
		    : find_deployment(work, SPAN(""), ret_part, err);
	if (code < 0)
		return code;
	if (sets && ret_part->set.status == TASK_SET_DRAINING)
		return err_set(err, -ENOENT, "task set %.*s is being deleted", SPAN_ARGS(number));
	*ret_desired = sets ? ret_part->set.computed : work->facts.desired;
	return 0;
}

/* ---- tasks to replace ---- */

static struct span version_of(struct service_work *work, const struct service_component *component)
{
	return arena_format(work->arena, SERVICE_DEPLOYMENT_PREFIX "%.*s",
		SPAN_ARGS(component->number));
}

static bool is_draining(const struct store_object *instance)
{
	return container_instance_facts(instance)->status == CONTAINER_INSTANCE_DRAINING;
}

static bool is_on_draining(struct service_work *work, const struct task_facts *task)
{
	const struct store_object *instance = store_get(work->view, &container_instance_kind,
		arena_format(work->arena, "%.*s/%.*s", SPAN_ARGS(task_cluster_key(work->key)),
			SPAN_ARGS(task->instance)));

	return instance && is_draining(instance);
}

/* Tasks of the component on draining instances. A task that is being stopped counts until its
 * runtime has let it go: if the number fell before that, the runtime would choose the task to
 * remove, and could choose the replacement. */
static int64_t count_moving(struct service_work *work, const struct service_component *component)
{
	struct store_cursor instances = {.view = work->view,
		.kind = &container_instance_kind,
		.index = CONTAINER_INSTANCE_BY_STATUS,
		.prefix =
			arena_format(work->arena, "%.*s/%s", SPAN_ARGS(task_cluster_key(work->key)),
				container_instance_status_name(CONTAINER_INSTANCE_DRAINING)),
		.exact = true};
	struct span version = version_of(work, component);
	const struct store_object *instance, *task;
	int64_t count = 0;

	while ((instance = store_next(&instances))) {
		struct store_cursor tasks = {.view = work->view,
			.kind = &task_kind,
			.index = TASK_BY_INSTANCE,
			.prefix = arena_format(work->arena, "%.*s/live/%.*s",
				SPAN_ARGS(instance->key), SPAN_ARGS(work->facts.name)),
			.exact = true};

		while ((task = store_next(&tasks)))
			count += !task_facts(task)->let_go &&
				 span_equal(task_facts(task)->deployment, version);
	}
	return count;
}

static struct store_cursor tasks_of_class(struct service_work *work,
	const struct service_component *component, enum task_class class)
{
	return (struct store_cursor){.view = work->view,
		.kind = &task_kind,
		.index = TASK_BY_SERVICE,
		.prefix = arena_format(work->arena, "%.*s/live/%.*s/%c", SPAN_ARGS(work->key),
			SPAN_ARGS(version_of(work, component)), task_class_letters[class]),
		.exact = true};
}

/* On other instances, and after their grace period. */
static int64_t count_unhealthy(struct service_work *work, const struct service_component *component)
{
	struct store_cursor cursor = tasks_of_class(work, component, TASK_CLASS_UNHEALTHY);
	const struct store_object *task;
	int64_t count = 0;

	while ((task = store_next(&cursor))) {
		int64_t judged_ms = task_facts(task)->started_ms + work->facts.grace_ms;

		if (work->facts.grace_ms > 0 && judged_ms > work->now_ms)
			service_again_at(work, judged_ms);
		else
			count += !is_on_draining(work, task_facts(task));
	}
	return count;
}

static bool was_stopped_by_service(struct service_work *work, const struct store_object *task)
{
	struct json *document;

	return json_parse(task->api, work->arena, &document, NULL) == 0 &&
	       span_is(json_get_text(document, "stopCode"), TASK_STOP_CODE_SERVICE);
}

/* On other instances, and replaced already: like above they count until they are let go. */
static int64_t count_leaving(struct service_work *work, const struct service_component *component)
{
	struct store_cursor cursor = tasks_of_class(work, component, TASK_CLASS_STOPPING);
	const struct store_object *task;
	int64_t count = 0;

	while ((task = store_next(&cursor)))
		count += !task_facts(task)->let_go && !is_on_draining(work, task_facts(task)) &&
			 was_stopped_by_service(work, task);
	return count;
}

/* Tasks that are being or have been replaced and keep their place until then. */
static int64_t count_replaced(struct service_work *work, const struct service_component *component)
{
	int64_t backoff_ms = service_component_backoff(work, component);
	int64_t count = count_moving(work, component) + count_leaving(work, component);

	/* As with tasks that the service controller starts, the next one may have to wait. */
	service_again_at(work, backoff_ms);
	return backoff_ms > 0 ? count : count + count_unhealthy(work, component);
}

/* Tasks that move or are unhealthy are replaced before they stop, where maximumPercent leaves room:
 * meanwhile there are more. */
static int64_t desired_for_now(struct service_work *work, const struct service_component *component,
	int64_t desired)
{
	int64_t most = rollout_percent_down((unsigned)desired, (unsigned)work->facts.maximum);
	int64_t replaced;

	if (work->facts.strategy == SERVICE_DAEMON || most <= desired)
		return desired;
	replaced = count_replaced(work, component);
	return desired + (replaced < most - desired ? replaced : most - desired);
}

/* ---- the whole group ---- */

int service_group_make(const struct service_group_spec *order, struct runtime_group *ret_group,
	int64_t *ret_again_ms, struct err *err)
{
	struct service_work work = {
		.view = order->view, .arena = order->arena, .now_ms = order->now_ms};
	struct service_component component;
	struct span number;
	struct json *spec = NULL;
	int64_t desired = 0, settle = 0;
	int code;

	work.key = split_id(order->id, &number);
	code = open_service(&work, err);
	if (code == 0)
		code = find_wanted(&work, number, &component, &desired, err);
	if (code == 0)
		code = make_spec(&work, &component, order->secrets, &spec, &settle, err);
	if (code < 0)
		return code;
	*ret_group = (struct runtime_group){
		.id = order->id,
		.version = version_of(&work, &component),
		.daemon = work.facts.strategy == SERVICE_DAEMON,
		.desired = desired_for_now(&work, &component, desired),
		.minimum_healthy = work.facts.minimum_healthy,
		.maximum = work.facts.maximum,
		.settle_seconds = settle,
		.spec = spec,
	};
	*ret_again_ms = work.again_ms;
	return 0;
}

/* ---- tasks that the runtime created ---- */

static int find_version(struct service_work *work, struct span set, struct span version,
	struct service_component *ret_part, struct err *err)
{
	struct span prefix = SPAN(SERVICE_DEPLOYMENT_PREFIX), number;

	if (!span_starts_with(version, prefix) || version.length == prefix.length)
		return err_set(err, -ENOENT, "'%.*s' is no deployment", SPAN_ARGS(version));
	number = (struct span){version.data + prefix.length, version.length - prefix.length};
	return set.length > 0 ? find_set(work, set, ret_part, err)
			      : find_deployment(work, number, ret_part, err);
}

int service_group_adopt(struct store_transaction *transaction, const struct runtime_task *seen,
	struct span host, struct random *random, struct err *err)
{
	_launch_ struct service_launch *launch = NULL;
	struct service_work work = {.transaction = transaction,
		.arena = store_transaction_arena(transaction),
		.random = random,
		.now_ms = seen->created_ms};
	struct store_cursor known = {.view = store_head(transaction),
		.kind = &task_kind,
		.index = TASK_BY_ID,
		.prefix = seen->token,
		.exact = true};
	struct service_component component;
	struct task_request task;
	struct span set, key;
	int code;

	if (store_next(&known))
		return 0;
	work.key = split_id(seen->group, &set);
	code = open_service(&work, err);
	if (code == 0)
		code = find_version(&work, set, seen->version, &component, err);
	if (code == 0)
		code = service_launch_read(&work, &component, &launch, err);
	if (code < 0)
		return code;
	if (!launch)
		return err_set(err, -EINVAL, "a task of service %.*s is not written down: %.*s",
			SPAN_ARGS(work.facts.name), SPAN_ARGS(work.failure.event));
	task = *service_launch_request(launch);
	task.id = seen->token;
	task.host = host;
	code = task_create(transaction, &task, &key, err);
	if (code == 0)
		code = service_report_of_task(transaction, key, "has started", "tasks.",
			seen->created_ms, err);
	return code;
}
