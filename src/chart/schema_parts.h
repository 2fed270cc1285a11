/* Shared by the files that check schemas, resolve references and apply them. */
#ifndef CHART_SCHEMA_PARTS_H
#define CHART_SCHEMA_PARTS_H

#include "chart/schema.h"

enum schema_draft { DRAFT_4 = 4, DRAFT_6 = 6, DRAFT_7 = 7, DRAFT_2019 = 2019, DRAFT_2020 = 2020 };

struct schema_context {
	const struct json *root;
	enum schema_draft draft;
	const struct schema_patterns *patterns;
	struct arena *arena;
	struct err *err;
	size_t steps;
};

int schema_find_draft(const struct json *root, enum schema_draft *ret_draft, struct err *err);

/* Whether the schema itself is well-formed: types of keywords, patterns, references. */
int schema_check(struct schema_context *context);

/* The schema that a $ref names. `resource` is the nearest schema around it with an $id, or the root. */
int schema_resolve(struct schema_context *context, const struct json *resource,
	struct span reference, const struct json **ret_schema, struct err *err);
/* The resource that `schema` begins, or the one around it. */
const struct json *schema_resource(const struct schema_context *context, const struct json *schema,
	const struct json *around);

/* Whether text has the format; unknown formats accept everything. */
bool schema_format_matches(struct span format, struct span text);

#endif
