/*
 * A pass over a Service environment: an ECS service as the target version requires it. ECS rolls it out; the pass
 * creates, updates and deletes the service (decide/service_step.h), and reports how far its deployment is.
 *
 * Each call is recorded first, in the placement of the service: for which deployment, and which deployment of ECS existed
 * before. After a crash the service itself shows whether the call took effect: CreateService has a client token, and an
 * UpdateService that changes nothing has no effect. A service without our tag is never changed.
 *
 * A service of this server is described in each pass. For remote clusters the observer describes it repeatedly; nothing
 * is decided on a stale state, or on one from before the last call.
 */
#include <stdio.h>

#include "base/memory.h"
#include "delivery/cluster_ref.h"
#include "environment/act/service.h"
#include "environment/decide/failure_text.h"
#include "environment/model/deployment_states.h"
#include "environment/model/environment_type.h"
#include "environment/model/matching.h"

#define RECHECK_MS 200
#define POLL_ROLLING_MS 2000 /* while a deployment is in progress */
#define POLL_DELETING_MS 500

/* ---- looking ---- */

static void find_placement(struct service_pass *service)
{
	struct arena *arena = service->pass->arena;
	const struct store_object *object = store_get(service->pass->input.view,
		&environment_placement_kind, service_placement_key(service, arena));
	struct json *kept;

	service->state.placement = object ? environment_placement_facts(object) : NULL;
	service->state.reported = SPAN("");
	if (object && json_parse(object->api, arena, &kept, NULL) == 0 &&
		json_get_text(kept, "reason").data)
		service->state.reported = json_get_text(kept, "reason");
}

/* Task definitions never change: what was found out for a version holds. */
static bool recall_balancer(const struct service_pass *service, const struct json **ret_balancer)
{
	const struct manager_pass *pass = service->pass;
	struct json *kept;

	if (!service->memory->balancer ||
		!span_is(environment_version_facts(pass->input.target)->id,
			service->memory->balancer_of) ||
		json_parse(span_of(service->memory->balancer), pass->arena, &kept, NULL) < 0)
		return false;
	*ret_balancer = kept;
	return true;
}

static void remember_balancer(const struct service_pass *service, const struct json *balancer)
{
	const struct manager_pass *pass = service->pass;
	struct service_memory *memory = service->memory;
	struct span text = json_to_text(balancer, pass->arena);

	free(memory->balancer);
	memory->balancer = memory_copy_string_n(text.data, text.length);
	snprintf(memory->balancer_of, sizeof(memory->balancer_of), "%.*s",
		SPAN_ARGS(environment_version_facts(pass->input.target)->id));
}

/* Completes a load balancer of which the request leaves out the container or port, from the task definition. */
static int complete_balancer(struct service_pass *service, const struct json *requested,
	const struct json **ret_balancer, struct err *err)
{
	struct manager_pass *pass = service->pass;
	struct json *created = json_copy_object(pass->arena, requested),
		    *request = json_new_object(pass->arena), *answer = NULL;
	struct aws_call_failure failure;
	struct span name = json_get_text(requested, "containerName");
	int code;

	*ret_balancer = created;
	if (name.data && !json_is_absent(json_get(requested, "containerPort")))
		return 0;
	if (recall_balancer(service, ret_balancer))
		return 0;
	json_set_string(pass->arena, request, "taskDefinition",
		environment_version_facts(pass->input.target)->task_definition);
	code = manager_read(pass, service->state.cluster, "DescribeTaskDefinition", request,
		&answer, &failure, err);
	JSON_EACH_ITEM (json_path(answer, "taskDefinition.containerDefinitions"), container) {
		const struct json *port = json_item(json_get(container, "portMappings"), 0);

		if (name.data ? !span_equal(name, json_get_text(container, "name")) : !port)
			continue;
		json_set(pass->arena, created, "containerName", json_get(container, "name"));
		if (json_is_absent(json_get(requested, "containerPort")))
			json_set(pass->arena, created, "containerPort",
				json_get(port, "containerPort"));
		break;
	}
	if (code == 0)
		remember_balancer(service, created);
	return code == -EREMOTEIO ? 0 : code;
}

static int make_wanted(struct service_pass *service, struct err *err)
{
	struct manager_pass *pass = service->pass;
	const struct json *version = manager_version_document(pass, pass->input.target),
			  *requested = json_path(version, "deploymentConfiguration.loadBalancer"),
			  *balancer = NULL;
	int code = json_is(requested, JSON_OBJECT)
			   ? complete_balancer(service, requested, &balancer, err)
			   : 0;

	if (code == 0)
		service->state.wanted = service_wanted(pass->arena, service->state.cluster.cluster,
			service->state.name, version, balancer);
	return code;
}

/* As the state service has it. -EAGAIN: nothing has been heard of it yet, good or bad. */
static int see_remote(struct service_pass *service, struct err *err)
{
	struct manager_pass *pass = service->pass;
	struct observe_service_info info;

	observe_get_service(pass->input.state, service->state.cluster,
		environment_service_name(pass->arena, service->state.name), pass->arena, &info);
	if (!info.known && !info.error[0]) {
		service_want(service);
		return err_set(err, -EAGAIN, "service of %.*s is not known yet",
			SPAN_ARGS(service->state.name));
	}
	if (info.stale) {
		service->cause = failure_reason(pass->arena,
			info.known ? "CLUSTER_STALE" : "CLUSTER_UNKNOWN",
			span_of(info.error[0] ? info.error : "asking for the service takes long"));
		manager_again_at(pass, pass->input.steady_ms + MANAGER_BLIND_MS);
		return 0;
	}
	service->is_caught_up = info.resource_version >= service->memory->expected_resource_version;
	if (!service->is_caught_up) {
		service_want(service);
		manager_again_at(pass, pass->input.steady_ms + MANAGER_BLIND_MS);
	}
	service->described = info.service;
	return 0;
}

/* 0 also when there is no such cluster: then there is no service, and creating it says why. */
static int describe_here(struct service_pass *service, struct err *err)
{
	struct manager_pass *pass = service->pass;
	struct arena *arena = pass->arena;
	struct json *request = json_new_object(arena), *services = json_new_array(arena),
		    *include = json_new_array(arena), *answer = NULL;
	struct aws_call_failure failure;
	int code;

	json_append(arena, services,
		json_new_string(arena, environment_service_name(arena, service->state.name)));
	json_append(arena, include, json_new_string(arena, SPAN("TAGS")));
	json_set_string(arena, request, "cluster", service->state.cluster.cluster);
	json_set(arena, request, "services", services);
	json_set(arena, request, "include", include);
	code = manager_read(pass, service->state.cluster, "DescribeServices", request, &answer,
		&failure, err);
	if (code == -EREMOTEIO && strcmp(failure.type, "ClusterNotFoundException") != 0)
		return code;
	if (code < 0 && code != -EREMOTEIO)
		return code;
	service->described = json_item(json_get(answer, "services"), 0);
	service->is_caught_up = true;
	return 0;
}

static int describe(struct service_pass *service, struct err *err)
{
	service->cause = SPAN("");
	service->is_caught_up = false;
	return cluster_ref_is_remote(service->state.cluster) ? see_remote(service, err)
							     : describe_here(service, err);
}

/* Compares the described service with the desired one. A remote ECS has another clock. */
static void judge(struct service_pass *service, int64_t since_ms)
{
	service_observe(service->described, service->state.wanted, service->state.name,
		cluster_ref_is_remote(service->state.cluster) ? SERVICE_SINCE_ROLLOUT : since_ms,
		&service->state.is);
}

static void publish(const struct service_pass *service)
{
	struct environment_counts counts;

	service_count(&service->state.is,
		json_get_integer(service->state.wanted, "desiredCount", 0), &counts);
	environment_state_set_counts(service->pass->state, &counts);
}

/* ---- rolling out ---- */

static int change(struct service_pass *service, bool *ret_more, struct err *err)
{
	struct manager_pass *pass = service->pass;
	struct json *request;
	int code;

	if (!service_needs_change(&service->state) || service->state.is.drains ||
		(service->state.is.exists && !service->state.is.is_ours))
		return 0;
	if (service_must_wait(service)) {
		manager_again_when(pass, service->state.placement->until_ms);
		return 0;
	}
	service_begin_intent(service, ENVIRONMENT_INTENT_start);
	if (service->state.is.exists) {
		request = service_wanted_update(pass->arena, service->state.wanted,
			service_failed_before(&service->state));
		code = service_send(service, "UpdateService", request, err);
	} else {
		request = json_copy_object(pass->arena, service->state.wanted);
		json_set_string(pass->arena, request, "clientToken",
			manager_token(pass, "create/%.*s/%.*s/%lld",
				SPAN_ARGS(service->state.cluster.text),
				SPAN_ARGS(service->intent.version),
				(long long)service->intent.attempt));
		code = service_send(service, "CreateService", request, err);
	}
	*ret_more = code == 0 && service->refused.length == 0;
	/* Our lease does not outlast a call: soon it does, or another server has the claim. */
	if (code == -ESTALE)
		manager_again_at(pass, pass->input.steady_ms + RECHECK_MS);
	return code == -ESTALE ? 0 : code;
}

/* That what was asked for is halted, so that what is rolled out by hand later is left alone. */
static int write_halted(struct service_pass *service, struct err *err)
{
	int code;

	if (!service->state.placement ||
		service->state.placement->intent != ENVIRONMENT_INTENT_start)
		return 0;
	service->intent = *service->state.placement;
	service->intent.intent = ENVIRONMENT_INTENT_stop;
	service->refused = service->state.reported;
	code = service_write_intent(service, err);
	return code == -ESTALE ? 0 : code;
}

/* Stops the rollout, which ECS would continue. Nothing depends on the answer: a remote rollout that could not be stopped is
 * stopped later (halt_leftover). */
static int halt(struct service_pass *service, struct err *err)
{
	struct manager_pass *pass = service->pass;
	struct json *request = json_new_object(pass->arena);
	struct span role = manager_role(pass, service->state.cluster, SPAN(""));
	struct outcall_result result;
	int code;

	if (!service_is_rolling_out(&service->state) ||
		!manager_enter(pass->manager, service->state.cluster))
		return 0;
	json_set_string(pass->arena, request, "serviceDeploymentArn",
		service->state.is.deployment_arn);
	json_set_string(pass->arena, request, "stopType", SPAN("ABORT"));
	code = manager_send(pass, service->state.cluster, role, "StopServiceDeployment", request,
		&result, err);
	manager_leave(pass->manager, service->state.cluster);
	if (!cluster_ref_is_remote(service->state.cluster))
		return code < 0 ? code : result.code == -EREMOTEIO ? 0 : result.code;
	service->memory->expected_resource_version = manager_resource_version(pass);
	service_want(service);
	if (code < 0)
		return manager_ends_pass(code) ? code : 0;
	/* A refusal would be repeated: we may not stop it, or there is nothing to stop. */
	return result.is_unavailable ? 0 : write_halted(service, err);
}

static const struct environment_deployment_facts *find_deployment(const struct manager_pass *pass,
	struct span id)
{
	const struct store_object *object = environment_deployment_of(pass->input.view, pass->arena,
		pass->input.environment->key, id);

	return object ? environment_deployment_facts(object) : NULL;
}

/* A deployment that ended while its target was unavailable: its rollout is stopped when the target answers again. */
static int halt_leftover(struct service_pass *service, struct err *err)
{
	if (!cluster_ref_is_remote(service->state.cluster) ||
		!service_has_leftover(&service->state))
		return 0;
	return service_is_rolling_out(&service->state) ? halt(service, err)
						       : write_halted(service, err);
}

/* ---- deleting ---- */

/* In one place. *ret_left: it is still there, or may be; else it stays what it was. */
static int delete_service(struct service_pass *service, bool *ret_left, struct err *err)
{
	struct manager_pass *pass = service->pass;
	struct json *request = json_new_object(pass->arena);
	int code;

	find_placement(service);
	manager_want(pass, service->state.cluster);
	code = describe(service, err);
	if (code == -EAGAIN) {
		*ret_left = true;
		manager_again_at(pass, pass->input.steady_ms + MANAGER_BLIND_MS);
		return 0;
	}
	if (code < 0)
		return code;
	if (service->cause.length > 0 || !service->is_caught_up) {
		*ret_left = true;
		return 0;
	}
	judge(service, 0);
	if (!service->state.is.exists || !service->state.is.is_ours)
		return service_write_gone(service, err);
	*ret_left = true;
	manager_again_at(pass, pass->input.steady_ms + POLL_DELETING_MS);
	service_want(service);
	if (service->state.is.drains || service_must_wait(service))
		return 0;
	service_begin_intent(service, ENVIRONMENT_INTENT_stop);
	json_set_string(pass->arena, request, "cluster", service->state.cluster.cluster);
	json_set_string(pass->arena, request, "service", service->intent.instance);
	json_set_bool(pass->arena, request, "force", true);
	code = service_send(service, "DeleteService", request, err);
	return code == -ESTALE ? 0 : code;
}

/* Everywhere but in one place ("": everywhere). */
static int delete_services(struct service_pass *service, struct cluster_ref but, bool *ret_left,
	struct err *err)
{
	struct span rest = environment_facts(service->pass->input.environment)->cluster_refs;
	struct cluster_ref cluster;
	int code = 0;

	while (code == 0 && environment_next_cluster(&rest, &cluster)) {
		struct service_pass other = *service;

		if (cluster_ref_equal(cluster, but))
			continue;
		other.state.cluster = cluster;
		find_placement(&other);
		/* Where nothing was ever asked for is nothing of ours. */
		if (other.state.placement || but.text.length == 0)
			code = delete_service(&other, ret_left, err);
	}
	return code;
}

static int work_deleting(struct service_pass *service, bool *ret_more, struct err *err)
{
	struct manager_pass *pass = service->pass;
	bool left = false;
	int code = 0;

	if (environment_facts(pass->input.environment)->terminate)
		code = delete_services(service, cluster_ref_of(SPAN("")), &left, err);
	return code < 0 || left ? code : manager_delete(pass, ret_more, err);
}

/* ---- all of it ---- */

static int work_active(struct service_pass *service, bool *ret_more, struct err *err)
{
	const struct environment_facts *facts = environment_facts(service->pass->input.environment);
	bool left = false;
	int code;

	if (facts->status != ENVIRONMENT_active || facts->target.length == 0)
		return 0;
	code = change(service, ret_more, err);
	if (code == 0 && !*ret_more && !service->pass->input.rolls &&
		span_equal(facts->completed, facts->target))
		code = delete_services(service, service->state.cluster, &left, err);
	return code;
}

/* The described and the desired service. -EAGAIN: not known yet. */
static int see(struct service_pass *service, struct err *err)
{
	struct manager_pass *pass = service->pass;
	const struct environment_deployment_facts *deployment =
		find_deployment(pass, environment_facts(pass->input.environment)->in_progress);
	int code;

	manager_want(pass, service->state.cluster); /* reports changes of its tasks */
	find_placement(service);
	code = describe(service, err);
	/* A cluster that does not answer is not asked for its task definition either. */
	if (code < 0 || service->cause.length > 0)
		return code;
	code = make_wanted(service, err);
	if (code == 0)
		judge(service, deployment ? deployment->started_ms : 0);
	return code;
}

/* Calls under an earlier claim may not be observed yet. */
static void take_over(struct service_pass *service)
{
	struct manager_pass *pass = service->pass;

	if (service->memory->epoch == pass->claim.epoch)
		return;
	service->memory->epoch = pass->claim.epoch;
	service->memory->expected_resource_version = manager_resource_version(pass);
	if (cluster_ref_is_remote(service->state.cluster)) {
		service->is_caught_up = false;
		service_want(service);
		manager_again_at(pass, pass->input.steady_ms + MANAGER_BLIND_MS);
	}
}

/* Moves the deployments along; *ret_changed: the environment is another now. */
static int step(struct service_pass *service, bool *ret_changed, struct err *err)
{
	struct manager_pass *pass = service->pass;
	const struct environment_deployment_facts *deployment =
		find_deployment(pass, environment_facts(pass->input.environment)->in_progress);
	struct deployment_progress progress;
	int code = 0;

	if (service->cause.length > 0)
		return manager_step_deployments(pass, NULL, service->cause, ret_changed, err);
	code = deployment && service_must_halt(&service->state, deployment)
		       ? halt(service, err)
		       : halt_leftover(service, err);
	if (code < 0)
		return code;
	service_report_progress(&service->state, &progress);
	return manager_step_deployments(pass, &progress, SPAN(""), ret_changed, err);
}

static int work_in(struct service_pass *service, bool *ret_more, struct err *err)
{
	struct manager_pass *pass = service->pass;
	int code = see(service, err);

	if (code < 0)
		return code;
	if (service->cause.length == 0)
		publish(service);
	code = claims_acquire(pass->manager->config.claims, pass->claim_key, &pass->claim, err);
	if (code == -EBUSY)
		return 0; /* another server has the claim; claim_freed() starts a pass */
	if (code < 0)
		return code;
	take_over(service);
	if (service->cause.length == 0 && !service->is_caught_up)
		return 0;
	code = step(service, ret_more, err);
	if (code < 0 || *ret_more)
		return code;
	if (environment_facts(pass->input.environment)->status == ENVIRONMENT_deleting)
		return work_deleting(service, ret_more, err);
	if (service->cause.length > 0)
		return 0;
	if (pass->input.rolls) {
		manager_again_at(pass, pass->input.steady_ms + POLL_ROLLING_MS);
		service_want(service);
	}
	return work_active(service, ret_more, err);
}

/* ---- the services that it wants from the observer ---- */

static void want_services(const struct service_pass *service)
{
	const struct manager_pass *pass = service->pass;
	struct map *wanted = &service->memory->wanted_services;
	struct span rest = environment_facts(pass->input.environment)->cluster_refs;
	struct cluster_ref cluster;

	while (environment_next_cluster(&rest, &cluster)) {
		if (!cluster_ref_is_remote(cluster) || map_has(wanted, cluster.text))
			continue;
		observe_want_service(pass->input.state, cluster,
			environment_service_name(pass->arena, service->state.name));
		map_put(wanted, cluster.text, wanted);
	}
}

/* Those in clusters of which `facts` has none; NULL: all. */
static void release_services(struct service_memory *memory, struct observer *observer,
	struct span name, const struct environment_facts *facts)
{
	_arena_ struct arena *arena = arena_new(0);

	MAP_EACH (&memory->wanted_services, entry) {
		if (facts && environment_has_cluster(facts, cluster_ref_of(entry->key)))
			continue;
		observe_release_service(observer, cluster_ref_of(entry->key),
			environment_service_name(arena, name));
		map_remove(&memory->wanted_services, entry->key);
	}
}

/* ---- the operations of the type ---- */

static void *new_own(struct manager *manager, struct span environment)
{
	(void)manager;
	(void)environment;
	return memory_allocate(sizeof(struct service_memory));
}

static void free_own(void *own)
{
	struct service_memory *memory = own;

	map_clear(&memory->wanted_services);
	free(memory->balancer);
	free(memory);
}

static void release(struct manager *manager, struct environment_state *state)
{
	release_services(state->own, manager->state, environment_name_of_key(state->key), NULL);
}

static int work(struct manager_pass *pass, bool *ret_more, struct err *err)
{
	struct service_pass service = {.pass = pass,
		.memory = pass->state->own,
		.state = {.memory = &pass->state->deployment,
			.observed = &pass->input,
			.name = environment_facts(pass->input.environment)->name,
			.reported = SPAN("")},
		.cause = SPAN("")};
	int code;

	if (!pass->input.target)
		return err_set(err, -ENOENT, "the environment has no version");
	service.state.cluster =
		cluster_ref_of(environment_version_facts(pass->input.target)->cluster_ref);
	want_services(&service);
	code = work_in(&service, ret_more, err);
	release_services(service.memory, pass->input.state, service.state.name,
		environment_facts(pass->input.environment));
	return code;
}

const struct environment_operations manager_service_operations = {
	.new_own = new_own,
	.free_own = free_own,
	.release = release,
	.work = work,
};
