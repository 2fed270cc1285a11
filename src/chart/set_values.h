/*
 * Values from the command line: --set, --set-string, --set-file, --set-json and --set-literal with
 * the grammar of Helm: a.b=c,d[0].e={x,y}, backslash escapes, and null to remove a default.
 */
#ifndef CHART_SET_VALUES_H
#define CHART_SET_VALUES_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"

#define SET_INDEX_MAX 65536 /* of a list, as Helm */
#define SET_NESTING_MAX 30  /* names joined by dots, as Helm */

enum set_kind {
	SET_TYPED,   /* --set: true, false, null and integers have their types, all else is text */
	SET_STRING,  /* --set-string */
	SET_FILE,    /* --set-file: the values are paths */
	SET_JSON,    /* --set-json: name=JSON, or one JSON object */
	SET_LITERAL, /* --set-literal: no escapes, and one name=value only */
};

/* How --set-file gets a file. The text must live as long as the arena. */
struct set_files {
	int (*read)(void *context, struct span path, struct arena *arena, struct span *ret_text,
		struct err *err);
	void *context;
};

/* A copy of an object, with everything below it, that set_values() may change. */
struct json *set_values_copy(struct arena *arena, const struct json *object);

/* Applies one argument to values, an object from set_values_copy() or json_new_object(), which is
 * unusable after an error. files may be NULL unless kind is SET_FILE.
 *
 * An integer of --set is an int64 in Helm, while numbers of files and of --set-json are float64:
 * numbers that this function makes of --set have line 0, all others at least 1. */
int set_values(struct json *values, enum set_kind kind, struct span argument,
	const struct set_files *files, struct arena *arena, struct err *err);

#endif
