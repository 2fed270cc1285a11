/* See the header. */
#include "io/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/memory.h"

#define PATH_SIZE 4096
#define CHUNK_SIZE 65536
#define FIRST_CLOSED 3 /* descriptors from here on are not the child's */
#define EXIT_NOT_STARTED 127
#define MICROSECONDS 1000

#define SEARCH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Both ends of what connects us to the child. */
struct channel {
	int ours, theirs;
};

struct child {
	const struct child_request *request;
	char program[PATH_SIZE];
	struct channel input, output, errors;
	struct channel failure; /* the child writes an errno if it cannot start; closed by exec */
	pid_t pid;
	int handle; /* readable when the child has ended */
	size_t written;
	int64_t kill_at_ms; /* 0: SIGTERM was not sent */
	bool was_killed;
};

static void channel_close(struct channel *channel)
{
	memory_close_descriptor(&channel->ours);
	memory_close_descriptor(&channel->theirs);
	*channel = (struct channel){-1, -1};
}

static void child_clear(struct child *child)
{
	channel_close(&child->input);
	channel_close(&child->output);
	channel_close(&child->errors);
	channel_close(&child->failure);
	memory_close_descriptor(&child->handle);
}

void child_result_clear(struct child_result *result)
{
	buffer_clear(&result->output);
	buffer_clear(&result->errors);
}

static int64_t now_ms(void)
{
	return clock_steady_us(clock_system()) / MICROSECONDS;
}

/* ---- start ---- */

/* Looks the program up before the fork: nothing but system calls is allowed after it. */
static int find_program(const char *name, char out[PATH_SIZE], struct err *err)
{
	const char *path = getenv("PATH");
	struct span search = span_of(path ? path : SEARCH_DEFAULT), folder;

	if (strchr(name, '/')) {
		if (snprintf(out, PATH_SIZE, "%s", name) >= PATH_SIZE)
			return err_set(err, -ENAMETOOLONG, "start %s: the path is too long", name);
		return 0;
	}
	while (span_next_part(&search, ':', &folder)) {
		int length = snprintf(out, PATH_SIZE, "%.*s/%s", SPAN_ARGS(folder), name);

		if (folder.length > 0 && length < PATH_SIZE && access(out, X_OK) == 0)
			return 0;
	}
	return err_set(err, -ENOENT, "start %s: no such program in PATH", name);
}

static int make_channels(struct child *child, struct err *err)
{
	/* A socket and no pipe: writing to a child that has ended raises no signal. */
	int ends[2];

	if (child->request->input.length == 0) {
		child->input.theirs = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (child->input.theirs < 0)
			return err_errno(err, "open /dev/null");
	} else {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
			return err_errno(err, "connect to a child process");
		child->input = (struct channel){ends[1], ends[0]};
	}
	for (struct channel *channel = &child->output; channel <= &child->failure; channel++) {
		if (pipe2(ends, O_CLOEXEC) < 0)
			return err_errno(err, "connect to a child process");
		*channel = (struct channel){ends[0], ends[1]};
	}
	return 0;
}

static void set_limit(int resource, uint64_t max)
{
	struct rlimit limit = {.rlim_cur = max, .rlim_max = max};

	if (max > 0)
		setrlimit((__rlimit_resource_t)resource, &limit);
}

/* In the child: only system calls until exec. */
static _Noreturn void become(const struct child *child, pid_t parent)
{
	static const char *const empty[] = {NULL};
	const struct child_request *request = child->request;
	int failure = fcntl(child->failure.theirs, F_DUPFD_CLOEXEC, FIRST_CLOSED), number;
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_NOT_STARTED);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(child->input.theirs, STDIN_FILENO) >= 0 &&
		dup2(child->output.theirs, STDOUT_FILENO) >= 0 &&
		dup2(child->errors.theirs, STDERR_FILENO) >= 0 &&
		(!request->folder || chdir(request->folder) == 0)) {
		close_range(FIRST_CLOSED, ~0U, CLOSE_RANGE_CLOEXEC);
		set_limit(RLIMIT_AS, request->memory_max);
		set_limit(RLIMIT_FSIZE, request->file_size_max);
		set_limit(RLIMIT_NOFILE, request->open_files_max);
		execve(child->program, (char *const *)request->arguments,
			(char *const *)(request->environment ? request->environment : empty));
	}
	number = errno;
	if (write(failure, &number, sizeof(number)) != sizeof(number))
		_exit(EXIT_NOT_STARTED);
	_exit(EXIT_NOT_STARTED);
}

static int start(struct child *child, struct err *err)
{
	pid_t parent = getpid();
	int number = 0;
	ssize_t length;

	child->pid = fork();
	if (child->pid < 0)
		return err_errno(err, "start %s", child->request->arguments[0]);
	if (child->pid == 0)
		become(child, parent);
	/* Both do it, so that the group exists for either of them. */
	setpgid(child->pid, child->pid);
	memory_close_descriptor(&child->input.theirs);
	memory_close_descriptor(&child->output.theirs);
	memory_close_descriptor(&child->errors.theirs);
	memory_close_descriptor(&child->failure.theirs);
	child->input.theirs = child->output.theirs = child->errors.theirs = child->failure.theirs =
		-1;
	do
		length = read(child->failure.ours, &number, sizeof(number));
	while (length < 0 && errno == EINTR);
	if (length == 0)
		child->handle = pidfd_open(child->pid, 0);
	if (length == 0 && child->handle >= 0)
		return 0;
	if (length == 0)
		number = errno;
	kill(-child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	return err_system(err, number > 0 ? number : EIO, "start %s", child->request->arguments[0]);
}

/* ---- run ---- */

/* True while the channel is open. */
static bool drain(struct channel *channel, size_t max, struct buffer *out, bool *cut)
{
	char chunk[CHUNK_SIZE];
	ssize_t length = read(channel->ours, chunk, sizeof(chunk));
	size_t room = max - out->length, kept;

	if (length < 0)
		return errno == EINTR || errno == EAGAIN;
	kept = (size_t)length < room ? (size_t)length : room;
	buffer_add(out, chunk, kept);
	if (kept < (size_t)length)
		*cut = true;
	return length > 0;
}

static void feed(struct child *child)
{
	struct span input = child->request->input;
	ssize_t length = send(child->input.ours, input.data + child->written,
		input.length - child->written, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (length > 0)
		child->written += (size_t)length;
	else if (length < 0 && errno != EAGAIN && errno != EINTR)
		child->written = input.length; /* it reads no more */
	if (child->written == input.length) {
		memory_close_descriptor(&child->input.ours);
		child->input.ours = -1;
	}
}

static void terminate(struct child *child)
{
	int64_t grace = child->request->grace_ms;

	if (child->kill_at_ms > 0)
		return;
	kill(-child->pid, SIGTERM);
	child->kill_at_ms = now_ms() + (grace > 0 ? grace : CHILD_GRACE_MS);
}

static void kill_group(struct child *child)
{
	kill(-child->pid, SIGKILL);
	child->was_killed = true;
}

/* Milliseconds for poll() until the next deadline; -1: there is none. */
static int handle_deadlines(struct child *child, int64_t deadline_ms, struct child_result *result)
{
	int64_t now = now_ms(), next;

	if (child->was_killed)
		return -1;
	if (child->kill_at_ms == 0 && deadline_ms > 0 && now >= deadline_ms) {
		result->timed_out = true;
		terminate(child);
	}
	if (child->kill_at_ms > 0 && now >= child->kill_at_ms) {
		kill_group(child);
		return -1;
	}
	next = child->kill_at_ms > 0 ? child->kill_at_ms : deadline_ms;
	if (next == 0)
		return -1;
	return next - now > INT32_MAX ? INT32_MAX : (int)(next - now);
}

enum { POLL_HANDLE, POLL_OUTPUT, POLL_ERRORS, POLL_INPUT, POLL_CANCEL, POLL_COUNT };

static void run_until_end(struct child *child, struct child_result *result)
{
	const struct child_request *request = child->request;
	int64_t deadline = request->timeout_ms > 0 ? now_ms() + request->timeout_ms : 0;
	bool has_output = true, has_errors = true;

	for (;;) {
		/* poll() leaves out negative descriptors. */
		struct pollfd events[POLL_COUNT] = {
			[POLL_HANDLE] = {.fd = child->handle, .events = POLLIN},
			[POLL_OUTPUT] = {.fd = has_output ? child->output.ours : -1,
				.events = POLLIN},
			[POLL_ERRORS] = {.fd = has_errors ? child->errors.ours : -1,
				.events = POLLIN},
			[POLL_INPUT] = {.fd = child->input.ours, .events = POLLOUT},
			[POLL_CANCEL] = {.fd = request->cancel > 0 && !result->cancelled
						       ? request->cancel
						       : -1,
				.events = POLLIN},
		};

		if (poll(events, POLL_COUNT, handle_deadlines(child, deadline, result)) < 0)
			continue;
		if (events[POLL_OUTPUT].revents)
			has_output = drain(&child->output, request->output_max, &result->output,
				&result->output_cut);
		if (events[POLL_ERRORS].revents)
			has_errors = drain(&child->errors, request->output_max, &result->errors,
				&result->errors_cut);
		if (events[POLL_INPUT].revents)
			feed(child);
		if (events[POLL_CANCEL].revents) {
			result->cancelled = true;
			kill_group(child);
		}
		if (events[POLL_HANDLE].revents)
			return;
	}
}

/* The outputs may still hold what the child wrote; a process that left the group may keep them open, so this does not
 * wait for their end. */
static void drain_rest(struct child *child, struct child_result *result)
{
	fcntl(child->output.ours, F_SETFL, O_NONBLOCK);
	fcntl(child->errors.ours, F_SETFL, O_NONBLOCK);
	for (;;) {
		struct pollfd events[] = {{.fd = child->output.ours, .events = POLLIN},
			{.fd = child->errors.ours, .events = POLLIN}};

		if (poll(events, LENGTH(events), 0) <= 0 ||
			!((events[0].revents | events[1].revents) & POLLIN))
			return;
		if (events[0].revents & POLLIN)
			drain(&child->output, child->request->output_max, &result->output,
				&result->output_cut);
		if (events[1].revents & POLLIN)
			drain(&child->errors, child->request->output_max, &result->errors,
				&result->errors_cut);
	}
}

static void reap(struct child *child, struct child_result *result)
{
	int status = 0;

	/* Before the child is reaped its number belongs to nothing else. */
	kill(-child->pid, SIGKILL);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
	}
	result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int run(void *context, const struct child_request *request, struct child_result *ret_result,
	struct err *err)
{
	struct child child = {.request = request,
		.input = {-1, -1},
		.output = {-1, -1},
		.errors = {-1, -1},
		.failure = {-1, -1},
		.handle = -1};
	int code;

	(void)context;
	code = find_program(request->arguments[0], child.program, err);
	if (code >= 0)
		code = make_channels(&child, err);
	if (code >= 0)
		code = start(&child, err);
	if (code >= 0) {
		*ret_result = (struct child_result){0};
		run_until_end(&child, ret_result);
		reap(&child, ret_result);
		drain_rest(&child, ret_result);
	}
	child_clear(&child);
	return code;
}

const struct child_operations *child_system(void)
{
	static const struct child_operations operations = {.run = run};

	return &operations;
}
