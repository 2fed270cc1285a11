/*
 * The rules for task definitions that shapes cannot say: what refers to what, what excludes what, what
 * a launch type can do. Split along what they look at; each fails the request with ClientException and
 * names the container and the field, as ECS does.
 */
#ifndef ECS_DEFINITION_RULES_H
#define ECS_DEFINITION_RULES_H

#include "aws/service.h"

struct definition_rules {
	struct aws_request *request;
	const struct json *definition; /* the request, unknown members left out */
	const struct json *containers;
	const struct json *volumes;
	struct span network_mode; /* data NULL: not given */
	bool fargate;             /* requiresCompatibilities names it */
	int64_t cpu;              /* of the task, in units; 0: not given */
	int64_t memory;           /* of the task, in MiB; 0: not given */
};

/* `return rule_broken(rules, "…")`: fails the request and returns -EPERM. */
#define rule_broken(rules, ...) aws_fail((rules)->request, "ClientException", __VA_ARGS__)

const struct json *definition_container(const struct definition_rules *rules, struct span name);
/* "container 'web'" would be a container's name in a message; never NULL. */
struct span container_name(const struct json *container);

int definition_check_container(const struct definition_rules *rules, const struct json *container);
/* Ports of one container, and that no two containers want the same one. */
int definition_check_ports(const struct definition_rules *rules, const struct json *container);
int definition_check_port_conflicts(const struct definition_rules *rules);
/* dependsOn, links, volumesFrom: the references exist, fit together, and form no cycle. */
int definition_check_dependencies(const struct definition_rules *rules);
int definition_check_volumes(const struct definition_rules *rules);
int definition_check_fargate(const struct definition_rules *rules);

#endif
