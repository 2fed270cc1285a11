/* The service with its sets of tasks, as clients see it; see live.h. */
#include "base/memory.h"
#include "pipeline/live.h"

#define WHOLE 100
#define TAG_DEPLOYMENT "slipway:deployment"

/* A set of tasks: a task set, or what a service runs from one task definition. */
struct live_set {
	struct span id, arn, definition, status;
	const char *role;
	double scale;
	int64_t desired;
	const char *member; /* of its tasks, that has this value */
	struct span value;
	const struct json
		*owner; /* its tags name the deployment; NULL: find it by the definition */
};

struct growing {
	const struct live_reading *reading;
	struct arena *arena;
	struct json *sets;
	size_t registered; /* tasks of all sets that get traffic by the name */
};

static struct span text_of(const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.data ? text : SPAN("");
}

static void set_text(struct arena *arena, struct json *object, const char *name, struct span text)
{
	if (text.length > 0)
		json_set_string(arena, object, name, text);
}

static struct span last_part(struct span text)
{
	struct span part = text, rest = text;

	while (span_next_part(&rest, '/', &part))
		continue;
	return part;
}

/* ---- tasks ---- */

static struct span target_state(const struct live_reading *reading, const struct json *task)
{
	struct span address = describe_task_address(task);

	JSON_EACH_ITEM (reading->targets, target) {
		struct span id = json_text(json_path(target, "Target.Id")),
			    state = json_text(json_path(target, "TargetHealth.State"));

		if (id.data && state.data && address.length > 0 && span_equal(id, address))
			return state;
	}
	return SPAN("");
}

static bool is_registered(const struct live_reading *reading, const struct json *task)
{
	struct span id = describe_task_id(task);

	return names_find(&reading->names, id) && names_is_healthy(&reading->names, id);
}

static struct json *task_shown(const struct growing *growing, const struct json *task)
{
	const struct live_reading *reading = growing->reading;
	struct json *shown = json_new_object(growing->arena);
	const struct json *instance = names_find(&reading->names, describe_task_id(task));
	struct span state = target_state(reading, task),
		    weight = json_text(json_path(instance, "Attributes.SLIPWAY_WEIGHT"));

	json_set_string(growing->arena, shown, "taskId", describe_task_id(task));
	json_set_string(growing->arena, shown, "status", text_of(task, "lastStatus"));
	set_text(growing->arena, shown, "health", text_of(task, "healthStatus"));
	json_set_bool(growing->arena, shown, "healthy",
		describe_is_healthy(task, reading->definition));
	if (describe_has_names(reading->pass))
		json_set_bool(growing->arena, shown, "registered", is_registered(reading, task));
	if (weight.data)
		set_text(growing->arena, shown, "weight", weight);
	set_text(growing->arena, shown, "target", state);
	return shown;
}

/* ---- commits ---- */

/* The deployment that registered a task definition. */
static struct span find_registrar(const struct growing *growing, struct span definition)
{
	const struct deployment_pass *pass = growing->reading->pass;
	const struct span candidates[] = {
		pass->application_facts.current, pass->application_facts.succeeded};

	for (size_t i = 0; i < LENGTH(candidates); i++) {
		struct store_cursor cursor = {.view = pass->view,
			.kind = &deployment_call_kind,
			.index = -1,
			.prefix = arena_format(growing->arena, "%.*s/%.*s/", SPAN_ARGS(pass->key),
				SPAN_ARGS(candidates[i]))};
		const struct store_object *object;

		while (candidates[i].length > 0 && (object = store_next(&cursor))) {
			struct journal_record record;
			struct json *value;

			if (json_parse(object->api, growing->arena, &value, NULL) == 0 &&
				journal_read(value, &record, NULL) == 0 &&
				span_is(record.operation, "RegisterTaskDefinition") &&
				span_equal(record.answer, definition))
				return candidates[i];
		}
	}
	return SPAN("");
}

static struct span deployment_of(const struct growing *growing, const struct live_set *set)
{
	JSON_EACH_ITEM (json_get(set->owner, "tags"), tag) {
		if (span_is(text_of(tag, "key"), TAG_DEPLOYMENT))
			return text_of(tag, "value");
	}
	return set->owner ? SPAN("") : find_registrar(growing, set->definition);
}

static void set_deployment(const struct growing *growing, const struct live_set *set,
	struct json *shown)
{
	const struct deployment_pass *pass = growing->reading->pass;
	struct span id = deployment_of(growing, set);
	const struct store_object *deployment =
		id.length > 0 ? store_get(pass->view, &deployment_kind,
					deployment_key(growing->arena, pass->key, id))
			      : NULL;

	if (!deployment)
		return;
	json_set_integer(growing->arena, shown, "deployment", deployment_facts(deployment)->number);
	set_text(growing->arena, shown, "commit", deployment_facts(deployment)->commit);
}

/* ---- sets ---- */

static void add_set(struct growing *growing, const struct live_set *set)
{
	struct arena *arena = growing->arena;
	struct json *shown = json_new_object(arena), *tasks = json_new_array(arena);
	size_t count = 0, registered = 0;

	JSON_EACH_ITEM (growing->reading->tasks, task) {
		if (!span_equal(text_of(task, set->member), set->value))
			continue;
		registered += is_registered(growing->reading, task);
		if (count++ < LIVE_TASKS_MAX)
			json_append(arena, tasks, task_shown(growing, task));
	}
	json_set_string(arena, shown, "id", set->id);
	json_set_string(arena, shown, "role", span_of(set->role));
	json_set_string(arena, shown, "status", set->status);
	json_set(arena, shown, "scale", json_new_double(arena, set->scale));
	json_set_integer(arena, shown, "desired", set->desired);
	json_set_string(arena, shown, "taskDefinition", last_part(set->definition));
	set_deployment(growing, set, shown);
	json_set_integer(arena, shown, "registered", (int64_t)registered);
	json_set_integer(arena, shown, "running", (int64_t)count);
	json_set(arena, shown, "tasks", tasks);
	json_append(arena, growing->sets, shown);
	growing->registered += registered;
}

/* PRIMARY, CANARY, NEW and OLD of this application; OTHER of another owner. */
static const char *role_of(const struct growing *growing, const struct json *set)
{
	const struct live_reading *reading = growing->reading;
	struct live_set own = {.owner = set};

	if (span_is(text_of(set, "status"), "PRIMARY"))
		return "PRIMARY";
	if (!describe_is_ours(reading->pass, set))
		return "OTHER";
	if (span_is(text_of(set, "externalId"), "canary"))
		return "CANARY";
	return reading->is_deploying && span_equal(deployment_of(growing, &own),
						reading->pass->application_facts.current)
		       ? "NEW"
		       : "OLD";
}

static void add_task_sets(struct growing *growing)
{
	JSON_EACH_ITEM (growing->reading->sets, set) {
		struct live_set added = {.id = text_of(set, "id"),
			.arn = text_of(set, "taskSetArn"),
			.definition = text_of(set, "taskDefinition"),
			.status = text_of(set, "status"),
			.role = role_of(growing, set),
			.desired = json_get_integer(set, "computedDesiredCount", 0),
			.member = "startedBy",
			.value = text_of(set, "id"),
			.owner = set};

		json_double(json_path(set, "scale.value"), &added.scale);
		add_set(growing, &added);
	}
}

/* To a tenth. */
static double percent_of(int64_t part, int64_t whole)
{
	int64_t tenths = part * WHOLE * 10 / whole;

	return (double)tenths / 10;
}

/* The service's deployments, as ECS rolls them, and the canary service. */
static void add_services(struct growing *growing)
{
	const struct live_reading *reading = growing->reading;
	int64_t desired = json_get_integer(reading->service, "desiredCount", 0);

	JSON_EACH_ITEM (json_get(reading->service, "deployments"), deployment) {
		bool is_primary = span_is(text_of(deployment, "status"), "PRIMARY");

		add_set(growing, &(struct live_set){.id = text_of(deployment, "id"),
					 .definition = text_of(deployment, "taskDefinition"),
					 .status = text_of(deployment, "status"),
					 .role = is_primary ? "PRIMARY" : "OLD",
					 .scale = is_primary ? WHOLE : 0,
					 .desired = json_get_integer(deployment, "desiredCount", 0),
					 .member = "startedBy",
					 .value = text_of(deployment, "id")});
	}
	if (!reading->canary)
		return;
	add_set(growing, &(struct live_set){.id = text_of(reading->canary, "serviceName"),
				 .definition = text_of(reading->canary, "taskDefinition"),
				 .status = text_of(reading->canary, "status"),
				 .role = "CANARY",
				 .scale = desired > 0 ? percent_of(json_get_integer(reading->canary,
									   "desiredCount", 0),
								desired)
						      : 0,
				 .desired = json_get_integer(reading->canary, "desiredCount", 0),
				 .member = "group",
				 .value = arena_format(growing->arena, "service:%.*s",
					 SPAN_ARGS(text_of(reading->canary, "serviceName"))),
				 .owner = reading->canary});
}

/* Which part of the traffic each set gets, in percent. */
static void set_shares(const struct growing *growing)
{
	const struct snapshot *balancers = &growing->reading->balancers.snapshot;

	JSON_EACH_ITEM (growing->sets, set) {
		struct span role = text_of(set, "role");
		int64_t registered = json_get_integer(set, "registered", 0);
		double share = -1;

		if (balancers->rule_count > 0 && balancers->canary_weight >= 0)
			share = span_is(role, "CANARY") ? (double)balancers->canary_weight
				: span_is(role, "PRIMARY")
					? (double)(WHOLE - balancers->canary_weight)
					: -1;
		else if (growing->registered > 0)
			share = percent_of(registered, (int64_t)growing->registered);
		if (share >= 0)
			json_set(growing->arena, (struct json *)set, "traffic",
				json_new_double(growing->arena, share));
	}
}

struct json *live_tree(const struct live_reading *reading)
{
	struct arena *arena = reading->pass->arena;
	struct growing growing = {
		.reading = reading, .arena = arena, .sets = json_new_array(arena)};
	struct json *tree = json_new_object(arena);

	if (reading->sets)
		add_task_sets(&growing);
	else
		add_services(&growing);
	set_shares(&growing);
	json_set_string(arena, tree, "name", text_of(reading->service, "serviceName"));
	json_set_string(arena, tree, "cluster", last_part(text_of(reading->service, "clusterArn")));
	json_set_string(arena, tree, "status", text_of(reading->service, "status"));
	json_set_integer(arena, tree, "desired",
		json_get_integer(reading->service, "desiredCount", 0));
	json_set_integer(arena, tree, "running",
		json_get_integer(reading->service, "runningCount", 0));
	json_set(arena, tree, "taskSets", growing.sets);
	return tree;
}

const struct json *live_primary_set(const struct json *sets)
{
	JSON_EACH_ITEM (sets, set) {
		if (span_is(text_of(set, "status"), "PRIMARY"))
			return set;
	}
	return NULL;
}

const char *live_health(const struct live_reading *reading)
{
	int64_t wanted = json_get_integer(reading->service, "desiredCount", 0), healthy = 0;
	bool starts = false;

	JSON_EACH_ITEM (reading->tasks, task) {
		struct span status = text_of(task, "lastStatus"),
			    health = text_of(task, "healthStatus");
		bool is_ready = describe_is_healthy(task, reading->definition);

		healthy += is_ready;
		starts = starts ||
			 (!is_ready && (!span_is(status, "RUNNING") || span_is(health, "UNKNOWN")));
	}
	return healthy >= wanted ? "HEALTHY" : starts ? "PROGRESSING" : "UNHEALTHY";
}
