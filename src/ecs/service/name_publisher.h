/*
 * The name publisher: names of Cloud Map that tasks are registered under are also published in the
 * service discovery of a runtime that has one of its own (runtime.h, publish), so that tasks find
 * each other there without a query to slipway. Only tasks of that runtime are published, in the
 * cluster that they run in; a name without tasks is not published.
 *
 * Its keys are those of Cloud Map's services. Each pass computes what is published from the store.
 */
#ifndef ECS_NAME_PUBLISHER_H
#define ECS_NAME_PUBLISHER_H

#include "control/controller.h"
#include "runtime/runtime.h"

#define NAME_PUBLISHER_ENDPOINTS_MAX 1000 /* of one name in one cluster; more are left out */

struct name_publisher {
	struct runtime *runtime;
	struct span host;            /* as the maintainer of its instances has it */
	struct span account, region; /* of the names */
};

/* Its context is a struct name_publisher, which outlives it. */
extern const struct controller_row name_publisher_row;

#endif
