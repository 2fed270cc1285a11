/*
 * Making a task: what RunTask, StartTask and the service controller have in common. What a definition
 * needs of an instance is read once per request (task_needs), placement chooses an instance
 * (placement.h), then task_create() writes the task down, wanted to run. Nothing runs yet.
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
	struct span id;               /* "": one that nobody has */
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

/* Writes the task; *ret_key lives in the arena. The order's id must be that of no task. */
int task_create(struct store_transaction *transaction, const struct task_request *request,
	struct span *ret_key, struct err *err);

/* What a runtime that chooses instances is told of the wishes of definition and request; NULL: none. */
const struct json *task_desired(struct arena *arena, const struct json *definition,
	const struct json *constraints, const struct json *strategy);
/* Its runtime has chosen an instance. The caller saves. */
void task_place(struct task_edit *edit, const struct store_object *instance);

#endif
