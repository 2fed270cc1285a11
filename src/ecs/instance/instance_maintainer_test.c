/* The maintainer: instances of the runtime are registered, updated, brought back and deregistered;
 * with a runtime that is a list, on virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "control/runner_simulated.h"
#include "ecs/instance/instance_maintainer.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/service_kind.h"
#include "ecs/record/task.h"
#include "ecs/task/task_edit.h"
#include "ecs/test_server.h"

#define CLUSTER "123456789012/eu-west-1/machines"
#define INSTANCES_MAX 1200

/* ---- a runtime that has instances and nothing else ---- */

struct list_runtime {
	struct runtime runtime;
	size_t count;
	int64_t memory;
	bool fails;
};

static int list_instances(struct runtime *runtime, struct arena *arena,
	struct runtime_instance **ret_instances, size_t *ret_count, struct err *err)
{
	struct list_runtime *self = (struct list_runtime *)runtime;
	struct json *attributes = json_new_array(arena), *attribute = json_new_object(arena);

	if (self->fails)
		return err_set(err, -EIO, "not now");
	json_set_string(arena, attribute, "name", SPAN("ecs.os-type"));
	json_set_string(arena, attribute, "value", SPAN("linux"));
	json_append(arena, attributes, attribute);
	*ret_instances = arena_allocate_array(arena, self->count + 1, sizeof(**ret_instances));
	for (size_t i = 0; i < self->count; i++)
		(*ret_instances)[i] =
			(struct runtime_instance){.id = arena_format(arena, "machine-%zu", i),
				.name = SPAN("host"),
				.cpu = 2048,
				.memory = self->memory,
				.address = SPAN("127.0.0.1"),
				.attributes = attributes};
	*ret_count = self->count;
	return 0;
}

static const struct runtime_operations list_operations = {
	.name = "list", .list_instances = list_instances};

struct rig {
	struct runner *runner;
	struct test_server *server;
	struct list_runtime runtime;
	struct instance_maintainer *maintainer;
	unsigned reports;
};

static void count_report(void *context, const char *controller, struct span key,
	const struct err *err)
{
	struct rig *rig = context;

	(void)controller;
	(void)key;
	(void)err;
	rig->reports++;
}

static void begin(struct rig *rig)
{
	struct instance_maintainer_config config = {.runner = rig->runner,
		.store = rig->server->store,
		.random = &rig->server->random.random,
		.runtime = &rig->runtime.runtime,
		.host = SPAN("here"),
		.account = SPAN("123456789012"),
		.region = SPAN("eu-west-1"),
		.cluster = SPAN("machines"),
		.report = count_report,
		.report_context = rig};
	struct err err = {0};

	if (instance_maintainer_start(&config, &rig->maintainer, &err) < 0)
		fail_msg("%s", err.message);
}

static void end(struct rig *rig)
{
	instance_maintainer_stop(TAKE(rig->maintainer));
}

static int rig_setup(void **state)
{
	struct rig *rig = memory_allocate(sizeof(*rig));

	rig->runner = runner_simulated_new(1);
	rig->server = test_server_new_on(runner_clock(rig->runner));
	rig->runtime = (struct list_runtime){
		.runtime = {.operations = &list_operations}, .count = 2, .memory = 512};
	*state = rig;
	return 0;
}

static int rig_teardown(void **state)
{
	struct rig *rig = *state;

	end(rig);
	runner_stop(rig->runner);
	runner_join(rig->runner, NULL);
	test_server_free(rig->server);
	runner_free(rig->runner);
	free(rig);
	return 0;
}

/* Lets virtual time pass. */
static void pass(struct rig *rig)
{
	assert_int_equal(runner_sleep_until(rig->runner,
				 runner_deadline_us(rig->runner, INT64_C(5000000))),
		0);
}

static size_t registered(struct rig *rig, const char *more)
{
	test_call(rig->server, "ListContainerInstances", "{'cluster':'machines'%s}", more);
	return json_count(json_get(rig->server->answer, "containerInstanceArns"));
}

/* The id of the instance for a runtime's id; "" if there is none. Free it. */
static char *id_of(struct rig *rig, const char *runtime)
{
	_view_ struct store_view *view = store_view_open(rig->server->store);
	_arena_ struct arena *arena = arena_new(0);
	struct store_cursor cursor = {.view = view,
		.kind = &container_instance_kind,
		.index = CONTAINER_INSTANCE_BY_RUNTIME,
		.prefix = arena_format(arena, CLUSTER "/here/%s", runtime),
		.exact = true};
	const struct store_object *instance = store_next(&cursor);
	struct span id = instance ? container_instance_facts(instance)->id : SPAN("");

	return memory_copy_string_n(id.data, id.length);
}

struct saving {
	struct task_facts facts;
	struct arena *arena;
};

static int save(struct store_transaction *transaction, void *context, struct err *err)
{
	struct saving *saving = context;
	struct task_edit edit = {.arena = saving->arena,
		.key = SPAN(CLUSTER "/task"),
		.facts = saving->facts,
		.document = json_new_object(saving->arena),
		.revision = STORE_ANY};

	return task_save(transaction, &edit, err);
}

static void put_task(struct rig *rig, const char *instance, enum task_status last)
{
	_arena_ struct arena *arena = arena_new(0);
	struct saving saving = {.arena = arena,
		.facts = {.family = SPAN("app"),
			.group = SPAN("family:app"),
			.instance = span_of(instance),
			.host = SPAN("here"),
			.desired = last < TASK_STOPPED ? TASK_RUNNING : TASK_STOPPED,
			.last = last,
			.cpu = 24}};
	struct err err;

	if (store_write_wait(rig->server->store, save, &saving, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

/* ---- tests ---- */

static void machines_come_into_the_cluster(void **state)
{
	struct rig *rig = *state;
	_free_ char *id = NULL;
	const struct json *shown;

	begin(rig);
	/* The start has registered them when it returns. */
	assert_int_equal(registered(rig, ""), 2);
	id = id_of(rig, "machine-1");
	test_call(rig->server, "DescribeContainerInstances",
		"{'cluster':'machines','containerInstances':['%s'],"
		"'include':['CONTAINER_INSTANCE_HEALTH']}",
		id);
	shown = json_item(json_get(rig->server->answer, "containerInstances"), 0);
	assert_true(span_is(json_get_text(shown, "status"), "ACTIVE"));
	assert_true(json_get_bool(shown, "agentConnected", false));
	assert_true(span_is(json_get_text(json_get(shown, "versionInfo"), "agentVersion"),
		SLIPWAY_VERSION));
	assert_true(span_is(json_get_text(json_get(shown, "healthStatus"), "overallStatus"), "OK"));
	assert_int_equal(json_get_integer(json_item(json_get(shown, "registeredResources"), 1),
				 "integerValue", 0),
		512);
	test_call(rig->server, "ListContainerInstances",
		"{'cluster':'machines','filter':'attribute:ecs.availability-zone == eu-west-1a and "
		"attribute:ecs.os-type == linux and attribute:ecs.capability.task-eni exists'}");
	assert_int_equal(json_count(json_get(rig->server->answer, "containerInstanceArns")), 2);
	/* The cluster was made as a client would have. */
	test_call(rig->server, "CreateCluster", "{'clusterName':'machines'}");
	assert_string_equal(test_text(rig->server, "cluster.status"), "ACTIVE");
	test_refused(rig->server, "UpdateContainerAgent", "NoUpdateAvailableException",
		"run by slipway", "{'cluster':'machines','containerInstance':'%s'}", id);
	test_refused(rig->server, "RegisterContainerInstance", "ClientException",
		"run by this server",
		"{'cluster':'machines','containerInstanceArn':"
		"'arn:aws:ecs:eu-west-1:123456789012:container-instance/machines/%s'}",
		id);
}

static void the_same_after_a_restart(void **state)
{
	struct rig *rig = *state;
	_free_ char *before = NULL, *after = NULL;
	uint64_t revision;

	begin(rig);
	before = id_of(rig, "machine-0");
	test_call(rig->server, "PutAttributes",
		"{'cluster':'machines','attributes':[{'name':'rack','value':'7','targetId':'%s'}]}",
		before);
	test_call(rig->server, "UpdateContainerInstancesState",
		"{'cluster':'machines','containerInstances':['%s'],'status':'DRAINING'}", before);
	end(rig);
	{
		_view_ struct store_view *view = store_view_open(rig->server->store);

		revision = store_view_revision(view);
	}
	begin(rig);
	pass(rig);
	{
		_view_ struct store_view *view = store_view_open(rig->server->store);

		assert_int_equal(store_view_revision(view), revision); /* nothing to write */
	}
	end(rig);
	/* More memory was put in: the same instance, what clients decided about it included. */
	rig->runtime.memory = 1024;
	begin(rig);
	after = id_of(rig, "machine-0");
	assert_string_equal(before, after);
	assert_int_equal(registered(rig, ",'status':'DRAINING','filter':'attribute:rack == 7'"), 1);
	test_call(rig->server, "DescribeContainerInstances",
		"{'cluster':'machines','containerInstances':['%s']}", after);
	assert_int_equal(json_get_integer(json_item(json_get(json_item(json_get(rig->server->answer,
									       "containerInstance"
									       "s"),
								     0),
							    "registeredResources"),
						  1),
				 "integerValue", 0),
		1024);
}

static void what_was_deregistered_comes_back_at_the_next_start(void **state)
{
	struct rig *rig = *state;
	_free_ char *before = NULL, *after = NULL;

	begin(rig);
	before = id_of(rig, "machine-0");
	test_call(rig->server, "DeregisterContainerInstance",
		"{'cluster':'machines','containerInstance':'%s'}", before);
	pass(rig);
	assert_int_equal(registered(rig, ""), 1);
	instance_maintainer_refresh(rig->maintainer);
	pass(rig);
	assert_int_equal(registered(rig, ""), 1);
	end(rig);
	begin(rig);
	assert_int_equal(registered(rig, ""), 2);
	after = id_of(rig, "machine-0");
	assert_string_not_equal(before, after);
}

static int delete_everything(struct store_transaction *transaction, void *context, struct err *err)
{
	(void)context;
	for (size_t i = 0; i < ecs_kind_count; i++)
		for (;;) {
			struct store_cursor cursor = {
				.view = store_head(transaction), .kind = ecs_kinds[i], .index = -1};
			const struct store_object *object = store_next(&cursor);

			if (!object)
				break;
			if (store_delete(transaction, ecs_kinds[i], object->key, STORE_ANY, err) <
				0)
				return -EIO;
		}
	return 0;
}

static void after_a_reset(void **state)
{
	struct rig *rig = *state;
	struct err err;

	begin(rig);
	if (store_write_wait(rig->server->store, delete_everything, NULL, NULL, &err) < 0)
		fail_msg("%s", err.message);
	pass(rig);
	test_refused(rig->server, "ListContainerInstances", "ClusterNotFoundException",
		"Cluster not found.", "{'cluster':'machines'}");
	instance_maintainer_reset(rig->maintainer);
	pass(rig);
	assert_int_equal(registered(rig, ""), 2);
}

static void fewer_machines(void **state)
{
	struct rig *rig = *state;
	_free_ char *gone = NULL, *idle = NULL;

	rig->runtime.count = 3;
	begin(rig);
	gone = id_of(rig, "machine-2");
	put_task(rig, gone, TASK_RUNNING);
	end(rig);
	rig->runtime.count = 1;
	begin(rig);
	pass(rig);
	/* The idle one is gone at once, the other one takes nothing more and waits for its task. */
	idle = id_of(rig, "machine-1");
	assert_string_equal(idle, "");
	assert_int_equal(registered(rig, ",'status':'ACTIVE'"), 1);
	assert_int_equal(registered(rig, ",'status':'DRAINING','filter':'agentConnected == false'"),
		1);
	put_task(rig, gone, TASK_STOPPED);
	pass(rig);
	assert_int_equal(registered(rig, ""), 1);
}

static void one_that_comes_back_in_time(void **state)
{
	struct rig *rig = *state;
	_free_ char *before = NULL, *after = NULL;

	begin(rig);
	before = id_of(rig, "machine-1");
	put_task(rig, before, TASK_RUNNING);
	rig->runtime.count = 1;
	instance_maintainer_refresh(rig->maintainer);
	pass(rig);
	assert_int_equal(registered(rig, ",'status':'DRAINING'"), 1);
	rig->runtime.count = 2;
	instance_maintainer_refresh(rig->maintainer);
	pass(rig);
	after = id_of(rig, "machine-1");
	assert_string_equal(before, after);
	assert_int_equal(registered(rig, ",'status':'ACTIVE','filter':'agentConnected == true'"),
		2);
}

static void a_listing_that_fails_is_not_empty(void **state)
{
	struct rig *rig = *state;

	begin(rig);
	rig->runtime.fails = true;
	instance_maintainer_refresh(rig->maintainer);
	pass(rig);
	assert_true(rig->reports > 0);
	assert_int_equal(registered(rig, ",'status':'ACTIVE'"), 2);
	rig->runtime.fails = false;
	rig->runtime.count = 1;
	pass(rig);
	assert_int_equal(registered(rig, ""), 1);
	/* Nor does it prevent a server from starting. */
	end(rig);
	rig->runtime.fails = true;
	begin(rig);
	rig->runtime.fails = false;
	rig->runtime.count = 2;
	pass(rig);
	assert_int_equal(registered(rig, ""), 2);
}

static void very_many(void **state)
{
	struct rig *rig = *state;

	rig->runtime.count = INSTANCES_MAX;
	begin(rig);
	test_call(rig->server, "DescribeClusters", "{'clusters':['machines']}");
	assert_int_equal(json_get_integer(json_item(json_get(rig->server->answer, "clusters"), 0),
				 "registeredContainerInstancesCount", 0),
		INSTANCES_MAX);
	rig->runtime.count = 1;
	instance_maintainer_refresh(rig->maintainer);
	pass(rig);
	assert_int_equal(registered(rig, ""), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
		TEST(machines_come_into_the_cluster),
		TEST(the_same_after_a_restart),
		TEST(what_was_deregistered_comes_back_at_the_next_start),
		TEST(after_a_reset),
		TEST(fewer_machines),
		TEST(one_that_comes_back_in_time),
		TEST(a_listing_that_fails_is_not_empty),
		TEST(very_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
