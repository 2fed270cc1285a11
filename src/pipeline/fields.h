/*
 * Reads the mappings of an application file into structures, by tables: one row per key. Keys are compared as PipeCD
 * compares them, without case, and null counts as absent. An unknown key is an error with the nearest known key.
 */
#ifndef PIPELINE_FIELDS_H
#define PIPELINE_FIELDS_H

#include "base/json.h"

enum field_type {
	FIELD_TEXT,     /* struct span */
	FIELD_TEXTS,    /* struct field_list of struct span */
	FIELD_PAIRS,    /* struct field_list of struct field_pair: a mapping to texts */
	FIELD_BOOL,     /* bool */
	FIELD_COUNT,    /* int64_t, not negative */
	FIELD_NUMBER,   /* double */
	FIELD_PERCENT,  /* int64_t, 0 to 100: 20 or "20%" */
	FIELD_DURATION, /* int64_t, milliseconds: "1m30s" */
	FIELD_CHOICE,   /* int, the index in choices */
	FIELD_ONE,      /* a structure in its place */
	FIELD_MANY,     /* struct field_list of structures */
	FIELD_VALUE,    /* const struct json *, as it is */
};

struct field_table {
	const struct field *fields;
	size_t count;
	const void *defaults; /* of the structure; NULL: zeros */
	size_t size;          /* of the structure */
};

struct field {
	const char *name;
	enum field_type type;
	size_t offset;
	const struct field_table *inner; /* FIELD_ONE, FIELD_MANY */
	const char *const *choices;      /* FIELD_CHOICE: ends with NULL */
	bool required;
	const char *warning;      /* the key is read, and this is said about it */
	const char *undeployable; /* the application cannot be delivered because of the key */
};

struct field_list {
	void *items;
	size_t count;
};

struct field_pair {
	struct span name, value;
};

/* A remark about one line of a file. */
struct field_note {
	uint32_t line;
	struct span text;
};

struct field_reader {
	struct span file; /* for messages */
	struct arena *arena;
	struct err *err;
	struct field_list warnings;     /* struct field_note */
	unsigned values;                /* read so far; aliases count as often as they occur */
	struct field_note undeployable; /* the first reason; text.data NULL: none */
};

/* Fills the structure, which has the table's defaults before. path: where the object stands, "spec.input"; "" for the
 * file itself. -EINVAL with "FILE:LINE: …". */
int fields_read(struct field_reader *reader, const struct field_table *table, const char *path,
	const struct json *object, void *structure);

/* Member of an object by its name without case; the exact one wins. NULL if it is absent or null. */
const struct json *fields_find(const struct json *object, const char *name);

/* -EINVAL with "FILE:LINE: " before the message. */
int fields_fail(struct field_reader *reader, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void fields_warn(struct field_reader *reader, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Keeps the first reason. */
void fields_refuse(struct field_reader *reader, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "; did you mean \"x\"?" or "", in the arena. */
struct span fields_suggest(struct arena *arena, struct span name, const struct span *known,
	size_t count);

/* The ARN or name, the number or the truth value as text. False for anything else. */
bool fields_scalar_text(const struct json *value, struct span *ret_text);

/* Appends an item of that size; returns it, zeroed. */
void *fields_append(struct arena *arena, struct field_list *list, size_t size);

#endif
