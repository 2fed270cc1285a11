/* Shared by claims.c, claims_lease.c and claims_records.c; no other file includes it. */
#ifndef CONTROL_CLAIMS_INTERNAL_H
#define CONTROL_CLAIMS_INTERNAL_H

#include "base/lock.h"
#include "base/map.h"
#include "control/claims.h"

/* Another server, as last observed. */
struct observed {
	uint64_t revision;
	int64_t seen_at_us;    /* or excused */
	int64_t changed_at_us; /* guarded by the lock */
	int64_t lease_us;
};

struct subscriber {
	struct subscriber *next;
	char *prefix;
	void (*freed)(void *context, struct span key);
	void *context;
};

enum standing {
	STANDING_OUT,      /* no lease now; will register */
	STANDING_IN,       /* registered */
	STANDING_REPLACED, /* another incarnation has our name; for good */
	STANDING_RESIGNED, /* for good */
};

struct claims {
	struct claims_config config;
	struct runner *runner; /* a group of its own */
	struct runner_event *changed;
	char *server;
	struct lock lock;
	/* Guarded by the lock; changed by the lease thread, and by resign: */
	enum standing standing;
	char incarnation[CLAIMS_INCARNATION_SIZE];
	uint64_t registration;
	uint64_t lease_revision;
	int64_t lease_until_us;
	/* Guarded by its own lock, which is held while subscribers are called: */
	struct lock subscribers_lock;
	struct subscriber *subscribers;
	bool report_all; /* a new subscriber needs the claims that are free now */
	/* Used by the lease thread only: */
	struct store_feed *feed;
	char next_incarnation[CLAIMS_INCARNATION_SIZE]; /* "": none tried yet */
	/* name → struct observed; changed under the lock, so that others may look. */
	struct map observed;
	int64_t renew_at_us;
};

/* Whether the record of this server is there and of this incarnation: the one meaning of "alive". */
bool server_is_alive(const struct store_view *view, struct span server, struct span incarnation);
bool claim_owner_is_alive(const struct store_view *view, const struct store_object *claim);
/* claim may be NULL: there is no record. */
bool claim_is_free(const struct store_view *view, const struct store_object *claim);

#endif
