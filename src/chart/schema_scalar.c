/* Keywords of every type: type, const and enum; those of numbers, and those of strings. */
#include "chart/schema_apply.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Types, constants */

static bool is_whole(const struct json *value)
{
	double number;

	return json_double(value, &number) && floor(number) == number;
}

static bool has_type(const struct json *value, struct span type)
{
	return span_is(type, schema_type_of(value)) ||
	       (span_is(type, "integer") && is_whole(value));
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

void schema_check_type(struct application *a)
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
	schema_problem(a, "got %s, want %s", schema_type_of(a->value),
		wanted.data ? wanted.data : "nothing");
}

void schema_check_constants(struct application *a)
{
	const struct json *values = KEYWORD(a, "enum"),
			  *constant = KEYWORD_SINCE(a, "const", DRAFT_6);
	_buffer_ struct buffer wanted = {0};
	bool found = false;

	if (constant && !json_equal(constant, a->value)) {
		schema_add_value(&wanted, constant);
		if (constant->type == JSON_ARRAY || constant->type == JSON_OBJECT)
			schema_problem(a, "'const' failed");
		else
			schema_problem(a, "value must be %s", wanted.data);
	}
	if (!values)
		return;
	buffer_reset(&wanted);
	JSON_EACH_ITEM (values, value) {
		found |= json_equal(value, a->value);
		if (wanted.length > 0)
			buffer_add_string(&wanted, ", ");
		schema_add_value(&wanted, value);
	}
	if (!found)
		schema_problem(a, "value must be one of %s", wanted.data ? wanted.data : "");
}

/* Numbers */

static void check_limit(struct application *a, const char *name, const struct json *limit,
	bool (*is_wrong)(double value, double limit))
{
	double number, bound;

	if (!limit || !json_double(limit, &bound) || !json_double(a->value, &number))
		return;
	if (is_wrong(number, bound))
		schema_problem(a, "%s: got %.*s, want %.*s", name, SPAN_ARGS(a->value->text),
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

void schema_check_number(struct application *a)
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

void schema_check_size(struct application *a, const char *least, const char *most, size_t size)
{
	double limit;

	if (json_double(KEYWORD(a, least), &limit) && (double)size < limit)
		schema_problem(a, "%s: got %zu, want %.0f", least, size, limit);
	if (json_double(KEYWORD(a, most), &limit) && (double)size > limit)
		schema_problem(a, "%s: got %zu, want %.0f", most, size, limit);
}

/* Strings */

static size_t count_characters(struct span text)
{
	size_t count = 0;

	for (size_t i = 0; i < text.length; i++)
		count += ((unsigned char)text.data[i] & 0xc0) != 0x80;
	return count;
}

int schema_matches(struct application *a, struct span pattern, struct span text, bool *ret_matches)
{
	const struct schema_patterns *patterns = a->context->patterns;

	return patterns->matches(patterns->context, pattern, text, ret_matches, a->context->err);
}

int schema_check_string(struct application *a)
{
	struct span pattern = json_get_text(a->schema, "pattern");
	struct span format = json_get_text(a->schema, "format");
	bool found = true;

	schema_check_size(a, "minLength", "maxLength", count_characters(a->value->text));
	if (pattern.data) {
		int code = schema_matches(a, pattern, a->value->text, &found);

		if (code < 0)
			return code;
	}
	if (!found)
		schema_problem(a, "'%.*s' does not match pattern '%.*s'", SPAN_ARGS(a->value->text),
			SPAN_ARGS(pattern));
	/* Later drafts take formats for comments. */
	if (format.data && a->context->draft <= DRAFT_7 &&
		!schema_format_matches(format, a->value->text))
		schema_problem(a, "'%.*s' is not valid %.*s", SPAN_ARGS(a->value->text),
			SPAN_ARGS(format));
	return 0;
}
