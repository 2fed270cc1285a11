/*
 * The functions that templates can call: a row each, in tables by subject. `types` has a letter per
 * parameter, checked before the call as Go checks them:
 *
 *   a  anything (nothing arrives as VALUE_NIL)      i  int       s  string
 *   m  map[string]interface{}                       I  int64     L  []string
 *   b  bool                                         f  float64   *  the letter before it repeats
 */
#ifndef CHART_FUNCTION_H
#define CHART_FUNCTION_H

#include "base/span.h"
#include "chart/run.h"
#include "chart/value.h"

typedef int function_body(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value);

struct function {
	const char *name;
	const char *types;
	function_body *body;
	bool short_circuits; /* `and`, `or`: arguments are evaluated one by one */
};

struct function_table {
	const struct function *rows;
	size_t count;
};

extern const struct function_table functions_compare, functions_convert, functions_core,
	functions_crypto, functions_date, functions_dict, functions_list, functions_math,
	functions_reflect, functions_regex, functions_semver, functions_string, functions_text,
	functions_url;

/* NULL if there is none. */
const struct function *function_find(struct span name);

/* ---- shared by the tables ---- */

/* Go's fmt: print of one value as %v, and Sprintf. */
void format_value(struct run *run, struct value value, struct buffer *out);
int format_text(struct run *run, struct span format, const struct value *arguments, size_t count,
	struct buffer *out);

/* Sprig's strval: text of strings and bytes, %v of anything else. */
struct span function_text(struct run *run, struct value value);
/* Sprig's conversions by spf13/cast: what cannot be converted is 0. */
int64_t function_integer(struct value value);
double function_float(struct value value);
/* A buffer's text as a string value in the arena; fails when the buffer passed its cap. */
int function_return(struct run *run, struct buffer *buffer, struct value *ret_value);
/* A buffer that may hold as much as the run may still take. */
struct buffer function_buffer(struct run *run);

#endif
