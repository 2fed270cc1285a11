/* Notices of a subject that is no environment: subscriptions, bodies, keys, and what the limit drops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "delivery/notice_sender.h"

#define KEY "123456789012/shop"
#define STREAM "all/application:" KEY

static const struct store_kind application_kind = {.name = "application"};
static const struct store_kind environment_kind = {.name = "environment"};
static const struct store_kind *const kinds[] = {
	&application_kind, &environment_kind, &notice_kind};

static const struct notice_type environment_type = {"environment", "", &environment_kind};
static const struct notice_type application_type = {
	"application", "application:", &application_kind};
static const struct notice_type *const types[] = {&environment_type, &application_type};

static const char *const ends[] = {"stage.completed", "health"};
static const char *const accounts[] = {"123456789012"};
static const struct webhook hooks[] = {
	{.name = "all", .url = "http://127.0.0.1:1/"},
	{.name = "ends", .url = "http://127.0.0.1:1/", .events = ends, .event_count = 2},
	{.name = "ours",
		.url = "http://127.0.0.1:1/",
		.accounts = accounts,
		.account_count = LENGTH(accounts)},
};
static const struct webhook_set set = {hooks, LENGTH(hooks)};

static int setup(void **state)
{
	const struct store_config config = {.url = "memory:",
		.kinds = kinds,
		.kind_count = LENGTH(kinds),
		.clock = clock_system(),
		.inline_writes = true};
	struct store *store;
	struct err err = {0};

	if (store_open(&config, &store, &err) < 0)
		fail_msg("%s", err.message);
	*state = store;
	return 0;
}

static int teardown(void **state)
{
	store_close(*state);
	return 0;
}

static void test_webhooks_subscribe_to_events(void **state)
{
	static const struct {
		const char *name, *account, *event;
		bool wanted;
	} rows[] = {
		{"all", "1", "stage.pending", true},
		{"all", "1", "health.healthy", true},
		{"ends", "1", "stage.completed", true},
		{"ends", "1", "stage.pending", false},
		{"ends", "1", "health.unhealthy", true},
		{"ours", "123456789012", "stage.pending", true},
		{"ours", "210987654321", "stage.pending", false},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		assert_int_equal(webhook_wants(webhook_find(&set, span_of(rows[i].name)),
					 span_of(rows[i].account), span_of(rows[i].event)),
			rows[i].wanted);
	assert_null(webhook_find(&set, SPAN("missing")));
	assert_null(webhook_find(NULL, SPAN("all")));
}

/* As of RFC 4231, test case 2. */
static void test_signature(void **state)
{
	_arena_ struct arena *arena = arena_new(0);

	(void)state;
	assert_true(span_is(notice_signature(arena, "Jefe", SPAN("what do ya want for nothing?")),
		"sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
}

/* ---- a subject of another type ---- */

struct change {
	int64_t sequence;
	const char *event;
};

static int add_notice(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct change *change = context;
	struct arena *arena = store_transaction_arena(transaction);
	struct json *details = json_new_object(arena), *stage = json_new_object(arena);
	const struct notice notice = {.subject = {.type = &application_type,
					      .key = SPAN(KEY),
					      .created_ms = 1700000000000,
					      .sequence = change->sequence},
		.event = span_of(change->event),
		.now_ms = 1700000001000,
		.details = details,
		.member = "stage",
		.document = stage};

	json_set_string(arena, details, "applicationKind", SPAN("ECS"));
	json_set_string(arena, stage, "name", SPAN("canary"));
	return notice_add(transaction, &set, &notice, err);
}

static void add(struct store *store, int64_t sequence, const char *event)
{
	struct change change = {sequence, event};

	assert_int_equal(store_write_wait(store, add_notice, &change, NULL, NULL), 0);
}

static void test_a_notice_of_an_application(void **state)
{
	struct store *store = *state;
	const struct store_object *notice;

	add(store, 1, "stage.pending");
	{
		_view_ struct store_view *view = store_view_open(store);

		notice = store_get(view, &notice_kind, SPAN(STREAM "/001700000000000-0000000001"));
		assert_non_null(notice);
		assert_true(span_is(notice_facts(notice)->event, "stage.pending"));
		assert_true(span_is(notice->api,
			"{\"webhook\":\"all\",\"event\":\"stage.pending\",\"time\":1700000001.000,"
			"\"sequence\":1,\"account\":\"123456789012\",\"application\":\"shop\","
			"\"applicationKind\":\"ECS\",\"stage\":{\"name\":\"canary\"}}"));
		assert_true(span_is(notice_stream_of(notice->key), STREAM));
		/* "ends" does not subscribe to it. */
		assert_int_equal(store_count(view, &notice_kind, -1, SPAN(""), false), 2);
	}
}

static void test_the_oldest_notices_of_a_subject_are_dropped(void **state)
{
	struct store *store = *state;
	_arena_ struct arena *arena = arena_new(0);
	struct store_cursor cursor = {
		.kind = &notice_kind, .index = -1, .prefix = SPAN(STREAM "/")};
	const struct store_object *notice;
	int64_t sequence = 8;
	struct json *body = NULL;

	for (int64_t i = 1; i <= NOTICES_MAX + 7; i++)
		add(store, i, "stage.completed");
	_view_ struct store_view *view = store_view_open(store);
	cursor.view = view;
	for (; (notice = store_next(&cursor)); sequence++) {
		assert_int_equal(json_parse(notice->api, arena, &body, NULL), 0);
		assert_int_equal(json_get_integer(body, "sequence", 0), sequence);
	}
	assert_int_equal(sequence, NOTICES_MAX + 8);
	assert_int_equal(json_get_integer(body, "dropped", 0), 7);
}

static void test_the_prefix_of_a_subject_is_its_type(void **state)
{
	struct span key;

	(void)state;
	assert_ptr_equal(notice_type_of(types, LENGTH(types), SPAN("application:" KEY), &key),
		&application_type);
	assert_true(span_is(key, KEY));
	assert_ptr_equal(notice_type_of(types, LENGTH(types), SPAN(KEY), &key), &environment_type);
	assert_true(span_is(key, KEY));
	assert_null(notice_type_of(types + 1, 1, SPAN(KEY), &key));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_webhooks_subscribe_to_events),
		cmocka_unit_test(test_signature),
		TEST(test_a_notice_of_an_application),
		TEST(test_the_oldest_notices_of_a_subject_are_dropped),
		cmocka_unit_test(test_the_prefix_of_a_subject_is_its_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
