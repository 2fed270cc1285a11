/* The query protocol before and behind aws_dispatch_form; see query_dispatch.h. */
#include "aws/query_dispatch.h"

#include "aws/query.h"
#include "base/memory.h"

#define FORM_TYPE "application/x-www-form-urlencoded"
#define SHOWN_MAX 128 /* of a client's text in our messages */

/* ---- requests ---- */

bool aws_query_is_request(struct span method, struct span content_type, struct span query)
{
	struct span type = content_type, parameters;

	if (span_is(method, "GET"))
		return query.data && (span_starts_with(query, SPAN("Action=")) ||
					     memmem(query.data, query.length, "&Action=", 8));
	if (!span_is(method, "POST") || !content_type.data)
		return false;
	span_split(content_type, ';', &type, &parameters);
	return span_equal_ignoring_case(span_trim(type), SPAN(FORM_TYPE));
}

void aws_query_read(struct aws_dispatcher *dispatcher, struct span text, struct arena *arena,
	struct aws_query *ret_query)
{
	int code;

	*ret_query = (struct aws_query){.dispatcher = dispatcher, .action = SPAN("")};
	code = query_form_read(text.data ? text : SPAN(""), arena, &ret_query->form,
		&ret_query->problem);
	if (code < 0) {
		ret_query->too_large = code == -E2BIG;
		ret_query->malformed = !ret_query->too_large;
		return;
	}
	ret_query->action = query_form_get(&ret_query->form, "Action");
	ret_query->version = query_form_get(&ret_query->form, "Version");
	if (!ret_query->action.data)
		ret_query->action = SPAN("");
	if (ret_query->version.data)
		ret_query->service = aws_dispatcher_find_version(dispatcher, ret_query->version);
}

/* ---- answers ---- */

/* From the dispatcher to the caller; in the request's arena. */
struct answering {
	const struct shape_service *shapes;
	const struct shape_operation *operation; /* NULL: there is no such operation */
	aws_done_function done;
	void *context;
};

static void write_fault(const struct shape_service *shapes, struct aws_answer *answer,
	const char *message, struct buffer *out)
{
	_arena_ struct arena *scratch = arena_new(0);
	struct json *error = json_new_object(scratch);

	answer->error_type = "ServerException";
	answer->status = 500;
	json_set_string(scratch, error, "__type", span_of(answer->error_type));
	json_set_string(scratch, error, "message", span_of(message));
	*out = (struct buffer){0};
	query_write_error(shapes, error, answer->request_id, out);
}

static void write_xml(const struct answering *answering, struct aws_answer *answer,
	struct buffer *out)
{
	_arena_ struct arena *scratch = arena_new(0);
	struct json *document;

	if (json_parse(answer->body, scratch, &document, NULL) < 0) {
		write_fault(answering->shapes, answer,
			"The answer is not valid inside of slipway; please report it.", out);
		return;
	}
	if (answer->error_type)
		query_write_error(answering->shapes, document, answer->request_id, out);
	else
		query_write_answer(answering->shapes, answering->operation, document,
			answer->request_id, out);
	if (buffer_failed(out)) {
		buffer_clear(out);
		write_fault(answering->shapes, answer,
			"The answer is too large; ask for less at once.", out);
	}
}

static void answered(void *context, const struct aws_answer *answer)
{
	const struct answering answering = *(struct answering *)context;
	_buffer_ struct buffer out = BUFFER_WITH_CAP(AWS_ANSWER_MAX);
	struct aws_answer xml = *answer;

	write_xml(&answering, &xml, &out);
	xml.body = buffer_span(&out);
	answering.done(answering.context, &xml);
}

void aws_query_refuse(const struct aws_query *query, const char *type, struct span message,
	aws_done_function done, void *context)
{
	const struct shape_service *shapes = query->service ? query->service->shapes : NULL;
	_arena_ struct arena *scratch = arena_new(0);
	struct json *error = json_new_object(scratch);
	_buffer_ struct buffer out = {0};
	struct aws_answer answer = {.error_type = type};
	char id[ID_UUID_SIZE];

	aws_dispatcher_new_id(query->dispatcher, id);
	json_set_string(scratch, error, "__type", span_of(type));
	json_set_string(scratch, error, "message", message);
	query_write_error(shapes, error, id, &out);
	answer.status = query_error_status(shapes, span_of(type), 400);
	answer.request_id = id;
	answer.body = buffer_span(&out);
	done(context, &answer);
}

static struct span shown(struct span text)
{
	if (text.length > SHOWN_MAX)
		text.length = SHOWN_MAX;
	return text;
}

/* Rejects requests that cannot reach dispatch: there is no service to call. */
static bool refuse_unreadable(const struct aws_query *query, struct arena *arena,
	aws_done_function done, void *context)
{
	const char *type;
	struct span message;

	if (query->too_large || query->malformed) {
		type = query->too_large ? "RequestEntityTooLargeException"
					: "SerializationException";
		message = span_of(query->problem.message);
	} else if (query->action.length == 0) {
		type = "MissingAction";
		message = SPAN("The request must contain the parameter Action.");
	} else if (!query->service) {
		type = "UnknownOperationException";
		message = arena_format(arena, "Could not find operation %.*s for version %.*s",
			SPAN_ARGS(shown(query->action)),
			SPAN_ARGS(query->version.data ? shown(query->version)
						      : SPAN("NO_VERSION_SPECIFIED")));
	} else {
		return false;
	}
	aws_query_refuse(query, type, message, done, context);
	return true;
}

void aws_query_dispatch(const struct aws_query *query, const struct aws_caller *caller,
	struct arena *arena, aws_done_function done, void *context)
{
	struct answering *answering;

	if (refuse_unreadable(query, arena, done, context))
		return;
	answering = arena_allocate(arena, sizeof(*answering));
	*answering = (struct answering){
		.shapes = query->service->shapes,
		.operation = shape_find_operation(query->service->shapes, query->action),
		.done = done,
		.context = context,
	};
	aws_dispatch_form(query->dispatcher, query->service, query->action, caller, &query->form,
		arena, answered, answering);
}
