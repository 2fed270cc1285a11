/* Health: matchers, thresholds, and checks of real backends. */
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "proxy/probe.h"
#include "proxy/test_plane.h"

/* ---- without network ---- */

static struct probe_matcher matcher(const char *text)
{
	struct probe_matcher out;

	assert_int_equal(probe_matcher_parse(span_of(text), &out, NULL), 0);
	return out;
}

static void test_matchers(void **state)
{
	static const char *const wrong[] = {"", "20", "2000", "199", "600", "200,", ",200",
		"300-200", "200-", "-200", "200 202", "2x0", "200-299-300"};
	struct probe_matcher some = matcher("200,202,300-302");
	struct err err;

	(void)state;
	assert_true(probe_matcher_has(&some, 200));
	assert_false(probe_matcher_has(&some, 201));
	assert_true(probe_matcher_has(&some, 202));
	assert_true(probe_matcher_has(&some, 301));
	assert_false(probe_matcher_has(&some, 303));
	assert_false(probe_matcher_has(&some, 0));
	assert_false(probe_matcher_has(&some, 1000));
	some = matcher("200-599");
	assert_true(probe_matcher_has(&some, 599));
	for (size_t i = 0; i < LENGTH(wrong); i++)
		assert_int_equal(probe_matcher_parse(span_of(wrong[i]), &some, &err), -EINVAL);
	assert_string_equal(err.message, "matcher '200-299-300': '200-299-300' is no code or range "
					 "of codes from 200 to 599");
}

static void test_status_lines(void **state)
{
	(void)state;
	assert_int_equal(probe_status_of(SPAN("HTTP/1.1 200 OK\r\n")), 200);
	assert_int_equal(probe_status_of(SPAN("HTTP/1.0 503\r\n")), 503);
	assert_int_equal(probe_status_of(SPAN("HTTP/1.1 404 ")), 404);
	assert_int_equal(probe_status_of(SPAN("")), 0);
	assert_int_equal(probe_status_of(SPAN("HTTP/1.1 2")), 0);
	assert_int_equal(probe_status_of(SPAN("HTTP/1.1 200")), 0);
	assert_int_equal(probe_status_of(SPAN("HTTP/1.1 2000 ")), -1);
	assert_int_equal(probe_status_of(SPAN("HTTP/1.1 200\0OK")), -1);
	assert_int_equal(probe_status_of(SPAN("HTTP/1.1 020 ")), -1);
	assert_int_equal(probe_status_of(SPAN("HTTP/2 200 ")), -1);
	assert_int_equal(probe_status_of(SPAN("SSH-2.0-x")), -1);
}

static void test_thresholds(void **state)
{
	const struct probe_settings settings = {.healthy_threshold = 3, .unhealthy_threshold = 2};
	const struct probe_outcome good = {PROBE_REASON_NONE, 0};
	const struct probe_outcome bad = {PROBE_REASON_MISMATCH, 503};
	const struct probe_outcome late = {PROBE_REASON_TIMEOUT, 0};
	/* A result, the state after it, whether it changed. */
	const struct {
		const struct probe_outcome *outcome;
		enum probe_state state;
		enum probe_reason reason;
		bool changes;
	} rows[] = {
		{&bad, PROBE_INITIAL, PROBE_REASON_INITIAL, false},
		{&good, PROBE_HEALTHY, PROBE_REASON_NONE, true}, /* one is enough at first */
		{&bad, PROBE_HEALTHY, PROBE_REASON_NONE, false},
		{&good, PROBE_HEALTHY, PROBE_REASON_NONE, false},
		{&bad, PROBE_HEALTHY, PROBE_REASON_NONE, false},
		{&bad, PROBE_UNHEALTHY, PROBE_REASON_MISMATCH, true},
		{&bad, PROBE_UNHEALTHY, PROBE_REASON_MISMATCH, false},
		{&late, PROBE_UNHEALTHY, PROBE_REASON_TIMEOUT, true},
		{&good, PROBE_UNHEALTHY, PROBE_REASON_TIMEOUT, false},
		{&good, PROBE_UNHEALTHY, PROBE_REASON_TIMEOUT, false},
		{&good, PROBE_HEALTHY, PROBE_REASON_NONE, true},
	};
	struct probe_health health;
	char text[PROBE_DESCRIPTION_SIZE];

	(void)state;
	probe_health_init(&health);
	assert_string_equal(probe_reason_code(health.reason), "Elb.InitialHealthChecking");
	for (size_t i = 0; i < LENGTH(rows); i++) {
		assert_int_equal(probe_health_note(&health, &settings, rows[i].outcome),
			rows[i].changes);
		assert_int_equal(health.state, rows[i].state);
		assert_int_equal(health.reason, rows[i].reason);
	}
	probe_describe(PROBE_REASON_MISMATCH, 503, text);
	assert_string_equal(text, "Health checks failed with these codes: [503]");
	probe_describe(PROBE_REASON_TIMEOUT, 0, text);
	assert_string_equal(text, "Request timed out");
}

/* ---- with real backends ---- */

struct fixture {
	struct runner *runner;
	struct prober *prober;
	struct test_backend backend;
	atomic_uint changes;
};

static void heard(void *context, const char *key, const struct probe_health *health)
{
	struct fixture *fixture = context;

	(void)key;
	(void)health;
	atomic_fetch_add(&fixture->changes, 1);
}

static int setup(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	signal(SIGPIPE, SIG_IGN);
	fixture->runner = runner_threads_new(clock_system(), random_system());
	*state = fixture;
	return prober_new(fixture->runner, heard, fixture, &fixture->prober, NULL);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	prober_free(fixture->prober);
	runner_stop(fixture->runner);
	runner_join(fixture->runner, NULL);
	runner_free(fixture->runner);
	test_backend_stop(&fixture->backend);
	free(fixture);
	return 0;
}

static struct probe_target target_of(struct fixture *fixture, enum probe_protocol protocol)
{
	return (struct probe_target){
		.key = "web",
		.address = test_loopback(fixture->backend.port),
		.settings = {protocol, "/health?deep=1", "example.test", matcher("200-299"), 20,
			20000, 2, 2},
	};
}

static struct probe_health health_of(struct fixture *fixture, const char *key)
{
	struct probe_health health = {.state = PROBE_STATE_COUNT};

	prober_get(fixture->prober, key, &health);
	return health;
}

static void set(struct fixture *fixture, const struct probe_target *target)
{
	struct err err;

	if (prober_set(fixture->prober, target, 1, &err) < 0)
		fail_msg("%s", err.message);
}

/* Responds with the status in the backend's sum, if the request is right. */
static void serve_status(struct test_backend *backend, int descriptor)
{
	static const char wanted[] = "GET /health?deep=1 HTTP/1.1\r\nHost: example.test\r\n";
	char request[1024], answer[128];
	ssize_t got = recv(descriptor, request, sizeof(request), 0);

	if (got < (ssize_t)sizeof(wanted) || memcmp(request, wanted, sizeof(wanted) - 1) != 0)
		return;
	snprintf(answer, sizeof(answer), "HTTP/1.1 %llu Whatever\r\nContent-Length: 0\r\n\r\n",
		atomic_load(&backend->sum));
	/* In two parts. */
	test_send_all(descriptor, answer, 10);
	test_pause();
	test_send_all(descriptor, answer + 10, strlen(answer) - 10);
}

static void test_http(void **state)
{
	struct fixture *fixture = *state;
	struct probe_target target;

	test_backend_start(&fixture->backend, 'A', serve_status);
	atomic_store(&fixture->backend.sum, 204);
	target = target_of(fixture, PROBE_HTTP);
	set(fixture, &target);
	TEST_WAIT_UNTIL(health_of(fixture, "web").state == PROBE_HEALTHY);
	TEST_WAIT_UNTIL(atomic_load(&fixture->changes) == 2); /* initial, healthy */
	atomic_store(&fixture->backend.sum, 503);
	TEST_WAIT_UNTIL(health_of(fixture, "web").state == PROBE_UNHEALTHY);
	assert_int_equal(health_of(fixture, "web").reason, PROBE_REASON_MISMATCH);
	assert_int_equal(health_of(fixture, "web").code, 503);
	atomic_store(&fixture->backend.sum, 299);
	TEST_WAIT_UNTIL(health_of(fixture, "web").state == PROBE_HEALTHY);
	TEST_WAIT_UNTIL(atomic_load(&fixture->changes) == 4);
	/* The same set again restarts nothing; another setting does. */
	set(fixture, &target);
	assert_int_equal(health_of(fixture, "web").state, PROBE_HEALTHY);
	target.settings.matcher = matcher("418");
	set(fixture, &target);
	TEST_WAIT_UNTIL(health_of(fixture, "web").state == PROBE_UNHEALTHY);
	TEST_WAIT_UNTIL(atomic_load(&fixture->changes) >= 6); /* it is reported after it is set */
	/* An empty set checks nothing. */
	assert_int_equal(prober_set(fixture->prober, NULL, 0, NULL), 0);
	assert_int_equal(health_of(fixture, "web").state, PROBE_STATE_COUNT);
	TEST_WAIT_UNTIL(atomic_load(&fixture->backend.running) == 0);
}

static void test_tcp(void **state)
{
	struct fixture *fixture = *state;
	struct probe_target target = target_of(fixture, PROBE_TCP);
	unsigned port;
	int refusing = test_refuse(&port);

	target.address = test_loopback(port);
	set(fixture, &target);
	TEST_WAIT_UNTIL(health_of(fixture, "web").state == PROBE_UNHEALTHY);
	assert_int_equal(health_of(fixture, "web").reason, PROBE_REASON_FAILED);
	assert_int_equal(listen(refusing, 1024), 0);
	TEST_WAIT_UNTIL(health_of(fixture, "web").state == PROBE_HEALTHY);
	assert_int_equal(prober_set(fixture->prober, NULL, 0, NULL), 0);
	close(refusing);
}

/* With an interval of minutes, a target that begins to listen late is healthy soon, and the early
 * checks did not count. */
static void test_late_listener(void **state)
{
	struct fixture *fixture = *state;
	struct probe_target target = target_of(fixture, PROBE_TCP);
	unsigned port;
	int refusing = test_refuse(&port);

	target.address = test_loopback(port);
	target.settings.interval_ms = PROBE_INTERVAL_MAX_MS;
	target.settings.unhealthy_threshold = 1;
	set(fixture, &target);
	TEST_WAIT_UNTIL(atomic_load(&fixture->changes) == 1); /* initial */
	for (int i = 0; i < 30; i++)
		test_pause();
	assert_int_equal(health_of(fixture, "web").state, PROBE_INITIAL);
	assert_int_equal(listen(refusing, 1024), 0);
	TEST_WAIT_UNTIL(health_of(fixture, "web").state == PROBE_HEALTHY);
	TEST_WAIT_UNTIL(atomic_load(&fixture->changes) == 2);
	assert_int_equal(prober_set(fixture->prober, NULL, 0, NULL), 0);
	close(refusing);
}

static void serve_nothing(struct test_backend *backend, int descriptor)
{
	char data[256];

	(void)backend;
	while (recv(descriptor, data, sizeof(data), 0) > 0)
		;
}

static void test_timeout(void **state)
{
	struct fixture *fixture = *state;
	struct probe_target target;

	test_backend_start(&fixture->backend, 'A', serve_nothing);
	target = target_of(fixture, PROBE_HTTP);
	target.settings.timeout_ms = 30;
	set(fixture, &target);
	TEST_WAIT_UNTIL(health_of(fixture, "web").state == PROBE_UNHEALTHY);
	assert_int_equal(health_of(fixture, "web").reason, PROBE_REASON_TIMEOUT);
}

static void test_nonsense(void **state)
{
	struct fixture *fixture = *state;
	struct probe_target target;

	test_backend_start(&fixture->backend, 'A', test_serve_letter);
	target = target_of(fixture, PROBE_HTTP);
	set(fixture, &target);
	TEST_WAIT_UNTIL(health_of(fixture, "web").state == PROBE_UNHEALTHY);
	assert_int_equal(health_of(fixture, "web").reason, PROBE_REASON_FAILED);
}

static SSL_CTX *server_tls;

static void serve_tls(struct test_backend *backend, int descriptor)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	SSL *tls = SSL_new(server_tls);
	char request[1024];

	(void)backend;
	SSL_set_fd(tls, descriptor);
	if (SSL_accept(tls) == 1 && SSL_read(tls, request, sizeof(request)) > 0)
		SSL_write(tls, answer, sizeof(answer) - 1);
	SSL_free(tls);
}

/* A self-signed certificate, for another name. */
static void make_server_tls(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();

	X509_set_version(certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
	X509_set_pubkey(certificate, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
		(const unsigned char *)"other", -1, -1, 0);
	X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
	assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
	server_tls = SSL_CTX_new(TLS_server_method());
	assert_int_equal(SSL_CTX_use_certificate(server_tls, certificate), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(server_tls, key), 1);
	X509_free(certificate);
	EVP_PKEY_free(key);
}

static void test_https(void **state)
{
	struct fixture *fixture = *state;
	struct probe_target target;

	make_server_tls();
	test_backend_start(&fixture->backend, 'A', serve_tls);
	target = target_of(fixture, PROBE_HTTPS);
	set(fixture, &target);
	TEST_WAIT_UNTIL(health_of(fixture, "web").state == PROBE_HEALTHY);
	assert_int_equal(prober_set(fixture->prober, NULL, 0, NULL), 0);
	test_backend_stop(&fixture->backend);
	SSL_CTX_free(server_tls);
}

static void test_wrong_settings(void **state)
{
	struct fixture *fixture = *state;
	struct probe_target targets[2];
	struct err err;

	test_backend_start(&fixture->backend, 'A', serve_nothing);
	targets[0] = targets[1] = target_of(fixture, PROBE_HTTP);
	assert_int_equal(prober_set(fixture->prober, targets, 2, &err), -EEXIST);
	assert_string_equal(err.message, "health check of 'web' is there twice");
	targets[1].key = "other";
	targets[1].settings.path = "/a b";
	assert_int_equal(prober_set(fixture->prober, targets, 2, &err), -EINVAL);
	targets[1].settings.path = "/a\r\nX: y";
	assert_int_equal(prober_set(fixture->prober, targets, 2, &err), -EINVAL);
	targets[1].settings.path = NULL;
	targets[1].settings.interval_ms = 9;
	assert_int_equal(prober_set(fixture->prober, targets, 2, &err), -EINVAL);
	assert_string_equal(err.message,
		"health check of 'other': interval 9 is not from 10 to 300000");
	assert_false(prober_get(fixture->prober, "web", &(struct probe_health){0}));
}

#define LIVE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_matchers),
	cmocka_unit_test(test_status_lines),
	cmocka_unit_test(test_thresholds),
	LIVE(test_http),
	LIVE(test_tcp),
	LIVE(test_late_listener),
	LIVE(test_timeout),
	LIVE(test_nonsense),
	LIVE(test_https),
	LIVE(test_wrong_settings),
};

TEST_PLANE_MAIN("proxy/probe", tests)
