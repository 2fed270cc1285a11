/* See the header. */
#include "pipeline/notices.h"

#include "base/memory.h"

const struct notice_type application_notice_type = {
	.name = "application", .prefix = "application:", .kind = &application_kind};

static const char *const state_events[PIPELINE_DEPLOYMENT_STATE_COUNT] = {
	[PIPELINE_DEPLOYMENT_RUNNING] = "application.running",
	[PIPELINE_DEPLOYMENT_ROLLING_BACK] = "application.rolling-back",
	[PIPELINE_DEPLOYMENT_SUCCESS] = "application.success",
	[PIPELINE_DEPLOYMENT_FAILURE] = "application.failure",
	[PIPELINE_DEPLOYMENT_CANCELLED] = "application.cancelled",
};

/* The sequence is counted in the application as it is in the transaction. */
static int add(struct store_transaction *transaction, const struct webhook_set *set,
	struct span application, struct notice *notice, struct err *err)
{
	const struct store_object *object =
		store_get(store_head(transaction), &application_kind, application);
	struct application_facts facts;
	int code;

	if (!object)
		return 0;
	facts = *application_facts(object);
	notice->subject = (struct notice_subject){.type = &application_notice_type,
		.key = application,
		.created_ms = facts.created_ms,
		.sequence = ++facts.notice_count};
	code = application_put(transaction, application, object->api, &facts, object->revision,
		err);
	return code < 0 ? code : notice_add(transaction, set, notice, err);
}

/* A stage that waits for an approval since this change. */
static bool has_new_approval(const struct deployment_record *before,
	const struct deployment_record *after)
{
	for (size_t i = 0; i < after->stage_count; i++) {
		const struct stage_record *stage = &after->stages[i],
					  *old = deployment_find_stage(before, stage->id);

		if (stage->kind == STAGE_WAIT_APPROVAL && stage->state == PIPELINE_STAGE_RUNNING &&
			(!old || old->state != PIPELINE_STAGE_RUNNING))
			return true;
	}
	return false;
}

int notices_add_deployment(struct store_transaction *transaction, const struct webhook_set *set,
	const struct deployment_record *before, const struct deployment_record *after,
	int64_t now_ms, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct notice notice = {.now_ms = now_ms, .member = "deployment"};
	const char *events[2] = {NULL, NULL};
	int code = 0;

	if (!set || set->count == 0 || after->facts.trigger == DEPLOYMENT_TRIGGER_PLAN)
		return 0;
	if (before->facts.state != after->facts.state)
		events[0] = state_events[after->facts.state];
	if (has_new_approval(before, after))
		events[1] = "application.approval";
	for (size_t i = 0; i < LENGTH(events) && code >= 0; i++) {
		if (!events[i])
			continue;
		notice.event = span_of(events[i]);
		notice.document = deployment_document(after, arena);
		code = add(transaction, set, after->facts.application, &notice, err);
	}
	return code;
}

int notices_add_sync(struct store_transaction *transaction, const struct webhook_set *set,
	struct span application, enum application_sync before, enum application_sync after,
	const struct json *differences, int64_t now_ms, struct err *err)
{
	struct notice notice = {.now_ms = now_ms,
		.member = "differences",
		.document = differences,
		.event = after == APPLICATION_OUT_OF_SYNC ? SPAN("application.out-of-sync")
							  : SPAN("application.synced")};

	if (!set || set->count == 0 || before == after ||
		(after != APPLICATION_OUT_OF_SYNC &&
			(after != APPLICATION_SYNCED || before != APPLICATION_OUT_OF_SYNC)))
		return 0;
	return add(transaction, set, application, &notice, err);
}
