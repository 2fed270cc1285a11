/* Notes on unsupported settings, which users read in the task. */
#ifndef RUNTIME_KUBERNETES_NOTES_H
#define RUNTIME_KUBERNETES_NOTES_H

#include "base/buffer.h"

#define KUBERNETES_NOTES_MAX ((size_t)4096)

/* Adds a sentence, unless it is in the notes already; separated by "; ". */
void kubernetes_note(struct buffer *notes, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
