/* A pass over a Service environment; see the sources. */
#ifndef ENVIRONMENT_ACT_SERVICE_H
#define ENVIRONMENT_ACT_SERVICE_H

#include "environment/act/pass.h"
#include "environment/decide/service_step.h"

/* The ECS service of an environment in one place. */
struct service_pass {
	struct manager_pass *pass;
	struct service_state state;
	const struct json *described;              /* by DescribeServices; NULL: there is none */
	struct span cause;                         /* why nothing is known of it, or too old; "" */
	bool is_caught_up;                         /* what was asked for before is seen */
	struct environment_placement_facts intent; /* as it is written */
	struct span refused;
};

/* manager_service_call.c */
struct span service_placement_key(const struct service_pass *service, struct arena *arena);
/* It was refused, and is not asked for again yet. */
bool service_must_wait(const struct service_pass *service);
/* It is looked at again soon; of this server it is at every look. */
void service_want(const struct service_pass *service);
/* The intent of the next call. */
void service_begin_intent(struct service_pass *service, enum environment_intent intent);
/* Writes it down, asks, writes down what was refused. -ESTALE: look again. */
int service_ask(struct service_pass *service, const char *operation, const struct json *request,
	struct err *err);
/* The intent as it is now, and that the service is gone. */
int service_write_intent(struct service_pass *service, struct err *err);
int service_write_gone(struct service_pass *service, struct err *err);

#endif
