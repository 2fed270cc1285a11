/* See the header. */
#include "pipeline/record.h"

#include <stdlib.h>

#include "base/memory.h"

/* ---- reading ---- */

static struct span text_of(const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.data ? text : SPAN("");
}

/* Seconds, as clients see times. */
static int64_t time_of(const struct json *object, const char *name)
{
	double seconds;

	return json_double(json_get(object, name), &seconds) ? (int64_t)(seconds * 1000 + 0.5) : 0;
}

static bool find_kind(struct span name, enum stage_kind *ret_kind)
{
	for (unsigned i = 0; i < STAGE_KIND_COUNT; i++) {
		if (span_is(name, stage_kind_name((enum stage_kind)i))) {
			*ret_kind = (enum stage_kind)i;
			return true;
		}
	}
	return false;
}

static int read_stage(const struct json *value, struct stage_record *ret_stage, struct err *err)
{
	const struct json *details = json_get(value, "details");
	struct stage_record stage = {.id = text_of(value, "id"),
		.is_hidden = json_get_bool(value, "hidden", false),
		.description = text_of(value, "description"),
		.note = text_of(value, "note"),
		.reason = text_of(value, "reason"),
		.started_ms = time_of(value, "startedAt"),
		.ended_ms = time_of(value, "endedAt"),
		.deadline_ms = time_of(value, "deadlineAt"),
		.details = json_is(details, JSON_OBJECT) ? details : NULL};

	if (!find_kind(text_of(value, "kind"), &stage.kind) ||
		!pipeline_stage_state_read(text_of(value, "state"), &stage.state))
		return err_set(err, -EINVAL, "stage %.*s has an unknown kind or state",
			SPAN_ARGS(stage.id));
	*ret_stage = stage;
	return 0;
}

int deployment_read(const struct store_object *object, struct arena *arena,
	struct deployment_record *ret_record, struct err *err)
{
	struct deployment_record record = {.key = object->key,
		.revision = object->revision,
		.facts = *deployment_facts(object)};
	const struct json *stages;
	struct json *document;
	int code = json_parse(object->api, arena, &document, err);

	if (code < 0)
		return code;
	record.summary = text_of(document, "summary");
	record.reason = text_of(document, "reason");
	record.message = text_of(document, "message");
	record.approved_by = text_of(document, "approvedBy");
	record.changes = json_get(document, "changes");
	record.warnings = json_get(document, "warnings");
	stages = json_get(document, "stages");
	record.stage_count = json_array_count(stages);
	record.stages = arena_allocate_array(arena, record.stage_count + 1, sizeof(*record.stages));
	for (size_t i = 0; i < record.stage_count && code >= 0; i++)
		code = read_stage(json_item(stages, i), &record.stages[i], err);
	if (code >= 0)
		*ret_record = record;
	return code;
}

struct stage_record *deployment_find_stage(const struct deployment_record *record, struct span id)
{
	for (size_t i = 0; i < record->stage_count; i++) {
		if (span_equal(record->stages[i].id, id))
			return &record->stages[i];
	}
	return NULL;
}

struct stage_record *deployment_next_stage(const struct deployment_record *record)
{
	for (size_t i = 0; i < record->stage_count; i++) {
		if (!record->stages[i].is_hidden &&
			!pipeline_stage_is_terminal(record->stages[i].state))
			return &record->stages[i];
	}
	return NULL;
}

struct stage_record *deployment_rollback_stage(const struct deployment_record *record)
{
	for (size_t i = 0; i < record->stage_count; i++) {
		if (record->stages[i].is_hidden && record->stages[i].kind == STAGE_ROLLBACK)
			return &record->stages[i];
	}
	return NULL;
}

/* ---- writing ---- */

static void set_text(struct arena *arena, struct json *object, const char *name, struct span text)
{
	if (text.length > 0)
		json_set_string(arena, object, name, text);
}

static void set_time(struct arena *arena, struct json *object, const char *name, int64_t time_ms)
{
	if (time_ms > 0)
		json_set_time(arena, object, name, time_ms);
}

static struct json *write_stage(const struct stage_record *stage, struct arena *arena)
{
	struct json *value = json_new_object(arena);

	json_set_string(arena, value, "id", stage->id);
	json_set_string(arena, value, "kind", span_of(stage_kind_name(stage->kind)));
	json_set_string(arena, value, "state", span_of(pipeline_stage_state_name(stage->state)));
	if (stage->is_hidden)
		json_set_bool(arena, value, "hidden", true);
	set_text(arena, value, "description", stage->description);
	set_text(arena, value, "note", stage->note);
	set_text(arena, value, "reason", stage->reason);
	set_time(arena, value, "startedAt", stage->started_ms);
	set_time(arena, value, "endedAt", stage->ended_ms);
	set_time(arena, value, "deadlineAt", stage->deadline_ms);
	json_set(arena, value, "details", stage->details);
	return value;
}

static struct json *write_document(const struct deployment_record *record, struct arena *arena)
{
	struct json *document = json_new_object(arena), *stages = json_new_array(arena);

	set_text(arena, document, "summary", record->summary);
	set_text(arena, document, "reason", record->reason);
	set_text(arena, document, "message", record->message);
	set_text(arena, document, "approvedBy", record->approved_by);
	json_set(arena, document, "changes", record->changes);
	json_set(arena, document, "warnings", record->warnings);
	for (size_t i = 0; i < record->stage_count; i++)
		json_append(arena, stages, write_stage(&record->stages[i], arena));
	json_set(arena, document, "stages", stages);
	return document;
}

int deployment_put(struct store_transaction *transaction, const struct deployment_record *record,
	struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);

	return deployment_put_facts(transaction, record->key,
		json_to_text(write_document(record, arena), arena), &record->facts,
		record->revision, err);
}

struct json *deployment_document(const struct deployment_record *record, struct arena *arena)
{
	static const char *const strategies[] = {"AUTOMATIC", "QUICK_SYNC", "PIPELINE"};
	const struct deployment_facts *facts = &record->facts;
	struct json *document = write_document(record, arena);
	struct span account, name;

	if (span_split(facts->application, '/', &account, &name))
		json_set_string(arena, document, "application", name);
	json_set_string(arena, document, "deploymentId", facts->id);
	json_set_integer(arena, document, "number", facts->number);
	json_set_string(arena, document, "state",
		span_of(pipeline_deployment_state_name(facts->state)));
	json_set_string(arena, document, "trigger",
		span_of(deployment_trigger_name(facts->trigger)));
	json_set_string(arena, document, "strategy", span_of(strategies[facts->strategy]));
	json_set_bool(arena, document, "planned", facts->is_planned);
	set_text(arena, document, "commit", facts->commit);
	set_text(arena, document, "createdBy", facts->created_by);
	set_text(arena, document, "region", facts->region);
	set_text(arena, document, "target", facts->target);
	set_text(arena, document, "flow", facts->flow);
	if (facts->starts_flow)
		json_set_string(arena, document, "startsFlow", facts->id);
	if (facts->order != DEPLOYMENT_ORDER_NONE)
		json_set_bool(arena, document, "cancelRequested", true);
	set_time(arena, document, "createdAt", facts->created_ms);
	set_time(arena, document, "startedAt", facts->started_ms);
	set_time(arena, document, "endedAt", facts->ended_ms);
	set_time(arena, document, "oldTasksKeptUntil", facts->kept_until_ms);
	return document;
}

/* ---- states ---- */

void deployment_set_state(struct deployment_record *record, enum pipeline_deployment_state state,
	int64_t now_ms)
{
	if (!pipeline_deployment_may_become(record->facts.state, state))
		abort();
	record->facts.state = state;
	if (record->facts.started_ms == 0)
		record->facts.started_ms = now_ms;
	record->facts.ended_ms = pipeline_deployment_is_terminal(state) ? now_ms : 0;
}

void stage_set_state(struct stage_record *stage, enum pipeline_stage_state state, int64_t now_ms)
{
	if (!pipeline_stage_may_become(stage->state, state))
		abort();
	stage->state = state;
	if (state == PIPELINE_STAGE_RUNNING)
		stage->started_ms = now_ms;
	stage->ended_ms = pipeline_stage_is_terminal(state) ? now_ms : 0;
}

/* ---- the log ---- */

int deployment_log(struct store_transaction *transaction, struct span deployment, struct span stage,
	struct span text, int64_t now_ms, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct json *line = json_new_object(arena);

	if (store_count(store_head(transaction), &deployment_log_kind, -1,
		    arena_format(arena, "%.*s/", SPAN_ARGS(deployment)),
		    false) >= DEPLOYMENT_LOG_MAX)
		return 0;
	json_set_time(arena, line, "time", now_ms);
	set_text(arena, line, "stage", stage);
	json_set_string(arena, line, "text", text);
	return store_put(transaction, &deployment_log_kind,
		deployment_line_key(transaction, deployment), json_to_text(line, arena), SPAN("{}"),
		STORE_ABSENT, err);
}
