/*
 * Requests of the REST API: a method, a path, a query and a body, one line each and the body last.
 * Whatever they are, finding a route and reading the input end, and what is refused is refused with
 * words that can be sent. The input is an object that has no member but those of the operation.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "aws/rest.h"
#include "aws/shape_unknown.h"

#define PROBLEM_MAX (4 * 1024)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct span take_line(struct span *text)
{
	struct span line = *text;

	if (!span_split(*text, '\n', &line, text))
		*text = SPAN("");
	return line;
}

/* Output of json_write_string() must parse again: no half characters. */
static void check_sendable(struct span text)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer out = {0};
	struct json *value = NULL;

	json_write_string(text, &out);
	CHECK(json_parse(buffer_span(&out), arena, &value, NULL) == 0);
	CHECK(span_equal(json_text(value), text));
}

static void check_input(const struct rest_match *match, const struct json *input,
	struct span problem, struct arena *arena)
{
	const struct shape_operation *operation =
		shape_find_operation(&shape_slipway, span_of(match->route->operation));
	struct shape_problem wrong;

	CHECK(json_is(input, JSON_OBJECT));
	for (size_t i = 0; i < input->object.count; i++)
		CHECK(shape_find_member(&shape_slipway, &shape_slipway.shapes[operation->input],
			input->object.members[i].name));
	if (problem.data) {
		CHECK(problem.length > 0 && problem.length < PROBLEM_MAX);
		check_sendable(problem);
		return;
	}
	CHECK(!shape_find_unknown(&shape_slipway, &shape_slipway.shapes[operation->input], input,
		arena)
			.data);
	if (shape_validate(&shape_slipway, operation, input, arena, &wrong) < 0)
		check_sendable(wrong.message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span text = {(const char *)data, size};
	struct span method = take_line(&text), path = take_line(&text), query = take_line(&text);
	struct rest_match match = {0};
	struct span problem;
	struct json *input;
	int code = rest_find(&rest_slipway, method, path, &match);

	CHECK(code == 0 || code == -ENOENT || code == -EPERM);
	CHECK(code != -EPERM || match.allow[0]);
	if (code < 0)
		return 0;
	input = rest_read_input(&shape_slipway, &match, query, text, arena, &problem);
	check_input(&match, input, problem, arena);
	return 0;
}
