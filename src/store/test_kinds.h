/*
 * Two kinds for the store's own tests. A thing's API text is "COLOR WEIGHT [WORD…]": indexed by color
 * (with the weight as measure 0 and the number of words as measure 1), by each of its words, and, if
 * it is heavier than 100, as heavy. One whose text begins with "!" is refused. A note has no indexes.
 */
#ifndef STORE_TEST_KINDS_H
#define STORE_TEST_KINDS_H

#include <stdlib.h>

#include "store/store.h"

enum { THING_BY_COLOR, THING_BY_WORD, THING_HEAVY };

struct thing {
	struct span color;
	int64_t weight;
	struct span words; /* the rest of the text */
	int64_t word_count;
};

static inline const struct thing *thing_of(const struct store_object *object)
{
	return object->facts;
}

/* Cuts the first word off *text. */
static inline struct span thing_cut_word(struct span *text)
{
	struct span word, rest;

	if (!span_split(*text, ' ', &word, &rest)) {
		word = *text;
		rest = (struct span){text->data + text->length, 0};
	}
	*text = rest;
	return word;
}

static inline int thing_extract(const struct store_object *object, void *facts,
	struct arena *scratch, struct err *err)
{
	struct thing *thing = facts;
	struct span rest = object->api;
	uint64_t weight;

	(void)scratch;
	if (span_starts_with(rest, SPAN("!")))
		return err_set(err, -ERANGE, "refused by the kind");
	thing->color = thing_cut_word(&rest);
	if (!span_to_unsigned(thing_cut_word(&rest), INT64_MAX, &weight))
		return err_set(err, -EINVAL, "weight is no number");
	thing->weight = (int64_t)weight;
	thing->words = rest;
	while (rest.length > 0) {
		thing_cut_word(&rest);
		thing->word_count++;
	}
	return 0;
}

static inline void thing_write_color(const struct store_object *object,
	struct store_index_writer *writer)
{
	store_index_add(writer, thing_of(object)->color);
}

static inline void thing_write_words(const struct store_object *object,
	struct store_index_writer *writer)
{
	struct span rest = thing_of(object)->words;

	while (rest.length > 0)
		store_index_add(writer, thing_cut_word(&rest));
}

static inline void thing_write_heavy(const struct store_object *object,
	struct store_index_writer *writer)
{
	if (thing_of(object)->weight > 100)
		store_index_add_format(writer, "%020lld", (long long)thing_of(object)->weight);
}

static inline void thing_measure(const struct store_object *object,
	int64_t measures[STORE_MEASURES])
{
	measures[0] = thing_of(object)->weight;
	measures[1] = thing_of(object)->word_count;
}

static const struct store_index thing_indexes[] = {
	[THING_BY_COLOR] = {"color", thing_write_color, thing_measure},
	[THING_BY_WORD] = {"word", thing_write_words, NULL},
	[THING_HEAVY] = {"heavy", thing_write_heavy, NULL},
};
static const struct store_kind thing_kind = {
	.name = "thing",
	.facts_size = sizeof(struct thing),
	.extract = thing_extract,
	.indexes = thing_indexes,
	.index_count = 3,
};
static const struct store_kind note_kind = {.name = "note"};
static const struct store_kind *const test_kinds[] = {&thing_kind, &note_kind};

/* ---- small writes ---- */

/* One put or delete, with what the store is to answer. */
struct test_change {
	const struct store_kind *kind;
	const char *key;
	const char *api; /* NULL: delete */
	uint64_t expected;
};

static inline int test_change_write(struct store_transaction *transaction, void *context,
	struct err *err)
{
	const struct test_change *change = context;

	if (!change->api)
		return store_delete(transaction, change->kind, span_of(change->key),
			change->expected, err);
	return store_put(transaction, change->kind, span_of(change->key), span_of(change->api),
		SPAN("private"), change->expected, err);
}

static inline int test_put(struct store *store, const struct store_kind *kind, const char *key,
	const char *api, uint64_t expected, uint64_t *ret_revision, struct err *err)
{
	struct test_change change = {kind, key, api, expected};

	return store_write_wait(store, test_change_write, &change, ret_revision, err);
}

static inline int test_delete(struct store *store, const struct store_kind *kind, const char *key,
	uint64_t expected, uint64_t *ret_revision, struct err *err)
{
	return test_put(store, kind, key, NULL, expected, ret_revision, err);
}

#endif
