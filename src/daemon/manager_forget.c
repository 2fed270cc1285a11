/* What is deleted: placements of instances that are gone, and all of an environment, a thousand objects at a time. */
#include "base/memory.h"
#include "daemon/manager_internal.h"
#include "daemon/reserving.h"

#define DELETES_MAX 1000 /* objects in one transaction */

/* ---- forgetting ---- */

static int delete_gone(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct manager_look *look = context;
	size_t count = 0;

	MAP_EACH (&look->crew->gone, entry) {
		int code = store_delete(transaction, &environment_placement_kind, entry->key,
			STORE_ANY, err);

		if (code < 0 && code != -ENOENT)
			return code;
		if (++count == DELETES_MAX)
			return 0;
	}
	return 0;
}

int manager_forget_gone(struct manager_look *look, struct err *err)
{
	int code;

	if (look->crew->gone.count == 0)
		return 0;
	code = claims_write(look->manager->config.claims, &look->claim, delete_gone, look, NULL,
		err);
	if (code == 0)
		map_clear(
			&look->crew
				 ->gone); /* those beyond are found again when all are looked at */
	return code;
}

/* ---- deleting an environment ---- */

struct deleting {
	struct manager_look *look;
	bool more;
};

static int delete_parts(struct store_transaction *transaction, const struct store_kind *kind,
	struct span prefix, size_t *count, struct err *err)
{
	while (*count < DELETES_MAX) {
		struct store_cursor cursor = {.view = store_head(transaction),
			.kind = kind,
			.index = -1,
			.prefix = prefix};
		const struct store_object *part = store_next(&cursor);
		int code;

		if (!part)
			return 0;
		code = store_delete(transaction, kind, part->key, part->revision, err);
		if (code < 0)
			return code;
		++*count;
	}
	return 0;
}

static int write_delete(struct store_transaction *transaction, void *context, struct err *err)
{
	static const struct store_kind *const kinds[] = {&environment_placement_kind,
		&environment_run_kind, &environment_deployment_kind, &environment_version_kind};
	struct deleting *deleting = context;
	const struct manager_look *look = deleting->look;
	struct span prefix =
		arena_format(look->arena, "%.*s/", SPAN_ARGS(look->sight.environment->key));
	size_t count = 0;
	int code = 0;

	for (size_t i = 0; code == 0 && i < LENGTH(kinds); i++)
		code = delete_parts(transaction, kinds[i], prefix, &count, err);
	deleting->more = count == DELETES_MAX;
	if (code == 0 && !deleting->more)
		code = environment_unreserve(transaction,
			environment_facts(look->sight.environment), err);
	if (code < 0 || deleting->more)
		return code;
	code = store_delete(transaction, &environment_kind, look->sight.environment->key, STORE_ANY,
		err);
	return code < 0 ? code
			: claims_forget(look->manager->config.claims, transaction, &look->claim,
				  err);
}

int manager_delete(struct manager_look *look, bool *ret_more, struct err *err)
{
	struct deleting deleting = {.look = look};
	int code = claims_write(look->manager->config.claims, &look->claim, write_delete, &deleting,
		NULL, err);

	*ret_more = deleting.more;
	return code;
}
