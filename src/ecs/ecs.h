/*
 * Amazon ECS: the table of its operations and the kinds of objects they keep. Keys begin with
 * "ACCOUNT/REGION/", so that what belongs to one account in one region is one range of keys, and
 * nothing else is ever in reach of a request.
 */
#ifndef ECS_ECS_H
#define ECS_ECS_H

#include "aws/service.h"

extern const struct aws_service ecs_service;

/* What handlers know of the server that they answer for: the context of the service. NULL: nothing of it. */
struct ecs_context {
	struct span endpoint; /* where clients and agents reach it: "http://127.0.0.1:4566"; "" */
	/* Its runtime, as instance_maintainer.h names it, if that chooses instances itself and keeps the replicas
	 * of services (runtime.h, Groups); "": we do. */
	struct span scheduler;
	/* Statuses on such a runtime are shown as sync_status.h says. */
	bool seed_service_status, seed_task_status;
};

/* What store_open needs to know of us. */
extern const struct store_kind *const ecs_kinds[];
extern const size_t ecs_kind_count;

#endif
