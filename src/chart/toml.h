/* TOML as Helm's toToml and fromToml write and read it. */
#ifndef CHART_TOML_H
#define CHART_TOML_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/json.h"

#define TOML_TEXT_MAX (4 * 1024 * 1024)
#define TOML_DEPTH_MAX 100

/* Dates and times become strings of RFC 3339. Integers have no fraction or exponent in their text,
 * floats always do. Messages carry "line N". */
int toml_parse(struct span text, struct arena *arena, struct json **ret_value, struct err *err);

/* Numbers are written as their text is: floats need a fraction or an exponent. -EINVAL: null in an
 * array. */
int toml_write(const struct json *value, struct buffer *out, struct err *err);

#endif
