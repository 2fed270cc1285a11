/*
 * The controller of flows. A worker takes one flow at a time, under its claim, and makes the next pass over it (pass.h).
 * Every pass starts from what is stored, so another server can continue at any point.
 */
#ifndef FLOW_CONTROLLER_H
#define FLOW_CONTROLLER_H

#include "aws/dispatch.h"
#include "aws/policy.h"
#include "aws/targets.h"
#include "control/claims.h"
#include "control/controller.h"
#include "delivery/target.h"
#include "pipeline/post_sync.h"
#include "pipeline/repositories.h"

#define FLOW_CLAIM_PREFIX "flow:"

struct flow_controller_config {
	struct runner *runner;
	struct store *store;
	struct claims *claims;
	struct random *random;
	struct aws_dispatcher *dispatcher;
	struct aws_targets *targets;       /* remote; NULL: none */
	struct repositories *repositories; /* NULL: commits are not read before they are deployed */
	int (*find_role)(void *context, struct span account, struct span role,
		const struct aws_policy **ret_policy, struct err *err);
	void *find_role_context;
	/* A line for each deployment that a flow starts; NULL: none. */
	void (*audit)(void *context, const struct aws_audit *audit);
	void *audit_context;
	void (*report)(void *context, const char *controller, struct span key,
		const struct err *err);
	void *report_context;
};

struct flow_controller;

/* The engine of applications starts flows by these. */
extern const struct post_sync flow_post_sync;

int flow_controller_start(const struct flow_controller_config *config,
	struct flow_controller **ret_controller, struct err *err);
/* Stops; NULL is fine. */
void flow_controller_stop(struct flow_controller *controller);

/* Whether the target of a node answers. Local targets do. */
bool flow_controller_reaches(struct flow_controller *controller, struct span account,
	struct span target, struct span role, struct arena *arena);

/* Whether the live states in the store have been read since this server started. */
bool flow_controller_has_settled(const struct flow_controller *controller, int64_t now_ms);

#endif
