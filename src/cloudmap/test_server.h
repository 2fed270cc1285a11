/*
 * Cloud Map for unit tests: a store in memory, a dispatcher and a clock that stands still. A call goes
 * through the one door as from the wire and has its answer when it returns. Requests are written with '
 * for ". Every refusal must be an error that the model has for the operation. Include it behind cmocka's
 * header.
 */
#ifndef CLOUDMAP_TEST_SERVER_H
#define CLOUDMAP_TEST_SERVER_H

#include <stdio.h>

#include "aws/dispatch.h"
#include "base/memory.h"
#include "cloudmap/kinds.h"

#define TEST_NOW_MS INT64_C(1700000000123)
#define TEST_SCOPE "123456789012/eu-west-1/"

struct test_server {
	struct store *store;
	struct aws_dispatcher *dispatcher;
	struct clock_manual clock;
	struct random_seeded random;
	struct aws_caller caller;
	struct arena *arena; /* of the last call */
	struct json *answer; /* of the last call */
	int status;
	char error_type[128]; /* "" after a success */
};

/* On another clock than its own: that of a simulation. */
static inline struct test_server *test_server_new_on(struct clock *clock)
{
	struct test_server *server = memory_allocate(sizeof(*server));
	struct store_config store_config = {.url = "memory:",
		.kinds = cloudmap_kinds,
		.kind_count = cloudmap_kind_count,
		.clock = clock ? clock : &server->clock.clock,
		.inline_writes = true};
	struct aws_dispatch_config config = {
		.clock = store_config.clock, .random = &server->random.random};
	struct err err = {0};

	clock_manual_init(&server->clock, TEST_NOW_MS);
	random_seeded_init(&server->random, 1);
	server->caller = (struct aws_caller){.account = SPAN("123456789012"),
		.user = SPAN("admin"),
		.access_key = SPAN(""),
		.region = SPAN("eu-west-1")};
	if (store_open(&store_config, &server->store, &err) < 0)
		fail_msg("%s", err.message);
	config.store = server->store;
	server->dispatcher = aws_dispatcher_new(&config);
	aws_dispatcher_register(server->dispatcher, &cloudmap_service, NULL);
	return server;
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
	*state = test_server_new_on(NULL);
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

static inline void test_send(struct test_server *server, const char *operation, const char *format,
	va_list list)
{
	struct span body;

	arena_free(server->arena);
	server->arena = arena_new(0);
	server->answer = NULL;
	body = arena_format_list(server->arena, format, list);
	for (size_t i = 0; i < body.length; i++)
		if (body.data[i] == '\'')
			((char *)body.data)[i] = '"';
	aws_dispatch(server->dispatcher, &cloudmap_service, span_of(operation), &server->caller,
		body, server->arena, test_take_answer, server);
	assert_non_null(server->answer);
}

/* The text at "a.b" of the last answer, "" if there is none; lives until the next call. */
static inline const char *test_text(struct test_server *server, const char *path)
{
	struct span text = json_text(json_path(server->answer, path));

	return text.data ? arena_copy_span(server->arena, text).data : "";
}

/* A call that must work. */
__attribute__((format(printf, 3, 4))) static inline const struct json *test_call(struct test_server
											 *server,
	const char *operation, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	test_send(server, operation, format, list);
	va_end(list);
	if (server->error_type[0])
		fail_msg("%s: %s: %s", operation, server->error_type, test_text(server, "Message"));
	assert_int_equal(server->status, 200);
	return server->answer;
}

/* A call that must fail with this error and these words. */
__attribute__((format(printf, 5, 6))) static inline void test_refused(struct test_server *server,
	const char *operation, const char *type, const char *words, const char *format, ...)
{
	const struct shape_operation *shape =
		shape_find_operation(&shape_servicediscovery, span_of(operation));
	va_list list;

	va_start(list, format);
	test_send(server, operation, format, list);
	va_end(list);
	if (strcmp(server->error_type, type) != 0 || !strstr(test_text(server, "Message"), words))
		fail_msg("%s: wanted %s with '%s', got %s: %s", operation, type, words,
			server->error_type, test_text(server, "Message"));
	assert_int_equal(server->status, 400);
	if (!shape_operation_has_error(&shape_servicediscovery, shape, span_of(type)))
		fail_msg("%s cannot answer %s in the model", operation, type);
}

/* Makes the namespace "test" (private DNS) or "http" and in it the service "web"; more: ",'DnsConfig':…". */
static inline void test_make_service(struct test_server *server, bool http, const char *more,
	char ret_id[32])
{
	char namespace_id[32];

	test_call(server, http ? "CreateHttpNamespace" : "CreatePrivateDnsNamespace",
		"{'Name':'%s','Vpc':'v'}", http ? "http" : "test");
	test_call(server, "ListNamespaces", "{'Filters':[{'Name':'NAME','Values':['%s']}]}",
		http ? "http" : "test");
	snprintf(namespace_id, sizeof(namespace_id), "%s",
		arena_copy_span(server->arena,
			json_get_text(json_item(json_get(server->answer, "Namespaces"), 0), "Id"))
			.data);
	test_call(server, "CreateService", "{'Name':'web','NamespaceId':'%s'%s}", namespace_id,
		more);
	snprintf(ret_id, 32, "%s", test_text(server, "Service.Id"));
}

#define TEST_WITH_SERVER(test)                                                                     \
	cmocka_unit_test_setup_teardown(test, test_server_setup, test_server_teardown)
#define TEST_A_RECORD ",'DnsConfig':{'DnsRecords':[{'Type':'A','TTL':60},{'Type':'SRV','TTL':90}]}"
#define TEST_CHECKED ",'HealthCheckCustomConfig':{}"

#endif
