/* Actions on single instances: of a fleet with one instance, whose tasks run in a real ECS and are observed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/runner_simulated.h"
#include "ecs/test_server.h"
#include "ecs/test_tasks.h"
#include "environment/decide/instance_action.h"
#include "environment/model/matching.h"

#define ACCOUNT "123456789012"
#define KEY ACCOUNT "/web"
#define CLUSTER ":" ACCOUNT "/eu-west-1/default"
#define DEFINITION "arn:aws:ecs:eu-west-1:" ACCOUNT ":task-definition/web:"
#define WAIT_US INT64_C(60000000)
#define INTENT(name) ENVIRONMENT_INTENT_##name

/* The environment has the versions "v1" and "v2", rolled out by "d1" and "d2". */
static const struct row {
	const char *name;
	const char *
		runs; /* the deployment of the instance's task, which is healthy; NULL: it has none */
	struct {
		const char *version; /* NULL: it has no placement */
		enum environment_intent intent;
		int64_t attempt, failures, until_in_ms;
	} placement;
	const char *in_progress; /* deployment */
	enum environment_status status;
	bool is_expected; /* a call was made whose effect is not observed yet */
	/* The action, if any. */
	bool acts, is_dropped;
	enum rollout_action_type type;
	const char *version, *deployment; /* of the placement to write */
	int64_t attempt, failures;
	const char *role;
} rows[] = {
	{.name = "a new instance gets the target version",
		.in_progress = "d2",
		.acts = true,
		.type = ROLLOUT_START,
		.version = "v2",
		.deployment = "d2",
		.attempt = 1,
		.role = "deploys"},
	{.name = "but without a deployment there is nothing to start it for",
		.in_progress = "",
		.acts = true,
		.is_dropped = true,
		.type = ROLLOUT_START},
	{.name = "its task has ended: the next attempt of the same version",
		.placement = {"v2", INTENT(none), 2, 0, 0},
		.in_progress = "d2",
		.acts = true,
		.type = ROLLOUT_START,
		.version = "v2",
		.deployment = "d2",
		.attempt = 3,
		.role = "deploys"},
	{.name = "a start that was refused counts as a failure",
		.placement = {"v2", INTENT(none), 2, 1, -1000},
		.in_progress = "d2",
		.acts = true,
		.type = ROLLOUT_START,
		.version = "v2",
		.deployment = "d2",
		.attempt = 3,
		.failures = 1,
		.role = "deploys"},
	{.name = "and is not repeated before its time",
		.placement = {"v2", INTENT(none), 2, 1, 5000},
		.in_progress = "d2"},
	{.name = "attempts are counted for each version",
		.placement = {"v1", INTENT(none), 7, 3, 0},
		.in_progress = "d2",
		.acts = true,
		.type = ROLLOUT_START,
		.version = "v2",
		.deployment = "d2",
		.attempt = 1,
		.role = "deploys"},
	{.name = "a task of the target version stays",
		.runs = "d2",
		.placement = {"v2", INTENT(none), 1, 0, 0},
		.in_progress = "d2"},
	{.name = "a task of an older version is stopped, and the instance handed over",
		.runs = "d1",
		.placement = {"v1", INTENT(none), 1, 0, 0},
		.in_progress = "d2",
		.acts = true,
		.type = ROLLOUT_STOP,
		.version = "v2",
		.deployment = "d2",
		.role = "deploys"},
	{.name = "but not while the effect of another call is not observed yet",
		.runs = "d1",
		.placement = {"v1", INTENT(none), 1, 0, 0},
		.in_progress = "d2",
		.is_expected = true,
		.acts = true,
		.is_dropped = true,
		.type = ROLLOUT_STOP},
	{.name = "nothing happens in an environment that is inactive",
		.runs = "d1",
		.placement = {"v1", INTENT(none), 1, 0, 0},
		.in_progress = "",
		.status = ENVIRONMENT_inactive},
	{.name = "one that is deleted with its tasks stops them",
		.runs = "d1",
		.placement = {"v1", INTENT(none), 1, 0, 0},
		.in_progress = "",
		.status = ENVIRONMENT_deleting,
		.acts = true,
		.type = ROLLOUT_STOP,
		.version = "v1",
		.deployment = "d1",
		.attempt = 1,
		.role = "deploys"},
};

struct bench {
	struct runner *runner;
	struct test_server *server;
	struct observer *observer;
	struct runner_event *changed;
	struct observe_cursor *cursor;
	struct subscriptions *subscriptions;
	struct instances *instances;
	struct arena *arena;
	char instance[TEST_ID_SIZE], task[TEST_ID_SIZE];
};

static struct bench *bench_new(void)
{
	struct bench *bench = memory_allocate(sizeof(*bench));
	struct observe_config config = {.group_prefix = SPAN(ENVIRONMENT_GROUP_PREFIX)};
	struct test_server_options options = {
		.kinds = daemon_kinds, .kind_count = daemon_kind_count};

	bench->runner = config.runner = runner_simulated_new(1);
	options.clock = runner_clock(bench->runner);
	bench->server = test_server_new_of(&options);
	bench->arena = arena_new(0);
	bench->changed = runner_event_new(bench->runner, "changes");
	config.store = bench->server->store;
	assert_int_equal(observe_new(&config, &bench->observer, NULL), 0);
	bench->cursor = observe_cursor_open(bench->observer, bench->changed);
	bench->subscriptions = subscriptions_new();
	bench->instances = env_instances_new(SPAN(KEY), bench->subscriptions);
	test_call(bench->server, "CreateCluster", "{'clusterName':'default'}");
	test_instance(bench->server, "default", 4096, 4096, "", bench->instance);
	for (int i = 0; i < 2; i++)
		test_call(bench->server, "RegisterTaskDefinition",
			"{'family':'web','containerDefinitions':[{'name':'a','image':'a',"
			"'memory':16}]}");
	return bench;
}

static void bench_free(struct bench *bench)
{
	env_instances_free(bench->instances);
	subscriptions_free(bench->subscriptions);
	observe_cursor_close(bench->cursor);
	observe_free(bench->observer);
	runner_event_free(bench->changed);
	test_server_free(bench->server);
	arena_free(bench->arena);
	runner_free(bench->runner);
	free(bench);
}

/* ---- the environment ---- */

struct putting {
	struct bench *bench;
	const struct row *row;
	int64_t now_ms;
};

static int put_version(struct store_transaction *transaction, const char *id, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct environment_version_facts facts = {.environment = SPAN(KEY),
		.id = span_of(id),
		.number = id[1] - '0',
		.cluster_ref = SPAN(CLUSTER),
		.task_definition = span_of(arena_format(arena, DEFINITION "%s", id + 1).data),
		.role = SPAN("deploys"),
		.target = SPAN(""),
		.attributes = SPAN(""),
		.minimum_requested = true,
		.timeout_ms = 60000,
		.token = SPAN(""),
		.token_hash = SPAN("")};

	return environment_put(transaction, &environment_version_kind,
		environment_child_key(arena, SPAN(KEY), facts.id), SPAN("{}"), &facts, STORE_ANY,
		err);
}

static int put_deployment(struct store_transaction *transaction, const char *id, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct environment_deployment_facts facts = {.environment = SPAN(KEY),
		.id = span_of(id),
		.number = id[1] - '0',
		.version = arena_format(arena, "v%s", id + 1),
		.previous = SPAN(""),
		.created_by = SPAN(""),
		.reason = SPAN(""),
		.token = SPAN(""),
		.token_hash = SPAN("")};

	return environment_put(transaction, &environment_deployment_kind,
		environment_child_key(arena, SPAN(KEY), facts.id), SPAN(""), &facts, STORE_ANY,
		err);
}

static int put_placement(struct store_transaction *transaction, const struct putting *putting,
	struct err *err)
{
	const struct row *row = putting->row;
	struct environment_placement_facts facts = {.environment = SPAN(KEY),
		.cluster_ref = SPAN(CLUSTER),
		.instance = span_of(putting->bench->instance),
		.version = span_of(row->placement.version),
		.attempt = row->placement.attempt,
		.failures = row->placement.failures,
		.until_ms = row->placement.until_in_ms
				    ? putting->now_ms + row->placement.until_in_ms
				    : 0,
		.intent = row->placement.intent,
		.intent_ms = putting->now_ms - 60000,
		.deployment = span_of(row->runs ? row->runs : "d1"),
		.task = SPAN("")};

	return environment_put(transaction, &environment_placement_kind,
		environment_placement_key(store_transaction_arena(transaction), SPAN(KEY),
			cluster_ref_of(SPAN(CLUSTER)), facts.instance),
		SPAN(""), &facts, STORE_ANY, err);
}

static int put_environment(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct putting *putting = context;
	int code = put_version(transaction, "v1", err);

	if (code == 0)
		code = put_version(transaction, "v2", err);
	if (code == 0)
		code = put_deployment(transaction, "d1", err);
	if (code == 0)
		code = put_deployment(transaction, "d2", err);
	if (code == 0 && putting->row->placement.version)
		code = put_placement(transaction, putting, err);
	return code;
}

static void start_task(struct bench *bench, const char *deployment)
{
	test_call(bench->server, "StartTask",
		"{'cluster':'default','taskDefinition':'web:%s','containerInstances':['%s'],"
		"'group':'env:web','startedBy':'%s'}",
		deployment + 1, bench->instance, deployment);
	test_id_of(test_item(bench->server, "tasks", 0, "taskArn"), bench->task);
	test_change_task(bench->server, "default", bench->task, test_has_run);
}

static void wait_until_observed(struct bench *bench)
{
	struct cluster_ref cluster = cluster_ref_of(SPAN(CLUSTER));
	uint64_t version = observe_resource_version(bench->observer, cluster);
	int64_t deadline_us = runner_deadline_us(bench->runner, WAIT_US);

	for (;;) {
		uint64_t seen = runner_event_count(bench->changed);

		if (observe_reaches(bench->observer, cluster, version))
			return;
		if (runner_wait(bench->runner, bench->changed, seen, deadline_us) == -ETIMEDOUT)
			fail_msg("the cluster is not observed");
	}
}

/* ---- the table ---- */

static void check_action(const struct row *row, const struct bench *bench,
	const struct instance_action *action)
{
	const struct environment_placement_facts *placement = &action->placement;

	if (action->action.type != row->type || action->is_dropped != row->is_dropped)
		fail_msg("%s: action %d, dropped: %d", row->name, (int)action->action.type,
			action->is_dropped);
	if (row->is_dropped)
		return;
	if (!span_is(placement->version, row->version) ||
		!span_is(placement->deployment, row->deployment) ||
		placement->attempt != row->attempt || placement->failures != row->failures)
		fail_msg("%s: version %.*s, deployment %.*s, attempt %lld, failures %lld",
			row->name, SPAN_ARGS(placement->version), SPAN_ARGS(placement->deployment),
			(long long)placement->attempt, (long long)placement->failures);
	if (placement->until_ms != 0 || placement->epoch != 7)
		fail_msg("%s: until %lld, epoch %lld", row->name, (long long)placement->until_ms,
			(long long)placement->epoch);
	if (!span_is(action->role, row->role))
		fail_msg("%s: role %.*s", row->name, SPAN_ARGS(action->role));
	if (row->type == ROLLOUT_START) {
		assert_int_equal(placement->intent, INTENT(start));
		assert_true(span_ends_with(action->instance_arn, span_of(bench->instance)));
		assert_int_equal(action->task.length, 0);
	} else {
		assert_int_equal(placement->intent, INTENT(stop));
		assert_true(span_ends_with(action->task, span_of(bench->task)));
		assert_true(span_equal(placement->task, action->task));
	}
}

static void check(const struct row *row)
{
	struct bench *bench = bench_new();
	struct instance_action actions[INSTANCE_ACTIONS_MAX];
	struct environment_facts facts = {.account = SPAN(ACCOUNT),
		.name = SPAN("web"),
		.status = row->status ? row->status : ENVIRONMENT_active,
		.terminate = row->status == ENVIRONMENT_deleting,
		.target = SPAN("v2"),
		.completed = SPAN("v1"),
		.in_progress = span_of(row->in_progress),
		.pending = SPAN(""),
		.cluster_refs = SPAN(CLUSTER)};
	const struct store_object environment = {
		.kind = &environment_kind, .key = SPAN(KEY), .facts = &facts};
	struct reconcile_input observed = {.state = bench->observer,
		.environment = &environment,
		.rolls = row->in_progress[0] != '\0',
		.now_ms = runner_wall_ms(bench->runner),
		.arena = bench->arena};
	struct instance_action_input input = {
		.instances = bench->instances, .observed = &observed, .epoch = 7};
	struct putting putting = {bench, row, observed.now_ms};
	struct err err = {0};
	int64_t again_ms;
	size_t count;

	if (store_write_wait(bench->server->store, put_environment, &putting, NULL, &err) < 0)
		fail_msg("%s: %s", row->name, err.message);
	assert_int_equal(observe_want(bench->observer, cluster_ref_of(SPAN(CLUSTER)), NULL, 0,
				 NULL),
		0);
	if (row->runs)
		start_task(bench, row->runs);
	wait_until_observed(bench);
	{
		_view_ struct store_view *view = store_view_open(bench->server->store);

		observed.view = view;
		observed.target = store_get(view, &environment_version_kind,
			environment_child_key(bench->arena, SPAN(KEY), SPAN("v2")));
		observed.steady_ms = runner_now_us(bench->runner) / 1000;
		if (env_instances_update(bench->instances, &observed, &again_ms, &err) < 0)
			fail_msg("%s: %s", row->name, err.message);
		if (row->is_expected) {
			struct instance_entry *entry = instance_entry_at(bench->instances, 0);

			/* A change that the observer has not read yet. */
			test_call(bench->server, "CreateCluster", "{'clusterName':'other'}");
			env_instances_expect(bench->instances, &observed, entry,
				ENVIRONMENT_INTENT_stop, FLEET_OLD, span_of("other"));
			env_instances_inspect(bench->instances, &observed, entry);
		}
		count = instance_actions_decide(&input, actions);
		if (count != row->acts)
			fail_msg("%s: %zu actions", row->name, count);
		if (row->acts)
			check_action(row, bench, &actions[0]);
	}
	bench_free(bench);
}

static void test_actions(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		check(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_actions)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
