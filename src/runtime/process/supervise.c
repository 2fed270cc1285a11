/* Starting a supervisor, and ending what a lost one left. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/process/process_internal.h"
#include "runtime/process/protocol.h"

#define FIRST_FREE_DESCRIPTOR 10 /* so that none is in the way of those the supervisor gets */
#define ENVIRONMENT_MAX ((size_t)1024 * 1024)

static int spawn(struct process_runtime *runtime, const char *folder, int lock, int error,
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
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, error, 2);
	posix_spawn_file_actions_adddup2(&actions, lock, PROTOCOL_LOCK_DESCRIPTOR);
	number = posix_spawn(ret_pid, runtime->supervisor, &actions, &attributes, arguments,
		environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -number;
}

static int wait_for(pid_t pid, int *ret_status)
{
	while (waitpid(pid, ret_status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static int read_refusal(int descriptor, struct err *err)
{
	char text[ERR_MESSAGE_MAX / 2];
	ssize_t got = read(descriptor, text, sizeof(text) - 1);

	while (got > 0 && text[got - 1] == '\n')
		got--;
	return err_set(err, -EIO, "the supervisor did not start: %.*s", got > 0 ? (int)got : 0,
		text);
}

int process_supervise(struct process_runtime *runtime, const char *folder, int *lock,
	struct err *err)
{
	_close_ int held = TAKE_FD(*lock);
	_close_ int locked = fcntl(held, F_DUPFD_CLOEXEC, FIRST_FREE_DESCRIPTOR);
	_close_ int reading = -1, writing = -1, moved = -1;
	int ends[2], status, r;
	pid_t pid;

	if (locked < 0)
		return err_errno(err, "duplicate the lock");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, "make a pipe");
	reading = ends[0];
	writing = ends[1];
	moved = fcntl(writing, F_DUPFD_CLOEXEC, FIRST_FREE_DESCRIPTOR);
	if (moved < 0)
		return err_errno(err, "duplicate a pipe");
	r = spawn(runtime, folder, locked, moved, &pid);
	if (r < 0)
		return err_system(err, -r, "run '%s'", runtime->supervisor);
	memory_close_descriptor(&writing);
	memory_close_descriptor(&moved);
	r = wait_for(pid, &status);
	/* Who ignores SIGCHLD learns nothing here, and everything from the folder. */
	if (r < 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		return read_refusal(reading, err);
	if (WIFSIGNALED(status))
		return err_set(err, -EAGAIN, "the supervisor was killed by signal %d",
			WTERMSIG(status));
	return 0;
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

void process_end_marked(const char *token)
{
	_free_ char *mark = memory_format(PROTOCOL_TASK_VARIABLE "=%s", token);
	DIR *listing = opendir("/proc");

	if (!listing)
		return;
	for (struct dirent *entry; (entry = readdir(listing));) {
		_close_ int process = -1;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
			!is_marked(entry->d_name, span_of(mark)))
			continue;
		process = (int)syscall(SYS_pidfd_open, atoi(entry->d_name), 0);
		/* Looked at again, now that the number cannot become another's. */
		if (process >= 0 && is_marked(entry->d_name, span_of(mark)))
			syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
	}
	closedir(listing);
}
