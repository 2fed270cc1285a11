/* What a service tells, in ECS's words. A state is told once: facts.told says which was told last. */
#include <stdarg.h>

#include "ecs/service_work.h"
#include "store/fact_table.h"

#define TOLD_STEADY "steady"
#define TOLD_FAILING "failing"
#define TOLD_STUCK "stuck"
#define TOLD_UNPLACED "unplaced "
#define TROUBLE_AGAIN_MS INT64_C(60000) /* between two events about trouble of different kinds */

int service_tell(struct service_work *work, struct err *err, const char *format, ...)
{
	struct span message;
	va_list list;

	if (!service_may_write(work))
		return SERVICE_DUE;
	va_start(list, format);
	message = arena_format_list(work->arena, format, list);
	va_end(list);
	return service_event_add(work->transaction, work->key, work->random, work->now_ms,
		work->arena, err, "%.*s", SPAN_ARGS(message));
}

static void set_told(struct service_work *work, struct span told)
{
	work->facts.told = told;
	work->facts.told_ms = work->now_ms;
	work->changed = true;
}

/* Tells a state unless it was the last one told. */
static int tell_once(struct service_work *work, struct span state, struct span message,
	struct err *err)
{
	int code;

	if (span_equal(work->facts.told, state) &&
		!(work->control && work->control->bug_repeat_events))
		return 0;
	code = service_tell(work, err, "%.*s", SPAN_ARGS(message));
	if (code == 0)
		set_told(work, state);
	return code;
}

/* Trouble may come and go and be of several kinds at once: that is told, but not all the time. */
static int tell_trouble(struct service_work *work, struct span state, struct span message,
	struct err *err)
{
	bool in_trouble = span_is(work->facts.told, TOLD_FAILING) ||
			  span_is(work->facts.told, TOLD_STUCK) ||
			  span_starts_with(work->facts.told, SPAN(TOLD_UNPLACED));

	if (in_trouble && work->now_ms < work->facts.told_ms + TROUBLE_AGAIN_MS)
		return 0;
	return tell_once(work, state, message, err);
}

static struct span list_of(struct service_work *work, const struct service_told_tasks *tasks)
{
	_buffer_ struct buffer list = {0};

	for (unsigned i = 0; i < tasks->count; i++)
		buffer_format(&list, " (task %.*s)", SPAN_ARGS(tasks->ids[i]));
	return arena_copy_span(work->arena, buffer_span(&list));
}

static int tell_unplaced(struct service_work *work, struct err *err)
{
	const struct placement_failure *failure = &work->failure;
	/* The instance that is named may be another each time: that is no news. */
	struct span state =
		arena_format(work->arena, TOLD_UNPLACED "%.*s", SPAN_ARGS(failure->reason));

	return tell_trouble(work, fact_text_is_plain(state) ? state : SPAN(TOLD_UNPLACED),
		arena_format(work->arena,
			"was unable to place a task because no container instance met all of its "
			"requirements. %.*s For more information, see the Troubleshooting section "
			"of the Amazon ECS Developer Guide.",
			SPAN_ARGS(failure->event)),
		err);
}

static int tell_failing(struct service_work *work, struct err *err)
{
	return tell_trouble(work, SPAN(TOLD_FAILING),
		SPAN("is unable to consistently start tasks successfully. For more information, "
		     "see the Troubleshooting section of the Amazon ECS Developer Guide."),
		err);
}

static int tell_stuck(struct service_work *work, struct err *err)
{
	return tell_trouble(work, SPAN(TOLD_STUCK),
		SPAN("was unable to stop or start tasks during a deployment because of the service "
		     "deployment configuration. Update the minimumHealthyPercent or "
		     "maximumPercent value and try again."),
		err);
}

int service_tell_tasks(struct service_work *work, struct err *err)
{
	int code = 0;

	if (work->stopped.count > 0)
		code = service_tell(work, err, "has stopped %u running tasks:%.*s.",
			work->stopped.count, SPAN_ARGS(list_of(work, &work->stopped)));
	if (code == 0 && work->started.count > 0)
		code = service_tell(work, err, "has started %u tasks:%.*s.", work->started.count,
			SPAN_ARGS(list_of(work, &work->started)));
	/* From here on a steady state is news again. */
	if (code == 0 && work->started.count + work->stopped.count > 0 &&
		span_is(work->facts.told, TOLD_STEADY))
		set_told(work, SPAN(""));
	/* What failed before is no trouble when all that is wanted is there. */
	if (code < 0 || work->steady)
		return code;
	if (work->failing)
		return tell_failing(work, err);
	if (work->stuck)
		return tell_stuck(work, err);
	return work->unplaced ? tell_unplaced(work, err) : 0;
}

int service_tell_of_task(struct store_transaction *transaction, struct span task_key,
	const char *verb, const char *things, int64_t now_ms, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_object *task = store_get(store_head(transaction), &task_kind, task_key);
	struct span service_key = arena_format(arena, "%.*s/%.*s",
		SPAN_ARGS(task_cluster_key(task_key)), SPAN_ARGS(task_facts(task)->service));
	const struct store_object *service;
	struct service_facts facts;
	int code = service_event_count(transaction, service_key, task_facts(task)->id, now_ms,
		arena, verb, things, err);

	service = store_get(store_head(transaction), &service_kind, service_key);
	if (code < 0 || !service || !span_is(service_facts(service)->told, TOLD_STEADY))
		return code;
	facts = *service_facts(service);
	facts.told = SPAN("");
	return service_object_put_facts(transaction, service, &facts, arena, err);
}

bool service_has_good_news(const struct service_work *work)
{
	return work->primary->deployment.rollout != ROLLOUT_COMPLETED ||
	       !span_is(work->facts.told, TOLD_STEADY);
}

int service_tell_steady(struct service_work *work, struct err *err)
{
	return tell_once(work, SPAN(TOLD_STEADY), SPAN("has reached a steady state."), err);
}
