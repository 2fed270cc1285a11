/*
 * convert-query: the query protocol's conversions by themselves, for tests/scenario/
 * test_query_protocol.py, which holds them against a real client. Each line of the input is one
 * conversion, a JSON object, and so is each line of the output:
 *
 *     {"service", "input": form}                         -> {"operation", "json"}
 *     {"service", "operation", "answer": …, "id"}        -> {"text": XML}
 *     {"service", "error": {"__type", "message"}, "id"}  -> {"text": XML, "status"}
 *     {"service", "operation", "request": …}             -> {"text": form}
 *     {"service", "operation", "xml": text}              -> {"json"}
 *     {"service", "xmlError": text}                      -> {"type", "message"}
 *
 * or {"failure": words}.
 */
#include <stdio.h>
#include <stdlib.h>

#include "aws/query.h"

struct job {
	const struct shape_service *service;
	const struct shape_operation *operation; /* NULL: not given */
	const struct json *value;                /* to be converted */
	const char *id;
	struct arena *arena;
	struct json *result;
	struct err err;
};

static int read_form(struct job *job)
{
	struct query_form form;
	struct span action;
	struct json *input;
	int code = query_form_read(json_text(job->value), job->arena, &form, &job->err);

	if (code < 0)
		return code;
	action = query_form_get(&form, "Action");
	job->operation = action.data ? shape_find_operation(job->service, action) : NULL;
	if (!job->operation)
		return err_set(&job->err, -EINVAL, "no such Action");
	code = query_read_input(job->service, job->operation, &form, job->arena, &input, &job->err);
	if (code < 0)
		return code;
	json_set_string(job->arena, job->result, "operation", action);
	json_set(job->arena, job->result, "json", input);
	return 0;
}

static int write_answer(struct job *job)
{
	_buffer_ struct buffer out = {0};

	query_write_answer(job->service, job->operation, job->value, job->id, &out);
	json_set_string(job->arena, job->result, "text", buffer_span(&out));
	return 0;
}

static int write_error(struct job *job)
{
	_buffer_ struct buffer out = {0};

	query_write_error(job->service, job->value, job->id, &out);
	json_set_string(job->arena, job->result, "text", buffer_span(&out));
	json_set_integer(job->arena, job->result, "status",
		query_error_status(job->service, json_get_text(job->value, "__type"), 400));
	return 0;
}

static int write_form(struct job *job)
{
	_buffer_ struct buffer out = {0};

	query_write_form(job->service, job->operation, job->value, &out);
	json_set_string(job->arena, job->result, "text", buffer_span(&out));
	return 0;
}

static int read_answer(struct job *job)
{
	struct json *answer;
	int code = query_read_answer(job->service, job->operation, json_text(job->value),
		job->arena, &answer, &job->err);

	if (code == 0)
		json_set(job->arena, job->result, "json", answer);
	return code;
}

static int read_error(struct job *job)
{
	struct span type, message;

	query_read_error(job->service, json_text(job->value), job->arena, &type, &message);
	if (!type.data || !message.data)
		return err_set(&job->err, -EINVAL, "no error");
	json_set_string(job->arena, job->result, "type", type);
	json_set_string(job->arena, job->result, "message", message);
	return 0;
}

static int convert(struct job *job, const struct json *line)
{
	static const struct {
		const char *name;
		int (*convert)(struct job *job);
		bool needs_operation;
	} conversions[] = {
		{"input", read_form, false},
		{"answer", write_answer, true},
		{"error", write_error, false},
		{"request", write_form, true},
		{"xml", read_answer, true},
		{"xmlError", read_error, false},
	};
	struct span operation = json_get_text(line, "operation");
	struct span service = json_get_text(line, "service"), id = json_get_text(line, "id");

	job->service = service.data ? shape_find_service(service) : NULL;
	if (!job->service)
		return err_set(&job->err, -EINVAL, "no such service");
	job->operation = operation.data ? shape_find_operation(job->service, operation) : NULL;
	job->id = id.data ? arena_copy_span(job->arena, id).data : "";
	for (size_t i = 0; i < LENGTH(conversions); i++) {
		job->value = json_get(line, conversions[i].name);
		if (!job->value)
			continue;
		if (conversions[i].needs_operation && !job->operation)
			return err_set(&job->err, -EINVAL, "no such operation");
		return conversions[i].convert(job);
	}
	return err_set(&job->err, -EINVAL, "nothing to convert");
}

static void convert_line(struct span text)
{
	_arena_ struct arena *arena = arena_new(0);
	struct job job = {.arena = arena, .result = json_new_object(arena)};
	_buffer_ struct buffer out = {0};
	struct json *line;

	if (json_parse(text, arena, &line, &job.err) < 0 || convert(&job, line) < 0) {
		job.result = json_new_object(arena);
		json_set_string(arena, job.result, "failure", span_of(job.err.message));
	}
	json_write(job.result, &out);
	printf("%.*s\n", SPAN_ARGS(buffer_span(&out)));
}

int main(void)
{
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length;

	while ((length = getline(&line, &capacity, stdin)) > 0)
		convert_line((struct span){line, (size_t)length});
	free(line);
	return fflush(stdout) == 0 ? 0 : 1;
}
