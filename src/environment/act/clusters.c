/* Which clusters and services the environments need, for the observer; and the targets of calls. */
#include "base/memory.h"
#include "environment/act/pass.h"
#include "environment/model/environment_type.h"

bool manager_is_remote(struct span cluster_ref)
{
	return cluster_ref.length > 0 && cluster_ref.data[0] != ':';
}

struct aws_target *manager_resolve(void *context, struct span cluster_ref)
{
	struct manager *manager = context;

	return delivery_targets_get_reader(manager->targets, cluster_ref);
}

int64_t manager_get_poll_ms(void *context, struct span cluster_ref)
{
	const struct manager *manager = context;

	return delivery_targets_poll_ms(manager->targets, cluster_ref);
}

bool manager_is_wanted(void *context, struct span cluster_ref)
{
	const struct manager *manager = context;
	_view_ struct store_view *view = store_view_open(manager->config.store);

	_arena_ struct arena *arena = arena_new(0);

	/* Clusters that have or may have tasks, and the cluster of the latest version. */
	return store_count(view, &environment_kind, ENVIRONMENT_BY_CLUSTER_REF, cluster_ref, true) >
		       0 ||
	       store_count(view, &environment_kind, ENVIRONMENT_BY_CLAIM,
		       arena_format(arena, "%.*s ", SPAN_ARGS(cluster_ref)), false) > 0;
}

size_t manager_list_services(void *context, struct span cluster_ref, struct arena *arena,
	struct span **ret_names)
{
	const struct manager *manager = context;
	_view_ struct store_view *view = store_view_open(manager->config.store);
	struct store_cursor cursor = environments_at(view, cluster_ref);
	const struct store_object *environment;
	size_t count = 0;

	*ret_names = arena_allocate_array(arena,
		store_count(view, &environment_kind, ENVIRONMENT_BY_CLUSTER_REF, cluster_ref,
			true) +
			1,
		sizeof(**ret_names));
	while ((environment = store_next(&cursor)))
		if (environment_facts(environment)->type == ENVIRONMENT_TYPE_Service)
			(*ret_names)[count++] = environment_service_name(arena,
				environment_facts(environment)->name);
	return count;
}
