/*
 * The controller of environments; its keys are environments. The server with the claim "env/KEY" carries the deployments
 * of an environment out; the others only count its instances. A pass over an environment
 *
 *   1. takes in what was observed (of a Daemon: decide/env_instances.h),
 *   2. takes the next step of its deployments (decide/deployment_step.h): begin, complete, block, time out, stop,
 *   3. decides the next actions, writes them (intent first), calls ECS, and writes refusals,
 *   4. starts again at once if there is more to do; so a large rollout of one account delays no other.
 */
#ifndef ENVIRONMENT_ACT_MANAGER_H
#define ENVIRONMENT_ACT_MANAGER_H

#include "aws/call.h"
#include "control/claims.h"
#include "control/controller.h"
#include "environment/decide/env_instances.h"

#define MANAGER_WORKERS 8
#define MANAGER_ACCOUNT_WORKERS 4  /* at most for one account */
#define MANAGER_START_INSTANCES 10 /* of one StartTask, as ECS allows */
#define MANAGER_CLAIM_PREFIX "env/"

struct manager;

struct manager_config {
	struct runner *runner;
	struct store *store;
	struct claims *claims;
	struct aws_dispatcher *dispatcher;
	struct aws_targets *
		targets; /* remote; NULL: none. The caller cancels them before it stops the manager. */
	/* The policy of a role of this server; NULL: there are no roles. It lives as long as the manager. */
	int (*find_role)(void *context, struct span account, struct span role,
		const struct aws_policy **ret_policy, struct err *err);
	void *find_role_context;
	void (*report)(void *context, const char *controller, struct span key,
		const struct err *err);
	/* Logs a change of a user's deployment, or of a remote cluster; `bad`: an operator should look at it. From any
	 * thread. NULL: nothing is logged. */
	void (*log_transition)(void *context, bool bad, struct span text);
	void *report_context;
	const struct webhook_set *webhooks; /* that get notices; NULL: none */
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
