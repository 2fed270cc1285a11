/* Raw connections; see the header. */
#include "runtime/docker/raw.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"

#define PATIENCE_SECONDS 60

/* A connection, or a negative code. */
static int connect_to(const char *socket_path, bool blocks)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
	_close_ int descriptor =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (blocks ? 0 : SOCK_NONBLOCK), 0);

	if (descriptor < 0)
		return -errno;
	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path) >=
		sizeof(address.sun_path))
		return -ENAMETOOLONG;
	setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(descriptor, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return TAKE_FD(descriptor);
}

int docker_raw_try(const char *socket_path)
{
	_close_ int descriptor = connect_to(socket_path, true);

	return descriptor < 0 ? descriptor : 0;
}

int docker_raw_open(const char *socket_path, struct span request, bool blocks, int *ret_descriptor,
	struct err *err)
{
	_close_ int descriptor = connect_to(socket_path, blocks);

	if (descriptor < 0) {
		err_system(err, -descriptor, "Docker at '%s'", socket_path);
		return -EAGAIN;
	}
	while (request.length > 0) {
		ssize_t sent = send(descriptor, request.data, request.length, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0) {
			err_errno(err, "Docker at '%s'", socket_path);
			return -EAGAIN;
		}
		request.data += sent;
		request.length -= (size_t)sent;
	}
	*ret_descriptor = TAKE_FD(descriptor);
	return 0;
}

bool docker_raw_head(struct span text, int *ret_status, size_t *ret_length)
{
	const char *end =
		text.length ? memmem(text.data, text.length, "\r\n\r\n", strlen("\r\n\r\n")) : NULL;
	struct span version, rest;
	uint64_t status;

	if (!end)
		return false;
	*ret_length = (size_t)(end - text.data) + strlen("\r\n\r\n");
	*ret_status = 0;
	if (span_starts_with(text, SPAN("HTTP/1.")) && span_split(text, ' ', &version, &rest) &&
		rest.length > 3 && span_to_unsigned((struct span){rest.data, 3}, 999, &status))
		*ret_status = (int)status;
	return true;
}

int docker_raw_receive_head(int descriptor, int *ret_status, struct err *err)
{
	_buffer_ struct buffer head = BUFFER_WITH_CAP(DOCKER_RAW_HEAD_MAX);
	size_t length;

	while (!docker_raw_head(buffer_span(&head), ret_status, &length)) {
		char c;
		ssize_t got = recv(descriptor, &c, 1, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(err, "wait for the daemon's answer");
		if (got == 0)
			return err_set(err, -EPIPE, "the daemon hung up before it answered");
		buffer_add_char(&head, c);
		if (buffer_failed(&head))
			return err_set(err, -EPROTO, "the daemon's answer has no end of its head");
	}
	return 0;
}
