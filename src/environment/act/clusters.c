/* Clusters and ECS services that an environment wants from the observer. */
#include "base/memory.h"
#include "delivery/cluster_ref.h"
#include "environment/act/pass.h"
#include "environment/model/environment_type.h"

void manager_want(struct manager_pass *pass, struct span cluster_ref)
{
	struct delivery_targets *targets = pass->manager->targets;
	struct map *wanted = &pass->instances->wanted_clusters;

	if (map_has(wanted, cluster_ref))
		return;
	if (observe_want(pass->input.state, cluster_ref,
		    delivery_targets_get_reader(targets, cluster_ref),
		    delivery_targets_poll_ms(targets, cluster_ref), NULL) == 0)
		map_put(wanted, cluster_ref, wanted);
}

static bool has_part(struct span parts, struct span cluster_ref)
{
	struct span part;

	while (span_next_part(&parts, ' ', &part))
		if (span_equal(part, cluster_ref))
			return true;
	return false;
}

/* "CLUSTER_REF TASK-DEFINITION-ARN;…": where the latest version would have tasks, too. */
static bool next_claimed(struct span *claims, struct span *ret_cluster_ref)
{
	struct span claim, definition;

	while (span_next_part(claims, ';', &claim))
		if (span_split(claim, ' ', ret_cluster_ref, &definition))
			return true;
	return false;
}

static bool is_claimed(struct span claims, struct span cluster_ref)
{
	struct span claimed;

	while (next_claimed(&claims, &claimed))
		if (span_equal(claimed, cluster_ref))
			return true;
	return false;
}

void manager_want_all(struct manager_pass *pass)
{
	const struct environment_facts *facts = environment_facts(pass->input.environment);
	struct map *services = &pass->instances->wanted_services;
	struct span rest = facts->cluster_refs, claims = facts->claims_on, cluster_ref;

	while (span_next_part(&rest, ' ', &cluster_ref)) {
		manager_want(pass, cluster_ref);
		if (facts->type != ENVIRONMENT_TYPE_Service ||
			!cluster_ref_is_remote(cluster_ref) || map_has(services, cluster_ref))
			continue;
		observe_want_service(pass->input.state, cluster_ref,
			environment_service_name(pass->arena, facts->name));
		map_put(services, cluster_ref, services);
	}
	while (next_claimed(&claims, &cluster_ref))
		manager_want(pass, cluster_ref);
}

void manager_release_others(struct manager_pass *pass)
{
	const struct environment_facts *facts = environment_facts(pass->input.environment);
	struct instances *instances = pass->instances;

	MAP_EACH (&instances->wanted_services, entry) {
		if (has_part(facts->cluster_refs, entry->key))
			continue;
		observe_release_service(pass->input.state, entry->key,
			environment_service_name(pass->arena, facts->name));
		map_remove(&instances->wanted_services, entry->key);
	}
	MAP_EACH (&instances->wanted_clusters, entry) {
		if (has_part(facts->cluster_refs, entry->key) ||
			is_claimed(facts->claims_on, entry->key))
			continue;
		observe_release(pass->input.state, entry->key);
		map_remove(&instances->wanted_clusters, entry->key);
	}
}

void manager_release_all(struct manager *manager, struct instances *instances)
{
	_arena_ struct arena *arena = arena_new(0);

	MAP_EACH (&instances->wanted_services, entry)
		observe_release_service(manager->state, entry->key,
			environment_service_name(arena, environment_name_of_key(instances->key)));
	MAP_EACH (&instances->wanted_clusters, entry)
		observe_release(manager->state, entry->key);
	map_clear(&instances->wanted_services);
	map_clear(&instances->wanted_clusters);
}
