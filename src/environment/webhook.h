/*
 * Webhooks: changes of deployments and of health are posted to configured addresses, and to no others.
 *
 * What is to be told is written down (a *notice*, one for each webhook that wants it) in the transaction that makes the
 * change, so there is no change without its notice and no notice without its change. Sending is a controller of its own
 * (webhook_sender.h): no rollout waits for it. A notice is deleted when the receiver has answered with 2xx; so it comes
 * at least once, and in order for each environment. When a receiver is away for so long that
 * WEBHOOK_NOTICES_MAX notices of an environment wait for it, the oldest are dropped, and the next one says how many.
 *
 *     notice   WEBHOOK/ACCOUNT/NAME/CREATED-SEQUENCE   its API text is the body as it is posted
 */
#ifndef ENVIRONMENT_WEBHOOK_H
#define ENVIRONMENT_WEBHOOK_H

#include "environment/kinds.h"

#define WEBHOOKS_MAX 32
#define WEBHOOK_NAME_MAX 64
#define WEBHOOK_EVENTS_MAX 32
#define WEBHOOK_NOTICES_MAX 1000 /* of one environment, for one webhook */

struct webhook {
	const char *name; /* letters, digits and '-' */
	const char *url;
	const char *secret; /* of the signature; NULL: none */
	const char *const
		*events; /* "deployment", "health", "deployment.completed", …; none: all */
	size_t event_count;
	const char *const *accounts; /* none: all */
	size_t account_count;
};

struct webhook_set {
	const struct webhook *items;
	size_t count;
};

extern const struct store_kind webhook_notice_kind;

struct webhook_notice_facts {
	struct span event; /* "deployment.completed" */
	int64_t created_ms;
	int64_t dropped; /* before it, for want of room */
};

static inline const struct webhook_notice_facts *webhook_notice_facts(const struct store_object
		*object)
{
	return object->facts;
}

const struct webhook *webhook_find(const struct webhook_set *set, struct span name);
/* "WEBHOOK/ACCOUNT/NAME" of the key of a notice. */
struct span webhook_stream_of(struct span key);
bool webhook_wants(const struct webhook *webhook, struct span account, struct span event);

/* In a transaction in which *environment is saved, too; set may be NULL. */
int webhook_report_deployment(struct store_transaction *transaction, const struct webhook_set *set,
	struct span environment_key, struct environment_facts *environment, struct span deployment,
	int64_t now_ms, struct err *err);
int webhook_report_health(struct store_transaction *transaction, const struct webhook_set *set,
	struct span environment_key, struct environment_facts *environment, int64_t now_ms,
	struct err *err);

#endif
