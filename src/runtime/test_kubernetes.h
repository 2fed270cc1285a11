/* For the tests of the Kubernetes runtime's pure parts: JSON with ' for " and ` for ', and values by
 * their path. */
#ifndef RUNTIME_TEST_KUBERNETES_H
#define RUNTIME_TEST_KUBERNETES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/memory.h"

static inline struct json *read_json(struct arena *arena, const char *text)
{
	char *copy = arena_copy_string(arena, text);
	struct json *value;
	struct err err;

	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c == '`' ? '\'' : *c;
	if (json_parse(span_of(copy), arena, &value, &err) < 0)
		fail_msg("%s in %s", err.message, copy);
	return value;
}

/* "a b 0 c": members and items. NULL if there is none. */
static inline const struct json *at(const struct json *value, const char *path)
{
	struct span rest = span_of(path), part;
	bool more = path[0] != '\0';

	while (more && value) {
		uint64_t index;

		more = span_split(rest, ' ', &part, &rest);
		if (!more)
			part = rest;
		if (value->type == JSON_ARRAY)
			value = span_to_unsigned(part, SIZE_MAX, &index)
					? json_item(value, (size_t)index)
					: NULL;
		else
			value = json_get_span(value, part);
	}
	return value;
}

/* Compares the value at the path with `expected`, JSON with '; NULL: there must be none. */
static inline void check_at(struct arena *arena, const char *name, const struct json *value,
	const char *path, const char *expected)
{
	const struct json *found = at(value, path);
	struct span text = found ? json_to_text(found, arena) : SPAN("nothing");

	if (!expected && !found)
		return;
	if (!expected || !found || !json_equal(found, read_json(arena, expected)))
		fail_msg("%s: %s is %.*s instead of %s", name, path, SPAN_ARGS(text),
			expected ? expected : "nothing");
}

#endif
