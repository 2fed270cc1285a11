/* Tasks as objects: what facts survive, and what the indexes count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ecs/record/service_kind.h"
#include "ecs/record/task.h"
#include "ecs/task/task_edit.h"
#include "ecs/test_server.h"
#include "store/fact_table.h"

#define CLUSTER "123456789012/eu-west-1/default"

static struct task_facts some_task(void)
{
	return (struct task_facts){.family = SPAN("web"),
		.revision = 7,
		.instance = SPAN("i1"),
		.group = SPAN("service:web"),
		.started_by = SPAN("ecs-svc/12"),
		.service = SPAN("web"),
		.deployment = SPAN("ecs-svc/12"),
		.launch_type = TASK_LAUNCH_EC2,
		.host = SPAN("here"),
		.cpu = 128,
		.memory = 64,
		.ports = SPAN("80/tcp"),
		.created_ms = 1000,
		.desired = TASK_RUNNING,
		.last = TASK_PENDING};
}

struct saving {
	const char *id;
	struct task_facts facts;
	struct arena *arena;
	bool again; /* change the stored one */
};

static int save(struct store_transaction *transaction, void *context, struct err *err)
{
	struct saving *saving = context;
	struct span key = arena_format(saving->arena, CLUSTER "/%s", saving->id);
	const struct store_object *stored = store_get(store_head(transaction), &task_kind, key);
	struct task_edit edit = {.arena = saving->arena, .key = key};

	if (saving->again) {
		int code = task_edit_open(stored, saving->arena, &edit, err);

		if (code < 0)
			return code;
	} else {
		edit.document = json_new_object(saving->arena);
	}
	edit.facts = saving->facts;
	return task_save(transaction, &edit, err);
}

static void save_task(struct test_server *server, const char *id, struct task_facts facts,
	bool again)
{
	_arena_ struct arena *arena = arena_new(0);
	struct saving saving = {id, facts, arena, again};
	struct err err = {0};

	if (store_write_wait(server->store, save, &saving, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

static uint64_t count(struct test_server *server, enum task_index index, const char *text)
{
	_view_ struct store_view *view = store_view_open(server->store);

	return store_count(view, &task_kind, (int)index, span_of(text), true);
}

static int64_t sum(struct test_server *server, enum task_index index, const char *prefix,
	int measure)
{
	_view_ struct store_view *view = store_view_open(server->store);
	int64_t sums[STORE_MEASURES];

	store_sum(view, &task_kind, (int)index, span_of(prefix), false, sums);
	return sums[measure];
}

static void test_facts_survive(void **state)
{
	struct test_server *server = *state;
	struct task_facts facts = some_task();
	const struct store_object *task;
	const struct task_facts *stored;
	struct store_view *view;

	facts.health = TASK_HEALTH_UNHEALTHY;
	facts.launch_type = TASK_LAUNCH_FARGATE;
	facts.protected_until_ms = INT64_C(1) << 42;
	facts.failed = facts.checked = true;
	save_task(server, "t1", facts, false);
	view = store_view_open(server->store);
	task = store_get(view, &task_kind, SPAN(CLUSTER "/t1"));
	stored = task_facts(task);
	assert_true(span_is(stored->cluster, "default"));
	assert_true(span_is(stored->id, "t1"));
	assert_true(span_is(stored->family, "web"));
	assert_int_equal(stored->revision, 7);
	assert_true(span_is(stored->ports, "80/tcp"));
	assert_true(span_is(stored->reference, ""));
	assert_int_equal(stored->health, TASK_HEALTH_UNHEALTHY);
	assert_int_equal(stored->launch_type, TASK_LAUNCH_FARGATE);
	assert_int_equal(stored->protected_until_ms, INT64_C(1) << 42);
	assert_true(stored->failed && stored->checked && span_is(stored->host, "here"));
	assert_false(stored->acknowledged || stored->daemon);
	store_view_close(view);
}

static void test_document_follows_facts(void **state)
{
	struct test_server *server = *state;
	struct task_facts facts = some_task();
	struct store_view *view;
	struct json *document;
	_arena_ struct arena *arena = arena_new(0);

	save_task(server, "t1", facts, false);
	facts.last = TASK_RUNNING;
	facts.started_ms = 2500;
	save_task(server, "t1", facts, true);
	view = store_view_open(server->store);
	assert_int_equal(json_parse(store_get(view, &task_kind, SPAN(CLUSTER "/t1"))->api, arena,
				 &document, NULL),
		0);
	assert_true(span_is(json_get_text(document, "lastStatus"), "RUNNING"));
	assert_true(span_is(json_get_text(document, "desiredStatus"), "RUNNING"));
	assert_int_equal(json_get_integer(document, "version", 0), 2);
	assert_true(span_is(json_get(document, "startedAt")->text, "2.500"));
	assert_null(json_get(document, "stoppedAt"));
	store_view_close(view);
}

static void test_counts_follow_the_ladder(void **state)
{
	struct test_server *server = *state;
	struct task_facts facts = some_task();

	save_task(server, "t1", facts, false);
	assert_int_equal(sum(server, TASK_BY_DESIRED, CLUSTER "/", TASK_SUM_PENDING), 1);
	assert_int_equal(sum(server, TASK_BY_INSTANCE, CLUSTER "/i1/", TASK_SUM_CPU), 128);
	assert_int_equal(count(server, TASK_BY_SERVICE, CLUSTER "/web/live/ecs-svc/12/p"), 1);
	facts.last = TASK_RUNNING;
	save_task(server, "t1", facts, true);
	assert_int_equal(sum(server, TASK_BY_DESIRED, CLUSTER "/", TASK_SUM_PENDING), 0);
	assert_int_equal(sum(server, TASK_BY_DESIRED, CLUSTER "/", TASK_SUM_RUNNING), 1);
	assert_int_equal(count(server, TASK_BY_SERVICE, CLUSTER "/web/live/ecs-svc/12/h"), 1);
	assert_int_equal(count(server, TASK_BY_DEFINITION, "123456789012/eu-west-1/web 0000000007"),
		1);
	facts.desired = TASK_STOPPED;
	save_task(server, "t1", facts, true);
	assert_int_equal(sum(server, TASK_BY_DESIRED, CLUSTER "/", TASK_SUM_RUNNING), 0);
	assert_int_equal(sum(server, TASK_BY_INSTANCE, CLUSTER "/i1/live/", TASK_SUM_MEMORY), 64);
	assert_int_equal(count(server, TASK_BY_SERVICE, CLUSTER "/web/live/ecs-svc/12/x"), 1);
	facts.last = TASK_STOPPED;
	facts.stopped_ms = 5000;
	save_task(server, "t1", facts, true);
	assert_int_equal(sum(server, TASK_BY_INSTANCE, CLUSTER "/i1/", TASK_SUM_MEMORY), 0);
	assert_int_equal(count(server, TASK_BY_SERVICE, CLUSTER "/web/stopped/ecs-svc/12"), 1);
	assert_int_equal(count(server, TASK_BY_STOPPED, CLUSTER "/000000000005000"), 1);
	assert_int_equal(count(server, TASK_BY_DEFINITION, "123456789012/eu-west-1/web 0000000007"),
		0);
	assert_int_equal(count(server, TASK_BY_ID, "t1"), 1);
}

static void test_classes(void **state)
{
	const struct {
		enum task_status last, desired;
		bool checked;
		enum task_health health;
		enum task_class class;
		enum task_balance balance;
	} rows[] = {
		{TASK_PROVISIONING, TASK_RUNNING, false, 0, TASK_CLASS_PENDING, 0},
		{TASK_ACTIVATING, TASK_RUNNING, true, TASK_HEALTH_HEALTHY, TASK_CLASS_STARTING, 0},
		{TASK_ACTIVATING, TASK_RUNNING, true, TASK_HEALTH_UNHEALTHY, TASK_CLASS_UNHEALTHY,
			0},
		{TASK_RUNNING, TASK_RUNNING, false, TASK_HEALTH_UNKNOWN, TASK_CLASS_HEALTHY, 0},
		{TASK_RUNNING, TASK_RUNNING, true, TASK_HEALTH_UNKNOWN, TASK_CLASS_STARTING, 0},
		{TASK_RUNNING, TASK_RUNNING, true, TASK_HEALTH_HEALTHY, TASK_CLASS_HEALTHY, 0},
		{TASK_RUNNING, TASK_RUNNING, true, TASK_HEALTH_UNHEALTHY, TASK_CLASS_UNHEALTHY, 0},
		{TASK_RUNNING, TASK_STOPPED, true, TASK_HEALTH_HEALTHY, TASK_CLASS_STOPPING, 0},
		{TASK_PENDING, TASK_STOPPED, false, 0, TASK_CLASS_STOPPING, 0},
		{TASK_RUNNING, TASK_RUNNING, false, 0, TASK_CLASS_STARTING, TASK_BALANCE_WAITING},
		{TASK_RUNNING, TASK_RUNNING, false, 0, TASK_CLASS_HEALTHY, TASK_BALANCE_HEALTHY},
		{TASK_RUNNING, TASK_RUNNING, true, TASK_HEALTH_UNKNOWN, TASK_CLASS_STARTING,
			TASK_BALANCE_HEALTHY},
		{TASK_RUNNING, TASK_RUNNING, true, TASK_HEALTH_HEALTHY, TASK_CLASS_UNHEALTHY,
			TASK_BALANCE_UNHEALTHY},
		{TASK_DEACTIVATING, TASK_STOPPED, false, 0, TASK_CLASS_STOPPING, 0},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct task_facts facts = {.last = rows[i].last,
			.desired = rows[i].desired,
			.checked = rows[i].checked,
			.health = rows[i].health,
			.balance = rows[i].balance};

		assert_int_equal(task_class_of(&facts), rows[i].class);
	}
}

static void test_keys_and_names(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	enum task_status status;

	(void)state;
	assert_true(span_is(task_cluster_key(SPAN(CLUSTER "/t1/more")), CLUSTER));
	assert_true(span_is(ecs_arn_of_key(arena, "task", SPAN(CLUSTER "/t1")),
		"arn:aws:ecs:eu-west-1:123456789012:task/default/t1"));
	assert_true(task_status_read(SPAN("STOPPED"), &status) && status == TASK_STOPPED);
	assert_false(task_status_read(SPAN("stopped"), &status));
	assert_true(fact_text_is_plain(SPAN("service:web/a.b ü")));
	assert_false(fact_text_is_plain(SPAN("a\"b")));
	assert_false(fact_text_is_plain(SPAN("a\\b")));
	assert_false(fact_text_is_plain(SPAN("a\nb")));
}

/* ---- services ---- */

static int add_events(struct store_transaction *transaction, void *context, struct err *err)
{
	struct test_server *server = context;

	for (int i = 0; i < SERVICE_EVENTS_MAX + 5; i++) {
		int code =
			service_event_add(transaction, SPAN(CLUSTER "/web"), &server->random.random,
				1000 + i, store_transaction_arena(transaction), err, "event %d", i);

		if (code < 0)
			return code;
	}
	return 0;
}

static void test_the_last_events_are_kept(void **state)
{
	struct test_server *server = *state;
	struct store_view *view;
	struct store_cursor cursor;
	const struct store_object *event;
	struct err err = {0};

	assert_int_equal(store_write_wait(server->store, add_events, server, NULL, &err), 0);
	view = store_view_open(server->store);
	cursor = (struct store_cursor){.view = view,
		.kind = &service_event_kind,
		.index = -1,
		.prefix = SPAN(CLUSTER "/web/")};
	assert_int_equal(store_count(view, &service_event_kind, -1, SPAN(CLUSTER "/web/"), false),
		SERVICE_EVENTS_MAX);
	event = store_next(&cursor);
	assert_non_null(memmem(event->api.data, event->api.length, "(service web) event 5\"", 22));
	store_view_close(view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_WITH_SERVER(test_facts_survive),
		TEST_WITH_SERVER(test_document_follows_facts),
		TEST_WITH_SERVER(test_counts_follow_the_ladder),
		TEST_WITH_SERVER(test_the_last_events_are_kept),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_keys_and_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
