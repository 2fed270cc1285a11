/* The table of stages; see stage_run.h. */
#include "pipeline/stage_run.h"

static const stage_function functions[STAGE_KIND_COUNT] = {
	[STAGE_ECS_SYNC] = stage_run_ecs,
	[STAGE_ECS_CANARY_ROLLOUT] = stage_run_ecs,
	[STAGE_ECS_PRIMARY_ROLLOUT] = stage_run_ecs,
	[STAGE_ECS_TRAFFIC_ROUTING] = stage_run_ecs,
	[STAGE_ECS_CANARY_CLEAN] = stage_run_ecs,
	[STAGE_ROLLBACK] = stage_run_ecs,
	[STAGE_ECS_RUN_TASK] = stage_run_task,
	[STAGE_SCRIPT_RUN] = stage_run_script,
	[STAGE_ANALYSIS] = stage_run_analysis,
	[STAGE_WAIT] = stage_run_wait,
	[STAGE_WAIT_APPROVAL] = stage_run_approval,
	[STAGE_POST_SYNC] = stage_run_post_sync,
};

stage_function stage_function_of(enum stage_kind kind)
{
	return functions[kind];
}
