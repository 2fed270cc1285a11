/* ECS services of remote clusters as the observer has them, over a target with scripted answers, on virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aws/call_target.h"
#include "base/memory.h"
#include "control/runner_simulated.h"
#include "delivery/observe/observe.h"
#include "ecs/test_server.h"

#define PLACE "aws:123456789012/eu-west-1/web"
#define SERVICE_ARN "arn:aws:ecs:eu-west-1:123456789012:service/web/"
#define PERIOD_MS 10000
#define MANY 23 /* services: three calls */

/* How DescribeServices is answered. */
enum answer {
	ANSWER_OK,
	ANSWER_REFUSED,  /* the service says no */
	ANSWER_SILENT,   /* no answer comes */
	ANSWER_LEFT_OUT, /* the last one is not in the answer at all */
	ANSWER_FAILURE,  /* it failed, and not because it is missing */
	ANSWER_COUNT
};

struct bench {
	struct aws_target target;
	struct runner *runner;
	struct test_server *server;
	struct observer *service;
	struct runner_event *event;
	struct observe_cursor *cursor;
	struct arena *arena;
	enum answer answer;
	bool lists_fail;
	unsigned calls;         /* of DescribeServices */
	size_t most;            /* names in one of them */
	int desired[MANY];      /* -1: there is no such service */
	size_t needed;          /* of them */
	unsigned changed[MANY]; /* how many changes of each were read */
	void (*during)(struct bench *bench);
};

static size_t number_of(struct span name)
{
	uint64_t number;

	assert_true(span_to_unsigned((struct span){name.data + 1, name.length - 1}, MANY, &number));
	return (size_t)number;
}

static struct json *describe(struct bench *bench, const struct aws_call *call)
{
	struct arena *arena = call->arena;
	const struct json *names = json_get(call->request, "services");
	struct json *answer = json_new_object(arena), *services = json_new_array(arena),
		    *failures = json_new_array(arena);
	size_t left = json_count(names);

	assert_true(span_is(json_get_text(call->request, "cluster"), "web"));
	assert_true(span_is(json_text(json_item(json_get(call->request, "include"), 0)), "TAGS"));
	bench->most = left > bench->most ? left : bench->most;
	JSON_EACH_ITEM (names, name) {
		struct json *one = json_new_object(arena);
		int desired = bench->desired[number_of(json_text(name))];

		if (--left == 0 && bench->answer == ANSWER_LEFT_OUT)
			break;
		if (desired < 0 || (left == 0 && bench->answer == ANSWER_FAILURE)) {
			json_set_string(arena, one, "arn",
				arena_format(arena, SERVICE_ARN "%.*s",
					SPAN_ARGS(json_text(name))));
			json_set_string(arena, one, "reason",
				desired < 0 ? SPAN("MISSING") : SPAN("INTERNAL"));
			json_append(arena, failures, one);
			continue;
		}
		json_set(arena, one, "serviceName", name);
		json_set_integer(arena, one, "desiredCount", desired);
		json_append(arena, services, one);
	}
	json_set(arena, answer, "services", services);
	json_set(arena, answer, "failures", failures);
	return answer;
}

static int fake_send(struct aws_target *target, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct bench *bench = CONTAINER_OF(target, struct bench, target);
	void (*during)(struct bench *) = bench->during;

	if (strcmp(call->operation, "DescribeServices") != 0)
		return bench->lists_fail
			       ? err_set(err, -ETIMEDOUT, "no list came")
			       : aws_call_read_answer(call,
					 SPAN("{\"taskArns\":[],\"containerInstanceArns\":[]}"),
					 ret_answer, err);
	bench->calls++;
	if (bench->answer == ANSWER_REFUSED)
		return aws_call_fail(call, 400, SPAN("AccessDeniedException"), SPAN("you may not"),
			failure, err);
	if (bench->answer == ANSWER_SILENT)
		return err_set(err, -ETIMEDOUT, "no answer came");
	*ret_answer = describe(bench, call);
	if (during) {
		bench->during = NULL;
		during(bench);
	}
	return 0;
}

static struct span name_of(struct arena *arena, size_t number)
{
	return arena_format(arena, "s%zu", number);
}

/* Those from `count` on are released, or the ones before it wanted. */
static void need(struct bench *bench, size_t count)
{
	for (; bench->needed < count; bench->needed++)
		observe_want_service(bench->service, cluster_ref_of(SPAN(PLACE)),
			name_of(bench->arena, bench->needed));
	for (; bench->needed > count; bench->needed--)
		observe_release_service(bench->service, cluster_ref_of(SPAN(PLACE)),
			name_of(bench->arena, bench->needed - 1));
}

static void take_changes(struct bench *bench)
{
	struct observe_change change;

	while (observe_cursor_next(bench->cursor, bench->arena, &change)) {
		if (change.type != OBSERVE_CHANGE_SERVICE)
			continue;
		assert_true(span_is(change.cluster.text, PLACE));
		bench->changed[number_of(change.service)]++;
	}
}

static struct bench *bench_new(size_t needed)
{
	struct bench *bench = memory_allocate(sizeof(*bench));
	struct observe_config config = {.group_prefix = SPAN("env:"), .poll_ms = PERIOD_MS};

	bench->runner = runner_simulated_new(1);
	bench->server = test_server_new_on(runner_clock(bench->runner));
	bench->arena = arena_new(0);
	bench->target = (struct aws_target){.runner = bench->runner, .send = fake_send};
	config.runner = bench->runner;
	config.store = bench->server->store;
	assert_int_equal(observe_new(&config, &bench->service, NULL), 0);
	bench->event = runner_event_new(bench->runner, "changes");
	bench->cursor = observe_cursor_open(bench->service, bench->event);
	need(bench, needed);
	assert_int_equal(observe_want(bench->service, cluster_ref_of(SPAN(PLACE)), &bench->target,
				 0, NULL),
		0);
	return bench;
}

static void bench_free(struct bench *bench)
{
	observe_cursor_close(bench->cursor);
	observe_free(bench->service);
	runner_event_free(bench->event);
	test_server_free(bench->server);
	arena_free(bench->arena);
	runner_free(bench->runner);
	free(bench);
}

static void pass_ms(struct bench *bench, int64_t milliseconds)
{
	runner_sleep_until(bench->runner, runner_deadline_us(bench->runner, milliseconds * 1000));
}

static struct observe_service_info get(struct bench *bench, size_t number)
{
	struct observe_service_info info;

	observe_get_service(bench->service, cluster_ref_of(SPAN(PLACE)),
		name_of(bench->arena, number), bench->arena, &info);
	return info;
}

static int64_t desired(struct bench *bench, size_t number)
{
	return json_get_integer(get(bench, number).service, "desiredCount", -1);
}

static void test_ten_at_a_time(void **state)
{
	struct bench *bench = bench_new(MANY);

	(void)state;
	bench->desired[7] = -1;
	bench->desired[22] = 5;
	assert_false(get(bench, 0).known);
	pass_ms(bench, 1000);
	assert_int_equal(bench->calls, 3);
	assert_int_equal(bench->most, 10);
	take_changes(bench);
	for (size_t i = 0; i < MANY; i++) {
		assert_true(get(bench, i).known && !get(bench, i).stale);
		assert_int_equal(desired(bench, i), bench->desired[i]);
		assert_int_equal(bench->changed[i], 1);
	}
	assert_null(get(bench, 7).service);
	/* An unchanged service is not reported again; one that no consumer wants any more is forgotten. */
	need(bench, 3);
	bench->desired[1] = 2;
	pass_ms(bench, 3 * PERIOD_MS);
	take_changes(bench);
	assert_int_equal(bench->changed[0], 1);
	take_changes(bench);
	assert_int_equal(bench->changed[1], 2);
	assert_int_equal(desired(bench, 1), 2);
	assert_false(get(bench, 3).known);
	bench_free(bench);
}

/* Nothing that went wrong is taken for an answer; what is known grows old, and says why. */
static void test_answers_that_are_none(void **state)
{
	(void)state;
	for (enum answer answer = ANSWER_OK + 1; answer < ANSWER_COUNT; answer++) {
		struct bench *bench = bench_new(1);

		bench->desired[0] = 1;
		pass_ms(bench, 1000);
		bench->answer = answer;
		bench->desired[0] = 2;
		pass_ms(bench, 2 * PERIOD_MS);
		assert_true(get(bench, 0).known && get(bench, 0).error[0]);
		assert_int_equal(desired(bench, 0), 1);
		pass_ms(bench, 3 * PERIOD_MS);
		assert_true(get(bench, 0).stale);
		/* Of instances and tasks everything is known. */
		assert_true(observe_is_complete(bench->service, cluster_ref_of(SPAN(PLACE))));
		bench->answer = ANSWER_OK;
		pass_ms(bench, 2 * PERIOD_MS);
		assert_false(get(bench, 0).stale || get(bench, 0).error[0]);
		assert_int_equal(desired(bench, 0), 2);
		bench_free(bench);
	}
}

static void test_wanted_soon(void **state)
{
	struct bench *bench = bench_new(1);
	uint64_t resource_version;
	unsigned calls;

	(void)state;
	pass_ms(bench, 2000);
	calls = bench->calls;
	resource_version = observe_resource_version(bench->service, cluster_ref_of(SPAN(PLACE)));
	assert_true(get(bench, 0).resource_version < resource_version);
	for (int i = 0; i < 100; i++)
		observe_refresh_service(bench->service, cluster_ref_of(SPAN(PLACE)), SPAN("s0"));
	pass_ms(bench, 100);
	assert_int_equal(bench->calls, calls + 1);
	assert_true(get(bench, 0).resource_version >= resource_version);
	/* A consumer that waits gets a change, also if the service is as before. */
	take_changes(bench);
	assert_int_equal(bench->changed[0], 2);
	/* Not more often than once a second. */
	for (int i = 0; i < 50; i++) {
		observe_refresh_service(bench->service, cluster_ref_of(SPAN(PLACE)), SPAN("s0"));
		pass_ms(bench, 100);
	}
	assert_in_range(bench->calls, calls + 4, calls + 8);
	bench_free(bench);
}

static void want(struct bench *bench)
{
	observe_refresh_service(bench->service, cluster_ref_of(SPAN(PLACE)), SPAN("s0"));
	bench->desired[0] = 9;
}

/* A refresh during a call requires a call that begins later. */
static void test_wanted_meanwhile(void **state)
{
	struct bench *bench = bench_new(1);

	(void)state;
	pass_ms(bench, 2000);
	bench->during = want;
	observe_refresh_service(bench->service, cluster_ref_of(SPAN(PLACE)), SPAN("s0"));
	pass_ms(bench, 100);
	assert_int_equal(desired(bench, 0), 0);
	pass_ms(bench, 1100);
	assert_int_equal(desired(bench, 0), 9);
	bench_free(bench);
}

/* In between only services are described for which a consumer waits. */
static void test_wanted_among_many(void **state)
{
	struct bench *bench = bench_new(MANY);
	unsigned calls;

	(void)state;
	pass_ms(bench, 2000);
	calls = bench->calls;
	bench->most = 0;
	for (size_t i = 0; i < MANY; i++)
		bench->desired[i] = 4;
	observe_refresh_service(bench->service, cluster_ref_of(SPAN(PLACE)), SPAN("s3"));
	observe_refresh_service(bench->service, cluster_ref_of(SPAN(PLACE)), SPAN("s21"));
	observe_refresh_service(bench->service, cluster_ref_of(SPAN(PLACE)), SPAN("not-wanted"));
	pass_ms(bench, 100);
	assert_int_equal(bench->calls, calls + 1);
	assert_int_equal(bench->most, 2);
	for (size_t i = 0; i < MANY; i++) {
		assert_true(get(bench, i).known);
		assert_int_equal(desired(bench, i), i == 3 || i == 21 ? 4 : 0);
	}
	pass_ms(bench, 2 * PERIOD_MS);
	assert_int_equal(desired(bench, 0), 4);
	bench_free(bench);
}

/* A cluster that cannot be listed is not asked for services in between, and nothing counts as fresh. */
static void test_away(void **state)
{
	struct bench *bench = bench_new(1);
	unsigned calls;

	(void)state;
	pass_ms(bench, 2000);
	bench->lists_fail = true;
	pass_ms(bench, 5 * PERIOD_MS);
	calls = bench->calls;
	observe_refresh_service(bench->service, cluster_ref_of(SPAN(PLACE)), SPAN("s0"));
	pass_ms(bench, PERIOD_MS);
	assert_int_equal(bench->calls, calls);
	assert_true(get(bench, 0).known && get(bench, 0).stale);
	assert_string_equal(get(bench, 0).error, "no list came");
	bench_free(bench);
}

static int post(struct bench *bench, const char *type, const char *resource, const char *detail)
{
	_arena_ struct arena *arena = arena_new(0);
	struct err err = {0};
	struct json *event;

	assert_int_equal(json_parse(arena_format(arena,
					    "{\"detail-type\":\"%s\",\"resources\":[%s],\"detail\":"
					    "%s}",
					    type, resource, detail),
				 arena, &event, &err),
		0);
	return observe_post_event(bench->service, SPAN("aws"), event, &err);
}

static void test_events(void **state)
{
	static const char cluster[] =
		"{\"clusterArn\":\"arn:aws:ecs:eu-west-1:123456789012:cluster/web\"}";
	static const struct {
		const char *type, *resource, *detail;
		int code;
	} rows[] = {
		{"ECS Service Action", "\"" SERVICE_ARN "s0\"", cluster, 1},
		{"ECS Deployment State Change", "\"" SERVICE_ARN "s0\"", "{}", 1},
		{"ECS Deployment State Change", "\"" SERVICE_ARN "s1\"", "{}", 0},
		{"ECS Deployment State Change",
			"\"arn:aws:ecs:eu-west-1:123456789012:service/other/s0\"", "{}", 0},
		{"ECS Service Action", "\"arn:aws:ecs:eu-west-1:123456789012:service/s0\"", cluster,
			-EINVAL},
		{"ECS Service Action", "\"s0\"", cluster, -EINVAL},
		{"ECS Service Action", "", cluster, -EINVAL},
		{"ECS Service Action", "7", "{}", -EINVAL},
	};
	struct bench *bench = bench_new(1);

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		unsigned calls;

		pass_ms(bench, 2000);
		calls = bench->calls;
		assert_int_equal(post(bench, rows[i].type, rows[i].resource, rows[i].detail),
			rows[i].code);
		pass_ms(bench, 10);
		assert_int_equal(bench->calls - calls, rows[i].code == 1);
	}
	bench_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ten_at_a_time),
		cmocka_unit_test(test_answers_that_are_none),
		cmocka_unit_test(test_wanted_soon),
		cmocka_unit_test(test_wanted_meanwhile),
		cmocka_unit_test(test_wanted_among_many),
		cmocka_unit_test(test_away),
		cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
