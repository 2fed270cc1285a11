/* Container instances: the kind, and the operations of agents and clients on it; see the header. */
#include "ecs/container_instance.h"

#include <stdio.h>

#include "aws/arn.h"
#include "aws/page.h"
#include "aws/tag_list.h"
#include "ecs/attribute.h"
#include "ecs/cluster.h"
#include "ecs/name.h"
#include "ecs/tags.h"

#define DESCRIBE_MAX 100

/* ---- the kind ---- */

static int extract(const struct store_object *object, void *facts, struct arena *scratch,
		   struct err *err)
{
	static const struct span statuses[] = {SPAN("ACTIVE"), SPAN("DRAINING"), SPAN("INACTIVE")};
	struct container_instance_facts *instance = facts;
	struct json *private_;
	struct span status;
	int code = json_parse(object->private_, scratch, &private_, err);

	if (code < 0)
		return code;
	if (!span_split(ecs_name_of_key(object->key), '/', &instance->cluster, &instance->id))
		return err_set(err, -EINVAL, "'%.*s' is not the key of a container instance",
			       SPAN_ARGS(object->key));
	status = json_get_text(private_, "status");
	for (size_t i = 0; i < LENGTH(statuses); i++)
		if (span_equal(status, statuses[i])) {
			instance->status = statuses[i];
			return 0;
		}
	return err_set(err, -EINVAL, "'%.*s' is not a status of a container instance",
		       SPAN_ARGS(status.data ? status : SPAN("")));
}

static void write_attributes(const struct store_object *object, struct store_index_writer *writer)
{
	const struct container_instance_facts *facts = container_instance_facts(object);
	size_t scope = (size_t)(facts->id.data - object->key.data);
	struct arena *arena = arena_new(0);
	struct json *document;

	if (json_parse(object->api, arena, &document, NULL) == 0)
		JSON_EACH_ITEM(json_get(document, "attributes"), attribute) {
			struct span value = json_get_text(attribute, "value");

			store_index_add_format(writer, "%.*s%.*s=%.*s", (int)scope, object->key.data,
					       SPAN_ARGS(json_get_text(attribute, "name")),
					       SPAN_ARGS(value.data ? value : SPAN("")));
		}
	arena_free(arena);
}

static const struct store_index indexes[CONTAINER_INSTANCE_INDEX_COUNT] = {
	[CONTAINER_INSTANCE_BY_ATTRIBUTE] = {.name = "attribute", .write = write_attributes},
};

const struct store_kind container_instance_kind = {
	.name = "ecs.container_instance",
	.facts_size = sizeof(struct container_instance_facts),
	.extract = extract,
	.indexes = indexes,
	.index_count = LENGTH(indexes),
};

/* ---- finding ---- */

const struct store_object *container_instance_get(struct aws_request *request, struct span name)
{
	return store_get(request->view, &container_instance_kind, ecs_key(request, name));
}

const struct store_object *container_instance_in(struct aws_request *request,
						 const struct store_object *cluster,
						 struct span given)
{
	struct span cluster_name = cluster_facts(cluster)->name;
	struct span name, in, id;

	if (!ecs_try_resolve(request->caller, "container-instance", given, &name))
		return NULL;
	if (!span_split(name, '/', &in, &id))
		id = name;
	else if (!span_equal(in, cluster_name))
		return NULL;
	return container_instance_get(request, arena_format(request->arena, "%.*s/%.*s",
							    SPAN_ARGS(cluster_name),
							    SPAN_ARGS(id)));
}

uint64_t container_instance_count(const struct store_view *view,
				  const struct store_object *cluster)
{
	char prefix[STORE_KEY_MAX + 2];
	int length = snprintf(prefix, sizeof(prefix), "%.*s/", SPAN_ARGS(cluster->key));

	return store_count(view, &container_instance_kind, -1,
			   (struct span){prefix, (size_t)length}, false);
}

static struct span instance_arn(struct aws_request *request, const struct store_object *instance)
{
	return ecs_arn(request, "container-instance", ecs_name_of_key(instance->key));
}

/* ---- documents ---- */

static struct json *instance_document(struct aws_request *request,
				      const struct store_object *instance, bool tags)
{
	struct json *stored, *document;

	if (json_parse(instance->api, request->arena, &stored, NULL) < 0)
		return json_new_object(request->arena);
	document = json_copy_object(request->arena, stored);
	json_set_string(request->arena, document, "status",
			container_instance_facts(instance)->status);
	json_set_integer(request->arena, document, "runningTasksCount", 0);
	json_set_integer(request->arena, document, "pendingTasksCount", 0);
	tags_set(request, document, tags ? tags_of(request, instance) : NULL);
	return document;
}

static struct span private_text(struct aws_request *request, struct span status,
				const struct json *tags)
{
	struct json *private_ = json_new_object(request->arena);

	json_set_string(request->arena, private_, "status", status);
	tags_set(request, private_, tags);
	return json_to_text(private_, request->arena);
}

static int answer(struct aws_request *request, struct json *document)
{
	buffer_add_string(request->out, "{\"containerInstance\":");
	json_write(document, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

/* ---- operations ---- */

int container_instance_register_prepare(struct aws_request *request)
{
	JSON_EACH_ITEM(json_get(request->input, "attributes"), attribute)
		if (attribute_check(request, "attributes", attribute) < 0)
			return -EPERM;
	JSON_EACH_ITEM(json_get(request->input, "totalResources"), resource)
		if (json_get_text(resource, "name").length == 0)
			return aws_fail_input(request, "totalResources: a resource has no name");
	return aws_tag_list_check(request, json_get(request->input, "tags"));
}

/* The id: the one the agent had before, if it names one, else a new one. */
static int choose_id(struct aws_request *request, const struct store_object *cluster,
		     struct span *ret_id)
{
	struct span given = json_get_text(request->input, "containerInstanceArn");
	const struct store_object *known;
	char id[ID_HEX_SIZE];

	if (given.length == 0) {
		id_hex(request->random, id);
		*ret_id = arena_copy_span(request->arena, span_of(id));
		return 0;
	}
	known = container_instance_in(request, cluster, given);
	if (!known)
		return aws_fail(request, "ClientException",
				"containerInstanceArn: '%.*s' is not registered in cluster '%.*s'",
				SPAN_ARGS(given), SPAN_ARGS(cluster_facts(cluster)->name));
	*ret_id = container_instance_facts(known)->id;
	return 0;
}

int container_instance_register(struct aws_request *request)
{
	static const char *const echoed[] = {"versionInfo", "attributes"};
	struct arena *arena = request->arena;
	const struct json *resources = json_get(request->input, "totalResources");
	const struct store_object *cluster;
	struct json *document = json_new_object(arena);
	const struct json *tags;
	struct span id, name;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0 ||
	    choose_id(request, cluster, &id) < 0 ||
	    aws_tag_list_merge(request, NULL, json_get(request->input, "tags"), &tags) < 0)
		return -EPERM;
	name = arena_format(arena, "%.*s/%.*s", SPAN_ARGS(cluster_facts(cluster)->name),
			    SPAN_ARGS(id));
	request->resource = ecs_arn(request, "container-instance", name);
	if (json_is_absent(resources))
		resources = json_new_array(arena);
	json_set_string(arena, document, "containerInstanceArn", request->resource);
	json_set_integer(arena, document, "version", 1);
	json_set(arena, document, "registeredResources", resources);
	json_set(arena, document, "remainingResources", resources);
	json_set_string(arena, document, "status", SPAN("ACTIVE"));
	json_set_bool(arena, document, "agentConnected", true);
	json_set(arena, document, "attributes", json_new_array(arena));
	for (size_t i = 0; i < LENGTH(echoed); i++)
		if (!json_is_absent(json_get(request->input, echoed[i])))
			json_set(arena, document, echoed[i], json_get(request->input, echoed[i]));
	json_set(arena, document, "attachments", json_new_array(arena));
	json_set_time(arena, document, "registeredAt", request->now_ms);
	if (store_put(request->transaction, &container_instance_kind, ecs_key(request, name),
		      json_to_text(document, arena), private_text(request, SPAN("ACTIVE"), tags),
		      STORE_ANY, &request->err) < 0)
		return aws_fail_store(request);
	json_set_integer(arena, document, "runningTasksCount", 0);
	json_set_integer(arena, document, "pendingTasksCount", 0);
	tags_set(request, document, tags);
	return answer(request, document);
}

int container_instance_deregister(struct aws_request *request)
{
	struct span given = json_get_text(request->input, "containerInstance");
	const struct store_object *cluster, *instance;
	struct json *document;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	instance = container_instance_in(request, cluster, given);
	if (!instance)
		return aws_fail_input(request,
				      "containerInstance: '%.*s' was not found in cluster '%.*s'",
				      SPAN_ARGS(given), SPAN_ARGS(cluster_facts(cluster)->name));
	document = instance_document(request, instance, true);
	json_set_string(request->arena, document, "status", SPAN("INACTIVE"));
	json_set_bool(request->arena, document, "agentConnected", false);
	request->resource = instance_arn(request, instance);
	if (store_delete(request->transaction, &container_instance_kind, instance->key,
			 instance->revision, &request->err) < 0)
		return aws_fail_store(request);
	return answer(request, document);
}

int container_instance_describe(struct aws_request *request)
{
	const struct json *given = json_get(request->input, "containerInstances");
	struct json *instances = json_new_array(request->arena);
	struct json *failures = json_new_array(request->arena);
	const struct store_object *cluster;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	if (json_count(given) == 0 || json_count(given) > DESCRIBE_MAX)
		return aws_fail_input(request, "containerInstances: give 1 to %d of them",
				      DESCRIBE_MAX);
	JSON_EACH_ITEM(given, item) {
		struct span text = json_text(item);
		const struct store_object *instance =
			container_instance_in(request, cluster, text);

		if (instance)
			json_append(request->arena, instances,
				    instance_document(request, instance,
						      input_includes(request, "TAGS")));
		else
			json_append(request->arena, failures,
				    ecs_failure_missing(
					    request,
					    aws_arn_looks_like(text)
						    ? text
						    : ecs_arn(request, "container-instance",
							      arena_format(request->arena, "%.*s/%.*s",
									   SPAN_ARGS(cluster_facts(cluster)->name),
									   SPAN_ARGS(text)))));
	}
	buffer_add_string(request->out, "{\"containerInstances\":");
	json_write(instances, request->out);
	buffer_add_string(request->out, ",\"failures\":");
	json_write(failures, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

int container_instance_list(struct aws_request *request)
{
	struct span status = json_get_text(request->input, "status");
	struct store_cursor cursor = {.view = request->view,
				      .kind = &container_instance_kind,
				      .index = -1};
	const struct store_object *cluster, *instance, *last = NULL;
	struct aws_page page;
	struct span filters;
	size_t count = 0;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	if (json_get_text(request->input, "filter").length > 0)
		return aws_fail_input(request, "filter: the cluster query language is not supported "
					       "here yet");
	filters = arena_format(request->arena, "%.*s %.*s", SPAN_ARGS(cluster->key),
			       SPAN_ARGS(status.data ? status : SPAN("")));
	if (aws_page_read(request, 100, 100, filters, &page) < 0)
		return -EPERM;
	cursor.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(cluster->key));
	cursor.after_key = page.after_key;
	buffer_add_string(request->out, "{\"containerInstanceArns\":[");
	while ((instance = store_next(&cursor))) {
		if (status.data && !span_equal(status, container_instance_facts(instance)->status))
			continue;
		if (count == page.most)
			break;
		if (count++ > 0)
			buffer_add_char(request->out, ',');
		json_write_string(instance_arn(request, instance), request->out);
		last = instance;
	}
	buffer_add_char(request->out, ']');
	if (instance && last)
		buffer_format(request->out, ",\"nextToken\":\"%.*s\"",
			      SPAN_ARGS(aws_page_token(request, filters, SPAN(""), last->key)));
	buffer_add_char(request->out, '}');
	return 0;
}
