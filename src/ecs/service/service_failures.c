/*
 * What becomes of a service when its tasks fail. A task that stopped without having been asked to, that
 * never ran, or that was stopped because it was unhealthy counts against its deployment (or task set). The
 * count is kept in the transaction in which the task becomes STOPPED (or is wanted to stop for being
 * unhealthy), so no failure is lost and none counts twice.
 *
 * Crash loops. The first failure costs no delay: what ran for days and died is replaced at once. From the
 * second on in a row the next start waits, 1 s at first, twice as long each round, 5 minutes at most; tasks
 * that fail while a wait is on belong to the same round, so ten tasks that crash together wait as long as one.
 * A task that was lost with its instance is no failure of the deployment, but the next start waits likewise.
 * A task that became healthy after the last failure and has been so for SERVICE_SETTLED_MS ends it: count,
 * round and wait are 0 again.
 */
#include "ecs/service/service_work.h"

#define FORGIVE_SCAN_MAX 1000 /* tasks looked at for a success */
#define PROOF_SCAN_MAX 1000   /* and for one that has just begun */

struct failures {
	int64_t *failed, *failed_ms, *round, *until_ms;
};

static struct failures of_deployment(struct service_deployment_facts *facts)
{
	return (struct failures){
		&facts->failed, &facts->failed_ms, &facts->backoff_round, &facts->backoff_until_ms};
}

static struct failures of_set(struct task_set_facts *facts)
{
	return (struct failures){
		&facts->failed, &facts->failed_ms, &facts->backoff_round, &facts->backoff_until_ms};
}

static struct failures of_part(struct service_component *component)
{
	return component->is_set ? of_set(&component->set) : of_deployment(&component->deployment);
}

static int64_t delay_of_round(int64_t round)
{
	int64_t delay = SERVICE_BACKOFF_FIRST_MS;

	while (--round > 0 && delay < SERVICE_BACKOFF_MOST_MS)
		delay *= 2;
	return delay < SERVICE_BACKOFF_MOST_MS ? delay : SERVICE_BACKOFF_MOST_MS;
}

static void add_failure(struct failures failures, int64_t now_ms, bool lost)
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
		add_failure(of_deployment(&deployment), facts->stopped_ms, facts->lost);
		return service_object_put_facts(transaction, object, &deployment, arena, err);
	}
	object = store_get(head, &task_set_kind, key);
	if (!object)
		return 0;
	task_set = *task_set_facts(object);
	add_failure(of_set(&task_set), facts->stopped_ms, facts->lost);
	return service_object_put_facts(transaction, object, &task_set, arena, err);
}

void service_component_failed(struct service_work *work, struct service_component *component)
{
	add_failure(of_part(component), work->now_ms, false);
	if (!component->is_set)
		component->deployment.failed_ever++;
	component->changed = true;
}

static struct store_cursor healthy_tasks(struct service_work *work,
	const struct service_component *component)
{
	return (struct store_cursor){.view = service_head(work),
		.kind = &task_kind,
		.index = TASK_BY_SERVICE,
		.prefix = arena_format(work->arena,
			"%.*s/live/" SERVICE_DEPLOYMENT_PREFIX "%.*s/%c", SPAN_ARGS(work->key),
			SPAN_ARGS(component->number), task_class_letters[TASK_CLASS_HEALTHY]),
		.exact = true};
}

/* Whether one of its healthy tasks has settled since the last failure; if not, comes again when the first
 * of them might have. */
static bool has_settled(struct service_work *work, const struct service_component *component,
	struct failures failures, bool complete)
{
	struct store_cursor cursor = healthy_tasks(work, component);
	const struct store_object *task = NULL;
	int64_t first_ms = 0;

	for (unsigned i = 0; i < FORGIVE_SCAN_MAX && (task = store_next(&cursor)); i++) {
		int64_t settled_ms = task_facts(task)->started_ms + SERVICE_SETTLED_MS;

		if (settled_ms <= *failures.failed_ms)
			continue;
		if (settled_ms <= work->now_ms)
			return true;
		if (first_ms == 0 || settled_ms < first_ms)
			first_ms = settled_ms;
	}
	if (task && complete) {
		/* Too many to look at all of them; none is missing, and the last start was when the wait ended. */
		int64_t since_ms = *failures.until_ms > *failures.failed_ms ? *failures.until_ms
									    : *failures.failed_ms;

		if (since_ms + SERVICE_SETTLED_MS <= work->now_ms)
			return true;
		first_ms = since_ms + SERVICE_SETTLED_MS;
	}
	service_again_at(work, first_ms);
	return false;
}

void service_component_forgive(struct service_work *work, struct service_component *component,
	bool complete)
{
	struct failures failures = of_part(component);

	if ((*failures.failed == 0 && *failures.until_ms == 0) ||
		!has_settled(work, component, failures, complete))
		return;
	*failures.failed = 0;
	*failures.round = 0;
	*failures.until_ms = 0;
	component->changed = true;
}

/* NULL: its deployment is forgotten. */
static const struct service_component *part_of(const struct service_work *work,
	const struct task_facts *task)
{
	for (size_t i = 0; i < work->part_count; i++)
		if (service_component_is_called(&work->parts[i], task->deployment))
			return &work->parts[i];
	return NULL;
}

/* A breaker that shall save the service must see a crash before the older tasks are gone. */
static int64_t proof_ms(const struct service_work *work, const struct service_component *component)
{
	bool watched = component && component == work->primary && work->facts.breaker &&
		       component->deployment.rollout != ROLLOUT_COMPLETED;

	return watched || (component && component->deployment.failed > 0) ? SERVICE_SETTLED_MS
									  : SERVICE_READY_MS;
}

bool service_task_is_unproven(struct service_work *work, const struct task_facts *task)
{
	int64_t ready_ms = task->started_ms + proof_ms(work, part_of(work, task));

	if (task->checked || task->balance == TASK_BALANCE_HEALTHY || task->last < TASK_RUNNING ||
		ready_ms <= work->now_ms)
		return false;
	service_again_at(work, ready_ms);
	return true;
}

bool service_primary_is_unproven(struct service_work *work)
{
	struct store_cursor cursor = healthy_tasks(work, work->primary);
	const struct store_object *task;
	bool unproven = false;

	for (unsigned i = 0; i < PROOF_SCAN_MAX && (task = store_next(&cursor)); i++)
		unproven |= service_task_is_unproven(work, task_facts(task));
	return unproven;
}

int64_t service_component_backoff(const struct service_work *work,
	const struct service_component *component)
{
	int64_t until_ms = component->is_set ? component->set.backoff_until_ms
					     : component->deployment.backoff_until_ms;

	return until_ms > work->now_ms ? until_ms : 0;
}

bool service_component_is_failing(const struct service_work *work,
	const struct service_component *component)
{
	int64_t round = component->is_set ? component->set.backoff_round
					  : component->deployment.backoff_round;

	return round >= 2 && service_component_backoff(work, component) > 0;
}
