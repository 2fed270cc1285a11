/* Sprig's lists. Each function has a twin `must…` that fails the same way. */
#include "chart/function.h"

static int need_list(struct run *run, const char *name, struct value value)
{
	if (value.kind == VALUE_LIST || value.kind == VALUE_BYTES)
		return 0;
	return run_fail(run, "%s: expected a list, got %s", name,
		value_is_absent(value) ? "nil" : value_type_name(value));
}

static size_t count_of(struct value list)
{
	return (size_t)value_length(list);
}

static int list_list(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value *items;

	*ret_value = value_new_list(run->arena, TYPE_LIST, count, &items);
	if (count)
		memcpy(items, arguments, count * sizeof(*items));
	return 0;
}

/* A copy with room before and behind. */
static struct value extended(struct run *run, struct value list, size_t before, size_t behind,
	struct value **ret_items)
{
	size_t count = count_of(list);
	struct value result =
		value_new_list(run->arena, TYPE_LIST, before + count + behind, ret_items);

	for (size_t i = 0; i < count; i++)
		(*ret_items)[before + i] = value_item(list, i);
	return result;
}

static int list_append(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value *items;
	int code = need_list(run, "append", arguments[0]);

	(void)count;
	if (code < 0)
		return code;
	*ret_value = extended(run, arguments[0], 0, 1, &items);
	items[count_of(arguments[0])] = arguments[1];
	return 0;
}

static int list_prepend(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value *items;
	int code = need_list(run, "prepend", arguments[0]);

	(void)count;
	if (code < 0)
		return code;
	*ret_value = extended(run, arguments[0], 1, 0, &items);
	items[0] = arguments[1];
	return 0;
}

static int list_concat(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value *items;
	size_t total = 0;

	for (size_t i = 0; i < count; i++) {
		int code = need_list(run, "concat", arguments[i]);

		if (code < 0)
			return code;
		total += count_of(arguments[i]);
	}
	if (total == 0) {
		*ret_value = value_nil_list(run->arena, TYPE_LIST);
		return 0;
	}
	*ret_value = value_new_list(run->arena, TYPE_LIST, total, &items);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count_of(arguments[i]); j++)
			*items++ = value_item(arguments[i], j);
	return run_reserve(run, 0);
}

static int list_first(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int code = need_list(run, "first", arguments[0]);

	(void)count;
	if (code == 0)
		*ret_value = count_of(arguments[0]) ? value_item(arguments[0], 0) : value_nil();
	return code;
}

static int list_last(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int code = need_list(run, "last", arguments[0]);

	(void)count;
	if (code == 0)
		*ret_value = count_of(arguments[0])
				     ? value_item(arguments[0], count_of(arguments[0]) - 1)
				     : value_nil();
	return code;
}

/* Items from `begin` up to `end`. */
static struct value part(struct run *run, struct value list, size_t begin, size_t end)
{
	struct value *items;
	struct value result = value_new_list(run->arena, TYPE_LIST, end - begin, &items);

	for (size_t i = begin; i < end; i++)
		items[i - begin] = value_item(list, i);
	return result;
}

static int list_rest(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int code = need_list(run, "rest", arguments[0]);

	(void)count;
	if (code < 0)
		return code;
	*ret_value = count_of(arguments[0]) ? part(run, arguments[0], 1, count_of(arguments[0]))
					    : value_nil_list(run->arena, TYPE_LIST);
	return 0;
}

static int list_initial(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int code = need_list(run, "initial", arguments[0]);

	(void)count;
	if (code < 0)
		return code;
	*ret_value = count_of(arguments[0]) ? part(run, arguments[0], 0, count_of(arguments[0]) - 1)
					    : value_nil_list(run->arena, TYPE_LIST);
	return 0;
}

static int list_reverse(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value *items;
	size_t length;
	int code = need_list(run, "reverse", arguments[0]);

	(void)count;
	if (code < 0)
		return code;
	length = count_of(arguments[0]);
	*ret_value = value_new_list(run->arena, TYPE_LIST, length, &items);
	for (size_t i = 0; i < length; i++)
		items[length - i - 1] = value_item(arguments[0], i);
	return 0;
}

static bool contains(const struct value *items, size_t count, struct value value)
{
	for (size_t i = 0; i < count; i++)
		if (value_equal_deep(items[i], value))
			return true;
	return false;
}

static int list_compact(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value *items;
	size_t kept = 0;
	int code = need_list(run, "compact", arguments[0]);

	(void)count;
	if (code < 0)
		return code;
	items = arena_allocate_array(run->arena, count_of(arguments[0]) + 1, sizeof(*items));
	for (size_t i = 0; i < count_of(arguments[0]); i++)
		if (value_truth(value_item(arguments[0], i)))
			items[kept++] = value_item(arguments[0], i);
	*ret_value = value_list_over(run->arena, TYPE_LIST, items, kept);
	return 0;
}

static int list_uniq(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value *items;
	size_t kept = 0;
	int code = need_list(run, "uniq", arguments[0]);

	(void)count;
	if (code < 0)
		return code;
	items = arena_allocate_array(run->arena, count_of(arguments[0]) + 1, sizeof(*items));
	for (size_t i = 0; i < count_of(arguments[0]); i++)
		if (!contains(items, kept, value_item(arguments[0], i)))
			items[kept++] = value_item(arguments[0], i);
	*ret_value = value_list_over(run->arena, TYPE_LIST, items, kept);
	return 0;
}

static int list_without(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value *items;
	size_t kept = 0;
	int code = need_list(run, "without", arguments[0]);

	if (code < 0)
		return code;
	items = arena_allocate_array(run->arena, count_of(arguments[0]) + 1, sizeof(*items));
	for (size_t i = 0; i < count_of(arguments[0]); i++)
		if (!contains(arguments + 1, count - 1, value_item(arguments[0], i)))
			items[kept++] = value_item(arguments[0], i);
	*ret_value = value_list_over(run->arena, TYPE_LIST, items, kept);
	return 0;
}

static int list_has(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	bool found = false;
	int code;

	(void)count;
	*ret_value = value_bool(false);
	if (value_is_absent(arguments[1]))
		return 0;
	code = need_list(run, "has", arguments[1]);
	if (code < 0)
		return code;
	for (size_t i = 0; i < count_of(arguments[1]) && !found; i++)
		found = value_equal_deep(arguments[0], value_item(arguments[1], i));
	*ret_value = value_bool(found);
	return 0;
}

static int list_slice(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int64_t begin, end, length;
	int code = need_list(run, "slice", arguments[0]);

	if (code < 0)
		return code;
	length = value_length(arguments[0]);
	*ret_value = value_nil();
	if (length == 0)
		return 0;
	begin = count > 1 ? function_integer(arguments[1]) : 0;
	end = count > 2 ? function_integer(arguments[2]) : length;
	if (begin < 0 || end > length || begin > end)
		return run_fail(run, "slice: slice bounds out of range [%lld:%lld]",
			(long long)begin, (long long)end);
	if (arguments[0].kind == VALUE_BYTES) {
		*ret_value = value_bytes((struct span){
			arguments[0].text.data + begin, (size_t)(end - begin)});
		return 0;
	}
	*ret_value = part(run, arguments[0], (size_t)begin, (size_t)end);
	ret_value->type = arguments[0].type;
	return 0;
}

static int list_chunk(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int64_t size = arguments[0].integer;
	struct value *items;
	size_t length, chunks;
	int code = need_list(run, "chunk", arguments[1]);

	(void)count;
	if (code < 0)
		return code;
	length = count_of(arguments[1]);
	/* Sprig's formula accepts negative sizes for a few lengths. */
	if (size == 0 || (size < 0 && (length == 0 || (int64_t)length > 1 - size)) ||
		(size == -1 && length == 1))
		return run_fail(run, "chunk: size must be positive");
	if (size < 0)
		size = 1;
	chunks = length == 0 ? 0 : (length - 1) / (size_t)size + 1;
	if (arguments[0].integer < 0 && length > 1)
		chunks = 0;
	*ret_value = value_new_list(run->arena, TYPE_LISTS, chunks, &items);
	for (size_t i = 0; i < chunks; i++) {
		size_t begin = i * (size_t)size;
		size_t end = begin + (size_t)size < length ? begin + (size_t)size : length;

		items[i] = part(run, arguments[1], begin, end);
	}
	return 0;
}

static const struct function rows[] = {
	{"append", "aa", list_append, false},
	{"chunk", "ia", list_chunk, false},
	{"compact", "a", list_compact, false},
	{"concat", "a*", list_concat, false},
	{"first", "a", list_first, false},
	{"has", "aa", list_has, false},
	{"initial", "a", list_initial, false},
	{"last", "a", list_last, false},
	{"list", "a*", list_list, false},
	{"mustAppend", "aa", list_append, false},
	{"mustChunk", "ia", list_chunk, false},
	{"mustCompact", "a", list_compact, false},
	{"mustFirst", "a", list_first, false},
	{"mustHas", "aa", list_has, false},
	{"mustInitial", "a", list_initial, false},
	{"mustLast", "a", list_last, false},
	{"mustPrepend", "aa", list_prepend, false},
	{"mustPush", "aa", list_append, false},
	{"mustRest", "a", list_rest, false},
	{"mustReverse", "a", list_reverse, false},
	{"mustSlice", "aa*", list_slice, false},
	{"mustUniq", "a", list_uniq, false},
	{"mustWithout", "aa*", list_without, false},
	{"prepend", "aa", list_prepend, false},
	{"push", "aa", list_append, false},
	{"rest", "a", list_rest, false},
	{"reverse", "a", list_reverse, false},
	{"slice", "aa*", list_slice, false},
	{"tuple", "a*", list_list, false},
	{"uniq", "a", list_uniq, false},
	{"without", "aa*", list_without, false},
};

const struct function_table functions_list = {rows, LENGTH(rows)};
