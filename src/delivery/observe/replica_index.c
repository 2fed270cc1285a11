/*
 * A set for each (scope, status, text): a treap of entries in order of name, so that nothing is kept for sets that
 * are empty. Entries outlive what they refer to: when an instance or a task is replaced only those sets are touched
 * in which it was found otherwise. Priorities are a permutation of 1, 2, 3…: no two are equal, and no code outside
 * chooses them, and the same history makes the same trees.
 */
#include "delivery/observe/replica_index.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/map.h"
#include "base/memory.h"
#include "ecs/record/attribute.h"

/* Tasks by status, those that have failed behind the others; instances by status. */
#define TASK_FAILED (OBSERVE_TASK_STOPPED + 1)
#define TASK_BUCKETS (TASK_FAILED + 1)
#define INSTANCE_BUCKETS (OBSERVE_INSTANCE_OTHER + 1)
#define BUCKETS_MAX TASK_BUCKETS
#define SCOPES_MAX 4 /* of a query about tasks */

struct replica_index_entry {
	struct span name;
	uint64_t priority;
	union {
		const struct observe_task *task;
		const struct observe_instance *instance;
	};
};

struct node {
	struct node *left, *right;
	struct replica_index_entry *entry;
};

struct set {
	struct node *root;
	size_t count;
};

/* The first character of the key of a set. */
enum scope {
	ALL_TASKS = 'T',
	OF_GROUP = 'g',
	STARTED_BY = 's',
	ON_INSTANCE = 'i',
	ALL_INSTANCES = 'I',
	WITH_ATTRIBUTE = 'a', /* "NAME", and "NAME=VALUE" unless the value is "" */
};

struct replica_index {
	struct map sets; /* "SCOPE BUCKET TEXT" without the spaces */
	struct buffer key;
	uint64_t created; /* entries, ever */
	struct replica_index_work work;
};

/* ---- queries about one entity ---- */

bool observe_task_stays(const struct observe_task *task)
{
	return task->wanted && task->last <= OBSERVE_TASK_RUNNING;
}

bool observe_task_has_failed(const struct observe_task *task)
{
	if (task->last != OBSERVE_TASK_STOPPED)
		return false;
	return span_is(task->stop_code, "TaskFailedToStart") ||
	       span_is(task->stop_code, "EssentialContainerExited") ||
	       (task->stop_code.length == 0 && task->started_ms == 0);
}

bool observe_has_attribute(struct span attributes, struct span condition)
{
	struct span name = condition, value = SPAN_NONE, found;

	span_split(condition, '=', &name, &value);
	return attribute_packed_find(attributes, name, &found) &&
	       (!value.data || span_equal(value, found));
}

static unsigned task_bucket(const struct observe_task *task)
{
	return observe_task_has_failed(task) ? TASK_FAILED : task->last;
}

static unsigned task_buckets(const struct observe_task_query *query)
{
	unsigned buckets = query->statuses;

	if (buckets == 0 && !query->failed)
		return (1u << TASK_BUCKETS) - 1;
	if (query->failed || (buckets & (1u << OBSERVE_TASK_STOPPED)))
		buckets |= 1u << TASK_FAILED;
	return buckets;
}

static unsigned instance_buckets(const struct observe_instance_query *query)
{
	return query->statuses ? query->statuses : (1u << INSTANCE_BUCKETS) - 1;
}

static bool same_or_any(struct span wanted, struct span found)
{
	return !wanted.data || span_equal(wanted, found);
}

/* Of one with a wanted status. */
static bool task_passes(const void *context, const struct replica_index_entry *entry)
{
	const struct observe_task_query *query = context;

	return same_or_any(query->instance, entry->task->instance) &&
	       same_or_any(query->started_by, entry->task->started_by) &&
	       same_or_any(query->group, entry->task->group);
}

static bool instance_passes(const void *context, const struct replica_index_entry *entry)
{
	const struct observe_instance_query *query = context;

	for (size_t i = 0; i < query->attribute_count; i++)
		if (!observe_has_attribute(entry->instance->attributes, query->attributes[i]))
			return false;
	return true;
}

/* ---- sets ---- */

static int compare(struct replica_index *index, struct span name, const struct node *node)
{
	index->work.steps++;
	return span_compare(name, node->entry->name);
}

static void set_put(struct replica_index *index, struct set *set, struct replica_index_entry *entry)
{
	struct node **at = &set->root, *created, *rest, **less, **more;

	while (*at && (*at)->entry->priority > entry->priority)
		at = compare(index, entry->name, *at) < 0 ? &(*at)->left : &(*at)->right;
	/* An instance may say an attribute twice. */
	if (*at && (*at)->entry == entry)
		return;
	created = memory_allocate(sizeof(*created));
	created->entry = entry;
	less = &created->left;
	more = &created->right;
	for (rest = *at; rest;) {
		if (compare(index, entry->name, rest) > 0) {
			*less = rest;
			less = &rest->right;
			rest = rest->right;
		} else {
			*more = rest;
			more = &rest->left;
			rest = rest->left;
		}
	}
	*less = *more = NULL;
	*at = created;
	set->count++;
	index->work.nodes++;
}

static void set_remove(struct replica_index *index, struct set *set,
	const struct replica_index_entry *entry)
{
	struct node **at = &set->root, *gone, *left, *right;

	while (*at && (*at)->entry != entry)
		at = compare(index, entry->name, *at) < 0 ? &(*at)->left : &(*at)->right;
	gone = *at;
	if (!gone)
		return;
	left = gone->left;
	right = gone->right;
	while (left && right) {
		index->work.steps++;
		if (left->entry->priority > right->entry->priority) {
			*at = left;
			at = &left->right;
			left = left->right;
		} else {
			*at = right;
			at = &right->left;
			right = right->left;
		}
	}
	*at = left ? left : right;
	free(gone);
	set->count--;
	index->work.nodes--;
}

/* The first behind a name; data NULL: the first. */
static struct replica_index_entry *set_next(struct replica_index *index, const struct set *set,
	struct span after)
{
	struct replica_index_entry *found = NULL;
	const struct node *at = set->root;

	while (at) {
		if (!after.data || compare(index, after, at) < 0) {
			found = at->entry;
			at = at->left;
		} else {
			at = at->right;
		}
	}
	return found;
}

/* Entries are not looked at: they may be gone already. */
static void set_free(struct set *set, bool with_entries)
{
	struct node *at = set->root, *next;

	while (at) {
		next = at->left;
		if (next) { /* until nothing is left of it */
			at->left = next->right;
			next->right = at;
		} else {
			next = at->right;
			if (with_entries)
				free(at->entry);
			free(at);
		}
		at = next;
	}
	free(set);
}

static struct span key_of(struct replica_index *index, enum scope scope, unsigned bucket,
	struct span text)
{
	buffer_reset(&index->key);
	buffer_add_char(&index->key, (char)scope);
	buffer_add_char(&index->key, (char)('0' + bucket));
	buffer_add_span(&index->key, text);
	return buffer_span(&index->key);
}

static void add(struct replica_index *index, enum scope scope, unsigned bucket, struct span text,
	struct replica_index_entry *entry)
{
	struct span key = key_of(index, scope, bucket, text);
	struct set *set = map_get(&index->sets, key);

	if (!set) {
		set = memory_allocate(sizeof(*set));
		map_put(&index->sets, key, set);
	}
	set_put(index, set, entry);
}

static void leave(struct replica_index *index, enum scope scope, unsigned bucket, struct span text,
	struct replica_index_entry *entry)
{
	struct span key = key_of(index, scope, bucket, text);
	struct set *set = map_get(&index->sets, key);

	if (!set)
		return;
	set_remove(index, set, entry);
	if (set->count > 0)
		return;
	map_remove(&index->sets, key);
	free(set);
}

/* ---- changes ---- */

/* Of which 1, 2, 3… are a permutation (splitmix64). */
static uint64_t priority_of(uint64_t number)
{
	number *= UINT64_C(0x9e3779b97f4a7c15);
	number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
	return number ^ (number >> 31);
}

static struct replica_index_entry *entry_new(struct replica_index *index, struct span name)
{
	struct replica_index_entry *entry = memory_allocate(sizeof(*entry));

	entry->name = name;
	entry->priority = priority_of(++index->created);
	return entry;
}

static struct span task_text(const struct observe_task *task, enum scope scope)
{
	switch (scope) {
	case OF_GROUP: return task->group;
	case STARTED_BY: return task->started_by;
	case ON_INSTANCE: return task->instance;
	default: return SPAN("");
	}
}

static const enum scope task_scopes[SCOPES_MAX] = {ALL_TASKS, OF_GROUP, STARTED_BY, ON_INSTANCE};

/* NULL: it was not there, or is not any more. */
static void move_task(struct replica_index *index, struct replica_index_entry *entry,
	const struct observe_task *from, const struct observe_task *to)
{
	for (size_t i = 0; i < LENGTH(task_scopes); i++) {
		enum scope scope = task_scopes[i];

		if (from && to && task_bucket(from) == task_bucket(to) &&
			span_equal(task_text(from, scope), task_text(to, scope)))
			continue;
		if (from)
			leave(index, scope, task_bucket(from), task_text(from, scope), entry);
		if (to)
			add(index, scope, task_bucket(to), task_text(to, scope), entry);
	}
}

void replica_index_put_task(struct replica_index *index, struct replica_index_entry **entry,
	const struct observe_task *task)
{
	const struct observe_task *before = *entry ? (*entry)->task : NULL;

	if (!*entry)
		*entry = entry_new(index, task->arn);
	move_task(index, *entry, before, task);
	(*entry)->name = task->arn;
	(*entry)->task = task;
}

void replica_index_remove_task(struct replica_index *index, struct replica_index_entry *entry)
{
	move_task(index, entry, entry->task, NULL);
	free(entry);
}

static void file_instance(struct replica_index *index, struct replica_index_entry *entry,
	const struct observe_instance *instance,
	void (*file)(struct replica_index *index, enum scope scope, unsigned bucket,
		struct span text, struct replica_index_entry *entry))
{
	struct span rest = instance->attributes, part, name, value;

	file(index, ALL_INSTANCES, instance->status, SPAN(""), entry);
	while (span_next_part(&rest, ';', &part)) {
		if (!span_split(part, '=', &name, &value))
			continue;
		file(index, WITH_ATTRIBUTE, instance->status, name, entry);
		/* Agents report dozens without a value. */
		if (value.length > 0)
			file(index, WITH_ATTRIBUTE, instance->status, part, entry);
	}
}

void replica_index_put_instance(struct replica_index *index, struct replica_index_entry **entry,
	const struct observe_instance *instance)
{
	const struct observe_instance *before = *entry ? (*entry)->instance : NULL;
	bool same = before && before->status == instance->status &&
		    span_equal(before->attributes, instance->attributes);

	if (!*entry)
		*entry = entry_new(index, instance->id);
	if (before && !same)
		file_instance(index, *entry, before, leave);
	if (!same)
		file_instance(index, *entry, instance, add);
	(*entry)->name = instance->id;
	(*entry)->instance = instance;
}

void replica_index_remove_instance(struct replica_index *index, struct replica_index_entry *entry)
{
	file_instance(index, entry, entry->instance, leave);
	free(entry);
}

/* ---- queries ---- */

/* The entities with one of the wanted statuses and a text. */
struct source {
	const struct set *sets[BUCKETS_MAX];
	size_t set_count, entry_count;
};

static struct source source_of(struct replica_index *index, enum scope scope, unsigned buckets,
	struct span text)
{
	struct source source = {0};

	for (unsigned bucket = 0; bucket < BUCKETS_MAX; bucket++) {
		const struct set *set =
			buckets & (1u << bucket)
				? map_get(&index->sets, key_of(index, scope, bucket, text))
				: NULL;

		if (!set)
			continue;
		source.sets[source.set_count++] = set;
		source.entry_count += set->count;
	}
	return source;
}

static void prefer(struct source *best, struct source other)
{
	if (other.entry_count < best->entry_count)
		*best = other;
}

/* Those of a source that pass, by merging its sets; none is in two of them. */
static size_t find(struct replica_index *index, const struct source *source,
	bool (*passes)(const void *query, const struct replica_index_entry *entry),
	const void *query, struct span *after, size_t most, struct arena *arena,
	const struct replica_index_entry ***ret_entries)
{
	size_t room = most < source->entry_count ? most : source->entry_count, count = 0;
	const struct replica_index_entry *heads[BUCKETS_MAX] = {0}, *entry = NULL;
	unsigned visits = 0;

	*ret_entries = arena_allocate_array(arena, room + 1, sizeof(**ret_entries));
	for (size_t i = 0; i < source->set_count; i++)
		heads[i] = set_next(index, source->sets[i], *after);
	*after = SPAN_NONE;
	while (count < room) {
		size_t least = 0;

		for (size_t i = 1; i < source->set_count; i++)
			if (heads[i] && (!heads[least] || span_compare(heads[i]->name,
								  heads[least]->name) < 0))
				least = i;
		if (!heads[least])
			break;
		if (visits++ == REPLICA_INDEX_VISITS_MAX) {
			*after = arena_copy_span(arena, entry->name);
			break;
		}
		entry = heads[least];
		if (passes(query, entry))
			(*ret_entries)[count++] = entry;
		heads[least] = set_next(index, source->sets[least], entry->name);
		index->work.visits++;
	}
	return count;
}

size_t replica_index_find_tasks(struct replica_index *index, const struct observe_task_query *query,
	struct span *after, size_t most, struct arena *arena,
	const struct observe_task ***ret_tasks)
{
	unsigned buckets = task_buckets(query);
	struct source source = source_of(index, ALL_TASKS, buckets, SPAN(""));
	const struct replica_index_entry **entries;
	size_t count;

	if (query->group.data)
		prefer(&source, source_of(index, OF_GROUP, buckets, query->group));
	if (query->started_by.data)
		prefer(&source, source_of(index, STARTED_BY, buckets, query->started_by));
	if (query->instance.data)
		prefer(&source, source_of(index, ON_INSTANCE, buckets, query->instance));
	count = find(index, &source, task_passes, query, after, most, arena, &entries);
	*ret_tasks = arena_allocate_array(arena, count + 1, sizeof(**ret_tasks));
	for (size_t i = 0; i < count; i++)
		(*ret_tasks)[i] = entries[i]->task;
	return count;
}

size_t replica_index_find_instances(struct replica_index *index,
	const struct observe_instance_query *query, struct span *after, size_t most,
	struct arena *arena, const struct observe_instance ***ret_instances)
{
	unsigned buckets = instance_buckets(query);
	struct source source = source_of(index, ALL_INSTANCES, buckets, SPAN(""));
	const struct replica_index_entry **entries;
	size_t count;

	for (size_t i = 0; i < query->attribute_count; i++) {
		struct span text = query->attributes[i], name, value;

		if (span_split(text, '=', &name, &value) && value.length == 0)
			text = name;
		prefer(&source, source_of(index, WITH_ATTRIBUTE, buckets, text));
	}
	count = find(index, &source, instance_passes, query, after, most, arena, &entries);
	*ret_instances = arena_allocate_array(arena, count + 1, sizeof(**ret_instances));
	for (size_t i = 0; i < count; i++)
		(*ret_instances)[i] = entries[i]->instance;
	return count;
}

struct replica_index_work replica_index_work(const struct replica_index *index)
{
	return index->work;
}

/* ---- making and freeing ---- */

struct replica_index *replica_index_new(void)
{
	return memory_allocate(sizeof(struct replica_index));
}

void replica_index_free(struct replica_index *index)
{
	if (!index)
		return;
	/* Each entry is in one set of everything. */
	MAP_EACH (&index->sets, entry)
		set_free(entry->value,
			entry->key.data[0] == ALL_TASKS || entry->key.data[0] == ALL_INSTANCES);
	map_clear(&index->sets);
	buffer_clear(&index->key);
	free(index);
}
