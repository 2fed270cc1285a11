/*
 * Informers against a faulty server: truncated, late, invalid, expired, busy or missing answers. In
 * every case the cache has the last valid state, and no change is reported twice or out of order.
 */
#include "kube/informer.h"

#include "base/lock.h"
#include "kube/test_server.h"

#define LIST "GET /api/v1/pods?limit="
#define WATCH(version)                                                                             \
	"GET /api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=" version            \
	"&timeoutSeconds="
#define META(name, uid, version)                                                                   \
	"\"metadata\":{\"namespace\":\"n\",\"name\":\"" name "\",\"uid\":\"" uid                   \
	"\",\"resourceVersion\":\"" version "\"}"
#define POD(name, uid, version) "{" META(name, uid, version) "}"
#define PODS(version, items)                                                                       \
	"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version                       \
	"\"},\"items\":[" items "]}"
#define PAGE(version, token, items)                                                                \
	"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version                       \
	"\",\"continue\":\"" token "\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define ADDED(name, uid, version) EVENT("ADDED", POD(name, uid, version))
#define MODIFIED(name, uid, version) EVENT("MODIFIED", POD(name, uid, version))
#define DELETED(name, uid, version) EVENT("DELETED", POD(name, uid, version))
#define BOOKMARK(version) EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define EXPIRED                                                                                    \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Expired\",\"message\":\"too "    \
	"old\","                                                                                   \
	"\"code\":410}"

/* Long enough that an answer that does come is never late, however busy the machine is. */
#define IDLE_MS 11000

struct fixture {
	struct test_world world;
	struct kube_informer *informer;
	struct lock lock; /* for all below */
	struct runner_event *reported;
	struct buffer story; /* "+a@1 ~a@2 -a@2 =a@2 synced " */
	struct buffer failures;
	size_t failure_count;
};

static void add_story(struct fixture *fixture, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_story(struct fixture *fixture, const char *format, ...)
{
	char text[128];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	lock_take(&fixture->lock);
	buffer_add_string(&fixture->story, text);
	lock_release(&fixture->lock);
	runner_signal(fixture->reported);
}

static void report_change(void *context, const struct kube_object *before,
	const struct kube_object *after)
{
	const struct kube_object *object = after ? after : before;
	const char *sign = "~";

	if (!before)
		sign = "+";
	else if (!after)
		sign = "-";
	else if (before == after)
		sign = "=";
	add_story(context, "%s%.*s@%.*s ", sign, SPAN_ARGS(object->name),
		SPAN_ARGS(object->resource_version));
}

static void report_synced(void *context)
{
	add_story(context, "synced ");
}

static void report_failure(void *context, const struct err *err)
{
	struct fixture *fixture = context;

	lock_take(&fixture->lock);
	fixture->failure_count++;
	buffer_add_string(&fixture->failures, err->message);
	buffer_add_char(&fixture->failures, '\n');
	lock_release(&fixture->lock);
	runner_signal(fixture->reported);
}

static int reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	struct span *node = kube_keep_memory(keep, sizeof(*node));

	(void)context;
	if (json_get(object, "refuse"))
		return err_set(err, -EINVAL, "refused");
	if (json_get(object, "ignore"))
		return KUBE_REDUCE_IGNORE;
	*node = kube_keep_text(keep, json_get_text(object, "node"));
	*ret_data = node;
	return 0;
}

static void index_node(const struct kube_object *object, struct kube_index_keys *keys)
{
	kube_index_keys_add(keys, *(const struct span *)object->data);
}

static void begin(struct fixture *fixture, const struct test_step *steps, size_t count,
	const struct kube_informer_config *more)
{
	static const struct kube_index indexes[] = {{"node", index_node}};
	struct kube_informer_config config = more ? *more : (struct kube_informer_config){0};

	*fixture = (struct fixture){0};
	test_world_begin(&fixture->world, steps, count);
	lock_init(&fixture->lock);
	fixture->reported = runner_event_new(fixture->world.runner, "reported");
	config.client = fixture->world.client;
	config.runner = fixture->world.runner;
	config.kind = &kube_pods;
	config.reduce = reduce;
	config.indexes = indexes;
	config.index_count = LENGTH(indexes);
	config.changed = report_change;
	config.synced = report_synced;
	config.failed = report_failure;
	config.context = fixture;
	if (!config.backoff_first_ms)
		config.backoff_first_ms = 1;
	if (!config.backoff_most_ms)
		config.backoff_most_ms = 5;
	assert_int_equal(kube_informer_start(&config, &fixture->informer, NULL), 0);
}

static void end(struct fixture *fixture)
{
	kube_informer_stop(fixture->informer);
	runner_event_free(fixture->reported);
	lock_destroy(&fixture->lock);
	buffer_clear(&fixture->story);
	buffer_clear(&fixture->failures);
	test_world_end(&fixture->world);
}

static bool has_story(struct fixture *fixture, const char *expected, bool whole)
{
	bool has;

	lock_take(&fixture->lock);
	has = whole ? span_is(buffer_span(&fixture->story), expected)
		    : fixture->story.length > 0 && strstr(fixture->story.data, expected);
	lock_release(&fixture->lock);
	return has;
}

/* Waits until the reports equal `expected`, or contain it. */
static void wait_reported(struct fixture *fixture, const char *expected, bool whole)
{
	struct runner *runner = fixture->world.runner;
	int64_t deadline = runner_deadline_us(runner, TEST_PATIENCE_S * 1000000);

	for (;;) {
		uint64_t seen = runner_event_count(fixture->reported);

		if (has_story(fixture, expected, whole))
			return;
		if (runner_wait(runner, fixture->reported, seen, deadline) < 0)
			fail_msg("expected %s\ngot %s\n%s", expected, fixture->story.data,
				fixture->failures.data);
	}
}

static void wait_story(struct fixture *fixture, const char *expected)
{
	wait_reported(fixture, expected, true);
}

/* That the script was asked for to its end, and one more request came, which hangs. */
static void wait_script(struct fixture *fixture)
{
	struct test_server *server = fixture->world.server;
	struct timespec deadline;
	bool complete;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += TEST_PATIENCE_S;
	pthread_mutex_lock(&server->lock);
	while (server->more == 0 &&
		pthread_cond_timedwait(&server->changed, &server->lock, &deadline) == 0)
		;
	complete = server->more > 0;
	pthread_mutex_unlock(&server->lock);
	if (!complete)
		fail_msg("the script stands at step %zu: %s%s", server->step, fixture->story.data,
			fixture->failures.data);
}

static struct kube_informer_statistics statistics(struct fixture *fixture)
{
	struct kube_informer_statistics now;

	kube_informer_statistics(fixture->informer, &now);
	return now;
}

/* Runs a script to its end and compares the reports. */
static void check_script(const struct test_step *steps, size_t count,
	const struct kube_informer_config *config, const char *story,
	struct kube_informer_statistics *ret_statistics)
{
	struct fixture fixture;

	begin(&fixture, steps, count, config);
	wait_script(&fixture);
	wait_story(&fixture, story);
	if (ret_statistics)
		*ret_statistics = statistics(&fixture);
	end(&fixture);
}

/* ---- reports ---- */

static void test_events(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST "500 HTTP", 200, PODS("5", POD("a", "ua", "3") "," POD("b", "ub", "4"))),
		STEP(WATCH("5"), 200,
			ADDED("c", "uc", "6") MODIFIED("a", "ua", "7") BOOKMARK("8")
				DELETED("b", "ub", "9") MODIFIED("new", "un", "10")
					ADDED("c", "uc", "11") DELETED("missing", "ux", "12")),
		STEP(WATCH("12"), 200, BOOKMARK("20")),
		STEP(WATCH("20"), 200, "", .then = TEST_HANG),
	};
	struct fixture fixture;
	struct kube_informer_statistics now;

	(void)state;
	begin(&fixture, steps, LENGTH(steps), NULL);
	assert_int_equal(kube_informer_wait_synced(fixture.informer,
				 runner_deadline_us(fixture.world.runner, 60000000)),
		0);
	wait_story(&fixture, "+a@3 +b@4 synced +c@6 ~a@7 -b@4 +new@10 ~c@11 ");
	for (;;) {
		now = statistics(&fixture);
		if (now.watches == 3 && now.watching)
			break;
		runner_sleep_until(fixture.world.runner,
			runner_deadline_us(fixture.world.runner, 1000));
	}
	assert_int_equal(now.objects, 3);
	assert_int_equal(now.events, 6);
	assert_int_equal(now.bookmarks, 2);
	assert_int_equal(now.lists, 1);
	assert_int_equal(now.relists, 0);
	assert_int_equal(now.errors, 0);
	assert_true(now.synced);
	assert_true(now.bytes > 0 && now.bytes < 3000);
	assert_true(now.bytes_received > 500);
	assert_true(now.last_event_ms > 0 && now.last_contact_ms >= now.last_event_ms);
	end(&fixture);
}

static void test_reading(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST, 200,
			PODS("5", "{" META("a", "ua", "3") ",\"node\":\"x\"},{" META("b", "ub",
					  "4") ",\"node\":\"x\"},{" META("c", "uc", "4") "}")),
		STEP(WATCH("5"), 200,
			EVENT("MODIFIED", "{" META("b", "ub", "6") ",\"node\":\"y\"}"),
			.then = TEST_HANG),
	};
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_list_ struct kube_object_list list = {0}, all = {0};
	_kube_object_ const struct kube_object *object = NULL;
	struct fixture fixture;

	(void)state;
	begin(&fixture, steps, LENGTH(steps), NULL);
	wait_story(&fixture, "+a@3 +b@4 +c@4 synced ~b@6 ");
	kube_informer_find(fixture.informer, "node", SPAN("x"), arena, &list);
	assert_int_equal(list.count, 1);
	assert_true(span_is(list.objects[0]->key, "n/a"));
	kube_informer_all(fixture.informer, arena, &all);
	assert_int_equal(all.count, 3);
	object = kube_informer_get(fixture.informer, SPAN("n"), SPAN("b"));
	assert_true(span_is(object->resource_version, "6"));
	assert_null(kube_informer_get(fixture.informer, SPAN("n"), SPAN("z")));
	assert_null(kube_informer_get(fixture.informer, SPAN(""), SPAN("a")));
	/* Objects that were read outlive the informer. */
	end(&fixture);
	assert_string_equal(((const struct span *)object->data)->data, "y");
}

/* ---- lists ---- */

static void test_pages(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST "2 HTTP", 200,
			PAGE("5", "t1", POD("a", "ua", "1") "," POD("b", "ub", "2"))),
		STEP(LIST "2&continue=t1 HTTP", 200, PAGE("5", "t2", POD("c", "uc", "3"))),
		STEP(LIST "2&continue=t2 HTTP", 200, PAGE("5", "", POD("d", "ud", "4"))),
		STEP(WATCH("5"), 410, EXPIRED),
		/* The continue token expires, the list restarts; objects of old pages are gone. */
		STEP(LIST "2 HTTP", 200,
			PAGE("8", "t3", POD("a", "ua", "1") "," POD("e", "ue", "7"))),
		STEP(LIST "2&continue=t3 HTTP", 410, EXPIRED),
		STEP(LIST "2 HTTP", 200, PAGE("9", "t4", POD("b", "ub", "6"))),
		STEP(LIST "2&continue=t4 HTTP", 200, PAGE("9", "", POD("a", "ua", "1"))),
		STEP(WATCH("9"), 0, NULL),
	};
	const struct kube_informer_config config = {.page_size = 2};
	struct kube_informer_statistics now;

	(void)state;
	check_script(steps, LENGTH(steps), &config,
		"+a@1 +b@2 +c@3 +d@4 synced +e@7 ~b@6 -c@3 -d@4 -e@7 ", &now);
	assert_int_equal(now.lists, 2);
	assert_int_equal(now.relists, 1);
	assert_int_equal(now.expired, 1);
	assert_int_equal(now.objects, 2);
}

/* However a list fails, nothing is taken away. */
static void test_a_failed_list_is_not_empty(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST, 500, ""),
		STEP(LIST, 200, PODS("5", POD("a", "ua", "1") "," POD("b", "ub", "2"))),
		STEP(WATCH("5"), 410, EXPIRED),
		STEP(LIST, 0, NULL),
		STEP(LIST, 503, "down"),
		STEP(LIST, 403, "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"code\":403}"),
		STEP(LIST, 404, "404 page not found"),
		STEP(LIST, 200, ""),
		STEP(LIST, 200, "{}"),
		STEP(LIST, 200, "[]"),
		STEP(LIST, 200,
			"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":{"
			"}}"),
		STEP(LIST, 200, "<html>"),
		STEP(LIST, 200,
			"{\"kind\":\"Status\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[]"
			"}"),
		STEP(LIST, 200, "{\"kind\":\"PodList\",\"items\":[]}"),
		STEP(LIST, 200,
			"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":"
			"["),
		STEP(LIST, 200, PODS("9", ""), .then = TEST_CUT),
		STEP(LIST, 200, PODS("9", "{\"metadata\":}")),
		STEP(LIST, 200, PAGE("9", "more", "")),
		STEP(LIST, 500, ""),
		STEP(LIST, 200, PODS("9", POD("b", "ub", "2"))),
		STEP(WATCH("9"), 0, NULL),
	};
	struct kube_informer_statistics now;

	(void)state;
	check_script(steps, LENGTH(steps), NULL, "+a@1 +b@2 synced -a@1 ", &now);
	assert_int_equal(now.errors, 15); /* libcurl itself repeats what a kept connection lost */
	assert_true(now.synced);
}

static void test_a_list_that_stops(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST, 200, "{\"kind\":\"PodList\",\"items\":[" POD("a", "ua", "1"),
			.then = TEST_HANG),
		STEP(LIST, 200, PODS("5", POD("a", "ua", "1"))),
		STEP(WATCH("5"), 0, NULL),
	};
	const struct kube_informer_config config = {.idle_ms = IDLE_MS};

	(void)state;
	check_script(steps, LENGTH(steps), &config, "+a@1 synced ", NULL);
}

/* ---- names and their owners ---- */

static void test_another_under_the_same_name(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST, 200, PODS("5", POD("a", "u1", "1") "," POD("b", "v1", "1"))),
		STEP(WATCH("5"), 200,
			MODIFIED("a", "u2", "6") DELETED("a", "u1", "7") MODIFIED("a", "u2", "8")),
		STEP(WATCH("8"), 410, EXPIRED),
		STEP(LIST, 200, PODS("9", POD("a", "u3", "9") "," POD("b", "v1", "1"))),
		STEP(WATCH("9"), 0, NULL),
	};

	(void)state;
	check_script(steps, LENGTH(steps), NULL, "+a@1 +b@1 synced -a@1 +a@6 ~a@8 -a@8 +a@9 ",
		NULL);
}

static void test_refused_and_ignored(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST, 200,
			PODS("5", POD("a", "ua", "1") "," POD("b", "ub", "1") ",{" META("c", "uc",
					  "1") ",\"refuse\":1},{" META("d", "ud",
					  "1") ",\"ignore\":1},{\"no\":1}")),
		STEP(WATCH("5"), 200,
			EVENT("MODIFIED", "{" META("a", "ua", "6") ",\"refuse\":1}")
				EVENT("MODIFIED", "{" META("b", "ub", "7") ",\"ignore\":1}")
					MODIFIED("d", "ud", "8")),
		STEP(WATCH("8"), 410, EXPIRED),
		/* A rejected object keeps its cached state; it exists. */
		STEP(LIST, 200, PODS("9", "{" META("a", "ua", "9") ",\"refuse\":1}")),
		STEP(WATCH("9"), 0, NULL),
	};
	struct kube_informer_statistics now;

	(void)state;
	check_script(steps, LENGTH(steps), NULL, "+a@1 +b@1 synced -b@1 +d@8 -d@8 ", &now);
	assert_int_equal(now.refused, 4);
	assert_int_equal(now.objects, 1);
}

/* ---- watches ---- */

static void test_a_cut_watch_goes_on(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST, 200, PODS("5", "")),
		STEP(WATCH("5"), 200, ADDED("a", "ua", "6"), .then = TEST_CUT),
		STEP(WATCH("6"), 200, ADDED("b", "ub", "7") "{\"type\":\"MODIFIED\",\"obj",
			.then = TEST_CUT),
		STEP(WATCH("7"), 0, NULL),
		STEP(WATCH("7"), 500, ""),
		STEP(WATCH("7"), 200, MODIFIED("a", "ua", "8")),
		STEP(WATCH("8"), 0, NULL),
	};
	struct kube_informer_statistics now;

	(void)state;
	check_script(steps, LENGTH(steps), NULL, "synced +a@6 +b@7 ~a@8 ", &now);
	assert_int_equal(now.lists, 1);
	assert_int_equal(now.errors, 4);
}

static void test_expired(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST, 200, PODS("5", POD("a", "ua", "1") "," POD("b", "ub", "1"))),
		STEP(WATCH("5"), 200, ADDED("c", "uc", "6") EVENT("ERROR", EXPIRED)),
		STEP(LIST, 200, PODS("9", POD("b", "ub", "8") "," POD("c", "uc", "6"))),
		STEP(WATCH("9"), 410, EXPIRED),
		STEP(LIST, 200, PODS("10", POD("b", "ub", "8"))),
		STEP(WATCH("10"), 0, NULL),
	};
	struct kube_informer_statistics now;

	(void)state;
	check_script(steps, LENGTH(steps), NULL, "+a@1 +b@1 synced +c@6 ~b@8 -a@1 -c@6 ", &now);
	assert_int_equal(now.expired, 2);
	assert_int_equal(now.errors, 0);
}

/* A watch that cannot be read is not trusted: everything is listed again. */
static void test_rubbish(void **state)
{
	static const char *const rubbish[] = {
		"HTTP/1.1 200 OK\r\n\r\n",
		"{\"type\":\"ADDED\",\"object\":{\"a\":}}\n",
		"{\"type\":\"NONSENSE\",\"object\":{}}\n",
		"{\"object\":{}}\n",
		"{\"type\":\"BOOKMARK\",\"object\":{}}\n",
		"{\"type\":\"ADDED\"}\n",
		"[1,2,3]\n",
		"{\"type\":\"ADD",
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xff\"}}}\n",
	};
	struct kube_informer_statistics now;

	(void)state;
	for (size_t i = 0; i < LENGTH(rubbish); i++) {
		const struct test_step steps[] = {
			STEP(LIST, 200, PODS("5", POD("a", "ua", "1"))),
			STEP(WATCH("5"), 200, rubbish[i]),
			STEP(LIST, 200, PODS("7", POD("a", "ua", "6"))),
			STEP(WATCH("7"), 0, NULL),
		};

		check_script(steps, LENGTH(steps), NULL, "+a@1 synced ~a@6 ", &now);
		assert_int_equal(now.lists, 2);
		assert_true(now.errors >= 1);
	}
}

static void test_a_huge_object(void **state)
{
	_buffer_ struct buffer huge = {0};
	struct test_step steps[] = {
		STEP(LIST, 200, PODS("5", POD("a", "ua", "1"))),
		STEP(WATCH("5"), 200, NULL, .then = TEST_HANG),
		STEP(LIST, 200, PODS("7", POD("a", "ua", "6"))),
		STEP(WATCH("7"), 200, "", .filler = 300000), /* white space has no limit */
		STEP(WATCH("7"), 0, NULL),
	};
	const struct kube_informer_config config = {.line_max = 10000};

	(void)state;
	buffer_add_string(&huge, "{\"type\":\"ADDED\",\"object\":{\"x\":\"");
	for (int i = 0; i < 20000; i++)
		buffer_add_char(&huge, 'x');
	steps[1].body = huge.data;
	check_script(steps, LENGTH(steps), &config, "+a@1 synced ~a@6 ", NULL);
}

static void test_a_silent_watch(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST, 200, PODS("5", "")),
		STEP(WATCH("5"), 200, ADDED("a", "ua", "6"), .then = TEST_HANG),
		STEP(WATCH("6"), 200, "", .then = TEST_HANG),
		STEP(WATCH("6"), 200, ADDED("b", "ub", "7")),
		STEP(WATCH("7"), 0, NULL),
	};
	const struct kube_informer_config config = {.idle_ms = IDLE_MS};
	struct kube_informer_statistics now;

	(void)state;
	check_script(steps, LENGTH(steps), &config, "synced +a@6 +b@7 ", &now);
	assert_int_equal(now.lists, 1);
	assert_int_equal(now.silent, 2);
}

/* Refused again and again, at once or late, though the version is said to be fine: a list needs none. */
static void test_a_watch_that_is_always_refused(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST, 200, PODS("5", POD("a", "ua", "1"))),
		STEP(WATCH("5"), 504, ""),
		STEP(WATCH("5"), 504, ""),
		STEP(WATCH("5"), 500, ""),
		STEP(WATCH("5"), 0, NULL), /* not a refusal */
		STEP(WATCH("5"), 504, ""),
		STEP(WATCH("5"), 504, "", .late_ms = 1100),
		STEP(LIST, 200, PODS("3", POD("a", "ua", "2"))),
		STEP(WATCH("3"), 0, NULL),
	};

	(void)state;
	check_script(steps, LENGTH(steps), NULL, "+a@1 synced ~a@2 ", NULL);
}

static void test_a_busy_server(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST, 429, "", .headers = "Retry-After: 1\r\n"),
		STEP(LIST, 200, PODS("5", "")),
		STEP(WATCH("5"), 429, "", .headers = "Retry-After: 1\r\n"),
		STEP(WATCH("5"), 401, ""),
		STEP(WATCH("5"), 200, ADDED("a", "ua", "6")),
		STEP(WATCH("6"), 0, NULL),
	};
	int64_t began = clock_steady_us(clock_system());
	struct kube_informer_statistics now;

	(void)state;
	check_script(steps, LENGTH(steps), NULL, "synced +a@6 ", &now);
	assert_true(clock_steady_us(clock_system()) - began >= 2000000);
	assert_int_equal(now.errors, 1);
}

/* ---- requests ---- */

static void test_resync(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST, 200, PODS("5", POD("a", "ua", "1") "," POD("b", "ub", "2"))),
		STEP(WATCH("5"), 200, DELETED("b", "ub", "6"), .then = TEST_WAIT),
	};
	const struct kube_informer_config config = {.resync_ms = 2000};
	struct fixture fixture;

	(void)state;
	begin(&fixture, steps, LENGTH(steps), &config);
	/* On a slow machine there is a resync before the watch, too. */
	wait_reported(&fixture, "-b@2 ", false);
	runner_sleep_until(fixture.world.runner, runner_deadline_us(fixture.world.runner, 2000000));
	test_server_go_on(fixture.world.server);
	wait_reported(&fixture, "-b@2 =a@1 ", false);
	end(&fixture);
}

static void test_relist(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST, 200, PODS("5", POD("a", "ua", "1"))),
		STEP(WATCH("5"), 200, ADDED("b", "ub", "6"), .then = TEST_HANG),
		STEP(LIST, 200, PODS("9", POD("a", "ua", "1"))),
		STEP(WATCH("9"), 0, NULL),
	};
	struct fixture fixture;

	(void)state;
	begin(&fixture, steps, LENGTH(steps), NULL);
	wait_story(&fixture, "+a@1 synced +b@6 ");
	kube_informer_relist(fixture.informer);
	wait_script(&fixture);
	wait_story(&fixture, "+a@1 synced +b@6 -b@6 ");
	end(&fixture);
}

/* Stopped in a backoff of an hour, in a list, in a watch, before anything came: at once. */
static void test_stopping(void **state)
{
	static const struct test_step refusing[] = {STEP(LIST, 500, "")};
	static const struct test_step hanging[] = {STEP(LIST, 200, "{", .then = TEST_HANG)};
	static const struct test_step watching[] = {
		STEP(LIST, 200, PODS("5", "")), STEP(WATCH("5"), 200, "", .then = TEST_HANG)};
	const struct kube_informer_config config = {
		.backoff_first_ms = 3600000, .backoff_most_ms = 3600000};
	struct fixture fixture;

	(void)state;
	begin(&fixture, refusing, 1, &config);
	while (statistics(&fixture).errors == 0)
		sched_yield();
	/* A wish is also heard in a backoff. */
	kube_informer_relist(fixture.informer);
	wait_script(&fixture);
	end(&fixture);
	begin(&fixture, hanging, 1, &config);
	while (statistics(&fixture).bytes_received == 0)
		sched_yield();
	assert_int_equal(kube_informer_wait_synced(fixture.informer,
				 runner_deadline_us(fixture.world.runner, 1000)),
		-ETIMEDOUT);
	end(&fixture);
	begin(&fixture, watching, 2, &config);
	while (!statistics(&fixture).watching)
		sched_yield();
	end(&fixture);
	begin(&fixture, NULL, 0, &config);
	end(&fixture);
}

/* ---- bounds ---- */

static void test_too_many(void **state)
{
	static const struct test_step steps[] = {
		STEP(LIST, 200, PODS("5", POD("a", "ua", "1") "," POD("b", "ub", "1"))),
		STEP(WATCH("5"), 200, MODIFIED("a", "ua", "6") ADDED("c", "uc", "7"),
			.then = TEST_HANG),
		STEP(LIST, 200,
			PODS("8", POD("a", "ua", "6") "," POD("b", "ub", "1") "," POD("c", "uc",
					  "7"))),
		STEP(LIST, 200, PODS("9", POD("a", "ua", "6") "," POD("c", "uc", "7")),
			.then = TEST_WAIT),
		STEP(LIST, 200, PODS("9", POD("a", "ua", "6"))),
		STEP(WATCH("9"), 200, "", .then = TEST_HANG),
	};
	const struct kube_informer_config config = {.objects_max = 2};
	struct fixture fixture;

	(void)state;
	begin(&fixture, steps, LENGTH(steps), &config);
	wait_story(&fixture, "+a@1 +b@1 synced ~a@6 ");
	/* Not synced from then on: what is kept is not all there is. */
	while (statistics(&fixture).synced)
		sched_yield();
	test_server_go_on(fixture.world.server);
	/* b is gone, but only a complete list may say so, and one with c in b's place does not fit. */
	wait_story(&fixture, "+a@1 +b@1 synced ~a@6 -b@1 ");
	while (!statistics(&fixture).synced || !statistics(&fixture).watching)
		sched_yield();
	assert_int_equal(statistics(&fixture).objects, 1);
	assert_non_null(strstr(fixture.failures.data, "more pods than may be kept (2 objects"));
	end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_reading),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_a_failed_list_is_not_empty),
		cmocka_unit_test(test_a_list_that_stops),
		cmocka_unit_test(test_another_under_the_same_name),
		cmocka_unit_test(test_refused_and_ignored),
		cmocka_unit_test(test_a_cut_watch_goes_on),
		cmocka_unit_test(test_expired),
		cmocka_unit_test(test_rubbish),
		cmocka_unit_test(test_a_huge_object),
		cmocka_unit_test(test_a_silent_watch),
		cmocka_unit_test(test_a_watch_that_is_always_refused),
		cmocka_unit_test(test_a_busy_server),
		cmocka_unit_test(test_resync),
		cmocka_unit_test(test_relist),
		cmocka_unit_test(test_stopping),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
