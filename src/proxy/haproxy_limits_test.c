/* HTTP: hostile or faulty clients cost little and get clear responses. */
#include <stdlib.h>
#include <sys/resource.h>

#include "base/buffer.h"
#include "proxy/test_http.h"
#include "proxy/test_tls.h"

#define CONNECTIONS_MAX 500
#define DESCRIPTORS_MAX 2048 /* two for each, and a power of two */
#define REQUEST_MS 2000

static int setup_with(void **state, uint32_t request_timeout_ms)
{
	struct haproxy_options options = {
		.threads = 2,
		.spare_groups = 1,
		.request_timeout_ms = request_timeout_ms,
		.header_bytes = 8192,
		.max_connections = CONNECTIONS_MAX,
	};

	return http_setup_with(state, &options);
}

static int setup_patient(void **state)
{
	return setup_with(state, 0);
}

static int setup_hasty(void **state)
{
	return setup_with(state, REQUEST_MS);
}

/* A new connection and the letter of the backend that answered; 0: none did. On a slow machine this
 * client may itself exceed the time limit: then it is rejected correctly, and retries. */
static int connect_and_ask(unsigned port, char *ret_letter)
{
	int64_t end = test_now_ms() + TEST_DEADLINE_S * 1000;

	for (;;) {
		int64_t began = test_now_ms();
		int client = test_connect(port);

		*ret_letter = http_get(client, "/");
		if (*ret_letter || test_now_ms() - began < REQUEST_MS || test_now_ms() > end)
			return client;
		if (client >= 0)
			close(client);
	}
}

static char ask_in_time(unsigned port)
{
	char letter;
	int client = connect_and_ask(port, &letter);

	if (client >= 0)
		close(client);
	return letter;
}

/* The status of the response to these bytes; 0: closed without one. */
static int status_of(unsigned port, const char *bytes, size_t length)
{
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	int client = test_connect(port), status;

	assert_true(client >= 0);
	test_send_all(client, bytes, length);
	http_receive(client, answer);
	status = answer->status;
	close(client);
	free(answer);
	return status;
}

static void test_malformed_requests_are_refused(void **state)
{
	static const struct {
		const char *request;
		int status;
	} cases[] = {
		{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 200},
		{"GET / HTTP/1.0\r\n\r\n", 200},
		{"nonsense\r\n\r\n", 400},
		{"GET /\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nHost: a\r\nbad field: 1\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
		{"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 200},
		/* Requests that two parsers could read differently. */
		{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
			400},
		{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 2\r\n\r\nab", 400},
		{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400},
		{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na", 400},
		{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400},
		{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, "
		 "identity\r\n\r\n0\r\n\r\n",
			400},
		{"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
	};
	struct test_plane *plane = *state;

	http_start_backends(plane, 2);
	test_plane_open(plane, PROXY_HTTP, 1, 1);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		int status = status_of(plane->port, cases[i].request, strlen(cases[i].request));

		if (status != cases[i].status)
			fail_msg("%s: %d instead of %d", cases[i].request, status, cases[i].status);
	}
}

/* Both lengths, which HAProxy cannot be configured to reject: the chunks are the body, the target
 * gets it chunked, and the connection ends after it. */
static void test_nothing_is_smuggled(void **state)
{
	static const char *const requests[] = {
		"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 43\r\nTransfer-Encoding: "
		"chunked\r\n"
		"\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: "
		"4\r\n"
		"\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
	};
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	struct test_plane *plane = *state;

	http_start_backends(plane, 2);
	test_plane_open(plane, PROXY_HTTP, 1, 0);
	for (size_t i = 0; i < LENGTH(requests); i++) {
		int client = test_connect(plane->port);
		char byte;

		assert_true(test_send_all(client, requests[i], strlen(requests[i])));
		http_receive(client, answer);
		assert_int_equal(answer->status, 200);
		assert_true(answer->closes);
		assert_non_null(strcasestr(answer->body, "transfer-encoding: chunked"));
		assert_null(strcasestr(answer->body, "content-length"));
		assert_true(recv(client, &byte, 1, 0) <= 0);
		close(client);
	}
	assert_int_equal(atomic_load(&plane->backends[0].requests), LENGTH(requests));
	free(answer);
}

static void test_heads_have_a_size(void **state)
{
	struct test_plane *plane = *state;
	_buffer_ struct buffer text = {0};
	int status;

	http_start_backends(plane, 2);
	test_plane_open(plane, PROXY_HTTP, 1, 1);
	buffer_add_string(&text, "GET / HTTP/1.1\r\nHost: a\r\nX-Long: ");
	for (int i = 0; i < 7000; i++)
		buffer_add_char(&text, 'x');
	buffer_add_string(&text, "\r\n\r\n");
	assert_int_equal(status_of(plane->port, text.data, text.length), 200);
	buffer_reset(&text);
	buffer_add_string(&text, "GET / HTTP/1.1\r\nHost: a\r\nX-Long: ");
	for (int i = 0; i < 60000; i++)
		buffer_add_char(&text, 'x');
	status = status_of(plane->port, text.data, text.length);
	assert_true(status == 400 || status == 431 || status == 0);
	buffer_reset(&text);
	buffer_add_string(&text, "GET / HTTP/1.1\r\nHost: a\r\n");
	for (int i = 0; i < 500; i++)
		buffer_add_string(&text, "A: b\r\n");
	buffer_add_string(&text, "\r\n");
	status = status_of(plane->port, text.data, text.length);
	assert_true(status == 400 || status == 431);
	/* The target of the request is limited, too. */
	for (size_t length = 7000; length <= 200000; length *= 5) {
		buffer_reset(&text);
		buffer_add_string(&text, "GET /");
		for (size_t i = 0; i < length; i++)
			buffer_add_char(&text, 'u');
		buffer_add_string(&text, " HTTP/1.1\r\nHost: a\r\n\r\n");
		status = status_of(plane->port, text.data, text.length);
		if (length < 8000)
			assert_int_equal(status, 200);
		else
			assert_true(status == 400 || status == 414 || status == 0);
	}
	assert_true(http_get_once(plane->port, "/"));
}

/* ---- clients that never finish ---- */

#define DRIPPING 300
#define DRIP_PAUSE_US 100000

/* Sends bytes if there is room. */
static void drip(int client)
{
	(void)!send(client, "1", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Closed by the server, with or without a response. */
static bool is_ended(int client)
{
	char rest[1024];
	ssize_t got;

	while ((got = recv(client, rest, sizeof(rest), MSG_DONTWAIT)) > 0)
		;
	return got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/* Sends each another byte, and closes those that the server ended. Returns the number of the
 * rest. */
static size_t drip_once(int clients[DRIPPING])
{
	size_t left = 0;

	for (size_t i = 0; i < DRIPPING; i++) {
		if (clients[i] < 0)
			continue;
		drip(clients[i]);
		if (is_ended(clients[i])) {
			close(clients[i]);
			clients[i] = -1;
		} else {
			left++;
		}
	}
	return left;
}

static void open_dripping(struct test_plane *plane, const char *head, int clients[DRIPPING])
{
	for (size_t i = 0; i < DRIPPING; i++) {
		char letter = 0;

		/* Some have sent a good request on the same connection before. */
		clients[i] = i % 3 == 0 ? connect_and_ask(plane->port, &letter)
					: test_connect(plane->port);
		assert_true(clients[i] >= 0);
		assert_true(letter || i % 3 != 0);
		assert_true(test_send_all(clients[i], head, strlen(head)));
	}
}

/* A byte now and then, for ever, does not hold a connection, and blocks no other client. */
static void test_dripping_heads_are_cut_off(void **state)
{
	struct test_plane *plane = *state;
	int64_t deadline = test_now_ms() + TEST_DEADLINE_S * 1000;
	int clients[DRIPPING];

	http_start_backends(plane, 2);
	test_plane_open(plane, PROXY_HTTP, 1, 1);
	open_dripping(plane, "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ", clients);
	while (drip_once(clients) > 0) {
		assert_true(test_now_ms() < deadline);
		assert_true(ask_in_time(plane->port));
		usleep(DRIP_PAUSE_US);
	}
	assert_true(ask_in_time(plane->port));
}

/* Bodies may be slow, as uploads are; they block no other client, and time out when no byte
 * arrives. */
static void test_dripping_bodies_block_no_client(void **state)
{
	struct test_plane *plane = *state;
	int clients[DRIPPING];

	http_start_backends(plane, 2);
	plane->listener.options.idle_timeout_ms = 2500;
	test_plane_open(plane, PROXY_HTTP, 1, 1);
	open_dripping(plane, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n",
		clients);
	for (int round = 0; round < 10; round++) {
		drip_once(clients);
		assert_true(ask_in_time(plane->port));
		usleep(DRIP_PAUSE_US);
	}
	for (size_t i = 0; i < DRIPPING; i++) {
		if (clients[i] >= 0)
			TEST_WAIT_UNTIL(is_ended(clients[i]));
		if (clients[i] >= 0)
			close(clients[i]);
	}
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 0);
	assert_true(ask_in_time(plane->port));
}

/* ---- floods ---- */

/* A number from the process's status file. */
static size_t number_of(pid_t pid, const char *name)
{
	char path[64], line[256];
	size_t number = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, strlen(name)) == 0)
			number = strtoul(line + strlen(name), NULL, 10);
	}
	fclose(file);
	assert_true(number > 0);
	return number;
}

static int connect_silently(unsigned port)
{
	union proxy_address address = test_loopback(port);
	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(client >= 0);
	if (connect(client, &address.any, sizeof(address.v4)) < 0)
		assert_int_equal(errno, EINPROGRESS);
	return client;
}

/* Far more clients than the limit: they wait, silent ones time out, and requests are answered;
 * neither descriptors nor memory exceed the limits. */
static void test_floods_are_bounded(void **state)
{
	enum { FLOOD = 2500, KILOBYTES_MORE = 64 * 1024 };
	struct test_plane *plane = *state;
	static int flood[FLOOD];
	pid_t process;
	size_t before;

	http_start_backends(plane, 2);
	test_plane_open(plane, PROXY_HTTP, 1, 1);
	assert_true(ask_in_time(plane->port));
	process = haproxy_process(plane->driver);
	before = number_of(process, "VmRSS:");
	for (size_t i = 0; i < FLOOD; i++)
		flood[i] = connect_silently(plane->port);
	assert_true(ask_in_time(plane->port));
	for (size_t i = 0; i < FLOOD; i++) {
		TEST_WAIT_UNTIL(is_ended(flood[i]));
		close(flood[i]);
	}
	/* The table of descriptors never shrinks: the next power of two above the maximum. */
	assert_true(number_of(process, "FDSize:") <= DESCRIPTORS_MAX);
	assert_true(number_of(process, "VmRSS:") < before + KILOBYTES_MORE);
	/* Clients that close by themselves. */
	for (size_t i = 0; i < FLOOD; i++)
		flood[i] = connect_silently(plane->port);
	for (size_t i = 0; i < FLOOD; i++)
		close(flood[i]);
	assert_true(ask_in_time(plane->port));
	assert_true(number_of(process, "FDSize:") <= DESCRIPTORS_MAX);
	assert_true(number_of(process, "VmRSS:") < before + KILOBYTES_MORE);
	assert_int_equal(haproxy_process(plane->driver), process);
}

/* ---- handshakes that never finish ---- */

enum { SILENT = 2 * CONNECTIONS_MAX };

/* A listener with TLS, and another one without. Returns the port of that one. */
static unsigned open_secure(struct test_plane *plane, enum proxy_protocol protocol,
	struct proxy_listener listeners[2], struct proxy_certificate *certificate)
{
	_arena_ struct arena *arena = arena_new(0);
	struct proxy_report report;

	*certificate = (struct proxy_certificate){"some", tls_make_certificate("one.test", 1)};
	plane->listener.http.certificates = certificate;
	plane->listener.http.certificate_count = 1;
	test_plane_open(plane, protocol, 1, 0);
	listeners[0] = listeners[1] = plane->listener;
	listeners[1].name = "other";
	listeners[1].protocol = PROXY_HTTP;
	plane->state.listeners = listeners;
	plane->state.listener_count = 2;
	test_apply(plane);
	proxy_report(plane->proxy, arena, &report);
	return proxy_address_port(&proxy_report_listener(&report, "other")->address);
}

/* Many silent TLS clients do not prevent responses to others, also of listeners of the same
 * process. */
static void test_silent_handshakes_leave_room_for_others(void **state)
{
	struct test_plane *plane = *state;
	struct proxy_certificate certificate;
	struct proxy_listener listeners[2];
	static int silent[SILENT];
	unsigned other;

	http_start_backends(plane, 2);
	other = open_secure(plane, PROXY_HTTPS, listeners, &certificate);
	for (size_t i = 0; i < SILENT; i++)
		silent[i] = connect_silently(plane->port);
	for (int i = 0; i < 20; i++)
		assert_int_equal(ask_in_time(other), 'A');
	for (size_t i = 0; i < SILENT; i++)
		close(silent[i]);
	free((char *)certificate.pem);
}

/* For a client that is silent for long. */
static void serve_patiently(struct test_backend *backend, int descriptor)
{
	const struct timeval unlimited = {0};

	setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &unlimited, sizeof(unlimited));
	test_serve_echo(backend, descriptor);
}

/* As connect_and_ask(): a handshake that took too long is ended correctly. */
static bool open_in_time(struct tls_client *client, unsigned port, const char *host)
{
	int64_t end = test_now_ms() + TEST_DEADLINE_S * 1000;

	for (;;) {
		int64_t began = test_now_ms();

		if (tls_open(client, port, host, NULL, 0))
			return true;
		if (test_now_ms() - began < REQUEST_MS || test_now_ms() > end)
			return false;
		tls_close(client);
	}
}

/* Silent handshakes of terminated TLS end at the request timeout, though connections may be idle
 * for much longer. */
static void test_silent_handshakes_end(void **state)
{
	struct test_plane *plane = *state;
	struct proxy_certificate certificate;
	struct proxy_listener listeners[2];
	struct tls_client client;
	static int silent[SILENT];
	char byte;

	http_start_backends(plane, 1);
	test_backend_start(&plane->backends[1], 'B', serve_patiently);
	open_secure(plane, PROXY_TLS_END, listeners, &certificate);
	test_set_weights(plane, 0, 1);
	assert_true(open_in_time(&client, plane->port, "one.test"));
	assert_int_equal(SSL_read(client.session, &byte, 1), 1);
	for (size_t i = 0; i < SILENT; i++)
		silent[i] = connect_silently(plane->port);
	for (size_t i = 0; i < SILENT; i++) {
		TEST_WAIT_UNTIL(is_ended(silent[i]));
		close(silent[i]);
	}
	assert_int_equal(SSL_write(client.session, "x", 1), 1);
	assert_int_equal(SSL_read(client.session, &byte, 1), 1);
	assert_int_equal(byte, 'x');
	tls_close(&client);
	free((char *)certificate.pem);
}

#define PATIENT(test) cmocka_unit_test_setup_teardown(test, setup_patient, http_teardown)
#define HASTY(test) cmocka_unit_test_setup_teardown(test, setup_hasty, http_teardown)

int main(void)
{
	struct rlimit limit;
	const struct CMUnitTest tests[] = {
		PATIENT(test_malformed_requests_are_refused),
		PATIENT(test_nothing_is_smuggled),
		PATIENT(test_heads_have_a_size),
		HASTY(test_dripping_heads_are_cut_off),
		HASTY(test_dripping_bodies_block_no_client),
		HASTY(test_floods_are_bounded),
		HASTY(test_silent_handshakes_leave_room_for_others),
		HASTY(test_silent_handshakes_end),
	};

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return cmocka_run_group_tests_name("proxy/haproxy_limits", tests, NULL, NULL);
}
