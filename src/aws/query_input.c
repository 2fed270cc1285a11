/*
 * Forms into input. The walk goes along the shape and the sorted keys together: at each step it has the
 * pairs whose keys begin alike, and the place where their keys go on.
 */
#include "aws/query.h"
#include "aws/shape_scalar.h"
#include "base/json_collect.h"
#include "base/memory.h"

struct reading {
	const struct shape_service *service;
	const struct query_pair *pairs;
	struct arena *arena;
	struct json_collector collector;
	struct err *err;
};

/* Pairs [first, last) have the same key up to start, where the next segment begins. A key that is
 * shorter ends here. Never empty, but for the whole of an empty form. */
struct scope {
	size_t first, last;
	size_t start;
};

static int read_value(struct reading *reading, const struct shape *shape, struct scope scope,
	struct json **ret_value);

/* ---- messages ---- */

static int bad(struct reading *reading, const struct scope *scope, const char *what)
{
	struct span key = reading->pairs[scope->first].key;

	if (scope->start > 0 && key.length >= scope->start)
		key.length = scope->start - 1;
	return err_set(reading->err, -EINVAL, "%.*s: %s.", SPAN_ARGS(key), what);
}
#define bad(...) ERR_NEGATIVE(bad(__VA_ARGS__))

static int too_large(struct reading *reading)
{
	return err_set(reading->err, -E2BIG, "The request needs too much memory.");
}
#define too_large(...) ERR_NEGATIVE(too_large(__VA_ARGS__))

/* ---- scopes ---- */

/* Takes the pairs that have the next segment in common off the front of the scope. */
static bool take_group(const struct reading *reading, struct scope *rest, struct span *ret_segment,
	struct scope *ret_group)
{
	struct span segment;
	size_t i = rest->first;

	if (i == rest->last)
		return false;
	segment = query_form_segment(reading->pairs[i].key, rest->start);
	while (i < rest->last &&
		span_equal(segment, query_form_segment(reading->pairs[i].key, rest->start)))
		i++;
	*ret_segment = segment;
	*ret_group = (struct scope){rest->first, i, rest->start + segment.length + 1};
	rest->first = i;
	return true;
}

/* Takes off the pair whose key ends here, if there is one: "Subnets=" says that there are none. */
static int take_nothing(struct reading *reading, struct scope *scope, const char *expected)
{
	const struct query_pair *pair = &reading->pairs[scope->first];

	if (scope->start == 0 || scope->first == scope->last || pair->key.length >= scope->start)
		return 0;
	if (pair->value.length > 0)
		return bad(reading, scope, expected);
	scope->first++;
	return 0;
}

static int new_value(struct reading *reading, enum json_type type, struct json **ret_value)
{
	if (json_collect_new(&reading->collector, JSON_COLLECT_NODES, ret_value) < 0)
		return too_large(reading);
	**ret_value = (struct json){.type = type};
	return 0;
}

/* ---- kinds of values ---- */

static int read_scalar(struct reading *reading, const struct shape *shape, struct scope scope,
	struct json **ret_value)
{
	const struct query_pair *pair = &reading->pairs[scope.first];
	const char *expected;
	struct json *value;
	int code;

	if (scope.last - scope.first > 1 || pair->key.length >= scope.start)
		return bad(reading, &scope, "has no members");
	code = new_value(reading, JSON_NULL, &value);
	if (code < 0)
		return code;
	expected = shape_scalar_read(shape, pair->value, reading->arena, value);
	if (expected)
		return err_set(reading->err, -EINVAL, "%.*s: expected %s.", SPAN_ARGS(pair->key),
			expected);
	*ret_value = value;
	return 0;
}

/* Calls each for 1, 2, 3, …, which is the order the pairs are in. */
static int each_number(struct reading *reading, struct scope scope,
	int (*each)(struct reading *reading, const struct shape *shape, struct scope group),
	const struct shape *shape)
{
	struct span segment;
	struct scope group;
	uint64_t number;

	for (uint64_t next = 1; take_group(reading, &scope, &segment, &group); next++) {
		int code;

		if (!span_to_unsigned(segment, next, &number) || number != next ||
			segment.data[0] == '0')
			return bad(reading, &group,
				"items must be numbered 1, 2, 3, … without gaps");
		code = each(reading, shape, group);
		if (code < 0)
			return code;
	}
	return 0;
}

/* The numbers of a list or map are behind its own key, or, mostly, behind that and one more word. */
static int read_numbered(struct reading *reading, struct scope scope, struct span word,
	int (*each)(struct reading *reading, const struct shape *shape, struct scope group),
	const struct shape *shape)
{
	struct span segment;
	struct scope group;
	int code = take_nothing(reading, &scope, "expected items, not text");

	if (code < 0 || scope.first == scope.last)
		return code;
	if (shape->flags & SHAPE_FLATTENED)
		return each_number(reading, scope, each, shape);
	take_group(reading, &scope, &segment, &group);
	if (!span_equal(segment, word) || scope.first != scope.last)
		return err_set(reading->err, -EINVAL, "%.*s: '%.*s' must follow here.",
			(int)scope.start - 1, reading->pairs[group.first].key.data,
			SPAN_ARGS(word));
	code = take_nothing(reading, &group, "expected items, not text");
	return code < 0 ? code : each_number(reading, group, each, shape);
}

static int add_item(struct reading *reading, const struct shape *shape, struct scope group)
{
	struct json *item;
	int code = read_value(reading, &reading->service->shapes[shape->element], group, &item);

	if (code == 0)
		json_collect_add(&reading->collector, SPAN_NONE, item);
	return code;
}

static int read_list(struct reading *reading, const struct shape *shape, struct scope scope,
	struct json **ret_value)
{
	size_t first = json_collect_open(&reading->collector);
	int code = read_numbered(reading, scope, query_item_name(reading->service, shape), add_item,
		shape);

	if (code == 0)
		code = new_value(reading, JSON_ARRAY, ret_value);
	if (code < 0)
		return code;
	if (json_collect_close_array(&reading->collector, first, *ret_value) < 0)
		return too_large(reading);
	return 0;
}

static int add_entry(struct reading *reading, const struct shape *shape, struct scope group)
{
	const struct shape *shapes = reading->service->shapes;
	struct json *key = NULL, *value = NULL;
	struct scope rest = group, part;
	struct span segment;
	int code = take_nothing(reading, &rest, "expected a key and a value, not text");

	while (code == 0 && take_group(reading, &rest, &segment, &part)) {
		if (span_is(segment, "key"))
			code = read_value(reading, &shapes[shape->key], part, &key);
		else if (span_is(segment, "value"))
			code = read_value(reading, &shapes[shape->element], part, &value);
	}
	if (code < 0)
		return code;
	if (!key || !value)
		return bad(reading, &group, key ? "has no value" : "has no key");
	json_collect_add(&reading->collector, key->text, value);
	return 0;
}

static int close_object(struct reading *reading, const struct scope *scope, size_t first,
	struct json **ret_value)
{
	const struct json_member *duplicate;
	int code = new_value(reading, JSON_OBJECT, ret_value);

	if (code < 0)
		return code;
	code = json_collect_close_object(&reading->collector, first, *ret_value, &duplicate);
	if (code == -EEXIST)
		return bad(reading, scope, "has two entries with the same key");
	return code < 0 ? too_large(reading) : 0;
}

static int read_map(struct reading *reading, const struct shape *shape, struct scope scope,
	struct json **ret_value)
{
	size_t first = json_collect_open(&reading->collector);
	int code = read_numbered(reading, scope, SPAN("entry"), add_entry, shape);

	return code < 0 ? code : close_object(reading, &scope, first, ret_value);
}

static int read_structure(struct reading *reading, const struct shape *shape, struct scope scope,
	struct json **ret_value)
{
	const struct shape_service *service = reading->service;
	size_t first = json_collect_open(&reading->collector);
	struct scope rest = scope, group;
	struct span segment;
	int code = take_nothing(reading, &rest, "expected members, not text");

	while (code == 0 && take_group(reading, &rest, &segment, &group)) {
		const struct shape_member *member = query_find_member(service, shape, segment);
		struct json *value;

		if (!member)
			continue;
		code = read_value(reading, &service->shapes[member->shape], group, &value);
		if (code == 0)
			json_collect_add(&reading->collector, shape_text(service, member->name),
				value);
	}
	return code < 0 ? code : close_object(reading, &scope, first, ret_value);
}

static int read_value(struct reading *reading, const struct shape *shape, struct scope scope,
	struct json **ret_value)
{
	switch (shape->type) {
	case SHAPE_LIST: return read_list(reading, shape, scope, ret_value);
	case SHAPE_MAP: return read_map(reading, shape, scope, ret_value);
	case SHAPE_STRUCTURE: return read_structure(reading, shape, scope, ret_value);
	default: return read_scalar(reading, shape, scope, ret_value);
	}
}

int query_read_input(const struct shape_service *service, const struct shape_operation *operation,
	const struct query_form *form, struct arena *arena, struct json **ret_input,
	struct err *err)
{
	struct reading reading = {
		.service = service, .pairs = form->pairs, .arena = arena, .err = err};
	struct scope all = {.last = form->count};
	struct json *input;
	int code;

	json_collect_begin(&reading.collector, arena);
	code = read_structure(&reading, &service->shapes[operation->input], all, &input);
	json_collect_end(&reading.collector);
	if (code < 0)
		return code;
	*ret_input = input;
	return 0;
}
