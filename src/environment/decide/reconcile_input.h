/* The input of a pass over an environment of any type, and recorded moments. */
#ifndef ENVIRONMENT_DECIDE_RECONCILE_INPUT_H
#define ENVIRONMENT_DECIDE_RECONCILE_INPUT_H

#include "delivery/observe/observe.h"
#include "environment/model/bug.h"
#include "environment/model/kinds.h"

/* A refused call is repeated after at most this long. */
#define PLACEMENT_REFUSED_MOST_MS INT64_C(15000)

struct reconcile_input {
	const struct store_view *view;
	struct observer *state;
	const struct store_object *environment;
	/* The desired version: of the last deployment, else the latest; NULL: none. */
	const struct store_object *target;
	bool rolls; /* a user's deployment is in progress, or was completed: older versions are replaced */
	bool canary;       /* its canary has not finished its bake time yet */
	int64_t now_ms;    /* wall time, for records */
	int64_t steady_ms; /* for waiting */
	struct arena *arena;
	enum daemon_bug bug; /* DAEMON_BUG_NONE but in simulations */
};

/* A recorded moment, perhaps of another server, in this server's steady time: calculated when it is first read and kept,
 * because clocks are set while programs run. */
struct recorded_moment {
	int64_t written_ms, steady_ms;
};

/* In steady time, at most that far ahead: the server that wrote it may have another clock. */
int64_t recorded_moment(struct recorded_moment *moment, const struct reconcile_input *input,
	int64_t written_ms, int64_t most_ahead_ms);

#endif
