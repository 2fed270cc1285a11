#include "json_oracle.h"

#include <jansson.h>

static unsigned transcribe(json_t *value, struct buffer *out)
{
	unsigned depth = 0, inner;
	const char *name;
	size_t length, index;
	json_t *entry;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		buffer_format(out, "o%zu ", json_object_size(value));
		json_object_keylen_foreach(value, name, length, entry)
		{
			buffer_format(out, "k%zu:", length);
			buffer_add(out, name, length);
			inner = transcribe(entry, out);
			depth = inner > depth ? inner : depth;
		}
		return depth + 1;
	case JSON_ARRAY:
		buffer_format(out, "a%zu ", json_array_size(value));
		json_array_foreach(value, index, entry)
		{
			inner = transcribe(entry, out);
			depth = inner > depth ? inner : depth;
		}
		return depth + 1;
	case JSON_STRING:
		buffer_format(out, "s%zu:", json_string_length(value));
		buffer_add(out, json_string_value(value), json_string_length(value));
		return 0;
	case JSON_INTEGER:
		buffer_format(out, "i%lld ", (long long)json_integer_value(value));
		return 0;
	case JSON_REAL: buffer_format(out, "r%a ", json_real_value(value)); return 0;
	case JSON_TRUE: buffer_add_char(out, 't'); return 0;
	case JSON_FALSE: buffer_add_char(out, 'f'); return 0;
	case JSON_NULL: buffer_add_char(out, 'n'); return 0;
	}
	return 0;
}

enum json_oracle_verdict json_oracle_parse(const void *data, size_t size, struct buffer *transcript,
	unsigned *ret_depth)
{
	json_error_t error;
	json_t *value;

	/* No JSON text has a NUL byte in it, but jansson passes over one behind a number. */
	if (memchr(data, '\0', size))
		return JSON_ORACLE_REFUSED;
	value = json_loadb(data, size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
		&error);
	if (!value) {
		enum json_error_code code = json_error_code(&error);

		return code == json_error_numeric_overflow || code == json_error_null_byte_in_key
			       ? JSON_ORACLE_UNABLE
			       : JSON_ORACLE_REFUSED;
	}
	*ret_depth = transcribe(value, transcript);
	json_decref(value);
	return JSON_ORACLE_ACCEPTED;
}
