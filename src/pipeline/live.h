/*
 * The live state of applications: the service with its task sets and tasks as it is now, and what differs from the last
 * successful deployment. A controller reads it through describe calls, and stores it when it has changed: for clusters of
 * this server when the store reports a change of the service, for remote ones at intervals. It never changes anything
 * at AWS.
 */
#ifndef PIPELINE_LIVE_H
#define PIPELINE_LIVE_H

#include "pipeline/deployments.h"
#include "pipeline/describe.h"

#define LIVE_LEAST_MS 500 /* between two readings of an application */
#define LIVE_POLLS_IDLE 2 /* poll intervals of a remote service that no deployment changes */
#define LIVE_POLL_BALANCED_MS 30000 /* of a service of this server, for the weights of its rules */
#define LIVE_REGISTRATION_MS 15000  /* that ECS has to register a task that runs */
#define LIVE_UNREACHABLE_MS 60000   /* of failed readings until the state is unknown */
#define LIVE_TASKS_MAX 500          /* of a set, that clients see */

/* ---- the state, from answers of describe calls (live_tree.c, live_drift.c) ---- */

struct live_reading {
	struct deployment_pass *
		pass; /* with the files of the deployment that runs, or of the last successful one */
	bool is_deploying;
	const struct json *service;    /* NULL: there is none */
	const struct json *canary;     /* the service NAME-canary of this application; NULL */
	const struct json *sets;       /* task sets; NULL with controller ECS */
	const struct json *definition; /* task definition of the primary; NULL */
	struct json *tasks;            /* of both services */
	struct json *targets;          /* of the target groups */
	struct names names;
	struct observed balancers;
};

/* The primary task set; NULL. */
const struct json *live_primary_set(const struct json *sets);
/* The service with its sets of tasks. */
struct json *live_tree(const struct live_reading *reading);
/* HEALTHY, PROGRESSING or UNHEALTHY. */
const char *live_health(const struct live_reading *reading);
/* [{"path", "expected", "found"}]. *ret_again_ms: wall time at which it may differ without a change; 0: none. */
struct json *live_drift(const struct live_reading *reading, int64_t *ret_again_ms);

/* ---- the controller (live.c) ---- */

struct live;
struct engine;
int live_start(struct engine *engine, const struct engine_config *config, struct runner *runner,
	struct live **ret_live, struct err *err);
void live_stop(struct live *live); /* NULL is fine */
/* Adds the application of a task of this server, if a deployment keeps the share of its canary. */
void live_map_held_task(struct live *live, const struct store_change *change,
	struct controller_keys *keys);
/* The claim of an application became free. */
void live_claim_freed(struct live *live, struct span application);

#endif
