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
	int64_t wake_ms; /* when it continues: wall time of the next step; 0: after the usual pause */
};

/* options: of the application file; NULL for stages that the planner made. Sets stage->details and pass->must_write to keep
 * something. Negative: the step is repeated later. */
typedef int (*stage_function)(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err);

static inline void stage_fail(struct stage_step *step, struct span reason)
{
	step->progress = STAGE_FAILS;
	step->reason = reason;
}

/* NULL: slipway cannot run stages of that kind. */
stage_function stage_function_of(enum stage_kind kind);

/* stages_ecs.c */
int stage_run_ecs(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err);
/* While another stage waits: keeps the canary's share when tasks are replaced. */
int stage_hold_share(struct deployment_pass *pass, struct span stage, struct err *err);
/* Before a deployment succeeds: a canary that no stage deleted. DONE: there is none. */
int stage_end_ecs(struct deployment_pass *pass, struct stage_step *ret_step, struct err *err);

/* Fills in when a stage that waits for something else is called again, and keeps the canary's share until then. */
int stage_wait(struct deployment_pass *pass, const struct stage_record *stage,
	struct stage_step *step, struct err *err);

/* Whether the old primary stays for a while after the deployment, without traffic. */
bool stage_keeps_old(const struct deployment_pass *pass);
/* After a deployment that keeps it: it gets no traffic, and is deleted when is_over. DONE: nothing is left to do. */
int stage_keep_old(struct deployment_pass *pass, bool is_over, struct stage_step *ret_step,
	struct err *err);

/* stages_task.c */
int stage_run_standalone(struct deployment_pass *pass, struct span stage,
	struct stage_step *ret_step, struct err *err);
int stage_run_task(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err);
/* When the stage is over: a task that still runs is stopped. */
int stage_end_task(struct deployment_pass *pass, const struct stage_record *stage, struct err *err);

/* stages_script.c */
int stage_run_script(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err);
/* The commands onRollback of the stages that have started, the last stage first. */
int stage_run_rollback_scripts(struct deployment_pass *pass, struct stage_record *rollback,
	struct stage_step *ret_step, struct err *err);

/* stages_analysis.c */
int stage_run_analysis(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err);
/* Why the stage cannot be run with these settings; "": it can. */
struct span stage_check_analysis(const struct deployment_pass *pass,
	const struct stage_options *options);

/* stages_metrics.c: metrics of the provider METRICS_PROVIDER_OWN */
/* Why the deployment has no such metric; "": it has. */
struct span stage_check_metric(const struct deployment_pass *pass, struct span name);
/* *counters: those of the sample before, or of the begin of the stage, and now those of this one. NULL: there are none yet,
 * and then there is no sample. */
int stage_take_own_sample(struct deployment_pass *pass, const struct analysis_check *check,
	const struct json **counters, struct analysis_sample *ret_sample, struct err *err);

/* Ends the jobs of stages that are over. */
void stage_end_jobs(struct deployment_pass *pass);
/* Jobs of a stage: scripts, samples of an analysis. */
struct span stage_job_key(const struct deployment_pass *pass, struct span stage, size_t number);
/* The files that commands get: those of the application's folder, not of others that it names ("../shared/task.yaml"). */
int stage_copy_files(const struct deployment_pass *pass, struct arena *arena,
	struct json **ret_files, struct err *err);
const char *const *stage_environment(const struct deployment_pass *pass, bool is_rollback,
	const struct field_list *variables, struct arena *arena);
/* The stage as it stands in the application file; NULL: the planner made it. */
const struct stage *stage_find_configured(const struct deployment_pass *pass,
	const struct stage_record *stage);

/* post_sync.c */
int stage_run_post_sync(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err);

/* stages_wait.c */
int stage_run_wait(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err);
/* With the stage's first write, so that users can vote as soon as it runs. */
void stage_begin_approval(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options);
int stage_run_approval(struct deployment_pass *pass, struct stage_record *stage,
	const struct stage_options *options, struct stage_step *ret_step, struct err *err);

#endif
