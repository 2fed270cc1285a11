/*
 * The stored objects of environments. All their keys begin with "ACCOUNT/NAME" of the environment, so that the objects of
 * one environment are one range of each kind.
 *
 *   environment   ACCOUNT/NAME                        the desired state: status, versions, deployments in progress
 *   version       ACCOUNT/NAME/UUID                   immutable: task definition, instances, rollout settings
 *   deployment    ACCOUNT/NAME/UUID                   one rollout, of a user or of a monitor, and its result
 *   placement     ACCOUNT/NAME/CLUSTER-REF/INSTANCE   the decision for one instance, written before the call; for a
 *                                                     Service: for its ECS service, whose name replaces the instance
 *   run           ACCOUNT/NAME/MILLISECONDS           of a Cron: one due time and its result, written before RunTask
 *
 * A cluster_ref names a cluster of any server: "TARGET:ACCOUNT/REGION/CLUSTER", without TARGET for a cluster of this
 * server. Tasks of an environment have the group "env:NAME", and startedBy is one of its deployments, whose version they
 * have. A task of the group with an unknown startedBy, because the environment was deleted and created again, counts as
 * one of an old version.
 */
#ifndef ENVIRONMENT_MODEL_KINDS_H
#define ENVIRONMENT_MODEL_KINDS_H

#include "base/arena.h"
#include "delivery/cluster_ref.h"
#include "store/store.h"

#define ENVIRONMENT_GROUP_PREFIX "env:"
#define ENVIRONMENT_NAME_MAX 30
#define ENVIRONMENT_CLUSTER_REFS_MAX 16 /* clusters in which an environment may still have tasks */

extern const struct store_kind environment_kind;
extern const struct store_kind environment_version_kind;
extern const struct store_kind environment_deployment_kind;
extern const struct store_kind environment_placement_kind;
extern const struct store_kind environment_run_kind;

/* ---- environments ---- */

#define ENVIRONMENT_TYPES(X) X(Daemon) X(Service) X(Cron)
#define ENVIRONMENT_STATUSES(X) X(inactive) X(active) X(deleting)

enum environment_type {
#define X(name) ENVIRONMENT_TYPE_##name,
	ENVIRONMENT_TYPES(X)
#undef X
};

enum environment_status {
#define X(name) ENVIRONMENT_##name,
	ENVIRONMENT_STATUSES(X)
#undef X
};

const char *environment_type_name(enum environment_type type);
const char *environment_status_name(enum environment_status status);

struct environment_facts {
	struct span account, name;
	enum environment_type type;
	enum environment_status status;
	bool terminate;          /* deleting: its tasks shall go with it */
	struct span latest;      /* version that was made last */
	struct span target;      /* V(e): of the deployment that began last; "" before the first */
	struct span completed;   /* of the last user deployment that was completed; "" */
	struct span previous;    /* the version that was completed before it; "" */
	struct span in_progress; /* deployment; "" */
	struct span pending;     /* of a user; "" */
	/* Where it has or may have tasks, joined by spaces; the place of the target version comes first. */
	struct span cluster_refs;
	/* "CLUSTER-REF TASK-DEFINITION-ARN", joined by ';': unique in the account. See derived.h. */
	struct span claims_on;
	/* That instances must have now: ";NAME=VALUE;NAME;"; "". See derived.h. */
	struct span attributes;
	bool unhealthy;       /* as its counts last were; its manager writes that down */
	struct span reserved; /* key of its reservation (ecs/record/reservation.h); "" */
	int64_t version_count, deployment_count; /* ever */
	int64_t created_ms, updated_ms;
	int64_t active_ms;    /* since when its target version is wanted, and it is active */
	int64_t notice_count; /* written for webhooks, ever */
	/* Of the last updates that made no version: their tokens, the hashes of the requests, and the versions that they were
	 * answered with, each joined by spaces. */
	struct span tokens, token_hashes, token_versions;
};

enum environment_index {
	ENVIRONMENT_BY_TYPE,        /* "ACCOUNT/TYPE" */
	ENVIRONMENT_BY_STATUS,      /* "ACCOUNT/STATUS" */
	ENVIRONMENT_BY_HEALTH,      /* "ACCOUNT/healthy" or "ACCOUNT/unhealthy" */
	ENVIRONMENT_BY_CLUSTER_REF, /* "PLACE", once for each */
	/* "ACCOUNT/PLACE" without the target of the place, and "ACCOUNT/CLUSTER", its last part; once for each. */
	ENVIRONMENT_BY_CLUSTER,
	ENVIRONMENT_BY_TARGET,    /* "ACCOUNT/TARGET", "ACCOUNT/" for this server */
	ENVIRONMENT_BY_CLAIM,     /* "PLACE TASK-DEFINITION-ARN" */
	ENVIRONMENT_BY_ATTRIBUTE, /* "ACCOUNT/NAME=VALUE" or "ACCOUNT/NAME", once for each */
	/* "CLUSTER-REF NAME=VALUE" or "CLUSTER-REF NAME" with the first attribute that it requires, "CLUSTER-REF " without
	 * one, once for each cluster: an instance that is not found by it does not match. Only for Daemon; other types are
	 * without an attribute. */
	ENVIRONMENT_BY_SELECTOR,
	ENVIRONMENT_INDEX_COUNT
};

static inline const struct environment_facts *environment_facts(const struct store_object *object)
{
	return object->facts;
}

/* The next of a list of clusters (`cluster_refs`). False at the end. */
static inline bool environment_next_cluster(struct span *list, struct cluster_ref *ret_cluster)
{
	struct span text;

	if (!span_next_part(list, ' ', &text))
		return false;
	*ret_cluster = cluster_ref_of(text);
	return true;
}

/* Whether it has or may have tasks in the cluster. */
static inline bool environment_has_cluster(const struct environment_facts *facts,
	struct cluster_ref cluster)
{
	struct span rest = facts->cluster_refs;
	struct cluster_ref next;

	while (environment_next_cluster(&rest, &next))
		if (cluster_ref_equal(next, cluster))
			return true;
	return false;
}

/* Those that have or may have tasks in a cluster. */
static inline struct store_cursor environments_at(const struct store_view *view,
	struct cluster_ref cluster)
{
	return (struct store_cursor){.view = view,
		.kind = &environment_kind,
		.index = ENVIRONMENT_BY_CLUSTER_REF,
		.prefix = cluster.text,
		.exact = true};
}

/* ---- versions ---- */

#define ENVIRONMENT_ON_FAILURES(X) X(stop) X(rollback)
enum environment_on_failure {
#define X(name) ENVIRONMENT_ON_FAILURE_##name,
	ENVIRONMENT_ON_FAILURES(X)
#undef X
};

struct environment_version_facts {
	struct span environment; /* "ACCOUNT/NAME" */
	struct span id;
	int64_t number; /* from 1 */
	struct span cluster_ref;
	struct span task_definition; /* ARN */
	uint64_t network;            /* a number for what it says of networks; 0: nothing */
	struct span role, target;    /* "" */
	struct span attributes;      /* packed: ";NAME=VALUE;NAME;", all must match; "" */
	int64_t minimum_healthy;     /* percent */
	bool minimum_requested;
	bool surge;           /* replace, then terminate */
	int64_t maximum_over; /* percent */
	int64_t canary_instances, canary_bake_ms;
	int64_t timeout_ms, warm_up_ms, drain_timeout_ms, unreachable_ms;
	int64_t priority; /* may stop tasks with a lower one to make room; 0: none */
	enum environment_on_failure on_failure;
	struct span token, token_hash; /* of the request that made it; "" */
	int64_t created_ms;
};

enum environment_version_index {
	ENVIRONMENT_VERSION_BY_NUMBER, /* "ACCOUNT/NAME/NUMBER", ten digits */
	ENVIRONMENT_VERSION_BY_TOKEN,  /* "ACCOUNT/NAME/TOKEN" */
	ENVIRONMENT_VERSION_INDEX_COUNT
};

static inline const struct environment_version_facts *
environment_version_facts(const struct store_object *object)
{
	return object->facts;
}

/* ---- deployments ---- */

/*
 * pending ──> in-progress ──> completed
 *    │          │   ↑ │ ↑
 *    │          │   ↓ ↓ │
 *    │          │  unhealthy, blocked ──> completed, timed-out, to-be-stopped
 *    ↓          ├──> timed-out
 * canceled      └──> to-be-stopped ──> stopped
 */
#define ENVIRONMENT_DEPLOYMENT_STATUSES(X)                                                         \
	X(pending, "pending")                                                                      \
	X(in_progress, "in-progress")                                                              \
	X(unhealthy, "unhealthy")                                                                  \
	X(blocked, "blocked")                                                                      \
	X(to_be_stopped, "to-be-stopped")                                                          \
	X(completed, "completed")                                                                  \
	X(stopped, "stopped")                                                                      \
	X(canceled, "canceled")                                                                    \
	X(timed_out, "timed-out")

enum environment_deployment_status {
#define X(name, text) ENVIRONMENT_DEPLOYMENT_##name,
	ENVIRONMENT_DEPLOYMENT_STATUSES(X)
#undef X
		ENVIRONMENT_DEPLOYMENT_STATUS_COUNT
};

#define ENVIRONMENT_DEPLOYMENT_TYPES(X)                                                            \
	X(user, "user") X(autoscaling, "autoscaling") X(health_repair, "health-repair")
enum environment_deployment_type {
#define X(name, text) ENVIRONMENT_DEPLOYMENT_TYPE_##name,
	ENVIRONMENT_DEPLOYMENT_TYPES(X)
#undef X
};

const char *environment_deployment_status_name(enum environment_deployment_status status);
const char *environment_deployment_type_name(enum environment_deployment_type type);
bool environment_deployment_has_ended(enum environment_deployment_status status);
/* Whether the automaton has this arrow; a status may stay what it is unless it is a last one. */
bool environment_deployment_may_become(enum environment_deployment_status from,
	enum environment_deployment_status to);

struct environment_deployment_facts {
	struct span environment; /* "ACCOUNT/NAME" */
	struct span id;
	int64_t number; /* from 1, of all of the environment */
	enum environment_deployment_type type;
	enum environment_deployment_status status;
	bool rollback;
	struct span version;
	struct span previous;          /* that was the target when it began, if another one; "" */
	struct span created_by;        /* ARN of the user that asked for it; "" */
	struct span reason;            /* a word: "MIN_HEALTHY_UNSATISFIABLE"; "" */
	struct span token, token_hash; /* of the requests that asked for it, joined by spaces; "" */
	int64_t created_ms, started_ms, ended_ms; /* 0: not yet */
	int64_t canary_ms;   /* since when all of the canary's instances are well; 0: not */
	bool canary_proved;  /* they were for as long as it bakes: the others may follow */
	int64_t total, done; /* instances, as of the end or the last change */
};

enum environment_deployment_index {
	ENVIRONMENT_DEPLOYMENT_BY_NUMBER,  /* "ACCOUNT/NAME/NUMBER", ten digits */
	ENVIRONMENT_DEPLOYMENT_BY_STATUS,  /* "ACCOUNT/NAME/STATUS/NUMBER" */
	ENVIRONMENT_DEPLOYMENT_OF_ACCOUNT, /* "ACCOUNT/STATUS/CREATED", milliseconds in 15 digits */
	ENVIRONMENT_DEPLOYMENT_BY_TOKEN,   /* "ACCOUNT/NAME/TOKEN" */
	ENVIRONMENT_DEPLOYMENT_OPEN,       /* "ACCOUNT/NAME", those that have not ended */
	ENVIRONMENT_DEPLOYMENT_INDEX_COUNT
};

static inline const struct environment_deployment_facts *
environment_deployment_facts(const struct store_object *object)
{
	return object->facts;
}

/* ---- placements ---- */

#define ENVIRONMENT_INTENTS(X) X(none) X(start) X(stop)
enum environment_intent {
#define X(name) ENVIRONMENT_INTENT_##name,
	ENVIRONMENT_INTENTS(X)
#undef X
};

struct environment_placement_facts {
	struct span environment; /* "ACCOUNT/NAME" */
	struct span cluster_ref, instance;
	struct span version; /* that this instance is to have: it keeps an old one until its turn */
	int64_t attempt;     /* starts of this version */
	int64_t failures;    /* of them in a row */
	int64_t until_ms;    /* the last start was refused: no other one before; 0: it was not */
	bool refused_for_room;          /* and that for want of resources on the instance */
	enum environment_intent intent; /* of the last call */
	int64_t intent_ms;
	int64_t epoch;          /* of the claim under which it was */
	int64_t seen;           /* on what: see observe_seen() */
	struct span deployment; /* for which */
	struct span task;       /* to be stopped: its ARN */
};

enum environment_placement_index { ENVIRONMENT_PLACEMENT_INDEX_COUNT };

static inline const struct environment_placement_facts *
environment_placement_facts(const struct store_object *object)
{
	return object->facts;
}

/* ---- runs ---- */

/*
 * intended ──> started ──> succeeded, failed
 *    └──> failed                              skipped, missed: nothing was ever started
 */
#define ENVIRONMENT_RUN_STATUSES(X)                                                                \
	X(intended) X(started) X(succeeded) X(failed) X(skipped) X(missed)
enum environment_run_status {
#define X(name) ENVIRONMENT_RUN_##name,
	ENVIRONMENT_RUN_STATUSES(X)
#undef X
};
const char *environment_run_status_name(enum environment_run_status status);

struct environment_run_facts {
	struct span environment; /* "ACCOUNT/NAME" */
	int64_t due_ms;
	int64_t last_ms; /* missed: the last due time that it stands for */
	int64_t count;   /* missed: how many; else tasks of the run */
	enum environment_run_status status;
	struct span version, deployment, cluster_ref;
	struct span tasks; /* ARNs, joined by spaces; "" */
	int64_t epoch;     /* of the claim under which it was intended */
	int64_t intended_ms, started_ms, ended_ms;
	int64_t attempt, until_ms; /* refused so often, not again before */
};

enum environment_run_index {
	ENVIRONMENT_RUN_OPEN, /* "ACCOUNT/NAME", intended or started */
	ENVIRONMENT_RUN_INDEX_COUNT
};

static inline const struct environment_run_facts *environment_run_facts(const struct store_object
		*object)
{
	return object->facts;
}

/* ---- keys, and putting facts ---- */

struct span environment_key(struct arena *arena, struct span account, struct span name);
/* Of a version or deployment. */
struct span environment_child_key(struct arena *arena, struct span environment, struct span id);
struct span environment_placement_key(struct arena *arena, struct span environment,
	struct cluster_ref cluster, struct span instance);
struct span environment_run_key(struct arena *arena, struct span environment, int64_t due_ms);
struct span environment_name_of_key(struct span environment);
/* The environment of the key of one of its parts. */
struct span environment_of_child_key(struct span key);

/* The object with these facts, and what else is private (or NULL). */
int environment_put(struct store_transaction *transaction, const struct store_kind *kind,
	struct span key, struct span api, const void *facts, uint64_t expected, struct err *err);

extern const struct store_kind *const daemon_kinds[];
extern const size_t daemon_kind_count;

#endif
