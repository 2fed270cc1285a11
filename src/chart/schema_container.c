/* Keywords of arrays and of objects. */
#include "chart/schema_apply.h"

#include <stdlib.h>

int schema_apply_inside(struct application *a, const struct json *schema, const struct json *value,
	const struct place *place, size_t index)
{
	bool valid;
	int code;

	code = schema_apply(a, schema, value, place, NULL, a->out, a->indent, &valid);
	if (code < 0)
		return code;
	a->valid &= valid;
	if (a->evaluated)
		a->evaluated->seen[index] = true;
	return 0;
}

/* Arrays */

static int apply_to_items(struct application *a, const struct json *schemas, size_t from)
{
	bool list = schemas->type == JSON_ARRAY;

	for (size_t i = from; i < json_count(a->value); i++) {
		const struct json *schema = list ? json_item(schemas, i) : schemas;
		struct place place = {a->place, SPAN_NONE, i};
		int code;

		if (!schema)
			break;
		code = schema_apply_inside(a, schema, json_item(a->value, i), &place, i);
		if (code < 0)
			return code;
	}
	return 0;
}

static int check_items(struct application *a)
{
	bool latest = a->context->draft == DRAFT_2020;
	const struct json *items = KEYWORD(a, "items");
	const struct json *prefix = KEYWORD_SINCE(a, "prefixItems", DRAFT_2020);
	const struct json *others = schema_keyword(a, "additionalItems", DRAFT_4, DRAFT_2019);
	size_t first = 0, count = json_count(a->value);
	int code = 0;

	if (!latest && json_is(items, JSON_ARRAY)) {
		prefix = items;
		items = others;
	}
	if (prefix) {
		code = apply_to_items(a, prefix, 0);
		first = json_count(prefix);
	}
	if (code < 0 || !items)
		return code;
	if (!latest && prefix && items->type == JSON_FALSE && first < count) {
		schema_problem(a, "last %zu additionalItem(s) not allowed", count - first);
		return 0;
	}
	return apply_to_items(a, items, first);
}

int schema_check_contains(struct application *a)
{
	const struct json *contains = KEYWORD_SINCE(a, "contains", DRAFT_6);
	_buffer_ struct buffer inner = {0};
	double least = 1, most;
	size_t found = 0;

	if (!contains)
		return 0;
	json_double(KEYWORD_SINCE(a, "minContains", DRAFT_2019), &least);
	for (size_t i = 0; i < json_count(a->value); i++) {
		struct place place = {a->place, SPAN_NONE, i};
		bool valid;
		int code = schema_apply(a, contains, json_item(a->value, i), &place, NULL, &inner,
			a->indent + 1, &valid);

		if (code < 0)
			return code;
		found += valid;
		if (valid && a->evaluated && a->context->draft == DRAFT_2020)
			a->evaluated->seen[i] = true;
	}
	if (found == 0 && least > 0) {
		schema_problem(a, "no items match contains schema");
		buffer_add_span(a->out, buffer_span(&inner));
	} else if ((double)found < least) {
		schema_problem(a,
			"min %.0f items required to match contains schema, but matched %zu items",
			least, found);
	}
	if (json_double(KEYWORD_SINCE(a, "maxContains", DRAFT_2019), &most) && (double)found > most)
		schema_problem(a,
			"max %.0f items required to match contains schema, but matched %zu items",
			most, found);
	return 0;
}

static int check_unique(struct application *a)
{
	size_t count = json_count(a->value);

	if (!json_is_true(KEYWORD(a, "uniqueItems")))
		return 0;
	a->context->steps += count * count / 2;
	if (a->context->steps > SCHEMA_STEPS_MAX)
		return err_set(a->context->err, -E2BIG, "more than %d steps", SCHEMA_STEPS_MAX);
	for (size_t i = 1; i < count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (json_equal(json_item(a->value, i), json_item(a->value, j))) {
				schema_problem(a, "items at %zu and %zu are equal", j, i);
				return 0;
			}
		}
	}
	return 0;
}

int schema_check_array(struct application *a)
{
	int code;

	schema_check_size(a, "minItems", "maxItems", json_count(a->value));
	code = check_unique(a);
	if (code < 0)
		return code;
	code = check_items(a);
	return code < 0 ? code : schema_check_contains(a);
}

/* Objects */

static void check_required(struct application *a, const struct json *names, struct span because)
{
	_buffer_ struct buffer missing = {0};
	size_t count = 0;

	JSON_EACH_ITEM (names, name) {
		if (json_get_span(a->value, json_text(name)))
			continue;
		buffer_format(&missing, "%s'%.*s'", count++ > 0 ? ", " : "",
			SPAN_ARGS(json_text(name)));
	}
	if (count == 0)
		return;
	if (because.data)
		schema_problem(a, "properties %s required, if '%.*s' exists", missing.data,
			SPAN_ARGS(because));
	else
		schema_problem(a, "missing propert%s %s", count > 1 ? "ies" : "y", missing.data);
}

static int check_dependencies(struct application *a, const struct json *dependencies)
{
	for (uint32_t i = 0; i < json_count(dependencies); i++) {
		const struct json_member *member = &dependencies->object.members[i];
		bool valid;
		int code;

		if (!json_get_span(a->value, member->name))
			continue;
		if (member->value->type == JSON_ARRAY) {
			check_required(a, member->value, member->name);
			continue;
		}
		code = schema_apply_in_place(a, member->value, a->out, a->indent, &valid);
		if (code < 0)
			return code;
		a->valid &= valid;
	}
	return 0;
}

/* properties and patternProperties for one member. */
static int check_member(struct application *a, uint32_t index, const struct place *place,
	bool *ret_known)
{
	const struct json_member *member = &a->value->object.members[index];
	const struct json *schema = json_get_span(KEYWORD(a, "properties"), member->name);
	const struct json *by_pattern = KEYWORD(a, "patternProperties");
	bool known = schema != NULL, found;
	int code = 0;

	if (schema)
		code = schema_apply_inside(a, schema, member->value, place, index);
	for (uint32_t i = 0; code == 0 && i < json_count(by_pattern); i++) {
		const struct json_member *row = &by_pattern->object.members[i];

		code = schema_matches(a, row->name, member->name, &found);
		if (code < 0 || !found)
			continue;
		known = true;
		code = schema_apply_inside(a, row->value, member->value, place, index);
	}
	*ret_known = known;
	return code;
}

static int check_members(struct application *a)
{
	const struct json *others = KEYWORD(a, "additionalProperties");
	_buffer_ struct buffer unknown = {0};
	size_t count = 0;

	for (uint32_t i = 0; i < json_count(a->value); i++) {
		const struct json_member *member = &a->value->object.members[i];
		struct place place = {a->place, member->name, 0};
		bool known;
		int code;

		code = check_member(a, i, &place, &known);
		if (code < 0)
			return code;
		if (known || !others)
			continue;
		if (others->type == JSON_FALSE) {
			if (count++ > 0)
				buffer_add_string(&unknown, ", ");
			schema_add_names(&unknown, &member->name, 1);
			continue;
		}
		code = schema_apply_inside(a, others, member->value, &place, i);
		if (code < 0)
			return code;
	}
	if (count > 0)
		schema_problem(a, "additional properties %s not allowed", unknown.data);
	return 0;
}

int schema_check_names(struct application *a)
{
	const struct json *names = KEYWORD_SINCE(a, "propertyNames", DRAFT_6);

	for (uint32_t i = 0; names && i < json_count(a->value); i++) {
		struct span name = a->value->object.members[i].name;
		struct json value = {.type = JSON_STRING, .text = name};
		_buffer_ struct buffer inner = {0};
		bool valid;
		int code =
			schema_apply(a, names, &value, NULL, NULL, &inner, a->indent + 1, &valid);

		if (code < 0)
			return code;
		if (valid)
			continue;
		schema_begin_problem(a, NULL);
		buffer_format(a->out, "invalid propertyName '%.*s'\n", SPAN_ARGS(name));
		buffer_add_span(a->out, buffer_span(&inner));
	}
	return 0;
}

int schema_check_object(struct application *a)
{
	int code;

	schema_check_size(a, "minProperties", "maxProperties", json_count(a->value));
	check_required(a, KEYWORD(a, "required"), SPAN_NONE);
	code = check_dependencies(a, KEYWORD(a, "dependencies"));
	if (code == 0)
		code = check_dependencies(a, KEYWORD_SINCE(a, "dependentRequired", DRAFT_2019));
	if (code == 0)
		code = check_dependencies(a, KEYWORD_SINCE(a, "dependentSchemas", DRAFT_2019));
	if (code == 0)
		code = check_members(a);
	return code < 0 ? code : schema_check_names(a);
}
