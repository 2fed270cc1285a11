/* The engine of flows: the scenarios of flows, event by event, and requests that it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "flow/engine.h"

enum { A, B, C, D, NODES };

#define MINUTE_MS 60000

static struct arena *arena;
static struct flow_engine *engine;
static struct flow_rules rules;
static struct flow_node_rules node_rules[NODES];
static const struct flow_graph *graph;
static int64_t now_ms;

static int setup(void **state)
{
	(void)state;
	arena = arena_new(0);
	now_ms = MINUTE_MS;
	rules = (struct flow_rules){.sync_timeout_ms = 10 * MINUTE_MS,
		.queue_timeout_ms = 30 * MINUTE_MS,
		.approval_timeout_ms = 60 * MINUTE_MS};
	memset(node_rules, 0, sizeof(node_rules));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	flow_engine_free(TAKE(engine));
	arena_free(arena);
	return 0;
}

static void begin(uint32_t nodes, const struct flow_edge *edges, uint32_t edge_count)
{
	graph = flow_graph_new(arena, nodes, edges, edge_count);
	engine = flow_engine_new(graph, &rules, node_rules, now_ms);
}

/* b and c depend on a, d on both. */
static void begin_diamond(void)
{
	begin(4, (struct flow_edge[]){{B, A}, {C, A}, {D, B}, {D, C}}, 4);
}

static struct flow_event event(enum flow_event_type type, uint32_t node)
{
	return (struct flow_event){.type = type,
		.node = node,
		.now_ms = now_ms,
		.run = flow_engine_node(engine, node)->run,
		.has_live_state = true};
}

static void happens(enum flow_event_type type, uint32_t node)
{
	struct flow_event now = event(type, node);

	assert_int_equal(flow_engine_apply(engine, &now, NULL), 0);
}

static void refused(enum flow_event_type type, uint32_t node, int code, const char *message)
{
	struct flow_event now = event(type, node);
	struct err err = {0};

	assert_int_equal(flow_engine_apply(engine, &now, &err), code);
	assert_string_equal(err.message, message);
}

static void time_passes(int64_t ms)
{
	now_ms += ms;
	happens(FLOW_EVENT_TIME, 0);
}

static void start(void)
{
	happens(FLOW_EVENT_HEAD_REACHED, 0);
	happens(FLOW_EVENT_HEAD_SUCCEEDED, 0);
}

static void runs(uint32_t node)
{
	happens(FLOW_EVENT_PLANNED, node);
	happens(FLOW_EVENT_DEPLOYMENT_RUNNING, node);
}

static void succeeds(uint32_t node)
{
	runs(node);
	happens(FLOW_EVENT_DEPLOYMENT_SUCCEEDED, node);
	happens(FLOW_EVENT_IN_SYNC, node);
}

static void fails(uint32_t node)
{
	runs(node);
	happens(FLOW_EVENT_DEPLOYMENT_FAILED, node);
}

static void assert_node(uint32_t node, enum flow_node_state state, enum flow_reason reason)
{
	assert_string_equal(flow_node_state_name(flow_engine_node(engine, node)->state),
		flow_node_state_name(state));
	assert_string_equal(flow_reason_name(flow_engine_node(engine, node)->reason),
		flow_reason_name(reason));
}

#define assert_state(node, state) assert_node(node, FLOW_NODE_##state, FLOW_REASON_NONE)
#define assert_flow(name)                                                                          \
	assert_string_equal(flow_state_name(flow_engine_record(engine)->state), #name)

static void assert_cause(uint32_t node, uint32_t cause)
{
	assert_int_equal(flow_engine_node(engine, node)->cause, cause);
}

/* The type of the open step of a node: the last of the queue. */
static void assert_step(uint32_t node, const char *name)
{
	struct flow_step step;
	const char *last = "";

	while (flow_engine_next_step(engine, &step)) {
		if (step.node == node)
			last = flow_step_name(step.type);
	}
	assert_string_equal(last, name);
}

static void test_51_sequential(void **state)
{
	(void)state;
	begin(2, (struct flow_edge[]){{B, A}}, 1);
	assert_flow(PENDING);
	happens(FLOW_EVENT_HEAD_REACHED, 0);
	assert_flow(RUNNING);
	assert_state(A, PENDING); /* nodes start after the head */
	happens(FLOW_EVENT_HEAD_SUCCEEDED, 0);
	assert_state(A, QUEUED);
	assert_state(B, PENDING);
	runs(A);
	happens(FLOW_EVENT_DEPLOYMENT_SUCCEEDED, A);
	assert_state(A, RUNNING); /* until the live state is in sync */
	assert_step(A, "OBSERVE");
	assert_state(B, PENDING);
	happens(FLOW_EVENT_IN_SYNC, A);
	assert_state(A, SUCCESS);
	assert_state(B, QUEUED);
	succeeds(B);
	assert_flow(SUCCESS);
}

static void test_52_parallel(void **state)
{
	(void)state;
	begin(3, NULL, 0);
	start();
	for (uint32_t i = 0; i < 3; i++)
		runs(i);
	for (uint32_t i = 0; i < 3; i++)
		assert_state(i, RUNNING);
}

static void test_53_diamond(void **state)
{
	(void)state;
	begin_diamond();
	start();
	succeeds(A);
	succeeds(B);
	assert_state(D, PENDING);
	succeeds(C);
	assert_state(D, QUEUED);
	succeeds(D);
	assert_int_equal(flow_engine_node(engine, D)->run, 1);
	assert_flow(SUCCESS);
}

static void test_59_disabled(void **state)
{
	(void)state;
	node_rules[B].is_disabled = true;
	begin(3, (struct flow_edge[]){{C, B}}, 1);
	assert_node(B, FLOW_NODE_DISABLED, FLOW_REASON_DISABLED);
	assert_node(C, FLOW_NODE_BLOCKED, FLOW_REASON_BLOCKED);
	assert_cause(C, B);
	start();
	succeeds(A);
	assert_flow(FAILURE);
}

static void test_60_head_fails(void **state)
{
	(void)state;
	begin(2, NULL, 0);
	happens(FLOW_EVENT_HEAD_REACHED, 0);
	happens(FLOW_EVENT_HEAD_ENDED, 0);
	assert_node(A, FLOW_NODE_CANCELLED, FLOW_REASON_HEAD_ENDED);
	assert_node(B, FLOW_NODE_CANCELLED, FLOW_REASON_HEAD_ENDED);
	assert_flow(CANCELLED);
	refused(FLOW_EVENT_RETRY, 0, -EINVAL,
		"the head of the flow did not succeed; sync the head again");
}

static void test_61_63_failure_and_retry(void **state)
{
	(void)state;
	begin(4, (struct flow_edge[]){{B, A}, {D, B}}, 2);
	start();
	runs(A);
	happens(FLOW_EVENT_DEPLOYMENT_ROLLING_BACK, A);
	assert_state(A, ROLLING_BACK);
	happens(FLOW_EVENT_DEPLOYMENT_FAILED, A);
	assert_node(A, FLOW_NODE_FAILURE, FLOW_REASON_DEPLOYMENT_FAILED);
	assert_cause(B, A);
	assert_cause(D, A); /* the true cause, not b */
	assert_flow(RUNNING);
	refused(FLOW_EVENT_RETRY, 0, -EINVAL,
		"the flow is RUNNING; only a flow that has ended can be retried");
	succeeds(C);
	assert_flow(FAILURE);
	happens(FLOW_EVENT_RETRY, 0);
	assert_flow(RUNNING);
	assert_state(A, QUEUED);
	assert_state(B, PENDING);
	assert_state(C, SUCCESS);
	succeeds(A);
	succeeds(B);
	succeeds(D);
	assert_int_equal(flow_engine_node(engine, A)->run, 2);
	assert_int_equal(flow_engine_node(engine, C)->run, 1);
	assert_flow(SUCCESS);
	refused(FLOW_EVENT_RETRY, 0, -EINVAL, "the flow is SUCCESS; there is nothing to retry");
}

static void approve(uint8_t plan, int code)
{
	struct flow_event now = event(FLOW_EVENT_APPROVE, A);

	now.plan.bytes[0] = plan;
	assert_int_equal(flow_engine_apply(engine, &now, NULL), code);
}

static void planned(uint8_t plan)
{
	struct flow_event now = event(FLOW_EVENT_PLANNED, A);

	now.plan.bytes[0] = plan;
	assert_int_equal(flow_engine_apply(engine, &now, NULL), 0);
}

static void test_64_approval(void **state)
{
	(void)state;
	node_rules[A].requires_approval = true;
	begin(2, (struct flow_edge[]){{B, A}}, 1);
	start();
	refused(FLOW_EVENT_APPROVE, A, -EINVAL,
		"the node is QUEUED and does not wait for approval");
	planned(1);
	assert_state(A, WAITING_APPROVAL);
	assert_step(A, ""); /* nothing is started before */
	happens(FLOW_EVENT_REJECT, A);
	assert_node(A, FLOW_NODE_CANCELLED, FLOW_REASON_REJECTED);
	assert_cause(B, A);
	assert_flow(CANCELLED);
}

static void test_64_approval_expires(void **state)
{
	(void)state;
	node_rules[A].requires_approval = true;
	begin(1, NULL, 0);
	start();
	planned(1);
	time_passes(60 * MINUTE_MS - 1);
	assert_state(A, WAITING_APPROVAL);
	time_passes(1);
	assert_node(A, FLOW_NODE_FAILURE, FLOW_REASON_APPROVAL_EXPIRED);
}

static void test_65_stale_approval(void **state)
{
	(void)state;
	node_rules[A].requires_approval = true;
	begin(1, NULL, 0);
	start();
	planned(1);
	approve(2, -ESTALE);
	approve(1, 0);
	assert_step(A, "PLAN"); /* once more, before it starts */
	planned(2);
	assert_state(A, WAITING_APPROVAL);
	approve(1, -ESTALE);
	planned(3); /* while it waits */
	approve(2, -ESTALE);
	approve(3, 0);
	planned(3);
	assert_step(A, "START");
	happens(FLOW_EVENT_DEPLOYMENT_STALE, A);
	planned(4);
	assert_state(A, WAITING_APPROVAL);
	approve(4, 0);
	planned(4);
	assert_step(A, "START");
	assert_int_equal(flow_engine_node(engine, A)->run, 2);
}

static void test_66_target_away(void **state)
{
	(void)state;
	begin(2, NULL, 0);
	start();
	happens(FLOW_EVENT_UNAVAILABLE, A);
	time_passes(29 * MINUTE_MS);
	happens(FLOW_EVENT_UNAVAILABLE, A); /* the time does not begin anew */
	happens(FLOW_EVENT_AVAILABLE, A);
	time_passes(29 * MINUTE_MS);
	assert_state(A, QUEUED);
	succeeds(A);
	happens(FLOW_EVENT_PLANNED, B);
	happens(FLOW_EVENT_UNAVAILABLE, B);
	time_passes(30 * MINUTE_MS);
	assert_step(B, "WITHDRAW"); /* its deployment may exist */
	happens(FLOW_EVENT_DEPLOYMENT_CANCELLED, B);
	assert_node(B, FLOW_NODE_FAILURE, FLOW_REASON_UNAVAILABLE);
	assert_flow(FAILURE);
}

static void test_70_unchanged(void **state)
{
	struct flow_event unchanged;

	(void)state;
	begin(2, (struct flow_edge[]){{B, A}}, 1);
	start();
	unchanged = event(FLOW_EVENT_PLANNED, A);
	unchanged.is_unchanged = true;
	assert_int_equal(flow_engine_apply(engine, &unchanged, NULL), 0);
	assert_node(A, FLOW_NODE_SKIPPED, FLOW_REASON_UNCHANGED);
	succeeds(B);
	assert_flow(SUCCESS);
}

static void restart(void)
{
	struct flow_record record = *flow_engine_record(engine);
	struct flow_node_record records[NODES];

	for (uint32_t i = 0; i < graph->node_count; i++)
		records[i] = *flow_engine_node(engine, i);
	flow_engine_free(engine);
	engine = flow_engine_restore(graph, &rules, node_rules, &record, records, now_ms);
}

static void test_72_restart(void **state)
{
	(void)state;
	begin_diamond();
	start();
	restart();
	succeeds(A);
	happens(FLOW_EVENT_PLANNED, B);
	restart();
	assert_step(B, "START"); /* the same run: it takes effect once */
	assert_int_equal(flow_engine_node(engine, B)->run, 1);
	happens(FLOW_EVENT_DEPLOYMENT_RUNNING, B);
	happens(FLOW_EVENT_DEPLOYMENT_SUCCEEDED, B);
	restart();
	happens(FLOW_EVENT_IN_SYNC, B);
	succeeds(C);
	restart();
	succeeds(D);
	assert_flow(SUCCESS);
}

static void test_sync_timeout(void **state)
{
	(void)state;
	begin(1, NULL, 0);
	start();
	runs(A);
	happens(FLOW_EVENT_DEPLOYMENT_SUCCEEDED, A);
	time_passes(10 * MINUTE_MS);
	assert_node(A, FLOW_NODE_FAILURE, FLOW_REASON_NOT_IN_SYNC);
}

/* A soak survives a restart, begins anew when sync is lost, and the lost time counts against syncTimeout. */
static void test_soak(void **state)
{
	(void)state;
	node_rules[A].soak_ms = 20 * MINUTE_MS;
	begin(1, NULL, 0);
	start();
	succeeds(A);
	assert_state(A, RUNNING);
	time_passes(19 * MINUTE_MS);
	restart();
	happens(FLOW_EVENT_OUT_OF_SYNC, A);
	time_passes(6 * MINUTE_MS);
	happens(FLOW_EVENT_IN_SYNC, A);
	time_passes(20 * MINUTE_MS - 1);
	assert_state(A, RUNNING);
	happens(FLOW_EVENT_OUT_OF_SYNC, A);
	time_passes(4 * MINUTE_MS);
	assert_node(A, FLOW_NODE_FAILURE, FLOW_REASON_NOT_IN_SYNC);
}

/* The soak time is over, but the live state is unknown: the node is no success yet. */
static void test_soak_of_unknown_state(void **state)
{
	(void)state;
	node_rules[A].soak_ms = 20 * MINUTE_MS;
	begin(1, NULL, 0);
	start();
	succeeds(A);
	happens(FLOW_EVENT_SYNC_UNKNOWN, A);
	now_ms += 20 * MINUTE_MS;
	happens(FLOW_EVENT_SYNC_UNKNOWN, A);
	time_passes(0);
	assert_state(A, RUNNING);
	restart();
	time_passes(999);
	assert_state(A, RUNNING);
	time_passes(1);
	assert_state(A, SUCCESS);
}

static void test_soak_of_state_that_stays_unknown(void **state)
{
	(void)state;
	node_rules[A].soak_ms = 20 * MINUTE_MS;
	begin(1, NULL, 0);
	start();
	succeeds(A);
	now_ms += 20 * MINUTE_MS;
	for (int64_t i = 0; i < 10 * 60 - 1; i++) {
		happens(FLOW_EVENT_SYNC_UNKNOWN, A);
		time_passes(0);
		assert_state(A, RUNNING);
		now_ms += 1000;
	}
	happens(FLOW_EVENT_SYNC_UNKNOWN, A);
	assert_node(A, FLOW_NODE_FAILURE, FLOW_REASON_NOT_IN_SYNC);
	assert_flow(FAILURE);
}

static void test_soak_ends(void **state)
{
	(void)state;
	node_rules[A].soak_ms = 20 * MINUTE_MS;
	begin(1, NULL, 0);
	start();
	succeeds(A);
	time_passes(20 * MINUTE_MS);
	assert_state(A, SUCCESS);
}

static void test_cancel_pending(void **state)
{
	(void)state;
	rules.on_failure = FLOW_ON_FAILURE_CANCEL_PENDING;
	begin(4, (struct flow_edge[]){{B, A}}, 1);
	start();
	runs(C);
	happens(FLOW_EVENT_PLANNED, D);
	fails(A);
	assert_node(B, FLOW_NODE_BLOCKED, FLOW_REASON_BLOCKED);
	assert_state(C, RUNNING);
	assert_step(D, "WITHDRAW");
	happens(FLOW_EVENT_DEPLOYMENT_CANCELLED, D);
	assert_node(D, FLOW_NODE_CANCELLED, FLOW_REASON_OTHER_FAILED);
	assert_cause(D, A);
	happens(FLOW_EVENT_DEPLOYMENT_SUCCEEDED, C);
	happens(FLOW_EVENT_IN_SYNC, C);
	assert_flow(FAILURE);
}

static void test_cancel_all(void **state)
{
	(void)state;
	rules.on_failure = FLOW_ON_FAILURE_CANCEL_ALL;
	begin(2, NULL, 0);
	start();
	runs(B);
	fails(A);
	assert_step(B, "CANCEL");
	happens(FLOW_EVENT_DEPLOYMENT_ROLLING_BACK, B);
	happens(FLOW_EVENT_DEPLOYMENT_CANCELLED, B);
	assert_node(B, FLOW_NODE_CANCELLED, FLOW_REASON_OTHER_FAILED);
	assert_flow(FAILURE);
}

/* From the dependents downwards; a failed rollback keeps what its node needs. */
static void test_rollback(void **state)
{
	(void)state;
	rules.on_failure = FLOW_ON_FAILURE_ROLLBACK;
	begin(4, (struct flow_edge[]){{B, A}, {D, B}}, 2);
	start();
	succeeds(A);
	succeeds(C);
	succeeds(B);
	fails(D);
	assert_flow(ROLLING_BACK);
	assert_node(B, FLOW_NODE_ROLLING_BACK, FLOW_REASON_NONE);
	assert_node(C, FLOW_NODE_ROLLING_BACK, FLOW_REASON_NONE);
	assert_state(A, SUCCESS);
	refused(FLOW_EVENT_CANCEL, 0, -EINVAL, "the flow is ROLLING_BACK and cannot be cancelled");
	restart();
	happens(FLOW_EVENT_UNDONE, B);
	assert_node(B, FLOW_NODE_CANCELLED, FLOW_REASON_ROLLED_BACK);
	assert_node(A, FLOW_NODE_ROLLING_BACK, FLOW_REASON_NONE);
	happens(FLOW_EVENT_UNDO_FAILED, C);
	assert_flow(ROLLING_BACK);
	happens(FLOW_EVENT_UNDONE, A);
	assert_node(C, FLOW_NODE_FAILURE, FLOW_REASON_ROLLBACK_FAILED);
	assert_flow(FAILURE);
}

static void test_rollback_keeps(void **state)
{
	(void)state;
	rules.on_failure = FLOW_ON_FAILURE_ROLLBACK;
	begin(3, (struct flow_edge[]){{B, A}, {C, B}}, 2);
	start();
	succeeds(A);
	succeeds(B);
	fails(C);
	happens(FLOW_EVENT_UNDO_FAILED, B);
	assert_state(A, SUCCESS);
	assert_flow(FAILURE);
}

static void test_superseded(void **state)
{
	(void)state;
	node_rules[C].soak_ms = MINUTE_MS;
	begin(4, (struct flow_edge[]){{B, A}}, 1);
	start();
	runs(A);
	succeeds(C);
	happens(FLOW_EVENT_SUPERSEDE, 0);
	assert_state(A, RUNNING); /* finishes */
	assert_node(B, FLOW_NODE_CANCELLED, FLOW_REASON_SUPERSEDED);
	assert_node(C, FLOW_NODE_CANCELLED, FLOW_REASON_SUPERSEDED); /* soaks no longer */
	assert_node(D, FLOW_NODE_CANCELLED, FLOW_REASON_SUPERSEDED);
	happens(FLOW_EVENT_DEPLOYMENT_SUCCEEDED, A);
	happens(FLOW_EVENT_IN_SYNC, A);
	assert_flow(CANCELLED);
	refused(FLOW_EVENT_RETRY, 0, -EINVAL, "a newer flow of the same head has taken over");
}

static void test_cancel(void **state)
{
	(void)state;
	begin(3, (struct flow_edge[]){{C, B}}, 1);
	start();
	runs(A);
	happens(FLOW_EVENT_PLANNED, B);
	happens(FLOW_EVENT_CANCEL, 0);
	assert_node(C, FLOW_NODE_CANCELLED, FLOW_REASON_FLOW_CANCELLED);
	assert_step(B, "CANCEL");
	happens(FLOW_EVENT_DEPLOYMENT_CANCELLED, B);
	happens(FLOW_EVENT_DEPLOYMENT_SUCCEEDED, A); /* was faster */
	assert_node(A, FLOW_NODE_CANCELLED, FLOW_REASON_FLOW_CANCELLED);
	assert_flow(CANCELLED);
	refused(FLOW_EVENT_CANCEL, 0, -EINVAL, "the flow is CANCELLED and cannot be cancelled");
}

/* Observations of an older deployment, and those that come twice, have no effect. */
static void test_late_events(void **state)
{
	struct flow_event late;

	(void)state;
	begin(1, NULL, 0);
	start();
	fails(A);
	late = event(FLOW_EVENT_DEPLOYMENT_SUCCEEDED, A);
	happens(FLOW_EVENT_RETRY, 0);
	runs(A);
	assert_int_equal(flow_engine_apply(engine, &late, NULL), 0);
	assert_state(A, RUNNING);
	happens(FLOW_EVENT_IN_SYNC, A);
	happens(FLOW_EVENT_HEAD_ENDED, 0);
	assert_state(A, RUNNING);
	happens(FLOW_EVENT_DEPLOYMENT_SUCCEEDED, A);
	happens(FLOW_EVENT_IN_SYNC, A);
	happens(FLOW_EVENT_DEPLOYMENT_FAILED, A);
	assert_state(A, SUCCESS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_51_sequential),
		TEST(test_52_parallel),
		TEST(test_53_diamond),
		TEST(test_59_disabled),
		TEST(test_60_head_fails),
		TEST(test_61_63_failure_and_retry),
		TEST(test_64_approval),
		TEST(test_64_approval_expires),
		TEST(test_65_stale_approval),
		TEST(test_66_target_away),
		TEST(test_70_unchanged),
		TEST(test_72_restart),
		TEST(test_sync_timeout),
		TEST(test_soak),
		TEST(test_soak_of_unknown_state),
		TEST(test_soak_of_state_that_stays_unknown),
		TEST(test_soak_ends),
		TEST(test_cancel_pending),
		TEST(test_cancel_all),
		TEST(test_rollback),
		TEST(test_rollback_keeps),
		TEST(test_superseded),
		TEST(test_cancel),
		TEST(test_late_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
