#include <cjson/cJSON.h>

#include "json_parsers.h"

static size_t count_values(const cJSON *value)
{
	size_t count = 1;
	const cJSON *entry;

	cJSON_ArrayForEach(entry, value) count += count_values(entry);
	return count;
}

size_t json_parse_cjson(const char *text, size_t length, int count)
{
	cJSON *value = cJSON_ParseWithLength(text, length);
	size_t values = !value ? 0 : count ? count_values(value) : 1;

	cJSON_Delete(value);
	return values;
}
