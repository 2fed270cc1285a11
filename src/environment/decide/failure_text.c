/* See the header. */
#include "environment/decide/failure_text.h"

#include <stdio.h>

#include "delivery/observe/document.h"

#define REASON_MAX 300
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

	/* The stopped reason of an unhealthy task only says how it was stopped. */
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

/* The task was healthy when this environment stopped it. */
static bool is_our_stop(const struct instances *instances, const struct reconcile_input *input,
	const struct observe_task *task)
{
	struct span name = environment_name_of_key(instances->key);
	/* See instance_action.c; versions before 0.6 gave no cause. */
	struct span ours = arena_format(input->arena, "Environment %.*s: ", SPAN_ARGS(name));

	return task->health != OBSERVE_UNHEALTHY &&
	       (span_starts_with(task->stopped_reason, ours) ||
		       span_equal(task->stopped_reason, (struct span){ours.data, ours.length - 2}));
}

struct span failure_text_of_instance(const struct instances *instances,
	const struct reconcile_input *input, const struct instance_entry *entry, bool named)
{
	const struct observe_task *task = NULL;

	for (unsigned version = 0; !task && version < FLEET_VERSION_COUNT; version++)
		task = env_instances_find_task(instances, input, entry, version, ROLLOUT_UNHEALTHY,
			input->arena);
	if (!task)
		task = observe_last_stopped(input->state, entry->cluster, entry->id,
			instances->group, input->arena);
	if (task && is_our_stop(instances, input, task))
		task = NULL;
	return task ? failure_text_of_end(input->arena, task, named) : SPAN_NONE;
}

const struct observe_task *failure_last_of_service(const struct reconcile_input *input,
	struct cluster_ref cluster, struct span service, struct span deployment)
{
	struct observe_task_query query = {
		.group = arena_format(input->arena, "service:%.*s", SPAN_ARGS(service)),
		.started_by = deployment,
		.statuses = 1u << OBSERVE_TASK_STOPPED};
	struct observe_task *tasks;
	size_t count = observe_select_tasks(input->state, cluster, &query, SPAN_NONE,
		TASKS_SCAN_MAX, input->arena, &tasks);
	const struct observe_task *last = NULL;

	for (size_t i = 0; i < count; i++)
		if (!last || tasks[i].since_ms > last->since_ms)
			last = &tasks[i];
	return last;
}

struct span failure_reason(struct arena *arena, const char *word, struct span text)
{
	struct span created = arena_format(arena, "%s%s%.*s", word, word[0] ? ": " : "",
		(int)(text.length < REASON_MAX ? text.length : REASON_MAX), text.data);

	for (size_t i = 0; i < created.length; i++) {
		char *c = (char *)created.data + i;

		if (*c == '"' || *c == '\\')
			*c = '\'';
		else if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = ' ';
	}
	return created;
}
