/*
 * The next step of a CanaryRelease: a pure function of what was read of the cluster. One decision is one write, or to
 * wait; after each write the decision is made anew, so a controller can stop after any of them.
 *
 *     create     C1 C2 plan   C3 objects   C5 copies of Services   C6 proxy   C7 take-over   C8 available
 *     adopt      A1 Services to the canary   A2 Release   A3 its new version   A4 ownership   A5 copies   A7 proxy
 *     deprecate  D1 Services back   D2 drain   D3 objects   D4 copies   D6 proxy
 *
 * A step is recorded in status.step before its first effect, with everything that a later pass needs to finish or to
 * undo it. While a canary is active its objects are compared with the recorded plan on every pass: what was deleted or
 * changed by others is written again.
 */
#ifndef RELEASE_CANARY_DECIDE_H
#define RELEASE_CANARY_DECIDE_H

#include "release/canary.h"
#include "release/canary_objects.h"
#include "release/canary_status.h"
#include "release/object_calls.h"
#include "release/release_snapshot.h"

#define CANARY_ADOPT_TIMEOUT_S 60 /* for the Release's new version, before that is a failure */

/* An object as it is in the cluster. */
struct canary_live {
	const struct json *object; /* NULL: it does not exist */
	/* canary_hash() of the object whose apply led to the present content; 0: not known. */
	uint64_t applied;
};

struct canary_input {
	const struct canary *canary;
	const struct release_snapshot *release; /* NULL: there is none */
	const struct json *release_object;
	const struct canary_pod *pods; /* of the proxy */
	size_t pod_count;
	struct canary_proxy_settings settings;
	int64_t now_ms;
	/* The object of this kind and name in the namespace of the CanaryRelease; the same during one decision. */
	struct canary_live (*find)(void *context, const struct object_id *id);
	/* True if an autoscaler sets the replicas of this workload. May be NULL. */
	bool (*is_scaled)(void *context, const struct object_id *id);
	/* Takes a sample of this metric of the present step; false: it is under way. May be NULL. */
	bool (*sample)(void *context, size_t index, const struct canary_metric *metric,
		struct analysis_sample *ret_sample);
	void *context;
};

enum canary_verb {
	CANARY_WAIT,
	CANARY_APPLY,        /* object, server-side, under the name of `manager` */
	CANARY_UPDATE,       /* object, which has its resourceVersion */
	CANARY_MERGE,        /* the patch in object, into id */
	CANARY_MERGE_STATUS, /* likewise, into its status */
	CANARY_DELETE,       /* id with uid */
};

struct canary_decision {
	enum canary_verb verb;
	const struct json *object;
	struct object_id id;
	struct span uid;
	const char *manager;
	int64_t until_ms; /* CANARY_WAIT: decide again then at the latest; 0: when something changes */
	const char *
		event; /* an Event's reason, if the write is a transition that users follow; or NULL */
};

void canary_decide(struct arena *arena, const struct canary_input *input,
	struct canary_decision *ret_decision);

/* The failure of a CanaryRelease that canary_read() refused: the write that records it, or to wait. */
void canary_decide_invalid(struct arena *arena, const struct canary_input *input,
	const char *message, struct canary_decision *ret_decision);

uint64_t canary_hash(const struct json *object);

#endif
