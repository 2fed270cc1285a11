/* Whether every service is what was last asked for, and the world what the store says. */
#include <inttypes.h>
#include <stdio.h>

#include "base/map.h"
#include "ecs/record/container_instance.h"
#include "sim/service/service_simulation_internal.h"

/* The same for a service whose task sets are managed by a client. */
static const char *unsettled_sets(const struct store_view *view, const struct store_object *service)
{
	char prefix[160];
	struct store_cursor cursor = {.view = view, .kind = &task_set_kind, .index = -1};
	const struct store_object *set;
	int64_t wanted = 0;

	snprintf(prefix, sizeof(prefix), "%.*s/", SPAN_ARGS(service->key));
	cursor.prefix = span_of(prefix);
	while ((set = store_next(&cursor))) {
		const struct task_set_facts *facts = task_set_facts(set);
		int64_t counts[TASK_CLASS_COUNT];

		service_count_tasks(view, service->key, facts->number, counts);
		if (facts->status == TASK_SET_DRAINING)
			return "has a task set that drains";
		if (counts[TASK_CLASS_HEALTHY] != facts->computed || !facts->stable)
			return "has a task set that is not as wanted";
		wanted += facts->computed;
	}
	snprintf(prefix, sizeof(prefix), "%.*s/live/", SPAN_ARGS(service->key));
	if ((int64_t)store_count(view, &task_kind, TASK_BY_SERVICE, span_of(prefix), false) !=
		wanted)
		return "has other tasks";
	return NULL;
}

/* How a service differs from the desired state; NULL: not at all. */
static const char *unsettled(struct simulation *simulation, const struct store_view *view,
	size_t service)
{
	char key[SIMULATION_KEY_SIZE];
	const struct store_object *object =
		store_get(view, &service_kind, simulation_service_key(service, key));
	const struct store_object *primary;
	int64_t counts[TASK_CLASS_COUNT], sums[STORE_MEASURES];
	const struct service_facts *facts;
	char prefix[160];

	if (!object || service_facts(object)->status == SERVICE_INACTIVE)
		return simulation->desired_states[service].exists ? "is gone" : NULL;
	facts = service_facts(object);
	if (facts->status != SERVICE_ACTIVE)
		return "is still draining";
	if (simulation_service_has_sets(service))
		return unsettled_sets(view, object);
	primary = service_primary_deployment(view, object->key);
	if (!primary || service_deployment_facts(primary)->rollout != ROLLOUT_COMPLETED)
		return "has not completed its deployment";
	if (store_count(view, &service_deployment_kind, DEPLOYMENT_BY_LIVE, object->key, true) != 1)
		return "has more than one deployment";
	service_count_tasks(view, object->key, service_deployment_facts(primary)->number, counts);
	if (counts[TASK_CLASS_HEALTHY] != facts->desired)
		return "has not the wanted number of healthy tasks";
	snprintf(prefix, sizeof(prefix), "%.*s/live/", SPAN_ARGS(object->key));
	if ((int64_t)store_count(view, &task_kind, TASK_BY_SERVICE, span_of(prefix), false) !=
		facts->desired)
		return "has other tasks";
	store_sum(view, &task_kind, TASK_BY_SERVICE, span_of(prefix), false, sums);
	if (sums[TASK_SUM_RUNNING] != facts->desired)
		return "counts its running tasks wrongly";
	if (!span_is(facts->reported, "steady"))
		return "has not reported a steady state";
	return NULL;
}

/* Everything that runs is the program of a RUNNING task, and the other way round. */
struct comparison {
	struct simulation *simulation;
	const struct store_view *view;
	uint64_t programs;
	const char *wrong;
};

static void compare_program(void *context, const struct simulated_program *program)
{
	struct comparison *comparison = context;
	struct store_cursor cursor = {.view = comparison->view,
		.kind = &task_kind,
		.index = TASK_BY_ID,
		.prefix = program->token,
		.exact = true};
	const struct store_object *task = store_next(&cursor);

	comparison->programs++;
	if (!task)
		comparison->wrong = "a program runs that has no task";
	else if (task_facts(task)->last != TASK_RUNNING ||
		 task_facts(task)->desired != TASK_RUNNING)
		comparison->wrong = "a program runs whose task shall not";
}

static const char *differs_from_world(struct simulation *simulation, const struct store_view *view)
{
	struct comparison comparison = {.simulation = simulation, .view = view};
	struct store_cursor cursor = {.view = view, .kind = &task_kind, .index = -1};
	const struct store_object *task;
	uint64_t live = 0;

	simulated_world_each_program(simulation->world, compare_program, &comparison);
	while ((task = store_next(&cursor))) {
		live += task_facts(task)->last < TASK_STOPPED;
		if (task_facts(task)->last < TASK_STOPPED &&
			!service_checker_runs(simulation->checker, task_facts(task)->id))
			comparison.wrong = "a task is live and its program does not run";
	}
	if (!comparison.wrong && live != comparison.programs)
		comparison.wrong = "tasks and programs are not equally many";
	return comparison.wrong;
}

/* How many groups the runtime is to have. */
static size_t count_wanted_groups(const struct store_view *view)
{
	struct store_cursor services = {.view = view, .kind = &service_kind, .index = -1};
	struct store_cursor sets = {.view = view, .kind = &task_set_kind, .index = -1};
	const struct store_object *object;
	size_t count = 0;

	while ((object = store_next(&services)))
		count += service_facts(object)->status == SERVICE_ACTIVE &&
			 service_facts(object)->controller == SERVICE_CONTROLLED_BY_ECS;
	while ((object = store_next(&sets)))
		count += task_set_facts(object)->status != TASK_SET_DRAINING;
	return count;
}

static const char *groups_differ(struct simulation *simulation, const struct store_view *view)
{
	struct simulated_counts counts;

	simulated_world_counts(simulation->world, &counts);
	return simulation->groups && counts.groups != count_wanted_groups(view)
		       ? "the runtime has other groups than are wanted"
		       : NULL;
}

/* Services leave an instance that drains, daemons last. */
static bool drains_are_empty(const struct store_view *view)
{
	struct store_cursor cursor = {.view = view, .kind = &container_instance_kind, .index = -1};
	const struct store_object *instance, *task;

	while ((instance = store_next(&cursor))) {
		char prefix[160];
		struct store_cursor tasks = {
			.view = view, .kind = &task_kind, .index = TASK_BY_INSTANCE};

		if (container_instance_facts(instance)->status != CONTAINER_INSTANCE_DRAINING)
			continue;
		snprintf(prefix, sizeof(prefix), "%.*s/live/", SPAN_ARGS(instance->key));
		tasks.prefix = span_of(prefix);
		while ((task = store_next(&tasks)))
			if (task_facts(task)->service.length > 0)
				return false;
	}
	return true;
}

/* "" if all is as wanted. */
void simulation_describe_unsettled(struct simulation *simulation, char out[128])
{
	_view_ struct store_view *view = store_view_open(simulation->store);
	const char *wrong;

	out[0] = '\0';
	for (size_t i = 0; i < SIMULATION_SERVICES; i++) {
		wrong = unsettled(simulation, view, i);
		if (wrong) {
			snprintf(out, 128, "service %s %s", simulation_service_name(i), wrong);
			return;
		}
	}
	wrong = drains_are_empty(view) ? differs_from_world(simulation, view)
				       : "a draining instance has tasks of services";
	if (!wrong)
		wrong = groups_differ(simulation, view);
	if (!wrong)
		wrong = simulation_stray_traffic(view);
	if (wrong)
		snprintf(out, 128, "%s", wrong);
}

static void check_desired(struct simulation *simulation, const struct store_view *view,
	size_t service)
{
	const struct simulation_update *desired_state = &simulation->desired_states[service];
	char key[SIMULATION_KEY_SIZE], rule[160];
	const struct store_object *object =
		store_get(view, &service_kind, simulation_service_key(service, key));

	if (!desired_state->exists || service == SERVICE_AGENT ||
		service_facts(object)->desired == desired_state->certain ||
		service_facts(object)->desired == desired_state->possible)
		return;
	snprintf(rule, sizeof(rule),
		"service %s wants %" PRId64 " tasks, and %" PRId64 " was acknowledged last",
		simulation_service_name(service), service_facts(object)->desired,
		desired_state->certain);
	simulation_broken(simulation, rule);
}

/* The condition of the waiter services-stable. */
static void check_answer(struct simulation *simulation, size_t service)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct json *answer = simulation_request(simulation, arena, "DescribeServices",
		"{'services':['%s']}", simulation_service_name(service));
	const struct json *shown = json_item(json_get(answer, "services"), 0);
	int64_t running = json_get_integer(shown, "runningCount", -1);
	char rule[160];

	if (!simulation->desired_states[service].exists || simulation_service_has_sets(service) ||
		(json_count(json_get(shown, "deployments")) == 1 &&
			running == json_get_integer(shown, "desiredCount", -2) &&
			json_get_integer(shown, "pendingCount", -1) == 0))
		return;
	snprintf(rule, sizeof(rule), "service %s is as wanted and is not described so",
		simulation_service_name(service));
	simulation_broken(simulation, rule);
}

/* Each event is stored once, by any number of servers one after the other. */
static void check_events(struct simulation *simulation, const struct store_view *view,
	size_t service)
{
	_arena_ struct arena *arena = arena_new(0);
	_map_ struct map ids = {0};
	char prefix[160], key[SIMULATION_KEY_SIZE];
	struct store_cursor cursor = {.view = view, .kind = &service_event_kind, .index = -1};
	const struct store_object *object;
	struct json *event;

	snprintf(prefix, sizeof(prefix), "%.*s/", SPAN_ARGS(simulation_service_key(service, key)));
	cursor.prefix = span_of(prefix);
	while ((object = store_next(&cursor)))
		if (json_parse(object->api, arena, &event, NULL) == 0 &&
			map_put(&ids, json_get_text(event, "id"), simulation))
			simulation_broken(simulation, "an event is stored twice");
}

void simulation_check_answers(struct simulation *simulation)
{
	_view_ struct store_view *view = store_view_open(simulation->store);

	for (size_t i = 0; i < SIMULATION_SERVICES; i++) {
		check_desired(simulation, view, i);
		check_answer(simulation, i);
		check_events(simulation, view, i);
	}
}
