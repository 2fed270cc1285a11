/*
 * JSON Schema for values.schema.json: drafts 4, 6 and 7, and the common keywords of 2019-09 and
 * 2020-12. References stay within the schema; remote ones are errors.
 */
#ifndef CHART_SCHEMA_H
#define CHART_SCHEMA_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/json.h"

#define SCHEMA_DEPTH_MAX 200              /* schemas within schemas, references followed */
#define SCHEMA_STEPS_MAX 5000000          /* schemas applied to values in one validation */
#define SCHEMA_PROBLEMS_MAX (1024 * 1024) /* bytes of problems; more are left out */

/* Whether the regular expression (of Go's syntax) occurs in text; -EINVAL if it is malformed. */
struct schema_patterns {
	int (*matches)(void *context, struct span pattern, struct span text, bool *ret_matches,
		struct err *err);
	void *context;
};

/* 0: valid, or not, and then *problems has a line for each reason: "- at '/a/b': got string, want
 * number". -EINVAL: the schema itself is unusable. */
int schema_validate(const struct json *schema, const struct json *value,
	const struct schema_patterns *patterns, struct arena *arena, bool *ret_valid,
	struct buffer *problems, struct err *err);

#endif
