/* Sprig's text functions that cut, join, pad and search. */
#include <stdio.h>
#include <stdlib.h>

#include "chart/function.h"
#include "chart/number.h"
#include "chart/text.h"

/* Most functions are the same but for one expression over the text arguments a, b and c. */
#define STRING_FUNCTION(name, expression)                                                          \
	static int name(struct run *run, const struct value *arguments, size_t count,              \
		struct value *ret_value)                                                           \
	{                                                                                          \
		struct span a = arguments[0].text, b = count > 1 ? arguments[1].text : a;          \
                                                                                                   \
		(void)run;                                                                         \
		(void)b;                                                                           \
		*ret_value = (expression);                                                         \
		return 0;                                                                          \
	}

static struct span cut_prefix(struct span text, struct span prefix)
{
	if (!span_starts_with(text, prefix))
		return text;
	return (struct span){text.data + prefix.length, text.length - prefix.length};
}

static struct span cut_suffix(struct span text, struct span suffix)
{
	if (span_ends_with(text, suffix))
		text.length -= suffix.length;
	return text;
}

STRING_FUNCTION(string_trim, value_string(text_trim_space(a)))
STRING_FUNCTION(string_trim_all, value_string(text_trim(b, a, true, true)))
STRING_FUNCTION(string_trim_prefix, value_string(cut_prefix(b, a)))
STRING_FUNCTION(string_trim_suffix, value_string(cut_suffix(b, a)))
STRING_FUNCTION(string_contains, value_bool(text_find(b, a, 0) >= 0))
STRING_FUNCTION(string_has_prefix, value_bool(span_starts_with(b, a)))
STRING_FUNCTION(string_has_suffix, value_bool(span_ends_with(b, a)))

static int string_repeat(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int64_t times = arguments[0].integer;
	struct span text = arguments[1].text;
	char *out;
	int code;

	(void)count;
	if (times < 0)
		return run_fail(run, "repeat: negative count");
	if (text.length == 0 || times == 0) {
		*ret_value = value_string(SPAN(""));
		return 0;
	}
	code = (uint64_t)times > RUN_MEMORY_MAX / text.length
		       ? run_fail(run, "repeat: text too large (limit %zu MB)",
				 RUN_MEMORY_MAX >> 20)
		       : run_reserve(run, (size_t)times * text.length);
	if (code < 0)
		return code;
	out = arena_allocate(run->arena, (size_t)times * text.length);
	for (int64_t i = 0; i < times; i++)
		memcpy(out + (size_t)i * text.length, text.data, text.length);
	*ret_value = value_string((struct span){out, (size_t)times * text.length});
	return 0;
}

static int string_trunc(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int64_t width = arguments[0].integer;
	struct span text = arguments[1].text;
	int64_t length = (int64_t)text.length;

	(void)run;
	(void)count;
	if (width < 0 && width > -length)
		text = (struct span){text.data + length + width, (size_t)-width};
	else if (width >= 0 && length > width)
		text.length = (size_t)width;
	*ret_value = value_string(text);
	return 0;
}

static int string_substr(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int64_t start = arguments[0].integer, end = arguments[1].integer;
	struct span text = arguments[2].text;
	int64_t length = (int64_t)text.length;

	(void)count;
	if (start < 0)
		start = 0;
	else if (end < 0 || end > length)
		end = length;
	if (start > end || end > length || end < 0)
		return run_fail(run, "substr: slice bounds out of range [%lld:%lld]",
			(long long)start, (long long)end);
	*ret_value = value_string((struct span){text.data + start, (size_t)(end - start)});
	return 0;
}

/* ---- quoting and joining ------------------------------------------------------------------------- */

static int string_quote(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);

	for (size_t i = 0; i < count; i++) {
		if (value_is_absent(arguments[i]))
			continue;
		if (out.length)
			buffer_add_char(&out, ' ');
		text_quote(&out, function_text(run, arguments[i]), false);
	}
	return function_return(run, &out, ret_value);
}

static int string_squote(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);

	for (size_t i = 0; i < count; i++) {
		if (value_is_absent(arguments[i]))
			continue;
		if (out.length)
			buffer_add_char(&out, ' ');
		buffer_add_char(&out, '\'');
		format_value(run, arguments[i], &out);
		buffer_add_char(&out, '\'');
	}
	return function_return(run, &out, ret_value);
}

static int string_cat(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	bool first = true;

	for (size_t i = 0; i < count; i++) {
		if (value_is_absent(arguments[i]))
			continue;
		if (!first)
			buffer_add_char(&out, ' ');
		format_value(run, arguments[i], &out);
		first = false;
	}
	return function_return(run, &out, ret_value);
}

static int indent_text(struct run *run, const struct value *arguments, bool new_line,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	int64_t spaces = arguments[0].integer;
	struct span text = arguments[1].text;
	size_t begin = 0;

	if (spaces < 0)
		return run_fail(run, "indent: negative count");
	if ((uint64_t)spaces > RUN_MEMORY_MAX)
		return run_fail(run, "indent: too many spaces");
	if (new_line)
		buffer_add_char(&out, '\n');
	for (;;) {
		int64_t end = text_find(text, SPAN("\n"), begin);
		size_t stop = end < 0 ? text.length : (size_t)end + 1;
		char *room = buffer_reserve(&out, (size_t)spaces + 1);

		if (!room)
			break;
		memset(room, ' ', (size_t)spaces);
		out.length += (size_t)spaces;
		buffer_add(&out, text.data + begin, stop - begin);
		if (end < 0)
			break;
		begin = stop;
	}
	return function_return(run, &out, ret_value);
}

static int string_indent(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return indent_text(run, arguments, false, ret_value);
}

static int string_nindent(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return indent_text(run, arguments, true, ret_value);
}

static int string_replace(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct span old = arguments[0].text, new = arguments[1].text, text = arguments[2].text;
	size_t from = 0, length;
	int64_t found;

	(void)count;
	if (old.length == 0) {
		/* Before every character and at the end. */
		buffer_add_span(&out, new);
		for (; from < text.length; from += length) {
			text_decode((struct span){text.data + from, text.length - from}, &length);
			buffer_add(&out, text.data + from, length);
			buffer_add_span(&out, new);
		}
		return function_return(run, &out, ret_value);
	}
	while ((found = text_find(text, old, from)) >= 0) {
		buffer_add(&out, text.data + from, (size_t)found - from);
		buffer_add_span(&out, new);
		from = (size_t)found + old.length;
	}
	buffer_add(&out, text.data + from, text.length - from);
	return function_return(run, &out, ret_value);
}

static int string_plural(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = arguments[arguments[2].integer == 1 ? 0 : 1];
	return 0;
}

/* ---- lists of text ------------------------------------------------------------------------------- */

/* Sprig's strslice: the texts of a list, without nil; anything else is a list of one. */
static struct value list_of_texts(struct run *run, struct value value)
{
	struct value *items, list;
	size_t count = 0;

	if (value.kind != VALUE_LIST && value.kind != VALUE_BYTES) {
		list = value_new_list(run->arena, TYPE_STRINGS, value_is_absent(value) ? 0 : 1,
			&items);
		if (!value_is_absent(value))
			items[0] = value_string(function_text(run, value));
		return list;
	}
	items = arena_allocate_array(run->arena, (size_t)value_length(value) + 1, sizeof(*items));
	for (int64_t i = 0; i < value_length(value); i++) {
		struct value item = value_item(value, (size_t)i);

		if (!value_is_absent(item))
			items[count++] = value_string(function_text(run, item));
	}
	return value_list_over(run->arena, TYPE_STRINGS, items, count);
}

static int string_join(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct value list = list_of_texts(run, arguments[1]);

	(void)count;
	for (uint32_t i = 0; i < list.list->count; i++) {
		if (i)
			buffer_add_span(&out, arguments[0].text);
		buffer_add_span(&out, list.list->items[i].text);
	}
	return function_return(run, &out, ret_value);
}

static int string_to_strings(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	*ret_value = list_of_texts(run, arguments[0]);
	return 0;
}

static int compare_texts(const void *a, const void *b)
{
	return span_compare(((const struct value *)a)->text, ((const struct value *)b)->text);
}

static int string_sort_alpha(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value list, *items;

	(void)count;
	if (value_is_absent(arguments[0])) {
		*ret_value = value_new_list(run->arena, TYPE_STRINGS, 1, &items);
		items[0] = value_string(SPAN("<nil>"));
		return 0;
	}
	list = list_of_texts(run, arguments[0]);
	if (list.list->count > 1)
		qsort(list.list->items, list.list->count, sizeof(struct value), compare_texts);
	*ret_value = list;
	return 0;
}

/* strings.SplitN; limit -1: all parts. */
static struct value split_text(struct run *run, struct span text, struct span separator,
	int64_t limit)
{
	struct value *items;
	size_t count = 0, capacity = 1, from = 0, length;

	if (limit == 0)
		return value_list_over(run->arena, TYPE_STRINGS, NULL, 0);
	if (separator.length == 0)
		capacity = text_count(text) + 1;
	else
		for (int64_t found = 0; (found = text_find(text, separator, (size_t)found)) >= 0;
			found += (int64_t)separator.length)
			capacity++;
	items = arena_allocate_array(run->arena, capacity, sizeof(*items));
	if (separator.length == 0) {
		for (; from < text.length && (limit < 0 || (int64_t)count < limit - 1);
			from += length) {
			text_decode((struct span){text.data + from, text.length - from}, &length);
			items[count++] = value_string((struct span){text.data + from, length});
		}
		if (from < text.length)
			items[count++] =
				value_string((struct span){text.data + from, text.length - from});
		return value_list_over(run->arena, TYPE_STRINGS, items, count);
	}
	while (limit < 0 || (int64_t)count < limit - 1) {
		int64_t found = text_find(text, separator, from);

		if (found < 0)
			break;
		items[count++] =
			value_string((struct span){text.data + from, (size_t)found - from});
		from = (size_t)found + separator.length;
	}
	items[count++] = value_string((struct span){text.data + from, text.length - from});
	return value_list_over(run->arena, TYPE_STRINGS, items, count);
}

static int string_split_list(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	*ret_value = split_text(run, arguments[1].text, arguments[0].text, -1);
	return run_reserve(run, 0);
}

static struct value numbered_parts(struct run *run, struct value list)
{
	struct value_map *map = value_map_new(run->arena, list.list->count);
	struct value result = value_of_map(map);

	for (uint32_t i = 0; i < list.list->count; i++)
		value_map_set(run->arena, map, arena_format(run->arena, "_%u", i),
			list.list->items[i]);
	result.type = TYPE_STRING_MAP;
	return result;
}

static int string_split(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	*ret_value = numbered_parts(run, split_text(run, arguments[1].text, arguments[0].text, -1));
	return run_reserve(run, 0);
}

static int string_splitn(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	*ret_value = numbered_parts(run,
		split_text(run, arguments[2].text, arguments[0].text, arguments[1].integer));
	return run_reserve(run, 0);
}

static int string_to_string(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	*ret_value = value_string(function_text(run, arguments[0]));
	return 0;
}

static const struct function rows[] = {
	{"cat", "a*", string_cat, false},
	{"contains", "ss", string_contains, false},
	{"hasPrefix", "ss", string_has_prefix, false},
	{"hasSuffix", "ss", string_has_suffix, false},
	{"indent", "is", string_indent, false},
	{"join", "sa", string_join, false},
	{"nindent", "is", string_nindent, false},
	{"plural", "ssi", string_plural, false},
	{"quote", "a*", string_quote, false},
	{"repeat", "is", string_repeat, false},
	{"replace", "sss", string_replace, false},
	{"sortAlpha", "a", string_sort_alpha, false},
	{"split", "ss", string_split, false},
	{"splitList", "ss", string_split_list, false},
	{"splitn", "sis", string_splitn, false},
	{"squote", "a*", string_squote, false},
	{"substr", "iis", string_substr, false},
	{"toString", "a", string_to_string, false},
	{"toStrings", "a", string_to_strings, false},
	{"trim", "s", string_trim, false},
	{"trimAll", "ss", string_trim_all, false},
	{"trimPrefix", "ss", string_trim_prefix, false},
	{"trimSuffix", "ss", string_trim_suffix, false},
	{"trimall", "ss", string_trim_all, false},
	{"trunc", "is", string_trunc, false},
};

const struct function_table functions_string = {rows, LENGTH(rows)};
