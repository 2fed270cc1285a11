/*
 * A service of AWS for unit tests: a store in memory, a dispatcher, a clock that stands still, and nothing else. A call
 * goes through the dispatcher as from the wire, and has its answer when it returns. ecs/test_server.h,
 * elb/test_server.h and cloudmap/test_server.h make one with their service:
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
 * Requests are written with ' for ". Every refusal must be an error that the model has for the operation. Include it
 * behind cmocka's header.
 */
#ifndef AWS_TEST_SERVICE_H
#define AWS_TEST_SERVICE_H

#include <stdio.h>

#include "aws/dispatch.h"
#include "base/memory.h"

#define TEST_SERVER_NOW_MS INT64_C(1700000000123)
#define TEST_SCOPE "123456789012/eu-west-1/"

struct test_server {
	struct store *store;
	struct aws_dispatcher *dispatcher;
	const struct aws_service *service; /* that test_call() calls */
	const char
		*any_error; /* that every operation may answer, beside those of the model; NULL */
	struct clock_manual clock;
	struct random_seeded random;
	struct aws_caller caller; /* tests may change it */
	void *context;            /* of the service; freed with the server */
	struct arena *arena;      /* of the last call */
	struct json *answer;      /* of the last call */
	int status;
	char error_type[128]; /* "" after a success */
};

/* store: its kinds, and a clock unless it is the server's own. The caller registers the service. */
static inline struct test_server *test_server_open(struct store_config store)
{
	struct test_server *server = memory_allocate(sizeof(*server));
	struct aws_dispatch_config config = {.random = &server->random.random};
	struct err err = {0};

	clock_manual_init(&server->clock, TEST_SERVER_NOW_MS);
	random_seeded_init(&server->random, 1);
	server->caller = (struct aws_caller){.account = SPAN("123456789012"),
		.user = SPAN("admin"),
		.access_key = SPAN(""),
		.region = SPAN("eu-west-1")};
	store.url = "memory:";
	store.inline_writes = true;
	if (!store.clock)
		store.clock = &server->clock.clock;
	config.clock = store.clock;
	if (store_open(&store, &server->store, &err) < 0)
		fail_msg("%s", err.message);
	config.store = server->store;
	server->dispatcher = aws_dispatcher_new(&config);
	return server;
}

static inline void test_server_free(struct test_server *server)
{
	arena_free(server->arena);
	aws_dispatcher_free(server->dispatcher);
	store_close(server->store);
	free(server->context);
	free(server);
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
	struct arena *arena = arena_new(0);

	body = arena_copy_span(arena, body); /* it may be of the last answer */
	arena_free(server->arena);
	server->arena = arena;
	server->answer = NULL;
	aws_dispatch(server->dispatcher, service, span_of(operation), &server->caller, body, arena,
		test_take_answer, server);
	assert_non_null(server->answer);
}

static inline void test_send(struct test_server *server, const char *operation, struct span body)
{
	test_send_to(server, server->service, operation, body);
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

	if (!message.data)
		message = json_get_text(server->answer, "Message");
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

/* The same, of another service. */
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
	const struct shape_service *shapes = server->service->shapes;
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
	if (!(server->any_error && strcmp(type, server->any_error) == 0) &&
		!shape_operation_has_error(shapes, shape_find_operation(shapes, span_of(operation)),
			span_of(type)))
		fail_msg("%s cannot answer %s in the model", operation, type);
}

/* The text at "a.b" of an object, "" if there is none; lives until the next call. */
static inline const char *test_text_of(struct test_server *server, const struct json *object,
	const char *path)
{
	struct span text = json_text(json_path(object, path));

	return text.data ? arena_copy_span(server->arena, text).data : "";
}

/* The same of the last answer. */
static inline const char *test_text(struct test_server *server, const char *path)
{
	return test_text_of(server, server->answer, path);
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
