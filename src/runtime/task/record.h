/*
 * The state of a task, as text: the supervisor keeps it in its folder and sends it over its socket,
 * and the server reads it, also from tasks that an older slipway started.
 *
 * A task's folder, CONFIG.folder/TOKEN/:
 *     spec.json     the task spec (plan.h), durable before the supervisor starts
 *     lock          locked by the supervisor as long as it lives: liveness without process ids
 *     state.json    the record: made, durable, before the first program runs; replaced, durable,
 *                   whenever a container ends; with phase STOPPED it is the end and is never
 *                   changed again
 *     control       the supervisor's socket (protocol.h)
 *     NAME.log.N    output of container NAME, from byte N on (log_files.h)
 * No record: nothing was run. A record without an end, and the lock free: lost, and never run
 * again.
 */
#ifndef RUNTIME_TASK_RECORD_H
#define RUNTIME_TASK_RECORD_H

#include "runtime/runtime.h"

#define RECORD_VERSION 1
#define RECORD_MAX ((size_t)1024 * 1024)
#define RECORD_SPEC_FILE "spec.json"
#define RECORD_LOCK_FILE "lock"
#define RECORD_STATE_FILE "state.json"
#define RECORD_CONTROL_FILE "control"
#define RECORD_ALL_LOCK_FILE ".lock" /* of the folder of all tasks: its server's */
#define RECORD_RESOLVER_FILE ".dns" /* in the same folder: the address of the server's DNS server */

void record_write(const struct runtime_task *task, struct buffer *out);
/* The task lives in the arena and points into text. */
int record_parse(struct span text, struct arena *arena, struct runtime_task **ret_task,
	struct err *err);
/* As record_parse for a value already parsed. */
int record_read(const struct json *value, struct arena *arena, struct runtime_task **ret_task,
	struct err *err);
/* A copy that owns all its text, in the arena. */
struct runtime_task *record_copy(const struct runtime_task *task, struct arena *arena);

struct plan;
/* The state of a task before anything of it runs: phase PENDING, addresses and ports of the
 * plan. */
struct runtime_task *record_of_plan(const struct plan *plan, struct arena *arena);

#endif
