/*
 * Why tasks do not run, in words: as ECS said it of the last one that ended. What is said of one instance names the task;
 * what is said of a whole deployment does not, so that it stays the same while the same happens again and again.
 */
#include "environment/failure_text.h"

#include <stdio.h>

#include "delivery/observe/document.h"

#define TASKS_SCAN_MAX 1000 /* of a service, that have stopped */

/* " (exit code 3)" */
#define EXIT_SIZE 32
static const char *exit_text(const struct observe_task *task, char text[static EXIT_SIZE])
{
	text[0] = '\0';
	if (task->has_exited)
		snprintf(text, EXIT_SIZE, " (exit code %d)", task->exit_code);
	return text;
}

struct span failure_text_of_end(struct arena *arena, const struct observe_task *task, bool named)
{
	struct span reason =
		task->stopped_reason.length > 0 ? task->stopped_reason : task->stop_code;
	char text[EXIT_SIZE];

	/* Who stopped it says that, and not why. */
	if (task->health == OBSERVE_UNHEALTHY &&
		!span_is(task->stop_code, "EssentialContainerExited"))
		return named ? arena_format(arena, "the health check of task %.*s failed",
				       SPAN_ARGS(observe_document_id(task->arn)))
			     : SPAN("the health check failed");
	exit_text(task, text);
	if (!named)
		return arena_format(arena, "%.*s%s",
			SPAN_ARGS(reason.length > 0 ? reason : SPAN("tasks stop")), text);
	return arena_format(arena, "task %.*s stopped%s%.*s%s",
		SPAN_ARGS(observe_document_id(task->arn)), reason.length > 0 ? ": " : "",
		SPAN_ARGS(reason), text);
}

/* It was well when it had to go. */
static bool is_our_stop(const struct manager_pass *pass, const struct observe_task *task)
{
	struct span ours = arena_format(pass->arena, "Environment %.*s",
		SPAN_ARGS(environment_name_of_key(pass->instances->key))); /* see manager_act.c */

	return task->health != OBSERVE_UNHEALTHY && span_equal(task->stopped_reason, ours);
}

struct span failure_text_of_instance(const struct manager_pass *pass,
	const struct instance_entry *member, bool named)
{
	const struct reconcile_input *input = &pass->input;
	const struct observe_task *task = NULL;

	for (unsigned version = 0; !task && version < FLEET_VERSION_COUNT; version++)
		task = env_instances_find_task(pass->instances, input, member, version,
			ROLLOUT_UNHEALTHY, pass->arena);
	if (!task)
		task = observe_last_stopped(input->state, member->cluster_ref, member->id,
			pass->instances->group, pass->arena);
	if (task && is_our_stop(pass, task))
		task = NULL;
	return task ? failure_text_of_end(pass->arena, task, named) : SPAN_NONE;
}

const struct observe_task *manager_last_of_service(const struct manager_pass *pass,
	struct span cluster_ref, struct span service, struct span deployment)
{
	struct observe_task_query query = {
		.group = arena_format(pass->arena, "service:%.*s", SPAN_ARGS(service)),
		.started_by = deployment,
		.statuses = 1u << OBSERVE_TASK_STOPPED};
	struct observe_task *tasks;
	size_t count = observe_select_tasks(pass->input.state, cluster_ref, &query, SPAN_NONE,
		TASKS_SCAN_MAX, pass->arena, &tasks);
	const struct observe_task *last = NULL;

	for (size_t i = 0; i < count; i++)
		if (!last || tasks[i].since_ms > last->since_ms)
			last = &tasks[i];
	return last;
}
