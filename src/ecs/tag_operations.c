/* The operations on tags: which ARN names which kind of object, and reading and changing what it has. */
#include "ecs/tag_operations.h"

#include "aws/arn.h"
#include "aws/tag_list.h"
#include "ecs/definition/task_definition.h"
#include "ecs/record/capacity_provider.h"
#include "ecs/record/cluster.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/name.h"
#include "ecs/record/service_kind.h"
#include "ecs/record/tags.h"
#include "ecs/record/task.h"

/* ---- which object an ARN means ---- */

static const struct store_object *find_cluster(struct aws_request *request, struct span name)
{
	return store_get(request->view, &cluster_kind, aws_key(request, name));
}

static const struct store_object *find_task_definition(struct aws_request *request,
	struct span name)
{
	return task_definition_get(request, name);
}

static const struct store_object *find_capacity_provider(struct aws_request *request,
	struct span name)
{
	return store_get(request->view, &capacity_provider_kind, aws_key(request, name));
}

static const struct store_object *find_container_instance(struct aws_request *request,
	struct span name)
{
	return container_instance_get(request, name);
}

static const struct store_object *find_service(struct aws_request *request, struct span name)
{
	return store_get(request->view, &service_kind, aws_key(request, name));
}

static const struct store_object *find_task(struct aws_request *request, struct span name)
{
	return store_get(request->view, &task_kind, aws_key(request, name));
}

/* "CLUSTER/SERVICE/ecs-svc/NUMBER"; the key has no "ecs-svc". */
static const struct store_object *find_task_set(struct aws_request *request, struct span name)
{
	struct span cluster, service, rest;

	if (!span_split(name, '/', &cluster, &rest) || !span_split(rest, '/', &service, &rest) ||
		!span_starts_with(rest, SPAN(SERVICE_DEPLOYMENT_PREFIX)))
		return NULL;
	rest.data += strlen(SERVICE_DEPLOYMENT_PREFIX);
	rest.length -= strlen(SERVICE_DEPLOYMENT_PREFIX);
	return store_get(request->view, &task_set_kind,
		aws_key(request, arena_format(request->arena, "%.*s/%.*s/%.*s", SPAN_ARGS(cluster),
					 SPAN_ARGS(service), SPAN_ARGS(rest))));
}

static const struct taggable {
	const char *type; /* in the ARN */
	const struct store_object *(*find)(struct aws_request *request, struct span name);
} taggables[] = {
	{"capacity-provider", find_capacity_provider},
	{"cluster", find_cluster},
	{"container-instance", find_container_instance},
	{"service", find_service},
	{"task", find_task},
	{"task-definition", find_task_definition},
	{"task-set", find_task_set},
};

/* NULL when it is not the ARN of anything that can have tags. */
static const struct taggable *find_taggable(struct span requested)
{
	struct aws_arn arn;
	struct span type, name;

	if (!aws_arn_looks_like(requested) || !aws_arn_parse(requested, &arn) ||
		!span_is(arn.service, "ecs") || !span_split(arn.resource, '/', &type, &name))
		return NULL;
	for (size_t i = 0; i < LENGTH(taggables); i++)
		if (span_is(type, taggables[i].type))
			return &taggables[i];
	return NULL;
}

/* Fails with the error that the model has for the operation. */
static int fail_missing(struct aws_request *request, struct span requested)
{
	const struct shape_service *shapes = request->service->shapes;
	const struct shape_operation *operation =
		shape_find_operation(shapes, span_of(request->operation->name));
	static const char format[] = "The specified resource was not found: %.*s";

	if (find_taggable(requested)->find == find_cluster)
		return aws_fail(request, "ClusterNotFoundException", "Cluster not found.");
	if (shape_operation_has_error(shapes, operation, SPAN("ResourceNotFoundException")))
		return aws_fail(request, "ResourceNotFoundException", format, SPAN_ARGS(requested));
	return aws_fail_input(request, format, SPAN_ARGS(requested));
}

static int find_tagged(struct aws_request *request, const struct store_object **ret_object)
{
	struct span requested = json_get_text(request->input, "resourceArn");
	const struct taggable *taggable = find_taggable(requested);
	const struct store_object *object;
	struct span name;

	if (!taggable)
		return aws_fail_input(request,
			"resourceArn: '%.*s' is not the ARN of an ECS resource that can "
			"have tags",
			SPAN_ARGS(requested));
	if (ecs_resolve(request, "resourceArn", taggable->type, requested, &name) < 0)
		return -EPERM;
	object = taggable->find(request, name);
	if (!object)
		return fail_missing(request, requested);
	if (object->kind == &cluster_kind && !cluster_facts(object)->active)
		return aws_fail_input(request,
			"The specified cluster is inactive. Specify an active "
			"cluster and try again.");
	*ret_object = object;
	return 0;
}

static int put_tags(struct aws_request *request, const struct store_object *object,
	const struct json *tags)
{
	const struct json *old = tags_private_document(request, object);
	struct json *document =
		old ? json_copy_object(request->arena, old) : json_new_object(request->arena);

	json_set(request->arena, document, "tags", tags);
	if (store_put(request->transaction, object->kind, object->key, object->api,
		    json_to_text(document, request->arena), object->revision, &request->err) < 0)
		return aws_fail_store(request);
	buffer_add_string(request->out, "{}");
	return 0;
}

void tags_resources(struct aws_request *request, struct aws_resources *resources)
{
	struct span requested = json_get_text(request->input, "resourceArn");
	const struct taggable *taggable = find_taggable(requested);

	resources->arns[resources->count++] =
		taggable ? ecs_canonical_arn(request, taggable->type, requested)
			 : (requested.data ? requested : SPAN(""));
}

int tags_prepare(struct aws_request *request)
{
	return aws_tag_list_check(request, json_get(request->input, "tags"));
}

int tags_tag(struct aws_request *request)
{
	const struct store_object *object;
	const struct json *merged;

	if (find_tagged(request, &object) < 0 ||
		aws_tag_list_merge(request, tags_of(request, object),
			json_get(request->input, "tags"), &merged) < 0)
		return -EPERM;
	return put_tags(request, object, merged);
}

int tags_untag(struct aws_request *request)
{
	const struct store_object *object;

	if (find_tagged(request, &object) < 0)
		return -EPERM;
	return put_tags(request, object,
		aws_tag_list_without(request, tags_of(request, object),
			json_get(request->input, "tagKeys")));
}

int tags_list(struct aws_request *request)
{
	const struct store_object *object;

	if (find_tagged(request, &object) < 0)
		return -EPERM;
	buffer_add_string(request->out, "{\"tags\":");
	json_write(tags_of(request, object), request->out);
	buffer_add_char(request->out, '}');
	return 0;
}
