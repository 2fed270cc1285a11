/* See the header. */
#include "pipeline/api.h"

#include <stdio.h>

#include "base/memory.h"
#include "pipeline/kinds.h"

#undef api_fail

int api_fail(struct aws_request *request, const char *type, const char *resource_type,
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

struct span api_key(const struct aws_request *request)
{
	return application_key(request->arena, request->caller->account,
		json_get_text(request->input, "name"));
}

int api_find_application(struct aws_request *request, const struct store_object **ret_application)
{
	struct span name = json_get_text(request->input, "name");

	*ret_application = store_get(request->view, &application_kind, api_key(request));
	if (*ret_application)
		return 0;
	return api_fail(request, "ResourceNotFoundException", "application", name,
		"application \"%.*s\" not found", SPAN_ARGS(name));
}

const struct store_object *api_find_latest(struct aws_request *request, struct span application)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &deployment_kind,
		.index = DEPLOYMENT_BY_NUMBER,
		.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(application)),
		.descending = true};
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		if (deployment_facts(object)->trigger != DEPLOYMENT_TRIGGER_PLAN)
			return object;
	}
	return NULL;
}

int api_find_deployment(struct aws_request *request, const struct store_object **ret_deployment)
{
	struct span id = json_get_text(request->input, "id"), key = api_key(request);
	const struct store_object *application;
	uint64_t number;

	if (api_find_application(request, &application) < 0)
		return -EPERM;
	if (span_is(id, "latest"))
		*ret_deployment = api_find_latest(request, key);
	else if (span_to_unsigned(id, INT32_MAX, &number))
		*ret_deployment = store_next(&(struct store_cursor){.view = request->view,
			.kind = &deployment_kind,
			.index = DEPLOYMENT_BY_NUMBER,
			.prefix = arena_format(request->arena, "%.*s/%010llu", SPAN_ARGS(key),
				(unsigned long long)number),
			.exact = true});
	else
		*ret_deployment = store_get(request->view, &deployment_kind,
			deployment_key(request->arena, key, id));
	if (*ret_deployment)
		return 0;
	return api_fail(request, "ResourceNotFoundException", "deployment", id,
		"application \"%.*s\" has no deployment \"%.*s\"",
		SPAN_ARGS(application_facts(application)->name), SPAN_ARGS(id));
}

/* "arn:aws:slipway:REGION:ACCOUNT:application/NAME", for policies. */
static void resources(struct aws_request *request, struct aws_resources *list)
{
	list->arns[list->count++] =
		arena_format(request->arena, "arn:aws:slipway:%.*s:%.*s:application/%.*s",
			SPAN_ARGS(request->caller->region), SPAN_ARGS(request->caller->account),
			SPAN_ARGS(json_get_text(request->input, "name")));
}

#define READ(name_, run_)                                                                          \
	{                                                                                          \
		.name = (name_), .mode = AWS_READ, .run = (run_), .resources = resources           \
	}
#define WRITE(name_, run_)                                                                         \
	{                                                                                          \
		.name = (name_), .mode = AWS_WRITE, .run = (run_), .resources = resources          \
	}

const struct aws_operation pipeline_operations[] = {
	{.name = "AddApplication",
		.mode = AWS_WRITE,
		.prepare = api_add_prepare,
		.run = api_add_application,
		.resources = resources},
	{.name = "AddRepository",
		.mode = AWS_WRITE,
		.prepare = api_add_prepare,
		.run = api_add_repository},
	WRITE("ApproveApplicationStage", api_approve),
	WRITE("CancelApplicationDeployment", api_cancel),
	WRITE("DeleteApplication", api_delete_application),
	{.name = "DeleteRepository", .mode = AWS_WRITE, .run = api_delete_repository},
	READ("GetApplication", api_get_application),
	READ("GetApplicationDeployment", api_get_deployment),
	READ("GetApplicationDeploymentLog", api_get_log),
	READ("GetApplicationState", api_get_state),
	READ("ListApplicationDeployments", api_list_deployments),
	{.name = "GetApplicationSwitch", .mode = AWS_READ, .run = api_get_switch},
	{.name = "ListApplications", .mode = AWS_READ, .run = api_list_applications},
	{.name = "ListRepositories", .mode = AWS_READ, .run = api_list_repositories},
	{.name = "PollRepository", .mode = AWS_WRITE, .run = api_poll_repository},
	WRITE("RejectApplicationStage", api_reject),
	{.name = "ResumeApplications", .mode = AWS_WRITE, .run = api_resume},
	WRITE("RetryApplicationRollback", api_retry_rollback),
	WRITE("RollBackApplicationDeployment", api_roll_back),
	WRITE("SkipApplicationStage", api_skip),
	{.name = "StopApplications", .mode = AWS_WRITE, .run = api_stop},
	{.name = "SyncApplication",
		.mode = AWS_WRITE,
		.prepare = api_sync_prepare,
		.run = api_sync,
		.resources = resources},
};
const size_t pipeline_operation_count = LENGTH(pipeline_operations);
