/*
 * Samples of metrics outside of the cluster's objects, for analyses: queries to Prometheus, and HTTP checks. Each is a job,
 * so that a server which does not answer delays nothing else.
 */
#ifndef RELEASE_CANARY_SAMPLE_H
#define RELEASE_CANARY_SAMPLE_H

#include "delivery/job.h"
#include "release/canary.h"

#define CANARY_SAMPLE_TIMEOUT_MS 10000
#define CANARY_SAMPLE_SEPARATOR '|' /* in keys of jobs, behind NAMESPACE/NAME */

/* False: the sample is under way, and the job reports its end. One that fails is an ERROR, and gives no value. */
bool canary_sample_take(struct jobs *jobs, struct http_client *client, const struct canary *canary,
	size_t index, const struct canary_metric *metric, int64_t now_ms,
	struct analysis_sample *ret_sample);

#endif
