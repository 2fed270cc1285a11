/*
 * Metrics of slipway itself, for analyses without a metrics server: counts of tasks as ECS reports them, and of requests
 * as this server's load balancers carry them. Requests are those since the sample before.
 */
#include "base/memory.h"
#include "pipeline/stage_run.h"

#define CLASSES LENGTH(((struct group_traffic *)0)->responses)
#define MILLI 1000

/* ---- metrics of tasks ---- */

static double count_stopped(const struct snapshot_set *set)
{
	return (double)set->failed;
}

static double count_unhealthy(const struct snapshot_set *set)
{
	size_t count = 0;

	for (size_t i = 0; i < set->task_count; i++)
		count += !set->tasks[i].is_healthy;
	return (double)count;
}

/* ---- metrics of target groups ---- */

static uint64_t count_responses(const struct group_traffic *traffic)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < CLASSES; i++)
		sum += traffic->responses[i];
	return sum;
}

/* Over HTTP every request has a response, also one that no target has answered. */
static uint64_t count_requests(const struct group_traffic *traffic)
{
	uint64_t responses = count_responses(traffic);

	return responses > 0 ? responses : traffic->requests + traffic->failed;
}

static double find_requests(const struct group_traffic *traffic)
{
	return (double)count_requests(traffic);
}

static double find_error_rate(const struct group_traffic *traffic)
{
	uint64_t errors = count_responses(traffic) > 0 ? traffic->responses[4] : traffic->failed;

	return (double)errors / (double)count_requests(traffic);
}

static double find_latency(const struct group_traffic *traffic)
{
	return traffic->response_ms;
}

#define RESPONSES(class_, index_)                                                                  \
	static double find_##class_(const struct group_traffic *traffic)                           \
	{                                                                                          \
		return (double)traffic->responses[index_];                                         \
	}
RESPONSES(2xx, 1)
RESPONSES(3xx, 2)
RESPONSES(4xx, 3)
RESPONSES(5xx, 4)

/* ---- the table ---- */

static const struct metric {
	const char *name;
	double (*of_set)(const struct snapshot_set *set);
	double (*of_traffic)(const struct group_traffic *traffic); /* behind a load balancer */
	bool needs_requests; /* without any there is no data */
} metrics[] = {
	{"stopped_tasks", count_stopped, NULL, false}, /* that stopped by themselves */
	/* that are not running, or fail their health checks */
	{"unhealthy_tasks", count_unhealthy, NULL, false}, {"requests", NULL, find_requests, false},
	{"error_rate", NULL, find_error_rate, true}, /* responses 5xx of all, 0 to 1 */
	{"responses_2xx", NULL, find_2xx, false}, {"responses_3xx", NULL, find_3xx, false},
	{"responses_4xx", NULL, find_4xx, false}, {"responses_5xx", NULL, find_5xx, false},
	{"latency_ms", NULL, find_latency, true}, /* average of the last requests */
};

static const struct metric *find_metric(struct span name)
{
	for (size_t i = 0; i < LENGTH(metrics); i++) {
		if (span_is(name, metrics[i].name))
			return &metrics[i];
	}
	return NULL;
}

struct span stage_check_metric(const struct deployment_pass *pass, struct span name)
{
	const struct application_input *input = &pass->bundle.application->input;
	const struct metric *metric = find_metric(name);
	_buffer_ struct buffer names = {0};

	if (metric && metric->of_set && !pass->bundle.has_service)
		return arena_format(pass->arena, "metric \"%s\" needs a service", metric->name);
	if (metric && metric->of_traffic &&
		(!(input->access & ACCESS_ELB) || input->primary_group.arn.length == 0 ||
			input->canary_group.arn.length == 0))
		return arena_format(pass->arena,
			"metric \"%s\" needs the primary and the canary target group of a load "
			"balancer",
			metric->name);
	if (metric && metric->of_traffic &&
		(pass->outcall.is_remote || !pass->config->read_traffic))
		return arena_format(pass->arena,
			"metric \"%s\" needs a load balancer of this server; the target is "
			"another one",
			metric->name);
	if (metric)
		return SPAN("");
	for (size_t i = 0; i < LENGTH(metrics); i++)
		buffer_format(&names, "%s%s", i > 0 ? ", " : "", metrics[i].name);
	return arena_format(pass->arena, "metric \"%.*s\" of provider %s is not known (%s)",
		SPAN_ARGS(name), METRICS_PROVIDER_OWN, names.data);
}

/* ---- samples of tasks ---- */

static const struct snapshot_set *find_set(const struct snapshot *snapshot, enum set_role role)
{
	for (size_t i = 0; i < snapshot->set_count; i++) {
		if (snapshot->sets[i].role == role && !snapshot->sets[i].is_deleting)
			return &snapshot->sets[i];
	}
	return NULL;
}

static int take_of_sets(struct deployment_pass *pass, const struct metric *metric,
	struct analysis_sample *sample, struct err *err)
{
	const struct snapshot_set *canary, *primary;
	struct observed observed;
	int code = observed_read(pass, &observed, err);

	if (code < 0)
		return code;
	canary = find_set(&observed.snapshot, SET_CANARY);
	primary = find_set(&observed.snapshot, SET_NEW);
	if (!primary)
		primary = find_set(&observed.snapshot, SET_OLD);
	/* Without a canary the metric is that of the primary. */
	if (!canary)
		canary = primary;
	if (!canary || !primary)
		return 0;
	sample->kind = ANALYSIS_VALUE;
	sample->value = metric->of_set(canary);
	sample->primary = metric->of_set(primary);
	return 0;
}

/* ---- samples of requests ---- */

/* Stored as [requests, failed, 1xx, …, 5xx, thousandths of the average]. */
static struct json *write_traffic(const struct group_traffic *traffic, struct arena *arena)
{
	struct json *list = json_new_array(arena);

	json_append(arena, list, json_new_integer(arena, (int64_t)traffic->requests));
	json_append(arena, list, json_new_integer(arena, (int64_t)traffic->failed));
	for (size_t i = 0; i < CLASSES; i++)
		json_append(arena, list, json_new_integer(arena, (int64_t)traffic->responses[i]));
	json_append(arena, list, json_new_integer(arena, (int64_t)(traffic->response_ms * MILLI)));
	return list;
}

/* The growth of a counter; one that was set back, by a restart, begins at 0 again. */
static uint64_t since(uint64_t now, const struct json *before, size_t index)
{
	double value = 0;

	json_double(json_item(before, index), &value);
	return now >= (uint64_t)value ? now - (uint64_t)value : now;
}

static struct group_traffic subtract(const struct group_traffic *now, const struct json *before)
{
	struct group_traffic difference = *now;

	difference.requests = since(now->requests, before, 0);
	difference.failed = since(now->failed, before, 1);
	for (size_t i = 0; i < CLASSES; i++)
		difference.responses[i] = since(now->responses[i], before, 2 + i);
	return difference;
}

/* "ACCOUNT/REGION/GROUP" of "arn:aws:elasticloadbalancing:REGION:ACCOUNT:targetgroup/GROUP/ID" */
static struct span group_key(const struct deployment_pass *pass, struct span arn)
{
	struct span before, rest, group = SPAN("");

	if (span_split(arn, '/', &before, &rest))
		(void)span_next_part(&rest, '/', &group);
	return arena_format(pass->arena, "%.*s/%.*s/%.*s",
		SPAN_ARGS(application_facts(pass->application)->account),
		SPAN_ARGS(pass->deployment.facts.region), SPAN_ARGS(group));
}

static void take_of_traffic(const struct deployment_pass *pass, const struct metric *metric,
	const struct json **counters, struct analysis_sample *sample)
{
	const struct application_input *input = &pass->bundle.application->input;
	const struct span groups[] = {input->canary_group.arn, input->primary_group.arn};
	double values[LENGTH(groups)] = {0};
	struct json *list = json_new_array(pass->arena);
	bool has_data = *counters != NULL;

	for (size_t i = 0; i < LENGTH(groups); i++) {
		struct group_traffic now = {0}, difference;

		/* A group without traffic is 0. */
		pass->config->read_traffic(pass->config->traffic_context,
			group_key(pass, groups[i]), &now);
		difference = subtract(&now, json_item(*counters, i));
		if (count_requests(&difference) > 0 || !metric->needs_requests)
			values[i] = metric->of_traffic(&difference);
		else if (i == 0)
			has_data = false;
		json_append(pass->arena, list, write_traffic(&now, pass->arena));
	}
	*counters = list;
	if (!has_data)
		return;
	sample->kind = ANALYSIS_VALUE;
	sample->value = values[0];
	sample->primary = values[1];
}

int stage_take_own_sample(struct deployment_pass *pass, const struct analysis_check *check,
	const struct json **counters, struct analysis_sample *ret_sample, struct err *err)
{
	const struct metric *metric = find_metric(check->query);

	*ret_sample = (struct analysis_sample){.at_ms = pass->now_ms, .kind = ANALYSIS_NO_DATA};
	if (metric->of_traffic) {
		take_of_traffic(pass, metric, counters, ret_sample);
		return 0;
	}
	*counters = json_new_array(pass->arena);
	return take_of_sets(pass, metric, ret_sample, err);
}
