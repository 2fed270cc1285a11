/*
 * A diff predicts what a deployment does: random small clusters, with instances that drain, are disconnected or have too
 * many tasks, and any version; then it is deployed, on virtual time, and the result of each task is compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "ecs/record/container_instance.h"
#include "environment/test_manager.h"

#define SEEDS 300
#define INSTANCES_MAX 5
#define TASKS_MAX 64
#define DEFINITIONS 3 /* the last of them has a health check */
#define MOMENT_US (SECOND_US / 2)
#define MOMENTS_MAX 600

enum change { START, STOP, REPLACE, KEEP, UNREACHABLE, CHANGES };
static const char *const changes[CHANGES] = {"start", "stop", "replace", "keep", "unreachable"};

struct reported {
	enum change change;
	char instance[TEST_ID_SIZE], task[TEST_ID_SIZE]; /* "": none */
};

struct trial {
	uint64_t seed;
	struct random_seeded chance;
	struct test_manager *bench;
	char instances[INSTANCES_MAX][TEST_ID_SIZE];
	size_t instance_count;
	char before[TASKS_MAX][TEST_ID_SIZE]; /* its tasks that stayed when the diff was made */
	size_t before_count;
	struct reported reported[TASKS_MAX];
	size_t reported_count;
	int revision; /* that is deployed */
};

/* How often each was predicted over all seeds. */
static size_t exercised[CHANGES], reasons_of_stop[3], kept_to_drain, repaired, left_away;

static bool happens(struct trial *trial, unsigned one_of)
{
	return random_below(&trial->chance.random, one_of) == 0;
}

/* ---- existing objects ---- */

static int disconnect(struct store_transaction *transaction, void *context, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct container_instance_edit builder;
	int code = container_instance_edit_open(store_get(store_head(transaction),
							&container_instance_kind, span_of(context)),
		arena, &builder, err);

	if (code < 0)
		return code;
	builder.facts.connected = false;
	return container_instance_save(transaction, &builder, err);
}

static void be_away(struct trial *trial, const char *instance)
{
	_arena_ struct arena *arena = arena_new(0);
	struct err err = {0};
	struct span key = arena_format(arena, TEST_ACCOUNT_KEY "/default/%s", instance);

	if (store_write_wait(trial->bench->server->store, disconnect, (void *)key.data, NULL,
		    &err) < 0)
		fail_msg("%s", err.message);
}

static void be_healthy(struct task_facts *facts)
{
	facts->health = TASK_HEALTH_HEALTHY;
}

static void be_unhealthy(struct task_facts *facts)
{
	facts->health = TASK_HEALTH_UNHEALTHY;
}

/* Of a version, or of a task that is started by hand. */
static const char *network(struct trial *trial)
{
	return happens(trial, 2) ? "'networkConfiguration':{'awsvpcConfiguration':{'subnets':['"
				   "subnet-1']}}"
				 : "'networkConfiguration':{'awsvpcConfiguration':{'subnets':['"
				   "subnet-2']}}";
}

/* By hand, of whomever. */
static void start_on(struct trial *trial, const char *instance, const char *group,
	const char *definition)
{
	struct test_server *server = trial->bench->server;
	char id[TEST_ID_SIZE];

	test_call(server, "StartTask",
		"{'cluster':'default','containerInstances':['%s'],'taskDefinition':'%s',"
		"'group':'%s','startedBy':'other'%s%s}",
		instance, definition, group, strcmp(definition, "other") ? "," : "",
		strcmp(definition, "other") ? network(trial) : "");
	test_id_of(test_item(server, "tasks", 0, "taskArn"), id);
	if (happens(trial, 4))
		return; /* still pending */
	test_call(server, "SubmitTaskStateChange",
		"{'cluster':'default','task':'%s','status':'RUNNING'}", id);
	if (happens(trial, 3) && strcmp(definition, "log:3") == 0)
		test_change_task(server, "default", id, be_unhealthy);
	else if (strcmp(definition, "log:3") == 0)
		test_change_task(server, "default", id, be_healthy);
}

/* ---- making a world ---- */

static void register_all(struct trial *trial)
{
	struct test_server *server = trial->bench->server;

	test_call(server, "CreateCluster", "{'clusterName':'default'}");
	for (int i = 0; i < DEFINITIONS; i++)
		test_call(server, "RegisterTaskDefinition",
			"{'family':'log','networkMode':'awsvpc','containerDefinitions':[{'name':'a'"
			",'image':'a',"
			"'memory':16%s}]}",
			i == 2 ? ",'healthCheck':{'command':['CMD','true']}" : "");
	test_call(server, "RegisterTaskDefinition",
		"{'family':'other','containerDefinitions':[{'name':'a','image':'a','memory':16}]}");
	trial->instance_count = 1 + random_below(&trial->chance.random, INSTANCES_MAX);
	for (size_t i = 0; i < trial->instance_count; i++)
		test_instance(server, "default", 4096, 4096,
			happens(trial, 3) ? "{'name':'stack','value':'test'},"
					  : "{'name':'stack','value':'prod'},",
			trial->instances[i]);
}

/* Of the task's instance. */
static bool is_away(const struct store_view *view, const struct task_facts *facts)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *instance = store_get(view, &container_instance_kind,
		arena_format(arena, TEST_ACCOUNT_KEY "/default/%.*s", SPAN_ARGS(facts->instance)));

	return instance && !container_instance_facts(instance)->connected;
}

/* Every task that starts becomes healthy, and every task that shall stop stops, on connected instances. */
static void move(struct trial *trial)
{
	struct test_server *server = trial->bench->server;
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(server->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
	const struct store_object *task;

	while ((task = store_next(&cursor))) {
		const struct task_facts *facts = task_facts(task);
		const char *to = facts->desired == TASK_RUNNING ? "RUNNING" : "STOPPED";
		char id[TEST_ID_SIZE];

		test_id_of(arena_copy_span(arena, task->key).data, id);
		if (is_away(view, facts) || facts->last == TASK_STOPPED)
			continue;
		if (facts->last != TASK_RUNNING || facts->desired != TASK_RUNNING)
			test_call(server, "SubmitTaskStateChange",
				"{'cluster':'default','task':'%s','status':'%s'}", id, to);
		else if (facts->health == TASK_HEALTH_UNKNOWN && span_is(facts->family, "log") &&
			 facts->revision == DEFINITIONS)
			test_change_task(server, "default", id, be_healthy);
	}
}

static void roll_out(struct trial *trial, const char *version)
{
	struct test_manager *bench = trial->bench;
	const char *status = "";
	char id[64];

	test_manager_ask(bench, "StartDeployment", "{'name':'log','environmentVersion':'%s'}",
		version);
	snprintf(id, sizeof(id), "%s", test_text(bench->server, "deploymentId"));
	for (unsigned i = 0; i < MOMENTS_MAX && strcmp(status, "completed") != 0; i++) {
		test_manager_pass(bench, MOMENT_US);
		move(trial);
		test_manager_ask(bench, "GetDeployment", "{'name':'log','deploymentId':'%s'}", id);
		status = test_text(bench->server, "status");
	}
	if (strcmp(status, "completed") != 0)
		fail_msg("seed %llu: %s, %s", (unsigned long long)trial->seed, status,
			test_text(bench->server, "statusReason"));
}

/* A version by chance: created, or an update. */
static void declare(struct trial *trial, const char *operation, char version[64])
{
	static const char *const configurations[] = {"{}", "{'minHealthyPercent':0}",
		"{'replaceThenTerminate':true,'maxOverPercent':50}",
		"{'canary':{'instances':1,'bakeSeconds':2}}",
		"{'drainTimeoutSeconds':0,'minHealthyPercent':0}"};

	trial->revision = 1 + (int)random_below(&trial->chance.random, DEFINITIONS);
	test_manager_ask(trial->bench, operation,
		"{'name':'log','taskDefinition':'log:%d',"
		"'instanceGroup':{'cluster':'default','attributes':[%s]},"
		"%s,'deploymentConfiguration':%s}",
		trial->revision, happens(trial, 2) ? "'stack=prod'" : "", network(trial),
		configurations[random_below(&trial->chance.random, LENGTH(configurations))]);
	snprintf(version, 64, "%s", test_text(trial->bench->server, "environmentVersion"));
}

/* While no manager runs. */
static void disturb(struct trial *trial)
{
	struct test_server *server = trial->bench->server;
	char definition[16];

	for (size_t i = 0; i < trial->instance_count; i++) {
		const char *instance = trial->instances[i];

		if (happens(trial, 2))
			start_on(trial, instance, "family:other", "other");
		for (int more = 0; more < 2; more++) {
			snprintf(definition, sizeof(definition), "log:%d",
				1 + (int)random_below(&trial->chance.random, DEFINITIONS));
			if (happens(trial, 4))
				start_on(trial, instance, "env:log", definition);
		}
		if (happens(trial, 3))
			test_call(server, "UpdateContainerInstancesState",
				"{'cluster':'default','containerInstances':['%s'],"
				"'status':'DRAINING'}",
				instance);
		if (happens(trial, 5))
			be_away(trial, instance);
	}
}

/* ---- predictions and results ---- */

static void note_reasons(enum change change, const struct json *item)
{
	static const char *const stops[] = {"EXCESS", "DRAINING", "NO_MATCH"};
	struct span reason = json_get_text(item, "reason");

	exercised[change]++;
	for (size_t i = 0; change == STOP && i < LENGTH(stops); i++)
		reasons_of_stop[i] += span_is(reason, stops[i]);
	kept_to_drain += change == KEEP && span_is(reason, "DRAINING");
	repaired += change == REPLACE && span_is(reason, "UNHEALTHY");
	left_away += change == UNREACHABLE && json_get(item, "task");
}

static void read_diff(struct trial *trial)
{
	const struct json *diff =
		test_manager_ask(trial->bench, "DiffEnvironment", "{'name':'log'}");

	for (enum change change = START; change < CHANGES; change++) {
		const struct json *list = json_get(diff, changes[change]);

		assert_int_equal(json_count(list),
			json_get_integer(json_get(diff, "counts"), changes[change], -1));
		JSON_EACH_ITEM (list, item) {
			struct reported *reported = &trial->reported[trial->reported_count++];
			_arena_ struct arena *arena = arena_new(0);
			struct span task = json_get_text(item, "task");

			assert_true(trial->reported_count < TASKS_MAX);
			reported->change = change;
			snprintf(reported->instance, sizeof(reported->instance), "%.*s",
				SPAN_ARGS(json_get_text(item, "instance")));
			if (task.data)
				test_id_of(arena_copy_span(arena, task).data, reported->task);
			note_reasons(change, item);
		}
	}
}

static bool is_ours(const struct task_facts *facts)
{
	return span_is(facts->group, "env:log");
}

static bool stays(const struct task_facts *facts)
{
	return facts->desired == TASK_RUNNING && facts->last <= TASK_RUNNING;
}

static bool was_before(const struct trial *trial, const char *id)
{
	for (size_t i = 0; i < trial->before_count; i++)
		if (strcmp(trial->before[i], id) == 0)
			return true;
	return false;
}

/* Each task of the environment: whether it was there before, and stays. */
static void pass(struct trial *trial, bool before,
	void (*each)(struct trial *trial, const char *id, const struct task_facts *facts))
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(trial->bench->server->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
	const struct store_object *task;

	while ((task = store_next(&cursor))) {
		char id[TEST_ID_SIZE];

		test_id_of(arena_copy_span(arena, task->key).data, id);
		if (is_ours(task_facts(task)) && was_before(trial, id) == before)
			each(trial, id, task_facts(task));
	}
}

static void remember(struct trial *trial, const char *id, const struct task_facts *facts)
{
	assert_true(trial->before_count < TASKS_MAX);
	/* Those that had stopped before were not predicted, either. */
	snprintf(trial->before[trial->before_count++], TEST_ID_SIZE, "%s", id);
	(void)facts;
}

static bool is_reported(const struct trial *trial, enum change change, struct span instance)
{
	for (size_t i = 0; i < trial->reported_count; i++)
		if (trial->reported[i].change == change &&
			span_is(instance, trial->reported[i].instance))
			return true;
	return false;
}

/* Every start was predicted, with its instance. */
static void check_new(struct trial *trial, const char *id, const struct task_facts *facts)
{
	if (!is_reported(trial, START, facts->instance) &&
		!is_reported(trial, REPLACE, facts->instance))
		fail_msg("seed %llu: log:%lld %s was started on %.*s, which was not predicted",
			(unsigned long long)trial->seed, (long long)facts->revision, id,
			SPAN_ARGS(facts->instance));
	if (stays(facts) && facts->revision != trial->revision)
		fail_msg("seed %llu: %s is left of log:%lld", (unsigned long long)trial->seed, id,
			(long long)facts->revision);
}

static void check_old(struct trial *trial, const char *id, const struct task_facts *facts)
{
	const struct reported *reported = NULL;
	bool goes;

	for (size_t i = 0; i < trial->reported_count && !reported; i++)
		if (strcmp(trial->reported[i].task, id) == 0)
			reported = &trial->reported[i];
	goes = reported && (reported->change == STOP || reported->change == REPLACE);
	if (!reported && !is_reported(trial, UNREACHABLE, facts->instance) &&
		facts->stopped_ms == 0)
		fail_msg("seed %llu: nothing was predicted of %s (log:%lld) on %.*s",
			(unsigned long long)trial->seed, id, (long long)facts->revision,
			SPAN_ARGS(facts->instance));
	if (reported && stays(facts) == goes)
		fail_msg("seed %llu: '%s' was predicted of %s (log:%lld) on %.*s, and it %s",
			(unsigned long long)trial->seed, changes[reported->change], id,
			(long long)facts->revision, SPAN_ARGS(facts->instance),
			goes ? "stayed" : "was stopped");
}

/* How many tasks stay there now. */
static size_t count_on(struct trial *trial, const char *instance)
{
	_view_ struct store_view *view = store_view_open(trial->bench->server->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
	const struct store_object *task;
	size_t count = 0;

	while ((task = store_next(&cursor)))
		count += is_ours(task_facts(task)) && stays(task_facts(task)) &&
			 span_is(task_facts(task)->instance, instance);
	return count;
}

static void check(struct trial *trial)
{
	pass(trial, true, check_old);
	pass(trial, false, check_new);
	for (size_t i = 0; i < trial->reported_count; i++) {
		const struct reported *reported = &trial->reported[i];
		size_t count = count_on(trial, reported->instance);

		if ((reported->change == START || reported->change == REPLACE ||
			    reported->change == KEEP) &&
			count != 1)
			fail_msg("seed %llu: '%s' was predicted of %s, which has %zu tasks",
				(unsigned long long)trial->seed, changes[reported->change],
				reported->instance, count);
	}
}

static void try_one(uint64_t seed)
{
	struct trial trial = {.seed = seed, .bench = test_manager_new(seed)};
	struct test_manager *bench = trial.bench;
	char version[64];

	random_seeded_init(&trial.chance, seed);
	register_all(&trial);
	declare(&trial, "CreateEnvironment", version);
	if (!happens(&trial, 5)) {
		roll_out(&trial, version);
		test_manager_ask(bench, "UpdateEnvironment", "{'name':'log','status':'inactive'}");
		test_manager_pass(bench, SECOND_US);
	}
	disturb(&trial);
	declare(&trial, "UpdateEnvironment", version);
	test_manager_pass(bench, 5 * SECOND_US);
	pass(&trial, false, remember);
	read_diff(&trial);
	roll_out(&trial, version);
	for (int i = 0; i < 10; i++) {
		test_manager_pass(bench, MOMENT_US);
		move(&trial);
	}
	check(&trial);
	test_manager_free(bench);
}

static void test_a_deployment_does_as_its_diff_predicts(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		try_one(seed);
	for (size_t i = 0; i < CHANGES; i++)
		assert_true(exercised[i] > 0);
	for (size_t i = 0; i < LENGTH(reasons_of_stop); i++)
		assert_true(reasons_of_stop[i] > 0);
	assert_true(kept_to_drain > 0 && repaired > 0 && left_away > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_deployment_does_as_its_diff_predicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
