/*
 * ELB for unit tests: a store in memory, a dispatcher, a clock that is moved by hand, and nothing else. A
 * call goes through the one door as from the wire, but in JSON, and has its answer when it returns.
 *
 *     test_call(server, "CreateTargetGroup", "{'Name':'%s','Protocol':'HTTP','Port':80}", "web");
 *     test_refused(server, "DeleteTargetGroup", "ValidationError", "ARN", "{'TargetGroupArn':'x'}");
 *
 * Requests are written with ' for ". Every refusal must be an error that the model has for the operation.
 * There is one instance, i-known, at 127.0.0.9. Include it behind cmocka's header.
 */
#ifndef ELB_TEST_SERVER_H
#define ELB_TEST_SERVER_H

#include <stdio.h>

#include "aws/dispatch.h"
#include "base/memory.h"
#include "elb/elb.h"

#define TEST_NOW_MS INT64_C(1700000000123)
#define TEST_SCOPE "123456789012/eu-west-1/"

struct test_server {
	struct store *store;
	struct aws_dispatcher *dispatcher;
	struct clock_manual clock;
	struct random_seeded random;
	struct elb_context context; /* tests may change it */
	struct aws_caller caller;
	struct arena *arena; /* of the last call */
	struct json *answer; /* of the last call */
	int status;
	char error_type[128]; /* "" after a success */
};

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
	struct test_server *server = memory_allocate(sizeof(*server));
	struct store_config store_config = {.url = "memory:",
		.kinds = elb_kinds,
		.kind_count = elb_kind_count,
		.clock = &server->clock.clock,
		.inline_writes = true};
	struct aws_dispatch_config config = {
		.clock = &server->clock.clock, .random = &server->random.random};
	struct err err = {0};

	clock_manual_init(&server->clock, TEST_NOW_MS);
	random_seeded_init(&server->random, 1);
	server->context = (struct elb_context){.domain = SPAN("slipway.internal"),
		.addresses = SPAN("127.192.0.0/16"),
		.instance_address = test_instance_address};
	server->caller = (struct aws_caller){.account = SPAN("123456789012"),
		.user = SPAN("admin"),
		.access_key = SPAN(""),
		.region = SPAN("eu-west-1")};
	if (store_open(&store_config, &server->store, &err) < 0)
		fail_msg("%s", err.message);
	config.store = server->store;
	server->dispatcher = aws_dispatcher_new(&config);
	aws_dispatcher_register(server->dispatcher, &elb_service, &server->context);
	*state = server;
	return 0;
}

static inline int test_server_teardown(void **state)
{
	struct test_server *server = *state;

	arena_free(server->arena);
	aws_dispatcher_free(server->dispatcher);
	store_close(server->store);
	free(server);
	return 0;
}

static inline void test_take_answer(void *context, const struct aws_answer *answer)
{
	struct test_server *server = context;
	struct span body = arena_copy_span(server->arena, answer->body);
	struct err err = {0};

	server->status = answer->status;
	snprintf(server->error_type, sizeof(server->error_type), "%s",
		answer->error_type ? answer->error_type : "");
	if (json_parse(body, server->arena, &server->answer, &err) < 0)
		fail_msg("%s in %.*s", err.message, SPAN_ARGS(body));
}

static inline void test_send_list(struct test_server *server, const char *operation,
	const char *format, va_list list)
{
	struct arena *arena = arena_new(0);
	struct span body = arena_format_list(arena, format, list);

	for (size_t i = 0; i < body.length; i++)
		if (body.data[i] == '\'')
			((char *)body.data)[i] = '"';
	/* The arguments may be texts of the last answer. */
	arena_free(server->arena);
	server->arena = arena;
	server->answer = NULL;
	aws_dispatch(server->dispatcher, &elb_service, span_of(operation), &server->caller, body,
		arena, test_take_answer, server);
	assert_non_null(server->answer);
}

static inline struct span test_message(const struct test_server *server)
{
	struct span message = json_get_text(server->answer, "message");

	return message.data ? message : SPAN("");
}

/* A call that must work. */
__attribute__((format(printf, 3, 4))) static inline const struct json *test_call(struct test_server
											 *server,
	const char *operation, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	test_send_list(server, operation, format, list);
	va_end(list);
	if (server->error_type[0])
		fail_msg("%s: %s: %.*s", operation, server->error_type,
			SPAN_ARGS(test_message(server)));
	assert_int_equal(server->status, 200);
	return server->answer;
}

/* A call that must fail with this error and these words. */
__attribute__((format(printf, 5, 6))) static inline void test_refused(struct test_server *server,
	const char *operation, const char *type, const char *words, const char *format, ...)
{
	const struct shape_service *shapes = &shape_elasticloadbalancingv2;
	struct span message;
	va_list list;

	va_start(list, format);
	test_send_list(server, operation, format, list);
	va_end(list);
	message = test_message(server);
	if (strcmp(server->error_type, type) != 0 ||
		!memmem(message.data, message.length, words, strlen(words)))
		fail_msg("%s: wanted %s with '%s', got %s: %.*s", operation, type, words,
			server->error_type, SPAN_ARGS(message));
	if (strcmp(type, "ValidationError") != 0 &&
		!shape_operation_has_error(shapes, shape_find_operation(shapes, span_of(operation)),
			span_of(type)))
		fail_msg("%s cannot answer %s in the model", operation, type);
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

/* A text of an object, "" if there is none; lives until the next call. */
static inline const char *test_text(struct test_server *server, const struct json *object,
	const char *path)
{
	struct span text = json_text(json_path(object, path));

	return text.data ? arena_copy_span(server->arena, text).data : "";
}

/* The value of an attribute in the last answer. */
static inline const char *test_attribute(struct test_server *server, const char *name)
{
	JSON_EACH_ITEM (json_get(server->answer, "Attributes"), attribute)
		if (span_is(json_get_text(attribute, "Key"), name))
			return test_text(server, attribute, "Value");
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

#define TEST_WITH_SERVER(test)                                                                     \
	cmocka_unit_test_setup_teardown(test, test_server_setup, test_server_teardown)

#endif
