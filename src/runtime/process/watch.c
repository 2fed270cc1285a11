/*
 * The thread that keeps the state of tasks. It holds a connection to every living supervisor, which
 * reports each change. A task without one is unsettled and is probed: connect; else read the
 * record; else try the lock. Only this thread marks a task as ended, and only with a record on disk
 * that says so.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/process/cgroup.h"
#include "runtime/process/process_internal.h"
#include "runtime/process/protocol.h"
#include "runtime/process/slice.h"

#define EVENTS_AT_ONCE 64
#define PROBE_FIRST_US ((int64_t)2 * 1000)
#define PROBE_MOST_US ((int64_t)500 * 1000)
#define READ_STEP 16384

static const char watch_line[] = "{\"version\":1,\"do\":\"watch\"}\n";

void process_wake(struct process_runtime *runtime)
{
	uint64_t one = 1;

	if (write(runtime->wake, &one, sizeof(one)) < 0)
		return; /* the counter is full: it is awake */
}

void process_unsettle(struct process_task *task)
{
	struct process_runtime *runtime = task->runtime;

	if (task->is_unsettled || task->has_ended)
		return;
	if (runtime->unsettled_count == runtime->unsettled_capacity) {
		runtime->unsettled_capacity = runtime->unsettled_capacity * 2 + 16;
		runtime->unsettled = memory_resize(runtime->unsettled,
			runtime->unsettled_capacity * sizeof(struct process_task *));
	}
	task->is_unsettled = true;
	task->probe_us = 0;
	task->probe_delay_us = PROBE_FIRST_US;
	runtime->unsettled[runtime->unsettled_count++] = task;
}

int process_watch(struct process_task *task, int connection)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = task};

	if (fcntl(connection, F_SETFL, O_NONBLOCK) < 0 ||
		epoll_ctl(task->runtime->epoll, EPOLL_CTL_ADD, connection, &event) < 0)
		return -errno;
	task->watch = connection;
	buffer_reset(&task->input);
	return 0;
}

/* Reports changes without the mutex: the receiver may call back at once. */
static void report(struct process_runtime *runtime)
{
	struct map reported = runtime->reported;

	if (reported.count == 0)
		return;
	runtime->reported = (struct map){0};
	lock_release(&runtime->mutex);
	MAP_EACH (&reported, entry) {
		runtime->changed(runtime->context, entry->key);
	}
	map_clear(&reported);
	lock_take(&runtime->mutex);
}

/* An ended task is gone as soon as the mutex is released: the caller must not use it then. */
static void set_state(struct process_task *task, struct span line, bool has_ended)
{
	buffer_reset(&task->state);
	buffer_add_span(&task->state, line);
	task->is_known = true;
	task->has_ended = has_ended;
	if (has_ended) {
		memory_close_descriptor(&task->watch);
		buffer_clear(&task->input);
	}
	pthread_cond_broadcast(&task->runtime->settled);
	if (task->runtime->changed)
		map_put(&task->runtime->reported, span_of(task->token), task->runtime);
}

/* Ended tasks. */

/* The record in the folder. -ENOENT: there is none, or a power cut truncated it before it was
 * durable; the supervisor runs nothing before that. */
static int read_record(struct process_task *task, struct arena *arena,
	struct runtime_task **ret_record, struct err *err)
{
	_free_ char *path = memory_format("%s/" RECORD_STATE_FILE, task->folder);
	_buffer_ struct buffer text = {0};
	int code = file_read(path, RECORD_MAX, &text, err);

	if (code < 0)
		return code;
	if (text.length == 0 || text.data[text.length - 1] != '}')
		return err_set(err, -ENOENT, "'%s' was cut short", path);
	return record_parse(arena_copy_span(arena, buffer_span(&text)), arena, ret_record, err);
}

static void format_line(const struct runtime_task *record, struct buffer *out)
{
	buffer_format(out, "{\"version\":%d,\"state\":", PROTOCOL_VERSION);
	record_write(record, out);
	buffer_add_char(out, '}');
}

static int write_end(struct process_task *task, struct runtime_task *record, enum runtime_stop stop,
	struct span reason, struct err *err)
{
	_free_ char *path = memory_format("%s/" RECORD_STATE_FILE, task->folder);
	_buffer_ struct buffer text = {0};
	int64_t now = clock_wall_ms(task->runtime->clock);

	record->phase = RUNTIME_STOPPED;
	record->stop = stop;
	record->reason = reason;
	record->stopped_ms = now;
	for (size_t i = 0; i < record->container_count; i++)
		if (record->containers[i].phase != RUNTIME_STOPPED) {
			record->containers[i].phase = RUNTIME_STOPPED;
			record->containers[i].stopped_ms = now;
		}
	record_write(record, &text);
	return file_replace(path, buffer_span(&text), 0600, err);
}

/* A record for a task that never had one. */
static struct runtime_task *record_of_spec(struct process_task *task, struct arena *arena)
{
	_free_ char *path = memory_format("%s/" RECORD_SPEC_FILE, task->folder);
	_buffer_ struct buffer text = {0};
	struct runtime_task *record;
	struct plan *plan;

	if (file_read(path, PLAN_SPEC_MAX, &text, NULL) == 0 &&
		plan_parse_task_spec(arena_copy_span(arena, buffer_span(&text)), PLAN_IMAGE_HOST,
			arena, &plan, NULL) == 0)
		return record_of_plan(plan, arena);
	record = arena_allocate(arena, sizeof(*record));
	record->token = span_of(task->token);
	record->instance = span_of(task->instance);
	record->address = record->mac = record->notes = SPAN("");
	return record;
}

/* Probing, without the mutex. */

enum finding { FOUND_LATER, FOUND_ALIVE, FOUND_ENDED };

static int connect_watch(struct process_task *task, int *ret_watch)
{
	_close_ int watch = -1;
	int code = process_connect(task->folder, &watch, NULL);

	if (code == 0)
		code = process_send(watch, span_of(watch_line), NULL, 0, NULL);
	if (code < 0)
		return code;
	*ret_watch = TAKE_FD(watch);
	return 0;
}

/* Processes without the token's variable are still in its control group. */
static void remove_groups(const char *token)
{
	struct cgroup_mounts mounts;

	cgroup_find(&mounts);
	cgroup_remove(&mounts, span_of(token));
}

/* This process has the lock, so nothing of the task runs: it has ended, is lost, or never
 * started. */
static enum finding resolve(struct process_task *task, int *lock, struct arena *arena,
	int *ret_watch, struct runtime_task **ret_record)
{
	_close_ int channel = -1;
	struct runtime_task *record;
	struct err err;
	pid_t pid;
	int code = read_record(task, arena, &record, &err);

	if (code == 0 && record->phase == RUNTIME_STOPPED) {
		*ret_record = record;
		return FOUND_ENDED;
	}
	if (code == -ENOENT) {
		code = process_supervise(task->runtime, task->folder, lock, &channel, &pid, &err);
		if (code == 0)
			code = process_await(channel, pid, &err);
		if (code == 0) {
			*ret_watch = TAKE_FD(channel);
			return FOUND_ALIVE;
		}
		if (code != -EIO)
			return FOUND_LATER;
		/* It failed for good, and ran nothing. */
		record = record_of_spec(task, arena);
		code = write_end(task, record, RUNTIME_STOP_FAILED_TO_START,
			arena_format(arena, "CannotStartContainerError: %s", err.message), &err);
	} else {
		if (code < 0)
			record = record_of_spec(task, arena);
		process_end_marked(task->token);
		remove_groups(task->token);
		code = write_end(task, record, RUNTIME_STOP_LOST,
			SPAN("The task's supervisor ended without a record of its end; exit codes "
			     "that "
			     "are missing are unknown"),
			&err);
	}
	if (code < 0)
		return FOUND_LATER;
	*ret_record = record;
	return FOUND_ENDED;
}

static enum finding pass(struct process_task *task, struct arena *arena, int *ret_watch,
	struct runtime_task **ret_record)
{
	_free_ char *path = memory_format("%s/" RECORD_LOCK_FILE, task->folder);
	_close_ int lock = -1;
	struct runtime_task *record;

	if (connect_watch(task, ret_watch) == 0)
		return FOUND_ALIVE;
	if (read_record(task, arena, &record, NULL) == 0 && record->phase == RUNTIME_STOPPED) {
		*ret_record = record;
		return FOUND_ENDED;
	}
	if (file_lock(path, &lock, NULL) < 0)
		return FOUND_LATER;
	return resolve(task, &lock, arena, ret_watch, ret_record);
}

static void remove_unsettled(struct process_runtime *runtime, size_t index)
{
	runtime->unsettled[index]->is_unsettled = false;
	runtime->unsettled[index] = runtime->unsettled[--runtime->unsettled_count];
}

/* True if it is settled now. The mutex is held. */
static bool probe(struct process_task *task)
{
	struct process_runtime *runtime = task->runtime;
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer line = {0};
	struct runtime_task *record = NULL;
	enum finding finding;
	int watch = -1;

	lock_release(&runtime->mutex);
	finding = pass(task, arena, &watch, &record);
	lock_take(&runtime->mutex);
	if (finding == FOUND_ALIVE && process_watch(task, watch) < 0) {
		close(watch);
		finding = FOUND_LATER;
	}
	switch (finding) {
	case FOUND_ALIVE: return true;
	case FOUND_ENDED:
		format_line(record, &line);
		set_state(task, buffer_span(&line), true);
		return true;
	case FOUND_LATER: break;
	}
	task->probe_us = clock_steady_us(clock_system()) + task->probe_delay_us;
	task->probe_delay_us *= 2;
	if (task->probe_delay_us > PROBE_MOST_US)
		task->probe_delay_us = PROBE_MOST_US;
	return false;
}

static void probe_unsettled(struct process_runtime *runtime)
{
	for (size_t i = 0; i < runtime->unsettled_count && !runtime->closing;) {
		struct process_task *task = runtime->unsettled[i];

		if (task->probe_us > clock_steady_us(clock_system()) || !probe(task)) {
			i++;
			continue;
		}
		/* Others may have been added meanwhile, always behind it. */
		remove_unsettled(runtime, i);
	}
}

/* Reading from supervisors. */

static void handle_line(struct process_task *task, struct span line)
{
	_arena_ struct arena *arena = arena_new(0);
	struct runtime_task *record;
	struct json *answer;

	if (json_parse(line, arena, &answer, NULL) < 0 ||
		record_read(json_get(answer, "state"), arena, &record, NULL) < 0)
		return;
	set_state(task, line, record->phase == RUNTIME_STOPPED);
}

static void handle_readable(struct process_task *task)
{
	bool ended = false;

	while (!ended) {
		char *room = buffer_reserve(&task->input, READ_STEP);
		ssize_t got = recv(task->watch, room, READ_STEP, MSG_DONTWAIT);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		if (got > 0)
			task->input.length += (size_t)got;
		ended = got <= 0 || task->input.length > PROTOCOL_ANSWER_MAX;
	}
	while (task->watch >= 0 && task->input.length > 0) {
		char *newline = memchr(task->input.data, '\n', task->input.length);
		_free_ char *line = NULL;
		size_t length;

		if (!newline)
			break;
		length = (size_t)(newline - task->input.data);
		line = memory_copy_string_n(task->input.data, length);
		buffer_consume(&task->input, length + 1);
		handle_line(task, (struct span){line, length});
	}
	if (ended && task->watch >= 0) {
		memory_close_descriptor(&task->watch);
		process_unsettle(task);
	}
}

static int timeout_of(const struct process_runtime *runtime)
{
	int64_t now = clock_steady_us(clock_system()), next = INT64_MAX;

	for (size_t i = 0; i < runtime->unsettled_count; i++)
		if (runtime->unsettled[i]->probe_us < next)
			next = runtime->unsettled[i]->probe_us;
	if (next == INT64_MAX)
		return -1;
	return next <= now ? 0 : (int)((next - now + 999) / 1000);
}

void *process_watch_main(void *context)
{
	struct process_runtime *runtime = context;
	struct epoll_event events[EVENTS_AT_ONCE];

	slice_shorten();
	lock_take(&runtime->mutex);
	while (!runtime->closing) {
		int timeout = timeout_of(runtime), count;

		lock_release(&runtime->mutex);
		count = epoll_wait(runtime->epoll, events, EVENTS_AT_ONCE, timeout);
		lock_take(&runtime->mutex);
		for (int i = 0; i < count; i++) {
			uint64_t ignored;

			if (events[i].data.ptr)
				handle_readable(events[i].data.ptr);
			else if (read(runtime->wake, &ignored, sizeof(ignored)) < 0)
				continue;
		}
		report(runtime);
		probe_unsettled(runtime);
		report(runtime);
	}
	lock_release(&runtime->mutex);
	return NULL;
}
