/* See the header. */
#include "pipeline/deployments.h"

#include "base/id.h"
#include "base/memory.h"
#include "pipeline/origin.h"
#include "pipeline/source.h"

#define DELETED_AT_ONCE 1000 /* calls and log lines, in one transaction */

/* ---- starting ---- */

static int read_last_source(struct store_transaction *transaction,
	const struct store_object *application, struct deployment_source *ret_source,
	struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct application_facts *facts = application_facts(application);
	int code;

	if (facts->succeeded.length == 0)
		return err_set(err, -ENOENT,
			"no deployment of application %.*s has succeeded, and there are no files",
			SPAN_ARGS(facts->name));
	code = deployment_source_read(store_head(transaction),
		deployment_key(arena, application->key, facts->succeeded), arena, ret_source, err);
	ret_source->before = NULL;
	ret_source->changed = NULL;
	return code;
}

/* A deployment with everything that belongs to it, as much as fits in a transaction. 1: some of it is left. */
static int delete_deployment(struct store_transaction *transaction, struct span key,
	struct err *err)
{
	static const struct store_kind *const lines[] = {
		&deployment_call_kind, &deployment_log_kind};
	struct span prefix =
		arena_format(store_transaction_arena(transaction), "%.*s/", SPAN_ARGS(key));
	int left = DELETED_AT_ONCE;
	int code = 0;

	for (size_t i = 0; i < LENGTH(lines); i++) {
		const struct store_object *line;

		/* A cursor does not survive a change. */
		while ((line = store_next(&(struct store_cursor){.view = store_head(transaction),
				.kind = lines[i],
				.index = -1,
				.prefix = prefix}))) {
			if (left-- == 0)
				return 1;
			code = store_delete(transaction, lines[i], line->key, STORE_ANY, err);
			if (code < 0)
				return code;
		}
	}
	code = store_delete(transaction, &deployment_source_kind, key, STORE_ANY, err);
	return code < 0 && code != -ENOENT
		       ? code
		       : store_delete(transaction, &deployment_kind, key, STORE_ANY, err);
}

/* One is started at a time, so deleting one each time is enough. Plans are deleted before others. */
static int delete_oldest(struct store_transaction *transaction, struct span application,
	struct span succeeded, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct span prefix = arena_format(arena, "%.*s/", SPAN_ARGS(application));
	const struct store_view *head = store_head(transaction);
	struct store_cursor cursor = {.view = head,
		.kind = &deployment_kind,
		.index = DEPLOYMENT_BY_NUMBER,
		.prefix = prefix};
	const struct store_object *oldest = NULL, *object;

	if (store_count(head, &deployment_kind, -1, prefix, false) <
		APPLICATION_DEPLOYMENTS_KEPT +
			store_count(head, &deployment_kind, DEPLOYMENT_OPEN, prefix, false))
		return 0;
	while ((object = store_next(&cursor))) {
		const struct deployment_facts *facts = deployment_facts(object);
		bool is_plan = facts->trigger == DEPLOYMENT_TRIGGER_PLAN;

		if (!pipeline_deployment_is_terminal(facts->state) ||
			span_equal(facts->id, succeeded) || (oldest && !is_plan))
			continue;
		oldest = object;
		if (is_plan)
			break;
	}
	return oldest ? delete_deployment(transaction, arena_copy_span(arena, oldest->key), err)
		      : 0;
}

static int check_limits(const struct store_view *head, struct arena *arena,
	const struct deployment_request *request, bool is_new, struct err *err)
{
	struct span account = SPAN(""), name = SPAN("");
	struct span prefix = arena_format(arena, "%.*s/", SPAN_ARGS(request->application));

	span_split(request->application, '/', &account, &name);
	if (is_new && store_count(head, &application_kind, -1,
			      arena_format(arena, "%.*s/", SPAN_ARGS(account)),
			      false) >= APPLICATIONS_MAX)
		return err_set(err, -E2BIG, "too many applications (limit %d)", APPLICATIONS_MAX);
	if (store_count(head, &deployment_kind, DEPLOYMENT_OPEN, prefix, false) >=
		APPLICATION_DEPLOYMENTS_OPEN)
		return err_set(err, -EBUSY,
			"too many deployments of application %.*s are queued (limit %d)",
			SPAN_ARGS(name), APPLICATION_DEPLOYMENTS_OPEN);
	return 0;
}

static const struct store_object *find_by_token(const struct store_view *head, struct arena *arena,
	const struct deployment_request *request)
{
	return request->token.length == 0 ? NULL
					  : store_next(&(struct store_cursor){.view = head,
						    .kind = &deployment_kind,
						    .index = DEPLOYMENT_BY_TOKEN,
						    .prefix = arena_format(arena, "%.*s/%.*s",
							    SPAN_ARGS(request->application),
							    SPAN_ARGS(request->token)),
						    .exact = true});
}

static int put_application(struct store_transaction *transaction,
	const struct deployment_request *request, const struct store_object *application,
	struct application_facts *facts, struct err *err)
{
	facts->updated_ms = request->now_ms;
	facts->deployment_count++;
	if (!application)
		facts->created_ms = request->now_ms;
	return application_put(transaction, request->application,
		application ? application->api : SPAN("{}"), facts,
		application ? application->revision : STORE_ABSENT, err);
}

/* Whether the engine reads the files from Git. */
static bool must_fetch(const struct store_view *head, const struct deployment_request *request)
{
	return !request->files && request->trigger != DEPLOYMENT_TRIGGER_ROLLBACK &&
	       request->trigger != DEPLOYMENT_TRIGGER_OUT_OF_SYNC &&
	       store_get(head, &origin_kind, request->application);
}

static struct span first_text(struct span text, struct span otherwise)
{
	return text.length > 0 ? text : otherwise;
}

/* Where the deployment is made: as the request says, as the application was added, or as the last deployment that
 * succeeded. */
static void set_place(const struct store_view *head, struct arena *arena,
	const struct deployment_request *request, const struct application_facts *application,
	struct deployment_facts *facts)
{
	const struct store_object *origin = store_get(head, &origin_kind, request->application);
	const struct store_object *last =
		request->files ? NULL
			       : store_get(head, &deployment_kind,
					 deployment_key(arena, request->application,
						 application->succeeded));

	facts->must_fetch = must_fetch(head, request);
	if (facts->must_fetch) {
		facts->region = first_text(origin_facts(origin)->region, request->region);
		facts->target = first_text(origin_facts(origin)->target, request->target);
		facts->role = first_text(origin_facts(origin)->role, request->role);
		facts->commit = request->commit;
		return;
	}
	facts->region = last ? deployment_facts(last)->region : request->region;
	facts->target = last ? deployment_facts(last)->target : request->target;
	facts->role = last ? deployment_facts(last)->role : request->role;
	facts->commit = last && request->commit.length == 0 ? deployment_facts(last)->commit
							    : request->commit;
}

static int cancel_waiting(struct store_transaction *transaction,
	const struct deployment_request *request, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_view *head = store_head(transaction);
	struct store_cursor cursor = {.view = head,
		.kind = &deployment_kind,
		.index = DEPLOYMENT_OPEN,
		.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(request->application))};
	const struct store_object *object;
	struct field_list ids = {0};
	int code = 0;

	while ((object = store_next(&cursor))) {
		struct deployment_record record;
		const struct stage_record *stage;

		if (deployment_read(object, arena, &record, err) < 0)
			continue;
		stage = deployment_next_stage(&record);
		if (record.facts.state == PIPELINE_DEPLOYMENT_PENDING ||
			(stage && stage->kind == STAGE_WAIT_APPROVAL &&
				stage->state == PIPELINE_STAGE_RUNNING))
			*(struct span *)fields_append(arena, &ids, sizeof(struct span)) =
				arena_copy_span(arena, record.facts.id);
	}
	for (size_t i = 0; i < ids.count && code >= 0; i++)
		code = deployment_cancel(transaction, request->application,
			((struct span *)ids.items)[i], true, request->now_ms, err);
	return code;
}

int deployment_start(struct store_transaction *transaction,
	const struct deployment_request *request, struct span *ret_id, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_object *application = store_get(store_head(transaction),
					  &application_kind, request->application),
				  *same = find_by_token(store_head(transaction), arena, request);
	struct application_facts application_facts_now = {
		.current = SPAN(""), .succeeded = SPAN("")};
	struct deployment_source source = {.files = request->files,
		.application_file = request->application_file,
		.changed = request->changed,
		.flow_files = request->flow_files};
	struct deployment_record record = {.summary = SPAN(""),
		.reason = SPAN(""),
		.message = request->message,
		.approved_by = request->approved_by.data ? request->approved_by : SPAN(""),
		.revision = STORE_ABSENT};
	char id[ID_UUID_SIZE];
	int code;

	if (same) {
		*ret_id = deployment_facts(same)->id;
		return 0;
	}
	if (!application && !request->files)
		return err_set(err, -ENOENT, "the application does not exist");
	if (application)
		application_facts_now = *application_facts(application);
	if (application_facts_now.is_deleting)
		return err_set(err, -EALREADY, "application %.*s is being deleted",
			SPAN_ARGS(application_facts_now.name));
	code = check_limits(store_head(transaction), arena, request, !application, err);
	if (code >= 0 && !request->files && !must_fetch(store_head(transaction), request))
		code = read_last_source(transaction, application, &source, err);
	if (request->flow_files)
		source.flow_files = request->flow_files;
	if (code >= 0 && request->replaces_waiting)
		code = cancel_waiting(transaction, request, err);
	if (code >= 0)
		code = delete_oldest(transaction, request->application,
			application_facts_now.succeeded, err);
	if (code < 0)
		return code;
	set_place(store_head(transaction), arena, request, &application_facts_now, &record.facts);
	code = put_application(transaction, request, application, &application_facts_now, err);
	if (code < 0)
		return code;
	id_uuid(request->random, id);
	*ret_id = arena_copy_span(arena, span_of(id));
	record.key = deployment_key(arena, request->application, *ret_id);
	record.facts.number = application_facts_now.deployment_count;
	record.facts.trigger = request->trigger;
	record.facts.strategy = request->strategy;
	record.facts.created_by = request->created_by;
	record.facts.flow = request->flow;
	record.facts.flow_choice = request->flow_choice;
	record.facts.needs_approval = request->needs_approval;
	record.facts.wanted_digest = request->wanted_digest;
	record.facts.token = request->token;
	record.facts.created_ms = request->now_ms;
	code = deployment_put(transaction, &record, err);
	return code < 0 || record.facts.must_fetch
		       ? code
		       : deployment_source_put(transaction, record.key, &source, err);
}

/* ---- following ---- */

bool deployment_find_end(const struct store_view *view, struct span application, struct span id,
	struct arena *arena, struct deployment_end *ret_end)
{
	const struct store_object *object =
		store_get(view, &deployment_kind, deployment_key(arena, application, id));
	struct deployment_record record;

	if (!object || deployment_read(object, arena, &record, NULL) < 0)
		return false;
	*ret_end = (struct deployment_end){
		.has_ended = pipeline_deployment_is_terminal(record.facts.state),
		.state = record.facts.state,
		.reason = record.reason};
	return true;
}

struct span application_running_commit(const struct store_view *view, struct span application)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *object = store_get(view, &application_kind, application), *last;

	last = object ? store_get(view, &deployment_kind,
				deployment_key(arena, application,
					application_facts(object)->succeeded))
		      : NULL;
	return last ? deployment_facts(last)->commit : SPAN("");
}

bool application_has_live_state(const struct store_view *view, struct span application)
{
	const struct store_object *object = store_get(view, &application_kind, application);

	return object && application_facts(object)->has_service;
}

enum application_sync application_find_sync(const struct store_view *view, struct span application)
{
	const struct store_object *object = store_get(view, &application_kind, application),
				  *live = store_get(view, &live_state_kind, application);

	if (!object)
		return APPLICATION_SYNC_UNKNOWN;
	if (application_facts(object)->current.length > 0)
		return APPLICATION_DEPLOYING;
	/* A state that was read while a deployment ran says nothing about its end. */
	return live && live_facts(live)->sync != APPLICATION_DEPLOYING &&
			       span_equal(live_facts(live)->deployment,
				       application_facts(object)->succeeded)
		       ? live_facts(live)->sync
		       : APPLICATION_SYNC_UNKNOWN;
}

bool application_is_healthy(const struct store_view *view, struct span application)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *live = store_get(view, &live_state_kind, application);
	struct json *document;

	return live && json_parse(live->api, arena, &document, NULL) >= 0 &&
	       span_is(json_get_text(document, "health"), "HEALTHY");
}

/* ---- cancelling ---- */

int deployment_cancel(struct store_transaction *transaction, struct span application,
	struct span id, bool roll_back, int64_t now_ms, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_object *object = store_get(store_head(transaction), &deployment_kind,
		deployment_key(arena, application, id));
	struct deployment_record record;
	int code;

	if (!object)
		return err_set(err, -ENOENT, "the deployment does not exist");
	code = deployment_read(object, arena, &record, err);
	if (code < 0)
		return code;
	if (pipeline_deployment_is_terminal(record.facts.state))
		return err_set(err, -EALREADY, "the deployment has ended with %s",
			pipeline_deployment_state_name(record.facts.state));
	/* Nothing was done for it yet. */
	if (record.facts.state == PIPELINE_DEPLOYMENT_PENDING)
		deployment_set_state(&record, PIPELINE_DEPLOYMENT_CANCELLED, now_ms);
	else
		record.facts.order =
			roll_back ? DEPLOYMENT_ORDER_CANCEL_AND_ROLL_BACK : DEPLOYMENT_ORDER_CANCEL;
	return deployment_put(transaction, &record, err);
}

/* ---- a rollback that failed ---- */

static bool has_later_one(const struct store_view *head, struct span application,
	const struct deployment_facts *facts, struct arena *arena)
{
	struct store_cursor cursor = {.view = head,
		.kind = &deployment_kind,
		.index = DEPLOYMENT_BY_NUMBER,
		.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(application)),
		.descending = true};
	const struct store_object *object;

	while ((object = store_next(&cursor)) && deployment_facts(object)->number > facts->number)
		if (deployment_facts(object)->trigger != DEPLOYMENT_TRIGGER_PLAN &&
			deployment_facts(object)->started_ms > 0)
			return true;
	return false;
}

/* Without what was added when the rollback failed. */
static struct span first_reason(struct span reason)
{
	size_t length = sizeof(ROLLBACK_FAILED_TEXT) - 1;

	for (size_t i = 0; i + length <= reason.length; i++)
		if (memcmp(reason.data + i, ROLLBACK_FAILED_TEXT, length) == 0)
			return (struct span){reason.data, i};
	return reason;
}

int deployment_retry_rollback(struct store_transaction *transaction, struct span application,
	struct span id, int64_t now_ms, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_view *head = store_head(transaction);
	const struct store_object *object = store_get(head, &deployment_kind,
					  deployment_key(arena, application, id)),
				  *owner = store_get(head, &application_kind, application);
	struct application_facts facts;
	struct deployment_record record;
	struct stage_record *stage;
	int code;

	if (!object || !owner)
		return err_set(err, -ENOENT, "the deployment does not exist");
	code = deployment_read(object, arena, &record, err);
	if (code < 0)
		return code;
	facts = *application_facts(owner);
	stage = deployment_rollback_stage(&record);
	if (!pipeline_deployment_is_terminal(record.facts.state) || !stage ||
		stage->state != PIPELINE_STAGE_FAILURE)
		return err_set(err, -EALREADY, "it has no rollback that failed");
	if (facts.current.length > 0 || has_later_one(head, application, &record.facts, arena))
		return err_set(err, -EALREADY, "another deployment has begun since");
	record.reason = first_reason(record.reason);
	deployment_set_state(&record, PIPELINE_DEPLOYMENT_ROLLING_BACK, now_ms);
	stage_set_state(stage, PIPELINE_STAGE_RUNNING, now_ms);
	stage->reason = SPAN("");
	facts.current = record.facts.id;
	code = deployment_log(transaction, record.key, stage->id, SPAN("retried by a user"), now_ms,
		err);
	if (code >= 0)
		code = deployment_put(transaction, &record, err);
	return code < 0 ? code
			: application_put(transaction, application, owner->api, &facts,
				  owner->revision, err);
}

/* ---- rolling back a success ---- */

/* ID of the last deployment before this one that succeeded, and was not rolled back; "". */
static struct span find_succeeded_before(const struct store_view *head, struct span application,
	int64_t number, struct arena *arena)
{
	struct store_cursor cursor = {.view = head,
		.kind = &deployment_kind,
		.index = DEPLOYMENT_BY_NUMBER,
		.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(application)),
		.descending = true};
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		const struct deployment_facts *facts = deployment_facts(object);

		if (facts->number < number && facts->state == PIPELINE_DEPLOYMENT_SUCCESS &&
			facts->trigger != DEPLOYMENT_TRIGGER_PLAN)
			return arena_copy_span(arena, facts->id);
	}
	return SPAN("");
}

/* The hidden one of the plan; with autoRollback off it has none. */
static struct stage_record *rollback_stage(struct deployment_record *record, struct arena *arena)
{
	struct stage_record *stage = deployment_rollback_stage(record), *stages;

	if (stage)
		return stage;
	stages = arena_allocate_array(arena, record->stage_count + 1, sizeof(*stages));
	memcpy(stages, record->stages, record->stage_count * sizeof(*stages));
	stages[record->stage_count] = (struct stage_record){.id = SPAN("rollback"),
		.kind = STAGE_ROLLBACK,
		.is_hidden = true,
		.description = SPAN(""),
		.note = SPAN(""),
		.reason = SPAN("")};
	record->stages = stages;
	return &stages[record->stage_count++];
}

int deployment_roll_back(struct store_transaction *transaction, struct span application,
	struct span id, struct span user, int64_t now_ms, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_view *head = store_head(transaction);
	const struct store_object *object = store_get(head, &deployment_kind,
					  deployment_key(arena, application, id)),
				  *owner = store_get(head, &application_kind, application);
	struct application_facts facts;
	struct deployment_record record;
	struct stage_record *stage;
	int code;

	if (!object || !owner)
		return err_set(err, -ENOENT, "the deployment does not exist");
	code = deployment_read(object, arena, &record, err);
	if (code < 0)
		return code;
	facts = *application_facts(owner);
	if (record.facts.state != PIPELINE_DEPLOYMENT_SUCCESS ||
		record.facts.trigger == DEPLOYMENT_TRIGGER_PLAN)
		return err_set(err, -EALREADY, "only a deployment that succeeded is rolled back");
	if (record.facts.is_first)
		return err_set(err, -EALREADY, "first deployment, nothing to roll back to");
	if (facts.current.length > 0 || facts.is_deleting ||
		has_later_one(head, application, &record.facts, arena))
		return err_set(err, -EALREADY, "another deployment has begun since");
	stage = rollback_stage(&record, arena);
	record.reason = arena_format(arena, "rolled back by %.*s", SPAN_ARGS(user));
	record.facts.order = DEPLOYMENT_ORDER_CANCEL_AND_ROLL_BACK;
	record.facts.kept_until_ms = 0;
	deployment_set_state(&record, PIPELINE_DEPLOYMENT_ROLLING_BACK, now_ms);
	stage_set_state(stage, PIPELINE_STAGE_RUNNING, now_ms);
	facts.current = record.facts.id;
	facts.succeeded = find_succeeded_before(head, application, record.facts.number, arena);
	facts.kept = SPAN("");
	code = deployment_log(transaction, record.key, stage->id, record.reason, now_ms, err);
	if (code >= 0)
		code = deployment_put(transaction, &record, err);
	return code < 0 ? code
			: application_put(transaction, application, owner->api, &facts,
				  owner->revision, err);
}

/* ---- deleting ---- */

int application_delete(struct store_transaction *transaction, struct span application,
	struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_view *head = store_head(transaction);
	const struct store_object *object = store_get(head, &application_kind, application);
	struct application_facts facts;

	if (!object)
		return err_set(err, -ENOENT, "the application does not exist");
	if (store_count(head, &deployment_kind, DEPLOYMENT_OPEN,
		    arena_format(arena, "%.*s/", SPAN_ARGS(application)), false) > 0)
		return err_set(err, -EBUSY,
			"application %.*s has a deployment that has not ended; cancel it first",
			SPAN_ARGS(application_facts(object)->name));
	facts = *application_facts(object);
	facts.is_deleting = true;
	return application_put(transaction, application, object->api, &facts, object->revision,
		err);
}

int application_delete_step(struct store_transaction *transaction, struct span application,
	struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_object *deployment =
		store_next(&(struct store_cursor){.view = store_head(transaction),
			.kind = &deployment_kind,
			.index = -1,
			.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(application))});
	int code;

	if (!deployment) {
		static const struct store_kind *const beside[] = {&live_state_kind, &origin_kind};

		for (size_t i = 0; i < LENGTH(beside); i++) {
			code = store_delete(transaction, beside[i], application, STORE_ANY, err);
			if (code < 0 && code != -ENOENT)
				return code;
		}
		return store_delete(transaction, &application_kind, application, STORE_ANY, err);
	}
	code = delete_deployment(transaction, arena_copy_span(arena, deployment->key), err);
	return code < 0 ? code : 1;
}
