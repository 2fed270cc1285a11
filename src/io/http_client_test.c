/*
 * The client against a server of the test's own: answers, limits, timeouts, cancellation, reuse of
 * connections (counted by the server), unix sockets, TLS. Nothing here depends on how quick anything
 * is: short timeouts are only used where nothing will ever come.
 */
#include "io/http_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include "io/test_http_client_server.h"

#define SHORT_MS 50

static struct http_client *new_client(void)
{
	struct http_client *client = NULL;
	struct err err = {0};

	if (http_client_new(&client, &err) < 0)
		fail_msg("%s", err.message);
	return client;
}

static const char *url_of(const struct server *server, struct arena *arena, const char *path)
{
	return arena_format(arena, "%s://127.0.0.1:%d%s", server->tls ? "https" : "http",
		server->port, path)
		.data;
}

static struct http_client_response *call(struct http_client *client,
	const struct http_client_request *request, struct arena *arena)
{
	struct http_client_response *response = NULL;
	struct err err = {0};

	if (http_client_request(client, request, arena, &response, &err) < 0)
		fail_msg("%s", err.message);
	return response;
}

static struct http_client_response *get(struct http_client *client, struct server *server,
	struct arena *arena, const char *path)
{
	struct http_client_request request = {.url = url_of(server, arena, path)};

	return call(client, &request, arena);
}

static void assert_text(struct span text, const char *expected)
{
	if (!text.data || !span_is(text, expected))
		fail_msg("'%.*s' is not '%s'", SPAN_ARGS(text), expected);
}

static void assert_has(struct span text, const char *part)
{
	if (!memmem(text.data, text.length, part, strlen(part)))
		fail_msg("'%s' is not in '%.*s'", part, SPAN_ARGS(text));
}

static void assert_has_not(struct span text, const char *part)
{
	if (memmem(text.data, text.length, part, strlen(part)))
		fail_msg("'%s' is in '%.*s'", part, SPAN_ARGS(text));
}

/* ---- answers ---- */

static void test_answers(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct http_client_response *response;

	(void)state;
	response = get(client, server, arena, "/hello");
	assert_int_equal(response->status, 200);
	assert_text(response->body, "hello");
	assert_int_equal(response->header_count, 4);
	assert_text(response->headers[1].name, "x-test");
	assert_text(http_client_header(response, "x-test"), "A b");
	assert_text(response->headers[2].value, "second");
	assert_text(http_client_header(response, "x-empty"), "");
	assert_null(http_client_header(response, "x-missing").data);

	response = get(client, server, arena, "/missing");
	assert_int_equal(response->status, 404);
	assert_text(response->body, "none");
	response = get(client, server, arena, "/empty");
	assert_int_equal(response->status, 204);
	assert_text(response->body, "");
	response = get(client, server, arena, "/redirect");
	assert_int_equal(response->status, 302);
	assert_text(http_client_header(response, "location"), "/hello");
	response = get(client, server, arena, "/interim");
	assert_int_equal(response->status, 201);
	assert_text(response->body, "ok");
	assert_null(http_client_header(response, "x-interim").data);
	response = get(client, server, arena, "/trailers");
	assert_text(response->body, "ok");
	assert_null(http_client_header(response, "x-trailer").data);
	response = get(client, server, arena, "/until-close");
	assert_text(response->body, "all of it");
	response = get(client, server, arena, "/chunked/100000");
	assert_int_equal(response->body.length, 100000);
	for (size_t i = 0; i < response->body.length; i++)
		assert_true(response->body.data[i] == server_letter(i));
}

static void test_requests(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	static const struct http_header headers[] = {
		{{"X-Amz-Target", 12}, {"Service.Operation", 17}},
		{{"X-Empty", 7}, {"", 0}},
		{{"Content-Type", 12}, {"application/x-amz-json-1.1", 26}},
		{{"Host", 4}, {"ecs.example", 11}},
	};
	struct http_client_request request = {
		.method = "POST",
		.url = url_of(server, arena, "/a/../b%2F?q=1&r=%20"),
		.headers = headers,
		.header_count = LENGTH(headers),
		.body = SPAN("{\"a\":\"\0\"}"),
	};
	struct http_client_response *response;

	(void)state;
	response = call(client, &request, arena);
	assert_has(response->body, "POST /a/../b%2F?q=1&r=%20 HTTP/1.1\r\n");
	assert_has(response->body, "X-Amz-Target: Service.Operation\r\n");
	assert_has(response->body, "X-Empty:\r\n");
	assert_has(response->body, "Content-Type: application/x-amz-json-1.1\r\n");
	assert_has(response->body, "Host: ecs.example\r\n");
	assert_has(response->body, "User-Agent: slipway/");
	assert_has(response->body, "Content-Length: 9\r\n");
	assert_has_not(response->body, "Expect:");
	assert_true(span_ends_with(response->body, request.body));

	request =
		(struct http_client_request){.method = "POST", .url = url_of(server, arena, "/x")};
	response = call(client, &request, arena);
	assert_has(response->body, "POST /x HTTP/1.1\r\n");
	assert_has(response->body, "Content-Length: 0\r\n");
	assert_has_not(response->body, "Content-Type");

	request.method = "PATCH";
	request.body = SPAN("patch");
	response = call(client, &request, arena);
	assert_has(response->body, "PATCH /x HTTP/1.1\r\n");
	assert_true(span_ends_with(response->body, SPAN("\r\n\r\npatch")));

	request.method = "DELETE";
	request.body = SPAN_NONE;
	response = call(client, &request, arena);
	assert_has(response->body, "DELETE /x HTTP/1.1\r\n");
	assert_has_not(response->body, "Content-Length");

	request.method = "HEAD";
	response = call(client, &request, arena);
	assert_int_equal(response->status, 200);
	assert_text(http_client_header(response, "content-length"), "1000");
	assert_text(response->body, "");
	assert_int_equal(atomic_load(&server->accepted), 1);
}

static void test_large_body(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	size_t length = 3 * 1024 * 1024;
	char *body = arena_allocate(arena, length);
	struct http_client_request request = {
		.method = "PUT", .url = url_of(server, arena, "/x"), .body = {body, length}};
	struct http_client_response *response;

	(void)state;
	for (size_t i = 0; i < length; i++)
		body[i] = server_letter(i);
	response = call(client, &request, arena);
	assert_true(span_ends_with(response->body, request.body));
}

/* ---- rejected requests and failures ---- */

static void assert_fails(struct http_client *client, const struct http_client_request *request,
	int expected, const char *message)
{
	_arena_ struct arena *arena = arena_new(0);
	struct http_client_response *response = NULL;
	struct err err = {0};
	int code = http_client_request(client, request, arena, &response, &err);

	if (code != expected || err.code != expected)
		fail_msg("%d instead of %d: %s", code, expected, err.message);
	if (!strstr(err.message, message))
		fail_msg("'%s' is not in '%s'", message, err.message);
	assert_null(response);
}

static void test_bad_requests(void **state)
{
	static const struct http_header bad_headers[] = {
		{{"X-Bad", 5}, {"a\r\nX-Injected: 1", 16}},
		{{"X-Bad", 5}, {"a\0b", 3}},
		{{"X Bad", 5}, {"a", 1}},
		{{"", 0}, {"a", 1}},
	};
	static const struct {
		const char *method, *url, *message;
	} rows[] = {
		{"GET", "ftp://127.0.0.1/x", "GET ftp://127.0.0.1/x: not an http or https URL"},
		{"GET", "file:///etc/passwd", "not an http or https URL"},
		{"GET", "http://127.0.0.1/a b", "not an http or https URL"},
		{"GET", "http://127.0.0.1/a\r\nb", "not an http or https URL"},
		{"GET", "http://me:secret@127.0.0.1:1/x", "GET http://"},
		{"GET", "http://127.0.0.1:99999999/x", "GET http://"},
		{"GET", "", "not an http or https URL"},
		{"GET", NULL, "not an http or https URL"},
		{"GET x", "http://127.0.0.1/x", "not an HTTP method"},
		{"", "http://127.0.0.1/x", "not an HTTP method"},
	};
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct http_client_request request = {.url = url_of(server, arena, "/x?secret")};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct http_client_request row = {.method = rows[i].method, .url = rows[i].url};

		assert_fails(client, &row, -EINVAL, rows[i].message);
	}
	for (size_t i = 0; i < LENGTH(bad_headers); i++) {
		struct err err = {0};
		struct http_client_response *response;

		request.headers = &bad_headers[i];
		request.header_count = 1;
		assert_fails(client, &request, -EINVAL, "/x: not an HTTP header");
		assert_int_equal(http_client_request(client, &request, arena, &response, &err),
			-EINVAL);
		assert_null(strstr(err.message, "secret"));
	}
	request.header_count = HTTP_CLIENT_HEADERS_MAX + 1;
	assert_fails(client, &request, -EINVAL, "too many headers");
	assert_int_equal(atomic_load(&server->accepted), 0);
}

static void test_failures(void **state)
{
	static const struct {
		const char *path;
		int code;
	} rows[] = {
		{"/cut", -ECONNRESET},
		{"/cut-chunks", -ECONNRESET},
		{"/nothing", -ECONNRESET},
		{"/garbage", -EPROTO},
		{"/bad-status", -EPROTO},
		{"/long-head", -EFBIG},
	};
	_arena_ struct arena *arena = arena_new(0), *small = arena_new(2000);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct http_client_response *response = NULL;
	struct http_client_request request = {0};
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		request.url = url_of(server, arena, rows[i].path);
		assert_fails(client, &request, rows[i].code, rows[i].path);
	}
	request.url = url_of(server, arena, "/bytes/5000");
	assert_int_equal(http_client_request(client, &request, small, &response, &err), -E2BIG);
	assert_non_null(strstr(err.message, "memory"));
	assert_null(response);
	/* None of this has hurt the client. */
	assert_text(get(client, server, arena, "/hello")->body, "hello");
}

static void test_connection_refused(void **state)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	_close_ int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	_http_client_ struct http_client *client = new_client();
	char url[64];
	struct http_client_request request = {.url = url};

	(void)state;
	/* Bound but not listening: no other socket can have the port, and it never answers. */
	assert_int_equal(bind(bound, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(bound, (struct sockaddr *)&address, &length), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/x", ntohs(address.sin_port));
	assert_fails(client, &request, -ECONNREFUSED, url);
	request.unix_socket = "/nonexistent/socket";
	assert_fails(client, &request, -ECONNREFUSED, url);
}

static void test_limit_on_the_answer(void **state)
{
	static const char *const paths[] = {"/bytes/1000", "/chunked/1000"};
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();

	(void)state;
	for (size_t i = 0; i < LENGTH(paths); i++) {
		struct http_client_request request = {
			.url = url_of(server, arena, paths[i]), .response_max = 1000};

		assert_int_equal(call(client, &request, arena)->body.length, 1000);
		request.response_max = 999;
		assert_fails(client, &request, -EFBIG, "the answer is longer than allowed");
	}
}

/* ---- connections ---- */

static void test_connections_are_kept(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct http_client_request fresh = {.url = url_of(server, arena, "/hello"), .fresh = true};

	(void)state;
	for (int i = 0; i < 20; i++)
		get(client, server, arena, "/hello");
	assert_int_equal(atomic_load(&server->accepted), 1);
	/* One that the server closed is replaced without the caller noticing. */
	assert_text(get(client, server, arena, "/close-after")->body, "ok");
	assert_text(get(client, server, arena, "/hello")->body, "hello");
	assert_int_equal(atomic_load(&server->accepted), 2);
	for (int i = 0; i < 3; i++)
		call(client, &fresh, arena);
	assert_int_equal(atomic_load(&server->accepted), 5);
	get(client, server, arena, "/hello");
	assert_int_equal(atomic_load(&server->accepted), 5);
}

struct caller {
	pthread_t thread;
	struct http_client *client;
	struct http_client_request request;
	int rounds;
	int good;
	int code; /* of the last call */
};

static void *run_caller(void *context)
{
	struct caller *caller = context;

	for (int i = 0; i < caller->rounds; i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct http_client_response *response;

		caller->code = http_client_request(caller->client, &caller->request, arena,
			&response, NULL);
		caller->good += caller->code == 0 && response->status == 200;
	}
	return NULL;
}

static void test_many_threads_share_connections(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct caller callers[8];

	(void)state;
	for (size_t i = 0; i < LENGTH(callers); i++) {
		callers[i] = (struct caller){
			.client = client,
			.request.url = url_of(server, arena, "/hello"),
			.rounds = 50,
		};
		pthread_create(&callers[i].thread, NULL, run_caller, &callers[i]);
	}
	for (size_t i = 0; i < LENGTH(callers); i++) {
		pthread_join(callers[i].thread, NULL);
		assert_int_equal(callers[i].good, 50);
	}
	assert_in_range(atomic_load(&server->accepted), 1, LENGTH(callers));
}

static void test_unix_socket(void **state)
{
	char folder[] = "/tmp/slipway-test-XXXXXX", path[64];
	_arena_ struct arena *arena = arena_new(0);
	_http_client_ struct http_client *client = new_client();
	struct http_client_request request = {.url = "http://docker/v1.41/info"};
	struct http_client_response *response;
	struct server *server;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/socket", folder);
	server = server_new(path, NULL);
	request.unix_socket = path;
	for (int i = 0; i < 3; i++) {
		response = call(client, &request, arena);
		assert_has(response->body, "GET /v1.41/info HTTP/1.1\r\nHost: docker\r\n");
	}
	assert_int_equal(atomic_load(&server->accepted), 1);
	server_free(server);
	unlink(path);
	rmdir(folder);
}

/* Proxies and passwords of the environment are none of the client's business. */
static void test_environment_is_ignored(void **state)
{
	char folder[] = "/tmp/slipway-test-XXXXXX", path[64];
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	_free_ char *home = memory_copy_string(getenv("HOME"));
	struct http_client_response *response;
	FILE *netrc;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/.netrc", folder);
	netrc = fopen(path, "we");
	assert_non_null(netrc);
	fputs("machine 127.0.0.1 login user password secret\n", netrc);
	fclose(netrc);
	setenv("HOME", folder, 1);
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	response = get(client, server, arena, "/x");
	unsetenv("http_proxy");
	unsetenv("ALL_PROXY");
	if (home)
		setenv("HOME", home, 1);
	unlink(path);
	rmdir(folder);
	assert_has(response->body, "GET /x HTTP/1.1\r\n");
	assert_has_not(response->body, "Authorization");
}

/* ---- time and cancellation ---- */

static void test_timeouts(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct http_client_request total = {
		.url = url_of(server, arena, "/hang"), .total_timeout_ms = SHORT_MS};
	/* The server takes the first words of TLS for a request that does not end. */
	struct http_client_request connect = {
		.url = arena_format(arena, "https://127.0.0.1:%d/", server->port).data,
		.connect_timeout_ms = SHORT_MS};

	(void)state;
	assert_fails(client, &total, -ETIMEDOUT, "/hang");
	assert_fails(client, &connect, -ETIMEDOUT, "https://");
	assert_text(get(client, server, arena, "/hello")->body, "hello");
}

static void test_cancel(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct http_client_cancel cancel = {0}, other = {0};
	struct caller callers[4];

	(void)state;
	for (size_t i = 0; i < LENGTH(callers); i++) {
		callers[i] = (struct caller){
			.client = client,
			.request.url = url_of(server, arena, "/hang"),
			.request.cancel = i == 0 ? &other : &cancel,
			.rounds = 1,
		};
		pthread_create(&callers[i].thread, NULL, run_caller, &callers[i]);
	}
	assert_true(server_wait_requests(server, LENGTH(callers)));
	http_client_cancel(client, &cancel);
	for (size_t i = 1; i < LENGTH(callers); i++) {
		pthread_join(callers[i].thread, NULL);
		assert_int_equal(callers[i].code, -ECANCELED);
	}
	/* A cancelled call stays cancelled, and is not even sent. */
	assert_fails(client, &callers[1].request, -ECANCELED, "/hang: cancelled");
	assert_int_equal(server->requests, LENGTH(callers));
	/* The call with another token was left alone. */
	server_open_gate(server, 1);
	pthread_join(callers[0].thread, NULL);
	assert_int_equal(callers[0].code, 0);
	assert_int_equal(callers[0].good, 1);
}

static void test_free_ends_running_calls(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	struct http_client *client = new_client();
	struct caller callers[3];

	(void)state;
	for (size_t i = 0; i < LENGTH(callers); i++) {
		callers[i] = (struct caller){
			.client = client,
			.request.url = url_of(server, arena, "/hang"),
			.rounds = 1,
		};
		pthread_create(&callers[i].thread, NULL, run_caller, &callers[i]);
	}
	assert_true(server_wait_requests(server, LENGTH(callers)));
	http_client_free(client);
	for (size_t i = 0; i < LENGTH(callers); i++) {
		pthread_join(callers[i].thread, NULL);
		assert_int_equal(callers[i].code, -ECANCELED);
	}
	http_client_free(NULL);
}

/* ---- streams ---- */

struct reading {
	struct server *server;
	struct http_client *client;
	struct http_client_cancel *cancel; /* requested at the first chunk, if there */
	struct buffer text;
	size_t largest;
	int heads;
	int status;
	bool has_header;
	bool open_gate; /* one step at the head and at each line */
	int answer_to_head;
	int answer_to_chunk;
};

static int take_head(void *context, const struct http_client_response *response)
{
	struct reading *reading = context;

	reading->heads++;
	reading->status = response->status;
	reading->has_header = span_is(http_client_header(response, "x-stream"), "yes");
	if (reading->open_gate)
		server_open_gate(reading->server, 1);
	return reading->answer_to_head;
}

static int take_chunk(void *context, struct span data)
{
	struct reading *reading = context;

	buffer_add_span(&reading->text, data);
	reading->largest = data.length > reading->largest ? data.length : reading->largest;
	if (reading->open_gate)
		server_open_gate(reading->server, 1);
	if (reading->cancel)
		http_client_cancel(reading->client, reading->cancel);
	return reading->answer_to_chunk;
}

static int stream(struct reading *reading, const struct http_client_request *request,
	struct err *err)
{
	const struct http_client_reader reader = {take_head, take_chunk, reading};

	return http_client_stream(reading->client, request, &reader, err);
}

/* The server sends each line only when the one before it has been read: they come one by one. */
static void test_stream(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct reading reading = {.server = server, .client = client, .open_gate = true};
	struct http_client_request request = {.url = url_of(server, arena, "/ticks")};

	(void)state;
	assert_int_equal(stream(&reading, &request, NULL), 0);
	assert_string_equal(reading.text.data, "tick 1\ntick 2\ntick 3\n");
	assert_int_equal(reading.largest, strlen("tick 1\n"));
	assert_int_equal(reading.heads, 1);
	assert_int_equal(reading.status, 200);
	assert_true(reading.has_header);
	/* An ended stream's connection is as good as any. */
	get(client, server, arena, "/hello");
	assert_int_equal(atomic_load(&server->accepted), 1);
	buffer_clear(&reading.text);
}

static void test_stream_without_body(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct reading reading = {.server = server, .client = client};
	struct http_client_request request = {.url = url_of(server, arena, "/empty")};

	(void)state;
	assert_int_equal(stream(&reading, &request, NULL), 0);
	assert_int_equal(reading.heads, 1);
	assert_int_equal(reading.status, 204);
	assert_int_equal(reading.text.length, 0);
}

/* Far more than a reader may be behind: the server has to wait, nothing is lost. */
static void test_long_stream(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct reading reading = {.server = server, .client = client};
	struct http_client_request request = {.url = url_of(server, arena, "/chunked/8000000")};

	(void)state;
	assert_int_equal(stream(&reading, &request, NULL), 0);
	assert_int_equal(reading.text.length, 8000000);
	for (size_t i = 0; i < reading.text.length; i++)
		assert_true(reading.text.data[i] == server_letter(i));
	/* One write of libcurl's may come on top. */
	assert_true(reading.largest <= HTTP_CLIENT_STREAM_BEHIND_MAX + 16384);
	buffer_clear(&reading.text);
}

static void test_stream_that_breaks(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct reading reading = {.server = server, .client = client};
	struct http_client_request request = {.url = url_of(server, arena, "/cut-chunks")};
	struct err err = {0};

	(void)state;
	assert_int_equal(stream(&reading, &request, &err), -ECONNRESET);
	assert_string_equal(reading.text.data, "only");
	buffer_clear(&reading.text);

	request.url = url_of(server, arena, "/nothing");
	assert_int_equal(stream(&reading, &request, &err), -ECONNRESET);
	assert_int_equal(reading.heads, 1); /* of the first one */
	request.url = "http://127.0.0.1/ /";
	assert_int_equal(stream(&reading, &request, &err), -EINVAL);
}

static void test_reader_stops(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct reading reading = {.server = server, .client = client, .answer_to_head = 7};
	struct http_client_request request = {.url = url_of(server, arena, "/ticks")};
	struct err err = {0};

	(void)state;
	assert_int_equal(stream(&reading, &request, &err), 7);
	assert_int_equal(reading.text.length, 0);
	reading.answer_to_head = 0;
	reading.open_gate = true;
	reading.answer_to_chunk = -EBADMSG;
	assert_int_equal(stream(&reading, &request, &err), -EBADMSG);
	assert_non_null(strstr(err.message, "the reader wants no more"));
	assert_string_equal(reading.text.data, "tick 1\n");
	buffer_clear(&reading.text);
}

static void test_stream_cancelled(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct http_client_cancel cancel = {0};
	struct reading reading = {.server = server, .client = client, .cancel = &cancel};
	struct http_client_request request = {
		.url = url_of(server, arena, "/ticks"), .cancel = &cancel};
	struct err err = {0};

	(void)state;
	server_open_gate(server, 1);
	assert_int_equal(stream(&reading, &request, &err), -ECANCELED);
	assert_non_null(strstr(err.message, "/ticks: cancelled"));
	assert_string_equal(reading.text.data, "tick 1\n");
	buffer_clear(&reading.text);
}

static void *run_silent_stream(void *context)
{
	struct caller *caller = context;
	struct reading reading = {.client = caller->client};

	caller->code = stream(&reading, &caller->request, NULL);
	buffer_clear(&reading.text);
	return NULL;
}

static void test_silent_stream(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct http_client_cancel cancel = {0};
	struct caller caller = {
		.client = client,
		.request = {.url = url_of(server, arena, "/silent"), .idle_timeout_ms = SHORT_MS},
	};
	struct reading reading = {.client = client};
	struct err err = {0};

	(void)state;
	assert_int_equal(stream(&reading, &caller.request, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.message, "nothing came for too long"));
	/* From another thread, while nothing comes. The first one may have given up before it asked. */
	caller.request.idle_timeout_ms = -1;
	caller.request.cancel = &cancel;
	pthread_create(&caller.thread, NULL, run_silent_stream, &caller);
	assert_true(server_wait_requests(server, 1));
	http_client_cancel(client, &cancel);
	pthread_join(caller.thread, NULL);
	assert_int_equal(caller.code, -ECANCELED);
}

/* A stream without a reader blocks no other call. */
static int call_meanwhile(void *context, const struct http_client_response *response)
{
	struct reading *reading = context;
	_arena_ struct arena *arena = arena_new(0);

	(void)response;
	assert_text(get(reading->client, reading->server, arena, "/hello")->body, "hello");
	reading->heads++;
	return 1;
}

static void test_call_within_a_stream(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_server_ struct server *server = server_new(NULL, NULL);
	_http_client_ struct http_client *client = new_client();
	struct reading reading = {.server = server, .client = client};
	const struct http_client_reader reader = {call_meanwhile, take_chunk, &reading};
	struct http_client_request request = {.url = url_of(server, arena, "/ticks")};

	(void)state;
	assert_int_equal(http_client_stream(client, &request, &reader, NULL), 1);
	assert_int_equal(reading.heads, 1);
}

/* ---- TLS ---- */

struct identity {
	EVP_PKEY *key;
	X509 *certificate;
};

static void identity_clear(struct identity *identity)
{
	EVP_PKEY_free(identity->key);
	X509_free(identity->certificate);
}

static void add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;

	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	assert_non_null(extension);
	X509_add_ext(certificate, extension, -1);
	X509_EXTENSION_free(extension);
}

/* issuer NULL: an authority that signs itself. */
static struct identity make_identity(const char *name, const char *hosts,
	const struct identity *issuer)
{
	static long serial = 1;
	struct identity identity = {EVP_EC_gen("P-256"), X509_new()};
	X509 *certificate = identity.certificate;
	X509_NAME *subject = X509_get_subject_name(certificate);

	X509_set_version(certificate, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -86400);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1,
		0);
	X509_set_pubkey(certificate, identity.key);
	X509_set_issuer_name(certificate,
		issuer ? X509_get_subject_name(issuer->certificate) : subject);
	if (!issuer)
		add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
	if (hosts)
		add_extension(certificate, certificate, NID_subject_alt_name, hosts);
	assert_true(X509_sign(certificate, issuer ? issuer->key : identity.key, EVP_sha256()) > 0);
	return identity;
}

static struct span take_pem(BIO *bio, struct arena *arena)
{
	char *data;
	long length = BIO_get_mem_data(bio, &data);
	struct span pem = {arena_copy(arena, data, (size_t)length), (size_t)length};

	BIO_free(bio);
	return pem;
}

static struct span certificate_pem(const struct identity *identity, struct arena *arena)
{
	BIO *bio = BIO_new(BIO_s_mem());

	PEM_write_bio_X509(bio, identity->certificate);
	return take_pem(bio, arena);
}

static struct span key_pem(const struct identity *identity, struct arena *arena)
{
	BIO *bio = BIO_new(BIO_s_mem());

	PEM_write_bio_PrivateKey(bio, identity->key, NULL, NULL, 0, NULL, NULL);
	return take_pem(bio, arena);
}

static SSL_CTX *server_tls(const struct identity *identity, const struct identity *client_authority)
{
	SSL_CTX *tls = SSL_CTX_new(TLS_server_method());

	SSL_CTX_use_certificate(tls, identity->certificate);
	SSL_CTX_use_PrivateKey(tls, identity->key);
	if (client_authority) {
		X509_STORE_add_cert(SSL_CTX_get_cert_store(tls), client_authority->certificate);
		SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	}
	return tls;
}

#define _identity_ CLEANUP(identity_clear)

static void test_tls(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_identity_ struct identity authority = make_identity("Authority", NULL, NULL);
	_identity_ struct identity stranger = make_identity("Stranger", NULL, NULL);
	_identity_ struct identity here = make_identity("server", "IP:127.0.0.1", &authority);
	_identity_ struct identity remote =
		make_identity("server", "DNS:unrelated.example", &authority);
	_server_ struct server *server = server_new(NULL, server_tls(&here, NULL));
	_server_ struct server *wrong = server_new(NULL, server_tls(&remote, NULL));
	_http_client_ struct http_client *client = new_client();
	struct http_client_request request = {.url = url_of(server, arena, "/hello")};

	(void)state;
	request.tls.authorities = certificate_pem(&authority, arena);
	for (int i = 0; i < 5; i++)
		assert_text(call(client, &request, arena)->body, "hello");
	assert_int_equal(atomic_load(&server->accepted), 1);
	/* A connection that one caller trusts is not lent to one that does not. */
	request.tls.authorities = certificate_pem(&stranger, arena);
	assert_fails(client, &request, -EACCES, "/hello");
	request.tls.authorities = SPAN_NONE;
	assert_fails(client, &request, -EACCES, "/hello");
	request.tls.authorities = SPAN("not PEM");
	assert_fails(client, &request, -EINVAL, "/hello");
	request.tls = (struct http_client_tls){.insecure = true};
	assert_text(call(client, &request, arena)->body, "hello");

	request.url = url_of(wrong, arena, "/hello");
	request.tls = (struct http_client_tls){.authorities = certificate_pem(&authority, arena)};
	assert_fails(client, &request, -EACCES, "/hello");
	request.tls.insecure = true;
	assert_text(call(client, &request, arena)->body, "hello");
}

static void test_client_certificate(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_identity_ struct identity authority = make_identity("Authority", NULL, NULL);
	_identity_ struct identity here = make_identity("server", "IP:127.0.0.1", &authority);
	_identity_ struct identity alice = make_identity("alice", NULL, &authority);
	_identity_ struct identity bob = make_identity("bob", NULL, &authority);
	_server_ struct server *server = server_new(NULL, server_tls(&here, &authority));
	_http_client_ struct http_client *client = new_client();
	struct http_client_request request = {
		.url = url_of(server, arena, "/subject"),
		.tls.authorities = certificate_pem(&authority, arena),
	};
	struct http_client_response *response;

	(void)state;
	assert_true(http_client_request(client, &request, arena, &response, NULL) < 0);
	for (int i = 0; i < 2; i++) {
		request.tls.certificate = certificate_pem(&alice, arena);
		request.tls.key = key_pem(&alice, arena);
		assert_text(call(client, &request, arena)->body, "alice");
		request.tls.certificate = certificate_pem(&bob, arena);
		request.tls.key = key_pem(&bob, arena);
		assert_text(call(client, &request, arena)->body, "bob");
	}
	request.tls.key = key_pem(&alice, arena);
	request.fresh = true;
	assert_fails(client, &request, -EINVAL, "/subject");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_large_body),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_connection_refused),
		cmocka_unit_test(test_limit_on_the_answer),
		cmocka_unit_test(test_connections_are_kept),
		cmocka_unit_test(test_many_threads_share_connections),
		cmocka_unit_test(test_unix_socket),
		cmocka_unit_test(test_environment_is_ignored),
		cmocka_unit_test(test_timeouts),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_free_ends_running_calls),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_stream_without_body),
		cmocka_unit_test(test_long_stream),
		cmocka_unit_test(test_stream_that_breaks),
		cmocka_unit_test(test_reader_stops),
		cmocka_unit_test(test_stream_cancelled),
		cmocka_unit_test(test_silent_stream),
		cmocka_unit_test(test_call_within_a_stream),
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_client_certificate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
