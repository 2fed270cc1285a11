/*
 * Application files: one of each form that PipeCD has for ECS, the values that slipway reads from them, and each way in
 * which a file is refused, with its line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "pipeline/application.h"

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

static const struct application *load(const char *text)
{
	struct application *application;
	struct err err = {0};

	if (application_load(SPAN("app.yaml"), span_of(text), arena, &application, &err) < 0)
		fail_msg("%s", err.message);
	return application;
}

static void assert_refused(const char *text, const char *message)
{
	struct application *application;
	struct err err = {0};

	assert_int_equal(application_load(SPAN("app.yaml"), span_of(text), arena, &application,
				 &err),
		-EINVAL);
	assert_string_equal(err.message, message);
}

static void assert_undeployable(const char *text, uint32_t line, const char *reason)
{
	const struct application *application = load(text);

	assert_non_null(application->undeployable.text.data);
	assert_string_equal(application->undeployable.text.data, reason);
	assert_int_equal(application->undeployable.line, line);
}

static void assert_warning(const struct application *application, size_t index, uint32_t line,
	const char *text)
{
	const struct field_note *warnings = application->warnings.items;

	assert_true(index < application->warnings.count);
	assert_string_equal(warnings[index].text.data, text);
	assert_int_equal(warnings[index].line, line);
}

#define assert_span(span, text) assert_true(span_is((span), (text)))

#define HEAD "apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec:\n" /* three lines */
#define DISCOVERY                                                                                  \
	HEAD "  input:\n    serviceDefinitionFile: service.yaml\n    accessType: "                 \
	     "SERVICE_DISCOVERY\n"                    /* six lines */
#define STAGES DISCOVERY "  pipeline:\n    stages:\n" /* eight lines */
#define BALANCED                                                                                   \
	HEAD "  input:\n"                                                                          \
	     "    serviceDefinitionFile: service.yaml\n"                                           \
	     "    targetGroups:\n"                                                                 \
	     "      primary: {targetGroupArn: \"arn:blue\", containerName: web, containerPort: "   \
	     "80}\n"

/* ---- the forms that load ---- */

static void test_quick_sync_of_a_service(void **state)
{
	const struct application *application = load(HEAD
		"  name: simple\n"
		"  labels: {env: example, team: web}\n"
		"  input:\n"
		"    serviceDefinitionFile: servicedef.yaml\n"
		"    taskDefinitionFile: taskdef.yaml\n"
		"    targetGroups:\n"
		"      primary:\n"
		"        targetGroupArn: arn:aws:elasticloadbalancing:x:1:targetgroup/blue/1\n"
		"        containerName: web\n"
		"        containerPort: 80\n");
	const struct field_pair *labels = application->labels.items;

	(void)state;
	assert_span(application->kind, "ECSApp");
	assert_true(application->is_ecs);
	assert_false(application->has_pipeline);
	assert_span(application->name, "simple");
	assert_int_equal(application->labels.count, 2);
	assert_span(labels[1].name, "team");
	assert_span(application->input.task_definition_file, "taskdef.yaml");
	assert_int_equal(application->input.access, ACCESS_ELB);
	assert_int_equal(application->input.primary_group.container_port, 80);
	assert_int_equal(application->input.canary_group.arn.length, 0);
	assert_true(application->auto_rollback);
	assert_true(application->trigger.on_commit);
	assert_false(application->trigger.on_out_of_sync);
	assert_int_equal(application->trigger.out_of_sync_window_ms, 5 * 60 * 1000);
	assert_int_equal(application->timeout_ms, 6 * 3600 * 1000);
	assert_null(application->undeployable.text.data);
	assert_int_equal(application->warnings.count, 0);
}

static void test_canary_behind_a_load_balancer(void **state)
{
	const struct application *application = load(BALANCED
		"      canary: {targetGroupArn: \"arn:green\", containerName: web, containerPort: "
		"80}\n"
		"  quickSync: {recreate: true}\n"
		"  timeout: 20m\n"
		"  pipeline:\n"
		"    stages:\n"
		"      - name: ECS_CANARY_ROLLOUT\n"
		"        id: start\n"
		"        desc: a third of the tasks\n"
		"        timeout: 5m\n"
		"        with: {scale: 30}\n"
		"      - name: ECS_TRAFFIC_ROUTING\n"
		"        with: {canary: \"20%\"}\n"
		"      - name: WAIT_APPROVAL\n"
		"        with: {timeout: 1h, approvers: [ann, bob], minApproverNum: 2}\n"
		"      - name: ECS_PRIMARY_ROLLOUT\n"
		"      - name: ECS_TRAFFIC_ROUTING\n"
		"        with: {primary: 100}\n"
		"      - name: ECS_CANARY_CLEAN\n");
	const struct stage *stages = application_stages(application);
	const struct span *approvers = stages[2].options.approvers.items;

	(void)state;
	assert_int_equal(application->stages.count, 6);
	assert_true(application->recreate);
	assert_int_equal(application->timeout_ms, 20 * 60 * 1000);
	assert_int_equal(stages[0].kind, STAGE_ECS_CANARY_ROLLOUT);
	assert_span(stages[0].id, "start");
	assert_span(stages[0].description, "a third of the tasks");
	assert_int_equal(stages[0].timeout_ms, 5 * 60 * 1000);
	assert_int_equal(stages[0].options.scale, 30);
	assert_int_equal(stages[1].options.canary, 20);
	assert_int_equal(stages[1].options.primary, 80);
	assert_span(stages[1].id, "stage-2");
	assert_int_equal(stages[2].options.minimum_approvers, 2);
	assert_span(approvers[1], "bob");
	assert_int_equal(stages[2].options.timeout_ms, 3600 * 1000);
	assert_int_equal(stages[4].options.canary, 0);
	assert_int_equal(stages[5].kind, STAGE_ECS_CANARY_CLEAN);
	assert_int_equal(stages[5].line, 25);
}

static void test_all_generic_stages(void **state)
{
	const struct application *application = load(STAGES
		"      - name: WAIT\n"
		"        with: {duration: 90s, skipOn: {commitMessagePrefixes: [skip], paths: "
		"[docs]}}\n"
		"      - name: SCRIPT_RUN\n"
		"        with: {run: make check, env: {A: b}, timeout: 10s, onRollback: make "
		"undo}\n"
		"      - name: ANALYSIS\n"
		"        with:\n"
		"          duration: 5m\n"
		"          metrics:\n"
		"            - {strategy: THRESHOLD, provider: main, query: errors, interval: 1m,\n"
		"               expected: {max: 0.01}, failureLimit: 1, skipOnNoData: true}\n"
		"          https:\n"
		"            - {url: \"http://x/\", method: GET, interval: 10s}\n"
		"          commands:\n"
		"            - {run: ./check, env: {A: b}, expected: {min: 1, max: 2}}\n"
		"            - {run: ./smoke-test}\n"
		"      - name: ECS_RUN_TASK\n"
		"        with: {taskDefinitionFile: migrate.yaml}\n");
	const struct stage *stages = application_stages(application);
	const struct analysis_check *metric = stages[2].options.metrics.items;
	const struct analysis_check *http = stages[2].options.https.items;
	const struct analysis_check *commands = stages[2].options.commands.items;

	(void)state;
	assert_int_equal(stages[0].options.duration_ms, 90000);
	assert_int_equal(stages[0].options.skip_on.commit_message_prefixes.count, 1);
	assert_span(stages[1].options.on_rollback, "make undo");
	assert_int_equal(stages[1].options.timeout_ms, 10000);
	assert_true(metric->rule.has_max && !metric->rule.has_min && metric->rule.max == 0.01);
	assert_int_equal(metric->rule.failure_limit, 1);
	assert_true(metric->rule.skip_on_no_data);
	assert_true(http->rule.has_min && http->rule.min == 1);
	assert_true(commands[0].rule.has_max && commands[0].rule.max == 2);
	assert_true(commands[1].rule.has_min && commands[1].rule.min == 1);
	assert_int_equal(http->expected_code, 200);
	assert_int_equal(http->interval_ms, 10000);
	assert_span(stages[3].options.task_definition_file, "migrate.yaml");
}

static void test_standalone_task(void **state)
{
	const struct application *application =
		load(HEAD "  input:\n"
			  "    taskDefinitionFile: taskdef.yaml\n"
			  "    clusterArn: arn:aws:ecs:x:1:cluster/main\n"
			  "    launchType: FARGATE\n"
			  "    runStandaloneTask: false\n"
			  "    awsvpcConfiguration: {assignPublicIp: ENABLED, subnets: [a, b], "
			  "securityGroups: [c]}\n");

	(void)state;
	assert_true(application_is_standalone(application));
	assert_false(application->input.run_standalone_task);
	assert_int_equal(application->input.subnets.count, 2);
	assert_span(application->input.assign_public_ip, "ENABLED");
}

static void test_v1_form(void **state)
{
	const struct application *application =
		load("apiVersion: pipecd.dev/v1beta1\n"
		     "kind: Application\n"
		     "spec:\n"
		     "  name: new-form\n"
		     "  plugins:\n"
		     "    ecs:\n"
		     "      input: {serviceDefinitionFile: s.yaml, accessType: SERVICE_DISCOVERY}\n"
		     "      quickSync: {recreate: true}\n"
		     "    wait: {}\n"
		     "  pipeline:\n"
		     "    stages:\n"
		     "      - {name: ECS_CANARY_ROLLOUT, with: {scale: 100}}\n"
		     "      - name: ECS_ROLLBACK\n");

	(void)state;
	assert_true(application->is_ecs);
	assert_true(application->recreate);
	assert_int_equal(application->input.access, ACCESS_SERVICE_DISCOVERY);
	assert_int_equal(application->stages.count, 1);
	assert_warning(application, 0, 13, "stage ECS_ROLLBACK is ignored: slipway adds it itself");
}

/* scenario 7: both spellings of the key and of its value */
static void test_access_types(void **state)
{
	static const struct {
		const char *keys;
		unsigned access;
	} cases[] = {
		{"accessType: ELB", ACCESS_ELB},
		{"accessType: SERVICE_DISCOVERY", ACCESS_SERVICE_DISCOVERY},
		{"ecsAccessType: ECS_SERVICE_DISCOVERY", ACCESS_SERVICE_DISCOVERY},
		{"accessType: ECS_SERVICE_DISCOVERY", ACCESS_SERVICE_DISCOVERY},
		{"accessType: SERVICE_DISCOVERY, ecsAccessType: ECS_SERVICE_DISCOVERY",
			ACCESS_SERVICE_DISCOVERY},
		{"accessType: [ELB, SERVICE_DISCOVERY]", ACCESS_ELB | ACCESS_SERVICE_DISCOVERY},
		{"autoRollback: true", ACCESS_ELB},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct span text = arena_format(arena, HEAD "  input: {%s}\n", cases[i].keys);

		assert_int_equal(load(text.data)->input.access, cases[i].access);
	}
	assert_refused(HEAD "  input: {accessType: XXX}\n", "app.yaml:4: invalid accessType: XXX");
	assert_refused(HEAD
		"  input:\n    accessType: ELB\n    ecsAccessType: ECS_SERVICE_DISCOVERY\n",
		"app.yaml:6: accessType and ecsAccessType differ; one of them is enough");
	assert_refused(HEAD "  input: {accessType: APP_MESH}\n",
		"app.yaml:4: accessType APP_MESH is not supported (ELB or SERVICE_DISCOVERY)");
	assert_refused("apiVersion: pipecd.dev/v1beta1\nkind: LambdaApp\nspec:\n  input:\n"
		       "    ecsAccessType: ELB\n",
		"app.yaml:5: spec.input.ecsAccessType: only applications of ECS have it, and the "
		"kind is LambdaApp");
}

static void test_triggers(void **state)
{
	const struct application *application =
		load(DISCOVERY "  trigger:\n"
			       "    onCommit: {paths: [shared/**], ignores: [README.md]}\n"
			       "    onCommand: {disabled: true}\n"
			       "    onOutOfSync: {disabled: false, minWindow: 10m}\n"
			       "    onChain: {disabled: false}\n"
			       "    onFlow: {disable: true}\n"
			       "    onEvent: {disabled: true}\n"
			       "  onNewCommit: replace\n"
			       "  postSync: {flow: {graph: [{appName: a}]}}\n"
			       "  eventWatcher: []\n");
	const struct application_trigger *trigger = &application->trigger;

	(void)state;
	assert_true(trigger->on_commit && !trigger->on_command && trigger->on_out_of_sync);
	assert_true(trigger->on_chain && !trigger->on_flow);
	assert_int_equal(trigger->paths.count, 1);
	assert_int_equal(trigger->ignores.count, 1);
	assert_int_equal(trigger->out_of_sync_window_ms, 10 * 60 * 1000);
	assert_true(application->replace_waiting);
	assert_int_equal(application->flow->nodes.count, 1);
	assert_warning(application, 0, 13,
		"spec.trigger.onEvent: has no effect; slipway has no such events");
	assert_warning(application, 1, 16, "spec.eventWatcher: has no effect in slipway");
	application = load(DISCOVERY "  trigger: {onChange: [a, b]}\n");
	assert_int_equal(application->trigger.paths.count, 2);
}

/* scenario 37: both places for it are honoured */
static void test_auto_rollback(void **state)
{
	(void)state;
	assert_true(load(DISCOVERY)->auto_rollback);
	assert_false(load(DISCOVERY "    autoRollback: false\n")->auto_rollback);
	assert_false(load(DISCOVERY "  planner: {autoRollback: false}\n")->auto_rollback);
	assert_true(load(DISCOVERY "  planner: {alwaysUsePipeline: true}\n")->always_use_pipeline);
}

/* Keys without case, null as absent, anchors, merge keys and YAML 1.1 booleans. */
static void test_reads_as_pipecd_does(void **state)
{
	const struct application *application =
		load("apiVersion: pipecd.dev/v1beta1\n"
		     "KIND: ECSApp\n"
		     "x-shared: &shared {serviceDefinitionFile: s.yaml, autoRollback: off}\n"
		     "spec:\n"
		     "  Name: x\n"
		     "  description: null\n"
		     "  input:\n"
		     "    <<: *shared\n"
		     "    ACCESSTYPE: ELB\n");

	(void)state;
	assert_span(application->name, "x");
	assert_false(application->auto_rollback);
	assert_span(application->input.service_definition_file, "s.yaml");
	assert_warning(application, 0, 3, "key \"x-shared\" has no effect");
}

/* ---- rejected input ---- */

/* scenario 8 */
static void test_unknown_keys_and_stages(void **state)
{
	(void)state;
	assert_refused(HEAD "  input:\n    serviceDefinitonFile: x\n",
		"app.yaml:5: spec.input: unknown key \"serviceDefinitonFile\"; did you mean "
		"\"serviceDefinitionFile\"?");
	assert_refused(STAGES "      - name: ECS_CANARY_ROLLUOT\n",
		"app.yaml:9: unknown stage \"ECS_CANARY_ROLLUOT\"; did you mean "
		"\"ECS_CANARY_ROLLOUT\"?");
	assert_refused(STAGES "      - name: ECS_TRAFFIC_ROUTING\n"
			      "        with: {primary: 70, canary: 70}\n",
		"app.yaml:9: primary 70 % and canary 70 % make 140 %; their sum must be 100 %");
	assert_refused("apiVersion: pipecd.dev/v1beta1\nkind: ECSAp\nspec: {}\n",
		"app.yaml:2: kind \"ECSAp\" is not an application's; did you mean \"ECSApp\"?");
}

static void test_wrong_values(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "app.yaml:1: expected a mapping, not null"},
		{"kind: ECSApp\n", "app.yaml:1: apiVersion must be pipecd.dev/v1beta1"},
		{"apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\n", "app.yaml:1: spec is missing"},
		{HEAD "  input: {x\n",
			"app.yaml: line 5, column 1: did not find expected ',' or '}'"},
		{HEAD "  timeout: 600\n",
			"app.yaml:4: spec.timeout: expected a duration with its unit, such as "
			"\"30s\" or \"1h30m\""},
		{HEAD "  input: {autoRollback: 1}\n", "app.yaml:4: spec.input.autoRollback: "
						      "expected true or false, not a number"},
		{STAGES "      - {name: ECS_CANARY_ROLLOUT, with: {scale: 101}}\n",
			"app.yaml:9: spec.pipeline.stages[0].with.scale: expected a whole "
			"percentage from 0 to 100"},
		{STAGES "      - {name: ECS_CANARY_ROLLOUT, with: {scale: \"%\"}}\n",
			"app.yaml:9: spec.pipeline.stages[0].with.scale: expected a whole "
			"percentage from 0 to 100"},
		{STAGES "      - {name: ECS_CANARY_ROLLOUT, with: {scale: 0}}\n",
			"app.yaml:9: scale: a canary needs at least 1 % of the desired count"},
		{STAGES "      - name: ECS_CANARY_ROLLOUT\n",
			"app.yaml:9: stage ECS_CANARY_ROLLOUT has no options (key \"with\")"},
		{STAGES "      - {id: a, name: ECS_PRIMARY_ROLLOUT}\n"
			"      - {id: a, name: ECS_CANARY_CLEAN}\n",
			"app.yaml:10: stage ID \"a\" is used twice, first on line 9"},
		{STAGES "      - name: WAIT_APPROVAL\n"
			"        with: {approvers: [ann], minApproverNum: 2}\n",
			"app.yaml:9: minApproverNum is 2, but only 1 approvers are listed"},
		{BALANCED "  pipeline:\n    stages:\n"
			  "      - {name: ECS_CANARY_ROLLOUT, with: {scale: 10}}\n",
			"app.yaml:10: stage ECS_CANARY_ROLLOUT with accessType ELB needs "
			"spec.input.targetGroups.canary"},
		{STAGES "      - {name: ANALYSIS, with: {duration: 1m, metrics: [{query: x}]}}\n",
			"app.yaml:9: a metric with strategy THRESHOLD needs expected.min or "
			"expected.max"},
		{HEAD "  input: {taskDefinitionFile: t.yaml}\n  pipeline:\n    stages:\n"
		      "      - name: ECS_PRIMARY_ROLLOUT\n",
			"app.yaml:7: stage ECS_PRIMARY_ROLLOUT needs a service; a standalone task "
			"(no serviceDefinitionFile) has none"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++)
		assert_refused(cases[i].text, cases[i].message);
}

static void test_undeployable(void **state)
{
	(void)state;
	assert_undeployable(DISCOVERY "  encryption: {encryptedSecrets: {a: b}}\n", 7,
		"spec.encryption: encrypted secrets are not supported");
	assert_undeployable(DISCOVERY "  attachment: {}\n", 7,
		"spec.attachment: attached files are not supported");
	assert_undeployable(STAGES "      - name: ANALYSIS\n"
				   "        with:\n"
				   "          duration: 1m\n"
				   "          metrics:\n"
				   "            - template: {name: x}\n",
		13,
		"spec.pipeline.stages[0].with.metrics[0].template: analysis templates are not "
		"supported; write the query here");
	assert_undeployable(STAGES "      - name: CUSTOM_SYNC\n", 9,
		"slipway has no stage CUSTOM_SYNC");
	assert_undeployable(STAGES
		"      - {name: ANALYSIS, with: {duration: 1m, metrics: [{strategy: "
		"CANARY_BASELINE}]}}\n",
		9,
		"analysis strategy CANARY_BASELINE is not supported (THRESHOLD or CANARY_PRIMARY)");
}

static void test_other_kinds(void **state)
{
	static const char head[] = "apiVersion: pipecd.dev/v1beta1\nkind: KubernetesApp\nspec:\n"
				   "  name: k\n  input: {namespace: x}\n  workloads: []\n";
	struct span generic = arena_format(arena,
		"%s  pipeline:\n    stages:\n      - {name: SCRIPT_RUN, with: {run: make}}\n",
		head);
	struct span own = arena_format(arena,
		"%s  pipeline:\n    stages:\n      - name: WAIT\n        with: {duration: 1s}\n"
		"      - name: K8S_SYNC\n",
		head);
	const struct application *application = load(generic.data);

	(void)state;
	assert_false(application->is_ecs);
	assert_null(application->undeployable.text.data);
	assert_int_equal(application->stages.count, 1);
	assert_undeployable(own.data, 11, "slipway has no stage K8S_SYNC");
	assert_undeployable(head, 1,
		"slipway cannot sync applications of kind KubernetesApp; it delivers those whose "
		"pipeline has only generic stages");
}

static void test_target_groups_without_a_load_balancer(void **state)
{
	const struct application *application =
		load(BALANCED "    accessType: SERVICE_DISCOVERY\n");

	(void)state;
	assert_warning(application, 0, 4,
		"spec.input.targetGroups has no effect with accessType SERVICE_DISCOVERY");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quick_sync_of_a_service),
		cmocka_unit_test(test_canary_behind_a_load_balancer),
		cmocka_unit_test(test_all_generic_stages),
		cmocka_unit_test(test_standalone_task),
		cmocka_unit_test(test_v1_form),
		cmocka_unit_test(test_access_types),
		cmocka_unit_test(test_triggers),
		cmocka_unit_test(test_auto_rollback),
		cmocka_unit_test(test_reads_as_pipecd_does),
		cmocka_unit_test(test_unknown_keys_and_stages),
		cmocka_unit_test(test_wrong_values),
		cmocka_unit_test(test_undeployable),
		cmocka_unit_test(test_other_kinds),
		cmocka_unit_test(test_target_groups_without_a_load_balancer),
	};

	return cmocka_run_group_tests_name("application", tests, setup, teardown);
}
