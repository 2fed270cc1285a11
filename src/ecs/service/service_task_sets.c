/*
 * Task sets of services with an EXTERNAL controller: each is kept at its own computed count, and is
 * STEADY_STATE or STABILIZING. A deleted one drains, and is removed with its last task.
 */
#include "ecs/service/service_work.h"

int service_task_sets_read(struct service_work *work, struct err *err)
{
	struct store_cursor cursor = {.view = service_head(work),
		.kind = &task_set_kind,
		.index = -1,
		.prefix = arena_format(work->arena, "%.*s/", SPAN_ARGS(work->key))};
	size_t most = store_count(cursor.view, cursor.kind, cursor.index, cursor.prefix, false);
	const struct store_object *object;

	(void)err;
	work->parts = arena_allocate_array(work->arena, most + 1, sizeof(*work->parts));
	work->part_count = 0;
	while (work->part_count < most && (object = store_next(&cursor))) {
		const struct task_set_facts *facts = task_set_facts(object);

		work->parts[work->part_count++] = (struct service_component){.object = object,
			.number = facts->number,
			.family = facts->family,
			.revision = facts->revision,
			.is_set = true,
			.set = *facts};
	}
	return 0;
}

static void set_stable(struct service_work *work, struct service_component *set, bool stable)
{
	struct json *document;

	if (set->set.stable == stable)
		return;
	document = service_component_document_edit(work, set);
	set->set.stable = stable;
	set->set.stable_ms = set->set.updated_ms = work->now_ms;
	json_set_string(work->arena, document, "stabilityStatus",
		stable ? SPAN("STEADY_STATE") : SPAN("STABILIZING"));
	json_set_time(work->arena, document, "stabilityStatusAt", work->now_ms);
}

static int remove_set(struct service_work *work, struct service_component *set, struct err *err)
{
	if (!service_may_write(work))
		return SERVICE_DUE;
	set->changed = false; /* it is not written, it goes */
	return store_delete(work->transaction, &task_set_kind, set->object->key,
		set->object->revision, err);
}

static int step_set(struct service_work *work, struct service_component *set, struct err *err)
{
	bool draining = set->set.status == TASK_SET_DRAINING;
	struct rollout_replica_plan plan;
	int code;

	service_component_forgive(work, set, set->set.stable);
	work->failing |= service_component_is_failing(work, set);
	code = service_plan_replicas(work, set, 1, 0, draining ? 0 : set->set.computed, false,
		&plan, err);
	if (code < 0)
		return code;
	if (draining && set->live == 0)
		return remove_set(work, set, err);
	set_stable(work, set, plan.steady);
	work->steady = work->steady && plan.steady;
	return 0;
}

int service_task_sets_step(struct service_work *work, struct err *err)
{
	int code = 0;

	work->steady = work->part_count > 0;
	for (size_t i = 0; code == 0 && i < work->part_count; i++)
		code = step_set(work, &work->parts[i], err);
	if (code == 0)
		code = service_report_tasks(work, err);
	if (code == 0 && work->steady)
		code = service_report_steady(work, err);
	return code;
}

int service_task_sets_finish(struct service_work *work, struct err *err)
{
	for (size_t i = 0; i < work->part_count; i++) {
		int code = remove_set(work, &work->parts[i], err);

		if (code < 0)
			return code;
	}
	return 0;
}
