/* JSON Schema: a schema, a line break, a value. Validation ends, and says why a value is not valid. */
#include <stdio.h>
#include <stdlib.h>

#include "chart/regex.h"
#include "chart/schema.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int match(void *context, struct span pattern, struct span text, bool *ret_matches,
	struct err *err)
{
	char message[128];
	struct regex *regex = regex_new(pattern.data, pattern.length, message, sizeof(message));

	(void)context;
	if (!regex)
		return err_set(err, -EINVAL, "%s", message);
	*ret_matches = regex_match(regex, text.data, text.length, 0, NULL, 0);
	regex_free(regex);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct schema_patterns patterns = {match, NULL};
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer problems = {0};
	struct span schema_text, value_text;
	struct json *schema, *value;
	struct err err = {0};
	bool valid = false;
	int code;

	if (!span_split((struct span){(const char *)data, size}, '\n', &schema_text, &value_text) ||
		json_parse(schema_text, arena, &schema, NULL) < 0 ||
		json_parse(value_text, arena, &value, NULL) < 0)
		return 0;
	code = schema_validate(schema, value, &patterns, arena, &valid, &problems, &err);
	CHECK(code == 0 || (code < 0 && err.message[0] != '\0'));
	CHECK(code < 0 || valid == (problems.length == 0) || problems.failed);
	return 0;
}
