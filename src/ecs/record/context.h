/*
 * The server that answers an ECS request, as far as handlers need it: the context of ecs_service. Handlers
 * also work without one (NULL).
 */
#ifndef ECS_CONTEXT_H
#define ECS_CONTEXT_H

#include "base/span.h"

struct ecs_context {
	struct span endpoint; /* where clients and agents reach it: "http://127.0.0.1:4566"; "" */
	/* Its runtime, as instance_maintainer.h names it, if that chooses instances itself and keeps the replicas
	 * of services (runtime.h, Groups); "": slipway does both. */
	struct span scheduler;
	/* Statuses on such a runtime are shown as sync_status.h says. */
	bool seed_service_status, seed_task_status;
};

#endif
