/*
 * The spec of a task for a runtime: its definition with the task's overrides applied, secrets
 * resolved and defaults filled in, as runtime/spec.h says. Pure but for the files of secrets.
 *
 * Secrets. There is no Secrets Manager here: `valueFrom` names a file of the folder that the server was
 * given for secrets. "NAME", "arn:…:secret:NAME" (with the six characters that AWS appends, or without)
 * and "arn:…:parameter/NAME" are file NAME; "arn:…:secret:NAME:MEMBER::" is a member of the JSON object
 * in it. A final newline is not part of a secret.
 */
#ifndef ECS_TASK_SPEC_H
#define ECS_TASK_SPEC_H

#include "ecs/record/task.h"
#include "ecs/task/task_edit.h"

#define TASK_SECRET_MAX ((size_t)64 * 1024)

struct task_spec_write {
	struct arena *arena;
	struct span task_key;    /* data NULL: for all tasks of a group */
	struct span cluster_key; /* of a group's */
	const struct task_facts *facts;
	const struct json *definition; /* the document of its definition */
	const struct json *overrides;  /* of the task's document, or NULL */
	const struct json *desired;    /* as task_edit has them, or NULL */
	bool gated;                    /* as runtime/spec.h says */
	int64_t hold_seconds;
	const char *secrets; /* a folder, or NULL: there are none */
};

/* -EINVAL: it can never start with this definition; the message becomes the task's reason, and
 * begins as in ECS. */
int task_spec_make(const struct task_spec_write *spec_write, struct json **ret_spec,
	struct err *err);

#endif
