/*
 * The task controller: starts and stops the tasks of this server's runtime, and stores what the
 * runtime reports about them. No other code starts or stops them.
 *
 * For each task it compares the desired state with what the runtime knows under the task's token,
 * and makes the next step. It keeps no state that it could not find out again:
 *
 *     desired   stored          runtime             then
 *     RUNNING   before RUNNING  unknown             start it (the token makes that safe to repeat)
 *     RUNNING   any             known               store what it reports
 *     any       RUNNING or on   unknown             STOPPED: it was lost, and is never run again
 *     STOPPED   before RUNNING  unknown             STOPPED without having been started
 *     STOPPED   any             not stopping        stop it, when no traffic can arrive (task_traffic.h)
 *     (none)    (no task)       known               an orphan: stop it, then acknowledge it
 *     any       STOPPED         still running       a late start: stop it
 *
 * A runtime is allowed to forget a task (runtime acknowledge) only after STOPPED is durable here,
 * and later than that: its logs go with it. The runtime keeps the last TASK_CONTROLLER_ENDED_KEPT
 * ended tasks of which it still has something, until their tasks are deleted.
 */
#ifndef ECS_TASK_CONTROLLER_H
#define ECS_TASK_CONTROLLER_H

#include "control/claims.h"
#include "control/controller.h"
#include "control/write_batch.h"
#include "ecs/record/task.h"
#include "ecs/task/sync_statistics.h"
#include "runtime/runtime.h"

#define TASK_CONTROLLER_WORKERS 8
#define TASK_CONTROLLER_ENDED_KEPT 200
/* A task whose start keeps failing for reasons outside the task is stopped after this time. */
#define TASK_CONTROLLER_START_PATIENCE_MS INT64_C(180000)
/* Interval of the full comparison with the runtime, in case a notice was lost. */
#define TASK_CONTROLLER_RELIST_MS INT64_C(300000)

struct task_controller;

/* Writes down a task that the runtime made by itself. -ENOENT: nothing that slipway has asks for it. -EINVAL:
 * something is missing that it was made from, and may come back. No change if there is a task with that token. */
typedef int task_adopt(struct store_transaction *transaction, const struct runtime_task *seen,
	struct span host, struct random *random, struct err *err);

struct task_controller_config {
	struct runner *runner;
	struct store *store;
	struct span
		/* as the maintainer of the runtime's instances has it; outlives the controller */
		host;
	const char *secrets; /* folder, see task_spec.h; NULL: none */
	size_t ended_kept;   /* 0: TASK_CONTROLLER_ENDED_KEPT */
	struct work_queue_config queue;
	unsigned workers;  /* 0: TASK_CONTROLLER_WORKERS */
	int64_t relist_ms; /* 0: TASK_CONTROLLER_RELIST_MS */
	/* service_group_adopt, where the runtime keeps replicas itself; NULL: its unknown tasks are ended. */
	task_adopt *adopt;
	/* Stores observations, so that no worker waits for a commit; NULL: each is written by
	 * itself. Outlives the controller's start and stop. */
	struct write_batch *batch;
	/* Deliberate bug, for proving that simulations find it: does not wait for traffic to leave. */
	bool bug_stop_at_once;
	bool bug_register_early; /* another one: see task.h */
	void (*report)(void *context, const char *controller, struct span key,
		const struct err *err);
	void *report_context;
	/* This server's lease: without it nothing is done. NULL: none is needed. */
	struct claims *claims;
	struct sync_statistics *statistics; /* or NULL */
};

/* Three steps, because each of a runtime and its controller needs the other: make the controller, open
 * the runtime with task_controller_changed and the controller as its context, start. The config's texts
 * must outlive it. */
struct task_controller *task_controller_new(const struct task_controller_config *config);
/* A runtime_changed; of no effect before the start and after the stop. */
void task_controller_changed(void *task_controller, struct span token);
int task_controller_start(struct task_controller *controller, struct runtime *runtime,
	struct err *err);
/* Returns when it makes no more calls to the runtime, which can be closed then. Tasks keep
 * running. */
void task_controller_stop(struct task_controller *controller);
void task_controller_free(struct task_controller *controller); /* stopped; NULL is fine */

extern const struct controller_row task_controller_row;
/* For statistics; NULL when it does not run. */
struct controller *task_controller_controller(struct task_controller *controller);

#endif
