/*
 * The stored objects of applications. All their keys begin with "ACCOUNT/NAME" of the application, so that the objects of
 * one application are one range of each kind.
 *
 *   application          ACCOUNT/NAME               what is delivered, and which deployment runs
 *   deployment           ACCOUNT/NAME/ID            one delivery: its stages and its result
 *   deployment source    ACCOUNT/NAME/ID            the files it was made from, and the service as it was before
 *   deployment call      ACCOUNT/NAME/ID/REVISION   one call that changes something, written before and after it (journal.h)
 *   deployment log line  ACCOUNT/NAME/ID/REVISION   what happened, for people
 *   live state           ACCOUNT/NAME               the service as it is, and how it differs (live.h)
 *
 * REVISION is that of the store, in sixteen hex digits: lines and calls are in order.
 */
#ifndef PIPELINE_KINDS_H
#define PIPELINE_KINDS_H

#include "base/arena.h"
#include "pipeline/plan.h"
#include "pipeline/state.h"
#include "store/store.h"

#define APPLICATION_KEY_NAME_MAX 100
#define APPLICATIONS_MAX 10000           /* of an account */
#define APPLICATION_DEPLOYMENTS_KEPT 50  /* that have ended; older ones are deleted */
#define APPLICATION_DEPLOYMENTS_OPEN 100 /* that have not ended */
#define DEPLOYMENT_LOG_MAX 2000          /* lines */

extern const struct store_kind application_kind;
extern const struct store_kind deployment_kind;
extern const struct store_kind deployment_source_kind;
extern const struct store_kind deployment_call_kind;
extern const struct store_kind deployment_log_kind;
extern const struct store_kind live_state_kind;

/* ---- applications ---- */

struct application_facts {
	struct span account, name;
	struct span current;   /* deployment that runs; "" */
	struct span succeeded; /* the last one that succeeded; "" */
	struct span kept;      /* the one whose old primary is kept for a rollback; "" */
	bool is_deleting;
	/* Of the file that was deployed last: */
	struct span kind;         /* "ECSApp"; "": not deployed yet */
	bool is_off_flow;         /* flows do not deploy it */
	bool is_on_chain;         /* chains may deploy it */
	bool has_service;         /* and with it a live state */
	int64_t deployment_count; /* ever */
	int64_t notice_count;     /* ever; notices.h */
	int64_t created_ms, updated_ms;
};

static inline const struct application_facts *application_facts(const struct store_object *object)
{
	return object->facts;
}

/* ---- live states ---- */

/* Whether the application is what its last successful deployment made. */
enum application_sync {
	APPLICATION_SYNC_UNKNOWN, /* never deployed, or not observed yet */
	APPLICATION_DEPLOYING,
	APPLICATION_SYNCED,
	APPLICATION_OUT_OF_SYNC,
};
const char *application_sync_name(enum application_sync sync);

struct live_facts {
	enum application_sync sync;
	struct span deployment; /* with which it was compared: the last successful one then; "" */
};

static inline const struct live_facts *live_facts(const struct store_object *object)
{
	return object->facts;
}

/* ---- deployments ---- */

#define DEPLOYMENT_TRIGGERS(X)                                                                     \
	X(SYNC)     /* a user's order */                                                           \
	X(PLAN)     /* a user's order: nothing is changed */                                       \
	X(ROLLBACK) /* a user's order: the files of an earlier deployment */                       \
	X(COMMIT)                                                                                  \
	X(OUT_OF_SYNC)                                                                             \
	X(FLOW)

enum deployment_trigger {
#define X(name) DEPLOYMENT_TRIGGER_##name,
	DEPLOYMENT_TRIGGERS(X)
#undef X
};

const char *deployment_trigger_name(enum deployment_trigger trigger);

/* A user's order for a deployment that runs. */
#define DEPLOYMENT_ORDERS(X)                                                                       \
	X(NONE)                                                                                    \
	X(CANCEL) /* leave everything as it is */                                                  \
	X(CANCEL_AND_ROLL_BACK)

enum deployment_order {
#define X(name) DEPLOYMENT_ORDER_##name,
	DEPLOYMENT_ORDERS(X)
#undef X
};

/* Whether a deployment starts the flow of its application file. */
#define DEPLOYMENT_FLOWS(X)                                                                        \
	X(AUTOMATIC) /* as the file's conditions say */                                            \
	X(ON)                                                                                      \
	X(OFF)

enum deployment_flow {
#define X(name) DEPLOYMENT_FLOW_##name,
	DEPLOYMENT_FLOWS(X)
#undef X
};

struct deployment_facts {
	struct span application; /* "ACCOUNT/NAME" */
	struct span id;
	int64_t number; /* from 1 */
	enum pipeline_deployment_state state;
	enum deployment_trigger trigger;
	enum plan_strategy strategy; /* ordered; then the planned one */
	enum deployment_order order;
	struct span created_by;           /* user */
	struct span region, target, role; /* where; target "" is this server, role "" is none */
	struct span commit;               /* "" */
	struct span flow;                 /* that orders it; "" */
	enum deployment_flow flow_choice;
	bool starts_flow;    /* the flow with the ID of the deployment */
	bool needs_approval; /* of its flow */
	/* Of the plan with everything that it was made from, 64 hex digits; and the one that was approved: another plan is not
	 * carried out. "" */
	struct span digest, wanted_digest;
	bool is_stale;                            /* ended because the plan is another one */
	struct span token;                        /* of the request; "" */
	int64_t created_ms, started_ms, ended_ms; /* 0: not yet */
	bool must_fetch;                          /* its files are read from Git first */
	bool is_planned;
	bool is_first;          /* there was no primary */
	int64_t canary_percent; /* of the last routing stage that began */
	int64_t record_ttl_ms;  /* of names, with a margin */
	int64_t kept_until_ms;  /* the old primary, for a rollback; 0: it is not kept */
};

enum deployment_index {
	DEPLOYMENT_BY_NUMBER, /* "ACCOUNT/NAME/NUMBER", ten digits */
	DEPLOYMENT_OPEN,      /* "ACCOUNT/NAME/NUMBER", those that have not ended */
	DEPLOYMENT_BY_TOKEN,  /* "ACCOUNT/NAME/TOKEN" */
	DEPLOYMENT_INDEX_COUNT
};

static inline const struct deployment_facts *deployment_facts(const struct store_object *object)
{
	return object->facts;
}

/* ---- keys ---- */

struct span application_key(struct arena *arena, struct span account, struct span name);
/* Of a deployment and of its source. */
struct span deployment_key(struct arena *arena, struct span application, struct span id);
/* "ACCOUNT/NAME" of the key of one of its objects. */
struct span application_of_key(struct span key);
/* Of the call or log line that the transaction writes next. */
struct span deployment_line_key(struct store_transaction *transaction, struct span deployment);

int application_put(struct store_transaction *transaction, struct span key, struct span api,
	const struct application_facts *facts, uint64_t expected, struct err *err);
int deployment_put_facts(struct store_transaction *transaction, struct span key, struct span api,
	const struct deployment_facts *facts, uint64_t expected, struct err *err);

int live_state_put(struct store_transaction *transaction, struct span key, struct span api,
	const struct live_facts *facts, struct err *err);

extern const struct store_kind *const pipeline_kinds[];
extern const size_t pipeline_kind_count;

#endif
