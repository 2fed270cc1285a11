/*
 * The memory that the supervisor and its workers share: listeners, groups and targets with their
 * weights and counters. Only the supervisor writes slots, workers count in them. It is one memory
 * file of fixed layout, as sparse as its use, so a new worker only maps it.
 *
 * A slot is used by one incarnation after the other. It is reused only when no worker has open
 * connections that refer to it, so a worker may keep a pointer to a slot as long as it counts
 * itself active there.
 *
 * Clients of UDP sessions are remembered here, too: a replacement worker finds the targets of the
 * previous one's clients.
 */
#ifndef PROXY_L4_SHARED_H
#define PROXY_L4_SHARED_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "proxy/l4/l4.h"
#include "proxy/share.h"

#define L4_SHARED_FORMAT 2 /* a worker of another format fails */
/* Accepting workers, and old ones with open connections. */
#define L4_WORKER_SLOTS 32
#define L4_STICKS 65536
#define L4_STICKS_TOGETHER 8 /* possible entries of a client */
#define L4_NO_SLOT UINT32_MAX
/* Groups of a listener, and earlier ones with open connections. */
#define L4_ROUTE_SLOTS 32

#define L4_COUNTERS(X)                                                                             \
	X(connections)                                                                             \
	X(bytes_in)                                                                                \
	X(bytes_out)                                                                               \
	X(datagrams_in)                                                                            \
	X(datagrams_out)                                                                           \
	X(connect_failures)                                                                        \
	X(retries)                                                                                 \
	X(failed)                                                                                  \
	X(refused)                                                                                 \
	X(resets)                                                                                  \
	X(idle_ends)                                                                               \
	X(evictions)                                                                               \
	X(cut)

#define L4_ENUM_(name) L4_COUNT_##name,
enum l4_count { L4_COUNTERS(L4_ENUM_) L4_COUNT_COUNT };
#undef L4_ENUM_

struct l4_counters {
	_Atomic uint64_t counts[L4_COUNT_COUNT];
	/* By worker, so that those of a dead one can be subtracted. */
	_Atomic uint32_t active[L4_WORKER_SLOTS];
};

struct l4_target {
	_Atomic uint32_t incarnation;   /* 0: free */
	_Atomic uint32_t state;         /* enum proxy_target_state */
	_Atomic int64_t drain_until_us; /* steady time; INT64_MAX: no limit */
	_Atomic int64_t warm_from_us;   /* its share rises from here on; 0: it has its full share */
	_Atomic uint32_t warm_credit;   /* parts of turns while it rises; 2^16 are a turn */
	union proxy_address address;    /* constant for one incarnation */
	struct l4_counters counters;
};

struct l4_group {
	_Atomic uint32_t cursor;
	_Atomic uint32_t slow_start_ms;
	_Atomic int64_t warm_at_us; /* before this, some target may have less than its full share */
	/* The active targets are list[version & 1]; a reader looks at the version before and after. */
	_Atomic uint32_t version;
	struct {
		_Atomic uint32_t count;
		_Atomic uint32_t targets[PROXY_GROUP_TARGETS_MAX];
	} lists[2];
	struct l4_counters counters;
};

/* A group as one listener uses it. Its index is the key of the listener's share. */
struct l4_route {
	_Atomic uint32_t group;
	struct l4_counters counters;
};

struct l4_listener {
	_Atomic uint32_t incarnation; /* 0: free */
	_Atomic uint32_t protocol;
	_Atomic uint32_t connect_timeout_ms, idle_timeout_ms, udp_idle_timeout_ms;
	_Atomic uint32_t retries, max_connections, udp_sessions_max;
	_Atomic bool retry_next_group, proxy_v2, sticky_source, udp_datagram;
	struct share share;
	struct l4_route routes[L4_ROUTE_SLOTS];
	struct l4_counters counters;
};

/* The target of a UDP client's session. A client takes one of several entries; where all of them
 * are taken, it takes the one that was silent for longest, whose client loses its target only if
 * its worker dies. */
struct l4_stick {
	_Atomic uint64_t client_and_target; /* 32 bits to distinguish clients, 32 for the target */
	_Atomic uint32_t seen_s;            /* steady time of its last datagram, about */
};

struct l4_shared {
	uint32_t format;
	uint32_t size_check; /* both sides have the same layout */
	/* Slots at and beyond these were never used. Even reading them would allocate their
	 * pages. */
	_Atomic uint32_t listeners_used, groups_used, targets_used;
	struct l4_listener listeners[PROXY_LISTENERS_MAX];
	struct l4_group groups[PROXY_GROUPS_MAX];
	struct l4_target targets[PROXY_TARGETS_MAX];
	struct l4_stick sticks[L4_STICKS];
};

/* A new, empty one. The descriptor is for the workers. */
int l4_shared_create(int *ret_descriptor, struct l4_shared **ret_shared, struct err *err);
/* In the worker. */
int l4_shared_map(int descriptor, struct l4_shared **ret_shared, struct err *err);
void l4_shared_unmap(struct l4_shared *shared); /* NULL is fine */

static inline void l4_count(struct l4_counters *counters, enum l4_count which, uint64_t by)
{
	atomic_fetch_add_explicit(&counters->counts[which], by, memory_order_relaxed);
}

uint64_t l4_active(const struct l4_counters *counters);
/* Subtracts the open connections of a dead worker. */
void l4_forget_worker(struct l4_shared *shared, unsigned worker_slot);

/* A request for a target. */
struct l4_turn {
	int64_t now_us;
	uint64_t hash;         /* 0: the next one in turn; otherwise the one for the hash */
	const uint32_t *tried; /* never one of these */
	size_t tried_count;
};
/* A target with slow start passes on as many of its turns (or hashes) as it lacks of its full
 * share; if no other target exists, it takes them all the same. */
uint32_t l4_group_next(struct l4_shared *shared, struct l4_group *group,
	const struct l4_turn *turn);
void l4_group_publish(struct l4_group *group, const uint32_t *targets, uint32_t count);

#endif
