/*
 * The check of requests against shapes. The first byte chooses the operation, the rest is the
 * request. Whatever it is, the check ends, allocates nothing when it accepts, and when it refuses
 * says one of two errors with a path and a message that can be sent as JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "aws/shape.h"

#define ARENA_MAX (16 * 1024 * 1024)
#define MESSAGE_MAX (16 * 1024)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_arena_ struct arena *arena = arena_new(ARENA_MAX);
	const struct shape_operation *operation;
	struct shape_problem problem = {0};
	struct json *request = NULL;
	size_t used;
	int code;

	if (size == 0)
		return 0;
	operation = &shape_ecs.operations[data[0] % shape_ecs.operation_count];
	if (json_parse((struct span){(const char *)data + 1, size - 1}, arena, &request, NULL) < 0)
		return 0;
	used = arena_used(arena);
	code = shape_validate(&shape_ecs, operation, request, arena, &problem);
	if (code == 0) {
		CHECK(json_is(request, JSON_OBJECT));
		CHECK(!problem.error && arena_used(arena) == used);
		return 0;
	}
	CHECK(code == -EINVAL);
	CHECK(span_is(shape_text(&shape_ecs, operation->invalid_input), problem.error) ||
		strcmp(problem.error, "SerializationException") == 0);
	CHECK(problem.message.length > 0 && problem.message.length < MESSAGE_MAX);
	CHECK(span_starts_with(problem.message, problem.path));
	check_sendable(problem.message);
	return 0;
}
