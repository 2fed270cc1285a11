/* TOML: what is accepted can be written, and what is written reads back as the same value. */
#include <stdio.h>
#include <stdlib.h>

#include "chart/toml.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer written = {0}, again = {0};
	struct json *value, *reread;
	struct err err = {0};
	int code = toml_parse((struct span){(const char *)data, size}, arena, &value, &err);

	CHECK(code == 0 || (code == -EINVAL && strncmp(err.message, "toml: line ", 11) == 0));
	if (code < 0)
		return 0;
	/* Deeply nested arrays are read one level deeper than they are written. */
	if (toml_write(value, &written, &err) < 0)
		return 0;
	code = toml_parse(buffer_span(&written), arena, &reread, &err);
	CHECK(code == 0 || strstr(err.message, "nested too deeply"));
	if (code < 0)
		return 0;
	CHECK(toml_write(reread, &again, NULL) == 0);
	CHECK(span_equal(buffer_span(&written), buffer_span(&again)));
	return 0;
}
