/* See the header. */
#include "pipeline/steps.h"

#include "base/memory.h"
#include "delivery/approval.h"
#include "pipeline/difference.h"
#include "pipeline/stage_run.h"
#include "pipeline/trigger.h"

/* ---- ends ---- */

static void end(struct deployment_pass *pass, enum pipeline_deployment_state state,
	struct span reason)
{
	struct deployment_record *record = &pass->deployment;

	for (size_t i = 0; i < record->stage_count; i++) {
		struct stage_record *stage = &record->stages[i];

		if (!pipeline_stage_is_terminal(stage->state) && !stage->is_hidden)
			stage_set_state(stage, PIPELINE_STAGE_CANCELLED, pass->now_ms);
	}
	deployment_set_state(record, state, pass->now_ms);
	stage_end_jobs(pass);
	if (reason.length > 0)
		record->reason = reason;
	pass_log(pass, SPAN(""), "the deployment has ended: %s%s%.*s",
		pipeline_deployment_state_name(state), reason.length > 0 ? ", " : "",
		SPAN_ARGS(reason));
	if (record->facts.trigger == DEPLOYMENT_TRIGGER_PLAN)
		return;
	pass->application_facts.current = SPAN("");
	if (state == PIPELINE_DEPLOYMENT_SUCCESS)
		pass->application_facts.succeeded = record->facts.id;
	pass->put_application = true;
}

int steps_refuse(struct deployment_pass *pass, struct span reason, struct err *err)
{
	if (pass->deployment.facts.state == PIPELINE_DEPLOYMENT_PENDING)
		deployment_set_state(&pass->deployment, PIPELINE_DEPLOYMENT_RUNNING, pass->now_ms);
	end(pass, PIPELINE_DEPLOYMENT_FAILURE, reason);
	return pass_write(pass, err);
}

static bool is_cancelled(const struct deployment_pass *pass)
{
	return pass->deployment.facts.order != DEPLOYMENT_ORDER_NONE;
}

/* ---- planning ---- */

static struct json *text_or_value(struct arena *arena, const struct json *value)
{
	return json_is(value, JSON_STRING) ? json_new_string(arena, value->text)
					   : json_new_string(arena, json_to_text(value, arena));
}

static const struct json *write_changes(const struct plan *plan, struct arena *arena)
{
	const struct difference *changes = plan->changes.items;
	struct json *list = json_new_array(arena);

	for (size_t i = 0; i < plan->changes.count; i++) {
		struct json *change = json_new_object(arena);

		json_set_string(arena, change, "path", changes[i].path);
		if (changes[i].before)
			json_set(arena, change, "before", text_or_value(arena, changes[i].before));
		if (changes[i].after)
			json_set(arena, change, "after", text_or_value(arena, changes[i].after));
		json_append(arena, list, change);
	}
	return list;
}

static void add_notes(struct arena *arena, struct json *list, struct span file,
	const struct field_list *notes)
{
	const struct field_note *items = notes->items;

	for (size_t i = 0; i < notes->count; i++)
		json_append(arena, list,
			json_new_format(arena, "%.*s:%u: %.*s", SPAN_ARGS(file), items[i].line,
				SPAN_ARGS(items[i].text)));
}

static const struct json *write_warnings(const struct deployment_pass *pass,
	const struct plan *plan)
{
	const struct bundle *bundle = &pass->bundle;
	const struct application *application = bundle->application;
	struct json *list = json_new_array(pass->arena);

	add_notes(pass->arena, list, application->file, &application->warnings);
	add_notes(pass->arena, list, application->input.task_definition_file,
		&bundle->task.warnings);
	add_notes(pass->arena, list, application->input.service_definition_file,
		&bundle->service.warnings);
	for (size_t i = 0; i < plan->warnings.count; i++)
		json_append(pass->arena, list,
			json_new_string(pass->arena, ((struct span *)plan->warnings.items)[i]));
	return list;
}

/* Of the stages that the planner adds. */
static struct span own_stage_id(enum stage_kind kind)
{
	switch (kind) {
	case STAGE_ECS_SYNC: return SPAN("sync");
	case STAGE_WAIT_APPROVAL: return SPAN("flow-approval");
	case STAGE_POST_SYNC: return SPAN("post-sync");
	default: return SPAN("rollback");
	}
}

static void write_stages(struct deployment_pass *pass, const struct plan *plan)
{
	const struct plan_stage *planned = plan->stages.items;
	struct deployment_record *record = &pass->deployment;

	record->stage_count = plan->stages.count;
	record->stages =
		arena_allocate_array(pass->arena, plan->stages.count + 1, sizeof(*record->stages));
	for (size_t i = 0; i < plan->stages.count; i++) {
		const struct stage *stage = planned[i].stage;
		struct span description = stage ? stage->description : SPAN("");

		record->stages[i] = (struct stage_record){.kind = planned[i].kind,
			.is_hidden = planned[i].is_hidden,
			.id = stage ? stage->id : own_stage_id(planned[i].kind),
			.description = description.data ? description : SPAN(""),
			.note = planned[i].note,
			.reason = SPAN("")};
	}
}

static struct live_service live_of(const struct json *before)
{
	return (struct live_service){.exists = json_get_bool(before, "exists", false),
		.is_external = json_get_bool(before, "isExternal", false),
		.desired_count = json_get_integer(before, "desiredCount", 0),
		.service = json_get(before, "service"),
		.definition = json_get(before, "definition"),
		.has_foreign_canary = json_get_bool(before, "foreignCanary", false)};
}

/* Why a stage cannot be run here; "": it can. */
static struct span check_stage(const struct deployment_pass *pass, const struct stage_record *stage)
{
	const struct stage *configured = stage_find_configured(pass, stage);
	const struct pipeline_settings *settings = pass->config->settings;

	if (!stage_function_of(stage->kind))
		return arena_format(pass->arena, "slipway cannot run stages of kind %s yet",
			stage_kind_name(stage->kind));
	if (stage->kind == STAGE_SCRIPT_RUN && !(settings && settings->allows_scripts))
		return SPAN("scripts are off; pipelines.scripts of the server's configuration "
			    "allows them");
	return stage->kind == STAGE_ANALYSIS && configured
		       ? stage_check_analysis(pass, &configured->options)
		       : SPAN("");
}

static struct span first_refused_stage(const struct deployment_pass *pass)
{
	for (size_t i = 0; i < pass->deployment.stage_count; i++) {
		const struct stage_record *stage = &pass->deployment.stages[i];
		struct span reason = check_stage(pass, stage);

		if (reason.length > 0)
			return arena_format(pass->arena, "stage %.*s: %.*s", SPAN_ARGS(stage->id),
				SPAN_ARGS(reason));
	}
	return SPAN_NONE;
}

/* Everything that an approval of the plan is about. */
static struct span digest_plan(const struct deployment_pass *pass)
{
	const struct deployment_record *record = &pass->deployment;
	_buffer_ struct buffer stages = {0};
	char digest[APPROVAL_DIGEST_SIZE];

	for (size_t i = 0; i < record->stage_count; i++)
		buffer_format(&stages, "%s %.*s\n", stage_kind_name(record->stages[i].kind),
			SPAN_ARGS(record->stages[i].id));
	{
		const struct span texts[] = {record->facts.commit, pass->source.application_file,
			json_to_text(pass->source.files, pass->arena),
			json_to_text(record->changes, pass->arena), buffer_span(&stages)};

		approval_digest(texts, LENGTH(texts), digest);
	}
	return arena_copy_span(pass->arena, span_of(digest));
}

/* Facts about the application for those that do not read its file. */
static void note_application(struct deployment_pass *pass)
{
	const struct application *application = pass->bundle.application;
	const struct field_pair *labels = application->labels.items;
	struct json *document = json_new_object(pass->arena), *pairs = json_new_object(pass->arena);

	for (size_t i = 0; i < application->labels.count; i++)
		json_set_string(pass->arena, pairs,
			arena_copy(pass->arena, labels[i].name.data, labels[i].name.length),
			labels[i].value);
	json_set(pass->arena, document, "labels", pairs);
	pass->application_facts.kind = application->kind;
	pass->application_facts.is_off_flow = !application->trigger.on_flow;
	pass->application_facts.is_on_chain = application->trigger.on_chain;
	pass->application_facts.has_service = pass->bundle.has_service;
	pass->application_api = json_to_text(document, pass->arena);
	pass->put_application = true;
}

/* The flow that the deployment starts, or that has ordered it. */
static int plan_flows(struct deployment_pass *pass, struct err *err)
{
	struct deployment_record *record = &pass->deployment;
	int code = post_sync_is_wanted(pass) ? post_sync_prepare(pass, err) : 0;

	if (code == -EINVAL)
		return steps_refuse(pass, arena_copy_span(pass->arena, span_of(err->message)), err);
	if (code < 0)
		return code;
	if (record->facts.flow_choice == DEPLOYMENT_FLOW_ON && !pass->bundle.application->flow)
		return steps_refuse(pass, SPAN("the application file has no spec.postSync.flow"),
			err);
	record->facts.digest = digest_plan(pass);
	if (record->facts.wanted_digest.length > 0 &&
		!span_equal(record->facts.wanted_digest, record->facts.digest)) {
		record->facts.is_stale = true;
		return steps_refuse(pass, SPAN("the plan is not the one that was approved"), err);
	}
	if (record->facts.needs_approval && record->facts.trigger != DEPLOYMENT_TRIGGER_PLAN) {
		stage_set_state(&record->stages[0], PIPELINE_STAGE_RUNNING, pass->now_ms);
		stage_set_state(&record->stages[0], PIPELINE_STAGE_SUCCESS, pass->now_ms);
		record->stages[0].reason =
			arena_format(pass->arena, "approved by %.*s in flow %.*s",
				SPAN_ARGS(record->approved_by), SPAN_ARGS(record->facts.flow));
	}
	return 0;
}

static int plan(struct deployment_pass *pass, struct err *err)
{
	struct deployment_record *record = &pass->deployment;
	struct live_service live;
	struct plan_input input = {.application = pass->bundle.application,
		.task = pass->bundle.has_task ? &pass->bundle.task : NULL,
		.service = pass->bundle.has_service ? &pass->bundle.service : NULL,
		.live = &live,
		.forced = record->facts.strategy,
		.commit_message = record->message,
		.needs_approval = record->facts.needs_approval,
		.starts_flow = post_sync_is_wanted(pass)};
	struct plan made;
	int code = observed_read_before(pass, &pass->source.before, err);

	if (code >= 0)
		code = observed_read_ttl(pass, &record->facts.record_ttl_ms, &input.has_weights,
			err);
	/* The endpoint refuses: the same plan would fail again. */
	if (code == -EREMOTEIO && pass->failure.status < 500 &&
		!aws_call_was_throttled(&pass->failure))
		return steps_refuse(pass,
			arena_format(pass->arena, "planning: %s: %s", pass->failure.type,
				pass->failure.message),
			err);
	if (code < 0)
		return code;
	live = live_of(pass->source.before);
	plan_make(&input, pass->arena, &made);
	write_stages(pass, &made);
	if (!made.refusal.data)
		made.refusal = first_refused_stage(pass);
	record->facts.is_planned = true;
	record->facts.is_first = made.is_first;
	record->facts.strategy = made.strategy;
	record->summary = made.reason;
	record->changes = write_changes(&made, pass->arena);
	record->warnings = write_warnings(pass, &made);
	pass->must_write_source = true;
	pass_log(pass, SPAN(""), "planned %s: %.*s",
		made.strategy == PLAN_PIPELINE ? "the pipeline" : "quick sync",
		SPAN_ARGS(made.reason));
	if (record->facts.trigger != DEPLOYMENT_TRIGGER_PLAN)
		note_application(pass);
	if (made.refusal.data)
		return steps_refuse(pass, made.refusal, err);
	code = plan_flows(pass, err);
	if (code < 0 || pipeline_deployment_is_terminal(record->facts.state))
		return code;
	if (record->facts.trigger == DEPLOYMENT_TRIGGER_PLAN) {
		deployment_set_state(record, PIPELINE_DEPLOYMENT_RUNNING, pass->now_ms);
		end(pass, PIPELINE_DEPLOYMENT_SUCCESS, SPAN(""));
	}
	return pass_write(pass, err);
}

/* ---- stages ---- */

const struct stage *stage_find_configured(const struct deployment_pass *pass,
	const struct stage_record *stage)
{
	const struct stage *stages = application_stages(pass->bundle.application);

	for (size_t i = 0; i < pass->bundle.application->stages.count; i++) {
		if (span_equal(stages[i].id, stage->id) && stages[i].kind == stage->kind)
			return &stages[i];
	}
	return NULL;
}

/* Also for stages that the deployment never came to: their calls may have been made. */
static bool has_changed_anything(const struct deployment_pass *pass)
{
	for (size_t i = 0; i < pass->deployment.stage_count; i++) {
		const struct stage_record *stage = &pass->deployment.stages[i];

		if (stage->kind == STAGE_SCRIPT_RUN && stage->details)
			return true;
	}
	return pass->calls.count > 0;
}

static bool rolls_back(const struct deployment_pass *pass)
{
	if (!deployment_rollback_stage(&pass->deployment) || !has_changed_anything(pass))
		return false;
	return !pass->deployment.facts.is_first ||
	       !pass->bundle.application->input.keep_failed_first_deploy;
}

/* After a stage failed or the deployment was cancelled. */
static void turn_back(struct deployment_pass *pass, struct span reason, bool roll_back)
{
	struct deployment_record *record = &pass->deployment;
	enum pipeline_deployment_state state =
		is_cancelled(pass) ? PIPELINE_DEPLOYMENT_CANCELLED : PIPELINE_DEPLOYMENT_FAILURE;

	if (!roll_back) {
		end(pass, state, reason);
		return;
	}
	record->reason = reason;
	deployment_set_state(record, PIPELINE_DEPLOYMENT_ROLLING_BACK, pass->now_ms);
	stage_set_state(deployment_rollback_stage(record), PIPELINE_STAGE_RUNNING, pass->now_ms);
	pass_log(pass, SPAN(""), "rolling back: %.*s", SPAN_ARGS(reason));
}

static void fail_stage(struct deployment_pass *pass, struct stage_record *stage, struct span reason)
{
	stage_set_state(stage, PIPELINE_STAGE_FAILURE, pass->now_ms);
	stage->reason = reason;
	pass_log(pass, stage->id, "failed: %.*s", SPAN_ARGS(reason));
	turn_back(pass,
		arena_format(pass->arena, "stage %.*s failed: %.*s", SPAN_ARGS(stage->id),
			SPAN_ARGS(reason)),
		rolls_back(pass));
}

static int begin_stage(struct deployment_pass *pass, struct stage_record *stage, struct err *err)
{
	const struct stage *configured = stage_find_configured(pass, stage);
	struct field_list changed = {0};

	stage_end_jobs(pass);
	JSON_EACH_ITEM (pass->source.changed, path)
		*(struct span *)fields_append(pass->arena, &changed, sizeof(struct span)) =
			json_text(path);
	if (configured && trigger_skips_stage(&configured->options.skip_on,
				  pass->deployment.message, &changed)) {
		stage_set_state(stage, PIPELINE_STAGE_SKIPPED, pass->now_ms);
		stage->reason = SPAN("skipOn applies to the commit");
		pass_log(pass, stage->id, "skipped: %.*s", SPAN_ARGS(stage->reason));
		return pass_write(pass, err);
	}
	stage_set_state(stage, PIPELINE_STAGE_RUNNING, pass->now_ms);
	if (stage->kind == STAGE_ECS_TRAFFIC_ROUTING && configured)
		pass->deployment.facts.canary_percent = configured->options.canary;
	if (stage->kind == STAGE_WAIT_APPROVAL && configured)
		stage_begin_approval(pass, stage, &configured->options);
	pass_log(pass, stage->id, "started %s", stage_kind_name(stage->kind));
	return pass_write(pass, err);
}

/* When the time of the stage, or of the deployment, is over. */
static int64_t timeout_at(const struct deployment_pass *pass, const struct stage_record *stage)
{
	const struct stage *configured = stage_find_configured(pass, stage);
	int64_t own_ms = configured ? configured->timeout_ms : 0;
	/* A rollback has the time of a deployment again. */
	int64_t at_ms = (stage->kind == STAGE_ROLLBACK ? stage->started_ms
						       : pass->deployment.facts.started_ms) +
			pass->bundle.application->timeout_ms;

	return own_ms > 0 && stage->started_ms + own_ms < at_ms ? stage->started_ms + own_ms
								: at_ms;
}

static bool has_timed_out(const struct deployment_pass *pass, const struct stage_record *stage)
{
	return pass->now_ms >= timeout_at(pass, stage);
}

static void note_reason(struct deployment_pass *pass, struct stage_record *stage,
	struct span reason)
{
	if (span_equal(stage->reason, reason))
		return;
	stage->reason = reason;
	pass->must_write = true;
	if (reason.length > 0)
		pass_log(pass, stage->id, "%.*s", SPAN_ARGS(reason));
}

/* One step of a stage that runs. *ret_done: the stage is over in a good way. */
static int run_stage(struct deployment_pass *pass, struct stage_record *stage,
	struct stage_step *ret_step, struct err *err)
{
	const struct stage *configured = stage_find_configured(pass, stage);
	stage_function run = stage_function_of(stage->kind);
	int code;

	*ret_step = (struct stage_step){.progress = STAGE_GOES_ON, .reason = SPAN("")};
	code = run(pass, stage, configured ? &configured->options : NULL, ret_step, err);
	if (code == -EREMOTEIO) {
		ret_step->reason = arena_format(pass->arena, "%s: %s", pass->failure.type,
			pass->failure.message);
		ret_step->wake_ms = pass->now_ms + pass->poll_ms;
		code = 0;
	}
	if (code < 0)
		return code;
	if (ret_step->progress == STAGE_GOES_ON) {
		note_reason(pass, stage, ret_step->reason);
		pass_again_at(pass,
			ret_step->wake_ms > 0 ? ret_step->wake_ms : pass->now_ms + pass->poll_ms);
		pass_again_at(pass, timeout_at(pass, stage));
	}
	return 0;
}

/* A read that failed at the endpoint is repeated by a later pass. */
static int retry_read(struct deployment_pass *pass, int code)
{
	if (code != -EREMOTEIO)
		return code;
	pass_again_at(pass, pass->now_ms + pass->poll_ms);
	return 0;
}

static int step_stage(struct deployment_pass *pass, struct stage_record *stage, struct err *err)
{
	struct stage_step step;
	int code;

	if (stage->state == PIPELINE_STAGE_NOT_STARTED)
		return begin_stage(pass, stage, err);
	if (has_timed_out(pass, stage)) {
		code = stage_end_task(pass, stage, err);
		if (code < 0)
			return retry_read(pass, code);
		fail_stage(pass, stage,
			arena_format(pass->arena, "Timed out while executing stage %.*s",
				SPAN_ARGS(stage->id)));
		return pass_write(pass, err);
	}
	code = run_stage(pass, stage, &step, err);
	if (code < 0)
		return code;
	switch (step.progress) {
	case STAGE_GOES_ON:
		return pass->must_write || pass->lines.count > 0 ? pass_write(pass, err) : 0;
	case STAGE_DONE:
	case STAGE_SKIPS:
		stage_set_state(stage,
			step.progress == STAGE_DONE ? PIPELINE_STAGE_SUCCESS
						    : PIPELINE_STAGE_SKIPPED,
			pass->now_ms);
		stage->reason = step.reason;
		pass_log(pass, stage->id, "%s%s%.*s",
			step.progress == STAGE_DONE ? "succeeded" : "skipped",
			step.reason.length > 0 ? ": " : "", SPAN_ARGS(step.reason));
		break;
	case STAGE_FAILS: fail_stage(pass, stage, step.reason); break;
	}
	return pass_write(pass, err);
}

/* ---- deployments ---- */

static int step_rollback(struct deployment_pass *pass, struct err *err)
{
	struct stage_record *stage = deployment_rollback_stage(&pass->deployment);
	enum pipeline_deployment_state state =
		is_cancelled(pass) ? PIPELINE_DEPLOYMENT_CANCELLED : PIPELINE_DEPLOYMENT_FAILURE;
	struct stage_step step = {.progress = STAGE_FAILS, .reason = SPAN("timed out")};
	struct span reason = pass->deployment.reason;
	int code = has_timed_out(pass, stage) ? 0 : run_stage(pass, stage, &step, err);

	if (code >= 0 && step.progress == STAGE_DONE) {
		code = stage_run_rollback_scripts(pass, stage, &step, err);
		if (step.progress == STAGE_GOES_ON)
			pass_again_at(pass, step.wake_ms);
	}
	if (code < 0)
		return code;
	if (step.progress == STAGE_GOES_ON)
		return pass->must_write || pass->lines.count > 0 ? pass_write(pass, err) : 0;
	stage->reason = step.reason;
	if (step.progress == STAGE_FAILS) {
		stage_set_state(stage, PIPELINE_STAGE_FAILURE, pass->now_ms);
		reason = arena_format(pass->arena, "%.*s" ROLLBACK_FAILED_TEXT "%.*s",
			SPAN_ARGS(reason), SPAN_ARGS(step.reason));
		pass_log(pass, stage->id, "failed: %.*s", SPAN_ARGS(step.reason));
	} else {
		stage_set_state(stage, PIPELINE_STAGE_SUCCESS, pass->now_ms);
		pass_log(pass, stage->id, "succeeded");
		if (pass->deployment.facts.is_first)
			reason = arena_format(pass->arena,
				"%.*s; first deployment, nothing to roll back to",
				SPAN_ARGS(reason));
	}
	end(pass, state, reason);
	return pass_write(pass, err);
}

static int cancel(struct deployment_pass *pass, struct err *err)
{
	struct stage_record *stage = deployment_next_stage(&pass->deployment);
	bool roll_back = pass->deployment.facts.order == DEPLOYMENT_ORDER_CANCEL_AND_ROLL_BACK &&
			 rolls_back(pass);

	int code = stage && stage->state == PIPELINE_STAGE_RUNNING
			   ? stage_end_task(pass, stage, err)
			   : 0;

	if (code < 0)
		return retry_read(pass, code);
	if (stage) {
		stage_set_state(stage, PIPELINE_STAGE_CANCELLED, pass->now_ms);
		pass_log(pass, stage->id, "cancelled");
	}
	turn_back(pass, SPAN("cancelled by a user"), roll_back);
	return pass_write(pass, err);
}

/* Was the old primary replaced, and may a rollback want it? */
static void keep_old(struct deployment_pass *pass)
{
	struct deployment_facts *facts = &pass->deployment.facts;

	/* Its answer may have been lost. */
	if (!stage_keeps_old(pass) ||
		!calls_was_sent(pass, "UpdateServicePrimaryTaskSet", SPAN("primary")) ||
		calls_find_done(pass, "DeleteTaskSet", SPAN("old")))
		return;
	facts->kept_until_ms = pass->now_ms + pass->bundle.application->input.keep_old_ms;
	pass->application_facts.kept = facts->id;
	pass_log(pass, SPAN(""), "the old tasks are kept for a rollback, without traffic");
}

int steps_keep(struct deployment_pass *pass, bool is_over, struct err *err)
{
	struct stage_step step = {.reason = SPAN("")};
	int code = stage_keep_old(pass, is_over, &step, err);

	if (code < 0)
		return code == -EREMOTEIO ? err_set(err, -EIO, "%s: %s", pass->failure.type,
						    pass->failure.message)
					  : code;
	if (step.progress == STAGE_GOES_ON) {
		pass_again_at(pass, step.wake_ms > 0 ? step.wake_ms : pass->now_ms + pass->poll_ms);
		return 0;
	}
	if (step.progress == STAGE_DONE && !is_over)
		return 0;
	/* A set that cannot be deleted is left to the next deployment. */
	pass_log(pass, SPAN(""), "%s%.*s",
		step.progress == STAGE_DONE ? "the old tasks are no longer kept"
					    : "the old tasks could not be deleted: ",
		SPAN_ARGS(step.reason));
	pass->deployment.facts.kept_until_ms = 0;
	pass->application_facts.kept = SPAN("");
	pass->put_application = true;
	return pass_write(pass, err);
}

static int finish(struct deployment_pass *pass, struct err *err)
{
	struct stage_step step = {.reason = SPAN("")};
	int code = stage_end_ecs(pass, &step, err);

	if (code < 0)
		return code == -EREMOTEIO ? err_set(err, -EIO, "%s: %s", pass->failure.type,
						    pass->failure.message)
					  : code;
	if (step.progress == STAGE_GOES_ON) {
		pass_again_at(pass, step.wake_ms > 0 ? step.wake_ms : pass->now_ms + pass->poll_ms);
		return 0;
	}
	if (step.progress == STAGE_DONE)
		keep_old(pass);
	end(pass,
		step.progress == STAGE_DONE ? PIPELINE_DEPLOYMENT_SUCCESS
					    : PIPELINE_DEPLOYMENT_FAILURE,
		step.reason);
	return pass_write(pass, err);
}

static int begin(struct deployment_pass *pass, struct err *err)
{
	deployment_set_state(&pass->deployment, PIPELINE_DEPLOYMENT_RUNNING, pass->now_ms);
	pass->application_facts.current = pass->deployment.facts.id;
	pass->put_application = true;
	return pass_write(pass, err);
}

int steps_run(struct deployment_pass *pass, struct err *err)
{
	struct deployment_record *record = &pass->deployment;
	struct stage_record *stage;

	if (record->facts.trigger == DEPLOYMENT_TRIGGER_PLAN)
		return plan(pass, err);
	if (record->facts.state == PIPELINE_DEPLOYMENT_PENDING)
		return begin(pass, err);
	if (record->facts.state == PIPELINE_DEPLOYMENT_ROLLING_BACK)
		return step_rollback(pass, err);
	if (is_cancelled(pass))
		return cancel(pass, err);
	if (!record->facts.is_planned)
		return plan(pass, err);
	stage = deployment_next_stage(record);
	return stage ? step_stage(pass, stage, err) : finish(pass, err);
}
