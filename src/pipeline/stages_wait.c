/* The stages that wait: for a time, and for people. Both have an absolute deadline, which a restart does not change. */
#include "base/buffer.h"
#include "base/memory.h"
#include "delivery/approval.h"
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

int stage_wait(struct deployment_pass *pass, const struct stage_record *stage,
	struct stage_step *step, struct err *err)
{
	int64_t next_ms = pass->now_ms + HOLD_MS;
	bool holds = pass->deployment.facts.canary_percent > 0;

	step->wake_ms = stage->deadline_ms;
	if (holds && (step->wake_ms == 0 || next_ms < step->wake_ms))
		step->wake_ms = next_ms;
	/* Without a deadline an order, an approval or the end of a job wakes the controller. */
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
	return stage_wait(pass, stage, ret_step, err);
}

/* ---- approvals ---- */

/* Everything that is approved: the files, the plan, and what it changes. */
static struct span digest_of(const struct deployment_pass *pass)
{
	const struct deployment_record *record = &pass->deployment;
	const struct json *changes = record->changes;
	const struct span texts[] = {record->facts.id, record->facts.commit,
		json_to_text(pass->source.files, pass->arena),
		changes ? json_to_text(changes, pass->arena) : SPAN("")};
	char digest[APPROVAL_DIGEST_SIZE];

	approval_digest(texts, LENGTH(texts), digest);
	return arena_copy_span(pass->arena, span_of(digest));
}

static struct span approval_texts(const struct deployment_pass *pass,
	const struct approval *approval)
{
	_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < approval->vote_count; i++) {
		const struct approval_vote *vote = &approval->votes[i];

		buffer_format(&text, "%s%.*s%s%.*s", i > 0 ? ", " : "", SPAN_ARGS(vote->user),
			vote->comment.length > 0 ? ": " : "", SPAN_ARGS(vote->comment));
	}
	return arena_copy_span(pass->arena, buffer_span(&text));
}

void stage_begin_approval(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options)
{
	struct approval approval = {.subject = arena_format(pass->arena, "%.*s/%.*s",
					    SPAN_ARGS(pass->deployment.key), SPAN_ARGS(stage->id)),
		.digest = digest_of(pass),
		.approvers = options->approvers.items,
		.approver_count = options->approvers.count,
		.minimum = options->minimum_approvers,
		.requester = pass->deployment.facts.created_by};

	set_deadline(pass, stage, options->timeout_ms);
	approval.deadline_ms = stage->deadline_ms;
	stage->details = approval_write(&approval, pass->arena);
}

int stage_run_approval(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err)
{
	struct approval approval;
	const struct approval_vote *last;
	int code = approval_read(stage->details, pass->arena, &approval, err);

	(void)options;
	if (code < 0)
		return code;
	last = approval.vote_count > 0 ? &approval.votes[approval.vote_count - 1] : NULL;
	switch (approval_state(&approval, pass->now_ms)) {
	case APPROVAL_APPROVED:
		ret_step->progress = STAGE_DONE;
		ret_step->reason = arena_format(pass->arena, "approved by %.*s",
			SPAN_ARGS(approval_texts(pass, &approval)));
		return 0;
	case APPROVAL_REJECTED:
		stage_fail(ret_step,
			arena_format(pass->arena, "rejected by %.*s%s%.*s", SPAN_ARGS(last->user),
				last->comment.length > 0 ? ": " : "", SPAN_ARGS(last->comment)));
		return 0;
	case APPROVAL_TIMED_OUT:
		stage_fail(ret_step, SPAN("it was not approved in time"));
		return 0;
	case APPROVAL_WAITING: break;
	}
	ret_step->reason = arena_format(pass->arena, "%zu of %d approvals", approval.vote_count,
		(int)approval.minimum);
	return stage_wait(pass, stage, ret_step, err);
}
