/* Monitor and program. Between fork and exec only calls that need no memory are made. */
#include "runtime/process/supervisor/launch.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/process/descendants.h"
#include "runtime/process/protocol.h"
#include "runtime/process/slice.h"
#include "runtime/process/supervisor/account.h"
#include "runtime/process/supervisor/confinement.h"
#include "runtime/process/supervisor/redirect.h"

#define EXIT_CANNOT_RUN 127
#define FIRST_FREE_DESCRIPTOR 10 /* above the standard ones and the lock */

/* A report is of messages, the first byte of which says what they are. */
enum { TAG_LISTENER = 'L', TAG_UNREDIRECTED = 'U', TAG_FAILED = 'F' };

static void send_report(int report, char tag, const char *text, int descriptor)
{
	struct iovec parts[] = {
		{.iov_base = &tag, .iov_len = 1},
		{.iov_base = (char *)text, .iov_len = strlen(text)},
	};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	if (descriptor >= 0) {
		message.msg_control = control.space;
		message.msg_controllen = sizeof(control.space);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(int));
	}
	if (sendmsg(report, &message, MSG_NOSIGNAL) < 0)
		_exit(EXIT_CANNOT_RUN); /* the supervisor is gone */
}

enum launch_update launch_read(int report, char text[LAUNCH_REPORT_MAX], int *ret_listener)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char tag = 0;
	struct iovec parts[] = {
		{.iov_base = &tag, .iov_len = 1},
		{.iov_base = text, .iov_len = LAUNCH_REPORT_MAX - 1},
	};
	struct msghdr message = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t got;

	do
		got = recvmsg(report, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0 && errno == EAGAIN)
		return LAUNCH_NO_UPDATE;
	if (got <= 0)
		return LAUNCH_DONE;
	text[got - 1] = '\0';
	if (tag == TAG_LISTENER && CMSG_FIRSTHDR(&message)) {
		memcpy(ret_listener, CMSG_DATA(&control.header), sizeof(int));
		return LAUNCH_LISTENER;
	}
	return tag == TAG_UNREDIRECTED ? LAUNCH_UNREDIRECTED : LAUNCH_FAILED;
}

__attribute__((noreturn, format(printf, 3, 4))) static void give_up(int report, int number,
	const char *format, ...)
{
	char text[LAUNCH_REPORT_MAX - 1];
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (length >= 0 && length < (int)sizeof(text))
		snprintf(text + length, sizeof(text) - (size_t)length, ": %s", strerror(number));
	send_report(report, TAG_FAILED, text, -1);
	_exit(EXIT_CANNOT_RUN);
}

static const char *path_of_environment(char *const *environment)
{
	for (; *environment; environment++)
		if (strncmp(*environment, "PATH=", 5) == 0)
			return *environment + 5;
	return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

/* As execvpe, but with the PATH that the program will see. Returns errno. */
static int execute(const struct launch *launch)
{
	const char *name = launch->arguments[0];
	const char *path = path_of_environment(launch->environment);
	int number = ENOENT;

	if (strchr(name, '/')) {
		execve(name, launch->arguments, launch->environment);
		return errno;
	}
	while (path) {
		const char *end = strchrnul(path, ':');
		char file[PATH_MAX];
		int length = snprintf(file, sizeof(file), "%.*s/%s", (int)(end - path), path, name);

		if (end > path && length < (int)sizeof(file)) {
			execve(file, launch->arguments, launch->environment);
			if (errno != ENOENT && errno != ENOTDIR)
				number = errno;
		}
		path = *end ? end + 1 : NULL;
	}
	return number;
}

static void set_limits(const struct launch *launch, int report)
{
	for (size_t i = 0; i < launch->limit_count; i++) {
		const struct plan_limit *limit = &launch->limits[i];
		struct rlimit wanted = {.rlim_cur = limit->soft, .rlim_max = limit->hard};
		struct rlimit have = {0};

		if (setrlimit((__rlimit_resource_t)limit->resource, &wanted) == 0)
			continue;
		if (errno == EPERM && getrlimit((__rlimit_resource_t)limit->resource, &have) == 0)
			give_up(report, EPERM,
				"ulimit %s: hard limit %lld is above this machine's %lld",
				limit->name, (long long)limit->hard, (long long)have.rlim_max);
		give_up(report, errno, "ulimit %s", limit->name);
	}
}

static void enter_group(const char *path, int report)
{
	int descriptor;

	if (!path[0])
		return;
	descriptor = open(path, O_WRONLY | O_CLOEXEC);
	if (descriptor < 0 || write(descriptor, "0", 1) < 0)
		give_up(report, errno, "enter control group '%s'", path);
	close(descriptor);
}

/*
 * Where binds cannot be redirected, the program would fail on a port that is in use. One that binds to
 * $SLIPWAY_ADDRESS needs the port there only.
 */
static void check_ports(const struct launch *launch, int report, int reason)
{
	for (size_t i = 0; i < launch->port_count; i++) {
		const struct plan_port *port = &launch->ports[i];
		struct sockaddr_in address = {.sin_family = AF_INET,
			.sin_port = htons(port->host_port),
			.sin_addr = launch->port_address};
		int one = 1, trial = socket(AF_INET, port->udp ? SOCK_DGRAM : SOCK_STREAM, 0);

		if (trial < 0)
			return;
		setsockopt(trial, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(trial, (struct sockaddr *)&address, sizeof(address)) < 0 &&
			errno == EADDRINUSE)
			give_up(report, reason,
				"port %u is in use on this machine, and binds cannot be redirected",
				(unsigned)port->host_port);
		close(trial);
	}
}

static void redirect(const struct launch *launch, int report)
{
	int listener, code = launch->redirect_problem;

	if (code == 0)
		code = redirect_install(&listener);
	if (code < 0) {
		check_ports(launch, report, -code);
		send_report(report, TAG_UNREDIRECTED, strerror(-code), -1);
		return;
	}
	send_report(report, TAG_LISTENER, "", listener);
	close(listener);
}

static void become(const struct account *account, int report)
{
	if (!account->change)
		return;
	if (setgroups(account->group_count, account->groups) < 0)
		give_up(report, errno, "set groups");
	if (setresgid(account->group, account->group, account->group) < 0)
		give_up(report, errno, "set group %u", (unsigned)account->group);
	if (setresuid(account->user, account->user, account->user) < 0)
		give_up(report, errno, "set user %u", (unsigned)account->user);
}

/* A definition's own ulimit nproc stays, if it is lower. */
static void limit_processes(const struct launch *launch, int report)
{
	struct rlimit limit;

	if (launch->processes == 0 || getrlimit(RLIMIT_NPROC, &limit) < 0)
		return;
	if (limit.rlim_max > launch->processes)
		limit.rlim_max = launch->processes;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NPROC, &limit) < 0)
		give_up(report, errno, "limit processes");
}

static void confine(const struct launch *launch, const struct account *account, int report)
{
	bool root = geteuid() == 0;
	int code = root ? confinement_limit_capabilities(launch->capabilities) : 0;

	become(account, report);
	if (code == 0 && root)
		code = confinement_take_capabilities(launch->capabilities);
	if (code < 0)
		give_up(report, -code, "limit capabilities");
	if (launch->hidden)
		code = confinement_cover_as_user(launch->hidden);
	if (code < 0)
		give_up(report, -code, "hide folders of slipway");
	/* In the new user namespace, where only the program's own processes count. */
	limit_processes(launch, report);
}

static void take_streams(const struct launch *launch, int *report)
{
	int streams[3] = {launch->input, launch->output, launch->error};

	/* All out of the way of 0 to 2 first, so that none is overwritten before it is used. */
	*report = fcntl(*report, F_DUPFD_CLOEXEC, FIRST_FREE_DESCRIPTOR);
	for (int i = 0; i < 3; i++)
		streams[i] = fcntl(streams[i], F_DUPFD_CLOEXEC, FIRST_FREE_DESCRIPTOR);
	for (int i = 0; i < 3; i++)
		if (streams[i] < 0 || dup2(streams[i], i) < 0)
			give_up(*report, errno, "set up standard streams");
}

__attribute__((noreturn)) static void be_program(const struct launch *launch,
	const struct account *account, pid_t monitor, int report)
{
	sigset_t none;

	take_streams(launch, &report);
	setsid();
	if (launch->terminal && ioctl(0, TIOCSCTTY, 0) < 0)
		give_up(report, errno, "take the terminal");
	umask(022);
	/* A process that has threads, as those under a sanitizer do, shares its root with them. */
	if (launch->mounts >= 0 &&
		(unshare(CLONE_FS) < 0 || setns(launch->mounts, CLONE_NEWNS) < 0))
		give_up(report, errno, "enter the container's mount namespace");
	if (launch->hostname &&
		(unshare(CLONE_NEWUTS) < 0 ||
			sethostname(launch->hostname, strlen(launch->hostname)) < 0))
		give_up(report, errno, "set hostname '%s'", launch->hostname);
	if (launch->groups) {
		enter_group(launch->groups->processes, report);
		enter_group(launch->groups->memory, report);
		enter_group(launch->groups->cpu, report);
	}
	slice_restore();
	if (launch->redirects)
		redirect(launch, report); /* while root needs no more for it */
	set_limits(launch, report);
	/* The supervisor's own is among slipway's files, and a relative one is relative to the root. */
	if (chdir("/") < 0)
		give_up(report, errno, "working directory '/'");
	confine(launch, account, report);
	/* After the change of user, which clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != monitor)
		_exit(EXIT_CANNOT_RUN);
	if (launch->working_directory && chdir(launch->working_directory) < 0)
		give_up(report, errno, "working directory '%s'", launch->working_directory);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	give_up(report, execute(launch), "exec: \"%s\"", launch->arguments[0]);
}

static int code_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

__attribute__((noreturn)) static void be_monitor(const struct launch *launch,
	const struct account *account, pid_t supervisor, int report)
{
	int status = 128 + SIGKILL;
	sigset_t signals;
	pid_t self = getpid(), program;

	prctl(PR_SET_PDEATHSIG, LAUNCH_KILL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (getppid() != supervisor)
		_exit(status);
	program = fork();
	if (program < 0)
		give_up(report, errno, "fork");
	if (program == 0)
		be_program(launch, account, self, report);
	/* Nothing of the program's may stay open here: pipes end when the program's side ends. */
	close_range(0, PROTOCOL_LOCK_DESCRIPTOR - 1, 0);
	close_range(PROTOCOL_LOCK_DESCRIPTOR + 1, ~0U, 0);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, LAUNCH_KILL);
	status = SIGKILL; /* as waitpid would return it */
	for (;;) {
		int number = sigwaitinfo(&signals, NULL);
		bool ended = number == LAUNCH_KILL;

		if (number == SIGTERM)
			kill(program, SIGTERM);
		for (int one; number == SIGCHLD;) {
			pid_t pid = waitpid(-1, &one, WNOHANG);

			if (pid <= 0)
				break;
			if (pid == program) {
				status = one;
				ended = true;
				program = -1;
				break;
			}
		}
		if (!ended)
			continue;
		descendants_end(program, &status);
		_exit(code_of(status));
	}
}

int launch_start(const struct launch *launch, pid_t *ret_maintainer, int *ret_report,
	struct err *err)
{
	pid_t supervisor = getpid(), monitor;
	struct account account;
	int ends[2];
	int code = account_find(launch->user, &account, err);

	if (code < 0)
		return code;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "make a channel");
	monitor = fork();
	if (monitor == 0)
		be_monitor(launch, &account, supervisor, ends[1]);
	close(ends[1]);
	if (monitor < 0) {
		code = err_errno(err, "fork");
		close(ends[0]);
		return code;
	}
	*ret_maintainer = monitor;
	*ret_report = ends[0];
	return 0;
}
