/* See the header. A change is up to three blocks: itself, and a task or an instance before and after, each with its texts
 * behind it. */
#include "delivery/observe/replica_change.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Where in a structure its texts are. */
struct layout {
	size_t size;
	const size_t *texts;
	size_t text_count;
};

static const size_t task_texts[] = {offsetof(struct observe_task, arn),
	offsetof(struct observe_task, instance), offsetof(struct observe_task, group),
	offsetof(struct observe_task, started_by), offsetof(struct observe_task, task_definition),
	offsetof(struct observe_task, stop_code), offsetof(struct observe_task, stopped_reason)};
static const size_t instance_texts[] = {offsetof(struct observe_instance, id),
	offsetof(struct observe_instance, arn), offsetof(struct observe_instance, host),
	offsetof(struct observe_instance, attributes)};
static const struct layout task_layout = {
	sizeof(struct observe_task), task_texts, LENGTH(task_texts)};
static const struct layout instance_layout = {
	sizeof(struct observe_instance), instance_texts, LENGTH(instance_texts)};

static struct span *text_at(const struct layout *layout, const void *object, size_t i)
{
	return (struct span *)((const char *)object + layout->texts[i]);
}

static size_t size_of(const struct layout *layout, const void *object)
{
	size_t size = layout->size;

	for (size_t i = 0; i < layout->text_count; i++)
		size += text_at(layout, object, i)->length;
	return size;
}

/* In the arena; NULL: on the heap. */
static void *allocate(struct arena *arena, size_t size)
{
	return arena ? arena_allocate(arena, size) : memory_allocate(size);
}

static void *copy_object(const struct layout *layout, const void *object, struct arena *arena)
{
	char *block, *at;

	if (!object)
		return NULL;
	block = allocate(arena, size_of(layout, object));
	at = block + layout->size;
	memcpy(block, object, layout->size);
	for (size_t i = 0; i < layout->text_count; i++) {
		struct span *text = text_at(layout, block, i);

		if (text->length > 0)
			memcpy(at, text->data, text->length);
		text->data = at;
		at += text->length;
	}
	return block;
}

static void *copy(const void *change, struct arena *arena)
{
	const struct replica_change *original = change;
	struct replica_change *copied = allocate(arena, sizeof(*copied));

	*copied = (struct replica_change){
		.task_before = copy_object(&task_layout, original->task_before, arena),
		.task_after = copy_object(&task_layout, original->task_after, arena),
		.instance_before = copy_object(&instance_layout, original->instance_before, arena),
		.instance_after = copy_object(&instance_layout, original->instance_after, arena)};
	return copied;
}

static void free_change(void *kept)
{
	struct replica_change *change = kept;

	free((void *)change->task_before);
	free((void *)change->task_after);
	free((void *)change->instance_before);
	free((void *)change->instance_after);
	free(change);
}

const struct change_log_type replica_change_log_type = {.copy = copy, .free = free_change};

void *replica_change_keep(const struct replica_change *change)
{
	return copy(change, NULL);
}
