/* The deployments of Daemon environments: progress by their fleet, canaries, monitors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/decide/daemon_deployment.h"
#include "environment/test_decide.h"

#define FAR "far:1/r/default"
#define STATUS(name) ENVIRONMENT_DEPLOYMENT_##name
#define INSTANCES 4

/* How many instances have which task; the rest of the four has none. */
struct fleet_row {
	unsigned updated, launching, adopted, outdated;
};

static const struct row {
	const char *name;
	struct fleet_row fleet;
	bool runs; /* a deployment of a user, "d1", is in progress for a second */
	bool is_new, leaves_unknown;
	int64_t canary_instances, bake_ms;
	int64_t canary_ago_ms, written_ago_ms; /* recorded, and by this server; 0: not */
	enum deployment_step_type type;
	enum environment_deployment_status status;
	const char *reason;
	enum environment_deployment_type monitor;
	bool is_proved;
	int64_t done;
} rows[] = {
	{.name = "every instance has its task",
		.fleet = {.updated = 4},
		.runs = true,
		.type = DEPLOYMENT_STEP_MOVE,
		.status = STATUS(completed),
		.done = 4},
	{.name = "a task of the target version whose placement has another one",
		.fleet = {.updated = 3, .adopted = 1},
		.runs = true,
		.type = DEPLOYMENT_STEP_ADOPT,
		.done = 4},
	{.name = "the cluster that it leaves is unknown",
		.fleet = {.updated = 4},
		.runs = true,
		.leaves_unknown = true,
		.type = DEPLOYMENT_STEP_MOVE,
		.status = STATUS(blocked),
		.reason = "CLUSTER_UNKNOWN: the cluster that it leaves",
		.done = 4},
	{.name = "a task starts",
		.fleet = {.updated = 3, .launching = 1},
		.runs = true,
		.type = DEPLOYMENT_STEP_PROGRESS,
		.done = 3},
	{.name = "an older task is replaced later",
		.fleet = {.updated = 3, .outdated = 1},
		.runs = true,
		.type = DEPLOYMENT_STEP_PROGRESS,
		.done = 3},
	{.name = "no deployment: an instance without a task is repaired",
		.fleet = {.updated = 3},
		.type = DEPLOYMENT_STEP_MONITOR,
		.monitor = ENVIRONMENT_DEPLOYMENT_TYPE_health_repair,
		.done = 3},
	{.name = "no deployment: a new instance gets its task",
		.fleet = {.updated = 3},
		.is_new = true,
		.type = DEPLOYMENT_STEP_MONITOR,
		.monitor = ENVIRONMENT_DEPLOYMENT_TYPE_autoscaling,
		.done = 3},
	{.name = "no deployment, and nothing is missing",
		.fleet = {.updated = 4},
		.type = DEPLOYMENT_STEP_NONE,
		.done = 4},
	{.name = "the canary became healthy",
		.fleet = {.updated = 1, .outdated = 3},
		.runs = true,
		.canary_instances = 1,
		.bake_ms = 10000,
		.type = DEPLOYMENT_STEP_CANARY,
		.done = 1},
	{.name = "the canary has not finished its bake time",
		.fleet = {.updated = 1, .outdated = 3},
		.runs = true,
		.canary_instances = 1,
		.bake_ms = 10000,
		.canary_ago_ms = 9000,
		.written_ago_ms = 9000,
		.type = DEPLOYMENT_STEP_NONE,
		.done = 1},
	{.name = "another server recorded it: the bake time starts again",
		.fleet = {.updated = 1, .outdated = 3},
		.runs = true,
		.canary_instances = 1,
		.bake_ms = 10000,
		.canary_ago_ms = 20000,
		.type = DEPLOYMENT_STEP_CANARY,
		.done = 1},
	{.name = "without a bake time it is proved at once",
		.fleet = {.updated = 1, .outdated = 3},
		.runs = true,
		.canary_instances = 1,
		.canary_ago_ms = 1,
		.type = DEPLOYMENT_STEP_CANARY,
		.is_proved = true,
		.done = 1},
	{.name = "the task of the canary has ended",
		.fleet = {.launching = 1, .outdated = 3},
		.runs = true,
		.canary_instances = 1,
		.canary_ago_ms = 9000,
		.written_ago_ms = 9000,
		.type = DEPLOYMENT_STEP_CANARY},
};

/* As an update of the instances would add it. */
static void add_instance(struct instances *instances, unsigned number, const struct fleet_row *row)
{
	struct instance_entry *entry = memory_allocate(sizeof(*entry));
	struct fleet_instance now = {.state = ROLLOUT_INSTANCE_ACTIVE,
		.matches = true,
		.assigned = FLEET_ASSIGNED_TARGET};
	unsigned launching = row->updated, adopted = launching + row->launching,
		 outdated = adopted + row->adopted, missing = outdated + row->outdated;

	if (number < launching) {
		now.tasks[FLEET_TARGET][ROLLOUT_HEALTHY] = 1;
	} else if (number < adopted) {
		now.tasks[FLEET_TARGET][ROLLOUT_PENDING] = 1;
	} else if (number < outdated) {
		now.tasks[FLEET_TARGET][ROLLOUT_HEALTHY] = 1;
		now.assigned = FLEET_ASSIGNED_OLD;
	} else if (number < missing) {
		now.tasks[FLEET_OLD][ROLLOUT_HEALTHY] = 1;
		now.assigned = FLEET_ASSIGNED_OLD;
	}
	entry->index = fleet_add(instances->fleet);
	entry->cluster = cluster_ref_of(span_of(memory_copy_string(FAR)));
	entry->id = span_of(memory_format("i%u", number));
	instances->by_index[entry->index] = entry;
	map_put(&instances->entries, entry->id, entry);
	fleet_set(instances->fleet, entry->index, &now);
}

static struct instances *make_instances(const struct row *row, struct subscriptions *subscriptions)
{
	struct instances *instances = env_instances_new(SPAN(TEST_KEY), subscriptions);
	const struct fleet_rules rules = {.mode = FLEET_ROLLS,
		.minimum_requested = true,
		.canary_instances = (unsigned)row->canary_instances};

	fleet_configure(instances->fleet, &rules);
	instances->by_index = memory_allocate_array(INSTANCES, sizeof(*instances->by_index));
	for (unsigned i = 0; i < INSTANCES; i++)
		add_instance(instances, i, &row->fleet);
	instances->new_count = row->is_new;
	if (row->leaves_unknown)
		map_put(&instances->unknown_refs, SPAN("gone:1/r/default"), instances);
	if (row->written_ago_ms) {
		instances->canary_written_ms = TEST_NOW_MS - row->written_ago_ms;
		instances->canary_began = (struct recorded_moment){
			instances->canary_written_ms, TEST_STEADY_MS - row->written_ago_ms};
	}
	return instances;
}

static void check(const struct row *row)
{
	struct subscriptions *subscriptions = subscriptions_new();
	struct instances *instances = make_instances(row, subscriptions);
	struct deployment_memory memory = {0};
	struct daemon_deployment_input input = {
		.instances = instances, .memory = &memory, .cause = SPAN("")};
	struct deployment_step step;
	struct test_decide test;
	bool has_canary = row->canary_instances > 0;

	test_decide_begin(&test);
	test.facts.cluster_refs = test.version.cluster_ref = SPAN(FAR);
	test.facts.in_progress = row->runs ? SPAN("d1") : SPAN("");
	test.version.canary_instances = row->canary_instances;
	test.version.canary_bake_ms = row->bake_ms;
	/* A canary is decided while nothing else changes. */
	if (row->runs)
		test_decide_put_deployment(&test, "d1",
			(struct environment_deployment_facts){.status = STATUS(in_progress),
				.started_ms = TEST_NOW_MS - 1000,
				.canary_ms =
					row->canary_ago_ms ? TEST_NOW_MS - row->canary_ago_ms : 0,
				.done = has_canary ? row->done : 0,
				.total = INSTANCES},
			"");
	test_decide_input(&test);
	test.input.rolls = true;
	test.input.canary = has_canary;
	input.observed = &test.input;
	daemon_deployment_decide(&input, &step);
	if (step.type != row->type)
		fail_msg("%s: step %d, expected %d", row->name, (int)step.type, (int)row->type);
	if (step.type == DEPLOYMENT_STEP_MOVE && step.status != row->status)
		fail_msg("%s: status %d", row->name, (int)step.status);
	if (step.type == DEPLOYMENT_STEP_MOVE &&
		!span_is(step.reason, row->reason ? row->reason : ""))
		fail_msg("%s: reason '%.*s'", row->name, SPAN_ARGS(step.reason));
	if (step.type == DEPLOYMENT_STEP_MONITOR && step.monitor != row->monitor)
		fail_msg("%s: monitor %d", row->name, (int)step.monitor);
	if (step.type == DEPLOYMENT_STEP_CANARY && step.canary_proved != row->is_proved)
		fail_msg("%s: proved: %d", row->name, step.canary_proved);
	if (step.done != row->done || step.total != INSTANCES)
		fail_msg("%s: %lld of %lld", row->name, (long long)step.done,
			(long long)step.total);
	test_decide_end(&test);
	env_instances_free(instances);
	subscriptions_free(subscriptions);
}

static void test_deployments(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		check(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_deployments)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
