/* The promises of store.h, on memory and on SQLite, with a writer's thread and without. */
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "store/store.h"
#include "store/test_kinds.h"
#include "store/test_store.h"

/* ---- one object ---- */

static void test_what_was_put_is_found(void **state)
{
	struct test_store *test = *state;
	struct store *store = test_store_open(test);
	const struct store_object *object;
	uint64_t revision = 0;

	assert_int_equal(test_put(store, &thing_kind, "a", "red 5 big", STORE_ABSENT, &revision,
				 NULL),
		0);
	assert_int_equal(revision, 1);
	{
		_view_ struct store_view *view = store_view_open(store);

		assert_int_equal(store_view_revision(view), 1);
		object = store_get(view, &thing_kind, SPAN("a"));
		assert_non_null(object);
		assert_true(span_is(object->api, "red 5 big"));
		assert_true(span_is(object->private_, "private"));
		assert_true(span_is(object->key, "a"));
		assert_int_equal(object->revision, 1);
		assert_int_equal(thing_of(object)->weight, 5);
		assert_null(store_get(view, &note_kind, SPAN("a")));
		assert_null(store_get(view, &thing_kind, SPAN("")));
		assert_null(store_get(view, &thing_kind, SPAN("aa")));
	}
	store = test_store_reopen(test);
	if (test->durable) {
		_view_ struct store_view *view = store_view_open(store);

		assert_int_equal(store_view_revision(view), 1);
		object = store_get(view, &thing_kind, SPAN("a"));
		assert_non_null(object);
		assert_true(span_is(object->api, "red 5 big"));
		assert_true(span_is(object->private_, "private"));
	}
}

static void test_expectations(void **state)
{
	struct store *store = test_store_open(*state);
	struct err err = {0};
	uint64_t first, second;

	assert_int_equal(test_put(store, &thing_kind, "a", "red 1", STORE_ABSENT, &first, NULL), 0);
	assert_int_equal(test_put(store, &thing_kind, "a", "red 2", STORE_ABSENT, NULL, &err),
		-EEXIST);
	assert_string_equal(err.message, "thing 'a' exists");
	assert_int_equal(err.code, -EEXIST);
	assert_int_equal(test_put(store, &thing_kind, "a", "red 2", first, &second, NULL), 0);
	assert_int_equal(second, first + 1);
	assert_int_equal(test_put(store, &thing_kind, "a", "red 3", first, NULL, &err), -ESTALE);
	assert_non_null(strstr(err.message, "thing 'a' has changed (revision 2, not 1)"));
	assert_int_equal(test_put(store, &thing_kind, "b", "red 3", first, NULL, &err), -ESTALE);
	assert_int_equal(test_delete(store, &thing_kind, "a", first, NULL, &err), -ESTALE);
	assert_int_equal(test_delete(store, &thing_kind, "b", STORE_ANY, NULL, &err), -ENOENT);
	assert_int_equal(test_put(store, &thing_kind, "a", "red 4", STORE_ANY, &second, NULL), 0);
	assert_int_equal(second, 3); /* the rejected write used no revision */
	assert_int_equal(test_delete(store, &thing_kind, "a", second, &second, NULL), 0);
	assert_int_equal(second, 4);
	{
		_view_ struct store_view *view = store_view_open(store);

		assert_null(store_get(view, &thing_kind, SPAN("a")));
		assert_int_equal(store_count(view, &thing_kind, -1, SPAN(""), false), 0);
		assert_int_equal(store_count(view, &thing_kind, THING_BY_COLOR, SPAN(""), false),
			0);
	}
}

static int write_requirements(struct store_transaction *transaction, void *context, struct err *err)
{
	uint64_t revision = *(uint64_t *)context;

	(void)err;
	assert_int_equal(store_require(transaction, &thing_kind, SPAN("a"), revision, NULL), 0);
	assert_int_equal(store_require(transaction, &thing_kind, SPAN("a"), revision + 1, NULL),
		-ESTALE);
	assert_int_equal(store_require(transaction, &thing_kind, SPAN("a"), STORE_ABSENT, NULL),
		-ESTALE);
	assert_int_equal(store_require(transaction, &thing_kind, SPAN("a"), STORE_ANY, NULL), 0);
	assert_int_equal(store_require(transaction, &thing_kind, SPAN("b"), STORE_ABSENT, NULL), 0);
	assert_int_equal(store_require(transaction, &thing_kind, SPAN("b"), revision, NULL),
		-ESTALE);
	assert_int_equal(store_require(transaction, &thing_kind, SPAN("b"), STORE_ANY, NULL),
		-ESTALE);
	return 0;
}

static void test_requirements(void **state)
{
	struct store *store = test_store_open(*state);
	uint64_t revision, unchanged = 0;

	assert_int_equal(test_put(store, &thing_kind, "a", "red 1", STORE_ANY, &revision, NULL), 0);
	assert_int_equal(store_write_wait(store, write_requirements, &revision, &unchanged, NULL),
		0);
	assert_int_equal(unchanged, revision); /* of head: it changed nothing */
}

static int write_too_large(struct store_transaction *transaction, void *context, struct err *err)
{
	_free_ char *large = memory_allocate(STORE_TEXT_MAX + 1);
	const struct span text = {large, STORE_TEXT_MAX + 1};
	const struct span most = {large, STORE_TEXT_MAX};
	const struct span key = {large, STORE_KEY_MAX + 1};
	const struct span longest_key = {large, STORE_KEY_MAX};
	struct err why = {0};

	(void)context;
	memset(large, 'x', STORE_TEXT_MAX + 1);
	assert_int_equal(store_put(transaction, &note_kind, SPAN("a"), text, SPAN(""), STORE_ANY,
				 &why),
		-E2BIG);
	assert_non_null(strstr(why.message, "note 'a': API text of 1048577 bytes"));
	assert_int_equal(store_put(transaction, &note_kind, SPAN("a"), SPAN(""), text, STORE_ANY,
				 &why),
		-E2BIG);
	assert_non_null(strstr(why.message, "private text"));
	assert_int_equal(store_put(transaction, &note_kind, key, SPAN(""), SPAN(""), STORE_ANY,
				 &why),
		-E2BIG);
	assert_int_equal(store_put(transaction, &note_kind, SPAN(""), SPAN(""), SPAN(""), STORE_ANY,
				 &why),
		-EINVAL);
	return store_put(transaction, &note_kind, longest_key, most, most, STORE_ANY, err);
}

static int write_too_many(struct store_transaction *transaction, void *context, struct err *err)
{
	char key[16];

	(void)context;
	for (int i = 0; i < STORE_CHANGES_MAX; i++) {
		snprintf(key, sizeof(key), "%d", i);
		assert_int_equal(store_put(transaction, &note_kind, span_of(key), SPAN(""),
					 SPAN(""), STORE_ANY, err),
			0);
	}
	assert_int_equal(store_delete(transaction, &note_kind, SPAN("0"), STORE_ANY, NULL), -E2BIG);
	return store_put(transaction, &note_kind, SPAN("x"), SPAN(""), SPAN(""), STORE_ANY, err);
}

static void test_limits(void **state)
{
	struct store *store = test_store_open(*state);
	struct store_statistics statistics;
	struct err err = {0};

	assert_int_equal(store_write_wait(store, write_too_large, NULL, NULL, &err), 0);
	assert_int_equal(store_write_wait(store, write_too_many, NULL, NULL, &err), -E2BIG);
	assert_string_equal(err.message, "a transaction changes more than 16384 objects");
	store_statistics(store, &statistics);
	assert_int_equal(statistics.objects, 1);
	assert_int_equal(statistics.revision, 1);
}

static void test_refused_by_the_kind(void **state)
{
	struct store *store = test_store_open(*state);
	struct err err = {0};

	assert_int_equal(test_put(store, &thing_kind, "a", "red 1", STORE_ANY, NULL, NULL), 0);
	assert_int_equal(test_put(store, &thing_kind, "a", "!", STORE_ANY, NULL, &err), -EINVAL);
	assert_string_equal(err.message, "thing 'a': refused by the kind");
	assert_int_equal(err.code, -EINVAL);
	assert_int_equal(test_put(store, &thing_kind, "a", "red blue", STORE_ANY, NULL, &err),
		-EINVAL);
	{
		_view_ struct store_view *view = store_view_open(store);

		assert_true(span_is(store_get(view, &thing_kind, SPAN("a"))->api, "red 1"));
	}
}

/* ---- several changes ---- */

/* Changes in order; then what the function returns. */
struct batch {
	const struct test_change *changes;
	size_t count;
	int code;
	int done_code;
	bool done;
	uint64_t revision;
	sem_t *started;  /* posted when the function runs */
	sem_t *wait_for; /* before anything else */
	sem_t *answered; /* posted at the end */
	size_t *order;   /* counts answers */
	size_t place;    /* of this one */
	char message[ERR_MESSAGE_MAX];
};

static int write_batch(struct store_transaction *transaction, void *context, struct err *err)
{
	struct batch *batch = context;

	if (batch->started)
		sem_post(batch->started);
	if (batch->wait_for)
		sem_wait(batch->wait_for);
	for (size_t i = 0; i < batch->count; i++) {
		int code = test_change_write(transaction, (void *)&batch->changes[i], err);

		if (code < 0)
			return code;
	}
	return batch->code < 0 ? err_set(err, batch->code, "own reason") : 0;
}

static void batch_done(void *context, int code, uint64_t revision, const struct err *err)
{
	struct batch *batch = context;

	batch->done = true;
	batch->done_code = code;
	batch->revision = revision;
	if (batch->order)
		batch->place = ++*batch->order;
	if (code < 0)
		snprintf(batch->message, sizeof(batch->message), "%s", err->message);
	if (batch->answered)
		sem_post(batch->answered);
}

static void test_a_failed_write_changes_nothing(void **state)
{
	const struct test_change changes[] = {
		{&thing_kind, "a", "blue 7 small", STORE_ANY},
		{&thing_kind, "b", "blue 8", STORE_ABSENT},
		{&thing_kind, "c", NULL, STORE_ANY},
		{&thing_kind, "b", NULL, STORE_ANY},
		{&note_kind, "n", "", STORE_ABSENT},
	};
	struct batch batch = {changes, LENGTH(changes), .code = -EDOM};
	struct store *store = test_store_open(*state);
	struct err err = {0};
	uint64_t revision;

	assert_int_equal(test_put(store, &thing_kind, "a", "red 1 big", STORE_ANY, NULL, NULL), 0);
	assert_int_equal(test_put(store, &thing_kind, "c", "red 2", STORE_ANY, NULL, NULL), 0);
	assert_int_equal(store_write_wait(store, write_batch, &batch, NULL, &err), -EDOM);
	assert_string_equal(err.message, "own reason");
	{
		_view_ struct store_view *view = store_view_open(store);

		assert_int_equal(store_view_revision(view), 2);
		assert_true(span_is(store_get(view, &thing_kind, SPAN("a"))->api, "red 1 big"));
		assert_null(store_get(view, &thing_kind, SPAN("b")));
		assert_non_null(store_get(view, &thing_kind, SPAN("c")));
		assert_null(store_get(view, &note_kind, SPAN("n")));
		assert_int_equal(store_count(view, &thing_kind, THING_BY_COLOR, SPAN("red"), true),
			2);
		assert_int_equal(store_count(view, &thing_kind, THING_BY_COLOR, SPAN("blue"), true),
			0);
		assert_int_equal(store_count(view, &thing_kind, THING_BY_WORD, SPAN(""), false), 1);
	}
	/* and head does not have it either */
	batch.code = 0;
	assert_int_equal(store_write_wait(store, write_batch, &batch, &revision, NULL), 0);
	assert_int_equal(revision, 7);
	{
		_view_ struct store_view *view = store_view_open(store);

		assert_true(span_is(store_get(view, &thing_kind, SPAN("a"))->api, "blue 7 small"));
		assert_null(store_get(view, &thing_kind, SPAN("b")));
		assert_null(store_get(view, &thing_kind, SPAN("c")));
		assert_int_equal(store_count(view, &thing_kind, THING_BY_COLOR, SPAN(""), false),
			1);
	}
}

static int write_and_inspect(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct store_object *before =
		store_get(store_head(transaction), &thing_kind, SPAN("a"));
	uint64_t next = store_next_revision(transaction);
	struct span text = arena_format(store_transaction_arena(transaction), "red %d", 9);
	int code;

	(void)context;
	code = store_put(transaction, &thing_kind, SPAN("a"), text, SPAN(""), before->revision,
		err);
	assert_int_equal(code, 0);
	assert_int_equal(store_next_revision(transaction), next + 1);
	assert_true(span_is(before->api, "red 1")); /* still valid */
	assert_int_equal(store_get(store_head(transaction), &thing_kind, SPAN("a"))->revision,
		next);
	code = store_delete(transaction, &thing_kind, SPAN("a"), next, err);
	assert_int_equal(code, 0);
	assert_true(span_is(before->api, "red 1"));
	assert_null(store_get(store_head(transaction), &thing_kind, SPAN("a")));
	assert_int_equal(store_view_revision(store_head(transaction)), next + 1);
	return store_put(transaction, &thing_kind, SPAN("a"), SPAN("red 3"), SPAN(""), STORE_ABSENT,
		err);
}

static void test_a_write_sees_its_own_changes(void **state)
{
	struct store *store = test_store_open(*state);
	uint64_t revision;

	assert_int_equal(test_put(store, &thing_kind, "a", "red 1", STORE_ANY, NULL, NULL), 0);
	assert_int_equal(store_write_wait(store, write_and_inspect, NULL, &revision, NULL), 0);
	assert_int_equal(revision, 4);
	store = test_store_reopen(*state);
	if (((struct test_store *)*state)->durable) {
		_view_ struct store_view *view = store_view_open(store);
		const struct store_object *object = store_get(view, &thing_kind, SPAN("a"));

		assert_int_equal(object->revision, 4);
		assert_true(span_is(object->api, "red 3"));
		assert_int_equal(object->private_.length, 0);
		assert_non_null(object->private_.data);
	}
}

static void test_a_view_stays_as_it_was(void **state)
{
	struct store *store = test_store_open(*state);
	_object_ const struct store_object *kept = NULL;

	assert_int_equal(test_put(store, &thing_kind, "a", "red 1", STORE_ANY, NULL, NULL), 0);
	{
		_view_ struct store_view *old = store_view_open(store);

		assert_int_equal(test_put(store, &thing_kind, "a", "blue 2", STORE_ANY, NULL, NULL),
			0);
		assert_int_equal(test_put(store, &thing_kind, "b", "red 3", STORE_ANY, NULL, NULL),
			0);
		assert_int_equal(test_delete(store, &thing_kind, "a", STORE_ANY, NULL, NULL), 0);
		assert_int_equal(store_view_revision(old), 1);
		assert_true(span_is(store_get(old, &thing_kind, SPAN("a"))->api, "red 1"));
		assert_null(store_get(old, &thing_kind, SPAN("b")));
		assert_int_equal(store_count(old, &thing_kind, THING_BY_COLOR, SPAN("red"), true),
			1);
		kept = store_object_ref(store_get(old, &thing_kind, SPAN("a")));
	}
	assert_true(span_is(kept->api, "red 1"));
	assert_true(span_is(thing_of(kept)->color, "red"));
}

/* ---- walking ---- */

struct expected_walk {
	struct store_cursor cursor;
	const char *keys; /* one letter each */
};

static void check_walk(const struct store_view *view, const struct expected_walk *expected)
{
	struct store_cursor cursor = expected->cursor;
	const struct store_object *object;
	char found[32] = "";

	cursor.view = view;
	cursor.kind = &thing_kind;
	while ((object = store_next(&cursor)))
		strncat(found, object->key.data, object->key.length);
	assert_string_equal(found, expected->keys);
	assert_null(store_next(&cursor)); /* the end stays the end */
}

#define BY_KEY .index = -1
#define BY_COLOR .index = THING_BY_COLOR
#define BY_WORD .index = THING_BY_WORD
#define PREFIX(text) .prefix = SPAN(text)
#define EXACT .exact = true
#define DOWN .descending = true
#define AFTER_KEY(key) .after_key = SPAN(key)
#define AFTER(text, key) .after_text = SPAN(text), .after_key = SPAN(key)

static void test_cursors(void **state)
{
	const struct test_change changes[] = {
		{&thing_kind, "a", "red 1 x y", STORE_ANY},
		{&thing_kind, "b", "red 2 y", STORE_ANY},
		{&thing_kind, "c", "redder 3 xx x xx", STORE_ANY},
		{&thing_kind, "d", "blue 4", STORE_ANY},
		{&thing_kind, "e", "red 500", STORE_ANY},
		{&note_kind, "n", "", STORE_ANY},
	};
	const struct expected_walk walks[] = {
		{{BY_KEY}, "abcde"},
		{{BY_KEY, DOWN}, "edcba"},
		{{BY_KEY, PREFIX("b")}, "b"},
		{{BY_KEY, PREFIX("bb")}, ""},
		{{BY_KEY, PREFIX("c"), EXACT}, "c"},
		{{BY_KEY, AFTER_KEY("b")}, "cde"},
		{{BY_KEY, AFTER_KEY("bb")}, "cde"},
		{{BY_KEY, AFTER_KEY("")}, "abcde"},
		{{BY_KEY, AFTER_KEY("e")}, ""},
		{{BY_KEY, DOWN, AFTER_KEY("b")}, "a"},
		{{BY_KEY, DOWN, AFTER_KEY("z")}, "edcba"},
		{{BY_KEY, DOWN, AFTER_KEY("a")}, ""},
		{{BY_KEY, PREFIX("c"), AFTER_KEY("a")}, "c"},
		{{BY_KEY, PREFIX("c"), AFTER_KEY("d")}, ""},
		{{BY_KEY, PREFIX("c"), DOWN, AFTER_KEY("d")}, "c"},
		{{BY_KEY, PREFIX("c"), DOWN, AFTER_KEY("b")}, ""},
		{{BY_COLOR}, "dabec"},
		{{BY_COLOR, DOWN}, "cebad"},
		{{BY_COLOR, PREFIX("red")}, "abec"},
		{{BY_COLOR, PREFIX("red"), EXACT}, "abe"},
		{{BY_COLOR, PREFIX("red"), EXACT, DOWN}, "eba"},
		{{BY_COLOR, PREFIX("red"), DOWN}, "ceba"},
		{{BY_COLOR, PREFIX("green"), EXACT}, ""},
		{{BY_COLOR, PREFIX("red"), EXACT, AFTER("red", "a")}, "be"},
		{{BY_COLOR, PREFIX("red"), EXACT, AFTER_KEY("a")}, "be"},
		{{BY_COLOR, PREFIX("red"), EXACT, DOWN, AFTER("red", "e")}, "ba"},
		{{BY_COLOR, PREFIX("red"), EXACT, AFTER("blue", "d")}, "abe"},
		{{BY_COLOR, PREFIX("red"), EXACT, DOWN, AFTER("redder", "c")}, "eba"},
		{{BY_COLOR, PREFIX("red"), AFTER("red", "e")}, "c"},
		{{BY_COLOR, PREFIX("red"), DOWN, AFTER("redder", "c")}, "eba"},
		{{BY_COLOR, AFTER("blue", "d")}, "abec"},
		{{BY_COLOR, .after_text = SPAN("red")}, "c"},
		{{BY_COLOR, DOWN, .after_text = SPAN("red")}, "d"},
		{{BY_COLOR, PREFIX("red"), AFTER("zoo", "a")}, ""},
		{{BY_COLOR, PREFIX("red"), DOWN, AFTER("zoo", "a")}, "ceba"},
		{{BY_COLOR, PREFIX("red"), DOWN, AFTER("aaa", "a")}, ""},
		{{BY_WORD}, "accab"},
		{{BY_WORD, PREFIX("x")}, "acc"},
		{{BY_WORD, PREFIX("x"), EXACT}, "ac"},
		{{BY_WORD, PREFIX("y"), EXACT}, "ab"},
		{{.index = THING_HEAVY}, "e"},
	};
	struct batch batch = {.changes = changes, .count = LENGTH(changes)};
	struct store *store = test_store_open(*state);
	_view_ struct store_view *view = NULL;
	int64_t sums[STORE_MEASURES];

	assert_int_equal(store_write_wait(store, write_batch, &batch, NULL, NULL), 0);
	view = store_view_open(store);
	for (size_t i = 0; i < LENGTH(walks); i++) {
		const struct store_cursor *cursor = &walks[i].cursor;

		check_walk(view, &walks[i]);
		if (!cursor->after_key.data && !cursor->after_text.data)
			assert_int_equal(store_count(view, &thing_kind, cursor->index,
						 cursor->prefix, cursor->exact),
				strlen(walks[i].keys));
	}
	store_sum(view, &thing_kind, THING_BY_COLOR, SPAN("red"), true, sums);
	assert_int_equal(sums[0], 503);
	assert_int_equal(sums[1], 3);
	store_sum(view, &thing_kind, THING_BY_COLOR, SPAN("red"), false, sums);
	assert_int_equal(sums[0], 506);
	store_sum(view, &thing_kind, THING_BY_COLOR, SPAN(""), false, sums);
	assert_int_equal(sums[0], 510);
	assert_int_equal(sums[1], 6);
	store_sum(view, &thing_kind, THING_BY_WORD, SPAN("x"), false, sums);
	assert_int_equal(sums[0], 0); /* no measure */
}

/* Many enough for several levels; pages of 7 with a position of their own each. */
static void test_pages(void **state)
{
	enum { COUNT = 3000 };
	struct store *store = test_store_open(*state);
	struct test_change *changes = memory_allocate_array(COUNT, sizeof(*changes));
	_view_ struct store_view *view = NULL;
	char(*texts)[2][24] = memory_allocate_array(COUNT, sizeof(*texts));
	struct span after_text = SPAN_NONE, after_key = SPAN_NONE;
	size_t found = 0, pages = 0;
	struct batch batch = {.changes = changes, .count = COUNT};

	for (unsigned i = 0; i < COUNT; i++) {
		snprintf(texts[i][0], 24, "%05u", (i * 7919) % COUNT);
		snprintf(texts[i][1], 24, "c%u %u", i % 5, i);
		changes[i] =
			(struct test_change){&thing_kind, texts[i][0], texts[i][1], STORE_ABSENT};
	}
	assert_int_equal(store_write_wait(store, write_batch, &batch, NULL, NULL), 0);
	view = store_view_open(store);
	for (;;) {
		struct store_cursor cursor = {
			.view = view,
			.kind = &thing_kind,
			.index = THING_BY_COLOR,
			.after_text = after_text,
			.after_key = after_key,
		};
		const struct store_object *object = NULL;
		size_t in_page = 0;

		while (in_page < 7 && (object = store_next(&cursor))) {
			assert_true(!after_text.data || span_compare(after_text, cursor.text) < 0 ||
				    span_compare(after_key, object->key) < 0);
			after_text = cursor.text;
			after_key = object->key;
			in_page++;
		}
		found += in_page;
		pages++;
		if (!object)
			break;
	}
	assert_int_equal(found, COUNT);
	assert_int_equal(pages, COUNT / 7 + 1);
	assert_int_equal(store_count(view, &thing_kind, THING_BY_COLOR, SPAN("c3"), true),
		COUNT / 5);
	free(changes);
	free(texts);
}

/* ---- groups ---- */

struct group_fault {
	int commits;
	int fail_at; /* which commit fails before */
	int stop_at; /* after which commit everything stops */
};

static int fault_before(void *context)
{
	struct group_fault *fault = context;

	return ++fault->commits == fault->fail_at ? -ENOSPC : 0;
}

static int fault_after(void *context)
{
	struct group_fault *fault = context;

	return fault->commits == fault->stop_at ? -ECANCELED : 0;
}

/* The first write holds the writer up until the others are queued: they are one group. */
static void test_a_group_shares_its_fate(void **state)
{
	const struct test_change first[] = {{&thing_kind, "a", "red 1", STORE_ABSENT}};
	const struct test_change second[] = {
		{&thing_kind, "b", "red 2", STORE_ABSENT}, {&thing_kind, "a", "red 3", STORE_ANY}};
	const struct test_change refused[] = {{&thing_kind, "b", "red 3", STORE_ABSENT}};
	struct group_fault fault = {.fail_at = 2};
	struct store_faults faults = {.before_commit = fault_before, .context = &fault};
	size_t answers = 0;
	sem_t started, hold, answered;
	struct batch batches[] = {
		{first, 1, .started = &started, .wait_for = &hold, .order = &answers},
		{second, 2, .order = &answers},
		{refused, 1, .order = &answers}, /* because of the one before */
		{NULL, 0, .order = &answers},    /* reads only, but may have read the others' */
		{refused, 0, .code = -EDOM, .order = &answers, .answered = &answered},
	};
	struct test_store *test = *state;
	struct store_statistics statistics;
	struct store *store;

	sem_init(&started, 0, 0);
	sem_init(&hold, 0, 0);
	sem_init(&answered, 0, 0);
	test->config.faults = &faults;
	store = test_store_open(test);
	for (size_t i = 0; i < LENGTH(batches); i++) {
		assert_int_equal(store_write(store, write_batch, batch_done, &batches[i], NULL), 0);
		if (i == 0)
			sem_wait(&started); /* alone in its group */
	}
	sem_post(&hold);
	sem_wait(&answered);
	assert_int_equal(test_put(store, &thing_kind, "c", "red 1", STORE_ABSENT, NULL, NULL), 0);
	assert_int_equal(batches[0].done_code, 0);
	assert_int_equal(batches[1].done_code, -EIO);
	assert_int_equal(batches[2].done_code, -EEXIST);
	assert_int_equal(batches[3].done_code, -EIO);
	assert_int_equal(batches[4].done_code, -EDOM);
	assert_string_equal(batches[1].message,
		"cannot be made durable: the database failed, and the log has the reason");
	assert_int_equal(answers, LENGTH(batches));
	for (size_t i = 0; i < LENGTH(batches); i++)
		assert_int_equal(batches[i].place, i + 1);
	{
		_view_ struct store_view *view = store_view_open(store);

		assert_true(span_is(store_get(view, &thing_kind, SPAN("a"))->api, "red 1"));
		assert_null(store_get(view, &thing_kind, SPAN("b")));
		assert_non_null(store_get(view, &thing_kind, SPAN("c")));
		assert_int_equal(store_view_revision(view), 2); /* none was lost to the failure */
	}
	store_statistics(store, &statistics);
	assert_int_equal(statistics.failed_groups, 1);
	assert_int_equal(statistics.transactions, 2);
	assert_int_equal(statistics.changes, 2);
	assert_int_equal(statistics.revision, 2);
	assert_int_equal(statistics.objects, 2);
	assert_true(statistics.available);
	assert_string_equal(buffer_span(&test->reports).data,
		"the database cannot be written: fault before the commit\n"
		"the database can be written again\n");
	sem_destroy(&started);
	sem_destroy(&hold);
	sem_destroy(&answered);
}

static void test_stopped_after_the_commit(void **state)
{
	struct group_fault fault = {.stop_at = 2};
	struct store_faults faults = {
		.before_commit = fault_before, .after_commit = fault_after, .context = &fault};
	struct test_store *test = *state;
	struct store *store;

	test->config.faults = &faults;
	store = test_store_open(test);
	assert_int_equal(test_put(store, &thing_kind, "a", "red 1", STORE_ABSENT, NULL, NULL), 0);
	assert_int_equal(test_put(store, &thing_kind, "b", "red 1", STORE_ABSENT, NULL, NULL),
		-ECANCELED);
	assert_int_equal(test_put(store, &thing_kind, "c", "red 1", STORE_ABSENT, NULL, NULL),
		-ECANCELED);
	{
		_view_ struct store_view *view = store_view_open(store);

		assert_null(store_get(view, &thing_kind, SPAN("b")));
	}
	test->config.faults = NULL;
	store = test_store_reopen(test);
	if (test->durable) {
		_view_ struct store_view *view = store_view_open(store);

		assert_non_null(store_get(view, &thing_kind, SPAN("a")));
		assert_non_null(store_get(view, &thing_kind, SPAN("b")));
		assert_null(store_get(view, &thing_kind, SPAN("c")));
		assert_int_equal(store_view_revision(view), 2);
	}
}

static void test_closing_answers_everyone(void **state)
{
	enum { COUNT = 3000 };
	struct test_store *test = *state;
	struct store *store = test_store_open(test);
	struct batch *batches = memory_allocate_array(COUNT, sizeof(*batches));
	size_t answers = 0;
	sem_t hold;

	sem_init(&hold, 0, 0);
	for (size_t i = 0; i < COUNT; i++) {
		batches[i] = (struct batch){.order = &answers,
			.wait_for = i == 0 && !test->config.inline_writes ? &hold : NULL};
		assert_int_equal(store_write(store, write_batch, batch_done, &batches[i], NULL), 0);
	}
	sem_post(&hold);
	store_close(TAKE(test->store));
	assert_int_equal(answers, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(batches[i].done_code, 0);
	sem_destroy(&hold);
	free(batches);
}

static int write_nothing(struct store_transaction *transaction, void *context, struct err *err)
{
	(void)transaction, (void)context, (void)err;
	return 0;
}

static void test_too_many_writes(void **state)
{
	enum { MOST = 65536 };
	struct store *store = test_store_open(*state);
	struct batch blocking = {0}, many = {0};
	struct err err = {0};
	size_t queued = 0, answers = 0;
	int code;
	sem_t hold;

	sem_init(&hold, 0, 0);
	blocking.wait_for = &hold;
	many.order = &answers;
	assert_int_equal(store_write(store, write_batch, batch_done, &blocking, NULL), 0);
	while ((code = store_write(store, write_batch, batch_done, &many, &err)) == 0)
		queued++;
	assert_int_equal(code, -EAGAIN);
	assert_in_range(queued, MOST - 1, MOST + 1024); /* the writer may have taken some */
	sem_post(&hold);
	/* soon there is room again */
	while (store_write_wait(store, write_nothing, NULL, NULL, NULL) == -EAGAIN)
		;
	assert_int_equal(answers, queued);
	sem_destroy(&hold);
}

/* ---- writes that ask for writes ---- */

struct chain {
	struct store *store;
	int left;
	sem_t end;
};

static int write_link(struct store_transaction *transaction, void *context, struct err *err)
{
	struct chain *chain = context;
	char key[16];

	snprintf(key, sizeof(key), "%d", chain->left);
	return store_put(transaction, &note_kind, span_of(key), SPAN(""), SPAN(""), STORE_ABSENT,
		err);
}

static void chain_done(void *context, int code, uint64_t revision, const struct err *err)
{
	struct chain *chain = context;

	(void)revision, (void)err;
	assert_int_equal(code, 0);
	if (--chain->left == 0)
		sem_post(&chain->end);
	else
		assert_int_equal(store_write(chain->store, write_link, chain_done, chain, NULL), 0);
}

static void test_done_may_write_again(void **state)
{
	struct store *store = test_store_open(*state);
	struct chain chain = {.store = store, .left = 100};
	struct store_statistics statistics;

	sem_init(&chain.end, 0, 0);
	assert_int_equal(store_write(store, write_link, chain_done, &chain, NULL), 0);
	sem_wait(&chain.end);
	assert_int_equal(store_write_wait(store, write_nothing, NULL, NULL, NULL), 0);
	store_statistics(store, &statistics);
	assert_int_equal(statistics.objects, 100);
	assert_int_equal(statistics.queue, 0);
	sem_destroy(&chain.end);
}

/* ---- opening ---- */

static int try_open(struct test_store *test, struct err *err)
{
	return store_open(&test->config, &test->store, err);
}

static void test_configuration_is_checked(void **state)
{
	const struct store_kind *const twice[] = {&thing_kind, &note_kind, &thing_kind};
	struct test_store *test = *state;
	struct err err = {0};

	test->config.url = "mysql:x";
	assert_int_equal(try_open(test, &err), -EINVAL);
	assert_non_null(strstr(err.message, "'mysql:x' is none of sqlite:PATH"));
	test->config.url = "sqlite:"; /* to SQLite: a database that it deletes at the end */
	assert_int_equal(try_open(test, &err), -EINVAL);
	test->config.url = "sqlite::memory:";
	assert_int_equal(try_open(test, &err), -EINVAL);
	test->config.url = "postgresql://x";
	test->config.inline_writes = true;
	assert_int_equal(try_open(test, &err), -EINVAL);
	test->config.inline_writes = false;
	test->config.url = test->url;
	test->config.kinds = twice;
	test->config.kind_count = 3;
	assert_int_equal(try_open(test, &err), -EINVAL);
	assert_string_equal(err.message, "two kinds are called 'thing'");
	test->config.kinds = test_kinds;
	test->config.kind_count = 2;
	test->config.key_path = NULL;
	assert_int_equal(try_open(test, &err), test->durable ? -EINVAL : 0);
}

static void test_key_file(void **state)
{
	struct test_store *test = *state;
	_buffer_ struct buffer key = {0}, other = {0};
	struct store *store = test_store_open(test);
	struct store_statistics statistics;
	struct err err = {0};
	struct stat found;

	assert_int_equal(stat(test->key_path, &found), 0);
	assert_int_equal(found.st_mode & 0777, 0600);
	assert_int_equal(test_put(store, &thing_kind, "a", "red 1", STORE_ANY, NULL, NULL), 0);
	assert_int_equal(test_put(store, &thing_kind, "b", "red 1", STORE_ANY, NULL, NULL), 0);
	store_close(TAKE(test->store));
	assert_int_equal(file_read(test->key_path, 100, &key, NULL), 0);
	assert_int_equal(key.length, 65);

	/* a lost key is not replaced by a new one, which would quarantine everything */
	assert_int_equal(unlink(test->key_path), 0);
	assert_int_equal(try_open(test, &err), -ENOKEY);
	assert_non_null(strstr(err.message, test->key_path));
	assert_int_equal(access(test->key_path, F_OK), -1);
	/* a damaged one is named */
	assert_int_equal(file_replace(test->key_path, SPAN("abc\n"), 0600, NULL), 0);
	assert_int_equal(try_open(test, &err), -EINVAL);
	assert_non_null(strstr(err.message, "has 3 characters, not 64 hexadecimal digits"));
	/* under a wrong one nothing is believed, and nothing is begun */
	buffer_add_span(&other, buffer_span(&key));
	other.data[0] = key.data[0] == '0' ? '1' : '0';
	assert_int_equal(file_replace(test->key_path, buffer_span(&other), 0600, NULL), 0);
	assert_int_equal(try_open(test, &err), -EKEYREJECTED);
	assert_non_null(strstr(err.message, "is the key file the one of this database?"));
	/* with the right one all is well again */
	assert_int_equal(file_replace(test->key_path, buffer_span(&key), 0600, NULL), 0);
	store = test_store_open(test);
	store_statistics(store, &statistics);
	assert_int_equal(statistics.objects, 2);
	assert_int_equal(statistics.quarantined, 0);
}

/* The database knows its key by itself, however few records it has. */
static void test_a_database_keeps_its_key(void **state)
{
	struct test_store *test = *state;
	_buffer_ struct buffer key = {0};
	struct err err = {0};

	test_store_open(test);
	store_close(TAKE(test->store));
	assert_int_equal(file_read(test->key_path, 100, &key, NULL), 0);
	/* without any record, and without a key: the new one is not kept */
	assert_int_equal(unlink(test->key_path), 0);
	assert_int_equal(try_open(test, &err), -EKEYREJECTED);
	assert_int_equal(access(test->key_path, F_OK), -1);
	/* with one record, and another key */
	assert_int_equal(file_replace(test->key_path, buffer_span(&key), 0600, NULL), 0);
	test_store_open(test);
	assert_int_equal(test_put(test->store, &thing_kind, "a", "red 1", STORE_ANY, NULL, NULL),
		0);
	store_close(TAKE(test->store));
	key.data[0] = key.data[0] == '0' ? '1' : '0';
	assert_int_equal(file_replace(test->key_path, buffer_span(&key), 0600, NULL), 0);
	assert_int_equal(try_open(test, &err), -EKEYREJECTED);
	assert_int_equal(access(test->key_path, F_OK), 0); /* it is the operator's file */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_ON_ALL(test_what_was_put_is_found),
		TEST_ON_ALL(test_expectations),
		TEST_ON_ALL(test_requirements),
		TEST_ON_ALL(test_limits),
		TEST_ON_ALL(test_refused_by_the_kind),
		TEST_ON_ALL(test_a_failed_write_changes_nothing),
		TEST_ON_ALL(test_a_write_sees_its_own_changes),
		TEST_ON_ALL(test_a_view_stays_as_it_was),
		TEST_ON_ALL(test_cursors),
		TEST_ON_ALL(test_pages),
		TEST_ON(test_a_group_shares_its_fate, memory),
		TEST_ON(test_a_group_shares_its_fate, sqlite),
		TEST_ON_ALL(test_stopped_after_the_commit),
		TEST_ON_ALL(test_closing_answers_everyone),
		TEST_ON(test_too_many_writes, memory),
		TEST_ON_ALL(test_done_may_write_again),
		TEST_ON(test_configuration_is_checked, memory),
		TEST_ON(test_configuration_is_checked, sqlite),
		TEST_ON(test_key_file, sqlite),
		TEST_ON(test_a_database_keeps_its_key, sqlite),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
