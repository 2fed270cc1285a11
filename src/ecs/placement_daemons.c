/*
 * Daemons first: an instance takes other tasks only when every DAEMON service that matches it has run there
 * once since it is ACTIVE. Without DAEMON services in the cluster this costs one count.
 *
 * Nobody waits for what may never come: a daemon that ran there before and is being replaced, whose newest
 * deployment has failing tasks or has failed, only keeps the room that it will need. One that finds no room
 * keeps nothing.
 */
#include "base/memory.h"
#include "ecs/placement_internal.h"
#include "ecs/service_kind.h"
#include "ecs/task_definition.h"

#define PRESENCE_LOOK_MAX 100 /* tasks of a daemon on one instance */

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
		daemon->hopeful = deployment && service_deployment_facts(deployment)->failed == 0 &&
				  service_deployment_facts(deployment)->rollout != ROLLOUT_FAILED;
		if (deployment)
			daemon->placement = compile(placement, view, service, deployment);
	}
}

/* What there is of a daemon on an instance. */
struct presence {
	bool live;    /* a task that is not STOPPED, which holds its room itself */
	bool started; /* one that ran since the instance is ACTIVE, as far as that is remembered */
};

static void look_for(const struct placement *daemon, const struct store_view *view,
	const struct store_object *instance, const char *state, struct presence *presence)
{
	struct store_cursor cursor = {.view = view,
		.kind = &task_kind,
		.index = TASK_BY_INSTANCE,
		.prefix = arena_format(daemon->scratch, "%.*s/%s/%.*s", SPAN_ARGS(instance->key),
			state, SPAN_ARGS(daemon->config.service)),
		.exact = true};
	int64_t active_ms = container_instance_facts(instance)->active_ms;
	const struct store_object *task;

	for (unsigned i = 0;
		i < PRESENCE_LOOK_MAX && !presence->started && (task = store_next(&cursor)); i++) {
		const struct task_facts *facts = task_facts(task);

		presence->live |= facts->last < TASK_STOPPED;
		presence->started |= facts->last == TASK_RUNNING ||
				     (facts->started_ms > 0 && facts->started_ms >= active_ms);
	}
}

static bool has_room(struct placement *daemon, const struct store_view *view,
	const struct store_object *instance, const struct placement_room *reserved)
{
	const struct container_instance_facts *facts = container_instance_facts(instance);
	const struct task_needs *needs = daemon->config.needs;
	int64_t sums[STORE_MEASURES];

	container_instance_sum_tasks(view, instance, sums);
	return needs->cpu <= facts->cpu - sums[TASK_SUM_CPU] - reserved->cpu &&
	       needs->memory <= facts->memory - sums[TASK_SUM_MEMORY] - reserved->memory &&
	       placement_check(daemon, view, instance) == PLACEMENT_NO_OBSTACLE;
}

bool placement_daemons_wait(struct placement *placement, const struct store_view *view,
	const struct store_object *instance, struct placement_room *ret_reserved)
{
	*ret_reserved = (struct placement_room){0};
	for (size_t i = 0; i < placement->daemon_count; i++) {
		struct placement *daemon = placement->daemons[i].placement;
		struct presence presence = {0};

		if (!daemon)
			continue;
		arena_reset(daemon->scratch);
		if (placement_match(daemon, view, instance))
			continue;
		look_for(daemon, view, instance, "live", &presence);
		look_for(daemon, view, instance, "stopped", &presence);
		if (!presence.live && !has_room(daemon, view, instance, ret_reserved))
			continue;
		if (!presence.started && placement->daemons[i].hopeful)
			return true;
		if (!presence.live) {
			ret_reserved->cpu += daemon->config.needs->cpu;
			ret_reserved->memory += daemon->config.needs->memory;
		}
	}
	return false;
}
