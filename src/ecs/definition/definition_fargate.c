/* Rules for task definitions that are to run on Fargate. */
#include "ecs/definition/definition_rules.h"
#include "ecs/definition/task_size.h"

#define TIMEOUT_MAX 120 /* seconds to start or to stop */

static int check_size(const struct definition_rules *rules)
{
	const struct json *definition = rules->definition;

	if (json_is_absent(json_get(definition, "cpu")))
		return rule_broken(rules,
			"Fargate requires that 'cpu' be defined at the task level.");
	if (json_is_absent(json_get(definition, "memory")))
		return rule_broken(rules,
			"Fargate requires that 'memory' be defined at the task level.");
	if (!task_size_is_fargate(rules->cpu, rules->memory))
		return rule_broken(rules,
			"No Fargate configuration exists for given values: %lld CPU, %lld "
			"memory. See the Amazon ECS documentation for the valid values.",
			(long long)rules->cpu, (long long)rules->memory);
	return 0;
}

static int check_task(const struct definition_rules *rules)
{
	struct span pid = json_get_text(rules->definition, "pidMode");

	if (!span_is(rules->network_mode, "awsvpc"))
		return rule_broken(rules, "Fargate only supports network mode 'awsvpc'.");
	if (json_count(json_get(rules->definition, "placementConstraints")) > 0)
		return rule_broken(rules, "Fargate compatible task definitions do not support "
					  "placement constraints.");
	if (json_get_text(rules->definition, "ipcMode").data)
		return rule_broken(rules, "Fargate compatible task definitions do not support "
					  "'ipcMode'.");
	if (pid.data && !span_is(pid, "task"))
		return rule_broken(rules,
			"Fargate compatible task definitions support only pidMode "
			"'task'.");
	if (json_count(json_get(rules->definition, "inferenceAccelerators")) > 0)
		return rule_broken(rules, "Fargate compatible task definitions do not support "
					  "'inferenceAccelerators'.");
	JSON_EACH_ITEM (rules->volumes, volume) {
		struct span path = json_get_text(json_get(volume, "host"), "sourcePath");

		if (path.length > 0)
			return rule_broken(rules,
				"Fargate compatible task definitions do not support "
				"'sourcePath' of host volumes.");
		if (!json_is_absent(json_get(volume, "dockerVolumeConfiguration")))
			return rule_broken(rules,
				"Fargate compatible task definitions do not support "
				"Docker volumes.");
	}
	return 0;
}

static int check_logs(const struct definition_rules *rules, const struct json *container)
{
	static const char *const log_drivers[] = {"awslogs", "splunk", "awsfirelens"};
	struct span driver = json_get_text(json_get(container, "logConfiguration"), "logDriver");
	bool known = !driver.data;

	for (size_t i = 0; i < LENGTH(log_drivers); i++)
		known |= span_is(driver, log_drivers[i]);
	if (!known)
		return rule_broken(rules, "Fargate does not support log driver '%.*s'.",
			SPAN_ARGS(driver));
	if (span_is(driver, "awslogs") &&
		json_get_text(rules->definition, "executionRoleArn").length == 0)
		return rule_broken(rules,
			"Fargate requires task definition to have execution role ARN "
			"to support log driver awslogs.");
	return 0;
}

static int check_timeouts(const struct definition_rules *rules, const struct json *container)
{
	static const char *const members[] = {"startTimeout", "stopTimeout"};

	for (size_t i = 0; i < LENGTH(members); i++)
		if (json_get_integer(container, members[i], 0) > TIMEOUT_MAX)
			return rule_broken(rules,
				"Invalid setting for container '%.*s'. On Fargate '%s' is at "
				"most %d.",
				SPAN_ARGS(container_name(container)), members[i], TIMEOUT_MAX);
	return 0;
}

static int check_container(const struct definition_rules *rules, const struct json *container)
{
	static const char *const linux_parameters[] = {
		"devices", "sharedMemorySize", "maxSwap", "swappiness"};
	static const char *const members[] = {"dockerSecurityOptions", "credentialSpecs"};
	const struct json *parameters = json_get(container, "linuxParameters");
	const struct json *requirement = json_item(json_get(container, "resourceRequirements"), 0);
	struct span image = json_get_text(container, "image");

	if (json_get_bool(container, "privileged", false))
		return rule_broken(rules, "Fargate compatible task definitions do not support "
					  "privileged containers.");
	for (size_t i = 0; i < LENGTH(linux_parameters); i++) {
		const struct json *value = json_get(parameters, linux_parameters[i]);

		if (!json_is_absent(value) &&
			!(json_is(value, JSON_ARRAY) && json_count(value) == 0))
			return rule_broken(rules,
				"Fargate compatible task definitions do not support "
				"linuxParameters '%s'.",
				linux_parameters[i]);
	}
	for (size_t i = 0; i < LENGTH(members); i++)
		if (json_count(json_get(container, members[i])) > 0)
			return rule_broken(rules,
				"Fargate compatible task definitions do not support '%s'.",
				members[i]);
	if (requirement)
		return rule_broken(rules,
			"Fargate compatible task definitions do not support resource "
			"requirements of type '%.*s'.",
			SPAN_ARGS(json_get_text(requirement, "type")));
	if (memmem(image.data, image.length, ".dkr.ecr.", 9) &&
		json_get_text(rules->definition, "executionRoleArn").length == 0)
		return rule_broken(rules,
			"Fargate requires task definition to have execution role ARN "
			"to support ECR images.");
	if (check_logs(rules, container) < 0)
		return -EPERM;
	return check_timeouts(rules, container);
}

int definition_check_fargate(const struct definition_rules *rules)
{
	if (!rules->fargate)
		return 0;
	if (check_task(rules) < 0 || check_size(rules) < 0)
		return -EPERM;
	JSON_EACH_ITEM (rules->containers, container)
		if (check_container(rules, container) < 0)
			return -EPERM;
	return 0;
}
