/*
 * Traffic of tasks, for unit tests: a target group that a listener uses, a name, and functions that
 * act as the plane that checks targets. Include it behind ecs/test_tasks.h.
 */
#ifndef ECS_TEST_TRAFFIC_H
#define ECS_TEST_TRAFFIC_H

#include "elb/elb.h"

#define TEST_ARN_SIZE 160
#define TEST_TTL_SECONDS 5
#define TEST_TARGETS_MAX 64
#define TEST_LISTENER TEST_ACCOUNT_KEY "/front/0000000000000001"

/* As a listener would be stored: CreateListener would bind a port of this machine. */
static inline int test_put_listener(struct store_transaction *transaction, void *context,
	struct err *err)
{
	const char *group = context;
	struct arena *arena = store_transaction_arena(transaction);

	return store_put(transaction, &elb_listener_kind, SPAN(TEST_LISTENER),
		arena_format(arena,
			"{\"Protocol\":\"TCP\",\"Port\":80,\"DefaultActions\":[{\"Type\":"
			"\"forward\",\"TargetGroupArn\":\"%s\",\"ForwardConfig\":{"
			"\"TargetGroups\":[{\"TargetGroupArn\":\"%s\",\"Weight\":1}]}}]}",
			group, group),
		SPAN("{}"), STORE_ABSENT, err);
}

static inline int test_delete_listener(struct store_transaction *transaction, void *context,
	struct err *err)
{
	(void)context;
	return store_delete(transaction, &elb_listener_kind, SPAN(TEST_LISTENER), STORE_ANY, err);
}

static inline void test_target_group(struct test_server *server, char arn[TEST_ARN_SIZE])
{
	test_call_to(server, &elb_service, "CreateTargetGroup",
		"{'Name':'web','Protocol':'TCP','Port':80,'TargetType':'instance',"
		"'VpcId':'vpc-1'}");
	snprintf(arn, TEST_ARN_SIZE, "%s", test_item(server, "TargetGroups", 0, "TargetGroupArn"));
	assert_int_equal(store_write_wait(server->store, test_put_listener, arn, NULL, NULL), 0);
}

static inline void test_delete_target_group(struct test_server *server, const char *arn)
{
	assert_int_equal(store_write_wait(server->store, test_delete_listener, NULL, NULL, NULL),
		0);
	test_call_to(server, &elb_service, "DeleteTargetGroup", "{'TargetGroupArn':'%s'}", arn);
}

/* A name with SRV records that live for TEST_TTL_SECONDS. */
static inline void test_registry(struct test_server *server, char arn[TEST_ARN_SIZE])
{
	char id[TEST_ID_SIZE];

	test_call_to(server, &cloudmap_service, "CreatePrivateDnsNamespace",
		"{'Name':'test','Vpc':'vpc-1'}");
	test_call_to(server, &cloudmap_service, "ListNamespaces", "{}");
	snprintf(id, sizeof(id), "%s", test_item(server, "Namespaces", 0, "Id"));
	test_call_to(server, &cloudmap_service, "CreateService",
		"{'Name':'web','NamespaceId':'%s',"
		"'DnsConfig':{'DnsRecords':[{'Type':'SRV','TTL':%d}]}}",
		id, TEST_TTL_SECONDS);
	snprintf(arn, TEST_ARN_SIZE, "%s", test_text(server, "Service.Arn"));
}

struct test_tending {
	enum elb_target_state state; /* of targets that do not drain; those that do are deleted */
	int64_t now_ms;
};

static inline int test_tend(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct test_tending *tending = context;
	struct store_cursor cursor = {
		.view = store_head(transaction), .kind = &elb_target_kind, .index = -1};
	const struct store_object *targets[TEST_TARGETS_MAX], *target;
	size_t count = 0;
	int code = 0;

	/* A cursor is invalid after a change. */
	while (count < TEST_TARGETS_MAX && (target = store_next(&cursor)))
		targets[count++] = target;
	for (size_t i = 0; code == 0 && i < count; i++)
		code = elb_target_facts(targets[i])->state == ELB_TARGET_DRAINING
			       ? store_delete(transaction, &elb_target_kind, targets[i]->key,
					 targets[i]->revision, err)
			       : elb_target_set_state(transaction, targets[i], tending->state,
					 tending->state == ELB_TARGET_UNHEALTHY
						 ? PROBE_REASON_FAILED
						 : PROBE_REASON_NONE,
					 0, tending->now_ms, store_transaction_arena(transaction),
					 err);
	return code;
}

/* Finds every target in this state, and completes draining ones. */
static inline void test_tend_targets(struct test_server *server, enum elb_target_state state,
	int64_t now_ms)
{
	struct test_tending tending = {state, now_ms};

	assert_int_equal(store_write_wait(server->store, test_tend, &tending, NULL, NULL), 0);
}

#endif
