/*
 * Daemons first: an instance takes other tasks only when every DAEMON service that matches it, and everything that
 * holds a reservation there, has run there once since it is ACTIVE. Without any in the cluster this costs two
 * counts.
 *
 * No task waits for a daemon that may never start: a daemon that ran there before and is being
 * replaced, whose newest deployment has failing tasks or has failed, or whose wait is over
 * (reservations), only reserves the room that it will need. A daemon that finds no room reserves
 * nothing.
 */
#include "base/memory.h"
#include "ecs/definition/task_definition.h"
#include "ecs/placement/placement_internal.h"
#include "ecs/record/reservation.h"
#include "ecs/record/service_kind.h"

#define PRESENCE_SCAN_MAX 100 /* tasks of a daemon on one instance */

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

static struct store_cursor reservations(struct placement *placement, const struct store_view *view)
{
	return (struct store_cursor){.view = view,
		.kind = &reservation_kind,
		.index = -1,
		.prefix = arena_format(placement->scratch, "%.*s/",
			SPAN_ARGS(placement->config.cluster_key))};
}

/* Placement requirements of tasks with this definition. NULL when the definition cannot be read:
 * then no task can start either. */
static struct placement *compile(struct placement *placement, const struct store_view *view,
	struct span family, int64_t revision, struct placement_config *config)
{
	struct arena *arena = placement->compiled;
	struct task_needs *needs = arena_allocate(arena, sizeof(*needs));
	struct span scope = placement->config.cluster_key;
	const struct store_object *definition;
	struct json *document;
	struct placement *compiled;

	while (scope.length > 0 && scope.data[scope.length - 1] != '/')
		scope.length--;
	definition = store_get(view, &task_definition_kind,
		arena_format(arena, "%.*s%.*s %010lld", SPAN_ARGS(scope), SPAN_ARGS(family),
			(long long)revision));
	/* Copied: the compiled request may outlive the view. */
	if (!definition ||
		json_parse(arena_copy_span(arena, definition->api), arena, &document, NULL) < 0 ||
		task_needs_read(document, NULL, arena, needs, NULL) < 0)
		return NULL;
	config->needs = needs;
	config->strategy = NULL;
	config->daemon = true;
	return placement_new(config, &compiled, NULL) < 0 ? NULL : compiled;
}

static void add_service(struct placement *placement, const struct store_view *view,
	const struct store_object *service)
{
	struct arena *arena = placement->compiled;
	const struct store_object *deployment = service_primary_deployment(view, service->key);
	const struct service_deployment_facts *facts =
		deployment ? service_deployment_facts(deployment) : NULL;
	struct placement_daemon *daemon = &placement->daemons[placement->daemon_count++];
	struct placement_config config = placement->config;
	struct json *document;

	*daemon = (struct placement_daemon){.key = arena_copy_span(arena, service->key),
		.revision = service->revision,
		.deployment_revision = deployment ? deployment->revision : 0,
		.hopeful = facts && facts->failed == 0 && facts->rollout != ROLLOUT_FAILED};
	if (!facts || json_parse(arena_copy_span(arena, service->api), arena, &document, NULL) < 0)
		return;
	config.constraints = json_get(document, "placementConstraints");
	config.service = arena_copy_span(arena, service_facts(service)->name);
	config.launch_type = TASK_LAUNCH_EC2;
	if (span_is(service_facts(service)->launch_type, "EXTERNAL"))
		config.launch_type = TASK_LAUNCH_EXTERNAL;
	daemon->placement = compile(placement, view, facts->family, facts->revision, &config);
}

/* Adds the attributes of a reservation to those of its definition. */
static bool need_attributes(struct placement *placement, struct span packed)
{
	struct span rest = packed, part;

	while (span_next_part(&rest, ';', &part)) {
		size_t place = placement->needed_count;

		if (part.length == 0)
			continue;
		if (place == LENGTH(placement->needed))
			return false;
		placement->needed[place].value = SPAN_NONE;
		if (!span_split(part, '=', &placement->needed[place].name,
			    &placement->needed[place].value))
			placement->needed[place].name = part;
		placement->needed_count++;
	}
	return true;
}

static void add_reservation(struct placement *placement, const struct store_view *view,
	const struct store_object *reservation)
{
	const struct reservation_facts *facts = reservation_facts(reservation);
	struct arena *arena = placement->compiled;
	struct placement_daemon *daemon = &placement->daemons[placement->daemon_count++];
	struct placement_config config = placement->config;

	*daemon = (struct placement_daemon){.key = arena_copy_span(arena, reservation->key),
		.revision = reservation->revision,
		.since_ms = facts->since_ms};
	config.constraints = NULL;
	config.service = SPAN("");
	config.group = arena_copy_span(arena, facts->group);
	config.launch_type = TASK_LAUNCH_TYPE_COUNT; /* any: it goes wherever its attributes say */
	daemon->placement = compile(placement, view, facts->family, facts->revision, &config);
	if (daemon->placement &&
		!need_attributes(daemon->placement, arena_copy_span(arena, facts->attributes)))
		placement_free(TAKE(daemon->placement));
}

/* The daemon compiled before at this index; NULL if the object has changed since. */
static const struct placement_daemon *compiled_from(const struct placement *placement, size_t place,
	const struct store_object *object)
{
	const struct placement_daemon *daemon;

	if (place >= placement->daemon_count)
		return NULL;
	daemon = &placement->daemons[place];
	return span_equal(object->key, daemon->key) && object->revision == daemon->revision ? daemon
											    : NULL;
}

/* Are the compiled daemons still up to date? */
static bool is_current(struct placement *placement, const struct store_view *view)
{
	struct store_cursor services = daemon_services(placement, view);
	struct store_cursor others = reservations(placement, view);
	const struct store_object *object, *deployment;
	const struct placement_daemon *daemon;
	size_t place = 0;

	while ((object = store_next(&services))) {
		daemon = compiled_from(placement, place++, object);
		if (!daemon)
			return false;
		deployment = service_primary_deployment(view, object->key);
		if ((deployment ? deployment->revision : 0) != daemon->deployment_revision)
			return false;
	}
	while ((object = store_next(&others)))
		if (!compiled_from(placement, place++, object))
			return false;
	return place == placement->daemon_count;
}

void placement_daemons_load(struct placement *placement, const struct store_view *view)
{
	struct store_cursor services, others;
	const struct store_object *object;
	size_t count;

	/* Fargate tasks are not the instances' own, and daemons do not wait for each other. */
	if (placement->config.daemon || placement->config.launch_type == TASK_LAUNCH_FARGATE)
		return;
	services = daemon_services(placement, view);
	others = reservations(placement, view);
	count = store_count(view, services.kind, services.index, services.prefix, services.exact) +
		store_count(view, others.kind, others.index, others.prefix, others.exact);
	if (count == 0 && placement->daemon_count == 0)
		return;
	if (is_current(placement, view))
		return;
	placement_daemons_free(placement);
	placement->daemons = memory_allocate_array(count + 1, sizeof(*placement->daemons));
	while (placement->daemon_count < count && (object = store_next(&services)))
		add_service(placement, view, object);
	while (placement->daemon_count < count && (object = store_next(&others)))
		add_reservation(placement, view, object);
}

/* State of a daemon on an instance. */
struct presence {
	bool live;    /* a task that is not STOPPED, which holds its room itself */
	bool started; /* a task ran since the instance is ACTIVE, as far as records go back */
};

static void find_in(const struct placement *daemon, const struct store_view *view,
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
		i < PRESENCE_SCAN_MAX && !presence->started && (task = store_next(&cursor)); i++) {
		const struct task_facts *facts = task_facts(task);

		if (daemon->config.service.length == 0 &&
			!span_equal(facts->group, daemon->config.group))
			continue;
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

/* Whether other tasks wait for it. */
static bool is_awaited(const struct placement *placement, const struct placement_daemon *daemon,
	const struct store_object *instance)
{
	const struct container_instance_facts *facts = container_instance_facts(instance);
	int64_t since_ms = facts->active_ms > 0 ? facts->active_ms : facts->registered_ms;

	if (daemon->since_ms == 0)
		return daemon->hopeful;
	if (since_ms < daemon->since_ms)
		since_ms = daemon->since_ms;
	return placement->config.now_ms < since_ms + RESERVATION_WAIT_MS;
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
		find_in(daemon, view, instance, "live", &presence);
		find_in(daemon, view, instance, "stopped", &presence);
		if (!presence.live && !has_room(daemon, view, instance, ret_reserved))
			continue;
		if (!presence.started && is_awaited(placement, &placement->daemons[i], instance))
			return true;
		if (!presence.live) {
			ret_reserved->cpu += daemon->config.needs->cpu;
			ret_reserved->memory += daemon->config.needs->memory;
		}
	}
	return false;
}
