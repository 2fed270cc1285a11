/*
 * What becomes of a service when its tasks fail. A task that stopped without having been asked to, or that
 * never ran, counts against its deployment (or task set): failures in a row delay the next start, longer
 * each time, and may trip the circuit breaker. The count is kept in the transaction in which the task
 * becomes STOPPED, so no failure is lost and none counts twice.
 */
#include "base/memory.h"
#include "ecs/service_kind.h"

#define BACKOFF_FREE 2                 /* failures in a row that cost no delay */
#define BACKOFF_FIRST_MS INT64_C(1000) /* then doubling */
#define BACKOFF_MOST_MS INT64_C(300000)

static int64_t backoff_until(int64_t failed, int64_t now_ms)
{
	int64_t delay = BACKOFF_FIRST_MS;

	if (failed <= BACKOFF_FREE)
		return 0;
	for (int64_t i = BACKOFF_FREE + 1; i < failed && delay < BACKOFF_MOST_MS; i++)
		delay *= 2;
	return now_ms + (delay < BACKOFF_MOST_MS ? delay : BACKOFF_MOST_MS);
}

int service_task_stopped(struct store_transaction *transaction, struct span task_key,
	const struct task_facts *facts, struct arena *arena, struct err *err)
{
	const struct store_view *head = store_head(transaction);
	struct span prefix = SPAN(SERVICE_DEPLOYMENT_PREFIX), key;
	struct service_deployment_facts deployment;
	const struct store_object *object;
	struct task_set_facts task_set;

	if (!facts->failed || !span_starts_with(facts->deployment, prefix))
		return 0;
	key = arena_format(arena, "%.*s/%.*s/%.*s", SPAN_ARGS(task_cluster_key(task_key)),
		SPAN_ARGS(facts->service), (int)(facts->deployment.length - prefix.length),
		facts->deployment.data + prefix.length);
	object = store_get(head, &service_deployment_kind, key);
	if (object) {
		deployment = *service_deployment_facts(object);
		deployment.failed++;
		deployment.failed_ever++;
		deployment.backoff_until_ms = backoff_until(deployment.failed, facts->stopped_ms);
		return service_object_put_facts(transaction, object, &deployment, arena, err);
	}
	object = store_get(head, &task_set_kind, key);
	if (!object)
		return 0;
	task_set = *task_set_facts(object);
	task_set.failed++;
	task_set.backoff_until_ms = backoff_until(task_set.failed, facts->stopped_ms);
	return service_object_put_facts(transaction, object, &task_set, arena, err);
}
