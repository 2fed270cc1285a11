/* Rules for a container alone: name, image, memory, health check, variables, limits. */
#include "ecs/definition/definition_rules.h"

#include "aws/arn.h"
#include "ecs/record/name.h"

#define MEMORY_LEAST 4
#define ENVIRONMENT_NAME_MAX 4096

struct span container_name(const struct json *container)
{
	struct span name = json_get_text(container, "name");

	return name.data ? name : SPAN("");
}

const struct json *definition_container(const struct definition_rules *rules, struct span name)
{
	JSON_EACH_ITEM (rules->containers, container)
		if (span_equal(container_name(container), name))
			return container;
	return NULL;
}

static int check_name_and_image(const struct definition_rules *rules, const struct json *container)
{
	struct span name = container_name(container);
	struct span image = json_get_text(container, "image");

	if (name.length == 0)
		return rule_broken(rules, "Container.name should not be null or empty.");
	if (!ecs_is_name(name))
		return rule_broken(rules,
			"Invalid container name '%.*s'. Up to 255 letters, numbers, hyphens "
			"and underscores are allowed.",
			SPAN_ARGS(name));
	if (definition_container(rules, name) != container)
		return rule_broken(rules, "Container name '%.*s' is used more than once.",
			SPAN_ARGS(name));
	if (!image.data || image.length == 0)
		return rule_broken(rules, "Container.image should not be null or empty.");
	for (size_t i = 0; i < image.length; i++)
		if ((unsigned char)image.data[i] <= ' ')
			return rule_broken(rules,
				"Invalid setting for container '%.*s'. 'image' contains "
				"spaces or control characters.",
				SPAN_ARGS(name));
	if (image.length > 2048)
		return rule_broken(rules,
			"Invalid setting for container '%.*s'. 'image' is longer than 2048 "
			"characters.",
			SPAN_ARGS(name));
	return 0;
}

static int check_memory(const struct definition_rules *rules, const struct json *container)
{
	struct span name = container_name(container);
	int64_t memory = 0, reservation = 0;
	bool has_memory = json_integer(json_get(container, "memory"), &memory);
	bool has_reservation = json_integer(json_get(container, "memoryReservation"), &reservation);

	if (!has_memory && !has_reservation && rules->memory == 0)
		return rule_broken(rules,
			"Invalid setting for container '%.*s'. At least one of 'memory' or "
			"'memoryReservation' must be specified.",
			SPAN_ARGS(name));
	if ((has_memory && memory < MEMORY_LEAST) ||
		(has_reservation && reservation < MEMORY_LEAST))
		return rule_broken(rules,
			"Invalid setting for container '%.*s'. 'memory' and "
			"'memoryReservation' must be at least %d MiB.",
			SPAN_ARGS(name), MEMORY_LEAST);
	if (has_memory && has_reservation && reservation > memory)
		return rule_broken(rules,
			"Invalid setting for container '%.*s'. 'memory' must be greater than "
			"'memoryReservation'.",
			SPAN_ARGS(name));
	if (rules->memory > 0 && (has_memory ? memory : reservation) > rules->memory)
		return rule_broken(rules,
			"The '%s' setting for container '%.*s' is greater than for the task.",
			has_memory ? "memory" : "memoryReservation", SPAN_ARGS(name));
	if (json_get_integer(container, "cpu", 0) < 0)
		return rule_broken(rules,
			"Invalid setting for container '%.*s'. 'cpu' must not be negative.",
			SPAN_ARGS(name));
	return 0;
}

/* The numbers of a health check have their limits in the model. */
static int check_health_check(const struct definition_rules *rules, const struct json *container)
{
	const struct json *check = json_get(container, "healthCheck");
	const struct json *command = json_get(check, "command");
	struct span name = container_name(container);
	struct span how;

	if (json_is_absent(check))
		return 0;
	how = json_text(json_item(command, 0));
	if (!how.data)
		return rule_broken(rules,
			"Invalid health check for container '%.*s'. 'command' must not be "
			"empty.",
			SPAN_ARGS(name));
	/* A command without CMD or CMD-SHELL runs as it stands, as with CMD. */
	if ((span_is(how, "CMD") || span_is(how, "CMD-SHELL")) && json_count(command) < 2)
		return rule_broken(rules,
			"Invalid health check for container '%.*s'. 'command' has nothing "
			"behind %.*s.",
			SPAN_ARGS(name), SPAN_ARGS(how));
	return 0;
}

static bool has_named(const struct json *list, struct span name, const struct json *but)
{
	JSON_EACH_ITEM (list, item)
		if (item != but && span_equal(json_get_text(item, "name"), name))
			return true;
	return false;
}

static int check_variables(const struct definition_rules *rules, const struct json *container)
{
	const struct json *environment = json_get(container, "environment");
	const struct json *secrets = json_get(container, "secrets");
	struct span name = container_name(container);

	JSON_EACH_ITEM (environment, variable) {
		struct span variable_name = json_get_text(variable, "name");

		if (!variable_name.data || variable_name.length == 0 ||
			variable_name.length > ENVIRONMENT_NAME_MAX ||
			memchr(variable_name.data, '=', variable_name.length) ||
			memchr(variable_name.data, '\0', variable_name.length))
			return rule_broken(rules,
				"Invalid setting for container '%.*s'. An environment "
				"variable has no valid name.",
				SPAN_ARGS(name));
	}
	JSON_EACH_ITEM (secrets, secret) {
		struct span secret_name = json_get_text(secret, "name");

		if (has_named(environment, secret_name, NULL) ||
			has_named(secrets, secret_name, secret))
			return rule_broken(rules,
				"The secret name must be unique and not shared with any new "
				"or existing environment variables set on the container, "
				"such as '%.*s'.",
				SPAN_ARGS(secret_name));
		if (json_get_text(secret, "valueFrom").length == 0)
			return rule_broken(rules,
				"Invalid setting for container '%.*s'. Secret '%.*s' has an "
				"empty 'valueFrom'.",
				SPAN_ARGS(name), SPAN_ARGS(secret_name));
	}
	return 0;
}

static int check_limits(const struct definition_rules *rules, const struct json *container)
{
	struct span name = container_name(container);
	int64_t stop = json_get_integer(container, "stopTimeout", 30);
	int64_t start = json_get_integer(container, "startTimeout", 30);

	JSON_EACH_ITEM (json_get(container, "ulimits"), limit)
		if (json_get_integer(limit, "softLimit", 0) >
			json_get_integer(limit, "hardLimit", 0))
			return rule_broken(rules,
				"Invalid setting for container '%.*s'. The soft limit of "
				"ulimit '%.*s' is greater than the hard limit.",
				SPAN_ARGS(name), SPAN_ARGS(json_get_text(limit, "name")));
	if (stop < 0 || start < 0)
		return rule_broken(rules,
			"Invalid setting for container '%.*s'. 'startTimeout' and "
			"'stopTimeout' must not be negative.",
			SPAN_ARGS(name));
	return 0;
}

/* Settings that the network mode does not allow on a container. */
static int check_network_settings(const struct definition_rules *rules,
	const struct json *container)
{
	static const char *const not_in_awsvpc[] = {
		"hostname", "dnsServers", "dnsSearchDomains", "extraHosts", "links"};

	if (!span_is(rules->network_mode, "awsvpc"))
		return 0;
	for (size_t i = 0; i < LENGTH(not_in_awsvpc); i++) {
		const struct json *value = json_get(container, not_in_awsvpc[i]);

		if (!json_is_absent(value) &&
			(json_count(value) > 0 || json_text(value).length > 0))
			return rule_broken(rules,
				"Invalid setting for container '%.*s'. '%s' is not supported "
				"when networkMode=awsvpc.",
				SPAN_ARGS(container_name(container)), not_in_awsvpc[i]);
	}
	return 0;
}

static int check_mounts(const struct definition_rules *rules, const struct json *container)
{
	struct span name = container_name(container);

	JSON_EACH_ITEM (json_get(container, "mountPoints"), mount) {
		struct span volume = json_get_text(mount, "sourceVolume");
		struct span path = json_get_text(mount, "containerPath");

		if (!volume.data || !has_named(rules->volumes, volume, NULL))
			return rule_broken(rules, "Unknown volume '%.*s'.",
				SPAN_ARGS(volume.data ? volume : SPAN("")));
		if (!path.data || path.length == 0)
			return rule_broken(rules,
				"Invalid setting for container '%.*s'. The mount point of "
				"volume '%.*s' has no 'containerPath'.",
				SPAN_ARGS(name), SPAN_ARGS(volume));
	}
	return 0;
}

int definition_check_container(const struct definition_rules *rules, const struct json *container)
{
	static int (*const checks[])(const struct definition_rules *, const struct json *) = {
		check_name_and_image,
		check_memory,
		check_health_check,
		check_variables,
		check_limits,
		check_mounts,
		check_network_settings,
		definition_check_ports,
	};

	for (size_t i = 0; i < LENGTH(checks); i++)
		if (checks[i](rules, container) < 0)
			return -EPERM;
	return 0;
}
