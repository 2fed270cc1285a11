/*
 * Daemon environments: one task on every matching instance. An environment is declared once; each update makes
 * an immutable version; a deployment rolls a version out. Operations are slipway's own (api/slipway.json).
 */
#ifndef ENVIRONMENT_DAEMON_H
#define ENVIRONMENT_DAEMON_H

#include "aws/service.h"
#include "environment/bug.h"
#include "environment/kinds.h"

struct aws_targets;
struct observer;
struct webhook_set;

/* How many instances are how; active + launching + unhealthy + missing = total. */
struct environment_counts {
	int64_t total;
	int64_t active;      /* with a healthy task */
	int64_t launching;   /* with one that starts, or is about to */
	int64_t unhealthy;   /* with one that is not well, or that cannot be started */
	int64_t missing;     /* without one */
	int64_t outdated;    /* among them, with a task of another version than the one wanted */
	int64_t completed;   /* with a healthy task of that version and no other */
	int64_t unreachable; /* and those that match and are away: in none of the numbers above */
};

/* Of its counts and nothing else. */
static inline bool environment_is_unhealthy(const struct environment_counts *counts)
{
	return counts->unhealthy > 0;
}

/* What runs of an environment, by task definition. */
struct environment_running {
	struct span task_definition;
	int64_t tasks;
	int64_t active; /* the healthy ones of them */
};

/* What operations know of the server that they answer for: the context of the service. */
struct daemon_context {
	/* Of one environment, as it is now. */
	void (*count)(void *context, struct span environment_key,
		struct environment_counts *ret_counts);
	/* In the arena; how many. May be NULL. */
	size_t (*list_running)(void *context, struct span environment_key, struct arena *arena,
		struct environment_running **ret_running);
	/* Why nobody manages it for longer than a lease; "": somebody does. In the arena. May be NULL. */
	struct span (*find_trouble)(void *context, struct span environment_key,
		struct arena *arena);
	void *count_context;                /* of all three */
	struct observer *state;             /* NULL: there is none */
	struct store *store;                /* for what is damaged; NULL: nothing is */
	const struct webhook_set *webhooks; /* NULL: none */
	struct aws_targets *targets;        /* elsewhere; NULL: none */
	int64_t environments_max;           /* of an account; 0: DAEMON_ENVIRONMENTS_MAX */
	enum daemon_bug bug;                /* DAEMON_BUG_NONE but in simulations */
};
#define DAEMON_ENVIRONMENTS_MAX 1000

/* Rows for the table of service "slipway", sorted by name. */
extern const struct aws_operation daemon_operations[];
extern const size_t daemon_operation_count;

/* environment.c */
int environment_create_prepare(struct aws_request *request);
int environment_create(struct aws_request *request);
int environment_update_prepare(struct aws_request *request);
int environment_update(struct aws_request *request);
int environment_delete(struct aws_request *request);
/* environment_read.c */
int environment_get(struct aws_request *request);
int environment_list(struct aws_request *request);
int environment_version_get(struct aws_request *request);
int environment_version_list(struct aws_request *request);
/* diff.c */
int environment_diff(struct aws_request *request);
/* deployment.c */
int environment_deployment_prepare(struct aws_request *request);
int environment_deployment_start(struct aws_request *request);
int environment_deployment_rollback(struct aws_request *request);
int environment_deployment_stop(struct aws_request *request);
int environment_deployment_get(struct aws_request *request);
int environment_deployment_list(struct aws_request *request);
int environment_deployment_list_by_status(struct aws_request *request);

/* state_api.c */
int state_api_instance(struct aws_request *request);
int state_api_instances(struct aws_request *request);
int state_api_tasks(struct aws_request *request);
int state_api_events(struct aws_request *request);
/* state_stream.c */
int state_stream_check(struct aws_request *request);

/* What they share. */

/* "arn:aws:slipway:REGION:ACCOUNT:environment/NAME", for policies. */
void environment_resources(struct aws_request *request, struct aws_resources *resources);
/* The environment that `name` of the input says. Fails the request: ResourceNotFoundException. */
int environment_find(struct aws_request *request, const struct store_object **ret_environment);
int environment_version_find(struct aws_request *request, const struct store_object *environment,
	struct span id, const struct store_object **ret_version);
/* Puts it with these facts, as changed now. Fails the request. */
int environment_save(struct aws_request *request, const struct store_object *environment,
	struct environment_facts *facts);
const struct store_object *environment_deployment_of(const struct store_view *view,
	struct arena *arena, struct span environment_key, struct span id); /* NULL for "" */
/* {"id","type","status",…} */
struct json *environment_deployment_document(const struct store_view *view, struct arena *arena,
	const struct store_object *deployment);

#endif
