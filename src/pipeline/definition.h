/*
 * Definition files of an application: what RegisterTaskDefinition and CreateService get, in YAML or JSON, read as PipeCD
 * reads them. Keys have any case; numbers and truth values become texts where ECS wants a text; null and empty enums are
 * left out; members that only answers of describe calls have are dropped. Everything that the ECS API accepts is kept.
 */
#ifndef PIPELINE_DEFINITION_H
#define PIPELINE_DEFINITION_H

#include "aws/shape.h"
#include "pipeline/fields.h"

#define DEFINITION_FILE_MAX (1024 * 1024)
#define DESIRED_COUNT_UNCHANGED (-1)

struct task_file {
	const struct json *request; /* RegisterTaskDefinition */
	struct span family;
	struct field_list warnings; /* struct field_note */
};

struct service_file {
	const struct json *request; /* CreateService, without taskDefinition */
	struct span name;
	struct span cluster; /* "": the default one */
	bool is_external;    /* deployment controller EXTERNAL: task sets; else ECS */
	int64_t desired_count;
	struct span registry_arn; /* of the first service registry; "": none */
	struct field_list warnings;
};

/* file: its name for messages. -EINVAL: "FILE:LINE: …". */
int definition_load_task(struct span file, struct span text, struct arena *arena,
	struct task_file *ret_task, struct err *err);
int definition_load_service(struct span file, struct span text, struct arena *arena,
	struct service_file *ret_service, struct err *err);

/* The request that would make what a describe call answered: its members that are part of the request. operation:
 * RegisterTaskDefinition or CreateService. -EINVAL: the answer is none of the operation's. */
int definition_request_of(struct span operation, const struct json *answer, struct arena *arena,
	const struct json **ret_request, struct err *err);

#endif
