/* Writing tasks: a mutable copy of one, and the ways to stop it. */
#ifndef ECS_TASK_EDIT_H
#define ECS_TASK_EDIT_H

#include "ecs/record/task.h"

/* A task that is being made or changed. */
struct task_edit {
	struct arena *arena;
	struct span key;
	struct task_facts facts;
	struct json *document;      /* as DescribeTasks shows it, without tags */
	const struct json *tags;    /* an array or NULL */
	const struct json *traffic; /* as task_traffic.h has it, or NULL */
	/* For a runtime that chooses the instance: {"constraints":[…],"strategy":[…]}, or NULL. */
	const struct json *desired;
	uint64_t revision; /* STORE_ABSENT: new */
	int64_t now_ms;    /* 0: as the latest of its times says */
	/* Deliberate bug, for proving that simulations find it: registers a task before it is healthy. */
	bool bug_register_early;
};

/* A stored task, to be changed. */
int task_edit_open(const struct store_object *task, struct arena *arena, struct task_edit *ret_edit,
	struct err *err);
/*
 * Writes it: sets lastStatus, desiredStatus, healthStatus, version and the times of the document from
 * the facts, then puts it. In the same transaction it is registered with what sends traffic to it when it
 * has become ready for that, and taken out when it is to end (task_traffic_follow), and when it has just
 * become STOPPED and belongs to a service, the failure count of its deployment is updated (service_task_stopped).
 */
int task_save(struct store_transaction *transaction, struct task_edit *edit, struct err *err);

/*
 * Sets a task's desired status to STOPPED, with stopCode, stoppedReason and stoppingAt; the first call wins.
 * In this transaction the task is also taken out of its load balancers and registries; its program is asked
 * to end when no traffic comes any more (facts.traffic). Saves. No change if the task is to stop already.
 */
int task_want_stopped(struct store_transaction *transaction, const struct store_object *task,
	const char *stop_code, struct span reason, int64_t now_ms, struct arena *arena,
	struct err *err);

/* The same without waiting for traffic to leave, because its senders go down, too. Also of a task that is to
 * stop and still waits. */
int task_want_stopped_at_once(struct store_transaction *transaction,
	const struct store_object *task, const char *stop_code, struct span reason, int64_t now_ms,
	struct arena *arena, struct err *err);

#endif
