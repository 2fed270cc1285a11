/* HTTP: how a group's requests reach its targets: balance, TLS, PROXY headers, IPv6, other groups. */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "proxy/test_http.h"

/* Listener "web" with the groups "stable" and "canary", as in test_plane.h, and a second one to come. */
struct groups {
	struct test_plane *plane;
	struct proxy_listener listeners[2];
	struct proxy_target targets[3];
};

static void groups_open(struct groups *groups, struct test_plane *plane)
{
	groups->plane = plane;
	http_start_backends(plane, 3);
	test_plane_open(plane, PROXY_HTTP, 1, 0);
	for (size_t i = 0; i < 3; i++)
		groups->targets[i] =
			(struct proxy_target){.address = test_loopback(plane->backends[i].port)};
	plane->groups[0].targets = groups->targets;
}

static void test_the_least_busy_target_is_next(void **state)
{
	static const char request[] = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";
	struct test_plane *plane = *state;
	struct groups groups;
	int waiting, client;

	groups_open(&groups, plane);
	plane->groups[0].balance = PROXY_LEAST_REQUESTS;
	plane->groups[0].target_count = 1;
	test_apply(plane);
	waiting = test_connect(plane->port);
	assert_true(test_send_all(waiting, request, strlen(request)));
	TEST_WAIT_UNTIL(test_web_counters(plane).active == 1);
	plane->groups[0].target_count = 2;
	test_apply(plane);
	client = test_connect(plane->port);
	for (int i = 0; i < 10; i++)
		assert_int_equal(http_get(client, "/"), 'B');
	atomic_store(&plane->backends[0].sum, 1);
	close(waiting);
	close(client);
}

static void test_by_chance_all_are_found(void **state)
{
	struct test_plane *plane = *state;
	struct groups groups;
	unsigned seen = 0;
	int client;

	groups_open(&groups, plane);
	plane->groups[0].balance = PROXY_RANDOM;
	plane->groups[0].target_count = 3;
	test_apply(plane);
	client = test_connect(plane->port);
	for (int i = 0; i < 200; i++)
		seen |= 1u << (http_get(client, "/") - 'A');
	assert_int_equal(seen, 7);
	close(client);
}

/* The same address gets the same group and target. */
static void test_sticky_by_source(void **state)
{
	struct test_plane *plane = *state;
	struct groups groups;
	char letter;

	groups_open(&groups, plane);
	plane->groups[0].target_count = 2;
	plane->listener.options.sticky_source = true;
	plane->routes[1].weight = 1;
	test_apply(plane);
	letter = http_get_once(plane->port, "/");
	assert_true(letter);
	for (int i = 0; i < 12; i++)
		assert_int_equal(http_get_once(plane->port, "/"), letter);
}

static void test_the_next_group_takes_over(void **state)
{
	struct test_plane *plane = *state;
	struct groups groups;
	int client;

	groups_open(&groups, plane);
	plane->groups[0].target_count = 1;
	plane->routes[1].weight = 1;
	plane->listener.options.retry_next_group = true;
	groups.targets[0].state = PROXY_TARGET_DOWN;
	test_apply(plane);
	client = test_connect(plane->port);
	for (int i = 0; i < 6; i++)
		assert_int_equal(http_get(client, "/"), 'B');
	groups.targets[0].state = PROXY_TARGET_ACTIVE;
	plane->targets[1].state = PROXY_TARGET_DOWN;
	test_apply(plane);
	for (int i = 0; i < 6; i++)
		assert_int_equal(http_get(client, "/"), 'A');
	close(client);
}

/* ---- how targets are connected to ---- */

static char *make_certificate(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();
	BIO *text = BIO_new(BIO_s_mem());
	char *data, *out;
	long length;

	X509_set_version(certificate, 2);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
	X509_set_pubkey(certificate, key);
	assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
	PEM_write_bio_X509(text, certificate);
	PEM_write_bio_PrivateKey(text, key, NULL, NULL, 0, NULL, NULL);
	length = BIO_get_mem_data(text, &data);
	out = memory_copy_string_n(data, (size_t)length);
	BIO_free(text);
	X509_free(certificate);
	EVP_PKEY_free(key);
	return out;
}

static unsigned port_of(struct test_plane *plane, const char *listener)
{
	_arena_ struct arena *arena = arena_new(0);
	struct proxy_report report;

	proxy_report(plane->proxy, arena, &report);
	return proxy_address_port(&proxy_report_listener(&report, listener)->address);
}

/* The target that speaks TLS is a listener of our own. */
static void test_targets_may_speak_tls(void **state)
{
	struct test_plane *plane = *state;
	struct proxy_certificate certificate = {"own", make_certificate()};
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	struct groups groups;
	int client;

	groups_open(&groups, plane);
	plane->groups[0].target_count = 1;
	groups.listeners[0] = groups.listeners[1] = plane->listener;
	groups.listeners[1].name = "inner";
	groups.listeners[1].protocol = PROXY_HTTPS;
	groups.listeners[1].http.certificates = &certificate;
	groups.listeners[1].http.certificate_count = 1;
	groups.listeners[0].routes = &plane->routes[1];
	groups.listeners[0].route_count = groups.listeners[1].route_count = 1;
	plane->routes[1].weight = 1;
	plane->state.listeners = groups.listeners;
	plane->state.listener_count = 2;
	test_apply(plane);
	plane->targets[1].address = test_loopback(port_of(plane, "inner"));
	plane->groups[1].tls = true;
	test_apply(plane);
	client = test_connect(plane->port);
	http_ask(client, "GET", "/echo", "", answer);
	assert_int_equal(answer->letter, 'A');
	assert_non_null(strstr(answer->text, "X-Forwarded-Proto: https\r\n"));
	close(client);
	free((char *)certificate.pem);
	free(answer);
}

/* The target that speaks HTTP/2 is a listener of our own, whose rule shows which version came. */
static void test_targets_may_speak_http2(void **state)
{
	static const struct proxy_value version = {NULL, "2"};
	const struct proxy_condition condition = {PROXY_IF_VERSION, NULL, &version, 1};
	const struct proxy_rule rule = {
		"version", &condition, 1, {.kind = PROXY_FIXED, .status = 200, .body = "HTTP/2"}};
	struct test_plane *plane = *state;
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	struct groups groups;

	groups_open(&groups, plane);
	plane->groups[0].target_count = 1;
	groups.listeners[0] = groups.listeners[1] = plane->listener;
	groups.listeners[1].name = "inner";
	groups.listeners[1].http.rules = &rule;
	groups.listeners[1].http.rule_count = 1;
	groups.listeners[0].routes = &plane->routes[1];
	groups.listeners[0].route_count = groups.listeners[1].route_count = 1;
	plane->routes[1].weight = 1;
	plane->state.listeners = groups.listeners;
	plane->state.listener_count = 2;
	test_apply(plane);
	plane->targets[1].address = test_loopback(port_of(plane, "inner"));
	for (int http2 = 0; http2 < 2; http2++) {
		int client;

		plane->groups[1].http2 = http2;
		test_apply(plane);
		client = test_connect(plane->port);
		for (int i = 0; i < 3; i++) {
			http_ask(client, "GET", "/", "", answer);
			assert_int_equal(answer->status, 200);
			assert_string_equal(answer->body, http2 ? "HTTP/2" : "A");
		}
		close(client);
	}
	free(answer);
}

/* Counts in `sum` whether the first bytes were a PROXY header of version 2. */
static void serve_after_header(struct test_backend *backend, int descriptor)
{
	static const unsigned char signature[] = "\r\n\r\n\0\r\nQUIT\n";
	unsigned char header[16];

	if (!test_receive_all(descriptor, header, sizeof(header)))
		return;
	if (memcmp(header, signature, 12) == 0 && header[12] == 0x21) {
		unsigned char rest[1024];

		atomic_fetch_add(&backend->sum, 1);
		if (!test_receive_all(descriptor, rest, (size_t)(header[14] << 8 | header[15])))
			return;
	}
	http_serve(backend, descriptor);
}

static void test_targets_may_want_a_proxy_header(void **state)
{
	struct test_plane *plane = *state;

	test_backend_start(&plane->backends[0], 'A', serve_after_header);
	test_backend_start(&plane->backends[1], 'B', serve_after_header);
	plane->listener.options.proxy_v2 = true;
	test_plane_open(plane, PROXY_HTTP, 1, 1);
	assert_int_equal(http_get_once(plane->port, "/"), 'A');
	assert_int_equal(http_get_once(plane->port, "/"), 'B');
	assert_int_equal(atomic_load(&plane->backends[0].sum), 1);
	assert_int_equal(atomic_load(&plane->backends[1].sum), 1);
}

static void test_ipv6(void **state)
{
	struct test_plane *plane = *state;
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	struct groups groups;
	union proxy_address address;
	char text[128];
	int client, probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(proxy_address_parse("::1", 0, &address, NULL), 0);
	groups_open(&groups, plane);
	plane->groups[0].target_count = 1;
	if (probe < 0 || bind(probe, &address.any, sizeof(address.v6)) < 0) {
		print_message("this machine has no IPv6\n");
	} else {
		groups.listeners[0] = groups.listeners[1] = plane->listener;
		groups.listeners[1].name = "six";
		groups.listeners[1].address = address;
		plane->state.listeners = groups.listeners;
		plane->state.listener_count = 2;
		test_apply(plane);
		/* A target that is the other listener, added while it runs. */
		assert_int_equal(proxy_address_parse("::1", port_of(plane, "six"),
					 &plane->targets[1].address, NULL),
			0);
		plane->routes[1].weight = 1;
		groups.listeners[0].routes = &plane->routes[1];
		groups.listeners[0].route_count = 1;
		groups.listeners[1].route_count = 1;
		test_apply(plane);
		client = test_connect(plane->port);
		http_ask(client, "GET", "/echo", "", answer);
		assert_int_equal(answer->letter, 'A');
		assert_string_equal(http_field(answer, "x-forwarded-for", text, sizeof(text)),
			"127.0.0.1, ::1");
		close(client);
	}
	if (probe >= 0)
		close(probe);
	free(answer);
}

/* As many rules as there may be, each of its own action. */
static void test_two_hundred_rules(void **state)
{
	struct test_plane *plane = *state;
	struct proxy_rule *rules = memory_allocate_array(PROXY_RULES_MAX, sizeof(*rules));
	struct proxy_condition *conditions =
		memory_allocate_array(PROXY_RULES_MAX, sizeof(*conditions));
	struct proxy_value *values = memory_allocate_array(PROXY_RULES_MAX, sizeof(*values));
	char(*names)[240] = memory_allocate_array(PROXY_RULES_MAX, sizeof(*names));
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	struct groups groups;
	pid_t process;
	int client;

	groups_open(&groups, plane);
	plane->groups[0].target_count = 1;
	process = haproxy_process(plane->driver);
	for (size_t i = 0; i < PROXY_RULES_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "/%zu/%0200d", i, 0);
		values[i].value = names[i];
		conditions[i] = (struct proxy_condition){PROXY_IF_PATH, NULL, &values[i], 1};
		rules[i] = (struct proxy_rule){names[i], &conditions[i], 1,
			{.kind = PROXY_FIXED, .status = 400 + (int)(i % 100), .body = names[i]}};
	}
	plane->listener.http.rules = rules;
	plane->listener.http.rule_count = PROXY_RULES_MAX;
	plane->listener.http.otherwise =
		(struct proxy_action){.routes = plane->routes, .route_count = 1};
	test_apply(plane);
	client = test_connect(plane->port);
	for (size_t i = 0; i < PROXY_RULES_MAX; i += 13) {
		http_ask(client, "GET", names[i], "", answer);
		assert_int_equal(answer->status, rules[i].action.status);
		assert_string_equal(answer->body, names[i]);
	}
	assert_int_equal(http_get(client, "/"), 'A');
	assert_int_equal(haproxy_process(plane->driver), process);
	close(client);
	free(answer);
	free(names);
	free(values);
	free(conditions);
	free(rules);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, http_setup, http_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_the_least_busy_target_is_next),
		WITH(test_by_chance_all_are_found),
		WITH(test_sticky_by_source),
		WITH(test_the_next_group_takes_over),
		WITH(test_targets_may_speak_tls),
		WITH(test_targets_may_speak_http2),
		WITH(test_targets_may_want_a_proxy_header),
		WITH(test_ipv6),
		WITH(test_two_hundred_rules),
	};

	return cmocka_run_group_tests_name("proxy/haproxy_group", tests, NULL, NULL);
}
