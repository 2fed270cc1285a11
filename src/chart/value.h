/*
 * Values as templates see them: the kinds of Go's reflection that charts can reach. A value is small
 * and passed by copy; text, lists and maps live in an arena. Lists never change once built. Maps are
 * shared by reference and do change (`set`, `unset`, `merge`); their entries are always sorted by
 * key, which is the order of every iteration.
 *
 * Two kinds stand for "nothing", and Go's rules need both: VALUE_NONE has no type at all (a field of
 * it is again nothing), VALUE_NIL is an empty interface (a field of it is an error).
 */
#ifndef CHART_VALUE_H
#define CHART_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/json.h"
#include "base/span.h"

/* Values nested deeper than this are cut when written, copied or compared: maps may contain themselves. */
#define VALUE_DEPTH_MAX 200

enum value_kind {
	VALUE_NONE,
	VALUE_NIL,
	VALUE_BOOL,
	VALUE_INTEGER,
	VALUE_FLOAT,
	VALUE_STRING,
	VALUE_BYTES,
	VALUE_LIST,
	VALUE_MAP,
	VALUE_OBJECT,
};

/* X(name, Go's type name, Go's kind name) */
#define VALUE_TYPES(X)                                                                             \
	X(NONE, "<nil>", "invalid")                                                                \
	X(BOOL, "bool", "bool")                                                                    \
	X(INT, "int", "int")                                                                       \
	X(INT64, "int64", "int64")                                                                 \
	X(INT32, "int32", "int32")                                                                 \
	X(UINT8, "uint8", "uint8")                                                                 \
	X(UINT64, "uint64", "uint64")                                                              \
	X(DURATION, "time.Duration", "int64")                                                      \
	X(MONTH, "time.Month", "int")                                                              \
	X(WEEKDAY, "time.Weekday", "int")                                                          \
	X(FLOAT64, "float64", "float64")                                                           \
	X(STRING, "string", "string")                                                              \
	X(BYTES, "[]uint8", "slice")                                                               \
	X(LIST, "[]interface {}", "slice")                                                         \
	X(STRINGS, "[]string", "slice")                                                            \
	X(INTS, "[]int", "slice")                                                                  \
	X(LISTS, "[][]interface {}", "slice")                                                      \
	X(VERSION_SET, "common.VersionSet", "slice")                                               \
	X(MAP, "map[string]interface {}", "map")                                                   \
	X(VALUES, "common.Values", "map")                                                          \
	X(STRING_MAP, "map[string]string", "map")                                                  \
	X(FILES, "engine.files", "map")                                                            \
	X(OBJECT, "object", "struct")

enum value_type {
#define X(name, go_type, go_kind) TYPE_##name,
	VALUE_TYPES(X)
#undef X
};

struct value_list;
struct value_map;
struct object;

struct value {
	uint8_t kind; /* enum value_kind */
	uint8_t type; /* enum value_type */
	union {
		bool boolean;
		int64_t integer;
		double number;
		struct span text; /* VALUE_STRING, VALUE_BYTES */
		const struct value_list *list;
		struct value_map *map;
		struct object *object;
	};
};

struct value_list {
	uint32_t count;
	bool is_nil; /* a nil slice: written as null */
	struct value *items;
};

struct value_entry {
	struct span key;
	struct value value;
};

struct value_map {
	uint32_t count;
	uint32_t capacity;
	struct value_entry *entries; /* sorted by key */
};

struct run;

/* Values of Go types with methods: times, versions, capabilities. The class comes first. */
struct object_class {
	const char *type; /* Go's name */
	const char *kind; /* "struct", "ptr" */
	/* A field or the result of a method. 1: there is none of that name; negative: run has the error. */
	int (*get)(struct run *run, struct object *object, struct span name,
		const struct value *arguments, size_t count, struct value *ret_value);
	void (*print)(const struct object *object, struct buffer *out); /* as %v does */
	/* For toJson and toYaml; NULL: an empty object. */
	struct value (*plain)(struct arena *arena, const struct object *object);
	bool fields_only; /* names are fields, which take no arguments */
	/* Optional: for fmt functions, where Go does not find a String method of the pointer. */
	void (*print_argument)(const struct object *object, struct buffer *out);
	/* Optional: names of `plain` in the order in which toJson writes them, NULL at the end. */
	const char *const *order;
};

struct object {
	const struct object_class *class;
};

static inline struct value value_none(void)
{
	return (struct value){.kind = VALUE_NONE};
}

static inline struct value value_nil(void)
{
	return (struct value){.kind = VALUE_NIL};
}

static inline struct value value_bool(bool boolean)
{
	return (struct value){.kind = VALUE_BOOL, .type = TYPE_BOOL, .boolean = boolean};
}

static inline struct value value_integer(enum value_type type, int64_t integer)
{
	return (struct value){.kind = VALUE_INTEGER, .type = (uint8_t)type, .integer = integer};
}

static inline struct value value_int(int64_t integer)
{
	return value_integer(TYPE_INT, integer);
}

static inline struct value value_int64(int64_t integer)
{
	return value_integer(TYPE_INT64, integer);
}

static inline struct value value_float(double number)
{
	return (struct value){.kind = VALUE_FLOAT, .type = TYPE_FLOAT64, .number = number};
}

/* Text is not copied. */
static inline struct value value_string(struct span text)
{
	return (struct value){.kind = VALUE_STRING, .type = TYPE_STRING, .text = text};
}

static inline struct value value_bytes(struct span text)
{
	return (struct value){.kind = VALUE_BYTES, .type = TYPE_BYTES, .text = text};
}

static inline struct value value_of_map(struct value_map *map)
{
	return (struct value){.kind = VALUE_MAP, .type = TYPE_MAP, .map = map};
}

static inline struct value value_of_object(struct object *object)
{
	return (struct value){.kind = VALUE_OBJECT, .type = TYPE_OBJECT, .object = object};
}

static inline bool value_is_absent(struct value value)
{
	return value.kind <= VALUE_NIL;
}

/* A list of `count` items in the arena, to be filled by the caller through *ret_items. */
struct value value_new_list(struct arena *arena, enum value_type type, size_t count,
	struct value **ret_items);
/* An empty list that is written as null. */
struct value value_nil_list(struct arena *arena, enum value_type type);
/* A list over items that the caller owns and no longer changes. */
struct value value_list_over(struct arena *arena, enum value_type type, struct value *items,
	size_t count);

struct value_map *value_map_new(struct arena *arena, size_t capacity);
/* NULL when there is no such key. The pointer is valid until the map changes. */
struct value *value_map_find(const struct value_map *map, struct span key);
struct value value_map_get(const struct value_map *map, const char *key); /* VALUE_NONE if absent */
void value_map_set(struct arena *arena, struct value_map *map, struct span key, struct value value);
/* The same with a key that outlives the map. */
void value_map_put(struct arena *arena, struct value_map *map, const char *key, struct value value);
void value_map_remove(struct value_map *map, struct span key);
/* A copy with its own entries; the values are shared. */
struct value_map *value_map_copy(struct arena *arena, const struct value_map *map);

/* Go's truth: false, 0, "", empty lists and maps, nil and nothing are false. */
bool value_truth(struct value value);
/* Number of items, entries or bytes; -1 for kinds without length. */
int64_t value_length(struct value value);
/* Item `index` of a list or of bytes. */
struct value value_item(struct value list, size_t index);
struct value value_copy_deep(struct arena *arena, struct value value);
/* reflect.DeepEqual: types must agree, too. */
bool value_equal_deep(struct value a, struct value b);

const char *value_type_name(struct value value);
const char *value_kind_name(struct value value);

/* Numbers of JSON and YAML texts become float64, as encoding/json decodes them. */
struct value value_from_json(struct arena *arena, const struct json *json);
/* The same, but numbers without fraction and exponent become int64 (TOML). */
struct value value_from_json_integers(struct arena *arena, const struct json *json);
/* The same, but only for numbers without a line: those that set_values() made of --set. */
struct value value_from_json_set(struct arena *arena, const struct json *json);
/* The value as a tree, as encoding/json writes it. False for values that it refuses (NaN, too deep). */
bool value_to_json(struct arena *arena, struct value value, struct json **ret_json);
/* The same for writers of other formats: floats have Go's shortest text, bytes stay text. */
bool value_to_json_pretty(struct arena *arena, struct value value, struct json **ret_json);
/* The same, but floats always have a point or an exponent: TOML has both kinds of numbers. */
bool value_to_json_for_toml(struct arena *arena, struct value value, struct json **ret_json);
/* Go's text of a float64 in JSON. */
struct span value_float_to_json(struct arena *arena, double number);

#endif
