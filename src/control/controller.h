/*
 * A controller brings the actual state to the desired state: the change feed reports which keys
 * might need work, and the controller calls reconcile(key) for each until reconcile has nothing
 * left to do.
 *
 * A controller is a row of a table: the kinds it watches, the mapping from a changed object to
 * keys, the reconcile function, the number of workers. reconcile() is straight-line blocking code
 * that
 *
 * - compares desired with actual state and makes the next step; it gets a key and no description of
 *   the change (level-triggered), so it must tolerate extra calls;
 * - may be interrupted after any line and called again, here or on another server: before it
 *   changes the world it stores what it is about to do (intent first), and it observes before it
 *   acts;
 * - never sleeps to wait for something: it stores an absolute time and asks to be called again
 *   then;
 * - reads through views and writes through control_write() or, under a claim, claims_write();
 * - returns 0 or an error; after an error the controller requeues the key with a growing delay.
 *
 * No change is missed: a controller lists (a view), then follows the feed from that view's
 * revision. When it was too slow for the feed it compares the last view it had processed against a
 * new one, so that it sees deletions too. A resync period adds every key once in a while, for
 * worlds that can change without a notification.
 */
#ifndef CONTROL_CONTROLLER_H
#define CONTROL_CONTROLLER_H

#include "control/runner.h"
#include "control/work_queue.h"
#include "store/store.h"

#define CONTROLLER_WORKERS_MAX 64
/* Interval for checking wall-clock deadlines again, in case the wall clock was set. */
#define CONTROLLER_AGAIN_MOST_MS INT64_C(600000)

struct controller;

/* Collects the keys that a change concerns. */
struct controller_keys;
void controller_keys_add(struct controller_keys *keys, struct span key);

struct controller_watch {
	const struct store_kind *kind;
	/* Adds the keys that may need work because of this change; at a listing, `before` is NULL. Must not
	 * block, and may be asked by the store's writer first, whether there will be any. NULL: the object's
	 * own key. */
	void (*map)(const struct store_change *change, void *context, struct controller_keys *keys);
};

/* One call of reconcile: what it may use, and what it may ask for. */
struct controller_call {
	struct runner *runner;
	struct store *store;
	void *context;
	/* Set by reconcile: wall time at which to call again; 0: when something changes. */
	int64_t again_at_ms;
};

struct controller_row {
	const char *name;
	const struct controller_watch *watches;
	size_t watch_count;
	int (*reconcile)(struct controller_call *call, struct span key, struct err *err);
	unsigned workers;  /* 0: one */
	int64_t resync_ms; /* 0: never */
};

struct controller_config {
	struct runner *runner;
	struct store *store;
	void *context; /* for map and reconcile */
	struct work_queue_config queue;
	/* Reports every failed reconcile (from a worker, must not block); NULL: no reports. */
	void (*report)(void *context, const char *controller, struct span key,
		const struct err *err);
	void *report_context;
	/* Deliberate bug, for proving that simulations find it. */
	bool bug_ignore_overflow;
};

/* Starts listing, following and working. The row must outlive the controller. */
int controller_start(const struct controller_row *row, const struct controller_config *config,
	struct controller **ret_controller, struct err *err);
/* Stops: every wait inside reconcile ends with -ECANCELED. Returns when nothing of it runs any more; NULL
 * is fine. */
void controller_stop(struct controller *controller);

/* Queues this key for causes that the feed does not report (an observation of the world, a claim
 * that became free). From any thread, does not block. */
void controller_add(struct controller *controller, struct span key);
/* The same after a failure that reconcile could not return, because it was found out later: it is reported, and
 * the key waits as any other that failed. */
void controller_failed(struct controller *controller, struct span key, const struct err *err);
/* True when it has listed once and has nothing queued or in work (keys that wait for a deadline or a
 * retry do not count). For tests and for readiness. */
bool controller_is_idle(struct controller *controller);

struct controller_statistics {
	struct work_queue_statistics queue;
	uint64_t reconciles, failures;
	uint64_t lists;     /* the first one included */
	uint64_t overflows; /* the feed was faster than we were */
	uint64_t changes;
	uint64_t revision; /* everything up to here was queued */
};
void controller_statistics(struct controller *controller,
	struct controller_statistics *ret_statistics);

#endif
