/* The audit log as its readers see it: one whole line of JSON per call, in the right file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "server/audit.h"

#define WRITERS 8
#define LINES_EACH 200

struct fixture {
	char folder[64];
	char path[128];
	char aside[128];
	struct arena *arena;
};

static const struct aws_caller caller = {.account = SPAN("123456789012"),
	.user = SPAN("ci"),
	.access_key = SPAN("AKIAEXAMPLE"),
	.region = SPAN("eu-west-1")};

static int set_up(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/slipway-audit-XXXXXX");
	if (!mkdtemp(fixture->folder))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/audit.log", fixture->folder);
	snprintf(fixture->aside, sizeof(fixture->aside), "%s/audit.log.1", fixture->folder);
	fixture->arena = arena_new(0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->path);
	unlink(fixture->aside);
	rmdir(fixture->folder);
	arena_free(fixture->arena);
	free(fixture);
	return 0;
}

static struct audit *open_audit(struct fixture *fixture, bool reads)
{
	struct audit *audit;
	struct err err;

	if (audit_open(fixture->path, reads, &audit, &err) < 0)
		fail_msg("%s", err.message);
	return audit;
}

static struct aws_audit call(const char *operation, bool write, const char *error)
{
	return (struct aws_audit){.time_ms = INT64_C(1709210096123),
		.caller = &caller,
		.service = "ecs",
		.operation = span_of(operation),
		.resource = SPAN("arn:x"),
		.error_type = error,
		.status = error ? 400 : 200,
		.request_id = "r-1",
		.write = write,
		.duration_us = 42};
}

/* Every line of a file, parsed; fails on one that is not an object. */
static size_t read_lines(struct fixture *fixture, const char *path, struct json **lines, size_t max)
{
	_buffer_ struct buffer text = {0};
	struct span rest, line;
	size_t count = 0;
	struct err err;

	if (file_read(path, 16 * 1024 * 1024, &text, &err) < 0)
		fail_msg("%s", err.message);
	rest = arena_copy_span(fixture->arena, buffer_span(&text));
	while (span_split(rest, '\n', &line, &rest)) {
		assert_true(count < max);
		if (json_parse(line, fixture->arena, &lines[count], &err) < 0)
			fail_msg("%s: %.*s", err.message, SPAN_ARGS(line));
		assert_true(json_is(lines[count++], JSON_OBJECT));
	}
	assert_int_equal(rest.length, 0);
	return count;
}

static void assert_text(const struct json *line, const char *name, const char *value)
{
	struct span text = json_get_text(line, name);

	if (!span_is(text, value))
		fail_msg("%s is '%.*s', not '%s'", name, SPAN_ARGS(text), value);
}

static void a_line_has_caller_and_operation(void **state)
{
	struct fixture *fixture = *state;
	struct audit *audit = open_audit(fixture, false);
	struct aws_audit record = call("CreateCluster", true, NULL);
	struct json *lines[1];
	struct stat status;

	audit_record(audit, &record);
	audit_close(audit);
	assert_int_equal(read_lines(fixture, fixture->path, lines, 1), 1);
	assert_text(lines[0], "time", "2024-02-29T12:34:56.123Z");
	assert_text(lines[0], "account", "123456789012");
	assert_text(lines[0], "user", "ci");
	assert_text(lines[0], "key", "AKIAEXAMPLE");
	assert_text(lines[0], "region", "eu-west-1");
	assert_text(lines[0], "operation", "ecs:CreateCluster");
	assert_text(lines[0], "resource", "arn:x");
	assert_text(lines[0], "result", "success");
	assert_text(lines[0], "requestId", "r-1");
	assert_int_equal(stat(fixture->path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

/* An operation or resource sent by a client cannot create a line of its own. */
static void foreign_text_stays_inside(void **state)
{
	struct fixture *fixture = *state;
	struct audit *audit = open_audit(fixture, false);
	struct aws_audit record =
		call("\"}\n{\"user\":\"admin\"", true, "UnknownOperationException");
	struct json *lines[1];

	record.resource = SPAN("a\nb\"\\\x01");
	audit_record(audit, &record);
	audit_close(audit);
	assert_int_equal(read_lines(fixture, fixture->path, lines, 1), 1);
	assert_text(lines[0], "operation", "ecs:\"}\n{\"user\":\"admin\"");
	assert_text(lines[0], "resource", "a\nb\"\\\x01");
	assert_text(lines[0], "user", "ci");
	assert_text(lines[0], "result", "UnknownOperationException");
}

static void reads_are_recorded_on_demand(void **state)
{
	struct fixture *fixture = *state;
	struct aws_audit records[] = {call("ListClusters", false, NULL),
		call("ListClusters", false, "AccessDeniedException"),
		call("CreateCluster", true, NULL)};
	struct json *lines[8];

	for (int reads = 0; reads < 2; reads++) {
		struct audit *audit = open_audit(fixture, reads);

		for (size_t i = 0; i < LENGTH(records); i++)
			audit_record(audit, &records[i]);
		audit_close(audit);
	}
	assert_int_equal(read_lines(fixture, fixture->path, lines, 8), 2 + 3); /* appended */
	assert_text(lines[0], "result", "AccessDeniedException");
	assert_text(lines[2], "operation", "ecs:ListClusters");
	audit_record(NULL, &records[0]); /* no audit: nothing */
	assert_int_equal(audit_lost(NULL), 0);
	audit_close(NULL);
}

struct writing {
	struct audit *audit;
	pthread_t thread;
};

static void *write_lines(void *context)
{
	struct writing *writing = context;
	struct aws_audit record = call("CreateCluster", true, NULL);

	for (int i = 0; i < LINES_EACH; i++)
		audit_record(writing->audit, &record);
	return NULL;
}

/* Rotated in the middle of many writers, no line is lost, torn or written twice. */
static void lines_survive_rotation(void **state)
{
	struct fixture *fixture = *state;
	struct audit *audit = open_audit(fixture, false);
	struct writing writings[WRITERS];
	struct json **lines = arena_allocate_array(fixture->arena, WRITERS * LINES_EACH + 1,
		sizeof(struct json *));
	struct err err;
	size_t count;

	for (size_t i = 0; i < WRITERS; i++) {
		writings[i].audit = audit;
		assert_int_equal(pthread_create(&writings[i].thread, NULL, write_lines,
					 &writings[i]),
			0);
	}
	assert_int_equal(rename(fixture->path, fixture->aside), 0);
	if (audit_reopen(audit, &err) < 0)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < WRITERS; i++)
		pthread_join(writings[i].thread, NULL);
	assert_int_equal(audit_lost(audit), 0);
	audit_close(audit);
	count = read_lines(fixture, fixture->path, lines, WRITERS * LINES_EACH);
	count += read_lines(fixture, fixture->aside, lines, WRITERS * LINES_EACH);
	assert_int_equal(count, WRITERS * LINES_EACH);
}

static void failures_are_reported(void **state)
{
	struct fixture *fixture = *state;
	struct aws_audit record = call("CreateCluster", true, NULL);
	struct audit *audit;
	struct err err;

	assert_int_equal(audit_open("/proc/nonexistent/audit.log", false, &audit, &err), -ENOENT);
	assert_non_null(strstr(err.message, "open audit log '/proc/nonexistent/audit.log'"));
	assert_int_equal(audit_open("/dev/full", false, &audit, &err), 0);
	audit_record(audit, &record);
	audit_record(audit, &record);
	assert_int_equal(audit_lost(audit), 2);
	audit_close(audit);
	/* A log that cannot be reopened continues in the old file. */
	audit = open_audit(fixture, false);
	assert_int_equal(rename(fixture->path, fixture->aside), 0);
	assert_int_equal(mkdir(fixture->path, 0700), 0);
	assert_int_equal(audit_reopen(audit, &err), -EISDIR);
	audit_record(audit, &record);
	audit_close(audit);
	assert_int_equal(rmdir(fixture->path), 0);
	assert_int_equal(read_lines(fixture, fixture->aside, (struct json *[1]){NULL}, 1), 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* Requests without a caller do not fill the disk, and none is left out without a count. */
static void unknown_callers_are_limited(void **state)
{
	static const struct aws_caller none = {
		.account = SPAN(""), .user = SPAN(""), .access_key = SPAN(""), .region = SPAN("")};
	struct fixture *fixture = *state;
	struct audit *audit = open_audit(fixture, false);
	struct aws_audit record = call("CreateCluster", true, "MissingAuthenticationToken");
	_buffer_ struct buffer text = {0};
	size_t lines = 0;

	for (int i = 0; i < AUDIT_UNKNOWN_BURST + 7; i++) {
		record.caller = &none;
		audit_record(audit, &record);
	}
	record.caller = &caller;
	audit_record(audit, &record);
	record.caller = &none;
	record.time_ms += 1000;
	audit_record(audit, &record);
	audit_close(audit);
	assert_int_equal(file_read(fixture->path, 1 << 20, &text, NULL), 0);
	for (size_t i = 0; i < text.length; i++)
		lines += text.data[i] == '\n';
	assert_int_equal(lines, AUDIT_UNKNOWN_BURST + 2);
	assert_non_null(strstr(text.data, "\"omitted\":7}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_has_caller_and_operation),
		TEST(foreign_text_stays_inside),
		TEST(reads_are_recorded_on_demand),
		TEST(lines_survive_rotation),
		TEST(failures_are_reported),
		TEST(unknown_callers_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
