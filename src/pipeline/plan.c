/* See the header. */
#include "pipeline/plan.h"

#include "base/memory.h"
#include "chart/regex.h"
#include "pipeline/difference.h"
#include "pipeline/share.h"

#define WHOLE 100
#define REGEX_MESSAGE_SIZE 256
#define EXACT_PERCENT 0.5 /* a smaller error is none */

struct planner {
	const struct plan_input *input;
	struct arena *arena;
	struct plan *plan;
	/* While walking through the stages: */
	int64_t desired, canary, scale;
};

__attribute__((format(printf, 2, 3))) static void refuse(struct planner *planner,
	const char *format, ...)
{
	va_list list;

	if (planner->plan->refusal.data)
		return;
	va_start(list, format);
	planner->plan->refusal = arena_format_list(planner->arena, format, list);
	va_end(list);
}

__attribute__((format(printf, 2, 3))) static void warn(struct planner *planner, const char *format,
	...)
{
	struct span *text = fields_append(planner->arena, &planner->plan->warnings, sizeof(*text));
	va_list list;

	va_start(list, format);
	*text = arena_format_list(planner->arena, format, list);
	va_end(list);
}

/* ---- images ---- */

static const struct json *find_container(const struct json *containers, struct span name)
{
	JSON_EACH_ITEM (containers, container) {
		if (span_equal(json_get_text(container, "name"), name))
			return container;
	}
	return NULL;
}

/* SPAN_NONE: every container has the image that it had. */
static struct span find_image_change(struct planner *planner)
{
	const struct json *before = json_get(planner->input->live->definition,
				  "containerDefinitions"),
			  *after = json_get(planner->input->task->request, "containerDefinitions");

	JSON_EACH_ITEM (after, container) {
		struct span name = json_get_text(container, "name"),
			    image = json_get_text(container, "image");
		const struct json *old = find_container(before, name);
		struct span old_image = json_get_text(old, "image");

		if (!old)
			return arena_format(planner->arena, "container %.*s is new",
				SPAN_ARGS(name));
		if (!span_equal(image, old_image))
			return arena_format(planner->arena,
				"image of container %.*s changes from %.*s to %.*s",
				SPAN_ARGS(name), SPAN_ARGS(old_image), SPAN_ARGS(image));
	}
	JSON_EACH_ITEM (before, container) {
		struct span name = json_get_text(container, "name");

		if (!find_container(after, name))
			return arena_format(planner->arena, "container %.*s is removed",
				SPAN_ARGS(name));
	}
	return SPAN_NONE;
}

/* ---- strategy ---- */

static bool commit_matches(struct planner *planner, const char *key, struct span pattern)
{
	struct span message = planner->input->commit_message;
	char reason[REGEX_MESSAGE_SIZE];
	struct regex_range range;
	struct regex *regex;
	bool matches;

	if (pattern.length == 0)
		return false;
	regex = regex_new(pattern.data, pattern.length, reason, sizeof(reason));
	if (!regex) {
		refuse(planner, "commitMatcher.%s is not a regular expression: %s", key, reason);
		return false;
	}
	matches = message.data && regex_match(regex, message.data, message.length, 0, &range, 1);
	regex_free(regex);
	return matches;
}

static void set_strategy(struct planner *planner, enum plan_strategy strategy, struct span reason)
{
	planner->plan->strategy = strategy;
	planner->plan->reason = reason;
}

static void choose_forced(struct planner *planner)
{
	set_strategy(planner, planner->input->forced, SPAN("requested"));
	if (planner->input->forced == PLAN_QUICK_SYNC)
		return;
	if (planner->input->application->stages.count == 0)
		refuse(planner, "the application has no pipeline");
	else if (planner->plan->is_first)
		refuse(planner, "first deployment: there is no primary to compare with; "
				"use quick sync");
}

static void choose_strategy(struct planner *planner)
{
	const struct application *application = planner->input->application;
	struct span image;

	if (planner->input->forced != PLAN_AUTOMATIC)
		choose_forced(planner);
	else if (application->stages.count == 0)
		set_strategy(planner, PLAN_QUICK_SYNC, SPAN("no pipeline"));
	else if (application_is_standalone(application))
		set_strategy(planner, PLAN_PIPELINE, SPAN("a pipeline is configured"));
	else if (planner->plan->is_first)
		set_strategy(planner, PLAN_QUICK_SYNC, SPAN("first deployment"));
	else if (application->always_use_pipeline)
		set_strategy(planner, PLAN_PIPELINE, SPAN("alwaysUsePipeline is set"));
	else if (commit_matches(planner, "pipeline", application->pipeline_commits))
		set_strategy(planner, PLAN_PIPELINE,
			SPAN("the commit matches commitMatcher.pipeline"));
	else if (commit_matches(planner, "quickSync", application->quick_sync_commits))
		set_strategy(planner, PLAN_QUICK_SYNC,
			SPAN("the commit matches commitMatcher.quickSync"));
	else if ((image = find_image_change(planner)).data)
		set_strategy(planner, PLAN_PIPELINE, image);
	else
		set_strategy(planner, PLAN_QUICK_SYNC, SPAN("no image changes"));
}

/* ---- stages ---- */

static struct plan_stage *add_stage(struct planner *planner, enum stage_kind kind,
	const struct stage *stage)
{
	struct plan_stage *added =
		fields_append(planner->arena, &planner->plan->stages, sizeof(*added));

	*added = (struct plan_stage){.kind = kind, .stage = stage, .note = SPAN("")};
	return added;
}

static void check_share(struct planner *planner, struct plan_stage *planned, int64_t wanted)
{
	const struct application_input *input = &planner->input->application->input;
	struct share share =
		share_choose(planner->desired, planner->canary, planner->desired, wanted);
	double reached = share_percent(share);
	double error =
		reached > (double)wanted ? reached - (double)wanted : (double)wanted - reached;
	int64_t serving = share.primary + share.canary;

	planned->note = arena_format(planner->arena,
		"wanted %d%%, reachable %.3g%% (%d primary + %d canary)", (int)wanted, reached,
		(int)share.primary, (int)share.canary);
	if (error >= EXACT_PERCENT && planner->input->has_weights)
		warn(planner,
			"stage %.*s: an exact share is possible for this name, by SLIPWAY_WEIGHT "
			"of "
			"the instances",
			SPAN_ARGS(planned->stage->id));
	if (input->tolerance >= 0 && error > (double)input->tolerance)
		refuse(planner, "stage %.*s: %.*s; the tolerance is %d%%",
			SPAN_ARGS(planned->stage->id), SPAN_ARGS(planned->note),
			(int)input->tolerance);
	if (serving >= planner->desired)
		return;
	warn(planner, "stage %.*s: serving capacity falls to %d of %d tasks",
		SPAN_ARGS(planned->stage->id), (int)serving, (int)planner->desired);
	if (input->capacity_floor >= 0 &&
		serving * WHOLE < planner->desired * input->capacity_floor)
		refuse(planner,
			"stage %.*s: %d of %d tasks would serve, fewer than the capacity floor of "
			"%d%%",
			SPAN_ARGS(planned->stage->id), (int)serving, (int)planner->desired,
			(int)input->capacity_floor);
}

static void add_pipeline_stage(struct planner *planner, const struct stage *stage)
{
	struct plan_stage *planned = add_stage(planner, stage->kind, stage);
	const struct stage_options *options = &stage->options;

	switch (stage->kind) {
	case STAGE_ECS_CANARY_ROLLOUT:
		/* ECS would choose which tasks stop, without regard to those that clients know. */
		if (options->scale < planner->scale)
			refuse(planner, "stage %.*s makes the canary smaller: %d%% after %d%%",
				SPAN_ARGS(stage->id), (int)options->scale, (int)planner->scale);
		planner->scale = options->scale;
		planner->canary = share_scaled(planner->desired, options->scale);
		break;
	case STAGE_ECS_CANARY_CLEAN: planner->canary = planner->scale = 0; break;
	case STAGE_ECS_TRAFFIC_ROUTING:
		if (options->canary > 0 && planner->canary == 0)
			refuse(planner,
				"stage %.*s sends %d%% to a canary that no stage before it started",
				SPAN_ARGS(stage->id), (int)options->canary);
		else if (planner->input->application->input.access & ACCESS_SERVICE_DISCOVERY)
			check_share(planner, planned, options->canary);
		break;
	default: break;
	}
}

static void add_stages(struct planner *planner)
{
	const struct application *application = planner->input->application;
	const struct stage *stages = application_stages(application);

	if (planner->input->needs_approval)
		add_stage(planner, STAGE_WAIT_APPROVAL, NULL);
	if (planner->plan->strategy == PLAN_QUICK_SYNC)
		add_stage(planner, STAGE_ECS_SYNC, NULL);
	for (size_t i = 0; i < application->stages.count; i++) {
		if (planner->plan->strategy == PLAN_PIPELINE)
			add_pipeline_stage(planner, &stages[i]);
	}
	if (planner->plan->strategy == PLAN_PIPELINE && planner->canary > 0)
		warn(planner, "no ECS_CANARY_CLEAN follows the canary; it is deleted at the end");
	if (planner->input->starts_flow)
		add_stage(planner, STAGE_POST_SYNC, NULL);
	if (application->auto_rollback)
		add_stage(planner, STAGE_ROLLBACK, NULL)->is_hidden = true;
}

/* ---- refusals ---- */

static void check_service(struct planner *planner)
{
	const struct service_file *service = planner->input->service;
	const struct live_service *live = planner->input->live;
	unsigned access = planner->input->application->input.access;

	if ((access & ACCESS_SERVICE_DISCOVERY) && service->registry_arn.length == 0)
		refuse(planner,
			"accessType SERVICE_DISCOVERY needs serviceRegistries in the service "
			"definition");
	if (json_array_count(json_get(service->request, "serviceRegistries")) > 1)
		refuse(planner,
			"ECS accepts one service registry, and the service definition has %zu",
			json_array_count(json_get(service->request, "serviceRegistries")));
	if (service->is_external &&
		span_is(json_get_text(service->request, "schedulingStrategy"), "DAEMON"))
		refuse(planner,
			"ECS does not accept scheduling strategy DAEMON with controller EXTERNAL");
	if (!live->exists)
		return;
	if (live->is_external != service->is_external)
		refuse(planner,
			"service %.*s has deployment controller %s, the service definition %s; a "
			"controller cannot be changed",
			SPAN_ARGS(service->name), live->is_external ? "EXTERNAL" : "ECS",
			service->is_external ? "EXTERNAL" : "ECS");
	if (!service->is_external && live->has_foreign_canary &&
		planner->plan->strategy == PLAN_PIPELINE)
		refuse(planner,
			"service %.*s-canary exists and does not belong to this application",
			SPAN_ARGS(service->name));
}

/* Shares by names are about lookups. */
static void warn_of_connections(struct planner *planner)
{
	const struct application *application = planner->input->application;
	const struct stage *stages = application_stages(application);

	if (!(application->input.access & ACCESS_SERVICE_DISCOVERY) ||
		planner->plan->strategy != PLAN_PIPELINE)
		return;
	for (size_t i = 0; i < application->stages.count; i++) {
		if (stages[i].kind != STAGE_ECS_TRAFFIC_ROUTING ||
			stages[i].options.canary % WHOLE == 0)
			continue;
		warn(planner, "shares by names hold for new lookups: clients with long-lived "
			      "connections (gRPC, connection pools) stay with their task until it "
			      "stops");
		return;
	}
}

static void warn_of_keeping(struct planner *planner)
{
	if (planner->input->application->input.keep_old_ms > 0 &&
		!planner->input->service->is_external)
		warn(planner, "keepOldPrimary has no effect: ECS itself replaces the tasks of a "
			      "service with controller ECS");
}

static void check_two_services(struct planner *planner)
{
	if (planner->plan->strategy == PLAN_PIPELINE && !planner->input->service->is_external &&
		(planner->input->application->input.access & ACCESS_SERVICE_DISCOVERY))
		warn(planner, "ECS itself replaces the primary tasks of a service with controller "
			      "ECS; on AWS "
			      "it stops them without waiting for the TTL of their DNS records");
}

/* ---- changes ---- */

static void find_changes(struct planner *planner)
{
	const struct plan_input *input = planner->input;
	const struct json *live = NULL;
	struct err err;

	if (input->task && definition_request_of(SPAN("RegisterTaskDefinition"),
				   input->live->definition, planner->arena, &live, &err) == 0)
		difference_find(live, input->task->request, false, planner->arena,
			&planner->plan->changes);
	live = NULL;
	if (input->service && input->live->exists &&
		definition_request_of(SPAN("CreateService"), input->live->service, planner->arena,
			&live, &err) == 0) {
		struct json *wanted = json_copy_object(planner->arena, input->service->request);

		/* The name may stand for the ARN that an answer has; 0 leaves the count as it is. */
		json_unset(wanted, "cluster");
		json_unset(wanted, "role");
		if (input->service->desired_count == DESIRED_COUNT_UNCHANGED)
			json_unset(wanted, "desiredCount");
		/* These are members of task sets. */
		if (input->service->is_external) {
			json_unset(wanted, "launchType");
			json_unset(wanted, "networkConfiguration");
			json_unset(wanted, "serviceRegistries");
			json_unset(wanted, "platformVersion");
			json_unset(wanted, "capacityProviderStrategy");
		}
		difference_find(live, wanted, true, planner->arena, &planner->plan->changes);
	}
}

static int64_t wanted_count(const struct plan_input *input)
{
	if (!input->service)
		return 0;
	if (input->service->desired_count != DESIRED_COUNT_UNCHANGED)
		return input->service->desired_count;
	return input->live->exists ? input->live->desired_count : 0;
}

void plan_make(const struct plan_input *input, struct arena *arena, struct plan *ret_plan)
{
	struct plan plan = {.is_first = input->service && !input->live->definition};
	struct planner planner = {
		.input = input, .arena = arena, .plan = &plan, .desired = wanted_count(input)};
	const struct field_note *undeployable = &input->application->undeployable;

	if (undeployable->text.data)
		refuse(&planner, "%.*s:%u: %.*s", SPAN_ARGS(input->application->file),
			undeployable->line, SPAN_ARGS(undeployable->text));
	choose_strategy(&planner);
	if (input->service) {
		check_service(&planner);
		check_two_services(&planner);
		warn_of_connections(&planner);
		warn_of_keeping(&planner);
	}
	add_stages(&planner);
	find_changes(&planner);
	*ret_plan = plan;
}
