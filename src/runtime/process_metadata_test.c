/* The task metadata endpoint from within every kind of network, and environment files. */
#include "runtime/spec.h"
#include "runtime/test_process.h"

static const char program[] =
	"import json, os, socket, urllib.error, urllib.request\n"
	"uri = os.environ['ECS_CONTAINER_METADATA_URI_V4']\n"
	"def code(path, **more):\n"
	"    try:\n"
	"        return urllib.request.urlopen(urllib.request.Request(path, **more), "
	"timeout=50).status\n"
	"    except urllib.error.HTTPError as problem:\n"
	"        return problem.code\n"
	"def raw(text):\n"
	"    host, port = uri.split('/')[2].split(':')\n"
	"    with socket.create_connection((host, int(port)), 30) as connection:\n"
	"        connection.sendall(text)\n"
	"        return connection.recv(4096).decode()[:12]\n"
	"result = {name: json.load(urllib.request.urlopen(uri + path, timeout=50)) for name, path "
	"in\n"
	"    (('container', ''), ('task', '/task'), ('stats', '/stats'), ('all', '/task/stats'))}\n"
	"result['unknown'] = code(uri + '/nothing')\n"
	"result['other'] = code(uri + 'x/task')\n"
	"result['post'] = code(uri, data=b'x')\n"
	"result['long'] = raw(b'GET / HTTP/1.1\\r\\nA: ' + b'b' * 9000)\n"
	"result['broken'] = raw(b'hello\\r\\n\\r\\n')\n"
	"crowd = int(os.environ['CROWD'])\n"
	"where = uri.split('/')[2].split(':')\n"
	"many = [socket.create_connection(where, 50) for _ in range(crowd)]\n"
	"result['crowd'] = code(uri)\n"
	"print(json.dumps(result))\n";

static char *write_file(struct fixture *fixture, const char *name, const char *text)
{
	char *path = memory_format("%s/%s", fixture->folder, name);
	struct err err = {.message = ""};

	if (file_replace(path, span_of(text), 0644, &err) < 0)
		fail_msg("%s", err.message);
	return path;
}

static void assert_text(const struct json *object, const char *path, const char *expected)
{
	struct span text = json_text(json_path(object, path));

	if (!span_is(text, expected))
		fail_msg("%s is '%.*s', not '%s'", path, SPAN_ARGS(text), expected);
}

static void assert_number(const struct json *object, const char *name, int64_t expected)
{
	assert_int_equal(json_get_integer(object, name, -1), expected);
}

static void check_container(const struct json *container, const struct runtime_task *task,
	const char *network)
{
	const struct json *addresses;

	assert_text(container, "Name", "app");
	assert_true(span_equal(json_text(json_get(container, "DockerId")),
		task->containers[0].runtime_id));
	assert_text(container, "Image", "host");
	assert_text(container, "DesiredStatus", "RUNNING");
	assert_text(container, "KnownStatus", "RUNNING");
	assert_text(container, "Type", "NORMAL");
	assert_true(json_text(json_get(container, "CreatedAt")).length == 24);
	assert_true(json_text(json_get(container, "StartedAt")).length == 24);
	container = json_item(json_get(container, "Networks"), 0);
	assert_text(container, "NetworkMode", network);
	addresses = json_get(container, "IPv4Addresses");
	assert_int_equal(json_count(addresses), task->address.length > 0);
	if (task->address.length > 0)
		assert_true(span_equal(json_text(json_item(addresses, 0)), task->address));
}

static void check_endpoint(struct fixture *fixture, const char *network, unsigned crowd)
{
	_free_ char *path = write_file(fixture, ".metadata.py", program);
	struct span container = arena_format(fixture->arena,
		"{'name':'app','image':'host','memory':512,'command':['python3','%s'],"
		"'environment':[{'name':'CROWD','value':'%u'}]}",
		path, crowd);
	struct span token = start(fixture, spec_in(fixture, network, container.data));
	struct runtime_task *task = wait_phase(fixture, token, RUNTIME_STOPPED);
	struct span text = read_log(fixture, token, "app");
	struct json *result;
	const struct json *labels;

	if (task->containers[0].exit_code != 0 ||
		json_parse(text, fixture->arena, &result, NULL) < 0)
		fail_msg("%s: %.*s", network, SPAN_ARGS(text));
	check_container(json_get(result, "container"), task, network);
	labels = json_path(result, "container.Labels");
	assert_true(span_is(json_text(json_get(labels, "com.amazonaws.ecs.task-arn")), "arn"));
	assert_text(result, "task.Cluster", "default");
	assert_text(result, "task.TaskARN", "arn");
	assert_text(result, "task.Family", "test");
	assert_text(result, "task.Revision", "1");
	assert_text(result, "task.DesiredStatus", "RUNNING");
	assert_text(result, "task.KnownStatus", "RUNNING");
	assert_text(result, "task.LaunchType", "EC2");
	check_container(json_item(json_path(result, "task.Containers"), 0), task, network);
	assert_true(span_equal(json_text(json_path(result, "stats.id")),
		task->containers[0].runtime_id));
	assert_int_equal(json_count(json_get(result, "all")), 1);
	assert_number(result, "unknown", 404);
	assert_number(result, "other", 404);
	assert_number(result, "post", 405);
	assert_text(result, "long", "HTTP/1.1 431");
	assert_text(result, "broken", "HTTP/1.1 400");
	/* Silent clients block no others for long. */
	assert_number(result, "crowd", 200);
	unlink(path);
}

static void test_endpoint_awsvpc(void **state)
{
	check_endpoint(*state, "awsvpc", 0);
}

static void test_endpoint_bridge(void **state)
{
	check_endpoint(*state, "bridge", 20);
}

static void test_endpoint_host(void **state)
{
	check_endpoint(*state, "host", 0);
}

static void test_endpoint_none(void **state)
{
	check_endpoint(*state, "none", 0);
}

static void test_environment_files(void **state)
{
	struct fixture *fixture = *state;
	_free_ char *first = write_file(fixture, ".first.env",
		"# a comment\nSHIP=tug\n\nCARGO=two words = \"three\"\r\nMATE=one\n=x\nnothing\n");
	_free_ char *second = write_file(fixture, ".second.env", "SHIP=barge\nPORTS=two");
	struct span token = start(fixture,
		spec_in(fixture, "bridge",
			arena_format(fixture->arena,
				"{'name':'app','image':'host','command':['sh','-c','echo "
				"$SHIP:$CARGO:"
				"$MATE:$PORTS'],'environment':[{'name':'MATE','value':'two'}],"
				"'environmentFiles':[{'value':'%s','type':'s3'},{'value':'%s','"
				"type':"
				"'s3'}]}",
				first, second)
				.data));

	wait_phase(fixture, token, RUNTIME_STOPPED);
	assert_true(span_is(read_log(fixture, token, "app"),
		"tug:two words = \"three\":two:two\n"));
	unlink(first);
	unlink(second);
}

static void test_environment_files_that_cannot_be_read(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_task *task = run(fixture,
		spec_in(fixture, "bridge",
			"{'name':'app','image':'host','command':['true'],'environmentFiles':"
			"[{'value':'@/.missing.env','type':'s3'}]}"));
	struct err err = {.message = ""};

	assert_int_equal(task->stop, RUNTIME_STOP_FAILED_TO_START);
	assert_true(span_starts_with(task->reason, SPAN("ResourceInitializationError: ")));
	assert_non_null(memmem(task->reason.data, task->reason.length, ".missing.env", 12));
	assert_false(task->containers[0].has_exit_code);
	assert_int_equal(fixture->runtime->operations->start(fixture->runtime, new_token(fixture),
				 SPAN("machine"),
				 spec_in(fixture, "bridge",
					 "{'name':'app','image':'host','command':['true'],"
					 "'environmentFiles':[{'value':'arn:aws:s3:::b/"
					 "a.env','type':"
					 "'s3'}]}"),
				 &err),
		RUNTIME_REASON_IS_NAMED);
	assert_non_null(strstr(err.message, "ResourceInitializationError: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROCESS_TEST(test_endpoint_awsvpc),
		PROCESS_TEST(test_endpoint_bridge),
		PROCESS_TEST(test_endpoint_host),
		PROCESS_TEST(test_endpoint_none),
		PLAIN_TEST(test_endpoint_awsvpc),
		PLAIN_TEST(test_endpoint_none),
		PROCESS_TEST(test_environment_files),
		PROCESS_TEST(test_environment_files_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
