/*
 * RegisterContainerInstance: what an agent announces about its machine. An agent that comes back names the
 * ARN it had, and keeps its tasks, its custom attributes and its tags.
 */
#include <stdio.h>

#include "aws/client_token.h"
#include "aws/document.h"
#include "aws/tag_list.h"
#include "base/map.h"
#include "ecs/record/attribute.h"
#include "ecs/record/cluster.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/name.h"
#include "ecs/record/tags.h"
#include "store/fact_table.h"

#define REGISTERED_ATTRIBUTES_MAX 500
#define RESOURCES_MAX 100
#define IDENTITY_MAX 16384
#define ADDRESS_MAX 45 /* characters, IPv6 at its longest */
#define EC2_INSTANCE_ID_MAX 64
#define AGENT_VERSION_MAX 64
#define CLIENT_TOKEN_MAX 64

/* The identity document of an EC2 instance is JSON inside a text; its instanceId becomes ours. */
static int read_identity(struct aws_request *request, const struct json **ret_identity,
	struct span *ret_instance_id, struct span *ret_address)
{
	struct span text = json_get_text(request->input, "instanceIdentityDocument");
	struct json *identity;

	*ret_identity = NULL;
	*ret_instance_id = *ret_address = SPAN_NONE;
	if (text.length == 0)
		return 0;
	if (text.length > IDENTITY_MAX || json_parse(text, request->arena, &identity, NULL) < 0 ||
		!json_is(identity, JSON_OBJECT))
		return aws_fail_input(request,
			"instanceIdentityDocument: is not a JSON object of at "
			"most %d bytes",
			IDENTITY_MAX);
	*ret_identity = identity;
	*ret_instance_id = json_get_text(identity, "instanceId");
	if (ret_instance_id->length > EC2_INSTANCE_ID_MAX || !fact_text_is_plain(*ret_instance_id))
		return aws_fail_input(request,
			"instanceIdentityDocument: its instanceId is not a plain text of up to "
			"%d characters",
			EC2_INSTANCE_ID_MAX);
	*ret_address = json_get_text(identity, "privateIp");
	if (ret_address->length > ADDRESS_MAX || !fact_text_is_plain(*ret_address))
		return aws_fail_input(request,
			"instanceIdentityDocument: its privateIp is not an address");
	return 0;
}

/* The instance as the agent describes it; ARN, version and time are added when it is stored. */
struct prepared {
	const struct json *resources, *attributes, *versions;
	struct container_instance_facts
		facts;             /* cpu, memory, ports, agent_version, ec2_instance_id */
	struct client_token token; /* of agents that try a first registration again */
};

static int read_ports(struct aws_request *request, const struct json *resource,
	const char *protocol, struct span *ports)
{
	const struct json *set = json_get(resource, "stringSetValue");

	if (json_count(set) > CONTAINER_INSTANCE_PORTS_MAX)
		return aws_fail_input(request, "totalResources: the limit is %d reserved ports",
			CONTAINER_INSTANCE_PORTS_MAX);
	JSON_EACH_ITEM (set, item) {
		uint64_t port;

		if (!span_to_unsigned(json_text(item), UINT16_MAX, &port))
			return aws_fail_input(request,
				"totalResources: what PORTS and PORTS_UDP list must be numbers "
				"from 0 to %d",
				UINT16_MAX);
		*ports = arena_format(request->arena, "%.*s%s%u/%s", SPAN_ARGS(*ports),
			ports->length ? "," : "", (unsigned)port, protocol);
	}
	return 0;
}

static int read_resources(struct aws_request *request, const struct json *resources,
	struct container_instance_facts *facts)
{
	facts->ports = SPAN("");
	JSON_EACH_ITEM (resources, resource) {
		struct span name = json_get_text(resource, "name");
		int64_t amount = json_get_integer(resource, "integerValue", 0);

		if (name.length == 0)
			return aws_fail_input(request, "totalResources: a resource has no name");
		if (amount < 0)
			return aws_fail_input(request, "totalResources: %.*s is less than 0",
				SPAN_ARGS(name));
		if (span_is(name, "CPU"))
			facts->cpu = amount;
		else if (span_is(name, "MEMORY"))
			facts->memory = amount;
		else if (span_is(name, "PORTS") &&
			 read_ports(request, resource, "tcp", &facts->ports) < 0)
			return -EPERM;
		else if (span_is(name, "PORTS_UDP") &&
			 read_ports(request, resource, "udp", &facts->ports) < 0)
			return -EPERM;
	}
	return 0;
}

/* Attributes that ECS derives from the identity of an EC2 instance. Unsigned, so the agent's own
 * win. */
static void add_identity(struct aws_request *request, const struct json *identity,
	struct map *attributes)
{
	static const struct {
		const char *member, *attribute;
	} rows[] = {
		{"availabilityZone", "ecs.availability-zone"},
		{"instanceType", "ecs.instance-type"},
		{"imageId", "ecs.ami-id"},
		{"architecture", "ecs.cpu-architecture"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct json *attribute = json_new_object(request->arena);
		struct span value = json_get_text(identity, rows[i].member);

		if (value.length == 0 || map_has(attributes, span_of(rows[i].attribute)))
			continue;
		json_set_string(request->arena, attribute, "name", span_of(rows[i].attribute));
		json_set_string(request->arena, attribute, "value", value);
		map_put(attributes, span_of(rows[i].attribute), attribute);
	}
}

/* Each name once; the last value wins. */
static int read_attributes(struct aws_request *request, const struct json *requested,
	const struct json *identity, const struct json **ret_attributes)
{
	struct json *attributes = json_new_array(request->arena);
	_map_ struct map last = {0};

	if (json_count(requested) > REGISTERED_ATTRIBUTES_MAX)
		return aws_fail_input(request, "attributes: %zu are given, the limit is %d",
			json_count(requested), REGISTERED_ATTRIBUTES_MAX);
	JSON_EACH_ITEM (requested, attribute)
		map_put(&last,
			json_get_text(attribute, "name").data ? json_get_text(attribute, "name")
							      : SPAN(""),
			(void *)attribute);
	add_identity(request, identity, &last);
	MAP_EACH (&last, entry) {
		if (attribute_check(request, "attributes", entry->value) < 0)
			return -EPERM;
		json_append(request->arena, attributes, entry->value);
	}
	*ret_attributes = attributes;
	return 0;
}

int container_instance_register_prepare(struct aws_request *request)
{
	struct prepared *prepared = arena_allocate(request->arena, sizeof(*prepared));
	const struct json *input = document_input(request), *identity;
	struct span version;

	request->prepared = prepared;
	prepared->resources = json_get(input, "totalResources");
	prepared->versions = json_get(input, "versionInfo");
	if (json_count(prepared->resources) > RESOURCES_MAX)
		return aws_fail_input(request, "totalResources: %zu are given, the limit is %d",
			json_count(prepared->resources), RESOURCES_MAX);
	version = json_get_text(prepared->versions, "agentVersion");
	if (version.length > AGENT_VERSION_MAX || !fact_text_is_plain(version))
		return aws_fail_input(request,
			"versionInfo.agentVersion: is not a plain text of up to %d characters",
			AGENT_VERSION_MAX);
	if (read_identity(request, &identity, &prepared->facts.ec2_instance_id,
		    &prepared->facts.address) < 0 ||
		read_attributes(request, json_get(input, "attributes"), identity,
			&prepared->attributes) < 0 ||
		read_resources(request, prepared->resources, &prepared->facts) < 0 ||
		client_token_prepare(request, CLIENT_TOKEN_MAX, &prepared->token) < 0)
		return -EPERM;
	prepared->facts.agent_version = version.data ? version : SPAN("");
	if (!prepared->resources)
		prepared->resources = json_new_array(request->arena);
	return aws_tag_list_check(request, json_get(request->input, "tags"));
}

/* An instance that an agent registered before with the same token, if the agent missed the
 * response. */
static const struct store_object *find_by_token(struct aws_request *request,
	const struct store_object *cluster)
{
	const struct prepared *prepared = request->prepared;
	const struct json *ids;

	client_token_find(request, &prepared->token, cluster->key, &ids);
	if (json_count(ids) == 0)
		return NULL;
	return container_instance_in(request, cluster, json_text(json_item(ids, 0)));
}

static int keep_token(struct aws_request *request, const struct store_object *cluster,
	struct span id)
{
	const struct prepared *prepared = request->prepared;
	struct json *ids = json_new_array(request->arena);

	json_append(request->arena, ids, json_new_string(request->arena, id));
	return client_token_keep(request, &prepared->token, cluster->key, ids);
}

/* The instance whose ARN a returning agent sends; NULL for a new one. */
static int find_known(struct aws_request *request, const struct store_object *cluster,
	const struct store_object **ret_known)
{
	struct span requested = json_get_text(request->input, "containerInstanceArn");

	*ret_known = NULL;
	if (requested.length == 0) {
		*ret_known = find_by_token(request, cluster);
		return 0;
	}
	*ret_known = container_instance_in(request, cluster, requested);
	if (!*ret_known)
		return aws_fail(request, "ClientException",
			"containerInstanceArn: '%.*s' is not registered in cluster '%.*s'",
			SPAN_ARGS(requested), SPAN_ARGS(cluster_facts(cluster)->name));
	if (container_instance_facts(*ret_known)->runtime.length > 0)
		return aws_fail(request, "ClientException",
			"containerInstanceArn: '%.*s' is run by this server, no agent can register "
			"it",
			SPAN_ARGS(requested));
	return 0;
}

/* Attributes from the agent, joined with the custom ones that clients set before. */
static const struct json *join_attributes(struct aws_request *request, const struct json *requested,
	const struct json *before)
{
	struct json *joined = json_new_array(request->arena);

	JSON_EACH_ITEM (requested, attribute)
		json_append(request->arena, joined, attribute);
	JSON_EACH_ITEM (before, attribute) {
		struct span name = json_get_text(attribute, "name");
		bool said = attribute_is_reserved(name);

		JSON_EACH_ITEM (requested, other)
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
	if (prepared->facts.ec2_instance_id.data)
		json_set_string(arena, document, "ec2InstanceId", prepared->facts.ec2_instance_id);
	json_set_integer(arena, document, "version", json_get_integer(before, "version", 0));
	json_set(arena, document, "versionInfo", prepared->versions);
	json_set(arena, document, "registeredResources", prepared->resources);
	json_set(arena, document, "attributes",
		join_attributes(request, prepared->attributes, json_get(before, "attributes")));
	json_set(arena, document, "attachments", json_new_array(arena));
	return document;
}

int container_instance_register(struct aws_request *request)
{
	const struct prepared *prepared = request->prepared;
	struct container_instance_edit edit = {
		.arena = request->arena, .facts = {.registered_ms = request->now_ms}};
	struct container_instance_facts *facts = &edit.facts;
	const struct store_object *cluster, *known;
	struct json *before = NULL;
	struct span text;
	char id[ID_HEX_SIZE];

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0 ||
		find_known(request, cluster, &known) < 0)
		return -EPERM;
	if (known) {
		if (container_instance_edit_open(known, request->arena, &edit, &request->err) < 0)
			return aws_fail_store(request);
		before = edit.document;
	} else {
		id_hex(request->random, id);
		edit.key = arena_format(request->arena, "%.*s/%s", SPAN_ARGS(cluster->key), id);
	}
	if (aws_tag_list_merge(request, edit.tags, json_get(request->input, "tags"), &edit.tags) <
		0)
		return -EPERM;
	facts->connected = true;
	facts->cpu = prepared->facts.cpu;
	facts->memory = prepared->facts.memory;
	facts->ports = prepared->facts.ports;
	facts->agent_version = prepared->facts.agent_version;
	facts->ec2_instance_id = prepared->facts.ec2_instance_id;
	facts->address = prepared->facts.address;
	request->resource = ecs_arn(request, "container-instance", aws_name_of_key(edit.key));
	edit.document = registered_document(request, before);
	if (document_text(request, edit.document, &text) < 0)
		return -EPERM;
	if (container_instance_save(request->transaction, &edit, &request->err) < 0)
		return aws_fail_store(request);
	if (!known && keep_token(request, cluster, span_of(id)) < 0)
		return -EPERM;
	request->view = store_head(request->transaction);
	return container_instance_answer(request,
		container_instance_document(request,
			store_get(request->view, &container_instance_kind, edit.key), true));
}
