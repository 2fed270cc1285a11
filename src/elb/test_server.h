/*
 * ELB for unit tests; aws/test_service.h has the calls, which are in JSON here. There is one instance, i-known, at
 * 127.0.0.9. Include it behind cmocka's header.
 *
 *     test_call(server, "CreateTargetGroup", "{'Name':'%s','Protocol':'HTTP','Port':80}", "web");
 *     test_refused(server, "DeleteTargetGroup", "ValidationError", "ARN", "{'TargetGroupArn':'x'}");
 */
#ifndef ELB_TEST_SERVER_H
#define ELB_TEST_SERVER_H

#include "aws/test_service.h"
#include "elb/elb.h"

static inline struct span test_instance_address(const struct store_view *view, struct span scope,
	struct span instance, struct arena *arena)
{
	(void)view;
	(void)scope;
	(void)arena;
	return span_is(instance, "i-known") ? SPAN("127.0.0.9") : SPAN("");
}

static inline int test_server_setup(void **state)
{
	struct test_server *server = test_server_open((struct store_config){
		.kinds = elb_kinds, .kind_count = elb_kind_count});
	struct elb_context *context = memory_allocate(sizeof(*context));

	*context = (struct elb_context){.domain = SPAN("slipway.internal"),
		.addresses = SPAN("127.192.0.0/16"),
		.instance_address = test_instance_address};
	server->service = &elb_service;
	server->any_error = "ValidationError";
	server->context = context;
	aws_dispatcher_register(server->dispatcher, &elb_service, context);
	*state = server;
	return 0;
}

/* The addresses of load balancers that are created from now on. */
static inline void test_set_addresses(struct test_server *server, struct span addresses)
{
	struct elb_context *context = server->context;

	context->addresses = addresses;
}

/* A call that the caller's policy does not allow. */
__attribute__((format(printf, 3, 4))) static inline void test_denied(struct test_server *server,
	const char *operation, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	test_send_list(server, operation, format, list);
	va_end(list);
	assert_string_equal(server->error_type, "AccessDeniedException");
}

/* The item of a list in the last answer. */
static inline const struct json *test_item(struct test_server *server, const char *list,
	size_t index)
{
	const struct json *item = json_item(json_get(server->answer, list), index);

	if (!item)
		fail_msg("%s has no item %zu", list, index);
	return item;
}

/* The value of an attribute in the last answer. */
static inline const char *test_attribute(struct test_server *server, const char *name)
{
	JSON_EACH_ITEM (json_get(server->answer, "Attributes"), attribute)
		if (span_is(json_get_text(attribute, "Key"), name))
			return test_text_of(server, attribute, "Value");
	return "(none)";
}

/* A write that is no request. */
static inline void test_write(struct test_server *server, store_write_function function,
	void *context)
{
	struct err err = {0};

	if (store_write_wait(server->store, function, context, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

struct test_listener {
	const char *balancer, *id, *group_arn;
};

static inline int test_put_listener(struct store_transaction *transaction, void *context,
	struct err *err)
{
	const struct test_listener *listener = context;
	struct arena *arena = store_transaction_arena(transaction);

	return store_put(transaction, &elb_listener_kind,
		arena_format(arena, TEST_SCOPE "%s/%s", listener->balancer, listener->id),
		arena_format(arena,
			"{\"Protocol\":\"HTTP\",\"Port\":80,\"DefaultActions\":[{\"Type\":"
			"\"forward\",\"ForwardConfig\":{\"TargetGroups\":[{\"TargetGroupArn\":\"%"
			"s\""
			"}]}}]}",
			listener->group_arn),
		SPAN("{\"created\":1}"), STORE_ANY, err);
}

/* A listener of a load balancer that sends everything to a group. */
static inline void test_use_group(struct test_server *server, const char *balancer,
	const char *group_arn)
{
	struct test_listener listener = {
		.balancer = balancer, .id = "00000000000000aa", .group_arn = group_arn};

	test_write(server, test_put_listener, &listener);
}

#endif
