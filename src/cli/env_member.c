/* The option behind a member of the API's requests, for errors; see env.h. */
#include "cli/env.h"

static const struct {
	const char *member, *option;
} rows[] = {
	{"environmentType", "type"},
	{"taskDefinition", "task-definition"},
	{"baseVersion", "base-version"},
	{"instanceGroup.cluster", "cluster"},
	{"instanceGroup.attributes", "attributes"},
	{"target", "target"},
	{"role", "role"},
	{"status", "status"},
	{"priority", "priority"},
	{"networkConfiguration.awsvpcConfiguration.subnets", "subnets"},
	{"networkConfiguration.awsvpcConfiguration.securityGroups", "security-groups"},
	{"networkConfiguration.awsvpcConfiguration.assignPublicIp", "assign-public-ip"},
	{"deploymentConfiguration.minHealthyPercent", "min-healthy"},
	{"deploymentConfiguration.replaceThenTerminate", "replace-first"},
	{"deploymentConfiguration.maxOverPercent", "max-over"},
	{"deploymentConfiguration.maxActivePercent", "max-active"},
	{"deploymentConfiguration.timeoutSeconds", "timeout"},
	{"deploymentConfiguration.warmUpSeconds", "warm-up"},
	{"deploymentConfiguration.drainTimeoutSeconds", "drain-timeout"},
	{"deploymentConfiguration.unreachableTimeoutSeconds", "unreachable-timeout"},
	{"deploymentConfiguration.onFailure", "on-failure"},
	{"deploymentConfiguration.desiredCount", "count"},
	{"deploymentConfiguration.schedule", "schedule"},
	{"deploymentConfiguration.canary.instances", "canary"},
	{"deploymentConfiguration.canary.bakeSeconds", "bake"},
	{"deploymentConfiguration.loadBalancer.targetGroupArn", "target-group"},
	{"deploymentConfiguration.loadBalancer.containerName", "container"},
	{"deploymentConfiguration.loadBalancer.containerPort", "container-port"},
};

const char *env_member_option(struct span member)
{
	const char *index = memchr(member.data, '[', member.length);

	if (index)
		member.length = (size_t)(index - member.data);
	for (size_t i = 0; i < LENGTH(rows); i++)
		if (span_is(member, rows[i].member))
			return rows[i].option;
	return NULL;
}
