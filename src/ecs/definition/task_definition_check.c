/*
 * RegisterTaskDefinition: every rule in turn, then the document that answers show, with the defaults
 * that ECS fills in. Every field that was given comes back.
 */
#include "aws/document.h"
#include "ecs/definition/definition_rules.h"
#include "ecs/definition/task_definition.h"
#include "ecs/definition/task_size.h"
#include "ecs/record/name.h"

#define CONTAINERS_MAX 10
#define DEFINITION_TEXT_MAX 65536
#define CPU_LEAST 128 /* of a task, in units; on Fargate the sizes are fewer */
#define CPU_MOST 196608
#define MEMORY_LEAST 4

/* Together the containers cannot have more than the task: CPU as given, memory as reserved. */
static int check_sums(const struct definition_rules *rules)
{
	int64_t cpu = 0, memory = 0;

	JSON_EACH_ITEM (rules->containers, container) {
		cpu += json_get_integer(container, "cpu", 0);
		memory += json_get_integer(container, "memoryReservation",
			json_get_integer(container, "memory", 0));
	}
	if (rules->cpu > 0 && cpu > rules->cpu)
		return rule_broken(rules,
			"The CPU units of the containers add up to %lld, more than the task's "
			"'cpu' of %lld.",
			(long long)cpu, (long long)rules->cpu);
	if (rules->memory > 0 && memory > rules->memory)
		return rule_broken(rules,
			"The memory reserved for the containers adds up to %lld MiB, more than "
			"the task's 'memory' of %lld.",
			(long long)memory, (long long)rules->memory);
	return 0;
}

static int read_task_size(struct definition_rules *rules)
{
	struct span cpu = json_get_text(rules->definition, "cpu");
	struct span memory = json_get_text(rules->definition, "memory");

	if (cpu.data && (!task_size_read_cpu(cpu, &rules->cpu) || rules->cpu < CPU_LEAST ||
				rules->cpu > CPU_MOST))
		return rule_broken(rules,
			"Invalid 'cpu' setting for task: '%.*s'. Give CPU units from %d to %d, "
			"or vCPUs like '.5 vCPU'.",
			SPAN_ARGS(cpu), CPU_LEAST, CPU_MOST);
	if (memory.data &&
		(!task_size_read_memory(memory, &rules->memory) || rules->memory < MEMORY_LEAST))
		return rule_broken(rules,
			"Invalid 'memory' setting for task: '%.*s'. Give MiB, or GB like "
			"'0.5 GB'.",
			SPAN_ARGS(memory));
	return 0;
}

static int check_containers(const struct definition_rules *rules)
{
	size_t count = json_count(rules->containers), essential = 0, firelens = 0;
	bool wants_firelens = false, secrets = false;

	if (count == 0)
		return rule_broken(rules, "Container list cannot be empty.");
	if (count > CONTAINERS_MAX)
		return rule_broken(rules, "Too many containers: %zu are given, the limit is %d.",
			count, CONTAINERS_MAX);
	JSON_EACH_ITEM (rules->containers, container) {
		if (definition_check_container(rules, container) < 0)
			return -EPERM;
		essential += json_get_bool(container, "essential", true);
		firelens += !json_is_absent(json_get(container, "firelensConfiguration"));
		wants_firelens |=
			span_is(json_get_text(json_get(container, "logConfiguration"), "logDriver"),
				"awsfirelens");
		secrets |= json_count(json_get(container, "secrets")) > 0;
	}
	if (essential == 0)
		return rule_broken(rules, "At least one container must be essential.");
	if (firelens > 1)
		return rule_broken(rules, "Only one container can have a 'firelensConfiguration'.");
	if (wants_firelens && firelens == 0)
		return rule_broken(rules,
			"When a container uses the awsfirelens log driver, another "
			"must have a 'firelensConfiguration'.");
	if (secrets && json_get_text(rules->definition, "executionRoleArn").length == 0)
		return rule_broken(rules,
			"When you are specifying container secrets, you must also "
			"specify a value for 'executionRoleArn'.");
	return 0;
}

static int check_task(const struct definition_rules *rules)
{
	const struct json *constraints = json_get(rules->definition, "placementConstraints");
	const struct json *proxy = json_get(rules->definition, "proxyConfiguration");

	JSON_EACH_ITEM (constraints, constraint)
		if (json_get_text(constraint, "expression").length == 0)
			return rule_broken(rules,
				"placementConstraints: memberOf needs an 'expression'.");
	if (document_list_has(json_get(rules->definition, "requiresCompatibilities"),
		    SPAN("EXTERNAL")) &&
		span_is(rules->network_mode, "awsvpc"))
		return rule_broken(rules, "EXTERNAL compatible task definitions do not support "
					  "networkMode=awsvpc.");
	if (json_is_absent(proxy))
		return 0;
	if (!span_is(rules->network_mode, "awsvpc"))
		return rule_broken(rules, "proxyConfiguration needs networkMode=awsvpc.");
	if (!definition_container(rules, json_get_text(proxy, "containerName")))
		return rule_broken(rules, "proxyConfiguration: there is no container '%.*s'.",
			SPAN_ARGS(json_get_text(proxy, "containerName")));
	return 0;
}

/* ---- the document ---- */

static const struct json *complete_ports(const struct definition_rules *rules,
	const struct json *mappings)
{
	struct arena *arena = rules->request->arena;
	struct json *list = json_new_array(arena);
	bool same = span_is(rules->network_mode, "awsvpc") || span_is(rules->network_mode, "host");

	JSON_EACH_ITEM (mappings, requested) {
		struct json *mapping = json_copy_object(arena, requested);
		int64_t port = json_get_integer(requested, "containerPort", 0);

		if (json_get_text(requested, "containerPortRange").data == NULL &&
			(json_is_absent(json_get(requested, "hostPort")) ||
				(same && json_get_integer(requested, "hostPort", 0) == 0)))
			json_set_integer(arena, mapping, "hostPort", same ? port : 0);
		document_set_default(arena, mapping, "protocol",
			json_new_string(arena, SPAN("tcp")));
		json_append(arena, list, mapping);
	}
	return list;
}

static const struct json *complete_health_check(const struct definition_rules *rules,
	const struct json *requested)
{
	struct arena *arena = rules->request->arena;
	struct json *check = json_copy_object(arena, requested);

	document_set_default(arena, check, "interval", json_new_integer(arena, 30));
	document_set_default(arena, check, "timeout", json_new_integer(arena, 5));
	document_set_default(arena, check, "retries", json_new_integer(arena, 3));
	return check;
}

static const struct json *complete_container(const struct definition_rules *rules,
	const struct json *requested)
{
	static const char *const empty_lists[] = {
		"environment", "mountPoints", "volumesFrom", "systemControls"};
	struct arena *arena = rules->request->arena;
	struct json *container = json_copy_object(arena, requested);

	document_set_default(arena, container, "cpu", json_new_integer(arena, 0));
	document_set_default(arena, container, "essential", json_new_bool(arena, true));
	json_set(arena, container, "portMappings",
		complete_ports(rules, json_get(requested, "portMappings")));
	for (size_t i = 0; i < LENGTH(empty_lists); i++)
		document_set_default(arena, container, empty_lists[i], json_new_array(arena));
	if (!json_is_absent(json_get(requested, "healthCheck")))
		json_set(arena, container, "healthCheck",
			complete_health_check(rules, json_get(requested, "healthCheck")));
	return container;
}

static void add_text(struct arena *arena, struct json *list, const char *text)
{
	if (!document_list_has(list, span_of(text)))
		json_append(arena, list, json_new_string(arena, span_of(text)));
}

/* Launch types that the task's settings allow. */
static const struct json *compatibilities(const struct definition_rules *rules)
{
	struct arena *arena = rules->request->arena;
	struct json *list = json_new_array(arena);
	bool awsvpc = span_is(rules->network_mode, "awsvpc");
	struct definition_rules as_fargate = *rules;
	struct aws_failure failure = rules->request->failure;

	as_fargate.fargate = true;
	if (!awsvpc)
		add_text(arena, list, "EXTERNAL");
	add_text(arena, list, "EC2");
	if (awsvpc && definition_check_fargate(&as_fargate) == 0)
		add_text(arena, list, "FARGATE");
	rules->request->failure = failure; /* only probed; not an error of this request */
	JSON_EACH_ITEM (json_get(rules->definition, "requiresCompatibilities"), item)
		add_text(arena, list, arena_copy_span(arena, json_text(item)).data);
	return list;
}

static void add_attribute(struct arena *arena, struct json *list, struct span name)
{
	struct json *attribute = json_new_object(arena);

	JSON_EACH_ITEM (list, known)
		if (span_equal(json_get_text(known, "name"), name))
			return;
	json_set_string(arena, attribute, "name", name);
	json_append(arena, list, attribute);
}

/* The capabilities that an instance must have, in the names that ECS agents announce. */
static const struct json *required_attributes(const struct definition_rules *rules)
{
	struct arena *arena = rules->request->arena;
	struct json *list = json_new_array(arena);

	if (span_is(rules->network_mode, "awsvpc"))
		add_attribute(arena, list, SPAN("ecs.capability.task-eni"));
	if (json_get_text(rules->definition, "taskRoleArn").length > 0)
		add_attribute(arena, list, SPAN("com.amazonaws.ecs.capability.task-iam-role"));
	JSON_EACH_ITEM (rules->containers, container) {
		struct span driver =
			json_get_text(json_get(container, "logConfiguration"), "logDriver");

		if (driver.data)
			add_attribute(arena, list,
				arena_format(arena,
					"com.amazonaws.ecs.capability.logging-driver.%.*s",
					SPAN_ARGS(driver)));
		if (!json_is_absent(json_get(container, "healthCheck")))
			add_attribute(arena, list, SPAN("ecs.capability.container-health-check"));
		if (json_count(json_get(container, "dependsOn")) > 0)
			add_attribute(arena, list, SPAN("ecs.capability.container-ordering"));
	}
	return list;
}

static struct json *complete_volumes(const struct definition_rules *rules)
{
	struct arena *arena = rules->request->arena;
	struct json *list = json_new_array(arena);

	JSON_EACH_ITEM (rules->volumes, requested) {
		struct json *volume = json_copy_object(arena, requested);
		const struct json *efs = json_get(volume, "efsVolumeConfiguration");

		if (!json_is_absent(efs)) {
			struct json *complete = json_copy_object(arena, efs);

			document_set_default(arena, complete, "rootDirectory",
				json_new_string(arena, SPAN("/")));
			json_set(arena, volume, "efsVolumeConfiguration", complete);
		}
		json_append(arena, list, volume);
	}
	return list;
}

static struct json *complete(const struct definition_rules *rules)
{
	/* In the order of ECS's answers; containerDefinitions and the computed ones are apart. */
	static const char *const echoed[] = {
		"taskRoleArn",
		"executionRoleArn",
		"networkMode",
		"volumes",
		"placementConstraints",
		"runtimePlatform",
		"requiresCompatibilities",
		"inferenceAccelerators",
		"pidMode",
		"ipcMode",
		"proxyConfiguration",
		"ephemeralStorage",
		"enableFaultInjection",
	};
	struct arena *arena = rules->request->arena;
	struct json *document = json_new_object(arena);
	struct json *containers = json_new_array(arena);

	JSON_EACH_ITEM (rules->containers, container)
		json_append(arena, containers, complete_container(rules, container));
	json_set(arena, document, "containerDefinitions", containers);
	json_set_string(arena, document, "family", json_get_text(rules->definition, "family"));
	for (size_t i = 0; i < LENGTH(echoed); i++) {
		const struct json *value = json_get(rules->definition, echoed[i]);

		if (!json_is_absent(value))
			json_set(arena, document, echoed[i], value);
	}
	json_set(arena, document, "volumes", complete_volumes(rules));
	document_set_default(arena, document, "placementConstraints", json_new_array(arena));
	if (rules->cpu > 0)
		json_set(arena, document, "cpu",
			json_new_format(arena, "%lld", (long long)rules->cpu));
	if (rules->memory > 0)
		json_set(arena, document, "memory",
			json_new_format(arena, "%lld", (long long)rules->memory));
	json_set(arena, document, "requiresAttributes", required_attributes(rules));
	json_set(arena, document, "compatibilities", compatibilities(rules));
	return document;
}

/* The text of a definition is limited before the rules look at it, some of which compare each with
 * each, and once more with the defaults. */
static int check_length(const struct definition_rules *rules, const struct json *document)
{
	size_t length = json_to_text(document, rules->request->arena).length;

	if (length > DEFINITION_TEXT_MAX)
		return rule_broken(rules, "Actual length: '%zu'. Max allowed length is '%d' bytes.",
			length, DEFINITION_TEXT_MAX);
	return 0;
}

int task_definition_check(struct aws_request *request, struct json **ret_document)
{
	const struct json *definition = document_input(request);
	struct definition_rules rules = {
		.request = request,
		.definition = definition,
		.containers = json_get(definition, "containerDefinitions"),
		.volumes = json_get(definition, "volumes"),
		.network_mode = json_get_text(definition, "networkMode"),
		.fargate = document_list_has(json_get(definition, "requiresCompatibilities"),
			SPAN("FARGATE")),
	};
	struct json *document;

	if (!ecs_is_name(json_get_text(definition, "family")))
		return rule_broken(&rules,
			"family: '%.*s' is not a valid name. Use 1 to 255 letters, digits, "
			"hyphens and underscores.",
			SPAN_ARGS(json_get_text(definition, "family")));
	if (check_length(&rules, definition) < 0 || read_task_size(&rules) < 0 ||
		definition_check_volumes(&rules) < 0 || check_containers(&rules) < 0 ||
		check_sums(&rules) < 0 || definition_check_port_conflicts(&rules) < 0 ||
		definition_check_dependencies(&rules) < 0 || check_task(&rules) < 0 ||
		definition_check_fargate(&rules) < 0)
		return -EPERM;
	document = complete(&rules);
	if (check_length(&rules, document) < 0)
		return -EPERM;
	*ret_document = document;
	return 0;
}
