/*
 * Daemons first: an instance takes other tasks only when every DAEMON service that matches it runs there. By
 * keeping the others out, room for the daemons is reserved. Without DAEMON services in the cluster this costs
 * one count.
 *
 * A daemon that asks for more than an instance has could never run there and keeps nobody waiting.
 */
#include "base/memory.h"
#include "ecs/placement_internal.h"
#include "ecs/service_kind.h"
#include "ecs/task_definition.h"

void placement_daemons_free(struct placement *placement)
{
	for (size_t i = 0; i < placement->daemon_count; i++)
		placement_free(placement->daemons[i].placement);
	free(placement->daemons);
	placement->daemons = NULL;
	placement->daemon_count = 0;
}

static struct store_cursor daemon_services(const struct placement *placement,
	const struct store_view *view)
{
	return (struct store_cursor){.view = view,
		.kind = &service_kind,
		.index = SERVICE_BY_DAEMON,
		.prefix = placement->config.cluster_key,
		.exact = true};
}

/* What a service asks of an instance, by its newest deployment. NULL when that cannot be read: then it cannot
 * start tasks either. */
static struct placement *compile(struct placement *placement, const struct store_view *view,
	const struct store_object *service, const struct store_object *deployment)
{
	const struct service_deployment_facts *facts = service_deployment_facts(deployment);
	struct arena *arena = placement->compiled;
	struct span cluster = placement->config.cluster_key;
	struct task_needs *needs = arena_allocate(arena, sizeof(*needs));
	struct placement_config config = placement->config;
	struct span scope = cluster;
	const struct store_object *definition;
	struct json *document, *definition_document;
	struct placement *compiled;

	while (scope.length > 0 && scope.data[scope.length - 1] != '/')
		scope.length--;
	definition = store_get(view, &task_definition_kind,
		arena_format(arena, "%.*s%.*s %010lld", SPAN_ARGS(scope), SPAN_ARGS(facts->family),
			(long long)facts->revision));
	/* Copied: what is compiled may outlive the view. */
	if (!definition ||
		json_parse(arena_copy_span(arena, service->api), arena, &document, NULL) < 0 ||
		json_parse(arena_copy_span(arena, definition->api), arena, &definition_document,
			NULL) < 0 ||
		task_needs_read(definition_document, NULL, arena, needs, NULL) < 0)
		return NULL;
	config.needs = needs;
	config.constraints = json_get(document, "placementConstraints");
	config.strategy = NULL;
	config.service = arena_copy_span(arena, service_facts(service)->name);
	config.daemon = true;
	config.launch_type = TASK_LAUNCH_EC2;
	if (span_is(service_facts(service)->launch_type, "EXTERNAL"))
		config.launch_type = TASK_LAUNCH_EXTERNAL;
	return placement_new(&config, &compiled, NULL) < 0 ? NULL : compiled;
}

/* Is what was compiled before still what the services say? */
static bool is_current(const struct placement *placement, const struct store_view *view)
{
	struct store_cursor cursor = daemon_services(placement, view);
	const struct store_object *service, *deployment;
	size_t place = 0;

	while ((service = store_next(&cursor))) {
		const struct placement_daemon *daemon;

		if (place == placement->daemon_count)
			return false;
		daemon = &placement->daemons[place++];
		if (service->revision != daemon->service_revision)
			return false;
		deployment = service_primary_deployment(view, service->key);
		if ((deployment ? deployment->revision : 0) != daemon->deployment_revision)
			return false;
	}
	return place == placement->daemon_count;
}

void placement_daemons_load(struct placement *placement, const struct store_view *view)
{
	struct store_cursor cursor = daemon_services(placement, view);
	const struct store_object *service;
	size_t count;

	/* Fargate tasks are not the instances' own, and daemons do not wait for each other. */
	if (placement->config.daemon || placement->config.launch_type == TASK_LAUNCH_FARGATE)
		return;
	count = store_count(view, cursor.kind, cursor.index, cursor.prefix, cursor.exact);
	if (count == 0 && placement->daemon_count == 0)
		return;
	if (is_current(placement, view))
		return;
	placement_daemons_free(placement);
	placement->daemons = memory_allocate_array(count + 1, sizeof(*placement->daemons));
	while (placement->daemon_count < count && (service = store_next(&cursor))) {
		const struct store_object *deployment =
			service_primary_deployment(view, service->key);
		struct placement_daemon *daemon = &placement->daemons[placement->daemon_count++];

		daemon->service_key = arena_copy_span(placement->compiled, service->key);
		daemon->service_revision = service->revision;
		daemon->deployment_revision = deployment ? deployment->revision : 0;
		if (deployment)
			daemon->placement = compile(placement, view, service, deployment);
	}
}

static bool runs_there(const struct placement *daemon, const struct store_view *view,
	const struct store_object *instance)
{
	struct store_cursor cursor = {.view = view,
		.kind = &task_kind,
		.index = TASK_BY_INSTANCE,
		.prefix = arena_format(daemon->scratch, "%.*s/live/%.*s", SPAN_ARGS(instance->key),
			SPAN_ARGS(daemon->config.service)),
		.exact = true};
	const struct store_object *task;

	while ((task = store_next(&cursor)))
		if (task_facts(task)->desired == TASK_RUNNING &&
			task_facts(task)->last == TASK_RUNNING)
			return true;
	return false;
}

bool placement_daemons_wait(struct placement *placement, const struct store_view *view,
	const struct store_object *instance)
{
	const struct container_instance_facts *facts = container_instance_facts(instance);

	for (size_t i = 0; i < placement->daemon_count; i++) {
		struct placement *daemon = placement->daemons[i].placement;

		if (!daemon || daemon->config.needs->cpu > facts->cpu ||
			daemon->config.needs->memory > facts->memory)
			continue;
		arena_reset(daemon->scratch);
		if (placement_match(daemon, view, instance) == PLACEMENT_NO_OBSTACLE &&
			!runs_there(daemon, view, instance))
			return true;
	}
	return false;
}
