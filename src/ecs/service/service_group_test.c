/* Groups of services and task sets, and tasks of groups that become tasks of services. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ecs/definition/task_definition.h"
#include "ecs/service/service_group.h"
#include "ecs/task/task_edit.h"
#include "ecs/test_server.h"
#include "ecs/test_tasks.h"
#include "ecs/test_traffic.h"

#define SCOPE "123456789012/eu-west-1/"
#define CLUSTER SCOPE "default"
#define HOST "there"

struct rig {
	struct test_server *server;
	char target_group[TEST_ARN_SIZE], registry[TEST_ARN_SIZE];
	unsigned tokens;
	struct arena *arena;
};

static void define(struct rig *rig, const char *family, const char *more)
{
	test_call(rig->server, "RegisterTaskDefinition",
		"{'family':'%s','containerDefinitions':[{'name':'app','image':'host','memory':64,"
		"'portMappings':[{'containerPort':80}]%s}]}",
		family, more);
}

static int setup(void **state)
{
	struct rig *rig = memory_allocate(sizeof(*rig));

	rig->server = test_server_new();
	rig->arena = arena_new(0);
	test_call(rig->server, "CreateCluster", "{}");
	define(rig, "app", "");
	define(rig, "checked", ",'healthCheck':{'command':['CMD','true']}");
	test_target_group(rig->server, rig->target_group);
	test_registry(rig->server, rig->registry);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	test_server_free(rig->server);
	arena_free(rig->arena);
	free(rig);
	return 0;
}

/* ---- making groups ---- */

/* The result lives as long as the rig. */
static int make(struct rig *rig, const char *id, struct runtime_group *ret_group,
	int64_t *ret_again_ms, struct err *err)
{
	_view_ struct store_view *view = store_view_open(rig->server->store);
	struct service_group_spec request = {.view = view,
		.arena = rig->arena,
		.id = arena_format(rig->arena, CLUSTER "/%s", id),
		.now_ms = clock_wall_ms(&rig->server->clock.clock)};

	*ret_again_ms = 0;
	return service_group_make(&request, ret_group, ret_again_ms, err);
}

static struct runtime_group make_good(struct rig *rig, const char *id)
{
	struct runtime_group group = {0};
	struct err err = {0};
	int64_t again_ms;

	if (make(rig, id, &group, &again_ms, &err) < 0)
		fail_msg("%s: %s", id, err.message);
	return group;
}

static void make_fails(struct rig *rig, const char *id, int wanted, const char *words)
{
	struct runtime_group group;
	struct err err = {0};
	int64_t again_ms;
	int code = make(rig, id, &group, &again_ms, &err);

	if (code != wanted || !strstr(err.message, words))
		fail_msg("%s: %d '%s' instead of %d '%s'", id, code, err.message, wanted, words);
}

/* The number behind "ecs-svc/" of the service's PRIMARY deployment. */
static struct span primary_number(struct rig *rig, const char *service)
{
	_view_ struct store_view *view = store_view_open(rig->server->store);
	const struct store_object *primary =
		service_primary_deployment(view, arena_format(rig->arena, CLUSTER "/%s", service));

	assert_non_null(primary);
	return arena_copy_span(rig->arena, service_deployment_facts(primary)->number);
}

static void assert_version(struct rig *rig, struct span version, struct span number)
{
	struct span wanted =
		arena_format(rig->arena, SERVICE_DEPLOYMENT_PREFIX "%.*s", SPAN_ARGS(number));

	assert_string_equal(arena_copy_span(rig->arena, version).data, wanted.data);
}

/* ---- groups of services ---- */

static void services_become_groups(void **state)
{
	static const struct {
		const char *more; /* of CreateService; GROUP and NAME stand for traffic */
		bool balanced, named;
		bool daemon;
		int64_t desired, minimum, maximum;
		int64_t hold_seconds;   /* gated if not 0 */
		int64_t settle_seconds; /* 0: 1 */
	} cases[] = {
		{.more = ",'desiredCount':3", .desired = 3, .minimum = 100, .maximum = 200},
		{.more = ",'desiredCount':0", .desired = 0, .minimum = 100, .maximum = 200},
		{.more = ",'desiredCount':1,'deploymentConfiguration':{'deploymentCircuitBreaker':"
			 "{'enable':true,'rollback':false}}",
			.desired = 1,
			.minimum = 100,
			.maximum = 200,
			.settle_seconds = 10},
		{.more = ",'desiredCount':4,'deploymentConfiguration':{'minimumHealthyPercent':50,"
			 "'maximumPercent':150}",
			.desired = 4,
			.minimum = 50,
			.maximum = 150},
		{.more = ",'schedulingStrategy':'DAEMON'",
			.daemon = true,
			.minimum = 0,
			.maximum = 100},
		{.more = ",'schedulingStrategy':'DAEMON','deploymentConfiguration':"
			 "{'minimumHealthyPercent':75,'maximumPercent':100}",
			.daemon = true,
			.minimum = 75,
			.maximum = 100},
		{.more = ",'desiredCount':1",
			.balanced = true,
			.desired = 1,
			.minimum = 100,
			.maximum = 200,
			.hold_seconds = 300},
		{.more = ",'desiredCount':1",
			.named = true,
			.desired = 1,
			.minimum = 100,
			.maximum = 200,
			/* A client that resolves the name at the last moment connects a second
			 * later. */
			.hold_seconds = TEST_TTL_SECONDS + 1},
		{.more = ",'desiredCount':1",
			.balanced = true,
			.named = true,
			.desired = 1,
			.minimum = 100,
			.maximum = 200,
			.hold_seconds = 300},
	};
	struct rig *rig = *state;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		char name[16], balancers[320] = "", registries[320] = "";
		struct runtime_group group;

		snprintf(name, sizeof(name), "s%zu", i);
		if (cases[i].balanced)
			snprintf(balancers, sizeof(balancers),
				",'loadBalancers':[{'targetGroupArn':'%s','containerName':'app',"
				"'containerPort':80}]",
				rig->target_group);
		if (cases[i].named)
			snprintf(registries, sizeof(registries),
				",'serviceRegistries':[{'registryArn':'%s','containerName':'app',"
				"'containerPort':80}]",
				rig->registry);
		test_call(rig->server, "CreateService",
			"{'serviceName':'%s','taskDefinition':'app'%s%s%s}", name, cases[i].more,
			balancers, registries);
		group = make_good(rig, name);
		print_message("# %s: %s\n", name, cases[i].more);
		assert_version(rig, group.version, primary_number(rig, name));
		assert_int_equal(group.daemon, cases[i].daemon);
		if (!group.daemon)
			assert_int_equal(group.desired, cases[i].desired);
		assert_int_equal(group.minimum_healthy, cases[i].minimum);
		assert_int_equal(group.maximum, cases[i].maximum);
		assert_int_equal(json_get_bool(group.spec, "gated", false),
			cases[i].hold_seconds > 0);
		assert_int_equal(json_get_integer(group.spec, "holdSeconds", 0),
			cases[i].hold_seconds);
		/* Load balancers check its health; a name does not. */
		assert_int_equal(group.settle_seconds, cases[i].balanced ? 0
						       : cases[i].settle_seconds
							       ? cases[i].settle_seconds
							       : 1);
		assert_null(json_get(group.spec, "arn"));
		assert_true(span_is(json_get_text(group.spec, "family"), "app"));
	}
}

/* The same version is always the same spec; a new deployment is another version. */
static void a_deployment_is_a_version(void **state)
{
	struct rig *rig = *state;
	struct runtime_group first, again, next;

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'app','desiredCount':2}");
	first = make_good(rig, "web");
	test_call(rig->server, "UpdateService", "{'service':'web','desiredCount':5}");
	again = make_good(rig, "web");
	assert_true(span_equal(first.version, again.version));
	assert_true(json_equal(first.spec, again.spec));
	assert_int_equal(again.desired, 5);
	test_call(rig->server, "UpdateService", "{'service':'web','taskDefinition':'checked'}");
	next = make_good(rig, "web");
	assert_false(span_equal(first.version, next.version));
	assert_version(rig, next.version, primary_number(rig, "web"));
	assert_true(span_is(json_get_text(next.spec, "family"), "checked"));
}

static void task_sets_are_groups_of_their_own(void **state)
{
	struct rig *rig = *state;
	char set[TEST_ID_SIZE], id[96];
	struct runtime_group group;

	test_call(rig->server, "CreateService",
		"{'serviceName':'shop','desiredCount':6,"
		"'deploymentController':{'type':'EXTERNAL'}}");
	make_fails(rig, "shop", -ENOENT, "");
	make_fails(rig, "shop/123", -ENOENT, "there is no task set ecs-svc/123");
	test_call(rig->server, "CreateTaskSet",
		"{'cluster':'default','service':'shop','taskDefinition':'app',"
		"'scale':{'value':50,'unit':'PERCENT'}}");
	test_id_of(test_text(rig->server, "taskSet.taskSetArn"), set);
	snprintf(set, sizeof(set), "%s", strrchr(test_text(rig->server, "taskSet.id"), '/') + 1);
	snprintf(id, sizeof(id), "shop/%s", set);
	group = make_good(rig, id);
	assert_version(rig, group.version, span_of(set));
	assert_int_equal(group.desired, 3);
	make_fails(rig, "shop", -ENOENT, "");
	/* A service with deployments has no task sets. */
	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'app','desiredCount':1}");
	make_fails(rig, "web/123", -ENOENT, "");
	test_call(rig->server, "DeleteService", "{'service':'shop','force':true}");
	make_fails(rig, id, -ENOENT, "being deleted");
}

static void a_task_set_that_drains_is_no_group(void **state)
{
	struct rig *rig = *state;
	char id[96];

	test_call(rig->server, "CreateService",
		"{'serviceName':'shop','desiredCount':6,"
		"'deploymentController':{'type':'EXTERNAL'}}");
	test_call(rig->server, "CreateTaskSet",
		"{'cluster':'default','service':'shop','taskDefinition':'app',"
		"'scale':{'value':50,'unit':'PERCENT'}}");
	snprintf(id, sizeof(id), "shop/%s", strrchr(test_text(rig->server, "taskSet.id"), '/') + 1);
	test_call(rig->server, "DeleteTaskSet",
		"{'cluster':'default','service':'shop','taskSet':'ecs-svc/%s','force':true}",
		strchr(id, '/') + 1);
	make_fails(rig, id, -ENOENT, "is being deleted");
}

/* ---- errors ---- */

static int delete_definition(struct store_transaction *transaction, void *context, struct err *err)
{
	(void)context;
	return store_delete(transaction, &task_definition_kind, SPAN(SCOPE "app 0000000001"),
		STORE_ANY, err);
}

static void what_is_missing_is_said(void **state)
{
	struct rig *rig = *state;

	make_fails(rig, "missing", -ENOENT, "there is no service");
	test_call(rig->server, "CreateService",
		"{'serviceName':'front','taskDefinition':'app','desiredCount':1,"
		"'loadBalancers':[{'targetGroupArn':'%s','containerName':'app',"
		"'containerPort':80}]}",
		rig->target_group);
	make_good(rig, "front");
	test_delete_target_group(rig->server, rig->target_group);
	make_fails(rig, "front", -EINVAL,
		"was unable to place a task because its target group (target-group");
	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'app','desiredCount':1}");
	assert_int_equal(store_write_wait(rig->server->store, delete_definition, NULL, NULL, NULL),
		0);
	make_fails(rig, "web", -EINVAL,
		"was unable to place a task because its task definition app:1 does not exist.");
	test_call(rig->server, "DeleteService", "{'service':'web','force':true}");
	make_fails(rig, "web", -ENOENT, "");
}

/* ---- tasks ---- */

struct adopting {
	struct rig *rig;
	struct runtime_task seen;
};

static int adopt_one(struct store_transaction *transaction, void *context, struct err *err)
{
	struct adopting *adopting = context;

	return service_group_adopt(transaction, &adopting->seen, SPAN(HOST),
		&adopting->rig->server->random.random, err);
}

static int adopt_as(struct rig *rig, const char *token, const char *group, struct span version,
	struct err *err)
{
	struct adopting adopting = {.rig = rig,
		.seen = {.token = span_of(token),
			.instance = SPAN(""),
			.group = arena_format(rig->arena, CLUSTER "/%s", group),
			.version = version,
			.created_ms = TEST_SERVER_NOW_MS - 77}};

	return store_write_wait(rig->server->store, adopt_one, &adopting, NULL, err);
}

/* A task of the newest version of a service. */
static const char *adopt(struct rig *rig, const char *service)
{
	const char *token = arena_format(rig->arena, "token%u", ++rig->tokens).data;
	struct err err = {0};

	if (adopt_as(rig, token, service, make_good(rig, service).version, &err) < 0)
		fail_msg("%s", err.message);
	return token;
}

static struct task_facts facts_of(struct rig *rig, const char *token)
{
	_view_ struct store_view *view = store_view_open(rig->server->store);
	const struct store_object *task =
		store_get(view, &task_kind, arena_format(rig->arena, CLUSTER "/%s", token));
	struct task_edit edit;

	assert_non_null(task);
	assert_int_equal(task_edit_open(task, rig->arena, &edit, NULL), 0);
	return edit.facts;
}

static size_t count_tasks(struct rig *rig)
{
	_view_ struct store_view *view = store_view_open(rig->server->store);

	return store_count(view, &task_kind, -1, SPAN(CLUSTER "/"), false);
}

static void a_task_of_a_group_is_written_down_once(void **state)
{
	struct rig *rig = *state;
	struct span version;
	struct task_facts facts;
	const struct json *service;

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'checked','desiredCount':1,"
		"'enableECSManagedTags':true,"
		"'loadBalancers':[{'targetGroupArn':'%s','containerName':'app',"
		"'containerPort':80}]}",
		rig->target_group);
	version = make_good(rig, "web").version;
	assert_int_equal(adopt_as(rig, "aaaa", "web", version, NULL), 0);
	facts = facts_of(rig, "aaaa");
	assert_true(span_is(facts.id, "aaaa") && span_is(facts.host, HOST));
	assert_true(span_equal(facts.deployment, version));
	assert_true(span_is(facts.service, "web") && span_is(facts.group, "service:web"));
	assert_int_equal(facts.instance.length, 0);
	assert_int_equal(facts.created_ms, TEST_SERVER_NOW_MS - 77);
	assert_int_equal(facts.desired, TASK_RUNNING);
	assert_int_equal(facts.traffic, TASK_TRAFFIC_WAITING);
	assert_true(facts.checked);
	/* Reported in ECS's text, and counted when there are more. */
	assert_int_equal(adopt_as(rig, "aaaa", "web", version, NULL), 0);
	assert_int_equal(adopt_as(rig, "bbbb", "web", version, NULL), 0);
	assert_int_equal(count_tasks(rig), 2);
	test_call(rig->server, "DescribeServices", "{'services':['web']}");
	service = json_item(json_get(rig->server->answer, "services"), 0);
	assert_int_equal(json_count(json_get(service, "events")), 1);
	assert_true(span_is(json_get_text(json_item(json_get(service, "events"), 0), "message"),
		"(service web) has started 2 tasks."));
	assert_int_equal(json_get_integer(service, "pendingCount", -1), 2);
	/* It has no instance before one was chosen. */
	test_call(rig->server, "DescribeTasks", "{'tasks':['aaaa'],'include':['TAGS']}");
	assert_string_equal(test_item(rig->server, "tasks", 0, "containerInstanceArn"), "");
	assert_string_equal(test_item(rig->server, "tasks", 0, "lastStatus"), "PENDING");
	assert_int_equal(json_count(json_get(json_item(json_get(rig->server->answer, "tasks"), 0),
				 "tags")),
		2);
}

static void tasks_of_older_versions_and_of_sets_too(void **state)
{
	struct rig *rig = *state;
	struct span old;
	struct task_facts facts;
	char id[96];

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'app','desiredCount':1}");
	old = make_good(rig, "web").version;
	test_call(rig->server, "UpdateService", "{'service':'web','taskDefinition':'checked'}");
	assert_int_equal(adopt_as(rig, "aaaa", "web", old, NULL), 0);
	facts = facts_of(rig, "aaaa");
	assert_true(span_is(facts.family, "app") && span_equal(facts.deployment, old));
	test_call(rig->server, "CreateService",
		"{'serviceName':'shop','desiredCount':6,"
		"'deploymentController':{'type':'EXTERNAL'}}");
	test_call(rig->server, "CreateTaskSet",
		"{'cluster':'default','service':'shop','taskDefinition':'app',"
		"'scale':{'value':50,'unit':'PERCENT'}}");
	snprintf(id, sizeof(id), "shop/%s", strrchr(test_text(rig->server, "taskSet.id"), '/') + 1);
	assert_int_equal(adopt_as(rig, "bbbb", id, make_good(rig, id).version, NULL), 0);
	facts = facts_of(rig, "bbbb");
	assert_true(span_is(facts.service, "shop"));
	assert_true(span_ends_with(facts.deployment, span_of(strchr(id, '/') + 1)));
}

static void strangers_are_not_written_down(void **state)
{
	static const struct {
		const char *group, *version;
	} cases[] = {
		{"missing", "ecs-svc/1"},
		{"web", "ecs-svc/1"},
		{"web", "ecs-svc/"},
		{"web", "1"},
		{"web/1", "ecs-svc/1"},
	};
	struct rig *rig = *state;
	struct span version;

	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'app','desiredCount':1,"
		"'loadBalancers':[{'targetGroupArn':'%s','containerName':'app',"
		"'containerPort':80}]}",
		rig->target_group);
	for (size_t i = 0; i < LENGTH(cases); i++)
		assert_int_equal(adopt_as(rig, "aaaa", cases[i].group, span_of(cases[i].version),
					 NULL),
			-ENOENT);
	/* A missing secret may come back: that is no reason to end the task. */
	version = make_good(rig, "web").version;
	test_delete_target_group(rig->server, rig->target_group);
	assert_int_equal(adopt_as(rig, "aaaa", "web", version, NULL), -EINVAL);
	assert_int_equal(count_tasks(rig), 0);
}

/* ---- replicas while some are replaced ---- */

static void drains(struct rig *rig, const char *instance, const char *status)
{
	test_call(rig->server, "UpdateContainerInstancesState",
		"{'containerInstances':['%s'],'status':'%s'}", instance, status);
}

struct placing {
	const char *key;
	struct span instance;
};

static int place_task(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct placing *placing = context;
	struct arena *arena = store_transaction_arena(transaction);
	struct task_edit edit;
	int code = task_edit_open(store_get(store_head(transaction), &task_kind,
					  span_of(placing->key)),
		arena, &edit, err);

	if (code < 0)
		return code;
	edit.facts.instance = placing->instance;
	test_has_run(&edit.facts);
	return task_save(transaction, &edit, err);
}

/* A task of the service that runs on an instance. */
static const char *run_on(struct rig *rig, const char *service, const char *instance)
{
	const char *token = adopt(rig, service);
	struct placing placing = {
		arena_format(rig->arena, CLUSTER "/%s", token).data, span_of(instance)};

	assert_int_equal(store_write_wait(rig->server->store, place_task, &placing, NULL, NULL), 0);
	return token;
}

static void is_unhealthy(struct task_facts *facts)
{
	facts->health = TASK_HEALTH_UNHEALTHY;
}

static void is_healthy(struct task_facts *facts)
{
	facts->health = TASK_HEALTH_HEALTHY;
}

static void is_let_go(struct task_facts *facts)
{
	facts->let_go = true;
}

static void change(struct rig *rig, const char *token, void (*how)(struct task_facts *facts))
{
	test_change_task(rig->server, "default", token, how);
}

static int64_t desired_now(struct rig *rig, int64_t *ret_again_ms)
{
	struct runtime_group group = {0};
	struct err err = {0};

	if (make(rig, "web", &group, ret_again_ms, &err) < 0)
		fail_msg("%s", err.message);
	return group.desired;
}

static void what_moves_is_replaced_before_it_goes(void **state)
{
	static const struct {
		int maximum;
		int64_t desired; /* of 4 tasks of which 3 move */
	} cases[] = {{100, 4}, {125, 5}, {150, 6}, {200, 7}, {1000, 7}};
	struct rig *rig = *state;
	char first[TEST_ID_SIZE], second[TEST_ID_SIZE];
	const char *moving[3];
	int64_t again_ms;

	test_instance(rig->server, "default", 4096, 4096, "", first);
	test_instance(rig->server, "default", 4096, 4096, "", second);
	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'app','desiredCount':4}");
	for (size_t i = 0; i < LENGTH(moving); i++)
		moving[i] = run_on(rig, "web", first);
	run_on(rig, "web", second);
	assert_int_equal(desired_now(rig, &again_ms), 4);
	drains(rig, first, "DRAINING");
	for (size_t i = 0; i < LENGTH(cases); i++) {
		test_call(rig->server, "UpdateService",
			"{'service':'web','deploymentConfiguration':{'minimumHealthyPercent':50,"
			"'maximumPercent':%d}}",
			cases[i].maximum);
		assert_int_equal(desired_now(rig, &again_ms), cases[i].desired);
		assert_int_equal(again_ms, 0);
	}
	/* A stopping task keeps its place until the runtime has let it go, whichever task the
	 * runtime would choose. */
	test_call(rig->server, "StopTask", "{'task':'%s'}", moving[0]);
	assert_int_equal(desired_now(rig, &again_ms), 7);
	change(rig, moving[0], is_let_go);
	assert_int_equal(desired_now(rig, &again_ms), 6);
	change(rig, moving[1], test_has_stopped);
	assert_int_equal(desired_now(rig, &again_ms), 5);
	drains(rig, first, "ACTIVE");
	assert_int_equal(desired_now(rig, &again_ms), 4);
}

static int stop_by_service(struct store_transaction *transaction, void *context, struct err *err)
{
	return task_want_stopped(transaction,
		store_get(store_head(transaction), &task_kind, span_of(context)),
		"ServiceSchedulerInitiated", SPAN("unhealthy"), TEST_SERVER_NOW_MS,
		store_transaction_arena(transaction), err);
}

static void what_is_unhealthy_is_replaced_before_it_goes(void **state)
{
	struct rig *rig = *state;
	char instance[TEST_ID_SIZE];
	const char *first, *second;
	int64_t again_ms;

	test_instance(rig->server, "default", 4096, 4096, "", instance);
	test_call(rig->server, "CreateService",
		"{'serviceName':'web','taskDefinition':'checked','desiredCount':2,"
		"'healthCheckGracePeriodSeconds':60,'loadBalancers':[{'targetGroupArn':'%s',"
		"'containerName':'app','containerPort':80}]}",
		rig->target_group);
	first = run_on(rig, "web", instance);
	second = run_on(rig, "web", instance);
	change(rig, second, is_healthy);
	assert_int_equal(desired_now(rig, &again_ms), 2);
	/* It gets its grace period. */
	change(rig, first, is_unhealthy);
	assert_int_equal(desired_now(rig, &again_ms), 2);
	assert_int_equal(again_ms, TEST_SERVER_NOW_MS + 60000);
	clock_manual_advance_ms(&rig->server->clock, 60000);
	assert_int_equal(desired_now(rig, &again_ms), 3);
	assert_int_equal(again_ms, 0);
	/* Replaced, and requested to stop: it still keeps its place. */
	assert_int_equal(store_write_wait(rig->server->store, stop_by_service,
				 (void *)arena_format(rig->arena, CLUSTER "/%s", first).data, NULL,
				 NULL),
		0);
	assert_int_equal(desired_now(rig, &again_ms), 3);
	change(rig, first, is_let_go);
	assert_int_equal(desired_now(rig, &again_ms), 2);
	/* A task that a client stops is not replaced first. */
	test_call(rig->server, "StopTask", "{'task':'%s'}", second);
	assert_int_equal(desired_now(rig, &again_ms), 2);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(services_become_groups),
		TEST(a_deployment_is_a_version),
		TEST(task_sets_are_groups_of_their_own),
		TEST(a_task_set_that_drains_is_no_group),
		TEST(what_is_missing_is_said),
		TEST(a_task_of_a_group_is_written_down_once),
		TEST(tasks_of_older_versions_and_of_sets_too),
		TEST(strangers_are_not_written_down),
		TEST(what_moves_is_replaced_before_it_goes),
		TEST(what_is_unhealthy_is_replaced_before_it_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
