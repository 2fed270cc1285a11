/* Whether a port can be bound, with real sockets on addresses of loopback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "elb/listener_bind.h"

/* Most likely used by this process alone: no other process binds there. */
#define ADDRESS "127.77.11.3"
#define NO_OWNER 65534

/* A socket with a port of its own; listening if it is one of TCP. */
static int bind_one(int type, uint16_t *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(ADDRESS)};
	socklen_t size = sizeof(address);
	int descriptor = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(descriptor >= 0);
	assert_int_equal(bind(descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(descriptor, 1), 0);
	assert_int_equal(getsockname(descriptor, (struct sockaddr *)&address, &size), 0);
	*ret_port = ntohs(address.sin_port);
	return descriptor;
}

/* The result in another process, which has none of our sockets. */
struct heard {
	int code;
	char message[512];
};

static void ask_remote(int keep_away, uint16_t port, enum elb_protocol protocol, bool ordinary,
	struct heard *ret_heard)
{
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct heard heard = {0};
		struct err err = {0};

		if (keep_away >= 0)
			close(keep_away);
		if (ordinary && geteuid() == 0 && setresuid(NO_OWNER, NO_OWNER, NO_OWNER) < 0)
			_exit(1);
		heard.code = elb_bind_check(SPAN(ADDRESS), port, protocol, &err);
		snprintf(heard.message, sizeof(heard.message), "%.500s", err.message);
		_exit(write(ends[1], &heard, sizeof(heard)) == sizeof(heard) ? 0 : 1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], ret_heard, sizeof(*ret_heard)), sizeof(*ret_heard));
	close(ends[0]);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_a_free_port(void **state)
{
	uint16_t port;
	int descriptor = bind_one(SOCK_STREAM, &port);

	(void)state;
	close(descriptor);
	assert_int_equal(elb_bind_check(SPAN(ADDRESS), port, ELB_TCP, NULL), 0);
	assert_int_equal(elb_bind_check(SPAN(ADDRESS), port, ELB_HTTP, NULL), 0);
	/* It was let go again. */
	assert_int_equal(elb_bind_check(SPAN(ADDRESS), port, ELB_TCP, NULL), 0);
}

static void test_own_sockets_are_in_nobodys_way(void **state)
{
	uint16_t port;
	int descriptor = bind_one(SOCK_STREAM, &port);

	(void)state;
	assert_int_equal(elb_bind_check(SPAN(ADDRESS), port, ELB_TCP, NULL), 0);
	close(descriptor);
	descriptor = bind_one(SOCK_DGRAM, &port);
	assert_int_equal(elb_bind_check(SPAN(ADDRESS), port, ELB_UDP, NULL), 0);
	close(descriptor);
}

/* A child that holds a socket which this process has closed, until a pipe ends. */
static void test_sockets_of_workers_are_in_nobodys_way(void **state)
{
	uint16_t port;
	int descriptor = bind_one(SOCK_STREAM, &port), ends[2];
	pid_t worker;
	char byte;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	worker = fork();
	assert_true(worker >= 0);
	if (worker == 0) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(ends[0]);
	close(descriptor);
	assert_int_equal(elb_bind_check(SPAN(ADDRESS), port, ELB_TCP, NULL), 0);
	close(ends[1]);
	assert_int_equal(waitpid(worker, NULL, 0), worker);
}

static void test_a_port_of_another_process(void **state)
{
	uint16_t port;
	int descriptor = bind_one(SOCK_STREAM, &port);
	struct heard heard;
	char holder[64];

	(void)state;
	ask_remote(descriptor, port, ELB_TCP, false, &heard);
	assert_int_equal(heard.code, -EADDRINUSE);
	snprintf(holder, sizeof(holder), "by process %d (", (int)getpid());
	assert_non_null(strstr(heard.message, ADDRESS));
	if (!strstr(heard.message, holder))
		fail_msg("wanted '%s' in '%s'", holder, heard.message);
	ask_remote(descriptor, port, ELB_HTTPS, false, &heard);
	assert_int_equal(heard.code, -EADDRINUSE);
	ask_remote(descriptor, port, ELB_TCP_UDP, false, &heard);
	assert_int_equal(heard.code, -EADDRINUSE);
	ask_remote(descriptor, port, ELB_UDP, false, &heard);
	assert_int_equal(heard.code, 0);
	close(descriptor);
	descriptor = bind_one(SOCK_DGRAM, &port);
	ask_remote(descriptor, port, ELB_UDP, false, &heard);
	assert_int_equal(heard.code, -EADDRINUSE);
	assert_non_null(strstr(heard.message, "UDP"));
	if (!strstr(heard.message, holder))
		fail_msg("wanted '%s' in '%s'", holder, heard.message);
	close(descriptor);
}

static void test_ports_for_root(void **state)
{
	_buffer_ struct buffer first = {0};
	struct heard heard;

	(void)state;
	assert_int_equal(file_read("/proc/sys/net/ipv4/ip_unprivileged_port_start", 64, &first,
				 NULL),
		0);
	ask_remote(-1, 1, ELB_TCP, true, &heard);
	if (atoi(first.data) > 1) {
		assert_int_equal(heard.code, -EACCES);
		assert_non_null(strstr(heard.message, "CAP_NET_BIND_SERVICE"));
		assert_non_null(strstr(heard.message, "net.ipv4.ip_unprivileged_port_start=1"));
	} else {
		assert_int_equal(heard.code, 0);
	}
}

static void test_an_address_of_another_machine(void **state)
{
	struct err err = {0};

	(void)state;
	assert_int_equal(elb_bind_check(SPAN("192.0.2.1"), 8080, ELB_TCP, &err), -EADDRNOTAVAIL);
	assert_non_null(strstr(err.message, "192.0.2.1"));
	assert_int_equal(elb_bind_check(SPAN("nowhere"), 8080, ELB_TCP, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_free_port),
		cmocka_unit_test(test_own_sockets_are_in_nobodys_way),
		cmocka_unit_test(test_sockets_of_workers_are_in_nobodys_way),
		cmocka_unit_test(test_a_port_of_another_process),
		cmocka_unit_test(test_ports_for_root),
		cmocka_unit_test(test_an_address_of_another_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
