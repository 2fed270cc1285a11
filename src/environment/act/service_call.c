/*
 * Calls that create, update or delete an ECS service: the intent is written first, in the placement of the service, then
 * the call is made, and a refusal is written. A call to a remote ECS that got no answer may have taken effect: the service
 * is observed before the next call.
 */
#include "base/memory.h"
#include "delivery/cluster_ref.h"
#include "environment/act/service.h"
#include "environment/model/environment_type.h"

#define NOT_NOW_MS 200 /* all slots for remote calls are busy */

struct span service_placement_key(const struct service_pass *service, struct arena *arena)
{
	return environment_placement_key(arena, service->pass->input.environment->key,
		service->state.cluster, environment_service_name(arena, service->state.name));
}

/* ---- writing ---- */

static int put_intent(struct store_transaction *transaction, const struct service_pass *service,
	struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct span api = SPAN("");

	if (service->refused.length > 0) {
		struct json *document = json_new_object(arena);

		json_set_string(arena, document, "reason", service->refused);
		api = json_to_text(document, arena);
	}
	return environment_put(transaction, &environment_placement_kind,
		service_placement_key(service, arena), api, &service->intent, STORE_ANY, err);
}

static int write_intent(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct service_pass *service = context;

	if (!manager_is_still_wanted(transaction, service->pass))
		return err_set(err, -ESTALE, "the environment has changed");
	return put_intent(transaction, service, err);
}

static int write_refusal(struct store_transaction *transaction, void *context, struct err *err)
{
	return put_intent(transaction, context, err);
}

static int write_gone(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct service_pass *service = context;
	int code = store_delete(transaction, &environment_placement_kind,
		service_placement_key(service, store_transaction_arena(transaction)), STORE_ANY,
		err);

	return code == -ENOENT ? 0 : code;
}

static int write_down(struct service_pass *service, store_write_function function, struct err *err)
{
	struct manager_pass *pass = service->pass;

	return claims_write(pass->manager->config.claims, &pass->claim, function, service, NULL,
		err);
}

int service_write_intent(struct service_pass *service, struct err *err)
{
	return write_down(service, write_intent, err);
}

int service_write_gone(struct service_pass *service, struct err *err)
{
	return write_down(service, write_gone, err);
}

/* ---- intents ---- */

bool service_must_wait(const struct service_pass *service)
{
	return service_is_same_ask(&service->state) &&
	       manager_must_wait(service->pass, service->state.placement->until_ms,
		       PLACEMENT_REFUSED_MOST_MS);
}

void service_want(const struct service_pass *service)
{
	const struct manager_pass *pass = service->pass;

	if (cluster_ref_is_remote(service->state.cluster))
		observe_refresh_service(pass->input.state, service->state.cluster,
			environment_service_name(pass->arena, service->state.name));
}

void service_begin_intent(struct service_pass *service, enum environment_intent intent)
{
	struct manager_pass *pass = service->pass;
	const struct environment_facts *facts = environment_facts(pass->input.environment);
	bool again = service_is_same_ask(&service->state) && service->state.placement->until_ms > 0;

	service->intent =
		(struct environment_placement_facts){.cluster_ref = service->state.cluster.text,
			.instance = environment_service_name(pass->arena, service->state.name),
			.version = facts->target,
			.deployment = facts->in_progress,
			.task = service->state.is.deployment,
			.intent = intent,
			.intent_ms = pass->input.now_ms,
			.epoch = (int64_t)pass->claim.epoch,
			.attempt = service->state.placement ? service->state.placement->attempt : 0,
			.failures = again ? service->state.placement->failures : 0};
	/* A service that was there and is not any more is another one the next time. */
	if (!service->state.is.exists && service->state.placement &&
		service->state.placement->task.length > 0)
		service->intent.attempt++;
	service->refused = SPAN("");
}

/* Later each time. What may have happened stays intended. */
static int refuse(struct service_pass *service, struct span reason, bool surely, struct err *err)
{
	service->intent.until_ms = manager_refused_until(service->pass, ++service->intent.failures);
	if (surely)
		service->intent.intent = ENVIRONMENT_INTENT_none;
	service->refused = arena_copy_span(service->pass->arena, reason);
	manager_again_when(service->pass, service->intent.until_ms);
	return write_down(service, write_refusal, err);
}

static int call_ecs(struct service_pass *service, const struct outcall *call, const char *operation,
	const struct json *request, struct err *err)
{
	struct manager_pass *pass = service->pass;
	struct outcall_result result;
	int code = outcall_send(call, operation, request, &result, err);

	if (call->is_remote) {
		service->memory->expected_resource_version = manager_resource_version(pass);
		service_want(service);
	}
	if (code < 0 || result.outcome == OUTCALL_DONE)
		return code;
	if (result.code != -EREMOTEIO && !call->is_remote)
		return result.code;
	return refuse(service, result.reason, result.outcome == OUTCALL_REFUSED, err);
}

int service_send(struct service_pass *service, const char *operation, const struct json *request,
	struct err *err)
{
	struct manager_pass *pass = service->pass;
	struct span role = manager_role(pass, service->state.cluster,
		service->state.placement ? service->state.placement->version : SPAN(""));
	struct outcall call;
	int code;

	if (!manager_enter(pass->manager, service->state.cluster)) {
		manager_again_at(pass, pass->input.steady_ms + NOT_NOW_MS);
		return err_set(err, -ESTALE, "others are calling");
	}
	code = manager_outcall(pass, service->state.cluster, role, &call, err);
	if (code == 0)
		code = outcall_prepare(&call, err);
	if (code == 0)
		code = service_write_intent(service, err);
	else if (!manager_ends_pass(code))
		code = refuse(service, span_of(err->message), true, err);
	if (code == 0 && service->refused.length == 0)
		code = call_ecs(service, &call, operation, request, err);
	manager_leave(pass->manager, service->state.cluster);
	return code;
}
