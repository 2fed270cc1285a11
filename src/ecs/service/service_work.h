/*
 * Internals of the service controller: one pass over one service, shared by its files.
 *
 *     service_controller.c     watches; the order of the steps
 *     service_plan_replicas.c  REPLICA services and task sets: counts, plan, choice of tasks to stop
 *     service_plan_daemon.c    DAEMON services: the same per instance
 *     service_launch.c         starting and stopping one task
 *     service_rollout.c        states of deployments, circuit breaker, rollback
 *     service_task_sets.c      task sets of EXTERNAL services
 *     service_events.c         events
 *     service_failures.c       crash loops
 *     service_log.c            lines for the server's log
 *
 * Each pass runs the same steps twice: first on a view, without a transaction, where the first step
 * that would change anything ends it with SERVICE_DUE; then, if that happened, on head with a
 * transaction.
 */
#ifndef ECS_SERVICE_WORK_H
#define ECS_SERVICE_WORK_H

#include "base/map.h"
#include "ecs/placement/placement.h"
#include "ecs/service/service_controller.h"
#include "rollout/instances.h"
#include "rollout/replicas.h"

#define SERVICE_DUE (-EINPROGRESS)
#define SERVICE_LOG_MAX 8 /* lines of one pass */

/* A deployment or task set that tasks belong to, as stored and with this pass's changes. */
struct service_component {
	const struct store_object *object;
	struct span number, family;
	int64_t revision;
	bool is_set;
	/* Only one of them means something. Written at the end if `changed`. */
	struct service_deployment_facts deployment;
	struct task_set_facts set;
	struct json *document; /* NULL: as it was */
	bool changed;
	int64_t live; /* tasks that are not STOPPED, as last counted */
};

/* Tasks of one transaction, for its events. */
struct service_reported_tasks {
	struct span *ids;
	unsigned count;
};

/* Lines of one pass for the server's log. The memory is the caller's, because it outlives the pass. */
struct service_log {
	struct arena *arena;
	struct service_log_line {
		bool bad;
		struct span text;
	} lines[SERVICE_LOG_MAX];
	unsigned count;
};

struct service_work {
	struct store_transaction *transaction; /* NULL: read only */
	const struct store_view *view;         /* read when there is no transaction */
	struct arena *arena;
	struct random *random;
	int64_t now_ms;
	const struct service_control *control;
	struct span key;
	const struct store_object *service;
	struct service_facts facts; /* with this pass's changes */
	struct json *document;      /* of the service; NULL: as it was */
	const struct json *shown;   /* the document as it was; NULL: not parsed yet */
	bool changed;
	struct service_component *parts; /* live deployments, oldest first; or task sets */
	size_t part_count;
	struct service_component *primary; /* NULL: there is none, or these are task sets */
	struct service_reported_tasks started, stopped;
	/* A task could not be placed: why. */
	struct placement_failure failure;
	bool unplaced;
	bool failing;          /* tasks crash again and again */
	bool stuck;            /* the percentages allow neither a start nor a stop */
	bool complete, steady; /* as the plan said */
	/* Lines for the log, written once the pass is committed. NULL: the pass only reads. */
	struct service_log *log;
	int64_t again_ms; /* 0: when something changes */
};

static inline const struct store_view *service_head(const struct service_work *work)
{
	return work->transaction ? store_head(work->transaction) : work->view;
}

/* True if the pass may change something. */
static inline bool service_may_write(const struct service_work *work)
{
	return work->transaction != NULL;
}

/* "ecs-svc/NUMBER" is its name. */
static inline bool service_component_is_called(const struct service_component *component,
	struct span name)
{
	return name.length == sizeof(SERVICE_DEPLOYMENT_PREFIX) - 1 + component->number.length &&
	       span_ends_with(name, component->number);
}

/* A runtime starts the tasks: see struct service_control. */
static inline bool service_is_group(const struct service_work *work)
{
	return work->control && work->control->groups;
}

/* Requeues the service at this time at the latest. */
void service_again_at(struct service_work *work, int64_t at_ms);
/* The service's document, parsed once; an empty object if it cannot be. */
const struct json *service_document(struct service_work *work);
/* A copy of the document of a component, which will be written. */
struct json *service_component_document_edit(struct service_work *work,
	struct service_component *component);
/* Sets a member that is there already: documents show some facts, and must not disagree with them. */
void service_show(struct service_work *work, struct json *document, const char *name,
	const struct json *value);
/* Writes what of service and parts has changed. */
int service_write_changes(struct service_work *work, struct err *err);

/* ---- service_plan_replicas.c ---- */

/* One target among the parts (deployments), or one part alone (a task set). `frozen`: nothing is started,
 * and no more is stopped than is above `desired`. */
int service_plan_replicas(struct service_work *work, struct service_component *parts, size_t count,
	size_t target, int64_t desired, bool frozen, struct rollout_replica_plan *ret_plan,
	struct err *err);

/* ---- service_plan_daemon.c ---- */

int service_plan_daemon(struct service_work *work, bool frozen, struct err *err);

/* ---- service_launch.c ---- */

struct service_launch;

/* The spec of this component's tasks. *ret_launch NULL: its definition was deleted or cannot be
 * used, and work->failure says so. Free it. */
int service_launch_read(struct service_work *work, const struct service_component *component,
	struct service_launch **ret_launch, struct err *err);
/* Of the next task: all but id, host and instance. */
const struct task_request *service_launch_request(struct service_launch *launch);
/* The same, and ready to choose instances. */
int service_launch_open(struct service_work *work, const struct service_component *component,
	struct service_launch **ret_launch, struct err *err);
void service_launch_free_pointer(struct service_launch **launch);
#define _launch_ CLEANUP(service_launch_free_pointer)
struct placement *service_launch_placement(struct service_launch *launch);
/* Creates one task, on the given instance or where placement wants it. *ret_placed is false, and
 * work->failure says why, if no instance takes it. */
int service_launch_start(struct service_work *work, struct service_launch *launch,
	const struct store_object *instance, bool *ret_placed, struct err *err);
/* Wants one task of the service to stop; `unhealthy`: because of that. */
int service_stop_task(struct service_work *work, struct service_component *component,
	const struct store_object *task, bool unhealthy, struct err *err);

/* ---- service_rollout.c ---- */

/* Reads the live deployments. */
int service_rollout_read(struct service_work *work, struct err *err);
/* Before planning: requests to stop or go back, the circuit breaker. */
int service_rollout_begin(struct service_work *work, struct err *err);
/* No task of the PRIMARY deployment is started any more. */
bool service_rollout_is_frozen(const struct service_work *work);
/* After it: completed and deleted deployments. */
int service_rollout_end(struct service_work *work, struct err *err);
/* The service is deleted: none of its deployments lives on. */
int service_rollout_finish(struct service_work *work, struct err *err);

/* ---- service_task_sets.c ---- */

int service_task_sets_read(struct service_work *work, struct err *err);
int service_task_sets_step(struct service_work *work, struct err *err);
int service_task_sets_finish(struct service_work *work, struct err *err);

/* ---- service_events.c ---- */

int service_report(struct service_work *work, struct err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds events for started, stopped and unplaced tasks. */
int service_report_tasks(struct service_work *work, struct err *err);
int service_report_steady(struct service_work *work, struct err *err);
/* Would a pass report or store that the service has reached its desired state? */
bool service_has_progress(const struct service_work *work);

/* ---- service_log.c ---- */

/* Adds a line: `service "NAME" in cluster "CLUSTER" (REGION) TEXT`. */
void service_log_add(struct service_work *work, bool bad, struct span text);
/* " (for example, task ID stopped: REASON)", of a failed task of the PRIMARY deployment or of a task set; "" if
 * none is kept. */
struct span service_log_example(struct service_work *work);

/* ---- service_failures.c ---- */

/* A task that runs, has no health check, and has not run for long enough to replace another one or
 * to be steady. Requeues for when it has. A task of an older deployment needs no more than that: a
 * rollback also counts tasks that crash as running for a moment. */
bool service_task_is_unproven(struct service_work *work, const struct task_facts *task);
/* One of the tasks of PRIMARY is unproven, so it is too early for a success. */
bool service_primary_is_unproven(struct service_work *work);

/* Counts one failure of the part's tasks. */
void service_component_failed(struct service_work *work, struct service_component *component);
/* Forgets failures when a task has run well since. */
void service_component_forgive(struct service_work *work, struct service_component *component,
	bool complete);
/* No task of it may be started before; 0: any time. */
int64_t service_component_backoff(const struct service_work *work,
	const struct service_component *component);
/* It has failed in several rounds, and waits. */
bool service_component_is_failing(const struct service_work *work,
	const struct service_component *component);

#endif
