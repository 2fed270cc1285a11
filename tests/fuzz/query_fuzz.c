/*
 * The query protocol's requests. The first byte chooses the operation, the rest is the form. Whatever
 * it is, reading it ends, and refuses with words that can be sent. What is accepted is valid for the
 * protocol: written as a form again and read again it is the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "aws/query.h"

#define ARENA_MAX (64 * 1024 * 1024)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct shape_service *const service = &shape_elasticloadbalancingv2;

static bool read_form(const struct shape_operation *operation, struct span text,
	struct arena *arena, struct json **ret_input)
{
	struct query_form form;
	struct err err = {0};
	int code = query_form_read(text, arena, &form, &err);

	if (code == 0) {
		for (size_t i = 0; i < form.count; i++)
			CHECK(query_form_get(&form, arena_copy_span(arena, form.pairs[i].key).data)
					.data ||
				memchr(form.pairs[i].key.data, '\0', form.pairs[i].key.length));
		code = query_read_input(service, operation, &form, arena, ret_input, &err);
	}
	CHECK(code == 0 || code == -EINVAL || code == -E2BIG);
	CHECK(code == 0 || (err.code == code && err.message[0]));
	return code == 0;
}

/* An empty map or structure is not sent, and so does not come back. */
static bool has_empty_object(const struct json *value)
{
	if (value->type == JSON_OBJECT) {
		for (size_t i = 0; i < value->object.count; i++) {
			if (has_empty_object(value->object.members[i].value))
				return true;
		}
		return value->object.count == 0;
	}
	JSON_EACH_ITEM (value, item) {
		if (has_empty_object(item))
			return true;
	}
	return false;
}

/* Times are the exception: they may be written in several ways. The model has none in its input. */
static void check_round_trip(const struct shape_operation *operation, const struct json *input)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer out = {0};
	struct json *again = NULL;

	query_write_form(service, operation, input, &out);
	if (out.length > QUERY_FORM_MAX || has_empty_object(input))
		return;
	CHECK(read_form(operation, buffer_span(&out), arena, &again));
	CHECK(json_equal(input, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_arena_ struct arena *arena = arena_new(ARENA_MAX);
	const struct shape_operation *operation;
	struct shape_problem problem;
	struct json *input;

	if (size == 0)
		return 0;
	operation = &service->operations[data[0] % service->operation_count];
	if (!read_form(operation, (struct span){(const char *)data + 1, size - 1}, arena, &input))
		return 0;
	CHECK(json_is(input, JSON_OBJECT));
	/* Types are right by now, but for integers that are too large. */
	if (shape_validate(service, operation, input, arena, &problem) < 0)
		CHECK(strcmp(problem.error, "ValidationError") == 0 ||
			strstr(arena_copy_span(arena, problem.message).data, "32 bits"));
	check_round_trip(operation, input);
	return 0;
}
