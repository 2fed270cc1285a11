/*
 * Which remote clusters are listed, and when: at the interval of their target, sooner when a consumer waits, rarely when
 * they do not answer, and not at all when no consumer wants them. On virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "aws/call_target.h"
#include "control/runner_simulated.h"
#include "delivery/observe/observe.h"
#include "ecs/test_server.h"

#define CLUSTER "far:123456789012/eu-west-1/web"
#define TASK_ARN "arn:aws:ecs:eu-west-1:123456789012:task/web/0123456789abcdef0123456789abcdef"
#define INSTANCE_ARN "arn:aws:ecs:eu-west-1:123456789012:container-instance/web/i1"
#define PERIOD_MS 60000
#define TEST_TASK                                                                                  \
	"{\"taskArn\":\"" TASK_ARN "\",\"containerInstanceArn\":\"" INSTANCE_ARN                   \
	"\",\"group\":\"env:log\",\"startedBy\":\"d\",\"taskDefinitionArn\":\"arn:aws:ecs:x:1:"    \
	"task-definition/log:1\",\"lastStatus\":\"PENDING\",\"desiredStatus\":\"RUNNING\","        \
	"\"version\":1,\"createdAt\":1.0}"

struct bench {
	struct runner *runner;
	struct test_server *server;
	struct observer *service;
	struct aws_target target;
	struct arena *arena;
	struct runner_event *changed;
	struct observe_cursor *cursor;
	unsigned listings;
	bool fails, has_task;
	int64_t takes_ms;
};

static int fake_send(struct aws_target *target, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct bench *bench = CONTAINER_OF(target, struct bench, target);
	const char *answer = "{\"taskArns\":[]}";
	bool begins = strcmp(call->operation, "ListContainerInstances") == 0;
	char text[1024];

	bench->listings += begins;
	if (begins && bench->takes_ms > 0 &&
		runner_sleep_until(bench->runner,
			runner_deadline_us(bench->runner, bench->takes_ms * 1000)) < 0)
		return err_set(err, -ECANCELED, "stopped");
	if (bench->fails)
		return aws_call_fail(call, 500, SPAN("ServerException"), SPAN("no"), failure, err);
	if (begins)
		answer = "{\"containerInstanceArns\":[\"" INSTANCE_ARN "\"]}";
	if (strcmp(call->operation, "DescribeContainerInstances") == 0)
		answer = "{\"containerInstances\":[{\"containerInstanceArn\":\"" INSTANCE_ARN
			 "\",\"status\":\"ACTIVE\",\"agentConnected\":true,\"version\":1,"
			 "\"attributes\":[]}],\"failures\":[]}";
	if (strcmp(call->operation, "DescribeTasks") == 0)
		answer = bench->has_task ? "{\"tasks\":[" TEST_TASK "]}"
					 : "{\"tasks\":[],\"failures\":[{\"arn\":\"" TASK_ARN
					   "\",\"reason\":\"MISSING\"}]}";
	snprintf(text, sizeof(text), "%s", answer);
	return aws_call_read_answer(call, arena_copy_span(call->arena, span_of(text)), ret_answer,
		err);
}

static void want(struct bench *bench)
{
	assert_int_equal(observe_want(bench->service, cluster_ref_of(SPAN(CLUSTER)), &bench->target,
				 PERIOD_MS, NULL),
		0);
}

static void release(struct bench *bench)
{
	observe_release(bench->service, cluster_ref_of(SPAN(CLUSTER)));
}

static unsigned count_changes(struct bench *bench)
{
	struct observe_change change;
	unsigned count = 0;

	while (observe_cursor_next(bench->cursor, bench->arena, &change))
		count++;
	return count;
}

static int set_up(void **state)
{
	struct bench *bench = memory_allocate(sizeof(*bench));
	struct observe_config config = {.group_prefix = SPAN("env:")};

	bench->runner = runner_simulated_new(7);
	bench->server = test_server_new_on(runner_clock(bench->runner));
	bench->target = (struct aws_target){.runner = bench->runner, .send = fake_send};
	bench->arena = arena_new(0);
	config.runner = bench->runner;
	config.store = bench->server->store;
	assert_int_equal(observe_new(&config, &bench->service, NULL), 0);
	bench->changed = runner_event_new(bench->runner, "changes");
	bench->cursor = observe_cursor_open(bench->service, bench->changed);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	observe_cursor_close(bench->cursor);
	observe_free(bench->service);
	runner_event_free(bench->changed);
	test_server_free(bench->server);
	arena_free(bench->arena);
	runner_free(bench->runner);
	free(bench);
	return 0;
}

static void sleep_ms(struct bench *bench, int64_t milliseconds)
{
	runner_sleep_until(bench->runner, runner_deadline_us(bench->runner, milliseconds * 1000));
}

static struct observe_info info(struct bench *bench)
{
	struct observe_info known;

	assert_true(observe_get_info(bench->service, cluster_ref_of(SPAN(CLUSTER)), &known));
	return known;
}

static void open_place(struct bench *bench)
{
	want(bench);
	sleep_ms(bench, 100);
	assert_true(info(bench).complete);
	assert_int_equal(bench->listings, 1);
}

static void listed_as_often_as_its_target_says(void **state)
{
	struct bench *bench = *state;

	open_place(bench);
	sleep_ms(bench, 10 * PERIOD_MS);
	assert_in_range(bench->listings, 9, 13);
	assert_false(info(bench).stale);
	bench->fails = true;
	sleep_ms(bench, 4 * PERIOD_MS);
	assert_true(info(bench).stale);
	assert_true(info(bench).complete);
	assert_non_null(strstr(info(bench).error, "ServerException"));
}

static void sooner_when_a_consumer_waits(void **state)
{
	struct bench *bench = *state;
	uint64_t resource_version;

	open_place(bench);
	sleep_ms(bench, 5000);
	resource_version = observe_resource_version(bench->service, cluster_ref_of(SPAN(CLUSTER)));
	assert_false(observe_reaches(bench->service, cluster_ref_of(SPAN(CLUSTER)),
		resource_version));
	sleep_ms(bench, 100);
	assert_int_equal(bench->listings, 2);
	assert_true(observe_reaches(bench->service, cluster_ref_of(SPAN(CLUSTER)),
		resource_version));
	/* A consumer that always waits does not cause a storm of listings. */
	for (unsigned i = 0; i < 1000; i++) {
		observe_reaches(bench->service, cluster_ref_of(SPAN(CLUSTER)),
			observe_resource_version(bench->service, cluster_ref_of(SPAN(CLUSTER))));
		sleep_ms(bench, 10);
	}
	assert_in_range(bench->listings, 8, 13);
	/* When none waits, the interval is as before. */
	sleep_ms(bench, 3000);
	resource_version = bench->listings;
	sleep_ms(bench, 10 * PERIOD_MS);
	assert_in_range(bench->listings, resource_version + 7, resource_version + 13);
}

static void seldom_when_it_does_not_answer(void **state)
{
	struct bench *bench = *state;

	open_place(bench);
	bench->fails = true;
	sleep_ms(bench, INT64_C(3600000));
	/* Not even when a consumer waits. */
	for (unsigned i = 0; i < 3600; i++) {
		observe_reaches(bench->service, cluster_ref_of(SPAN(CLUSTER)),
			observe_resource_version(bench->service, cluster_ref_of(SPAN(CLUSTER))));
		sleep_ms(bench, 1000);
	}
	assert_in_range(bench->listings, 100, 150);
	bench->fails = false;
	sleep_ms(bench, 2 * PERIOD_MS);
	assert_false(info(bench).stale);
	assert_string_equal(info(bench).error, "");
}

/* A listing that takes longer than the period is not late. */
static void long_listings_are_not_stale(void **state)
{
	struct bench *bench = *state;

	bench->takes_ms = 4 * PERIOD_MS;
	want(bench);
	sleep_ms(bench, 5 * PERIOD_MS);
	for (unsigned i = 0; i < 60; i++) {
		sleep_ms(bench, PERIOD_MS);
		assert_false(info(bench).stale);
	}
	bench->fails = true;
	sleep_ms(bench, 60 * PERIOD_MS);
	assert_true(info(bench).stale);
}

static void forgotten_when_no_consumer_wants_it(void **state)
{
	struct bench *bench = *state;
	struct cluster_ref *clusters;
	unsigned listings;

	open_place(bench);
	assert_int_equal(observe_list_clusters(bench->service, bench->arena, &clusters), 1);
	release(bench);
	sleep_ms(bench, 2 * PERIOD_MS);
	listings = bench->listings;
	assert_false(observe_is_complete(bench->service, cluster_ref_of(SPAN(CLUSTER))));
	assert_int_equal(observe_list_clusters(bench->service, bench->arena, &clusters), 0);
	assert_null(observe_get_instance(bench->service, cluster_ref_of(SPAN(CLUSTER)), SPAN("i1"),
		bench->arena));
	sleep_ms(bench, 10 * PERIOD_MS);
	assert_int_equal(bench->listings, listings);
	/* And listed from the beginning when one does. */
	want(bench);
	assert_false(observe_is_complete(bench->service, cluster_ref_of(SPAN(CLUSTER))));
	sleep_ms(bench, 100);
	assert_true(observe_is_complete(bench->service, cluster_ref_of(SPAN(CLUSTER))));
	assert_non_null(observe_get_instance(bench->service, cluster_ref_of(SPAN(CLUSTER)),
		SPAN("i1"), bench->arena));
	assert_int_equal(bench->listings, listings + 1);
}

static void many_times_watched_is_no_more(void **state)
{
	struct bench *bench = *state;

	open_place(bench);
	for (unsigned i = 0; i < 2 * OBSERVE_REMOTE_CLUSTERS_MAX; i++) {
		release(bench);
		if (i > 0)
			release(bench);
		sleep_ms(bench, 2 * PERIOD_MS);
		want(bench);
		want(bench);
		sleep_ms(bench, 100);
		assert_true(info(bench).complete);
	}
}

/* The answer of a call is known at once, and stays known until a listing that began before it ends. */
static void what_was_answered_is_known(void **state)
{
	struct bench *bench = *state;
	const struct observe_task *known;
	struct json *task;

	open_place(bench);
	bench->has_task = true;
	assert_int_equal(json_parse(SPAN(TEST_TASK), bench->arena, &task, NULL), 0);
	count_changes(bench);
	assert_int_equal(observe_post_task(bench->service, cluster_ref_of(SPAN(CLUSTER)), task,
				 NULL),
		1);
	assert_int_equal(count_changes(bench), 1);
	assert_int_equal(observe_post_task(bench->service, cluster_ref_of(SPAN(CLUSTER)), task,
				 NULL),
		0);
	known = observe_get_task(bench->service, cluster_ref_of(SPAN(CLUSTER)), SPAN(TASK_ARN),
		bench->arena);
	assert_non_null(known);
	assert_true(span_is(known->instance, "i1"));
	/* It is on no page, and there when it is asked for by name. */
	sleep_ms(bench, 2 * PERIOD_MS);
	assert_non_null(observe_get_task(bench->service, cluster_ref_of(SPAN(CLUSTER)),
		SPAN(TASK_ARN), bench->arena));
	bench->has_task = false;
	sleep_ms(bench, 2 * PERIOD_MS);
	assert_null(observe_get_task(bench->service, cluster_ref_of(SPAN(CLUSTER)), SPAN(TASK_ARN),
		bench->arena));
	/* Clusters of this server are not listed: the store has them. */
	assert_int_equal(observe_post_task(bench->service,
				 cluster_ref_of(SPAN(":123456789012/eu-west-1/web")), task, NULL),
		0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(listed_as_often_as_its_target_says),
		TEST(sooner_when_a_consumer_waits),
		TEST(seldom_when_it_does_not_answer),
		TEST(long_listings_are_not_stale),
		TEST(forgotten_when_no_consumer_wants_it),
		TEST(many_times_watched_is_no_more),
		TEST(what_was_answered_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
