/* Records of the step journal, client tokens, and the states of deployments and stages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "pipeline/journal.h"
#include "pipeline/state.h"

static void test_record(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct journal_record record = {.stage = SPAN("stage-1"),
		.step = 2,
		.operation = SPAN("CreateTaskSet"),
		.role = SPAN("canary"),
		.number = 50,
		.token = SPAN("abc"),
		.intent_ms = 1000};
	struct journal_record read;
	struct err err = {0};
	struct json *value = journal_write(&record, arena);

	(void)state;
	assert_string_equal(json_to_text(value, arena).data,
		"{\"stage\":\"stage-1\",\"step\":2,\"operation\":\"CreateTaskSet\",\"role\":"
		"\"canary\",\"number\":50,\"token\":\"abc\",\"intentAt\":1000,\"resultAt\":0,"
		"\"result\":\"SENT\"}");
	assert_int_equal(journal_read(value, &read, &err), 0);
	assert_true(span_is(read.stage, "stage-1") && span_is(read.token, "abc"));
	assert_int_equal(read.target.length, 0);
	assert_int_equal(read.result, JOURNAL_SENT);
	record.result = JOURNAL_REFUSED;
	record.result_ms = 2000;
	record.reason = SPAN("no such cluster");
	assert_int_equal(journal_read(journal_write(&record, arena), &read, &err), 0);
	assert_int_equal(read.result, JOURNAL_REFUSED);
	assert_int_equal(read.result_ms, 2000);
	assert_true(span_is(read.reason, "no such cluster"));
}

static void test_no_record(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct journal_record read;
	struct err err = {0};
	struct json *value = journal_write(&(struct journal_record){0}, arena);

	(void)state;
	json_set_string(arena, value, "result", SPAN("LOST"));
	assert_int_equal(journal_read(value, &read, &err), -EINVAL);
	assert_string_equal(err.message, "journal record: unknown result \"LOST\"");
	json_unset(value, "step");
	assert_int_equal(journal_read(value, &read, &err), -EINVAL);
	assert_string_equal(err.message, "journal record: step is no integer");
	assert_int_equal(journal_read(NULL, &read, &err), -EINVAL);
}

/* scenario 40: the token of an attempt is the same after a restart */
static void test_token(void **state)
{
	char token[JOURNAL_TOKEN_SIZE], same[JOURNAL_TOKEN_SIZE], other[JOURNAL_TOKEN_SIZE];

	(void)state;
	journal_token(SPAN("d-1"), SPAN("stage-1"), SPAN("canary"), 1, token);
	journal_token(SPAN("d-1"), SPAN("stage-1"), SPAN("canary"), 1, same);
	assert_int_equal(strlen(token), 32);
	assert_string_equal(token, same);
	/* Of sha256sum. */
	assert_string_equal(token, "1afd366dfb21a1b946389167dc0b1621");
	journal_token(SPAN("d-1"), SPAN("stage-1"), SPAN("canary"), 2, other);
	assert_string_not_equal(token, other);
	journal_token(SPAN("d-1"), SPAN("stage-1"), SPAN("primary"), 1, other);
	assert_string_not_equal(token, other);
}

static void test_deployment_states(void **state)
{
	enum pipeline_deployment_state read;

	(void)state;
	for (unsigned i = 0; i < PIPELINE_DEPLOYMENT_STATE_COUNT; i++) {
		assert_true(pipeline_deployment_state_read(
			span_of(pipeline_deployment_state_name(i)), &read));
		assert_int_equal(read, i);
		assert_false(pipeline_deployment_may_become(i, PIPELINE_DEPLOYMENT_PENDING));
		for (unsigned j = 0; j < PIPELINE_DEPLOYMENT_STATE_COUNT; j++) {
			/* A rollback that failed is retried, and a user rolls back a success. */
			bool rolls_back = j == PIPELINE_DEPLOYMENT_ROLLING_BACK;

			if (pipeline_deployment_is_terminal(i))
				assert_int_equal(pipeline_deployment_may_become(i, j), rolls_back);
		}
	}
	assert_false(pipeline_deployment_state_read(SPAN("LOST"), &read));
	assert_true(pipeline_deployment_may_become(PIPELINE_DEPLOYMENT_RUNNING,
		PIPELINE_DEPLOYMENT_ROLLING_BACK));
	assert_false(pipeline_deployment_may_become(PIPELINE_DEPLOYMENT_ROLLING_BACK,
		PIPELINE_DEPLOYMENT_SUCCESS));
}

static void test_stage_states(void **state)
{
	enum pipeline_stage_state read;

	(void)state;
	for (unsigned i = 0; i < PIPELINE_STAGE_STATE_COUNT; i++) {
		assert_true(pipeline_stage_state_read(span_of(pipeline_stage_state_name(i)),
			&read));
		assert_int_equal(read, i);
		for (unsigned j = 0; j < PIPELINE_STAGE_STATE_COUNT; j++) {
			bool retries = i == PIPELINE_STAGE_FAILURE && j == PIPELINE_STAGE_RUNNING;

			if (pipeline_stage_is_terminal(i))
				assert_int_equal(pipeline_stage_may_become(i, j), retries);
		}
	}
	assert_true(pipeline_stage_may_become(PIPELINE_STAGE_RUNNING, PIPELINE_STAGE_SKIPPED));
	assert_false(pipeline_stage_may_become(PIPELINE_STAGE_NOT_STARTED, PIPELINE_STAGE_SUCCESS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_no_record),
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_deployment_states),
		cmocka_unit_test(test_stage_states),
	};

	return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
