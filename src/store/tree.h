/*
 * A persistent B+tree of small entries (text, object), ordered by (text, key of the object).
 *
 * Nodes are reference-counted and shared between trees: sharing a root is a snapshot in O(1), and a
 * change copies only the nodes on its path that someone else can see. A node that is reached through
 * single references all the way from the root belongs to this tree alone and is changed in place, so
 * the second change of a transaction to the same part of a tree copies nothing.
 *
 * An entry copies no key: text and key live inside the object. A tree that holds_objects keeps its
 * objects alive; the trees of a kind's indexes lean on the tree by key beside them, which is always
 * shared and released together with them.
 *
 * Every inner node knows, for each child, its first entry, how many entries are below it and, in a
 * tree with a measure, the sums of their measures: counts and sums over a range are O(log n).
 *
 * A tree is changed by one thread at a time; shared nodes are never changed, so anyone reads them.
 */
#ifndef STORE_TREE_H
#define STORE_TREE_H

#include "store/store.h"

#define TREE_DEPTH_MAX 16 /* as in struct store_cursor; far beyond what memory can hold */

struct tree_node;

struct tree_text {
	uint32_t length;
	char data[];
};

static inline struct span tree_text_span(const struct tree_text *text)
{
	return (struct span){text->data, text->length};
}

struct tree_entry {
	const struct tree_text *text;
	const struct store_object *object;
};

struct tree_type {
	bool holds_objects;
	void (*measure)(const struct store_object *object,
		int64_t measures[STORE_MEASURES]); /* or NULL */
};

struct tree {
	const struct tree_type *type;
	struct tree_node *root; /* NULL: empty */
};

struct tree tree_share(const struct tree *tree);
void tree_release(struct tree *tree); /* leaves it empty */

/* Adds the entry, or puts it in the place of the one with the same text and key. */
void tree_put(struct tree *tree, struct tree_entry entry);
/* Takes away the entry with this text and this object's key, which must be there. The caller has a
 * reference of its own to the object. */
void tree_remove(struct tree *tree, struct tree_entry entry);

/* The first entry with exactly this text, or NULL. */
const struct tree_entry *tree_find(const struct tree *tree, struct span text);
uint64_t tree_count(const struct tree *tree);

/* A place between two entries. */
enum tree_edge {
	TREE_BEFORE_TEXT,  /* before all entries with this text */
	TREE_AFTER_TEXT,   /* behind them */
	TREE_AFTER_PREFIX, /* behind all entries whose text starts with this text */
	TREE_BEFORE_KEY,   /* before the entry with this text and key */
	TREE_AFTER_KEY,    /* behind it */
};
struct tree_bound {
	enum tree_edge edge;
	struct span text;
	struct span key; /* for the last two */
};

/* How many entries are before the bound, and the sums of their measures (zero in a tree without). */
uint64_t tree_rank(const struct tree *tree, const struct tree_bound *bound,
	int64_t ret_sums[STORE_MEASURES]);

/* A way from the root to an entry: the memory belongs to a cursor. Good until the tree changes. */
struct tree_path {
	const void **nodes;
	uint16_t *slots;
	uint8_t *depth;
};
/* The first entry behind the bound, the last one before it; then their neighbours. NULL: no more. */
const struct tree_entry *tree_seek_after(const struct tree *tree, const struct tree_bound *bound,
	struct tree_path path);
const struct tree_entry *tree_seek_before(const struct tree *tree, const struct tree_bound *bound,
	struct tree_path path);
const struct tree_entry *tree_next(struct tree_path path);
const struct tree_entry *tree_previous(struct tree_path path);

/* Whether all invariants of the nodes hold. Walks the whole tree: for tests. */
bool tree_is_sound(const struct tree *tree);

#endif
