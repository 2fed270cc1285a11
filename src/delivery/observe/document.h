/*
 * Instances and tasks as ECS describes them, in answers (times in seconds) and in events (times as text): what
 * the replica keeps of them. Nothing is guessed: a document without a member that decisions need is rejected.
 */
#ifndef DELIVERY_OBSERVE_DOCUMENT_H
#define DELIVERY_OBSERVE_DOCUMENT_H

#include "base/err.h"
#include "base/json.h"
#include "delivery/observe/observe.h"

/* -EINVAL: it lacks a member, or one has a wrong type. Texts are in the document or in the arena. version 0: it has none.
 * ret_gone: it was deregistered. */
int observe_document_instance(const struct json *document, struct arena *arena,
	struct observe_instance *ret_instance, bool *ret_gone, struct err *err);
/* health is OBSERVE_HEALTH_UNKNOWN also where nothing checks the task: ECS does not report that. */
int observe_document_task(const struct json *document, struct arena *arena,
	struct observe_task *ret_task, struct err *err);

/* With which code it ended, as its containers say. */
void observe_document_exit(const struct json *document, struct observe_task *task);

/* Milliseconds of seconds or of ISO 8601; false if it is neither. */
bool observe_document_time(const struct json *value, struct arena *arena, int64_t *ret_ms);
/* The text after the last '/'. */
struct span observe_document_id(struct span arn);

const char *observe_task_status_name(enum observe_task_status status); /* "RUNNING" */
bool observe_task_status_read(struct span name,
	enum observe_task_status *ret_status);                                 /* any case */
const char *observe_instance_status_name(enum observe_instance_status status); /* "ACTIVE" */
bool observe_instance_status_read(struct span name, enum observe_instance_status *ret_status);

#endif
