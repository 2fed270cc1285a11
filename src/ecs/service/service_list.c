/* ListServices and ListServicesByNamespace. */
#include "aws/page.h"
#include "ecs/record/cluster.h"
#include "ecs/record/name.h"
#include "ecs/record/namespace.h"
#include "ecs/service/service.h"

#define LIST_DEFAULT 10
#define LIST_MAX 100

struct filters {
	struct span launch_type; /* data NULL: any */
	struct span strategy;
	struct span managed;
};

static bool passes(const struct store_object *service, const struct filters *filters)
{
	const struct service_facts *facts = service_facts(service);

	if (filters->launch_type.data && !span_equal(filters->launch_type, facts->launch_type))
		return false;
	if (filters->strategy.data &&
		!span_is(filters->strategy, service_strategy_name(facts->strategy)))
		return false;
	/* Nothing here is managed by ECS itself. */
	return !filters->managed.data || span_is(filters->managed, "CUSTOMER");
}

/* Text that stands for the filters in tokens. */
static struct span filters_text(struct aws_request *request, const struct store_object *cluster,
	const struct filters *filters)
{
	return arena_format(request->arena, "%.*s %.*s %.*s %.*s", SPAN_ARGS(cluster->key),
		SPAN_ARGS(filters->launch_type), SPAN_ARGS(filters->strategy),
		SPAN_ARGS(filters->managed));
}

int service_list(struct aws_request *request)
{
	struct filters filters = {json_get_text(request->input, "launchType"),
		json_get_text(request->input, "schedulingStrategy"),
		json_get_text(request->input, "resourceManagementType")};
	const struct store_object *cluster, *service, *last = NULL;
	struct store_cursor cursor = {.view = request->view,
		.kind = &service_kind,
		.index = SERVICE_BY_LISTED,
		.exact = true};
	struct span text;
	struct aws_page page;
	size_t count = 0;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	text = filters_text(request, cluster, &filters);
	if (aws_page_read(request, LIST_DEFAULT, LIST_MAX, text, &page) < 0)
		return -EPERM;
	cursor.prefix = cluster->key;
	cursor.after_text = page.after_text;
	cursor.after_key = page.after_key;
	buffer_add_string(request->out, "{\"serviceArns\":[");
	while ((service = store_next(&cursor))) {
		if (!passes(service, &filters))
			continue;
		if (count == page.most)
			break;
		if (count++ > 0)
			buffer_add_char(request->out, ',');
		json_write_string(ecs_arn(request, "service", aws_name_of_key(service->key)),
			request->out);
		last = service;
	}
	buffer_add_char(request->out, ']');
	if (service)
		buffer_format(request->out, ",\"nextToken\":\"%.*s\"",
			SPAN_ARGS(aws_page_token(request, text, cursor.prefix, last->key)));
	buffer_add_char(request->out, '}');
	return 0;
}

/* Services join namespaces by Service Connect, which slipway has not: no namespace has any. */
int service_list_by_namespace(struct aws_request *request)
{
	struct span name = json_get_text(request->input, "namespace");
	struct aws_page page;

	if (name.length == 0)
		return aws_fail_input(request, "namespace: must not be empty");
	if (aws_page_read(request, LIST_DEFAULT, LIST_MAX, name, &page) < 0)
		return -EPERM;
	if (!ecs_find_namespace(request, name))
		return aws_fail(request, "NamespaceNotFoundException",
			"namespace: there is no namespace '%.*s'", SPAN_ARGS(name));
	buffer_add_string(request->out, "{\"serviceArns\":[]}");
	return 0;
}
