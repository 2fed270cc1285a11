/*
 * Task sets: the deployments of a service whose controller is EXTERNAL. An external client creates
 * them and decides the share of the service's desired count that each has and which one is PRIMARY;
 * slipway runs them.
 *
 * facts.computed is ceil(desired * scale / 100), and is updated with either of the two. A DRAINING
 * one has 0, and the service controller deletes it when its tasks are gone.
 */
#ifndef ECS_TASK_SET_H
#define ECS_TASK_SET_H

#include "aws/service.h"
#include "ecs/record/service_kind.h"

#define TASK_SETS_MAX 5 /* of one service, also those that are DRAINING */

/* Of a service, whatever their status. */
size_t task_set_count(const struct store_view *view, struct span service_key);
/* All of a service, oldest first, as answers show them. */
const struct json *task_set_list_shown(struct aws_request *request, struct span service_key);

/* The service's desired count has changed. */
int task_set_rescale(struct store_transaction *transaction, struct span service_key,
	int64_t desired, int64_t now_ms, struct arena *arena, struct err *err);
/* The service is being deleted. */
int task_set_drain_all(struct store_transaction *transaction, struct span service_key,
	int64_t now_ms, struct arena *arena, struct err *err);

int task_set_create_prepare(struct aws_request *request);
int task_set_create(struct aws_request *request);
int task_set_describe(struct aws_request *request);
int task_set_update(struct aws_request *request);
int task_set_update_primary(struct aws_request *request);
int task_set_delete(struct aws_request *request);
void task_set_resources(struct aws_request *request, struct aws_resources *resources);

#endif
