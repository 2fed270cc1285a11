/*
 * Describe calls about the service of a deployment: the service, its task sets, its tasks, the instances of its name, and
 * the rules that forward to its target groups. observed.c makes a snapshot of the answers, live.c the live state.
 */
#ifndef PIPELINE_DESCRIBE_H
#define PIPELINE_DESCRIBE_H

#include "pipeline/pass.h"

/* With its tags and task sets. NULL: there is none, or it is INACTIVE. */
int describe_service(struct deployment_pass *pass, struct span name,
	const struct json **ret_service, struct err *err);
/* Task sets of the application's service, with their tags. */
int describe_sets(struct deployment_pass *pass, const struct json **ret_sets, struct err *err);
/* status: "RUNNING" or "STOPPED", as desired. */
int describe_tasks(struct deployment_pass *pass, struct span service, const char *status,
	struct json **ret_tasks, struct err *err);
struct span describe_task_id(const struct json *task);
/* Of its own network interface; "": it has none. */
struct span describe_task_address(const struct json *task);
/* RUNNING, and HEALTHY if a container of its definition has a health check. */
bool describe_is_healthy(const struct json *task, const struct json *definition);
/* "": the object has no such tag. */
struct span describe_tag(const struct json *object, const char *key);
/* Whether a service or task set has the application's tag. */
bool describe_is_ours(const struct deployment_pass *pass, const struct json *object);

/* ---- names ---- */

struct names {
	struct json *instances;
	const struct json *health; /* an object: ID to status */
};

bool describe_has_names(const struct deployment_pass *pass);
/* ID of the Cloud Map service; "": there is none. */
struct span describe_registry_id(const struct deployment_pass *pass);
int describe_names(struct deployment_pass *pass, struct names *ret_names, struct err *err);
/* NULL: no instance has that ID. */
const struct json *names_find(const struct names *names, struct span id);
bool names_is_healthy(const struct names *names, struct span id);

/* ---- load balancers ---- */

/* Fills in the rules of observed, and the weights and healthy targets of its snapshot. */
int describe_balancers(struct deployment_pass *pass, struct observed *observed, struct err *err);
/* Adds the targets of a group with their health to the list; nothing for group "". */
int describe_targets(struct deployment_pass *pass, struct span group, struct json *targets,
	struct err *err);

#endif
