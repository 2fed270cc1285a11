/*
 * The ring behind the change feed. The writer adds published changes; every feed is a revision from
 * which it goes on, so a slow reader costs nothing but being told to list again.
 *
 * The ring is charged for what only it keeps alive: its slots and the objects that changes replaced
 * or deleted. What a change put is either alive in the store or charged to the change that replaced it.
 */
#ifndef STORE_FEED_H
#define STORE_FEED_H

#include "store/store.h"

#define FEED_BYTES_DEFAULT ((size_t)64 * 1024 * 1024)

struct feed_ring;

/* Changes up to `revision` happened before there was a ring: nobody can ask for them. */
struct feed_ring *feed_ring_new(size_t cap, uint64_t revision);
void feed_ring_free(struct feed_ring *ring); /* NULL is fine */
/* Takes over the references of the changes. Then wakes the readers. */
void feed_ring_publish(struct feed_ring *ring, const struct store_change *changes, size_t count);
/* Forgets everything and tells every reader to list again. */
void feed_ring_restart(struct feed_ring *ring, uint64_t revision);
size_t feed_ring_bytes(struct feed_ring *ring);

#endif
