/*
 * ECS for unit tests: a store in memory, a dispatcher, a clock that stands still, and nothing else.
 * A call goes through the dispatcher as from the wire and has its answer when it returns.
 *
 *     static void test(void **state)
 *     {
 *             struct test_server *server = *state;
 *
 *             test_call(server, "CreateCluster", "{'clusterName':'%s'}", "web");
 *             assert_string_equal(test_text(server, "cluster.status"), "ACTIVE");
 *             test_refused(server, "DeleteCluster", "ClusterNotFoundException", "missing",
 *                          "{'cluster':'missing'}");
 *     }
 *
 * Requests are written with ' for ". Every refusal must be an error that the model has for the
 * operation. Include it behind cmocka's header.
 */
#ifndef ECS_TEST_SERVER_H
#define ECS_TEST_SERVER_H

#include <stdio.h>

#include "aws/dispatch.h"
#include "base/memory.h"
#include "cloudmap/cloudmap.h"
#include "ecs/ecs.h"
#include "ecs/record/container_instance.h"
#include "elb/elb.h"

#define TEST_SERVER_NOW_MS INT64_C(1700000000123)
#define TEST_KINDS_MAX 64

struct test_server {
	struct store *store;
	struct aws_dispatcher *dispatcher;
	struct clock_manual clock;
	struct random_seeded random;
	struct elb_context elb;
	struct aws_caller caller; /* tests may change it */
	struct arena *arena;      /* of the last call */
	struct json *answer;      /* of the last call */
	int status;
	char error_type[128]; /* "" after a success */
};

/* Those of ECS, and of what its services are reached by. */
static inline size_t test_kinds(const struct store_kind *kinds[TEST_KINDS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < ecs_kind_count; i++)
		kinds[count++] = ecs_kinds[i];
	for (size_t i = 0; i < cloudmap_kind_count; i++)
		kinds[count++] = cloudmap_kinds[i];
	for (size_t i = 0; i < elb_kind_count; i++)
		kinds[count++] = elb_kinds[i];
	return count;
}

struct test_server_options {
	struct clock *clock;                   /* another than its own: that of a simulation */
	struct ecs_context *context;           /* of ECS, outlives it; NULL: none */
	size_t feed_bytes;                     /* of the store's change feed; 0: as usual */
	const struct store_kind *const *kinds; /* of other folders */
	size_t kind_count;
	const struct store_faults *faults; /* outlive it; NULL: none */
};

static inline struct test_server *test_server_new_of(const struct test_server_options *options)
{
	struct test_server *server = memory_allocate(sizeof(*server));
	const struct store_kind *kinds[TEST_KINDS_MAX];
	struct store_config store_config = {
		.url = "memory:",
		.kinds = kinds,
		.kind_count = test_kinds(kinds),
		.clock = options->clock ? options->clock : &server->clock.clock,
		.feed_bytes = options->feed_bytes,
		.inline_writes = true,
		.faults = options->faults,
	};
	struct aws_dispatch_config config = {
		.clock = store_config.clock, .random = &server->random.random};
	struct err err = {0};

	clock_manual_init(&server->clock, TEST_SERVER_NOW_MS);
	random_seeded_init(&server->random, 1);
	for (size_t i = 0; i < options->kind_count; i++)
		kinds[store_config.kind_count++] = options->kinds[i];
	server->caller = (struct aws_caller){.account = SPAN("123456789012"),
		.user = SPAN("admin"),
		.access_key = SPAN(""),
		.region = SPAN("eu-west-1")};
	server->elb = (struct elb_context){.domain = SPAN("test.internal"),
		.addresses = SPAN("127.192.0.0/16"),
		.instance_address = container_instance_address};
	if (store_open(&store_config, &server->store, &err) < 0)
		fail_msg("%s", err.message);
	config.store = server->store;
	server->dispatcher = aws_dispatcher_new(&config);
	aws_dispatcher_register(server->dispatcher, &ecs_service, options->context);
	aws_dispatcher_register(server->dispatcher, &cloudmap_service, NULL);
	aws_dispatcher_register(server->dispatcher, &elb_service, &server->elb);
	return server;
}

static inline struct test_server *test_server_new_with(struct clock *clock,
	struct ecs_context *context)
{
	const struct test_server_options options = {.clock = clock, .context = context};

	return test_server_new_of(&options);
}

static inline struct test_server *test_server_new_on(struct clock *clock)
{
	return test_server_new_with(clock, NULL);
}

static inline struct test_server *test_server_new(void)
{
	return test_server_new_on(NULL);
}

static inline void test_server_free(struct test_server *server)
{
	arena_free(server->arena);
	aws_dispatcher_free(server->dispatcher);
	store_close(server->store);
	free(server);
}

static inline int test_server_setup(void **state)
{
	*state = test_server_new();
	return 0;
}

static inline int test_server_teardown(void **state)
{
	test_server_free(*state);
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

/* Sends a body as it stands, to any service. */
static inline void test_send_to(struct test_server *server, const struct aws_service *service,
	const char *operation, struct span body)
{
	arena_free(server->arena);
	server->arena = arena_new(0);
	server->answer = NULL;
	aws_dispatch(server->dispatcher, service, span_of(operation), &server->caller,
		arena_copy_span(server->arena, body), server->arena, test_take_answer, server);
	assert_non_null(server->answer);
}

static inline void test_send(struct test_server *server, const char *operation, struct span body)
{
	test_send_to(server, &ecs_service, operation, body);
}

static inline struct span test_body(struct arena *arena, const char *format, va_list list)
{
	struct span body = arena_format_list(arena, format, list);

	for (size_t i = 0; i < body.length; i++)
		if (body.data[i] == '\'')
			((char *)body.data)[i] = '"';
	return body;
}

static inline void test_send_list(struct test_server *server, const char *operation,
	const char *format, va_list list)
{
	_arena_ struct arena *arena = arena_new(0);

	test_send(server, operation, test_body(arena, format, list));
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

/* The same, of another service than ECS. */
__attribute__((format(printf, 4, 5))) static inline const struct json *
test_call_to(struct test_server *server, const struct aws_service *service, const char *operation,
	const char *format, ...)
{
	_arena_ struct arena *arena = arena_new(0);
	va_list list;

	va_start(list, format);
	test_send_to(server, service, operation, test_body(arena, format, list));
	va_end(list);
	if (server->error_type[0])
		fail_msg("%s: %s: %.*s", operation, server->error_type,
			SPAN_ARGS(json_to_text(server->answer, server->arena)));
	return server->answer;
}

/* A call that must fail with this error and these words. */
__attribute__((format(printf, 5, 6))) static inline void test_refused(struct test_server *server,
	const char *operation, const char *type, const char *words, const char *format, ...)
{
	const struct shape_operation *shape = shape_find_operation(&shape_ecs, span_of(operation));
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
	assert_int_equal(server->status, 400);
	if (strcmp(type, "SerializationException") != 0 &&
		!shape_operation_has_error(&shape_ecs, shape, span_of(type)))
		fail_msg("%s cannot answer %s in the model", operation, type);
}

/* The text at "a.b" of the last answer, "" if there is none; lives until the next call. */
static inline const char *test_text(struct test_server *server, const char *path)
{
	struct span text = json_text(json_path(server->answer, path));

	return text.data ? arena_copy_span(server->arena, text).data : "";
}

/* The texts of a list in the last answer with spaces between them. */
static inline const char *test_texts(struct test_server *server, const char *path)
{
	struct span all = SPAN("");

	JSON_EACH_ITEM (json_path(server->answer, path), item)
		all = arena_format(server->arena, "%.*s%s%.*s", SPAN_ARGS(all),
			all.length ? " " : "", SPAN_ARGS(json_text(item)));
	return all.data;
}

#define TEST_WITH_SERVER(test)                                                                     \
	cmocka_unit_test_setup_teardown(test, test_server_setup, test_server_teardown)

#endif
