/*
 * Task definitions: immutable revisions of a family. Keys are "ACCOUNT/REGION/FAMILY REVISION" with the
 * revision in ten digits, so that the order of keys is the order in which ECS lists them (a space sorts
 * before every character of a name). The API text is the whole taskDefinition of an answer; status and
 * tags are in the private text too, so that making facts never parses the large one.
 *
 * Numbers are never used twice: the last one of a family is kept in an object of its own (kind
 * task_family), which outlives its revisions.
 */
#ifndef ECS_TASK_DEFINITION_H
#define ECS_TASK_DEFINITION_H

#include "aws/service.h"

extern const struct store_kind task_definition_kind;
extern const struct store_kind task_family_kind;

enum task_definition_index {
	TASK_DEFINITION_BY_STATUS, /* "ACCOUNT/REGION/STATUS/FAMILY" */
	TASK_DEFINITION_INDEX_COUNT
};

enum task_definition_status {
	TASK_DEFINITION_ACTIVE,
	TASK_DEFINITION_INACTIVE,
	TASK_DEFINITION_DELETING, /* "DELETE_IN_PROGRESS": goes when nothing uses it any more */
	TASK_DEFINITION_STATUS_COUNT
};

struct task_definition_facts {
	struct span family;
	uint32_t revision;
	enum task_definition_status status;
};

static inline const struct task_definition_facts *task_definition_facts(const struct store_object
		*definition)
{
	return definition->facts;
}

/* "FAMILY:REVISION" exactly; NULL if there is none or it is no such name. */
const struct store_object *task_definition_get(struct aws_request *request, struct span name);
/* Resolves "FAMILY", "FAMILY:REVISION" or an ARN; NULL if there is none. */
const struct store_object *task_definition_find(struct aws_request *request, struct span requested);
struct span task_definition_arn(struct aws_request *request, const struct store_object *definition);

/* Checks and completes a RegisterTaskDefinition request. On success the members of the answer's
 * taskDefinition that do not depend on the revision, in order; fails the request otherwise. */
int task_definition_check(struct aws_request *request, struct json **ret_document);

int task_definition_register_prepare(struct aws_request *request);
int task_definition_register(struct aws_request *request);
int task_definition_describe(struct aws_request *request);
int task_definition_deregister(struct aws_request *request);
int task_definition_delete(struct aws_request *request);
int task_definition_list(struct aws_request *request);
int task_definition_list_families(struct aws_request *request);
void task_definition_register_resources(struct aws_request *request,
	struct aws_resources *resources);
void task_definition_resources(struct aws_request *request, struct aws_resources *resources);

#endif
