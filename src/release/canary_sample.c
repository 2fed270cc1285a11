/* See canary_sample.h. */
#include "release/canary_sample.h"

#include <stdlib.h>

#include "base/memory.h"
#include "delivery/analysis/source.h"

struct sample_job {
	struct arena *arena;
	struct http_client *client;
	enum canary_source source;
	const char *url;
	struct span query;
	int64_t expected_code, at_ms;
};

static void free_sample(void *context)
{
	struct sample_job *job = context;

	arena_free(job->arena);
	free(job);
}

static int query_prometheus(const struct sample_job *sample, struct job *job, struct arena *arena,
	struct analysis_sample *made, struct err *err)
{
	const struct prometheus prometheus = {.url = sample->url};
	double *values;
	size_t count;
	int code =
		source_query_prometheus(sample->client, &prometheus, sample->query, sample->at_ms,
			CANARY_SAMPLE_TIMEOUT_MS, job->http_cancel, arena, &values, &count, err);

	if (code < 0)
		return code;
	if (count > 1)
		return err_set(err, -EINVAL, "the query gives %zu series", count);
	*made = count == 1 ? analysis_sample_of(sample->at_ms, values[0])
			   : (struct analysis_sample){
				     .at_ms = sample->at_ms, .kind = ANALYSIS_NO_DATA};
	return 0;
}

static int check_http(const struct sample_job *sample, struct job *job, struct arena *arena,
	struct analysis_sample *made, struct err *err)
{
	const struct http_check check = {.url = sample->url,
		.expected_code = sample->expected_code,
		.expected_response = SPAN(""),
		.timeout_ms = CANARY_SAMPLE_TIMEOUT_MS,
		.cancel = job->http_cancel};
	struct span failure = SPAN("");
	int code = source_check_http(sample->client, &check, arena, &failure, err);

	*made = analysis_sample_of(sample->at_ms, failure.length == 0);
	return code;
}

static void run_sample(struct job *job)
{
	const struct sample_job *sample = job->context;
	_arena_ struct arena *arena = arena_new(0);
	struct analysis_sample made = {.at_ms = sample->at_ms};
	struct err err;
	int code = sample->source == CANARY_SOURCE_PROMETHEUS
			   ? query_prometheus(sample, job, arena, &made, &err)
			   : check_http(sample, job, arena, &made, &err);

	if (code < 0)
		made.kind = ANALYSIS_ERROR;
	json_write(analysis_write_samples(&made, 1, arena), &job->result);
}

static const struct job_kind sample_kind = {run_sample, free_sample};

static struct sample_job *make_job(struct http_client *client, const struct canary_metric *metric,
	int64_t now_ms)
{
	struct sample_job *job = memory_allocate(sizeof(*job));

	job->arena = arena_new(0);
	job->client = client;
	job->source = metric->source;
	job->url = arena_copy(job->arena, metric->url.data, metric->url.length);
	job->query = arena_copy_span(job->arena, metric->query);
	job->expected_code = metric->expected_code;
	job->at_ms = now_ms;
	return job;
}

bool canary_sample_take(struct jobs *jobs, struct http_client *client, const struct canary *canary,
	size_t index, const struct canary_metric *metric, int64_t now_ms,
	struct analysis_sample *ret_sample)
{
	_arena_ struct arena *arena = arena_new(0);
	/* The uid and the time of the step: a sample for another step is not used. */
	struct span key = arena_format(arena, "%.*s/%.*s%c%.*s%c%lld%c%zu",
		SPAN_ARGS(canary->namespace), SPAN_ARGS(canary->name), CANARY_SAMPLE_SEPARATOR,
		SPAN_ARGS(canary->uid), CANARY_SAMPLE_SEPARATOR,
		(long long)canary->rollout.begin_ms, CANARY_SAMPLE_SEPARATOR, index);
	struct analysis_sample *samples;
	struct span result;
	struct json *document;
	size_t count;

	switch (jobs_take(jobs, key, arena, &result)) {
	case JOB_RUNNING: return false;
	case JOB_NONE:
		/* Too many at once: the sample is taken at the next pass, of which there is one when a job ends. */
		jobs_begin(jobs, key, &sample_kind, make_job(client, metric, now_ms), NULL);
		return false;
	case JOB_ENDED: break;
	}
	if (json_parse(result, arena, &document, NULL) < 0 ||
		analysis_read_samples(document, arena, &samples, &count, NULL) < 0 || count != 1)
		return false;
	*ret_sample = samples[0];
	return true;
}
