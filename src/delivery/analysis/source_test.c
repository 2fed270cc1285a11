/*
 * Sources of samples with a real Prometheus (queries, errors, HTTP checks) and real commands. Answers that it would not
 * give are read from texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "delivery/analysis/source.h"

#define PATIENCE_MS 60000
#define PAUSE_NS 20000000
#define TRIES 5
#define NOW_MS INT64_C(1700000000000)

static struct server {
	char folder[64];
	char url[64];
	pid_t pid;
	int port;
} server;
static struct http_client *client;
static struct arena *arena;

/* A port that was free a moment ago. */
static int find_port(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	return ntohs(address.sin_port);
}

static void run_prometheus(void)
{
	char listen[64], storage[96], configuration[96];
	int log;

	snprintf(listen, sizeof(listen), "--web.listen-address=127.0.0.1:%d", server.port);
	snprintf(storage, sizeof(storage), "--storage.tsdb.path=%s/data", server.folder);
	snprintf(configuration, sizeof(configuration), "--config.file=%s/prometheus.yml",
		server.folder);
	log = open("/dev/null", O_WRONLY);
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execlp("prometheus", "prometheus", listen, storage, configuration, (char *)NULL);
	_exit(127);
}

static struct span check_url(const char *path, int64_t code, const char *text)
{
	struct http_check check = {.url = arena_format(arena, "%s%s", server.url, path).data,
		.expected_code = code,
		.expected_response = span_of(text)};
	struct span failure;
	struct err err = {0};

	if (source_check_http(client, &check, arena, &failure, &err) < 0)
		fail_msg("%s", err.message);
	return failure;
}

/* False if it ended: another process took its port. */
static bool wait_until_ready(void)
{
	int64_t end_us = clock_steady_us(clock_system()) + PATIENCE_MS * INT64_C(1000);

	while (clock_steady_us(clock_system()) < end_us) {
		const struct timespec pause = {.tv_nsec = PAUSE_NS};

		if (waitpid(server.pid, NULL, WNOHANG) == server.pid)
			return false;
		if (check_url("/-/ready", 200, "").length == 0)
			return true;
		nanosleep(&pause, NULL);
	}
	fail_msg("Prometheus is not ready after %d ms", PATIENCE_MS);
	return false;
}

static int start_prometheus(void **state)
{
	char path[96];
	FILE *file;

	(void)state;
	assert_int_equal(http_client_new(&client, NULL), 0);
	arena = arena_new(0);
	snprintf(server.folder, sizeof(server.folder), "/tmp/slipway-prometheus-XXXXXX");
	assert_non_null(mkdtemp(server.folder));
	snprintf(path, sizeof(path), "%s/prometheus.yml", server.folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("scrape_configs: []\n", file);
	fclose(file);
	for (int i = 0; i < TRIES; i++) {
		server.port = find_port();
		snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%d", server.port);
		server.pid = fork();
		assert_true(server.pid >= 0);
		if (server.pid == 0)
			run_prometheus();
		if (wait_until_ready())
			return 0;
	}
	fail_msg("Prometheus does not start");
	return -1;
}

static int stop_prometheus(void **state)
{
	const struct child_request request = {
		.arguments = (const char *const[]){"rm", "-rf", server.folder, NULL}};
	_child_result_ struct child_result result = {0};

	(void)state;
	kill(server.pid, SIGKILL);
	waitpid(server.pid, NULL, 0);
	child_run(child_system(), &request, &result, NULL);
	http_client_free(client);
	arena_free(arena);
	return 0;
}

static int query(const char *text, double **ret_values, size_t *ret_count, struct err *err)
{
	const struct prometheus prometheus = {.url = server.url};

	return source_query_prometheus(client, &prometheus, span_of(text), NOW_MS, 0, NULL, arena,
		ret_values, ret_count, err);
}

static void assert_values(const char *text, size_t count, double first)
{
	double *values;
	size_t found;
	struct err err = {0};

	if (query(text, &values, &found, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	assert_int_equal(found, count);
	if (count > 0)
		assert_true(values[0] == first);
}

static void test_queries(void **state)
{
	(void)state;
	assert_values("vector(0.25)", 1, 0.25);
	assert_values("1 + 1", 1, 2);
	assert_values("time()", 1, (double)(NOW_MS / 1000)); /* at the time of the sample */
	assert_values("no_such_metric{a=\"&=+%\"}", 0, 0);
	assert_values("vector(0) / 0", 0, 0);
	assert_values("1 / 0", 1, INFINITY);
	assert_values("label_replace(vector(1), \"a\", \"\303\266\", \"\", \"\") or "
		      "label_replace(vector(1), \"a\", \"2\", \"\", \"\")",
		2, 1);
}

static void test_failed_queries(void **state)
{
	const struct prometheus none = {.url = "http://127.0.0.1:1"};
	struct http_client_cancel cancel = {0};
	struct err err = {0};
	double *values;
	size_t count;

	(void)state;
	assert_int_equal(query("sum(", &values, &count, &err), -EREMOTEIO);
	assert_non_null(strstr(err.message, "parse error"));
	assert_int_equal(query("\"text\"", &values, &count, &err), -EINVAL);
	assert_string_equal(err.message,
		"the query gives a string; expected an instant vector or a scalar");
	assert_int_equal(source_query_prometheus(client, &none, SPAN("1"), NOW_MS, 0, NULL, arena,
				 &values, &count, &err),
		-ECONNREFUSED);
	http_client_cancel(client, &cancel);
	assert_int_equal(source_query_prometheus(client, &none, SPAN("1"), NOW_MS, 0, &cancel,
				 arena, &values, &count, &err),
		-ECANCELED);
}

static void test_http_checks(void **state)
{
	struct http_check check = {.url = "http://127.0.0.1:1/x", .expected_code = 200};
	struct span failure;

	(void)state;
	assert_string_equal(check_url("/-/ready", 200, "is Ready").data, "");
	assert_non_null(strstr(check_url("/-/ready", 201, "").data,
		"answered status 200, not 201"));
	assert_non_null(strstr(check_url("/no/such/page", 200, "").data, "status 404"));
	assert_non_null(strstr(check_url("/-/ready", 200, "is Broken").data, "the expected text"));
	assert_int_equal(source_check_http(client, &check, arena, &failure, NULL), 0);
	assert_true(failure.length > 0);
	check.url = "ftp://127.0.0.1/";
	assert_int_equal(source_check_http(client, &check, arena, &failure, NULL), -EINVAL);
}

static void assert_answer(const char *body, int expected, size_t count)
{
	double *values;
	size_t found = 0;
	int code = source_read_prometheus(span_of(body), arena, &values, &found, NULL);

	if (code != expected || found != count)
		fail_msg("%s: %d, %zu values", body, code, found);
}

#define VECTOR(items)                                                                              \
	"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":" items "}}"

static void test_answers(void **state)
{
	(void)state;
	assert_answer(VECTOR("[{\"value\":[1,\"2\"]},{\"value\":[1,\"NaN\"]}]"), 0, 1);
	assert_answer(VECTOR("[{\"value\":[1,\"2x\"]}]"), -EINVAL, 0);
	assert_answer(VECTOR("[{\"value\":[1,2]}]"), -EINVAL, 0);
	assert_answer(VECTOR("[{\"value\":[\"2\"]}]"), -EINVAL, 0);
	assert_answer(VECTOR("[1]"), -EINVAL, 0);
	assert_answer(VECTOR("{}"), -EINVAL, 0);
	assert_answer("", -EINVAL, 0);
	assert_answer("[]", -EINVAL, 0);
	assert_answer("{\"status\":\"success\"}", -EINVAL, 0);
	assert_answer("{\"status\":\"error\",\"error\":\"x\"}", -EREMOTEIO, 0);
}

static int run_command(const char *script, bool has_value, double *ret_value,
	const char **ret_failure)
{
	const struct command_check check = {.script = script,
		.has_value = has_value,
		.environment = (const char *const[]){"A=7", NULL},
		.timeout_ms = has_value ? 0 : PATIENCE_MS};
	struct span failure = SPAN("");
	int code = source_run_command(child_system(), &check, arena, ret_value, &failure, NULL);

	*ret_failure = failure.data;
	return code;
}

static void test_commands(void **state)
{
	struct command_check slow = {.script = "sleep 1000", .timeout_ms = 1};
	const char *failure;
	struct span reason;
	double value;

	(void)state;
	assert_int_equal(run_command("exit 0", false, &value, &failure), 0);
	assert_string_equal(failure, "");
	assert_true(value == 1);
	assert_int_equal(run_command("exit 3", false, &value, &failure), 0);
	assert_string_equal(failure, "the command ended with exit code 3");
	assert_int_equal(run_command("kill -9 $$", false, &value, &failure), 0);
	assert_string_equal(failure, "the command was ended by signal 9");
	assert_int_equal(run_command("echo line; echo \" 0.$A \"; echo", true, &value, &failure),
		0);
	assert_string_equal(failure, "");
	assert_true(value == 0.7);
	assert_int_equal(run_command("echo 1 apple", true, &value, &failure), 0);
	assert_string_equal(failure, "the last line of the output is no number: \"1 apple\"");
	assert_int_equal(run_command("true", true, &value, &failure), 0);
	assert_true(failure[0] != '\0');
	assert_int_equal(source_run_command(child_system(), &slow, arena, &value, &reason, NULL),
		-ETIMEDOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_failed_queries),
		cmocka_unit_test(test_http_checks),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_commands),
	};

	return cmocka_run_group_tests_name("source", tests, start_prometheus, stop_prometheus);
}
