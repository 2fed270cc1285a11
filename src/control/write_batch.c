/* A thread that stores collected writes in one transaction; see the header. */
#include "control/write_batch.h"

#include "base/lock.h"
#include "base/memory.h"
#include "control/write.h"

struct item {
	struct item *next;
	store_write_function function;
	write_batch_done done;
	void *context;
	int64_t added_us;
};

struct write_batch {
	struct write_batch_config config;
	struct runner *runner; /* a group of its own */
	struct runner_event *added;
	struct runner_event *room; /* there is some again */
	struct lock lock;
	/* Guarded by the lock: */
	struct item *first, **last;
	struct write_batch_statistics statistics;
	/* Used by the thread only: */
	unsigned failures; /* of the store, in a row */
	int64_t pause_us;
};

/* ---- one batch ---- */

static int run_all(struct store_transaction *transaction, void *context, struct err *err)
{
	for (struct item *item = context; item; item = item->next) {
		int code = item->function(transaction, item->context, err);

		if (code < 0)
			return code;
	}
	return 0;
}

static int run_one(struct store_transaction *transaction, void *context, struct err *err)
{
	struct item *item = context;

	return item->function(transaction, item->context, err);
}

/* The store failed, independently of the write. */
static bool is_failure(int code)
{
	return code == -EIO || code == -EAGAIN;
}

static void end_items(struct item *items, int code, const struct err *err)
{
	while (items) {
		struct item *item = items;

		items = item->next;
		item->done(item->context, code, err);
		free(item);
	}
}

/* Ends the items one by one; stops at a failure of the store, which is the others', too. */
static int store_one_by_one(struct write_batch *batch, struct item *items, struct err *err)
{
	while (items) {
		struct item *item = items;
		int code =
			control_write(batch->runner, batch->config.store, run_one, item, NULL, err);

		if (is_failure(code) || code == -ECANCELED) {
			end_items(items, code, err);
			return code;
		}
		items = item->next;
		item->next = NULL;
		if (code < 0) {
			lock_take(&batch->lock);
			batch->statistics.refused++;
			lock_release(&batch->lock);
		}
		end_items(item, code, code < 0 ? err : NULL);
	}
	return 0;
}

static int store_items(struct write_batch *batch, struct item *items)
{
	struct err err = {0};
	int code = control_write(batch->runner, batch->config.store, run_all, items, NULL, &err);

	if (code < 0 && !is_failure(code) && code != -ECANCELED)
		return store_one_by_one(batch, items, &err);
	end_items(items, code, code < 0 ? &err : NULL);
	return code;
}

/* ---- the breaker ---- */

static void note_failure(struct write_batch *batch)
{
	bool open = ++batch->failures >= WRITE_BATCH_BREAKER_FAILURES;

	if (open)
		batch->pause_us = batch->pause_us == 0 ? WRITE_BATCH_BREAKER_FIRST_US
				  : batch->pause_us * 2 < WRITE_BATCH_BREAKER_MOST_US
					  ? batch->pause_us * 2
					  : WRITE_BATCH_BREAKER_MOST_US;
	lock_take(&batch->lock);
	batch->statistics.failed++;
	batch->statistics.opened += open && !batch->statistics.open;
	batch->statistics.open = open;
	lock_release(&batch->lock);
}

static void note_success(struct write_batch *batch)
{
	batch->failures = 0;
	batch->pause_us = 0;
	lock_take(&batch->lock);
	batch->statistics.open = false;
	lock_release(&batch->lock);
}

/* ---- the thread ---- */

/* With the lock held. */
static bool is_full(const struct write_batch *batch)
{
	return batch->statistics.waiting >= batch->config.size * WRITE_BATCH_WAITING_MAX;
}

/* The oldest ones; NULL: there are none. */
static struct item *take_items(struct write_batch *batch)
{
	int64_t now_us = runner_now_us(batch->runner);
	struct item *items, **end;
	size_t count = 0;
	bool was_full;

	lock_take(&batch->lock);
	was_full = is_full(batch);
	items = batch->first;
	for (end = &items; *end && count < batch->config.size; end = &(*end)->next) {
		int64_t wait_us = now_us - (*end)->added_us;

		count++;
		if (wait_us > batch->statistics.longest_wait_us)
			batch->statistics.longest_wait_us = wait_us;
		batch->statistics.late +=
			batch->config.delay_us > 0 && wait_us > batch->config.delay_us;
	}
	batch->first = *end;
	*end = NULL;
	if (!batch->first)
		batch->last = &batch->first;
	batch->statistics.waiting -= count;
	batch->statistics.writes += count;
	batch->statistics.batches += count > 0;
	lock_release(&batch->lock);
	if (was_full)
		runner_signal(batch->room);
	return items;
}

static int wait_for_items(struct write_batch *batch, struct item **ret_items)
{
	for (;;) {
		uint64_t seen = runner_event_count(batch->added);
		int code;

		*ret_items = take_items(batch);
		if (*ret_items)
			return 0;
		code = runner_wait(batch->runner, batch->added, seen, RUNNER_FOREVER);
		if (code == -ECANCELED)
			return code;
	}
}

static void work(void *context)
{
	struct write_batch *batch = context;
	struct item *items;

	while (wait_for_items(batch, &items) == 0) {
		int code = store_items(batch, items);

		if (code == -ECANCELED)
			return;
		if (!is_failure(code)) {
			note_success(batch);
			continue;
		}
		note_failure(batch);
		if (batch->pause_us > 0 &&
			runner_sleep_until(batch->runner,
				runner_deadline_us(batch->runner, batch->pause_us)) < 0)
			return;
	}
}

/* ---- for the others ---- */

int write_batch_add(struct write_batch *batch, store_write_function function, write_batch_done done,
	void *context, struct err *err)
{
	struct item *item = memory_allocate(sizeof(*item));
	bool room;

	*item = (struct item){.function = function,
		.done = done,
		.context = context,
		.added_us = runner_now_us(batch->runner)};
	lock_take(&batch->lock);
	room = !is_full(batch);
	if (room) {
		*batch->last = item;
		batch->last = &item->next;
		batch->statistics.waiting++;
	}
	lock_release(&batch->lock);
	if (!room) {
		free(item);
		return err_set(err, -EBUSY, "too many changes wait to be stored");
	}
	runner_signal(batch->added);
	return 0;
}

int write_batch_wait(struct write_batch *batch, struct runner *runner)
{
	for (;;) {
		uint64_t seen = runner_event_count(batch->room);
		bool full;

		lock_take(&batch->lock);
		full = is_full(batch);
		lock_release(&batch->lock);
		if (!full)
			return 0;
		if (runner_wait(runner, batch->room, seen, RUNNER_FOREVER) == -ECANCELED)
			return -ECANCELED;
	}
}

void write_batch_statistics(struct write_batch *batch,
	struct write_batch_statistics *ret_statistics)
{
	lock_take(&batch->lock);
	*ret_statistics = batch->statistics;
	lock_release(&batch->lock);
}

int write_batch_new(const struct write_batch_config *config, struct write_batch **ret_batch,
	struct err *err)
{
	struct write_batch *batch = memory_allocate(sizeof(*batch));
	int code;

	batch->config = *config;
	batch->last = &batch->first;
	batch->runner = runner_group_new(config->runner, "batches");
	batch->added = runner_event_new(batch->runner, "writes");
	batch->room = runner_event_new(batch->runner, "room for writes");
	lock_init(&batch->lock);
	code = runner_spawn(batch->runner, "batches", work, batch, err);
	if (code < 0)
		write_batch_free(batch);
	else
		*ret_batch = batch;
	return code;
}

void write_batch_free(struct write_batch *batch)
{
	struct err err = {0};

	if (!batch)
		return;
	runner_stop(batch->runner);
	runner_join(batch->runner, NULL);
	err_set(&err, -ECANCELED, "stopped before the write");
	end_items(batch->first, -ECANCELED, &err);
	runner_event_free(batch->added);
	runner_event_free(batch->room);
	lock_destroy(&batch->lock);
	runner_free(batch->runner);
	free(batch);
}
