/*
 * Services and what belongs to them, as objects. Documents hold decisions; every count (running, pending,
 * failed) is derived from the tasks' indexes or kept where it cannot be derived.
 *
 *     service             ACCOUNT/REGION/CLUSTER/NAME            what the client wants
 *     service_deployment  ACCOUNT/REGION/CLUSTER/NAME/NUMBER     one attempt to bring a revision into service;
 *                                                                tasks say "ecs-svc/NUMBER" as startedBy
 *     service_revision    ACCOUNT/REGION/CLUSTER/NAME/NUMBER     immutable: definition, network, launch type, …
 *     task_set            ACCOUNT/REGION/CLUSTER/NAME/NUMBER     of a service with an EXTERNAL controller; tasks
 *                                                                say "ecs-svc/NUMBER" as startedBy
 *     service_event       ACCOUNT/REGION/CLUSTER/NAME/SEQUENCE   the last 100
 *
 * NUMBER is 19 random digits. Facts are in the private text (as those of tasks are), so reading
 * facts never parses the large documents.
 *
 * API handlers write the desired state (service.c, task_set.c). The service controller
 * (service_controller.c) writes the rest in one transaction on head: it reads counts, plans
 * (rollout/), creates tasks, requests stops, moves states and adds events. So nothing is done
 * twice, even with several servers.
 */
#ifndef ECS_SERVICE_KIND_H
#define ECS_SERVICE_KIND_H

#include "aws/service.h"
#include "ecs/record/task.h"

extern const struct store_kind service_kind;
extern const struct store_kind service_deployment_kind;
extern const struct store_kind service_revision_kind;
extern const struct store_kind task_set_kind;
extern const struct store_kind service_event_kind;

#define SERVICE_EVENTS_MAX 100                 /* kept of one service */
#define SERVICE_EVENT_COUNTS_MS INT64_C(10000) /* so long things are counted in one event */
#define SERVICE_DEPLOYMENTS_MAX 100            /* finished ones kept of one service */
#define SERVICE_DEPLOYMENT_PREFIX "ecs-svc/"
#define SERVICE_REPORTED_STEADY "steady" /* facts.reported of a service in a steady state */

#define SERVICE_STATUSES(X) X(ACTIVE) X(DRAINING) X(INACTIVE)
enum service_status {
#define X(name) SERVICE_##name,
	SERVICE_STATUSES(X)
#undef X
		SERVICE_STATUS_COUNT
};
#define SERVICE_STRATEGIES(X) X(REPLICA) X(DAEMON)
enum service_strategy {
#define X(name) SERVICE_##name,
	SERVICE_STRATEGIES(X)
#undef X
		SERVICE_STRATEGY_COUNT
};
#define SERVICE_CONTROLLERS(X) X(ECS) X(CODE_DEPLOY) X(EXTERNAL)
enum service_controller {
#define X(name) SERVICE_CONTROLLED_BY_##name,
	SERVICE_CONTROLLERS(X)
#undef X
		SERVICE_CONTROLLER_COUNT
};

enum service_index {
	SERVICE_BY_STATUS, /* "ACCOUNT/REGION/CLUSTER/STATUS/LAUNCHTYPE" (LAUNCHTYPE may be empty) */
	SERVICE_BY_LISTED, /* "ACCOUNT/REGION/CLUSTER": those that are not INACTIVE, as ListServices has them */
	SERVICE_BY_DAEMON, /* "ACCOUNT/REGION/CLUSTER": ACTIVE ones with strategy DAEMON */
	SERVICE_INDEX_COUNT
};

struct service_facts {
	struct span cluster; /* from the key */
	struct span name;
	enum service_status status;
	enum service_strategy strategy;
	enum service_controller controller;
	struct span
		launch_type; /* "EC2", "FARGATE", "EXTERNAL"; "" with capacity providers or task sets */
	int64_t desired;     /* ignored for a DAEMON service: one task per matching instance */
	int64_t minimum_healthy; /* percent */
	int64_t maximum;         /* percent */
	bool breaker, rollback;  /* deploymentCircuitBreaker */
	int64_t grace_ms;        /* healthCheckGracePeriodSeconds */
	int64_t created_ms;
	int64_t ended_ms; /* when it became INACTIVE; 0 */
	/* Written by the controller. */
	struct span
		/* the last state reported by an event, which is not repeated: "steady", "unable",
		 * … */
		reported;
	int64_t reported_ms;
	/* Written by the group controller: the runtime that keeps the replicas reports that the
	 * rollout failed. */
	bool group_failed;
	/* The deployment ("ecs-svc/…") of which that runtime counts all desired tasks as available;
	 * "". */
	struct span group_available;
};

/* ---- deployments ---- */

/*
 * The controller writes these members of a deployment's document: rolloutStateReason, statusReason,
 * deploymentCircuitBreaker ({status, failureCount, threshold}, once it has tripped) and rollback
 * ({reason, startedAt, serviceRevisionArn}); handlers write the rest. A rollback is a deployment of
 * its own, with the document of the deployment that it returns to. status, updatedAt and finishedAt
 * in the documents of services, deployments and task sets always equal the facts.
 */

#define DEPLOYMENT_STATUSES(X) X(PRIMARY) X(ACTIVE) X(INACTIVE)
enum deployment_status {
#define X(name) DEPLOYMENT_##name,
	DEPLOYMENT_STATUSES(X)
#undef X
		DEPLOYMENT_STATUS_COUNT
};
#define ROLLOUT_STATES(X) X(IN_PROGRESS) X(COMPLETED) X(FAILED)
enum rollout_state {
#define X(name) ROLLOUT_##name,
	ROLLOUT_STATES(X)
#undef X
		ROLLOUT_STATE_COUNT
};
/* As DescribeServiceDeployments says it. */
#define SERVICE_DEPLOYMENT_STATUSES(X)                                                             \
	X(PENDING)                                                                                 \
	X(SUCCESSFUL)                                                                              \
	X(STOPPED)                                                                                 \
	X(STOP_REQUESTED)                                                                          \
	X(IN_PROGRESS)                                                                             \
	X(ROLLBACK_REQUESTED) X(ROLLBACK_IN_PROGRESS) X(ROLLBACK_SUCCESSFUL) X(ROLLBACK_FAILED)
enum service_deployment_status {
#define X(name) SERVICE_DEPLOYMENT_##name,
	SERVICE_DEPLOYMENT_STATUSES(X)
#undef X
		SERVICE_DEPLOYMENT_STATUS_COUNT
};

enum service_deployment_index {
	DEPLOYMENT_BY_LIVE, /* "ACCOUNT/REGION/CLUSTER/SERVICE": PRIMARY and ACTIVE ones, oldest first */
	DEPLOYMENT_BY_CREATED, /* "ACCOUNT/REGION/CLUSTER/SERVICE/MILLISECONDS" (15 digits): all */
	DEPLOYMENT_BY_DEFINITION, /* "ACCOUNT/REGION/FAMILY REVISION" (10 digits): PRIMARY and ACTIVE ones */
	SERVICE_DEPLOYMENT_INDEX_COUNT
};

struct service_deployment_facts {
	struct span service; /* "CLUSTER/NAME", from the key */
	struct span number;  /* from the key; the id is "ecs-svc/NUMBER" */
	struct span family;
	int64_t revision;             /* of the task definition */
	struct span service_revision; /* number of the service revision it brings into service */
	struct span source; /* number of the service revision before it; "" for the first */
	enum deployment_status status;
	enum rollout_state rollout;
	enum service_deployment_status state;
	int64_t failed; /* tasks that failed since one last succeeded */
	int64_t failed_ever;
	int64_t failed_ms; /* when the last one did */
	bool reached;      /* all its tasks were running and healthy once */
	bool rollback;     /* it is itself the rollback of a failed one */
	bool requested; /* a client asked for its end (see below); else the circuit breaker found it failed */
	int64_t backoff_round;    /* number of start delays, each longer than the last */
	int64_t backoff_until_ms; /* crash loop: no new task before; 0 */
	int64_t created_ms, updated_ms, finished_ms;
};

/*
 * StopServiceDeployment asks for the end of a deployment that is IN_PROGRESS, by its state; the controller
 * carries it out. In both cases `asked` is set.
 *
 *     ROLLBACK_REQUESTED  goes back to the last revision that was deployed successfully, as the circuit breaker
 *                         does (ROLLBACK_IN_PROGRESS, …); STOPPED when there is none
 *     STOP_REQUESTED      becomes STOPPED, rollout FAILED: starts no more tasks, stays PRIMARY as it is
 */

/* ---- task sets ---- */

#define TASK_SET_STATUSES(X) X(PRIMARY) X(ACTIVE) X(DRAINING)
enum task_set_status {
#define X(name) TASK_SET_##name,
	TASK_SET_STATUSES(X)
#undef X
		TASK_SET_STATUS_COUNT
};

enum task_set_index {
	TASK_SET_BY_DEFINITION, /* as DEPLOYMENT_BY_DEFINITION */
	TASK_SET_INDEX_COUNT
};

struct task_set_facts {
	struct span service; /* "CLUSTER/NAME", from the key */
	struct span number;  /* from the key; the id is "ecs-svc/NUMBER" */
	struct span family;
	int64_t revision;
	enum task_set_status status;
	double scale;      /* percent of the service's desired count */
	int64_t computed;  /* ceil(desired * scale / 100): updated with either of them */
	bool stable;       /* STEADY_STATE, as the controller last found it */
	int64_t stable_ms; /* when it found that: stabilityStatusAt */
	int64_t failed;    /* as those of a deployment */
	int64_t failed_ms;
	int64_t backoff_round;
	int64_t backoff_until_ms;
	int64_t created_ms, updated_ms;
};

/* ---- reading and writing them: one way for all five kinds ---- */

static inline const struct service_facts *service_facts(const struct store_object *service)
{
	return service->facts;
}
static inline const struct service_deployment_facts *
service_deployment_facts(const struct store_object *deployment)
{
	return deployment->facts;
}
static inline const struct task_set_facts *task_set_facts(const struct store_object *task_set)
{
	return task_set->facts;
}

const char *service_status_name(enum service_status status);
const char *service_strategy_name(enum service_strategy strategy);
const char *service_controller_name(enum service_controller controller);
const char *deployment_status_name(enum deployment_status status);
const char *rollout_state_name(enum rollout_state state);
const char *service_deployment_status_name(enum service_deployment_status status);
const char *task_set_status_name(enum task_set_status status);

/*
 * Puts an object of one of the kinds above: `document` is its API text, `facts` the struct of its kind (texts
 * in it must outlive the call), `tags` an array or NULL (services and task sets).
 */
int service_object_put(struct store_transaction *transaction, const struct store_kind *kind,
	struct span key, const struct json *document, const void *facts, const struct json *tags,
	uint64_t expected, struct arena *arena, struct err *err);
/* The same object with other facts; document and tags stay as they are. */
int service_object_put_facts(struct store_transaction *transaction,
	const struct store_object *object, const void *facts, struct arena *arena, struct err *err);

/* "ACCOUNT/REGION/CLUSTER/SERVICE/" + NUMBER. */
struct span service_component_key(struct arena *arena, struct span service_key, struct span number);
/* 19 digits, not beginning with 0. */
struct span service_number_new(struct arena *arena, struct random *random);
/* The service to which a deployment, revision, task set or event belongs. */
struct span service_key_of_component(struct span key);
/* The one deployment with status PRIMARY; NULL for services with an EXTERNAL controller. */
const struct store_object *service_primary_deployment(const struct store_view *view,
	struct span service_key);

/* Live tasks of a deployment or task set by class; `number` without prefix. O(log n). */
void service_count_tasks(const struct store_view *view, struct span service_key, struct span number,
	int64_t ret_counts[TASK_CLASS_COUNT]);

/* Adds an event; messages begin with "(service NAME) ". The oldest beyond SERVICE_EVENTS_MAX goes. */
int service_event_add(struct store_transaction *transaction, struct span service_key,
	struct random *random, int64_t now_ms, struct arena *arena, struct err *err,
	const char *format, ...) __attribute__((format(printf, 7, 8)));

/*
 * Increments the count of an event "VERB N THINGS" of the last seconds, or adds a new one, so that
 * a hundred tasks that start together make one event. `maker` makes the event's id: the id of the
 * task that is counted. No change if there is no such service.
 */
int service_event_count(struct store_transaction *transaction, struct span service_key,
	struct span maker, int64_t now_ms, struct arena *arena, const char *verb,
	const char *things, struct err *err);

/* The same, of a task that its runtime started or stopped by itself: from here on a steady state is reported again. */
int service_report_of_task(struct store_transaction *transaction, struct span task_key,
	const char *verb, const char *things, int64_t now_ms, struct err *err);

/* Adds an event unless one of the service's has this id, or, with id "", this message. No change if there is no
 * such service. */
int service_event_add_once(struct store_transaction *transaction, struct span service_key,
	struct span id, struct span message, int64_t at_ms, struct random *random, struct err *err);

#endif
