/* Trying to bind; see the header. */
#include "elb/listener_bind.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "proxy/proxy.h"

#define NAME_MAX_BYTES 64 /* of a process */
#define STATUS_MAX 4096   /* of /proc/PID/stat */
#define ANCESTORS_MAX 8
#define TRIES 3

static void close_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

/* ---- the process that holds a port ---- */

static int socket_type(int descriptor)
{
	int type = -1;
	socklen_t size = sizeof(type);

	return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ? -1 : type;
}

/* Whether this process itself has a socket there. */
static bool is_own(const union proxy_address *address, int type)
{
	CLEANUP(close_folder) DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		union proxy_address bound = {0};
		socklen_t size = sizeof(bound);
		uint64_t descriptor;

		if (span_to_unsigned(span_of(entry->d_name), INT32_MAX, &descriptor) &&
			getsockname((int)descriptor, &bound.any, &size) == 0 &&
			bound.any.sa_family == address->any.sa_family &&
			proxy_address_equal(&bound, address) &&
			socket_type((int)descriptor) == type)
			return true;
	}
	return false;
}

/* Sends the question which sockets listen (UDP: are bound) on the port. The table in /proc would have every
 * connection of the machine before the answer. */
static int ask_kernel(int descriptor, const union proxy_address *address, int type)
{
	bool tcp = type == SOCK_STREAM;
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 question;
	} request = {
		.header = {.nlmsg_len = sizeof(request),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.question = {.sdiag_family = (uint8_t)address->any.sa_family,
			.sdiag_protocol = tcp ? IPPROTO_TCP : IPPROTO_UDP,
			.idiag_states = 1U << (tcp ? TCP_LISTEN : TCP_CLOSE),
			.id.idiag_sport = htons((uint16_t)proxy_address_port(address))},
	};

	return send(descriptor, &request, sizeof(request), 0) == sizeof(request) ? 0 : -errno;
}

/* Whether a socket of the kernel's answer is bound there, or to every address. */
static bool is_there(const struct inet_diag_msg *socket, const union proxy_address *address)
{
	static const uint8_t anywhere[16];
	bool v4 = address->any.sa_family == AF_INET;
	const void *bytes = v4 ? (const void *)&address->v4.sin_addr : &address->v6.sin6_addr;
	size_t size = v4 ? 4 : 16;

	return ntohs(socket->id.idiag_sport) == proxy_address_port(address) &&
	       (memcmp(socket->id.idiag_src, bytes, size) == 0 ||
		       memcmp(socket->id.idiag_src, anywhere, size) == 0);
}

/* *ret_inode: of the socket that is bound there; 0: none (any more). Negative when the
 * kernel does not report it. */
static int find_inode(const union proxy_address *address, int type, unsigned long *ret_inode)
{
	_close_ int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	union {
		struct nlmsghdr header;
		char bytes[32768];
	} answer;

	*ret_inode = 0;
	if (descriptor < 0 || ask_kernel(descriptor, address, type) < 0)
		return -ENOTSUP;
	for (;;) {
		/* The kernel makes the answer while it is read: this does not wait. */
		ssize_t length = recv(descriptor, &answer, sizeof(answer), 0);
		const struct nlmsghdr *message = &answer.header;

		if (length <= 0)
			return -ENOTSUP;
		for (; NLMSG_OK(message, (size_t)length); message = NLMSG_NEXT(message, length)) {
			const struct inet_diag_msg *found = NLMSG_DATA(message);

			if (message->nlmsg_type == NLMSG_DONE)
				return 0;
			if (message->nlmsg_type == NLMSG_ERROR)
				return -ENOTSUP;
			if (*ret_inode == 0 && is_there(found, address))
				*ret_inode = found->idiag_inode;
		}
	}
}

static bool process_has(uint64_t process, unsigned long inode)
{
	char path[64], wanted[48], link[48];
	CLEANUP(close_folder) DIR *folder = NULL;
	const struct dirent *entry;

	snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
	snprintf(path, sizeof(path), "/proc/%llu/fd", (unsigned long long)process);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, link, sizeof(link) - 1);

		if (length > 0 && span_is((struct span){link, (size_t)length}, wanted))
			return true;
	}
	return false;
}

struct holder {
	uint64_t process; /* 0: not known; an ordinary user sees its own processes only */
	char name[NAME_MAX_BYTES];
};

static int find_holder(const union proxy_address *address, int type, struct holder *ret_holder)
{
	CLEANUP(close_folder) DIR *folder = NULL;
	const struct dirent *entry;
	unsigned long inode;
	int code = find_inode(address, type, &inode);

	if (code < 0)
		return code;
	*ret_holder = (struct holder){0};
	folder = inode ? opendir("/proc") : NULL;
	while (folder && (entry = readdir(folder))) {
		_buffer_ struct buffer name = {0};
		char path[64];
		uint64_t process;

		if (!span_to_unsigned(span_of(entry->d_name), INT32_MAX, &process) ||
			!process_has(process, inode))
			continue;
		ret_holder->process = process;
		snprintf(path, sizeof(path), "/proc/%llu/comm", (unsigned long long)process);
		if (file_read(path, NAME_MAX_BYTES, &name, NULL) == 0 && name.length > 0)
			snprintf(ret_holder->name, sizeof(ret_holder->name), "%.*s",
				(int)name.length - 1, name.data); /* without the line's end */
		break;
	}
	return 0;
}

/* The parent, by "PID (NAME) STATE PARENT …"; a name may have anything in it, also brackets. 0: gone. */
static uint64_t parent_of(uint64_t process)
{
	_buffer_ struct buffer text = {0};
	char path[64];
	const char *end;
	unsigned long parent;

	snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)process);
	if (file_read(path, STATUS_MAX, &text, NULL) < 0 || text.length == 0)
		return 0;
	end = strrchr(text.data, ')');
	return end && sscanf(end, ") %*c %lu", &parent) == 1 ? parent : 0;
}

/* Whether this process started it, as it starts the workers of the data plane. */
static bool is_descendant(uint64_t process)
{
	for (int i = 0; i < ANCESTORS_MAX && process > 1; i++) {
		process = parent_of(process);
		if (process == (uint64_t)getpid())
			return true;
	}
	return false;
}

/* ---- trying ---- */

static int fail(const union proxy_address *address, int type, int number,
	const struct holder *holder, struct err *err)
{
	const char *protocol = type == SOCK_STREAM ? "TCP" : "UDP";
	char text[PROXY_ADDRESS_TEXT_SIZE], whose[NAME_MAX_BYTES + 64] = "";

	proxy_address_format(address, text);
	switch (number) {
	case EACCES:
		return err_set(err, -EACCES,
			"%s %s cannot be bound: ports below the one in "
			"net.ipv4.ip_unprivileged_port_start are for root. Use another port, give "
			"slipway the capability CAP_NET_BIND_SERVICE, or lower the number with "
			"sysctl -w net.ipv4.ip_unprivileged_port_start=%u",
			protocol, text, proxy_address_port(address));
	case EADDRINUSE:
		if (holder->process > 0)
			snprintf(whose, sizeof(whose), " by process %llu (%s)",
				(unsigned long long)holder->process, holder->name);
		return err_set(err, -EADDRINUSE,
			"%s %s is in use already%s. Use another port, or stop the program that "
			"uses it",
			protocol, text, whose);
	case EADDRNOTAVAIL:
		return err_set(err, -EADDRNOTAVAIL,
			"%s %s cannot be bound: this machine does not have the address", protocol,
			text);
	default: return err_system(err, number, "%s %s cannot be bound", protocol, text);
	}
}

/* 0, or the number of the error. */
static int bind_once(const union proxy_address *address, int type)
{
	_close_ int descriptor = socket(address->any.sa_family, type | SOCK_CLOEXEC, 0);
	int one = 1;

	/* Without a socket there is no result: the data plane reports the error. */
	if (descriptor < 0)
		return 0;
	/* As the data plane's programs bind: closing connections do not block the port. */
	if (type == SOCK_STREAM)
		setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return bind(descriptor, &address->any, proxy_address_length(address)) == 0 ? 0 : errno;
}

/* A socket that is closed during the search has no holder: the search is repeated once. */
static int try_bind(const union proxy_address *address, int type, struct err *err)
{
	struct holder holder = {0};
	int number = 0;

	for (int i = 0; i < TRIES && holder.process == 0; i++) {
		number = bind_once(address, type);
		if (number == 0 || (number == EADDRINUSE && is_own(address, type)))
			return 0;
		if (number != EADDRINUSE)
			break;
		/* When the holder cannot be determined, it may be our own process. */
		if (find_holder(address, type, &holder) < 0 ||
			(holder.process > 0 && is_descendant(holder.process)))
			return 0;
	}
	return fail(address, type, number, &holder, err);
}

int elb_bind_check(struct span address, int64_t port, enum elb_protocol protocol, struct err *err)
{
	union proxy_address parsed;
	char host[INET6_ADDRSTRLEN];
	int code;

	snprintf(host, sizeof(host), "%.*s", SPAN_ARGS(address));
	code = proxy_address_parse(host, (unsigned)port, &parsed, err);
	if (code == 0 && protocol != ELB_UDP)
		code = try_bind(&parsed, SOCK_STREAM, err);
	if (code == 0 && (protocol == ELB_UDP || protocol == ELB_TCP_UDP))
		code = try_bind(&parsed, SOCK_DGRAM, err);
	return code;
}
