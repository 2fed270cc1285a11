/* See the header. */
#include "delivery/change_log.h"

#include <errno.h>
#include <stdlib.h>

#include "base/lock.h"
#include "base/memory.h"

struct change_log {
	const struct change_log_type *type;
	struct lock lock; /* for all below */
	unsigned shares;
	uint64_t first; /* position before the oldest change that is kept */
	size_t begin, count;
	void *kept[CHANGE_LOG_MAX];
	struct change_log_reader *readers;
	int64_t observed_ms;
};

struct change_log_reader {
	struct change_log *log;
	struct change_log_reader *next;
	uint64_t position;
	void (*wake)(void *context);
	void *context;
};

struct change_log *change_log_new(const struct change_log_type *type, uint64_t position)
{
	struct change_log *log = memory_allocate(sizeof(*log));

	lock_init(&log->lock);
	log->type = type;
	log->first = position;
	log->shares = 1;
	return log;
}

/* Under the lock. */
static void drop_oldest(struct change_log *log)
{
	log->type->free(log->kept[log->begin]);
	log->begin = (log->begin + 1) % CHANGE_LOG_MAX;
	log->count--;
	log->first++;
}

void change_log_leave(struct change_log *log)
{
	bool last;

	if (!log)
		return;
	lock_take(&log->lock);
	last = --log->shares == 0;
	lock_release(&log->lock);
	if (!last)
		return;
	while (log->count > 0)
		drop_oldest(log);
	lock_destroy(&log->lock);
	free(log);
}

/* Under the lock. */
static void wake_all(const struct change_log *log)
{
	for (const struct change_log_reader *reader = log->readers; reader; reader = reader->next)
		reader->wake(reader->context);
}

void change_log_add(struct change_log *log, void *change)
{
	lock_take(&log->lock);
	if (log->count == CHANGE_LOG_MAX)
		drop_oldest(log);
	log->kept[(log->begin + log->count++) % CHANGE_LOG_MAX] = change;
	wake_all(log);
	lock_release(&log->lock);
}

void change_log_restart(struct change_log *log, uint64_t position)
{
	lock_take(&log->lock);
	while (log->count > 0)
		drop_oldest(log);
	log->first = position > log->first ? position : log->first + 1;
	wake_all(log);
	lock_release(&log->lock);
}

void change_log_set_observed(struct change_log *log, int64_t observed_ms)
{
	lock_take(&log->lock);
	log->observed_ms = observed_ms;
	lock_release(&log->lock);
}

/* ---- reading ---- */

/* Under the lock. */
static bool is_kept(const struct change_log *log, uint64_t position)
{
	return position >= log->first && position - log->first <= log->count;
}

struct change_log_reader *change_log_reader_open(struct change_log *log, const uint64_t *position,
	void (*wake)(void *context), void *context)
{
	struct change_log_reader *reader = NULL;

	lock_take(&log->lock);
	if (!position || is_kept(log, *position)) {
		reader = memory_allocate(sizeof(*reader));
		*reader = (struct change_log_reader){.log = log,
			.next = log->readers,
			.position = position ? *position : log->first + log->count,
			.wake = wake,
			.context = context};
		log->readers = reader;
		log->shares++;
	}
	lock_release(&log->lock);
	return reader;
}

void change_log_reader_close(struct change_log_reader *reader)
{
	struct change_log_reader **at;

	if (!reader)
		return;
	lock_take(&reader->log->lock);
	for (at = &reader->log->readers; *at != reader; at = &(*at)->next)
		continue;
	*at = reader->next;
	lock_release(&reader->log->lock);
	change_log_leave(reader->log);
	free(reader);
}

uint64_t change_log_reader_position(const struct change_log_reader *reader)
{
	return reader->position;
}

int64_t change_log_reader_observed_ms(const struct change_log_reader *reader)
{
	int64_t observed_ms;

	lock_take(&reader->log->lock);
	observed_ms = reader->log->observed_ms;
	lock_release(&reader->log->lock);
	return observed_ms;
}

int change_log_reader_next(struct change_log_reader *reader, struct arena *arena, void **ret_change)
{
	struct change_log *log = reader->log;
	int code = -EOVERFLOW;

	lock_take(&log->lock);
	if (is_kept(log, reader->position)) {
		size_t behind = (size_t)(reader->position - log->first);

		code = behind < log->count;
		if (code > 0) {
			*ret_change =
				log->type->copy(log->kept[(log->begin + behind) % CHANGE_LOG_MAX],
					arena);
			reader->position++;
		}
	}
	lock_release(&log->lock);
	return code;
}
