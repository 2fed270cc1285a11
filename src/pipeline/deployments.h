/*
 * Deployments of applications, for those that order and follow them: the API, triggers and flows. All functions that change
 * something run inside the caller's transaction; the controller (engine.h) does the work.
 *
 *     struct deployment_request request = {.application = key, .trigger = DEPLOYMENT_TRIGGER_FLOW, .commit = sha, …};
 *
 *     deployment_start(transaction, &request, &id, err);
 *     …
 *     deployment_find_end(view, application, id, arena, &end);    end.has_ended: end.state says how
 */
#ifndef PIPELINE_DEPLOYMENTS_H
#define PIPELINE_DEPLOYMENTS_H

#include "base/random.h"
#include "pipeline/record.h"

struct deployment_request {
	struct span application; /* "ACCOUNT/NAME"; created with its first deployment */
	enum deployment_trigger trigger;
	enum plan_strategy strategy; /* PLAN_AUTOMATIC: the planner chooses */
	/* The files to deploy, an object of texts by path, and which of them is the application file. NULL: of an
	 * application from Git those of `commit`, a commit, tag or branch ("": its branch), which the engine reads;
	 * without Git, and with the triggers ROLLBACK and OUT_OF_SYNC, those of its last deployment that succeeded. */
	const struct json *files;
	struct span application_file;
	struct span commit, message;      /* ""; the message's subject chooses the strategy */
	struct span flow;                 /* ID of the flow that orders it; "" */
	struct span approved_by;          /* in the flow; "" */
	struct span wanted_digest;        /* refuse to carry out another plan; "" */
	bool needs_approval;              /* of the flow: the first stage of the plan */
	enum deployment_flow flow_choice; /* whether it starts a flow itself */
	const struct json *flow_files;    /* of applications in that flow, see source.h; NULL */
	struct span created_by;           /* user; "" */
	struct span region, target,
		role;          /* target "": this server; role "": none. Without files: as before */
	struct span token;     /* the same token answers with the same deployment; "" */
	bool replaces_waiting; /* cancel what has not started or waits for an approval */
	const struct json
		*changed; /* paths that differ from what was deployed before; NULL: not known */
	int64_t now_ms;
	struct random *random; /* of the ID */
};

/* Queues a deployment; one at a time runs for an application. ID in the transaction's arena. -ENOENT: there is no application
 * and there are no files; -EBUSY: too many are queued; -E2BIG: too many applications; -EALREADY: the application is being deleted. */
int deployment_start(struct store_transaction *transaction,
	const struct deployment_request *request, struct span *ret_id, struct err *err);

/* How a deployment ended, or that it continues. False: there is no such deployment (any more). */
struct deployment_end {
	bool has_ended;
	enum pipeline_deployment_state state;
	struct span reason; /* in the arena; "" */
};
bool deployment_find_end(const struct store_view *view, struct span application, struct span id,
	struct arena *arena, struct deployment_end *ret_end);

/* Cancels a deployment that has not ended, with or without rolling back. -ENOENT; -EALREADY: it has ended. */
int deployment_cancel(struct store_transaction *transaction, struct span application,
	struct span id, bool roll_back, int64_t now_ms, struct err *err);

/* Runs a rollback again that failed. -ENOENT; -EALREADY: there is none, or another deployment has begun since. */
int deployment_retry_rollback(struct store_transaction *transaction, struct span application,
	struct span id, int64_t now_ms, struct err *err);

/* Rolls back the last deployment of the application, which has succeeded. -ENOENT; -EALREADY: it cannot be rolled back (any
 * more). user: for the log. */
int deployment_roll_back(struct store_transaction *transaction, struct span application,
	struct span id, struct span user, int64_t now_ms, struct err *err);

/* Forgets an application and its deployments, as the engine comes to it. What it has deployed keeps running. -ENOENT; -EBUSY:
 * a deployment has not ended. */
int application_delete(struct store_transaction *transaction, struct span application,
	struct err *err);
/* For the engine: a part of it. 1: something is left. */
int application_delete_step(struct store_transaction *transaction, struct span application,
	struct err *err);

/* As the live state says (live.h); a state that was compared with an earlier deployment is UNKNOWN. */
enum application_sync application_find_sync(const struct store_view *view, struct span application);
/* Whether the tasks of its service are healthy, in the live state that application_find_sync() is from. */
bool application_is_healthy(const struct store_view *view, struct span application);
/* Whether its kind has a state that application_find_sync() observes. */
bool application_has_live_state(const struct store_view *view, struct span application);
/* Commit of the last successful deployment; "" if there is none. */
struct span application_running_commit(const struct store_view *view, struct span application);

#endif
