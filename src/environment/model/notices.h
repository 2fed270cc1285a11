/* Notices of environments to webhooks (delivery/notice.h): each status of a deployment, and changes of health. */
#ifndef ENVIRONMENT_MODEL_NOTICES_H
#define ENVIRONMENT_MODEL_NOTICES_H

#include "delivery/notice.h"
#include "environment/model/kinds.h"

extern const struct notice_type environment_notice_type;

/* In a transaction that also saves *environment, whose count of notices rises; set may be NULL. */
int environment_notice_deployment(struct store_transaction *transaction,
	const struct webhook_set *set, struct span environment_key,
	struct environment_facts *environment, struct span deployment, int64_t now_ms,
	struct err *err);
int environment_notice_health(struct store_transaction *transaction, const struct webhook_set *set,
	struct span environment_key, struct environment_facts *environment, int64_t now_ms,
	struct err *err);

#endif
