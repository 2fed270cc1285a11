/*
 * A schema applied to a value, keyword by keyword. Problems are written as the library in Helm 4 writes
 * them, each on a line, with the problems of alternatives indented below them.
 */
#include "chart/schema.h"
#include "chart/schema_apply.h"

/* Keywords that a draft has */

const struct json *schema_keyword(const struct application *a, const char *name,
	enum schema_draft first, enum schema_draft last)
{
	enum schema_draft draft = a->context->draft;

	return draft >= first && draft <= last ? json_get(a->schema, name) : NULL;
}

/* Schemas for the same value */

int schema_apply_in_place(struct application *a, const struct json *schema, struct buffer *out,
	unsigned indent, bool *ret_valid)
{
	struct evaluated evaluated = {0};
	_free_ bool *seen = NULL;
	int code;

	if (a->evaluated) {
		evaluated.count = a->evaluated->count;
		evaluated.seen = seen = memory_allocate(evaluated.count + 1);
	}
	code = schema_apply(a, schema, a->value, a->place, a->evaluated ? &evaluated : NULL, out,
		indent, ret_valid);
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
		int code = schema_apply_in_place(a, json_item(schemas, i), &inner, a->indent + 1,
			&valid);

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
			schema_problem(a, "'oneOf' failed, subschemas %s matched", which.data);
			continue;
		}
		if (i == 0 ? count == json_count(schemas) : count > 0)
			continue;
		schema_problem(a, i == 2 ? "'oneOf' failed, none matched" : "'%s' failed",
			names[i]);
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
	code = schema_apply_in_place(a, condition, &ignored, 0, &valid);
	if (code < 0)
		return code;
	branch = KEYWORD(a, valid ? "then" : "else");
	if (!branch)
		return 0;
	code = schema_apply_in_place(a, branch, a->out, a->indent, &valid);
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
	code = schema_apply_in_place(a, target, a->out, a->indent, &valid);
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
		code = schema_apply(a, negated, a->value, a->place, NULL, &ignored, 0, &valid);
	if (code < 0)
		return code;
	if (negated && valid)
		schema_problem(a, "'not' failed");
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
		code = schema_apply_inside(a, schema,
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
	case JSON_NUMBER: schema_check_number(a); return 0;
	case JSON_STRING: return schema_check_string(a);
	case JSON_ARRAY: return schema_check_array(a);
	case JSON_OBJECT: return schema_check_object(a);
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
		schema_problem(a, "'const' failed");
	code = a->value->type == JSON_ARRAY    ? schema_check_contains(a)
	       : a->value->type == JSON_OBJECT ? schema_check_names(a)
					       : 0;
	if (code == 0)
		code = check_condition(a);
	return code < 0 ? code : check_reference(a, "$ref");
}

static int check_all(struct application *a)
{
	int code;

	if (a->schema->type == JSON_FALSE)
		schema_problem(a, "false schema");
	if (a->schema->type != JSON_OBJECT)
		return 0;
	if (a->context->draft <= DRAFT_7 && json_get_text(a->schema, "$ref").data)
		return check_beside_reference(a);
	schema_check_type(a);
	schema_check_constants(a);
	code = check_by_type(a);
	if (code == 0)
		code = check_same_value(a);
	return code < 0 ? code : check_unevaluated(a);
}

int schema_apply(const struct application *outer, const struct json *schema,
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
	code = schema_apply(&outer, schema, value, NULL, NULL, &out, 0, &valid);
	if (code < 0)
		return code;
	buffer_add_span(problems, buffer_span(&out));
	*ret_valid = valid;
	return 0;
}
