/* HTTP: HAProxy after its supervisor was killed. */
#include "proxy/test_http.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

/* A process with a plane: says its port and HAProxy's id, then waits to be killed. */
static int supervisor_main(unsigned backend, unsigned end_after_ms)
{
	struct haproxy_options options = {
		.threads = 2, .spare_groups = 1, .end_after_ms = end_after_ms};
	struct proxy_target target = {.address = test_loopback(backend)};
	struct proxy_group group = {.name = "g", .targets = &target, .target_count = 1};
	struct proxy_route route = {"g", 1};
	struct proxy_listener listener = {.name = "web",
		.protocol = PROXY_HTTP,
		.address = test_loopback(0),
		.routes = &route,
		.route_count = 1};
	struct proxy_state desired = {
		.groups = &group, .group_count = 1, .listeners = &listener, .listener_count = 1};
	_arena_ struct arena *arena = arena_new(0);
	struct proxy_report report;
	struct http_plane *http;
	void *state;
	struct err err;

	if (http_setup_with(&state, &options) < 0)
		return 1;
	http = state;
	if (proxy_apply(http->plane.proxy, &desired, &err) < 0)
		return 1;
	proxy_report(http->plane.proxy, arena, &report);
	printf("%u %d %s\n", proxy_address_port(&report.listeners[0].address),
		haproxy_process(http->plane.driver), http->folder);
	fflush(stdout);
	for (;;)
		pause();
}

/* A zombie counts as ended where no process reaps orphans. */
static bool is_zombie(pid_t pid)
{
	char path[64], text[512] = "", *end;
	_close_ int descriptor = -1;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0 || read(descriptor, text, sizeof(text) - 1) <= 0)
		return true;
	end = strrchr(text, ')');
	return end && end[2] == 'Z';
}

static bool is_refused(unsigned port)
{
	int client = test_connect(port);

	if (client >= 0)
		close(client);
	return client < 0;
}

struct supervisor {
	pid_t pid, process; /* HAProxy's */
	unsigned port;
	char folder[128];
};

static void supervisor_start(struct supervisor *supervisor, unsigned backend, unsigned end_after_ms)
{
	posix_spawn_file_actions_t actions;
	char port[16], end_after[16],
		said[256] = "",
		*const command[] = {"/proc/self/exe", "supervisor", port, end_after, NULL};
	int pipes[2];

	snprintf(port, sizeof(port), "%u", backend);
	snprintf(end_after, sizeof(end_after), "%u", end_after_ms);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
	assert_int_equal(posix_spawn(&supervisor->pid, command[0], &actions, NULL, command,
				 environ),
		0);
	posix_spawn_file_actions_destroy(&actions);
	close(pipes[1]);
	for (size_t length = 0; !strchr(said, '\n');) {
		ssize_t got = read(pipes[0], said + length, sizeof(said) - 1 - length);

		assert_true(got > 0);
		length += (size_t)got;
	}
	close(pipes[0]);
	assert_int_equal(sscanf(said, "%u %d %127s", &supervisor->port, &supervisor->process,
				 supervisor->folder),
		3);
}

static void supervisor_kill(const struct supervisor *supervisor)
{
	kill(supervisor->pid, SIGKILL);
	assert_int_equal(waitpid(supervisor->pid, NULL, 0), supervisor->pid);
}

static void supervisor_wait_for_process(const struct supervisor *supervisor)
{
	TEST_WAIT_UNTIL(kill(supervisor->process, 0) < 0 || is_zombie(supervisor->process));
	http_remove_folder(supervisor->folder);
}

static void test_it_ends_with_its_supervisor(void **state)
{
	struct test_plane *plane = *state;
	static const char request[] = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	struct supervisor supervisor;
	int client;

	http_start_backends(plane, 1);
	supervisor_start(&supervisor, plane->backends[0].port, 0);
	client = test_connect(supervisor.port);
	assert_true(test_send_all(client, request, strlen(request)));
	TEST_WAIT_UNTIL(atomic_load(&plane->backends[0].served) == 1);
	supervisor_kill(&supervisor);
	/* It does not listen any more, ends what it has, and goes. */
	TEST_WAIT_UNTIL(is_refused(supervisor.port));
	atomic_store(&plane->backends[0].sum, 1);
	http_receive(client, answer);
	assert_int_equal(answer->status, 200);
	close(client);
	supervisor_wait_for_process(&supervisor);
	free(answer);
}

/* Clients that never close do not keep it for ever. */
static void test_it_ends_in_any_case(void **state)
{
	static const char *const bytes[] = {"", "GET / HTTP/1.1\r\nHo",
		"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"};
	struct test_plane *plane = *state;

	http_start_backends(plane, 1);
	for (int turn = 0; turn < 3; turn++) {
		struct supervisor supervisor;
		int clients[2 * LENGTH(bytes)];

		supervisor_start(&supervisor, plane->backends[0].port, 200);
		for (size_t i = 0; i < LENGTH(clients); i++) {
			const char *said = bytes[i % LENGTH(bytes)];

			clients[i] = test_connect(supervisor.port);
			assert_true(test_send_all(clients[i], said, strlen(said)));
		}
		supervisor_kill(&supervisor);
		supervisor_wait_for_process(&supervisor);
		for (size_t i = 0; i < LENGTH(clients); i++)
			close(clients[i]);
	}
	atomic_store(&plane->backends[0].sum, 1);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, http_setup, http_teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH(test_it_ends_with_its_supervisor),
		WITH(test_it_ends_in_any_case),
	};

	if (argc == 4 && strcmp(argv[1], "supervisor") == 0)
		return supervisor_main((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]));
	return cmocka_run_group_tests_name("proxy/haproxy_orphan", tests, NULL, NULL);
}
