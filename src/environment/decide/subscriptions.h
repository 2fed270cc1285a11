/*
 * Who cares for an instance: environments that it matches, or that have or had something there. News of an instance are
 * for them alone, so that they cost nothing to hundreds of others in the same cluster.
 *
 * Whoever looks at an instance says first that he cares, and takes that back when he sees that he does not: so nothing
 * that happens in between is missed. From any thread.
 */
#ifndef ENVIRONMENT_DECIDE_SUBSCRIPTIONS_H
#define ENVIRONMENT_DECIDE_SUBSCRIPTIONS_H

#include "base/arena.h"
#include "base/span.h"

struct subscriptions;

struct subscriptions *subscriptions_new(void);
void subscriptions_free(struct subscriptions *subscriptions); /* NULL is fine */

/* instance: "PLACE/ID"; who: a key of an environment, which stays where it is until it is taken back. Each once. */
void subscriptions_add(struct subscriptions *subscriptions, struct span instance,
	struct span which);
void subscriptions_remove(struct subscriptions *subscriptions, struct span instance,
	struct span which);
/* In the arena; how many. */
size_t subscriptions_list(struct subscriptions *subscriptions, struct span instance,
	struct arena *arena, struct span **ret_keys);

#endif
