/* Approvals: approvers, minimum, deadline, the plan they are bound to, and records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "delivery/approval.h"

#define HOUR_MS (60 * 60 * 1000)
#define BEGIN_MS INT64_C(1700000000000)

static struct arena *arena;

static int setup(void **state)
{
	(void)state;
	arena = arena_new(0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static const struct span two_users[] = {SPAN("u1"), SPAN("u2")};

static struct approval begin_approval(int64_t minimum)
{
	return (struct approval){.subject = SPAN("deployment/d1/stage-2"),
		.digest = SPAN("plan-1"),
		.approvers = two_users,
		.approver_count = 2,
		.minimum = minimum,
		.requester = SPAN("u1"),
		.deadline_ms = BEGIN_MS + HOUR_MS};
}

static int vote(struct approval *approval, const char *user, bool approves, int64_t after_ms)
{
	const struct approval_vote added = {
		.user = span_of(user), .at_ms = BEGIN_MS + after_ms, .approves = approves};

	return approval_add_vote(approval, &added, SPAN(""), arena, NULL);
}

/* scenario 43 */
static void test_approvers(void **state)
{
	struct approval approval = begin_approval(2), open = begin_approval(0);

	(void)state;
	assert_int_equal(vote(&approval, "u3", true, 0), -EACCES);
	assert_int_equal(vote(&approval, "", true, 0), -EACCES);
	assert_int_equal(vote(&approval, "u1", true, 1), 0);
	assert_int_equal(vote(&approval, "u1", true, 2), 0);
	assert_int_equal(approval.vote_count, 1);
	assert_int_equal(approval_state(&approval, BEGIN_MS), APPROVAL_WAITING);
	assert_int_equal(vote(&approval, "u2", true, 3), 0);
	assert_int_equal(approval_state(&approval, BEGIN_MS), APPROVAL_APPROVED);
	assert_true(span_is(approval.votes[0].user, "u1") &&
		    approval.votes[0].at_ms == BEGIN_MS + 1);
	assert_true(span_is(approval.votes[1].user, "u2") &&
		    approval.votes[1].at_ms == BEGIN_MS + 3);
	assert_int_equal(vote(&approval, "u2", false, 4), -EALREADY);
	/* No approvers: any user */
	open.approver_count = 0;
	assert_int_equal(vote(&open, "anyone", true, 0), 0);
	assert_int_equal(approval_state(&open, BEGIN_MS), APPROVAL_APPROVED);
}

static void test_rejection(void **state)
{
	struct approval approval = begin_approval(2);

	(void)state;
	assert_int_equal(vote(&approval, "u1", true, 0), 0);
	assert_int_equal(vote(&approval, "u1", false, 1), 0); /* a user may change their mind */
	assert_int_equal(approval_state(&approval, BEGIN_MS), APPROVAL_REJECTED);
	assert_int_equal(vote(&approval, "u2", true, 2), -EALREADY);
}

/* scenario 44 */
static void test_deadline(void **state)
{
	struct approval approval = begin_approval(1), late = begin_approval(1),
			none = begin_approval(1);

	(void)state;
	assert_int_equal(approval_state(&approval, BEGIN_MS + HOUR_MS - 1), APPROVAL_WAITING);
	assert_int_equal(approval_state(&approval, BEGIN_MS + HOUR_MS), APPROVAL_TIMED_OUT);
	assert_int_equal(vote(&late, "u1", true, HOUR_MS), -ETIMEDOUT);
	/* An approval in time stays. */
	assert_int_equal(vote(&approval, "u1", true, HOUR_MS - 1), 0);
	assert_int_equal(approval_state(&approval, BEGIN_MS + 2 * HOUR_MS), APPROVAL_APPROVED);
	none.deadline_ms = 0;
	assert_int_equal(approval_state(&none, INT64_MAX), APPROVAL_WAITING);
}

static void test_requester(void **state)
{
	struct approval approval = begin_approval(1);

	(void)state;
	approval.refuses_requester = true;
	assert_int_equal(vote(&approval, "u1", true, 0), -EACCES);
	assert_int_equal(vote(&approval, "u2", true, 0), 0);
	approval = begin_approval(1);
	approval.refuses_requester = true;
	assert_int_equal(vote(&approval, "u1", false, 0), 0); /* but may reject it */
}

/* scenario 65 */
static void test_bound_to_a_plan(void **state)
{
	struct approval approval = begin_approval(1);
	const struct approval_vote seen = {.user = SPAN("u1"), .at_ms = BEGIN_MS, .approves = true};
	const struct span parts[][3] = {{SPAN("ab"), SPAN("c"), SPAN("")},
		{SPAN("a"), SPAN("bc"), SPAN("")}, {SPAN("abc"), SPAN(""), SPAN("")}};
	char digests[3][APPROVAL_DIGEST_SIZE], again[APPROVAL_DIGEST_SIZE];

	(void)state;
	assert_int_equal(approval_add_vote(&approval, &seen, SPAN("plan-0"), arena, NULL), -ESTALE);
	assert_int_equal(approval_add_vote(&approval, &seen, SPAN("plan-1"), arena, NULL), 0);
	assert_false(approval_bind(&approval, SPAN("plan-1")));
	assert_int_equal(approval_state(&approval, BEGIN_MS), APPROVAL_APPROVED);
	assert_true(approval_bind(&approval, SPAN("plan-2")));
	assert_int_equal(approval_state(&approval, BEGIN_MS), APPROVAL_WAITING);
	for (size_t i = 0; i < LENGTH(parts); i++)
		approval_digest(parts[i], 3, digests[i]);
	approval_digest(parts[0], 3, again);
	assert_string_equal(digests[0], again);
	assert_string_not_equal(digests[0], digests[1]);
	assert_string_not_equal(digests[0], digests[2]);
	assert_int_equal(strlen(again), APPROVAL_DIGEST_SIZE - 1);
}

static void test_records(void **state)
{
	struct approval approval = begin_approval(2), read;
	const struct approval_vote commented = {.user = SPAN("u1"),
		.comment = SPAN("looks \"good\""),
		.at_ms = 7,
		.approves = true};
	struct json *parsed;

	(void)state;
	assert_int_equal(approval_add_vote(&approval, &commented, SPAN(""), arena, NULL), 0);
	assert_int_equal(json_parse(json_to_text(approval_write(&approval, arena), arena), arena,
				 &parsed, NULL),
		0);
	assert_int_equal(approval_read(parsed, arena, &read, NULL), 0);
	assert_true(span_is(read.subject, "deployment/d1/stage-2") &&
		    span_is(read.digest, "plan-1"));
	assert_true(read.approver_count == 2 && span_is(read.approvers[1], "u2") &&
		    read.minimum == 2);
	assert_true(read.deadline_ms == BEGIN_MS + HOUR_MS && span_is(read.requester, "u1"));
	assert_true(read.vote_count == 1 && span_is(read.votes[0].comment, "looks \"good\"") &&
		    read.votes[0].at_ms == 7 && read.votes[0].approves);
	assert_int_equal(json_parse(SPAN("{\"subject\":\"x\",\"votes\":[{}]}"), arena, &parsed,
				 NULL),
		0);
	assert_int_equal(approval_read(parsed, arena, &read, NULL), -EINVAL);
	assert_int_equal(json_parse(SPAN("[]"), arena, &parsed, NULL), 0);
	assert_int_equal(approval_read(parsed, arena, &read, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_approvers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rejection, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deadline, setup, teardown),
		cmocka_unit_test_setup_teardown(test_requester, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bound_to_a_plan, setup, teardown),
		cmocka_unit_test_setup_teardown(test_records, setup, teardown),
	};

	return cmocka_run_group_tests_name("approval", tests, NULL, NULL);
}
