/*
 * The manager of a Service environment: an ECS service that is as the target version wants it. ECS rolls it out; we
 * create, change and delete the service, and tell how its deployment goes.
 *
 * What is about to be asked for is written down first, in the placement of the service: for which deployment, and
 * which deployment of ECS was there before. After a crash the service itself tells whether it was done: CreateService
 * has a client token, UpdateService to what is there already changes nothing. A service without our tag is never
 * touched.
 *
 * Of a cluster of this server the service is described at every look. Elsewhere the state service asks for it again and
 * again; nothing is decided on what is too old, or from before what was asked for last.
 */
#include <stdio.h>

#include "base/memory.h"
#include "daemon/environment_type.h"
#include "daemon/manager_service.h"
#include "daemon/manager_words.h"
#include "daemon/matching.h"

#define LOOK_AGAIN_MS 200
#define LOOK_ROLLING_MS 2000 /* while a deployment is in progress */
#define LOOK_DELETING_MS 500

/* ---- looking ---- */

static void find_placement(struct service_look *service)
{
	struct arena *arena = service->look->arena;
	const struct store_object *object = store_get(service->look->sight.view,
		&environment_placement_kind, service_placement_key(service, arena));
	struct json *kept;

	service->placement = object ? environment_placement_facts(object) : NULL;
	service->told = SPAN("");
	if (object && json_parse(object->api, arena, &kept, NULL) == 0 &&
		json_get_text(kept, "reason").data)
		service->told = json_get_text(kept, "reason");
}

/* Task definitions never change: what was found out for a version holds. */
static bool recall_balancer(const struct manager_look *look, const struct json **ret_balancer)
{
	struct json *kept;

	if (!look->crew->balancer ||
		!span_is(environment_version_facts(look->sight.target)->id,
			look->crew->balancer_of) ||
		json_parse(span_of(look->crew->balancer), look->arena, &kept, NULL) < 0)
		return false;
	*ret_balancer = kept;
	return true;
}

static void remember_balancer(const struct manager_look *look, const struct json *balancer)
{
	struct span text = json_to_text(balancer, look->arena);

	free(look->crew->balancer);
	look->crew->balancer = memory_copy_string_n(text.data, text.length);
	snprintf(look->crew->balancer_of, sizeof(look->crew->balancer_of), "%.*s",
		SPAN_ARGS(environment_version_facts(look->sight.target)->id));
}

/* What the client left out of a load balancer is what the task definition has only one of. */
static int complete_balancer(struct service_look *service, const struct json *given,
	const struct json **ret_balancer, struct err *err)
{
	struct manager_look *look = service->look;
	struct json *made = json_copy_object(look->arena, given),
		    *request = json_new_object(look->arena), *answer = NULL;
	struct aws_call_failure failure;
	struct span name = json_get_text(given, "containerName");
	int code;

	*ret_balancer = made;
	if (name.data && !json_is_absent(json_get(given, "containerPort")))
		return 0;
	if (recall_balancer(look, ret_balancer))
		return 0;
	json_set_string(look->arena, request, "taskDefinition",
		environment_version_facts(look->sight.target)->task_definition);
	code = manager_call(look, service->place, NULL, "DescribeTaskDefinition", request, &answer,
		&failure, err);
	JSON_EACH_ITEM (json_path(answer, "taskDefinition.containerDefinitions"), container) {
		const struct json *port = json_item(json_get(container, "portMappings"), 0);

		if (name.data ? !span_equal(name, json_get_text(container, "name")) : !port)
			continue;
		json_set(look->arena, made, "containerName", json_get(container, "name"));
		if (json_is_absent(json_get(given, "containerPort")))
			json_set(look->arena, made, "containerPort",
				json_get(port, "containerPort"));
		break;
	}
	if (code == 0)
		remember_balancer(look, made);
	return code == -EREMOTEIO ? 0 : code;
}

static int make_wanted(struct service_look *service, struct err *err)
{
	struct manager_look *look = service->look;
	const struct json *version = manager_version_document(look, look->sight.target),
			  *given = json_path(version, "deploymentConfiguration.loadBalancer"),
			  *balancer = NULL;
	int code =
		json_is(given, JSON_OBJECT) ? complete_balancer(service, given, &balancer, err) : 0;

	if (code == 0)
		service->wanted = service_wanted(look->arena, manager_last_part(service->place),
			service->name, version, balancer);
	return code;
}

/* As the state service has it. -EAGAIN: nothing has been heard of it yet, good or bad. */
static int see_elsewhere(struct service_look *service, struct err *err)
{
	struct manager_look *look = service->look;
	struct state_service_info info;

	state_get_service(look->sight.state, service->place,
		environment_service_name(look->arena, service->name), look->arena, &info);
	if (!info.known && !info.error[0]) {
		service_want(service);
		return err_set(err, -EAGAIN, "service of %.*s is not known yet",
			SPAN_ARGS(service->name));
	}
	if (info.stale) {
		service->cause = manager_reason(look->arena,
			info.known ? "CLUSTER_STALE" : "CLUSTER_UNKNOWN",
			span_of(info.error[0] ? info.error : "asking for the service takes long"));
		manager_again_at(look, look->sight.steady_ms + MANAGER_BLIND_MS);
		return 0;
	}
	service->is_caught_up = info.mark >= look->crew->asked_mark;
	if (!service->is_caught_up) {
		service_want(service);
		manager_again_at(look, look->sight.steady_ms + MANAGER_BLIND_MS);
	}
	service->described = info.service;
	return 0;
}

/* 0 also when there is no such cluster: then there is no service, and creating it says why. */
static int describe_here(struct service_look *service, struct err *err)
{
	struct manager_look *look = service->look;
	struct arena *arena = look->arena;
	struct json *request = json_new_object(arena), *services = json_new_array(arena),
		    *include = json_new_array(arena), *answer = NULL;
	struct aws_call_failure failure;
	int code;

	json_append(arena, services,
		json_new_string(arena, environment_service_name(arena, service->name)));
	json_append(arena, include, json_new_string(arena, SPAN("TAGS")));
	json_set_string(arena, request, "cluster", manager_last_part(service->place));
	json_set(arena, request, "services", services);
	json_set(arena, request, "include", include);
	code = manager_call(look, service->place, NULL, "DescribeServices", request, &answer,
		&failure, err);
	if (code == -EREMOTEIO && strcmp(failure.type, "ClusterNotFoundException") != 0)
		return code;
	if (code < 0 && code != -EREMOTEIO)
		return code;
	service->described = json_item(json_get(answer, "services"), 0);
	service->is_caught_up = true;
	return 0;
}

static int describe(struct service_look *service, struct err *err)
{
	service->cause = SPAN("");
	service->is_caught_up = false;
	return manager_is_elsewhere(service->place) ? see_elsewhere(service, err)
						    : describe_here(service, err);
}

/* What was described, held against what is wanted. Elsewhere the clock is another one. */
static void judge(struct service_look *service, int64_t since_ms)
{
	service_look(service->described, service->wanted, service->name,
		manager_is_elsewhere(service->place) ? SERVICE_SINCE_ROLLOUT : since_ms,
		&service->is);
}

static void publish(const struct service_look *service)
{
	struct environment_counts counts;

	service_count(&service->is, json_get_integer(service->wanted, "desiredCount", 0), &counts);
	manager_publish(service->look, &counts);
}

/* ---- rolling out ---- */

static bool is_of_this_deployment(const struct service_look *service)
{
	return service_is_same_ask(service) && service->placement->deployment.length > 0;
}

/* The deployment of ECS that failed is the one that was there before we asked. */
static bool failed_before(const struct service_look *service)
{
	return service->is.rollout == SERVICE_ROLLOUT_FAILED &&
	       (!is_of_this_deployment(service) ||
		       span_equal(service->placement->task, service->is.deployment));
}

static bool needs_change(const struct service_look *service)
{
	const struct service_sight *is = &service->is;

	if (!is->exists || !is->runs_it)
		return true;
	/* Who scales it by hand is left alone until the next deployment. */
	return service->look->sight.rolls && (!is->as_wanted || failed_before(service));
}

static int change(struct service_look *service, bool *ret_more, struct err *err)
{
	struct manager_look *look = service->look;
	struct json *request;
	int code;

	if (!needs_change(service) || service->is.drains ||
		(service->is.exists && !service->is.is_ours))
		return 0;
	if (service_must_wait(service)) {
		manager_again_when(look, service->placement->until_ms);
		return 0;
	}
	service_begin_intent(service, ENVIRONMENT_INTENT_start);
	if (service->is.exists) {
		request =
			service_wanted_update(look->arena, service->wanted, failed_before(service));
		code = service_ask(service, "UpdateService", request, err);
	} else {
		request = json_copy_object(look->arena, service->wanted);
		json_set_string(look->arena, request, "clientToken",
			manager_token(look, "create/%.*s/%.*s/%lld", SPAN_ARGS(service->place),
				SPAN_ARGS(service->intent.version),
				(long long)service->intent.attempt));
		code = service_ask(service, "CreateService", request, err);
	}
	*ret_more = code == 0 && service->refused.length == 0;
	/* Our lease does not outlast a call: soon it does, or another server has the claim. */
	if (code == -ESTALE)
		manager_again_at(look, look->sight.steady_ms + LOOK_AGAIN_MS);
	return code == -ESTALE ? 0 : code;
}

static bool is_rolling_out(const struct service_look *service)
{
	return service->is.exists && service->is.is_ours && service->is.deployment_arn.length > 0 &&
	       service->is.rollout == SERVICE_ROLLOUT_IN_PROGRESS;
}

/* That what was asked for is halted, so that what is rolled out by hand later is left alone. */
static int write_halted(struct service_look *service, struct err *err)
{
	int code;

	if (!service->placement || service->placement->intent != ENVIRONMENT_INTENT_start)
		return 0;
	service->intent = *service->placement;
	service->intent.intent = ENVIRONMENT_INTENT_stop;
	service->refused = service->told;
	code = service_write_intent(service, err);
	return code == -ESTALE ? 0 : code;
}

/* What ECS has begun goes on unless it is told. Nothing depends on the answer: elsewhere what could not be halted is later
 * (halt_leftover). */
static int halt(struct service_look *service, struct err *err)
{
	struct manager_look *look = service->look;
	struct json *request = json_new_object(look->arena), *answer;
	struct span role = manager_role(look, service->place, SPAN(""));
	struct aws_call_failure failure;
	int code;

	if (!is_rolling_out(service) || !manager_enter(look->manager, service->place))
		return 0;
	json_set_string(look->arena, request, "serviceDeploymentArn", service->is.deployment_arn);
	json_set_string(look->arena, request, "stopType", SPAN("ABORT"));
	code = manager_call(look, service->place, &role, "StopServiceDeployment", request, &answer,
		&failure, err);
	manager_leave(look->manager, service->place);
	if (!manager_is_elsewhere(service->place))
		return code == -EREMOTEIO ? 0 : code;
	look->crew->asked_mark = manager_mark(look);
	service_want(service);
	/* Whoever may not do it, or says that there is nothing to halt, will say so again. */
	if (code == 0 ||
		(code == -EREMOTEIO && failure.status < 500 && !manager_is_throttled(&failure)))
		return write_halted(service, err);
	return code == -ECANCELED || code == -ESTALE ? code : 0;
}

static const struct environment_deployment_facts *find_deployment(const struct manager_look *look,
	struct span id)
{
	const struct store_object *object = environment_deployment_of(look->sight.view, look->arena,
		look->sight.environment->key, id);

	return object ? environment_deployment_facts(object) : NULL;
}

/* A deployment that was stopped or timed out while its target could not be called is halted when it can be. */
static int halt_leftover(struct service_look *service, struct err *err)
{
	const struct environment_facts *facts = environment_facts(service->look->sight.environment);
	const struct environment_deployment_facts *asked;

	if (!manager_is_elsewhere(service->place) || !service->placement ||
		service->placement->intent != ENVIRONMENT_INTENT_start ||
		facts->in_progress.length > 0 || facts->pending.length > 0)
		return 0;
	asked = find_deployment(service->look, service->placement->deployment);
	if (!asked || (asked->status != ENVIRONMENT_DEPLOYMENT_stopped &&
			      asked->status != ENVIRONMENT_DEPLOYMENT_timed_out))
		return 0;
	return is_rolling_out(service) ? halt(service, err) : write_halted(service, err);
}

/* ---- how it goes ---- */

/* Why the last task of it stopped, in words, with and without its id; "" if nobody knows. */
static void find_words(const struct service_look *service, struct span *ret_named,
	struct span *ret_words)
{
	struct manager_look *look = service->look;
	const struct state_task *task = manager_last_of_service(look, service->place,
		environment_service_name(look->arena, service->name), service->is.deployment);

	*ret_named = task ? manager_end_words(look->arena, task, true) : SPAN("");
	*ret_words = task ? manager_end_words(look->arena, task, false) : SPAN("");
}

static void tell_failing(const struct service_look *service, struct manager_progress *progress)
{
	struct span words;

	progress->status = ENVIRONMENT_DEPLOYMENT_unhealthy;
	progress->reason = SPAN("TASKS_FAIL");
	find_words(service, &progress->failure, &words);
	if (words.length == 0)
		return;
	progress->reason = manager_reason(service->look->arena, "TASKS_FAIL", words);
	progress->failure = manager_reason(service->look->arena, "TASKS_FAIL", progress->failure);
}

/* ECS gave it up. */
static void tell_failed(const struct service_look *service, struct manager_progress *progress)
{
	struct arena *arena = service->look->arena;
	struct span told = service->is.told, words;

	progress->has_failed = true;
	find_words(service, &progress->failure, &words);
	if (words.length > 0)
		told = arena_format(arena, "%.*s%s%.*s", SPAN_ARGS(told),
			told.length > 0 ? " The last one: " : "", SPAN_ARGS(words));
	if (told.length == 0)
		told = SPAN("ECS gave the rollout up");
	progress->reason = manager_reason(arena, "ROLLOUT_FAILED", told);
	progress->failure = manager_reason(arena, "ROLLOUT_FAILED",
		progress->failure.length > 0 ? progress->failure : told);
}

static void tell_hindrance(const struct service_look *service, struct manager_progress *progress)
{
	const struct service_sight *is = &service->is;

	if (is->exists && !is->is_ours) {
		progress->status = ENVIRONMENT_DEPLOYMENT_blocked;
		progress->reason = SPAN("SERVICE_NOT_OURS");
		progress->failure = SPAN("a service of this name is there that is not of this "
					 "environment; it is left alone");
	} else if (is_of_this_deployment(service) && service->placement->until_ms > 0) {
		progress->status = ENVIRONMENT_DEPLOYMENT_blocked;
		progress->reason = SPAN("REFUSED");
		progress->failure = service->told;
	} else if (is->failed > 0) {
		tell_failing(service, progress);
	} else if (is->hindrance) {
		progress->status = ENVIRONMENT_DEPLOYMENT_blocked;
		progress->reason = span_of(is->hindrance);
	}
}

static void tell_progress(const struct service_look *service, struct manager_progress *progress)
{
	const struct service_sight *is = &service->is;
	bool ours = is->exists && is->is_ours && !is->drains;

	*progress = (struct manager_progress){.status = ENVIRONMENT_DEPLOYMENT_in_progress,
		.reason = SPAN(""),
		.failure = SPAN(""),
		.what = environment_service_name(service->look->arena, service->name),
		.done = ours && is->runs_it ? service_proven(is) : 0,
		.total = json_get_integer(service->wanted, "desiredCount", 0)};
	if (progress->done > progress->total)
		progress->done = progress->total;
	/* A service that is only scaled has no rollout for it; nor has one that is deployed once more, and may fail now. */
	progress->is_over = ours && is->as_wanted && is->rollout == SERVICE_ROLLOUT_COMPLETED &&
			    is->failed == 0 && is->updated >= progress->total;
	if (ours && is->as_wanted && is->rollout == SERVICE_ROLLOUT_FAILED &&
		!failed_before(service)) {
		tell_failed(service, progress);
		return;
	}
	tell_hindrance(service, progress);
}

/* Before it is told to be stopped, or over: what is under way is halted. */
static bool must_halt(const struct service_look *service,
	const struct environment_deployment_facts *deployment)
{
	if (deployment->status == ENVIRONMENT_DEPLOYMENT_to_be_stopped)
		return span_is(deployment->reason, "STOPPED_BY_USER");
	return manager_ends_ms(service->look, deployment) <= service->look->sight.steady_ms;
}

/* ---- deleting ---- */

/* In one place. *ret_left: it is still there, or may be; else it stays what it was. */
static int delete_service(struct service_look *service, bool *ret_left, struct err *err)
{
	struct manager_look *look = service->look;
	struct json *request = json_new_object(look->arena);
	int code;

	find_placement(service);
	state_watch(look->sight.state, service->place);
	code = describe(service, err);
	if (code == -EAGAIN) {
		*ret_left = true;
		manager_again_at(look, look->sight.steady_ms + MANAGER_BLIND_MS);
		return 0;
	}
	if (code < 0)
		return code;
	if (service->cause.length > 0 || !service->is_caught_up) {
		*ret_left = true;
		return 0;
	}
	judge(service, 0);
	if (!service->is.exists || !service->is.is_ours)
		return service_write_gone(service, err);
	*ret_left = true;
	manager_again_at(look, look->sight.steady_ms + LOOK_DELETING_MS);
	service_want(service);
	if (service->is.drains || service_must_wait(service))
		return 0;
	service_begin_intent(service, ENVIRONMENT_INTENT_stop);
	json_set_string(look->arena, request, "cluster", manager_last_part(service->place));
	json_set_string(look->arena, request, "service", service->intent.instance);
	json_set_bool(look->arena, request, "force", true);
	code = service_ask(service, "DeleteService", request, err);
	return code == -ESTALE ? 0 : code;
}

/* Everywhere but in one place ("": everywhere). */
static int delete_services(struct service_look *service, struct span but, bool *ret_left,
	struct err *err)
{
	struct span rest = environment_facts(service->look->sight.environment)->places, place;
	int code = 0;

	while (code == 0 && span_next_part(&rest, ' ', &place)) {
		struct service_look other = *service;

		if (span_equal(place, but))
			continue;
		other.place = place;
		find_placement(&other);
		/* Where nothing was ever asked for is nothing of ours. */
		if (other.placement || but.length == 0)
			code = delete_service(&other, ret_left, err);
	}
	return code;
}

static int work_deleting(struct service_look *service, bool *ret_more, struct err *err)
{
	struct manager_look *look = service->look;
	bool left = false;
	int code = 0;

	if (environment_facts(look->sight.environment)->terminate)
		code = delete_services(service, SPAN(""), &left, err);
	return code < 0 || left ? code : manager_delete(look, ret_more, err);
}

/* ---- all of it ---- */

static int work_active(struct service_look *service, bool *ret_more, struct err *err)
{
	const struct environment_facts *facts = environment_facts(service->look->sight.environment);
	bool left = false;
	int code;

	if (facts->status != ENVIRONMENT_active || facts->target.length == 0)
		return 0;
	code = change(service, ret_more, err);
	if (code == 0 && !*ret_more && !service->look->sight.rolls &&
		span_equal(facts->completed, facts->target))
		code = delete_services(service, service->place, &left, err);
	return code;
}

/* What there is to be seen, and what is wanted. -EAGAIN: not yet. */
static int see(struct service_look *service, struct err *err)
{
	struct manager_look *look = service->look;
	const struct environment_deployment_facts *deployment =
		find_deployment(look, environment_facts(look->sight.environment)->in_progress);
	int code;

	state_watch(look->sight.state, service->place); /* it tells when tasks come and go */
	find_placement(service);
	code = describe(service, err);
	look->cause = service->cause;
	/* Whoever does not answer is not asked for its task definition, too. */
	if (code < 0 || service->cause.length > 0)
		return code;
	code = make_wanted(service, err);
	if (code == 0)
		judge(service, deployment ? deployment->started_ms : 0);
	return code;
}

/* What was done under a claim before ours may not be seen yet. */
static void take_over(struct service_look *service)
{
	struct manager_look *look = service->look;

	if (look->crew->epoch == look->claim.epoch)
		return;
	look->crew->epoch = look->claim.epoch;
	look->crew->asked_mark = manager_mark(look);
	if (manager_is_elsewhere(service->place)) {
		service->is_caught_up = false;
		service_want(service);
		manager_again_at(look, look->sight.steady_ms + MANAGER_BLIND_MS);
	}
}

/* Moves the deployments along; *ret_changed: the environment is another now. */
static int step(struct service_look *service, bool *ret_changed, struct err *err)
{
	struct manager_look *look = service->look;
	const struct environment_deployment_facts *deployment =
		find_deployment(look, environment_facts(look->sight.environment)->in_progress);
	struct manager_progress progress;
	int code = 0;

	if (service->cause.length > 0)
		return manager_step_deployments(look, ret_changed, err);
	code = deployment && must_halt(service, deployment) ? halt(service, err)
							    : halt_leftover(service, err);
	if (code < 0)
		return code;
	tell_progress(service, &progress);
	look->progress = &progress;
	code = manager_step_deployments(look, ret_changed, err);
	look->progress = NULL;
	return code;
}

int manager_work_service(struct manager_look *look, bool *ret_more, struct err *err)
{
	struct service_look service = {.look = look,
		.name = environment_facts(look->sight.environment)->name,
		.told = SPAN(""),
		.cause = SPAN("")};
	int code;

	if (!look->sight.target)
		return err_set(err, -ENOENT, "the environment has no version");
	service.place = environment_version_facts(look->sight.target)->place;
	code = see(&service, err);
	if (code < 0)
		return code;
	if (service.cause.length == 0)
		publish(&service);
	code = claims_acquire(look->manager->config.claims, look->claim_key, &look->claim, err);
	if (code == -EBUSY)
		return 0; /* another server's; it tells when it is free */
	if (code < 0)
		return code;
	take_over(&service);
	if (service.cause.length == 0 && !service.is_caught_up)
		return 0;
	code = step(&service, ret_more, err);
	if (code < 0 || *ret_more)
		return code;
	if (environment_facts(look->sight.environment)->status == ENVIRONMENT_deleting)
		return work_deleting(&service, ret_more, err);
	if (service.cause.length > 0)
		return 0;
	if (look->sight.rolls) {
		manager_again_at(look, look->sight.steady_ms + LOOK_ROLLING_MS);
		service_want(&service);
	}
	return work_active(&service, ret_more, err);
}
