/*
 * The store: everything slipway knows, as objects with revisions.
 *
 * An object is (kind, key, revision, API text, private text). It is immutable and reference-counted
 * once published; changing one means putting a new one under the same key. The API text is what a
 * client gets to see, kept serialized so that answers are joined from ready text; the private text is
 * ours. A kind says which facts to extract from the texts, once, when an object is made, and by which
 * texts it is indexed; readers and controllers use facts and indexes and do not parse.
 *
 * Reading. A view is a snapshot of everything at one durable revision. Opening one is cheap, it never
 * blocks a writer, and what it returns lives as long as the view.
 *
 * Writing. A write is a straight-line function run by the one writer, in turn, against *head*: what it
 * reads includes what earlier writes did, durable or not. It must not block. It returns 0 to keep its
 * changes or a negative code to drop all of them. Writes that queue up while the disk is busy are made
 * durable together, by one fsync; only then are their changes published to views and feed, and only
 * then does `done` run. If a group cannot be made durable, head goes back to the last durable state
 * and every write of the group is answered with the error.
 *
 *     int rename(struct store_transaction *tx, void *context, struct err *err)
 *     {
 *             const struct store_object *old = store_get(store_head(tx), &cluster_kind, key);
 *             ...
 *             return store_put(tx, &cluster_kind, key, api, private, old->revision, err);
 *     }
 *
 * Revisions. Every change (put or delete) takes the next number of one sequence; an object carries the
 * number of its last put. The sequence survives restarts and, on PostgreSQL, is shared by all servers.
 *
 * The feed gives every published change in revision order from a ring with a cap in bytes. The writer
 * never waits for a reader: one that fell out of the ring must list again (-EOVERFLOW).
 *
 * Integrity. Every record carries an HMAC over kind, key, revision and texts, with a key that is not
 * in the database. A record that fails is quarantined: reported, kept in place, hidden from
 * readers, and its key cannot be written.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"

#define STORE_KEY_MAX 1024
#define STORE_TEXT_MAX (1024 * 1024) /* API and private text of one object, each */
#define STORE_INDEXES_MAX 16         /* of one kind */
#define STORE_MEASURES 4             /* numbers that an index sums up */
#define STORE_CHANGES_MAX 16384      /* of one transaction */
#define STORE_FEED_LAG_MAX 512       /* revisions that a feed of some kinds may sleep through */

struct store;
struct store_view;
struct store_transaction;
struct store_object;

/* ---- kinds: static tables, one per kind of object, given to store_open ---- */

/* Collects the texts under which an object is found in one index: none, one or several. */
struct store_index_writer;
void store_index_add(struct store_index_writer *writer, struct span text);
void store_index_add_format(struct store_index_writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct store_index {
	const char *name;
	void (*write)(const struct store_object *object, struct store_index_writer *writer);
	/* Optional: numbers of this object that store_sum() adds up over a prefix. */
	void (*measure)(const struct store_object *object, int64_t measures[STORE_MEASURES]);
};

struct store_kind {
	const char *name; /* in the database: never changes once released */
	size_t facts_size;
	/* Fills facts (zeroed, facts_size bytes) from the object's key and texts. Spans in the facts may
	 * point into the object's key, api and private text, which do not move; into nothing else. */
	int (*extract)(const struct store_object *object, void *facts, struct arena *scratch,
		struct err *err);
	const struct store_index *indexes;
	size_t index_count;
};

struct store_object {
	const struct store_kind *kind;
	uint64_t revision;
	struct span key;
	struct span api;      /* may be empty */
	struct span private_; /* may be empty */
	const void *facts;    /* kind->facts_size bytes */
};

const struct store_object *store_object_ref(const struct store_object *object);
void store_object_unref(const struct store_object *object); /* NULL is fine */
void store_object_unref_pointer(const struct store_object **object);
#define _object_ CLEANUP(store_object_unref_pointer)

/* ---- opening ---- */

/* Faults for tests, at the seam between writer and backend; all NULL in production. A negative code
 * from before_commit fails the group (nothing was written); after_commit's return value is used by
 * simulations to stop at that point: the group is durable, but not published. */
struct store_faults {
	int (*before_commit)(void *context);
	int (*after_commit)(void *context);
	void *context;
};

struct store_config {
	/* "sqlite:PATH" (a file), "postgresql://…" or "memory:" */
	const char *url;
	const char
		*key_path; /* file of the HMAC key; made (0600) when missing. NULL with memory: */
	const struct store_kind *const *kinds;
	size_t kind_count;
	struct clock *clock;
	size_t feed_bytes; /* cap of the ring; 0: 64 MiB */
	/* true: no thread of its own; store_write runs, commits and calls done before it returns. For
	 * simulations and tools. Not with PostgreSQL. */
	bool inline_writes;
	const struct store_faults *faults;
	/* Reports events for the operator, on the writer's thread: quarantined records, a database
	 * that became unreachable or reachable. */
	void (*report)(void *context, const char *message);
	void *report_context;
};

int store_open(const struct store_config *config, struct store **ret_store, struct err *err);
/* Answers what is queued (done is called for all), ends the writer, closes. Views must be closed
 * before; NULL is fine. */
void store_close(struct store *store);

struct store_statistics {
	uint64_t revision; /* last durable */
	uint64_t objects;
	uint64_t transactions, changes, groups, failed_groups;
	uint64_t quarantined;
	uint64_t group_microseconds; /* sum over groups, of commit alone */
	size_t feed_bytes;
	size_t queue;   /* writes waiting */
	bool available; /* the last group could be made durable */
};
void store_statistics(struct store *store, struct store_statistics *ret_statistics);
/* Whether other servers may write to the same database. */
bool store_is_shared(const struct store *store);
/* Whether a newer slipway has migrated the database. Then nothing is written, and changes of other servers are not
 * applied, until this server is upgraded or the database restored. The reason is added to out (not NULL). */
bool store_is_outdated(struct store *store, struct buffer *out);
/* One line per quarantined record: "kind key (revision N): reason". */
void store_list_quarantined(struct store *store, struct buffer *out);
/* Whether (kind, key) is quarantined: for counters that must not go back. */
bool store_is_quarantined(struct store *store, const struct store_kind *kind, struct span key);
/* Whether an object of this kind with this prefix is: for changes that require complete data. */
bool store_has_quarantined(struct store *store, const struct store_kind *kind, struct span prefix);
/* Whether a record of any kind is whose key contains this: for ids, which are unique. */
bool store_has_quarantined_key_with(struct store *store, struct span part);

/* ---- reading ---- */

struct store_view *store_view_open(struct store *store);
void store_view_close(struct store_view *view); /* NULL is fine */
void store_view_close_pointer(struct store_view **view);
#define _view_ CLEANUP(store_view_close_pointer)
uint64_t store_view_revision(const struct store_view *view);

/* NULL if absent. Lives as long as the view (take a reference to keep it longer). */
const struct store_object *store_get(const struct store_view *view, const struct store_kind *kind,
	struct span key);

/*
 * Walking. A cursor goes over the objects of a kind in order of key (index -1) or of (index text, key),
 * over those whose key or index text starts with prefix. `exact` narrows it to the index text that
 * equals prefix. It starts behind `after_text`/`after_key` when those are given: the position that a
 * pagination token keeps. Directions: forward, or backward with `descending`.
 *
 *     struct store_cursor cursor = {.view = view, .kind = &task_kind, .index = TASK_BY_SERVICE,
 *                                   .prefix = service, .exact = true};
 *     while ((task = store_next(&cursor)))
 */
struct store_cursor {
	const struct store_view *view;
	const struct store_kind *kind;
	int index; /* -1: by key */
	struct span prefix;
	bool exact;
	bool descending;
	struct span after_text; /* only for an index; data NULL: from the beginning */
	struct span after_key;
	/* private to the store: position after the last object given */
	const void *position[16];
	uint16_t slots[16];
	uint8_t depth;
	bool started;
	struct span text; /* the index text under which the last object was found */
};
const struct store_object *store_next(struct store_cursor *cursor);

/* How many entries a cursor of the same description would give, and the sums of their measures, both
 * in O(log n). (An object with several texts counts once per text.) */
uint64_t store_count(const struct store_view *view, const struct store_kind *kind, int index,
	struct span prefix, bool exact);
void store_sum(const struct store_view *view, const struct store_kind *kind, int index,
	struct span prefix, bool exact, int64_t ret_sums[STORE_MEASURES]);

/* ---- writing ---- */

typedef int (*store_write_function)(struct store_transaction *transaction, void *context,
	struct err *err);
/* code 0: durable and published, revision is that of the transaction's last change (or of head, if it
 * changed nothing). Negative: what the function returned, or -EIO when the group could not be made
 * durable, or -ECANCELED when the store was closed. On the writer's thread: be short, do not block. */
typedef void (*store_done_function)(void *context, int code, uint64_t revision,
	const struct err *err);

/* From any thread. -EAGAIN (done is not called) when too many writes wait. */
int store_write(struct store *store, store_write_function function, store_done_function done,
	void *context, struct err *err);
/* Blocks until durable. Not from the writer's thread or from a fiber with threads off. */
int store_write_wait(struct store *store, store_write_function function, void *context,
	uint64_t *ret_revision, struct err *err);

/* Head, as this transaction sees it. Valid until the next change of the transaction: an object got
 * before stays valid until the transaction ends, a cursor does not survive a change. */
const struct store_view *store_head(struct store_transaction *transaction);

#define STORE_ANY UINT64_MAX /* at any revision, or none */
#define STORE_ABSENT 0       /* nothing may be there */

/* Puts an object; `expected` is STORE_ANY, STORE_ABSENT or the revision it must have now.
 * -EEXIST, -ESTALE when that is not so; -EINVAL when extract refuses; -E2BIG beyond a limit; -EBADMSG
 * when the key is quarantined. The texts are copied. */
int store_put(struct store_transaction *transaction, const struct store_kind *kind, struct span key,
	struct span api, struct span private_, uint64_t expected, struct err *err);
/* -ENOENT when absent, -ESTALE as above. */
int store_delete(struct store_transaction *transaction, const struct store_kind *kind,
	struct span key, uint64_t expected, struct err *err);
/* -ESTALE unless the object has this revision (STORE_ABSENT: does not exist). For what was only
 * read: claims, parents. */
int store_require(struct store_transaction *transaction, const struct store_kind *kind,
	struct span key, uint64_t revision, struct err *err);
/* The revision that the next change will take. */
uint64_t store_next_revision(struct store_transaction *transaction);
/* An arena that lives until the transaction is done (through `done`). */
struct arena *store_transaction_arena(struct store_transaction *transaction);

/* ---- the change feed ---- */

struct store_change {
	uint64_t revision;
	const struct store_kind *kind;
	const struct store_object *before; /* NULL: was created */
	const struct store_object *after;  /* NULL: was deleted */
};

struct store_feed;
/* Changes after `revision` (of a view: list, then follow, and nothing falls between). wake is called
 * from the writer's thread after something was published; it must not block and may come too often. */
int store_feed_open(struct store *store, uint64_t revision, void (*wake)(void *context),
	void *context, struct store_feed **ret_feed, struct err *err);
/* From now on wake is called only when a change is of one of these kinds, or when the feed has fallen
 * STORE_FEED_LAG_MAX revisions behind (so that it stays in the ring and its reader lets go of old views).
 * store_feed_next gives every change as before. The array must outlive the feed. */
void store_feed_narrow(struct store_feed *feed, const struct store_kind *const *kinds,
	size_t count);
/* Likewise, and of those only when a change matters. Asked on the writer's thread: must not block. The context is
 * that of wake. */
void store_feed_filter(struct store_feed *feed,
	bool (*matters)(const struct store_change *change, void *context));
void store_feed_close(struct store_feed *feed); /* wake does not run after this returned */
/* Up to max changes; 0: none now. Both objects are referenced: call store_change_release on each.
 * -EOVERFLOW: too slow, or resumed from too long ago: list again and open anew. */
int store_feed_next(struct store_feed *feed, struct store_change *changes, size_t max);
void store_change_release(struct store_change *change);

#endif
