/* --set arguments: the first byte selects the option. Whatever is accepted is valid JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "chart/set_values.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_file(void *context, struct span path, struct arena *arena, struct span *ret_text,
	struct err *err)
{
	(void)context;
	(void)arena;
	if (path.length > 8)
		return err_set(err, -ENOENT, "no such file");
	*ret_text = SPAN("content");
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct set_files files = {read_file, NULL};
	_arena_ struct arena *arena = arena_new(0);
	struct json *base, *values;
	struct err err = {0};
	int code;

	if (size == 0)
		return 0;
	CHECK(json_parse(SPAN("{\"a\":{\"b\":[1,{\"c\":2}]},\"l\":[[1]]}"), arena, &base, NULL) ==
		0);
	values = set_values_copy(arena, base);
	code = set_values(values, (enum set_kind)(data[0] % 5),
		(struct span){(const char *)data + 1, size - 1}, &files, arena, &err);
	CHECK(code == 0 || (code < 0 && err.message[0] != '\0'));
	CHECK(json_is(values, JSON_OBJECT));
	CHECK(json_equal(values, set_values_copy(arena, values)));
	return 0;
}
