/* The files of schema validation share these: the application of one schema to one value, and its problems. */
#ifndef CHART_SCHEMA_APPLY_H
#define CHART_SCHEMA_APPLY_H

#include "base/memory.h"
#include "chart/schema.h"
#include "chart/schema_parts.h"

/* A position in the value. */
struct place {
	const struct place *outer;
	struct span name; /* of a member; none for an item */
	size_t index;
};

/* Members or items that some keyword has applied a schema to, for the unevaluated… keywords. */
struct evaluated {
	bool *seen;
	size_t count;
};

struct application {
	struct schema_context *context;
	const struct json *schema;
	const struct json *resource;
	const struct json *value;
	const struct place *place;
	struct evaluated *evaluated;
	struct buffer *out;
	unsigned indent;
	unsigned depth;
	bool valid;
};

/* schema.c */
int schema_apply(const struct application *outer, const struct json *schema,
	const struct json *value, const struct place *place, struct evaluated *evaluated,
	struct buffer *out, unsigned indent, bool *ret_valid);
int schema_apply_in_place(struct application *a, const struct json *schema, struct buffer *out,
	unsigned indent, bool *ret_valid);
/* A keyword of the schema, if its draft has it; else NULL. */
const struct json *schema_keyword(const struct application *a, const char *name,
	enum schema_draft first, enum schema_draft last);

/* schema_problem.c */
/* Writes a line "- at 'PLACE': TEXT"; schema_begin_problem() writes it up to TEXT. */
void schema_problem(struct application *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void schema_begin_problem(struct application *a, const struct place *place);
const char *schema_type_of(const struct json *value);
void schema_add_value(struct buffer *out, const struct json *value);
void schema_add_names(struct buffer *out, const struct span *names, size_t count);

/* schema_scalar.c: keywords of every type, of numbers and of strings */
void schema_check_type(struct application *a);
void schema_check_constants(struct application *a);
void schema_check_number(struct application *a);
/* Sizes of strings, arrays and objects. */
void schema_check_size(struct application *a, const char *least, const char *most, size_t size);
/* Whether a text matches a pattern. */
int schema_matches(struct application *a, struct span pattern, struct span text, bool *ret_matches);
int schema_check_string(struct application *a);

/* schema_container.c: keywords of arrays and objects */
int schema_check_contains(struct application *a);
int schema_check_names(struct application *a);
/* Arrays and objects share this: a schema for one member or item. */
int schema_apply_inside(struct application *a, const struct json *schema, const struct json *value,
	const struct place *place, size_t index);
int schema_check_array(struct application *a);
int schema_check_object(struct application *a);

#define KEYWORD(a, name) json_get((a)->schema, (name))
#define KEYWORD_SINCE(a, name, first) schema_keyword((a), (name), (first), DRAFT_2020)

#endif
