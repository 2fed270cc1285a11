/* The stages of ECS: observe the service, decide (decide.h), carry the decided calls out; see stage_run.h. */
#include "base/memory.h"
#include "pipeline/stage_run.h"

static bool starts_tasks(enum stage_kind kind)
{
	return kind == STAGE_ECS_SYNC || kind == STAGE_ECS_CANARY_ROLLOUT ||
	       kind == STAGE_ECS_PRIMARY_ROLLOUT;
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
		.desired_count = pass->bundle.service.desired_count};

	if (delivery.desired_count == DESIRED_COUNT_UNCHANGED || kind == STAGE_ROLLBACK)
		delivery.desired_count = json_get_integer(before, "desiredCount", 0);
	if (kind == STAGE_ECS_SYNC)
		delivery.recreate =
			!delivery.is_first && (options ? options->recreate : application->recreate);
	/* A rollback restores the number of tasks that the deployment has changed. */
	if (kind == STAGE_ROLLBACK)
		delivery.recreate =
			calls_find_done(pass, "UpdateService", SPAN("count of primary")) ||
			calls_find_done(pass, "UpdateService", SPAN("count of old"));
	return delivery;
}

static void fail_with(struct stage_step *step, struct span reason)
{
	step->progress = STAGE_FAILS;
	step->reason = reason;
}

/* ---- standalone tasks ---- */

static struct json *run_task_request(const struct deployment_pass *pass)
{
	const struct application_input *input = &pass->bundle.application->input;
	struct arena *arena = pass->arena;
	struct json *request = json_new_object(arena), *network = json_new_object(arena),
		    *settings = json_new_object(arena);
	const struct {
		const char *member;
		const struct field_list *list;
	} lists[] = {{"subnets", &input->subnets}, {"securityGroups", &input->security_groups}};

	json_set_string(arena, request, "cluster", pass->cluster);
	json_set_string(arena, request, "taskDefinition",
		calls_find_done(pass, "RegisterTaskDefinition", SPAN(""))->record.answer);
	json_set_string(arena, request, "launchType", input->launch_type);
	if (input->subnets.count == 0)
		return request;
	for (size_t i = 0; i < LENGTH(lists); i++) {
		struct json *list = json_new_array(arena);

		for (size_t j = 0; j < lists[i].list->count; j++)
			json_append(arena, list,
				json_new_string(arena, ((struct span *)lists[i].list->items)[j]));
		if (lists[i].list->count > 0)
			json_set(arena, settings, lists[i].member, list);
	}
	if (input->assign_public_ip.length > 0)
		json_set_string(arena, settings, "assignPublicIp", input->assign_public_ip);
	json_set(arena, network, "awsvpcConfiguration", settings);
	json_set(arena, request, "networkConfiguration", network);
	return request;
}

static int run_standalone(struct deployment_pass *pass, struct span stage,
	struct stage_step *ret_step, struct err *err)
{
	struct pending_call call = {.service = ECS,
		.operation = "RunTask",
		.role = SPAN(""),
		.target = SPAN(""),
		.token_member = "clientToken",
		.attributes = SPAN("")};
	struct outcall_result result;
	const struct json *failure;
	int r;

	ret_step->progress = STAGE_DONE;
	if (!pass->bundle.application->input.run_standalone_task ||
		calls_find_done(pass, "RunTask", SPAN("")))
		return 0;
	call.request = run_task_request(pass);
	r = calls_send(pass, stage, &call, &result, err);
	if (r < 0)
		return r;
	failure = json_item(json_get(result.answer, "failures"), 0);
	if (result.outcome == OUTCALL_REFUSED)
		fail_with(ret_step,
			arena_format(pass->arena, "RunTask: %.*s", SPAN_ARGS(result.reason)));
	else if (failure)
		fail_with(ret_step, arena_format(pass->arena, "RunTask started no task: %.*s",
					    SPAN_ARGS(json_get_text(failure, "reason"))));
	else if (result.outcome == OUTCALL_UNKNOWN)
		ret_step->progress = STAGE_GOES_ON;
	return 0;
}

/* ---- services ---- */

static int carry(struct deployment_pass *pass, const struct observed *observed, struct span stage,
	const struct decision *decision, struct stage_step *ret_step, struct err *err)
{
	enum carried carried;
	struct span reason;
	int r;

	switch (decision->kind) {
	case DECISION_DONE: ret_step->progress = STAGE_DONE; return 0;
	case DECISION_FAIL: fail_with(ret_step, decision->reason); return 0;
	case DECISION_WAIT:
		ret_step->reason = decision->reason;
		ret_step->wake_ms = decision->wake_ms;
		return 0;
	case DECISION_CALL: break;
	}
	r = carry_out_calls(pass, observed, stage, decision, &carried, &reason, err);
	if (r >= 0 && carried == CARRIED_FAILED)
		fail_with(ret_step, reason);
	ret_step->wake_ms = pass->again_ms;
	return r;
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
	int r;

	if (!pass->deployment.facts.is_first || !observed->service ||
		!calls_find_done(pass, "CreateService", SPAN("primary")) ||
		calls_find_done(pass, "DeleteService", SPAN("primary")))
		return 0;
	json_set_string(pass->arena, call.request, "cluster", pass->cluster);
	json_set_string(pass->arena, call.request, "service", call.target);
	json_set_bool(pass->arena, call.request, "force", true);
	r = calls_send(pass, stage, &call, &result, err);
	if (r >= 0 && result.outcome == OUTCALL_REFUSED)
		fail_with(ret_step, result.reason);
	else if (r >= 0 && result.outcome == OUTCALL_UNKNOWN)
		ret_step->progress = STAGE_GOES_ON;
	return r;
}

static int run_service(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err)
{
	struct delivery delivery = make_delivery(pass, stage->kind, options);
	enum stage_kind kind = stage->kind;
	struct decision decision;
	struct observed observed;
	int r = observed_read(pass, &observed, err);

	if (r < 0)
		return r;
	/* The canary of an earlier deployment goes before this one has a canary of its own. */
	if (observed.leftovers > 0 && starts_tasks(kind) && kind != STAGE_ECS_SYNC)
		kind = STAGE_ECS_CANARY_CLEAN;
	decide_stage(&delivery, kind, options, &observed.snapshot, pass->arena, &decision);
	if (kind != stage->kind && decision.kind == DECISION_DONE) {
		ret_step->wake_ms = pass->now_ms;
		return 0;
	}
	r = carry(pass, &observed, stage->id, &decision, ret_step, err);
	if (r >= 0 && stage->kind == STAGE_ROLLBACK && ret_step->progress == STAGE_DONE)
		r = delete_first_service(pass, stage->id, &observed, ret_step, err);
	return r;
}

int stage_run_ecs(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err)
{
	enum carried carried = CARRIED_DONE;
	struct span reason;
	int r = 0;

	if (starts_tasks(stage->kind))
		r = carry_out_service(pass, stage->id, &carried, &reason, err);
	if (r < 0)
		return r;
	if (carried == CARRIED_FAILED) {
		fail_with(ret_step, reason);
		return 0;
	}
	if (carried == CARRIED_SENT) {
		ret_step->wake_ms = pass->again_ms;
		return 0;
	}
	if (pass->bundle.has_service)
		return run_service(pass, stage, options, ret_step, err);
	if (stage->kind == STAGE_ECS_SYNC)
		return run_standalone(pass, stage->id, ret_step, err);
	ret_step->progress = STAGE_DONE; /* a standalone task is not rolled back */
	return 0;
}

int stage_hold_share(struct deployment_pass *pass, struct span stage, struct err *err)
{
	struct delivery delivery;
	struct stage_step step = {0};
	struct decision decision;
	struct observed observed;
	int r;

	if (!pass->bundle.has_service || pass->deployment.facts.canary_percent == 0)
		return 0;
	r = observed_read(pass, &observed, err);
	if (r < 0)
		return r;
	delivery = make_delivery(pass, STAGE_WAIT, NULL);
	decide_hold(&delivery, &observed.snapshot, pass->arena, &decision);
	return decision.kind == DECISION_CALL ? carry(pass, &observed, stage, &decision, &step, err)
					      : 0;
}

int stage_end_ecs(struct deployment_pass *pass, struct stage_step *ret_step, struct err *err)
{
	static const struct stage_options none;
	struct delivery delivery;
	struct decision decision;
	struct observed observed;
	int r;

	ret_step->progress = STAGE_DONE;
	if (!pass->bundle.has_service ||
		(!calls_find_done(pass, "CreateTaskSet", SPAN("canary")) &&
			!calls_find_done(pass, "CreateService", SPAN("canary"))))
		return 0;
	r = observed_read(pass, &observed, err);
	if (r < 0)
		return r;
	ret_step->progress = STAGE_GOES_ON;
	delivery = make_delivery(pass, STAGE_ECS_CANARY_CLEAN, NULL);
	decide_stage(&delivery, STAGE_ECS_TRAFFIC_ROUTING, &none, &observed.snapshot, pass->arena,
		&decision);
	if (decision.kind == DECISION_DONE)
		decide_stage(&delivery, STAGE_ECS_CANARY_CLEAN, &none, &observed.snapshot,
			pass->arena, &decision);
	return carry(pass, &observed, SPAN("end"), &decision, ret_step, err);
}
