/*
 * How services and tasks on a runtime that keeps replicas itself are shown. There are two ways:
 *
 * ecs (the default): statuses as AWS has them, so that waiters and tools understand them. How far the runtime is
 * with a service stands in the rolloutState of its PRIMARY deployment (FAILED when the runtime says that it cannot
 * go on) and, where tags are asked for, in the tag "slipway:state".
 *
 * seed: the tables of the design document from which this came, to the letter.
 *
 *     the group            service's status     the pod                         task's lastStatus
 *     is not there         INACTIVE             pending, no containers          PROVISIONING
 *     replicas = 0         DRAINING             pending, containers are made    PENDING
 *     none of them ready   PROVISIONING         running, not all of them ready  ACTIVATING
 *     some of them ready   UPDATING             running and ready               RUNNING
 *     all of them ready    ACTIVE               succeeded, failed               STOPPED
 *     cannot go on         FAILED               unknown                         STOPPED (connection lost)
 *
 * with runningCount = ready, pendingCount = replicas - ready, and startedAt = when the pod was made.
 *
 * Only answers differ: what is stored, and what controllers decide by, is the same.
 */
#ifndef ECS_SYNC_STATUS_H
#define ECS_SYNC_STATUS_H

#include "aws/service.h"

#define SYNC_STATE_TAG "slipway:state"

/* The seed's table of services. */
const char *sync_service_status(bool found, bool failed, int64_t replicas, int64_t ready);

/* And that of tasks; lost: its node does not answer. A pod that has no node yet has no containers. */
struct task_facts;
const char *sync_task_status(const struct task_facts *facts, bool lost);

/* Changes what is shown of a service, if it is on such a runtime. */
void sync_show_service(struct aws_request *request, const struct store_object *service,
	struct json *shown, bool with_tags);
/* The text of a task as it is to be shown: mostly the stored one. */
struct span sync_show_task(struct aws_request *request, const struct store_object *task);

#endif
