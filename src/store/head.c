/*
 * Head is a view of its own that the writer changes in place: what a group has copied of the published
 * trees is its own, so later writes of the group copy less and less. Taking an edit back means undoing
 * its changes from the last to the first; a group that failed means taking the published trees again.
 */
#include <assert.h>

#include "base/memory.h"
#include "store/state.h"

static struct store_view *view_new(struct store *store)
{
	size_t count = store->kinds.tree_count;
	struct store_view *view = memory_allocate(sizeof(*view) + count * sizeof(view->trees[0]));

	view->store = store;
	atomic_init(&view->references, 1);
	for (size_t i = 0; i < count; i++)
		view->trees[i].type = &store->kinds.types[i];
	return view;
}

void head_init(struct store *store)
{
	store->head.view = view_new(store);
	store->head.maker = object_maker_new();
}

static void head_drop_changes(struct head *head, size_t keep)
{
	while (head->count > keep)
		store_change_release(&head->changes[--head->count]);
}

void head_clear(struct store *store)
{
	struct head *head = &store->head;

	head_drop_changes(head, 0);
	store_view_close(head->view);
	object_maker_free(head->maker);
	free(head->changes);
	*head = (struct head){0};
}

/* Both lists of texts are sorted: what is in both is replaced where it is, the rest comes or goes. */
static void change_index(struct tree *tree, struct object_walk *old, struct object_walk *new,
	const struct store_object *before, const struct store_object *after)
{
	const struct tree_text *old_text = object_walk_next(old);
	const struct tree_text *new_text = object_walk_next(new);

	while (old_text || new_text) {
		int order = !old_text   ? 1
			    : !new_text ? -1
					: span_compare(tree_text_span(old_text),
						  tree_text_span(new_text));

		if (order >= 0)
			tree_put(tree, (struct tree_entry){new_text, after});
		else
			tree_remove(tree, (struct tree_entry){old_text, before});
		if (order <= 0)
			old_text = object_walk_next(old);
		if (order >= 0)
			new_text = object_walk_next(new);
	}
}

static void head_add_change(struct head *head, struct store_change change)
{
	if (head->count == head->capacity) {
		head->capacity = head->capacity ? 2 * head->capacity : 64;
		head->changes =
			memory_resize(head->changes, head->capacity * sizeof(*head->changes));
	}
	head->changes[head->count++] = change;
	if (change.after)
		head->bytes += object_size(change.after);
}

/* Both objects are kept alive by a change while the trees are between the one and the other. */
static void head_replace(struct store *store, const struct kind_place *place,
	const struct store_object *before, const struct store_object *after)
{
	struct tree *by_key = view_tree(store->head.view, place, -1);
	struct object_walk old, new;

	object_walk_begin(&old, before);
	object_walk_begin(&new, after);
	for (size_t i = 0; i < place->kind->index_count; i++) {
		object_walk_index(&old);
		object_walk_index(&new);
		change_index(view_tree(store->head.view, place, (int)i), &old, &new, before, after);
	}
	if (after)
		tree_put(by_key, (struct tree_entry){object_key_text(after), after});
	else
		tree_remove(by_key, (struct tree_entry){object_key_text(before), before});
}

void head_change(struct store *store, const struct kind_place *place, uint64_t revision,
	const struct store_object *before, const struct store_object *after)
{
	head_add_change(&store->head, (struct store_change){revision, place->kind,
					      before ? store_object_ref(before) : NULL, after});
	head_replace(store, place, before, after);
	store->head.view->revision = revision;
}

void head_begin_edit(struct store *store)
{
	struct head *head = &store->head;

	head->first_change = head->count;
	head->first_revision = head->view->revision;
	head->first_bytes = head->bytes;
}

void head_end_edit(struct store *store, bool keep)
{
	struct head *head = &store->head;

	if (keep)
		return;
	for (size_t i = head->count; i > head->first_change; i--) {
		const struct store_change *change = &head->changes[i - 1];

		head_replace(store, kinds_find(&store->kinds, change->kind), change->after,
			change->before);
	}
	head_drop_changes(head, head->first_change);
	head->view->revision = head->first_revision;
	head->bytes = head->first_bytes;
}

void head_load(struct store *store, const struct kind_place *place,
	const struct store_object *object)
{
	struct store_view *view = store->head.view;
	struct object_walk walk;

	object_walk_begin(&walk, object);
	for (size_t i = 0; i < place->kind->index_count; i++) {
		const struct tree_text *text;

		object_walk_index(&walk);
		while ((text = object_walk_next(&walk)))
			tree_put(view_tree(view, place, (int)i), (struct tree_entry){text, object});
	}
	tree_put(view_tree(view, place, -1), (struct tree_entry){object_key_text(object), object});
}

void head_publish(struct store *store)
{
	struct head *head = &store->head;
	struct store_view *view = view_new(store);
	struct store_view *old;

	view->revision = head->view->revision;
	for (size_t i = 0; i < store->kinds.tree_count; i++)
		view->trees[i] = tree_share(&head->view->trees[i]);

	/* First the view, then the feed: a reader of a change finds it in a view opened now. */
	lock_take(&store->view_lock);
	old = store->published;
	store->published = view;
	lock_release(&store->view_lock);
	store_view_close(old);
	if (head->count > 0)
		feed_ring_publish(store->ring, head->changes, head->count);
	head->count = 0; /* the ring has their references now */
	head->bytes = 0;
}

void head_restore(struct store *store)
{
	struct head *head = &store->head;

	for (size_t i = 0; i < store->kinds.tree_count; i++) {
		struct tree *tree = &head->view->trees[i];

		if (tree->root == store->published->trees[i].root)
			continue;
		tree_release(tree);
		*tree = tree_share(&store->published->trees[i]);
	}
	head->view->revision = store->published->revision;
	head_drop_changes(head, 0);
	head->bytes = 0;
}
