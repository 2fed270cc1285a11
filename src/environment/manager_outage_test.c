/*
 * A remote ECS is unavailable for an hour (scenario 83), on virtual time: the real manager and the real remote ECS. Reads
 * are answered and writes are accepted, it is called a few times a minute, no task is changed, and work resumes by itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/test_remote.h"

#define INSTANCES 10
#define MINUTE_US (60 * SECOND_US)
#define CALLS_A_MINUTE 6 /* half of what it polls with while all is well */
#define STEP_US (SECOND_US / 2)

static size_t pass(struct test_remote *bench, int revision, int64_t duration_us, size_t *ret_all)
{
	size_t running = 0;

	for (int64_t passed = 0; passed < duration_us; passed += STEP_US) {
		running = test_remote_move(bench, revision, ret_all);
		test_manager_pass(bench->near, STEP_US);
	}
	return running;
}

/* A minute of it: clients read, and change another environment. */
static void use(struct test_remote *bench, int minute, const char *id)
{
	const struct json *reported;

	reported = test_manager_ask(bench->near, "GetEnvironment", "{'name':'log'}");
	assert_true(json_get_bool(reported, "stale", false));
	assert_true(span_starts_with(json_get_text(reported, "statusReason"),
		SPAN("connection refused")));
	assert_int_equal(json_get_integer(json_get(reported, "counts"), "active", -1), INSTANCES);
	assert_string_equal(test_remote_status(bench, id), "blocked");
	assert_true(span_starts_with(span_of(test_text(bench->near->server, "statusReason")),
		SPAN("CLUSTER_STALE: ")));
	test_manager_ask(bench->near, "ListDeployments", "{'name':'log'}");
	test_manager_ask(bench->near, "CreateEnvironment",
		"{'name':'other%d','taskDefinition':'other:%d','target':'far',"
		"'instanceGroup':{'cluster':'default'}}",
		minute, minute + 1);
	test_manager_ask(bench->near, "UpdateEnvironment",
		"{'name':'other%d','description':'away'}", minute);
	test_manager_ask(bench->near, "DeleteEnvironment", "{'name':'other%d'}", minute);
}

static void test_83_away_for_an_hour(void **state)
{
	struct test_remote *bench = test_remote_new(83, INSTANCES);
	uint64_t most = 0, changes;
	size_t all;
	char id[64];

	(void)state;
	test_remote_deploy(bench, 1, id);
	assert_int_equal(pass(bench, 1, MINUTE_US, &all), INSTANCES);
	assert_string_equal(test_remote_status(bench, id), "completed");

	bench->is_away = true;
	pass(bench, 1, MINUTE_US, &all);
	test_remote_deploy(bench, 2, id);
	test_manager_pass(bench->near, 10 * SECOND_US);
	changes = bench->starts + bench->stops;
	for (int minute = 0; minute < 60; minute++) {
		uint64_t calls = bench->calls;

		use(bench, minute, id);
		test_manager_pass(bench->near, MINUTE_US);
		if (bench->calls - calls > most)
			most = bench->calls - calls;
		assert_true(bench->calls > calls); /* else its return would not be noticed */
	}
	print_message("at most %llu calls a minute\n", (unsigned long long)most);
	assert_true(most <= CALLS_A_MINUTE);
	assert_int_equal(bench->starts + bench->stops, changes);
	assert_int_equal(pass(bench, 1, STEP_US, &all), INSTANCES);
	assert_int_equal(all, INSTANCES);

	/* No client intervenes. */
	bench->is_away = false;
	assert_int_equal(pass(bench, 2, 5 * MINUTE_US, &all), INSTANCES);
	assert_int_equal(all, 2 * INSTANCES);
	assert_string_equal(test_remote_status(bench, id), "completed");
	test_manager_ask(bench->near, "GetEnvironment", "{'name':'log'}");
	assert_null(json_get(bench->near->server->answer, "stale"));
	assert_null(json_get(bench->near->server->answer, "statusReason"));
	test_remote_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_83_away_for_an_hour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
