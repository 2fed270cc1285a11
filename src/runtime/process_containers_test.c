/* Dependencies between the containers of a task, and the environment of their programs. */
#include "runtime/test_process.h"

#define SH(name, script, more)                                                                     \
	"{'name':'" name "','image':'host','command':['sh','-c','" script "']" more "}"

/* clang-format off */
static const char essential_spec[] =
	SH("helper", "exit 0", ",'essential':false") ","
	SH("main", "exit 4", ",'dependsOn':[{'containerName':'helper','condition':'SUCCESS'},"
		"{'containerName':'other','condition':'START'}]") ","
	SH("other", "exec sleep 1000", ",'essential':false");

/* Each writes its name; its condition says which names must exist before. START means that the
 * program was started, not how far it is. */
static const char conditions_spec[] =
	SH("last", "echo last >> @/order",
		",'dependsOn':[{'containerName':'complete','condition':'COMPLETE'},"
		"{'containerName':'healthy','condition':'HEALTHY'}]") ","
	SH("complete", "sleep 0.2; echo complete >> @/order; exit 3", ",'essential':false,"
		"'dependsOn':[{'containerName':'success','condition':'SUCCESS'}]") ","
	SH("healthy", "echo healthy >> @/order; exec sleep 1000", ",'essential':false,"
		"'dependsOn':[{'containerName':'complete','condition':'COMPLETE'}],"
		"'healthCheck':{'command':['CMD-SHELL','grep -q healthy @/order'],'interval':1}") ","
	SH("success", "until grep -q first @/order; do sleep 0.05; done; echo success >> @/order",
		",'essential':false,'dependsOn':[{'containerName':'first','condition':'START'}]") ","
	SH("first", "echo first >> @/order; exec sleep 1000", ",'essential':false");

static const char reverse_spec[] =
	SH("base", "trap \\\"echo base >> @/order; exit 0\\\" TERM; echo ready; "
		"while :; do sleep 0.05; done", "") ","
	SH("middle", "trap \\\"sleep 0.2; echo middle >> @/order; exit 0\\\" TERM; echo ready; "
		"while :; do sleep 0.05; done",
		",'dependsOn':[{'containerName':'base','condition':'START'}]") ","
	SH("top", "trap \\\"sleep 0.2; echo top >> @/order; exit 0\\\" TERM; echo ready; "
		"while :; do sleep 0.05; done",
		",'dependsOn':[{'containerName':'middle','condition':'START'}]");

static const char health_spec[] =
	SH("app", "exec sleep 1000",
		",'healthCheck':{'command':['CMD','test','-e','@/well'],'interval':1,'retries':2}") ","
	SH("slow", "exec sleep 1000",
		",'healthCheck':{'command':['CMD-SHELL','sleep 1000'],'interval':1,'timeout':1,"
		"'retries':1}") ","
	SH("patient", "exec sleep 1000",
		",'healthCheck':{'command':['CMD-SHELL','exit 1'],'interval':1,'retries':1,"
		"'startPeriod':1000}") ","
	SH("plain", "exec sleep 1000", "");

/* Fails three times, then exits with a code that must not be retried. */
static const char restarts_spec[] =
	SH("app", "echo x >> @/runs; echo run; [ $(wc -l < @/runs) -lt 4 ] && exit 1; exit 42",
		",'restartPolicy':{'enabled':true,'ignoredExitCodes':[42],'restartAttemptPeriod':0}") ","
	SH("brief", "exit 5", ",'essential':false,'restartPolicy':{'enabled':true,"
		"'restartAttemptPeriod':1000}");
/* clang-format on */

static void test_essential_container_ends_the_task(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_task *task = run(fixture, spec_in(fixture, "bridge", essential_spec));

	assert_int_equal(task->stop, RUNTIME_STOP_ESSENTIAL);
	assert_int_equal(container_of(task, "helper")->exit_code, 0);
	assert_int_equal(container_of(task, "main")->exit_code, 4);
	assert_int_equal(container_of(task, "other")->exit_code, 128 + SIGTERM);
}

static void assert_file(struct fixture *fixture, const char *name, const char *text)
{
	_free_ char *path = memory_format("%s/%s", fixture->folder, name);
	_buffer_ struct buffer found = {0};
	struct err err;

	assert_int_equal(file_read(path, 1000, &found, &err), 0);
	unlink(path);
	assert_string_equal(found.data, text);
}

static void test_conditions(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_task *task = run(fixture, spec_in(fixture, "bridge", conditions_spec));

	assert_file(fixture, "order", "first\nsuccess\ncomplete\nhealthy\nlast\n");
	assert_int_equal(container_of(task, "complete")->exit_code, 3);
	assert_int_equal(container_of(task, "last")->exit_code, 0);
	assert_int_equal(container_of(task, "healthy")->health, RUNTIME_HEALTHY);
}

static void test_dependencies_that_fail(void **state)
{
	static const struct {
		const char *first, *reason;
	} cases[] = {
		{SH("first", "exit 1", ",'essential':false"),
			"DependencyError: container 'first' did not succeed"},
		{SH("first", "exec sleep 1000", ",'essential':false,'startTimeout':1"),
			"DependencyError: container 'first' did not succeed within its start "
			"timeout"},
		{"{'name':'first','image':'host','command':['/nowhere/at-all'],'essential':false}",
			"DependencyError: container 'first' did not succeed"},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct runtime_task *task =
			run(fixture, spec_in(fixture, "bridge",
					     arena_format(fixture->arena,
						     "%s," SH("second", "exit 0",
							     ",'dependsOn':[{'containerName':'"
							     "first','condition':"
							     "'SUCCESS'}]"),
						     cases[i].first)
						     .data));

		assert_int_equal(task->stop, RUNTIME_STOP_FAILED_TO_START);
		assert_true(span_is(task->reason, cases[i].reason));
		assert_false(container_of(task, "second")->has_exit_code);
		assert_int_equal(container_of(task, "second")->started_ms, 0);
	}
}

/* Dependents go first, and what they depend on is still there then. */
static void test_stop_in_reverse_order(void **state)
{
	static const char *const names[] = {"base", "middle", "top"};
	struct fixture *fixture = *state;
	struct span token = start(fixture, spec_in(fixture, "bridge", reverse_spec));
	struct runtime_task *task;

	for (size_t i = 0; i < LENGTH(names); i++)
		WAIT_FOR(span_is(read_log(fixture, token, names[i]), "ready\n"));
	stop(fixture, token, "");
	task = wait_phase(fixture, token, RUNTIME_STOPPED);
	assert_int_equal(task->stop, RUNTIME_STOP_REQUESTED);
	assert_file(fixture, "order", "top\nmiddle\nbase\n");
	for (size_t i = 0; i < LENGTH(names); i++)
		assert_int_equal(task->containers[i].exit_code, 0);
}

static void test_health(void **state)
{
	struct fixture *fixture = *state;
	_free_ char *file = memory_format("%s/well", fixture->folder);
	struct span token = start(fixture, spec_in(fixture, "bridge", health_spec));
	struct err err;

	WAIT_FOR(container_of(get(fixture, token), "app")->health == RUNTIME_UNHEALTHY);
	assert_int_equal(file_replace(file, SPAN("well"), 0644, &err), 0);
	WAIT_FOR(container_of(get(fixture, token), "app")->health == RUNTIME_HEALTHY);
	WAIT_FOR(container_of(get(fixture, token), "slow")->health == RUNTIME_UNHEALTHY);
	assert_int_equal(container_of(get(fixture, token), "patient")->health,
		RUNTIME_HEALTH_UNKNOWN);
	assert_int_equal(container_of(get(fixture, token), "plain")->health, RUNTIME_HEALTH_NONE);
	assert_int_equal(get(fixture, token)->phase, RUNTIME_RUNNING);
	unlink(file);
}

static void test_restarts(void **state)
{
	struct fixture *fixture = *state;
	struct span token = start(fixture, spec_in(fixture, "bridge", restarts_spec));
	struct runtime_task *task = wait_phase(fixture, token, RUNTIME_STOPPED);

	assert_file(fixture, "runs", "x\nx\nx\nx\n");
	assert_int_equal(container_of(task, "app")->restarts, 3);
	assert_int_equal(container_of(task, "app")->exit_code, 42);
	assert_true(span_is(read_log(fixture, token, "app"), "run\nrun\nrun\nrun\n"));
	assert_int_equal(container_of(task, "brief")->restarts, 0);
}

static void test_programs_that_cannot_start(void **state)
{
	static const struct {
		const char *container, *reason;
	} cases[] = {
		{"{'name':'app','image':'host','command':['no-such-program-anywhere']}",
			"CannotStartContainerError: exec: \"no-such-program-anywhere\": No such "
			"file or "
			"directory"},
		{"{'name':'app','image':'host','command':['/etc/passwd']}",
			"CannotStartContainerError: exec: \"/etc/passwd\": Permission denied"},
		{"{'name':'app','image':'host','command':['true'],'workingDirectory':'/no/such'}",
			"CannotStartContainerError: working directory '/no/such': No such file or "
			"directory"},
		{"{'name':'app','image':'host','command':['true'],'user':'no-such-user'}",
			"CannotStartContainerError: unable to find user no-such-user"},
		/* Above fs.nr_open not even root may go. */
		{"{'name':'app','image':'host','command':['true'],'ulimits':[{'name':'nofile',"
		 "'softLimit':1024,'hardLimit':4000000000}]}",
			"CannotStartContainerError: ulimit nofile: hard limit 4000000000 is above "
			"this "
			"machine's "},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct runtime_task *task =
			run(fixture, spec_in(fixture, "bridge", cases[i].container));

		assert_int_equal(task->stop, RUNTIME_STOP_FAILED_TO_START);
		if (!span_starts_with(task->reason, span_of(cases[i].reason)))
			fail_msg("%.*s", SPAN_ARGS(task->reason));
		assert_true(span_equal(task->reason, task->containers[0].reason));
		assert_false(task->containers[0].has_exit_code);
		assert_int_equal(task->containers[0].started_ms, 0);
	}
}

static struct span output_of(struct fixture *fixture, const char *network, const char *containers)
{
	struct span token = start(fixture, spec_in(fixture, network, containers));
	struct runtime_task *task = wait_phase(fixture, token, RUNTIME_STOPPED);

	if (task->containers[0].exit_code != 0 || !task->containers[0].has_exit_code)
		fail_msg("exit code %d: %.*s", task->containers[0].exit_code,
			SPAN_ARGS(task->reason));
	return read_log(fixture, token, "app");
}

static void test_environment(void **state)
{
	struct fixture *fixture = *state;
	struct span text;

	setenv("LEAK", "server", 1);
	text = output_of(fixture, "bridge",
		"{'name':'app','image':'host','entryPoint':['sh','-c'],'hostname':'deck',"
		"'workingDirectory':'/usr','command':['pwd; ulimit -n; ulimit -Hn; env | sort'],"
		"'environment':[{'name':'A','value':'1 2'},{'name':'HOME','value':'/h'},"
		"{'name':'SLIPWAY_TASK','value':'other'}],"
		"'ulimits':[{'name':'nofile','softLimit':100,'hardLimit':200}]}");
	assert_true(span_starts_with(text, SPAN("/usr\n100\n200\n")));
	assert_non_null(strstr(text.data, "\nA=1 2\n"));
	assert_non_null(strstr(text.data, "\nHOME=/h\n"));
	assert_non_null(strstr(text.data, "\nHOSTNAME=deck\n"));
	assert_non_null(strstr(text.data, "\nPATH=/usr/local/sbin:"));
	assert_non_null(strstr(text.data, "\nSLIPWAY_ADDRESS=127."));
	assert_non_null(strstr(text.data, "\nSLIPWAY_TASK=test-"));
	assert_null(strstr(text.data, "CMOCKA"));
	assert_null(strstr(text.data, "LEAK"));
}

static void test_user(void **state)
{
	struct fixture *fixture = *state;

	if (geteuid() == 0) {
		assert_true(span_is(output_of(fixture, "bridge",
					    "{'name':'app','image':'host','user':'65534:65533',"
					    "'command':['sh','-c','id -u; id -g']}"),
			"65534\n65533\n"));
		assert_true(span_is(output_of(fixture, "bridge",
					    "{'name':'app','image':'host','user':'daemon',"
					    "'command':['id','-un']}"),
			"daemon\n"));
	} else {
		struct runtime_task *task = run(fixture,
			spec_in(fixture, "bridge",
				"{'name':'app','image':'host','user':'root','command':['true']}"));

		assert_int_equal(task->stop, RUNTIME_STOP_FAILED_TO_START);
		assert_true(span_is(task->reason, "CannotStartContainerError: user root: only root "
						  "can run programs as another "
						  "user"));
	}
}

static void test_ports_and_addresses(void **state)
{
	struct fixture *fixture = *state;
	const char *container =
		"{'name':'app','image':'host','command':['sh','-c','echo $PORT $PORT_80 $PORT_53 "
		"$SLIPWAY_ADDRESS; exec sleep "
		"1000'],'portMappings':[{'containerPort':80,'hostPort':0,"
		"'protocol':'tcp'},{'containerPort':53,'hostPort':0,'protocol':'udp'}]}";
	struct span tokens[3];
	struct runtime_task *tasks[3];

	for (int i = 0; i < 3; i++) {
		tokens[i] =
			start(fixture, spec_in(fixture, i < 2 ? "bridge" : "awsvpc", container));
		tasks[i] = wait_phase(fixture, tokens[i], RUNTIME_RUNNING);
	}
	for (int i = 0; i < 3; i++) {
		struct runtime_binding *bindings = tasks[i]->containers[0].bindings;
		struct span said = arena_format(fixture->arena, "%d %d %d %.*s\n",
			bindings[0].host_port, bindings[0].host_port, bindings[1].host_port,
			SPAN_ARGS(tasks[i]->address));

		assert_int_equal(tasks[i]->containers[0].binding_count, 2);
		assert_int_equal(bindings[0].container_port, 80);
		assert_false(bindings[0].udp);
		assert_true(bindings[1].udp);
		assert_true(span_equal(bindings[0].address, tasks[i]->address));
		WAIT_FOR(span_equal(read_log(fixture, tokens[i], "app"), said));
	}
	assert_int_equal(tasks[2]->containers[0].bindings[0].host_port, 80);
	assert_true(tasks[0]->containers[0].bindings[0].host_port > 1023);
	assert_int_not_equal(tasks[0]->containers[0].bindings[0].host_port,
		tasks[1]->containers[0].bindings[0].host_port);
	assert_false(span_equal(tasks[0]->address, tasks[1]->address));
	assert_false(span_equal(tasks[1]->address, tasks[2]->address));
}

static void test_notes_say_what_is_missing(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_task *task =
		run(fixture, spec_in(fixture, "none",
				     "{'name':'app','image':'host','command':['true'],'memory':64,"
				     "'readonlyRootFilesystem':true,'privileged':true}"));

	assert_true(span_is(task->address, ""));
	assert_non_null(strstr(task->notes.data, "plain mode"));
	assert_non_null(strstr(task->notes.data, "networkMode none"));
	assert_non_null(strstr(task->notes.data, "privileged"));
	assert_non_null(strstr(task->notes.data, "read-only"));
}

/* With control groups a limit holds and is reported when it is hit; without, the notes say so. */
static void test_limits(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_task *task = run(fixture,
		spec_in(fixture, "bridge",
			"{'name':'app','image':'host','command':['true'],'memory':64,'cpu':256}"));

	assert_int_equal(task->containers[0].exit_code, 0);
	if (geteuid() != 0)
		assert_non_null(strstr(task->notes.data, "memory is reserved, not limited"));
	if (strstr(task->notes.data, "memory is reserved, not limited"))
		return;
	/* It allocates more and more, and is alone in its group. */
	task = run(fixture,
		spec_in(fixture, "bridge",
			SH("app", "tail /dev/zero; exit 0", ",'memory':32") "," SH("other",
				"exec sleep 1000", ",'essential':false,'memory':32")));
	assert_int_equal(container_of(task, "app")->exit_code, 0); /* the shell survives */
	task = run(fixture, spec_in(fixture, "bridge",
				    "{'name':'app','image':'host','command':['tail','/dev/"
				    "zero'],'memory':32}"));
	assert_int_equal(task->containers[0].exit_code, 128 + SIGKILL);
	assert_true(span_starts_with(task->containers[0].reason, SPAN("OutOfMemoryError: ")));
}

/* The supervisor's own descriptors are not inherited. */
static void test_descriptors_are_the_standard_ones(void **state)
{
	struct fixture *fixture = *state;
	static const char *const limits[] = {"", ",'memory':256"};

	for (size_t i = 0; i < LENGTH(limits); i++) {
		struct span token = start(fixture,
			spec_in(fixture, "awsvpc",
				arena_format(fixture->arena,
					"{'name':'app','image':'host'%s,'command':['sh','-c',"
					"'ls /proc/$$/fd; true']}",
					limits[i])
					.data));

		wait_phase(fixture, token, RUNTIME_STOPPED);
		assert_true(span_is(read_log(fixture, token, "app"), "0\n1\n2\n"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROCESS_TEST(test_descriptors_are_the_standard_ones),
		PLAIN_TEST(test_descriptors_are_the_standard_ones),
		PROCESS_TEST(test_essential_container_ends_the_task),
		PROCESS_TEST(test_conditions),
		PROCESS_TEST(test_dependencies_that_fail),
		PROCESS_TEST(test_stop_in_reverse_order),
		PROCESS_TEST(test_health),
		PROCESS_TEST(test_restarts),
		PROCESS_TEST(test_programs_that_cannot_start),
		PROCESS_TEST(test_environment),
		PROCESS_TEST(test_user),
		PROCESS_TEST(test_ports_and_addresses),
		PLAIN_TEST(test_notes_say_what_is_missing),
		PROCESS_TEST(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
