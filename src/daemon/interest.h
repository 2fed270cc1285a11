/*
 * Who cares for an instance: environments that it matches, or that have or had something there. News of an instance are
 * for them alone, so that they cost nothing to hundreds of others in the same cluster.
 *
 * Whoever looks at an instance says first that he cares, and takes that back when he sees that he does not: so nothing
 * that happens in between is missed. From any thread.
 */
#ifndef DAEMON_INTEREST_H
#define DAEMON_INTEREST_H

#include "base/arena.h"
#include "base/span.h"

struct interest;

struct interest *interest_new(void);
void interest_free(struct interest *interest); /* NULL is fine */

/* instance: "PLACE/ID"; who: a key of an environment, which stays where it is until it is taken back. Each once. */
void interest_add(struct interest *interest, struct span instance, struct span who);
void interest_remove(struct interest *interest, struct span instance, struct span who);
/* In the arena; how many. */
size_t interest_list(struct interest *interest, struct span instance, struct arena *arena,
	struct span **ret_keys);

#endif
