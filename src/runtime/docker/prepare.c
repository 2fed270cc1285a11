/*
 * Prepares images, the network, volumes and containers before a task starts. All names derive from
 * the task, so a repetition finds what exists.
 */
#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/docker/docker_internal.h"

#define ENVIRONMENT_FILE_MAX ((size_t)1024 * 1024)
#define VARIABLES_MAX 10000

struct preparing {
	struct docker_runtime *runtime;
	struct docker_task *task;
	const struct plan *plan;
	struct docker_abilities abilities;
	struct arena *arena;
	struct err *err;
};

/* Fails a container for good, and continues; -EAGAIN and -ECANCELED are not its failures. */
static int fail(struct preparing *preparing, size_t index, const char *kind, int code)
{
	struct docker_runtime *runtime = preparing->runtime;

	if (code == -EAGAIN || code == -ECANCELED || code == -EINPROGRESS)
		return code;
	lock_take(&runtime->lock);
	docker_fail(&preparing->task->state, index, kind, preparing->err->message,
		runner_wall_ms(runtime->runner));
	lock_release(&runtime->lock);
	return 0;
}

static bool is_ending(const struct preparing *preparing)
{
	bool ending;

	lock_take(&preparing->runtime->lock);
	ending = preparing->task->state.record->phase >= RUNTIME_STOPPING;
	lock_release(&preparing->runtime->lock);
	return ending;
}

static bool has_failed(const struct preparing *preparing, size_t index)
{
	bool failed;

	lock_take(&preparing->runtime->lock);
	failed = preparing->task->state.record->containers[index].phase == RUNTIME_STOPPED;
	lock_release(&preparing->runtime->lock);
	return failed;
}

/* ---- environment files ---- */

/* Lines NAME=value; empty lines and comments are skipped, as in ECS. */
static void add_variables(struct preparing *preparing, struct span text, char **variables,
	size_t *count)
{
	bool more = true;

	while (more && *count < VARIABLES_MAX) {
		struct span line = text;

		more = span_split(text, '\n', &line, &text);
		line = span_trim(line);
		if (line.length > 0 && line.data[line.length - 1] == '\r')
			line.length--;
		if (line.length == 0 || line.data[0] == '#' || line.data[0] == '=' ||
			!memchr(line.data, '=', line.length) || memchr(line.data, 0, line.length))
			continue;
		variables[(*count)++] = arena_copy(preparing->arena, line.data, line.length);
	}
}

static int read_environment_files(struct preparing *preparing, const struct plan_container *plan,
	char ***ret_variables)
{
	char **variables = arena_allocate_array(preparing->arena,
		plan->environment_files[0] ? VARIABLES_MAX + 1 : 1, sizeof(*variables));
	size_t count = 0;

	*ret_variables = variables;
	for (size_t i = 0; plan->environment_files[i]; i++) {
		_buffer_ struct buffer text = {0};
		int code = file_read(plan->environment_files[i], ENVIRONMENT_FILE_MAX, &text,
			preparing->err);

		if (code < 0)
			return code == -EAGAIN ? -EIO : code;
		add_variables(preparing, buffer_span(&text), variables, &count);
	}
	return 0;
}

/* ---- containers and volumes ---- */

/* Creates a container, or finds the existing one. */
static int create(struct preparing *preparing, struct span container, const struct json *body)
{
	struct docker_runtime *runtime = preparing->runtime;
	struct span name = docker_container_name(preparing->arena, runtime->host,
		preparing->plan->token, container);
	struct docker_request request = {
		.method = "POST", .body = json_to_text(body, preparing->arena)};
	struct json *found;
	int code = docker_call(&runtime->api, &request, preparing->arena, NULL, preparing->err,
		"/containers/create?name=%s", name.data);

	if (code != -EEXIST)
		return code;
	code = docker_call(&runtime->api, NULL, preparing->arena, &found, preparing->err,
		"/containers/%s/json", name.data);
	if (code == -ENOENT)
		return -EAGAIN;
	if (code == 0 &&
		!span_is(json_text(json_get(json_path(found, "Config.Labels"), DOCKER_LABEL_HOST)),
			runtime->host))
		return err_set(preparing->err, -EEXIST,
			"the name '%s' is taken by a container that is not slipway's", name.data);
	return code;
}

static int prepare_container(struct preparing *preparing, size_t index)
{
	const struct plan_container *container = &preparing->plan->containers[index];
	struct docker_runtime *runtime = preparing->runtime;
	char **variables;
	int code;

	if (has_failed(preparing, index))
		return 0;
	code = docker_images_want(&runtime->images, container->image, preparing->plan->token,
		preparing->err);
	if (code == -EREMOTEIO) {
		struct err words = *preparing->err;

		err_set(preparing->err, code, "Error response from daemon: %.900s", words.message);
	}
	if (code < 0)
		return fail(preparing, index, "CannotPullContainerError", code);
	code = read_environment_files(preparing, container, &variables);
	if (code < 0)
		return fail(preparing, index, "ResourceInitializationError", code);
	code = create(preparing, container->name,
		docker_create_body(preparing->arena, runtime->host, preparing->plan, index,
			&preparing->abilities, variables, runtime->dns));
	return code < 0 ? fail(preparing, index, "CannotCreateContainerError", code) : 0;
}

/* A volume of the task's own. An existing one is fine. */
static int prepare_volumes(struct preparing *preparing, const struct plan_container *container,
	size_t index)
{
	for (size_t i = 0; i < container->mount_count; i++) {
		struct json *body = json_new_object(preparing->arena);
		struct docker_request request = {.method = "POST"};
		int code;

		if (!container->mounts[i].volume)
			continue;
		json_set_string(preparing->arena, body, "Name",
			docker_container_name(preparing->arena, preparing->runtime->host,
				preparing->plan->token, span_of(container->mounts[i].volume)));
		json_set(preparing->arena, body, "Labels",
			docker_labels(preparing->arena, preparing->runtime->host, preparing->plan,
				SPAN("")));
		request.body = json_to_text(body, preparing->arena);
		code = docker_call(&preparing->runtime->api, &request, preparing->arena, NULL,
			preparing->err, "/volumes/create");
		if (code < 0)
			return fail(preparing, index, "CannotCreateVolumeError", code);
	}
	return 0;
}

static int prepare_network(struct preparing *preparing)
{
	struct docker_runtime *runtime = preparing->runtime;
	size_t holder = preparing->plan->container_count;
	struct span image, network;
	int code;

	if (preparing->plan->network != PLAN_NETWORK_AWSVPC)
		return 0;
	code = docker_network_make(runtime, preparing->arena, &network, preparing->err);
	if (code == 0)
		code = docker_pause_image(runtime, preparing->arena, &image, preparing->err);
	if (code == 0)
		code = create(preparing, SPAN(""),
			docker_network_holder_body(preparing->arena, runtime->host, preparing->plan,
				image, network, runtime->dns));
	return code < 0 ? fail(preparing, holder, "ResourceInitializationError", code) : 0;
}

int docker_prepare(struct docker_runtime *runtime, struct docker_task *task, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct preparing preparing = {
		.runtime = runtime, .task = task, .plan = task->plan, .arena = arena, .err = err};
	struct span notes;
	int code = docker_learn_abilities(runtime, &preparing.abilities, err);

	if (code < 0)
		return code;
	code = prepare_network(&preparing);
	for (size_t i = 0; code == 0 && i < task->plan->container_count && !is_ending(&preparing);
		i++)
		code = prepare_volumes(&preparing, &task->plan->containers[i], i);
	for (size_t i = 0; code == 0 && i < task->plan->container_count && !is_ending(&preparing);
		i++)
		code = prepare_container(&preparing, i);
	if (code < 0 || is_ending(&preparing))
		return code;
	notes = docker_create_notes(arena, task->plan, &preparing.abilities);
	lock_take(&runtime->lock);
	task->state.record->notes = arena_copy_span(task->state.arena, notes);
	task->state.begun = task->state.unsaved = true;
	lock_release(&runtime->lock);
	return 0;
}

/* ---- removing ---- */

static int remove_container(struct docker_runtime *runtime, struct arena *arena, struct span name,
	struct err *err)
{
	struct docker_request request = {.method = "DELETE"};
	int code = docker_call(&runtime->api, &request, arena, NULL, err,
		"/containers/%s?force=1&v=1", name.data);

	/* "removal … is already in progress" is a conflict, too: check again. */
	if (code == -EEXIST)
		code = -EAGAIN;
	return code == -ENOENT ? 0 : code;
}

static int remove_volumes(struct docker_runtime *runtime, struct arena *arena,
	const struct plan *plan, const struct plan_container *container, struct err *err)
{
	struct docker_request request = {.method = "DELETE"};

	for (size_t i = 0; i < container->mount_count; i++) {
		const char *volume = container->mounts[i].volume;
		int code;

		if (!volume)
			continue;
		code = docker_call(&runtime->api, &request, arena, NULL, err, "/volumes/%s",
			docker_container_name(arena, runtime->host, plan->token, span_of(volume))
				.data);
		if (code < 0 && code != -ENOENT)
			return code;
	}
	return 0;
}

int docker_remove(struct docker_runtime *runtime, const struct plan *plan, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	int code = 0;

	for (size_t i = 0; code == 0 && i < plan->container_count; i++)
		code = remove_container(runtime, arena,
			docker_container_name(arena, runtime->host, plan->token,
				plan->containers[i].name),
			err);
	if (code == 0 && plan->network == PLAN_NETWORK_AWSVPC)
		code = remove_container(runtime, arena,
			docker_container_name(arena, runtime->host, plan->token, SPAN("")), err);
	for (size_t i = 0; code == 0 && i < plan->container_count; i++)
		code = remove_volumes(runtime, arena, plan, &plan->containers[i], err);
	return code;
}

int docker_remove_orphans(struct docker_runtime *runtime, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span filter =
		arena_format(arena, "{\"label\":[\"" DOCKER_LABEL_HOST "=%s\"]}", runtime->host);
	struct json *list;
	int code = docker_call(&runtime->api, NULL, arena, &list, err,
		"/containers/json?all=1&filters=%s", docker_escape(arena, filter).data);

	if (code < 0)
		return code;
	JSON_EACH_ITEM (list, item) {
		struct span token =
			json_text(json_get(json_get(item, "Labels"), DOCKER_LABEL_TASK));
		struct span id = json_get_text(item, "Id");
		bool known;

		lock_take(&runtime->lock);
		known = !token.data || map_has(&runtime->tasks, token);
		lock_release(&runtime->lock);
		if (known || !id.data)
			continue;
		code = remove_container(runtime, arena, arena_copy_span(arena, id), err);
		if (code < 0)
			return code;
	}
	return 0;
}
