/*
 * Tasks that share the machine's network, with real programs that bind to every address: each is
 * reached at its own address, and by itself at localhost. Where the kernel does not allow
 * redirection, the task's notes say so, and a port in use stops it.
 */
#include "runtime/test_process.h"
#include "runtime/test_process_network.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static bool is_redirected(const struct runtime_task *task)
{
	return memmem(task->notes.data, task->notes.length, "cannot be redirected", 20) == NULL;
}

static bool find_in(struct span text, const char *wanted)
{
	return memmem(text.data, text.length, wanted, strlen(wanted)) != NULL;
}

static void test_same_port_twice(void **state)
{
	struct fixture *fixture = *state;
	uint16_t port = free_port();
	struct span one = start_server(fixture, "awsvpc", port, "one"), two;
	struct runtime_task *first = wait_phase(fixture, one, RUNTIME_RUNNING), *second;

	WAIT_FOR(span_is(ask(fixture, first->address, port), "one"));
	two = start_server(fixture, "awsvpc", port, "two");
	if (!is_redirected(get(fixture, one))) {
		/* Not on this kernel: the second task has the reason. */
		second = wait_phase(fixture, two, RUNTIME_STOPPED);
		assert_int_equal(second->stop, RUNTIME_STOP_FAILED_TO_START);
		assert_true(find_in(second->reason, "binds cannot be redirected"));
		return;
	}
	second = wait_phase(fixture, two, RUNTIME_RUNNING);
	WAIT_FOR(span_is(ask(fixture, second->address, port), "two"));
	assert_true(span_is(ask(fixture, first->address, port), "one"));
	/* The machine's own address has no listener. */
	assert_true(span_is(ask(fixture, SPAN("127.0.0.1"), port), ""));
}

static void test_container_ports_of_bridge_tasks(void **state)
{
	struct fixture *fixture = *state;
	uint16_t port = free_port();
	struct span one = start_server(fixture, "bridge", port, "one");
	struct span two = start_server(fixture, "bridge", port, "two");
	struct runtime_task *first = wait_phase(fixture, one, RUNTIME_RUNNING);
	struct runtime_task *second = wait_phase(fixture, two, RUNTIME_RUNNING);
	uint16_t first_port = first->containers[0].bindings[0].host_port;
	uint16_t second_port = second->containers[0].bindings[0].host_port;

	assert_int_not_equal(first_port, second_port);
	if (!is_redirected(first))
		return;
	WAIT_FOR(span_is(ask(fixture, first->address, first_port), "one"));
	WAIT_FOR(span_is(ask(fixture, second->address, second_port), "two"));
	/* A host port is one of the whole machine. */
	assert_true(span_is(ask(fixture, SPAN("127.0.0.1"), second_port), "two"));
}

/* A Python program in a file beside the tasks. */
static char *write_program(struct fixture *fixture, const char *text)
{
	char *path = memory_format("%s/.program.py", fixture->folder);
	struct err err = {.message = ""};

	if (file_replace(path, span_of(text), 0644, &err) < 0)
		fail_msg("%s", err.message);
	return path;
}

/* With a thread, over IPv6 that takes IPv4, found again at localhost over both. */
static const char dual_program[] =
	"import os, socket, sys, threading\n"
	"port = int(sys.argv[1])\n"
	"ready = threading.Event()\n"
	"def serve():\n"
	"    server = socket.socket(socket.AF_INET6)\n"
	"    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)\n"
	"    server.bind(('::', port))\n"
	"    server.listen()\n"
	"    ready.set()\n"
	"    while True:\n"
	"        connection, _ = server.accept()\n"
	"        connection.sendall(b'dual')\n"
	"        connection.close()\n"
	"threading.Thread(target=serve, daemon=True).start()\n"
	"ready.wait()\n"
	"print('itself', socket.create_connection(('127.0.0.1', port), 20).recv(10).decode())\n"
	"four = socket.socket()\n"
	"four.setblocking(False)\n"
	"print('at once', four.connect_ex(('127.0.0.1', port)) in (0, 115))\n"
	"free = socket.socket()\n"
	"free.bind(('0.0.0.0', 0))\n"
	"print('free', free.getsockname()[0])\n"
	"own = socket.socket()\n"
	"own.bind(('127.0.0.1', 0))\n"
	"own.listen()\n"
	"print('own', own.getsockname()[0])\n"
	"print('found', bool(socket.create_connection(own.getsockname(), 20)))\n"
	"taken = socket.socket()\n"
	"try:\n"
	"    taken.bind(('0.0.0.0', port))\n"
	"    print('twice')\n"
	"except OSError as problem:\n"
	"    print('refused', problem.errno)\n"
	"try:\n"
	"    socket.create_connection(('127.0.0.1', 1), 20)\n"
	"except OSError as problem:\n"
	"    print('no listener', problem.errno)\n"
	"print('ready', flush=True)\n"
	"threading.Event().wait()\n";

static void test_python_with_threads_and_both_families(void **state)
{
	struct fixture *fixture = *state;
	_free_ char *program = write_program(fixture, dual_program);
	uint16_t port = free_port();
	struct span token = start(fixture,
		spec_in(fixture, "awsvpc",
			arena_format(fixture->arena,
				"{'name':'app','image':'host','command':['python3','%s','%u'],"
				"'stopTimeout':1,'healthCheck':{'command':['CMD','python3','-c',"
				"'import socket; socket.create_connection((\\\"localhost\\\", %u), "
				"9)'],"
				"'interval':1,'timeout':30,'retries':10}}",
				program, (unsigned)port, (unsigned)port)
				.data));
	struct runtime_task *task = wait_phase(fixture, token, RUNTIME_RUNNING);
	struct span text;

	WAIT_FOR(find_in(text = read_log(fixture, token, "app"), "ready\n") ||
		 get(fixture, token)->phase == RUNTIME_STOPPED);
	if (!is_redirected(task)) {
		unlink(program);
		return;
	}
	if (!span_is(text, "itself dual\nat once True\nfree 0.0.0.0\nown 127.0.0.1\nfound True\n"
			   "refused 98\nno listener 111\nready\n"))
		fail_msg("%.*s", SPAN_ARGS(text));
	assert_true(span_is(ask(fixture, task->address, port), "dual"));
	/* A check from beside the program finds it at localhost, too. */
	WAIT_FOR(get(fixture, token)->containers[0].health == RUNTIME_HEALTHY);
	unlink(program);
}

/* A kernel that has no notifications, as far as the task can see. */

static int forbid(unsigned call)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = LENGTH(steps), .filter = steps};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void run_without(unsigned call, struct fixture *fixture, uint16_t port, int code)
{
	struct runtime_task *task;
	struct span token;

	if (forbid(call) < 0)
		_exit(1);
	open_runtime(fixture);
	token = start_server(fixture, "awsvpc", port, "one");
	task = wait_phase(fixture, token, RUNTIME_RUNNING);
	dprintf(code, "%.*s|", SPAN_ARGS(task->notes));
	WAIT_FOR(span_is(ask(fixture, task->address, port), "one"));
	task = run(fixture,
		spec_in(fixture, "awsvpc",
			arena_format(fixture->arena,
				"{'name':'app','image':'host','command':['true'],'portMappings':"
				"[{'containerPort':%u}]}",
				(unsigned)port)
				.data));
	dprintf(code, "%d %.*s", task->stop, SPAN_ARGS(task->reason));
	stop(fixture, token, "");
	wait_phase(fixture, token, RUNTIME_STOPPED);
	acknowledge(fixture, token);
	close_runtime(fixture);
	_exit(0);
}

static void check_without(struct fixture *fixture, unsigned call)
{
	uint16_t port = free_port();
	char text[8192] = "";
	const char *second;
	int ends[2], status;
	size_t length = 0;
	pid_t child;

	close_runtime(fixture);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	if (child == 0)
		run_without(call, fixture, port, ends[1]);
	close(ends[1]);
	for (ssize_t got; (got = read(ends[0], text + length, sizeof(text) - 1 - length)) > 0;)
		length += (size_t)got;
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "binds to every address cannot be redirected: Operation not "
				     "permitted|"));
	second = strchr(text, '|') + 1;
	assert_int_equal(atoi(second), RUNTIME_STOP_FAILED_TO_START);
	assert_non_null(strstr(second, "CannotStartContainerError: port "));
	assert_non_null(strstr(second,
		"is in use on this machine, and binds cannot be redirected"));
}

static void test_without_notifications(void **state)
{
	check_without(*state, SYS_seccomp);
}

static void test_without_descriptors_of_others(void **state)
{
	check_without(*state, SYS_pidfd_getfd);
}

/* Programs that bind to their own address need no redirection, and may share a port. */
static void serve_own_without(struct fixture *fixture, uint16_t port)
{
	struct span tokens[2];

	if (forbid(SYS_seccomp) < 0)
		_exit(1);
	open_runtime(fixture);
	for (size_t i = 0; i < LENGTH(tokens); i++) {
		const char *text = i == 0 ? "one" : "two";
		struct runtime_task *task;

		tokens[i] = start_server_of_kind(fixture, "serve-own", "awsvpc", port, text);
		task = wait_phase(fixture, tokens[i], RUNTIME_RUNNING);
		WAIT_FOR(span_is(ask(fixture, task->address, port), text));
	}
	for (size_t i = 0; i < LENGTH(tokens); i++) {
		stop(fixture, tokens[i], "");
		wait_phase(fixture, tokens[i], RUNTIME_STOPPED);
		acknowledge(fixture, tokens[i]);
	}
	close_runtime(fixture);
	_exit(0);
}

static void test_own_addresses_without_notifications(void **state)
{
	struct fixture *fixture = *state;
	uint16_t port = free_port();
	int status;
	pid_t child;

	close_runtime(fixture);
	child = fork();
	if (child == 0)
		serve_own_without(fixture, port);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		PLAIN_TEST(test_same_port_twice),
		PLAIN_TEST(test_container_ports_of_bridge_tasks),
		PLAIN_TEST(test_python_with_threads_and_both_families),
		PLAIN_TEST(test_without_notifications),
		PLAIN_TEST(test_without_descriptors_of_others),
		PLAIN_TEST(test_own_addresses_without_notifications),
		PROCESS_TEST(test_container_ports_of_bridge_tasks),
	};

	if (count == 4 && strncmp(arguments[1], "serve", strlen("serve")) == 0)
		return serve(arguments[1], arguments[2], arguments[3]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
