/* One notification at a time: a bind or a connect on loopback takes microseconds. */
#include "runtime/process/supervisor/redirect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/memory.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define NATIVE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && __BYTE_ORDER == __LITTLE_ENDIAN
#define NATIVE AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define NATIVE AUDIT_ARCH_S390X
#endif

#define DNS_PORT 53
#define CONNECT_US 200000     /* a socket of the same machine either has room or will not soon */
#define NOTIFICATION_ROOM 512 /* a kernel may have longer ones than we know */

/* In the program. */

int redirect_install(int *ret_listener)
{
#ifdef NATIVE
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bind, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};
	struct sock_fprog filter = {.len = LENGTH(steps), .filter = steps};
	long listener;

	listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		&filter);
	if (listener < 0 && errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
	if (listener < 0)
		return -errno;
	*ret_listener = (int)listener;
	return 0;
#else
	(void)ret_listener;
	return -EOPNOTSUPP;
#endif
}

/* In the supervisor. */

/* Both are forbidden in some containers. */
static int try_on_itself(void)
{
	char from = 'a', to;
	struct iovec here = {.iov_base = &to, .iov_len = 1};
	struct iovec there = {.iov_base = &from, .iov_len = 1};
	_close_ int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	_close_ int same = -1;

	if (process < 0 || process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1)
		return -errno;
	same = (int)syscall(SYS_pidfd_getfd, process, process, 0);
	return same < 0 ? -errno : 0;
}

int redirect_init(struct redirect *redirect, const struct plan *plan, struct span address)
{
	char text[PLAN_ADDRESS_MAX];

	redirect->plan = plan;
	snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(address));
	if (inet_pton(AF_INET, text, &redirect->address) != 1)
		return -EINVAL;
	return try_on_itself();
}

void redirect_set_resolver(struct redirect *redirect, const struct sockaddr_in *address)
{
	redirect->resolver = *address;
}

void redirect_add(struct redirect *redirect, int listener)
{
	/* Programs of a listener without a supervisor get ENOSYS for the call, and continue. */
	if (redirect->listener_count == REDIRECT_LISTENERS_MAX)
		close(listener);
	else
		redirect->listeners[redirect->listener_count++] = listener;
}

size_t redirect_descriptors(const struct redirect *redirect, struct pollfd *polls, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < redirect->listener_count && count < max; i++)
		polls[count++] = (struct pollfd){.fd = redirect->listeners[i], .events = POLLIN};
	return count;
}

/* An address as a program passed it: IPv4 of any family, or not for redirection. */
struct request {
	int family;
	struct in_addr address;
	bool is_any, is_loopback;
	uint16_t port;
	bool udp;
	int socket; /* a duplicate */
};

static bool read_address(pid_t pid, const struct seccomp_data *data, struct request *request)
{
	union {
		sa_family_t family;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} address = {0};
	size_t length = data->args[2] < sizeof(address) ? (size_t)data->args[2] : sizeof(address);
	struct iovec here = {.iov_base = &address, .iov_len = length};
	struct iovec there = {.iov_base = (void *)(uintptr_t)data->args[1], .iov_len = length};

	if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)length)
		return false;
	request->family = address.family;
	if (address.family == AF_INET && length >= sizeof(address.four)) {
		request->address = address.four.sin_addr;
		request->port = ntohs(address.four.sin_port);
		request->is_any = request->address.s_addr == htonl(INADDR_ANY);
		request->is_loopback = request->address.s_addr == htonl(INADDR_LOOPBACK);
		return true;
	}
	if (address.family == AF_INET6 && length >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
		const struct in6_addr *six = &address.six.sin6_addr;

		request->port = ntohs(address.six.sin6_port);
		if (IN6_IS_ADDR_V4MAPPED(six)) {
			memcpy(&request->address, &six->s6_addr[12], sizeof(request->address));
			request->is_any = request->address.s_addr == htonl(INADDR_ANY);
			request->is_loopback = request->address.s_addr == htonl(INADDR_LOOPBACK);
		} else {
			request->is_any = IN6_IS_ADDR_UNSPECIFIED(six);
			request->is_loopback = IN6_IS_ADDR_LOOPBACK(six);
		}
		return true;
	}
	return false;
}

/* The process of a thread: only that can be held. */
static pid_t process_of(pid_t thread)
{
	char path[64], text[1024];
	const char *line;
	ssize_t got;
	_close_ int status = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)thread);
	status = open(path, O_RDONLY | O_CLOEXEC);
	got = status < 0 ? -1 : read(status, text, sizeof(text) - 1);
	if (got <= 0)
		return thread;
	text[got] = '\0';
	line = strstr(text, "\nTgid:");
	return line ? atoi(line + strlen("\nTgid:")) : thread;
}

static int duplicate(pid_t thread, int descriptor)
{
	_close_ int process = (int)syscall(SYS_pidfd_open, process_of(thread), 0);

	return process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, descriptor, 0);
}

static bool is_dual(int socket)
{
	int only = 1;
	socklen_t length = sizeof(only);

	return getsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &only, &length) == 0 && !only;
}

static bool is_udp(int socket)
{
	int type = SOCK_STREAM;
	socklen_t length = sizeof(type);

	getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &length);
	return type == SOCK_DGRAM;
}

/* In the family of the socket, whose IPv6 takes IPv4 as well. */
static socklen_t translate(const struct request *request, const struct sockaddr_in *target,
	struct sockaddr_storage *ret_address)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = target->sin_port};

	memset(ret_address, 0, sizeof(*ret_address));
	if (request->family == AF_INET) {
		memcpy(ret_address, target, sizeof(*target));
		return sizeof(*target);
	}
	if (target->sin_addr.s_addr != htonl(INADDR_ANY)) {
		six.sin6_addr.s6_addr[10] = six.sin6_addr.s6_addr[11] = 0xff;
		memcpy(&six.sin6_addr.s6_addr[12], &target->sin_addr, sizeof(target->sin_addr));
	}
	memcpy(ret_address, &six, sizeof(six));
	return sizeof(six);
}

/* The target of a bind to every address; false: no redirection. */
static bool choose(const struct redirect *redirect, const struct request *request,
	struct sockaddr_in *ret_target)
{
	const struct plan *plan = redirect->plan;
	struct sockaddr_in target = {
		.sin_family = AF_INET,
		.sin_addr = redirect->address,
		.sin_port = htons(request->port),
	};

	for (size_t i = 0; plan->network == PLAN_NETWORK_BRIDGE && i < plan->container_count; i++)
		for (size_t j = 0; j < plan->containers[i].port_count; j++) {
			const struct plan_port *port = &plan->containers[i].ports[j];

			if (port->udp != request->udp)
				continue;
			if (port->host_port == request->port)
				return false;
			if (port->container_port != request->port)
				continue;
			target.sin_addr.s_addr = htonl(INADDR_ANY);
			target.sin_port = htons(port->host_port);
		}
	*ret_target = target;
	return true;
}

static void remember(struct redirect *redirect, const struct request *request,
	const struct sockaddr_in *target)
{
	struct redirected_port port = {
		.udp = request->udp, .port = request->port, .target = *target};
	size_t i = 0;

	if (port.target.sin_addr.s_addr == htonl(INADDR_ANY))
		port.target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	while (i < redirect->port_count &&
		(redirect->ports[i].port != port.port || redirect->ports[i].udp != port.udp))
		i++;
	if (i == REDIRECT_PORTS_MAX)
		return;
	redirect->ports[i] = port;
	if (i == redirect->port_count)
		redirect->port_count++;
}

/* The result for the program, or 1: the kernel continues its call. */
enum { GO_ON = 1 };

static int do_bind(struct redirect *redirect, const struct request *request)
{
	struct sockaddr_storage address;
	struct sockaddr_in target;
	socklen_t length;

	if (request->family == AF_INET6 && !is_dual(request->socket))
		return GO_ON;
	if (!choose(redirect, request, &target))
		return GO_ON;
	length = translate(request, &target, &address);
	if (bind(request->socket, (struct sockaddr *)&address, length) < 0)
		return -errno;
	remember(redirect, request, &target);
	return 0;
}

static int connect_soon(int socket, const struct sockaddr *address, socklen_t length)
{
	struct timeval soon = {.tv_usec = CONNECT_US}, before = {0};
	socklen_t size = sizeof(before);
	bool waits = !(fcntl(socket, F_GETFL) & O_NONBLOCK);
	int code;

	if (waits && (getsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &before, &size) < 0 ||
			     setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon)) < 0))
		return -errno;
	code = connect(socket, address, length) < 0 ? -errno : 0;
	if (waits)
		setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &before, sizeof(before));
	return waits && code == -EINPROGRESS ? -ETIMEDOUT : code;
}

static int connect_to(const struct request *request, const struct sockaddr_in *target)
{
	struct sockaddr_storage address;
	socklen_t length;

	if (request->family == AF_INET6 && !is_dual(request->socket))
		return GO_ON;
	length = translate(request, target, &address);
	return connect_soon(request->socket, (struct sockaddr *)&address, length);
}

static int do_connect(const struct redirect *redirect, const struct request *request)
{
	for (size_t i = 0; request->is_loopback && i < redirect->port_count; i++) {
		const struct redirected_port *port = &redirect->ports[i];
		int code;

		if (port->port != request->port || port->udp != request->udp)
			continue;
		code = connect_to(request, &port->target);
		/* The program that bound it has ended; another one may listen at the given address. */
		return code == -ECONNREFUSED ? GO_ON : code;
	}
	if (request->port == DNS_PORT && redirect->resolver.sin_port != 0)
		return connect_to(request, &redirect->resolver);
	return GO_ON;
}

/* Calls that can never be redirected are not worth a look at the socket. */
static bool may_be_redirected(const struct redirect *redirect, const struct request *request,
	bool is_bind)
{
	if (request->port == 0)
		return false;
	if (is_bind)
		return request->is_any;
	return (request->is_loopback && redirect->port_count > 0) ||
	       (request->port == DNS_PORT && redirect->resolver.sin_port != 0);
}

static int decide(struct redirect *redirect, int listener, const struct seccomp_notif *notification)
{
	bool is_bind = notification->data.nr == SYS_bind;
	struct request request = {.socket = -1};
	pid_t thread = (pid_t)notification->pid;
	uint64_t id = notification->id;
	int code;

	if (!read_address(thread, &notification->data, &request) ||
		!may_be_redirected(redirect, &request, is_bind))
		return GO_ON;
	request.socket = duplicate(thread, (int)notification->data.args[0]);
	if (request.socket < 0)
		return GO_ON;
	request.udp = is_udp(request.socket);
	/* Still the same call: so memory and socket were the program's own. */
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0)
		code = GO_ON;
	else
		code = is_bind ? do_bind(redirect, &request) : do_connect(redirect, &request);
	close(request.socket);
	return code;
}

static void answer(struct redirect *redirect, int listener)
{
	union {
		struct seccomp_notif notification;
		char room[NOTIFICATION_ROOM];
	} in = {0};
	union {
		struct seccomp_notif_resp response;
		char room[NOTIFICATION_ROOM];
	} out = {0};
	int code;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0)
		return; /* the program was killed meanwhile */
	code = decide(redirect, listener, &in.notification);
	out.response.id = in.notification.id;
	if (code == GO_ON)
		out.response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else
		out.response.error = code;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &out);
}

bool redirect_handle(struct redirect *redirect, const struct pollfd *event)
{
	for (size_t i = 0; i < redirect->listener_count; i++) {
		if (redirect->listeners[i] != event->fd)
			continue;
		if (event->revents & POLLIN) {
			answer(redirect, event->fd);
		} else {
			/* No process is left that could send a notification. */
			close(event->fd);
			redirect->listeners[i] = redirect->listeners[--redirect->listener_count];
		}
		return true;
	}
	return false;
}
