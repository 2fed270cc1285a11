/* Requests to the daemon and its responses: bodies, inspections, times, versions, frames, logs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/docker/api.h"
#include "runtime/docker/create.h"
#include "runtime/docker/facts.h"
#include "runtime/docker/images.h"
#include "runtime/docker/log_reader.h"
#include "runtime/docker/raw.h"
#include "runtime/spec.h"

#define HOST "0123456789abcdef0123456789abcdef"
#define NAME "slipway-0123456789ab.token"

static const struct docker_abilities able = {.processors = 4,
	.memory_bytes = INT64_C(8) << 30,
	.limits_memory = true,
	.limits_processors = true,
	.shares_processors = true};

static struct json *parse(struct arena *arena, const char *text)
{
	struct err err = {.message = ""};
	struct json *value;

	if (json_parse(span_of(text), arena, &value, &err) < 0)
		fail_msg("%s: %s", err.message, text);
	return value;
}

static struct plan *plan_of(struct arena *arena, const char *spec)
{
	struct err err = {.message = ""};
	struct plan *plan;

	if (plan_parse_spec(parse(arena, spec), PLAN_IMAGE_ANY, arena, &plan, &err) < 0)
		fail_msg("%s", err.message);
	plan->token = SPAN("token");
	return plan;
}

/* ---- create ---- */

/* A row: members of the spec, members of the container, a path in the body, the expected value. */
static const struct {
	const char *task, *container, *path, *expected;
} bodies[] = {
	{"", "", "Image", "\"i:1\""},
	{"", "\"command\":[\"a\",\"b\"]", "Cmd", "[\"a\",\"b\"]"},
	{"", "\"entryPoint\":[\"e\"],\"command\":[\"a\"]", "Entrypoint", "[\"e\"]"},
	{"", "\"entryPoint\":[\"e\"],\"command\":[\"a\"]", "Cmd", "[\"a\"]"},
	{"", "", "Cmd", NULL},
	{"", "", "Entrypoint", NULL},
	{"", "\"environment\":[{\"name\":\"A\",\"value\":\"b=c\"}]", "Env", "[\"F=1\",\"A=b=c\"]"},
	{"", "\"workingDirectory\":\"/w\"", "WorkingDir", "\"/w\""},
	{"", "\"user\":\"1:2\"", "User", "\"1:2\""},
	{"", "\"hostname\":\"h\"", "Hostname", "\"h\""},
	{"\"networkMode\":\"awsvpc\"", "\"hostname\":\"h\"", "Hostname", NULL},
	{"", "", "Healthcheck", "{\"Test\":[\"NONE\"]}"},
	{"",
		"\"healthCheck\":{\"command\":[\"CMD-SHELL\",\"x\"],\"interval\":5,\"timeout\":2,"
		"\"retries\":4,\"startPeriod\":3}",
		"Healthcheck",
		"{\"Test\":[\"CMD\",\"/bin/sh\",\"-c\",\"x\"],\"Interval\":5000000000,"
		"\"Timeout\":2000000000,\"StartPeriod\":3000000000,\"Retries\":4}"},
	{"", "", "HostConfig.NetworkMode", "\"bridge\""},
	{"\"networkMode\":\"host\"", "", "HostConfig.NetworkMode", "\"host\""},
	{"\"networkMode\":\"none\"", "", "HostConfig.NetworkMode", "\"none\""},
	{"\"networkMode\":\"awsvpc\"", "", "HostConfig.NetworkMode", "\"container:" NAME "\""},
	{"", "\"portMappings\":[{\"containerPort\":80,\"hostPort\":8080}]",
		"HostConfig.PortBindings",
		"{\"80/tcp\":[{\"HostIp\":\"0.0.0.0\",\"HostPort\":\"8080\"}]}"},
	{"",
		"\"portMappings\":[{\"containerPort\":53,\"hostPort\":0,\"protocol\":\"udp\"},"
		"{\"containerPort\":53,\"hostPort\":5353,\"protocol\":\"udp\"}]",
		"HostConfig.PortBindings",
		"{\"53/udp\":[{\"HostIp\":\"0.0.0.0\",\"HostPort\":\"\"},{\"HostIp\":\"0.0.0.0\","
		"\"HostPort\":\"5353\"}]}"},
	{"\"networkMode\":\"awsvpc\"", "\"portMappings\":[{\"containerPort\":80}]",
		"HostConfig.PortBindings", NULL},
	{"", "\"memory\":64", "HostConfig.Memory", "67108864"},
	{"", "\"memory\":1", "HostConfig.Memory", "6291456"},
	{"\"memory\":128", "", "HostConfig.Memory", "134217728"},
	{"", "", "HostConfig.Memory", NULL},
	{"", "\"memoryReservation\":32", "HostConfig.MemoryReservation", "33554432"},
	{"", "\"cpu\":256", "HostConfig.CpuShares", "256"},
	{"", "", "HostConfig.CpuShares", "2"},
	{"\"cpu\":512", "", "HostConfig.NanoCpus", "500000000"},
	{"\"cpu\":4096", "", "HostConfig.NanoCpus", NULL}, /* all there are */
	{"", "\"ulimits\":[{\"name\":\"nofile\",\"softLimit\":10,\"hardLimit\":-1}]",
		"HostConfig.Ulimits", "[{\"Name\":\"nofile\",\"Soft\":10,\"Hard\":-1}]"},
	{"\"volumes\":[{\"name\":\"v\",\"host\":{\"sourcePath\":\"/s\"}},{\"name\":\"w\"}]",
		"\"mountPoints\":[{\"sourceVolume\":\"v\",\"containerPath\":\"/a\",\"readOnly\":"
		"true},"
		"{\"sourceVolume\":\"w\",\"containerPath\":\"/b\"}]",
		"HostConfig.Binds", "[\"/s:/a:ro\",\"" NAME ".w:/b\"]"},
	{"", "\"readonlyRootFilesystem\":true", "HostConfig.ReadonlyRootfs", "true"},
	{"", "\"privileged\":true", "HostConfig.Privileged", "true"},
	{"\"networkMode\":\"bridge\"", "", "HostConfig.Dns", "[\"10.9.8.1\"]"},
	{"\"networkMode\":\"host\"", "", "HostConfig.Dns", "[\"10.9.8.1\"]"},
	{"\"networkMode\":\"none\"", "", "HostConfig.Dns", NULL},
	{"\"networkMode\":\"awsvpc\"", "", "HostConfig.Dns", NULL},
	{"", "\"logMaxBytes\":1000000", "HostConfig.LogConfig",
		"{\"Type\":\"json-file\",\"Config\":{\"max-size\":\"1000000\",\"max-file\":\"5\"}"
		"}"},
};

static void test_bodies(void **state)
{
	static char *files[] = {"F=1", NULL}, *none[] = {NULL};

	(void)state;
	for (size_t i = 0; i < LENGTH(bodies); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct span spec = arena_format(arena,
			"{\"version\":1,%s%s\"containers\":[{\"name\":\"app\",\"image\":\"i:1\"%s%"
			"s}]}",
			bodies[i].task, bodies[i].task[0] ? "," : "",
			bodies[i].container[0] ? "," : "", bodies[i].container);
		struct json *body = docker_create_body(arena, HOST, plan_of(arena, spec.data), 0,
			&able, strcmp(bodies[i].path, "Env") == 0 ? files : none, "10.9.8.1");
		const struct json *found = json_path(body, bodies[i].path);
		struct span text = found ? json_to_text(found, arena) : SPAN("nothing");

		if (!span_is(text, bodies[i].expected ? bodies[i].expected : "nothing"))
			fail_msg("%s of %s: %.*s", bodies[i].path, spec.data, SPAN_ARGS(text));
	}
}

static void test_labels_and_names(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct plan *plan = plan_of(arena,
		"{\"version\":1,\"family\":\"web\",\"revision\":3,\"cluster\":\"c\",\"arn\":\"arn:"
		"x\","
		"\"networkMode\":\"awsvpc\",\"containers\":[{\"name\":\"app\",\"image\":\"i\","
		"\"hostname\":\"h\"}]}");
	struct json *labels = docker_labels(arena, HOST, plan, SPAN("app"));
	struct json *holder =
		docker_network_holder_body(arena, HOST, plan, SPAN("p:1"), SPAN("net"), "10.9.8.1");

	(void)state;
	assert_true(span_is(json_to_text(labels, arena),
		"{\"slipway.host\":\"" HOST "\",\"slipway.task\":\"token\","
		"\"slipway.container\":\"app\",\"com.amazonaws.ecs.cluster\":\"c\","
		"\"com.amazonaws.ecs.container-name\":\"app\","
		"\"com.amazonaws.ecs.task-arn\":\"arn:x\","
		"\"com.amazonaws.ecs.task-definition-family\":\"web\","
		"\"com.amazonaws.ecs.task-definition-version\":\"3\"}"));
	assert_true(span_is(json_get_text(holder, "Hostname"), "h"));
	assert_true(span_is(json_text(json_path(holder, "HostConfig.NetworkMode")), "net"));
	assert_true(span_is(json_to_text(json_path(holder, "HostConfig.Dns"), arena),
		"[\"10.9.8.1\"]"));
	assert_true(span_is(docker_container_name(arena, HOST, SPAN("token"), SPAN("app")),
		NAME ".app"));
}

static void test_what_the_daemon_cannot_do_is_noted(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct docker_abilities unable = {.processors = 1};
	struct plan *plan = plan_of(arena, "{\"version\":1,\"cpu\":256,\"memory\":128,"
					   "\"containers\":[{\"name\":\"a\",\"image\":"
					   "\"i\"},{\"name\":\"b\",\"image\":\"i\"}]}");

	(void)state;
	assert_true(span_is(docker_create_notes(arena, plan, &unable),
		"memory is not limited: the daemon cannot; processors are not limited: the daemon "
		"cannot; cpu and memory of the task limit each of its containers, not their sum"));
	plan->container_count = 1;
	assert_true(span_is(docker_create_notes(arena, plan, &able), ""));
}

static void test_what_is_never_asked(void **state)
{
	static const char *const specs[] = {
		"{\"version\":1,\"containers\":[{\"name\":\"a\",\"image\":\"\"}]}",
		"{\"version\":1,\"volumes\":[{\"name\":\"v\",\"host\":{\"sourcePath\":\"/a:b\"}}],"
		"\"containers\":[{\"name\":\"a\",\"image\":\"i\",\"mountPoints\":[{"
		"\"sourceVolume\":"
		"\"v\",\"containerPath\":\"/c\"}]}]}",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(specs); i++) {
		_arena_ struct arena *arena = arena_new(0);

		assert_int_equal(docker_create_check(plan_of(arena, specs[i]), NULL),
			RUNTIME_REASON_IS_NAMED);
	}
}

/* ---- inspections ---- */

static const struct {
	const char *text;
	enum docker_status status;
	int exit_code;
	bool out_of_memory;
	enum runtime_health health;
	const char *address;
	size_t bindings;
} inspections[] = {
	{"{}", DOCKER_CREATED, 0, false, RUNTIME_HEALTH_NONE, "", 0},
	{"[]", DOCKER_CREATED, 0, false, RUNTIME_HEALTH_NONE, "", 0},
	{"{\"State\":{\"Status\":\"created\",\"StartedAt\":\"0001-01-01T00:00:00Z\"}}",
		DOCKER_CREATED, 0, false, RUNTIME_HEALTH_NONE, "", 0},
	{"{\"State\":{\"Status\":\"running\"}}", DOCKER_RUNNING, 0, false, RUNTIME_HEALTH_NONE, "",
		0},
	{"{\"State\":{\"Status\":\"paused\"}}", DOCKER_RUNNING, 0, false, RUNTIME_HEALTH_NONE, "",
		0},
	{"{\"State\":{\"Status\":\"exited\",\"ExitCode\":137,\"OOMKilled\":true,\"StartedAt\":"
	 "\"2026-11-16T21:43:47.5Z\"}}",
		DOCKER_ENDED, 137, true, RUNTIME_HEALTH_NONE, "", 0},
	{"{\"State\":{\"Running\":true}}", DOCKER_RUNNING, 0, false, RUNTIME_HEALTH_NONE, "", 0},
	{"{\"State\":{\"Status\":\"running\",\"Health\":{\"Status\":\"starting\"}},\"Config\":{"
	 "\"Healthcheck\":{\"Test\":[\"CMD\",\"x\"]}}}",
		DOCKER_RUNNING, 0, false, RUNTIME_HEALTH_UNKNOWN, "", 0},
	{"{\"State\":{\"Status\":\"running\",\"Health\":{\"Status\":\"unhealthy\"}},\"Config\":{"
	 "\"Healthcheck\":{\"Test\":[\"CMD\",\"x\"]}}}",
		DOCKER_RUNNING, 0, false, RUNTIME_UNHEALTHY, "", 0},
	{"{\"State\":{\"Status\":\"running\",\"Health\":{\"Status\":\"healthy\"}},\"Config\":{"
	 "\"Healthcheck\":{\"Test\":[\"NONE\"]}}}",
		DOCKER_RUNNING, 0, false, RUNTIME_HEALTH_NONE, "", 0},
	{"{\"State\":{\"Status\":\"running\"},\"NetworkSettings\":{\"Ports\":{\"80/tcp\":["
	 "{\"HostIp\":\"0.0.0.0\",\"HostPort\":\"32768\"},{\"HostIp\":\"::\",\"HostPort\":"
	 "\"32768\"}],\"53/udp\":null,\"x\":[],\"99999/tcp\":[{\"HostPort\":\"1\"}]},"
	 "\"Networks\":{\"a\":{\"IPAddress\":\"\"},\"b\":{\"IPAddress\":\"10.1.2.3\","
	 "\"MacAddress\":"
	 "\"02:42\"}}}}",
		DOCKER_RUNNING, 0, false, RUNTIME_HEALTH_NONE, "10.1.2.3", 1},
};

static void test_inspections(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(inspections); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct docker_facts facts;

		docker_facts_read(parse(arena, inspections[i].text), arena, &facts);
		if (facts.status != inspections[i].status ||
			facts.exit_code != inspections[i].exit_code ||
			facts.out_of_memory != inspections[i].out_of_memory ||
			facts.health != inspections[i].health ||
			strcmp(facts.address, inspections[i].address) != 0 ||
			facts.binding_count != inspections[i].bindings)
			fail_msg("%s: status %d, code %d, health %d, address '%s', %zu bindings",
				inspections[i].text, (int)facts.status, facts.exit_code,
				(int)facts.health, facts.address, facts.binding_count);
	}
}

static const struct {
	const char *text;
	int64_t at_ns;
	size_t length;
} times[] = {
	{"1970-01-01T00:00:01Z", 1000000000, 20},
	{"1970-01-01T00:00:01.5Z rest", 1500000000, 22},
	{"2026-11-16T21:43:47.850511355Z", 1794865427850511355, 30},
	{"2026-11-16T23:43:47.850511355+02:00", 1794865427850511355, 35},
	{"2026-11-16T19:43:47.850511355-02:00 x", 1794865427850511355, 35},
	{"2026-11-16T21:43:47.8505113559999999Z", 1794865427850511355, 37},
	{"0001-01-01T00:00:00Z", 0, 0},
	{"9999-01-01T00:00:00Z", 0, 0},
	{"2026-11-16T21:43:47", 0, 0},
	{"2026-11-16 21:43:47Z", 0, 0},
	{"2026-11-16T21:43:4xZ", 0, 0},
	{"2026-11-16T21:43:47+0", 0, 0},
	{"", 0, 0},
};

static void test_times(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(times); i++) {
		size_t length = 0;
		int64_t at_ns = docker_parse_time(span_of(times[i].text), &length);

		if (at_ns != times[i].at_ns || length != times[i].length)
			fail_msg("%s: %lld, %zu bytes", times[i].text, (long long)at_ns, length);
	}
}

/* ---- versions and images ---- */

static const struct {
	const char *text;
	int code;
	unsigned minor;
} versions[] = {
	{"{\"ApiVersion\":\"1.41\",\"MinAPIVersion\":\"1.12\"}", 0, 41},
	{"{\"ApiVersion\":\"1.30\"}", 0, 30},
	{"{\"ApiVersion\":\"1.99\",\"MinAPIVersion\":\"1.44\"}", 0, DOCKER_API_NEWEST},
	{"{\"ApiVersion\":\"1.29\",\"MinAPIVersion\":\"1.12\"}", -ENOTSUP, 0},
	{"{\"ApiVersion\":\"1.99\",\"MinAPIVersion\":\"1.90\"}", -ENOTSUP, 0},
	{"{\"ApiVersion\":\"2.0\"}", -ENOTSUP, 0},
	{"{}", -ENOTSUP, 0},
	{"[1]", -ENOTSUP, 0},
};

static void test_versions(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(versions); i++) {
		_arena_ struct arena *arena = arena_new(0);
		unsigned minor = 0;

		assert_int_equal(docker_api_choose(parse(arena, versions[i].text), &minor, NULL),
			versions[i].code);
		assert_int_equal(minor, versions[i].minor);
	}
}

static const struct {
	const char *image, *repository, *tag;
} images[] = {
	{"busybox", "busybox", "latest"},
	{"busybox:1.36", "busybox", "1.36"},
	{"registry:5000/a/b", "registry:5000/a/b", "latest"},
	{"registry:5000/a/b:c", "registry:5000/a/b", "c"},
	{"a/b@sha256:12", "a/b", "sha256:12"},
	{"", "", "latest"},
};

static void test_names_of_images(void **state)
{
	static const char *const good[] = {"a", "a/b", "r:5000/a-b_c.d:1", "a@sha256:0", "A:B:C"};
	static const char *const bad[] = {
		"", "/a", "a/", "../a", "a/../b", "a//b", "a b", "a?b", "a%2e", "-a", "a/.b"};

	(void)state;
	for (size_t i = 0; i < LENGTH(good); i++)
		assert_true(docker_image_is_name(span_of(good[i])));
	for (size_t i = 0; i < LENGTH(bad); i++)
		assert_false(docker_image_is_name(span_of(bad[i])));
	assert_false(docker_image_is_name((struct span){"a\0b", 3}));
}

static void test_images(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(images); i++) {
		struct span repository, tag;

		docker_image_split(span_of(images[i].image), &repository, &tag);
		assert_true(span_is(repository, images[i].repository));
		assert_true(span_is(tag, images[i].tag));
	}
}

/* ---- streams ---- */

static void add_frame(struct buffer *out, int output, const char *text)
{
	size_t length = strlen(text);
	unsigned char head[DOCKER_FRAME_HEAD] = {(unsigned char)output, 0, 0, 0, 0, 0,
		(unsigned char)(length >> 8), (unsigned char)length};

	buffer_add(out, head, sizeof(head));
	buffer_add(out, text, length);
}

static int note_piece(void *context, enum docker_output output, struct span data, bool begins,
	bool ends)
{
	buffer_format(context, "%s%d:%.*s%s", begins ? "<" : "", (int)output, SPAN_ARGS(data),
		ends ? ">" : "");
	return 0;
}

static void test_frames(void **state)
{
	_buffer_ struct buffer frames = {0}, seen = {0};
	struct docker_stream stream = {0};

	(void)state;
	add_frame(&frames, 1, "one");
	add_frame(&frames, 2, "");
	add_frame(&frames, 2, "two");
	assert_int_equal(docker_stream_feed(&stream, buffer_span(&frames), note_piece, &seen, NULL),
		0);
	assert_string_equal(seen.data, "<1:one><2:><2:two>");
	for (size_t cut = 1; cut < 12; cut++) {
		_buffer_ struct buffer text = {0};

		stream = (struct docker_stream){0};
		for (size_t at = 0; at < frames.length; at += cut) {
			size_t length = frames.length - at < cut ? frames.length - at : cut;

			assert_int_equal(docker_stream_feed(&stream,
						 (struct span){frames.data + at, length},
						 note_piece, &text, NULL),
				0);
		}
		assert_int_equal(stream.left, 0);
	}
	stream = (struct docker_stream){0};
	assert_int_equal(docker_stream_feed(&stream, SPAN("\4\0\0\0\0\0\0\1x"), note_piece, &seen,
				 NULL),
		-EPROTO);
	stream = (struct docker_stream){0};
	assert_int_equal(docker_stream_feed(&stream, SPAN("\1\0\1\0\0\0\0\1x"), note_piece, &seen,
				 NULL),
		-EPROTO);
}

static void note_text(void *context, int64_t at_ns, struct span text)
{
	assert_true(at_ns >= 0);
	buffer_add_span(context, text);
}

#define AT(number, text) "2026-11-16T21:43:47.00000000" #number "Z " text

/* Reads the log from `had` on, in pieces of that many bytes, and returns its position. */
static struct docker_log_place read_log(struct span frames, struct docker_log_place had, size_t cut,
	struct buffer *out)
{
	struct docker_log_reader reader = {.text = note_text, .context = out};

	docker_log_reader_begin(&reader, had);
	for (size_t at = 0; at < frames.length; at += cut) {
		size_t length = frames.length - at < cut ? frames.length - at : cut;

		assert_int_equal(docker_log_reader_feed(&reader,
					 (struct span){frames.data + at, length}, NULL),
			0);
	}
	return reader.done;
}

/* Wherever the reading is interrupted, and however the bytes arrive: the two parts are the
 * whole. */
static void test_a_log_is_gone_on_with(void **state)
{
	_buffer_ struct buffer frames = {0};
	static const char whole[] = "a\nb\nc\nc2\nlong without end\nd\n";
	size_t ends[16], count = 0;

	(void)state;
	add_frame(&frames, 1, AT(1, "a\n"));
	ends[count++] = frames.length;
	add_frame(&frames, 2, AT(2, "b\n"));
	ends[count++] = frames.length;
	add_frame(&frames, 1, AT(3, "c\n"));
	ends[count++] = frames.length;
	add_frame(&frames, 2, AT(3, "c2\n"));
	ends[count++] = frames.length;
	add_frame(&frames, 1, AT(4, "long "));
	add_frame(&frames, 1, AT(5, "without end\n"));
	ends[count++] = frames.length;
	add_frame(&frames, 1, AT(6, "d\n"));
	ends[count++] = frames.length;
	for (size_t cut = 1; cut < 80; cut += 7)
		for (size_t i = 0; i < count; i++) {
			_buffer_ struct buffer seen = {0};
			struct docker_log_place place = {0};

			place = read_log((struct span){frames.data, ends[i]}, place, cut, &seen);
			place = read_log(buffer_span(&frames), place, cut, &seen);
			assert_string_equal(seen.data, whole);
			read_log(buffer_span(&frames), place, cut, &seen);
			assert_string_equal(seen.data, whole);
		}
}

static void test_messages_without_a_time(void **state)
{
	_buffer_ struct buffer frames = {0}, seen = {0};

	(void)state;
	add_frame(&frames, 1, "no time at all\n");
	add_frame(&frames, 1, "x");
	add_frame(&frames, 1, "2026-11-16T21:43:47Z");
	add_frame(&frames, 1, "a word that is longer than any time could ever be, and more\n");
	read_log(buffer_span(&frames), (struct docker_log_place){0}, 5, &seen);
	assert_string_equal(seen.data,
		"no time at all\nxa word that is longer than any time could ever be, and more\n");
}

static void test_heads(void **state)
{
	size_t length;
	int status;

	(void)state;
	assert_false(docker_raw_head(SPAN(""), &status, &length));
	assert_false(docker_raw_head(SPAN("HTTP/1.1 200 OK\r\nA: b\r\n"), &status, &length));
	assert_true(docker_raw_head(SPAN("HTTP/1.1 101 UPGRADED\r\n\r\nrest"), &status, &length));
	assert_int_equal(status, 101);
	assert_int_equal(length, 25);
	assert_true(docker_raw_head(SPAN("SSH-2.0\r\n\r\n"), &status, &length));
	assert_int_equal(status, 0);
}

/* The daemon's backlog is full: the next connection fails at once. */
static void test_a_daemon_with_a_full_backlog(void **state)
{
	char folder[] = "/tmp/slipway-docker-test-XXXXXX";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_close_ int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int waiting[8], count = 0, code;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	do {
		assert_in_range(count, 0, LENGTH(waiting) - 1);
		code = docker_raw_open(address.sun_path, SPAN("GET / HTTP/1.0\r\n\r\n"), false,
			&waiting[count], &err);
		count += code == 0;
	} while (code == 0);
	assert_int_equal(code, -EAGAIN);
	while (count > 0)
		close(waiting[--count]);
	unlink(address.sun_path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_labels_and_names),
		cmocka_unit_test(test_what_the_daemon_cannot_do_is_noted),
		cmocka_unit_test(test_what_is_never_asked),
		cmocka_unit_test(test_inspections),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_names_of_images),
		cmocka_unit_test(test_images),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_a_log_is_gone_on_with),
		cmocka_unit_test(test_messages_without_a_time),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_a_daemon_with_a_full_backlog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
