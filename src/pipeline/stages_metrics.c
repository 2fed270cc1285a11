/* Metrics of slipway itself, for analyses without a metrics server: what ECS reports about the tasks of a variant. */
#include "base/memory.h"
#include "pipeline/stage_run.h"

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

static const struct metric {
	const char *name;
	double (*of_set)(const struct snapshot_set *set);
} metrics[] = {
	{"stopped_tasks", count_stopped}, /* that stopped by themselves */
	{"unhealthy_tasks",
		count_unhealthy}, /* that are not running, or fail their health checks */
};

static const struct metric *find_metric(struct span name)
{
	for (size_t i = 0; i < LENGTH(metrics); i++) {
		if (span_is(name, metrics[i].name))
			return &metrics[i];
	}
	return NULL;
}

bool stage_knows_metric(struct span name)
{
	return find_metric(name) != NULL;
}

const char *stage_metric_names(void)
{
	return "stopped_tasks, unhealthy_tasks";
}

static const struct snapshot_set *find_set(const struct snapshot *snapshot, enum set_role role)
{
	for (size_t i = 0; i < snapshot->set_count; i++) {
		if (snapshot->sets[i].role == role && !snapshot->sets[i].is_deleting)
			return &snapshot->sets[i];
	}
	return NULL;
}

int stage_take_own_sample(struct deployment_pass *pass, const struct stage_record *stage,
	const struct analysis_check *check, struct analysis_sample *ret_sample, struct err *err)
{
	const struct metric *metric = find_metric(check->query);
	const struct snapshot_set *canary, *primary;
	struct observed observed;
	int r = observed_read(pass, &observed, err);

	(void)stage;
	if (r < 0)
		return r;
	canary = find_set(&observed.snapshot, SET_CANARY);
	primary = find_set(&observed.snapshot, SET_NEW);
	if (!primary)
		primary = find_set(&observed.snapshot, SET_OLD);
	/* Without a canary the metric is that of the primary. */
	if (!canary)
		canary = primary;
	*ret_sample = (struct analysis_sample){.at_ms = pass->now_ms, .kind = ANALYSIS_NO_DATA};
	if (!canary || !primary)
		return 0;
	ret_sample->kind = ANALYSIS_VALUE;
	ret_sample->value = metric->of_set(canary);
	ret_sample->primary = metric->of_set(primary);
	return 0;
}
