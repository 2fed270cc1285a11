/* Following logs; see the header. */
#include "runtime/docker/logs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/docker/log_reader.h"
#include "runtime/docker/raw.h"
#include "runtime/task/log_files.h"

#define EVENTS_AT_ONCE 64
#define READ_STEP ((size_t)64 * 1024)
#define READS_AT_ONCE 16
#define AGAIN_FIRST_US INT64_C(20000)
#define AGAIN_MOST_US INT64_C(2000000)
#define WAIT_MOST_US INT64_C(5000000)
#define POSITION_MAX 256
#define NANO INT64_C(1000000000)

struct docker_log {
	struct docker_logs *logs;
	char *token, *name, *folder;
	char *id;
	uint64_t most;
	bool over; /* it had ended before the first follow */
	/* Guarded by the lock: */
	bool runs;
	bool complete; /* it has ended, and all it wrote was copied */
	bool dropped;  /* the thread must drop it */
	bool is_fresh; /* the thread must handle it at once */
	/* The thread's alone: */
	bool opened;
	bool was_complete; /* when it was opened */
	int position;
	struct log_files files;
	struct docker_log_reader reader;
	int connection;
	bool dial_runs; /* whether it ran when the connection was made */
	bool is_last;   /* this connection was made after the container had ended */
	bool in_body;
	struct buffer head;
	int64_t again_us, delay_us; /* when to connect again */
};

/* ---- files ---- */

static void take_text(void *context, int64_t at_ns, struct span text)
{
	struct docker_log *log = context;

	log->delay_us = 0;
	log_files_add(&log->files, at_ns / (NANO / 1000), text.data, text.length);
}

static void read_position(struct docker_log *log, uint64_t *ret_end)
{
	_free_ char *path = memory_format("%s/%s.position", log->folder, log->name);
	_buffer_ struct buffer text = {0};
	struct docker_log_place place;
	unsigned complete;
	uint64_t end;

	log->position = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	log->reader.done = (struct docker_log_place){0};
	log->was_complete = false;
	*ret_end = 0;
	if (file_read(path, POSITION_MAX, &text, NULL) < 0 || text.length == 0 ||
		sscanf(text.data, "%" SCNu64 " %" SCNd64 " %" SCNu32 " %u", &end, &place.at_ns,
			&place.count, &complete) != 4)
		return;
	*ret_end = end;
	log->reader.done = place;
	log->was_complete = complete != 0;
}

/* Fixed in width, so that one write replaces it. */
static void write_position(struct docker_log *log, bool complete)
{
	char text[POSITION_MAX];
	int length =
		snprintf(text, sizeof(text), "%020" PRIu64 " %020" PRId64 " %010" PRIu32 " %d\n",
			log->files.begin + log->files.size, log->reader.done.at_ns,
			log->reader.done.count, complete ? 1 : 0);

	if (log->position >= 0 && pwrite(log->position, text, (size_t)length, 0) < 0)
		log->files.failure = errno;
}

static void open_files(struct docker_log *log)
{
	uint64_t end;

	if (log->opened)
		return;
	read_position(log, &end);
	log_files_resume(&log->files, log->folder, span_of(log->name), log->most, end);
	log->reader.text = take_text;
	log->reader.context = log;
	log->opened = true;
}

static void close_files(struct docker_log *log)
{
	memory_close_descriptor(&log->position);
	if (log->opened)
		log_files_close(&log->files);
	log->opened = false;
}

static void free_log(struct docker_log *log)
{
	memory_close_descriptor(&log->connection);
	close_files(log);
	buffer_clear(&log->head);
	free(log->token);
	free(log->name);
	free(log->folder);
	free(log->id);
	free(log);
}

/* ---- connections, on the thread ---- */

static void hang_up(struct docker_log *log)
{
	memory_close_descriptor(&log->connection);
	buffer_clear(&log->head);
	log->in_body = false;
}

/* All its output is copied. */
static void set_complete(struct docker_log *log)
{
	struct docker_logs *logs = log->logs;

	write_position(log, true);
	close_files(log);
	log->again_us = INT64_MAX;
	lock_take(&logs->lock);
	/* It may have been restarted since. */
	log->complete = !log->runs;
	lock_release(&logs->lock);
	runner_signal(logs->settled);
}

static void retry(struct docker_log *log)
{
	hang_up(log);
	log->delay_us = log->delay_us ? log->delay_us * 2 : AGAIN_FIRST_US;
	if (log->delay_us > AGAIN_MOST_US)
		log->delay_us = AGAIN_MOST_US;
	log->again_us = runner_now_us(log->logs->runner) + log->delay_us;
}

static void dial(struct docker_log *log, bool runs)
{
	struct docker_logs *logs = log->logs;
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = log};
	_buffer_ struct buffer request = {0};
	char prefix[16];

	open_files(log);
	if (!runs && log->over && log->was_complete) {
		set_complete(log);
		return;
	}
	docker_api_prefix(logs->api, prefix);
	buffer_format(&request,
		"GET %s/containers/%s/logs?follow=%d&stdout=1&stderr=1&timestamps=1&since=%" PRId64
		".%09" PRId64 " HTTP/1.0\r\nHost: docker\r\n\r\n",
		prefix, log->id, runs ? 1 : 0, log->reader.done.at_ns / NANO,
		log->reader.done.at_ns % NANO);
	log->is_last = !runs;
	/* This thread follows all logs and must be able to end: it does not wait for a stuck
	 * daemon. */
	if (docker_raw_open(logs->api->socket, buffer_span(&request), false, &log->connection,
		    NULL) < 0 ||
		epoll_ctl(logs->epoll, EPOLL_CTL_ADD, log->connection, &event) < 0) {
		retry(log);
		return;
	}
	docker_log_reader_begin(&log->reader, log->reader.done);
	log->again_us = INT64_MAX;
}

/* The head of an answer, and what came with it. False: this connection is over. */
static bool take_head(struct docker_log *log, struct span data)
{
	size_t length;
	int status;

	buffer_add_span(&log->head, data);
	if (!docker_raw_head(buffer_span(&log->head), &status, &length))
		return log->head.length < DOCKER_RAW_HEAD_MAX;
	if (status == 404 && log->is_last) {
		/* The container was removed; there is no more output to read. */
		hang_up(log);
		set_complete(log);
		return true;
	}
	if (status != 200)
		return false;
	log->in_body = true;
	data = (struct span){log->head.data + length, log->head.length - length};
	if (docker_log_reader_feed(&log->reader, data, NULL) < 0)
		return false;
	write_position(log, false);
	buffer_clear(&log->head);
	return true;
}

/* The daemon has ended its answer. */
static void end_of_answer(struct docker_log *log)
{
	bool last = log->is_last && log->in_body;

	hang_up(log);
	if (!last) {
		/* Cut off, or the container has ended, which its worker will report. */
		retry(log);
		return;
	}
	set_complete(log);
}

static void handle_readable(struct docker_log *log, char *room)
{
	for (unsigned i = 0; i < READS_AT_ONCE && log->connection >= 0; i++) {
		ssize_t got = recv(log->connection, room, READ_STEP, MSG_DONTWAIT);
		struct span data = {room, got > 0 ? (size_t)got : 0};

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return;
		if (got <= 0) {
			end_of_answer(log);
			return;
		}
		if (!log->in_body) {
			if (!take_head(log, data)) {
				retry(log);
				return;
			}
		} else if (docker_log_reader_feed(&log->reader, data, NULL) < 0) {
			retry(log);
			return;
		} else {
			write_position(log, false);
		}
	}
}

/* ---- the thread ---- */

/* Frees dropped logs and collects those that are due to connect. */
static size_t find_due(struct docker_logs *logs, struct arena *arena, struct docker_log ***ret_due)
{
	int64_t now = runner_now_us(logs->runner);
	size_t count = 0, before;

	lock_take(&logs->lock);
	before = logs->all.count;
	*ret_due = arena_allocate_array(arena, before + 1, sizeof(**ret_due));
	MAP_EACH (&logs->all, entry) {
		struct docker_log *log = entry->value;

		if (log->dropped) {
			map_remove(&logs->all, entry->key);
			free_log(log);
			continue;
		}
		if (log->is_fresh && log->connection < 0)
			log->again_us = 0;
		log->is_fresh = false;
		if (log->connection < 0 && log->again_us <= now) {
			log->dial_runs = log->runs;
			(*ret_due)[count++] = log;
		}
	}
	before -= logs->all.count;
	lock_release(&logs->lock);
	if (before > 0)
		runner_signal(logs->settled);
	return count;
}

/* The earliest time at which a log is due to reconnect. */
static int64_t next_due(struct docker_logs *logs)
{
	int64_t next = INT64_MAX;

	lock_take(&logs->lock);
	MAP_EACH (&logs->all, entry) {
		const struct docker_log *log = entry->value;

		if (log->connection < 0 && log->again_us < next)
			next = log->again_us;
	}
	lock_release(&logs->lock);
	return next;
}

static int timeout_of(struct docker_logs *logs)
{
	int64_t next = next_due(logs), now = runner_now_us(logs->runner);

	if (next == INT64_MAX)
		return -1;
	return next <= now ? 0 : (int)((next - now) / 1000) + 1;
}

static void dial_due(struct docker_logs *logs)
{
	_arena_ struct arena *arena = arena_new(0);
	struct docker_log **due;
	size_t count = find_due(logs, arena, &due);

	/* Only this thread frees them. */
	for (size_t i = 0; i < count; i++)
		dial(due[i], due[i]->dial_runs);
}

static bool is_closing(struct docker_logs *logs)
{
	bool closing;

	lock_take(&logs->lock);
	closing = logs->closing;
	lock_release(&logs->lock);
	return closing;
}

void docker_logs_main(void *context)
{
	struct docker_logs *logs = context;
	struct epoll_event events[EVENTS_AT_ONCE];
	_free_ char *room = memory_allocate(READ_STEP);

	while (!is_closing(logs)) {
		int count;

		dial_due(logs);
		count = epoll_wait(logs->epoll, events, EVENTS_AT_ONCE, timeout_of(logs));
		for (int i = 0; i < count; i++) {
			uint64_t ignored;

			if (events[i].data.ptr)
				handle_readable(events[i].data.ptr, room);
			else if (read(logs->wake, &ignored, sizeof(ignored)) < 0)
				continue;
		}
	}
}

static void wake(struct docker_logs *logs)
{
	uint64_t one = 1;

	if (write(logs->wake, &one, sizeof(one)) < 0)
		return; /* it is awake */
}

/* ---- calls from other threads ---- */

int docker_logs_open(struct docker_logs *logs, struct runner *runner, struct docker_api *api,
	struct err *err)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

	*logs = (struct docker_logs){.api = api,
		.runner = runner,
		.settled = runner_event_new(runner, "a log is complete"),
		.epoll = epoll_create1(EPOLL_CLOEXEC),
		.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	lock_init(&logs->lock);
	if (logs->epoll < 0 || logs->wake < 0 ||
		epoll_ctl(logs->epoll, EPOLL_CTL_ADD, logs->wake, &event) < 0)
		return err_errno(err, "make an event descriptor");
	return 0;
}

void docker_logs_end(struct docker_logs *logs)
{
	lock_take(&logs->lock);
	logs->closing = true;
	lock_release(&logs->lock);
	wake(logs);
}

void docker_logs_close(struct docker_logs *logs)
{
	if (!logs->settled)
		return; /* never opened */
	MAP_EACH (&logs->all, entry)
		free_log(entry->value);
	map_clear(&logs->all);
	memory_close_descriptor(&logs->epoll);
	memory_close_descriptor(&logs->wake);
	runner_event_free(TAKE(logs->settled));
	lock_destroy(&logs->lock);
}

static struct span key_of(struct arena *arena, struct span token, struct span name)
{
	return arena_format(arena, "%.*s.%.*s", SPAN_ARGS(token), SPAN_ARGS(name));
}

void docker_logs_follow(struct docker_logs *logs, const struct docker_log_source *source)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span key = key_of(arena, source->token, source->name);
	struct docker_log *log;
	bool is_changes;

	lock_take(&logs->lock);
	log = map_get(&logs->all, key);
	is_changes = !log || log->runs != source->runs;
	if (!log) {
		log = memory_allocate(sizeof(*log));
		*log = (struct docker_log){.logs = logs,
			.token = memory_copy_string_n(source->token.data, source->token.length),
			.name = memory_copy_string_n(source->name.data, source->name.length),
			.folder = memory_copy_string(source->folder),
			.id = memory_copy_string(source->id),
			.most = source->most,
			.over = source->over,
			.position = -1,
			.connection = -1};
		map_put(&logs->all, key, log);
	}
	if (is_changes) {
		log->runs = source->runs;
		log->complete = false;
		log->is_fresh = true;
	}
	lock_release(&logs->lock);
	if (is_changes)
		wake(logs);
}

void docker_logs_wait(struct docker_logs *logs, struct span token, struct span name)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span key = key_of(arena, token, name);
	int64_t deadline = runner_deadline_us(logs->runner, WAIT_MOST_US);

	for (;;) {
		uint64_t seen = runner_event_count(logs->settled);
		struct docker_log *log;
		bool done;

		lock_take(&logs->lock);
		log = map_get(&logs->all, key);
		done = !log || log->complete;
		lock_release(&logs->lock);
		if (done || runner_wait(logs->runner, logs->settled, seen, deadline) < 0)
			return;
	}
}

void docker_logs_forget(struct docker_logs *logs, struct span token)
{
	for (;;) {
		uint64_t seen = runner_event_count(logs->settled);
		bool found = false;

		lock_take(&logs->lock);
		MAP_EACH (&logs->all, entry) {
			struct docker_log *log = entry->value;

			if (span_is(token, log->token))
				log->dropped = found = true;
		}
		lock_release(&logs->lock);
		if (!found)
			return;
		wake(logs);
		if (runner_wait(logs->runner, logs->settled, seen, RUNNER_FOREVER) < 0)
			return;
	}
}
