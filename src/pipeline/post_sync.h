/*
 * The flow that follows a deployment that succeeds: it is the one of the application file. Flows are built on applications, so they
 * register themselves with the engine by this table. A flow has the ID of the deployment that starts it, and is stored in
 * the transaction that stores the plan.
 */
#ifndef PIPELINE_POST_SYNC_H
#define PIPELINE_POST_SYNC_H

#include "pipeline/kinds.h"

/* The deployment that starts a flow. */
struct post_sync_head {
	const struct store_view *view;
	struct span key; /* "ACCOUNT/NAME" of its application */
	const struct deployment_facts *deployment;
	struct span message; /* of the commit; "" */
	const struct flow_config *config;
	const struct json *flow_files; /* see source.h; NULL */
	int64_t now_ms;
};

enum post_sync_state {
	POST_SYNC_WAITS,
	POST_SYNC_STARTED,
	POST_SYNC_CANCELLED,
};

struct post_sync {
	void *context;
	/* Checks the flow against the applications of the account. 0 and what create() gets, in the arena; -EINVAL: the
	 * deployment is refused. */
	int (*prepare)(void *context, const struct post_sync_head *head, struct arena *arena,
		void **ret_prepared, struct err *err);
	int (*create)(struct store_transaction *transaction, void *prepared, struct err *err);
	enum post_sync_state (*find_state)(const struct store_view *view, struct span account,
		struct span flow);
};

struct deployment_pass;
/* Whether the deployment that is planned starts a flow. */
bool post_sync_is_wanted(const struct deployment_pass *pass);
/* For a deployment that starts a flow, before its plan is written. -EINVAL: it is refused. */
int post_sync_prepare(struct deployment_pass *pass, struct err *err);

#endif
