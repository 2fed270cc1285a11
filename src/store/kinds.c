/* See kinds.h. Every read looks its kind up, so that takes a hash of the address and not a scan. */
#include "store/kinds.h"

#include <assert.h>

#include "base/memory.h"

static size_t table_slot(const struct kinds *kinds, const struct store_kind *kind)
{
	return ((uintptr_t)kind * 0x9e3779b97f4a7c15u >> 32) & kinds->table_mask;
}

static int kind_check(const struct kinds *kinds, const struct store_kind *kind, struct err *err)
{
	if (kinds_find_name(kinds, span_of(kind->name)))
		return err_set(err, -EINVAL, "two kinds are called '%s'", kind->name);
	if (kind->index_count > STORE_INDEXES_MAX)
		return err_set(err, -EINVAL, "kind '%s' has %zu indexes, most is %d", kind->name,
			kind->index_count, STORE_INDEXES_MAX);
	return 0;
}

int kinds_init(struct kinds *kinds, const struct store_kind *const *list, size_t count,
	struct err *err)
{
	size_t table_size = 8;
	size_t tree;

	*kinds = (struct kinds){.places = memory_allocate_array(count + 1, sizeof(*kinds->places))};
	for (size_t i = 0; i < count; i++) {
		int code = kind_check(kinds, list[i], err);

		if (code < 0) {
			kinds_clear(kinds);
			return code;
		}
		kinds->places[i] = (struct kind_place){list[i], kinds->tree_count};
		kinds->tree_count += 1 + list[i]->index_count;
		kinds->count++;
	}

	kinds->types = memory_allocate_array(kinds->tree_count + 1, sizeof(*kinds->types));
	tree = 0;
	for (size_t i = 0; i < count; i++) {
		kinds->types[tree++].holds_objects = true;
		for (size_t index = 0; index < list[i]->index_count; index++)
			kinds->types[tree++].measure = list[i]->indexes[index].measure;
	}

	while (table_size < 4 * count)
		table_size *= 2;
	kinds->table = memory_allocate_array(table_size, sizeof(*kinds->table));
	kinds->table_mask = table_size - 1;
	for (size_t i = 0; i < count; i++) {
		size_t slot = table_slot(kinds, list[i]);

		while (kinds->table[slot])
			slot = (slot + 1) & kinds->table_mask;
		kinds->table[slot] = (uint16_t)(i + 1);
	}
	return 0;
}

void kinds_clear(struct kinds *kinds)
{
	free(kinds->places);
	free(kinds->types);
	free(kinds->table);
	*kinds = (struct kinds){0};
}

const struct kind_place *kinds_find(const struct kinds *kinds, const struct store_kind *kind)
{
	size_t slot = table_slot(kinds, kind);

	for (;; slot = (slot + 1) & kinds->table_mask) {
		const struct kind_place *place;

		assert(kinds->table[slot] != 0);
		place = &kinds->places[kinds->table[slot] - 1];
		if (place->kind == kind)
			return place;
	}
}

const struct kind_place *kinds_find_name(const struct kinds *kinds, struct span name)
{
	for (size_t i = 0; i < kinds->count; i++)
		if (span_is(name, kinds->places[i].kind->name))
			return &kinds->places[i];
	return NULL;
}
