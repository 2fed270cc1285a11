/*
 * Which ECS cluster: of which target, account and region. Its text is "TARGET:ACCOUNT/REGION/CLUSTER", without TARGET for
 * a cluster of this server; records, keys and indexes hold the text, so it never changes. Only this module takes the text
 * apart.
 */
#ifndef DELIVERY_CLUSTER_REF_H
#define DELIVERY_CLUSTER_REF_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/span.h"

/* All parts are in the text. Of a text that is not that of a cluster all are "", and it equals no cluster. */
struct cluster_ref {
	struct span text;
	struct span target; /* "" for a cluster of this server */
	struct span account, region, cluster;
	struct span scope; /* "ACCOUNT/REGION/CLUSTER": the key of the cluster in ECS */
};

struct cluster_ref cluster_ref_of(struct span text);
/* False: the text is not that of a cluster. */
bool cluster_ref_parse(struct span text, struct cluster_ref *ret_ref);
/* Of its parts; the text is in the arena. */
struct cluster_ref cluster_ref_make(struct arena *arena, struct span target, struct span account,
	struct span region, struct span cluster);
/* The cluster of this server that has this key in ECS. */
struct cluster_ref cluster_ref_of_key(struct arena *arena, struct span key);

bool cluster_ref_equal(struct cluster_ref a, struct cluster_ref b);
/* It is not one of this server. */
bool cluster_ref_is_remote(struct cluster_ref ref);

#endif
