/*
 * Messages are built in place and cut at ERR_MESSAGE_MAX, never in the middle of a character: they
 * end up in JSON answers, which must be valid UTF-8.
 */
#include "base/err.h"

/* The functions behind the macros of the same names. */
#undef err_set
#undef err_errno
#undef err_system

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Drops the bytes of an incomplete character at the end of a text that was cut. */
static void cut_at_character(char *text, size_t length)
{
	size_t start = length;
	size_t want;
	unsigned char lead;

	while (start > 0 && length - start < 4 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
		start--;
	if (start == 0)
		return;
	lead = (unsigned char)text[start - 1];
	want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
	if (length - (start - 1) < want)
		text[start - 1] = '\0';
}

/* Appends at *length; a text that does not fit is cut and *length stays within the message. */
static void append_list(struct err *err, size_t *length, const char *format, va_list list)
{
	size_t room = ERR_MESSAGE_MAX - *length;
	int written = vsnprintf(err->message + *length, room, format, list);

	if (written < 0) {
		err->message[*length] = '\0';
		return;
	}
	if ((size_t)written < room) {
		*length += (size_t)written;
		return;
	}
	cut_at_character(err->message, ERR_MESSAGE_MAX - 1);
	*length = strlen(err->message);
}

__attribute__((format(printf, 3, 4))) static void append(struct err *err, size_t *length,
	const char *format, ...)
{
	va_list list;

	va_start(list, format);
	append_list(err, length, format, list);
	va_end(list);
}

int err_set(struct err *err, int code, const char *format, ...)
{
	size_t length = 0;
	va_list list;

	assert(code < 0);
	if (!err)
		return code;
	err->code = code;
	va_start(list, format);
	append_list(err, &length, format, list);
	va_end(list);
	return code;
}

static int set_system(struct err *err, int number, const char *format, va_list list)
{
	char reason[128];
	size_t length = 0;
	int code = number > 0 ? -number : -EIO;

	if (!err)
		return code;
	err->code = code;
	append_list(err, &length, format, list);
	/* The GNU strerror_r, which returns the text and is safe on any thread. */
	append(err, &length, ": %s", strerror_r(-code, reason, sizeof(reason)));
	return code;
}

int err_errno(struct err *err, const char *format, ...)
{
	int number = errno;
	va_list list;
	int code;

	va_start(list, format);
	code = set_system(err, number, format, list);
	va_end(list);
	return code;
}

int err_system(struct err *err, int number, const char *format, ...)
{
	va_list list;
	int code;

	va_start(list, format);
	code = set_system(err, number, format, list);
	va_end(list);
	return code;
}

int err_prefix(struct err *err, int code, const char *format, ...)
{
	char before[ERR_MESSAGE_MAX];
	size_t length = 0;
	va_list list;

	if (!err)
		return code;
	memcpy(before, err->message, sizeof(before));
	before[ERR_MESSAGE_MAX - 1] = '\0';
	va_start(list, format);
	append_list(err, &length, format, list);
	va_end(list);
	append(err, &length, ": %s", before);
	return err->code;
}
