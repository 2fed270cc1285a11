/*
 * See tree.h for the idea. The invariants:
 *
 * - all leaves are at level 0 and equally deep; a node is never empty except for a moment in here;
 * - children[i].first is exactly the first entry below children[i].node, so it lives as long as the
 *   leaf does and needs no reference of its own;
 * - children[i].count and sums[i] are exact;
 * - heads[i] are the first four bytes in which the members of a node can differ: all their texts (or,
 *   when the texts are all the same, all their keys) agree in the `skip` bytes before. Finding a place
 *   in a node looks at one text and then at numbers side by side, not at a text in memory far away
 *   for every comparison;
 * - a node off the right edge has at least TREE_LEAST members. Appending at the right edge splits a
 *   full node into a full one and a thin one, because rows loaded in order should fill their nodes.
 */
#include "store/tree.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/memory.h"

/* Entries of a leaf, children of an inner node. A change copies a node on each level and counts a
 * reference for each of its members: measured, 16 costs a write less than 32 and hardly more memory. */
#define TREE_MOST 16
#define TREE_LEAST 4

struct tree_node {
	_Atomic uint32_t references;
	uint16_t used;
	uint16_t skip;
	uint8_t level; /* 0: leaf */
	bool by_key;   /* the texts of all members are the same: heads are of their keys */
	uint32_t heads[TREE_MOST];
};

struct tree_leaf {
	struct tree_node node;
	struct tree_entry entries[TREE_MOST];
};

struct tree_child {
	struct tree_node *node;
	uint64_t count;
	struct tree_entry first;
};

struct tree_inner {
	struct tree_node node;
	struct tree_child children[TREE_MOST];
	int64_t sums[][STORE_MEASURES]; /* TREE_MOST of them in a tree with a measure, else none */
};

/* The difference that a change below makes to the counts of the nodes above. */
struct tree_delta {
	int64_t count;
	int64_t sums[STORE_MEASURES];
};

static struct tree_leaf *as_leaf(const struct tree_node *node)
{
	return (struct tree_leaf *)node;
}

static struct tree_inner *as_inner(const struct tree_node *node)
{
	return (struct tree_inner *)node;
}

/* Sums may pass 64 bits when a measure is absurd; they wrap instead of being undefined. */
static void sums_add(int64_t sums[STORE_MEASURES], const int64_t more[STORE_MEASURES], int sign)
{
	for (size_t i = 0; i < STORE_MEASURES; i++)
		sums[i] = (int64_t)((uint64_t)sums[i] + (uint64_t)sign * (uint64_t)more[i]);
}

static void sums_add_object(const struct tree_type *type, const struct store_object *object,
	int sign, int64_t sums[STORE_MEASURES])
{
	int64_t measures[STORE_MEASURES] = {0};

	if (!type->measure)
		return;
	type->measure(object, measures);
	sums_add(sums, measures, sign);
}

/* ---- nodes ---- */

static size_t node_size(const struct tree_type *type, uint8_t level)
{
	if (level == 0)
		return sizeof(struct tree_leaf);
	return sizeof(struct tree_inner) +
	       (type->measure ? TREE_MOST * sizeof(int64_t[STORE_MEASURES]) : 0);
}

static struct tree_node *node_new(const struct tree_type *type, uint8_t level)
{
	/* not zeroed: only the members in use are ever read */
	struct tree_node *node = memory_resize(NULL, node_size(type, level));

	atomic_init(&node->references, 1);
	node->used = 0;
	node->skip = 0;
	node->level = level;
	node->by_key = false;
	return node;
}

static struct tree_node *node_ref(struct tree_node *node)
{
	atomic_fetch_add_explicit(&node->references, 1, memory_order_relaxed);
	return node;
}

static void node_unref(const struct tree_type *type, struct tree_node *node)
{
	if (atomic_fetch_sub_explicit(&node->references, 1, memory_order_acq_rel) != 1)
		return;
	if (node->level > 0) {
		for (size_t i = 0; i < node->used; i++)
			node_unref(type, as_inner(node)->children[i].node);
	} else if (type->holds_objects) {
		for (size_t i = 0; i < node->used; i++)
			store_object_unref(as_leaf(node)->entries[i].object);
	}
	free(node);
}

/* Moves `count` members from one place to another, in one node or between two of the same level; then
 * node_set_heads() has to follow. */
static void members_move(const struct tree_type *type, struct tree_node *to, size_t to_slot,
	struct tree_node *from, size_t from_slot, size_t count)
{
	memmove(&to->heads[to_slot], &from->heads[from_slot], count * sizeof(to->heads[0]));
	if (to->level == 0) {
		memmove(&as_leaf(to)->entries[to_slot], &as_leaf(from)->entries[from_slot],
			count * sizeof(struct tree_entry));
		return;
	}
	memmove(&as_inner(to)->children[to_slot], &as_inner(from)->children[from_slot],
		count * sizeof(struct tree_child));
	if (type->measure)
		memmove(as_inner(to)->sums[to_slot], as_inner(from)->sums[from_slot],
			count * sizeof(int64_t[STORE_MEASURES]));
}

/* Makes *node ours to change: it is, when nothing else refers to it (and to nothing above it, which
 * the caller has owned before). Acquire: what other threads read of it before they let go happened
 * before we write. */
static void node_own(const struct tree_type *type, struct tree_node **node)
{
	struct tree_node *old = *node;
	struct tree_node *copy;

	if (atomic_load_explicit(&old->references, memory_order_acquire) == 1)
		return;
	copy = node_new(type, old->level);
	copy->used = old->used;
	copy->skip = old->skip;
	copy->by_key = old->by_key;
	members_move(type, copy, 0, old, 0, old->used);
	if (copy->level > 0) {
		for (size_t i = 0; i < copy->used; i++)
			node_ref(as_inner(copy)->children[i].node);
	} else if (type->holds_objects) {
		for (size_t i = 0; i < copy->used; i++)
			store_object_ref(as_leaf(copy)->entries[i].object);
	}
	*node = copy;
	node_unref(type, old);
}

/* An entry of a leaf, or the first entry below a child. */
static const struct tree_entry *node_entry(const struct tree_node *node, size_t slot)
{
	return node->level > 0 ? &as_inner(node)->children[slot].first
			       : &as_leaf(node)->entries[slot];
}

/* The entries below the first `members` members of a node, and the sums of their measures. */
static uint64_t node_total(const struct tree_type *type, const struct tree_node *node,
	size_t members, int64_t sums[STORE_MEASURES])
{
	uint64_t count = 0;

	for (size_t i = 0; i < members; i++) {
		if (node->level > 0) {
			count += as_inner(node)->children[i].count;
			if (type->measure)
				sums_add(sums, as_inner(node)->sums[i], 1);
		} else {
			count++;
			sums_add_object(type, as_leaf(node)->entries[i].object, 1, sums);
		}
	}
	return count;
}

/* ---- order ---- */

static bool entry_is_before(const struct tree_entry *entry, const struct tree_bound *bound)
{
	size_t length = entry->text->length;
	size_t common = length < bound->text.length ? length : bound->text.length;
	int order = common ? memcmp(entry->text->data, bound->text.data, common) : 0;

	if (order)
		return order < 0;
	if (length != bound->text.length)
		return length < bound->text.length || bound->edge == TREE_AFTER_PREFIX;
	switch (bound->edge) {
	case TREE_BEFORE_TEXT: return false;
	case TREE_AFTER_TEXT:
	case TREE_AFTER_PREFIX: return true;
	case TREE_BEFORE_KEY: return span_compare(entry->object->key, bound->key) < 0;
	case TREE_AFTER_KEY: return span_compare(entry->object->key, bound->key) <= 0;
	}
	return false;
}

/* ---- heads ---- */

static struct span entry_distinct(const struct tree_node *node, const struct tree_entry *entry)
{
	return node->by_key ? entry->object->key : tree_text_span(entry->text);
}

/* Four bytes as a number that compares as they do. Text that ends within them is filled up: where the
 * numbers of two texts differ, the texts differ the same way; where they are equal, look closer. */
static uint32_t text_head(struct span text, size_t skip, unsigned char filling)
{
	uint32_t head = 0;

	for (size_t i = skip; i < skip + sizeof(head); i++)
		head = head << 8 | (i < text.length ? (unsigned char)text.data[i] : filling);
	return head;
}

static bool agree_in(struct span a, struct span b, size_t length)
{
	return a.length >= length && b.length >= length &&
	       (length == 0 || memcmp(a.data, b.data, length) == 0);
}

/* The members are in order, so what the first and the last have in common all have. */
static void node_set_heads(struct tree_node *node)
{
	const struct tree_entry *first, *last;
	struct span low, high;
	size_t skip = 0;

	if (node->used == 0)
		return;
	first = node_entry(node, 0);
	last = node_entry(node, node->used - 1u);
	node->by_key = span_equal(tree_text_span(first->text), tree_text_span(last->text));
	low = entry_distinct(node, first);
	high = entry_distinct(node, last);
	while (skip < UINT16_MAX && skip < low.length && skip < high.length &&
		low.data[skip] == high.data[skip])
		skip++;
	node->skip = (uint16_t)skip;
	for (size_t i = 0; i < node->used; i++)
		node->heads[i] = text_head(entry_distinct(node, node_entry(node, i)), skip, 0);
}

/* After one member was added or changed; one between two others has their common prefix already. */
static void node_set_head(struct tree_node *node, size_t slot)
{
	const struct tree_entry *entry = node_entry(node, slot);

	if (slot == 0 || slot == node->used - 1u) {
		const struct tree_entry *beside = node_entry(node, slot ? slot - 1 : 1);

		if (node->used == 1 ||
			(node->by_key && !span_equal(tree_text_span(entry->text),
						 tree_text_span(beside->text))) ||
			!agree_in(entry_distinct(node, entry), entry_distinct(node, beside),
				node->skip)) {
			node_set_heads(node);
			return;
		}
	}
	node->heads[slot] = text_head(entry_distinct(node, entry), node->skip, 0);
}

/* How many members of a node are before the bound. */
static size_t node_rank(const struct tree_node *node, const struct tree_bound *bound)
{
	const struct tree_entry *first = node_entry(node, 0);
	bool of_key = bound->edge == TREE_BEFORE_KEY || bound->edge == TREE_AFTER_KEY;
	struct span sought = node->by_key ? bound->key : bound->text;
	size_t low = 0, high = node->used;
	uint32_t head;

	if (node->used == 0)
		return 0;
	/* A bound that does not agree in what they have in common has all of them on one side. */
	if ((node->by_key && (!of_key || !span_equal(tree_text_span(first->text), bound->text))) ||
		!agree_in(sought, entry_distinct(node, first), node->skip))
		return entry_is_before(first, bound) ? node->used : 0;
	head = text_head(sought, node->skip, bound->edge == TREE_AFTER_PREFIX ? 0xff : 0);
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (node->heads[middle] < head ||
			(node->heads[middle] == head &&
				entry_is_before(node_entry(node, middle), bound)))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The child in which the bound lies: the last whose first entry is before it, else the first. */
static size_t inner_slot(const struct tree_inner *inner, const struct tree_bound *bound)
{
	size_t rank = node_rank(&inner->node, bound);

	return rank > 0 ? rank - 1 : 0;
}

/* ---- summaries of children ---- */

static void inner_set_first(struct tree_inner *inner, size_t slot)
{
	struct tree_child *child = &inner->children[slot];
	const struct tree_entry *first = node_entry(child->node, 0);

	if (child->first.text == first->text && child->first.object == first->object)
		return;
	child->first = *first;
	node_set_head(&inner->node, slot);
}

/* Adds what has changed below a child. */
static void inner_add(const struct tree_type *type, struct tree_inner *inner, size_t slot,
	const struct tree_delta *delta)
{
	inner->children[slot].count += (uint64_t)delta->count;
	if (type->measure)
		sums_add(inner->sums[slot], delta->sums, 1);
	inner_set_first(inner, slot);
}

/* Finds out everything about a child. */
static void inner_describe(const struct tree_type *type, struct tree_inner *inner, size_t slot)
{
	struct tree_child *child = &inner->children[slot];
	int64_t sums[STORE_MEASURES] = {0};

	child->count = node_total(type, child->node, child->node->used, sums);
	if (type->measure)
		memcpy(inner->sums[slot], sums, sizeof(sums));
	child->first = *node_entry(child->node, 0);
	node_set_head(&inner->node, slot);
}

/* ---- putting ---- */

/* Splits a full node in which a member is about to be put at `slot`; the right part is returned. */
static struct tree_node *node_split(const struct tree_type *type, struct tree_node *node,
	size_t slot, bool at_right_edge)
{
	size_t keep = at_right_edge && slot == node->used ? node->used : TREE_MOST / 2;
	struct tree_node *right = node_new(type, node->level);

	right->used = node->used - keep;
	members_move(type, right, 0, node, keep, right->used);
	node->used = keep;
	node_set_heads(node);
	node_set_heads(right);
	return right;
}

/* Makes room for one member at *slot of *node and moves both to where the member then belongs.
 * Returns the new right neighbour when the node had to be split, else NULL. */
static struct tree_node *node_make_room(const struct tree_type *type, struct tree_node **node,
	size_t *slot, bool at_right_edge)
{
	struct tree_node *right = NULL;

	if ((*node)->used == TREE_MOST) {
		right = node_split(type, *node, *slot, at_right_edge);
		if (*slot > (*node)->used || right->used == 0) {
			*slot -= (*node)->used;
			*node = right;
		}
	}
	members_move(type, *node, *slot + 1, *node, *slot, (*node)->used - *slot);
	(*node)->used++;
	return right;
}

static struct tree_node *leaf_put(const struct tree_type *type, struct tree_node *node,
	const struct tree_bound *bound, struct tree_entry entry, bool at_right_edge,
	struct tree_delta *delta)
{
	size_t slot = node_rank(node, bound);
	struct tree_entry *at = slot > 0 ? &as_leaf(node)->entries[slot - 1] : NULL;
	struct tree_node *right;

	if (type->holds_objects)
		store_object_ref(entry.object);
	sums_add_object(type, entry.object, 1, delta->sums);
	if (at && span_equal(tree_text_span(at->text), bound->text) &&
		span_equal(at->object->key, bound->key)) {
		const struct store_object *old = at->object;

		sums_add_object(type, old, -1, delta->sums);
		*at = entry;
		if (type->holds_objects)
			store_object_unref(old);
		return NULL;
	}
	right = node_make_room(type, &node, &slot, at_right_edge);
	as_leaf(node)->entries[slot] = entry;
	node_set_head(node, slot);
	delta->count = 1;
	return right;
}

/* Returns the new right neighbour of *node when it had to be split, else NULL. */
static struct tree_node *node_put(const struct tree_type *type, struct tree_node **node,
	const struct tree_bound *bound, struct tree_entry entry, bool at_right_edge,
	struct tree_delta *delta)
{
	struct tree_inner *inner;
	struct tree_node *place, *split, *right;
	size_t slot;

	node_own(type, node);
	if ((*node)->level == 0)
		return leaf_put(type, *node, bound, entry, at_right_edge, delta);

	inner = as_inner(*node);
	slot = inner_slot(inner, bound);
	at_right_edge = at_right_edge && slot == inner->node.used - 1u;
	split = node_put(type, &inner->children[slot].node, bound, entry, at_right_edge, delta);
	if (!split) {
		inner_add(type, inner, slot, delta);
		return NULL;
	}
	inner_describe(type, inner, slot);
	slot++;
	place = *node;
	right = node_make_room(type, &place, &slot, at_right_edge);
	as_inner(place)->children[slot].node = split;
	inner_describe(type, as_inner(place), slot);
	return right;
}

void tree_put(struct tree *tree, struct tree_entry entry)
{
	/* behind the entry, so that inner_slot() finds the child that has it already */
	struct tree_bound bound = {TREE_AFTER_KEY, tree_text_span(entry.text), entry.object->key};
	struct tree_delta delta = {0};
	struct tree_node *right;
	struct tree_inner *root;

	if (!tree->root)
		tree->root = node_new(tree->type, 0);
	right = node_put(tree->type, &tree->root, &bound, entry, true, &delta);
	if (!right)
		return;
	assert(tree->root->level + 2 <= TREE_DEPTH_MAX);
	root = as_inner(node_new(tree->type, tree->root->level + 1));
	root->children[0].node = tree->root;
	root->children[1].node = right;
	root->node.used = 1;
	inner_describe(tree->type, root, 0);
	root->node.used = 2;
	inner_describe(tree->type, root, 1);
	tree->root = &root->node;
}

/* ---- removing ---- */

static void node_close_gap(const struct tree_type *type, struct tree_node *node, size_t slot)
{
	members_move(type, node, slot, node, slot + 1, node->used - slot - 1);
	node->used--;
}

/* Refills a child with too few members: joins it with a neighbour, or moves some of its members. */
static void inner_recover(const struct tree_type *type, struct tree_inner *inner, size_t slot)
{
	struct tree_node *left, *right;
	size_t total, half;

	if (inner->node.used == 1) {
		left = inner->children[0].node;
		if (left->used == 0) {
			node_unref(type, left);
			inner->node.used = 0;
		} else {
			inner_describe(type, inner, 0);
		}
		return;
	}
	if (slot > 0)
		slot--;
	node_own(type, &inner->children[slot].node);
	node_own(type, &inner->children[slot + 1].node);
	left = inner->children[slot].node;
	right = inner->children[slot + 1].node;
	total = left->used + right->used;
	if (total <= TREE_MOST) {
		members_move(type, left, left->used, right, 0, right->used);
		left->used = total;
		node_set_heads(left);
		right->used = 0; /* its members have moved: only the node is freed */
		node_unref(type, right);
		node_close_gap(type, &inner->node, slot + 1);
		inner_describe(type, inner, slot);
		return;
	}
	half = total / 2;
	if (left->used < half) {
		size_t count = half - left->used;

		members_move(type, left, left->used, right, 0, count);
		members_move(type, right, 0, right, count, right->used - count);
	} else {
		size_t count = left->used - half;

		members_move(type, right, count, right, 0, right->used);
		members_move(type, right, 0, left, half, count);
	}
	left->used = half;
	right->used = total - half;
	node_set_heads(left);
	node_set_heads(right);
	/* one's head is found by looking at the other's first entry */
	inner->children[slot].first = *node_entry(left, 0);
	inner->children[slot + 1].first = *node_entry(right, 0);
	inner_describe(type, inner, slot);
	inner_describe(type, inner, slot + 1);
}

static void node_remove(const struct tree_type *type, struct tree_node **node,
	const struct tree_bound *bound, struct tree_delta *delta)
{
	struct tree_inner *inner;
	struct tree_child *child;
	size_t slot;

	node_own(type, node);
	if ((*node)->level == 0) {
		struct tree_leaf *leaf = as_leaf(*node);
		const struct store_object *object;

		slot = node_rank(*node, bound);
		assert(slot > 0);
		slot--;
		object = leaf->entries[slot].object;
		assert(span_equal(tree_text_span(leaf->entries[slot].text), bound->text) &&
			span_equal(object->key, bound->key));
		sums_add_object(type, object, -1, delta->sums);
		delta->count = -1;
		node_close_gap(type, &leaf->node, slot);
		if (type->holds_objects)
			store_object_unref(object);
		return;
	}
	inner = as_inner(*node);
	slot = inner_slot(inner, bound);
	child = &inner->children[slot];
	node_remove(type, &child->node, bound, delta);
	if (child->node->used < TREE_LEAST) {
		inner_recover(type, inner, slot);
		return;
	}
	inner_add(type, inner, slot, delta);
}

void tree_remove(struct tree *tree, struct tree_entry entry)
{
	/* behind the entry, as in tree_put() */
	struct tree_bound bound = {TREE_AFTER_KEY, tree_text_span(entry.text), entry.object->key};
	struct tree_delta delta = {0};

	assert(tree->root);
	node_remove(tree->type, &tree->root, &bound, &delta);
	while (tree->root->level > 0 && tree->root->used == 1) {
		struct tree_node *old = tree->root;

		tree->root = node_ref(as_inner(old)->children[0].node);
		node_unref(tree->type, old);
	}
	if (tree->root->used == 0)
		tree_release(tree);
}

struct tree tree_share(const struct tree *tree)
{
	if (tree->root)
		node_ref(tree->root);
	return *tree;
}

void tree_release(struct tree *tree)
{
	if (tree->root)
		node_unref(tree->type, TAKE(tree->root));
}

/* ---- reading ---- */

const struct tree_entry *tree_find(const struct tree *tree, struct span text)
{
	/* the same text may have several keys in an index: their first is behind this bound */
	struct tree_bound bound = {TREE_BEFORE_TEXT, text, SPAN_NONE};
	const void *nodes[TREE_DEPTH_MAX];
	uint16_t slots[TREE_DEPTH_MAX];
	uint8_t depth = 0;
	const struct tree_entry *entry =
		tree_seek_after(tree, &bound, (struct tree_path){nodes, slots, &depth});

	return entry && span_equal(tree_text_span(entry->text), text) ? entry : NULL;
}

uint64_t tree_count(const struct tree *tree)
{
	uint64_t count = 0;

	if (!tree->root)
		return 0;
	if (tree->root->level == 0)
		return tree->root->used;
	for (size_t i = 0; i < tree->root->used; i++)
		count += as_inner(tree->root)->children[i].count;
	return count;
}

uint64_t tree_rank(const struct tree *tree, const struct tree_bound *bound,
	int64_t ret_sums[STORE_MEASURES])
{
	const struct tree_node *node = tree->root;
	int64_t sums[STORE_MEASURES] = {0};
	uint64_t count = 0;

	while (node) {
		size_t slot = node->level > 0 ? inner_slot(as_inner(node), bound)
					      : node_rank(node, bound);

		count += node_total(tree->type, node, slot, sums);
		node = node->level > 0 ? as_inner(node)->children[slot].node : NULL;
	}
	memcpy(ret_sums, sums, sizeof(sums));
	return count;
}

static const struct tree_node *path_node(struct tree_path path, size_t level)
{
	return path.nodes[level];
}

static const struct tree_entry *path_entry(struct tree_path path)
{
	size_t last = *path.depth - 1u;

	return &as_leaf(path_node(path, last))->entries[path.slots[last]];
}

/* Goes down to the leaf in which the bound lies. False: the tree is empty. */
static bool path_descend(const struct tree *tree, const struct tree_bound *bound,
	struct tree_path path)
{
	const struct tree_node *node = tree->root;

	*path.depth = 0;
	while (node) {
		size_t depth = (*path.depth)++;

		path.nodes[depth] = node;
		path.slots[depth] = node->level > 0 ? inner_slot(as_inner(node), bound)
						    : node_rank(node, bound);
		node = node->level > 0 ? as_inner(node)->children[path.slots[depth]].node : NULL;
	}
	return *path.depth > 0;
}

const struct tree_entry *tree_next(struct tree_path path)
{
	size_t last = *path.depth - 1u;
	size_t depth = last;

	path.slots[depth]++;
	while (path.slots[depth] >= path_node(path, depth)->used) {
		if (depth == 0)
			return NULL;
		depth--;
		path.slots[depth]++;
	}
	for (; depth < last; depth++) {
		path.nodes[depth + 1] =
			as_inner(path_node(path, depth))->children[path.slots[depth]].node;
		path.slots[depth + 1] = 0;
	}
	return path_entry(path);
}

const struct tree_entry *tree_previous(struct tree_path path)
{
	size_t last = *path.depth - 1u;
	size_t depth = last;

	while (path.slots[depth] == 0) {
		if (depth == 0)
			return NULL;
		depth--;
	}
	path.slots[depth]--;
	for (; depth < last; depth++) {
		const struct tree_node *below =
			as_inner(path_node(path, depth))->children[path.slots[depth]].node;

		path.nodes[depth + 1] = below;
		path.slots[depth + 1] = below->used - 1;
	}
	return path_entry(path);
}

const struct tree_entry *tree_seek_after(const struct tree *tree, const struct tree_bound *bound,
	struct tree_path path)
{
	size_t last;

	if (!path_descend(tree, bound, path))
		return NULL;
	last = *path.depth - 1u;
	if (path.slots[last] < path_node(path, last)->used)
		return path_entry(path);
	path.slots
		[last]--; /* the last entry of this leaf is before the bound; a node is never empty */
	return tree_next(path);
}

const struct tree_entry *tree_seek_before(const struct tree *tree, const struct tree_bound *bound,
	struct tree_path path)
{
	if (!path_descend(tree, bound, path))
		return NULL;
	return tree_previous(path);
}

static bool node_is_sound(const struct tree_type *type, const struct tree_node *node,
	bool at_right_edge)
{
	if (node->used == 0 || node->used > TREE_MOST)
		return false;
	if (!at_right_edge && node->used < TREE_LEAST)
		return false;
	for (size_t i = 0; i < node->used; i++) {
		struct span text = entry_distinct(node, node_entry(node, i));

		if (!agree_in(text, entry_distinct(node, node_entry(node, 0)), node->skip) ||
			node->heads[i] != text_head(text, node->skip, 0))
			return false;
		if (node->by_key && !span_equal(tree_text_span(node_entry(node, i)->text),
					    tree_text_span(node_entry(node, 0)->text)))
			return false;
	}
	if (node->level == 0)
		return true;
	for (size_t i = 0; i < node->used; i++) {
		const struct tree_child *child = &as_inner(node)->children[i];
		struct tree_entry first = *node_entry(child->node, 0);
		int64_t sums[STORE_MEASURES] = {0};

		if (child->node->level + 1 != node->level ||
			!node_is_sound(type, child->node, at_right_edge && i == node->used - 1u))
			return false;
		if (child->first.text != first.text || child->first.object != first.object ||
			child->count != node_total(type, child->node, child->node->used, sums))
			return false;
		if (type->measure && memcmp(sums, as_inner(node)->sums[i], sizeof(sums)) != 0)
			return false;
	}
	return true;
}

bool tree_is_sound(const struct tree *tree)
{
	return !tree->root || node_is_sound(tree->type, tree->root, true);
}
