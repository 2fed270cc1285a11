/* Shared by the handlers of slipway's own REST API: caller, input, answers, the audit log. */
#include <stdarg.h>

#include "server/components.h"

#define BODY_MAX ((size_t)64 * 1024)

void rest_respond(struct http_exchange *exchange, int status, struct span json)
{
	static const struct http_header headers[] = {
		{SPAN("content-type"), SPAN("application/json")},
		{SPAN("retry-after"), SPAN("1")},
	};

	/* Unavailable and throttled say when to come back. */
	http_respond_text(exchange, status, headers, status == 503 || status == 429 ? 2 : 1, json);
}

void rest_refuse(struct http_exchange *exchange, int status, const char *code, const char *format,
	...)
{
	struct arena *arena = http_exchange_request(exchange)->arena;
	struct json *body = json_new_object(arena);
	va_list list;

	va_start(list, format);
	json_set_string(arena, body, "code", span_of(code));
	json_set_string(arena, body, "message", arena_format_list(arena, format, list));
	va_end(list);
	rest_respond(exchange, status, json_to_text(body, arena));
}

const struct aws_caller *rest_identify(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	struct sigv4_failure failure = {0};
	const struct aws_caller *caller = authenticate(server, request, "slipway", &failure);

	if (!caller)
		rest_refuse(exchange, failure.status == 400 ? 403 : failure.status, failure.type,
			"%s", failure.message);
	return caller;
}

void rest_record(struct server *server, const struct aws_caller *caller, const char *operation,
	bool write, struct span resource, const char *error, int status)
{
	char id[ID_UUID_SIZE];

	id_uuid(server->random, id);
	audit_record(server->audit, &(struct aws_audit){.time_ms = clock_wall_ms(server->clock),
					    .caller = caller,
					    .service = "slipway",
					    .operation = span_of(operation),
					    .resource = resource,
					    .error_type = error,
					    .status = status,
					    .request_id = id,
					    .write = write});
}

bool rest_read_body(struct http_exchange *exchange, const struct http_request *request,
	const struct span *known, size_t known_count, struct json **ret_body)
{
	struct json *body;
	struct err err;

	if (request->body.length > BODY_MAX) {
		rest_refuse(exchange, 413, "TooLarge", "the body is larger than %zu bytes",
			BODY_MAX);
		return false;
	}
	if (json_parse(request->body, request->arena, &body, &err) < 0) {
		rest_refuse(exchange, 400, "InvalidRequest", "%s", err.message);
		return false;
	}
	if (!json_is(body, JSON_OBJECT)) {
		rest_refuse(exchange, 400, "InvalidRequest", "the body must be an object");
		return false;
	}
	for (size_t i = 0; i < body->object.count; i++) {
		bool found = false;

		for (size_t j = 0; j < known_count; j++)
			found |= span_equal(body->object.members[i].name, known[j]);
		if (!found) {
			rest_refuse(exchange, 400, "InvalidRequest", "unknown member '%.*s'",
				SPAN_ARGS(body->object.members[i].name));
			return false;
		}
	}
	*ret_body = body;
	return true;
}
