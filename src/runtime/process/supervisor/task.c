/* A task: one function per step of a container, and the conditions that end the task. */
#include "runtime/process/supervisor/task.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/process/descendants.h"
#include "runtime/process/supervisor/confinement.h"
#include "runtime/process/supervisor/mounts.h"
#include "runtime/task/record.h"

#define READ_STEP 65536
#define READS_AT_ONCE 16 /* a program that writes without pause must not block the rest */
#define SAVE_AGAIN_US ((int64_t)500 * 1000)
#define NOTES_MAX 2048
#define METADATA_PORT 51679       /* in a network of the task's own */
#define RESOLV_CONF "resolv.conf" /* in the task's folder */
#define HOST_RESOLVER_ATTEMPTS 8

static const struct {
	enum runtime_phase phase;
} phases[] = {
	[CONTAINER_WAITING] = {RUNTIME_PENDING},
	[CONTAINER_STARTING] = {RUNTIME_PENDING},
	[CONTAINER_RUNNING] = {RUNTIME_RUNNING},
	[CONTAINER_STOPPING] = {RUNTIME_STOPPING},
	[CONTAINER_STOPPED] = {RUNTIME_STOPPED},
};

static void set_step(struct container *container, enum container_step step)
{
	container->step = step;
	if (container->record->phase != phases[step].phase) {
		container->record->phase = phases[step].phase;
		container->task->changed = true;
	}
}

static void set_reason(struct container *container, const char *kind, const char *text)
{
	container->record->reason = arena_format(container->task->arena, "%s%s", kind, text);
	container->task->changed = true;
}

int task_open(struct task *task, struct arena *arena, struct clock *clock, struct err *err)
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(PLAN_SPEC_MAX);
	struct plan *plan;
	int code = file_read(RECORD_SPEC_FILE, PLAN_SPEC_MAX, &text, err);

	if (code == 0)
		code = plan_parse_task_spec(arena_copy_span(arena, buffer_span(&text)),
			PLAN_IMAGE_HOST, arena, &plan, err);
	if (code < 0)
		return code;
	*task = (struct task){
		.arena = arena,
		.clock = clock,
		.plan = plan,
		.container_count = plan->container_count,
		.save_at_us = TASK_NEVER,
	};
	return 0;
}

/* The address is one of the task's own network instead of one of the machine's loopback. */
static void set_address(struct task *task)
{
	const uint8_t *mac = task->separation.mac;
	char text[PLAN_ADDRESS_MAX];
	struct span address;

	if (!task->separation.own_network || task->plan->network != PLAN_NETWORK_AWSVPC)
		return;
	address = arena_copy_span(task->arena, plan_address_text(task->plan->link.address, text));
	task->record->address = address;
	task->record->mac = arena_format(task->arena, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0],
		mac[1], mac[2], mac[3], mac[4], mac[5]);
	for (size_t i = 0; i < task->container_count; i++)
		for (size_t j = 0; j < task->record->containers[i].binding_count; j++)
			task->record->containers[i].bindings[j].address = address;
}

/* On an address that every program of the task reaches, whatever it binds itself. */
static void open_metadata(struct task *task)
{
	_free_ char *address =
		memory_copy_string_n(task->record->address.data, task->record->address.length);
	struct err err;
	int code;

	task->metadata.listener = -1;
	if (task->separation.own_network)
		code = metadata_open(&task->metadata, task, SEPARATION_METADATA_ADDRESS,
			METADATA_PORT, &err);
	else
		code = metadata_open(&task->metadata, task, address, 0, &err);
	if (code < 0)
		task->record->notes =
			arena_format(task->arena, "%.*s; no task metadata endpoint: %s",
				SPAN_ARGS(task->record->notes), err.message);
}

static bool uses_port(const struct task *task, uint16_t port)
{
	for (size_t i = 0; i < task->plan->container_count; i++)
		for (size_t j = 0; j < task->plan->containers[i].port_count; j++)
			if (task->plan->containers[i].ports[j].container_port == port)
				return true;
	return false;
}

/* The task's own resolv.conf hides the machine's in the mount namespace of the task. */
static int mount_configuration(struct task *task, const char *address, struct err *err)
{
	_buffer_ struct buffer text = {0};
	int code;

	resolver_write_configuration(&task->resolver, address, &text);
	code = file_replace(RESOLV_CONF, buffer_span(&text), 0644, err);
	return code < 0 ? code : mounts_cover_file(RESOLV_CONF, "/" RESOLVER_CONFIGURATION, err);
}

/* In a network of its own. Without a resolv.conf libc asks 127.0.0.1. */
static int open_own_resolver(struct task *task, struct err *err)
{
	bool has_file = access("/" RESOLVER_CONFIGURATION, F_OK) == 0;
	const char *address = has_file ? SEPARATION_RESOLVER_ADDRESS : "127.0.0.1";
	int code = resolver_listen(&task->resolver, address, RESOLVER_PORT, true, err);

	return code < 0 || !has_file ? code : mount_configuration(task, address, err);
}

/* In the network of the machine, whose port 53 other addresses of the loopback interface may have in use. */
static int open_host_resolver(struct task *task, struct err *err)
{
	uint64_t hash = span_hash(task->plan->token);
	char address[PLAN_ADDRESS_MAX];
	int code = -EADDRINUSE;

	for (unsigned i = 0; code < 0 && i < HOST_RESOLVER_ATTEMPTS; i++, hash /= 7) {
		snprintf(address, sizeof(address), "127.53.%u.%u", (unsigned)(hash >> 8 & 0xff),
			(unsigned)(1 + hash % 254));
		code = resolver_listen(&task->resolver, address, RESOLVER_PORT, false, err);
	}
	return code < 0 ? code : mount_configuration(task, address, err);
}

/* Where connections are redirected, those to port 53 of any address come here. */
static int open_redirected_resolver(struct task *task, struct err *err)
{
	_free_ char *address =
		memory_copy_string_n(task->record->address.data, task->record->address.length);
	int code = resolver_listen(&task->resolver, address, 0, false, err);

	if (code == 0)
		redirect_set_resolver(&task->redirect, &task->resolver.address);
	return code;
}

static void open_resolver(struct task *task)
{
	struct err err = {0};
	int code = 0;

	if (task->plan->network == PLAN_NETWORK_NONE || uses_port(task, RESOLVER_PORT))
		return;
	if (task->separation.own_network)
		code = open_own_resolver(task, &err);
	else if (task->redirects && task->redirect_problem == 0)
		code = open_redirected_resolver(task, &err);
	else if (task->separation.separated && access("/" RESOLVER_CONFIGURATION, F_OK) == 0)
		code = open_host_resolver(task, &err);
	else
		code = err_set(&err, -EPERM, "the task shares the machine's resolver");
	if (code < 0)
		task->record->notes =
			arena_format(task->arena, "%.*s; no DNS resolver of the task's own: %s",
				SPAN_ARGS(task->record->notes), err.message);
}

/* Before notes are made. */
static void hide_folders(struct task *task)
{
	struct err err;

	if (!task->plan->hidden[0])
		return;
	if (task->separation.separated)
		task->hide_problem = confinement_cover(task->plan->hidden, &err);
	else if (geteuid() == 0)
		task->hide_problem = -EPERM;
	else
		task->hide_problem = confinement_try_as_user(task->plan->hidden);
	task->hides_as_user = !task->separation.separated && task->hide_problem == 0;
}

void task_prepare(struct task *task)
{
	hide_folders(task);
	task->record = record_of_plan(task->plan, task->arena);
	task->record->notes = notes_of(task);
	set_address(task);
	open_metadata(task);
	if (task->record->address.length > 0 && !task->separation.own_network) {
		task->redirects = true;
		task->redirect_problem =
			redirect_init(&task->redirect, task->plan, task->record->address);
	}
	open_resolver(task);
	for (size_t i = 0; i < task->container_count; i++) {
		struct container *container = &task->containers[i];

		container->task = task;
		container->plan = &task->plan->containers[i];
		container->record = &task->record->containers[i];
		container->report = container->output = container->health.report = -1;
		container->health.output = -1;
		container->mounts = -1;
		log_files_init(&container->log, container->plan->name,
			container->plan->log_max_bytes);
	}
}

/* In a user namespace of their own only its processes count, else all of the user's. */
static void limit_processes(struct task *task)
{
	uint64_t others = 0;

	if (task->plan->processes_max == 0 || task->mounts.processes.kind != CGROUP_NONE ||
		geteuid() == 0)
		return;
	if (!task->hides_as_user)
		others = confinement_count_processes(geteuid());
	task->processes = (rlim_t)others + (rlim_t)task->plan->processes_max;
}

void task_make_groups(struct task *task)
{
	_buffer_ struct buffer notes = BUFFER_WITH_CAP(NOTES_MAX);

	if (!cgroup_is_wanted(task->plan))
		return;
	buffer_add_span(&notes, task->record->notes);
	cgroup_find(&task->mounts);
	cgroup_make(&task->mounts, task->plan, &notes);
	limit_processes(task);
	task->has_groups = true;
	task->record->notes = arena_copy_span(task->arena, buffer_span(&notes));
	for (size_t i = 0; i < task->container_count; i++) {
		struct container *container = &task->containers[i];

		container->groups = arena_allocate(task->arena, sizeof(*container->groups));
		cgroup_entry_of(&task->mounts, task->plan->token, container->plan->name,
			container->groups);
	}
}

void task_forget_secrets(struct task *task)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer text = BUFFER_WITH_CAP(PLAN_SPEC_MAX), without = {0};

	/* After a failure they stay until the task ends; that is no reason to end it. */
	if (file_read(RECORD_SPEC_FILE, PLAN_SPEC_MAX, &text, NULL) == 0 &&
		plan_forget_secrets(buffer_span(&text), arena, &without) &&
		file_replace(RECORD_SPEC_FILE, buffer_span(&without), 0600, NULL) < 0)
		task->changed = true;
	if (text.data)
		explicit_bzero(text.data, text.length);
}

static int sync_folder(const char *path, struct err *err)
{
	_close_ int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return folder < 0 || fsync(folder) < 0 ? err_errno(err, "sync folder '%s'", path) : 0;
}

/* Not by replacement: a truncated record counts as none, and this way the folder, the spec and the
 * record become durable together. */
int task_begin(struct task *task, struct err *err)
{
	_close_ int file = open(RECORD_STATE_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	_buffer_ struct buffer text = {0};
	int code;

	record_write(task->record, &text);
	if (file < 0 || write(file, text.data, text.length) != (ssize_t)text.length ||
		fsync(file) < 0)
		return err_errno(err, "write " RECORD_STATE_FILE);
	code = sync_folder(".", err);
	return code < 0 ? code : sync_folder("..", err);
}

int task_save(struct task *task, struct err *err)
{
	_buffer_ struct buffer text = {0};

	record_write(task->record, &text);
	return file_replace(RECORD_STATE_FILE, buffer_span(&text), 0600, err);
}

void task_stop(struct task *task, enum runtime_stop stop, struct span reason)
{
	if (task->stopping)
		return;
	task->stopping = true;
	task->changed = true;
	task->record->stop = stop;
	task->record->reason = arena_copy_span(task->arena, reason);
	task->record->phase = RUNTIME_STOPPING;
}

/* Starting. */

static int make_streams(int *ret_nothing, int *ret_read, int *ret_write, struct err *err)
{
	_close_ int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int ends[2];

	if (nothing < 0)
		return err_errno(err, "open /dev/null");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, "make a pipe");
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*ret_nothing = TAKE_FD(nothing);
	*ret_read = ends[0];
	*ret_write = ends[1];
	return 0;
}

static void finish(struct container *container);

static void fail_start(struct container *container, const char *kind, const char *text)
{
	container->failed_to_start = true;
	set_reason(container, kind, text);
}

struct launch task_launch_of(const struct container *container)
{
	return (struct launch){
		.environment = container->environment,
		.working_directory = container->plan->working_directory,
		.user = container->plan->user,
		.hostname =
			container->task->separation.separated ? container->plan->hostname : NULL,
		.limits = container->plan->limits,
		.limit_count = container->plan->limit_count,
		.groups = container->groups,
		.capabilities = container->plan->capabilities,
		.hidden = container->task->hides_as_user ? container->task->plan->hidden : NULL,
		.processes = container->task->processes,
		.mounts = container->mounts,
		.redirects = container->task->redirects,
		.redirect_problem = container->task->redirect_problem,
	};
}

static int make_mounts(struct container *container, struct err *err)
{
	if (!mounts_are_wanted(container->plan) || container->mounts >= 0)
		return 0;
	if (!container->task->separation.separated)
		return mounts_check_plain(container->plan, err);
	return mounts_make(container->plan, &container->mounts, err);
}

static int launch_container(struct container *container, struct err *err)
{
	_close_ int nothing = -1, output = -1;
	struct launch launch = task_launch_of(container);
	int code = make_streams(&nothing, &container->output, &output, err);

	if (code < 0)
		return code;
	launch.arguments = container->plan->arguments;
	launch.ports = container->plan->ports;
	if (container->task->plan->network == PLAN_NETWORK_AWSVPC)
		launch.port_address = container->task->redirect.address;
	launch.port_count = container->plan->port_count;
	launch.input = nothing;
	launch.output = launch.error = output;
	code = launch_start(&launch, &container->monitor, &container->report, err);
	if (code < 0)
		memory_close_descriptor(&container->output);
	return code;
}

static int make_environment(struct container *container, struct err *err)
{
	if (container->environment)
		return 0;
	return environment_make(container->task, container->plan, container->record->runtime_id,
		&container->environment, err);
}

static void start_container(struct container *container)
{
	const char *kind = "ResourceInitializationError: ";
	struct err err;
	int code = make_environment(container, &err);

	container->reported[0] = '\0';
	if (code == 0) {
		kind = "CannotCreateVolumeError: ";
		code = make_mounts(container, &err);
	}
	if (code == 0) {
		kind = "CannotStartContainerError: ";
		code = launch_container(container, &err);
	}
	if (code < 0) {
		fail_start(container, kind, err.message);
		finish(container);
		return;
	}
	set_step(container, CONTAINER_STARTING);
}

static void note_unredirected(struct task *task, const char *reason)
{
	if (task->is_unredirected)
		return;
	task->is_unredirected = true;
	task->record->notes =
		arena_format(task->arena, "%.*s; binds to every address cannot be redirected: %s",
			SPAN_ARGS(task->record->notes), reason);
	task->changed = true;
}

bool task_take_report(struct task *task, int *report, char text[LAUNCH_REPORT_MAX])
{
	for (;;) {
		char changes[LAUNCH_REPORT_MAX];
		int listener = -1;

		switch (launch_read(*report, changes, &listener)) {
		case LAUNCH_NO_UPDATE: return false;
		case LAUNCH_LISTENER: redirect_add(&task->redirect, listener); break;
		case LAUNCH_UNREDIRECTED: note_unredirected(task, changes); break;
		case LAUNCH_FAILED: memcpy(text, changes, sizeof(changes)); break;
		case LAUNCH_DONE: memory_close_descriptor(report); return true;
		}
	}
}

/* At its end the program runs, or the monitor's exit will follow. */
static void read_report(struct container *container)
{
	if (!task_take_report(container->task, &container->report, container->reported))
		return;
	if (container->reported[0]) {
		fail_start(container, "CannotStartContainerError: ", container->reported);
		return;
	}
	container->was_started = true;
	container->started_us = clock_steady_us(container->task->clock);
	container->record->started_ms = clock_wall_ms(container->task->clock);
	container->task->changed = true;
	if (container->step == CONTAINER_STARTING)
		set_step(container, CONTAINER_RUNNING);
	health_begin(container);
}

static void read_output(struct container *container, unsigned most)
{
	static char data[READ_STEP];

	for (unsigned i = 0; i < most; i++) {
		ssize_t got = read(container->output, data, sizeof(data));

		if (got > 0)
			log_files_add(&container->log, clock_wall_ms(container->task->clock), data,
				(size_t)got);
		else if (got < 0 && errno == EINTR)
			continue;
		else if (got < 0 && errno == EAGAIN)
			return;
		else {
			memory_close_descriptor(&container->output);
			return;
		}
	}
}

enum readiness { NOT_YET, READY, NEVER };

static enum readiness dependency_readiness(const struct container *on,
	enum plan_condition condition, int64_t now)
{
	const struct runtime_container *record = on->record;
	bool stopped = on->step == CONTAINER_STOPPED;
	bool timed_out = on->was_started && on->plan->start_timeout_ms > 0 &&
			 now >= on->started_us + on->plan->start_timeout_ms * 1000;

	if (condition == PLAN_START) {
		if (on->was_started)
			return READY;
		return stopped ? NEVER : NOT_YET;
	}
	if (condition == PLAN_HEALTHY) {
		if (!stopped && record->health == RUNTIME_HEALTHY)
			return READY;
		return stopped || timed_out ? NEVER : NOT_YET;
	}
	if (!stopped)
		return timed_out ? NEVER : NOT_YET;
	if (!on->was_started || (condition == PLAN_SUCCESS && record->exit_code != 0))
		return NEVER;
	return READY;
}

static void give_up_waiting(struct container *container, const struct container *on)
{
	static const char *const desired[] = {"start", "complete", "succeed", "become healthy"};
	enum plan_condition condition = PLAN_START;
	_free_ char *text = NULL;

	for (size_t i = 0; i < container->plan->dependency_count; i++)
		if (&container->task->containers[container->plan->dependencies[i].container] == on)
			condition = container->plan->dependencies[i].condition;
	text = memory_format("DependencyError: container '%.*s' did not %s%s",
		SPAN_ARGS(on->plan->name), desired[condition],
		on->step == CONTAINER_STOPPED ? "" : " within its start timeout");
	set_reason(container, "", text);
	task_stop(container->task, RUNTIME_STOP_FAILED_TO_START, container->record->reason);
}

static bool step_waiting(struct container *container)
{
	struct task *task = container->task;
	int64_t now = clock_steady_us(task->clock);

	if (task->stopping) {
		finish(container);
		return true;
	}
	if (container->health.monitor)
		return false; /* a check of the run before */
	for (size_t i = 0; i < container->plan->dependency_count; i++) {
		const struct plan_dependency *dependency = &container->plan->dependencies[i];
		const struct container *on = &task->containers[dependency->container];
		enum readiness readiness = dependency_readiness(on, dependency->condition, now);

		if (readiness == NOT_YET)
			return false;
		if (readiness == NEVER) {
			give_up_waiting(container, on);
			return true;
		}
	}
	start_container(container);
	return true;
}

/* Stopping: containers stop after those that depend on them. */

static bool is_depended_on(const struct container *container)
{
	const struct task *task = container->task;

	for (size_t i = 0; i < task->container_count; i++) {
		const struct container *other = &task->containers[i];

		if (other->step == CONTAINER_STOPPED)
			continue;
		for (size_t j = 0; j < other->plan->dependency_count; j++)
			if (&task->containers[other->plan->dependencies[j].container] == container)
				return true;
	}
	return false;
}

static bool step_running(struct container *container)
{
	struct task *task = container->task;

	health_step(container);
	if (!task->stopping || is_depended_on(container))
		return false;
	health_cancel(container);
	container->deadline_us =
		clock_steady_us(task->clock) + container->plan->stop_timeout_ms * 1000;
	kill(container->monitor, SIGTERM);
	set_step(container, CONTAINER_STOPPING);
	return true;
}

static bool step_stopping(struct container *container)
{
	if (clock_steady_us(container->task->clock) < container->deadline_us)
		return false;
	container->deadline_us = TASK_NEVER;
	kill(container->monitor, LAUNCH_KILL);
	return false;
}

/* Ending. */

static bool is_ignored(const struct container *container)
{
	JSON_EACH_ITEM (container->plan->ignored_exit_codes, item) {
		int64_t code;

		if (json_integer(item, &code) && code == container->record->exit_code)
			return true;
	}
	return false;
}

static bool should_restart(const struct container *container)
{
	return container->plan->restarts && !container->task->stopping &&
	       !container->failed_to_start && !is_ignored(container) &&
	       clock_steady_us(container->task->clock) >=
		       container->started_us + container->plan->restart_period_ms * 1000;
}

/* A container that will not run again. */
static void finish(struct container *container)
{
	struct task *task = container->task;

	set_step(container, CONTAINER_STOPPED);
	health_cancel(container);
	container->record->stopped_ms = clock_wall_ms(task->clock);
	task->unsaved = task->changed = true;
	task->save_at_us = 0;
	if (container->plan->essential && container->failed_to_start)
		task_stop(task, RUNTIME_STOP_FAILED_TO_START, container->record->reason);
	else if (container->plan->essential)
		task_stop(task, RUNTIME_STOP_ESSENTIAL, SPAN("Essential container in task exited"));
}

static void container_ended(struct container *container, int status)
{
	struct runtime_container *record = container->record;

	container->monitor = 0;
	if (container->report >= 0)
		read_report(container);
	/* All writers are gone, so this reads to the end. */
	if (container->output >= 0)
		read_output(container, UINT_MAX);
	memory_close_descriptor(&container->report);
	memory_close_descriptor(&container->output);
	if (!container->failed_to_start) {
		record->has_exit_code = true;
		record->exit_code =
			WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
	if (container->groups) {
		unsigned kills = cgroup_count_kills(&container->task->mounts,
			container->task->plan->token, container->plan->name);

		if (kills > container->memory_kills && record->exit_code == 128 + SIGKILL)
			set_reason(container,
				"OutOfMemoryError: Container killed due to memory usage", "");
		container->memory_kills = kills;
	}
	if (container->log.failure && record->reason.length == 0)
		set_reason(container,
			"LogError: output was lost: ", strerror(container->log.failure));
	if (should_restart(container)) {
		health_cancel(container);
		record->restarts++;
		set_step(container, CONTAINER_WAITING);
		return;
	}
	finish(container);
}

bool task_monitor_ended(struct task *task, pid_t monitor, int status)
{
	for (size_t i = 0; i < task->container_count; i++) {
		struct container *container = &task->containers[i];

		if (container->monitor == monitor) {
			container_ended(container, status);
			return true;
		}
		if (container->health.monitor == monitor) {
			health_ended(container, status);
			return true;
		}
	}
	return false;
}

/* The whole task. */

static void step_task(struct task *task)
{
	struct runtime_task *record = task->record;
	bool started = true, stopped = true, checking = task->guests > 0;

	for (size_t i = 0; i < task->container_count; i++) {
		const struct container *container = &task->containers[i];

		started &= container->step > CONTAINER_STARTING;
		stopped &= container->step == CONTAINER_STOPPED;
		checking |= container->health.monitor != 0;
	}
	if (stopped && !task->stopping)
		task_stop(task, RUNTIME_STOP_ESSENTIAL, SPAN("Essential container in task exited"));
	if (started && !task->stopping && record->phase == RUNTIME_PENDING) {
		record->phase = RUNTIME_RUNNING;
		record->started_ms = clock_wall_ms(task->clock);
		task->changed = true;
	}
	if (stopped && !checking && record->phase != RUNTIME_STOPPED) {
		int ignored;

		/* No monitor is left; kill the leftovers of one that died early. */
		descendants_end(-1, &ignored);
		if (task->has_groups)
			cgroup_remove(&task->mounts, task->plan->token);
		record->phase = RUNTIME_STOPPED;
		record->stopped_ms = clock_wall_ms(task->clock);
		task->unsaved = task->changed = true;
		task->save_at_us = 0;
	}
	if (task->unsaved && clock_steady_us(task->clock) >= task->save_at_us) {
		if (task_save(task, NULL) < 0) {
			task->save_at_us = clock_steady_us(task->clock) + SAVE_AGAIN_US;
			return;
		}
		task->unsaved = false;
		task->save_at_us = TASK_NEVER;
		task->over = record->phase == RUNTIME_STOPPED;
	}
}

static bool step_container(struct container *container)
{
	switch (container->step) {
	case CONTAINER_WAITING: return step_waiting(container);
	case CONTAINER_STARTING:
	case CONTAINER_RUNNING: return step_running(container);
	case CONTAINER_STOPPING: return step_stopping(container);
	case CONTAINER_STOPPED: break;
	}
	return false;
}

void task_step(struct task *task)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = 0; i < task->container_count; i++)
			again |= step_container(&task->containers[i]);
	}
	for (size_t i = 0; i < task->container_count; i++)
		if (task->containers[i].step > CONTAINER_RUNNING)
			health_step(&task->containers[i]);
	step_task(task);
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t task_next_us(const struct task *task)
{
	int64_t next = task->unsaved ? task->save_at_us : TASK_NEVER;

	for (size_t i = 0; i < task->container_count; i++) {
		const struct container *container = &task->containers[i];

		next = earlier(next, health_next_us(container));
		if (container->step == CONTAINER_STOPPING)
			next = earlier(next, container->deadline_us);
		if (container->step != CONTAINER_WAITING)
			continue;
		for (size_t j = 0; j < container->plan->dependency_count; j++) {
			const struct container *on =
				&task->containers[container->plan->dependencies[j].container];

			if (on->was_started && on->plan->start_timeout_ms > 0 &&
				on->step != CONTAINER_STOPPED)
				next = earlier(next,
					on->started_us + on->plan->start_timeout_ms * 1000);
		}
	}
	return next;
}

size_t task_descriptors(const struct task *task, struct pollfd *polls, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < task->container_count; i++) {
		const struct container *container = &task->containers[i];

		if (container->report >= 0 && count < max)
			polls[count++] = (struct pollfd){.fd = container->report, .events = POLLIN};
		if (container->health.report >= 0 && count < max)
			polls[count++] =
				(struct pollfd){.fd = container->health.report, .events = POLLIN};
		if (container->health.output >= 0 && count < max)
			polls[count++] =
				(struct pollfd){.fd = container->health.output, .events = POLLIN};
		if (container->output >= 0 && count < max)
			polls[count++] = (struct pollfd){.fd = container->output, .events = POLLIN};
	}
	return count;
}

void task_read(struct task *task, int descriptor)
{
	for (size_t i = 0; i < task->container_count; i++) {
		struct container *container = &task->containers[i];

		if (container->report == descriptor) {
			read_report(container);
			return;
		}
		if (container->health.report == descriptor) {
			char ignored[LAUNCH_REPORT_MAX]; /* it shows in the exit code */

			task_take_report(task, &container->health.report, ignored);
			return;
		}
		if (container->health.output == descriptor) {
			health_read(container);
			return;
		}
		if (container->output == descriptor) {
			read_output(container, READS_AT_ONCE);
			return;
		}
	}
}

size_t task_maintainers(const struct task *task, pid_t *maintainers, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < task->container_count; i++) {
		const struct container *container = &task->containers[i];

		if (container->monitor && count < max)
			maintainers[count++] = container->monitor;
		if (container->health.monitor && count < max)
			maintainers[count++] = container->health.monitor;
	}
	return count;
}

struct container *task_find(struct task *task, struct span name)
{
	for (size_t i = 0; i < task->container_count; i++)
		if (span_equal(task->containers[i].plan->name, name))
			return &task->containers[i];
	return NULL;
}
