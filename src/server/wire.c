/*
 * AWS's protocols over HTTP. JSON 1.1: X-Amz-Target names service and operation, the signature
 * names the caller, the body is the request. Query: a form names version and action, the answer is
 * XML. All else happens behind aws_dispatch.
 */
#include "aws/query_dispatch.h"
#include "aws/region.h"
#include "elb/elb.h"
#include "server/components.h"

#define AUDITED_NAME_MAX 128 /* bytes of an operation's name, which is a client's own text */

static const struct http_header json_1_1[] = {
	{SPAN("content-type"), SPAN("application/x-amz-json-1.1")},
};

struct sigv4_request *wire_signed_form(const struct http_request *request)
{
	struct sigv4_request *form = arena_allocate(request->arena, sizeof(*form));
	struct sigv4_header *headers = arena_allocate_array(request->arena,
		request->header_count ? request->header_count : 1, sizeof(*headers));

	for (size_t i = 0; i < request->header_count; i++)
		headers[i] =
			(struct sigv4_header){request->headers[i].name, request->headers[i].value};
	*form = (struct sigv4_request){
		.method = request->method,
		.path = request->path,
		.query = request->query.data ? request->query : SPAN(""),
		.headers = headers,
		.header_count = request->header_count,
		.body = request->body,
	};
	return form;
}

/* With --auth none: every client is the default account, in the region of the signature if there is one. */
static const struct aws_caller *anonymous(struct server *server, const struct sigv4_request *form,
	struct arena *arena)
{
	struct aws_caller *caller = arena_allocate(arena, sizeof(*caller));
	struct sigv4_failure ignored;
	struct sigv4_claim claim;

	*caller = (struct aws_caller){
		.account = span_of(server->config->account),
		.user = SPAN("anonymous"),
		.access_key = SPAN(""),
		.region = SPAN(AWS_REGION_DEFAULT),
	};
	if (sigv4_read(form, &claim, &ignored) == 0 && aws_region_is_known(claim.region))
		caller->region = claim.region;
	return caller;
}

/* Signatures cover Host, and no page can make one: only without them any name must be refused. */
static bool is_of_foreign_page(const struct server *server, const struct http_request *request,
	struct sigv4_failure *failure)
{
	const char *why = request_origin_check_page(&server->origin_rules, request);

	if (!why && strcmp(server->config->auth, "none") == 0)
		why = request_origin_check_host(&server->origin_rules, request);
	if (!why)
		return false;
	sigv4_refuse(failure, "AccessDeniedException", "%s", why);
	failure->status = 403;
	return true;
}

const struct aws_caller *authenticate(struct server *server, const struct http_request *request,
	const char *service, struct sigv4_failure *failure)
{
	const struct sigv4_request *form = wire_signed_form(request);
	struct aws_caller *caller;
	struct sigv4_claim claim;

	if (is_of_foreign_page(server, request, failure))
		return NULL;
	if (strcmp(server->config->auth, "none") == 0)
		return anonymous(server, form, request->arena);
	caller = arena_allocate(request->arena, sizeof(*caller));
	if (access_key_authenticate(server->ring, form, request->arena, &claim, caller, failure) <
		0)
		return NULL;
	if (sigv4_check_service(&claim, service, failure) < 0)
		return NULL;
	if (!aws_region_is_known(claim.region)) {
		sigv4_refuse(failure, "InvalidSignatureException",
			"Credential should be scoped to a valid region.");
		return NULL;
	}
	admin_key_note_use(&server->admin_key);
	return caller;
}

void authentication_failed(struct server *server, const char *service, struct span operation,
	bool write, const struct aws_answer *answer)
{
	static const struct aws_caller none = {
		.account = SPAN(""), .user = SPAN(""), .access_key = SPAN(""), .region = SPAN("")};

	if (operation.length > AUDITED_NAME_MAX)
		operation.length = AUDITED_NAME_MAX;
	audit_record(server->audit, &(struct aws_audit){.time_ms = clock_wall_ms(server->clock),
					    .caller = &none,
					    .service = service,
					    .operation = operation,
					    .resource = SPAN(""),
					    .error_type = answer->error_type,
					    .status = answer->status,
					    .request_id = answer->request_id,
					    .write = write});
}

static void respond(struct http_exchange *exchange, int status, const char *request_id,
	struct span body)
{
	const struct http_header headers[] = {
		json_1_1[0],
		{SPAN("x-amzn-requestid"), span_of(request_id)},
	};

	http_respond_text(exchange, status, headers, request_id ? 2 : 1, body);
}

static void respond_error(struct http_exchange *exchange, int status, const char *type,
	struct span message)
{
	const struct http_request *request = http_exchange_request(exchange);
	struct json *body = json_new_object(request->arena);

	json_set_string(request->arena, body, "__type", span_of(type));
	json_set_string(request->arena, body, "message", message);
	respond(exchange, status, NULL, json_to_text(body, request->arena));
}

/* Operations of these protocols do not show in the request whether they change something: all count as changes. */
static void refuse_caller(struct server *server, struct http_exchange *exchange,
	const char *service, struct span operation, const struct sigv4_failure *failure)
{
	const struct http_request *request = http_exchange_request(exchange);
	struct json *body = json_new_object(request->arena);
	struct aws_answer answer = {.status = failure->status, .error_type = failure->type};
	char id[ID_UUID_SIZE];

	aws_dispatcher_new_id(server->dispatcher, id);
	answer.request_id = id;
	json_set_string(request->arena, body, "__type", span_of(failure->type));
	json_set_string(request->arena, body, "message", span_of(failure->message));
	authentication_failed(server, service, operation, true, &answer);
	respond(exchange, failure->status, id, json_to_text(body, request->arena));
}

static void answered(void *context, const struct aws_answer *answer)
{
	respond(context, answer->status, answer->request_id, answer->body);
}

/* ---- the query protocol ---- */

static void query_answered(void *context, const struct aws_answer *answer)
{
	const struct http_header headers[] = {
		{SPAN("content-type"), SPAN(AWS_QUERY_CONTENT_TYPE)},
		{SPAN("x-amzn-requestid"), span_of(answer->request_id)},
	};

	http_respond_text(context, answer->status, headers, LENGTH(headers), answer->body);
}

struct refusing_query {
	struct server *server;
	struct http_exchange *exchange;
	const char *service;
	struct span action;
};

static void query_refused(void *context, const struct aws_answer *answer)
{
	const struct refusing_query *refusing = context;

	authentication_failed(refusing->server, refusing->service, refusing->action, true, answer);
	query_answered(refusing->exchange, answer);
}

static void handle_query(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	struct aws_query *query = arena_allocate(request->arena, sizeof(*query));
	struct refusing_query refusing = {.server = server, .exchange = exchange};
	struct sigv4_failure failure = {0};
	const struct aws_caller *caller;

	aws_query_read(server->dispatcher,
		span_is(request->method, "GET") ? request->query : request->body, request->arena,
		query);
	if (!query->service && unoffered_refuse(server, exchange, request))
		return;
	refusing.service = query->service ? query->service->name : elb_service.name;
	refusing.action = query->action;
	caller = authenticate(server, request, refusing.service, &failure);
	if (caller)
		aws_query_dispatch(query, caller, request->arena, query_answered, exchange);
	else
		aws_query_refuse(query, failure.type, span_of(failure.message), query_refused,
			&refusing);
}

bool wire_is_query(const struct http_request *request)
{
	return !http_request_header(request, SPAN("x-amz-target")).data &&
	       aws_query_is_request(request->method,
		       http_request_header(request, SPAN("content-type")), request->query);
}

void wire_handle_get(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	if (wire_is_query(request))
		handle_query(server, exchange, request);
	else if (!unoffered_refuse(server, exchange, request))
		rest_refuse(exchange, 405, "MethodNotAllowed",
			"requests to the AWS APIs are POSTs, or GETs with an Action");
}

/* ---- JSON ---- */

void wire_handle(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	struct span target = http_request_header(request, SPAN("x-amz-target"));
	struct sigv4_failure failure = {0};
	const struct aws_service *service = NULL;
	const struct aws_caller *caller;
	struct span prefix, operation;

	if (wire_is_query(request)) {
		handle_query(server, exchange, request);
		return;
	}
	if (target.data && span_split(target, '.', &prefix, &operation))
		service = aws_dispatcher_find_target(server->dispatcher, prefix);
	if (!service && unoffered_refuse(server, exchange, request))
		return;
	caller = authenticate(server, request, service ? service->name : "ecs", &failure);
	if (!caller) {
		refuse_caller(server, exchange, service ? service->name : "ecs",
			service ? operation : SPAN(""), &failure);
		return;
	}
	if (!service) {
		respond_error(exchange, 400, "UnknownOperationException",
			target.data ? arena_format(request->arena,
					      "X-Amz-Target: there is no '%.*s' here",
					      SPAN_ARGS(target))
				    : SPAN("the header X-Amz-Target is missing"));
		return;
	}
	aws_dispatch(server->dispatcher, service, operation, caller, request->body, request->arena,
		answered, exchange);
}
