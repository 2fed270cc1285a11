/* Routes, errors and answers of the REST API; see rest.h. What a request says is read in rest_input.c. */
#include "aws/rest.h"

#include <stdio.h>

#include "base/memory.h"

/* ---- routes ---- */

/* Takes "/word" off the front. */
static struct span take_segment(struct span *path)
{
	struct span segment = {path->data + 1, 0};

	while (segment.length + 1 < path->length && segment.data[segment.length] != '/')
		segment.length++;
	path->data += segment.length + 1;
	path->length -= segment.length + 1;
	return segment;
}

static bool is_nowhere(struct span segment)
{
	return segment.length == 0 || span_is(segment, ".") || span_is(segment, "..");
}

static bool matches(const struct rest_route *route, struct span path, struct rest_match *match)
{
	struct span pattern = span_of(route->path);

	match->label_count = 0;
	while (pattern.length > 0 && path.length > 0) {
		struct span wanted = take_segment(&pattern), found = take_segment(&path);

		if (is_nowhere(found))
			return false;
		if (wanted.data[0] != '{') {
			if (!span_equal(wanted, found))
				return false;
		} else if (match->label_count < REST_LABELS_MAX) {
			match->labels[match->label_count++] = found;
		}
	}
	return pattern.length == 0 && path.length == 0;
}

static void add_allowed(struct rest_match *match, const char *method)
{
	size_t length = strlen(match->allow);

	if (!strstr(match->allow, method))
		snprintf(match->allow + length, sizeof(match->allow) - length, "%s%s",
			length > 0 ? ", " : "", method);
}

int rest_find(const struct rest_api *api, struct span method, struct span path,
	struct rest_match *ret_match)
{
	struct rest_match match = {0};

	if (path.length == 0 || path.data[0] != '/')
		return -ENOENT;
	if (span_is(method, "HEAD"))
		method = SPAN("GET");
	for (size_t i = 0; i < api->count; i++) {
		if (!matches(&api->routes[i], path, &match))
			continue;
		if (span_is(method, api->routes[i].method)) {
			match.route = &api->routes[i];
			*ret_match = match;
			return 0;
		}
		add_allowed(&match, api->routes[i].method);
	}
	if (!match.allow[0])
		return -ENOENT;
	memcpy(ret_match->allow, match.allow, sizeof(match.allow));
	return -EPERM;
}

/* ---- errors ---- */

/* REST names for the errors that dispatch reports with ECS's names. */
static const struct {
	const char *type, *name;
	const char *transient; /* its name when the same may work in a moment */
} names[] = {
	{"ClientException", "InvalidParameterException", NULL},
	{"RequestEntityTooLargeException", "InvalidParameterException", NULL},
	{"SerializationException", "InvalidParameterException", NULL},
	{"ServerException", "InternalServiceException", "ServiceUnavailableException"},
};

static int status_of(const struct shape_service *shapes, struct span type, int otherwise)
{
	for (size_t i = 0; i < shapes->shape_count; i++) {
		const struct shape *shape = &shapes->shapes[i];

		if ((shape->flags & SHAPE_ERROR) &&
			span_equal(type, shape_text(shapes, shape->name)))
			return shape->status;
	}
	return otherwise;
}

void rest_translate(const struct aws_service *service, struct aws_failure *failure)
{
	for (size_t i = 0; i < LENGTH(names); i++) {
		if (strcmp(failure->type, names[i].type) != 0)
			continue;
		failure->type = failure->transient && names[i].transient ? names[i].transient
									 : names[i].name;
		break;
	}
	failure->status = status_of(service->shapes, span_of(failure->type),
		failure->status ? failure->status : 400);
}

/* ---- answers ---- */

/* From the dispatcher to the caller; in the request's arena. */
struct answering {
	int status;
	aws_done_function done;
	void *context;
};

/* extra: an object, or NULL */
static void write_error(const char *type, struct span message, const struct json *extra,
	const char *request_id, struct buffer *out)
{
	buffer_add_string(out, "{\"code\":");
	json_write_string(span_of(type), out);
	buffer_add_string(out, ",\"message\":");
	json_write_string(message, out);
	for (size_t i = 0, count = extra ? extra->object.count : 0; i < count; i++) {
		const struct json_member *member = &extra->object.members[i];

		if (span_is(member->name, "__type") || span_is(member->name, "message"))
			continue;
		buffer_add_char(out, ',');
		json_write_string(member->name, out);
		buffer_add_char(out, ':');
		json_write(member->value, out);
	}
	buffer_add_string(out, ",\"requestId\":");
	json_write_string(span_of(request_id), out);
	buffer_add_char(out, '}');
}

static void answered(void *context, const struct aws_answer *answer)
{
	const struct answering answering = *(struct answering *)context;
	struct aws_answer out = *answer;
	_buffer_ struct buffer text = BUFFER_WITH_CAP(AWS_ANSWER_MAX);
	_arena_ struct arena *scratch = NULL;
	struct json *error = NULL;
	struct span message;

	if (!answer->error_type) {
		out.status = answering.status;
		answering.done(answering.context, &out);
		return;
	}
	/* It parses, unless what a handler added has names that are there already. */
	scratch = arena_new(0);
	if (json_parse(answer->body, scratch, &error, NULL) < 0 || !json_is(error, JSON_OBJECT))
		error = NULL;
	message = json_get_text(error, "message");
	write_error(answer->error_type, message.data ? message : SPAN(""), error,
		answer->request_id, &text);
	out.body = buffer_span(&text);
	answering.done(answering.context, &out);
}

void rest_dispatch(struct aws_dispatcher *dispatcher, const struct aws_service *service,
	const struct rest_match *match, const struct aws_caller *caller, struct span query,
	struct span body, struct arena *arena, aws_done_function done, void *context)
{
	struct answering *answering = arena_allocate(arena, sizeof(*answering));
	struct span problem;
	struct json *input = rest_read_input(service->shapes, match, query, body, arena, &problem);

	*answering = (struct answering){match->route->status, done, context};
	aws_dispatch_input(dispatcher, service, span_of(match->route->operation), caller, input,
		problem, arena, answered, answering);
}

void rest_refuse_request(struct aws_dispatcher *dispatcher, int status, const char *type,
	struct span message, aws_done_function done, void *context)
{
	_buffer_ struct buffer text = {0};
	struct aws_answer answer = {.status = status, .error_type = type};
	char id[ID_UUID_SIZE];

	aws_dispatcher_new_id(dispatcher, id);
	write_error(type, message, NULL, id, &text);
	answer.request_id = id;
	answer.body = buffer_span(&text);
	done(context, &answer);
}
