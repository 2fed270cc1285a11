/*
 * The engine: the controller that carries deployments out. A worker takes one application at a time, under its claim, and
 * makes the next step of the deployment that runs: it plans it, begins or ends a stage, or lets the stage make its next
 * calls. Every step starts from the stored deployment, the journal of its calls, and what describe calls answer, so
 * another server can continue at any point.
 */
#ifndef PIPELINE_ENGINE_H
#define PIPELINE_ENGINE_H

#include "aws/policy.h"
#include "aws/targets.h"
#include "control/claims.h"
#include "control/controller.h"
#include "delivery/notice.h"
#include "io/child.h"
#include "io/http_client.h"
#include "pipeline/bug.h"
#include "pipeline/post_sync.h"
#include "pipeline/repositories.h"
#include "pipeline/settings.h"

#define ENGINE_CLAIM_PREFIX "application:"

#define TASK_OUTPUT_MAX 4096

/* Counters of a target group of this server, since it began to carry traffic. */
struct group_traffic {
	uint64_t requests;
	uint64_t failed;       /* that got no answer from a target */
	uint64_t responses[5]; /* 1xx to 5xx; all 0 without HTTP */
	double response_ms;    /* average of the last requests */
};

struct engine_config {
	struct runner *runner;
	struct store *store;
	struct claims *claims;
	struct aws_dispatcher *dispatcher;
	struct aws_targets *targets;              /* remote; NULL: none */
	const struct pipeline_settings *settings; /* outlives it; NULL: the defaults */
	const struct webhook_set *webhooks;       /* that get notices; outlives it; NULL: none */
	struct http_client *client;               /* of analyses; NULL: they get no metrics */
	const struct post_sync *post_sync;        /* outlives it; NULL: there are no flows */
	const struct child_operations *children;  /* of scripts; NULL: those of this machine */
	struct repositories *repositories;        /* of applications from Git; NULL: none */
	/* key: "ACCOUNT/REGION/GROUP". False: this server carries no traffic to it. NULL: to none. */
	bool (*read_traffic)(void *context, struct span key, struct group_traffic *ret_traffic);
	void *traffic_context;
	/* Appends the end of what a container of a task of this server has written, TASK_OUTPUT_MAX bytes at most. NULL: none. */
	void (*read_output)(void *context, struct span task, struct span container,
		struct buffer *out);
	void *read_output_context;
	int (*find_role)(void *context, struct span account, struct span role,
		const struct aws_policy **ret_policy, struct err *err);
	void *find_role_context;
	void (*report)(void *context, const char *controller, struct span key,
		const struct err *err);
	void *report_context;
	enum pipeline_bug bug; /* a deliberate one, of simulations */
};

struct engine;

int engine_start(const struct engine_config *config, struct engine **ret_engine, struct err *err);
/* Stops; NULL is fine. */
void engine_stop(struct engine *engine);

#endif
