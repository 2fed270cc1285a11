/*
 * The requirements of a task on its instance, read from its definition with the overrides of the request put over
 * it. The task's own cpu and memory count when there are any; else those of its containers, added up.
 */
#ifndef ECS_TASK_NEEDS_H
#define ECS_TASK_NEEDS_H

#include "ecs/record/task.h"

#define TASK_PORTS_MAX 100
#define TASK_REQUIRED_ATTRIBUTES_MAX 64

/* The requirements of one task of a definition, with overrides applied. */
struct task_needs {
	int64_t cpu, memory; /* of the task, or the sum over its containers */
	struct {
		uint16_t port;
		bool udp;
	} ports[TASK_PORTS_MAX]; /* fixed host ports (bridge with hostPort, host); none with awsvpc */
	size_t port_count;
	struct span ports_text;         /* "80/tcp,53/udp", as task_facts.ports */
	const struct json *attributes;  /* requiresAttributes: [{"name","value"?}] */
	const struct json *constraints; /* placementConstraints of the definition */
	struct span network_mode;       /* "awsvpc", "bridge", "host", "none" */
	bool checked;                   /* an essential container has a health check */
};

/* document: the taskDefinition as stored; overrides: a TaskOverride or NULL. */
int task_needs_read(const struct json *document, const struct json *overrides, struct arena *arena,
	struct task_needs *ret_needs, struct err *err);

#endif
