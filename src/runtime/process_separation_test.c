/*
 * Isolation of tasks, with real programs: processes, volumes, host names, networks. Where this
 * machine does not allow it, the same tests check that the task runs and says so.
 */
#include "runtime/test_process.h"
#include "runtime/test_process_network.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static struct span output_of(struct fixture *fixture, const struct json *spec,
	struct runtime_task **ret_task)
{
	struct span token = start(fixture, spec), text;

	*ret_task = wait_phase(fixture, token, RUNTIME_STOPPED);
	text = read_log(fixture, token, "app");
	acknowledge(fixture, token);
	return text;
}

static const struct json *with_volumes(struct fixture *fixture, const char *network,
	const char *volumes, const char *containers)
{
	struct json *spec = json_copy_object(fixture->arena, spec_in(fixture, network, containers));
	struct span text = arena_format(fixture->arena, "[%s]", volumes);
	_buffer_ struct buffer list = {0};
	struct json *parsed;

	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '@')
			buffer_add_string(&list, fixture->folder);
		else
			buffer_add_char(&list, text.data[i] == '\'' ? '"' : text.data[i]);
	}
	assert_int_equal(json_parse(arena_copy_span(fixture->arena, buffer_span(&list)),
				 fixture->arena, &parsed, NULL),
		0);
	json_set(fixture->arena, spec, "volumes", parsed);
	return spec;
}

static void test_processes(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_task *task;
	char ours[64] = "";
	struct span text = output_of(fixture,
		shell_spec(fixture,
			"readlink /proc/self/ns/pid; tr \\\\\\\\000 : < /proc/1/cmdline"),
		&task);
	bool separated = is_separated(fixture, task);

	assert_true(readlink("/proc/self/ns/pid", ours, sizeof(ours) - 1) > 0);
	assert_int_equal(strstr(text.data, ours) == NULL, separated);
	assert_int_equal(strstr(text.data, "slipway-task:") != NULL, separated);
}

/* Root in a task may kill whatever it sees, and that is the task. */
static void test_a_program_that_kills_all_it_sees(void **state)
{
	struct fixture *fixture = *state;
	struct span token, other = start(fixture, shell_spec(fixture, "exec sleep 1000"));
	struct runtime_task *task = wait_phase(fixture, other, RUNTIME_RUNNING);

	if (!is_separated(fixture, task))
		return; /* it would be the machine */
	token = start(fixture, shell_spec(fixture, "kill -KILL -1; exit 3"));
	task = wait_phase(fixture, token, RUNTIME_STOPPED);
	assert_int_equal(task->stop, RUNTIME_STOP_ESSENTIAL);
	assert_int_equal(get(fixture, other)->phase, RUNTIME_RUNNING);
}

static void test_hostname(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_task *task;
	char ours[256] = "", after[256] = "";
	struct span text;

	gethostname(ours, sizeof(ours) - 1);
	text = output_of(fixture,
		spec_in(fixture, "bridge",
			"{'name':'app','image':'host','hostname':'deck','command':['uname','-n']}"),
		&task);
	if (is_separated(fixture, task))
		assert_true(span_is(text, "deck\n"));
	else
		assert_non_null(strstr(task->notes.data, "hostname is only set"));
	gethostname(after, sizeof(after) - 1);
	assert_string_equal(ours, after);
}

/* Volumes. */

static void test_volumes(void **state)
{
	struct fixture *fixture = *state;
	_free_ char *shared = memory_format("%s/.shared", fixture->folder);
	_free_ char *built = memory_format("%s/.shared/from-task", fixture->folder);
	_free_ char *requested = memory_format("%s/.shared/given", fixture->folder);
	struct runtime_task *task;
	struct span text;
	struct err err;

	assert_int_equal(file_make_folder(shared, 0777, &err), 0);
	assert_int_equal(file_replace(requested, SPAN("cargo\n"), 0644, &err), 0);
	text = output_of(fixture,
		with_volumes(fixture, "bridge",
			"{'name':'own','host':{}},{'name':'shared','host':{'sourcePath':'@/"
			".shared'}},"
			"{'name':'one','host':{'sourcePath':'@/.shared/given'}}",
			"{'name':'writer','image':'host','essential':false,'command':['sh','-c',"
			"'echo hello > /slipway-test-volume/deep/greeting; echo x > "
			"/usr/slipway-test-data/from-task'],'mountPoints':[{'sourceVolume':'own',"
			"'containerPath':'/slipway-test-volume/deep'},{'sourceVolume':'shared',"
			"'containerPath':'/usr/slipway-test-data'}]},"
			"{'name':'app','image':'host','dependsOn':[{'containerName':'writer',"
			"'condition':'SUCCESS'}],'command':['sh','-c','cat /mail/greeting "
			"/slipway-test-file; test -x /usr/bin/env && test -d /proc/1 && ls "
			"/srv-test; "
			"echo y > /srv-test/no || echo read-only; pwd'],"
			"'workingDirectory':'/srv-test','mountPoints':[{'sourceVolume':'own',"
			"'containerPath':'/mail'},{'sourceVolume':'one','containerPath':"
			"'/slipway-test-file'},{'sourceVolume':'shared','containerPath':'/"
			"srv-test',"
			"'readOnly':true}]}"),
		&task);
	if (is_separated(fixture, task)) {
		if (!span_starts_with(text, SPAN("hello\ncargo\nfrom-task\ngiven\n")))
			fail_msg("%s | %s", text.data, task->reason.data);
		assert_non_null(strstr(text.data, "read-only\n/srv-test\n"));
		assert_true(file_contains(built, "x"));
		assert_int_equal(unlink(built), 0);
	} else {
		assert_int_equal(task->stop, RUNTIME_STOP_FAILED_TO_START);
		assert_non_null(strstr(container_of(task, "writer")->reason.data,
			"CannotCreateVolumeError: "));
	}
	/* The machine has none of it. */
	assert_int_equal(access("/slipway-test-volume", F_OK), -1);
	assert_int_equal(access("/usr/slipway-test-data", F_OK), -1);
	assert_int_equal(access("/mail/greeting", F_OK), -1);
	unlink(requested);
	assert_int_equal(rmdir(shared), 0);
}

static void test_a_volume_at_its_own_path(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_task *task;
	struct span text = output_of(fixture,
		with_volumes(fixture, "bridge", "{'name':'users','host':{'sourcePath':'/etc'}}",
			"{'name':'app','image':'host','command':['sh','-c','test -s /etc/passwd && "
			"echo "
			"there'],'mountPoints':[{'sourceVolume':'users','containerPath':'/etc'}]}"),
		&task);

	assert_true(span_is(text, "there\n"));
	is_separated(fixture, task);
}

static void test_readonly_root(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_task *task;
	_free_ char *left = memory_format("%s/.left", fixture->folder);
	struct span text = output_of(fixture,
		with_volumes(fixture, "bridge", "{'name':'own','host':{}}",
			"{'name':'app','image':'host','readonlyRootFilesystem':true,"
			"'command':['sh','-c','echo x > @/.left || echo refused; echo ok > "
			"/dev/null && "
			"echo ok']}"),
		&task);

	if (is_separated(fixture, task)) {
		assert_non_null(strstr(text.data, "refused\nok\n"));
		assert_int_equal(access(left, F_OK), -1);
	} else {
		assert_non_null(strstr(task->notes.data, "read-only"));
		assert_int_equal(unlink(left), 0);
	}
}

/* Networks. */

static bool has_own_network(const struct runtime_task *task)
{
	return task->address.length > 0 && !span_starts_with(task->address, SPAN("127."));
}

static void test_addresses_of_their_own(void **state)
{
	struct fixture *fixture = *state;
	uint16_t port = free_port();
	struct span one = start_server(fixture, "awsvpc", port, "one"), two;
	struct runtime_task *first = wait_phase(fixture, one, RUNTIME_RUNNING), *second, *again;

	if (!has_own_network(first)) {
		if (is_separated(fixture, first))
			assert_non_null(strstr(first->notes.data, "no network of its own: "));
		assert_int_equal(first->mac.length, 0);
		return;
	}
	two = start_server(fixture, "awsvpc", port, "two");
	second = wait_phase(fixture, two, RUNTIME_RUNNING);
	assert_false(span_equal(first->address, second->address));
	assert_false(span_equal(first->mac, second->mac));
	assert_int_equal(first->mac.length, strlen("02:74:00:00:00:00"));
	assert_true(span_equal(first->containers[0].bindings[0].address, first->address));
	WAIT_FOR(span_is(ask(fixture, first->address, port), "one"));
	WAIT_FOR(span_is(ask(fixture, second->address, port), "two"));
	/* They outlive the server with their addresses. */
	close_runtime(fixture);
	assert_true(any_interface_of(fixture->folder));
	assert_true(span_is(ask(fixture, first->address, port), "one"));
	open_runtime(fixture);
	again = get(fixture, one);
	assert_true(span_equal(again->address, first->address));
	assert_true(span_equal(again->mac, first->mac));
	stop(fixture, one, "");
	wait_phase(fixture, one, RUNTIME_STOPPED);
	assert_true(span_is(ask(fixture, second->address, port), "two"));
	/* And others get theirs from the same network. */
	acknowledge(fixture, one);
	one = start_server(fixture, "awsvpc", port, "three");
	again = wait_phase(fixture, one, RUNTIME_RUNNING);
	WAIT_FOR(span_is(ask(fixture, again->address, port), "three"));
}

/* One connect each, at once: a port that does not forward yet would lose the first packet. */
static void test_reached_at_once(void **state)
{
	struct fixture *fixture = *state;
	uint16_t port = free_port();

	for (int i = 0; i < 20; i++) {
		struct span token = start_server(fixture, "awsvpc", port, "here");
		struct runtime_task *task = wait_phase(fixture, token, RUNTIME_RUNNING);

		if (!has_own_network(task))
			return;
		WAIT_FOR(span_is(ask(fixture, task->address, port), "here"));
		stop(fixture, token, "");
		wait_phase(fixture, token, RUNTIME_STOPPED);
		acknowledge(fixture, token);
	}
}

/* Two servers on one machine, each with a network. */
static void test_two_runtimes(void **state)
{
	struct fixture *fixture = *state, *other;
	uint16_t port = free_port();
	struct span one, two;
	struct runtime_task *first, *second;
	void *state_of_other = NULL;

	assert_int_equal(set_up_in(&state_of_other, fixture->plain), 0);
	other = state_of_other;
	other->names = 1000;
	one = start_server(fixture, "awsvpc", port, "one");
	two = start_server(other, "awsvpc", port, "two");
	first = wait_phase(fixture, one, RUNTIME_RUNNING);
	second = wait_phase(other, two, RUNTIME_RUNNING);
	if (has_own_network(first)) {
		assert_true(has_own_network(second));
		WAIT_FOR(span_is(ask(fixture, first->address, port), "one"));
		WAIT_FOR(span_is(ask(fixture, second->address, port), "two"));
	}
	stop(other, two, "");
	wait_phase(other, two, RUNTIME_STOPPED);
	acknowledge(other, two);
	close_runtime(other);
	if (has_own_network(first)) {
		WAIT_FOR(!any_interface_of(other->folder));
		assert_true(span_is(ask(fixture, first->address, port), "one"));
	}
	/* The test, not the runtime, checks for leftovers. */
	stop(fixture, one, "");
	wait_phase(fixture, one, RUNTIME_STOPPED);
	tear_down(&state_of_other);
}

/* Without a server, the last task removes the bridge. */
static void test_networks_go_with_their_tasks(void **state)
{
	struct fixture *fixture = *state;
	_free_ char *go = memory_format("%s/.go", fixture->folder);
	struct runtime_task *task = NULL;
	struct err err;

	for (int i = 0; i < 3; i++)
		task = wait_phase(fixture,
			start(fixture, spec_in(fixture, "awsvpc",
					       "{'name':'app','image':'host','command':['sh','-c',"
					       "'while [ ! -e @/.go ]; do sleep 0.05; done']}")),
			RUNTIME_RUNNING);
	close_runtime(fixture);
	assert_int_equal(any_interface_of(fixture->folder), has_own_network(task));
	assert_int_equal(file_replace(go, SPAN(""), 0600, &err), 0);
	WAIT_FOR(!any_interface_of(fixture->folder));
	WAIT_FOR(count_processes("cmdline", fixture->folder, NULL) == 0);
	unlink(go);
}

static void test_no_network(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_task *task;
	struct span text = output_of(fixture,
		spec_in(fixture, "none",
			"{'name':'app','image':'host','command':['sh','-c','tail -n +3 "
			"/proc/net/dev | cut -d: -f1 | tr -d \\\" \\\"']}"),
		&task);

	assert_int_equal(task->address.length, 0);
	if (is_separated(fixture, task) && !strstr(task->notes.data, "no network of its own"))
		assert_true(span_is(text, "lo\n"));
	else
		assert_non_null(strstr(task->notes.data, "networkMode none"));
}

/* Root without the rights of root: everything runs, in plain mode, and says why. */

static void run_without_rights(struct fixture *fixture, int code)
{
	struct runtime_task *task;

	if (prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) < 0 ||
		prctl(PR_CAPBSET_DROP, CAP_NET_ADMIN, 0, 0, 0) < 0)
		_exit(1);
	open_runtime(fixture);
	task = run(fixture,
		spec_in(fixture, "awsvpc",
			"{'name':'app','image':'host','command':['sh','-c','exit 6']}"));
	close_runtime(fixture);
	if (task->containers[0].exit_code != 6 ||
		write(code, task->notes.data, task->notes.length) < 0)
		_exit(2);
	_exit(0);
}

static void test_root_without_rights(void **state)
{
	struct fixture *fixture = *state;
	char notes[4096] = "";
	int ends[2], status;
	pid_t child;

	if (geteuid() != 0)
		return; /* every other test is this one */
	close_runtime(fixture);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	if (child == 0)
		run_without_rights(fixture, ends[1]);
	close(ends[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(read(ends[0], notes, sizeof(notes) - 1) > 0);
	close(ends[0]);
	assert_non_null(strstr(notes, "plain mode, make namespaces: Operation not permitted"));
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		PROCESS_TEST(test_processes),
		PROCESS_TEST(test_a_program_that_kills_all_it_sees),
		PROCESS_TEST(test_hostname),
		PROCESS_TEST(test_volumes),
		PROCESS_TEST(test_a_volume_at_its_own_path),
		PROCESS_TEST(test_readonly_root),
		PROCESS_TEST(test_addresses_of_their_own),
		PROCESS_TEST(test_reached_at_once),
		PROCESS_TEST(test_two_runtimes),
		PROCESS_TEST(test_networks_go_with_their_tasks),
		PROCESS_TEST(test_no_network),
		PROCESS_TEST(test_root_without_rights),
		PLAIN_TEST(test_processes),
		PLAIN_TEST(test_hostname),
		PLAIN_TEST(test_volumes),
		PLAIN_TEST(test_a_volume_at_its_own_path),
		PLAIN_TEST(test_readonly_root),
		PLAIN_TEST(test_no_network),
	};

	if (count == 4 && strcmp(arguments[1], "serve") == 0)
		return serve(arguments[1], arguments[2], arguments[3]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
