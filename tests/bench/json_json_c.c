#include <json-c/json.h>

#include "json_parsers.h"

static size_t count_values(json_object *value)
{
	size_t count = 1;

	if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, name, entry)
		{
			(void)name;
			count += count_values(entry);
		}
	} else if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(value); i++)
			count += count_values(json_object_array_get_idx(value, i));
	}
	return count;
}

size_t json_parse_json_c(const char *text, size_t length, int count)
{
	struct json_tokener *tokener = json_tokener_new();
	json_object *value;
	size_t values;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	value = json_tokener_parse_ex(tokener, text, (int)length);
	values = json_tokener_get_error(tokener) != json_tokener_success ? 0
		 : count                                                 ? count_values(value)
									 : 1;
	json_object_put(value);
	json_tokener_free(tokener);
	return values;
}
