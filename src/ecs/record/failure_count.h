/*
 * How often the tasks of a deployment or task set failed. A task that stopped without having been asked to, that
 * never ran, or that was stopped because it was unhealthy counts against its deployment (or task set). The
 * count is kept in the transaction in which the task becomes STOPPED (or is wanted to stop for being
 * unhealthy), so no failure is lost and none counts twice.
 *
 * Crash loops. The first failure costs no delay: what ran for days and died is replaced at once. From the
 * second on in a row the next start waits, 1 s at first, twice as long each round, 5 minutes at most; tasks
 * that fail while a wait is on belong to the same round, so ten tasks that crash together wait as long as one.
 * A task that was lost with its instance is no failure of the deployment, but the next start waits likewise.
 */
#ifndef ECS_FAILURE_COUNT_H
#define ECS_FAILURE_COUNT_H

#include "ecs/record/service_kind.h"

#define SERVICE_BACKOFF_FIRST_MS INT64_C(1000)
#define SERVICE_BACKOFF_MOST_MS INT64_C(300000)

/* The members that count, of a deployment or a task set. */
struct failure_count {
	int64_t *failed, *failed_ms, *round, *until_ms;
};
struct failure_count failure_count_of_deployment(struct service_deployment_facts *facts);
struct failure_count failure_count_of_set(struct task_set_facts *facts);
/* One more; one that was lost is not counted, but delays the next start likewise. */
void failure_count_add(struct failure_count failures, int64_t now_ms, bool lost);

/* When the next task of the deployment or task set of a task may be started; 0: now. SERVICE_BACKOFF_FROZEN: its
 * deployment has failed, and starts no more. */
#define SERVICE_BACKOFF_FROZEN INT64_MAX
int64_t service_task_backoff_ms(const struct store_view *view, struct span task_key,
	const struct task_facts *facts, struct arena *arena);

/* A task of a service has just become STOPPED, in this transaction: its deployment or task set keeps
 * account of failures (failed, failed_ever, backoff_until_ms). */
int service_task_stopped(struct store_transaction *transaction, struct span task_key,
	const struct task_facts *facts, struct arena *arena, struct err *err);

#endif
