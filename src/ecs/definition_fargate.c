/* Rules for task definitions that are to run on Fargate. */
#include "ecs/definition_rules.h"
#include "ecs/task_size.h"

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
		return rule_broken(rules, "Fargate compatible task definitions support only pidMode "
					  "'task'.");
	if (json_count(json_get(rules->definition, "inferenceAccelerators")) > 0)
		return rule_broken(rules, "Fargate compatible task definitions do not support "
					  "'inferenceAccelerators'.");
	JSON_EACH_ITEM(rules->volumes, volume) {
		struct span path = json_get_text(json_get(volume, "host"), "sourcePath");

		if (path.length > 0)
			return rule_broken(rules, "Fargate compatible task definitions do not support "
						  "'sourcePath' of host volumes.");
		if (!json_is_absent(json_get(volume, "dockerVolumeConfiguration")))
			return rule_broken(rules, "Fargate compatible task definitions do not support "
						  "Docker volumes.");
	}
	return 0;
}

static int check_container(const struct definition_rules *rules, const struct json *container)
{
	static const char *const linux_parameters[] = {"devices", "sharedMemorySize", "maxSwap",
						       "swappiness"};
	static const char *const log_drivers[] = {"awslogs", "splunk", "awsfirelens"};
	const struct json *parameters = json_get(container, "linuxParameters");
	struct span driver = json_get_text(json_get(container, "logConfiguration"), "logDriver");
	struct span image = json_get_text(container, "image");
	bool role = json_get_text(rules->definition, "executionRoleArn").length > 0;
	bool driver_known = !driver.data;

	if (json_get_bool(container, "privileged", false))
		return rule_broken(rules, "Fargate compatible task definitions do not support "
					  "privileged containers.");
	for (size_t i = 0; i < LENGTH(linux_parameters); i++)
		if (!json_is_absent(json_get(parameters, linux_parameters[i])))
			return rule_broken(rules,
					   "Fargate compatible task definitions do not support "
					   "linuxParameters '%s'.",
					   linux_parameters[i]);
	for (size_t i = 0; i < LENGTH(log_drivers); i++)
		driver_known |= span_is(driver, log_drivers[i]);
	if (!driver_known)
		return rule_broken(rules, "Fargate does not support log driver '%.*s'.",
				   SPAN_ARGS(driver));
	if (span_is(driver, "awslogs") && !role)
		return rule_broken(rules, "Fargate requires task definition to have execution role ARN "
					  "to support log driver awslogs.");
	if (memmem(image.data, image.length, ".dkr.ecr.", 9) && !role)
		return rule_broken(rules, "Fargate requires task definition to have execution role ARN "
					  "to support ECR images.");
	if (json_get_integer(container, "stopTimeout", 30) > 120)
		return rule_broken(rules,
				   "Invalid setting for container '%.*s'. On Fargate 'stopTimeout' is at "
				   "most 120.",
				   SPAN_ARGS(container_name(container)));
	return 0;
}

int definition_check_fargate(const struct definition_rules *rules)
{
	const struct json *storage = json_get(rules->definition, "ephemeralStorage");
	int64_t size = json_get_integer(storage, "sizeInGiB", 21);

	if (!json_is_absent(storage) && (size < 21 || size > 200))
		return rule_broken(rules, "ephemeralStorage.sizeInGiB must be between 21 and 200.");
	if (!rules->fargate)
		return 0;
	if (check_task(rules) < 0 || check_size(rules) < 0)
		return -EPERM;
	JSON_EACH_ITEM(rules->containers, container)
		if (check_container(rules, container) < 0)
			return -EPERM;
	return 0;
}
