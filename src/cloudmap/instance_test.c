/* Instances: what ECS does with them in its transactions, and health that changes with time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cloudmap/test_server.h"

#define ATTRIBUTES "{\"AWS_INSTANCE_IPV4\":\"192.0.2.7\",\"AWS_INSTANCE_PORT\":\"80\"}"
#define SECOND_MS INT64_C(1000)

/* ---- ECS ---- */

enum step { REGISTER, DEREGISTER, SAY_HEALTHY, SAY_UNHEALTHY };

struct act {
	enum step step;
	const char *service_id, *instance_id, *attributes;
	int64_t now_ms;
	int64_t remembered_ms;
	char message[ERR_MESSAGE_MAX];
};

static int write_act(struct store_transaction *transaction, void *context, struct err *err)
{
	struct act *act = context;
	struct arena *arena = store_transaction_arena(transaction);
	struct span key = arena_format(arena, TEST_SCOPE "%s", act->service_id);
	struct span id = span_of(act->instance_id);
	struct json *attributes;

	switch (act->step) {
	case REGISTER:
		assert_int_equal(json_parse(span_of(act->attributes), arena, &attributes, NULL), 0);
		return cloudmap_register(transaction,
			store_get(store_head(transaction), &cloudmap_service_kind, key), id,
			attributes, act->now_ms, arena, err);
	case DEREGISTER:
		return cloudmap_deregister(transaction, key, id, act->now_ms, arena,
			&act->remembered_ms, err);
	default:
		return cloudmap_set_health(transaction, key, id, act->step == SAY_HEALTHY,
			act->now_ms, arena, err);
	}
}

static int do_act(struct test_server *server, struct act *act)
{
	struct err err = {0};
	int code;

	if (act->now_ms == 0)
		act->now_ms = TEST_SERVER_NOW_MS;
	code = store_write_wait(server->store, write_act, act, NULL, &err);
	if (code < 0)
		snprintf(act->message, sizeof(act->message), "%s", err.message);
	return code;
}

static int act(struct test_server *server, enum step step, const char *service,
	const char *instance)
{
	return do_act(server, &(struct act){.step = step,
				      .service_id = service,
				      .instance_id = instance,
				      .attributes = ATTRIBUTES});
}

static int64_t revision_of(struct test_server *server, const char *service)
{
	_view_ struct store_view *view = store_view_open(server->store);
	char key[128];

	snprintf(key, sizeof(key), TEST_SCOPE "%s", service);
	return cloudmap_service_facts(store_get(view, &cloudmap_service_kind, span_of(key)))
		->instances_revision;
}

/* Facts of an instance at a time: "HEALTHY", "UNHEALTHY", "" if it is not there. */
static const char *health(struct test_server *server, const char *service, const char *instance,
	int64_t now_ms)
{
	_view_ struct store_view *view = store_view_open(server->store);
	const struct store_object *found, *owner;
	char key[128];

	snprintf(key, sizeof(key), TEST_SCOPE "%s", service);
	owner = store_get(view, &cloudmap_service_kind, span_of(key));
	snprintf(key, sizeof(key), TEST_SCOPE "%s/%s", service, instance);
	found = store_get(view, &cloudmap_instance_kind, span_of(key));
	if (!found)
		return "";
	return cloudmap_instance_is_healthy(cloudmap_service_facts(owner),
		       cloudmap_instance_facts(found), now_ms)
		       ? "HEALTHY"
		       : "UNHEALTHY";
}

static void a_service_is_found_by_its_arn_in_its_scope(void **state)
{
	static const struct {
		const char *format, *scope;
		bool found;
	} cases[] = {
		{"arn:aws:servicediscovery:eu-west-1:123456789012:service/%s", TEST_SCOPE, true},
		{"arn:aws:servicediscovery:eu-west-1:123456789012:service/%s",
			"123456789012/eu-west-2/", false},
		{"arn:aws:servicediscovery:eu-west-1:123456789013:service/%s", TEST_SCOPE, false},
		{"arn:aws:servicediscovery:eu-west-1:123456789012:namespace/%s", TEST_SCOPE, false},
		{"arn:aws:ecs:eu-west-1:123456789012:service/%s", TEST_SCOPE, false},
		{"arn:aws:servicediscovery:eu-west-1:123456789012:service/%sx", TEST_SCOPE, false},
		{"%s", TEST_SCOPE, false},
	};
	struct test_server *server = *state;
	struct store_view *view;
	char id[32], arn[256];

	test_make_service(server, false, TEST_A_RECORD, id);
	view = store_view_open(server->store);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		snprintf(arn, sizeof(arn), cases[i].format, id);
		assert_int_equal(cloudmap_service_find(view, span_of(cases[i].scope),
					 span_of(arn)) != NULL,
			cases[i].found);
	}
	store_view_close(view);
}

static void ecs_registers_and_takes_out(void **state)
{
	struct test_server *server = *state;
	struct act out = {.step = DEREGISTER, .instance_id = "task"};
	struct act bad = {.step = REGISTER, .instance_id = "bad", .attributes = "{}"};
	int64_t first, second;
	char id[32];

	test_make_service(server, false, TEST_A_RECORD, id);
	out.service_id = bad.service_id = id;
	first = revision_of(server, id);
	assert_int_equal(act(server, REGISTER, id, "task"), 0);
	second = revision_of(server, id);
	assert_true(second > first);
	test_call(server, "GetInstance", "{'ServiceId':'%s','InstanceId':'task'}", id);
	assert_string_equal(test_text(server, "Instance.Attributes.AWS_INSTANCE_IPV4"),
		"192.0.2.7");
	assert_int_equal(do_act(server, &bad), -EINVAL);
	assert_non_null(strstr(bad.message, "AWS_INSTANCE_IPV4"));
	assert_int_equal(revision_of(server, id), second);
	/* The longest TTL of its records is how long it may be remembered. */
	assert_int_equal(do_act(server, &out), 0);
	assert_int_equal(out.remembered_ms, 90000);
	assert_true(revision_of(server, id) > second);
	second = revision_of(server, id);
	out.remembered_ms = -1;
	assert_int_equal(do_act(server, &out), 0);
	assert_int_equal(out.remembered_ms, 0);
	assert_int_equal(revision_of(server, id), second);
	out.service_id = "srv-none";
	assert_int_equal(do_act(server, &out), 0);
}

static void a_full_service_takes_no_more(void **state)
{
	struct test_server *server = *state;
	struct act more = {.step = REGISTER, .instance_id = "more", .attributes = "{}"};
	char id[32], name[32];

	test_make_service(server, true, "", id);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(act(server, REGISTER, id, name), 0);
	}
	more.service_id = id;
	assert_int_equal(do_act(server, &more), -EINVAL);
	assert_non_null(strstr(more.message, "limit"));
	assert_int_equal(act(server, REGISTER, id, "7"), 0);
	test_refused(server, "RegisterInstance", "ResourceLimitExceeded", "1000",
		"{'ServiceId':'%s','InstanceId':'more','Attributes':{}}", id);
	assert_int_equal(act(server, DEREGISTER, id, "7"), 0);
	assert_int_equal(do_act(server, &more), 0);
}

/* ---- health ---- */

static void ecs_says_health_at_once(void **state)
{
	struct test_server *server = *state;
	int64_t revision;
	char id[32];

	test_make_service(server, false, TEST_A_RECORD TEST_CHECKED, id);
	assert_int_equal(act(server, SAY_UNHEALTHY, id, "task"), 0);
	assert_int_equal(act(server, REGISTER, id, "task"), 0);
	revision = revision_of(server, id);
	assert_string_equal(health(server, id, "task", TEST_SERVER_NOW_MS), "HEALTHY");
	assert_int_equal(act(server, SAY_UNHEALTHY, id, "task"), 0);
	assert_string_equal(health(server, id, "task", TEST_SERVER_NOW_MS), "UNHEALTHY");
	assert_int_equal(act(server, SAY_HEALTHY, id, "task"), 0);
	assert_string_equal(health(server, id, "task", INT64_MAX), "HEALTHY");
	assert_int_equal(revision_of(server, id), revision);
	/* Registering anew begins anew. */
	assert_int_equal(act(server, SAY_UNHEALTHY, id, "task"), 0);
	assert_int_equal(act(server, REGISTER, id, "task"), 0);
	assert_string_equal(health(server, id, "task", TEST_SERVER_NOW_MS), "HEALTHY");
}

static void say(struct test_server *server, const char *id, const char *status)
{
	test_call(server, "UpdateInstanceCustomHealthStatus",
		"{'ServiceId':'%s','InstanceId':'task','Status':'%s'}", id, status);
}

static const char *shown(struct test_server *server, const char *id)
{
	test_call(server, "GetInstancesHealthStatus", "{'ServiceId':'%s'}", id);
	return test_text(server, "Status.task");
}

static void clients_say_unhealthy_and_it_counts_after_half_a_minute(void **state)
{
	struct test_server *server = *state;
	char id[32];

	test_make_service(server, false, TEST_A_RECORD TEST_CHECKED, id);
	assert_int_equal(act(server, REGISTER, id, "task"), 0);
	say(server, id, "UNHEALTHY");
	clock_manual_advance_ms(&server->clock, 20 * SECOND_MS);
	assert_string_equal(shown(server, id), "HEALTHY");
	/* Saying it again does not begin again. */
	say(server, id, "UNHEALTHY");
	clock_manual_advance_ms(&server->clock, 10 * SECOND_MS - 1);
	assert_string_equal(shown(server, id), "HEALTHY");
	clock_manual_advance_ms(&server->clock, 1);
	assert_string_equal(shown(server, id), "UNHEALTHY");
	test_call(server, "DiscoverInstances",
		"{'NamespaceName':'test','ServiceName':'web','HealthStatus':'HEALTHY'}");
	assert_int_equal(json_count(json_get(server->answer, "Instances")), 0);
	/* None is healthy: all are given, unless only healthy ones are wanted. */
	test_call(server, "DiscoverInstances", "{'NamespaceName':'test','ServiceName':'web'}");
	assert_int_equal(json_count(json_get(server->answer, "Instances")), 1);
	say(server, id, "HEALTHY");
	assert_string_equal(shown(server, id), "HEALTHY");
	/* HEALTHY within the half minute: nothing has happened. */
	say(server, id, "UNHEALTHY");
	clock_manual_advance_ms(&server->clock, 29 * SECOND_MS);
	say(server, id, "HEALTHY");
	clock_manual_advance_ms(&server->clock, 60 * SECOND_MS);
	assert_string_equal(shown(server, id), "HEALTHY");
	/* A status from ECS takes effect at once, even after a client reported the same. */
	say(server, id, "UNHEALTHY");
	assert_int_equal(do_act(server, &(struct act){.step = SAY_UNHEALTHY,
						.service_id = id,
						.instance_id = "task",
						.now_ms = clock_wall_ms(&server->clock.clock)}),
		0);
	assert_string_equal(shown(server, id), "UNHEALTHY");
}

static void without_checks_all_are_healthy(void **state)
{
	struct test_server *server = *state;
	char id[32];

	test_make_service(server, false, TEST_A_RECORD, id);
	assert_int_equal(act(server, REGISTER, id, "task"), 0);
	assert_int_equal(act(server, SAY_UNHEALTHY, id, "task"), 0);
	assert_string_equal(health(server, id, "task", INT64_MAX), "HEALTHY");
	assert_string_equal(shown(server, id), "UNKNOWN");
}

/* ---- facts ---- */

static void facts_say_what_names_resolve_to(void **state)
{
	struct test_server *server = *state;
	struct store_view *view;
	const struct cloudmap_instance_facts *facts;
	const struct store_object *namespace_;
	char id[32], key[128];

	test_make_service(server, false, TEST_A_RECORD, id);
	test_call(server, "RegisterInstance",
		"{'ServiceId':'%s','InstanceId':'a/"
		"b','Attributes':{'AWS_INSTANCE_IPV4':'192.0.2.1',"
		"'AWS_INSTANCE_IPV6':'2001:db8::1','AWS_INSTANCE_PORT':'8080','SLIPWAY_WEIGHT':'0',"
		"'AWS_INSTANCE_CNAME':'x.example'}}",
		id);
	test_call(server, "RegisterInstance",
		"{'ServiceId':'%s','InstanceId':'c','Attributes':{'AWS_INSTANCE_IPV4':'192.0.2.2',"
		"'AWS_INSTANCE_PORT':'1'}}",
		id);
	view = store_view_open(server->store);
	snprintf(key, sizeof(key), TEST_SCOPE "%s/a/b", id);
	facts = cloudmap_instance_facts(store_get(view, &cloudmap_instance_kind, span_of(key)));
	assert_true(span_is(facts->service_id, id) && span_is(facts->id, "a/b"));
	assert_true(span_is(facts->ipv4, "192.0.2.1") && span_is(facts->ipv6, "2001:db8::1"));
	assert_true(span_is(facts->cname, "x.example"));
	assert_int_equal(facts->port, 8080);
	assert_int_equal(facts->weight, 0);
	snprintf(key, sizeof(key), TEST_SCOPE "%s/c", id);
	facts = cloudmap_instance_facts(store_get(view, &cloudmap_instance_kind, span_of(key)));
	assert_int_equal(facts->weight, 1);
	assert_int_equal(facts->ipv6.length, 0);
	namespace_ = store_next(&(struct store_cursor){.view = view,
		.kind = &cloudmap_namespace_kind,
		.index = CLOUDMAP_NAMESPACE_BY_ZONE,
		.prefix = SPAN("test"),
		.exact = true});
	assert_non_null(namespace_);
	assert_int_equal(cloudmap_namespace_facts(namespace_)->soa_ttl, 15);
	store_view_close(view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_WITH_SERVER(a_service_is_found_by_its_arn_in_its_scope),
		TEST_WITH_SERVER(ecs_registers_and_takes_out),
		TEST_WITH_SERVER(a_full_service_takes_no_more),
		TEST_WITH_SERVER(ecs_says_health_at_once),
		TEST_WITH_SERVER(clients_say_unhealthy_and_it_counts_after_half_a_minute),
		TEST_WITH_SERVER(without_checks_all_are_healthy),
		TEST_WITH_SERVER(facts_say_what_names_resolve_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
