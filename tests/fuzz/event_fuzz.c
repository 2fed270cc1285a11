/*
 * Events of ECS, one on each line, as /v1/ecs-events takes them. Whatever they say, reading them ends, versions of
 * what is known never go back, and the same events the other way round make the same replica, unless two say
 * different things of one entity under one version.
 */
#include <stdio.h>
#include <stdlib.h>

#include "delivery/observe/document.h"
#include "delivery/observe/replica.h"

#define EVENTS_MAX 64
#define NOW_MS INT64_C(1000000)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct changes {
	bool is_task, gone;
	struct observe_task task;
	struct observe_instance instance;
};

static const struct moment now = {.wall_ms = NOW_MS, .steady_ms = NOW_MS};
static const struct replica_limits limits = {
	.stopped_max = 1000, .stopped_ms = NOW_MS, .tombstones_max = 1000, .tombstones_ms = NOW_MS};

static bool read_changes(struct span line, struct arena *arena, struct changes *ret_changes)
{
	struct json *event;
	const struct json *detail;
	struct cluster_ref cluster;
	struct err err;
	int64_t moment;

	*ret_changes = (struct changes){0};
	if (json_parse(line, arena, &event, NULL) < 0)
		return false;
	detail = json_get(event, "detail");
	observe_document_time(json_get(event, "time"), arena, &moment);
	if (observe_event_cluster(SPAN("there"), event, arena, &cluster) &&
		cluster.cluster.length == 0)
		abort(); /* a cluster without a name */
	if (observe_document_task(detail, arena, &ret_changes->task, &err) == 0) {
		ret_changes->is_task = true;
		return ret_changes->task.version > 0;
	}
	return observe_document_instance(detail, arena, &ret_changes->instance, &ret_changes->gone,
		       &err) == 0 &&
	       ret_changes->instance.version > 0;
}

static uint64_t known_version(const struct replica *state, const struct changes *changes,
	struct arena *arena)
{
	const struct observe_task *task;
	const struct observe_instance *instance;

	if (changes->is_task) {
		task = replica_get_task(state, changes->task.arn, arena);
		return task ? task->version : 0;
	}
	instance = replica_get_instance(state, changes->instance.id, arena);
	return instance ? instance->version : 0;
}

static void apply(struct replica *state, const struct changes *changes, struct arena *arena)
{
	uint64_t before = known_version(state, changes, arena), after;

	if (changes->is_task)
		replica_put_task(state, &changes->task, now);
	else if (changes->gone)
		replica_remove_instance(state, changes->instance.id, changes->instance.version,
			now);
	else
		replica_put_instance(state, &changes->instance, now);
	after = known_version(state, changes, arena);
	CHECK(after == 0 || after >= before);
}

/* Two events of one entity with one version. */
static bool contradict(const struct changes *a, const struct changes *b)
{
	if (a->is_task != b->is_task)
		return false;
	if (a->is_task)
		return span_equal(a->task.arn, b->task.arn) && a->task.version == b->task.version;
	return span_equal(a->instance.id, b->instance.id) &&
	       a->instance.version == b->instance.version;
}

static bool is_consistent(const struct changes *changes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (contradict(&changes[i], &changes[j]))
				return false;
	return true;
}

static void check_same(const struct replica *a, const struct replica *b,
	const struct changes *changes, size_t count, struct arena *arena)
{
	CHECK(replica_instance_count(a) == replica_instance_count(b));
	CHECK(replica_task_count(a) == replica_task_count(b));
	for (size_t i = 0; i < count; i++)
		CHECK(known_version(a, &changes[i], arena) == known_version(b, &changes[i], arena));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_arena_ struct arena *arena = arena_new(0);
	_replica_ struct replica *forwards = replica_new(&limits);
	_replica_ struct replica *backwards = replica_new(&limits);
	struct span text = {(const char *)data, size}, line;
	struct changes changes[EVENTS_MAX];
	size_t count = 0;

	while (count < EVENTS_MAX && span_next_part(&text, '\n', &line))
		count += read_changes(line, arena, &changes[count]);
	for (size_t i = 0; i < count; i++)
		apply(forwards, &changes[i], arena);
	for (size_t i = count; i > 0; i--)
		apply(backwards, &changes[i - 1], arena);
	if (is_consistent(changes, count))
		check_same(forwards, backwards, changes, count, arena);
	return 0;
}
