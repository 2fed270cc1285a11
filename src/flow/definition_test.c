/* Stored graphs and records are read as they were written; others are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "flow/definition.h"

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

static void test_definition(void **state)
{
	static const struct flow_edge edges[] = {{1, 0}, {2, 0}, {2, 1}};
	static const struct span users[] = {{"ann", 3}, {"bob", 3}};
	struct flow_node_rules rules[] = {
		{0}, {.requires_approval = true, .soak_ms = 5000}, {.is_disabled = true}};
	struct flow_node_definition nodes[] = {
		{.name = SPAN("a"), .has_files = true, .commit = SPAN(""), .from = SPAN("")},
		{.name = SPAN("b"),
			.is_git = true,
			.commit = SPAN("v1"),
			.source = FLOW_COMMIT_FROM_TRAILER,
			.from = SPAN(""),
			.approval = {.approvers = users,
				.approver_count = 2,
				.minimum = 2,
				.excludes_requester = true}},
		{.name = SPAN("c"),
			.is_latest = true,
			.is_chain = true,
			.commit = SPAN(""),
			.from = SPAN("1-2")},
	};
	const struct flow_definition written = {.graph = flow_graph_new(arena, 3, edges, 3),
		.rules = {.on_failure = FLOW_ON_FAILURE_ROLLBACK,
			.sync_timeout_ms = 1,
			.queue_timeout_ms = 2,
			.approval_timeout_ms = 3},
		.node_rules = rules,
		.nodes = nodes};
	struct flow_definition read;
	struct err err;

	(void)state;
	assert_int_equal(flow_definition_read(json_to_text(flow_definition_write(&written, arena),
						      arena),
				 arena, &read, &err),
		0);
	assert_int_equal(read.graph->node_count, 3);
	assert_int_equal(read.graph->edge_count, 3);
	assert_int_equal(read.rules.on_failure, FLOW_ON_FAILURE_ROLLBACK);
	assert_int_equal(read.rules.sync_timeout_ms, 1);
	assert_int_equal(read.rules.queue_timeout_ms, 2);
	assert_int_equal(read.rules.approval_timeout_ms, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(span_equal(read.nodes[i].name, nodes[i].name));
		assert_true(span_equal(read.nodes[i].commit, nodes[i].commit));
		assert_true(span_equal(read.nodes[i].from, nodes[i].from));
		assert_int_equal(read.nodes[i].source, nodes[i].source);
		assert_int_equal(read.nodes[i].is_git, nodes[i].is_git);
		assert_int_equal(read.nodes[i].is_latest, nodes[i].is_latest);
		assert_int_equal(read.nodes[i].is_chain, nodes[i].is_chain);
		assert_int_equal(read.nodes[i].has_files, nodes[i].has_files);
		assert_int_equal(read.node_rules[i].is_disabled, rules[i].is_disabled);
		assert_int_equal(read.node_rules[i].requires_approval, rules[i].requires_approval);
		assert_int_equal(read.node_rules[i].soak_ms, rules[i].soak_ms);
	}
	assert_int_equal(read.nodes[0].approval.approver_count, 0);
	assert_int_equal(read.nodes[0].approval.minimum, 1);
	assert_false(read.nodes[0].approval.excludes_requester);
	assert_int_equal(read.nodes[1].approval.approver_count, 2);
	assert_true(span_is(read.nodes[1].approval.approvers[1], "bob"));
	assert_int_equal(read.nodes[1].approval.minimum, 2);
	assert_true(read.nodes[1].approval.excludes_requester);
	assert_int_equal(flow_definition_find(&read, SPAN("b")), 1);
	assert_int_equal(flow_definition_find(&read, SPAN("x")), FLOW_NO_NODE);
}

static void test_bad_definitions(void **state)
{
	static const char *const texts[] = {"", "{}", "{\"nodes\":[]}",
		"{\"nodes\":[{\"name\":\"a\",\"depends\":[1]}]}",
		"{\"nodes\":[{\"name\":\"a\",\"depends\":[-1]}]}",
		"{\"nodes\":[{\"name\":\"a\",\"depends\":[\"a\"]}]}",
		"{\"nodes\":[{\"name\":\"a\",\"source\":99}]}"};

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		struct flow_definition read;
		struct err err;

		assert_true(flow_definition_read(span_of(texts[i]), arena, &read, &err) < 0);
	}
}

static void test_records(void **state)
{
	const struct flow_record flow = {.state = FLOW_ROLLING_BACK,
		.closing = FLOW_REASON_OTHER_FAILED,
		.closing_cause = 0,
		.rolls_back = true,
		.is_started = true};
	const struct flow_node_record node = {.state = FLOW_NODE_RUNNING,
		.phase = FLOW_PHASE_SOAKING,
		.reason = FLOW_REASON_NONE,
		.stop = FLOW_STOP_CANCEL,
		.stop_reason = FLOW_REASON_SUPERSEDED,
		.is_approved = true,
		.is_deployed = true,
		.cause = FLOW_NO_NODE,
		.run = 7,
		.since_ms = 1,
		.deadline_ms = 2,
		.left_ms = 3,
		.plan = {{0, 1, 0x7f, 0x80, 0xff}}};
	struct flow_facts facts = {0};
	struct flow_node_facts node_facts = {0};
	struct flow_record flow_read;
	struct flow_node_record read;

	(void)state;
	flow_facts_set_record(&facts, &flow);
	flow_read = flow_facts_record(&facts);
	assert_int_equal(flow_read.state, flow.state);
	assert_int_equal(flow_read.closing, flow.closing);
	assert_int_equal(flow_read.closing_cause, 0);
	assert_true(flow_read.rolls_back && flow_read.is_started);
	flow_node_facts_set_record(&node_facts, &node, arena);
	assert_true(span_is(node_facts.plan, "00017f80ff0000000000000000000000"));
	read = flow_node_facts_record(&node_facts);
	assert_memory_equal(read.plan.bytes, node.plan.bytes, FLOW_PLAN_ID_SIZE);
	assert_int_equal(read.state, node.state);
	assert_int_equal(read.phase, node.phase);
	assert_int_equal(read.stop, node.stop);
	assert_int_equal(read.stop_reason, node.stop_reason);
	assert_int_equal(read.cause, FLOW_NO_NODE);
	assert_int_equal(read.run, 7);
	assert_int_equal(read.since_ms, 1);
	assert_int_equal(read.deadline_ms, 2);
	assert_int_equal(read.left_ms, 3);
	assert_true(read.is_approved && read.is_deployed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_definition, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_definitions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_records, setup, teardown),
	};

	return cmocka_run_group_tests_name("flow definitions", tests, NULL, NULL);
}
