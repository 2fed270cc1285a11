/*
 * The operations of the process runtime. They change folders and send requests to supervisors; the
 * thread in watch.c keeps the state of tasks.
 */
#include "runtime/process/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/process/process_internal.h"
#include "runtime/process/protocol.h"
#include "runtime/task/folder.h"
#include "runtime/task/log_files.h"

#define SUPERVISOR_NAME "slipway-task"
#define REMOVED_PREFIX ".removed-"
#define OPEN_PATIENCE_US ((int64_t)10 * 1000 * 1000)
#define KNOWN_PATIENCE_SECONDS 60
#define LOG_READ_MAX ((size_t)16 * 1024 * 1024)

static struct process_runtime *process_of(struct runtime *base)
{
	return CONTAINER_OF(base, struct process_runtime, runtime);
}

static int unknown(struct span token, struct err *err)
{
	return err_set(err, -ENOENT, "no task '%.*s'", SPAN_ARGS(token));
}

/* Waits while start() is at work. The mutex is held. */
static struct process_task *find_started(struct process_runtime *runtime, struct span token)
{
	struct process_task *task;

	while ((task = map_get(&runtime->tasks, token)) && task->is_starting)
		lock_wait(&runtime->mutex, &runtime->settled);
	return task;
}

/* Starting. */

/* Not yet durable: the supervisor starts meanwhile, and makes the folder durable with its record. A
 * truncated spec is known by its end, see adopt(). */
static int write_spec(const struct process_task *task, const struct plan *plan,
	const struct json *spec, int *ret_order, struct err *err)
{
	_free_ char *path = memory_format("%s/" RECORD_SPEC_FILE, task->folder);
	_buffer_ struct buffer text = {0};
	_close_ int order = -1;

	if (mkdir(task->folder, 0700) < 0)
		return err_errno(err, "make folder '%s'", task->folder);
	order = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (order < 0)
		return err_errno(err, "make '%s'", path);
	plan_write_task_spec(plan, spec, &text);
	for (size_t done = 0; done < text.length;) {
		ssize_t written = write(order, text.data + done, text.length - done);

		if (written < 0 && errno != EINTR)
			return err_errno(err, "write '%s'", path);
		done += written > 0 ? (size_t)written : 0;
	}
	*ret_order = TAKE_FD(order);
	return 0;
}

static int supervise_new(struct process_runtime *runtime, struct process_task *task, int order,
	int *ret_channel, struct err *err)
{
	_free_ char *path = memory_format("%s/" RECORD_LOCK_FILE, task->folder);
	_close_ int lock = -1, channel = -1;
	pid_t pid;
	int code = file_lock(path, &lock, err);

	if (code == 0)
		code = process_supervise(runtime, task->folder, &lock, &channel, &pid, err);
	if (code < 0)
		return code;
	/* While the supervisor prepares. On a disk that fails, its record fails, too. */
	if (fsync(order) < 0)
		code = -EAGAIN;
	if (code == 0)
		code = process_await(channel, pid, err);
	else
		process_await(channel, pid, NULL);
	if (code == 0)
		*ret_channel = TAKE_FD(channel);
	return code;
}

/* On a thread of the caller's, without the mutex; no other thread uses the task. */
static int start_new(struct process_runtime *runtime, struct process_task *task,
	const struct plan *plan, const struct json *spec, int *ret_channel, struct err *err)
{
	_close_ int order = -1;
	int code = write_spec(task, plan, spec, &order, err);

	if (code == 0)
		code = supervise_new(runtime, task, order, ret_channel, err);
	/* -EAGAIN: killed at an unknown point; the probe finds out how far it came. */
	if (code == 0 || code == -EAGAIN)
		return 0;
	/* Else nothing was run; and the spec is not the reason. */
	folder_remove(task->folder, NULL);
	return code == -EINVAL ? -EIO : code;
}

static int check_start(struct process_runtime *runtime, struct span token, struct span instance,
	const struct json *spec, struct arena *arena, struct plan **ret_plan, struct err *err)
{
	_buffer_ struct buffer text = {0};

	if (!plan_token_is_valid(token))
		return err_set(err, -EINVAL,
			"a token is 1 to %d letters, digits, hyphens and underscores",
			RUNTIME_TOKEN_MAX);
	if (!process_has_instance(runtime, instance))
		return err_set(err, -EINVAL, "there is no instance '%.*s'", SPAN_ARGS(instance));
	json_write(spec, &text);
	if (text.length > RUNTIME_SPEC_MAX)
		return err_set(err, -EINVAL, "the spec is larger than %zu bytes", RUNTIME_SPEC_MAX);
	return plan_parse_spec(spec, PLAN_IMAGE_HOST, arena, ret_plan, err);
}

static int process_start(struct runtime *base, struct span token, struct span instance,
	const struct json *spec, struct err *err)
{
	struct process_runtime *runtime = process_of(base);
	_arena_ struct arena *arena = arena_new(0);
	_close_ int channel = -1;
	struct process_task *task;
	struct plan *plan;
	int code = check_start(runtime, token, instance, spec, arena, &plan, err);

	if (code < 0)
		return code;
	process_prepare_network(runtime, plan);
	lock_take(&runtime->mutex);
	task = find_started(runtime, token);
	if (!task) {
		plan->token = token;
		plan->instance = instance;
		plan->created_ms = clock_wall_ms(runtime->clock);
		plan->hidden = (const char *const *)runtime->hidden;
		plan->processes_max = runtime->processes_max;
		code = process_choose_network(runtime, plan, arena, err);
	}
	if (task || code < 0) {
		lock_release(&runtime->mutex);
		return code;
	}
	task = process_task_new(runtime, token);
	task->is_starting = true;
	process_task_take_spec(task, plan);
	map_put(&runtime->tasks, token, task);
	lock_release(&runtime->mutex);

	code = start_new(runtime, task, plan, spec, &channel, err);

	lock_take(&runtime->mutex);
	task->is_starting = false;
	if (code < 0) {
		map_remove(&runtime->tasks, token);
		process_task_free(task);
	} else if (channel >= 0 && process_watch(task, channel) == 0) {
		TAKE_FD(channel);
	} else {
		process_unsettle(task);
		process_wake(runtime);
	}
	pthread_cond_broadcast(&runtime->settled);
	lock_release(&runtime->mutex);
	return code;
}

/* Reading. */

static int process_list_tasks(struct runtime *base, struct arena *arena, struct span **ret_tokens,
	size_t *ret_count, struct err *err)
{
	struct process_runtime *runtime = process_of(base);
	struct span *tokens;
	size_t count = 0;

	(void)err;
	lock_take(&runtime->mutex);
	tokens = arena_allocate_array(arena, runtime->tasks.count + 1, sizeof(*tokens));
	MAP_EACH (&runtime->tasks, entry) {
		tokens[count++] = arena_copy_span(arena, entry->key);
	}
	lock_release(&runtime->mutex);
	*ret_tokens = tokens;
	*ret_count = count;
	return 0;
}

/* The mutex is held. *ret_line lives in the arena. */
static int wait_for_state(struct process_runtime *runtime, struct span token, struct arena *arena,
	struct span *ret_line, struct err *err)
{
	struct timespec deadline;
	struct process_task *task;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += KNOWN_PATIENCE_SECONDS;
	while ((task = map_get(&runtime->tasks, token)) && !task->is_known)
		if (!lock_wait_until(&runtime->mutex, &runtime->settled, &deadline))
			return err_set(err, -ETIMEDOUT,
				"task '%.*s': its supervisor does not answer", SPAN_ARGS(token));
	if (!task)
		return unknown(token, err);
	*ret_line = arena_copy_span(arena, buffer_span(&task->state));
	return 0;
}

static int process_get(struct runtime *base, struct span token, struct arena *arena,
	struct runtime_task **ret_task, struct err *err)
{
	struct process_runtime *runtime = process_of(base);
	struct json *answer;
	struct span line;
	int code;

	lock_take(&runtime->mutex);
	code = wait_for_state(runtime, token, arena, &line, err);
	lock_release(&runtime->mutex);
	if (code == 0)
		code = json_parse(line, arena, &answer, err);
	return code < 0 ? code : record_read(json_get(answer, "state"), arena, ret_task, err);
}

/* The task's folder, which is enough to work without the mutex. */
static int find_folder(struct process_runtime *runtime, struct span token, char **ret_folder,
	bool *ret_ended, struct err *err)
{
	struct process_task *task;
	int code = 0;

	lock_take(&runtime->mutex);
	task = find_started(runtime, token);
	if (task) {
		*ret_folder = memory_copy_string(task->folder);
		*ret_ended = task->has_ended;
	} else {
		code = unknown(token, err);
	}
	lock_release(&runtime->mutex);
	return code;
}

static int process_stop(struct runtime *base, struct span token, struct span reason,
	struct err *err)
{
	struct process_runtime *runtime = process_of(base);
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer line = {0};
	_free_ char *folder = NULL;
	_close_ int connection = -1;
	struct json *answer;
	bool has_ended;
	int code = find_folder(runtime, token, &folder, &has_ended, err);

	if (code < 0 || has_ended)
		return code;
	if (reason.length > PROTOCOL_REASON_MAX)
		reason.length = PROTOCOL_REASON_MAX;
	buffer_format(&line, "{\"version\":%d,\"do\":\"stop\",\"reason\":", PROTOCOL_VERSION);
	json_write_string(reason, &line);
	buffer_add_string(&line, "}\n");
	code = process_connect(folder, &connection, err);
	if (code == 0)
		code = process_send(connection, buffer_span(&line), NULL, 0, err);
	if (code == 0)
		code = process_receive(connection, arena, &answer, err);
	/* It may have ended, or be lost: the watch finds out soon. It is not unknown. */
	if (code == 0)
		return 0;
	err_prefix(err, -EAGAIN, "stop task '%.*s'", SPAN_ARGS(token));
	return -EAGAIN;
}

static int process_acknowledge(struct runtime *base, struct span token, struct err *err)
{
	struct process_runtime *runtime = process_of(base);
	_free_ char *removed = NULL;
	struct process_task *task;
	int code = 0;

	lock_take(&runtime->mutex);
	task = find_started(runtime, token);
	if (!task)
		code = unknown(token, err);
	else if (!task->has_ended)
		code = err_set(err, -EBUSY, "task '%.*s' has not stopped", SPAN_ARGS(token));
	if (code == 0) {
		/* Atomic: a crash leaves the whole task or none of it. */
		removed = memory_format("%s/" REMOVED_PREFIX "%s", runtime->folder, task->token);
		if (rename(task->folder, removed) < 0 && errno != ENOENT)
			code = err_errno(err, "remove '%s'", task->folder);
	}
	if (code == 0) {
		map_remove(&runtime->tasks, token);
		process_task_free(task);
	}
	lock_release(&runtime->mutex);
	if (code == 0)
		folder_remove(removed, NULL); /* or at the next open */
	return code;
}

static int process_exec_in(struct runtime *base, struct span token, struct span container,
	const struct json *command, bool terminal, struct runtime_exec **ret_exec, struct err *err)
{
	struct process_runtime *runtime = process_of(base);
	_free_ char *folder = NULL;
	bool has_ended;
	int code = find_folder(runtime, token, &folder, &has_ended, err);

	if (code < 0)
		return code;
	if (has_ended)
		return err_set(err, -ESRCH, "task '%.*s' has stopped", SPAN_ARGS(token));
	return process_exec(folder, container, command, terminal, ret_exec, err);
}

static int process_read_logs(struct runtime *base, struct span token, struct span container,
	uint64_t offset, size_t max, struct buffer *out, struct runtime_log_times *times,
	uint64_t *ret_offset, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	_free_ char *folder = NULL;
	struct runtime_task *task;
	bool has_ended;
	int code = process_get(base, token, arena, &task, err);

	if (code == 0)
		code = find_folder(process_of(base), token, &folder, &has_ended, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < task->container_count; i++)
		if (span_equal(task->containers[i].name, container))
			return log_files_read(folder, container, offset,
				max < LOG_READ_MAX ? max : LOG_READ_MAX,
				task->containers[i].phase == RUNTIME_STOPPED, out, times,
				ret_offset, err);
	return err_set(err, -ENOENT, "task '%.*s' has no container '%.*s'", SPAN_ARGS(token),
		SPAN_ARGS(container));
}

/* Opening and closing. */

static void free_runtime(struct process_runtime *runtime)
{
	MAP_EACH (&runtime->tasks, entry) {
		process_task_free(entry->value);
	}
	map_clear(&runtime->tasks);
	map_clear(&runtime->reported);
	free(runtime->unsettled);
	memory_close_descriptor(&runtime->epoll);
	memory_close_descriptor(&runtime->wake);
	memory_close_descriptor(&runtime->folder_lock);
	pthread_cond_destroy(&runtime->settled);
	lock_destroy(&runtime->mutex);
	lock_destroy(&runtime->making_bridge);
	free(runtime->folder);
	free(runtime->supervisor);
	for (size_t i = 0; i < PLAN_HIDDEN_MAX; i++)
		free(runtime->hidden[i]);
	free(runtime);
}

static void free_runtime_pointer(struct process_runtime **runtime)
{
	if (*runtime)
		free_runtime(*runtime);
}

static bool has_living_tasks(const struct process_runtime *runtime)
{
	MAP_EACH (&runtime->tasks, entry) {
		if (!((const struct process_task *)entry->value)->has_ended)
			return true;
	}
	return false;
}

static void process_close(struct runtime *base)
{
	struct process_runtime *runtime = process_of(base);

	lock_take(&runtime->mutex);
	runtime->closing = true;
	lock_release(&runtime->mutex);
	process_wake(runtime);
	pthread_join(runtime->thread, NULL);
	if (!has_living_tasks(runtime))
		process_bridge_remove(runtime->folder);
	free_runtime(runtime);
}

static const struct runtime_operations operations = {
	.name = "process",
	.list_instances = process_list_instances,
	.list_tasks = process_list_tasks,
	.start = process_start,
	.stop = process_stop,
	.get = process_get,
	.acknowledge = process_acknowledge,
	.exec = process_exec_in,
	.read_logs = process_read_logs,
	.close = process_close,
};

static char *supervisor_beside_us(void)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (length < 0)
		return memory_copy_string(SUPERVISOR_NAME);
	path[length] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	return memory_format("%s/" SUPERVISOR_NAME, path);
}

/* A server that was killed may have a child between fork and exec that still holds the lock. */
static int lock_folder(struct process_runtime *runtime, struct err *err)
{
	_free_ char *path = memory_format("%s/" RECORD_ALL_LOCK_FILE, runtime->folder);
	int64_t deadline = clock_steady_us(clock_system()) + OPEN_PATIENCE_US;
	struct timespec moment = {.tv_nsec = 10 * 1000 * 1000};

	for (;;) {
		int code = file_lock(path, &runtime->folder_lock, err);

		if (code != -EBUSY || clock_steady_us(clock_system()) >= deadline)
			return code;
		nanosleep(&moment, NULL);
	}
}

/* A task spec is one JSON object; nothing runs before it is complete on disk. */
static bool is_cut_short(struct span text)
{
	return text.length == 0 || text.data[text.length - 1] != '}';
}

/* A folder without a complete task spec was never started: start() did not return 0 for it. */
static int adopt(struct process_runtime *runtime, struct span token, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer text = {0};
	struct process_task *task = process_task_new(runtime, token);
	_free_ char *path = memory_format("%s/" RECORD_SPEC_FILE, task->folder);
	struct plan *plan;
	int code = file_read(path, PLAN_SPEC_MAX, &text, err);

	if (code == -ENOENT || (code == 0 && is_cut_short(buffer_span(&text)))) {
		code = folder_remove(task->folder, err);
		process_task_free(task);
		return code;
	}
	if (code < 0) {
		process_task_free(task);
		return code;
	}
	/* A spec that cannot be parsed may still have a supervisor, or a record. */
	if (plan_parse_task_spec(buffer_span(&text), PLAN_IMAGE_HOST, arena, &plan, NULL) == 0)
		process_task_take_spec(task, plan);
	map_put(&runtime->tasks, token, task);
	process_unsettle(task);
	return 0;
}

static int scan(struct process_runtime *runtime, struct err *err)
{
	DIR *listing = opendir(runtime->folder);
	int code = 0;

	if (!listing)
		return err_errno(err, "open folder '%s'", runtime->folder);
	errno = 0;
	for (struct dirent *entry; code == 0 && (entry = readdir(listing)); errno = 0) {
		struct span name = span_of(entry->d_name);

		if (span_starts_with(name, SPAN(REMOVED_PREFIX))) {
			_free_ char *path = memory_format("%s/%s", runtime->folder, entry->d_name);

			code = folder_remove(path, err);
		} else if (plan_token_is_valid(name)) {
			code = adopt(runtime, name, err);
		}
	}
	if (code == 0 && errno != 0)
		code = err_errno(err, "read folder '%s'", runtime->folder);
	closedir(listing);
	return code;
}

static int start_thread(struct process_runtime *runtime, struct err *err)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
	int number;

	runtime->epoll = epoll_create1(EPOLL_CLOEXEC);
	runtime->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (runtime->epoll < 0 || runtime->wake < 0 ||
		epoll_ctl(runtime->epoll, EPOLL_CTL_ADD, runtime->wake, &event) < 0)
		return err_errno(err, "make an event descriptor");
	number = pthread_create(&runtime->thread, NULL, process_watch_main, runtime);
	return number ? err_system(err, number, "start a thread") : 0;
}

static int find_hidden(struct process_runtime *runtime, const char *const *folders, struct err *err)
{
	for (size_t i = 0; folders && folders[i]; i++) {
		if (i == PLAN_HIDDEN_MAX)
			return err_set(err, -EINVAL, "too many hidden folders (limit %d)",
				PLAN_HIDDEN_MAX);
		runtime->hidden[i] = realpath(folders[i], NULL);
		/* One that is mounted later is covered in the tasks that start then. */
		if (!runtime->hidden[i] && errno == ENOENT)
			runtime->hidden[i] = memory_copy_string(folders[i]);
		if (!runtime->hidden[i])
			return err_errno(err, "find folder '%s'", folders[i]);
	}
	return 0;
}

int runtime_process_open(const struct runtime_process_config *config, struct runtime **ret_runtime,
	struct err *err)
{
	CLEANUP(free_runtime_pointer)
	struct process_runtime *runtime = memory_allocate(sizeof(*runtime));
	pthread_condattr_t attributes;
	int code;

	*runtime = (struct process_runtime){
		.runtime.operations = &operations,
		.folder = memory_copy_string(config->folder),
		.supervisor = config->supervisor ? memory_copy_string(config->supervisor)
						 : supervisor_beside_us(),
		.instances = config->instances ? config->instances : 1,
		.plain = config->plain,
		.processes_max = config->processes_max,
		.clock = config->clock ? config->clock : clock_system(),
		.changed = config->changed,
		.context = config->context,
		.folder_lock = -1,
		.epoll = -1,
		.wake = -1,
	};
	lock_init(&runtime->mutex);
	lock_init(&runtime->making_bridge);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&runtime->settled, &attributes);
	pthread_condattr_destroy(&attributes);
	if (runtime->instances > RUNTIME_PROCESS_INSTANCES_MAX)
		return err_set(err, -EINVAL, "instances: more than %d",
			RUNTIME_PROCESS_INSTANCES_MAX);
	if (access(runtime->supervisor, X_OK) < 0)
		return err_errno(err, "supervisor '%s'", runtime->supervisor);
	code = file_make_folder(runtime->folder, 0700, err);
	if (code == 0)
		code = find_hidden(runtime, config->hidden, err);
	if (code == 0)
		code = lock_folder(runtime, err);
	if (code == 0)
		code = scan(runtime, err);
	if (code == 0)
		code = start_thread(runtime, err);
	if (code < 0)
		return err_prefix(err, code, "open the process runtime");
	*ret_runtime = &TAKE(runtime)->runtime;
	return 0;
}

int runtime_process_set_dns(struct runtime *runtime, const char *address, struct err *err)
{
	struct process_runtime *process = CONTAINER_OF(runtime, struct process_runtime, runtime);
	_free_ char *path = memory_format("%s/" RECORD_RESOLVER_FILE, process->folder);

	if (address)
		return file_replace(path, span_of(address), 0600, err);
	return unlink(path) < 0 && errno != ENOENT ? err_errno(err, "remove '%s'", path) : 0;
}
