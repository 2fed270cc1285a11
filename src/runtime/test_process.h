/*
 * For tests of the process runtime: a runtime in a folder of its own, specs in short, waiting
 * without guessing, and an end that leaves neither process nor file.
 */
#ifndef RUNTIME_TEST_PROCESS_H
#define RUNTIME_TEST_PROCESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "runtime/process/cgroup.h"
#include "runtime/process/process.h"
#include "runtime/process/process_internal.h"

#define TEST_PATIENCE_US ((int64_t)60 * 1000 * 1000)

struct fixture {
	char folder[64];
	struct runtime *runtime;
	struct arena *arena;
	unsigned instances;
	bool plain;
	const char *hidden[3];
	int64_t processes_max;
	unsigned names;
	pthread_mutex_t mutex;
	uint64_t changes;
};

static inline void note_change(void *context, struct span token)
{
	struct fixture *fixture = context;

	assert_true(token.length > 0);
	pthread_mutex_lock(&fixture->mutex);
	fixture->changes++;
	pthread_mutex_unlock(&fixture->mutex);
}

static inline void open_runtime(struct fixture *fixture)
{
	struct runtime_process_config config = {
		.folder = fixture->folder,
		.instances = fixture->instances,
		.plain = fixture->plain,
		.hidden = fixture->hidden[0] ? fixture->hidden : NULL,
		.processes_max = fixture->processes_max,
		.changed = note_change,
		.context = fixture,
	};
	struct err err = {.message = ""};

	if (runtime_process_open(&config, &fixture->runtime, &err) < 0)
		fail_msg("%s", err.message);
}

static inline void close_runtime(struct fixture *fixture)
{
	if (fixture->runtime)
		fixture->runtime->operations->close(fixture->runtime);
	fixture->runtime = NULL;
}

static inline int set_up_in(void **state, bool plain)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/slipway-process-test-XXXXXX");
	if (!mkdtemp(fixture->folder))
		return -1;
	fixture->arena = arena_new(0);
	fixture->instances = 2;
	fixture->plain = plain;
	pthread_mutex_init(&fixture->mutex, NULL);
	open_runtime(fixture);
	*state = fixture;
	return 0;
}

static inline int set_up(void **state)
{
	return set_up_in(state, false);
}

static inline int set_up_plain(void **state)
{
	return set_up_in(state, true);
}

static inline void pause_a_moment(void)
{
	struct timespec moment = {.tv_nsec = 3 * 1000 * 1000};

	nanosleep(&moment, NULL);
}

/* Waits for the condition; fails with its text after a minute. */
#define WAIT_FOR(condition)                                                                        \
	do {                                                                                       \
		int64_t until_ = clock_steady_us(clock_system()) + TEST_PATIENCE_US;               \
		while (!(condition)) {                                                             \
			if (clock_steady_us(clock_system()) > until_)                              \
				fail_msg("line %d: never became true: %s", __LINE__, #condition);  \
			pause_a_moment();                                                          \
		}                                                                                  \
	} while (0)

/* Unique on this machine while the test runs: it finds leftovers by it. */
static inline struct span new_token(struct fixture *fixture)
{
	return arena_format(fixture->arena, "test-%d-%u", (int)getpid(), fixture->names++);
}

/* A spec of containers in JSON with ' for " and @ for the test's folder. */
static inline const struct json *spec_in(struct fixture *fixture, const char *network,
	const char *containers)
{
	struct span short_text = arena_format(fixture->arena,
		"{'version':1,'family':'test','revision':1,'cluster':'default','arn':'arn',"
		"'networkMode':'%s','cpu':0,'memory':0,'volumes':[],'containers':[%s]}",
		network, containers);
	_buffer_ struct buffer text = {0};
	struct json *spec = NULL;
	struct err err = {.message = ""};

	for (size_t i = 0; i < short_text.length; i++) {
		if (short_text.data[i] == '@')
			buffer_add_string(&text, fixture->folder);
		else
			buffer_add_char(&text,
				short_text.data[i] == '\'' ? '"' : short_text.data[i]);
	}
	if (json_parse(arena_copy_span(fixture->arena, buffer_span(&text)), fixture->arena, &spec,
		    &err) < 0)
		fail_msg("%s: %s", err.message, text.data);
	return spec;
}

/* One container "app" that runs the shell's text (no quotes in it). */
static inline const struct json *shell_spec(struct fixture *fixture, const char *script)
{
	return spec_in(fixture, "bridge",
		arena_format(fixture->arena,
			"{'name':'app','image':'host','command':['sh','-c','%s'],'stopTimeout':30}",
			script)
			.data);
}

static inline struct span start(struct fixture *fixture, const struct json *spec)
{
	struct span token = new_token(fixture);
	struct err err = {.message = ""};

	if (fixture->runtime->operations->start(fixture->runtime, token, SPAN("machine"), spec,
		    &err) < 0)
		fail_msg("%s", err.message);
	return token;
}

static inline struct runtime_task *get(struct fixture *fixture, struct span token)
{
	struct runtime_task *task = NULL;
	struct err err = {.message = ""};

	if (fixture->runtime->operations->get(fixture->runtime, token, fixture->arena, &task,
		    &err) < 0)
		fail_msg("%s", err.message);
	return task;
}

static inline struct runtime_task *wait_phase(struct fixture *fixture, struct span token,
	enum runtime_phase phase)
{
	struct runtime_task *task;

	WAIT_FOR((task = get(fixture, token))->phase >= phase);
	return task;
}

static inline void stop(struct fixture *fixture, struct span token, const char *reason)
{
	struct err err = {.message = ""};

	/* -EAGAIN is a task about to end by itself. */
	WAIT_FOR(fixture->runtime->operations->stop(fixture->runtime, token, span_of(reason),
			 &err) == 0);
}

static inline void acknowledge(struct fixture *fixture, struct span token)
{
	struct err err = {.message = ""};

	if (fixture->runtime->operations->acknowledge(fixture->runtime, token, &err) < 0)
		fail_msg("%s", err.message);
}

static inline struct runtime_task *run(struct fixture *fixture, const struct json *spec)
{
	struct span token = start(fixture, spec);
	struct runtime_task *task = wait_phase(fixture, token, RUNTIME_STOPPED);

	acknowledge(fixture, token);
	return task;
}

static inline struct runtime_container *container_of(struct runtime_task *task, const char *name)
{
	for (size_t i = 0; i < task->container_count; i++)
		if (span_is(task->containers[i].name, name))
			return &task->containers[i];
	fail_msg("no container %s", name);
	return NULL;
}

static inline struct span read_log(struct fixture *fixture, struct span token,
	const char *container)
{
	_buffer_ struct buffer out = {0};
	struct err err = {.message = ""};
	uint64_t offset;

	if (fixture->runtime->operations->read_logs(fixture->runtime, token, span_of(container), 0,
		    1 << 20, &out, NULL, &offset, &err) < 0)
		fail_msg("%s", err.message);
	return arena_copy_span(fixture->arena, buffer_span(&out));
}

static inline bool file_contains(const char *path, const char *text)
{
	_buffer_ struct buffer data = {0};

	return file_read(path, 1 << 20, &data, NULL) == 0 && data.length > 0 &&
	       memmem(data.data, data.length, text, strlen(text));
}

/* How many processes have the text in /proc/PID/FILE (environ or cmdline). */
static inline size_t count_processes(const char *file, const char *text, pid_t *ret_one)
{
	DIR *listing = opendir("/proc");
	size_t count = 0;

	assert_non_null(listing);
	for (struct dirent *entry; (entry = readdir(listing));) {
		_free_ char *path = memory_format("/proc/%s/%s", entry->d_name, file);

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
			atoi(entry->d_name) == getpid() || !file_contains(path, text))
			continue;
		count++;
		if (ret_one)
			*ret_one = atoi(entry->d_name);
	}
	closedir(listing);
	return count;
}

/* A group of one of this test's tasks in a hierarchy of memory. */
static inline bool any_group_has(const char *mark)
{
	struct cgroup_mounts mounts;
	_free_ char *path = NULL;
	bool found = false;
	DIR *listing;

	cgroup_find(&mounts);
	if (mounts.memory.kind == CGROUP_NONE)
		return false;
	path = memory_format("%s/slipway", mounts.memory.path);
	listing = opendir(path);
	for (struct dirent *entry; listing && (entry = readdir(listing));)
		found |= strncmp(entry->d_name, mark, strlen(mark)) == 0;
	if (listing)
		closedir(listing);
	return found;
}

/* An interface of this folder's bridge, or the bridge. */
static inline bool any_interface_of(const char *folder)
{
	_buffer_ struct buffer text = {0};
	char name[PLAN_BRIDGE_MAX];

	process_bridge_name(folder, name);
	assert_int_equal(file_read("/proc/net/dev", 1 << 20, &text, NULL), 0);
	return strstr(text.data, name);
}

/* With or without isolation: tasks are separated, or their notes say why not. */
static inline bool is_separated(const struct fixture *fixture, const struct runtime_task *task)
{
	bool plain = strstr(task->notes.data, "plain mode");

	if (geteuid() == 0 && !fixture->plain && plain)
		assert_non_null(strstr(task->notes.data, "plain mode, "));
	if (geteuid() != 0 || fixture->plain)
		assert_true(plain);
	return !plain;
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;
	_free_ char *mark = memory_format("SLIPWAY_TASK=test-%d-", (int)getpid());
	_free_ char *lock = memory_format("%s/.lock", fixture->folder);
	struct span *tokens;
	size_t count;

	if (!fixture->runtime)
		open_runtime(fixture);
	assert_int_equal(fixture->runtime->operations->list_tasks(fixture->runtime, fixture->arena,
				 &tokens, &count, NULL),
		0);
	for (size_t i = 0; i < count; i++)
		stop(fixture, tokens[i], "the test is over");
	for (size_t i = 0; i < count; i++) {
		wait_phase(fixture, tokens[i], RUNTIME_STOPPED);
		acknowledge(fixture, tokens[i]);
	}
	close_runtime(fixture);
	WAIT_FOR(count_processes("environ", mark, NULL) == 0);
	WAIT_FOR(count_processes("cmdline", fixture->folder, NULL) == 0);
	assert_false(any_group_has(strchr(mark, '=') + 1));
	WAIT_FOR(!any_interface_of(fixture->folder));
	unlink(lock);
	if (rmdir(fixture->folder) < 0)
		fail_msg("'%s' is not empty", fixture->folder);
	arena_free(fixture->arena);
	pthread_mutex_destroy(&fixture->mutex);
	free(fixture);
	return 0;
}

#define PROCESS_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
/* Without namespaces, though we may be root. */
#define PLAIN_TEST(function)                                                                       \
	{                                                                                          \
#function " (plain mode)", function, set_up_plain, tear_down, NULL                 \
	}

#endif
