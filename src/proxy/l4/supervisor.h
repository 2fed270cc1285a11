/*
 * The supervisor: the applied state, by name (plane.c), and the processes that carry it
 * (workers.c). Everything is guarded by one lock; no thread waits while holding it.
 */
#ifndef PROXY_L4_SUPERVISOR_H
#define PROXY_L4_SUPERVISOR_H

#include "base/lock.h"
#include "base/map.h"
#include "proxy/l4/control.h"
#include "proxy/l4/shared.h"

#define L4_SYNC_TIMEOUT_MS 15000
#define L4_SEND_TIMEOUT_S 10
#define L4_RESTART_DELAY_MAX_MS 1000
#define L4_SHORT_LIFE_MS 100 /* a worker that dies younger than this is restarted with a delay */

struct plane_target {
	uint32_t slot;
	bool wanted; /* during an apply */
};

struct plane_group {
	char *name;
	uint32_t slot;
	struct plane_target *targets; /* in the order of the state */
	size_t target_count;
	bool wanted;
};

struct plane_listener {
	char *name;
	uint32_t slot, incarnation;
	enum proxy_protocol protocol;
	union proxy_address requested, bound;
	int descriptor;
	struct {
		struct plane_group *group;
		uint32_t key; /* index of the route in shared memory */
	} routes[PROXY_ROUTES_MAX];
	size_t route_count;
	bool wanted, reported; /* reported: workers have it */
};

enum l4_worker_state { L4_WORKER_NONE, L4_WORKER_ACCEPTS, L4_WORKER_DRAINS };

struct l4_worker {
	enum l4_worker_state state;
	unsigned index; /* index among the accepting ones */
	pid_t pid;
	int control;
	uint32_t synced;
	int64_t started_us;
};

struct l4 {
	struct proxy_driver driver;
	struct runner *runner;      /* a group of the one it was given */
	struct runner_event *event; /* syncs, ends of workers, the end of an apply */
	struct lock lock;
	bool busy; /* an apply or an upgrade is under way */
	bool stopping;
	bool working; /* there are workers: as long as there are listeners */
	bool leaving; /* they keep running after this process */
	int wake;     /* for the thread that polls */
	char **command;
	unsigned worker_count;
	uint64_t worker_starts;
	struct l4_worker workers[L4_WORKER_SLOTS];
	int64_t restart_us[L4_WORKERS_MAX]; /* when the index gets a new worker; 0: it has one */
	int64_t restart_delay_ms[L4_WORKERS_MAX];
	uint32_t sync;

	int memory;
	struct l4_shared *shared;
	uint32_t next_incarnation;
	struct map listeners; /* struct plane_listener, in the order of the state */
	struct map groups;    /* struct plane_group */
};

/* plane.c */
int plane_apply(struct l4 *l4, const struct proxy_state *state, struct err *err);
int plane_set_weights(struct l4 *l4, const char *listener, const struct proxy_route *routes,
	size_t route_count, struct err *err);
void plane_report(struct l4 *l4, struct arena *arena, struct proxy_report *report);
void plane_clear(struct l4 *l4);

/* workers.c; all but workers_main and workers_stop with the lock held. */
int workers_start(struct l4 *l4, unsigned index, struct err *err);
/* There is no listener: they complete open connections and exit. */
void workers_rest(struct l4 *l4);
/* Sends to all accepting workers; for UDP, only to the one that has the listener. Unreachable ones
 * are ended, and their replacements get the whole state. */
void workers_notify(struct l4 *l4, const struct control_message *message, int descriptor);
void workers_notify_listener(struct l4 *l4, struct plane_listener *listener, bool open);
bool workers_are_synced(const struct l4 *l4, uint32_t sync);
void workers_drain(struct l4 *l4, unsigned worker_slot);
void workers_main(void *context);
void workers_stop(struct l4 *l4);
void workers_wake(struct l4 *l4);

#endif
