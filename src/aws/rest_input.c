/*
 * The input of a REST operation from path, query and body; see rest.h. Reading continues after the first
 * problem, so that whatever is good is known when the request is authorised.
 */
#include <stdarg.h>

#include "aws/query_form.h"
#include "aws/rest.h"
#include "aws/shape_scalar.h"
#include "aws/shape_unknown.h"

#define SHOWN_TEXT_MAX 64 /* bytes of a client's own text in a message */

struct reading {
	const struct shape_service *shapes;
	const struct shape *shape; /* of the input */
	const struct rest_match *match;
	struct arena *arena;
	struct json *input;
	struct span problem; /* the first */
};

__attribute__((format(printf, 2, 3))) static void complain(struct reading *reading,
	const char *format, ...)
{
	va_list list;

	if (reading->problem.data)
		return;
	va_start(list, format);
	reading->problem = arena_format_list(reading->arena, format, list);
	va_end(list);
}

/* Not in the middle of a character. */
static struct span shown(struct span text)
{
	if (text.length <= SHOWN_TEXT_MAX)
		return text;
	text.length = SHOWN_TEXT_MAX;
	while (text.length > 0 && ((unsigned char)text.data[text.length] & 0xc0) == 0x80)
		text.length--;
	return text;
}

/* JSON allows a NUL, but no name, id or token has one, and C strings end there. */
static bool has_nul(struct span text)
{
	return memchr(text.data, '\0', text.length) != NULL;
}

/* ---- path ---- */

static void read_label(struct reading *reading, struct span name, struct span text)
{
	const struct shape_member *member =
		shape_find_member(reading->shapes, reading->shape, name);
	struct span decoded;
	struct err err;

	if (query_form_decode_segment(text, reading->arena, &decoded, &err) < 0)
		complain(reading, "%.*s: %s", SPAN_ARGS(name), err.message);
	else if (has_nul(decoded))
		complain(reading, "%.*s: has a character with the number 0", SPAN_ARGS(name));
	else if (member)
		json_set_string(reading->arena, reading->input,
			shape_text(reading->shapes, member->name).data, decoded);
}

/* The next "{name}" of a route's path. */
static bool next_label(struct span *path, struct span *ret_name)
{
	struct span before;

	return span_split(*path, '{', &before, path) && span_split(*path, '}', ret_name, path);
}

static void read_path(struct reading *reading)
{
	struct span path = span_of(reading->match->route->path), name;

	for (size_t i = 0; i < reading->match->label_count && next_label(&path, &name); i++)
		read_label(reading, name, reading->match->labels[i]);
}

static bool is_in_path(const struct rest_route *route, struct span member)
{
	struct span path = span_of(route->path), name;

	while (next_label(&path, &name)) {
		if (span_equal(name, member))
			return true;
	}
	return false;
}

/* ---- query ---- */

static bool is_in_query(const struct rest_route *route, struct span member)
{
	for (size_t i = 0; i < route->query_count; i++) {
		if (span_is(member, route->query[i].member))
			return true;
	}
	return false;
}

static const struct rest_parameter *find_parameter(const struct rest_route *route, struct span name)
{
	for (size_t i = 0; i < route->query_count; i++) {
		if (span_is(name, route->query[i].name))
			return &route->query[i];
	}
	return NULL;
}

/* NULL and a complaint when the text is not what the shape wants. */
static struct json *read_scalar(struct reading *reading, const struct shape *shape,
	const struct query_pair *pair)
{
	struct json *value = arena_allocate(reading->arena, sizeof(*value));
	const char *expected;

	if (has_nul(pair->value)) {
		complain(reading, "%.*s: has a character with the number 0", SPAN_ARGS(pair->key));
		return NULL;
	}
	expected = shape_scalar_read(shape, pair->value, reading->arena, value);
	if (!expected)
		return value;
	complain(reading, "%.*s: expected %s, not '%.*s'", SPAN_ARGS(pair->key), expected,
		SPAN_ARGS(shown(pair->value)));
	return NULL;
}

static void read_parameter(struct reading *reading, const char *name, const struct query_pair *pair)
{
	const struct shape_member *member =
		shape_find_member(reading->shapes, reading->shape, span_of(name));
	const struct shape *shape = member ? &reading->shapes->shapes[member->shape] : NULL;
	struct json *before = (struct json *)json_get(reading->input, name);
	struct json *value;

	if (!shape) {
		complain(reading, "%s: has no shape",
			name); /* rest_test checks that no route has one */
		return;
	}
	if (shape->type != SHAPE_LIST) {
		if (before)
			complain(reading, "%.*s: is given more than once", SPAN_ARGS(pair->key));
		json_set(reading->arena, reading->input, name, read_scalar(reading, shape, pair));
		return;
	}
	value = read_scalar(reading, &reading->shapes->shapes[shape->element], pair);
	if (!before) {
		before = json_new_array(reading->arena);
		json_set(reading->arena, reading->input, name, before);
	}
	if (value)
		json_append(reading->arena, before, value);
}

static void read_query(struct reading *reading, struct span query)
{
	const struct rest_route *route = reading->match->route;
	struct query_form form;
	struct err err;

	if (query.length == 0)
		return;
	if (query_form_read_pairs(query, reading->arena, &form, &err) < 0) {
		complain(reading, "the query: %s", err.message);
		return;
	}
	for (size_t i = 0; i < form.count; i++) {
		const struct rest_parameter *parameter = find_parameter(route, form.pairs[i].key);

		if (parameter)
			read_parameter(reading, parameter->member, &form.pairs[i]);
		else
			complain(reading, "%.*s: is not a parameter of %s",
				SPAN_ARGS(shown(form.pairs[i].key)), route->operation);
	}
}

/* ---- body ---- */

/* The list alone, or one item of it alone. */
static bool read_bare(struct reading *reading, const struct json *body)
{
	const char *name = reading->match->route->bare_member;
	struct json *list;

	if (!name)
		return false;
	if (body->type == JSON_ARRAY) {
		json_set(reading->arena, reading->input, name, body);
		return true;
	}
	if (body->type != JSON_OBJECT || json_get(body, name))
		return false;
	list = json_new_array(reading->arena);
	json_append(reading->arena, list, body);
	json_set(reading->arena, reading->input, name, list);
	return true;
}

static void read_members(struct reading *reading, const struct json *body)
{
	const struct rest_route *route = reading->match->route;
	struct span unknown =
		shape_find_unknown(reading->shapes, reading->shape, body, reading->arena);

	if (unknown.data)
		complain(reading, "%.*s: is not a member of %s", SPAN_ARGS(unknown),
			route->operation);
	for (size_t i = 0; i < body->object.count; i++) {
		const struct json_member *requested = &body->object.members[i];
		const struct shape_member *member =
			shape_find_member(reading->shapes, reading->shape, requested->name);

		if (!member)
			continue;
		if (is_in_path(route, requested->name) || is_in_query(route, requested->name))
			complain(reading, "%.*s: belongs in the %s, not in the body",
				SPAN_ARGS(requested->name),
				is_in_path(route, requested->name) ? "path" : "query");
		else
			json_set(reading->arena, reading->input,
				shape_text(reading->shapes, member->name).data, requested->value);
	}
}

static void read_body(struct reading *reading, struct span text)
{
	const char *payload = reading->match->route->payload;
	struct json *body;
	struct err err;

	if (text.length == 0)
		return;
	if (payload && text.length <= AWS_REQUEST_BODY_MAX)
		json_set_string(reading->arena, reading->input, payload, text);
	else if (text.length > AWS_REQUEST_BODY_MAX)
		complain(reading, "the body: is longer than %d bytes", AWS_REQUEST_BODY_MAX);
	else if (json_parse(text, reading->arena, &body, &err) < 0)
		complain(reading, "the body: %s", err.message);
	else if (read_bare(reading, body))
		return;
	else if (body->type != JSON_OBJECT)
		complain(reading, "the body: expected an object, not %s",
			json_type_name(body->type));
	else
		read_members(reading, body);
}

struct json *rest_read_input(const struct shape_service *shapes, const struct rest_match *match,
	struct span query, struct span body, struct arena *arena, struct span *ret_problem)
{
	const struct shape_operation *operation =
		shape_find_operation(shapes, span_of(match->route->operation));
	struct reading reading = {.shapes = shapes,
		.match = match,
		.arena = arena,
		.input = json_new_object(arena),
		.problem = SPAN_NONE};

	if (!operation) {
		*ret_problem = SPAN("the operation has no shape");
		return reading.input;
	}
	reading.shape = &shapes->shapes[operation->input];
	read_path(&reading);
	read_query(&reading, query);
	read_body(&reading, body);
	*ret_problem = reading.problem;
	return reading.input;
}
