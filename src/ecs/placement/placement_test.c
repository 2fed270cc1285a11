/* Placement: which instance takes a task, which one a strategy prefers, and why none does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ecs/definition/task_definition.h"
#include "ecs/placement/placement.h"
#include "ecs/placement/preemption.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/reservation.h"
#include "ecs/record/service_kind.h"
#include "ecs/task/task_edit.h"
#include "ecs/test_server.h"
#include "store/fact_table.h"

#define CLUSTER "123456789012/eu-west-1/default"

/* ---- a cluster to place into ---- */

/* Registers an instance; its id lives as long as the arena. */
static struct span register_instance(struct test_server *server, struct arena *arena, int cpu,
	int memory, const char *attributes)
{
	struct span id, rest;

	test_call(server, "RegisterContainerInstance",
		"{'totalResources':[{'name':'CPU','type':'INTEGER','integerValue':%d},"
		"{'name':'MEMORY','type':'INTEGER','integerValue':%d},"
		"{'name':'PORTS','type':'STRINGSET','stringSetValue':['22']}],"
		"'attributes':[%s]}",
		cpu, memory, attributes);
	id = json_text(json_path(server->answer, "containerInstance.containerInstanceArn"));
	while (span_split(id, '/', &rest, &id))
		;
	return arena_copy_span(arena, id);
}

struct saving {
	struct task_facts facts;
	int number;
	struct arena *arena;
};

static int save(struct store_transaction *transaction, void *context, struct err *err)
{
	struct saving *saving = context;
	struct task_edit edit = {.arena = saving->arena,
		.key = arena_format(saving->arena, CLUSTER "/task%d", saving->number),
		.facts = saving->facts,
		.document = json_new_object(saving->arena),
		.revision = STORE_ANY};

	return task_save(transaction, &edit, err);
}

/* A task there; the same number again changes it. */
static void put_task(struct test_server *server, int number, struct span instance,
	struct task_facts facts)
{
	_arena_ struct arena *arena = arena_new(0);
	struct saving saving = {.facts = facts, .number = number, .arena = arena};
	struct err err;

	saving.facts.instance = instance;
	if (!facts.family.data)
		saving.facts.family = SPAN("app");
	if (!facts.group.data)
		saving.facts.group = SPAN("family:app");
	if (store_write_wait(server->store, save, &saving, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

static const struct task_facts running = {.desired = TASK_RUNNING, .last = TASK_RUNNING};

/* ---- asking ---- */

struct requested {
	struct test_server *server;
	struct arena *arena;
	struct task_needs needs;
	struct placement_config config;
	struct placement *placement;
	struct placement_failure failure;
};

static struct json *parse(struct arena *arena, const char *text)
{
	struct span copy = arena_copy_span(arena, span_of(text));
	struct json *value;

	for (size_t i = 0; i < copy.length; i++)
		if (copy.data[i] == '\'')
			((char *)copy.data)[i] = '"';
	assert_int_equal(json_parse(copy, arena, &value, NULL), 0);
	return value;
}

static struct requested *ask_new(struct test_server *server, int64_t cpu, int64_t memory)
{
	struct arena *arena = arena_new(0);
	struct requested *requested = arena_allocate(arena, sizeof(*requested));

	*requested = (struct requested){.server = server, .arena = arena};
	requested->needs =
		(struct task_needs){.cpu = cpu, .memory = memory, .network_mode = SPAN("bridge")};
	requested->config = (struct placement_config){.arena = arena,
		.random = &server->random.random,
		.cluster_key = SPAN(CLUSTER),
		.needs = &requested->needs,
		.group = SPAN("family:app"),
		.service = SPAN(""),
		.launch_type = TASK_LAUNCH_EC2};
	return requested;
}

static void ask_free(struct requested *requested)
{
	placement_free(requested->placement);
	arena_free(requested->arena);
}

static void compile(struct requested *requested)
{
	struct err err;

	placement_free(requested->placement);
	requested->placement = NULL;
	if (placement_new(&requested->config, &requested->placement, &err) < 0)
		fail_msg("%s", err.message);
}

/* The id of the chosen instance, "" for none. */
static const char *choose(struct requested *requested)
{
	_view_ struct store_view *view = store_view_open(requested->server->store);
	const struct store_object *chosen;

	if (!requested->placement)
		compile(requested);
	requested->failure = (struct placement_failure){0};
	chosen = placement_choose(requested->placement, view, &requested->failure);
	return chosen ? arena_copy_span(requested->arena, container_instance_facts(chosen)->id).data
		      : "";
}

static void assert_none(struct requested *requested, const char *reason, const char *words)
{
	assert_string_equal(choose(requested), "");
	assert_int_equal(requested->failure.reason.length, strlen(reason));
	assert_memory_equal(requested->failure.reason.data, reason, strlen(reason));
	if (!memmem(requested->failure.event.data, requested->failure.event.length, words,
		    strlen(words)))
		fail_msg("'%s' is not in '%.*s'", words, SPAN_ARGS(requested->failure.event));
}

static void assert_refused(struct requested *requested, const char *words)
{
	struct placement *placement;
	struct err err;

	assert_int_equal(placement_new(&requested->config, &placement, &err), -EINVAL);
	if (!strstr(err.message, words))
		fail_msg("'%s' is not in '%s'", words, err.message);
}

/* ---- room ---- */

static void a_cluster_without_instances(void **state)
{
	struct requested *requested = ask_new(*state, 1, 1);

	test_call(*state, "CreateCluster", "{}");
	assert_none(requested, "No Container Instances were found in your cluster.",
		"Reason: No Container Instances were found in your cluster.");
	assert_null(requested->failure.instance.data);
	ask_free(requested);
}

static void room_is_what_live_tasks_leave(void **state)
{
	struct test_server *server = *state;
	struct requested *requested = ask_new(server, 512, 256);
	struct task_facts facts = running;
	struct span id;

	test_call(server, "CreateCluster", "{}");
	id = register_instance(server, requested->arena, 1024, 512, "");
	assert_string_equal(choose(requested), id.data);
	facts.cpu = 513;
	put_task(server, 1, id, facts);
	assert_none(requested, "RESOURCE:CPU",
		arena_format(requested->arena,
			"The closest matching (container-instance %s) has insufficient CPU units "
			"available.",
			id.data)
			.data);
	assert_string_equal(arena_format(requested->arena, "%.*s",
				    SPAN_ARGS(requested->failure.instance))
				    .data,
		arena_format(requested->arena, CLUSTER "/%s", id.data).data);
	facts.cpu = 512;
	facts.memory = 257;
	put_task(server, 1, id, facts);
	assert_none(requested, "RESOURCE:MEMORY", "has insufficient memory available.");
	facts.memory = 256;
	put_task(server, 1, id, facts);
	assert_string_equal(choose(requested), id.data);
	/* A stopping task holds its resources until it is STOPPED. */
	facts.cpu = 1024;
	facts.desired = TASK_STOPPED;
	facts.last = TASK_STOPPING;
	put_task(server, 1, id, facts);
	assert_none(requested, "RESOURCE:CPU", "CPU");
	facts.last = TASK_STOPPED;
	put_task(server, 1, id, facts);
	assert_string_equal(choose(requested), id.data);
	ask_free(requested);
}

static void host_ports(void **state)
{
	struct test_server *server = *state;
	struct requested *requested = ask_new(server, 1, 1);
	struct task_facts facts = running;
	struct span id;

	test_call(server, "CreateCluster", "{}");
	id = register_instance(server, requested->arena, 1024, 512, "");
	facts.ports = SPAN("8080/udp,80/tcp");
	put_task(server, 1, id, facts);
	requested->needs.port_count = 1;
	requested->needs.ports[0].port = 8080;
	assert_string_equal(choose(requested), id.data);
	requested->needs.ports[0].udp = true;
	assert_none(requested, "RESOURCE:PORTS", "is already using a port required by your task.");
	requested->needs.ports[0].port = 22; /* the agent's own, and tcp */
	assert_string_equal(choose(requested), id.data);
	requested->needs.ports[0].udp = false;
	assert_none(requested, "RESOURCE:PORTS", "port");
	ask_free(requested);
}

static void attributes_and_launch_types(void **state)
{
	struct test_server *server = *state;
	struct requested *requested = ask_new(server, 1, 1);
	struct span plain, special;

	test_call(server, "CreateCluster", "{}");
	plain = register_instance(server, requested->arena, 1024, 512,
		"{'name':'ecs.capability.x-long'},{'name':'zone','value':'a\\\\b'}");
	requested->needs.attributes = parse(requested->arena, "[{'name':'ecs.capability.x'}]");
	assert_none(requested, "ATTRIBUTE", "is missing an attribute required by your task.");
	requested->needs.attributes =
		parse(requested->arena, "[{'name':'ecs.capability.x-long'},{'name':'zone',"
					"'value':'a\\\\b'}]");
	compile(requested);
	assert_string_equal(choose(requested), plain.data);
	requested->needs.attributes = parse(requested->arena, "[{'name':'zone','value':'a'}]");
	compile(requested);
	assert_none(requested, "ATTRIBUTE", "attribute");
	special = register_instance(server, requested->arena, 1024, 512,
		"{'name':'zone','value':'a'},{'name':'ecs.capability.external'}");
	assert_none(requested, "ATTRIBUTE",
		"attribute"); /* EC2 tasks do not go to external machines */
	requested->config.launch_type = TASK_LAUNCH_EXTERNAL;
	compile(requested);
	assert_string_equal(choose(requested), special.data);
	ask_free(requested);
}

static void draining_and_forced(void **state)
{
	struct test_server *server = *state;
	struct requested *requested = ask_new(server, 1, 1);
	_view_ struct store_view *view = NULL;
	const struct store_object *instance;
	struct span id;

	test_call(server, "CreateCluster", "{}");
	id = register_instance(server, requested->arena, 1024, 512, "");
	test_call(server, "UpdateContainerInstancesState",
		"{'containerInstances':['%s'],'status':'DRAINING'}", id.data);
	assert_none(requested, "No Container Instances were found in your cluster.", "Reason: ");
	view = store_view_open(server->store);
	instance = store_get(view, &container_instance_kind,
		arena_format(requested->arena, CLUSTER "/%s", id.data));
	assert_false(placement_fits(requested->placement, view, instance, false,
		&requested->failure));
	assert_memory_equal(requested->failure.reason.data, "DRAINING", 8);
	assert_true(placement_fits(requested->placement, view, instance, true,
		&requested->failure));
	ask_free(requested);
}

/* ---- constraints ---- */

static void member_of(void **state)
{
	struct test_server *server = *state;
	struct requested *requested = ask_new(server, 1, 1);
	struct task_facts facts = running;
	struct span a, b;

	test_call(server, "CreateCluster", "{}");
	a = register_instance(server, requested->arena, 1024, 512, "{'name':'rack','value':'1'}");
	b = register_instance(server, requested->arena, 1024, 512, "{'name':'rack','value':'2'}");
	requested->config.constraints =
		parse(requested->arena, "[{'type':'memberOf','expression':'attribute:rack == 2'}]");
	assert_string_equal(choose(requested), b.data);
	/* Those of the definition are added. */
	requested->needs.constraints =
		parse(requested->arena, "[{'type':'memberOf','expression':'attribute:rack == 1'}]");
	compile(requested);
	assert_none(requested, "MemberOf placement constraint unsatisfied.",
		"encountered error \"MemberOf placement constraint unsatisfied.\"");
	requested->needs.constraints = NULL;
	requested->config.constraints = parse(requested->arena,
		"[{'type':'memberOf','expression':'task:group == database'}]");
	compile(requested);
	assert_none(requested, "MemberOf placement constraint unsatisfied.", "MemberOf");
	facts.group = SPAN("database");
	put_task(server, 1, a, facts);
	assert_string_equal(choose(requested), a.data);
	requested->config.constraints = parse(requested->arena,
		"[{'type':'memberOf','expression':'runningTasksCount < 1'}]");
	compile(requested);
	assert_string_equal(choose(requested), b.data);
	ask_free(requested);
}

static void distinct_instances(void **state)
{
	struct test_server *server = *state;
	struct requested *requested = ask_new(server, 1, 1);
	struct task_facts facts = running;
	struct span a, b;

	test_call(server, "CreateCluster", "{}");
	a = register_instance(server, requested->arena, 1024, 512, "");
	b = register_instance(server, requested->arena, 1024, 512, "");
	requested->config.constraints = parse(requested->arena, "[{'type':'distinctInstance'}]");
	put_task(server, 1, a, running);
	for (int i = 0; i < 10; i++)
		assert_string_equal(choose(requested), b.data);
	facts.group = SPAN("other");
	put_task(server, 2, b, facts);
	assert_string_equal(choose(requested), b.data);
	put_task(server, 2, b, running);
	assert_none(requested, "DistinctInstance placement constraint unsatisfied.",
		"DistinctInstance");
	/* A task with desired status STOPPED does not count. */
	facts = running;
	facts.desired = TASK_STOPPED;
	put_task(server, 1, a, facts);
	assert_string_equal(choose(requested), a.data);
	/* A service looks at its own tasks. */
	requested->config.service = SPAN("web");
	requested->config.group = SPAN("service:web");
	compile(requested);
	facts = running;
	facts.service = SPAN("web");
	facts.group = SPAN("service:web");
	put_task(server, 3, a, facts);
	assert_string_equal(choose(requested), b.data);
	ask_free(requested);
}

static void wrong_constraints_and_strategies(void **state)
{
	static const struct {
		const char *constraints, *strategy, *words;
	} table[] = {
		{"[{'type':'memberOf'}]", NULL, "needs an expression"},
		{"[{'type':'memberOf','expression':'attribute:x =='}]", NULL, "a value is missing"},
		{"[{'type':'memberOf','expression':'what == 1'}]", NULL, "'what == 1'"},
		{"[{'type':'distinctInstance','expression':'x'}]", NULL, "takes no expression"},
		{"[{'type':'other'}]", NULL, "memberOf or distinctInstance"},
		{"[{},{},{},{},{},{},{},{},{},{},{}]", NULL, "the limit is 10"},
		{NULL, "[{'type':'spread'}]", "instanceId, host or attribute:NAME"},
		{NULL, "[{'type':'spread','field':'attribute:'}]", "attribute:NAME"},
		{NULL, "[{'type':'binpack','field':'disk'}]", "cpu or memory"},
		{NULL, "[{'type':'random','field':'cpu'}]", "takes no field"},
		{NULL, "[{'type':'best'}]", "random, spread or binpack"},
		{NULL, "[{},{},{},{},{},{}]", "the limit is 5"},
	};

	for (size_t i = 0; i < LENGTH(table); i++) {
		struct requested *requested = ask_new(*state, 1, 1);

		if (table[i].constraints)
			requested->config.constraints =
				parse(requested->arena, table[i].constraints);
		if (table[i].strategy)
			requested->config.strategy = parse(requested->arena, table[i].strategy);
		assert_refused(requested, table[i].words);
		ask_free(requested);
	}
}

/* ---- strategies ---- */

static void binpack(void **state)
{
	struct test_server *server = *state;
	struct requested *requested = ask_new(server, 256, 64);
	struct task_facts facts = running;
	struct span a, b;

	test_call(server, "CreateCluster", "{}");
	a = register_instance(server, requested->arena, 1024, 512, "");
	b = register_instance(server, requested->arena, 1024, 512, "");
	facts.cpu = 512;
	facts.memory = 1;
	put_task(server, 1, a, facts);
	facts.cpu = 1;
	facts.memory = 128;
	put_task(server, 2, b, facts);
	requested->config.strategy = parse(requested->arena, "[{'type':'binpack','field':'cpu'}]");
	assert_string_equal(choose(requested), a.data);
	requested->config.strategy =
		parse(requested->arena, "[{'type':'binpack','field':'MEMORY'}]");
	compile(requested);
	assert_string_equal(choose(requested), b.data);
	/* The fullest one that still has room. */
	facts.memory = 500;
	put_task(server, 2, b, facts);
	assert_string_equal(choose(requested), a.data);
	ask_free(requested);
}

/* Places `count` tasks one after the other and counts them per instance. */
static void place_many(struct requested *requested, int first, int count,
	const struct task_facts *facts, const struct span *ids, size_t id_count, int *ret_counts)
{
	memset(ret_counts, 0, id_count * sizeof(*ret_counts));
	for (int i = 0; i < count; i++) {
		const char *id = choose(requested);

		assert_string_not_equal(id, "");
		put_task(requested->server, first + i, span_of(id), *facts);
		for (size_t k = 0; k < id_count; k++)
			ret_counts[k] += span_is(ids[k], id);
	}
}

static void services_are_balanced_by_themselves(void **state)
{
	struct test_server *server = *state;
	struct requested *requested = ask_new(server, 1, 1);
	struct task_facts facts = running;
	struct span ids[5];
	int counts[5];

	test_call(server, "CreateCluster", "{}");
	/* Zone a has one instance, zone b four. */
	for (int i = 0; i < 5; i++)
		ids[i] = register_instance(server, requested->arena, 1024, 512,
			i == 0 ? "{'name':'ecs.availability-zone','value':'a'}"
			       : "{'name':'ecs.availability-zone','value':'b'}");
	requested->config.service = SPAN("web");
	requested->config.group = SPAN("service:web");
	facts.service = SPAN("web");
	facts.group = SPAN("service:web");
	place_many(requested, 100, 16, &facts, ids, 5, counts);
	assert_int_equal(counts[0], 8);
	for (int i = 1; i < 5; i++)
		assert_int_equal(counts[i], 2);
	/* Tasks of others do not count. */
	requested->config.service = SPAN("api");
	facts.service = SPAN("api");
	compile(requested);
	place_many(requested, 200, 2, &facts, ids, 5, counts);
	assert_int_equal(counts[0], 1);
	ask_free(requested);
}

static void spread_over_hosts_then_binpack(void **state)
{
	struct test_server *server = *state;
	struct requested *requested = ask_new(server, 100, 1);
	struct task_facts facts = running;
	struct span ids[3];
	int counts[3];

	test_call(server, "CreateCluster", "{}");
	for (int i = 0; i < 3; i++)
		ids[i] = register_instance(server, requested->arena, 1000 + 100 * i, 512, "");
	requested->config.strategy = parse(requested->arena,
		"[{'type':'spread','field':'host'},{'type':'binpack','field':'cpu'}]");
	facts.cpu = 100;
	/* All are equal in tasks: the smallest one first. */
	assert_string_equal(choose(requested), ids[0].data);
	place_many(requested, 1, 9, &facts, ids, 3, counts);
	for (int i = 0; i < 3; i++)
		assert_int_equal(counts[i], 3);
	/* When the one that a strategy prefers is full, the next one takes it. */
	facts.cpu = 700;
	put_task(server, 50, ids[0], facts);
	facts.cpu = 100;
	place_many(requested, 60, 2, &facts, ids, 3, counts);
	assert_int_equal(counts[0], 0);
	ask_free(requested);
}

static void chance_reaches_everybody(void **state)
{
	struct test_server *server = *state;
	struct requested *requested = ask_new(server, 1, 1);
	struct span ids[100];
	int counts[100] = {0}, missed = 0;

	test_call(server, "CreateCluster", "{}");
	for (size_t i = 0; i < LENGTH(ids); i++)
		ids[i] = register_instance(server, requested->arena, 1024, 512, "");
	for (int i = 0; i < 5000; i++) {
		const char *id = choose(requested);

		for (size_t k = 0; k < LENGTH(ids); k++)
			counts[k] += span_is(ids[k], id);
	}
	for (size_t k = 0; k < LENGTH(ids); k++)
		missed += counts[k] == 0 || counts[k] > 300;
	assert_int_equal(missed, 0);
	/* One instance among many is found. */
	for (size_t k = 0; k < LENGTH(ids); k++) {
		struct task_facts facts = running;

		facts.cpu = k == 77 ? 1023 : 1024;
		put_task(server, (int)k, ids[k], facts);
	}
	for (int i = 0; i < 20; i++)
		assert_string_equal(choose(requested), ids[77].data);
	ask_free(requested);
}

/* ---- daemons first ---- */

struct daemon {
	struct arena *arena;
	const char *constraints;
	int64_t failed; /* tasks of its deployment */
};

static int put_daemon(struct store_transaction *transaction, void *context, struct err *err)
{
	struct daemon *daemon = context;
	struct arena *arena = daemon->arena;
	struct service_facts service = {.status = SERVICE_ACTIVE,
		.strategy = SERVICE_DAEMON,
		.launch_type = SPAN("EC2"),
		.reported = SPAN("")};
	struct service_deployment_facts deployment = {.family = SPAN("watch"),
		.revision = 1,
		.service_revision = SPAN(""),
		.source = SPAN(""),
		.status = DEPLOYMENT_PRIMARY,
		.failed = daemon->failed};
	struct json *document = json_new_object(arena);
	int code;

	json_set(arena, document, "placementConstraints", parse(arena, daemon->constraints));
	code = service_object_put(transaction, &service_kind, SPAN(CLUSTER "/watch"), document,
		&service, NULL, STORE_ANY, arena, err);
	if (code == 0)
		code = service_object_put(transaction, &service_deployment_kind,
			SPAN(CLUSTER "/watch/1234567890123456789"), json_new_object(arena),
			&deployment, NULL, STORE_ANY, arena, err);
	return code;
}

static void daemons_come_first(void **state)
{
	struct test_server *server = *state;
	struct requested *requested = ask_new(server, 1, 1);
	struct daemon daemon = {.arena = requested->arena,
		.constraints = "[{'type':'memberOf','expression':'attribute:watched exists'}]"};
	struct task_facts facts = running;
	struct span a, b, small;
	struct err err;

	test_call(server, "CreateCluster", "{}");
	test_call(server, "RegisterTaskDefinition",
		"{'family':'watch','containerDefinitions':[{'name':'w','image':'host','cpu':100,"
		"'memory':64}]}");
	a = register_instance(server, requested->arena, 1024, 512, "{'name':'watched'}");
	if (store_write_wait(server->store, put_daemon, &daemon, NULL, &err) < 0)
		fail_msg("%s", err.message);
	assert_none(requested, "DAEMON", "does not run all of its daemons yet");
	/* An instance that it does not match, and one that could never hold it, take tasks. */
	b = register_instance(server, requested->arena, 1024, 512, "");
	assert_string_equal(choose(requested), b.data);
	test_call(server, "DeregisterContainerInstance", "{'containerInstance':'%s'}", b.data);
	small = register_instance(server, requested->arena, 50, 512, "{'name':'watched'}");
	assert_string_equal(choose(requested), small.data);
	test_call(server, "DeregisterContainerInstance", "{'containerInstance':'%s'}", small.data);
	/* Starting is not running. */
	facts.service = SPAN("watch");
	facts.daemon = true;
	facts.last = TASK_PENDING;
	put_task(server, 1, a, facts);
	assert_none(requested, "DAEMON", "daemon");
	facts.last = TASK_RUNNING;
	put_task(server, 1, a, facts);
	assert_string_equal(choose(requested), a.data);
	/* A daemon that has run there, and is being replaced, blocks no task. */
	facts.desired = TASK_STOPPED;
	put_task(server, 1, a, facts);
	assert_string_equal(choose(requested), a.data);
	facts.last = TASK_STOPPED;
	facts.started_ms = 1;
	put_task(server, 1, a, facts);
	assert_string_equal(choose(requested), a.data);
	facts.started_ms = 0;
	put_task(server, 1, a, facts);
	assert_none(requested, "DAEMON", "daemon");
	/* Another revision asks of other instances: what was compiled is made anew. */
	daemon.constraints = "[{'type':'memberOf','expression':'attribute:other exists'}]";
	if (store_write_wait(server->store, put_daemon, &daemon, NULL, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(choose(requested), a.data);
	daemon.constraints = "[]";
	if (store_write_wait(server->store, put_daemon, &daemon, NULL, &err) < 0)
		fail_msg("%s", err.message);
	assert_none(requested, "DAEMON", "daemon");
	/* Tasks of the daemon fail: no task waits for it, but its room stays reserved. */
	daemon.failed = 1;
	if (store_write_wait(server->store, put_daemon, &daemon, NULL, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(choose(requested), a.data);
	facts = running;
	facts.memory = 512 - 64;
	put_task(server, 2, a, facts);
	assert_none(requested, "RESOURCE:MEMORY", "memory");
	facts.memory = 512 - 64 + 1;
	put_task(server, 2, a, facts);
	assert_string_equal(choose(requested), a.data);
	/* No task waits for a daemon that finds no room. */
	daemon.failed = 0;
	if (store_write_wait(server->store, put_daemon, &daemon, NULL, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(choose(requested), a.data);
	facts.memory = 512 - 64;
	put_task(server, 2, a, facts);
	assert_none(requested, "DAEMON", "daemon");
	/* The daemon itself does not wait for itself. */
	requested->config.daemon = true;
	compile(requested);
	assert_string_equal(choose(requested), a.data);
	ask_free(requested);
}

static int put_reservation(struct store_transaction *transaction, void *context, struct err *err)
{
	return reservation_put(transaction, SPAN(CLUSTER "/env:watch"), context, err);
}

static void reserve(struct test_server *server, const struct reservation_facts *facts)
{
	struct reservation_facts copy = *facts;
	struct err err;

	if (store_write_wait(server->store, put_reservation, &copy, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

static int64_t active_since(struct test_server *server, struct span id)
{
	_view_ struct store_view *view = store_view_open(server->store);
	_arena_ struct arena *arena = arena_new(0);

	return container_instance_facts(store_get(view, &container_instance_kind,
						arena_format(arena, CLUSTER "/%s", id.data)))
		->registered_ms;
}

static void reservations_come_first(void **state)
{
	struct test_server *server = *state;
	struct requested *requested = ask_new(server, 1, 1);
	struct reservation_facts reservation = {.family = SPAN("watch"),
		.revision = 1,
		.attributes = SPAN(";watched;rack=r1;"),
		.since_ms = 1};
	struct task_facts facts = running;
	struct span a, b;

	test_call(server, "CreateCluster", "{}");
	test_call(server, "RegisterTaskDefinition",
		"{'family':'watch','containerDefinitions':[{'name':'w','image':'host','cpu':100,"
		"'memory':64}]}");
	a = register_instance(server, requested->arena, 1024, 512,
		"{'name':'watched'},{'name':'rack','value':'r1'}");
	reserve(server, &reservation);
	requested->config.now_ms = active_since(server, a);
	assert_none(requested, "DAEMON", "does not run all of its daemons yet");
	/* An instance that lacks one of its attributes takes tasks. */
	b = register_instance(server, requested->arena, 1024, 512,
		"{'name':'watched'},{'name':'rack','value':'r2'}");
	assert_string_equal(choose(requested), b.data);
	test_call(server, "DeregisterContainerInstance", "{'containerInstance':'%s'}", b.data);
	/* A task that another client started with the same definition does not count. */
	facts.group = SPAN("family:watch");
	put_task(server, 1, a, facts);
	assert_none(requested, "DAEMON", "daemon");
	facts.group = SPAN("env:watch");
	facts.last = TASK_PENDING;
	put_task(server, 1, a, facts);
	assert_none(requested, "DAEMON", "daemon");
	facts.last = TASK_RUNNING;
	put_task(server, 1, a, facts);
	assert_string_equal(choose(requested), a.data);
	/* The wait ends, but the room is kept: of 512 there are 448 left, 64 less than free. */
	facts.group = SPAN("family:watch");
	facts.memory = 1;
	facts.cpu = 0;
	put_task(server, 1, a, facts);
	requested->needs.memory = 512 - 64 - 1;
	requested->config.now_ms += RESERVATION_WAIT_MS - 1;
	compile(requested);
	assert_none(requested, "DAEMON", "daemon");
	requested->config.now_ms += 1;
	compile(requested);
	assert_string_equal(choose(requested), a.data);
	requested->needs.memory++;
	compile(requested);
	assert_none(requested, "RESOURCE:MEMORY", "memory");
	/* A reservation that was created later has its own wait. */
	reservation.since_ms = requested->config.now_ms;
	reserve(server, &reservation);
	assert_none(requested, "DAEMON", "daemon");
	/* The current attributes count. */
	reservation.attributes = SPAN(";other;");
	reserve(server, &reservation);
	assert_string_equal(choose(requested), a.data);
	ask_free(requested);
}

/* ---- preemption ---- */

/* The ids of the preempted tasks, joined by spaces. */
static const char *leaving(struct requested *requested, struct span instance, int64_t now_ms)
{
	_view_ struct store_view *view = store_view_open(requested->server->store);
	struct span joined = SPAN(""), *ids;
	size_t count = preemption_choose(view, SPAN(CLUSTER "/env:watch"),
		arena_format(requested->arena, CLUSTER "/%s", instance.data), now_ms,
		requested->arena, &ids);

	for (size_t i = 0; i < count; i++)
		joined = arena_format(requested->arena, "%.*s%s%.*s", SPAN_ARGS(joined),
			i > 0 ? " " : "", SPAN_ARGS(ids[i]));
	return arena_format(requested->arena, "%.*s", SPAN_ARGS(joined)).data;
}

static void priority_makes_room(void **state)
{
	struct test_server *server = *state;
	struct requested *requested = ask_new(server, 1, 1);
	struct reservation_facts reservation = {
		.family = SPAN("watch"), .revision = 1, .attributes = SPAN(""), .since_ms = 1};
	struct task_facts facts = running;
	struct span a;

	test_call(server, "CreateCluster", "{}");
	test_call(server, "RegisterTaskDefinition",
		"{'family':'watch','containerDefinitions':[{'name':'w','image':'host','cpu':100,"
		"'memory':64}]}");
	a = register_instance(server, requested->arena, 1024, 512, "");
	reserve(server, &reservation);
	facts.cpu = 1;
	facts.group = SPAN("family:app");
	for (unsigned i = 1; i <= 5; i++) {
		facts.memory = i == 5 ? 12 : 125; /* all of 512 */
		facts.created_ms = i;
		put_task(server, i, a, facts);
	}
	assert_string_equal(leaving(requested, a, 10), ""); /* it has no priority */
	reservation.priority = 5;
	reserve(server, &reservation);
	/* The newest is too small to help alone; then it does not have to stop. */
	assert_string_equal(leaving(requested, a, 10), "task4");
	/* Protected ones stay. */
	facts.memory = 125;
	facts.created_ms = 4;
	facts.protected_until_ms = 11;
	put_task(server, 4, a, facts);
	assert_string_equal(leaving(requested, a, 10), "task3");
	assert_string_equal(leaving(requested, a, 11), "task4");
	/* A task that is stopping already makes the same room. */
	facts.created_ms = 1;
	facts.protected_until_ms = 0;
	facts.desired = TASK_STOPPED;
	put_task(server, 1, a, facts);
	assert_string_equal(leaving(requested, a, 10), "");
	/* Tasks with the same priority are not preempted; when the rest would not be enough, none
	 * is. */
	facts.desired = TASK_RUNNING;
	facts.group = SPAN("env:watch");
	for (unsigned i = 1; i <= 4; i++) {
		facts.created_ms = i;
		put_task(server, i, a, facts);
	}
	assert_string_equal(leaving(requested, a, 10), "");
	ask_free(requested);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_WITH_SERVER(a_cluster_without_instances),
		TEST_WITH_SERVER(room_is_what_live_tasks_leave),
		TEST_WITH_SERVER(host_ports),
		TEST_WITH_SERVER(attributes_and_launch_types),
		TEST_WITH_SERVER(draining_and_forced),
		TEST_WITH_SERVER(member_of),
		TEST_WITH_SERVER(distinct_instances),
		TEST_WITH_SERVER(wrong_constraints_and_strategies),
		TEST_WITH_SERVER(binpack),
		TEST_WITH_SERVER(services_are_balanced_by_themselves),
		TEST_WITH_SERVER(spread_over_hosts_then_binpack),
		TEST_WITH_SERVER(chance_reaches_everybody),
		TEST_WITH_SERVER(daemons_come_first),
		TEST_WITH_SERVER(reservations_come_first),
		TEST_WITH_SERVER(priority_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
