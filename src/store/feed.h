/*
 * The ring behind the change feed. The writer adds published changes; every feed is a revision from
 * which it continues, so a slow reader costs nothing: it only has to list again.
 *
 * The ring is charged for memory that only it keeps alive: its slots and the objects that changes
 * replaced or deleted. A new object is alive in the store or charged to the change replacing it.
 */
#ifndef STORE_FEED_H
#define STORE_FEED_H

#include "store/store.h"

#define FEED_BYTES_DEFAULT ((size_t)64 * 1024 * 1024)

struct feed_ring;

/* Changes up to `revision` happened before the ring existed: no reader can ask for them. */
struct feed_ring *feed_ring_new(size_t cap, uint64_t revision);
void feed_ring_free(struct feed_ring *ring); /* NULL is fine */
/* Takes over the references of the changes. Then wakes the readers. */
void feed_ring_publish(struct feed_ring *ring, const struct store_change *changes, size_t count);
/* Drops all changes and makes every reader list again. */
void feed_ring_restart(struct feed_ring *ring, uint64_t revision);
size_t feed_ring_bytes(struct feed_ring *ring);

#endif
