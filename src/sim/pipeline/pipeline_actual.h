/* The remote ECS of the simulation as it is, read from its store and not by its operations. */
#ifndef SIM_PIPELINE_PIPELINE_ACTUAL_H
#define SIM_PIPELINE_PIPELINE_ACTUAL_H

#include "sim/pipeline/pipeline_sim.h"

#define ACTUAL_SCOPE SIMULATION_ACCOUNT "/" SIMULATION_REGION
#define ACTUAL_CANARY SIM_APPLICATION "-canary" /* the second service */
#define TASKS_MAX 128
#define RULES_MAX 4

/* A task of the application. Texts live as long as the view. */
struct live_task {
	struct span key, id, service, set;
	struct span address; /* "": none yet */
	int64_t revision;
	bool is_healthy;    /* RUNNING, and healthy in every check */
	bool is_registered; /* its instance is in Cloud Map and healthy */
	bool has_instance;
	bool in_blue, in_green, is_target_healthy;
};

struct rule_state {
	bool is_pair;
	int64_t blue, green; /* weights */
};

struct world_state {
	struct live_task tasks[TASKS_MAX];
	size_t task_count;
	struct rule_state rules[RULES_MAX];
	size_t rule_count;
	int64_t serving;                     /* healthy tasks that the name leads to */
	int64_t blue_healthy, green_healthy; /* targets */
};

const struct store_object *actual_find_instance(const struct pipeline_sim *sim,
	const struct store_view *view, struct span id);
struct rule_state actual_read_actions(const struct pipeline_sim *sim, const struct json *actions);
void actual_read_rules(struct pipeline_sim *sim, const struct store_view *view,
	struct world_state *state);
void actual_read(struct pipeline_sim *sim, const struct store_view *view,
	struct world_state *state);
bool actual_is_ours(struct span service);

#endif
