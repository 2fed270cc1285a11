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
 * become STOPPED and belongs to a service, the service hears of it (service_task_stopped).
 */
int task_save(struct store_transaction *transaction, struct task_edit *edit, struct err *err);

/*
 * Wants a task to stop: desired status STOPPED, stopCode and stoppedReason as given (the first one to
 * want it wins), stoppingAt. A task that no runtime has heard of is still asked of the runtime; the task
 * controller finds that out. What sends traffic to it hears of it first, in this transaction; the program
 * is asked to end when that has left (facts.traffic). Saves. No change if it is wanted to stop already.
 */
int task_want_stopped(struct store_transaction *transaction, const struct store_object *task,
	const char *stop_code, struct span reason, int64_t now_ms, struct arena *arena,
	struct err *err);

/* The same, and nobody is waited for: whoever sends traffic to it goes down, too. Also of one that is wanted
 * to stop and still waits. */
int task_want_stopped_at_once(struct store_transaction *transaction,
	const struct store_object *task, const char *stop_code, struct span reason, int64_t now_ms,
	struct arena *arena, struct err *err);

#endif
