/* See the header. */
#include "environment/model/reserving.h"

#include "ecs/record/reservation.h"

/* The version that its instances shall run; NULL: nothing is reserved for it. */
static const struct environment_version_facts *find_reserving(struct store_transaction *transaction,
	struct span environment_key, const struct environment_facts *facts)
{
	const struct store_object *version;

	if (facts->type != ENVIRONMENT_TYPE_Daemon || facts->status != ENVIRONMENT_active ||
		facts->target.length == 0)
		return NULL;
	version = store_get(store_head(transaction), &environment_version_kind,
		environment_child_key(store_transaction_arena(transaction), environment_key,
			facts->target));
	/* Remote clusters do their own placement. */
	if (!version || cluster_ref_is_remote(cluster_ref_of(environment_version_facts(version)
								     ->cluster_ref)))
		return NULL;
	return environment_version_facts(version);
}

/* "arn:…:task-definition/FAMILY:REVISION" */
static bool read_definition(struct span arn, struct reservation_facts *ret_facts)
{
	uint64_t revision;
	struct span rest;

	for (size_t i = arn.length; i > 0; i--) {
		if (arn.data[i - 1] != '/')
			continue;
		rest = (struct span){arn.data + i, arn.length - i};
		if (!span_split(rest, ':', &ret_facts->family, &rest) ||
			!span_to_unsigned(rest, INT32_MAX, &revision))
			return false;
		ret_facts->revision = (int64_t)revision;
		return true;
	}
	return false;
}

int environment_unreserve(struct store_transaction *transaction,
	const struct environment_facts *facts, struct err *err)
{
	int code;

	if (facts->reserved.length == 0)
		return 0;
	code = store_delete(transaction, &reservation_kind, facts->reserved, STORE_ANY, err);
	return code == -ENOENT ? 0 : code;
}

int environment_reserve(struct store_transaction *transaction, struct span environment_key,
	struct environment_facts *facts, int64_t now_ms, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct environment_version_facts *version =
		find_reserving(transaction, environment_key, facts);
	struct reservation_facts wanted = {0};
	const struct store_object *now;
	struct span key = SPAN("");
	int code = 0;

	if (version && read_definition(version->task_definition, &wanted))
		key = reservation_key(arena,
			(struct span){
				version->cluster_ref.data + 1, version->cluster_ref.length - 1},
			arena_format(arena, ENVIRONMENT_GROUP_PREFIX "%.*s",
				SPAN_ARGS(environment_name_of_key(environment_key))));
	if (!span_equal(key, facts->reserved)) {
		code = environment_unreserve(transaction, facts, err);
		facts->reserved = key;
	}
	if (code < 0 || key.length == 0)
		return code;
	wanted.attributes = version->attributes;
	wanted.since_ms = now_ms;
	wanted.priority = version->priority;
	now = store_get(store_head(transaction), &reservation_kind, key);
	if (now && span_equal(reservation_facts(now)->attributes, wanted.attributes)) {
		wanted.since_ms = reservation_facts(now)->since_ms;
		if (span_equal(reservation_facts(now)->family, wanted.family) &&
			reservation_facts(now)->revision == wanted.revision &&
			reservation_facts(now)->priority == wanted.priority)
			return 0;
	}
	return reservation_put(transaction, key, &wanted, err);
}
