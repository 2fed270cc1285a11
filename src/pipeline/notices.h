/* Notices of applications to webhooks (delivery/notice.h): states of deployments, approvals that are waited for, drift. */
#ifndef PIPELINE_NOTICES_H
#define PIPELINE_NOTICES_H

#include "delivery/notice.h"
#include "pipeline/record.h"

extern const struct notice_type application_notice_type;

/* name: how it continues with each state */
#define APPLICATION_EVENTS(X)                                                                      \
	X("application.running")                                                                   \
	X("application.rolling-back")                                                              \
	X("application.success")                                                                   \
	X("application.failure")                                                                   \
	X("application.cancelled")                                                                 \
	X("application.approval") /* a stage waits for it */                                       \
	X("application.out-of-sync")                                                               \
	X("application.synced") /* after that */

/* In the transaction that saves the deployment. before: as it was; set may be NULL. They count in the stored application. */
int notices_add_deployment(struct store_transaction *transaction, const struct webhook_set *set,
	const struct deployment_record *before, const struct deployment_record *after,
	int64_t now_ms, struct err *err);
/* differences: of a live state that is out of sync. */
int notices_add_sync(struct store_transaction *transaction, const struct webhook_set *set,
	struct span application, enum application_sync before, enum application_sync after,
	const struct json *differences, int64_t now_ms, struct err *err);

#endif
