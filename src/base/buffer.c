/* Capacity doubles, so that a text built from many small appends costs linear time. */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>

#define CAPACITY_FIRST ((size_t)64)

void buffer_clear(struct buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct buffer){.cap = buffer->cap};
}

void buffer_reset(struct buffer *buffer)
{
	buffer->length = 0;
	buffer->failed = false;
	if (buffer->data)
		buffer->data[0] = '\0';
}

__attribute__((cold)) static void grow(struct buffer *buffer, size_t needed)
{
	size_t capacity = buffer->capacity ? buffer->capacity : CAPACITY_FIRST;

	while (capacity < needed)
		capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
	buffer->data = memory_resize(buffer->data, capacity);
	buffer->capacity = capacity;
	buffer->data[buffer->length] = '\0';
}

char *buffer_reserve(struct buffer *buffer, size_t more)
{
	size_t limit = buffer->cap ? buffer->cap : SIZE_MAX / 2;

	if (buffer->failed)
		return NULL;
	if (buffer->length > limit || more > limit - buffer->length) {
		buffer->failed = true;
		return NULL;
	}
	if (!buffer->data || buffer->capacity - buffer->length <= more) /* one for the NUL */
		grow(buffer, buffer->length + more + 1);
	return buffer->data + buffer->length;
}

void buffer_add(struct buffer *buffer, const void *data, size_t length)
{
	char *end = buffer_reserve(buffer, length);

	if (!end)
		return;
	if (length > 0)
		memcpy(end, data, length);
	buffer->length += length;
	end[length] = '\0';
}

void buffer_add_span(struct buffer *buffer, struct span text)
{
	buffer_add(buffer, text.data, text.length);
}

void buffer_add_string(struct buffer *buffer, const char *text)
{
	buffer_add(buffer, text, strlen(text));
}

void buffer_add_char(struct buffer *buffer, char c)
{
	buffer_add(buffer, &c, 1);
}

void buffer_add_unsigned(struct buffer *buffer, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	buffer_add(buffer, digits + at, sizeof(digits) - at);
}

void buffer_add_signed(struct buffer *buffer, int64_t value)
{
	char digits[21];
	size_t at = sizeof(digits);
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	do {
		digits[--at] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (value < 0)
		digits[--at] = '-';
	buffer_add(buffer, digits + at, sizeof(digits) - at);
}

void buffer_add_hex(struct buffer *buffer, const void *data, size_t length)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *bytes = data;
	char *end;

	if (length > SIZE_MAX / 4) {
		buffer->failed = true;
		return;
	}
	end = buffer_reserve(buffer, length * 2);
	if (!end)
		return;
	for (size_t i = 0; i < length; i++) {
		end[2 * i] = hex[bytes[i] >> 4];
		end[2 * i + 1] = hex[bytes[i] & 15];
	}
	buffer->length += length * 2;
	end[length * 2] = '\0';
}

void buffer_format(struct buffer *buffer, const char *format, ...)
{
	char small[256];
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(small, sizeof(small), format, list);
	va_end(list);
	if (length < 0) {
		buffer->failed = true;
		return;
	}
	if ((size_t)length < sizeof(small)) {
		buffer_add(buffer, small, (size_t)length);
		return;
	}
	if (!buffer_reserve(buffer, (size_t)length))
		return;
	va_start(list, format);
	vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, list);
	va_end(list);
	buffer->length += (size_t)length;
}

void buffer_consume(struct buffer *buffer, size_t length)
{
	if (length == 0)
		return;
	if (length >= buffer->length) {
		buffer->length = 0;
	} else {
		memmove(buffer->data, buffer->data + length, buffer->length - length);
		buffer->length -= length;
	}
	if (buffer->data)
		buffer->data[buffer->length] = '\0';
}

char *buffer_take(struct buffer *buffer, size_t *ret_length)
{
	char *data = buffer->data ? buffer->data : memory_allocate(1);

	if (ret_length)
		*ret_length = buffer->length;
	buffer->data = NULL;
	buffer_clear(buffer);
	return data;
}
