/*
 * The kinds a store was opened with, and where each has its trees: in every view the trees of all
 * kinds lie in one array, kind after kind, first the tree by key, then one per index.
 */
#ifndef STORE_KINDS_H
#define STORE_KINDS_H

#include "store/store.h"
#include "store/tree.h"

struct kind_place {
	const struct store_kind *kind;
	size_t first_tree;
};

struct kinds {
	struct kind_place *places;
	size_t count;
	struct tree_type *types; /* of all trees, in their order */
	size_t tree_count;
	uint16_t *table; /* kind's address -> index + 1 into places */
	size_t table_mask;
};

/* -EINVAL when two kinds have the same name or one has too many indexes. */
int kinds_init(struct kinds *kinds, const struct store_kind *const *list, size_t count,
	struct err *err);
void kinds_clear(struct kinds *kinds);

/* A kind that the store does not have is a programmer's error. */
const struct kind_place *kinds_find(const struct kinds *kinds, const struct store_kind *kind);
const struct kind_place *kinds_find_name(const struct kinds *kinds, struct span name); /* or NULL */

#endif
