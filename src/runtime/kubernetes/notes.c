/* See the header. */
#include "runtime/kubernetes/notes.h"

#include <stdarg.h>
#include <stdio.h>

#define SENTENCE_MAX 512

void kubernetes_note(struct buffer *notes, const char *format, ...)
{
	char sentence[SENTENCE_MAX];
	va_list list;

	va_start(list, format);
	vsnprintf(sentence, sizeof(sentence), format, list);
	va_end(list);
	if (notes->length > 0 && strstr(notes->data, sentence))
		return;
	if (notes->length > 0)
		buffer_add_string(notes, "; ");
	buffer_add_string(notes, sentence);
}
