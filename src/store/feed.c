/* See feed.h. Two locks: one for the ring, and one for the list of feeds that is held while they are
 * woken, so that a feed that was closed is not woken any more, and a reader may take changes from
 * within its wake. (It may not open or close a feed there.) */
#include "store/feed.h"

#include "base/lock.h"
#include "base/memory.h"
#include "store/object.h"
#include "store/state.h"

struct feed_ring {
	struct lock lock;
	struct store_change *changes; /* a circle; capacity is a power of two */
	size_t first, count, capacity;
	size_t bytes, cap;
	uint64_t lost; /* changes up to this revision are not in the ring (any more) */
	uint64_t restarts;

	struct lock feeds_lock;
	struct store_feed *feeds;
};

struct store_feed {
	struct feed_ring *ring;
	struct store_feed *next;
	uint64_t revision; /* of the last change given */
	bool from_future;  /* of another database: its reader has to list again */
	uint64_t restarts; /* of the ring, when the feed was opened */
	/* Guarded by the ring's feeds_lock: */
	const struct store_kind *const *kinds; /* NULL: all of them */
	size_t kind_count;
	bool (*matters)(const struct store_change *change, void *context); /* NULL: all do */
	uint64_t woken_at; /* revision at which it was last woken */
	void (*wake)(void *context);
	void *context;
};

struct feed_ring *feed_ring_new(size_t cap, uint64_t revision)
{
	struct feed_ring *ring = memory_allocate(sizeof(*ring));

	lock_init(&ring->lock);
	lock_init(&ring->feeds_lock);
	ring->capacity = 64;
	ring->changes = memory_allocate_array(ring->capacity, sizeof(*ring->changes));
	ring->cap = cap ? cap : FEED_BYTES_DEFAULT;
	ring->lost = revision;
	return ring;
}

static struct store_change *ring_at(const struct feed_ring *ring, size_t position)
{
	return &ring->changes[(ring->first + position) & (ring->capacity - 1)];
}

void feed_ring_free(struct feed_ring *ring)
{
	if (!ring)
		return;
	for (size_t i = 0; i < ring->count; i++)
		store_change_release(ring_at(ring, i));
	lock_destroy(&ring->lock);
	lock_destroy(&ring->feeds_lock);
	free(ring->changes);
	free(ring);
}

static size_t change_charge(const struct store_change *change)
{
	return sizeof(*change) + (change->before ? object_size(change->before) : 0);
}

static void ring_grow(struct feed_ring *ring)
{
	size_t capacity = 2 * ring->capacity;
	struct store_change *changes = memory_allocate_array(capacity, sizeof(*changes));

	for (size_t i = 0; i < ring->count; i++)
		changes[i] = *ring_at(ring, i);
	free(ring->changes);
	ring->changes = changes;
	ring->first = 0;
	ring->capacity = capacity;
}

static void ring_push(struct feed_ring *ring, const struct store_change *change)
{
	if (ring->count == ring->capacity)
		ring_grow(ring);
	*ring_at(ring, ring->count++) = *change;
	ring->bytes += change_charge(change);
}

static struct store_change ring_pop(struct feed_ring *ring)
{
	struct store_change change = *ring_at(ring, 0);

	ring->first = (ring->first + 1) & (ring->capacity - 1);
	ring->count--;
	ring->bytes -= change_charge(&change);
	ring->lost = change.revision;
	return change;
}

/* Freeing old objects takes time, so it is done between short holds of the lock. */
static void ring_trim(struct feed_ring *ring, size_t cap)
{
	struct store_change popped[64];
	size_t count;

	do {
		count = 0;
		lock_take(&ring->lock);
		while (ring->bytes > cap && count < LENGTH(popped))
			popped[count++] = ring_pop(ring);
		lock_release(&ring->lock);
		for (size_t i = 0; i < count; i++)
			store_change_release(&popped[i]);
	} while (count == LENGTH(popped));
}

static bool is_about(const struct store_feed *feed, const struct store_kind *kind)
{
	for (size_t i = 0; i < feed->kind_count; i++)
		if (kind == feed->kinds[i])
			return true;
	return false;
}

/* Whether one of the changes is of a kind of the feed, and passes its filter. */
static bool concerns(const struct store_feed *feed, const struct store_change *changes,
	size_t count)
{
	bool about = false;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || changes[i].kind != changes[i - 1].kind)
			about = is_about(feed, changes[i].kind);
		if (about && (!feed->matters || feed->matters(&changes[i], feed->context)))
			return true;
	}
	return false;
}

/* count 0: anything may have changed. The last of the changes is at `revision`. */
static void ring_wake(struct feed_ring *ring, const struct store_change *changes, size_t count,
	uint64_t revision)
{
	lock_take(&ring->feeds_lock);
	for (struct store_feed *feed = ring->feeds; feed; feed = feed->next) {
		if (!feed->wake || (feed->kinds && count > 0 &&
					   revision < feed->woken_at + STORE_FEED_LAG_MAX &&
					   !concerns(feed, changes, count)))
			continue;
		feed->woken_at = revision;
		feed->wake(feed->context);
	}
	lock_release(&ring->feeds_lock);
}

void feed_ring_publish(struct feed_ring *ring, const struct store_change *changes, size_t count)
{
	uint64_t last = count > 0 ? changes[count - 1].revision : 0;

	lock_take(&ring->lock);
	for (size_t i = 0; i < count; i++)
		ring_push(ring, &changes[i]);
	lock_release(&ring->lock);
	/* Before anything is released: the filters of feeds read the changes. */
	if (count > 0)
		ring_wake(ring, changes, count, last);
	ring_trim(ring, ring->cap);
}

void feed_ring_restart(struct feed_ring *ring, uint64_t revision)
{
	ring_trim(ring, 0);
	lock_take(&ring->lock);
	ring->lost = revision;
	ring->restarts++;
	lock_release(&ring->lock);
	ring_wake(ring, NULL, 0, revision);
}

size_t feed_ring_bytes(struct feed_ring *ring)
{
	size_t bytes;

	lock_take(&ring->lock);
	bytes = ring->bytes;
	lock_release(&ring->lock);
	return bytes;
}

/* ---- readers ---- */

int store_feed_open(struct store *store, uint64_t revision, void (*wake)(void *context),
	void *context, struct store_feed **ret_feed, struct err *err)
{
	struct store_feed *feed = memory_allocate(sizeof(*feed));

	(void)err;
	feed->ring = store->ring;
	feed->revision = revision;
	feed->wake = wake;
	feed->context = context;
	/* In this order: a restart in between is noticed. Views are published before the ring has the
	 * changes, so the view is what to compare with. */
	lock_take(&feed->ring->lock);
	feed->restarts = feed->ring->restarts;
	lock_release(&feed->ring->lock);
	lock_take(&store->view_lock);
	feed->from_future = revision > store->published->revision;
	lock_release(&store->view_lock);

	lock_take(&feed->ring->feeds_lock);
	feed->next = feed->ring->feeds;
	feed->ring->feeds = feed;
	lock_release(&feed->ring->feeds_lock);
	*ret_feed = feed;
	return 0;
}

void store_feed_narrow(struct store_feed *feed, const struct store_kind *const *kinds, size_t count)
{
	lock_take(&feed->ring->feeds_lock);
	feed->kinds = kinds;
	feed->kind_count = count;
	feed->woken_at = feed->revision;
	lock_release(&feed->ring->feeds_lock);
}

void store_feed_filter(struct store_feed *feed,
	bool (*matters)(const struct store_change *change, void *context))
{
	lock_take(&feed->ring->feeds_lock);
	feed->matters = matters;
	lock_release(&feed->ring->feeds_lock);
}

void store_feed_close(struct store_feed *feed)
{
	struct store_feed **at;

	if (!feed)
		return;
	lock_take(&feed->ring->feeds_lock);
	for (at = &feed->ring->feeds; *at != feed; at = &(*at)->next)
		;
	*at = feed->next;
	lock_release(&feed->ring->feeds_lock);
	free(feed);
}

/* The position of the first change after a revision. */
static size_t ring_find(const struct feed_ring *ring, uint64_t revision)
{
	size_t low = 0, high = ring->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (ring_at(ring, middle)->revision <= revision)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int store_feed_next(struct store_feed *feed, struct store_change *changes, size_t max)
{
	struct feed_ring *ring = feed->ring;
	size_t count = 0;

	if (max > INT32_MAX)
		max = INT32_MAX;
	lock_take(&ring->lock);
	if (feed->from_future || feed->revision < ring->lost || feed->restarts != ring->restarts) {
		lock_release(&ring->lock);
		return -EOVERFLOW;
	}
	for (size_t at = ring_find(ring, feed->revision); at < ring->count && count < max; at++) {
		struct store_change *change = &changes[count++];

		*change = *ring_at(ring, at);
		if (change->before)
			store_object_ref(change->before);
		if (change->after)
			store_object_ref(change->after);
		feed->revision = change->revision;
	}
	lock_release(&ring->lock);
	return (int)count;
}

void store_change_release(struct store_change *change)
{
	store_object_unref_pointer(&change->before);
	store_object_unref_pointer(&change->after);
}
