/* Clusters that an environment wants from the observer. */
#include "base/memory.h"
#include "delivery/cluster_ref.h"
#include "environment/act/pass.h"

void manager_want(const struct manager_pass *pass, struct cluster_ref cluster)
{
	struct delivery_targets *targets = pass->manager->targets;
	struct map *wanted = &pass->state->wanted_clusters;

	if (map_has(wanted, cluster.text))
		return;
	if (observe_want(pass->input.state, cluster, delivery_targets_get_reader(targets, cluster),
		    delivery_targets_poll_ms(targets, cluster), NULL) == 0)
		map_put(wanted, cluster.text, wanted);
}

/* "CLUSTER_REF TASK-DEFINITION-ARN;…": where the latest version would have tasks, too. */
static bool next_claimed(struct span *claims, struct cluster_ref *ret_cluster)
{
	struct span claim, text, definition;

	while (span_next_part(claims, ';', &claim)) {
		if (!span_split(claim, ' ', &text, &definition))
			continue;
		*ret_cluster = cluster_ref_of(text);
		return true;
	}
	return false;
}

static bool is_claimed(struct span claims, struct cluster_ref cluster)
{
	struct cluster_ref claimed;

	while (next_claimed(&claims, &claimed))
		if (cluster_ref_equal(claimed, cluster))
			return true;
	return false;
}

void manager_want_all(const struct manager_pass *pass)
{
	const struct environment_facts *facts = environment_facts(pass->input.environment);
	struct span rest = facts->cluster_refs, claims = facts->claims_on;
	struct cluster_ref cluster;

	while (environment_next_cluster(&rest, &cluster))
		manager_want(pass, cluster);
	while (next_claimed(&claims, &cluster))
		manager_want(pass, cluster);
}

void manager_release_others(const struct manager_pass *pass)
{
	const struct environment_facts *facts = environment_facts(pass->input.environment);

	MAP_EACH (&pass->state->wanted_clusters, entry) {
		if (environment_has_cluster(facts, cluster_ref_of(entry->key)) ||
			is_claimed(facts->claims_on, cluster_ref_of(entry->key)))
			continue;
		observe_release(pass->input.state, cluster_ref_of(entry->key));
		map_remove(&pass->state->wanted_clusters, entry->key);
	}
}

void manager_release_all(struct manager *manager, struct environment_state *state)
{
	if (state->operations->release)
		state->operations->release(manager, state);
	MAP_EACH (&state->wanted_clusters, entry)
		observe_release(manager->state, cluster_ref_of(entry->key));
	map_clear(&state->wanted_clusters);
}
