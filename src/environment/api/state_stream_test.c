/* Streams of changes: no change is lost and none comes twice, also when a reader is cut off anywhere and resumes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ecs/test_server.h"
#include "ecs/test_tasks.h"
#include "environment/api/operations.h"

#define SEEDS 20
#define STEPS 200

struct bench {
	struct test_server *server;
	unsigned woken;
	char instance[TEST_ID_SIZE];
};

static void wake(void *context)
{
	struct bench *bench = context;

	bench->woken++;
}

static struct bench *bench_new(size_t feed_bytes)
{
	struct bench *bench = memory_allocate(sizeof(*bench));
	const struct test_server_options options = {
		.kinds = daemon_kinds, .kind_count = daemon_kind_count, .feed_bytes = feed_bytes};

	bench->server = test_server_new_of(&options);
	test_call(bench->server, "CreateCluster", "{'clusterName':'web'}");
	test_call(bench->server, "CreateCluster", "{'clusterName':'other'}");
	test_instance(bench->server, "web", 100000, 100000, "", bench->instance);
	test_call(bench->server, "RegisterTaskDefinition",
		"{'family':'log','containerDefinitions':[{'name':'a','image':'a','memory':16}]}");
	return bench;
}

static void bench_free(struct bench *bench)
{
	test_server_free(bench->server);
	free(bench);
}

static const char *open_stream(struct bench *bench, const char *input, bool instances,
	struct delivery_stream **ret_stream)
{
	static char failure[64];
	_arena_ struct arena *arena = arena_new(0);
	struct span text = arena_copy_span(arena, span_of(input));
	struct daemon_context context = {.store = bench->server->store};
	struct aws_request request = {
		.caller = &bench->server->caller, .context = &context, .arena = arena};
	_view_ struct store_view *view = store_view_open(bench->server->store);
	struct json *parsed;

	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] == '\'')
			((char *)text.data)[i] = '"';
	assert_int_equal(json_parse(text, arena, &parsed, NULL), 0);
	request.input = parsed;
	request.view = view;
	if (environment_streams[instances ? 0 : 1].open(&request,
		    (struct delivery_stream_wake){wake, bench}, ret_stream) == 0)
		return "";
	snprintf(failure, sizeof(failure), "%s", request.failure.type);
	return failure;
}

static void read_all(struct delivery_stream *stream, struct buffer *out)
{
	while (delivery_stream_read(stream, out) > 0)
		continue;
}

static size_t count_of(const struct buffer *text, const char *needle)
{
	const char *at = text->length > 0 ? text->data : "";
	size_t count = 0;

	while ((at = strstr(at, needle))) {
		count++;
		at += strlen(needle);
	}
	return count;
}

static void start_task(struct bench *bench, const char *group, char id[TEST_ID_SIZE])
{
	test_call(bench->server, "StartTask",
		"{'cluster':'web','taskDefinition':'log','group':'%s','containerInstances':['%s']"
		"}",
		group, bench->instance);
	test_id_of(test_item(bench->server, "tasks", 0, "taskArn"), id);
}

static void test_snapshot_then_changes(void **state)
{
	struct bench *bench = bench_new(0);
	_buffer_ struct buffer lines = {0}, more = {0}, mine = {0};
	struct delivery_stream *stream, *filtered;
	char one[TEST_ID_SIZE], two[TEST_ID_SIZE];

	(void)state;
	start_task(bench, "env:log", one);
	assert_string_equal(open_stream(bench, "{}", false, &stream), "");
	assert_string_equal(open_stream(bench, "{'environment':'other'}", false, &filtered), "");
	read_all(stream, &lines);
	assert_int_equal(count_of(&lines, "\"snapshot\""), 1);
	assert_int_equal(count_of(&lines, "\"position\""), 1);
	assert_int_equal(count_of(&lines, "\"environment\":\"log\""), 1);
	assert_int_equal(count_of(&lines, "\"cluster\":\"web\""), 1);
	start_task(bench, "by-hand", two);
	assert_true(bench->woken > 0);
	test_change_task(bench->server, "web", one, test_has_run);
	read_all(stream, &more);
	assert_int_equal(count_of(&more, "\"updated\""), 2);
	assert_int_equal(count_of(&more, "\"RUNNING\",\"desiredStatus\""), 1);
	read_all(filtered, &mine);
	assert_int_equal(count_of(&mine, "\"task\":"), 0);
	delivery_stream_free(stream);
	delivery_stream_free(filtered);
	bench_free(bench);
}

/* A change of the object that clients do not see. */
static void same_again(struct task_facts *facts)
{
	(void)facts;
}

static void test_invisible_changes_are_not_reported(void **state)
{
	struct bench *bench = bench_new(0);
	_buffer_ struct buffer lines = {0};
	struct delivery_stream *stream;
	char id[TEST_ID_SIZE];

	(void)state;
	start_task(bench, "g", id);
	assert_string_equal(open_stream(bench, "{}", false, &stream), "");
	read_all(stream, &lines);
	buffer_clear(&lines);
	test_change_task(bench->server, "web", id, same_again);
	read_all(stream, &lines);
	assert_int_equal(lines.length, 0);
	delivery_stream_free(stream);
	bench_free(bench);
}

static void test_instances(void **state)
{
	struct bench *bench = bench_new(0);
	_buffer_ struct buffer lines = {0};
	struct delivery_stream *stream;
	char id[TEST_ID_SIZE];

	(void)state;
	assert_string_equal(open_stream(bench, "{'cluster':'web'}", true, &stream), "");
	read_all(stream, &lines);
	assert_int_equal(count_of(&lines, "\"snapshot\""), 1);
	buffer_clear(&lines);
	test_instance(bench->server, "other", 100, 100, "", id);
	test_call(bench->server, "PutAttributes",
		"{'cluster':'web','attributes':[{'name':'stack','value':'prod',"
		"'targetType':'container-instance','targetId':'%s'}]}",
		bench->instance);
	test_call(bench->server, "DeregisterContainerInstance",
		"{'cluster':'web','containerInstance':'%s','force':true}", bench->instance);
	read_all(stream, &lines);
	assert_true(count_of(&lines, "\"prod\"") >= 1);
	assert_int_equal(count_of(&lines, id), 0);
	assert_true(count_of(&lines, "\"deleted\"") + count_of(&lines, "\"updated\"") >= 2);
	delivery_stream_free(stream);
	bench_free(bench);
}

static void test_other_accounts_are_not_reported(void **state)
{
	struct bench *bench = bench_new(0);
	_buffer_ struct buffer lines = {0};
	struct delivery_stream *stream;
	char id[TEST_ID_SIZE];

	(void)state;
	start_task(bench, "g", id);
	bench->server->caller.account = SPAN("210987654321");
	assert_string_equal(open_stream(bench, "{}", false, &stream), "");
	bench->server->caller.account = SPAN("123456789012");
	start_task(bench, "g", id);
	read_all(stream, &lines);
	assert_int_equal(count_of(&lines, "\"task\":"), 0);
	delivery_stream_free(stream);
	bench_free(bench);
}

/* The number behind the last `"entityVersion":` */
static unsigned long long last_version(const struct buffer *lines)
{
	static const char needle[] = "\"entityVersion\":";
	const char *at = lines->length > 0 ? lines->data : "";
	unsigned long long version = 0;

	while ((at = strstr(at, needle))) {
		at += strlen(needle);
		version = strtoull(at, NULL, 10);
	}
	return version;
}

/* Only lines with changes, so that streams can be compared. */
static void add_changes(const struct buffer *lines, struct buffer *out)
{
	struct span rest = buffer_span(lines), line;

	while (span_split(rest, '\n', &line, &rest))
		if (!span_starts_with(line, SPAN("{\"change\":\"position\"")))
			buffer_format(out, "%.*s\n", SPAN_ARGS(line));
}

static void test_cut_anywhere_and_resumed(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct bench *bench = bench_new(0);
		_buffer_ struct buffer whole = {0}, parts = {0}, all = {0};
		struct delivery_stream *through, *cut;
		struct random_seeded random;
		char ids[STEPS][TEST_ID_SIZE], input[64];
		unsigned long long version;
		size_t count = 0;

		random_seeded_init(&random, seed);
		assert_string_equal(open_stream(bench, "{}", false, &through), "");
		assert_string_equal(open_stream(bench, "{}", false, &cut), "");
		for (size_t i = 0; i < STEPS; i++) {
			_buffer_ struct buffer lines = {0};

			if (count == 0 || random_below(&random.random, 3) == 0)
				start_task(bench, "g", ids[count++]);
			else
				test_change_task(bench->server, "web",
					ids[random_below(&random.random, count)],
					random_below(&random.random, 2) ? test_has_run
									: test_has_stopped);
			if (random_below(&random.random, 4) > 0)
				continue;
			read_all(cut, &lines);
			add_changes(&lines, &parts);
			if (last_version(&lines) == 0)
				continue;
			/* It is cut off, and resumes from the last position that it has seen. */
			version = last_version(&lines);
			delivery_stream_free(cut);
			snprintf(input, sizeof(input), "{'entityVersion':%llu}", version);
			assert_string_equal(open_stream(bench, input, false, &cut), "");
		}
		{
			_buffer_ struct buffer lines = {0};

			read_all(cut, &lines);
			add_changes(&lines, &parts);
		}
		read_all(through, &whole);
		add_changes(&whole, &all);
		buffer_add_char(&all, '\0');
		buffer_add_char(&parts, '\0');
		assert_string_equal(parts.data, all.data);
		delivery_stream_free(through);
		delivery_stream_free(cut);
		bench_free(bench);
	}
}

static void test_too_old_is_reported(void **state)
{
	struct bench *bench = bench_new(4096);
	_buffer_ struct buffer lines = {0};
	struct delivery_stream *stream;
	char id[TEST_ID_SIZE];
	int code;

	(void)state;
	assert_string_equal(open_stream(bench, "{}", false, &stream), "");
	read_all(stream, &lines);
	for (int i = 0; i < 200; i++)
		start_task(bench, "g", id);
	while ((code = delivery_stream_read(stream, &lines)) > 0)
		continue;
	assert_int_equal(code, -EOVERFLOW);
	delivery_stream_free(stream);
	assert_string_equal(open_stream(bench, "{'entityVersion':3}", false, &stream),
		"EntityVersionTooOldException");
	assert_string_equal(open_stream(bench, "{'entityVersion':99999999}", false, &stream),
		"EntityVersionTooOldException");
	bench_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_snapshot_then_changes),
		cmocka_unit_test(test_invisible_changes_are_not_reported),
		cmocka_unit_test(test_instances),
		cmocka_unit_test(test_other_accounts_are_not_reported),
		cmocka_unit_test(test_cut_anywhere_and_resumed),
		cmocka_unit_test(test_too_old_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
