/* HTTPS and terminated TLS: certificates by name, changed under load, and plain TCP inside. */
#include "proxy/test_http.h"
#include "proxy/test_tls.h"

#define CLIENTS 3

/* The serial number of the certificate for a new client of this host; 0: none. */
static long serial_for(unsigned port, const char *host)
{
	struct tls_client client;
	long serial = tls_open(&client, port, host, NULL, 0) ? client.serial : 0;

	tls_close(&client);
	return serial;
}

/* ---- a plane ---- */

struct secure {
	struct test_plane *plane;
	struct proxy_certificate certificates[3];
	unsigned port;
};

static void secure_open(struct secure *secure, struct test_plane *plane,
	enum proxy_protocol protocol)
{
	secure->plane = plane;
	for (size_t i = 0; i < 3; i++)
		secure->certificates[i] = (struct proxy_certificate){"some", NULL};
	secure->certificates[0].pem = tls_make_certificate("one.test", 1);
	secure->certificates[1].pem = tls_make_certificate("*.two.test", 2);
	secure->certificates[2].pem = tls_make_certificate("three.test", 3);
	plane->listener.http.certificates = secure->certificates;
	plane->listener.http.certificate_count = 2;
	test_plane_open(plane, protocol, 1, 1);
	secure->port = plane->port;
}

static void replace_certificate(struct secure *secure, size_t index, const char *name, long serial)
{
	free((char *)secure->certificates[index].pem);
	secure->certificates[index].pem = tls_make_certificate(name, serial);
}

static void secure_close(struct secure *secure)
{
	for (size_t i = 0; i < 3; i++)
		free((char *)secure->certificates[i].pem);
}

/* ---- tests ---- */

static void test_https_carries_requests(void **state)
{
	struct test_plane *plane = *state;
	struct tls_client client;
	struct secure secure;
	char answer[8192];
	const unsigned char *chosen;
	unsigned length;

	http_start_backends(plane, 2);
	secure_open(&secure, plane, PROXY_HTTPS);
	assert_true(tls_open(&client, secure.port, "one.test", NULL, 0));
	assert_int_equal(tls_get(&client, answer, sizeof(answer)), 'A');
	assert_non_null(strstr(answer, "X-Forwarded-Proto: https\r\n"));
	assert_int_equal(tls_get(&client, answer, sizeof(answer)), 'B');
	tls_close(&client);
	assert_true(tls_open(&client, secure.port, "one.test", "\2h2\10http/1.1", 0));
	SSL_get0_alpn_selected(client.session, &chosen, &length);
	assert_memory_equal(chosen, "h2", 2);
	tls_close(&client);
	assert_true(tls_open(&client, secure.port, "one.test", NULL, TLS1_2_VERSION));
	tls_close(&client);
	/* No version below the minimum, and no HTTP/2 where it is disabled. */
	plane->listener.http.tls = (struct proxy_tls){.min = 3, .max = 3};
	plane->listener.http.no_http2 = true;
	test_apply(plane);
	assert_false(tls_open(&client, secure.port, "one.test", NULL, TLS1_2_VERSION));
	tls_close(&client);
	assert_true(tls_open(&client, secure.port, "one.test", "\2h2\10http/1.1", 0));
	SSL_get0_alpn_selected(client.session, &chosen, &length);
	assert_memory_equal(chosen, "http/1.1", 8);
	tls_close(&client);
	secure_close(&secure);
}

struct load {
	unsigned port;
	atomic_bool stop;
	atomic_uint answered, failed;
	pthread_t threads[CLIENTS];
};

/* A few requests on each of many connections. */
static void *load_main(void *context)
{
	struct load *load = context;

	while (!atomic_load(&load->stop)) {
		struct tls_client client;
		char answer[8192];

		if (!tls_open(&client, load->port, "a.two.test", NULL, 0))
			atomic_fetch_add(&load->failed, 1);
		for (int i = 0; i < 3; i++)
			atomic_fetch_add(tls_get(&client, answer, sizeof(answer)) ? &load->answered
										  : &load->failed,
				1);
		tls_close(&client);
	}
	return NULL;
}

static void test_certificates_change_without_loss(void **state)
{
	struct test_plane *plane = *state;
	struct load load = {0};
	struct secure secure;
	pid_t process;

	http_start_backends(plane, 2);
	secure_open(&secure, plane, PROXY_HTTPS);
	process = haproxy_process(plane->driver);
	load.port = secure.port;
	for (size_t i = 0; i < CLIENTS; i++)
		assert_int_equal(pthread_create(&load.threads[i], NULL, load_main, &load), 0);
	/* By name; the first for all others. */
	assert_int_equal(serial_for(secure.port, "one.test"), 1);
	assert_int_equal(serial_for(secure.port, "x.two.test"), 2);
	assert_int_equal(serial_for(secure.port, "three.test"), 1);
	/* Another one comes, all change, it goes. */
	plane->listener.http.certificate_count = 3;
	test_apply(plane);
	assert_int_equal(serial_for(secure.port, "three.test"), 3);
	for (long turn = 1; turn <= 5; turn++) {
		replace_certificate(&secure, 0, "one.test", 10 * turn + 1);
		replace_certificate(&secure, 1, "*.two.test", 10 * turn + 2);
		test_apply(plane);
		assert_int_equal(serial_for(secure.port, "one.test"), 10 * turn + 1);
		assert_int_equal(serial_for(secure.port, "x.two.test"), 10 * turn + 2);
		assert_int_equal(serial_for(secure.port, "three.test"), 3);
	}
	plane->listener.http.certificate_count = 2;
	test_apply(plane);
	assert_int_equal(serial_for(secure.port, "three.test"), 51);
	assert_int_equal(haproxy_process(plane->driver), process);
	atomic_store(&load.stop, true);
	for (size_t i = 0; i < CLIENTS; i++)
		pthread_join(load.threads[i], NULL);
	assert_int_equal(atomic_load(&load.failed), 0);
	assert_true(atomic_load(&load.answered) > 0);
	secure_close(&secure);
}

static void test_wrong_certificates_change_nothing(void **state)
{
	struct test_plane *plane = *state;
	struct secure secure;
	const char *right, *key;
	char *mixed;
	struct err err;

	http_start_backends(plane, 2);
	secure_open(&secure, plane, PROXY_HTTPS);
	right = secure.certificates[1].pem;
	secure.certificates[1].pem = "nonsense";
	assert_int_equal(proxy_apply(plane->proxy, &plane->state, &err), -EINVAL);
	assert_string_equal(err.message,
		"listener 'web': certificate 'some' has no certificate that can be read");
	/* One's certificate with another's key. */
	key = strstr(secure.certificates[0].pem, "-----BEGIN PRIVATE");
	mixed = memory_format("%.*s%s", (int)(strstr(right, "-----BEGIN PRIVATE") - right), right,
		key);
	secure.certificates[1].pem = mixed;
	assert_int_equal(proxy_apply(plane->proxy, &plane->state, &err), -EINVAL);
	assert_string_equal(err.message,
		"listener 'web': certificate 'some' has a private key that is not its own");
	free(mixed);
	secure.certificates[1].pem = right;
	assert_int_equal(serial_for(secure.port, "x.two.test"), 2);
	secure_close(&secure);
}

/* TLS ends here and connections are divided; the bytes inside are not parsed. */
static void test_tls_ends_here(void **state)
{
	struct test_plane *plane = *state;
	struct secure secure;
	struct tls_client clients[20];
	unsigned counts[2] = {0};

	test_backend_start(&plane->backends[0], 'A', test_serve_echo);
	test_backend_start(&plane->backends[1], 'B', test_serve_echo);
	secure_open(&secure, plane, PROXY_TLS_END);
	test_set_weights(plane, 7, 3);
	for (size_t i = 0; i < LENGTH(clients); i++) {
		char letter, echo[6] = "";

		assert_true(tls_open(&clients[i], secure.port, "x.two.test", NULL, 0));
		assert_int_equal(clients[i].serial, 2);
		assert_int_equal(SSL_read(clients[i].session, &letter, 1), 1);
		counts[letter == 'B']++;
		assert_int_equal(SSL_write(clients[i].session, "hello", 5), 5);
		for (int got = 0; got < 5;) {
			int more = SSL_read(clients[i].session, echo + got, 5 - got);

			assert_true(more > 0);
			got += more;
		}
		assert_string_equal(echo, "hello");
	}
	assert_int_equal(counts[1], 6);
	assert_int_equal(test_web_counters(plane).connections, LENGTH(clients));
	assert_int_equal(test_web_counters(plane).active, LENGTH(clients));
	/* Open connections stay. */
	replace_certificate(&secure, 1, "*.two.test", 9);
	plane->routes[0].weight = 0;
	test_apply(plane);
	assert_int_equal(serial_for(secure.port, "x.two.test"), 9);
	for (size_t i = 0; i < LENGTH(clients); i++) {
		char echo;

		assert_int_equal(SSL_write(clients[i].session, "x", 1), 1);
		assert_int_equal(SSL_read(clients[i].session, &echo, 1), 1);
		tls_close(&clients[i]);
	}
	secure_close(&secure);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, http_setup, http_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_https_carries_requests),
		WITH(test_certificates_change_without_loss),
		WITH(test_wrong_certificates_change_nothing),
		WITH(test_tls_ends_here),
	};

	return cmocka_run_group_tests_name("proxy/haproxy_tls", tests, NULL, NULL);
}
