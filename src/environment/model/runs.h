/*
 * Runs of a Cron environment: one for each due time. A run is recorded before RunTask is called, with a client token that
 * only this due time has, so there is one run per due time after any crash. Runs never overlap: a due time during another
 * run is *skipped*. A due time that is more than CRON_LATE_MS in the past when a server sees it (none was running) is
 * *missed*. Neither is run later.
 */
#ifndef ENVIRONMENT_MODEL_RUNS_H
#define ENVIRONMENT_MODEL_RUNS_H

#include "delivery/schedule.h"
#include "environment/model/context.h"

#define CRON_RUNS_KEPT 100                /* of an environment; the oldest go */
#define CRON_RUNS_SHOWN 10                /* with the environment */
#define CRON_LATE_MS INT64_C(60000)       /* a run begins at most so long after it was due */
#define CRON_RETRY_MOST_MS INT64_C(15000) /* before RunTask is repeated */
#define CRON_MISSED_MAX 1000000           /* due times that one record stands for */

/* The run that is going or about to, or NULL. */
const struct store_object *cron_open_run(const struct store_view *view, struct span environment);
/* The last one of any kind, or NULL. */
const struct store_object *cron_last_run(const struct store_view *view, struct arena *arena,
	struct span environment);
/* Due times up to here are dealt with. */
int64_t cron_cursor(const struct store_view *view, struct arena *arena,
	const struct store_object *environment);
/* The schedule of a version as clients see it. */
int cron_schedule(const struct json *version, struct schedule *ret_schedule, struct err *err);

/* In a transaction: adds it, and drops the oldest when there are too many. -EEXIST: that due time has one. */
int cron_add_run(struct store_transaction *transaction, struct span environment, struct span api,
	const struct environment_run_facts *run, struct err *err);

/* "scheduleState" of a Cron environment. */
void cron_show(struct aws_request *request, const struct store_object *environment,
	struct json *document);

#endif
