/*
 * Facts that are kept in the private text of an object: one table says which members there are, and both
 * writing and reading are expansions of it. Members that are empty, 0 or false are left out.
 *
 * A member that has another type than its row says, or a name that its table does not have, is a newer
 * slipway's: the record is refused as a whole, and not read as if the member were not there. Members that
 * no row knows are not looked at; a record that is written again does not have them any more.
 *
 * Texts of facts must not have characters that JSON escapes: then they stand in the private text as they
 * are, and facts can point there. The code that accepts a text checks that (fact_text_is_plain).
 */
#ifndef STORE_FACT_TABLE_H
#define STORE_FACT_TABLE_H

#include "base/json.h"

enum fact_type { FACT_TEXT, FACT_NUMBER, FACT_FLAG, FACT_NAME, FACT_REAL };

struct fact_row {
	const char *name;
	enum fact_type type; /* struct span, int64_t, bool, an enum (unsigned), double */
	size_t offset;
	const char *const *names; /* of FACT_NAME: a table of texts, first one left out */
	size_t name_count;
};

#define FACT(type_, struct_, field, name_)                                                         \
	{                                                                                          \
		.name = (name_), .type = (type_), .offset = offsetof(struct struct_, field)        \
	}
#define FACT_NAMED(struct_, field, name_, names_)                                                  \
	{                                                                                          \
		.name = (name_), .type = FACT_NAME, .offset = offsetof(struct struct_, field),     \
		.names = (names_), .name_count = LENGTH(names_)                                    \
	}

/* -EINVAL when private_ is no object, or a member is not what its row says. */
int fact_table_read(const struct fact_row *rows, size_t count, const struct json *private_,
	void *facts, struct err *err);
void fact_table_write(const struct fact_row *rows, size_t count, const void *facts,
	struct arena *arena, struct json *private_);

/* The place of a name in a table, or -1. */
int fact_name_find(const char *const *names, size_t count, struct span name);
bool fact_text_is_plain(struct span text);

#endif
