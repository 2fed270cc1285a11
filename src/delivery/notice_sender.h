/*
 * Posts notices (notice.h) to their webhooks: a controller whose keys are "WEBHOOK/SUBJECT". Of the servers that share
 * a store, the one with the claim on such a stream sends its oldest notice, and the next one when that was accepted. A
 * failed attempt is repeated after a growing delay, up to NOTICE_RETRY_MOST_US. Webhooks take turns, so a receiver that
 * does not answer delays no other.
 *
 * A request has these headers; the signature is the HMAC-SHA-256 of the body with the webhook's secret, in hex digits:
 *
 *     X-Slipway-Event: deployment.completed
 *     X-Slipway-Delivery: SUBJECT/…               the same for each attempt
 *     X-Slipway-Signature: sha256=…               if the webhook has a secret
 */
#ifndef DELIVERY_NOTICE_SENDER_H
#define DELIVERY_NOTICE_SENDER_H

#include "control/claims.h"
#include "control/controller.h"
#include "delivery/notice.h"

#define NOTICE_RETRY_FIRST_US INT64_C(500000)
#define NOTICE_RETRY_MOST_US INT64_C(300000000)
#define NOTICE_TIMEOUT_MS 10000
#define NOTICE_ANSWER_MAX 65536
/* How long notices of a webhook are kept that is no longer configured. */
#define NOTICE_UNKNOWN_MS (INT64_C(24) * 60 * 60 * 1000)

struct notice_sender;

struct notice_sender_config {
	struct runner *runner;
	struct store *store;
	struct claims *claims;
	const struct webhook_set *webhooks;     /* outlives it */
	const struct notice_type *const *types; /* of all subjects; outlives it */
	size_t type_count;
	void (*report)(void *context, const char *controller, struct span key,
		const struct err *err);
	void *report_context;
};

int notice_sender_start(const struct notice_sender_config *config,
	struct notice_sender **ret_sender, struct err *err);
void notice_sender_stop(struct notice_sender *sender); /* NULL is fine */

/* The type of "SUBJECT", or of the key of a notice without its webhook; *ret_key: the rest without the type's prefix. */
const struct notice_type *notice_type_of(const struct notice_type *const *types, size_t count,
	struct span subject, struct span *ret_key);
/* "sha256=…"; in the arena. */
struct span notice_signature(struct arena *arena, const char *secret, struct span body);

#endif
