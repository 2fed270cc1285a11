/*
 * Applies a runtime's report to the task: statuses, times, containers with their exit codes and
 * addresses, the stop reason in ECS's text. Pure: the caller saves.
 *
 * Statuses only move forward, even if a report is late. The stop code and reason of an earlier
 * request stay.
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
/* It never started: it was stopped first, or its runtime, which created it for its service, no
 * longer has it. */
void task_observe_not_started(struct task_edit *edit, int64_t now_ms);
/* It ran, and its runtime no longer knows it. */
void task_observe_lost(struct task_edit *edit, int64_t now_ms);

/* Does the edit differ from the stored task? */
bool task_edit_differs(const struct task_edit *edit, const struct store_object *task);

#endif
