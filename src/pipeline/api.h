/* The operations on applications, which are slipway's own (api/slipway.json). */
#ifndef PIPELINE_API_H
#define PIPELINE_API_H

#include "aws/service.h"
#include "delivery/stream.h"
#include "pipeline/settings.h"

/* Rows for the table of service "slipway", sorted by name. */
extern const struct aws_operation pipeline_operations[];
extern const size_t pipeline_operation_count;

/* Their streams of changes (api_stream.c). */
extern const struct delivery_stream_operation pipeline_streams[];
extern const size_t pipeline_stream_count;

/* Context of the operations. */
struct pipeline_context {
	struct store *store; /* NULL: not open yet */
	const struct pipeline_settings *settings;
};

/* api_sync.c */
int api_sync_prepare(struct aws_request *request);
int api_sync(struct aws_request *request);
/* api_read.c */
int api_list_applications(struct aws_request *request);
int api_get_application(struct aws_request *request);
int api_list_deployments(struct aws_request *request);
int api_get_deployment(struct aws_request *request);
int api_get_log(struct aws_request *request);
/* api_state.c */
int api_get_state(struct aws_request *request);
/* api_repository.c */
int api_add_prepare(struct aws_request *request);
int api_add_application(struct aws_request *request);
int api_add_repository(struct aws_request *request);
int api_list_repositories(struct aws_request *request);
int api_poll_repository(struct aws_request *request);
int api_delete_repository(struct aws_request *request);
/* Of the application file: where it is in Git, and what was found there. */
void api_show_origin(struct aws_request *request, const struct store_object *application,
	struct json *document);
/* api_change.c */
int api_delete_application(struct aws_request *request);
int api_approve(struct aws_request *request);
int api_reject(struct aws_request *request);
int api_skip(struct aws_request *request);
int api_cancel(struct aws_request *request);
int api_retry_rollback(struct aws_request *request);
int api_roll_back(struct aws_request *request);

/* ---- stop_switch.c ---- */

int api_get_switch(struct aws_request *request);
int api_stop(struct aws_request *request);
int api_resume(struct aws_request *request);

/* ---- shared by operations ---- */

/* With the resource that is meant. type and resource_type are literals. Returns -EPERM. */
int api_fail(struct aws_request *request, const char *type, const char *resource_type,
	struct span resource, const char *format, ...) __attribute__((format(printf, 5, 6)));
#define api_fail(...) ERR_NEGATIVE(api_fail(__VA_ARGS__))

/* A page of a list: {"MEMBER": [...], "nextToken"}. show: NULL leaves an object out. */
int api_list(struct aws_request *request, struct store_cursor cursor, const char *member,
	struct json *(*show)(struct aws_request *request, const struct store_object *object));
struct json *api_show_application(struct aws_request *request,
	const struct store_object *application);
struct span api_key(const struct aws_request *request);
/* Of `name` and `id` of the input; the id may also be a number, or "latest". Fail the request. */
int api_find_application(struct aws_request *request, const struct store_object **ret_application);
/* The latest deployment that is no plan; NULL. */
const struct store_object *api_find_latest(struct aws_request *request, struct span application);
int api_find_deployment(struct aws_request *request, const struct store_object **ret_deployment);

#endif
