/* What a deployment of a version would do, told before it is done: each instance and task, and how the two versions
 * differ. */
#include "daemon/fail.h"
#include "daemon/internal.h"
#include "daemon/matching.h"
#include "rollout/rollout.h"

#define ITEMS_DEFAULT 100

enum change { CHANGE_START, CHANGE_STOP, CHANGE_REPLACE, CHANGE_KEEP, CHANGE_UNREACHABLE, CHANGES };
static const char *const change_names[CHANGES] = {
	"start", "stop", "replace", "keep", "unreachable"};

struct diff {
	struct aws_request *request;
	struct state_service *state;
	struct span name;
	const struct environment_version_facts *version;
	size_t most;
	struct json *lists[CHANGES];
	int64_t counts[CHANGES];
	int64_t wanted; /* instances that would have a task */
	bool truncated, stale;
};

static struct span last_of(struct span place)
{
	struct span rest = place, part = place;

	while (span_next_part(&rest, '/', &part))
		continue;
	return part;
}

static void tell(struct diff *diff, enum change change, struct span place, struct span instance,
	const struct state_task *task)
{
	struct arena *arena = diff->request->arena;
	struct json *item;

	if ((size_t)diff->counts[change]++ >= diff->most) {
		diff->truncated = true;
		return;
	}
	item = json_new_object(arena);
	json_set_string(arena, item, "cluster", last_of(place));
	json_set_string(arena, item, "instance", instance);
	if (task) {
		json_set_string(arena, item, "task", task->arn);
		json_set_string(arena, item, "taskDefinition", task->task_definition);
	}
	json_append(arena, diff->lists[change], item);
}

/* The task that would stay is the first that runs the right thing. */
static void look_at(struct diff *diff, struct span place, const struct state_instance *instance)
{
	bool matches = environment_version_matches(diff->version, place, instance) &&
		       instance->status == STATE_INSTANCE_ACTIVE;
	bool served = false;

	if (!instance->connected) {
		if (matches)
			tell(diff, CHANGE_UNREACHABLE, place, instance->id, NULL);
		return;
	}
	diff->wanted += matches;
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < instance->task_count; i++) {
			const struct state_task *task = &instance->tasks[i];
			bool right =
				span_equal(task->task_definition, diff->version->task_definition);

			if (!environment_owns(diff->name, task) || !state_task_stays(task) ||
				right != (pass == 0))
				continue;
			if (!matches || served)
				tell(diff, CHANGE_STOP, place, instance->id, task);
			else
				tell(diff, right ? CHANGE_KEEP : CHANGE_REPLACE, place,
					instance->id, task);
			served = true;
		}
	if (matches && !served)
		tell(diff, CHANGE_START, place, instance->id, NULL);
}

/* ---- how versions differ ---- */

static void tell_change(struct diff *diff, struct json *list, struct span member,
	const struct json *before, const struct json *after)
{
	struct arena *arena = diff->request->arena;
	struct json *item;

	if (json_equal(before ? before : json_new_null(arena),
		    after ? after : json_new_null(arena)))
		return;
	item = json_new_object(arena);
	json_set_string(arena, item, "member", member);
	if (before)
		json_set(arena, item, "before", before);
	if (after)
		json_set(arena, item, "after", after);
	json_append(arena, list, item);
}

/* The members of both, each once. */
static void tell_members(struct diff *diff, struct json *list, const char *prefix,
	const struct json *before, const struct json *after)
{
	const struct json *const both[] = {before, after};
	struct arena *arena = diff->request->arena;

	for (size_t side = 0; side < LENGTH(both); side++)
		for (size_t i = 0; json_is(both[side], JSON_OBJECT) && i < both[side]->object.count;
			i++) {
			struct span name = both[side]->object.members[i].name;

			if (side == 1 && json_get_span(before, name))
				continue;
			tell_change(diff, list,
				arena_format(arena, "%s%.*s", prefix, SPAN_ARGS(name)),
				json_get_span(before, name), json_get_span(after, name));
		}
}

static struct json *tell_versions(struct diff *diff, const struct store_object *before,
	const struct store_object *after)
{
	static const char *const whole[] = {
		"taskDefinition", "role", "target", "networkConfiguration", "priority"};
	static const char *const parts[] = {"instanceGroup", "deploymentConfiguration"};
	struct arena *arena = diff->request->arena;
	struct json *list = json_new_array(arena), *old = NULL, *new = NULL;

	if (!before || json_parse(before->api, arena, &old, NULL) < 0 ||
		json_parse(after->api, arena, &new, NULL) < 0)
		return list;
	for (size_t i = 0; i < LENGTH(whole); i++)
		tell_change(diff, list, span_of(whole[i]), json_get(old, whole[i]),
			json_get(new, whole[i]));
	for (size_t i = 0; i < LENGTH(parts); i++)
		tell_members(diff, list, arena_format(arena, "%s.", parts[i]).data,
			json_get(old, parts[i]), json_get(new, parts[i]));
	return list;
}

/* ---- all of it ---- */

static int look_at_place(struct diff *diff, struct span place)
{
	struct aws_request *request = diff->request;
	struct state_info info = {0};
	struct span *ids;
	size_t count;

	state_watch(diff->state, place);
	if (!state_get_info(diff->state, place, &info) || !info.complete)
		return aws_fail(request, "ServiceUnavailableException",
			"Cluster %.*s is not known completely yet%s%s; try again",
			SPAN_ARGS(last_of(place)), info.error[0] ? ": " : "", info.error);
	diff->stale |= info.stale;
	count = state_list_instances(diff->state, place, request->arena, &ids);
	for (size_t i = 0; i < count; i++) {
		const struct state_instance *instance =
			state_get_instance(diff->state, place, ids[i], request->arena);

		if (instance)
			look_at(diff, place, instance);
	}
	return 0;
}

/* Where the version is for, and where there may be tasks of others. */
static int look_at_places(struct diff *diff, struct span places)
{
	struct span place;
	int code = look_at_place(diff, diff->version->place);

	while (code == 0 && span_next_part(&places, ' ', &place))
		if (!span_equal(place, diff->version->place))
			code = look_at_place(diff, place);
	return code;
}

static void answer(struct diff *diff, const struct store_object *environment,
	const struct json *changes)
{
	const struct environment_version_facts *version = diff->version;
	struct arena *arena = diff->request->arena;
	struct json *made = json_new_object(arena), *counts = json_new_object(arena);
	unsigned wanted = (unsigned)diff->wanted;
	unsigned down = wanted - rollout_percent_up(wanted, (unsigned)version->minimum_healthy);

	if (!version->minimum_given && down == 0 && wanted > 0)
		down = 1;
	json_set_string(arena, made, "environmentVersion", version->id);
	if (environment_facts(environment)->target.length > 0)
		json_set_string(arena, made, "activeVersion",
			environment_facts(environment)->target);
	json_set(arena, made, "changes", changes);
	for (size_t i = 0; i < CHANGES; i++) {
		json_set(arena, made, change_names[i], diff->lists[i]);
		json_set_integer(arena, counts, change_names[i], diff->counts[i]);
	}
	json_set(arena, made, "counts", counts);
	json_set_integer(arena, made, "maxDown", down);
	json_set_bool(arena, made, "truncated", diff->truncated);
	if (diff->stale)
		json_set_bool(arena, made, "stale", true);
	json_write(made, diff->request->out);
}

int environment_diff(struct aws_request *request)
{
	struct span wanted = json_get_text(request->input, "environmentVersion");
	const struct daemon_context *context = request->context;
	const struct store_object *environment, *version, *active;
	struct diff diff = {.request = request};

	if (environment_find(request, &environment) < 0 ||
		environment_version_find(request, environment,
			wanted.data ? wanted : environment_facts(environment)->latest,
			&version) < 0)
		return -EPERM;
	if (!context || !context->state)
		return aws_fail(request, "ServiceUnavailableException",
			"The state of clusters is not followed");
	diff.state = context->state;
	diff.name = environment_facts(environment)->name;
	diff.version = environment_version_facts(version);
	diff.most = (size_t)json_get_integer(request->input, "maxResults", ITEMS_DEFAULT);
	for (size_t i = 0; i < CHANGES; i++)
		diff.lists[i] = json_new_array(request->arena);
	/* Of the others, how the versions differ is all there is to tell: ECS and the clock decide the rest. */
	if (environment_facts(environment)->type == ENVIRONMENT_TYPE_Daemon &&
		look_at_places(&diff, environment_facts(environment)->places) < 0)
		return -EPERM;
	active = store_get(request->view, &environment_version_kind,
		environment_part_key(request->arena, environment->key,
			environment_facts(environment)->target));
	answer(&diff, environment, tell_versions(&diff, active, version));
	return 0;
}
