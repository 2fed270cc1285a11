/*
 * Recovery: servers that restart, servers that are killed at any moment, supervisors that are
 * killed, starts that were interrupted. Nothing runs twice, and no exit code is lost.
 */
#include "runtime/test_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include "base/random.h"
#include "runtime/task/plan.h"
#include "runtime/task/record.h"

/* A process of the task's supervisor: the supervisor itself leads its session, a monitor does
 * not. */
static pid_t find_supervising(struct fixture *fixture, struct span token, bool leader)
{
	_free_ char *folder = memory_format("%s/%.*s", fixture->folder, SPAN_ARGS(token));
	DIR *listing = opendir("/proc");
	pid_t found = 0;

	assert_non_null(listing);
	for (struct dirent *entry; (entry = readdir(listing));) {
		_free_ char *path = memory_format("/proc/%s/cmdline", entry->d_name);
		pid_t pid = atoi(entry->d_name);

		if (pid > 0 && file_contains(path, folder) && (getsid(pid) == pid) == leader)
			found = pid;
	}
	closedir(listing);
	assert_true(found > 0);
	return found;
}

static void assert_nothing_of(struct span token)
{
	_free_ char *mark = memory_format("SLIPWAY_TASK=%.*s", SPAN_ARGS(token));

	assert_int_equal(count_processes("environ", mark, NULL), 0);
}

static void test_tasks_are_adopted(void **state)
{
	struct fixture *fixture = *state;
	struct span running = start(fixture, shell_spec(fixture, "echo once; exec sleep 1000"));
	struct span ending =
		start(fixture, shell_spec(fixture, "while [ ! -e \\\"$HOLD\\\" ]; do "
						   "sleep 0.05; HOLD=/; done; exit 7"));
	struct runtime_task *before = wait_phase(fixture, running, RUNTIME_RUNNING), *after;
	_free_ char *folder = memory_format("%s/%.*s", fixture->folder, SPAN_ARGS(ending));

	WAIT_FOR(span_is(read_log(fixture, running, "app"), "once\n"));
	close_runtime(fixture);
	/* It ends while no server is there. */
	WAIT_FOR(count_processes("cmdline", folder, NULL) == 0);
	open_runtime(fixture);
	after = get(fixture, running);
	assert_int_equal(after->phase, RUNTIME_RUNNING);
	assert_int_equal(after->started_ms, before->started_ms);
	assert_true(span_equal(after->address, before->address));
	after = get(fixture, ending);
	assert_int_equal(after->phase, RUNTIME_STOPPED);
	assert_int_equal(after->stop, RUNTIME_STOP_ESSENTIAL);
	assert_int_equal(after->containers[0].exit_code, 7);
	stop(fixture, running, "enough");
	after = wait_phase(fixture, running, RUNTIME_STOPPED);
	assert_int_equal(after->stop, RUNTIME_STOP_REQUESTED);
	assert_true(span_is(read_log(fixture, running, "app"), "once\n"));
}

static void test_a_lost_supervisor(void **state)
{
	struct fixture *fixture = *state;
	const struct json *spec = spec_in(fixture, "bridge",
		"{'name':'app','image':'host','memory':256,'command':['sh','-c',"
		"'setsid sleep 1000 & echo once; exec sleep 1000']}");

	for (int server_is_there = 0; server_is_there < 2; server_is_there++) {
		struct span token = start(fixture, spec);
		struct runtime_task *task;
		struct err err;

		wait_phase(fixture, token, RUNTIME_RUNNING);
		WAIT_FOR(span_is(read_log(fixture, token, "app"), "once\n"));
		if (!server_is_there)
			close_runtime(fixture);
		assert_int_equal(kill(find_supervising(fixture, token, true), SIGKILL), 0);
		if (!server_is_there)
			open_runtime(fixture);
		task = wait_phase(fixture, token, RUNTIME_STOPPED);
		assert_int_equal(task->stop, RUNTIME_STOP_LOST);
		assert_false(task->containers[0].has_exit_code);
		assert_int_equal(task->containers[0].phase, RUNTIME_STOPPED);
		assert_true(task->reason.length > 0);
		assert_nothing_of(token);
		/* The end is final, and the task never runs again. */
		close_runtime(fixture);
		open_runtime(fixture);
		assert_int_equal(fixture->runtime->operations->start(fixture->runtime, token,
					 SPAN("machine"), spec, &err),
			0);
		assert_int_equal(get(fixture, token)->stop, RUNTIME_STOP_LOST);
		assert_true(span_is(read_log(fixture, token, "app"), "once\n"));
	}
}

/* Supervisor and monitor at once: leftovers are found by the token's variable. */
static void test_everything_that_supervises_is_killed(void **state)
{
	struct fixture *fixture = *state;
	struct span token =
		start(fixture, shell_spec(fixture, "setsid sleep 1000 & echo once; sleep 1000"));
	pid_t supervisor, monitor;

	WAIT_FOR(span_is(read_log(fixture, token, "app"), "once\n"));
	supervisor = find_supervising(fixture, token, true);
	monitor = find_supervising(fixture, token, false);
	kill(supervisor, SIGSTOP);
	kill(monitor, SIGKILL);
	kill(supervisor, SIGKILL);
	assert_int_equal(wait_phase(fixture, token, RUNTIME_STOPPED)->stop, RUNTIME_STOP_LOST);
	{
		_free_ char *mark = memory_format("SLIPWAY_TASK=%.*s", SPAN_ARGS(token));

		WAIT_FOR(count_processes("environ", mark, NULL) == 0);
	}
}

static void test_a_killed_maintainer(void **state)
{
	struct fixture *fixture = *state;
	struct span token =
		start(fixture, shell_spec(fixture, "setsid sleep 1000 & echo once; sleep 1000"));
	struct runtime_task *task;

	WAIT_FOR(span_is(read_log(fixture, token, "app"), "once\n"));
	kill(find_supervising(fixture, token, false), SIGKILL);
	task = wait_phase(fixture, token, RUNTIME_STOPPED);
	assert_int_equal(task->stop, RUNTIME_STOP_ESSENTIAL);
	assert_int_equal(task->containers[0].exit_code, 128 + SIGKILL);
	assert_nothing_of(token);
}

static void write_file(const char *folder, struct span token, const char *name, struct span text)
{
	_free_ char *path = memory_format("%s/%.*s", folder, SPAN_ARGS(token));
	_free_ char *file = memory_format("%s/%s", path, name);
	struct err err = {.message = ""};

	assert_int_equal(file_make_folder(path, 0700, &err), 0);
	if (name[0])
		assert_int_equal(file_replace(file, text, 0600, &err), 0);
}

static void test_cut_starts_are_resolved(void **state)
{
	struct fixture *fixture = *state;
	struct span ordered = new_token(fixture), empty = new_token(fixture);
	struct span broken = new_token(fixture), begun = new_token(fixture);
	struct span torn = new_token(fixture), torn_record = new_token(fixture);
	const struct json *spec = shell_spec(fixture, "echo once; exit 9");
	_buffer_ struct buffer order = {0}, record = {0};
	struct runtime_task *task;
	struct plan *plan;
	struct err err;

	close_runtime(fixture);
	assert_int_equal(plan_parse_spec(spec, PLAN_IMAGE_HOST, fixture->arena, &plan, &err), 0);
	plan->instance = SPAN("machine");
	plan->address = SPAN("127.64.0.9");
	plan->token = ordered;
	plan_write_task_spec(plan, spec, &order);
	write_file(fixture->folder, ordered, RECORD_SPEC_FILE, buffer_span(&order));
	write_file(fixture->folder, empty, "", SPAN(""));
	write_file(fixture->folder, broken, RECORD_SPEC_FILE, SPAN("{\"version\":99}"));
	write_file(fixture->folder, torn, RECORD_SPEC_FILE,
		(struct span){order.data, order.length / 2});
	plan->token = torn_record;
	buffer_reset(&order);
	plan_write_task_spec(plan, spec, &order);
	write_file(fixture->folder, torn_record, RECORD_SPEC_FILE, buffer_span(&order));
	write_file(fixture->folder, torn_record, RECORD_STATE_FILE, SPAN("{\"version\":1,\"tok"));
	plan->token = begun;
	buffer_reset(&order);
	plan_write_task_spec(plan, spec, &order);
	record_write(record_of_plan(plan, fixture->arena), &record);
	write_file(fixture->folder, begun, RECORD_SPEC_FILE, buffer_span(&order));
	write_file(fixture->folder, begun, RECORD_STATE_FILE, buffer_span(&record));
	open_runtime(fixture);

	/* Accepted and not started: it runs now. */
	task = wait_phase(fixture, ordered, RUNTIME_STOPPED);
	assert_int_equal(task->containers[0].exit_code, 9);
	assert_true(span_is(task->address, "127.64.0.9"));
	assert_true(span_is(read_log(fixture, ordered, "app"), "once\n"));
	/* A record that a power cut truncated: the supervisor had run nothing. */
	task = wait_phase(fixture, torn_record, RUNTIME_STOPPED);
	assert_int_equal(task->containers[0].exit_code, 9);
	assert_true(span_is(read_log(fixture, torn_record, "app"), "once\n"));
	/* Never accepted: removed. */
	assert_int_equal(fixture->runtime->operations->get(fixture->runtime, empty, fixture->arena,
				 &task, &err),
		-ENOENT);
	assert_int_equal(fixture->runtime->operations->get(fixture->runtime, torn, fixture->arena,
				 &task, &err),
		-ENOENT);
	/* Cannot be parsed: reported, not dropped. */
	task = wait_phase(fixture, broken, RUNTIME_STOPPED);
	assert_int_equal(task->stop, RUNTIME_STOP_FAILED_TO_START);
	assert_true(span_starts_with(task->reason, SPAN("CannotStartContainerError: ")));
	/* Started, without a supervisor: lost, not run. */
	task = wait_phase(fixture, begun, RUNTIME_STOPPED);
	assert_int_equal(task->stop, RUNTIME_STOP_LOST);
	assert_true(span_is(read_log(fixture, begun, "app"), ""));
}

/* A server that starts tasks, collects exit codes, and is killed at any time. */

enum { ROUNDS = 20, TASKS_PER_ROUND = 20, TASKS = ROUNDS * TASKS_PER_ROUND };

struct report {
	int number; /* of the task */
	int code;   /* -1: its start was answered; else what it exited with */
};

static int code_of(int number)
{
	return number % 100;
}

static struct span token_of(struct fixture *fixture, pid_t owner, int number)
{
	return arena_format(fixture->arena, "test-%d-n%d", (int)owner, number);
}

static void report(int pipe_end, int number, int code)
{
	struct report report = {.number = number, .code = code};

	if (write(pipe_end, &report, sizeof(report)) != sizeof(report))
		_exit(3);
}

/* In a process of its own that will be killed; every third task that ended is acknowledged. */
static void serve(struct fixture *fixture, pid_t owner, int round, int pipe_end)
{
	struct runtime_process_config config = {.folder = fixture->folder, .instances = 2};
	struct span *tokens;
	size_t count;
	struct err err;

	if (runtime_process_open(&config, &fixture->runtime, &err) < 0)
		_exit(1);
	for (int i = 0; i < TASKS_PER_ROUND; i++) {
		int number = round * TASKS_PER_ROUND + i;
		const struct json *spec = shell_spec(fixture,
			arena_format(fixture->arena, "echo run; exit %d", code_of(number)).data);

		if (fixture->runtime->operations->start(fixture->runtime,
			    token_of(fixture, owner, number), SPAN("machine"), spec, &err) < 0)
			_exit(2);
		report(pipe_end, number, -1);
	}
	for (;;) {
		fixture->runtime->operations->list_tasks(fixture->runtime, fixture->arena, &tokens,
			&count, &err);
		for (size_t i = 0; i < count; i++) {
			struct runtime_task *task;
			int number = atoi(strrchr(tokens[i].data, 'n') + 1);

			if (number % 3 != 0 ||
				fixture->runtime->operations->get(fixture->runtime, tokens[i],
					fixture->arena, &task, &err) < 0 ||
				task->phase != RUNTIME_STOPPED)
				continue;
			report(pipe_end, number,
				task->stop == RUNTIME_STOP_ESSENTIAL ? task->containers[0].exit_code
								     : 1000);
			fixture->runtime->operations->acknowledge(fixture->runtime, tokens[i],
				&err);
		}
		pause_a_moment();
	}
}

struct ledger {
	bool answered[TASKS], collected[TASKS];
};

/* One report; false when none is there within the time. */
static bool take_report(struct ledger *ledger, int pipe_end, int timeout_ms)
{
	struct pollfd poll_one = {.fd = pipe_end, .events = POLLIN};
	struct report one;

	if (poll(&poll_one, 1, timeout_ms) <= 0 || read(pipe_end, &one, sizeof(one)) != sizeof(one))
		return false;
	if (one.code < 0) {
		ledger->answered[one.number] = true;
		return true;
	}
	assert_int_equal(one.code, code_of(one.number));
	ledger->collected[one.number] = true;
	return true;
}

/* Lives until it has made some of its starts and a moment more. */
static void serve_and_kill(struct fixture *fixture, struct ledger *ledger, int round,
	struct random *random)
{
	uint64_t reports = 1 + random_below(random, TASKS_PER_ROUND);
	struct timespec moment = {.tv_nsec = (long)random_below(random, 20000) * 1000};
	pid_t owner = getpid(), server;
	int ends[2], status;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	server = fork();
	if (server == 0) {
		serve(fixture, owner, round, ends[1]);
		_exit(4);
	}
	close(ends[1]);
	assert_true(server > 0);
	while (reports-- > 0 && take_report(ledger, ends[0], 60000))
		;
	nanosleep(&moment, NULL);
	assert_int_equal(kill(server, SIGKILL), 0);
	assert_int_equal(waitpid(server, &status, 0), server);
	assert_true(WIFSIGNALED(status));
	while (take_report(ledger, ends[0], 0))
		;
	close(ends[0]);
}

static void test_servers_are_killed_at_any_moment(void **state)
{
	struct fixture *fixture = *state;
	struct ledger ledger = {0};
	struct random_seeded seeded;
	struct span *tokens;
	struct err err;
	size_t count;

	random_seeded_init(&seeded, 20261116);
	close_runtime(fixture);
	for (int round = 0; round < ROUNDS; round++)
		serve_and_kill(fixture, &ledger, round, &seeded.random);
	open_runtime(fixture);
	assert_int_equal(fixture->runtime->operations->list_tasks(fixture->runtime, fixture->arena,
				 &tokens, &count, &err),
		0);
	for (size_t i = 0; i < count; i++) {
		int number = atoi(strrchr(tokens[i].data, 'n') + 1);
		struct runtime_task *task = wait_phase(fixture, tokens[i], RUNTIME_STOPPED);

		assert_int_equal(task->stop, RUNTIME_STOP_ESSENTIAL);
		assert_int_equal(task->containers[0].exit_code, code_of(number));
		assert_true(span_is(read_log(fixture, tokens[i], "app"), "run\n"));
		ledger.collected[number] = true;
	}
	for (int i = 0; i < TASKS; i++)
		if (ledger.answered[i] && !ledger.collected[i])
			fail_msg("task %d was answered and its end was lost", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROCESS_TEST(test_tasks_are_adopted),
		PROCESS_TEST(test_a_lost_supervisor),
		PROCESS_TEST(test_everything_that_supervises_is_killed),
		PROCESS_TEST(test_a_killed_maintainer),
		PROCESS_TEST(test_cut_starts_are_resolved),
		PROCESS_TEST(test_servers_are_killed_at_any_moment),
		PLAIN_TEST(test_tasks_are_adopted),
		PLAIN_TEST(test_a_lost_supervisor),
		PLAIN_TEST(test_everything_that_supervises_is_killed),
		PLAIN_TEST(test_a_killed_maintainer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
