/*
 * A pass over a Daemon environment: it updates the instances with what was observed (decide/env_instances.h), acquires the
 * claim, takes the next step of the reservation and of the deployments (decide/daemon_deployment.h), and then the next
 * actions on instances (start_stop.c). Each of these ends the pass if it changed the environment: another one follows.
 */
#include "environment/act/daemon.h"

#include "base/memory.h"
#include "base/seeded_bug.h"
#include "delivery/cluster_ref.h"
#include "environment/decide/daemon_deployment.h"
#include "environment/decide/failure_text.h"
#include "environment/model/matching.h"

#define DELETES_MAX 1000 /* placements in one transaction */

/* ---- observing ---- */

/* Whether the state of the target's cluster is known well enough to decide anything; if not, the cause is noted. -EAGAIN:
 * the cluster was neither listed nor found to be unreachable yet. */
static int check_cluster(struct daemon_pass *daemon, struct err *err)
{
	struct manager_pass *pass = daemon->pass;
	struct span rest = environment_facts(pass->input.environment)->cluster_refs;
	struct cluster_ref cluster;
	struct observe_info info;

	if (!environment_next_cluster(&rest, &cluster) || !cluster_ref_is_remote(cluster))
		return 0;
	manager_want(pass, cluster);
	if (!observe_get_info(pass->input.state, cluster, &info) ||
		(!info.complete && !info.error[0]))
		return err_set(err, -EAGAIN, "cluster %.*s is not known completely yet",
			SPAN_ARGS(cluster.text));
	/* A listing that completes after a long time changes the replica first and wakes us a moment later: decide after it. */
	if (info.complete && !info.stale) {
		if (daemon->instances->is_blind)
			env_instances_all_changed(daemon->instances);
		daemon->instances->is_blind = false;
		return 0;
	}
	daemon->instances->is_blind = true;
	daemon->cause =
		failure_reason(pass->arena, info.complete ? "CLUSTER_STALE" : "CLUSTER_UNKNOWN",
			span_of(info.error[0] ? info.error : "listing it takes too long"));
	manager_again_at(pass, pass->input.steady_ms + MANAGER_BLIND_MS);
	return 0;
}

/* Updates the instances with what was observed. */
static int update(struct daemon_pass *daemon, struct err *err)
{
	struct manager_pass *pass = daemon->pass;
	const struct environment_facts *facts = environment_facts(pass->input.environment);
	struct environment_counts counts;
	int64_t again_ms;
	int code = check_cluster(daemon, err);

	if (code < 0 || daemon->cause.length > 0)
		return code;
	daemon->input.rolls |=
		facts->target.length > 0 && span_equal(facts->target, facts->completed);
	code = env_instances_update(daemon->instances, &daemon->input, &again_ms, err);
	env_instances_count(daemon->instances, &counts);
	environment_state_set_counts(pass->state, &counts);
	if (code < 0)
		return code;
	manager_again_at(pass, again_ms);
	if (daemon->instances->unknown_refs.count > 0)
		manager_again_at(pass, pass->input.steady_ms + MANAGER_BLIND_MS);
	return 0;
}

/* An unknown state is usually known a moment later. If not, it is a cause like others: the deployment reports it, and can
 * time out. */
static bool waits_for_long(struct daemon_pass *daemon, int updated, const struct err *why)
{
	struct manager_pass *pass = daemon->pass;
	int64_t *since_ms = &daemon->instances->waits_ms, now_ms = pass->input.steady_ms;

	if (updated >= 0)
		*since_ms = 0;
	else if (*since_ms == 0)
		*since_ms = now_ms > 0 ? now_ms : 1;
	if (updated >= 0 || now_ms - *since_ms < MANAGER_WAITS_MS)
		return false;
	daemon->cause = failure_reason(pass->arena, "CLUSTER_UNKNOWN", span_of(why->message));
	manager_again_at(pass, now_ms + MANAGER_BLIND_MS);
	return true;
}

/* ---- writing ---- */

static int delete_gone(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct instances *instances = context;
	size_t count = 0;

	MAP_EACH (&instances->gone, entry) {
		int code = store_delete(transaction, &environment_placement_kind, entry->key,
			STORE_ANY, err);

		if (code < 0 && code != -ENOENT)
			return code;
		if (++count == DELETES_MAX)
			return 0;
	}
	return 0;
}

/* Deletes placements of instances that are gone. */
static int forget_gone(struct daemon_pass *daemon, struct err *err)
{
	struct manager_pass *pass = daemon->pass;
	int code;

	if (daemon->instances->gone.count == 0)
		return 0;
	code = claims_write(pass->manager->config.claims, &pass->claim, delete_gone,
		daemon->instances, NULL, err);
	if (code == 0)
		/* Those beyond the limit are found again when all instances are inspected. */
		map_clear(&daemon->instances->gone);
	return code;
}

static int step_deployments(struct daemon_pass *daemon, bool *ret_changed, struct err *err)
{
	struct manager_pass *pass = daemon->pass;
	const struct daemon_deployment_input input = {.instances = daemon->instances,
		.memory = &pass->state->deployment,
		.observed = &daemon->input,
		.cause = daemon->cause,
		.is_unhealthy = manager_is_unhealthy(pass)};
	struct deployment_step step;
	bool is_written = false;
	int code;

	daemon_deployment_decide(&input, &step);
	manager_again_at(pass, step.again_ms);
	if (step.type == DEPLOYMENT_STEP_NONE)
		return 0;
	code = manager_write_step(pass, &step, daemon->instances, &is_written, err);
	if (is_written && step.type == DEPLOYMENT_STEP_CANARY)
		daemon->instances->canary_written_ms = step.canary_ms;
	/* The placements have changed. */
	if (code == 0 && step.type == DEPLOYMENT_STEP_ADOPT)
		env_instances_all_changed(daemon->instances);
	*ret_changed = code == 0;
	return code;
}

static bool may_be_deleted(const struct daemon_pass *daemon)
{
	const struct environment_facts *facts = environment_facts(daemon->input.environment);

	if (facts->status != ENVIRONMENT_deleting)
		return false;
	return !facts->terminate ||
	       (daemon->cause.length == 0 && daemon->instances->unknown_refs.count == 0 &&
		       fleet_steady(daemon->instances->fleet));
}

/* ---- the pass ---- */

static int work_with(struct daemon_pass *daemon, bool *ret_more, struct err *err)
{
	struct manager_pass *pass = daemon->pass;
	struct instances *instances = daemon->instances;
	bool changed = false, caught_up = env_instances_is_caught_up(instances, &daemon->input);
	struct err why = {0};
	int updated = update(daemon, &why), code;

	if (updated < 0 && updated != -EAGAIN)
		return err_set(err, updated, "%s", why.message);
	/* Also before the state is known: catching up begins with the claim. */
	code = claims_acquire(pass->manager->config.claims, pass->claim_key, &pass->claim, err);
	if (code == -EBUSY)
		return 0; /* another server has the claim; claim_freed() starts a pass */
	if (SEEDED_BUG(pass->input.bug == DAEMON_BUG_NO_CATCH_UP)) {
		caught_up = true;
	} else if (code == 0 && pass->claim.epoch != instances->epoch) {
		env_instances_claimed(instances, &daemon->input, pass->claim.epoch);
		caught_up = false;
	}
	if (code == 0)
		code = daemon_step_reservation(daemon, &changed, err);
	if (code == -ESTALE || changed) {
		*ret_more = changed;
		return 0;
	}
	if (code == 0 && !waits_for_long(daemon, updated, &why) && updated < 0)
		return err_set(err, updated, "%s", why.message);
	if (code == 0 && !caught_up && daemon->cause.length == 0) {
		/* The last calls of the server before may not be observed yet. */
		*ret_more = env_instances_is_caught_up(instances, &daemon->input);
		return *ret_more ? 0
				 : err_set(err, -EAGAIN, "environment %.*s was just taken over",
					   SPAN_ARGS(instances->key));
	}
	if (code == 0 && daemon->cause.length == 0)
		code = forget_gone(daemon, err);
	if (code == 0)
		code = step_deployments(daemon, &changed, err);
	if (code < 0)
		return code;
	if (changed) {
		*ret_more = true;
		return 0;
	}
	if (may_be_deleted(daemon))
		return manager_delete(pass, ret_more, err);
	return daemon->cause.length > 0 ? 0 : daemon_act(daemon, ret_more, err);
}

/* ---- the operations of the type ---- */

static int work(struct manager_pass *pass, bool *ret_more, struct err *err)
{
	struct daemon_pass daemon = {.pass = pass,
		.instances = pass->state->own,
		.input = pass->input,
		.cause = SPAN("")};

	return work_with(&daemon, ret_more, err);
}

static void *new_own(struct manager *manager, struct span environment)
{
	return env_instances_new(environment, manager->subscriptions);
}

static void free_own(void *own)
{
	env_instances_free(own);
}

static void note_change(void *own, struct cluster_ref cluster, struct span instance)
{
	if (instance.length > 0)
		env_instances_instance_changed(own, cluster, instance);
	else
		env_instances_all_changed(own);
}

static size_t list_running(void *own, struct arena *arena, struct environment_running **ret_running)
{
	return env_instances_list_running(own, arena, ret_running);
}

const struct environment_operations manager_daemon_operations = {
	.new_own = new_own,
	.free_own = free_own,
	.note_change = note_change,
	.list_running = list_running,
	.work = work,
};
