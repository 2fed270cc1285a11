/* What could not be done as asked, in sentences that a person reads in the task. */
#ifndef RUNTIME_KUBERNETES_NOTES_H
#define RUNTIME_KUBERNETES_NOTES_H

#include "base/buffer.h"

#define KUBERNETES_NOTES_MAX ((size_t)4096)

/* Adds a sentence, unless it stands there already; "; " between two. */
void kubernetes_note(struct buffer *notes, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
