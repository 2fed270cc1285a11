/*
 * slipway-pod: the steps inside a pod that make it a task. Static and without dependencies, because
 * it runs in containers of any image; an init container installs it.
 *
 *     install FILE                copies itself to FILE: for the init container
 *     hold SECONDS FILE           returns after that time, or when FILE exists: as a preStop hook it keeps
 *                                 a container running while load balancers and DNS learn of its end
 *     release FILE                makes FILE: no client connects any more
 *     wait FILE TIMEOUT INTERVAL CHECK RETRIES START -- COMMAND…
 *                                 runs the command until it succeeds and makes FILE: as a postStart hook it
 *                                 keeps the next container from starting before this one is healthy. Fails
 *                                 after TIMEOUT
 *                                 seconds (0: never), or RETRIES failures in a row after START seconds. A
 *                                 check may take CHECK seconds. The first is made at once, the next after
 *                                 one second, then two, four, up to INTERVAL; only those at full distance
 *                                 count as failures.
 *     after FILE… -- COMMAND…     becomes the command if all files are there. Nodes start the next container
 *                                 also after a hook that failed; this command then does not run
 *     once FILE -- COMMAND…       becomes the command, the first time. Restarted (FILE exists) it
 *                                 waits for its end instead: a task runs its command once
 *     complete -- COMMAND…        runs the command and succeeds whatever it exits with, which it writes to
 *                                 the termination log for slipway to read
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "runtime/pod/protocol.h"

#define SECOND_US INT64_C(1000000)
#define SECONDS_MAX (7L * 24 * 3600)
#define POLL_US INT64_C(200000) /* how often a mark is polled */
#define EXIT_USAGE 2
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127
#define EXIT_SIGNALLED 128

static int fail(const char *what, const char *name)
{
	fprintf(stderr, "slipway-pod: %s '%s': %s\n", what, name, strerror(errno));
	return EXIT_FAILURE;
}

static bool read_seconds(const char *text, int64_t *ret_us)
{
	char *end;
	long seconds;

	errno = 0;
	seconds = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || seconds < 0 || seconds > SECONDS_MAX)
		return false;
	*ret_us = seconds * SECOND_US;
	return true;
}

static int64_t now_us(void)
{
	return clock_steady_us(clock_system());
}

/* Waits for one of the signals, at most until the deadline. The signal, or 0 after the deadline. */
static int await_signal(const sigset_t *signals, int64_t deadline_us)
{
	for (;;) {
		int64_t left = deadline_us - now_us();
		struct timespec time = {
			.tv_sec = left / SECOND_US, .tv_nsec = left % SECOND_US * 1000};
		int signal;

		if (left <= 0)
			return 0;
		signal = sigtimedwait(signals, NULL, &time);
		if (signal > 0)
			return signal;
	}
}

static void sleep_until(int64_t deadline_us)
{
	sigset_t none;

	sigemptyset(&none);
	await_signal(&none, deadline_us);
}

/* ---- install ---- */

static int copy_to(const char *path)
{
	_close_ int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_close_ int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ssize_t count;

	if (from < 0 || to < 0)
		return -1;
	do
		count = sendfile(to, from, NULL, INT_MAX);
	while (count > 0 || (count < 0 && errno == EINTR));
	/* Users of all containers run it, with any umask. */
	return count < 0 ? -1 : fchmod(to, 0755);
}

static int run_install(int count, char **arguments)
{
	_free_ char *temporary = NULL;

	if (count != 1)
		return EXIT_USAGE;
	/* Restarted with its node: the file exists, and may be running. */
	temporary = memory_format("%s.new", arguments[0]);
	if (copy_to(temporary) < 0 || rename(temporary, arguments[0]) < 0)
		return fail("install", arguments[0]);
	return EXIT_SUCCESS;
}

/* ---- hold and release ---- */

static int make_mark(const char *path)
{
	_close_ int mark = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	return mark < 0 ? fail("mark", path) : EXIT_SUCCESS;
}

static int run_hold(int count, char **arguments)
{
	int64_t time, deadline;

	if (count != 2 || !read_seconds(arguments[0], &time))
		return EXIT_USAGE;
	deadline = now_us() + time;
	while (access(arguments[1], F_OK) < 0 && now_us() < deadline) {
		int64_t next = now_us() + POLL_US;

		sleep_until(next < deadline ? next : deadline);
	}
	return EXIT_SUCCESS;
}

static int run_release(int count, char **arguments)
{
	return count == 1 ? make_mark(arguments[0]) : EXIT_USAGE;
}

/* ---- running commands ---- */

static void write_end(const char *text)
{
	_close_ int log = open(POD_TERMINATION_LOG, O_WRONLY | O_APPEND | O_CLOEXEC);

	if (log >= 0 && write(log, text, strlen(text)) < 0)
		fail("write", POD_TERMINATION_LOG);
}

/* Does not return. */
static void become(char **command)
{
	_free_ char *text = NULL;
	int error;

	execvp(command[0], command);
	error = errno;
	text = memory_format(POD_CANNOT_RUN "exec: \"%s\": %s", command[0], strerror(error));
	fprintf(stderr, "%s\n", text);
	write_end(text);
	_exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

static pid_t start(char **command, const sigset_t *signals)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	/* Of its own, so that a check that takes too long ends with all that it started. */
	setpgid(0, 0);
	sigprocmask(SIG_UNBLOCK, signals, NULL);
	become(command);
	return -1;
}

static int exit_code_of(int status)
{
	return WIFSIGNALED(status) ? EXIT_SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- wait ---- */

struct check {
	int64_t interval, check_timeout, start_period, deadline;
	long retries;
	const char *mark;
	char **command;
};

/* Whether it succeeded in its time. */
static bool check_once(const struct check *check, const sigset_t *signals)
{
	int64_t deadline = now_us() + check->check_timeout;
	pid_t child = start(check->command, signals);
	int status;

	if (child < 0)
		return false;
	while (waitpid(child, &status, WNOHANG) == 0)
		if (await_signal(signals, deadline) == 0) {
			kill(-child, SIGKILL);
			kill(child, SIGKILL); /* it may not have its group yet */
			waitpid(child, &status, 0);
			return false;
		}
	return exit_code_of(status) == 0;
}

static int give_up(const char *why)
{
	fprintf(stderr, "slipway-pod: not healthy %s\n", why);
	write_end(POD_UNHEALTHY);
	return EXIT_FAILURE;
}

static int await_health(const struct check *check, const sigset_t *signals)
{
	int64_t begun = now_us(), distance = SECOND_US;
	long failures = 0;

	for (;;) {
		int64_t next;

		if (check_once(check, signals))
			return make_mark(check->mark);
		if (now_us() - begun >= check->start_period && distance >= check->interval &&
			++failures >= check->retries)
			return give_up("after its retries");
		next = now_us() + distance;
		if (next >= check->deadline) {
			sleep_until(check->deadline);
			return give_up("in time");
		}
		sleep_until(next);
		distance *= 2;
		if (distance > check->interval)
			distance = check->interval;
	}
}

static int run_wait(int count, char **arguments)
{
	struct check check = {.command = arguments + 7};
	int64_t timeout, retries;
	sigset_t signals;

	if (count < 8 || strcmp(arguments[6], "--") != 0 || !read_seconds(arguments[1], &timeout) ||
		!read_seconds(arguments[2], &check.interval) ||
		!read_seconds(arguments[3], &check.check_timeout) ||
		!read_seconds(arguments[4], &retries) ||
		!read_seconds(arguments[5], &check.start_period))
		return EXIT_USAGE;
	check.mark = arguments[0];
	check.retries = (long)(retries / SECOND_US);
	check.deadline = timeout > 0 ? now_us() + timeout : INT64_MAX;
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return await_health(&check, &signals);
}

/* ---- after ---- */

static int run_after(int count, char **arguments)
{
	int command = 0;

	while (command < count && strcmp(arguments[command], "--") != 0)
		command++;
	if (command + 1 >= count)
		return EXIT_USAGE;
	for (int i = 0; i < command; i++)
		if (access(arguments[i], F_OK) < 0) {
			const char *name = strrchr(arguments[i], '.');
			_free_ char *text =
				memory_format(POD_NOT_AFTER "container '%s' did not become healthy",
					name ? name + 1 : arguments[i]);

			fprintf(stderr, "%s\n", text);
			write_end(text);
			return EXIT_FAILURE;
		}
	become(arguments + command + 1);
	return EXIT_FAILURE;
}

/* ---- once ---- */

static int await_end(void)
{
	sigset_t signals;
	int signal;

	/* Blocked and taken, because the first process of a container has no default actions. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGQUIT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	while (sigwait(&signals, &signal) != 0)
		continue;
	return EXIT_SUCCESS;
}

static int run_once(int count, char **arguments)
{
	_close_ int mark = -1;

	if (count < 3 || strcmp(arguments[1], "--") != 0)
		return EXIT_USAGE;
	mark = open(arguments[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (mark < 0 && errno == EEXIST)
		return await_end();
	/* Running twice is better than never. */
	if (mark < 0)
		fail("mark", arguments[0]);
	become(arguments + 2);
	return EXIT_FAILURE;
}

/* ---- complete ---- */

static int run_complete(int count, char **arguments)
{
	_free_ char *text = NULL;
	sigset_t signals;
	pid_t child, ended;
	int status;

	if (count < 2 || strcmp(arguments[0], "--") != 0)
		return EXIT_USAGE;
	sigfillset(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	child = start(arguments + 1, &signals);
	if (child < 0)
		return fail("start", arguments[1]);
	/* Signals go to the command; reap the processes that it leaves behind. */
	for (;;) {
		int signal;

		while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
			if (ended == child) {
				text = memory_format(POD_EXITED "%d", exit_code_of(status));
				write_end(text);
				return EXIT_SUCCESS;
			}
		if (sigwait(&signals, &signal) == 0 && signal != SIGCHLD)
			kill(child, signal);
	}
}

/* ---- the table ---- */

static const struct {
	const char *name;
	int (*run)(int count, char **arguments);
} verbs[] = {
	{"install", run_install},
	{"hold", run_hold},
	{"release", run_release},
	{"wait", run_wait},
	{"after", run_after},
	{"once", run_once},
	{"complete", run_complete},
};

int main(int count, char **arguments)
{
	int code = EXIT_USAGE;

	for (size_t i = 0; count > 1 && i < LENGTH(verbs); i++)
		if (strcmp(arguments[1], verbs[i].name) == 0)
			code = verbs[i].run(count - 2, arguments + 2);
	if (code == EXIT_USAGE)
		fprintf(stderr, "usage: slipway-pod install FILE | hold SECONDS | release | wait "
				"FILE TIMEOUT "
				"INTERVAL CHECK RETRIES START -- COMMAND… | after FILE… -- "
				"COMMAND… | once FILE -- COMMAND… | complete -- COMMAND…\n");
	return code;
}
