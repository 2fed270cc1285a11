/* slipway-pod itself, as a process of this machine: what it does in a container, it does here. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "runtime/test_kubernetes.h"

#include "base/clock.h"

#define PATIENCE_US INT64_C(60000000)
#define POLL_US 10000

struct rig {
	char folder[PATH_MAX];
	char program[PATH_MAX]; /* slipway-pod, which is built beside this test */
};

static int set_up(void **state)
{
	struct rig *rig = memory_allocate(sizeof(*rig));
	char self[PATH_MAX / 2] = "";

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	*strrchr(self, '/') = '\0';
	snprintf(rig->program, sizeof(rig->program), "%s/slipway-pod", self);
	snprintf(rig->folder, sizeof(rig->folder), "/tmp/slipway-pod-test-XXXXXX");
	assert_non_null(mkdtemp(rig->folder));
	*state = rig;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;
	_free_ char *command = memory_format("rm -rf '%s'", rig->folder);

	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): a path of ours
	free(rig);
	return 0;
}

static pid_t start(const char *program, const char *const *arguments)
{
	const char *all[24] = {program};
	pid_t child;

	for (size_t i = 0; arguments[i]; i++) {
		assert_true(i + 2 < LENGTH(all));
		all[i + 1] = arguments[i];
	}
	child = fork();
	if (child == 0) {
		execv(program, (char **)all);
		_exit(99);
	}
	assert_true(child > 0);
	return child;
}

static int wait_for(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

#define RUN(rig, ...) wait_for(start((rig)->program, (const char *[]){__VA_ARGS__, NULL}))

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void wait_until_exists(const char *path)
{
	int64_t deadline = clock_steady_us(clock_system()) + PATIENCE_US;

	while (!exists(path)) {
		assert_true(clock_steady_us(clock_system()) < deadline);
		usleep(POLL_US);
	}
}

static void test_install(void **state)
{
	struct rig *rig = *state;
	_free_ char *copy = memory_format("%s/installed", rig->folder);
	struct stat status;
	mode_t before = umask(077);

	assert_int_equal(RUN(rig, "install", copy), 0);
	assert_int_equal(stat(copy, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0755);
	/* Again, as after a restart of the node, while it runs. */
	assert_int_equal(wait_for(start(copy, (const char *[]){"install", copy, NULL})), 0);
	assert_int_equal(wait_for(start(copy, (const char *[]){"hold", "0", copy, NULL})), 0);
	assert_int_not_equal(RUN(rig, "install", "/nowhere/at/all"), 0);
	umask(before);
}

static void test_hold(void **state)
{
	struct rig *rig = *state;
	_free_ char *mark = memory_format("%s/released", rig->folder);
	int64_t begun = clock_steady_us(clock_system());

	assert_int_equal(RUN(rig, "hold", "1", mark), 0);
	assert_true(clock_steady_us(clock_system()) - begun >= 1000000);
	assert_int_equal(RUN(rig, "hold", "x", mark), 2);
	assert_int_equal(RUN(rig, "hold", "-1", mark), 2);
	assert_int_equal(RUN(rig, "hold"), 2);
}

static void test_release(void **state)
{
	struct rig *rig = *state;
	_free_ char *mark = memory_format("%s/released", rig->folder);
	pid_t child = start(rig->program, (const char *[]){"hold", "3600", mark, NULL});

	assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
	assert_int_equal(RUN(rig, "release", mark), 0);
	assert_int_equal(wait_for(child), 0);
	/* A later hold returns at once. */
	assert_int_equal(RUN(rig, "hold", "3600", mark), 0);
	assert_int_not_equal(RUN(rig, "release", "/nowhere/at/all"), 0);
}

static void test_wait(void **state)
{
	struct rig *rig = *state;
	_free_ char *mark = memory_format("%s/up", rig->folder);
	_free_ char *up = memory_format("%s/healthy", rig->folder);
	_free_ char *tries = memory_format("%s/tries", rig->folder);
	_free_ char *script = memory_format("echo >> '%s'; test -e '%s'", tries, mark);
	pid_t child;

	assert_int_equal(RUN(rig, "wait", up, "60", "1", "5", "3", "0", "--", "true"), 0);
	child = start(rig->program, (const char *[]){"wait", up, "60", "1", "5", "50", "0", "--",
					    "/bin/sh", "-c", script, NULL});
	wait_until_exists(tries);
	assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
	assert_true(close(open(mark, O_CREAT | O_WRONLY, 0600)) == 0);
	assert_int_equal(wait_for(child), 0);
	assert_true(exists(up));
}

static void test_wait_fails(void **state)
{
	struct rig *rig = *state;
	_free_ char *up = memory_format("%s/healthy", rig->folder);
	_free_ char *left = memory_format("%s/left", rig->folder);
	_free_ char *script = memory_format("sleep 30; touch '%s'", left);
	int64_t begun = clock_steady_us(clock_system());

	/* Too many failures, after the start period. */
	assert_int_equal(RUN(rig, "wait", up, "0", "1", "5", "2", "1", "--", "false"), 1);
	assert_true(clock_steady_us(clock_system()) - begun >= 1000000);
	/* The time is over. */
	assert_int_equal(RUN(rig, "wait", up, "1", "1", "5", "1000", "0", "--", "false"), 1);
	/* A check that takes too long is ended with all that it started, and has failed. */
	assert_int_equal(RUN(rig, "wait", up, "0", "1", "1", "1", "0", "--", "/bin/sh", "-c",
				 script),
		1);
	assert_false(exists(left));
	assert_int_equal(RUN(rig, "wait", up, "0", "1", "5", "1", "0", "--", "/no/such/check"), 1);
	assert_int_equal(RUN(rig, "wait", up, "0", "1", "5", "1", "0", "true"), 2);
	assert_false(exists(up));
}

static void test_after(void **state)
{
	struct rig *rig = *state;
	_free_ char *first = memory_format("%s/healthy.a", rig->folder);
	_free_ char *second = memory_format("%s/healthy.b", rig->folder);

	assert_int_equal(close(open(first, O_CREAT | O_WRONLY, 0600)), 0);
	assert_int_equal(RUN(rig, "after", first, second, "--", "/bin/sh", "-c", "exit 7"), 1);
	assert_int_equal(close(open(second, O_CREAT | O_WRONLY, 0600)), 0);
	assert_int_equal(RUN(rig, "after", first, second, "--", "/bin/sh", "-c", "exit 7"), 7);
	assert_int_equal(RUN(rig, "after", first), 2);
	assert_int_equal(RUN(rig, "after", first, "--"), 2);
}

static void test_once(void **state)
{
	struct rig *rig = *state;
	_free_ char *mark = memory_format("%s/once", rig->folder);
	_free_ char *other = memory_format("%s/other", rig->folder);
	pid_t child;

	assert_int_equal(RUN(rig, "once", mark, "--", "/bin/sh", "-c", "exit 7"), 7);
	assert_true(exists(mark));
	/* Started again it waits to be ended, and does not run what it ran. */
	child = start(rig->program,
		(const char *[]){"once", mark, "--", "/bin/sh", "-c", "exit 8", NULL});
	usleep(200000);
	assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
	assert_int_equal(kill(child, SIGTERM), 0);
	assert_true(wait_for(child) != 8);
	assert_int_equal(RUN(rig, "once", other, "--", "/no/such/program"), 127);
	/* Where no mark can be made the program runs. */
	assert_int_equal(RUN(rig, "once", "/nowhere/at/all", "--", "/bin/sh", "-c", "exit 9"), 9);
}

static void test_complete(void **state)
{
	struct rig *rig = *state;
	_free_ char *mark = memory_format("%s/running", rig->folder);
	_free_ char *script =
		memory_format("trap 'exit 3' TERM; touch '%s'; while :; do sleep 0.1; done", mark);
	pid_t child;

	assert_int_equal(RUN(rig, "complete", "--", "/bin/sh", "-c", "exit 7"), 0);
	assert_int_equal(RUN(rig, "complete", "--", "/no/such/program"), 0);
	/* Signals are for the command. */
	child = start(rig->program,
		(const char *[]){"complete", "--", "/bin/sh", "-c", script, NULL});
	wait_until_exists(mark);
	assert_int_equal(kill(child, SIGTERM), 0);
	assert_int_equal(wait_for(child), 0);
}

static void test_usage(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(RUN(rig, "fly"), 2);
	assert_int_equal(wait_for(start(rig->program, (const char *[]){NULL})), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_install, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hold, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_release, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wait_fails, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_after, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_complete, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_usage, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("kubernetes_pod_program", tests, NULL, NULL);
}
