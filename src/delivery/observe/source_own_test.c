/* The state service over clusters of this server: a real store, the real operations of ECS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/map.h"
#include "control/runner_simulated.h"
#include "delivery/observe/observe.h"
#include "ecs/test_server.h"
#include "ecs/test_tasks.h"

#define PLACE ":123456789012/eu-west-1/web"
#define WAIT_US INT64_C(60000000)

struct bench {
	struct runner *runner;
	struct test_server *server;
	struct observer *service;
	struct runner_event *reported;
	struct observe_cursor *cursor;
	struct map changes; /* "PLACE instance", "PLACE instance group": how often */
	struct arena *arena;
};

static void note_once(struct bench *bench, const char *key)
{
	void *before = map_get(&bench->changes, span_of(key));

	map_put(&bench->changes, span_of(key), (void *)((uintptr_t)before + 1));
}

static void take_changes(struct bench *bench)
{
	struct observe_change change;
	char key[512];

	while (observe_cursor_next(bench->cursor, bench->arena, &change)) {
		snprintf(key, sizeof(key), "%.*s %.*s", SPAN_ARGS(change.cluster.text),
			SPAN_ARGS(change.instance));
		note_once(bench, key);
		snprintf(key, sizeof(key), "%.*s %.*s %.*s", SPAN_ARGS(change.cluster.text),
			SPAN_ARGS(change.instance), SPAN_ARGS(change.group));
		note_once(bench, key);
	}
}

static void want(struct bench *bench, struct span cluster_ref)
{
	assert_int_equal(observe_want(bench->service, cluster_ref_of(cluster_ref), NULL, 0, NULL),
		0);
}

static unsigned reported(struct bench *bench, const char *cluster_ref, const char *instance)
{
	take_changes(bench);
	return (unsigned)(uintptr_t)map_get(&bench->changes,
		arena_format(bench->arena, "%s %s", cluster_ref, instance));
}

static void forget_changes(struct bench *bench)
{
	take_changes(bench);
	map_clear(&bench->changes);
}

static struct bench *bench_new_sized(struct runner *runner, size_t feed_bytes)
{
	struct bench *bench = memory_allocate(sizeof(*bench));
	struct observe_config config = {.runner = runner, .group_prefix = SPAN("env:")};
	const struct test_server_options options = {
		.clock = runner_clock(runner), .feed_bytes = feed_bytes};

	bench->runner = runner;
	bench->server = test_server_new_of(&options);
	bench->reported = runner_event_new(runner, "changes");
	bench->arena = arena_new(0);
	config.store = bench->server->store;
	assert_int_equal(observe_new(&config, &bench->service, NULL), 0);
	bench->cursor = observe_cursor_open(bench->service, bench->reported);
	test_call(bench->server, "CreateCluster", "{'clusterName':'web'}");
	test_call(bench->server, "CreateCluster", "{'clusterName':'other'}");
	test_call(bench->server, "RegisterTaskDefinition",
		"{'family':'log','containerDefinitions':[{'name':'a','image':'a','memory':16}]}");
	return bench;
}

static struct bench *bench_new(struct runner *runner)
{
	return bench_new_sized(runner, 0);
}

static void bench_free(struct bench *bench)
{
	observe_cursor_close(bench->cursor);
	observe_free(bench->service);
	runner_event_free(bench->reported);
	map_clear(&bench->changes);
	test_server_free(bench->server);
	arena_free(bench->arena);
	runner_free(bench->runner);
	free(bench);
}

/* Waits until what was done so far is seen. */
static void settle(struct bench *bench, const char *cluster_ref)
{
	uint64_t resource_version =
		observe_resource_version(bench->service, cluster_ref_of(span_of(cluster_ref)));
	int64_t deadline_us = runner_deadline_us(bench->runner, WAIT_US);

	for (;;) {
		uint64_t seen = runner_event_count(bench->reported);

		if (observe_reaches(bench->service, cluster_ref_of(span_of(cluster_ref)),
			    resource_version))
			return;
		if (runner_wait(bench->runner, bench->reported, seen, deadline_us) == -ETIMEDOUT)
			fail_msg("mark %llu of %s is not reached",
				(unsigned long long)resource_version, cluster_ref);
	}
}

static struct observe_instance *get(struct bench *bench, const char *id)
{
	return observe_get_instance(bench->service, cluster_ref_of(SPAN(PLACE)), span_of(id),
		bench->arena);
}

static struct observe_instance *get_for(struct bench *bench, const char *id, const char *group)
{
	return observe_get_instance_for(bench->service, cluster_ref_of(SPAN(PLACE)), span_of(id),
		span_of(group), bench->arena);
}

static void start_task(struct bench *bench, const char *instance, char id[TEST_ID_SIZE])
{
	test_call(bench->server, "StartTask",
		"{'cluster':'web','taskDefinition':'log','containerInstances':['%s'],"
		"'group':'env:log','startedBy':'d-1'}",
		instance);
	test_id_of(test_item(bench->server, "tasks", 0, "taskArn"), id);
}

/* The change of a task names its group, so that hundreds of environments on one instance do not read each other's tasks;
 * and a reader can leave them out. */
static void test_only_the_owner_is_notified(void **unused)
{
	struct bench *bench = bench_new(runner_simulated_new(1));
	char instance[TEST_ID_SIZE], id[TEST_ID_SIZE], whole[TEST_ID_SIZE + 8];
	char ours[TEST_ID_SIZE + 8];

	(void)unused;
	test_instance(bench->server, "web", 1000, 1000, "", instance);
	snprintf(ours, sizeof(ours), "%s env:log", instance);
	snprintf(whole, sizeof(whole), "%s ", instance);
	want(bench, SPAN(PLACE));
	settle(bench, PLACE);
	forget_changes(bench);
	start_task(bench, instance, id);
	settle(bench, PLACE);
	assert_int_equal(reported(bench, PLACE, ours), 1);
	assert_int_equal(reported(bench, PLACE, whole), 0);
	test_call(bench->server, "StartTask",
		"{'cluster':'web','taskDefinition':'log','containerInstances':['%s']}", instance);
	settle(bench, PLACE);
	assert_int_equal(reported(bench, PLACE, ours), 1);
	assert_int_equal(get(bench, instance)->task_count, 2);
	assert_int_equal(get_for(bench, instance, "env:log")->task_count, 2);
	assert_int_equal(get_for(bench, instance, "env:monitor")->task_count, 1);
	forget_changes(bench);
	test_call(bench->server, "UpdateContainerInstancesState",
		"{'cluster':'web','status':'DRAINING','containerInstances':['%s']}", instance);
	settle(bench, PLACE);
	assert_int_equal(reported(bench, PLACE, ours), 0);
	assert_true(reported(bench, PLACE, whole) > 0);
	bench_free(bench);
}

/* An instance and its tasks, from the listing and from the feed. */
static void follow(struct bench *bench)
{
	char first[TEST_ID_SIZE], second[TEST_ID_SIZE], foreign[TEST_ID_SIZE], id[TEST_ID_SIZE];
	const struct observe_instance *instance;
	const struct observe_task *task;
	struct observe_info info;
	struct span *ids;

	test_instance(bench->server, "web", 1000, 1000, "{'name':'stack','value':'prod'},", first);
	assert_false(observe_is_complete(bench->service, cluster_ref_of(SPAN(PLACE))));
	assert_null(get(bench, first));
	assert_false(observe_get_info(bench->service, cluster_ref_of(SPAN(PLACE)), &info));
	want(bench, SPAN(PLACE));
	want(bench, SPAN(PLACE));
	settle(bench, PLACE);
	assert_true(observe_is_complete(bench->service, cluster_ref_of(SPAN(PLACE))));
	assert_true(observe_get_info(bench->service, cluster_ref_of(SPAN(PLACE)), &info));
	assert_true(info.complete && !info.stale && info.error[0] == '\0');
	assert_int_equal(info.instances, 1);
	assert_int_equal(reported(bench, PLACE, ""), 1);
	assert_int_equal(reported(bench, PLACE, first), 0);
	instance = get(bench, first);
	assert_int_equal(instance->status, OBSERVE_INSTANCE_ACTIVE);
	assert_true(instance->connected);
	assert_true(span_starts_with(instance->arn, SPAN(TEST_ARN "container-instance/web/")));
	assert_non_null(memmem(instance->attributes.data, instance->attributes.length,
		";stack=prod;", 12));

	test_instance(bench->server, "web", 1000, 1000, "", second);
	test_instance(bench->server, "other", 1000, 1000, "", foreign);
	start_task(bench, second, id);
	settle(bench, PLACE);
	assert_int_equal(observe_list_instances(bench->service, cluster_ref_of(SPAN(PLACE)),
				 bench->arena, &ids),
		2);
	assert_true(reported(bench, PLACE, second) > 0);
	assert_int_equal(reported(bench, PLACE, foreign), 0);
	assert_null(get(bench, foreign));
	instance = get(bench, second);
	assert_int_equal(instance->task_count, 1);
	task = &instance->tasks[0];
	assert_true(span_is(task->group, "env:log") && span_is(task->started_by, "d-1"));
	assert_true(span_is(task->task_definition, TEST_ARN "task-definition/log:1"));
	assert_int_equal(task->last, OBSERVE_TASK_PENDING);
	assert_int_equal(task->health, OBSERVE_HEALTH_NONE);
	assert_true(task->wanted);

	test_change_task(bench->server, "web", id, test_has_run);
	settle(bench, PLACE);
	assert_int_equal(get(bench, second)->tasks[0].last, OBSERVE_TASK_RUNNING);
	test_call(bench->server, "StopTask", "{'cluster':'web','task':'%s','reason':'enough'}", id);
	settle(bench, PLACE);
	assert_false(get(bench, second)->tasks[0].wanted);
	test_change_task(bench->server, "web", id, test_has_stopped);
	settle(bench, PLACE);
	assert_int_equal(get(bench, second)->task_count, 0);
	task = observe_last_stopped(bench->service, cluster_ref_of(SPAN(PLACE)), span_of(second),
		SPAN("env:log"), bench->arena);
	assert_true(span_ends_with(task->arn, span_of(id)));
	assert_true(span_is(task->stopped_reason, "enough"));
	assert_true(span_is(task->stop_code, "UserInitiated"));
	assert_non_null(observe_get_task(bench->service, cluster_ref_of(SPAN(PLACE)), task->arn,
		bench->arena));

	forget_changes(bench);
	test_call(bench->server, "UpdateContainerInstancesState",
		"{'cluster':'web','status':'DRAINING','containerInstances':['%s']}", first);
	test_call(bench->server, "PutAttributes",
		"{'cluster':'web','attributes':[{'name':'stack','value':'dev','targetId':'%s'}]}",
		first);
	settle(bench, PLACE);
	assert_int_equal(get(bench, first)->status, OBSERVE_INSTANCE_DRAINING);
	assert_non_null(memmem(get(bench, first)->attributes.data,
		get(bench, first)->attributes.length, ";stack=dev;", 11));
	test_call(bench->server, "DeregisterContainerInstance",
		"{'cluster':'web','containerInstance':'%s','force':true}", first);
	settle(bench, PLACE);
	assert_null(get(bench, first));
	assert_true(reported(bench, PLACE, first) > 0);
	assert_int_equal(reported(bench, PLACE, second), 0);
}

static void test_follow_on_threads(void **unused)
{
	struct bench *bench = bench_new(runner_threads_new(clock_system(), random_system()));

	(void)unused;
	follow(bench);
	bench_free(bench);
}

static void test_follow_in_simulation(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct bench *bench = bench_new(runner_simulated_new(seed));

		follow(bench);
		bench_free(bench);
	}
}

/* ---- marks, overflow, many places ---- */

/* Changes of other kinds are not reported, and a resource version after them is reached all the same. */
static void test_marks(void **unused)
{
	struct bench *bench = bench_new(runner_simulated_new(7));
	uint64_t resource_version;

	(void)unused;
	want(bench, SPAN(PLACE));
	settle(bench, PLACE);
	test_call(bench->server, "CreateCluster", "{'clusterName':'third'}");
	resource_version = observe_resource_version(bench->service, cluster_ref_of(SPAN(PLACE)));
	forget_changes(bench);
	runner_sleep_until(bench->runner, runner_deadline_us(bench->runner, 1000000));
	assert_int_equal(reported(bench, PLACE, ""), 0);
	assert_false(observe_reaches(bench->service, cluster_ref_of(SPAN(PLACE)),
		resource_version));
	runner_sleep_until(bench->runner, runner_deadline_us(bench->runner, 1000000));
	assert_int_equal(reported(bench, PLACE, ""), 1);
	assert_true(observe_reaches(bench->service, cluster_ref_of(SPAN(PLACE)), resource_version));
	/* A version that is not reached yet costs no polling, and is reported when it is reached. */
	assert_false(observe_reaches(bench->service, cluster_ref_of(SPAN(PLACE)),
		resource_version + 1));
	runner_sleep_until(bench->runner, runner_deadline_us(bench->runner, 1000000));
	assert_int_equal(reported(bench, PLACE, ""), 1);
	/* A consumer that waits for one instance is notified of that one. */
	test_call(bench->server, "CreateCluster", "{'clusterName':'fourth'}");
	test_call(bench->server, "CreateCluster", "{'clusterName':'fifth'}");
	settle(bench, PLACE);
	forget_changes(bench);
	test_call(bench->server, "CreateCluster", "{'clusterName':'sixth'}");
	resource_version = observe_resource_version(bench->service, cluster_ref_of(SPAN(PLACE)));
	assert_false(observe_reaches_for(bench->service, cluster_ref_of(SPAN(PLACE)), SPAN("i"),
		SPAN(""), resource_version));
	runner_sleep_until(bench->runner, runner_deadline_us(bench->runner, 1000000));
	assert_int_equal(reported(bench, PLACE, "i"), 1);
	assert_int_equal(reported(bench, PLACE, ""), 0);
	/* A cluster that no consumer wants reaches nothing. */
	assert_false(observe_reaches(bench->service, cluster_ref_of(SPAN(":1/r/none")), 0));
	bench_free(bench);
}

/* The observer has the same state as the store. */
static void compare(struct bench *bench, const char *cluster_ref)
{
	_view_ struct store_view *view = store_view_open(bench->server->store);
	_arena_ struct arena *arena = arena_new(0);
	struct store_cursor instances = {.view = view,
		.kind = &container_instance_kind,
		.index = -1,
		.prefix = arena_format(arena, "%s/", cluster_ref + 1)};
	struct store_cursor tasks = instances;
	const struct store_object *object;
	struct observe_info info;
	size_t instance_count = 0, task_count = 0, live_count = 0, live_found = 0;

	while ((object = store_next(&instances))) {
		const struct container_instance_facts *facts = container_instance_facts(object);
		const struct observe_instance *found = observe_get_instance(bench->service,
			cluster_ref_of(span_of(cluster_ref)), facts->id, arena);

		instance_count++;
		if (!found)
			fail_msg("instance %.*s is not known", SPAN_ARGS(facts->id));
		assert_int_equal(found->version, object->revision);
		live_found += found->task_count;
	}
	tasks.kind = &task_kind;
	while ((object = store_next(&tasks))) {
		const struct observe_task *found =
			observe_get_task(bench->service, cluster_ref_of(span_of(cluster_ref)),
				ecs_arn_of_key(arena, "task", object->key), arena);

		task_count++;
		live_count += task_facts(object)->last != TASK_STOPPED;
		if (!found)
			fail_msg("task %.*s is not known", SPAN_ARGS(object->key));
		assert_int_equal(found->version, object->revision);
		assert_true(span_equal(found->instance, task_facts(object)->instance));
	}
	assert_true(observe_get_info(bench->service, cluster_ref_of(span_of(cluster_ref)), &info));
	assert_int_equal(info.instances, instance_count);
	assert_int_equal(info.tasks, task_count);
	/* Those on instances that were deregistered by force hang nowhere. */
	assert_true(live_found <= live_count);
}

#define CHURN_INSTANCES 8
#define CHURN_TASKS 24

struct churn {
	struct bench *bench;
	char instances[CHURN_INSTANCES][TEST_ID_SIZE];
	char tasks[CHURN_TASKS][TEST_ID_SIZE];
	size_t task_count;
};

static void churn_instance(struct churn *churn, size_t at)
{
	char *id = churn->instances[at];

	if (id[0])
		test_call(churn->bench->server, "DeregisterContainerInstance",
			"{'cluster':'web','containerInstance':'%s','force':true}", id);
	id[0] = '\0';
	test_instance(churn->bench->server, "web", 1000, 1000, "", id);
}

static void churn_task(struct churn *churn, struct random *random)
{
	size_t at = random_below(random, CHURN_INSTANCES);
	uint64_t what = random_below(random, 4);

	if (what == 0 && churn->instances[at][0] && churn->task_count < CHURN_TASKS)
		start_task(churn->bench, churn->instances[at], churn->tasks[churn->task_count++]);
	else if (what > 0 && churn->task_count > 0)
		test_change_task(churn->bench->server, "web",
			churn->tasks[random_below(random, churn->task_count)],
			what == 1 ? test_has_run : test_has_stopped);
}

/* A feed too small for what happens between two looks: everything is listed again, and nothing is missed. */
static void test_overflow(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct bench *bench = bench_new_sized(runner_simulated_new(seed), 2500);
		struct churn churn = {.bench = bench};
		struct random_seeded random;
		struct observe_info info;
		uint64_t listings;

		random_seeded_init(&random, seed);
		if (seed % 2)
			want(bench, SPAN(PLACE));
		for (unsigned round = 0; round < 12; round++) {
			for (uint64_t i = 1 + random_below(&random.random, 12); i > 0; i--) {
				if (random_below(&random.random, 3) == 0)
					churn_instance(&churn,
						random_below(&random.random, CHURN_INSTANCES));
				else
					churn_task(&churn, &random.random);
			}
			if (round == 5)
				want(bench, SPAN(PLACE));
			if (random_below(&random.random, 3) == 0)
				runner_sleep_until(bench->runner,
					runner_deadline_us(bench->runner, 5000));
		}
		churn_instance(&churn, 0);
		settle(bench, PLACE);
		compare(bench, PLACE);
		assert_true(observe_get_info(bench->service, cluster_ref_of(SPAN(PLACE)), &info));
		listings = info.listings;
		/* The state from before is reported as gone. */
		forget_changes(bench);
		test_call(bench->server, "DeregisterContainerInstance",
			"{'cluster':'web','containerInstance':'%s','force':true}",
			churn.instances[0]);
		for (unsigned i = 0; i < 100; i++)
			test_call(bench->server, "CreateCluster", "{'clusterName':'c%u'}", i);
		settle(bench, PLACE);
		compare(bench, PLACE);
		assert_true(reported(bench, PLACE, churn.instances[0]) > 0);
		assert_true(observe_get_info(bench->service, cluster_ref_of(SPAN(PLACE)), &info));
		assert_true(info.listings > listings);
		bench_free(bench);
	}
}

/* Places that are watched while changes pour in, on threads. */
static void test_late_watchers(void **unused)
{
	struct bench *bench = bench_new(runner_threads_new(clock_system(), random_system()));
	struct churn churn = {.bench = bench};
	struct random_seeded random;

	(void)unused;
	random_seeded_init(&random, 1);
	want(bench, SPAN(":123456789012/eu-west-1/other"));
	for (unsigned i = 0; i < 300; i++) {
		if (i == 100)
			want(bench, SPAN(PLACE));
		if (i % 5 == 0)
			churn_instance(&churn, random_below(&random.random, CHURN_INSTANCES));
		else
			churn_task(&churn, &random.random);
	}
	settle(bench, PLACE);
	compare(bench, PLACE);
	settle(bench, ":123456789012/eu-west-1/other");
	compare(bench, ":123456789012/eu-west-1/other");
	bench_free(bench);
}

/* Pages in order of name. */
static void test_select(void **unused)
{
	struct bench *bench = bench_new(runner_simulated_new(3));
	char ids[25][TEST_ID_SIZE], task[TEST_ID_SIZE];
	struct observe_instance *page;
	struct observe_task *tasks;
	struct observe_instance_query any_instance = {0};
	struct observe_task_query any_task = {0}, on_instance = {0};
	struct span after = SPAN_NONE;
	size_t count, all = 0;

	(void)unused;
	want(bench, SPAN(PLACE));
	for (size_t i = 0; i < LENGTH(ids); i++)
		test_instance(bench->server, "web", 1000, 1000, "", ids[i]);
	start_task(bench, ids[7], task);
	start_task(bench, ids[7], task);
	settle(bench, PLACE);
	while ((count = observe_select_instances(bench->service, cluster_ref_of(SPAN(PLACE)),
			&any_instance, after, 10, bench->arena, &page)) > 0) {
		assert_int_equal(count, all < 20 ? 10 : 5);
		for (size_t i = 0; i < count; i++) {
			assert_true(!after.data || span_compare(page[i].id, after) > 0);
			after = page[i].id;
			assert_int_equal(page[i].task_count, span_is(after, ids[7]) ? 2 : 0);
		}
		all += count;
	}
	assert_int_equal(all, 25);
	on_instance.instance = span_of(ids[7]);
	assert_int_equal(observe_select_tasks(bench->service, cluster_ref_of(SPAN(PLACE)),
				 &on_instance, SPAN_NONE, 10, bench->arena, &tasks),
		2);
	assert_true(span_compare(tasks[0].arn, tasks[1].arn) < 0);
	assert_int_equal(observe_select_tasks(bench->service, cluster_ref_of(SPAN(PLACE)),
				 &any_task, tasks[0].arn, 10, bench->arena, &tasks),
		1);
	assert_int_equal(observe_select_tasks(bench->service, cluster_ref_of(SPAN(":1/r/none")),
				 &any_task, SPAN_NONE, 10, bench->arena, &tasks),
		0);
	bench_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_follow_on_threads),
		cmocka_unit_test(test_follow_in_simulation),
		cmocka_unit_test(test_only_the_owner_is_notified),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_late_watchers),
		cmocka_unit_test(test_select),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
