/*
 * slipway-task: keeps one task running, with or without the server that started it.
 *
 *     slipway-task FOLDER        (descriptor 3: the locked file `lock` of that folder; 4: a channel)
 *
 * It goes to the background at once, and reports on the channel (protocol.h) that its socket is
 * open and its record on disk; the process in the background runs until the task has ended. Earlier
 * errors are reported there, too, and then nothing has been run.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "runtime/process/descendants.h"
#include "runtime/process/protocol.h"
#include "runtime/process/slice.h"
#include "runtime/process/supervisor/control.h"
#include "runtime/process/supervisor/task.h"
#include "runtime/task/record.h"

#define KEEPERS_MAX (2 * RUNTIME_CONTAINERS_MAX + PROTOCOL_CONNECTIONS_MAX)
#define POLLS_MAX                                                                                  \
	(4 * RUNTIME_CONTAINERS_MAX + 2 * PROTOCOL_CONNECTIONS_MAX + REDIRECT_LISTENERS_MAX +      \
		METADATA_CONNECTIONS_MAX + RESOLVER_DESCRIPTORS_MAX + 3)

struct supervisor {
	struct task task;
	struct control control;
	int signals;
};

/* Takes over the inherited descriptors, and reads the task spec. */
static int take_spec(struct supervisor *supervisor, const char *folder, struct arena *arena,
	struct err *err)
{
	int code;

	if (chdir(folder) < 0)
		return err_errno(err, "enter '%s'", folder);
	if (fcntl(PROTOCOL_LOCK_DESCRIPTOR, F_SETFD, FD_CLOEXEC) < 0)
		return err_errno(err, "the lock did not come with the start");
	fcntl(PROTOCOL_CHANNEL_DESCRIPTOR, F_SETFD, FD_CLOEXEC); /* if a server is listening */
	close_range(PROTOCOL_CHANNEL_DESCRIPTOR + 1, ~0U, 0);
	code = task_open(&supervisor->task, arena, clock_system(), err);
	return code < 0 ? code
			: resolver_init(&supervisor->task.resolver, "../" RECORD_RESOLVER_FILE,
				  clock_system(), err);
}

static int prepare(struct supervisor *supervisor, struct err *err)
{
	sigset_t signals;
	int code;

	separation_make_network(supervisor->task.plan, &supervisor->task.separation);
	task_prepare(&supervisor->task);
	/* Monitors inherit the mask: they wait for their signals, too. */
	sigfillset(&signals);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	supervisor->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (supervisor->signals < 0)
		return err_errno(err, "make a signal descriptor");
	code = control_open(&supervisor->control, &supervisor->task, err);
	return code < 0 ? code : task_begin(&supervisor->task, err);
}

static void refuse(const char *message)
{
	_buffer_ struct buffer line = {0};

	buffer_format(&line, "{\"version\":%d,\"error\":", PROTOCOL_VERSION);
	json_write_string(span_of(message), &line);
	buffer_add_string(&line, "}\n");
	if (send(PROTOCOL_CHANNEL_DESCRIPTOR, line.data, line.length, MSG_NOSIGNAL) < 0)
		fprintf(stderr, "%s\n", message);
}

/* Orphans that a monitor left when it died early. */
static void end_strays(struct supervisor *supervisor)
{
	pid_t maintainers[KEEPERS_MAX];
	size_t count = task_maintainers(&supervisor->task, maintainers, KEEPERS_MAX);

	count +=
		control_maintainers(&supervisor->control, maintainers + count, KEEPERS_MAX - count);
	descendants_kill_children(maintainers, count);
}

static void reap(struct supervisor *supervisor)
{
	bool strays = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		/* An orphan that ended may have left others. */
		strays |= WIFSIGNALED(status);
		if (!task_monitor_ended(&supervisor->task, pid, status) &&
			!control_monitor_ended(&supervisor->control, pid, status))
			strays = true;
	}
	if (strays)
		end_strays(supervisor);
}

static void handle_signals(struct supervisor *supervisor)
{
	struct signalfd_siginfo information;

	while (read(supervisor->signals, &information, sizeof(information)) > 0)
		if (information.ssi_signo == SIGTERM)
			task_stop(&supervisor->task, RUNTIME_STOP_REQUESTED,
				SPAN("The supervisor received SIGTERM"));
	reap(supervisor);
}

static int timeout_of(const struct task *task)
{
	int64_t next = task_next_us(task), of_metadata = metadata_next_us(&task->metadata),
		of_resolver = resolver_next_us(&task->resolver), now = clock_steady_us(task->clock);

	if (of_metadata < next)
		next = of_metadata;
	if (of_resolver < next)
		next = of_resolver;
	if (next == TASK_NEVER)
		return -1;
	if (next <= now)
		return 0;
	next = (next - now + 999) / 1000;
	return next > 3600000 ? 3600000 : (int)next;
}

static void wait_and_handle(struct supervisor *supervisor)
{
	struct pollfd polls[POLLS_MAX];
	size_t of_task, count = 0;

	polls[count++] = (struct pollfd){.fd = supervisor->signals, .events = POLLIN};
	count += task_descriptors(&supervisor->task, polls + count, POLLS_MAX - count);
	of_task = count;
	count += metadata_descriptors(&supervisor->task.metadata, polls + count, POLLS_MAX - count);
	count += resolver_descriptors(&supervisor->task.resolver, polls + count, POLLS_MAX - count);
	count += redirect_descriptors(&supervisor->task.redirect, polls + count, POLLS_MAX - count);
	count += control_descriptors(&supervisor->control, polls + count, POLLS_MAX - count);
	if (poll(polls, count, timeout_of(&supervisor->task)) <= 0)
		return;
	/* Signals last: an end then finds all that was written before it already read. */
	for (size_t i = 1; i < count; i++) {
		if (!polls[i].revents)
			continue;
		if (i < of_task)
			task_read(&supervisor->task, polls[i].fd);
		else if (!redirect_handle(&supervisor->task.redirect, &polls[i]) &&
			 !metadata_handle(&supervisor->task.metadata, &polls[i]) &&
			 !resolver_handle(&supervisor->task.resolver, &polls[i]))
			control_handle(&supervisor->control, &polls[i]);
	}
	if (polls[0].revents)
		handle_signals(supervisor);
}

static void run(struct supervisor *supervisor)
{
	struct task *task = &supervisor->task;

	task_make_groups(task);
	task_step(task);
	task_forget_secrets(task);
	for (;;) {
		task_step(task);
		control_step(&supervisor->control);
		metadata_step(&task->metadata);
		resolver_step(&task->resolver);
		if (task->changed && !task->unsaved) {
			task->changed = false;
			control_notify_watchers(&supervisor->control);
		}
		if (task->over)
			return;
		wait_and_handle(supervisor);
	}
}

int main(int count, char **arguments)
{
	static struct supervisor supervisor;
	_arena_ struct arena *arena = arena_new(0);
	struct err err;

	if (count != 2) {
		fprintf(stderr, "usage: slipway-task FOLDER\n"
				"slipway starts it; it keeps one task running.\n");
		return 2;
	}
	slice_shorten();
	if (take_spec(&supervisor, arguments[1], arena, &err) < 0 ||
		separation_go_to_background(supervisor.task.plan, &supervisor.task.separation,
			&err) < 0 ||
		prepare(&supervisor, &err) < 0) {
		refuse(err.message);
		return 1;
	}
	control_take_channel(&supervisor.control, PROTOCOL_CHANNEL_DESCRIPTOR);
	run(&supervisor);
	separation_end(supervisor.task.plan, &supervisor.task.separation);
	for (size_t i = 0; i < supervisor.task.container_count; i++)
		log_files_close(&supervisor.task.containers[i].log);
	return 0;
}
