/* StreamDeployments: deployments of the caller's applications as they change (delivery/stream.h). */
#include "base/memory.h"
#include "delivery/store_stream.h"
#include "pipeline/api.h"
#include "pipeline/record.h"

static const struct delivery_stream_type deployment_type = {.member = "deployment"};

/* A deployment that cannot be read is left out. */
static struct json *document(const void *context, const struct store_object *object,
	const struct store_view *view, struct arena *arena)
{
	struct deployment_record record;

	(void)context;
	(void)view;
	return deployment_read(object, arena, &record, NULL) < 0
		       ? NULL
		       : deployment_document(&record, arena);
}

static int open_deployments(struct aws_request *request, struct delivery_stream_wake wake,
	struct delivery_stream **ret_stream)
{
	const struct pipeline_context *context = request->context;
	struct span name = json_get_text(request->input, "application"),
		    account = request->caller->account;
	uint64_t position;
	bool resumes = delivery_stream_resumes(request, &position);
	struct store_stream_config config = {.store = context->store,
		.type = &deployment_type,
		.kind = &deployment_kind,
		.prefix = name.data ? arena_format(request->arena, "%.*s/%.*s/", SPAN_ARGS(account),
					      SPAN_ARGS(name))
				    : arena_format(request->arena, "%.*s/", SPAN_ARGS(account)),
		.document = document,
		.position = resumes ? &position : NULL,
		.wake = wake};
	struct err err = {0};
	int code;

	config.arena = arena_new(0);
	code = store_stream_open(&config, ret_stream, &err);
	return code < 0 ? delivery_stream_fail(request, code, &err) : 0;
}

const struct delivery_stream_operation pipeline_streams[] = {
	{"StreamDeployments", open_deployments},
};
const size_t pipeline_stream_count = LENGTH(pipeline_streams);
