/* A program beside those of a container: this file creates its streams and passes them to the
 * supervisor. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/process/process_internal.h"
#include "runtime/process/protocol.h"

struct process_guest {
	struct runtime_exec exec;
	int connection;
	int terminal; /* for sizes; -1: none */
};

static int wait_for_guest(struct runtime_exec *exec, int *ret_exit_code, struct err *err)
{
	struct process_guest *guest = CONTAINER_OF(exec, struct process_guest, exec);
	_arena_ struct arena *arena = arena_new(0);
	struct timeval forever = {0};
	struct json *answer;
	int64_t exit_code = 0;
	int code;

	/* A terminal hangs up when its last holder closes it; that must be the caller, not this
	 * process. */
	memory_close_descriptor(&guest->terminal);
	setsockopt(guest->connection, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
	code = process_receive(guest->connection, arena, &answer, err);
	if (code == 0 && !json_integer(json_get(answer, "exitCode"), &exit_code))
		code = err_set(err, -EPROTO, "the supervisor's answer has no exit code");
	close(guest->connection);
	free(guest);
	if (code == 0)
		*ret_exit_code = (int)exit_code;
	return code;
}

static void resize_guest(struct runtime_exec *exec, unsigned rows, unsigned columns)
{
	struct process_guest *guest = CONTAINER_OF(exec, struct process_guest, exec);
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};

	if (guest->terminal >= 0)
		ioctl(guest->terminal, TIOCSWINSZ, &size);
}

/* The supervisor kills it when this connection closes. */
static void kill_guest(struct runtime_exec *exec)
{
	struct process_guest *guest = CONTAINER_OF(exec, struct process_guest, exec);

	shutdown(guest->connection, SHUT_RDWR);
}

struct streams {
	int ours[3], theirs[3];
	size_t count; /* of theirs */
};

static void close_streams(struct streams *streams)
{
	for (int i = 0; i < 3; i++) {
		memory_close_descriptor(&streams->ours[i]);
		memory_close_descriptor(&streams->theirs[i]);
	}
}

static int make_pipes(struct streams *streams, struct err *err)
{
	for (int i = 0; i < 3; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			return err_errno(err, "make a pipe");
		streams->ours[i] = ends[i == 0 ? 1 : 0];
		streams->theirs[i] = ends[i == 0 ? 0 : 1];
	}
	streams->count = 3;
	return 0;
}

static int make_terminal(struct streams *streams, struct err *err)
{
	char name[64];

	streams->ours[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (streams->ours[0] < 0 || grantpt(streams->ours[0]) < 0 ||
		unlockpt(streams->ours[0]) < 0 ||
		ptsname_r(streams->ours[0], name, sizeof(name)) != 0)
		return err_errno(err, "make a terminal");
	streams->theirs[0] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (streams->theirs[0] < 0)
		return err_errno(err, "open terminal '%s'", name);
	streams->count = 1;
	return 0;
}

static int ask(int connection, struct span container, const struct json *command, bool terminal,
	const struct streams *streams, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer line = BUFFER_WITH_CAP(PROTOCOL_REQUEST_MAX);
	struct json *answer;
	int code;

	buffer_format(&line, "{\"version\":%d,\"do\":\"exec\",\"container\":", PROTOCOL_VERSION);
	json_write_string(container, &line);
	buffer_format(&line, ",\"terminal\":%s,\"command\":", terminal ? "true" : "false");
	json_write(command, &line);
	buffer_add_string(&line, "}\n");
	if (buffer_failed(&line))
		return err_set(err, -E2BIG, "the command is longer than %zu bytes",
			PROTOCOL_REQUEST_MAX);
	code = process_send(connection, buffer_span(&line), streams->theirs, streams->count, err);
	if (code == 0)
		code = process_receive(connection, arena, &answer, err);
	return code;
}

int process_exec(const char *folder, struct span container, const struct json *command,
	bool terminal, struct runtime_exec **ret_exec, struct err *err)
{
	CLEANUP(close_streams)
	struct streams streams = {.ours = {-1, -1, -1}, .theirs = {-1, -1, -1}};
	_close_ int connection = -1;
	struct process_guest *guest;
	int code = process_connect(folder, &connection, err);

	if (code == 0)
		code = terminal ? make_terminal(&streams, err) : make_pipes(&streams, err);
	if (code == 0)
		code = ask(connection, container, command, terminal, &streams, err);
	if (code < 0)
		return code;
	guest = memory_allocate(sizeof(*guest));
	guest->terminal = terminal ? fcntl(streams.ours[0], F_DUPFD_CLOEXEC, 0) : -1;
	guest->connection = TAKE_FD(connection);
	guest->exec.input = TAKE_FD(streams.ours[0]);
	guest->exec.output = terminal ? guest->exec.input : TAKE_FD(streams.ours[1]);
	guest->exec.error = terminal ? -1 : TAKE_FD(streams.ours[2]);
	guest->exec.wait = wait_for_guest;
	guest->exec.resize = resize_guest;
	guest->exec.kill = kill_guest;
	*ret_exec = &guest->exec;
	return 0;
}
