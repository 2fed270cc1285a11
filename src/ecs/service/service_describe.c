/*
 * How answers show services: the stored document, with the current facts and counts: status,
 * desired, running and pending tasks, deployments, task sets, events.
 */
#include "aws/arn.h"
#include "ecs/record/cluster.h"
#include "ecs/record/name.h"
#include "ecs/record/tags.h"
#include "ecs/service/service.h"
#include "ecs/service/task_set.h"
#include "ecs/task/sync_status.h"

void service_sum_tasks(const struct store_view *view, struct span service_key, struct span number,
	int64_t ret_sums[STORE_MEASURES])
{
	_arena_ struct arena *arena = arena_new(0);
	struct span prefix = arena_format(arena, "%.*s/live/", SPAN_ARGS(service_key));

	if (number.length > 0)
		prefix = arena_format(arena, "%.*s" SERVICE_DEPLOYMENT_PREFIX "%.*s/",
			SPAN_ARGS(prefix), SPAN_ARGS(number));
	store_sum(view, &task_kind, TASK_BY_SERVICE, prefix, false, ret_sums);
}

/* ---- deployments ---- */

/* The reason for its rollout state, in ECS's text. */
static struct span rollout_reason(struct arena *arena, const struct store_object *deployment,
	const struct json *document)
{
	const struct service_deployment_facts *facts = service_deployment_facts(deployment);
	struct span back_to = json_get_text(document, "rollbackTo");
	struct span own = json_get_text(document, "rolloutStateReason");

	if (own.length > 0)
		return own;
	if (facts->rollout == ROLLOUT_FAILED && facts->requested)
		return SPAN("ECS deployment stopped by a user.");
	if (facts->rollout == ROLLOUT_FAILED)
		return SPAN("ECS deployment circuit breaker: tasks failed to start.");
	if (facts->rollout == ROLLOUT_IN_PROGRESS && back_to.length > 0)
		return arena_format(arena,
			"ECS deployment circuit breaker: rolling back to deploymentId %.*s.",
			SPAN_ARGS(back_to));
	return arena_format(arena, "ECS deployment " SERVICE_DEPLOYMENT_PREFIX "%.*s %s.",
		SPAN_ARGS(facts->number),
		facts->rollout == ROLLOUT_COMPLETED ? "completed" : "in progress");
}

/* The PRIMARY one desires all tasks of the service, the others those that they still have. */
static int64_t desired_of(const struct service_facts *service,
	const struct service_deployment_facts *facts, const int64_t sums[STORE_MEASURES])
{
	if (facts->status == DEPLOYMENT_PRIMARY)
		return service->desired;
	return sums[TASK_SUM_RUNNING] + sums[TASK_SUM_PENDING];
}

static const struct json *deployment_as_shown(struct aws_request *request,
	const struct store_object *service, const struct store_object *deployment)
{
	const struct service_deployment_facts *facts = service_deployment_facts(deployment);
	static const char *const hidden[] = {"deploymentConfiguration", "rollbackTo",
		"loadBalancers", "serviceRegistries", "rolloutStateReason", "rollback",
		"statusReason", "deploymentCircuitBreaker"};
	struct arena *arena = request->arena;
	int64_t sums[STORE_MEASURES];
	struct json *stored, *shown;

	if (json_parse(deployment->api, arena, &stored, NULL) < 0)
		stored = json_new_object(arena);
	shown = json_copy_object(arena, stored);
	for (size_t i = 0; i < LENGTH(hidden); i++)
		json_unset(shown, hidden[i]);
	service_sum_tasks(request->view, service->key, facts->number, sums);
	json_set_string(arena, shown, "id",
		arena_format(arena, SERVICE_DEPLOYMENT_PREFIX "%.*s", SPAN_ARGS(facts->number)));
	json_set_string(arena, shown, "status", span_of(deployment_status_name(facts->status)));
	json_set_integer(arena, shown, "desiredCount",
		desired_of(service_facts(service), facts, sums));
	json_set_integer(arena, shown, "pendingCount", sums[TASK_SUM_PENDING]);
	json_set_integer(arena, shown, "runningCount", sums[TASK_SUM_RUNNING]);
	json_set_integer(arena, shown, "failedTasks", facts->failed);
	json_set_time(arena, shown, "createdAt", facts->created_ms);
	json_set_time(arena, shown, "updatedAt", facts->updated_ms);
	json_set_string(arena, shown, "rolloutState", span_of(rollout_state_name(facts->rollout)));
	json_set_string(arena, shown, "rolloutStateReason",
		rollout_reason(arena, deployment, stored));
	return shown;
}

static struct json *revision_as_shown(struct aws_request *request,
	const struct store_object *service, const struct store_object *deployment)
{
	const struct service_deployment_facts *facts = service_deployment_facts(deployment);
	struct json *shown = json_new_object(request->arena);
	int64_t sums[STORE_MEASURES];

	service_sum_tasks(request->view, service->key, facts->number, sums);
	json_set_string(request->arena, shown, "arn",
		ecs_arn_of_key(request->arena, "service-revision",
			service_component_key(request->arena, service->key,
				facts->service_revision)));
	json_set_integer(request->arena, shown, "requestedTaskCount",
		desired_of(service_facts(service), facts, sums));
	json_set_integer(request->arena, shown, "runningTaskCount", sums[TASK_SUM_RUNNING]);
	json_set_integer(request->arena, shown, "pendingTaskCount", sums[TASK_SUM_PENDING]);
	return shown;
}

/* The service deployment of a service: the newest one that is not a rollback. */
static const struct store_object *current_deployment(const struct store_view *view,
	struct arena *arena, struct span service_key)
{
	struct store_cursor cursor = {.view = view,
		.kind = &service_deployment_kind,
		.index = DEPLOYMENT_BY_CREATED,
		.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(service_key)),
		.descending = true};
	const struct store_object *deployment;

	while ((deployment = store_next(&cursor)))
		if (!service_deployment_facts(deployment)->rollback)
			return deployment;
	return NULL;
}

/* Newest first, the PRIMARY one before all others. */
static void show_deployments(struct aws_request *request, const struct store_object *service,
	struct json *document)
{
	struct json *deployments = json_new_array(request->arena);
	struct json *revisions = json_new_array(request->arena);
	const struct store_object *primary =
		service_primary_deployment(request->view, service->key);
	const struct store_object *current =
		current_deployment(request->view, request->arena, service->key);
	struct store_cursor cursor = {.view = request->view,
		.kind = &service_deployment_kind,
		.index = DEPLOYMENT_BY_CREATED,
		.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(service->key)),
		.descending = true};
	const struct store_object *deployment;

	if (primary) {
		json_append(request->arena, deployments,
			deployment_as_shown(request, service, primary));
		json_append(request->arena, revisions,
			revision_as_shown(request, service, primary));
	}
	while ((deployment = store_next(&cursor))) {
		if (service_deployment_facts(deployment)->status != DEPLOYMENT_ACTIVE)
			continue;
		json_append(request->arena, deployments,
			deployment_as_shown(request, service, deployment));
		json_append(request->arena, revisions,
			revision_as_shown(request, service, deployment));
	}
	json_set(request->arena, document, "deployments", deployments);
	if (current)
		json_set_string(request->arena, document, "currentServiceDeployment",
			ecs_arn_of_key(request->arena, "service-deployment", current->key));
	if (json_count(revisions) > 0)
		json_set(request->arena, document, "currentServiceRevisions", revisions);
}

/* ---- the rest ---- */

/* A service with an EXTERNAL controller looks like its PRIMARY task set. */
static void show_task_sets(struct aws_request *request, const struct store_object *service,
	struct json *document)
{
	static const char *const taken[] = {"taskDefinition", "launchType",
		"capacityProviderStrategy", "platformVersion", "platformFamily",
		"networkConfiguration", "loadBalancers", "serviceRegistries"};
	const struct json *sets = task_set_list_shown(request, service->key);

	json_set(request->arena, document, "taskSets", sets);
	json_set(request->arena, document, "deployments", json_new_array(request->arena));
	JSON_EACH_ITEM (sets, set) {
		if (!span_is(json_get_text(set, "status"), "PRIMARY"))
			continue;
		for (size_t i = 0; i < LENGTH(taken); i++)
			json_set(request->arena, document, taken[i], json_get(set, taken[i]));
	}
}

static const struct json *events_of(struct aws_request *request, const struct store_object *service)
{
	struct json *events = json_new_array(request->arena), *event;
	struct store_cursor cursor = {.view = request->view,
		.kind = &service_event_kind,
		.index = -1,
		.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(service->key)),
		.descending = true};
	const struct store_object *object;

	while ((object = store_next(&cursor)))
		if (json_parse(object->api, request->arena, &event, NULL) == 0)
			json_append(request->arena, events, event);
	return events;
}

/* As DescribeServices shows it now. */
static const struct json *service_as_shown(struct aws_request *request,
	const struct store_object *service, bool with_tags)
{
	const struct service_facts *facts = service_facts(service);
	struct arena *arena = request->arena;
	int64_t sums[STORE_MEASURES];
	struct json *stored, *shown;

	if (json_parse(service->api, arena, &stored, NULL) < 0)
		stored = json_new_object(arena);
	shown = json_copy_object(arena, stored);
	service_sum_tasks(request->view, service->key, SPAN(""), sums);
	json_set_string(arena, shown, "status", span_of(service_status_name(facts->status)));
	json_set_integer(arena, shown, "desiredCount", facts->desired);
	json_set_integer(arena, shown, "runningCount", sums[TASK_SUM_RUNNING]);
	json_set_integer(arena, shown, "pendingCount", sums[TASK_SUM_PENDING]);
	if (facts->controller == SERVICE_CONTROLLED_BY_ECS)
		show_deployments(request, service, shown);
	else
		show_task_sets(request, service, shown);
	json_set(arena, shown, "events", events_of(request, service));
	json_set_string(arena, shown, "resourceManagementType", SPAN("CUSTOMER"));
	if (with_tags)
		tags_set(request, shown, tags_of(request, service));
	sync_show_service(request, service, shown, with_tags);
	return shown;
}

int service_answer(struct aws_request *request, struct span key)
{
	request->view = store_head(request->transaction);
	request->resource = ecs_arn(request, "service", aws_name_of_key(key));
	buffer_add_string(request->out, "{\"service\":");
	json_write(service_as_shown(request, store_get(request->view, &service_kind, key), true),
		request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

static void describe_one(struct aws_request *request, const struct store_object *cluster,
	struct span requested, struct json *services, struct json *failures)
{
	struct span name, arn = requested;
	const struct store_object *service = service_get(request, cluster, requested, &name);

	if (service) {
		json_append(request->arena, services,
			service_as_shown(request, service, input_includes(request, "TAGS")));
		return;
	}
	if (!aws_arn_looks_like(requested))
		arn = ecs_arn(request, "service", requested); /* without the cluster, as AWS */
	json_append(request->arena, failures, ecs_failure_missing(request, arn));
}

int service_describe(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "services");
	struct json *services = json_new_array(request->arena);
	struct json *failures = json_new_array(request->arena);
	const struct store_object *cluster;

	if (json_count(requested) == 0)
		return aws_fail_input(request, "Services cannot be empty.");
	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	JSON_EACH_ITEM (requested, item)
		describe_one(request, cluster, json_text(item), services, failures);
	buffer_add_string(request->out, "{\"services\":");
	json_write(services, request->out);
	buffer_add_string(request->out, ",\"failures\":");
	json_write(failures, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}
