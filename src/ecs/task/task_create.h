/*
 * Creating a task, shared by RunTask, StartTask and the service controller. The definition's
 * requirements are read once per request (task_needs), placement chooses an instance (placement.h),
 * then task_create() stores the task with desired status RUNNING. Nothing runs yet.
 */
#ifndef ECS_TASK_CREATE_H
#define ECS_TASK_CREATE_H

#include "ecs/placement/task_needs.h"
#include "ecs/record/task.h"
#include "ecs/task/task_edit.h"

struct task_request {
	struct arena *arena;
	struct random *random;
	int64_t now_ms;
	struct span cluster_key;                /* "ACCOUNT/REGION/CLUSTER" */
	const struct store_object *definition;  /* of kind task_definition */
	const struct json *definition_document; /* parsed */
	const struct task_needs *needs;
	const struct store_object
		*instance;            /* of kind container_instance; NULL: its runtime chooses */
	struct span host;             /* that runtime, as instance_maintainer.h names it */
	struct span id;               /* "": a new one */
	const struct json *overrides; /* or NULL */
	const struct json *network_configuration;                      /* or NULL */
	const struct json *tags;                                       /* an array or NULL */
	struct span group, started_by, service, deployment, reference; /* "" where there is none */
	enum task_launch_type launch_type;
	struct span capacity_provider; /* "" */
	struct span platform_version;  /* "" */
	const struct json *traffic;    /* as task_traffic.h has it, or NULL */
	const struct json *desired;    /* as task_edit has them, or NULL */
	bool enable_execute_command;
	bool daemon;
};

/* Stores the task; *ret_key lives in the arena. The id must be new. */
int task_create(struct store_transaction *transaction, const struct task_request *request,
	struct span *ret_key, struct err *err);

/* Placement constraints of definition and request for a runtime that chooses instances; NULL:
 * none. */
const struct json *task_desired(struct arena *arena, const struct json *definition,
	const struct json *constraints, const struct json *strategy);
/* Sets the instance that its runtime has chosen. The caller saves. */
void task_place(struct task_edit *edit, const struct store_object *instance);

#endif
