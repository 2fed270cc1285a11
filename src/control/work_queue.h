/*
 * A queue of keys that need work, with the guarantees that controllers are written against:
 *
 * - A key is never worked on twice at once: between get and done no other worker gets it.
 * - A key added while it is worked on is given out again after done (it is "dirty"), so a change
 *   that comes in the middle of the work is never lost.
 * - A key that is added again before it was given out stands in the queue once.
 * - Keys come out in the order in which they went in; in a fair queue the groups take turns, and
 *   the keys of a group come out in the order in which they went in. A group with ten thousand
 *   waiting keys then delays the others by one turn, not by ten thousand.
 * - A key may wait for a deadline; of several, the earliest counts.
 * - A key that failed waits longer each time (5 ms, doubling up to a cap), and all failing keys
 *   together are held to a rate by a token bucket. forget() resets a key's failure count.
 *
 * The queue holds keys, not events, so its size is bounded by the number of things there are; it
 * has no cap of its own, because dropping a key would lose a change. Adding and taking are O(1),
 * deadlines O(log n). All functions may be called from any thread; only get() blocks.
 *
 * Wake-ups. A key that becomes ready wakes one worker, and a worker that takes a key and leaves
 * others behind wakes the next: so two wake-ups of the same worker are not lost. A deadline before
 * all others, and shutdown, wake all of them, because each waits for the first deadline that it
 * knew.
 */
#ifndef CONTROL_WORK_QUEUE_H
#define CONTROL_WORK_QUEUE_H

#include "base/span.h"
#include "control/runner.h"

#define WORK_QUEUE_BACKOFF_FIRST_US INT64_C(5000)
#define WORK_QUEUE_BACKOFF_MOST_US INT64_C(1000000000)
#define WORK_QUEUE_RETRIES_PER_SECOND 10
#define WORK_QUEUE_RETRY_BURST 100

struct work_queue;

/* Zero means the default. */
struct work_queue_config {
	int64_t backoff_first_us;
	int64_t backoff_most_us;
	unsigned retries_per_second;
	unsigned retry_burst;
	/* Fair: what is before the first such character of a key is its group. Retries are counted by group, too.
	 * 0: all keys are one group. */
	char group_by;
	/* Keys of one group that may be in work at once, so that a group with slow work leaves
	 * workers for the others; 0: no limit. */
	unsigned group_most;
	/* Deliberate bug, for proving that simulations find it. */
	bool bug_lose_dirty;
};

struct work_queue *work_queue_new(struct runner *runner, const struct work_queue_config *config);
/* No worker may be inside; NULL is fine. */
void work_queue_free(struct work_queue *queue);

void work_queue_add(struct work_queue *queue, struct span key);
/* Adds the key when the time has come (in microseconds of runner_now_us). Does not replace an add. */
void work_queue_add_at(struct work_queue *queue, struct span key, int64_t deadline_us);
/* After a failure: adds the key when its backoff and the bucket allow. */
void work_queue_add_rate_limited(struct work_queue *queue, struct span key);
/* After success: the next failure begins with the shortest backoff again. */
void work_queue_forget(struct work_queue *queue, struct span key);
/* How often the key was added rate limited since it was last forgotten. */
unsigned work_queue_failures(struct work_queue *queue, struct span key);

/* Blocks until there is a key: 0, and the key lives until done(). -ESHUTDOWN when the queue was shut
 * down and is empty, -ECANCELED when the runner was stopped. */
int work_queue_get(struct work_queue *queue, struct span *ret_key);
/* The key as get() gave it. */
void work_queue_done(struct work_queue *queue, struct span key);
/* Later adds are ignored and deadlines dropped; what is queued, and what is dirty, is still given out. */
void work_queue_shut_down(struct work_queue *queue);

struct work_queue_statistics {
	uint64_t adds;    /* keys that entered the queue; duplicates do not count */
	uint64_t retries; /* rate-limited adds */
	uint64_t gets;
	size_t depth;            /* ready now */
	size_t delayed;          /* waiting for a deadline */
	size_t processing;       /* between get and done */
	int64_t wait_us;         /* sum over gets, from ready to given out */
	int64_t longest_wait_us; /* ever */
	int64_t oldest_wait_us;  /* of what is ready now */
};
void work_queue_statistics(struct work_queue *queue, struct work_queue_statistics *ret_statistics);

#endif
