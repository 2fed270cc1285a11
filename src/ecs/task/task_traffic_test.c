/*
 * Traffic of tasks: real requests, the real service and traffic controllers on virtual time, and
 * tests that act as the agent that runs the tasks and as the plane that checks targets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aws/key.h"
#include "control/runner_simulated.h"
#include "ecs/service/service_controller.h"
#include "ecs/task/task_edit.h"
#include "ecs/task/task_traffic.h"
#include "ecs/test_server.h"
#include "ecs/test_tasks.h"

#define SCOPE "123456789012/eu-west-1/"
#define CLUSTER SCOPE "default"
#define EC2_ID "i-0123456789abcdef0"
#define TTL_MS 5000
#define LAG_MS 1000 /* a client that resolves at the last moment connects later than that */
#define TASKS_MAX 16

struct world {
	struct runner *runner;
	struct test_server *server;
	struct controller *services, *traffic;
	char group[160], registry[160]; /* ARNs */
	char registry_key[96];
};

static void wait_ms(struct world *world, int64_t milliseconds)
{
	assert_int_equal(runner_sleep_until(world->runner,
				 runner_deadline_us(world->runner, milliseconds * 1000)),
		0);
}

/* Until the controllers have nothing more to do. */
static void settle(struct world *world)
{
	wait_ms(world, 100);
	assert_true(controller_is_idle(world->services) && controller_is_idle(world->traffic));
}

/* ---- target groups and names ---- */

static int put_listener(struct store_transaction *transaction, void *context, struct err *err)
{
	const char *group = context;
	struct arena *arena = store_transaction_arena(transaction);

	return store_put(transaction, &elb_listener_kind, SPAN(SCOPE "front/0000000000000001"),
		arena_format(arena,
			"{\"Protocol\":\"TCP\",\"Port\":80,\"DefaultActions\":[{\"Type\":"
			"\"forward\",\"TargetGroupArn\":\"%s\",\"ForwardConfig\":{"
			"\"TargetGroups\":[{\"TargetGroupArn\":\"%s\",\"Weight\":1}]}}]}",
			group, group),
		SPAN("{}"), STORE_ABSENT, err);
}

static void make_group(struct world *world)
{
	test_call_to(world->server, &elb_service, "CreateTargetGroup",
		"{'Name':'web','Protocol':'TCP','Port':80,'TargetType':'instance',"
		"'VpcId':'vpc-1'}");
	snprintf(world->group, sizeof(world->group), "%s",
		test_item(world->server, "TargetGroups", 0, "TargetGroupArn"));
	assert_int_equal(store_write_wait(world->server->store, put_listener, world->group, NULL,
				 NULL),
		0);
}

static void make_name(struct world *world)
{
	char id[TEST_ID_SIZE];

	test_call_to(world->server, &cloudmap_service, "CreatePrivateDnsNamespace",
		"{'Name':'test','Vpc':'vpc-1'}");
	test_call_to(world->server, &cloudmap_service, "ListNamespaces", "{}");
	snprintf(id, sizeof(id), "%s", test_item(world->server, "Namespaces", 0, "Id"));
	test_call_to(world->server, &cloudmap_service, "CreateService",
		"{'Name':'web','NamespaceId':'%s','HealthCheckCustomConfig':{},"
		"'DnsConfig':{'DnsRecords':[{'Type':'SRV','TTL':%d}]}}",
		id, TTL_MS / 1000);
	snprintf(world->registry, sizeof(world->registry), "%s",
		test_text(world->server, "Service.Arn"));
	snprintf(world->registry_key, sizeof(world->registry_key), SCOPE "%s",
		test_text(world->server, "Service.Id"));
}

static int setup(void **state)
{
	struct world *world = memory_allocate(sizeof(*world));
	struct controller_config config;

	world->runner = runner_simulated_new(1);
	world->server = test_server_new_on(runner_clock(world->runner));
	config = (struct controller_config){.runner = world->runner, .store = world->server->store};
	assert_int_equal(controller_start(&service_controller_row, &config, &world->services, NULL),
		0);
	assert_int_equal(controller_start(&task_traffic_controller_row, &config, &world->traffic,
				 NULL),
		0);
	test_call(world->server, "CreateCluster", "{}");
	test_call(world->server, "RegisterContainerInstance",
		"{'cluster':'default','totalResources':[{'name':'CPU','type':'INTEGER',"
		"'integerValue':4096},{'name':'MEMORY','type':'INTEGER','integerValue':4096}],"
		"'attributes':[{'name':'ecs.capability.container-health-check'}],"
		"'instanceIdentityDocument':'{\\\"instanceId\\\":\\\"" EC2_ID "\\\","
		"\\\"privateIp\\\":\\\"10.0.0.7\\\",\\\"availabilityZone\\\":\\\"eu-west-1b\\\"}'"
		"}");
	test_call(world->server, "RegisterTaskDefinition",
		"{'family':'web','containerDefinitions':[{'name':'app','image':'i','memory':32,"
		"'portMappings':[{'containerPort':8080}]}]}");
	make_group(world);
	make_name(world);
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	controller_stop(world->services);
	controller_stop(world->traffic);
	runner_stop(world->runner);
	runner_join(world->runner, NULL);
	test_server_free(world->server);
	runner_free(world->runner);
	free(world);
	return 0;
}

static void create(struct world *world, int count, const char *more)
{
	test_call(world->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'web','desiredCount':%d,"
		"'loadBalancers':[{'targetGroupArn':'%s','containerName':'app',"
		"'containerPort':8080}],'serviceRegistries':[{'registryArn':'%s',"
		"'containerName':'app','containerPort':8080}]%s}",
		count, world->group, world->registry, more);
	settle(world);
}

/* ---- tasks ---- */

struct task_check {
	char id[TEST_ID_SIZE];
	struct task_facts facts; /* numbers only are good */
};

/* The tasks of the service that are not STOPPED, oldest first. */
static size_t pass(struct world *world, struct task_check tasks[TASKS_MAX])
{
	_view_ struct store_view *view = store_view_open(world->server->store);
	struct store_cursor cursor = {.view = view,
		.kind = &task_kind,
		.index = TASK_BY_SERVICE,
		.prefix = SPAN(CLUSTER "/web/live/")};
	const struct store_object *task;
	size_t count = 0;

	while (count < TASKS_MAX && (task = store_next(&cursor))) {
		tasks[count].facts = *task_facts(task);
		snprintf(tasks[count++].id, TEST_ID_SIZE, "%.*s", SPAN_ARGS(task_facts(task)->id));
	}
	return count;
}

static struct task_facts facts_of(struct world *world, const char *id)
{
	_view_ struct store_view *view = store_view_open(world->server->store);
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *task =
		store_get(view, &task_kind, arena_format(arena, CLUSTER "/%s", id));

	assert_non_null(task);
	return *task_facts(task);
}

/* An agent's report that the containers run. */
static void begin_at(struct world *world, const char *id, const char *address, int port)
{
	test_call(world->server, "SubmitTaskStateChange",
		"{'cluster':'default','task':'%s','status':'RUNNING','containers':[{"
		"'containerName':'app','status':'RUNNING','networkBindings':[{'bindIP':'%s',"
		"'containerPort':8080,'hostPort':%d,'protocol':'tcp'}]}]}",
		id, address, port);
	settle(world);
}

static void begin(struct world *world, const char *id, int port)
{
	begin_at(world, id, "0.0.0.0", port);
}

/* A service with one task that runs at host port 32768. */
static void create_running(struct world *world, char id[TEST_ID_SIZE])
{
	struct task_check tasks[TASKS_MAX];

	create(world, 1, "");
	assert_int_equal(pass(world, tasks), 1);
	snprintf(id, TEST_ID_SIZE, "%s", tasks[0].id);
	begin(world, id, 32768);
}

/* ---- targets and instances ---- */

struct plane {
	struct world *world;
	int port;
	enum elb_target_state state; /* DRAINING: deletes it */
};

static int play_plane(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct plane *plane = context;
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_object *target = elb_target_find(store_head(transaction),
		SPAN(SCOPE "web"), SPAN(EC2_ID), plane->port, arena);

	assert_non_null(target);
	if (plane->state == ELB_TARGET_DRAINING)
		return store_delete(transaction, &elb_target_kind, target->key, target->revision,
			err);
	return elb_target_set_state(transaction, target, plane->state,
		plane->state == ELB_TARGET_UNHEALTHY ? PROBE_REASON_FAILED : PROBE_REASON_NONE, 0,
		runner_wall_ms(plane->world->runner), arena, err);
}

static void plane(struct world *world, int port, enum elb_target_state state)
{
	struct plane plane = {world, port, state};

	assert_int_equal(store_write_wait(world->server->store, play_plane, &plane, NULL, NULL), 0);
	settle(world);
}

/* The state of the target at a host port; -1 if there is none. */
static int target_state(struct world *world, int port)
{
	_view_ struct store_view *view = store_view_open(world->server->store);
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *target =
		elb_target_find(view, SPAN(SCOPE "web"), SPAN(EC2_ID), port, arena);

	return target ? (int)elb_target_facts(target)->state : -1;
}

/* The attributes of a task's instance; "" if there is none. */
static const char *instance_text(struct world *world, const char *id)
{
	_view_ struct store_view *view = store_view_open(world->server->store);
	const struct store_object *instance = store_get(view, &cloudmap_instance_kind,
		arena_format(world->server->arena, "%s/%s", world->registry_key, id));

	return instance ? arena_copy_span(world->server->arena, instance->api).data : "";
}

static bool instance_is_healthy(struct world *world, const char *id)
{
	_view_ struct store_view *view = store_view_open(world->server->store);
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *instance = store_get(view, &cloudmap_instance_kind,
		arena_format(arena, "%s/%s", world->registry_key, id));
	const struct store_object *service =
		store_get(view, &cloudmap_service_kind, span_of(world->registry_key));

	assert_non_null(instance);
	return cloudmap_instance_is_healthy(cloudmap_service_facts(service),
		cloudmap_instance_facts(instance), runner_wall_ms(world->runner));
}

static bool reported(struct world *world, const char *message)
{
	test_call(world->server, "DescribeServices", "{'services':['web']}");
	JSON_EACH_ITEM (json_get(json_item(json_get(world->server->answer, "services"), 0),
				"events"),
		event)
		if (span_is(json_get_text(event, "message"), message))
			return true;
	return false;
}

/* A message about the target group; valid until the next one. */
__attribute__((format(printf, 1, 2))) static const char *words(const char *format, ...)
{
	static char buffer[512];
	va_list list;

	va_start(list, format);
	vsnprintf(buffer, sizeof(buffer), format, list);
	va_end(list);
	return buffer;
}

/* ---- tests ---- */

static void a_task_that_runs_is_registered(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE], wanted[512], message[300];

	create_running(world, id);
	assert_int_equal(target_state(world, 32768), ELB_TARGET_INITIAL);
	snprintf(wanted, sizeof(wanted),
		"{\"AWS_INIT_HEALTH_STATUS\":\"HEALTHY\",\"AWS_INSTANCE_IPV4\":\"10.0.0.7\","
		"\"AWS_INSTANCE_PORT\":\"32768\",\"AVAILABILITY_ZONE\":\"eu-west-1b\","
		"\"REGION\":\"eu-west-1\",\"ECS_CLUSTER_NAME\":\"default\","
		"\"ECS_SERVICE_NAME\":\"web\",\"ECS_TASK_DEFINITION_FAMILY\":\"web\","
		"\"EC2_INSTANCE_ID\":\"" EC2_ID "\"}");
	assert_string_equal(instance_text(world, id), wanted);
	assert_int_equal(facts_of(world, id).last, TASK_ACTIVATING);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_REGISTERED);
	snprintf(message, sizeof(message),
		"(service web) registered 1 targets in (target-group %s)", world->group);
	assert_true(reported(world, message));
}

/* As on Kubernetes, which maps no ports of an instance: two tasks of one instance are two
 * targets. */
static void tasks_with_ports_of_their_own_are_registered_there(void **state)
{
	static const char *const addresses[] = {"10.244.0.4", "10.244.0.5"};
	struct world *world = *state;
	struct task_check tasks[TASKS_MAX];

	create(world, 2, "");
	assert_int_equal(pass(world, tasks), 2);
	for (size_t i = 0; i < LENGTH(addresses); i++)
		begin_at(world, tasks[i].id, addresses[i], 8080);
	for (size_t i = 0; i < LENGTH(addresses); i++) {
		_view_ struct store_view *view = store_view_open(world->server->store);
		_arena_ struct arena *arena = arena_new(0);

		assert_non_null(elb_target_find(view, SPAN(SCOPE "web"), span_of(addresses[i]),
			8080, arena));
		assert_non_null(strstr(instance_text(world, tasks[i].id),
			arena_format(arena, "\"AWS_INSTANCE_IPV4\":\"%s\"", addresses[i]).data));
	}
	assert_int_equal(target_state(world, 8080), -1);
}

/* A deployment completes when load balancers find its tasks healthy. */
static void a_deployment_waits_for_load_balancers(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE];

	create_running(world, id);
	wait_ms(world, 60000);
	assert_int_equal(facts_of(world, id).balance, TASK_BALANCE_WAITING);
	assert_int_equal(facts_of(world, id).last, TASK_ACTIVATING);
	assert_false(reported(world, "(service web) has reached a steady state."));
	plane(world, 32768, ELB_TARGET_HEALTHY);
	assert_int_equal(facts_of(world, id).last, TASK_RUNNING);
	wait_ms(world, 200);
	assert_int_equal(facts_of(world, id).balance, TASK_BALANCE_HEALTHY);
	assert_true(reported(world, "(service web) has reached a steady state."));
	/* A group that no listener uses any more does not count. */
	plane(world, 32768, ELB_TARGET_UNUSED);
	assert_int_equal(facts_of(world, id).balance, TASK_BALANCE_NONE);
	assert_int_equal(facts_of(world, id).desired, TASK_RUNNING);
}

static void the_end_of_a_task_waits_for_its_traffic(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE];

	create_running(world, id);
	plane(world, 32768, ELB_TARGET_HEALTHY);
	test_call(world->server, "UpdateService", "{'service':'web','desiredCount':0}");
	settle(world);
	assert_int_equal(facts_of(world, id).last, TASK_DEACTIVATING);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEAVING);
	assert_int_equal(target_state(world, 32768), ELB_TARGET_DRAINING);
	assert_string_equal(instance_text(world, id), "");
	assert_true(reported(world, "(service web) has begun draining connections on 1 tasks."));
	assert_true(reported(world,
		words("(service web) deregistered 1 targets in (target-group %s)", world->group)));
	/* Drained, but clients still cache its name; then no longer. */
	plane(world, 32768, ELB_TARGET_DRAINING);
	wait_ms(world, TTL_MS);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEAVING);
	wait_ms(world, LAG_MS);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEFT);
	assert_int_equal(facts_of(world, id).last, TASK_DEACTIVATING);
}

/* ---- instances that a client registered ---- */

static void register_by_client(struct world *world, const char *id)
{
	struct span service = aws_name_of_key(span_of(world->registry_key));

	test_call_to(world->server, &cloudmap_service, "RegisterInstance",
		"{'ServiceId':'%.*s','InstanceId':'%s','Attributes':{"
		"'AWS_INSTANCE_IPV4':'10.0.0.7','AWS_INSTANCE_PORT':'32768'}}",
		SPAN_ARGS(service), id);
}

static void deregister_by_client(struct world *world, const char *id)
{
	struct span service = aws_name_of_key(span_of(world->registry_key));

	test_call_to(world->server, &cloudmap_service, "DeregisterInstance",
		"{'ServiceId':'%.*s','InstanceId':'%s'}", SPAN_ARGS(service), id);
}

/* A task of a service without registries, at host port 32768. */
static void create_plain(struct world *world, char id[TEST_ID_SIZE])
{
	struct task_check tasks[TASKS_MAX];

	test_call(world->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'web','desiredCount':1}");
	settle(world);
	assert_int_equal(pass(world, tasks), 1);
	snprintf(id, TEST_ID_SIZE, "%s", tasks[0].id);
	begin(world, id, 32768);
	assert_int_equal(facts_of(world, id).last, TASK_RUNNING);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_NONE);
}

static void holds_task_that_client_registered(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE];

	create_plain(world, id);
	register_by_client(world, "another");
	register_by_client(world, id);
	test_call(world->server, "StopTask", "{'task':'%s'}", id);
	assert_string_equal(instance_text(world, id), "");
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEAVING);
	assert_int_equal(facts_of(world, id).last, TASK_DEACTIVATING);
	wait_ms(world, TTL_MS);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEAVING);
	wait_ms(world, LAG_MS);
	settle(world);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEFT);
}

/* Without the last instance the name has no answer: it stays until the client has registered another, or for a time. */
static void keeps_last_instance_that_client_registered(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE];

	create_plain(world, id);
	register_by_client(world, id);
	test_call(world->server, "StopTask", "{'task':'%s'}", id);
	assert_string_not_equal(instance_text(world, id), "");
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEAVING);
	wait_ms(world, TASK_NAME_KEPT_MS - 1000);
	settle(world);
	assert_string_not_equal(instance_text(world, id), "");
	register_by_client(world, "another");
	wait_ms(world, 200);
	settle(world);
	assert_string_equal(instance_text(world, id), "");
	wait_ms(world, TTL_MS);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEAVING);
	wait_ms(world, LAG_MS);
	settle(world);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEFT);
}

static void removes_last_instance_that_is_not_replaced(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE];

	create_plain(world, id);
	register_by_client(world, id);
	test_call(world->server, "UpdateService", "{'service':'web','desiredCount':0}");
	test_call(world->server, "StopTask", "{'task':'%s'}", id);
	assert_string_equal(instance_text(world, id), "");
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEAVING);
}

static void removes_last_instance_after_a_time(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE];

	create_plain(world, id);
	register_by_client(world, id);
	test_call(world->server, "StopTask", "{'task':'%s'}", id);
	wait_ms(world, TASK_NAME_KEPT_MS + 200);
	settle(world);
	assert_string_equal(instance_text(world, id), "");
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEAVING);
	wait_ms(world, TTL_MS + LAG_MS);
	settle(world);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEFT);
}

/* A client's deregistration just before the stop leaves the rest of the TTL to wait for. */
static void holds_task_that_client_deregistered(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE];

	create_plain(world, id);
	register_by_client(world, id);
	deregister_by_client(world, id);
	wait_ms(world, 2000);
	test_call(world->server, "StopTask", "{'task':'%s'}", id);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEAVING);
	wait_ms(world, TTL_MS - 2000);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEAVING);
	wait_ms(world, LAG_MS);
	settle(world);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEFT);
}

static void stops_at_once_when_ttl_has_passed(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE];

	create_plain(world, id);
	register_by_client(world, id);
	deregister_by_client(world, id);
	wait_ms(world, TTL_MS + LAG_MS);
	test_call(world->server, "StopTask", "{'task':'%s'}", id);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_NONE);
	assert_int_equal(facts_of(world, id).last, TASK_RUNNING);
}

/* A program that ends by itself cannot be held; its record goes at once. */
static void removes_client_registration_of_ended_task(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE];

	create_plain(world, id);
	register_by_client(world, id);
	test_call(world->server, "SubmitTaskStateChange",
		"{'cluster':'default','task':'%s','status':'STOPPED'}", id);
	assert_string_equal(instance_text(world, id), "");
}

static void a_connection_is_waited_for_longer_than_a_name(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE];

	create_running(world, id);
	test_call(world->server, "StopTask", "{'task':'%s'}", id);
	wait_ms(world, 200000);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEAVING);
	plane(world, 32768, ELB_TARGET_DRAINING);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEFT);
}

/* No plane drains the target: some time after the deadline the task is released all the same. */
static void patience_ends(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE];

	create_running(world, id);
	test_call(world->server, "StopTask", "{'task':'%s'}", id);
	wait_ms(world, 300000 + TASK_DRAIN_PATIENCE_MS - 1000);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEAVING);
	wait_ms(world, 2000);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEFT);
}

static void a_task_that_dies_is_taken_out_at_once(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE];

	create_running(world, id);
	test_call(world->server, "SubmitTaskStateChange",
		"{'cluster':'default','task':'%s','status':'STOPPED','reason':'it died'}", id);
	settle(world);
	assert_int_equal(target_state(world, 32768), -1);
	assert_string_equal(instance_text(world, id), "");
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEFT);
}

static void a_task_that_was_never_registered_stops_at_once(void **state)
{
	struct world *world = *state;
	struct task_check tasks[TASKS_MAX];

	create(world, 1, "");
	assert_int_equal(pass(world, tasks), 1);
	assert_int_equal(tasks[0].facts.traffic, TASK_TRAFFIC_WAITING);
	test_call(world->server, "StopTask", "{'task':'%s'}", tasks[0].id);
	assert_int_equal(facts_of(world, tasks[0].id).traffic, TASK_TRAFFIC_LEFT);
	assert_int_equal(facts_of(world, tasks[0].id).last, TASK_PENDING);
}

static void what_is_unhealthy_to_a_load_balancer_is_replaced(void **state)
{
	struct world *world = *state;
	struct task_check tasks[TASKS_MAX];
	char id[TEST_ID_SIZE];

	create(world, 1, ",'healthCheckGracePeriodSeconds':60");
	assert_int_equal(pass(world, tasks), 1);
	snprintf(id, sizeof(id), "%s", tasks[0].id);
	begin(world, id, 32768);
	plane(world, 32768, ELB_TARGET_UNHEALTHY);
	wait_ms(world, 50000);
	assert_int_equal(facts_of(world, id).desired, TASK_RUNNING);
	/* The grace period is over. Another one must be healthy before it may go. */
	wait_ms(world, 10000);
	assert_int_equal(pass(world, tasks), 2);
	begin(world, tasks[strcmp(tasks[0].id, id) == 0 ? 1 : 0].id, 32769);
	assert_int_equal(facts_of(world, id).desired, TASK_RUNNING);
	plane(world, 32769, ELB_TARGET_HEALTHY);
	assert_int_equal(facts_of(world, id).desired, TASK_STOPPED);
	assert_true(reported(world, words("(service web) (instance " EC2_ID
					  ") (port 32768) is unhealthy in (target-group %s) "
					  "due to (reason Health checks failed).",
					    world->group)));
	test_call(world->server, "DescribeTasks", "{'tasks':['%s']}", id);
	assert_string_equal(test_item(world->server, "tasks", 0, "stoppedReason"),
		words("Task failed ELB health checks in (target-group %s)", world->group));
	test_call(world->server, "DescribeServices", "{'services':['web']}");
	assert_int_equal(json_get_integer(json_item(json_get(json_item(json_get(world->server
											->answer,
									       "services"),
								     0),
							    "deployments"),
						  0),
				 "failedTasks", -1),
		1);
}

static const char *rollout_state(struct world *world, size_t deployment)
{
	const struct json *service;

	test_call(world->server, "DescribeServices", "{'services':['web']}");
	service = json_item(json_get(world->server->answer, "services"), 0);
	return arena_copy_span(world->server->arena,
		json_get_text(json_item(json_get(service, "deployments"), deployment),
			"rolloutState"))
		.data;
}

/* A version that no load balancer finds healthy replaces no task, and fails. */
static void a_version_that_never_becomes_healthy_is_rolled_back(void **state)
{
	struct world *world = *state;
	struct task_check tasks[TASKS_MAX];
	char old[TEST_ID_SIZE];

	create(world, 1,
		",'deploymentConfiguration':{'deploymentCircuitBreaker':{'enable':true,"
		"'rollback':true}}");
	pass(world, tasks);
	snprintf(old, sizeof(old), "%s", tasks[0].id);
	begin(world, old, 32768);
	plane(world, 32768, ELB_TARGET_HEALTHY);
	assert_string_equal(rollout_state(world, 0), "COMPLETED");
	test_call(world->server, "UpdateService", "{'service':'web','forceNewDeployment':true}");
	for (int i = 1; i <= SERVICE_BREAKER_LEAST; i++) {
		char new[TEST_ID_SIZE] = "";

		wait_ms(world, 10000);
		for (size_t count = pass(world, tasks), j = 0; j < count; j++)
			if (tasks[j].facts.traffic == TASK_TRAFFIC_WAITING)
				memcpy(new, tasks[j].id, sizeof(new));
		begin(world, new, 32768 + i);
		assert_int_equal(target_state(world, 32768 + i), ELB_TARGET_INITIAL);
		plane(world, 32768 + i, ELB_TARGET_UNHEALTHY);
		assert_int_equal(target_state(world, 32768 + i), ELB_TARGET_DRAINING);
		assert_int_equal(facts_of(world, old).desired, TASK_RUNNING);
		plane(world, 32768 + i, ELB_TARGET_DRAINING);
		wait_ms(world, TTL_MS + LAG_MS);
		assert_int_equal(facts_of(world, new).traffic, TASK_TRAFFIC_LEFT);
		test_call(world->server, "SubmitTaskStateChange",
			"{'cluster':'default','task':'%s','status':'STOPPED'}", new);
	}
	settle(world);
	assert_true(reported(world,
		words("(service web) (instance " EC2_ID ") (port 32769) is unhealthy "
		      "in (target-group %s) due to (reason Health checks failed).",
			world->group)));
	test_call(world->server, "ListServiceDeployments",
		"{'service':'web','status':['ROLLBACK_IN_PROGRESS','ROLLBACK_SUCCESSFUL']}");
	assert_int_equal(test_count(world->server, "serviceDeployments"), 1);
	assert_int_equal(facts_of(world, old).desired, TASK_RUNNING);
}

static int delete_group(struct store_transaction *transaction, void *context, struct err *err)
{
	(void)context;
	return store_delete(transaction, &elb_target_group_kind, SPAN(SCOPE "web"), STORE_ANY, err);
}

static void a_group_that_is_gone_fails_the_task(void **state)
{
	struct world *world = *state;
	struct task_check tasks[TASKS_MAX];

	create(world, 1, "");
	assert_int_equal(pass(world, tasks), 1);
	assert_int_equal(store_write_wait(world->server->store, delete_group, NULL, NULL, NULL), 0);
	begin(world, tasks[0].id, 32768);
	assert_int_equal(facts_of(world, tasks[0].id).desired, TASK_STOPPED);
	assert_true(facts_of(world, tasks[0].id).failed);
	assert_string_equal(instance_text(world, tasks[0].id), "");
	test_call(world->server, "DescribeTasks", "{'tasks':['%s']}", tasks[0].id);
	assert_string_equal(test_item(world->server, "tasks", 0, "stoppedReason"),
		words("ResourceInitializationError: unable to register it in (target-group %s): "
		      "the target group does not exist",
			world->group));
	/* No other is started in vain. */
	assert_int_equal(pass(world, tasks), 1);
}

/* Many that start together make one event. */
static void events_count(void **state)
{
	struct world *world = *state;
	struct task_check tasks[TASKS_MAX];

	create(world, 5, "");
	assert_int_equal(pass(world, tasks), 5);
	for (int i = 0; i < 5; i++)
		begin(world, tasks[i].id, 32768 + i);
	assert_true(reported(world,
		words("(service web) registered 5 targets in (target-group %s)", world->group)));
	assert_false(reported(world,
		words("(service web) registered 1 targets in (target-group %s)", world->group)));
	/* Later ones are others. */
	wait_ms(world, SERVICE_EVENT_COUNTS_MS + 1000);
	test_call(world->server, "UpdateService", "{'service':'web','desiredCount':3}");
	settle(world);
	assert_true(reported(world, "(service web) has begun draining connections on 2 tasks."));
	assert_true(reported(world,
		words("(service web) deregistered 2 targets in (target-group %s)", world->group)));
}

static void what_is_taken_out_stays_out(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE];

	create_running(world, id);
	plane(world, 32768, ELB_TARGET_HEALTHY);
	test_call_to(world->server, &cloudmap_service, "DeregisterInstance",
		"{'ServiceId':'%s','InstanceId':'%s'}", world->registry_key + strlen(SCOPE), id);
	test_call_to(world->server, &elb_service, "DeregisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'" EC2_ID "','Port':32768}]}",
		world->group);
	plane(world, 32768, ELB_TARGET_DRAINING);
	begin(world, id, 32768);
	wait_ms(world, 60000);
	assert_int_equal(target_state(world, 32768), -1);
	assert_string_equal(instance_text(world, id), "");
	assert_int_equal(facts_of(world, id).desired, TASK_RUNNING);
	/* A client registers it again; it is removed with its task all the same. */
	test_call_to(world->server, &elb_service, "RegisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'" EC2_ID "','Port':32768}]}",
		world->group);
	test_call(world->server, "StopTask", "{'task':'%s'}", id);
	settle(world);
	assert_int_equal(target_state(world, 32768), ELB_TARGET_DRAINING);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEAVING);
	plane(world, 32768, ELB_TARGET_DRAINING);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEFT);
}

static void run_here(struct task_facts *facts)
{
	facts->host = SPAN("here"); /* so that a runtime reports its health */
	facts->checked = true;
	facts->last = TASK_ACTIVATING;
}

static void be_healthy(struct task_facts *facts)
{
	facts->health = TASK_HEALTH_HEALTHY;
}

static void be_unhealthy(struct task_facts *facts)
{
	facts->health = TASK_HEALTH_UNHEALTHY;
}

static void health_is_waited_for_and_reported(void **state)
{
	struct world *world = *state;
	struct task_check tasks[TASKS_MAX];
	const char *id = tasks[0].id;

	create(world, 1, ",'healthCheckGracePeriodSeconds':3600");
	assert_int_equal(pass(world, tasks), 1);
	test_change_task(world->server, "default", id, run_here);
	settle(world);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_WAITING);
	assert_int_equal(target_state(world, 8080), -1);
	test_change_task(world->server, "default", id, be_healthy);
	settle(world);
	assert_int_equal(facts_of(world, id).last, TASK_ACTIVATING);
	assert_int_equal(target_state(world, 8080), ELB_TARGET_INITIAL);
	plane(world, 8080, ELB_TARGET_HEALTHY);
	assert_int_equal(facts_of(world, id).last, TASK_RUNNING);
	assert_true(instance_is_healthy(world, id));
	test_change_task(world->server, "default", id, be_unhealthy);
	assert_false(instance_is_healthy(world, id));
	test_change_task(world->server, "default", id, be_healthy);
	assert_true(instance_is_healthy(world, id));
	/* Updates of a client count until the task's own checks report a change. */
	test_call_to(world->server, &cloudmap_service, "UpdateInstanceCustomHealthStatus",
		"{'ServiceId':'%s','InstanceId':'%s','Status':'UNHEALTHY'}",
		world->registry_key + strlen(SCOPE), id);
	wait_ms(world, 31000);
	test_change_task(world->server, "default", id, be_healthy);
	assert_false(instance_is_healthy(world, id));
}

static int stop_at_once(struct store_transaction *transaction, void *context, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);

	return task_want_stopped_at_once(transaction,
		store_get(store_head(transaction), &task_kind,
			arena_format(arena, CLUSTER "/%s", (const char *)context)),
		"UserInitiated", SPAN("now"), TEST_SERVER_NOW_MS, arena, err);
}

static void a_task_can_be_stopped_at_once(void **state)
{
	struct world *world = *state;
	char id[TEST_ID_SIZE];

	create_running(world, id);
	test_call(world->server, "StopTask", "{'task':'%s','reason':'first'}", id);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEAVING);
	assert_int_equal(store_write_wait(world->server->store, stop_at_once, id, NULL, NULL), 0);
	assert_int_equal(facts_of(world, id).traffic, TASK_TRAFFIC_LEFT);
	assert_int_equal(target_state(world, 32768), -1);
	test_call(world->server, "DescribeTasks", "{'tasks':['%s']}", id);
	assert_string_equal(test_item(world->server, "tasks", 0, "stoppedReason"), "first");
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(a_task_that_runs_is_registered),
		WITH_WORLD(tasks_with_ports_of_their_own_are_registered_there),
		WITH_WORLD(a_deployment_waits_for_load_balancers),
		WITH_WORLD(the_end_of_a_task_waits_for_its_traffic),
		WITH_WORLD(holds_task_that_client_registered),
		WITH_WORLD(keeps_last_instance_that_client_registered),
		WITH_WORLD(removes_last_instance_after_a_time),
		WITH_WORLD(removes_last_instance_that_is_not_replaced),
		WITH_WORLD(holds_task_that_client_deregistered),
		WITH_WORLD(stops_at_once_when_ttl_has_passed),
		WITH_WORLD(removes_client_registration_of_ended_task),
		WITH_WORLD(a_connection_is_waited_for_longer_than_a_name),
		WITH_WORLD(patience_ends),
		WITH_WORLD(a_task_that_dies_is_taken_out_at_once),
		WITH_WORLD(a_task_that_was_never_registered_stops_at_once),
		WITH_WORLD(what_is_unhealthy_to_a_load_balancer_is_replaced),
		WITH_WORLD(a_version_that_never_becomes_healthy_is_rolled_back),
		WITH_WORLD(a_group_that_is_gone_fails_the_task),
		WITH_WORLD(events_count),
		WITH_WORLD(what_is_taken_out_stays_out),
		WITH_WORLD(health_is_waited_for_and_reported),
		WITH_WORLD(a_task_can_be_stopped_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
