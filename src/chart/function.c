/* Finds functions by name, and what their tables share; see function.h. */
#include "chart/function.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "chart/number.h"

static const struct function_table *const tables[] = {&functions_compare, &functions_convert,
	&functions_core, &functions_crypto, &functions_date, &functions_dict, &functions_list,
	&functions_math, &functions_reflect, &functions_regex, &functions_semver, &functions_string,
	&functions_text, &functions_url};

/* Power of two, at least twice the number of functions. */
#define INDEX_SIZE 1024

static const struct function *function_index[INDEX_SIZE];
static pthread_once_t index_once = PTHREAD_ONCE_INIT;

static size_t place_of(struct span name)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < name.length; i++)
		hash = (hash ^ (unsigned char)name.data[i]) * 16777619U;
	return hash & (INDEX_SIZE - 1);
}

static void build_index(void)
{
	for (size_t t = 0; t < LENGTH(tables); t++)
		for (size_t i = 0; i < tables[t]->count; i++) {
			size_t place = place_of(span_of(tables[t]->rows[i].name));

			while (function_index[place])
				place = (place + 1) & (INDEX_SIZE - 1);
			function_index[place] = &tables[t]->rows[i];
		}
}

const struct function *function_find(struct span name)
{
	pthread_once(&index_once, build_index);
	for (size_t place = place_of(name); function_index[place];
		place = (place + 1) & (INDEX_SIZE - 1))
		if (span_is(name, function_index[place]->name))
			return function_index[place];
	return NULL;
}

struct buffer function_buffer(struct run *run)
{
	size_t used = arena_used(run->arena);

	return BUFFER_WITH_CAP(used < RUN_MEMORY_MAX ? RUN_MEMORY_MAX - used + 1 : 1);
}

int function_return(struct run *run, struct buffer *buffer, struct value *ret_value)
{
	int code = buffer->failed
			   ? run_fail(run, "text too large (limit %zu MB)", RUN_MEMORY_MAX >> 20)
			   : run_reserve(run, buffer->length);

	if (code < 0)
		return code;
	*ret_value = value_string(arena_copy_span(run->arena, buffer_span(buffer)));
	return 0;
}

struct span function_text(struct run *run, struct value value)
{
	_buffer_ struct buffer text = function_buffer(run);

	if (value.kind == VALUE_STRING || value.kind == VALUE_BYTES)
		return value.text;
	if (value_is_absent(value))
		return SPAN("<nil>");
	format_value(run, value, &text);
	return arena_copy_span(run->arena, buffer_span(&text));
}

/* cast.ToInt64 of text: a fraction of zeros is ignored, prefixes such as 0x count. */
static int64_t integer_of_text(struct span text)
{
	const char *point = text.length ? memchr(text.data, '.', text.length) : NULL;
	int64_t integer;

	if (point) {
		size_t end = (size_t)(point - text.data);
		bool zeros = true;

		for (size_t i = end + 1; i < text.length; i++)
			zeros &= text.data[i] == '0';
		if (zeros)
			text.length = end;
	}
	return number_parse_integer(text, 0, &integer) ? integer : 0;
}

int64_t function_integer(struct value value)
{
	switch ((enum value_kind)value.kind) {
	case VALUE_BOOL: return value.boolean;
	case VALUE_INTEGER: return value.integer;
	case VALUE_FLOAT:
		if (isnan(value.number) || value.number >= 9223372036854775808.0 ||
			value.number < -9223372036854775808.0)
			return INT64_MIN;
		return (int64_t)value.number;
	case VALUE_STRING: return integer_of_text(value.text);
	default: return 0;
	}
}

double function_float(struct value value)
{
	switch ((enum value_kind)value.kind) {
	case VALUE_BOOL: return value.boolean;
	case VALUE_INTEGER: return (double)value.integer;
	case VALUE_FLOAT: return value.number;
	case VALUE_STRING: return number_parse_float(value.text);
	default: return 0;
	}
}
