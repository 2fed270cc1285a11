/*
 * Service "slipway" over HTTP: what is below /v1/ and in the model goes to aws/rest.h, signed for
 * service "slipway". The operations come from several folders; each adds its table before the server
 * listens, and what no folder has added answers UnsupportedFeatureException.
 */
#include "aws/rest.h"
#include "aws/throttle.h"
#include "server/components.h"

/* ---- the service ---- */

static int compare_operations(const void *left, const void *right)
{
	const struct aws_operation *a = left, *b = right;

	return strcmp(a->name, b->name);
}

void rest_add_operations(struct server *server, const struct aws_operation *operations,
	size_t count, void *context)
{
	struct rest_service *rest = &server->rest;

	if (rest->service.operation_count + count > SERVER_REST_OPERATIONS_MAX)
		abort(); /* a program with more operations must raise the number */
	for (size_t i = 0; i < count; i++) {
		struct aws_operation *row = &rest->operations[rest->service.operation_count++];

		*row = operations[i];
		row->context = context;
	}
}

void rest_register(struct server *server)
{
	struct rest_service *rest = &server->rest;

	qsort(rest->operations, rest->service.operation_count, sizeof(rest->operations[0]),
		compare_operations);
	rest->service.name = "slipway";
	rest->service.shapes = &shape_slipway;
	rest->service.operations = rest->operations;
	rest->service.invalid_input = "InvalidParameterException";
	rest->service.translate = rest_translate;
	if (server->config->limits_environment_reads_per_second > 0)
		rest->service.reads =
			aws_throttle_new((double)server->config
						 ->limits_environment_reads_per_second);
	if (server->config->limits_environment_writes_per_second > 0)
		rest->service.writes =
			aws_throttle_new((double)server->config
						 ->limits_environment_writes_per_second);
	aws_dispatcher_register(server->dispatcher, &rest->service, NULL);
}

void rest_close(struct server *server)
{
	aws_throttle_free(server->rest.service.reads);
	aws_throttle_free(server->rest.service.writes);
}

/* ---- requests ---- */

struct headers {
	struct http_header rows[5];
	size_t count;
};

static void add_header(struct headers *headers, struct span name, struct span value)
{
	headers->rows[headers->count++] = (struct http_header){name, value};
}

static void respond(struct http_exchange *exchange, const struct aws_answer *answer,
	const char *allow)
{
	struct headers headers = {.count = 0};

	add_header(&headers, SPAN("content-type"), SPAN("application/json"));
	add_header(&headers, SPAN("x-amzn-requestid"), span_of(answer->request_id));
	if (answer->error_type)
		add_header(&headers, SPAN("x-amzn-errortype"), span_of(answer->error_type));
	if (rest_says_retry(answer->status))
		add_header(&headers, SPAN("retry-after"), SPAN("1"));
	if (allow)
		add_header(&headers, SPAN("allow"), span_of(allow));
	http_respond_text(exchange, answer->status, headers.rows, headers.count, answer->body);
}

static void answered(void *context, const struct aws_answer *answer)
{
	if (answer->stream)
		answer->stream->begin(answer->stream->context, context);
	else
		respond(context, answer, NULL);
}

void rest_wire_refuse(struct server *server, struct http_exchange *exchange, int status,
	const char *type, struct span message)
{
	rest_refuse_request(server->dispatcher, status, type, message, answered, exchange);
}

struct refusing {
	struct http_exchange *exchange;
	const char *allow;
};

static void refused(void *context, const struct aws_answer *answer)
{
	const struct refusing *refusing = context;

	respond(refusing->exchange, answer, refusing->allow);
}

static void refuse_route(struct server *server, struct http_exchange *exchange,
	const struct http_request *request, const char *allow)
{
	struct refusing refusing = {exchange, allow};

	if (allow)
		rest_refuse_request(server->dispatcher, 405, "MethodNotAllowed",
			arena_format(request->arena, "%.*s is not for this path; %s is",
				SPAN_ARGS(request->method), allow),
			refused, &refusing);
	else
		rest_refuse_request(server->dispatcher, 404, "NotFound",
			arena_format(request->arena, "there is nothing at %.*s",
				SPAN_ARGS(request->path)),
			refused, &refusing);
}

struct refusing_caller {
	struct server *server;
	struct http_exchange *exchange;
	const struct rest_match *match;
};

static void refused_caller(void *context, const struct aws_answer *answer)
{
	const struct refusing_caller *refusing = context;
	const struct rest_route *route = refusing->match->route;

	authentication_failed(refusing->server, refusing->server->rest.service.name,
		span_of(route->operation), strcmp(route->method, "GET") != 0, answer);
	respond(refusing->exchange, answer, NULL);
}

void rest_wire_handle(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	struct sigv4_failure failure = {0};
	const struct aws_caller *caller;
	struct rest_match match;
	struct refusing_caller refusing = {server, exchange, &match};
	int code = rest_find(&rest_slipway, request->method, request->path, &match);

	if (code == -ENOENT && unoffered_refuse(server, exchange, request))
		return;
	if (code < 0) {
		refuse_route(server, exchange, request, code == -EPERM ? match.allow : NULL);
		return;
	}
	caller = authenticate(server, request, server->rest.service.name, &failure);
	if (caller)
		rest_dispatch(server->dispatcher, &server->rest.service, &match, caller,
			request->query, request->body, request->arena, answered, exchange);
	else
		rest_refuse_request(server->dispatcher,
			failure.status == 400 ? 403 : failure.status, failure.type,
			span_of(failure.message), refused_caller, &refusing);
}

void rest_wire_ping(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	(void)server, (void)request;
	rest_respond(exchange, 200, SPAN("{\"status\":\"ok\"}"));
}

void rest_wire_openapi(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	static const struct http_header headers[] = {
		{SPAN("content-type"), SPAN("application/json")},
	};

	(void)server, (void)request;
	http_respond(exchange, 200, headers, LENGTH(headers),
		HTTP_BODY_STATIC(rest_openapi_slipway));
}
