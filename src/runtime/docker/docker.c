/*
 * The operations of the docker runtime. They change folders and the work queue; workers (work.c) do
 * the rest and keep the state that the operations report.
 */
#include "runtime/docker/docker.h"

#include <limits.h>
#include <stdio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/docker/docker_internal.h"
#include "runtime/task/log_files.h"
#include "runtime/task/record.h"

#define PAUSE_NAME "slipway-pause"
#define WORKERS 8
#define OPEN_PATIENCE_US (INT64_C(10) * 1000 * 1000)
#define OPEN_AGAIN_US INT64_C(10000)
#define LOG_READ_MAX ((size_t)16 * 1024 * 1024)
#define REASON_MAX 1024
#define HOST_DIGITS 32

static struct docker_runtime *docker_of(struct runtime *base)
{
	return CONTAINER_OF(base, struct docker_runtime, runtime);
}

static int unknown(struct span token, struct err *err)
{
	return err_set(err, -ENOENT, "no task '%.*s'", SPAN_ARGS(token));
}

/* ---- holding tasks ---- */

struct docker_task *docker_task_hold(struct docker_runtime *runtime, struct span token)
{
	struct docker_task *task;

	lock_take(&runtime->lock);
	task = map_get(&runtime->tasks, token);
	if (task)
		task->users++;
	lock_release(&runtime->lock);
	return task;
}

void docker_task_release(struct docker_runtime *runtime, struct docker_task *task)
{
	bool last;

	lock_take(&runtime->lock);
	last = --task->users == 0 && task->gone;
	lock_release(&runtime->lock);
	if (last)
		docker_task_free(task);
}

/* ---- starting and stopping ---- */

/* Of two calls at once, one creates the task and the other finds it: the lock is not held during
 * disk writes. */
static bool begin_start(struct docker_runtime *runtime, struct span token)
{
	for (;;) {
		uint64_t seen = runner_event_count(runtime->settled);
		bool known, starting;

		lock_take(&runtime->lock);
		known = map_has(&runtime->tasks, token);
		starting = map_has(&runtime->starting, token);
		if (!known && !starting)
			map_put(&runtime->starting, token, runtime);
		lock_release(&runtime->lock);
		if (known || !starting)
			return !known;
		if (runner_wait(runtime->runner, runtime->settled, seen, RUNNER_FOREVER) < 0)
			return false;
	}
}

static int docker_start(struct runtime *base, struct span token, struct span instance,
	const struct json *spec, struct err *err)
{
	struct docker_runtime *runtime = docker_of(base);
	struct docker_task *task;
	int code;

	if (!plan_token_is_valid(token))
		return err_set(err, -EINVAL,
			"a token is 1 to %d letters, digits, hyphens and underscores",
			RUNTIME_TOKEN_MAX);
	if (!docker_has_instance(runtime, instance))
		return err_set(err, -EINVAL, "there is no instance '%.*s'", SPAN_ARGS(instance));
	if (!begin_start(runtime, token))
		return 0;
	code = docker_task_make(runtime, token, instance, spec, &task, err);
	lock_take(&runtime->lock);
	if (code == 0)
		map_put(&runtime->tasks, token, task);
	map_remove(&runtime->starting, token);
	lock_release(&runtime->lock);
	runner_signal(runtime->settled);
	if (code == 0)
		work_queue_add(runtime->work, token);
	return code;
}

static int docker_stop_task(struct runtime *base, struct span token, struct span reason,
	struct err *err)
{
	struct docker_runtime *runtime = docker_of(base);
	struct docker_task *task;

	if (reason.length > REASON_MAX)
		reason.length = REASON_MAX;
	lock_take(&runtime->lock);
	task = map_get(&runtime->tasks, token);
	if (task)
		docker_stop(&task->state, RUNTIME_STOP_REQUESTED, reason);
	lock_release(&runtime->lock);
	if (!task)
		return unknown(token, err);
	work_queue_add(runtime->work, token);
	return 0;
}

static int docker_acknowledge(struct runtime *base, struct span token, struct err *err)
{
	struct docker_runtime *runtime = docker_of(base);
	struct docker_task *task = docker_task_hold(runtime, token);
	bool ended;
	int code = 0;

	if (!task)
		return unknown(token, err);
	lock_take(&runtime->lock);
	ended = task->state.record->phase == RUNTIME_STOPPED && !task->state.unsaved;
	lock_release(&runtime->lock);
	if (!ended)
		code = err_set(err, -EBUSY, "task '%.*s' has not stopped", SPAN_ARGS(token));
	if (code == 0)
		code = docker_remove(runtime, task->plan, err);
	if (code == 0) {
		docker_logs_forget(&runtime->logs, token);
		docker_images_forget(&runtime->images, token);
		code = docker_task_remove(runtime, task, err);
	}
	if (code == 0) {
		lock_take(&runtime->lock);
		if (!task->gone)
			map_remove(&runtime->tasks, token);
		task->gone = true;
		lock_release(&runtime->lock);
	}
	docker_task_release(runtime, task);
	return code;
}

/* ---- reading ---- */

static int docker_list_tasks(struct runtime *base, struct arena *arena, struct span **ret_tokens,
	size_t *ret_count, struct err *err)
{
	struct docker_runtime *runtime = docker_of(base);
	struct span *tokens;
	size_t count = 0;

	(void)err;
	lock_take(&runtime->lock);
	tokens = arena_allocate_array(arena, runtime->tasks.count + 1, sizeof(*tokens));
	MAP_EACH (&runtime->tasks, entry)
		tokens[count++] = arena_copy_span(arena, entry->key);
	lock_release(&runtime->lock);
	*ret_tokens = tokens;
	*ret_count = count;
	return 0;
}

static int docker_get(struct runtime *base, struct span token, struct arena *arena,
	struct runtime_task **ret_task, struct err *err)
{
	struct docker_runtime *runtime = docker_of(base);
	struct docker_task *task;

	lock_take(&runtime->lock);
	task = map_get(&runtime->tasks, token);
	if (task) {
		*ret_task = record_copy(task->state.record, arena);
		/* A task is STOPPED only when that is on disk. */
		if ((*ret_task)->phase == RUNTIME_STOPPED && task->state.unsaved)
			(*ret_task)->phase = RUNTIME_STOPPING;
	}
	lock_release(&runtime->lock);
	return task ? 0 : unknown(token, err);
}

static int find_container(struct runtime_task *task, struct span name,
	struct runtime_container **ret_container, struct err *err)
{
	for (size_t i = 0; i < task->container_count; i++)
		if (span_equal(task->containers[i].name, name)) {
			*ret_container = &task->containers[i];
			return 0;
		}
	return err_set(err, -ENOENT, "task '%.*s' has no container '%.*s'", SPAN_ARGS(task->token),
		SPAN_ARGS(name));
}

static int docker_exec_in(struct runtime *base, struct span token, struct span name,
	const struct json *command, bool terminal, struct runtime_exec **ret_exec, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct runtime_container *container;
	struct runtime_task *task;
	int code = docker_get(base, token, arena, &task, err);

	if (code == 0)
		code = find_container(task, name, &container, err);
	if (code < 0)
		return code;
	if (container->phase != RUNTIME_RUNNING && container->phase != RUNTIME_STOPPING)
		return err_set(err, -ESRCH, "container '%.*s' does not run", SPAN_ARGS(name));
	return docker_exec(docker_of(base), container->runtime_id, command, terminal, ret_exec,
		err);
}

static int docker_read_logs(struct runtime *base, struct span token, struct span name,
	uint64_t offset, size_t max, struct buffer *out, struct runtime_log_times *times,
	uint64_t *ret_offset, struct err *err)
{
	struct docker_runtime *runtime = docker_of(base);
	_arena_ struct arena *arena = arena_new(0);
	_free_ char *folder = memory_format("%s/%.*s", runtime->folder, SPAN_ARGS(token));
	struct runtime_container *container;
	struct runtime_task *task;
	bool ended;
	int code = docker_get(base, token, arena, &task, err);

	if (code == 0)
		code = find_container(task, name, &container, err);
	if (code < 0)
		return code;
	ended = container->phase == RUNTIME_STOPPED;
	if (ended)
		docker_logs_wait(&runtime->logs, token, name);
	return log_files_read(folder, name, offset, max < LOG_READ_MAX ? max : LOG_READ_MAX, ended,
		out, times, ret_offset, err);
}

/* ---- opening and closing ---- */

static void free_runtime(struct docker_runtime *runtime)
{
	docker_logs_close(&runtime->logs);
	if (runtime->images.api)
		docker_images_clear(&runtime->images);
	work_queue_free(runtime->work);
	docker_api_close(&runtime->api);
	MAP_EACH (&runtime->tasks, entry)
		docker_task_free(entry->value);
	map_clear(&runtime->tasks);
	map_clear(&runtime->starting);
	runner_event_free(runtime->settled);
	runner_free(runtime->runner);
	memory_close_descriptor(&runtime->folder_lock);
	lock_destroy(&runtime->lock);
	lock_destroy(&runtime->making_network);
	free(runtime->folder);
	free(runtime->host);
	free(runtime->pause);
	free(runtime);
}

static void stop_threads(struct docker_runtime *runtime)
{
	runner_stop(runtime->runner);
	docker_api_cancel(&runtime->api);
	if (runtime->logs.settled)
		docker_logs_end(&runtime->logs);
	runner_join(runtime->runner, NULL);
}

static void close_runtime_pointer(struct docker_runtime **runtime)
{
	if (!*runtime)
		return;
	stop_threads(*runtime);
	free_runtime(*runtime);
}

/* The network stays while any task may need it. */
static bool has_living_tasks(struct docker_runtime *runtime)
{
	bool living = false;

	lock_take(&runtime->lock);
	MAP_EACH (&runtime->tasks, entry)
		living |= ((struct docker_task *)entry->value)->state.record->phase !=
			  RUNTIME_STOPPED;
	lock_release(&runtime->lock);
	return living;
}

/* Removes the tasks that no server will ask for again. */
static void forget_tasks(struct docker_runtime *runtime)
{
	MAP_EACH (&runtime->tasks, entry) {
		const struct docker_task *task = entry->value;

		if (task->state.record->phase == RUNTIME_STOPPED)
			docker_remove(runtime, task->plan, NULL);
	}
}

static void docker_close(struct runtime *base)
{
	struct docker_runtime *runtime = docker_of(base);

	if (runtime->forgets)
		forget_tasks(runtime);
	if (!has_living_tasks(runtime))
		docker_network_remove(runtime);
	stop_threads(runtime);
	free_runtime(runtime);
}

static const struct runtime_operations operations = {
	.name = "docker",
	.list_instances = docker_list_instances,
	.list_tasks = docker_list_tasks,
	.start = docker_start,
	.stop = docker_stop_task,
	.get = docker_get,
	.acknowledge = docker_acknowledge,
	.exec = docker_exec_in,
	.read_logs = docker_read_logs,
	.close = docker_close,
};

static char *pause_beside_us(void)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (length < 0)
		return memory_copy_string(PAUSE_NAME);
	path[length] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	return memory_format("%s/" PAUSE_NAME, path);
}

static int lock_folder(struct docker_runtime *runtime, struct err *err)
{
	_free_ char *path = memory_format("%s/" RECORD_ALL_LOCK_FILE, runtime->folder);
	int64_t deadline = runner_deadline_us(runtime->runner, OPEN_PATIENCE_US);

	for (;;) {
		int64_t again = runner_deadline_us(runtime->runner, OPEN_AGAIN_US);
		int code = file_lock(path, &runtime->folder_lock, err);

		/* The process that held the lock may be exiting. */
		if (code != -EBUSY || runner_now_us(runtime->runner) >= deadline ||
			runner_sleep_until(runtime->runner, again) < 0)
			return code;
	}
}

/* The end of a task may be on disk before the last output of its containers. */
static void follow_ended(struct docker_runtime *runtime, struct docker_task *task)
{
	const struct runtime_task *record = task->state.record;

	for (size_t i = 0; record->phase == RUNTIME_STOPPED && i < record->container_count; i++) {
		const struct runtime_container *container = &record->containers[i];
		_free_ char *id = memory_copy_string_n(container->runtime_id.data,
			container->runtime_id.length);
		struct docker_log_source source = {.token = span_of(task->token),
			.name = container->name,
			.folder = task->folder,
			.id = id,
			.most = task->plan->containers[i].log_max_bytes,
			.over = true};

		if (id[0] && container->started_ms)
			docker_logs_follow(&runtime->logs, &source);
	}
}

static int adopt(struct docker_runtime *runtime, struct span token, struct err *err)
{
	struct docker_task *task;
	int code = docker_task_read(runtime, token, &task, err);

	if (code < 0)
		return code;
	map_put(&runtime->tasks, token, task);
	follow_ended(runtime, task);
	return 0;
}

/* An invalid path fails at once; with tasks to adopt, an unreachable daemon is retried. */
static int greet(struct docker_runtime *runtime, struct err *err)
{
	int code = docker_api_negotiate(&runtime->api, err);

	return code == -EAGAIN && runtime->tasks.count > 0 ? 0 : code;
}

static int start_threads(struct docker_runtime *runtime, struct err *err)
{
	int code = runner_spawn(runtime->runner, "events", docker_events_main, runtime, err);

	if (code == 0)
		code = runner_spawn(runtime->runner, "logs", docker_logs_main, &runtime->logs, err);
	for (unsigned i = 0; code == 0 && i < WORKERS; i++)
		code = runner_spawn(runtime->runner, "work", docker_work_main, runtime, err);
	for (unsigned i = 0; code == 0 && i < DOCKER_PULLERS; i++)
		code = runner_spawn(runtime->runner, "pull", docker_images_main, &runtime->images,
			err);
	return code;
}

static int check_config(const struct runtime_docker_config *config, struct err *err)
{
	const char *socket = config->socket ? config->socket : RUNTIME_DOCKER_SOCKET;

	if (config->instances > RUNTIME_DOCKER_INSTANCES_MAX)
		return err_set(err, -EINVAL, "instances: more than %d",
			RUNTIME_DOCKER_INSTANCES_MAX);
	if (strlen(config->host) != HOST_DIGITS)
		return err_set(err, -EINVAL, "host: not %d digits", HOST_DIGITS);
	if (strlen(socket) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return err_set(err, -EINVAL, "socket: the path is longer than %zu bytes",
			sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
	return 0;
}

int runtime_docker_open(const struct runtime_docker_config *config, struct runtime **ret_runtime,
	struct err *err)
{
	struct work_queue_config queue = {
		.backoff_most_us = 2 * 1000 * 1000, .retries_per_second = 200};
	CLEANUP(close_runtime_pointer) struct docker_runtime *runtime = NULL;
	int code = check_config(config, err);

	if (code < 0)
		return err_prefix(err, code, "open the docker runtime");
	runtime = memory_allocate(sizeof(*runtime));
	*runtime = (struct docker_runtime){
		.runtime.operations = &operations,
		.runner = runner_group_new(config->runner, "docker"),
		.folder = memory_copy_string(config->folder),
		.host = memory_copy_string(config->host),
		.pause = config->pause ? memory_copy_string(config->pause) : pause_beside_us(),
		.instances = config->instances ? config->instances : 1,
		.forgets = config->forgets,
		.changed = config->changed,
		.context = config->context,
		.folder_lock = -1,
	};
	lock_init(&runtime->lock);
	lock_init(&runtime->making_network);
	runtime->settled = runner_event_new(runtime->runner, "tasks in Docker");
	runtime->work = work_queue_new(runtime->runner, &queue);
	code = docker_api_open(&runtime->api,
		config->socket ? config->socket : RUNTIME_DOCKER_SOCKET, err);
	docker_images_init(&runtime->images, runtime->runner, &runtime->api, runtime->work);
	if (code == 0)
		code = docker_logs_open(&runtime->logs, runtime->runner, &runtime->api, err);
	if (code == 0)
		code = file_make_folder(runtime->folder, 0700, err);
	if (code == 0)
		code = lock_folder(runtime, err);
	if (code == 0)
		code = docker_folder_scan(runtime, adopt, err);
	if (code == 0)
		code = greet(runtime, err);
	if (code == 0 && config->answers_dns)
		docker_find_dns(runtime, &runtime->dns_error);
	if (code == 0)
		code = start_threads(runtime, err);
	if (code < 0)
		return err_prefix(err, code, "open the docker runtime");
	*ret_runtime = &TAKE(runtime)->runtime;
	return 0;
}

const char *runtime_docker_dns_address(const struct runtime *runtime, const char **ret_reason)
{
	const struct docker_runtime *docker = CONTAINER_OF(runtime, struct docker_runtime, runtime);

	if (docker->dns[0])
		return docker->dns;
	*ret_reason = docker->dns_error.message;
	return NULL;
}
