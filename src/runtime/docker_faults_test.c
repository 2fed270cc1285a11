/*
 * The docker runtime with a faulty daemon: cut connections, errors, lost events, foreign
 * containers, crashes at the worst moment. In every case each container is created once, started
 * once and never reported as lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <poll.h>
#include <time.h>

#include "base/random.h"
#include "runtime/docker/docker.h"
#include "runtime/test_docker.h"

#define PATIENCE_US ((int64_t)60 * 1000 * 1000)
#define HOST "0123456789abcdef0123456789abcdef"
#define NAME(token) "slipway-0123456789ab." token

struct fixture {
	char folder[64];
	char tasks[80], socket[80];
	struct fake_daemon daemon;
	struct runner *runner;
	struct runtime *runtime;
	struct arena *arena;
};

#define WAIT_FOR(condition)                                                                        \
	do {                                                                                       \
		int64_t until_ = clock_steady_us(clock_system()) + PATIENCE_US;                    \
		while (!(condition)) {                                                             \
			struct timespec moment_ = {.tv_nsec = 2 * 1000 * 1000};                    \
			if (clock_steady_us(clock_system()) > until_)                              \
				fail_msg("line %d: never became true: %s", __LINE__, #condition);  \
			nanosleep(&moment_, NULL);                                                 \
		}                                                                                  \
	} while (0)

static int try_open(struct fixture *fixture, struct err *err)
{
	struct runtime_docker_config config = {.runner = fixture->runner,
		.folder = fixture->tasks,
		.socket = fixture->socket,
		.host = HOST,
		.pause = "/bin/true"};

	return runtime_docker_open(&config, &fixture->runtime, err);
}

static void open_runtime(struct fixture *fixture)
{
	struct err err = {.message = ""};

	if (try_open(fixture, &err) < 0)
		fail_msg("%s", err.message);
}

static void close_runtime(struct fixture *fixture)
{
	struct runtime *runtime = TAKE(fixture->runtime);

	if (runtime)
		runtime->operations->close(runtime);
}

static int set_up(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/slipway-docker-test-XXXXXX");
	if (!mkdtemp(fixture->folder))
		return -1;
	snprintf(fixture->tasks, sizeof(fixture->tasks), "%s/tasks", fixture->folder);
	snprintf(fixture->socket, sizeof(fixture->socket), "%s/socket", fixture->folder);
	fixture->arena = arena_new(0);
	fixture->runner = runner_threads_new(clock_system(), random_system());
	fake_open(&fixture->daemon, fixture->socket);
	*state = fixture;
	return 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	close_runtime(fixture);
	fake_close(&fixture->daemon);
	runner_free(fixture->runner);
	arena_free(fixture->arena);
	nftw(fixture->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(fixture);
	return 0;
}

/* ---- calls of the runtime ---- */

static void start(struct fixture *fixture, const char *token, const char *image)
{
	struct span text = arena_format(fixture->arena,
		"{\"version\":1,\"networkMode\":\"bridge\",\"containers\":[{\"name\":\"app\","
		"\"image\":\"%s\",\"stopTimeout\":60}]}",
		image);
	struct err err = {.message = ""};
	struct json *spec;

	assert_int_equal(json_parse(text, fixture->arena, &spec, NULL), 0);
	if (fixture->runtime->operations->start(fixture->runtime, span_of(token), SPAN("machine"),
		    spec, &err) < 0)
		fail_msg("%s", err.message);
}

static struct runtime_task *get(struct fixture *fixture, const char *token)
{
	struct runtime_task *task;

	assert_int_equal(fixture->runtime->operations->get(fixture->runtime, span_of(token),
				 fixture->arena, &task, NULL),
		0);
	return task;
}

static bool has_phase(struct fixture *fixture, const char *token, enum runtime_phase phase)
{
	_arena_ struct arena *arena = arena_new(0);
	struct runtime_task *task;

	return fixture->runtime->operations->get(fixture->runtime, span_of(token), arena, &task,
		       NULL) == 0 &&
	       task->phase == phase;
}

static void stop(struct fixture *fixture, const char *token)
{
	assert_int_equal(fixture->runtime->operations->stop(fixture->runtime, span_of(token),
				 SPAN("enough"), NULL),
		0);
}

/* Sets a fault of the daemon. */
#define SET(fixture, member, value)                                                                \
	do {                                                                                       \
		pthread_mutex_lock(&(fixture)->daemon.lock);                                       \
		(fixture)->daemon.member = (value);                                                \
		pthread_cond_broadcast(&(fixture)->daemon.changed);                                \
		pthread_mutex_unlock(&(fixture)->daemon.lock);                                     \
	} while (0)

static unsigned count_of(struct fixture *fixture, const unsigned *member)
{
	unsigned count;

	pthread_mutex_lock(&fixture->daemon.lock);
	count = *member;
	pthread_mutex_unlock(&fixture->daemon.lock);
	return count;
}

/* ---- tests ---- */

static void test_a_daemon_that_is_too_old(void **state)
{
	struct fixture *fixture = *state;
	struct err err = {.message = ""};

	SET(fixture, version, "1.24");
	assert_int_equal(try_open(fixture, &err), -ENOTSUP);
	assert_non_null(strstr(err.message, "1.24"));
}

static void test_unreachable_socket(void **state)
{
	struct fixture *fixture = *state;
	struct err err = {.message = ""};

	snprintf(fixture->socket, sizeof(fixture->socket), "%s/none", fixture->folder);
	assert_int_equal(try_open(fixture, &err), -EAGAIN);
	assert_non_null(strstr(err.message, "/none"));
}

/* One request of several is lost, or is handled without a response. */
static void test_cut_connections(void **state)
{
	struct fixture *fixture = *state;

	open_runtime(fixture);
	for (unsigned every = 2; every < 8; every++)
		for (unsigned behind = 0; behind < 2; behind++) {
			char token[32], name[128];
			struct fake_container *container;
			unsigned starts;

			snprintf(token, sizeof(token), "cut-%u-%u", every, behind);
			snprintf(name, sizeof(name), NAME("%s.app"), token);
			SET(fixture, cut_every, behind ? 0 : every);
			SET(fixture, cut_behind, behind ? every : 0);
			start(fixture, token, "image");
			WAIT_FOR(has_phase(fixture, token, RUNTIME_RUNNING));
			stop(fixture, token);
			WAIT_FOR(has_phase(fixture, token, RUNTIME_STOPPED));
			pthread_mutex_lock(&fixture->daemon.lock);
			container = fake_find(&fixture->daemon, name);
			starts = container ? container->starts : 0;
			pthread_mutex_unlock(&fixture->daemon.lock);
			assert_int_equal(starts, 1);
			assert_int_equal(get(fixture, token)->containers[0].exit_code, 143);
		}
}

/* A daemon that does not respond loses no task. */
static void test_a_daemon_that_is_broken(void **state)
{
	struct fixture *fixture = *state;
	_arena_ struct arena *arena = arena_new(0);
	struct span *tokens;
	size_t count;
	unsigned before;

	open_runtime(fixture);
	start(fixture, "long", "image");
	WAIT_FOR(has_phase(fixture, "long", RUNTIME_RUNNING));
	SET(fixture, refuse, "/json");
	SET(fixture, cut_events, true);
	before = count_of(fixture, &fixture->daemon.requests);
	WAIT_FOR(count_of(fixture, &fixture->daemon.requests) > before + 30);
	assert_int_equal(get(fixture, "long")->phase, RUNTIME_RUNNING);
	assert_int_equal(fixture->runtime->operations->list_tasks(fixture->runtime, arena, &tokens,
				 &count, NULL),
		0);
	assert_int_equal(count, 1);
	SET(fixture, refuse, NULL);
	SET(fixture, cut_events, false);
	stop(fixture, "long");
	WAIT_FOR(has_phase(fixture, "long", RUNTIME_STOPPED));
}

static void test_an_end_without_an_event(void **state)
{
	struct fixture *fixture = *state;
	unsigned streams;

	open_runtime(fixture);
	start(fixture, "quiet", "image");
	WAIT_FOR(has_phase(fixture, "quiet", RUNTIME_RUNNING));
	SET(fixture, lose_events, true);
	pthread_mutex_lock(&fixture->daemon.lock);
	fake_end(&fixture->daemon, fake_find(&fixture->daemon, NAME("quiet.app")), 9);
	streams = fixture->daemon.event_streams;
	pthread_mutex_unlock(&fixture->daemon.lock);
	/* The stream is cut: when it is back, all tasks are inspected. */
	SET(fixture, cuts, 1);
	WAIT_FOR(count_of(fixture, &fixture->daemon.event_streams) > streams);
	WAIT_FOR(has_phase(fixture, "quiet", RUNTIME_STOPPED));
	assert_int_equal(get(fixture, "quiet")->containers[0].exit_code, 9);
}

static const struct {
	const char *token, *image, *refuse, *reason;
} refusals[] = {
	{"pull", "missing", NULL,
		"CannotPullContainerError: Error response from daemon: not found"},
	{"make", "image", "containers/create", "CannotCreateContainerError: it is broken"},
	{"run", "image", "app/start", "CannotStartContainerError: it is broken"},
};

static void test_refusals(void **state)
{
	struct fixture *fixture = *state;

	open_runtime(fixture);
	for (size_t i = 0; i < LENGTH(refusals); i++) {
		struct runtime_task *task;

		SET(fixture, refuse, refusals[i].refuse);
		start(fixture, refusals[i].token, refusals[i].image);
		WAIT_FOR(has_phase(fixture, refusals[i].token, RUNTIME_STOPPED));
		task = get(fixture, refusals[i].token);
		assert_int_equal(task->stop, RUNTIME_STOP_FAILED_TO_START);
		if (!span_is(task->reason, refusals[i].reason))
			fail_msg("%.*s", SPAN_ARGS(task->reason));
		assert_true(span_is(task->containers[0].reason, refusals[i].reason));
	}
}

/* Slipway crashes between creating a container and starting it. */
static void test_an_end_between_making_and_starting(void **state)
{
	struct fixture *fixture = *state;

	open_runtime(fixture);
	SET(fixture, cut, "app/start");
	start(fixture, "half", "image");
	WAIT_FOR(count_of(fixture, &fixture->daemon.creations) == 1);
	close_runtime(fixture);
	SET(fixture, cut, NULL);
	open_runtime(fixture);
	WAIT_FOR(has_phase(fixture, "half", RUNTIME_RUNNING));
	assert_int_equal(count_of(fixture, &fixture->daemon.creations), 1);
	start(fixture, "half", "image"); /* the same token is the same task */
	assert_int_equal(count_of(fixture, &fixture->daemon.creations), 1);
	stop(fixture, "half");
	WAIT_FOR(has_phase(fixture, "half", RUNTIME_STOPPED));
	assert_int_equal(fixture->runtime->operations->acknowledge(fixture->runtime, SPAN("half"),
				 NULL),
		0);
	assert_int_equal(count_of(fixture, &fixture->daemon.removals), 1);
	assert_int_equal(fixture->runtime->operations->acknowledge(fixture->runtime, SPAN("half"),
				 NULL),
		-ENOENT);
}

static void add_container(struct fixture *fixture, const char *name, const char *labels)
{
	struct span body = arena_format(fixture->arena, "{\"Labels\":{%s}}", labels);

	pthread_mutex_lock(&fixture->daemon.lock);
	assert_int_equal(fake_create(&fixture->daemon, name, body), 201);
	pthread_mutex_unlock(&fixture->daemon.lock);
}

static bool is_there(struct fixture *fixture, const char *name)
{
	bool found;

	pthread_mutex_lock(&fixture->daemon.lock);
	found = fake_find(&fixture->daemon, name) != NULL;
	pthread_mutex_unlock(&fixture->daemon.lock);
	return found;
}

/* A container with our label and no folder is removed; one without our label is not touched. */
static void test_containers_of_others(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_task *task;

	add_container(fixture, "mine", "\"slipway.host\":\"" HOST "\",\"slipway.task\":\"gone\"");
	add_container(fixture, NAME("taken.app"), "\"slipway.host\":\"another\"");
	open_runtime(fixture);
	WAIT_FOR(!is_there(fixture, "mine"));
	start(fixture, "taken", "image");
	WAIT_FOR(has_phase(fixture, "taken", RUNTIME_STOPPED));
	task = get(fixture, "taken");
	assert_true(span_starts_with(task->reason,
		SPAN("CannotCreateContainerError: the name '" NAME("taken.app") "' is taken")));
	assert_true(is_there(fixture, NAME("taken.app")));
}

/* A container that existed and is missing was removed. */
static void test_a_container_that_was_removed_meanwhile(void **state)
{
	struct fixture *fixture = *state;

	open_runtime(fixture);
	start(fixture, "gone", "image");
	WAIT_FOR(has_phase(fixture, "gone", RUNTIME_RUNNING));
	close_runtime(fixture);
	pthread_mutex_lock(&fixture->daemon.lock);
	fake_remove(&fixture->daemon, NAME("gone.app"));
	pthread_mutex_unlock(&fixture->daemon.lock);
	open_runtime(fixture);
	WAIT_FOR(has_phase(fixture, "gone", RUNTIME_STOPPED));
	assert_int_equal(count_of(fixture, &fixture->daemon.creations), 1);
	assert_false(get(fixture, "gone")->containers[0].has_exit_code);
}

/* ---- programs beside those of a container ---- */

static int64_t used_us(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * INT64_C(1000000) + used.tv_nsec / 1000;
}

static bool is_deaf(int input)
{
	struct pollfd one = {.fd = input};

	return poll(&one, 1, 0) == 1 && one.revents & (POLLHUP | POLLERR);
}

/* The program has ended without reading its input while its output was still on the way: all of
 * that arrives. Until the caller reads it, the thread uses no processor time. */
static void test_a_program_that_does_not_read(void **state)
{
	enum { SAYS = 300000 }; /* more than a socket holds, less than two */
	struct fixture *fixture = *state;
	const struct timespec moment = {.tv_nsec = 500 * 1000 * 1000};
	struct json *command = json_new_array(fixture->arena);
	_close_ int input = -1, output = -1, error = -1;
	struct runtime_exec *exec;
	struct err err = {.message = ""};
	char piece[4096];
	size_t count = 0;
	ssize_t got;
	int code = -1;
	int64_t used;

	open_runtime(fixture);
	start(fixture, "t", "image");
	WAIT_FOR(has_phase(fixture, "t", RUNTIME_RUNNING));
	SET(fixture, says, SAYS);
	json_append(fixture->arena, command, json_new_string(fixture->arena, SPAN("say")));
	if (fixture->runtime->operations->exec(fixture->runtime, SPAN("t"), SPAN("app"), command,
		    false, &exec, &err) < 0)
		fail_msg("%s", err.message);
	input = exec->input;
	output = exec->output;
	error = exec->error;
	WAIT_FOR(count_of(fixture, &fixture->daemon.said) == 1);
	used = used_us();
	nanosleep(&moment, NULL);
	assert_true(used_us() - used < 250000);
	assert_int_equal(send(input, "unread", 6, MSG_NOSIGNAL), 6);
	WAIT_FOR(is_deaf(input));
	while ((got = recv(output, piece, sizeof(piece), 0)) > 0)
		for (ssize_t i = 0; i < got; i++, count++)
			if (piece[i] != (char)('a' + count % 26))
				fail_msg("byte %zu is '%c'", count, piece[i]);
	assert_int_equal(count, SAYS);
	assert_int_equal(exec->wait(exec, &code, NULL), 0);
	assert_int_equal(code, 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_daemon_that_is_too_old),
		TEST(test_unreachable_socket),
		TEST(test_cut_connections),
		TEST(test_a_daemon_that_is_broken),
		TEST(test_an_end_without_an_event),
		TEST(test_refusals),
		TEST(test_an_end_between_making_and_starting),
		TEST(test_containers_of_others),
		TEST(test_a_container_that_was_removed_meanwhile),
		TEST(test_a_program_that_does_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
