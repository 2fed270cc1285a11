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

struct cluster_ref {
	struct span target; /* "" for a cluster of this server */
	struct span account, region, cluster;
	struct span scope; /* "ACCOUNT/REGION/CLUSTER": the key of the cluster in ECS */
};

/* False: the text is not that of a cluster. The parts are in the text. */
bool cluster_ref_parse(struct span text, struct cluster_ref *ret_ref);
struct span cluster_ref_text(struct arena *arena, const struct cluster_ref *ref);
/* The text of the cluster of this server that has this key in ECS. */
struct span cluster_ref_of_key(struct arena *arena, struct span key);

/* Of a text: its cluster is not one of this server. */
bool cluster_ref_is_remote(struct span text);
/* Of a text: its target; "" for a cluster of this server, and for what is not a cluster. */
struct span cluster_ref_target(struct span text);

#endif
