/*
 * A Lease (coordination.k8s.io) by which one of several programs acts at a time.
 *
 * The holder renews the lease; when its renewals stop for the lease's duration, another program takes it.
 * The others measure that duration on their own clocks from when they saw the last renewal, so clocks
 * need not agree. kube_lease_is_held() is true only while no other program can have taken the lease:
 * it becomes false a margin before the duration is over, counted from before the last successful renewal
 * was sent. A controller asks it before every write.
 *
 * A lease that is given back on stop is free at once. A program that was killed and starts again with the
 * same identity continues to hold its lease.
 */
#ifndef KUBE_LEASE_H
#define KUBE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "control/runner.h"
#include "kube/client.h"

#define KUBE_LEASE_DURATION_S 15
#define KUBE_LEASE_IDENTITY_MAX 200

struct kube_lease;

struct kube_lease_config {
	struct kube_client *client; /* outlives the lease; likewise runner */
	struct runner *runner;
	struct span namespace, name; /* copied, as the identity */
	struct span identity;        /* of this program: no other one has it */
	int duration_s;              /* 0: KUBE_LEASE_DURATION_S */
	/* Held from now on, or no longer; on the lease's own thread. May be NULL. */
	void (*changed)(void *context, bool held);
	/* It could not be read or written and will be tried again; for the log. May be NULL. */
	void (*failed)(void *context, const struct err *err);
	void *context;
};

/* Starts to acquire it and returns at once. */
int kube_lease_start(const struct kube_lease_config *config, struct kube_lease **ret_lease,
	struct err *err);
/* Gives it back if it is held (one request), and frees it. NULL is fine. */
void kube_lease_stop(struct kube_lease *lease);
/* From any thread. */
bool kube_lease_is_held(struct kube_lease *lease);
/* The longest time for a write that is sent while the lease is held: it has ended before another program
 * can take the lease. */
int64_t kube_lease_margin_ms(const struct kube_lease *lease);

#endif
