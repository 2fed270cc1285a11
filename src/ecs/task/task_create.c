/*
 * Creating a task: its document as DescribeTasks shows it, and the facts. Later reports (statuses,
 * exit codes, addresses) change members that are written here first, so that a task always has all
 * of them.
 */
#include "ecs/task/task_create.h"

#include <ctype.h>

#include "base/id.h"
#include "ecs/definition/task_definition.h"
#include "ecs/record/attribute.h"
#include "ecs/record/container_instance.h"
#include "ecs/task/task_edit.h"

#define FARGATE_VERSION "1.4.0" /* the meaning of LATEST */
#define FARGATE_STORAGE_GIB 20

/* Properties of the instance that a task shows, too. */
struct host {
	struct span arn; /* data NULL: none was chosen yet */
	struct span zone, architecture;
	struct span name; /* of the server that runs its tasks, "" if an agent does */
	bool connected;
};

static struct span lower_case(struct arena *arena, struct span text)
{
	char *copy = arena_copy(arena, text.data, text.length);

	for (size_t i = 0; i < text.length; i++)
		copy[i] = (char)tolower((unsigned char)copy[i]);
	return (struct span){copy, text.length};
}

static struct span zone_of(struct arena *arena, struct span cluster_key,
	const struct container_instance_facts *instance)
{
	struct span account, region, zone;

	if (instance &&
		attribute_packed_find(instance->attributes, SPAN("ecs.availability-zone"), &zone) &&
		zone.length > 0)
		return zone;
	span_split(cluster_key, '/', &account, &region);
	span_split(region, '/', &region, &(struct span){0});
	return arena_format(arena, "%.*sa", SPAN_ARGS(region));
}

static struct span architecture_of(struct arena *arena, const struct json *definition,
	const struct container_instance_facts *instance)
{
	struct span wanted =
		json_get_text(json_get(definition, "runtimePlatform"), "cpuArchitecture");
	struct span architecture;

	if (instance &&
		attribute_packed_find(instance->attributes, SPAN("ecs.cpu-architecture"),
			&architecture) &&
		architecture.length > 0)
		return architecture;
	return wanted.length > 0 ? lower_case(arena, wanted) : SPAN("x86_64");
}

static struct host read_host(const struct task_request *request)
{
	const struct container_instance_facts *facts =
		request->instance ? container_instance_facts(request->instance) : NULL;
	struct host host = {
		.name = facts ? container_instance_host(facts) : request->host,
		.connected = facts && facts->connected,
		.zone = zone_of(request->arena, request->cluster_key, facts),
		.architecture =
			architecture_of(request->arena, request->definition_document, facts),
	};

	if (facts)
		host.arn = ecs_arn_of_key(request->arena, "container-instance",
			request->instance->key);
	return host;
}

/* ---- members of the document ---- */

static const struct json *override_of(const struct task_request *request, struct span container)
{
	JSON_EACH_ITEM (json_get(request->overrides, "containerOverrides"), item)
		if (span_equal(json_get_text(item, "name"), container))
			return item;
	return NULL;
}

/* Every container is named, whether something is overridden or not. */
static struct json *overrides_shown(const struct task_request *request)
{
	static const char *const echoed[] = {
		"cpu", "memory", "executionRoleArn", "taskRoleArn", "ephemeralStorage"};
	struct arena *arena = request->arena;
	struct json *shown = json_new_object(arena), *containers = json_new_array(arena);

	JSON_EACH_ITEM (json_get(request->definition_document, "containerDefinitions"), container) {
		struct span name = json_get_text(container, "name");
		const struct json *requested = override_of(request, name);
		struct json *bare;

		if (!requested) {
			bare = json_new_object(arena);
			json_set_string(arena, bare, "name", name);
			requested = bare;
		}
		json_append(arena, containers, requested);
	}
	json_set(arena, shown, "containerOverrides", containers);
	for (size_t i = 0; i < LENGTH(echoed); i++) {
		const struct json *value = json_get(request->overrides, echoed[i]);

		if (!json_is_absent(value))
			json_set(arena, shown, echoed[i], value);
	}
	json_set(arena, shown, "inferenceAcceleratorOverrides", json_new_array(arena));
	return shown;
}

/* A number of a container as text, as overridden; nothing if neither says it. */
static void show_number(struct arena *arena, struct json *shown, const char *name,
	const struct json *container, const struct json *requested)
{
	int64_t value =
		json_get_integer(requested, name, json_get_integer(container, name, INT64_MIN));

	if (value != INT64_MIN)
		json_set(arena, shown, name, json_new_format(arena, "%lld", (long long)value));
}

/* A runtime of ours has no agent that would answer ExecuteCommand, and says so. */
static const struct json *exec_agents(struct arena *arena, bool hosted)
{
	struct json *agents = json_new_array(arena), *agent = json_new_object(arena);

	json_set_string(arena, agent, "name", SPAN("ExecuteCommandAgent"));
	json_set_string(arena, agent, "lastStatus", hosted ? SPAN("STOPPED") : SPAN("PENDING"));
	if (hosted)
		json_set_string(arena, agent, "reason",
			SPAN("slipway exec runs programs in this task without an agent"));
	json_append(arena, agents, agent);
	return agents;
}

static const struct json *container_shown(const struct task_request *request, struct span task_key,
	const struct json *task_arn, bool hosted, const struct json *container)
{
	struct arena *arena = request->arena;
	struct json *shown = json_new_object(arena);
	struct span name = json_get_text(container, "name");
	const struct json *requested = override_of(request, name);
	char id[ID_UUID_SIZE];

	id_uuid(request->random, id);
	json_set_string(arena, shown, "containerArn",
		ecs_arn_of_key(arena, "container",
			arena_format(arena, "%.*s/%s", SPAN_ARGS(task_key), id)));
	json_set(arena, shown, "taskArn", task_arn);
	json_set_string(arena, shown, "name", name);
	json_set(arena, shown, "image", json_get(container, "image"));
	json_set_string(arena, shown, "lastStatus", SPAN("PENDING"));
	if (!span_is(request->needs->network_mode, "awsvpc"))
		json_set(arena, shown, "networkBindings", json_new_array(arena));
	json_set(arena, shown, "networkInterfaces", json_new_array(arena));
	json_set_string(arena, shown, "healthStatus", SPAN("UNKNOWN"));
	if (request->enable_execute_command)
		json_set(arena, shown, "managedAgents", exec_agents(arena, hosted));
	show_number(arena, shown, "cpu", container, requested);
	if (!json_get(shown, "cpu"))
		json_set_string(arena, shown, "cpu", SPAN("0"));
	show_number(arena, shown, "memory", container, requested);
	show_number(arena, shown, "memoryReservation", container, requested);
	return shown;
}

static void add_detail(struct arena *arena, struct json *details, const char *name,
	struct span value)
{
	struct json *detail = json_new_object(arena);

	json_set_string(arena, detail, "name", span_of(name));
	json_set_string(arena, detail, "value", value);
	json_append(arena, details, detail);
}

/* The network interface that a task with awsvpc will have: any subnet of the request's. */
static const struct json *attachments(const struct task_request *request)
{
	struct arena *arena = request->arena;
	struct json *list = json_new_array(arena), *interface, *details;
	const struct json *subnets =
		json_get(json_get(request->network_configuration, "awsvpcConfiguration"),
			"subnets");
	char id[ID_UUID_SIZE];

	if (!span_is(request->needs->network_mode, "awsvpc"))
		return list;
	id_uuid(request->random, id);
	interface = json_new_object(arena);
	details = json_new_array(arena);
	json_set_string(arena, interface, "id", span_of(id));
	json_set_string(arena, interface, "type", SPAN("ElasticNetworkInterface"));
	json_set_string(arena, interface, "status", SPAN("PRECREATED"));
	if (json_count(subnets) > 0)
		add_detail(arena, details, "subnetId",
			json_text(json_item(subnets,
				(size_t)random_below(request->random, json_count(subnets)))));
	json_set(arena, interface, "details", details);
	json_append(arena, list, interface);
	return list;
}

static const struct json *attributes_shown(struct arena *arena, const struct host *host)
{
	struct json *list = json_new_array(arena), *attribute = json_new_object(arena);

	json_set_string(arena, attribute, "name", SPAN("ecs.cpu-architecture"));
	json_set_string(arena, attribute, "value", host->architecture);
	json_append(arena, list, attribute);
	return list;
}

/* Members that only a task on Fargate shows. */
static void show_fargate(const struct task_request *request, struct json *document)
{
	struct arena *arena = request->arena;
	struct span version = request->platform_version;
	const struct json *storage = json_get(request->overrides, "ephemeralStorage");
	struct json *usual;

	if (json_is_absent(storage))
		storage = json_get(request->definition_document, "ephemeralStorage");
	if (json_is_absent(storage)) {
		usual = json_new_object(arena);
		json_set_integer(arena, usual, "sizeInGiB", FARGATE_STORAGE_GIB);
		storage = usual;
	}
	if (version.length == 0 || span_is(version, "LATEST"))
		version = SPAN(FARGATE_VERSION);
	json_set_string(arena, document, "platformVersion", version);
	json_set_string(arena, document, "platformFamily", SPAN("Linux"));
	json_set(arena, document, "ephemeralStorage", storage);
}

static void set_number_text(struct arena *arena, struct json *document, const char *name,
	int64_t value)
{
	json_set(arena, document, name, json_new_format(arena, "%lld", (long long)value));
}

static struct json *make_document(const struct task_request *request, struct span key,
	const struct host *host)
{
	struct arena *arena = request->arena;
	struct json *document = json_new_object(arena), *containers = json_new_array(arena);
	const struct json *arn = json_new_string(arena, ecs_arn_of_key(arena, "task", key));
	bool fargate = request->launch_type == TASK_LAUNCH_FARGATE;

	JSON_EACH_ITEM (json_get(request->definition_document, "containerDefinitions"), container)
		json_append(arena, containers,
			container_shown(request, key, arn, host->name.length > 0, container));
	json_set(arena, document, "attachments", attachments(request));
	json_set(arena, document, "attributes", attributes_shown(arena, host));
	json_set_string(arena, document, "availabilityZone", host->zone);
	if (request->capacity_provider.length > 0)
		json_set_string(arena, document, "capacityProviderName",
			request->capacity_provider);
	json_set_string(arena, document, "clusterArn",
		ecs_arn_of_key(arena, "cluster", request->cluster_key));
	if (host->connected) {
		json_set_string(arena, document, "connectivity", SPAN("CONNECTED"));
		json_set_time(arena, document, "connectivityAt", request->now_ms);
	}
	if (!fargate && host->arn.data)
		json_set_string(arena, document, "containerInstanceArn", host->arn);
	json_set(arena, document, "containers", containers);
	set_number_text(arena, document, "cpu", request->needs->cpu);
	json_set_bool(arena, document, "enableExecuteCommand", request->enable_execute_command);
	json_set_string(arena, document, "group", request->group);
	json_set_string(arena, document, "launchType",
		span_of(task_launch_type_name(request->launch_type)));
	set_number_text(arena, document, "memory", request->needs->memory);
	json_set(arena, document, "overrides", overrides_shown(request));
	if (fargate)
		show_fargate(request, document);
	if (request->started_by.length > 0)
		json_set_string(arena, document, "startedBy", request->started_by);
	json_set(arena, document, "taskArn", arn);
	json_set(arena, document, "taskDefinitionArn",
		json_get(request->definition_document, "taskDefinitionArn"));
	return document;
}

int task_create(struct store_transaction *transaction, const struct task_request *request,
	struct span *ret_key, struct err *err)
{
	const struct task_definition_facts *definition = task_definition_facts(request->definition);
	bool network = span_is(request->needs->network_mode, "awsvpc");
	struct task_edit edit = {.arena = request->arena,
		.tags = request->tags,
		.traffic = request->traffic,
		.desired = request->desired,
		.revision = STORE_ABSENT,
		.now_ms = request->now_ms};
	struct host host = read_host(request);
	char created[ID_HEX_SIZE];
	struct span id = request->id;
	int code;

	if (id.length == 0) {
		id_hex(request->random, created);
		id = span_of(created);
	}
	edit.key = arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(request->cluster_key),
		SPAN_ARGS(id));
	edit.document = make_document(request, edit.key, &host);
	edit.facts = (struct task_facts){
		.family = definition->family,
		.revision = definition->revision,
		.instance = request->instance ? container_instance_facts(request->instance)->id
					      : SPAN(""),
		.group = request->group,
		.started_by = request->started_by,
		.service = request->service,
		.deployment = request->deployment,
		.reference = request->reference,
		.launch_type = request->launch_type,
		.host = host.name,
		.daemon = request->daemon,
		.network = network,
		.checked = request->needs->checked,
		.cpu = request->needs->cpu,
		.memory = request->needs->memory,
		.ports = request->needs->ports_text,
		.created_ms = request->now_ms,
		.desired = TASK_RUNNING,
		.last = network ? TASK_PROVISIONING : TASK_PENDING,
		.traffic = request->traffic ? TASK_TRAFFIC_WAITING : TASK_TRAFFIC_NONE,
	};
	code = task_save(transaction, &edit, err);
	if (code == 0)
		*ret_key = edit.key;
	return code;
}

void task_place(struct task_edit *edit, const struct store_object *instance)
{
	const struct container_instance_facts *facts = container_instance_facts(instance);
	struct arena *arena = edit->arena;

	edit->facts.instance = arena_copy_span(arena, facts->id);
	json_set_string(arena, edit->document, "availabilityZone",
		arena_copy_span(arena, zone_of(arena, task_cluster_key(edit->key), facts)));
	if (edit->facts.launch_type != TASK_LAUNCH_FARGATE)
		json_set_string(arena, edit->document, "containerInstanceArn",
			ecs_arn_of_key(arena, "container-instance", instance->key));
}

const struct json *task_desired(struct arena *arena, const struct json *definition,
	const struct json *constraints, const struct json *strategy)
{
	struct json *desired = json_new_object(arena), *all = json_new_array(arena);

	JSON_EACH_ITEM (json_get(definition, "placementConstraints"), constraint)
		json_append(arena, all, constraint);
	JSON_EACH_ITEM (constraints, constraint)
		json_append(arena, all, constraint);
	if (json_count(all) > 0)
		json_set(arena, desired, "constraints", all);
	if (json_count(strategy) > 0)
		json_set(arena, desired, "strategy", strategy);
	return json_count(desired) > 0 ? desired : NULL;
}
