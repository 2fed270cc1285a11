/*
 * How objects are made. One allocation has the public part, the facts, the key and both texts; a
 * second says under which texts the indexes find it, known only after the facts are. Neither
 * changes nor moves once the object is made; the last reference frees both.
 *
 * Texts of indexes are shared: thousands of tasks are of one service, and each version of an object has mostly
 * the texts of the one before.
 */
#ifndef STORE_OBJECT_H
#define STORE_OBJECT_H

#include "store/store.h"
#include "store/tree.h"

#define OBJECT_INDEX_TEXT_MAX 4096  /* bytes of one text of an index */
#define OBJECT_INDEX_TEXTS_MAX 1024 /* texts of one object in one index */

#define OBJECT_RECENT_TEXTS 1024 /* remembered, so that objects that come after share them */

/* Reused state for making objects: scratch memory and the recently used texts. One thread uses it
 * at a time. */
struct object_maker;
struct object_maker *object_maker_new(void);
void object_maker_free(struct object_maker *maker); /* NULL is fine */

/* Copies the texts and extracts the facts and index texts. The caller owns one reference.
 * -EINVAL when extract refuses (err is its), -E2BIG beyond a limit. */
int object_new(struct object_maker *maker, const struct store_kind *kind, struct span key,
	uint64_t revision, struct span api, struct span private_,
	const struct store_object **ret_object, struct err *err);

/* Bytes of memory that the object takes; not the texts that it found and shares. */
size_t object_size(const struct store_object *object);

/* The key as an entry of the tree by key has it. */
const struct tree_text *object_key_text(const struct store_object *object);

/* Walks the index texts, index after index from the first: object_walk_index() begins the next one,
 * object_walk_next() gives its texts in order, each once, then NULL. The object may be NULL: it has
 * no texts. */
struct object_text;
struct object_walk {
	struct object_text *const *at;
	const uint16_t *counts; /* of the indexes that come */
	uint32_t left;          /* of this index */
};
void object_walk_begin(struct object_walk *walk, const struct store_object *object);
void object_walk_index(struct object_walk *walk);
const struct tree_text *object_walk_next(struct object_walk *walk);

#endif
