/* The indexes of a replica: each query has the result of a full scan, and costs as much as its page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "delivery/observe/replica.h"

#define NOW INT64_C(1700000000000)
#define TASKS 40
#define INSTANCES 16
#define STEPS 4000
#define ALL 1000 /* more than there ever are in random histories */
#define NAME_SIZE 32

static const struct replica_limits narrow = {
	.stopped_max = 8, .stopped_ms = 400, .tombstones_max = 10, .tombstones_ms = 900};
static const struct replica_limits wide = {.stopped_max = 100000,
	.stopped_ms = INT64_MAX,
	.tombstones_max = 100000,
	.tombstones_ms = INT64_MAX};

/* The values of each property; the first one in a query is "any". */
static const char *const groups[] = {NULL, "env:a", "env:b", "service:a", "", "env:none"};
static const char *const starters[] = {NULL, "d-1", "d-2", "d-1/60", ""};
static const char *const codes[] = {
	"", "TaskFailedToStart", "EssentialContainerExited", "UserInitiated"};
static const char *const attributes[] = {
	"", ";a=1;", ";a=2;", ";a=1;b=;", ";b=;c=1;", ";a=1;a=2;", ";b=x;a=1;c=2;", ";ab=1;ca=1;"};
static const char *const conditions[] = {
	NULL, "a", "a=1", "a=2", "b", "b=", "b=x", "c=1", "ab", "none", "none=1"};

#define PICK(random, from) from[random_below(random, LENGTH(from))]

struct bench {
	struct random_seeded seeded;
	struct random *random;
	struct replica *state;
	struct arena *arena;
	uint64_t version;
	int64_t now_ms;
};

static struct bench *bench_new(uint64_t seed, const struct replica_limits *limits)
{
	struct bench *bench = memory_allocate(sizeof(*bench));

	random_seeded_init(&bench->seeded, seed);
	bench->random = &bench->seeded.random;
	bench->state = replica_new(limits);
	bench->arena = arena_new(0);
	return bench;
}

static void bench_free(struct bench *bench)
{
	replica_free(bench->state);
	arena_free(bench->arena);
	free(bench);
}

static struct moment now(const struct bench *bench)
{
	return (struct moment){.wall_ms = NOW + bench->now_ms, .steady_ms = 1 + bench->now_ms};
}

static struct span text_of(const char *text)
{
	return text ? span_of(text) : SPAN_NONE;
}

/* ---- random histories ---- */

static struct observe_task draw_task(struct bench *bench, char name[NAME_SIZE], char on[NAME_SIZE])
{
	struct random *random = bench->random;
	size_t group = 1 + random_below(random, LENGTH(groups) - 2);
	size_t starter = 1 + random_below(random, LENGTH(starters) - 1);
	enum observe_task_status last = random_below(random, OBSERVE_TASK_STOPPED + 1);

	snprintf(name, NAME_SIZE, "t%llu", (unsigned long long)random_below(random, TASKS));
	snprintf(on, NAME_SIZE, "i%llu", (unsigned long long)random_below(random, 4));
	return (struct observe_task){.arn = span_of(name),
		.instance = random_below(random, 8) == 0 ? SPAN("") : span_of(on),
		.group = span_of(groups[group]),
		.started_by = span_of(starters[starter]),
		.task_definition = SPAN("log:1"),
		.last = last,
		.started_ms = random_below(random, 2) ? NOW : 0,
		.stopped_ms = last == OBSERVE_TASK_STOPPED ? NOW : 0,
		.stop_code = last == OBSERVE_TASK_STOPPED ? span_of(PICK(random, codes)) : SPAN(""),
		.stopped_reason = SPAN(""),
		.version = ++bench->version};
}

static struct observe_instance draw_instance(struct bench *bench, char name[NAME_SIZE])
{
	struct random *random = bench->random;

	snprintf(name, NAME_SIZE, "i%llu", (unsigned long long)random_below(random, INSTANCES));
	return (struct observe_instance){.id = span_of(name),
		.arn = span_of(name),
		.host = SPAN(""),
		.status = random_below(random, OBSERVE_INSTANCE_OTHER + 1),
		.connected = random_below(random, 2),
		.attributes = span_of(PICK(random, attributes)),
		.version = ++bench->version};
}

static void list_some(struct bench *bench)
{
	char name[NAME_SIZE], on[NAME_SIZE];

	replica_list_begin(bench->state);
	for (uint64_t i = random_below(bench->random, 2 * TASKS); i > 0; i--) {
		struct observe_task task = draw_task(bench, name, on);

		replica_list_task(bench->state, &task, now(bench));
	}
	for (uint64_t i = random_below(bench->random, 2 * INSTANCES); i > 0; i--) {
		struct observe_instance instance = draw_instance(bench, name);

		replica_list_instance(bench->state, &instance, now(bench));
	}
	if (random_below(bench->random, 2))
		replica_list_end(bench->state, ++bench->version, now(bench), NULL, NULL);
	else
		replica_list_abort(bench->state);
}

static void change(struct bench *bench)
{
	char name[NAME_SIZE], on[NAME_SIZE];
	struct observe_task task = draw_task(bench, name, on);
	struct observe_instance instance;

	switch (random_below(bench->random, 12)) {
	case 0:
		replica_remove_task(bench->state, task.arn, task.version, now(bench), NULL, NULL);
		break;
	case 1:
	case 2:
	case 3:
		instance = draw_instance(bench, name);
		replica_put_instance(bench->state, &instance, now(bench));
		break;
	case 4:
		instance = draw_instance(bench, name);
		replica_remove_instance(bench->state, instance.id, instance.version, now(bench));
		break;
	case 5:
		if (random_below(bench->random, 20) == 0)
			list_some(bench);
		break;
	case 6:
		bench->now_ms += (int64_t)random_below(bench->random, 100);
		replica_expire(bench->state, now(bench));
		break;
	default: replica_put_task(bench->state, &task, now(bench)); break;
	}
}

/* ---- full scans, for comparison ---- */

static bool failed(const struct observe_task *task)
{
	return task->last == OBSERVE_TASK_STOPPED && !span_is(task->stop_code, "UserInitiated") &&
	       (task->stop_code.length > 0 || task->started_ms == 0);
}

static bool is_requested_for(const struct observe_task_query *query,
	const struct observe_task *task)
{
	bool by_status = query->statuses & (1u << task->last);

	if ((query->statuses || query->failed) && !by_status && !(query->failed && failed(task)))
		return false;
	return (!query->group.data || span_equal(query->group, task->group)) &&
	       (!query->started_by.data || span_equal(query->started_by, task->started_by)) &&
	       (!query->instance.data || span_equal(query->instance, task->instance));
}

/* By the text alone: of an attribute that is said twice the first counts. */
static bool has(struct span packed, struct span condition)
{
	struct span part, name, value, wanted = condition, wanted_value = SPAN_NONE;

	span_split(condition, '=', &wanted, &wanted_value);
	while (span_next_part(&packed, ';', &part))
		if (span_split(part, '=', &name, &value) && span_equal(name, wanted))
			return !wanted_value.data || span_equal(value, wanted_value);
	return false;
}

static bool is_instance_requested_for(const struct observe_instance_query *query,
	const struct observe_instance *instance)
{
	if (query->statuses && !(query->statuses & (1u << instance->status)))
		return false;
	for (size_t i = 0; i < query->attribute_count; i++)
		if (!has(instance->attributes, query->attributes[i]))
			return false;
	return true;
}

static int by_text(const void *a, const void *b)
{
	return span_compare(*(const struct span *)a, *(const struct span *)b);
}

static size_t inspect_all_tasks(struct bench *bench, const struct observe_task_query *query,
	struct span names[ALL])
{
	const struct observe_task *task;
	size_t position = 0, count = 0;

	while ((task = replica_next_task(bench->state, &position)))
		if (is_requested_for(query, task))
			names[count++] = arena_copy_span(bench->arena, task->arn);
	qsort(names, count, sizeof(*names), by_text);
	return count;
}

static size_t inspect_all_instances(struct bench *bench, const struct observe_instance_query *query,
	struct span names[ALL])
{
	const struct observe_instance *instance;
	size_t position = 0, count = 0;

	while ((instance = replica_next_instance(bench->state, &position)))
		if (is_instance_requested_for(query, instance))
			names[count++] = arena_copy_span(bench->arena, instance->id);
	qsort(names, count, sizeof(*names), by_text);
	return count;
}

/* ---- and the indexes ---- */

static size_t select_tasks(struct bench *bench, const struct observe_task_query *query, size_t most,
	struct span names[ALL])
{
	struct observe_task page[ALL];
	struct span after = SPAN_NONE;
	size_t count = 0, got;

	do {
		got = replica_select_tasks(bench->state, query, &after, most, bench->arena, page);
		assert_null(after.data);
		for (size_t i = 0; i < got; i++) {
			assert_true(is_requested_for(query, &page[i]));
			names[count++] = after = page[i].arn;
		}
	} while (got == most);
	return count;
}

static size_t select_instances(struct bench *bench, const struct observe_instance_query *query,
	size_t most, struct span names[ALL])
{
	struct observe_instance page[ALL];
	struct span after = SPAN_NONE;
	size_t count = 0, got;

	do {
		got = replica_select_instances(bench->state, query, &after, most, bench->arena,
			page);
		assert_null(after.data);
		for (size_t i = 0; i < got; i++)
			names[count++] = after = page[i].id;
	} while (got == most);
	return count;
}

static void assert_same(const struct span *found, size_t found_count, const struct span *wanted,
	size_t wanted_count)
{
	assert_int_equal(found_count, wanted_count);
	for (size_t i = 0; i < found_count; i++)
		assert_true(span_equal(found[i], wanted[i]));
}

static size_t draw_page(struct bench *bench)
{
	return random_below(bench->random, 2) ? ALL : 1 + random_below(bench->random, 4);
}

static size_t compare_tasks(struct bench *bench, const struct observe_task_query *query)
{
	struct span found[ALL], wanted[ALL];
	size_t count = inspect_all_tasks(bench, query, wanted);

	assert_same(found, select_tasks(bench, query, draw_page(bench), found), wanted, count);
	return count;
}

static size_t compare_instances(struct bench *bench, const struct observe_instance_query *query)
{
	struct span found[ALL], wanted[ALL];
	size_t count = inspect_all_instances(bench, query, wanted);

	assert_same(found, select_instances(bench, query, draw_page(bench), found), wanted, count);
	return count;
}

/* How many queries found something, and how many nothing. */
struct tally {
	size_t some, none;
};

static void count_in(struct tally *tally, size_t count)
{
	tally->some += count > 0;
	tally->none += count == 0;
}

static void compare_all_tasks(struct bench *bench, struct tally *tally)
{
	static const char *const on[] = {NULL, "i0", "i3", "", "none"};
	unsigned statuses[] = {0, 1u << random_below(bench->random, OBSERVE_TASK_STOPPED + 1),
		1u << OBSERVE_TASK_STOPPED, (unsigned)random_below(bench->random, 256)};

	for (size_t g = 0; g < LENGTH(groups); g++)
		for (size_t s = 0; s < LENGTH(starters); s++)
			for (size_t i = 0; i < LENGTH(on); i++)
				for (size_t k = 0; k < 2 * LENGTH(statuses); k++) {
					struct observe_task_query query = {
						.group = text_of(groups[g]),
						.started_by = text_of(starters[s]),
						.instance = text_of(on[i]),
						.statuses = statuses[k / 2],
						.failed = k % 2};

					count_in(tally, compare_tasks(bench, &query));
				}
}

static void compare_all_instances(struct bench *bench, struct tally *tally)
{
	for (unsigned statuses = 0; statuses < 8; statuses++)
		for (size_t i = 0; i < LENGTH(conditions); i++)
			for (size_t j = 0; j <= i; j++) {
				struct span requested[2] = {
					text_of(conditions[i]), text_of(conditions[j])};
				struct observe_instance_query query = {.statuses = statuses,
					.attributes = requested,
					.attribute_count = (i > 0) + (j > 0)};

				count_in(tally, compare_instances(bench, &query));
			}
}

/* Scenario 66: whatever has happened, and whatever is asked for. */
static void test_every_query_after_random_changes(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct bench *bench = bench_new(seed, &narrow);
		struct tally tasks = {0}, instances = {0};

		for (unsigned step = 0; step < STEPS; step++) {
			change(bench);
			if (step % 200 == 0) {
				compare_all_tasks(bench, &tasks);
				compare_all_instances(bench, &instances);
				arena_reset(bench->arena);
			}
		}
		assert_true(tasks.some > 500 && tasks.none > 500);
		assert_true(instances.some > 500 && instances.none > 500);
		replica_list_begin(bench->state);
		replica_list_end(bench->state, ++bench->version, now(bench), NULL, NULL);
		assert_int_equal(replica_get_index_work(bench->state).nodes, 0);
		bench_free(bench);
	}
}

/* ---- pages while things change ---- */

static struct observe_task_query draw_query(struct bench *bench)
{
	return (struct observe_task_query){.group = text_of(PICK(bench->random, groups)),
		.started_by = random_below(bench->random, 2)
				      ? SPAN_NONE
				      : text_of(PICK(bench->random, starters)),
		.statuses = random_below(bench->random, 2)
				    ? 0
				    : (unsigned)random_below(bench->random, 256),
		.failed = random_below(bench->random, 4) == 0};
}

/* Keeps of the first those that are among the second. */
static size_t keep_common(struct span *kept, size_t count, const struct span *others, size_t most)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		if (bsearch(&kept[i], others, most, sizeof(*others), by_text))
			kept[left++] = kept[i];
	return left;
}

static void test_pages_while_things_change(void **unused)
{
	struct bench *bench = bench_new(7, &narrow);
	size_t all_the_time = 0;

	(void)unused;
	for (unsigned round = 0; round < STEPS / 4; round++) {
		struct observe_task_query query = draw_query(bench);
		struct span steady[ALL], present[ALL], found[ALL], after = SPAN_NONE;
		size_t count = inspect_all_tasks(bench, &query, steady), found_count = 0, got;
		struct observe_task page[3];

		do {
			struct span behind = after;

			got = replica_select_tasks(bench->state, &query, &behind, LENGTH(page),
				bench->arena, page);
			for (size_t i = 0; i < got; i++) {
				assert_true(!after.data || span_compare(page[i].arn, after) > 0);
				found[found_count++] = after = page[i].arn;
			}
			for (uint64_t i = random_below(bench->random, 4); i > 0; i--) {
				change(bench);
				count = keep_common(steady, count, present,
					inspect_all_tasks(bench, &query, present));
			}
		} while (got == LENGTH(page));
		/* Nothing that was there from the first page to the last is missing, and nothing came twice. */
		assert_int_equal(keep_common(steady, count, found, found_count), count);
		all_the_time += count;
		change(bench);
		arena_reset(bench->arena);
	}
	assert_true(all_the_time > 500);
	bench_free(bench);
}

/* ---- costs ---- */

#define PAGE 50
#define FEW 1024
#define MANY 65536
#define LOG_MANY 16

/* Tasks t00000 and so on: each second one of an environment, each third one of a deployment, all statuses in turn. */
static struct observe_task numbered(struct bench *bench, size_t number, char name[NAME_SIZE],
	char on[NAME_SIZE])
{
	enum observe_task_status last = number % (OBSERVE_TASK_STOPPED + 1);

	snprintf(name, NAME_SIZE, "t%06zu", number);
	snprintf(on, NAME_SIZE, "i%06zu", number / 64);
	return (struct observe_task){.arn = span_of(name),
		.instance = span_of(on),
		.group = number / 8 % 2 ? SPAN("env:a") : SPAN("env:b"),
		.started_by = number / 8 % 3 ? SPAN("d-2") : SPAN("d-1"),
		.task_definition = SPAN("log:1"),
		.last = last,
		.stop_code = number / 16 % 2 && last == OBSERVE_TASK_STOPPED
				     ? SPAN("EssentialContainerExited")
				     : SPAN("UserInitiated"),
		.stopped_reason = SPAN(""),
		.version = ++bench->version};
}

static void fill(struct bench *bench, size_t count)
{
	char name[NAME_SIZE], on[NAME_SIZE];

	for (size_t i = 0; i < count; i++) {
		struct observe_task task = numbered(bench, i, name, on);
		struct observe_instance instance = {.id = span_of(name),
			.arn = span_of(name),
			.host = SPAN(""),
			.status = i % 16 ? OBSERVE_INSTANCE_ACTIVE : OBSERVE_INSTANCE_DRAINING,
			.connected = true,
			.attributes = i / 2 % 2 ? SPAN(";stack=prod;gpu=;") : SPAN(";stack=test;"),
			.version = ++bench->version};

		replica_put_task(bench->state, &task, now(bench));
		replica_put_instance(bench->state, &instance, now(bench));
	}
}

static struct replica_index_work work_of_task_page(struct bench *bench,
	const struct observe_task_query *query, struct span after)
{
	struct observe_task page[PAGE];
	struct replica_index_work before = replica_get_index_work(bench->state), behind;

	assert_int_equal(replica_select_tasks(bench->state, query, &after, PAGE, bench->arena,
				 page),
		PAGE);
	behind = replica_get_index_work(bench->state);
	arena_reset(bench->arena);
	return (struct replica_index_work){
		.visits = behind.visits - before.visits, .steps = behind.steps - before.steps};
}

static struct replica_index_work work_of_instance_page(struct bench *bench,
	const struct observe_instance_query *query, struct span after)
{
	struct observe_instance page[PAGE];
	struct replica_index_work before = replica_get_index_work(bench->state), behind;

	assert_int_equal(replica_select_instances(bench->state, query, &after, PAGE, bench->arena,
				 page),
		PAGE);
	behind = replica_get_index_work(bench->state);
	arena_reset(bench->arena);
	return (struct replica_index_work){
		.visits = behind.visits - before.visits, .steps = behind.steps - before.steps};
}

static void assert_cheap(struct replica_index_work work)
{
	assert_int_equal(work.visits, PAGE);
	/* A way down a tree for each, and for each status that is begun with; three times the least depth. */
	assert_in_range(work.steps, 0, (PAGE + OBSERVE_TASK_STOPPED + 2) * 3 * LOG_MANY);
}

static const struct observe_task_query task_queries[] = {
	{.failed = false},
	{.group = {"env:a", 5}},
	{.started_by = {"d-1", 3}},
	{.statuses = 1u << OBSERVE_TASK_RUNNING},
	{.failed = true},
	{.group = {"env:b", 5}, .statuses = 1u << OBSERVE_TASK_RUNNING},
	{.group = {"env:b", 5},
		.statuses = 1u << OBSERVE_TASK_PENDING | 1u << OBSERVE_TASK_STOPPED},
	{.started_by = {"d-2", 3}, .failed = true},
	{.started_by = {"d-2", 3}, .statuses = 1u << OBSERVE_TASK_STOPPED},
};

static const struct span prod[] = {{"stack=prod", 10}}, gpu[] = {{"gpu", 3}},
			 both[] = {{"stack=prod", 10}, {"gpu", 3}};
static const struct observe_instance_query instance_queries[] = {
	{.statuses = 0},
	{.statuses = 1u << OBSERVE_INSTANCE_DRAINING},
	{.attributes = prod, .attribute_count = 1},
	{.attributes = gpu, .attribute_count = 1},
	{.attributes = both, .attribute_count = 2},
	{.attributes = prod, .attribute_count = 1, .statuses = 1u << OBSERVE_INSTANCE_ACTIVE},
};

static void test_a_page_costs_what_is_on_it(void **unused)
{
	static const size_t sizes[] = {FEW, MANY};

	(void)unused;
	for (size_t size = 0; size < LENGTH(sizes); size++) {
		struct bench *bench = bench_new(1, &wide);
		char middle[NAME_SIZE];

		fill(bench, sizes[size]);
		snprintf(middle, sizeof(middle), "t%06zu", sizes[size] / 16);
		for (size_t i = 0; i < LENGTH(task_queries); i++) {
			if (size == 0 && (task_queries[i].failed || task_queries[i].statuses))
				continue; /* there are not as many */
			assert_cheap(work_of_task_page(bench, &task_queries[i], SPAN_NONE));
			assert_cheap(work_of_task_page(bench, &task_queries[i], span_of(middle)));
		}
		for (size_t i = 0; i < LENGTH(instance_queries); i++)
			assert_cheap(work_of_instance_page(bench, &instance_queries[i], SPAN_NONE));
		bench_free(bench);
	}
}

/* Of several the rarest one says what is looked at. */
static void test_the_rarest_is_looked_at(void **unused)
{
	struct bench *bench = bench_new(1, &wide);
	struct observe_task_query query = {
		.group = SPAN("env:a"), .started_by = SPAN("d-1"), .instance = SPAN("i000009")};
	struct replica_index_work before;
	struct observe_task page[PAGE];
	struct span after = SPAN_NONE, found[ALL];

	(void)unused;
	fill(bench, MANY);
	before = replica_get_index_work(bench->state);
	assert_int_equal(replica_select_tasks(bench->state, &query, &after, PAGE, bench->arena,
				 page),
		inspect_all_tasks(bench, &query, found));
	assert_int_equal(replica_get_index_work(bench->state).visits - before.visits, 64);
	bench_free(bench);
}

/* Two that have much and nothing in common: others come in between, and what is found is all the same. */
static void test_others_come_in_between(void **unused)
{
	struct bench *bench = bench_new(1, &wide);
	struct observe_task_query query = {.group = SPAN("env:a"), .started_by = SPAN("d-last")};
	struct observe_task task, page[PAGE];
	struct span after = SPAN_NONE;
	char name[NAME_SIZE], on[NAME_SIZE];
	size_t count = 0;
	unsigned calls = 0;

	(void)unused;
	for (size_t i = 0; i < 3 * REPLICA_INDEX_VISITS_MAX; i++) {
		task = numbered(bench, i, name, on);
		task.group = i % 2 ? SPAN("env:a") : SPAN("env:b");
		task.started_by = i % 2 ? SPAN("d-1") : SPAN("d-last");
		replica_put_task(bench->state, &task, now(bench));
	}
	task = numbered(bench, 3 * REPLICA_INDEX_VISITS_MAX, name, on);
	task.group = SPAN("env:a");
	task.started_by = SPAN("d-last");
	replica_put_task(bench->state, &task, now(bench));
	do {
		struct replica_index_work before = replica_get_index_work(bench->state);

		count += replica_select_tasks(bench->state, &query, &after, PAGE, bench->arena,
			page);
		assert_in_range(replica_get_index_work(bench->state).visits - before.visits, 1,
			REPLICA_INDEX_VISITS_MAX);
		calls++;
	} while (after.data);
	assert_int_equal(count, 1);
	assert_true(span_equal(page[0].arn, task.arn));
	assert_int_equal(calls, 2);
	bench_free(bench);
}

/* A change that moves nothing in an index costs nothing; another costs one removal and one insertion per tree. */
static void test_changes_are_cheap(void **unused)
{
	struct bench *bench = bench_new(1, &wide);
	char name[NAME_SIZE], on[NAME_SIZE];
	struct replica_index_work before, behind;
	struct observe_task task;
	struct observe_instance instance;

	(void)unused;
	fill(bench, MANY);
	before = replica_get_index_work(bench->state);
	/* Each task in four; each instance in one, and in one or two for each attribute. */
	assert_int_equal(before.nodes, 4 * MANY + MANY + 2 * MANY + MANY / 2);
	task = numbered(bench, 8 * 1000, name, on);
	task.health = OBSERVE_UNHEALTHY;
	assert_true(replica_put_task(bench->state, &task, now(bench)));
	instance = *replica_get_instance(bench->state, SPAN("t000100"), bench->arena);
	instance.connected = false;
	instance.version = ++bench->version;
	assert_true(replica_put_instance(bench->state, &instance, now(bench)));
	assert_int_equal(replica_get_index_work(bench->state).steps, before.steps);
	for (size_t i = 0; i < 1000; i++) {
		task = numbered(bench, 17 * i, name, on);
		task.last = (task.last + 1) % OBSERVE_TASK_STOPPED;
		assert_true(replica_put_task(bench->state, &task, now(bench)));
	}
	behind = replica_get_index_work(bench->state);
	assert_in_range(behind.steps - before.steps, 1, UINT64_C(1000) * 4 * 2 * 3 * LOG_MANY);
	assert_int_equal(behind.nodes, before.nodes);
	bench_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_query_after_random_changes),
		cmocka_unit_test(test_pages_while_things_change),
		cmocka_unit_test(test_a_page_costs_what_is_on_it),
		cmocka_unit_test(test_the_rarest_is_looked_at),
		cmocka_unit_test(test_others_come_in_between),
		cmocka_unit_test(test_changes_are_cheap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
