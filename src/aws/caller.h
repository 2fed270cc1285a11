/*
 * The caller. Every operation runs for a caller, whether it came over the wire with a signature or
 * from inside through aws_call; account and user are the identity in audit, approvals and policies.
 */
#ifndef AWS_CALLER_H
#define AWS_CALLER_H

#include <stdbool.h>

#include "base/span.h"

#define AWS_ACCOUNT_DEFAULT "123456789012"
#define AWS_REGION_DEFAULT "us-east-1"

struct aws_policy;
struct err;
struct store_transaction;

/* A condition that must hold in the transaction of an internal write; otherwise nothing of the
 * write is done. Called on the store's writer, perhaps more than once for one call. */
struct aws_fence {
	int (*require)(void *context, struct store_transaction *transaction, struct err *err);
	void *context;
};

struct aws_caller {
	struct span account;             /* twelve digits */
	struct span user;                /* "admin", "ci", …; "anonymous" with --auth none */
	struct span access_key;          /* "" if there was none */
	struct span region;              /* of the credential scope */
	const struct aws_policy *policy; /* NULL: may do everything in its account */
	bool is_internal;                /* slipway itself, for the account: not held to a rate */
	const struct aws_fence *fence;   /* NULL: nothing more is required */
};

#endif
