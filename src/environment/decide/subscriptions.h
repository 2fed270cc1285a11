/*
 * Which environments subscribe to an instance: those that it matches, and those that have or had a task there. Changes of
 * an instance wake only its subscribers, not the hundreds of other environments in the same cluster.
 *
 * A pass subscribes before it inspects an instance, and unsubscribes when the instance is not relevant: so no change in
 * between is missed. From any thread.
 */
#ifndef ENVIRONMENT_DECIDE_SUBSCRIPTIONS_H
#define ENVIRONMENT_DECIDE_SUBSCRIPTIONS_H

#include "base/arena.h"
#include "base/span.h"

struct subscriptions;

struct subscriptions *subscriptions_new(void);
void subscriptions_free(struct subscriptions *subscriptions); /* NULL is fine */

/* instance: "CLUSTER-REF/ID"; which: the key of an environment, which must live until it is removed. Each once. */
void subscriptions_add(struct subscriptions *subscriptions, struct span instance,
	struct span which);
void subscriptions_remove(struct subscriptions *subscriptions, struct span instance,
	struct span which);
/* In the arena; how many. */
size_t subscriptions_list(struct subscriptions *subscriptions, struct span instance,
	struct arena *arena, struct span **ret_keys);

#endif
