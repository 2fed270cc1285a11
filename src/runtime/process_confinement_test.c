/*
 * Tasks that try to misuse the machine, with real programs: as root with namespaces, and as an ordinary user, with a
 * user namespace where the kernel allows it. Bounds are small, and so are the loops that try to pass them.
 */
#include "runtime/test_process.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define PROCESSES_MAX 40
#define USER 65534
#define DEFAULT_CAPABILITIES UINT64_C(0xa80425fb) /* as dockerd 20.10 to 27 sets them */

static char base[64];

/* The runtime's folder is in a state folder, as a server has it. */
static int set_up_state(void **state)
{
	struct fixture *fixture;
	_free_ char *secret = NULL;

	if (set_up(state) < 0)
		return -1;
	fixture = *state;
	close_runtime(fixture);
	snprintf(base, sizeof(base), "%s", fixture->folder);
	chmod(base, 0755);
	secret = memory_format("%s/admin-key.json", base);
	if (file_replace(secret, SPAN("text-of-the-state"), 0600, NULL) < 0)
		return -1;
	snprintf(fixture->folder, sizeof(fixture->folder), "%.50s/tasks", base);
	fixture->hidden[0] = base;
	fixture->hidden[1] = "/nonexistent/secrets"; /* mounted later, say */
	fixture->processes_max = PROCESSES_MAX;
	return 0;
}

static int tear_down_state(void **state)
{
	_free_ char *secret = memory_format("%s/admin-key.json", base);
	_free_ char *lock = memory_format("%s/.lock", base); /* set_up() opened a runtime there */
	int code = tear_down(state);

	unlink(secret);
	unlink(lock);
	return rmdir(base) < 0 ? -1 : code;
}

static const struct json *container_spec(struct fixture *fixture, const char *members,
	const char *script)
{
	return spec_in(fixture, "bridge",
		arena_format(fixture->arena,
			"{'name':'app','image':'host',%s'command':['sh','-c','%s'],'stopTimeout':"
			"30}",
			members, script)
			.data);
}

/* Its working directory would be in the folder of tasks if it were relative to that of the supervisor. */
static const struct json *spying_spec(struct fixture *fixture)
{
	return container_spec(fixture, "'workingDirectory':'..',",
		arena_format(fixture->arena,
			"echo begin; for f in */spec.json %s/* %s/tasks/*/* /proc/[0-9]*/environ "
			"/proc/[0-9]*/cwd/spec.json /proc/[0-9]*/cwd/../../admin-key.json "
			"/proc/[0-9]*/root%s/admin-key.json; do cat $f; done; "
			"umount %s; cat %s/admin-key.json; echo end",
			base, base, base, base, base)
			.data);
}

/* Lets a task search for another one and the server; its output and its notes. */
static void spy(struct fixture *fixture, struct span *ret_text, struct span *ret_notes)
{
	struct span other = start(fixture,
		container_spec(fixture, "'environment':[{'name':'V','value':'text-of-the-other'}],",
			"exec sleep 1000"));
	_free_ char *spec = memory_format("%s/%.*s/spec.json", fixture->folder, SPAN_ARGS(other));
	struct span token;

	wait_phase(fixture, other, RUNTIME_RUNNING);
	assert_true(file_contains(spec, "text-of-the-other"));
	token = start(fixture, spying_spec(fixture));
	*ret_notes = wait_phase(fixture, token, RUNTIME_STOPPED)->notes;
	*ret_text = read_log(fixture, token, "app");
	stop(fixture, other, "the test is over");
	wait_phase(fixture, other, RUNTIME_STOPPED);
}

/* Environments have NULs. */
static bool contains(struct span text, const char *part)
{
	return memmem(text.data, text.length, part, strlen(part));
}

static void expect_nothing_found(struct span text, struct span notes)
{
	assert_true(contains(text, "begin\n"));
	assert_true(contains(text, "end\n"));
	if (strstr(notes.data, "are not hidden"))
		return; /* the kernel does not allow it, and the task says so */
	assert_false(contains(text, "text-of-the-state"));
	assert_false(contains(text, "text-of-the-other"));
}

static void test_root_finds_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct span text, notes;

	open_runtime(fixture);
	spy(fixture, &text, &notes);
	expect_nothing_found(text, notes);
	if (geteuid() == 0 && !strstr(notes.data, "plain mode"))
		assert_null(strstr(notes.data, "are not hidden"));
}

/* Starts more than it may, but no more than a machine bears if the bound fails. */
static const char many[] = "for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5 6 7 8 9 10; do "
			   "sleep 1000 & done; done; echo started all; exit 7";

static void fork_many(struct fixture *fixture, struct span *ret_text, struct span *ret_notes)
{
	struct span token = start(fixture, shell_spec(fixture, many));

	*ret_notes = wait_phase(fixture, token, RUNTIME_STOPPED)->notes;
	*ret_text = read_log(fixture, token, "app");
}

static void test_processes_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	struct span text, notes, token;

	open_runtime(fixture);
	fork_many(fixture, &text, &notes);
	if (strstr(notes.data, "processes is not limited"))
		return;
	assert_null(strstr(text.data, "started all"));
	/* A bomb that can be stopped; other tasks run meanwhile. */
	token = start(fixture, shell_spec(fixture, "b() { b | b & }; b; exec sleep 1000"));
	wait_phase(fixture, token, RUNTIME_RUNNING);
	assert_int_equal(run(fixture, shell_spec(fixture, "exit 5"))->containers[0].exit_code, 5);
	stop(fixture, token, "enough");
	wait_phase(fixture, token, RUNTIME_STOPPED);
}

/* As an ordinary user. */

static void be_user(struct fixture *fixture, int result)
{
	struct span found, notes, bounded, other_notes;
	_buffer_ struct buffer out = {0};

	/* cmocka's assertions would continue with the parent's tests. */
	if (setgroups(0, NULL) < 0 || setresgid(USER, USER, USER) < 0 ||
		setresuid(USER, USER, USER) < 0)
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
	open_runtime(fixture);
	spy(fixture, &found, &notes);
	fork_many(fixture, &bounded, &other_notes);
	close_runtime(fixture);
	/* The output may have any characters, so it is the last. */
	buffer_format(&out, "%.*s|%.*s|", SPAN_ARGS(notes), SPAN_ARGS(bounded));
	buffer_add_span(&out, found);
	if (write(result, out.data, out.length) != (ssize_t)out.length)
		_exit(2);
	_exit(0);
}

static void give_to_user(const char *path)
{
	assert_int_equal(chown(path, USER, USER), 0);
}

static void test_an_ordinary_user(void **state)
{
	struct fixture *fixture = *state;
	_free_ char *secret = memory_format("%s/admin-key.json", base);
	_buffer_ struct buffer text = {0};
	struct span notes, rest, found, bounded;
	int ends[2], status;
	pid_t child;

	if (geteuid() != 0)
		return; /* every other test is this one */
	give_to_user(base);
	give_to_user(secret);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	if (child == 0)
		be_user(fixture, ends[1]);
	close(ends[1]);
	for (char part[4096];;) {
		ssize_t got = read(ends[0], part, sizeof(part));

		if (got <= 0)
			break;
		buffer_add(&text, part, (size_t)got);
	}
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	buffer_add_char(&text, '\0');
	assert_true(span_split(buffer_span(&text), '|', &notes, &rest));
	assert_true(span_split(rest, '|', &bounded, &found));
	notes = arena_copy_span(fixture->arena, notes);
	expect_nothing_found(found, notes);
	assert_false(contains(bounded, "started all"));
	assert_non_null(strstr(notes.data, "plain mode"));
}

/* Capabilities. */

static uint64_t capabilities(struct span status, const char *name)
{
	const char *found = strstr(status.data, name);

	assert_non_null(found);
	return strtoull(found + strlen(name), NULL, 16);
}

static void test_capabilities(void **state)
{
	static const struct {
		const char *members;
		uint64_t effective, bounding;
	} cases[] = {
		{"", DEFAULT_CAPABILITIES, DEFAULT_CAPABILITIES},
		{"'user':'65534',", 0, DEFAULT_CAPABILITIES},
		{"'capabilities':{'add':['SYS_PTRACE'],'drop':['MKNOD','NET_RAW']},",
			(DEFAULT_CAPABILITIES | 1 << 19) & ~(UINT64_C(1) << 27 | 1 << 13),
			(DEFAULT_CAPABILITIES | 1 << 19) & ~(UINT64_C(1) << 27 | 1 << 13)},
		{"'capabilities':{'drop':['ALL']},", 0, 0},
		{"'capabilities':{'add':['CHOWN'],'drop':['ALL']},", 1, 1},
		{"'capabilities':{'add':['ALL'],'drop':['CHOWN']},", ~UINT64_C(1), ~UINT64_C(1)},
		{"'privileged':true,", UINT64_MAX, UINT64_MAX},
	};
	struct fixture *fixture = *state;
	_buffer_ struct buffer own = {0};
	uint64_t ours;

	if (geteuid() != 0)
		return; /* programs of a user have none */
	assert_int_equal(file_read("/proc/self/status", 1 << 16, &own, NULL), 0);
	buffer_add_char(&own, '\0');
	ours = capabilities(buffer_span(&own), "CapBnd:");
	open_runtime(fixture);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct span token = start(fixture,
			container_spec(fixture, cases[i].members, "cat /proc/self/status"));
		struct span text;

		wait_phase(fixture, token, RUNTIME_STOPPED);
		text = read_log(fixture, token, "app");
		assert_int_equal(capabilities(text, "CapEff:"), cases[i].effective & ours);
		assert_int_equal(capabilities(text, "CapPrm:"), cases[i].effective & ours);
		assert_int_equal(capabilities(text, "CapBnd:"), cases[i].bounding & ours);
		assert_int_equal(capabilities(text, "CapInh:"), 0);
	}
}

static void test_an_unknown_capability(void **state)
{
	struct fixture *fixture = *state;
	struct err err;

	open_runtime(fixture);
	assert_int_equal(fixture->runtime->operations->start(fixture->runtime, new_token(fixture),
				 SPAN("machine"),
				 container_spec(fixture, "'capabilities':{'add':['FLY']},", "true"),
				 &err),
		-EINVAL);
	assert_non_null(strstr(err.message, "'FLY' is no capability's name"));
}

/* Secrets and volumes. */

static void test_secrets_leave_the_disk(void **state)
{
	struct fixture *fixture = *state;
	struct span token, text;
	_free_ char *spec = NULL;

	open_runtime(fixture);
	token = start(fixture,
		container_spec(fixture,
			"'environment':[{'name':'S','value':'very-secret','secret':true},"
			"{'name':'V','value':'not-secret'}],",
			"echo $S $V; exec sleep 1000"));
	spec = memory_format("%s/%.*s/spec.json", fixture->folder, SPAN_ARGS(token));
	wait_phase(fixture, token, RUNTIME_RUNNING);
	WAIT_FOR(!file_contains(spec, "very-secret"));
	assert_true(file_contains(spec, "not-secret"));
	WAIT_FOR((text = read_log(fixture, token, "app")).length > 0);
	assert_string_equal(text.data, "very-secret not-secret\n");
	/* The next server adopts it by what is left. */
	close_runtime(fixture);
	open_runtime(fixture);
	wait_phase(fixture, token, RUNTIME_RUNNING);
	stop(fixture, token, "enough");
	assert_int_equal(wait_phase(fixture, token, RUNTIME_STOPPED)->phase, RUNTIME_STOPPED);
}

/* Neither the folder above nor the folder itself, mounted somewhere else, shows what is hidden. */
static void test_volumes_show_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct json *spec;
	struct span token, text;
	struct json *volumes;
	const char *list;

	if (geteuid() != 0)
		return;
	open_runtime(fixture);
	list = arena_format(fixture->arena,
		"[{\"name\":\"above\",\"host\":{\"sourcePath\":\"/tmp\"}},"
		"{\"name\":\"it\",\"host\":{\"sourcePath\":\"%s\"}}]",
		base)
		       .data;
	assert_int_equal(json_parse(span_of(list), fixture->arena, &volumes, NULL), 0);
	spec = json_copy_object(fixture->arena,
		container_spec(fixture,
			"'mountPoints':[{'sourceVolume':'above','containerPath':'/slipway-above'},"
			"{'sourceVolume':'it','containerPath':'/slipway-it'}],",
			arena_format(fixture->arena,
				"cat /slipway-it/admin-key.json /slipway-above/%s/admin-key.json "
				"%s/admin-key.json; ls -d /slipway-it /slipway-above/%s; echo end",
				base + strlen("/tmp/"), base, base + strlen("/tmp/"))
				.data));
	json_set(fixture->arena, spec, "volumes", volumes);
	token = start(fixture, spec);
	if (strstr(wait_phase(fixture, token, RUNTIME_STOPPED)->notes.data, "plain mode"))
		return;
	text = read_log(fixture, token, "app");
	assert_true(contains(text, "\n/slipway-it\n"));
	assert_true(contains(text, "end\n"));
	assert_false(contains(text, "text-of-the-state"));
}

#define CONFINEMENT_TEST(function)                                                                 \
	cmocka_unit_test_setup_teardown(function, set_up_state, tear_down_state)

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		CONFINEMENT_TEST(test_root_finds_nothing),
		CONFINEMENT_TEST(test_processes_are_bounded),
		CONFINEMENT_TEST(test_an_ordinary_user),
		CONFINEMENT_TEST(test_capabilities),
		CONFINEMENT_TEST(test_an_unknown_capability),
		CONFINEMENT_TEST(test_secrets_leave_the_disk),
		CONFINEMENT_TEST(test_volumes_show_nothing),
	};

	(void)count;
	(void)arguments;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
