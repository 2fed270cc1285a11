/* Versions and deployments: the automaton, one at a time, and that each ends. */
#include <stdio.h>

#include "sim/daemon/daemon_checker_internal.h"

#define CREATED_WITHIN_US INT64_C(10000000)
#define CREATED_MAX 300 /* deployments of one environment within that time */

/* ---- versions ---- */

static uint64_t hash_of(struct span text)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < text.length; i++)
		hash = (hash ^ (unsigned char)text.data[i]) * UINT64_C(1099511628211);
	return hash;
}

/* Puts down that the environment of this key has a version of that. */
static void note_wanted(struct daemon_checker *checker, struct span environment_key,
	const struct actual_version *version)
{
	const struct actual_environment *environment =
		actual_environment(&checker->actual, environment_key);
	char what[2 * ACTUAL_TEXT_MAX];
	struct actual_wanted *wanted;

	snprintf(what, sizeof(what), "%s %s", version->cluster_ref, version->definition);
	wanted = map_get(&checker->actual.wanted, span_of(what));
	if (!wanted) {
		wanted = memory_allocate(sizeof(*wanted));
		wanted->first = environment;
		map_put(&checker->actual.wanted, span_of(what), wanted);
	}
	wanted->by_several |= wanted->first != environment;
}

void checker_take_version(struct daemon_checker *checker, struct span key,
	const struct store_object *after)
{
	struct actual_version *version = map_get(&checker->actual.versions, key);
	const struct environment_version_facts *facts;

	if (!after)
		return; /* tasks that it started may still run */
	facts = environment_version_facts(after);
	if (version) {
		daemon_checker_count(checker, DAEMON_PROPERTY_S8);
		if (version->hash != hash_of(after->api))
			daemon_checker_report(checker, DAEMON_PROPERTY_S8,
				"version %.*s has changed", SPAN_ARGS(key));
		return;
	}
	version = memory_allocate(sizeof(*version));
	CHECKER_COPY(version->cluster_ref, facts->cluster_ref);
	CHECKER_COPY(version->definition, facts->task_definition);
	CHECKER_COPY(version->attributes, facts->attributes);
	version->minimum_requested = facts->minimum_requested;
	version->minimum_healthy = (unsigned)facts->minimum_healthy;
	version->surge = facts->surge;
	version->maximum_over = (unsigned)facts->maximum_over;
	version->canary_instances = (unsigned)facts->canary_instances;
	version->canary_bake_ms = facts->canary_bake_ms;
	version->rolls_back = facts->on_failure == ENVIRONMENT_ON_FAILURE_rollback;
	version->warm_up_ms = facts->warm_up_ms;
	version->timeout_ms = facts->timeout_ms;
	version->hash = hash_of(after->api);
	map_put(&checker->actual.versions, key, version);
	note_wanted(checker, environment_of_child_key(key), version);
}

/* ---- deployments ---- */

/* The automaton once more, so that a wrong one in the program is found. */
static bool may_become(enum environment_deployment_status from,
	enum environment_deployment_status to)
{
#define BIT(name) (1u << ENVIRONMENT_DEPLOYMENT_##name)
	static const unsigned moves[ENVIRONMENT_DEPLOYMENT_STATUS_COUNT] = {
		[ENVIRONMENT_DEPLOYMENT_pending] = BIT(in_progress) | BIT(canceled),
		[ENVIRONMENT_DEPLOYMENT_in_progress] = BIT(completed) | BIT(unhealthy) |
						       BIT(blocked) | BIT(to_be_stopped) |
						       BIT(timed_out),
		[ENVIRONMENT_DEPLOYMENT_unhealthy] = BIT(completed) | BIT(in_progress) |
						     BIT(blocked) | BIT(to_be_stopped) |
						     BIT(timed_out),
		[ENVIRONMENT_DEPLOYMENT_blocked] = BIT(completed) | BIT(in_progress) |
						   BIT(unhealthy) | BIT(to_be_stopped) |
						   BIT(timed_out),
		[ENVIRONMENT_DEPLOYMENT_to_be_stopped] = BIT(stopped),
	};

	return moves[from] & (1u << to);
#undef BIT
}

static bool has_ended(enum environment_deployment_status status)
{
	return status == ENVIRONMENT_DEPLOYMENT_completed ||
	       status == ENVIRONMENT_DEPLOYMENT_stopped ||
	       status == ENVIRONMENT_DEPLOYMENT_canceled ||
	       status == ENVIRONMENT_DEPLOYMENT_timed_out;
}

/* The two steps of one commit that makes room for a user's deployment are one. */
static bool is_one_commit(enum environment_deployment_status from,
	enum environment_deployment_status to)
{
	return to == ENVIRONMENT_DEPLOYMENT_stopped &&
	       may_become(from, ENVIRONMENT_DEPLOYMENT_to_be_stopped);
}

/* Deployments are not created one after another without end. */
static void check_created(struct daemon_checker *checker, struct actual_environment *environment)
{
	int64_t now_us = checker_now_us(checker);

	if (now_us - environment->created_us > CREATED_WITHIN_US) {
		environment->created_us = now_us;
		environment->created = 0;
	}
	daemon_checker_count(checker, DAEMON_PROPERTY_S16);
	if (++environment->created == CREATED_MAX)
		daemon_checker_report(checker, DAEMON_PROPERTY_S16,
			"environment %s has %d deployments within %d s", environment->name,
			CREATED_MAX, (int)(CREATED_WITHIN_US / 1000000));
}

static bool is_running(enum environment_deployment_status status)
{
	return status == ENVIRONMENT_DEPLOYMENT_in_progress ||
	       status == ENVIRONMENT_DEPLOYMENT_unhealthy ||
	       status == ENVIRONMENT_DEPLOYMENT_blocked;
}

/* Pending ones are no longer pending, and the one in progress has ended; after a failed one another one succeeds. */
static void note_end(struct daemon_checker *checker, struct actual_environment *environment,
	struct actual_deployment *deployment, enum environment_deployment_status status)
{
	int64_t now_us = checker_now_us(checker);

	deployment->moved_us = now_us;
	if (status == ENVIRONMENT_DEPLOYMENT_in_progress && deployment->began_us == 0)
		deployment->began_us = now_us;
	if (deployment->status == ENVIRONMENT_DEPLOYMENT_pending || has_ended(status))
		daemon_checker_count(checker, DAEMON_PROPERTY_L2);
	if (deployment->type != ENVIRONMENT_DEPLOYMENT_TYPE_user)
		return;
	if (is_running(deployment->status) && !is_running(status))
		environment->released_us = now_us;
	if (status == ENVIRONMENT_DEPLOYMENT_timed_out || status == ENVIRONMENT_DEPLOYMENT_stopped)
		environment->has_failed = true;
	if (status == ENVIRONMENT_DEPLOYMENT_completed && environment->has_failed) {
		daemon_checker_count(checker, DAEMON_PROPERTY_L7);
		environment->has_failed = false;
	}
}

/* The reported progress: as many as are its own, and while they are the same, never less. */
static void check_progress(struct daemon_checker *checker,
	const struct actual_environment *environment, struct actual_deployment *deployment,
	const struct environment_deployment_facts *facts)
{
	bool same = environment->members_us < deployment->reported_us;

	if (deployment->done == facts->done && deployment->total == facts->total)
		return;
	if (deployment->total > 0 && (same || deployment->total == facts->total)) {
		daemon_checker_count(checker, DAEMON_PROPERTY_S18);
		if (facts->done < deployment->done || (same && facts->total != deployment->total))
			daemon_checker_report(checker, DAEMON_PROPERTY_S18,
				"a deployment of environment %s was at %lld of %lld instances, and "
				"is at %lld of %lld",
				environment->name, (long long)deployment->done,
				(long long)deployment->total, (long long)facts->done,
				(long long)facts->total);
	}
	deployment->done = facts->done;
	deployment->total = facts->total;
	deployment->reported_us = checker_reported_us(checker);
}

void checker_take_deployment(struct daemon_checker *checker, struct span key,
	const struct store_object *after)
{
	struct actual_environment *environment =
		actual_environment(&checker->actual, environment_of_child_key(key));
	const struct environment_deployment_facts *facts;
	struct actual_deployment *deployment;
	struct span id;

	if (!environment)
		return;
	id = (struct span){
		key.data + strlen(environment->key) + 1, key.length - strlen(environment->key) - 1};
	deployment = map_get(&environment->deployments, id);
	checker_touch(checker, environment);
	if (!after) {
		if (deployment)
			deployment->exists = false;
		return;
	}
	facts = environment_deployment_facts(after);
	if (!deployment) {
		deployment = memory_allocate(sizeof(*deployment));
		deployment->status = facts->status;
		deployment->type = facts->type;
		deployment->rollback = facts->rollback;
		deployment->created_us = deployment->moved_us = checker_now_us(checker);
		/* A monitor's begins with the commit that makes it. */
		if (is_running(facts->status))
			deployment->began_us = deployment->created_us;
		CHECKER_COPY(deployment->version, facts->version);
		map_put(&environment->deployments, id, deployment);
		check_created(checker, environment);
	}
	deployment->exists = true;
	daemon_checker_count(checker, DAEMON_PROPERTY_S7);
	if (!span_is(facts->version, deployment->version))
		daemon_checker_report(checker, DAEMON_PROPERTY_S8,
			"deployment %.*s changes its version", SPAN_ARGS(id));
	if (environment->type == ENVIRONMENT_TYPE_Daemon)
		check_progress(checker, environment, deployment, facts);
	if (deployment->status == facts->status)
		return;
	if (!may_become(deployment->status, facts->status) &&
		!is_one_commit(deployment->status, facts->status))
		daemon_checker_report(checker, DAEMON_PROPERTY_S7,
			"deployment %.*s goes from %s to %s", SPAN_ARGS(id),
			environment_deployment_status_name(deployment->status),
			environment_deployment_status_name(facts->status));
	note_end(checker, environment, deployment, facts->status);
	deployment->status = facts->status;
	runner_trace(checker->config.runner, "%s: deployment %.*s is %s %.*s", environment->key,
		SPAN_ARGS(id), environment_deployment_status_name(facts->status),
		SPAN_ARGS(facts->reason));
	if (facts->status == ENVIRONMENT_DEPLOYMENT_timed_out &&
		facts->type == ENVIRONMENT_DEPLOYMENT_TYPE_user)
		environment->failed = deployment;
	if (facts->status == ENVIRONMENT_DEPLOYMENT_completed &&
		facts->type == ENVIRONMENT_DEPLOYMENT_TYPE_user &&
		environment->type == ENVIRONMENT_TYPE_Daemon)
		checker_completed(checker, environment, deployment);
}

/* ---- the end of a commit ---- */

/* The environment names its deployments correctly. */
static void check_named(struct daemon_checker *checker,
	const struct actual_environment *environment)
{
	unsigned running = 0, waiting = 0;
	bool names_running = !environment->in_progress[0], names_waiting = !environment->pending[0];

	if (!environment->exists)
		return;
	MAP_EACH (&environment->deployments, entry) {
		const struct actual_deployment *deployment = entry->value;
		bool waits = deployment->status == ENVIRONMENT_DEPLOYMENT_pending;

		if (!deployment->exists || has_ended(deployment->status))
			continue;
		running += !waits;
		waiting += waits && deployment->type == ENVIRONMENT_DEPLOYMENT_TYPE_user;
		names_running |= !waits && span_is(entry->key, environment->in_progress);
		names_waiting |= waits && span_is(entry->key, environment->pending);
	}
	daemon_checker_count(checker, DAEMON_PROPERTY_S7);
	if (running > 1 || waiting > 1)
		daemon_checker_report(checker, DAEMON_PROPERTY_S7,
			"environment %s has %u deployments in progress and %u waiting",
			environment->name, running, waiting);
	if (!names_running || !names_waiting || (running > 0) != (environment->in_progress[0] != 0))
		daemon_checker_report(checker, DAEMON_PROPERTY_S7,
			"environment %s names '%s' and '%s', which are not its deployments",
			environment->name, environment->in_progress, environment->pending);
}

/* If requested, a failed deployment is followed by the last completed version, unless another one is pending, or
 * another environment may own that definition by now. */
static void check_rolled_back(struct daemon_checker *checker,
	const struct actual_environment *environment, const struct actual_deployment *failed)
{
	const struct actual_version *version =
		checker_version(checker, environment, failed->version);
	const struct actual_version *before =
		checker_version(checker, environment, environment->completed);
	const struct actual_deployment *next =
		map_get(&environment->deployments, span_of(environment->pending));
	const struct actual_wanted *wanted;
	char what[2 * ACTUAL_TEXT_MAX];

	if (!environment->exists || !version || !version->rolls_back || !before ||
		strcmp(environment->completed, failed->version) == 0)
		return;
	snprintf(what, sizeof(what), "%s %s", before->cluster_ref, before->definition);
	wanted = map_get(&checker->actual.wanted, span_of(what));
	if (!next && wanted && wanted->by_several)
		return;
	daemon_checker_count(checker, DAEMON_PROPERTY_ROLLBACK);
	if (!next || next->status != ENVIRONMENT_DEPLOYMENT_pending)
		daemon_checker_report(checker, DAEMON_PROPERTY_ROLLBACK,
			"a deployment of environment %s timed out, and nothing goes back to %s",
			environment->name, environment->completed);
}

void checker_check_deployments(struct daemon_checker *checker,
	struct actual_environment *environment)
{
	check_named(checker, environment);
	if (environment->failed)
		check_rolled_back(checker, environment, TAKE(environment->failed));
}
