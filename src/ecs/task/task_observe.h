/*
 * What a runtime says about a task, put into the task: statuses, times, containers with their exit codes
 * and addresses, why it stopped in ECS's words. Pure: the caller saves.
 *
 * Legal moves only: a task goes down the ladder of statuses, never up, whatever is observed late. Who
 * wanted a task to stop keeps the word: stop code and reason that are there stay.
 */
#ifndef ECS_TASK_OBSERVE_H
#define ECS_TASK_OBSERVE_H

#include "ecs/record/task.h"
#include "ecs/task/task_edit.h"
#include "runtime/runtime.h"

#define TASK_STOP_CODE_FAILED_TO_START "TaskFailedToStart"
#define TASK_STOP_CODE_ESSENTIAL "EssentialContainerExited"
#define TASK_STOP_CODE_USER "UserInitiated"
#define TASK_STOP_CODE_SERVICE "ServiceSchedulerInitiated"
#define TASK_NOTES_ATTRIBUTE "slipway.notes"

/* `containers` are the containerDefinitions of its definition, for which are essential; NULL: all. */
void task_observe(struct task_edit *edit, const struct runtime_task *seen,
	const struct json *containers, int64_t now_ms);
/* It cannot start, for this reason. */
void task_observe_failure(struct task_edit *edit, struct span reason, int64_t now_ms);
/* It never began: somebody wants it to stop, or its runtime, which made it for its service, has it no more. */
void task_observe_not_started(struct task_edit *edit, int64_t now_ms);
/* It ran, and its runtime knows nothing of it any more. */
void task_observe_lost(struct task_edit *edit, int64_t now_ms);

/* Does the draft say something else than the stored task? */
bool task_edit_differs(const struct task_edit *edit, const struct store_object *task);

#endif
