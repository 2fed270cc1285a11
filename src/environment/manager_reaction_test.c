/*
 * Scenario 91, on virtual time: from the end of a task to the StartTask of the next one. On this server, and in a remote
 * cluster with events, within a second; in a remote cluster without events, within the listing interval and a second.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/test_target.h"

#define INSTANCES 4
#define DEATHS 60
#define POLL_MS 10000
#define CALL_US INT64_C(20000)    /* that each remote call takes */
#define LIVES_US (15 * SECOND_US) /* longer than what crashes at once */
#define STEP_US INT64_C(10000)

struct bench {
	struct test_manager *near;
	struct test_server *remote; /* where the tasks run; the own server if they are local */
	int64_t started_us;         /* when StartTask was called last */
};

static int slow_send(struct aws_target *target, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct test_target *slow = test_target_of(target);
	struct bench *bench = slow->context;
	struct runner *runner = bench->near->runner;

	if (strcmp(call->operation, "StartTask") == 0)
		bench->started_us = runner_now_us(runner);
	runner_sleep_until(runner, runner_deadline_us(runner, CALL_US));
	return slow->inner->send(slow->inner, call, ret_answer, failure, err);
}

static struct aws_target *make_target(void *context)
{
	struct bench *bench = context;

	return test_target_new(bench->near->runner, bench->remote, slow_send, bench);
}

static const struct aws_target_settings settings = TEST_REMOTE(POLL_MS);

/* All tasks that are to run do. */
static void let_run(struct bench *bench)
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(bench->remote->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
	const struct store_object *task;
	char id[TEST_ID_SIZE];

	while ((task = store_next(&cursor))) {
		if (task_facts(task)->last != TASK_PENDING)
			continue;
		test_id_of(arena_copy_span(arena, task->key).data, id);
		test_call(bench->remote, "SubmitTaskStateChange",
			"{'cluster':'default','task':'%s','status':'RUNNING'}", id);
	}
}

static void set_up(struct bench *bench, bool remote_workers)
{
	char version[64];

	bench->near = test_manager_new(1);
	bench->remote = bench->near->server;
	if (remote_workers) {
		bench->remote = test_server_new_on(runner_clock(bench->near->runner));
		test_target_use(bench->near, &settings, make_target, bench);
	}
	test_call(bench->remote, "CreateCluster", "{'clusterName':'default'}");
	for (int i = 0; i < INSTANCES; i++)
		test_instance(bench->remote, "default", 8192, 8192, "", version);
	test_call(bench->remote, "RegisterTaskDefinition",
		"{'family':'log','containerDefinitions':[{'name':'a','image':'a','memory':16}]}");
	test_manager_ask(bench->near, "CreateEnvironment",
		"{'name':'log','taskDefinition':'log:1','instanceGroup':{'cluster':'default'}%s}",
		remote_workers ? ",'target':'far'" : "");
	snprintf(version, sizeof(version), "%s",
		test_text(bench->near->server, "environmentVersion"));
	test_manager_ask(bench->near, "StartDeployment", "{'name':'log','environmentVersion':'%s'}",
		version);
	for (int i = 0; i < 60; i++) {
		test_manager_pass(bench->near, SECOND_US);
		let_run(bench);
	}
	assert_int_equal(test_count_tasks(bench->remote), INSTANCES);
}

static void tear_down(struct bench *bench)
{
	if (bench->remote == bench->near->server) {
		test_manager_free(bench->near);
		return;
	}
	test_manager_stop(bench->near);
	aws_targets_free(bench->near->targets);
	test_server_free(bench->remote);
	test_manager_free(bench->near);
}

/* One that runs, by chance; its id. */
static void choose(struct bench *bench, char id[TEST_ID_SIZE])
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(bench->remote->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
	uint64_t chosen = random_below(runner_random(bench->near->runner), INSTANCES);
	const struct store_object *task;
	uint64_t seen = 0;

	while ((task = store_next(&cursor)))
		if (task_facts(task)->last == TASK_RUNNING && seen++ == chosen)
			test_id_of(arena_copy_span(arena, task->key).data, id);
	assert_int_equal(seen, INSTANCES);
}

/* As EventBridge does. */
static void log_transition(struct bench *bench, const char *id)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *event = json_new_object(arena);
	struct err err = {0};

	test_call(bench->remote, "DescribeTasks", "{'cluster':'default','tasks':['%s']}", id);
	json_set_string(arena, event, "detail-type", SPAN("ECS Task State Change"));
	json_set_time(arena, event, "time", runner_wall_ms(bench->near->runner));
	json_set(arena, event, "detail", json_item(json_get(bench->remote->answer, "tasks"), 0));
	if (observe_post_event(manager_state(bench->near->manager), SPAN("far"), event, &err) != 1)
		fail_msg("%s", err.message);
}

/* The time from a death to the start of the task that follows. */
static int64_t die(struct bench *bench, bool reports)
{
	size_t before = test_count_tasks(bench->remote);
	int64_t died_us, waited_us = 0;
	char id[TEST_ID_SIZE];

	test_manager_pass(bench->near,
		LIVES_US + (int64_t)random_below(runner_random(bench->near->runner),
				   POLL_MS * INT64_C(1000)));
	choose(bench, id);
	died_us = runner_now_us(bench->near->runner);
	bench->started_us = 0;
	test_call(bench->remote, "SubmitTaskStateChange",
		"{'cluster':'default','task':'%s','status':'STOPPED'}", id);
	if (reports)
		log_transition(bench, id);
	while (test_count_tasks(bench->remote) == before && waited_us < 100 * SECOND_US) {
		test_manager_pass(bench->near, STEP_US);
		waited_us += STEP_US;
	}
	assert_int_equal(test_count_tasks(bench->remote), before + 1);
	let_run(bench);
	return (bench->started_us ? bench->started_us : runner_now_us(bench->near->runner)) -
	       died_us;
}

/* None of many takes longer, whenever it dies. */
static void react(bool remote_workers, bool reports, int64_t within_us, int64_t longest_at_least_us)
{
	struct bench bench = {0};
	int64_t longest_us = 0;

	set_up(&bench, remote_workers);
	for (int i = 0; i < DEATHS; i++) {
		int64_t took_us = die(&bench, reports);

		longest_us = took_us > longest_us ? took_us : longest_us;
	}
	print_message("# the longest of %d: %.3f s\n", DEATHS, (double)longest_us / SECOND_US);
	assert_in_range(longest_us, longest_at_least_us, within_us);
	tear_down(&bench);
}

static void test_91_here(void **state)
{
	(void)state;
	react(false, false, SECOND_US, 0);
}

static void test_91_remote_with_events(void **state)
{
	(void)state;
	react(true, true, SECOND_US, 0);
}

/* And it is by listings that it is known: some wait for one. */
static void test_91_remote_without_events(void **state)
{
	(void)state;
	react(true, false, POLL_MS * INT64_C(1000) + SECOND_US, 2 * SECOND_US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_91_here),
		cmocka_unit_test(test_91_remote_with_events),
		cmocka_unit_test(test_91_remote_without_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
