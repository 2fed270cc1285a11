/*
 * Outgoing calls: an operation of an AWS service (ECS, Cloud Map, Elastic Load Balancing) that a controller
 * calls because of something it decided. The controller holds a claim on the object that the decision is about,
 * and another server may take that claim over at any time. An outgoing call is made in five steps:
 *
 *   1. prepare   The target has credentials, and our lease outlasts the call. Nothing is written or called
 *                before; a role that cannot be assumed is a refusal and leaves no intent behind.
 *   2. intent    One transaction that requires the claim writes what is about to be called. A server that
 *                takes over finds it and reads the world before it acts.
 *   3. send      The claim is checked again (claims_check()), then the call is sent. On this server the
 *                claim is also the fence of the call: the transaction of the operation requires it. A remote
 *                endpoint cannot fence for us; the lease outlasts the time limit of a call to it instead.
 *   4. classify  DONE, REFUSED (certainly not done) or UNKNOWN (there was no answer, or an error that does
 *                not say whether the call took effect). After UNKNOWN the caller reads before it calls again,
 *                or repeats the same request with the same client token.
 *   5. outcome   One transaction that requires the claim writes the result, usually with a time before which
 *                the call is not repeated (backoff.h).
 *
 * outcall_run() makes all five for one call:
 *
 *     static int put_intent(struct store_transaction *transaction, void *context, struct err *err);
 *     static int put_outcome(struct store_transaction *transaction, void *context, struct err *err);
 *
 *     struct outcall call = {.claims = claims, .claim = &claim, .target = target, .is_remote = is_remote,
 *             .service = "servicediscovery", .arena = arena};
 *     struct outcall_records records = {put_intent, put_outcome, stage};
 *
 *     code = outcall_run(&call, "DeregisterInstance", request, &records, &stage->result, err);
 *     if (code < 0)
 *             return code;             -ESTALE: the claim is lost, or the intent is out of date
 *     switch (stage->result.outcome) …
 *
 * A controller that writes one intent for several calls makes the steps itself: outcall_prepare() for each
 * target, claims_write(), outcall_send() for each call, claims_write().
 */
#ifndef DELIVERY_OUTCALL_H
#define DELIVERY_OUTCALL_H

#include "aws/call.h"
#include "base/lock.h"
#include "control/claims.h"

/* How long the lease must outlast a call that is sent now. For a remote call it is longer than
 * AWS_TARGETS_WRITE_MS, after which the call is given up. */
#define OUTCALL_LOCAL_US INT64_C(3000000)
#define OUTCALL_REMOTE_US INT64_C(4500000)

/* Where and on whose behalf to call. */
struct outcall {
	struct claims *claims;
	const struct claim
		*claim; /* on the object that the decision is about; not needed to read */
	struct aws_target *target; /* see target.h */
	bool is_remote;            /* the target is an endpoint, not this server */
	bool is_unfenced;          /* sent without the fence: a deliberate bug of simulations */
	const char *
		service; /* as the dispatcher has it: "ecs", "servicediscovery", "elasticloadbalancing" */
	struct arena *arena; /* for the answer and the texts of the result */
};

enum outcall_outcome {
	OUTCALL_DONE,
	OUTCALL_REFUSED, /* and certainly without effect */
	OUTCALL_UNKNOWN, /* the call may have taken effect, or may still do so */
};

struct outcall_result {
	enum outcall_outcome outcome;
	struct json *answer; /* DONE; else NULL */
	struct span
		reason; /* "TYPE: message" of the service, or why there is no answer; "" when DONE */
	struct span error_type; /* "ClusterNotFoundException"; "" when DONE or without an answer */
	/* The endpoint does not answer, fails, or throttles us: other calls to it would fail now, too. */
	bool is_unavailable;
	int code; /* of aws_call(): 0, -EREMOTEIO (the service answered with an error), or another: no answer */
};

/* Step 1. 0; -ECANCELED (the runner stops); -ESTALE (the claim is lost, or its lease is too short now); any
 * other code is a refusal: no call can be made on behalf of this target. Blocks. */
int outcall_prepare(const struct outcall *call, struct err *err);

/* Steps 3 and 4. 0 and the result, whatever the outcome. -ECANCELED, -ESTALE: nothing was done, and the pass
 * ends; after -ECANCELED a remote call may have taken effect. Blocks. */
int outcall_send(const struct outcall *call, const char *operation, const struct json *request,
	struct outcall_result *ret_result, struct err *err);

/* The records of outcall_run(). Each function runs under the claim and may be NULL. */
struct outcall_records {
	/* -ESTALE: the decision is out of date; no call is made. */
	store_write_function put_intent;
	/* The caller's ret_result is filled when it runs. */
	store_write_function put_outcome;
	void *context; /* of both */
};

/* All steps. 0 and the result; the result of a refused step 1 is REFUSED with the code of the refusal, and only
 * put_outcome runs. Negative as outcall_send(), or because a write failed. */
int outcall_run(const struct outcall *call, const char *operation, const struct json *request,
	const struct outcall_records *records, struct outcall_result *ret_result, struct err *err);

/* An operation that only reads: no claim, no fence, no intent. 0 and the answer; -EREMOTEIO with the failure;
 * others as aws_call(). */
int outcall_read(const struct outcall *call, const char *operation, const struct json *request,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err);

/* ---- limits ---- */

/* Remote endpoints may be slow, so they do not get all workers of a controller. Calls to this server need no
 * slot: enter only for remote ones. */
struct outcall_slots {
	struct lock lock;
	unsigned busy, limit;
};

void outcall_slots_init(struct outcall_slots *slots, unsigned limit);
void outcall_slots_destroy(struct outcall_slots *slots);
/* False: all slots are busy; try again soon. A caller that entered leaves. */
bool outcall_slots_enter(struct outcall_slots *slots);
void outcall_slots_leave(struct outcall_slots *slots);

#endif
