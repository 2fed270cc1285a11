/*
 * Which server does what, when several share one store.
 *
 * Leases. Each server has one record (kind `server`, key: its name) with a random incarnation that
 * it renews by writing it again. A server is dead when its record is gone or bears another
 * incarnation; that is one durable fact which every server reads alike. A server that sees a record
 * unchanged for the duration in the record, by its own steady clock from the moment *it* last saw a
 * change, deletes the record and requires the revision it saw: a renewal in between wins. Clocks
 * may show different times, but must run at the same rate.
 *
 * Claims. Ownership of an object is a record (kind `claim`, key: chosen by the controller,
 * "toy/web") with the owner's name and incarnation. It is written only when it moves, so its
 * revision is the *epoch* of the ownership: it rises with each move and never repeats. A server may
 * take a claim that has no owner or whose owner is dead; the writing transaction checks this.
 *
 * Acting. An owner may do the following:
 *
 *     code = claims_acquire(claims, key, &claim, err);    -EBUSY: another server owns it
 *     ...
 *     code = claims_check(claims, &claim, timeout, err);  before a call that changes the world: our
 *     world_start(...)                                    lease outlasts the call, so no other
 *                                                         server has begun to act when it arrives
 *     claims_write(claims, &claim, function, ...)         a write that requires the revision:
 *                                                         a stale write is rejected (fencing)
 *
 * A server that was paused for longer than its lease finds its lease expired by its own clock (it
 * counts from *before* the write that renewed it, others from after, less a margin), then its
 * record deleted; it registers again and has to acquire its claims again.
 *
 * A clean stop deletes the server's record (claims_resign), and others take over at once. A server
 * that finds its own name taken by a newer incarnation was replaced and stays down: two servers
 * that take the name from each other in turn would be worse. At its start a server takes its name over at
 * once if the lease is from its own state folder (it was killed), and waits for the end of a lease from
 * another one: a copy of the folder, whose server must not be replaced while it lives.
 */
#ifndef CONTROL_CLAIMS_H
#define CONTROL_CLAIMS_H

#include "control/runner.h"
#include "store/store.h"

#define CLAIMS_LEASE_US INT64_C(10000000)
#define CLAIMS_LEASE_LEAST_US INT64_C(100000)
#define CLAIMS_NAME_MAX 128
#define CLAIMS_INCARNATION_SIZE 33

/* Give both to store_open. */
extern const struct store_kind server_kind;
extern const struct store_kind claim_kind;

struct server_facts {
	struct span incarnation;
	struct span folder; /* may be empty */
	int64_t lease_us;
};

struct claim_facts {
	struct span server; /* empty: released */
	struct span incarnation;
};

enum claim_index { CLAIM_BY_OWNER }; /* "server/incarnation" */

struct claims;

struct claims_config {
	struct runner *runner;
	struct store *store;
	const char *server; /* this server's name: unique among those that share the store */
	int64_t lease_us;   /* 0: CLAIMS_LEASE_US */
	/* Identifies the state folder that the name is from. A name whose lease is renewed from another folder is
	 * not taken (-EBUSY), one from the same folder is taken at once. NULL: any is taken at once. */
	const char *folder;
	/* Takes no lease and so can acquire nothing: for a server that may only be read. */
	bool passive;
	/* Reports to operators: a lease lost, a server declared dead, this server replaced. */
	void (*report)(void *context, const char *message);
	void *report_context;
	/* Deliberate bugs, for proving that simulations find them. */
	bool bug_no_fence;    /* claims_write does not require the claim */
	bool bug_no_check;    /* claims_check always returns 0 */
	bool bug_hasty_death; /* others are declared dead at once and without looking again */
};

/* A claim that this server owned when it was acquired or checked. */
struct claim {
	struct span key;       /* not owned */
	uint64_t epoch;        /* revision of the claim record */
	uint64_t registration; /* private: of which lease of ours it is */
};

/* Registers this server and keeps its lease. Returns when the lease is held. */
int claims_start(const struct claims_config *config, struct claims **ret_claims, struct err *err);
/* Gives up the lease and with it all claims, durably. Stop the controllers first. Afterwards nothing can
 * be acquired. */
int claims_resign(struct claims *claims, struct err *err);
/* Stops renewing (a crash, as others see it, unless resigned before). NULL is fine. */
void claims_stop(struct claims *claims);

/* From now on calls freed(context, key) for each claim that is or becomes free (owner dead,
 * released, record gone) and whose key begins with prefix; the callback requeues the key. Subscribe
 * when the controller runs: claims that became free before are reported then. freed runs on another
 * thread, may run more often than needed, and must not block. */
void claims_subscribe(struct claims *claims, struct span prefix,
	void (*freed)(void *context, struct span key), void *context);
/* Not called any more for this context when this returns. */
void claims_unsubscribe(struct claims *claims, const void *context);

/* 0: ours. -EBUSY: a living server has it. -EAGAIN: this server has no lease just now. -ESTALE: this
 * server was replaced or has resigned. Others: as control_write. The key must live as long as the claim. */
int claims_acquire(struct claims *claims, struct span key, struct claim *ret_claim,
	struct err *err);
/* 0: it is still ours and our lease lasts for `outlast_us` from now; act at once. -ESTALE: it is not. */
int claims_check(struct claims *claims, const struct claim *claim, int64_t outlast_us,
	struct err *err);
/* Inside a transaction: -ESTALE unless the claim is still ours. */
int claims_require(struct claims *claims, struct store_transaction *transaction,
	const struct claim *claim, struct err *err);
/* control_write of a function that runs only if the claim is still ours, else -ESTALE. */
int claims_write(struct claims *claims, const struct claim *claim, store_write_function function,
	void *context, uint64_t *ret_revision, struct err *err);
/* Gives this claim up, for another server to take. */
int claims_release(struct claims *claims, const struct claim *claim, struct err *err);
/* Inside the transaction that deletes the thing itself: deletes the claim's record too. */
int claims_forget(struct claims *claims, struct store_transaction *transaction,
	const struct claim *claim, struct err *err);

/* Whether this server must not act although it has not resigned: its lease ran out, or another has its name. */
bool claims_lost_lease(struct claims *claims);
/* -EAGAIN if so. */
int claims_require_lease(struct claims *claims, struct err *err);
/* Whether our lease holds now, and until when by runner_now_us. */
bool claims_has_lease(struct claims *claims, int64_t *ret_until_us);
const char *claims_server(const struct claims *claims);
/* Whether another server has the claim and renews its lease, as far as this server has observed.
 * Only for status output; do not base decisions on it. */
bool claims_is_kept_by_another(struct claims *claims, struct span key);

#endif
