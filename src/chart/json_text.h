/* JSON as Go's encoding/json writes it. */
#ifndef CHART_JSON_TEXT_H
#define CHART_JSON_TEXT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "chart/value.h"

enum json_text_style {
	JSON_TEXT_PLAIN,  /* <, > and & are escaped */
	JSON_TEXT_RAW,    /* they are not */
	JSON_TEXT_PRETTY, /* as plain, indented by two spaces */
};

/* False for values that cannot be written: NaN, infinity, nested too deeply. */
bool json_text_write(struct value value, enum json_text_style style, struct arena *arena,
	struct buffer *out);

#endif
