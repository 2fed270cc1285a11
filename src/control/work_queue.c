/*
 * One item per key with state: ready (in a list), dirty, in work, waiting for a deadline (in a
 * heap), or with a failure count; other items are freed. Ready items are in the list of their
 * group, groups with some in a ring; groups are kept, since there are few (one per account). One
 * lock guards everything, and all callers of get() wait for one event.
 */
#include "control/work_queue.h"

#include <assert.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/seeded_bug.h"

#define NOT_IN_HEAP SIZE_MAX
#define SECOND_US INT64_C(1000000)

struct group {
	struct item *first, **last; /* ready */
	struct group *next;         /* among those that have some; NULL */
	unsigned processing;
	/* The token bucket: how many tokens there were at a time. Negative: handed out in advance. */
	double tokens;
	int64_t tokens_at_us;
};

struct item {
	struct span key; /* owned, NUL-terminated */
	struct group *group;
	bool ready;
	bool processing;
	bool dirty; /* added while processing */
	unsigned failures;
	struct item *next; /* among the ready */
	int64_t ready_since_us;
	size_t heap_index;
	int64_t deadline_us;
	uint64_t heap_order; /* of two equal deadlines the one set first comes first */
};

struct work_queue {
	struct runner *runner;
	struct work_queue_config config;
	struct runner_event *event;
	struct lock lock;
	/* Everything below is guarded by the lock. */
	struct map items;
	struct map groups;
	struct group *first, **last; /* the next group, in a ring */
	struct item **heap;
	size_t heap_count, heap_capacity;
	uint64_t heap_order;
	bool shut_down;
	struct work_queue_statistics statistics;
};

struct work_queue *work_queue_new(struct runner *runner, const struct work_queue_config *config)
{
	struct work_queue *queue = memory_allocate(sizeof(*queue));

	queue->runner = runner;
	if (config)
		queue->config = *config;
	if (queue->config.backoff_first_us <= 0)
		queue->config.backoff_first_us = WORK_QUEUE_BACKOFF_FIRST_US;
	if (queue->config.backoff_most_us <= 0)
		queue->config.backoff_most_us = WORK_QUEUE_BACKOFF_MOST_US;
	if (queue->config.retries_per_second == 0)
		queue->config.retries_per_second = WORK_QUEUE_RETRIES_PER_SECOND;
	if (queue->config.retry_burst == 0)
		queue->config.retry_burst = WORK_QUEUE_RETRY_BURST;
	queue->event = runner_event_new(runner, "work");
	lock_init(&queue->lock);
	queue->last = &queue->first;
	return queue;
}

static void item_free(struct item *item)
{
	free((char *)item->key.data);
	free(item);
}

void work_queue_free(struct work_queue *queue)
{
	if (!queue)
		return;
	MAP_EACH (&queue->items, entry)
		item_free(entry->value);
	map_clear(&queue->items);
	MAP_EACH (&queue->groups, entry)
		free(entry->value);
	map_clear(&queue->groups);
	free(queue->heap);
	runner_event_free(queue->event);
	lock_destroy(&queue->lock);
	free(queue);
}

/* ---- groups ---- */

static struct group *group_of(struct work_queue *queue, struct span key)
{
	struct span name = SPAN(""), rest;
	struct group *group;

	if (queue->config.group_by)
		span_split(key, queue->config.group_by, &name, &rest);
	group = map_get(&queue->groups, name);
	if (group)
		return group;
	group = memory_allocate(sizeof(*group));
	group->last = &group->first;
	group->tokens = queue->config.retry_burst;
	group->tokens_at_us = runner_now_us(queue->runner);
	map_put(&queue->groups, name, group);
	return group;
}

static void take_turn_last(struct work_queue *queue, struct group *group)
{
	group->next = NULL;
	*queue->last = group;
	queue->last = &group->next;
}

static bool has_room(const struct work_queue *queue, const struct group *group)
{
	return queue->config.group_most == 0 || group->processing < queue->config.group_most;
}

/* The next group that may have one more key in work, taken out of the ring; NULL. */
static struct group *take_group(struct work_queue *queue)
{
	for (struct group **at = &queue->first; *at; at = &(*at)->next) {
		struct group *group = *at;

		if (!has_room(queue, group))
			continue;
		*at = group->next;
		if (queue->last == &group->next)
			queue->last = at;
		return group;
	}
	return NULL;
}

static bool is_any_free(const struct work_queue *queue)
{
	for (const struct group *group = queue->first; group; group = group->next)
		if (has_room(queue, group))
			return true;
	return false;
}

/* ---- items ---- */

static struct item *item_of(struct work_queue *queue, struct span key)
{
	struct item *item = map_get(&queue->items, key);

	if (item)
		return item;
	item = memory_allocate(sizeof(*item));
	item->key = (struct span){memory_copy_string_n(key.data, key.length), key.length};
	item->group = group_of(queue, key);
	item->heap_index = NOT_IN_HEAP;
	map_put(&queue->items, item->key, item);
	return item;
}

static void drop_if_idle(struct work_queue *queue, struct item *item)
{
	if (item->ready || item->processing || item->dirty || item->failures > 0 ||
		item->heap_index != NOT_IN_HEAP)
		return;
	map_remove(&queue->items, item->key);
	item_free(item);
}

/* ---- the heap of deadlines ---- */

static bool comes_before(const struct item *a, const struct item *b)
{
	if (a->deadline_us != b->deadline_us)
		return a->deadline_us < b->deadline_us;
	return a->heap_order < b->heap_order;
}

static void heap_position(struct work_queue *queue, size_t index, struct item *item)
{
	queue->heap[index] = item;
	item->heap_index = index;
}

static void heap_up(struct work_queue *queue, struct item *item)
{
	size_t index = item->heap_index;

	while (index > 0 && comes_before(item, queue->heap[(index - 1) / 2])) {
		heap_position(queue, index, queue->heap[(index - 1) / 2]);
		index = (index - 1) / 2;
	}
	heap_position(queue, index, item);
}

static void heap_down(struct work_queue *queue, struct item *item)
{
	size_t index = item->heap_index;

	for (;;) {
		size_t child = 2 * index + 1;

		if (child >= queue->heap_count)
			break;
		if (child + 1 < queue->heap_count &&
			comes_before(queue->heap[child + 1], queue->heap[child]))
			child++;
		if (!comes_before(queue->heap[child], item))
			break;
		heap_position(queue, index, queue->heap[child]);
		index = child;
	}
	heap_position(queue, index, item);
}

static void heap_insert(struct work_queue *queue, struct item *item)
{
	if (queue->heap_count == queue->heap_capacity) {
		queue->heap_capacity = queue->heap_capacity ? 2 * queue->heap_capacity : 16;
		queue->heap =
			memory_resize(queue->heap, queue->heap_capacity * sizeof(queue->heap[0]));
	}
	heap_position(queue, queue->heap_count++, item);
	heap_up(queue, item);
}

static struct item *heap_take_first(struct work_queue *queue)
{
	struct item *first = queue->heap[0];
	struct item *last = queue->heap[--queue->heap_count];

	first->heap_index = NOT_IN_HEAP;
	if (last != first) {
		heap_position(queue, 0, last);
		heap_down(queue, last);
	}
	return first;
}

/* ---- adding ---- */

static void make_ready(struct work_queue *queue, struct item *item, int64_t now_us)
{
	struct group *group = item->group;

	if (!group->first)
		take_turn_last(queue, group);
	item->ready = true;
	item->ready_since_us = now_us;
	item->next = NULL;
	*group->last = item;
	group->last = &item->next;
	queue->statistics.depth++;
}

/* True when there is something new to get. */
static bool add_item(struct work_queue *queue, struct item *item, int64_t now_us)
{
	if (item->ready || item->dirty)
		return false;
	if (item->processing) {
		if (!SEEDED_BUG(queue->config.bug_lose_dirty)) {
			item->dirty = true;
			queue->statistics.adds++;
		}
		return false;
	}
	queue->statistics.adds++;
	make_ready(queue, item, now_us);
	return true;
}

void work_queue_add(struct work_queue *queue, struct span key)
{
	int64_t now_us = runner_now_us(queue->runner);
	bool wake = false;

	lock_take(&queue->lock);
	if (!queue->shut_down)
		wake = add_item(queue, item_of(queue, key), now_us);
	lock_release(&queue->lock);
	if (wake)
		runner_signal_one(queue->event);
}

/* True when the workers have to know: something is ready, or the earliest deadline moved forward. */
static bool add_item_at(struct work_queue *queue, struct item *item, int64_t deadline_us,
	int64_t now_us)
{
	if (deadline_us <= now_us)
		return add_item(queue, item, now_us);
	if (item->heap_index != NOT_IN_HEAP) {
		if (deadline_us >= item->deadline_us)
			return false;
		item->deadline_us = deadline_us;
		item->heap_order = queue->heap_order++;
		heap_up(queue, item);
	} else {
		item->deadline_us = deadline_us;
		item->heap_order = queue->heap_order++;
		heap_insert(queue, item);
	}
	return queue->heap[0] == item;
}

void work_queue_add_at(struct work_queue *queue, struct span key, int64_t deadline_us)
{
	int64_t now_us = runner_now_us(queue->runner);
	bool wake = false;

	lock_take(&queue->lock);
	if (!queue->shut_down)
		wake = add_item_at(queue, item_of(queue, key), deadline_us, now_us);
	lock_release(&queue->lock);
	if (wake)
		runner_signal(queue->event);
}

static int64_t backoff_us(const struct work_queue *queue, unsigned failures)
{
	int64_t most = queue->config.backoff_most_us;
	int64_t delay = queue->config.backoff_first_us;

	while (failures-- > 0 && delay < most)
		delay = delay > most / 2 ? most : delay * 2;
	return delay < most ? delay : most;
}

/* Takes a token, a future one if need be, and returns the time until it is available. */
static int64_t take_token(const struct work_queue *queue, struct group *group, int64_t now_us)
{
	double rate = queue->config.retries_per_second;

	group->tokens += (double)(now_us - group->tokens_at_us) * rate / (double)SECOND_US;
	group->tokens_at_us = now_us;
	if (group->tokens > queue->config.retry_burst)
		group->tokens = queue->config.retry_burst;
	group->tokens -= 1;
	return group->tokens >= 0 ? 0 : (int64_t)(-group->tokens * (double)SECOND_US / rate);
}

void work_queue_add_rate_limited(struct work_queue *queue, struct span key)
{
	int64_t now_us;
	bool wake = false;

	lock_take(&queue->lock);
	/* Under the lock, so that the bucket's time does not go back. */
	now_us = runner_now_us(queue->runner);
	if (!queue->shut_down) {
		struct item *item = item_of(queue, key);
		int64_t backoff = backoff_us(queue, item->failures);
		int64_t token = take_token(queue, item->group, now_us);

		item->failures++;
		queue->statistics.retries++;
		wake = add_item_at(queue, item, now_us + (backoff > token ? backoff : token),
			now_us);
	}
	lock_release(&queue->lock);
	if (wake)
		runner_signal(queue->event);
}

void work_queue_forget(struct work_queue *queue, struct span key)
{
	struct item *item;

	lock_take(&queue->lock);
	item = map_get(&queue->items, key);
	if (item) {
		item->failures = 0;
		drop_if_idle(queue, item);
	}
	lock_release(&queue->lock);
}

unsigned work_queue_failures(struct work_queue *queue, struct span key)
{
	struct item *item;
	unsigned failures;

	lock_take(&queue->lock);
	item = map_get(&queue->items, key);
	failures = item ? item->failures : 0;
	lock_release(&queue->lock);
	return failures;
}

/* ---- working ---- */

/* Makes items ready whose deadline has passed. Every waiting worker waits for the first deadline at
 * most, so each of them comes here by itself and none has to be woken. */
static void ripen(struct work_queue *queue, int64_t now_us)
{
	while (queue->heap_count > 0 && queue->heap[0]->deadline_us <= now_us) {
		struct item *item = heap_take_first(queue);

		add_item(queue, item, now_us);
		drop_if_idle(queue, item);
	}
}

static struct item *take_ready(struct work_queue *queue, int64_t now_us)
{
	struct group *group = take_group(queue);
	struct item *item;
	int64_t waited;

	if (!group)
		return NULL;
	item = group->first;
	group->first = item->next;
	if (group->first)
		take_turn_last(queue, group);
	else
		group->last = &group->first;
	group->processing++;
	item->ready = false;
	item->processing = true;
	waited = now_us - item->ready_since_us;
	queue->statistics.depth--;
	queue->statistics.processing++;
	queue->statistics.gets++;
	queue->statistics.wait_us += waited > 0 ? waited : 0;
	if (waited > queue->statistics.longest_wait_us)
		queue->statistics.longest_wait_us = waited;
	return item;
}

int work_queue_get(struct work_queue *queue, struct span *ret_key)
{
	for (;;) {
		uint64_t seen = runner_event_count(queue->event);
		int64_t deadline_us = RUNNER_FOREVER;
		struct item *item;
		bool over, more, left;
		int64_t now_us;

		if (runner_is_stopped(queue->runner))
			return -ECANCELED;
		lock_take(&queue->lock);
		now_us = runner_now_us(queue->runner);
		ripen(queue, now_us);
		item = take_ready(queue, now_us);
		more = is_any_free(queue);
		left = queue->first != NULL; /* though only of groups that have enough in work */
		over = queue->shut_down;
		if (queue->heap_count > 0)
			deadline_us = queue->heap[0]->deadline_us;
		lock_release(&queue->lock);
		if (item) {
			if (more)
				runner_signal_one(queue->event);
			*ret_key = item->key;
			return 0;
		}
		if (over && !left)
			return -ESHUTDOWN;
		if (runner_wait(queue->runner, queue->event, seen, deadline_us) == -ECANCELED)
			return -ECANCELED;
	}
}

void work_queue_done(struct work_queue *queue, struct span key)
{
	int64_t now_us = runner_now_us(queue->runner);
	struct item *item;
	bool wake, over;

	lock_take(&queue->lock);
	item = map_get(&queue->items, key);
	assert(item && item->processing);
	item->processing = false;
	queue->statistics.processing--;
	/* Others of its group may have waited for this. */
	wake = item->dirty || (item->group->first && !has_room(queue, item->group));
	item->group->processing--;
	if (item->dirty) {
		item->dirty = false;
		make_ready(queue, item, now_us);
	}
	drop_if_idle(queue, item);
	/* Waiters for the rest of a queue that was shut down must see its end. */
	over = queue->shut_down && !queue->first;
	lock_release(&queue->lock);
	if (over)
		runner_signal(queue->event);
	else if (wake)
		runner_signal_one(queue->event);
}

void work_queue_shut_down(struct work_queue *queue)
{
	lock_take(&queue->lock);
	queue->shut_down = true;
	while (queue->heap_count > 0)
		drop_if_idle(queue, heap_take_first(queue));
	lock_release(&queue->lock);
	runner_signal(queue->event);
}

void work_queue_statistics(struct work_queue *queue, struct work_queue_statistics *ret_statistics)
{
	int64_t now_us = runner_now_us(queue->runner);

	lock_take(&queue->lock);
	*ret_statistics = queue->statistics;
	ret_statistics->delayed = queue->heap_count;
	for (const struct group *group = queue->first; group; group = group->next)
		if (now_us - group->first->ready_since_us > ret_statistics->oldest_wait_us)
			ret_statistics->oldest_wait_us = now_us - group->first->ready_since_us;
	lock_release(&queue->lock);
}
