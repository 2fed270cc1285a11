/* Starts supervisors, and ends leftovers of lost ones. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/process/process_internal.h"
#include "runtime/process/protocol.h"

#define FIRST_FREE_DESCRIPTOR 10 /* so that none is in the way of those the supervisor gets */
#define END_ATTEMPTS 5000        /* a millisecond each */
#define ENVIRONMENT_MAX ((size_t)1024 * 1024)

static int spawn(struct process_runtime *runtime, const char *folder, int lock, int channel,
	pid_t *ret_pid)
{
	char *arguments[] = {"slipway-task", (char *)folder, NULL};
	char *environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int number;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, lock, PROTOCOL_LOCK_DESCRIPTOR);
	posix_spawn_file_actions_adddup2(&actions, channel, PROTOCOL_CHANNEL_DESCRIPTOR);
	number = posix_spawn(ret_pid, runtime->supervisor, &actions, &attributes, arguments,
		environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -number;
}

int process_supervise(struct process_runtime *runtime, const char *folder, int *lock,
	int *ret_channel, pid_t *ret_pid, struct err *err)
{
	struct timeval patience = {.tv_sec = PROCESS_ANSWER_SECONDS};
	_close_ int held = TAKE_FD(*lock);
	_close_ int locked = fcntl(held, F_DUPFD_CLOEXEC, FIRST_FREE_DESCRIPTOR);
	_close_ int ours = -1, theirs = -1, moved = -1;
	int ends[2], code;

	if (locked < 0)
		return err_errno(err, "duplicate the lock");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "make a channel");
	ours = ends[0];
	theirs = ends[1];
	setsockopt(ours, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	moved = fcntl(theirs, F_DUPFD_CLOEXEC, FIRST_FREE_DESCRIPTOR);
	if (moved < 0)
		return err_errno(err, "duplicate a channel");
	code = spawn(runtime, folder, locked, moved, ret_pid);
	if (code < 0)
		return err_system(err, -code, "run '%s'", runtime->supervisor);
	*ret_channel = TAKE_FD(ours);
	return 0;
}

/* The first line on the channel, which stays there unless it is an error. */
static int inspect_answer(int channel, struct err *err)
{
	static const char refusal[] = "{\"version\":1,\"error\"";
	_arena_ struct arena *arena = NULL;
	char start[sizeof(refusal) - 1];
	struct json *ignored;
	ssize_t got;

	do
		got = recv(channel, start, sizeof(start), MSG_PEEK | MSG_WAITALL);
	while (got < 0 && errno == EINTR);
	if (got < (ssize_t)sizeof(start))
		return err_set(err, -EAGAIN, "the supervisor ended before it answered");
	if (memcmp(start, refusal, sizeof(start)) != 0)
		return 0;
	arena = arena_new(0);
	if (process_receive(channel, arena, &ignored, err) != -EREMOTEIO)
		return err_set(err, -EAGAIN, "the supervisor ended within its answer");
	err_prefix(err, -EIO, "the supervisor did not start");
	return -EIO;
}

int process_await(int channel, pid_t pid, struct err *err)
{
	int code = inspect_answer(channel, err), status;

	/* It has gone to the background, or has ended. With SIGCHLD ignored there is no child to
	 * wait for. */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return code;
}

static bool is_marked(const char *pid, struct span mark)
{
	_free_ char *path = memory_format("/proc/%s/environ", pid);
	_buffer_ struct buffer text = {0};
	const char *found;

	if (file_read(path, ENVIRONMENT_MAX, &text, NULL) < 0 || text.length <= mark.length)
		return false;
	found = memmem(text.data, text.length, mark.data, mark.length);
	return found && (found == text.data || found[-1] == '\0') &&
	       (found + mark.length == text.data + text.length || found[mark.length] == '\0');
}

/* True if there was any. */
static bool kill_marked(struct span mark)
{
	DIR *listing = opendir("/proc");
	bool found = false;

	if (!listing)
		return false;
	for (struct dirent *entry; (entry = readdir(listing));) {
		_close_ int process = -1;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
			!is_marked(entry->d_name, mark))
			continue;
		process = (int)syscall(SYS_pidfd_open, atoi(entry->d_name), 0);
		/* Checked again, now that the process id cannot be reused. */
		if (process < 0 || !is_marked(entry->d_name, mark))
			continue;
		syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
		found = true;
	}
	closedir(listing);
	return found;
}

void process_end_marked(const char *token)
{
	_free_ char *mark = memory_format(PROTOCOL_TASK_VARIABLE "=%s", token);
	struct timespec moment = {.tv_nsec = 1000 * 1000};

	/* A killed process exits only when it gets the processor. */
	for (int i = 0; i < END_ATTEMPTS && kill_marked(span_of(mark)); i++)
		nanosleep(&moment, NULL);
}
