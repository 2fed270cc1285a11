/* Container instances: the kind, and the operations of agents and clients on it; see the header. */
#include "ecs/container_instance.h"

#include <stdio.h>

#include "aws/arn.h"
#include "aws/page.h"
#include "aws/tag_list.h"
#include "ecs/attribute.h"
#include "ecs/cluster.h"
#include "ecs/cluster_query.h"
#include "ecs/document.h"
#include "ecs/name.h"
#include "ecs/tags.h"

#define DESCRIBE_MAX 100
#define REGISTERED_ATTRIBUTES_MAX 500
/* That one request looks at: a page may come with fewer than it could hold, and a token. */
#define INSTANCES_SCANNED_MAX 1000
#define RESOURCES_MAX 100
#define IDENTITY_MAX 16384
#define EC2_INSTANCE_ID_MAX 64

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
		JSON_EACH_ITEM (json_get(document, "attributes"), attribute) {
			struct span value = json_get_text(attribute, "value");

			store_index_add_format(writer, "%.*s%.*s=%.*s", (int)scope,
				object->key.data, SPAN_ARGS(json_get_text(attribute, "name")),
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
	const struct store_object *cluster, struct span given)
{
	struct span cluster_name = cluster_facts(cluster)->name;
	struct span name, in, id;

	if (!ecs_try_resolve(request->caller, "container-instance", given, &name))
		return NULL;
	if (!span_split(name, '/', &in, &id))
		id = name;
	else if (!span_equal(in, cluster_name))
		return NULL;
	return container_instance_get(request,
		arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(cluster_name), SPAN_ARGS(id)));
}

uint64_t container_instance_count(const struct store_view *view, const struct store_object *cluster)
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

/* ---- for policies ---- */

/* The instances themselves, as AWS has it: "container-instance/CLUSTER/ID". */
void container_instance_resources(struct aws_request *request, struct aws_resources *resources)
{
	struct span given = json_get_text(request->input, "cluster");
	struct span cluster = SPAN("default");

	if (given.data)
		ecs_try_resolve(request->caller, "cluster", given, &cluster);
	JSON_EACH_ITEM (json_get(request->input, "containerInstances"), item) {
		struct span instance = json_text(item);

		if (resources->count == AWS_RESOURCES_MAX) {
			resources->overflow = true;
			return;
		}
		if (instance.data && !aws_arn_looks_like(instance))
			instance = arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(cluster),
				SPAN_ARGS(instance));
		resources->arns[resources->count++] =
			ecs_canonical_arn(request, "container-instance", instance);
	}
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

/* ---- register ---- */

/* The identity document of an EC2 instance is JSON inside a text; its instanceId becomes ours. */
static int read_identity(struct aws_request *request, struct span *ret_instance_id)
{
	struct span text = json_get_text(request->input, "instanceIdentityDocument");
	struct json *identity;

	*ret_instance_id = SPAN_NONE;
	if (text.length == 0)
		return 0;
	if (text.length > IDENTITY_MAX || json_parse(text, request->arena, &identity, NULL) < 0 ||
		!json_is(identity, JSON_OBJECT))
		return aws_fail_input(request,
			"instanceIdentityDocument: is not a JSON object of at "
			"most %d bytes",
			IDENTITY_MAX);
	*ret_instance_id = json_get_text(identity, "instanceId");
	if (ret_instance_id->length > EC2_INSTANCE_ID_MAX)
		return aws_fail_input(request,
			"instanceIdentityDocument: its instanceId is longer than "
			"%d characters",
			EC2_INSTANCE_ID_MAX);
	return 0;
}

/* What the agent says, as it is shown; ARN, version and time are added when it is stored. */
struct prepared {
	const struct json *resources, *attributes, *versions;
	struct span instance_id;
};

int container_instance_register_prepare(struct aws_request *request)
{
	struct prepared *prepared = arena_allocate(request->arena, sizeof(*prepared));
	const struct json *input = document_input(request);

	request->prepared = prepared;
	prepared->resources = json_get(input, "totalResources");
	prepared->attributes = json_get(input, "attributes");
	prepared->versions = json_get(input, "versionInfo");
	if (json_count(prepared->attributes) > REGISTERED_ATTRIBUTES_MAX ||
		json_count(prepared->resources) > RESOURCES_MAX)
		return aws_fail_input(request,
			"attributes, totalResources: the limits are %d and %d of them",
			REGISTERED_ATTRIBUTES_MAX, RESOURCES_MAX);
	JSON_EACH_ITEM (prepared->attributes, attribute)
		if (attribute_check(request, "attributes", attribute) < 0)
			return -EPERM;
	JSON_EACH_ITEM (prepared->resources, resource)
		if (json_get_text(resource, "name").length == 0)
			return aws_fail_input(request, "totalResources: a resource has no name");
	if (!prepared->resources)
		prepared->resources = json_new_array(request->arena);
	if (read_identity(request, &prepared->instance_id) < 0)
		return -EPERM;
	return aws_tag_list_check(request, json_get(request->input, "tags"));
}

/* The instance that an agent which comes back names; NULL for a new one. */
static int find_known(struct aws_request *request, const struct store_object *cluster,
	const struct store_object **ret_known)
{
	struct span given = json_get_text(request->input, "containerInstanceArn");

	*ret_known = NULL;
	if (given.length == 0)
		return 0;
	*ret_known = container_instance_in(request, cluster, given);
	if (!*ret_known)
		return aws_fail(request, "ClientException",
			"containerInstanceArn: '%.*s' is not registered in cluster '%.*s'",
			SPAN_ARGS(given), SPAN_ARGS(cluster_facts(cluster)->name));
	return 0;
}

/* What the agent says of itself, and what clients have said of the instance before. */
static const struct json *join_attributes(struct aws_request *request, const struct json *given,
	const struct json *before)
{
	struct json *joined = json_new_array(request->arena);

	JSON_EACH_ITEM (given, attribute)
		json_append(request->arena, joined, attribute);
	JSON_EACH_ITEM (before, attribute) {
		struct span name = json_get_text(attribute, "name");
		bool said = attribute_is_reserved(name);

		JSON_EACH_ITEM (given, other)
			said |= span_equal(json_get_text(other, "name"), name);
		if (!said)
			json_append(request->arena, joined, attribute);
	}
	return joined;
}

static struct json *registered_document(struct aws_request *request, const struct json *before)
{
	const struct prepared *prepared = request->prepared;
	struct arena *arena = request->arena;
	struct json *document = json_new_object(arena);

	json_set_string(arena, document, "containerInstanceArn", request->resource);
	if (prepared->instance_id.data)
		json_set_string(arena, document, "ec2InstanceId", prepared->instance_id);
	json_set_integer(arena, document, "version", json_get_integer(before, "version", 0) + 1);
	json_set(arena, document, "versionInfo", prepared->versions);
	json_set(arena, document, "registeredResources", prepared->resources);
	json_set(arena, document, "remainingResources", prepared->resources);
	json_set_string(arena, document, "status", SPAN("ACTIVE"));
	json_set_bool(arena, document, "agentConnected", true);
	json_set(arena, document, "attributes",
		join_attributes(request, prepared->attributes, json_get(before, "attributes")));
	json_set(arena, document, "attachments", json_new_array(arena));
	if (before)
		json_set(arena, document, "registeredAt", json_get(before, "registeredAt"));
	else
		json_set_time(arena, document, "registeredAt", request->now_ms);
	return document;
}

int container_instance_register(struct aws_request *request)
{
	const struct store_object *cluster, *known;
	const struct json *tags, *old_tags = NULL;
	struct span status = SPAN("ACTIVE"), key, api;
	struct json *document, *before = NULL;
	char id[ID_HEX_SIZE];

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0 ||
		find_known(request, cluster, &known) < 0)
		return -EPERM;
	if (known) {
		if (json_parse(known->api, request->arena, &before, &request->err) < 0)
			return aws_fail_store(request);
		old_tags = tags_of(request, known);
		status = container_instance_facts(known)->status;
		key = known->key;
	} else {
		id_hex(request->random, id);
		key = arena_format(request->arena, "%.*s/%s", SPAN_ARGS(cluster->key), id);
	}
	if (aws_tag_list_merge(request, old_tags, json_get(request->input, "tags"), &tags) < 0)
		return -EPERM;
	request->resource = ecs_arn(request, "container-instance", ecs_name_of_key(key));
	document = registered_document(request, before);
	if (document_text(request, document, &api) < 0)
		return -EPERM;
	if (store_put(request->transaction, &container_instance_kind, key, api,
		    private_text(request, status, tags), known ? known->revision : STORE_ABSENT,
		    &request->err) < 0)
		return aws_fail_store(request);
	request->view = store_head(request->transaction);
	return answer(request,
		instance_document(request, store_get(request->view, &container_instance_kind, key),
			true));
}

/* ---- the other operations ---- */

/* An ARN that names another cluster is a mistake and not an instance that went away. */
static int check_cluster_of(struct aws_request *request, const struct store_object *cluster,
	struct span given)
{
	struct span name, in, id;

	if (!aws_arn_looks_like(given) ||
		!ecs_try_resolve(request->caller, "container-instance", given, &name) ||
		!span_split(name, '/', &in, &id) || span_equal(in, cluster_facts(cluster)->name))
		return 0;
	return aws_fail_input(request,
		"Invalid identifier: Identifier is for cluster %.*s. Your cluster is %.*s",
		SPAN_ARGS(in), SPAN_ARGS(cluster_facts(cluster)->name));
}

int container_instance_deregister(struct aws_request *request)
{
	struct span given = json_get_text(request->input, "containerInstance");
	const struct store_object *cluster, *instance;
	struct json *document;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0 ||
		check_cluster_of(request, cluster, given) < 0)
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

static void describe_one(struct aws_request *request, const struct store_object *cluster,
	struct span given, struct json *instances, struct json *failures)
{
	const struct store_object *instance = container_instance_in(request, cluster, given);
	struct span name;

	if (instance) {
		json_append(request->arena, instances,
			instance_document(request, instance, input_includes(request, "TAGS")));
		return;
	}
	if (!aws_arn_looks_like(given)) {
		name = arena_format(request->arena, "%.*s/%.*s",
			SPAN_ARGS(cluster_facts(cluster)->name), SPAN_ARGS(given));
		given = ecs_arn(request, "container-instance", name);
	}
	json_append(request->arena, failures, ecs_failure_missing(request, given));
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
	JSON_EACH_ITEM (given, item) {
		if (check_cluster_of(request, cluster, json_text(item)) < 0)
			return -EPERM;
		describe_one(request, cluster, json_text(item), instances, failures);
	}
	buffer_add_string(request->out, "{\"containerInstances\":");
	json_write(instances, request->out);
	buffer_add_string(request->out, ",\"failures\":");
	json_write(failures, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

static bool instance_matches(const struct cluster_query *query, const struct store_object *instance)
{
	_arena_ struct arena *arena = arena_new(0);
	struct cluster_query_instance asked = {0};
	struct json *document;
	double registered = 0;

	if (json_parse(instance->api, arena, &document, NULL) < 0)
		return false;
	json_double(json_get(document, "registeredAt"), &registered);
	asked.attributes = json_get(document, "attributes");
	asked.agent_connected = json_get_bool(document, "agentConnected", false);
	asked.agent_version = json_get_text(json_get(document, "versionInfo"), "agentVersion");
	asked.registered_ms = (int64_t)(registered * 1000);
	asked.ec2_instance_id = json_get_text(document, "ec2InstanceId");
	return cluster_query_matches(query, &asked);
}

int container_instance_list(struct aws_request *request)
{
	struct span status = json_get_text(request->input, "status");
	struct span filter = json_get_text(request->input, "filter");
	_cluster_query_ struct cluster_query *query = NULL;
	struct store_cursor cursor = {
		.view = request->view, .kind = &container_instance_kind, .index = -1};
	const struct store_object *cluster, *instance, *last = NULL;
	struct aws_page page;
	struct span filters;
	size_t count = 0, scanned = 0;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	if (filter.length > 0 && cluster_query_parse(filter, &query, &request->err) < 0)
		return aws_fail_input(request, "filter: %s", request->err.message);
	filters = arena_format(request->arena, "%.*s %.*s %.*s", SPAN_ARGS(cluster->key),
		SPAN_ARGS(status.data ? status : SPAN("")),
		SPAN_ARGS(filter.data ? filter : SPAN("")));
	if (aws_page_read(request, 100, 100, filters, &page) < 0)
		return -EPERM;
	cursor.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(cluster->key));
	cursor.after_key = page.after_key;
	buffer_add_string(request->out, "{\"containerInstanceArns\":[");
	while ((instance = store_next(&cursor)) && scanned++ < INSTANCES_SCANNED_MAX) {
		bool wanted =
			(!status.data ||
				span_equal(status, container_instance_facts(instance)->status)) &&
			(!query || instance_matches(query, instance));

		if (wanted && count == page.most)
			break;
		if (wanted) {
			if (count++ > 0)
				buffer_add_char(request->out, ',');
			json_write_string(instance_arn(request, instance), request->out);
		}
		last = instance;
	}
	buffer_add_char(request->out, ']');
	if (instance)
		buffer_format(request->out, ",\"nextToken\":\"%.*s\"",
			SPAN_ARGS(aws_page_token(request, filters, SPAN(""), last->key)));
	buffer_add_char(request->out, '}');
	return 0;
}
