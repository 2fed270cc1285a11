/* See the header. */
#include "flow/api.h"

#include <stdio.h>

#include "base/memory.h"
#include "delivery/store_stream.h"
#include "flow/kinds.h"

#undef flow_api_fail

int flow_api_fail(struct aws_request *request, const char *type, const char *resource_type,
	struct span resource, const char *format, ...)
{
	struct json *extra = json_new_object(request->arena);
	char message[AWS_MESSAGE_MAX];
	va_list list;

	va_start(list, format);
	vsnprintf(message, sizeof(message), format, list);
	va_end(list);
	json_set_string(request->arena, extra, "resourceType", span_of(resource_type));
	json_set_string(request->arena, extra, "resourceId", resource);
	(void)aws_fail(request, type, "%s", message);
	request->failure.extra = extra;
	return -EPERM;
}

#define flow_api_fail(...) ERR_NEGATIVE(flow_api_fail(__VA_ARGS__))

int flow_api_find(struct aws_request *request, const struct store_object **ret_flow)
{
	struct span id = json_get_text(request->input, "id"), account = request->caller->account;

	*ret_flow = store_get(request->view, &flow_kind, flow_key(request->arena, account, id));
	if (!*ret_flow)
		*ret_flow = store_next(&(struct store_cursor){.view = request->view,
			.kind = &flow_kind,
			.index = FLOW_BY_HEAD,
			.prefix = arena_format(request->arena, "%.*s/%.*s/", SPAN_ARGS(account),
				SPAN_ARGS(id)),
			.descending = true});
	if (*ret_flow && !flow_facts(*ret_flow)->is_deleting)
		return 0;
	return flow_api_fail(request, "ResourceNotFoundException", "flow", id,
		"flow \"%.*s\" not found; it is neither the ID of a flow nor an application that "
		"has started one",
		SPAN_ARGS(id));
}

/* ---- documents ---- */

static void set_text(struct arena *arena, struct json *document, const char *name, struct span text)
{
	if (text.length > 0)
		json_set_string(arena, document, name, text);
}

static void set_time(struct arena *arena, struct json *document, const char *name, int64_t time_ms)
{
	if (time_ms > 0)
		json_set_time(arena, document, name, time_ms);
}

struct json *flow_api_document(struct arena *arena, const struct store_object *flow)
{
	const struct flow_facts *facts = flow_facts(flow);
	struct json *document = json_new_object(arena);
	struct span account, head = facts->head;

	span_split(facts->head, '/', &account, &head);
	json_set_string(arena, document, "id", facts->id);
	json_set_string(arena, document, "head", head);
	json_set_integer(arena, document, "deployment", facts->number);
	json_set_string(arena, document, "state", span_of(flow_state_name(facts->state)));
	set_text(arena, document, "reason",
		facts->is_damaged ? SPAN(FLOW_DAMAGED_TEXT)
				  : span_of(flow_reason_text(facts->closing)));
	json_set_string(arena, document, "trigger",
		span_of(deployment_trigger_name(facts->trigger)));
	set_text(arena, document, "createdBy", facts->created_by);
	set_text(arena, document, "commit", facts->commit);
	json_set_integer(arena, document, "nodeCount", facts->node_count);
	json_set_time(arena, document, "createdAt", facts->created_ms);
	set_time(arena, document, "startedAt", facts->started_ms);
	set_time(arena, document, "endedAt", facts->ended_ms);
	return document;
}

struct json *flow_api_node_document(struct arena *arena, const struct store_object *node)
{
	const struct flow_node_facts *facts = flow_node_facts(node);
	struct json *document;

	if (json_parse(node->api, arena, &document, NULL) < 0)
		document = json_new_object(arena);
	json_set_integer(arena, document, "node", facts->node);
	json_set_string(arena, document, "state", span_of(flow_node_state_name(facts->state)));
	if (facts->phase != FLOW_PHASE_NONE)
		json_set_string(arena, document, "phase", span_of(flow_phase_name(facts->phase)));
	set_text(arena, document, "commit", facts->commit);
	set_text(arena, document, "commitSource", span_of(flow_commit_source_text(facts->source)));
	set_text(arena, document, "deploymentId", facts->deployment);
	if (facts->run > 0)
		json_set_integer(arena, document, "run", facts->run);
	set_text(arena, document, "digest", facts->digest);
	set_time(arena, document, "since", facts->since_ms);
	set_time(arena, document, "deadlineAt", facts->deadline_ms);
	set_time(arena, document, "startedAt", facts->started_ms);
	set_time(arena, document, "endedAt", facts->ended_ms);
	return document;
}

/* ---- streams ---- */

static struct json *stream_flow(const void *context, const struct store_object *object,
	const struct store_view *view, struct arena *arena)
{
	(void)context;
	(void)view;
	return flow_facts(object)->is_deleting ? NULL : flow_api_document(arena, object);
}

static struct json *stream_node(const void *context, const struct store_object *object,
	const struct store_view *view, struct arena *arena)
{
	struct json *document = flow_api_node_document(arena, object);

	(void)context;
	(void)view;
	json_set_string(arena, document, "flow", flow_node_facts(object)->flow);
	return document;
}

static int open_stream(struct aws_request *request, struct store_stream_config config,
	struct delivery_stream **ret_stream)
{
	const struct flow_stream_context *context = request->context;
	struct err err = {0};
	uint64_t position;
	int code;

	config.store = context->store;
	config.arena = arena_new(0);
	config.prefix = arena_copy_span(config.arena, config.prefix);
	if (delivery_stream_resumes(request, &position))
		config.position = &position;
	code = store_stream_open(&config, ret_stream, &err);
	return code < 0 ? delivery_stream_fail(request, code, &err) : 0;
}

static int open_flows(struct aws_request *request, struct delivery_stream_wake wake,
	struct delivery_stream **ret_stream)
{
	static const struct delivery_stream_type type = {"flow", NULL};
	struct store_stream_config config = {.type = &type,
		.kind = &flow_kind,
		.prefix =
			arena_format(request->arena, "%.*s/", SPAN_ARGS(request->caller->account)),
		.document = stream_flow,
		.wake = wake};

	return open_stream(request, config, ret_stream);
}

/* Nodes that have changed since their flow was created. */
static int open_nodes(struct aws_request *request, struct delivery_stream_wake wake,
	struct delivery_stream **ret_stream)
{
	static const struct delivery_stream_type type = {"node", NULL};
	struct store_stream_config config = {.type = &type,
		.kind = &flow_node_kind,
		.prefix = arena_format(request->arena, "%.*s/%.*s/",
			SPAN_ARGS(request->caller->account),
			SPAN_ARGS(json_get_text(request->input, "id"))),
		.document = stream_node,
		.wake = wake};

	return open_stream(request, config, ret_stream);
}

const struct delivery_stream_operation flow_streams[] = {
	{"StreamFlowNodes", open_nodes},
	{"StreamFlows", open_flows},
};
const size_t flow_stream_count = LENGTH(flow_streams);

/* ---- operations ---- */

/* "arn:aws:slipway:REGION:ACCOUNT:flow/ID", for policies. */
static void resources(struct aws_request *request, struct aws_resources *list)
{
	list->arns[list->count++] =
		arena_format(request->arena, "arn:aws:slipway:%.*s:%.*s:flow/%.*s",
			SPAN_ARGS(request->caller->region), SPAN_ARGS(request->caller->account),
			SPAN_ARGS(json_get_text(request->input, "id")));
}

#define WRITE(name_, run_)                                                                         \
	{                                                                                          \
		.name = (name_), .mode = AWS_WRITE, .run = (run_), .resources = resources          \
	}

const struct aws_operation flow_operations[] = {
	WRITE("ApproveFlowNode", flow_api_approve),
	WRITE("CancelFlow", flow_api_cancel),
	{.name = "GetFlow", .mode = AWS_READ, .run = flow_api_get, .resources = resources},
	{.name = "ListFlows", .mode = AWS_READ, .run = flow_api_list},
	WRITE("RejectFlowNode", flow_api_reject),
	WRITE("RetryFlow", flow_api_retry),
};
const size_t flow_operation_count = LENGTH(flow_operations);
