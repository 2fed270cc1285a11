/*
 * The managers of environments: a controller whose keys are environments. Whoever holds the claim "env/KEY"
 * carries its deployments out; the others only keep count. A look at an environment
 *
 *   1. takes in what changed about its instances (env_instances.h),
 *   2. moves its deployments along: begins the one that waits, completes, blocks, times out, stops,
 *   3. asks the fleet what to do next, writes that down (placements: intent first), and calls StartTask and
 *      StopTask through aws_call; what was refused is written down too,
 *   4. comes again at once if there is more, so that a large rollout of one account does not hold up others.
 */
#ifndef ENVIRONMENT_ACT_MANAGER_H
#define ENVIRONMENT_ACT_MANAGER_H

#include "aws/call.h"
#include "control/claims.h"
#include "control/controller.h"
#include "environment/decide/env_instances.h"

#define MANAGER_ACTIONS_MAX 30 /* of one look: small, since others wait for the writer */
#define MANAGER_WORKERS 8
#define MANAGER_ACCOUNT_WORKERS 4  /* that one account has at most */
#define MANAGER_START_INSTANCES 10 /* of one StartTask, as ECS allows */
#define MANAGER_CLAIM_PREFIX "env/"

struct manager;

struct manager_config {
	struct runner *runner;
	struct store *store;
	struct claims *claims;
	struct aws_dispatcher *dispatcher;
	struct aws_targets *
		targets; /* elsewhere; NULL: none. Whoever stops the manager cancels them before. */
	/* The policy of a role of this server; NULL: there are no roles. It lives as long as the manager. */
	int (*find_role)(void *context, struct span account, struct span role,
		const struct aws_policy **ret_policy, struct err *err);
	void *find_role_context;
	void (*report)(void *context, const char *controller, struct span key,
		const struct err *err);
	/* What happened to a deployment of a user, or to a cluster elsewhere, for who reads the log; `bad`: somebody should
	 * look. From any thread. NULL: nobody reads it. */
	void (*log_transition)(void *context, bool bad, struct span text);
	void *report_context;
	const struct webhook_set *webhooks; /* that are told of changes; NULL: none */
	enum daemon_bug bug;                /* DAEMON_BUG_NONE but in simulations */
};

int manager_start(const struct manager_config *config, struct manager **ret_manager,
	struct err *err);
/* No call of it is under way when this returns; NULL is fine. */
void manager_stop(struct manager *manager);

/* For daemon_context. */
void manager_count(void *manager, struct span environment_key,
	struct environment_counts *ret_counts);
size_t manager_list_running(void *manager, struct span environment_key, struct arena *arena,
	struct environment_running **ret_running);
struct span manager_find_trouble(void *manager, struct span environment_key, struct arena *arena);
struct observer *manager_state(struct manager *manager);
struct controller *manager_controller(struct manager *manager); /* for statistics */

#endif
