/* See the header. */
#include "delivery/outcall.h"

#include <string.h>

/* ---- the claim ---- */

static int check_claim(const struct outcall *call, struct err *err)
{
	return claims_check(call->claims, call->claim,
		call->is_remote ? OUTCALL_REMOTE_US : OUTCALL_LOCAL_US, err);
}

/* The claim as the fence of one call. */
struct claim_fence {
	const struct outcall *call;
	bool is_stale;
};

static int require_claim(void *context, struct store_transaction *transaction, struct err *err)
{
	struct claim_fence *fence = context;
	int code = claims_require(fence->call->claims, transaction, fence->call->claim, err);

	fence->is_stale = code < 0;
	return code;
}

/* ---- the outcome ---- */

/* 503 rejects a request, too: it changed nothing. */
static bool is_throttled(const struct aws_call_failure *failure)
{
	return failure->status == 503 || aws_call_was_throttled(failure);
}

/* An error of a remote endpoint (5xx) does not say whether the call took effect; on this server it did not. */
static enum outcall_outcome classify(const struct outcall *call, int code,
	const struct aws_call_failure *failure)
{
	if (code == 0)
		return OUTCALL_DONE;
	if (code == -EREMOTEIO)
		return call->is_remote && failure->status >= 500 && !is_throttled(failure)
			       ? OUTCALL_UNKNOWN
			       : OUTCALL_REFUSED;
	return aws_call_was_not_sent(code) ? OUTCALL_REFUSED : OUTCALL_UNKNOWN;
}

static bool is_unavailable(const struct outcall *call, int code,
	const struct aws_call_failure *failure)
{
	return code < 0 && call->is_remote &&
	       (code != -EREMOTEIO || failure->status >= 500 || is_throttled(failure));
}

static struct outcall_result result_of(const struct outcall *call, int code, struct json *answer,
	const struct aws_call_failure *failure, const struct err *err)
{
	struct outcall_result result = {.outcome = classify(call, code, failure),
		.answer = code == 0 ? answer : NULL,
		.reason = SPAN(""),
		.error_type = SPAN(""),
		.is_unavailable = is_unavailable(call, code, failure),
		.code = code};

	if (code == -EREMOTEIO) {
		result.error_type = arena_copy_span(call->arena, span_of(failure->type));
		result.reason =
			arena_format(call->arena, "%s: %s", failure->type, failure->message);
	} else if (code < 0) {
		result.reason = arena_copy_span(call->arena, span_of(err->message));
	}
	return result;
}

/* ---- the steps ---- */

int outcall_prepare(const struct outcall *call, struct err *err)
{
	int code = aws_target_prepare(call->target, err);

	return code < 0 ? code : check_claim(call, err);
}

int outcall_send(const struct outcall *call, const char *operation, const struct json *request,
	struct outcall_result *ret_result, struct err *err)
{
	struct claim_fence claim = {.call = call};
	const struct aws_fence fence = {.require = require_claim, .context = &claim};
	struct aws_call_failure failure = {0};
	struct json *answer = NULL;
	int code = check_claim(call, err);

	if (code < 0)
		return code;
	code = aws_call_fenced(call->target, call->is_remote || call->is_unfenced ? NULL : &fence,
		call->service, operation, request, call->arena, &answer, &failure, err);
	if (code < 0 && code != -ECANCELED && claim.is_stale)
		return err_set(err, -ESTALE, "%s: another server has the claim on %.*s", operation,
			SPAN_ARGS(call->claim->key));
	if (code == -ECANCELED || code == -ESTALE)
		return code;
	*ret_result = result_of(call, code, answer, &failure, err);
	return 0;
}

static int write_record(const struct outcall *call, const struct outcall_records *records,
	store_write_function put, struct err *err)
{
	return put ? claims_write(call->claims, call->claim, put, records->context, NULL, err) : 0;
}

int outcall_run(const struct outcall *call, const char *operation, const struct json *request,
	const struct outcall_records *records, struct outcall_result *ret_result, struct err *err)
{
	static const struct aws_call_failure no_answer = {0};
	int code = outcall_prepare(call, err);

	if (code == -ECANCELED || code == -ESTALE)
		return code;
	if (code < 0) {
		*ret_result = result_of(call, code, NULL, &no_answer, err);
		ret_result->outcome = OUTCALL_REFUSED;
		return write_record(call, records, records->put_outcome, err);
	}
	code = write_record(call, records, records->put_intent, err);
	if (code == 0)
		code = outcall_send(call, operation, request, ret_result, err);
	return code < 0 ? code : write_record(call, records, records->put_outcome, err);
}

int outcall_read(const struct outcall *call, const char *operation, const struct json *request,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	*failure = (struct aws_call_failure){0};
	return aws_call(call->target, call->service, operation, request, call->arena, ret_answer,
		failure, err);
}

/* ---- limits ---- */

void outcall_slots_init(struct outcall_slots *slots, unsigned limit)
{
	*slots = (struct outcall_slots){.limit = limit};
	lock_init(&slots->lock);
}

void outcall_slots_destroy(struct outcall_slots *slots)
{
	lock_destroy(&slots->lock);
}

bool outcall_slots_enter(struct outcall_slots *slots)
{
	bool is_free;

	lock_take(&slots->lock);
	is_free = slots->busy < slots->limit;
	slots->busy += is_free;
	lock_release(&slots->lock);
	return is_free;
}

void outcall_slots_leave(struct outcall_slots *slots)
{
	lock_take(&slots->lock);
	slots->busy--;
	lock_release(&slots->lock);
}
