/* Talking to a supervisor over the socket of its task's folder. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/process/process_internal.h"
#include "runtime/process/protocol.h"

int process_connect(const char *folder, int *ret_descriptor, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = PROCESS_ANSWER_SECONDS};
	_close_ int path = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_close_ int descriptor = -1;

	if (path < 0)
		return err_errno(err, "open folder '%s'", folder);
	descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (descriptor < 0)
		return err_errno(err, "make a socket");
	/* A socket's path has 107 bytes at most, a folder's many more. */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", path,
		RECORD_CONTROL_FILE);
	setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(descriptor, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_errno(err, "connect to the supervisor in '%s'", folder);
	*ret_descriptor = TAKE_FD(descriptor);
	return 0;
}

int process_send(int descriptor, struct span line, const int *descriptors, size_t count,
	struct err *err)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(PROTOCOL_DESCRIPTORS_MAX * sizeof(int))];
	} control = {0};
	bool first = true;

	while (line.length > 0) {
		struct iovec vector = {.iov_base = (char *)line.data, .iov_len = line.length};
		struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
		ssize_t sent;

		if (first && count > 0) {
			message.msg_control = control.space;
			message.msg_controllen = CMSG_SPACE(count * sizeof(int));
			control.header.cmsg_level = SOL_SOCKET;
			control.header.cmsg_type = SCM_RIGHTS;
			control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
			memcpy(CMSG_DATA(&control.header), descriptors, count * sizeof(int));
		}
		sent = sendmsg(descriptor, &message, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return err_errno(err, "send to the supervisor");
		first = false;
		line.data += sent;
		line.length -= (size_t)sent;
	}
	return 0;
}

int process_receive(int descriptor, struct arena *arena, struct json **ret_answer, struct err *err)
{
	_buffer_ struct buffer line = BUFFER_WITH_CAP(PROTOCOL_ANSWER_MAX);
	struct json *answer;
	struct span problem;
	int code;

	for (;;) {
		/* Byte by byte up to the newline: what follows belongs to the next call. */
		char c;
		ssize_t got = recv(descriptor, &c, 1, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(err, "wait for the supervisor's answer");
		if (got == 0)
			return err_set(err, -EPIPE, "the supervisor ended before it answered");
		if (c == '\n')
			break;
		buffer_add_char(&line, c);
		if (buffer_failed(&line))
			return err_set(err, -EPROTO, "the supervisor's answer has no end");
	}
	code = json_parse(arena_copy_span(arena, buffer_span(&line)), arena, &answer, err);
	if (code < 0)
		return code;
	problem = json_get_text(answer, "error");
	if (problem.data)
		return err_set(err, -EREMOTEIO, "%.*s", SPAN_ARGS(problem));
	*ret_answer = answer;
	return 0;
}
