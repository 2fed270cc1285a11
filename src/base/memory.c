/* Allocation that succeeds or ends the process: see memory.h for why. */
#include "base/memory.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

__attribute__((noreturn, cold)) static void out_of_memory(void)
{
	static const char message[] = "slipway: out of memory\n";
	ssize_t ignored = write(STDERR_FILENO, message, sizeof(message) - 1);

	(void)ignored;
	abort();
}

void *memory_allocate(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	if (!memory)
		out_of_memory();
	return memory;
}

void *memory_allocate_array(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size ? size : 1);

	if (!memory)
		out_of_memory();
	return memory;
}

void *memory_resize(void *old, size_t size)
{
	void *memory = realloc(old, size ? size : 1);

	if (!memory)
		out_of_memory();
	return memory;
}

void *memory_copy(const void *from, size_t size)
{
	void *memory = memory_resize(NULL, size);

	if (size > 0)
		memcpy(memory, from, size);
	return memory;
}

char *memory_copy_string(const char *text)
{
	return text ? memory_copy(text, strlen(text) + 1) : NULL;
}

char *memory_copy_string_n(const char *text, size_t length)
{
	char *copy;

	if (length == SIZE_MAX)
		out_of_memory();
	copy = memory_resize(NULL, length + 1);
	if (length > 0)
		memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

char *memory_format(const char *format, ...)
{
	char *text = NULL;
	va_list list;

	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		out_of_memory();
	va_end(list);
	return text;
}

void memory_give_back(void)
{
	malloc_trim(0);
}

void memory_free_pointer(void *pointer_to_pointer)
{
	void **pointer = pointer_to_pointer;

	free(*pointer);
	*pointer = NULL;
}

/* Keeps errno, because it runs between a failing call and the caller's look at it. */
void memory_close_descriptor(int *descriptor)
{
	int number = errno;

	if (*descriptor >= 0)
		close(*descriptor);
	*descriptor = -1;
	errno = number;
}
