/* Patterns of .Files.Glob: *, ?, [a-z], {a,b}; "**" also crosses "/". */
#ifndef CHART_GLOB_H
#define CHART_GLOB_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/span.h"

#define GLOB_PATTERN_MAX 4096
/* Steps of matching one name; patterns that need more match nothing. */
#define GLOB_STEPS_MAX 1000000

struct glob;

/* NULL for a malformed pattern. */
const struct glob *glob_new(struct arena *arena, struct span pattern);
bool glob_matches(const struct glob *glob, struct span name);

#endif
