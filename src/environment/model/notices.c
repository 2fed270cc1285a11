/* See the header. */
#include "environment/model/notices.h"

#include "environment/model/context.h"
#include "environment/model/deployment_states.h"

const struct notice_type environment_notice_type = {
	.name = "environment", .prefix = "", .kind = &environment_kind};

/* Counts the notice and writes it for the webhooks that subscribe to it. */
static int add(struct store_transaction *transaction, const struct webhook_set *set,
	struct span environment_key, struct environment_facts *environment, struct notice *notice,
	struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct json *details = json_new_object(arena);

	json_set_string(arena, details, "environmentType",
		span_of(environment_type_name(environment->type)));
	notice->details = details;
	notice->subject = (struct notice_subject){.type = &environment_notice_type,
		.key = environment_key,
		.created_ms = environment->created_ms,
		.sequence = ++environment->notice_count};
	return notice_add(transaction, set, notice, err);
}

int environment_notice_deployment(struct store_transaction *transaction,
	const struct webhook_set *set, struct span environment_key,
	struct environment_facts *environment, struct span deployment, int64_t now_ms,
	struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct notice notice = {.now_ms = now_ms, .member = "deployment"};
	const struct store_object *object;

	if (!set || set->count == 0)
		return 0;
	object = environment_deployment_of(store_head(transaction), arena, environment_key,
		deployment);
	if (!object)
		return 0;
	notice.event = arena_format(arena, "deployment.%s",
		environment_deployment_status_name(environment_deployment_facts(object)->status));
	notice.document = environment_deployment_document(store_head(transaction), arena, object);
	return add(transaction, set, environment_key, environment, &notice, err);
}

int environment_notice_health(struct store_transaction *transaction, const struct webhook_set *set,
	struct span environment_key, struct environment_facts *environment, int64_t now_ms,
	struct err *err)
{
	struct notice notice = {.now_ms = now_ms,
		.event =
			environment->unhealthy ? SPAN("health.unhealthy") : SPAN("health.healthy")};

	if (!set || set->count == 0)
		return 0;
	return add(transaction, set, environment_key, environment, &notice, err);
}
