/* Text of the views that are drawn on a terminal. Pure. */
#ifndef CLI_VIEW_TEXT_H
#define CLI_VIEW_TEXT_H

#include "base/arena.h"
#include "base/buffer.h"

/* Adds a line, cut to `width` columns, so that it is one line of the terminal. Characters that would move the cursor become
 * spaces; those at the end are left out. */
void view_add_line(struct arena *arena, struct buffer *text, size_t width, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* As a terminal shows it: one for each character of UTF-8. */
size_t view_columns(struct span text);
/* "12s", "3m 05s", "1h 02m" */
struct span view_duration(struct arena *arena, double seconds);

#endif
