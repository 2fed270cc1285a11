/* The stages that wait: for a time, and for people. Both have an absolute deadline, which a restart does not change. */
#include "pipeline/stage_run.h"

#define HOLD_MS 2000 /* between two looks at the canary's share */

static void set_deadline(struct deployment_pass *pass, struct stage_record *stage,
	int64_t duration_ms)
{
	if (stage->deadline_ms > 0 || duration_ms == 0)
		return;
	stage->deadline_ms = stage->started_ms + duration_ms;
	pass->must_write = true;
}

static int go_on(struct deployment_pass *pass, const struct stage_record *stage,
	struct stage_step *step, struct err *err)
{
	int64_t next_ms = pass->now_ms + HOLD_MS;
	bool holds = pass->deployment.facts.canary_percent > 0;

	step->wake_ms = stage->deadline_ms;
	if (holds && (step->wake_ms == 0 || next_ms < step->wake_ms))
		step->wake_ms = next_ms;
	/* Without a deadline an order or an approval changes the deployment, which wakes the controller. */
	if (step->wake_ms == 0)
		step->wake_ms = pass->now_ms + CONTROLLER_AGAIN_MOST_MS;
	return holds ? stage_hold_share(pass, stage->id, err) : 0;
}

int stage_run_wait(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err)
{
	set_deadline(pass, stage, options->duration_ms);
	if (options->duration_ms == 0 || pass->now_ms >= stage->deadline_ms) {
		ret_step->progress = STAGE_DONE;
		return 0;
	}
	return go_on(pass, stage, ret_step, err);
}

/* Distinct users that have approved; the API accepts only those that may. */
static int64_t count_approvals(const struct stage_record *stage)
{
	return (int64_t)json_array_count(json_get(stage->details, "approvals"));
}

int stage_run_approval(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err)
{
	int64_t wanted = options->minimum_approvers > 0 ? options->minimum_approvers : 1;
	struct span rejected = json_get_text(stage->details, "rejectedBy");

	set_deadline(pass, stage, options->timeout_ms);
	if (rejected.data) {
		ret_step->progress = STAGE_FAILS;
		ret_step->reason =
			arena_format(pass->arena, "rejected by %.*s", SPAN_ARGS(rejected));
		return 0;
	}
	if (count_approvals(stage) >= wanted) {
		ret_step->progress = STAGE_DONE;
		return 0;
	}
	if (stage->deadline_ms > 0 && pass->now_ms >= stage->deadline_ms) {
		ret_step->progress = STAGE_FAILS;
		ret_step->reason = SPAN("it was not approved in time");
		return 0;
	}
	ret_step->reason = arena_format(pass->arena, "%d of %d approvals",
		(int)count_approvals(stage), (int)wanted);
	return go_on(pass, stage, ret_step, err);
}
