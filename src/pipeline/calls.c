/* The journal of a deployment's calls, and sending them; see pass.h. */
#include "base/memory.h"
#include "base/seeded_bug.h"
#include "pipeline/pass.h"
#include "pipeline/stop_switch.h"

/* ---- reading the journal ---- */

int calls_load(struct deployment_pass *pass, struct err *err)
{
	struct store_cursor cursor = {.view = pass->view,
		.kind = &deployment_call_kind,
		.index = -1,
		.prefix = arena_format(pass->arena, "%.*s/", SPAN_ARGS(pass->deployment.key))};
	const struct store_object *object;

	pass->calls = (struct field_list){0};
	while ((object = store_next(&cursor))) {
		struct journalled_call *call =
			fields_append(pass->arena, &pass->calls, sizeof(*call));
		struct json *value;
		int code = json_parse(object->api, pass->arena, &value, err);

		call->key = object->key;
		if (code >= 0)
			code = journal_read(value, &call->record, err);
		if (code < 0)
			return code;
	}
	return 0;
}

const struct journalled_call *calls_find_done(const struct deployment_pass *pass,
	const char *operation, struct span role)
{
	const struct journalled_call *calls = pass->calls.items;

	for (size_t i = pass->calls.count; i > 0; i--) {
		const struct journal_record *record = &calls[i - 1].record;

		if (record->result == JOURNAL_DONE && span_is(record->operation, operation) &&
			(!role.data || span_equal(record->role, role)))
			return &calls[i - 1];
	}
	return NULL;
}

bool calls_was_sent(const struct deployment_pass *pass, const char *operation, struct span role)
{
	const struct journalled_call *calls = pass->calls.items;

	for (size_t i = 0; i < pass->calls.count; i++) {
		const struct journal_record *record = &calls[i].record;

		if (record->result != JOURNAL_REFUSED && span_is(record->operation, operation) &&
			span_equal(record->role, role))
			return true;
	}
	return false;
}

static bool is_unanswered(const struct journal_record *record)
{
	return (record->result == JOURNAL_SENT || record->result == JOURNAL_UNKNOWN) &&
	       record->answer.length == 0;
}

struct journalled_call *calls_find_unanswered(const struct deployment_pass *pass,
	const char *operation, struct span role)
{
	struct journalled_call *calls = pass->calls.items;

	for (size_t i = pass->calls.count; i > 0; i--) {
		const struct journal_record *record = &calls[i - 1].record;

		if (is_unanswered(record) && span_is(record->operation, operation) &&
			(role.length == 0 || span_equal(record->role, role)))
			return &calls[i - 1];
	}
	return NULL;
}

/* The record of the same call without a result: it may have been sent. */
static struct journalled_call *find_unsettled(const struct deployment_pass *pass,
	const struct pending_call *call)
{
	struct journalled_call *calls = pass->calls.items;

	for (size_t i = pass->calls.count; i > 0; i--) {
		const struct journal_record *record = &calls[i - 1].record;

		if (is_unanswered(record) && span_is(record->operation, call->operation) &&
			span_equal(record->role, call->role) &&
			span_equal(record->target, call->target))
			return &calls[i - 1];
	}
	return NULL;
}

/* How often the same call ended before: the next one is another attempt, with another token. */
static int64_t count_attempts(const struct deployment_pass *pass, const struct pending_call *call)
{
	const struct journalled_call *calls = pass->calls.items;
	int64_t count = 0;

	for (size_t i = 0; i < pass->calls.count; i++)
		count += span_is(calls[i].record.operation, call->operation) &&
			 span_equal(calls[i].record.role, call->role);
	return count;
}

/* ---- writing it ---- */

struct sending {
	struct deployment_pass *pass;
	struct journalled_call *entry;
	struct pending_call *call;
	struct outcall_result *result;
};

static int put_record(struct store_transaction *transaction, const struct journalled_call *entry,
	struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);

	return store_put(transaction, &deployment_call_kind, entry->key,
		json_to_text(journal_write(&entry->record, arena), arena), SPAN("{}"), STORE_ANY,
		err);
}

static int put_intent(struct store_transaction *transaction, void *context, struct err *err)
{
	struct sending *sending = context;
	struct deployment_pass *pass = sending->pass;
	/* A user's order that came meanwhile is followed first. */
	int code = stop_switch_is_on(store_head(transaction), pass->key)
			   ? err_set(err, -ESTALE, "deployments are stopped")
			   : store_require(transaction, &deployment_kind, pass->deployment.key,
				     pass->deployment.revision, err);

	if (code < 0)
		return code;
	if (sending->entry->key.length == 0)
		sending->entry->key = arena_copy_span(pass->arena,
			deployment_line_key(transaction, pass->deployment.key));
	return put_record(transaction, sending->entry, err);
}

/* "service.serviceArn", "tasks.taskArn": of a list the first item. */
static const struct json *value_at(const struct json *value, struct span path)
{
	struct span name;

	while (span_next_part(&path, '.', &name)) {
		if (json_is(value, JSON_ARRAY))
			value = json_item(value, 0);
		value = json_get_span(value, name);
	}
	return value;
}

static struct span answer_of(const struct sending *sending)
{
	const struct pending_call *call = sending->call;
	const struct json *answer = sending->result->answer;
	struct span text;

	if (!call->answer_path)
		return SPAN("");
	text = json_text(value_at(answer, span_of(call->answer_path)));
	return text.data ? text : SPAN("");
}

static bool is_done_error(const struct pending_call *call, struct span type)
{
	for (size_t i = 0; call->done_errors && call->done_errors[i]; i++) {
		if (span_is(type, call->done_errors[i]))
			return true;
	}
	return false;
}

/* Another operation on the instance is under way, maybe that of an earlier attempt. */
static bool is_duplicate(const struct outcall_result *result)
{
	return span_is(result->error_type, "DuplicateRequest");
}

bool calls_must_be_repeated(const struct outcall_result *result)
{
	return result->outcome == OUTCALL_UNKNOWN || result->is_unavailable || is_duplicate(result);
}

static void set_result(struct sending *sending)
{
	struct journal_record *record = &sending->entry->record;
	struct outcall_result *result = sending->result;

	if (result->outcome == OUTCALL_REFUSED && is_done_error(sending->call, result->error_type))
		result->outcome = OUTCALL_DONE;
	record->result_ms = runner_wall_ms(sending->pass->runner);
	record->reason = result->outcome == OUTCALL_DONE ? SPAN("") : result->reason;
	switch (result->outcome) {
	case OUTCALL_DONE:
		record->result = JOURNAL_DONE;
		record->answer = answer_of(sending);
		/* The operation continues; the call is settled when it has ended. */
		if (sending->call->is_operation && record->answer.length > 0)
			record->result = JOURNAL_SENT;
		break;
	case OUTCALL_REFUSED:
		record->result = calls_must_be_repeated(result) ? JOURNAL_UNKNOWN : JOURNAL_REFUSED;
		break;
	case OUTCALL_UNKNOWN: record->result = JOURNAL_UNKNOWN; break;
	}
}

/* The result of a call, for people. */
static int log_result(struct store_transaction *transaction, const struct deployment_pass *pass,
	const struct journal_record *record, const char *result, struct err *err)
{
	struct span text = arena_format(store_transaction_arena(transaction),
		"%.*s%s%.*s%s%.*s: %s%s%.*s", SPAN_ARGS(record->operation),
		record->role.length > 0 ? " " : "", SPAN_ARGS(record->role),
		record->target.length > 0 ? " " : "", SPAN_ARGS(record->target), result,
		record->reason.length > 0 ? ", " : "", SPAN_ARGS(record->reason));

	return deployment_log(transaction, pass->deployment.key, record->stage, text,
		record->result_ms, err);
}

static int put_outcome(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct sending *sending = context;
	int code = put_record(transaction, sending->entry, err);

	return code < 0 ? code
			: log_result(transaction, sending->pass, &sending->entry->record,
				  sending->result->outcome == OUTCALL_REFUSED   ? "refused"
				  : sending->result->outcome == OUTCALL_UNKNOWN ? "no answer"
										: "done",
				  err);
}

/* ---- sending ---- */

static struct journalled_call *make_entry(struct deployment_pass *pass, struct span stage,
	struct pending_call *call)
{
	struct journalled_call *entry = SEEDED_BUG(pass->config->bug == PIPELINE_BUG_NEW_TOKEN)
						? NULL
						: find_unsettled(pass, call);
	struct span id = pass->deployment.facts.id;
	char token[JOURNAL_TOKEN_SIZE];

	if (!entry) {
		journal_token(id, stage,
			arena_format(pass->arena, "%s %.*s %.*s", call->operation,
				SPAN_ARGS(call->role), SPAN_ARGS(call->target)),
			count_attempts(pass, call), token);
		entry = fields_append(pass->arena, &pass->calls, sizeof(*entry));
		entry->key = SPAN("");
		entry->record = (struct journal_record){.stage = stage,
			.step = (int64_t)pass->calls.count,
			.operation = span_of(call->operation),
			.role = call->role,
			.target = call->target,
			.number = call->number,
			.token = arena_copy_span(pass->arena, span_of(token)),
			.attributes = call->attributes,
			.intent_ms = pass->now_ms,
			.answer = SPAN(""),
			.reason = SPAN("")};
	}
	entry->record.result = JOURNAL_SENT;
	entry->record.result_ms = 0;
	call->first_ms = entry->record.intent_ms;
	return entry;
}

int calls_send(struct deployment_pass *pass, struct span stage, struct pending_call *call,
	struct outcall_result *ret_result, struct err *err)
{
	struct outcall outcall = pass->outcall;
	struct outcall_records records = {put_intent, put_outcome, NULL};
	struct sending sending = {.pass = pass,
		.entry = make_entry(pass, stage, call),
		.call = call,
		.result = ret_result};
	int code;

	if (call->token_member)
		json_set_string(pass->arena, call->request, call->token_member,
			sending.entry->record.token);
	outcall.service = call->service;
	code = outcall_prepare(&outcall, err);
	if (code >= 0 && !SEEDED_BUG(pass->config->bug == PIPELINE_BUG_NO_INTENT))
		code = claims_write(pass->claims, &pass->claim, records.put_intent, &sending, NULL,
			err);
	if (code >= 0)
		code = outcall_send(&outcall, call->operation, call->request, ret_result, err);
	if (code < 0)
		return code;
	set_result(&sending);
	return claims_write(pass->claims, &pass->claim, records.put_outcome, &sending, NULL, err);
}

struct settling {
	const struct deployment_pass *pass;
	const struct journalled_call *call;
	bool is_logged;
};

static int put_settled(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct settling *settling = context;
	const struct journal_record *record = &settling->call->record;
	int code = put_record(transaction, settling->call, err);

	if (code < 0 || settling->is_logged)
		return code;
	return log_result(transaction, settling->pass, record,
		record->result == JOURNAL_DONE ? "done" : "refused", err);
}

int calls_settle(struct deployment_pass *pass, struct journalled_call *call, struct err *err)
{
	/* The server was killed between the call and its result. */
	struct settling settling = {
		.pass = pass, .call = call, .is_logged = call->record.result_ms > 0};

	/* Not that of the pass: what was read since may have taken long. */
	call->record.result_ms = runner_wall_ms(pass->runner);
	return claims_write(pass->claims, &pass->claim, put_settled, &settling, NULL, err);
}
