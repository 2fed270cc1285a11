/* Child processes of this machine: output, input, ends, limits, and that nothing of the group is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "io/child.h"

#define OUTPUT_MAX 100000
#define LARGE (1024 * 1024)
#define END_MS 60000 /* for what ends by itself */

static struct child_result run_request(struct child_request request)
{
	struct child_result result;
	struct err err = {0};

	if (request.output_max == 0)
		request.output_max = OUTPUT_MAX;
	if (child_run(child_system(), &request, &result, &err) < 0)
		fail_msg("%s", err.message);
	return result;
}

#define SCRIPT(text)                                                                               \
	.arguments = (const char *const[])                                                         \
	{                                                                                          \
		"sh", "-c", (text), NULL                                                           \
	}

static void assert_output(struct child_result *result, const char *expected)
{
	assert_string_equal(result->output.data ? result->output.data : "", expected);
}

static void test_output_and_exit_code(void **state)
{
	_child_result_ struct child_result result = run_request((struct child_request){
		SCRIPT("echo out; echo err >&2; pwd; echo $A; exit 3"),
		.environment = (const char *const[]){"A=b", NULL}, .folder = "/"});

	(void)state;
	assert_output(&result, "out\n/\nb\n");
	assert_string_equal(result.errors.data, "err\n");
	assert_int_equal(result.exit_code, 3);
	assert_int_equal(result.signal, 0);
	assert_false(result.timed_out);
}

static void test_empty_environment_and_input(void **state)
{
	_child_result_ struct child_result result =
		run_request((struct child_request){SCRIPT("cat; echo \"<$HOME>\"")});

	(void)state;
	assert_output(&result, "<>\n");
}

/* More than fits into a socket or a pipe. */
static void test_large_input(void **state)
{
	_free_ char *input = memory_allocate(LARGE);
	struct child_request request = {.arguments = (const char *const[]){"cat", NULL},
		.input = {input, LARGE},
		.output_max = LARGE};

	(void)state;
	memset(input, 'x', LARGE);
	{
		_child_result_ struct child_result result = run_request(request);

		assert_int_equal(result.output.length, LARGE);
		assert_memory_equal(result.output.data, input, LARGE);
		assert_false(result.output_cut);
	}
	/* A child that reads nothing ends all the same. */
	request.arguments = (const char *const[]){"true", NULL};
	{
		_child_result_ struct child_result result = run_request(request);

		assert_int_equal(result.exit_code, 0);
	}
}

static void test_output_is_cut(void **state)
{
	_child_result_ struct child_result result = run_request((struct child_request){
		SCRIPT("head -c 300000 /dev/zero; echo e >&2"), .output_max = 1000});

	(void)state;
	assert_int_equal(result.output.length, 1000);
	assert_true(result.output_cut);
	assert_false(result.errors_cut);
	assert_int_equal(result.exit_code, 0);
}

static void test_does_not_start(void **state)
{
	struct child_result result;
	struct err err = {0};
	struct child_request request = {
		.arguments = (const char *const[]){"no-such-program-here", NULL}};

	(void)state;
	assert_int_equal(child_run(child_system(), &request, &result, &err), -ENOENT);
	assert_string_equal(err.message, "start no-such-program-here: no such program in PATH");
	request.arguments = (const char *const[]){"/no/such/program", NULL};
	assert_int_equal(child_run(child_system(), &request, &result, &err), -ENOENT);
	request.arguments = (const char *const[]){"true", NULL};
	request.folder = "/no/such/folder";
	assert_int_equal(child_run(child_system(), &request, &result, &err), -ENOENT);
}

/* Readable at its end once every process that holds the other end is gone. */
static void assert_closed(int descriptor)
{
	struct pollfd event = {.fd = descriptor};
	char byte;

	assert_int_equal(poll(&event, 1, END_MS), 1);
	assert_int_equal(read(descriptor, &byte, 1), 0);
}

/* Processes in the background hold a FIFO open: it closes when all of them have ended. */
struct watched {
	char folder[64], fifo[80], script[256];
	int reader, writer; /* ours; the writer makes the end of all writers visible */
};

static void watch(struct watched *watched, const char *script)
{
	snprintf(watched->folder, sizeof(watched->folder), "/tmp/child-test-XXXXXX");
	assert_non_null(mkdtemp(watched->folder));
	snprintf(watched->fifo, sizeof(watched->fifo), "%s/fifo", watched->folder);
	assert_int_equal(mkfifo(watched->fifo, 0600), 0);
	watched->reader = open(watched->fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(watched->reader >= 0);
	watched->writer = open(watched->fifo, O_WRONLY | O_CLOEXEC);
	assert_true(watched->writer >= 0);
	snprintf(watched->script, sizeof(watched->script), "exec 9>%s; %s", watched->fifo, script);
}

static void unwatch(struct watched *watched)
{
	close(watched->writer);
	assert_closed(watched->reader);
	close(watched->reader);
	unlink(watched->fifo);
	rmdir(watched->folder);
}

static void test_background_processes_end(void **state)
{
	struct watched watched;

	(void)state;
	watch(&watched, "sleep 1000 & sleep 1000 & echo started");
	{
		_child_result_ struct child_result result =
			run_request((struct child_request){SCRIPT(watched.script)});

		assert_output(&result, "started\n");
		assert_int_equal(result.exit_code, 0);
	}
	unwatch(&watched);
}

/* scenario 47: a timeout ends the whole group */
static void test_timeout(void **state)
{
	struct watched watched;

	(void)state;
	watch(&watched, "sleep 1000 & sleep 1000");
	{
		_child_result_ struct child_result result = run_request((struct child_request){
			SCRIPT(watched.script), .timeout_ms = 20});

		assert_true(result.timed_out);
		assert_int_equal(result.exit_code, -1);
		assert_int_equal(result.signal, SIGTERM);
	}
	unwatch(&watched);
}

/* The group ignores SIGTERM. */
static void test_kill_after_grace(void **state)
{
	struct watched watched;

	(void)state;
	watch(&watched, "trap '' TERM; sleep 1000 & while :; do sleep 1000; done");
	{
		_child_result_ struct child_result result = run_request((struct child_request){
			SCRIPT(watched.script), .timeout_ms = 500, .grace_ms = 20});

		assert_true(result.timed_out);
		/* SIGTERM: on a slow machine, before the trap was set. */
		assert_true(result.signal == SIGKILL || result.signal == SIGTERM);
	}
	unwatch(&watched);
}

static void test_cancel(void **state)
{
	struct watched watched;
	_close_ int cancel = eventfd(1, EFD_CLOEXEC);

	(void)state;
	watch(&watched, "sleep 1000");
	{
		_child_result_ struct child_result result = run_request((struct child_request){
			SCRIPT(watched.script), .cancel = cancel});

		assert_true(result.cancelled);
		assert_false(result.timed_out);
		assert_int_equal(result.signal, SIGKILL);
	}
	unwatch(&watched);
}

static void test_limits(void **state)
{
	_child_result_ struct child_result result = run_request((struct child_request){
		SCRIPT("ulimit -n; ulimit -f; ulimit -v"), .open_files_max = 77,
		.file_size_max = 512 * 9, .memory_max = 1024 * 1024 * 1024});

	(void)state;
	assert_output(&result, "77\n9\n1048576\n");
}

/* Descriptors of this process are not the child's, also without the close-on-exec flag. */
static void test_descriptors(void **state)
{
	_close_ int open_one = dup(STDOUT_FILENO);
	_child_result_ struct child_result result =
		run_request((struct child_request){SCRIPT("ls /proc/self/fd | wc -l")});

	(void)state;
	assert_true(open_one >= 3);
	assert_output(&result, "4\n"); /* three and the one that ls opens */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_and_exit_code),
		cmocka_unit_test(test_empty_environment_and_input),
		cmocka_unit_test(test_large_input),
		cmocka_unit_test(test_output_is_cut),
		cmocka_unit_test(test_does_not_start),
		cmocka_unit_test(test_background_processes_end),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_kill_after_grace),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_descriptors),
	};

	return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
