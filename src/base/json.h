/*
 * Strict JSON (RFC 8259) in an arena. Refused: trailing text, duplicate member names, bad UTF-8, lone
 * surrogates, control characters, numbers with leading zeros, nesting beyond a limit. Kept exactly:
 * integers of 64 bits, "\u0000" inside text, the order of members, the text of every number.
 *
 * A value is immutable once parsed or built. Objects of many members get a lookup table, so that
 * json_get() is O(1) however a client shapes its request.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/span.h"

#define JSON_DEPTH_MAX 64

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

struct json_member;

struct json {
	enum json_type type;
	uint32_t line; /* 1-based, where the value began; kept by YAML and JSON alike */
	union {
		struct span text; /* string: decoded; number: as written */
		struct {
			struct json **items;
			uint32_t count;
			uint32_t capacity; /* room for building; 0 when parsed */
		} array;
		struct {
			struct json_member *members;
			uint32_t count;
			uint32_t capacity;
			uint32_t *table; /* lookup for large objects, else NULL */
		} object;
	};
};

struct json_member {
	struct span name;
	struct json *value;
};

/* Parses the whole of text. The value lives in the arena; strings may point into text, which must
 * live as long. code: -EINVAL bad text (message has line and column), -E2BIG arena cap passed. */
int json_parse(struct span text, struct arena *arena, struct json **ret_value, struct err *err);

/* Reading. All take NULL (absent) and answer absent. null members count as present: use json_is_absent. */
const struct json *json_get(const struct json *object, const char *name);
const struct json *json_get_span(const struct json *object, struct span name);
/* Walks "a.b.c" through objects. */
const struct json *json_path(const struct json *object, const char *path);
static inline bool json_is(const struct json *value, enum json_type type)
{
	return value && value->type == type;
}
static inline bool json_is_absent(const struct json *value) /* NULL or null */
{
	return !value || value->type == JSON_NULL;
}
struct span json_text(const struct json *value); /* SPAN_NONE if not a string */
struct span json_get_text(const struct json *object, const char *name);
bool json_is_true(const struct json *value);
bool json_get_bool(const struct json *object, const char *name, bool otherwise);
/* True if it is a number without fraction or exponent that fits. */
bool json_integer(const struct json *value, int64_t *ret_integer);
int64_t json_get_integer(const struct json *object, const char *name, int64_t otherwise);
bool json_double(const struct json *value, double *ret_number);
size_t json_count(const struct json *value); /* items or members; 0 for anything else */
const struct json *json_item(const struct json *array, size_t index); /* NULL beyond the end */
const char *json_type_name(enum json_type type); /* "a string", "an object", … for messages */
/* Same meaning: members in any order, numbers compared by value. */
bool json_equal(const struct json *a, const struct json *b);

/* for-loop over the items of an array; no rounds for anything else. break and continue work. */
#define JSON_EACH_ITEM(value, item)                                                                \
	for (const struct json *item = NULL, *const *cursor_##item = json_begin(value),            \
			       *const *end_##item = cursor_##item + json_array_count(value);       \
		cursor_##item < end_##item && ((item = *cursor_##item), 1); cursor_##item++)
const struct json *const *json_begin(const struct json *value); /* never NULL */
size_t json_array_count(const struct json *value);              /* 0 for anything but an array */

/* Building, all in the arena. json_set replaces a member of the same name or adds one at the end;
 * only for objects made by json_new_object. NULL values are left out by json_set. */
struct json *json_new_null(struct arena *arena);
struct json *json_new_bool(struct arena *arena, bool value);
struct json *json_new_integer(struct arena *arena, int64_t value);
struct json *json_new_double(struct arena *arena, double value);
struct json *json_new_string(struct arena *arena, struct span text); /* copies */
struct json *json_new_format(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
struct json *json_new_array(struct arena *arena);
struct json *json_new_object(struct arena *arena);
void json_append(struct arena *arena, struct json *array, const struct json *item);
void json_set(struct arena *arena, struct json *object, const char *name, const struct json *value);
void json_set_string(struct arena *arena, struct json *object, const char *name, struct span text);
void json_set_integer(struct arena *arena, struct json *object, const char *name, int64_t value);
void json_set_bool(struct arena *arena, struct json *object, const char *name, bool value);
/* Epoch milliseconds as AWS's JSON has them: seconds with milliseconds, 1700000000.123. */
void json_set_time(struct arena *arena, struct json *object, const char *name,
	int64_t milliseconds);
/* A shallow copy of an object that can be changed with json_set. */
struct json *json_copy_object(struct arena *arena, const struct json *object);
/* Without the named member. */
void json_unset(struct json *object, const char *name);

/* Writing: compact, no spaces, members in order, "/" not escaped, U+2028/9 not escaped. */
void json_write(const struct json *value, struct buffer *out);
void json_write_pretty(const struct json *value, struct buffer *out); /* two spaces, for people */
void json_write_string(struct span text, struct buffer *out);         /* with quotes */
struct span json_to_text(const struct json *value, struct arena *arena);

#endif
