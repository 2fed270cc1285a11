/* The context of the environment service: what its operations need of the server, and the counts of an environment. */
#ifndef ENVIRONMENT_MODEL_CONTEXT_H
#define ENVIRONMENT_MODEL_CONTEXT_H

#include "aws/service.h"
#include "environment/model/bug.h"
#include "environment/model/kinds.h"

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

/* The running tasks of an environment by task definition. */
struct environment_running {
	struct span task_definition;
	int64_t tasks;
	int64_t active; /* the healthy ones of them */
};

/* The context of the service: what its operations need of the server. */
struct daemon_context {
	/* Of one environment, as it is now. */
	void (*count)(void *context, struct span environment_key,
		struct environment_counts *ret_counts);
	/* In the arena; how many. May be NULL. */
	size_t (*list_running)(void *context, struct span environment_key, struct arena *arena,
		struct environment_running **ret_running);
	/* Why no server has managed it for longer than a lease; "": one does. In the arena. May be NULL. */
	struct span (*find_trouble)(void *context, struct span environment_key,
		struct arena *arena);
	void *count_context;                /* of all three */
	struct observer *state;             /* NULL: there is none */
	struct store *store;                /* for what is damaged; NULL: nothing is */
	const struct webhook_set *webhooks; /* NULL: none */
	struct aws_targets *targets;        /* remote; NULL: none */
	int64_t environments_max;           /* of an account; 0: DAEMON_ENVIRONMENTS_MAX */
	enum daemon_bug bug;                /* DAEMON_BUG_NONE but in simulations */
};
#define DAEMON_ENVIRONMENTS_MAX 1000

#endif
