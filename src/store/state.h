/*
 * State shared by the files of the store: the store itself, its views, and head.
 *
 * Ownership: `published` belongs to view_lock, the queue to the writer's own lock, numbers to
 * statistics_lock; ring and quarantine have their locks inside. Head, backend and integrity are the
 * writer's alone (and store_open's, before there is a writer).
 */
#ifndef STORE_STATE_H
#define STORE_STATE_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/map.h"
#include "store/backend.h"
#include "store/feed.h"
#include "store/integrity.h"
#include "store/kinds.h"
#include "store/object.h"
#include "store/quarantine.h"
#include "store/store.h"
#include "store/tree.h"

/* All readers of the same state share one view: opening only counts a reference. */
struct store_view {
	struct store *store;
	_Atomic uint32_t references;
	uint64_t revision;
	struct tree trees[]; /* kinds.tree_count */
};

/* ---- head: the state that the writer works on (head.c) ---- */

struct head {
	struct store_view *view; /* not shared, changes in place; its revision is the last taken */
	struct store_change *changes; /* not yet published, with references */
	size_t count, capacity;
	size_t bytes; /* of the objects put by them */
	struct object_maker *maker;

	/* Where the edit in work began. */
	size_t first_change;
	uint64_t first_revision;
	size_t first_bytes;
};

void head_init(struct store *store);
void head_clear(struct store *store);
/* Puts an object into the trees without a change: for loading only. */
void head_load(struct store *store, const struct kind_place *place,
	const struct store_object *object);
/* An edit is kept as a whole or not at all. */
void head_begin_edit(struct store *store);
void head_end_edit(struct store *store, bool keep);
/* Within an edit: replaces before (NULL: nothing there) by after (NULL: delete) at this revision.
 * Takes over the caller's reference of after. */
void head_change(struct store *store, const struct kind_place *place, uint64_t revision,
	const struct store_object *before, const struct store_object *after);
/* Shows head, which has become durable, to everyone. */
void head_publish(struct store *store);
/* Goes back to what is published. */
void head_restore(struct store *store);

/* ---- rows of the database (rows.c) ---- */

/* Everything that the database has, into a head that is emptied first. without_key: any row at all is
 * an error. */
int rows_load(struct store *store, bool without_key, struct err *err);
/* Applies other servers' changes to head and publishes them, with the group's lock or without. */
int rows_take_over(struct store *store, bool lock, struct err *err);

/* ---- the writer (writer.c) ---- */

struct writer;
struct writer *writer_new(struct store *store);
int writer_start(struct writer *writer, struct err *err); /* not for inline_writes */
void writer_stop(struct writer *writer);                  /* answers what is queued */
void writer_free(struct writer *writer);
size_t writer_queue_length(struct writer *writer);

struct store_transaction {
	struct store *store;
	struct arena *arena;
	size_t changes;
};

/* ---- the store ---- */

struct store {
	bool inline_writes;
	struct clock *clock;
	const struct store_faults *faults; /* or NULL */
	void (*report_function)(void *context, const char *message);
	void *report_context;

	struct kinds kinds;
	struct store_backend *backend;
	struct integrity *integrity; /* NULL with memory: nothing could be tampered with */
	struct quarantine quarantine;
	struct map unknown_kinds; /* names that were reported */
	struct feed_ring *ring;
	struct head head;
	struct writer *writer;

	struct lock view_lock;
	struct store_view *published;

	struct lock statistics_lock;
	struct store_statistics statistics;
	char *outdated; /* why, when a newer slipway brought the database forward; else NULL */
};

void store_report(struct store *store, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline struct tree *view_tree(const struct store_view *view, const struct kind_place *place,
	int index)
{
	return (struct tree *)&view->trees[place->first_tree + (size_t)(index + 1)];
}

#endif
