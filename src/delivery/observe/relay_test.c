/*
 * Events that are posted to one server of several: two observers on one store, with a remote ECS that they
 * list once, and then not for an hour.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "aws/call_target.h"
#include "base/map.h"
#include "control/claims.h"
#include "control/runner_simulated.h"
#include "delivery/observe/observe.h"
#include "ecs/test_server.h"

#define TARGET "aws"
#define PLACE TARGET ":123456789012/eu-west-1/web"
#define ARN "arn:aws:ecs:eu-west-1:123456789012:"
#define HOUR_MS INT64_C(3600000)
#define SOON_MS 100
#define RING 32 /* records of a target */
#define DEADLINE_MS 60000

enum { A, B, SERVERS };
static const char *const names[SERVERS] = {"server-a", "server-b"};

struct bench;

struct reported {
	struct runner_event *event;
	struct observe_cursor *cursor;
	unsigned times;
};

struct bench {
	struct runner *runner;
	struct store *store;
	struct observer *services[SERVERS];
	struct reported reported[SERVERS];
	struct aws_target target;
	struct arena *arena;
	char folder[64]; /* of the store; "": it is in memory */
};

/* ---- the bench ---- */

/* A cluster in which nothing is. */
static int send_nothing(struct aws_target *target, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	(void)target;
	if (strncmp(call->operation, "List", 4) != 0)
		return aws_call_fail(call, 400, SPAN("AccessDeniedException"), SPAN("no"), failure,
			err);
	return aws_call_read_answer(call, SPAN("{\"taskArns\":[],\"containerInstanceArns\":[]}"),
		ret_answer, err);
}

/* Of instance i1, so far. */
static unsigned times_reported(struct bench *bench, unsigned server)
{
	struct reported *reported = &bench->reported[server];
	struct observe_change change;

	while (observe_cursor_next(reported->cursor, bench->arena, &change))
		reported->times += span_is(change.instance, "i1");
	return reported->times;
}

static void sleep_ms(struct bench *bench, int64_t milliseconds)
{
	runner_sleep_until(bench->runner, runner_deadline_us(bench->runner, milliseconds * 1000));
}

static void open_store(struct bench *bench)
{
	const struct store_kind *kinds[TEST_KINDS_MAX];
	struct store_config config = {.url = "memory:",
		.kinds = kinds,
		.kind_count = test_kinds(kinds),
		.clock = runner_clock(bench->runner),
		.inline_writes = runner_is_simulated(bench->runner)};
	_free_ char *url = memory_format("sqlite:%s/store", bench->folder);
	_free_ char *key = memory_format("%s/key", bench->folder);

	if (bench->folder[0]) {
		config.url = url;
		config.key_path = key;
	}
	kinds[config.kind_count++] = &observe_event_kind;
	kinds[config.kind_count++] = &server_kind;
	kinds[config.kind_count++] = &claim_kind;
	assert_int_equal(store_open(&config, &bench->store, NULL), 0);
}

static int register_server(struct store_transaction *transaction, void *context, struct err *err)
{
	return store_put(transaction, &server_kind, span_of(context), SPAN(""),
		SPAN("{\"incarnation\":\"1\",\"leaseMicroseconds\":10000000}"), STORE_ANY, err);
}

static int unregister_server(struct store_transaction *transaction, void *context, struct err *err)
{
	return store_delete(transaction, &server_kind, span_of(context), STORE_ANY, err);
}

static void write_now(struct bench *bench, store_write_function function, const void *context)
{
	assert_int_equal(store_write_wait(bench->store, function, (void *)context, NULL, NULL), 0);
}

static void watch(struct bench *bench, unsigned server)
{
	int64_t waited_ms = 0;

	assert_int_equal(observe_want(bench->services[server], cluster_ref_of(SPAN(PLACE)),
				 &bench->target, 0, NULL),
		0);
	for (; !observe_is_complete(bench->services[server], cluster_ref_of(SPAN(PLACE)));
		waited_ms += 10) {
		assert_true(waited_ms < DEADLINE_MS);
		sleep_ms(bench, 10);
	}
	sleep_ms(bench, 10); /* events are from after the listing */
}

static void start_services(struct bench *bench)
{
	for (unsigned i = 0; i < SERVERS; i++) {
		struct observe_config config = {.runner = bench->runner,
			.store = bench->store,
			.group_prefix = SPAN("env:"),
			.poll_ms = HOUR_MS,
			.server = names[i]};

		assert_int_equal(observe_new(&config, &bench->services[i], NULL), 0);
		bench->reported[i] =
			(struct reported){.event = runner_event_new(bench->runner, "changes"),
				.times = bench->reported[i].times};
		bench->reported[i].cursor =
			observe_cursor_open(bench->services[i], bench->reported[i].event);
		write_now(bench, register_server, names[i]);
	}
}

static void stop_services(struct bench *bench)
{
	for (unsigned i = 0; i < SERVERS; i++) {
		observe_cursor_close(bench->reported[i].cursor);
		observe_free(bench->services[i]);
		runner_event_free(bench->reported[i].event);
	}
}

static struct bench *bench_new_on(struct runner *runner, bool in_folder)
{
	struct bench *bench = memory_allocate(sizeof(*bench));

	bench->runner = runner;
	bench->arena = arena_new(0);
	bench->target = (struct aws_target){.runner = runner, .send = send_nothing};
	if (in_folder) {
		strcpy(bench->folder, "/tmp/slipway-relay-XXXXXX");
		assert_non_null(mkdtemp(bench->folder));
	}
	open_store(bench);
	start_services(bench);
	return bench;
}

static struct bench *bench_new(void)
{
	return bench_new_on(runner_simulated_new(1), false);
}

static void bench_free(struct bench *bench)
{
	stop_services(bench);
	store_close(bench->store);
	arena_free(bench->arena);
	runner_free(bench->runner);
	free(bench);
}

/* ---- events ---- */

static int post(struct bench *bench, unsigned server, struct span text)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *event;
	struct err err = {0};
	int code;

	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] == '\'')
			((char *)text.data)[i] = '"';
	assert_int_equal(json_parse(text, arena, &event, NULL), 0);
	code = observe_post_event(bench->services[server], SPAN(TARGET), event, &err);
	if (code < 0)
		fail_msg("%s", err.message);
	return code;
}

static struct span time_text(struct bench *bench)
{
	char text[CLOCK_ISO_SIZE];

	clock_format_iso(runner_wall_ms(bench->runner), text);
	return arena_copy_span(bench->arena, span_of(text));
}

static struct span task_event(struct bench *bench, unsigned number, const char *status, int version,
	const char *reason)
{
	return arena_format(bench->arena,
		"{'detail-type':'ECS Task State Change','time':'%.*s','detail':{"
		"'clusterArn':'" ARN "cluster/web','taskArn':'" ARN "task/web/t%u',"
		"'containerInstanceArn':'" ARN "container-instance/web/i1',"
		"'taskDefinitionArn':'" ARN "task-definition/log:1',"
		"'createdAt':'2026-11-16T12:00:00.5Z','startedAt':'2026-11-16T12:00:01Z',"
		"'stoppedAt':'2026-11-16T12:00:02Z','group':'env:log','startedBy':'d-1',"
		"'healthStatus':'UNHEALTHY','stopCode':'EssentialContainerExited',"
		"'stoppedReason':'%s','lastStatus':'%s','desiredStatus':'STOPPED','version':%d,"
		"'overrides':{'containerOverrides':[{'name':'a','environment':["
		"{'name':'PASSWORD','value':'hunter2'}]}]}}}",
		SPAN_ARGS(time_text(bench)), number, reason, status, version);
}

static struct span instance_event(struct bench *bench, const char *status, int version)
{
	return arena_format(bench->arena,
		"{'detail-type':'ECS Container Instance State Change','time':'%.*s','detail':{"
		"'clusterArn':'" ARN "cluster/web','agentConnected':true,"
		"'attributes':[{'name':'stack','value':'prod'},{'name':'gpu'}],"
		"'containerInstanceArn':'" ARN "container-instance/web/i1',"
		"'ec2InstanceId':'i-1','status':'%s','version':%d}}",
		SPAN_ARGS(time_text(bench)), status, version);
}

static int post_task(struct bench *bench, unsigned server, unsigned number, const char *status,
	int version)
{
	return post(bench, server, task_event(bench, number, status, version, "why"));
}

static const struct observe_task *task_at(struct bench *bench, unsigned server, unsigned number)
{
	return observe_get_task(bench->services[server], cluster_ref_of(SPAN(PLACE)),
		arena_format(bench->arena, ARN "task/web/t%u", number), bench->arena);
}

static const struct observe_instance *instance_at(struct bench *bench, unsigned server)
{
	return observe_get_instance(bench->services[server], cluster_ref_of(SPAN(PLACE)),
		SPAN("i1"), bench->arena);
}

static uint64_t listings(struct bench *bench, unsigned server)
{
	struct observe_info info;

	assert_true(observe_get_info(bench->services[server], cluster_ref_of(SPAN(PLACE)), &info));
	return info.listings;
}

static size_t records(struct bench *bench, struct span *ret_last)
{
	_view_ struct store_view *view = store_view_open(bench->store);
	struct store_cursor cursor = {.view = view, .kind = &observe_event_kind, .index = -1};
	const struct store_object *record;
	size_t count = 0;

	for (; (record = store_next(&cursor)); count++)
		if (ret_last)
			*ret_last = arena_copy_span(bench->arena, record->private_);
	return count;
}

static uint64_t revision(struct bench *bench)
{
	_view_ struct store_view *view = store_view_open(bench->store);

	return store_view_revision(view);
}

/* ---- it comes to the others ---- */

static void assert_same_task(const struct observe_task *a, const struct observe_task *b)
{
	assert_true(span_equal(a->instance, b->instance) && span_equal(a->group, b->group) &&
		    span_equal(a->started_by, b->started_by) &&
		    span_equal(a->task_definition, b->task_definition) &&
		    span_equal(a->stop_code, b->stop_code) &&
		    span_equal(a->stopped_reason, b->stopped_reason));
	assert_int_equal(a->last, b->last);
	assert_int_equal(a->wanted, b->wanted);
	assert_int_equal(a->health, b->health);
	assert_int_equal(a->created_ms, b->created_ms);
	assert_int_equal(a->started_ms, b->started_ms);
	assert_int_equal(a->stopped_ms, b->stopped_ms);
	assert_int_equal(a->version, b->version);
}

static void test_the_others_receive_it(void **unused)
{
	struct bench *bench = bench_new();

	(void)unused;
	watch(bench, A);
	watch(bench, B);
	assert_int_equal(post_task(bench, A, 1, "RUNNING", 5), 1);
	assert_int_equal(post(bench, A, instance_event(bench, "ACTIVE", 2)), 1);
	sleep_ms(bench, SOON_MS);
	assert_int_equal(times_reported(bench, B), 2);
	assert_non_null(task_at(bench, B, 1));
	assert_same_task(task_at(bench, A, 1), task_at(bench, B, 1));
	assert_true(span_is(instance_at(bench, B)->attributes, ";stack=prod;gpu=;"));
	assert_true(span_is(instance_at(bench, B)->host, "i-1"));
	assert_true(instance_at(bench, B)->connected);
	/* And the other way round. */
	assert_int_equal(post_task(bench, B, 1, "STOPPED", 6), 1);
	assert_int_equal(post(bench, B, instance_event(bench, "INACTIVE", 3)), 1);
	sleep_ms(bench, SOON_MS);
	assert_same_task(task_at(bench, A, 1), task_at(bench, B, 1));
	assert_int_equal(task_at(bench, A, 1)->last, OBSERVE_TASK_STOPPED);
	assert_null(instance_at(bench, A));
	assert_int_equal(listings(bench, A), 1);
	assert_int_equal(listings(bench, B), 1);
	bench_free(bench);
}

/* No environment of this server is in that cluster. */
static void test_a_server_that_does_not_want_the_cluster_relays_it(void **unused)
{
	struct bench *bench = bench_new();

	(void)unused;
	watch(bench, B);
	assert_int_equal(post_task(bench, A, 1, "RUNNING", 5), 0);
	sleep_ms(bench, SOON_MS);
	assert_int_equal(task_at(bench, B, 1)->last, OBSERVE_TASK_RUNNING);
	assert_null(task_at(bench, A, 1));
	bench_free(bench);
}

/* An event that is older, or known, changes nothing there either; and a receiver does not relay it again. */
static void test_the_same_rules(void **unused)
{
	struct bench *bench = bench_new();
	uint64_t written;

	(void)unused;
	watch(bench, A);
	watch(bench, B);
	assert_int_equal(post_task(bench, B, 1, "RUNNING", 7), 1);
	sleep_ms(bench, SOON_MS);
	written = revision(bench);
	sleep_ms(bench, 10 * SOON_MS);
	assert_int_equal(revision(bench), written);
	assert_int_equal(times_reported(bench, A), 1);
	assert_int_equal(post_task(bench, A, 1, "PENDING", 6), 0);
	assert_int_equal(post_task(bench, A, 1, "STOPPED", 7), 0);
	sleep_ms(bench, SOON_MS);
	assert_int_equal(revision(bench), written + 1);
	assert_int_equal(task_at(bench, B, 1)->last, OBSERVE_TASK_RUNNING);
	assert_int_equal(task_at(bench, A, 1)->last, OBSERVE_TASK_RUNNING);
	assert_int_equal(times_reported(bench, B), 1);
	bench_free(bench);
}

/* ---- costs ---- */

static void test_a_single_server_writes_nothing(void **unused)
{
	struct bench *bench = bench_new();
	uint64_t before;

	(void)unused;
	watch(bench, A);
	watch(bench, B);
	write_now(bench, unregister_server, names[B]);
	before = revision(bench);
	assert_int_equal(post_task(bench, A, 1, "RUNNING", 5), 1);
	sleep_ms(bench, SOON_MS);
	assert_int_equal(revision(bench), before);
	assert_null(task_at(bench, B, 1));
	write_now(bench, register_server, names[B]);
	assert_int_equal(post_task(bench, A, 1, "STOPPED", 6), 1);
	sleep_ms(bench, SOON_MS);
	assert_int_equal(records(bench, NULL), 1);
	assert_int_equal(task_at(bench, B, 1)->last, OBSERVE_TASK_STOPPED);
	bench_free(bench);
}

static void test_a_ring(void **unused)
{
	struct bench *bench = bench_new();

	(void)unused;
	watch(bench, A);
	watch(bench, B);
	for (unsigned i = 0; i < 10 * RING; i++) {
		assert_int_equal(post_task(bench, A, i, "RUNNING", 5), 1);
		sleep_ms(bench, SOON_MS);
		assert_non_null(task_at(bench, B, i));
		assert_in_range(records(bench, NULL), 1, RING);
	}
	assert_int_equal(records(bench, NULL), RING);
	bench_free(bench);
}

/* Events that arrive together are written together, up to a limit. */
static void test_floods(void **unused)
{
	struct bench *bench = bench_new();
	uint64_t before;
	unsigned known = 0;

	(void)unused;
	watch(bench, A);
	watch(bench, B);
	before = revision(bench);
	for (unsigned i = 0; i < 50; i++)
		post_task(bench, A, 1, "RUNNING", 5);
	for (unsigned i = 0; i < 10; i++)
		post_task(bench, A, 2 + i, "RUNNING", 5);
	sleep_ms(bench, SOON_MS);
	assert_int_equal(revision(bench), before + 1);
	for (unsigned i = 1; i < 12; i++)
		assert_non_null(task_at(bench, B, i));
	for (unsigned i = 0; i < 5000; i++)
		assert_int_equal(post_task(bench, A, 100 + i, "RUNNING", 5), 1);
	sleep_ms(bench, SOON_MS);
	assert_int_equal(revision(bench), before + 2);
	for (unsigned i = 0; i < 5000; i++)
		known += task_at(bench, B, 100 + i) != NULL;
	assert_in_range(known, 300, 4999);
	/* It continues. */
	assert_int_equal(post_task(bench, A, 9000, "RUNNING", 5), 1);
	sleep_ms(bench, SOON_MS);
	assert_non_null(task_at(bench, B, 9000));
	bench_free(bench);
}

static void test_what_is_too_large_is_not_passed_on(void **unused)
{
	struct bench *bench = bench_new();
	char reason[20000];

	(void)unused;
	memset(reason, 'x', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	watch(bench, A);
	watch(bench, B);
	assert_int_equal(post(bench, A, task_event(bench, 1, "STOPPED", 5, reason)), 1);
	sleep_ms(bench, SOON_MS);
	assert_int_equal(records(bench, NULL), 0);
	assert_null(task_at(bench, B, 1));
	reason[10000] = '\0';
	assert_int_equal(post(bench, A, task_event(bench, 1, "STOPPED", 6, reason)), 1);
	sleep_ms(bench, SOON_MS);
	assert_int_equal(task_at(bench, B, 1)->stopped_reason.length, 10000);
	bench_free(bench);
}

static void test_what_tasks_are_given_is_not_kept(void **unused)
{
	struct bench *bench = bench_new();
	struct span record = SPAN("");

	(void)unused;
	assert_int_equal(post_task(bench, A, 1, "RUNNING", 5), 0);
	sleep_ms(bench, SOON_MS);
	assert_int_equal(records(bench, &record), 1);
	assert_non_null(memmem(record.data, record.length, "task/web/t1", 11));
	assert_null(memmem(record.data, record.length, "hunter2", 7));
	bench_free(bench);
}

/* ---- invalid records ---- */

static int write_text(struct store_transaction *transaction, void *context, struct err *err)
{
	return store_put(transaction, &observe_event_kind, SPAN(TARGET ":00"), SPAN(""),
		span_of(context), STORE_ANY, err);
}

static void test_nonsense_is_left_aside(void **unused)
{
	static const char *const texts[] = {"", "x", "[]", "7", "{}", "{\"target\":\"" TARGET "\"}",
		"{\"target\":7,\"events\":[{}]}", "{\"target\":\"\",\"events\":[{}]}",
		"{\"target\":\"" TARGET "\",\"events\":{\"a\":1}}",
		"{\"target\":\"" TARGET "\",\"events\":[1,null,[],{},{\"detail-type\":1},"
		"{\"detail-type\":\"ECS Task State Change\",\"detail\":{\"version\":-1}}]}",
		"{\"target\":\"nowhere\",\"events\":[{\"detail-type\":\"ECS Service Action\"}]}"};
	struct bench *bench = bench_new();

	(void)unused;
	watch(bench, A);
	watch(bench, B);
	for (size_t i = 0; i < LENGTH(texts); i++) {
		write_now(bench, write_text, texts[i]);
		sleep_ms(bench, SOON_MS);
	}
	assert_int_equal(times_reported(bench, A) + times_reported(bench, B), 0);
	assert_int_equal(post_task(bench, A, 1, "RUNNING", 5), 1);
	sleep_ms(bench, SOON_MS);
	assert_non_null(task_at(bench, B, 1));
	bench_free(bench);
}

/* ---- tampered records ---- */

static int fill_ring(struct store_transaction *transaction, void *context, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	int code = 0;

	(void)context;
	for (unsigned i = 0; i < RING && code == 0; i++)
		code = store_put(transaction, &observe_event_kind,
			arena_format(arena, TARGET ":%02u", i), SPAN(""), SPAN("{}"), STORE_ANY,
			err);
	return code;
}

/* Behind the store's back, and then it is opened again. */
static void tamper(struct bench *bench, const char *statement)
{
	_free_ char *path = memory_format("%s/store", bench->folder);
	sqlite3 *database;

	stop_services(bench);
	store_close(bench->store);
	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, statement, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(database), SQLITE_OK);
	open_store(bench);
	start_services(bench);
	watch(bench, A);
	watch(bench, B);
}

static uint64_t quarantined(struct bench *bench)
{
	struct store_statistics statistics;

	store_statistics(bench->store, &statistics);
	return statistics.quarantined;
}

/* They cannot be written any more: others are, as long as there are some. */
static void test_records_that_were_tampered_with(void **unused)
{
	struct bench *bench = bench_new_on(runner_simulated_new(1), true);
	static const char *const files[] = {"store", "store-wal", "store-shm", "key"};

	(void)unused;
	write_now(bench, fill_ring, NULL);
	tamper(bench, "UPDATE rows SET private = CAST('{\"target\":\"" TARGET "\"}' AS BLOB)"
		      " WHERE kind = 'daemon.event' AND key <> CAST('" TARGET ":05' AS BLOB)");
	assert_int_equal(quarantined(bench), RING - 1);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(post_task(bench, A, i, "RUNNING", 5), 1);
		sleep_ms(bench, SOON_MS);
		assert_non_null(task_at(bench, B, i));
	}
	assert_int_equal(records(bench, NULL), 1);
	tamper(bench, "UPDATE rows SET private = x'00' WHERE kind = 'daemon.event'");
	assert_int_equal(quarantined(bench), RING);
	assert_int_equal(post_task(bench, A, 9, "RUNNING", 5), 1);
	sleep_ms(bench, SOON_MS);
	assert_null(task_at(bench, B, 9));
	assert_int_equal(task_at(bench, A, 9)->last, OBSERVE_TASK_RUNNING);
	for (size_t i = 0; i < LENGTH(files); i++)
		unlink(arena_format(bench->arena, "%s/%s", bench->folder, files[i]).data);
	assert_int_equal(rmdir(bench->folder), 0);
	bench_free(bench);
}

/* ---- on threads ---- */

static void test_threads(void **unused)
{
	struct bench *bench =
		bench_new_on(runner_threads_new(clock_system(), random_system()), false);

	(void)unused;
	watch(bench, A);
	watch(bench, B);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(post_task(bench, i % SERVERS, i, "RUNNING", 5), 1);
	for (unsigned i = 0; i < 100; i++)
		for (unsigned server = 0; server < SERVERS; server++)
			for (int64_t waited_ms = 0; !task_at(bench, server, i); waited_ms += 5) {
				assert_true(waited_ms < DEADLINE_MS);
				sleep_ms(bench, 5);
			}
	bench_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_others_receive_it),
		cmocka_unit_test(test_a_server_that_does_not_want_the_cluster_relays_it),
		cmocka_unit_test(test_the_same_rules),
		cmocka_unit_test(test_a_single_server_writes_nothing),
		cmocka_unit_test(test_a_ring),
		cmocka_unit_test(test_floods),
		cmocka_unit_test(test_what_is_too_large_is_not_passed_on),
		cmocka_unit_test(test_what_tasks_are_given_is_not_kept),
		cmocka_unit_test(test_nonsense_is_left_aside),
		cmocka_unit_test(test_records_that_were_tampered_with),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
