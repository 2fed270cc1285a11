/*
 * Head is a view of its own that the writer changes in place. Taking an edit back means putting the
 * roots back that it found; a group that failed means taking the roots of the published view.
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
	struct head *head = &store->head;
	size_t count = store->kinds.tree_count + 1;

	head->view = view_new(store);
	head->maker = object_maker_new();
	head->saved_by = memory_allocate_array(count, sizeof(*head->saved_by));
	head->saved = memory_allocate_array(count, sizeof(*head->saved));
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
	free(head->saved_by);
	free(head->saved);
	*head = (struct head){0};
}

void head_begin_edit(struct store *store)
{
	struct head *head = &store->head;

	head->edit++;
	head->saved_count = 0;
	head->first_change = head->count;
	head->first_revision = head->view->revision;
	head->first_bytes = head->bytes;
}

void head_end_edit(struct store *store, bool keep)
{
	struct head *head = &store->head;

	for (size_t i = 0; i < head->saved_count; i++) {
		struct head_saved_tree *saved = &head->saved[i];
		struct tree *tree = &head->view->trees[saved->number];

		if (!keep) {
			struct tree changed = *tree;

			*tree = saved->tree;
			saved->tree = changed;
		}
		tree_release(&saved->tree);
	}
	head->saved_count = 0;
	if (keep)
		return;
	head_drop_changes(head, head->first_change);
	head->view->revision = head->first_revision;
	head->bytes = head->first_bytes;
}

/* The tree, saved when this edit has not touched it before. */
static struct tree *head_tree(struct head *head, size_t number)
{
	struct tree *tree = &head->view->trees[number];

	if (head->saved_by[number] != head->edit) {
		head->saved_by[number] = head->edit;
		head->saved[head->saved_count++] =
			(struct head_saved_tree){number, tree_share(tree)};
	}
	return tree;
}

/* Both lists of texts are sorted: what is in both is replaced where it is, the rest comes or goes. */
static void change_index(struct tree *tree, struct object_walk *old, struct object_walk *new,
	const struct store_object *before, const struct store_object *after)
{
	const struct tree_text *old_text = object_walk_next(old);
	const struct tree_text *new_text = object_walk_next(new);

	while (old_text || new_text) {
		int order = !old_text ? 1 :
			    !new_text ? -1 :
					span_compare(tree_text_span(old_text), tree_text_span(new_text));

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

void head_change(struct store *store, const struct kind_place *place, uint64_t revision,
	const struct store_object *before, const struct store_object *after)
{
	struct head *head = &store->head;
	struct object_walk old, new;
	struct tree *by_key;

	/* The change keeps both objects alive while the trees are between the one and the other. */
	head_add_change(head,
		(struct store_change){revision, place->kind,
			before ? store_object_ref(before) : NULL, after});
	head->view->revision = revision;

	object_walk_begin(&old, before);
	object_walk_begin(&new, after);
	for (size_t i = 0; i < place->kind->index_count; i++) {
		object_walk_index(&old);
		object_walk_index(&new);
		if (old.left > 0 || new.left > 0)
			change_index(head_tree(head, place->first_tree + 1 + i), &old, &new, before,
				after);
	}
	by_key = head_tree(head, place->first_tree);
	if (after)
		tree_put(by_key, (struct tree_entry){object_key_text(after), after});
	else
		tree_remove(by_key, (struct tree_entry){object_key_text(before), before});
}

void head_load(struct store *store, const struct kind_place *place, const struct store_object *object)
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

	/* First the view, then the feed: who hears of a change finds it in a view opened now. */
	pthread_mutex_lock(&store->view_lock);
	old = store->published;
	store->published = view;
	pthread_mutex_unlock(&store->view_lock);
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
