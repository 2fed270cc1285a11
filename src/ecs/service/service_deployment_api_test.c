/* Service deployments and revisions: lists, descriptions, and requests to stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ecs/service/service_revision.h"
#include "ecs/test_server.h"

#define ARN "arn:aws:ecs:eu-west-1:123456789012:"
#define SHOP SPAN("123456789012/eu-west-1/default/shop")
#define ARN_SIZE 256

static int setup(void **state)
{
	struct test_server *server = test_server_new();

	test_call(server, "CreateCluster", "{}");
	for (int i = 0; i < 2; i++)
		test_call(server, "RegisterTaskDefinition",
			"{'family':'web','containerDefinitions':"
			"[{'name':'app','image':'busybox','memory':64}]}");
	test_call(server, "CreateService",
		"{'serviceName':'shop','taskDefinition':'web:1','desiredCount':10,"
		"'deploymentConfiguration':{'deploymentCircuitBreaker':"
		"{'enable':true,'rollback':true}}}");
	*state = server;
	return 0;
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, test_server_teardown)

static void assert_text(const struct json *object, const char *path, const char *text)
{
	struct span found = json_text(json_path(object, path));

	if (!span_is(found, text))
		fail_msg("%s: '%.*s' is not '%s'", path,
			SPAN_ARGS(found.data ? found : SPAN("nothing")), text);
}

static void deploy(struct test_server *server)
{
	clock_manual_advance_ms(&server->clock, 1000);
	test_call(server, "UpdateService", "{'service':'shop','forceNewDeployment':true}");
}

static void current(struct test_server *server, char arn[ARN_SIZE])
{
	const struct json *service;

	test_call(server, "DescribeServices", "{'services':['shop']}");
	service = json_item(json_get(server->answer, "services"), 0);
	snprintf(arn, ARN_SIZE, "%.*s",
		SPAN_ARGS(json_get_text(service, "currentServiceDeployment")));
}

static const struct json *inspect(struct test_server *server, const char *arn)
{
	test_call(server, "DescribeServiceDeployments", "{'serviceDeploymentArns':['%s']}", arn);
	assert_int_equal(json_count(json_get(server->answer, "failures")), 0);
	return json_item(json_get(server->answer, "serviceDeployments"), 0);
}

static void test_a_deployment_shows_its_revisions(void **state)
{
	struct test_server *server = *state;
	const struct json *shown;
	char first[ARN_SIZE], second[ARN_SIZE], source[ARN_SIZE];

	current(server, first);
	shown = inspect(server, first);
	assert_text(shown, "serviceArn", ARN "service/default/shop");
	assert_text(shown, "clusterArn", ARN "cluster/default");
	assert_text(shown, "status", "IN_PROGRESS");
	assert_text(shown, "deploymentCircuitBreaker.status", "MONITORING");
	assert_int_equal(json_get_integer(json_get(shown, "deploymentCircuitBreaker"), "threshold",
				 0),
		5);
	assert_int_equal(json_get_integer(json_get(shown, "targetServiceRevision"),
				 "requestedTaskCount", 0),
		10);
	assert_int_equal(json_count(json_get(shown, "sourceServiceRevisions")), 0);
	assert_null(json_get(shown, "finishedAt"));
	snprintf(source, sizeof(source), "%.*s",
		SPAN_ARGS(json_text(json_path(shown, "targetServiceRevision.arn"))));
	clock_manual_advance_ms(&server->clock, 1000);
	test_call(server, "UpdateService", "{'service':'shop','taskDefinition':'web:2'}");
	current(server, second);
	assert_string_not_equal(first, second);
	shown = inspect(server, second);
	assert_text(json_item(json_get(shown, "sourceServiceRevisions"), 0), "arn", source);
	shown = inspect(server, first);
	assert_text(shown, "status", "STOPPED");
	assert_non_null(json_get(shown, "stoppedAt"));
	assert_non_null(json_get(shown, "statusReason"));
	test_call(server, "DescribeServiceRevisions", "{'serviceRevisionArns':['%s']}", source);
	shown = json_item(json_get(server->answer, "serviceRevisions"), 0);
	assert_text(shown, "serviceRevisionArn", source);
	assert_text(shown, "taskDefinition", ARN "task-definition/web:1");
	assert_text(shown, "launchType", "EC2");
	assert_text(json_item(json_get(shown, "containerImages"), 0), "image", "busybox");
}

static void test_lists_are_newest_first_with_pages_and_filters(void **state)
{
	struct test_server *server = *state;
	char token[1024] = "", newest[ARN_SIZE];
	size_t seen = 0;

	for (int i = 0; i < 6; i++)
		deploy(server);
	current(server, newest);
	test_call(server, "ListServiceDeployments", "{'service':'shop','maxResults':3}");
	assert_text(json_item(json_get(server->answer, "serviceDeployments"), 0),
		"serviceDeploymentArn", newest);
	for (;;) {
		seen += json_count(json_get(server->answer, "serviceDeployments"));
		snprintf(token, sizeof(token), "%s", test_text(server, "nextToken"));
		if (!token[0])
			break;
		test_call(server, "ListServiceDeployments",
			"{'service':'shop','maxResults':3,'nextToken':'%s'}", token);
	}
	assert_int_equal(seen, 7);
	test_call(server, "ListServiceDeployments", "{'service':'shop','status':['IN_PROGRESS']}");
	assert_int_equal(json_count(json_get(server->answer, "serviceDeployments")), 1);
	test_call(server, "ListServiceDeployments",
		"{'service':'shop','createdAt':{'after':1700000001.2,'before':1700000004.2}}");
	assert_int_equal(json_count(json_get(server->answer, "serviceDeployments")), 3);
	test_refused(server, "ListServiceDeployments", "InvalidParameterException", "createdAt",
		"{'service':'shop','createdAt':{'after':2,'before':1}}");
	test_refused(server, "ListServiceDeployments", "ServiceNotFoundException", "missing",
		"{'service':'missing'}");
	test_refused(server, "ListServiceDeployments", "ClusterNotFoundException",
		"Cluster not found.", "{'cluster':'nowhere','service':'shop'}");
}

static void test_unknown_ones_are_failures(void **state)
{
	struct test_server *server = *state;

	test_call(server, "DescribeServiceDeployments",
		"{'serviceDeploymentArns':['" ARN "service-deployment/default/shop/1']}");
	assert_text(json_item(json_get(server->answer, "failures"), 0), "reason", "MISSING");
	test_call(server, "DescribeServiceRevisions",
		"{'serviceRevisionArns':['" ARN "service-revision/default/shop/1']}");
	assert_text(json_item(json_get(server->answer, "failures"), 0), "reason", "MISSING");
	test_refused(server, "DescribeServiceDeployments", "InvalidParameterException", "ARN",
		"{'serviceDeploymentArns':['shop']}");
	test_refused(server, "DescribeServiceRevisions", "InvalidParameterException", "empty",
		"{'serviceRevisionArns':[]}");
	test_refused(server, "StopServiceDeployment", "ServiceDeploymentNotFoundException",
		"shop/1", "{'serviceDeploymentArn':'" ARN "service-deployment/default/shop/1'}");
	test_refused(server, "StopServiceDeployment", "InvalidParameterException", "ARN",
		"{'serviceDeploymentArn':'x'}");
}

static void test_an_end_is_asked_for_once(void **state)
{
	struct test_server *server = *state;
	char arn[ARN_SIZE];

	current(server, arn);
	test_call(server, "StopServiceDeployment", "{'serviceDeploymentArn':'%s'}", arn);
	assert_text(server->answer, "serviceDeploymentArn", arn);
	assert_text(inspect(server, arn), "status", "ROLLBACK_REQUESTED");
	test_refused(server, "StopServiceDeployment", "ConflictException", "ROLLBACK_REQUESTED",
		"{'serviceDeploymentArn':'%s'}", arn);
	assert_int_equal(json_count(json_get(server->answer, "resourceIds")), 1);
	deploy(server);
	current(server, arn);
	test_call(server, "StopServiceDeployment",
		"{'serviceDeploymentArn':'%s','stopType':'ABORT'}", arn);
	assert_text(inspect(server, arn), "status", "STOP_REQUESTED");
	test_refused(server, "ContinueServiceDeployment", "InvalidParameterException", "hookId",
		"{'serviceDeploymentArn':'%s','hookId':'h'}", arn);
	test_refused(server, "ContinueServiceDeployment", "ServiceDeploymentNotFoundException",
		"shop/1",
		"{'serviceDeploymentArn':'" ARN "service-deployment/default/shop/1','hookId':'h'}");
}

/* ---- rollbacks, as the controller starts them ---- */

static const struct store_object *primary(struct store_transaction *transaction)
{
	return service_primary_deployment(store_head(transaction), SHOP);
}

static int succeed(struct store_transaction *transaction, void *context, struct err *err)
{
	struct service_deployment_facts facts = *service_deployment_facts(primary(transaction));
	_arena_ struct arena *arena = arena_new(0);

	(void)context;
	facts.rollout = ROLLOUT_COMPLETED;
	facts.state = SERVICE_DEPLOYMENT_SUCCESSFUL;
	facts.finished_ms = TEST_SERVER_NOW_MS;
	return service_object_put_facts(transaction, primary(transaction), &facts, arena, err);
}

static int roll_back(struct store_transaction *transaction, void *context, struct err *err)
{
	struct test_server *server = context;
	const struct store_object *failed = primary(transaction);
	struct service_deployment_facts facts = *service_deployment_facts(failed);
	struct store_cursor cursor = {.view = store_head(transaction),
		.kind = &service_deployment_kind,
		.index = DEPLOYMENT_BY_CREATED,
		.prefix = SHOP};
	const struct service_deployment_facts *first =
		service_deployment_facts(store_next(&cursor));
	struct arena *arena = store_transaction_arena(transaction);
	struct service_edit edit;
	struct span number;

	facts.rollout = ROLLOUT_FAILED;
	facts.state = SERVICE_DEPLOYMENT_ROLLBACK_IN_PROGRESS;
	assert_int_equal(service_object_put_facts(transaction, failed, &facts, arena, err), 0);
	assert_int_equal(service_edit_open(store_get(store_head(transaction), &service_kind, SHOP),
				 arena, &edit, err),
		0);
	assert_int_equal(service_deployment_begin(transaction, &edit, first->service_revision,
				 first->number, &server->random.random,
				 clock_wall_ms(&server->clock.clock), &number, err),
		0);
	return service_edit_save(transaction, &edit, err);
}

static void write_now(struct test_server *server, store_write_function function)
{
	struct err err = {0};

	if (store_write_wait(server->store, function, server, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

static void test_a_rollback_is_part_of_what_failed(void **state)
{
	struct test_server *server = *state;
	const struct json *service, *back;
	char failed[ARN_SIZE], after[ARN_SIZE];

	write_now(server, succeed);
	clock_manual_advance_ms(&server->clock, 1000);
	test_call(server, "UpdateService", "{'service':'shop','taskDefinition':'web:2'}");
	current(server, failed);
	clock_manual_advance_ms(&server->clock, 1000);
	write_now(server, roll_back);
	current(server, after);
	assert_string_equal(failed, after);
	test_call(server, "DescribeServices", "{'services':['shop']}");
	service = json_item(json_get(server->answer, "services"), 0);
	assert_text(service, "taskDefinition", ARN "task-definition/web:1");
	assert_int_equal(json_count(json_get(service, "deployments")), 3);
	back = json_item(json_get(service, "deployments"), 0);
	assert_text(back, "status", "PRIMARY");
	assert_text(back, "taskDefinition", ARN "task-definition/web:1");
	assert_true(span_starts_with(json_get_text(back, "rolloutStateReason"),
		SPAN("ECS deployment circuit breaker: rolling back to deploymentId ecs-svc/")));
	assert_text(json_item(json_get(service, "deployments"), 1), "rolloutState", "FAILED");
	test_call(server, "ListServiceDeployments", "{'service':'shop'}");
	assert_int_equal(json_count(json_get(server->answer, "serviceDeployments")), 2);
	assert_text(inspect(server, failed), "status", "ROLLBACK_IN_PROGRESS");
	/* Another deployment interrupts it. */
	deploy(server);
	assert_text(inspect(server, failed), "status", "ROLLBACK_FAILED");
}

static int retire(struct store_transaction *transaction, void *context, struct err *err)
{
	struct store_cursor cursor = {.view = store_head(transaction),
		.kind = &service_deployment_kind,
		.index = DEPLOYMENT_BY_LIVE,
		.prefix = SHOP,
		.exact = true};
	const struct store_object *deployment;
	struct service_deployment_facts facts;
	_arena_ struct arena *arena = arena_new(0);

	(void)context;
	while ((deployment = store_next(&cursor)))
		if (service_deployment_facts(deployment)->status == DEPLOYMENT_ACTIVE)
			break;
	if (!deployment)
		return 0;
	facts = *service_deployment_facts(deployment);
	facts.status = DEPLOYMENT_INACTIVE;
	return service_object_put_facts(transaction, deployment, &facts, arena, err);
}

static size_t count(struct test_server *server, const struct store_kind *kind)
{
	_view_ struct store_view *view = store_view_open(server->store);

	return (size_t)store_count(view, kind, -1, SHOP, false);
}

static void test_old_deployments_go_with_their_revisions(void **state)
{
	struct test_server *server = *state;

	for (int i = 0; i < SERVICE_DEPLOYMENTS_MAX + 20; i++) {
		deploy(server);
		write_now(server, retire);
	}
	assert_true(count(server, &service_deployment_kind) <= SERVICE_DEPLOYMENTS_MAX + 1);
	assert_int_equal(count(server, &service_deployment_kind),
		count(server, &service_revision_kind));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_deployment_shows_its_revisions),
		TEST(test_lists_are_newest_first_with_pages_and_filters),
		TEST(test_unknown_ones_are_failures),
		TEST(test_an_end_is_asked_for_once),
		TEST(test_a_rollback_is_part_of_what_failed),
		TEST(test_old_deployments_go_with_their_revisions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
