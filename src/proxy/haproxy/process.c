/* The processes: started, queried, polled and ended. */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "proxy/haproxy/supervisor.h"

#define PROGRAM_NAME "haproxy"
#define SYSTEM_FOLDERS "/usr/sbin:/usr/local/sbin"
#define ANSWER_MAX (64 * 1024 * 1024)
#define MESSAGES_MAX 2048 /* output of a process that failed to start */
#define PROMPT "\n> "

/* ---- the program ---- */

static char *find_in(const char *folders)
{
	while (folders && *folders) {
		size_t length = strcspn(folders, ":");
		char *path = memory_format("%.*s/%s", (int)length, folders, PROGRAM_NAME);

		if (length > 0 && access(path, X_OK) == 0)
			return path;
		free(path);
		folders += length + (folders[length] == ':');
	}
	return NULL;
}

int process_find_program(struct haproxy *haproxy, struct err *err)
{
	if (haproxy->program && access(haproxy->program, X_OK) == 0)
		return 0;
	if (haproxy->program_is_configured)
		return err_set(err, -ENOTSUP,
			"http, https and tls-end need HAProxy, and '%s' "
			"cannot be run: install Debian's haproxy",
			haproxy->program);
	free(haproxy->program);
	haproxy->program = find_in(getenv("PATH"));
	if (!haproxy->program)
		haproxy->program = find_in(SYSTEM_FOLDERS);
	if (!haproxy->program)
		return err_set(err, -ENOTSUP,
			"http, https and tls-end need HAProxy, which is "
			"not there: install Debian's haproxy");
	return 0;
}

/* ---- starting ---- */

/* In a private folder, whatever the length of the folder's path. */
static int open_control(struct haproxy *haproxy, struct sockaddr_un *ret_address, struct err *err)
{
	_close_ int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (descriptor < 0)
		return err_errno(err, "make a control socket");
	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(ret_address->sun_path, sizeof(ret_address->sun_path),
		"/proc/self/fd/%d/control-%u", haproxy->folder, ++haproxy->socket_number);
	unlink(ret_address->sun_path);
	if (bind(descriptor, (struct sockaddr *)ret_address, sizeof(*ret_address)) < 0 ||
		listen(descriptor, 16) < 0)
		return err_errno(err, "make a control socket in '%s'", haproxy->folder_path);
	return TAKE_FD(descriptor);
}

static void keep_open(int descriptor)
{
	fcntl(descriptor, F_SETFD, 0);
}

/* Between fork and exec: nothing but system calls. */
static _Noreturn void become_haproxy(struct haproxy *haproxy, const int *descriptors, size_t count,
	int output, pid_t parent, char *const *command)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* A group of its own: signals from a terminal to the server do not end the traffic. */
	setpgid(0, 0);
	for (size_t i = 0; i < count; i++)
		keep_open(descriptors[i]);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	if (fchdir(haproxy->folder) < 0)
		_exit(120);
	if (haproxy->drop_privileges &&
		(syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setgid, haproxy->group) < 0 ||
			syscall(SYS_setuid, haproxy->user) < 0))
		_exit(121);
	/* When the supervisor is gone: stop accepting, complete open connections, exit. */
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	if (getppid() != parent)
		_exit(122);
	execv(command[0], command);
	_exit(127);
}

static int spawn(struct haproxy *haproxy, int control, int output, pid_t *ret_pid, struct err *err)
{
	_free_ int *descriptors =
		memory_allocate_array(haproxy->listeners.count + 1, sizeof(*descriptors));
	char *command[] = {haproxy->program, "-db", "-f", CONFIG_FILE, NULL};
	pid_t parent = getpid(), pid;
	size_t count = 0;

	descriptors[count++] = control;
	MAP_EACH (&haproxy->listeners, entry)
		descriptors[count++] = ((struct front *)entry->value)->descriptor;
	pid = fork();
	if (pid < 0)
		return err_errno(err, "start '%s'", haproxy->program);
	if (pid == 0)
		become_haproxy(haproxy, descriptors, count, output, parent, command);
	*ret_pid = pid;
	return 0;
}

/* Output of a process that failed to start: the first line with an error. */
static void read_reason(struct process *process, char out[MESSAGES_MAX])
{
	ssize_t size = read(process->output, out, MESSAGES_MAX - 1);
	char *alert;

	out[size > 0 ? size : 0] = 0;
	alert = strstr(out, "[ALERT]");
	if (alert)
		memmove(out, alert, strlen(alert) + 1);
	out[strcspn(out, "\n")] = 0;
}

static struct process *free_process(struct haproxy *haproxy)
{
	struct process *least = NULL;

	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		struct process *process = &haproxy->processes[i];

		if (process->state == PROCESS_NONE)
			return process;
		if (process->state == PROCESS_ENDS &&
			(!least || process->connections < least->connections))
			least = process;
	}
	/* More of them would cost more than the connections that it still has. */
	count_sample(haproxy, least);
	process_bury(haproxy, least);
	return least;
}

int process_start(struct haproxy *haproxy, struct process **ret_process, struct err *err)
{
	struct process *process = free_process(haproxy);
	char reason[MESSAGES_MAX];
	struct sockaddr_un address;
	_close_ int control = open_control(haproxy, &address, err);
	_close_ int output = -1;
	int pipe_ends[2];
	int code;

	if (control < 0)
		return control;
	code = config_write(haproxy, control, err);
	if (code < 0)
		return code;
	/* A process must not block on its output. */
	if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_errno(err, "make a pipe");
	*process = (struct process){
		.state = PROCESS_ENDS,
		.starting = true,
		.output = pipe_ends[0],
		.control = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
		.backend_count = haproxy->backend_count,
		.started_us = runner_now_us(haproxy->runner),
	};
	process->fronts = memory_allocate_array(haproxy->listeners.count + 1, sizeof(uint32_t));
	MAP_EACH (&haproxy->listeners, entry)
		process->fronts[process->front_count++] = ((struct front *)entry->value)->number;
	output = pipe_ends[1];
	code = spawn(haproxy, control, output, &process->pid, err);
	close(TAKE_FD(output));
	if (code == 0 &&
		connect(process->control, (struct sockaddr *)&address, sizeof(address)) < 0)
		code = err_errno(err, "reach HAProxy's control socket");
	unlink(address.sun_path);
	if (process->pid == 0) {
		close(process->output);
		close(process->control);
		free(TAKE(process->fronts));
		process->state = PROCESS_NONE;
		return code;
	}
	if (code == 0 && process_ask(haproxy, process, "prompt", 6, NULL) < 0) {
		read_reason(process, reason);
		code = err_set(err, -EIO, "HAProxy does not start: %.512s",
			*reason ? reason : "it said nothing");
	}
	config_remove(haproxy, true);
	if (code < 0) {
		process_bury(haproxy, process);
		return code;
	}
	process->state = PROCESS_ACCEPTS;
	process->starting = false;
	haproxy->process_starts++;
	*ret_process = process;
	return 0;
}

/* ---- queries ---- */

static bool has_ended(const struct process *process)
{
	ssize_t got;

	/* Its output does not matter once it runs. */
	do {
		char messages[4096];

		got = read(process->output, messages, sizeof(messages));
	} while (got > 0);
	return got == 0 || (errno != EAGAIN && errno != EINTR);
}

static int wait_for(struct haproxy *haproxy, struct process *process, short events,
	int64_t deadline_us)
{
	for (;;) {
		struct pollfd polled[] = {
			{.fd = process->control, .events = events},
			{.fd = process->output, .events = process->starting ? 0 : POLLIN},
		};
		int64_t left_ms = (deadline_us - runner_now_us(haproxy->runner)) / 1000;

		if (left_ms <= 0)
			return -EPIPE; /* a process that does not answer is treated as gone */
		if (poll(polled, 2, left_ms > 1000 ? 1000 : (int)left_ms) < 0 && errno != EINTR)
			return -EPIPE;
		if (polled[0].revents)
			return 0;
		if (process->starting ? polled[1].revents & POLLHUP
				      : polled[1].revents && has_ended(process))
			return -EPIPE;
	}
}

static int send_text(struct haproxy *haproxy, struct process *process, const char *text,
	size_t length, int64_t deadline_us)
{
	while (length > 0) {
		ssize_t sent = send(process->control, text, length, MSG_NOSIGNAL);
		int code;

		if (sent > 0) {
			text += sent;
			length -= (size_t)sent;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -EPIPE;
		code = wait_for(haproxy, process, POLLOUT, deadline_us);
		if (code < 0)
			return code;
	}
	return 0;
}

static bool is_complete(const struct buffer *answer)
{
	return answer->length >= strlen(PROMPT) &&
	       strcmp(answer->data + answer->length - strlen(PROMPT), PROMPT) == 0;
}

static int receive_answer(struct haproxy *haproxy, struct process *process, struct buffer *answer,
	int64_t deadline_us)
{
	while (!is_complete(answer)) {
		char *room = buffer_reserve(answer, 65536);
		ssize_t got;
		int code;

		if (!room)
			return -EPIPE;
		got = recv(process->control, room, 65536, 0);
		if (got > 0) {
			answer->length += (size_t)got;
			answer->data[answer->length] = 0;
			continue;
		}
		if (got == 0 || (errno != EAGAIN && errno != EINTR))
			return -EPIPE;
		code = wait_for(haproxy, process, POLLIN, deadline_us);
		if (code < 0)
			return code;
	}
	answer->length -= strlen(PROMPT);
	answer->data[answer->length] = 0;
	return 0;
}

int process_ask(struct haproxy *haproxy, struct process *process, const char *text, size_t length,
	struct buffer *ret_answer)
{
	_buffer_ struct buffer answer = BUFFER_WITH_CAP(ANSWER_MAX);
	int64_t deadline_us = runner_deadline_us(haproxy->runner,
		(int64_t)(process->starting ? START_TIMEOUT_MS : COMMAND_TIMEOUT_MS) * 1000);
	int code = send_text(haproxy, process, text, length, deadline_us);

	if (code == 0)
		code = send_text(haproxy, process, "\n", 1, deadline_us);
	if (code == 0)
		code = receive_answer(haproxy, process, &answer, deadline_us);
	if (code < 0 || !ret_answer)
		return code;
	buffer_clear(ret_answer);
	*ret_answer = answer;
	answer = (struct buffer){0};
	return 0;
}

/* ---- ending ---- */

static long info_number(const struct buffer *info, const char *name)
{
	const char *at = strstr(info->data, name);

	return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

/* Not by a signal: a stopping process ignores changes of its servers, but it must still answer its
 * open requests correctly. */
void process_end_softly(struct haproxy *haproxy, struct process *process)
{
	if (haproxy->current == process) {
		haproxy->current = NULL;
		atomic_store(&haproxy->accepting, 0);
	}
	process->state = PROCESS_ENDS;
	process->ending_us = process->checked_us = runner_now_us(haproxy->runner);
	process->connections = LONG_MAX; /* unknown yet */
	for (size_t i = 0; i < process->front_count; i++) {
		char command[KEY_SIZE + 32];

		/* It may be closed already. */
		snprintf(command, sizeof(command), "shutdown frontend l%u", process->fronts[i]);
		if (process_ask(haproxy, process, command, strlen(command), NULL) < 0) {
			process_bury(haproxy, process);
			return;
		}
	}
}

static void forget(struct haproxy *haproxy, struct process *process)
{
	if (haproxy->current == process) {
		haproxy->current = NULL;
		atomic_store(&haproxy->accepting, 0);
	}
	close(process->output);
	close(process->control);
	MAP_EACH (&process->seen, entry)
		free(entry->value);
	map_clear(&process->seen);
	free(TAKE(process->fronts));
	process->state = PROCESS_NONE;
}

void process_bury(struct haproxy *haproxy, struct process *process)
{
	kill(process->pid, SIGKILL);
	while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
		;
	forget(haproxy, process);
}

void process_leave(struct haproxy *haproxy, struct process *process)
{
	if (process->state == PROCESS_ACCEPTS)
		process_end_softly(haproxy, process);
	if (process->state == PROCESS_NONE)
		return;
	kill(process->pid, SIGUSR1);
	forget(haproxy, process);
}

/* The longer it takes, the less its exact end matters. */
int64_t process_poll_us(const struct process *process)
{
	int64_t wait_us = (process->checked_us - process->ending_us) / 10;

	if (wait_us < ENDING_POLL_MS * 1000)
		wait_us = ENDING_POLL_MS * 1000;
	if (wait_us > ENDING_POLL_MAX_MS * 1000)
		wait_us = ENDING_POLL_MAX_MS * 1000;
	return process->checked_us + wait_us;
}

void process_tick(struct haproxy *haproxy, struct process *process)
{
	_buffer_ struct buffer info = {0};
	int64_t now = runner_now_us(haproxy->runner);

	if (has_ended(process)) {
		process_bury(haproxy, process);
		return;
	}
	if (process->state != PROCESS_ENDS || now < process_poll_us(process))
		return;
	process->checked_us = now;
	process->connections = process_ask(haproxy, process, "show info", 9, &info) == 0
				       ? info_number(&info, "\nCurrConns: ")
				       : 0;
	if (process->connections > 0 &&
		now - process->ending_us < (int64_t)haproxy->end_after_ms * 1000)
		return;
	count_sample(haproxy, process);
	process_bury(haproxy, process);
}
