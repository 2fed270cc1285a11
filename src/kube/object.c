/*
 * An object is one block: the public part, its texts, then what reduce kept. Reduce runs on an arena first,
 * which says how long the block will be, then on the block itself.
 */
#include "kube/object.h"

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/arena.h"

#define ALIGNMENT alignof(void *)

struct block {
	struct kube_object object; /* first */
	atomic_uint references;
	uint32_t size;
	alignas(ALIGNMENT) char data[];
};

struct kube_keep {
	struct arena *arena; /* measuring; else NULL */
	char *at, *end;      /* of the block, when not */
	size_t size;         /* asked for so far */
};

static struct block *as_block(const struct kube_object *object)
{
	return CONTAINER_OF(object, struct block, object);
}

/* ---- references ---- */

const struct kube_object *kube_object_reference(const struct kube_object *object)
{
	atomic_fetch_add_explicit(&as_block(object)->references, 1, memory_order_relaxed);
	return object;
}

void kube_object_release(const struct kube_object *object)
{
	if (object && atomic_fetch_sub_explicit(&as_block(object)->references, 1,
			      memory_order_acq_rel) == 1)
		free(as_block(object));
}

void kube_object_release_pointer(const struct kube_object **object)
{
	kube_object_release(*object);
	*object = NULL;
}

size_t kube_object_size(const struct kube_object *object)
{
	return as_block(object)->size;
}

/* ---- keeping ---- */

static size_t align(size_t size)
{
	return (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

static void *take(struct kube_keep *keep, size_t size)
{
	void *memory;

	keep->size += size;
	if (keep->arena)
		return arena_allocate(keep->arena, size);
	assert((size_t)(keep->end - keep->at) >=
		size); /* else reduce is not a function of its object */
	memory = keep->at;
	keep->at += size;
	return memory;
}

/* Texts stand close to each other; what must be aligned comes behind a gap. */
void *kube_keep_memory(struct kube_keep *keep, size_t size)
{
	size_t gap = align(keep->size) - keep->size;

	keep->size += gap;
	if (!keep->arena)
		keep->at += gap;
	return take(keep, size > SIZE_MAX / 2 ? size : align(size));
}

void *kube_keep_array(struct kube_keep *keep, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		bytes = SIZE_MAX / 2; /* for the allocator to refuse */
	return kube_keep_memory(keep, bytes);
}

struct span kube_keep_text(struct kube_keep *keep, struct span text)
{
	char *copy;

	if (!text.data)
		return SPAN_NONE;
	copy = take(keep, text.length + 1);
	memcpy(copy, text.data, text.length);
	return (struct span){copy, text.length};
}

struct span kube_keep_json(struct kube_keep *keep, const struct json *value)
{
	_buffer_ struct buffer text = {0};

	if (!value)
		return SPAN_NONE;
	json_write(value, &text);
	return kube_keep_text(keep, buffer_span(&text));
}

/* ---- making ---- */

/* Identity, as it is in the JSON. */
struct identity {
	struct span namespace, name, uid, resource_version;
};

static int read_identity(const struct json *object, struct identity *ret_identity, struct err *err)
{
	const struct json *metadata = json_get(object, "metadata");
	struct span namespace = json_get_text(metadata, "namespace");
	struct span version = json_get_text(metadata, "resourceVersion");

	ret_identity->name = json_get_text(metadata, "name");
	ret_identity->uid = json_get_text(metadata, "uid");
	ret_identity->namespace = namespace.data ? namespace : SPAN("");
	ret_identity->resource_version = version.data ? version : SPAN("");
	if (ret_identity->name.length == 0)
		return err_set(err, -EINVAL, "an object has no metadata.name");
	if (ret_identity->uid.length == 0)
		return err_set(err, -EINVAL, "'%.*s' has no metadata.uid",
			SPAN_ARGS(ret_identity->name));
	return 0;
}

/* "namespace/name" once; both are parts of it. */
static void keep_identity(const struct identity *identity, struct kube_keep *keep,
	struct kube_object *object)
{
	size_t prefix = identity->namespace.length > 0 ? identity->namespace.length + 1 : 0;
	size_t length = prefix + identity->name.length;
	char *key = take(keep, length + 1);

	if (prefix > 0) {
		memcpy(key, identity->namespace.data, prefix - 1);
		key[prefix - 1] = '/';
	}
	memcpy(key + prefix, identity->name.data, identity->name.length);
	object->key = (struct span){key, length};
	object->namespace = (struct span){key, identity->namespace.length};
	object->name = (struct span){key + prefix, identity->name.length};
	object->uid = kube_keep_text(keep, identity->uid);
	object->resource_version = kube_keep_text(keep, identity->resource_version);
}

static int keep_all(const struct json *json, const struct identity *identity, kube_reduce reduce,
	void *context, struct kube_keep *keep, struct kube_object *object, struct err *err)
{
	keep_identity(identity, keep, object);
	return reduce ? reduce(context, json, keep, &object->data, err) : 0;
}

int kube_object_make(const struct json *object, kube_reduce reduce, void *context,
	const struct kube_object **ret_object, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct kube_keep keep = {.arena = arena};
	struct kube_object measured = {0};
	struct identity identity;
	struct block *block;
	int code;

	code = read_identity(object, &identity, err);
	if (code == 0)
		code = keep_all(object, &identity, reduce, context, &keep, &measured, err);
	if (code != 0)
		return code;
	if (keep.size > KUBE_OBJECT_KEPT_MAX)
		return err_set(err, -E2BIG, "'%.*s': more than %zu bytes would be kept of it",
			SPAN_ARGS(measured.key), KUBE_OBJECT_KEPT_MAX);
	block = memory_allocate(sizeof(*block) + keep.size);
	block->references = 1;
	block->size = (uint32_t)(sizeof(*block) + keep.size);
	keep = (struct kube_keep){.at = block->data, .end = block->data + keep.size};
	code = keep_all(object, &identity, reduce, context, &keep, &block->object, err);
	if (code != 0) { /* not the function of its object that it should be */
		free(block);
		return code;
	}
	*ret_object = &block->object;
	return 0;
}
