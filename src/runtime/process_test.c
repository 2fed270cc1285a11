/* The process runtime with real programs: starting, ending, stopping, reports, and errors. */
#include "runtime/test_process.h"

#include "runtime/spec.h"

static void test_exit_codes(void **state)
{
	static const struct {
		const char *script;
		int code;
	} cases[] = {
		{"exit 0", 0},
		{"exit 3", 3},
		{"exit 255", 255},
		{"kill -KILL $$", 128 + SIGKILL},
		{"kill -SEGV $$", 128 + SIGSEGV},
		{"kill -TERM $$", 128 + SIGTERM},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct runtime_task *task = run(fixture, shell_spec(fixture, cases[i].script));
		struct runtime_container *app = container_of(task, "app");

		assert_int_equal(task->stop, RUNTIME_STOP_ESSENTIAL);
		assert_true(span_is(task->reason, "Essential container in task exited"));
		assert_true(app->has_exit_code);
		assert_int_equal(app->exit_code, cases[i].code);
		assert_int_equal(app->phase, RUNTIME_STOPPED);
		assert_true(app->started_ms > 0 && app->stopped_ms >= app->started_ms);
		assert_true(task->created_ms > 0 && task->stopped_ms >= task->created_ms);
	}
}

static void test_running_and_stop(void **state)
{
	struct fixture *fixture = *state;
	struct span token = start(fixture, shell_spec(fixture, "exec sleep 1000"));
	struct runtime_task *task = wait_phase(fixture, token, RUNTIME_RUNNING);
	struct err err;

	assert_int_equal(task->phase, RUNTIME_RUNNING);
	assert_int_equal(task->containers[0].phase, RUNTIME_RUNNING);
	assert_true(task->started_ms > 0);
	assert_true(span_equal(task->token, token));
	assert_true(span_is(task->instance, "machine"));
	assert_true(span_starts_with(task->address, SPAN("127.")));
	assert_true(task->notes.length > 0);
	assert_int_equal(fixture->runtime->operations->acknowledge(fixture->runtime, token, &err),
		-EBUSY);
	stop(fixture, token, "no longer wanted");
	task = wait_phase(fixture, token, RUNTIME_STOPPED);
	assert_int_equal(task->stop, RUNTIME_STOP_REQUESTED);
	assert_true(span_is(task->reason, "no longer wanted"));
	assert_int_equal(task->containers[0].exit_code, 128 + SIGTERM);
	stop(fixture, token, "again"); /* changes nothing */
	assert_true(span_is(get(fixture, token)->reason, "no longer wanted"));
	pthread_mutex_lock(&fixture->mutex);
	assert_true(fixture->changes > 0);
	pthread_mutex_unlock(&fixture->mutex);
}

static void test_deaf_program_is_killed_after_the_timeout(void **state)
{
	struct fixture *fixture = *state;
	struct span token = start(fixture,
		spec_in(fixture, "bridge",
			"{'name':'app','image':'host','stopTimeout':1,'command':"
			"['sh','-c','trap : TERM; echo ready; while :; do sleep 0.1; done']}"));
	struct runtime_task *task;
	int64_t before;

	WAIT_FOR(span_is(read_log(fixture, token, "app"), "ready\n"));
	before = clock_steady_us(clock_system());
	stop(fixture, token, "");
	task = wait_phase(fixture, token, RUNTIME_STOPPED);
	assert_int_equal(task->containers[0].exit_code, 128 + SIGKILL);
	assert_true(clock_steady_us(clock_system()) - before >= 900 * 1000);
}

static void test_start_is_idempotent(void **state)
{
	struct fixture *fixture = *state;
	const struct json *spec = shell_spec(fixture, "echo once; exec sleep 1000");
	struct span token = start(fixture, spec);
	struct span *tokens;
	struct err err;
	size_t count;

	WAIT_FOR(span_is(read_log(fixture, token, "app"), "once\n"));
	for (int i = 0; i < 3; i++)
		assert_int_equal(fixture->runtime->operations->start(fixture->runtime, token,
					 SPAN("machine"), spec, &err),
			0);
	assert_int_equal(fixture->runtime->operations->list_tasks(fixture->runtime, fixture->arena,
				 &tokens, &count, &err),
		0);
	assert_int_equal(count, 1);
	assert_true(span_equal(tokens[0], token));
	stop(fixture, token, "");
	wait_phase(fixture, token, RUNTIME_STOPPED);
	assert_int_equal(fixture->runtime->operations->start(fixture->runtime, token,
				 SPAN("machine"), spec, &err),
		0);
	assert_int_equal(get(fixture, token)->phase, RUNTIME_STOPPED);
	assert_true(span_is(read_log(fixture, token, "app"), "once\n"));
}

static void test_unknown_tokens(void **state)
{
	struct fixture *fixture = *state;
	const struct runtime_operations *operations = fixture->runtime->operations;
	struct span token = start(fixture, shell_spec(fixture, "exit 0"));
	_buffer_ struct buffer out = {0};
	struct runtime_task *task;
	uint64_t offset;
	struct err err;

	wait_phase(fixture, token, RUNTIME_STOPPED);
	acknowledge(fixture, token);
	assert_int_equal(operations->get(fixture->runtime, token, fixture->arena, &task, &err),
		-ENOENT);
	assert_int_equal(operations->stop(fixture->runtime, token, SPAN(""), &err), -ENOENT);
	assert_int_equal(operations->acknowledge(fixture->runtime, token, &err), -ENOENT);
	assert_int_equal(operations->read_logs(fixture->runtime, token, SPAN("app"), 0, 100, &out,
				 NULL, &offset, &err),
		-ENOENT);
}

static void assert_refused(struct fixture *fixture, const char *network, const char *containers,
	const char *reason)
{
	struct span *tokens;
	struct err err = {.message = ""};
	size_t count;

	assert_int_equal(fixture->runtime->operations->start(fixture->runtime, new_token(fixture),
				 SPAN("machine"), spec_in(fixture, network, containers), &err),
		strstr(reason, "Error: ") ? RUNTIME_REASON_IS_NAMED : -EINVAL);
	if (!strstr(err.message, reason))
		fail_msg("'%s' does not say '%s'", err.message, reason);
	assert_int_equal(fixture->runtime->operations->list_tasks(fixture->runtime, fixture->arena,
				 &tokens, &count, &err),
		0);
	assert_int_equal(count, 0);
}

static void test_what_can_never_start_is_refused(void **state)
{
	static const struct {
		const char *containers, *reason;
	} cases[] = {
		{"{'name':'a','image':'nginx:1','command':['true']}",
			"CannotStartContainerError: image 'nginx:1' needs the docker runtime; the "
			"process "
			"runtime runs programs of this machine (image \"host\")"},
		{"", "containers is not a list of 1 to 10"},
		{"{'name':'a','image':'host'}", "container 'a': no command"},
		{"{'name':'../a','image':'host','command':['true']}", "name is not of"},
		{"{'name':'a','image':'host','command':['true']},"
		 "{'name':'a','image':'host','command':['true']}",
			"'a' is there twice"},
		{"{'name':'a','image':'host','command':['tr\\u0000ue']}", "NUL"},
		{"{'name':'a','image':'host','command':[1]}", "command is not a string"},
		{"{'name':'a','image':'host','command':['true'],'environment':[{'name':'A=B',"
		 "'value':''}]}",
			"no variable's"},
		{"{'name':'a','image':'host','command':['true'],'ulimits':[{'name':'speed',"
		 "'softLimit':1,'hardLimit':1}]}",
			"'speed' is no limit's name"},
		{"{'name':'a','image':'host','command':['true'],'ulimits':[{'name':'nofile',"
		 "'softLimit':2,'hardLimit':1}]}",
			"above the hard one"},
		{"{'name':'a','image':'host','command':['true'],'dependsOn':[{'containerName':'b',"
		 "'condition':'START'}]}",
			"there is no container 'b'"},
		{"{'name':'a','image':'host','command':['true'],'dependsOn':[{'containerName':'b',"
		 "'condition':'HEALTHY'}]},{'name':'b','image':'host','command':['true']}",
			"'b' has no healthCheck"},
		{"{'name':'a','image':'host','command':['true'],'dependsOn':[{'containerName':'b',"
		 "'condition':'START'}]},{'name':'b','image':'host','command':['true'],'dependsOn':"
		 "[{'containerName':'a','condition':'START'}]}",
			"leads back to it"},
		{"{'name':'a','image':'host','command':['true'],'portMappings':[{'containerPort':"
		 "70000}]}",
			"containerPort is not a whole number from 1 to 65535"},
		{"{'name':'a','image':'host','command':['true'],'mountPoints':[{'sourceVolume':'v',"
		 "'containerPath':'/v'}]}",
			"CannotCreateVolumeError: there is no volume 'v'"},
		{"{'name':'a','image':'host','command':['true'],'healthCheck':{'command':['true']}"
		 "}",
			"neither CMD nor CMD-SHELL"},
		{"{'name':'a','image':'host','command':['true'],'stopTimeout':-1}",
			"stopTimeout is not a whole number"},
	};
	struct fixture *fixture = *state;
	struct err err;

	for (size_t i = 0; i < LENGTH(cases); i++)
		assert_refused(fixture, "bridge", cases[i].containers, cases[i].reason);
	assert_refused(fixture, "tokenring", "{'name':'a','image':'host','command':['true']}",
		"networkMode 'tokenring' is unknown");
	assert_int_equal(fixture->runtime->operations->start(fixture->runtime, SPAN("a/b"),
				 SPAN("machine"), shell_spec(fixture, "exit 0"), &err),
		-EINVAL);
	assert_int_equal(fixture->runtime->operations->start(fixture->runtime, SPAN("a"),
				 SPAN("machine-3"), shell_spec(fixture, "exit 0"), &err),
		-EINVAL);
}

static void test_instances_share_the_machine(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_instance *instances;
	struct err err;
	size_t count;

	assert_int_equal(fixture->runtime->operations->list_instances(fixture->runtime,
				 fixture->arena, &instances, &count, &err),
		0);
	assert_int_equal(count, 2);
	assert_true(span_is(instances[0].id, "machine"));
	assert_true(span_is(instances[1].id, "machine-2"));
	assert_int_equal(instances[0].cpu, sysconf(_SC_NPROCESSORS_ONLN) * 1024 / 2);
	assert_true(instances[0].memory > 0 && instances[0].memory == instances[1].memory);
	assert_true(json_count(instances[0].attributes) > 0);
}

static void test_a_missing_supervisor_is_named(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_process_config config = {
		.folder = fixture->folder, .supervisor = "/nowhere/slipway-task"};
	struct runtime *other;
	struct err err;

	assert_int_equal(runtime_process_open(&config, &other, &err), -ENOENT);
	assert_non_null(strstr(err.message, "/nowhere/slipway-task"));
}

/* Every process that a program starts, and hides in any way, is gone when the task is. */
static void test_nothing_escapes(void **state)
{
	struct fixture *fixture = *state;
	struct span token = start(fixture,
		shell_spec(fixture,
			"setsid sleep 1000 & (setsid sh -c \\\"sleep 1000 & sleep 1000\\\" &) ; "
			"trap : TERM; sleep 1000 & echo ready; sleep 0.2; exit 5"));
	_free_ char *mark = memory_format("SLIPWAY_TASK=%.*s", SPAN_ARGS(token));
	struct runtime_task *task = wait_phase(fixture, token, RUNTIME_STOPPED);

	assert_int_equal(task->containers[0].exit_code, 5);
	assert_int_equal(count_processes("environ", mark, NULL), 0);
}

static void test_many_at_once(void **state)
{
	enum { TASKS = 60 };
	struct fixture *fixture = *state;
	struct span tokens[TASKS];

	for (int i = 0; i < TASKS; i++)
		tokens[i] = start(fixture,
			shell_spec(fixture, arena_format(fixture->arena, "exit %d", i % 7).data));
	for (int i = 0; i < TASKS; i++) {
		struct runtime_task *task = wait_phase(fixture, tokens[i], RUNTIME_STOPPED);

		assert_int_equal(task->stop, RUNTIME_STOP_ESSENTIAL);
		assert_int_equal(task->containers[0].exit_code, i % 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROCESS_TEST(test_exit_codes),
		PROCESS_TEST(test_running_and_stop),
		PROCESS_TEST(test_deaf_program_is_killed_after_the_timeout),
		PROCESS_TEST(test_start_is_idempotent),
		PROCESS_TEST(test_unknown_tokens),
		PROCESS_TEST(test_what_can_never_start_is_refused),
		PROCESS_TEST(test_instances_share_the_machine),
		PROCESS_TEST(test_a_missing_supervisor_is_named),
		PROCESS_TEST(test_nothing_escapes),
		PROCESS_TEST(test_many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
