/* The events of a service, in ECS's text. A state is reported once: facts.reported is the last
 * one. */
#include <stdarg.h>

#include "base/seeded_bug.h"
#include "ecs/service/service_work.h"
#include "store/fact_table.h"

#define REPORTED_FAILING "failing"
#define REPORTED_STUCK "stuck"
#define REPORTED_UNPLACED "unplaced "
#define TROUBLE_AGAIN_MS INT64_C(60000) /* between two events about different kinds of trouble */

int service_report(struct service_work *work, struct err *err, const char *format, ...)
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

static void set_reported(struct service_work *work, struct span reported)
{
	work->facts.reported = reported;
	work->facts.reported_ms = work->now_ms;
	work->changed = true;
}

/* Reports a state unless it was the last one reported. */
static int report_once(struct service_work *work, struct span state, struct span message,
	struct err *err)
{
	int code;

	if (span_equal(work->facts.reported, state) &&
		!SEEDED_BUG(work->control && work->control->bug_repeat_events))
		return 0;
	code = service_report(work, err, "%.*s", SPAN_ARGS(message));
	if (code == 0)
		set_reported(work, state);
	return code;
}

static bool is_trouble(struct span reported)
{
	return span_is(reported, REPORTED_FAILING) || span_is(reported, REPORTED_STUCK) ||
	       span_starts_with(reported, SPAN(REPORTED_UNPLACED));
}

/* Trouble may come and go and be of several kinds at once: it is reported, but not all the time. */
static int report_trouble(struct service_work *work, struct span state, struct span message,
	struct err *err)
{
	int64_t reported_ms = work->facts.reported_ms;
	struct span reported = work->facts.reported;
	int code;

	if (is_trouble(reported) && work->now_ms < reported_ms + TROUBLE_AGAIN_MS)
		return 0;
	code = report_once(work, state, message, err);
	if (code == 0 && !span_equal(reported, state))
		service_log_add(work, true,
			arena_format(work->arena, "%.*s%.*s", SPAN_ARGS(message),
				SPAN_ARGS(span_is(state, REPORTED_FAILING)
						  ? service_log_example(work)
						  : SPAN(""))));
	return code;
}

static struct span list_of(struct service_work *work, const struct service_reported_tasks *tasks)
{
	_buffer_ struct buffer list = {0};

	for (unsigned i = 0; i < tasks->count; i++)
		buffer_format(&list, " (task %.*s)", SPAN_ARGS(tasks->ids[i]));
	return arena_copy_span(work->arena, buffer_span(&list));
}

static int report_unplaced(struct service_work *work, struct err *err)
{
	const struct placement_failure *failure = &work->failure;
	/* The closest instance may be another each time, which is not reported again. */
	struct span state =
		arena_format(work->arena, REPORTED_UNPLACED "%.*s", SPAN_ARGS(failure->reason));

	return report_trouble(work, fact_text_is_plain(state) ? state : SPAN(REPORTED_UNPLACED),
		arena_format(work->arena,
			"was unable to place a task because no container instance met all of its "
			"requirements. %.*s For more information, see the Troubleshooting section "
			"of the Amazon ECS Developer Guide.",
			SPAN_ARGS(failure->event)),
		err);
}

static int report_failing(struct service_work *work, struct err *err)
{
	return report_trouble(work, SPAN(REPORTED_FAILING),
		SPAN("is unable to consistently start tasks successfully. For more information, "
		     "see the Troubleshooting section of the Amazon ECS Developer Guide."),
		err);
}

static int report_stuck(struct service_work *work, struct err *err)
{
	return report_trouble(work, SPAN(REPORTED_STUCK),
		SPAN("was unable to stop or start tasks during a deployment because of the service "
		     "deployment configuration. Update the minimumHealthyPercent or "
		     "maximumPercent value and try again."),
		err);
}

int service_report_tasks(struct service_work *work, struct err *err)
{
	int code = 0;

	if (work->stopped.count > 0)
		code = service_report(work, err, "has stopped %u running tasks:%.*s.",
			work->stopped.count, SPAN_ARGS(list_of(work, &work->stopped)));
	if (code == 0 && work->started.count > 0)
		code = service_report(work, err, "has started %u tasks:%.*s.", work->started.count,
			SPAN_ARGS(list_of(work, &work->started)));
	/* The next steady state is reported again. */
	if (code == 0 && work->started.count + work->stopped.count > 0 &&
		span_is(work->facts.reported, SERVICE_REPORTED_STEADY))
		set_reported(work, SPAN(""));
	/* Earlier failures do not matter once all desired tasks are there. */
	if (code < 0 || work->steady)
		return code;
	if (work->failing)
		return report_failing(work, err);
	if (work->stuck)
		return report_stuck(work, err);
	return work->unplaced ? report_unplaced(work, err) : 0;
}

bool service_has_progress(const struct service_work *work)
{
	return work->primary->deployment.rollout != ROLLOUT_COMPLETED ||
	       !span_is(work->facts.reported, SERVICE_REPORTED_STEADY);
}

int service_report_steady(struct service_work *work, struct err *err)
{
	bool was_trouble = is_trouble(work->facts.reported);
	int code = report_once(work, SPAN(SERVICE_REPORTED_STEADY),
		SPAN("has reached a steady state."), err);

	if (code == 0 && was_trouble)
		service_log_add(work, false, SPAN("has reached a steady state."));
	return code;
}
