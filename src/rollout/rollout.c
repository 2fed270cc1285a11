#include "rollout/rollout.h"

#include <stdint.h>

static const char *const class_names[] = {
	[ROLLOUT_PENDING] = "pending",
	[ROLLOUT_STARTING] = "starting",
	[ROLLOUT_HEALTHY] = "healthy",
	[ROLLOUT_UNHEALTHY] = "unhealthy",
};

static const char *const blocked_names[] = {
	[ROLLOUT_NOT_BLOCKED] = "",
	[ROLLOUT_WAITS] = "waits",
	[ROLLOUT_BLOCKED_BACKOFF] = "backoff",
	[ROLLOUT_BLOCKED_PLACEMENT] = "placement",
	[ROLLOUT_BLOCKED_RESOURCES] = "resources",
	[ROLLOUT_BLOCKED_NO_ROOM] = "no room",
	[ROLLOUT_BLOCKED_PROTECTED] = "protected",
	[ROLLOUT_BLOCKED_UNSTARTABLE] = "unstartable",
};

const char *rollout_class_name(enum rollout_class class)
{
	return class_names[class];
}

const char *rollout_blocked_name(enum rollout_blocked blocked)
{
	return blocked_names[blocked];
}

unsigned rollout_percent_up(unsigned count, unsigned percent)
{
	return (unsigned)(((uint64_t)count * percent + 99) / 100);
}

unsigned rollout_percent_down(unsigned count, unsigned percent)
{
	return (unsigned)((uint64_t)count * percent / 100);
}
