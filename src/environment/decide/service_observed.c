/* See the header. */
#include "environment/decide/service_observed.h"

#include "base/memory.h"
#include "environment/model/environment_type.h"

/* ---- desired state ---- */

struct span service_constraint(struct arena *arena, const struct json *attributes)
{
	struct span created = SPAN("");

	JSON_EACH_ITEM (attributes, item) {
		struct span name = json_text(item), value = SPAN_NONE;

		if (json_is(item, JSON_OBJECT)) {
			name = json_get_text(item, "name");
			value = json_get_text(item, "value");
		} else {
			span_split(name, '=', &name, &value);
		}
		if (value.data)
			created = arena_format(arena, "%.*s%sattribute:%.*s == %.*s",
				SPAN_ARGS(created), created.length > 0 ? " and " : "",
				SPAN_ARGS(name), SPAN_ARGS(value));
		else
			created = arena_format(arena, "%.*s%sattribute:%.*s exists",
				SPAN_ARGS(created), created.length > 0 ? " and " : "",
				SPAN_ARGS(name));
	}
	return created;
}

static struct json *constraints(struct arena *arena, const struct json *version)
{
	struct span expression =
		service_constraint(arena, json_path(version, "instanceGroup.attributes"));
	struct json *list = json_new_array(arena), *one = json_new_object(arena);

	if (expression.length == 0)
		return list;
	json_set_string(arena, one, "type", SPAN("memberOf"));
	json_set_string(arena, one, "expression", expression);
	json_append(arena, list, one);
	return list;
}

/* With a version to go back to, a failure is to be noticed early. */
static struct json *rollout(struct arena *arena, const struct json *configuration)
{
	struct json *created = json_new_object(arena), *breaker = json_new_object(arena);

	json_set_integer(arena, created, "minimumHealthyPercent",
		json_get_integer(configuration, "minHealthyPercent", 100));
	json_set_integer(arena, created, "maximumPercent",
		json_get_integer(configuration, "maxActivePercent", 200));
	json_set_bool(arena, breaker, "enable",
		span_is(json_get_text(configuration, "onFailure"), "rollback"));
	json_set_bool(arena, breaker, "rollback", false);
	json_set(arena, created, "deploymentCircuitBreaker", breaker);
	return created;
}

static struct json *tags(struct arena *arena, struct span name)
{
	struct json *list = json_new_array(arena), *one = json_new_object(arena);

	json_set_string(arena, one, "key", SPAN(ENVIRONMENT_SERVICE_TAG));
	json_set_string(arena, one, "value", name);
	json_append(arena, list, one);
	return list;
}

struct json *service_wanted(struct arena *arena, struct span cluster, struct span name,
	const struct json *version, const struct json *balancer)
{
	const struct json *configuration = json_get(version, "deploymentConfiguration");
	struct json *created = json_new_object(arena), *balancers = json_new_array(arena);

	if (balancer)
		json_append(arena, balancers, balancer);
	json_set_string(arena, created, "cluster", cluster);
	json_set_string(arena, created, "serviceName", environment_service_name(arena, name));
	json_set_string(arena, created, "taskDefinition", json_get_text(version, "taskDefinition"));
	json_set_integer(arena, created, "desiredCount",
		json_get_integer(configuration, "desiredCount", 1));
	json_set(arena, created, "deploymentConfiguration", rollout(arena, configuration));
	json_set(arena, created, "networkConfiguration", json_get(version, "networkConfiguration"));
	json_set(arena, created, "loadBalancers", balancers);
	json_set(arena, created, "placementConstraints", constraints(arena, version));
	json_set(arena, created, "tags", tags(arena, name));
	json_set_bool(arena, created, "enableECSManagedTags", false);
	return created;
}

struct json *service_wanted_update(struct arena *arena, const struct json *wanted, bool force)
{
	struct json *created = json_copy_object(arena, wanted);

	json_set(arena, created, "service", json_get(wanted, "serviceName"));
	json_unset(created, "serviceName");
	json_unset(created, "tags");
	json_unset(created, "enableECSManagedTags");
	if (force)
		json_set_bool(arena, created, "forceNewDeployment", true);
	return created;
}

/* ---- the described service ---- */

static bool same_texts(const struct json *a, const struct json *b, const char *name)
{
	return span_equal(json_get_text(a, name), json_get_text(b, name));
}

static bool same_balancers(const struct json *is, const struct json *wanted)
{
	size_t count = json_count(wanted);

	if (json_count(is) != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct json *a = json_item(is, i), *b = json_item(wanted, i);

		if (!same_texts(a, b, "targetGroupArn") || !same_texts(a, b, "containerName") ||
			json_get_integer(a, "containerPort", 0) !=
				json_get_integer(b, "containerPort", 0))
			return false;
	}
	return true;
}

static bool same_constraints(const struct json *is, const struct json *wanted)
{
	if (json_count(is) != json_count(wanted))
		return false;
	return json_count(wanted) == 0 ||
	       same_texts(json_item(is, 0), json_item(wanted, 0), "expression");
}

static bool same_rollout(const struct json *is, const struct json *wanted)
{
	return json_get_integer(is, "minimumHealthyPercent", 100) ==
		       json_get_integer(wanted, "minimumHealthyPercent", 100) &&
	       json_get_integer(is, "maximumPercent", 200) ==
		       json_get_integer(wanted, "maximumPercent", 200) &&
	       json_get_bool(json_get(is, "deploymentCircuitBreaker"), "enable", false) ==
		       json_get_bool(json_get(wanted, "deploymentCircuitBreaker"), "enable", false);
}

/* The same names, in whichever order. */
static bool same_names(const struct json *is, const struct json *wanted)
{
	if (json_count(is) != json_count(wanted))
		return false;
	JSON_EACH_ITEM (wanted, name) {
		bool found = false;

		JSON_EACH_ITEM (is, other)
			found |= span_equal(json_text(name), json_text(other));
		if (!found)
			return false;
	}
	return true;
}

static bool is_public(const struct json *network)
{
	struct span requested = json_get_text(network, "assignPublicIp");

	return requested.data && span_is(requested, "ENABLED");
}

/* ECS fills in security groups that were not given. */
static bool same_network(const struct json *is, const struct json *wanted)
{
	const struct json *groups = json_get(wanted, "securityGroups");

	if (!json_is(wanted, JSON_OBJECT))
		return true;
	return same_names(json_get(is, "subnets"), json_get(wanted, "subnets")) &&
	       (json_count(groups) == 0 || same_names(json_get(is, "securityGroups"), groups)) &&
	       is_public(is) == is_public(wanted);
}

static bool has_settings(const struct json *is, const struct json *wanted)
{
	return json_get_integer(is, "desiredCount", -1) ==
		       json_get_integer(wanted, "desiredCount", 1) &&
	       same_rollout(json_get(is, "deploymentConfiguration"),
		       json_get(wanted, "deploymentConfiguration")) &&
	       same_balancers(json_get(is, "loadBalancers"), json_get(wanted, "loadBalancers")) &&
	       same_constraints(json_get(is, "placementConstraints"),
		       json_get(wanted, "placementConstraints")) &&
	       same_network(json_path(is, "networkConfiguration.awsvpcConfiguration"),
		       json_path(wanted, "networkConfiguration.awsvpcConfiguration"));
}

static void inspect_primary(const struct json *primary, struct service_observed *observed)
{
	struct span state = json_get_text(primary, "rolloutState");

	if (!primary)
		return;
	observed->deployment = json_get_text(primary, "id");
	observed->updated = json_get_integer(primary, "runningCount", 0);
	observed->failed = json_get_integer(primary, "failedTasks", 0);
	if (json_get_text(primary, "rolloutStateReason").data)
		observed->reported = json_get_text(primary, "rolloutStateReason");
	if (state.data && span_is(state, "COMPLETED"))
		observed->rollout = SERVICE_ROLLOUT_COMPLETED;
	else if (state.data && span_is(state, "FAILED"))
		observed->rollout = SERVICE_ROLLOUT_FAILED;
}

static bool contains(struct span text, const char *part)
{
	return text.data && memmem(text.data, text.length, part, strlen(part));
}

static int64_t moment_of(const struct json *object, const char *member)
{
	double at_s = 0;

	json_double(json_get(object, member), &at_s);
	return (int64_t)(at_s * 1000);
}

static const struct json *find_primary(const struct json *description)
{
	JSON_EACH_ITEM (json_get(description, "deployments"), deployment)
		if (span_is(json_get_text(deployment, "status"), "PRIMARY"))
			return deployment;
	return NULL;
}

/* The reason in the last event, if it is of this rollout. ECS has these reasons only as text. */
static const char *find_blocker(const struct json *description, int64_t since_ms)
{
	static const struct {
		const char *words, *reason;
	} rows[] = {{"unable to place a task", "UNABLE_TO_PLACE"},
		{"because of the service deployment configuration", "MIN_HEALTHY_UNSATISFIABLE"},
		{"unable to consistently start tasks", "TASKS_FAIL"}};
	const struct json *event = json_item(json_get(description, "events"), 0);

	if (since_ms == SERVICE_SINCE_ROLLOUT)
		since_ms = moment_of(find_primary(description), "createdAt");
	for (size_t i = 0; i < LENGTH(rows); i++)
		if (contains(json_get_text(event, "message"), rows[i].words) &&
			moment_of(event, "createdAt") >= since_ms)
			return rows[i].reason;
	return NULL;
}

void service_observe(const struct json *description, const struct json *wanted, struct span name,
	int64_t since_ms, struct service_observed *ret_observed)
{
	struct service_observed observed = {
		.deployment = SPAN(""), .deployment_arn = SPAN(""), .reported = SPAN("")};
	struct span status = json_get_text(description, "status"),
		    stoppable = json_get_text(description, "currentServiceDeployment");

	if (!status.data || span_is(status, "INACTIVE")) {
		*ret_observed = observed;
		return;
	}
	observed.exists = true;
	observed.drains = span_is(status, "DRAINING");
	observed.is_ours = environment_owns_service(json_get(description, "tags"), name);
	observed.runs_it = same_texts(description, wanted, "taskDefinition");
	observed.as_wanted = observed.runs_it && has_settings(description, wanted);
	observed.desired = json_get_integer(description, "desiredCount", 0);
	observed.running = json_get_integer(description, "runningCount", 0);
	observed.pending = json_get_integer(description, "pendingCount", 0);
	if (stoppable.data)
		observed.deployment_arn = stoppable;
	inspect_primary(find_primary(description), &observed);
	if (observed.running < observed.desired || observed.rollout == SERVICE_ROLLOUT_IN_PROGRESS)
		observed.blocker = find_blocker(description, since_ms);
	*ret_observed = observed;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t service_proven(const struct service_observed *observed)
{
	return observed->updated - least(observed->updated, observed->failed);
}

/* While tasks fail again and again one that runs has only been started once more, and so has one that is about to: the
 * service is unhealthy until ECS says that one of them has been well. */
static void count_failing(const struct service_observed *observed,
	struct environment_counts *counts)
{
	int64_t trusted = observed->running - observed->updated + service_proven(observed);

	counts->active = least(trusted > 0 ? trusted : 0, counts->total);
	if (counts->active == counts->total && counts->total > 0)
		counts->active--;
	counts->unhealthy = counts->total - counts->active;
	counts->outdated = least(counts->outdated, counts->active);
	counts->completed = least(counts->completed, service_proven(observed));
}

void service_count(const struct service_observed *observed, int64_t wanted,
	struct environment_counts *ret_counts)
{
	bool counts = observed->exists && observed->is_ours;
	struct environment_counts created = {.total = counts ? observed->desired : wanted};
	int64_t rest;

	if (counts) {
		created.active = least(observed->running, created.total);
		created.outdated =
			least(observed->running - least(observed->updated, observed->running),
				created.active);
		created.completed = observed->runs_it ? least(observed->updated, created.total) : 0;
	}
	if (counts && !observed->runs_it)
		created.outdated = created.active;
	if (counts && observed->failed > 0) {
		count_failing(observed, &created);
		*ret_counts = created;
		return;
	}
	if (counts)
		created.launching = least(observed->pending, created.total - created.active);
	rest = created.total - created.active - created.launching;
	if (observed->blocker)
		created.unhealthy = rest;
	else
		created.missing = rest;
	*ret_counts = created;
}
