/* Shared by the tests of TLS: self-signed certificates, and clients that trust them. */
#ifndef PROXY_TEST_TLS_H
#define PROXY_TEST_TLS_H

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "proxy/test_plane.h"

static inline char *tls_make_certificate(const char *name, long serial)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();
	BIO *text = BIO_new(BIO_s_mem());
	char *data, *out;
	long length;

	X509_set_version(certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
	X509_set_pubkey(certificate, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
		(const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
	assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
	PEM_write_bio_X509(text, certificate);
	BIO_puts(text, "\n\n"); /* as text editors leave them */
	PEM_write_bio_PrivateKey(text, key, NULL, NULL, 0, NULL, NULL);
	length = BIO_get_mem_data(text, &data);
	out = memory_copy_string_n(data, (size_t)length);
	BIO_free(text);
	X509_free(certificate);
	EVP_PKEY_free(key);
	return out;
}

struct tls_client {
	SSL_CTX *context;
	SSL *session;
	int descriptor;
	long serial; /* of the certificate of the server */
};

/* False: no handshake. alpn: in the form of the wire, or NULL. */
static inline bool tls_open(struct tls_client *client, unsigned port, const char *host,
	const char *alpn, int most)
{
	X509 *certificate;

	memset(client, 0, sizeof(*client));
	client->context = SSL_CTX_new(TLS_client_method());
	if (most)
		SSL_CTX_set_max_proto_version(client->context, most);
	if (alpn)
		SSL_CTX_set_alpn_protos(client->context, (const unsigned char *)alpn,
			(unsigned)strlen(alpn));
	client->descriptor = test_connect(port);
	client->session = SSL_new(client->context);
	SSL_set_fd(client->session, client->descriptor);
	SSL_set_tlsext_host_name(client->session, host);
	if (client->descriptor < 0 || SSL_connect(client->session) != 1)
		return false;
	certificate = SSL_get1_peer_certificate(client->session);
	client->serial = ASN1_INTEGER_get(X509_get_serialNumber(certificate));
	X509_free(certificate);
	return true;
}

static inline void tls_close(struct tls_client *client)
{
	SSL_free(client->session);
	SSL_CTX_free(client->context);
	if (client->descriptor >= 0)
		close(client->descriptor);
}

static inline char tls_get(struct tls_client *client, char *answer, size_t size)
{
	static const char request[] = "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n";
	size_t length = 0;
	const char *end;

	answer[0] = 0;
	if (SSL_write(client->session, request, (int)strlen(request)) <= 0)
		return 0;
	/* The echoed head ends the body. */
	while (!(end = strstr(answer, "\r\n\r\n")) || !strstr(end + 4, "\r\n\r\n")) {
		int got = SSL_read(client->session, answer + length, (int)(size - 1 - length));

		if (got <= 0)
			return 0;
		length += (size_t)got;
		answer[length] = 0;
	}
	return end[4];
}

#endif
