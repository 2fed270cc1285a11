/*
 * Running stages: one function per kind of stage, in one table. A function makes the next step of its stage from what it
 * finds, and is called again until the stage is done. It stores what it must remember in stage->details.
 */
#ifndef PIPELINE_STAGE_RUN_H
#define PIPELINE_STAGE_RUN_H

#include "pipeline/pass.h"

enum stage_progress {
	STAGE_GOES_ON,
	STAGE_DONE,
	STAGE_FAILS,
	STAGE_SKIPS,
};

struct stage_step {
	enum stage_progress progress;
	struct span reason; /* why it waits, fails or is skipped */
	int64_t wake_ms; /* when it goes on: wall time of the next step; 0: after the usual pause */
};

/* options: of the application file; NULL for stages that the planner made. Sets stage->details and pass->must_write to keep
 * something. Negative: the step is repeated later. */
typedef int (*stage_function)(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err);

/* NULL: slipway cannot run stages of that kind. */
stage_function stage_function_of(enum stage_kind kind);

/* stages_ecs.c */
int stage_run_ecs(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err);
/* While another stage waits: keeps the canary's share when tasks are replaced. */
int stage_hold_share(struct deployment_pass *pass, struct span stage, struct err *err);
/* Before a deployment succeeds: a canary that no stage deleted. DONE: there is none. */
int stage_end_ecs(struct deployment_pass *pass, struct stage_step *ret_step, struct err *err);

/* stages_wait.c */
int stage_run_wait(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err);
int stage_run_approval(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err);

#endif
