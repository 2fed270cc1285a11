#include <jansson.h>

#include "json_parsers.h"

static size_t count_values(json_t *value)
{
	size_t count = 1, index;
	const char *name;
	json_t *entry;

	json_object_foreach(value, name, entry)
	{
		count += count_values(entry);
	}
	json_array_foreach(value, index, entry)
	{
		count += count_values(entry);
	}
	return count;
}

size_t json_parse_jansson(const char *text, size_t length, int count)
{
	json_t *value = json_loadb(text, length,
		JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	size_t values = !value ? 0 : count ? count_values(value) : 1;

	json_decref(value);
	return values;
}
