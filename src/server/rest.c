/* Answers in JSON of the endpoints that are no operations: health, readiness, information. */
#include <stdarg.h>

#include "server/components.h"

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
