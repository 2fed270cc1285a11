/* Programs beside a container's, and what containers wrote. */
#include "runtime/test_process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/wait.h>

static const struct json *command_of(struct fixture *fixture, const char *text)
{
	struct json *command;
	char *copy = arena_copy_string(fixture->arena, text);

	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	assert_int_equal(json_parse(span_of(copy), fixture->arena, &command, NULL), 0);
	return command;
}

static struct runtime_exec *exec_in(struct fixture *fixture, struct span token, const char *command,
	bool terminal)
{
	struct runtime_exec *exec;
	struct err err = {.message = ""};

	if (fixture->runtime->operations->exec(fixture->runtime, token, SPAN("app"),
		    command_of(fixture, command), terminal, &exec, &err) < 0)
		fail_msg("%s", err.message);
	return exec;
}

static struct span read_all(struct fixture *fixture, int descriptor)
{
	_buffer_ struct buffer text = {0};

	for (;;) {
		char *room = buffer_reserve(&text, 4096);
		ssize_t got = read(descriptor, room, 4096);

		if (got <= 0)
			break; /* a terminal ends with EIO */
		text.length += (size_t)got;
	}
	return arena_copy_span(fixture->arena, buffer_span(&text));
}

static int finish_exec(struct runtime_exec *exec)
{
	struct err err = {.message = ""};
	int code = -1;

	close(exec->input);
	if (exec->output != exec->input)
		close(exec->output);
	if (exec->error >= 0)
		close(exec->error);
	if (exec->wait(exec, &code, &err) < 0)
		fail_msg("%s", err.message);
	return code;
}

static struct span start_sleeper(struct fixture *fixture)
{
	struct span token =
		start(fixture, spec_in(fixture, "bridge",
				       "{'name':'app','image':'host','command':['sleep','1000'],'"
				       "workingDirectory':'/usr',"
				       "'environment':[{'name':'SHIP','value':'tug'}]}"));

	wait_phase(fixture, token, RUNTIME_RUNNING);
	return token;
}

static void test_exec_streams_and_code(void **state)
{
	struct fixture *fixture = *state;
	struct span token = start_sleeper(fixture);
	struct runtime_exec *exec = exec_in(fixture, token,
		"['sh','-c','cat; echo $SHIP $(pwd); echo problem >&2; exit 6']", false);

	assert_int_equal(write(exec->input, "hello\n", 6), 6);
	close(exec->input);
	exec->input = -1;
	assert_true(span_is(read_all(fixture, exec->output), "hello\ntug /usr\n"));
	assert_true(span_is(read_all(fixture, exec->error), "problem\n"));
	assert_int_equal(finish_exec(exec), 6);
	exec = exec_in(fixture, token, "['sh','-c','kill -KILL $$']", false);
	assert_int_equal(finish_exec(exec), 128 + SIGKILL);
}

static void test_exec_with_a_terminal(void **state)
{
	struct fixture *fixture = *state;
	struct span token = start_sleeper(fixture);
	struct runtime_exec *exec = exec_in(fixture, token,
		"['sh','-c','test -t 0 && test -t 1 && test -t 2 && read line && stty size && "
		"echo got $line && exit 3']",
		true);
	struct span text;

	assert_int_equal(exec->input, exec->output);
	exec->resize(exec, 33, 44);
	assert_int_equal(write(exec->input, "word\n", 5), 5);
	text = read_all(fixture, exec->output);
	assert_non_null(strstr(text.data, "33 44"));
	assert_non_null(strstr(text.data, "got word"));
	assert_int_equal(finish_exec(exec), 3);
}

static void test_exec_that_cannot_be(void **state)
{
	struct fixture *fixture = *state;
	struct span token = start_sleeper(fixture);
	struct runtime_exec *exec;
	struct err err = {.message = ""};
	int code;

	assert_true(fixture->runtime->operations->exec(fixture->runtime, token, SPAN("other"),
			    command_of(fixture, "['true']"), false, &exec, &err) < 0);
	assert_non_null(strstr(err.message, "does not run"));
	assert_true(fixture->runtime->operations->exec(fixture->runtime, token, SPAN("app"),
			    command_of(fixture, "[]"), false, &exec, &err) < 0);
	assert_int_equal(fixture->runtime->operations->exec(fixture->runtime, SPAN("missing"),
				 SPAN("app"), command_of(fixture, "['true']"), false, &exec, &err),
		-ENOENT);
	exec = exec_in(fixture, token, "['no-such-program']", false);
	close(exec->input);
	close(exec->output);
	close(exec->error);
	assert_true(exec->wait(exec, &code, &err) < 0);
	assert_non_null(strstr(err.message, "no-such-program"));
}

static void test_exec_ends_with_its_container(void **state)
{
	struct fixture *fixture = *state;
	struct span token = start_sleeper(fixture);
	_free_ char *mark = memory_format("SLIPWAY_TASK=%.*s", SPAN_ARGS(token));
	struct runtime_exec *exec =
		exec_in(fixture, token, "['sh','-c','setsid sleep 1000 & sleep 1000']", false);

	stop(fixture, token, "");
	wait_phase(fixture, token, RUNTIME_STOPPED);
	assert_int_equal(count_processes("environ", mark, NULL), 0);
	assert_int_equal(finish_exec(exec), 128 + SIGKILL);
}

/* In a process of its own that will be killed while the program runs. */
static void exec_and_wait(struct fixture *fixture, struct span token, int ready)
{
	struct runtime_process_config config = {.folder = fixture->folder};
	struct runtime_exec *exec;
	struct err err;
	char text[6];
	int code;

	if (runtime_process_open(&config, &fixture->runtime, &err) < 0 ||
		fixture->runtime->operations->exec(fixture->runtime, token, SPAN("app"),
			command_of(fixture, "['sh','-c','echo ready; exec sleep 1234.5']"), false,
			&exec, &err) < 0 ||
		read(exec->output, text, sizeof(text)) != sizeof(text) || write(ready, "r", 1) != 1)
		_exit(1);
	exec->wait(exec, &code, &err);
	_exit(2);
}

/* The caller is gone: so is the program, and nothing else. */
static void test_exec_ends_with_its_caller(void **state)
{
	struct fixture *fixture = *state;
	struct span token = start_sleeper(fixture);
	_free_ char *mark = memory_format("SLIPWAY_TASK=%.*s", SPAN_ARGS(token));
	int ends[2], status;
	pid_t caller;
	char c;

	close_runtime(fixture);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	caller = fork();
	if (caller == 0)
		exec_and_wait(fixture, token, ends[1]);
	close(ends[1]);
	assert_int_equal(read(ends[0], &c, 1), 1);
	close(ends[0]);
	WAIT_FOR(count_processes("environ", mark, NULL) == 2);
	kill(caller, SIGKILL);
	assert_int_equal(waitpid(caller, &status, 0), caller);
	WAIT_FOR(count_processes("environ", mark, NULL) == 1);
	open_runtime(fixture);
	assert_int_equal(get(fixture, token)->phase, RUNTIME_RUNNING);
}

/* Logs. */

static void test_logs_in_pieces(void **state)
{
	struct fixture *fixture = *state;
	struct span token = start(fixture,
		shell_spec(fixture, "echo one; echo two >&2; printf three; exec sleep 1000"));
	_free_ char *file = memory_format("%s/%.*s/app.log.0", fixture->folder, SPAN_ARGS(token));
	_buffer_ struct buffer out = {0};
	uint64_t offset = 0;
	struct err err;

	/* A line is given when it is whole. */
	WAIT_FOR(file_contains(file, "three"));
	assert_true(span_is(read_log(fixture, token, "app"), "one\ntwo\n"));
	assert_int_equal(fixture->runtime->operations->read_logs(fixture->runtime, token,
				 SPAN("app"), 0, 5, &out, NULL, &offset, &err),
		0);
	assert_true(span_is(buffer_span(&out), "one\n"));
	assert_int_equal(offset, 4);
	assert_int_equal(fixture->runtime->operations->read_logs(fixture->runtime, token,
				 SPAN("app"), offset, 100, &out, NULL, &offset, &err),
		0);
	assert_true(span_is(buffer_span(&out), "one\ntwo\n"));
	assert_int_equal(offset, 8);
	stop(fixture, token, "");
	wait_phase(fixture, token, RUNTIME_STOPPED);
	/* Nothing will follow: the rest is the last line. */
	assert_int_equal(fixture->runtime->operations->read_logs(fixture->runtime, token,
				 SPAN("app"), offset, 100, &out, NULL, &offset, &err),
		0);
	assert_true(span_is(buffer_span(&out), "one\ntwo\nthree"));
	assert_int_equal(fixture->runtime->operations->read_logs(fixture->runtime, token,
				 SPAN("other"), 0, 100, &out, NULL, &offset, &err),
		-ENOENT);
}

static void test_logs_rotate(void **state)
{
	struct fixture *fixture = *state;
	struct span token = start(fixture,
		spec_in(fixture, "bridge",
			"{'name':'app','image':'host','logMaxBytes':8192,'command':['sh','-c',"
			"'i=1000; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done']}"));
	_free_ char *folder = memory_format("%s/%.*s", fixture->folder, SPAN_ARGS(token));
	_buffer_ struct buffer out = {0};
	uint64_t offset = 0, size = 0;
	unsigned files = 0;
	struct err err;
	DIR *listing;

	wait_phase(fixture, token, RUNTIME_STOPPED);
	listing = opendir(folder);
	assert_non_null(listing);
	for (struct dirent *entry; (entry = readdir(listing));) {
		_free_ char *path = memory_format("%s/%s", folder, entry->d_name);
		struct stat status;

		if (strncmp(entry->d_name, "app.log.", 8) != 0)
			continue;
		assert_int_equal(stat(path, &status), 0);
		size += (uint64_t)status.st_size;
		files++;
	}
	closedir(listing);
	assert_int_equal(files, 2);
	assert_true(size > 4096 && size <= 8192);
	/* From the first byte on: from the oldest that is kept, whole lines, to the last byte. */
	assert_int_equal(fixture->runtime->operations->read_logs(fixture->runtime, token,
				 SPAN("app"), 0, 1 << 20, &out, NULL, &offset, &err),
		0);
	assert_int_equal(out.length, size);
	assert_int_equal(offset, 8000 * 10);
	assert_true(span_starts_with(buffer_span(&out), SPAN("line ")));
	for (uint64_t i = 0; i < size / 10; i++) {
		_free_ char *line = memory_format("line %" PRIu64 "\n", 9000 - size / 10 + i);

		assert_memory_equal(out.data + i * 10, line, 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROCESS_TEST(test_exec_streams_and_code),
		PROCESS_TEST(test_exec_with_a_terminal),
		PROCESS_TEST(test_exec_that_cannot_be),
		PROCESS_TEST(test_exec_ends_with_its_container),
		PROCESS_TEST(test_exec_ends_with_its_caller),
		PROCESS_TEST(test_logs_in_pieces),
		PROCESS_TEST(test_logs_rotate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
