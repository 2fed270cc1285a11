/*
 * An informer holds a local copy of an API server's objects of one kind, as current as the network
 * allows, and reports every change in order.
 *
 * It lists in pages, then watches from the list's resourceVersion on and takes over each event; a
 * broken watch continues from its last event; a resourceVersion that the server no longer knows
 * (410 Gone, as a status or as an event) means to list again, where deletions that were missed are
 * found. Failures are tried again forever, later each time, with jitter. **A failed or partial list
 * is never read as an empty cluster**: only a complete one removes what it does not have.
 *
 * `reduce` (object.h) decides which data of an object is kept; the rest is dropped after parsing.
 * Lists and watches are parsed piece by piece, so that memory is bounded by what is kept, not by what is
 * sent.
 *
 * Handlers are called on the informer's own thread, one at a time, in the order in which things
 * happened on the server (per object; a list has no order among objects). The cache holds the
 * change before a handler runs. An object that was deleted and created again with its name (another
 * uid) is reported as a deletion and an addition. A handler should be short: the next event waits
 * for it. It may read the informer, and must not stop it.
 *
 * Reading (get, find, each) is for any thread, at any time. Objects are immutable; a reader holds
 * references as long as it likes.
 *
 * Threads. An informer is one function that blocks in reading a stream. It runs on a group of the runner
 * that it was given, which must be one of threads: kube_informer_start() asserts it. Stop informers
 * before joining that runner, because the stream does not know of runner_stop().
 */
#ifndef KUBE_INFORMER_H
#define KUBE_INFORMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/runner.h"
#include "kube/client.h"
#include "kube/object.h"

#define KUBE_INFORMER_INDEXES_MAX 8
#define KUBE_INFORMER_INDEX_KEYS_MAX 32 /* of one object in one index; more are not entered */
#define KUBE_INFORMER_OBJECTS_MAX ((size_t)200000)
#define KUBE_INFORMER_BYTES_MAX ((size_t)1024 * 1024 * 1024)
#define KUBE_INFORMER_LINE_MAX                                                                     \
	((size_t)8 * 1024 * 1024) /* one object as sent; etcd's own limit is 1.5 MB */
/* Bookmarks come each minute, but only of kinds of which something has ever changed; where nothing comes for longer
 * the watch is opened again, which fails if the server is not there. */
#define KUBE_INFORMER_IDLE_MS INT64_C(90000)
/* How long the server is asked to keep a watch open; a random time between this and its double. */
#define KUBE_INFORMER_WATCH_S 300
#define KUBE_INFORMER_BACKOFF_FIRST_MS INT64_C(200)
#define KUBE_INFORMER_BACKOFF_MOST_MS INT64_C(30000)

struct kube_informer;

/* Collects the keys under which an object is found in an index. */
struct kube_index_keys;
void kube_index_keys_add(struct kube_index_keys *keys, struct span key); /* copied */

struct kube_index {
	const char *name; /* "node" */
	/* Must not block nor call the informer. A function of the object alone. */
	void (*keys)(const struct kube_object *object, struct kube_index_keys *keys);
};

struct kube_informer_config {
	struct kube_client *client; /* outlives the informer */
	struct runner *runner;      /* likewise */
	const struct kube_kind *kind;
	struct span namespace; /* SPAN_NONE: all */
	struct kube_selection selection;
	kube_reduce reduce;               /* NULL: identity alone is kept */
	const struct kube_index *indexes; /* copied */
	size_t index_count;

	/* before NULL: added; after NULL: deleted; the same object twice: resync; else updated. Both are
	 * alive during the call; take a reference to keep one. May be NULL. */
	void (*changed)(void *context, const struct kube_object *before,
		const struct kube_object *after);
	/* The first list is complete, and all its objects were reported. May be NULL. */
	void (*synced)(void *context);
	/* Something failed and will be tried again; for the log. May be NULL. */
	void (*failed)(void *context, const struct err *err);
	void *context; /* of reduce and of all above */

	/* Interval for reporting every object again (before == after); 0: never. */
	int64_t resync_ms;
	/* 0: the defaults above. */
	size_t objects_max, bytes_max; /* passing one is a failure: not synced, tried again later */
	size_t line_max;
	unsigned page_size;
	unsigned watch_s;
	int64_t idle_ms;
	int64_t backoff_first_ms, backoff_most_ms;
};

/* Starts to list and watch. Returns at once; an unreachable server is no failure here. */
int kube_informer_start(const struct kube_informer_config *config,
	struct kube_informer **ret_informer, struct err *err);
/* Ends the stream and the thread, waits for both, and frees the cache. No read may be in progress.
 * informer may be NULL. */
void kube_informer_stop(struct kube_informer *informer);

/* A list was complete once, and the cache is still valid (exceeding objects_max invalidates it). */
bool kube_informer_is_synced(struct kube_informer *informer);
/* Blocks until it is: 0, -ETIMEDOUT, -ECANCELED. deadline_us of the runner's clock. */
int kube_informer_wait_synced(struct kube_informer *informer, int64_t deadline_us);
/* List again now, as if the server had said 410. From any thread, does not wait. */
void kube_informer_relist(struct kube_informer *informer);

/* ---- reading ---- */

/* A reference (release it), or NULL. namespace "" for kinds without. */
const struct kube_object *kube_informer_get(struct kube_informer *informer, struct span namespace,
	struct span name);
/* Those that have this key in the index of this name, in the order they came, as references; their
 * array is in the arena. Empty if there are none. */
struct kube_object_list {
	const struct kube_object **objects;
	size_t count;
};
void kube_object_list_release(struct kube_object_list *list); /* the references */
#define _kube_object_list_ CLEANUP(kube_object_list_release)
void kube_informer_find(struct kube_informer *informer, const char *index, struct span key,
	struct arena *arena, struct kube_object_list *ret_list);
void kube_informer_all(struct kube_informer *informer, struct arena *arena,
	struct kube_object_list *ret_list);

struct kube_informer_statistics {
	size_t objects, bytes; /* kept now; bytes of objects, keys and index entries */
	uint64_t events;       /* of watches, bookmarks not included */
	uint64_t bookmarks;
	uint64_t lists;          /* complete ones */
	uint64_t relists;        /* of those, after the first */
	uint64_t watches;        /* opened */
	uint64_t expired;        /* 410s */
	uint64_t silent;         /* watches that nothing came of for KUBE_INFORMER_IDLE_MS */
	uint64_t errors;         /* failed lists and watches, unreadable lines */
	uint64_t refused;        /* objects that reduce refused */
	uint64_t bytes_received; /* of bodies */
	int64_t last_event_ms;   /* wall time; 0: none yet */
	int64_t last_contact_ms; /* the server said anything at all on a list or watch */
	bool synced;
	bool watching; /* a watch is open now */
};
void kube_informer_statistics(struct kube_informer *informer,
	struct kube_informer_statistics *ret_statistics);

#endif
