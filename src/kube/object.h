/*
 * An object in an informer's cache: its identity, and the data that the user's reduce function took
 * from it, in one block of memory. Immutable and reference-counted, so that any thread can hold it
 * beyond its deletion.
 */
#ifndef KUBE_OBJECT_H
#define KUBE_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/span.h"

#define KUBE_OBJECT_KEPT_MAX ((size_t)256 * 1024)

struct kube_object {
	struct span key; /* "namespace/name", or "name" without namespace; as informers find it */
	struct span namespace; /* "" without */
	struct span name;
	struct span uid;
	struct span resource_version;
	const void *data; /* the result of reduce */
};

/* From any thread. */
const struct kube_object *kube_object_reference(const struct kube_object *object);
void kube_object_release(const struct kube_object *object); /* NULL is fine */
void kube_object_release_pointer(const struct kube_object **object);
#define _kube_object_ CLEANUP(kube_object_release_pointer)
size_t kube_object_size(const struct kube_object *object); /* bytes, all of it */

/*
 * The memory for the data that a reduce function keeps. All of it becomes part of one block:
 * pointers between its parts are valid, and no part is freed alone. To compute the size of the
 * block, reduce is called twice for each object, first to measure: its result must depend on the
 * object alone, and it must make the same allocations in the same order.
 */
struct kube_keep;
void *kube_keep_memory(struct kube_keep *keep,
	size_t size); /* zeroed, aligned for any pointer or int64_t */
void *kube_keep_array(struct kube_keep *keep, size_t count, size_t size);
/* A copy with a NUL behind it. SPAN_NONE stays so. */
struct span kube_keep_text(struct kube_keep *keep, struct span text);
/* The text of a value, as JSON; SPAN_NONE for NULL. */
struct span kube_keep_json(struct kube_keep *keep, const struct json *value);

/* Copies the needed data from `object` (complete, as sent by the server, valid during the call
 * only). 0; KUBE_REDUCE_IGNORE: the object is unmanaged and treated as absent; negative: it is
 * invalid, which is counted and reported, and its cached state stays. */
#define KUBE_REDUCE_IGNORE 1
typedef int (*kube_reduce)(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err);

/* Makes one by itself, for tests and for answers to writes: as an informer would. Codes of reduce, or
 * -EINVAL without metadata.name or metadata.uid, -E2BIG beyond KUBE_OBJECT_KEPT_MAX. */
int kube_object_make(const struct json *object, kube_reduce reduce, void *context,
	const struct kube_object **ret_object, struct err *err);

/* ---- reading what is in every object ---- */

/* RFC 3339 ("2026-11-16T12:00:00Z", with fraction or offset too) in milliseconds since 1970; 0 if it is
 * absent or not one. */
int64_t kube_time_ms(const struct json *value);
/* A quantity ("250m", "1Gi", "1.5", "2e3") in thousandths; false if it is not one or passes 64 bits. */
bool kube_quantity_milli(const struct json *value, int64_t *ret_milli);

#endif
