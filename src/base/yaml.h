/*
 * YAML 1.2 core schema through libyaml into the same struct json, with line numbers for messages.
 * Refused: anchors and aliases (billion laughs), tags other than the core ones, duplicate keys,
 * several documents in one text, keys that are not scalars, depth and size beyond the limits.
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/json.h"

#define YAML_TEXT_MAX (4 * 1024 * 1024)

/* An empty text gives null. Messages carry "line N". */
int yaml_parse(struct span text, struct arena *arena, struct json **ret_value, struct err *err);

#endif
