/* Deletes all records of an environment, a thousand in one transaction. */
#include "base/memory.h"
#include "environment/act/pass.h"

#define DELETES_MAX 1000 /* objects in one transaction */

struct deleting {
	struct manager_pass *pass;
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
	const struct manager_pass *pass = deleting->pass;
	struct span prefix =
		arena_format(pass->arena, "%.*s/", SPAN_ARGS(pass->input.environment->key));
	size_t count = 0;
	int code = 0;

	for (size_t i = 0; code == 0 && i < LENGTH(kinds); i++)
		code = delete_parts(transaction, kinds[i], prefix, &count, err);
	deleting->more = count == DELETES_MAX;
	if (code < 0 || deleting->more)
		return code;
	code = store_delete(transaction, &environment_kind, pass->input.environment->key, STORE_ANY,
		err);
	return code < 0 ? code
			: claims_forget(pass->manager->config.claims, transaction, &pass->claim,
				  err);
}

int manager_delete(struct manager_pass *pass, bool *ret_more, struct err *err)
{
	struct deleting deleting = {.pass = pass};
	int code = claims_write(pass->manager->config.claims, &pass->claim, write_delete, &deleting,
		NULL, err);

	*ret_more = deleting.more;
	return code;
}
