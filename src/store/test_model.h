/* A minimal store: one sorted array of objects for each kind of test_kinds.h. Each query computes
 * the entries of an index anew. */
#ifndef STORE_TEST_MODEL_H
#define STORE_TEST_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/test_kinds.h"

#define MODEL_OBJECTS_MAX 2048 /* of one kind; more than there are keys */
#define MODEL_ENTRIES_MAX (MODEL_OBJECTS_MAX * 4)

struct model_object {
	char key[24];
	char api[64];
	char private_[32];
	uint64_t revision;
};

struct model {
	uint64_t revision;
	size_t count[2]; /* by number of the kind in test_kinds */
	struct model_object objects[2][MODEL_OBJECTS_MAX];
};

static inline void model_copy(struct model *to, const struct model *from)
{
	to->revision = from->revision;
	for (int kind = 0; kind < 2; kind++) {
		to->count[kind] = from->count[kind];
		memcpy(to->objects[kind], from->objects[kind],
			from->count[kind] * sizeof(from->objects[kind][0]));
	}
}

static inline struct model_object *model_find(struct model *model, int kind, const char *key)
{
	for (size_t i = 0; i < model->count[kind]; i++)
		if (strcmp(model->objects[kind][i].key, key) == 0)
			return &model->objects[kind][i];
	return NULL;
}

static inline void model_put(struct model *model, int kind, const struct model_object *object)
{
	struct model_object *objects = model->objects[kind];
	struct model_object *found = model_find(model, kind, object->key);
	size_t at = 0;

	if (!found) {
		while (at < model->count[kind] && strcmp(objects[at].key, object->key) < 0)
			at++;
		memmove(&objects[at + 1], &objects[at],
			(model->count[kind] - at) * sizeof(*objects));
		model->count[kind]++;
		found = &objects[at];
	}
	*found = *object;
}

static inline void model_delete(struct model *model, int kind, const char *key)
{
	struct model_object *objects = model->objects[kind];
	size_t at = (size_t)(model_find(model, kind, key) - objects);

	model->count[kind]--;
	memmove(&objects[at], &objects[at + 1], (model->count[kind] - at) * sizeof(*objects));
}

static inline bool model_equal(const struct model *a, const struct model *b)
{
	if (a->count[0] != b->count[0] || a->count[1] != b->count[1])
		return false;
	for (int kind = 0; kind < 2; kind++)
		for (size_t i = 0; i < a->count[kind]; i++) {
			const struct model_object *left = &a->objects[kind][i];
			const struct model_object *right = &b->objects[kind][i];

			if (left->revision != right->revision ||
				strcmp(left->key, right->key) != 0 ||
				strcmp(left->api, right->api) != 0 ||
				strcmp(left->private_, right->private_) != 0)
				return false;
		}
	return a->revision == b->revision;
}

/* An entry that a walk over an index should visit. */
struct model_entry {
	char text[64];
	const struct model_object *object;
};

static inline int model_compare_entries(const void *a, const void *b)
{
	const struct model_entry *left = a, *right = b;
	int order = strcmp(left->text, right->text);

	return order ? order : strcmp(left->object->key, right->object->key);
}

static inline size_t model_add_entry(struct model_entry *entries, size_t count, const char *text,
	const struct model_object *object)
{
	for (size_t i = count; i > 0 && entries[i - 1].object == object; i--)
		if (strcmp(entries[i - 1].text, text) == 0)
			return count; /* each text once */
	snprintf(entries[count].text, sizeof(entries[count].text), "%s", text);
	entries[count].object = object;
	return count + 1;
}

static inline size_t model_entries(struct model *model, int kind, int index,
	struct model_entry *entries)
{
	size_t count = 0;

	for (size_t i = 0; i < model->count[kind]; i++) {
		const struct model_object *object = &model->objects[kind][i];
		char text[64], heavy[32], *save = NULL;
		const char *color, *weight;

		if (index < 0) {
			count = model_add_entry(entries, count, object->key, object);
			continue;
		}
		snprintf(text, sizeof(text), "%s", object->api);
		color = strtok_r(text, " ", &save);
		weight = strtok_r(NULL, " ", &save);
		snprintf(heavy, sizeof(heavy), "%020lld", atoll(weight));
		if (index == THING_BY_COLOR)
			count = model_add_entry(entries, count, color, object);
		if (index == THING_HEAVY && atoll(weight) > 100)
			count = model_add_entry(entries, count, heavy, object);
		for (char *word; index == THING_BY_WORD && (word = strtok_r(NULL, " ", &save));)
			count = model_add_entry(entries, count, word, object);
	}
	qsort(entries, count, sizeof(*entries), model_compare_entries);
	return count;
}

#endif
