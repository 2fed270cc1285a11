/*
 * Structured log of the edge: one JSON object a line on a descriptor, {"time":…,"level":…,
 * "message":…, fields…}. Only server/ and cli/ log; library code returns errors. Safe from any
 * thread: a line is one write(2). Secrets are never fields.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/clock.h"
#include "base/json.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

struct log;

enum log_style {
	LOG_STYLE_JSON,
	LOG_STYLE_TEXT
}; /* text: "12:00:01 info  message key=value" for terminals */

struct log *log_new(int descriptor, enum log_level least, enum log_style style,
	struct clock *clock);
void log_free(struct log *log);

/* Fields are pairs (const char *name, const char *value) ended by NULL. log may be NULL: nothing. */
void log_write(struct log *log, enum log_level level, const char *message, ...)
	__attribute__((sentinel));
int log_level_parse(const char *name, enum log_level *ret_level);

#endif
