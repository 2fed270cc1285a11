/* See the header. */
#include "environment/model/reservation.h"

#include "environment/model/matching.h"

struct span environment_wanted_reservation(struct arena *arena, struct span environment_key,
	const struct environment_facts *facts, const struct environment_version_facts *target)
{
	struct cluster_ref cluster;

	if (facts->type != ENVIRONMENT_TYPE_Daemon || facts->status != ENVIRONMENT_active ||
		!target || !span_equal(target->id, facts->target))
		return SPAN("");
	cluster = cluster_ref_of(target->cluster_ref);
	/* Remote clusters do their own placement. */
	if (cluster_ref_is_remote(cluster))
		return SPAN("");
	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(cluster.scope),
		SPAN_ARGS(environment_group(arena, environment_name_of_key(environment_key))));
}

struct cluster_ref environment_reserved_cluster(struct arena *arena, struct span environment_key,
	struct span reserved)
{
	size_t group =
		environment_group(arena, environment_name_of_key(environment_key)).length + 1;

	return cluster_ref_of_key(arena,
		(struct span){
			reserved.data, reserved.length > group ? reserved.length - group : 0});
}
