/*
 * Requests for AWS services that slipway does not offer. They are refused by the service's name, in the
 * protocol that its clients understand, and without looking at the key: every key would get this answer.
 */
#include "aws/query_dispatch.h"
#include "server/components.h"

#define ERROR_TYPE "UnknownOperationException"
#define SERVICE_NAME_MAX 64

static bool is_offered(struct span service)
{
	static const char *const names[] = {
		"ecs", "elasticloadbalancing", "servicediscovery", "slipway", "sts"};

	for (size_t i = 0; i < LENGTH(names); i++)
		if (span_is(service, names[i]))
			return true;
	return false;
}

/* The name is repeated in the answer, so only what names of services are made of may pass. */
static bool is_service_name(struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
			return false;
	}
	return text.length > 0 && text.length <= SERVICE_NAME_MAX;
}

static void query_refused(void *context, const struct aws_answer *answer)
{
	static const struct http_header headers[] = {
		{SPAN("content-type"), SPAN(AWS_QUERY_CONTENT_TYPE)},
	};

	http_respond_text(context, answer->status, headers, LENGTH(headers), answer->body);
}

static void refuse_query(struct server *server, struct http_exchange *exchange, struct span message)
{
	struct aws_query query = {.dispatcher = server->dispatcher};

	aws_query_refuse(&query, ERROR_TYPE, message, query_refused, exchange);
}

static void refuse_s3(struct http_exchange *exchange, struct span message, struct arena *arena)
{
	static const struct http_header headers[] = {
		{SPAN("content-type"), SPAN("application/xml")},
	};

	http_respond_text(exchange, 400, headers, LENGTH(headers),
		arena_format(arena,
			"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>" ERROR_TYPE
			"</Code><Message>%.*s</Message></Error>",
			SPAN_ARGS(message)));
}

static void refuse_json(struct http_exchange *exchange, struct span message, struct arena *arena)
{
	static const struct http_header headers[] = {
		{SPAN("content-type"), SPAN("application/json")},
		{SPAN("x-amzn-errortype"), SPAN(ERROR_TYPE)},
	};
	struct json *body = json_new_object(arena);

	json_set_string(arena, body, "__type", SPAN(ERROR_TYPE));
	json_set_string(arena, body, "message", message);
	http_respond_text(exchange, 400, headers, LENGTH(headers), json_to_text(body, arena));
}

bool unoffered_refuse(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	const struct sigv4_request *form = wire_signed_form(request);
	struct sigv4_failure ignored;
	struct sigv4_claim claim;
	struct span message;

	if (sigv4_read(form, &claim, &ignored) < 0 || is_offered(claim.service) ||
		!is_service_name(claim.service))
		return false;
	message = arena_format(request->arena,
		"slipway does not offer '%.*s'; it offers ecs, elasticloadbalancing, "
		"servicediscovery and sts",
		SPAN_ARGS(claim.service));
	if (wire_is_query(request))
		refuse_query(server, exchange, message);
	else if (span_is(claim.service, "s3"))
		refuse_s3(exchange, message, request->arena);
	else
		refuse_json(exchange, message, request->arena);
	return true;
}
