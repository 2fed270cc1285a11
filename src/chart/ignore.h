/* The rules of .helmignore: patterns of one path each, directories, negation. */
#ifndef CHART_IGNORE_H
#define CHART_IGNORE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"

#define IGNORE_RULES_MAX 10000

struct ignore_rules;

/* The rules of a file's text, which must live as long as they, and Helm's own one: templates/.?* */
int ignore_parse(struct span text, struct arena *arena, struct ignore_rules **ret_rules,
	struct err *err);

/* path: relative to the chart, with "/" between names. */
bool ignore_matches(const struct ignore_rules *rules, struct span path, bool is_folder);

/* As Go's filepath.Match: "*" and "?" match no "/"; [a-z], [^a], backslash. False in *ret_matches for a
 * text that does not match; -EINVAL for a malformed pattern. */
int ignore_match_pattern(struct span pattern, struct span text, bool *ret_matches);

#endif
