/* Reading: views, cursors, counts and sums. All of it is finding places in trees. */
#include <assert.h>

#include "base/memory.h"
#include "store/state.h"

struct store_view *store_view_open(struct store *store)
{
	struct store_view *view;

	/* The lock is held for these two lines only, here and by the writer. */
	lock_take(&store->view_lock);
	view = store->published;
	atomic_fetch_add_explicit(&view->references, 1, memory_order_relaxed);
	lock_release(&store->view_lock);
	return view;
}

void store_view_close(struct store_view *view)
{
	if (!view)
		return;
	if (atomic_fetch_sub_explicit(&view->references, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < view->store->kinds.tree_count; i++)
		tree_release(&view->trees[i]);
	free(view);
}

void store_view_close_pointer(struct store_view **view)
{
	store_view_close(TAKE(*view));
}

uint64_t store_view_revision(const struct store_view *view)
{
	return view->revision;
}

static const struct tree *find_tree(const struct store_view *view, const struct store_kind *kind,
	int index)
{
	assert(index >= -1 && index < (int)kind->index_count);
	return view_tree(view, kinds_find(&view->store->kinds, kind), index);
}

const struct store_object *store_get(const struct store_view *view, const struct store_kind *kind,
	struct span key)
{
	const struct tree_entry *entry = tree_find(find_tree(view, kind, -1), key);

	return entry ? entry->object : NULL;
}

/* ---- cursors ---- */

static struct span not_null(struct span text)
{
	return text.data ? text : SPAN("");
}

/* Where the range of a cursor begins and ends. */
static struct tree_bound range_start(struct span prefix)
{
	return (struct tree_bound){TREE_BEFORE_TEXT, not_null(prefix), SPAN_NONE};
}

static struct tree_bound range_end(struct span prefix, bool exact)
{
	return (struct tree_bound){
		exact ? TREE_AFTER_TEXT : TREE_AFTER_PREFIX, not_null(prefix), SPAN_NONE};
}

static bool in_range(const struct store_cursor *cursor, struct span text)
{
	if (cursor->exact)
		return span_equal(text, cursor->prefix);
	return cursor->prefix.length == 0 || span_starts_with(text, cursor->prefix);
}

/* The position that the cursor continues from: false if it has none. */
static bool resume_position(const struct store_cursor *cursor, struct span *ret_text,
	struct span *ret_key)
{
	if (cursor->index < 0) {
		*ret_text = *ret_key = cursor->after_key;
		return cursor->after_key.data;
	}
	*ret_text = cursor->after_text;
	*ret_key = cursor->after_key;
	if (!cursor->after_text.data && cursor->exact && cursor->after_key.data)
		*ret_text = not_null(cursor->prefix); /* there is only this text */
	return ret_text->data;
}

/* A position before the range means its beginning; one behind it means that nothing is left, which
 * in_range() finds out by itself. (Before and behind change places when descending.) */
static struct tree_bound cursor_start(const struct store_cursor *cursor)
{
	struct span prefix = not_null(cursor->prefix), text, key;

	if (!resume_position(cursor, &text, &key))
		return cursor->descending ? range_end(prefix, cursor->exact) : range_start(prefix);
	if (cursor->descending) {
		if (span_compare(text, prefix) > 0 &&
			(cursor->exact || !span_starts_with(text, prefix)))
			return range_end(prefix, cursor->exact);
		return (struct tree_bound){
			key.data ? TREE_BEFORE_KEY : TREE_BEFORE_TEXT, text, key};
	}
	if (span_compare(text, prefix) < 0)
		return range_start(prefix);
	return (struct tree_bound){key.data ? TREE_AFTER_KEY : TREE_AFTER_TEXT, text, key};
}

const struct store_object *store_next(struct store_cursor *cursor)
{
	struct tree_path path = {cursor->position, cursor->slots, &cursor->depth};
	const struct tree_entry *entry;

	if (!cursor->started) {
		const struct tree *tree = find_tree(cursor->view, cursor->kind, cursor->index);
		struct tree_bound start = cursor_start(cursor);

		cursor->started = true;
		entry = cursor->descending ? tree_seek_before(tree, &start, path)
					   : tree_seek_after(tree, &start, path);
	} else if (cursor->depth == 0) {
		return NULL;
	} else {
		entry = cursor->descending ? tree_previous(path) : tree_next(path);
	}
	if (!entry || !in_range(cursor, tree_text_span(entry->text))) {
		cursor->depth = 0; /* the end stays the end */
		return NULL;
	}
	cursor->text = tree_text_span(entry->text);
	return entry->object;
}

/* ---- counts and sums ---- */

static uint64_t range_total(const struct store_view *view, const struct store_kind *kind, int index,
	struct span prefix, bool exact, int64_t ret_sums[STORE_MEASURES])
{
	const struct tree *tree = find_tree(view, kind, index);
	struct tree_bound start = range_start(prefix), end = range_end(prefix, exact);
	int64_t before[STORE_MEASURES];
	uint64_t count;

	if (prefix.length == 0 && !exact && !tree->type->measure) {
		memset(ret_sums, 0, STORE_MEASURES * sizeof(*ret_sums));
		return tree_count(tree);
	}
	count = tree_rank(tree, &end, ret_sums) - tree_rank(tree, &start, before);
	for (size_t i = 0; i < STORE_MEASURES; i++)
		ret_sums[i] = (int64_t)((uint64_t)ret_sums[i] - (uint64_t)before[i]);
	return count;
}

uint64_t store_count(const struct store_view *view, const struct store_kind *kind, int index,
	struct span prefix, bool exact)
{
	int64_t sums[STORE_MEASURES];

	return range_total(view, kind, index, prefix, exact, sums);
}

void store_sum(const struct store_view *view, const struct store_kind *kind, int index,
	struct span prefix, bool exact, int64_t ret_sums[STORE_MEASURES])
{
	range_total(view, kind, index, prefix, exact, ret_sums);
}
