/*
 * Flows in application files: what is read, each bad graph with its message and line, conditions, and how names and the
 * blocks of a chain become applications of the account.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "pipeline/application.h"
#include "pipeline/flow_config.h"

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

#define HEAD                                                                                       \
	"apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec:\n  name: head\n  postSync:\n" /* five lines */
#define GRAPH HEAD "    flow:\n      graph:\n"         /* seven lines */
#define CHAIN HEAD "    chain:\n      applications:\n" /* seven lines */

static int read_text(const char *text, const struct flow_config **ret_config, struct err *err)
{
	struct application *application;
	int code = application_load(SPAN("app.yaml"), span_of(text), arena, &application, err);

	if (code >= 0)
		*ret_config = application->flow;
	return code;
}

static const struct flow_config *load(const char *text)
{
	const struct flow_config *config = NULL;
	struct err err = {0};

	if (read_text(text, &config, &err) < 0)
		fail_msg("%s", err.message);
	return config;
}

static void assert_refused(const char *text, const char *message)
{
	const struct flow_config *config;
	struct err err = {0};

	assert_int_equal(read_text(text, &config, &err), -EINVAL);
	assert_string_equal(err.message, message);
}

#define assert_span(span, text) assert_true(span_is((span), (text)))

static void test_all_keys(void **state)
{
	const struct flow_config *config = load(GRAPH "        - appName: a\n"
						      "          requireApproval: true\n"
						      "          approvers: [ann, bob]\n"
						      "          minApproverNum: 2\n"
						      "          excludeRequester: true\n"
						      "        - appName: b\n"
						      "          depends: [a]\n"
						      "          commit: latest\n"
						      "          soak: 90s\n"
						      "      conditions:\n"
						      "        - commitPrefix: Release\n"
						      "      onFailure: rollback\n"
						      "      soak: 1m\n"
						      "      syncTimeout: 2m\n"
						      "      queueTimeout: 3m\n"
						      "      approvalTimeout: 4m\n");
	const struct flow_node_config *nodes = config->nodes.items;
	const struct flow_condition *conditions = config->conditions.items;

	(void)state;
	assert_false(config->is_chain);
	assert_int_equal(config->nodes.count, 2);
	assert_span(nodes[0].name, "a");
	assert_int_equal(nodes[0].line, 8);
	assert_true(nodes[0].requires_approval);
	assert_int_equal(nodes[0].approvers.count, 2);
	assert_span(((const struct span *)nodes[0].approvers.items)[1], "bob");
	assert_int_equal(nodes[0].minimum_approvers, 2);
	assert_true(nodes[0].excludes_requester);
	assert_int_equal(nodes[0].commit, FLOW_COMMIT_FROZEN);
	assert_int_equal(nodes[0].soak_ms, -1);
	assert_span(nodes[1].name, "b");
	assert_int_equal(nodes[1].line, 13);
	assert_false(nodes[1].requires_approval || nodes[1].excludes_requester);
	assert_int_equal(nodes[1].approvers.count, 0);
	assert_int_equal(nodes[1].commit, FLOW_COMMIT_LATEST);
	assert_int_equal(nodes[1].soak_ms, 90000);
	assert_int_equal(config->conditions.count, 1);
	assert_span(conditions[0].commit_prefix, "Release");
	assert_int_equal(config->on_failure, FLOW_ON_FAILURE_ROLLBACK);
	assert_int_equal(config->soak_ms, 60000);
	assert_int_equal(config->sync_timeout_ms, 120000);
	assert_int_equal(config->queue_timeout_ms, 180000);
	assert_int_equal(config->approval_timeout_ms, 240000);
}

static void test_defaults(void **state)
{
	const struct flow_config *config = load(GRAPH "        - appName: a\n");

	(void)state;
	assert_int_equal(config->on_failure, FLOW_ON_FAILURE_CONTINUE);
	assert_string_equal(flow_failure_policy_name(FLOW_ON_FAILURE_CANCEL_PENDING),
		"cancelPending");
	assert_int_equal(config->soak_ms, 0);
	assert_int_equal(config->sync_timeout_ms, 600000);
	assert_null(load("apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec:\n  name: head\n"));
	assert_null(load("apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec:\n  postSync: {}\n"));
}

/* Scenarios 54 and 55, and what else the file alone can show. */
static void test_bad_graphs(void **state)
{
	static const struct bad {
		const char *text, *message;
	} bad[] = {
		{GRAPH "        - appName: a\n          depends: [b]\n"
		       "        - appName: b\n          depends: [a]\n",
			"app.yaml:8: cycle: a -> b -> a"},
		{GRAPH "        - appName: x\n          depends: [a]\n"
		       "        - appName: a\n          depends: [b]\n"
		       "        - appName: b\n          depends: [c]\n"
		       "        - appName: c\n          depends: [a]\n",
			"app.yaml:10: cycle: a -> b -> c -> a"},
		{GRAPH "        - appName: a\n          depends:\n            - a\n",
			"app.yaml:10: node \"a\" depends on itself"},
		{GRAPH "        - appName: a\n        - appName: b\n        - appName: a\n",
			"app.yaml:10: application \"a\" is in the graph twice (first on line 8)"},
		{GRAPH "        - appName: api\n        - appName: b\n          depends: [apo]\n",
			"app.yaml:10: node \"b\" depends on \"apo\", which is not in the graph; "
			"did you mean \"api\"?"},
		{GRAPH "        - appName: a\n        - appName: b\n          depends: [a, a]\n",
			"app.yaml:10: node \"b\" depends on \"a\" twice"},
		{GRAPH "        - appName: a\n        - appName: head\n",
			"app.yaml:9: application \"head\" is the head of this flow and cannot be "
			"in its graph"},
		{HEAD "    flow:\n      graph: []\n",
			"app.yaml:7: spec.postSync.flow.graph is empty"},
		{HEAD "    flow:\n      soak: 1m\n",
			"app.yaml:6: spec.postSync.flow.graph is missing"},
		{GRAPH "        - appName: a\n        - depends: [a]\n",
			"app.yaml:9: spec.postSync.flow.graph[1].appName is missing"},
		{GRAPH "        - appName: \"\"\n", "app.yaml:8: appName is empty"},
		{GRAPH "        - appName: a\n          depends: b\n",
			"app.yaml:9: depends: expected a list of texts, not a string"},
		{GRAPH "        - appName: a\n          depends: [1]\n",
			"app.yaml:9: depends: expected a text in each item, not a number"},
		{GRAPH "        - appName: a\n          dependsOn: [b]\n",
			"app.yaml:9: spec.postSync.flow.graph[0]: unknown key \"dependsOn\"; did "
			"you mean \"depends\"?"},
		{GRAPH "        - appName: a\n      onFailure: stop\n",
			"app.yaml:9: spec.postSync.flow.onFailure: unknown value \"stop\""},
		{GRAPH "        - appName: a\n      conditions:\n        - commitPrefix: x\n       "
		       " - {}\n",
			"app.yaml:11: spec.postSync.flow.conditions[1].commitPrefix is missing"},
		{GRAPH "        - appName: a\n      conditions:\n        - commitPrefix: \"\"\n",
			"app.yaml:10: commitPrefix is empty; every commit starts the flow when "
			"there are no conditions"},
		{GRAPH "        - appName: a\n    chain:\n      applications: [{name: a}]\n",
			"app.yaml:9: spec.postSync has flow and chain; one of them is enough"},
		{HEAD "    chain:\n      applications: []\n",
			"app.yaml:7: spec.postSync.chain.applications is empty"},
		{CHAIN "        - name: a\n        - {}\n",
			"app.yaml:9: name, kind or labels is missing"},
		{CHAIN "        - name: head\n",
			"app.yaml:8: application \"head\" is the head of this chain and cannot be "
			"in it"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++)
		assert_refused(bad[i].text, bad[i].message);
}

#define APPROVAL GRAPH "        - appName: a\n          requireApproval: true\n"

static void test_bad_approvals(void **state)
{
	static const struct bad {
		const char *text, *message;
	} bad[] = {
		{GRAPH "        - appName: a\n          approvers: [ann]\n",
			"app.yaml:9: approvers has no effect without requireApproval: true"},
		{GRAPH "        - appName: b\n        - appName: a\n          requireApproval: "
		       "false\n          minApproverNum: 2\n",
			"app.yaml:11: minApproverNum has no effect without requireApproval: true"},
		{GRAPH "        - appName: a\n          excludeRequester: true\n",
			"app.yaml:9: excludeRequester has no effect without requireApproval: true"},
		{APPROVAL "          approvers: []\n",
			"app.yaml:10: approvers is empty; without it every user with the right to "
			"write may approve"},
		{APPROVAL "          approvers: [ann, \"\"]\n",
			"app.yaml:10: approvers has an empty name"},
		{APPROVAL "          approvers: [ann, bob, ann]\n",
			"app.yaml:10: approvers: user \"ann\" is listed twice"},
		{APPROVAL "          minApproverNum: 0\n",
			"app.yaml:10: minApproverNum: expected 1 to 100"},
		{APPROVAL "          minApproverNum: 101\n",
			"app.yaml:10: minApproverNum: expected 1 to 100"},
		{APPROVAL "          approvers: [ann]\n          minApproverNum: 2\n",
			"app.yaml:11: minApproverNum is 2, but only 1 approvers are listed"},
	};
	_buffer_ struct buffer text = BUFFER_WITH_CAP(0);

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++)
		assert_refused(bad[i].text, bad[i].message);
	buffer_add_string(&text, APPROVAL "          approvers:\n");
	for (unsigned i = 0; i <= FLOW_APPROVERS_MAX; i++)
		buffer_format(&text, "            - user%u\n", i);
	assert_refused(buffer_span(&text).data, "app.yaml:10: approvers has more than 100 items");
}

/* A long cycle is shown with its begin and its end. */
static void test_long_cycle(void **state)
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(0);

	(void)state;
	buffer_add_string(&text, GRAPH);
	for (unsigned i = 0; i < 40; i++)
		buffer_format(&text, "        - {appName: n%u, depends: [n%u]}\n", i, (i + 1) % 40);
	assert_refused(buffer_span(&text).data,
		"app.yaml:8: cycle: n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> n7 -> n8 -> n9 -> "
		"n10 -> n11 -> n12 -> n13 -> … -> n39 -> n0");
}

static void test_limits(void **state)
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(0);

	(void)state;
	buffer_add_string(&text, HEAD "    flow:\n      graph:\n");
	for (unsigned i = 0; i <= FLOW_NODES_MAX; i++)
		buffer_format(&text, "        - {appName: n%u}\n", i);
	assert_refused(buffer_span(&text).data,
		"app.yaml:7: spec.postSync.flow.graph has more than 10000 items");
}

/* Scenario 58. */
static void test_conditions(void **state)
{
	const struct flow_config *config = load(GRAPH "        - appName: a\n"
						      "      conditions:\n"
						      "        - commitPrefix: Release\n"
						      "        - commitPrefix: Deploy all\n");

	(void)state;
	assert_true(flow_config_conditions_hold(config, SPAN("Release 1.2")));
	assert_true(flow_config_conditions_hold(config, SPAN("Deploy all of it")));
	assert_false(flow_config_conditions_hold(config, SPAN("fix typo")));
	assert_false(flow_config_conditions_hold(config, SPAN("release 1.2")));
	assert_false(flow_config_conditions_hold(config, SPAN("fix typo\n\nRelease 1.2")));
	assert_false(flow_config_conditions_hold(config, SPAN("")));
	assert_true(flow_config_conditions_hold(load(GRAPH "        - appName: a\n"), SPAN("any")));
}

static struct field_pair prod[] = {{{"env", 3}, {"prod", 4}}};
static struct field_list prod_labels = {prod, 1};

static const struct flow_application applications[] = {
	{{"1", 1}, {"head", 4}, {"ECSApp", 6}, &prod_labels, true, true},
	{{"2", 1}, {"a", 1}, {"ECSApp", 6}, NULL, true, true},
	{{"3", 1}, {"b", 1}, {"ECSApp", 6}, &prod_labels, true, true},
	{{"4", 1}, {"c", 1}, {"ECSApp", 6}, &prod_labels, false, false},
	{{"5", 1}, {"d", 1}, {"LambdaApp", 9}, &prod_labels, true, true},
	{{"6", 1}, {"twice", 5}, {"ECSApp", 6}, NULL, true, true},
	{{"7", 1}, {"twice", 5}, {"ECSApp", 6}, NULL, true, true},
};

static int resolve(const char *text, struct flow_plan *ret_plan, struct err *err)
{
	return flow_config_resolve(load(text), applications, LENGTH(applications), SPAN("1"), arena,
		ret_plan, err);
}

static void assert_unresolved(const char *text, const char *message)
{
	struct flow_plan plan;
	struct err err = {0};

	assert_int_equal(resolve(text, &plan, &err), -EINVAL);
	assert_string_equal(err.message, message);
}

static void test_resolve(void **state)
{
	struct flow_plan plan;
	struct err err = {0};

	(void)state;
	assert_int_equal(resolve(GRAPH "        - {appName: a}\n"
				       "        - {appName: c, depends: [a]}\n"
				       "        - {appName: b, depends: [c, a]}\n",
				 &plan, &err),
		0);
	assert_int_equal(plan.graph->node_count, 3);
	assert_int_equal(plan.graph->edge_count, 3);
	assert_span(plan.nodes[1].application->id, "4");
	assert_true(plan.nodes[1].is_disabled); /* scenario 59 */
	assert_false(plan.nodes[2].is_disabled);
	assert_int_equal(plan.graph->first_dependency[3] - plan.graph->first_dependency[2], 2);
	assert_int_equal(plan.graph->dependencies[plan.graph->first_dependency[2]], 1);
	assert_int_equal(plan.graph->first_dependent[1] - plan.graph->first_dependent[0], 2);
	assert_unresolved(GRAPH "        - {appName: a}\n        - {appName: heat}\n",
		"app.yaml:9: application \"heat\" does not exist in this account; did you mean "
		"\"head\"?");
	assert_unresolved(GRAPH "        - {appName: twice}\n",
		"app.yaml:8: 2 applications of this account are called \"twice\"");
}

/* The head is known by its ID, too: its file need not have its name. */
static void test_resolve_head(void **state)
{
	(void)state;
	assert_unresolved("apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec:\n  postSync:\n"
			  "    flow:\n      graph:\n        - appName: head\n",
		"app.yaml:7: application \"head\" is the head of this flow and cannot be in its "
		"graph");
}

/* Scenario 57. */
static void test_chain(void **state)
{
	struct flow_plan plan;
	struct err err = {0};

	(void)state;
	assert_int_equal(resolve(CHAIN "        - name: a\n"
				       "        - kind: ECS\n"
				       "          labels: {env: prod}\n"
				       "        - kind: LambdaApp\n",
				 &plan, &err),
		0);
	assert_int_equal(plan.graph->node_count, 4);
	assert_span(plan.nodes[0].application->name, "a");
	assert_span(plan.nodes[1].application->name, "b");
	assert_span(plan.nodes[2].application->name, "c");
	assert_true(plan.nodes[2].is_disabled);
	assert_span(plan.nodes[3].application->name, "d");
	assert_int_equal(plan.graph->edge_count, 4);
	assert_int_equal(plan.graph->first_dependency[4] - plan.graph->first_dependency[3], 2);
	assert_unresolved(CHAIN "        - name: a\n        - kind: TERRAFORM\n"
				"          labels: {env: prod}\n",
		"app.yaml:9: no application matches block 2 of the chain (kind TERRAFORM, label "
		"env=prod)");
	assert_unresolved(CHAIN "        - name: b\n        - labels: {env: prod}\n",
		"app.yaml:9: application \"b\" is in block 1 and in block 2 of the chain");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(test_defaults, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_graphs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_approvals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_cycle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_conditions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_resolve, setup, teardown),
		cmocka_unit_test_setup_teardown(test_resolve_head, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chain, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
