/* The effect of a deployment of a version: each instance and task, and how the two versions differ. The planner
 * (rollout/fleet_need.h) decides which task of an instance stays, by the observed state. */
#include "delivery/cluster_ref.h"
#include "environment/api/environment_tasks.h"
#include "environment/model/fail.h"
#include "environment/model/matching.h"
#include "rollout/fleet_need.h"

#define ITEMS_DEFAULT 100

enum change { CHANGE_START, CHANGE_STOP, CHANGE_REPLACE, CHANGE_KEEP, CHANGE_UNREACHABLE, CHANGES };
static const char *const change_names[CHANGES] = {
	"start", "stop", "replace", "keep", "unreachable"};

struct diff {
	struct aws_request *request;
	struct observer *state;
	struct span key, name; /* of the environment */
	const struct environment_version_facts *version;
	struct fleet_rules rules; /* while that is rolled out */
	size_t most;
	struct json *lists[CHANGES];
	int64_t counts[CHANGES];
	int64_t wanted; /* instances that would have a task */
	bool truncated, stale;
};

static void report(struct diff *diff, enum change change, struct cluster_ref cluster,
	struct span instance, const struct observe_task *task, const char *reason)
{
	struct arena *arena = diff->request->arena;
	struct json *item;

	if ((size_t)diff->counts[change]++ >= diff->most) {
		diff->truncated = true;
		return;
	}
	item = json_new_object(arena);
	json_set_string(arena, item, "cluster", cluster.cluster);
	json_set_string(arena, item, "instance", instance);
	if (task) {
		json_set_string(arena, item, "task", task->arn);
		json_set_string(arena, item, "taskDefinition", task->task_definition);
	}
	if (reason)
		json_set_string(arena, item, "reason", span_of(reason));
	json_append(arena, diff->lists[change], item);
}

/* ---- one instance ---- */

/* One of its tasks that is not reported yet. */
struct seen_task {
	const struct observe_task *task; /* NULL: it was */
	enum fleet_version version;
	enum rollout_class class;
};

struct seen {
	struct cluster_ref cluster;
	const struct observe_instance *instance;
	struct fleet_instance now;
	struct seen_task *tasks;
	size_t count;
};

static bool runs(const struct diff *diff, const struct environment_version_facts *version,
	const struct observe_task *task)
{
	return environment_version_runs(version, diff->request->view, diff->request->arena, task);
}

/* The version that the instance belongs to, or NULL. */
static const struct environment_version_facts *assigned_version(const struct diff *diff,
	const struct seen *seen)
{
	const struct aws_request *request = diff->request;
	const struct store_object *version = NULL,
				  *placement = store_get(request->view, &environment_placement_kind,
					  environment_placement_key(request->arena, diff->key,
						  seen->cluster, seen->instance->id));

	if (placement)
		version = store_get(request->view, &environment_version_kind,
			environment_child_key(request->arena, diff->key,
				environment_placement_facts(placement)->version));
	return version ? environment_version_facts(version) : NULL;
}

/* Warm-up times are ignored: a running task counts as warm. */
static enum rollout_class class_of(const struct observe_task *task)
{
	if (task->last < OBSERVE_TASK_RUNNING)
		return ROLLOUT_PENDING;
	if (task->health == OBSERVE_UNHEALTHY)
		return ROLLOUT_UNHEALTHY;
	return task->health == OBSERVE_HEALTH_UNKNOWN || task->health == OBSERVE_HEALTH_UNSURE
		       ? ROLLOUT_STARTING
		       : ROLLOUT_HEALTHY;
}

static enum rollout_instance_state state_of(const struct observe_instance *instance)
{
	if (!instance->connected || instance->status == OBSERVE_INSTANCE_OTHER)
		return ROLLOUT_INSTANCE_UNREACHABLE;
	return instance->status == OBSERVE_INSTANCE_DRAINING ? ROLLOUT_INSTANCE_DRAINING
							     : ROLLOUT_INSTANCE_ACTIVE;
}

static void see(const struct diff *diff, struct seen *seen)
{
	const struct observe_instance *instance = seen->instance;
	const struct environment_version_facts *assigned = assigned_version(diff, seen);
	struct fleet_instance *now = &seen->now;

	now->state = state_of(instance);
	now->matches = environment_version_matches(diff->version, seen->cluster, instance);
	if (assigned)
		now->assigned = environment_version_makes_same(diff->version, assigned)
					? FLEET_ASSIGNED_TARGET
					: FLEET_ASSIGNED_OLD;
	seen->tasks = arena_allocate_array(diff->request->arena, instance->task_count,
		sizeof(*seen->tasks));
	for (size_t i = 0; i < instance->task_count; i++) {
		const struct observe_task *task = &instance->tasks[i];
		struct seen_task *created = &seen->tasks[seen->count];

		/* Other tasks get a limited time to leave first; without any, nothing waits. */
		if (!environment_owns_any(task) && task->last < OBSERVE_TASK_STOPPED)
			now->others_left = diff->version->drain_timeout_ms > 0;
		if (!environment_owns(diff->name, task) || !observe_task_stays(task))
			continue;
		*created = (struct seen_task){task, FLEET_OTHER, class_of(task)};
		if (runs(diff, diff->version, task))
			created->version = FLEET_TARGET;
		else if (assigned && runs(diff, assigned, task))
			created->version = FLEET_OLD;
		now->tasks[created->version][created->class]++;
		seen->count++;
	}
}

/* The first of these tasks, which counts as reported from now on; NULL: none is left. */
static const struct observe_task *take(struct seen *seen, enum fleet_version version,
	enum rollout_class class)
{
	for (size_t i = 0; i < seen->count; i++)
		if (seen->tasks[i].task && seen->tasks[i].version == version &&
			seen->tasks[i].class == class)
			return TAKE(seen->tasks[i].task);
	return NULL;
}

/* As the planner does, one after the other, from the one that is worth least. */
static void report_excess(struct diff *diff, struct seen *seen)
{
	struct fleet_view pass;
	enum fleet_version version;
	enum rollout_class class;
	const char *reason;

	for (;;) {
		pass = fleet_view(&diff->rules, &seen->now);
		if (!fleet_excess(&diff->rules, &seen->now, &pass, &version, &class))
			return;
		if (pass.wanted || pass.keeps)
			reason = "EXCESS";
		else
			reason = seen->now.matches ? "DRAINING" : "NO_MATCH";
		report(diff, CHANGE_STOP, seen->cluster, seen->instance->id,
			take(seen, version, class), reason);
		seen->now.tasks[version][class]--;
		seen->now.stopping++;
	}
}

/* One task remains, or an older one until the one that replaces it is healthy. */
static void report_kept(struct diff *diff, struct seen *seen)
{
	struct fleet_view pass = fleet_view(&diff->rules, &seen->now);
	bool pair = pass.target > 0 && pass.older > 0;

	diff->wanted += pass.wanted;
	for (size_t i = 0; i < seen->count; i++) {
		const struct seen_task *left = &seen->tasks[i];
		bool unhealthy = left->class == ROLLOUT_UNHEALTHY;
		enum change change = CHANGE_KEEP;
		const char *reason = NULL;

		if (!left->task)
			continue;
		if (pass.keeps)
			reason = "DRAINING";
		else if (pair && left->version != FLEET_TARGET)
			change = CHANGE_STOP;
		else if (left->version != FLEET_TARGET || unhealthy)
			change = CHANGE_REPLACE;
		if (change == CHANGE_REPLACE && unhealthy)
			reason = "UNHEALTHY";
		report(diff, change, seen->cluster, seen->instance->id, left->task, reason);
	}
	if (pass.wanted && pass.target + pass.older == 0)
		report(diff, CHANGE_START, seen->cluster, seen->instance->id, NULL, NULL);
}

static void inspect(struct diff *diff, struct cluster_ref cluster,
	const struct observe_instance *instance)
{
	struct seen seen = {.cluster = cluster, .instance = instance};

	see(diff, &seen);
	if (seen.now.state == ROLLOUT_INSTANCE_UNREACHABLE) {
		if (seen.now.matches || seen.count > 0)
			report(diff, CHANGE_UNREACHABLE, cluster, instance->id,
				seen.count > 0 ? seen.tasks[0].task : NULL, NULL);
		return;
	}
	report_excess(diff, &seen);
	report_kept(diff, &seen);
}

/* ---- services ---- */

struct service_diff {
	struct diff *diff;
	const struct environment_version_facts *active; /* NULL: none */
	int64_t wanted, kept, replaced;
};

/* Tasks of the version stay as far as they are wanted; others are replaced while new ones are wanted. */
static void inspect_service_task(void *context, struct cluster_ref cluster,
	const struct observe_task *task)
{
	struct service_diff *service = context;
	struct diff *diff = service->diff;
	bool stays = span_equal(task->task_definition, diff->version->task_definition) &&
		     service->active &&
		     environment_version_makes_same(diff->version, service->active) &&
		     span_equal(cluster.text, diff->version->cluster_ref);

	if (service->kept + service->replaced == service->wanted)
		report(diff, CHANGE_STOP, cluster, task->instance, task, "EXCESS");
	else if (stays) {
		service->kept++;
		report(diff, CHANGE_KEEP, cluster, task->instance, task, NULL);
	} else {
		service->replaced++;
		report(diff, CHANGE_REPLACE, cluster, task->instance, task, NULL);
	}
}

static void inspect_service(struct diff *diff, const struct store_object *environment,
	const struct store_object *version, const struct store_object *active)
{
	struct service_diff service = {
		.diff = diff, .active = active ? environment_version_facts(active) : NULL};
	struct cluster_ref cluster = cluster_ref_of(diff->version->cluster_ref);
	struct json *document;

	if (json_parse(version->api, diff->request->arena, &document, NULL) < 0)
		return;
	service.wanted =
		json_get_integer(json_get(document, "deploymentConfiguration"), "desiredCount", 1);
	environment_tasks_walk(diff->request, environment, inspect_service_task, &service);
	/* ECS chooses the instances. */
	while (service.kept + service.replaced < service.wanted) {
		service.replaced++;
		report(diff, CHANGE_START, cluster, SPAN(""), NULL, NULL);
	}
	diff->wanted = service.wanted;
}

/* ---- how versions differ ---- */

static void report_change(struct diff *diff, struct json *list, struct span member,
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
static void report_members(struct diff *diff, struct json *list, const char *prefix,
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
			report_change(diff, list,
				arena_format(arena, "%s%.*s", prefix, SPAN_ARGS(name)),
				json_get_span(before, name), json_get_span(after, name));
		}
}

static struct json *report_versions(struct diff *diff, const struct store_object *before,
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
		report_change(diff, list, span_of(whole[i]), json_get(old, whole[i]),
			json_get(new, whole[i]));
	for (size_t i = 0; i < LENGTH(parts); i++)
		report_members(diff, list, arena_format(arena, "%s.", parts[i]).data,
			json_get(old, parts[i]), json_get(new, parts[i]));
	return list;
}

/* ---- all of it ---- */

static int inspect_cluster(struct diff *diff, struct cluster_ref cluster)
{
	struct aws_request *request = diff->request;
	struct observe_info info = {0};
	struct span *ids;
	size_t count;

	/* Remote clusters are followed only for environments that are, or would be, there. */
	if (!cluster_ref_is_remote(cluster) &&
		observe_want(diff->state, cluster, NULL, 0, NULL) == 0)
		observe_release(diff->state, cluster);
	if (!observe_get_info(diff->state, cluster, &info) || !info.complete)
		return aws_fail(request, "ServiceUnavailableException",
			"Cluster %.*s is not known completely yet%s%s; try again",
			SPAN_ARGS(cluster.cluster), info.error[0] ? ": " : "", info.error);
	diff->stale |= info.stale;
	count = observe_list_instances(diff->state, cluster, request->arena, &ids);
	for (size_t i = 0; i < count; i++) {
		const struct observe_instance *instance =
			observe_get_instance(diff->state, cluster, ids[i], request->arena);

		if (instance)
			inspect(diff, cluster, instance);
	}
	return 0;
}

/* Where the version is for, and where there may be tasks of others. */
static int inspect_clusters(struct diff *diff, struct span cluster_refs)
{
	struct cluster_ref wanted = cluster_ref_of(diff->version->cluster_ref), cluster;
	int code = inspect_cluster(diff, wanted);

	while (code == 0 && environment_next_cluster(&cluster_refs, &cluster))
		if (!cluster_ref_equal(cluster, wanted))
			code = inspect_cluster(diff, cluster);
	return code;
}

static void answer(struct diff *diff, const struct store_object *environment,
	const struct json *changes)
{
	const struct environment_version_facts *version = diff->version;
	struct arena *arena = diff->request->arena;
	struct json *created = json_new_object(arena), *counts = json_new_object(arena);
	unsigned wanted = (unsigned)diff->wanted;
	unsigned down = wanted - rollout_percent_up(wanted, (unsigned)version->minimum_healthy);

	if (!version->minimum_requested && down == 0 && wanted > 0)
		down = 1;
	json_set_string(arena, created, "environmentVersion", version->id);
	if (environment_facts(environment)->target.length > 0)
		json_set_string(arena, created, "activeVersion",
			environment_facts(environment)->target);
	json_set(arena, created, "changes", changes);
	for (size_t i = 0; i < CHANGES; i++) {
		json_set(arena, created, change_names[i], diff->lists[i]);
		json_set_integer(arena, counts, change_names[i], diff->counts[i]);
	}
	json_set(arena, created, "counts", counts);
	json_set_integer(arena, created, "maxDown", down);
	json_set_bool(arena, created, "truncated", diff->truncated);
	if (diff->stale)
		json_set_bool(arena, created, "stale", true);
	json_write(created, diff->request->out);
}

/* Of a deployment that has just begun. */
static struct fleet_rules rules_of(const struct environment_version_facts *version)
{
	return (struct fleet_rules){.mode = FLEET_ROLLS,
		.replace_first = version->surge,
		.canary_instances = (unsigned)version->canary_instances};
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
	diff.key = environment->key;
	diff.name = environment_facts(environment)->name;
	diff.version = environment_version_facts(version);
	diff.rules = rules_of(diff.version);
	diff.most = (size_t)json_get_integer(request->input, "maxResults", ITEMS_DEFAULT);
	for (size_t i = 0; i < CHANGES; i++)
		diff.lists[i] = json_new_array(request->arena);
	active = store_get(request->view, &environment_version_kind,
		environment_child_key(request->arena, environment->key,
			environment_facts(environment)->target));
	if (environment_facts(environment)->type == ENVIRONMENT_TYPE_Service)
		inspect_service(&diff, environment, version, active);
	/* Of a Cron only the difference of the versions is known: its schedule decides the rest. */
	if (environment_facts(environment)->type == ENVIRONMENT_TYPE_Daemon &&
		inspect_clusters(&diff, environment_facts(environment)->cluster_refs) < 0)
		return -EPERM;
	answer(&diff, environment, report_versions(&diff, active, version));
	return 0;
}
