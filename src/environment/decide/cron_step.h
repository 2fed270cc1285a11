/*
 * The next step of a Cron environment: record the next due time, and start, repeat, look up or follow the run in
 * progress. Pure: an input in, a step out. act/cron.c carries it out.
 */
#ifndef ENVIRONMENT_DECIDE_CRON_STEP_H
#define ENVIRONMENT_DECIDE_CRON_STEP_H

#include "environment/decide/env_instances.h"
#include "environment/model/runs.h"

struct cron_input {
	const struct reconcile_input *observed;
	const struct store_object *open; /* the run in progress; NULL: none */
	int64_t epoch;                   /* of the claim under which runs are written */
};

/* ---- the run in progress ---- */

enum cron_open_step {
	CRON_OPEN_FOLLOW,  /* it has tasks: see how they end */
	CRON_OPEN_RESOLVE, /* RunTask must not be repeated any more: see whether it took effect */
	CRON_OPEN_WAIT,    /* until run.until_ms, before RunTask is repeated */
	CRON_OPEN_LAUNCH,  /* call RunTask, perhaps again */
};

enum cron_open_step cron_decide_open(const struct cron_input *input);

/* ECS answered that no task was started: repeat with another token, or fail when it is too late. */
void cron_refuse(struct environment_run_facts *run, int64_t now_ms);
/* RunTask had no answer: when to repeat it with the same token. */
int64_t cron_repeat_ms(const struct environment_run_facts *run, int64_t now_ms);
/* Whether a task that was not found cannot appear any more, by what is known at `known_ms`; *ret_settled_ms: when. */
bool cron_is_settled(const struct environment_run_facts *run, bool is_remote, int64_t known_ms,
	int64_t *ret_settled_ms);

/* ---- due times ---- */

struct cron_due {
	bool is_due;
	int64_t next_ms; /* when it is not: the next due time (wall time); <= 0: there is none */
	struct environment_run_facts run; /* to record: to start, skipped or missed */
	struct span api;
};

/* -EINVAL: the schedule of the version cannot be read. */
int cron_decide_due(const struct cron_input *input, struct cron_due *ret_due, struct err *err);

/* The text of a run's record: why it did not start or succeed, and the exit code; "" if there is neither. */
struct span cron_run_text(struct arena *arena, struct span reason, int64_t exit_code, bool exited);

#endif
