/* A pass over a Service environment; see the sources. */
#ifndef ENVIRONMENT_ACT_SERVICE_H
#define ENVIRONMENT_ACT_SERVICE_H

#include "environment/act/pass.h"
#include "environment/decide/service_step.h"

/* The state of a Service environment that a server keeps in memory. */
struct service_memory {
	uint64_t epoch; /* of the claim under which the last pass worked */
	/* Before this resource version the effect of its last call is not observed. */
	uint64_t expected_resource_version;
	/* The completed load balancer of a version. */
	char balancer_of[ID_UUID_SIZE];
	char *balancer;             /* own memory; NULL */
	struct map wanted_services; /* that it wants from the observer, by cluster */
};

/* The ECS service of an environment in one cluster. */
struct service_pass {
	struct manager_pass *pass;
	struct service_memory *memory;
	struct service_state state;
	const struct json *described;              /* by DescribeServices; NULL: there is none */
	struct span cause;                         /* why its state is unknown or stale; "" */
	bool is_caught_up;                         /* the effect of the last call is observed */
	struct environment_placement_facts intent; /* to write */
	struct span refused;                       /* why the call was refused; "" */
};

/* service_call.c */
struct span service_placement_key(const struct service_pass *service, struct arena *arena);
/* The last call was refused, and is not repeated yet. */
bool service_must_wait(const struct service_pass *service);
/* The observer describes a remote service again soon; one of this server is described in every pass. */
void service_want(const struct service_pass *service);
/* The intent of the next call. */
void service_begin_intent(struct service_pass *service, enum environment_intent intent);
/* Writes the intent, calls ECS, and writes a refusal. -ESTALE: start another pass. */
int service_send(struct service_pass *service, const char *operation, const struct json *request,
	struct err *err);
/* Writes the intent as it is now; deletes the placement of a service that is gone. */
int service_write_intent(struct service_pass *service, struct err *err);
int service_write_gone(struct service_pass *service, struct err *err);

#endif
