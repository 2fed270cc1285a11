/* The server over TLS, with OpenSSL's own client and certificates made on the spot. */
#include "io/test_http_server.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>

static char folder[64];
static char certificate_path[96];
static char key_path[96];

/* Writes a self-signed certificate for a name, and its key. */
static void write_certificate(const char *name)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();
	FILE *file;

	assert_non_null(key);
	X509_set_version(certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
	X509_set_pubkey(certificate, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
		(const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
	assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
	file = fopen(certificate_path, "w");
	assert_non_null(file);
	PEM_write_X509(file, certificate);
	fclose(file);
	file = fopen(key_path, "w");
	assert_non_null(file);
	PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL);
	fclose(file);
	X509_free(certificate);
	EVP_PKEY_free(key);
}

static int open_server(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/slipway-tls-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(certificate_path, sizeof(certificate_path), "%s/certificate.pem", folder);
	snprintf(key_path, sizeof(key_path), "%s/key.pem", folder);
	write_certificate("first");
	*state = fixture_open((struct http_server_config){
		.certificate_file = certificate_path,
		.key_file = key_path,
		.limits = {.head_ms = WAIT_SECONDS * 1000},
	});
	return 0;
}

static int close_server(void **state)
{
	fixture_close(*state);
	unlink(certificate_path);
	unlink(key_path);
	return rmdir(folder);
}

/* ---- a client ---- */

struct tls_peer {
	struct peer peer;
	SSL_CTX *context;
	SSL *ssl;
};

#define _tls_peer_ CLEANUP(tls_peer_close)

static void tls_peer_close(struct tls_peer *client)
{
	SSL_free(client->ssl);
	SSL_CTX_free(client->context);
	peer_cleanup(&client->peer);
}

static int tls_peer_connect(struct tls_peer *client, const struct fixture *fixture, int version,
	const unsigned char *protocols, unsigned protocols_length)
{
	*client = (struct tls_peer){0};
	peer_open(&client->peer, fixture);
	client->context = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_security_level(client->context, 0); /* so that old versions may be offered */
	SSL_CTX_set_min_proto_version(client->context, TLS1_VERSION);
	SSL_CTX_set_max_proto_version(client->context, version);
	client->ssl = SSL_new(client->context);
	if (protocols)
		SSL_set_alpn_protos(client->ssl, protocols, protocols_length);
	SSL_set_fd(client->ssl, client->peer.descriptor);
	return SSL_connect(client->ssl);
}

static void tls_peer_open(struct tls_peer *client, const struct fixture *fixture)
{
	assert_int_equal(tls_peer_connect(client, fixture, TLS1_3_VERSION, NULL, 0), 1);
}

static void tls_peer_send(struct tls_peer *client, const char *text)
{
	assert_int_equal(SSL_write(client->ssl, text, (int)strlen(text)), (int)strlen(text));
}

/* Reads until the input holds `length` bytes in all. */
static void tls_peer_receive(struct tls_peer *client, size_t length)
{
	struct buffer *input = &client->peer.input;

	while (input->length < length) {
		char *end = buffer_reserve(input, 65536);
		int got = SSL_read(client->ssl, end, 65536);

		assert_true(got > 0);
		input->length += (size_t)got;
		input->data[input->length] = '\0';
	}
}

/* Reads one answer without framing of its own: the head and `length` bytes. */
static void tls_peer_expect(struct tls_peer *client, const char *body)
{
	struct buffer *input = &client->peer.input;
	const char *end;
	size_t length;

	while (input->length == 0 || !(end = strstr(input->data, "\r\n\r\n")))
		tls_peer_receive(client, input->length + 1);
	length = (size_t)(end - input->data) + 4 + strlen(body);
	tls_peer_receive(client, length);
	assert_memory_equal(input->data, "HTTP/1.1 200 OK\r\n", 17);
	assert_memory_equal(input->data + length - strlen(body), body, strlen(body));
	buffer_consume(input, length);
}

static void expect_name(struct tls_peer *client, const char *name)
{
	X509 *certificate = SSL_get1_peer_certificate(client->ssl);
	char found[64] = "";

	assert_non_null(certificate);
	X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, found,
		sizeof(found));
	assert_string_equal(found, name);
	X509_free(certificate);
}

/* ---- tests ---- */

static void test_conversation(void **state)
{
	_tls_peer_ struct tls_peer client;

	tls_peer_open(&client, *state);
	tls_peer_send(&client, TEST_GET("/info"));
	tls_peer_expect(&client, "GET||test|127.0.0.1|1|1");
	tls_peer_send(&client, TEST_GET("/hello") TEST_GET("/hello"));
	tls_peer_expect(&client, "hello\n");
	tls_peer_expect(&client, "hello\n");
}

static void test_versions(void **state)
{
	_tls_peer_ struct tls_peer new_client;
	_tls_peer_ struct tls_peer old_client;

	assert_int_equal(tls_peer_connect(&new_client, *state, TLS1_2_VERSION, NULL, 0), 1);
	assert_int_equal(SSL_version(new_client.ssl), TLS1_2_VERSION);
	tls_peer_send(&new_client, TEST_GET("/hello"));
	tls_peer_expect(&new_client, "hello\n");
	assert_int_not_equal(tls_peer_connect(&old_client, *state, TLS1_1_VERSION, NULL, 0), 1);
	ERR_clear_error();
}

static void test_protocols(void **state)
{
	static const unsigned char both[] = "\x02h2\x08http/1.1";
	static const unsigned char other[] = "\x02h2";
	const unsigned char *chosen = NULL;
	unsigned length = 0;
	_tls_peer_ struct tls_peer client;
	_tls_peer_ struct tls_peer refused;

	assert_int_equal(tls_peer_connect(&client, *state, TLS1_3_VERSION, both, sizeof(both) - 1),
		1);
	SSL_get0_alpn_selected(client.ssl, &chosen, &length);
	assert_int_equal(length, 8);
	assert_memory_equal(chosen, "http/1.1", 8);
	assert_int_not_equal(tls_peer_connect(&refused, *state, TLS1_3_VERSION, other,
				     sizeof(other) - 1),
		1);
	ERR_clear_error();
}

static void test_large_bodies(void **state)
{
	_tls_peer_ struct tls_peer client;
	_free_ char *body = memory_allocate(2000001);

	memset(body, 'b', 2000000);
	tls_peer_open(&client, *state);
	tls_peer_send(&client,
		"POST /echo HTTP/1.1\r\n" TEST_HOST "Content-Length: 2000000\r\n\r\n");
	tls_peer_send(&client, body);
	tls_peer_expect(&client, body);
	tls_peer_send(&client, TEST_GET("/hello"));
	tls_peer_expect(&client, "hello\n");
}

/* More than the line takes, so that decrypting stops and continues. */
static void test_many_pipelined(void **state)
{
	struct fixture *fixture = *state;
	_tls_peer_ struct tls_peer client;
	_buffer_ struct buffer requests = {0};

	for (int i = 0; i < 2000; i++)
		buffer_format(&requests, "GET /hello?%d HTTP/1.1\r\n" TEST_HOST "\r\n", i);
	tls_peer_open(&client, fixture);
	tls_peer_send(&client, requests.data);
	for (int i = 0; i < 2000; i++)
		tls_peer_expect(&client, "hello\n");
	buffer_reset(&requests);
	for (int i = 0; i < 64; i++)
		buffer_add_string(&requests, TEST_GET("/later"));
	tls_peer_send(&client, requests.data);
	for (int i = 0; i < 64; i++)
		http_respond(stash_take(&fixture->stash), 200, NULL, 0,
			HTTP_BODY_STATIC(SPAN("late")));
	for (int i = 0; i < 64; i++)
		tls_peer_expect(&client, "late");
}

static void test_close_is_said(void **state)
{
	_tls_peer_ struct tls_peer client;
	char byte;

	tls_peer_open(&client, *state);
	tls_peer_send(&client, "GET /hello HTTP/1.1\r\n" TEST_HOST "Connection: close\r\n\r\n");
	tls_peer_expect(&client, "hello\n");
	/* A TLS close_notify, not only the end of the socket: the answer is not truncated. */
	assert_int_equal(SSL_read(client.ssl, &byte, 1), 0);
	assert_int_equal(SSL_get_error(client.ssl, 0), SSL_ERROR_ZERO_RETURN);
}

static void test_reload(void **state)
{
	struct fixture *fixture = *state;
	_tls_peer_ struct tls_peer before;
	_tls_peer_ struct tls_peer between;
	_tls_peer_ struct tls_peer after;
	struct err err = {0};

	tls_peer_open(&before, fixture);
	expect_name(&before, "first");
	/* A bad file changes nothing. */
	assert_int_equal(truncate(certificate_path, 10), 0);
	assert_true(http_server_reload_tls(fixture->server, &err) < 0);
	assert_non_null(strstr(err.message, certificate_path));
	tls_peer_open(&between, fixture);
	expect_name(&between, "first");
	write_certificate("second");
	assert_int_equal(http_server_reload_tls(fixture->server, &err), 0);
	tls_peer_open(&after, fixture);
	expect_name(&after, "second");
	tls_peer_send(&before, TEST_GET("/hello"));
	tls_peer_expect(&before, "hello\n");
	tls_peer_send(&after, TEST_GET("/hello"));
	tls_peer_expect(&after, "hello\n");
}

static void test_plain_text_is_no_tls(void **state)
{
	struct fixture *fixture = *state;
	_peer_ struct peer peer;

	peer_open(&peer, fixture);
	peer_send(&peer, TEST_GET("/hello") TEST_GET("/hello"));
	/* An alert or nothing, then the end, orderly or not. */
	WAIT_FOR(statistics(fixture).connections_open == 0 &&
		 statistics(fixture).connections_total == 1);
	assert_int_equal(statistics(fixture).requests_total, 0);
}

static void test_a_handshake_has_its_time(void **state)
{
	struct fixture *fixture = fixture_open((struct http_server_config){
		.certificate_file = certificate_path,
		.key_file = key_path,
		.limits = {.head_ms = 50},
	});
	_peer_ struct peer peer;

	(void)state;
	peer_open(&peer, fixture);
	peer_expect_end(&peer);
	assert_int_equal(statistics(fixture).timeouts_total, 1);
	fixture_close(fixture);
}

static void test_streams_and_drain(void **state)
{
	struct fixture *fixture = *state;
	_tls_peer_ struct tls_peer client;
	struct http_exchange *exchange;

	tls_peer_open(&client, fixture);
	tls_peer_send(&client, TEST_GET("/later"));
	exchange = stash_take(&fixture->stash);
	http_stream_begin(exchange, 200, NULL, 0, NULL, NULL);
	assert_int_equal(http_stream_write(exchange, SPAN("event")), 0);
	tls_peer_expect(&client, "5\r\nevent\r\n");
	http_stream_end(exchange);
	tls_peer_receive(&client, 5);
	assert_string_equal(client.peer.input.data, "0\r\n\r\n");
	http_server_drain(fixture->server, WAIT_SECONDS * 1000);
	assert_int_equal(statistics(fixture).connections_open, 0);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, open_server, close_server)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(test_conversation),
		WITH_SERVER(test_versions),
		WITH_SERVER(test_protocols),
		WITH_SERVER(test_large_bodies),
		WITH_SERVER(test_many_pipelined),
		WITH_SERVER(test_close_is_said),
		WITH_SERVER(test_reload),
		WITH_SERVER(test_plain_text_is_no_tls),
		WITH_SERVER(test_a_handshake_has_its_time),
		WITH_SERVER(test_streams_and_drain),
	};

	signal(SIGPIPE, SIG_IGN); /* OpenSSL writes to sockets that a test has closed */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
