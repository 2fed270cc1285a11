/*
 * Posts notices (webhook.h) to their webhooks: a controller whose keys are "WEBHOOK/ACCOUNT/NAME". Whoever of the
 * servers that share a store holds the claim sends the oldest notice of such a stream, and the next when that was taken;
 * what fails is tried again, later each time, up to WEBHOOK_RETRY_MOST_US. Webhooks take turns, so one that does not
 * answer does not hold up others.
 *
 * A request has these headers; the signature is HMAC-SHA-256 of the body with the webhook's secret, in hex digits:
 *
 *     X-Slipway-Event: deployment.completed
 *     X-Slipway-Delivery: ACCOUNT/NAME/…          the same whenever it is sent again
 *     X-Slipway-Signature: sha256=…               if the webhook has a secret
 */
#ifndef ENVIRONMENT_WEBHOOK_SENDER_H
#define ENVIRONMENT_WEBHOOK_SENDER_H

#include "control/claims.h"
#include "control/controller.h"
#include "environment/webhook.h"

#define WEBHOOK_RETRY_FIRST_US INT64_C(500000)
#define WEBHOOK_RETRY_MOST_US INT64_C(300000000)
#define WEBHOOK_TIMEOUT_MS 10000
#define WEBHOOK_ANSWER_MAX 65536
#define WEBHOOK_UNKNOWN_MS                                                                         \
	(INT64_C(24) * 60 * 60 * 1000) /* notices of one that is not configured any more */

struct webhook_sender;

struct webhook_sender_config {
	struct runner *runner;
	struct store *store;
	struct claims *claims;
	const struct webhook_set *webhooks; /* outlives it */
	void (*report)(void *context, const char *controller, struct span key,
		const struct err *err);
	void *report_context;
};

int webhook_sender_start(const struct webhook_sender_config *config,
	struct webhook_sender **ret_sender, struct err *err);
void webhook_sender_stop(struct webhook_sender *sender); /* NULL is fine */

/* "sha256=…"; in the arena. */
struct span webhook_signature(struct arena *arena, const char *secret, struct span body);

#endif
