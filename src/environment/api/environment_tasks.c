/* See the header. */
#include "environment/api/environment_tasks.h"

#include "delivery/cluster_ref.h"
#include "environment/model/environment_type.h"
#include "environment/model/matching.h"

#define WALK_PAGE 1000
#define SERVICE_GROUP_PREFIX "service:" ENVIRONMENT_SERVICE_PREFIX

static const struct store_object *find(const struct aws_request *request, struct span name)
{
	return store_get(request->view, &environment_kind,
		environment_key(request->arena, request->caller->account, name));
}

static struct span group_of(struct arena *arena, enum environment_type type, struct span name)
{
	return type == ENVIRONMENT_TYPE_Service
		       ? arena_format(arena, SERVICE_GROUP_PREFIX "%.*s", SPAN_ARGS(name))
		       : environment_group(arena, name);
}

struct span environment_tasks_group(const struct aws_request *request, struct span name,
	struct arena *arena)
{
	const struct store_object *environment = find(request, name);

	return group_of(arena,
		environment ? environment_facts(environment)->type : ENVIRONMENT_TYPE_Daemon, name);
}

const struct store_object *environment_of_task(const struct aws_request *request,
	const struct observe_task *task)
{
	struct span name = environment_name_of_group(task->group),
		    prefix = SPAN(SERVICE_GROUP_PREFIX);
	bool is_service = span_starts_with(task->group, prefix);
	const struct store_object *environment;

	if (is_service)
		name = (struct span){
			task->group.data + prefix.length, task->group.length - prefix.length};
	if (name.length == 0)
		return NULL;
	environment = find(request, name);
	return environment && (environment_facts(environment)->type == ENVIRONMENT_TYPE_Service) ==
				       is_service
		       ? environment
		       : NULL;
}

struct span environment_version_of_definition(struct aws_request *request,
	const struct store_object *environment, struct span task_definition)
{
	const struct environment_facts *facts = environment_facts(environment);
	const struct span ids[] = {facts->target, facts->completed, facts->latest};

	for (size_t i = 0; i < LENGTH(ids); i++) {
		const struct store_object *version =
			store_get(request->view, &environment_version_kind,
				environment_child_key(request->arena, environment->key, ids[i]));

		if (version && span_equal(environment_version_facts(version)->task_definition,
				       task_definition))
			return ids[i];
	}
	return SPAN("");
}

void environment_tasks_walk(struct aws_request *request, const struct store_object *environment,
	environment_tasks_visit visit, void *context)
{
	const struct daemon_context *server = request->context;
	const struct environment_facts *facts = environment_facts(environment);
	struct observe_task_query query = {
		.group = group_of(request->arena, facts->type, facts->name)};
	struct span rest = facts->cluster_refs;
	struct cluster_ref cluster;

	while (server && server->state && environment_next_cluster(&rest, &cluster)) {
		struct span after = SPAN_NONE;
		size_t count;

		do {
			struct observe_task *tasks;

			count = observe_select_tasks(server->state, cluster, &query, after,
				WALK_PAGE, request->arena, &tasks);
			for (size_t i = 0; i < count; i++)
				if (observe_task_stays(&tasks[i]))
					visit(context, cluster, &tasks[i]);
			after = count > 0 ? tasks[count - 1].arn : SPAN_NONE;
		} while (count == WALK_PAGE);
	}
}

/* ---- by task definition ---- */

struct state {
	struct aws_request *request;
	const struct store_object *environment;
	struct json *list;
};

/* The entry of a task definition; created if it is missing. */
static struct json *entry_of(struct state *state, struct span task_definition)
{
	struct arena *arena = state->request->arena;
	struct json *entry;
	struct span version;

	for (size_t i = 0; i < json_count(state->list); i++)
		if (span_equal(json_get_text(state->list->array.items[i], "taskDefinition"),
			    task_definition))
			return (struct json *)state->list->array.items[i];
	entry = json_new_object(arena);
	version = environment_version_of_definition(state->request, state->environment,
		task_definition);
	json_set_string(arena, entry, "taskDefinition", task_definition);
	if (version.length > 0)
		json_set_string(arena, entry, "environmentVersion", version);
	json_set_integer(arena, entry, "taskCount", 0);
	json_set_integer(arena, entry, "activeCount", 0);
	json_append(arena, state->list, entry);
	return entry;
}

static void add_counts(struct state *state, struct span task_definition, int64_t tasks,
	int64_t active)
{
	struct arena *arena = state->request->arena;
	struct json *entry = entry_of(state, task_definition);

	json_set_integer(arena, entry, "taskCount",
		json_get_integer(entry, "taskCount", 0) + tasks);
	json_set_integer(arena, entry, "activeCount",
		json_get_integer(entry, "activeCount", 0) + active);
}

/* The tasks of services in remote clusters may have a health that is not known: those that run count. */
static void count_task(void *context, struct cluster_ref cluster, const struct observe_task *task)
{
	bool active =
		task->last == OBSERVE_TASK_RUNNING &&
		(task->health == OBSERVE_HEALTHY || task->health == OBSERVE_HEALTH_NONE ||
			(cluster_ref_is_remote(cluster) && task->health != OBSERVE_UNHEALTHY));

	add_counts(context, task->task_definition, 1, active);
}

/* The manager has the counts of daemons at hand; those of services are counted here. */
static void count(struct state *state)
{
	const struct daemon_context *context = state->request->context;
	struct environment_running *running;
	size_t count = 0;

	if (environment_facts(state->environment)->type == ENVIRONMENT_TYPE_Service) {
		environment_tasks_walk(state->request, state->environment, count_task, state);
		return;
	}
	if (context && context->list_running)
		count = context->list_running(context->count_context, state->environment->key,
			state->request->arena, &running);
	for (size_t i = 0; i < count; i++)
		add_counts(state, running[i].task_definition, running[i].tasks, running[i].active);
}

static void add_task(struct state *state, const struct json *task)
{
	struct arena *arena = state->request->arena;
	struct json *entry = entry_of(state, json_get_text(task, "taskDefinition"));
	struct json *tasks = (struct json *)json_get(entry, "tasks");

	if (!tasks) {
		tasks = json_new_array(arena);
		json_set(arena, entry, "tasks", tasks);
	}
	json_append(arena, tasks, task);
}

int environment_tasks_state(struct aws_request *request, const struct store_object *environment,
	struct json **ret_state, struct span *ret_token)
{
	struct state state = {.request = request,
		.environment = environment,
		.list = json_new_array(request->arena)};
	const struct json *tasks;

	*ret_token = SPAN("");
	count(&state);
	if (!json_is_absent(json_get(request->input, "maxResults")) ||
		!json_is_absent(json_get(request->input, "nextToken"))) {
		if (state_api_environment_tasks(request, environment, &tasks, ret_token) < 0)
			return -EPERM;
		JSON_EACH_ITEM (tasks, task)
			add_task(&state, task);
	}
	*ret_state = state.list;
	return 0;
}
