/* Statuses on a runtime that keeps replicas itself; see the header. */
#include "ecs/task/sync_status.h"

#include "ecs/record/container_instance.h"
#include "ecs/record/context.h"
#include "ecs/record/service_kind.h"

const char *sync_service_status(bool found, bool failed, int64_t replicas, int64_t ready)
{
	if (!found)
		return "INACTIVE";
	if (failed)
		return "FAILED";
	if (replicas == 0)
		return "DRAINING";
	if (ready == 0)
		return "PROVISIONING";
	return ready < replicas ? "UPDATING" : "ACTIVE";
}

/* ---- services ---- */

static const struct ecs_context *context_of(const struct aws_request *request)
{
	const struct ecs_context *context = request->context;

	return context && context->scheduler.length > 0 ? context : NULL;
}

/* Tasks of all deployments that shall run, and those of them that would take a client. */
static int64_t count_live(struct aws_request *request, const struct store_object *service,
	int64_t *ret_ready)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &service_deployment_kind,
		.index = DEPLOYMENT_BY_LIVE,
		.prefix = service->key,
		.exact = true};
	const struct store_object *deployment;
	int64_t counts[TASK_CLASS_COUNT], live = 0;

	*ret_ready = 0;
	while ((deployment = store_next(&cursor))) {
		service_count_tasks(request->view, service->key,
			service_deployment_facts(deployment)->number, counts);
		*ret_ready += counts[TASK_CLASS_HEALTHY];
		for (size_t i = 0; i < TASK_CLASS_COUNT; i++)
			live += i == TASK_CLASS_STOPPING ? 0 : counts[i];
	}
	return live;
}

static void show_state(struct aws_request *request, struct json *shown, const char *state)
{
	struct arena *arena = request->arena;
	struct json *tags = json_new_array(arena), *tag = json_new_object(arena);

	JSON_EACH_ITEM (json_get(shown, "tags"), stored)
		json_append(arena, tags, stored);
	json_set_string(arena, tag, "key", SPAN(SYNC_STATE_TAG));
	json_set_string(arena, tag, "value", span_of(state));
	json_append(arena, tags, tag);
	json_set(arena, shown, "tags", tags);
}

/* The runtime says that the PRIMARY one cannot go on. */
static void show_failed_rollout(struct aws_request *request, struct json *shown)
{
	struct arena *arena = request->arena;
	struct json *list = json_new_array(arena);

	JSON_EACH_ITEM (json_get(shown, "deployments"), deployment) {
		struct json *changed = json_copy_object(arena, deployment);

		if (span_is(json_get_text(deployment, "status"), "PRIMARY")) {
			json_set_string(arena, changed, "rolloutState", SPAN("FAILED"));
			json_set_string(arena, changed, "rolloutStateReason",
				SPAN("The runtime cannot bring it into service; the events of the "
				     "service say why."));
		}
		json_append(arena, list, changed);
	}
	json_set(arena, shown, "deployments", list);
}

void sync_show_service(struct aws_request *request, const struct store_object *service,
	struct json *shown, bool with_tags)
{
	const struct ecs_context *context = context_of(request);
	const struct service_facts *facts = service_facts(service);
	struct arena *arena = request->arena;
	const char *state;
	int64_t replicas, ready;

	if (!context || facts->controller != SERVICE_CONTROLLED_BY_ECS)
		return;
	/* While a new version comes there are more than desired. */
	replicas = count_live(request, service, &ready);
	replicas = replicas > facts->desired ? replicas : facts->desired;
	state = sync_service_status(facts->status != SERVICE_INACTIVE, facts->group_failed,
		facts->status == SERVICE_ACTIVE && facts->desired > 0 ? replicas : 0, ready);
	if (facts->group_failed)
		show_failed_rollout(request, shown);
	if (!context->seed_service_status) {
		if (with_tags)
			show_state(request, shown, state);
		return;
	}
	json_set_string(arena, shown, "status", span_of(state));
	json_set_integer(arena, shown, "runningCount", ready);
	json_set_integer(arena, shown, "pendingCount", replicas - ready);
}

/* ---- tasks ---- */

static bool node_is_lost(const struct store_view *view, const struct store_object *task,
	struct arena *arena)
{
	const struct store_object *instance = store_get(view, &container_instance_kind,
		arena_format(arena, "%.*s/%.*s", SPAN_ARGS(task_cluster_key(task->key)),
			SPAN_ARGS(task_facts(task)->instance)));

	return instance && !container_instance_facts(instance)->connected;
}

const char *sync_task_status(const struct task_facts *facts, bool lost)
{
	if (lost && facts->last < TASK_STOPPED)
		return "STOPPED";
	if (facts->last == TASK_RUNNING && facts->checked && facts->health != TASK_HEALTH_HEALTHY)
		return "ACTIVATING";
	if (facts->last == TASK_PENDING && facts->instance.length == 0)
		return "PROVISIONING";
	return task_status_name(facts->last);
}

struct span sync_show_task(struct aws_request *request, const struct store_object *task)
{
	const struct ecs_context *context = context_of(request);
	const struct task_facts *facts = task_facts(task);
	struct arena *arena = request->arena;
	struct json *stored, *shown;
	bool lost;

	if (!context || !context->seed_task_status ||
		!span_equal(facts->host, context->scheduler) ||
		json_parse(task->api, arena, &stored, NULL) < 0)
		return task->api;
	shown = json_copy_object(arena, stored);
	lost = facts->last < TASK_STOPPED && facts->instance.length > 0 &&
	       node_is_lost(request->view, task, arena);
	json_set_string(arena, shown, "lastStatus", span_of(sync_task_status(facts, lost)));
	json_set_time(arena, shown, "startedAt", facts->created_ms);
	if (facts->deletion_ms != 0)
		json_set_time(arena, shown, "stoppedAt", facts->deletion_ms);
	if (lost)
		json_set_string(arena, shown, "stoppedReason", SPAN("connection lost"));
	return json_to_text(shown, arena);
}
