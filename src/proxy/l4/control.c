#include "proxy/l4/control.h"

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "proxy/l4/shared.h"

static const struct {
	const char *name;
	bool descriptor;
	bool to_worker;
} kinds[] = {
#define ROW_(name, descriptor, to_worker) {#name, descriptor, to_worker},
	CONTROL_KINDS(ROW_)
#undef ROW_
};

int control_check(const void *data, size_t size, int has_descriptor, int to_worker,
	struct control_message *ret_message, struct err *err)
{
	struct control_message message;
	uint32_t slots;

	if (size != sizeof(message))
		return err_set(err, -EPROTO, "a control message of %zu bytes, not %zu", size,
			sizeof(message));
	memcpy(&message, data, sizeof(message));
	if (message.kind >= CONTROL_KIND_COUNT)
		return err_set(err, -EPROTO, "a control message of unknown kind %u", message.kind);
	if (kinds[message.kind].to_worker != !!to_worker)
		return err_set(err, -EPROTO, "control message %s goes the other way",
			kinds[message.kind].name);
	if (kinds[message.kind].descriptor != !!has_descriptor)
		return err_set(err, -EPROTO, "control message %s %s a descriptor",
			kinds[message.kind].name, has_descriptor ? "has" : "lacks");
	slots = message.kind == CONTROL_HELLO ? L4_WORKER_SLOTS : PROXY_LISTENERS_MAX;
	if (message.slot >= slots)
		return err_set(err, -EPROTO, "control message %s: slot %u of %u",
			kinds[message.kind].name, message.slot, slots);
	*ret_message = message;
	return 0;
}

int control_send(int socket, const struct control_message *message, int descriptor, struct err *err)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} space = {0};
	struct iovec part = {(void *)message, sizeof(*message)};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t sent;

	if (descriptor >= 0) {
		struct cmsghdr *extra;

		header.msg_control = space.bytes;
		header.msg_controllen = sizeof(space.bytes);
		extra = CMSG_FIRSTHDR(&header);
		extra->cmsg_level = SOL_SOCKET;
		extra->cmsg_type = SCM_RIGHTS;
		extra->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(extra), &descriptor, sizeof(int));
	}
	do
		sent = sendmsg(socket, &header, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return err_errno(err, "send %s", kinds[message->kind].name);
	return 0;
}

int control_receive(int socket, int to_worker, struct control_message *ret_message,
	int *ret_descriptor, struct err *err)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} space = {0};
	char data[sizeof(struct control_message) + 1];
	struct iovec part = {data, sizeof(data)};
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = space.bytes,
		.msg_controllen = sizeof(space.bytes),
	};
	_close_ int descriptor = -1;
	ssize_t size;
	int code;

	do
		size = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (size < 0 && errno == EINTR);
	if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return -EAGAIN;
	if (size <= 0)
		return err_set(err, -ECONNRESET, "the other side of the control socket is gone");
	for (struct cmsghdr *extra = CMSG_FIRSTHDR(&header); extra;
		extra = CMSG_NXTHDR(&header, extra)) {
		if (extra->cmsg_level == SOL_SOCKET && extra->cmsg_type == SCM_RIGHTS &&
			extra->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(&descriptor, CMSG_DATA(extra), sizeof(int));
	}
	code = control_check(data, (size_t)size, descriptor >= 0, to_worker, ret_message, err);
	if (code < 0)
		return code;
	*ret_descriptor = TAKE_FD(descriptor);
	return 0;
}
