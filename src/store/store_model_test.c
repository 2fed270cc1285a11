/*
 * The store against a model of it: a sorted array per kind, copied whole wherever the store shares.
 * Random transactions run on both and must agree on every answer, every walk, count, sum, old view and
 * change of the feed; through failed commits, stops and reopening. On memory, on SQLite, on PostgreSQL,
 * and on two servers that share one PostgreSQL.
 *
 * A seed is a whole run. A failing one is printed; to see it again:
 *
 *     SLIPWAY_MODEL_SEED=N PROGRAM        that seed only
 *     SLIPWAY_MODEL_SEEDS=N PROGRAM       N times as many seeds as usual
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "store/store.h"
#include "store/test_kinds.h"
#include "store/test_model.h"
#include "store/test_postgres_database.h"
#include "store/test_store.h"

#define OPERATIONS_MAX 8
#define BATCH_MAX 6
#define OLD_VIEWS 4
#define DEADLINE_MS 60000

/* ---- a run ---- */

enum operation_type { PUT, DELETE, REQUIRE };
enum expectation { ANY, ABSENT, CURRENT, WRONG };

struct operation {
	enum operation_type type;
	enum expectation expectation;
	int kind;
	struct model_object object; /* key and texts */
	bool give_up; /* the function ends with the operation's error, if it has one */
};

struct run;

struct plan {
	struct run *run;
	struct operation operations[OPERATIONS_MAX];
	size_t count;
	int refuse; /* the result of the function, if it reaches its end */

	bool ran;
	int returned;
	uint64_t revision;
};

struct old_view {
	struct store_view *view;
	struct model model;
};

struct server {
	struct store *store;
	struct store_feed *feed;
	struct model replayed; /* from the feed alone */
	struct old_view old[OLD_VIEWS];
};

struct run {
	struct random_seeded random;
	struct test_store *test;
	struct store_faults faults;
	struct server servers[2];
	size_t server_count;
	bool reopens;
	uint64_t key_numbers; /* few: keys are met again and again; many: trees get deep */

	/* Of the writer's thread while writes are under way. */
	struct model head, durable, saved;
	bool fail_commit; /* the next one */
	bool stop_after_commit;
	bool commit_failed, stopped;
	char failure[512]; /* the first one */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t under_way;
};

/* Not cmocka's assertions: those leap out of the function, and this may be the writer's thread. */
__attribute__((format(printf, 2, 3))) static void blame(struct run *run, const char *format, ...)
{
	va_list list;

	if (*run->failure)
		return;
	va_start(list, format);
	vsnprintf(run->failure, sizeof(run->failure), format, list);
	va_end(list);
}

static uint64_t pick(struct run *run, uint64_t limit)
{
	return random_below(&run->random.random, limit);
}

/* Keys share prefixes, and one is the prefix of another. */
static void pick_key(struct run *run, char key[static 24])
{
	static const char *const stems[] = {"a", "ab", "abc", "b/", "b/c", "\xc3\xa4"};

	snprintf(key, 24, "%s", stems[pick(run, LENGTH(stems))]);
	if (pick(run, 4) > 0)
		snprintf(key + strlen(key), 24 - strlen(key), "%d",
			(int)pick(run, run->key_numbers));
}

static void pick_texts(struct run *run, int kind, struct model_object *object)
{
	static const char *const colors[] = {"red", "reddish", "green", "blue", "b"};
	static const char *const words[] = {"x", "xy", "xyz", "y", "zebra"};
	static const char *const refused[] = {"! 1", "red", "red many"};

	if (kind == 0 && pick(run, 20) == 0) {
		snprintf(object->api, sizeof(object->api), "%s",
			refused[pick(run, LENGTH(refused))]);
	} else {
		snprintf(object->api, sizeof(object->api), "%s %d",
			colors[pick(run, LENGTH(colors))], (int)pick(run, 200));
		for (uint64_t left = pick(run, 4); left > 0; left--) {
			size_t length = strlen(object->api);

			snprintf(object->api + length, sizeof(object->api) - length, " %s",
				words[pick(run, LENGTH(words))]);
		}
	}
	snprintf(object->private_, sizeof(object->private_), "private %d", (int)pick(run, 1000));
	if (pick(run, 5) == 0)
		object->private_[0] = '\0';
}

static bool is_refused(int kind, const char *api)
{
	return kind == 0 && (*api == '!' || !strpbrk(api, "0123456789"));
}

static void make_plan(struct run *run, struct plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	plan->run = run;
	plan->count = pick(run, OPERATIONS_MAX + 1);
	if (pick(run, 6) == 0)
		plan->refuse = -ECANCELED - (int)pick(run, 3);
	for (size_t i = 0; i < plan->count; i++) {
		struct operation *operation = &plan->operations[i];
		uint64_t chance = pick(run, 10);

		operation->type = chance < 6 ? PUT : chance < 9 ? DELETE : REQUIRE;
		operation->expectation = (enum expectation)pick(run, 4);
		if (pick(run, 2) == 0)
			operation->expectation = ANY;
		operation->kind = pick(run, 4) == 0;
		operation->give_up = pick(run, 8) == 0;
		pick_key(run, operation->object.key);
		pick_texts(run, operation->kind, &operation->object);
	}
}

/* ---- one transaction on both ---- */

static uint64_t expected_revision(enum expectation expectation, const struct model_object *found)
{
	switch (expectation) {
	case ANY: return STORE_ANY;
	case ABSENT: return STORE_ABSENT;
	case CURRENT: return found ? found->revision : STORE_ABSENT;
	case WRONG: return found ? found->revision + 1 : 1;
	}
	return 0;
}

/* Predicts the store's answer. */
static int predict(const struct operation *operation, const struct model_object *found,
	uint64_t expected)
{
	uint64_t revision = found ? found->revision : STORE_ABSENT;

	switch (operation->type) {
	case REQUIRE: return revision == expected ? 0 : -ESTALE;
	case DELETE:
		if (!found)
			return -ENOENT;
		return expected == STORE_ANY || expected == revision ? 0 : -ESTALE;
	case PUT:
		if (expected == STORE_ABSENT && found)
			return -EEXIST;
		if (expected != STORE_ANY && expected != revision)
			return -ESTALE;
		return is_refused(operation->kind, operation->object.api) ? -EINVAL : 0;
	}
	return 0;
}

static int perform(struct store_transaction *transaction, const struct operation *operation,
	uint64_t expected, struct err *err)
{
	const struct store_kind *kind = test_kinds[operation->kind];
	struct span key = span_of(operation->object.key);

	switch (operation->type) {
	case PUT:
		return store_put(transaction, kind, key, span_of(operation->object.api),
			span_of(operation->object.private_), expected, err);
	case DELETE: return store_delete(transaction, kind, key, expected, err);
	case REQUIRE: return store_require(transaction, kind, key, expected, err);
	}
	return 0;
}

static void apply(struct model *model, const struct operation *operation)
{
	struct model_object object = operation->object;

	if (operation->type == REQUIRE)
		return;
	object.revision = ++model->revision;
	if (operation->type == PUT)
		model_put(model, operation->kind, &object);
	else
		model_delete(model, operation->kind, object.key);
}

static bool same_object(const struct store_object *object, const struct model_object *model)
{
	if (!object || !model)
		return !object && !model;
	return object->revision == model->revision && span_is(object->key, model->key) &&
	       span_is(object->api, model->api) && span_is(object->private_, model->private_);
}

static int run_operations(struct plan *plan, struct store_transaction *transaction, struct err *err)
{
	struct run *run = plan->run;

	for (size_t i = 0; i < plan->count; i++) {
		const struct operation *operation = &plan->operations[i];
		struct model_object *found =
			model_find(&run->head, operation->kind, operation->object.key);
		uint64_t expected = operation->type == REQUIRE && operation->expectation == ANY
					    ? STORE_ABSENT
					    : expected_revision(operation->expectation, found);
		int predicted = predict(operation, found, expected);
		int code;

		if (!same_object(store_get(store_head(transaction), test_kinds[operation->kind],
					 span_of(operation->object.key)),
			    found))
			blame(run, "head has another '%s' than the model", operation->object.key);
		if (store_next_revision(transaction) != run->head.revision + 1)
			blame(run, "the next revision is %" PRIu64 ", not %" PRIu64,
				store_next_revision(transaction), run->head.revision + 1);
		code = perform(transaction, operation, expected, err);
		if (code != predicted)
			blame(run, "operation %d on '%s' answered %d, not %d", operation->type,
				operation->object.key, code, predicted);
		if (code == 0)
			apply(&run->head, operation);
		else if (operation->give_up)
			return code;
	}
	return plan->refuse < 0 ? err_set(err, plan->refuse, "refused") : 0;
}

static int plan_run(struct store_transaction *transaction, void *context, struct err *err)
{
	struct plan *plan = context;
	struct run *run = plan->run;

	model_copy(&run->saved, &run->head);
	run->commit_failed = false; /* that was the group before */
	plan->ran = true;
	plan->returned = run_operations(plan, transaction, err);
	if (plan->returned < 0)
		model_copy(&run->head, &run->saved);
	plan->revision = run->head.revision;
	return plan->returned;
}

static void plan_done(void *context, int code, uint64_t revision, const struct err *err)
{
	struct plan *plan = context;
	struct run *run = plan->run;

	if (plan->ran && plan->returned < 0) {
		if (code != plan->returned)
			blame(run, "a function returned %d, but done got %d", plan->returned, code);
	} else if (run->stopped) { /* durable, but not published */
		model_copy(&run->durable, &run->head);
		if (code != -ECANCELED)
			blame(run, "stopped, but done got %d", code);
	} else if (run->commit_failed) {
		model_copy(&run->head, &run->durable);
		if (code != -EIO)
			blame(run, "the commit failed, but done got %d", code);
	} else if (code < 0) {
		blame(run, "done got %d: %s", code, err->message);
	} else {
		model_copy(&run->durable, &run->head);
		if (revision != plan->revision)
			blame(run, "done got revision %" PRIu64 ", not %" PRIu64, revision,
				plan->revision);
	}
	pthread_mutex_lock(&run->lock);
	run->under_way--;
	pthread_cond_signal(&run->changed);
	pthread_mutex_unlock(&run->lock);
}

static int before_commit(void *context)
{
	struct run *run = context;

	run->commit_failed = run->fail_commit;
	run->fail_commit = false;
	return run->commit_failed ? -EIO : 0;
}

static int after_commit(void *context)
{
	struct run *run = context;

	run->stopped = run->stop_after_commit;
	run->stop_after_commit = false;
	return run->stopped ? -1 : 0;
}

/* ---- looking ---- */

struct question {
	int kind, index;
	char prefix[24];
	bool exact, descending;
	bool has_after;
	char after_text[64], after_key[24];
	size_t page; /* objects taken by one cursor */
};

static void pick_question(struct run *run, struct question *question)
{
	static const char *const prefixes[] = {
		"", "a", "ab", "abc1", "b", "red", "re", "reddish", "x", "xy", "0", "\xc3", "zzz"};

	memset(question, 0, sizeof(*question));
	question->kind = pick(run, 4) == 0;
	question->index = question->kind == 0 ? (int)pick(run, 4) - 1 : -1;
	snprintf(question->prefix, sizeof(question->prefix), "%s",
		prefixes[pick(run, LENGTH(prefixes))]);
	if (pick(run, 3) == 0)
		question->prefix[0] = '\0';
	question->exact = pick(run, 4) == 0;
	question->descending = pick(run, 2);
	question->page = pick(run, 3) == 0 ? SIZE_MAX : 1 + pick(run, 4);
	question->has_after = pick(run, 3) == 0;
	snprintf(question->after_text, sizeof(question->after_text), "%s",
		prefixes[pick(run, LENGTH(prefixes))]);
	pick_key(run, question->after_key);
	if (question->index < 0)
		snprintf(question->after_text, sizeof(question->after_text), "%s",
			question->after_key);
}

static bool matches(const struct question *question, const struct model_entry *entry)
{
	if (question->exact)
		return strcmp(entry->text, question->prefix) == 0;
	return strncmp(entry->text, question->prefix, strlen(question->prefix)) == 0;
}

static bool is_behind(const struct question *question, const struct model_entry *entry)
{
	int order = strcmp(entry->text, question->after_text);

	if (!question->has_after)
		return true;
	if (order == 0 && question->index >= 0)
		order = strcmp(entry->object->key, question->after_key);
	return question->descending ? order < 0 : order > 0;
}

static struct store_cursor open_cursor(const struct store_view *view,
	const struct question *question)
{
	struct store_cursor cursor = {
		.view = view,
		.kind = test_kinds[question->kind],
		.index = question->index,
		.prefix = span_of(question->prefix),
		.exact = question->exact,
		.descending = question->descending,
	};

	if (question->has_after) {
		cursor.after_key = span_of(question->after_key);
		if (question->index >= 0)
			cursor.after_text = span_of(question->after_text);
	}
	return cursor;
}

/* Walks in pages, each with a cursor that begins where the one before ended. */
static void check_walk(struct run *run, const struct store_view *view, struct question question,
	const struct model_entry *entries, size_t count)
{
	struct store_cursor cursor = open_cursor(view, &question);
	size_t of_page = 0;

	for (size_t i = 0; i < count; i++) {
		const struct model_entry *entry = &entries[question.descending ? count - 1 - i : i];
		const struct store_object *object;

		if (!matches(&question, entry) || !is_behind(&question, entry))
			continue;
		if (of_page++ == question.page) {
			cursor = open_cursor(view, &question);
			of_page = 1;
		}
		object = store_next(&cursor);
		if (!same_object(object, entry->object) || !span_is(cursor.text, entry->text)) {
			blame(run,
				"walk over kind %d index %d prefix '%s' exact %d descending %d "
				"page %zu: '%.*s' instead of '%s' under '%s'",
				question.kind, question.index, question.prefix, question.exact,
				question.descending, question.page,
				object ? (int)object->key.length : 0,
				object ? object->key.data : "", entry->object->key, entry->text);
			return;
		}
		question.has_after = true;
		snprintf(question.after_text, sizeof(question.after_text), "%s", entry->text);
		snprintf(question.after_key, sizeof(question.after_key), "%s", entry->object->key);
	}
	if (of_page == question.page)
		cursor = open_cursor(view, &question);
	if (store_next(&cursor) || store_next(&cursor))
		blame(run,
			"walk over kind %d index %d prefix '%s' exact %d descending %d: too long",
			question.kind, question.index, question.prefix, question.exact,
			question.descending);
}

static void check_totals(struct run *run, const struct store_view *view,
	const struct question *question, const struct model_entry *entries, size_t count)
{
	const struct store_kind *kind = test_kinds[question->kind];
	struct span prefix = span_of(question->prefix);
	int64_t sums[STORE_MEASURES] = {-1, -1, -1, -1}, expected[STORE_MEASURES] = {0};
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++) {
		const char *rest = entries[i].object->api;

		if (!matches(question, &entries[i]))
			continue;
		total++;
		if (question->kind != 0 || question->index != THING_BY_COLOR)
			continue;
		rest = strchr(rest, ' ') + 1;
		expected[0] += atoll(rest);
		while ((rest = strchr(rest, ' '))) {
			expected[1]++;
			rest++;
		}
	}
	if (store_count(view, kind, question->index, prefix, question->exact) != total)
		blame(run,
			"count of kind %d index %d prefix '%s' exact %d is %" PRIu64
			", not %" PRIu64,
			question->kind, question->index, question->prefix, question->exact,
			store_count(view, kind, question->index, prefix, question->exact), total);
	store_sum(view, kind, question->index, prefix, question->exact, sums);
	if (memcmp(sums, expected, sizeof(sums)) != 0)
		blame(run,
			"sums of kind %d index %d prefix '%s' exact %d: %" PRId64 ", not %" PRId64,
			question->kind, question->index, question->prefix, question->exact, sums[0],
			expected[0]);
}

static void check_view(struct run *run, const struct store_view *view, struct model *model)
{
	static struct model_entry entries[MODEL_ENTRIES_MAX];
	char key[24];

	if (store_view_revision(view) != model->revision)
		blame(run, "the view is of revision %" PRIu64 ", not %" PRIu64,
			store_view_revision(view), model->revision);
	for (int kind = 0; kind < 2; kind++) { /* everything */
		struct question all = {.kind = kind, .index = -1, .page = SIZE_MAX};
		size_t count = model_entries(model, kind, -1, entries);

		check_walk(run, view, all, entries, count);
	}
	for (int i = 0; i < 6; i++) { /* and something */
		struct question question;
		size_t count;

		pick_question(run, &question);
		count = model_entries(model, question.kind, question.index, entries);
		check_walk(run, view, question, entries, count);
		check_totals(run, view, &question, entries, count);
		pick_key(run, key);
		if (!same_object(store_get(view, test_kinds[question.kind], span_of(key)),
			    model_find(model, question.kind, key)))
			blame(run, "the view has another '%s' than the model", key);
	}
}

/* ---- the feed ---- */

static void replay(struct run *run, struct server *server, const struct store_change *change)
{
	struct model *model = &server->replayed;
	const struct store_object *either = change->after ? change->after : change->before;
	struct model_object object = {.revision = change->revision};
	int kind = change->kind == test_kinds[1];

	snprintf(object.key, sizeof(object.key), "%.*s", SPAN_ARGS(either->key));
	if (change->revision != model->revision + 1)
		blame(run, "the feed goes from revision %" PRIu64 " to %" PRIu64, model->revision,
			change->revision);
	if (!same_object(change->before, model_find(model, kind, object.key)))
		blame(run, "the feed's '%s' was another before", object.key);
	model->revision = change->revision;
	if (!change->after) {
		if (model_find(model, kind, object.key))
			model_delete(model, kind, object.key);
		return;
	}
	snprintf(object.api, sizeof(object.api), "%.*s", SPAN_ARGS(change->after->api));
	snprintf(object.private_, sizeof(object.private_), "%.*s",
		SPAN_ARGS(change->after->private_));
	if (!same_object(change->after, &object))
		blame(run, "the feed's '%s' has another revision than its change", object.key);
	model_put(model, kind, &object);
}

static void open_feed(struct run *run, struct server *server)
{
	struct err err;

	store_feed_close(server->feed);
	model_copy(&server->replayed, &run->durable);
	if (store_feed_open(server->store, run->durable.revision, NULL, NULL, &server->feed, &err) <
		0)
		blame(run, "feed: %s", err.message);
}

/* The server has seen everything: so must its feed. */
static void check_feed(struct run *run, struct server *server)
{
	struct store_change changes[5];
	int count;

	while ((count = store_feed_next(server->feed, changes, 1 + pick(run, LENGTH(changes)))) > 0)
		for (int i = 0; i < count; i++) {
			replay(run, server, &changes[i]);
			store_change_release(&changes[i]);
		}
	if (count == -EOVERFLOW && run->server_count > 1)
		open_feed(run, server); /* must list again */
	else if (count < 0)
		blame(run, "the feed answered %d", count);
	if (!model_equal(&server->replayed, &run->durable))
		blame(run,
			"changes of the feed until revision %" PRIu64
			" does not make the state of %" PRIu64,
			server->replayed.revision, run->durable.revision);
}

/* ---- steps ---- */

static void close_old_views(struct server *server)
{
	for (size_t i = 0; i < OLD_VIEWS; i++)
		store_view_close(TAKE(server->old[i].view));
}

static void check(struct run *run, struct server *server)
{
	struct old_view *old = &server->old[pick(run, OLD_VIEWS)];
	_view_ struct store_view *view = store_view_open(server->store);
	struct store_statistics statistics;

	check_view(run, view, &run->durable);
	check_feed(run, server);
	store_statistics(server->store, &statistics);
	if (statistics.objects != run->durable.count[0] + run->durable.count[1] ||
		statistics.revision != run->durable.revision)
		blame(run, "statistics report %" PRIu64 " objects at revision %" PRIu64,
			statistics.objects, statistics.revision);
	if (old->view)
		check_view(run, old->view, &old->model);
	if (!old->view || pick(run, 3) == 0) {
		store_view_close(old->view);
		old->view = TAKE(view);
		model_copy(&old->model, &run->durable);
	}
}

static void reopen(struct run *run, struct server *server)
{
	struct err err = {0};

	close_old_views(server);
	store_feed_close(TAKE(server->feed));
	store_close(TAKE(server->store));
	run->stopped = false;
	if (store_open(&run->test->config, &server->store, &err) < 0) {
		blame(run, "reopen: %s", err.message);
		return;
	}
	open_feed(run, server);
}

static void write_batch(struct run *run, struct server *server)
{
	static struct plan plans[BATCH_MAX];
	size_t count = pick(run, 2) ? 1 : 1 + pick(run, BATCH_MAX);
	struct err err;

	run->commit_failed = false;
	run->fail_commit = pick(run, 8) == 0;
	run->stop_after_commit = run->reopens && pick(run, 20) == 0;
	for (size_t i = 0; i < count; i++)
		make_plan(run, &plans[i]);
	run->under_way = count;
	for (size_t i = 0; i < count; i++)
		if (store_write(server->store, plan_run, plan_done, &plans[i], &err) < 0)
			blame(run, "write: %s", err.message);
	pthread_mutex_lock(&run->lock);
	while (run->under_way > 0)
		pthread_cond_wait(&run->changed, &run->lock);
	pthread_mutex_unlock(&run->lock);
	run->fail_commit = run->stop_after_commit = false;
}

static void step(struct run *run)
{
	struct server *server = &run->servers[pick(run, run->server_count)];

	write_batch(run, server);
	if (run->stopped || (run->reopens && pick(run, 15) == 0))
		reopen(run, server);
	if (!*run->failure)
		check(run, server);
}

/* ---- runs ---- */

static uint64_t environment_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

struct place {
	const char *name;
	bool durable, inline_writes;
	size_t servers;
	int steps;
	uint64_t seeds;
};

/* One run; what went wrong in it, or NULL. Freed by the caller. */
static char *run_seed(const struct place *place, struct test_store *test, uint64_t seed)
{
	static struct run run; /* large */
	struct err err = {0};

	memset(&run, 0, sizeof(run));
	run.test = test;
	run.server_count = place->servers;
	run.reopens = place->durable;
	run.faults = (struct store_faults){before_commit, after_commit, &run};
	run.test->config.faults = &run.faults;
	random_seeded_init(&run.random, seed);
	run.key_numbers = pick(&run, 4) == 0 ? 300 : 12;
	pthread_mutex_init(&run.lock, NULL);
	pthread_cond_init(&run.changed, NULL);
	for (size_t i = 0; i < place->servers; i++) {
		if (store_open(&test->config, &run.servers[i].store, &err) < 0)
			blame(&run, "open: %s", err.message);
		else
			open_feed(&run, &run.servers[i]);
	}
	if (place->servers > 1 && seed % 2 == 0) /* so that they fall behind the log */
		test_database_run(test->config.url, "UPDATE slipway.head SET keep = 10");
	for (int i = 0; i < place->steps && !*run.failure; i++)
		step(&run);
	for (size_t i = 0; i < place->servers; i++) {
		close_old_views(&run.servers[i]);
		store_feed_close(run.servers[i].feed);
		store_close(run.servers[i].store);
	}
	pthread_mutex_destroy(&run.lock);
	pthread_cond_destroy(&run.changed);
	return *run.failure ? memory_copy_string(run.failure) : NULL;
}

static void run_place(const struct place *place, const struct test_database *database)
{
	uint64_t only = environment_number("SLIPWAY_MODEL_SEED", 0);
	uint64_t last = only ? only : place->seeds * environment_number("SLIPWAY_MODEL_SEEDS", 1);

	for (uint64_t seed = only ? only : 1; seed <= last; seed++) {
		struct test_store *test = test_store_new(place->durable, place->inline_writes);
		char *failure;

		if (database) {
			test->config.url = database->url;
			test_database_run(database->url, "DROP SCHEMA IF EXISTS slipway CASCADE");
		}
		failure = run_seed(place, test, seed);
		if (failure && test->reports.length > 0)
			print_error("%s", test->reports.data);
		test_store_free(test);
		if (failure)
			fail_msg("SLIPWAY_MODEL_SEED=%" PRIu64 " on %s: %s", seed, place->name,
				failure);
	}
}

static void test_model_on_memory(void **state)
{
	(void)state;
	run_place(&(struct place){.name = "memory", .servers = 1, .steps = 60, .seeds = 60}, NULL);
}

static void test_model_on_memory_inline(void **state)
{
	(void)state;
	run_place(&(struct place){.name = "memory, inline",
			  .inline_writes = true,
			  .servers = 1,
			  .steps = 60,
			  .seeds = 60},
		NULL);
}

static void test_model_on_sqlite(void **state)
{
	(void)state;
	run_place(&(struct place){.name = "SQLite",
			  .durable = true,
			  .servers = 1,
			  .steps = 60,
			  .seeds = 8},
		NULL);
}

static void test_model_on_sqlite_inline(void **state)
{
	(void)state;
	run_place(&(struct place){.name = "SQLite, inline",
			  .durable = true,
			  .inline_writes = true,
			  .servers = 1,
			  .steps = 60,
			  .seeds = 8},
		NULL);
}

static void test_model_on_postgres(void **state)
{
	run_place(&(struct place){.name = "PostgreSQL",
			  .durable = true,
			  .servers = 1,
			  .steps = 60,
			  .seeds = 4},
		*state);
}

static void test_model_on_two_servers(void **state)
{
	run_place(&(struct place){.name = "PostgreSQL, two servers",
			  .durable = true,
			  .servers = 2,
			  .steps = 60,
			  .seeds = 4},
		*state);
}

static int setup_database(void **state)
{
	*state = memory_allocate(sizeof(struct test_database));
	test_database_create(*state);
	return 0;
}

static int teardown_database(void **state)
{
	test_database_drop(*state);
	free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model_on_memory),
		cmocka_unit_test(test_model_on_memory_inline),
		cmocka_unit_test(test_model_on_sqlite),
		cmocka_unit_test(test_model_on_sqlite_inline),
		cmocka_unit_test_setup_teardown(test_model_on_postgres, setup_database,
			teardown_database),
		cmocka_unit_test_setup_teardown(test_model_on_two_servers, setup_database,
			teardown_database),
	};

	test_database_server();
	return cmocka_run_group_tests_name("store/model", tests, NULL, NULL);
}
