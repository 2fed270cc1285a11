/*
 * From a plan to the bodies of the daemon's create calls. Pure: the same plan gives the same bytes,
 * so that creating a container again after a crash creates the same one.
 *
 * Names. A container is slipway-HOST.TASK.NAME (HOST: the first 12 digits of the server's host),
 * the holder of a task's network slipway-HOST.TASK, a task's own volume slipway-HOST.TASK.VOLUME,
 * and the network of all tasks with addresses of their own slipway-HOST. Tokens and names of
 * containers have no dots, so no two things share a name.
 */
#ifndef RUNTIME_DOCKER_CREATE_H
#define RUNTIME_DOCKER_CREATE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "runtime/task/plan.h"

#define DOCKER_LABEL_HOST "slipway.host"
#define DOCKER_LABEL_TASK "slipway.task"
#define DOCKER_LABEL_CONTAINER "slipway.container"
#define DOCKER_HOST_DIGITS 12 /* in names */

/* Abilities of the daemon; see GET /info. */
struct docker_abilities {
	int64_t processors;
	int64_t memory_bytes;
	bool limits_memory, limits_processors, shares_processors;
};

/* container "": the holder of the task's network. */
struct span docker_container_name(struct arena *arena, const char *host, struct span token,
	struct span container);
struct span docker_network_name(struct arena *arena, const char *host);

/* The body for a container of the plan. Variables of its environment files come first in `variables`,
 * each "NAME=value". dns: the address of its name server; "": Docker's own. */
struct json *docker_create_body(struct arena *arena, const char *host, const struct plan *plan,
	size_t container, const struct docker_abilities *abilities, char *const *variables,
	const char *dns);
/* The body for the container that holds the network of an awsvpc task. */
struct json *docker_network_holder_body(struct arena *arena, const char *host,
	const struct plan *plan, struct span image, struct span network, const char *dns);
/* {"slipway.host", "slipway.task"?, …} as the ECS agent labels its containers, and ours. */
struct json *docker_labels(struct arena *arena, const char *host, const struct plan *plan,
	struct span container);

/* Settings of the plan that the daemon does not support, as text for users; "" if none. */
struct span docker_create_notes(struct arena *arena, const struct plan *plan,
	const struct docker_abilities *abilities);
/* -EINVAL: the daemon can never run this plan. */
int docker_create_check(const struct plan *plan, struct err *err);

#endif
