/*
 * The folder of a task, CONFIG.folder/TOKEN/:
 *     spec.json      the task spec (plan.h), durable before start() returns
 *     state.json     decisions (step.h), durable before their steps
 *     NAME.log.N, NAME.position    output of container NAME (logs.h)
 * No state: nothing was done. For a folder without a complete task spec start() never returned 0.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/docker/docker_internal.h"
#include "runtime/task/folder.h"
#include "runtime/task/record.h"

#define REMOVED_PREFIX ".removed-"
#define ARENA_USED_MAX ((size_t)256 * 1024)

static struct docker_task *new_task(struct docker_runtime *runtime, struct span token)
{
	struct docker_task *task = memory_allocate(sizeof(*task));

	task->token = memory_copy_string_n(token.data, token.length);
	task->folder = memory_format("%s/%s", runtime->folder, task->token);
	task->order = arena_new(0);
	return task;
}

void docker_task_free(struct docker_task *task)
{
	if (!task)
		return;
	arena_free(task->state.arena);
	arena_free(task->order);
	free(task->token);
	free(task->folder);
	free(task);
}

static void free_task_pointer(struct docker_task **task)
{
	docker_task_free(*task);
}

int docker_task_make(struct docker_runtime *runtime, struct span token, struct span instance,
	const struct json *spec, struct docker_task **ret_task, struct err *err)
{
	CLEANUP(free_task_pointer) struct docker_task *task = new_task(runtime, token);
	_free_ char *path = memory_format("%s/" RECORD_SPEC_FILE, task->folder);
	_buffer_ struct buffer text = {0};
	struct span order;
	struct plan *plan;
	int code;

	json_write(spec, &text);
	if (text.length > RUNTIME_SPEC_MAX)
		return err_set(err, -EINVAL, "the spec is larger than %zu bytes", RUNTIME_SPEC_MAX);
	code = plan_parse_spec(spec, PLAN_IMAGE_ANY, task->order, &plan, err);
	if (code == 0)
		code = docker_create_check(plan, err);
	if (code < 0)
		return code;
	plan->token = token;
	plan->instance = instance;
	plan->created_ms = runner_wall_ms(runtime->runner);
	buffer_reset(&text);
	plan_write_task_spec(plan, spec, &text);
	/* The plan is read again from the stored text, which it then owns. */
	order = arena_copy_span(task->order, buffer_span(&text));
	code = plan_parse_task_spec(order, PLAN_IMAGE_ANY, task->order, &plan, err);
	if (code < 0)
		return code;
	task->plan = plan;
	docker_state_init(&task->state, plan, arena_new(0));
	code = file_make_folder(task->folder, 0700, err);
	if (code == 0)
		code = file_replace(path, order, 0600, err);
	if (code < 0)
		return code == -EINVAL ? -EIO : code;
	*ret_task = TAKE(task);
	return 0;
}

static int read_state(struct docker_task *task, struct err *err)
{
	_free_ char *path = memory_format("%s/" RECORD_STATE_FILE, task->folder);
	_buffer_ struct buffer text = {0};
	struct arena *arena = arena_new(0);
	int code = file_read(path, RECORD_MAX, &text, err);

	if (code == -ENOENT) {
		docker_state_init(&task->state, task->plan, arena);
		return 0;
	}
	if (code == 0)
		code = docker_state_read(&task->state, task->plan,
			arena_copy_span(arena, buffer_span(&text)), arena, err);
	if (code < 0)
		arena_free(arena);
	return code;
}

int docker_task_read(struct docker_runtime *runtime, struct span token,
	struct docker_task **ret_task, struct err *err)
{
	CLEANUP(free_task_pointer) struct docker_task *task = new_task(runtime, token);
	_free_ char *path = memory_format("%s/" RECORD_SPEC_FILE, task->folder);
	_buffer_ struct buffer text = {0};
	struct plan *plan;
	int code = file_read(path, PLAN_SPEC_MAX, &text, err);

	if (code == 0)
		code = plan_parse_task_spec(arena_copy_span(task->order, buffer_span(&text)),
			PLAN_IMAGE_ANY, task->order, &plan, err);
	if (code == 0) {
		task->plan = plan;
		code = read_state(task, err);
	}
	if (code < 0)
		return err_prefix(err, code, "task '%.*s'", SPAN_ARGS(token));
	*ret_task = TAKE(task);
	return 0;
}

/* Replaced text stays in the arena; now and then the current text is copied to a new one. */
static void renew_arena(struct docker_state *state)
{
	struct arena *arena;

	if (arena_used(state->arena) < ARENA_USED_MAX)
		return;
	arena = arena_new(0);
	state->record = record_copy(state->record, arena);
	arena_free(state->arena);
	state->arena = arena;
}

int docker_task_save(struct docker_runtime *runtime, struct docker_task *task, struct err *err)
{
	_free_ char *path = memory_format("%s/" RECORD_STATE_FILE, task->folder);
	_buffer_ struct buffer text = {0};
	int code;

	lock_take(&runtime->lock);
	renew_arena(&task->state);
	docker_state_write(&task->state, &text);
	task->state.unsaved = false;
	lock_release(&runtime->lock);
	code = file_replace(path, buffer_span(&text), 0600, err);
	if (code < 0) {
		lock_take(&runtime->lock);
		task->state.unsaved = true;
		lock_release(&runtime->lock);
	}
	return code;
}

int docker_task_remove(struct docker_runtime *runtime, struct docker_task *task, struct err *err)
{
	_free_ char *removed =
		memory_format("%s/" REMOVED_PREFIX "%s", runtime->folder, task->token);

	/* Atomic: a crash leaves the whole task or none of it. */
	if (rename(task->folder, removed) < 0 && errno != ENOENT)
		return err_errno(err, "remove '%s'", task->folder);
	folder_remove(removed, NULL); /* or at the next open */
	return 0;
}

int docker_folder_scan(struct docker_runtime *runtime,
	int (*found)(struct docker_runtime *runtime, struct span token, struct err *err),
	struct err *err)
{
	DIR *listing = opendir(runtime->folder);
	int code = 0;

	if (!listing)
		return err_errno(err, "open folder '%s'", runtime->folder);
	errno = 0;
	for (struct dirent *entry; code == 0 && (entry = readdir(listing)); errno = 0) {
		struct span name = span_of(entry->d_name);
		_free_ char *path = memory_format("%s/%s", runtime->folder, entry->d_name);
		_free_ char *order = memory_format("%s/" RECORD_SPEC_FILE, path);
		struct stat status;

		if (span_starts_with(name, SPAN(REMOVED_PREFIX)))
			code = folder_remove(path, err);
		else if (plan_token_is_valid(name) && stat(order, &status) < 0 && errno == ENOENT)
			code = folder_remove(path, err);
		else if (plan_token_is_valid(name))
			code = found(runtime, name, err);
	}
	if (code == 0 && errno != 0)
		code = err_errno(err, "read folder '%s'", runtime->folder);
	closedir(listing);
	return code;
}
