/* See the header. A change is kept as up to two blocks, each a task or an instance with its texts behind it. */
#include "delivery/observe/change_log.h"

#include "base/lock.h"
#include "base/memory.h"

struct kept {
	bool is_task;
	void *before, *after; /* NULL: it was not there, or is not any more */
};

struct change_log {
	struct lock lock; /* for all below */
	unsigned shares;
	uint64_t first; /* position before the oldest change that is kept */
	size_t begin, count;
	struct kept kept[CHANGE_LOG_MAX];
	struct change_log_reader *tails;
	int64_t observed_ms;
};

struct change_log_reader {
	struct change_log *log;
	struct change_log_reader *next;
	uint64_t position;
	void (*wake)(void *context);
	void *context;
};

/* ---- blocks ---- */

/* Where in a structure its texts are. */
struct layout {
	size_t size;
	const size_t *texts;
	size_t text_count;
};

static const size_t task_texts[] = {offsetof(struct observe_task, arn),
	offsetof(struct observe_task, instance), offsetof(struct observe_task, group),
	offsetof(struct observe_task, started_by), offsetof(struct observe_task, task_definition),
	offsetof(struct observe_task, stop_code), offsetof(struct observe_task, stopped_reason)};
static const size_t instance_texts[] = {offsetof(struct observe_instance, id),
	offsetof(struct observe_instance, arn), offsetof(struct observe_instance, host),
	offsetof(struct observe_instance, attributes)};
static const struct layout task_layout = {
	sizeof(struct observe_task), task_texts, LENGTH(task_texts)};
static const struct layout instance_layout = {
	sizeof(struct observe_instance), instance_texts, LENGTH(instance_texts)};

static struct span *text_at(const struct layout *layout, const void *object, size_t i)
{
	return (struct span *)((const char *)object + layout->texts[i]);
}

static size_t size_of(const struct layout *layout, const void *object)
{
	size_t size = layout->size;

	for (size_t i = 0; i < layout->text_count; i++)
		size += text_at(layout, object, i)->length;
	return size;
}

/* Into a block of the size that it needs. */
static void *copy_into(char *block, const struct layout *layout, const void *object)
{
	char *at = block + layout->size;

	memcpy(block, object, layout->size);
	for (size_t i = 0; i < layout->text_count; i++) {
		struct span *text = text_at(layout, block, i);

		if (text->length > 0)
			memcpy(at, text->data, text->length);
		text->data = at;
		at += text->length;
	}
	return block;
}

static void *keep(const struct layout *layout, const void *object)
{
	return object ? copy_into(memory_allocate(size_of(layout, object)), layout, object) : NULL;
}

static void *lend(const struct layout *layout, const void *object, struct arena *arena)
{
	return object ? copy_into(arena_allocate(arena, size_of(layout, object)), layout, object)
		      : NULL;
}

/* ---- the log ---- */

struct change_log *change_log_new(uint64_t position)
{
	struct change_log *log = memory_allocate(sizeof(*log));

	lock_init(&log->lock);
	log->first = position;
	log->shares = 1;
	return log;
}

/* Under the lock. */
static void drop_oldest(struct change_log *log)
{
	struct kept *oldest = &log->kept[log->begin];

	free(oldest->before);
	free(oldest->after);
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
	for (const struct change_log_reader *tail = log->tails; tail; tail = tail->next)
		tail->wake(tail->context);
}

void change_log_add(struct change_log *log, const struct replica_change *change)
{
	bool is_task = change->task_before || change->task_after;
	const struct layout *layout = is_task ? &task_layout : &instance_layout;
	struct kept kept = {.is_task = is_task,
		.before = keep(layout,
			is_task ? (const void *)change->task_before : change->instance_before),
		.after = keep(layout,
			is_task ? (const void *)change->task_after : change->instance_after)};

	lock_take(&log->lock);
	if (log->count == CHANGE_LOG_MAX)
		drop_oldest(log);
	log->kept[(log->begin + log->count++) % CHANGE_LOG_MAX] = kept;
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
	struct change_log_reader *tail = NULL;

	lock_take(&log->lock);
	if (!position || is_kept(log, *position)) {
		tail = memory_allocate(sizeof(*tail));
		*tail = (struct change_log_reader){.log = log,
			.next = log->tails,
			.position = position ? *position : log->first + log->count,
			.wake = wake,
			.context = context};
		log->tails = tail;
		log->shares++;
	}
	lock_release(&log->lock);
	return tail;
}

void change_log_reader_close(struct change_log_reader *tail)
{
	struct change_log_reader **at;

	if (!tail)
		return;
	lock_take(&tail->log->lock);
	for (at = &tail->log->tails; *at != tail; at = &(*at)->next)
		continue;
	*at = tail->next;
	lock_release(&tail->log->lock);
	change_log_leave(tail->log);
	free(tail);
}

uint64_t change_log_reader_position(const struct change_log_reader *tail)
{
	return tail->position;
}

int64_t change_log_reader_observed_ms(const struct change_log_reader *tail)
{
	int64_t observed_ms;

	lock_take(&tail->log->lock);
	observed_ms = tail->log->observed_ms;
	lock_release(&tail->log->lock);
	return observed_ms;
}

int change_log_reader_next(struct change_log_reader *tail, struct arena *arena,
	struct replica_change *ret_change)
{
	struct change_log *log = tail->log;
	int code = -EOVERFLOW;

	lock_take(&log->lock);
	if (is_kept(log, tail->position)) {
		size_t behind = (size_t)(tail->position - log->first);

		code = behind < log->count;
		if (code > 0) {
			const struct kept *kept =
				&log->kept[(log->begin + behind) % CHANGE_LOG_MAX];
			const struct layout *layout =
				kept->is_task ? &task_layout : &instance_layout;
			void *before = lend(layout, kept->before, arena),
			     *after = lend(layout, kept->after, arena);

			*ret_change = (struct replica_change){
				.task_before = kept->is_task ? before : NULL,
				.task_after = kept->is_task ? after : NULL,
				.instance_before = kept->is_task ? NULL : before,
				.instance_after = kept->is_task ? NULL : after};
			tail->position++;
		}
	}
	lock_release(&log->lock);
	return code;
}
