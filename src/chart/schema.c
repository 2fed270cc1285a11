/*
 * A schema applied to a value, keyword by keyword. Problems are written as the library in Helm 4 writes
 * them, each on a line, with the problems of alternatives indented below them.
 */
#include "chart/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "chart/schema_parts.h"

/* A position in the value. */
struct place {
	const struct place *outer;
	struct span name; /* of a member; none for an item */
	size_t index;
};

/* Members or items that some keyword has applied a schema to, for the unevaluated… keywords. */
struct evaluated {
	bool *seen;
	size_t count;
};

struct application {
	struct schema_context *context;
	const struct json *schema;
	const struct json *resource;
	const struct json *value;
	const struct place *place;
	struct evaluated *evaluated;
	struct buffer *out;
	unsigned indent;
	unsigned depth;
	bool valid;
};

static int apply(const struct application *outer, const struct json *schema,
	const struct json *value, const struct place *place, struct evaluated *evaluated,
	struct buffer *out, unsigned indent, bool *ret_valid);

/* Problems */

static void write_place(const struct place *place, struct buffer *out)
{
	if (!place)
		return;
	write_place(place->outer, out);
	buffer_add_char(out, '/');
	if (!place->name.data) {
		buffer_add_unsigned(out, place->index);
		return;
	}
	for (size_t i = 0; i < place->name.length; i++) {
		char c = place->name.data[i];

		if (c == '~' || c == '/')
			buffer_add_string(out, c == '~' ? "~0" : "~1");
		else
			buffer_add_char(out, c);
	}
}

static void begin_problem(struct application *a, const struct place *place)
{
	a->valid = false;
	for (unsigned i = 0; i < a->indent; i++)
		buffer_add_string(a->out, "  ");
	buffer_add_string(a->out, "- at '");
	write_place(place, a->out);
	buffer_add_string(a->out, "': ");
}

__attribute__((format(printf, 2, 3))) static void problem(struct application *a, const char *format,
	...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	begin_problem(a, a->place);
	buffer_add_string(a->out, text);
	buffer_add_char(a->out, '\n');
}

static const char *type_of(const struct json *value)
{
	switch (value->type) {
	case JSON_NULL: return "null";
	case JSON_FALSE:
	case JSON_TRUE: return "boolean";
	case JSON_NUMBER: return "number";
	case JSON_STRING: return "string";
	case JSON_ARRAY: return "array";
	case JSON_OBJECT: return "object";
	}
	return "";
}

static void add_value(struct buffer *out, const struct json *value)
{
	if (value->type == JSON_NULL)
		buffer_add_string(out, "<nil>");
	else if (value->type == JSON_STRING)
		buffer_format(out, "'%.*s'", SPAN_ARGS(value->text));
	else
		json_write(value, out);
}

static void add_names(struct buffer *out, const struct span *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buffer_format(out, "%s'%.*s'", i > 0 ? ", " : "", SPAN_ARGS(names[i]));
}

/* Keywords that a draft has */

static const struct json *keyword(const struct application *a, const char *name,
	enum schema_draft first, enum schema_draft last)
{
	enum schema_draft draft = a->context->draft;

	return draft >= first && draft <= last ? json_get(a->schema, name) : NULL;
}

#define KEYWORD(a, name) json_get((a)->schema, (name))
#define KEYWORD_SINCE(a, name, first) keyword((a), (name), (first), DRAFT_2020)

/* Types, constants */

static bool is_whole(const struct json *value)
{
	double number;

	return json_double(value, &number) && floor(number) == number;
}

static bool has_type(const struct json *value, struct span type)
{
	return span_is(type, type_of(value)) || (span_is(type, "integer") && is_whole(value));
}

static bool type_matches(const struct json *types, const struct json *value)
{
	if (types->type == JSON_STRING)
		return has_type(value, types->text);
	JSON_EACH_ITEM (types, type) {
		if (has_type(value, json_text(type)))
			return true;
	}
	return false;
}

static void check_type(struct application *a)
{
	static const char *const order[] = {
		"null", "boolean", "number", "integer", "string", "array", "object"};
	const struct json *types = KEYWORD(a, "type");
	_buffer_ struct buffer wanted = {0};

	if (!types || type_matches(types, a->value))
		return;
	for (size_t i = 0; i < LENGTH(order); i++) {
		bool named = types->type == JSON_STRING && span_is(types->text, order[i]);

		JSON_EACH_ITEM (types, type)
			named |= span_is(json_text(type), order[i]);
		if (named)
			buffer_format(&wanted, "%s%s", wanted.length > 0 ? " or " : "", order[i]);
	}
	problem(a, "got %s, want %s", type_of(a->value), wanted.data ? wanted.data : "nothing");
}

static void check_constants(struct application *a)
{
	const struct json *values = KEYWORD(a, "enum"),
			  *constant = KEYWORD_SINCE(a, "const", DRAFT_6);
	_buffer_ struct buffer wanted = {0};
	bool found = false;

	if (constant && !json_equal(constant, a->value)) {
		add_value(&wanted, constant);
		if (constant->type == JSON_ARRAY || constant->type == JSON_OBJECT)
			problem(a, "'const' failed");
		else
			problem(a, "value must be %s", wanted.data);
	}
	if (!values)
		return;
	buffer_reset(&wanted);
	JSON_EACH_ITEM (values, value) {
		found |= json_equal(value, a->value);
		if (wanted.length > 0)
			buffer_add_string(&wanted, ", ");
		add_value(&wanted, value);
	}
	if (!found)
		problem(a, "value must be one of %s", wanted.data ? wanted.data : "");
}

/* Numbers */

static void check_limit(struct application *a, const char *name, const struct json *limit,
	bool (*is_wrong)(double value, double limit))
{
	double number, bound;

	if (!limit || !json_double(limit, &bound) || !json_double(a->value, &number))
		return;
	if (is_wrong(number, bound))
		problem(a, "%s: got %.*s, want %.*s", name, SPAN_ARGS(a->value->text),
			SPAN_ARGS(limit->text));
}

static bool is_less(double value, double limit)
{
	return value < limit;
}

static bool is_more(double value, double limit)
{
	return value > limit;
}

static bool is_not_more(double value, double limit)
{
	return value <= limit;
}

static bool is_not_less(double value, double limit)
{
	return value >= limit;
}

/* With room for the fractions that binary numbers cannot hold: 0.3 is a multiple of 0.1. */
static bool is_no_multiple(double value, double divisor)
{
	double quotient = value / divisor, nearest = round(quotient);

	return fabs(quotient - nearest) > 1e-9 * fmax(1, fabs(quotient));
}

static void check_number(struct application *a)
{
	bool old = a->context->draft == DRAFT_4;

	if (old && json_is_true(KEYWORD(a, "exclusiveMinimum")))
		check_limit(a, "exclusiveMinimum", KEYWORD(a, "minimum"), is_not_more);
	else
		check_limit(a, "minimum", KEYWORD(a, "minimum"), is_less);
	if (old && json_is_true(KEYWORD(a, "exclusiveMaximum")))
		check_limit(a, "exclusiveMaximum", KEYWORD(a, "maximum"), is_not_less);
	else
		check_limit(a, "maximum", KEYWORD(a, "maximum"), is_more);
	check_limit(a, "exclusiveMinimum", KEYWORD_SINCE(a, "exclusiveMinimum", DRAFT_6),
		is_not_more);
	check_limit(a, "exclusiveMaximum", KEYWORD_SINCE(a, "exclusiveMaximum", DRAFT_6),
		is_not_less);
	check_limit(a, "multipleOf", KEYWORD(a, "multipleOf"), is_no_multiple);
}

/* Sizes of strings, arrays and objects. */
static void check_size(struct application *a, const char *least, const char *most, size_t size)
{
	double limit;

	if (json_double(KEYWORD(a, least), &limit) && (double)size < limit)
		problem(a, "%s: got %zu, want %.0f", least, size, limit);
	if (json_double(KEYWORD(a, most), &limit) && (double)size > limit)
		problem(a, "%s: got %zu, want %.0f", most, size, limit);
}

/* Strings */

static size_t count_characters(struct span text)
{
	size_t count = 0;

	for (size_t i = 0; i < text.length; i++)
		count += ((unsigned char)text.data[i] & 0xc0) != 0x80;
	return count;
}

static int matches(struct application *a, struct span pattern, struct span text, bool *ret_matches)
{
	const struct schema_patterns *patterns = a->context->patterns;

	return patterns->matches(patterns->context, pattern, text, ret_matches, a->context->err);
}

static int check_string(struct application *a)
{
	struct span pattern = json_get_text(a->schema, "pattern");
	struct span format = json_get_text(a->schema, "format");
	bool found = true;

	check_size(a, "minLength", "maxLength", count_characters(a->value->text));
	if (pattern.data) {
		int code = matches(a, pattern, a->value->text, &found);

		if (code < 0)
			return code;
	}
	if (!found)
		problem(a, "'%.*s' does not match pattern '%.*s'", SPAN_ARGS(a->value->text),
			SPAN_ARGS(pattern));
	/* Later drafts take formats for comments. */
	if (format.data && a->context->draft <= DRAFT_7 &&
		!schema_format_matches(format, a->value->text))
		problem(a, "'%.*s' is not valid %.*s", SPAN_ARGS(a->value->text),
			SPAN_ARGS(format));
	return 0;
}

/* Arrays and objects share this: a schema for one member or item. */
static int apply_inside(struct application *a, const struct json *schema, const struct json *value,
	const struct place *place, size_t index)
{
	bool valid;
	int code;

	code = apply(a, schema, value, place, NULL, a->out, a->indent, &valid);
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
		code = apply_inside(a, schema, json_item(a->value, i), &place, i);
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
	const struct json *others = keyword(a, "additionalItems", DRAFT_4, DRAFT_2019);
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
		problem(a, "last %zu additionalItem(s) not allowed", count - first);
		return 0;
	}
	return apply_to_items(a, items, first);
}

static int check_contains(struct application *a)
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
		int code = apply(a, contains, json_item(a->value, i), &place, NULL, &inner,
			a->indent + 1, &valid);

		if (code < 0)
			return code;
		found += valid;
		if (valid && a->evaluated && a->context->draft == DRAFT_2020)
			a->evaluated->seen[i] = true;
	}
	if (found == 0 && least > 0) {
		problem(a, "no items match contains schema");
		buffer_add_span(a->out, buffer_span(&inner));
	} else if ((double)found < least) {
		problem(a,
			"min %.0f items required to match contains schema, but matched %zu items",
			least, found);
	}
	if (json_double(KEYWORD_SINCE(a, "maxContains", DRAFT_2019), &most) && (double)found > most)
		problem(a,
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
				problem(a, "items at %zu and %zu are equal", j, i);
				return 0;
			}
		}
	}
	return 0;
}

static int check_array(struct application *a)
{
	int code;

	check_size(a, "minItems", "maxItems", json_count(a->value));
	code = check_unique(a);
	if (code < 0)
		return code;
	code = check_items(a);
	return code < 0 ? code : check_contains(a);
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
		problem(a, "properties %s required, if '%.*s' exists", missing.data,
			SPAN_ARGS(because));
	else
		problem(a, "missing propert%s %s", count > 1 ? "ies" : "y", missing.data);
}

static int apply_in_place(struct application *a, const struct json *schema, struct buffer *out,
	unsigned indent, bool *ret_valid);

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
		code = apply_in_place(a, member->value, a->out, a->indent, &valid);
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
		code = apply_inside(a, schema, member->value, place, index);
	for (uint32_t i = 0; code == 0 && i < json_count(by_pattern); i++) {
		const struct json_member *row = &by_pattern->object.members[i];

		code = matches(a, row->name, member->name, &found);
		if (code < 0 || !found)
			continue;
		known = true;
		code = apply_inside(a, row->value, member->value, place, index);
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
			add_names(&unknown, &member->name, 1);
			continue;
		}
		code = apply_inside(a, others, member->value, &place, i);
		if (code < 0)
			return code;
	}
	if (count > 0)
		problem(a, "additional properties %s not allowed", unknown.data);
	return 0;
}

static int check_names(struct application *a)
{
	const struct json *names = KEYWORD_SINCE(a, "propertyNames", DRAFT_6);

	for (uint32_t i = 0; names && i < json_count(a->value); i++) {
		struct span name = a->value->object.members[i].name;
		struct json value = {.type = JSON_STRING, .text = name};
		_buffer_ struct buffer inner = {0};
		bool valid;
		int code = apply(a, names, &value, NULL, NULL, &inner, a->indent + 1, &valid);

		if (code < 0)
			return code;
		if (valid)
			continue;
		begin_problem(a, NULL);
		buffer_format(a->out, "invalid propertyName '%.*s'\n", SPAN_ARGS(name));
		buffer_add_span(a->out, buffer_span(&inner));
	}
	return 0;
}

static int check_object(struct application *a)
{
	int code;

	check_size(a, "minProperties", "maxProperties", json_count(a->value));
	check_required(a, KEYWORD(a, "required"), SPAN_NONE);
	code = check_dependencies(a, KEYWORD(a, "dependencies"));
	if (code == 0)
		code = check_dependencies(a, KEYWORD_SINCE(a, "dependentRequired", DRAFT_2019));
	if (code == 0)
		code = check_dependencies(a, KEYWORD_SINCE(a, "dependentSchemas", DRAFT_2019));
	if (code == 0)
		code = check_members(a);
	return code < 0 ? code : check_names(a);
}

/* Schemas for the same value */

static int apply_in_place(struct application *a, const struct json *schema, struct buffer *out,
	unsigned indent, bool *ret_valid)
{
	struct evaluated evaluated = {0};
	_free_ bool *seen = NULL;
	int code;

	if (a->evaluated) {
		evaluated.count = a->evaluated->count;
		evaluated.seen = seen = memory_allocate(evaluated.count + 1);
	}
	code = apply(a, schema, a->value, a->place, a->evaluated ? &evaluated : NULL, out, indent,
		ret_valid);
	if (code < 0)
		return code;
	for (size_t i = 0; *ret_valid && i < evaluated.count; i++)
		a->evaluated->seen[i] |= seen[i];
	return 0;
}

/* allOf, anyOf, oneOf: how many of the schemas hold, which, and the problems of the others. */
static int apply_list(struct application *a, const struct json *schemas, struct buffer *problems,
	size_t *ret_count, struct buffer *ret_which)
{
	size_t count = 0;

	for (size_t i = 0; i < json_count(schemas); i++) {
		_buffer_ struct buffer inner = {0};
		bool valid;
		int code = apply_in_place(a, json_item(schemas, i), &inner, a->indent + 1, &valid);

		if (code < 0)
			return code;
		if (!valid)
			buffer_add_span(problems, buffer_span(&inner));
		else
			buffer_format(ret_which, "%s%zu", count > 0 ? ", " : "", i);
		count += valid;
	}
	*ret_count = count;
	return 0;
}

static int check_combinations(struct application *a)
{
	static const char *const names[] = {"allOf", "anyOf", "oneOf"};

	for (size_t i = 0; i < LENGTH(names); i++) {
		const struct json *schemas = KEYWORD(a, names[i]);
		_buffer_ struct buffer problems = {0}, which = {0};
		size_t count;
		int code;

		if (!schemas)
			continue;
		code = apply_list(a, schemas, &problems, &count, &which);
		if (code < 0)
			return code;
		if (i == 2 && count > 1) {
			problem(a, "'oneOf' failed, subschemas %s matched", which.data);
			continue;
		}
		if (i == 0 ? count == json_count(schemas) : count > 0)
			continue;
		problem(a, i == 2 ? "'oneOf' failed, none matched" : "'%s' failed", names[i]);
		buffer_add_span(a->out, buffer_span(&problems));
	}
	return 0;
}

static int check_condition(struct application *a)
{
	const struct json *condition = KEYWORD_SINCE(a, "if", DRAFT_7), *branch;
	_buffer_ struct buffer ignored = {0};
	bool valid;
	int code;

	if (!condition)
		return 0;
	code = apply_in_place(a, condition, &ignored, 0, &valid);
	if (code < 0)
		return code;
	branch = KEYWORD(a, valid ? "then" : "else");
	if (!branch)
		return 0;
	code = apply_in_place(a, branch, a->out, a->indent, &valid);
	a->valid &= code < 0 || valid;
	return code;
}

static int check_reference(struct application *a, const char *name)
{
	struct span reference = json_get_text(a->schema, name);
	const struct json *target;
	bool valid;
	int code;

	if (!reference.data)
		return 0;
	code = schema_resolve(a->context, a->resource, reference, &target, a->context->err);
	if (code < 0)
		return code;
	code = apply_in_place(a, target, a->out, a->indent, &valid);
	a->valid &= code < 0 || valid;
	return code;
}

static int check_same_value(struct application *a)
{
	const struct json *negated = KEYWORD(a, "not");
	_buffer_ struct buffer ignored = {0};
	bool valid = false;
	int code;

	code = check_reference(a, "$ref");
	if (code == 0 && a->context->draft == DRAFT_2019)
		code = check_reference(a, "$recursiveRef");
	if (code == 0 && a->context->draft == DRAFT_2020)
		code = check_reference(a, "$dynamicRef");
	if (code == 0 && negated)
		code = apply(a, negated, a->value, a->place, NULL, &ignored, 0, &valid);
	if (code < 0)
		return code;
	if (negated && valid)
		problem(a, "'not' failed");
	code = check_combinations(a);
	return code < 0 ? code : check_condition(a);
}

static int check_unevaluated(struct application *a)
{
	bool object = a->value->type == JSON_OBJECT;
	const struct json *schema =
		KEYWORD_SINCE(a, object ? "unevaluatedProperties" : "unevaluatedItems", DRAFT_2019);

	if (!schema || !a->evaluated)
		return 0;
	for (size_t i = 0; i < a->evaluated->count; i++) {
		struct place place = {a->place, SPAN_NONE, i};
		int code;

		if (a->evaluated->seen[i])
			continue;
		if (object)
			place.name = a->value->object.members[i].name;
		code = apply_inside(a, schema,
			object ? a->value->object.members[i].value : json_item(a->value, i), &place,
			i);
		if (code < 0)
			return code;
	}
	return 0;
}

static int check_by_type(struct application *a)
{
	switch (a->value->type) {
	case JSON_NUMBER: check_number(a); return 0;
	case JSON_STRING: return check_string(a);
	case JSON_ARRAY: return check_array(a);
	case JSON_OBJECT: return check_object(a);
	default: return 0;
	}
}

/* Drafts up to 7 ignore what stands beside $ref; the library in Helm keeps the keywords that came
 * with drafts 6 and 7. */
static int check_beside_reference(struct application *a)
{
	const struct json *constant = KEYWORD_SINCE(a, "const", DRAFT_6);
	int code;

	if (constant && !json_equal(constant, a->value))
		problem(a, "'const' failed");
	code = a->value->type == JSON_ARRAY    ? check_contains(a)
	       : a->value->type == JSON_OBJECT ? check_names(a)
					       : 0;
	if (code == 0)
		code = check_condition(a);
	return code < 0 ? code : check_reference(a, "$ref");
}

static int check_all(struct application *a)
{
	int code;

	if (a->schema->type == JSON_FALSE)
		problem(a, "false schema");
	if (a->schema->type != JSON_OBJECT)
		return 0;
	if (a->context->draft <= DRAFT_7 && json_get_text(a->schema, "$ref").data)
		return check_beside_reference(a);
	check_type(a);
	check_constants(a);
	code = check_by_type(a);
	if (code == 0)
		code = check_same_value(a);
	return code < 0 ? code : check_unevaluated(a);
}

static int apply(const struct application *outer, const struct json *schema,
	const struct json *value, const struct place *place, struct evaluated *evaluated,
	struct buffer *out, unsigned indent, bool *ret_valid)
{
	struct schema_context *context = outer->context;
	struct evaluated own = {.count = json_count(value)};
	_free_ bool *seen = NULL;
	struct application a = {
		.context = context,
		.schema = schema,
		.resource = schema_resource(context, schema, outer->resource),
		.value = value,
		.place = place,
		.evaluated = evaluated,
		.out = out,
		.indent = indent,
		.depth = outer->depth + 1,
		.valid = true,
	};
	int code;

	if (a.depth > SCHEMA_DEPTH_MAX)
		return err_set(context->err, -E2BIG, "schemas are nested too deeply (limit %d)",
			SCHEMA_DEPTH_MAX);
	if (++context->steps > SCHEMA_STEPS_MAX)
		return err_set(context->err, -E2BIG, "validation takes more than %d steps",
			SCHEMA_STEPS_MAX);
	if (!evaluated && (json_get(schema, "unevaluatedProperties") ||
				  json_get(schema, "unevaluatedItems"))) {
		own.seen = seen = memory_allocate(own.count + 1);
		a.evaluated = &own;
	}
	code = check_all(&a);
	if (code < 0)
		return code;
	*ret_valid = a.valid;
	return 0;
}

int schema_validate(const struct json *schema, const struct json *value,
	const struct schema_patterns *patterns, struct arena *arena, bool *ret_valid,
	struct buffer *problems, struct err *err)
{
	_buffer_ struct buffer out = BUFFER_WITH_CAP(SCHEMA_PROBLEMS_MAX);
	struct schema_context context = {
		.root = schema,
		.patterns = patterns,
		.arena = arena,
		.err = err,
	};
	struct application outer = {.context = &context, .resource = schema};
	bool valid = true;
	int code;

	code = schema_find_draft(schema, &context.draft, err);
	if (code < 0)
		return code;
	code = schema_check(&context);
	if (code < 0)
		return code;
	code = apply(&outer, schema, value, NULL, NULL, &out, 0, &valid);
	if (code < 0)
		return code;
	buffer_add_span(problems, buffer_span(&out));
	*ret_valid = valid;
	return 0;
}
