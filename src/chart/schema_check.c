/* Schemas: drafts, the types of their keywords, and references. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "chart/schema_parts.h"

/* Drafts */

static const struct {
	const char *url;
	enum schema_draft draft;
} drafts[] = {
	{"json-schema.org/draft-04/schema", DRAFT_4},
	{"json-schema.org/draft-06/schema", DRAFT_6},
	{"json-schema.org/draft-07/schema", DRAFT_7},
	{"json-schema.org/draft/2019-09/schema", DRAFT_2019},
	{"json-schema.org/draft/2020-12/schema", DRAFT_2020},
	{"json-schema.org/schema", DRAFT_2020},
};

static struct span without_scheme(struct span url)
{
	static const struct span schemes[] = {{"https://", 8}, {"http://", 7}};

	for (size_t i = 0; i < LENGTH(schemes); i++) {
		if (span_starts_with(url, schemes[i])) {
			url.data += schemes[i].length;
			url.length -= schemes[i].length;
			break;
		}
	}
	if (span_ends_with(url, SPAN("#")))
		url.length--;
	return url;
}

static bool find_draft(struct span url, enum schema_draft *ret_draft)
{
	url = without_scheme(url);
	for (size_t i = 0; i < LENGTH(drafts); i++) {
		if (span_is(url, drafts[i].url)) {
			*ret_draft = drafts[i].draft;
			return true;
		}
	}
	return false;
}

int schema_find_draft(const struct json *root, enum schema_draft *ret_draft, struct err *err)
{
	struct span url = json_get_text(root, "$schema");

	*ret_draft = DRAFT_2020;
	if (!url.data || find_draft(url, ret_draft))
		return 0;
	return err_set(err, -EINVAL,
		"$schema \"%.*s\" is not a known draft; remote schemas are not loaded",
		SPAN_ARGS(url));
}

/* Keywords */

enum keyword_type {
	IS_SCHEMA,
	IS_SCHEMAS,        /* not empty */
	IS_SCHEMA_MAP,     /* an object of schemas */
	IS_PATTERN_MAP,    /* its names are patterns */
	IS_SCHEMA_OR_LIST, /* items before 2020-12 */
	IS_DEPENDENCIES,   /* names to schemas or lists of names */
	IS_NAME_LISTS,     /* names to lists of names */
	IS_NAMES,          /* distinct strings */
	IS_COUNT,          /* an integer of at least 0 */
	IS_NUMBER,
	IS_POSITIVE,
	IS_BOOLEAN,
	IS_STRING,
	IS_PATTERN,
	IS_TYPE,
	IS_LIST,
};

static const struct keyword {
	const char *name;
	enum keyword_type type;
	enum schema_draft first, last;
} keywords[] = {
	{"type", IS_TYPE, DRAFT_4, DRAFT_2020},
	{"enum", IS_LIST, DRAFT_4, DRAFT_2020},
	{"multipleOf", IS_POSITIVE, DRAFT_4, DRAFT_2020},
	{"minimum", IS_NUMBER, DRAFT_4, DRAFT_2020},
	{"maximum", IS_NUMBER, DRAFT_4, DRAFT_2020},
	{"exclusiveMinimum", IS_BOOLEAN, DRAFT_4, DRAFT_4},
	{"exclusiveMaximum", IS_BOOLEAN, DRAFT_4, DRAFT_4},
	{"exclusiveMinimum", IS_NUMBER, DRAFT_6, DRAFT_2020},
	{"exclusiveMaximum", IS_NUMBER, DRAFT_6, DRAFT_2020},
	{"minLength", IS_COUNT, DRAFT_4, DRAFT_2020},
	{"maxLength", IS_COUNT, DRAFT_4, DRAFT_2020},
	{"pattern", IS_PATTERN, DRAFT_4, DRAFT_2020},
	{"format", IS_STRING, DRAFT_4, DRAFT_2020},
	{"minItems", IS_COUNT, DRAFT_4, DRAFT_2020},
	{"maxItems", IS_COUNT, DRAFT_4, DRAFT_2020},
	{"uniqueItems", IS_BOOLEAN, DRAFT_4, DRAFT_2020},
	{"items", IS_SCHEMA_OR_LIST, DRAFT_4, DRAFT_2019},
	{"items", IS_SCHEMA, DRAFT_2020, DRAFT_2020},
	{"prefixItems", IS_SCHEMAS, DRAFT_2020, DRAFT_2020},
	{"additionalItems", IS_SCHEMA, DRAFT_4, DRAFT_2019},
	{"contains", IS_SCHEMA, DRAFT_6, DRAFT_2020},
	{"minContains", IS_COUNT, DRAFT_2019, DRAFT_2020},
	{"maxContains", IS_COUNT, DRAFT_2019, DRAFT_2020},
	{"unevaluatedItems", IS_SCHEMA, DRAFT_2019, DRAFT_2020},
	{"minProperties", IS_COUNT, DRAFT_4, DRAFT_2020},
	{"maxProperties", IS_COUNT, DRAFT_4, DRAFT_2020},
	{"required", IS_NAMES, DRAFT_4, DRAFT_2020},
	{"properties", IS_SCHEMA_MAP, DRAFT_4, DRAFT_2020},
	{"patternProperties", IS_PATTERN_MAP, DRAFT_4, DRAFT_2020},
	{"additionalProperties", IS_SCHEMA, DRAFT_4, DRAFT_2020},
	{"propertyNames", IS_SCHEMA, DRAFT_6, DRAFT_2020},
	{"unevaluatedProperties", IS_SCHEMA, DRAFT_2019, DRAFT_2020},
	{"dependencies", IS_DEPENDENCIES, DRAFT_4, DRAFT_2020},
	{"dependentRequired", IS_NAME_LISTS, DRAFT_2019, DRAFT_2020},
	{"dependentSchemas", IS_SCHEMA_MAP, DRAFT_2019, DRAFT_2020},
	{"not", IS_SCHEMA, DRAFT_4, DRAFT_2020},
	{"allOf", IS_SCHEMAS, DRAFT_4, DRAFT_2020},
	{"anyOf", IS_SCHEMAS, DRAFT_4, DRAFT_2020},
	{"oneOf", IS_SCHEMAS, DRAFT_4, DRAFT_2020},
	{"if", IS_SCHEMA, DRAFT_7, DRAFT_2020},
	{"then", IS_SCHEMA, DRAFT_7, DRAFT_2020},
	{"else", IS_SCHEMA, DRAFT_7, DRAFT_2020},
	{"definitions", IS_SCHEMA_MAP, DRAFT_4, DRAFT_2020},
	{"$defs", IS_SCHEMA_MAP, DRAFT_2019, DRAFT_2020},
	{"$ref", IS_STRING, DRAFT_4, DRAFT_2020},
	{"$id", IS_STRING, DRAFT_6, DRAFT_2020},
	{"id", IS_STRING, DRAFT_4, DRAFT_4},
	{"title", IS_STRING, DRAFT_4, DRAFT_2020},
	{"description", IS_STRING, DRAFT_4, DRAFT_2020},
};

/* A position in the schema for messages: names from the outside in. */
struct position {
	const struct position *outer;
	struct span name;
};

static void write_position(const struct position *position, struct buffer *out)
{
	if (!position)
		return;
	write_position(position->outer, out);
	buffer_add_char(out, '/');
	buffer_add_span(out, position->name);
}

static int fail_keyword(struct schema_context *context, const struct position *position,
	const char *reason)
{
	_buffer_ struct buffer path = {.cap = ERR_MESSAGE_MAX / 2};

	write_position(position, &path);
	return err_set(context->err, -EINVAL, "the schema is not valid: at '%s': %s",
		path.data ? path.data : "", reason);
}

static int check_schema(struct schema_context *context, const struct json *schema,
	const struct json *resource, const struct position *position, unsigned depth);

static int check_pattern(struct schema_context *context, struct span pattern,
	const struct position *position)
{
	struct err err;
	bool matches;

	if (context->patterns->matches(context->patterns->context, pattern, SPAN(""), &matches,
		    &err) < 0)
		return fail_keyword(context, position, "not a valid regular expression");
	return 0;
}

static bool is_type_name(const struct json *value)
{
	static const char *const names[] = {
		"array", "boolean", "integer", "null", "number", "object", "string"};

	for (size_t i = 0; i < LENGTH(names); i++) {
		if (json_is(value, JSON_STRING) && span_is(value->text, names[i]))
			return true;
	}
	return false;
}

static bool is_type(const struct json *value)
{
	if (value->type != JSON_ARRAY)
		return is_type_name(value);
	JSON_EACH_ITEM (value, item) {
		if (!is_type_name(item))
			return false;
	}
	return json_count(value) > 0;
}

static bool is_count(const struct json *value)
{
	double number;

	return json_double(value, &number) && number >= 0 && number == (double)(uint64_t)number;
}

static bool are_names(const struct json *value, enum schema_draft draft)
{
	if (value->type != JSON_ARRAY || (draft == DRAFT_4 && json_count(value) == 0))
		return false;
	for (size_t i = 0; i < json_count(value); i++) {
		if (!json_is(json_item(value, i), JSON_STRING))
			return false;
		for (size_t j = 0; j < i; j++) {
			if (json_equal(json_item(value, i), json_item(value, j)))
				return false;
		}
	}
	return true;
}

static bool is_enumeration(const struct json *value, enum schema_draft draft)
{
	if (value->type != JSON_ARRAY || (draft <= DRAFT_6 && json_count(value) == 0))
		return false;
	for (size_t i = 0; draft <= DRAFT_7 && i < json_count(value); i++) {
		for (size_t j = 0; j < i; j++) {
			if (json_equal(json_item(value, i), json_item(value, j)))
				return false;
		}
	}
	return true;
}

static int check_schemas(struct schema_context *context, const struct json *value,
	const struct json *resource, const struct position *position, unsigned depth)
{
	char number[24];

	if (value->type != JSON_ARRAY || json_count(value) == 0)
		return fail_keyword(context, position, "want a list of schemas");
	for (size_t i = 0; i < json_count(value); i++) {
		struct position inner = {position, SPAN_NONE};
		int code;

		snprintf(number, sizeof(number), "%zu", i);
		inner.name = span_of(number);
		code = check_schema(context, json_item(value, i), resource, &inner, depth);
		if (code < 0)
			return code;
	}
	return 0;
}

static int check_map(struct schema_context *context, const struct json *value,
	enum keyword_type type, const struct json *resource, const struct position *position,
	unsigned depth)
{
	if (value->type != JSON_OBJECT)
		return fail_keyword(context, position, "want object");
	for (uint32_t i = 0; i < value->object.count; i++) {
		const struct json_member *member = &value->object.members[i];
		struct position inner = {position, member->name};
		int code = 0;

		if (type == IS_PATTERN_MAP)
			code = check_pattern(context, member->name, &inner);
		if (code < 0)
			return code;
		if (type == IS_NAME_LISTS ||
			(type == IS_DEPENDENCIES && member->value->type == JSON_ARRAY)) {
			if (!are_names(member->value, context->draft))
				return fail_keyword(context, &inner, "want a list of names");
			continue;
		}
		code = check_schema(context, member->value, resource, &inner, depth);
		if (code < 0)
			return code;
	}
	return 0;
}

static int check_simple(struct schema_context *context, enum keyword_type type,
	const struct json *value, const struct position *position)
{
	double number;

	switch (type) {
	case IS_NAMES:
		return are_names(value, context->draft)
			       ? 0
			       : fail_keyword(context, position, "want a list of distinct names");
	case IS_COUNT:
		return is_count(value)
			       ? 0
			       : fail_keyword(context, position, "want an integer of at least 0");
	case IS_NUMBER:
		return value->type == JSON_NUMBER ? 0
						  : fail_keyword(context, position, "want number");
	case IS_POSITIVE:
		return json_double(value, &number) && number > 0
			       ? 0
			       : fail_keyword(context, position, "want a number greater than 0");
	case IS_BOOLEAN:
		return value->type == JSON_TRUE || value->type == JSON_FALSE
			       ? 0
			       : fail_keyword(context, position, "want boolean");
	case IS_STRING:
		return value->type == JSON_STRING ? 0
						  : fail_keyword(context, position, "want string");
	case IS_LIST:
		return is_enumeration(value, context->draft)
			       ? 0
			       : fail_keyword(context, position, "want a list of distinct values");
	case IS_TYPE:
		return is_type(value)
			       ? 0
			       : fail_keyword(context, position,
					 "value must be one of 'array', 'boolean', 'integer', "
					 "'null', 'number', 'object', 'string'");
	default: return 0;
	}
}

static int check_keyword(struct schema_context *context, enum keyword_type type,
	const struct json *value, const struct json *resource, const struct position *position,
	unsigned depth)
{
	switch (type) {
	case IS_SCHEMA: return check_schema(context, value, resource, position, depth);
	case IS_SCHEMAS: return check_schemas(context, value, resource, position, depth);
	case IS_SCHEMA_OR_LIST:
		if (value->type == JSON_ARRAY && json_count(value) == 0)
			return 0;
		return value->type == JSON_ARRAY
			       ? check_schemas(context, value, resource, position, depth)
			       : check_schema(context, value, resource, position, depth);
	case IS_SCHEMA_MAP:
	case IS_PATTERN_MAP:
	case IS_DEPENDENCIES:
	case IS_NAME_LISTS: return check_map(context, value, type, resource, position, depth);
	case IS_PATTERN:
		if (value->type != JSON_STRING)
			return fail_keyword(context, position, "want string");
		return check_pattern(context, value->text, position);
	default: return check_simple(context, type, value, position);
	}
}

static int check_schema(struct schema_context *context, const struct json *schema,
	const struct json *resource, const struct position *position, unsigned depth)
{
	const struct json *target;
	struct span reference;

	if (depth > SCHEMA_DEPTH_MAX)
		return fail_keyword(context, position, "nested too deeply");
	if (schema->type == JSON_TRUE || schema->type == JSON_FALSE)
		return 0; /* draft 4 allows it for additionalProperties and additionalItems */
	if (schema->type != JSON_OBJECT)
		return fail_keyword(context, position, "want boolean or object");
	if (context->draft == DRAFT_4 &&
		((json_get(schema, "exclusiveMinimum") && !json_get(schema, "minimum")) ||
			(json_get(schema, "exclusiveMaximum") && !json_get(schema, "maximum"))))
		return fail_keyword(context, position,
			"draft 4 wants minimum beside exclusiveMinimum, maximum beside "
			"exclusiveMaximum");
	resource = schema_resource(context, schema, resource);
	for (size_t i = 0; i < LENGTH(keywords); i++) {
		const struct keyword *keyword = &keywords[i];
		const struct json *value = json_get(schema, keyword->name);
		struct position inner = {position, span_of(keyword->name)};
		int code;

		if (!value || context->draft < keyword->first || context->draft > keyword->last)
			continue;
		code = check_keyword(context, keyword->type, value, resource, &inner, depth + 1);
		if (code < 0)
			return code;
	}
	reference = json_get_text(schema, "$ref");
	if (!reference.data)
		return 0;
	return schema_resolve(context, resource, reference, &target, context->err);
}

int schema_check(struct schema_context *context)
{
	return check_schema(context, context->root, context->root, NULL, 0);
}

/* References */

static struct span schema_id(const struct schema_context *context, const struct json *schema)
{
	return json_get_text(schema, context->draft == DRAFT_4 ? "id" : "$id");
}

const struct json *schema_resource(const struct schema_context *context, const struct json *schema,
	const struct json *around)
{
	struct span id = schema_id(context, schema);

	return id.length > 0 && id.data[0] != '#' ? schema : around;
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* A name in a JSON pointer within a URL: %XX, and ~0 and ~1 for "~" and "/". */
static struct span decode_name(struct arena *arena, struct span name)
{
	_buffer_ struct buffer text = {0}, out = {0};

	for (size_t i = 0; i < name.length; i++) {
		if (name.data[i] == '%' && i + 2 < name.length && is_hex(name.data[i + 1]) &&
			is_hex(name.data[i + 2])) {
			buffer_add_char(&text, (char)(hex_value(name.data[i + 1]) * 16 +
						       hex_value(name.data[i + 2])));
			i += 2;
		} else {
			buffer_add_char(&text, name.data[i]);
		}
	}
	for (size_t i = 0; i < text.length; i++) {
		bool escape = text.data[i] == '~' && i + 1 < text.length &&
			      (text.data[i + 1] == '0' || text.data[i + 1] == '1');

		buffer_add_char(&out,
			escape ? (text.data[i + 1] == '0' ? '~' : '/') : text.data[i]);
		i += escape;
	}
	return arena_copy_span(arena, buffer_span(&out));
}

static const struct json *follow_pointer(struct schema_context *context, const struct json *value,
	struct span pointer)
{
	struct span name;

	if (pointer.length == 0)
		return value;
	pointer.data++;
	pointer.length--;
	for (bool more = true; value && more;) {
		uint64_t index;

		more = span_split(pointer, '/', &name, &pointer);
		name = decode_name(context->arena, more ? name : pointer);
		if (value->type == JSON_ARRAY)
			value = span_to_unsigned(name, UINT32_MAX, &index) ? json_item(value, index)
									   : NULL;
		else
			value = json_get_span(value, name);
	}
	return value;
}

/* The first schema below value for which `is_it` holds. */
static const struct json *search(const struct schema_context *context, const struct json *value,
	struct span wanted,
	bool (*is_it)(const struct schema_context *, const struct json *, struct span),
	unsigned depth)
{
	const struct json *found = NULL;

	if (depth > SCHEMA_DEPTH_MAX)
		return NULL;
	if (value->type == JSON_ARRAY) {
		for (size_t i = 0; !found && i < json_count(value); i++)
			found = search(context, json_item(value, i), wanted, is_it, depth + 1);
		return found;
	}
	if (value->type != JSON_OBJECT)
		return NULL;
	if (is_it(context, value, wanted))
		return value;
	for (uint32_t i = 0; !found && i < value->object.count; i++)
		found = search(context, value->object.members[i].value, wanted, is_it, depth + 1);
	return found;
}

static bool has_anchor(const struct schema_context *context, const struct json *schema,
	struct span wanted)
{
	struct span anchor = json_get_text(schema, "$anchor"), id = schema_id(context, schema);

	if (anchor.data && context->draft >= DRAFT_2019 && span_equal(anchor, wanted))
		return true;
	return id.length == wanted.length + 1 && id.data[0] == '#' && span_ends_with(id, wanted) &&
	       context->draft <= DRAFT_7;
}

static struct span last_part(struct span url)
{
	const char *slash = url.length > 0 ? memrchr(url.data, '/', url.length) : NULL;

	return slash ? (struct span){slash + 1, url.length - (size_t)(slash + 1 - url.data)} : url;
}

/* Relative identifiers are compared by the last part of their paths. */
static bool has_id(const struct schema_context *context, const struct json *schema,
	struct span wanted)
{
	struct span id = schema_id(context, schema);

	if (id.length == 0)
		return false;
	id = without_scheme(id);
	wanted = without_scheme(wanted);
	return span_equal(id, wanted) ||
	       ((!memchr(wanted.data, '/', wanted.length) || !memchr(id.data, '/', id.length)) &&
		       span_equal(last_part(id), last_part(wanted)));
}

int schema_resolve(struct schema_context *context, const struct json *resource,
	struct span reference, const struct json **ret_schema, struct err *err)
{
	static const struct json accept_all = {.type = JSON_TRUE};
	struct span url = reference, fragment = SPAN("");
	const struct json *found = resource;
	enum schema_draft draft;

	span_split(reference, '#', &url, &fragment);
	if (url.length > 0 && find_draft(url, &draft)) {
		*ret_schema = &accept_all; /* the schema of schemas: charts do not hold schemas */
		return 0;
	}
	if (url.length > 0)
		found = search(context, context->root, url, has_id, 0);
	if (!found)
		return err_set(err, -EINVAL,
			"$ref \"%.*s\" refers to another file; remote references are not loaded",
			SPAN_ARGS(reference));
	if (fragment.length > 0 && fragment.data[0] == '/')
		found = follow_pointer(context, found, fragment);
	else if (fragment.length > 0)
		found = search(context, found, fragment, has_anchor, 0);
	if (!found)
		return err_set(err, -EINVAL, "$ref \"%.*s\" not found in the schema",
			SPAN_ARGS(reference));
	*ret_schema = found;
	return 0;
}
