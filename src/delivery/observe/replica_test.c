/* The replica of a cluster: events in every order, complete and cut listings, and deleted entries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/random.h"
#include "delivery/observe/replica.h"

#define NOW INT64_C(1700000000000)
#define STEADY 5000 /* then */
static const struct replica_limits wide = {.stopped_max = 1000,
	.stopped_ms = 3600000,
	.tombstones_max = 1000,
	.tombstones_ms = 7200000,
	.group_prefix = SPAN("env:")};

/* ---- records ---- */

static struct observe_instance instance(const char *id, uint64_t version)
{
	return (struct observe_instance){.id = span_of(id),
		.arn = span_of(id),
		.host = SPAN(""),
		.status = OBSERVE_INSTANCE_ACTIVE,
		.connected = true,
		.attributes = SPAN(";stack=prod;"),
		.version = version};
}

static struct moment at(int64_t after_ms)
{
	return (struct moment){.wall_ms = NOW + after_ms, .steady_ms = STEADY + after_ms};
}

static struct observe_task task(const char *arn, const char *on, enum observe_task_status last,
	uint64_t version)
{
	return (struct observe_task){.arn = span_of(arn),
		.instance = span_of(on),
		.group = SPAN("env:log"),
		.started_by = SPAN("d-1"),
		.task_definition = SPAN("log:1"),
		.last = last,
		.wanted = last < OBSERVE_TASK_DEACTIVATING,
		.created_ms = NOW,
		.stopped_ms = last == OBSERVE_TASK_STOPPED ? NOW + (int64_t)version : 0,
		.stop_code = SPAN(""),
		.stopped_reason = SPAN(""),
		.version = version};
}

static bool put_instance(struct replica *state, const char *id, uint64_t version)
{
	struct observe_instance requested = instance(id, version);

	return replica_put_instance(state, &requested, at(0));
}

static bool put_task(struct replica *state, const char *arn, const char *on,
	enum observe_task_status last, uint64_t version)
{
	struct observe_task requested = task(arn, on, last, version);

	return replica_put_task(state, &requested, at(0));
}

static bool list_task(struct replica *state, const char *arn, const char *on,
	enum observe_task_status last, uint64_t version)
{
	struct observe_task requested = task(arn, on, last, version);

	return replica_list_task(state, &requested, at(0));
}

static bool list_instance(struct replica *state, const char *id, uint64_t version)
{
	struct observe_instance requested = instance(id, version);

	return replica_list_instance(state, &requested, at(0));
}

static bool has_instance(struct replica *state, const char *id)
{
	_arena_ struct arena *arena = arena_new(0);

	return replica_get_instance(state, span_of(id), arena);
}

/* -1: there is none. */
static int last_of(struct replica *state, const char *arn)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct observe_task *found = replica_get_task(state, span_of(arn), arena);

	return found ? (int)found->last : -1;
}

/* ---- everything as text, in an order that does not depend on how it came about ---- */

static int by_text(const void *a, const void *b)
{
	return span_compare(*(const struct span *)a, *(const struct span *)b);
}

static struct span describe(const struct replica *state, struct arena *arena)
{
	struct span *lines = arena_allocate_array(arena, 1000, sizeof(*lines)), *ids;
	size_t count = 0, instances = replica_list(state, arena, &ids), position = 0;
	_buffer_ struct buffer out = {0};
	const struct observe_task *found;

	for (size_t i = 0; i < instances; i++) {
		const struct observe_instance *known = replica_get_instance(state, ids[i], arena);
		struct span live = SPAN("");

		for (size_t j = 0; j < known->task_count; j++)
			live = arena_format(arena, "%.*s %.*s", SPAN_ARGS(live),
				SPAN_ARGS(known->tasks[j].arn));
		lines[count++] = arena_format(arena, "i %.*s v%llu %d:%.*s", SPAN_ARGS(known->id),
			(unsigned long long)known->version, known->status, SPAN_ARGS(live));
	}
	while ((found = replica_next_task(state, &position))) {
		const struct observe_task *latest =
			replica_last_stopped(state, found->instance, found->group, arena);

		lines[count++] = arena_format(arena, "t %.*s on %.*s v%llu %d, latest %.*s",
			SPAN_ARGS(found->arn), SPAN_ARGS(found->instance),
			(unsigned long long)found->version, found->last,
			SPAN_ARGS(latest ? latest->arn : SPAN("none")));
	}
	qsort(lines, count, sizeof(*lines), by_text);
	for (size_t i = 0; i < count; i++)
		buffer_format(&out, "%.*s\n", SPAN_ARGS(lines[i]));
	return arena_copy_span(arena, buffer_span(&out));
}

static void assert_same(struct span a, struct span b)
{
	if (!span_equal(a, b))
		fail_msg("%.*s\nis not\n%.*s", SPAN_ARGS(a), SPAN_ARGS(b));
}

/* ---- changes ---- */

struct changes {
	char type; /* i, t: put; I, T: remove */
	const char *name, *on;
	int status;
	uint64_t version;
};

static bool apply(struct replica *state, const struct changes *changes)
{
	struct observe_instance requested;

	switch (changes->type) {
	case 'i':
		requested = instance(changes->name, changes->version);
		requested.status = (enum observe_instance_status)changes->status;
		return replica_put_instance(state, &requested, at(0));
	case 'I':
		return replica_remove_instance(state, span_of(changes->name), changes->version,
			at(0));
	case 't':
		return put_task(state, changes->name, changes->on,
			(enum observe_task_status)changes->status, changes->version);
	default:
		return replica_remove_task(state, span_of(changes->name), changes->version, at(0),
			NULL, NULL);
	}
}

/* Scenario 62. */
static void test_versions(void **unused)
{
	_replica_ struct replica *state = replica_new(&wide);
	_arena_ struct arena *arena = arena_new(0);

	(void)unused;
	assert_true(put_task(state, "t1", "i1", OBSERVE_TASK_RUNNING, 5));
	assert_false(put_task(state, "t1", "i1", OBSERVE_TASK_PENDING, 4));
	assert_false(put_task(state, "t1", "i1", OBSERVE_TASK_RUNNING, 5));
	assert_false(put_task(state, "t1", "i1", OBSERVE_TASK_PENDING, 5));
	assert_int_equal(last_of(state, "t1"), OBSERVE_TASK_RUNNING);
	assert_true(put_task(state, "t1", "i1", OBSERVE_TASK_STOPPED, 7));
	assert_false(put_task(state, "t1", "i1", OBSERVE_TASK_STOPPING, 6));
	assert_int_equal(last_of(state, "t1"), OBSERVE_TASK_STOPPED);

	assert_true(put_instance(state, "i1", 2));
	assert_false(put_instance(state, "i1", 1));
	assert_false(put_instance(state, "i1", 2));
	assert_int_equal(replica_get_instance(state, SPAN("i1"), arena)->version, 2);
	assert_null(replica_get_instance(state, SPAN("i2"), arena));
	assert_int_equal(replica_instance_count(state), 1);
	assert_int_equal(replica_task_count(state), 1);
}

/* Scenario 64. */
static void test_no_resurrection(void **unused)
{
	_replica_ struct replica *state = replica_new(&wide);
	_arena_ struct arena *arena = arena_new(0);
	struct span on;

	(void)unused;
	put_task(state, "t1", "i1", OBSERVE_TASK_RUNNING, 5);
	assert_true(replica_remove_task(state, SPAN("t1"), 6, at(0), arena, &on));
	assert_true(span_is(on, "i1"));
	assert_false(put_task(state, "t1", "i1", OBSERVE_TASK_RUNNING, 5));
	assert_false(put_task(state, "t1", "i1", OBSERVE_TASK_STOPPED, 6));
	assert_false(replica_remove_task(state, SPAN("t1"), 6, at(0), arena, &on));
	assert_true(span_is(on, ""));
	assert_int_equal(last_of(state, "t1"), -1);
	/* Nothing was known of it, and it is held against it all the same. */
	assert_false(replica_remove_instance(state, SPAN("i9"), 3, at(0)));
	assert_false(put_instance(state, "i9", 2));
	assert_true(put_instance(state, "i9", 4));

	/* A listing did not find it: whatever was sent before, it is late. */
	put_task(state, "t2", "i1", OBSERVE_TASK_RUNNING, 5);
	replica_list_begin(state);
	list_instance(state, "i9", 4);
	replica_list_end(state, REPLICA_FOREVER, at(0), NULL, NULL);
	assert_int_equal(last_of(state, "t2"), -1);
	assert_false(put_task(state, "t2", "i1", OBSERVE_TASK_RUNNING, 99));
	assert_int_equal(last_of(state, "t2"), -1);
	/* Another one does: the first had been wrong. */
	replica_list_begin(state);
	assert_false(list_task(state, "t2", "i1", OBSERVE_TASK_RUNNING, 4));
	assert_true(list_task(state, "t2", "i1", OBSERVE_TASK_RUNNING, 5));
	replica_list_end(state, REPLICA_FOREVER, at(0), NULL, NULL);
	assert_int_equal(last_of(state, "t2"), OBSERVE_TASK_RUNNING);
	assert_false(has_instance(state, "i9"));
}

/* An event of the end of a task without its exit code is completed by a listing. */
static void test_a_listing_adds_the_exit_code(void **unused)
{
	_replica_ struct replica *state = replica_new(&wide);
	_arena_ struct arena *arena = arena_new(0);
	struct observe_task requested = task("t1", "i1", OBSERVE_TASK_STOPPED, 7);
	const struct observe_task *found;

	(void)unused;
	assert_true(put_task(state, "t1", "i1", OBSERVE_TASK_STOPPED, 7));
	requested.has_exited = true;
	requested.exit_code = 3;
	replica_list_begin(state);
	assert_true(replica_list_task(state, &requested, at(0)));
	replica_list_end(state, REPLICA_FOREVER, at(0), NULL, NULL);
	found = replica_get_task(state, SPAN("t1"), arena);
	assert_non_null(found);
	assert_true(found->has_exited && found->exit_code == 3);
}

#define EVENTS_MAX 7

static void try_orders(const struct changes *events, size_t count, size_t *order, size_t filled,
	unsigned used, struct span wanted)
{
	if (filled < count) {
		for (size_t i = 0; i < count; i++) {
			if (used & (1u << i))
				continue;
			order[filled] = i;
			try_orders(events, count, order, filled + 1, used | (1u << i), wanted);
		}
		return;
	}
	_replica_ struct replica *state = replica_new(&wide);
	_arena_ struct arena *arena = arena_new(0);

	for (size_t i = 0; i < count; i++)
		apply(state, &events[order[i]]);
	assert_same(describe(state, arena), wanted);
	/* Said twice, nothing is new. */
	for (size_t i = 0; i < count; i++)
		assert_false(apply(state, &events[order[i]]));
}

/* S13: all orders of small sets. */
static void test_every_order(void **unused)
{
	static const struct {
		size_t count;
		struct changes events[EVENTS_MAX];
		const char *wanted;
	} rows[] = {
		{7,
			{{'t', "t1", "i1", OBSERVE_TASK_PENDING, 1},
				{'t', "t1", "i1", OBSERVE_TASK_RUNNING, 2},
				{'t', "t1", "i1", OBSERVE_TASK_STOPPING, 3},
				{'t', "t1", "i1", OBSERVE_TASK_STOPPED, 4},
				{'i', "i1", "", OBSERVE_INSTANCE_ACTIVE, 1},
				{'i', "i1", "", OBSERVE_INSTANCE_DRAINING, 2},
				{'t', "t2", "i1", OBSERVE_TASK_RUNNING, 2}},
			"i i1 v2 1: t2\nt t1 on i1 v4 7, latest t1\nt t2 on i1 v2 3, latest t1\n"},
		{6,
			{{'i', "i1", "", OBSERVE_INSTANCE_ACTIVE, 1}, {'I', "i1", "", 0, 2},
				{'t', "t1", "i1", OBSERVE_TASK_RUNNING, 5}, {'T', "t1", "", 0, 5},
				{'i', "i2", "", OBSERVE_INSTANCE_ACTIVE, 9}, {'I', "i2", "", 0, 8}},
			"i i2 v9 0:\n"},
		/* A task whose instance was chosen later, and two that stopped. */
		{6,
			{{'t', "t1", "", OBSERVE_TASK_PROVISIONING, 1},
				{'t', "t1", "i1", OBSERVE_TASK_PENDING, 2},
				{'t', "t2", "i1", OBSERVE_TASK_STOPPED, 20},
				{'t', "t3", "i1", OBSERVE_TASK_STOPPED, 30}, {'T', "t3", "", 0, 31},
				{'t', "t4", "i1", OBSERVE_TASK_STOPPED, 20}},
			"t t1 on i1 v2 1, latest t4\nt t2 on i1 v20 7, latest t4\n"
			"t t4 on i1 v20 7, latest t4\n"},
	};
	size_t order[EVENTS_MAX];

	(void)unused;
	for (size_t i = 0; i < LENGTH(rows); i++)
		try_orders(rows[i].events, rows[i].count, order, 0, 0, span_of(rows[i].wanted));
}

/* The same against a model that knows the highest version only, with long sets in random orders. */
static void test_random_orders(void **unused)
{
	enum { NAMES = 6, EVENTS = 60, ROUNDS = 300 };
	static const char *const tasks[NAMES] = {"t0", "t1", "t2", "t3", "t4", "t5"};
	static const char *const instances[3] = {"i0", "i1", "i2"};
	struct random_seeded random;

	(void)unused;
	random_seeded_init(&random, 64);
	for (unsigned round = 0; round < ROUNDS; round++) {
		_replica_ struct replica *state = replica_new(&wide);
		struct changes events[EVENTS];
		uint64_t highest[NAMES] = {0};
		const struct changes *best[NAMES] = {0};

		for (size_t i = 0; i < EVENTS; i++) {
			uint64_t at = random_below(&random.random, NAMES);
			/* The same version says the same: what it says follows from it. */
			uint64_t version = 1 + random_below(&random.random, 30);

			events[i] = (struct changes){version % 7 == 6 ? 'T' : 't', tasks[at],
				instances[version % 3], (int)(version % 8), version};
		}
		for (size_t i = 0; i < EVENTS; i++) {
			size_t at = (size_t)(events[i].name[1] - '0');
			bool changes = events[i].version > highest[at];
			bool was_there = best[at] && best[at]->type == 't';
			/* A version alone is not shown; what has stopped says when, which follows from it. */
			bool same = was_there && events[i].type == 't' &&
				    events[i].status == best[at]->status &&
				    events[i].status != OBSERVE_TASK_STOPPED &&
				    events[i].on == best[at]->on;
			bool shown = changes && !same && (events[i].type == 't' || was_there);

			if (changes) {
				highest[at] = events[i].version;
				best[at] = &events[i];
			}
			assert_int_equal(apply(state, &events[i]), shown);
		}
		for (size_t i = 0; i < NAMES; i++)
			assert_int_equal(last_of(state, tasks[i]),
				best[i] && best[i]->type == 't' ? best[i]->status : -1);
	}
}

/* ---- listings ---- */

static void count_removed(void *context, struct span on)
{
	buffer_format(context, "%.*s ", SPAN_ARGS(on));
}

/* S17. */
static void test_listings(void **unused)
{
	_replica_ struct replica *state = replica_new(&wide);
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer removed = {0};
	struct span *missing;

	(void)unused;
	put_instance(state, "i1", 1);
	put_instance(state, "i2", 1);
	put_task(state, "t1", "i1", OBSERVE_TASK_RUNNING, 1);
	put_task(state, "t2", "i2", OBSERVE_TASK_RUNNING, 1);

	/* Cut: nothing is concluded. */
	replica_list_begin(state);
	assert_false(list_instance(state, "i1", 1));
	assert_int_equal(replica_list_missing_instances(state, arena, &missing), 1);
	assert_true(span_is(missing[0], "i2"));
	assert_int_equal(replica_list_missing_tasks(state, arena, &missing), 2);
	replica_list_abort(state);
	assert_int_equal(replica_instance_count(state), 2);
	assert_int_equal(replica_task_count(state), 2);

	/* Whole: what changed since it began is left alone, whether it was mentioned or not. */
	replica_list_begin(state);
	list_instance(state, "i1", 1);
	list_task(state, "t1", "i1", OBSERVE_TASK_RUNNING, 1);
	put_task(state, "t3", "i2", OBSERVE_TASK_PENDING, 1);
	put_instance(state, "i3", 1);
	replica_list_end(state, REPLICA_FOREVER, at(0), count_removed, &removed);
	assert_true(span_is(buffer_span(&removed), "i2 i2 "));
	assert_true(has_instance(state, "i1"));
	assert_false(has_instance(state, "i2"));
	assert_true(has_instance(state, "i3"));
	assert_int_equal(last_of(state, "t1"), OBSERVE_TASK_RUNNING);
	assert_int_equal(last_of(state, "t2"), -1);
	assert_int_equal(last_of(state, "t3"), OBSERVE_TASK_PENDING);

	/* An older answer than what is known changes nothing, and is a proof that it exists. */
	put_task(state, "t1", "i1", OBSERVE_TASK_RUNNING, 8);
	replica_list_begin(state);
	list_instance(state, "i1", 1);
	list_instance(state, "i3", 1);
	assert_false(list_task(state, "t1", "i1", OBSERVE_TASK_PENDING, 7));
	replica_list_end(state, REPLICA_FOREVER, at(0), NULL, NULL);
	assert_int_equal(last_of(state, "t1"), OBSERVE_TASK_RUNNING);
	assert_int_equal(last_of(state, "t3"), -1);
}

/* Something was removed while a listing that had found it was under way. */
static void test_removed_meanwhile(void **unused)
{
	_replica_ struct replica *state = replica_new(&wide);

	(void)unused;
	put_instance(state, "i1", 3);
	replica_list_begin(state);
	assert_true(replica_remove_instance(state, SPAN("i1"), 4, at(0)));
	assert_false(list_instance(state, "i1", 3));
	replica_list_end(state, REPLICA_FOREVER, at(0), NULL, NULL);
	assert_false(has_instance(state, "i1"));
	/* Removed by name, it does not come back with the version that it had, even listed later. */
	replica_list_begin(state);
	assert_false(list_instance(state, "i1", 3));
	replica_list_end(state, REPLICA_FOREVER, at(0), NULL, NULL);
	assert_false(has_instance(state, "i1"));
}

/* Scenario 26: attributes change, and the version does not. */
static void test_equal_versions(void **unused)
{
	_replica_ struct replica *state = replica_new(&wide);
	_arena_ struct arena *arena = arena_new(0);
	struct observe_instance changed = instance("i1", 5);

	(void)unused;
	put_instance(state, "i1", 5);
	put_task(state, "t1", "i1", OBSERVE_TASK_STOPPING, 0);
	changed.attributes = SPAN(";stack=dev;");
	assert_false(replica_put_instance(state, &changed, at(0)));
	replica_list_begin(state);
	assert_true(replica_list_instance(state, &changed, at(0)));
	assert_false(replica_list_instance(state, &changed, at(0)));
	/* Where there are no versions: never back, but on. */
	assert_false(list_task(state, "t1", "i1", OBSERVE_TASK_RUNNING, 0));
	assert_int_equal(last_of(state, "t1"), OBSERVE_TASK_STOPPING);
	assert_true(list_task(state, "t1", "i1", OBSERVE_TASK_STOPPED, 0));
	replica_list_end(state, REPLICA_FOREVER, at(0), NULL, NULL);
	assert_true(span_is(replica_get_instance(state, SPAN("i1"), arena)->attributes,
		";stack=dev;"));
	assert_int_equal(last_of(state, "t1"), OBSERVE_TASK_STOPPED);
	/* An answer from before a change: the change counts. */
	replica_list_begin(state);
	assert_true(put_instance(state, "i1", 6));
	changed.version = 6;
	assert_false(replica_list_instance(state, &changed, at(0)));
	replica_list_end(state, REPLICA_FOREVER, at(0), NULL, NULL);
	assert_true(span_is(replica_get_instance(state, SPAN("i1"), arena)->attributes,
		";stack=prod;"));
}

static void test_disconnected(void **unused)
{
	_replica_ struct replica *state = replica_new(&wide);
	_arena_ struct arena *arena = arena_new(0);
	struct observe_instance requested = instance("i1", 1);
	static const struct {
		bool connected;
		int64_t since_ms;
	} steps[] = {{true, 0}, {false, STEADY + 1}, {false, STEADY + 1}, {true, 0},
		{false, STEADY + 4}};

	(void)unused;
	for (size_t i = 0; i < LENGTH(steps); i++) {
		requested.version++;
		requested.connected = steps[i].connected;
		/* Still disconnected: no change. */
		assert_int_equal(replica_put_instance(state, &requested, at((int64_t)i)), i != 2);
		assert_int_equal(replica_get_instance(state, requested.id, arena)->away_ms,
			steps[i].since_ms);
		assert_int_equal(replica_get_instance(state, requested.id, arena)->version,
			requested.version);
	}
}

/* ---- since when ---- */

static int64_t since(struct replica *state, const char *arn, bool *ret_doubtful)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct observe_task *known = replica_get_task(state, span_of(arn), arena);

	*ret_doubtful = known->is_doubtful;
	return known->since_ms - STEADY;
}

static void run_task(struct replica *state, const char *arn, uint64_t version, int64_t started_ms,
	struct moment now)
{
	struct observe_task requested = task(arn, "i1", OBSERVE_TASK_RUNNING, version);

	requested.started_ms = started_ms;
	replica_put_task(state, &requested, now);
}

static void test_since_when_tasks_run(void **unused)
{
	_replica_ struct replica *state = replica_new(&wide);
	bool doubtful;

	(void)unused;
	put_instance(state, "i1", 1);
	/* It was not observed before: its own clock counts. */
	run_task(state, "t1", 1, NOW - 4000, at(0));
	assert_int_equal(since(state, "t1", &doubtful), -4000);
	assert_false(doubtful);
	/* It was not so when it was seen to be otherwise. */
	put_task(state, "t2", "i1", OBSERVE_TASK_PENDING, 1);
	assert_int_equal(since(state, "t2", &doubtful), -STEADY);
	run_task(state, "t2", 2, NOW - 4000, at(300));
	assert_int_equal(since(state, "t2", &doubtful), 0);
	put_task(state, "t3", "i1", OBSERVE_TASK_PENDING, 1);
	run_task(state, "t3", 2, NOW + 100, at(300));
	assert_int_equal(since(state, "t3", &doubtful), 100);
	assert_false(doubtful);
	/* Their clock is ahead of ours: it may be so for long, or not. */
	run_task(state, "t4", 1, NOW + 60000, at(500));
	assert_int_equal(since(state, "t4", &doubtful), 500);
	assert_true(doubtful);
	/* Ours is ahead of theirs, and always was: long after they say that it began it was seen not to run. */
	put_task(state, "t5", "i1", OBSERVE_TASK_PENDING, 1);
	run_task(state, "t5", 2, NOW - 3600000, at(300));
	assert_int_equal(since(state, "t5", &doubtful), 300);
	assert_true(doubtful);
	/* It stays what it was as long as it runs. */
	run_task(state, "t4", 2, NOW + 70000, at(900));
	assert_int_equal(since(state, "t4", &doubtful), 500);
	assert_true(doubtful);
}

static void test_clocks_that_are_set(void **unused)
{
	static const int64_t by_ms[] = {-3600000, 3600000};
	bool doubtful;

	(void)unused;
	for (size_t i = 0; i < LENGTH(by_ms); i++) {
		_replica_ struct replica *state = replica_new(&wide);
		struct moment now = at(2000);

		put_instance(state, "i1", 1);
		run_task(state, "t1", 1, NOW - 4000, at(0));
		put_task(state, "t2", "i1", OBSERVE_TASK_PENDING, 1);
		now.wall_ms += by_ms[i];
		/* The known state stays; the clocks of later events are not trusted. */
		run_task(state, "t1", 2, NOW - 4000, now);
		assert_int_equal(since(state, "t1", &doubtful), -4000);
		assert_false(doubtful);
		run_task(state, "t2", 2, NOW + 1000, now);
		assert_int_equal(since(state, "t2", &doubtful), 2000);
		assert_true(doubtful);
		/* And what is kept for a time is kept by the other clock. */
		put_task(state, "t2", "i1", OBSERVE_TASK_STOPPED, 3);
		replica_expire(state, now);
		assert_int_equal(last_of(state, "t2"), OBSERVE_TASK_STOPPED);
	}
}

/* Where versions are of one order, the clock that says when tasks stopped may be set meanwhile. */
static void test_the_last_to_stop(void **unused)
{
	struct replica_limits limits = wide;

	(void)unused;
	for (int ordered = 0; ordered <= 1; ordered++) {
		_arena_ struct arena *arena = arena_new(0);
		_replica_ struct replica *state;
		struct observe_task first = task("t1", "i1", OBSERVE_TASK_STOPPED, 5),
				    then = task("t2", "i1", OBSERVE_TASK_STOPPED, 6);
		const struct observe_task *last;

		limits.versions_are_ordered = ordered;
		state = replica_new(&limits);
		first.stopped_ms = NOW + 3600000;
		then.stopped_ms = NOW;
		replica_put_task(state, &first, at(0));
		replica_put_task(state, &then, at(0));
		last = replica_last_stopped(state, SPAN("i1"), SPAN("env:log"), arena);
		assert_true(span_is(last->arn, ordered ? "t2" : "t1"));
	}
}

/* ---- retention ---- */

static void test_limits(void **unused)
{
	const struct replica_limits narrow = {
		.stopped_max = 2, .stopped_ms = 1000, .tombstones_max = 2, .tombstones_ms = 5000};
	_replica_ struct replica *state = replica_new(&narrow);

	(void)unused;
	put_task(state, "t1", "i1", OBSERVE_TASK_STOPPED, 9);
	put_task(state, "t2", "i1", OBSERVE_TASK_STOPPED, 9);
	put_task(state, "t3", "i1", OBSERVE_TASK_STOPPED, 9);
	assert_int_equal(replica_task_count(state), 2);
	assert_int_equal(last_of(state, "t1"), -1);
	/* Forgotten, but not to be brought back. */
	assert_false(put_task(state, "t1", "i1", OBSERVE_TASK_RUNNING, 8));
	replica_list_begin(state);
	assert_false(list_task(state, "t1", "i1", OBSERVE_TASK_STOPPED, 9));
	replica_list_abort(state);
	assert_int_equal(replica_forgotten_ms(state), 0);

	replica_expire(state, at(999));
	assert_int_equal(replica_task_count(state), 2);
	replica_expire(state, at(1000));
	assert_int_equal(replica_task_count(state), 0);
	/* Of three tombstones the first had to go, and its change is reported. */
	assert_int_equal(replica_forgotten_ms(state), NOW);
	replica_expire(state, at(6000));
	assert_int_equal(replica_forgotten_ms(state), NOW + 1000);
	assert_true(put_task(state, "t1", "i1", OBSERVE_TASK_RUNNING, 1));
}

/* The tasks of one environment among those of others on an instance. */
static void test_of_one_environment(void **unused)
{
	static const char *const groups[] = {"env:log", "env:mon", "service:web", "", "env:log"};
	_replica_ struct replica *state = replica_new(&wide);
	_arena_ struct arena *arena = arena_new(0);
	const struct observe_instance *found;
	struct observe_task requested;
	char name[8];

	(void)unused;
	put_instance(state, "i1", 1);
	for (size_t i = 0; i < LENGTH(groups); i++) {
		snprintf(name, sizeof(name), "t%zu", i);
		requested = task(name, "i1", OBSERVE_TASK_RUNNING, 1);
		requested.group = span_of(groups[i]);
		assert_true(replica_put_task(state, &requested, at(0)));
	}
	assert_null(replica_get_instance_for(state, SPAN("i2"), SPAN("env:log"), arena));
	found = replica_get_instance_for(state, SPAN("i1"), SPAN("env:log"), arena);
	assert_int_equal(found->task_count, 4);
	assert_true(span_is(found->tasks[0].arn, "t0") && span_is(found->tasks[1].arn, "t2") &&
		    span_is(found->tasks[2].arn, "t3") && span_is(found->tasks[3].arn, "t4"));
	found = replica_get_instance_for(state, SPAN("i1"), SPAN("env:none"), arena);
	assert_int_equal(found->task_count, 2);
	/* Each of them may be the first, the last or the only one of its own. */
	put_task(state, "t4", "i1", OBSERVE_TASK_STOPPED, 2);
	replica_remove_task(state, SPAN("t1"), 2, at(0), NULL, NULL);
	replica_remove_task(state, SPAN("t2"), 2, at(0), NULL, NULL);
	found = replica_get_instance_for(state, SPAN("i1"), SPAN("env:mon"), arena);
	assert_int_equal(found->task_count, 1);
	assert_true(span_is(found->tasks[0].arn, "t3"));
	found = replica_get_instance_for(state, SPAN("i1"), SPAN("env:log"), arena);
	assert_int_equal(found->task_count, 2);
	put_task(state, "t0", "i2", OBSERVE_TASK_RUNNING, 2);
	found = replica_get_instance_for(state, SPAN("i1"), SPAN("env:log"), arena);
	assert_int_equal(found->task_count, 1);
	assert_int_equal(replica_get_instance(state, SPAN("i1"), arena)->task_count, 1);
}

static void test_last_stopped(void **unused)
{
	_replica_ struct replica *state = replica_new(&wide);
	_arena_ struct arena *arena = arena_new(0);
	struct observe_task other = task("t9", "i1", OBSERVE_TASK_STOPPED, 99);

	(void)unused;
	other.group = SPAN("service:web");
	assert_null(replica_last_stopped(state, SPAN("i1"), SPAN("env:log"), arena));
	put_task(state, "t3", "i1", OBSERVE_TASK_STOPPED, 3);
	put_task(state, "t5", "i1", OBSERVE_TASK_STOPPED, 5);
	put_task(state, "t4", "i1", OBSERVE_TASK_STOPPED, 4);
	put_task(state, "t6", "i2", OBSERVE_TASK_STOPPED, 6);
	replica_put_task(state, &other, at(0));
	assert_true(span_is(replica_last_stopped(state, SPAN("i1"), SPAN("env:log"), arena)->arn,
		"t5"));
	replica_remove_task(state, SPAN("t5"), 6, at(0), NULL, NULL);
	assert_true(span_is(replica_last_stopped(state, SPAN("i1"), SPAN("env:log"), arena)->arn,
		"t4"));
	assert_true(span_is(replica_last_stopped(state, SPAN("i1"), SPAN("service:web"), arena)
				    ->arn,
		"t9"));
	assert_null(replica_last_stopped(state, SPAN("i1"), SPAN("env:mon"), arena));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_no_resurrection),
		cmocka_unit_test(test_a_listing_adds_the_exit_code),
		cmocka_unit_test(test_every_order),
		cmocka_unit_test(test_random_orders),
		cmocka_unit_test(test_listings),
		cmocka_unit_test(test_removed_meanwhile),
		cmocka_unit_test(test_equal_versions),
		cmocka_unit_test(test_disconnected),
		cmocka_unit_test(test_since_when_tasks_run),
		cmocka_unit_test(test_clocks_that_are_set),
		cmocka_unit_test(test_the_last_to_stop),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_of_one_environment),
		cmocka_unit_test(test_last_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
