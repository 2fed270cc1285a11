/* See the header. */
#include "ecs/record/failure_count.h"

struct failure_count failure_count_of_deployment(struct service_deployment_facts *facts)
{
	return (struct failure_count){
		&facts->failed, &facts->failed_ms, &facts->backoff_round, &facts->backoff_until_ms};
}

struct failure_count failure_count_of_set(struct task_set_facts *facts)
{
	return (struct failure_count){
		&facts->failed, &facts->failed_ms, &facts->backoff_round, &facts->backoff_until_ms};
}

static int64_t delay_of_round(int64_t round)
{
	int64_t delay = SERVICE_BACKOFF_FIRST_MS;

	while (--round > 0 && delay < SERVICE_BACKOFF_MOST_MS)
		delay *= 2;
	return delay < SERVICE_BACKOFF_MOST_MS ? delay : SERVICE_BACKOFF_MOST_MS;
}

void failure_count_add(struct failure_count failures, int64_t now_ms, bool lost)
{
	bool first = *failures.failed == 0 && *failures.until_ms == 0;

	*failures.failed += !lost;
	*failures.failed_ms = now_ms;
	/* Also one that is not counted is the first only once. */
	if (first)
		*failures.until_ms = now_ms;
	if (first || now_ms < *failures.until_ms)
		return;
	++*failures.round;
	*failures.until_ms = now_ms + delay_of_round(*failures.round);
}

/* Of the deployment or task set that a task is of. */
static struct span part_key_of(struct span task_key, const struct task_facts *facts,
	struct arena *arena)
{
	size_t prefix = sizeof(SERVICE_DEPLOYMENT_PREFIX) - 1;

	return arena_format(arena, "%.*s/%.*s/%.*s", SPAN_ARGS(task_cluster_key(task_key)),
		SPAN_ARGS(facts->service), (int)(facts->deployment.length - prefix),
		facts->deployment.data + prefix);
}

int64_t service_task_backoff_ms(const struct store_view *view, struct span task_key,
	const struct task_facts *facts, struct arena *arena)
{
	const struct store_object *object;
	struct span key;

	if (!span_starts_with(facts->deployment, SPAN(SERVICE_DEPLOYMENT_PREFIX)))
		return 0;
	key = part_key_of(task_key, facts, arena);
	object = store_get(view, &service_deployment_kind, key);
	if (object && service_deployment_facts(object)->status == DEPLOYMENT_PRIMARY &&
		service_deployment_facts(object)->rollout == ROLLOUT_FAILED &&
		!service_deployment_facts(object)->rollback)
		return SERVICE_BACKOFF_FROZEN;
	if (object)
		return service_deployment_facts(object)->backoff_until_ms;
	object = store_get(view, &task_set_kind, key);
	return object ? task_set_facts(object)->backoff_until_ms : 0;
}

int service_task_stopped(struct store_transaction *transaction, struct span task_key,
	const struct task_facts *facts, struct arena *arena, struct err *err)
{
	const struct store_view *head = store_head(transaction);
	struct span prefix = SPAN(SERVICE_DEPLOYMENT_PREFIX), key;
	struct service_deployment_facts deployment;
	struct task_set_facts task_set;
	const struct store_object *object;

	if (!facts->failed || !span_starts_with(facts->deployment, prefix))
		return 0;
	key = part_key_of(task_key, facts, arena);
	object = store_get(head, &service_deployment_kind, key);
	if (object) {
		deployment = *service_deployment_facts(object);
		deployment.failed_ever += !facts->lost;
		failure_count_add(failure_count_of_deployment(&deployment), facts->stopped_ms,
			facts->lost);
		return service_object_put_facts(transaction, object, &deployment, arena, err);
	}
	object = store_get(head, &task_set_kind, key);
	if (!object)
		return 0;
	task_set = *task_set_facts(object);
	failure_count_add(failure_count_of_set(&task_set), facts->stopped_ms, facts->lost);
	return service_object_put_facts(transaction, object, &task_set, arena, err);
}
