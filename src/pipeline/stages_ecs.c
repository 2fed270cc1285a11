/* The stages of ECS: observe the service, decide (decide.h), carry the decided calls out; see stage_run.h. */
#include "base/memory.h"
#include "pipeline/describe.h"
#include "pipeline/git_output.h"
#include "pipeline/stage_run.h"

#define CREATION_KNOWN_MS 30000 /* an unanswered call that created nothing until then is lost */
#define LOGGED_TASKS_MAX 5
#define LOGGED_LINES_MAX 5      /* of each container */
#define FAILED_OPERATIONS_MAX 5 /* of Cloud Map, in a rollback */

static bool starts_tasks(enum stage_kind kind)
{
	return kind == STAGE_ECS_SYNC || kind == STAGE_ECS_CANARY_ROLLOUT ||
	       kind == STAGE_ECS_PRIMARY_ROLLOUT;
}

bool stage_keeps_old(const struct deployment_pass *pass)
{
	const struct application_input *input = &pass->bundle.application->input;
	const struct json *before = pass->source.before, *set = json_get(before, "taskSet");
	struct span network = json_text(json_path(before, "definition.networkMode")),
		    group = json_text(json_path(json_item(json_get(set, "loadBalancers"), 0),
			    "targetGroupArn"));

	if (input->keep_old_ms == 0 || !pass->bundle.has_service || !set ||
		!pass->bundle.service.is_external)
		return false;
	if (!(input->access & ACCESS_ELB) || input->primary_group.arn.length == 0)
		return true;
	/* Its targets must be known by their addresses. */
	return network.data && span_is(network, "awsvpc") && group.data &&
	       span_equal(group, input->primary_group.arn);
}

static struct delivery make_delivery(const struct deployment_pass *pass, enum stage_kind kind,
	const struct stage_options *options)
{
	const struct application *application = pass->bundle.application;
	const struct json *before = pass->source.before;
	struct delivery delivery = {.variant = pass->bundle.service.is_external ? DELIVERY_TASK_SETS
										: DELIVERY_SERVICES,
		.access = application->input.access,
		.record_ttl_ms = pass->deployment.facts.record_ttl_ms,
		.canary_percent = pass->deployment.facts.canary_percent,
		.is_first = pass->deployment.facts.is_first,
		.desired_count = pass->bundle.service.desired_count,
		.bug = pass->config->bug};

	if (delivery.desired_count == DESIRED_COUNT_UNCHANGED || kind == STAGE_ROLLBACK)
		delivery.desired_count = json_get_integer(before, "desiredCount", 0);
	if (kind == STAGE_ECS_SYNC)
		delivery.recreate =
			!delivery.is_first && (options ? options->recreate : application->recreate);
	delivery.keeps_old = !delivery.recreate && stage_keeps_old(pass);
	/* A rollback restores the number of tasks that the deployment has changed. */
	if (kind == STAGE_ROLLBACK)
		delivery.recreate =
			calls_find_done(pass, "UpdateService", SPAN("count of primary")) ||
			calls_find_done(pass, "UpdateService", SPAN("count of old"));
	return delivery;
}

/* ---- services ---- */

static int carry(struct deployment_pass *pass, const struct observed *observed, struct span stage,
	const struct decision *decision, struct stage_step *ret_step, struct err *err)
{
	enum carried carried;
	struct span reason;
	int code;

	switch (decision->kind) {
	case DECISION_DONE: ret_step->progress = STAGE_DONE; return 0;
	case DECISION_FAIL: stage_fail(ret_step, decision->reason); return 0;
	case DECISION_WAIT:
		ret_step->reason = decision->reason;
		ret_step->wake_ms = decision->wake_ms;
		return 0;
	case DECISION_CALL: break;
	}
	code = carry_out_calls(pass, observed, stage, decision, &carried, &reason, err);
	if (code >= 0 && carried == CARRIED_FAILED)
		stage_fail(ret_step, reason);
	ret_step->wake_ms = pass->again_ms;
	return code;
}

/* The first deployment has nothing to return to: what it created goes. */
static int delete_first_service(struct deployment_pass *pass, struct span stage,
	const struct observed *observed, struct stage_step *ret_step, struct err *err)
{
	static const char *const gone[] = {
		"ServiceNotFoundException", "ServiceNotActiveException", NULL};
	struct pending_call call = {.service = ECS,
		.operation = "DeleteService",
		.role = SPAN("primary"),
		.target = pass->bundle.service.name,
		.request = json_new_object(pass->arena),
		.done_errors = gone,
		.attributes = SPAN("")};
	struct outcall_result result;
	int code;

	if (!pass->deployment.facts.is_first || !observed->service ||
		!calls_find_done(pass, "CreateService", SPAN("primary")) ||
		calls_find_done(pass, "DeleteService", SPAN("primary")))
		return 0;
	json_set_string(pass->arena, call.request, "cluster", pass->cluster);
	json_set_string(pass->arena, call.request, "service", call.target);
	json_set_bool(pass->arena, call.request, "force", true);
	code = calls_send(pass, stage, &call, &result, err);
	if (code >= 0 && result.outcome == OUTCALL_REFUSED)
		stage_fail(ret_step, result.reason);
	else if (code >= 0 && result.outcome == OUTCALL_UNKNOWN)
		ret_step->progress = STAGE_GOES_ON;
	return code;
}

/* A canary gets no traffic any more, and then it goes. */
static void decide_removal(struct deployment_pass *pass, const struct delivery *delivery,
	const struct observed *observed, struct decision *ret_decision)
{
	static const struct stage_options none;

	decide_stage(delivery, STAGE_ECS_TRAFFIC_ROUTING, &none, &observed->snapshot, pass->arena,
		ret_decision);
	if (ret_decision->kind == DECISION_DONE)
		decide_stage(delivery, STAGE_ECS_CANARY_CLEAN, &none, &observed->snapshot,
			pass->arena, ret_decision);
}

/* A set whose creation was not answered may still appear. Before it is known, nothing is rolled back for good. */
static bool waits_for_creation(const struct deployment_pass *pass, struct stage_step *ret_step)
{
	static const char *const operations[] = {"CreateTaskSet", "CreateService"};

	for (size_t i = 0; i < LENGTH(operations); i++) {
		const struct journalled_call *call =
			calls_find_unanswered(pass, operations[i], SPAN(""));

		if (!call || call->record.intent_ms + CREATION_KNOWN_MS <= pass->now_ms)
			continue;
		ret_step->reason = arena_format(pass->arena,
			"%s was not answered and may take effect", operations[i]);
		return true;
	}
	return false;
}

/* The last lines that a container of a task of this server has written. */
static void log_output(struct deployment_pass *pass, struct span stage, struct span task,
	struct span container)
{
	struct buffer output = {0};
	struct span rest, line, lines[LOGGED_LINES_MAX];
	size_t count = 0;

	if (!pass->config->read_output || pass->outcall.is_remote)
		return;
	pass->config->read_output(pass->config->read_output_context, task, container, &output);
	rest = arena_copy_span(pass->arena, buffer_span(&output));
	buffer_clear(&output);
	while (span_next_part(&rest, '\n', &line)) {
		if (line.length > 0)
			lines[count++ % LOGGED_LINES_MAX] = line;
	}
	for (size_t i = count > LOGGED_LINES_MAX ? count - LOGGED_LINES_MAX : 0; i < count; i++)
		pass_log(pass, stage, "  | %.*s",
			SPAN_ARGS(git_clean_text(lines[i % LOGGED_LINES_MAX], pass->arena)));
}

static void log_task(struct deployment_pass *pass, struct span stage, const struct json *task)
{
	struct span reason = json_get_text(task, "stoppedReason");

	pass_log(pass, stage, "task %.*s stopped: %.*s", SPAN_ARGS(json_get_text(task, "taskArn")),
		SPAN_ARGS(reason.data ? reason : SPAN("without a reason")));
	JSON_EACH_ITEM (json_get(task, "containers"), container) {
		struct span why = json_get_text(container, "reason");
		int64_t code = json_get_integer(container, "exitCode", -1);

		if (code >= 0)
			pass_log(pass, stage, "  container %.*s: exit code %lld",
				SPAN_ARGS(json_get_text(container, "name")), (long long)code);
		else if (why.length > 0)
			pass_log(pass, stage, "  container %.*s: %.*s",
				SPAN_ARGS(json_get_text(container, "name")), SPAN_ARGS(why));
		log_output(pass, stage, describe_task_id(task), json_get_text(container, "name"));
	}
}

/* Why tasks stopped; and of a rollback, which sets and weights are left. */
static void log_failure(struct deployment_pass *pass, const struct stage_record *stage,
	const struct observed *observed)
{
	const struct snapshot *snapshot = &observed->snapshot;
	const struct json *const *failed = observed->failed.items;

	for (size_t i = 0; i < observed->failed.count && i < LOGGED_TASKS_MAX; i++)
		log_task(pass, stage->id, failed[i]);
	for (size_t i = 0; i < snapshot->set_count && stage->kind == STAGE_ROLLBACK; i++)
		pass_log(pass, stage->id, "left: %.*s, %s%lld tasks, scale %lld%%",
			SPAN_ARGS(snapshot->sets[i].arn),
			snapshot->sets[i].is_primary ? "primary, " : "",
			(long long)snapshot->sets[i].task_count,
			(long long)snapshot->sets[i].scale);
	if (snapshot->rule_count > 0 && stage->kind == STAGE_ROLLBACK)
		pass_log(pass, stage->id, "left: weight of the canary target group %lld%%",
			(long long)snapshot->canary_weight);
}

static int run_service(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err)
{
	struct delivery delivery = make_delivery(pass, stage->kind, options);
	struct decision decision;
	struct observed observed;
	struct span failed;
	bool removes;
	int code = observed_read(pass, &observed, err);

	if (code < 0)
		return code;
	if (stage->kind == STAGE_ROLLBACK && waits_for_creation(pass, ret_step))
		return 0;
	failed = observed_failed_operation(pass, stage->id, stage->started_ms,
		stage->kind == STAGE_ROLLBACK ? FAILED_OPERATIONS_MAX : 0);
	if (failed.data) {
		stage_fail(ret_step, failed);
		return 0;
	}
	/* The canary of an earlier deployment goes before this one has a canary of its own. */
	removes = observed.leftovers > 0 && starts_tasks(stage->kind) &&
		  stage->kind != STAGE_ECS_SYNC;
	if (removes)
		decide_removal(pass, &delivery, &observed, &decision);
	else
		decide_stage(&delivery, stage->kind, options, &observed.snapshot, pass->arena,
			&decision);
	if (removes && decision.kind == DECISION_DONE) {
		ret_step->wake_ms = pass->now_ms;
		return 0;
	}
	code = carry(pass, &observed, stage->id, &decision, ret_step, err);
	if (ret_step->progress == STAGE_FAILS)
		log_failure(pass, stage, &observed);
	if (code >= 0 && stage->kind == STAGE_ROLLBACK && ret_step->progress == STAGE_DONE)
		code = delete_first_service(pass, stage->id, &observed, ret_step, err);
	return code;
}

int stage_run_ecs(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err)
{
	enum carried carried = CARRIED_DONE;
	struct span reason;
	int code = 0;

	if (starts_tasks(stage->kind))
		code = carry_out_service(pass, stage->id, &carried, &reason, err);
	else if (stage->kind == STAGE_ROLLBACK && pass->bundle.has_service)
		code = carry_out_old_settings(pass, stage->id, &carried, &reason, err);
	if (code < 0)
		return code;
	if (carried == CARRIED_FAILED) {
		stage_fail(ret_step, reason);
		return 0;
	}
	if (carried == CARRIED_SENT) {
		ret_step->wake_ms = pass->again_ms;
		return 0;
	}
	if (pass->bundle.has_service)
		return run_service(pass, stage, options, ret_step, err);
	if (stage->kind == STAGE_ECS_SYNC)
		return stage_run_standalone(pass, stage->id, ret_step, err);
	ret_step->progress = STAGE_DONE; /* a standalone task is not rolled back */
	return 0;
}

int stage_hold_share(struct deployment_pass *pass, struct span stage, struct err *err)
{
	struct delivery delivery;
	struct stage_step step = {0};
	struct decision decision;
	struct observed observed;
	int code;

	if (!pass->bundle.has_service || pass->deployment.facts.canary_percent == 0)
		return 0;
	code = observed_read(pass, &observed, err);
	if (code < 0)
		return code;
	delivery = make_delivery(pass, STAGE_WAIT, NULL);
	decide_hold(&delivery, &observed.snapshot, pass->arena, &decision);
	return decision.kind == DECISION_CALL ? carry(pass, &observed, stage, &decision, &step, err)
					      : 0;
}

int stage_end_ecs(struct deployment_pass *pass, struct stage_step *ret_step, struct err *err)
{
	struct delivery delivery;
	struct decision decision;
	struct observed observed;
	int code;

	ret_step->progress = STAGE_DONE;
	if (!pass->bundle.has_service ||
		(!calls_was_sent(pass, "CreateTaskSet", SPAN("canary")) &&
			!calls_was_sent(pass, "CreateService", SPAN("canary"))))
		return 0;
	code = observed_read(pass, &observed, err);
	if (code < 0)
		return code;
	ret_step->progress = STAGE_GOES_ON;
	delivery = make_delivery(pass, STAGE_ECS_CANARY_CLEAN, NULL);
	decide_removal(pass, &delivery, &observed, &decision);
	return carry(pass, &observed, SPAN("end"), &decision, ret_step, err);
}

int stage_keep_old(struct deployment_pass *pass, bool is_over, struct stage_step *ret_step,
	struct err *err)
{
	struct delivery delivery = make_delivery(pass, STAGE_WAIT, NULL);
	struct decision decision;
	struct observed observed;
	int code = observed_read(pass, &observed, err);

	if (code < 0)
		return code;
	decide_keep(&delivery, is_over, &observed.snapshot, pass->arena, &decision);
	return carry(pass, &observed, SPAN("end"), &decision, ret_step, err);
}
