/*
 * Changes that consumers have not read yet: one queue for each cursor, so that a slow consumer delays neither others nor
 * the sources. A full queue is dropped, and its consumer reads once that changes were lost.
 */
#include <assert.h>

#include "base/memory.h"
#include "delivery/observe/observe_internal.h"

struct queued {
	struct queued *next;
	struct observe_change change; /* its texts are behind it */
	char text[];
};

struct observe_cursor {
	struct observer *observer;
	struct observe_cursor *next;
	struct runner_event *wake;
	struct queued *first, **last;
	size_t count;
	bool has_lost;
};

struct observe_cursor *observe_cursor_open(struct observer *observer, struct runner_event *wake)
{
	struct observe_cursor *cursor = memory_allocate(sizeof(*cursor));

	cursor->observer = observer;
	cursor->wake = wake;
	cursor->last = &cursor->first;
	lock_take(&observer->cursors_lock);
	cursor->next = observer->cursors;
	observer->cursors = cursor;
	lock_release(&observer->cursors_lock);
	return cursor;
}

/* Under the lock. */
static struct queued *take_first(struct observe_cursor *cursor)
{
	struct queued *first = cursor->first;

	if (first) {
		cursor->first = first->next;
		cursor->count--;
	}
	if (!cursor->first)
		cursor->last = &cursor->first;
	return first;
}

/* Under the lock. */
static void drop_all(struct observe_cursor *cursor)
{
	struct queued *queued;

	while ((queued = take_first(cursor)))
		free(queued);
}

void observe_cursor_close(struct observe_cursor *cursor)
{
	struct observe_cursor **at;

	if (!cursor)
		return;
	lock_take(&cursor->observer->cursors_lock);
	for (at = &cursor->observer->cursors; *at != cursor; at = &(*at)->next)
		continue;
	*at = cursor->next;
	drop_all(cursor);
	lock_release(&cursor->observer->cursors_lock);
	free(cursor);
}

/* ---- texts ---- */

static void texts_of(struct observe_change *change, struct span *texts[OBSERVE_CHANGE_TEXTS])
{
	texts[0] = &change->cluster.text;
	texts[1] = &change->instance;
	texts[2] = &change->group;
	texts[3] = &change->service;
	texts[4] = &change->error;
}

static struct queued *copy_change(const struct observe_change *change)
{
	struct observe_change source = *change;
	struct span *texts[OBSERVE_CHANGE_TEXTS];
	struct queued *queued;
	size_t size = 0;
	char *at;

	texts_of(&source, texts);
	for (size_t i = 0; i < LENGTH(texts); i++)
		size += texts[i]->length;
	queued = memory_allocate(sizeof(*queued) + size);
	queued->change = *change;
	texts_of(&queued->change, texts);
	at = queued->text;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		if (texts[i]->length > 0)
			memcpy(at, texts[i]->data, texts[i]->length);
		texts[i]->data = at;
		at += texts[i]->length;
	}
	return queued;
}

/* ---- writing and reading ---- */

/* Under the lock. */
static void add(struct observe_cursor *cursor, const struct observe_change *change)
{
	struct queued *queued;

	if (cursor->count >= OBSERVE_CHANGES_MAX) {
		drop_all(cursor);
		cursor->has_lost = true;
	}
	queued = copy_change(change);
	*cursor->last = queued;
	cursor->last = &queued->next;
	cursor->count++;
}

void observe_report(struct observer *observer, const struct observe_change *change)
{
	assert(lock_held_count() == 0);
	lock_take(&observer->cursors_lock);
	for (struct observe_cursor *cursor = observer->cursors; cursor; cursor = cursor->next) {
		add(cursor, change);
		runner_signal(cursor->wake);
	}
	lock_release(&observer->cursors_lock);
}

bool observe_cursor_next(struct observe_cursor *cursor, struct arena *arena,
	struct observe_change *ret_change)
{
	struct span *texts[OBSERVE_CHANGE_TEXTS];
	struct queued *queued = NULL;
	bool has_lost;

	lock_take(&cursor->observer->cursors_lock);
	has_lost = cursor->has_lost;
	cursor->has_lost = false;
	if (!has_lost)
		queued = take_first(cursor);
	lock_release(&cursor->observer->cursors_lock);
	if (!has_lost && !queued)
		return false;
	*ret_change = has_lost ? (struct observe_change){.type = OBSERVE_CHANGE_LOST,
					 .cluster = cluster_ref_of(SPAN("")),
					 .instance = SPAN(""),
					 .group = SPAN(""),
					 .service = SPAN(""),
					 .error = SPAN("")}
			       : queued->change;
	texts_of(ret_change, texts);
	for (size_t i = 0; i < LENGTH(texts); i++)
		*texts[i] = arena_copy_span(arena, *texts[i]);
	ret_change->cluster = cluster_ref_of(ret_change->cluster.text);
	free(queued);
	return true;
}
