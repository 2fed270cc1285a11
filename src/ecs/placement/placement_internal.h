/* Shared by the files of placement: the compiled request, and the steps of a choice. See
 * placement.h. */
#ifndef ECS_PLACEMENT_INTERNAL_H
#define ECS_PLACEMENT_INTERNAL_H

#include "ecs/placement/placement.h"
#include "ecs/record/cluster_query.h"
#include "ecs/record/container_instance.h"

/* Why an instance does not take a task: reason as failures[] have it, text as service events have
 * it. In the order of the checks: the instance that fails the latest check came closest. */
#define PLACEMENT_OBSTACLES(X)                                                                     \
	X(DRAINING, "DRAINING", "is draining")                                                     \
	X(AGENT, "AGENT", "encountered error \"AGENT\"")                                           \
	X(ATTRIBUTE, "ATTRIBUTE", "is missing an attribute required by your task")                 \
	X(MEMBER_OF, "MemberOf placement constraint unsatisfied.",                                 \
		"encountered error \"MemberOf placement constraint unsatisfied.\"")                \
	X(DISTINCT, "DistinctInstance placement constraint unsatisfied.",                          \
		"encountered error \"DistinctInstance placement constraint unsatisfied.\"")        \
	X(DAEMON, "DAEMON",                                                                        \
		"does not run all of its daemons yet, and takes other tasks after them")           \
	X(PORTS, "RESOURCE:PORTS", "is already using a port required by your task")                \
	X(CPU, "RESOURCE:CPU", "has insufficient CPU units available")                             \
	X(MEMORY, "RESOURCE:MEMORY", "has insufficient memory available")
enum placement_obstacle {
	PLACEMENT_NO_OBSTACLE,
#define X(name, reason, words) PLACEMENT_OBSTACLE_##name,
	PLACEMENT_OBSTACLES(X)
#undef X
		PLACEMENT_OBSTACLE_COUNT
};

enum placement_step_type {
	PLACEMENT_SPREAD_INSTANCES,
	PLACEMENT_SPREAD_ATTRIBUTE,
	PLACEMENT_BINPACK_CPU,
	PLACEMENT_BINPACK_MEMORY,
	PLACEMENT_RANDOM,
};
struct placement_step {
	enum placement_step_type type;
	struct span attribute; /* packed name */
};

/* A DAEMON service or a reservation of the cluster, with its placement requirements. */
struct placement_daemon {
	struct span key;
	uint64_t revision, deployment_revision; /* 0: there is none */
	struct placement *placement;            /* NULL: it cannot be placed at all */
	/* a service: no task of its newest deployment has failed since one succeeded */
	bool hopeful;
	int64_t since_ms; /* a reservation: its creation time; 0: a service */
};

struct placement_room {
	int64_t cpu, memory;
};

struct placement {
	struct placement_config config;
	struct arena *compiled; /* lives with it */
	struct arena *scratch;  /* of one choice */
	/* Required attributes, packed; value data NULL: any. */
	struct {
		struct span name, value;
	} needed[TASK_REQUIRED_ATTRIBUTES_MAX];
	size_t needed_count;
	struct cluster_query *queries[2 * PLACEMENT_CONSTRAINTS_MAX];
	size_t query_count;
	bool distinct;
	struct placement_step steps[PLACEMENT_STRATEGIES_MAX];
	size_t step_count; /* 0: any instance that fits, at random */
	struct placement_daemon *daemons;
	size_t daemon_count;
};

/* placement.c: what does not depend on other tasks: launch type, attributes, memberOf. */
enum placement_obstacle placement_match(struct placement *placement, const struct store_view *view,
	const struct store_object *instance);
/* Everything, in the order of the obstacles. */
enum placement_obstacle placement_check(struct placement *placement, const struct store_view *view,
	const struct store_object *instance);

/* placement_strategy.c */
int placement_steps_read(struct placement *placement, struct err *err);
/* All ACTIVE instances, best first; sorted only as far as needed. */
struct placement_ranking;
struct placement_ranking *placement_rank(struct placement *placement, const struct store_view *view,
	size_t count);
const struct store_object *placement_rank_next(struct placement_ranking *ranking);

/* placement_daemons.c: finds the DAEMON services and reservations of the cluster that this task
 * waits for. */
void placement_daemons_load(struct placement *placement, const struct store_view *view);
void placement_daemons_free(struct placement *placement);
/* Is one of them about to run on the instance for the first time? Otherwise: the room that is
 * reserved there for daemons that do not run now. */
bool placement_daemons_wait(struct placement *placement, const struct store_view *view,
	const struct store_object *instance, struct placement_room *ret_reserved);

#endif
