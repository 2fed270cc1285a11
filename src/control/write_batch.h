/*
 * Writes of many workers, stored together. A worker adds a write and continues; one thread takes
 * the waiting writes, up to `size` of them, and stores them in one transaction. Nothing waits while
 * the store is idle: a batch is what was added while the one before was being stored.
 *
 * Each write gets its result once, in the order in which they were added. A rejected write does not
 * fail the others: its batch is stored again one by one. None is dropped.
 *
 * No more than WRITE_BATCH_WAITING_MAX batches wait: further writes are rejected with -EBUSY, and
 * their callers may wait for room, so that producers go no faster than the store.
 *
 * Circuit breaker. When the store itself fails several times in a row, nothing is sent to it for a
 * while, longer each time. One batch is tried then, and the first that is stored closes the
 * breaker.
 */
#ifndef CONTROL_WRITE_BATCH_H
#define CONTROL_WRITE_BATCH_H

#include "control/runner.h"
#include "store/store.h"

#define WRITE_BATCH_WAITING_MAX 8
#define WRITE_BATCH_BREAKER_FAILURES 5
#define WRITE_BATCH_BREAKER_FIRST_US INT64_C(1000000)
#define WRITE_BATCH_BREAKER_MOST_US INT64_C(30000000)

struct write_batch;

struct write_batch_config {
	struct runner *runner;
	struct store *store;
	size_t size;      /* most writes of one transaction; at least 1 */
	int64_t delay_us; /* a write that waited longer is counted as late; 0: none is */
};

/* Starts its thread. */
int write_batch_new(const struct write_batch_config *config, struct write_batch **ret_batch,
	struct err *err);
/* Every waiting write ends with -ECANCELED. No caller may add any more; NULL is fine. */
void write_batch_free(struct write_batch *batch);

/* code 0: durable and published. On the batch's thread: be short, do not block. */
typedef void (*write_batch_done)(void *context, int code, const struct err *err);

/* Does not block. 0: `done` will be called, and the context is used until then. */
int write_batch_add(struct write_batch *batch, store_write_function function, write_batch_done done,
	void *context, struct err *err);
/* Blocks until there is room: 0, or -ECANCELED when the caller's runner was stopped. Another caller
 * may have taken the room meanwhile. */
int write_batch_wait(struct write_batch *batch, struct runner *runner);

struct write_batch_statistics {
	uint64_t writes, batches, refused, failed; /* batches that the store failed: failed */
	uint64_t late;
	size_t waiting;
	int64_t longest_wait_us; /* ever */
	bool open;               /* the breaker: nothing is sent */
	uint64_t opened;         /* how often it was */
};
void write_batch_statistics(struct write_batch *batch,
	struct write_batch_statistics *ret_statistics);

#endif
