/* See the header. The state of the remote ECS is read anew with every commit of its store. */
#include "sim/pipeline/pipeline_checker.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cloudmap/cloudmap.h"
#include "ecs/record/service_kind.h"
#include "elb/elb.h"
#include "sim/pipeline/pipeline_actual.h"

#define SERVICE SIMULATION_CLUSTER "/" SIM_APPLICATION
#define CANARY "-canary"
#define FOREIGN "foreign"
#define CHANGES_AT_ONCE 64
#define ARN_MAX 128
#define SICK_SEEN_US SIM_SECOND_US
#define TTL_MS (SIM_TTL_SECONDS * INT64_C(1000))

/* When the instance of a task was removed. */
struct seen_instance {
	bool exists;
	int64_t removed_ms; /* 0: never */
};

struct pipeline_checker {
	struct pipeline_sim *sim;
	struct store_feed *feed;
	bool is_inspecting, is_protected;
	int64_t floor;
	struct map instances; /* struct seen_instance by ID */
	struct map created;   /* the first ARN by what was created */
	bool is_noting;
	unsigned most_previewed;
	struct buffer calls, moments;
	char last_moment[64];
	char new_set[ARN_MAX], canary_set[ARN_MAX]; /* task sets of the deployment */
};

struct pipeline_checker *pipeline_checker_new(struct pipeline_sim *sim)
{
	struct pipeline_checker *checker = memory_allocate(sizeof(*checker));

	checker->sim = sim;
	return checker;
}

static void forget_created(struct pipeline_checker *checker)
{
	MAP_EACH (&checker->created, entry)
		free(entry->value);
	map_clear(&checker->created);
}

void pipeline_checker_free(struct pipeline_checker *checker)
{
	if (!checker)
		return;
	MAP_EACH (&checker->instances, entry)
		free(entry->value);
	map_clear(&checker->instances);
	forget_created(checker);
	buffer_clear(&checker->calls);
	buffer_clear(&checker->moments);
	free(checker);
}

/* ---- with every commit ---- */

static struct seen_instance *see(struct pipeline_checker *checker, struct span id)
{
	struct seen_instance *seen = map_get(&checker->instances, id);

	if (!seen) {
		seen = memory_allocate(sizeof(*seen));
		map_put(&checker->instances, id, seen);
	}
	return seen;
}

static void note_instances(struct pipeline_checker *checker, const struct store_view *view)
{
	struct store_cursor cursor = {.view = view, .kind = &cloudmap_instance_kind, .index = -1};
	const struct store_object *object;
	unsigned previewed = 0;

	while ((object = store_next(&cursor))) {
		struct span service = cloudmap_instance_facts(object)->service_id;

		if (span_is(service, checker->sim->registry_id))
			see(checker, cloudmap_instance_facts(object)->id)->exists = true;
		else
			previewed++;
	}
	if (previewed > checker->most_previewed)
		checker->most_previewed = previewed;
	MAP_EACH (&checker->instances, entry) {
		struct seen_instance *seen = entry->value;

		if (!seen->exists || actual_find_instance(checker->sim, view, entry->key))
			continue;
		seen->exists = false;
		seen->removed_ms = runner_wall_ms(checker->sim->root);
		if (span_is(entry->key, FOREIGN))
			pipeline_sim_broken(checker->sim,
				"I5: the instance of another owner is gone");
	}
}

static void check_service(struct pipeline_checker *checker, const struct world_state *state)
{
	struct pipeline_sim *sim = checker->sim;

	if (sim->plan.course.has_names && state->serving < checker->floor)
		pipeline_sim_broken(sim,
			"I1: the name leads to %lld healthy tasks, fewer than %lld",
			(long long)state->serving, (long long)checker->floor);
	for (size_t i = 0; i < state->rule_count; i++) {
		const struct rule_state *rule = &state->rules[i];

		if (rule->is_pair && rule->blue > 0 && state->blue_healthy == 0)
			pipeline_sim_broken(sim,
				"I1: the primary target group has weight %lld and no "
				"healthy target",
				(long long)rule->blue);
		if (rule->is_pair && rule->green > 0 && state->green_healthy == 0)
			pipeline_sim_broken(sim,
				"I1: the canary target group has weight %lld and no "
				"healthy target",
				(long long)rule->green);
	}
}

/* ---- notes ---- */

static char role_of(const struct pipeline_checker *checker, const struct live_task *task)
{
	if (span_is(task->service, SIM_APPLICATION CANARY) ||
		span_is(task->set, checker->canary_set))
		return 'c';
	if (span_is(task->set, checker->new_set) ||
		(checker->sim->plan.course.has_services && task->revision > 1))
		return 'p';
	return 't';
}

static void note_moment(struct pipeline_checker *checker, const struct world_state *state)
{
	static const char roles[] = "tcp";
	char moment[64];
	size_t length = 0;

	for (const char *role = roles; *role && checker->sim->plan.course.has_names; role++) {
		int count = 0;

		for (size_t i = 0; i < state->task_count; i++)
			count += state->tasks[i].is_registered && state->tasks[i].is_healthy &&
				 role_of(checker, &state->tasks[i]) == *role;
		if (count > 0)
			length += (size_t)snprintf(moment + length, sizeof(moment) - length, "%c%d",
				*role, count);
	}
	if (!checker->sim->plan.course.has_names && state->rule_count > 0)
		length = (size_t)snprintf(moment, sizeof(moment), "%lld/%lld",
			(long long)state->rules[0].blue, (long long)state->rules[0].green);
	moment[length] = '\0';
	if (strcmp(moment, checker->last_moment) == 0)
		return;
	buffer_format(&checker->moments, "%s%s", checker->moments.length > 0 ? "; " : "", moment);
	snprintf(checker->last_moment, sizeof(checker->last_moment), "%s", moment);
}

unsigned pipeline_checker_most_previewed(const struct pipeline_checker *checker)
{
	return checker->most_previewed;
}

void pipeline_checker_note(struct pipeline_checker *checker)
{
	checker->is_noting = true;
	buffer_clear(&checker->calls);
	buffer_clear(&checker->moments);
	checker->last_moment[0] = '\0';
}

void pipeline_checker_take_notes(struct pipeline_checker *checker, char **ret_calls,
	char **ret_moments)
{
	checker->is_noting = false;
	*ret_calls = memory_copy_string_n(checker->calls.data, checker->calls.length);
	*ret_moments = memory_copy_string_n(checker->moments.data, checker->moments.length);
}

static void inspect(void *context)
{
	struct pipeline_checker *checker = context;
	struct store_change changes[CHANGES_AT_ONCE];
	struct world_state state;
	struct store_view *view;
	int count;

	if (!checker->feed || checker->is_inspecting)
		return;
	checker->is_inspecting = true;
	while ((count = store_feed_next(checker->feed, changes, LENGTH(changes))) > 0)
		for (int i = 0; i < count; i++)
			store_change_release(&changes[i]);
	view = store_view_open(checker->sim->remote_store);
	note_instances(checker, view);
	if (checker->is_protected || checker->is_noting)
		actual_read(checker->sim, view, &state);
	if (checker->is_protected)
		check_service(checker, &state);
	if (checker->is_noting)
		note_moment(checker, &state);
	store_view_close(view);
	checker->is_inspecting = false;
}

int pipeline_checker_follow(struct pipeline_checker *checker, struct err *err)
{
	_view_ struct store_view *view = store_view_open(checker->sim->remote_store);

	return store_feed_open(checker->sim->remote_store, store_view_revision(view), inspect,
		checker, &checker->feed, err);
}

void pipeline_checker_unfollow(struct pipeline_checker *checker)
{
	if (checker->feed)
		store_feed_close(TAKE(checker->feed));
}

void pipeline_checker_begin(struct pipeline_checker *checker, int64_t floor)
{
	checker->floor = floor;
	checker->is_protected = floor != PIPELINE_INTERRUPTED && !checker->sim->are_tasks_dying;
	forget_created(checker);
}

/* ---- calls ---- */

struct calling {
	struct pipeline_checker *checker;
	const char *operation;
	const struct json *request, *answer;
	const struct world_state *state;
};

static struct span last_parts(struct span arn, unsigned parts)
{
	size_t start = arn.length;

	while (start > 0 && parts > 0)
		parts -= arn.data[--start] == '/';
	return start == 0 ? arn : (struct span){arn.data + start + 1, arn.length - start - 1};
}

static const struct live_task *find_task(const struct calling *calling, struct span id)
{
	for (size_t i = 0; i < calling->state->task_count; i++)
		if (span_equal(calling->state->tasks[i].id, id))
			return &calling->state->tasks[i];
	return NULL;
}

/* The task is about to be stopped. */
static void check_stop(const struct calling *calling, const struct live_task *task)
{
	struct pipeline_sim *sim = calling->checker->sim;
	const struct seen_instance *seen = see(calling->checker, task->id);
	int64_t age_ms = runner_wall_ms(sim->root) - seen->removed_ms;

	if (task->has_instance)
		pipeline_sim_broken(sim, "I2: %s stops task %.*s, which is registered",
			calling->operation, SPAN_ARGS(task->id));
	if (seen->removed_ms > 0 && age_ms < TTL_MS)
		pipeline_sim_broken(sim,
			"I2: %s stops task %.*s %lld ms after its record was removed, before the "
			"TTL of %lld ms",
			calling->operation, SPAN_ARGS(task->id), (long long)age_ms,
			(long long)TTL_MS);
	for (size_t i = 0; i < calling->state->rule_count; i++)
		if (task->in_green && calling->state->rules[i].is_pair &&
			calling->state->rules[i].green > 0)
			pipeline_sim_broken(sim,
				"I2: %s stops task %.*s, whose target group has weight",
				calling->operation, SPAN_ARGS(task->id));
}

static void before_delete_set(const struct calling *calling)
{
	struct span set = last_parts(json_get_text(calling->request, "taskSet"), 2);

	for (size_t i = 0; i < calling->state->task_count; i++)
		if (span_equal(calling->state->tasks[i].set, set))
			check_stop(calling, &calling->state->tasks[i]);
}

static void before_delete_service(const struct calling *calling)
{
	struct span service = json_get_text(calling->request, "service");

	for (size_t i = 0; i < calling->state->task_count; i++)
		if (span_equal(calling->state->tasks[i].service, service))
			check_stop(calling, &calling->state->tasks[i]);
}

static void before_register(const struct calling *calling)
{
	const struct live_task *task =
		find_task(calling, json_get_text(calling->request, "InstanceId"));
	struct pipeline_sim *sim = calling->checker->sim;

	if (!task && !sim->are_tasks_dying)
		pipeline_sim_broken(sim, "I5: RegisterInstance of something else than a task");
	else if (task && !task->is_healthy && !sim->are_tasks_dying)
		pipeline_sim_broken(sim, "I1: RegisterInstance of a task that is not healthy");
}

static void before_deregister(const struct calling *calling)
{
	if (span_is(json_get_text(calling->request, "InstanceId"), FOREIGN))
		pipeline_sim_broken(calling->checker->sim,
			"I5: DeregisterInstance of an instance of another owner");
}

/* Long enough that each reader sees it. */
static bool is_sick(const struct pipeline_sim *sim, enum pipeline_group group)
{
	return sim->sick_group == group &&
	       runner_now_us(sim->root) > sim->sick_since_us + SICK_SEEN_US;
}

static void before_modify(const struct calling *calling, const char *member)
{
	const struct json *actions = json_get(calling->request, member);
	const struct json *config = json_get(json_item(actions, 0), "ForwardConfig");
	struct rule_state rule = actual_read_actions(calling->checker->sim, actions);
	struct pipeline_sim *sim = calling->checker->sim;

	if ((rule.blue > 0 && is_sick(sim, PIPELINE_BLUE)) ||
		(rule.green > 0 && is_sick(sim, PIPELINE_GREEN)))
		pipeline_sim_broken(sim,
			"I1: %s gives weight to a target group without healthy targets",
			calling->operation);
	if (!rule.is_pair || json_array_count(actions) != 1)
		pipeline_sim_broken(sim, "I5: %s of a rule that does not forward to the pair",
			calling->operation);
	else if (rule.blue + rule.green != 100)
		pipeline_sim_broken(sim, "I5: %s to the weights %lld and %lld", calling->operation,
			(long long)rule.blue, (long long)rule.green);
	else if (!json_get_bool(json_get(config, "TargetGroupStickinessConfig"), "Enabled", false))
		pipeline_sim_broken(sim, "I5: %s loses the stickiness of the rule",
			calling->operation);
}

/* Targets of our own tasks, in the primary target group. */
static void before_targets(const struct calling *calling)
{
	const struct json *targets = json_get(calling->request, "Targets");
	struct span id = json_get_text(json_item(targets, 0), "Id");
	bool is_known = false;

	for (size_t i = 0; i < calling->state->task_count; i++)
		is_known |= span_equal(calling->state->tasks[i].address, id);
	if (!is_known || json_array_count(targets) != 1 ||
		!span_is(json_get_text(calling->request, "TargetGroupArn"),
			calling->checker->sim->blue_arn))
		pipeline_sim_broken(calling->checker->sim,
			"I5: %s of something else than a task of the service", calling->operation);
}

static void before_modify_rule(const struct calling *calling)
{
	before_modify(calling, "Actions");
}

static void before_modify_listener(const struct calling *calling)
{
	before_modify(calling, "DefaultActions");
}

/* A repeated call answers with the first object and creates no other one. */
static void note_created(const struct calling *calling, struct span what, struct span arn)
{
	struct pipeline_checker *checker = calling->checker;
	const char *first = map_get(&checker->created, what);

	if (!first)
		map_put(&checker->created, what, memory_copy_string_n(arn.data, arn.length));
	else if (!span_is(arn, first))
		pipeline_sim_broken(checker->sim, "I4: %s created %.*s besides %s",
			calling->operation, SPAN_ARGS(arn), first);
}

/* Task sets of the old version that a rollback creates are old ones. */
static void note_set(const struct calling *calling)
{
	struct pipeline_checker *checker = calling->checker;
	struct span set = last_parts(json_text(json_path(calling->answer, "taskSet.taskSetArn")),
			    2),
		    definition = json_get_text(calling->request, "taskDefinition");
	bool is_canary = span_is(json_get_text(calling->request, "externalId"), "canary");

	if (is_canary || !span_ends_with(definition, SPAN(":1")))
		snprintf(is_canary ? checker->canary_set : checker->new_set, ARN_MAX, "%.*s",
			SPAN_ARGS(set));
}

static void after_create_set(const struct calling *calling)
{
	note_set(calling);
	_arena_ struct arena *arena = arena_new(0);

	note_created(calling,
		arena_format(arena, "set %.*s %.*s",
			SPAN_ARGS(json_get_text(calling->request, "externalId")),
			SPAN_ARGS(json_get_text(calling->request, "taskDefinition"))),
		json_text(json_path(calling->answer, "taskSet.taskSetArn")));
}

static void after_register_definition(const struct calling *calling)
{
	note_created(calling, SPAN("definition"),
		json_text(json_path(calling->answer, "taskDefinition.taskDefinitionArn")));
}

static const struct call_row {
	const char *operation;
	const char *service_member; /* of the request, with the name of the service */
	void (*before)(const struct calling *calling);
	void (*after)(const struct calling *calling);
} call_rows[] = {
	{"CreateService", "serviceName", NULL, NULL},
	{"CreateTaskSet", "service", NULL, after_create_set},
	{"DeleteService", "service", before_delete_service, NULL},
	{"DeleteTaskSet", "service", before_delete_set, NULL},
	{"DeregisterInstance", NULL, before_deregister, NULL},
	{"DeregisterTargets", NULL, before_targets, NULL},
	{"ModifyListener", NULL, before_modify_listener, NULL},
	{"ModifyRule", NULL, before_modify_rule, NULL},
	{"RegisterInstance", NULL, before_register, NULL},
	{"RegisterTargets", NULL, before_targets, NULL},
	{"RegisterTaskDefinition", NULL, NULL, after_register_definition},
	{"UpdateService", "service", NULL, NULL},
	{"UpdateServicePrimaryTaskSet", "service", NULL, NULL},
	{"UpdateTaskSet", "service", NULL, NULL},
};

static const struct call_row *find_row(const char *operation)
{
	for (size_t i = 0; i < LENGTH(call_rows); i++)
		if (strcmp(call_rows[i].operation, operation) == 0)
			return &call_rows[i];
	return NULL;
}

/* The intent is durable before the call is sent. */
static void check_intent(struct pipeline_checker *checker, const char *operation)
{
	_view_ struct store_view *view = store_view_open(checker->sim->store);
	struct store_cursor cursor = {.view = view, .kind = &deployment_call_kind, .index = -1};
	const struct store_object *object;
	_arena_ struct arena *arena = arena_new(0);
	struct json *record;

	while ((object = store_next(&cursor)))
		if (json_parse(object->api, arena, &record, NULL) == 0 &&
			span_is(json_get_text(record, "result"), "SENT") &&
			span_is(json_get_text(record, "operation"), operation))
			return;
	pipeline_sim_broken(checker->sim, "%s was sent before it was journalled", operation);
}

void pipeline_checker_before_call(struct pipeline_checker *checker, const char *operation,
	const struct json *request)
{
	_view_ struct store_view *view = store_view_open(checker->sim->remote_store);
	const struct call_row *row = find_row(operation);
	struct world_state state;
	struct calling calling = {checker, operation, request, NULL, &state};

	if (!row) {
		pipeline_sim_broken(checker->sim, "%s is no call of a deployment", operation);
		return;
	}
	check_intent(checker, operation);
	if (row->service_member && !actual_is_ours(json_get_text(request, row->service_member)))
		pipeline_sim_broken(checker->sim, "I5: %s of a service of another owner",
			operation);
	actual_read(checker->sim, view, &state);
	if (row->before)
		row->before(&calling);
}

/* Of which set the call is; 0: of none. */
static char role_of_call(const struct calling *calling)
{
	const struct pipeline_checker *checker = calling->checker;
	const struct json *request = calling->request;
	struct span set = json_get_text(request, "taskSet"), id;
	_view_ struct store_view *view = store_view_open(checker->sim->remote_store);
	struct world_state state;

	if (!set.data)
		set = json_get_text(request, "primaryTaskSet");
	if (!set.data)
		set = json_text(json_path(calling->answer, "taskSet.taskSetArn"));
	if (set.data)
		return role_of(checker, &(struct live_task){.service = SPAN(SIM_APPLICATION),
						.set = last_parts(set, 2)});
	if (span_is(json_get_text(request, "service"), SIM_APPLICATION CANARY) ||
		span_is(json_get_text(request, "serviceName"), SIM_APPLICATION CANARY))
		return 'c';
	id = json_get_text(request, "InstanceId");
	actual_read(calling->checker->sim, view, &state);
	for (size_t i = 0; id.data && i < state.task_count; i++)
		if (span_equal(state.tasks[i].id, id))
			return role_of(checker, &state.tasks[i]);
	return '\0';
}

static void note_call(const struct calling *calling)
{
	struct buffer *out = &calling->checker->calls;
	char role = role_of_call(calling);

	buffer_format(out, "%s%s", out->length > 0 ? ", " : "", calling->operation);
	if (role)
		buffer_format(out, " %c", role);
}

void pipeline_checker_after_call(struct pipeline_checker *checker, const char *operation,
	const struct json *request, const struct json *answer)
{
	const struct call_row *row = find_row(operation);
	struct calling calling = {checker, operation, request, answer, NULL};

	if (row && row->after)
		row->after(&calling);
	if (checker->is_noting)
		note_call(&calling);
}

enum pipeline_group pipeline_checker_find_unused(struct pipeline_checker *checker)
{
	_view_ struct store_view *view = store_view_open(checker->sim->remote_store);
	struct world_state state = {0};
	int64_t blue = 0, green = 0;

	actual_read_rules(checker->sim, view, &state);
	for (size_t i = 0; i < state.rule_count; i++) {
		blue += state.rules[i].blue;
		green += state.rules[i].green;
	}
	return blue == 0 ? PIPELINE_BLUE : green == 0 ? PIPELINE_GREEN : PIPELINE_NO_GROUP;
}

/* ---- the end ---- */

struct end_state {
	unsigned primaries, others; /* sets */
	int64_t revision, primary_tasks, healthy, registered, strays, desired;
	bool has_canary_service;
	struct world_state state;
};

static void count_sets(const struct store_view *view, struct end_state *end)
{
	struct store_cursor cursor = {
		.view = view, .kind = &task_set_kind, .index = -1, .prefix = SPAN(SERVICE "/")};
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		const struct task_set_facts *facts = task_set_facts(object);

		if (facts->status != TASK_SET_PRIMARY) {
			end->others++;
			continue;
		}
		end->primaries++;
		end->revision = facts->revision;
	}
}

static void count_deployments(const struct store_view *view, struct end_state *end)
{
	struct store_cursor cursor = {.view = view,
		.kind = &service_deployment_kind,
		.index = DEPLOYMENT_BY_LIVE,
		.prefix = SPAN(SERVICE),
		.exact = true};
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		end->primaries++;
		end->revision = service_deployment_facts(object)->revision;
	}
}

static void read_end(struct pipeline_checker *checker, struct end_state *end)
{
	_view_ struct store_view *view = store_view_open(checker->sim->remote_store);
	const struct store_object *service = store_get(view, &service_kind, SPAN(SERVICE)),
				  *canary = store_get(view, &service_kind, SPAN(SERVICE CANARY));
	struct store_cursor instances = {
		.view = view, .kind = &cloudmap_instance_kind, .index = -1};

	*end = (struct end_state){0};
	if (checker->sim->plan.course.has_services)
		count_deployments(view, end);
	else
		count_sets(view, end);
	end->desired = service ? service_facts(service)->desired : -1;
	end->has_canary_service = canary && service_facts(canary)->status != SERVICE_INACTIVE;
	actual_read(checker->sim, view, &end->state);
	for (size_t i = 0; i < end->state.task_count; i++) {
		const struct live_task *task = &end->state.tasks[i];

		end->primary_tasks += span_is(task->service, SIM_APPLICATION);
		end->strays += !span_is(task->service, SIM_APPLICATION);
		end->healthy += task->is_healthy;
		end->registered += checker->sim->plan.course.has_names
					   ? task->is_registered
					   : task->in_blue && task->is_target_healthy;
	}
	/* And the instance of another owner. */
	while (store_next(&instances))
		end->strays++;
	end->strays -= 1 + (checker->sim->plan.course.has_names ? end->registered : 0);
}

void pipeline_checker_check_end(struct pipeline_checker *checker, int64_t revision)
{
	struct pipeline_sim *sim = checker->sim;
	struct end_state end;

	checker->is_protected = false;
	read_end(checker, &end);
	if (end.primaries != 1 || end.others > 0)
		pipeline_sim_broken(sim, "I3: %u primaries and %u other sets are left",
			end.primaries, end.others);
	if (end.has_canary_service)
		pipeline_sim_broken(sim, "I3: the canary's service is left");
	if (end.revision != revision)
		pipeline_sim_broken(sim, "I3: the primary runs revision %lld",
			(long long)end.revision);
	if (end.desired != sim->plan.desired || end.primary_tasks != end.desired ||
		end.healthy != end.desired)
		pipeline_sim_broken(sim,
			"I3: %lld of %lld tasks of the primary are healthy, %lld wanted",
			(long long)end.healthy, (long long)end.primary_tasks,
			(long long)end.desired);
	if (end.registered != end.desired || end.strays != 0)
		pipeline_sim_broken(sim, "I3: %lld of %lld tasks get traffic, and %lld others",
			(long long)end.registered, (long long)end.desired, (long long)end.strays);
	for (size_t i = 0; i < end.state.rule_count; i++)
		if (end.state.rules[i].is_pair &&
			(end.state.rules[i].blue != 100 || end.state.rules[i].green != 0))
			pipeline_sim_broken(sim, "I3: a rule has the weights %lld and %lld",
				(long long)end.state.rules[i].blue,
				(long long)end.state.rules[i].green);
}

void pipeline_checker_check_kept(struct pipeline_checker *checker)
{
	_view_ struct store_view *view = store_view_open(checker->sim->remote_store);
	struct world_state state;
	unsigned kept = 0;

	if (checker->sim->are_tasks_dying)
		return;
	actual_read(checker->sim, view, &state);
	for (size_t i = 0; i < state.task_count; i++) {
		const struct live_task *task = &state.tasks[i];

		if (role_of(checker, task) != 't')
			continue;
		kept++;
		if (task->has_instance || task->in_blue)
			pipeline_sim_broken(checker->sim,
				"task %.*s is kept for a rollback, and gets traffic",
				SPAN_ARGS(task->id));
	}
	if (kept == 0)
		pipeline_sim_broken(checker->sim, "no old task is kept for a rollback");
}

void pipeline_checker_describe(struct pipeline_checker *checker, struct buffer *out)
{
	struct end_state end;

	read_end(checker, &end);
	buffer_format(out, "%u primary of revision %lld, %u others, %lld of %lld tasks registered",
		end.primaries, (long long)end.revision, end.others, (long long)end.registered,
		(long long)end.primary_tasks);
	for (size_t i = 0; i < end.state.rule_count; i++)
		if (end.state.rules[i].is_pair)
			buffer_format(out, ", %lld/%lld", (long long)end.state.rules[i].blue,
				(long long)end.state.rules[i].green);
}
