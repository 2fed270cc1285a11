/*
 * How a service reacts when its tasks fail (failure_count.h). A task that became healthy after the
 * last failure and has been so for SERVICE_SETTLED_MS ends a crash loop: count, round and wait are
 * 0 again.
 */
#include "ecs/record/failure_count.h"
#include "ecs/service/service_work.h"

#define FORGIVE_SCAN_MAX 1000 /* tasks scanned for a success */
#define PROOF_SCAN_MAX 1000   /* tasks scanned for one that has just started */

static struct failure_count of_part(struct service_component *component)
{
	return component->is_set ? failure_count_of_set(&component->set)
				 : failure_count_of_deployment(&component->deployment);
}

void service_component_failed(struct service_work *work, struct service_component *component)
{
	failure_count_add(of_part(component), work->now_ms, false);
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

/* Whether one of its healthy tasks has settled since the last failure; if not, requeues for the
 * time when the first of them might have. */
static bool has_settled(struct service_work *work, const struct service_component *component,
	struct failure_count failures, bool complete)
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
		/* Too many to scan; none is missing, and the last start was when the wait ended. */
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
	struct failure_count failures = of_part(component);

	if ((*failures.failed == 0 && *failures.until_ms == 0) ||
		!has_settled(work, component, failures, complete))
		return;
	*failures.failed = 0;
	*failures.round = 0;
	*failures.until_ms = 0;
	component->changed = true;
}

/* NULL: its deployment was deleted. */
static const struct service_component *part_of(const struct service_work *work,
	const struct task_facts *task)
{
	for (size_t i = 0; i < work->part_count; i++)
		if (service_component_is_called(&work->parts[i], task->deployment))
			return &work->parts[i];
	return NULL;
}

/* A breaker must see a crash before the older tasks are gone. */
static int64_t proof_ms(const struct service_work *work, const struct service_component *component)
{
	bool watched = component && component == work->primary && work->facts.breaker &&
		       component->deployment.rollout != ROLLOUT_COMPLETED;

	return watched || (component && component->deployment.failed > 0) ? SERVICE_SETTLED_MS
									  : SERVICE_READY_MS;
}

/* Kubernetes reports starts in whole seconds, rounded down, and an end up to a second late. */
static int64_t inexact_ms(const struct task_facts *task)
{
	return task->started_ms % 1000 == 0 ? 2000 : 0;
}

bool service_task_is_unproven(struct service_work *work, const struct task_facts *task)
{
	int64_t ready_ms =
		task->started_ms + inexact_ms(task) + proof_ms(work, part_of(work, task));

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
